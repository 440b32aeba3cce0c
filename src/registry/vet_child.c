/* Vetting in a process of its own, before a library is mapped here: `tenon plugin vet FILE` is run,
 * and what it found fine is remembered, so that each file is vetted once. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/text.h"
#include "base/trust.h"
#include "registry/load.h"

enum { KEPT_OUTPUT = 1500, MAX_OUTPUT = 1 << 20, POLL_MS = 20 };

/* ---- running the command ---- */

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
  while (!tn_child_has_ended(pid)) {
    if (tn_now_ns() >= until) return false;
    if (open)
      open = read_some(from, POLL_MS, text);
    else
      poll(NULL, 0, POLL_MS);
  }
  while (open && text->n < MAX_OUTPUT) open = read_some(from, 0, text);
  return true;
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
  char **env = tn_child_environment(&arena);
  int error = !env ? ENOMEM : pipe2(ends, O_CLOEXEC) ? errno : 0;
  if (!error) {
    const char *const argv[] = {command, "plugin", "vet", path, NULL};
    const tn_child_file files[] = {{ends[1], 1}, {ends[1], 2}};
    error = tn_child_spawn(argv, env, files, 2, &pid);
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
  const int how = tn_child_end(pid);
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
