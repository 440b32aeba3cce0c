/* Constants: reference-counted bytes shared by graphs, plans and packed weights. A constant
 * borrows memory that outlives it (a mapped file), owns a copy, or makes one when it is needed
 * (fetch.c); strings keep their bytes in an arena of their own. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/pages.h"
#include "graph/graph.h"
#include "tenon/kit/elementwise.h"

static tn_const *const_new(const tn_allocator *a) {
  tn_const *c = tn_alloc(a, sizeof *c);
  if (!c) return NULL;
  atomic_init(&c->refs, 1);
  atomic_init(&c->largest, UINT32_MAX);
  tn_arena_init(&c->strings, a);
  c->a = a;
  c->id = (int64_t)(intptr_t)c;
  return c;
}

/* Takes the memory over; NULL: there was none. */
static tn_const *const_of(const tn_allocator *a, void *data, uint64_t bytes) {
  tn_const *c = data ? const_new(a) : NULL;
  if (!c) {
    tn_free(a, data, bytes);
    return NULL;
  }
  c->data = data;
  c->bytes = bytes;
  c->owned = true;
  return c;
}

tn_const *tn_const_new(const tn_allocator *a, uint64_t bytes) {
  return const_of(a, tn_alloc(a, bytes), bytes);
}

tn_const *tn_const_borrow(const tn_allocator *a, const void *data, uint64_t bytes) {
  tn_const *c = const_new(a);
  if (!c) return NULL;
  union {
    const void *in;
    void *out;
  } cast = {data}; /* nobody writes constants */
  c->data = cast.out;
  c->bytes = bytes;
  return c;
}

static bool set_source(tn_const *c, const void *source, bool is_mapped) {
  if (pthread_mutex_init(&c->lock, NULL)) return false;
  c->source = source;
  c->is_mapped = is_mapped;
  return true;
}

tn_const *tn_const_of_file(const tn_allocator *a, const void *data, uint64_t bytes,
                           bool is_mapped) {
  tn_const *c = tn_const_borrow(a, data, bytes);
  if (c && bytes >= TN_LATE_BYTES) (void)set_source(c, data, is_mapped);
  return c;
}

void tn_const_convert(const tn_const *from, uint32_t from_dtype, uint32_t dtype, void *to,
                      int64_t n) {
  if (dtype == TN_F32)
    tn_widen_half(from_dtype, from->data, to, n);
  else if (dtype == TN_F16)
    tn_narrow_f16(from->data, to, n);
  else
    tn_narrow_bf16(from->data, to, n);
}

static uint64_t bytes_of(uint32_t dtype, int64_t n) {
  return (uint64_t)n * (dtype == TN_F32 ? sizeof(float) : sizeof(uint16_t));
}

static tn_const *convert_now(const tn_allocator *a, tn_const *from, uint32_t from_dtype,
                             uint32_t dtype, int64_t n) {
  tn_const *c = tn_const_new(a, bytes_of(dtype, n));
  if (!c || tn_const_fetch(from)) {
    tn_const_release(c);
    return NULL;
  }
  tn_const_convert(from, from_dtype, dtype, c->data, n);
  tn_const_drop(from);
  return c;
}

/* A lazy one where there can be one. */
static tn_const *converted(const tn_allocator *a, tn_const *from, uint32_t from_dtype,
                           uint32_t dtype, int64_t n) {
  const uint64_t bytes = bytes_of(dtype, n);
  tn_const *c = bytes < TN_LATE_BYTES ? NULL : tn_const_lazy(a, from->data, bytes, false);
  if (!c) return convert_now(a, from, from_dtype, dtype, n);
  c->origin = tn_const_retain(from);
  c->origin_dtype = from_dtype;
  c->dtype = dtype;
  return c;
}

tn_const *tn_const_promoted(const tn_allocator *a, tn_const *half, uint32_t dtype, int64_t n) {
  return converted(a, half, dtype, TN_F32, n);
}

tn_const *tn_const_narrowed(const tn_allocator *a, tn_const *wide, uint32_t dtype, int64_t n) {
  return converted(a, wide, TN_F32, dtype, n);
}

tn_status tn_const_part(tn_const *c) {
  if (!c->origin || c->origin->source) return TN_OK;
  const tn_status s = tn_const_show(c);
  if (s) return s;
  c->source = c->data;
  tn_const_release(c->origin);
  c->origin = NULL;
  return TN_OK;
}

/* Magnitudes are ordered as their bits are. */
float tn_const_largest(tn_const *c, int64_t n) {
  uint32_t most = atomic_load_explicit(&c->largest, memory_order_relaxed);
  if (most == UINT32_MAX) {
    if (tn_const_fetch(c)) return NAN;
    const uint32_t *bits = c->data;
    most = 0;
    for (int64_t k = 0; k < n; k++)
      most = most < (bits[k] & INT32_MAX) ? bits[k] & INT32_MAX : most;
    tn_const_drop(c);
    atomic_store_explicit(&c->largest, most, memory_order_relaxed);
  }
  float largest;
  memcpy(&largest, &most, sizeof largest);
  return largest;
}

