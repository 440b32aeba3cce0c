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

/* ---- what was found, kept ---- */

/* To find a region in the storage takes longer than to copy it. What was found stands with what it
 * was found for, which is compared: keys are no proof. */
typedef struct few_memo {
  tn_region said, found;
  int64_t in[TN_MAX_RANK], out[TN_MAX_RANK];
} few_memo;

static bool is_for(const few_memo *m, const tn_region *r, const tn_tensor *in,
                   const tn_tensor *out) {
  return !memcmp(&m->said, r, sizeof *r) &&
         !memcmp(m->in, in->shape, (size_t)in->rank * sizeof *in->shape) &&
         !memcmp(m->out, out->shape, (size_t)out->rank * sizeof *out->shape);
}

/* Which memo a region has; all of its bytes, so that padding counts, too. */
static uint64_t mixed(uint64_t key, const void *data, size_t n) {
  for (size_t k = 0; k < n; k++) key = (key ^ ((const uint8_t *)data)[k]) * UINT64_C(0x100000001b3);
  return key;
}

static bool all_plain(const tn_call *call) {
  bool plain = is_plain(call->outputs[0]);
  for (uint32_t k = 0; k < call->n_inputs; k++) plain = plain && is_plain(call->inputs[k]);
  return plain;
}

static void plan_memos(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *y = call->outputs[0];
  uint64_t key = mixed(UINT64_C(0xcbf29ce484222325), y->shape, (size_t)y->rank * sizeof *y->shape);
  if (all_plain(call)) return;
  for (uint32_t k = 0; k < call->n_regions; k++) {
    const tn_tensor *x = call->inputs[call->regions[k]->input];
    key = mixed(key, call->regions[k], sizeof *call->regions[k]);
    key = mixed(key, x->shape, (size_t)x->rank * sizeof *x->shape);
  }
  out->state_bytes = call->n_regions * sizeof(few_memo);
  out->state_key = key;
}

tn_status region_few_prepare(const tn_call *call) {
  few_memo *memos = call->state;
  for (uint32_t k = 0; k < call->n_regions; k++) {
    few_memo *m = &memos[k];
    const tn_region *r = call->regions[k];
    const tn_tensor *in = call->inputs[r->input], *out = call->outputs[0];
    memcpy(&m->said, r, sizeof *r);
    memcpy(m->in, in->shape, (size_t)in->rank * sizeof *in->shape);
    memcpy(m->out, out->shape, (size_t)out->rank * sizeof *out->shape);
    if (!find(call, k, &m->found)) return TN_ERR_INTERNAL;
  }
  return TN_OK;
}

static bool recall(const tn_call *call, uint32_t k, tn_region *out) {
  const few_memo *m = call->state;
  const tn_region *r = call->regions[k];
  if (!m || !is_for(&m[k], r, call->inputs[r->input], call->outputs[0])) return find(call, k, out);
  *out = m[k].found;
  return true;
}

/* ---- plan and run ---- */

tn_status region_few_plan(const tn_call *call, tn_kernel_plan *out) {
  plan_memos(call, out);
  out->cost_ns = 4 + (all_plain(call) ? 4 : 20) * (double)call->n_regions +
                 1.5 * (double)all_steps(call) + (double)tn_bytes(call->outputs[0]) / 32;
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
    if (!recall(call, k, &r) || !tn_region_elements(&r)) continue;
    const uint8_t *in = call->inputs[r.input]->data;
    const int64_t n = run_of(&r);
    copy_dims(&r, r.rank - (n > 1), element, n * element, out + r.dst_offset * element,
              in + r.src_offset * element);
  }
  return TN_OK;
}
