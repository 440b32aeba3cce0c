/* tenon compile: modules for an accelerator, made ahead of time. */
#include "open.h"

typedef struct compile_options {
  cli_common common;
  cli_feed feed;
  const char *model, *output;
} compile_options;

static const cli_option options[] = {
    {"for", "TARGET", "what to compile for; may be repeated (`tenon device list`)", 0},
    {"output", "FILE", "the modules (default MODEL.modules, where they are found)", 'o'},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_compile = {
    .name = "compile",
    .arguments = "MODEL",
    .summary = "compile parts of a model for an accelerator, ahead of time",
    .details =
        "A vendor's compiler takes what it can of the model, and FILE holds what it makes of it.\n"
        "`tenon run MODEL --device TARGET` takes the modules from MODEL.modules then, without the\n"
        "compiler if need be; the device itself need not be on this machine. Modules are made for\n"
        "one set of shapes: those that the model leaves open are 1, or as inputs, --shape and\n"
        "--dim say. The model itself is left as it is. With --fallback forbid it is an error if\n"
        "anything is not taken.",
    .examples =
        "compile model.onnx --for acme-npu-2 --plugin acme.so\n"
        "run model.onnx --random --device acme-npu-2 --plugin acme.so",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

/* Runs once, so that bodies and what only a run can plan are compiled, too. */
static tn_status plan(cli_session *s) {
  tn_status status = cli_inputs_randomize(&s->inputs);
  if (!status) status = cli_inputs_set(&s->inputs, s->session, false);
  return status ? status : tn_session_run(s->session, s->diag);
}

static void report(const cli_session *s, const char *to) {
  tn_step_info step;
  int64_t n_islands = 0, n_inside = 0, n_nodes = 0;
  for (int32_t k = 0;; k++) {
    step = (tn_step_info){.head = TN_HEAD(tn_step_info)};
    if (tn_session_step(s->session, k, &step)) break;
    n_islands += step.island_nodes > 0;
    n_inside += step.island_nodes;
    n_nodes += step.depth ? 0 : step.island_nodes ? step.island_nodes : 1;
  }
  cli_print("%s: %lld island%s of %lld nodes, of %lld that there are\n", to, (long long)n_islands,
            n_islands == 1 ? "" : "s", (long long)n_inside, (long long)n_nodes);
}

static int compile(compile_options *o, const char *to) {
  cli_session s;
  int code;
  if (!o->common.fallback) o->common.fallback = TN_FALLBACK_WARN;
  if (cli_session_open_as(&s, &o->common, &o->feed, o->model, TN_MODEL_COMPILE, &code)) {
    cli_progress("compiling %s", o->model);
    tn_status status = plan(&s);
    cli_progress("%s", "");
    if (!status) status = tn_model_save_modules(s.model, to, s.diag);
    code = status ? cli_session_fail(&s, status) : CLI_OK;
    if (status == TN_ERR_STATE) code = CLI_FAILED;
    if (!status) report(&s, to);
  }
  cli_session_close(&s);
  return code;
}

static bool set(void *self, int index, const char *value) {
  compile_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_compile, value, &o->model);
    case 0:
      return cli_keep("--for", value, o->common.devices, CLI_MAX_DEVICES, &o->common.n_devices);
    default: o->output = value; return true;
  }
}

static int run(int argc, char **argv) {
  compile_options o = {.common = {.threads = 1}, .feed = CLI_FEED_INIT};
  cli_parser p = {&cli_compile, argc, argv, {&o.feed, &o.common}, 0, false};
  char made[4096];
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (!cli_need(&cli_compile, o.model, "a model")) return CLI_USAGE;
  if (!o.common.n_devices) {
    cli_error("compile: --for TARGET says what to compile for; `tenon device list` shows targets");
    return CLI_USAGE;
  }
  if (!o.output && snprintf(made, sizeof made, "%s.modules", o.model) >= (int)sizeof made) {
    cli_error("compile: the name of the model is too long; name a file with --output");
    return CLI_USAGE;
  }
  return compile(&o, o.output ? o.output : made);
}
