/* Keys of packed weights. What plans of one process share is known by pointers and ids; what is
 * kept in files by names, places and digests. */
#include "plan/constants/packed_key.h"

#include <string.h>

#include "base/abi.h"
#include "plan/constants/packed.h"

/* ---- attributes ---- */

static uint64_t hash_strs(const tn_str *s, int64_t n, uint64_t seed) {
  for (int64_t k = 0; k < n; k++) seed = tn_hash_bytes(s[k].data, (uint64_t)s[k].size, seed + 1);
  return seed;
}

static uint64_t hash_tensor(const tn_tensor *t, uint64_t seed) {
  if (!t) return seed + 1;
  uint64_t head[3] = {t->dtype, t->layout, (uint64_t)t->rank};
  seed = tn_hash_bytes(head, sizeof head, seed);
  seed = tn_hash_bytes(t->shape, (uint64_t)tn_max_i64(t->rank, 0) * sizeof *t->shape, seed);
  if (!t->data) return seed;
  if (t->dtype == TN_STRING) return hash_strs(t->data, tn_storage_elements(t), seed);
  return tn_hash_bytes(t->data, (uint64_t)tn_max_i64(tn_storage_bytes(t), 0), seed);
}

static bool is_text(const tn_arg *arg) {
  return arg->base == TN_TYPE_STR || arg->base == TN_TYPE_DIMNAME;
}

static uint64_t hash_list(const tn_arg *arg, const char *at, uint64_t seed) {
  tn_ints ints; /* all list members are a pointer and a count */
  memcpy(&ints, at, sizeof ints);
  seed = tn_hash_bytes(&ints.size, sizeof ints.size, seed);
  if (ints.size <= 0) return seed;
  if (is_text(arg)) {
    tn_strs strs;
    memcpy(&strs, at, sizeof strs);
    return hash_strs(strs.data, strs.size, seed);
  }
  if (arg->base == TN_TYPE_TENSOR) {
    tn_tensors tensors;
    memcpy(&tensors, at, sizeof tensors);
    for (int64_t k = 0; k < tensors.size; k++) seed = hash_tensor(tensors.data[k], seed);
    return seed;
  }
  return tn_hash_bytes(ints.data, (uint64_t)ints.size * sizeof *ints.data,
                       seed); /* doubles are as wide */
}

static uint64_t hash_attr(const tn_arg *arg, const char *attrs, uint64_t seed) {
  const char *at = attrs + arg->offset;
  if (arg->present_offset >= 0)
    seed = tn_hash_bytes(attrs + arg->present_offset, sizeof(int64_t), seed);
  if (arg->list) return hash_list(arg, at, seed);
  if (is_text(arg)) {
    tn_str s;
    memcpy(&s, at, sizeof s);
    return hash_strs(&s, 1, seed);
  }
  if (arg->base == TN_TYPE_TENSOR) {
    const tn_tensor *t;
    memcpy(&t, at, sizeof t);
    return hash_tensor(t, seed);
  }
  return tn_hash_bytes(at, sizeof(int64_t), seed);
}

/* The members that its kind does not use are zero. */
static uint64_t hash_open(const tn_attr *a, uint64_t seed) {
  uint64_t words[] = {a->kind, (uint64_t)a->i, 0, (uint64_t)a->ints.size, (uint64_t)a->floats.size};
  memcpy(&words[2], &a->f, sizeof a->f);
  seed = tn_hash_bytes(a->name, strlen(a->name), seed);
  seed = tn_hash_bytes(words, sizeof words, seed);
  seed = tn_hash_bytes(a->ints.data, (uint64_t)a->ints.size * sizeof *a->ints.data, seed);
  seed = tn_hash_bytes(a->floats.data, (uint64_t)a->floats.size * sizeof *a->floats.data, seed);
  seed = hash_strs(&a->s, 1, seed);
  seed = hash_strs(a->strs.data, a->strs.size, seed);
  for (int64_t k = 0; k < a->tensors.size; k++) seed = hash_tensor(a->tensors.data[k], seed);
  return seed;
}

static uint64_t hash_all_open(const tn_schema *schema, const char *attrs, uint64_t seed) {
  tn_attrs all;
  memcpy(&all, attrs + schema->open_offset, sizeof all);
  for (int64_t k = 0; k < all.size; k++) seed = hash_open(all.data[k], seed);
  return seed;
}

uint64_t tn_attrs_hash(const tn_schema *schema, const void *attrs, uint64_t seed) {
  for (int32_t k = 0; attrs && k < schema->n_args; k++)
    if (schema->args[k].role == TN_ROLE_ATTR) seed = hash_attr(&schema->args[k], attrs, seed);
  if (attrs && schema->open_offset >= 0) seed = hash_all_open(schema, attrs, seed);
  return seed;
}

/* ---- words ---- */

typedef struct maker {
  const tn_allocator *a;
  const tn_packed_of *of;
  const tn_weight_cache *weights; /* NULL: good for this process only */
  tn_packed_key *out;
} maker;

static tn_status put(const maker *m, uint64_t word) { return tn_vec_push(m->a, m->out, word); }

static tn_status put_text(const maker *m, const char *text) {
  const size_t n = strlen(text);
  tn_status s = put(m, n);
  for (size_t k = 0; k < n && !s; k += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, text + k, n - k < sizeof word ? n - k : sizeof word);
    s = put(m, word);
  }
  return s;
}

