/* Arranging, where devices are wanted: few segments, and when each is submitted and waited for.
 *
 * Uploads are copied out of host memory when a segment is submitted, downloads into it when it is
 * waited for; so the host's memory may be used again as soon as the order of the steps allows, and
 * nothing but data keeps host and device apart. A device's own steps are kept in order by its queue
 * and the barriers in its recordings. */
#include "device/device.h"
#include "plan/memory/arrange.h"

/* ---- order: as many nodes of one device in a row as there can be ---- */

typedef struct grouper {
  tn_graph *g;
  int32_t *missing; /* per node: inputs whose producers have not run */
  int32_t *ready;   /* nodes that could run, in the order in which they became so */
  int32_t n_ready;
  TN_VEC(int32_t) order;
} grouper;

static uint32_t place_of(const tn_graph *g, int32_t node) {
  return tn_graph_node(g, node)->choice->device;
}

/* The first that is ready on this device; what is behind it moves up. -1: none. */
static int32_t take(grouper *p, uint32_t device, bool any) {
  for (int32_t k = 0; k < p->n_ready; k++) {
    const int32_t node = p->ready[k];
    if (!any && place_of(p->g, node) != device) continue;
    memmove(p->ready + k, p->ready + k + 1, (size_t)(p->n_ready - 1 - k) * sizeof *p->ready);
    p->n_ready--;
    return node;
  }
  return -1;
}

static void finish(grouper *p, int32_t node) {
  const tn_node *n = &tn_graph_node(p->g, node)->node;
  p->order.data[p->order.n++] = node;
  for (uint32_t k = 0; k < n->n_outputs; k++) {
    const tn_value *v = n->outputs[k] < 0 ? NULL : tn_graph_val(p->g, n->outputs[k]);
    for (int64_t u = 0; v && u < v->users.n; u++)
      if (--p->missing[v->users.data[u]] == 0) p->ready[p->n_ready++] = v->users.data[u];
  }
}

static void count(grouper *p, int32_t node) {
  const tn_node *n = &tn_graph_node(p->g, node)->node;
  for (uint32_t k = 0; k < n->n_inputs; k++)
    p->missing[node] += n->inputs[k] >= 0 && tn_graph_val(p->g, n->inputs[k])->producer >= 0;
  if (!p->missing[node]) p->ready[p->n_ready++] = node;
}

/* Steps of the CPU first: what they make can then go up in one segment. */
tn_status tn_arrange_group(tn_graph *g, const tn_planner *planner) {
  grouper p = {.g = g};
  tn_arena arena;
  tn_arena_init(&arena, planner->a);
  const uint64_t n = (uint64_t)g->nodes.n + 1;
  p.missing = tn_arena_alloc(&arena, n * sizeof *p.missing);
  p.ready = tn_arena_alloc(&arena, n * sizeof *p.ready);
  p.order.data = tn_arena_alloc(&arena, n * sizeof *p.order.data);
  tn_status status = p.missing && p.ready && p.order.data ? TN_OK : TN_ERR_MEMORY;
  for (int64_t k = 0; k < g->order.n && !status; k++) count(&p, g->order.data[k]);
  uint32_t device = 0;
  while (!status && p.n_ready) {
    int32_t node = take(&p, device, false);
    if (node < 0 && device) node = take(&p, 0, false);
    if (node < 0) node = take(&p, 0, true);
    device = place_of(g, node);
    finish(&p, node);
  }
  if (!status && g->order.n && p.order.n == g->order.n)
    memcpy(g->order.data, p.order.data, (size_t)g->order.n * sizeof *g->order.data);
  tn_arena_clear(&arena);
  return status;
}

/* ---- views on devices ---- */

bool tn_arrange_may_view(const tn_arrangement *r, uint32_t device, uint64_t offset, int64_t bytes,
                         bool is_written) {
  enum { FOURS = 16 }; /* programs read and write up to the next of these */
  if (!device) return true;
  const tn_device *d = r->p->devices[device - 1];
  if (offset % d->info.offset_alignment) return false;
  return !is_written || d->runs_host_kernels || bytes % FOURS == 0;
}

/* ---- segments ---- */

static const tn_slot *slot_of(const tn_plan *plan, const int32_t *slots, uint32_t k) {
  return slots[k] < 0 ? NULL : &plan->slots[slots[k]];
}

