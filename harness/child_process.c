/* Child processes: work that may crash, hang or end its process runs in one, and is taken up again
 * behind the unit that did.
 *
 * A plug-in that is to be vetted runs under limits, in a process group of its own; what its child
 * finds comes back through a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "base/cpu.h"
#include "harness/harness.h"

enum {
  MAX_CRASHES = 20,
  MAX_CRASHES_VET = 200,
  EXIT_CRASHED = 70,
  STACK_BYTES = 1 << 16,
  MAX_READS = 256
};

static check_env *running; /* for the signal handler alone */

/* ---- in the child ---------------------------------------------------------------------------- */

const char *check_signal_name(int number) {
  static const struct {
    int number;
    const char *name;
  } names[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
               {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"}, {SIGKILL, "SIGKILL"},
               {SIGTERM, "SIGTERM"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"},
               {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGTRAP, "SIGTRAP"},
               {SIGSYS, "SIGSYS"},   {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},
               {SIGQUIT, "SIGQUIT"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (names[k].number == number) return names[k].name;
  return "a signal";
}

static const char *in_words(const check_totals *t, char *buf, size_t size) {
  snprintf(buf, size, "%s%s", *t->doing ? " in " : "", t->doing);
  return buf;
}

/* Says which buffer was left, then ends the child. What it calls is not meant for handlers, but
 * the process is lost anyway. */
static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  char where[200], doing[CHECK_DOING + 8];
  check_totals *t = running->totals;
  check_buffer_describe(running, info->si_addr, where, sizeof where);
  snprintf(t->crash, sizeof t->crash, "crashed with %s%s, at %s", check_signal_name(number),
           in_words(t, doing, sizeof doing), where);
  _exit(EXIT_CRASHED);
}

static void catch_faults(check_env *env) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  /* of its own, so that a stack that overflows can be told */
  const stack_t stack = {.ss_sp = check_need(tn_alloc(tn_default_allocator(), STACK_BYTES)),
                         .ss_size = STACK_BYTES};
  running = env;
  if (CHECK_SANITIZED || sigaltstack(&stack, NULL)) action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
    sigaction(signals[k], &action, NULL);
}

/* A limit that is lower already stays. */
static void limit(int what, uint64_t soft, uint64_t hard) {
  struct rlimit r;
  if (getrlimit(what, &r)) check_die("getrlimit fails");
  if (r.rlim_max > hard) r.rlim_max = (rlim_t)hard; /* RLIM_INFINITY is the largest */
  if (r.rlim_cur > soft) r.rlim_cur = (rlim_t)soft;
  if (r.rlim_cur > r.rlim_max) r.rlim_cur = r.rlim_max;
  if (setrlimit(what, &r)) check_die("setrlimit fails");
}

static void take_limits(const check_limits *l) {
  check_orphans_in_child();
  setpgid(0, 0);
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  limit(RLIMIT_CORE, 0, 0);
  limit(RLIMIT_FSIZE, l->file_bytes, l->file_bytes);
  limit(RLIMIT_CPU, l->cpu_seconds, l->cpu_seconds + 1);
  if (!CHECK_SANITIZED) limit(RLIMIT_AS, l->memory_bytes, l->memory_bytes);
}

/* Standard output is the report's, and so may the other one be: what a plug-in writes there goes
 * to its parent. A sanitizer's report goes to the user. Standard input is empty: the one that there
 * is belongs to other processes, too, which may change its flags meanwhile. */
static void take_streams(int said) {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing > STDIN_FILENO) {
    dup2(nothing, STDIN_FILENO);
    close(nothing);
  }
  dup2(CHECK_SANITIZED ? STDERR_FILENO : said, STDOUT_FILENO);
  if (!CHECK_SANITIZED) dup2(said, STDERR_FILENO);
  close(said);
}

static _Noreturn void run_child(check_env *env, int pipe_out, int said,
                                void (*work)(check_env *env, const void *arg), const void *arg) {
  env->pipe_out = pipe_out;
  if (env->limits) {
    take_limits(env->limits);
    take_streams(said);
    check_die_quietly();
    env->pid = getpid();
  }
  catch_faults(env);
  work(env, arg);
  fflush(stdout);
  if (env->limits && !CHECK_SANITIZED) check_doing(env, "the end of the process");
  env->totals->done = 1;
  if (env->limits && !CHECK_SANITIZED) exit(0); /* what a plug-in has left for that is called */
  _exit(0);
}

/* ---- in the parent --------------------------------------------------------------------------- */

/* False at the end of the pipe. */
static bool read_some(check_env *env, int fd, check_lines *lines) {
  char buf[4096];
  const ssize_t n = read(fd, buf, sizeof buf);
  if (n > 0) check_lines_add(env, lines, buf, (size_t)n);
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* What the plug-in writes: its beginning is kept, the rest counted. */
static bool read_said(check_env *env, int fd) {
  static char buf[1 << 16];
  const ssize_t n = read(fd, buf, sizeof buf);
  for (ssize_t k = 0; k < n && env->n_said + (uint64_t)k + 1 < sizeof env->said; k++)
    env->said[env->n_said + (uint64_t)k] = buf[k] ? buf[k] : ' ';
  if (n > 0) env->n_said += (uint64_t)n;
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool has_more(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

/* Reads what the child says until it has ended or one unit has taken too long. */
static int watch(check_env *env, pid_t child, int fd, int said, bool *out_hangs) {
  check_lines lines = {NULL, 0, 0, 0};
  int64_t unit = -1;
  uint64_t since = 0;
  int status = 0;
  bool open = true, says = true;
  *out_hangs = false;
  for (;;) {
    struct pollfd p[] = {{.fd = open ? fd : -1, .events = POLLIN},
                         {.fd = says ? said : -1, .events = POLLIN}};
    if (poll(p, 2, open ? 100 : 5) > 0) {
      if (p[0].revents) open = read_some(env, fd, &lines);
      if (p[1].revents) says = read_said(env, said);
    }
    if (waitpid(child, &status, WNOHANG) == child) break;
    if (env->progress) env->progress(env);
    const uint64_t now = tn_now_ns();
    if (unit != env->totals->unit) since = now;
    unit = env->totals->unit;
    if (*out_hangs || (double)(now - since) < env->limits->unit_seconds * 1e9) continue;
    *out_hangs = true;
    kill(-child, SIGKILL);
    kill(child, SIGKILL); /* it may not have its group yet */
  }
  /* no more than a pipe holds: processes that are left behind may write for ever */
  for (int k = 0; open && k < MAX_READS && has_more(fd); k++) open = read_some(env, fd, &lines);
  for (int k = 0; says && k < MAX_READS && has_more(said); k++) says = read_said(env, said);
  env->lost_records = lines.n_lines != env->totals->n_told;
  check_lines_free(&lines);
  return status;
}

/* What a child says of its end that has not come to the end of its work. */
static void describe_end(const check_env *env, int status, bool hangs, char *buf, size_t size) {
  const check_totals *t = env->totals;
  char doing[CHECK_DOING + 8];
  in_words(t, doing, sizeof doing);
  if (hangs)
    snprintf(buf, size, "hangs%s: ended after %g s", doing, env->limits->unit_seconds);
  else if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CRASHED && *t->crash)
    snprintf(buf, size, "%s", t->crash);
  else if (t->died)
    snprintf(buf, size, "stopped the test%s: %s", doing, t->crash);
  else if (WIFEXITED(status))
    snprintf(buf, size, "ended the process%s with exit code %d", doing, WEXITSTATUS(status));
  else if (WTERMSIG(status) == SIGXCPU && env->limits)
    snprintf(buf, size, "used more than %lld s of processor time%s",
             (long long)env->limits->cpu_seconds, doing);
  else
    snprintf(buf, size, "crashed with %s (%d)%s", check_signal_name(WTERMSIG(status)),
             WTERMSIG(status), doing);
}

/* True if the work came to its end, or cannot be taken up again. */
static bool child_ended(check_env *env, int status, bool hangs) {
  check_totals *t = env->totals;
  char how[CHECK_TEXT + 200];
  if (t->done && WIFEXITED(status) && !WEXITSTATUS(status)) return true;
  if (t->died && !env->limits) exit(2);
  describe_end(env, status, hangs, how, sizeof how);
  check_found(env, "breach", how);
  if (t->inside) {
    check_unit_lose(env, hangs);
    return false;
  }
  t->failed++; /* between two units: the next child would end there, too */
  return true;
}

/* What a child has told, and where it was, is lost. Answers the status of one that came to its end:
 * it is not taken up again. */
static int end_scribbled(check_env *env) {
  check_part(env, "process");
  snprintf(env->totals->text, sizeof env->totals->text, "memory");
  check_found(env, "breach", "writes to memory of the host that it was not given");
  env->totals->failed = env->totals->done = 1;
  env->lost_records = false;
  return 0;
}

static int run_limited(check_env *env, void (*work)(check_env *env, const void *arg),
                       const void *arg, bool *out_hangs) {
  int fds[2], said[2];
  if (pipe(fds) || pipe(said)) check_die("pipe fails");
  fflush(stdout);
  check_orphans_adopt();
  const pid_t child = fork();
  if (child < 0) check_die("fork fails");
  if (child == 0) {
    close(fds[0]);
    close(said[0]);
    run_child(env, fds[1], said[1], work, arg);
  }
  close(fds[1]);
  close(said[1]);
  check_orphans_watch(child);
  const int status = watch(env, child, fds[0], said[0], out_hangs);
  const bool left = check_orphans_end(); /* which could write to what follows */
  const bool sane = check_totals_mend(env->totals);
  close(fds[0]);
  close(said[0]);
  if (!sane) return end_scribbled(env);
  if (left && !*out_hangs) check_found(env, "breach", "starts processes that it leaves behind");
  if (env->totals->forked)
    check_found(env, "breach", "forks, and both processes return from its callback");
  return status;
}

static int run_free(check_env *env, void (*work)(check_env *env, const void *arg),
                    const void *arg) {
  int status = 0;
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) check_die("fork fails");
  if (child == 0) run_child(env, -1, -1, work, arg);
  if (waitpid(child, &status, 0) != child) check_die("waitpid fails");
  return status;
}

void check_isolate(check_env *env, void (*work)(check_env *env, const void *arg), const void *arg) {
  check_totals *t = env->totals;
  t->resume = t->n_lost = 0;
  for (int crashes = 0; crashes < (env->limits ? MAX_CRASHES_VET : MAX_CRASHES); crashes++) {
    bool hangs = false;
    t->unit = t->n_told = 0; /* before there is a child that counts */
    t->inside = t->forked = t->done = t->died = 0;
    t->crash[0] = t->doing[0] = 0;
    snprintf(t->text, sizeof t->text, "(between two tests)");
    if (env->options.in_process) {
      work(env, arg);
      return;
    }
    const int status = env->limits ? run_limited(env, work, arg, &hangs) : run_free(env, work, arg);
    if (child_ended(env, status, hangs)) return;
  }
  check_found(env, "breach", "too many crashes; the rest is left out");
}
