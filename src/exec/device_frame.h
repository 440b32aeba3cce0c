/* The part of a frame that is on devices.
 *
 *   device_frame.c   queues and arenas of a frame; staging and recordings of a plan
 *   device_record.c  steps -> commands
 *   device_run.c     submitting segments, waiting for them
 *
 * A frame whose plans are all for the CPU has none of it. */
#ifndef TN_EXEC_DEVICE_FRAME_H
#define TN_EXEC_DEVICE_FRAME_H

#include "device/device.h"
#include "exec/frame.h"

/* Of a frame, per device of the planner: made when the first plan needs it. */
struct tn_lane {
  tn_device *device;
  void *queue;    /* NULL: not yet */
  uint64_t mark;  /* of the last submission */
  uint64_t ended; /* the last that was waited for */
  tn_buffer arena;
  uint64_t version; /* of the arena: recordings of another one are of no use any more */
};

/* Of a setup: a plan of which at least one step is on a device. */
struct tn_device_setup {
  tn_recording *recordings; /* per segment */
  uint64_t *marks, *begun_ns;
  void **programs; /* per step; kernels of the CPU only */
  bool is_recorded;
  uint64_t versions[TN_MAX_DEVICES]; /* of the arenas that recordings know */
  tn_buffer up[TN_MAX_DEVICES], down[TN_MAX_DEVICES];
};

/* Memory, programs and recordings for the plan of the setup; what is there already stays. */
tn_status tn_device_setup_place(tn_frame *f, tn_setup *s, tn_diag *diag);
void tn_device_setup_close(tn_frame *f, tn_setup *s);
void tn_lanes_close(tn_frame *f);
static inline struct tn_lane *tn_lane_of(const tn_frame *f, uint32_t device) {
  return &f->lanes[device - 1];
}

/* device_record.c */
tn_status tn_record_segment(tn_frame *f, tn_setup *s, int32_t segment, tn_diag *diag);

/* device_run.c. Errors are in the frame's diag. */
tn_status tn_segment_submit(tn_frame *f, int32_t segment);
tn_status tn_segment_wait(tn_frame *f, int32_t segment);
/* Waits for all that was submitted, whatever comes of it. */
void tn_lanes_drain(tn_frame *f);
/* Devices that refused memory to this model are not asked again; false: there is none. */
bool tn_frame_give_up_full(const tn_frame *f);
bool tn_frame_has_lost(const tn_frame *f);      /* a device of the model */
void tn_frame_check_process(const tn_frame *f); /* tn_device_check_process of each of them */
/* Is a device of the plan lost, and may the model run without it? */
bool tn_frame_may_do_without(const tn_frame *f);

#endif
