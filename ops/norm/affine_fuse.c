/* Rewrites: a scale and a shift per channel next to a linear operator with constant weights become
 * part of its weights and bias.
 *
 *   f(Conv(x)), f(ConvTranspose(x)), f(Gemm(x)), f(MatMul(x)), f(MatMul(x) + b)
 *   Conv(f(x)), Gemm(f(x))
 *
 * f is a BatchNormalization, or a Mul, Div, Add or Sub of a constant. A Conv that pads takes no
 * shift before it: zeros that it adds would have to be shifted, too. */
#include <math.h>

#include "norm.gen.h"
#include "tenon/experimental/scaled_const.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/text.h"

/* Weights that a Mul or Div is not worth a copy of; BatchNormalization is not to be had cheaper. */
enum { MAX_SCALED_BYTES = 64 << 20 };

/* A linear operator: its weights, seen as [dims[0]][dims[1]][taps], and its bias. */
typedef struct linear {
  int32_t id, node_bias; /* the node; the Add behind a MatMul that holds the bias, or -1 */
  const tn_node *node;
  const tn_tensor *w, *b;      /* b: NULL if there is none */
  bool is_conv, is_transposed; /* transposed: the dim of the inputs comes first */
  bool is_matmul;
  int32_t rank; /* of the output; 0: not known */
  int64_t dims[2], taps, groups, n_in, n_out;
  double alpha, beta;
} linear;

/* y = x * scale + shift, per channel. */
typedef struct affine {
  int32_t x;
  int64_t n;
  double *scale, *shift; /* one block of the host's memory, that of scale */
  bool scales, shifts;
} affine;

/* ---- the linear operator ---- */

static const tn_tensor *constant_f32(const tn_pattern *p, int32_t value) {
  const tn_tensor *t = tn_pattern_type(p, value);
  return t && t->data && t->dtype == TN_F32 ? t : NULL;
}

/* A constant that has one value, or one for each of n indices of dim `from_end` before the last; it
 * does not add dims to what has `rank` of them (0: at least 1). */
static const tn_tensor *per_channel(const tn_pattern *p, int32_t value, int64_t n, int32_t from_end,
                                    int32_t rank) {
  const tn_tensor *t = constant_f32(p, value);
  if (!t || t->rank > (rank > 0 ? rank : 1)) return NULL;
  if (tn_elements(t) == 1) return t;
  const int32_t axis = t->rank - 1 - from_end;
  return axis >= 0 && t->shape[axis] == n && tn_elements(t) == n ? t : NULL;
}

static double channel(const tn_tensor *t, int64_t k) {
  return (double)((const float *)t->data)[tn_elements(t) == 1 ? 0 : k];
}

static bool is_node(const tn_node *n, const char *op) {
  return n && !*n->domain && !strcmp(n->op, op);
}

/* Channels are dim 1 of a convolution, and the last one of a product. */
static int32_t from_end_of(const linear *l) { return l->is_conv ? l->rank - 2 : 0; }

static bool read_conv(linear *l) {
  l->is_conv = true;
  l->rank = l->w->rank;
  l->groups = tn_pattern_int(l->node, "group", 1);
  if (l->rank < 3 || l->groups < 1 || l->dims[0] % l->groups) return false;
  for (int32_t k = 2; k < l->rank; k++) l->taps *= l->w->shape[k];
  l->n_in = l->is_transposed ? l->dims[0] : l->dims[1] * l->groups;
  l->n_out = l->is_transposed ? l->dims[1] * l->groups : l->dims[0];
  return true;
}

static bool read_product(const tn_pattern *p, linear *l) {
  const tn_tensor *y = p->api->value_type(p->graph, l->node->outputs[0]);
  const bool gemm = !l->is_matmul;
  if (l->w->rank != 2) return false;
  l->alpha = gemm ? tn_pattern_float(l->node, "alpha", 1) : 1;
  l->beta = gemm ? tn_pattern_float(l->node, "beta", 1) : 1;
  l->is_transposed = !(gemm && tn_pattern_int(l->node, "transB", 0));
  l->rank = gemm ? 2 : y && y->rank > 0 ? y->rank : 0;
  l->n_in = l->dims[!l->is_transposed];
  l->n_out = l->dims[l->is_transposed];
  return true;
}

