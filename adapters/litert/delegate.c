/* The delegate: LiteRT loads the library by tflite_plugin_create_delegate, shows it the graph,
 * and runs one node in place of all others. Tenon reads the file that LiteRT has in memory and
 * takes the graph as a whole, custom operators of plug-ins, too, or else the parts of it that it
 * can (claim.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "island.h"

enum { TEXT = 1000 };

typedef struct settings {
  const char *threads, *plugins, *fallback;
} settings;

/* One for each tflite_plugin_create_delegate. */
typedef struct host {
  lrt_delegate delegate; /* first: LiteRT has its address */
  tn_runtime *runtime;
  bool must_take; /* fallback=forbid: a graph that is left is an error */
} host;

/* A graph that Tenon has taken. */
typedef struct kernel {
  litert_graph graph;
  tn_model *model;
  tn_session *session;
  tn_diag *diag;
  bool is_late; /* some output's shape is known when it has run */
} kernel;

static void say(lrt_context *ctx, const char *what, const char *why) {
  ctx->report_error(ctx, "Tenon %s: %s", what, why);
}

static const char *reason(tn_diag *diag) {
  const char *text = diag ? tn_diag_text(diag) : "";
  return *text ? text : "no memory";
}

/* ---- values ---- */

static lrt_tensor *tensor_of(const lrt_context *ctx, const uint8_t *indices, uint32_t k) {
  int32_t index;
  memcpy(&index, indices + 4ull * k, sizeof index);
  return index >= 0 && (size_t)index < ctx->n_tensors ? &ctx->tensors[index] : NULL;
}

/* NULL: this tensor cannot be passed on, which the text says. */
static const char *as_tensor(const lrt_tensor *t, tn_tensor *out) {
  int64_t shape[TN_MAX_RANK] = {0};
  if (!t || !t->dims || t->dims->size < 0 || t->dims->size > TN_MAX_RANK)
    return "an input or output has more than 8 dims, or none that are known";
  const uint32_t dtype = type_dtype(t->type);
  if (!dtype) return "an input or output is of a type that is not passed on (strings, resources)";
  for (int32_t k = 0; k < t->dims->size; k++) {
    shape[k] = t->dims->data[k];
    if (shape[k] < 0) return "an input or output has a negative dim";
  }
  *out = tn_tensor_make(dtype, t->dims->size, shape, t->data);
  return NULL;
}

static bool is_shape(const lrt_ints *dims, const tn_tensor *t) {
  if (!dims || dims->size != t->rank) return false;
  for (int32_t k = 0; k < t->rank; k++)
    if (dims->data[k] != t->shape[k]) return false;
  return true;
}

static bool is_known(const tn_tensor *t) {
  for (int32_t k = 0; k < t->rank; k++)
    if (t->shape[k] < 0) return false;
  return t->rank >= 0;
}

/* LiteRT frees what it is given, by free(). */
static bool resize(lrt_context *ctx, lrt_tensor *t, const tn_tensor *to) {
  if (is_shape(t->dims, to) && t->allocation != LRT_DYNAMIC) return true;
  lrt_ints *dims = malloc(sizeof *dims + (size_t)to->rank * sizeof *dims->data);
  if (!dims) return false;
  dims->size = to->rank;
  for (int32_t k = 0; k < to->rank; k++) {
    if (to->shape[k] > INT32_MAX) return free(dims), false;
    dims->data[k] = (int32_t)to->shape[k];
  }
  return ctx->resize_tensor(ctx, t, dims) == LRT_OK;
}

/* ---- the kernel: one node for the whole graph ---- */

static void kernel_free(lrt_context *ctx, void *data) {
  kernel *k = data;
  (void)ctx;
  if (!k) return;
  tn_session_destroy(k->session);
  tn_model_destroy(k->model);
  tn_diag_destroy(k->diag);
  free(k);
}

/* What prepare() of the delegate made is on its way here in this thread: the registration, which is
 * handed over by value, has no room for it. */
static _Thread_local kernel *taken;

static void *kernel_init(lrt_context *ctx, const char *buffer, size_t length) {
  (void)ctx, (void)buffer, (void)length;
  kernel *k = taken;
  taken = NULL;
  return k;
}

static bool set_inputs(lrt_context *ctx, kernel *k, const char *what) {
  for (uint32_t i = 0; i < k->graph.n_inputs; i++) {
    tn_tensor t;
    const char *why = as_tensor(tensor_of(ctx, k->graph.inputs, i), &t);
    if (!why && tn_session_set_input(k->session, (int32_t)i, &t, k->diag)) why = reason(k->diag);
    if (why) return say(ctx, what, why), false;
  }
  return true;
}

