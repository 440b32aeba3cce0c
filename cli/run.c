/* tenon run: feeds a model, runs it, shows and writes its outputs. */
#include "base/cpu.h"
#include "buffers.h"
#include "outputs.h"
#include "precision.h"
#include "summary.h"

typedef struct run_options {
  cli_common common;
  cli_feed feed;
  const char *model, *json, *profile, *outputs[CLI_MAX_OUTPUTS], *on_device[CLI_MAX_ON_DEVICE];
  int n_outputs, n_on_device;
  int64_t top, repeat;
  bool time, quiet;
} run_options;

static const cli_option options[] = {
    {"output", "DIR|NAME=FILE", "write all outputs to a folder, or one to a .npy file", 'o'},
    {"top", "K", "also print the K largest elements of each output", 'k'},
    {"repeat", "N", "run N times (default 1)", 'n'},
    {"time", NULL, "print how long loading, planning and running took", 0},
    {"profile", "FILE", "write what each step took as a Chrome trace (JSON)", 0},
    {"json", "[FILE]", "write the summary of the outputs as JSON, to stdout if no file is named",
     0},
    {"on-device", "PATTERN", "inputs and outputs that stay in memory of the device, \"past_*\"", 0},
    {"quiet", NULL, "print no outputs, and no notes of files that were written", 'q'},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_run = {
    .name = "run",
    .arguments = "MODEL",
    .summary = "run a model and show its outputs",
    .details =
        "Inputs are read by the ending of their files: .npy, .npz and .pb (ONNX test data) as they "
        "are,\npictures (.png, .jpg, .bmp) and sound (.wav, .flac, .ogg; averaged to mono, -1 to "
        "1) "
        "are\nconverted to the type of the input and must have its size, .bin and .raw hold its "
        "bare "
        "elements.\nOutputs are written as .npy. NumPy lacks bf16, the 8- and 4-bit floats and the "
        "4- "
        "and 2-bit\nintegers: they are written as float32, int8 and uint8, and read from these.",
    .examples =
        "run mnist.onnx --input digit.png --scale 1/255 --gray --top 3\n"
        "run bert.onnx --input input_ids=ids.npy --input attention_mask=mask.npy -o out\n"
        "run detector.onnx --random --shape images=1x3x640x640 --time --repeat 20\n"
        "run net.onnx --input test_data_set_0 --profile trace.json",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

static bool set(void *self, int index, const char *value) {
  run_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_run, value, &o->model);
    case 0: return cli_keep("--output", value, o->outputs, CLI_MAX_OUTPUTS, &o->n_outputs);
    case 1: return cli_int("top", value, 1, 1000, &o->top);
    case 2: return cli_int("repeat", value, 1, 1000000000, &o->repeat);
    case 3: o->time = true; return true;
    case 4: o->profile = value; return true;
    case 5: o->json = value ? value : "-"; return true;
    case 6: return cli_keep("--on-device", value, o->on_device, CLI_MAX_ON_DEVICE, &o->n_on_device);
    default: o->quiet = true; return true;
  }
}

/* ---- running ---- */

typedef struct times {
  uint64_t load_ns, first_ns, sum_ns, min_ns;
} times;

static tn_status run_once(cli_session *s, times *t, bool first) {
  uint64_t begin = tn_now_ns();
  tn_status status = tn_session_run(s->session, s->diag);
  uint64_t took = tn_now_ns() - begin;
  if (first) t->first_ns = took;
  if (first) return status;
  t->sum_ns += took;
  if (!t->min_ns || took < t->min_ns) t->min_ns = took;
  return status;
}

static tn_status run_all(cli_session *s, const run_options *o, times *t) {
  if (o->profile) tn_session_profile(s->session, 1);
  tn_status status = run_once(s, t, true);
  for (int64_t k = 1; k < o->repeat && !status; k++) {
    if (k % 16 == 1) cli_progress("run %lld of %lld", (long long)k + 1, (long long)o->repeat);
    status = run_once(s, t, false);
  }
  cli_progress("%s", "");
  return status;
}

