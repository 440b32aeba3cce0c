/* Inputs and outputs of a run that lie in buffers of the caller's.
 *
 * Where the plan copies an input to the device that the buffer is on, the recording reads the
 * buffer in place of staging; where nothing writes over what it copied, the copy is the buffer
 * itself. Outputs likewise: what a step makes it makes in the buffer, if the value has memory of
 * its own; else the recording copies it there. What is left goes through the host: an input that
 * the CPU or another device reads is brought here before the steps, an output that is not written
 * by a recording is brought there behind them. Either way the results are the same.
 *
 * A recording serves one set of buffers. The latest few are kept, so that two buffers can take
 * turns. */
#include <string.h>

#include "exec/device_buffer.h"
#include "exec/device_frame.h"

/* ---- what the caller has placed ---- */

static const tn_placed *placed(const tn_frame *f, const tn_tensor *t) {
  const bool is_users = f->callable && f->arena == &f->own; /* no subgraph's, no continuation's */
  return is_users ? tn_placed_of(t) : NULL;
}

bool tn_frame_is_placed(const tn_frame *f, const tn_tensor *t) { return placed(f, t) != NULL; }

void tn_frame_note_placed(tn_frame *f, const tn_tensor *t) {
  const tn_placed *p = placed(f, t);
  f->has_placed = f->has_placed || p;
  f->is_only_there = f->is_only_there || (p && !p->is_copy);
}

static tn_end end_of(const tn_placed *p, int64_t bytes) {
  return (tn_end){p->buffer->buffer.device, p->buffer->buffer.handle, p->buffer->number, p->offset,
                  (uint64_t)tn_max_i64(bytes, 0)};
}

static const tn_end *input_end(const tn_setup *s, const tn_recorded *r, int32_t slot) {
  const int32_t root = s->root[slot];
  const tn_slot *at = &s->plan->slots[root];
  return at->place == TN_PLACE_INPUT && r->ends[at->index].buffer ? &r->ends[at->index] : NULL;
}

static tn_end *output_end(const tn_setup *s, const tn_recorded *r, int32_t k) {
  return &r->ends[s->plan->n_inputs + k];
}

static bool is_same_range(const tn_end *a, const tn_end *b) {
  return a->buffer && a->number == b->number && a->offset == b->offset && a->bytes == b->bytes;
}

static bool overlap(const tn_end *a, const tn_end *b) {
  return a->buffer && a->number == b->number && a->offset < b->offset + b->bytes &&
         b->offset < a->offset + a->bytes;
}

static bool is_on(const tn_frame *f, const tn_step *step, const tn_device *d) {
  return step->device && f->planner->devices[step->device->device - 1] == d;
}

static uint64_t bytes_of(const tn_setup *s, int32_t slot) {
  return (uint64_t)tn_max_i64(tn_storage_bytes(s->plan->slots[slot].type), 0);
}

/* ---- outputs that recordings write ---- */

/* The download on `d` that makes all of output k. */
static const tn_step *download_of(const tn_frame *f, const tn_setup *s, int32_t k,
                                  const tn_device *d) {
  const tn_step *step = tn_flow_download(s, k);
  return step && is_on(f, step, d) ? step : NULL;
}

/* Would the recording write over what somebody reads later, or two write the same? */
static bool is_apart(const tn_frame *f, const tn_setup *s, const tn_recorded *r,
                     const tn_step *download, int32_t k) {
  const tn_end *mine = output_end(s, r, k);
  for (int32_t i = 0; i < s->plan->n_inputs; i++) {
    const tn_end *other = &r->ends[i];
    const int32_t slot = s->plan->inputs[i];
    if (!overlap(mine, other) || (tn_flow_is_unread(s, slot) && !tn_flow_n_outputs(s, slot)))
      continue;
    const bool is_under = is_same_range(mine, other) && tn_flow_is_in_place(s, download, i) &&
                          !tn_flow_is_read_here(f, s, slot, mine->device) &&
                          !tn_flow_n_outputs(s, slot);
    if (!is_under) return false;
  }
  for (int32_t i = 0; i < s->plan->n_outputs; i++)
    if (i != k && overlap(mine, output_end(s, r, i))) return false;
  return true;
}

/* ---- values that lie in buffers ---- */

static uint64_t alignment(const tn_end *end) { return end->device->info.offset_alignment; }

