/* tenon convert: writes a model for other programs, or as it is after a pass, for people. */
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
    {"output", "OUT", "the file to write, if it is not the second argument", 'o'},
    {"stage", "STAGE", "how far the model is prepared (default: see below)", 's'},
    {"format", "NAME", "the format to write (default: by the ending of OUT)", 0},
    {"external-data", "FILE", "put weights into this file, next to OUT (default: OUT.data)", 0},
    {"external-threshold", "BYTES", "... tensors of at least so many bytes (default: 1024)", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_convert = {
    .name = "convert",
    .arguments = "MODEL OUT",
    .summary = "write a model in another format, or as it is after a pass",
    .details =
        "Stages: load, as it was read: the default for a file of the format that is written.\n"
        "standard, in operators of ai.onnx alone, for other programs: the default for all other\n"
        "files. Open dims are taken as 1, or as the smallest size that the model allows, unless\n"
        "--shape or --dim says otherwise; what has no form in ai.onnx is refused by name. Values\n"
        "of 8 and 16 bits are written with QuantizeLinear and DequantizeLinear, which agree to\n"
        "one step. A state S becomes an input S with a default, and an output state/S.\n"
        "check, infer, fold, lower, fuse, partition, select, arrange: from infer on, the graph is\n"
        "that of a plan for the given shapes. It then holds operators of Tenon's own\n"
        "(tenon::Region) and is for looking at, not for running.\n"
        "Weights stand in OUT itself, unless one of the options "
        "--external-... is given or OUT\nwould exceed 2 GB.\nOUT is replaced whole or not at "
        "all, and the file of weights with it.",
    .examples =
        "convert model.tflite -o model.onnx\nconvert model.onnx fused.onnx --stage fuse\n"
        "convert model.onnx plan.onnx --stage arrange --dim batch=4\n"
        "convert model.onnx small.onnx --external-data weights.bin",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

/* Stages of the graph as it was read: a model that cannot run here can be written all the same. */
static bool is_early(const char *stage) {
  return !stage || !strcmp(stage, "load") || !strcmp(stage, "check") || !strcmp(stage, "standard");
}

/* Are shapes of inputs of no matter? */
static bool is_shapeless(const char *stage) {
  return stage && (!strcmp(stage, "load") || !strcmp(stage, "check"));
}

static bool is_stage(const char *stage) {
  static const char *const stages[] = {"load",  "check", "standard",  "infer",  "fold",
                                       "lower", "fuse",  "partition", "select", "arrange"};
  for (size_t k = 0; k < sizeof stages / sizeof *stages; k++)
    if (!strcmp(stage, stages[k])) return true;
  cli_error("--stage: there is no stage '%s'; `tenon convert --help` lists them", stage);
  return false;
}

static tn_status write_file(tn_model *model, const char *to, const tn_save_options *o,
                            tn_diag *diag) {
  cli_progress("writing %s", to);
  const tn_status status = tn_model_save_as(model, to, o, diag);
  cli_progress("%s", "");
  return status;
}

/* With the types that the user has given, and 1 for dims that are open. */
static tn_status save_shaped(const convert_options *o, tn_runtime *runtime, tn_model *model,
                             tn_diag *diag) {
  cli_inputs in = {.n = 0};
  tn_status status = cli_inputs_open(&in, runtime, model, &o->feed, diag);
  if (!status && o->feed.random) status = cli_inputs_randomize(&in);
  if (!status) status = cli_inputs_close_dims(&in, false);
  const tn_tensor **types =
      status ? NULL : tn_arena_alloc(&in.store.arena, (uint64_t)in.n * sizeof *types);
  if (!status && !types) status = TN_ERR_MEMORY;
  for (int32_t k = 0; k < in.n && !status; k++) types[k] = &in.values[k];
  tn_save_options planned = o->save;
  planned.input_types = types;
  if (!status) status = write_file(model, o->to, &planned, diag);
  cli_inputs_free(&in);
  return status;
}

/* Is the format of the file the one it has already? */
static bool is_copy(const convert_options *o, const tn_model *model) {
  const char *name = o->save.format, *ending = strrchr(o->to, '.');
  if (!name) name = ending ? ending + 1 : "";
  return !strcmp(tn_model_format(model), name);
}

static tn_status save(convert_options *o, tn_runtime *runtime, tn_diag *diag) {
  tn_model *model = NULL;
  const uint32_t flags = is_early(o->save.stage) ? TN_MODEL_GRAPH_ONLY : 0;
  tn_status status = cli_load(runtime, &o->common, o->from, flags, diag, &model);
  if (!status && !o->save.stage) o->save.stage = is_copy(o, model) ? "load" : "standard";
  if (!status)
    status = is_shapeless(o->save.stage) ? write_file(model, o->to, &o->save, diag)
                                         : save_shaped(o, runtime, model, diag);
  tn_model_destroy(model);
  return status;
}

static int convert(convert_options *o) {
  tn_runtime *runtime = cli_runtime(&o->common);
  if (!runtime) return CLI_INPUT;
  tn_diag *diag = tn_diag_create();
  const tn_status status = save(o, runtime, diag);
  if (status && !tn_diag_count(diag)) cli_error("%s", tn_status_text(status));
  cli_print_diag(diag);
  tn_diag_destroy(diag);
  tn_runtime_destroy(runtime);
  return cli_exit_code(status);
}

static bool set(void *self, int index, const char *value) {
  convert_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_convert, value, o->from ? &o->to : &o->from);
    case 0: return cli_one(&cli_convert, value, &o->to);
    case 1: o->save.stage = value; return is_stage(value);
    case 2: o->save.format = value; return true;
    case 3: o->save.data_file = value; return true;
    default: return cli_int("external-threshold", value, 1, INT64_MAX, &o->threshold);
  }
}

static int run(int argc, char **argv) {
  convert_options o = {.common = {.threads = 1}, .feed = CLI_FEED_INIT};
  o.save = (tn_save_options){.head = TN_HEAD(tn_save_options)};
  cli_parser p = {&cli_convert, argc, argv, {&o.feed, &o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (o.threshold || o.save.data_file)
    o.save.data_from = (uint64_t)(o.threshold ? o.threshold : THRESHOLD);
  return cli_need(&cli_convert, o.to, "a model and a file to write") ? convert(&o) : CLI_USAGE;
}
