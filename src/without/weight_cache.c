/* In place of files of packed weights: weight_cache.c and weight_cache_file.c of the planner. */
#include "plan/constants/weight_cache.h"

#include "base/diag.h"
#include "without/without.h"

const char tn_without_weight_cache = 0;

tn_status tn_weight_cache_check_folder(tn_arena *arena, const char *folder, tn_diag *diag,
                                       char **out_path) {
  (void)arena;
  *out_path = NULL;
  return tn_fail(diag, TN_ERR_UNSUPPORTED,
                 "weight cache '%s': this program was linked without it; to have it: tenon select "
                 "--with weight_cache",
                 folder);
}

tn_status tn_weight_cache_open(const tn_allocator *a, tn_pool *pool, const char *folder,
                               uint64_t isa, const tn_weight_cache_model *files, int64_t n_files,
                               tn_diag *diag, tn_weight_cache **out_weights) {
  (void)a, (void)pool, (void)folder, (void)isa, (void)files, (void)n_files, (void)diag;
  *out_weights = NULL;
  return TN_ERR_UNSUPPORTED;
}

void tn_weight_cache_close(tn_weight_cache *w) { (void)w; }

bool tn_weight_cache_place(const tn_weight_cache *w, const void *data, uint64_t bytes,
                           uint64_t *out_file, uint64_t *out_offset) {
  (void)w, (void)data, (void)bytes, (void)out_file, (void)out_offset;
  return false;
}

const void *tn_weight_cache_find(tn_weight_cache *w, const uint64_t *key, int64_t n_key,
                                 uint64_t bytes, tn_diag *diag) {
  (void)w, (void)key, (void)n_key, (void)bytes, (void)diag;
  return NULL;
}

void tn_weight_cache_save(tn_weight_cache *w, const tn_weight_cache_entry *entries, int64_t n,
                          tn_diag *diag) {
  (void)w, (void)entries, (void)n, (void)diag;
}

bool tn_weight_cache_is_old(const tn_weight_cache *w) {
  (void)w;
  return false;
}
