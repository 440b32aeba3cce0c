/* tenon::Region in plain layout, portable: every region and every uncovered box becomes a loop.
 * Strings and types below a byte go element by element (region_odd.c). */
#include "cover.h"
#include "region.gen.h"
#include "region.h"
#include "table.h"

static void add_fill(loop_builder *b, const tn_tensor *out, int64_t element, const tn_box *box) {
  const int64_t zero[TN_MAX_RANK] = {0};
  int64_t strides[TN_MAX_RANK], offset = 0;
  tn_loop loop;
  tn_plain_strides(out, strides);
  for (int32_t k = 0; k < out->rank; k++) offset += box->start[k] * strides[k];
  tn_loop_init(&loop, element, out->rank, box->count, zero, strides, 0, offset);
  loop_add(b, &loop, FROM_FILL);
}

static void build(const tn_call *call, loop_builder *b) {
  const tn_tensor *out = call->outputs[0];
  const int64_t element = tn_dtype(out->dtype)->bits / 8;
  tn_cover cover;
  tn_loop loop;
  tn_cover_find(out, call->regions, call->n_regions, &cover);
  if (cover.everything) {
    tn_box whole = {{0}, {0}};
    for (int32_t k = 0; k < out->rank; k++) whole.count[k] = out->shape[k];
    add_fill(b, out, element, &whole);
    loop_end_fill(b);
  }
  for (int32_t k = 0; k < cover.n && !cover.everything; k++)
    add_fill(b, out, element, &cover.boxes[k]);
  for (uint32_t k = 0; k < call->n_regions; k++) {
    const tn_region *r = call->regions[k];
    tn_loop_init(&loop, element, r->rank, r->size, r->src_stride, r->dst_stride, r->src_offset,
                 r->dst_offset);
    loop_add(b, &loop, r->input);
  }
}

tn_status region_plan(const tn_call *call, tn_kernel_plan *out) {
  if (region_is_odd(call->outputs[0]->dtype)) return TN_OK;
  return loop_table_plan(call, build, out);
}

const char *region_transpose_refuse(const tn_call *call) {
  loop_builder b = {.loops = NULL};
  if (!region_is_odd(call->outputs[0]->dtype)) build(call, &b);
  return b.count.transposes_fast ? NULL : "transposes nothing that vectors speed up";
}

tn_status region_run(const tn_call *call, tn_transpose_fn transpose, uint32_t stage, int64_t begin,
                     int64_t end) {
  if (region_is_odd(call->outputs[0]->dtype)) return region_odd(call);
  return loop_table_run(call, build, transpose, stage, begin, end);
}

tn_status region_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker) {
  (void)worker;
  return region_run(call, NULL, stage, begin, end);
}
