/* Prepared states of kernels (packed weights and the like) and converted constants, shared by the
 * plans of a model.
 *
 * A state is found by what it depends on: kernel, attributes, dtypes, constants and the kernel's
 * own key. States and constants that no plan uses stay for a while, because plans come and go
 * with input shapes. */
#include "plan/states.h"

#include <string.h>

enum { MAX_IDLE = 64 };

typedef struct tn_state_entry {
  TN_VEC(uint64_t) key;
  TN_VEC(tn_const *) consts; /* references: their ids stand in the key */
  const tn_kerneldef *def;
  void *state;
  uint64_t bytes, used; /* used: when it was last given out */
  int64_t users;
  bool is_ready;    /* prepare() has returned; until then, one user prepares and others wait */
  tn_status status; /* what it answered; an entry that failed is in no list */
} tn_state_entry;

typedef struct tn_converted {
  tn_const *from, *made;
  tn_tensor type;
} tn_converted;

struct tn_state_cache {
  const tn_allocator *a;
  pthread_mutex_t lock;
  pthread_cond_t ready; /* some entry is */
  TN_VEC(tn_state_entry *) entries;
  TN_VEC(tn_converted) converted;
  uint64_t clock;
};

/* ---- keys ---- */

static tn_status put(const tn_allocator *a, tn_state_entry *e, uint64_t word) {
  return tn_vec_push(a, &e->key, word);
}

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

