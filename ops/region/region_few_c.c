/* tenon::Region of few bytes, portable: what is to be copied is so little that preparing loops
 * would take longer than the copies. Sides may be in plain or channels-last order. */
#include <string.h>

#include "cover.h"
#include "region.gen.h"
#include "region.h"
#include "tenon/kit/region_dims.h"
#include "tenon/kit/tensor.h"

enum { MOST_REGIONS = 8, MOST_BYTES = 4096, MOST_STEPS = 256 };

/* Elements that one copy takes: the inner dim, if both sides are dense there. */
static int64_t run_of(const tn_region *r) {
  const int32_t last = r->rank - 1;
  return last >= 0 && r->src_stride[last] == 1 && r->dst_stride[last] == 1 ? r->size[last] : 1;
}

static int64_t steps_of(const tn_region *r) {
  const int64_t n = tn_region_elements(r);
  return n ? n / run_of(r) : 0;
}

static void swap(int64_t *list, int32_t a, int32_t b) {
  const int64_t t = list[a];
  list[a] = list[b];
  list[b] = t;
}

/* In any order of dims the same is copied: one that both sides have dense goes in. */
static void dense_inside(tn_region *r) {
  for (int32_t k = 0; k + 1 < r->rank; k++)
    if (r->src_stride[k] == 1 && r->dst_stride[k] == 1 && r->size[k] > run_of(r)) {
      swap(r->size, k, r->rank - 1);
      swap(r->src_stride, k, r->rank - 1);
      swap(r->dst_stride, k, r->rank - 1);
    }
}

static bool is_plain(const tn_tensor *t) { return t->layout == TN_PLAIN; }

/* Region k in the strides of what is stored. */
static bool find(const tn_call *call, uint32_t k, tn_region *out) {
  const tn_region *r = call->regions[k];
  const tn_tensor *in = call->inputs[r->input];
  *out = *r;
  if (!tn_region_elements(r)) return true;
  if (!tn_region_in_storage(r, in, call->outputs[0], out)) return false;
  if (!is_plain(call->outputs[0]) || !is_plain(in)) dense_inside(out);
  return true;
}

/* -1: some region cannot be said so. */
static int64_t all_steps(const tn_call *call) {
  int64_t steps = 0;
  for (uint32_t k = 0; k < call->n_regions; k++) {
    tn_region r;
    if (!find(call, k, &r)) return -1;
    steps += steps_of(&r);
  }
  return steps;
}

const char *region_few_refuse(const tn_call *call) {
  const tn_tensor *out = call->outputs[0];
  tn_cover cover;
  if (region_is_odd(out->dtype)) return "takes types of whole bytes";
  if (call->n_regions > MOST_REGIONS) return "takes up to 8 regions";
  if (tn_bytes(out) > MOST_BYTES) return "takes up to 4 KB";
  const int64_t steps = all_steps(call);
  if (steps < 0) return "a region mixes dims, which takes plain layout";
  if (steps > MOST_STEPS) return "takes up to 256 runs";
  tn_cover_find(out, call->regions, call->n_regions, &cover);
  return cover.n || cover.everything ? "fills nothing" : NULL;
}

tn_status region_few_plan(const tn_call *call, tn_kernel_plan *out) {
  const bool plain = is_plain(call->outputs[0]) && (!call->n_inputs || is_plain(call->inputs[0]));
  out->cost_ns = 4 + (plain ? 4 : 40) * (double)call->n_regions + 1.5 * (double)all_steps(call) +
                 (double)tn_bytes(call->outputs[0]) / 32;
  return TN_OK;
}

static inline void copy(uint8_t *dst, const uint8_t *src, int64_t bytes) {
  switch (bytes) {
    case 1: *dst = *src; break;
    case 2: memcpy(dst, src, 2); break;
    case 4: memcpy(dst, src, 4); break;
    case 8: memcpy(dst, src, 8); break;
    default: memcpy(dst, src, (size_t)bytes);
  }
}

/* The dims before `rank`, run by run. */
static void copy_dims(const tn_region *r, int32_t rank, int64_t element, int64_t bytes,
                      uint8_t *dst, const uint8_t *src) {
  if (rank == 0) {
    copy(dst, src, bytes);
    return;
  }
  const int32_t d = rank - 1;
  const int64_t to = r->dst_stride[d] * element, from = r->src_stride[d] * element;
  if (d == 0)
    for (int64_t k = 0; k < r->size[d]; k++) copy(dst + k * to, src + k * from, bytes);
  else
    for (int64_t k = 0; k < r->size[d]; k++)
      copy_dims(r, d, element, bytes, dst + k * to, src + k * from);
}

tn_status region_few_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const int64_t element = tn_dtype(call->outputs[0]->dtype)->bits / 8;
  uint8_t *out = call->outputs[0]->data;
  for (uint32_t k = 0; k < call->n_regions; k++) {
    tn_region r;
    if (!find(call, k, &r) || !tn_region_elements(&r)) continue;
    const uint8_t *in = call->inputs[r.input]->data;
    const int64_t n = run_of(&r);
    copy_dims(&r, r.rank - (n > 1), element, n * element, out + r.dst_offset * element,
              in + r.src_offset * element);
  }
  return TN_OK;
}