/* The node is a linear operator with constant weights, and a constant bias or none. */
static bool read_linear(const tn_pattern *p, int32_t id, linear *l) {
  const tn_node *n = tn_pattern_root(p, id);
  *l =
      (linear){.id = id, .node_bias = -1, .node = n, .taps = 1, .groups = 1, .alpha = 1, .beta = 1};
  l->is_transposed = is_node(n, "ConvTranspose");
  l->is_matmul = is_node(n, "MatMul");
  const bool is_conv = is_node(n, "Conv") || l->is_transposed;
  if (!is_conv && !l->is_matmul && !is_node(n, "Gemm")) return false;
  l->w = constant_f32(p, tn_pattern_input(n, 1));
  if (!l->w || l->w->rank < 2 || tn_elements(l->w) < 1) return false;
  l->dims[0] = l->w->shape[0];
  l->dims[1] = l->w->shape[1];
  if (!(is_conv ? read_conv(l) : read_product(p, l))) return false;
  const int32_t bias = tn_pattern_input(n, 2);
  l->b = bias < 0 ? NULL : per_channel(p, bias, l->n_out, 0, is_conv ? 1 : 2);
  return bias < 0 || l->b;
}

/* As read_linear, of what makes the value; and a MatMul with an Add behind it. Nobody else reads
 * what is in between. */
static bool made_by_linear(const tn_pattern *p, int32_t value, linear *l) {
  if (!tn_pattern_is_read(p, value, 1)) return false;
  const int32_t id = p->api->value_producer(p->graph, value);
  if (read_linear(p, id, l)) return true;
  const tn_node *add = tn_pattern_inner(p, value, "Add");
  for (int k = 0; add && k < 2; k++) {
    const int32_t product = add->inputs[k];
    if (!tn_pattern_inner(p, product, "MatMul") ||
        !read_linear(p, p->api->value_producer(p->graph, product), l))
      continue;
    l->node_bias = id;
    l->b = per_channel(p, add->inputs[1 - k], l->n_out, 0, l->rank);
    return l->b != NULL;
  }
  return false;
}

/* The weights of [i][j] join channel i and channel first_of(i) + j, of which the inputs are the
 * latter, unless the operator is transposed. */
static int64_t first_of(const linear *l, int64_t i) {
  return l->is_conv ? i / (l->dims[0] / l->groups) * l->dims[1] : 0;
}

/* ---- the scale and the shift ---- */

static tn_status fetch_input(const tn_call *call, const tn_graph *graph, const tn_node *n,
                             uint32_t k) {
  const bool given = k < n->n_inputs && n->inputs[k] >= 0;
  return given ? call->host->fetch(call->ctx, graph, n->inputs[k]) : TN_OK;
}

/* The constants that the node reads are in memory. */
static tn_status fetch_inputs(const tn_call *call, const tn_graph *graph, const tn_node *n) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; n && k < n->n_inputs && !s; k++) s = fetch_input(call, graph, n, k);
  return s;
}

static bool alloc_affine(const tn_call *call, affine *f, int64_t n) {
  f->n = n;
  f->scale = call->host->alloc(call->ctx, 2 * (uint64_t)n * sizeof *f->scale);
  f->shift = f->scale ? f->scale + n : NULL;
  return f->scale != NULL;
}

/* False: a number is not finite. */
static bool finish_affine(affine *f) {
  bool finite = true;
  f->scales = f->shifts = false;
  for (int64_t k = 0; k < f->n; k++) {
    f->scales |= f->scale[k] != 1;
    f->shifts |= f->shift[k] != 0;
    finite = finite && isfinite(f->scale[k]) && isfinite(f->shift[k]);
  }
  return finite;
}

