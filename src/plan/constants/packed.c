/* Prepared states of kernels (packed weights and the like) and converted constants, shared by the
 * plans of a model.
 *
 * A state is found by what it depends on: kernel, attributes, dtypes, constants and the kernel's
 * own key. States and constants that no plan uses stay for a while, because plans come and go
 * with input shapes: of each constant that lives on the latest few forms, so that whoever
 * alternates between many shapes, as decoders do, prepares nothing twice, however many constants
 * there are. */
#include "plan/constants/packed.h"

#include <string.h>

#include "base/pages.h"
#include "plan/constants/packed_key.h"
#include "tenon/kit/checked.h"

enum { MAX_IDLE = 64, MAX_IDLE_FORMS = 2 };

/* States of a plan stand side by side in one block of memory, since the system gives large ones in
 * huge pages: of small pages each costs the first start more than packing what stands in it. */
typedef struct state_block {
  uint64_t bytes, used;
  int64_t n; /* states in it; while it is being filled one more */
  uint8_t *data;
} state_block;

enum { BESIDE = 64, MIN_BLOCK = 1 << 20, MAX_BRIEF = 8 << 20 };

/* Where constants stand that prepare() alone reads. */
typedef struct brief_room {
  void *data;
  uint64_t bytes;
} brief_room;

typedef struct tn_packed_entry {
  tn_packed_key key;
  tn_packed_key mapped_ranges; /* in the file of prepared weights; empty: it is not kept there */
  TN_VEC(tn_const *) consts;   /* references: their ids stand in the key */
  const tn_kerneldef *def;
  void *state;
  state_block *block;   /* that it stands in; NULL: in none */
  uint64_t bytes, used; /* used: when it was last given out */
  int64_t users;
  bool is_mapped;   /* the state belongs to the file of prepared weights */
  bool is_ready;    /* prepare() has returned; until then, one user prepares and others wait */
  tn_status status; /* what it answered; an entry that failed is in no list */
} tn_packed_entry;

typedef struct tn_converted {
  tn_const *from, *made;
  tn_tensor type;
} tn_converted;

struct tn_packed_cache {
  const tn_allocator *a;
  pthread_mutex_t lock;
  pthread_cond_t ready; /* some entry is */
  TN_VEC(tn_packed_entry *) entries;
  TN_VEC(tn_converted) converted;
  uint64_t clock;
  tn_weight_cache *weights; /* the model's file of prepared weights; NULL: none */
  uint64_t mapped_bytes;    /* of states that came from there */
  uint64_t kept_bytes;      /* of states that are there, as far as is known here */
  uint64_t new_bytes;       /* of states that should be there, and are not */
  uint64_t expected_bytes;  /* of the states of the plan that is made */
  state_block *block;       /* for them; NULL: not yet */
  TN_VEC(brief_room) rooms; /* that nobody is in */
  bool is_saving;
};

/* ---- memory ---- */

/* A sanitizer watches blocks, and tests count what other allocators give. */
static bool shares_blocks(const tn_packed_cache *c) {
  return c->a->alloc == tn_default_allocator()->alloc &&
         !(TN_FLAVOUR & (TN_FLAVOUR_ASAN | TN_FLAVOUR_MSAN));
}

/* Under the lock. */
static void leave_block(const tn_packed_cache *c, state_block *b) {
  if (!b || --b->n) return;
  tn_free(c->a, b->data, b->bytes);
  tn_free(c->a, b, sizeof *b);
}

static state_block *block_new(const tn_packed_cache *c) {
  state_block *b = tn_alloc(c->a, sizeof *b);
  if (!b) return NULL;
  b->bytes = tn_pages_round(c->expected_bytes);
  b->data = tn_alloc(c->a, b->bytes);
  b->n = 1;
  if (b->data) return b;
  tn_free(c->a, b, sizeof *b);
  return NULL;
}

