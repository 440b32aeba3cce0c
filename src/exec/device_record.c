/* From the steps of a segment to the commands of a recording. */
#include <string.h>

#include "exec/device_frame.h"

typedef struct segment_recorder {
  tn_frame *f;
  tn_setup *s;
  tn_recording *recording;
  const tn_step *step;
  tn_task *task;
  tn_diag *diag;
} segment_recorder;

/* ---- where things lie ---- */

static tn_device_range range(void *buffer, uint64_t offset, uint64_t bytes) {
  return (tn_device_range){TN_HEAD(tn_device_range), bytes ? buffer : NULL, offset, bytes};
}

static void *arena_of(const segment_recorder *r) {
  return tn_lane_of(r->f, r->step->device->device)->arena.handle;
}

static tn_device_range slot_range(const segment_recorder *r, int32_t index, tn_resident *constant) {
  const tn_slot *slot = index < 0 ? NULL : &r->s->plan->slots[index];
  const int64_t bytes = slot ? tn_storage_bytes(slot->type) : 0;
  if (bytes <= 0) return range(NULL, 0, 0);
  const int32_t root = r->s->root[index];
  const tn_device_range *moved = &r->s->devices->now->moved[root];
  if (moved->buffer)
    return range(moved->buffer, moved->offset + slot->offset - r->s->plan->slots[root].offset,
                 (uint64_t)bytes);
  if (slot->place == TN_PLACE_CONST)
    return range(constant ? constant->buffer.handle : NULL, slot->offset, (uint64_t)bytes);
  return range(slot->place == TN_PLACE_ARENA ? arena_of(r) : NULL, slot->offset, (uint64_t)bytes);
}

static tn_device_range input_range(const segment_recorder *r, uint32_t k) {
  tn_resident *const *constants = r->step->device->inputs;
  const bool is_packed = k < 64 && r->step->packed >> k & 1;
  return slot_range(r, is_packed ? -1 : r->step->node->node.inputs[k],
                    constants ? constants[k] : NULL);
}

static tn_device_range state_range(const segment_recorder *r) {
  const tn_resident *state = r->step->device->state;
  return range(state ? state->buffer.handle : NULL, 0,
               state ? r->step->choice->plan.state_bytes : 0);
}

/* ---- commands ---- */

static bool is_same(const tn_device_range *a, const tn_device_range *b) {
  return a->buffer == b->buffer && a->offset == b->offset;
}

static tn_status record_transfer(segment_recorder *r, int32_t index) {
  const tn_device_step *d = r->step->device;
  const struct tn_device_setup *setup = r->s->devices;
  const uint32_t k = d->device - 1;
  const bool is_up = d->direction == TN_UPLOAD;
  const tn_device_range there =
      is_up ? slot_range(r, r->step->node->node.outputs[0], NULL) : input_range(r, 0);
  const tn_device_range outside = setup->now->to[index]
                                      ? tn_recorded_end(r->s, setup->now, index)
                                      : range(is_up ? setup->up[k].handle : setup->down[k].handle,
                                              d->staging_offset, there.bytes);
  if (!there.bytes || is_same(&there, &outside)) return TN_OK;
  return tn_recording_copy(r->recording, is_up ? &outside : &there, is_up ? &there : &outside,
                           r->diag);
}

typedef struct argument_ranges {
  tn_device_range *all;
  const tn_device_range **pointers;
  bool *writes;
  uint32_t n;
} argument_ranges;

static void add(argument_ranges *a, tn_device_range one, bool is_written) {
  a->all[a->n] = one;
  a->pointers[a->n] = &a->all[a->n];
  a->writes[a->n++] = is_written;
}

static void fill_ranges(const segment_recorder *r, argument_ranges *a) {
  const tn_step *step = r->step;
  const tn_call *call = &r->task->call;
  for (uint32_t k = 0; k < step->node->node.n_inputs; k++) add(a, input_range(r, k), false);
  for (uint32_t k = 0; k < step->node->node.n_outputs; k++)
    add(a, slot_range(r, step->node->node.outputs[k], NULL), true);
  add(a, state_range(r), false);
  add(a, range(arena_of(r), step->scratch_offset, call->scratch_bytes), true);
  add(a,
      range(arena_of(r), step->worker_scratch_offset, call->worker_scratch_bytes * call->n_workers),
      true);
}

static tn_status dispatch_host_kernel(segment_recorder *r, const argument_ranges *a,
                                      void *program) {
  const tn_host_kernel_params params = {&r->task->call, &r->step->choice->plan,
                                        tn_node_entries(r->step->node, false),
                                        tn_node_entries(r->step->node, true)};
  const tn_dispatch dispatch = {.head = TN_HEAD(tn_dispatch),
                                .params_bytes = sizeof params,
                                .groups = {1, 1, 1},
                                .params = &params};
  return tn_recording_dispatch(r->recording, program, a->pointers, a->writes, a->n, &dispatch,
                               r->diag);
}

/* program: of a kernel of the CPU, on a device that runs such. */
static tn_status record_kernel(segment_recorder *r, void *program) {
  const uint64_t n = (uint64_t)r->step->node->node.n_inputs + r->step->node->node.n_outputs + 3;
  tn_arena arena;
  tn_arena_init(&arena, r->f->a);
  argument_ranges a = {.all = tn_arena_alloc(&arena, n * sizeof *a.all),
                       .pointers = tn_arena_alloc(&arena, n * sizeof *a.pointers),
                       .writes = tn_arena_alloc(&arena, n * sizeof *a.writes)};
  tn_status status = a.all && a.pointers && a.writes ? TN_OK : TN_ERR_MEMORY;
  if (!status) {
    fill_ranges(r, &a);
    status = r->step->choice->def->device
                 ? tn_device_kernel_record(r->recording, r->step->choice->def, &r->task->call,
                                           a.all, r->diag)
                 : dispatch_host_kernel(r, &a, program);
  }
  tn_arena_clear(&arena);
  return status;
}

static tn_status record_step(segment_recorder *r, int32_t index) {
  r->step = &r->s->plan->steps[index];
  r->task = &r->s->tasks[index];
  if (r->step->device->direction) return record_transfer(r, index);
  return record_kernel(r, r->s->devices->programs[index]);
}

tn_status tn_record_segment(tn_frame *f, tn_setup *s, int32_t segment, tn_diag *diag) {
  const tn_segment *what = &s->plan->devices->segments[segment];
  tn_recording *recording = &s->devices->now->recordings[segment];
  segment_recorder r = {.f = f, .s = s, .recording = recording, .diag = diag};
  tn_status status = tn_recording_begin(recording, f->planner->devices[what->device - 1], diag);
  for (int32_t k = what->first_step; k < what->first_step + what->n_steps && !status; k++)
    status = record_step(&r, k);
  return status ? status : tn_recording_end(recording, diag);
}