static bool read_batch_norm(const tn_pattern *p, const tn_node *n, affine *f) {
  const tn_tensor *t[5];
  for (uint32_t k = 1; k < 5; k++) {
    t[k] = constant_f32(p, tn_pattern_input(n, k));
    if (!t[k] || tn_elements(t[k]) != f->n) return false;
  }
  const double epsilon = tn_pattern_float(n, "epsilon", 1e-5f);
  for (int64_t k = 0; k < f->n; k++) {
    f->scale[k] = channel(t[1], k) / sqrt(channel(t[4], k) + epsilon);
    f->shift[k] = channel(t[2], k) - channel(t[3], k) * f->scale[k];
  }
  return true;
}

/* y = x op c, or c op x */
static void read_binary(const tn_node *n, const tn_tensor *c, bool c_first, affine *f) {
  const bool is_mul = !strcmp(n->op, "Mul"), is_div = !strcmp(n->op, "Div"),
             is_sub = !strcmp(n->op, "Sub");
  for (int64_t k = 0; k < f->n; k++) {
    const double v = channel(c, k);
    f->scale[k] = is_mul ? v : is_div ? 1 / v : is_sub && c_first ? -1 : 1;
    f->shift[k] = is_mul || is_div ? 0 : is_sub && !c_first ? -v : v;
  }
}

/* The node, whose input is f->x, scales and shifts the f->n channels of a dim before the last. */
static bool read_affine(const tn_pattern *p, const tn_node *n, int32_t from_end, int32_t rank,
                        affine *f) {
  if (is_node(n, "BatchNormalization"))
    return rank - 2 == from_end && !tn_pattern_int(n, "training_mode", 0) &&
           read_batch_norm(p, n, f) && finish_affine(f);
  const uint32_t k = n->inputs[0] == f->x;
  const tn_tensor *c = per_channel(p, n->inputs[k], f->n, from_end, rank);
  if (!c || (k == 0 && !strcmp(n->op, "Div"))) return false;
  read_binary(n, c, k == 0, f);
  return finish_affine(f);
}

static bool is_affine(const tn_node *n) {
  static const char *const ops[] = {"BatchNormalization", "Mul", "Div", "Add", "Sub"};
  for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
    if (is_node(n, ops[k])) return true;
  return false;
}

/* ---- new weights ---- */

typedef struct folded {
  float *w,
      *b; /* the host's memory; w: NULL if the weights stay, or are scaled when they are read */
  int32_t value; /* of the weights that are; -1: none */
} folded;

static bool are_finite(const float *x, int64_t n) {
  const uint32_t exponent = UINT32_C(0x7f800000);
  uint32_t found = 0;
  for (int64_t k = 0; k < n; k++) {
    uint32_t bits;
    memcpy(&bits, &x[k], sizeof bits);
    found |= (bits & exponent) == exponent;
  }
  return !found;
}

static void scale_run(float *restrict to, const float *restrict from, int64_t n, double scale) {
  for (int64_t k = 0; k < n; k++) to[k] = (float)((double)from[k] * scale);
}

static double sum_of(const float *x, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n; k++) sum += (double)x[k];
  return sum;
}

/* Weights times the scale of the channel that they come from (before) or go to. What is shifted
 * before them adds to the bias. */
static void fold_weights(const linear *l, const affine *f, bool before, float *w, double *bias) {
  const bool by_row = before == l->is_transposed; /* all weights of [i] have one scale */
  const int64_t n = l->dims[1] * l->taps;
  for (int64_t i = 0; i < l->dims[0]; i++) {
    const float *from = (const float *)l->w->data + i * n;
    const int64_t first = first_of(l, i);
    if (w && by_row) scale_run(w + i * n, from, n, f->scale[i]);
    for (int64_t j = 0; j < l->dims[1] && (before || !by_row); j++) {
      const int64_t in = l->is_transposed ? i : first + j, out = l->is_transposed ? first + j : i;
      const float *taps = from + j * l->taps;
      if (w && !by_row)
        scale_run(w + i * n + j * l->taps, taps, l->taps, f->scale[before ? in : out]);
      if (before) bias[out] += l->alpha * sum_of(taps, l->taps) * f->shift[in];
    }
  }
}