/* Memory for a state, zeroed. */
static void *alloc_state(tn_packed_cache *c, tn_packed_entry *e) {
  const uint64_t bytes = tn_round_up(e->bytes, BESIDE);
  pthread_mutex_lock(&c->lock);
  if (!c->block && c->expected_bytes >= MIN_BLOCK) c->block = block_new(c);
  if (c->block && bytes <= c->block->bytes - c->block->used) {
    e->block = c->block;
    e->block->n++;
    e->block->used += bytes;
  }
  void *state = e->block ? e->block->data + e->block->used - bytes : NULL;
  pthread_mutex_unlock(&c->lock);
  return state ? state : tn_alloc(c->a, e->bytes);
}

/* Under the lock. */
static void free_state(const tn_packed_cache *c, const tn_packed_entry *e) {
  if (!e->block) {
    tn_free(c->a, e->state, e->bytes);
    return;
  }
  tn_pages_forget(e->state, e->bytes);
  leave_block(c, e->block);
}

void tn_packed_begin(tn_packed_cache *c, uint64_t bytes, int64_t n) {
  pthread_mutex_lock(&c->lock);
  c->expected_bytes = shares_blocks(c) ? bytes + (uint64_t)n * BESIDE : 0;
  pthread_mutex_unlock(&c->lock);
}

void tn_packed_end(tn_packed_cache *c) {
  pthread_mutex_lock(&c->lock);
  c->expected_bytes = 0;
  leave_block(c, c->block);
  c->block = NULL;
  for (int64_t k = 0; k < c->rooms.n; k++)
    tn_free(c->a, c->rooms.data[k].data, c->rooms.data[k].bytes);
  tn_vec_free(c->a, &c->rooms);
  pthread_mutex_unlock(&c->lock);
}

/* Room for `bytes`, one that was left if there is any; data NULL: there is no memory. */
static brief_room enter_room(tn_packed_cache *c, uint64_t bytes) {
  brief_room room = {NULL, 0};
  pthread_mutex_lock(&c->lock);
  if (c->rooms.n) room = c->rooms.data[--c->rooms.n];
  pthread_mutex_unlock(&c->lock);
  if (room.data && room.bytes >= bytes) return room;
  tn_free(c->a, room.data, room.bytes);
  room.bytes = tn_pages_round(bytes);
  room.data = tn_alloc_raw(c->a, room.bytes);
  return room;
}

static void leave_room(tn_packed_cache *c, brief_room room) {
  pthread_mutex_lock(&c->lock);
  const bool kept = room.data && !tn_vec_push(c->a, &c->rooms, room);
  pthread_mutex_unlock(&c->lock);
  if (!kept) tn_free(c->a, room.data, room.bytes);
}

/* ---- entries ---- */

static void entry_free(tn_packed_cache *c, tn_packed_entry *e) {
  for (int64_t k = 0; k < e->consts.n; k++) tn_const_release(e->consts.data[k]);
  tn_vec_free(c->a, &e->consts);
  tn_vec_free(c->a, &e->key);
  tn_vec_free(c->a, &e->mapped_ranges);
  if (!e->is_mapped) free_state(c, e);
  tn_free(c->a, e, sizeof *e);
}