static void move(const tn_setup *s, tn_recorded *r, int32_t slot, const tn_end *to,
                 uint64_t offset) {
  r->moved[slot] = (tn_device_range){TN_HEAD(tn_device_range), to->buffer, to->offset + offset,
                                     bytes_of(s, slot)};
}

/* What an upload copies is the buffer itself if nobody writes into it. */
static void move_upload(const tn_setup *s, tn_recorded *r, const tn_step *step, const tn_end *end) {
  const int32_t to = step->node->node.outputs[0];
  const uint64_t offset = s->plan->slots[step->node->node.inputs[0]].offset;
  if (s->root[to] == to && tn_flow_is_only_writer(s, step, to) && offset % alignment(end) == 0)
    move(s, r, to, end, offset);
}

/* What a download copies is made in the buffer if it has memory of its own. */
static void move_download(const tn_setup *s, tn_recorded *r, const tn_step *step,
                          const tn_end *end) {
  const int32_t from = step->node->node.inputs[0];
  const bool is_made = s->plan->slots[from].place == TN_PLACE_ARENA;
  if (s->root[from] == from && is_made && !r->moved[from].buffer) move(s, r, from, end, 0);
}

/* Is output k an input that lies there already? */
static bool is_where_it_was(const tn_setup *s, const tn_recorded *r, int32_t k) {
  const tn_plan *plan = s->plan;
  const int32_t slot =
      plan->continuation && plan->continuation_outputs[k] >= 0 ? -1 : plan->outputs[k];
  const tn_slot *at = slot >= 0 ? &plan->slots[slot] : NULL;
  return at && at->place == TN_PLACE_INPUT && plan->inputs[at->index] == slot &&
         is_same_range(output_end(s, r, k), &r->ends[at->index]);
}

/* Outputs on the input that are not there yet. */
static int32_t n_to_move(const tn_setup *s, const tn_recorded *r, int32_t input) {
  int32_t n = tn_flow_n_outputs(s, s->plan->inputs[input]);
  for (int32_t k = 0; n && k < s->plan->n_outputs; k++)
    n -= s->plan->outputs[k] == s->plan->inputs[input] && is_where_it_was(s, r, k);
  return n;
}

static void choose_places(const tn_frame *f, const tn_setup *s, tn_recorded *r) {
  const tn_plan *plan = s->plan;
  for (int32_t k = 0; k < plan->n_steps; k++) {
    const tn_step *step = &plan->steps[k];
    if (!step->device || step->device->direction != TN_UPLOAD) continue;
    const tn_end *end = input_end(s, r, step->node->node.inputs[0]);
    if (!end || !is_on(f, step, end->device)) continue;
    r->to[k] = end;
    move_upload(s, r, step, end);
  }
  for (int32_t k = 0; k < plan->n_outputs; k++) {
    const tn_end *end = output_end(s, r, k);
    r->is_written[k] = is_where_it_was(s, r, k);
    const tn_step *step = end->buffer ? download_of(f, s, k, end->device) : NULL;
    if (!step || !is_apart(f, s, r, step, k)) continue;
    r->to[step - plan->steps] = end;
    r->is_written[k] = true;
    move_download(s, r, step, end);
  }
  for (int32_t i = 0; i < plan->n_inputs; i++) {
    const tn_end *end = &r->ends[i];
    const int32_t slot = plan->inputs[i];
    r->is_read_here[i] =
        end->buffer && (tn_flow_is_read_here(f, s, slot, end->device) || n_to_move(s, r, i));
  }
}

tn_device_range tn_recorded_end(const tn_setup *s, const tn_recorded *r, int32_t step) {
  const tn_end *end = r->to[step];
  const tn_step *one = &s->plan->steps[step];
  const bool is_up = one->device->direction == TN_UPLOAD;
  const tn_slot *slot =
      &s->plan->slots[is_up ? one->node->node.inputs[0] : one->node->node.outputs[0]];
  return (tn_device_range){TN_HEAD(tn_device_range), end->buffer,
                           end->offset + (is_up ? slot->offset : 0),
                           (uint64_t)tn_max_i64(tn_storage_bytes(slot->type), 0)};
}

/* ---- recordings ---- */

static bool is_same_end(const tn_end *a, const tn_end *b) {
  return a->number == b->number && a->offset == b->offset;
}

