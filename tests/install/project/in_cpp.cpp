/* A plug-in in C++ with the kit's headers: templates and the standard library inside, plain
 * functions of C at the border, which no exception may cross. */
#include "in_cpp.gen.h"

#include <algorithm>
#include <functional>
#include <new>
#include <numeric>
#include <vector>

#include <tenon/kit/element.h>
#include <tenon/kit/infer.h>

namespace {

int64_t kept(const tn_call *call, int64_t n) {
  const auto *attrs = static_cast<const tn_top_sum_attrs *>(call->attrs);
  return tn_min_i64(tn_max_i64(attrs->k, 0), n);
}

double top_sum(std::vector<double> &row, int64_t k) {
  std::partial_sort(row.begin(), row.begin() + k, row.end(), std::greater<double>());
  return std::accumulate(row.begin(), row.begin() + k, 0.0);
}

/* load(i) is element i of x, store(r, sum) writes row r of y. */
template <typename Load, typename Store>
tn_status rows(const tn_call *call, int64_t begin, int64_t end, Load load, Store store) try {
  const tn_tensor *x = call->inputs[0];
  const int64_t n = x->shape[x->rank - 1];
  std::vector<double> row(static_cast<size_t>(n));
  for (int64_t r = begin; r < end; r++) {
    for (int64_t i = 0; i < n; i++) row[static_cast<size_t>(i)] = load(r * n + i);
    store(r, top_sum(row, kept(call, n)));
  }
  return TN_OK;
} catch (const std::bad_alloc &) {
  return TN_ERR_MEMORY;
}

} // namespace

tn_status top_sum_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank == TN_RANK_UNKNOWN) {
    tn_infer_shape(call, 0, x->dtype, TN_RANK_UNKNOWN, nullptr);
    return TN_OK;
  }
  if (x->rank < 1) return call->host->fail(call->ctx, TN_ERR_SHAPE, "x has no last dim");
  tn_infer_shape(call, 0, x->dtype, x->rank - 1, x->shape);
  return TN_OK;
}

tn_status top_sum_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  return rows(
      call, 0, tn_elements(y), [x](int64_t i) { return tn_load_f64(x->dtype, x->data, i); },
      [y](int64_t r, double sum) { tn_store_f64(y->dtype, y->data, r, sum); });
}

tn_status top_sum_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = tn_elements(call->outputs[0]);
  out->grain[0] = 16;
  return TN_OK;
}

tn_status top_sum_f32(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                      uint32_t worker) {
  const auto *x = static_cast<const float *>(call->inputs[0]->data);
  auto *y = static_cast<float *>(call->outputs[0]->data);
  (void)stage, (void)worker;
  return rows(
      call, begin, end, [x](int64_t i) { return x[i]; },
      [y](int64_t r, double sum) { y[r] = static_cast<float>(sum); });
}
