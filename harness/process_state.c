/* What belongs to the process and not to a plug-in: signal handlers, floating-point modes, locale,
 * working folder, environment, open files, limits, timers, threads, other processes. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/harness.h"

extern char **environ;

enum { MAX_SIGNALS = 64, WAITS = 50, WAIT_US = 2000, MAX_FILES = 64, N_TIMERS = 3, N_STREAMS = 3 };

struct check_around {
  struct sigaction actions[MAX_SIGNALS + 1];
  sigset_t mask;
  char locale[300];
  struct stat folder;
  mode_t umask;
  int rounding;
  uint32_t modes; /* of the vector unit, if that has any */
  uint32_t x87;   /* its modes, and which of its registers are in use */
  uint64_t environ;
  uint64_t files[MAX_FILES]; /* what is open there, and how; 0: nothing */
  struct rlimit limits[RLIM_NLIMITS];
  bool timers[N_TIMERS]; /* run */
  int priority;
  pid_t session, group;
  cpu_set_t cores;
  const void *buffers[N_STREAMS]; /* of standard streams, in a library */
  struct rusage children;         /* of those that have been waited for */
  stack_t signal_stack;
  pthread_key_t next_key; /* the lowest that nobody has */
  int n_tasks, n_files;
  bool has_library; /* a library that the plug-in has opened stays, with threads, files and keys */
  int n_objects;    /* that are loaded; 0: not counted yet */
  bool has_threads; /* a plug-in that is loaded has said that it makes threads */
};

static uint32_t read_modes(void) {
#if defined(__x86_64__)
  return __builtin_ia32_stmxcsr() & 0xffc0; /* all but the flags of what has happened */
#elif defined(__aarch64__)
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (uint32_t)fpcr;
#else
  return 0;
#endif
}

static uint32_t read_x87(void) {
#if defined(__x86_64__)
  uint16_t state[14];
  __asm__ volatile("fnstenv %0\n\tfldenv %0" : "=m"(state));
  return (uint32_t)state[0] | (uint32_t)state[4] << 16;
#else
  return 0;
#endif
}

static uint64_t hash_file(int fd) {
  struct stat info;
  if (fstat(fd, &info)) return 0;
  const uint64_t words[] = {(uint64_t)info.st_dev, (uint64_t)info.st_ino, (uint64_t)info.st_rdev,
                            (uint64_t)fcntl(fd, F_GETFL)};
  return tn_hash_bytes((const char *)words, sizeof words, 1) | 1;
}

#if defined(__GLIBC__)
typedef __rlimit_resource_t limit_kind;
typedef __itimer_which_t timer_kind;
#else
typedef int limit_kind, timer_kind;
#endif

static void look_at_limits(struct check_around *a) {
  for (int k = 0; k < RLIM_NLIMITS; k++) getrlimit((limit_kind)k, &a->limits[k]);
  for (int k = 0; k < N_TIMERS; k++) {
    struct itimerval timer = {.it_value = {0, 0}};
    getitimer((timer_kind)k, &timer);
    a->timers[k] = timer.it_value.tv_sec || timer.it_value.tv_usec;
  }
  a->priority = getpriority(PRIO_PROCESS, 0);
  a->session = getsid(0);
  a->group = getpgrp();
  CPU_ZERO(&a->cores);
  sched_getaffinity(0, sizeof a->cores, &a->cores);
  if (getrusage(RUSAGE_CHILDREN, &a->children)) memset(&a->children, 0, sizeof a->children);
  if (sigaltstack(NULL, &a->signal_stack)) memset(&a->signal_stack, 0, sizeof a->signal_stack);
}

/* Keys are handed out from the lowest on. */
static pthread_key_t find_next_key(void) {
  pthread_key_t key = 0;
  if (!pthread_key_create(&key, NULL)) pthread_key_delete(key);
  return key;
}

/* Where the C library keeps what is written, if that is in memory of another library. */
static void look_at_streams(struct check_around *a) {
#if defined(__GLIBC__)
  FILE *const streams[N_STREAMS] = {stdin, stdout, stderr};
  for (int k = 0; k < N_STREAMS; k++) {
    const void *buffer = streams[k]->_IO_buf_base;
    Dl_info own, info;
    const bool is_foreign = buffer && dladdr(buffer, &info) && dladdr(streams[k], &own) &&
                            info.dli_fbase != own.dli_fbase;
    a->buffers[k] = is_foreign ? buffer : NULL;
  }
#else
  memset(a->buffers, 0, sizeof a->buffers);
#endif
}

