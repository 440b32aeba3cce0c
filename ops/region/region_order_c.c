/* tenon::Region between plain and channels-last order, portable: each region is said again in the
 * strides of the storage of either side. A Transpose between the two orders is a view that way, and
 * costs nothing (plan/memory/alias.c). */
#include "cover.h"
#include "region.gen.h"
#include "region.h"
#include "table.h"
#include "tenon/kit/region_dims.h"
#include "tenon/kit/tensor.h"

static void add_fill(const tn_call *call, loop_builder *b, const tn_box *box) {
  const tn_tensor *out = call->outputs[0];
  const int64_t zero[TN_MAX_RANK] = {0};
  int64_t strides[TN_MAX_RANK], offset = 0;
  tn_loop loop;
  tn_storage_strides(out, strides);
  for (int32_t k = 0; k < out->rank; k++) offset += box->start[k] * strides[k];
  tn_loop_init(&loop, tn_dtype(out->dtype)->bits / 8, out->rank, box->count, zero, strides, 0,
               offset);
  loop_add(b, &loop, FROM_FILL);
}

static void build(const tn_call *call, loop_builder *b) {
  const tn_tensor *out = call->outputs[0];
  tn_cover cover;
  tn_cover_find(out, call->regions, call->n_regions, &cover);
  for (int32_t k = 0; k < cover.n; k++) add_fill(call, b, &cover.boxes[k]);
  for (uint32_t k = 0; k < call->n_regions; k++) {
    const tn_region *r = call->regions[k];
    tn_region to;
    tn_loop loop;
    if (!tn_region_in_storage(r, call->inputs[r->input], out, &to)) continue; /* it is empty */
    tn_loop_init(&loop, tn_dtype(out->dtype)->bits / 8, to.rank, to.size, to.src_stride,
                 to.dst_stride, to.src_offset, to.dst_offset);
    loop_add(b, &loop, r->input);
  }
}

const char *region_order_refuse(const tn_call *call) {
  const tn_tensor *out = call->outputs[0];
  tn_cover cover;
  if (region_is_odd(out->dtype)) return "strings and types below a byte have plain layout only";
  if (out->rank < 3) return "channels are a dim of three and more";
  for (uint32_t k = 0; k < call->n_regions; k++) {
    const tn_region *r = call->regions[k];
    tn_region to;
    if (tn_region_elements(r) && !tn_region_in_storage(r, call->inputs[r->input], out, &to))
      return "a region mixes dims, which takes plain layout";
  }
  tn_cover_find(out, call->regions, call->n_regions, &cover);
  return cover.everything ? "what no region covers is no small number of boxes" : NULL;
}

/* All of the output is all of the input, byte for byte. */
static bool is_view(const tn_call *call) {
  tn_region to;
  return call->n_regions == 1 &&
         tn_region_in_storage(call->regions[0], call->inputs[call->regions[0]->input],
                              call->outputs[0], &to) &&
         tn_region_is_whole(&to, call->inputs[to.input], call->outputs[0]);
}

tn_status region_order_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_status s = loop_table_plan(call, build, out);
  if (!s && is_view(call)) out->cost_ns = 1;
  return s;
}

tn_status region_order_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  (void)worker;
  return loop_table_run(call, build, NULL, stage, begin, end);
}
