/* References: each item of the output by itself, pieces element by element. */
#include "sequence.h"

static int64_t size(const tn_call *call) {
  return call->host->list_size(call->ctx, call->inputs[0]);
}
static const tn_tensor *item(const tn_call *call, int64_t k) {
  return call->host->list_item(call->ctx, call->inputs[0], k);
}

/* A position as Python takes it. */
static int64_t place(const tn_call *call, uint32_t input, int64_t n, int64_t missing) {
  if (!tn_has_input(call, input)) return missing;
  int64_t p = tn_load_i64(call->inputs[input]->dtype, call->inputs[input]->data, 0);
  return p < 0 ? n + p : p;
}

tn_status sequence_empty_reference(const tn_call *call) {
  (void)call;
  return TN_OK;
}

tn_status sequence_construct_reference(const tn_call *call) {
  for (uint32_t k = 0; k < call->n_inputs; k++) {
    tn_status s = call->host->list_append(call->ctx, 0, call->inputs[k]);
    if (s) return s;
  }
  return TN_OK;
}

tn_status sequence_insert_reference(const tn_call *call) {
  int64_t n = size(call), at = place(call, 2, n, n);
  tn_status s = TN_OK;
  for (int64_t k = 0; k <= n && !s; k++)
    s = call->host->list_append(call->ctx, 0,
                                k < at    ? item(call, k)
                                : k == at ? call->inputs[1]
                                          : item(call, k - 1));
  return s;
}

tn_status sequence_erase_reference(const tn_call *call) {
  int64_t n = size(call), at = place(call, 1, n, n - 1);
  tn_status s = TN_OK;
  for (int64_t k = 0; k < n && !s; k++)
    if (k != at) s = call->host->list_append(call->ctx, 0, item(call, k));
  return s;
}

tn_status sequence_at_reference(const tn_call *call) {
  return call->host->output_set(call->ctx, 0, item(call, place(call, 1, size(call), 0)));
}

tn_status sequence_length_reference(const tn_call *call) {
  int64_t n = 0;
  while (item(call, n)) n++;
  tn_store_i64(TN_I64, call->outputs[0]->data, 0, n);
  return TN_OK;
}

tn_status optional_reference(const tn_call *call) {
  return tn_has_input(call, 0) ? call->host->list_append(call->ctx, 0, call->inputs[0]) : TN_OK;
}

tn_status optional_get_element_reference(const tn_call *call) {
  bool held = call->inputs[0]->kind == TN_KIND_OPTIONAL;
  return call->host->output_set(call->ctx, 0, held ? item(call, 0) : call->inputs[0]);
}

tn_status optional_has_element_reference(const tn_call *call) {
  bool there = tn_has_input(call, 0);
  if (there && call->inputs[0]->kind == TN_KIND_OPTIONAL) there = item(call, 0) != NULL;
  tn_store_i64(TN_BOOL, call->outputs[0]->data, 0, there);
  return TN_OK;
}

/* ---- pieces ---- */

static void coordinates(const tn_tensor *t, int64_t index, int64_t *at) {
  for (int32_t k = t->rank - 1; k >= 0; index /= t->shape[k--]) at[k] = index % t->shape[k];
}

static int64_t index_of(const tn_tensor *t, const int64_t *at) {
  int64_t index = 0;
  for (int32_t k = 0; k < t->rank; k++) index = index * t->shape[k] + at[k];
  return index;
}

/* Element `from` becomes element `to`, byte by byte. */
static void copy_element(const tn_tensor *from, int64_t index, const tn_tensor *to,
                         int64_t to_index) {
  int64_t n = tn_dtype(from->dtype)->bits / 8;
  for (int64_t k = 0; k < n; k++)
    ((uint8_t *)to->data)[to_index * n + k] = ((const uint8_t *)from->data)[index * n + k];
}

static tn_status append_slice(const tn_call *call, int32_t axis, int64_t first, int64_t n,
                              bool squeeze) {
  const tn_tensor *in = call->inputs[0];
  tn_tensor piece = tn_tensor_make(in->dtype, in->rank, in->shape, NULL), flat;
  piece.shape[axis] = n;
  piece.data = call->host->alloc(call->ctx, (uint64_t)tn_bytes(&piece) + 1);
  if (!piece.data) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < tn_elements(&piece); k++) {
    int64_t at[TN_MAX_RANK];
    coordinates(&piece, k, at);
    at[axis] += first;
    copy_element(in, index_of(in, at), &piece, k);
  }
  flat = tn_tensor_make(in->dtype, 0, NULL, piece.data);
  for (int32_t k = 0; k < in->rank; k++)
    if (!squeeze || k != axis) flat.shape[flat.rank++] = piece.shape[k];
  tn_status s = call->host->list_append(call->ctx, 0, &flat);
  call->host->free(call->ctx, piece.data);
  return s;
}

tn_status split_to_sequence_reference(const tn_call *call) {
  const tn_split_to_sequence_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0], *split = tn_has_input(call, 1) ? call->inputs[1] : NULL;
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + in->rank : a->axis);
  tn_status s = TN_OK;
  for (int64_t k = 0, at = 0;
       (split && split->rank ? k < split->shape[0] : at < in->shape[axis]) && !s; k++) {
    int64_t n = split ? tn_load_i64(split->dtype, split->data, split->rank ? k : 0) : 1;
    n = tn_min_i64(n, in->shape[axis] - at);
    s = append_slice(call, axis, at, n, !split && !a->keepdims);
    at += n;
  }
  return s;
}

tn_status concat_from_sequence_reference(const tn_call *call) {
  const tn_concat_from_sequence_attrs *a = call->attrs;
  tn_tensor type = *item(call, 0);
  int32_t rank = type.rank + (a->new_axis ? 1 : 0),
          axis = (int32_t)(a->axis < 0 ? a->axis + rank : a->axis);
  int64_t shape[TN_MAX_RANK] = {0}, first = 0;
  for (int32_t d = 0; d < type.rank; d++)
    shape[a->new_axis && d >= axis ? d + 1 : d] = type.shape[d];
  shape[axis] = 0;
  for (int64_t k = 0; k < size(call); k++)
    shape[axis] += a->new_axis ? 1 : item(call, k)->shape[axis];
  tn_status s = call->host->output_resize(call->ctx, 0, rank, shape);
  for (int64_t k = 0; k < size(call) && !s; k++) {
    tn_tensor from = *item(call, k);
    for (int32_t d = from.rank; a->new_axis && d > axis; d--) from.shape[d] = from.shape[d - 1];
    if (a->new_axis) from.shape[axis] = 1;
    from.rank = rank;
    for (int64_t i = 0; i < tn_elements(&from) && !s; i++) {
      int64_t at[TN_MAX_RANK];
      coordinates(&from, i, at);
      at[axis] += first;
      int64_t to = index_of(call->outputs[0], at);
      const tn_str *text = from.data;
      if (from.dtype == TN_STRING)
        s = call->host->string_set(call->ctx, 0, to, text[i].data, text[i].size);
      else
        copy_element(&from, i, call->outputs[0], to);
    }
    first += from.shape[axis];
  }
  return s;
}
