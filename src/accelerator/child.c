/* Compiling in a process of its own: whatever a compiler does there, this one survives. */
#include "accelerator/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cpu.h"
#include "base/text.h"

/* ---- files without a name ---- */

tn_status tn_nameless_open(tn_nameless *f, tn_diag *diag) {
#if defined(__linux__)
  f->fd = memfd_create("tenon", MFD_CLOEXEC);
#else
  FILE *file = tmpfile();
  f->fd = file ? dup(fileno(file)) : -1;
  if (file) fclose(file);
#endif
  return f->fd >= 0
             ? TN_OK
             : tn_fail(diag, TN_ERR_IO, "a temporary file cannot be had: %s", strerror(errno));
}

tn_status tn_nameless_write(tn_nameless *f, const void *data, uint64_t size) {
  for (uint64_t done = 0; done < size;) {
    const uint64_t left = size - done;
    const ssize_t n =
        write(f->fd, (const char *)data + done, left < (1u << 30) ? (size_t)left : (size_t)1 << 30);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return TN_ERR_IO;
    done += (uint64_t)n;
  }
  return TN_OK;
}

tn_status tn_nameless_map(const tn_nameless *f, tn_diag *diag, tn_mapping *out) {
  return tn_file_map_open(f->fd, "what a compiler has made", diag, out);
}

void tn_nameless_close(tn_nameless *f) {
  if (f->fd >= 0) close(f->fd);
  f->fd = -1;
}

/* ---- words ---- */

enum { KEPT_LOG = 600, STAGE_TEXT = 80 };

typedef struct job {
  const tn_accelerator *x;
  const tn_compile_request *request;
  const tn_compile_rules *rules;
  tn_nameless files[3]; /* request, answer, log */
  tn_arena arena;
  tn_diag *diag;
} job;
enum { REQUEST, ANSWER, LOG };

/* "2 parts: Conv, Mul, Add ..." */
static const char *parts_text(job *j) {
  enum { SHOWN = 5 };
  tn_text text;
  int32_t n = 0;
  tn_text_init(&text, j->x->a);
  tn_text_add(&text, "%u part%s:", j->request->n_parts, j->request->n_parts == 1 ? "" : "s");
  for (uint32_t k = 0; k < j->request->n_parts; k++) {
    const tn_graph *g = j->request->parts[k].body;
    for (int64_t i = 0; i < g->order.n && n <= SHOWN; i++, n++)
      tn_text_add(&text, n == SHOWN ? " ..." : "%s %.60s", n ? "," : "",
                  tn_graph_node(g, g->order.data[i])->node.op);
  }
  const char *copy = tn_arena_str(&j->arena, tn_text_get(&text));
  tn_text_free(&text);
  return copy ? copy : "";
}

/* The last words of the child's log, as one line with "; it said: " before it. */
static const char *log_text(job *j) {
  char text[KEPT_LOG + 1];
  const off_t size = lseek(j->files[LOG].fd, 0, SEEK_END);
  const off_t from = size > KEPT_LOG ? size - KEPT_LOG : 0;
  ssize_t n = size > 0 ? pread(j->files[LOG].fd, text, KEPT_LOG, from) : 0;
  while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' ')) n--;
  if (n <= 0) return "";
  ssize_t first = 0;
  while (first < n && ((unsigned char)text[first] & 0xC0) == 0x80) first++;
  text[n] = 0;
  tn_text_tame_line(text, n);
  const char *said = tn_arena_format(&j->arena, "; it said: %s", text + first);
  return said ? said : "";
}

/* What the child was doing last. */
static const char *stage_text(job *j) {
  char text[sizeof TN_WORKER_STAGE + STAGE_TEXT] = "";
  const size_t n = strlen(TN_WORKER_STAGE);
  const ssize_t got = pread(j->files[ANSWER].fd, text, sizeof text - 1, 0);
  if (got <= (ssize_t)n || memcmp(text, TN_WORKER_STAGE, n)) return "its start";
  const char *stage = tn_arena_str(&j->arena, text + n);
  return stage ? stage : "";
}

static const char *signal_text(int number, char *buf, size_t size) {
  static const struct {
    int number;
    const char *name;
  } known[] = {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},
               {SIGFPE, "SIGFPE"},   {SIGILL, "SIGILL"},   {SIGKILL, "SIGKILL"},
               {SIGTRAP, "SIGTRAP"}, {SIGPIPE, "SIGPIPE"}, {SIGTERM, "SIGTERM"}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (known[k].number == number) return known[k].name;
  snprintf(buf, size, "signal %d", number);
  return buf;
}

