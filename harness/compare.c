/* A result against the reference: allowed error is k * eps(dtype) * (|expected| + scale), where the
 * scale is that of the inputs or, with cond=abs, the element's own condition. NaN equals NaN;
 * integers, bools and strings must be equal. */
#include <math.h>
#include <string.h>

#include "harness/harness.h"

static double epsilon(uint32_t dtype) {
  switch (dtype) {
    case TN_F64:
    case TN_C128: return 0x1p-52;
    case TN_F32:
    case TN_C64: return 0x1p-23;
    case TN_F16: return 0x1p-10;
    case TN_BF16: return 0x1p-7;
    case TN_F8E4M3FN:
    case TN_F8E4M3FNUZ: return 0x1p-3;
    case TN_F8E5M2:
    case TN_F8E5M2FNUZ: return 0x1p-2;
    case TN_F8E8M0: return 1;
    case TN_F6E2M3: return 0x1p-3;
    case TN_F6E3M2: return 0x1p-2;
    case TN_F4E2M1: return 0x1p-1;
    default: return 0;
  }
}

static double smallest_normal(uint32_t dtype) {
  switch (dtype) {
    case TN_F64:
    case TN_C128: return 0x1p-1022;
    case TN_F16:
    case TN_F8E5M2: return 0x1p-14;
    case TN_F8E5M2FNUZ: return 0x1p-15;
    case TN_F8E4M3FN: return 0x1p-6;
    case TN_F8E4M3FNUZ: return 0x1p-7;
    case TN_F6E2M3:
    case TN_F4E2M1: return 1;
    case TN_F6E3M2: return 0x1p-2;
    default: return 0x1p-126;
  }
}

/* Errors of element-wise functions do not grow with what other elements hold; one is what
 * |expected| near zero needs. */
check_tolerance check_tolerance_of(const check_problem *p, uint32_t output) {
  check_tolerance t = {.k = p->line->tolerance >= 0 ? p->line->tolerance : 4,
                       .ints = p->line->int_tolerance};
  for (uint32_t k = 0; k < p->n_inputs; k++)
    if (p->inputs[k]) t.scale = fmax(t.scale, p->inputs[k]->scale);
  if (p->op->op.flags & TN_OP_ELEMENTWISE) t.scale = fmin(t.scale, 1);
  if (p->sums) t.sums = &p->sums->values[output];
  return t;
}

/* How far a result may be from this element. Sums that overflow say nothing. */
static double allowed(const tn_tensor *e, int64_t at, double expected, check_tolerance t) {
  const double scale = fmax(t.scale, smallest_normal(e->dtype));
  double sum = t.sums ? tn_load_f64(t.sums->dtype, t.sums->data, at) : scale;
  if (!isfinite(sum)) sum = scale;
  return epsilon(e->dtype) * (t.k * (fabs(expected) + fmax(sum, smallest_normal(e->dtype))) +
                              t.more * (fabs(expected) + scale));
}

static bool near(double expected, double got, double most) {
  if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got);
  if (expected == got) return true;
  if (isinf(expected) || isinf(got)) return false;
  return fabs(expected - got) <= most;
}

static bool equal_strings(const tn_tensor *a, int64_t ka, const tn_tensor *b, int64_t kb) {
  const tn_str x = ((const tn_str *)a->data)[ka], y = ((const tn_str *)b->data)[kb];
  return x.size == y.size && (!x.size || !memcmp(x.data, y.data, (size_t)x.size));
}

/* Complex numbers: part 1 is the imaginary one. */
static double load(const tn_tensor *t, int64_t at, int part) {
  if (!tn_dtype(t->dtype)->is_complex) return tn_load_f64(t->dtype, t->data, at);
  return tn_load_f64(t->dtype == TN_C64 ? TN_F32 : TN_F64, t->data, 2 * at + part);
}

static bool equal_element(const tn_tensor *e, int64_t ke, const tn_tensor *g, int64_t kg,
                          check_tolerance t) {
  if (e->dtype == TN_STRING) return equal_strings(e, ke, g, kg);
  if (e->dtype == TN_BOOL)
    return ((const uint8_t *)e->data)[ke] == ((const uint8_t *)g->data)[kg]; /* 0 or 1 */
  if (tn_dtype_exact_i64(e->dtype)) {
    const int64_t x = tn_load_i64(e->dtype, e->data, ke), y = tn_load_i64(e->dtype, g->data, kg);
    return x == y || (t.ints > 0 && fabs((double)x - (double)y) <= t.ints);
  }
  const int n_parts = tn_dtype(e->dtype)->is_complex ? 2 : 1;
  for (int part = 0; part < n_parts; part++) {
    const double expected = load(e, ke, part);
    if (!near(expected, load(g, kg, part), allowed(e, ke, expected, t))) return false;
  }
  return true;
}

