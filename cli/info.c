/* tenon info: what a model file holds. Works for models that cannot run here, too. */
#include <string.h>

#include "json.h"
#include "open.h"
#include "summary.h"
#include "survey.h"

typedef struct info_options {
  cli_common common;
  cli_feed feed;
  const char *model, *json;
} info_options;

static const cli_option options[] = {
    {"json", "[FILE]", "as JSON, to stdout if no file is named", 0}, {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_info = {
    .name = "info",
    .arguments = "MODEL",
    .summary = "show format, inputs, outputs, operators, weights, FLOPs and memory of a model",
    .details =
        "FLOPs and memory are those of the plan for the given shapes; they are known if the "
        "model can run here\nand all dims of its inputs are known.",
    .examples = "info model.onnx\ninfo model.onnx --dim batch=8\ninfo model.onnx --json",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

enum { DEFAULT_SHOWN = 8, DEFAULTS_SHOWN = 20 }; /* elements of one; how many */

/* What is shown. */
typedef struct facts {
  const info_options *o;
  const tn_model *model;
  const tn_graph *graph;
  cli_survey survey;
  bool planned;
  tn_plan_info plan;
  char why[600]; /* not planned, in words */
} facts;

/* ---- the plan ---- */

static bool is_open(const tn_tensor *t) {
  bool open = t->kind == TN_KIND_TENSOR && t->rank < 0;
  for (int32_t d = 0; t->kind == TN_KIND_TENSOR && d < t->rank; d++) open = open || t->shape[d] < 0;
  return open;
}

static bool shapes_known(facts *f, const cli_session *s) {
  for (int32_t k = 0; k < s->inputs.n; k++) {
    if (!is_open(&s->inputs.values[k])) continue;
    snprintf(f->why, sizeof f->why,
             "input '%.200s' leaves dims open; say them with --shape or --dim",
             tn_model_input_name(s->model, k));
    return false;
  }
  return true;
}

static void first_reason(facts *f, tn_diag *diag) {
  const char *text = tn_diag_text(diag);
  size_t n = strcspn(text, "\n");
  snprintf(f->why, sizeof f->why, "%.*s", (int)(n < 500 ? n : 500), text);
}

/* False: an option names what the model has not. A model that cannot be planned is a fact. */
static bool make_plan(facts *f, tn_runtime *runtime) {
  cli_session s = {.runtime = runtime, .diag = tn_diag_create()};
  tn_status status = cli_load(runtime, &f->o->common, f->o->model, 0, s.diag, &s.model);
  if (!status) status = tn_session_create(s.model, s.diag, &s.session);
  const tn_status open =
      status ? TN_OK : cli_inputs_open(&s.inputs, runtime, s.model, &f->o->feed, s.diag);
  if (!status) status = open;
  if (!status && shapes_known(f, &s)) {
    status = cli_inputs_set(&s.inputs, s.session, true);
    if (!status) status = tn_session_prepare(s.session, s.diag);
    f->plan.head = (tn_head)TN_HEAD(tn_plan_info);
    f->planned = !status && !tn_session_plan(s.session, &f->plan);
  }
  if (status) first_reason(f, s.diag);
  if (!open) tn_diag_clear(s.diag);
  s.runtime = NULL; /* the caller's */
  cli_session_close(&s);
  return !open;
}

/* ---- text ---- */

static void print_values(const facts *f, const char *title, bool inputs) {
  const tn_graph_api *api = tn_graph_functions();
  char type[CLI_TYPE_TEXT];
  cli_table t;
  int32_t n = inputs ? tn_model_n_inputs(f->model) : tn_model_n_outputs(f->model);
  cli_print("%s\n", title);
  cli_table_init(&t, 2, 0);
  for (int32_t k = 0; k < n; k++) {
    int32_t value = inputs ? api->input(f->graph, k) : api->output(f->graph, k);
    const char *cells[] = {api->value_name(f->graph, value),
                           cli_type_text(api->value_type(f->graph, value), f->graph, value, type)};
    cli_table_row(&t, cells);
  }
  cli_table_print(&t, 2);
}

/* Its elements if they are few. */
static const char *default_text(const tn_tensor *t, char *buf, size_t size) {
  int64_t n = tn_tensor_elements(t);
  char element[100];
  if (n < 0 || n > DEFAULT_SHOWN) {
    snprintf(buf, size, "(%lld elements)", (long long)n);
    return buf;
  }
  size_t at = (size_t)snprintf(buf, size, "%s", t->rank ? "{" : "");
  for (int64_t k = 0; k < n && at < size; k++)
    at += (size_t)snprintf(buf + at, size - at, "%s%s", k ? ", " : "",
                           cli_element_text(t, k, element, sizeof element));
  if (t->rank && at < size) snprintf(buf + at, size - at, "}");
  return buf;
}

static void print_defaults(const facts *f) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t first = tn_model_n_inputs(f->model), n = tn_model_n_defaults(f->model);
  if (!n) return;
  char type[CLI_TYPE_TEXT], value[1024];
  cli_table t;
  cli_print("inputs that may be left out, with what they are then\n");
  cli_table_init(&t, 4, 0);
  for (int32_t k = first; k < first + n && k < first + DEFAULTS_SHOWN; k++) {
    tn_tensor declared;
    if (tn_model_input_type(f->model, k, &declared)) continue;
    const char *cells[] = {tn_model_input_name(f->model, k),
                           cli_type_text(&declared, f->graph, api->input(f->graph, k), type), "=",
                           default_text(tn_model_input_default(f->model, k), value, sizeof value)};
    cli_table_row(&t, cells);
  }
  cli_table_print(&t, 2);
  if (n > DEFAULTS_SHOWN) cli_print("  and %d more; --json lists all\n", n - DEFAULTS_SHOWN);
}

static void print_states(const facts *f) {
  const int32_t n = tn_model_n_states(f->model);
  char type[CLI_TYPE_TEXT];
  cli_table t;
  if (!n) return;
  cli_print("states, which a run leaves to the next one\n");
  cli_table_init(&t, 2, 0);
  for (int32_t k = 0; k < n; k++) {
    tn_tensor declared;
    if (tn_model_state_type(f->model, k, &declared)) continue;
    const char *cells[] = {tn_model_state_name(f->model, k),
                           cli_type_text(&declared, NULL, TN_NO_ID, type)};
    cli_table_row(&t, cells);
  }
  cli_table_print(&t, 2);
}

static void print_entries(const facts *f) {
  const int32_t n = tn_model_n_entries(f->model);
  for (int32_t k = 0; k < n; k++)
    cli_print("%s%s", k ? ", " : "entries           ", tn_model_entry_name(f->model, k));
  if (n) putchar('\n');
}

static const char *remark(const cli_use *use) {
  return use->op ? "" : use->is_function ? "function of the model" : "not supported here";
}

static void print_operators(const facts *f) {
  char name[300], count[CLI_UNIT_TEXT], version[CLI_UNIT_TEXT];
  cli_table t;
  cli_print("nodes             %lld\n", (long long)f->survey.n_nodes);
  if (f->survey.n_subgraphs)
    cli_print("subgraphs         %lld\n", (long long)f->survey.n_subgraphs);
  cli_table_init(&t, 4, 1);
  for (int64_t k = 0; k < f->survey.uses.n; k++) {
    const cli_use *u = &f->survey.uses.data[k];
    snprintf(count, sizeof count, "%lld", (long long)u->n_nodes);
    snprintf(version, sizeof version, "version %d", u->version);
    const char *cells[] = {count, cli_op_text(u->domain, u->name, name, sizeof name), version,
                           remark(u)};
    cli_table_row(&t, cells);
  }
  cli_table_print(&t, 2);
}

static void print_plan(const facts *f) {
  char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], c[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT], e[CLI_UNIT_TEXT];
  if (!f->planned) {
    cli_print("FLOPs             not known: %s\n", f->why);
    return;
  }
  cli_print("FLOPs             %s\n", cli_count(f->plan.flops, a));
  cli_print(
      "memory            activations %s (at least %s are alive at once), scratch %s,\n"
      "                  prepared weights %s, constants %s\n",
      cli_bytes((double)f->plan.arena_bytes, a), cli_bytes((double)f->plan.arena_bound_bytes, b),
      cli_bytes((double)f->plan.scratch_bytes, c), cli_bytes((double)f->plan.state_bytes, d),
      cli_bytes((double)f->plan.const_bytes, e));
}

static void print_meta(const facts *f) {
  const tn_graph_api *api = tn_graph_functions();
  for (int32_t k = 0; k < api->n_meta(f->graph); k++) {
    const char *text = "", *key = api->meta_at(f->graph, k, &text);
    size_t n = strcspn(text, "\r\n");
    if (*text)
      cli_print("%-16s  %.*s%s\n", key, (int)(n < 200 ? n : 200), text, text[n] ? " ..." : "");
  }
  cli_print("opsets           ");
  for (int32_t k = 0; k < api->n_opsets(f->graph); k++) {
    int32_t version = 0;
    const char *domain = api->opset_at(f->graph, k, &version);
    cli_print("%s %s %d", k ? "," : "", *domain ? domain : "ai.onnx", version);
  }
  putchar('\n');
}

static void print_facts(const facts *f) {
  char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];
  cli_print("file              %s\n", f->o->model);
  cli_print("format            %s\n", tn_model_format(f->model));
  print_meta(f);
  print_entries(f);
  print_values(f, "inputs", true);
  print_defaults(f);
  print_values(f, "outputs", false);
  print_states(f);
  print_operators(f);
  cli_print("parameters        %s in %s\n", cli_count((double)f->survey.n_parameters, a),
            cli_bytes((double)f->survey.weight_bytes, b));
  print_plan(f);
}

