/* What the emitters of trees and linear models share: from the scores of a row, in f64, to its
 * class and its outputs. */
#ifndef TN_OPS_ML_SCORES_EMIT_H
#define TN_OPS_ML_SCORES_EMIT_H

#include <stdbool.h>

#include "scores.h"
#include "tenon/experimental/emit_elementwise.h"
#include "tenon/kit/element.h"

/* The C that gives the scores of a row, and what becomes of them. */
typedef struct scoring {
  const char *function, *type; /* function(model, x, scores); type: of the pointer to the model */
  const char *model;           /* that pointer */
  int64_t rows, width, n;      /* of X; scores of a row */
  const char *finish;          /* C lines that change the scores, or "" */
  const char *best;            /* C of the number of the class, before these lines; NULL: none */
  tn_ints labels;              /* of classes */
} scoring;

enum { SCORING_LINES = 160 };

/* Why a transform cannot be written; NULL: it can. */
static inline const char *scoring_refuse(transform how) {
  return how == TRANSFORM_PROBIT ? "takes no post_transform PROBIT" : NULL;
}

/* The C line of a transform; "": of none. */
static inline void scoring_transform(const tn_emit *e, transform how, int64_t n, char *text,
                                     size_t size) {
  *text = 0;
  if (how == TRANSFORM_LOGISTIC) {
    e->code(e, "emit/logistic.c");
    e->code(e, "emit/logistic_scores.c");
    snprintf(text, size, "    logistic_scores(scores, %d);\n", (int)n);
  } else if (how == TRANSFORM_SOFTMAX || how == TRANSFORM_SOFTMAX_ZERO) {
    e->code(e, "emit/softmax_scores.c");
    snprintf(text, size, "    softmax_scores(scores, %d, %d);\n", (int)n,
             how == TRANSFORM_SOFTMAX_ZERO);
  }
}

/* An array of constants: elements of this type, converted from f64. */
static inline const char *scoring_constant(const tn_emit *e, uint32_t dtype, const double *values,
                                           int64_t n) {
  void *data = e->memory(e, (uint64_t)tn_max_i64(n, 1) * sizeof(double));
  const tn_tensor t = tn_tensor_make(dtype, 1, &n, data);
  for (int64_t k = 0; data && k < n; k++) tn_store_f64(dtype, data, k, values[k]);
  return data ? e->constant(e, &t) : "NULL";
}

/* Whether all of them are numbers of f32. */
static inline bool scoring_fits_f32(const double *values, int64_t n) {
  int64_t k = 0;
  while (k < n && (double)(float)values[k] == values[k]) k++;
  return k == n;
}

static inline const char *scoring_labels(const tn_emit *e, tn_ints labels) {
  int64_t *data = e->memory(e, (uint64_t)tn_max_i64(labels.size, 1) * sizeof *data);
  const tn_tensor t = tn_tensor_make(TN_I64, 1, &labels.size, data);
  for (int64_t k = 0; data && k < labels.size; k++) data[k] = labels.data[k];
  return data ? e->constant(e, &t) : "NULL";
}

static inline void scoring_regress(const tn_emit *e, const scoring *s) {
  char name[32];
  snprintf(name, sizeof name, "regress_%u", e->step);
  e->function(e, name,
              "/* The targets of each row of x. */\n"
              "static void %s(%s model, const %s *x, double *scores, float *y) {\n"
              "  for (int32_t row = 0; row < %d; row++) {\n"
              "    %s(model, x + row * %d, scores);\n"
              "%s"
              "    store_scores(scores, y + row * %d, %d);\n"
              "  }\n"
              "}\n",
              name, s->type, tn_emit_c_type(e->call->inputs[0]->dtype), (int)s->rows, s->function,
              (int)s->width, s->finish, (int)s->n, (int)s->n);
  e->line(e, "%s(%s, %s, %s, %s);", name, s->model, e->input(e, 0), e->scratch(e), e->output(e, 0));
}

static inline void scoring_classify(const tn_emit *e, const scoring *s) {
  char name[32];
  snprintf(name, sizeof name, "classify_%u", e->step);
  e->function(
      e, name,
      "/* The class of each row of x, and the scores of all classes; either may be NULL. */\n"
      "static void %s(%s model, const %s *x, const int64_t *labels, double *scores,\n"
      "               int64_t *label, float *y) {\n"
      "  for (int32_t row = 0; row < %d; row++) {\n"
      "    %s(model, x + row * %d, scores);\n"
      "    const int32_t best = %s;\n"
      "%s"
      "    if (label != NULL) {\n"
      "      label[row] = labels[best];\n"
      "    }\n"
      "    if (y != NULL) {\n"
      "      store_scores(scores, y + row * %d, %d);\n"
      "    }\n"
      "  }\n"
      "}\n",
      name, s->type, tn_emit_c_type(e->call->inputs[0]->dtype), (int)s->rows, s->function,
      (int)s->width, s->best, s->finish, (int)s->n, (int)s->n);
  e->line(e, "%s(%s, %s, %s, %s, %s, %s);", name, s->model, e->input(e, 0),
          scoring_labels(e, s->labels), e->scratch(e), e->output(e, 0), e->output(e, 1));
}

/* The function of a step that goes through the rows, and its call. */
static inline void scoring_write(const tn_emit *e, const scoring *s) {
  e->code(e, "emit/store_scores.c");
  if (s->best)
    scoring_classify(e, s);
  else
    scoring_regress(e, s);
}

#endif
