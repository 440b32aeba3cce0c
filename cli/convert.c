/* tenon convert: writes a model as it is after a pass, for people and other programs to look at. */
#include <string.h>

#include "open.h"

typedef struct convert_options {
  cli_common common;
  cli_feed feed;
  const char *from, *to;
  tn_save_options save;
  int64_t threshold; /* of external data; 0: not given */
} convert_options;

enum { THRESHOLD = 1024 }; /* the default of other tools */

static const cli_option options[] = {
    {"stage", "STAGE", "how far the model is prepared (default: load)", 's'},
    {"format", "NAME", "the format to write (default: by the ending of OUT)", 0},
    {"external-data", "FILE", "put weights into this file, next to OUT (default: OUT.data)", 0},
    {"external-threshold", "BYTES", "... tensors of at least so many bytes (default: 1024)", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_convert = {
    .name = "convert",
    .arguments = "MODEL OUT",
    .summary = "write a model as it is after a pass",
    .details =
        "Stages: load (as it was read; the default), check, infer, fold, lower, fuse, partition, "
        "select,\narrange. From infer on, the graph is that of a plan for the given shapes; open "
        "dims are taken as 1.\nIt then holds operators of Tenon's own (tenon::Region) and is for "
        "looking at, not for running.\nWeights stand in OUT itself, unless one of the options "
        "--external-... is given or OUT\nwould exceed 2 GB.\nOUT is replaced whole or not at "
        "all, and the file of weights with it.",
    .examples =
        "convert model.onnx copy.onnx\nconvert model.onnx fused.onnx --stage fuse\n"
        "convert model.onnx plan.onnx --stage arrange --dim batch=4\n"
        "convert model.onnx small.onnx --external-data weights.bin",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

static bool is_early(const char *stage) {
  return !strcmp(stage, "load") || !strcmp(stage, "check");
}

static bool is_stage(const char *stage) {
  static const char *const stages[] = {"load", "check",     "infer",  "fold",   "lower",
                                       "fuse", "partition", "select", "arrange"};
  for (size_t k = 0; k < sizeof stages / sizeof *stages; k++)
    if (!strcmp(stage, stages[k])) return true;
  cli_error("--stage: there is no stage '%s'; `tenon convert --help` lists them", stage);
  return false;
}

static tn_status save(tn_model *model, const char *to, const tn_save_options *o, tn_diag *diag) {
  cli_progress("writing %s", to);
  const tn_status status = tn_model_save_as(model, to, o, diag);
  cli_progress("%s", "");
  return status;
}

/* A model that cannot run here can still be written as it was read. */
static tn_status save_early(const convert_options *o, tn_runtime *runtime, tn_diag *diag) {
  tn_model *model = NULL;
  tn_status status = cli_load(runtime, &o->common, o->from, TN_MODEL_GRAPH_ONLY, diag, &model);
  if (!status) status = save(model, o->to, &o->save, diag);
  tn_model_destroy(model);
  return status;
}

static tn_status save_planned(const convert_options *o, tn_runtime *runtime, tn_diag *diag) {
  tn_model *model = NULL;
  cli_inputs in = {.n = 0};
  tn_status status = cli_load(runtime, &o->common, o->from, 0, diag, &model);
  if (!status) status = cli_inputs_open(&in, runtime, model, &o->feed, diag);
  if (!status && o->feed.random) status = cli_inputs_randomize(&in);
  if (!status) status = cli_inputs_close_dims(&in, false);
  const tn_tensor **types =
      status ? NULL : tn_arena_alloc(&in.store.arena, (uint64_t)in.n * sizeof *types);
  if (!status && !types) status = TN_ERR_MEMORY;
  for (int32_t k = 0; k < in.n && !status; k++) types[k] = &in.values[k];
  tn_save_options planned = o->save;
  planned.input_types = types;
  if (!status) status = save(model, o->to, &planned, diag);
  cli_inputs_free(&in);
  tn_model_destroy(model);
  return status;
}

static int convert(const convert_options *o) {
  tn_runtime *runtime = cli_runtime(&o->common);
  if (!runtime) return CLI_INPUT;
  tn_diag *diag = tn_diag_create();
  tn_status status =
      is_early(o->save.stage) ? save_early(o, runtime, diag) : save_planned(o, runtime, diag);
  if (status && !tn_diag_count(diag)) cli_error("%s", tn_status_text(status));
  cli_print_diag(diag);
  tn_diag_destroy(diag);
  tn_runtime_destroy(runtime);
  return cli_exit_code(status);
}

static bool set(convert_options *o, int index, const char *value) {
  switch (index) {
    case CLI_ARG: return cli_one(&cli_convert, value, o->from ? &o->to : &o->from);
    case 0: o->save.stage = value; return is_stage(value);
    case 1: o->save.format = value; return true;
    case 2: o->save.data_file = value; return true;
    default: return cli_int("external-threshold", value, 1, INT64_MAX, &o->threshold);
  }
}

static int run(int argc, char **argv) {
  convert_options o = {.common = {.threads = 1}, .feed = CLI_FEED_INIT};
  o.save = (tn_save_options){.head = TN_HEAD(tn_save_options), .stage = "load"};
  cli_parser p = {&cli_convert, argc, argv, {&o.feed, &o.common}, 0, false};
  const char *value;
  int next;
  while ((next = cli_next(&p, &value)) != CLI_END) {
    if (next == CLI_BAD || next == CLI_HELP) return cli_stop(next);
    if (!set(&o, next, value)) return CLI_USAGE;
  }
  if (o.threshold || o.save.data_file)
    o.save.data_from = (uint64_t)(o.threshold ? o.threshold : THRESHOLD);
  return cli_need(&cli_convert, o.to, "a model and a file to write") ? convert(&o) : CLI_USAGE;
}
