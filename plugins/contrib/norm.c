/* SkipLayerNormalization and EmbedLayerNormalization with their relatives. An item of a kernel is a
 * row. Both first add up what is to be normalised, in the output itself; then both go on alike. */
#include "norm.gen.h"

#include <math.h>
#include <string.h>

#include "builder.h"

static int64_t width_of(const tn_tensor *t) { return t->rank ? t->shape[t->rank - 1] : 1; }
static bool is_row(const tn_tensor *t, int64_t n) {
  return !t || (t->rank == 1 && t->shape[0] == n);
}

/* ---- SkipLayerNormalization ---- */

tn_status skip_layer_normalization_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *skip = call->inputs[1];
  const int64_t n = width_of(x);
  bool fits = x->rank == 2 || x->rank == 3;
  for (uint32_t k = 2; k < call->n_inputs && fits; k++) fits = is_row(call->inputs[k], n);
  fits = fits && skip->rank >= 1 && skip->rank <= x->rank;
  for (int32_t k = 0; fits && k < skip->rank; k++) {
    const int64_t dim = x->shape[x->rank - skip->rank + k];
    fits =
        skip->shape[k] == dim || (x->rank == 3 && skip->rank == 3 && k == 0 && skip->shape[k] == 1);
  }
  if (!fits) return fail(call, TN_ERR_SHAPE, "skip, gamma, beta or bias does not fit the input");
  tn_status s = tn_infer_like(call, 0, 0);
  if (!s && tn_has_output(call, 3)) s = tn_infer_like(call, 3, 0);
  for (uint32_t k = 1; k <= 2 && !s; k++) {
    tn_infer_shape(call, k, TN_F32, x->rank, x->shape);
    if (tn_has_output(call, k)) call->outputs[k]->shape[x->rank - 1] = 1;
  }
  return s;
}

static tn_status skip_reference(const tn_call *call, double epsilon, bool centred) {
  const tn_tensor *x = call->inputs[0], *skip = call->inputs[1], *gamma = call->inputs[2];
  const tn_tensor *beta = centred ? tn_input(call, 3) : NULL,
                  *bias = tn_input(call, centred ? 4 : 3);
  const int64_t n = width_of(x), repeat = tn_elements(skip);
  for (int64_t row = 0; n && row < tn_elements(x) / n; row++) {
    double mean = 0, power = 0;
    for (int pass = 0; pass < 3; pass++) {
      const double inverse = 1 / sqrt(power / (double)n + epsilon);
      for (int64_t c = 0; c < n; c++) {
        const int64_t k = row * n + c;
        const double v = load(x, k) + load(skip, k % repeat) + (bias ? load(bias, c) : 0),
                     d = centred ? v - mean : v;
        if (pass == 0) mean += v / (double)n;
        if (pass == 1) power += d * d;
        if (pass == 2)
          store(call->outputs[0], k, d * inverse * load(gamma, c) + (beta ? load(beta, c) : 0));
        if (pass == 2 && tn_has_output(call, 3)) store(call->outputs[3], k, v);
      }
      if (pass == 2 && tn_has_output(call, 1)) store(call->outputs[1], row, centred ? mean : 0);
      if (pass == 2 && tn_has_output(call, 2)) store(call->outputs[2], row, inverse);
    }
  }
  return TN_OK;
}

tn_status skip_layer_normalization_reference(const tn_call *call) {
  return skip_reference(call, ((const tn_skip_layer_normalization_attrs *)call->attrs)->epsilon,
                        true);
}

tn_status skip_simplified_layer_normalization_reference(const tn_call *call) {
  return skip_reference(
      call, ((const tn_skip_simplified_layer_normalization_attrs *)call->attrs)->epsilon, false);
}

static tn_status plan_rows(int64_t rows, int64_t n, tn_kernel_plan *out) {
  out->items[0] = rows;
  out->grain[0] = 1 + 4000 / (1 + n);
  out->cost_ns = (double)rows * (double)n + 200;
  return TN_OK;
}

