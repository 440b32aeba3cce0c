/* tenon plugin info, vet: what child processes tell of a plug-in, as text or JSON. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "harness/harness.h"
#include "harness/vet.h"
#include "plugin.h"

/* A record of check_job.receive and its fields by name. */
typedef struct row {
  const char *kind, *array; /* array: of the JSON document; NULL: members of the document itself */
  const char *names[CHECK_MAX_FIELDS];
  uint32_t numbers; /* bit k: field k is one */
} row;

static const row rows[] = {
    {"plugin",
     NULL,
     {"name", "version", "license", "build_id", "abi", "flavour", "path", "offers"},
     0},
    {"op", "ops", {"name", "since", "until", "schema", "callbacks", "cases", "doc"}, 2 | 4 | 32},
    {"kernel",
     "kernels",
     {"name", "op", "since", "until", "isa", "rank", "device", "callbacks"},
     4 | 8 | 32},
    {"accept", "accepts", {"arg", "dtypes", "layout", "rank_min", "rank_max", "flags"}, 8 | 16},
    {"rewrite", "rewrites", {"name", "root"}, 0},
    {"format", "formats", {"name", "extensions", "domains", "callbacks"}, 0},
    {"breach", "breaches", {"part", "test", "rule"}, 0},
    {"note", "notes", {"part", "test", "rule"}, 0}};
enum { N_ROWS = sizeof rows / sizeof *rows };

typedef struct report {
  const cli_plugin_options *o;
  bool text, parts, found; /* print; with parts; what --only names is there */
  char plugin[200];
  cli_json *json, *arrays[N_ROWS], *accepts;
} report;

/* ---- JSON ---- */

static void open_json(report *r) {
  if (!r->o->json) return;
  r->json = cli_json_new();
  for (int k = 0; k < N_ROWS; k++)
    if (rows[k].array && strcmp(rows[k].array, "accepts"))
      r->arrays[k] = cli_json_array(r->json, rows[k].array);
}

static void add_json(report *r, int kind, const char *const *fields, int n) {
  cli_json *to = r->json;
  const row *form = &rows[kind];
  if (!strcmp(form->kind, "accept"))
    to = cli_json_object(r->accepts, NULL);
  else if (form->array)
    to = cli_json_object(r->arrays[kind], NULL);
  for (int k = 0; k + 1 < n && form->names[k]; k++) {
    if (form->numbers >> k & 1)
      cli_json_int(to, form->names[k], strtoll(fields[k + 1], NULL, 10));
    else
      cli_json_text(to, form->names[k], fields[k + 1]);
  }
  if (!strcmp(form->kind, "kernel")) r->accepts = cli_json_array(to, "accepts");
}

/* ---- text ---- */

static const char *field(const char *const *fields, int n, int k) { return k < n ? fields[k] : ""; }

static void print_plugin(report *r, const char *const *f, int n) {
  static const char *const names[] = {"name", "version",   "licence", "build id",
                                      "ABI",  "built for", "file"};
  for (int k = 1; r->parts && k < 8; k++) printf("%-10s %s\n", names[k - 1], field(f, n, k));
  if (r->parts && *field(f, n, 8)) printf("%-10s %s\n", "offers", field(f, n, 8));
}

static void print_versions(const char *since, const char *until) {
  if (!strcmp(until, "0"))
    printf("%s", strcmp(since, "0") ? since : "");
  else
    printf("%s-%s", since, until);
  if (!strcmp(until, "0") && strcmp(since, "0")) printf("+");
}

static void print_op(const char *const *f, int n) {
  printf("\noperator %s ", field(f, n, 1));
  print_versions(field(f, n, 2), field(f, n, 3));
  printf("\n  %s\n  has %s%s%s cases\n", field(f, n, 4), field(f, n, 5),
         *field(f, n, 5) ? ", " : "", field(f, n, 6));
}

static void print_kernel(const char *const *f, int n) {
  printf("\nkernel %s for %s ", field(f, n, 1), field(f, n, 2));
  print_versions(field(f, n, 3), field(f, n, 4));
  printf("\n  rank %s, device %s%s%s, has %s\n", field(f, n, 6), field(f, n, 7),
         *field(f, n, 5) ? ", needs " : "", field(f, n, 5), field(f, n, 8));
}

static void print_accept(const char *const *f, int n) {
  const bool any_rank = !strcmp(field(f, n, 4), "0") && !strcmp(field(f, n, 5), "8");
  printf("  takes %s: %s, layout %s", field(f, n, 1), field(f, n, 2), field(f, n, 3));
  if (!any_rank) printf(", rank %s to %s", field(f, n, 4), field(f, n, 5));
  printf("%s%s\n", *field(f, n, 6) ? ", " : "", field(f, n, 6));
}

