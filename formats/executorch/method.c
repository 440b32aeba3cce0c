/* A method: its inputs, its instructions in order, its outputs. */
#include <stdio.h>

#include "reader.h"

enum { KERNEL = 1, DELEGATE, MOVE, JUMP_IF_FALSE, FREE };

/* ---- inputs and outputs ---- */

static tn_status add_input(pte_reader *r, uint64_t k, int64_t index) {
  static const uint32_t dtypes[] = {
      [PTE_INT] = TN_I64, [PTE_BOOL] = TN_BOOL, [PTE_DOUBLE] = TN_F64};
  pte_value *v = pte_get(r, index);
  if (!v) return TN_ERR_INVALID;
  if (v->kind == PTE_NONE || v->kind == PTE_STRING) return TN_OK;
  if (v->kind > PTE_TENSOR)
    return pte_fail(r, TN_ERR_UNSUPPORTED, v->table.at, "not supported: input %llu is a list",
                    (unsigned long long)k);
  if (v->id != TN_NO_ID)
    return pte_fail(r, TN_ERR_INVALID, r->plan.at, "value %lld is two inputs", (long long)index);
  if (v->kind != PTE_TENSOR) v->type = tn_tensor_make(dtypes[v->kind], 0, NULL, NULL);
  v->name = tn_arena_format(&r->arena, "input_%llu", (unsigned long long)k);
  const int32_t id = v->name ? r->api->value(r->main, v->name) : TN_ERR_MEMORY;
  tn_status s = id < 0 ? id : r->api->value_set_type(r->main, id, &v->type);
  if (!s) s = r->api->add_input(r->main, id);
  v->id = id;
  v->in = r->main;
  return s ? pte_graph_fail(r, s, "it cannot be an input") : pte_note_place(r, v);
}

/* Sizes that are open in the program stay what is found for the inputs. */
static tn_status declare(pte_reader *r, const pte_value *v, int32_t id) {
  if (v->kind != PTE_TENSOR || r->api->value_flags(r->main, id)) return TN_OK;
  return r->api->value_set_type(r->main, id, &v->type);
}

static tn_status add_output(pte_reader *r, uint64_t k, int64_t index) {
  int32_t id, out;
  const char *name = tn_arena_format(&r->arena, "output_%llu", (unsigned long long)k);
  if (!name) return pte_no_memory(r);
  const pte_value *v = pte_get(r, index);
  if (!v) return TN_ERR_INVALID;
  if (v->kind == PTE_NONE) return TN_OK;
  tn_status s = pte_id(r, index, &id);
  if (s) return s;
  out = id;
  if (strcmp(r->api->value_name(r->main, id), name)) {
    out = r->api->value(r->main, name);
    if (out < 0) return pte_graph_fail(r, out, "it cannot be an output");
    s = pte_add_node(r, "Identity", &id, 1, &out, 1, NULL, 0);
  }
  if (!s) s = declare(r, v, out);
  if (!s) s = r->api->add_output(r->main, out);
  return s ? pte_graph_fail(r, s, "it cannot be an output") : TN_OK;
}

static tn_status for_each(pte_reader *r, uint32_t field,
                          tn_status (*call)(pte_reader *, uint64_t, int64_t)) {
  const tn_flat_vector list = tn_flat_vec(&r->plan, field, 4);
  tn_status s = pte_status(r);
  for (uint64_t k = 0; k < list.n && !s; k++) s = call(r, k, tn_flat_int_at(&list, k));
  return s ? s : pte_status(r);
}

/* Outputs have their name from the beginning, if nothing else has given them one. */
static tn_status name_output(pte_reader *r, uint64_t k, int64_t index) {
  pte_value *v = pte_get(r, index);
  if (!v) return TN_ERR_INVALID;
  if (v->id != TN_NO_ID || v->kind != PTE_TENSOR || !strncmp(v->name, "output", 6)) return TN_OK;
  v->name = tn_arena_format(&r->arena, "output_%llu", (unsigned long long)k);
  return v->name ? TN_OK : pte_no_memory(r);
}

/* ---- instructions ---- */

static tn_status open_instruction(pte_reader *r, uint64_t k, int64_t *kind, tn_flat_table *args) {
  const tn_flat_table t = tn_flat_item(&r->instructions, k, &pte_instruction_type);
  *kind = tn_flat_int(&t, UNION_KIND, 1, 0);
  *args = tn_flat_sub(&t, UNION_TABLE, &pte_call_type);
  snprintf(r->where, sizeof r->where, "instruction %llu", (unsigned long long)k);
  r->at = t.at;
  r->node = tn_arena_format(&r->arena, "%llu", (unsigned long long)k);
  if (!r->node) return pte_no_memory(r);
  return pte_status(r);
}

