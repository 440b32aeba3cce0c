/* Weights, buffers and constants: members of the archive, or pickles of earlier versions. */
#include <stdio.h>
#include <string.h>

#include "reader.h"
#include "tenon/kit/tensor.h"

/* PyTorch's export numbers its dtypes in a way of its own. */
uint32_t pt2_dtype(int64_t number) {
  static const uint32_t dtypes[] = {TN_NONE, TN_U8,  TN_I8,   TN_I16, TN_I32,  TN_I64,  TN_F16,
                                    TN_F32,  TN_F64, TN_NONE, TN_C64, TN_C128, TN_BOOL, TN_BF16};
  const int64_t n = sizeof dtypes / sizeof *dtypes;
  if (number == 28) return TN_U16;
  if (number == 29) return TN_F8E4M3FN;
  if (number == 30) return TN_F8E5M2;
  return number >= 0 && number < n ? dtypes[number] : TN_NONE;
}

static int64_t dim_of(const json_value *v) { return json_int(v, "as_int", TN_DIM_UNKNOWN); }

tn_status pt2_type(pt2_reader *r, const json_value *meta, tn_tensor *out) {
  const json_value *sizes = json_list(meta, "sizes");
  *out = tn_tensor_make(pt2_dtype(json_int(meta, "dtype", 0)), 0, NULL, NULL);
  if (!sizes || sizes->n > TN_MAX_RANK)
    return pt2_fail(r, TN_ERR_UNSUPPORTED, "not supported: a tensor without sizes, or of %d dims",
                    sizes ? (int)sizes->n : 0);
  if (out->dtype == TN_NONE)
    return pt2_fail(r, TN_ERR_UNSUPPORTED, "not supported: dtype %lld of torch.export",
                    (long long)json_int(meta, "dtype", 0));
  for (const json_value *v = sizes->first; v; v = v->next) out->shape[out->rank++] = dim_of(v);
  return TN_OK;
}

/* ---- what there is ---- */

static tn_status note(pt2_reader *r, tn_map *map, const char *name, pt2_payload p) {
  if (tn_vec_push(&r->allocator, &r->payloads, p) || tn_map_set(map, name, r->payloads.n - 1))
    return pt2_no_memory(r);
  return TN_OK;
}

static tn_status read_json(pt2_reader *r, const char *member, json_value **out) {
  json_reader reader;
  const uint8_t *bytes;
  tn_zip_member *m = tn_zip_find(&r->zip, member);
  *out = NULL;
  if (!m) return TN_OK;
  r->member = m->name;
  tn_status s = tn_zip_bytes_to_parse(&r->zip, m, false, &bytes);
  if (s) return pt2_fail(r, s, "%s", r->zip.message);
  s = json_read(&reader, &r->arena, bytes, m->size, out);
  return s ? pt2_fail(r, s, "%s", reader.message) : TN_OK;
}

/* The only member of the folder whose name ends so: models may have any name. */
static const char *find_config(const pt2_reader *r, const char *folder, const char *end) {
  const size_t n = strlen(folder), m = strlen(end);
  for (uint64_t k = 0; k < r->zip.n_members; k++) {
    const char *name = r->zip.members[k].name;
    const size_t size = strlen(name);
    if (size >= n + m && !strncmp(name, folder, n) && !strcmp(name + size - m, end)) return name;
  }
  return NULL;
}

static tn_status open_config(pt2_reader *r, const char *sub, const char *end, tn_map *map) {
  json_value *root;
  const char *folder = tn_arena_format(&r->arena, "%s%s", r->top, sub);
  if (!folder) return pt2_no_memory(r);
  const char *config = find_config(r, folder, end);
  if (!config) return TN_OK;
  tn_status s = read_json(r, config, &root);
  const json_value *entries = s ? NULL : json_object(root, "config");
  for (const json_value *e = entries ? entries->first : NULL; e && !s; e = e->next)
    s = note(r, map, e->key.data, (pt2_payload){.entry = e, .folder = folder});
  return s;
}