/* ---- JSON ---- */

static cli_json *json_value(const facts *f, cli_json *list, int32_t value, const tn_tensor *t) {
  const tn_graph_api *api = tn_graph_functions();
  char type[CLI_TYPE_TEXT];
  cli_json *o = cli_json_object(list, NULL);
  cli_json_text(o, "name", api->value_name(f->graph, value));
  cli_json_text(o, "type", cli_type_text(t, f->graph, value, type));
  cli_json_text(o, "dtype", tn_dtype_name(t->dtype));
  if (t->kind != TN_KIND_TENSOR || t->rank < 0) return o;
  cli_json *shape = cli_json_array(o, "shape"), *names = cli_json_array(o, "dim_names");
  for (int32_t d = 0; d < t->rank; d++) {
    cli_json_int(shape, NULL, t->shape[d]);
    cli_json_text(names, NULL, api->value_dim_name(f->graph, value, d));
  }
  return o;
}

static void json_operators(const facts *f, cli_json *json) {
  cli_json *list = cli_json_array(json, "operators");
  for (int64_t k = 0; k < f->survey.uses.n; k++) {
    const cli_use *u = &f->survey.uses.data[k];
    cli_json *o = cli_json_object(list, NULL);
    cli_json_text(o, "domain", u->domain);
    cli_json_text(o, "name", u->name);
    cli_json_int(o, "version", u->version);
    cli_json_int(o, "nodes", u->n_nodes);
    cli_json_bool(o, "function", u->is_function);
    cli_json_bool(o, "supported", u->op || u->is_function);
  }
}

