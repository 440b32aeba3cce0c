/* External data: elements of tensors that stand in files next to the model. */
#include "reader.h"

typedef struct location {
  onnx_span file;
  int64_t offset, length; /* length -1: not said */
} location;

static tn_status parse_number(const onnx_reader *r, onnx_span text, const char *key, int64_t *out) {
  int64_t v = 0;
  bool ok = text.p < text.end;
  for (const uint8_t *p = text.p; ok && p < text.end; p++)
    ok = *p >= '0' && *p <= '9' && !tn_mul_i64(v, 10, &v) && !tn_add_i64(v, *p - '0', &v);
  *out = v;
  return ok ? TN_OK
            : onnx_fail(r, TN_ERR_INVALID, text.p, "external data: '%s' is not a number of bytes",
                        key);
}

static tn_status read_location(const onnx_reader *r, const onnx_tensor *t, location *out) {
  onnx_span rest = t->message, entry, key, text;
  onnx_field f;
  int32_t more;
  *out = (location){{NULL, NULL}, 0, -1};
  while ((more = onnx_next(r, &rest, &f)) > 0) {
    if (f.number != 13) continue; /* external_data */
    tn_status s = onnx_bytes(r, &f, &entry);
    if (!s) s = onnx_entry_read(r, entry, &key, &text);
    if (!s && onnx_is(key, "location"))
      out->file = text;
    else if (!s && onnx_is(key, "offset"))
      s = parse_number(r, text, "offset", &out->offset);
    else if (!s && onnx_is(key, "length"))
      s = parse_number(r, text, "length", &out->length);
    if (s) return s;
  }
  if (more < 0) return more;
  int64_t n = onnx_size(out->file);
  if (n && !memchr(out->file.p, 0, (size_t)n)) return TN_OK;
  return onnx_fail(r, TN_ERR_INVALID, t->at,
                   "external data: the file's name is missing or contains a zero byte");
}

/* Maps the file, unless it is the one that was mapped last. */
static tn_status open_file(onnx_reader *r, const onnx_tensor *t, onnx_span name) {
  if (r->sibling_name.p && onnx_same(name, r->sibling_name)) return TN_OK;
  const tn_source *source = r->source;
  int shown = (int)tn_min_i64(onnx_size(name), 200);
  if (!source->open_sibling)
    return onnx_fail(r, TN_ERR_NOT_FOUND, t->at,
                     "external data: file '%.*s' cannot be opened: the model has no folder", shown,
                     (const char *)name.p);
  tn_arena arena;
  tn_arena_init(&arena, &r->allocator);
  const char *path = onnx_str(&arena, name);
  const uint8_t *data = NULL;
  uint64_t size = 0;
  tn_status s = path ? source->open_sibling(source->ctx, path, &data, &size) : onnx_no_memory(r);
  tn_arena_clear(&arena);
  if (s)
    return onnx_fail(r, s, t->at, "external data: file '%.*s' cannot be used", shown,
                     (const char *)name.p);
  r->sibling_name = name;
  r->sibling = (onnx_span){data, data + size};
  return TN_OK;
}

tn_status onnx_external_data(onnx_reader *r, const onnx_tensor *t, int64_t bytes, onnx_span *out) {
  location at;
  tn_status s = read_location(r, t, &at);
  if (!s) s = open_file(r, t, at.file);
  if (s) return s;
  int64_t size = onnx_size(r->sibling), length = at.length < 0 ? bytes : at.length;
  if (at.offset > size || length > size - at.offset)
    return onnx_fail(r, TN_ERR_INVALID, t->at,
                     "external data: %lld bytes from byte %lld on do not fit into the file's %lld",
                     (long long)length, (long long)at.offset, (long long)size);
  *out = (onnx_span){r->sibling.p + at.offset, r->sibling.p + at.offset + length};
  return TN_OK;
}
