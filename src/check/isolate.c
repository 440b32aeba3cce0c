/* Units of work: named, counted, and run in child processes, so that a kernel that crashes fails
 * its unit and no more.
 *
 * Counts live in memory that parent and child share. After a crash the parent starts a child
 * that leaves out what ran. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/check.h"

enum { MAX_SAID = 3, MAX_CRASHES = 20, MAX_SECONDS = 600, EXIT_CRASHED = 70 };

static check_env *running; /* for the signal handler alone */

check_totals *check_totals_new(void) {
  void *memory =
      mmap(NULL, sizeof(check_totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) check_die("mmap fails");
  return memory;
}

void check_die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fflush(stdout);
  fputs("check: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(2);
}

/* ---- units ----------------------------------------------------------------------------------- */

bool check_unit_begin(check_env *env, const char *format, ...) {
  check_totals *t = env->totals;
  if (++t->unit <= t->resume) return false;
  va_list args;
  va_start(args, format);
  vsnprintf(t->text, sizeof t->text, format, args);
  va_end(args);
  t->inside = 1;
  t->unit_failed = t->said = 0;
  alarm(MAX_SECONDS);
  return true;
}

void check_unit_end(check_env *env) {
  check_totals *t = env->totals;
  t->inside = 0;
  t->resume = t->unit;
  t->failed += t->unit_failed != 0;
  t->passed += t->unit_failed == 0;
  if (env->options.verbose && !t->unit_failed) printf("ok   %s\n", t->text);
}

void check_fail(check_env *env, const char *format, ...) {
  check_totals *t = env->totals;
  t->unit_failed = 1;
  if (t->said++ >= MAX_SAID) return;
  va_list args;
  va_start(args, format);
  printf("FAIL %s\n     ", t->text);
  vprintf(format, args);
  putchar('\n');
  fflush(stdout);
  va_end(args);
}

bool check_unit_ok(const check_env *env) { return !env->totals->unit_failed; }

void check_skip(check_env *env, const char *format, ...) {
  if (++env->totals->unit <= env->totals->resume) return;
  env->totals->resume = env->totals->unit;
  env->totals->skipped++;
  if (!env->options.verbose) return;
  va_list args;
  va_start(args, format);
  fputs("skip ", stdout);
  vprintf(format, args);
  putchar('\n');
  va_end(args);
}

/* ---- crashes --------------------------------------------------------------------------------- */

static void count_crash(check_totals *t) {
  t->failed++;
  t->resume = t->unit;
  t->inside = 0;
}

/* Says which buffer was left, then ends the child. What it calls is not meant for handlers, but
 * the process is lost anyway. */
static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  char where[200], text[CHECK_TEXT + 300];
  check_totals *t = running->totals;
  check_buffer_describe(running, info->si_addr, where, sizeof where);
  int n =
      snprintf(text, sizeof text, "FAIL %s\n     %s at %s\n", t->text, strsignal(number), where);
  if (n > 0 && write(STDOUT_FILENO, text, tn_min_i64(n, (int64_t)sizeof text - 1) & 0xffff) < 0)
    n = 0;
  if (t->inside) count_crash(t);
  _exit(EXIT_CRASHED);
}

static void catch_faults(check_env *env) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  running = env;
  sigemptyset(&action.sa_mask);
  for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
    sigaction(signals[k], &action, NULL);
}

/* True if the work came to its end, or cannot be taken up again. */
static bool child_ended(check_totals *t, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  const bool told = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CRASHED;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) exit(2);
  if (!told) {
    char how[64];
    if (WIFSIGNALED(status))
      snprintf(how, sizeof how, "killed by signal %d (%s)", WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    else
      snprintf(how, sizeof how, "ended with code %d", WEXITSTATUS(status));
    printf("FAIL %s\n     %s\n", t->text, how);
  }
  if (told && t->resume == t->unit) return false;
  if (!told && t->inside) {
    count_crash(t);
    return false;
  }
  t->failed++; /* between two units: the next child would end there, too */
  return true;
}

void check_isolate(check_env *env, void (*work)(check_env *env, const void *arg), const void *arg) {
  check_totals *t = env->totals;
  t->resume = 0;
  for (int crashes = 0; crashes < MAX_CRASHES; crashes++) {
    t->unit = 0;
    t->inside = 0;
    snprintf(t->text, sizeof t->text, "(between two tests)");
    if (env->options.in_process) {
      work(env, arg);
      return;
    }
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0) check_die("fork fails");
    if (child == 0) {
      catch_faults(env);
      work(env, arg);
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) check_die("waitpid fails");
    if (child_ended(t, status)) return;
  }
  printf("FAIL too many crashes; the rest of this operator is left out\n");
}
