/* Reads a lock, and looks at it alone. */
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/file.h"

static const char *key_of(char *buf, size_t size, abi_kind kind, const char *name) {
  snprintf(buf, size, "%s %s", abi_kind_words[kind], name);
  return buf;
}

const abi_record *abi_find(const abi_lock *l, abi_kind kind, const char *name) {
  char key[256];
  const int64_t at = tn_map_get(&l->index, key_of(key, sizeof key, kind, name), -1);
  return at < 0 ? NULL : &l->records.data[at];
}

void abi_lock_free(abi_lock *l) {
  tn_vec_free(tn_default_allocator(), &l->records);
  tn_map_free(&l->index);
  tn_arena_clear(&l->arena);
}

/* The next word of a line; "" at its end. */
static char *word(char **p) {
  char *begin = *p + strspn(*p, " ");
  char *end = begin + strcspn(begin, " ");
  *p = *end ? end + 1 : end;
  *end = 0;
  return begin;
}

static bool read_line(abi_lock *l, char *line) {
  if (*line == '#' || !*line) return true;
  char *p = line;
  const char *kind = word(&p);
  if (!strcmp(kind, "abi")) {
    l->major = strtol(word(&p), NULL, 10);
    l->minor = strtol(word(&p), NULL, 10);
    return true;
  }
  abi_record r = {.kind = ABI_STRUCT, .order = l->records.n};
  while (r.kind < ABI_KINDS && strcmp(abi_kind_words[r.kind], kind)) r.kind++;
  if (r.kind == ABI_KINDS) return false;
  r.name = word(&p);
  if (r.kind == ABI_MEMBER) r.offset = strtoll(word(&p), NULL, 10);
  if (r.kind <= ABI_VALUE) r.size = strtoll(word(&p), NULL, 10);
  r.type = p;
  char key[256];
  return !tn_vec_push(tn_default_allocator(), &l->records, r) &&
         !tn_map_set(&l->index, key_of(key, sizeof key, r.kind, r.name), r.order);
}

bool abi_lock_read(abi_lock *l, const char *path) {
  *l = (abi_lock){.path = path, .major = -1};
  tn_arena_init(&l->arena, tn_default_allocator());
  tn_map_init(&l->index, tn_default_allocator());
  tn_mapping file;
  if (tn_file_map(path, NULL, &file)) {
    fprintf(stderr, "tenon-abi: %s cannot be read\n", path);
    return false;
  }
  char *text = tn_arena_strn(&l->arena, (const char *)file.data, (int64_t)file.size);
  tn_file_unmap(&file);
  bool ok = text != NULL;
  for (char *line = text; ok && *line;) {
    char *end = line + strcspn(line, "\n"), *next = *end ? end + 1 : end;
    *end = 0;
    ok = read_line(l, line);
    if (!ok) fprintf(stderr, "tenon-abi: %s: line is not understood: %s\n", path, line);
    line = next;
  }
  if (ok && l->major < 0) fprintf(stderr, "tenon-abi: %s: says no version\n", path);
  return ok && l->major >= 0;
}

/* ---- alone ---- */

static bool is_member_of(const abi_record *r, const abi_record *s) {
  const size_t n = strlen(s->name);
  return r->kind == ABI_MEMBER && !strncmp(r->name, s->name, n) && r->name[n] == '.';
}

int abi_lint(const abi_lock *l) {
  int wrong = 0;
  for (int64_t k = 0; k < l->records.n; k++) {
    const abi_record *s = &l->records.data[k];
    int64_t end = 0, i = k + 1;
    if (s->kind != ABI_STRUCT) continue;
    for (; i < l->records.n && is_member_of(&l->records.data[i], s); i++) {
      const abi_record *m = &l->records.data[i];
      if (m->offset != end && ++wrong)
        printf(
            "%s: %lld hidden bytes before it: a later append could be misread; write a reserved "
            "member\n",
            m->name, (long long)(m->offset - end));
      end = m->offset + m->size;
    }
    if (s->size != end && ++wrong)
      printf("%s: %lld hidden bytes at its end: write a reserved member\n", s->name,
             (long long)(s->size - end));
    if (s->size % 8 && ++wrong)
      printf("%s: its %lld bytes are no multiple of 8\n", s->name, (long long)s->size);
  }
  return wrong;
}
