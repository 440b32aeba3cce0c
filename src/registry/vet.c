/* Vetting, the tools: copying structs that may be of any age, tables, texts, callbacks. Nothing a
 * plug-in says is followed before it was checked here, and each breach is reported with part,
 * member and rule. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "registry/internal.h"
#include "tenon/kit/checked.h"

enum { MAX_BREACHES = 40 }; /* reported; a broken table may hold thousands */
enum { WHERE_TEXT = 4600 }; /* the path of a file, and more */

static void part_text(const tn_vet *v, char *buf, size_t size) {
  char since[24] = "";
  const bool has_domain = v->domain && *v->domain;
  if (v->since) snprintf(since, sizeof since, " since %d", v->since);
  if (!v->name)
    snprintf(buf, size, "%s %u", v->kind, v->index);
  else
    snprintf(buf, size, "%s '%.*s%s%.*s'%s", v->kind, TN_LIMIT_NAME, has_domain ? v->domain : "",
             has_domain ? "::" : "", TN_LIMIT_NAME, v->name, since);
}

void tn_vet_where(const tn_vet *v, char *buf, size_t size) {
  char part[2 * TN_LIMIT_NAME + 60] = "", row[60] = "";
  if (v->kind) part_text(v, part, sizeof part);
  if (v->row[0]) snprintf(row, sizeof row, ", %s%u%s", v->row[0], v->row_index, v->row[1]);
  snprintf(buf, size, "%s%s%s%s", v->where, *part ? ", " : "", part, row);
}

bool(tn_vet_fail)(tn_vet *v, tn_status code, const char *member, const char *format, ...) {
  char rule[1024], where[WHERE_TEXT];
  va_list args;
  va_start(args, format);
  tn_error_text(rule, sizeof rule, code, format, args);
  va_end(args);
  if (!v->status) v->status = code;
  if (v->is_starved) return v->n_breaches++, false;
  v->is_starved = code == TN_ERR_MEMORY;
  if (++v->n_breaches == MAX_BREACHES + 1)
    tn_diag_add(v->diag, TN_DIAG_ERROR, "%s: more breaches of rules follow", v->where);
  if (v->n_breaches > MAX_BREACHES) return false;
  tn_vet_where(v, where, sizeof where);
  (tn_diag_add)(v->diag, TN_DIAG_ERROR, "%s%s%s: %s", where, member ? ", member " : "",
                member ? member : "", rule);
  return false;
}

void tn_vet_need(tn_vet *v, const tn_part_owner *owner) {
  tn_plug *plug = v->plug, *other = tn_plug_of(owner);
  if (owner->is_builtin || other == plug) return;
  for (int64_t k = 0; k < plug->needs.n; k++)
    if (plug->needs.data[k] == other) return;
  if (tn_vec_push(plug->a, &plug->needs, other))
    tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
}

