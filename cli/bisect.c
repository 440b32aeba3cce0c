/* tenon compare --with cpu: the same model and inputs on the CPU. With --bisect every value that a
 * node makes becomes an output of both, and the first that differs is named. */
#include "bisect.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/graph.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

typedef struct bisection {
  cli_side sides[2]; /* as the options say; the reference */
  const cli_tolerance *tolerance;
  cli_json *json;
  bool quiet;
  int64_t n_same;
} bisection;

bool cli_is_reference(const char *with) {
  struct stat st;
  return with && (!strcmp(with, "cpu") || !strcmp(with, "portable")) && stat(with, &st) != 0;
}

/* ---- what a value looks like ---- */

static bool is_numeric(const tn_tensor *t) {
  return t && t->kind == TN_KIND_TENSOR && t->dtype != TN_STRING && t->dtype != TN_C64 &&
         t->dtype != TN_C128;
}

cli_statistics cli_look_at(const tn_tensor *t) {
  cli_statistics s = {.min = INFINITY, .max = -INFINITY};
  const int64_t n = is_numeric(t) ? tn_tensor_elements(t) : 0;
  double sum = 0;
  for (int64_t k = 0; k < n; k++) {
    const double x = tn_load_f64(t->dtype, t->data, k);
    if (isnan(x)) {
      s.n_nan++;
      continue;
    }
    s.n++;
    sum += x;
    if (x < s.min) s.min = x;
    if (x > s.max) s.max = x;
  }
  s.mean = s.n ? sum / (double)s.n : 0;
  return s;
}

void cli_show_statistics(const char *name, const tn_tensor *t, const char *key, cli_json *json,
                         bool quiet) {
  const cli_statistics s = cli_look_at(t);
  cli_json *o = cli_json_object(json, key);
  cli_json_text(o, "where", name);
  cli_json_number(o, "min", s.min);
  cli_json_number(o, "max", s.max);
  cli_json_number(o, "mean", s.mean);
  cli_json_int(o, "nan", s.n_nan);
  if (!quiet)
    cli_print("  %-14s min %.9g, max %.9g, mean %.9g, %lld NaN\n", name, s.min, s.max, s.mean,
              (long long)s.n_nan);
}

static void show_value(const bisection *b, const cli_side *x, const tn_tensor *t) {
  cli_show_statistics(x->name, t, x == &b->sides[0] ? "got" : "expected", b->json, b->quiet);
}

/* ---- a model with all values as outputs ---- */

/* Adds the outputs of nodes in their order, behind those that there are. */
static tn_status add_outputs(tn_graph *g) {
  const tn_graph_api *api = tn_graph_functions();
  tn_status s = TN_OK;
  for (int32_t k = 0; k < api->n_nodes(g) && s >= 0; k++) {
    const tn_node *node = api->node(g, api->node_at(g, k));
    for (uint32_t i = 0; i < node->n_outputs && s >= 0; i++)
      if (node->outputs[i] >= 0) s = api->add_output(g, node->outputs[i]);
  }
  return s < 0 ? s : TN_OK;
}

tn_status cli_side_open(cli_side *x) {
  tn_graph *g = tn_graph_clone(tn_model_graph(x->s->model));
  tn_model_options options = {.head = TN_HEAD(tn_model_options)};
  tn_status s = g ? add_outputs(g) : TN_ERR_MEMORY;
  cli_place_options(x->s->common, &options);
  if (x->s->common->no_optimize) options.flags |= TN_MODEL_NO_OPTIMIZE;
  if (!s)
    s = tn_model_from_graph_take(x->s->runtime, g, &options, x->s->diag, &x->model);
  else
    tn_graph_destroy(g);
  if (!s) s = tn_session_create(x->model, x->s->diag, &x->session);
  if (!s) s = cli_inputs_set(&x->s->inputs, x->session, false);
  return s ? s : tn_session_run(x->session, x->s->diag);
}

void cli_side_close(cli_side *x) {
  tn_session_destroy(x->session);
  tn_model_destroy(x->model);
}

/* ---- comparing ---- */

static bool is_same(bisection *b, int32_t output, char *why, size_t size) {
  const tn_tensor *got = tn_session_output(b->sides[0].session, output);
  const tn_tensor *want = tn_session_output(b->sides[1].session, output);
  if (!got || !want || cli_same(got, want, b->tolerance, why, size)) {
    b->n_same++;
    return true;
  }
  return false;
}

