#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { GRACE_MS = 2000, POLL_MS = 20 };

char **tn_child_environment(tn_arena *arena) {
  size_t n = 0, kept = 0;
  while (environ && environ[n]) n++;
  char **env = tn_arena_alloc(arena, (n + 1) * sizeof *env);
  for (size_t k = 0; env && k < n; k++)
    if (strncmp(environ[k], "TENON_PLUGIN_", strlen("TENON_PLUGIN_"))) env[kept++] = environ[k];
  return env;
}

static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, usual;
  sigemptyset(&none);
  sigfillset(&usual); /* whatever the program ignores */
  int error = posix_spawnattr_setsigmask(attributes, &none);
  if (!error) error = posix_spawnattr_setpgroup(attributes, 0);
  if (!error) error = posix_spawnattr_setsigdefault(attributes, &usual);
  if (!error)
    error = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  return error;
}

int tn_child_spawn(const char *const *argv, char **env, const tn_child_file *files, int n_files,
                   pid_t *out_pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    error = set_attributes(&attributes);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (int k = 0; k < n_files && !error; k++)
      error = posix_spawn_file_actions_adddup2(&actions, files[k].fd, files[k].as);
    if (!error)
      error =
          posix_spawn(out_pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, env);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

bool tn_child_has_ended(pid_t pid) {
  siginfo_t info = {.si_pid = 0};
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

int tn_child_end(pid_t pid) {
  int status = 0;
  if (!tn_child_has_ended(pid)) kill(-pid, SIGTERM);
  for (int waited = 0; waited < GRACE_MS && !tn_child_has_ended(pid); waited += POLL_MS)
    poll(NULL, 0, POLL_MS);
  kill(-pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}