static uint64_t hash_list(const tn_arg *arg, const char *at, uint64_t seed) {
  tn_ints ints; /* all list members are a pointer and a count */
  memcpy(&ints, at, sizeof ints);
  seed = tn_hash_bytes(&ints.size, sizeof ints.size, seed);
  if (ints.size <= 0) return seed;
  if (arg->base == TN_TYPE_STR || arg->base == TN_TYPE_DEVICE) {
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
  if (arg->base == TN_TYPE_STR) {
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

uint64_t tn_attrs_hash(const tn_schema *schema, const void *attrs, uint64_t seed) {
  for (int32_t k = 0; attrs && k < schema->n_args; k++)
    if (schema->args[k].role == TN_ROLE_ATTR) seed = hash_attr(&schema->args[k], attrs, seed);
  return seed;
}

static tn_status put_input(const tn_allocator *a, tn_state_entry *e, const tn_tensor *t,
                           tn_const *c) {
  tn_status s = put(a, e, t ? t->dtype : UINT64_MAX);
  if (s || !t || !c) return s;
  if ((s = put(a, e, (uint64_t)c->id)) || (s = put(a, e, t->layout)) ||
      (s = put(a, e, (uint64_t)t->rank)))
    return s;
  for (int32_t d = 0; d < t->rank && !s; d++) s = put(a, e, (uint64_t)t->shape[d]);
  if (!s) s = tn_vec_push(a, &e->consts, c);
  if (!s) tn_const_retain(c);
  return s;
}

static tn_status put_epilogue(const tn_allocator *a, tn_state_entry *e, const tn_call *call) {
  tn_status s = put(a, e, call->n_epilogue);
  for (uint32_t k = 0; k < call->n_epilogue && !s; k++) {
    uint64_t bits[2];
    memcpy(&bits[0], &call->epilogue[k]->a, sizeof bits[0]);
    memcpy(&bits[1], &call->epilogue[k]->b, sizeof bits[1]);
    s = put(a, e, call->epilogue[k]->kind);
    if (!s) s = put(a, e, (uint64_t)(int64_t)call->epilogue[k]->input);
    if (!s) s = put(a, e, bits[0]);
    if (!s) s = put(a, e, bits[1]);
  }
  return s;
}

static tn_status make_key(const tn_allocator *a, tn_state_entry *e, const tn_opdef *op,
                          const tn_call *call, tn_const *const *consts,
                          const tn_kernel_plan *plan) {
  tn_status s = put(a, e, (uint64_t)(uintptr_t)e->def);
  if (!s) s = put(a, e, plan->state_key);
  if (!s) s = put(a, e, plan->state_bytes);
  if (!s)
    s = put(a, e,
            tn_attrs_hash(&op->schema, call->attrs,
                          1)); /* two hashes: 128 bits do not collide by chance */
  if (!s) s = put(a, e, tn_attrs_hash(&op->schema, call->attrs, UINT64_C(0x9e3779b97f4a7c15)));
  if (!s) s = put_epilogue(a, e, call);
  for (uint32_t k = 0; k < call->n_inputs && !s; k++)
    s = put_input(a, e, call->inputs[k], consts[k]);
  for (uint32_t k = 0; k < call->n_outputs && !s; k++)
    s = put(a, e, call->outputs[k] ? call->outputs[k]->dtype : UINT64_MAX);
  return s;
}

/* ---- entries ---- */

static void entry_free(tn_state_cache *c, tn_state_entry *e) {
  for (int64_t k = 0; k < e->consts.n; k++) tn_const_release(e->consts.data[k]);
  tn_vec_free(c->a, &e->consts);
  tn_vec_free(c->a, &e->key);
  tn_free(c->a, e->state, e->bytes);
  tn_free(c->a, e, sizeof *e);
}

/* finish() may want the host to free what prepare() took from it. */
static void entry_finish(tn_state_cache *c, tn_state_entry *e) {
  tn_planner planner = {.a = c->a};
  tn_call_frame frame = {.planner = &planner, .node = -1, .needed_input = UINT32_MAX};
  tn_call call = {.head = TN_HEAD(tn_call),
                  .host = &tn_plan_host,
                  .ctx = &frame,
                  .self = e->def->owner ? e->def->owner->self : NULL,
                  .state = e->state,
                  .state_bytes = e->bytes,
                  .region_fill = -1};
  if (e->def->kernel.finish) e->def->kernel.finish(&call);
  entry_free(c, e);
}

static tn_state_entry *find(tn_state_cache *c, const tn_state_entry *like) {
  uint64_t bytes = (uint64_t)like->key.n * sizeof *like->key.data;
  for (int64_t k = 0; k < c->entries.n; k++) {
    tn_state_entry *e = c->entries.data[k];
    if (e->key.n == like->key.n && !memcmp(e->key.data, like->key.data, bytes)) return e;
  }
  return NULL;
}

/* Lets go of the longest unused states beyond the limit. */
static void drop_idle(tn_state_cache *c) {
  for (;;) {
    int64_t idle = 0, oldest = -1;
    for (int64_t k = 0; k < c->entries.n; k++) {
      const tn_state_entry *e = c->entries.data[k];
      if (e->users) continue;
      idle++;
      if (oldest < 0 || e->used < c->entries.data[oldest]->used) oldest = k;
    }
    if (idle <= MAX_IDLE) return;
    entry_finish(c, c->entries.data[oldest]);
    c->entries.data[oldest] = c->entries.data[--c->entries.n];
  }
}

static void drop(const tn_state_entry *e, int64_t n) {
  for (int64_t k = 0; k < n; k++) tn_const_drop(e->consts.data[k]);
}

/* What prepare() reads. */
static tn_status fetch(const tn_state_entry *e) {
  for (int64_t k = 0; k < e->consts.n; k++) {
    if (!tn_const_fetch(e->consts.data[k])) continue;
    drop(e, k);
    return TN_ERR_MEMORY;
  }
  return TN_OK;
}

static tn_status prepare(const tn_state_entry *e, const tn_call *call, tn_diag *diag) {
  tn_call with_state = *call;
  with_state.state = e->state;
  with_state.state_bytes = e->bytes;
  with_state.self = e->def->owner ? e->def->owner->self : NULL;
  int64_t before = diag ? tn_diag_count(diag) : 0;
  tn_status s = fetch(e);
  if (s) return s;
  if (e->def->kernel.prepare) s = e->def->kernel.prepare(&with_state);
  drop(e, e->consts.n);
  char text[TN_ANSWER_TEXT];
  s = tn_answer_status(s, text, sizeof text);
  if (s && diag && tn_diag_count(diag) == before)
    tn_diag_add(diag, TN_DIAG_ERROR, "kernel '%s': prepare() fails: %s", e->def->kernel.name, text);
  return s;
}

/* Under the lock: the entry is in the list, with room for its state. */
static tn_status add(tn_state_cache *c, tn_state_entry *e, tn_diag *diag) {
  if (tn_vec_room(c->a, &c->entries, 1)) return TN_ERR_MEMORY;
  e->state = tn_alloc(c->a, e->bytes);
  if (!e->state)
    return tn_fail(diag, TN_ERR_MEMORY,
                   "kernel '%s': no memory for %llu bytes of prepared constants",
                   e->def->kernel.name, (unsigned long long)e->bytes);
  c->entries.data[c->entries.n++] = e;
  return TN_OK;
}

/* Under the lock. */
static void take_out(tn_state_cache *c, const tn_state_entry *e) {
  for (int64_t k = 0; k < c->entries.n; k++)
    if (c->entries.data[k] == e) c->entries.data[k--] = c->entries.data[--c->entries.n];
}

/* Under the lock, which is not held while prepare() runs: other states are prepared, too. */
static tn_status make(tn_state_cache *c, tn_state_entry *e, const tn_call *call, tn_diag *diag) {
  pthread_mutex_unlock(&c->lock);
  const tn_status s = prepare(e, call, diag);
  pthread_mutex_lock(&c->lock);
  e->status = s;
  e->is_ready = true;
  if (s) take_out(c, e);
  pthread_cond_broadcast(&c->ready);
  return s;
}

/* Under the lock. Takes over e. */
static tn_status get_take(tn_state_cache *c, tn_state_entry *e, const tn_call *call, tn_diag *diag,
                          void **out_state) {
  tn_state_entry *old = find(c, e);
  tn_status s = old ? TN_OK : add(c, e, diag);
  if (old || s) entry_free(c, e);
  if (s) return s;
  if (old) e = old;
  e->users++;
  e->used = ++c->clock;
  if (!old) {
    s = make(c, e, call, diag);
  } else {
    while (!e->is_ready) pthread_cond_wait(&c->ready, &c->lock);
    if (e->status)
      s = tn_fail(diag, e->status, "kernel '%s': prepare() fails for another session",
                  e->def->kernel.name);
  }
  if (!s) *out_state = e->state;
  if (s && --e->users == 0) entry_free(c, e);
  if (!s) drop_idle(c);
  return s;
}

tn_status tn_state_get(tn_state_cache *c, const tn_kerneldef *def, const tn_opdef *op,
                       const tn_call *call, tn_const *const *consts, const tn_kernel_plan *plan,
                       tn_diag *diag, void **out_state) {
  *out_state = NULL;
  if (!plan->state_bytes) return TN_OK;
  tn_state_entry *e = tn_alloc(c->a, sizeof *e);
  if (!e) return TN_ERR_MEMORY;
  e->def = def;
  e->bytes = plan->state_bytes;
  tn_status s = make_key(c->a, e, op, call, consts, plan);
  if (s) {
    entry_free(c, e);
    return s;
  }
  pthread_mutex_lock(&c->lock);
  s = get_take(c, e, call, diag, out_state);
  pthread_mutex_unlock(&c->lock);
  return s;
}

void tn_state_release(tn_state_cache *c, void *state) {
  if (!state) return;
  pthread_mutex_lock(&c->lock);
  for (int64_t k = 0; k < c->entries.n; k++)
    if (c->entries.data[k]->state == state) c->entries.data[k]->users--;
  drop_idle(c);
  pthread_mutex_unlock(&c->lock);
}

/* ---- converted constants ---- */

static bool same_type(const tn_tensor *a, const tn_tensor *b) {
  return a->layout == b->layout && tn_same_shape(a, b);
}

static tn_const *find_converted(const tn_state_cache *c, const tn_const *from,
                                const tn_tensor *to) {
  for (int64_t k = 0; k < c->converted.n; k++)
    if (c->converted.data[k].from == from && same_type(&c->converted.data[k].type, to))
      return c->converted.data[k].made;
  return NULL;
}

tn_const *tn_state_find_constant(tn_state_cache *c, const tn_const *from, const tn_tensor *to) {
  pthread_mutex_lock(&c->lock);
  tn_const *made = tn_const_retain(find_converted(c, from, to));
  pthread_mutex_unlock(&c->lock);
  return made;
}

/* Who asks for a conversion holds its source; a source that only we hold will not be asked for
 * again. */
static void drop_orphans(tn_state_cache *c) {
  int64_t kept = 0;
  for (int64_t k = 0; k < c->converted.n; k++) {
    tn_converted *e = &c->converted.data[k];
    if (atomic_load_explicit(&e->from->refs, memory_order_acquire) > 1) {
      c->converted.data[kept++] = *e;
      continue;
    }
    tn_const_release(e->from);
    tn_const_release(e->made);
  }
  c->converted.n = kept;
}

void tn_state_keep_constant(tn_state_cache *c, tn_const *from, const tn_tensor *to,
                            tn_const *made) {
  tn_converted e = {from, made, *to};
  pthread_mutex_lock(&c->lock);
  drop_orphans(c);
  if (!find_converted(c, from, to) && !tn_vec_push(c->a, &c->converted, e)) {
    tn_const_retain(from);
    tn_const_retain(made);
  }
  pthread_mutex_unlock(&c->lock);
}

/* ---- the cache ---- */

tn_status tn_state_cache_create(const tn_allocator *a, tn_state_cache **out_cache) {
  *out_cache = NULL;
  tn_state_cache *c = tn_alloc(a, sizeof *c);
  if (!c) return TN_ERR_MEMORY;
  c->a = a;
  if (pthread_mutex_init(&c->lock, NULL)) {
    tn_free(a, c, sizeof *c);
    return TN_ERR_MEMORY;
  }
  if (pthread_cond_init(&c->ready, NULL)) {
    pthread_mutex_destroy(&c->lock);
    tn_free(a, c, sizeof *c);
    return TN_ERR_MEMORY;
  }
  *out_cache = c;
  return TN_OK;
}

void tn_state_cache_destroy(tn_state_cache *c) {
  if (!c) return;
  for (int64_t k = 0; k < c->entries.n; k++) entry_finish(c, c->entries.data[k]);
  for (int64_t k = 0; k < c->converted.n; k++) {
    tn_const_release(c->converted.data[k].from);
    tn_const_release(c->converted.data[k].made);
  }
  tn_vec_free(c->a, &c->entries);
  tn_vec_free(c->a, &c->converted);
  pthread_cond_destroy(&c->ready);
  pthread_mutex_destroy(&c->lock);
  tn_free(c->a, c, sizeof *c);
}
