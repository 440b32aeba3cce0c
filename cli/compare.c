/* tenon compare: runs a model and compares its outputs with given ones, or, in another precision,
 * with its own. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "bisect.h"
#include "json.h"
#include "outputs.h"
#include "precision.h"

typedef struct compare_options {
  cli_common common;
  cli_feed feed;
  cli_tolerance tolerance;
  bool has_tolerance, bisect;
  const char *model, *other, *with, *json;
} compare_options;

static const cli_option options[] = {
    {"with", "DIR|FILE.npz|cpu|portable",
     "the outputs as they should be (required but with --precision)", 'w'},
    {"rtol", "X", "relative tolerance of float outputs (default 1e-3)", 0},
    {"atol", "X", "absolute tolerance of float outputs (default 1e-5)", 0},
    {"json", "[FILE]", "as JSON, to stdout if no file is named", 0},
    {"bisect", NULL, "with cpu, portable or OTHER: the first node whose output differs", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_compare = {
    .name = "compare",
    .arguments = "MODEL [OTHER]",
    .summary = "run a model and compare its outputs with given ones, or with another model's",
    .details =
        "Outputs are looked for in DIR as <output>.npy (as `tenon run --output` names them) "
        "or output_K.pb, or\nin FILE.npz by name. Floats may differ by atol + rtol * |x|, all "
        "else must be equal.\nWith cpu, the outputs are those of the same model on the CPU, "
        "whatever "
        "--device, --isa, --pin and\n--precision say; with portable, those of the kernels of plain "
        "C. --bisect makes every value of the\nmodel an output and names the first node, in the "
        "order of the graph, whose output differs.\nOTHER is a model of any format that "
        "is run on the same inputs: inputs and outputs go together by name,\nor else by their "
        "order, "
        "and channels may stand first in one and last in the other. --bisect names the\nfirst node "
        "whose output OTHER has nowhere, of those that lead to an output that differs.\nExit "
        "status 1 if an "
        "output differs.",
    .examples =
        "compare net.onnx --input test_data_set_0 --with test_data_set_0\n"
        "compare net.onnx --random --with golden --rtol 1e-4\n"
        "compare net.onnx --random --precision f16\n"
        "compare net.onnx net.tflite --random --bisect\n"
        "compare net.onnx --random --device opencl:0 --with cpu --bisect",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

typedef struct comparison {
  const compare_options *o;
  cli_session *s;
  cli_store store;
  cli_json *list;
  int n_equal, n_different;
} comparison;

static void judge(comparison *c, int32_t k, const tn_tensor *want, const char *from) {
  char why[500] = "";
  const char *name = tn_model_output_name(c->s->model, k);
  const tn_tensor *got = tn_session_output(c->s->session, k);
  bool same = cli_same(got, want, &c->o->tolerance, why, sizeof why);
  if (same)
    c->n_equal++;
  else
    c->n_different++;
  if (!cli_json_to_stdout(c->o->json))
    cli_print("%s %s: %s%s\n", same ? "equal " : "DIFFER", name, same ? "as in " : why,
              same ? from : "");
  cli_json *e = cli_json_object(c->list, NULL);
  cli_json_text(e, "output", name);
  cli_json_bool(e, "equal", same);
  cli_json_text(e, "difference", same ? NULL : why);
  cli_json_text(e, "expected", from);
}

/* ---- where the expected values are ---- */

static cli_reading reading(comparison *c, int32_t k) {
  static const cli_image_options none = {.scale = 1};
  return (cli_reading){c->s->runtime, &c->store, tn_session_output(c->s->session, k), &none,
                       c->s->diag};
}

/* What is no output, or of another type than the output, is not unpacked. */
static tn_status look_at_member(void *self, const char *name, const tn_tensor *t,
                                bool *out_wanted) {
  comparison *c = self;
  const int32_t k = tn_model_find_output(c->s->model, name);
  *out_wanted = k >= 0 && cli_value_may_fit(t, tn_session_output(c->s->session, k));
  if (k < 0) cli_note("%s: the model has no output '%s'", c->o->with, name);
  if (k >= 0 && !*out_wanted) judge(c, k, t, c->o->with);
  return TN_OK;
}

static tn_status visit_member(void *self, const char *name, const tn_tensor *t) {
  comparison *c = self;
  const int32_t k = tn_model_find_output(c->s->model, name);
  const cli_reading r = reading(c, k);
  tn_tensor want = *t;
  tn_status status = cli_value_adapt(&r, c->o->with, &want);
  if (!status) judge(c, k, &want, c->o->with);
  return status;
}

/* The file of output k in a folder; false: there is none. */
static bool find_file(const comparison *c, int32_t k, char *path, size_t size) {
  char name[CLI_FILE_NAME];
  struct stat st;
  snprintf(path, size, "%s/%s.npy", c->o->with, cli_output_file_name(c->s->model, k, name));
  if (!stat(path, &st)) return true;
  snprintf(path, size, "%s/output_%d.pb", c->o->with, k);
  return !stat(path, &st);
}

