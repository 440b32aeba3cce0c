/* Recurrent layers as nodes of ai.onnx. */
#include "nodes.h"

/* How many directions the weights, input 1, are for; 0: that is refused. */
static int64_t directions(mnn_reader *r) {
  const int64_t index = r->in.n > 1 ? tn_flat_int_at(&r->in, 1) : -1;
  if (index >= 0 && (uint64_t)index < r->names.n && r->values[index].blob.at) {
    const tn_flat_vector dims = tn_flat_vec(&r->values[index].blob, BLOB_DIMS, 4);
    if (dims.n == 3 && tn_flat_int_at(&dims, 0) >= 1 && tn_flat_int_at(&dims, 0) <= 2)
      return tn_flat_int_at(&dims, 0);
  }
  mnn_refuse(r, "weights that are no constants of one or two directions");
  return 0;
}

/* x, the weights of inputs and of states, their bias as one; then the first state and cell. */
static int32_t recurrent(mnn_reader *r) {
  const bool has_cell = !strcmp(r->row->name, "LSTM");
  const uint32_t n_outputs = has_cell ? 3 : 2;
  int32_t out[3];
  const int64_t n = directions(r), hidden = mnn_param_int(r, 0, 0);
  if (!n) return TN_NO_ID;
  if (r->in.n < 4 || r->in.n > (has_cell ? 6 : 5) || r->out.n > n_outputs)
    return mnn_refuse(r, "so many inputs or outputs");
  const tn_attr second = tn_attr_int("axis", 1),
                a[] = {tn_attr_int("hidden_size", hidden),
                       tn_attr_str("direction", n == 2 ? "bidirectional" : "forward")};
  const int32_t bias = mnn_in(r, 3), both[] = {bias, mnn_emit_2(r, "Sub", bias, bias)};
  const int32_t in[] = {mnn_in(r, 0),
                        mnn_in(r, 1),
                        mnn_in(r, 2),
                        mnn_emit(r, "Concat", both, 2, &second, 1),
                        TN_NO_ID,
                        r->in.n > 4 ? mnn_in(r, 4) : TN_NO_ID,
                        r->in.n > 5 ? mnn_in(r, 5) : TN_NO_ID};
  for (uint32_t k = 0; k < n_outputs; k++) {
    out[k] = r->status ? TN_NO_ID : r->api->value(r->g, NULL);
    if (out[k] < 0 && !r->status) r->status = mnn_fail(r, out[k], "it needs one more value");
  }
  if (!mnn_add(r, "", r->row->name, in, (uint32_t)r->in.n + (r->in.n > 4), out, n_outputs, a, 2))
    return TN_NO_ID;
  for (uint32_t k = 0; k < n_outputs && k < r->out.n; k++) mnn_set(r, k, out[k]);
  return TN_NO_ID;
}

/* ---- GRU: for each direction the weights of two gates and of the candidate, of inputs above those
 * of states, [inputs + states, gates * units], each with its bias; and the bias of states ---- */

enum { GRU_UNITS, GRU_BOTH, GRU_LINEAR = 3 };
enum { GATE_WEIGHT, GATE_BIAS, NEW_WEIGHT, NEW_BIAS, STATE_BIAS, PER_DIRECTION };

/* Rows from `from` to before `to`, transposed, with a dim in front. */
static int32_t weights_of(mnn_reader *r, int32_t w, int64_t from, int64_t to) {
  const int64_t axis = 0;
  const int32_t in[] = {w, mnn_i64s(r, &from, 1), mnn_i64s(r, &to, 1), mnn_i64s(r, &axis, 1)};
  const int32_t rows = mnn_emit(r, "Slice", in, 4, NULL, 0);
  return mnn_emit_2(r, "Unsqueeze", mnn_emit_1(r, "Transpose", rows), mnn_i64s(r, &axis, 1));
}

static int32_t joined(mnn_reader *r, const int32_t *parts, uint32_t n, int64_t dim) {
  const tn_attr axis = tn_attr_int("axis", dim);
  return n == 1 ? parts[0] : mnn_emit(r, "Concat", parts, n, &axis, 1);
}

/* W, R and B of one direction, whose inputs begin at `first`. */
static void direction_of(mnn_reader *r, uint64_t first, int64_t units, int32_t *w, int32_t *state,
                         int32_t *bias) {
  const int32_t both[] = {mnn_in(r, first + GATE_WEIGHT), mnn_in(r, first + NEW_WEIGHT)};
  const int32_t all = joined(r, both, 2, 1);
  const int64_t row[] = {1, 6 * units};
  const int32_t biases[] = {mnn_in(r, first + GATE_BIAS), mnn_in(r, first + NEW_BIAS),
                            mnn_in(r, first + STATE_BIAS)};
  int32_t flat[3];
  const int64_t any = -1;
  for (int k = 0; k < 3; k++) flat[k] = mnn_emit_2(r, "Reshape", biases[k], mnn_i64s(r, &any, 1));
  *w = weights_of(r, all, 0, -units);
  *state = weights_of(r, all, -units, INT32_MAX);
  *bias = mnn_emit_2(r, "Reshape", joined(r, flat, 3, 0), mnn_i64s(r, row, 2));
}

static int32_t gru(mnn_reader *r) {
  const int64_t units = mnn_param_int(r, GRU_UNITS, 0);
  const uint32_t n = mnn_param_byte(r, GRU_BOTH, 0) ? 2 : 1;
  int32_t w[2], state[2], bias[2], out[2];
  const uint64_t least = 1 + n * PER_DIRECTION;
  if (units < 1 || units > INT32_MAX / 6 || r->in.n < least || r->in.n > least + 1 || r->out.n > 2)
    return mnn_refuse(r, "so many units, inputs or outputs");
  for (uint32_t k = 0; k < n; k++)
    direction_of(r, 1 + k * PER_DIRECTION, units, &w[k], &state[k], &bias[k]);
  const int32_t in[] = {
      mnn_in(r, 0),          joined(r, w, n, 0), joined(r, state, n, 0),
      joined(r, bias, n, 0), TN_NO_ID,           r->in.n > least ? mnn_in(r, least) : TN_NO_ID};
  const tn_attr a[] = {tn_attr_int("hidden_size", units),
                       tn_attr_str("direction", n == 2 ? "bidirectional" : "forward"),
                       tn_attr_int("linear_before_reset", mnn_param_byte(r, GRU_LINEAR, 0))};
  for (uint32_t k = 0; k < 2; k++) {
    out[k] = r->status ? TN_NO_ID : r->api->value(r->g, NULL);
    if (out[k] < 0 && !r->status) r->status = mnn_fail(r, out[k], "it needs one more value");
  }
  if (!mnn_add(r, "", "GRU", in, r->in.n > least ? 6 : 4, out, 2, a, 3)) return TN_NO_ID;
  for (uint32_t k = 0; k < 2 && k < r->out.n; k++) mnn_set(r, k, out[k]);
  return TN_NO_ID;
}

const mnn_maker mnn_recurrent[] = {
    {"LSTM", recurrent}, {"RNN", recurrent}, {"RNNSequenceGRU", gru}, {NULL, NULL}};