static void place_transfer(tn_plan *plan, const tn_step *step) {
  tn_device_step *d = step->device;
  tn_device_plan *devices = plan->devices;
  if (strcmp(step->node->node.op, TN_CORE_TRANSFER)) return;
  const tn_slot *to = slot_of(plan, step->node->node.outputs, 0);
  d->direction = to->device ? TN_UPLOAD : TN_DOWNLOAD;
  uint64_t *bytes =
      (d->direction == TN_UPLOAD ? devices->up_bytes : devices->down_bytes) + d->device - 1;
  d->staging_offset = *bytes;
  *bytes += tn_transfer_bytes(to);
}

/* What goes up has come down in the same segment, and was only seen in another way on the host? */
static bool returns(const tn_plan *plan, const tn_segment *now, const tn_step *step) {
  if (step->device->direction != TN_UPLOAD) return false;
  const int32_t root = tn_root_slot(plan, step->node->node.inputs[0]);
  for (int32_t k = now->first_step; k < now->first_step + now->n_steps; k++) {
    const tn_step *before = &plan->steps[k];
    if (before->device->direction == TN_DOWNLOAD &&
        tn_root_slot(plan, before->node->node.outputs[0]) == root)
      return true;
  }
  return false;
}

static void add_segments(tn_plan *plan) {
  tn_device_plan *devices = plan->devices;
  tn_segment *now = NULL;
  for (int32_t k = 0; k < plan->n_steps; k++) {
    tn_step *step = &plan->steps[k];
    if (!step->device) {
      now = NULL;
      continue;
    }
    place_transfer(plan, step);
    if (!now || now->device != step->device->device || returns(plan, now, step)) {
      now = &devices->segments[devices->n_segments++];
      *now = (tn_segment){.device = step->device->device, .first_step = k};
    }
    now->n_steps++;
    now->cost_ns += step->choice->cost_ns;
    step->device->segment = devices->n_segments - 1;
  }
}

/* ---- waits ---- */

typedef struct waiter {
  tn_plan *plan;
  /* Per device and slot that owns memory: the last that writes into it with a download; -1: none. A
   * concatenation may consist of several. */
  int32_t *segment_of;
  int32_t *waited; /* per device: segments up to this one have ended, -1: none has */
} waiter;

static void add_action(tn_plan *plan, tn_deed deed, int32_t index) {
  plan->devices->actions[plan->devices->n_actions++] = (tn_action){deed, index};
}

static int32_t *segment_of(const waiter *w, uint32_t device, int32_t slot) {
  return &w->segment_of[(int64_t)(device - 1) * w->plan->n_slots + tn_root_slot(w->plan, slot)];
}

/* A device's queue is in order, so one wait does for all segments of it before. */
static void wait_until(waiter *w, uint32_t device, int32_t segment) {
  if (w->waited[device - 1] >= segment) return;
  w->waited[device - 1] = segment;
  add_action(w->plan, TN_DEED_WAIT, segment);
  w->plan->devices->n_waits++;
}

/* Before somebody on the host reads the slot. */
static void wait_for(waiter *w, int32_t slot) {
  for (uint32_t d = 1; slot >= 0 && d <= w->plan->devices->n_devices; d++)
    wait_until(w, d, *segment_of(w, d, slot));
}

static void wait_for_inputs(waiter *w, const tn_step *step) {
  for (uint32_t k = 0; k < step->node->node.n_inputs; k++) wait_for(w, step->node->node.inputs[k]);
  for (uint32_t k = 0; k < step->n_followers; k++) wait_for_inputs(w, &step->followers[k]);
}

static void note_downloads(waiter *w, const tn_segment *s, int32_t index) {
  for (int32_t k = s->first_step; k < s->first_step + s->n_steps; k++) {
    const tn_step *step = &w->plan->steps[k];
    if (step->device->direction == TN_DOWNLOAD)
      *segment_of(w, s->device, step->node->node.outputs[0]) = index;
  }
}

static void submit(waiter *w, int32_t index) {
  const tn_segment *s = &w->plan->devices->segments[index];
  for (int32_t k = s->first_step; k < s->first_step + s->n_steps; k++)
    if (w->plan->steps[k].device->direction == TN_UPLOAD)
      wait_for(w, w->plan->steps[k].node->node.inputs[0]);
  add_action(w->plan, TN_DEED_SUBMIT, index);
  note_downloads(w, s, index);
}

