/* Lists of what may be loaded: lines of a SHA-256 and a path or name, as sha256sum prints them. */
#ifndef TN_REGISTRY_ALLOW_H
#define TN_REGISTRY_ALLOW_H

#include "base/alloc.h"
#include "base/diag.h"

typedef struct tn_allow_line {
  char sha256[65];
  const char *name; /* an absolute path, or the last part of one */
  int32_t number;
} tn_allow_line;

typedef struct tn_allow {
  const char *path; /* of the list */
  TN_VEC(tn_allow_line) lines;
  struct tn_allow *next; /* another list that has to allow, too */
} tn_allow;

/* Reads a list into the arena. A list that cannot be read, that others can write, or that has a
 * line which is none, is an error: what it says may be loaded is not known. */
tn_status tn_allow_read(tn_arena *arena, const char *path, tn_diag *diag, tn_allow **out_allow);
void tn_allow_free(const tn_allocator *a, tn_allow *allow);
/* The line that allows the file; NULL: none, and why not, in words. */
const tn_allow_line *tn_allow_find(const tn_allow *allow, const char *path, const char *sha256,
                                   const char **out_why);

#endif
