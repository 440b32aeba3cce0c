/* Jumps back: the instructions from k to one that jumps there are the body of a Loop.
 *
 *   k    ... the body, which runs once at least
 *   j    jump to k if not condition
 *
 * What the body writes and had a value before is carried. Results that are put in place one by one
 * (et_copy_index, as map and scan have it) are what the Loop stacks. */
#include "reader.h"
#include "tenon/kit/lower.h"

enum { MOST_DEPTH = 16 };

typedef struct carried {
  pte_value *value;
  int32_t first, in; /* ids: before the loop, in the body */
  uint32_t n_writes; /* in the body */
  bool steps;        /* one of them adds 1 */
} carried;

struct pte_loop {
  pte_reader *r;
  uint64_t from, to; /* the body; at `to` is the jump */
  pte_loop *outer;
  tn_graph *g;
  TN_VEC(carried) carried;
  TN_VEC(pte_undo) stacked; /* .value: the whole; .before: the part of one turn */
};

static carried *find(pte_loop *l, const pte_value *v) {
  for (int64_t k = 0; k < l->carried.n; k++)
    if (l->carried.data[k].value == v) return &l->carried.data[k];
  return NULL;
}

/* ---- which variables ---- */

static bool has_value(const pte_value *v) {
  return v->id != TN_NO_ID || (v->kind >= PTE_INT && v->kind <= PTE_DOUBLE);
}

static tn_status note_written(void *ctx, int64_t index, bool steps) {
  pte_loop *l = ctx;
  pte_value *v = pte_get(l->r, index);
  if (!v) return TN_ERR_INVALID;
  carried *c = find(l, v);
  if (!c && !has_value(v)) return TN_OK;
  if (!c && tn_vec_push(&l->r->allocator, &l->carried, (carried){.value = v}))
    return pte_no_memory(l->r);
  if (!c) c = &l->carried.data[l->carried.n - 1];
  c->n_writes++;
  c->steps |= steps;
  return TN_OK;
}

/* ---- results that are put in place one by one ---- */

static bool counts_turns(const pte_loop *l, const carried *c) {
  const pte_value *v = c->value;
  return v->kind == PTE_INT && !v->literal.i && c->first == TN_NO_ID && c->n_writes == 1 &&
         c->steps && v->id == c->in && v->in == l->g;
}

tn_status pte_stack(pte_reader *r, const tn_flat_table *call) {
  const tn_flat_vector args = tn_flat_vec(call, CALL_ARGS, 4);
  if (pte_status(r)) return pte_status(r);
  if (args.n < 3)
    return pte_fail(r, TN_ERR_INVALID, r->at, "has %llu arguments; it needs 3",
                    (unsigned long long)args.n);
  pte_loop *l = r->loop;
  pte_value *whole = pte_get(r, tn_flat_int_at(&args, 0)),
            *place = pte_get(r, tn_flat_int_at(&args, 2));
  if (!whole || !place) return TN_ERR_INVALID;
  const carried *c = l && r->g == l->g ? find(l, place) : NULL;
  if (!c || !counts_turns(l, c) || whole->kind != PTE_TENSOR)
    return pte_fail(r, TN_ERR_UNSUPPORTED, r->at,
                    "not supported: a result that is not put where a loop's count says");
  pte_undo part = {whole, *whole};
  const tn_status s = pte_id(r, tn_flat_int_at(&args, 1), &part.before.id);
  if (s) return s;
  return tn_vec_push(&r->allocator, &l->stacked, part) ? pte_no_memory(r) : TN_OK;
}

/* ---- the body ---- */

static tn_status new_input(pte_loop *l, int32_t *out) {
  *out = l->r->api->value(l->g, NULL);
  const tn_status s = *out < 0 ? *out : l->r->api->add_input(l->g, *out);
  return s ? pte_graph_fail(l->r, s, "it cannot be carried by a loop") : TN_OK;
}

static tn_status begin_body(pte_loop *l) {
  int32_t unused;
  tn_status s = new_input(l, &unused); /* the count */
  if (!s) s = new_input(l, &unused);   /* the condition */
  for (int64_t k = 0; k < l->carried.n && !s; k++) {
    carried *c = &l->carried.data[k];
    s = new_input(l, &c->in);
    if (!s) s = pte_write(l->r, c->value, c->in);
  }
  return s;
}

static tn_status add_goes_on(pte_loop *l, int64_t condition) {
  int32_t ends, on = TN_NO_ID;
  pte_reader *r = l->r;
  tn_status s = pte_id(r, condition, &ends);
  if (!s) on = r->api->value(l->g, NULL);
  if (!s && on < 0) s = pte_graph_fail(r, on, "a condition cannot be a value");
  if (!s) s = pte_add_node(r, "Not", &ends, 1, &on, 1, NULL, 0);
  return s ? s : pte_add_output(r, on);
}