static void json_defaults(const facts *f, cli_json *json) {
  const tn_graph_api *api = tn_graph_functions();
  cli_json *list = cli_json_array(json, "optional_inputs");
  int32_t first = tn_model_n_inputs(f->model), n = tn_model_n_defaults(f->model);
  for (int32_t k = first; k < first + n; k++) {
    tn_tensor declared;
    char text[1024];
    if (tn_model_input_type(f->model, k, &declared)) continue;
    cli_json *o = json_value(f, list, api->input(f->graph, k), &declared);
    cli_json_text(o, "default",
                  default_text(tn_model_input_default(f->model, k), text, sizeof text));
  }
}

static void json_states(const facts *f, cli_json *json) {
  cli_json *states = cli_json_array(json, "states"), *entries = cli_json_array(json, "entries");
  for (int32_t k = 0; k < tn_model_n_entries(f->model); k++)
    cli_json_text(entries, NULL, tn_model_entry_name(f->model, k));
  for (int32_t k = 0; k < tn_model_n_states(f->model); k++) {
    char text[CLI_TYPE_TEXT];
    tn_tensor type;
    cli_json *o = cli_json_object(states, NULL);
    cli_json_text(o, "name", tn_model_state_name(f->model, k));
    if (!tn_model_state_type(f->model, k, &type))
      cli_json_text(o, "type", cli_type_text(&type, NULL, TN_NO_ID, text));
  }
}

