/* tenon explain: what runs each node of a model, and why nothing else does. */
#include <string.h>

#include "json.h"
#include "placement.h"
#include "precision.h"
#include "reports.h"

typedef struct explain_options {
  cli_common common;
  cli_feed feed;
  cli_explain_view view;
} explain_options;

static const cli_option options[] = {
    {"node", "NAME", "only steps of this node, or of this operator", 0},
    {"brief", NULL, "one line for each step", 'b'},
    {"json", "[FILE]", "as JSON, to stdout if no file is named", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_explain = {
    .name = "explain",
    .arguments = "MODEL",
    .summary = "show which kernel runs each node, what it costs, and why others do not",
    .details =
        "A plan is made for the shapes of the inputs; open dims are taken as 1 unless --shape, "
        "--dim or\n--input says otherwise. With values (--input, --random) the model is run, too, "
        "so "
        "that parts whose\nshapes depend on data, and the branches taken, are shown as they ran.\n"
        "Costs are estimates for one thread.",
    .examples =
        "explain model.onnx --brief\nexplain model.onnx --node conv1\n"
        "explain model.onnx --random --json=plan.json",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

static bool is_wanted(const cli_explain_view *o, const tn_step_info *step) {
  return !o->node || !strcmp(step->node, o->node) || !strcmp(step->op, o->node);
}

/* Step k; false at the end. */
static bool get_step(const cli_session *s, int32_t k, tn_step_info *out) {
  *out = (tn_step_info){.head = TN_HEAD(tn_step_info)};
  return tn_session_step(s->session, k, out) == TN_OK;
}

static const char *tensor_text(const tn_tensor *t, char *buf) {
  char layout[CLI_UNIT_TEXT];
  if (!t) return strcpy(buf, "-");
  cli_type_text(t, NULL, -1, buf);
  cli_layout_text(t->layout, layout);
  size_t n = strlen(buf);
  if (*layout) snprintf(buf + n, CLI_TYPE_TEXT - n, " %s", layout);
  return buf;
}

/* ---- text ---- */

static void print_tensors(const char *what, const tn_tensor *const *tensors, uint32_t n,
                          int indent) {
  char text[CLI_TYPE_TEXT];
  cli_print("%*s%-10s", indent, "", what);
  for (uint32_t k = 0; k < n; k++) cli_print("%s%s", k ? ", " : "", tensor_text(tensors[k], text));
  putchar('\n');
}

static void print_numbers(const tn_step_info *step, int indent) {
  char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];
  cli_print("%*s%-10s%s", indent, "", "cost", cli_time(step->cost_ns, a));
  if (step->flops > 0) cli_print(", %s FLOP", cli_count(step->flops, a));
  if (step->scratch_bytes) cli_print(", scratch %s", cli_bytes((double)step->scratch_bytes, b));
  if (step->state_bytes) cli_print(", prepared %s", cli_bytes((double)step->state_bytes, b));
  if (step->n_stages > 1) cli_print(", %u stages", step->n_stages);
  putchar('\n');
}

static void print_refusals(const tn_step_info *step, int indent) {
  for (uint32_t k = 0; k < step->n_refusals; k++)
    cli_print("%*s%-10s%s: %s\n", indent, "", k ? "" : "not taken", step->refused_kernels[k],
              step->refusals[k]);
}

static void print_step(int32_t k, const tn_step_info *step) {
  int indent = 4 + 2 * (int)(step->depth < 20 ? step->depth : 20);
  cli_print("%*s%d  %s (%s)\n", indent - 4, "", k, *step->node ? step->node : "unnamed", step->op);
  cli_print("%*s%-10s%s, from %s, on %s", indent, "", "kernel", step->kernel, step->plugin,
            step->device);
  if (step->segment >= 0) cli_print(", segment %d", step->segment + 1);
  cli_print("\n");
  if (step->leader >= 0)
    cli_print("%*s%-10son each range that step %d has written; its time is part of that step's\n",
              indent, "", "runs", step->leader);
  print_tensors("inputs", step->inputs, step->n_inputs, indent);
  print_tensors("outputs", step->outputs, step->n_outputs, indent);
  if (step->n_epilogue) cli_print("%*s%-10s", indent, "", "fused");
  for (uint32_t i = 0; i < step->n_epilogue; i++)
    cli_print("%s%s", i ? ", " : "", step->epilogue[i]);
  if (step->n_epilogue) cli_print("\n");
  print_numbers(step, indent);
  print_refusals(step, indent);
}

static void add_row(cli_table *t, int32_t k, const tn_step_info *step) {
  char number[CLI_UNIT_TEXT], name[200], out[CLI_TYPE_TEXT], cost[CLI_UNIT_TEXT];
  char fused[200] = "", flops[CLI_UNIT_TEXT];
  snprintf(number, sizeof number, "%d", k);
  snprintf(name, sizeof name, "%*s%.150s", (int)(step->depth < 20 ? 2 * step->depth : 40), "",
           step->node);
  if (step->leader >= 0) snprintf(fused, sizeof fused, "with %d", step->leader);
  for (uint32_t i = 0; i < step->n_epilogue; i++) {
    size_t n = strlen(fused);
    snprintf(fused + n, sizeof fused - n, "+%s", step->epilogue[i]);
  }
  const char *cells[] = {number,
                         name,
                         step->op,
                         step->kernel,
                         fused,
                         step->n_outputs ? tensor_text(step->outputs[0], out) : "",
                         cli_time(step->cost_ns, cost),
                         step->flops > 0 ? cli_count(step->flops, flops) : ""};
  cli_table_row(t, cells);
}

static void print_brief(const cli_session *s, const cli_explain_view *o) {
  static const char *const head[] = {"step",  "node",   "operator", "kernel",
                                     "fused", "output", "cost",     "FLOP"};
  cli_table t;
  tn_step_info step;
  cli_table_init(&t, 8, 1 | 1 << 6 | 1 << 7);
  cli_table_row(&t, head);
  for (int32_t k = 0; get_step(s, k, &step); k++)
    if (is_wanted(o, &step)) add_row(&t, k, &step);
  cli_table_print(&t, 0);
}

static void print_plan(const cli_session *s, const cli_explain_view *o, const tn_plan_info *plan) {
  char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];
  tn_step_info step;
  if (o->brief) print_brief(s, o);
  for (int32_t k = 0; !o->brief && get_step(s, k, &step); k++)
    if (is_wanted(o, &step)) print_step(k, &step);
  if (o->node) return;
  cli_print("\n%d steps, estimated cost %s, %s FLOP\n", plan->n_steps, cli_time(plan->cost_ns, a),
            cli_count(plan->flops, b));
  cli_print("memory: activations %s", cli_bytes((double)plan->arena_bytes, a));
  cli_print(" (at least %s are alive at once),", cli_bytes((double)plan->arena_bound_bytes, a));
  cli_print(" scratch %s,", cli_bytes((double)plan->scratch_bytes, a));
  cli_print(" prepared weights %s,", cli_bytes((double)plan->state_bytes, a));
  cli_print(" constants %s\n", cli_bytes((double)plan->const_bytes, a));
  cli_precision_print(s);
  cli_placement_print(s, 0);
}

/* ---- JSON ---- */

static void json_tensors(cli_json *to, const char *key, const tn_tensor *const *tensors,
                         uint32_t n) {
  char text[CLI_TYPE_TEXT];
  cli_json *list = cli_json_array(to, key);
  for (uint32_t k = 0; k < n; k++) {
    if (!tensors[k]) {
      cli_json_text(list, NULL, NULL);
      continue;
    }
    cli_json *o = cli_json_object(list, NULL);
    cli_json_text(o, "type", cli_type_text(tensors[k], NULL, -1, text));
    cli_json_text(o, "layout", *cli_layout_text(tensors[k]->layout, text) ? text : "plain");
  }
}

cli_json *cli_step_json(cli_json *list, int32_t k, const tn_step_info *step) {
  cli_json *o = cli_json_object(list, NULL);
  cli_json_int(o, "step", k);
  cli_json_int(o, "depth", step->depth);
  cli_json_text(o, "node", step->node);
  cli_json_text(o, "op", step->op);
  cli_json_text(o, "kernel", step->kernel);
  cli_json_text(o, "plugin", step->plugin);
  cli_json_text(o, "device", step->device);
  if (step->segment >= 0) cli_json_int(o, "segment", step->segment);
  json_tensors(o, "inputs", step->inputs, step->n_inputs);
  json_tensors(o, "outputs", step->outputs, step->n_outputs);
  cli_json *fused = cli_json_array(o, "fused");
  for (uint32_t i = 0; i < step->n_epilogue; i++) cli_json_text(fused, NULL, step->epilogue[i]);
  cli_json_number(o, "cost_ns", step->cost_ns);
  cli_json_number(o, "flops", step->flops);
  cli_json_int(o, "scratch_bytes", (int64_t)step->scratch_bytes);
  cli_json_int(o, "state_bytes", (int64_t)step->state_bytes);
  cli_json_int(o, "stages", step->n_stages);
  if (step->leader >= 0) cli_json_int(o, "leader", step->leader);
  return o;
}

void cli_refusals_json(cli_json *refused, const tn_step_info *step) {
  for (uint32_t i = 0; i < step->n_refusals; i++) {
    cli_json *r = cli_json_object(refused, NULL);
    cli_json_text(r, "kernel", step->refused_kernels[i]);
    cli_json_text(r, "reason", step->refusals[i]);
  }
}

void cli_memory_json(cli_json *to, const tn_plan_info *plan) {
  cli_json *memory = cli_json_object(to, "memory_bytes");
  cli_json_int(memory, "arena", (int64_t)plan->arena_bytes);
  cli_json_int(memory, "arena_lower_bound", (int64_t)plan->arena_bound_bytes);
  cli_json_int(memory, "scratch", (int64_t)plan->scratch_bytes);
  cli_json_int(memory, "state", (int64_t)plan->state_bytes);
  cli_json_int(memory, "constants", (int64_t)plan->const_bytes);
}

static bool write_json(const cli_session *s, const cli_explain_view *o, const tn_plan_info *plan) {
  tn_step_info step;
  cli_json *json = cli_json_new();
  cli_json_text(json, o->is_op ? "operator" : "model", o->name);
  cli_json *steps = cli_json_array(json, "steps");
  for (int32_t k = 0; json && get_step(s, k, &step); k++) {
    if (!is_wanted(o, &step)) continue;
    cli_refusals_json(cli_json_array(cli_step_json(steps, k, &step), "not_taken"), &step);
  }
  cli_json_int(json, "n_steps", plan->n_steps);
  cli_json_number(json, "cost_ns", plan->cost_ns);
  cli_json_number(json, "flops", plan->flops);
  cli_memory_json(json, plan);
  cli_placement_json(json, s);
  return cli_json_write_take(json, o->json);
}

/* ---- the command ---- */

static bool is_there(const cli_session *s, const cli_explain_view *o) {
  tn_step_info step;
  for (int32_t k = 0; get_step(s, k, &step); k++)
    if (is_wanted(o, &step)) return true;
  cli_error(
      "--node %s: no step is of a node or operator of this name; it may have been fused or "
      "folded, see --no-optimize",
      o->node);
  return false;
}

int cli_explain_session(cli_session *s, const cli_explain_view *o) {
  tn_plan_info plan = {.head = TN_HEAD(tn_plan_info)};
  tn_status status = tn_session_plan(s->session, &plan);
  if (status) return cli_session_fail(s, status);
  if (o->node && !is_there(s, o)) return CLI_INPUT;
  if (!cli_json_to_stdout(o->json)) print_plan(s, o, &plan);
  return o->json && !write_json(s, o, &plan) ? CLI_INPUT : CLI_OK;
}

static int explain(const explain_options *o) {
  cli_session s;
  int code;
  if (cli_session_open(&s, &o->common, &o->feed, o->view.name, &code)) {
    bool values = o->feed.random || o->feed.n_inputs;
    tn_status status = cli_inputs_set(&s.inputs, s.session, !values);
    bool given = status || !values || cli_inputs_all_given(&s.inputs);
    if (!status && given)
      status = values ? tn_session_run(s.session, s.diag) : tn_session_prepare(s.session, s.diag);
    code = !given   ? CLI_USAGE
           : status ? cli_session_fail(&s, status)
                    : cli_explain_session(&s, &o->view);
  }
  cli_session_close(&s);
  return code;
}

static bool set(void *self, int index, const char *value) {
  explain_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_explain, value, &o->view.name);
    case 0: o->view.node = value; return true;
    case 1: o->view.brief = true; return true;
    default: o->view.json = value ? value : "-"; return true;
  }
}

static int run(int argc, char **argv) {
  explain_options o = {.common = {.threads = 1}, .feed = CLI_FEED_INIT};
  cli_parser p = {&cli_explain, argc, argv, {&o.feed, &o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  return cli_need(&cli_explain, o.view.name, "a model") ? explain(&o) : CLI_USAGE;
}
