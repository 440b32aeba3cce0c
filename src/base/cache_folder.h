/* Folders in which things are kept that cost much to make: compiled modules, programs. A file a
 * thing, named by its key, a digest, and its kind: "<digits>.program". Nobody but root and this
 * user may have had a hand in it. */
#ifndef TN_BASE_CACHE_FOLDER_H
#define TN_BASE_CACHE_FOLDER_H

#include "base/file.h"

/* The folder that the environment's `variable` names ("": none), or tenon/NAME in the user's cache.
 * NULL: there is none, also where a program has rights that its user lacks. */
const char *tn_cache_folder(tn_arena *arena, const char *variable, const char *name);
/* Maps a file that was kept. TN_ERR_NOT_FOUND: it is not there, or, with a warning, others could
 * have written it. diag may be NULL. */
tn_status tn_cache_find(const char *folder, const char *file, tn_diag *diag, tn_mapping *out);
/* Keeps the parts as one file, if that can be; the files of its kind used longest ago go where all
 * of them are more than 1 GiB. */
typedef struct tn_cache_part {
  const void *data;
  uint64_t size;
} tn_cache_part;
void tn_cache_keep(const tn_allocator *a, const char *folder, const char *file,
                   const tn_cache_part *parts, int n_parts);
void tn_cache_drop(const char *folder, const char *file);

#endif
