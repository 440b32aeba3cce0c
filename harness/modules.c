/* Modules that are vetted: what a compiler claims of a small graph is compiled, loaded and run, and
 * has to give what the CPU gives. All of that is in this process, a child that may be lost. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "accelerator/child.h"
#include "exec/model.h"
#include "harness/harness.h"
#include "harness/vet.h"
#include "plan/passes/islands.h"

enum { MAX_PARTS = 8, MAX_PORTS = 8 };

typedef struct trial {
  check_env *env;
  const tn_accelerator *compiler; /* its device is not open */
  tn_part parts[MAX_PARTS];
  tn_model *checked[MAX_PARTS]; /* as a worker has them */
  uint32_t n_parts;
  tn_nameless file;       /* the container */
  check_allocator device; /* what the device and its programs take memory from */
  const char *stage;
  tn_diag *diag;
  tn_arena arena;
} trial;

static const tn_allocator *memory(void) { return tn_default_allocator(); }

static const char *said(const trial *t, tn_status status) {
  const int64_t n = tn_diag_count(t->diag);
  return n ? tn_diag_message(t->diag, n - 1, NULL) : tn_status_text(status);
}

static const char answered[] = "it answered "; /* no status */

static void note(const trial *t, const char *format, const char *why) {
  char rule[CHECK_TEXT];
  snprintf(rule, sizeof rule, format, why);
  check_found(t->env, "note", rule);
}

/* ---- parts ---- */

static tn_model *load_part(const trial *t, const tn_part *part, uint64_t flags) {
  const tn_model_options options = {
      .head = TN_HEAD(tn_model_options), .format = "onnx", .flags = (uint32_t)flags};
  tn_model *model = NULL;
  if (tn_model_load_memory(t->env->runtime, part->bytes, part->size, NULL, &options, t->diag,
                           &model))
    check_die("a part cannot be read: %s", said(t, TN_ERR_INVALID));
  return model;
}

/* All that is claimed, whatever it costs. */
static void outline(trial *t, tn_graph *g, tn_claim *const *claims) {
  const tn_partition_options options = {.transfer_fixed_ns = 0, .max_islands = MAX_PARTS};
  tn_island *islands = NULL;
  int32_t n = 0;
  for (int32_t id = 0; id < (int32_t)g->nodes.n; id++) {
    if (!claims[id]) continue;
    claims[id]->cost_host_ns = 1;
    claims[id]->cost_native_ns = 0;
  }
  if (tn_partition_cut(g, (const tn_claim *const *)claims, &options, &t->arena, &islands, &n))
    check_die("no islands");
  for (int32_t k = 0; k < n && k < MAX_PARTS; k++) {
    tn_part *part = &t->parts[t->n_parts++];
    if (tn_part_outline(g, islands[k].nodes, islands[k].n_nodes, &t->arena, t->diag, part) ||
        tn_part_to_bytes(memory(), t->env->runtime->registry, part, t->diag))
      check_die("no part: %s", said(t, TN_ERR_MEMORY));
    t->checked[k] = load_part(t, part, TN_MODEL_CHECKED);
  }
}

/* ---- compile() and release() ---- */

static uint64_t constants_sum(const trial *t) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < t->n_parts; k++)
    sum = sum * 31 + check_constants_sum(tn_model_graph(t->checked[k]));
  return sum;
}

static void stage(void *ctx, const char *text) {
  trial *t = ctx;
  t->stage = text;
  check_doing(t->env, "%s", text);
}

static tn_status write_answer(void *ctx, const void *data, uint64_t size) {
  return tn_nameless_write(&((trial *)ctx)->file, data, size);
}

/* False: there is no module, and it has been told why. That it fails is no breach: the kit that it
 * needs is not here, say. */
