/* SVMRegressor and SVMClassifier: support vector machines as LIBSVM writes them, and linear ones as
 * LIBLINEAR does (no support vectors: one row of coefficients per class). An item is a row of X.
 * Probabilities from pairs of classes: Wu, Lin, Weng, "Probability estimates for multi-class
 * classification by pairwise coupling", JMLR 5 (2004), second method. */
#include <math.h>

#include "ml.gen.h"
#include "scores.h"
#include "tenon/kit/checked.h"

typedef enum kernel_kind {
  KERNEL_LINEAR,
  KERNEL_POLY,
  KERNEL_RBF,
  KERNEL_SIGMOID,
  KERNEL_COUNT
} kernel_kind;

typedef struct svm {
  tn_floats coefficients, vectors, rho, prob_a, prob_b;
  tn_ints per_class; /* support vectors of each class */
  int64_t n_vectors; /* 0: linear */
  int64_t n_features;
  int64_t n_classes, n_pairs, n_scores; /* of a classifier */
  kernel_kind kind;
  double gamma, coef0, degree;
  transform how;
} svm;

static kernel_kind kind_of(tn_str name) {
  static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  int k = 0;
  while (k < KERNEL_COUNT && !tn_str_is(name, names[k])) k++;
  return (kernel_kind)k;
}

static double param(tn_floats list, int64_t k) { return k < list.size ? list.data[k] : 0; }

static svm regressor(const tn_call *call) {
  const tn_svm_regressor_attrs *a = call->attrs;
  const int64_t n = a->n_supports > 0 ? a->n_supports : 0;
  svm s = {.coefficients = a->coefficients, .vectors = a->support_vectors, .rho = a->rho};
  s.n_vectors = n;
  s.n_features = n ? a->support_vectors.size / n : a->coefficients.size;
  s.kind = n ? kind_of(a->kernel_type) : KERNEL_LINEAR;
  s.gamma = param(a->kernel_params, 0);
  s.coef0 = param(a->kernel_params, 1);
  s.degree = param(a->kernel_params, 2);
  s.how = transform_of(a->post_transform);
  return s;
}

static svm classifier(const tn_call *call) {
  const tn_svm_classifier_attrs *a = call->attrs;
  svm s = {.coefficients = a->coefficients, .vectors = a->support_vectors, .rho = a->rho};
  s.prob_a = a->prob_a;
  s.prob_b = a->prob_b;
  s.per_class = a->vectors_per_class;
  s.n_classes =
      a->classlabels_strings.size ? a->classlabels_strings.size : a->classlabels_ints.size;
  for (int64_t k = 0; k < s.per_class.size; k++)
    if (tn_add_i64(s.n_vectors, s.per_class.data[k], &s.n_vectors)) s.n_vectors = INT64_MAX;
  if (s.n_vectors > 0)
    s.n_features = s.vectors.size / s.n_vectors;
  else
    s.n_features = s.n_classes ? s.coefficients.size / s.n_classes : 0;
  s.n_pairs = s.n_classes < 65536 ? s.n_classes * (s.n_classes - 1) / 2 : 0;
  s.n_scores = !s.n_vectors || s.prob_a.size || s.n_classes == 2 ? s.n_classes : s.n_pairs;
  s.kind = s.n_vectors ? kind_of(a->kernel_type) : KERNEL_LINEAR;
  s.gamma = param(a->kernel_params, 0);
  s.coef0 = param(a->kernel_params, 1);
  s.degree = param(a->kernel_params, 2);
  s.how = transform_of(a->post_transform);
  return s;
}

/* ---- inference ---- */

#define BAD(...) call->host->fail(call->ctx, TN_ERR_INVALID, __VA_ARGS__)

static int64_t rows_of(const tn_tensor *x) { return x->rank == 2 ? x->shape[0] : 1; }

static tn_status check_common(const tn_call *call, const svm *s, int64_t functions) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 1 || x->rank > 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X has rank %d; [N, F] is needed", x->rank);
  if (s->kind == KERNEL_COUNT)
    return BAD("attribute 'kernel_type' must be LINEAR, POLY, RBF or SIGMOID");
  const int64_t width = x->shape[x->rank - 1], n = s->n_vectors ? s->n_vectors : functions;
  int64_t wanted;
  if (tn_mul_i64(n, width, &wanted) || (s->n_vectors ? s->vectors : s->coefficients).size != wanted)
    return BAD("attribute '%s' has %lld values; %lld rows of %lld features are needed",
               s->n_vectors ? "support_vectors" : "coefficients",
               (long long)(s->n_vectors ? s->vectors : s->coefficients).size, (long long)n,
               (long long)width);
  if (s->n_vectors && (tn_mul_i64(n, functions, &wanted) || s->coefficients.size != wanted))
    return BAD(
        "attribute 'coefficients' has %lld values; %lld rows of %lld support vectors are needed",
        (long long)s->coefficients.size, (long long)functions, (long long)n);
  return TN_OK;
}