static int count_entries(const char *folder) {
  DIR *dir = opendir(folder);
  int n = 0;
  if (!dir) return -1;
  while (readdir(dir)) n++;
  closedir(dir);
  return n;
}

static uint64_t hash_environ(void) {
  uint64_t hash = 0;
  for (char **e = environ; e && *e; e++) hash = tn_hash_bytes(*e, strlen(*e), hash);
  return hash;
}

static void look(struct check_around *a) {
  for (int k = 1; k <= MAX_SIGNALS; k++) sigaction(k, NULL, &a->actions[k]);
  sigprocmask(SIG_SETMASK, NULL, &a->mask);
  const char *locale = setlocale(LC_ALL, NULL);
  snprintf(a->locale, sizeof a->locale, "%s", locale ? locale : "");
  if (stat(".", &a->folder)) memset(&a->folder, 0, sizeof a->folder);
  a->umask = umask(0);
  umask(a->umask);
  a->rounding = fegetround();
  a->modes = read_modes();
  a->x87 = read_x87();
  a->environ = hash_environ();
  for (int fd = 0; fd < MAX_FILES; fd++) a->files[fd] = hash_file(fd);
  look_at_limits(a);
  look_at_streams(a);
  a->n_files = count_entries("/proc/self/fd");
  a->n_tasks = count_entries("/proc/self/task");
}

struct check_around *check_around_new(void) {
  struct check_around *a = check_need(tn_alloc(tn_default_allocator(), sizeof *a));
  look(a);
  a->next_key = find_next_key();
  return a;
}

static int count_objects(struct dl_phdr_info *info, size_t size, void *n) {
  (void)info, (void)size;
  ++*(int *)n;
  return 0;
}

void check_around_library(check_env *env) {
  struct check_around *a = env->around;
  int n = 0;
  if (!a) return;
  dl_iterate_phdr(count_objects, &n);
  if (a->n_objects && n > a->n_objects) a->has_library = a->has_threads = true;
  a->n_objects = n;
}

/* Threads of the harness itself. */
static int own_threads(const check_env *env) {
  int n = env->threads ? tn_pool_n_threads(env->threads) - 1 : 0;
  for (int32_t k = 0; k < env->n_levels; k++)
    if (env->levels[k].runtime) n += tn_pool_n_threads(env->levels[k].runtime->pool) - 1;
  return n;
}

/* Threads that have been joined may be seen for a moment. */
static int foreign_threads(const check_env *env, int before) {
  int n = 0;
  for (int k = 0; k < WAITS; k++) {
    n = count_entries("/proc/self/task") - before - own_threads(env);
    if (n <= 0) return 0;
    usleep(WAIT_US);
  }
  return n;
}

void check_around_allow(check_env *env, bool threads) {
  if (env->around) env->around->has_threads = threads || env->around->has_library;
}

void check_around_threads(check_env *env) {
  if (env->around && env->around->has_threads) return;
  const int threads = env->around ? foreign_threads(env, env->around->n_tasks) : 0;
  if (!threads) return;
  check_fail(env, "starts threads: %d of them run", threads);
  env->around->n_tasks += threads;
}

void check_around_keys(check_env *env) {
  const pthread_key_t now = env->around ? find_next_key() : 0;
  if (!env->around || env->around->has_library || now == env->around->next_key) return;
  check_fail(env,
             "leaves a key of threads behind (pthread_key_create): its destructor runs when a "
             "thread ends, in code that is not there any more; shutdown() has to delete it");
  env->around->next_key = now;
}

/* The default has no flags; what was restored to it may have some left. */
static bool same_action(const struct sigaction *a, const struct sigaction *b) {
  return a->sa_handler == b->sa_handler && (a->sa_handler == SIG_DFL || a->sa_flags == b->sa_flags);
}

