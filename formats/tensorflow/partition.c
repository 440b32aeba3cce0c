/* Rows that are put into several tensors, boxes of several classes, and pools that say where their
 * largest numbers are. */
#include "lower.h"
#include "tensorflow.gen.h"

/* Output k has the rows that input 1 puts there. */
tn_status tf_dynamic_partition(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  enum { MOST = 256 };
  const tn_tensor *x = tn_low_type(&l, 0), *to = tn_low_type(&l, 1);
  int32_t out[MOST];
  int64_t shape[TN_MAX_RANK] = {tn_elements(to)};
  if (call->n_outputs > MOST || x->rank < to->rank)
    return tn_low_unsupported(&l, "so many parts, or rows of fewer dims than their numbers");
  for (int32_t k = to->rank; k < x->rank; k++) shape[k - to->rank + 1] = x->shape[k];
  const int32_t rows = tn_low_reshape(&l, tn_low_in(&l, 0), x->rank - to->rank + 1, shape),
                numbers = tn_low_reshape(&l, tn_low_in_i64(&l, 1), 1, shape);
  const tn_attr axis = tn_attr_int("axis", 0);
  for (uint32_t k = 0; k < call->n_outputs; k++) {
    const int32_t in[] = {rows, tn_low_2(&l, "Equal", numbers, tn_low_number(&l, TN_I64, k))};
    out[k] = tn_low_emit(&l, "Compress", in, 2, &axis, 1);
  }
  return tn_low_done_many(&l, out, call->n_outputs);
}

/* How often each number below input 1 stands in input 0, or what input 2 has there adds up to. */
tn_status tf_bincount(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *weights = tn_low_type(&l, 2);
  const int64_t n = tn_elements(x), n_weights = tn_elements(weights);
  const int32_t in[] = {tn_low_reshape(&l, tn_low_in(&l, 0), 1, &n), tn_low_in(&l, 1),
                        tn_low_reshape(&l, tn_low_in(&l, 2), 1, &n_weights)};
  return tn_low_done(&l, tn_low_emit(&l, "tf::DenseBincount", in, 3, NULL, 0));
}

tn_status tf_random_shuffle(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  if (x->rank < 1) return tn_low_unsupported(&l, "a value without dims");
  const int64_t seed = tn_low_int(&l, "seed", 0);
  const tn_attr drawn[] = {tn_attr_ints("shape", (tn_ints){x->shape, 1}),
                           tn_attr_float("seed", (double)seed)};
  const int32_t in[] = {tn_low_emit(&l, "RandomUniform", NULL, 0, drawn, seed ? 2 : 1),
                        tn_low_ints_const(&l, x->shape, 1)};
  int32_t sorted[2];
  const tn_status s = tn_low_emit_many(&l, "TopK", in, 2, NULL, 0, 2, sorted);
  return s ? s : tn_low_done(&l, tn_low_2(&l, "Gather", tn_low_in(&l, 0), sorted[1]));
}

/* ---- CombinedNonMaxSuppression ---- */

typedef struct combined {
  int64_t batch, n, classes;
  int64_t most_each, most;
} combined;

static tn_status open_combined(const tn_lowering *l, combined *c) {
  const tn_tensor *boxes = tn_low_type(l, 0), *scores = tn_low_type(l, 1);
  int64_t n;
  tn_status s = lo_rank(l, 0, 4);
  if (!s) s = lo_rank(l, 1, 3);
  if (!s) s = lo_const_ints(l, 2, &c->most_each, 1, &n);
  if (!s) s = lo_const_ints(l, 3, &c->most, 1, &n);
  if (s) return s;
  c->batch = scores->shape[0], c->n = scores->shape[1], c->classes = scores->shape[2];
  if (boxes->shape[3] != 4 || (boxes->shape[2] != 1 && boxes->shape[2] != c->classes) ||
      c->most_each < 0 || c->most < 1 || !c->n || !c->classes)
    return tn_low_unsupported(l, "boxes or limits of such a shape");
  if (tn_low_int(l, "pad_per_class", 0))
    c->most = tn_min_i64(c->most, tn_min_i64(c->most_each, c->n) * c->classes);
  return TN_OK;
}