static tn_status move(pte_reader *r, const tn_flat_table *args) {
  int32_t id;
  pte_value *to = pte_get(r, tn_flat_int(args, MOVE_TO, 4, 0));
  const tn_status s = to ? pte_id(r, tn_flat_int(args, MOVE_FROM, 4, 0), &id) : TN_ERR_INVALID;
  if (!s) return pte_write(r, to, id);
  return s;
}

tn_status pte_jump_at(pte_reader *r, uint64_t k, bool *out_is, int64_t *out_condition,
                      int64_t *out_to) {
  tn_flat_table args;
  int64_t kind;
  const tn_status s = open_instruction(r, k, &kind, &args);
  *out_is = !s && kind == JUMP_IF_FALSE;
  *out_condition = tn_flat_int(&args, JUMP_CONDITION, 4, 0);
  *out_to = tn_flat_int(&args, JUMP_TO, 4, 0);
  return s ? s : pte_status(r);
}

/* Notes which instructions are jumped back to, and from where: the last one counts. */
static tn_status find_loops(pte_reader *r) {
  const uint64_t n = r->instructions.n;
  r->loop_ends = tn_arena_alloc(&r->arena, (n + 1) * sizeof *r->loop_ends);
  if (!r->loop_ends) return pte_no_memory(r);
  memset(r->loop_ends, 0, (size_t)((n + 1) * sizeof *r->loop_ends));
  tn_status s = TN_OK;
  for (uint64_t k = 1; k < n && !s; k++) {
    bool is_jump;
    int64_t condition, to;
    s = pte_jump_at(r, k, &is_jump, &condition, &to);
    if (!s && is_jump && to >= 0 && (uint64_t)to < k) r->loop_ends[to] = k;
  }
  return s;
}

/* A part that was compiled may write all of its arguments. */
static tn_status delegate_writes(pte_reader *r, const tn_flat_table *args, pte_note note,
                                 void *ctx) {
  const tn_flat_vector list = tn_flat_vec(args, CALL_ARGS, 4);
  tn_status s = pte_status(r);
  for (uint64_t k = 0; k < list.n && !s; k++) s = note(ctx, tn_flat_int_at(&list, k), false);
  return s;
}

tn_status pte_written(pte_reader *r, uint64_t from, uint64_t to, pte_note note, void *ctx) {
  tn_status s = TN_OK;
  for (uint64_t k = from; k < to && !s; k++) {
    tn_flat_table args;
    int64_t kind;
    s = open_instruction(r, k, &kind, &args);
    if (!s && kind == KERNEL) s = pte_kernel_writes(r, &args, note, ctx);
    if (!s && kind == DELEGATE) s = delegate_writes(r, &args, note, ctx);
    if (!s && kind == MOVE) s = note(ctx, tn_flat_int(&args, MOVE_TO, 4, 0), false);
    if (!s) s = pte_status(r);
  }
  return s;
}

static tn_status run_one(pte_reader *r, uint64_t *k, uint64_t end) {
  tn_flat_table args;
  int64_t kind;
  const tn_status s = open_instruction(r, *k, &kind, &args);
  if (s) return s;
  if (r->loop_ends[*k]) return pte_loop_at(r, k, end);
  switch (kind) {
    case KERNEL: return pte_kernel(r, &args);
    case DELEGATE: return pte_delegate(r, &args);
    case MOVE: return move(r, &args);
    case JUMP_IF_FALSE: return pte_branch(r, k, end);
    case FREE: return TN_OK;
    default:
      return pte_fail(r, TN_ERR_UNSUPPORTED, r->at, "not supported: an instruction of kind %lld",
                      (long long)kind);
  }
}

tn_status pte_run(pte_reader *r, uint64_t from, uint64_t to) {
  tn_status s = TN_OK;
  for (uint64_t k = from; k < to && !s; k++) s = run_one(r, &k, to);
  return s;
}

/* ---- states ---- */

/* What a buffer is when all has run, is left to the next run. */
static tn_status end_states(pte_reader *r) {
  for (uint64_t k = 0; k < r->n_values; k++) {
    pte_value *v = &r->values[k];
    if (v->state < 0) continue;
    if (!v->n_writes)
      return pte_fail(r, TN_ERR_INVALID, v->table.at, "value %llu is read, and nothing has made it",
                      (unsigned long long)k);
    const tn_status s = r->api->state_set(r->main, v->state, v->id);
    if (s) return pte_graph_fail(r, s, "a buffer cannot be a state");
  }
  return TN_OK;
}

tn_status pte_method(pte_reader *r) {
  tn_status s = for_each(r, PLAN_INPUTS, add_input);
  if (!s) s = for_each(r, PLAN_OUTPUTS, name_output);
  if (!s) s = find_loops(r);
  if (!s) s = pte_run(r, 0, r->instructions.n);
  if (s) return s;
  *r->where = '\0';
  r->at = 0;
  r->node = NULL;
  s = for_each(r, PLAN_OUTPUTS, add_output);
  return s ? s : end_states(r);
}