tn_status skip_layer_normalization_plan(const tn_call *call, tn_kernel_plan *out) {
  const int64_t n = width_of(call->inputs[0]);
  return plan_rows(n ? tn_elements(call->inputs[0]) / n : 0, n, out);
}

enum { PARTS = 16 };

static float total(const float *part) {
  float half[PARTS / 2], sum = 0;
  for (int k = 0; k < PARTS / 2; k++) half[k] = part[k] + part[k + PARTS / 2];
  for (int k = 0; k < PARTS / 2; k++) sum += half[k];
  return sum;
}

/* y holds the values; it becomes (y - mean) * inverse * gamma + beta. */
static void normalise(float *y, int64_t n, const float *gamma, const float *beta, float epsilon,
                      bool centred, float *out_mean, float *out_inverse) {
  float part[PARTS] = {0}, mean = 0;
  int64_t c = 0;
  for (; centred && c + PARTS <= n; c += PARTS)
    for (int k = 0; k < PARTS; k++) part[k] += y[c + k];
  for (; centred && c < n; c++) part[0] += y[c];
  if (centred) mean = total(part) / (float)n;
  memset(part, 0, sizeof part);
  for (c = 0; c + PARTS <= n; c += PARTS)
    for (int k = 0; k < PARTS; k++) part[k] += (y[c + k] - mean) * (y[c + k] - mean);
  for (; c < n; c++) part[0] += (y[c] - mean) * (y[c] - mean);
  const float inverse = 1 / sqrtf(total(part) / (float)n + epsilon);
  for (c = 0; c < n; c++) y[c] = (y[c] - mean) * inverse * gamma[c];
  for (c = 0; beta && c < n; c++) y[c] += beta[c];
  *out_mean = mean;
  *out_inverse = inverse;
}

static const float *floats(const tn_tensor *t) { return t ? t->data : NULL; }

static tn_status skip_run(const tn_call *call, double epsilon, bool centred, int64_t begin,
                          int64_t end) {
  const int64_t n = width_of(call->inputs[0]),
                repeat = tn_elements(call->inputs[1]) / tn_max_i64(n, 1);
  const float *x = call->inputs[0]->data, *skip = call->inputs[1]->data,
              *gamma = call->inputs[2]->data;
  const float *beta = centred ? floats(tn_input(call, 3)) : NULL,
              *bias = floats(tn_input(call, centred ? 4 : 3));
  for (int64_t row = begin; row < end; row++) {
    const float *from = x + row * n, *more = skip + row % repeat * n;
    float *y = (float *)call->outputs[0]->data + row * n, mean, inverse;
    for (int64_t c = 0; c < n; c++) y[c] = from[c] + more[c];
    for (int64_t c = 0; bias && c < n; c++) y[c] += bias[c];
    if (tn_has_output(call, 3))
      memcpy((float *)call->outputs[3]->data + row * n, y, (size_t)n * sizeof *y);
    normalise(y, n, gamma, beta, (float)epsilon, centred, &mean, &inverse);
    if (tn_has_output(call, 1)) ((float *)call->outputs[1]->data)[row] = mean;
    if (tn_has_output(call, 2)) ((float *)call->outputs[2]->data)[row] = inverse;
  }
  return TN_OK;
}

tn_status skip_layer_normalization_f32_c(const tn_call *call, uint32_t stage, int64_t begin,
                                         int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  return skip_run(call, ((const tn_skip_layer_normalization_attrs *)call->attrs)->epsilon, true,
                  begin, end);
}

tn_status skip_simplified_layer_normalization_f32_c(const tn_call *call, uint32_t stage,
                                                    int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  return skip_run(call,
                  ((const tn_skip_simplified_layer_normalization_attrs *)call->attrs)->epsilon,
                  false, begin, end);
}

