/* tenon test: runs folders of models with stored inputs and outputs, and compares. Each case runs
 * in a child process, so that neither a crash nor an endless loop takes the others down. The
 * runtime is made before, once for all, unless it has threads, which a child would not get. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "json.h"
#include "test_sets.h"

enum { PASSED, FAILED, SKIPPED, WHY = 600, TIMEOUT_S = 120 };

typedef struct verdict {
  int outcome;
  char why[WHY];
} verdict;

typedef struct suite {
  cli_common common;
  tn_runtime *runtime; /* NULL: each case makes its own */
  cli_tolerance tolerance;
  bool quiet, no_fork, silent;
  bool broken; /* a folder could not be read */
  tn_arena arena;
  cli_json *json; /* list of cases; NULL: not wanted */
  int64_t count[3];
} suite;

static const cli_option options[] = {
    {"rtol", "X", "relative tolerance of float outputs (default 1e-3)", 0},
    {"atol", "X", "absolute tolerance of float outputs (default 1e-5)", 0},
    {"json", "FILE", "write the results as JSON; -: to stdout", 0},
    {"quiet", NULL, "print only cases that do not pass", 'q'},
    {"no-fork", NULL, "run all cases in this process (for debuggers)", 0},
    {NULL, NULL, NULL, 0}};

static verdict say(int outcome, const char *text) {
  verdict v = {.outcome = outcome};
  snprintf(v.why, sizeof v.why, "%s", text);
  for (char *c = v.why; *c; c++)
    if (*c == '\n') *c = ' ';
  return v;
}

/* ---- one case ---- */

static verdict run_set(cli_set *d, const cli_tolerance *t) {
  char why[WHY];
  tn_status s = cli_set_feed(d);
  if (!s) s = tn_session_run(d->session, d->diag);
  if (s) return say(s == TN_ERR_UNSUPPORTED ? SKIPPED : FAILED, tn_diag_text(d->diag));
  const int32_t n = cli_set_compare(d, t, why, sizeof why);
  return n < 0 ? say(FAILED, why) : n ? say(PASSED, "") : say(SKIPPED, "no expected outputs");
}

/* In turn, on one session: a model may keep what it has seen. */
static verdict run_sets(cli_set *d, const cli_tolerance *t) {
  verdict v = say(SKIPPED, "no expected outputs");
  for (d->number = 0; d->number < 1000 && cli_set_is_there(d); d->number++) {
    cli_store_init(&d->store);
    v = run_set(d, t);
    cli_store_free(&d->store);
    if (v.outcome != PASSED) break;
  }
  return v;
}

/* What cannot be loaded fails only if it should have answered something: broken files are cases,
 * too. */
static verdict not_loaded(const cli_case *c, tn_status status, tn_diag *diag) {
  char text[WHY];
  const bool skips = status == TN_ERR_UNSUPPORTED || !c->layout;
  snprintf(text, sizeof text, "%s%s", c->layout ? "" : "no expected outputs; ", tn_diag_text(diag));
  return say(skips ? SKIPPED : FAILED, text);
}

static verdict run_model(const suite *s, const cli_case *c, tn_runtime *runtime, tn_diag *diag) {
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_status status = cli_load(runtime, &s->common, c->model, 0, diag, &model);
  if (!status) status = tn_session_create(model, diag, &session);
  verdict v = say(SKIPPED, "no expected outputs");
  if (status) {
    v = not_loaded(c, status, diag);
  } else if (c->layout) {
    cli_tolerance t = s->tolerance;
    t.types_only = cli_is_random(runtime, tn_model_graph(model));
    cli_set d = {.runtime = runtime, .model = model, .session = session, .c = c, .diag = diag};
    v = run_sets(&d, &t);
  }
  tn_session_destroy(session);
  tn_model_destroy(model);
  return v;
}

static verdict run_here(const suite *s, const cli_case *c) {
  tn_runtime *runtime = s->runtime ? s->runtime : cli_runtime(&s->common);
  tn_diag *diag = tn_diag_create();
  verdict v = runtime && diag ? run_model(s, c, runtime, diag) : say(FAILED, "no runtime");
  tn_diag_destroy(diag);
  if (!s->runtime) tn_runtime_destroy(runtime);
  return v;
}

