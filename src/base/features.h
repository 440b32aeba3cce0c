/* Features: what only some models have use for, and programs that were linked for other models do
 * without (src/without). A line "feature NAME" of a list of parts has one in (part_list.h). */
#ifndef TN_BASE_FEATURES_H
#define TN_BASE_FEATURES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum tn_feature {
  /* passes of the planner */
  TN_FEATURE_MERGE_REGIONS,
  TN_FEATURE_SHARE_PREFIXES,
  TN_FEATURE_NARROW_WEIGHTS,
  TN_FEATURE_PROMOTE_HALVES,
  TN_FEATURE_MOVE_TRANSPOSES,
  TN_FEATURE_FOLDING, /* nodes of constants, and constants in other types and layouts */
  /* what models may have */
  TN_FEATURE_FUNCTIONS,      /* functions of their own */
  TN_FEATURE_SUBGRAPHS,      /* If, Loop, Scan */
  TN_FEATURE_CONTINUATIONS,  /* shapes that depend on the data of a run */
  TN_FEATURE_STATES,         /* what a run leaves to the next one */
  TN_FEATURE_EXTERNAL_DATA,  /* weights in files next to the model */
  TN_FEATURE_DYNAMIC_VALUES, /* outputs whose size only the run says, strings, lists */
  TN_FEATURE_SPARSE_WEIGHTS,
  TN_FEATURE_TYPED_DATA,    /* weights in ONNX's fields for one type, in place of bytes */
  TN_FEATURE_OTHER_FORMATS, /* parts in another format than the file's */
  /* what kernels may have */
  TN_FEATURE_PACKED_WEIGHTS,
  TN_FEATURE_COUNT
} tn_feature;

/* By the number above; NULL ends it. */
extern const char *const tn_feature_names[];

/* Of a runtime: bit k is feature k. */
typedef struct tn_features {
  atomic_uint used;  /* models have had use for it */
  uint32_t left_out; /* is not to be used: `tenon check --kernels` sees what a build without it sees
                        (one that is selected has nothing here, and functions that do nothing) */
} tn_features;

/* Of what only readers see: the tn_features of the model that is read, an extension of the host of
 * readers. */
#define TN_FEATURES "tenon.features"

/* features NULL: all are there, and nothing is noted. Any thread. */
static inline bool tn_has_feature(const tn_features *features, tn_feature which) {
  return !features || !(features->left_out >> which & 1);
}
static inline void tn_note_feature(tn_features *features, tn_feature which) {
  if (features) atomic_fetch_or_explicit(&features->used, 1u << which, memory_order_relaxed);
}

#endif
