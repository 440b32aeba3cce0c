/* tenon conform: does a device or an accelerator compute what it takes? Operators one by one and
 * small models, each against the CPU, on several inputs, and twice on the same; and of a device
 * what its driver does by itself. */
#include "harness/conform.h"

#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "cli.h"
#include "json.h"

typedef struct conform_options {
  cli_common common;
  const char *target, *json, *expect;
  bool csv;
} conform_options;

static int run(int argc, char **argv);
static const cli_option options[] = {
    {"expect", "FILE", "what is known of TARGET: all else than this fails", 0},
    {"csv", NULL, "as CSV: case, result, reason", 0},
    {"json", "[FILE]", "as JSON, to stdout if no file is named", 0},
    {NULL, NULL, NULL, 0}};
const cli_command cli_conform = {
    .name = "conform",
    .arguments = "TARGET",
    .summary = "test a device or an accelerator: does it compute what it takes?",
    .details =
        "Common operators, each by itself, and small models run on TARGET, against the CPU: on\n"
        "three inputs, and on the last of them twice, which has to give the same bits. Of a\n"
        "device the driver is called by itself, too: odd copies, barriers, marks, time that is\n"
        "up, memory that is not there. What TARGET does not take is listed with its reason and\n"
        "is no failure. Exit status 1 if a result is wrong or a run fails, if the CPU takes\n"
        "over, or if nothing is taken at all.\n"
        "FILE has a line for each case that is not to be ok, `not taken CASE` or `failed CASE`, "
        "and\n"
        "comments behind #. Each case has to come out as it says: one that it does not name is to "
        "be\n"
        "ok, and a failure that is expected and does not come is one, too.",
    .examples = "conform shadow:0\nconform acme-npu-2 --plugin acme.so --expect acme.txt",
    .options = options,
    .groups = {&cli_common_group},
    .run = run};

enum { OK, NOT_TAKEN, FAILED };
static const char *const results[] = {"ok", "not taken", "failed"};

typedef struct counts {
  int n_tried, n_taken, n_failed, n_unexpected;
  int n_computed; /* taken, and none of a driver's */
} counts;

typedef struct report {
  const conform_options *o;
  tn_mapping expect; /* the text of FILE */
  cli_json *list;
  counts n;
} report;

static bool is_line(const tn_mapping *text, const char *line) {
  const size_t n = strlen(line);
  for (uint64_t at = 0; at < text->size;) {
    const char *begin = (const char *)text->data + at;
    const char *end = memchr(begin, '\n', (size_t)(text->size - at));
    size_t size = end ? (size_t)(end - begin) : (size_t)(text->size - at);
    at += size + 1;
    const char *comment = memchr(begin, '#', size);
    if (comment) size = (size_t)(comment - begin);
    while (size && (begin[size - 1] == ' ' || begin[size - 1] == '\r')) size--;
    if (size == n && !memcmp(begin, line, n)) return true;
  }
  return false;
}

static int expected(const report *r, const char *name) {
  char line[200];
  for (int k = NOT_TAKEN; k <= FAILED; k++) {
    snprintf(line, sizeof line, "%s %s", results[k], name);
    if (is_line(&r->expect, line)) return k;
  }
  return OK;
}

/* As a field of CSV. */
static void print_quoted(const char *text) {
  cli_print("\"");
  for (; *text; text++) cli_print("%s%c", *text == '"' ? "\"" : "", *text);
  cli_print("\"");
}

static void tell(report *r, const char *name, int result, const char *reason) {
  static const char *const words[] = {"ok", "not taken", "FAILED"};
  const int wanted = r->o->expect ? expected(r, name) : result;
  r->n.n_unexpected += result != wanted;
  cli_json *e = cli_json_object(r->list, NULL);
  cli_json_text(e, "case", name);
  cli_json_text(e, "result", results[result]);
  cli_json_text(e, "expected", r->o->expect ? results[wanted] : NULL);
  cli_json_text(e, "reason", *reason ? reason : NULL);
  if (cli_json_to_stdout(r->o->json)) return;
  if (r->o->csv) {
    print_quoted(name);
    cli_print(",%s,", results[result]);
    print_quoted(reason);
    cli_print("\n");
  } else {
    cli_print("%-9s %s%s%s%s%s\n", words[result], name, *reason ? ": " : "", reason,
              result != wanted ? "; expected: " : "", result != wanted ? results[wanted] : "");
  }
}

