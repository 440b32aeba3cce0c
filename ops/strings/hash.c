/* tenon::StringHash: strings as numbers of buckets, by FarmHash's fingerprint of 64 bits (Pike
 * 2014, its "na" variant), which never changes: models are trained with it. */
#include "strings.h"

#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)

typedef struct halves {
  uint64_t a, b;
} halves;

static uint64_t turned(uint64_t x, int bits) { return x >> bits | x << (64 - bits); }
static uint64_t folded(uint64_t x) { return x ^ x >> 47; }

/* Bytes of a number, the lowest first. */
static uint64_t bytes_at(const char *s, int n) {
  uint64_t x = 0;
  for (int k = n - 1; k >= 0; k--) x = x << 8 | (uint8_t)s[k];
  return x;
}
static uint64_t word(const char *s) { return bytes_at(s, 8); }

static uint64_t mix(uint64_t u, uint64_t v, uint64_t by) {
  const uint64_t a = folded((u ^ v) * by);
  return folded((v ^ a) * by) * by;
}

static uint64_t hash_short(const char *s, uint64_t n) {
  const uint64_t by = K2 + n * 2;
  if (n >= 8) {
    const uint64_t a = word(s) + K2, b = word(s + n - 8);
    return mix(turned(b, 37) * by + a, (turned(a, 25) + b) * by, by);
  }
  if (n >= 4) return mix(n + (bytes_at(s, 4) << 3), bytes_at(s + n - 4, 4), by);
  if (!n) return K2;
  const uint64_t y = (uint8_t)s[0] + ((uint64_t)(uint8_t)s[n >> 1] << 8),
                 z = n + ((uint64_t)(uint8_t)s[n - 1] << 2);
  return folded(y * K2 ^ z * K0) * K2;
}

/* 17 to 32 bytes, and the ends of longer ones. */
static halves ends(const char *s, uint64_t n, uint64_t first, uint64_t by) {
  const uint64_t a = word(s) * first, b = word(s + 8), c = word(s + n - 8) * by,
                 d = word(s + n - 16) * K2;
  return (halves){turned(a + b, 43) + turned(c, 30) + d, a + turned(b + K2, 18) + c};
}

static uint64_t hash_to_64(const char *s, uint64_t n) {
  const uint64_t by = K2 + n * 2, a = word(s) * K2;
  const halves outer = ends(s, n, K2, by);
  const uint64_t z = mix(outer.a, outer.b, by), e = word(s + 16) * by, f = word(s + 24),
                 g = (outer.a + word(s + n - 32)) * by, h = (z + word(s + n - 24)) * by;
  return mix(turned(e + f, 43) + turned(g, 30) + h, e + turned(f + a, 18) + g, by);
}

/* 32 bytes, stirred into two numbers. */
static halves stir(const char *s, uint64_t a, uint64_t b) {
  a += word(s);
  b = turned(b + a + word(s + 24), 21);
  const uint64_t sum = a + word(s + 8) + word(s + 16);
  return (halves){sum + word(s + 24), b + turned(sum, 44) + a};
}

typedef struct long_state {
  uint64_t x, y, z;
  halves v, w;
} long_state;

/* 64 bytes. */
static void round_64(long_state *t, const char *s, uint64_t by, uint64_t nine) {
  uint64_t x = turned(t->x + t->y + t->v.a + word(s + 8), 37) * by,
           y = turned(t->y + t->v.b + word(s + 48), 42) * by;
  x ^= t->w.b * nine;
  y += t->v.a * nine + word(s + 40);
  const uint64_t z = turned(t->z + t->w.a, 33) * by;
  t->v = stir(s, t->v.b * by, x + t->w.a);
  t->w = stir(s + 32, z + t->w.b, y + word(s + 16));
  t->x = z, t->y = y, t->z = x;
}

static uint64_t hash_long(const char *s, uint64_t n) {
  const uint64_t seed = 81, rest = (n - 1) & 63, whole = (n - 1) - rest;
  long_state t = {.x = seed * K2 + word(s), .y = seed * K1 + 113};
  t.z = folded(t.y * K2 + 113) * K2;
  for (uint64_t k = 0; k < whole; k += 64) round_64(&t, s + k, K1, 1);
  const uint64_t by = K1 + ((t.z & 0xff) << 1);
  t.w.a += rest;
  t.v.a += t.w.a;
  t.w.a += t.v.a;
  round_64(&t, s + whole + rest - 63, by, 9);
  return mix(mix(t.v.a, t.w.a, by) + folded(t.y) * K0 + t.z, mix(t.v.b, t.w.b, by) + t.x, by);
}

static uint64_t fingerprint(tn_str text) {
  const uint64_t n = (uint64_t)text.size;
  if (n <= 16) return hash_short(text.data, n);
  if (n > 64) return hash_long(text.data, n);
  if (n > 32) return hash_to_64(text.data, n);
  const halves h = ends(text.data, n, K1, K2 + n * 2);
  return mix(h.a, h.b, K2 + n * 2);
}

tn_status string_hash_infer(const tn_call *call) {
  const tn_string_hash_attrs *a = call->attrs;
  if (a->buckets < 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'buckets' is %lld",
                            (long long)a->buckets);
  tn_infer_shape(call, 0, TN_I64, call->inputs[0]->rank, call->inputs[0]->shape);
  return TN_OK;
}

tn_status string_hash_reference(const tn_call *call) {
  const tn_string_hash_attrs *a = call->attrs;
  for (int64_t k = 0; k < tn_elements(call->inputs[0]); k++)
    tn_store_i64(TN_I64, call->outputs[0]->data, k,
                 (int64_t)(fingerprint(strings_of(call->inputs[0])[k]) % (uint64_t)a->buckets));
  return TN_OK;
}

tn_status string_hash_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = tn_elements(call->inputs[0]);
  out->elements_per_item = 1;
  out->grain[0] = 16;
  return TN_OK;
}

tn_status string_hash_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  const uint64_t buckets = (uint64_t)((const tn_string_hash_attrs *)call->attrs)->buckets;
  const tn_str *x = strings_of(call->inputs[0]);
  int64_t *y = call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) y[k] = (int64_t)(fingerprint(x[k]) % buckets);
  return TN_OK;
}