static void print_finding(const report *r, const char *const *f, int n) {
  cli_progress("%s", "");
  printf("%s%s: %s%s%s: %s\n", strcmp(f[0], "note") ? "" : "note: ", r->plugin, field(f, n, 1),
         *field(f, n, 2) ? ", " : "", field(f, n, 2), field(f, n, 3));
  fflush(stdout);
}

static void print(report *r, const char *const *f, int n) {
  const bool is_note = !strcmp(f[0], "note");
  if (!strcmp(f[0], "plugin"))
    print_plugin(r, f, n);
  else if (!strcmp(f[0], "breach") || (is_note && !r->o->quiet))
    print_finding(r, f, n);
  if (!r->parts) return;
  if (!strcmp(f[0], "op")) print_op(f, n);
  if (!strcmp(f[0], "kernel")) print_kernel(f, n);
  if (!strcmp(f[0], "accept")) print_accept(f, n);
  if (!strcmp(f[0], "rewrite")) printf("\nrewrite %s from %s\n", field(f, n, 1), field(f, n, 2));
  if (!strcmp(f[0], "format"))
    printf("\nformat %s\n  files %s%s%s, has %s\n", field(f, n, 1), field(f, n, 2),
           *field(f, n, 3) ? ", domains " : "", field(f, n, 3), field(f, n, 4));
}

/* ---- both ---- */

static void receive(void *self, const char *const *fields, int n) {
  report *r = self;
  int kind = 0;
  if (!strcmp(fields[0], "device") && r->o->only && !strcmp(field(fields, n, 1), r->o->only))
    r->found = true;
  while (kind < N_ROWS && strcmp(rows[kind].kind, fields[0])) kind++;
  if (kind == N_ROWS) return;
  if (!strcmp(fields[0], "plugin") && *field(fields, n, 1))
    snprintf(r->plugin, sizeof r->plugin, "%s", fields[1]);
  const bool is_part = rows[kind].array && !strstr("accepts breaches notes", rows[kind].array);
  if (is_part && r->o->only && !strcmp(field(fields, n, 1), r->o->only)) r->found = true;
  if (r->json) add_json(r, kind, fields, n);
  if (r->text) print(r, fields, n);
}

static void progress(void *self, const char *part, const char *test) {
  (void)self;
  cli_progress("%.40s: %.60s", part, test);
}

static bool open_report(report *r, const cli_plugin_options *o, bool parts) {
  const char *slash = strrchr(o->file, '/');
  *r = (report){.o = o, .text = !cli_json_to_stdout(o->json), .parts = parts};
  snprintf(r->plugin, sizeof r->plugin, "%s", slash ? slash + 1 : o->file);
  tn_text_tame(r->plugin, (int64_t)strlen(r->plugin));
  if (access(o->file, F_OK)) {
    cli_error("%s: there is no such file", o->file);
    return false;
  }
  open_json(r);
  return true;
}

static int close_report(report *r, const check_verdict *v) {
  cli_progress("%s", "");
  if (!r->o->json) return v->breaches ? CLI_FAILED : CLI_OK;
  cli_json_bool(r->json, "fit", !v->breaches);
  cli_json_int(r->json, "passed", v->passed);
  cli_json_int(r->json, "left_out", v->left_out);
  if (!cli_json_write_take(r->json, r->o->json)) return CLI_INPUT;
  return v->breaches ? CLI_FAILED : CLI_OK;
}

int cli_plugin_info(const cli_plugin_options *o) {
  report r;
  if (!open_report(&r, o, true)) return CLI_INPUT;
  const check_job job = {.path = o->file, .seconds = o->timeout, .self = &r, .receive = receive};
  const check_verdict v = check_plugin_info(&job);
  if (r.text && v.breaches) printf("\nit would be refused\n");
  return close_report(&r, &v);
}

int cli_plugin_vet(const cli_plugin_options *o) {
  report r;
  if (!open_report(&r, o, false)) return CLI_INPUT;
  const check_job job = {.path = o->file,
                         .only = o->only,
                         .seconds = o->timeout,
                         .self = &r,
                         .receive = receive,
                         .progress = progress};
  const check_verdict v = check_plugin_vet(&job);
  cli_progress("%s", "");
  if (v.loadable && o->only && !r.found && strcmp(o->only, "init")) {
    cli_error("%s: has no operator, kernel, rewrite, format, compiler or dispatcher '%s'", o->file,
              o->only);
    cli_json_free(r.json);
    return CLI_INPUT;
  }
  if (r.text) {
    if (v.left_out) printf("%lld more like these are left out\n", (long long)v.left_out);
    printf("%s: %s: %lld tests passed, %lld breaches, %lld notes\n", r.plugin,
           v.breaches ? "not fit" : "fit", (long long)v.passed, (long long)v.breaches,
           (long long)v.notes);
  }
  return close_report(&r, &v);
}
