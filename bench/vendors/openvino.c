/* What OpenVINO costs as an accelerator beside OpenVINO alone: both by its C API, from one library
 * in one process, with the same memory, threads and precision, by turns on all models.
 * usage: openvino LIBRARY PLUGIN THREADS ROUNDS MODEL.onnx...
 *
 * A round takes each model in turn: a slice of runs alone, then one as accelerator. What is printed
 * of each model: medians of the slices' medians, and the median of the rounds' ratios, with the
 * quarter and three quarters of them; above 1 the accelerator is faster. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../plugins/openvino/ov.h"
#include "tenon/tenon.h"

/* A shape as ov_model_reshape() wants it: ranges from min to max. */
typedef struct range {
  int64_t min, max;
} range;
typedef struct ranges {
  range rank;
  range *dims;
} ranges;

enum { MOST_MODELS = 32, MOST_PORTS = 64, MOST_ROUNDS = 1000, MOST_RUNS = 4000 };
static const double SLICE_NS = 3e7;

static struct functions {
  ov_api api;
  int (*read_model)(const ov_core *, const char *path, const char *weights, ov_model **);
  int (*reshape)(const ov_model *, const char **names, const ranges *, size_t n);
} alone;

typedef struct subject {
  const char *path;
  tn_model *model;
  tn_session *session;
  ov_request *request;
  int n_islands, n_steps;
  double alone_ns[MOST_ROUNDS], through_ns[MOST_ROUNDS];
} subject;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(const double *values, int n, double q) {
  static double sorted[MOST_RUNS];
  memcpy(sorted, values, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, by_size);
  return sorted[(int)((n - 1) * q)];
}

/* ---- OpenVINO alone ---- */

static int find(void *library, const char *name, void *out) {
  void *symbol = dlsym(library, name);
  if (symbol) memcpy(out, &symbol, sizeof symbol);
  return symbol != NULL;
}

static int open_library(const char *path) {
#define OV_NAME(name, result, arguments) {"ov_" #name, offsetof(ov_api, name)},
  static const struct {
    const char *name;
    size_t offset;
  } all[] = {OV_FUNCTIONS(OV_NAME)};
#undef OV_NAME
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  int ok = library != NULL;
  for (size_t k = 0; k < sizeof all / sizeof *all && ok; k++)
    ok = find(library, all[k].name, (char *)&alone.api + all[k].offset);
  return ok && find(library, "ov_core_read_model", &alone.read_model) &&
         find(library, "ov_model_reshape", &alone.reshape);
}

/* Input k with unknown dims 1, and memory. */
static int input_of(tn_model *model, int32_t k, tn_tensor *t) {
  *t = (tn_tensor){.head = TN_HEAD(tn_tensor)};
  if (tn_model_input_type(model, k, t)) return 0;
  for (int32_t d = 0; d < t->rank; d++)
    if (t->shape[d] < 0) t->shape[d] = 1;
  const int64_t n = tn_tensor_elements(t);
  t->data = calloc((size_t)tn_tensor_bytes(t) + 64, 1);
  for (int64_t i = 0; t->data && t->dtype == TN_F32 && i < n; i++)
    ((float *)t->data)[i] = (float)(i * 7919 % 1000) / 1000.0f;
  return t->data != NULL;
}

static int reshape(const ov_model *model, tn_model *ours, const tn_tensor *inputs, int32_t n) {
  static range dims[MOST_PORTS][TN_MAX_RANK];
  static ranges shapes[MOST_PORTS];
  const char *names[MOST_PORTS];
  for (int32_t k = 0; k < n; k++) {
    names[k] = tn_model_input_name(ours, k);
    shapes[k] = (ranges){{inputs[k].rank, inputs[k].rank}, dims[k]};
    for (int32_t d = 0; d < inputs[k].rank; d++)
      dims[k][d] = (range){inputs[k].shape[d], inputs[k].shape[d]};
  }
  return !alone.reshape(model, names, shapes, (size_t)n);
}

/* OpenVINO's number of an element type. */
static int number_of(uint32_t dtype) {
  static const uint8_t numbers[] = {[TN_F32] = 4,  [TN_U8] = 16,  [TN_I8] = 7, [TN_I32] = 9,
                                    [TN_I64] = 10, [TN_BOOL] = 1, [TN_F16] = 3};
  return dtype < sizeof numbers ? numbers[dtype] : 0;
}

static int start_alone(const ov_core *core, subject *s, const tn_tensor *inputs, int32_t n) {
  ov_model *model = NULL;
  ov_compiled *compiled = NULL;
  int ok = !alone.read_model(core, s->path, NULL, &model) && reshape(model, s->model, inputs, n) &&
           !alone.api.core_compile_model(core, model, "CPU", 0, &compiled) &&
           !alone.api.compiled_model_create_infer_request(compiled, &s->request);
  for (int32_t k = 0; k < n && ok; k++) {
    ov_tensor *tensor = NULL;
    const ov_shape shape = {inputs[k].rank, (int64_t *)(uintptr_t)inputs[k].shape};
    ok = !alone.api.tensor_create_from_host_ptr(number_of(inputs[k].dtype), shape, inputs[k].data,
                                                &tensor) &&
         !alone.api.infer_request_set_input_tensor_by_index(s->request, (size_t)k, tensor);
  }
  return ok && !alone.api.infer_request_infer(s->request);
}

