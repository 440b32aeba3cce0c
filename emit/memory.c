/* Where values of the C program live: alias sets of the plan, each from the first unit that touches
 * it to the last one, and scratch, packed into one arena. An output of the model that fills an
 * alias set by itself lies in the caller's memory. */
#include "base/diag.h"
#include "emit.h"
#include "plan/memory/arrange.h"

typedef struct packing {
  tn_live_range *ranges;
  int32_t n;
} packing;

static uint64_t bytes_of(const emit_model *m, int32_t slot) {
  return (uint64_t)tn_max_i64(tn_storage_bytes(m->plan->slots[slot].type), 0);
}

static void find_roots(emit_model *m) {
  const tn_slot *slots = m->plan->slots;
  for (int32_t k = 0; k < m->plan->n_slots; k++) {
    const int32_t root = emit_root(m, k);
    m->values[k] = (emit_value){.root = root,
                                .inside = slots[k].offset - slots[root].offset,
                                .first = INT32_MAX,
                                .last = -1,
                                .buffer = -1,
                                .output = -1,
                                .weights = -1};
  }
}

static void extend(emit_model *m, const int32_t *slots, uint32_t n, int32_t time) {
  for (uint32_t k = 0; k < n; k++) {
    if (slots[k] < 0) continue;
    emit_value *root = &m->values[m->values[slots[k]].root];
    if (time < root->first) root->first = time;
    if (time > root->last) root->last = time;
  }
}

static void find_live_ranges(emit_model *m) {
  for (int32_t k = 0; k < m->n_units; k++) {
    extend(m, m->units[k].step->node->node.inputs, m->units[k].step->node->node.n_inputs, k);
    extend(m, m->units[k].step->node->node.outputs, m->units[k].step->node->node.n_outputs, k);
  }
  extend(m, m->plan->outputs, (uint32_t)m->plan->n_outputs, m->n_units);
}

/* Outputs that are all of an alias set, which no other output and no state shares. */
static void find_outputs(emit_model *m) {
  const tn_plan *p = m->plan;
  for (int32_t k = 0; k < m->n_outputs; k++) {
    const int32_t slot = p->outputs[k], root = m->values[slot].root;
    bool alone = p->slots[slot].place == TN_PLACE_ARENA && !m->values[slot].inside &&
                 bytes_of(m, slot) == bytes_of(m, root) &&
                 p->slots[slot].type->dtype == p->slots[root].type->dtype;
    for (int32_t j = 0; j < p->n_outputs; j++)
      alone = alone && (j == k || m->values[p->outputs[j]].root != root);
    if (alone) m->values[root].output = k;
  }
}

static uint32_t reads(const emit_model *m, const tn_step *step, int32_t root) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < step->node->node.n_inputs; k++)
    n += step->node->node.inputs[k] >= 0 && m->values[step->node->node.inputs[k]].root == root;
  return n;
}

/* The root in whose memory output 0 of the unit may be written, as kernel and emitter both say: it
 * ends there, and is as large. -1: none. */
static int32_t overwritten(const emit_model *m, int32_t unit) {
  const emit_unit *u = &m->units[unit];
  const int32_t from = u->step->choice->plan.in_place[0];
  if (!(u->emitter->flags & TN_EMIT_IN_PLACE) || from < 0 || u->step->node->n_epilogue) return -1;
  const int32_t in = u->step->node->node.inputs[from], out = u->step->node->node.outputs[0];
  if (in < 0 || out < 0 || m->values[out].root != out) return -1;
  const int32_t root = m->values[in].root;
  const emit_value *over = &m->values[root];
  if (root == out || over->buffer < 0 || over->last != unit || m->values[in].inside) return -1;
  if (bytes_of(m, in) != bytes_of(m, root) || bytes_of(m, out) != bytes_of(m, root)) return -1;
  return m->values[out].first == unit && reads(m, u->step, root) == 1 ? root : -1;
}

static void give_buffer(emit_model *m, packing *p, int32_t unit, int32_t slot, bool is_first) {
  const int32_t root = m->values[slot].root;
  emit_value *v = &m->values[root];
  if (m->plan->slots[root].place != TN_PLACE_ARENA || v->buffer >= 0 || v->output >= 0) return;
  m->arena_types |= (uint32_t)TN_MASK(emit_stored_type(m->plan->slots[slot].type->dtype));
  const int32_t over = is_first && slot == root ? overwritten(m, unit) : -1;
  if (over >= 0) {
    v->buffer = m->values[over].buffer;
    p->ranges[v->buffer].last = v->last;
    m->values[over].last = -1; /* taken */
    return;
  }
  v->buffer = p->n;
  p->ranges[p->n++] =
      (tn_live_range){.bytes = bytes_of(m, root), .first = v->first, .last = v->last};
}

static void add_unit(emit_model *m, packing *p, int32_t unit, int32_t *scratch) {
  const emit_unit *u = &m->units[unit];
  for (uint32_t k = 0; k < u->step->node->node.n_outputs; k++)
    if (u->step->node->node.outputs[k] >= 0)
      give_buffer(m, p, unit, u->step->node->node.outputs[k], k == 0);
  scratch[unit] = -1;
  if (!u->scratch_bytes) return;
  m->arena_types |= (uint32_t)TN_MASK(emit_scratch_type(u));
  scratch[unit] = p->n;
  p->ranges[p->n++] = (tn_live_range){.bytes = u->scratch_bytes, .first = unit, .last = unit};
}

/* Types of views count, too: an expression of each is written. */
static void note_types(emit_model *m, const int32_t *slots, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    if (slots[k] < 0 || m->plan->slots[slots[k]].place != TN_PLACE_ARENA) continue;
    if (m->values[m->values[slots[k]].root].output < 0)
      m->arena_types |= (uint32_t)TN_MASK(emit_stored_type(m->plan->slots[slots[k]].type->dtype));
  }
}

tn_status emit_plan_memory(emit_model *m) {
  const uint64_t n = (uint64_t)m->plan->n_slots;
  packing p = {.ranges = emit_alloc(m, (n + (uint64_t)m->n_units + 1) * sizeof *p.ranges)};
  int32_t *scratch = emit_alloc(m, ((uint64_t)m->n_units + 1) * sizeof *scratch);
  m->values = emit_alloc(m, (n + 1) * sizeof *m->values);
  if (m->status) return m->status;
  find_roots(m);
  find_live_ranges(m);
  find_outputs(m);
  for (int32_t k = 0; k < m->n_units; k++) add_unit(m, &p, k, scratch);
  for (int32_t k = 0; k < m->n_units; k++) {
    note_types(m, m->units[k].step->node->node.inputs, m->units[k].step->node->node.n_inputs);
    note_types(m, m->units[k].step->node->node.outputs, m->units[k].step->node->node.n_outputs);
  }
  uint64_t bound;
  tn_status status = tn_pack(m->a, p.ranges, p.n, &m->arena_bytes, &bound);
  if (!status && m->arena_bytes > INT32_MAX) status = TN_ERR_OVERFLOW;
  if (status) return tn_fail(m->diag, status, "the arena would have more than 2^31 bytes");
  for (uint64_t k = 0; k < n; k++)
    if (m->values[k].buffer >= 0) m->values[k].offset = p.ranges[m->values[k].buffer].offset;
  for (int32_t k = 0; k < m->n_units; k++)
    if (scratch[k] >= 0) m->units[k].scratch_offset = p.ranges[scratch[k]].offset;
  return TN_OK;
}
