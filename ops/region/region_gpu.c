/* tenon::Region on GPUs: each region and each box that none covers is a dispatch, an element a
 * thread, the innermost dim along the threads. Elements are moved as they are. */
#ifdef TN_GPU
#define DIM(d, s, t)                           \
  {                                            \
    int q_ = rest / (d), m_ = rest - q_ * (d); \
    from += m_ * (s);                          \
    to += m_ * (t);                            \
    rest = q_;                                 \
  }

KERNEL(region_copy, (IN(X), OUT(Y)),
       (CONST(RANK), INT(n), INT(from_offset), INT(to_offset), INTS(d, 8), INTS(s, 8), INTS(t, 8)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int rest = i, from = from_offset, to = to_offset;
    if (RANK > 0) DIM(d0, s0, t0)
    if (RANK > 1) DIM(d1, s1, t1)
    if (RANK > 2) DIM(d2, s2, t2)
    if (RANK > 3) DIM(d3, s3, t3)
    if (RANK > 4) DIM(d4, s4, t4)
    if (RANK > 5) DIM(d5, s5, t5)
    if (RANK > 6) DIM(d6, s6, t6)
    if (RANK > 7) DIM(d7, s7, t7)
    MOVE(Y, to, X, from);
  }
}

KERNEL(region_zero, (OUT(Y)), (CONST(RANK), INT(n), INT(to_offset), INTS(d, 8), INTS(t, 8)), 64, 1,
       1) {
  int i = GLOBAL(0);
  if (i < n) {
    int rest = i, from = 0, to = to_offset;
    if (RANK > 0) DIM(d0, 0, t0)
    if (RANK > 1) DIM(d1, 0, t1)
    if (RANK > 2) DIM(d2, 0, t2)
    if (RANK > 3) DIM(d3, 0, t3)
    if (RANK > 4) DIM(d4, 0, t4)
    if (RANK > 5) DIM(d5, 0, t5)
    if (RANK > 6) DIM(d6, 0, t6)
    if (RANK > 7) DIM(d7, 0, t7)
    STI(Y, to, 0);
  }
}
#else
#include "cover.h"
#include "region.gen.h"
#include "region.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/dtype.h"

/* Innermost dim first, without dims of one element; neighbours that lie dense in both are one. */
typedef struct copy {
  int32_t rank;
  int64_t n, size[TN_MAX_RANK], src[TN_MAX_RANK], dst[TN_MAX_RANK];
} copy;

static copy copy_of(int32_t rank, const int64_t *size, const int64_t *src, const int64_t *dst) {
  copy c = {.n = 1};
  for (int32_t k = rank - 1; k >= 0; k--) {
    const int32_t last = c.rank - 1;
    c.n *= size[k];
    if (size[k] == 1) continue;
    if (last >= 0 && c.src[last] * c.size[last] == src[k] && c.dst[last] * c.size[last] == dst[k]) {
      c.size[last] *= size[k];
      continue;
    }
    c.size[c.rank] = size[k], c.src[c.rank] = src[k], c.dst[c.rank++] = dst[k];
  }
  return c;
}

/* Elements of 1, 2, 4 or 8 bytes as integers of that size. */
static uint32_t raw_type(uint32_t dtype) {
  const uint32_t bits = (uint32_t)tn_dtype(dtype)->bits;
  return bits == 8 ? TN_U8 : bits == 16 ? TN_U16 : bits == 32 ? TN_U32 : TN_U64;
}

const char *region_gpu_refuse(const tn_call *call) {
  const uint32_t bits = (uint32_t)tn_dtype(call->outputs[0]->dtype)->bits;
  enum { MOST = 512 };
  if (region_is_odd(call->outputs[0]->dtype) || bits > 64) return "moves elements of 1 to 8 bytes";
  if (call->n_regions > MOST) return "copies up to 512 regions";
  return tn_gpu_refuse_size(call);
}

static tn_status move(const tn_call *call, tn_recorder *r, int32_t input, const copy *c,
                      int64_t src, int64_t dst) {
  const uint32_t type = raw_type(call->outputs[0]->dtype);
  const bool is_zero = input < 0;
  tn_gpu g;
  if (c->n <= 0) return TN_OK;
  tn_gpu_begin(&g, call, is_zero ? GPU_region_zero : GPU_region_copy);
  if (!is_zero) tn_gpu_buffer(&g, TN_BIND_INPUT, (uint32_t)input, type, 0, 0);
  tn_gpu_buffer(&g, TN_BIND_OUTPUT, 0, type, 0, 0);
  tn_gpu_const(&g, c->rank);
  tn_gpu_int(&g, c->n);
  if (!is_zero) tn_gpu_int(&g, src);
  tn_gpu_int(&g, dst);
  for (int32_t k = 0; k < TN_MAX_RANK; k++) tn_gpu_int(&g, k < c->rank ? c->size[k] : 1);
  for (int32_t k = 0; k < TN_MAX_RANK && !is_zero; k++) tn_gpu_int(&g, k < c->rank ? c->src[k] : 0);
  for (int32_t k = 0; k < TN_MAX_RANK; k++) tn_gpu_int(&g, k < c->rank ? c->dst[k] : 0);
  return tn_gpu_run(&g, r, tn_gpu_groups(c->n, 64), 1, 1);
}

static tn_status fill(const tn_call *call, tn_recorder *r, const tn_box *box) {
  const tn_tensor *out = call->outputs[0];
  const int64_t none[TN_MAX_RANK] = {0};
  int64_t strides[TN_MAX_RANK], offset = 0;
  tn_plain_strides(out, strides);
  for (int32_t k = 0; k < out->rank; k++) offset += box->start[k] * strides[k];
  const copy c = copy_of(out->rank, box->count, none, strides);
  return move(call, r, call->region_fill, &c, 0, offset);
}

static tn_status fill_all(const tn_call *call, tn_recorder *r) {
  tn_box whole = {{0}, {0}};
  for (int32_t k = 0; k < call->outputs[0]->rank; k++) whole.count[k] = call->outputs[0]->shape[k];
  return fill(call, r, &whole);
}

tn_status region_gpu_record(const tn_call *call, tn_recorder *recorder) {
  tn_cover cover;
  tn_cover_find(call->outputs[0], call->regions, call->n_regions, &cover);
  tn_status status = cover.everything ? fill_all(call, recorder) : TN_OK;
  for (int32_t k = 0; k < cover.n && !cover.everything && !status; k++)
    status = fill(call, recorder, &cover.boxes[k]);
  for (uint32_t k = 0; k < call->n_regions && !status; k++) {
    const tn_region *r = call->regions[k];
    const copy c = copy_of(r->rank, r->size, r->src_stride, r->dst_stride);
    status = move(call, recorder, r->input, &c, r->src_offset, r->dst_offset);
  }
  return status;
}
#endif