static bool serves(const tn_setup *s, const tn_recorded *r, const tn_end *ends) {
  const int64_t n = (int64_t)s->plan->n_inputs + s->plan->n_outputs;
  bool same = r->ends != NULL;
  for (int64_t k = 0; same && k < n; k++) same = is_same_end(&r->ends[k], &ends[k]);
  return same;
}

static void *make(tn_setup *s, int64_t n, size_t size) {
  return tn_arena_alloc(&s->memory, ((uint64_t)n + 1) * size);
}

static tn_status recorded_new(tn_setup *s, tn_recorded *r) {
  const tn_plan *plan = s->plan;
  const int64_t n_ends = (int64_t)plan->n_inputs + plan->n_outputs;
  r->recordings = make(s, plan->devices->n_segments, sizeof *r->recordings);
  r->ends = make(s, n_ends, sizeof *r->ends);
  r->moved = make(s, plan->n_slots, sizeof *r->moved);
  r->to = make(s, plan->n_steps, sizeof *r->to);
  r->is_written = make(s, plan->n_outputs, sizeof *r->is_written);
  r->is_read_here = make(s, plan->n_inputs, sizeof *r->is_read_here);
  const bool ok = r->recordings && r->ends && r->moved && r->to && r->is_written && r->is_read_here;
  return ok ? TN_OK : TN_ERR_MEMORY;
}

void tn_recorded_close(tn_setup *s, tn_recorded *r) {
  for (int32_t k = 0; r->recordings && k < s->plan->devices->n_segments; k++)
    tn_recording_close(&r->recordings[k]);
  r->is_recorded = false;
}

/* One that serves these buffers, or the one that was not used for longest. */
static tn_recorded *find(tn_setup *s, const tn_end *ends) {
  struct tn_device_setup *d = s->devices;
  tn_recorded *oldest = &d->recorded[0];
  for (int k = 0; k < TN_MAX_RECORDED; k++) {
    tn_recorded *r = &d->recorded[k];
    if (serves(s, r, ends)) return r;
    if (r->used < oldest->used) oldest = r;
  }
  return oldest;
}

static void take_ends(tn_setup *s, tn_recorded *r, const tn_end *ends) {
  const tn_plan *plan = s->plan;
  memcpy(r->ends, ends, ((size_t)plan->n_inputs + (size_t)plan->n_outputs) * sizeof *ends);
  memset(r->moved, 0, (size_t)plan->n_slots * sizeof *r->moved);
  memset(r->to, 0, (size_t)plan->n_steps * sizeof *r->to);
  memset(r->is_written, 0, (size_t)plan->n_outputs * sizeof *r->is_written);
  memset(r->is_read_here, 0, (size_t)plan->n_inputs * sizeof *r->is_read_here);
}

static bool is_current(const tn_frame *f, const tn_recorded *r) {
  bool same = r->is_recorded;
  for (uint32_t k = 0; k < f->planner->n_devices; k++)
    same = same && r->versions[k] == f->lanes[k].version;
  return same;
}

static tn_status record(tn_frame *f, tn_setup *s, tn_recorded *r, tn_diag *diag) {
  tn_status status = TN_OK;
  tn_recorded_close(s, r);
  for (int32_t k = 0; k < s->plan->devices->n_segments && !status; k++)
    status = tn_record_segment(f, s, k, diag);
  if (status) return status;
  for (uint32_t k = 0; k < f->planner->n_devices; k++) r->versions[k] = f->lanes[k].version;
  r->is_recorded = true;
  return TN_OK;
}

/* ---- before a run ---- */

static tn_status get_ends(tn_frame *f, const tn_setup *s, const tn_tensor *const *inputs,
                          const tn_tensor *const *bound, tn_end *ends, tn_diag *diag) {
  const tn_plan *plan = s->plan;
  const tn_placed *p;
  for (int32_t k = 0; k < plan->n_inputs; k++)
    if ((p = placed(f, inputs[k]))) ends[k] = end_of(p, tn_storage_bytes(inputs[k]));
  for (int32_t k = 0; k < plan->n_outputs; k++) {
    const bool is_here = !plan->continuation || plan->continuation_outputs[k] < 0;
    if (!is_here || !(p = placed(f, bound ? bound[k] : NULL))) continue;
    const int64_t bytes = tn_storage_bytes(plan->slots[plan->outputs[k]].type);
    char name[TN_TASK_TEXT];
    if (bytes >= 0 && !tn_placed_holds(p, bytes))
      return tn_fail(diag, TN_ERR_SHAPE, "%s has %lld bytes, its buffer has %llu from %llu on",
                     tn_frame_output_text(f, k, name, sizeof name), (long long)bytes,
                     (unsigned long long)p->buffer->bytes, (unsigned long long)p->offset);
    ends[plan->n_inputs + k] = end_of(p, bytes);
  }
  return TN_OK;
}

