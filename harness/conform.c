/* Does a device or an accelerator compute what it takes? Operators one by one and small models, each
 * against the CPU, on several inputs, and twice on the same. */
#include "harness/conform.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "exec/exec.h"

/* ---- what is tried ---- */

typedef struct op_case {
  const char *op, *a, *b; /* names of its inputs; b NULL: it has one */
  int32_t rank_a, rank_b;
  int64_t shape_a[4], shape_b[4];
  const char *attr, *value; /* NULL: none */
  bool is_const;            /* b: as weights are */
} op_case;

enum { N_COMPARED = CHECK_CONFORM_OPS + CHECK_CONFORM_MODELS };

static const op_case cases[N_COMPARED] = {
    {"Add", "A", "B", 3, 3, {2, 3, 8}, {2, 3, 8}, NULL, NULL, false},
    {"Add", "A", "B", 3, 1, {2, 3, 8}, {8}, NULL, NULL, false},
    {"Sub", "A", "B", 2, 2, {5, 7}, {5, 7}, NULL, NULL, false},
    {"Mul", "A", "B", 2, 2, {5, 7}, {5, 7}, NULL, NULL, false},
    {"Mul", "A", "B", 1, 0, {1031}, {0}, NULL, NULL, false},
    {"Div", "A", "B", 2, 2, {5, 7}, {5, 7}, NULL, NULL, false},
    {"Max", "data_0", NULL, 2, 0, {5, 7}, {0}, NULL, NULL, false},
    {"Relu", "X", NULL, 4, 0, {1, 3, 9, 9}, {0}, NULL, NULL, false},
    {"LeakyRelu", "X", NULL, 2, 0, {3, 65}, {0}, "alpha", "0.25", false},
    {"Sigmoid", "X", NULL, 2, 0, {3, 65}, {0}, NULL, NULL, false},
    {"Tanh", "input", NULL, 2, 0, {3, 65}, {0}, NULL, NULL, false},
    {"Exp", "input", NULL, 2, 0, {3, 65}, {0}, NULL, NULL, false},
    {"Abs", "X", NULL, 1, 0, {1}, {0}, NULL, NULL, false},
    {"Neg", "X", NULL, 1, 0, {17}, {0}, NULL, NULL, false},
    {"Softmax", "input", NULL, 2, 0, {4, 33}, {0}, NULL, NULL, false},
    {"ReduceMean", "data", NULL, 3, 0, {2, 7, 33}, {0}, "axes", "1", false},
    {"MatMul", "A", "B", 2, 2, {17, 33}, {33, 9}, NULL, NULL, false},
    {"MatMul", "A", "B", 3, 3, {2, 5, 16}, {2, 16, 4}, NULL, NULL, false},
    {"Gemm", "A", "B", 2, 2, {8, 16}, {16, 24}, NULL, NULL, false},
    {"Gemm", "A", "B", 2, 2, {8, 16}, {24, 16}, "transB", "1", true},
    {"Conv", "X", "W", 4, 4, {1, 3, 9, 9}, {5, 3, 3, 3}, "pads", "1,1,1,1", true},
    {"Conv", "X", "W", 4, 4, {2, 4, 7, 8}, {4, 1, 3, 3}, "group", "4", true},
    {"MaxPool", "X", NULL, 4, 0, {1, 3, 9, 9}, {0}, "kernel_shape", "3,2", false},
    {"AveragePool", "X", NULL, 4, 0, {1, 3, 9, 9}, {0}, "kernel_shape", "2,2", false},
    {"GlobalAveragePool", "X", NULL, 4, 0, {1, 3, 9, 9}, {0}, NULL, NULL, false},
    {"Transpose", "data", NULL, 3, 0, {2, 3, 5}, {0}, NULL, NULL, false},
    {"Identity", "input", NULL, 2, 0, {4, 4}, {0}, NULL, NULL, false},
    /* models, of conform_models.c */
    {"model images", "x", NULL, 4, 0, {1, 3, 16, 16}, {0}, NULL, NULL, false},
    {"model attention", "x", NULL, 3, 0, {1, 12, 16}, {0}, NULL, NULL, false},
    {"model pieces", "x", NULL, 3, 0, {2, 12, 5}, {0}, NULL, NULL, false},
    {"model many elements", "x", NULL, 1, 0, {1031}, {0}, NULL, NULL, false},
};

/* OPSET: one that other runtimes have, too. */
enum { MAX_ELEMENTS = 4096, N_INPUTS = 3, OPSET = 13 };

typedef struct trial {
  const op_case *c;
  tn_tensor a, b;
  float data_a[MAX_ELEMENTS], data_b[MAX_ELEMENTS];
} trial;

