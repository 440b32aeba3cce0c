/* The names of Python that pickles may hold, and what stands for what they would make: tensors, as
 * views of storages, which are members of the archive. */
#include <stdio.h>
#include <string.h>

#include "pickle.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"

/* ---- names ---- */

typedef struct storage_name {
  const char *name;
  uint32_t dtype;
  bool is_quantised;
} storage_name;

static const storage_name storages[] = {
    {"torch FloatStorage", TN_F32, false},        {"torch DoubleStorage", TN_F64, false},
    {"torch HalfStorage", TN_F16, false},         {"torch BFloat16Storage", TN_BF16, false},
    {"torch LongStorage", TN_I64, false},         {"torch IntStorage", TN_I32, false},
    {"torch ShortStorage", TN_I16, false},        {"torch CharStorage", TN_I8, false},
    {"torch ByteStorage", TN_U8, false},          {"torch BoolStorage", TN_BOOL, false},
    {"torch ComplexFloatStorage", TN_C64, false}, {"torch ComplexDoubleStorage", TN_C128, false},
    {"torch QInt8Storage", TN_I8, true},          {"torch QUInt8Storage", TN_U8, true},
    {"torch QInt32Storage", TN_I32, true},
};

typedef tn_status maker(torch_pickle *p, torch_pickled *args, torch_pickled **out);

static maker make_tensor, make_qtensor, make_parameter, make_sparse, make_first, make_dict,
    make_complex, make_device;

typedef struct callable {
  const char *name;
  maker *make; /* NULL: it is named, and not called */
} callable;

static const callable callables[] = {
    {"torch._utils _rebuild_tensor_v2", make_tensor},
    {"torch._utils _rebuild_qtensor", make_qtensor},
    {"torch._utils _rebuild_parameter", make_parameter},
    {"torch._utils _rebuild_sparse_tensor", make_sparse},
    {"torch device", make_device},
    {"torch Size", make_first},
    {"torch per_tensor_affine", NULL},
    {"torch per_channel_affine", NULL},
    {"torch per_channel_affine_float_qparams", NULL},
    {"collections OrderedDict", make_dict},
    {"builtins complex", make_complex},
    {"torch.jit._pickle build_intlist", make_first},
    {"torch.jit._pickle build_tensorlist", make_first},
    {"torch.jit._pickle build_doublelist", make_first},
    {"torch.jit._pickle build_boollist", make_first},
    {"torch.jit._pickle restore_type_tag", make_first},
};

static const storage_name *find_storage(const char *name) {
  for (size_t k = 0; k < sizeof storages / sizeof *storages; k++)
    if (!strcmp(storages[k].name, name)) return &storages[k];
  return NULL;
}

static const callable *find_callable(const char *name) {
  for (size_t k = 0; k < sizeof callables / sizeof *callables; k++)
    if (!strcmp(callables[k].name, name)) return &callables[k];
  return NULL;
}

bool torch_pickle_knows(const char *name) {
  return !strncmp(name, "__torch__.", 10) || !strncmp(name, "__torch__ ", 10) ||
         find_storage(name) || find_callable(name);
}

tn_status torch_pickle_reduce(torch_pickle *p, const torch_pickled *name, torch_pickled *args,
                              torch_pickled **out) {
  const callable *c = find_callable(name->text);
  if (c && c->make) return c->make(p, args, out);
  return torch_pickle_fail(p, TN_ERR_UNSUPPORTED, name->at, "'%.200s' is called", name->text);
}

/* ---- storages ---- */

static bool is_kind(const torch_pickled *v, int64_t k, torch_pickled_kind kind) {
  return k < v->n && v->items[k]->kind == kind;
}

static tn_status storage_bytes(torch_pickle *p, const torch_pickled *id, torch_storage *s) {
  const char *name = tn_arena_format(p->arena, "%s%s", p->folder, s->key);
  if (!name) return torch_pickle_no_memory(p);
  tn_zip_member *m = tn_zip_find(p->zip, name);
  if (!m)
    return torch_pickle_fail(p, TN_ERR_INVALID, id->at, "the archive has no member '%.200s'", name);
  const tn_status status = tn_zip_bytes(p->zip, m, false, &s->data);
  if (status) {
    snprintf(p->message, sizeof p->message, "%.300s", p->zip->message);
    return status;
  }
  const int64_t bytes = tn_dtype_bytes(s->dtype, id->items[4]->i);
  if (bytes < 0 || (uint64_t)bytes > m->size)
    return torch_pickle_fail(p, TN_ERR_INVALID, id->at,
                             "storage '%.100s' of %lld elements has %llu bytes", s->key,
                             (long long)id->items[4]->i, (unsigned long long)m->size);
  s->bytes = (uint64_t)bytes;
  return TN_OK;
}