tn_status svm_regressor_infer(const tn_call *call) {
  const tn_svm_regressor_attrs *a = call->attrs;
  const svm s = regressor(call);
  if (a->n_supports < 0) return BAD("attribute 'n_supports' is %lld", (long long)a->n_supports);
  if (!a->rho.size) return BAD("attribute 'rho' is empty");
  const tn_status status = check_common(call, &s, 1);
  if (status) return status;
  const int64_t dims[2] = {rows_of(call->inputs[0]), 1};
  tn_infer_shape(call, 0, TN_F32, 2, dims);
  return transform_check(call, a->post_transform);
}

static tn_status check_classes(const tn_call *call, const svm *s) {
  const tn_svm_classifier_attrs *a = call->attrs;
  if (s->n_classes < 1 || s->n_classes >= 65536)
    return BAD("there are %lld class labels; 1 to 65535 are possible", (long long)s->n_classes);
  for (int64_t k = 0; k < s->per_class.size; k++)
    if (s->per_class.data[k] < 0) return BAD("attribute 'vectors_per_class' has a negative count");
  if (s->n_vectors && (s->per_class.size != s->n_classes || s->n_classes < 2))
    return BAD("attribute 'vectors_per_class' has %lld counts for %lld classes",
               (long long)s->per_class.size, (long long)s->n_classes);
  if (s->prob_a.size != s->prob_b.size || (s->prob_a.size && s->prob_a.size < s->n_pairs))
    return BAD(
        "attributes 'prob_a' and 'prob_b' have %lld and %lld values for %lld pairs of classes",
        (long long)s->prob_a.size, (long long)s->prob_b.size, (long long)s->n_pairs);
  if (s->rho.size < (s->n_vectors ? s->n_pairs : 1))
    return BAD("attribute 'rho' has %lld values for %lld pairs of classes", (long long)s->rho.size,
               (long long)s->n_pairs);
  return transform_check(call, a->post_transform);
}

tn_status svm_classifier_infer(const tn_call *call) {
  const tn_svm_classifier_attrs *a = call->attrs;
  const svm s = classifier(call);
  tn_status status = check_classes(call, &s);
  if (!status) status = check_common(call, &s, s.n_vectors ? s.n_classes - 1 : s.n_classes);
  if (status) return status;
  const int64_t dims[2] = {rows_of(call->inputs[0]), s.n_scores};
  tn_infer_shape(call, 0, a->classlabels_strings.size ? TN_STRING : TN_I64, 1, dims);
  tn_infer_shape(call, 1, TN_F32, 2, dims);
  return TN_OK;
}

/* ---- what both share ---- */

static double bent(const svm *s, double dot) {
  if (s->kind == KERNEL_POLY) return pow(s->gamma * dot + s->coef0, s->degree);
  if (s->kind == KERNEL_SIGMOID) return tanh(s->gamma * dot + s->coef0);
  return dot;
}

/* The kernel function of row `row` of x and row `of` of a list of vectors. */
static double likeness(const svm *s, const tn_tensor *x, int64_t row, tn_floats list, int64_t of) {
  double sum = 0;
  for (int64_t k = 0; k < s->n_features; k++) {
    const double u = tn_load_f64(x->dtype, x->data, row * s->n_features + k);
    const double v = list.data[of * s->n_features + k];
    sum += s->kind == KERNEL_RBF ? (u - v) * (u - v) : u * v;
  }
  return s->kind == KERNEL_RBF ? exp(-s->gamma * sum) : bent(s, sum);
}

/* p of n classes from r[i*n+j], the probability of class i where it is i or j. Minimises
 * sum (r[j][i] p[i] - r[i][j] p[j])^2 by going through the classes in turn. q: room for n*n + n. */
static void couple(int64_t n, const double *r, double *q, double *p) {
  double *qp = q + n * n;
  for (int64_t i = 0; i < n; i++) {
    p[i] = 1 / (double)n;
    q[i * n + i] = 0;
    for (int64_t j = 0; j < n; j++) {
      if (j == i) continue;
      q[i * n + i] += r[j * n + i] * r[j * n + i];
      q[i * n + j] = -r[j * n + i] * r[i * n + j];
    }
  }
  const int64_t rounds = n > 100 ? n : 100;
  for (int64_t round = 0; round < rounds; round++) {
    double pqp = 0, worst = 0;
    for (int64_t i = 0; i < n; i++) {
      qp[i] = 0;
      for (int64_t j = 0; j < n; j++) qp[i] += q[i * n + j] * p[j];
      pqp += p[i] * qp[i];
    }
    for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(qp[i] - pqp));
    if (worst < 0.005 / (double)n) return;
    for (int64_t i = 0; i < n; i++) {
      const double step = (pqp - qp[i]) / q[i * n + i], whole = 1 + step;
      p[i] += step;
      pqp = (pqp + step * (step * q[i * n + i] + 2 * qp[i])) / (whole * whole);
      for (int64_t j = 0; j < n; j++) {
        qp[j] = (qp[j] + step * q[i * n + j]) / whole;
        p[j] /= whole;
      }
    }
  }
}