/* "Conv X[1,3,9,9] W[5,3,3,3] pads=1,1,1,1" */
static void name_case(const op_case *c, char *text, size_t size) {
  const char *const inputs[] = {c->a, c->b};
  size_t n = (size_t)snprintf(text, size, "%s", c->op);
  for (int i = 0; i < 2 && inputs[i] && n < size; i++) {
    const int32_t rank = i ? c->rank_b : c->rank_a;
    n += (size_t)snprintf(text + n, size - n, " %s[", inputs[i]);
    for (int32_t k = 0; k < rank && n < size; k++)
      n += (size_t)snprintf(text + n, size - n, "%s%lld", k ? "," : "",
                            (long long)(i ? c->shape_b : c->shape_a)[k]);
    if (n < size) n += (size_t)snprintf(text + n, size - n, "]");
  }
  if (c->attr && n < size) snprintf(text + n, size - n, " %s=%s", c->attr, c->value);
}

/* Values between -2 and 2, none of them near 0. */
static void fill(float *data, int64_t n, uint32_t seed) {
  for (int64_t k = 0; k < n; k++) {
    seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
    const float x = 0.25f + (float)(seed >> 8) / (float)(1 << 24) * 1.75f;
    data[k] = seed >> 7 & 1 ? x : -x;
  }
}

static void fill_trial(trial *t, uint32_t seed) {
  fill(t->data_a, tn_tensor_elements(&t->a), seed);
  fill(t->data_b, tn_tensor_elements(&t->b), seed + 77);
}

/* ---- one of them, somewhere ---- */

static tn_status load(tn_runtime *rt, const trial *t, const tn_model_options *o, tn_diag *diag,
                      tn_model **model) {
  const op_case *c = t->c;
  const int index = (int)(c - cases) - CHECK_CONFORM_OPS;
  if (index >= 0) {
    tn_graph *g = check_conform_graph(rt, index, &t->a);
    return g ? tn_model_from_graph_take(rt, g, o, diag, model) : TN_ERR_MEMORY;
  }
  tn_op_arg args[3] = {{.name = c->a, .tensor = &t->a}};
  uint32_t n = 1;
  if (c->b)
    args[n++] = (tn_op_arg){.name = c->b, .tensor = &t->b, .flags = c->is_const ? TN_ARG_CONST : 0};
  if (c->attr) args[n++] = (tn_op_arg){.name = c->attr, .text = c->value};
  return tn_model_from_op(rt, c->op, OPSET, args, n, 1, o, diag, model);
}

static tn_status open_model(tn_runtime *rt, const trial *t, const tn_model_options *o,
                            tn_diag *diag, tn_model **model, tn_session **session) {
  const op_case *c = t->c;
  tn_status status = load(rt, t, o, diag, model);
  if (!status) status = tn_session_create(*model, diag, session);
  if (!status) status = tn_session_set_input(*session, 0, &t->a, diag);
  if (!status && c->b && !c->is_const) status = tn_session_set_input(*session, 1, &t->b, diag);
  return status;
}

/* Does a step run elsewhere than on the CPU? *out_why: else, what TARGET says of it. */
static bool is_taken(const tn_session *s, const char **out_why) {
  bool taken = false;
  *out_why = "";
  for (int32_t k = 0;; k++) {
    tn_step_info step = {.head = TN_HEAD(tn_step_info)};
    if (tn_session_step(s, k, &step)) return taken;
    taken = taken || step.island_nodes || step.segment >= 0;
    if (!**out_why && step.n_refusals) *out_why = step.refusals[0];
  }
}

/* "": the outputs are alike. */
static void compare(const tn_tensor *got, const tn_tensor *want, char *why, size_t size) {
  const float *x = got->data, *y = want->data;
  *why = 0;
  if (got->dtype != want->dtype || tn_tensor_elements(got) != tn_tensor_elements(want)) {
    snprintf(why, size, "another type or shape");
    return;
  }
  for (int64_t k = 0; k < tn_tensor_elements(want) && !*why; k++)
    if (!(fabsf(x[k] - y[k]) <= 1e-4f + 1e-3f * fabsf(y[k])))
      snprintf(why, size, "element %lld is %g, not %g", (long long)k, (double)x[k], (double)y[k]);
}

