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

/* Two regions of up to four dims at once, as a concatenation mostly has. */
KERNEL(region_copy_two, (IN(X), IN(Z), OUT(Y)),
       (CONST(RANK), INT(n), INT(from_offset), INT(to_offset), INT(m), INT(from_other),
        INT(to_other), INTS(d, 4), INTS(s, 4), INTS(t, 4), INTS(e, 4), INTS(u, 4), INTS(v, 4)),
       64, 1, 1) {
  int i = GLOBAL(0), which = GROUP(1);
  if (i < (which == 0 ? n : m)) {
    int rest = i, from = which == 0 ? from_offset : from_other;
    int to = which == 0 ? to_offset : to_other;
    if (RANK > 0) DIM((which == 0 ? d0 : e0), (which == 0 ? s0 : u0), (which == 0 ? t0 : v0))
    if (RANK > 1) DIM((which == 0 ? d1 : e1), (which == 0 ? s1 : u1), (which == 0 ? t1 : v1))
    if (RANK > 2) DIM((which == 0 ? d2 : e2), (which == 0 ? s2 : u2), (which == 0 ? t2 : v2))
    if (RANK > 3) DIM((which == 0 ? d3 : e3), (which == 0 ? s3 : u3), (which == 0 ? t3 : v3))
    if (which == 0) {
      MOVE(Y, to, X, from);
    } else {
      MOVE(Y, to, Z, from);
    }
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

static void add_dims(tn_gpu *g, const copy *c, const int64_t *what, int64_t none, int32_t rank) {
  for (int32_t k = 0; k < rank; k++) tn_gpu_int(g, k < c->rank ? what[k] : none);
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
  add_dims(&g, c, c->size, 1, TN_MAX_RANK);
  if (!is_zero) add_dims(&g, c, c->src, 0, TN_MAX_RANK);
  add_dims(&g, c, c->dst, 0, TN_MAX_RANK);
  return tn_gpu_run(&g, r, tn_gpu_groups(c->n, 64), 1, 1);
}

enum { TWO_RANK = 4 };

static copy copy_of_region(const tn_region *r) {
  return copy_of(r->rank, r->size, r->src_stride, r->dst_stride);
}

static bool may_be_two(const copy c[2]) {
  return c[0].n > 0 && c[1].n > 0 && c[0].rank <= TWO_RANK && c[1].rank <= TWO_RANK;
}

/* Regions k and k + 1 by one dispatch. */
static tn_status move_two(const tn_call *call, tn_recorder *r, uint32_t k, const copy c[2]) {
  const uint32_t type = raw_type(call->outputs[0]->dtype);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_region_copy_two);
  for (uint32_t i = k; i < k + 2; i++)
    tn_gpu_buffer(&g, TN_BIND_INPUT, (uint32_t)call->regions[i]->input, type, 0, 0);
  tn_gpu_buffer(&g, TN_BIND_OUTPUT, 0, type, 0, 0);
  tn_gpu_const(&g, c[0].rank > c[1].rank ? c[0].rank : c[1].rank);
  for (uint32_t i = 0; i < 2; i++) {
    tn_gpu_int(&g, c[i].n);
    tn_gpu_int(&g, call->regions[k + i]->src_offset);
    tn_gpu_int(&g, call->regions[k + i]->dst_offset);
  }
  for (uint32_t i = 0; i < 2; i++) {
    add_dims(&g, &c[i], c[i].size, 1, TWO_RANK);
    add_dims(&g, &c[i], c[i].src, 0, TWO_RANK);
    add_dims(&g, &c[i], c[i].dst, 0, TWO_RANK);
  }
  return tn_gpu_run(&g, r, tn_gpu_groups(tn_max_i64(c[0].n, c[1].n), 64), 2, 1);
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
    const copy c[] = {copy_of_region(r),
                      copy_of_region(call->regions[k + 1 < call->n_regions ? k + 1 : k])};
    const bool are_two = k + 1 < call->n_regions && may_be_two(c);
    status = are_two ? move_two(call, recorder, k, c)
                     : move(call, recorder, r->input, c, r->src_offset, r->dst_offset);
    k += are_two;
  }
  return status;
}
#endif