tn_status torch_pickle_persistent(torch_pickle *p, const torch_pickled *id, torch_pickled **out) {
  const bool is_storage = id->kind == PICKLED_TUPLE && is_kind(id, 0, PICKLED_STR) &&
                          !strcmp(id->items[0]->text, "storage") &&
                          is_kind(id, 1, PICKLED_GLOBAL) && is_kind(id, 2, PICKLED_STR) &&
                          is_kind(id, 3, PICKLED_STR) && is_kind(id, 4, PICKLED_INT);
  const storage_name *type = is_storage ? find_storage(id->items[1]->text) : NULL;
  if (!type)
    return torch_pickle_fail(p, TN_ERR_INVALID, id->at, "what is kept elsewhere is no storage");
  const char *key = tn_arena_format(p->arena, "%s %s", type->name, id->items[2]->text);
  torch_pickled *v = torch_pickle_new(p, PICKLED_STORAGE, id->at);
  if (!v || !key) return torch_pickle_no_memory(p);
  v->storage = (const torch_storage *)(intptr_t)tn_map_get(&p->storages, key, 0);
  if (!v->storage) {
    torch_storage *s = tn_arena_alloc(p->arena, sizeof *s);
    if (!s) return torch_pickle_no_memory(p);
    *s = (torch_storage){
        .key = id->items[2]->text, .dtype = type->dtype, .is_quantised = type->is_quantised};
    const tn_status status = storage_bytes(p, id, s);
    if (status) return status;
    if (tn_map_set(&p->storages, key, (int64_t)(intptr_t)s)) return torch_pickle_no_memory(p);
    v->storage = s;
  }
  *out = v;
  return TN_OK;
}

/* ---- tensors ---- */

static bool read_dims(const torch_pickled *v, int64_t *out, int32_t *out_n) {
  if (v->kind != PICKLED_TUPLE && v->kind != PICKLED_LIST) return false;
  if (v->n > TN_MAX_RANK) return false;
  for (int64_t k = 0; k < v->n; k++) {
    if (v->items[k]->kind != PICKLED_INT || v->items[k]->i < 0) return false;
    out[k] = v->items[k]->i;
  }
  *out_n = (int32_t)v->n;
  return true;
}

/* Whether every element lies in the storage. */
static bool is_inside(const torch_tensor *t) {
  int64_t last = t->offset, n, bytes;
  if (tn_dims_product(t->shape, t->rank, &n)) return false;
  if (!n) return true;
  for (int32_t k = 0; k < t->rank; k++) {
    int64_t way;
    if (tn_mul_i64(t->shape[k] - 1, t->strides[k], &way) || tn_add_i64(last, way, &last))
      return false;
  }
  bytes = tn_add_i64(last, 1, &last) ? -1 : tn_dtype_bytes(t->dtype, last);
  return bytes >= 0 && (uint64_t)bytes <= t->storage->bytes;
}

static tn_status make_tensor(torch_pickle *p, torch_pickled *args, torch_pickled **out) {
  torch_pickled *v = torch_pickle_new(p, PICKLED_TENSOR, args->at);
  torch_tensor *t = tn_arena_alloc(p->arena, sizeof *t);
  if (!v || !t) return torch_pickle_no_memory(p);
  int32_t n_strides = -1;
  t->axis = -1;
  const bool is_whole = is_kind(args, 0, PICKLED_STORAGE) && is_kind(args, 1, PICKLED_INT) &&
                        args->n >= 4 && args->items[1]->i >= 0 &&
                        read_dims(args->items[2], t->shape, &t->rank) &&
                        read_dims(args->items[3], t->strides, &n_strides) && n_strides == t->rank;
  if (!is_whole)
    return torch_pickle_fail(p, TN_ERR_INVALID, args->at,
                             "a tensor has no storage, or more than %d dims", TN_MAX_RANK);
  t->storage = args->items[0]->storage;
  t->dtype = t->storage->dtype;
  t->offset = args->items[1]->i;
  if (!is_inside(t))
    return torch_pickle_fail(p, TN_ERR_INVALID, args->at, "a tensor leaves its storage '%.100s'",
                             t->storage->key);
  v->tensor = t;
  *out = v;
  return TN_OK;
}

