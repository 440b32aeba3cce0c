/* Zip archives: the central directory says what there is, and local headers have to agree. */
#include "base/zip.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/inflate.h"
#include "base/text.h"

enum {
  END_BYTES = 22,
  END64_BYTES = 56,
  LOCATOR_BYTES = 20,
  CENTRAL_BYTES = 46,
  LOCAL_BYTES = 30,
  MAX_COMMENT = 0xffff,
  MAX_MEMBERS = 1 << 20,
  ENCRYPTED = 1 << 0,
  DESCRIBED_BEHIND = 1 << 3, /* sizes stand behind the member, not in its local header */
  EXTRA_ZIP64 = 1
};

static __attribute__((format(printf, 4, 5)))
tn_status(zip_fail)(tn_zip *z, tn_status code, uint64_t at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tn_error_text(z->message, sizeof z->message, code, format, args);
  va_end(args);
  const size_t n = strlen(z->message);
  snprintf(z->message + n, sizeof z->message - n, ", at byte %llu", (unsigned long long)at);
  return code;
}

static tn_status no_memory(tn_zip *z) {
  snprintf(z->message, sizeof z->message, "no memory for the members of the archive");
  return TN_ERR_MEMORY;
}

static uint64_t number(const uint8_t *p, int n) {
  uint64_t v = 0;
  while (n-- > 0) v = v << 8 | p[n];
  return v;
}

/* ---- where the directory is ---- */

typedef struct directory {
  uint64_t at, size, n, end; /* end: of what members may take */
} directory;

static tn_status find_end(tn_zip *z, uint64_t *out) {
  for (uint64_t k = END_BYTES; k <= z->size && k <= END_BYTES + MAX_COMMENT; k++) {
    const uint8_t *p = z->data + z->size - k;
    if (memcmp(p, "PK\5\6", 4) || number(p + 20, 2) != k - END_BYTES) continue;
    *out = z->size - k;
    return TN_OK;
  }
  return zip_fail(z, TN_ERR_INVALID, z->size, "the archive has no end record: it is cut off");
}

static tn_status find_end64(tn_zip *z, uint64_t end, directory *d) {
  const uint8_t *locator = end >= LOCATOR_BYTES ? z->data + end - LOCATOR_BYTES : NULL;
  if (!locator || memcmp(locator, "PK\6\7", 4)) return TN_OK;
  const uint64_t at = number(locator + 8, 8), last = end - LOCATOR_BYTES;
  if (last < END64_BYTES || at > last - END64_BYTES || memcmp(z->data + at, "PK\6\6", 4))
    return zip_fail(z, TN_ERR_INVALID, end - LOCATOR_BYTES,
                    "the archive's zip64 record is missing");
  const uint8_t *p = z->data + at;
  if (number(locator + 4, 4) || number(locator + 16, 4) > 1 || number(p + 16, 4) ||
      number(p + 20, 4))
    return zip_fail(z, TN_ERR_UNSUPPORTED, at, "not supported: an archive in several parts");
  *d = (directory){number(p + 48, 8), number(p + 40, 8), number(p + 32, 8), at};
  return TN_OK;
}

static tn_status find_directory(tn_zip *z, directory *d) {
  uint64_t end = 0;
  tn_status s = find_end(z, &end);
  if (s) return s;
  const uint8_t *p = z->data + end;
  *d = (directory){number(p + 16, 4), number(p + 12, 4), number(p + 10, 2), end};
  if (d->at == UINT32_MAX || d->size == UINT32_MAX || d->n == UINT16_MAX) s = find_end64(z, end, d);
  if (!s && (number(p + 4, 2) || number(p + 6, 2)))
    s = zip_fail(z, TN_ERR_UNSUPPORTED, end, "not supported: an archive in several parts");
  if (!s && (d->at > d->end || d->size > d->end - d->at))
    s = zip_fail(z, TN_ERR_INVALID, end, "the archive's directory lies outside");
  if (!s && (d->n > MAX_MEMBERS || d->n > d->size / CENTRAL_BYTES))
    s = zip_fail(z, TN_ERR_INVALID, end, "the archive cannot have %llu members",
                 (unsigned long long)d->n);
  return s;
}

/* ---- members ---- */

/* A name that stays in its folder, wherever it is used. */
static bool is_fit(const char *name, uint64_t n) {
  if (!n || memchr(name, 0, n) || memchr(name, '\\', n) || name[0] == '/') return false;
  if (n >= 2 && name[1] == ':') return false;
  for (uint64_t k = 0; k < n; k++)
    if ((uint8_t)name[k] < 0x20 || name[k] == 0x7f) return false;
  for (uint64_t k = 0, from = 0; k <= n; k++) {
    if (k < n && name[k] != '/') continue;
    if (k - from == 2 && name[from] == '.' && name[from + 1] == '.') return false;
    from = k + 1;
  }
  return tn_utf8_valid(name, (int64_t)n);
}

