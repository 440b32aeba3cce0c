/* Values as a person reads them. */
#include "summary.h"

#include <math.h>
#include <string.h>

#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"

enum { FIRST = 5, LINE = 512, CELL = 96, MAX_TOP = 1000 };

/* ---- elements ---- */

static uint32_t part_dtype(uint32_t dtype) {
  return dtype == TN_C64 ? TN_F32 : dtype == TN_C128 ? TN_F64 : dtype;
}

static double element(const tn_tensor *t, int64_t k) {
  if (!tn_dtype(t->dtype)->is_complex) return tn_load_f64(t->dtype, t->data, k);
  uint32_t part = part_dtype(t->dtype);
  return hypot(tn_load_f64(part, t->data, 2 * k), tn_load_f64(part, t->data, 2 * k + 1));
}

const char *cli_element_text(const tn_tensor *t, int64_t k, char *buf, size_t size) {
  const tn_dtype_info *info = tn_dtype(t->dtype);
  if (t->dtype == TN_STRING) {
    tn_str s = ((const tn_str *)t->data)[k];
    int64_t shown = s.size < 40 ? s.size : 40;
    snprintf(buf, size, "\"%.*s%s\"", (int)shown, s.data ? s.data : "",
             shown < s.size ? "..." : "");
  } else if (t->dtype == TN_BOOL) {
    snprintf(buf, size, "%s", tn_load_i64(t->dtype, t->data, k) ? "true" : "false");
  } else if (t->dtype == TN_U64) {
    snprintf(buf, size, "%llu", (unsigned long long)tn_load_i64(t->dtype, t->data, k));
  } else if (info->is_int) {
    snprintf(buf, size, "%lld", (long long)tn_load_i64(t->dtype, t->data, k));
  } else if (info->is_complex) {
    uint32_t part = part_dtype(t->dtype);
    snprintf(buf, size, "%.6g%+.6gi", tn_load_f64(part, t->data, 2 * k),
             tn_load_f64(part, t->data, 2 * k + 1));
  } else {
    snprintf(buf, size, "%.6g", tn_load_f64(t->dtype, t->data, k));
  }
  return buf;
}

bool cli_statistics_of(const tn_tensor *t, cli_statistics *out) {
  *out = (cli_statistics){.n = tn_tensor_elements(t)};
  if (t->kind != TN_KIND_TENSOR || t->dtype == TN_STRING || t->dtype == TN_BOOL || out->n < 0)
    return false;
  int64_t n = 0;
  double sum = 0;
  for (int64_t k = 0; k < out->n; k++) {
    double v = element(t, k);
    out->n_nan += isnan(v);
    out->n_inf += isinf(v) != 0;
    if (!isfinite(v)) continue;
    if (!n || v < out->min) out->min = v;
    if (!n || v > out->max) out->max = v;
    sum += v;
    n++;
  }
  if (n) out->mean = sum / (double)n;
  return true;
}

/* ---- the largest ---- */

/* Is element a before b among the largest? Equal ones in order; NaN last. */
static bool before(const tn_tensor *t, int64_t a, int64_t b) {
  double x = element(t, a), y = element(t, b);
  if (isnan(x) || isnan(y)) return !isnan(x);
  return x > y;
}

/* Indices of the n largest elements, in order; answers how many there are. */
static int64_t largest(const tn_tensor *t, int64_t n, int64_t *out) {
  int64_t found = 0, all = tn_tensor_elements(t);
  for (int64_t k = 0; k < all; k++) {
    int64_t at = found;
    while (at > 0 && before(t, k, out[at - 1])) at--;
    if (at == n) continue;
    if (found < n) found++;
    memmove(out + at + 1, out + at, (size_t)(found - at - 1) * sizeof *out);
    out[at] = k;
  }
  return found;
}

static const char *index_text(const tn_tensor *t, int64_t k, char *buf, size_t size) {
  int64_t x[TN_MAX_RANK];
  for (int32_t d = t->rank - 1; d >= 0; d--) {
    x[d] = k % t->shape[d];
    k /= t->shape[d];
  }
  int n = 0;
  *buf = 0;
  for (int32_t d = 0; d < t->rank && n >= 0 && (size_t)n < size; d++)
    n += snprintf(buf + n, size - (size_t)n, "%s%lld", d ? "," : "", (long long)x[d]);
  return buf;
}

static bool has_largest(const tn_tensor *t, int64_t top) {
  return top > 0 && t->kind == TN_KIND_TENSOR && t->dtype != TN_STRING && t->dtype != TN_BOOL;
}

static void print_largest(const tn_tensor *t, int64_t top, const cli_labels *labels) {
  int64_t best[MAX_TOP + 1];
  char index[CELL], text[CELL], label[CELL * 2];
  int64_t n = largest(t, top < MAX_TOP ? top : MAX_TOP, best);
  const int64_t classes = t->rank > 0 ? t->shape[t->rank - 1] : 1;
  for (int64_t k = 0; k < n; k++) {
    cli_label(labels, best[k] % classes, label, sizeof label);
    cli_print("  %3lld.  [%s]  %s%s%s\n", (long long)k + 1,
              index_text(t, best[k], index, sizeof index),
              cli_element_text(t, best[k], text, sizeof text), *label ? "  " : "", label);
  }
}

/* ---- a line ---- */

static void add(char *line, const char *text) {
  size_t n = strlen(line);
  if (n < LINE) snprintf(line + n, LINE - n, "%s", text);
}

