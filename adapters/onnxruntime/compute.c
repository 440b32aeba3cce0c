/* Running a part: the host's values are its inputs where they lie, and its outputs are written to
 * the host's memory where their shapes are known before. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"
#include "tenon/kit/onnx_dtype.h"
#include "tenon/kit/tensor.h"

typedef struct seat { /* a session; one run at a time sits there */
  struct seat *next;
  tn_session *session;
  tn_diag *diag;
} seat;

typedef struct compute {
  ort_compute head;
  ort_table api;
  bool lends_shapes;
  tn_model *model;
  size_t n_inputs, n_outputs; /* of the fused node */
  int32_t *inputs, *outputs;  /* of the model; -1: none is */
  pthread_mutex_t lock;
  seat *free;
} compute;

/* ---- seats ---- */

static seat *seat_take(compute *c) {
  pthread_mutex_lock(&c->lock);
  seat *s = c->free;
  if (s) c->free = s->next;
  pthread_mutex_unlock(&c->lock);
  if (s) return s;
  s = calloc(1, sizeof *s);
  if (s) s->diag = tn_diag_create();
  if (s && s->diag && !tn_session_create(c->model, s->diag, &s->session)) return s;
  if (s) tn_diag_destroy(s->diag);
  free(s);
  return NULL;
}

static void seat_give(compute *c, seat *s) {
  pthread_mutex_lock(&c->lock);
  s->next = c->free;
  c->free = s;
  pthread_mutex_unlock(&c->lock);
}

static void seat_free(seat *s) {
  tn_session_destroy(s->session);
  tn_diag_destroy(s->diag);
  free(s);
}

/* ---- values ---- */

static ort_status *copy_shape(const compute *c, const ort_value *value, tn_tensor *t, int *type) {
  ort_shape_info *info = NULL;
  size_t rank = 0;
  ort_status *status =
      ORT_CALL(c->api, GetTensorTypeAndShape, (const ort_value *, ort_shape_info **), value, &info);
  if (status) return status;
  status = ORT_CALL(c->api, GetTensorElementType, (const ort_shape_info *, int *), info, type);
  if (!status)
    status = ORT_CALL(c->api, GetDimensionsCount, (const ort_shape_info *, size_t *), info, &rank);
  if (!status && rank > TN_MAX_RANK) status = provider_fail(c->api, "Tenon: too many dims");
  if (!status)
    status = ORT_CALL(c->api, GetDimensions, (const ort_shape_info *, int64_t *, size_t), info,
                      t->shape, rank);
  t->rank = (int32_t)rank;
  ((void (*)(ort_shape_info *))c->api[ORT_ReleaseTensorTypeAndShapeInfo])(info);
  return status;
}

static ort_status *see_shape(const compute *c, const ort_value *value, tn_tensor *t, int *type) {
  const int64_t *shape = NULL;
  size_t rank = 0;
  if (!c->lends_shapes) return copy_shape(c, value, t, type);
  ort_status *status =
      ORT_CALL(c->api, GetTensorElementTypeAndShapeDataReference,
               (const ort_value *, int *, const int64_t **, size_t *), value, type, &shape, &rank);
  if (status) return status;
  if (rank > TN_MAX_RANK) return provider_fail(c->api, "Tenon: too many dims");
  t->rank = (int32_t)rank;
  if (rank) memcpy(t->shape, shape, rank * sizeof *shape);
  return NULL;
}

static ort_status *set_input(const compute *c, seat *s, ort_context *context, size_t k) {
  const ort_value *value = NULL;
  int type = 0;
  tn_tensor t = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  ort_status *status =
      ORT_CALL(c->api, KernelContext_GetInput, (const ort_context *, size_t, const ort_value **),
               context, k, &value);
  if (!status && !value) status = provider_fail(c->api, "Tenon: input %zu is not given", k);
  if (!status) status = see_shape(c, value, &t, &type);
  if (!status)
    status = ORT_CALL(c->api, GetTensorMutableData, (const ort_value *, void **), value, &t.data);
  if (status) return status;
  t.dtype = type <= ORT_MOST_TYPES ? tn_dtype_of_onnx(type) : TN_NONE;
  return tn_session_set_input(s->session, c->inputs[k], &t, s->diag)
             ? provider_fail(c->api, "Tenon: %s", tn_diag_text(s->diag))
             : NULL;
}

static bool is_known(const tn_tensor *t) {
  bool known = t->rank >= 0 && t->dtype != TN_NONE;
  for (int32_t k = 0; known && k < t->rank; k++) known = t->shape[k] >= 0;
  return known;
}

/* The host's memory for an output of this type. */
static ort_status *open_output(const compute *c, ort_context *context, size_t k,
                               const tn_tensor *type, void **out_data) {
  ort_value *value = NULL;
  ort_status *status = ORT_CALL(c->api, KernelContext_GetOutput,
                                (ort_context *, size_t, const int64_t *, size_t, ort_value **),
                                context, k, type->shape, (size_t)type->rank, &value);
  *out_data = NULL;
  if (status || !value) return status; /* nobody wants it */
  return ORT_CALL(c->api, GetTensorMutableData, (const ort_value *, void **), value, out_data);
}

