/* The runtime as the common options say, loading models, and messages. */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli.h"
#include "parts.h"

/* ---- options ---- */

static const cli_option options[] = {
    {"threads", "N", "threads to use, the caller included; 0: all cores (default 1)", 't'},
    {"plugin", "FILE", "load this plug-in first (may be repeated)", 'p'},
    {"pin", "OP=KERNEL",
     "run this operator with this kernel, or fail; with != without it (may be repeated)", 0},
    {"allow", "FILE", "load only plug-ins of this list of SHA-256 and names (see sha256sum)", 0},
    {"vet", NULL, "load only plug-ins that pass 'tenon plugin vet' in a process of its own", 0},
    {"isa", "LIST", "use only these instruction sets: none, or names joined by ','", 0},
    {"tuning", "FILE", "choose kernels by the times in this file of 'tenon tune'", 0},
    {"weight-cache", "DIR", "keep prepared weights in this folder, for quicker starts", 0},
    {"device", "NAME",
     "run on this device, like opencl:0 or auto (may be repeated; see tenon device list)", 0},
    {"fallback", "POLICY", "may the CPU do work that is meant for a device? forbid, warn or allow",
     0},
    {"model-format", "NAME", "read models as this format, like onnx (default: by their content)",
     0},
    {"entry", "NAME", "of a file that holds several, this signature or method (see tenon info)", 0},
    {"precision", "TYPE",
     "keep weights of f32 as f16 or bf16 where kernels read them (default f32)", 0},
    {"no-optimize", NULL, "run every node as it stands in the file", 0},
    {"random-weights", NULL, "make up weights that no file holds (Caffe's .prototxt alone)", 0},
    {"time-limit", "SECONDS", "end runs that are not done so long after the model was loaded", 0},
    {NULL, NULL, NULL, 0}};

static uint64_t isa_bit(const char *name) {
  char known[32];
  for (int k = 0; k < 32; k++) {
    uint64_t bit = UINT64_C(1) << k;
    tn_isa_text(bit, known, sizeof known);
    if (*known && !strcmp(known, name)) return bit;
  }
  return 0;
}

bool cli_isa_parse(const char *text, uint64_t *out_mask) {
  char name[32];
  *out_mask = 0;
  for (const char *at = text;; at++) {
    const size_t n = strcspn(at, ",");
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
    uint64_t bit = isa_bit(name);
    if (!bit && strcmp(name, "none")) {
      cli_error("--isa: '%s' is no instruction set", name);
      return false;
    }
    *out_mask |= bit;
    at += n;
    if (!*at) break;
  }
  /* a bit that no kernel needs: nothing special is allowed */
  if (!*out_mask) *out_mask = UINT64_C(1) << 63;
  return true;
}

static bool parse_fallback(const char *text, uint32_t *out_fallback) {
  static const char *const words[] = {"forbid", "warn", "allow"};
  for (uint32_t k = 0; k < 3; k++)
    if (!strcmp(text, words[k])) {
      *out_fallback = TN_FALLBACK_FORBID + k;
      return true;
    }
  cli_error("--fallback is forbid, warn or allow, not '%s'", text);
  return false;
}

static bool parse_precision(const char *text, uint32_t *out_precision) {
  static const uint32_t types[] = {TN_F32, TN_F16, TN_BF16};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    if (!strcmp(text, tn_dtype_name(types[k]))) {
      *out_precision = types[k];
      return true;
    }
  cli_error("--precision is f32, f16 or bf16, not '%s'", text);
  return false;
}

static bool set_common(void *target, int index, const char *value) {
  cli_common *c = target;
  int64_t n = 0;
  switch (index) {
    case 0:
      if (!cli_int("threads", value, 0, 1024, &n)) return false;
      c->threads = (int32_t)n;
      return true;
    case 1: return cli_keep("--plugin", value, c->plugins, CLI_MAX_PLUGINS, &c->n_plugins);
    case 2: return cli_keep("--pin", value, c->pins, CLI_MAX_PINS, &c->n_pins);
    case 3: c->allow = value; return true;
    case 4: c->vet = true; return true;
    case 5: return cli_isa_parse(value, &c->isa_mask);
    case 6: c->tuning = value; return true;
    case 7:
      if (!*value) cli_error("--weight-cache: the name of the folder is empty");
      c->weight_cache = value;
      return *value;
    case 8: return cli_keep("--device", value, c->devices, CLI_MAX_DEVICES, &c->n_devices);
    case 9: return parse_fallback(value, &c->fallback);
    case 10: c->model_format = value; return true;
    case 11: c->entry = value; return true;
    case 12: return parse_precision(value, &c->precision);
    case 13: c->no_optimize = true; return true;
    case 14: c->random_weights = true; return true;
    default: return cli_double("time-limit", value, &c->time_limit_s);
  }
}

const cli_group cli_common_group = {"options of the runtime", options, set_common};

/* ---- runtime and model ---- */

/* The rules for plug-ins; paths go to room for two of PATH_MAX. */
static tn_status set_rules(const cli_common *c, char (*room)[PATH_MAX], tn_runtime_options *o,
                           tn_diag *diag) {
  if (c->allow && !(o->plugin_allow = realpath(c->allow, room[0])))
    return tn_fail(diag, TN_ERR_NOT_FOUND, "--allow: there is no file %s", c->allow);
  if (c->vet && !(o->plugin_vet = realpath("/proc/self/exe", room[1])))
    return tn_fail(diag, TN_ERR_NOT_FOUND, "--vet: this command cannot find its own file");
  return TN_OK;
}

