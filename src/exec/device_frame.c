/* Queues and arenas of a frame on devices; staging, programs and recordings of its plans. */
#include "exec/device_frame.h"

#include <string.h>

/* ---- lanes ---- */

static tn_status open_queue(struct tn_lane *lane, tn_diag *diag) {
  if (lane->queue) return TN_OK;
  tn_device_talk t;
  tn_device_talk_open(&t, lane->device);
  const tn_status status = tn_device_made(
      &t, lane->device->def->driver.queue_new(&t.call, lane->device->handle, &lane->queue),
      "queue_new", &lane->queue);
  tn_device_talk_close(&t);
  return tn_device_report(&t, status, diag, "a queue");
}

/* Nothing of this frame runs there now. */
static tn_status grow_arena(tn_frame *f, struct tn_lane *lane, uint64_t bytes, tn_diag *diag) {
  if (bytes <= lane->arena.bytes) return TN_OK;
  tn_lanes_settle(f);
  tn_buffer_close(&lane->arena);
  lane->arena.bytes = 0;
  lane->version++;
  return tn_buffer_open(lane->device, bytes, TN_BUFFER_DEVICE, "the arena", diag, &lane->arena);
}

static tn_status open_lanes(tn_frame *f, const tn_plan *plan, tn_diag *diag) {
  const tn_planner *p = f->planner;
  if (!f->lanes) {
    f->lanes = tn_alloc(f->a, p->n_devices * sizeof *f->lanes);
    if (!f->lanes) return TN_ERR_MEMORY;
    for (uint32_t k = 0; k < p->n_devices; k++) f->lanes[k].device = p->devices[k];
  }
  tn_status status = TN_OK;
  for (int32_t k = 0; k < plan->devices->n_segments && !status; k++) {
    const uint32_t device = plan->devices->segments[k].device;
    struct tn_lane *lane = tn_lane_of(f, device);
    status = open_queue(lane, diag);
    if (!status) status = grow_arena(f, lane, plan->devices->arena_bytes[device - 1], diag);
  }
  return status;
}

/* What hangs may still touch its memory: all of it is left to it. */
static bool is_left_alone(const tn_device *d) { return atomic_load(&d->hangs) != 0; }

void tn_lanes_close(tn_frame *f) {
  if (!f->lanes) return;
  tn_lanes_settle(f);
  for (uint32_t k = 0; k < f->planner->n_devices; k++) {
    struct tn_lane *lane = &f->lanes[k];
    if (!lane->queue || is_left_alone(lane->device)) continue;
    tn_device_talk t;
    tn_device_talk_open(&t, lane->device);
    lane->device->def->driver.queue_free(&t.call, lane->queue);
    tn_device_talk_close(&t);
    tn_buffer_close(&lane->arena);
  }
  tn_free(f->a, f->lanes, f->planner->n_devices * sizeof *f->lanes);
  f->lanes = NULL;
}

/* ---- the setup of a plan ---- */

static void *make(tn_setup *s, int64_t n, size_t size) {
  return tn_arena_alloc(&s->memory, ((uint64_t)n + 1) * size);
}

static tn_status setup_new(tn_setup *s) {
  const tn_device_plan *plan = s->plan->devices;
  s->devices = make(s, 1, sizeof *s->devices);
  if (!s->devices) return TN_ERR_MEMORY;
  s->devices->ends =
      make(s, (int64_t)s->plan->n_inputs + s->plan->n_outputs, sizeof *s->devices->ends);
  s->devices->marks = make(s, plan->n_segments, sizeof *s->devices->marks);
  s->devices->begun_ns = make(s, plan->n_segments, sizeof *s->devices->begun_ns);
  s->devices->programs = make(s, s->plan->n_steps, sizeof *s->devices->programs);
  const bool ok =
      s->devices->ends && s->devices->marks && s->devices->begun_ns && s->devices->programs;
  return ok ? tn_flow_fill(s) : TN_ERR_MEMORY;
}

static tn_status open_staging(tn_frame *f, tn_setup *s, uint32_t k, tn_diag *diag) {
  struct tn_device_setup *d = s->devices;
  const tn_device_plan *plan = s->plan->devices;
  tn_device *device = f->planner->devices[k];
  tn_status status = TN_OK;
  if (!d->up[k].handle)
    status =
        tn_buffer_open(device, plan->up_bytes[k], TN_BUFFER_UPLOAD, "staging", diag, &d->up[k]);
  if (!status && !d->down[k].handle)
    status = tn_buffer_open(device, plan->down_bytes[k], TN_BUFFER_DOWNLOAD, "staging", diag,
                            &d->down[k]);
  return status;
}

static tn_status build_programs(tn_frame *f, tn_setup *s, tn_diag *diag) {
  tn_status status = TN_OK;
  for (int32_t k = 0; k < s->plan->n_steps && !status; k++) {
    const tn_step *step = &s->plan->steps[k];
    if (!step->device || step->device->direction || step->choice->def->device ||
        s->devices->programs[k])
      continue;
    status = tn_device_host_program_new(f->planner->devices[step->device->device - 1],
                                        &step->choice->def->kernel, diag, &s->devices->programs[k]);
  }
  return status;
}

tn_status tn_device_setup_place(tn_frame *f, tn_setup *s, tn_diag *diag) {
  if (!s->plan->devices) return TN_OK;
  tn_status status = open_lanes(f, s->plan, diag);
  if (!status && !s->devices) status = setup_new(s);
  for (uint32_t k = 0; k < f->planner->n_devices && !status; k++)
    status = open_staging(f, s, k, diag);
  return status ? status : build_programs(f, s, diag);
}

static bool hangs(const tn_frame *f, const tn_plan *plan) {
  for (int32_t k = 0; k < plan->devices->n_segments; k++)
    if (is_left_alone(f->planner->devices[plan->devices->segments[k].device - 1])) return true;
  return false;
}

bool tn_device_setup_close(tn_frame *f, tn_setup *s) {
  struct tn_device_setup *d = s->devices;
  if (!d) return true;
  tn_lanes_settle(f);
  if (hangs(f, s->plan)) return false;
  for (int k = 0; k < TN_MAX_RECORDED; k++) tn_recorded_close(s, &d->recorded[k]);
  for (int32_t k = 0; d->programs && k < s->plan->n_steps; k++)
    if (d->programs[k])
      tn_device_program_free(f->planner->devices[s->plan->steps[k].device->device - 1],
                             d->programs[k]);
  for (uint32_t k = 0; k < f->planner->n_devices; k++) {
    tn_buffer_close(&d->up[k]);
    tn_buffer_close(&d->down[k]);
  }
  return true;
}

bool tn_frame_give_up_full(const tn_frame *f) {
  const tn_planner *p = f->planner;
  bool any = false;
  for (uint32_t k = 0; k < p->n_devices; k++) {
    const uint32_t bit = UINT32_C(1) << k;
    if (!atomic_exchange(&p->devices[k]->refused, 0)) continue;
    any = !(atomic_fetch_or(p->full, bit) & bit) || any;
  }
  return any;
}

void tn_frame_forgive(const tn_frame *f) {
  for (uint32_t k = 0; k < f->planner->n_devices; k++)
    atomic_store(&f->planner->devices[k]->refused, 0);
}

void tn_frame_check_process(const tn_frame *f) {
  for (uint32_t k = 0; k < f->planner->n_devices; k++)
    tn_device_check_process(f->planner->devices[k]);
}

bool tn_frame_has_lost(const tn_frame *f) {
  for (uint32_t k = 0; k < f->planner->n_devices; k++)
    if (tn_device_is_lost(f->planner->devices[k])) return true;
  return false;
}
