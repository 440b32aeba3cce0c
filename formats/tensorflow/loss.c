/* Losses, and what is decoded of the answers of networks: cross entropy, CTC. */
#include "lower.h"
#include "tensorflow.gen.h"

/* ---- cross entropy ---- */

/* The loss of each row, and what training takes off the logits; labels [rows, classes]. */
static tn_status cross_entropy(const tn_lowering *l, int32_t labels) {
  const int32_t logits = tn_low_in(l, 0);
  const int64_t last = -1;
  const int32_t log = tn_low_1_int(l, "LogSoftmax", logits, "axis", -1);
  const int32_t sum = lo_reduce(l, "ReduceSum", tn_low_2(l, "Mul", labels, log), &last, 1, 0);
  const int32_t out[] = {
      tn_low_1(l, "Neg", sum),
      tn_low_2(l, "Sub", tn_low_1_int(l, "Softmax", logits, "axis", -1), labels)};
  return tn_low_done_many(l, out, l->call->n_outputs);
}

tn_status tf_softmax_cross_entropy(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return cross_entropy(&l, tn_low_in(&l, 1));
}

tn_status tf_sparse_softmax_cross_entropy(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const tn_status s = lo_rank(&l, 0, 2);
  if (s) return s;
  const int64_t ends[] = {0, 1};
  const tn_attr axis = tn_attr_int("axis", -1);
  const int32_t in[] = {tn_low_in_i64(&l, 1), tn_low_number(&l, TN_I64, (double)x->shape[1]),
                        tn_low_cast(&l, tn_low_ints_const(&l, ends, 2), x->dtype)};
  return cross_entropy(&l, tn_low_emit(&l, "OneHot", in, 3, &axis, 1));
}

/* ---- CTC ---- */

/* Is each step's class, [batch, time], one that the answer has? */
static int32_t is_kept(const tn_lowering *l, int32_t best, int64_t n_steps, int64_t blank) {
  const int32_t steps =
      tn_low_3(l, "Range", tn_low_number(l, TN_I64, 0), tn_low_number(l, TN_I64, (double)n_steps),
               tn_low_number(l, TN_I64, 1));
  const int32_t lengths = lo_unsqueeze(l, tn_low_in_i64(l, 1), 1);
  int32_t kept = tn_low_2(
      l, "And", tn_low_2(l, "Less", steps, lengths),
      tn_low_1(l, "Not", tn_low_2(l, "Equal", best, tn_low_number(l, TN_I64, (double)blank))));
  if (tn_low_int(l, "merge_repeated", 0)) {
    const int64_t front[] = {0, 1, 0, 0};
    const int32_t in[] = {lo_slice(l, best, 1, 0, n_steps - 1), tn_low_ints_const(l, front, 4),
                          tn_low_number(l, TN_I64, -1)};
    const int32_t before = tn_low_emit(l, "Pad", in, 3, NULL, 0);
    kept = tn_low_2(l, "And", kept, tn_low_1(l, "Not", tn_low_2(l, "Equal", best, before)));
  }
  return kept;
}

/* The sum over a row's steps of the largest number of each, with the other sign: [batch, 1]. */
static int32_t path_score(const tn_lowering *l, int64_t n_steps, uint32_t dtype) {
  const int64_t classes = 2, time = 0;
  const int32_t most = lo_reduce(l, "ReduceMax", tn_low_in(l, 0), &classes, 1, 0);
  const int64_t column[] = {n_steps, 1};
  const int32_t steps = tn_low_reshape(
      l,
      tn_low_3(l, "Range", tn_low_number(l, TN_I64, 0), tn_low_number(l, TN_I64, (double)n_steps),
               tn_low_number(l, TN_I64, 1)),
      2, column);
  const int32_t is_there = tn_low_2(l, "Less", steps, tn_low_in_i64(l, 1));
  const int32_t counted = tn_low_3(l, "Where", is_there, most, tn_low_number(l, dtype, 0));
  return lo_unsqueeze(l, tn_low_1(l, "Neg", lo_reduce(l, "ReduceSum", counted, &time, 1, 0)), 1);
}

/* The class of each step, without blanks and repetitions: as a sparse tensor [batch, time], and
 * the score of each row. */
tn_status tf_ctc_greedy_decoder(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_status s = lo_rank(&l, 0, 3);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t n_steps = x->shape[0], n = x->shape[1], classes = x->shape[2];
  int64_t blank = tn_low_int(&l, "blank_index", -1);
  if (blank < 0) blank += classes;
  if (n_steps < 1) return tn_low_unsupported(&l, "no steps");
  const tn_attr attrs[] = {tn_attr_int("axis", 2), tn_attr_int("keepdims", 0)};
  const int32_t logits = tn_low_in(&l, 0), swap[] = {1, 0};
  const int32_t best =
      tn_low_transpose(&l, tn_low_emit(&l, "ArgMax", &logits, 1, attrs, 2), 2, swap);
  const int32_t kept = is_kept(&l, best, n_steps, blank), number = tn_low_cast(&l, kept, TN_I64),
                one = tn_low_number(&l, TN_I64, 1);
  const int32_t places =
      tn_low_2(&l, "Sub", tn_low_2(&l, "CumSum", number, tn_low_number(&l, TN_I64, 1)), one);
  const int32_t at = tn_low_transpose(&l, tn_low_1(&l, "NonZero", kept), 2, swap);
  const int32_t pair[] = {lo_slice(&l, at, 1, 0, 1),
                          lo_unsqueeze(&l, tn_low_2(&l, "GatherND", places, at), 1)};
  const int64_t time = 1, batch = 0;
  const int32_t longest = lo_reduce(&l, "ReduceMax",
                                    lo_reduce(&l, "ReduceSum", number, &time, 1, 0), &batch, 1, 1),
                shape[] = {tn_low_ints_const(&l, &n, 1), longest};
  const int32_t out[] = {lo_concat(&l, pair, 2, 1), tn_low_2(&l, "GatherND", best, at),
                         lo_concat(&l, shape, 2, 0), path_score(&l, n_steps, x->dtype)};
  return tn_low_done_many(&l, out, call->n_outputs);
}