/* Runs both on several inputs; why: what went wrong. */
static void run_both(trial *t, tn_session *there, tn_session *here, tn_diag *diag, char *why,
                     size_t size) {
  float before[MAX_ELEMENTS];
  const int64_t n_said = tn_diag_count(diag);
  *why = 0;
  for (uint32_t k = 0; k < N_INPUTS && !*why; k++) {
    fill_trial(t, k + 1);
    if (tn_session_run(there, diag) || tn_session_run(here, diag)) {
      snprintf(why, size, "%.300s",
               tn_diag_count(diag) ? tn_diag_message(diag, tn_diag_count(diag) - 1, NULL) : "");
      return;
    }
    compare(tn_session_output(there, 0), tn_session_output(here, 0), why, size);
  }
  const tn_tensor *y = *why ? NULL : tn_session_output(there, 0);
  const size_t bytes = y ? (size_t)tn_tensor_bytes(y) : 0;
  if (!y || bytes > sizeof before) return;
  memcpy(before, y->data, bytes);
  if (tn_session_run(there, diag) || memcmp(before, tn_session_output(there, 0)->data, bytes))
    snprintf(why, size, "another run on the same input gives other bits");
  if (!*why && tn_diag_count(diag) > n_said) /* the CPU took over */
    snprintf(why, size, "%.300s", tn_diag_message(diag, n_said, NULL));
}

/* NULL: it is none. */
static tn_device *open_device(tn_runtime *rt, const char *target) {
  tn_diag *diag = tn_diag_create();
  tn_device *d = NULL;
  (void)tn_device_open(rt->devices, target, diag, &d);
  tn_diag_destroy(diag);
  return d;
}

static bool is_device(tn_runtime *rt, const char *target) {
  tn_device *d = open_device(rt, target);
  tn_device_close(d);
  return d != NULL;
}

/* An operator that any target may take. */
tn_status check_conform_open(tn_runtime *rt, const char *target, tn_diag *diag, int *out_n_cases) {
  const tn_tensor x = tn_tensor_make(TN_F32, 1, (int64_t[]){4}, NULL);
  const tn_op_arg args[] = {{.name = "A", .tensor = &x}, {.name = "B", .tensor = &x}};
  const tn_model_options there = {.head = TN_HEAD(tn_model_options),
                                  .devices = &target,
                                  .n_devices = 1,
                                  .fallback = TN_FALLBACK_FORBID};
  tn_model *model = NULL;
  const tn_status status = tn_model_from_op(rt, "Add", OPSET, args, 2, 1, &there, diag, &model);
  tn_model_destroy(model);
  *out_n_cases = N_COMPARED + (is_device(rt, target) ? CHECK_CONFORM_DRIVER : 0);
  const bool is_there =
      status != TN_ERR_NOT_FOUND && status != TN_ERR_MEMORY && status != TN_ERR_IO;
  return is_there ? TN_OK : status;
}

const char *check_conform_name(int index) {
  return index < N_COMPARED ? cases[index].op : check_conform_driver_name(index - N_COMPARED);
}

/* An operator or a model. */
static void conform(tn_runtime *rt, const char *target, const op_case *c, check_conformed *out) {
  trial t = {.c = c};
  tn_model *models[2] = {NULL, NULL};
  tn_session *sessions[2] = {NULL, NULL};
  tn_diag *diag = tn_diag_create();
  const char *refused = "";
  const tn_model_options there = {.head = TN_HEAD(tn_model_options),
                                  .devices = &target,
                                  .n_devices = 1,
                                  .fallback = TN_FALLBACK_WARN};
  *out = (check_conformed){.taken = false};
  name_case(c, out->name, sizeof out->name);
  t.a = tn_tensor_make(TN_F32, c->rank_a, c->shape_a, t.data_a);
  t.b = tn_tensor_make(TN_F32, c->rank_b, c->shape_b, t.data_b);
  fill_trial(&t, 1);
  tn_device *d = open_device(rt, target);
  tn_status status = open_model(rt, &t, NULL, diag, &models[0], &sessions[0]);
  if (!status) status = open_model(rt, &t, &there, diag, &models[1], &sessions[1]);
  if (!status) status = tn_session_prepare(sessions[1], diag);
  /* it was lost, or refused what plans need, and the policy let the CPU take over */
  if (status || (d && (tn_device_is_lost(d) || atomic_load(models[1]->planner.full))))
    snprintf(out->why, sizeof out->why, "%.300s",
             tn_diag_count(diag) ? tn_diag_message(diag, 0, NULL) : tn_status_text(status));
  out->taken = !*out->why && is_taken(sessions[1], &refused);
  snprintf(out->refused, sizeof out->refused, "%s", out->taken ? "" : refused);
  if (out->taken) run_both(&t, sessions[1], sessions[0], diag, out->why, sizeof out->why);
  for (int k = 0; k < 2; k++) {
    tn_session_destroy(sessions[k]);
    tn_model_destroy(models[k]);
  }
  tn_device_close(d);
  tn_diag_destroy(diag);
}

void check_conform(tn_runtime *rt, const char *target, int index, check_conformed *out) {
  if (index < N_COMPARED)
    conform(rt, target, &cases[index], out);
  else
    check_conform_driver(rt, target, index - N_COMPARED, out);
}