static bool compile(trial *t) {
  const tn_graph *graphs[MAX_PARTS];
  const tn_compile_request request = {.compiler = t->compiler->compiler->compiler.name,
                                      .target = t->compiler->name,
                                      .key = "vet",
                                      .n_parts = t->n_parts,
                                      .parts = t->parts};
  for (uint32_t k = 0; k < t->n_parts; k++) graphs[k] = tn_model_graph(t->checked[k]);
  if (tn_nameless_open(&t->file, t->diag)) check_die("no file: %s", said(t, TN_ERR_IO));
  const uint64_t sum = constants_sum(t);
  const tn_status status =
      tn_compile_here(t->compiler, &request, graphs, stage, write_answer, t, t->diag);
  check_doing(t->env, "%s", "");
  if (constants_sum(t) != sum) check_fail(t->env, "compile() changes constants of its parts");
  if (!status) return true;
  if (strcmp(t->stage, "compile()") || !strncmp(said(t, status), answered, strlen(answered)))
    check_fail(t->env, "compile(): %s", said(t, status));
  else
    note(t, "compile() fails: %.300s", said(t, status));
  return false;
}

/* ---- run() ---- */

/* Tensors of one run, at places of their own. */
typedef struct ports {
  check_buffer *buffers[MAX_PORTS];
  tn_tensor tensors[MAX_PORTS], *list[MAX_PORTS];
  uint32_t n;
} ports;

static void add_port(const trial *t, ports *p, const tn_tensor *type, const char *name) {
  const int64_t bytes = tn_tensor_bytes(type);
  if (p->n == MAX_PORTS || bytes < 0 || type->dtype != TN_F32) check_die("a port of %s", name);
  check_buffer *b = check_buffer_new(t->env, (uint64_t)bytes, 64, true, name);
  p->buffers[p->n] = b;
  p->tensors[p->n] = *type;
  p->tensors[p->n].data = b->data;
  p->list[p->n] = &p->tensors[p->n];
  p->n++;
}

static void protect(ports *p) {
  for (uint32_t k = 0; k < p->n; k++) check_buffer_protect(p->buffers[k], true);
}

/* Nobody may touch them any more. */
static void take(ports *p) {
  for (uint32_t k = 0; k < p->n; k++) check_buffer_take(p->buffers[k]);
}

static void free_ports(const trial *t, ports *p) {
  for (uint32_t k = 0; k < p->n; k++) check_buffer_free(t->env, p->buffers[k]);
}

static void fill(ports *p, uint32_t seed) {
  for (uint32_t k = 0; k < p->n; k++) {
    float *x = p->tensors[k].data;
    for (int64_t i = 0; i < tn_tensor_elements(&p->tensors[k]); i++) {
      seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
      x[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
  }
}

/* What the CPU makes of the part. */
static void run_here(const trial *t, tn_session *session, const ports *in) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < in->n && !s; k++)
    s = tn_session_set_input(session, (int32_t)k, in->list[k], t->diag);
  if (!s) s = tn_session_run(session, t->diag);
  if (s) check_die("the part does not run here: %s", said(t, s));
}

/* what: "run()" or "wait()". */
static void compare(const trial *t, const char *what, uint32_t output, const tn_tensor *got,
                    const tn_tensor *want) {
  static const uint32_t untouched = UINT32_MAX;
  const float *x = got->data, *y = want->data;
  for (int64_t k = 0; k < tn_tensor_elements(want); k++) {
    if (fabsf(x[k] - y[k]) <= 1e-3f + 1e-2f * fabsf(y[k])) continue;
    if (!memcmp(&x[k], &untouched, sizeof untouched))
      check_fail(t->env, "%s does not write element %lld of output %u", what, (long long)k, output);
    else
      check_fail(t->env, "%s: element %lld of output %u is %g, the CPU has %g", what, (long long)k,
                 output, (double)x[k], (double)y[k]);
    return;
  }
}

static void look_at_ports(const trial *t, const ports *p, const char *what) {
  for (uint32_t k = 0; k < p->n; k++)
    if (!check_buffer_intact(p->buffers[k]))
      check_fail(t->env, "run() writes outside of %s %u", what, k);
}

