/* tenon emit-c: a model as C for targets without an operating system. */
#include <ctype.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/sha256.h"
#include "emit/emit.h"
#include "new.h"
#include "open.h"
#include "write_files.h"

typedef struct emit_options {
  cli_common common;
  cli_feed feed;
  const char *model, *folder, *name;
} emit_options;

static const cli_option options[] = {
    {"output", "DIR", "the folder to write to; made if it is not there", 'o'},
    {"name", "NAME", "what the names that are seen outside begin with (default: model)", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_emit_c = {
    .name = "emit-c",
    .arguments = "MODEL",
    .summary = "write a model as C for chips without an operating system",
    .details =
        "Writes model.h, model.c, weights.h, weights.c, test.c, CMakeLists.txt and, where it is "
        "needed,\nvmath.h. The C needs no memory but static arrays, no files, threads or printf, "
        "and "
        "only\n<math.h>, <string.h>, <stddef.h> and <stdint.h>. test.c runs the model once and "
        "ends "
        "with 0 if\nthe outputs are the very bits that 'tenon run --isa none' computes from the "
        "same "
        "inputs:\nthose of --input, else random ones.\nThe same model and options give the same "
        "files. Nodes "
        "that cannot be written are all named.",
    .examples =
        "emit-c kws.onnx -o kws\n"
        "emit-c net.onnx -o src/net --name net --shape x=1x3x96x96",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

static bool check_name(const char *name) {
  bool ok = isalpha((unsigned char)*name) && strlen(name) < EMIT_NAME - 1;
  for (const char *p = name; *p; p++) ok = ok && (isalnum((unsigned char)*p) || *p == '_');
  if (!ok) cli_error("--name: '%s' is no C name of at most %d characters", name, EMIT_NAME - 2);
  return ok;
}

static bool set(void *self, int index, const char *value) {
  emit_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_emit_c, value, &o->model);
    case 0: o->folder = value; return true;
    default: o->name = value; return check_name(value);
  }
}

/* ---- names ---- */

static const char *const *find_lines(const char *path) {
  for (const new_file *f = new_files; f->path; f++)
    if (!strcmp(f->path, path)) return f->lines;
  return NULL;
}

/* The last part of a path, as it may stand in a comment. */
static const char *title_of(tn_arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  char *title = tn_arena_str(arena, slash ? slash + 1 : path);
  for (char *p = title; p && *p; p++)
    if (!isalnum((unsigned char)*p) && !strchr("._-+ ", *p)) *p = '_';
  return title;
}

/* SHA-256 of a file; NULL: it is a folder, or cannot be read. */
static const char *digest_of(tn_arena *arena, const char *path) {
  char text[TN_SHA256_TEXT];
  tn_mapping file;
  if (tn_file_map(path, NULL, &file)) return NULL;
  tn_sha256_text(file.data, file.size, text);
  tn_file_unmap(&file);
  return tn_arena_str(arena, text);
}

/* "in_" or "out_" and the name's letters, digits and '_'; with its number if that is not unique. */
static void make_name(char (*names)[EMIT_NAME], int32_t k, const char *prefix, const char *name) {
  int n = snprintf(names[k], EMIT_NAME, "%s_", prefix);
  for (; *name && n < EMIT_NAME - 8; name++)
    names[k][n++] = isalnum((unsigned char)*name) ? (char)tolower((unsigned char)*name) : '_';
  names[k][n] = 0;
  bool unique = true;
  for (int32_t j = 0; j < k; j++) unique = unique && strcmp(names[j], names[k]) != 0;
  if (!unique) snprintf(names[k] + n, EMIT_NAME - (size_t)n, "_%d", k);
}

static tn_status make_names(emit_model *m) {
  const int32_t n_in = m->plan->n_inputs, n_out = m->plan->n_outputs;
  m->inputs = emit_alloc(m, ((uint64_t)n_in + 1) * sizeof *m->inputs);
  m->outputs = emit_alloc(m, ((uint64_t)n_out + 1) * sizeof *m->outputs);
  for (int32_t k = 0; k < n_in && !m->status; k++)
    if (k < m->n_inputs)
      make_name(m->inputs, k, "in", tn_model_input_name(m->model, k));
    else
      make_name(m->inputs, k, "state", tn_model_state_name(m->model, k - m->n_inputs));
  for (int32_t k = 0; k < n_out && !m->status; k++)
    if (k < m->n_outputs)
      make_name(m->outputs, k, "out", tn_model_output_name(m->model, k));
    else
      memcpy(m->outputs[k], m->inputs[m->n_inputs + k - m->n_outputs], EMIT_NAME);
  return m->status;
}

/* ---- files ---- */

enum { N_FILES = 7 };

static const char *const file_names[N_FILES] = {
    "model.h", "model.c", "weights.h", "weights.c", "test.c", "CMakeLists.txt", "vmath.h"};

static void fill_files(emit_model *m, cli_session *s, cli_file *f) {
  const tn_tensor *outputs[CLI_MAX_INPUTS], *inputs[CLI_MAX_INPUTS];
  for (int32_t k = 0; k < m->n_outputs; k++) outputs[k] = tn_session_output(s->session, k);
  for (int32_t k = 0; k < m->n_inputs; k++) inputs[k] = &s->inputs.values[k];
  emit_write_model(m, &f[1].text, &f[0].text);
  emit_write_weights(m, &f[3].text, &f[2].text);
  emit_write_test(m, inputs, outputs, &f[4].text);
  emit_write_cmake(m, &f[5].text);
  const char *const *lines = find_lines("kit/vmath.h");
  for (; m->uses_vmath && *lines; lines++) tn_text_add(&f[6].text, "%s\n", *lines);
}

static tn_status write_states(emit_model *m, cli_session *s) {
  const tn_tensor *initial[CLI_MAX_INPUTS];
  const tn_status status = m->n_states ? tn_session_reset(s->session) : TN_OK;
  for (int32_t k = 0; k < m->n_states && !status; k++) initial[k] = tn_session_state(s->session, k);
  if (!status) emit_states(m, initial);
  return status;
}

static tn_status emit(emit_model *m, cli_session *s, const emit_options *o) {
  cli_file f[N_FILES];
  tn_status status = emit_find_units(m, s->session);
  if (!status && (m->plan->n_inputs > CLI_MAX_INPUTS || m->plan->n_outputs > CLI_MAX_INPUTS))
    status = tn_fail(m->diag, TN_ERR_UNSUPPORTED, "more than %d inputs or outputs", CLI_MAX_INPUTS);
  if (!status) {
    m->n_states = tn_model_n_states(m->model);
    m->n_inputs = m->plan->n_inputs - m->n_states;
    m->n_outputs = m->plan->n_outputs - m->n_states;
    status = make_names(m);
  }
  if (!status) status = emit_plan_memory(m);
  if (status) return status;
  emit_units(m);
  if (!m->status) m->status = write_states(m, s);
  for (int k = 0; k < N_FILES; k++) f[k].name = file_names[k], tn_text_init(&f[k].text, m->a);
  fill_files(m, s, f);
  status = m->status;
  const tn_text *const parts[] = {&m->code,  &m->tables,  &m->states,      &m->resets,
                                  &m->lines, &m->weights, &m->declarations};
  for (size_t k = 0; k < sizeof parts / sizeof *parts && !status; k++) status = parts[k]->status;
  if (!status)
    status = cli_write_files(o->folder, f, m->uses_vmath ? N_FILES : N_FILES - 1, m->diag);
  for (int k = 0; k < N_FILES; k++) tn_text_free(&f[k].text);
  return status;
}

static void free_model(emit_model *m) {
  tn_text *const parts[] = {&m->code,  &m->tables,  &m->states,      &m->resets,
                            &m->lines, &m->weights, &m->declarations};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) tn_text_free(parts[k]);
  tn_vec_free(m->a, &m->done);
  tn_arena_clear(&m->memory);
}