/* For devices, which have kernels for the parts. */
static tn_status skip_lower(const tn_call *call, tn_graph *graph, int32_t node, double epsilon,
                            bool centred) {
  if (!centred && (tn_has_output(call, 1) || tn_has_output(call, 2))) return TN_ERR_UNSUPPORTED;
  builder b = build_begin(call, graph, node);
  const tn_attr attrs[2] = {tn_attr_int("axis", -1), tn_attr_float("epsilon", epsilon)};
  const uint32_t bias = centred ? 4 : 3;
  int32_t y[4] = {-1, -1, -1, -1};
  y[3] = build_binary(&b, "Add", build_input(&b, 0), build_input(&b, 1));
  if (tn_input(call, bias)) y[3] = build_binary(&b, "Add", y[3], build_input(&b, bias));
  const int32_t inputs[3] = {y[3], build_input(&b, 2), centred ? build_input(&b, 3) : -1};
  build_node(&b, centred ? "LayerNormalization" : "RMSNormalization", inputs, 2 + (inputs[2] >= 0),
             attrs, 2, y, centred ? 3 : 1);
  return build_end(&b, y, call->n_outputs);
}

tn_status skip_layer_normalization_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_skip_layer_normalization_attrs *a = call->attrs;
  return skip_lower(call, graph, node, a->epsilon, true);
}

tn_status skip_simplified_layer_normalization_lower(const tn_call *call, tn_graph *graph,
                                                    int32_t node) {
  const tn_skip_simplified_layer_normalization_attrs *a = call->attrs;
  return skip_lower(call, graph, node, a->epsilon, false);
}

/* ---- EmbedLayerNormalization ---- */

enum { IDS, SEGMENT_IDS, WORDS, POSITIONS, SEGMENTS, GAMMA, BETA, MASK, POSITION_IDS };

static bool like_ids(const tn_tensor *t, const tn_tensor *ids, bool any_batch) {
  return !t || (t->rank == 2 && t->shape[1] == ids->shape[1] &&
                (t->shape[0] == ids->shape[0] || (any_batch && t->shape[0] == 1)));
}

tn_status embed_layer_normalization_infer(const tn_call *call) {
  const tn_tensor *ids = call->inputs[IDS], *words = call->inputs[WORDS],
                  *positions = call->inputs[POSITIONS];
  const tn_tensor *segments = tn_input(call, SEGMENTS);
  if (ids->rank != 2 || words->rank != 2 || positions->rank != 2 ||
      (segments && segments->rank != 2))
    return fail(call, TN_ERR_SHAPE, "input_ids and the embeddings have rank 2");
  const int64_t n = words->shape[1];
  if (positions->shape[1] != n || (segments && segments->shape[1] != n) ||
      !is_row(call->inputs[GAMMA], n) || !is_row(call->inputs[BETA], n))
    return fail(call, TN_ERR_SHAPE, "the embeddings, gamma and beta differ in width");
  if (!like_ids(tn_input(call, SEGMENT_IDS), ids, false) ||
      !like_ids(tn_input(call, MASK), ids, false) ||
      !like_ids(tn_input(call, POSITION_IDS), ids, true))
    return fail(call, TN_ERR_SHAPE,
                "segment_ids, mask or position_ids does not have the shape of input_ids");
  if (!tn_input(call, SEGMENT_IDS) != !segments)
    return fail(call, TN_ERR_INVALID, "segment_ids and segment_embedding come together");
  const int64_t dims[3] = {ids->shape[0], ids->shape[1], n};
  tn_infer_shape(call, 0, words->dtype, 3, dims);
  tn_infer_shape(call, 1, TN_I32, 1, dims);
  tn_infer_shape(call, 2, words->dtype, 3, dims);
  return TN_OK;
}

/* Rows of the three tables for one token; segment -1: none. Answers an error if a table has no such
 * row. */
