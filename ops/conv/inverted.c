/* InvertedResidual: a 1x1 convolution that widens, a depthwise one and a 1x1 one that narrows, as
 * one operator. Shapes, reference, the portable kernel, and the rewrite that finds them. */
#include "inverted.h"

#include <math.h>
#include <string.h>

#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"

/* ---- shapes ---- */

static tn_status wrong(const tn_call *call, const char *what) {
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s", what);
}

static tn_status check_bias(const tn_call *call, uint32_t input, int64_t n, const char *what) {
  const tn_tensor *t = tn_input(call, input);
  return !t || (t->rank == 1 && t->shape[0] == n) ? TN_OK : wrong(call, what);
}

static tn_status check_weights(const tn_call *call) {
  const tn_tensor *x = call->inputs[INVERTED_X], *w1 = call->inputs[INVERTED_W1],
                  *w2 = call->inputs[INVERTED_W2], *w3 = call->inputs[INVERTED_W3];
  if (x->rank != 4 || w1->rank != 4 || w2->rank != 4 || w3->rank != 4)
    return wrong(call, "X and the weights have four dims");
  if (w1->shape[1] != x->shape[1] || w1->shape[2] != 1 || w1->shape[3] != 1)
    return wrong(call, "W1 is not [wide, channels of X, 1, 1]");
  if (w2->shape[0] != w1->shape[0] || w2->shape[1] != 1)
    return wrong(call, "W2 is not [wide, 1, kernel...]");
  if (w3->shape[1] != w1->shape[0] || w3->shape[2] != 1 || w3->shape[3] != 1)
    return wrong(call, "W3 is not [filters, wide, 1, 1]");
  tn_status s = check_bias(call, INVERTED_B1, w1->shape[0], "B1 is not [wide]");
  if (!s) s = check_bias(call, INVERTED_B2, w1->shape[0], "B2 is not [wide]");
  return s ? s : check_bias(call, INVERTED_B3, w3->shape[0], "B3 is not [filters]");
}

tn_status inverted_make(const tn_call *call, inverted *out) {
  const tn_inverted_residual_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[INVERTED_X];
  const tn_window_attrs window = {
      .dilations = a->dilations, .pads = a->pads, .strides = a->strides};
  inverted n = {0};
  tn_status s = check_weights(call);
  if (!s)
    s = tn_window_make(call, &window, 2, x->shape + 2, call->inputs[INVERTED_W2]->shape + 2, &n.w);
  if (!s) s = tn_window_product(call, n.w.in, 2, &n.in_size);
  if (!s) s = tn_window_product(call, n.w.out, 2, &n.out_size);
  if (!s) s = tn_window_product(call, n.w.kernel, 2, &n.taps);
  if (s) return s;
  n.batch = x->shape[0];
  n.channels = x->shape[1];
  n.wide = call->inputs[INVERTED_W1]->shape[0];
  n.filters = call->inputs[INVERTED_W3]->shape[0];
  int64_t planes, most; /* of all three parts, where there are no images, too */
  if (tn_add_i64(n.channels, n.wide, &planes) || tn_add_i64(planes, n.filters, &planes) ||
      tn_add_i64(planes, 64, &planes) ||
      tn_dims_product((int64_t[]){n.batch + 1, planes, n.in_size + n.out_size + 1, 64}, 4, &most))
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "what is between the convolutions overflows");
  *out = n;
  return TN_OK;
}

inverted_activation inverted_activation_of(const tn_call *call, int32_t which) {
  const tn_inverted_residual_attrs *a = call->attrs;
  const tn_str name = which ? a->activation2 : a->activation1;
  inverted_activation f = {.lo = which ? a->lo2 : a->lo1, .hi = which ? a->hi2 : a->hi1};
  f.kind = tn_str_is(name, "Clip")        ? INVERTED_CLIP
           : tn_str_is(name, "HardSwish") ? INVERTED_HARD_SWISH
                                          : INVERTED_NONE;
  return f;
}