/* Scores [batch, classes * n] of the boxes that are kept in their class; all others are -1e30. */
static int32_t kept_scores(const tn_lowering *l, const combined *c, int32_t boxes, int32_t scores) {
  const int64_t one = 1, flat[] = {c->batch, c->classes * c->n},
                rows[] = {c->batch * c->classes, c->n};
  const int32_t in[] = {boxes, scores, tn_low_ints_const(l, &c->most_each, 1),
                        tn_low_reshape(l, tn_low_in(l, 4), 1, &one),
                        tn_low_reshape(l, tn_low_in(l, 5), 1, &one)};
  const int32_t kept = tn_low_emit(l, "NonMaxSuppression", in, 5, NULL, 0);
  const int32_t pair[] = {lo_slice(l, kept, 1, 0, 1), lo_slice(l, kept, 1, 2, 3)},
                at = lo_concat(l, pair, 2, 1);
  const int32_t table = tn_low_reshape(l, scores, 2, rows),
                none = tn_low_2(l, "Expand", tn_low_number(l, TN_F32, -1e30),
                                tn_low_ints_const(l, rows, 2));
  const int32_t put[] = {none, at, tn_low_2(l, "GatherND", table, at)};
  return tn_low_reshape(l, tn_low_emit(l, "ScatterND", put, 3, NULL, 0), 2, flat);
}

/* x [batch, k, ...] with zeros behind, so that k becomes most. */
static int32_t padded(const tn_lowering *l, int32_t x, int32_t rank, int64_t k, int64_t most) {
  int64_t pads[2 * TN_MAX_RANK] = {0};
  pads[rank + 1] = most - k;
  return k == most ? x : tn_low_2(l, "Pad", x, tn_low_ints_const(l, pads, 2 * rank));
}

/* Boxes, scores, classes and the number of boxes: the best of all classes. */
tn_status tf_combined_nms(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  combined c;
  tn_status s = open_combined(&l, &c);
  if (s) return s;
  const int32_t to_classes[] = {0, 2, 1, 3}, swap[] = {0, 2, 1};
  const int64_t each[] = {c.batch, c.classes, c.n, 4}, rows[] = {c.batch * c.classes, c.n, 4},
                row[] = {c.batch * c.classes, 1, c.n}, all[] = {c.batch, c.classes * c.n, 4},
                k = tn_min_i64(c.most, c.classes * c.n), last = 1;
  const int32_t boxes =
                    tn_low_2(&l, "Expand", tn_low_transpose(&l, tn_low_in(&l, 0), 4, to_classes),
                             tn_low_ints_const(&l, each, 4)),
                scores =
                    tn_low_reshape(&l, tn_low_transpose(&l, tn_low_in(&l, 1), 3, swap), 3, row);
  const int32_t in[] = {kept_scores(&l, &c, tn_low_reshape(&l, boxes, 3, rows), scores),
                        tn_low_ints_const(&l, &k, 1)};
  int32_t best[2];
  s = tn_low_emit_many(&l, "TopK", in, 2, NULL, 0, 2, best);
  if (s) return s;
  const int32_t zero = tn_low_number(&l, TN_F32, 0),
                is_there = tn_low_2(&l, "Greater", best[0], tn_low_number(&l, TN_F32, -1e29));
  const tn_attr batch_dims = tn_attr_int("batch_dims", 1);
  const int32_t pick[] = {tn_low_reshape(&l, boxes, 3, all), lo_unsqueeze(&l, best[1], 2)};
  int32_t found = tn_low_emit(&l, "GatherND", pick, 2, &batch_dims, 1);
  if (tn_low_int(&l, "clip_boxes", 1)) found = tn_low_clip(&l, found, TN_F32, 0, 1);
  const int32_t class_of =
      tn_low_cast(&l, tn_low_2(&l, "Div", best[1], tn_low_number(&l, TN_I64, (double)c.n)), TN_F32);
  const int32_t out[] = {
      padded(&l, tn_low_3(&l, "Where", lo_unsqueeze(&l, is_there, 2), found, zero), 3, k, c.most),
      padded(&l, tn_low_3(&l, "Where", is_there, best[0], zero), 2, k, c.most),
      padded(&l, tn_low_3(&l, "Where", is_there, class_of, zero), 2, k, c.most),
      lo_reduce(&l, "ReduceSum", tn_low_cast(&l, is_there, TN_I32), &last, 1, 0)};
  return tn_low_done_many(&l, out, call->n_outputs);
}