static void add_first(const tn_tensor *t, char *line) {
  char text[CELL];
  int64_t n = tn_tensor_elements(t);
  add(line, "  [");
  for (int64_t k = 0; k < n && k < FIRST; k++) {
    add(line, k ? ", " : "");
    add(line, cli_element_text(t, k, text, sizeof text));
  }
  add(line, n > FIRST ? ", ...]" : "]");
}

static void add_statistics(const cli_statistics *s, char *line) {
  char text[CELL * 2];
  if (s->n > s->n_nan + s->n_inf && s->n > 1) {
    snprintf(text, sizeof text, "  min %.6g  max %.6g  mean %.6g", s->min, s->max, s->mean);
    add(line, text);
  }
  if (s->n_nan) {
    snprintf(text, sizeof text, "  %lld NaN", (long long)s->n_nan);
    add(line, text);
  }
  if (!s->n_inf) return;
  snprintf(text, sizeof text, "  %lld infinite", (long long)s->n_inf);
  add(line, text);
}

static void print_list(const char *name, const tn_tensor *list, int64_t top) {
  char item[CELL * 2], type[CLI_TYPE_TEXT];
  int64_t n = tn_list_size(list);
  cli_print("%s: %s, %lld items\n", name, cli_type_text(list, NULL, -1, type), (long long)n);
  for (int64_t k = 0; k < n; k++) {
    snprintf(item, sizeof item, "%.*s[%lld]", CELL, name, (long long)k);
    cli_value_print(item, tn_list_item(list, k), top, NULL);
  }
}

void cli_value_print(const char *name, const tn_tensor *value, int64_t top,
                     const cli_labels *labels) {
  char line[LINE] = "", type[CLI_TYPE_TEXT];
  cli_statistics s;
  if (value->kind != TN_KIND_TENSOR) {
    print_list(name, value, top);
    return;
  }
  if (cli_statistics_of(value, &s)) add_statistics(&s, line);
  add_first(value, line);
  cli_print("%s: %s%s\n", name, cli_type_text(value, NULL, -1, type), line);
  if (has_largest(value, top)) print_largest(value, top, labels);
}

void cli_value_print_rows(const char *name, const tn_tensor *value, int64_t most) {
  char text[CLI_TYPE_TEXT];
  int64_t n = value->kind == TN_KIND_TENSOR ? tn_tensor_elements(value) : -1;
  if (n <= FIRST || n > most) {
    cli_value_print(name, value, 0, NULL);
    return;
  }
  int64_t row = value->shape[value->rank - 1];
  cli_print("%s: %s\n", name, cli_type_text(value, NULL, -1, text));
  for (int64_t k = 0; k < n; k++)
    cli_print((k + 1) % row ? "%s%s" : "%s%s]\n", k % row ? ", " : "  [",
              cli_element_text(value, k, text, CELL));
}

/* ---- JSON ---- */

static void element_json(cli_json *to, const char *key, const tn_tensor *t, int64_t k) {
  char text[CELL];
  const tn_dtype_info *info = tn_dtype(t->dtype);
  if (t->dtype == TN_BOOL)
    cli_json_bool(to, key, tn_load_i64(t->dtype, t->data, k) != 0);
  else if (info->is_int && t->dtype != TN_U64)
    cli_json_int(to, key, tn_load_i64(t->dtype, t->data, k));
  else if (info->is_float)
    cli_json_number(to, key, tn_load_f64(t->dtype, t->data, k));
  else
    cli_json_text(to, key, cli_element_text(t, k, text, sizeof text));
}

static void largest_json(cli_json *o, const tn_tensor *t, int64_t top) {
  int64_t best[MAX_TOP + 1];
  char index[CELL];
  cli_json *list = cli_json_array(o, "top");
  int64_t n = largest(t, top < MAX_TOP ? top : MAX_TOP, best);
  for (int64_t k = 0; k < n; k++) {
    cli_json *e = cli_json_object(list, NULL);
    cli_json_text(e, "index", index_text(t, best[k], index, sizeof index));
    element_json(e, "value", t, best[k]);
  }
}

static void tensor_json(cli_json *o, const tn_tensor *t, int64_t top) {
  cli_statistics s;
  cli_json *shape = cli_json_array(o, "shape");
  for (int32_t d = 0; d < t->rank; d++) cli_json_int(shape, NULL, t->shape[d]);
  if (cli_statistics_of(t, &s)) {
    cli_json_number(o, "min", s.n > s.n_nan + s.n_inf ? s.min : NAN);
    cli_json_number(o, "max", s.n > s.n_nan + s.n_inf ? s.max : NAN);
    cli_json_number(o, "mean", s.n > s.n_nan + s.n_inf ? s.mean : NAN);
    cli_json_int(o, "nan", s.n_nan);
    cli_json_int(o, "infinite", s.n_inf);
  }
  cli_json *first = cli_json_array(o, "first");
  for (int64_t k = 0; k < FIRST && k < tn_tensor_elements(t); k++) element_json(first, NULL, t, k);
  if (has_largest(t, top)) largest_json(o, t, top);
}

void cli_value_json(cli_json *to, const char *name, const tn_tensor *value, int64_t top) {
  char type[CLI_TYPE_TEXT];
  if (name) cli_json_text(to, "name", name);
  cli_json_text(to, "type", cli_type_text(value, NULL, -1, type));
  cli_json_text(to, "dtype", tn_dtype_name(value->dtype));
  if (value->kind == TN_KIND_TENSOR) {
    tensor_json(to, value, top);
    return;
  }
  cli_json *items = cli_json_array(to, "items");
  for (int64_t k = 0; k < tn_list_size(value); k++)
    cli_value_json(cli_json_object(items, NULL), NULL, tn_list_item(value, k), top);
}
