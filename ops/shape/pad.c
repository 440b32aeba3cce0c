/* Pad: the output is a grid of regions, one per combination of the segments along each axis: what
 * is before, the input itself, what is after. Constant padding needs one region; the rest is
 * filled. Negative pads crop first. */
#include <string.h>

#include "shape.h"

#include "shape.gen.h"

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

typedef struct pads {
  pad_mode mode;
  int32_t rank;
  int64_t first[TN_MAX_RANK], kept[TN_MAX_RANK];   /* what of the input is left after cropping */
  int64_t before[TN_MAX_RANK], after[TN_MAX_RANK]; /* added, >= 0 */
} pads;

static tn_status parse_mode(const tn_call *call, tn_str mode, pad_mode *out) {
  static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
  for (int k = 0; k < 4; k++)
    if ((int64_t)strlen(names[k]) == mode.size && !memcmp(names[k], mode.data, (size_t)mode.size)) {
      *out = (pad_mode)k;
      return TN_OK;
    }
  return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                          "mode '%.*s' is none of constant, reflect, edge, wrap",
                          (int)tn_min_i64(mode.size, 100), mode.data);
}

static tn_status set_axis(const tn_call *call, pads *p, int32_t k, int64_t before, int64_t after) {
  int64_t dim = call->inputs[0]->shape[k], limit = INT64_C(1) << 60;
  if (before < -limit || before > limit || after < -limit || after > limit ||
      dim + tn_min_i64(before, 0) + tn_min_i64(after, 0) < 0)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "pads of %lld and %lld do not fit dim %d of size %lld",
                            (long long)before, (long long)after, (int)k, (long long)dim);
  p->first[k] = tn_max_i64(-before, 0);
  p->kept[k] = dim - p->first[k] - tn_max_i64(-after, 0);
  p->before[k] = tn_max_i64(before, 0);
  p->after[k] = tn_max_i64(after, 0);
  if (p->mode != PAD_CONSTANT && p->kept[k] == 0 && p->before[k] + p->after[k] > 0)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "dim %d has no elements to pad from", (int)k);
  return TN_OK;
}

static tn_status parse_pads(const tn_call *call, tn_str mode, const int64_t *axes,
                            const int64_t *values, int64_t n_axes, int64_t n_values, pads *p) {
  const tn_tensor *in = call->inputs[0];
  uint32_t mask;
  p->rank = in->rank;
  tn_status s = parse_mode(call, mode, &p->mode);
  if (!s && n_values != 2 * n_axes)
    s = call->host->fail(call->ctx, TN_ERR_SHAPE,
                         "pads has %lld elements for %lld axes; it needs two per axis",
                         (long long)n_values, (long long)n_axes);
  if (!s) s = shape_axes_mask(call, axes, n_axes, in->rank, &mask);
  for (int32_t k = 0; k < in->rank && !s; k++) s = set_axis(call, p, k, 0, 0);
  for (int64_t k = 0; k < n_axes && !s; k++)
    s = set_axis(call, p, (int32_t)(axes[k] < 0 ? axes[k] + in->rank : axes[k]), values[k],
                 values[n_axes + k]);
  return s;
}

static tn_status pads_of_inputs(const tn_call *call, pads *p) {
  const tn_pad_attrs *a = call->attrs;
  int64_t values[2 * TN_MAX_RANK], axes[TN_MAX_RANK], n_values, n_axes = call->inputs[0]->rank;
  for (int64_t k = 0; k < TN_MAX_RANK; k++) axes[k] = k;
  tn_status s = tn_const_ints(call, 1, values, 2 * TN_MAX_RANK, &n_values);
  if (!s && tn_has_input(call, 3)) s = tn_const_ints(call, 3, axes, TN_MAX_RANK, &n_axes);
  if (!s && tn_has_input(call, 2) && tn_elements(call->inputs[2]) != 1)
    s = call->host->fail(call->ctx, TN_ERR_SHAPE, "constant_value must be one element");
  return s ? s : parse_pads(call, a->mode, axes, values, n_axes, n_values, p);
}

static tn_status pads_of_attrs(const tn_call *call, pads *p) {
  const tn_pad_v2_attrs *a = call->attrs;
  int64_t axes[TN_MAX_RANK];
  for (int64_t k = 0; k < TN_MAX_RANK; k++) axes[k] = k;
  return parse_pads(call, a->mode, axes, a->pads.data, call->inputs[0]->rank, a->pads.size, p);
}

