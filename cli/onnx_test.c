/* tenon onnx-test: runs ONNX backend test folders and compares outputs. Each case runs in a child
 * process, so that neither a crash nor an endless loop takes the others down. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "json.h"
#include "values.h"

enum { PASSED, FAILED, SKIPPED, WHY = 600, TIMEOUT_S = 120 };

typedef struct verdict {
  int outcome;
  char why[WHY];
} verdict;

typedef struct suite {
  cli_common common;
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

/* ---- one data set ---- */

typedef struct data_set {
  tn_runtime *runtime;
  tn_model *model;
  tn_session *session;
  const char *dir;
  tn_diag *diag;
  tn_tensor *inputs[256];
  int32_t n_inputs;
} data_set;

static bool value_path(const data_set *d, const char *what, int32_t k, char *path, size_t size) {
  int n = snprintf(path, size, "%s/%s_%d.pb", d->dir, what, k);
  return n > 0 && (size_t)n < size && access(path, R_OK) == 0;
}

/* Writers of ONNX up to 1.12 stored bf16 data as uint16. */
static void mend_bf16(tn_tensor *value, uint32_t dtype) {
  if (dtype == TN_BF16 && value->dtype == TN_U16 && value->kind == TN_KIND_TENSOR)
    value->dtype = TN_BF16;
}

static tn_status load_inputs(data_set *d) {
  char path[4096], name[256];
  for (int32_t k = 0; k < 256 && value_path(d, "input", k, path, sizeof path); k++) {
    tn_tensor type;
    if (k >= tn_model_n_inputs(d->model) + tn_model_n_defaults(d->model)) break;
    tn_status s = tn_model_input_type(d->model, k, &type);
    if (!s)
      s = tn_value_load(d->runtime, path, "onnx", type.kind, d->diag, &d->inputs[k], name,
                        sizeof name);
    if (s) return s;
    d->n_inputs = k + 1;
    int32_t index = *name ? tn_model_find_input(d->model, name) : k;
    if (!tn_model_input_type(d->model, index < 0 ? k : index, &type))
      mend_bf16(d->inputs[k], type.dtype);
    if ((s = tn_session_set_input(d->session, index < 0 ? k : index, d->inputs[k], d->diag)))
      return s;
  }
  return TN_OK;
}

static verdict compare_outputs(data_set *d, const cli_tolerance *t) {
  char path[4096], why[WHY - 100], text[WHY];
  int32_t n = tn_model_n_outputs(d->model), seen = 0;
  for (int32_t k = 0; k < n && value_path(d, "output", k, path, sizeof path); k++, seen++) {
    const tn_tensor *got = tn_session_output(d->session, k);
    tn_tensor *want = NULL;
    if (!got) return say(FAILED, "the session gives no output");
    if (tn_value_load(d->runtime, path, "onnx", got->kind, d->diag, &want, NULL, 0))
      return say(FAILED, tn_diag_text(d->diag));
    mend_bf16(want, got->dtype);
    bool same = cli_same(got, want, t, why, sizeof why);
    tn_value_destroy(want);
    snprintf(text, sizeof text, "output '%.60s' %s", tn_model_output_name(d->model, k),
             same ? "" : why);
    if (!same) return say(FAILED, text);
  }
  return seen ? say(PASSED, "") : say(SKIPPED, "no expected outputs");
}

static verdict run_set(data_set *d, const cli_tolerance *t) {
  tn_status s = load_inputs(d);
  if (!s) s = tn_session_run(d->session, d->diag);
  verdict v = s ? say(s == TN_ERR_UNSUPPORTED ? SKIPPED : FAILED, tn_diag_text(d->diag))
                : compare_outputs(d, t);
  for (int32_t k = 0; k < d->n_inputs; k++) tn_value_destroy(d->inputs[k]);
  return v;
}

/* ---- one case ---- */

static verdict run_sets(data_set *d, const char *dir, const cli_tolerance *t) {
  char path[4096];
  verdict v = say(SKIPPED, "no test_data_set_0");
  for (int k = 0; k < 1000; k++) {
    struct stat st;
    snprintf(path, sizeof path, "%s/test_data_set_%d", dir, k);
    if (stat(path, &st) || !S_ISDIR(st.st_mode)) break;
    d->dir = path;
    d->n_inputs = 0;
    if ((v = run_set(d, t)).outcome != PASSED) break;
  }
  return v;
}

