/* Arranging: live ranges of alias sets, outputs that are written over an input that ends there,
 * scratch, and offsets. */
#include <string.h>

#include "device/device.h"
#include "plan/memory/arrange.h"

/* ---- live ranges of alias sets ---- */

/* n_reads: how often it is read then. */
static void extend(tn_arrangement *r, int32_t value, int32_t time, int32_t n_reads) {
  int32_t root = r->root[value];
  if (time < r->first[root]) r->first[root] = time;
  if (time > r->last[root]) r->last[root] = time, r->last_reads[root] = 0;
  if (time == r->last[root]) r->last_reads[root] += n_reads;
}

/* When what the node reads and writes is let go of. */
static int32_t end_of(const tn_arrangement *r, int32_t node) {
  return r->until[node] ? r->until[node] : r->time[node];
}

static void find_live_ranges(tn_arrangement *r) {
  for (int32_t k = 0; k < r->n_values; k++) {
    r->first[k] = INT32_MAX;
    r->last[k] = -1;
    r->buffer[k] = -1;
  }
  for (int64_t k = 0; k < r->g->order.n; k++) {
    int32_t id = r->g->order.data[k];
    const tn_node *n = &tn_graph_node(r->g, id)->node;
    if (r->leader[id] < 0) continue;
    for (uint32_t j = 0; j < n->n_outputs; j++)
      if (n->outputs[j] >= 0) extend(r, n->outputs[j], r->time[id], 0);
    for (uint32_t j = 0; j < n->n_inputs; j++)
      if (n->inputs[j] >= 0) extend(r, n->inputs[j], end_of(r, id), r->until[id] ? 0 : 1);
  }
  for (int64_t k = 0; k < r->g->outputs.n; k++) extend(r, r->g->outputs.data[k], r->end, 0);
}

/* ---- in place ---- */

static uint64_t bytes_of(const tn_arrangement *r, int32_t value) {
  return (uint64_t)tn_max_i64(tn_storage_bytes(tn_graph_val(r->g, value)->type), 0);
}

/* The alias set that output `out` may be written over; -1: none. It must lie in the arena, end with
 * this step, be read by nobody else in it (leader and followers), and have just the bytes of the
 * output. */
static int32_t overwritten(const tn_arrangement *r, int32_t id, int32_t in, int32_t out) {
  if (in < 0 || out < 0 || r->root[out] != out || r->plan->slots[out].place != TN_PLACE_ARENA)
    return -1;
  int32_t root = r->root[in];
  if (root == out || r->buffer[root] < 0 || r->inside[in] || bytes_of(r, root) != bytes_of(r, out))
    return -1;
  if (r->plan->slots[root].place != TN_PLACE_ARENA || bytes_of(r, in) != bytes_of(r, root))
    return -1;
  if (r->last[root] != r->time[id] || r->first[out] != r->time[id]) return -1;
  return r->last_reads[root] == 1 ? root : -1;
}

static tn_status give_buffer(tn_arrangement *r, int32_t root) {
  tn_live_range live_range = {.bytes = bytes_of(r, root),
                              .first = r->first[root],
                              .last = r->last[root],
                              .device = r->on[root]};
  r->buffer[root] = (int32_t)r->live_ranges.n;
  return tn_vec_push(r->p->a, &r->live_ranges, live_range);
}

static tn_status place_output(tn_arrangement *r, int32_t id, uint32_t index) {
  const tn_gnode *n = tn_graph_node(r->g, id);
  const tn_kernel_plan *plan = &n->choice->plan;
  int32_t out = n->node.outputs[index], root = r->root[out];
  if (r->plan->slots[root].place != TN_PLACE_ARENA || r->buffer[root] >= 0) return TN_OK;
  int32_t from = index < TN_MAX_IN_PLACE ? plan->in_place[index] : -1;
  int32_t over = from >= 0 ? overwritten(r, id, n->node.inputs[from], out) : -1;
  if (over < 0) return give_buffer(r, root);
  r->buffer[root] = r->buffer[over];
  r->live_ranges.data[r->buffer[over]].last = r->last[root];
  r->last[over] = -1; /* taken: no other output may have it */
  return TN_OK;
}

static tn_status place_alias_sets(tn_arrangement *r) {
  tn_status status = TN_OK;
  for (int64_t k = 0; k < r->g->order.n && !status; k++) {
    int32_t id = r->g->order.data[k];
    const tn_node *n = &tn_graph_node(r->g, id)->node;
    if (r->leader[id] < 0) continue;
    for (uint32_t j = 0; j < n->n_outputs && !status; j++)
      if (n->outputs[j] >= 0) status = place_output(r, id, j);
  }
  return status;
}