/* finish() may want the host to free what prepare() took from it. */
static void entry_finish(tn_packed_cache *c, tn_packed_entry *e) {
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

static tn_packed_entry *find(tn_packed_cache *c, const tn_packed_entry *like) {
  uint64_t bytes = (uint64_t)like->key.n * sizeof *like->key.data;
  for (int64_t k = 0; k < c->entries.n; k++) {
    tn_packed_entry *e = c->entries.data[k];
    if (e->key.n == like->key.n && !memcmp(e->key.data, like->key.data, bytes)) return e;
  }
  return NULL;
}

/* Made of the same constants? */
static bool are_forms(const tn_packed_entry *a, const tn_packed_entry *b) {
  if (a->consts.n != b->consts.n) return false;
  for (int64_t k = 0; k < a->consts.n; k++)
    if (a->consts.data[k] != b->consts.data[k]) return false;
  return true;
}

/* Who asks for a conversion holds its source; a source that only we hold will not be asked for
 * again. */
static void drop_orphans(tn_packed_cache *c) {
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

/* The same of states: do only the n_forms of e hold one of its constants? So it is with those that
 * a lowering or a fold made for one plan, which is gone. */
static bool is_orphan(tn_packed_cache *c, const tn_packed_entry *e, int64_t n_forms) {
  for (int64_t k = 0; k < e->consts.n; k++) {
    const atomic_int *refs = &e->consts.data[k]->refs;
    if (atomic_load_explicit(refs, memory_order_acquire) == n_forms + 1) drop_orphans(c);
    if (atomic_load_explicit(refs, memory_order_acquire) == n_forms) return true;
  }
  return false;
}

static void finish_at(tn_packed_cache *c, int64_t at) {
  entry_finish(c, c->entries.data[at]);
  c->entries.data[at] = c->entries.data[--c->entries.n];
}

/* Entry `at` has become idle: lets go of the longest unused one like it beyond the limit, or of all
 * if nobody will ask for them again. */
static void drop_idle(tn_packed_cache *c, int64_t at) {
  const tn_packed_entry *like = c->entries.data[at];
  int64_t idle = 0, oldest = -1, n_forms = 0;
  for (int64_t k = 0; k < c->entries.n; k++) {
    const tn_packed_entry *e = c->entries.data[k];
    if (!are_forms(e, like)) continue;
    n_forms++;
    if (e->users) continue;
    idle++;
    if (oldest < 0 || e->used < c->entries.data[oldest]->used) oldest = k;
  }
  if (is_orphan(c, like, n_forms)) {
    for (int64_t k = c->entries.n - 1; k >= 0; k--) {
      const tn_packed_entry *e = c->entries.data[k];
      if (e != like && !e->users && are_forms(e, like)) finish_at(c, k);
    }
    for (at = 0; c->entries.data[at] != like;) at++;
    finish_at(c, at);
  } else if (idle > (like->consts.n ? MAX_IDLE_FORMS : MAX_IDLE)) {
    finish_at(c, oldest);
  }
}

/* A constant of a file that is copied for its readers, and not converted: a copy for this one is
 * cheaper than pages of its own that come and go. */
static bool is_brief(const tn_const *constant) {
  return constant && constant->is_lazy && constant->dtype == TN_NONE &&
         constant->bytes <= MAX_BRIEF;
}

static void drop(const tn_packed_of *of, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (of->call->inputs[k] && !is_brief(of->consts[k])) tn_const_drop(of->consts[k]);
}

/* What prepare() reads, but for what is copied for it. */
static tn_status fetch(const tn_packed_of *of) {
  for (uint32_t k = 0; k < of->call->n_inputs; k++) {
    if (!of->call->inputs[k] || is_brief(of->consts[k]) || !tn_const_fetch(of->consts[k])) continue;
    drop(of, k);
    return TN_ERR_MEMORY;
  }
  return TN_OK;
}

static uint64_t brief_bytes(const tn_packed_of *of) {
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < of->call->n_inputs; k++)
    if (of->call->inputs[k] && is_brief(of->consts[k]))
      bytes += tn_round_up(of->consts[k]->bytes, BESIDE);
  return bytes;
}

/* Inputs that read copies in `room`. */
static void copy_brief(const tn_packed_of *of, uint8_t *room, const tn_tensor **inputs,
                       tn_tensor *types) {
  for (uint32_t k = 0; k < of->call->n_inputs; k++) {
    const tn_const *c = of->consts[k];
    inputs[k] = of->call->inputs[k];
    if (!inputs[k] || !is_brief(c)) continue;
    tn_const_read(c, room);
    types[k] = *inputs[k];
    types[k].data = room + ((const uint8_t *)inputs[k]->data - (const uint8_t *)c->data);
    inputs[k] = &types[k];
    room += tn_round_up(c->bytes, BESIDE);
  }
}

static tn_status prepare_with(const tn_packed_of *of, tn_call *call) {
  tn_status s = fetch(of);
  if (s) return s;
  if (of->def->kernel.prepare) s = of->def->kernel.prepare(call);
  drop(of, of->call->n_inputs);
  return s;
}

static tn_status prepare_brief(tn_packed_cache *c, const tn_packed_of *of, tn_call *call,
                               uint64_t bytes) {
  tn_arena arena;
  tn_arena_init(&arena, c->a);
  const uint64_t n = call->n_inputs;
  const tn_tensor **inputs = tn_arena_alloc(&arena, n * sizeof *inputs);
  tn_tensor *types = tn_arena_alloc(&arena, n * sizeof *types);
  const brief_room room = enter_room(c, bytes);
  tn_status s = inputs && types && room.data ? TN_OK : TN_ERR_MEMORY;
  if (!s) copy_brief(of, room.data, inputs, types);
  call->inputs = inputs;
  if (!s) s = prepare_with(of, call);
  leave_room(c, room);
  tn_arena_clear(&arena);
  return s;
}

static tn_status prepare(tn_packed_cache *c, const tn_packed_entry *e, const tn_packed_of *of,
                         tn_diag *diag) {
  tn_call with_state = *of->call;
  with_state.state = e->state;
  with_state.state_bytes = e->bytes;
  with_state.self = e->def->owner ? e->def->owner->self : NULL;
  int64_t before = diag ? tn_diag_count(diag) : 0;
  const uint64_t bytes = brief_bytes(of);
  tn_status s = bytes ? prepare_brief(c, of, &with_state, bytes) : prepare_with(of, &with_state);
  char text[TN_ANSWER_TEXT];
  s = tn_answer_status(s, text, sizeof text);
  if (s && diag && tn_diag_count(diag) == before)
    tn_diag_add(diag, TN_DIAG_ERROR, "kernel '%s': prepare() fails: %s", e->def->kernel.name, text);
  return s;
}

/* Under the lock. */
static void take_out(tn_packed_cache *c, const tn_packed_entry *e) {
  for (int64_t k = 0; k < c->entries.n; k++)
    if (c->entries.data[k] == e) c->entries.data[k--] = c->entries.data[--c->entries.n];
}

/* From the file of prepared weights, if it is there. */
static void find_kept(const tn_packed_cache *c, tn_packed_entry *e, const tn_packed_of *of,
                      tn_diag *diag) {
  if (!c->weights) return;
  if (tn_packed_key_persistent(c->a, of, c->weights, &e->mapped_ranges)) {
    tn_vec_free(c->a, &e->mapped_ranges);
    return;
  }
  const void *state =
      tn_weight_cache_find(c->weights, e->mapped_ranges.data, e->mapped_ranges.n, e->bytes, diag);
  e->is_mapped = state != NULL;
  e->state = (void *)(uintptr_t)state; /* read-only memory, as states are once they are made */
}

static tn_status make_state(tn_packed_cache *c, tn_packed_entry *e, const tn_packed_of *of,
                            tn_diag *diag) {
  find_kept(c, e, of, diag);
  if (e->state) return TN_OK;
  e->state = alloc_state(c, e);
  if (e->state) return prepare(c, e, of, diag);
  return tn_fail(diag, TN_ERR_MEMORY, "kernel '%s': no memory for %llu bytes of prepared constants",
                 e->def->kernel.name, (unsigned long long)e->bytes);
}

/* Under the lock, which is not held while prepare() runs: other states are prepared, too. */
static tn_status make(tn_packed_cache *c, tn_packed_entry *e, const tn_packed_of *of,
                      tn_diag *diag) {
  pthread_mutex_unlock(&c->lock);
  const tn_status s = make_state(c, e, of, diag);
  pthread_mutex_lock(&c->lock);
  e->status = s;
  e->is_ready = true;
  if (s) take_out(c, e);
  if (!s && e->is_mapped) c->mapped_bytes += e->bytes;
  if (!s && e->mapped_ranges.n) *(e->is_mapped ? &c->kept_bytes : &c->new_bytes) += e->bytes;
  pthread_cond_broadcast(&c->ready);
  return s;
}

/* Under the lock. Takes over e. */
static tn_status get_take(tn_packed_cache *c, tn_packed_entry *e, const tn_packed_of *of,
                          tn_diag *diag, void **out_state) {
  tn_packed_entry *old = find(c, e);
  tn_status s = old ? TN_OK : tn_vec_push(c->a, &c->entries, e);
  if (old || s) entry_free(c, e);
  if (s) return s;
  if (old) e = old;
  e->users++;
  e->used = ++c->clock;
  if (!old) {
    s = make(c, e, of, diag);
  } else {
    while (!e->is_ready) pthread_cond_wait(&c->ready, &c->lock);
    if (e->status)
      s = tn_fail(diag, e->status, "kernel '%s': prepare() fails for another session",
                  e->def->kernel.name);
  }
  if (!s) *out_state = e->state;
  if (s && --e->users == 0) entry_free(c, e);
  return s;
}

/* Its constants live as long as the entry. */
static tn_status keep_consts(const tn_allocator *a, tn_packed_entry *e, const tn_packed_of *of) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < of->call->n_inputs && !s; k++) {
    if (!of->call->inputs[k] || !of->consts[k]) continue;
    s = tn_vec_push(a, &e->consts, of->consts[k]);
    if (!s) tn_const_retain(of->consts[k]);
  }
  return s;
}