/* pairs: n_pairs decisions; scores: n_classes probabilities; room: 2 n^2 + n. */
static void probabilities(const svm *s, const double *pairs, double *room, double *scores) {
  const int64_t n = s->n_classes;
  double *r = room;
  for (int64_t i = 0, at = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++, at++) {
      const double sure = score_logistic(-(pairs[at] * s->prob_a.data[at] + s->prob_b.data[at]));
      r[i * n + j] = fmin(fmax(sure, 1e-7), 1 - 1e-7);
      r[j * n + i] = 1 - r[i * n + j];
    }
  couple(n, r, room + n * n, scores);
}

/* The class that wins most pairs, the first of equal ones. */
static int64_t elect(const svm *s, const double *pairs) {
  int64_t best = 0, most = -1;
  for (int64_t c = 0; c < s->n_classes; c++) {
    int64_t votes = 0;
    for (int64_t i = 0, at = 0; i < s->n_classes; i++)
      for (int64_t j = i + 1; j < s->n_classes; j++, at++) votes += c == (pairs[at] > 0 ? i : j);
    if (votes > most) best = c, most = votes;
  }
  return best;
}

/* Two classes without support vectors: the second wins as soon as any score is large enough, as
 * ONNX Runtime has it. */
static int64_t best_linear(const svm *s, const double *scores) {
  const int64_t best = score_best(scores, s->n_classes);
  if (s->n_classes != 2 || s->prob_a.size) return best;
  bool positive = true;
  for (int64_t k = 0; k < s->coefficients.size; k++)
    positive = positive && s->coefficients.data[k] >= 0;
  return (positive ? scores[best] >= 0.5 : scores[best] > 0) ? 1 : best;
}

/* Label and scores of one row. values: decisions of pairs, or scores of classes where linear;
 * room: 2 n^2 + n for n classes, and n_scores. */
static tn_status classify(const tn_call *call, const svm *s, int64_t row, const double *values,
                          double *room) {
  const tn_svm_classifier_attrs *a = call->attrs;
  double *scores = room;
  room += s->n_scores;
  const int64_t best = s->n_vectors ? elect(s, values) : best_linear(s, values);
  if (s->n_vectors && s->prob_a.size) {
    probabilities(s, values, room, scores);
    transform_apply(s->how, scores, s->n_scores);
  } else if (s->n_vectors && s->n_classes == 2) { /* one decision, a column for each class */
    const bool logistic = s->how == TRANSFORM_LOGISTIC;
    scores[1] = logistic ? score_logistic(values[0]) : values[0];
    scores[0] = s->how == TRANSFORM_NONE ? -scores[1] : 1 - scores[1];
  } else {
    for (int64_t k = 0; k < s->n_scores; k++) scores[k] = values[k];
    transform_apply(s->how, scores, s->n_scores);
  }
  for (int64_t k = 0; tn_has_output(call, 1) && k < s->n_scores; k++)
    ((float *)call->outputs[1]->data)[row * s->n_scores + k] = (float)scores[k];
  if (!tn_has_output(call, 0)) return TN_OK;
  return score_label(call, row, a->classlabels_ints, a->classlabels_strings, best);
}

static void regress(const tn_call *call, const svm *s, int64_t row, double sum) {
  const tn_svm_regressor_attrs *a = call->attrs;
  if (a->one_class) sum = sum > 0 ? 1 : -1;
  transform_apply(s->how, &sum, 1);
  ((float *)call->outputs[0]->data)[row] = (float)sum;
}

/* ---- kernels: the kernel function of each support vector once per row ---- */

static tn_status plan_rows(const tn_call *call, const svm *s, uint64_t doubles,
                           tn_kernel_plan *out) {
  out->items[0] = rows_of(call->inputs[0]);
  out->grain[0] = 1 + 5000 / (1 + s->coefficients.size + s->vectors.size);
  out->worker_scratch_bytes = doubles * sizeof(double);
  return TN_OK;
}

tn_status svm_regressor_plan(const tn_call *call, tn_kernel_plan *out) {
  const svm s = regressor(call);
  return plan_rows(call, &s, 0, out);
}

