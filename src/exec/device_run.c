/* A run on devices: segments are submitted, and waited for where the plan says so. What the host
 * gives is copied to staging before, what it gets from staging behind it. */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "exec/device_frame.h"
#include "exec/profile.h"

/* ---- staging ---- */

static void stage_up(const tn_setup *s, const tn_step *step, const tn_buffer *staging) {
  const tn_tensor *from = &s->values[step->node->node.inputs[0]];
  const int64_t bytes = tn_storage_bytes(from);
  if (bytes > 0)
    memcpy((uint8_t *)staging->map + step->device->staging_offset, from->data, (size_t)bytes);
}

static void stage_down(const tn_setup *s, const tn_step *step, const tn_buffer *staging) {
  const tn_tensor *to = &s->values[step->node->node.outputs[0]];
  const int64_t bytes = tn_storage_bytes(to);
  if (bytes > 0)
    memcpy(to->data, (const uint8_t *)staging->map + step->device->staging_offset, (size_t)bytes);
}

/* All transfers of a segment in this direction; true: there was one. */
static bool stage(const tn_setup *s, const tn_segment *what, tn_direction direction) {
  const tn_buffer *all = direction == TN_UPLOAD ? s->devices->up : s->devices->down;
  bool any = false;
  for (int32_t k = what->first_step; k < what->first_step + what->n_steps; k++) {
    const tn_step *step = &s->plan->steps[k];
    if (step->device->direction != direction) continue;
    if (s->devices->now->to[k]) continue;
    any = true;
    (direction == TN_UPLOAD ? stage_up : stage_down)(s, step, &all[what->device - 1]);
  }
  return any;
}

/* ---- canaries in what comes down ---- */

/* A driver's wait() may say too early that work has ended. So before each submission the end of
 * every download in staging gets a canary, eight bytes that change with each run: where it is still
 * there behind wait(), an output is equal to it by chance, or the driver lies; the device is asked
 * then (tn_device_settle). That costs the host some stores, and the device nothing. Where staging
 * has to be synchronised the host does not write to what the device writes. */
static uint64_t canary_of(uint64_t mark) { return (mark + 1) * UINT64_C(0x9e3779b97f4a7c15); }

/* Puts the canary there, or answers whether a download still has it. */
static bool canary_downloads(const tn_setup *s, const tn_segment *what, uint64_t mark, bool puts) {
  const tn_buffer *staging = &s->devices->down[what->device - 1];
  const uint64_t canary = canary_of(mark);
  bool is_there = false;
  if (!staging->handle || staging->device->def->driver.buffer_sync) return false;
  for (int32_t k = what->first_step; k < what->first_step + what->n_steps; k++) {
    const tn_step *step = &s->plan->steps[k];
    if (step->device->direction != TN_DOWNLOAD || s->devices->now->to[k]) continue;
    const int64_t bytes = tn_storage_bytes(&s->values[step->node->node.outputs[0]]);
    const size_t n = bytes < (int64_t)sizeof canary ? (size_t)bytes : sizeof canary;
    uint8_t *end = (uint8_t *)staging->map + step->device->staging_offset + bytes - n;
    if (bytes <= 0) continue;
    if (puts)
      memcpy(end, &canary, n);
    else
      is_there = is_there || !memcmp(end, &canary, n);
  }
  return is_there;
}

static tn_status sync(const tn_setup *s, const tn_segment *what, tn_direction direction) {
  const tn_buffer *b =
      &(direction == TN_UPLOAD ? s->devices->up : s->devices->down)[what->device - 1];
  return tn_buffer_sync(b, 0, b->bytes, direction == TN_UPLOAD);
}

/* ---- errors ---- */