static bool knows(tn_str name) {
  return !name.size || tn_str_is(name, "Clip") || tn_str_is(name, "HardSwish");
}

tn_status inverted_infer(const tn_call *call) {
  const tn_inverted_residual_attrs *a = call->attrs;
  inverted n;
  const tn_status s = inverted_make(call, &n);
  if (s) return s;
  if (!knows(a->activation1) || !knows(a->activation2))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attributes 'activation1', 'activation2' are \"\", Clip or HardSwish");
  tn_infer_shape(call, 0, TN_NONE, 4, (int64_t[]){n.batch, n.filters, n.w.out[0], n.w.out[1]});
  return TN_OK;
}

tn_status inverted_flops(const tn_call *call, double *out_flops) {
  inverted n;
  const tn_status s = inverted_make(call, &n);
  if (!s)
    *out_flops = 2.0 * (double)n.batch * (double)n.wide *
                 ((double)n.channels * (double)n.in_size +
                  (double)(n.taps + n.filters) * (double)n.out_size);
  return s;
}

/* ---- reference and portable kernel ---- */

static double activated(inverted_activation f, double x) {
  if (f.kind == INVERTED_CLIP) {
    const double least = x < f.lo ? f.lo : x; /* NaN stays NaN */
    return least > f.hi ? f.hi : least;
  }
  if (f.kind != INVERTED_HARD_SWISH || x != x) return x;
  const double gate = x / 6 + 0.5;
  return gate <= 0 ? 0 * copysign(1, x) : x * (gate > 1 ? 1 : gate);
}

static double value_of(const tn_tensor *t, int64_t index) {
  return t ? tn_load_f64(t->dtype, t->data, index) : 0;
}

/* to[m][size] = activation of bias[m] + sum over c of w[m][c] from[c][size] */
static void reference_pointwise(const tn_tensor *w, const tn_tensor *bias, inverted_activation f,
                                int64_t m, int64_t channels, int64_t size, const double *from,
                                double *to) {
  for (int64_t k = 0; k < m * size; k++) {
    double sum = value_of(bias, k / size);
    for (int64_t c = 0; c < channels; c++)
      sum += value_of(w, k / size * channels + c) * from[c * size + k % size];
    to[k] = activated(f, sum);
  }
}

static void reference_depthwise(const tn_call *call, const inverted *n, const double *from,
                                double *to) {
  const inverted_activation f = inverted_activation_of(call, 1);
  for (int64_t k = 0; k < n->wide * n->out_size; k++) {
    const int64_t c = k / n->out_size;
    double sum = value_of(tn_input(call, INVERTED_B2), c);
    for (int64_t t = 0; t < n->taps; t++) {
      const int64_t i = conv_tap_index(&n->w, k % n->out_size, t);
      if (i >= 0)
        sum += from[c * n->in_size + i] * value_of(call->inputs[INVERTED_W2], c * n->taps + t);
    }
    to[k] = activated(f, sum);
  }
}

/* room: of all three. */
static void reference_image(const tn_call *call, const inverted *n, int64_t image, double *room) {
  const tn_tensor *x = call->inputs[INVERTED_X], *y = call->outputs[0];
  double *wide = room + n->channels * n->in_size, *reduced = wide + n->wide * n->in_size,
         *out = reduced + n->wide * n->out_size;
  for (int64_t k = 0; k < n->channels * n->in_size; k++)
    room[k] = value_of(x, image * n->channels * n->in_size + k);
  reference_pointwise(call->inputs[INVERTED_W1], tn_input(call, INVERTED_B1),
                      inverted_activation_of(call, 0), n->wide, n->channels, n->in_size, room,
                      wide);
  reference_depthwise(call, n, wide, reduced);
  reference_pointwise(call->inputs[INVERTED_W3], tn_input(call, INVERTED_B3),
                      (inverted_activation){0}, n->filters, n->wide, n->out_size, reduced, out);
  for (int64_t k = 0; k < n->filters * n->out_size; k++)
    tn_store_f64(y->dtype, y->data, image * n->filters * n->out_size + k, out[k]);
}