typedef struct token {
  int64_t word, position, segment;
} token;
static tn_status token_of(const tn_call *call, int64_t item, token *out) {
  const tn_tensor *segment = tn_input(call, SEGMENT_IDS), *position = tn_input(call, POSITION_IDS);
  const int64_t n = call->inputs[IDS]->shape[1];
  out->word = ((const int32_t *)call->inputs[IDS]->data)[item];
  out->segment = segment ? ((const int32_t *)segment->data)[item] : -1;
  out->position = position
                      ? ((const int32_t *)position->data)[position->shape[0] == 1 ? item % n : item]
                      : item % n;
  if (out->word < 0 || out->word >= call->inputs[WORDS]->shape[0] || out->position < 0 ||
      out->position >= call->inputs[POSITIONS]->shape[0] ||
      (segment && (out->segment < 0 || out->segment >= call->inputs[SEGMENTS]->shape[0])))
    return fail(call, TN_ERR_INVALID, "an id names a row that its embedding does not have");
  return TN_OK;
}

static void count_mask(const tn_call *call) {
  const tn_tensor *mask = tn_input(call, MASK);
  if (!tn_has_output(call, 1)) return;
  for (int64_t b = 0; b < call->inputs[IDS]->shape[0]; b++) {
    int32_t ones = 0;
    for (int64_t k = 0; mask && k < mask->shape[1]; k++)
      ones += ((const int32_t *)mask->data)[b * mask->shape[1] + k] == 1;
    ((int32_t *)call->outputs[1]->data)[b] = ones;
  }
}

tn_status embed_layer_normalization_reference(const tn_call *call) {
  const double epsilon = ((const tn_embed_layer_normalization_attrs *)call->attrs)->epsilon;
  const int64_t n = call->inputs[WORDS]->shape[1];
  for (int64_t item = 0; item < tn_elements(call->inputs[IDS]); item++) {
    token t;
    tn_status s = token_of(call, item, &t);
    if (s) return s;
    double mean = 0, power = 0;
    for (int pass = 0; pass < 3; pass++) {
      for (int64_t c = 0; c < n; c++) {
        double v = load(call->inputs[WORDS], t.word * n + c) +
                   load(call->inputs[POSITIONS], t.position * n + c);
        if (t.segment >= 0) v += load(call->inputs[SEGMENTS], t.segment * n + c);
        if (pass == 0) mean += v / (double)n;
        if (pass == 1) power += (v - mean) * (v - mean);
        if (pass < 2) continue;
        const double inverse = 1 / sqrt(power / (double)n + epsilon);
        store(call->outputs[0], item * n + c,
              (v - mean) * inverse * load(call->inputs[GAMMA], c) + load(call->inputs[BETA], c));
        if (tn_has_output(call, 2)) store(call->outputs[2], item * n + c, v);
      }
    }
  }
  count_mask(call);
  return TN_OK;
}

tn_status embed_layer_normalization_plan(const tn_call *call, tn_kernel_plan *out) {
  out->n_stages = 2;
  out->items[1] = tn_has_output(call, 1);
  return plan_rows(tn_elements(call->inputs[IDS]), call->inputs[WORDS]->shape[1], out);
}

tn_status embed_layer_normalization_f32_c(const tn_call *call, uint32_t stage, int64_t begin,
                                          int64_t end, uint32_t worker) {
  (void)worker;
  if (stage == 1) {
    count_mask(call);
    return TN_OK;
  }
  const int64_t n = call->inputs[WORDS]->shape[1];
  const float *words = call->inputs[WORDS]->data, *positions = call->inputs[POSITIONS]->data,
              *segments = floats(tn_input(call, SEGMENTS));
  for (int64_t item = begin; item < end; item++) {
    float *y = (float *)call->outputs[0]->data + item * n, mean, inverse;
    token t;
    tn_status s = token_of(call, item, &t);
    if (s) return s;
    for (int64_t c = 0; c < n; c++) y[c] = words[t.word * n + c] + positions[t.position * n + c];
    for (int64_t c = 0; segments && c < n; c++) y[c] += segments[t.segment * n + c];
    if (tn_has_output(call, 2))
      memcpy((float *)call->outputs[2]->data + item * n, y, (size_t)n * sizeof *y);
    normalise(y, n, call->inputs[GAMMA]->data, call->inputs[BETA]->data,
              (float)((const tn_embed_layer_normalization_attrs *)call->attrs)->epsilon, true,
              &mean, &inverse);
  }
  return TN_OK;
}

