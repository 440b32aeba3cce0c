/* An island: its file in memory, the model that Tenon reads of it, and a session. Values are used
 * where LiteRT has them, and outputs are written to its memory where their shapes are known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "island.h"
#include "tenon/kit/tensor.h"

struct island {
  tn_runtime *runtime;
  island_file file;
  int n_nodes, *nodes;
  tn_model *model;
  tn_session *session;
  tn_diag *diag;
  bool is_prepared; /* for the dims that the inputs have */
  bool *known;      /* outputs whose dims the plan says */
};

static bool fail(char *why, const char *format, const char *text) {
  snprintf(why, WHY_BYTES, format, text);
  return false;
}

static bool fail_diag(const island *i, char *why) {
  snprintf(why, WHY_BYTES, "%s", tn_diag_text(i->diag));
  why[strcspn(why, "\n")] = 0;
  return false;
}

/* ---- making ---- */

static bool load(island *i, char *why) {
  const tn_model_options options = {.head = TN_HEAD(tn_model_options), .format = "tflite"};
  tn_session_destroy(i->session);
  tn_model_destroy(i->model);
  i->session = NULL;
  i->model = NULL;
  i->is_prepared = false;
  tn_diag_destroy(i->diag);
  i->diag = tn_diag_create();
  return (i->diag &&
          !tn_model_load_memory(i->runtime, i->file.file.data, i->file.file.n, NULL, &options,
                                i->diag, &i->model) &&
          !tn_session_create(i->model, i->diag, &i->session)) ||
         fail_diag(i, why);
}

static bool types_agree(const island *i, const lrt_context *context, char *why) {
  if (tn_model_n_inputs(i->model) != i->file.n_inputs ||
      tn_model_n_outputs(i->model) != i->file.n_outputs)
    return fail(why, "%s", "inputs and outputs are not those of the nodes");
  for (int k = 0; k < i->file.n_outputs; k++) {
    const lrt_tensor *t = &context->tensors[i->file.outputs[k]];
    tn_tensor type = tn_tensor_make(TN_NONE, 0, NULL, NULL);
    if (!tn_model_output_type(i->model, k, &type) && type.dtype != TN_NONE &&
        type.dtype != type_dtype(t->type))
      return fail(why, "output '%s' is of another type than LiteRT's", t->name ? t->name : "");
  }
  return true;
}

static bool copy_nodes(island *i, const host_node *nodes, int n) {
  i->nodes = calloc((size_t)n + 1, sizeof *i->nodes);
  for (int k = 0; i->nodes && k < n; k++) i->nodes[i->n_nodes++] = nodes[k].index;
  return i->nodes;
}

island *island_make(tn_runtime *runtime, const lrt_context *context, const host_node *nodes, int n,
                    const lrt_ints *outputs, char *why) {
  island *i = calloc(1, sizeof *i);
  if (!i || !copy_nodes(i, nodes, n) || !file_write(context, nodes, n, outputs, &i->file)) {
    fail(why, "%s", "no memory, or constants of more than 2 GB");
    island_free(i);
    return NULL;
  }
  i->runtime = runtime;
  i->known = calloc((size_t)i->file.n_outputs + 1, sizeof *i->known);
  if (!i->known)
    fail(why, "%s", "no memory");
  else if (load(i, why) && types_agree(i, context, why))
    return i;
  island_free(i);
  return NULL;
}

void island_free(island *i) {
  if (!i) return;
  tn_session_destroy(i->session);
  tn_model_destroy(i->model);
  tn_diag_destroy(i->diag);
  file_free(&i->file);
  free(i->known);
  free(i->nodes);
  free(i);
}

bool island_is_of(const island *i, const lrt_ints *nodes) {
  return i->n_nodes == nodes->size &&
         !memcmp(i->nodes, nodes->data, (size_t)nodes->size * sizeof *i->nodes);
}

/* ---- values ---- */

tn_tensor island_view(const lrt_tensor *t) {
  tn_tensor out = tn_tensor_make(type_dtype(t->type), 0, NULL, t->data);
  out.rank = t->dims ? t->dims->size : 0;
  for (int k = 0; k < out.rank && k < TN_MAX_RANK; k++) out.shape[k] = t->dims->data[k];
  return out;
}

static bool is_known(const tn_tensor *t) {
  bool known = t->rank >= 0 && t->dtype != TN_NONE;
  for (int32_t k = 0; known && k < t->rank; k++) known = t->shape[k] >= 0;
  return known;
}

static bool set_inputs(island *i, const lrt_context *context, char *why) {
  for (int k = 0; k < i->file.n_inputs; k++) {
    const tn_tensor t = island_view(&context->tensors[i->file.inputs[k]]);
    if (t.rank > TN_MAX_RANK) return fail(why, "%s", "an input has more dims than Tenon takes");
    if (tn_session_set_input(i->session, k, &t, i->diag)) return fail_diag(i, why);
  }
  return true;
}

