/* tenon select: a build that holds only what models need. */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "exec/exec.h"
#include "parts.h"
#include "plan_write.h"
#include "write_files.h"

enum { MAX_MODELS = 1024, MAX_LISTS = 64, MAX_TARGETS = 16, MAX_ADDED = 1024, NAME = 256 };
enum { MAX_SERVICES = 64 };
enum { RUN_S = 60 }; /* how long a run may take: some models never end */

typedef struct select_options {
  cli_common common;
  cli_feed feed;
  const char *models[MAX_MODELS], *lists[MAX_LISTS], *targets[MAX_TARGETS], *added[MAX_ADDED];
  const char *services[MAX_SERVICES];
  int n_models, n_lists, n_targets, n_added, n_services;
  const char *folder;
  bool plan;
} select_options;

static const cli_option options[] = {
    {"output", "DIR", "the folder to write to; made if it is not there", 'o'},
    {"list", "FILE", "parts to take besides, as in parts.txt (may be repeated)", 'l'},
    {"add", "OP[=DTYPES]", "an operator with all its kernels for these types (may be repeated)", 0},
    {"target", "LIST",
     "plan for these instruction sets, as --isa has them (may be repeated; default: --isa)", 0},
    {"with", "SERVICE",
     "what programs ask for besides models: devices, tuning, ... (docs/small.md; may be repeated)",
     0},
    {"plan", NULL, "write each model as a plan file, and list only what runs these", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_select = {
    .name = "select",
    .arguments = "[MODEL...]",
    .summary = "list the parts that models need, for a build of these alone",
    .details =
        "Plans and runs the models, on random inputs if none are given, and lists the operators, "
        "kernels,\nrewrites and formats that took part: those in the plans, of all subgraphs, and "
        "those that folded\nconstants or changed the graph on the way.\nWrites parts.txt, the "
        "list; "
        "report.txt, which model needs what; CMakeLists.txt, a library of these parts.\nThen a "
        "runtime with no other parts plans the models again: the list is right for them.",
    .examples =
        "select kws.onnx -o small\n"
        "select a.onnx b.tflite --target none --target avx2 --add Conv=f32,i8 -o small",
    .options = options,
    .groups = {&cli_feed_group, &cli_common_group},
    .run = run};

static bool keep_service(const char *name, select_options *o) {
  for (const char *const *known = tn_part_services; *known; known++)
    if (!strcmp(name, *known))
      return cli_keep("--with", name, o->services, MAX_SERVICES, &o->n_services);
  cli_error(
      "--with: '%s' is none of devices, plugins, weight_cache, writers, file_kinds, values, pins, "
      "tuning",
      name);
  return false;
}

static bool set(void *self, int index, const char *value) {
  select_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_keep("MODEL", value, o->models, MAX_MODELS, &o->n_models);
    case 0: o->folder = value; return true;
    case 1: return cli_keep("--list", value, o->lists, MAX_LISTS, &o->n_lists);
    case 2: return cli_keep("--add", value, o->added, MAX_ADDED, &o->n_added);
    case 4: return keep_service(value, o);
    case 5: o->plan = true; return true;
    default: return cli_keep("--target", value, o->targets, MAX_TARGETS, &o->n_targets);
  }
}

/* A model on one target. */
typedef struct look {
  tn_part_list used, asked;
  tn_text steps; /* the kernels of its plans */
  tn_text plan;  /* --plan: the bytes of its plan file */
  bool is_fixed; /* its inputs have one shape */
  char name[NAME];
} look;

typedef struct selection {
  const select_options *o;
  tn_part_list all;
  int64_t n_by_hand; /* the first lines of it come from --list and --with */
  look *looks;       /* per target and model */
  tn_text notes;     /* lines */
  tn_diag *diag;
} selection;

static int n_targets(const select_options *o) { return o->n_targets ? o->n_targets : 1; }

static look *look_of(const selection *sel, int target, int model) {
  return &sel->looks[target * sel->o->n_models + model];
}

/* ---- models ---- */

static tn_status open_session(cli_session *s, const cli_common *common, const cli_feed *feed,
                              const char *path) {
  *s = (cli_session){.diag = tn_diag_create(), .common = common};
  s->runtime = s->diag ? cli_runtime(common) : NULL;
  if (!s->runtime) return TN_ERR_INVALID;
  tn_status status = cli_load(s->runtime, common, path, 0, s->diag, &s->model);
  if (!status) status = tn_session_create(s->model, s->diag, &s->session);
  if (!status) status = cli_inputs_open(&s->inputs, s->runtime, s->model, feed, s->diag);
  if (!status) status = cli_inputs_set(&s->inputs, s->session, false);
  if (!status) s->limit = cli_time_limit_start(s->session, common->time_limit_s);
  return status ? status : tn_session_prepare(s->session, s->diag);
}

/* Plans, and runs if that goes: a run shows the plans of what depends on data. */
static tn_status plan_and_run(const selection *sel, const cli_common *common, const char *path,
                              cli_session *s, tn_text *notes, tn_text *steps) {
  tn_status status = open_session(s, common, &sel->o->feed, path);
  if (status) return status;
  if (tn_session_run(s->session, s->diag)) {
    tn_text_add(notes, "%s: planned, but it does not run on these inputs: %s\n", path,
                tn_diag_count(s->diag) ? tn_diag_message(s->diag, 0, NULL) : "");
    tn_diag_clear(s->diag);
  }
  cli_parts_plan_branches(s, notes, steps);
  return TN_OK;
}

static bool is_fixed(const tn_model *model) {
  bool fixed = true;
  for (int32_t k = 0; k < tn_model_n_inputs(model) && fixed; k++) {
    tn_tensor type = tn_tensor_make(TN_F32, 0, NULL, NULL);
    fixed = !tn_model_input_type(model, k, &type) && tn_tensor_bytes(&type) >= 0;
  }
  return fixed;
}

static int look_at(selection *sel, const cli_common *common, const char *path, look *to) {
  cli_session s;
  tn_status status = plan_and_run(sel, common, path, &s, &sel->notes, &to->steps);
  if (!status && sel->o->plan)
    status = cli_plan_write(&s, &to->used, &to->plan);
  else if (!status)
    status = cli_parts_used(s.runtime, s.model, &to->used);
  if (!status) status = cli_parts_asked(s.runtime, &to->asked);
  if (!status) to->is_fixed = is_fixed(s.model);
  const int code = status ? cli_session_fail(&s, status) : CLI_OK;
  cli_session_close(&s);
  return code;
}

static tn_status join(tn_part_list *to, const tn_part_list *from) {
  tn_status s = TN_OK;
  for (int64_t k = 0; k < from->lines.n && !s; k++)
    s = tn_part_list_add(to, from->lines.data[k].text);
  return s;
}

static int add_by_hand(selection *sel, const cli_common *common) {
  int code = CLI_OK;
  tn_runtime *runtime = sel->o->n_added ? cli_runtime(common) : NULL;
  for (int k = 0; k < sel->o->n_added && runtime && !code; k++)
    if (cli_parts_by_hand(runtime, sel->o->added[k], &sel->all, sel->diag)) code = CLI_USAGE;
  tn_runtime_destroy(runtime);
  return code;
}

static int look_for(selection *sel, const cli_common *common, int target) {
  int code = CLI_OK;
  for (int k = 0; k < sel->o->n_models && !code; k++) {
    look *l = look_of(sel, target, k);
    cli_progress("%d of %d: %s", k + 1, sel->o->n_models, sel->o->models[k]);
    code = look_at(sel, common, sel->o->models[k], l);
    if (!code && join(&sel->all, &l->used)) code = CLI_INPUT;
  }
  return code ? code : add_by_hand(sel, common);
}

/* With these parts alone the model gets the plans that it has got with all; where it does not,
 * kernels are added that decided something without running. */
static int prove_model(selection *sel, const cli_common *common, look *l, const char *path) {
  for (int turn = 0; turn < 2; turn++) {
    tn_text notes, steps;
    cli_session s;
    tn_text_init(&notes, tn_default_allocator());
    tn_text_init(&steps, tn_default_allocator());
    const tn_status status = plan_and_run(sel, common, path, &s, &notes, &steps);
    const bool same = !status && !strcmp(tn_text_get(&steps), tn_text_get(&l->steps));
    if (same || !turn) tn_diag_clear(s.diag);
    const int code = turn && status ? cli_session_fail(&s, status) : CLI_OK;
    cli_session_close(&s);
    tn_text_free(&notes);
    tn_text_free(&steps);
    if (code) return code;
    if (same) return CLI_OK;
    if (turn)
      tn_text_add(&sel->notes, "%s: the plan with these parts alone is another one\n", path);
    else if (join(&sel->all, &l->asked) || join(&l->used, &l->asked))
      return CLI_INPUT;
  }
  return CLI_OK;
}

static int prove_for(selection *sel, const cli_common *common, int target) {
  int code = CLI_OK;
  if (sel->o->plan) return CLI_OK; /* nothing is planned where plan files run */
  cli_common alone = *common;
  alone.parts = &sel->all;
  for (int k = 0; k < sel->o->n_models && !code; k++) {
    code = prove_model(sel, &alone, look_of(sel, target, k), sel->o->models[k]);
    if (code) cli_error("%s: there is no plan with these parts alone", sel->o->models[k]);
  }
  return code;
}

/* ---- kernels that only stand by ---- */

/* Does the model get the same plans, with the parts of `alone`? */
static bool has_same_plans(const selection *sel, const cli_common *alone, const look *l,
                           const char *path) {
  tn_text notes, steps;
  cli_session s;
  tn_text_init(&notes, tn_default_allocator());
  tn_text_init(&steps, tn_default_allocator());
  const tn_status status = open_session(&s, alone, &sel->o->feed, path);
  if (!status) cli_parts_plan_branches(&s, &notes, &steps);
  const bool same = !status && !strcmp(tn_text_get(&steps), tn_text_get(&l->steps));
  tn_diag_clear(s.diag);
  cli_session_close(&s);
  tn_text_free(&notes);
  tn_text_free(&steps);
  return same;
}

static bool runs(const look *l, const char *kernel) {
  const size_t n = strlen(kernel);
  const char *steps = tn_text_get(&l->steps);
  for (const char *p = steps; (p = strstr(p, kernel)); p += n)
    if (p[n] == '\n' && (p == steps || p[-1] == '\n')) return true;
  return false;
}

/* A kernel that moves data and was chosen, but in no plan there is a step left for it: the memory
 * of its output is that of its input. */
static bool stands_by(const selection *sel, int64_t line) {
  static const char word[] = "kernel ";
  const char *text = sel->all.lines.data[line].text, *name = text + sizeof word - 1;
  bool spare =
      line >= sel->n_by_hand && !strncmp(text, word, sizeof word - 1) && cli_parts_moves_data(name);
  for (int k = 0; k < sel->o->n_models * n_targets(sel->o) && spare; k++)
    spare = !runs(&sel->looks[k], name);
  return spare;
}

/* list without those of its lines that stand by: the one at `line`, or all (-1). */
static tn_status spare(const selection *sel, int64_t line, tn_part_list *out_list) {
  tn_status s = TN_OK;
  tn_part_list_init(out_list, tn_default_allocator());
  for (int64_t k = 0; k < sel->all.lines.n && !s; k++)
    if (!stands_by(sel, k) || (line >= 0 && line != k))
      s = tn_part_list_add(out_list, sel->all.lines.data[k].text);
  return s;
}

static bool is_enough(const selection *sel, tn_part_list *list) {
  bool same = true;
  for (int t = 0; t < n_targets(sel->o) && same; t++) {
    cli_common alone = sel->o->common;
    if (sel->o->n_targets) same = cli_isa_parse(sel->o->targets[t], &alone.isa_mask);
    alone.parts = list;
    for (int k = 0; k < sel->o->n_models && same; k++)
      same = has_same_plans(sel, &alone, look_of(sel, t, k), sel->o->models[k]);
  }
  return same;
}

static bool try_without(selection *sel, int64_t line) {
  tn_part_list fewer;
  const bool enough = !spare(sel, line, &fewer) && is_enough(sel, &fewer);
  tn_part_list *gone = enough ? &sel->all : &fewer;
  tn_part_list_free(gone);
  if (enough) sel->all = fewer;
  return enough;
}

/* Leaves kernels out that only stand by, all or one after the other. Plans for other shapes may
 * want them, and what is asked for by hand stays. */
static void leave_out_spare(selection *sel) {
  bool fixed = !sel->o->plan && !sel->o->n_added && sel->o->n_models > 0 &&
               tn_map_get(&sel->all.index, "feature continuations", -1) < 0;
  for (int k = 0; k < sel->o->n_models * n_targets(sel->o); k++)
    fixed = fixed && sel->looks[k].is_fixed;
  int64_t n = 0;
  for (int64_t k = 0; k < sel->all.lines.n && fixed; k++) n += stands_by(sel, k);
  if (!n || try_without(sel, -1)) return;
  for (int64_t k = sel->all.lines.n - 1; k >= 0; k--)
    if (stands_by(sel, k)) try_without(sel, k);
}

static int for_each_target(selection *sel, int (*what)(selection *, const cli_common *, int)) {
  cli_common common = sel->o->common;
  int code = CLI_OK;
  for (int k = 0; k < n_targets(sel->o) && !code; k++) {
    if (sel->o->n_targets && !cli_isa_parse(sel->o->targets[k], &common.isa_mask)) return CLI_USAGE;
    code = what(sel, &common, k);
  }
  return code;
}

/* ---- files ---- */

static int by_text(const void *x, const void *y) {
  const char *a = ((const tn_part_line *)x)->text, *b = ((const tn_part_line *)y)->text;
  const size_t n = strcspn(a, " "), m = strcspn(b, " ");
  static const char order[] = "format op lower rewrite kernel runs prepares driver feature service";
  if (n != m || strncmp(a, b, n)) { /* by kind, as above */
    char word[2][16];
    snprintf(word[0], sizeof word[0], "%.*s", (int)n, a);
    snprintf(word[1], sizeof word[1], "%.*s", (int)m, b);
    return strstr(order, word[0]) < strstr(order, word[1]) ? -1 : 1;
  }
  return strcmp(a, b);
}

/* Lines of a kind in a list, without those that were left out of the whole one. */
static int64_t count(const tn_part_list *list, const tn_part_list *all, const char *what) {
  int64_t n = 0;
  for (int64_t k = 0; k < list->lines.n; k++) {
    const char *text = list->lines.data[k].text;
    n += !strncmp(text, what, strlen(what)) && text[strlen(what)] == ' ' &&
         tn_map_get(&all->index, text, -1) >= 0;
  }
  return n;
}

static void write_list(const selection *sel, const tn_runtime *runtime, const tn_part_line *lines,
                       tn_text *to) {
  tn_text_add(to, "# What a build holds: a line for each part. Written by tenon select.\n");
  for (int64_t k = 0; k < sel->all.lines.n; k++) cli_parts_print(runtime, lines[k].text, to);
}

static void write_counts(const char *name, const tn_part_list *list, const tn_part_list *all,
                         tn_text *to) {
  tn_text_add(to, "%s: %lld operators, %lld kernels, %lld rewrites, %lld formats\n", name,
              (long long)count(list, all, "op"),
              (long long)count(list, all, "kernel") + (long long)count(list, all, "runs"),
              (long long)count(list, all, "rewrite"), (long long)count(list, all, "format"));
}

/* The last part of a path. */
static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static bool is_needed(const selection *sel, int model, const char *line) {
  bool needed = false;
  for (int k = 0; k < n_targets(sel->o); k++)
    needed = needed || tn_map_get(&look_of(sel, k, model)->used.index, line, -1) >= 0;
  return needed;
}

static void write_users(const selection *sel, const char *line, tn_text *to) {
  int n = 0;
  tn_text_add(to, "%s: ", line);
  for (int k = 0; k < sel->o->n_models; k++)
    if (is_needed(sel, k, line))
      tn_text_add(to, "%s%s", n++ ? ", " : "", base_name(sel->o->models[k]));
  tn_text_add(to, "%s\n", n ? "" : "by hand");
}

static void write_report(const selection *sel, const tn_runtime *runtime, const tn_part_line *lines,
                         tn_text *to) {
  const long long n_ops = tn_runtime_n_ops(runtime), n_kernels = tn_runtime_n_kernels(runtime);
  for (int k = 0; k < sel->o->n_models * n_targets(sel->o); k++)
    write_counts(base_name(sel->o->models[k % sel->o->n_models]), &sel->looks[k].used, &sel->all,
                 to);
  write_counts("all", &sel->all, &sel->all, to);
  tn_text_add(to, "left out: %lld of %lld operators, %lld of %lld kernels\n",
              n_ops - (long long)count(&sel->all, &sel->all, "op"), n_ops,
              n_kernels - (long long)count(&sel->all, &sel->all, "kernel"), n_kernels);
  tn_text_add(to, "%s\n", tn_text_get(&sel->notes));
  for (int64_t k = 0; k < sel->all.lines.n; k++) write_users(sel, lines[k].text, to);
}

static const char cmake_text[] =
    "# A library of the parts in parts.txt, written by tenon select. Link tenon_selected, or take\n"
    "# this folder into a project with add_subdirectory.\n"
    "cmake_minimum_required(VERSION 3.25)\n"
    "project(tenon_selected LANGUAGES C)\n"
    "if(NOT COMMAND tenon_add_selected)\n"
    "  find_package(Tenon REQUIRED)\n"
    "endif()\n"
    "tenon_add_selected(tenon_selected PARTS ${CMAKE_CURRENT_SOURCE_DIR}/parts.txt)\n";

/* "kws.plan" of "models/kws.onnx"; with a number where there is one of that name. */
static void name_plan(const selection *sel, int k) {
  const char *path = base_name(sel->o->models[k % sel->o->n_models]), *dot = strrchr(path, '.');
  const int n = dot && dot > path ? (int)(dot - path) : (int)strlen(path);
  int same = 0;
  for (int j = 0; j < k; j++) {
    const char *other = base_name(sel->o->models[j % sel->o->n_models]);
    same += !strncmp(other, path, (size_t)n) && (!other[n] || other[n] == '.');
  }
  if (same)
    snprintf(sel->looks[k].name, NAME, "%.*s_%d.plan", n < NAME - 20 ? n : NAME - 20, path,
             same + 1);
  else
    snprintf(sel->looks[k].name, NAME, "%.*s.plan", n < NAME - 20 ? n : NAME - 20, path);
}

static int add_plans(const selection *sel, cli_file *files) {
  const int n = sel->o->plan ? sel->o->n_models * n_targets(sel->o) : 0;
  for (int k = 0; k < n; k++) {
    name_plan(sel, k);
    files[k] = (cli_file){sel->looks[k].name, sel->looks[k].plan};
  }
  return n;
}

enum { N_TEXTS = 3 };

static tn_status write_texts(const selection *sel, const tn_runtime *runtime, tn_arena *arena,
                             cli_file *files) {
  tn_part_line *lines =
      tn_arena_copy(arena, sel->all.lines.data, (uint64_t)sel->all.lines.n * sizeof *lines);
  if (!lines) return TN_ERR_MEMORY;
  qsort(lines, (size_t)sel->all.lines.n, sizeof *lines, by_text);
  write_list(sel, runtime, lines, &files[0].text);
  write_report(sel, runtime, lines, &files[1].text);
  tn_text_add(&files[2].text, "%s", cmake_text);
  return TN_OK;
}

static void say_counts(const selection *sel) {
  tn_text summary;
  tn_text_init(&summary, tn_default_allocator());
  write_counts(sel->o->folder, &sel->all, &sel->all, &summary);
  cli_print("%s", tn_text_get(&summary));
  tn_text_free(&summary);
}

static tn_status write_all(const selection *sel, const tn_runtime *runtime, tn_diag *diag) {
  const char *const names[N_TEXTS] = {"parts.txt", "report.txt", "CMakeLists.txt"};
  const int n = N_TEXTS + sel->o->n_models * n_targets(sel->o);
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  cli_file *files = tn_arena_alloc(&arena, (uint64_t)n * sizeof *files);
  if (!files) return TN_ERR_MEMORY;
  for (int k = 0; k < N_TEXTS; k++) {
    files[k].name = names[k];
    tn_text_init(&files[k].text, tn_default_allocator());
  }
  tn_status s = write_texts(sel, runtime, &arena, files);
  if (!s)
    s = cli_write_files(sel->o->folder, files, N_TEXTS + add_plans(sel, files + N_TEXTS), diag);
  if (!s) say_counts(sel);
  for (int k = 0; k < N_TEXTS; k++) tn_text_free(&files[k].text);
  tn_arena_clear(&arena);
  return s;
}

static int write_selection(selection *sel) {
  tn_runtime *runtime = cli_runtime(&sel->o->common);
  if (!runtime) return CLI_INPUT;
  tn_status s = TN_OK;
  if (!sel->all.lines.n)
    s = tn_fail(sel->diag, TN_ERR_INVALID, "nothing is selected: name a model, --list or --add");
  if (!s) s = write_all(sel, runtime, sel->diag);
  tn_runtime_destroy(runtime);
  return s ? cli_exit_code(s) : CLI_OK;
}

/* ---- the command ---- */

static int read_lists(selection *sel) {
  tn_status s = TN_OK;
  for (int k = 0; k < sel->o->n_lists && !s; k++)
    s = tn_part_list_read(&sel->all, sel->o->lists[k], sel->diag);
  return s ? CLI_INPUT : CLI_OK;
}

static tn_status add_service(selection *sel, const char *name) {
  char line[32];
  snprintf(line, sizeof line, "service %s", name);
  return tn_part_list_add(&sel->all, line);
}

/* Those that are asked for, and those that the models were looked at with. */
static int add_services(selection *sel) {
  const select_options *o = sel->o;
  tn_status s = TN_OK;
  if (o->plan) return CLI_OK; /* programs that run plan files have none */
  for (int k = 0; k < o->n_services && !s; k++) s = add_service(sel, o->services[k]);
  if (o->common.n_plugins && !s) s = add_service(sel, "plugins");
  if (o->common.n_devices && !s) s = add_service(sel, "devices");
  return s ? CLI_INPUT : CLI_OK;
}

static void open_looks(selection *sel, int n) {
  const tn_allocator *a = tn_default_allocator();
  tn_part_list_init(&sel->all, a);
  for (int k = 0; k < n && sel->looks; k++) {
    tn_part_list_init(&sel->looks[k].used, a);
    tn_part_list_init(&sel->looks[k].asked, a);
    tn_text_init(&sel->looks[k].steps, a);
    tn_text_init(&sel->looks[k].plan, a);
  }
}

static void close_looks(selection *sel, int n) {
  for (int k = 0; k < n && sel->looks; k++) {
    tn_part_list_free(&sel->looks[k].used);
    tn_part_list_free(&sel->looks[k].asked);
    tn_text_free(&sel->looks[k].steps);
    tn_text_free(&sel->looks[k].plan);
  }
  tn_part_list_free(&sel->all);
}

static int select_parts(const select_options *o) {
  const tn_allocator *a = tn_default_allocator();
  selection sel = {.o = o, .diag = tn_diag_create(), .notes = {.a = a}};
  const int n = o->n_models * n_targets(o);
  const uint64_t bytes = ((uint64_t)n + 1) * sizeof *sel.looks;
  sel.looks = tn_alloc(a, bytes);
  open_looks(&sel, n);
  int code = sel.looks ? read_lists(&sel) : CLI_INPUT;
  if (!code) code = add_services(&sel);
  sel.n_by_hand = sel.all.lines.n;
  if (!code) code = for_each_target(&sel, look_for);
  if (!code) code = for_each_target(&sel, prove_for);
  if (!code) leave_out_spare(&sel);
  if (!code) code = write_selection(&sel);
  if (*tn_text_get(&sel.notes)) cli_note("%.*s", (int)sel.notes.n - 1, sel.notes.data);
  cli_print_diag(sel.diag);
  close_looks(&sel, n);
  tn_free(a, sel.looks, bytes);
  tn_text_free(&sel.notes);
  tn_diag_destroy(sel.diag);
  return code;
}

static int run(int argc, char **argv) {
  select_options *o = calloc(1, sizeof *o);
  if (!o) return CLI_INPUT;
  o->common = (cli_common){.threads = 1, .time_limit_s = RUN_S, .no_discovery = true};
  o->feed = (cli_feed)CLI_FEED_INIT;
  o->feed.random = true; /* for inputs that nothing gives */
  cli_parser p = {&cli_select, argc, argv, {&o->feed, &o->common}, 0, false};
  int code = cli_parse(&p, set, o);
  if (code == CLI_END && o->plan && o->common.threads != 1) {
    cli_error("--plan: a plan file runs on one thread, --threads says otherwise");
    code = CLI_USAGE;
  }
  if (code == CLI_END)
    code = cli_need(&cli_select, o->folder, "-o DIR") ? select_parts(o) : CLI_USAGE;
  free(o);
  return code;
}