tn_status tn_packed_get(tn_packed_cache *c, const tn_kerneldef *def, const tn_opdef *op,
                        const tn_call *call, tn_const *const *consts, const tn_kernel_plan *plan,
                        tn_diag *diag, void **out_state) {
  *out_state = NULL;
  if (!plan->state_bytes) return TN_OK;
  tn_packed_entry *e = tn_alloc(c->a, sizeof *e);
  if (!e) return TN_ERR_MEMORY;
  e->def = def;
  e->bytes = plan->state_bytes;
  const tn_packed_of of = {def, op, call, consts, plan};
  tn_status s = tn_packed_key_make(c->a, &of, &e->key);
  if (!s) s = keep_consts(c->a, e, &of);
  if (s) {
    entry_free(c, e);
    return s;
  }
  pthread_mutex_lock(&c->lock);
  s = get_take(c, e, &of, diag, out_state);
  pthread_mutex_unlock(&c->lock);
  return s;
}

void tn_packed_release(tn_packed_cache *c, void *state) {
  if (!state) return;
  pthread_mutex_lock(&c->lock);
  int64_t at = 0; /* two entries may have found the same state in the file of prepared weights */
  while (at < c->entries.n && (c->entries.data[at]->state != state || !c->entries.data[at]->users))
    at++;
  if (at < c->entries.n && --c->entries.data[at]->users == 0) drop_idle(c, at);
  pthread_mutex_unlock(&c->lock);
}