/* How many ones each row of the mask has; without a mask 0. */
static int32_t lower_mask(builder *b) {
  const int64_t batch = b->call->inputs[IDS]->shape[0], rows = 1;
  const tn_attr keep = tn_attr_int("keepdims", 0);
  int32_t y;
  if (!tn_input(b->call, MASK)) {
    const int32_t inputs[2] = {build_scalar(b, TN_I32, 0), build_ints(b, &batch, 1)};
    build_node(b, "Expand", inputs, 2, NULL, 0, &y, 1);
    return y;
  }
  const int32_t ones = build_binary(b, "Equal", build_input(b, MASK), build_scalar(b, TN_I32, 1));
  const int32_t inputs[2] = {build_cast(b, ones, TN_I32), build_ints(b, &rows, 1)};
  build_node(b, "ReduceSum", inputs, 2, &keep, 1, &y, 1);
  return y;
}

/* Without position_ids the rows of the table in their order. */
static int32_t lower_positions(builder *b) {
  const int64_t starts = 0, n = b->call->inputs[IDS]->shape[1];
  const int32_t table = build_input(b, POSITIONS);
  if (tn_input(b->call, POSITION_IDS))
    return build_binary(b, "Gather", table, build_input(b, POSITION_IDS));
  const int32_t inputs[4] = {table, build_ints(b, &starts, 1), build_ints(b, &n, 1),
                             build_ints(b, &starts, 1)};
  int32_t y;
  build_node(b, "Slice", inputs, 4, NULL, 0, &y, 1);
  return y;
}

tn_status embed_layer_normalization_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_embed_layer_normalization_attrs *a = call->attrs;
  const tn_attr attrs[2] = {tn_attr_int("axis", -1), tn_attr_float("epsilon", a->epsilon)};
  if (!tn_input(call, POSITION_IDS) &&
      call->inputs[IDS]->shape[1] > call->inputs[POSITIONS]->shape[0])
    return TN_ERR_UNSUPPORTED;
  builder b = build_begin(call, graph, node);
  int32_t y[3] = {-1, -1, -1};
  y[2] = build_binary(&b, "Gather", build_input(&b, WORDS), build_input(&b, IDS));
  y[2] = build_binary(&b, "Add", y[2], lower_positions(&b));
  if (tn_input(call, SEGMENT_IDS))
    y[2] = build_binary(
        &b, "Add", y[2],
        build_binary(&b, "Gather", build_input(&b, SEGMENTS), build_input(&b, SEGMENT_IDS)));
  const int32_t inputs[3] = {y[2], build_input(&b, GAMMA), build_input(&b, BETA)};
  build_node(&b, "LayerNormalization", inputs, 3, attrs, 2, y, 1);
  if (tn_has_output(call, 1)) y[1] = lower_mask(&b);
  return build_end(&b, y, call->n_outputs);
}

/* ---- old names ---- */

static tn_status rename_node(const tn_call *call, tn_graph *graph, int32_t node, const char *op,
                             uint32_t n_inputs, uint32_t n_outputs, int64_t axis, double epsilon) {
  builder b = build_begin(call, graph, node);
  const tn_attr attrs[2] = {tn_attr_int("axis", axis), tn_attr_float("epsilon", epsilon)};
  int32_t inputs[3], outputs[3];
  for (uint32_t k = 0; k < n_inputs; k++) inputs[k] = build_input(&b, k);
  build_node(&b, op, inputs, n_inputs, attrs, 2, outputs, n_outputs);
  return build_end(&b, outputs, n_outputs);
}

tn_status simplified_layer_normalization_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_simplified_layer_normalization_attrs *a = call->attrs;
  return rename_node(call, graph, node, "RMSNormalization", 2, 1, a->axis, a->epsilon);
}

tn_status old_layer_normalization_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_layer_normalization_v1_attrs *a = call->attrs;
  return rename_node(call, graph, node, "LayerNormalization", 3, 3, a->axis, a->epsilon);
}
