/* Which operators a family file holds: its `op:` entries, read without a YAML parser ("- op:
 * Name", "- op: [A, B]"). */
#include <ctype.h>
#include <string.h>

#include "harness/harness.h"

char *check_family_read(const char *path, uint64_t *out_bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) check_die("%s: cannot be read", path);
  fseek(file, 0, SEEK_END);
  const long n = ftell(file);
  rewind(file);
  *out_bytes = (uint64_t)n + 1;
  char *text = check_need(tn_alloc(tn_default_allocator(), *out_bytes));
  if (fread(text, 1, (size_t)n, file) != (size_t)n) check_die("%s: cannot be read", path);
  fclose(file);
  return text;
}

/* After "op:": is the name there, alone or in the list? */
static bool names(const char *p, const char *name) {
  const size_t n = strlen(name);
  while (*p == ' ') p++;
  const char *end = *p == '[' ? strchr(p, ']') : p + strcspn(p, "\n#");
  if (!end) return false;
  while (p < end) {
    while (p < end && (isspace((unsigned char)*p) || strchr("[,'\"", *p))) p++;
    size_t length = strcspn(p, " \n,]'\"#");
    if (length == n && !memcmp(p, name, n)) return true;
    p += length ? length : 1;
  }
  return false;
}

bool check_family_has(const char *text, const char *name) {
  for (const char *p = text; p; p = strchr(p, '\n')) {
    p += *p == '\n';
    const char *at = p + strspn(p, " -");
    if (!strncmp(at, "op:", 3) && names(at + 3, name)) return true;
  }
  return false;
}