/* They are afterwards what they were when they were shown. */
static void look_at_tensors(const trial *t, ports *p, const ports *shown, const char *what) {
  for (uint32_t k = 0; k < p->n; k++)
    if (memcmp(&p->tensors[k], &shown->tensors[k], sizeof p->tensors[k]))
      check_fail(t->env, "run() changes the tensor of %s %u, not its elements alone", what, k);
  memcpy(p->tensors, shown->tensors, sizeof p->tensors);
}

/* In one piece, or by start() and wait(). */
static tn_status run_once(const trial *t, const tn_island_step *step, bool in_halves,
                          const ports *in, const ports *out, char *text, size_t size) {
  const tn_tensor *const *inputs = (const tn_tensor *const *)in->list;
  check_doing(t->env, in_halves ? "start()" : "run()");
  tn_status s = in_halves
                    ? tn_island_start(step, inputs, (tn_tensor *const *)out->list, true, text, size)
                    : tn_island_run(step, inputs, (tn_tensor *const *)out->list, text, size);
  if (in_halves && !s) {
    check_doing(t->env, "wait()");
    s = tn_island_wait(step, text, size);
  }
  check_doing(t->env, "%s", "");
  if (s) check_fail(t->env, "%s: %s", in_halves ? "start() or wait() fails" : "run() fails", text);
  return s;
}

/* A pause in which what goes on behind run() is seen: outputs are read-only, inputs too. */
static void wait_for_late(const trial *t, ports *in, ports *out) {
  enum { LATE_NS = 3000000 };
  const struct timespec pause = {.tv_nsec = LATE_NS};
  protect(out);
  protect(in);
  check_doing(t->env, "what goes on behind run()");
  nanosleep(&pause, NULL);
  check_doing(t->env, "%s", "");
}

typedef struct one_run {
  ports in, out;
  bool ended; /* and its outputs are what they are to be */
} one_run;

static void run_there(const trial *t, const tn_island_step *step, bool in_halves, one_run *r,
                      tn_session *here) {
  char text[CHECK_TEXT];
  const ports in_shown = r->in, out_shown = r->out;
  for (uint32_t i = 0; i < r->out.n; i++)
    memset(r->out.list[i]->data, 0xFF, (size_t)tn_tensor_bytes(r->out.list[i]));
  run_here(t, here, &r->in);
  protect(&r->in);
  const tn_status s = run_once(t, step, in_halves, &r->in, &r->out, text, sizeof text);
  look_at_tensors(t, &r->out, &out_shown, "output");
  look_at_tensors(t, &r->in, &in_shown, "input");
  for (uint32_t i = 0; i < r->out.n && !s; i++)
    compare(t, in_halves ? "wait()" : "run()", i, r->out.list[i],
            tn_session_output(here, (int32_t)i));
  look_at_ports(t, &r->out, "output");
  look_at_ports(t, &r->in, "input");
  r->ended = s == TN_OK;
  if (!s) wait_for_late(t, &r->in, &r->out);
}

static void add_ports(const trial *t, const tn_module_entry *e, one_run *r) {
  for (uint32_t i = 0; i < e->n_inputs; i++) add_port(t, &r->in, &e->ports[i], "input");
  for (uint32_t i = 0; i < e->n_outputs; i++)
    add_port(t, &r->out, &e->ports[e->n_inputs + i], "output");
}

static void look_at_bits(const trial *t, const one_run *a, const one_run *b) {
  for (uint32_t i = 0; i < a->out.n && a->ended && b->ended; i++)
    if (memcmp(a->out.list[i]->data, b->out.list[i]->data, (size_t)tn_tensor_bytes(a->out.list[i])))
      check_fail(t->env, "run() gives other bits for the same inputs");
}

/* On two inputs; on the second twice, once in halves if it has them, which has to give the same
 * bits. Each time elsewhere in memory: what was before the last time is out of reach. */
