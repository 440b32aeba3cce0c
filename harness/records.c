/* Records: what a child process tells its parent, as lines of fields with tabs between.
 *
 * The parent trusts none of it: a line too long is cut, bytes that are no text become '?'. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "harness/harness.h"

enum { MAX_LINE = 1 << 17, MAX_TOLD = 1 << 24 };

static void put_field(tn_text *text, const char *field) {
  for (const char *p = field ? field : ""; *p; p++)
    tn_text_add_bytes(text, *p == '\t' || *p == '\n' || *p == '\r' ? " " : p, 1);
}

static void write_all(int fd, const char *data, size_t n) {
  while (n) {
    const ssize_t done = write(fd, data, n);
    if (done < 0 && errno != EINTR) return; /* nobody reads any more */
    if (done <= 0) continue;
    data += done;
    n -= (size_t)done;
  }
}

void check_tell(check_env *env, const char *const *fields, int n) {
  if (env->pipe_out < 0) {
    env->receive(env, fields, n);
    return;
  }
  check_no_copy(env);
  env->totals->n_told++;
  tn_text text;
  tn_text_init(&text, tn_default_allocator());
  for (int k = 0; k < n; k++) {
    if (k) tn_text_add(&text, "\t");
    put_field(&text, fields[k]);
  }
  tn_text_add(&text, "\n");
  if (text.status) check_die("out of memory");
  write_all(env->pipe_out, tn_text_get(&text), strlen(tn_text_get(&text)));
  tn_text_free(&text);
}

static void take_line(check_env *env, char *line) {
  const char *fields[CHECK_MAX_FIELDS];
  int n = 0;
  tn_text_tame(line, (int64_t)strlen(line));
  for (char *p = line; p && n < CHECK_MAX_FIELDS;) {
    fields[n++] = p;
    p = strchr(p, '\t');
    if (p) *p++ = 0;
  }
  env->receive(env, fields, n);
}

void check_lines_add(check_env *env, check_lines *lines, const char *data, size_t n) {
  if (!lines->line) lines->line = check_need(tn_alloc(tn_default_allocator(), MAX_LINE));
  for (size_t k = 0; k < n && lines->told < MAX_TOLD; k++, lines->told++) {
    if (data[k] == '\n' || !data[k]) {
      lines->line[lines->n] = 0;
      if (lines->n) take_line(env, lines->line);
      lines->n_lines += lines->n > 0;
      lines->n = 0;
    } else if (lines->n < MAX_LINE - 1) {
      lines->line[lines->n++] = data[k];
    }
  }
}

void check_lines_free(check_lines *lines) {
  tn_free(tn_default_allocator(), lines->line, MAX_LINE);
}
