/* Processes that outlive the one that started them: those of a plug-in that is vetted are found and
 * ended, also where they have left its process group (daemons), and where vetting itself is ended
 * from outside. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "harness/harness.h"

enum { MAX_ROUNDS = 1000, MAX_OLD = 256 };

static volatile sig_atomic_t group; /* that runs; for the signal handler alone */

/* Children that the process had when it began, of a shell that has become it. */
static pid_t old[MAX_OLD];
static int n_old = -1; /* -1: nobody has looked; MAX_OLD: too many to be told apart */

static void end_with_group(int number) {
  if (group > 0) kill(-(pid_t)group, SIGKILL);
  signal(number, SIG_DFL);
  raise(number);
}

static const int endings[] = {SIGTERM, SIGINT, SIGHUP};

static void handle_endings(void (*handler)(int number)) {
  struct sigaction action = {.sa_handler = handler}, was;
  sigemptyset(&action.sa_mask);
  for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
    if (!sigaction(endings[k], NULL, &was) && was.sa_handler != SIG_IGN)
      sigaction(endings[k], &action, NULL);
}

/* Calls visit for each child, until it answers true; answers that child, or 0. */
static pid_t find_child(bool (*visit)(pid_t child)) {
  long long pid;
  pid_t found = 0;
  FILE *file = fopen("/proc/thread-self/children", "r");
  while (file && !found && fscanf(file, "%lld", &pid) == 1)
    if (visit((pid_t)pid)) found = (pid_t)pid;
  if (file) fclose(file);
  return found;
}

static bool note_old(pid_t child) {
  if (n_old < MAX_OLD) old[n_old++] = child;
  return false;
}

static bool is_new(pid_t child) {
  for (int k = 0; k < n_old; k++)
    if (old[k] == child) return false;
  return n_old < MAX_OLD;
}

void check_orphans_adopt(void) {
  if (n_old < 0) {
    n_old = 0;
    find_child(note_old);
  }
#if defined(__linux__)
  prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans become our children, where they can be found */
#endif
}

void check_orphans_watch(int64_t pid) {
  group = (sig_atomic_t)pid;
  handle_endings(end_with_group);
}

void check_orphans_in_child(void) {
  group = 0;
  handle_endings(SIG_DFL);
}

static void reap(void) {
  while (waitpid(-1, NULL, WNOHANG) > 0) continue;
}

bool check_orphans_end(void) {
  const pid_t pid = (pid_t)group;
  reap(); /* those that have ended by themselves are nobody's business */
  bool found = kill(-pid, SIGKILL) == 0;
  pid_t child;
  for (int k = 0; k < MAX_ROUNDS && (child = find_child(is_new)) > 0; k++) {
    found = true;
    kill(child, SIGKILL); /* its own children become ours */
    if (waitpid(child, NULL, 0) < 0 && errno != EINTR) break;
  }
  reap();
  handle_endings(SIG_DFL);
  group = 0;
  return found;
}
