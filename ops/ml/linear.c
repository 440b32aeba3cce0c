/* LinearRegressor and LinearClassifier: an item is a row. */
#include "linear.h"

static int64_t features_of(const tn_tensor *x) { return x->rank > 0 ? x->shape[x->rank - 1] : 1; }

linear linear_of_regressor(const tn_call *call) {
  const tn_linear_regressor_attrs *a = call->attrs;
  return (linear){a->coefficients,
                  a->intercepts,
                  a->targets,
                  a->targets,
                  features_of(call->inputs[0]),
                  transform_of(a->post_transform)};
}

linear linear_of_classifier(const tn_call *call) {
  const tn_linear_classifier_attrs *a = call->attrs;
  int64_t labels =
      a->classlabels_strings.size ? a->classlabels_strings.size : a->classlabels_ints.size;
  const int64_t width = features_of(call->inputs[0]);
  int64_t rows = labels == 2 && a->coefficients.size == width ? 1 : labels;
  return (linear){a->coefficients, a->intercepts, rows,
                  labels,          width,         transform_of(a->post_transform)};
}

/* Coefficients behind those that features of X have are left alone, as by ONNX Runtime, whose own
 * example of a classifier has some. */
static tn_status infer_linear(const tn_call *call, const linear *l, uint32_t output) {
  const tn_tensor *x = call->inputs[0];
  int64_t wanted = -1, dims[2] = {x->rank == 2 ? x->shape[0] : 1, l->n_scores};
  if (x->rank < 1 || x->rank > 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X has rank %d; [N, F] is needed", x->rank);
  if (l->rows < 1 || tn_mul_i64(l->rows, l->width, &wanted) || l->coefficients.size < wanted ||
      (l->intercepts.size && l->intercepts.size != l->rows))
    return call->host->fail(
        call->ctx, TN_ERR_INVALID,
        "there are %lld coefficients and %lld intercepts for %lld classes or targets",
        (long long)l->coefficients.size, (long long)l->intercepts.size, (long long)l->n_scores);
  if (l->coefficients.size > wanted)
    call->host->log(call->ctx, TN_LOG_WARNING,
                    "of %lld coefficients, X with %lld features has use for the first %lld",
                    (long long)l->coefficients.size, (long long)l->width, (long long)wanted);
  tn_infer_shape(call, output, TN_F32, 2, dims);
  return TN_OK;
}

tn_status linear_regressor_infer(const tn_call *call) {
  linear l = linear_of_regressor(call);
  tn_status s = infer_linear(call, &l, 0);
  return s ? s
           : transform_check(call,
                             ((const tn_linear_regressor_attrs *)call->attrs)->post_transform);
}

tn_status linear_classifier_infer(const tn_call *call) {
  const tn_linear_classifier_attrs *a = call->attrs;
  linear l = linear_of_classifier(call);
  int64_t n = call->inputs[0]->rank == 2 ? call->inputs[0]->shape[0] : 1;
  tn_status s = infer_linear(call, &l, 1);
  if (s) return s;
  tn_infer_shape(call, 0, a->classlabels_strings.size ? TN_STRING : TN_I64, 1, &n);
  return transform_check(call, a->post_transform);
}

static double flops(const tn_call *call, const linear *l) {
  return 2 * (double)tn_elements(call->inputs[0]) * (double)l->rows;
}

tn_status linear_regressor_flops(const tn_call *call, double *out_flops) {
  linear l = linear_of_regressor(call);
  *out_flops = flops(call, &l);
  return TN_OK;
}

tn_status linear_classifier_flops(const tn_call *call, double *out_flops) {
  linear l = linear_of_classifier(call);
  *out_flops = flops(call, &l);
  return TN_OK;
}

static tn_status plan_linear(const tn_call *call, const linear *l, tn_kernel_plan *out) {
  out->items[0] = call->inputs[0]->rank == 2 ? call->inputs[0]->shape[0] : 1;
  out->grain[0] = 1 + 5000 / (1 + l->coefficients.size);
  out->worker_scratch_bytes = (uint64_t)l->n_scores * sizeof(double);
  return TN_OK;
}

tn_status linear_regressor_plan(const tn_call *call, tn_kernel_plan *out) {
  linear l = linear_of_regressor(call);
  return plan_linear(call, &l, out);
}

tn_status linear_classifier_plan(const tn_call *call, tn_kernel_plan *out) {
  linear l = linear_of_classifier(call);
  return plan_linear(call, &l, out);
}

static double product(const tn_tensor *x, int64_t row, const linear *l, int64_t target) {
  const int64_t width = l->width;
  double sum = l->intercepts.size ? l->intercepts.data[target] : 0;
  for (int64_t k = 0; k < width; k++)
    sum +=
        tn_load_f64(x->dtype, x->data, row * width + k) * l->coefficients.data[target * width + k];
  return sum;
}

static void write_scores(const tn_call *call, uint32_t output, int64_t row, const double *scores,
                         int64_t n) {
  for (int64_t k = 0; tn_has_output(call, output) && k < n; k++)
    ((float *)call->outputs[output]->data)[row * n + k] = (float)scores[k];
}

static tn_status regress(const tn_call *call, int64_t row, const linear *l, double *scores) {
  transform_apply(l->how, scores, l->n_scores);
  write_scores(call, 0, row, scores, l->n_scores);
  return TN_OK;
}

static tn_status classify(const tn_call *call, int64_t row, const linear *l, double *scores) {
  const tn_linear_classifier_attrs *a = call->attrs;
  int64_t best = l->rows < l->n_scores ? scores[0] > 0 : score_best(scores, l->n_scores);
  if (l->rows < l->n_scores) { /* the other class has what is missing to 1: of the score, or of its
                                  logistic function */
    scores[1] = l->how == TRANSFORM_LOGISTIC ? score_logistic(scores[0]) : scores[0];
    scores[0] = 1 - scores[1];
  } else {
    transform_apply(l->how, scores, l->n_scores);
  }
  write_scores(call, 1, row, scores, l->n_scores);
  return tn_has_output(call, 0)
             ? score_label(call, row, a->classlabels_ints, a->classlabels_strings, best)
             : TN_OK;
}

#define LINEAR(name, source, write)                                                             \
  tn_status name##_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,           \
                     uint32_t worker) {                                                         \
    linear l = source(call);                                                                    \
    double *scores =                                                                            \
        (double *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes); \
    tn_status s = TN_OK;                                                                        \
    (void)stage;                                                                                \
    for (int64_t row = begin; row < end && !s; row++) {                                         \
      for (int64_t k = 0; k < l.rows; k++) scores[k] = product(call->inputs[0], row, &l, k);    \
      s = write(call, row, &l, scores);                                                         \
    }                                                                                           \
    return s;                                                                                   \
  }                                                                                             \
  tn_status name##_reference(const tn_call *call) {                                             \
    linear l = source(call);                                                                    \
    return reference(call, &l, write);                                                          \
  }

/* Goes through features outside and rows inside, and adds the intercept last. */
static tn_status reference(const tn_call *call, const linear *l,
                           tn_status (*write)(const tn_call *, int64_t, const linear *, double *)) {
  const tn_tensor *x = call->inputs[0];
  int64_t width = l->width, n = x->rank == 2 ? x->shape[0] : 1;
  double *scores = call->host->alloc(call->ctx, (uint64_t)l->n_scores * sizeof *scores);
  tn_status s = scores ? TN_OK : TN_ERR_MEMORY;
  for (int64_t row = 0; row < n && !s; row++) {
    for (int64_t k = 0; k < l->rows; k++) scores[k] = 0;
    for (int64_t f = 0; f < width; f++)
      for (int64_t k = 0; k < l->rows; k++)
        scores[k] +=
            l->coefficients.data[k * width + f] * tn_load_f64(x->dtype, x->data, row * width + f);
    for (int64_t k = 0; k < l->rows && l->intercepts.size; k++) scores[k] += l->intercepts.data[k];
    s = write(call, row, l, scores);
  }
  call->host->free(call->ctx, scores);
  return s;
}

LINEAR(linear_regressor, linear_of_regressor, regress)
LINEAR(linear_classifier, linear_of_classifier, classify)