static tn_runtime *create(const cli_common *c, tn_diag *diag) {
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  char room[2][PATH_MAX];
  if (set_rules(c, room, &o, diag)) return NULL;
  tn_runtime *runtime = NULL;
  o.n_threads = c->threads;
  o.isa_mask = c->isa_mask;
  o.pins = c->pins;
  o.n_pins = (uint32_t)c->n_pins;
  if (c->parts) o.flags |= TN_RUNTIME_NO_BUILTINS | TN_RUNTIME_NO_DISCOVERY;
  if (c->no_discovery) o.flags |= TN_RUNTIME_NO_DISCOVERY;
  tn_status s = tn_runtime_create(&o, diag, &runtime);
  if (!s && c->parts) s = cli_parts_add(runtime, c->parts, diag);
  for (int k = 0; k < c->n_plugins && !s; k++)
    s = tn_runtime_load_plugin(runtime, c->plugins[k], NULL, 0, diag);
  if (!s && c->weight_cache) s = tn_runtime_cache_weights(runtime, c->weight_cache, diag);
  if (!s && c->tuning) s = tn_runtime_load_tuning(runtime, c->tuning, diag);
  if (!s) return runtime;
  tn_runtime_destroy(runtime);
  return NULL;
}

tn_runtime *cli_runtime(const cli_common *c) {
  tn_diag *diag = tn_diag_create();
  tn_runtime *runtime = create(c, diag);
  cli_print_diag(diag);
  if (!runtime && !tn_diag_count(diag)) cli_error("no runtime to be had");
  tn_diag_destroy(diag);
  return runtime;
}

void cli_place_options(const cli_common *c, tn_model_options *o) {
  o->devices = c->devices;
  o->n_devices = (uint32_t)c->n_devices;
  o->fallback = c->fallback;
  o->precision = c->precision;
}

tn_status cli_load(tn_runtime *runtime, const cli_common *c, const char *path, uint32_t flags,
                   tn_diag *diag, tn_model **out_model) {
  tn_model_options o = {.head = TN_HEAD(tn_model_options),
                        .format = c->model_format,
                        .flags = flags,
                        .entry = c->entry};
  if (c->no_optimize) o.flags |= TN_MODEL_NO_OPTIMIZE;
  if (c->random_weights) o.flags |= TN_MODEL_RANDOM_WEIGHTS;
  cli_place_options(c, &o);
  cli_progress("loading %s", path);
  const tn_status status = tn_model_load(runtime, path, &o, diag, out_model);
  cli_progress("%s", "");
  return status;
}

/* ---- messages ---- */

/* Names of files, values and nodes are anybody's: none moves the cursor of a terminal, or begins a
 * line. Newlines are those at the two ends of the format. Without memory the text is cut. */
static __attribute__((format(printf, 2, 0))) void put(FILE *to, const char *format, va_list args) {
  char room[1000], *made = NULL, *text = room;
  va_list again;
  va_copy(again, args);
  int n = vasprintf(&made, format, args);
  if (n >= 0)
    text = made;
  else if ((n = vsnprintf(room, sizeof room, format, again)) >= (int)sizeof room)
    n = (int)sizeof room - 1;
  va_end(again);
  if (n < 0) return;
  const size_t first = strspn(format, "\n");
  size_t end = (size_t)n;
  for (size_t k = strlen(format); k > first && format[k - 1] == '\n'; k--) end--;
  if (first < end) tn_text_tame_line(text + first, (int64_t)(end - first));
  fputs(text, to);
  if (text == made) free(made);
}

static void say(const char *what, const char *format, va_list args) {
  cli_progress("%s", "");
  fprintf(stderr, "tenon: %s: ", what);
  put(stderr, format, args);
  fputc('\n', stderr);
}

void cli_print(const char *format, ...) {
  va_list args;
  va_start(args, format);
  put(stdout, format, args);
  va_end(args);
}

void cli_error(const char *format, ...) {
  va_list args;
  va_start(args, format);
  say("error", format, args);
  va_end(args);
}

void cli_note(const char *format, ...) {
  va_list args;
  va_start(args, format);
  say("note", format, args);
  va_end(args);
}

void cli_print_diag(tn_diag *diag) {
  static const char *const words[] = {"error", "warning", "note"};
  if (tn_diag_count(diag)) cli_progress("%s", "");
  for (int64_t k = 0; k < tn_diag_count(diag); k++) {
    int32_t severity = TN_DIAG_ERROR;
    const char *text = tn_diag_message(diag, k, &severity);
    fprintf(stderr, "tenon: %s: %s\n", words[severity >= 0 && severity < 3 ? severity : 0], text);
  }
}

void cli_progress(const char *format, ...) {
  va_list args;
  if (!isatty(STDERR_FILENO)) return;
  fputs("\r\033[K", stderr);
  va_start(args, format);
  put(stderr, format, args);
  va_end(args);
  fflush(stderr);
}

int cli_exit_code(tn_status status) {
  if (status == TN_OK) return CLI_OK;
  return status == TN_ERR_UNSUPPORTED || status == TN_ERR_CANCELLED ? CLI_FAILED : CLI_INPUT;
}
