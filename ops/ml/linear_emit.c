/* LinearRegressor and LinearClassifier as C: sums in f64, as the kernels have them. */
#include "linear.h"
#include "scores_emit.h"

static uint64_t scratch_of(const linear *l) { return (uint64_t)l->n_scores * sizeof(double); }

static const char *refuse_regressor(const tn_call *call) {
  return scoring_refuse(linear_of_regressor(call).how);
}

static const char *refuse_classifier(const tn_call *call) {
  return scoring_refuse(linear_of_classifier(call).how);
}

static uint64_t scratch_regressor(const tn_call *call) {
  const linear l = linear_of_regressor(call);
  return scratch_of(&l);
}

static uint64_t scratch_classifier(const tn_call *call) {
  const linear l = linear_of_classifier(call);
  return scratch_of(&l);
}

/* The function of scores, and the step's table. */
static void write_product(const tn_emit *e, const linear *l, scoring *s, char *name, size_t size) {
  const tn_tensor *x = e->call->inputs[0];
  const int64_t n = l->rows * l->width;
  const bool fits = scoring_fits_f32(l->coefficients.data, n) &&
                    scoring_fits_f32(l->intercepts.data, l->intercepts.size);
  const uint32_t dtype = fits ? TN_F32 : TN_F64;
  const char *number = tn_emit_c_type(dtype);
  char *model = e->memory(e, 32);
  if (!model) return;
  snprintf(model, 32, "&linear_%u", e->step);
  snprintf(name, size, "linear_%s_%s", tn_dtype(x->dtype)->name, tn_dtype(dtype)->name);
  e->function(e, name,
              "/* Rows of coefficients, and what their products with the features begin with. */\n"
              "struct %s {\n"
              "  int32_t rows, width;\n"
              "  const %s *coefficients, *intercepts; /* intercepts: may be NULL */\n"
              "};\n\n"
              "/* scores[k] = the product of row k and the features, plus its intercept. */\n"
              "static void %s(const struct %s *l, const %s *x, double *scores) {\n"
              "  for (int32_t k = 0; k < l->rows; k++) {\n"
              "    const %s *row = l->coefficients + k * l->width;\n"
              "    double sum = l->intercepts != NULL ? (double)l->intercepts[k] : 0.0;\n"
              "    for (int32_t i = 0; i < l->width; i++) {\n"
              "      sum += (double)x[i] * (double)row[i];\n"
              "    }\n"
              "    scores[k] = sum;\n"
              "  }\n"
              "}\n",
              name, number, name, name, tn_emit_c_type(x->dtype), number);
  const char *coefficients = scoring_constant(e, dtype, l->coefficients.data, n);
  e->table(e,
           "static const struct %s linear_%u = {\n"
           "    .rows = %d, .width = %d, .coefficients = %s, .intercepts = %s};\n",
           name, e->step, (int)l->rows, (int)l->width, coefficients,
           l->intercepts.size ? scoring_constant(e, dtype, l->intercepts.data, l->rows) : "NULL");
  s->function = name;
  s->model = model;
  s->rows = x->rank == 2 ? x->shape[0] : 1;
  s->width = l->width;
  s->n = l->n_scores;
}

static void emit_regressor(const tn_emit *e) {
  const linear l = linear_of_regressor(e->call);
  char name[48], type[64], finish[SCORING_LINES];
  scoring s = {.type = type, .finish = finish};
  scoring_transform(e, l.how, l.n_scores, finish, sizeof finish);
  write_product(e, &l, &s, name, sizeof name);
  snprintf(type, sizeof type, "const struct %s *", name);
  if (s.model) scoring_write(e, &s);
}

static void emit_classifier(const tn_emit *e) {
  const tn_linear_classifier_attrs *a = e->call->attrs;
  const linear l = linear_of_classifier(e->call);
  char name[48], type[64], best[64], finish[SCORING_LINES];
  scoring s = {.type = type, .finish = finish, .best = best, .labels = a->classlabels_ints};
  if (l.rows < l.n_scores) { /* one row for two classes */
    const bool logistic = l.how == TRANSFORM_LOGISTIC;
    if (logistic) e->code(e, "emit/logistic.c");
    snprintf(best, sizeof best, "scores[0] > 0.0 ? 1 : 0");
    snprintf(finish, sizeof finish,
             "    scores[1] = %s;\n"
             "    scores[0] = 1.0 - scores[1];\n",
             logistic ? "score_logistic(scores[0])" : "scores[0]");
  } else {
    e->code(e, "emit/best_score.c");
    snprintf(best, sizeof best, "best_score(scores, %d)", (int)l.n_scores);
    scoring_transform(e, l.how, l.n_scores, finish, sizeof finish);
  }
  write_product(e, &l, &s, name, sizeof name);
  snprintf(type, sizeof type, "const struct %s *", name);
  if (s.model) scoring_write(e, &s);
}

static const tn_emitter regressor_emitter = {.head = TN_HEAD(tn_emitter),
                                             .kernel = "linear_regressor_c",
                                             .refuse = refuse_regressor,
                                             .scratch = scratch_regressor,
                                             .scratch_type = TN_F64,
                                             .emit = emit_regressor};
static const tn_emitter classifier_emitter = {.head = TN_HEAD(tn_emitter),
                                              .kernel = "linear_classifier_c",
                                              .refuse = refuse_classifier,
                                              .scratch = scratch_classifier,
                                              .scratch_type = TN_F64,
                                              .emit = emit_classifier};
const tn_emitter *const linear_emitters[] = {&regressor_emitter, &classifier_emitter, NULL};