static void element_text(const tn_tensor *t, int64_t at, char *buf, size_t size) {
  if (t->dtype == TN_STRING) {
    const tn_str s = ((const tn_str *)t->data)[at];
    snprintf(buf, size, "\"%.*s\"", (int)tn_min_i64(s.size, 40), s.data ? s.data : "");
  } else if (t->dtype == TN_BOOL) { /* as it stands in memory */
    snprintf(buf, size, "%u", ((const uint8_t *)t->data)[at]);
  } else if (t->dtype == TN_U64) {
    snprintf(buf, size, "%llu", (unsigned long long)tn_load_i64(t->dtype, t->data, at));
  } else if (tn_dtype_exact_i64(t->dtype)) {
    snprintf(buf, size, "%lld", (long long)tn_load_i64(t->dtype, t->data, at));
  } else {
    snprintf(buf, size, "%.9g", tn_load_f64(t->dtype, t->data, at));
  }
}

static void index_text(const tn_tensor *t, int64_t index, char *buf, size_t size) {
  int64_t at[TN_MAX_RANK];
  for (int32_t d = t->rank - 1; d >= 0; d--) {
    at[d] = index % t->shape[d];
    index /= t->shape[d];
  }
  size_t n = 0;
  buf[0] = 0;
  for (int32_t d = 0; d < t->rank && n + 24 < size; d++)
    n += (size_t)snprintf(buf + n, size - n, "%s%lld", d ? "," : "", (long long)at[d]);
}

static void describe(const tn_tensor *e, const tn_tensor *g, int64_t k, int64_t n_bad,
                     check_tolerance t, const char *name, char *why, size_t size) {
  char index[200], expected[80], got[80], within[80] = "";
  index_text(e, k, index, sizeof index);
  element_text(e, k, expected, sizeof expected);
  element_text(g, tn_storage_index(g, k), got, sizeof got);
  if (epsilon(e->dtype) > 0)
    snprintf(within, sizeof within, " within %.3g", allowed(e, k, load(e, k, 0), t));
  snprintf(why, size, "%s[%s] is %s, expected %s%s; %lld of %lld elements differ", name, index, got,
           expected, within, (long long)n_bad, (long long)tn_tensor_elements(e));
}

static bool compare_lists(const tn_tensor *e, const tn_tensor *g, check_tolerance t,
                          const char *name, char *why, size_t size) {
  const int64_t n = tn_list_size(e);
  if (e->kind != g->kind || n != tn_list_size(g)) {
    snprintf(why, size, "%s has %lld items, expected %lld", name, (long long)tn_list_size(g),
             (long long)n);
    return false;
  }
  for (int64_t k = 0; k < n; k++) {
    char item[100];
    snprintf(item, sizeof item, "item %lld of %s: ", (long long)k, name);
    if (!check_compare(tn_list_item(e, k), tn_list_item(g, k), t, item, why, size)) return false;
  }
  return true;
}

bool check_compare(const tn_tensor *e, const tn_tensor *g, check_tolerance t, const char *name,
                   char *why, size_t size) {
  if (e->kind != TN_KIND_TENSOR) return compare_lists(e, g, t, name, why, size);
  if (g->kind != TN_KIND_TENSOR || !tn_same_shape(e, g)) {
    char expected[TN_TENSOR_TEXT], got[TN_TENSOR_TEXT];
    snprintf(why, size, "%s is %s, expected %s", name, tn_tensor_text(g, got, sizeof got),
             tn_tensor_text(e, expected, sizeof expected));
    return false;
  }
  const int64_t n = tn_tensor_elements(e);
  int64_t n_bad = 0, first = -1;
  if (g->layout == TN_PLAIN && check_same_bits(e, g)) return true;
  for (int64_t k = 0; k < n; k++) {
    if (equal_element(e, k, g, tn_storage_index(g, k), t)) continue;
    if (!n_bad++) first = k;
  }
  if (n_bad) describe(e, g, first, n_bad, t, name, why, size);
  if (!n_bad && n && (first = check_layout_bad_pad(g)) >= 0)
    snprintf(why, size, "%s: pad lane at element %lld of the storage is not zero", name,
             (long long)first);
  return first < 0;
}

bool check_same_bits(const tn_tensor *a, const tn_tensor *b) {
  if (a->kind != b->kind) return false;
  if (a->kind != TN_KIND_TENSOR) {
    bool same = tn_list_size(a) == tn_list_size(b);
    for (int64_t k = 0; same && k < tn_list_size(a); k++)
      same = check_same_bits(tn_list_item(a, k), tn_list_item(b, k));
    return same;
  }
  if (!tn_same_shape(a, b) || a->layout != b->layout) return false;
  const int64_t bytes = tn_storage_bytes(a), n = tn_tensor_elements(a);
  if (tn_dtype(a->dtype)->bits < 8) { /* what stands behind the last element says nothing */
    for (int64_t k = 0; k < n; k++)
      if (!equal_element(a, tn_storage_index(a, k), b, tn_storage_index(b, k),
                         (check_tolerance){0, 0, 0, NULL, 0}))
        return false;
    return true;
  }
  if (a->dtype != TN_STRING) return bytes <= 0 || !memcmp(a->data, b->data, (size_t)bytes);
  for (int64_t k = 0; k < n; k++)
    if (!equal_strings(a, k, b, k)) return false;
  return true;
}