static int64_t reference_doubles(const inverted *n) {
  return (n->channels + n->wide) * n->in_size + (n->wide + n->filters) * n->out_size + 1;
}

tn_status inverted_reference(const tn_call *call) {
  inverted n;
  const tn_status s = inverted_make(call, &n);
  if (s || !n.batch) return s;
  double *room = call->host->alloc(call->ctx, (uint64_t)reference_doubles(&n) * sizeof *room);
  if (!room) return TN_ERR_MEMORY;
  for (int64_t image = 0; image < n.batch; image++) reference_image(call, &n, image, room);
  call->host->free(call->ctx, room);
  return TN_OK;
}

/* For machines without vectors that Tenon knows: such models were made on another one. */
tn_status inverted_c_plan(const tn_call *call, tn_kernel_plan *out) {
  inverted n;
  const tn_status s = inverted_make(call, &n);
  if (s) return s;
  if (n.batch) out->worker_scratch_bytes = (uint64_t)reference_doubles(&n) * sizeof(double);
  out->items[0] = n.batch;
  return TN_OK;
}

tn_status inverted_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  inverted n;
  const tn_status s = inverted_make(call, &n);
  (void)stage;
  if (s) return s;
  double *room =
      (double *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t image = begin; image < end; image++) reference_image(call, &n, image, room);
  return TN_OK;
}

/* ---- the rewrite ---- */

typedef struct found { /* what stands before a convolution */
  const char *kind;
  double lo, hi;
} found;

/* The value before the activation that makes `value`; value itself if there is none. */
static int32_t before_activation(const tn_pattern *p, int32_t value, found *out) {
  const tn_node *relu = tn_pattern_inner(p, value, "Relu"),
                *clip = tn_pattern_inner(p, value, "Clip"),
                *swish = tn_pattern_inner(p, value, "HardSwish");
  *out = (found){"", 0, 0};
  if (relu) *out = (found){"Clip", 0, INFINITY};
  if (swish) *out = (found){"HardSwish", 0, 0};
  if (relu || swish) return (relu ? relu : swish)->inputs[0];
  if (!clip || clip->n_inputs != 3 || !tn_pattern_number(p, clip->inputs[1], &out->lo) ||
      !tn_pattern_number(p, clip->inputs[2], &out->hi))
    return value;
  out->kind = "Clip";
  return clip->inputs[0];
}

static bool all_are(tn_ints list, int64_t wanted) {
  for (int64_t k = 0; k < list.size; k++)
    if (list.data[k] != wanted) return false;
  return true;
}

/* A Conv of a picture with constant weights, without auto_pad. */
static const tn_tensor *conv_weights(const tn_pattern *p, const tn_node *n,
                                     const tn_conv_attrs *a) {
  const tn_tensor *w = n && n->n_inputs >= 2 ? tn_pattern_type(p, n->inputs[1]) : NULL;
  const bool explicit = a && (!a->auto_pad.size || tn_str_is(a->auto_pad, "NOTSET"));
  return explicit && w && w->dtype == TN_F32 && w->rank == 4 && w->data ? w : NULL;
}

static bool is_pointwise(const tn_tensor *w, const tn_conv_attrs *a) {
  return w && a->group == 1 && w->shape[2] == 1 && w->shape[3] == 1 && all_are(a->strides, 1) &&
         all_are(a->pads, 0);
}

static bool is_depthwise(const tn_tensor *w, const tn_conv_attrs *a) {
  return w && a->group == w->shape[0] && w->shape[1] == 1;
}

