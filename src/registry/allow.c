/* Reading and asking lists of what may be loaded. */
#include "registry/allow.h"

#include <string.h>

#include "base/file.h"
#include "base/trust.h"

enum { DIGITS = 64 };

static bool is_digest(const char *p, size_t n) {
  for (size_t k = 0; k < DIGITS; k++)
    if (k >= n || !strchr("0123456789abcdefABCDEF", p[k])) return false;
  return true;
}

static bool is_name(const char *name) {
  return *name == '/' || (*name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, ".."));
}

/* "SHA-256  name", or "SHA-256 *name"; blank lines and those that begin with # say nothing. */
static tn_status read_line(tn_arena *arena, tn_allow *allow, const char *p, size_t n,
                           int32_t number, tn_diag *diag) {
  while (n && (p[n - 1] == '\r' || p[n - 1] == ' ')) n--;
  if (!n || *p == '#') return TN_OK;
  tn_allow_line line = {.number = number};
  size_t at = DIGITS;
  if (is_digest(p, n)) {
    for (size_t k = 0; k < DIGITS; k++)
      line.sha256[k] = (char)(p[k] >= 'A' && p[k] <= 'F' ? p[k] - 'A' + 'a' : p[k]);
    while (at < n && (p[at] == ' ' || p[at] == '\t')) at++;
    if (at > DIGITS && at < n && p[at] == '*') at++;
  }
  line.name = tn_arena_strn(arena, p + (at < n ? at : n), (int64_t)(at < n ? n - at : 0));
  if (!line.name) return TN_ERR_MEMORY;
  if (!line.sha256[0] || at == DIGITS || !is_name(line.name))
    return tn_fail(diag, TN_ERR_INVALID,
                   "%s, line %d: must be a SHA-256 of 64 digits, blanks, and an absolute path or a "
                   "name without folder",
                   allow->path, number);
  return tn_vec_push(arena->a, &allow->lines, line);
}

static tn_status read_lines(tn_arena *arena, tn_allow *allow, const tn_mapping *file,
                            tn_diag *diag) {
  const char *p = (const char *)file->data, *end = p + file->size;
  tn_status status = TN_OK;
  for (int32_t number = 1; p < end && !status; number++) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    const char *stop = newline ? newline : end;
    status = read_line(arena, allow, p, (size_t)(stop - p), number, diag);
    p = stop + 1;
  }
  return status;
}

tn_status tn_allow_read(tn_arena *arena, const char *path, tn_diag *diag, tn_allow **out_allow) {
  char why[512];
  tn_mapping file;
  *out_allow = NULL;
  if (!tn_path_is_trusted(path, why, sizeof why))
    return tn_fail(diag, TN_ERR_INVALID, "list of allowed plug-ins %s: cannot be relied on: %s",
                   path, why);
  tn_allow *allow = tn_arena_alloc(arena, sizeof *allow);
  if (allow) allow->path = tn_arena_str(arena, path);
  if (!allow || !allow->path) return TN_ERR_MEMORY;
  tn_status status = tn_file_map(path, diag, &file);
  if (status) return status;
  status = read_lines(arena, allow, &file, diag);
  tn_file_unmap(&file);
  if (status)
    tn_allow_free(arena->a, allow);
  else
    *out_allow = allow;
  return status;
}

void tn_allow_free(const tn_allocator *a, tn_allow *allow) {
  for (; allow; allow = allow->next) tn_vec_free(a, &allow->lines);
}

static bool is_for(const tn_allow_line *line, const char *path) {
  const char *slash = strrchr(path, '/');
  return !strcmp(line->name, *line->name == '/' || !slash ? path : slash + 1);
}

const tn_allow_line *tn_allow_find(const tn_allow *allow, const char *path, const char *sha256,
                                   const char **out_why) {
  bool named = false, hashed = false;
  for (int64_t k = 0; k < allow->lines.n; k++) {
    const tn_allow_line *line = &allow->lines.data[k];
    const bool same = !strcmp(line->sha256, sha256), mine = is_for(line, path);
    if (same && mine) return line;
    named = named || mine;
    hashed = hashed || same;
  }
  *out_why = named    ? "has the file with another SHA-256"
             : hashed ? "has this SHA-256 for a file of another name"
                      : "does not have the file";
  return NULL;
}