/* ---- as accelerator ---- */

static int start_through(tn_runtime *runtime, subject *s, tn_tensor *inputs, int32_t *out_n) {
  static const char *const devices[] = {"openvino-cpu"};
  tn_model_options options = {.head = TN_HEAD(tn_model_options)};
  tn_diag *diag = tn_diag_create();
  options.devices = devices;
  options.n_devices = 1;
  options.fallback = TN_FALLBACK_WARN;
  int ok = !tn_model_load(runtime, s->path, &options, diag, &s->model) &&
           !tn_session_create(s->model, diag, &s->session);
  const int32_t n = ok ? tn_model_n_inputs(s->model) : 0;
  for (int32_t k = 0; k < n && ok; k++)
    ok = k < MOST_PORTS && input_of(s->model, k, &inputs[k]) &&
         !tn_session_set_input(s->session, k, &inputs[k], diag);
  ok = ok && !tn_session_run(s->session, diag);
  tn_plan_info info = {.head = TN_HEAD(tn_plan_info)};
  if (ok && !tn_session_plan(s->session, &info)) {
    s->n_steps = info.n_steps;
    for (int32_t k = 0; k < info.n_steps; k++) {
      tn_step_info step = {.head = TN_HEAD(tn_step_info)};
      s->n_islands += !tn_session_step(s->session, k, &step) && step.island_nodes > 0;
    }
  }
  if (!ok) fprintf(stderr, "%s: %s\n", s->path, tn_diag_text(diag));
  tn_diag_destroy(diag);
  *out_n = n;
  return ok;
}

/* ---- measuring ---- */

static double slice(const subject *s, int is_alone) {
  static double times[MOST_RUNS];
  int n = 0;
  for (double begin = now_ns(), end = begin + SLICE_NS; begin < end && n < MOST_RUNS; n++) {
    if (is_alone)
      (void)alone.api.infer_request_infer(s->request);
    else
      (void)tn_session_run(s->session, NULL);
    const double now = now_ns();
    times[n] = now - begin;
    begin = now;
  }
  return quantile(times, n, 0.5);
}

static void print(const subject *s, int n_rounds) {
  double ratios[MOST_ROUNDS];
  for (int k = 0; k < n_rounds; k++) ratios[k] = s->alone_ns[k] / s->through_ns[k];
  printf("%-70s %10.2f %10.2f   %.3f (%.3f .. %.3f)  %d island%s, %d step%s\n", s->path,
         quantile(s->alone_ns, n_rounds, 0.5) / 1e3, quantile(s->through_ns, n_rounds, 0.5) / 1e3,
         quantile(ratios, n_rounds, 0.5), quantile(ratios, n_rounds, 0.25),
         quantile(ratios, n_rounds, 0.75), s->n_islands, s->n_islands == 1 ? "" : "s", s->n_steps,
         s->n_steps == 1 ? "" : "s");
}

int main(int argc, char **argv) {
  static subject subjects[MOST_MODELS];
  const int n_rounds = argc > 5 ? atoi(argv[4]) : 0;
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  tn_diag *diag = tn_diag_create();
  ov_core *core = NULL;
  int n = 0;
  if (n_rounds < 1 || n_rounds > MOST_ROUNDS || argc - 5 > MOST_MODELS) return 2;
  setenv("TENON_OPENVINO", argv[1], 1);
  setenv("TENON_OPENVINO_THREADS", argv[3], 1);
  options.n_threads = atoi(argv[3]);
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  if (!open_library(argv[1]) || alone.api.core_create(&core) ||
      alone.api.core_set_property(core, "CPU", "INFERENCE_NUM_THREADS", argv[3]) ||
      alone.api.core_set_property(core, "CPU", "PERFORMANCE_HINT", "LATENCY") ||
      alone.api.core_set_property(core, "CPU", "INFERENCE_PRECISION_HINT", "f32") ||
      tn_runtime_create(&options, diag, &runtime) ||
      tn_runtime_load_plugin(runtime, argv[2], NULL, 0, diag)) {
    fprintf(stderr, "%s or %s cannot be used: %s\n", argv[1], argv[2], tn_diag_text(diag));
    return 1;
  }
  for (int k = 5; k < argc; k++) {
    static tn_tensor inputs[MOST_MODELS][MOST_PORTS];
    int32_t n_inputs;
    subjects[n].path = argv[k];
    if (!start_through(runtime, &subjects[n], inputs[n], &n_inputs)) continue;
    if (start_alone(core, &subjects[n], inputs[n], n_inputs))
      n++;
    else
      fprintf(stderr, "%s: OpenVINO alone: %s\n", argv[k], alone.api.get_last_err_msg());
  }
  for (int round = -1; round < n_rounds; round++) /* the first warms up */
    for (int k = 0; k < n; k++) {
      const int is_alone_first = (round & 1) != 0;
      double first = slice(&subjects[k], is_alone_first),
             then = slice(&subjects[k], !is_alone_first);
      if (round < 0) continue;
      subjects[k].alone_ns[round] = is_alone_first ? first : then;
      subjects[k].through_ns[round] = is_alone_first ? then : first;
    }
  printf("%-70s %10s %10s   ratio\n", "model", "alone us", "through us");
  for (int k = 0; k < n; k++) print(&subjects[k], n_rounds);
  return 0;
}