/* ---- the end of it ---- */

static tn_status say(job *j, tn_status status, const char *what) {
  return tn_fail(j->diag, status, "accelerator '%s': compiler '%s' %s in %s, %s%s", j->x->name,
                 j->request->compiler, what, stage_text(j), parts_text(j), log_text(j));
}

/* What the worker has told, and the compiler's log, which may know more. */
static tn_status told(job *j, const char *text) {
  char copy[1100];
  snprintf(copy, sizeof copy, "%s", text);
  tn_text_tame_line(copy, (int64_t)strlen(copy));
  return tn_fail(j->diag, TN_ERR_UNSUPPORTED, "accelerator '%s': compiler '%s': %s%s", j->x->name,
                 j->request->compiler, copy, log_text(j));
}

static tn_status judge(job *j, bool in_time, int how, tn_mapping *out) {
  char text[1100] = "", name[32];
  const size_t n = strlen(TN_WORKER_ERROR);
  if (!in_time) {
    snprintf(text, sizeof text, "took more than %u s", j->rules->time_limit_s);
    return say(j, TN_ERR_UNSUPPORTED, text);
  }
  if (how < 0) return say(j, TN_ERR_IO, "was lost");
  if (WIFSIGNALED(how)) {
    snprintf(text, sizeof text, "crashed with %s", signal_text(WTERMSIG(how), name, sizeof name));
    return say(j, TN_ERR_UNSUPPORTED, text);
  }
  const ssize_t got = pread(j->files[ANSWER].fd, text, sizeof text - 1, 0);
  if (got > (ssize_t)n && !memcmp(text, TN_WORKER_ERROR, n)) return told(j, text + n);
  if (WEXITSTATUS(how) || got < 8 || memcmp(text, "TENONMOD", 8)) {
    snprintf(text, sizeof text, "ended the process with exit status %d", WEXITSTATUS(how));
    return say(j, TN_ERR_UNSUPPORTED, text);
  }
  return tn_nameless_map(&j->files[ANSWER], j->diag, out);
}

/* ---- the way there ---- */

static tn_status write_request(void *ctx, const void *data, uint64_t size) {
  return tn_nameless_write(ctx, data, size);
}

static tn_status open_files(job *j) {
  tn_status status = TN_OK;
  for (int k = 0; k < 3; k++) j->files[k].fd = -1;
  for (int k = 0; k < 3 && !status; k++) status = tn_nameless_open(&j->files[k], j->diag);
  if (!status) status = tn_request_write(j->x->a, j->request, write_request, &j->files[REQUEST]);
  if (!status && lseek(j->files[REQUEST].fd, 0, SEEK_SET) < 0) status = TN_ERR_IO;
  return status;
}

static bool wait_for(pid_t pid, uint32_t limit_s) {
  const uint64_t until = tn_now_ns() + limit_s * UINT64_C(1000000000);
  for (int nap_ms = 1; !tn_child_has_ended(pid); nap_ms += nap_ms < 20) {
    if (tn_now_ns() >= until) return false;
    poll(NULL, 0, nap_ms);
  }
  return true;
}

static tn_status run(job *j, tn_mapping *out) {
  const char *const argv[] = {j->rules->worker, "worker", NULL};
  const tn_child_file files[] = {{j->files[REQUEST].fd, TN_WORKER_REQUEST},
                                 {j->files[ANSWER].fd, TN_WORKER_ANSWER},
                                 {j->files[LOG].fd, 1},
                                 {j->files[LOG].fd, 2}};
  char **env = tn_child_environment(&j->arena);
  pid_t pid;
  const int error = env ? tn_child_spawn(argv, env, files, 4, &pid) : ENOMEM;
  if (error)
    return tn_fail(j->diag, TN_ERR_NOT_FOUND,
                   "accelerator '%s': %s, which is to run compilers, cannot be started: %s",
                   j->x->name, j->rules->worker, strerror(error));
  const bool in_time = wait_for(pid, j->rules->time_limit_s);
  return judge(j, in_time, tn_child_end(pid), out);
}

tn_status tn_compile_in_child(tn_accelerator *x, const tn_compile_rules *rules,
                              const tn_compile_request *request, tn_diag *diag, tn_mapping *out) {
  job j = {.x = x, .rules = rules, .request = request, .diag = diag};
  tn_arena_init(&j.arena, x->a);
  tn_status status = open_files(&j);
  if (!status) status = run(&j, out);
  for (int k = 0; k < 3; k++) tn_nameless_close(&j.files[k]);
  tn_arena_clear(&j.arena);
  return status;
}
