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

const mnn_maker mnn_recurrent[] = {{"LSTM", recurrent}, {"RNN", recurrent}, {NULL, NULL}};