void(tn_vet_warn)(tn_vet *v, const char *format, ...) {
  if (!*format) return;
  char text[1024], where[WHERE_TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tn_vet_where(v, where, sizeof where);
  tn_diag_add(v->diag, TN_DIAG_WARNING, "%s: %s", where, text);
}

void tn_vet_part(tn_vet *v, const char *kind, uint32_t index) {
  v->kind = kind;
  v->index = index;
  v->domain = v->name = NULL;
  v->since = 0;
}

/* True if p is a pointer to `bytes` readable bytes, aligned for structs. */
static bool is_readable(tn_vet *v, const char *member, const void *p, uint64_t bytes) {
  if (!p) return tn_vet_fail(v, TN_ERR_INVALID, member, "is NULL");
  if ((uintptr_t)p % sizeof(void *))
    return tn_vet_fail(v, TN_ERR_INVALID, member, "points to %p, which is not aligned", p);
  if (tn_image_readable(v->image, p) < bytes)
    return tn_vet_fail(v, TN_ERR_INVALID, member,
                       "points to %p, which is not inside the tables of a loaded library", p);
  return true;
}

bool tn_vet_copy(tn_vet *v, const void *from, uint32_t needed, uint32_t size, void *out) {
  if (tn_vet_trusts(v)) { /* compiled with this host, so as long as its own */
    memcpy(out, from, size);
    return true;
  }
  memset(out, 0, size);
  if (!is_readable(v, "head", from, sizeof(tn_head))) return false;
  tn_head head;
  memcpy(&head, from, sizeof head);
  if (head.size > TN_LIMIT_HEAD)
    return tn_vet_fail(v, TN_ERR_INVALID, "head.size", "is %u, no struct is that large", head.size);
  if (head.size < needed)
    return tn_vet_fail(v, TN_ERR_INVALID, "head.size",
                       "is %u, but at least the first %u bytes of this struct have to be there",
                       head.size, needed);
  if (head.size % sizeof(void *))
    return tn_vet_fail(v, TN_ERR_INVALID, "head.size", "is %u, which is no multiple of %u",
                       head.size, (unsigned)sizeof(void *));
  if (!is_readable(v, "head", from, head.size)) return false;
  tn_struct_in(out, size, from);
  return true;
}

bool tn_vet_age(tn_vet *v, const void *from, uint32_t size) {
  tn_head head;
  memcpy(&head, from, sizeof head);
  if (head.major != TN_ABI_MAJOR)
    return tn_vet_fail(v, TN_ERR_VERSION, "head.major",
                       "is %u: made for ABI %u.%u, this host serves ABI %d.x", head.major,
                       head.major, head.minor, TN_ABI_MAJOR);
  const int32_t minor = head.minor;
  if (minor >= TN_ABI_MINOR && head.size < size)
    return tn_vet_fail(v, TN_ERR_INVALID, "head.size",
                       "is %u, but this struct has %u bytes in ABI %u.%u", head.size, size,
                       head.major, head.minor);
  return true;
}

bool tn_vet_struct(tn_vet *v, const void *from, uint32_t needed, uint32_t size, void *out) {
  return tn_vet_copy(v, from, needed, size, out) && tn_vet_age(v, from, size);
}

void *tn_vet_alloc(tn_vet *v, uint64_t n, size_t element) {
  uint64_t bytes;
  void *memory = tn_mul_u64(n, element, &bytes) ? NULL : tn_arena_alloc(&v->plug->arena, bytes);
  if (!memory) tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
  return memory;
}

bool tn_vet_table(tn_vet *v, const char *member, const void *table, uint32_t n, uint32_t limit) {
  if (!n) return true;
  if (n > limit)
    return tn_vet_fail(v, TN_ERR_OVERFLOW, member, "is counted as %u entries, the limit is %u", n,
                       limit);
  if (!table)
    return tn_vet_fail(v, TN_ERR_INVALID, member, "is NULL, but %u entries are counted", n);
  return is_readable(v, member, table, (uint64_t)n * sizeof(void *));
}

const void *tn_vet_row(const void *table, uint32_t index) {
  const void *row;
  memcpy(&row, (const char *)table + (size_t)index * sizeof row, sizeof row);
  return row;
}

static bool has_control(const char *text, size_t n) {
  for (size_t k = 0; k < n; k++) {
    const unsigned char c = (unsigned char)text[k];
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) return true;
    if (c == 0xc2 && (unsigned char)text[k + 1] < 0xa0) return true; /* U+0080 to U+009f */
  }
  return false;
}

/* Printable ASCII, as almost all texts are? Eight bytes at a time; a borrow or a carry comes only
 * from bytes that are none. */
static bool is_ascii(const char *text, size_t n) {
  const uint64_t ones = 0x0101010101010101;
  uint64_t odd = 0, w;
  size_t k = 0;
  for (; k + 8 <= n; k += 8) {
    memcpy(&w, text + k, 8);
    odd |= w | (w - 0x20 * ones) | (w + ones);
  }
  for (; k < n; k++) odd |= text[k] < 0x20 || text[k] > 0x7e ? 0x80u : 0u;
  return !(odd & 0x80 * ones);
}

