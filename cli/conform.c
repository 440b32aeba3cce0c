/* tenon conform: does a device or an accelerator compute what it takes? Operators one by one, each
 * against the CPU, on several inputs, and twice on the same. */
#include "harness/conform.h"
#include "base/cpu.h"
#include "cli.h"

typedef struct conform_options {
  cli_common common;
  const char *target;
} conform_options;

static int run(int argc, char **argv);
static const cli_option options[] = {{NULL, NULL, NULL, 0}};
const cli_command cli_conform = {
    .name = "conform",
    .arguments = "TARGET",
    .summary = "test a device or an accelerator: does it compute what it takes?",
    .details =
        "Common operators run on TARGET, each by itself, against the CPU: on three inputs, and on\n"
        "the last of them twice, which has to give the same bits. One that TARGET does not take "
        "is\n"
        "listed with its reason and is no failure. Exit status 1 if a result is wrong or a run\n"
        "fails, if the CPU takes over, or if nothing is taken at all.",
    .examples = "conform shadow:0\nconform acme-npu-2 --plugin acme.so",
    .options = options,
    .groups = {&cli_common_group},
    .run = run};

typedef struct counts {
  int n_tried, n_taken, n_failed;
} counts;

/* What has to be waited for in vain once is not asked again. */
static bool try_case(tn_runtime *rt, const conform_options *o, int index, counts *n) {
  enum { PATIENCE_S = 10 };
  check_conformed c;
  const uint64_t begun_ns = tn_now_ns();
  check_conform(rt, o->target, index, &c);
  const double seconds = (double)(tn_now_ns() - begun_ns) / 1e9;
  n->n_tried++;
  n->n_taken += c.taken;
  n->n_failed += *c.why != 0;
  cli_print("%-9s %s %s\n",
            *c.why    ? "FAILED"
            : c.taken ? "ok"
                      : "not taken",
            c.op, *c.why ? c.why : c.refused);
  if (!*c.why || seconds < PATIENCE_S) return true;
  cli_error("%s failed after %.0f s: what is left was not tried", o->target, seconds);
  return false;
}

static int conform(const conform_options *o) {
  counts n = {0, 0, 0};
  tn_runtime *rt = cli_runtime(&o->common);
  if (!rt) return CLI_INPUT;
  while (n.n_tried < CHECK_CONFORM_CASES && try_case(rt, o, n.n_tried, &n)) continue;
  cli_print("%s: %d of %d cases taken, %d failed\n", o->target, n.n_taken, n.n_tried, n.n_failed);
  if (!n.n_taken) cli_error("%s takes none of the cases, which shows nothing", o->target);
  tn_runtime_destroy(rt);
  return n.n_failed || !n.n_taken ? CLI_FAILED : CLI_OK;
}

static bool set(void *self, int index, const char *value) {
  (void)index;
  return cli_one(&cli_conform, value, &((conform_options *)self)->target);
}

static int run(int argc, char **argv) {
  conform_options o = {.common = {.threads = 1}};
  cli_parser p = {&cli_conform, argc, argv, {&o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (!cli_need(&cli_conform, o.target, "a device or an accelerator")) return CLI_USAGE;
  return conform(&o);
}