static tn_status compare_folder(comparison *c) {
  char path[4096];
  for (int32_t k = 0; k < tn_model_n_outputs(c->s->model); k++) {
    if (!find_file(c, k, path, sizeof path)) continue;
    const cli_reading r = reading(c, k);
    tn_tensor want;
    tn_status status = cli_value_read(&r, path, &want, NULL);
    if (status) return status;
    judge(c, k, &want, path);
  }
  return TN_OK;
}

/* ---- the command ---- */

static int compare_outputs(comparison *c) {
  const cli_npz_visitor members = {c, look_at_member, visit_member};
  const bool npz = tn_has_suffix(c->o->with, ".npz");
  tn_status status =
      npz ? cli_npz_each(c->o->with, &c->store.arena, c->s->diag, &members) : compare_folder(c);
  if (status) return cli_session_fail(c->s, cli_of_file(status));
  if (!c->n_equal && !c->n_different) {
    cli_error("%s: holds no output of the model", c->o->with);
    return CLI_INPUT;
  }
  int missing = tn_model_n_outputs(c->s->model) - c->n_equal - c->n_different;
  if (missing > 0) cli_note("%s: holds nothing for %d outputs", c->o->with, missing);
  return c->n_different ? CLI_FAILED : CLI_OK;
}

/* Before the model runs, which may take its time. */
static bool is_there(const char *with) {
  struct stat st;
  if (stat(with, &st)) {
    cli_error("--with %s: %s", with, strerror(errno));
    return false;
  }
  if (S_ISDIR(st.st_mode) || tn_has_suffix(with, ".npz")) return true;
  cli_error("--with %s: outputs are in a folder or in an .npz file", with);
  return false;
}

static int compare_precision(comparison *c, cli_json *json) {
  const compare_options *o = c->o;
  cli_json_text(json, "precision", tn_dtype_name(o->common.precision));
  return cli_precision_compare(c->s, &o->feed, o->model, o->has_tolerance ? &o->tolerance : NULL,
                               c->list, cli_json_to_stdout(o->json));
}

static int compare_run(comparison *c, cli_json *json) {
  const compare_options *o = c->o;
  if (o->other)
    return cli_compare_models(c->s, o->model, o->other, o->bisect, &o->tolerance, json,
                              cli_json_to_stdout(o->json));
  if (cli_is_reference(o->with))
    return cli_compare_reference(c->s, &o->feed, o->model, o->with, o->bisect, &o->tolerance, json,
                                 cli_json_to_stdout(o->json));
  return o->with ? compare_outputs(c) : compare_precision(c, json);
}

static int compare(const compare_options *o) {
  cli_session s;
  const bool is_reference = cli_is_reference(o->with) || o->other;
  if (o->with && o->other) {
    cli_error("--with and another model: it is compared with one of them");
    return CLI_USAGE;
  }
  if (o->with && !is_reference && !is_there(o->with)) return CLI_INPUT;
  if (o->bisect && !is_reference) {
    cli_error(
        "--bisect compares with another way to run the model: --with cpu or portable, or "
        "another model");
    return CLI_USAGE;
  }
  cli_json *json = o->json ? cli_json_new() : NULL;
  if (o->json && !json) return CLI_INPUT;
  comparison c = {.o = o, .s = &s, .list = is_reference ? NULL : cli_json_array(json, "outputs")};
  cli_store_init(&c.store);
  int code;
  if (cli_session_open(&s, &o->common, &o->feed, o->model, &code)) {
    tn_status status = cli_inputs_set(&s.inputs, s.session, false);
    bool given = status || cli_inputs_all_given(&s.inputs);
    if (!status && given && !o->bisect) status = tn_session_run(s.session, s.diag);
    code = !given ? CLI_USAGE : status ? cli_session_fail(&s, status) : compare_run(&c, json);
  }
  cli_store_free(&c.store);
  cli_session_close(&s);
  if (!json) return code;
  if (o->with || o->other) cli_json_bool(json, "equal", code == CLI_OK);
  return cli_json_write_take(json, o->json) ? code : CLI_INPUT;
}

static bool set(void *self, int index, const char *value) {
  compare_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_compare, value, o->model ? &o->other : &o->model);
    case 0: o->with = value; return true;
    case 1: o->has_tolerance = true; return cli_double("rtol", value, &o->tolerance.rtol);
    case 2: o->has_tolerance = true; return cli_double("atol", value, &o->tolerance.atol);
    case 4: o->bisect = true; return true;
    default: o->json = value ? value : "-"; return true;
  }
}

static int run(int argc, char **argv) {
  compare_options o = {
      .common = {.threads = 1}, .feed = CLI_FEED_INIT, .tolerance = {.rtol = 1e-3, .atol = 1e-5}};
  cli_parser p = {&cli_compare, argc, argv, {&o.feed, &o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (!cli_need(&cli_compare, o.model, "a model") ||
      (!cli_is_narrow(&o.common) && !o.other &&
       !cli_need(&cli_compare, o.with,
                 "another model, --with DIR, --with FILE.npz or --precision f16")))
    return CLI_USAGE;
  return compare(&o);
}
