/* Weights beside the program: a file of tensors by name (.ptd), "net.ptd" in the folder of
 * "net.pte", or as ExecuTorch calls it if nobody says otherwise. */
#include <stdio.h>

#include "reader.h"

enum { FIELD_VERSION, FIELD_SEGMENTS, FIELD_NAMED }; /* of FlatTensor */

#define TYPE(id, title, ...)                                    \
  static const char *const id##_fields[] = {__VA_ARGS__, NULL}; \
  static const tn_flat_type id##_type = {title, id##_fields}

TYPE(file, "FlatTensor", "version", "segments", "named_data");

static tn_status status_of(const pte_reader *r) {
  const pte_beside *b = &r->beside;
  if (!b->flat.status) return TN_OK;
  return pte_fail(r, b->flat.status, 0, "%s: %s, at byte %llu", b->path, b->flat.text,
                  (unsigned long long)b->flat.at);
}

/* ---- which file ---- */

static const char *name_like_program(pte_reader *r) {
  const char *path = r->source->path, *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  return tn_arena_format(&r->arena, "%.*s.ptd", (int)(dot ? dot - base : (long)strlen(base)), base);
}

static bool open_file(pte_reader *r, const char *name) {
  pte_beside *b = &r->beside;
  const tn_source *s = r->source;
  b->path = name;
  return !s->open_sibling(s->ctx, name, &b->data, &b->size);
}

/* Behind the identifier: "FH01", its own length, where the FlatBuffer is, where segments begin. */
static tn_status read_head(pte_reader *r) {
  enum { AT = 8, LENGTH = 40, BASE = 24 };
  pte_beside *b = &r->beside;
  if (!tn_flat_is(b->data, b->size, "FT01") || b->size < AT + LENGTH ||
      memcmp(b->data + AT, "FH01", 4))
    return pte_fail(r, TN_ERR_INVALID, 0, "%s: it is no file of tensors (.ptd)", b->path);
  b->segment_base = pte_number(b->data + AT + BASE, 8);
  tn_flat_open(&b->flat, b->data, b->size);
  const tn_flat_table t = tn_flat_root(&b->flat, &file_type);
  b->segments = tn_flat_vec(&t, FIELD_SEGMENTS, 4);
  b->named = tn_flat_vec(&t, FIELD_NAMED, 4);
  const tn_status s = status_of(r);
  if (s || !tn_flat_uint(&t, FIELD_VERSION, 4, 0)) return s;
  return pte_fail(r, TN_ERR_VERSION, 0, "%s: it is of another version than 0", b->path);
}

static tn_status open_beside(pte_reader *r, tn_str key) {
  const tn_source *s = r->source;
  if (r->beside.data) return TN_OK;
  const char *name = s->path && s->open_sibling ? name_like_program(r) : "model.ptd";
  if (!name) return pte_no_memory(r);
  if (s->path && s->open_sibling &&
      (open_file(r, name) || open_file(r, "_default_external_constant.ptd")))
    return read_head(r);
  return pte_fail(r, TN_ERR_NOT_FOUND, r->at,
                  "needs '%.*s', which is in another file, and there is no %s beside the program",
                  (int)(key.size < 80 ? key.size : 80), key.data, name);
}

/* ---- what it holds ---- */

static tn_status segment(const pte_reader *r, uint64_t index, pte_span *out) {
  const pte_beside *b = &r->beside;
  const tn_flat_table t = tn_flat_item(&b->segments, index, &pte_segment_type);
  const uint64_t offset = (uint64_t)tn_flat_uint(&t, SEGMENT_OFFSET, 8, 0),
                 size = (uint64_t)tn_flat_uint(&t, SEGMENT_SIZE, 8, 0), all = b->size;
  const tn_status s = status_of(r);
  if (s) return s;
  if (index >= b->segments.n || b->segment_base > all || offset > all - b->segment_base ||
      size > all - b->segment_base - offset)
    return pte_fail(r, TN_ERR_INVALID, 0, "%s: segment %llu is not in the file", b->path,
                    (unsigned long long)index);
  *out = (pte_span){b->data + b->segment_base + offset, size};
  return TN_OK;
}

tn_status pte_beside_find(pte_reader *r, tn_str key, pte_span *out) {
  tn_status s = open_beside(r, key);
  for (uint64_t k = 0; !s && k < r->beside.named.n; k++) {
    const tn_flat_table t = tn_flat_item(&r->beside.named, k, &pte_named_type);
    const tn_str name = tn_flat_text(&t, NAMED_KEY);
    s = status_of(r);
    if (!s && name.size == key.size && !memcmp(name.data, key.data, (size_t)key.size))
      return segment(r, (uint64_t)tn_flat_uint(&t, NAMED_SEGMENT, 4, 0), out);
  }
  if (s) return s;
  return pte_fail(r, TN_ERR_NOT_FOUND, r->at, "needs '%.*s', which is not in %s",
                  (int)(key.size < 80 ? key.size : 80), key.data, r->beside.path);
}
