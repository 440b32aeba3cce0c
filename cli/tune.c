/* tenon tune: times the kernels that could run a model, and keeps what it measured. */
#include <sys/stat.h>
#include <unistd.h>

#include "open.h"

typedef struct tune_options {
  cli_common common;
  cli_feed feed;
  const char *model, *output;
  bool anew;
} tune_options;

static const cli_option options[] = {
    {"output", "FILE", "keep the times here, added to those it has (default MODEL.tuning)", 'o'},
    {"anew", NULL, "time everything again, and forget what FILE had", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_tune = {
    .name = "tune",
    .arguments = "MODEL",
    .summary = "time all kernels that could run a model, for plans by measure",
    .details =
        "Plans are made by what kernels estimate; with --tuning FILE, run, bench and explain make\n"
        "them by what was measured. The file names kernels, types and shapes, one line for each,\n"
        "and serves every model that has such nodes, on the same kind of machine and with as many\n"
        "threads. Shapes that the model leaves open are 1, or as inputs, --shape and --dim say.\n"
        "A kernel that fails on made-up values is not timed.",
    .examples =
        "tune model.onnx -o model.tuning --threads 2\n"
        "bench model.onnx --tuning model.tuning --threads 2",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

static tn_status plan(cli_session *s) {
  tn_status status = cli_inputs_randomize(&s->inputs);
  if (!status) status = cli_inputs_set(&s->inputs, s->session, false);
  if (status) return status;
  cli_progress("timing kernels");
  status = tn_session_run(s->session, s->diag);
  cli_progress("%s", "");
  return status;
}

static bool is_model(const tune_options *o, const char *to) {
  struct stat model, file;
  return !stat(o->model, &model) && !stat(to, &file) && model.st_dev == file.st_dev &&
         model.st_ino == file.st_ino;
}

static int tune(const tune_options *o, const char *to) {
  cli_session s;
  int code;
  if (is_model(o, to)) {
    cli_error("tune: %s is the model, which would be lost; name another file", to);
    return CLI_INPUT;
  }
  if (cli_session_open(&s, &o->common, &o->feed, o->model, &code)) {
    const bool adds = !o->anew && !access(to, F_OK);
    tn_status status = adds ? tn_runtime_load_tuning(s.runtime, to, s.diag) : TN_OK;
    const int64_t before = tn_runtime_n_tuned(s.runtime);
    if (!status) status = tn_runtime_tune(s.runtime, 1);
    if (!status) status = plan(&s);
    if (!status) status = tn_runtime_save_tuning(s.runtime, to, s.diag);
    code = status ? cli_session_fail(&s, status) : CLI_OK;
    if (!status)
      printf("%lld kernels timed, %lld times in %s\n",
             (long long)(tn_runtime_n_tuned(s.runtime) - before),
             (long long)tn_runtime_n_tuned(s.runtime), to);
  }
  cli_session_close(&s);
  return code;
}

static bool set(void *self, int index, const char *value) {
  tune_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_tune, value, &o->model);
    case 0: o->output = value; return true;
    default: o->anew = true; return true;
  }
}

static int run(int argc, char **argv) {
  tune_options o = {.common = {.threads = 1}, .feed = CLI_FEED_INIT};
  cli_parser p = {&cli_tune, argc, argv, {&o.feed, &o.common}, 0, false};
  char made[4096];
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (!cli_need(&cli_tune, o.model, "a model")) return CLI_USAGE;
  if (o.common.no_optimize) {
    cli_error("tune: with --no-optimize there is nothing to choose");
    return CLI_USAGE;
  }
  if (o.anew && o.common.tuning) {
    cli_error("tune: --anew times what --tuning knows already; give one of them");
    return CLI_USAGE;
  }
  if (!o.output && snprintf(made, sizeof made, "%s.tuning", o.model) >= (int)sizeof made) {
    cli_error("tune: the name of the model is too long; name a file with --output");
    return CLI_USAGE;
  }
  return tune(&o, o.output ? o.output : made);
}