static tn_status end_body(pte_loop *l, int64_t condition) {
  pte_reader *r = l->r;
  int32_t id;
  r->node = NULL;
  tn_status s = add_goes_on(l, condition);
  for (int64_t k = 0; k < l->carried.n && !s; k++) {
    s = pte_id(r, l->carried.data[k].value - r->values, &id);
    if (!s) s = pte_add_output(r, id);
  }
  for (int64_t k = 0; k < l->stacked.n && !s; k++)
    s = pte_add_output(r, l->stacked.data[k].before.id);
  return s;
}

/* All stands again for what it stood for before; what was nothing then is gone. */
static tn_status restore(pte_loop *l, int64_t n_undo) {
  pte_reader *r = l->r;
  tn_status s = TN_OK;
  while (r->undo.n > n_undo) {
    const pte_undo undo = r->undo.data[--r->undo.n];
    *undo.value = undo.before;
    if (!s && undo.before.id != TN_NO_ID && !find(l, undo.value))
      s = pte_fail(r, TN_ERR_UNSUPPORTED, r->at,
                   "not supported: a buffer that is written in a loop before anything reads it");
  }
  return s;
}

static tn_status read_body(pte_loop *l, int64_t condition) {
  pte_reader *r = l->r;
  tn_graph *g = r->g;
  const uint32_t branch = r->branch;
  const int64_t n = r->undo.n;
  const char *node = r->node;
  l->g = r->api->subgraph_new(g);
  if (!l->g) return pte_no_memory(r);
  r->g = l->g;
  r->branch = ++r->n_branches;
  r->loop = l;
  tn_status s = begin_body(l);
  if (!s) s = pte_run(r, l->from, l->to);
  if (!s) s = end_body(l, condition);
  r->loop = l->outer;
  r->branch = branch;
  r->g = g;
  r->node = node;
  const tn_status restored = restore(l, n);
  return s ? s : restored;
}

/* ---- the node ---- */

static tn_status add_loop(pte_loop *l) {
  pte_reader *r = l->r;
  TN_VEC(int32_t) in = {0};
  TN_VEC(int32_t) out = {0};
  TN_VEC(pte_value *) values = {0};
  tn_status s = TN_OK;
  for (int k = 0; k < 2 && !s; k++) /* no count and no condition that is known before */
    if (tn_vec_push(&r->allocator, &in, TN_NO_ID)) s = TN_ERR_MEMORY;
  for (int64_t k = 0; k < l->carried.n && !s; k++) {
    pte_value *v = l->carried.data[k].value;
    int32_t id;
    s = pte_id(r, v - r->values, &id);
    if (!s && (tn_vec_push(&r->allocator, &in, id) || tn_vec_push(&r->allocator, &values, v)))
      s = TN_ERR_MEMORY;
  }
  for (int64_t k = 0; k < l->stacked.n && !s; k++)
    if (tn_vec_push(&r->allocator, &values, l->stacked.data[k].value)) s = TN_ERR_MEMORY;
  for (int64_t k = 0; k < values.n && !s; k++) {
    int32_t id;
    s = pte_new(r, values.data[k], &id);
    if (!s && tn_vec_push(&r->allocator, &out, id)) s = TN_ERR_MEMORY;
  }
  if (s == TN_ERR_MEMORY) s = pte_no_memory(r);
  const tn_attr body = tn_attr_graph("body", &l->g), *attrs[] = {&body};
  if (!s) s = pte_add_node(r, "Loop", in.data, (uint32_t)in.n, out.data, (uint32_t)out.n, attrs, 1);
  for (int64_t k = 0; k < values.n && !s; k++) s = pte_write(r, values.data[k], out.data[k]);
  tn_vec_free(&r->allocator, &in);
  tn_vec_free(&r->allocator, &out);
  tn_vec_free(&r->allocator, &values);
  return s;
}

static tn_status read_loop(pte_loop *l) {
  pte_reader *r = l->r;
  bool is_jump;
  int64_t condition, to;
  const char *node = r->node;
  const uint64_t at = r->at;
  tn_status s = pte_jump_at(r, l->to, &is_jump, &condition, &to);
  if (!s) s = pte_written(r, l->from, l->to, note_written, l);
  for (int64_t k = 0; k < l->carried.n && !s; k++)
    l->carried.data[k].first = l->carried.data[k].value->id;
  r->node = node;
  r->at = at;
  if (!s) s = read_body(l, condition);
  r->node = node;
  r->at = at;
  return s ? s : add_loop(l);
}

tn_status pte_loop_at(pte_reader *r, uint64_t *k, uint64_t end) {
  pte_loop l = {.r = r, .from = *k, .to = r->loop_ends[*k], .outer = r->loop};
  if (l.to >= end)
    return pte_fail(r, TN_ERR_UNSUPPORTED, r->at,
                    "not supported: a loop that ends outside of the branch where it begins");
  if (r->depth == MOST_DEPTH)
    return pte_fail(r, TN_ERR_OVERFLOW, r->at, "loops are more than %d levels deep", MOST_DEPTH);
  r->depth++;
  r->loop_ends[*k] = 0;
  const tn_status s = read_loop(&l);
  r->depth--;
  tn_vec_free(&r->allocator, &l.carried);
  tn_vec_free(&r->allocator, &l.stacked);
  *k = l.to;
  return s;
}