bool tn_frame_may_do_without(const tn_frame *f) {
  const tn_plan *plan = f->now ? f->now->plan : NULL;
  if (!plan || !plan->devices || f->planner->fallback == TN_FALLBACK_FORBID || f->is_only_there)
    return false;
  for (int32_t k = 0; k < plan->n_outputs; k++)
    if (f->now->bindings[k].bound && f->now->bindings[k].over >= 0)
      return false; /* an input is gone */
  for (int32_t k = 0; k < plan->devices->n_segments; k++)
    if (tn_device_is_lost(f->planner->devices[plan->devices->segments[k].device - 1])) return true;
  return false;
}

/* Names the device, the segment and its first and last node. */
static tn_status queue_fail(tn_frame *f, int32_t segment, tn_status status, const char *text) {
  const tn_plan *plan = f->now->plan;
  const tn_segment *s = &plan->devices->segments[segment];
  const tn_step *first = &plan->steps[s->first_step], *last = first + s->n_steps - 1;
  const bool goes_on = status == TN_ERR_IO && tn_frame_may_do_without(f);
  tn_diag_add(f->diag, goes_on ? TN_DIAG_WARNING : TN_DIAG_ERROR,
              "device '%s'%s, segment %d of %d, nodes '%s' (%s) to '%s' (%s): %s%s",
              f->planner->devices[s->device - 1]->name, status == TN_ERR_IO ? " is lost" : "",
              segment + 1, plan->devices->n_segments, first->node->node.name, first->node->node.op,
              last->node->node.name, last->node->node.op, text,
              goes_on ? "; the model runs again without it" : "");
  return status;
}

/* ---- running ---- */

tn_status tn_segment_submit(tn_frame *f, int32_t segment) {
  const tn_setup *s = f->now;
  const tn_segment *what = &s->plan->devices->segments[segment];
  struct tn_lane *lane = tn_lane_of(f, what->device);
  tn_status status = stage(s, what, TN_UPLOAD) ? sync(s, what, TN_UPLOAD) : TN_OK;
  if (status) return queue_fail(f, segment, status, "staging fails");
  if (tn_device_is_lost(lane->device))
    return queue_fail(f, segment, TN_ERR_IO, "it was lost before");
  tn_device_talk t;
  tn_device_talk_open(&t, lane->device);
  const bool is_new = !s->devices->now->recordings[segment].has_ended;
  s->devices->begun_ns[segment] = f->profile || is_new ? tn_now_ns() : 0;
  canary_downloads(s, what, lane->mark + 1, true);
  status = tn_device_answer_submit(
      &t, lane->device->def->driver.submit(
              &t.call, lane->queue, s->devices->now->recordings[segment].handle, lane->mark + 1));
  tn_device_talk_close(&t);
  if (status) return queue_fail(f, segment, status, t.text);
  s->devices->marks[segment] = ++lane->mark;
  return TN_OK;
}

/* Is a recording submitted there that has never ended before? */
static bool is_first(const tn_setup *s, uint32_t device) {
  const tn_device_plan *plan = s->plan->devices;
  for (int32_t k = 0; k < plan->n_segments; k++)
    if (plan->segments[k].device == device && s->devices->marks[k] &&
        !s->devices->now->recordings[k].has_ended)
      return true;
  return false;
}

/* Some drivers compile a program when it is first dispatched (lavapipe, llvmpipe): that takes
 * seconds for a large model, more where the processor is busy; there the estimate says little, and
 * what first runs took says more. */
static double limit_of(const tn_frame *f, uint32_t device, double cost_ns) {
  const double limit_ns = (is_first(f->now, device) ? 120e9 : 10e9) + 20 * cost_ns;
  const double first_ns = (double)f->now->devices->first_ns;
  return limit_ns > 20 * first_ns ? limit_ns : 20 * first_ns;
}

static void note_first(const tn_setup *s, int32_t segment) {
  const uint64_t ns = tn_now_ns() - s->devices->begun_ns[segment];
  if (ns > s->devices->first_ns) s->devices->first_ns = ns;
}

