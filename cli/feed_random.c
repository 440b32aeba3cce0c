/* Random values for inputs. */
#include <string.h>

#include "feed.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"

/* splitmix64, Steele, Lea and Flood 2014: the same on every machine. */
static uint64_t next(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

static double unit(uint64_t *state) { return (double)(next(state) >> 11) * 0x1p-53; }

static void fill_numbers(tn_tensor *t, int64_t n, uint64_t *state) {
  const tn_dtype_info *info = tn_dtype(t->dtype);
  uint32_t dtype = t->dtype == TN_C64 ? TN_F32 : t->dtype == TN_C128 ? TN_F64 : t->dtype;
  int parts = info->is_complex ? 2 : 1;
  for (int64_t k = 0; k < n * parts; k++) {
    if (info->is_float || info->is_complex)
      tn_store_f64(dtype, t->data, k, 2 * unit(state) - 1);
    else
      tn_store_i64(dtype, t->data, k,
                   (int64_t)(next(state) & (info->bits <= 8 && info->is_int ? 255 : 1)));
  }
}

static void fill_strings(tn_tensor *t, int64_t n, uint64_t *state) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
  tn_str *s = t->data;
  for (int64_t k = 0; k < n; k++) {
    uint64_t bits = next(state);
    int64_t size = 1 + (int64_t)(bits & 7);
    s[k] = (tn_str){letters + (bits >> 8) % (26 - (uint64_t)size), size};
  }
}

tn_status cli_random_fill(tn_arena *arena, const char *name, uint64_t seed, tn_diag *diag,
                          tn_tensor *t) {
  if (t->kind == TN_KIND_TENSOR && t->dtype == TN_NONE)
    t->dtype = TN_F32; /* the file leaves it open */
  if (t->kind != TN_KIND_TENSOR || !tn_dtype(t->dtype)->bits)
    return tn_fail(diag, TN_ERR_UNSUPPORTED,
                   "input '%s': there are no random values of its type; give it with --input",
                   name);
  int64_t n = tn_tensor_elements(t), bytes = tn_tensor_bytes(t);
  if (bytes < 0) return tn_fail(diag, TN_ERR_OVERFLOW, "input '%s': its size overflows", name);
  t->data = tn_arena_alloc(arena, (uint64_t)bytes);
  if (!t->data) return cli_no_memory(diag, name, bytes);
  if (t->dtype == TN_STRING)
    fill_strings(t, n, &seed);
  else
    fill_numbers(t, n, &seed);
  return TN_OK;
}

static tn_status randomize(cli_inputs *in, int32_t k) {
  uint64_t seed = in->feed->seed + (uint64_t)k * UINT64_C(0xD1342543DE82EF95);
  const char *name = tn_model_input_name(in->model, k);
  tn_status s = cli_random_fill(&in->store.arena, name, seed, in->diag, &in->values[k]);
  if (!s) in->from[k] = "random";
  return s;
}

tn_status cli_inputs_randomize(cli_inputs *in) {
  tn_status s = cli_inputs_close_dims(in, false);
  for (int32_t k = 0; k < in->n && !s; k++)
    if (!in->from[k]) s = randomize(in, k);
  return s;
}
