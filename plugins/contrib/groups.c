/* GroupNorm and SkipGroupNorm: GroupNormalization of ai.onnx between transpositions. */
#include "groups.gen.h"

#include <math.h>

#include "builder.h"

enum { X, GAMMA, BETA, SKIP, BIAS };

typedef struct normed { /* what the two attribute structs have in common */
  int64_t activation, channels_last, groups;
  double epsilon;
  int64_t batch, pixels, channels;
} normed;

static tn_status check(const tn_call *call, normed n, normed *out) {
  const tn_tensor *x = call->inputs[X], *skip = tn_input(call, SKIP), *bias = tn_input(call, BIAS);
  if (x->rank != 4) return fail(call, TN_ERR_SHAPE, "X is no image of rank 4");
  n.batch = x->shape[0];
  n.channels = x->shape[n.channels_last ? 3 : 1];
  n.pixels = n.channels_last ? x->shape[1] * x->shape[2] : x->shape[2] * x->shape[3];
  for (uint32_t k = GAMMA; k <= BETA; k++)
    if (call->inputs[k]->rank != 1 || call->inputs[k]->shape[0] != n.channels)
      return fail(call, TN_ERR_SHAPE, "gamma or beta does not have one value per channel");
  if (n.groups < 1 || n.groups > tn_max_i64(1, n.channels) || n.channels % n.groups ||
      n.activation < 0 || n.activation > 1)
    return fail(call, TN_ERR_INVALID,
                "attribute 'groups' does not divide the channels, or 'activation' is not 0 or 1");
  if (skip && !n.channels_last)
    return fail(call, TN_ERR_UNSUPPORTED, "not supported: channels_last=0 with a skip");
  const int64_t last = skip && skip->rank ? skip->shape[skip->rank - 1] : 0;
  bool whole = skip && skip->rank == 4;
  for (int32_t k = 0; whole && k < 4; k++) whole = skip->shape[k] == x->shape[k];
  const bool row = skip && (skip->rank == 2 || skip->rank == 4) && last == n.channels &&
                   tn_elements(skip) == n.batch * n.channels && skip->shape[0] == n.batch;
  if ((skip && !whole && !row) || (bias && (bias->rank != 1 || bias->shape[0] != n.channels)))
    return fail(call, TN_ERR_SHAPE, "skip or bias does not fit X");
  *out = n;
  return TN_OK;
}

static tn_status make(const tn_call *call, bool skip, normed *out) {
  if (skip) {
    const tn_skip_group_norm_attrs *a = call->attrs;
    return check(call, (normed){a->activation, a->channels_last, a->groups, a->epsilon, 0, 0, 0},
                 out);
  }
  const tn_group_norm_attrs *a = call->attrs;
  return check(call, (normed){a->activation, a->channels_last, a->groups, a->epsilon, 0, 0, 0},
               out);
}

tn_status group_norm_infer(const tn_call *call) {
  normed n = {0};
  tn_status s = make(call, false, &n);
  return s ? s : tn_infer_like(call, 0, X);
}

tn_status skip_group_norm_infer(const tn_call *call) {
  normed n = {0};
  tn_status s = make(call, true, &n);
  if (!s) s = tn_infer_like(call, 0, X);
  return s || !tn_has_output(call, 1) ? s : tn_infer_like(call, 1, X);
}

/* ---- as a graph ---- */

static int32_t normalised(builder *b, const normed *n, int32_t x) {
  int32_t y;
  const tn_attr attrs[2] = {tn_attr_int("num_groups", n->groups),
                            tn_attr_float("epsilon", n->epsilon)};
  if (n->channels_last) x = build_move_channels(b, x, 4, false);
  int32_t inputs[3] = {x, build_input(b, GAMMA), build_input(b, BETA)};
  for (int k = 1; k < 3; k++)
    if (b->call->inputs[GAMMA]->dtype != b->call->inputs[X]->dtype)
      inputs[k] = build_binary(b, "CastLike", inputs[k], x);
  build_node(b, "GroupNormalization", inputs, 3, attrs, 2, &y, 1);
  if (n->activation) y = build_unary(b, "Swish", y);
  return n->channels_last ? build_move_channels(b, y, 4, true) : y;
}

tn_status group_norm_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  normed n = {0};
  tn_status s = make(call, false, &n);
  if (s) return s;
  const int32_t y = normalised(&b, &n, build_input(&b, X));
  return build_end(&b, &y, 1);
}

tn_status skip_group_norm_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  normed n = {0};
  tn_status s = make(call, true, &n);
  if (s) return s;
  int32_t skip = build_input(&b, SKIP), made[2];
  if (call->inputs[SKIP]->rank == 2)
    skip = build_reshape(&b, skip, (int64_t[]){n.batch, 1, 1, n.channels}, 4);
  made[1] = build_binary(&b, "Add", build_input(&b, X), skip);
  if (build_input(&b, BIAS) >= 0) made[1] = build_binary(&b, "Add", made[1], build_input(&b, BIAS));
  made[0] = normalised(&b, &n, made[1]);
  if (!tn_has_output(call, 1)) made[1] = -1;
  return build_end(&b, made, 2);
}

/* ---- reference ---- */

static int64_t place(const normed *n, int64_t image, int64_t pixel, int64_t channel) {
  return n->channels_last ? (image * n->pixels + pixel) * n->channels + channel
                          : (image * n->channels + channel) * n->pixels + pixel;
}

static double sum_at(const tn_call *call, const normed *n, int64_t image, int64_t at, int64_t c) {
  const tn_tensor *skip = tn_input(call, SKIP), *x = call->inputs[X];
  double v = load(x, at) + load_or(tn_input(call, BIAS), c, 0);
  if (skip) v += load(skip, tn_elements(skip) == tn_elements(x) ? at : image * n->channels + c);
  return v;
}

static void group_reference(const tn_call *call, const normed *n, int64_t image, int64_t group) {
  const int64_t width = n->channels / n->groups;
  double mean = 0, power = 0;
  for (int pass = 0; pass < 3; pass++) {
    for (int64_t k = 0; k < width * n->pixels; k++) {
      const int64_t c = group * width + k % width, at = place(n, image, k / width, c);
      const double v = sum_at(call, n, image, at, c);
      if (pass == 0) mean += v / (double)(width * n->pixels);
      if (pass == 1) power += (v - mean) * (v - mean) / (double)(width * n->pixels);
      if (pass < 2) continue;
      double y = (v - mean) / sqrt(power + n->epsilon) * load(call->inputs[GAMMA], c) +
                 load(call->inputs[BETA], c);
      if (n->activation) y = y / (1 + exp(-y));
      store(call->outputs[0], at, y);
      if (tn_has_output(call, 1)) store(call->outputs[1], at, v);
    }
  }
}

static tn_status reference(const tn_call *call, bool skip) {
  normed n = {0};
  tn_status s = make(call, skip, &n);
  for (int64_t k = 0; !s && k < n.batch * n.groups; k++)
    group_reference(call, &n, k / n.groups, k % n.groups);
  return s;
}

tn_status group_norm_reference(const tn_call *call) { return reference(call, false); }
tn_status skip_group_norm_reference(const tn_call *call) { return reference(call, true); }