static tn_status wait_for(const tn_frame *f, uint32_t device, uint64_t mark, double cost_ns,
                          tn_device_talk *t) {
  struct tn_lane *lane = tn_lane_of(f, device);
  tn_device_talk_open(t, lane->device);
  const tn_status status = tn_device_wait(t, lane->queue, mark, limit_of(f, device, cost_ns));
  tn_device_talk_close(t);
  lane->ended = mark;
  return status;
}

/* What has ended by the driver's word: has it? */
static tn_status settle(struct tn_lane *lane, double limit_ns, tn_diag *diag, tn_device_talk *t) {
  *t->text = 0;
  if (!lane->queue || lane->seen == lane->mark || tn_device_is_lost(lane->device)) return TN_OK;
  const tn_status status =
      tn_device_settle(lane->device, lane->queue, &lane->mark, limit_ns, diag, t);
  lane->ended = lane->seen = lane->mark;
  if (status && !*t->text)
    snprintf(t->text, sizeof t->text, "nothing tells when it has ended: %s",
             tn_status_text(status));
  return status;
}

void tn_lanes_settle(tn_frame *f) {
  tn_device_talk t;
  for (uint32_t k = 0; f->lanes && k < f->planner->n_devices; k++)
    (void)settle(&f->lanes[k], 10e9, NULL, &t);
}

/* Has the driver said of these segments that they have ended, and what comes down has not come? */
static bool is_doubtful(const tn_setup *s, int32_t segment) {
  const tn_segment *all = s->plan->devices->segments;
  bool is = false;
  for (int32_t k = 0; k <= segment; k++)
    if (all[k].device == all[segment].device && s->devices->marks[k])
      is = is || canary_downloads(s, &all[k], s->devices->marks[k], false);
  return is;
}

static void add_event(tn_frame *f, const tn_segment *segment, uint64_t begin_ns) {
  const tn_step *step = &f->now->plan->steps[segment->first_step];
  const uint64_t end_ns = tn_now_ns();
  tn_profile_add(f->profile, step, begin_ns, end_ns);
  tn_profile_add_span(f->profile, f->profile->n_threads + segment->device - 1, step, begin_ns,
                      end_ns);
}

tn_status tn_segment_wait(tn_frame *f, int32_t segment) {
  const tn_setup *s = f->now;
  const tn_segment *what = &s->plan->devices->segments[segment];
  tn_device_talk t;
  const bool is_new = !s->devices->now->recordings[segment].has_ended;
  tn_status status = wait_for(f, what->device, s->devices->marks[segment], s->plan->cost_ns, &t);
  if (!status && (is_new || is_doubtful(s, segment)))
    status = settle(tn_lane_of(f, what->device), limit_of(f, what->device, s->plan->cost_ns),
                    f->diag, &t);
  if (status) return queue_fail(f, segment, status, t.text);
  if (is_new) note_first(s, segment);
  for (int32_t k = 0; k <= segment; k++) { /* the queue is in order: those before have ended, too */
    const tn_segment *one = &s->plan->devices->segments[k];
    if (one->device != what->device || !s->devices->marks[k]) continue;
    s->devices->marks[k] = 0;
    s->devices->now->recordings[k].has_ended = true;
    status = sync(s, one, TN_DOWNLOAD);
    if (status) return queue_fail(f, k, status, "staging fails");
    stage(s, one, TN_DOWNLOAD);
    if (f->profile) add_event(f, one, s->devices->begun_ns[k]);
  }
  return TN_OK;
}

void tn_lanes_drain(tn_frame *f) {
  tn_device_talk t;
  for (uint32_t k = 0; f->lanes && k < f->planner->n_devices; k++) {
    struct tn_lane *lane = &f->lanes[k];
    if (lane->ended == lane->mark || atomic_load(&lane->device->hangs)) continue;
    (void)wait_for(f, k + 1, lane->mark, 0, &t);
  }
  for (int32_t k = 0; k < f->now->plan->devices->n_segments; k++) f->now->devices->marks[k] = 0;
}