/* A dict of tensors in an archive of its own, inside of the archive. */
static tn_status open_pickle(pt2_reader *r, const char *member, tn_map *map) {
  const uint8_t *bytes, *inner;
  torch_pickled *root;
  tn_zip_member *m = tn_zip_find(&r->zip, member);
  if (!m || !m->size) return TN_OK;
  r->member = m->name;
  tn_status s = tn_zip_bytes(&r->zip, m, false, &bytes);
  if (s) return pt2_fail(r, s, "%s", r->zip.message);
  tn_zip *zip = &r->inner[r->n_inner];
  torch_pickle *p = &r->pickles[r->n_inner++];
  s = tn_zip_open(zip, &r->arena, bytes, m->size);
  if (s) return pt2_fail(r, s, "%s", zip->message);
  zip->room = r->zip.room; /* it may itself be inflated: what counts is the file */
  zip->parse_room = r->zip.parse_room;
  const char *data = NULL;
  for (uint64_t k = 0; k < zip->n_members && !data; k++) {
    const char *name = zip->members[k].name, *slash = strchr(name, '/');
    if (slash && !strcmp(slash, "/data.pkl")) data = name;
  }
  if (!data) return pt2_fail(r, TN_ERR_INVALID, "it has no data.pkl");
  s = tn_zip_bytes_to_parse(zip, tn_zip_find(zip, data), false, &inner);
  if (s) return pt2_fail(r, s, "%s", zip->message);
  p->zip = zip;
  p->arena = &r->arena;
  p->member = data;
  p->folder = tn_arena_format(&r->arena, "%.*sdata/", (int)(strchr(data, '/') - data + 1), data);
  if (!p->folder) return pt2_no_memory(r);
  s = torch_pickle_read(p, inner, tn_zip_find(zip, data)->size, &root);
  if (s) return pt2_fail(r, s, "%s", p->message);
  r->zip.room = zip->room;
  r->zip.parse_room = zip->parse_room;
  const torch_pickled *dict = root->kind == PICKLED_OBJECT && root->n ? root->items[0] : root;
  for (int64_t k = 0; dict->kind == PICKLED_DICT && k + 1 < dict->n && !s; k += 2)
    if (dict->items[k]->kind == PICKLED_STR && dict->items[k + 1]->kind == PICKLED_TENSOR)
      s = note(r, map, dict->items[k]->text, (pt2_payload){.tensor = dict->items[k + 1]});
  return s;
}

tn_status pt2_open_payloads(pt2_reader *r) {
  if (r->is_old) {
    tn_status s = open_pickle(r, "serialized_state_dict.pt", &r->weights);
    return s ? s : open_pickle(r, "serialized_constants.pt", &r->constants);
  }
  tn_status s = open_config(r, "data/weights/", "_weights_config.json", &r->weights);
  return s ? s : open_config(r, "data/constants/", "_constants_config.json", &r->constants);
}

/* ---- one of them ---- */

static tn_status set_const(pt2_reader *r, const char *name, const char *value,
                           const torch_tensor *t, int32_t *out) {
  torch_tensor view = *t;
  tn_tensor c = tn_tensor_make(t->dtype, t->rank, t->shape, NULL);
  const int64_t bytes = tn_bytes(&c);
  const bool dense = torch_tensor_is_dense(t);
  if (bytes < 0) return pt2_fail(r, TN_ERR_OVERFLOW, "the tensor '%.80s' is too large", name);
  uint8_t *copy = dense ? NULL : tn_arena_alloc(&r->arena, (uint64_t)bytes + 1);
  if (!dense && !copy) return pt2_no_memory(r);
  if (!dense) torch_tensor_copy(&view, copy);
  union {
    const uint8_t *in;
    void *out;
  } data = {copy};
  if (dense && bytes) data.in = t->storage->data + t->offset * tn_dtype_bytes(t->dtype, 1);
  c.data = bytes ? data.out : NULL;
  if (tn_map_set(&r->taken, value, 1)) return pt2_no_memory(r);
  *out = r->api->value(r->g, value);
  const tn_status s = *out < 0 ? *out : r->api->value_set_const(r->g, *out, &c, !dense);
  return s ? pt2_graph_fail(r, s, "it cannot be a constant") : TN_OK;
}

