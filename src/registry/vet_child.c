/* Vetting in a process of its own, before a library is mapped here: `tenon plugin vet FILE` is run,
 * and what it found fine is remembered, so that each file is vetted once.
 *
 * The command is started with posix_spawn: the program may have threads, and a forked child of such
 * a program may do next to nothing before exec. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/text.h"
#include "base/trust.h"
#include "registry/load.h"

extern char **environ;

enum { KEPT_OUTPUT = 1500, MAX_OUTPUT = 1 << 20, GRACE_MS = 2000, POLL_MS = 20 };

/* ---- running the command ---- */

/* The environment without what would make the child load or vet plug-ins. */
static char **child_environment(tn_arena *arena) {
  size_t n = 0, kept = 0;
  while (environ && environ[n]) n++;
  char **env = tn_arena_alloc(arena, (n + 1) * sizeof *env);
  for (size_t k = 0; env && k < n; k++)
    if (strncmp(environ[k], "TENON_PLUGIN_", strlen("TENON_PLUGIN_"))) env[kept++] = environ[k];
  return env;
}

/* In a process group of its own, which can be ended as a whole. */
static int spawn(const char *command, const char *path, int out, char **env, pid_t *out_pid) {
  char *const argv[] = {(char *)(uintptr_t)command, (char *)(uintptr_t) "plugin",
                        (char *)(uintptr_t) "vet", (char *)(uintptr_t)path, NULL};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none, usual;
  int error = posix_spawn_file_actions_init(&files);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    sigemptyset(&none);
    sigfillset(&usual); /* whatever the program ignores */
    error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &usual);
    if (!error)
      error = posix_spawnattr_setflags(
          &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&files, out, 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&files, out, 2);
    if (!error) error = posix_spawn(out_pid, command, &files, &attributes, argv, env);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&files);
  return error;
}