/* What has to be waited for in vain once is not asked again. */
static bool try_case(tn_runtime *rt, report *r, int index) {
  enum { PATIENCE_S = 10 };
  check_conformed c;
  const uint64_t begun_ns = tn_now_ns();
  check_conform(rt, r->o->target, index, &c);
  const double seconds = (double)(tn_now_ns() - begun_ns) / 1e9;
  r->n.n_tried++;
  r->n.n_taken += c.taken;
  r->n.n_computed += c.taken && !c.of_driver;
  r->n.n_failed += *c.why != 0;
  tell(r, c.name, *c.why ? FAILED : c.taken ? OK : NOT_TAKEN, *c.why ? c.why : c.refused);
  if (!*c.why || seconds < PATIENCE_S) return true;
  cli_error("%s failed after %.0f s: what is left was not tried", r->o->target, seconds);
  return false;
}

/* A target that is not there is an error, and none of these tests. */
static tn_status open_target(tn_runtime *rt, const conform_options *o, int *out_n_cases) {
  tn_diag *diag = tn_diag_create();
  const tn_status status = check_conform_open(rt, o->target, diag, out_n_cases);
  if (status) cli_error("%s", tn_diag_count(diag) ? tn_diag_message(diag, 0, NULL) : "?");
  tn_diag_destroy(diag);
  return status;
}

static int judge(const report *r) {
  const counts *n = &r->n;
  if (!n->n_computed) cli_error("%s takes none of the cases, which shows nothing", r->o->target);
  if (!r->o->expect) return n->n_failed || !n->n_computed ? CLI_FAILED : CLI_OK;
  if (n->n_unexpected)
    cli_error("%s: %d cases do not come out as %s says", r->o->target, n->n_unexpected,
              r->o->expect);
  return n->n_unexpected || !n->n_computed ? CLI_FAILED : CLI_OK;
}

static int conform(tn_runtime *rt, report *r) {
  int n_cases;
  if (open_target(rt, r->o, &n_cases)) return CLI_INPUT;
  if (r->o->csv && !cli_json_to_stdout(r->o->json)) cli_print("case,result,reason\n");
  while (r->n.n_tried < n_cases && try_case(rt, r, r->n.n_tried)) continue;
  if (!r->o->csv && !cli_json_to_stdout(r->o->json))
    cli_print("%s: %d of %d cases taken, %d failed\n", r->o->target, r->n.n_taken, r->n.n_tried,
              r->n.n_failed);
  return judge(r);
}

static int conform_and_write(const conform_options *o) {
  report r = {.o = o};
  tn_diag *diag = tn_diag_create();
  const tn_status status = o->expect ? tn_file_map(o->expect, diag, &r.expect) : TN_OK;
  if (status) cli_error("%s", tn_diag_message(diag, 0, NULL));
  tn_diag_destroy(diag);
  cli_json *json = o->json && !status ? cli_json_new() : NULL;
  tn_runtime *rt = status || (o->json && !json) ? NULL : cli_runtime(&o->common);
  cli_json_text(json, "target", o->target);
  r.list = cli_json_array(json, "cases");
  int code = rt ? conform(rt, &r) : CLI_INPUT;
  tn_runtime_destroy(rt);
  if (o->expect && !status) tn_file_unmap(&r.expect);
  cli_json_int(json, "taken", r.n.n_taken);
  cli_json_int(json, "failed", r.n.n_failed);
  cli_json_bool(json, "conforms", code == CLI_OK);
  if (json && !cli_json_write_take(json, o->json)) code = CLI_INPUT;
  return code;
}

static bool set(void *self, int index, const char *value) {
  conform_options *o = self;
  switch (index) {
    case CLI_ARG: return cli_one(&cli_conform, value, &o->target);
    case 0: o->expect = value; return true;
    case 1: o->csv = true; return true;
    default: o->json = value ? value : "-"; return true;
  }
}

static int run(int argc, char **argv) {
  conform_options o = {.common = {.threads = 1}};
  cli_parser p = {&cli_conform, argc, argv, {&o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (!cli_need(&cli_conform, o.target, "a device or an accelerator")) return CLI_USAGE;
  return conform_and_write(&o);
}