static void try_runs(const trial *t, const tn_island_step *step, const tn_module_entry *e,
                     tn_session *here) {
  enum { RUNS = 3 };
  one_run runs[RUNS] = {{.ended = false}};
  long long live = 0;
  for (uint32_t k = 0; k < RUNS && check_unit_ok(t->env); k++) {
    add_ports(t, e, &runs[k]);
    fill(&runs[k].in, k < 2 ? k + 1 : 2);
    run_there(t, step, k == 1 && tn_island_has_halves(step), &runs[k], here);
    if (k == RUNS - 1 && atomic_load(&t->device.n_live) > live)
      check_fail(t->env, "run() takes memory of the host each time, and does not give it back");
    live = atomic_load(&t->device.n_live);
    if (k == 2) look_at_bits(t, &runs[1], &runs[2]);
    take(&runs[k].in);
    if (k == 0) take(&runs[k].out);
  }
  for (uint32_t k = 0; k < RUNS; k++) {
    free_ports(t, &runs[k].in);
    free_ports(t, &runs[k].out);
  }
}

static void try_part(const trial *t, const tn_loaded *loaded, uint32_t k) {
  const tn_island_step step = {.loaded = (tn_loaded *)(uintptr_t)loaded, .entry = k};
  tn_session *here = NULL;
  tn_model *model = load_part(t, &t->parts[k], 0);
  const tn_status s = tn_session_create(model, t->diag, &here);
  if (s) check_die("the part has no session: %s", said(t, s));
  try_runs(t, &step, &loaded->file.entries[k], here);
  tn_session_destroy(here);
  tn_model_destroy(model);
}

/* ---- the dispatcher ---- */

static void load_and_run(trial *t, tn_accelerator *device) {
  tn_mapping mapping;
  tn_loaded *loaded = NULL;
  if (tn_nameless_map(&t->file, t->diag, &mapping)) check_die("no mapping");
  check_doing(t->env, "load()");
  const tn_status s = tn_loaded_take(device, &mapping, t->parts, t->n_parts, t->diag, &loaded);
  check_doing(t->env, "%s", "");
  if (s) check_fail(t->env, "%s", said(t, s));
  for (uint32_t k = 0; k < t->n_parts && !s && check_unit_ok(t->env); k++) try_part(t, loaded, k);
  check_doing(t->env, "unload()");
  tn_loaded_destroy(loaded);
}

/* False: there is no device, or nobody who loads the module. */
static bool try_device(trial *t) {
  tn_accelerator *device = NULL;
  check_doing(t->env, "open()");
  const tn_status s = tn_accelerator_open(&t->device.base, t->env->runtime->registry,
                                          t->compiler->name, NULL, false, t->diag, &device);
  check_doing(t->env, "%s", "");
  if (s && strstr(said(t, s), answered)) {
    check_fail(t->env, "open(): %s", said(t, s));
    return false;
  }
  if (s) {
    note(t, "its modules were made, but not run: %.300s", said(t, s));
    return false;
  }
  load_and_run(t, device);
  check_doing(t->env, "close()");
  tn_accelerator_close(device);
  check_doing(t->env, "%s", "");
  return true;
}

/* ---- all ---- */

static void close_trial(trial *t) {
  tn_nameless_close(&t->file);
  for (uint32_t k = 0; k < t->n_parts; k++) {
    tn_model_destroy(t->checked[k]);
    tn_part_close(memory(), &t->parts[k]);
  }
  tn_diag_destroy(t->diag);
  tn_arena_clear(&t->arena);
}

bool check_module(check_env *env, const tn_accelerator *compiler, tn_graph *g,
                  tn_claim *const *claims) {
  trial t = {.env = env, .compiler = compiler, .stage = "", .diag = tn_diag_create()};
  t.file.fd = -1;
  if (!t.diag) check_die("out of memory");
  check_allocator_init(&t.device);
  tn_arena_init(&t.arena, memory());
  outline(&t, g, claims);
  const bool seen = t.n_parts && compile(&t) && try_device(&t);
  close_trial(&t);
  return seen;
}