/* ---- showing ---- */

static void print_times(const run_options *o, const times *t) {
  char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];
  printf("loaded in %s; planned and first run in %s\n", cli_time((double)t->load_ns, a),
         cli_time((double)t->first_ns, b));
  if (o->repeat > 1)
    printf("then %lld runs: mean %s, shortest %s\n", (long long)o->repeat - 1,
           cli_time((double)t->sum_ns / (double)(o->repeat - 1), a),
           cli_time((double)t->min_ns, b));
}

static bool write_json(cli_session *s, const run_options *o, const times *t) {
  cli_json *json = cli_json_new();
  cli_json_text(json, "model", o->model);
  cli_json *list = cli_json_array(json, "outputs");
  for (int32_t k = 0; k < tn_model_n_outputs(s->model); k++)
    cli_value_json(cli_json_object(list, NULL), tn_model_output_name(s->model, k), cli_output(s, k),
                   o->top);
  cli_json *time = cli_json_object(json, "time_ns");
  cli_json_int(time, "load", (int64_t)t->load_ns);
  cli_json_int(time, "first_run", (int64_t)t->first_ns);
  if (o->repeat > 1) {
    cli_json_int(time, "mean", (int64_t)(t->sum_ns / (uint64_t)(o->repeat - 1)));
    cli_json_int(time, "min", (int64_t)t->min_ns);
  }
  return cli_json_write_take(json, o->json);
}

static int show(cli_session *s, const run_options *o, const times *t) {
  for (int32_t k = 0; s->buffers && k < tn_model_n_outputs(s->model); k++)
    if (!cli_output(s, k)) return cli_session_fail(s, TN_ERR_IO);
  bool text = !cli_json_to_stdout(o->json);
  for (int32_t k = 0; k < tn_model_n_outputs(s->model) && text && !o->quiet; k++) {
    cli_labels labels = {.text = NULL};
    if (o->top) cli_labels_open(&labels, s->model, o->model, k);
    cli_value_print(tn_model_output_name(s->model, k), cli_output(s, k), o->top, &labels);
    cli_labels_close(&labels);
  }
  if (text && !o->quiet) cli_precision_print(s);
  if (text && !o->quiet && cli_is_narrow(&o->common))
    cli_note("tenon compare with these options shows what --precision does to the outputs");
  for (int k = 0; k < o->n_outputs; k++) {
    tn_status status = cli_outputs_write(s, o->outputs[k]);
    if (status) return cli_session_fail(s, status);
  }
  if (o->time && text) print_times(o, t);
  if (o->profile && !cli_trace_write(s, o->profile)) return CLI_INPUT;
  return o->json && !write_json(s, o, t) ? CLI_INPUT : CLI_OK;
}

static int run_model(const run_options *o) {
  cli_session s;
  int code;
  times t = {.load_ns = tn_now_ns()};
  if (cli_session_open(&s, &o->common, &o->feed, o->model, &code)) {
    t.load_ns = tn_now_ns() - t.load_ns;
    s.quiet = o->quiet;
    tn_status status = cli_inputs_set(&s.inputs, s.session, false);
    if (status)
      code = cli_session_fail(&s, status);
    else if (!cli_inputs_all_given(&s.inputs))
      code = CLI_USAGE;
    else if ((status = cli_buffers_bind(&s, o->on_device, o->n_on_device)))
      code = cli_session_fail(&s, status);
    else if ((status = run_all(&s, o, &t)))
      code = cli_session_fail(&s, status);
    else
      code = show(&s, o, &t);
  }
  cli_session_close(&s);
  return code;
}

static int run(int argc, char **argv) {
  run_options o = {.common = {.threads = 1}, .feed = CLI_FEED_INIT, .repeat = 1};
  cli_parser p = {&cli_run, argc, argv, {&o.feed, &o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  return cli_need(&cli_run, o.model, "a model") ? run_model(&o) : CLI_USAGE;
}