static tn_status put_digest(const maker *m, const tn_tensor *t, tn_const *c) {
  if (t->dtype == TN_STRING) return TN_ERR_UNSUPPORTED; /* pointers */
  tn_status s = tn_const_fetch(c);
  if (s) return s;
  const tn_digest d = tn_digest_of(c->data, c->bytes);
  tn_const_drop(c);
  s = put(m, UINT64_MAX); /* no file has this number */
  if (!s) s = put(m, d.lo);
  if (!s) s = put(m, d.hi);
  return s;
}

static tn_status put_scaling(const maker *m, const tn_scaling *scaling) {
  const tn_digest d = tn_digest_of(scaling->numbers, (uint64_t)scaling->n * sizeof(double));
  tn_status s = put(m, UINT64_MAX - 1); /* no constant has so many bytes, or is made so */
  if (!s) s = put(m, d.lo);
  return s ? s : put(m, d.hi);
}

static tn_status put_const(const maker *m, const tn_tensor *t, tn_const *c) {
  uint64_t file, offset;
  if (!m->weights) return put(m, (uint64_t)c->id);
  if (c->origin) { /* what it is made from, and how; no constant has so many bytes */
    const tn_status made = put(m, UINT64_MAX - (c->origin_dtype << 8) - c->dtype);
    return made ? made : put_const(m, t, c->origin);
  }
  tn_status s = c->scaling ? put_scaling(m, c->scaling) : TN_OK;
  if (!s) s = put(m, c->bytes);
  if (s) return s;
  if (!tn_weight_cache_place(m->weights, c->source ? c->source : c->data, c->bytes, &file, &offset))
    return put_digest(m, t, c);
  s = put(m, file);
  return s ? s : put(m, offset);
}

static tn_status put_input(const maker *m, const tn_tensor *t, tn_const *c) {
  tn_status s = put(m, t ? t->dtype : UINT64_MAX);
  if (s || !t || !c) return s;
  if ((s = put_const(m, t, c)) || (s = put(m, t->layout)) || (s = put(m, (uint64_t)t->rank)))
    return s;
  for (int32_t d = 0; d < t->rank && !s; d++) s = put(m, (uint64_t)t->shape[d]);
  return s;
}

static tn_status put_epilogue(const maker *m, const tn_call *call) {
  tn_status s = put(m, call->n_epilogue);
  for (uint32_t k = 0; k < call->n_epilogue && !s; k++) {
    uint64_t bits[2];
    memcpy(&bits[0], &call->epilogue[k]->a, sizeof bits[0]);
    memcpy(&bits[1], &call->epilogue[k]->b, sizeof bits[1]);
    s = put(m, call->epilogue[k]->kind);
    if (!s) s = put(m, (uint64_t)(int64_t)call->epilogue[k]->input);
    if (!s) s = put(m, bits[0]);
    if (!s) s = put(m, bits[1]);
  }
  return s;
}

/* Two hashes: 128 bits do not collide by chance. */
static tn_status put_attrs(const maker *m) {
  const void *attrs = m->of->call->attrs;
  const tn_schema *schema = &m->of->op->schema;
  const tn_status s = put(m, tn_attrs_hash(schema, attrs, 1));
  return s ? s : put(m, tn_attrs_hash(schema, attrs, UINT64_C(0x9e3779b97f4a7c15)));
}

static const char *build_of(const tn_kerneldef *def) { return tn_part_build(def->owner); }

static tn_status put_all(const maker *m) {
  const tn_packed_of *of = m->of;
  const tn_call *call = of->call;
  tn_status s = m->weights ? put_text(m, build_of(of->def)) : put(m, (uintptr_t)of->def);
  if (!s && m->weights) s = put_text(m, of->def->kernel.name);
  if (!s) s = put(m, of->plan->state_key);
  if (!s) s = put(m, of->plan->state_bytes);
  if (!s) s = put_attrs(m);
  if (!s) s = put_epilogue(m, call);
  for (uint32_t k = 0; k < call->n_inputs && !s; k++)
    s = put_input(m, call->inputs[k], of->consts[k]);
  for (uint32_t k = 0; k < call->n_outputs && !s; k++)
    s = put(m, call->outputs[k] ? call->outputs[k]->dtype : UINT64_MAX);
  return s;
}

tn_status tn_packed_key_make(const tn_allocator *a, const tn_packed_of *s, tn_packed_key *out) {
  const maker m = {a, s, NULL, out};
  return put_all(&m);
}

bool tn_packed_state_lasts(const tn_kerneldef *def) {
  bool is_packed = false;
  if (def->kernel.finish || !def->kernel.prepare) return false;
  for (uint32_t k = 0; k < def->kernel.n_accepts; k++)
    is_packed = is_packed || (def->kernel.accepts[k]->flags & TN_ACCEPT_PACKED) != 0;
  return is_packed;
}

tn_status tn_packed_key_persistent(const tn_allocator *a, const tn_packed_of *s,
                                   const tn_weight_cache *w, tn_packed_key *out) {
  const maker m = {a, s, w, out};
  return build_of(s->def) && tn_packed_state_lasts(s->def) ? put_all(&m) : TN_ERR_UNSUPPORTED;
}
