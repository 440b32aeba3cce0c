/* Files: read-only mapping, atomic replacement, folders. */
#ifndef TN_BASE_FILE_H
#define TN_BASE_FILE_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/diag.h"

typedef struct tn_mapping {
  const uint8_t *data;
  uint64_t size;
  uint64_t device, inode; /* which file it is, whatever its names */
  /* When it was modified and changed last (nanoseconds since 1970), and when it was mapped. */
  int64_t mtime_ns, ctime_ns, mapped_ns;
  uint32_t mode; /* its permissions */
} tn_mapping;

/* Maps a regular file read-only. Empty files give size 0 and data != NULL. Errors name the path and
 * errno's text. */
tn_status tn_file_map(const char *path, tn_diag *diag, tn_mapping *out);
/* The same of an open file; path is for messages. The mapping does not need the descriptor. */
tn_status tn_file_map_open(int fd, const char *path, tn_diag *diag, tn_mapping *out);
void tn_file_unmap(tn_mapping *m);
/* True if path is a name of the mapped file. */
bool tn_file_is_mapped(const tn_mapping *m, const char *path);

/* Writes to a temporary file in the same folder; commit renames it over path, abort removes it. A
 * link stays, and what it leads to is replaced; its mode stays, too, and one that may not be
 * written is refused. Devices and pipes are written to as they are. */
typedef struct tn_file_writer {
  const tn_allocator *a;
  int fd;
  char *path, *temp;
  uint64_t written;
} tn_file_writer;
tn_status tn_file_writer_open(tn_file_writer *w, const tn_allocator *a, const char *path,
                              tn_diag *diag);
/* Replaces what has this name, link or not: where others may have put it. */
tn_status tn_file_writer_open_name(tn_file_writer *w, const tn_allocator *a, const char *path,
                                   tn_diag *diag);
tn_status tn_file_writer_write(tn_file_writer *w, const void *data, uint64_t size, tn_diag *diag);
tn_status tn_file_writer_commit(tn_file_writer *w, tn_diag *diag);
/* Both or neither. What goes wrong at the second is taken back at the first; a program that dies
 * between the two leaves the first replaced. */
tn_status tn_file_writer_commit_both(tn_file_writer *first, tn_file_writer *second, tn_diag *diag);
void tn_file_writer_abort(tn_file_writer *w); /* legal after commit: does nothing */

/* Names in a folder, sorted, without "." and "..". Calls visit(self, name, is_dir) for each until
 * it answers non-zero. */
tn_status tn_dir_each(const char *path, tn_diag *diag,
                      int (*visit)(void *self, const char *name, bool is_dir), void *self);
/* dir + "/" + relative, refused (TN_ERR_INVALID) if relative is absolute, empty, or has a ".."
 * component. */
tn_status tn_path_join_inside(tn_arena *arena, const char *dir, const char *relative,
                              char **out_path);
/* True if `real`, a path as realpath() answers, is `dir` or lies in it or in a folder of it. */
bool tn_path_is_inside(const char *real, const char *dir);
/* Folder part of path, "." if none. */
char *tn_path_dir(tn_arena *arena, const char *path);

#endif