/* Weights of which each output channel's stand together need not be in memory to be scaled, if they
 * stand in a file. Answers their value, -1 if they have to be, or another status. */
static int32_t scale_later(const tn_call *call, tn_graph *graph, const linear *l, const affine *f,
                           bool before) {
  const tn_scaled_const *later = call->host->get_extension(call->ctx, TN_SCALED_CONST);
  if (!later || before || l->is_transposed || !f->scales) return -1;
  const int32_t value = call->host->graph->value(graph, NULL);
  if (value < 0) return value;
  const tn_status s = later->set(graph, value, l->node->inputs[1], f->scale, f->n);
  return s == TN_ERR_UNSUPPORTED ? -1 : s ? s : value;
}

/* False, with nothing in memory: there is none, or a number would not be finite. */
static bool fold(const tn_call *call, const linear *l, const affine *f, bool before, folded *out) {
  const int64_t n = tn_elements(l->w);
  const bool scales = f->scales && out->value < 0;
  double *bias = call->host->alloc(call->ctx, (uint64_t)l->n_out * sizeof *bias);
  out->b = call->host->alloc(call->ctx, (uint64_t)l->n_out * sizeof *out->b);
  out->w = NULL;
  if (scales) out->w = call->host->alloc(call->ctx, (uint64_t)n * sizeof *out->w);
  bool done = bias && out->b && (out->w || !scales);
  for (int64_t k = 0; k < l->n_out && done; k++) {
    bias[k] = l->b ? l->beta * channel(l->b, k) : 0;
    if (!before) bias[k] = bias[k] * f->scale[k] + f->shift[k];
  }
  if (done && (scales || before)) fold_weights(l, f, before, out->w, bias);
  for (int64_t k = 0; k < l->n_out && done; k++) out->b[k] = (float)bias[k];
  done = done && are_finite(out->b, l->n_out) && (!out->w || are_finite(out->w, n));
  call->host->free(call->ctx, bias);
  if (done) return true;
  call->host->free(call->ctx, out->w);
  call->host->free(call->ctx, out->b);
  return false;
}

/* MatMul has no bias: an Add behind it has. */
static tn_status replace_by_product(const tn_call *call, tn_graph *graph, int32_t node,
                                    const linear *l, const int32_t *inputs, bool has_bias) {
  int32_t sum[2] = {-1, inputs[2]};
  if (!has_bias) return tn_lower_like(call, graph, node, l->id, inputs, 2, NULL, 0);
  const tn_status s = tn_emit_like(call, graph, l->id, inputs, 2, NULL, 0, sum);
  return s ? s : tn_lower_as(call, graph, node, "Add", sum, 2, NULL, 0);
}

/* The node becomes the linear operator, of x, with these weights. */
static tn_status replace(const tn_call *call, tn_graph *graph, int32_t node, const linear *l,
                         int32_t x, bool has_bias, const folded *new) {
  const tn_tensor w = tn_tensor_make(TN_F32, l->w->rank, l->w->shape, new->w),
                  b = tn_tensor_make(TN_F32, 1, &l->n_out, new->b);
  const tn_attr beta = tn_attr_float("beta", 1);
  int32_t inputs[3] = {x, l->node->inputs[1], -1};
  if (new->w) inputs[1] = tn_emit_const(call, graph, &w);
  if (new->value >= 0) inputs[1] = new->value;
  if (has_bias) inputs[2] = tn_emit_const(call, graph, &b);
  if (inputs[1] < 0) return inputs[1];
  if (has_bias && inputs[2] < 0) return inputs[2];
  if (l->is_matmul) return replace_by_product(call, graph, node, l, inputs, has_bias);
  return tn_lower_like(call, graph, node, l->id, inputs, has_bias ? 3 : 2, &beta, !l->is_conv);
}