/* True if the command has ended; it is not reaped, so that its group's number stays taken. */
static bool has_ended(pid_t pid) {
  siginfo_t info = {.si_pid = 0};
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

/* False: there is nothing more to come. */
static bool read_some(int from, int wait_ms, tn_text *text) {
  struct pollfd ready = {from, POLLIN, 0};
  char part[512];
  const int n = poll(&ready, 1, wait_ms);
  if (n <= 0) return wait_ms && (n == 0 || errno == EINTR);
  const ssize_t got = read(from, part, sizeof part);
  if (got < 0) return errno == EINTR;
  if (text->n < MAX_OUTPUT) tn_text_add_bytes(text, part, got);
  return got > 0;
}

/* Reads what the command says until it ends: what it has left behind may hold the other end of the
 * pipe for ever. False: that took too long. */
static bool read_output(pid_t pid, int from, uint32_t limit_s, tn_text *text) {
  const uint64_t until = tn_now_ns() + limit_s * UINT64_C(1000000000);
  bool open = true;
  while (!has_ended(pid)) {
    if (tn_now_ns() >= until) return false;
    if (open)
      open = read_some(from, POLL_MS, text);
    else
      poll(NULL, 0, POLL_MS);
  }
  while (open && text->n < MAX_OUTPUT) open = read_some(from, 0, text);
  return true;
}

/* Ends the command with all that it has started: it is asked to first, because the processes that
 * it runs a plug-in in have groups of their own. Answers its status; -1: there is none. */
static int end_all(pid_t pid) {
  int status = 0;
  if (!has_ended(pid)) kill(-pid, SIGTERM);
  for (int waited = 0; waited < GRACE_MS && !has_ended(pid); waited += POLL_MS)
    poll(NULL, 0, POLL_MS);
  kill(-pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

/* The last bytes, from the beginning of a character. */
static const char *tail_of(const tn_text *text) {
  const char *all = tn_text_get(text), *tail = all;
  const size_t n = strlen(all);
  if (n > KEPT_OUTPUT) tail += n - KEPT_OUTPUT;
  while (tail > all && (*tail & 0xC0) == 0x80) tail++;
  return tail;
}

/* A message for each line that the command has said. */
static tn_status did_not_pass(const char *path, const char *said, tn_diag *diag) {
  tn_status status =
      tn_fail(diag, TN_ERR_INVALID, "%s: is not loaded: it did not pass vetting:", path);
  for (const char *line = said; *line;) {
    const size_t n = strcspn(line, "\n");
    if (n) tn_fail(diag, status, "%.*s", (int)n, line);
    line += n + (line[n] != 0);
  }
  return status;
}

/* What the command's end means. */
static tn_status judge(const char *command, const char *path, int status, const tn_text *said,
                       tn_diag *diag) {
  if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return TN_OK;
  if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1)
    return did_not_pass(path, tail_of(said), diag);
  if (status >= 0 && WIFSIGNALED(status))
    return tn_fail(diag, TN_ERR_INVALID, "%s: is not loaded: %s, which vets it, died of signal %d",
                   path, command, WTERMSIG(status));
  return tn_fail(diag, TN_ERR_IO, "%s: is not loaded: %s could not vet it (exit status %d): %s",
                 path, command, status >= 0 ? WEXITSTATUS(status) : -1, tail_of(said));
}

static tn_status run(const tn_registry *r, const char *path, tn_diag *diag) {
  const char *command = r->vet;
  int ends[2];
  pid_t pid;
  tn_arena arena;
  tn_arena_init(&arena, r->a);
  char **env = child_environment(&arena);
  int error = !env ? ENOMEM : pipe2(ends, O_CLOEXEC) ? errno : 0;
  if (!error) {
    error = spawn(command, path, ends[1], env, &pid);
    close(ends[1]);
    if (error) close(ends[0]);
  }
  tn_arena_clear(&arena);
  if (error)
    return tn_fail(diag, TN_ERR_IO, "%s: is not loaded: %s, which is to vet it, cannot be run: %s",
                   path, command, strerror(error));
  tn_text said;
  tn_text_init(&said, r->a);
  const bool in_time = read_output(pid, ends[0], r->vet_limit_s, &said);
  close(ends[0]);
  const int how = end_all(pid);
  const tn_status status =
      in_time ? judge(command, path, how, &said, diag)
              : tn_fail(diag, TN_ERR_INVALID, "%s: is not loaded: vetting it took more than %u s",
                        path, r->vet_limit_s);
  tn_text_free(&said);
  return status;
}

/* ---- what was vetted before ---- */

static bool make_folder(const char *path) { return !mkdir(path, 0700) || errno == EEXIST; }

/* The folder of what was vetted, which is ours alone; NULL: there is none to be had. */
static const char *cache_folder(tn_arena *arena) {
  char why[256];
  const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
  const char *base = xdg && *xdg == '/'     ? xdg
                     : home && *home == '/' ? tn_arena_format(arena, "%s/.cache", home)
                                            : NULL;
  const char *tenon = base ? tn_arena_format(arena, "%s/tenon", base) : NULL;
  const char *folder = tenon ? tn_arena_format(arena, "%s/vetted", tenon) : NULL;
  if (!folder || !make_folder(base) || !make_folder(tenon) || !make_folder(folder)) return NULL;
  const char *inside = tn_arena_format(arena, "%s/", folder);
  return inside && tn_path_is_trusted(inside, why, sizeof why) ? folder : NULL;
}

/* What an entry says. The name holds it too: files of other hosts do not replace each other. */
static const char *entry_name(tn_arena *arena, const char *sha256) {
  return tn_arena_format(arena, "%s-%s-%d.%d-%llx-%llx", sha256, tn_version(), TN_ABI_MAJOR,
                         TN_ABI_MINOR, (unsigned long long)TN_FLAVOUR,
                         (unsigned long long)tn_cpu_isa());
}

static bool was_vetted(const char *entry, const char *name) {
  tn_mapping file;
  if (!entry || access(entry, R_OK) || tn_file_map(entry, NULL, &file)) return false;
  const bool same = file.size == strlen(name) && !memcmp(file.data, name, (size_t)file.size);
  tn_file_unmap(&file);
  return same;
}

/* Failing to remember is no failure: the file is vetted again next time. */
static void remember(const tn_allocator *a, const char *entry, const char *name) {
  tn_file_writer file;
  if (!entry || tn_file_writer_open_name(&file, a, entry, NULL)) return;
  if (!tn_file_writer_write(&file, name, strlen(name), NULL)) tn_file_writer_commit(&file, NULL);
  tn_file_writer_abort(&file);
}

tn_status tn_plug_vet_in_child(tn_registry *r, tn_plug *plug, tn_diag *diag) {
  tn_arena arena;
  tn_arena_init(&arena, r->a);
  const char *name = entry_name(&arena, plug->info.sha256);
  const char *folder = name ? cache_folder(&arena) : NULL;
  const char *entry = folder ? tn_arena_format(&arena, "%s/%s", folder, name) : NULL;
  tn_status status = name ? TN_OK : TN_ERR_MEMORY;
  if (!status && was_vetted(entry, name)) {
    tn_plug_note(plug, "was vetted before: %s", entry);
  } else if (!status) {
    status = run(r, plug->info.path, diag);
    if (!status) tn_plug_note(plug, "was vetted by %s", r->vet);
    if (!status) remember(r->a, entry, name);
  }
  tn_arena_clear(&arena);
  return status;
}
