/* MapProto as a list of two: a tensor of the keys, and a tensor of the values if all of them are
 * single numbers or strings of one type (what ZipMap and the like give), else a sequence of them.
 */
#include "value.h"

typedef struct map {
  onnx_span message, name, values;
  int64_t key_type, n_strings;
} map;

static tn_status open_map(const value_reader *v, onnx_span message, map *m) {
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  *m = (map){.message = message};
  while (!s && (more = onnx_next(&v->r, &message, &f)) != 0) {
    if (more < 0) return more;
    switch (f.number) {
      case 1: s = onnx_text(&v->r, &f, &m->name); break;    /* name */
      case 2: s = onnx_int(&v->r, &f, &m->key_type); break; /* key_type */
      case 4: m->n_strings++; break;                        /* string_keys */
      case 5: s = onnx_bytes(&v->r, &f, &m->values); break; /* values */
      default: break;
    }
  }
  return s;
}

/* ---- Keys ---- */

static tn_status string_keys(const value_reader *v, const map *m, tn_arena *arena, tn_tensor *out) {
  onnx_span rest = m->message, text;
  onnx_field f;
  tn_str *strs = tn_arena_alloc(arena, (uint64_t)m->n_strings * sizeof *strs);
  if (!strs) return onnx_no_memory(&v->r);
  *out = tn_tensor_make(TN_STRING, 1, &m->n_strings, strs);
  while (onnx_next(&v->r, &rest, &f) > 0) {
    if (f.number != 4) continue;
    tn_status s = onnx_bytes(&v->r, &f, &text);
    if (s) return s;
    *strs++ = onnx_as_str(text);
  }
  return TN_OK;
}

/* They stand as int64 whatever integer type they have. */
static tn_status integer_keys(const value_reader *v, const map *m, uint32_t dtype, tn_arena *arena,
                              tn_tensor *out) {
  const uint32_t width = tn_dtype(dtype)->bits / 8;
  int64_t n;
  if (!tn_dtype(dtype)->is_int || width == 0)
    return onnx_fail(&v->r, TN_ERR_INVALID, m->message.p, "keys of a map cannot be %s",
                     tn_dtype(dtype)->name);
  tn_status s = onnx_count(&v->r, m->message, 3, ONNX_VARINT, &n); /* keys */
  if (s) return s;
  void *keys = tn_arena_alloc(arena, (uint64_t)n * width);
  if (!keys) return onnx_no_memory(&v->r);
  *out = tn_tensor_make(dtype, 1, &n, keys);
  return onnx_gather(&v->r, m->message, 3, ONNX_VARINT, width, keys);
}

static tn_status read_keys(const value_reader *v, const map *m, tn_arena *arena, tn_tensor *out) {
  uint32_t dtype;
  tn_status s = onnx_need_dtype(&v->r, m->key_type, m->message.p, &dtype);
  if (s) return s;
  return dtype == TN_STRING ? string_keys(v, m, arena, out) : integer_keys(v, m, dtype, arena, out);
}

/* ---- Values ---- */

/* Puts the values one after the other into *out; *out_done false: they are no single elements of
 * one type. */
static tn_status join_values(value_reader *v, const map *m, uint32_t dtype, int64_t n,
                             tn_arena *arena, tn_tensor *out, bool *out_done) {
  const int64_t width = tn_dtype(dtype)->bits / 8;
  onnx_span rest = m->values, part;
  onnx_field f;
  int32_t more;
  int64_t at = 0;
  *out_done = false;
  if (width == 0) return TN_OK;
  char *data = tn_arena_alloc(arena, (uint64_t)(n * width));
  if (!data) return onnx_no_memory(&v->r);
  while ((more = onnx_next(&v->r, &rest, &f)) > 0) {
    tn_tensor one;
    if (f.number < 3 || f.number > 7) continue;
    if (f.number != 3 || at == n) return TN_OK;
    tn_status s = onnx_bytes(&v->r, &f, &part);
    if (!s) s = onnx_tensor_read(&v->r, part, arena, &one, NULL);
    if (s) return s;
    if (one.dtype != dtype || tn_elements(&one) != 1) return TN_OK;
    memcpy(data + at++ * width, one.data, (size_t)width);
  }
  *out = tn_tensor_make(dtype, 1, &n, data);
  *out_done = at == n;
  return more;
}

static tn_status give_contents(value_reader *v, const map *m, const tn_tensor *type,
                               tn_tensor *keys, tn_arena *arena, int32_t depth) {
  tn_tensor joined;
  bool done = false;
  const onnx_span no_name = {NULL, NULL};
  tn_status s = onnx_give_tensor(v, arena, no_name, keys);
  if (!s && keys->shape[0] > 0)
    s = join_values(v, m, type->dtype, keys->shape[0], arena, &joined, &done);
  if (s) return s;
  return done ? onnx_give_tensor(v, arena, no_name, &joined)
              : onnx_give_list(v, m->values, TN_KIND_SEQUENCE, depth + 1);
}

tn_status onnx_give_map(value_reader *v, onnx_span message, int32_t depth) {
  map m;
  tn_tensor type, keys;
  tn_arena arena;
  tn_status s = onnx_list_type(v, message, TN_KIND_MAP, depth, &type);
  if (!s) s = open_map(v, message, &m);
  if (s) return s;
  tn_arena_init(&arena, &v->r.allocator);
  s = read_keys(v, &m, &arena, &keys);
  const char *name = s ? NULL : onnx_str(&arena, m.name);
  if (!s) s = name ? v->out->begin(v->out->ctx, name, &type) : onnx_no_memory(&v->r);
  if (!s) s = give_contents(v, &m, &type, &keys, &arena, depth);
  tn_arena_clear(&arena);
  return s ? s : v->out->end(v->out->ctx);
}