static verdict run_model(const suite *s, const char *dir, tn_runtime *runtime, tn_diag *diag) {
  char path[4096];
  data_set d = {.runtime = runtime, .diag = diag};
  snprintf(path, sizeof path, "%s/model.onnx", dir);
  tn_status status = cli_load(runtime, &s->common, path, 0, diag, &d.model);
  if (!status) status = tn_session_create(d.model, diag, &d.session);
  verdict v;
  if (status) {
    v = say(status == TN_ERR_UNSUPPORTED ? SKIPPED : FAILED, tn_diag_text(diag));
  } else {
    cli_tolerance t = s->tolerance;
    t.types_only = cli_is_random(runtime, tn_model_graph(d.model));
    v = run_sets(&d, dir, &t);
  }
  tn_session_destroy(d.session);
  tn_model_destroy(d.model);
  return v;
}

static verdict run_here(const suite *s, const char *dir) {
  tn_runtime *runtime = cli_runtime(&s->common);
  tn_diag *diag = tn_diag_create();
  verdict v = runtime && diag ? run_model(s, dir, runtime, diag) : say(FAILED, "no runtime");
  tn_diag_destroy(diag);
  tn_runtime_destroy(runtime);
  return v;
}

static verdict run_in_child(const suite *s, const char *dir) {
  int fds[2];
  verdict v = say(FAILED, "ended without an answer");
  fflush(NULL);
  if (pipe(fds)) return say(FAILED, "no pipe");
  pid_t child = fork();
  if (child == 0) {
    close(fds[0]);
    alarm(TIMEOUT_S);
    v = run_here(s, dir);
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

static void descend(suite *s, const char *dir);

typedef struct visit {
  suite *s;
  const char *dir;
} visit;

static int visit_entry(void *self, const char *name, bool is_dir) {
  visit *v = self;
  char *path = is_dir && strncmp(name, "test_data_set_", 14)
                   ? tn_arena_format(&v->s->arena, "%s/%s", v->dir, name)
                   : NULL;
  if (path) descend(v->s, path);
  return 0;
}

static void descend(suite *s, const char *dir) {
  char model[4096];
  snprintf(model, sizeof model, "%s/model.onnx", dir);
  if (access(model, R_OK) == 0) {
    cli_progress("%lld cases, now %s", (long long)(s->count[0] + s->count[1] + s->count[2]), dir);
    verdict v = s->no_fork ? run_here(s, dir) : run_in_child(s, dir);
    report(s, dir, &v);
    return;
  }
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

enum { MAX_DIRS = 256 };

static int run(int argc, char **argv);
const cli_command cli_onnx_test = {
    .name = "onnx-test",
    .arguments = "DIR...",
    .summary = "run ONNX backend test folders and compare outputs",
    .details =
        "A case is a folder with model.onnx and test_data_set_N/input_K.pb, output_K.pb; other "
        "folders are\ndescended into. Operators, versions and types that are not supported "
        "count as skipped.\nExit status 1 if a case fails.",
    .examples =
        "onnx-test /usr/share/libonnx-testdata/data/node -q --json results.json\n"
        "onnx-test my-case --no-fork",
    .options = options,
    .groups = {&cli_common_group},
    .run = run};

typedef struct arguments {
  const char *json, *dirs[MAX_DIRS];
  int n_dirs;
} arguments;

static bool set(suite *s, arguments *a, int index, const char *value) {
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
  arguments a = {.n_dirs = 0};
  cli_parser p = {&cli_onnx_test, argc, argv, {&s.common}, 0, false};
  const char *value;
  int next;
  while ((next = cli_next(&p, &value)) != CLI_END) {
    if (next == CLI_BAD || next == CLI_HELP) return cli_stop(next);
    if (!set(&s, &a, next, value)) return CLI_USAGE;
  }
  if (!cli_need(&cli_onnx_test, a.n_dirs ? *a.dirs : NULL, "a folder")) return CLI_USAGE;
  tn_arena_init(&s.arena, tn_default_allocator());
  int code = run_dirs(&s, &a);
  tn_arena_clear(&s.arena);
  return code;
}