static int32_t kernel_prepare(lrt_context *ctx, lrt_node *node) {
  kernel *k = node->user_data;
  if (!k) return LRT_ERROR;
  tn_diag_clear(k->diag);
  k->is_late = false;
  if (!set_inputs(ctx, k, "cannot take inputs")) return LRT_ERROR;
  if (tn_session_prepare(k->session, k->diag))
    return say(ctx, "cannot plan the model", reason(k->diag)), LRT_ERROR;
  for (uint32_t i = 0; i < k->graph.n_outputs; i++) {
    tn_tensor type = {.head = TN_HEAD(tn_tensor)};
    lrt_tensor *t = tensor_of(ctx, k->graph.outputs, i);
    if (tn_session_output_type(k->session, (int32_t)i, &type) || !t) return LRT_ERROR;
    if (!is_known(&type)) {
      t->allocation = LRT_DYNAMIC;
      k->is_late = true;
    } else if (!resize(ctx, t, &type)) {
      return LRT_ERROR;
    }
  }
  return LRT_OK;
}

/* An output that LiteRT could not make room for before. */
static bool hand_out(lrt_context *ctx, kernel *k, uint32_t i) {
  const tn_tensor *y = tn_session_output(k->session, (int32_t)i);
  lrt_tensor *t = tensor_of(ctx, k->graph.outputs, i);
  if (!y || !t) return false;
  if (t->data == y->data) return true;
  if (t->allocation == LRT_DYNAMIC && !resize(ctx, t, y)) return false;
  if (!is_shape(t->dims, y)) return false;
  if (t->bytes) memcpy(t->data, y->data, t->bytes);
  return true;
}

static int32_t kernel_invoke(lrt_context *ctx, lrt_node *node) {
  kernel *k = node->user_data;
  tn_diag_clear(k->diag);
  if (!set_inputs(ctx, k, "cannot take inputs")) return LRT_ERROR;
  for (uint32_t i = 0; i < k->graph.n_outputs; i++) {
    tn_tensor y;
    lrt_tensor *t = tensor_of(ctx, k->graph.outputs, i);
    const bool is_there = t && t->allocation != LRT_DYNAMIC && t->data && !as_tensor(t, &y);
    if (tn_session_set_output(k->session, (int32_t)i, is_there ? &y : NULL, k->diag))
      return say(ctx, "cannot write an output", reason(k->diag)), LRT_ERROR;
  }
  if (tn_session_run(k->session, k->diag)) return say(ctx, "failed", reason(k->diag)), LRT_ERROR;
  for (uint32_t i = 0; i < k->graph.n_outputs; i++)
    if (!hand_out(ctx, k, i))
      return say(ctx, "failed", "an output has another shape than was planned"), LRT_ERROR;
  return LRT_OK;
}

/* ---- the delegate ---- */

/* The file around a constant; in one without constants, around the name of a tensor. */
static bool find_file(const lrt_context *ctx, litert_graph *out) {
  for (size_t k = 0; k < ctx->n_tensors; k++) {
    const lrt_tensor *t = &ctx->tensors[k];
    if (t->allocation == LRT_CONSTANT && t->data && t->bytes) return litert_find(t->data, out);
  }
  for (size_t k = 0; k < ctx->n_tensors; k++)
    if (ctx->tensors[k].name && *ctx->tensors[k].name)
      return litert_find(ctx->tensors[k].name, out);
  return false;
}

/* Is it the main graph of the file? Delegates are shown those of branches and loops as well. */
static bool is_main(const lrt_context *ctx, const lrt_ints *nodes, const litert_graph *g) {
  bool is = g->n_nodes == (uint32_t)nodes->size && g->n_tensors <= ctx->n_tensors;
  for (uint32_t i = 0; i < g->n_tensors && is; i++) {
    const char *here = ctx->tensors[i].name, *there = litert_name(g, i);
    is = !strcmp(here ? here : "", there ? there : "");
  }
  return is;
}

static const char *check_values(const lrt_context *ctx, const kernel *k) {
  tn_tensor t;
  const char *why = NULL;
  if ((uint32_t)tn_model_n_inputs(k->model) != k->graph.n_inputs ||
      (uint32_t)tn_model_n_outputs(k->model) != k->graph.n_outputs)
    return "inputs and outputs of the file are not those of the graph";
  for (uint32_t i = 0; i < k->graph.n_inputs && !why; i++)
    why = as_tensor(tensor_of(ctx, k->graph.inputs, i), &t);
  for (uint32_t i = 0; i < k->graph.n_outputs && !why; i++)
    why = as_tensor(tensor_of(ctx, k->graph.outputs, i), &t);
  return why;
}

static const char not_main[] = "it is not the main graph of its file";

/* NULL: the graph can be taken. */
static const char *take(const lrt_context *ctx, host *h, const lrt_ints *nodes, kernel *k) {
  const tn_model_options o = {.head = TN_HEAD(tn_model_options), .format = "tflite"};
  k->diag = tn_diag_create();
  if (!k->diag) return "no memory";
  if (!find_file(ctx, &k->graph)) return "its file is not found in memory";
  if (!is_main(ctx, nodes, &k->graph))
    return k->graph.n_graphs > 1 ? not_main : "another delegate has taken nodes of it";
  if (tn_model_load_memory(h->runtime, k->graph.data, k->graph.size, NULL, &o, k->diag, &k->model))
    return reason(k->diag);
  const char *why = check_values(ctx, k);
  if (!why && tn_session_create(k->model, k->diag, &k->session)) why = reason(k->diag);
  return why;
}

