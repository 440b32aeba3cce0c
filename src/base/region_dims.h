/* Regions seen in the dims of the two tensors that they join: which index of one walks which index
 * of the other. So rewrites find Transpose, Pad and the like again in what lowering has made. */
#ifndef TN_BASE_REGION_DIMS_H
#define TN_BASE_REGION_DIMS_H

#include "base/lower.h"
#include "base/pattern.h"

/* One walk of a region: `size` steps, each src_step further along dim src_axis of the input and
 * dst_step further along dim dst_axis of the output. src_axis -1: it stays where it is. */
typedef struct tn_region_walk {
  int64_t size, src_step, dst_step;
  int32_t src_axis, dst_axis;
} tn_region_walk;

typedef struct tn_region_dims {
  int32_t n; /* walks, all of more than one step */
  tn_region_walk walks[TN_MOVE_MAX_RANK];
  int64_t src_at[TN_MAX_RANK], dst_at[TN_MAX_RANK]; /* indices of the first element */
} tn_region_dims;

/* False if it cannot be said so (a walk leaves a dim in the middle), or if the region is empty. */
bool tn_region_dims_of(const tn_region *r, const tn_tensor *in, const tn_tensor *out,
                       tn_region_dims *out_dims);

/* The value is made by one region that keeps the number of dims and covers all of its output:
 * perm[k] is the dim of *out_from that is dim k of the value. Dims of size 1 keep their order. */
bool tn_region_transposes(const tn_pattern *p, int32_t value, int32_t *out_from, int32_t *perm);

/* The node becomes that transpose of the value, which is of this type, whatever dims of size 1 its
 * output has besides. */
tn_status tn_become_transpose(const tn_call *call, tn_graph *graph, int32_t node, int32_t value,
                              const tn_tensor *type, const int32_t *perm);

/* The value is *out_from with lo[k] elements before and hi[k] behind it in dim k, which hold
 * *out_fill. */
bool tn_region_pads(const tn_pattern *p, int32_t value, int32_t *out_from, int64_t *lo, int64_t *hi,
                    double *out_fill);

#endif