static verdict run_in_child(const suite *s, const cli_case *c) {
  int fds[2];
  verdict v = say(FAILED, "ended without an answer");
  fflush(NULL);
  if (pipe(fds)) return say(FAILED, "no pipe");
  pid_t child = fork();
  if (child == 0) {
    close(fds[0]);
    alarm(TIMEOUT_S);
    v = run_here(s, c);
    bool sent = write(fds[1], &v, sizeof v) == (ssize_t)sizeof v;
    close(fds[1]);
    exit(sent ? 0 : 1); /* exit, not _exit: leak checkers report at exit */
  }
  close(fds[1]);
  if (child < 0 || read(fds[0], &v, sizeof v) != (ssize_t)sizeof v)
    v = say(FAILED, "ended without an answer");
  close(fds[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  char text[WHY];
  if (WIFSIGNALED(status)) {
    snprintf(text, sizeof text, "CRASHED: %s", strsignal(WTERMSIG(status)));
    v = say(FAILED, text);
  } else if (WIFEXITED(status) && WEXITSTATUS(status)) {
    snprintf(text, sizeof text, "CRASHED: exit status %d", WEXITSTATUS(status));
    v = say(FAILED, text);
  }
  return v;
}

static void report(suite *s, const char *dir, const verdict *v) {
  static const char *const words[] = {"pass", "FAIL", "skip"};
  s->count[v->outcome]++;
  cli_progress("%s", "");
  if (!s->silent && (!s->quiet || v->outcome != PASSED))
    printf("%s %s%s%s\n", words[v->outcome], dir, *v->why ? ": " : "", v->why);
  fflush(stdout);
  if (!s->json) return;
  cli_json *o = cli_json_object(s->json, NULL);
  cli_json_text(o, "case", dir);
  cli_json_text(o, "outcome", words[v->outcome]);
  cli_json_text(o, "reason", v->why);
}

/* ---- folders ---- */

static void descend(suite *s, const char *dir);

/* A case is called like its folder if the model is called model.<ending>, else like the model. */
static void run_case(suite *s, const cli_case *c, const char *label) {
  cli_progress("%lld cases, now %s", (long long)(s->count[0] + s->count[1] + s->count[2]), label);
  verdict v = s->no_fork ? run_here(s, c) : run_in_child(s, c);
  report(s, label, &v);
}

/* Is it a file that some format claims by its ending? */
static bool is_model_name(const char *name, size_t *out_stem) {
  const char *dot = strrchr(name, '.');
  if (!dot || dot == name) return false;
  *out_stem = (size_t)(dot - name);
  static const char *const endings[] = {".onnx", ".tflite", ".prototxt", ".pb", ".pbtxt",
                                        ".pt",   ".pt2",    ".pte",      ".mnn"};
  for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
    if (!strcmp(dot, endings[k])) return true;
  return false;
}

typedef struct visit {
  suite *s;
  const char *dir;
} visit;

static void visit_file(visit *v, const char *name) {
  size_t n;
  if (!is_model_name(name, &n)) return;
  tn_arena *arena = &v->s->arena;
  const char *path = tn_arena_format(arena, "%s/%s", v->dir, name),
             *stem = tn_arena_format(arena, "%s/%.*s", v->dir, (int)n, name);
  if (!path || !stem) return;
  const cli_case c = {path, v->dir, stem, cli_layout_of(v->dir, stem)};
  if ((n == 5 && !strncmp(name, "model", n)) || !strcmp(name, "saved_model.pb"))
    run_case(v->s, &c, v->dir);
  else if (c.layout && strstr(c.layout->output, "{stem}"))
    run_case(v->s, &c, path);
}

static int visit_entry(void *self, const char *name, bool is_dir) {
  visit *v = self;
  if (!is_dir) {
    visit_file(v, name);
  } else if (strncmp(name, "test_data_set_", 14) && strcmp(name, "ref")) {
    char *path = tn_arena_format(&v->s->arena, "%s/%s", v->dir, name);
    if (path) descend(v->s, path);
  }
  return 0;
}

static void descend(suite *s, const char *dir) {
  visit v = {s, dir};
  tn_diag *diag = tn_diag_create();
  if (tn_dir_each(dir, diag, visit_entry, &v)) s->broken = true;
  cli_print_diag(diag);
  tn_diag_destroy(diag);
}

static bool write_json_take(const suite *s, cli_json *json, const char *path) {
  cli_json_int(json, "passed", s->count[PASSED]);
  cli_json_int(json, "failed", s->count[FAILED]);
  cli_json_int(json, "skipped", s->count[SKIPPED]);
  return cli_json_write_take(json, path);
}

enum { MAX_DIRS = 4096 };

static int run(int argc, char **argv);
const cli_command cli_test = {
    .name = "test",
    .arguments = "DIR...",
    .summary = "run folders of models with stored outputs and compare",
    .details =
        "A case is a folder with model.onnx and test_data_set_N/input_K.pb, output_K.pb, as the "
        "ONNX project has\nthem, or with model.<ending> or saved_model.pb and ref/setN_inK.npy, "
        "setN_outK.npy; or a model with\n<model>.inpK, .outK beside it (a byte, then the "
        "elements), or <model>_inputK_int16.csv,\n_golden_int16.csv. Other folders are descended "
        "into. Operators, versions and types that are not\nsupported count as skipped.\n"
        "Exit status 1 if a case fails.",
    .examples =
        "test /usr/share/libonnx-testdata/data/node -q --json results.json\n"
        "test my-case --no-fork",
    .options = options,
    .groups = {&cli_common_group},
    .run = run};

typedef struct arguments {
  suite *suite;
  const char *json, *dirs[MAX_DIRS];
  int n_dirs;
} arguments;

static bool set(void *self, int index, const char *value) {
  arguments *a = self;
  suite *s = a->suite;
  switch (index) {
    case CLI_ARG: return cli_keep("DIR", value, a->dirs, MAX_DIRS, &a->n_dirs);
    case 0: return cli_double("rtol", value, &s->tolerance.rtol);
    case 1: return cli_double("atol", value, &s->tolerance.atol);
    case 2: a->json = value; return true;
    case 3: s->quiet = true; return true;
    default: s->no_fork = true; return true;
  }
}

static int run_dirs(suite *s, const arguments *a) {
  cli_json *json = a->json ? cli_json_new() : NULL;
  if (a->json && !json) return CLI_INPUT;
  s->json = cli_json_array(json, "cases");
  s->silent = cli_json_to_stdout(a->json);
  for (int k = 0; k < a->n_dirs; k++) descend(s, a->dirs[k]);
  if (!s->silent)
    printf("%lld passed, %lld failed, %lld skipped\n", (long long)s->count[PASSED],
           (long long)s->count[FAILED], (long long)s->count[SKIPPED]);
  if (json && !write_json_take(s, json, a->json)) return CLI_INPUT;
  return s->broken ? CLI_INPUT : s->count[FAILED] ? CLI_FAILED : CLI_OK;
}

static int run(int argc, char **argv) {
  suite s = {.common = {.threads = 1}, .tolerance = {.rtol = 1e-3, .atol = 1e-5}};
  arguments a = {.suite = &s};
  cli_parser p = {&cli_test, argc, argv, {&s.common}, 0, false};
  const int end = cli_parse(&p, set, &a);
  if (end != CLI_END) return end;
  if (!cli_need(&cli_test, a.n_dirs ? *a.dirs : NULL, "a folder")) return CLI_USAGE;
  const bool shares = s.no_fork || s.common.threads == 1;
  if (shares && !(s.runtime = cli_runtime(&s.common))) return CLI_INPUT;
  tn_arena_init(&s.arena, tn_default_allocator());
  int code = run_dirs(&s, &a);
  tn_arena_clear(&s.arena);
  tn_runtime_destroy(s.runtime);
  return code;
}