static void show_node(const bisection *b, const tn_graph *g, int32_t id, uint32_t i, int32_t output,
                      const char *why) {
  const tn_gnode *node = tn_graph_node(g, id);
  const tn_graph_api *api = tn_graph_functions();
  char text[TN_NODE_TEXT];
  tn_node_text(g, node, text, sizeof text);
  const char *name = api->value_name(g, node->node.outputs[i]);
  cli_json_text(b->json, "node", text);
  cli_json_text(b->json, "value", name);
  cli_json_text(b->json, "difference", why);
  cli_json_int(b->json, "values_before", b->n_same);
  if (!b->quiet) cli_print("FIRST  %s, output %u '%s': %s\n", text, i, name, why);
  for (int k = 0; k < 2; k++)
    show_value(b, &b->sides[k], tn_session_output(b->sides[k].session, output));
  if (!b->quiet) cli_print("  %lld values before it agree\n", (long long)b->n_same);
}

/* False: one differs, which has been shown. n_before: outputs of the model itself. */
static bool walk(bisection *b, const tn_graph *g, int32_t n_before) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t output = n_before;
  for (int32_t k = 0; k < api->n_nodes(g); k++) {
    const int32_t id = api->node_at(g, k);
    const tn_node *node = api->node(g, id);
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      char why[500] = "";
      if (node->outputs[i] < 0) continue;
      if (!is_same(b, output, why, sizeof why)) {
        show_node(b, g, id, i, output, why);
        return false;
      }
      output++;
    }
  }
  return true;
}

static int bisect(bisection *b) {
  int code = CLI_OK;
  for (int k = 0; k < 2 && code == CLI_OK; k++) {
    const tn_status s = cli_side_open(&b->sides[k]);
    if (s) code = cli_session_fail(b->sides[k].s, s);
  }
  const tn_graph *g = tn_model_graph(b->sides[0].s->model);
  const int32_t n_before = tn_model_n_outputs(b->sides[0].s->model);
  if (code == CLI_OK && !walk(b, g, n_before)) code = CLI_FAILED;
  if (code == CLI_OK && !b->quiet)
    cli_print("equal  all %lld values that nodes make\n", (long long)b->n_same);
  for (int k = 0; k < 2; k++) cli_side_close(&b->sides[k]);
  return code;
}

static int compare_outputs(bisection *b) {
  cli_session *s = b->sides[0].s, *plain = b->sides[1].s;
  int code = CLI_OK;
  tn_status status = cli_inputs_set(&plain->inputs, plain->session, false);
  if (!status) status = tn_session_run(plain->session, plain->diag);
  if (status) return cli_session_fail(plain, status);
  for (int k = 0; k < 2; k++) b->sides[k].session = b->sides[k].s->session;
  cli_json *list = cli_json_array(b->json, "outputs");
  for (int32_t k = 0; k < tn_model_n_outputs(s->model); k++) {
    char why[500] = "";
    const bool same = is_same(b, k, why, sizeof why);
    const char *name = tn_model_output_name(s->model, k);
    if (!same) code = CLI_FAILED;
    if (!b->quiet)
      cli_print("%s %s: %s%s\n", same ? "equal " : "DIFFER", name, same ? "as on " : why,
                same ? b->sides[1].name : "");
    cli_json *e = cli_json_object(list, NULL);
    cli_json_text(e, "output", name);
    cli_json_bool(e, "equal", same);
    cli_json_text(e, "difference", same ? NULL : why);
  }
  return code;
}

/* ---- the reference ---- */

/* The same plug-ins, and nothing else of what the options say about where and how to run. */
static cli_common reference_of(const cli_common *common, const char *with) {
  cli_common plain = *common;
  plain.n_devices = plain.n_pins = 0;
  plain.precision = 0;
  plain.isa_mask = 0;
  plain.tuning = plain.weight_cache = NULL;
  if (!strcmp(with, "portable")) (void)cli_isa_parse("none", &plain.isa_mask);
  return plain;
}

int cli_compare_reference(cli_session *s, const cli_feed *feed, const char *path, const char *with,
                          bool bisect_it, const cli_tolerance *tolerance, cli_json *json,
                          bool quiet) {
  const cli_common plain = reference_of(s->common, with);
  const char *here = s->common->n_devices ? s->common->devices[0] : "as asked for";
  cli_session reference;
  int code;
  if (cli_session_open(&reference, &plain, feed, path, &code)) {
    bisection b = {.sides = {{.name = here, .s = s}, {.name = with, .s = &reference}},
                   .tolerance = tolerance,
                   .json = json,
                   .quiet = quiet};
    code = bisect_it ? bisect(&b) : compare_outputs(&b);
  }
  cli_session_close(&reference);
  return code;
}