/* ---- scratch ---- */

static tn_status place_scratch(tn_arrangement *r, int32_t id) {
  const tn_kernel_plan *plan = tn_plan_of(r->g, id);
  uint64_t n_workers = r->p->pool ? (uint64_t)tn_pool_n_threads(r->p->pool) : 1;
  tn_live_range live_range = {.bytes = plan->scratch_bytes,
                              .first = r->time[id],
                              .last = end_of(r, id),
                              .device = r->place[id]};
  r->scratch[id] = r->worker_scratch[id] = -1;
  if (live_range.bytes) {
    r->scratch[id] = (int32_t)r->live_ranges.n;
    if (tn_vec_push(r->p->a, &r->live_ranges, live_range)) return TN_ERR_MEMORY;
  }
  if (!plan->worker_scratch_bytes) return TN_OK;
  if (tn_mul_u64(tn_round_up(plan->worker_scratch_bytes, TN_ARENA_ALIGN), n_workers,
                 &live_range.bytes))
    return TN_ERR_OVERFLOW;
  r->worker_scratch[id] = (int32_t)r->live_ranges.n;
  return tn_vec_push(r->p->a, &r->live_ranges, live_range);
}

/* Bytes of scratch of the step that has most. */
static void sum_scratch(tn_arrangement *r) {
  for (int64_t k = 0; k < r->g->order.n; k++) {
    uint64_t bytes = 0;
    int32_t id = r->g->order.data[k];
    if (r->leader[id] != id) continue;
    for (; id >= 0; id = r->next[id]) {
      if (r->scratch[id] >= 0) bytes += r->live_ranges.data[r->scratch[id]].bytes;
      if (r->worker_scratch[id] >= 0) bytes += r->live_ranges.data[r->worker_scratch[id]].bytes;
    }
    if (bytes > r->plan->scratch_bytes) r->plan->scratch_bytes = bytes;
  }
}

/* ---- offsets ---- */

/* The live ranges of one device; all of them if none is wanted. */
static tn_status pack(tn_arrangement *r, uint32_t device, uint64_t *out_bytes) {
  tn_live_range *all = r->live_ranges.data;
  const int32_t n_all = (int32_t)r->live_ranges.n;
  uint64_t bound = 0;
  if (!r->plan->devices)
    return tn_pack(r->p->a, all, n_all, out_bytes, &r->plan->arena_bound_bytes);
  tn_live_range *some = tn_arena_alloc(&r->arena, ((uint64_t)n_all + 1) * sizeof *some);
  int32_t n = 0;
  if (!some) return TN_ERR_MEMORY;
  const uint64_t to = device ? r->p->devices[device - 1]->info.offset_alignment : 1;
  for (int32_t k = 0; k < n_all; k++) {
    if (all[k].device != device) continue;
    if (tn_add_u64(all[k].bytes, to - 1, &all[k].bytes)) return TN_ERR_OVERFLOW;
    all[k].bytes -= all[k].bytes % to; /* so that what lies behind begins at such an offset */
    some[n++] = all[k];
  }
  const tn_status status = tn_pack(r->p->a, some, n, out_bytes, &bound);
  for (int32_t k = n_all; k-- > 0 && !status;)
    if (all[k].device == device) all[k] = some[--n];
  if (!device) r->plan->arena_bound_bytes = bound;
  return status;
}

static tn_status pack_devices(tn_arrangement *r) {
  tn_status status = pack(r, 0, &r->plan->arena_bytes);
  for (uint32_t d = 1; d <= r->p->n_devices && !status; d++)
    status = pack(r, d, &r->plan->devices->arena_bytes[d - 1]);
  return status;
}

tn_status tn_arrange_memory(tn_arrangement *r) {
  find_live_ranges(r);
  tn_status status = place_alias_sets(r);
  for (int64_t k = 0; k < r->g->order.n && !status; k++)
    if (r->leader[r->g->order.data[k]] >= 0) status = place_scratch(r, r->g->order.data[k]);
  if (!status) status = r->plan->devices ? pack_devices(r) : pack(r, 0, &r->plan->arena_bytes);
  if (status == TN_ERR_OVERFLOW)
    return tn_fail(r->diag, status, "the memory for the model's activations overflows");
  if (!status) sum_scratch(r);
  return status;
}
