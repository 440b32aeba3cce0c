/* Checkpoints: variables.index, a sorted table in the form of LevelDB, says in which shard and
 * where each tensor lies; the shards are bare bytes, which are mapped. */
#include <stdio.h>

#include "reader.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/text.h"

enum { FOOTER = 48, TRAILER = 5 };

static tn_status damaged(const tn_proto_file *f, const uint8_t *at, const char *what) {
  return tn_proto_fail(f, TN_ERR_INVALID, (uint64_t)(at - f->data), "%s", what);
}

/* ---- blocks ---- */

static uint32_t u32(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Castagnoli's polynomial, a byte at a time: indices are small. */
static uint32_t crc32c(const uint8_t *p, uint64_t n) {
  uint32_t crc = UINT32_MAX;
  for (uint64_t k = 0; k < n; k++) {
    crc ^= p[k];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
  }
  return ~crc;
}

static bool take_handle(tn_proto_span *s, uint64_t *offset, uint64_t *size) {
  return tn_proto_varint(s, offset) && tn_proto_varint(s, size);
}

/* Entries of a block that are left, and what messages about them count bytes of: the index, or what
 * a compressed block of it has become. */
typedef struct block {
  const tn_proto_file *file;
  tn_proto_span rest;
} block;

static tn_status unpack(tf_reader *r, tn_proto_span packed, block *out) {
  tn_proto_file *f = tn_arena_alloc(&r->arena, sizeof *f);
  if (!f) return tf_no_memory(r);
  *f = r->index;
  f->path = tn_arena_format(&r->arena, "%s, unpacked from byte %llu on", r->index.path,
                            (unsigned long long)(packed.p - r->index.data));
  const tn_status s = tf_snappy_unpack(&r->arena, packed, &out->rest);
  if (!f->path || s == TN_ERR_MEMORY) return tf_no_memory(r);
  if (s) return damaged(&r->index, packed.p, "a block's compressed bytes (Snappy) are damaged");
  f->data = out->rest.p;
  f->size = (uint64_t)(out->rest.end - out->rest.p);
  out->file = f;
  return TN_OK;
}

/* Takes the restart points, and their number, off the end. */
static tn_status drop_restarts(block *b) {
  const uint64_t size = (uint64_t)(b->rest.end - b->rest.p);
  if (size < 4) return damaged(b->file, b->rest.p, "a block is too short");
  const uint64_t restarts = u32(b->rest.end - 4);
  if (restarts > (size - 4) / 4)
    return damaged(b->file, b->rest.p, "a block has too many restart points");
  b->rest.end -= 4 + 4 * restarts;
  return TN_OK;
}

/* The entries of the block that a handle, which stands in `in`, names. */
static tn_status open_block(tf_reader *r, const tn_proto_file *in, tn_proto_span *handle,
                            block *out) {
  const tn_proto_file *f = &r->index;
  uint64_t offset, size;
  const uint8_t *at = handle->p;
  if (!take_handle(handle, &offset, &size) || offset > f->size || f->size - offset < TRAILER ||
      size > f->size - offset - TRAILER)
    return damaged(in, at, "a block of the index lies outside of it");
  if (size > f->size - r->block_bytes)
    return damaged(in, at, "blocks of the index are listed more than once");
  r->block_bytes += size;
  const uint8_t *data = f->data + offset;
  if (data[size] > 1)
    return tn_proto_fail(f, TN_ERR_UNSUPPORTED, offset + size,
                         "not supported: blocks compressed by method %u", data[size]);
  const uint32_t rotated = u32(data + size + 1) - UINT32_C(0xa282ead8),
                 stored = rotated >> 17 | rotated << 15;
  if (crc32c(data, size + 1) != stored) return damaged(f, data, "the sum of a block is wrong");
  *out = (block){f, {data, data + size}};
  const tn_status s = data[size] ? unpack(r, out->rest, out) : TN_OK;
  return s ? s : drop_restarts(out);
}

typedef struct entry {
  char *key; /* in a buffer that keeps the last key */
  uint64_t size;
  tn_proto_span value;
} entry;

enum { MAX_KEY = 4096 };

/* The next entry: its key begins as the last one does. */
static tn_status next_entry(block *b, entry *e) {
  uint64_t shared, more, bytes;
  tn_proto_span *rest = &b->rest;
  const uint8_t *at = rest->p;
  if (!tn_proto_varint(rest, &shared) || !tn_proto_varint(rest, &more) ||
      !tn_proto_varint(rest, &bytes) || shared > e->size || more > MAX_KEY - 1 - shared)
    return damaged(b->file, at, "an entry of the index is damaged");
  const uint64_t left = (uint64_t)(rest->end - rest->p);
  if (more > left || bytes > left - more) return damaged(b->file, at, "an entry leaves its block");
  if (shared < e->size && more && e->size && shared + 1 <= e->size &&
      (uint8_t)e->key[shared] > rest->p[0])
    return damaged(b->file, at, "the keys of the index are not in order");
  memcpy(e->key + shared, rest->p, (size_t)more);
  e->size = shared + more;
  e->key[e->size] = 0;
  e->value = (tn_proto_span){rest->p + more, rest->p + more + bytes};
  rest->p = e->value.end;
  return TN_OK;
}

static tn_status note(tf_reader *r, const tn_proto_file *file, const entry *e) {
  const char *key = tn_arena_strn(&r->arena, e->key, (int64_t)e->size);
  if (!key) return tf_no_memory(r);
  if (tn_map_set(&r->saved, key, r->saved_list.n)) return tf_no_memory(r);
  const tf_saved saved = {key, e->value, file};
  return tn_vec_push(&r->allocator, &r->saved_list, saved) ? tf_no_memory(r) : TN_OK;
}

static tn_status read_block(tf_reader *r, const tn_proto_file *in, tn_proto_span *handle) {
  char key[MAX_KEY] = {0};
  entry e = {.key = key};
  block b;
  tn_status s = open_block(r, in, handle, &b);
  while (!s && b.rest.p < b.rest.end) {
    s = next_entry(&b, &e);
    if (!s) s = note(r, b.file, &e);
  }
  return s;
}

static tn_status read_header(tf_reader *r) {
  const int64_t at = tn_map_get(&r->saved, "", -1);
  tn_proto_message header;
  if (at < 0) return damaged(&r->index, r->index.data, "the index has no header");
  const tf_saved *saved = &r->saved_list.data[at];
  const tn_status s =
      tn_proto_read_span(saved->file, saved->bytes, &tensorflow_bundle_header_type, &header);
  if (s) return s;
  const int64_t shards = tn_proto_int(&header, "num_shards", 0);
  if (tn_proto_int(&header, "endianness", 0))
    return tn_proto_fail(&r->index, TN_ERR_UNSUPPORTED, 0, "not supported: big-endian tensors");
  if (shards < 1 || shards > 99999)
    return tn_proto_fail(&r->index, TN_ERR_INVALID, 0, "the index names %lld shards",
                         (long long)shards);
  r->n_shards = (int32_t)shards;
  return TN_OK;
}

tn_status tf_bundle_open(tf_reader *r) {
  const tn_source *source = r->source;
  tn_proto_file *f = &r->index;
  *f = (tn_proto_file){.source = source, .path = "variables/variables.index", .arena = &r->arena};
  if (!source->open_sibling)
    return tn_proto_fail(&r->file, TN_ERR_NOT_FOUND, 0,
                         "'%s' cannot be opened: the model has no "
                         "folder",
                         f->path);
  if (source->open_sibling(source->ctx, f->path, &f->data, &f->size)) {
    f->data = NULL;
    return tn_proto_fail(&r->file, TN_ERR_NOT_FOUND, 0, "'%s' cannot be opened", f->path);
  }
  static const uint8_t magic[] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
  if (f->size < FOOTER || memcmp(f->data + f->size - 8, magic, 8))
    return tn_proto_fail(f, TN_ERR_INVALID, 0, "this is no index of a checkpoint");
  tn_proto_span footer = {f->data + f->size - FOOTER, f->data + f->size - 8};
  block b;
  uint64_t offset, size;
  char key[MAX_KEY] = {0};
  entry e = {.key = key};
  if (!take_handle(&footer, &offset, &size)) return damaged(f, footer.p, "its end is damaged");
  tn_status s = open_block(r, f, &footer, &b);
  while (!s && b.rest.p < b.rest.end) {
    s = next_entry(&b, &e);
    tn_proto_span handle = e.value;
    if (!s) s = read_block(r, b.file, &handle);
  }
  return s ? s : read_header(r);
}

/* ---- tensors ---- */

/* Texts: their lengths, four bytes of a sum, then all of them. */
static tn_status read_texts(tf_reader *r, const tf_node *n, tn_proto_span bytes, tn_tensor *out) {
  const int64_t count = tn_elements(out);
  if (count > bytes.end - bytes.p)
    return tf_node_fail(r, n, TN_ERR_INVALID, "its texts are damaged");
  tn_str *strs = tn_arena_alloc(&r->arena, ((uint64_t)count + 1) * sizeof *strs);
  if (!strs) return tf_no_memory(r);
  uint64_t size, total = 4;
  for (int64_t k = 0; k < count; k++) {
    if (!tn_proto_varint(&bytes, &size) || size > (uint64_t)(bytes.end - bytes.p))
      return tf_node_fail(r, n, TN_ERR_INVALID, "its texts are damaged");
    strs[k].size = (int64_t)size;
    total += size;
  }
  if (total != (uint64_t)(bytes.end - bytes.p))
    return tf_node_fail(r, n, TN_ERR_INVALID, "its texts are damaged");
  const char *p = (const char *)bytes.p + 4;
  for (int64_t k = 0; k < count; k++) strs[k].data = p, p += strs[k].size;
  out->data = strs;
  return TN_OK;
}

static tn_status read_elements(tf_reader *r, const tf_node *n, const tn_proto_message *m,
                               const char *key, tn_tensor *out) {
  const int64_t shard = tn_proto_int(m, "shard_id", 0), offset = tn_proto_int(m, "offset", 0),
                size = tn_proto_int(m, "size", 0);
  if (shard < 0 || shard >= r->n_shards)
    return tf_node_fail(r, n, TN_ERR_INVALID, "'%.120s' lies in shard %lld of %d", key,
                        (long long)shard, r->n_shards);
  char path[64];
  const uint8_t *data;
  uint64_t bytes;
  snprintf(path, sizeof path, "variables/variables.data-%05d-of-%05d", (int)shard, r->n_shards);
  if (r->source->open_sibling(r->source->ctx, path, &data, &bytes))
    return tf_node_fail(r, n, TN_ERR_NOT_FOUND, "'%s' cannot be opened", path);
  if (offset < 0 || size < 0 || (uint64_t)offset > bytes ||
      (uint64_t)size > bytes - (uint64_t)offset)
    return tf_node_fail(r, n, TN_ERR_INVALID,
                        "'%.120s', %lld bytes from byte %lld on, leaves %s, which has %llu", key,
                        (long long)size, (long long)offset, path, (unsigned long long)bytes);
  const tn_proto_span span = {data + offset, data + offset + size};
  if (out->dtype == TN_STRING) return read_texts(r, n, span, out);
  if (size != tn_tensor_bytes(out))
    return tf_node_fail(r, n, TN_ERR_INVALID, "'%.120s' has %lld bytes where its shape needs %lld",
                        key, (long long)size, (long long)tn_tensor_bytes(out));
  union {
    const uint8_t *in;
    void *out;
  } cast = {span.p};
  out->data = cast.out;
  return TN_OK;
}

tn_status tf_bundle_get(tf_reader *r, const char *key, const tf_node *n, tn_tensor *out) {
  const int64_t at = *key ? tn_map_get(&r->saved, key, -1) : -1;
  tn_proto_message m;
  if (at < 0)
    return tf_node_fail(r, n, TN_ERR_NOT_FOUND, "'%.120s' is not in %s", key, r->index.path);
  const tf_saved *saved = &r->saved_list.data[at];
  tn_status s = tn_proto_read_span(saved->file, saved->bytes, &tensorflow_bundle_entry_type, &m);
  if (s) return s;
  if (tn_proto_count(&m, "slices"))
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "not supported: '%.120s' is kept in parts", key);
  tn_tensor t = {.head = TN_HEAD(tn_tensor)};
  const tn_proto_message *shape = tn_proto_sub(&m, "shape");
  s = tf_shape(r, shape, &t);
  if (!shape) t.rank = 0;
  const uint32_t dtype = tf_dtype(tn_proto_int(&m, "dtype", 0));
  int64_t count;
  if (!s && (dtype == TN_NONE || t.rank < 0 || tn_dims_product(t.shape, t.rank, &count)))
    s = tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "not supported: '%.120s' is no plain tensor", key);
  if (s) return s;
  *out = tn_tensor_make(dtype, t.rank, t.shape, NULL);
  return read_elements(r, n, &m, key, out);
}
