/* Whether a file can have been put or changed by anybody but root and this user. */
#ifndef TN_BASE_TRUST_H
#define TN_BASE_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if nobody but root and this user (the effective one) can write the file, or put another one
 * in its place: the file, every folder from / down to it, and every symbolic link on the way belong
 * to one of the two, and no folder can be written by others. A folder with the sticky bit (/tmp)
 * may be on the way, since there nobody can move what belongs to us, but may not hold the file
 * itself. path: absolute, of a regular file; or of a folder, with a "/" at its end, to ask whether
 * files that are ours are safe in it. why: at least 1 byte, the reason in words, with the path that
 * it is about; "" if trusted. Any thread. */
bool tn_path_is_trusted(const char *path, char *why, size_t size);

/* The same of many paths in a short time: folders that were found to be safe are not looked at
 * again. Zeroed: none is known. */
typedef struct tn_trusted_folders {
  struct {
    char path[120]; /* "/usr/lib": no link is in it */
    bool shared;    /* can be written by others, but has the sticky bit */
  } known[16];
  uint32_t n;
} tn_trusted_folders;
bool tn_path_is_trusted_among(const char *path, tn_trusted_folders *folders, char *why,
                              size_t size);

#endif
