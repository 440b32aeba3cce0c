/* Comparing a value with what it should be. */
#include <math.h>
#include <string.h>

#include "cli.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"
#include "tenon/kit/text.h"

static bool close_f64(double got, double want, const cli_tolerance *t) {
  if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
  if (isinf(got) || isinf(want)) return got == want;
  return fabs(got - want) <= t->atol + t->rtol * fabs(want);
}

static bool compare_strings(const tn_tensor *got, const tn_tensor *want, int64_t n, char *why,
                            size_t size) {
  const tn_str *a = got->data, *b = want->data;
  for (int64_t k = 0; k < n; k++) {
    if (a[k].size == b[k].size && !memcmp(a[k].data, b[k].data, (size_t)a[k].size)) continue;
    snprintf(why, size, "element %lld is \"%.*s\", not \"%.*s\"", (long long)k, (int)a[k].size,
             a[k].data, (int)b[k].size, b[k].data);
    return false;
  }
  return true;
}

static bool compare_numbers(const tn_tensor *got, const tn_tensor *want, int64_t n,
                            const cli_tolerance *t, char *why, size_t size) {
  int64_t wrong = 0, first = -1;
  double worst = 0;
  int parts = tn_dtype(got->dtype)->is_complex ? 2 : 1;
  uint32_t dtype = got->dtype == TN_C64 ? TN_F32 : got->dtype == TN_C128 ? TN_F64 : got->dtype;
  for (int64_t k = 0; k < n * parts; k++) {
    double a = tn_load_f64(dtype, got->data, k), b = tn_load_f64(dtype, want->data, k);
    bool same = tn_dtype_exact_i64(dtype)
                    ? tn_load_i64(dtype, got->data, k) == tn_load_i64(dtype, want->data, k)
                    : close_f64(a, b, t);
    if (same) continue;
    if (first < 0) first = k;
    wrong++;
    if (fabs(a - b) > worst) worst = fabs(a - b);
  }
  if (!wrong) return true;
  snprintf(why, size,
           "%lld of %lld elements differ; element %lld is %.9g, not %.9g; largest difference %.3g",
           (long long)wrong, (long long)n, (long long)first, tn_load_f64(dtype, got->data, first),
           tn_load_f64(dtype, want->data, first), worst);
  return false;
}

static bool compare_lists(const tn_tensor *got, const tn_tensor *want, const cli_tolerance *t,
                          char *why, size_t size) {
  int64_t n = tn_list_size(want);
  if (tn_list_size(got) != n) {
    snprintf(why, size, "has %lld items, not %lld", (long long)tn_list_size(got), (long long)n);
    return false;
  }
  for (int64_t k = 0; k < n; k++)
    if (!cli_same(tn_list_item(got, k), tn_list_item(want, k), t, why, size)) return false;
  return true;
}

bool cli_same(const tn_tensor *got, const tn_tensor *want, const cli_tolerance *t, char *why,
              size_t size) {
  char a[TN_TENSOR_TEXT], b[TN_TENSOR_TEXT];
  if (got->kind != want->kind) {
    snprintf(why, size, "is of kind %u, not %u", got->kind, want->kind);
    return false;
  }
  if (got->kind != TN_KIND_TENSOR) return compare_lists(got, want, t, why, size);
  if (!tn_same_shape(got, want)) {
    snprintf(why, size, "is %s, not %s", tn_tensor_text(got, a, sizeof a),
             tn_tensor_text(want, b, sizeof b));
    return false;
  }
  int64_t n = tn_tensor_elements(want);
  if (t->types_only) return true;
  if (want->dtype == TN_STRING) return compare_strings(got, want, n, why, size);
  return compare_numbers(got, want, n, t, why, size);
}

bool cli_is_random(tn_runtime *runtime, const tn_graph *graph) {
  const tn_graph_api *api = tn_graph_functions();
  for (int32_t k = 0; k < api->n_nodes(graph); k++) {
    int32_t id = api->node_at(graph, k);
    const tn_node *n = api->node(graph, id);
    const tn_op *op = tn_runtime_find_op(runtime, n->domain, n->op, 0);
    if (op && op->flags & TN_OP_IMPURE) return true;
    const tn_graph *inner;
    for (uint32_t i = 0; (inner = api->node_graph(graph, id, i)); i++)
      if (cli_is_random(runtime, inner)) return true;
  }
  return false;
}