tn_const *tn_const_lazy(const tn_allocator *a, const void *data, uint64_t bytes, bool is_mapped) {
  if (a->alloc != tn_default_allocator()->alloc) return NULL;
  tn_const *c = const_new(a);
  if (!c || !set_source(c, data, is_mapped)) {
    tn_const_release(c);
    return NULL;
  }
  c->data = tn_pages_reserve(bytes);
  c->bytes = bytes;
  c->is_lazy = c->data != NULL;
  if (c->is_lazy) return c;
  tn_const_release(c);
  return NULL;
}

/* The largest magnitude that stays finite when it is multiplied, as the bits of an f32; perhaps a
 * little less. 0: none does. */
static uint32_t limit_of(double number) {
  const double most = (double)FLT_MAX / fabs(number) * (1 - 1e-6);
  const float limit = most < (double)FLT_MAX ? (float)most : FLT_MAX;
  uint32_t bits;
  memcpy(&bits, &limit, sizeof bits);
  return isfinite(number) ? bits : 0;
}

/* No magnitude is above the limit? Two at a time: bit 31 of each half is lost where one is. The
 * elements need not be aligned. */
static bool are_within(const uint8_t *elements, int64_t n, uint32_t limit) {
  const uint64_t top = UINT64_C(0x8000000080000000), most = limit | (uint64_t)limit << 32 | top;
  uint64_t all = top, pair = 0;
  for (int64_t k = 0; k + 2 <= n; k += 2) {
    memcpy(&pair, elements + k * 4, 8);
    all &= most - (pair & ~top);
  }
  if (n % 2) memcpy(&pair, elements + (n - 1) * 4, 4); /* beside one that was seen, or 0 */
  return (all & (most - (pair & ~top)) & top) == top;
}

static bool stays_finite(const uint8_t *elements, const tn_scaling *s) {
  for (int64_t k = 0; k < s->n; k++)
    if (!are_within(elements + k * s->run * 4, s->run, limit_of(s->numbers[k]))) return false;
  return true;
}

static tn_scaling *scaling_new(tn_arena *arena, const double *numbers, int64_t n, int64_t run) {
  const uint64_t bytes = (uint64_t)n * sizeof *numbers;
  tn_scaling *s = tn_arena_alloc(arena, sizeof *s + bytes);
  if (!s) return NULL;
  s->n = n, s->run = run;
  memcpy(s->numbers, numbers, (size_t)bytes);
  return s;
}

tn_const *tn_const_scaled(const tn_allocator *a, const tn_const *of, const double *numbers,
                          int64_t n) {
  if (!of->source || of->origin || of->scaling || n < 1 ||
      of->bytes % ((uint64_t)n * sizeof(float)))
    return NULL;
  tn_const *c = tn_const_lazy(a, of->source, of->bytes, of->is_mapped);
  if (!c) return NULL;
  c->scaling = scaling_new(&c->strings, numbers, n, (int64_t)(of->bytes / sizeof(float)) / n);
  if (c->scaling && stays_finite(c->source, c->scaling)) return c;
  tn_const_release(c);
  return NULL;
}

static void scale(float *to, const uint8_t *from, int64_t n, double number) {
  for (int64_t k = 0; k < n; k++) {
    float x;
    memcpy(&x, from + k * (int64_t)sizeof x, sizeof x);
    to[k] = (float)((double)x * number);
  }
}

void tn_const_read(const tn_const *c, void *to) {
  const tn_scaling *s = c->scaling;
  if (!s) memcpy(to, c->source, (size_t)c->bytes);
  for (int64_t k = 0; s && k < s->n; k++)
    scale((float *)to + k * s->run,
          (const uint8_t *)c->source + k * s->run * (int64_t)sizeof(float), s->run, s->numbers[k]);
  if (c->is_mapped) tn_pages_forget(c->source, c->bytes);
}

tn_const *tn_const_retain(tn_const *c) {
  if (c) atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
  return c;
}

void tn_const_release(tn_const *c) {
  if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
  if (c->owned) tn_free(c->a, c->data, c->bytes);
  if (c->is_lazy) tn_pages_return(c->data, c->bytes);
  if (c->source) pthread_mutex_destroy(&c->lock);
  tn_const_release(c->origin);
  tn_arena_clear(&c->strings);
  tn_free(c->a, c, sizeof *c);
}

static tn_status copy_strings(tn_const *c, const tn_str *from, int64_t n) {
  tn_str *to = c->data;
  for (int64_t k = 0; k < n; k++) {
    char *bytes = tn_arena_strn(&c->strings, from[k].data, from[k].size);
    if (!bytes) return TN_ERR_MEMORY;
    to[k] = (tn_str){bytes, from[k].size};
  }
  return TN_OK;
}

tn_status tn_const_copy(const tn_allocator *a, const tn_tensor *t, tn_const **out) {
  *out = NULL;
  int64_t bytes = tn_storage_bytes(t);
  if (bytes < 0) return TN_ERR_OVERFLOW;
  tn_const *c = const_of(a, tn_alloc_raw(a, (uint64_t)bytes), (uint64_t)bytes);
  if (!c) return TN_ERR_MEMORY;
  tn_status s = TN_OK;
  if (t->dtype == TN_STRING)
    s = copy_strings(c, t->data, tn_storage_elements(t));
  else if (bytes > 0)
    memcpy(c->data, t->data, (size_t)bytes);
  if (s)
    tn_const_release(c);
  else
    *out = c;
  return s;
}
