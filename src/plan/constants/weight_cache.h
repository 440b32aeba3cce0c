/* Prepared states of a model in a file, from one process to the next: what kernels have packed is
 * mapped in place of being packed again.
 *
 * A wrong hit must not happen. A file is good for one build of Tenon, for one set of instruction
 * sets and for the model's files as they were; a state is found by the plug-in's file, kernel,
 * attributes, dtypes and its constants, of which those that stand in the model's files are known by
 * their place and all others by a digest of their bytes. What does not fit is a note, what is
 * damaged a warning, and both are written anew. Nothing here makes a model fail but lack of memory.
 */
#ifndef TN_PLAN_WEIGHT_CACHE_H
#define TN_PLAN_WEIGHT_CACHE_H

#include "base/pool.h"
#include "plan/constants/weight_cache_file.h"

typedef struct tn_weight_cache tn_weight_cache;

/* Whether files of prepared weights may be kept in this folder: it is made if only its last name is
 * missing, and nobody but root and this user may be able to write there. *out_path: its real
 * path. */
tn_status tn_weight_cache_check_folder(tn_arena *arena, const char *folder, tn_diag *diag,
                                       char **out_path);

/* A file that a model was read from. */
typedef struct tn_weight_cache_model {
  const char *path;
  tn_mapping file; /* stays mapped for as long as the cache is open */
} tn_weight_cache_model;

/* The file in `folder` of the model that was read from n_files > 0 files, its own the first.
 * *out_weights: NULL if there is nothing to be kept, with a warning that says why. */
tn_status tn_weight_cache_open(const tn_allocator *a, tn_pool *pool, const char *folder,
                               uint64_t isa, const tn_weight_cache_model *files, int64_t n_files,
                               tn_diag *diag, tn_weight_cache **out_weights);
void tn_weight_cache_close(tn_weight_cache *w); /* no state of it may be in use; NULL is legal */

/* Where bytes stand in the model's files; false: they do not. Any thread. */
bool tn_weight_cache_place(const tn_weight_cache *w, const void *data, uint64_t bytes,
                           uint64_t *out_file, uint64_t *out_offset);

/* The state with this key, read-only, until tn_weight_cache_close(); NULL: the file has none that
 * is whole. Any thread. */
const void *tn_weight_cache_find(tn_weight_cache *w, const uint64_t *key, int64_t n_key,
                                 uint64_t bytes, tn_diag *diag);

/* Writes these states, and others that the file had already. What goes wrong is a warning, and
 * then it is not tried again. One thread at a time. */
void tn_weight_cache_save(tn_weight_cache *w, const tn_weight_cache_entry *entries, int64_t n,
                          tn_diag *diag);
/* Whether saving would be of use even if no state is new: the file is not as it should be. */
bool tn_weight_cache_is_old(const tn_weight_cache *w);

#endif
