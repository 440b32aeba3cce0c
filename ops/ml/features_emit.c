/* Scaler, Binarizer, Imputer and Normalizer as C: what works on single features and rows. */
#include "ml.gen.h"
#include "scores_emit.h"

static int64_t width_of(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  return x->rank ? x->shape[x->rank - 1] : 1;
}

static const char *x_type(const tn_emit *e) { return tn_emit_c_type(e->call->inputs[0]->dtype); }
static const char *x_name(const tn_emit *e) { return tn_dtype(e->call->inputs[0]->dtype)->name; }
static int count(const tn_emit *e) { return (int)tn_elements(e->call->outputs[0]); }

static const char *list(const tn_emit *e, tn_floats l) {
  const bool fits = scoring_fits_f32(l.data, l.size);
  return fits ? scoring_constant(e, TN_F32, l.data, l.size) : "NULL";
}

static int step_of(int64_t size) { return size == 1 ? 0 : 1; }

/* ---- Scaler ---- */

static const char *scaler_refuse(const tn_call *call) {
  const tn_scaler_attrs *a = call->attrs;
  return scoring_fits_f32(a->offset.data, a->offset.size) &&
                 scoring_fits_f32(a->scale.data, a->scale.size)
             ? NULL
             : "takes numbers of f32 only";
}

static void scaler_emit(const tn_emit *e) {
  const tn_scaler_attrs *a = e->call->attrs;
  char name[32];
  snprintf(name, sizeof name, "scale_%s", x_name(e));
  e->function(e, name,
              "/* (x - offset) * scale, one of each for all features or for each. */\n"
              "static void %s(const %s *x, const float *offset, int32_t offset_step,\n"
              "               const float *scale, int32_t scale_step, float *y, int32_t n,\n"
              "               int32_t width) {\n"
              "  for (int32_t k = 0; k < n; k++) {\n"
              "    const int32_t i = k %% width;\n"
              "    const double from = (double)offset[i * offset_step];\n"
              "    y[k] = (float)(((double)x[k] - from) * (double)scale[i * scale_step]);\n"
              "  }\n"
              "}\n",
              name, x_type(e));
  const char *offset = list(e, a->offset);
  e->line(e, "%s(%s, %s, %d, %s, %d, %s, %d, %d);", name, e->input(e, 0), offset,
          step_of(a->offset.size), list(e, a->scale), step_of(a->scale.size), e->output(e, 0),
          count(e), (int)width_of(e->call));
}

/* ---- Binarizer ---- */

static void binarizer_emit(const tn_emit *e) {
  char name[32], threshold[TN_EMIT_NUMBER];
  snprintf(name, sizeof name, "binarize_%s", x_name(e));
  e->function(e, name,
              "/* y[k] = 1 where x[k] is above the threshold, else 0. */\n"
              "static void %s(const %s *x, %s *y, int32_t n, double threshold) {\n"
              "  for (int32_t k = 0; k < n; k++) {\n"
              "    y[k] = (double)x[k] > threshold ? 1 : 0;\n"
              "  }\n"
              "}\n",
              name, x_type(e), x_type(e));
  e->line(e, "%s(%s, %s, %d, %s);", name, e->input(e, 0), e->output(e, 0), count(e),
          tn_emit_double(((const tn_binarizer_attrs *)e->call->attrs)->threshold, threshold));
}

/* ---- Imputer ---- */

static bool is_whole(const tn_call *call) { return tn_dtype(call->inputs[0]->dtype)->is_int; }

static const char *imputer_refuse(const tn_call *call) {
  const tn_imputer_attrs *a = call->attrs;
  if (call->inputs[0]->dtype == TN_I32) return "takes f32, f64 and i64 only";
  return is_whole(call) ||
                 scoring_fits_f32(a->imputed_value_floats.data, a->imputed_value_floats.size)
             ? NULL
             : "takes numbers of f32 only";
}

