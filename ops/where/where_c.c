/* Portable kernels of Where: only the width of the elements matters; strings are copied by the
 * host. */
#include "tenon/kit/broadcast.h"
#include "tenon/kit/elementwise.h"
#include "where.gen.h"

typedef struct wide {
  uint64_t a, b;
} wide; /* c128 */

/* Blocks of three arrays. y may be x or z. Both are read, and chosen by a mask: what is true is
 * not foreseeable. */
#define SELECT(T)                                       \
  do {                                                  \
    const T *px = x, *pz = z;                           \
    T *py = y;                                          \
    TN_IVDEP for (int64_t i = 0; i < n; i++) {          \
      const T mask = (T)(0u - (T)(c[i] != 0));          \
      py[i] = (T)((px[i] & mask) | (pz[i] & (T)~mask)); \
    }                                                   \
  } while (0)

static void select_wide(const uint8_t *c, const wide *x, const wide *z, wide *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = c[i] ? x[i] : z[i];
}

static void select_block(int64_t bytes, const uint8_t *c, const void *x, const void *z, void *y,
                         int64_t n) {
  switch (bytes) {
    case 1: SELECT(uint8_t); break;
    case 2: SELECT(uint16_t); break;
    case 4: SELECT(uint32_t); break;
    case 8: SELECT(uint64_t); break;
    default: select_wide(c, x, z, y, n); break;
  }
}

/* The input, 1 or 2, that a run takes whole since one condition goes for all of it; 0: neither. */
static int chosen(const tn_tensor *condition, const tn_runs *r) {
  if (r->stride[0]) return 0;
  return ((const uint8_t *)condition->data)[r->offset[0]] ? 1 : 2;
}

tn_status where_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                  uint32_t worker) {
  (void)stage, (void)worker;
  tn_repeated x_is, z_is;
  x_is.n = z_is.n = 0;
  const tn_tensor *const *in = call->inputs;
  tn_tensor *y = call->outputs[0];
  const int64_t bytes = tn_dtype(y->dtype)->bits / 8;
  tn_broadcast plan;
  const tn_status status = tn_broadcast_init(&plan, y, 3, in);
  if (status) return status;
  tn_runs r = tn_runs_begin(&plan, begin, end);
  while (tn_runs_next(&r)) {
    const int one = chosen(in[0], &r);
    char *to = (char *)y->data + r.index * bytes;
    if (one && r.stride[one]) {
      const char *from = (const char *)in[one]->data + r.offset[one] * bytes;
      if (to != from) memcpy(to, from, (size_t)(r.length * bytes)); /* y may be the input */
      continue;
    }
    for (int64_t i = 0; i < r.length; i += TN_MAP_BLOCK, to += TN_MAP_BLOCK * bytes) {
      const int64_t n = tn_min_i64(r.length - i, TN_MAP_BLOCK);
      const void *x =
          tn_expand_next(in[1]->data, bytes, r.offset[1] + i * r.stride[1], r.stride[1], n, &x_is);
      const void *z =
          tn_expand_next(in[2]->data, bytes, r.offset[2] + i * r.stride[2], r.stride[2], n, &z_is);
      if (one) {
        memcpy(to, one == 1 ? x : z, (size_t)(n * bytes));
      } else {
        select_block(bytes, (const uint8_t *)in[0]->data + r.offset[0] + i, x, z, to, n);
      }
    }
  }
  return TN_OK;
}

/* Output 0 may lie on X or Y, whichever has its shape. */
tn_status where_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *y = call->outputs[0];
  const tn_status status = tn_plan_elementwise(call, out, 0.5);
  out->in_place[0] = -1;
  for (int32_t k = 2; k >= 1; k--) {
    if (tn_storage_elements(call->inputs[k]) == tn_storage_elements(y)) out->in_place[0] = k;
  }
  return status;
}

tn_status where_string_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const tn_tensor *const *in = call->inputs;
  tn_broadcast plan;
  tn_status status = tn_broadcast_init(&plan, call->outputs[0], 3, in);
  if (status) return status;
  tn_runs r = tn_runs_begin(&plan, 0, plan.total);
  while (tn_runs_next(&r)) {
    for (int64_t i = 0; i < r.length; i++) {
      const int k = ((const uint8_t *)in[0]->data)[r.offset[0] + i * r.stride[0]] ? 1 : 2;
      const tn_str s = ((const tn_str *)in[k]->data)[r.offset[k] + i * r.stride[k]];
      status = call->host->string_set(call->ctx, 0, r.index + i, s.data, s.size);
      if (status) return status;
    }
  }
  return TN_OK;
}