/* ---- the file of prepared weights ---- */

void tn_packed_cache_keep_take(tn_packed_cache *c, tn_weight_cache *weights) {
  c->weights = weights;
}

uint64_t tn_packed_cache_mapped(tn_packed_cache *c) {
  pthread_mutex_lock(&c->lock);
  const uint64_t bytes = c->mapped_bytes;
  pthread_mutex_unlock(&c->lock);
  return bytes;
}

typedef TN_VEC(tn_weight_cache_entry) kept_list;

static bool is_to_be_kept(const tn_packed_entry *e) {
  return e->is_ready && !e->status && e->mapped_ranges.n;
}

/* Under the lock: all that are to be kept, which then have one user more. */
static tn_status take_kept(tn_packed_cache *c, kept_list *out) {
  if (tn_vec_room(c->a, out, c->entries.n)) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < c->entries.n; k++) {
    tn_packed_entry *e = c->entries.data[k];
    if (!is_to_be_kept(e)) continue;
    e->users++;
    out->data[out->n++] = (tn_weight_cache_entry){.key = e->mapped_ranges.data,
                                                  .n_key = e->mapped_ranges.n,
                                                  .data = e->state,
                                                  .bytes = e->bytes};
  }
  return TN_OK;
}

/* Under the lock. */
static void give_back(tn_packed_cache *c, const kept_list *list) {
  for (int64_t k = 0, n = 0; k < c->entries.n && n < list->n; k++)
    for (int64_t i = 0; i < list->n; i++)
      if (c->entries.data[k]->state == list->data[i].data) {
        c->entries.data[k]->users--;
        n++;
        break;
      }
}

