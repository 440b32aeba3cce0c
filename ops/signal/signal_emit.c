/* DFT of f32 as C, in f64 inside, and complex numbers, which are pairs. The transform's recursion
 * (fourier.c) becomes loops over its levels. */
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

static const char *refuse(const tn_call *call) {
  const dft_shape d = shape_of(call);
  return d.length < 1 || d.length > INT32_MAX / 64 ? "its lines are too long" : NULL;
}

static uint64_t scratch(const tn_call *call) {
  return 3 * (uint64_t)shape_of(call).length * sizeof(fourier_value);
}

static int64_t smallest_factor(int64_t n) {
  if (n % 4 == 0) return 4;
  for (int64_t p = 2; p * p <= n; p++)
    if (n % p == 0) return p;
  return n;
}

static bool is_real(const dft_shape *d) {
  return d->in_parts == 1 && !d->inverse && d->length % 2 == 0;
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

static void emit(const tn_emit *e) {
  const dft_shape d = shape_of(e->call);
  const int64_t stride = is_real(&d) ? 2 : 1, size = d.length / stride;
  int32_t radix[MOST_LEVELS] = {0};
  const int32_t levels = radices_of(size, radix);
  int32_t *order = e->memory(e, (uint64_t)size * sizeof *order);
  int32_t *first = e->memory(e, (uint64_t)(levels + 1) * sizeof *first);
  fourier_value *roots = e->memory(e, (uint64_t)d.length * sizeof *roots);
  if (!order || !first || !roots) return;
  for (int64_t k = 0; k < size; k++) order[k] = (int32_t)stride * place_of(k, size, radix, levels);
  for (int32_t k = 0; k < levels; k++) first[k] = radix[levels - 1 - k];
  fourier_roots(roots, d.length);
  e->code(e, "emit/dft.c");
  e->table(e, "static const struct dft dft_%u = {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d,\n",
           e->step, (int)d.outer, (int)d.inner, (int)d.length, (int)d.n_in, (int)d.n_out,
           d.in_parts, d.out_parts, d.inverse, d.half, is_real(&d), levels, (int)size);
  e->table(e, "    %s, ", add_array(e, TN_I32, size, order));
  e->table(e, "%s, ", add_array(e, TN_I32, levels + 1, first));
  e->table(e, "%s};\n", add_array(e, TN_F64, 2 * d.length, roots));
  e->line(e, "dft(&dft_%u, %s, %s, %s);", e->step, e->input(e, 0), e->output(e, 0), e->scratch(e));
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
#define COPY(name)                                                       \
  static const tn_emitter name##_emitter = {.head = TN_HEAD(tn_emitter), \
                                            .kernel = #name "_c",        \
                                            .flags = TN_EMIT_IN_PLACE,   \
                                            .emit = copy_emit};
COPY(complex)
COPY(complex_parts)
const tn_emitter *const signal_emitters[] = {&dft_emitter, &complex_emitter, &complex_parts_emitter,
                                             NULL};