static tn_status bind(tn_frame *f, tn_setup *s, const tn_end *ends, tn_diag *diag) {
  tn_recorded *r = find(s, ends);
  tn_status status = r->ends ? TN_OK : recorded_new(s, r);
  if (status) return status;
  r->used = ++s->devices->n_used;
  s->devices->now = r;
  if (serves(s, r, ends) && is_current(f, r)) return TN_OK;
  if (r->is_recorded) tn_lanes_settle(f);
  tn_recorded_close(s, r);
  take_ends(s, r, ends);
  choose_places(f, s, r);
  return record(f, s, r, diag);
}

tn_status tn_device_bind(tn_frame *f, tn_setup *s, const tn_tensor *const *inputs,
                         const tn_tensor *const *bound, tn_diag *diag) {
  if (!s->devices) return TN_OK;
  const uint64_t n = (uint64_t)s->plan->n_inputs + (uint64_t)s->plan->n_outputs;
  tn_end *ends = s->devices->ends;
  memset(ends, 0, n * sizeof *ends);
  const tn_status status = get_ends(f, s, inputs, bound, ends, diag);
  return status ? status : bind(f, s, ends, diag);
}

/* ---- through the host ---- */

static tn_status room_for(tn_frame *f, int32_t n) {
  while (f->mirrors.n < n) {
    tn_cell *cell = tn_cell_new(f->a);
    if (!cell) return TN_ERR_MEMORY;
    if (!tn_vec_push(f->a, &f->mirrors, cell)) continue;
    tn_cell_free(cell);
    return TN_ERR_MEMORY;
  }
  return TN_OK;
}

static tn_status mirror(tn_frame *f, const tn_tensor *input, const tn_placed *p, tn_cell *cell) {
  const int64_t bytes = tn_storage_bytes(input);
  tn_tensor type = *input;
  type.object = 0;
  const tn_status status = tn_cell_shape(cell, &type);
  if (status || bytes <= 0) return status;
  return tn_buffer_read(&p->buffer->buffer, p->offset, cell->value.data, (uint64_t)bytes,
                        "reading an input", f->diag);
}

tn_status tn_frame_mirror(tn_frame *f, const tn_tensor *const *inputs) {
  const tn_setup *s = f->now;
  const tn_placed *p;
  for (int32_t k = 0; k < s->plan->n_inputs; k++) {
    if (!(p = placed(f, inputs[k])) || (s->devices && !s->devices->now->is_read_here[k])) continue;
    tn_status status = room_for(f, s->plan->n_inputs);
    if (!status) status = mirror(f, inputs[k], p, f->mirrors.data[k]);
    if (status) return tn_fail(f->diag, status, "input %d cannot be read from its buffer", k);
  }
  return TN_OK;
}

void *tn_frame_mirrored(const tn_frame *f, int32_t index) {
  return index < f->mirrors.n ? f->mirrors.data[index]->value.data : NULL;
}

tn_status tn_frame_finish_placed(tn_frame *f, int32_t k, const tn_tensor *value,
                                 const tn_tensor *bound) {
  const tn_placed *p = placed(f, bound);
  const struct tn_device_setup *d = f->now->devices;
  const int64_t bytes =
      value->kind == TN_KIND_TENSOR && value->dtype != TN_STRING ? tn_storage_bytes(value) : -1;
  if (d && d->now->is_written[k]) return TN_OK;
  if (!tn_placed_holds(p, bytes)) {
    char name[TN_TASK_TEXT], text[TN_TENSOR_TEXT];
    return tn_fail(
        f->diag, TN_ERR_SHAPE, "%s is %s, which does not fit its buffer: %llu bytes from %llu on",
        tn_frame_output_text(f, k, name, sizeof name), tn_tensor_text(value, text, sizeof text),
        (unsigned long long)p->buffer->bytes, (unsigned long long)p->offset);
  }
  return bytes ? tn_buffer_write(&p->buffer->buffer, p->offset, value->data, (uint64_t)bytes,
                                 "writing an output", f->diag)
               : TN_OK;
}
