/* Running sums and products, written once and compiled per instruction set. Neighbours are done
 * together: elements behind the axis, or rows where the axis is the last. Floats are summed in f64,
 * integers wrap. */
#ifndef TN_GATHER_CUMULATE_LANES_H
#define TN_GATHER_CUMULATE_LANES_H

#include "cumulate.h"
#include "tenon/kit/vmath.h"

enum { LANES = 2048, ROWS = 8, STEPS = 4 };

/* `size` steps of `step` elements, of n lanes that are `apart` elements apart. Lanes do not meet,
 * even where the output is the input. Sums go several steps at once: what is so far is read and
 * written as often as there are steps otherwise, and both are slow beside the sum. */
#define LANE_LOOP(name, type, wide, load, store)                                                 \
  static inline __attribute__((always_inline)) void name##_any(                                  \
      const type *x, type *y, int64_t n, int64_t apart, int64_t size, int64_t step,              \
      const cumulation *c) {                                                                     \
    const bool product = c->product, exclusive = c->exclusive;                                   \
    wide total[LANES];                                                                           \
    int64_t k = 0;                                                                               \
    for (int64_t l = 0; l < n; l++) total[l] = product ? (wide)1 : (wide)0;                      \
    if (c->reverse) {                                                                            \
      x += (size - 1) * step;                                                                    \
      y += (size - 1) * step;                                                                    \
      step = -step;                                                                              \
    }                                                                                            \
    for (; !product && k + STEPS <= size; k += STEPS, x += STEPS * step, y += STEPS * step) {    \
      if (exclusive) {                                                                           \
        STEPS_LOOP(wide, BEFORE, load, store)                                                    \
      } else {                                                                                   \
        STEPS_LOOP(wide, AFTER, load, store)                                                     \
      }                                                                                          \
    }                                                                                            \
    for (; k < size; k++, x += step, y += step) TN_IVDEP for (int64_t l = 0; l < n; l++) {       \
        const wide v = (wide)load(x[l * apart]), next = product ? total[l] * v : total[l] + v;   \
        y[l * apart] = store(exclusive ? total[l] : next);                                       \
        total[l] = next;                                                                         \
      }                                                                                          \
  }                                                                                              \
  static void name(const void *in, void *out, int64_t at, int64_t n, int64_t size, int64_t step, \
                   const cumulation *c) {                                                        \
    name##_any((const type *)in + at, (type *)out + at, n, 1, size, step, c);                    \
  }                                                                                              \
  /* ROWS rows, one behind the other. */                                                         \
  static void name##_rows(const void *in, void *out, int64_t at, int64_t size,                   \
                          const cumulation *c) {                                                 \
    name##_any((const type *)in + at, (type *)out + at, ROWS, size, size, 1, c);                 \
  }
#define STEPS_LOOP(wide, one, load, store)   \
  TN_IVDEP for (int64_t l = 0; l < n; l++) { \
    wide t = total[l];                       \
    one(wide, 0, load, store);               \
    one(wide, 1, load, store);               \
    one(wide, 2, load, store);               \
    one(wide, 3, load, store);               \
    total[l] = t;                            \
  }
/* With x itself, and without. The value may be gone once y is written. */
#define AFTER(wide, s, load, store)         \
  t += (wide)load(x[(s)*step + l * apart]); \
  y[(s)*step + l * apart] = store(t)
#define BEFORE(wide, s, load, store)                     \
  const wide v##s = (wide)load(x[(s)*step + l * apart]); \
  y[(s)*step + l * apart] = store(t);                    \
  t += v##s

#define AS_IS(x) (x)
#define TO_F32(x) ((float)(x))
#define TO_F16(x) tn_f64_to_f16(x)
#define TO_BF16(x) tn_f64_to_bf16(x)

LANE_LOOP(lanes_f32, float, double, AS_IS, TO_F32)
LANE_LOOP(lanes_f64, double, double, AS_IS, AS_IS)
LANE_LOOP(lanes_f16, uint16_t, double, tn_f16_to_f32, TO_F16)
LANE_LOOP(lanes_bf16, uint16_t, double, tn_bf16_to_f32, TO_BF16)
LANE_LOOP(lanes_32, uint32_t, uint32_t, AS_IS, AS_IS)
LANE_LOOP(lanes_64, uint64_t, uint64_t, AS_IS, AS_IS)

typedef struct lane_loops {
  void (*lanes)(const void *in, void *out, int64_t at, int64_t n, int64_t size, int64_t step,
                const cumulation *c);
  void (*rows)(const void *in, void *out, int64_t at, int64_t size, const cumulation *c);
} lane_loops;

static lane_loops loops_of(uint32_t dtype) {
  switch (dtype) {
    case TN_F32: return (lane_loops){lanes_f32, lanes_f32_rows};
    case TN_F64: return (lane_loops){lanes_f64, lanes_f64_rows};
    case TN_F16: return (lane_loops){lanes_f16, lanes_f16_rows};
    case TN_BF16: return (lane_loops){lanes_bf16, lanes_bf16_rows};
    case TN_I32:
    case TN_U32: return (lane_loops){lanes_32, lanes_32_rows};
    default: return (lane_loops){lanes_64, lanes_64_rows};
  }
}

/* Items are 1 / CUMULATE_ITEMS of the lanes. */
static void cumulate(const tn_call *call, const cumulation *c, int64_t begin, int64_t end) {
  const lane_loops loops = loops_of(call->inputs[0]->dtype);
  const void *in = call->inputs[0]->data;
  void *out = call->outputs[0]->data;
  around u = around_axis(call->inputs[0], c->axis);
  int64_t lanes = u.size ? u.before * u.after : 0, lane = lanes * begin / CUMULATE_ITEMS,
          last = lanes * end / CUMULATE_ITEMS;
  for (; u.after == 1 && lane + ROWS <= last; lane += ROWS)
    loops.rows(in, out, lane * u.size, u.size, c);
  while (lane < last) {
    int64_t inside = lane % u.after,
            n = tn_min_i64(tn_min_i64(LANES, u.after - inside), last - lane);
    loops.lanes(in, out, lane / u.after * u.size * u.after + inside, n, u.size, u.after, c);
    lane += n;
  }
}

#endif
