/* The part of a frame that is on devices.
 *
 *   device_frame.c   queues and arenas of a frame; staging and recordings of a plan
 *   device_bind.c    inputs and outputs in buffers of the caller's; the recordings for them
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
  uint64_t seen;  /* the last that has ended by more than the driver's word (tn_device_settle) */
  tn_buffer arena;
  uint64_t version; /* of the arena: recordings of another one are of no use any more */
};

/* Where an input or an output lies, if that is a buffer of the caller's. */
typedef struct tn_end {
  tn_device *device;
  void *buffer;    /* NULL: in memory */
  uint64_t number; /* of the buffer; 0: none */
  uint64_t offset, bytes;
} tn_end;

/* The recordings of a plan, for one set of buffers of the caller's. */
typedef struct tn_recorded {
  tn_recording *recordings; /* per segment */
  bool is_recorded;
  uint64_t versions[TN_MAX_DEVICES]; /* of the arenas that they know */
  uint64_t used;                     /* the highest is the latest */
  tn_end *ends;                      /* of the inputs, then of the outputs; NULL: nothing is here */
  tn_device_range *moved; /* per slot: where it lies, not in the arena; no buffer: there */
  const tn_end **to; /* per step: what a transfer copies from or to, in place of staging; or NULL */
  bool *is_written;  /* per output: into its buffer, by a recording */
  bool *is_read_here; /* per input: the host has to see what is in its buffer */
} tn_recorded;

enum { TN_MAX_RECORDED = 4 };

struct tn_flow; /* who writes and reads what: device_flow.c */

/* Of a setup: a plan of which at least one step is on a device. */
struct tn_device_setup {
  tn_recorded recorded[TN_MAX_RECORDED], *now;
  uint64_t n_used;
  struct tn_flow *flow;
  tn_end *ends; /* of the run that begins */
  uint64_t *marks, *begun_ns;
  uint64_t first_ns; /* the longest that a first run of a recording took */
  void **programs;   /* per step; kernels of the CPU only */
  tn_buffer up[TN_MAX_DEVICES], down[TN_MAX_DEVICES];
};

/* Memory and programs for the plan of the setup; what is there already stays. */
tn_status tn_device_setup_place(tn_frame *f, tn_setup *s, tn_diag *diag);
/* False: a device hangs, and may still read the calls and the plan of the setup. */
bool tn_device_setup_close(tn_frame *f, tn_setup *s);
void tn_lanes_close(tn_frame *f);
static inline struct tn_lane *tn_lane_of(const tn_frame *f, uint32_t device) {
  return &f->lanes[device - 1];
}

/* device_flow.c. Slots that own memory are roots; all that is said of one holds for what lies on
 * it, too. */
tn_status tn_flow_fill(tn_setup *s);
/* Is all that lies on the root written by this step? */
bool tn_flow_is_only_writer(const tn_setup *s, const tn_step *step, int32_t root);
/* Does anybody on the host read it but uploads to `d`? NULL: uploads count, too. */
bool tn_flow_is_read_here(const tn_frame *f, const tn_setup *s, int32_t root, const tn_device *d);
bool tn_flow_is_unread(const tn_setup *s, int32_t root); /* it may be an output */
int32_t tn_flow_n_outputs(const tn_setup *s, int32_t root);
/* The download that makes all of output k, which nobody else on the host has to do with; NULL:
 * there is none. */
const tn_step *tn_flow_download(const tn_setup *s, int32_t k);
/* Has the planner made the value that is downloaded in the memory of the input's copy? Then it may
 * be made in the buffer of the input, too. */
bool tn_flow_is_in_place(const tn_setup *s, const tn_step *download, int32_t input);

/* Where an input lies best that the run's output is the next value of. device NULL: in memory. */
typedef struct tn_home {
  const tn_device *device;
  bool is_twice;    /* the output cannot be made in the buffer of the input */
  bool is_the_same; /* the output is the input */
  bool is_anywhere; /* and nobody reads it */
} tn_home;

tn_home tn_frame_home(const tn_frame *f, int32_t input, int32_t output);

/* device_bind.c: recordings for these inputs and outputs, made if there are none. */
tn_status tn_device_bind(tn_frame *f, tn_setup *s, const tn_tensor *const *inputs,
                         const tn_tensor *const *bound, tn_diag *diag);
void tn_recorded_close(tn_setup *s, tn_recorded *r);
/* What a transfer copies from or to, where r->to[step] is set. */
tn_device_range tn_recorded_end(const tn_setup *s, const tn_recorded *r, int32_t step);
/* Is it in a buffer on a device? */
bool tn_frame_is_placed(const tn_frame *f, const tn_tensor *t);
void tn_frame_note_placed(tn_frame *f, const tn_tensor *t); /* for has_placed, is_only_there */
/* Brings inputs here that the host reads; where input `index` is then, NULL: it was not brought. */
tn_status tn_frame_mirror(tn_frame *f, const tn_tensor *const *inputs);
void *tn_frame_mirrored(const tn_frame *f, int32_t index);
/* Brings output k to its buffer, unless a recording has. */
tn_status tn_frame_finish_placed(tn_frame *f, int32_t k, const tn_tensor *value,
                                 const tn_tensor *bound);

/* device_record.c */
tn_status tn_record_segment(tn_frame *f, tn_setup *s, int32_t segment, tn_diag *diag);

/* device_run.c. Before what the queue has used is freed: has it ended? If not, the device is lost,
 * and perhaps hangs. NULL is legal. */
void tn_lanes_settle(tn_frame *f);

/* Errors are in the frame's diag. */
tn_status tn_segment_submit(tn_frame *f, int32_t segment);
tn_status tn_segment_wait(tn_frame *f, int32_t segment);
/* Waits for all that was submitted, whatever comes of it. */
void tn_lanes_drain(tn_frame *f);
/* Devices that refused this model what it needs are not asked again; false: there is none. */
bool tn_frame_give_up_full(const tn_frame *f);
/* They are asked again. */
void tn_frame_forgive(const tn_frame *f);
bool tn_frame_has_lost(const tn_frame *f);      /* a device of the model */
void tn_frame_check_process(const tn_frame *f); /* tn_device_check_process of each of them */
/* Is a device of the plan lost, and may the model run without it? */
bool tn_frame_may_do_without(const tn_frame *f);

#endif
