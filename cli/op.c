/* tenon op: runs one operator on files or made-up values, without a model. */
#include "op.h"

#include <string.h>

#include "base/cpu.h"
#include "ops.h"
#include "outputs.h"
#include "reports.h"
#include "summary.h"

enum { PRINTED_IN_FULL = 64 };

typedef struct op_options {
  cli_common common;
  const char *verb, *op, *kernel, *json;
  const char *inputs[CLI_MAX_OP_ARGS], *attrs[CLI_MAX_OP_ARGS], *outputs[CLI_MAX_OUTPUTS];
  int n_inputs, n_attrs, n_outputs;
  int64_t opset, n_asked, seed, top, repeat;
  bool bench, explain;
} op_options;

static const cli_option options[] = {
    {"input", "ARG=VALUE", "a tensor argument, by its name in the schema (may be repeated)", 'i'},
    {"attr", "ARG=VALUE", "any other argument: axis=1, pads=1,1, mode=edge (may be repeated)", 'a'},
    {"output", "DIR|NAME=FILE", "write all outputs to a folder, or one to a .npy file", 'o'},
    {"n-outputs", "N", "ask for N outputs (default: all that are not optional)", 0},
    {"kernel", "NAME", "run it with this kernel, or fail", 'k'},
    {"opset", "V", "the operator of this operator-set version (default: the newest)", 0},
    {"seed", "N", "for random values (default 1)", 0},
    {"bench", NULL, "time it, instead of showing outputs", 'b'},
    {"repeat", "N", "with --bench: time N runs (default: 2 seconds)", 'n'},
    {"explain", NULL, "show what runs it and why nothing else does", 'e'},
    {"top", "K", "also print the K largest elements of each output", 0},
    {"json", "[FILE]", "as JSON, to stdout if no file is named", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_op = {
    .name = "op",
    .arguments = "run|info OP",
    .summary = "run one operator without a model: try, test or time it",
    .details =
        "An input is FILE, TYPE:FILE (numbers of the file that stand for this type: bf16:x.npy), "
        "random:TYPE[DIMS],\nor TYPE[DIMS]=1,2,3 (repeated to the end). const: before it makes it "
        "a constant, as weights are.\nThe items of a list have ',' between; literal ones then "
        "stand in brackets: f32[2]=[1,2]. What is not\ngiven is left out. `op info` shows schema, "
        "versions and kernels, like `tenon ops OP`.",
    .examples =
        "op info Softmax\nop run Softmax -i input=random:f32[2,3] -a axis=0\n"
        "op run Clip -i input=x.npy -i max=f32[]=6 -o output=y.npy\n"
        "op run Concat -i inputs=a.npy,b.npy -a axis=1\n"
        "op run Conv -i X=random:f32[1,64,56,56] -i W=const:random:f32[64,64,3,3] --bench\n"
        "op run com.acme::Foo --plugin acme.so -i x=random:f16[8] --explain",
    .options = options,
    .groups = {&cli_common_group},
    .run = run};

/* ---- arguments ---- */

/* Splits "x=VALUE"; NULL after a message. */
static const char *split(cli_op_args *a, const char *option, const char *text,
                         const char **out_value) {
  int n;
  if (cli_assignment(text, &n, out_value)) return tn_arena_strn(&a->store.arena, text, n);
  tn_fail(a->diag, TN_ERR_INVALID, "--%s %s: is written like NAME=VALUE", option, text);
  return NULL;
}

static tn_status keep(cli_op_args *a, const tn_op_arg *arg, const char *from) {
  if (a->n == CLI_MAX_OP_ARGS)
    return tn_fail(a->diag, TN_ERR_OVERFLOW, "more than %d arguments are not taken", a->n);
  a->from[a->n] = from;
  a->args[a->n++] = *arg;
  return TN_OK;
}

static tn_status add_tensor(cli_op_args *a, const char *name, const char *text, const char *from) {
  tn_op_arg arg = {.name = name};
  tn_tensor *t = tn_arena_alloc(&a->store.arena, sizeof *t);
  if (!t || !text) return TN_ERR_MEMORY;
  if (!strncmp(text, "const:", 6)) {
    arg.flags = TN_ARG_CONST;
    text += 6;
  }
  arg.tensor = t;
  tn_status s = cli_op_value(a, name, text, t);
  return s ? s : keep(a, &arg, from);
}

/* The items of a list stand between commas that no brackets are around. */
static tn_status add_list(cli_op_args *a, const char *name, const char *text, const char *from) {
  tn_status s = TN_OK;
  while (*text && !s) {
    int64_t n = 0;
    for (int depth = 0; text[n] && (text[n] != ',' || depth > 0); n++)
      depth += (text[n] == '[') - (text[n] == ']');
    s = add_tensor(a, name, tn_arena_strn(&a->store.arena, text, n), from);
    text += n + (text[n] == ',');
  }
  return s;
}

tn_status cli_op_input(cli_op_args *a, const char *text) {
  static const tn_tensor no_value; /* never read: the argument is refused */
  const char *value, *name = split(a, "input", text, &value);
  const tn_arg *arg = name ? tn_schema_find(&a->schema, name) : NULL;
  if (!name) return TN_ERR_INVALID;
  if (!arg || arg->role == TN_ROLE_OUT || arg->base != TN_TYPE_TENSOR) /* says what is wrong */
    return keep(a, &(tn_op_arg){.name = name, .tensor = &no_value}, text);
  return arg->list ? add_list(a, name, value, text) : add_tensor(a, name, value, text);
}

tn_status cli_op_attr(cli_op_args *a, const char *text) {
  const char *value, *name = split(a, "attr", text, &value);
  const tn_arg *arg = name ? tn_schema_find(&a->schema, name) : NULL;
  if (!name) return TN_ERR_INVALID;
  if (arg && arg->role == TN_ROLE_ATTR && arg->base == TN_TYPE_TENSOR) return cli_op_input(a, text);
  return keep(a, &(tn_op_arg){.name = name, .text = value}, text);
}

/* An operator that is not there has no schema: tn_model_from_op says so. */
static tn_status read_schema(cli_op_args *a, const op_options *o) {
  const char *colons = strstr(o->op, "::"), *name = colons ? colons + 2 : o->op;
  const char *domain = tn_arena_strn(&a->store.arena, o->op, colons ? colons - o->op : 0);
  if (!domain) return TN_ERR_MEMORY;
  const tn_op *op = tn_runtime_find_op(a->runtime, domain, name, (int32_t)o->opset);
  return op ? tn_schema_parse(op->schema, &a->store.arena, o->op, a->diag, &a->schema) : TN_OK;
}

static tn_status read_args(cli_op_args *a, const op_options *o) {
  tn_status s = read_schema(a, o);
  for (int k = 0; k < o->n_inputs && !s && a->schema.args; k++) s = cli_op_input(a, o->inputs[k]);
  for (int k = 0; k < o->n_attrs && !s && a->schema.args; k++) s = cli_op_attr(a, o->attrs[k]);
  if (s == TN_ERR_INVALID && a->schema.args)
    tn_diag_add(a->diag, TN_DIAG_NOTE, "%s: `tenon op info %s` shows the schema", o->op, o->op);
  return s;
}

/* ---- the session ---- */

/* Inputs of the model come in the order of the schema. */
static void give(cli_inputs *in, const cli_op_args *a) {
  const tn_arg *arg;
  int32_t next = 0;
  for (int32_t k = 0; (arg = tn_schema_input(&a->schema, k)); k++)
    for (int i = 0; i < a->n && next < in->n; i++) {
      if (strcmp(a->args[i].name, arg->name) || a->args[i].flags & TN_ARG_CONST) continue;
      in->from[next] = a->from[i];
      in->values[next++] = *a->args[i].tensor;
    }
}

static tn_status open_session(cli_session *s, cli_op_args *a, const op_options *o) {
  static const cli_feed nothing = CLI_FEED_INIT;
  tn_model_options options_of_model = {.head = TN_HEAD(tn_model_options),
                                       .flags = o->common.no_optimize ? TN_MODEL_NO_OPTIMIZE : 0};
  cli_place_options(&o->common, &options_of_model);
  tn_status status = read_args(a, o);
  if (!status)
    status = tn_model_from_op(s->runtime, o->op, (int32_t)o->opset, a->args, (uint32_t)a->n,
                              (uint32_t)o->n_asked, &options_of_model, s->diag, &s->model);
  if (!status) status = tn_session_create(s->model, s->diag, &s->session);
  if (!status) status = cli_inputs_open(&s->inputs, s->runtime, s->model, &nothing, s->diag);
  if (!status) give(&s->inputs, a);
  if (!status) status = cli_inputs_set(&s->inputs, s->session, false);
  return status ? status : tn_session_run(s->session, s->diag);
}

/* ---- showing ---- */

static bool write_json(const cli_session *s, const op_options *o) {
  cli_json *json = cli_json_new();
  cli_json_text(json, "operator", o->op);
  cli_json *list = cli_json_array(json, "outputs");
  for (int32_t k = 0; k < tn_model_n_outputs(s->model); k++)
    cli_value_json(cli_json_object(list, NULL), tn_model_output_name(s->model, k),
                   tn_session_output(s->session, k), o->top);
  return cli_json_write_take(json, o->json);
}

static int show_outputs(const cli_session *s, const op_options *o) {
  for (int32_t k = 0; k < tn_model_n_outputs(s->model) && !cli_json_to_stdout(o->json); k++) {
    const char *name = tn_model_output_name(s->model, k);
    if (o->top)
      cli_value_print(name, tn_session_output(s->session, k), o->top, NULL);
    else
      cli_value_print_rows(name, tn_session_output(s->session, k), PRINTED_IN_FULL);
  }
  return o->json && !write_json(s, o) ? CLI_INPUT : CLI_OK;
}

/* There is nothing to time or explain if it was computed while planning. */
static void note_folded(const cli_session *s) {
  tn_plan_info plan = {.head = TN_HEAD(tn_plan_info)};
  if (!tn_session_plan(s->session, &plan) && !plan.n_steps)
    cli_note("no step is left to run: what depends on constants only is computed beforehand");
}

static int show(cli_session *s, const op_options *o, uint64_t begin_ns) {
  for (int k = 0; k < o->n_outputs; k++) {
    tn_status status = cli_outputs_write(s, o->outputs[k]);
    if (status) return cli_session_fail(s, status);
  }
  if (o->explain || o->bench) note_folded(s);
  if (o->explain) {
    const cli_explain_view view = {.name = o->op, .is_op = true, .json = o->json};
    return cli_explain_session(s, &view);
  }
  if (!o->bench) return show_outputs(s, o);
  cli_bench_view view = CLI_BENCH_INIT;
  view.name = o->op;
  view.is_op = true;
  view.json = o->json;
  view.threads = o->common.threads;
  view.repeat = o->repeat;
  return cli_bench_session(s, &view, begin_ns);
}

/* ---- the command ---- */

static int run_op(op_options *o) {
  static const cli_inputs no_inputs;
  cli_session s = {.diag = tn_diag_create(), .inputs = no_inputs, .common = &o->common};
  cli_op_args a = {.diag = s.diag, .seed = (uint64_t)o->seed};
  uint64_t begin = tn_now_ns();
  int code = CLI_INPUT;
  cli_store_init(&a.store);
  if (o->kernel)
    o->common.pins[o->common.n_pins++] = tn_arena_format(&a.store.arena, "%s=%s", o->op, o->kernel);
  if ((s.runtime = a.runtime = cli_runtime(&o->common))) {
    tn_status status = open_session(&s, &a, o);
    code = status ? cli_session_fail(&s, status) : show(&s, o, begin);
  }
  cli_session_close(&s);
  cli_store_free(&a.store);
  return code;
}

static int info(const op_options *o) {
  tn_runtime *runtime = cli_runtime(&o->common);
  int code = runtime ? cli_op_info(runtime, o->op, o->json) : CLI_INPUT;
  tn_runtime_destroy(runtime);
  return code;
}

static bool set(void *self, int index, const char *value) {
  op_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_op, value, o->verb ? &o->op : &o->verb);
    case 0: return cli_keep("--input", value, o->inputs, CLI_MAX_OP_ARGS, &o->n_inputs);
    case 1: return cli_keep("--attr", value, o->attrs, CLI_MAX_OP_ARGS, &o->n_attrs);
    case 2: return cli_keep("--output", value, o->outputs, CLI_MAX_OUTPUTS, &o->n_outputs);
    case 3: return cli_int("n-outputs", value, 1, 4096, &o->n_asked);
    case 4: o->kernel = value; return true;
    case 5: return cli_int("opset", value, 1, INT32_MAX, &o->opset);
    case 6: return cli_int("seed", value, 0, INT64_MAX, &o->seed);
    case 7: o->bench = true; return true;
    case 8: return cli_int("repeat", value, 1, 1000000, &o->repeat);
    case 9: o->explain = true; return true;
    case 10: return cli_int("top", value, 1, 1000, &o->top);
    default: o->json = value ? value : "-"; return true;
  }
}

static bool is_whole(const op_options *o) {
  if (!cli_need(&cli_op, o->verb, "run or info, and an operator")) return false;
  if (strcmp(o->verb, "run") && strcmp(o->verb, "info"))
    cli_error("tenon op has no verb '%s', only run and info", o->verb);
  else if (!o->op)
    return cli_need(&cli_op, o->op, "the name of an operator");
  else if (o->bench && o->explain)
    cli_error("--bench and --explain do not go together");
  else if (o->kernel && o->common.n_pins == CLI_MAX_PINS)
    cli_error("more than %d of --pin are not taken", CLI_MAX_PINS);
  else
    return true;
  return false;
}

static int run(int argc, char **argv) {
  op_options o = {.common = {.threads = 1}, .seed = 1};
  cli_parser p = {&cli_op, argc, argv, {&o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (!is_whole(&o)) return CLI_USAGE;
  return strcmp(o.verb, "info") ? run_op(&o) : info(&o);
}