tn_status svm_regressor_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const svm s = regressor(call);
  (void)stage;
  (void)worker;
  for (int64_t row = begin; row < end; row++) {
    double sum = s.rho.data[0];
    if (!s.n_vectors) sum += likeness(&s, call->inputs[0], row, s.coefficients, 0);
    for (int64_t k = 0; k < s.n_vectors; k++)
      sum += s.coefficients.data[k] * likeness(&s, call->inputs[0], row, s.vectors, k);
    regress(call, &s, row, sum);
  }
  return TN_OK;
}

/* Doubles for one row: kernel functions, decisions, and the room of classify(). */
static uint64_t room_of(const svm *s) {
  return (uint64_t)(s->n_vectors + s->n_pairs + s->n_scores +
                    s->n_classes * (2 * s->n_classes + 2));
}

tn_status svm_classifier_plan(const tn_call *call, tn_kernel_plan *out) {
  const svm s = classifier(call);
  return plan_rows(call, &s, room_of(&s), out);
}

/* Decisions of all pairs of classes i < j: positive for i. */
static void decide(const svm *s, const double *like, double *pairs) {
  const double *c = s->coefficients.data;
  for (int64_t i = 0, at = 0, first_i = 0; i < s->n_classes; first_i += s->per_class.data[i++])
    for (int64_t j = i + 1, first_j = first_i + s->per_class.data[i]; j < s->n_classes;
         first_j += s->per_class.data[j++], at++) {
      double sum = 0;
      for (int64_t k = first_i; k < first_i + s->per_class.data[i]; k++)
        sum += c[(j - 1) * s->n_vectors + k] * like[k];
      for (int64_t k = first_j; k < first_j + s->per_class.data[j]; k++)
        sum += c[i * s->n_vectors + k] * like[k];
      pairs[at] = sum + s->rho.data[at];
    }
}

tn_status svm_classifier_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  const svm s = classifier(call);
  double *like =
      (double *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  double *values = like + s.n_vectors;
  tn_status status = TN_OK;
  (void)stage;
  for (int64_t row = begin; row < end && !status; row++) {
    for (int64_t k = 0; k < s.n_vectors; k++)
      like[k] = likeness(&s, call->inputs[0], row, s.vectors, k);
    if (s.n_vectors) decide(&s, like, values);
    for (int64_t k = 0; !s.n_vectors && k < s.n_classes; k++)
      values[k] = likeness(&s, call->inputs[0], row, s.coefficients, k) + s.rho.data[0];
    const int64_t n_values = s.n_vectors ? s.n_pairs : s.n_classes;
    status = classify(call, &s, row, values, values + n_values);
  }
  return status;
}

/* ---- references: from the definition, the kernel function anew for each use ---- */

tn_status svm_regressor_reference(const tn_call *call) {
  const svm s = regressor(call);
  const tn_tensor *x = call->inputs[0];
  for (int64_t row = 0; row < rows_of(x); row++) {
    double sum = 0;
    for (int64_t k = s.n_vectors; k-- > 0;)
      sum += s.coefficients.data[k] * likeness(&s, x, row, s.vectors, k);
    if (!s.n_vectors) sum = likeness(&s, x, row, s.coefficients, 0);
    regress(call, &s, row, sum + s.rho.data[0]);
  }
  return TN_OK;
}

static int64_t class_of_vector(const svm *s, int64_t vector) {
  int64_t c = 0;
  for (int64_t end = s->per_class.data[0]; vector >= end; end += s->per_class.data[c]) c++;
  return c;
}

static double decision(const tn_call *call, const svm *s, int64_t row, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < s->n_vectors; k++) {
    const int64_t c = class_of_vector(s, k);
    if (c != i && c != j) continue;
    /* Row of the coefficients: the other class, counted without c. */
    const int64_t other = c == i ? j : i, at = other > c ? other - 1 : other;
    sum += s->coefficients.data[at * s->n_vectors + k] *
           likeness(s, call->inputs[0], row, s->vectors, k);
  }
  return sum;
}

tn_status svm_classifier_reference(const tn_call *call) {
  const svm s = classifier(call);
  double *values = call->host->alloc(call->ctx, room_of(&s) * sizeof *values);
  tn_status status = values ? TN_OK : TN_ERR_MEMORY;
  for (int64_t row = 0; row < rows_of(call->inputs[0]) && !status; row++) {
    int64_t n = 0;
    for (int64_t i = 0; i < s.n_classes && s.n_vectors; i++)
      for (int64_t j = i + 1; j < s.n_classes; j++, n++)
        values[n] = s.rho.data[n] + decision(call, &s, row, i, j);
    for (; !s.n_vectors && n < s.n_classes; n++)
      values[n] = s.rho.data[0] + likeness(&s, call->inputs[0], row, s.coefficients, n);
    status = classify(call, &s, row, values, values + n);
  }
  call->host->free(call->ctx, values);
  return status;
}