static tn_status emit_ran(cli_session *s, const emit_options *o) {
  const tn_allocator *a = tn_default_allocator();
  emit_model m = {.a = a,
                  .model = s->model,
                  .diag = s->diag,
                  .find = find_lines,
                  .name = o->name,
                  .weights = {.a = a},
                  .declarations = {.a = a},
                  .code = {.a = a},
                  .tables = {.a = a},
                  .states = {.a = a},
                  .resets = {.a = a},
                  .lines = {.a = a}};
  tn_arena_init(&m.memory, a);
  m.title = title_of(&m.memory, o->model);
  m.digest = digest_of(&m.memory, o->model);
  tn_status status = m.title ? emit(&m, s, o) : TN_ERR_MEMORY;
  if (!status)
    cli_note("%s: arena %llu bytes, weights %llu bytes, %d steps", o->folder,
             (unsigned long long)m.arena_bytes, (unsigned long long)m.weight_bytes, m.n_units);
  free_model(&m);
  return status;
}

static int emit_model_of(emit_options *o) {
  cli_session s;
  int code = CLI_OK;
  if (cli_session_open(&s, &o->common, &o->feed, o->model, &code)) {
    cli_progress("running %s", o->model);
    tn_status status = cli_inputs_set(&s.inputs, s.session, false);
    if (!status) status = tn_session_run(s.session, s.diag);
    cli_progress("%s", "");
    if (!status && tn_model_n_states(s.model)) /* the test sees what the first run left */
      status = tn_session_run(s.session, s.diag);
    if (!status) status = emit_ran(&s, o);
    code = status ? cli_session_fail(&s, status) : CLI_OK;
  }
  cli_session_close(&s);
  return code;
}

/* What is written has plain layout alone, so nothing may be copied to another one. */
static void leave_out_orders(cli_common *c) {
  static const char *const pins[] = {"tenon::Region!=region_to_*", "tenon::Region!=region_from_*",
                                     "tenon::Region!=region_few_to_*",
                                     "tenon::Region!=region_few_from_*"};
  for (size_t k = 0; k < sizeof pins / sizeof *pins; k++) c->pins[c->n_pins++] = pins[k];
}

static int run(int argc, char **argv) {
  emit_options o = {.common = {.threads = 1}, .feed = CLI_FEED_INIT, .name = "model"};
  const uint64_t portable = UINT64_C(1) << 63; /* --isa none: a bit that no kernel needs */
  cli_parser p = {&cli_emit_c, argc, argv, {&o.feed, &o.common}, 0, false};
  o.common.isa_mask = portable;
  o.feed.random = true; /* for inputs that nothing gives */
  leave_out_orders(&o.common);
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (o.common.isa_mask != portable || o.common.threads != 1) {
    cli_error("emit-c writes portable kernels for one thread: --isa and --threads say otherwise");
    return CLI_USAGE;
  }
  if (!cli_need(&cli_emit_c, o.model, "a model")) return CLI_USAGE;
  return cli_need(&cli_emit_c, o.folder, "-o DIR") ? emit_model_of(&o) : CLI_USAGE;
}
