/* A value for an operator in one word: a file, random numbers of a type, or the numbers themselves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "op.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"

static tn_status wrong(const cli_op_args *a, const char *name, const char *text, const char *why) {
  return tn_fail(a->diag, TN_ERR_INVALID, "--input %s=%s: %s", name, text, why);
}

/* "f32[2,3]" or "f32[2x3]"; answers what follows, NULL: that is no type. */
static const char *parse_type(const char *text, tn_tensor *out) {
  char name[32];
  int64_t shape[TN_MAX_RANK];
  int32_t rank = 0;
  size_t n = strcspn(text, "[");
  if (!text[n] || n >= sizeof name) return NULL;
  snprintf(name, sizeof name, "%.*s", (int)n, text);
  uint32_t dtype = tn_dtype_parse(name);
  const char *at = text + n + 1;
  while (*at != ']') {
    char *end;
    errno = 0;
    long long dim = strtoll(at, &end, 10);
    if (errno || end == at || dim < 0 || rank == TN_MAX_RANK) return NULL;
    shape[rank++] = dim;
    at = end + ((*end == ',' || *end == 'x') && end[1] != ']');
    if (at == end && *end != ']') return NULL;
  }
  *out = tn_tensor_make(dtype, rank, shape, NULL);
  return dtype == TN_NONE ? NULL : at + 1;
}

/* ---- numbers ---- */

/* One number into element k; answers what follows, NULL: there is none that the type can hold. */
static const char *parse_number(const char *at, tn_tensor *t, int64_t k) {
  const tn_dtype_info *info = tn_dtype(t->dtype);
  char *end;
  errno = 0;
  if (t->dtype == TN_BOOL && (!strncmp(at, "true", 4) || !strncmp(at, "false", 5))) {
    tn_store_i64(t->dtype, t->data, k, *at == 't');
    return at + (*at == 't' ? 4 : 5);
  }
  if (info->is_float) {
    tn_store_f64(t->dtype, t->data, k, strtod(at, &end));
    return end == at ? NULL : end;
  }
  int64_t value = strtoll(at, &end, 10);
  tn_store_i64(t->dtype, t->data, k, value);
  bool fits =
      t->dtype == TN_BOOL ? value == 0 || value == 1 : tn_load_i64(t->dtype, t->data, k) == value;
  return end == at || errno || !fits ? NULL : end;
}

/* As many as there are elements, or fewer, which are then repeated. */
static tn_status parse_numbers(const cli_op_args *a, const char *name, const char *text,
                               const char *at, tn_tensor *t) {
  int64_t all = tn_tensor_elements(t), n = 0;
  const bool brackets = *at == '[';
  at += brackets;
  while (n < all) {
    at = parse_number(at, t, n);
    if (!at) return wrong(a, name, text, "that is no number of this type");
    n++;
    if (*at != ',') break;
    at++;
  }
  if (brackets && *at == ']') at++;
  if (*at) return wrong(a, name, text, "numbers are written like 1,2,3, one for each element");
  for (int64_t k = n; k < all; k++) {
    if (tn_dtype(t->dtype)->is_float)
      tn_store_f64(t->dtype, t->data, k, tn_load_f64(t->dtype, t->data, k % n));
    else
      tn_store_i64(t->dtype, t->data, k, tn_load_i64(t->dtype, t->data, k % n));
  }
  return TN_OK;
}

static tn_status literal(cli_op_args *a, const char *name, const char *text, const char *numbers,
                         tn_tensor *out) {
  const tn_dtype_info *info = tn_dtype(out->dtype);
  if (!info->is_float && !info->is_int && out->dtype != TN_BOOL)
    return wrong(a, name, text, "values of this type can only come from files");
  int64_t bytes = tn_tensor_bytes(out);
  if (bytes < 0) return wrong(a, name, text, "its size overflows");
  out->data = tn_arena_alloc(&a->store.arena, (uint64_t)bytes);
  if (!out->data) return cli_no_memory(a->diag, name, bytes);
  return parse_numbers(a, name, text, numbers, out);
}

/* ---- all forms ---- */

static tn_status from_random(cli_op_args *a, const char *name, const char *text, tn_tensor *out) {
  const char *rest = parse_type(text, out);
  if (!rest || *rest) return wrong(a, name, text, "random values are written like random:f32[2,3]");
  return cli_random_fill(&a->store.arena, name, a->seed++, a->diag, out);
}

/* "bf16:x.npy": what is in the file stands for this type. */
static tn_status from_file(cli_op_args *a, const char *name, const char *text, tn_tensor *out) {
  static const cli_image_options image = {.scale = 1};
  char word[32], type[CLI_TYPE_TEXT];
  tn_tensor want = {.head = TN_HEAD(tn_tensor), .rank = TN_RANK_UNKNOWN};
  const char *colon = strchr(text, ':'), *path = text;
  if (colon && colon - text < (ptrdiff_t)sizeof word) {
    snprintf(word, sizeof word, "%.*s", (int)(colon - text), text);
    want.dtype = tn_dtype_parse(word);
    if (want.dtype != TN_NONE) path = colon + 1;
  }
  const cli_reading r = {a->runtime, &a->store, &want, &image, a->diag};
  tn_status s = cli_value_read(&r, path, out, NULL);
  if (s || want.dtype == TN_NONE || out->dtype == want.dtype) return s;
  return tn_fail(a->diag, TN_ERR_SHAPE, "--input %s: %s holds %s, which cannot stand for %s", name,
                 path, cli_type_text(out, NULL, -1, type), word);
}

tn_status cli_op_value(cli_op_args *a, const char *name, const char *text, tn_tensor *out) {
  if (!strncmp(text, "random:", 7)) return from_random(a, name, text + 7, out);
  const char *rest = parse_type(text, out);
  if (rest && *rest == '=') return literal(a, name, text, rest + 1, out);
  if (rest && !*rest)
    return wrong(a, name, text, "which values? Say random: before it or =1,2,3 behind it");
  return from_file(a, name, text, out);
}