static void imputer_emit(const tn_emit *e) {
  const tn_imputer_attrs *a = e->call->attrs;
  const bool whole = is_whole(e->call);
  const int64_t n = whole ? a->imputed_value_int64s.size : a->imputed_value_floats.size;
  const bool nan = !whole && isnan(a->replaced_value_float);
  char name[40], replaced[TN_EMIT_NUMBER];
  snprintf(name, sizeof name, "impute_%s%s", nan ? "nan_" : "", x_name(e));
  e->function(
      e, name,
      "/* Where x is `replaced`, what stands for it: one value for all features, or for each. */\n"
      "static void %s(const %s *x, %s replaced, const %s *values, int32_t step, %s *y,\n"
      "               int32_t n, int32_t width) {\n"
      "  for (int32_t k = 0; k < n; k++) {\n"
      "    y[k] = %s ? (%s)values[k %% width * step] : x[k];\n"
      "  }\n"
      "}\n",
      name, x_type(e), whole ? "int64_t" : "double", whole ? "int64_t" : "float", x_type(e),
      nan     ? "(double)x[k] == replaced || x[k] != x[k]"
      : whole ? "x[k] == replaced"
              : "(double)x[k] == replaced",
      x_type(e));
  if (whole && a->replaced_value_int64 == INT64_MIN) /* has no constant of its own */
    snprintf(replaced, sizeof replaced, "INT64_MIN");
  else if (whole)
    snprintf(replaced, sizeof replaced, "INT64_C(%lld)", (long long)a->replaced_value_int64);
  else
    tn_emit_double(a->replaced_value_float, replaced);
  e->line(e, "%s(%s, %s, %s, %d, %s, %d, %d);", name, e->input(e, 0), replaced,
          whole ? scoring_labels(e, a->imputed_value_int64s) : list(e, a->imputed_value_floats),
          step_of(n), e->output(e, 0), count(e), (int)width_of(e->call));
}

/* ---- Normalizer ---- */

static void normalizer_emit(const tn_emit *e) {
  const tn_str norm = ((const tn_normalizer_attrs *)e->call->attrs)->norm;
  const bool most = tn_str_is(norm, "MAX"), sum = tn_str_is(norm, "L1");
  const int width = (int)width_of(e->call);
  char name[40];
  snprintf(name, sizeof name, "normalize_%s_%s", most ? "max" : sum ? "l1" : "l2", x_name(e));
  e->function(
      e, name,
      "/* Rows divided by their %s; those for which it is 0 stay. */\n"
      "static void %s(const %s *x, float *y, int32_t rows, int32_t width) {\n"
      "  for (int32_t r = 0; r < rows; r++) {\n"
      "    double by = 0.0;\n"
      "    for (int32_t k = 0; k < width; k++) {\n"
      "      const double v = (double)x[r * width + k];\n"
      "      by = %s;\n"
      "    }\n"
      "%s"
      "    for (int32_t k = 0; k < width; k++) {\n"
      "      y[r * width + k] = (float)((double)x[r * width + k] / (by != 0.0 ? by : 1.0));\n"
      "    }\n"
      "  }\n"
      "}\n",
      most  ? "largest magnitude"
      : sum ? "sum of magnitudes"
            : "length",
      name, x_type(e),
      most  ? "fmax(by, fabs(v))"
      : sum ? "by + fabs(v)"
            : "by + v * v",
      most || sum ? "" : "    by = sqrt(by);\n");
  e->line(e, "%s(%s, %s, %d, %d);", name, e->input(e, 0), e->output(e, 0),
          width ? count(e) / width : 0, width);
}

static const tn_emitter scaler_emitter = {.head = TN_HEAD(tn_emitter),
                                          .kernel = "scaler_c",
                                          .refuse = scaler_refuse,
                                          .emit = scaler_emit};
static const tn_emitter binarizer_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "binarizer_c", .emit = binarizer_emit};
static const tn_emitter imputer_emitter = {.head = TN_HEAD(tn_emitter),
                                           .kernel = "imputer_c",
                                           .refuse = imputer_refuse,
                                           .emit = imputer_emit};
static const tn_emitter normalizer_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "normalizer_c", .emit = normalizer_emit};
const tn_emitter *const features_emitters[] = {&scaler_emitter, &binarizer_emitter,
                                               &imputer_emitter, &normalizer_emitter, NULL};