/* Sizes and place of large members stand in a field of their own, those that are all ones. */
static tn_status read_zip64(tn_zip *z, const uint8_t *p, uint64_t left, uint64_t at,
                            uint64_t *const *wanted, int n_wanted) {
  while (left >= 4) {
    const uint64_t id = number(p, 2), n = number(p + 2, 2);
    if (n > left - 4) break;
    if (id == EXTRA_ZIP64) {
      if (n < 8 * (uint64_t)n_wanted) break;
      for (int k = 0; k < n_wanted; k++) *wanted[k] = number(p + 4 + 8 * k, 8);
      return TN_OK;
    }
    p += 4 + n;
    left -= 4 + n;
  }
  return zip_fail(z, TN_ERR_INVALID, at, "a member lacks its zip64 sizes");
}

static tn_status read_large(tn_zip *z, const uint8_t *p, uint64_t n_extra, tn_zip_member *m) {
  uint64_t *wanted[3], **next = wanted;
  if (m->size == UINT32_MAX) *next++ = &m->size;
  if (m->packed == UINT32_MAX) *next++ = &m->packed;
  if (m->at == UINT32_MAX) *next++ = &m->at;
  return next == wanted
             ? TN_OK
             : read_zip64(z, p, n_extra, (uint64_t)(p - z->data), wanted, (int)(next - wanted));
}

/* The record of the directory at p; *out_whole: its bytes. */
static tn_status read_record(tn_zip *z, const uint8_t *p, uint64_t left, tn_zip_member *m,
                             uint64_t *out_whole) {
  const uint64_t at = (uint64_t)(p - z->data);
  if (left < CENTRAL_BYTES || memcmp(p, "PK\1\2", 4))
    return zip_fail(z, TN_ERR_INVALID, at, "the archive's directory is damaged");
  const uint64_t n_name = number(p + 28, 2), n_extra = number(p + 30, 2);
  *out_whole = CENTRAL_BYTES + n_name + n_extra + number(p + 32, 2);
  if (*out_whole > left)
    return zip_fail(z, TN_ERR_INVALID, at, "the archive's directory is cut off");
  const char *name = (const char *)p + CENTRAL_BYTES;
  if (!is_fit(name, n_name))
    return zip_fail(z, TN_ERR_INVALID, at,
                    "a member has a name that is none of a file in the archive");
  m->name = tn_arena_strn(z->arena, name, (int64_t)n_name);
  if (!m->name) return no_memory(z);
  if (number(p + 8, 2) & ENCRYPTED)
    return zip_fail(z, TN_ERR_UNSUPPORTED, at, "not supported: '%.100s' is encrypted", m->name);
  m->method = (uint16_t)number(p + 10, 2);
  m->crc = (uint32_t)number(p + 16, 4);
  m->packed = number(p + 20, 4);
  m->size = number(p + 24, 4);
  m->at = number(p + 42, 4);
  return read_large(z, p + CENTRAL_BYTES + n_name, n_extra, m);
}

/* m->at is where its local header stands, and becomes where its bytes do. */
static tn_status read_local(tn_zip *z, tn_zip_member *m, uint64_t end) {
  const uint64_t at = m->at;
  if (end < LOCAL_BYTES || at > end - LOCAL_BYTES || memcmp(z->data + at, "PK\3\4", 4))
    return zip_fail(z, TN_ERR_INVALID, at, "member '%.100s' has no header", m->name);
  const uint8_t *p = z->data + at;
  const uint64_t n_name = number(p + 26, 2), before = LOCAL_BYTES + n_name + number(p + 28, 2);
  if (before > end - at || m->packed > end - at - before)
    return zip_fail(z, TN_ERR_INVALID, at, "member '%.100s' of %llu bytes leaves the archive",
                    m->name, (unsigned long long)m->packed);
  const uint64_t packed = number(p + 18, 4), size = number(p + 22, 4);
  const bool behind = number(p + 6, 2) & DESCRIBED_BEHIND;
  const bool agrees = strlen(m->name) == n_name && !memcmp(p + LOCAL_BYTES, m->name, n_name) &&
                      number(p + 8, 2) == m->method &&
                      (packed == m->packed || packed == UINT32_MAX || (behind && !packed)) &&
                      (size == m->size || size == UINT32_MAX || (behind && !size));
  if (!agrees)
    return zip_fail(z, TN_ERR_INVALID, at,
                    "the header of member '%.100s' contradicts the directory", m->name);
  if (m->method == 0 && m->packed != m->size)
    return zip_fail(z, TN_ERR_INVALID, at, "member '%.100s' is stored in another size than it has",
                    m->name);
  m->at = at + before;
  return TN_OK;
}

typedef struct place {
  uint64_t from, to;
  const char *name;
} place;