/* Tells the host the dims of a tensor, which makes room for it. */
static bool resize(lrt_context *context, lrt_tensor *t, const tn_tensor *type, char *why) {
  lrt_ints *dims = malloc(sizeof *dims + (size_t)type->rank * sizeof *dims->data);
  if (!dims) return fail(why, "%s", "no memory");
  dims->size = type->rank;
  for (int32_t k = 0; k < type->rank; k++) {
    if (type->shape[k] > INT32_MAX) {
      free(dims);
      return fail(why, "output '%s' has a dim that LiteRT cannot say", t->name ? t->name : "");
    }
    dims->data[k] = (int)type->shape[k];
  }
  return context->resize_tensor(context, t, dims) == LRT_OK ||
         fail(why, "LiteRT has no room for output '%s'", t->name ? t->name : "");
}

/* ---- preparing ---- */

/* Inputs that were given other dims since the island was made: its file says them, and is read
 * again. */
static bool renew(island *i, const lrt_context *context, char *why) {
  bool is_other = false;
  for (int k = 0; k < i->file.n_inputs; k++) {
    const lrt_ints *dims = context->tensors[i->file.inputs[k]].dims;
    uint8_t *shape = i->file.file.data + i->file.shapes[k];
    const size_t bytes = (size_t)dims->size * sizeof(int);
    if (memcmp(shape, &dims->size, sizeof dims->size))
      return fail(why, "%s", "an input got another number of dims");
    is_other = is_other || memcmp(shape + 4, dims->data, bytes);
    memcpy(shape + 4, dims->data, bytes);
  }
  return !is_other || load(i, why);
}

static bool has_dynamic_input(const island *i, const lrt_context *context) {
  for (int k = 0; k < i->file.n_inputs; k++)
    if (context->tensors[i->file.inputs[k]].allocation == LRT_DYNAMIC) return true;
  return false;
}

static void make_dynamic(lrt_tensor *t) {
  if (t->allocation == LRT_DYNAMIC) return;
  t->allocation = LRT_DYNAMIC; /* the arena's memory is the host's */
  t->data = NULL;
}

static bool plan(island *i, lrt_context *context, char *why) {
  if (!renew(i, context, why) || !set_inputs(i, context, why)) return false;
  i->is_prepared = !tn_session_prepare(i->session, i->diag);
  for (int k = 0; k < i->file.n_outputs && i->is_prepared; k++) {
    tn_tensor type = tn_tensor_make(TN_NONE, 0, NULL, NULL);
    i->known[k] = !tn_session_output_type(i->session, k, &type) && is_known(&type);
  }
  return i->is_prepared || fail_diag(i, why);
}

bool island_prepare(island *i, lrt_context *context, char *why) {
  const bool is_dynamic = has_dynamic_input(i, context);
  i->is_prepared = false;
  if (!is_dynamic && !plan(i, context, why)) return false;
  for (int k = 0; k < i->file.n_outputs; k++) {
    lrt_tensor *t = &context->tensors[i->file.outputs[k]];
    tn_tensor type = tn_tensor_make(TN_NONE, 0, NULL, NULL);
    if (is_dynamic || !i->known[k])
      make_dynamic(t);
    else if (tn_session_output_type(i->session, k, &type) || !resize(context, t, &type, why))
      return false;
  }
  return true;
}

/* ---- running ---- */

static bool set_outputs(island *i, lrt_context *context, char *why) {
  for (int k = 0; k < i->file.n_outputs; k++) {
    lrt_tensor *t = &context->tensors[i->file.outputs[k]];
    tn_tensor type = tn_tensor_make(TN_NONE, 0, NULL, NULL);
    const bool known = i->known[k] && !tn_session_output_type(i->session, k, &type);
    if (known && t->allocation == LRT_DYNAMIC && !resize(context, t, &type, why)) return false;
    const tn_tensor to = island_view(t);
    if (tn_session_set_output(i->session, k, known && t->data ? &to : NULL, i->diag))
      return fail_diag(i, why);
  }
  return true;
}

/* Outputs whose shapes only the run could tell. */
static bool copy_outputs(island *i, lrt_context *context, char *why) {
  for (int k = 0; k < i->file.n_outputs; k++) {
    lrt_tensor *t = &context->tensors[i->file.outputs[k]];
    const tn_tensor *y = tn_session_output(i->session, k);
    if (!y || y->dtype != type_dtype(t->type))
      return fail(why, "output '%s' is of another type than LiteRT's", t->name ? t->name : "");
    const int64_t bytes = tn_tensor_bytes(y);
    if (i->known[k] && y->data == t->data) continue;
    if (t->allocation == LRT_DYNAMIC && !resize(context, t, y, why)) return false;
    if (!bytes) continue;
    if (bytes < 0 || (size_t)bytes > t->bytes || !t->data)
      return fail(why, "output '%s' is larger than LiteRT's", t->name ? t->name : "");
    memcpy(t->data, y->data, (size_t)bytes);
  }
  return true;
}

bool island_run(island *i, lrt_context *context, char *why) {
  if (!(i->is_prepared && !has_dynamic_input(i, context)) && !plan(i, context, why)) return false;
  if (!set_inputs(i, context, why) || !set_outputs(i, context, why)) return false;
  if (tn_session_run(i->session, i->diag)) return fail_diag(i, why);
  return copy_outputs(i, context, why);
}