static void json_head(const facts *f, cli_json *json) {
  const tn_graph_api *api = tn_graph_functions();
  cli_json_text(json, "file", f->o->model);
  cli_json_text(json, "format", tn_model_format(f->model));
  cli_json *meta = cli_json_object(json, "meta");
  for (int32_t k = 0; k < api->n_meta(f->graph); k++) {
    const char *text = "", *key = api->meta_at(f->graph, k, &text);
    cli_json_text(meta, key, text);
  }
  cli_json *opsets = cli_json_object(json, "opsets");
  for (int32_t k = 0; k < api->n_opsets(f->graph); k++) {
    int32_t version = 0;
    const char *domain = api->opset_at(f->graph, k, &version);
    cli_json_int(opsets, *domain ? domain : "ai.onnx", version);
  }
  cli_json *inputs = cli_json_array(json, "inputs"), *outputs = cli_json_array(json, "outputs");
  for (int32_t k = 0; k < api->n_inputs(f->graph); k++)
    json_value(f, inputs, api->input(f->graph, k),
               api->value_type(f->graph, api->input(f->graph, k)));
  for (int32_t k = 0; k < api->n_outputs(f->graph); k++)
    json_value(f, outputs, api->output(f->graph, k),
               api->value_type(f->graph, api->output(f->graph, k)));
  json_defaults(f, json);
  json_states(f, json);
}

static void json_plan(const facts *f, cli_json *json) {
  if (!f->planned) {
    cli_json_text(json, "not_planned", f->why);
    return;
  }
  cli_json_number(json, "flops", f->plan.flops);
  cli_json *memory = cli_json_object(json, "memory_bytes");
  cli_json_int(memory, "arena", (int64_t)f->plan.arena_bytes);
  cli_json_int(memory, "arena_lower_bound", (int64_t)f->plan.arena_bound_bytes);
  cli_json_int(memory, "scratch", (int64_t)f->plan.scratch_bytes);
  cli_json_int(memory, "state", (int64_t)f->plan.state_bytes);
  cli_json_int(memory, "constants", (int64_t)f->plan.const_bytes);
}

static bool write_json(const facts *f) {
  cli_json *json = cli_json_new();
  json_head(f, json);
  cli_json_int(json, "nodes", f->survey.n_nodes);
  cli_json_int(json, "subgraphs", f->survey.n_subgraphs);
  json_operators(f, json);
  cli_json_int(json, "parameters", f->survey.n_parameters);
  cli_json_int(json, "weight_bytes", (int64_t)f->survey.weight_bytes);
  json_plan(f, json);
  return cli_json_write_take(json, f->o->json);
}

/* ---- the command ---- */

static int show(facts *f, tn_runtime *runtime) {
  f->graph = tn_model_graph(f->model);
  tn_status status = cli_survey_graph(&f->survey, runtime, f->graph);
  int code = CLI_OK;
  if (status) {
    cli_error("%s", tn_status_text(status));
    code = CLI_INPUT;
  } else {
    if (!make_plan(f, runtime)) code = CLI_INPUT;
    if (!cli_json_to_stdout(f->o->json)) print_facts(f);
    if (f->o->json && !write_json(f)) code = CLI_INPUT;
  }
  cli_survey_free(&f->survey);
  return code;
}

static int inform(const info_options *o) {
  tn_runtime *runtime = cli_runtime(&o->common);
  if (!runtime) return CLI_INPUT;
  tn_diag *diag = tn_diag_create();
  tn_model *model = NULL;
  tn_status status = cli_load(runtime, &o->common, o->model, TN_MODEL_GRAPH_ONLY, diag, &model);
  facts f = {.o = o, .model = model};
  cli_print_diag(diag);
  int code = status ? cli_exit_code(status) : show(&f, runtime);
  tn_model_destroy(model);
  tn_diag_destroy(diag);
  tn_runtime_destroy(runtime);
  return code;
}

static bool set(void *self, int index, const char *value) {
  info_options *o = self;
  if (index == CLI_ARG) return cli_one(&cli_info, value, &o->model);
  o->json = value ? value : "-";
  return true;
}

static int run(int argc, char **argv) {
  info_options o = {.common = {.threads = 1}, .feed = CLI_FEED_INIT};
  cli_parser p = {&cli_info, argc, argv, {&o.feed, &o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  return cli_need(&cli_info, o.model, "a model") ? inform(&o) : CLI_USAGE;
}