static int32_t prepare(lrt_context *ctx, lrt_delegate *delegate) {
  host *h = delegate->data;
  lrt_ints *nodes;
  const char *why = litert_layout(ctx);
  if (why) return say(ctx, "cannot take the graph", why), LRT_DELEGATE_ERROR;
  if (ctx->get_execution_plan(ctx, &nodes) != LRT_OK) return LRT_ERROR;
  if (!nodes->size) return LRT_OK;
  kernel *k = calloc(1, sizeof *k);
  why = k ? take(ctx, h, nodes, k) : "no memory";
  if (why) {
    const bool is_error = h->must_take && why != not_main;
    if (!is_error && why != not_main && k) {
      char text[TEXT];
      int n;
      const int32_t status = litert_claim(ctx, h->runtime, delegate, &n, text, sizeof text);
      if (n) {
        kernel_free(ctx, k);
        if (status) say(ctx, "did not get nodes", text);
        return status;
      }
    }
    if (why != not_main)
      say(ctx, is_error ? "cannot take the graph" : "leaves the graph to LiteRT", why);
    kernel_free(ctx, k);
    return is_error ? LRT_DELEGATE_ERROR : LRT_OK;
  }
  const lrt_registration r = {.init = kernel_init,
                              .free = kernel_free,
                              .prepare = kernel_prepare,
                              .invoke = kernel_invoke,
                              .custom_name = "Tenon",
                              .version = 1};
  taken = k;
  const int32_t status = ctx->replace_nodes(ctx, r, nodes, delegate);
  kernel_free(ctx, taken); /* if nobody has asked for it */
  taken = NULL;
  return status;
}

/* ---- what LiteRT looks up ---- */

#define EXPORT __attribute__((visibility("default")))
EXPORT lrt_delegate *tflite_plugin_create_delegate(const char *const *keys,
                                                   const char *const *values, size_t n,
                                                   void (*report_error)(const char *));
EXPORT void tflite_plugin_destroy_delegate(lrt_delegate *delegate);

static const char *read_options(const char *const *keys, const char *const *values, size_t n,
                                settings *out, char *text, size_t size) {
  for (size_t k = 0; k < n; k++) {
    const char **to = !strcmp(keys[k], "threads")    ? &out->threads
                      : !strcmp(keys[k], "plugins")  ? &out->plugins
                      : !strcmp(keys[k], "fallback") ? &out->fallback
                                                     : NULL;
    if (!to) {
      snprintf(text, size, "there is no option '%s'; there are threads, plugins, fallback",
               keys[k]);
      return text;
    }
    *to = values[k];
  }
  if (out->fallback && strcmp(out->fallback, "allow") && strcmp(out->fallback, "forbid"))
    return "fallback is neither allow nor forbid";
  return NULL;
}

/* "a.so:b.so" */
static const char *load_plugins(tn_runtime *runtime, const char *list, tn_diag *diag) {
  for (const char *p = list; p && *p;) {
    char path[4096];
    const size_t n = strcspn(p, ":");
    if (n >= sizeof path) return "the path of a plug-in is too long";
    memcpy(path, p, n);
    path[n] = 0;
    if (n && tn_runtime_load_plugin(runtime, path, NULL, 0, diag)) return reason(diag);
    p += n + (p[n] == ':');
  }
  return NULL;
}

static const char *open_runtime(const settings *o, host *h, tn_diag *diag) {
  char *end = NULL;
  const long threads = o->threads ? strtol(o->threads, &end, 10) : 1;
  if (end && (end == o->threads || *end || threads < 0 || threads > 1024))
    return "threads is no number of threads";
  const tn_runtime_options options = {.head = TN_HEAD(tn_runtime_options),
                                      .n_threads = (int32_t)threads};
  h->must_take = o->fallback && !strcmp(o->fallback, "forbid");
  if (tn_runtime_create(&options, diag, &h->runtime)) return reason(diag);
  return load_plugins(h->runtime, o->plugins, diag);
}

void tflite_plugin_destroy_delegate(lrt_delegate *delegate) {
  host *h = (host *)(void *)delegate;
  if (!h) return;
  tn_runtime_destroy(h->runtime);
  free(h);
}

lrt_delegate *tflite_plugin_create_delegate(const char *const *keys, const char *const *values,
                                            size_t n, void (*report_error)(const char *)) {
  settings o = {NULL, NULL, NULL};
  char text[TEXT];
  tn_diag *diag = tn_diag_create();
  host *h = calloc(1, sizeof *h);
  const char *why = h && diag ? read_options(keys, values, n, &o, text, sizeof text) : "no memory";
  if (!why) why = open_runtime(&o, h, diag);
  if (why && report_error) {
    char whole[TEXT + 20];
    snprintf(whole, sizeof whole, "Tenon: %s", why);
    report_error(whole);
  }
  tn_diag_destroy(diag);
  if (why) {
    tflite_plugin_destroy_delegate(h ? &h->delegate : NULL);
    return NULL;
  }
  h->delegate = (lrt_delegate){.data = h, .prepare = prepare, .flags = LRT_ALLOW_DYNAMIC};
  return &h->delegate;
}