static int by_place(const void *a, const void *b) {
  const place *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

static tn_status check_places(tn_zip *z, place *places) {
  qsort(places, z->n_members, sizeof *places, by_place);
  for (uint64_t k = 1; k < z->n_members; k++)
    if (places[k].from < places[k - 1].to)
      return zip_fail(z, TN_ERR_INVALID, places[k].from, "members '%.100s' and '%.100s' overlap",
                      places[k - 1].name, places[k].name);
  return TN_OK;
}

static tn_status read_members(tn_zip *z, const directory *d, place *places) {
  uint64_t at = d->at, whole = 0;
  for (uint64_t k = 0; k < z->n_members; k++, at += whole) {
    tn_zip_member *m = &z->members[k];
    tn_status s = read_record(z, z->data + at, d->at + d->size - at, m, &whole);
    if (s) return s;
    places[k].from = m->at;
    s = read_local(z, m, d->at);
    if (s) return s;
    places[k].to = m->at + m->packed;
    places[k].name = m->name;
    if (tn_map_get(&z->names, m->name, -1) >= 0)
      return zip_fail(z, TN_ERR_INVALID, at, "the archive has two members '%.100s'", m->name);
    if (tn_map_set(&z->names, m->name, (int64_t)k)) return no_memory(z);
  }
  return check_places(z, places);
}

tn_status tn_zip_open(tn_zip *zip, tn_arena *arena, const uint8_t *data, uint64_t size) {
  *zip = (tn_zip){.data = data, .size = size, .arena = arena};
  const uint64_t bounded = size > UINT64_MAX / 32 ? 0 : size;
  zip->room = (UINT64_C(64) << 20) + 16 * bounded;
  zip->parse_room = (UINT64_C(4) << 20) + 4 * bounded;
  tn_map_init_borrowing(&zip->names, arena->a);
  directory d;
  const tn_status s = find_directory(zip, &d);
  if (s) return s;
  zip->members = tn_arena_alloc(arena, (d.n + 1) * sizeof *zip->members);
  place *places = tn_alloc(arena->a, (d.n + 1) * sizeof *places);
  zip->n_members = d.n;
  const tn_status read = zip->members && places ? read_members(zip, &d, places) : no_memory(zip);
  tn_free(arena->a, places, (d.n + 1) * sizeof *places);
  return read;
}

void tn_zip_close(tn_zip *zip) { tn_map_free(&zip->names); }

tn_zip_member *tn_zip_find(const tn_zip *zip, const char *name) {
  const int64_t at = tn_map_get(&zip->names, name, -1);
  return at < 0 ? NULL : &zip->members[at];
}

/* ---- bytes ---- */

static tn_status inflate(tn_zip *z, tn_zip_member *m) {
  const uint64_t most = UINT64_C(1) << 30;
  if (m->size > most || m->size / 1032 > m->packed || m->size > z->room)
    return zip_fail(z, TN_ERR_OVERFLOW, m->at,
                    "member '%.100s' says that it has %llu bytes, packed into %llu", m->name,
                    (unsigned long long)m->size, (unsigned long long)m->packed);
  uint8_t *out = tn_arena_alloc(z->arena, m->size + 1);
  uint64_t at;
  if (!out) return no_memory(z);
  z->room -= m->size;
  const char *wrong = tn_inflate(z->data + m->at, m->packed, out, m->size, &at);
  if (wrong) return zip_fail(z, TN_ERR_INVALID, m->at + at, "member '%.100s' %s", m->name, wrong);
  m->bytes = out;
  return TN_OK;
}

tn_status tn_zip_bytes(tn_zip *zip, tn_zip_member *m, bool verify, const uint8_t **out) {
  if (m->method != 0 && m->method != 8)
    return zip_fail(zip, TN_ERR_UNSUPPORTED, m->at,
                    "not supported: '%.100s' is packed by method %u", m->name, (unsigned)m->method);
  if (m->method == 0) m->bytes = zip->data + m->at;
  const tn_status s = m->bytes ? TN_OK : inflate(zip, m);
  if (s) return s;
  if (!m->verified && (verify || m->method)) {
    if (tn_crc32(m->bytes, m->size) != m->crc) {
      m->bytes = NULL;
      return zip_fail(zip, TN_ERR_INVALID, m->at, "the check sum of member '%.100s' is wrong",
                      m->name);
    }
    m->verified = true;
  }
  *out = m->bytes;
  return TN_OK;
}

tn_status tn_zip_bytes_to_parse(tn_zip *zip, tn_zip_member *m, bool verify, const uint8_t **out) {
  if (m->size > zip->parse_room)
    return zip_fail(
        zip, TN_ERR_OVERFLOW, m->at,
        "member '%.100s' has %llu bytes, more than the %llu that are parsed of an archive "
        "of this size",
        m->name, (unsigned long long)m->size, (unsigned long long)zip->parse_room);
  zip->parse_room -= m->size;
  return tn_zip_bytes(zip, m, verify, out);
}
