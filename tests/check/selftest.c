/* The harness must find what is wrong with each kernel of wrong.c, and nothing wrong with the
 * right one. Each is run by this program itself in a process of its own (selftest KERNEL), and
 * what that says is read. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "harness/harness.h"
#include "wrong.h"

typedef struct expectation {
  const char *kernel, *text; /* or the name of an operator; text NULL: it passes */
} expectation;

static const expectation expected[] = {
    {"right", NULL},
    {"past_end", "0 bytes behind the end of y"},
    {"before_begin", "writes outside of output y"},
    {"reads_before_begin", "4 bytes before x"},
    {"wrong_result", "y[36] is"},
    {"wrong_beside_large", "y[1] is 2.0009"},
    {"unwritten", "y[36] is"},
    {"changes_input", "changes its input x"},
    {"uses_old_scratch", "y[0] is"},
    {"leaves_worker_scratch", "behind the end of the workers' scratch"},
    {"ignores_range", ": y["}, /* on 2 threads, or in 7 ranges: whichever shows it first */
    {"not_in_place", "in place: y["},
    {"more_than_its_item", "outside of the elements it says it writes"},
    {"dirty_pads", "pad lane"},
    {"leaks", "1 blocks of the host's memory are not given back"},
    {"writes_state", "of the state, which is read-only"},
    {"random_result", "output y of a second run is not the same"},
    {"wrong_for_f64", "\"x=f64[37]\""},
    {"claims_too_much", "it says it takes f16 for x, but no case that it takes has that"},
    {"untested",
     "untested: it takes none of the operator's 4 cases; the last because it never takes anything"},
    {"no_epilogue", "epilogue \"relu\""},
    {"check::TwiceWrong", "session: y[36] is"},
    {"check::Apply", NULL},
    {"check::ApplyWrong", "session: y[0] is 1, expected -1"},
    {"check::ApplyUnread", "the case cannot be read: expected '-', at \"> w}"},
    {"check::ApplyOpen", "value 'nowhere', read by node 'w' (Add), is not defined"},
    {"check::ApplyMute", "the operator has no reference, and the case does not say what to expect"},
};

static int run_kernel(const char *kernel) {
  const bool is_op = strstr(kernel, "::") != NULL;
  check_env env = {
      .options = {.op = is_op ? kernel : "check::Twice", .kernel = is_op ? NULL : kernel}};
  check_open(&env, check_wrong_query);
  check_suite(&env);
  const int code = env.totals->failed ? 1 : 0;
  printf("%lld passed, %lld failed\n", (long long)env.totals->passed,
         (long long)env.totals->failed);
  check_close(&env);
  return code;
}

/* What the program says about one kernel; *out_code is its exit code. */
static char *ask(const char *program, const char *kernel, int *out_code) {
  enum { MOST = 1 << 16 };
  char command[1024];
  snprintf(command, sizeof command, "'%s' %s 2>&1", program, kernel);
  FILE *pipe = popen(command, "r");
  if (!pipe) check_die("popen fails");
  char *text = check_need(tn_alloc(tn_default_allocator(), MOST));
  size_t n = 0, got;
  while (n < MOST - 1 && (got = fread(text + n, 1, MOST - 1 - n, pipe)) > 0) n += got;
  const int status = pclose(pipe);
  *out_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return text;
}

static bool meets(const char *program, const expectation *e) {
  int code = 0;
  char *text = ask(program, e->kernel, &code);
  const bool ok =
      e->text ? code == 1 && strstr(text, e->text) : code == 0 && strstr(text, ", 0 failed");
  printf("%s %s\n", ok ? "ok  " : "FAIL", e->kernel);
  if (!ok)
    printf("     expected: %s\n     the harness ends with code %d and says:\n%s\n",
           e->text ? e->text : "no failure", code, text);
  tn_free(tn_default_allocator(), text, 1 << 16);
  return ok;
}

static const tn_opdef *find_op(const check_env *env, const char *name) {
  for (int32_t k = 0; k < tn_registry_n_ops(env->runtime->registry); k++) {
    const tn_opdef *op = tn_registry_op_at(env->runtime->registry, k);
    if (!strcmp(op->op.name, name)) return op;
  }
  check_die("there is no operator %s", name);
}

/* How results are compared changes nothing in what the kernel is given. */
static bool draws_the_same(void) {
  static const char *const texts[] = {"x=f32[37] n_outputs=1",
                                      "x=f32[37] tol=8 n_outputs=1 cond=abs",
                                      "int_tol=1 x=f32[37] n_outputs=1"};
  check_env env = {0};
  tn_arena arena;
  tn_case parsed;
  const char *why = NULL;
  bool same = true;
  check_open(&env, check_wrong_query);
  tn_arena_init(&arena, tn_default_allocator());
  for (int k = 0; k < 3; k++)
    same = check_case_parse(find_op(&env, "Twice"), texts[k], &arena, &parsed, &why) &&
           !strcmp(parsed.drawn_by, texts[0]) && same;
  printf("%s draws the same whatever the tolerance\n", same ? "ok  " : "FAIL");
  tn_arena_clear(&arena);
  check_close(&env);
  return same;
}

int main(int argc, char **argv) {
  if (argc > 1) return run_kernel(argv[1]);
  int failed = !draws_the_same();
  for (size_t k = 0; k < sizeof expected / sizeof *expected; k++)
    failed += !meets(argv[0], &expected[k]);
  return failed ? 1 : 0;
}