/* New states are worth a file if they are a quarter of what is to be in it: then all the writing
 * over a model's life is at most five times the last file. */
static bool is_worth_saving(const tn_packed_cache *c, bool is_end) {
  if (!c->weights || c->is_saving) return false;
  if (tn_weight_cache_is_old(c->weights)) return true;
  return c->new_bytes && (is_end || c->new_bytes >= (c->kept_bytes + c->new_bytes) / 4);
}

void tn_packed_cache_save(tn_packed_cache *c, bool is_end, tn_diag *diag) {
  kept_list list = {NULL, 0, 0};
  pthread_mutex_lock(&c->lock);
  const bool saves = is_worth_saving(c, is_end) && !take_kept(c, &list);
  c->is_saving = c->is_saving || saves;
  if (saves) {
    c->kept_bytes += c->new_bytes;
    c->new_bytes = 0;
    pthread_mutex_unlock(&c->lock);
    tn_weight_cache_save(c->weights, list.data, list.n, diag);
    pthread_mutex_lock(&c->lock);
    give_back(c, &list);
    c->is_saving = false;
  }
  pthread_mutex_unlock(&c->lock);
  tn_vec_free(c->a, &list);
}

/* ---- converted constants ---- */

static bool same_type(const tn_tensor *a, const tn_tensor *b) {
  return a->layout == b->layout && tn_same_shape(a, b);
}

static tn_const *find_converted(const tn_packed_cache *c, const tn_const *from,
                                const tn_tensor *to) {
  for (int64_t k = 0; k < c->converted.n; k++)
    if (c->converted.data[k].from == from && same_type(&c->converted.data[k].type, to))
      return c->converted.data[k].made;
  return NULL;
}

tn_const *tn_packed_find_constant(tn_packed_cache *c, const tn_const *from, const tn_tensor *to) {
  pthread_mutex_lock(&c->lock);
  tn_const *made = tn_const_retain(find_converted(c, from, to));
  pthread_mutex_unlock(&c->lock);
  return made;
}

void tn_packed_keep_constant(tn_packed_cache *c, tn_const *from, const tn_tensor *to,
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

tn_status tn_packed_cache_create(const tn_allocator *a, tn_packed_cache **out_cache) {
  *out_cache = NULL;
  tn_packed_cache *c = tn_alloc(a, sizeof *c);
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

void tn_packed_cache_destroy(tn_packed_cache *c) {
  if (!c) return;
  for (int64_t k = 0; k < c->entries.n; k++) entry_finish(c, c->entries.data[k]);
  for (int64_t k = 0; k < c->converted.n; k++) {
    tn_const_release(c->converted.data[k].from);
    tn_const_release(c->converted.data[k].made);
  }
  tn_vec_free(c->a, &c->entries);
  tn_vec_free(c->a, &c->converted);
  tn_weight_cache_close(c->weights);
  pthread_cond_destroy(&c->ready);
  pthread_mutex_destroy(&c->lock);
  tn_free(c->a, c, sizeof *c);
}