bool tn_vet_text(tn_vet *v, const char *member, const char *text, uint32_t limit) {
  if (!text) return tn_vet_fail(v, TN_ERR_INVALID, member, "must be given");
  const uint64_t readable = tn_image_readable(v->image, text);
  if (!readable)
    return tn_vet_fail(v, TN_ERR_INVALID, member,
                       "points to %p, which is not inside the tables of a loaded library",
                       (const void *)text);
  const uint64_t most = readable < limit + 1u ? readable : limit + 1u;
  const size_t n = strnlen(text, (size_t)most);
  if (n == most)
    return tn_vet_fail(v, TN_ERR_INVALID, member, "does not end within %u bytes", limit);
  if (is_ascii(text, n)) return true;
  if (!tn_utf8_valid(text, (int64_t)n))
    return tn_vet_fail(v, TN_ERR_INVALID, member, "is not UTF-8");
  if (has_control(text, n)) return tn_vet_fail(v, TN_ERR_INVALID, member, "has control characters");
  return true;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

static bool vet_letters(tn_vet *v, const char *member, const char *text) {
  const char *p = text;
  if (!*text) return tn_vet_fail(v, TN_ERR_INVALID, member, "is empty");
  while (is_letter(*p)) p++;
  if (*p)
    return tn_vet_fail(v, TN_ERR_INVALID, member,
                       "is '%s', but names are made of letters, digits and _ . -", text);
  return true;
}

bool tn_vet_name(tn_vet *v, const char *member, const char *text) {
  return tn_vet_text(v, member, text, TN_LIMIT_NAME) && vet_letters(v, member, text);
}

bool tn_vet_op_name(tn_vet *v, const char *member, const char *text, const char **out_domain,
                    const char **out_name) {
  const bool trusts = tn_vet_trusts(v);
  if (!trusts && !tn_vet_text(v, member, text, 2 * TN_LIMIT_NAME)) return false;
  tn_arena *arena = &v->plug->arena;
  const char *colons = strstr(text, "::"), *rest = colons ? colons + 2 : text;
  const char *domain = colons ? tn_arena_strn(arena, text, colons - text) : "";
  const char *name = trusts ? rest : tn_arena_str(arena, rest);
  if (!domain || !name) return tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
  *out_domain = tn_domain_normal(domain);
  *out_name = name;
  if (trusts) return true;
  return (!colons || vet_letters(v, member, domain)) && vet_letters(v, member, name);
}

bool tn_vet_flags(tn_vet *v, const char *member, uint64_t flags, uint64_t known) {
  if (!(flags & ~known)) return true;
  return tn_vet_fail(v, TN_ERR_UNSUPPORTED, member,
                     "has bits 0x%llx, which ABI %d.%d does not know",
                     (unsigned long long)(flags & ~known), TN_ABI_MAJOR, TN_ABI_MINOR);
}

static bool vet_function(tn_vet *v, const tn_member *m, uintptr_t p) {
  if (!p) return tn_vet_fail(v, TN_ERR_INVALID, m->name, "must be given");
  if (tn_image_executable(v->image, p)) return true;
  return tn_vet_fail(v, TN_ERR_INVALID, m->name, "is no function of a loaded library");
}

bool tn_vet_members(tn_vet *v, void *copy, const tn_member *members, size_t n) {
  bool ok = true;
  if (tn_vet_trusts(v)) return true;
  for (size_t k = 0; k < n; k++) {
    const tn_member *m = &members[k];
    void *p; /* functions have the size of pointers wherever there is dlsym */
    memcpy(&p, (char *)copy + m->offset, sizeof p);
    bool good = true;
    if (!p && !m->required) continue;
    if (m->kind == TN_MEMBER_FUNCTION)
      good = vet_function(v, m, (uintptr_t)p);
    else if (m->kind == TN_MEMBER_NAME)
      good = tn_vet_name(v, m->name, p);
    else
      good = tn_vet_text(v, m->name, p, m->limit);
    if (!good) memset((char *)copy + m->offset, 0, sizeof p);
    ok = ok && good;
  }
  return ok;
}

bool tn_vet_named(tn_vet *v, const char *what, void *copy, const tn_member *members, size_t n) {
  const bool named = tn_vet_members(v, copy, members, 1);
  const char *name;
  memcpy(&name, (const char *)copy + members[0].offset, sizeof name);
  if (named) v->kind = what, v->domain = NULL, v->name = name;
  return tn_vet_members(v, copy, members + 1, n - 1) && named;
}
