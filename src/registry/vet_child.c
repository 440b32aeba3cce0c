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

enum { TIME_LIMIT_S = 300, KEPT_OUTPUT = 1500 };

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

static int spawn(const char *command, const char *path, int out, char **env, pid_t *out_pid) {
  char *const argv[] = {(char *)(uintptr_t)command, (char *)(uintptr_t) "plugin",
                        (char *)(uintptr_t) "vet", (char *)(uintptr_t)path, NULL};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none;
  int error = posix_spawn_file_actions_init(&files);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    sigemptyset(&none);
    error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (!error) error = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&files, out, 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&files, out, 2);
    if (!error) error = posix_spawn(out_pid, command, &files, &attributes, argv, env);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&files);
  return error;
}

/* Reads until the other end is closed; keeps the last bytes. False: that took too long. */
static bool read_output(int from, tn_text *text) {
  const uint64_t until = tn_now_ns() + TIME_LIMIT_S * UINT64_C(1000000000);
  char part[512];
  for (;;) {
    struct pollfd ready = {from, POLLIN, 0};
    const int n = poll(&ready, 1, 100);
    if (n < 0 && errno != EINTR) return false;
    if (tn_now_ns() >= until) return false;
    if (n <= 0) continue;
    const ssize_t got = read(from, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    if (text->n < 1 << 20) tn_text_add_bytes(text, part, got);
  }
}

static int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

static const char *tail_of(const tn_text *text) {
  const char *all = tn_text_get(text);
  const size_t n = strlen(all);
  return n > KEPT_OUTPUT ? all + (n - KEPT_OUTPUT) : all;
}

/* What the command's end means. */
static tn_status judge(const char *command, const char *path, int status, bool in_time,
                       const tn_text *said, tn_diag *diag) {
  if (!in_time)
    return tn_fail(diag, TN_ERR_INVALID, "%s: is not loaded: vetting it took more than %d s", path,
                   TIME_LIMIT_S);
  if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return TN_OK;
  if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1)
    return tn_fail(diag, TN_ERR_INVALID, "%s: is not loaded: it did not pass vetting:\n%s", path,
                   tail_of(said));
  if (status >= 0 && WIFSIGNALED(status))
    return tn_fail(diag, TN_ERR_INVALID, "%s: is not loaded: %s, which vets it, died of signal %d",
                   path, command, WTERMSIG(status));
  return tn_fail(diag, TN_ERR_IO, "%s: is not loaded: %s could not vet it (exit status %d): %s",
                 path, command, status >= 0 ? WEXITSTATUS(status) : -1, tail_of(said));
}

static tn_status run(const tn_allocator *a, const char *command, const char *path, tn_diag *diag) {
  int ends[2];
  pid_t pid;
  tn_arena arena;
  tn_arena_init(&arena, a);
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
  tn_text_init(&said, a);
  const bool in_time = read_output(ends[0], &said);
  close(ends[0]);
  if (!in_time) kill(pid, SIGKILL);
  const tn_status status = judge(command, path, wait_for(pid), in_time, &said, diag);
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
  if (!entry || tn_file_writer_open(&file, a, entry, NULL)) return;
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
    status = run(r->a, r->vet, plug->info.path, diag);
    if (!status) tn_plug_note(plug, "was vetted by %s", r->vet);
    if (!status) remember(r->a, entry, name);
  }
  tn_arena_clear(&arena);
  return status;
}
