/* Portable CumSum and CumProd: an item is an element outside of the axis; neighbours are done
 * together. */
#include "base/vmath.h"
#include "cumulate.h"

enum { ITEMS = 64, LANES = 512 };

/* The axis may be unknown while planning, so that items are 1/64 of the tensor, whatever it is. */
tn_status cumulate_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = ITEMS;
  out->grain[0] = tn_max_i64(1, ITEMS * 4096 / tn_max_i64(1, tn_tensor_elements(call->inputs[0])));
  return TN_OK;
}

/* n lanes side by side, `size` steps of `step` elements from `at` on. Floats are summed in f64,
 * integers wrap. */
#define LANE_LOOP(name, type, wide, load, store)                                     \
  static void name(const type *in, type *out, int64_t n, int64_t size, int64_t step, \
                   const cumulation *c) {                                            \
    const bool product = c->product, exclusive = c->exclusive;                       \
    wide total[LANES];                                                               \
    for (int64_t l = 0; l < n; l++) total[l] = product ? (wide)1 : (wide)0;          \
    for (int64_t k = 0; k < size; k++) {                                             \
      const type *x = in + (c->reverse ? size - 1 - k : k) * step;                   \
      type *y = out + (c->reverse ? size - 1 - k : k) * step;                        \
      if (product) {                                                                 \
        STEP_LOOP(total[l] * (wide)load(x[l]), wide, store)                          \
      } else {                                                                       \
        STEP_LOOP(total[l] + (wide)load(x[l]), wide, store)                          \
      }                                                                              \
    }                                                                                \
  }
/* Lanes do not meet, even where the output is the input. */
#define STEP_LOOP(value, wide, store)          \
  TN_IVDEP for (int64_t l = 0; l < n; l++) {   \
    const wide next = (value);                 \
    y[l] = store(exclusive ? total[l] : next); \
    total[l] = next;                           \
  }

#define AS_IS(x) (x)
#define TO_F32(x) ((float)(x))
#define TO_F16(x) tn_f64_to_f16(x)
#define TO_BF16(x) tn_f64_to_bf16(x)
#define TO_32(x) ((uint32_t)(x))

LANE_LOOP(lanes_f32, float, double, AS_IS, TO_F32)
LANE_LOOP(lanes_f64, double, double, AS_IS, AS_IS)
LANE_LOOP(lanes_f16, uint16_t, double, tn_f16_to_f32, TO_F16)
LANE_LOOP(lanes_bf16, uint16_t, double, tn_bf16_to_f32, TO_BF16)
LANE_LOOP(lanes_32, uint32_t, uint64_t, AS_IS, TO_32)
LANE_LOOP(lanes_64, uint64_t, uint64_t, AS_IS, AS_IS)

static void run_lanes(const tn_call *call, int64_t at, int64_t n, int64_t size, int64_t step,
                      const cumulation *c) {
  const void *in = call->inputs[0]->data;
  void *out = call->outputs[0]->data;
  switch (call->inputs[0]->dtype) {
    case TN_F32: lanes_f32((const float *)in + at, (float *)out + at, n, size, step, c); break;
    case TN_F64: lanes_f64((const double *)in + at, (double *)out + at, n, size, step, c); break;
    case TN_F16:
      lanes_f16((const uint16_t *)in + at, (uint16_t *)out + at, n, size, step, c);
      break;
    case TN_BF16:
      lanes_bf16((const uint16_t *)in + at, (uint16_t *)out + at, n, size, step, c);
      break;
    case TN_I32:
    case TN_U32: lanes_32((const uint32_t *)in + at, (uint32_t *)out + at, n, size, step, c); break;
    default: lanes_64((const uint64_t *)in + at, (uint64_t *)out + at, n, size, step, c);
  }
}

static void run(const tn_call *call, const cumulation *c, int64_t begin, int64_t end) {
  around u = around_axis(call->inputs[0], c->axis);
  int64_t lanes = u.size ? u.before * u.after : 0, lane = lanes * begin / ITEMS,
          last = lanes * end / ITEMS;
  while (lane < last) {
    int64_t inside = lane % u.after,
            n = tn_min_i64(tn_min_i64(LANES, u.after - inside), last - lane);
    run_lanes(call, lane / u.after * u.size * u.after + inside, n, u.size, u.after, c);
    lane += n;
  }
}

tn_status cum_sum_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  cumulation c;
  tn_status s = cumulate_parse_sum(call, &c);
  (void)stage, (void)worker;
  if (!s) run(call, &c, begin, end);
  return s;
}

tn_status cum_prod_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  cumulation c;
  tn_status s = cumulate_parse_product(call, &c);
  (void)stage, (void)worker;
  if (!s) run(call, &c, begin, end);
  return s;
}
