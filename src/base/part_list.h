/* Lists of parts: what a selected build holds, a line each, comments from '#' on.
 *
 *   op Conv 11            an operator and the version that it begins with; com.acme::Foo 1
 *   lower HardSwish 14    its lowering comes along
 *   kernel conv_f32_c
 *   runs conv_f32_c       what of a kernel a plan file needs: the function that runs it, and
 *   prepares resize_f32_c for some what prepares constants
 *   rewrite conv_batch_norm
 *   format onnx
 *   driver shadow
 *   feature merge_regions what only some models have use for: tn_feature_names
 *   service devices       what programs ask for: devices, plugins (from files), weight_cache,
 *                         writers, file_kinds, values (from files), pins, tuning
 *
 * `tenon select` writes them, tenon-gen makes tables of them. */
#ifndef TN_BASE_PART_LIST_H
#define TN_BASE_PART_LIST_H

#include "base/diag.h"
#include "base/map.h"

typedef struct tn_part_line {
  const char *text; /* words with one blank between */
  const char *path; /* of the file that it stands in */
  int number;       /* of the line in it, from 1 */
  bool found;       /* tn_part_list_has was asked for it */
} tn_part_line;

typedef struct tn_part_list {
  tn_arena arena;
  TN_VEC(tn_part_line) lines; /* each text once */
  tn_map index;               /* text -> place in lines */
} tn_part_list;

/* What a line "service ..." may name; NULL ends it. */
extern const char *const tn_part_services[];

void tn_part_list_init(tn_part_list *list, const tn_allocator *a);
void tn_part_list_free(tn_part_list *list);
/* Adds the lines of a file. A line that begins with none of the words above is an error. */
tn_status tn_part_list_read(tn_part_list *list, const char *path, tn_diag *diag);
tn_status tn_part_list_add(tn_part_list *list, const char *text);
/* Is there the line "what name", with since > 0 "what name since"? */
bool tn_part_list_has(tn_part_list *list, const char *what, const char *name, int32_t since);
/* Is there the line "feature ..." of a tn_feature, or a service that brings it? */
bool tn_part_list_has_feature(tn_part_list *list, int feature);
/* An error for every line that nobody has asked for: there is no such part. */
tn_status tn_part_list_check(const tn_part_list *list, tn_diag *diag);

#endif
