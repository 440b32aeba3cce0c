/* Jumps: those that go around one branch or the other become If.
 *
 *   k    jump to d if not condition
 *        ... one branch
 *   d-1  jump to e if not false
 *   d    ... the other
 *   e
 */
#include "reader.h"
#include "tenon/kit/lower.h"

enum { MOST_DEPTH = 32, MOST_WRITTEN = 4096 };

typedef struct block {
  uint64_t from, to;
  tn_graph *g;
  TN_VEC(pte_undo) written; /* .before: what it stands for at the end of the block */
} block;

static bool is_false(const pte_reader *r, int64_t index) {
  const pte_value *v = pte_peek(r, index);
  return v && v->kind == PTE_BOOL && v->id == TN_NO_ID && !v->literal.i;
}

/* Where both branches begin and end. */
static tn_status find_blocks(pte_reader *r, uint64_t k, uint64_t end, int64_t to, block *blocks) {
  bool is_jump = false;
  int64_t condition, after = to;
  const uint64_t at = r->at;
  if (to <= (int64_t)k || (uint64_t)to > end)
    return pte_fail(r, TN_ERR_UNSUPPORTED, at,
                    "not supported: a jump to instruction %lld, which is no branch and no loop",
                    (long long)to);
  blocks[0] = (block){.from = k + 1, .to = (uint64_t)to};
  tn_status s = TN_OK;
  if (to > (int64_t)k + 1) s = pte_jump_at(r, (uint64_t)to - 1, &is_jump, &condition, &after);
  if (s) return s;
  if (is_jump && is_false(r, condition) && after >= to && (uint64_t)after <= end)
    blocks[0].to--;
  else
    after = to;
  blocks[1] = (block){.from = (uint64_t)to, .to = (uint64_t)after};
  return TN_OK;
}

/* Reads the block into a graph of its own; then all stands for what it stood for before. */
static tn_status read_block(pte_reader *r, block *b) {
  tn_graph *outer = r->g;
  const uint32_t branch = r->branch;
  const int64_t n = r->undo.n;
  r->g = b->g = r->api->subgraph_new(outer);
  if (!r->g) {
    r->g = outer;
    return pte_no_memory(r);
  }
  r->branch = ++r->n_branches;
  tn_status s = pte_run(r, b->from, b->to);
  r->branch = branch;
  r->g = outer;
  if (!s && r->undo.n - n > MOST_WRITTEN)
    s = pte_fail(r, TN_ERR_UNSUPPORTED, r->at, "not supported: a branch that writes %lld values",
                 (long long)(r->undo.n - n));
  while (r->undo.n > n) {
    const pte_undo undo = r->undo.data[--r->undo.n];
    const pte_undo written = {undo.value, *undo.value};
    if (!s && tn_vec_push(&r->allocator, &b->written, written)) s = pte_no_memory(r);
    *undo.value = undo.before;
  }
  return s;
}

static bool writes(const block *b, const pte_value *v, int32_t *out_id) {
  for (int64_t k = 0; k < b->written.n; k++) {
    if (b->written.data[k].value != v) continue;
    *out_id = b->written.data[k].before.id;
    return true;
  }
  return false;
}

tn_status pte_add_output(pte_reader *r, int32_t id) {
  const char *node = r->node;
  const int32_t out = r->api->value(r->g, NULL);
  if (out < 0) return pte_graph_fail(r, out, "it cannot be the output of a part");
  r->node = NULL;
  const tn_status s = pte_add_node(r, "Identity", &id, 1, &out, 1, NULL, 0);
  r->node = node;
  if (s) return s;
  return r->api->add_output(r->g, out) ? pte_no_memory(r) : TN_OK;
}

/* What the block leaves in the variable, as an output of its graph. */
static tn_status add_output(pte_reader *r, block *b, pte_value *v) {
  int32_t id;
  tn_graph *outer = r->g;
  r->g = b->g;
  tn_status s = TN_OK;
  if (!writes(b, v, &id)) s = pte_id(r, v - r->values, &id);
  if (!s) s = pte_add_output(r, id);
  r->g = outer;
  return s;
}

/* What one branch alone writes, and was nothing before, is gone behind it. */
static tn_status merge(pte_reader *r, block *blocks, int32_t condition) {
  TN_VEC(int32_t) outs = {0};
  TN_VEC(pte_value *) values = {0};
  tn_status s = TN_OK;
  for (int which = 0; which < 2 && !s; which++) {
    for (int64_t k = 0; k < blocks[which].written.n && !s; k++) {
      pte_value *v = blocks[which].written.data[k].value;
      int32_t other, out;
      const bool both = writes(&blocks[1 - which], v, &other);
      if (both ? which : v->id == TN_NO_ID) continue;
      for (int b = 0; b < 2 && !s; b++) s = add_output(r, &blocks[b], v);
      if (!s) s = pte_new(r, v, &out);
      if (s) break;
      if (tn_vec_push(&r->allocator, &outs, out) || tn_vec_push(&r->allocator, &values, v))
        s = pte_no_memory(r);
    }
  }
  const tn_attr yes = tn_attr_graph("then_branch", &blocks[0].g),
                no = tn_attr_graph("else_branch", &blocks[1].g), *attrs[] = {&yes, &no};
  if (!s && outs.n) s = pte_add_node(r, "If", &condition, 1, outs.data, (uint32_t)outs.n, attrs, 2);
  for (int64_t k = 0; k < outs.n && !s; k++) s = pte_write(r, values.data[k], outs.data[k]);
  tn_vec_free(&r->allocator, &outs);
  tn_vec_free(&r->allocator, &values);
  return s;
}

static tn_status read_both(pte_reader *r, uint64_t *k, uint64_t end) {
  block blocks[2] = {0};
  int64_t to, index;
  int32_t condition;
  bool is_jump;
  const char *node = r->node;
  const uint64_t at = r->at;
  tn_status s = pte_jump_at(r, *k, &is_jump, &index, &to);
  if (!s) s = pte_id(r, index, &condition);
  if (!s) s = find_blocks(r, *k, end, to, blocks);
  for (int b = 0; b < 2 && !s; b++) s = read_block(r, &blocks[b]);
  if (!s) {
    r->node = node;
    r->at = at;
    s = merge(r, blocks, condition);
    *k = blocks[1].to - 1;
  }
  for (int b = 0; b < 2; b++) tn_vec_free(&r->allocator, &blocks[b].written);
  return s;
}

tn_status pte_branch(pte_reader *r, uint64_t *k, uint64_t end) {
  if (r->depth == MOST_DEPTH)
    return pte_fail(r, TN_ERR_OVERFLOW, r->at, "branches are more than 32 levels deep");
  r->depth++;
  const tn_status s = read_both(r, k, end);
  r->depth--;
  return s;
}