static tn_status infer(const tn_call *call, const pads *p) {
  int64_t dims[TN_MAX_RANK];
  for (int32_t k = 0; k < p->rank; k++)
    if (tn_add_i64(p->before[k] + p->after[k], p->kept[k], &dims[k]))
      return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                              "dim %d of the output does not fit in 64 bits", (int)k);
  tn_infer_shape(call, 0, call->inputs[0]->dtype, p->rank, dims);
  return TN_OK;
}

tn_status pad_infer(const tn_call *call) {
  pads p;
  tn_status s = pads_of_inputs(call, &p);
  return s ? s : infer(call, &p);
}

tn_status pad_v2_infer(const tn_call *call) {
  pads p;
  tn_status s = pads_of_attrs(call, &p);
  return s ? s : infer(call, &p);
}

/* ---- lowering ---- */

/* A stretch of the output along one axis that walks the input by one step. */
typedef struct segment {
  int64_t src, step, dst, count;
} segment;

/* The segment that begins `at` elements after the first kept one (before it: negative), not yet cut
 * to what is left. */
static segment segment_at(pad_mode mode, int64_t n, int64_t at) {
  segment s = {.src = at, .step = 1, .count = n - at};
  if (mode == PAD_CONSTANT || (at >= 0 && at < n)) return s;
  s.step = 0;
  s.count = at < 0 && mode == PAD_EDGE ? -at : INT64_MAX;
  s.src = at < 0 || n == 1 ? 0 : n - 1;
  if (mode == PAD_EDGE || n == 1) return s;
  int64_t period = mode == PAD_WRAP ? n : 2 * (n - 1),
          place = at % period + (at % period < 0 ? period : 0);
  s.step = place < n ? 1 : -1;
  s.src = place < n ? place : period - place;
  s.count = place < n ? n - place : period - place;
  return s;
}

/* Writes the segments of axis k to out (NULL: only counts), at most `most`. */
static int64_t list_segments(const pads *p, int32_t k, int64_t most, segment *out) {
  int64_t n = 0, at = p->mode == PAD_CONSTANT ? 0 : -p->before[k],
          end = p->kept[k] + (p->mode == PAD_CONSTANT ? 0 : p->after[k]);
  while (at < end && n < most) {
    segment s = segment_at(p->mode, p->kept[k], at);
    s.count = tn_min_i64(s.count, end - at);
    s.src += p->first[k];
    s.dst = at + p->before[k];
    at += s.count;
    if (out) out[n] = s;
    n++;
  }
  return n;
}

enum { MAX_REGIONS = 1 << 16 };

static void add_grid(const tn_call *call, const pads *p, const int64_t *n, segment *const *segments,
                     tn_moves *moves) {
  int64_t src[TN_MAX_RANK], dst[TN_MAX_RANK], at[TN_MAX_RANK] = {0};
  shape_strides(call->inputs[0], src);
  shape_strides(call->outputs[0], dst);
  for (int32_t k = 0; k >= 0;) {
    tn_move m = {0};
    for (int32_t d = 0; d < p->rank; d++) {
      const segment *s = &segments[d][at[d]];
      m.src_offset += s->src * src[d];
      m.dst_offset += s->dst * dst[d];
      tn_move_push(&m, s->count, s->step * src[d], dst[d]);
    }
    tn_moves_add(moves, &m);
    for (k = p->rank - 1; k >= 0 && ++at[k] == n[k]; k--) at[k] = 0;
  }
}

static tn_status lower(const tn_call *call, tn_graph *graph, int32_t node, const pads *p,
                       const int32_t *inputs, uint32_t n_inputs) {
  int64_t n[TN_MAX_RANK], total = 1, sum = 0;
  segment *segments[TN_MAX_RANK];
  for (int32_t k = 0; k < p->rank; k++) {
    n[k] = list_segments(p, k, MAX_REGIONS + 1, NULL);
    sum += n[k];
    total = tn_min_i64(total * n[k], MAX_REGIONS + 1);
  }
  if (total > MAX_REGIONS)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "padding repeats the input so often that it needs more than %d copies",
                            (int)MAX_REGIONS);
  tn_moves moves = tn_moves_begin(call, graph);
  segment *memory = call->host->alloc(call->ctx, (uint64_t)(sum + 1) * sizeof *memory);
  if (!memory) return TN_ERR_MEMORY;
  segment *next = memory;
  for (int32_t k = 0; k < p->rank; k++) {
    segments[k] = next;
    next += list_segments(p, k, n[k], next);
  }
  if (total > 0) add_grid(call, p, n, segments, &moves);
  call->host->free(call->ctx, memory);
  return tn_moves_become(&moves, node, inputs, n_inputs, n_inputs > 1 ? 1 : -1);
}