static tn_status become(const tn_call *call, tn_graph *graph, int32_t node, const int32_t *inputs,
                        const tn_conv_attrs *depthwise, const found *first, const found *second) {
  const tn_attr list[] = {tn_attr_str("activation1", first->kind),
                          tn_attr_float("lo1", first->lo),
                          tn_attr_float("hi1", first->hi),
                          tn_attr_str("activation2", second->kind),
                          tn_attr_float("lo2", second->lo),
                          tn_attr_float("hi2", second->hi),
                          tn_attr_ints("dilations", depthwise->dilations),
                          tn_attr_ints("pads", depthwise->pads),
                          tn_attr_ints("strides", depthwise->strides)};
  return tn_lower_to_own(call, graph, node, "InvertedResidual", inputs, 7, list,
                         sizeof list / sizeof *list);
}

/* With AVX2 alone, the bands that fit beside the rest into the second caches of such processors are
 * so few rows that making their neighbours' again takes longer than the third cache. */
static bool has_large_caches(const tn_call *call) {
  return call->isa & (TN_ISA_AVX512 | TN_ISA_NEON);
}

/* Worth it where what is in between is more than a cache of the second level keeps beside the
 * rest, and rows of it, with those that its neighbours make again, are less: windows with large
 * dilations reach over too many. A batch normalisation that comes next will become part of the last
 * convolution. halo: rows of a window but one. */
static bool is_worth(const tn_pattern *p, int32_t wide, int64_t halo, int32_t out) {
  const tn_tensor *t = tn_pattern_type(p, wide);
  const int32_t user = tn_pattern_is_read(p, out, 1) ? p->api->value_user(p->graph, out, 0) : -1;
  const tn_node *n = user < 0 ? NULL : p->api->node(p->graph, user);
  if (n && !strcmp(n->op, "BatchNormalization")) return false;
  const int64_t map = (1 << 20) / (int64_t)sizeof(float), row = map / 8;
  if (!t || t->dtype != TN_F32 || t->rank != 4 || tn_elements(t) <= 0) return false;
  const int64_t image = tn_elements(t) / t->shape[0], one = image / t->shape[2];
  return image >= map && one <= row && halo <= 2 * row / tn_max_i64(1, one);
}

static int64_t halo_of(const tn_tensor *w, const tn_conv_attrs *a) {
  return (w->shape[2] - 1) * (a->dilations.size ? a->dilations.data[0] : 1);
}

tn_status inverted_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *last = tn_pattern_root(&p, node), *middle, *first;
  found after_first, after_second;
  if (!has_large_caches(call) || !last) return TN_OK;
  const tn_conv_attrs *a3 = call->attrs, *a2, *a1;
  const tn_tensor *w3 = conv_weights(&p, last, a3);
  if (!is_pointwise(w3, a3)) return TN_OK;
  const int32_t reduced = before_activation(&p, last->inputs[0], &after_second);
  if (!(middle = tn_pattern_inner(&p, reduced, "Conv"))) return TN_OK;
  a2 = p.api->node_attrs(graph, p.api->value_producer(graph, reduced));
  const tn_tensor *w2 = conv_weights(&p, middle, a2);
  if (!is_depthwise(w2, a2)) return TN_OK;
  const int32_t wide = before_activation(&p, middle->inputs[0], &after_first);
  if (!(first = tn_pattern_inner(&p, wide, "Conv"))) return TN_OK;
  a1 = p.api->node_attrs(graph, p.api->value_producer(graph, wide));
  const tn_tensor *w1 = conv_weights(&p, first, a1);
  if (!is_pointwise(w1, a1) || w2->shape[0] != w1->shape[0] || w3->shape[1] != w1->shape[0] ||
      !is_worth(&p, wide, halo_of(w2, a2), last->outputs[0]))
    return TN_OK;
  const int32_t inputs[7] = {first->inputs[0],           first->inputs[1],
                             middle->inputs[1],          last->inputs[1],
                             tn_pattern_input(first, 2), tn_pattern_input(middle, 2),
                             tn_pattern_input(last, 2)};
  return become(call, graph, node, inputs, a2, &after_first, &after_second);
}
