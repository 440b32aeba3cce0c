/* tenon check: will a model run here? Says everything that is missing at once. */
#include <string.h>

#include "base/diag.h"
#include "base/near.h"
#include "exec/exec.h"
#include "json.h"
#include "parts.h"
#include "placement.h"
#include "precision.h"
#include "survey.h"

enum { MAX_MODELS = 4096 };

typedef struct check_options {
  cli_common common;
  cli_feed feed;
  const char *json, *kernels, *models[MAX_MODELS];
  int n_models;
  bool quiet;
} check_options;

static const cli_option options[] = {
    {"json", "[FILE]", "as JSON, to stdout if no file is named", 0},
    {"kernels", "FILE", "with these parts alone, as in parts.txt of tenon select", 0},
    {"quiet", NULL, "print only models that do not run here", 'q'},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_check = {
    .name = "check",
    .arguments = "MODEL...",
    .summary = "tell whether models run here, and all that is missing if not",
    .details =
        "First the operators, in all subgraphs and functions; then each node against its "
        "operator's schema;\nthen a plan is made for the given shapes (open dims: 1), so that "
        "every node gets its kernel.\nExit status 1 if a model does not run here, 3 if one is "
        "broken "
        "or cannot be read.\n--kernels tells what a build of the listed parts would say, and which "
        "lines the list lacks.",
    .examples = "check *.onnx\ncheck detector.onnx --plugin ./acme.so --json",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

typedef enum verdict { RUNS, LACKS, BROKEN } verdict;

/* What `tenon run` would exit with for the same reason: 0, 1, 3. */
static verdict verdict_of(tn_status status) {
  return !status ? RUNS : cli_exit_code(status) == CLI_FAILED ? LACKS : BROKEN;
}

/* One model. */
typedef struct inspection {
  const check_options *o;
  tn_runtime *runtime;
  const char *path;
  tn_model *read; /* its graph alone, which the survey's strings belong to */
  cli_survey survey;
  verdict verdict;
  tn_diag *problems; /* other than missing operators */
  char remark[600];  /* what could not be checked */
  cli_session session;
  bool planned;
  tn_part_list needed; /* what the whole library would use, where a list of parts lacks something */
} inspection;

/* ---- operators ---- */

/* "versions 1 to 6 and 11 on are here": what is registered under a name. */
static void versions_text(tn_runtime *runtime, const cli_use *use, char *buf, size_t size) {
  size_t n = 0;
  *buf = 0;
  for (int32_t k = 0; k < tn_runtime_n_ops(runtime) && n < size; k++) {
    const tn_op *op = tn_runtime_op(runtime, k);
    if (strcmp(op->name, use->name) || strcmp(op->domain, use->domain)) continue;
    const char *comma = n ? ", " : "";
    int more = op->until ? snprintf(buf + n, size - n, "%s%d to %d", comma, op->since, op->until)
                         : snprintf(buf + n, size - n, "%s%d and later", comma, op->since);
    n += more > 0 ? (size_t)more : 0;
  }
}

static bool is_missing(const cli_use *use) { return !use->op && !use->is_function; }

/* A plug-in that ships with Tenon and has it, or what may be meant. */
static const char *where_from(const inspection *c, const cli_use *use, char *buf, size_t size) {
  char op[300], meant[TN_NEAR_TEXT];
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  const char *hint = tn_shipped_hint(c->runtime->registry, use->domain, &arena);
  cli_op_text(use->domain, use->name, op, sizeof op);
  if (hint)
    snprintf(buf, size, "; %s", hint);
  else
    snprintf(buf, size, "%s", cli_near_op(c->runtime, op, meant));
  tn_arena_clear(&arena);
  return buf;
}

static const char *missing_text(const inspection *c, const cli_use *use, char *buf, size_t size) {
  char versions[200], more[400];
  versions_text(c->runtime, use, versions, sizeof versions);
  if (!*versions)
    snprintf(buf, size, "no plug-in offers it%s", where_from(c, use, more, sizeof more));
  else if (!use->version)
    snprintf(buf, size, "the model does not import an operator set for its domain");
  else
    snprintf(buf, size, "version %d is not supported; versions %s are", use->version, versions);
  return buf;
}

/* ---- looking ---- */

static void look_at_operators(inspection *c) {
  tn_status status =
      cli_load(c->runtime, &c->o->common, c->path, TN_MODEL_GRAPH_ONLY, c->problems, &c->read);
  if (!status) status = cli_survey_graph(&c->survey, c->runtime, tn_model_graph(c->read));
  c->verdict = verdict_of(status);
  for (int64_t k = 0; k < c->survey.uses.n && !status; k++)
    if (is_missing(&c->survey.uses.data[k])) c->verdict = LACKS;
}

/* What else is wrong where operators are missing: those come up again as not supported. */
static void look_at_the_rest(inspection *c) {
  tn_diag *diag = tn_diag_create();
  tn_model *model = NULL;
  (void)cli_load(c->runtime, &c->o->common, c->path, 0, diag, &model);
  for (int64_t k = 0; k < tn_diag_count(diag); k++) {
    int32_t severity = TN_DIAG_ERROR;
    const char *text = tn_diag_message(diag, k, &severity);
    if (tn_diag_message_status(diag, k) != TN_ERR_UNSUPPORTED && severity == TN_DIAG_ERROR)
      tn_fail(c->problems, tn_diag_message_status(diag, k), "%s", text);
  }
  tn_model_destroy(model);
  tn_diag_destroy(diag);
}

/* A plan for the shapes as far as they are known. What depends on assumed shapes or on data does
 * not speak against the model. */
static void try_plan(inspection *c) {
  cli_session *s = &c->session;
  tn_status status = cli_load(c->runtime, &c->o->common, c->path, 0, c->problems, &s->model);
  if (status) {
    c->verdict = verdict_of(status);
    return;
  }
  status = tn_session_create(s->model, s->diag, &s->session);
  if (!status) status = cli_inputs_open(&s->inputs, c->runtime, s->model, &c->o->feed, s->diag);
  const bool opened = status == TN_OK;
  if (!status) status = cli_inputs_close_dims(&s->inputs, true);
  const bool unknown = opened && status; /* an input of any rank, say, whose shape was not said */
  if (!status) status = cli_inputs_set(&s->inputs, s->session, true);
  if (!status) status = tn_session_prepare(s->session, s->diag);
  c->planned = status == TN_OK;
  bool assumed = false;
  for (int32_t k = 0; k < s->inputs.n; k++) assumed = assumed || s->inputs.assumed[k];
  if (status == TN_ERR_UNSUPPORTED || (status == TN_ERR_SHAPE && !assumed && !unknown)) {
    c->verdict = verdict_of(status);
    tn_diag_append(c->problems, s->diag, NULL);
  } else if (status) {
    const char *text = tn_diag_text(s->diag);
    snprintf(c->remark, sizeof c->remark, "kernels were not checked%s: %.*s",
             assumed ? " (open dims were assumed)" : "", (int)strcspn(text, "\n"), text);
    tn_diag_clear(s->diag); /* it is told there, and is no error */
  }
}

/* ---- with a list of parts ---- */

/* What the model takes of the whole library. If that has no plan either, nothing is known. */
static void find_needed(inspection *c) {
  cli_common whole = c->o->common;
  cli_session s = {.diag = tn_diag_create(), .common = &whole};
  tn_text notes;
  tn_text_init(&notes, tn_default_allocator());
  whole.parts = NULL;
  s.runtime = cli_runtime(&whole);
  tn_status status =
      s.runtime ? cli_load(s.runtime, &whole, c->path, 0, s.diag, &s.model) : TN_ERR_MEMORY;
  if (!status) status = tn_session_create(s.model, s.diag, &s.session);
  if (!status) status = cli_inputs_open(&s.inputs, s.runtime, s.model, &c->o->feed, s.diag);
  if (!status) status = cli_inputs_close_dims(&s.inputs, true);
  if (!status) status = cli_inputs_set(&s.inputs, s.session, true);
  if (!status) status = tn_session_prepare(s.session, s.diag);
  if (!status) cli_parts_plan_branches(&s, &notes, &notes);
  if (s.runtime && !status) cli_parts_used(s.runtime, s.model, &c->needed);
  tn_diag_clear(s.diag);
  cli_session_close(&s);
  tn_text_free(&notes);
}

/* Lines that the list lacks: print is called for each, and gets `self`. */
static void each_lacking(const inspection *c, void (*print)(void *self, const char *line),
                         void *self) {
  cli_common whole = c->o->common;
  tn_text line;
  whole.parts = NULL;
  tn_runtime *runtime = c->needed.lines.n ? cli_runtime(&whole) : NULL;
  for (int64_t k = 0; runtime && k < c->needed.lines.n; k++) {
    const char *text = c->needed.lines.data[k].text;
    if (tn_map_get(&c->o->common.parts->index, text, -1) >= 0) continue;
    tn_text_init(&line, tn_default_allocator());
    cli_parts_print(runtime, text, &line);
    if (line.n) line.data[line.n - 1] = 0; /* its newline */
    print(self, tn_text_get(&line));
    tn_text_free(&line);
  }
  tn_runtime_destroy(runtime);
}

static void print_lacking(void *self, const char *line) {
  (void)self;
  cli_print("  lacks: %s\n", line);
}

static void json_lacking(void *self, const char *line) { cli_json_text(self, NULL, line); }

/* ---- reporting ---- */

static void print(const inspection *c) {
  const char *const words[] = {*c->remark ? "may run here" : "runs here", "does not run here",
                               c->read ? "is broken" : "cannot be read"};
  char why[600];
  if (c->o->quiet && c->verdict == RUNS) return;
  cli_print("%s: %s\n", c->path, words[c->verdict]);
  for (int64_t k = 0; k < c->survey.uses.n; k++) {
    const cli_use *u = &c->survey.uses.data[k];
    if (is_missing(u))
      cli_print("  %s (%s), %lld node%s: %s\n", u->name, *u->domain ? u->domain : "ai.onnx",
                (long long)u->n_nodes, u->n_nodes == 1 ? "" : "s",
                missing_text(c, u, why, sizeof why));
  }
  for (int64_t k = 0; k < tn_diag_count(c->problems); k++)
    cli_print("  %s\n", tn_diag_message(c->problems, k, NULL));
  if (*c->remark) cli_print("  note: %s\n", c->remark);
  each_lacking(c, print_lacking, NULL);
  if (c->needed.lines.n)
    cli_print("  to add all of it: tenon select %s --list %s -o DIR\n", c->path, c->o->kernels);
  if (c->planned) cli_precision_print(&c->session);
  if (c->planned) cli_placement_print(&c->session, 2);
}

static void json_operators(const inspection *c, cli_json *to) {
  char why[600];
  cli_json *list = cli_json_array(to, "missing_operators");
  for (int64_t k = 0; k < c->survey.uses.n; k++) {
    const cli_use *u = &c->survey.uses.data[k];
    if (!is_missing(u)) continue;
    cli_json *o = cli_json_object(list, NULL);
    cli_json_text(o, "domain", u->domain);
    cli_json_text(o, "name", u->name);
    cli_json_int(o, "version", u->version);
    cli_json_int(o, "nodes", u->n_nodes);
    cli_json_text(o, "first_node", u->first);
    cli_json_text(o, "reason", missing_text(c, u, why, sizeof why));
  }
}

static void add_json(const inspection *c, cli_json *list) {
  cli_json *o = cli_json_object(list, NULL);
  cli_json_text(o, "file", c->path);
  cli_json_bool(o, "readable", c->read != NULL);
  cli_json_bool(o, "runs", c->verdict == RUNS);
  json_operators(c, o);
  cli_json *problems = cli_json_array(o, "problems");
  for (int64_t k = 0; k < tn_diag_count(c->problems); k++)
    cli_json_text(problems, NULL, tn_diag_message(c->problems, k, NULL));
  cli_json_text(o, "remark", *c->remark ? c->remark : NULL);
  if (c->o->kernels) each_lacking(c, json_lacking, cli_json_array(o, "lacking_parts"));
  if (c->planned) cli_placement_json(o, &c->session);
}

static verdict inspect(const check_options *o, tn_runtime *runtime, const char *path,
                       cli_json *list) {
  inspection c = {.o = o, .runtime = runtime, .path = path, .problems = tn_diag_create()};
  c.session = (cli_session){.diag = tn_diag_create(), .common = &o->common};
  look_at_operators(&c);
  if (c.verdict == RUNS)
    try_plan(&c);
  else if (c.verdict == LACKS && c.read)
    look_at_the_rest(&c);
  tn_part_list_init(&c.needed, tn_default_allocator());
  if (o->kernels && c.verdict == LACKS) find_needed(&c);
  cli_progress("%s", "");
  if (!cli_json_to_stdout(o->json)) print(&c);
  add_json(&c, list);
  cli_session_close(&c.session);
  cli_survey_free(&c.survey);
  tn_part_list_free(&c.needed);
  tn_model_destroy(c.read);
  tn_diag_destroy(c.problems);
  return c.verdict;
}

static int check(const check_options *o) {
  cli_json *json = o->json ? cli_json_new() : NULL;
  tn_runtime *runtime = o->json && !json ? NULL : cli_runtime(&o->common);
  if (!runtime) {
    cli_json_free(json);
    return CLI_INPUT;
  }
  cli_json *list = cli_json_array(json, "models");
  int count[3] = {0};
  for (int k = 0; k < o->n_models; k++) {
    cli_progress("%d of %d: %s", k + 1, o->n_models, o->models[k]);
    count[inspect(o, runtime, o->models[k], list)]++;
  }
  if (o->n_models > 1 && !cli_json_to_stdout(o->json))
    cli_print("%d run here, %d do not, %d are broken or cannot be read\n", count[RUNS],
              count[LACKS], count[BROKEN]);
  tn_runtime_destroy(runtime);
  if (json && !cli_json_write_take(json, o->json)) return CLI_INPUT;
  return count[BROKEN] ? CLI_INPUT : count[LACKS] ? CLI_FAILED : CLI_OK;
}

static int check_with(check_options *o) {
  tn_part_list parts;
  tn_diag *diag = tn_diag_create();
  tn_part_list_init(&parts, tn_default_allocator());
  tn_status status = tn_part_list_read(&parts, o->kernels, diag);
  o->common.parts = &parts;
  const int code = status ? CLI_INPUT : check(o);
  cli_print_diag(diag);
  tn_diag_destroy(diag);
  tn_part_list_free(&parts);
  return code;
}

static bool set(void *self, int index, const char *value) {
  check_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_keep("MODEL", value, o->models, MAX_MODELS, &o->n_models);
    case 0: o->json = value ? value : "-"; return true;
    case 1: o->kernels = value; return true;
    default: o->quiet = true; return true;
  }
}

static int run(int argc, char **argv) {
  check_options o = {.common = {.threads = 1}, .feed = CLI_FEED_INIT};
  cli_parser p = {&cli_check, argc, argv, {&o.feed, &o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (!cli_need(&cli_check, o.n_models ? *o.models : NULL, "a model")) return CLI_USAGE;
  return o.kernels ? check_with(&o) : check(&o);
}