/* A constant that is zero, bit by bit, is what is filled in anyway; without it, layouts other than
 * plain can be padded. */
static bool is_zero_constant(const tn_tensor *t) {
  int64_t bytes = t->data && t->dtype != TN_STRING ? tn_bytes(t) : 0;
  bool zero = bytes > 0;
  for (int64_t k = 0; k < bytes; k++) zero = zero && ((const uint8_t *)t->data)[k] == 0;
  return zero;
}

tn_status pad_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  int32_t inputs[2] = {tn_node_input(call, graph, node, 0), tn_node_input(call, graph, node, 2)};
  pads p = {.mode = PAD_CONSTANT};
  tn_status s = pads_of_inputs(call, &p);
  bool filled =
      p.mode == PAD_CONSTANT && tn_has_input(call, 2) && !is_zero_constant(call->inputs[2]);
  return s ? s : lower(call, graph, node, &p, inputs, filled ? 2 : 1);
}

tn_status pad_v2_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pad_v2_attrs *a = call->attrs;
  uint8_t element[16] = {0};
  tn_tensor value = tn_tensor_make(call->inputs[0]->dtype, 0, NULL, element);
  pads p;
  tn_status s = pads_of_attrs(call, &p);
  if (s) return s;
  tn_store_f64(value.dtype, element, 0, a->value);
  int32_t inputs[2] = {tn_node_input(call, graph, node, 0), -1};
  if (is_zero_constant(&value)) return lower(call, graph, node, &p, inputs, 1);
  inputs[1] = tn_emit_const(call, graph, &value);
  return inputs[1] < 0 ? inputs[1] : lower(call, graph, node, &p, inputs, 2);
}

/* ---- reference ---- */

/* Where output place `at` of an axis (0: first kept element) reads; -1: the fill. */
static int64_t reference_place(pad_mode mode, int64_t n, int64_t at) {
  while (at < 0 || at >= n) {
    if (mode == PAD_CONSTANT) return -1;
    if (mode == PAD_EDGE || n == 1) return at < 0 ? 0 : n - 1;
    if (mode == PAD_WRAP)
      at += at < 0 ? n : -n;
    else
      at = at < 0 ? -at : 2 * (n - 1) - at;
  }
  return at;
}

static tn_status reference(const tn_call *call, const pads *p, const tn_tensor *fill) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t coord[TN_MAX_RANK], n = tn_elements(out);
  tn_status s = TN_OK;
  for (int64_t i = 0; i < n && !s; i++) {
    bool inside = true;
    tn_coords_of(out, i, coord);
    for (int32_t k = 0; k < p->rank; k++) {
      int64_t place = reference_place(p->mode, p->kept[k], coord[k] - p->before[k]);
      inside = inside && place >= 0;
      coord[k] = place + p->first[k];
    }
    s = inside ? tn_element_copy(call, 0, i, in, tn_index_of(in, coord))
               : tn_element_copy(call, 0, i, fill, 0);
  }
  return s;
}

tn_status pad_reference(const tn_call *call) {
  pads p;
  tn_status s = pads_of_inputs(call, &p);
  return s ? s : reference(call, &p, tn_has_input(call, 2) ? call->inputs[2] : NULL);
}

tn_status pad_v2_reference(const tn_call *call) {
  const tn_pad_v2_attrs *a = call->attrs;
  uint8_t element[16] = {0};
  const tn_tensor value = tn_tensor_make(call->inputs[0]->dtype, 0, NULL, element);
  pads p;
  tn_status s = pads_of_attrs(call, &p);
  tn_store_f64(value.dtype, element, 0, a->value);
  return s ? s : reference(call, &p, &value);
}
