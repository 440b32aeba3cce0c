/* Portable DFT and STFT: an item is a line or a frame. State: the roots of unity. Scratch of a
 * worker: a line before and after the transform, and room for that. */
#include "dft.h"

static tn_status plan(int64_t length, int64_t items, tn_kernel_plan *out) {
  if (length > INT64_MAX / 64) return TN_ERR_OVERFLOW;
  out->items[0] = items;
  out->grain[0] = 1 + 500 / length;
  out->state_bytes = (uint64_t)length * sizeof(fourier_value);
  out->state_key = (uint64_t)length;
  out->worker_scratch_bytes = (uint64_t)(2 * length + fourier_room(length)) * sizeof(fourier_value);
  out->cost_ns = (double)items * (double)length * 30 + 200;
  return TN_OK;
}

tn_status dft_plan(const tn_call *call, tn_kernel_plan *out) {
  dft_shape d;
  tn_status s = dft_shape_of(call, &d);
  return s ? s : plan(d.length, d.outer * d.inner, out);
}

tn_status stft_plan(const tn_call *call, tn_kernel_plan *out) {
  stft_shape f;
  tn_status s = stft_shape_of(call, &f);
  return s ? s : plan(f.length, f.batch * f.frames, out);
}

static tn_status prepare(const tn_call *call) {
  fourier_roots(call->state, (int64_t)(call->state_bytes / sizeof(fourier_value)));
  return TN_OK;
}

tn_status dft_prepare(const tn_call *call) { return prepare(call); }
tn_status stft_prepare(const tn_call *call) { return prepare(call); }

typedef struct lines {
  fourier_value *in, *out, *room;
} lines;

static lines lines_of(const tn_call *call, uint32_t worker, int64_t length) {
  fourier_value *in =
      (fourier_value *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  return (lines){in, in + length, in + 2 * length};
}

/* From the first half of a spectrum, the other one: the conjugate values backwards. What must be
 * real is taken as real. */
static void mirror(fourier_value *in, int64_t n) {
  in[0].im = 0;
  if (n % 2 == 0) in[n / 2].im = 0;
  for (int64_t k = n / 2 + 1; k < n; k++) in[k] = (fourier_value){in[n - k].re, -in[n - k].im};
}

#define TRANSFORMS(T)                                                                              \
  static void line_##T(const tn_call *call, const dft_shape *d, int64_t line, const lines *l) {    \
    const int64_t used =                                                                           \
        tn_min_i64(d->inverse && d->half ? d->length / 2 + 1 : d->length, d->n_in);                \
    const T *x = (const T *)call->inputs[0]->data +                                                \
                 (line / d->inner * d->n_in * d->inner + line % d->inner) * d->in_parts;           \
    T *y = (T *)call->outputs[0]->data +                                                           \
           (line / d->inner * d->n_out * d->inner + line % d->inner) * d->out_parts;               \
    const double scale = d->inverse ? 1 / (double)d->length : 1;                                   \
    for (int64_t j = 0; j < d->length; j++) l->in[j] = (fourier_value){0, 0};                      \
    for (int64_t j = 0; j < used; j++, x += d->inner * d->in_parts)                                \
      l->in[j] = (fourier_value){(double)x[0], d->in_parts == 2 ? (double)x[1] : 0};               \
    if (d->inverse && d->half) mirror(l->in, d->length);                                           \
    if (d->in_parts == 1 && !d->inverse)                                                           \
      fourier_transform_real(call->state, d->length, l->in, l->out, l->room);                      \
    else                                                                                           \
      fourier_transform(call->state, d->length, d->inverse, l->in, l->out, l->room);               \
    for (int64_t k = 0; k < d->n_out; k++, y += d->inner * d->out_parts) {                         \
      y[0] = (T)(l->out[k].re * scale);                                                            \
      if (d->out_parts == 2) y[1] = (T)(l->out[k].im * scale);                                     \
    }                                                                                              \
  }                                                                                                \
  static void frame_##T(const tn_call *call, const stft_shape *f, int64_t frame, const lines *l) { \
    const T *x = (const T *)call->inputs[0]->data +                                                \
                 (frame / f->frames * f->signal + frame % f->frames * f->step) * f->parts;         \
    const T *window = tn_has_input(call, 2) ? call->inputs[2]->data : NULL;                        \
    T *y = (T *)call->outputs[0]->data + frame * f->n_out * 2;                                     \
    for (int64_t j = 0; j < f->length; j++) {                                                      \
      const double w = window ? (double)window[j] : 1;                                             \
      l->in[j] = (fourier_value){w * (double)x[j * f->parts],                                      \
                                 f->parts == 2 ? w * (double)x[2 * j + 1] : 0};                    \
    }                                                                                              \
    if (f->parts == 1)                                                                             \
      fourier_transform_real(call->state, f->length, l->in, l->out, l->room);                      \
    else                                                                                           \
      fourier_transform(call->state, f->length, 0, l->in, l->out, l->room);                        \
    for (int64_t k = 0; k < f->n_out; k++) {                                                       \
      y[2 * k] = (T)l->out[k].re;                                                                  \
      y[2 * k + 1] = (T)l->out[k].im;                                                              \
    }                                                                                              \
  }
TRANSFORMS(float)
TRANSFORMS(double)

#define RUN(name, shape, each)                                                    \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    shape d;                                                                      \
    tn_status s = shape##_of(call, &d);                                           \
    lines l = lines_of(call, worker, s ? 0 : d.length);                           \
    (void)stage;                                                                  \
    for (int64_t k = begin; k < end && !s; k++) each(call, &d, k, &l);            \
    return s;                                                                     \
  }
RUN(dft_f32_c, dft_shape, line_float)
RUN(dft_f64_c, dft_shape, line_double)
RUN(stft_f32_c, stft_shape, frame_float)
RUN(stft_f64_c, stft_shape, frame_double)