static void compare_files(check_env *env, const struct check_around *old,
                          const struct check_around *now) {
  if (old->n_files < now->n_files && !old->has_library)
    check_fail(env, "leaves files open: %d are, %d were", now->n_files, old->n_files);
  if (old->n_files > now->n_files)
    check_fail(env, "closes files that are not its own: %d are open, %d were", now->n_files,
               old->n_files);
  for (int fd = 0; fd < MAX_FILES; fd++)
    if (old->files[fd] && now->files[fd] && old->files[fd] != now->files[fd])
      check_fail(env, "replaces or changes open files that are not its own: descriptor %d", fd);
}

static void compare_limits(check_env *env, const struct check_around *old,
                           const struct check_around *now) {
  for (int k = 0; k < RLIM_NLIMITS; k++)
    if (old->limits[k].rlim_cur != now->limits[k].rlim_cur ||
        old->limits[k].rlim_max != now->limits[k].rlim_max)
      check_fail(env, "changes a limit of the process (setrlimit %d)", k);
  for (int k = 0; k < N_TIMERS; k++)
    if (!old->timers[k] && now->timers[k])
      check_fail(env, "leaves a timer running, which will send a signal (setitimer %d)", k);
  if (old->priority != now->priority)
    check_fail(env, "changes the priority of the process from %d to %d", old->priority,
               now->priority);
  if (old->session != now->session || old->group != now->group)
    check_fail(env, "changes the session or group of the process");
  for (int k = 0; k < N_STREAMS; k++)
    if (old->buffers[k] != now->buffers[k])
      check_fail(env, "gives a standard stream a buffer of its own (setvbuf)");
  if (!CPU_EQUAL(&old->cores, &now->cores))
    check_fail(env, "changes on which cores the process runs (sched_setaffinity)");
  if (old->signal_stack.ss_sp != now->signal_stack.ss_sp ||
      old->signal_stack.ss_size != now->signal_stack.ss_size)
    check_fail(env, "changes the stack of signal handlers (sigaltstack)");
}

/* The child has no processes of its own. Those that have ended are taken away; the others are when
 * it is gone itself. */
static void check_children(check_env *env, const struct check_around *old,
                           struct check_around *now) {
  siginfo_t info;
  const bool waits = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0;
  if (waits && memcmp(&now->children, &old->children, sizeof now->children))
    check_fail(env, "starts processes");
  if (waits) return;
  check_fail(env, "starts processes, and does not wait for their end");
  while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  getrusage(RUSAGE_CHILDREN, &now->children);
}

void check_around_end(check_env *env) {
  struct check_around *old = env->around, now;
  memset(&now, 0, sizeof now);
  look(&now);
  for (int k = 1; k <= MAX_SIGNALS; k++)
    if (!same_action(&old->actions[k], &now.actions[k]))
      check_fail(env, "changes the handler of %s (%d)", check_signal_name(k), k);
  for (int k = 1; k <= MAX_SIGNALS; k++)
    if (sigismember(&old->mask, k) != sigismember(&now.mask, k))
      check_fail(env, "changes which signals are blocked: %s (%d)", check_signal_name(k), k);
  if (strcmp(old->locale, now.locale))
    check_fail(env, "changes the locale from %s to %s", old->locale, now.locale);
  if (old->folder.st_ino != now.folder.st_ino || old->folder.st_dev != now.folder.st_dev)
    check_fail(env, "changes the working folder");
  if (old->umask != now.umask) check_fail(env, "changes the mask of new files (umask)");
  if (old->rounding != now.rounding || old->modes != now.modes)
    check_fail(env, "changes the floating-point modes: rounding %d is %d, control 0x%x is 0x%x",
               old->rounding, now.rounding, old->modes, now.modes);
  if (old->environ != now.environ) check_fail(env, "changes the environment variables");
  if (old->x87 != now.x87)
    check_fail(env,
               "changes the modes of the x87 unit, or leaves its registers in use: "
               "0x%x is 0x%x",
               old->x87, now.x87);
  compare_files(env, old, &now);
  compare_limits(env, old, &now);
  check_children(env, old, &now);
  check_around_threads(env);
  fesetenv(FE_DFL_ENV);
  now.rounding = fegetround();
  now.modes = read_modes();
  now.n_tasks = old->n_tasks;
  now.has_threads = old->has_threads;
  now.has_library = old->has_library;
  now.n_objects = old->n_objects;
  now.next_key = old->next_key;
  *old = now; /* each change is told once */
}