static ort_status *set_output(const compute *c, seat *s, ort_context *context, size_t k) {
  tn_tensor t = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  const int32_t index = c->outputs[k];
  ort_status *status = NULL;
  if (tn_session_output_type(s->session, index, &t) || !is_known(&t) ||
      (!(status = open_output(c, context, k, &t, &t.data)) && !t.data)) {
    (void)tn_session_set_output(s->session, index, NULL, s->diag);
    return status;
  }
  if (status) return status;
  return tn_session_set_output(s->session, index, &t, s->diag)
             ? provider_fail(c->api, "Tenon: %s", tn_diag_text(s->diag))
             : NULL;
}

/* An output whose shape only the run could tell. */
static ort_status *copy_output(const compute *c, const seat *s, ort_context *context, size_t k) {
  tn_tensor type = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  if (!tn_session_output_type(s->session, c->outputs[k], &type) && is_known(&type)) return NULL;
  const tn_tensor *y = tn_session_output(s->session, c->outputs[k]);
  if (!y || y->kind != TN_KIND_TENSOR) return provider_fail(c->api, "Tenon: output %zu lacks", k);
  void *data;
  ort_status *status = open_output(c, context, k, y, &data);
  const int64_t bytes = tn_tensor_bytes(y);
  if (!status && data && bytes > 0) memcpy(data, y->data, (size_t)bytes);
  return status;
}

/* ---- the functions of the host's struct ---- */

static ort_status *run_in(const compute *c, seat *s, ort_context *context) {
  ort_status *status = NULL;
  for (size_t k = 0; k < c->n_inputs && !status; k++)
    if (c->inputs[k] >= 0) status = set_input(c, s, context, k);
  if (!status && tn_session_prepare(s->session, s->diag))
    status = provider_fail(c->api, "Tenon: %s", tn_diag_text(s->diag));
  for (size_t k = 0; k < c->n_outputs && !status; k++) status = set_output(c, s, context, k);
  if (!status && tn_session_run(s->session, s->diag))
    status = provider_fail(c->api, "Tenon: %s", tn_diag_text(s->diag));
  for (size_t k = 0; k < c->n_outputs && !status; k++) status = copy_output(c, s, context, k);
  return status;
}

static ort_status *run(ort_compute *head, void *state, ort_context *context) {
  compute *c = state;
  (void)head;
  seat *s = seat_take(c);
  if (!s) return provider_fail(c->api, "Tenon: no memory for a session");
  ort_status *status = run_in(c, s, context);
  if (status)
    seat_free(s); /* it may name memory that goes */
  else
    seat_give(c, s);
  return status;
}

static ort_status *create(ort_compute *head, void *context, void **out_state) {
  (void)context;
  *out_state = head;
  return NULL;
}

static void release(ort_compute *head, void *state) { (void)head, (void)state; }

/* ---- making it ---- */

/* For each value of a list of the fused node, which of the model it is. */
static int32_t *places(const compute *c, const ort_node *fused, bool is_input, size_t *out_n) {
  const int count = is_input ? ORT_Node_GetNumInputs : ORT_Node_GetNumOutputs;
  const int get = is_input ? ORT_Node_GetInputs : ORT_Node_GetOutputs;
  char why[100];
  if (provider_failed(c->api,
                      ((ort_status * (*)(const ort_node *, size_t *)) c->api[count])(fused, out_n),
                      why, sizeof why))
    return NULL;
  int32_t *list = calloc(*out_n + 1, sizeof *list);
  const ort_value_info **infos = calloc(*out_n + 1, sizeof *infos);
  bool ok = list && infos &&
            !provider_failed(c->api,
                             ((ort_status * (*)(const ort_node *, const ort_value_info **, size_t))
                                  c->api[get])(fused, infos, *out_n),
                             why, sizeof why);
  for (size_t k = 0; ok && k < *out_n; k++) {
    const char *name = "";
    ok = !infos[k] ||
         !provider_failed(c->api,
                          ORT_CALL(c->api, GetValueInfoName,
                                   (const ort_value_info *, const char **), infos[k], &name),
                          why, sizeof why);
    list[k] = is_input ? tn_model_find_input(c->model, name) : tn_model_find_output(c->model, name);
    ok = ok && (is_input || list[k] >= 0);
  }
  free((void *)infos);
  if (ok) return list;
  free(list);
  return NULL;
}

ort_compute *provider_compute_take(const provider *p, tn_model *model, const ort_node *fused,
                                   char *out_why, size_t size) {
  compute *c = calloc(1, sizeof *c);
  if (!c) {
    tn_model_destroy(model);
    return NULL;
  }
  c->head = (ort_compute){ORT_VERSION, create, run, release};
  c->api = p->api, c->lends_shapes = p->lends_shapes, c->model = model;
  pthread_mutex_init(&c->lock, NULL);
  c->inputs = places(c, fused, true, &c->n_inputs);
  c->outputs = places(c, fused, false, &c->n_outputs);
  if (c->inputs && c->outputs) return &c->head;
  snprintf(out_why, size, "the fused node has other values than its graph");
  provider_compute_free(&c->head);
  return NULL;
}

void provider_compute_free(ort_compute *head) {
  compute *c = (compute *)head;
  if (!c) return;
  for (seat *s = c->free, *next; s; s = next) {
    next = s->next;
    seat_free(s);
  }
  pthread_mutex_destroy(&c->lock);
  tn_model_destroy(c->model);
  free(c->inputs);
  free(c->outputs);
  free(c);
}