/* Do all elements lie in the bytes? */
static tn_status check(pt2_reader *r, const char *name, const torch_tensor *t) {
  int64_t last = t->offset, reach, end;
  bool none = false, bad = t->offset < 0;
  for (int32_t k = 0; k < t->rank && !bad; k++) {
    none |= t->shape[k] == 0;
    bad = t->shape[k] < 0 || t->strides[k] < 0 ||
          (t->shape[k] &&
           (tn_mul_i64(t->shape[k] - 1, t->strides[k], &reach) || tn_add_i64(last, reach, &last)));
  }
  if (!bad && !none)
    bad = tn_add_i64(last, 1, &end) || tn_mul_i64(end, tn_dtype_bytes(t->dtype, 1), &end) ||
          (uint64_t)end > t->storage->bytes;
  if (!bad) return TN_OK;
  return pt2_fail(r, TN_ERR_INVALID, "the tensor '%.80s' reaches beyond its %llu bytes", name,
                  (unsigned long long)t->storage->bytes);
}

static tn_status from_member(pt2_reader *r, const pt2_payload *p, const char *name,
                             const char *value, int32_t *out) {
  const json_value *meta = json_object(p->entry, "tensor_meta"), *strides;
  const char *path = json_text(p->entry, "path_name");
  const char *full = path ? tn_arena_format(&r->arena, "%s%s", p->folder, path) : NULL;
  tn_zip_member *m = full ? tn_zip_find(&r->zip, full) : NULL;
  torch_storage storage = {0};
  torch_tensor t = {.storage = &storage};
  tn_tensor type;
  if (!m) return pt2_fail(r, TN_ERR_INVALID, "there is no member for the tensor '%.80s'", name);
  if (json_int(p->entry, "use_pickle", 0))
    return pt2_fail(r, TN_ERR_UNSUPPORTED, "not supported: the tensor '%.80s' is pickled", name);
  tn_status s = pt2_type(r, meta, &type);
  if (!s) s = tn_zip_bytes(&r->zip, m, false, &storage.data);
  if (s) return *r->zip.message ? pt2_fail(r, s, "%s", r->zip.message) : s;
  storage.bytes = m->size;
  t.dtype = type.dtype;
  t.rank = type.rank;
  memcpy(t.shape, type.shape, sizeof t.shape);
  strides = json_list(meta, "strides");
  if (!strides || strides->n != (uint32_t)t.rank)
    return pt2_fail(r, TN_ERR_INVALID, "the tensor '%.80s' has wrong strides", name);
  int32_t k = 0;
  for (const json_value *v = strides->first; v; v = v->next) t.strides[k++] = dim_of(v);
  t.offset = dim_of(json_object(meta, "storage_offset"));
  s = check(r, name, &t);
  return s ? s : set_const(r, name, value, &t, out);
}

tn_status pt2_constant(pt2_reader *r, const tn_map *of, const char *name, const char *value,
                       int32_t *out) {
  const int64_t k = tn_map_get(of, name, -1);
  if (k < 0) return pt2_fail(r, TN_ERR_INVALID, "the archive has no tensor '%.80s'", name);
  const pt2_payload p = r->payloads.data[k];
  if (p.entry) return from_member(r, &p, name, value, out);
  if (p.tensor->tensor->is_quantised)
    return pt2_fail(r, TN_ERR_UNSUPPORTED, "not supported: the tensor '%.80s' is quantised", name);
  return set_const(r, name, value, p.tensor->tensor, out);
}
