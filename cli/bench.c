/* tenon bench: how long a model takes, and where the time goes. */
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "json.h"
#include "placement.h"
#include "precision.h"
#include "reports.h"

enum { MAX_RUNS = 1000000, PROFILED_RUNS = 5, PROFILED_EVENTS = 20000, OPS_TEXT = 64 };

typedef struct bench_options {
  cli_common common;
  cli_feed feed;
  cli_bench_view view;
} bench_options;

static const cli_option options[] = {
    {"repeat", "N", "time N runs (default: as many as --time allows, at least 5)", 'n'},
    {"time", "SECONDS", "time runs for so long (default 2)", 0},
    {"warm-up", "N", "runs before the clock starts (default 3)", 0},
    {"nodes", "N", "also list the N steps that took longest", 0},
    {"brief", NULL, "no table of operators", 'b'},
    {"on-device", "PATTERN", "inputs and outputs that stay in memory of the device, \"past_*\"", 0},
    {"json", "[FILE]", "as JSON, to stdout if no file is named", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_bench = {
    .name = "bench",
    .arguments = "MODEL",
    .summary = "time a model, and show where the time goes",
    .details =
        "Inputs that are not given are random, open dims 1. The spread is the middle half of the "
        "times: from the\nfirst to the third quartile. The tables of operators and steps are means "
        "of "
        "up to 5 further runs, with the\nprofiler on. \"Conv + Relu\": Relu runs on each range "
        "that "
        "Conv has written, and its time is part of Conv's.",
    .examples =
        "bench model.onnx --threads 4\nbench model.onnx --dim batch=8 --repeat 100 --json\n"
        "bench model.onnx --isa none --nodes 10",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

/* The times of one kernel of one operator, or of one step. */
typedef struct part {
  const char *op, *kernel, *node;
  int32_t step;
  char with[OPS_TEXT]; /* operators of steps that run on its ranges; their time is in it */
  int64_t n_calls;
  double ns, flops; /* of all profiled runs */
} part;

typedef TN_VEC(part) parts;

typedef struct result {
  uint64_t *ns; /* sorted */
  int64_t n;
  double load_ns, first_ns;
  parts by_kernel, by_step; /* longest first */
  double profiled_ns;
  int64_t n_profiled; /* runs */
  uint64_t cached_bytes;
  tn_plan_info plan;
} result;

/* ---- timing ---- */

static int by_time(const void *x, const void *y) {
  uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
  return (a > b) - (a < b);
}

static tn_status timed_run(cli_session *s, uint64_t *out_ns) {
  uint64_t begin = tn_now_ns();
  tn_status status = tn_session_run(s->session, s->diag);
  *out_ns = tn_now_ns() - begin;
  return status;
}

static bool is_enough(const cli_bench_view *o, const result *r, uint64_t elapsed_ns) {
  if (o->repeat) return r->n >= o->repeat;
  return r->n >= MAX_RUNS || (r->n >= 5 && (double)elapsed_ns >= o->seconds * 1e9);
}

static tn_status time_runs(cli_session *s, const cli_bench_view *o, result *r) {
  uint64_t ns = 0, shown = 0;
  tn_status status = timed_run(s, &ns);
  r->first_ns = (double)ns;
  for (int64_t k = 1; k < o->warm_up && !status; k++) status = timed_run(s, &ns);
  uint64_t begin = tn_now_ns();
  while (!status && !is_enough(o, r, tn_now_ns() - begin)) {
    status = timed_run(s, &r->ns[r->n]);
    r->n++;
    if (tn_now_ns() - shown < 200000000) continue;
    shown = tn_now_ns();
    cli_progress("%lld runs", (long long)r->n);
  }
  cli_progress("%s", "");
  qsort(r->ns, (size_t)r->n, sizeof *r->ns, by_time);
  return status;
}

/* Linear between neighbours; q from 0 to 1. */
static double quantile(const result *r, double q) {
  double at = q * (double)(r->n - 1);
  int64_t k = (int64_t)at;
  double low = (double)r->ns[k], high = (double)r->ns[k + 1 < r->n ? k + 1 : k];
  return low + (at - (double)k) * (high - low);
}

/* ---- profile ---- */

static bool same_part(const part *a, const part *b, bool step) {
  if (step) return a->step == b->step && !strcmp(a->node, b->node) && !strcmp(a->op, b->op);
  return !strcmp(a->op, b->op) && !strcmp(a->kernel, b->kernel) && !strcmp(a->with, b->with);
}

static void add(parts *list, const part *p, bool step) {
  for (int64_t k = 0; k < list->n; k++) {
    part *q = &list->data[k];
    if (!same_part(q, p, step)) continue;
    q->n_calls++;
    q->ns += p->ns;
    q->flops += p->flops;
    return;
  }
  (void)tn_vec_push(tn_default_allocator(), list, *p); /* for lack of memory a row is missing */
}

static int by_cost(const void *x, const void *y) {
  const part *a = x, *b = y;
  return (a->ns < b->ns) - (a->ns > b->ns);
}

static void sort(parts *list) {
  if (list->n) qsort(list->data, (size_t)list->n, sizeof *list->data, by_cost);
}

/* Events come in the order in which they ended. */
double cli_event_own_ns(const cli_session *s, int64_t index, const tn_profile_event *e) {
  double ns = (double)(e->end_ns - e->begin_ns);
  uint64_t until = e->end_ns;
  for (int64_t k = index - 1; k >= 0; k--) {
    tn_profile_event in = {.head = TN_HEAD(tn_profile_event)};
    if (tn_session_event(s->session, k, &in) || in.run != e->run || in.begin_ns < e->begin_ns)
      break;
    if (in.end_ns > until) continue; /* inside one that was taken off already */
    ns -= (double)(in.end_ns - in.begin_ns);
    until = in.begin_ns;
  }
  return ns < 0 ? 0 : ns;
}

/* "Conv", or "Conv + Relu + Add": the operators of the steps that follow it go into buf. */
static void name_followers(const tn_profile_event *e, char *buf) {
  size_t n = 0;
  for (uint32_t k = 0; k < e->n_followers && n < OPS_TEXT; k++)
    n += (size_t)snprintf(buf + n, OPS_TEXT - n, " + %s", e->followers[k]);
}

/* Followers compute, too. */
static double flops_of(const cli_session *s, const tn_profile_event *e) {
  double flops = 0;
  for (int32_t k = 0; e->step >= 0 && k <= (int32_t)e->n_followers; k++) {
    tn_step_info step = {.head = TN_HEAD(tn_step_info)};
    if (!tn_session_step(s->session, e->step + k, &step)) flops += step.flops;
  }
  return flops;
}

static void read_profile(cli_session *s, result *r) {
  int64_t n = tn_session_n_events(s->session);
  for (int64_t k = 0; k < n; k++) {
    tn_profile_event e = {.head = TN_HEAD(tn_profile_event)};
    if (tn_session_event(s->session, k, &e)) break;
    part p = {e.op, e.kernel, e.node, e.step, "", 1, cli_event_own_ns(s, k, &e), flops_of(s, &e)};
    name_followers(&e, p.with);
    add(&r->by_kernel, &p, false);
    add(&r->by_step, &p, true);
    r->profiled_ns += p.ns;
  }
  sort(&r->by_kernel);
  sort(&r->by_step);
}

static tn_status profile(cli_session *s, result *r) {
  tn_status status = tn_session_profile(s->session, 1);
  for (; r->n_profiled < PROFILED_RUNS && !status; r->n_profiled++) {
    if (r->n_profiled && tn_session_n_events(s->session) > PROFILED_EVENTS) break;
    status = tn_session_run(s->session, s->diag);
  }
  if (status) return status;
  read_profile(s, r);
  r->plan.head = (tn_head)TN_HEAD(tn_plan_info);
  return tn_session_plan(s->session, &r->plan);
}

/* ---- text ---- */

static void print_parts(const result *r, const parts *list, int64_t most, bool step) {
  static const char *const head[] = {"time",     "share",  "calls", "GFLOP/s",
                                     "operator", "kernel", "node"};
  cli_table t;
  cli_table_init(&t, step ? 7 : 6, 15);
  cli_table_row(&t, head);
  for (int64_t k = 0; k < list->n && k < most; k++) {
    const part *p = &list->data[k];
    char time[CLI_UNIT_TEXT], share[CLI_UNIT_TEXT], calls[CLI_UNIT_TEXT], rate[CLI_UNIT_TEXT] = "";
    snprintf(share, sizeof share, "%.1f%%",
             100 * p->ns / (r->profiled_ns > 0 ? r->profiled_ns : 1));
    snprintf(calls, sizeof calls, "%lld", (long long)(p->n_calls / r->n_profiled));
    if (p->flops > 0 && p->ns > 0) snprintf(rate, sizeof rate, "%.1f", p->flops / p->ns);
    char op[300];
    snprintf(op, sizeof op, "%s%s", p->op, p->with);
    const char *cells[] = {
        cli_time(p->ns / (double)r->n_profiled, time), share, calls, rate, op, p->kernel, p->node};
    cli_table_row(&t, cells);
  }
  cli_table_print(&t, 2);
}

static void print_result(const cli_bench_view *o, const result *r) {
  char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], c[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];
  double median = quantile(r, 0.5);
  int32_t threads = o->threads ? o->threads : tn_cpu_cores();
  printf("loaded in %s; planned and first run in %s\n", cli_time(r->load_ns, a),
         cli_time(r->first_ns, b));
  if (r->cached_bytes)
    printf("%s of prepared weights from the cache\n", cli_bytes((double)r->cached_bytes, a));
  printf("%lld runs, %d thread%s: median %s, shortest %s, spread %s to %s\n", (long long)r->n,
         threads, threads == 1 ? "" : "s", cli_time(median, a), cli_time((double)r->ns[0], b),
         cli_time(quantile(r, 0.25), c), cli_time(quantile(r, 0.75), d));
  if (r->plan.flops > 0)
    printf("%s FLOP, %.1f GFLOP/s\n", cli_count(r->plan.flops, a), r->plan.flops / median);
  if (!o->brief) {
    printf("\nby operator and kernel, mean of %lld profiled runs:\n", (long long)r->n_profiled);
    print_parts(r, &r->by_kernel, INT64_MAX, false);
  }
  if (!o->nodes) return;
  printf("\nby step, mean of %lld profiled runs:\n", (long long)r->n_profiled);
  print_parts(r, &r->by_step, o->nodes, true);
}

/* ---- JSON ---- */

static void json_parts(cli_json *to, const char *key, const result *r, const parts *list,
                       bool step) {
  cli_json *array = cli_json_array(to, key);
  for (int64_t k = 0; k < list->n; k++) {
    const part *p = &list->data[k];
    cli_json *o = cli_json_object(array, NULL);
    if (step) cli_json_int(o, "step", p->step);
    if (step) cli_json_text(o, "node", p->node);
    cli_json_text(o, "op", p->op);
    cli_json_text(o, "kernel", p->kernel);
    if (*p->with) cli_json_text(o, "with", p->with + 3);
    cli_json_int(o, "calls", p->n_calls / r->n_profiled);
    cli_json_number(o, "ns", p->ns / (double)r->n_profiled);
    cli_json_number(o, "flops", p->flops / (double)r->n_profiled);
  }
}

static bool write_json(const cli_session *s, const cli_bench_view *o, const result *r) {
  cli_json *json = cli_json_new();
  cli_json_text(json, o->is_op ? "operator" : "model", o->name);
  cli_json_int(json, "threads", o->threads ? o->threads : tn_cpu_cores());
  cli_json_int(json, "runs", r->n);
  cli_json *ns = cli_json_object(json, "ns");
  cli_json_number(ns, "load", r->load_ns);
  cli_json_number(ns, "first_run", r->first_ns);
  cli_json_number(ns, "median", quantile(r, 0.5));
  cli_json_number(ns, "min", (double)r->ns[0]);
  cli_json_number(ns, "quartile_1", quantile(r, 0.25));
  cli_json_number(ns, "quartile_3", quantile(r, 0.75));
  cli_json_number(ns, "max", (double)r->ns[r->n - 1]);
  cli_json_number(json, "flops", r->plan.flops);
  cli_json_int(json, "cached_weight_bytes", (int64_t)r->cached_bytes);
  cli_json_int(json, "profiled_runs", r->n_profiled); /* times below are means of these */
  cli_placement_json(json, s);
  json_parts(json, "kernels", r, &r->by_kernel, false);
  json_parts(json, "steps", r, &r->by_step, true);
  return cli_json_write_take(json, o->json);
}

/* ---- the command ---- */

static int measure(cli_session *s, const cli_bench_view *o, result *r) {
  int64_t room = o->repeat ? o->repeat : MAX_RUNS;
  r->ns = tn_alloc(tn_default_allocator(), (uint64_t)room * sizeof *r->ns);
  tn_status status = r->ns ? cli_inputs_randomize(&s->inputs) : TN_ERR_MEMORY;
  if (!status) status = cli_inputs_set(&s->inputs, s->session, false);
  const uint64_t begin = tn_now_ns();
  if (!status) status = cli_buffers_bind(s, o->on_device, o->n_on_device);
  const uint64_t bound_ns = tn_now_ns() - begin;
  if (!status) status = time_runs(s, o, r);
  r->first_ns += (double)bound_ns; /* where it plans */
  if (!status) status = profile(s, r);
  r->cached_bytes = tn_model_cached_bytes(s->model);
  int code = CLI_OK;
  if (status)
    code = cli_session_fail(s, status);
  else if (!cli_json_to_stdout(o->json))
    print_result(o, r), cli_precision_print(s), cli_placement_print(s, 0);
  if (!status && o->json && !write_json(s, o, r)) code = CLI_INPUT;
  if (!status && !code && !cli_placement_is_used(s)) code = CLI_FAILED;
  tn_free(tn_default_allocator(), r->ns, (uint64_t)room * sizeof *r->ns);
  tn_vec_free(tn_default_allocator(), &r->by_kernel);
  tn_vec_free(tn_default_allocator(), &r->by_step);
  return code;
}

int cli_bench_session(cli_session *s, const cli_bench_view *view, uint64_t begin_ns) {
  result r = {.load_ns = (double)(tn_now_ns() - begin_ns)};
  return measure(s, view, &r);
}

static int bench(const bench_options *o) {
  cli_session s;
  int code;
  uint64_t begin = tn_now_ns();
  if (cli_session_open(&s, &o->common, &o->feed, o->view.name, &code))
    code = cli_bench_session(&s, &o->view, begin);
  cli_session_close(&s);
  return code;
}

static bool set(void *self, int index, const char *value) {
  bench_options *o = self;
  cli_bench_view *v = &o->view;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_bench, value, &v->name);
    case 0: return cli_int("repeat", value, 1, MAX_RUNS, &v->repeat);
    case 1: return cli_double("time", value, &v->seconds);
    case 2: return cli_int("warm-up", value, 1, MAX_RUNS, &v->warm_up);
    case 3: return cli_int("nodes", value, 1, 1000000, &v->nodes);
    case 4: v->brief = true; return true;
    case 5: return cli_keep("--on-device", value, v->on_device, CLI_MAX_ON_DEVICE, &v->n_on_device);
    default: v->json = value ? value : "-"; return true;
  }
}

static int run(int argc, char **argv) {
  bench_options o = {.common = {.threads = 1}, .feed = CLI_FEED_INIT, .view = CLI_BENCH_INIT};
  cli_parser p = {&cli_bench, argc, argv, {&o.feed, &o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  o.view.threads = o.common.threads;
  return cli_need(&cli_bench, o.view.name, "a model") ? bench(&o) : CLI_USAGE;
}