static void add_actions(waiter *w) {
  tn_plan *plan = w->plan;
  for (int32_t k = 0; k < plan->n_steps; k++) {
    const tn_step *step = &plan->steps[k];
    if (step->device) {
      const int32_t segment = step->device->segment;
      if (plan->devices->segments[segment].first_step == k) submit(w, segment);
      continue;
    }
    wait_for_inputs(w, step);
    add_action(plan, TN_DEED_RUN, k);
  }
  for (int32_t k = 0; k < plan->n_outputs; k++) wait_for(w, plan->outputs[k]);
  /* all that was begun ends with the run: buffers are used again by the next */
  for (int32_t k = plan->devices->n_segments; k-- > 0;)
    wait_until(w, plan->devices->segments[k].device, k);
}

tn_status tn_arrange_segments(tn_arrangement *r) {
  tn_plan *plan = r->plan;
  tn_device_plan *d = plan->devices;
  const uint64_t n = (uint64_t)plan->n_steps + 1;
  int32_t waited[TN_MAX_DEVICES];
  waiter w = {.plan = plan, .waited = waited};
  d->n_devices = r->p->n_devices;
  d->segments = tn_arena_alloc(&plan->arena, n * sizeof *d->segments);
  d->actions =
      tn_arena_alloc(&plan->arena, (3 * n + (uint64_t)plan->n_outputs) * sizeof *d->actions);
  const uint64_t n_places = (uint64_t)plan->n_slots * d->n_devices;
  w.segment_of = tn_arena_alloc(&r->arena, (n_places + 1) * sizeof *w.segment_of);
  if (!d->segments || !d->actions || !w.segment_of) return TN_ERR_MEMORY;
  for (uint64_t k = 0; k < n_places; k++) w.segment_of[k] = -1;
  for (int k = 0; k < TN_MAX_DEVICES; k++) waited[k] = -1;
  add_segments(plan);
  add_actions(&w);
  return TN_OK;
}

/* ---- constants and states ---- */

static bool is_packed(const tn_step *step, uint32_t k) { return k < 64 && step->packed >> k & 1; }

/* The constant that the slot is or lies in. */
static tn_const *constant_of(const tn_plan *plan, int32_t slot) {
  slot = tn_root_slot(plan, slot);
  return plan->slots[slot].place == TN_PLACE_CONST ? plan->slots[slot].constant : NULL;
}

static tn_status get_constant(tn_arrangement *r, const tn_step *step, uint32_t k) {
  tn_device *d = r->p->devices[step->device->device - 1];
  tn_const *c =
      step->node->node.inputs[k] < 0 ? NULL : constant_of(r->plan, step->node->node.inputs[k]);
  if (!c || !c->bytes || is_packed(step, k)) return TN_OK;
  tn_status status = tn_const_fetch(c);
  if (status) return status;
  status =
      tn_resident_get(r->p->residents, d, c, c->data, c->bytes, r->diag, &step->device->inputs[k]);
  tn_const_drop(c);
  if (!status) r->plan->devices->const_bytes += c->bytes;
  return status;
}

static tn_status get_all(tn_arrangement *r, const tn_step *step) {
  tn_device *d = r->p->devices[step->device->device - 1];
  step->device->inputs = tn_arena_alloc(
      &r->plan->arena, (step->node->node.n_inputs + 1) * sizeof *step->device->inputs);
  tn_status status = step->device->inputs ? TN_OK : TN_ERR_MEMORY;
  for (uint32_t k = 0; k < step->node->node.n_inputs && !status; k++)
    status = get_constant(r, step, k);
  if (status || !step->state) return status;
  r->plan->devices->const_bytes += step->choice->plan.state_bytes;
  return tn_resident_get(r->p->residents, d, step->state, step->state,
                         step->choice->plan.state_bytes, r->diag, &step->device->state);
}

tn_status tn_arrange_residents(tn_arrangement *r) {
  tn_status status = TN_OK;
  for (int32_t k = 0; k < r->plan->n_steps && !status; k++)
    if (r->plan->steps[k].device) status = get_all(r, &r->plan->steps[k]);
  return status;
}
