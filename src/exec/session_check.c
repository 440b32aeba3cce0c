/* Checking what the user hands in against what the model declares. */
#include "exec/session.h"

/* NULL, or why this is no tensor at all. */
static const char *malformed(const tn_tensor *t) {
  if (t->head.size < offsetof(tn_tensor, object) + sizeof t->object || t->head.size % 8)
    return TN_WHY("its head does not say how long it is; start from tn_tensor_make");
  if (t->kind > TN_KIND_MAP) return TN_WHY("its kind is unknown");
  if (t->kind != TN_KIND_TENSOR)
    return t->object ? NULL : TN_WHY("it is no list made by tn_list_create");
  if (!tn_dtype(t->dtype)->bits) return TN_WHY("its dtype is unknown");
  if (t->rank < 0 || t->rank > TN_MAX_RANK) return TN_WHY("its rank is not 0 to 8");
  if (t->layout != TN_PLAIN) return TN_WHY("its layout is not plain");
  return tn_tensor_bytes(t) < 0 ? TN_WHY("a dim is negative or its size overflows") : NULL;
}

/* Dtypes of the keys of maps, TN_NONE where they are not known. */
static bool keys_fit(uint32_t declared, uint32_t key) {
  return !declared || !key || declared == key;
}

static bool fits(const tn_tensor *declared, const tn_tensor *t) {
  if (declared->kind != t->kind) return false;
  if (t->kind != TN_KIND_TENSOR && t->dtype == TN_NONE) return tn_list_size(t) == 0;
  if (!keys_fit(declared->elements >> 24, t->elements >> 24)) return false;
  if (declared->dtype != TN_NONE && declared->dtype != t->dtype) return false;
  if (t->kind != TN_KIND_TENSOR || declared->rank == TN_RANK_UNKNOWN) return true;
  if (declared->rank != t->rank) return false;
  for (int32_t k = 0; k < t->rank; k++)
    if (declared->shape[k] != TN_DIM_UNKNOWN && declared->shape[k] != t->shape[k]) return false;
  return true;
}

tn_status tn_session_check_input(const tn_session *s, int32_t index, const tn_tensor *t,
                                 tn_diag *diag) {
  if (index < 0 || index >= s->n_all)
    return tn_fail(diag, TN_ERR_NOT_FOUND, "there is no input %d, the model has %d", index,
                   s->n_all);
  const char *name = tn_model_input_name(s->model, index);
  if (!t) return TN_OK;
  const char *reason = malformed(t);
  if (reason) return tn_fail(diag, TN_ERR_INVALID, "input '%s': not a tensor: %s", name, reason);
  tn_tensor declared;
  char got[TN_TENSOR_TEXT], takes[TN_TENSOR_TEXT];
  tn_status status = tn_model_input_type(s->model, index, &declared);
  if (status || fits(&declared, t)) return status;
  const int32_t value = tn_graph_api_table.input(s->model->loaded, index);
  if (value < 0 || declared.kind != TN_KIND_TENSOR)
    tn_tensor_text(&declared, takes, sizeof takes);
  else
    tn_value_text(s->model->loaded, value, &declared, takes, sizeof takes);
  return tn_fail(diag, TN_ERR_SHAPE, "input '%s': got %s, the model takes %s", name,
                 tn_tensor_text(t, got, sizeof got), takes);
}

tn_status tn_session_check_state(const char *name, const tn_tensor *declared, const tn_tensor *t,
                                 tn_diag *diag) {
  char got[TN_TENSOR_TEXT], takes[TN_TENSOR_TEXT];
  const char *reason = !t ? "it is none" : malformed(t);
  if (!reason && !t->data && tn_tensor_bytes(t)) reason = "it has no data";
  if (reason) return tn_fail(diag, TN_ERR_INVALID, "state '%s': not a tensor: %s", name, reason);
  if (fits(declared, t)) return TN_OK;
  return tn_fail(diag, TN_ERR_SHAPE, "state '%s': got %s, it is %s", name,
                 tn_tensor_text(t, got, sizeof got), tn_tensor_text(declared, takes, sizeof takes));
}

tn_status tn_session_check_output(const tn_session *s, int32_t index, const tn_tensor *t,
                                  tn_diag *diag) {
  if (index < 0 || index >= s->n_outputs)
    return tn_fail(diag, TN_ERR_NOT_FOUND, "there is no output %d, the model has %d", index,
                   s->n_outputs);
  if (!t) return TN_OK;
  const char *name = tn_model_output_name(s->model, index);
  const char *reason = malformed(t);
  if (!reason && (t->kind != TN_KIND_TENSOR || t->dtype == TN_STRING))
    reason = "strings and lists cannot be written to memory of the caller";
  if (!reason && !t->data && tn_tensor_bytes(t)) reason = "it has no data";
  if (reason) return tn_fail(diag, TN_ERR_INVALID, "output '%s': %s", name, reason);
  return TN_OK;
}