/* (storage, offset, size, strides, (scheme, scale, zero) or (scheme, scales, zeros, axis), ...) */
static tn_status make_qtensor(torch_pickle *p, torch_pickled *args, torch_pickled **out) {
  const tn_status s = make_tensor(p, args, out);
  if (s) return s;
  torch_tensor *t = (*out)->tensor;
  const torch_pickled *q = is_kind(args, 4, PICKLED_TUPLE) ? args->items[4] : NULL;
  if (q && q->n == 3 && is_kind(q, 0, PICKLED_GLOBAL) && is_kind(q, 1, PICKLED_FLOAT) &&
      is_kind(q, 2, PICKLED_INT)) {
    t->scale = q->items[1]->f;
    t->zero = q->items[2]->i;
  } else if (q && q->n == 4 && is_kind(q, 1, PICKLED_TENSOR) && is_kind(q, 2, PICKLED_TENSOR) &&
             is_kind(q, 3, PICKLED_INT) && q->items[3]->i >= 0 && q->items[3]->i < t->rank) {
    t->scales = q->items[1];
    t->zeros = q->items[2];
    t->axis = q->items[3]->i;
  } else {
    return torch_pickle_fail(p, TN_ERR_INVALID, args->at, "a quantised tensor has no scale");
  }
  if (!t->storage->is_quantised)
    return torch_pickle_fail(p, TN_ERR_INVALID, args->at,
                             "a quantised tensor lies in storage '%.100s', which has no codes",
                             t->storage->key);
  t->is_quantised = true;
  return TN_OK;
}

static tn_status make_parameter(torch_pickle *p, torch_pickled *args, torch_pickled **out) {
  if (!is_kind(args, 0, PICKLED_TENSOR))
    return torch_pickle_fail(p, TN_ERR_INVALID, args->at, "a parameter is no tensor");
  *out = args->items[0];
  return TN_OK;
}

static tn_status make_sparse(torch_pickle *p, torch_pickled *args, torch_pickled **out) {
  (void)out;
  return torch_pickle_fail(p, TN_ERR_UNSUPPORTED, args->at, "not supported: sparse tensors");
}

/* ---- others ---- */

static tn_status make_first(torch_pickle *p, torch_pickled *args, torch_pickled **out) {
  if (!args->n) return torch_pickle_fail(p, TN_ERR_INVALID, args->at, "a list has no items");
  *out = args->items[0];
  return TN_OK;
}

static tn_status make_dict(torch_pickle *p, torch_pickled *args, torch_pickled **out) {
  *out = torch_pickle_new(p, PICKLED_DICT, args->at);
  return *out ? TN_OK : torch_pickle_no_memory(p);
}

static tn_status make_complex(torch_pickle *p, torch_pickled *args, torch_pickled **out) {
  if (args->n != 2 || !is_kind(args, 0, PICKLED_FLOAT) || !is_kind(args, 1, PICKLED_FLOAT))
    return torch_pickle_fail(p, TN_ERR_INVALID, args->at, "a complex number is not two numbers");
  *out = torch_pickle_new(p, PICKLED_COMPLEX, args->at);
  if (!*out) return torch_pickle_no_memory(p);
  (*out)->f = args->items[0]->f;
  (*out)->imag = args->items[1]->f;
  return TN_OK;
}

static tn_status make_device(torch_pickle *p, torch_pickled *args, torch_pickled **out) {
  if (!is_kind(args, 0, PICKLED_STR))
    return torch_pickle_fail(p, TN_ERR_INVALID, args->at, "a device has no name");
  *out = torch_pickle_new(p, PICKLED_DEVICE, args->at);
  if (!*out) return torch_pickle_no_memory(p);
  (*out)->text = args->items[0]->text;
  return TN_OK;
}

/* ---- elements ---- */

bool torch_tensor_is_dense(const torch_tensor *t) {
  int64_t step = 1;
  for (int32_t k = t->rank - 1; k >= 0; k--) {
    if (!t->shape[k]) return true;
    if (t->shape[k] > 1 && t->strides[k] != step) return false;
    step *= t->shape[k];
  }
  return true;
}

void torch_tensor_copy(const torch_tensor *t, uint8_t *out) {
  const uint64_t width = tn_dtype(t->dtype)->bits / 8;
  const int64_t n = tn_dims_size(t->shape, t->rank);
  int64_t index[TN_MAX_RANK] = {0}, from = t->offset;
  for (int64_t k = 0; k < n; k++) {
    memcpy(out + (uint64_t)k * width, t->storage->data + (uint64_t)from * width, width);
    for (int32_t d = t->rank - 1; d >= 0; d--) {
      from += t->strides[d];
      if (++index[d] < t->shape[d]) break;
      from -= t->strides[d] * t->shape[d];
      index[d] = 0;
    }
  }
}
