/* DFT and STFT of f32 as C, in f64 inside, and complex numbers, which are pairs. The transform's
 * recursion (fourier.c) becomes loops over its levels. */
#include <string.h>

#include "dft.h"
#include "tenon/experimental/emit_c.h"
#include "tenon/kit/tensor.h"

enum { MOST_LEVELS = 32 };

static dft_shape shape_of(const tn_call *call) {
  dft_shape d = {0};
  (void)dft_shape_of(call, &d); /* it was planned */
  return d;
}

static stft_shape frames_of(const tn_call *call) {
  stft_shape f = {0};
  (void)stft_shape_of(call, &f);
  return f;
}

static const char *refuse_length(int64_t n) {
  return n < 1 || n > INT32_MAX / 64 ? "its lines are too long" : NULL;
}

static uint64_t room_for(int64_t n) { return 3 * (uint64_t)n * sizeof(fourier_value); }

static const char *refuse(const tn_call *call) { return refuse_length(shape_of(call).length); }

static const char *refuse_frames(const tn_call *call) {
  return refuse_length(frames_of(call).length);
}

static uint64_t scratch(const tn_call *call) { return room_for(shape_of(call).length); }

static uint64_t frames_scratch(const tn_call *call) { return room_for(frames_of(call).length); }

static int64_t smallest_factor(int64_t n) {
  if (n % 4 == 0) return 4;
  for (int64_t p = 2; p * p <= n; p++)
    if (n % p == 0) return p;
  return n;
}

/* Radices, the last that is joined first; their number. */
static int32_t radices_of(int64_t n, int32_t radix[MOST_LEVELS]) {
  int32_t levels = 0;
  for (; n > 1; n /= radix[levels++]) radix[levels] = (int32_t)smallest_factor(n);
  return levels;
}

/* Where the k-th value of the transform comes from, in values: its digits, the other way round. */
static int32_t place_of(int64_t k, int64_t size, const int32_t *radix, int32_t levels) {
  int64_t place = 0, step = 1;
  for (int32_t level = 0; level < levels; level++) {
    size /= radix[level];
    place += k / size * step;
    k %= size;
    step *= radix[level];
  }
  return (int32_t)place;
}

static const char *add_array(const tn_emit *e, uint32_t dtype, int64_t n, const void *data) {
  const tn_tensor t = tn_tensor_make(dtype, 1, &n, (void *)(uintptr_t)data);
  return data ? e->constant(e, &t) : "NULL";
}

/* The member `transform` of the table that is being written, and its end. */
static bool add_transform(const tn_emit *e, int64_t length, bool is_inverse, bool is_real) {
  const int64_t stride = is_real ? 2 : 1, size = length / stride;
  int32_t radix[MOST_LEVELS] = {0};
  const int32_t levels = radices_of(size, radix);
  int32_t *order = e->memory(e, (uint64_t)size * sizeof *order);
  int32_t *first = e->memory(e, (uint64_t)(levels + 1) * sizeof *first);
  fourier_value *roots = e->memory(e, (uint64_t)length * sizeof *roots);
  if (!order || !first || !roots) return false;
  for (int64_t k = 0; k < size; k++) order[k] = (int32_t)stride * place_of(k, size, radix, levels);
  for (int32_t k = 0; k < levels; k++) first[k] = radix[levels - 1 - k];
  fourier_roots(roots, length);
  e->table(e, "    {%d, %d, %d, %d, %d,\n", (int)length, is_inverse, is_real, levels, (int)size);
  e->table(e, "     %s, ", add_array(e, TN_I32, size, order));
  e->table(e, "%s, ", add_array(e, TN_I32, levels + 1, first));
  e->table(e, "%s}};\n", add_array(e, TN_F64, 2 * length, roots));
  return true;
}

static void emit(const tn_emit *e) {
  const dft_shape d = shape_of(e->call);
  e->code(e, "emit/fourier.c");
  e->code(e, "emit/dft.c");
  e->table(e, "static const struct dft dft_%u = {%d, %d, %d, %d, %d, %d, %d,\n", e->step,
           (int)d.outer, (int)d.inner, (int)d.n_in, (int)d.n_out, d.in_parts, d.out_parts, d.half);
  if (!add_transform(e, d.length, d.inverse, d.in_parts == 1 && !d.inverse && d.length % 2 == 0))
    return;
  e->line(e, "dft(&dft_%u, %s, %s, %s);", e->step, e->input(e, 0), e->output(e, 0), e->scratch(e));
}

static void emit_frames(const tn_emit *e) {
  const stft_shape f = frames_of(e->call);
  e->code(e, "emit/fourier.c");
  e->code(e, "emit/stft.c");
  e->table(e, "static const struct stft stft_%u = {%d, %d, %d, %d, %d, %d,\n", e->step,
           (int)f.batch, (int)f.signal, (int)f.frames, (int)f.step, (int)f.n_out, f.parts);
  if (!add_transform(e, f.length, false, f.parts == 1 && f.length % 2 == 0)) return;
  e->line(e, "stft(&stft_%u, %s, %s, %s, %s);", e->step, e->input(e, 0),
          tn_has_input(e->call, 2) ? e->input(e, 2) : "NULL", e->output(e, 0), e->scratch(e));
}

static void copy_emit(const tn_emit *e) {
  const char *from = e->input(e, 0), *to = e->output(e, 0);
  if (strcmp(from, to))
    e->line(e, "memcpy(%s, %s, %lld);", to, from, (long long)tn_bytes(e->call->inputs[0]));
}

static const tn_emitter dft_emitter = {.head = TN_HEAD(tn_emitter),
                                       .kernel = "dft_f32_c",
                                       .refuse = refuse,
                                       .scratch = scratch,
                                       .scratch_type = TN_F64,
                                       .emit = emit};
static const tn_emitter stft_emitter = {.head = TN_HEAD(tn_emitter),
                                        .kernel = "stft_f32_c",
                                        .refuse = refuse_frames,
                                        .scratch = frames_scratch,
                                        .scratch_type = TN_F64,
                                        .emit = emit_frames};
#define COPY(name)                                                       \
  static const tn_emitter name##_emitter = {.head = TN_HEAD(tn_emitter), \
                                            .kernel = #name "_c",        \
                                            .flags = TN_EMIT_IN_PLACE,   \
                                            .emit = copy_emit};
COPY(complex)
COPY(complex_parts)
const tn_emitter *const signal_emitters[] = {&dft_emitter, &stft_emitter, &complex_emitter,
                                             &complex_parts_emitter, NULL};