static tn_status fold_and_replace(const tn_call *call, tn_graph *graph, int32_t node, linear *l,
                                  const affine *f, bool before) {
  const int32_t x = before ? f->x : l->node->inputs[0];
  const bool has_bias = l->b || f->shifts;
  folded new = {.value = scale_later(call, graph, l, f, before)};
  const tn_node *bias_node = l->node_bias < 0 ? NULL : call->host->graph->node(graph, l->node_bias);
  if (new.value < -1) return new.value;
  const bool reads_all = new.value < 0;
  if ((reads_all ? fetch_inputs(call, graph, l->node) : fetch_input(call, graph, l->node, 2)) ||
      fetch_inputs(call, graph, bias_node))
    return TN_ERR_MEMORY;
  if (!fold(call, l, f, before, &new)) return TN_OK;
  const tn_status s = replace(call, graph, node, l, x, has_bias, &new);
  call->host->free(call->ctx, new.w);
  call->host->free(call->ctx, new.b);
  return s;
}

/* ---- the rewrites ---- */

/* A MatMul with a bias is written so; and a copy of large weights costs more than a product. */
static bool is_worth_it(const tn_node *n, const linear *l, const affine *f) {
  if (!f->scales) return !(l->is_matmul && !l->b);
  return is_node(n, "BatchNormalization") || tn_bytes(l->w) <= MAX_SCALED_BYTES;
}

tn_status affine_into_weights(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const bool is_binary = n && !is_node(n, "BatchNormalization");
  linear l;
  for (uint32_t k = 0; n && k < (is_binary ? 2 : 1); k++) {
    affine f = {.x = n->inputs[k]};
    if ((is_binary && n->inputs[0] == n->inputs[1]) || !made_by_linear(&p, f.x, &l)) continue;
    if (is_binary && !per_channel(&p, n->inputs[1 - k], l.n_out, from_end_of(&l), l.rank)) continue;
    if (fetch_inputs(call, graph, n) || !alloc_affine(call, &f, l.n_out)) return TN_ERR_MEMORY;
    tn_status s = TN_OK;
    if (read_affine(&p, n, from_end_of(&l), l.rank, &f) && is_worth_it(n, &l, &f))
      s = fold_and_replace(call, graph, node, &l, &f, false);
    call->host->free(call->ctx, f.scale);
    return s;
  }
  return TN_OK;
}

/* Zeros that the operator adds itself are not shifted. */
static bool adds_zeros(const tn_node *n) {
  const tn_attr *pads = tn_pattern_attr(n, "pads", TN_ATTR_INTS),
                *automatic = tn_pattern_attr(n, "auto_pad", TN_ATTR_STR);
  for (int64_t k = 0; pads && k < pads->ints.size; k++)
    if (pads->ints.data[k]) return true;
  return automatic && automatic->s.size > 3 && !memcmp(automatic->s.data, "SAME", 4);
}

/* The value has the channels of the operator's input already: a constant does not add them. */
static bool has_channels(const tn_pattern *p, int32_t value, const linear *l) {
  const tn_tensor *t = p->api->value_type(p->graph, value);
  return t && t->rank == l->rank && t->shape[1] == l->n_in;
}

tn_status weights_take_affine(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  linear l;
  if (!read_linear(&p, node, &l) || l.is_matmul || tn_pattern_int(l.node, "transA", 0))
    return TN_OK;
  const int32_t y = l.node->inputs[0], id = p.api->value_producer(graph, y);
  const tn_node *n = tn_pattern_is_read(&p, y, 1) ? tn_pattern_root(&p, id) : NULL;
  const int32_t from_end = from_end_of(&l);
  if (!n || !is_affine(n)) return TN_OK;
  for (uint32_t k = 0; k < (is_node(n, "BatchNormalization") ? 1 : 2); k++) {
    affine f = {.x = n->inputs[k]};
    if (!has_channels(&p, f.x, &l) || constant_f32(&p, f.x)) continue;
    if (fetch_inputs(call, graph, n) || !alloc_affine(call, &f, l.n_in)) return TN_ERR_MEMORY;
    tn_status s = TN_OK;
    if (read_affine(&p, n, from_end, l.rank, &f) && !(f.shifts && adds_zeros(l.node)) &&
        is_worth_it(n, &l, &f))
      s = fold_and_replace(call, graph, node, &l, &f, true);
    call->host->free(call->ctx, f.scale);
    return s;
  }
  return TN_OK;
}
