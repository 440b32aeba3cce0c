/* tenon report: a model as a page: graphs, kernels, times, memory, limits of the machine. */
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cpu.h"
#include "device/device.h"
#include "exec/profile.h"
#include "harness/peak.h"
#include "placement.h"
#include "reports.h"
#include "tenon/kit/tensor.h"

enum { MOST_RUNS = 1000, PROFILED_RUNS = 5, PROFILED_EVENTS = 60000, KEPT_CHOICES = 1000 };
enum { CACHE_BYTES = 128 << 10, MEMORY_BYTES = 64 << 20 };

typedef struct report_options {
  cli_common common;
  cli_feed feed;
  const char *model, *output, *compare;
  double seconds;
} report_options;

static const cli_option options[] = {
    {"output", "FILE", "the page to write (default report.html)", 'o'},
    {"compare", "FILE", "show it beside another page of tenon report", 0},
    {"time", "SECONDS", "time runs for so long (default 1)", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_report = {
    .name = "report",
    .arguments = "MODEL",
    .summary = "write a page that shows graph, kernels, times and memory of a model",
    .details =
        "One HTML file that needs nothing else: the graph as in the file and as it runs; of each "
        "node kernel,\ndevice, time, cost, layouts, and why other kernels were not taken; what "
        "threads and devices did;\nmemory over time; a roofline with what this machine was seen to "
        "do. Inputs that are not given are\nrandom, open dims 1.",
    .examples =
        "report model.onnx -o model.html\nreport model.onnx --threads 4 --dim batch=8\n"
        "report model.onnx --precision bf16 -o bf16.html --compare model.html",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

typedef struct times {
  uint64_t load_ns, first_ns, ns[MOST_RUNS];
  int64_t n;
  uint32_t n_profiled;
} times;

/* ---- running ---- */

static tn_status timed_run(cli_session *s, uint64_t *out_ns) {
  const uint64_t begin = tn_now_ns();
  const tn_status status = tn_session_run(s->session, s->diag);
  *out_ns = tn_now_ns() - begin;
  return status;
}

static int by_time(const void *x, const void *y) {
  const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
  return (a > b) - (a < b);
}

static tn_status time_runs(cli_session *s, double seconds, times *t) {
  tn_status status = timed_run(s, &t->first_ns);
  const uint64_t begin = tn_now_ns();
  while (!status && t->n < MOST_RUNS &&
         (t->n < 3 || (double)(tn_now_ns() - begin) < seconds * 1e9)) {
    cli_progress("run %lld", (long long)t->n + 1);
    status = timed_run(s, &t->ns[t->n++]);
  }
  qsort(t->ns, (size_t)t->n, sizeof *t->ns, by_time);
  return status;
}

static tn_status profile(cli_session *s, times *t) {
  const tn_pool *pool = s->runtime->pool;
  tn_status status = tn_session_profile(s->session, 1);
  if (!status)
    status = tn_profile_open_lanes(&s->session->profile, (uint32_t)tn_pool_n_threads(pool),
                                   s->model->planner.n_devices);
  while (!status && t->n_profiled < PROFILED_RUNS) {
    if (t->n_profiled && tn_session_n_events(s->session) > PROFILED_EVENTS) break;
    status = tn_session_run(s->session, s->diag);
    t->n_profiled++;
  }
  return status;
}

static tn_status measure(report *r, const report_options *o, times *t) {
  cli_session *s = &r->session;
  tn_status status = cli_inputs_randomize(&s->inputs);
  if (!status) status = cli_inputs_set(&s->inputs, s->session, false);
  if (!status) status = time_runs(s, o->seconds, t);
  if (!status) status = profile(s, t);
  cli_progress("%s", "");
  return status ? status : report_walk(r);
}

/* ---- what was measured ---- */

static void json_times(cli_json *to, const times *t) {
  cli_json *ns = cli_json_object(to, "ns");
  cli_json_int(ns, "load", (int64_t)t->load_ns);
  cli_json_int(ns, "first_run", (int64_t)t->first_ns);
  cli_json_int(ns, "median", (int64_t)t->ns[t->n / 2]);
  cli_json_int(ns, "min", (int64_t)t->ns[0]);
  cli_json_int(to, "runs", t->n);
  cli_json_int(to, "profiled_runs", t->n_profiled);
}

/* Of the last profiled run: [step, begin, end], in ns from its start. */
static void json_span(cli_json *list, const report *r, const tn_step *step, uint64_t begin_ns,
                      uint64_t end_ns, uint64_t zero_ns) {
  cli_json *span = cli_json_array(list, NULL);
  cli_json_int(span, NULL, report_step_index(r, step));
  cli_json_int(span, NULL, begin_ns > zero_ns ? (int64_t)(begin_ns - zero_ns) : 0);
  cli_json_int(span, NULL, end_ns > zero_ns ? (int64_t)(end_ns - zero_ns) : 0);
}

static cli_json *json_lane(cli_json *lanes, const char *name) {
  cli_json *lane = cli_json_object(lanes, NULL);
  cli_json_text(lane, "name", name);
  return cli_json_array(lane, "spans");
}

static void json_spans(cli_json *lanes, const report *r, uint32_t k, uint32_t run, uint64_t zero) {
  const tn_profile *p = &r->session.session->profile;
  char name[100];
  snprintf(name, sizeof name, k ? "thread %u" : "thread %u, the caller", k);
  if (k >= p->n_threads)
    snprintf(name, sizeof name, "%s", r->session.model->planner.devices[k - p->n_threads]->name);
  cli_json *spans = json_lane(lanes, name);
  for (int64_t i = 0; i < p->lanes[k].n; i++) {
    const tn_event *s = &p->lanes[k].data[i];
    if (s->run == run) json_span(spans, r, s->step, s->begin_ns, s->end_ns, zero);
  }
}

static void json_timeline(cli_json *to, const report *r, const times *t) {
  const tn_profile *p = &r->session.session->profile;
  const uint32_t run = t->n_profiled - 1;
  uint64_t zero = UINT64_MAX;
  for (int64_t k = 0; k < p->events.n; k++) {
    const tn_event *e = &p->events.data[k];
    if (e->run == run && e->begin_ns < zero) zero = e->begin_ns;
  }
  cli_json *lanes = cli_json_array(to, "lanes");
  cli_json *steps = json_lane(lanes, "steps");
  for (int64_t k = 0; k < p->events.n; k++) {
    const tn_event *e = &p->events.data[k];
    if (e->run == run) json_span(steps, r, e->step, e->begin_ns, e->end_ns, zero);
  }
  for (uint32_t k = 0; k < p->n_lanes; k++) json_spans(lanes, r, k, run, zero);
}

static void sum_times(report *r, const times *t) {
  const tn_session *session = r->session.session;
  for (int64_t k = 0; k < tn_session_n_events(session); k++) {
    tn_profile_event e = {.head = TN_HEAD(tn_profile_event)};
    if (tn_session_event(session, k, &e)) break;
    if (e.step >= 0 && e.step < r->tasks.n)
      r->tasks.data[e.step].ns += cli_event_own_ns(&r->session, k, &e) / t->n_profiled;
  }
}

/* ---- steps ---- */

static int64_t bytes_of(const tn_tensor *const *tensors, uint32_t n) {
  int64_t sum = 0;
  for (uint32_t k = 0; k < n; k++) {
    const int64_t bytes = tensors[k] ? tn_storage_bytes(tensors[k]) : 0;
    if (bytes > 0 && sum <= INT64_MAX - bytes) sum += bytes;
  }
  return sum;
}

/* Steps that are alike share a choice, and its refusals; the number of its list. */
static int64_t refusals_of(cli_json *lists, const tn_choice **seen, int64_t *n,
                           const tn_choice *choice, const tn_step_info *step) {
  for (int64_t k = *n - 1; k >= 0 && k >= *n - KEPT_CHOICES; k--)
    if (seen[k] == choice) return k;
  cli_refusals_json(cli_json_array(lists, NULL), step);
  seen[*n] = choice;
  return (*n)++;
}

static void json_steps(cli_json *to, report *r) {
  cli_json *steps = cli_json_array(to, "steps"), *lists = cli_json_array(to, "not_taken");
  const tn_choice **seen = tn_arena_alloc(&r->arena, ((uint64_t)r->tasks.n + 1) * sizeof *seen);
  int64_t n_seen = 0;
  if (!seen) r->status = TN_ERR_MEMORY;
  for (int32_t k = 0; seen && k < r->tasks.n; k++) {
    tn_step_info step = {.head = TN_HEAD(tn_step_info)};
    if (tn_session_step(r->session.session, k, &step)) break;
    cli_json *o = cli_step_json(steps, k, &step);
    const tn_choice *choice = r->tasks.data[k].task->step->choice;
    cli_json_int(o, "not_taken", refusals_of(lists, seen, &n_seen, choice, &step));
    cli_json_number(o, "ns", r->tasks.data[k].ns);
    cli_json_int(o, "bytes",
                 bytes_of(step.inputs, step.n_inputs) + bytes_of(step.outputs, step.n_outputs));
    if (k % 256 == 255) cli_progress("step %d of %lld", k + 1, (long long)r->tasks.n);
  }
  cli_progress("%s", "");
}

/* ---- the machine ---- */

typedef struct limits {
  uint64_t isa;
  _Atomic uint64_t gflops, cache_gbps, memory_gbps; /* in thousandths, of all threads */
} limits;

static void see_limits(void *arg, int64_t begin, int64_t end, uint32_t worker) {
  limits *l = arg;
  (void)worker;
  for (int64_t k = begin; k < end; k++) {
    atomic_fetch_add(&l->gflops, (uint64_t)(1000 * check_peak_gflops(l->isa)));
    atomic_fetch_add(&l->cache_gbps, (uint64_t)(1000 * check_read_gbps(CACHE_BYTES)));
    atomic_fetch_add(&l->memory_gbps, (uint64_t)(1000 * check_read_gbps(MEMORY_BYTES)));
  }
}

/* As many threads as the model has, all at once. */
static void json_machine(cli_json *to, const report *r) {
  char isa[200];
  tn_runtime *runtime = r->session.runtime;
  limits l = {.isa = runtime->isa};
  cli_progress("%s", "what the machine can do");
  const int32_t n = tn_pool_n_threads(runtime->pool);
  tn_pool_run(runtime->pool, n, 1, 1, see_limits, &l);
  cli_progress("%s", "");
  cli_json *o = cli_json_object(to, "machine");
  cli_json_int(o, "threads", n);
  cli_json_int(o, "cores", tn_cpu_cores());
  cli_json_text(o, "isa", tn_isa_text(runtime->isa, isa, sizeof isa));
  cli_json_number(o, "gflops", (double)l.gflops / 1000);
  cli_json_number(o, "cache_gbps", (double)l.cache_gbps / 1000);
  cli_json_number(o, "memory_gbps", (double)l.memory_gbps / 1000);
}

/* ---- the document ---- */

static void json_values(cli_json *to, const tn_model *model, bool inputs) {
  const tn_graph_api *api = tn_graph_functions();
  const tn_graph *g = tn_model_graph(model);
  const int32_t n = inputs ? tn_model_n_inputs(model) : tn_model_n_outputs(model);
  char type[CLI_TYPE_TEXT];
  cli_json *list = cli_json_array(to, inputs ? "inputs" : "outputs");
  for (int32_t k = 0; k < n; k++) {
    const int32_t value = inputs ? api->input(g, k) : api->output(g, k);
    cli_json *o = cli_json_object(list, NULL);
    cli_json_text(o, "name", api->value_name(g, value));
    cli_json_text(o, "type", cli_type_text(api->value_type(g, value), g, value, type));
  }
}

static void json_plan(cli_json *to, const report *r, const char *path) {
  tn_plan_info plan = {.head = TN_HEAD(tn_plan_info)};
  struct stat file;
  (void)tn_session_plan(r->session.session, &plan);
  if (!stat(path, &file) && S_ISREG(file.st_mode)) cli_json_int(to, "file_bytes", file.st_size);
  cli_json_number(to, "cost_ns", plan.cost_ns);
  cli_json_number(to, "flops", plan.flops);
  cli_memory_json(to, &plan);
  cli_placement_json(to, &r->session);
}

/* How it was made differently from what is usual, in words. */
static void json_settings(cli_json *to, const cli_common *c) {
  cli_json *list = cli_json_array(to, "settings");
  if (c->no_optimize) cli_json_text(list, NULL, "not optimised");
  if (c->precision) cli_json_text(list, NULL, tn_dtype_name(c->precision));
  for (int k = 0; k < c->n_devices; k++) cli_json_text(list, NULL, c->devices[k]);
  for (int k = 0; k < c->n_plugins; k++) cli_json_text(list, NULL, c->plugins[k]);
  for (int k = 0; k < c->n_pins; k++) cli_json_text(list, NULL, c->pins[k]);
}

static cli_json *document(report *r, const report_options *o, const tn_model *read,
                          const times *t) {
  cli_json *all = cli_json_new(), *json = cli_json_object(all, "report");
  cli_json_text(json, "tenon", tn_version());
  cli_json_text(json, "model", o->model);
  cli_json_text(json, "format", tn_model_format(read));
  json_settings(json, &o->common);
  json_values(json, read, true);
  json_values(json, read, false);
  json_machine(json, r);
  json_times(json, t);
  json_plan(json, r, o->model);
  report_graph_before(r, json, tn_model_graph(read));
  report_graph_after(r, json);
  json_steps(json, r);
  json_timeline(json, r, t);
  report_memory(r, json);
  return all;
}

static int write_report(report *r, const report_options *o, const times *t) {
  tn_model *read = NULL;
  cli_session *s = &r->session;
  tn_status status =
      cli_load(s->runtime, &o->common, o->model, TN_MODEL_GRAPH_ONLY, s->diag, &read);
  int code = status ? cli_session_fail(s, status) : CLI_OK;
  if (!status) sum_times(r, t);
  cli_json *json = status ? NULL : document(r, o, read, t);
  if (!code && r->status) {
    cli_json_free(json);
    code = cli_session_fail(s, r->status);
  } else if (!code) {
    code = report_page_write_take(json, o->compare, o->output);
  }
  tn_model_destroy(read);
  return code;
}

static int make_report(const report_options *o) {
  report r = {.status = TN_OK};
  times t = {.load_ns = tn_now_ns()};
  int code;
  tn_arena_init(&r.arena, tn_default_allocator());
  if (cli_session_open(&r.session, &o->common, &o->feed, o->model, &code)) {
    t.load_ns = tn_now_ns() - t.load_ns;
    const tn_status status = measure(&r, o, &t);
    code = status ? cli_session_fail(&r.session, status) : write_report(&r, o, &t);
  }
  tn_vec_free(tn_default_allocator(), &r.frames);
  tn_vec_free(tn_default_allocator(), &r.tasks);
  tn_arena_clear(&r.arena);
  cli_session_close(&r.session);
  return code;
}

static bool set(void *self, int index, const char *value) {
  report_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_report, value, &o->model);
    case 0: o->output = value; return true;
    case 1: o->compare = value; return true;
    default: return cli_double("time", value, &o->seconds);
  }
}

static int run(int argc, char **argv) {
  report_options o = {
      .common = {.threads = 1}, .feed = CLI_FEED_INIT, .output = "report.html", .seconds = 1};
  cli_parser p = {&cli_report, argc, argv, {&o.feed, &o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  return cli_need(&cli_report, o.model, "a model") ? make_report(&o) : CLI_USAGE;
}
