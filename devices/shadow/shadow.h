/* The shadow device: the CPU in disguise. It has memory that the host may not touch, a thread that
 * works off recordings with delays, commands in any order between two barriers, and faults on
 * demand. What the host forgets - a transfer, a barrier, a wait - shows here, always, where a GPU
 * shows it now and then.
 *
 *   driver.c     the table: device, memory, programs
 *   recording.c  commands, and running them
 *   queue.c      the thread
 *   settings.c   what TENON_SHADOW says */
#ifndef TN_SHADOW_H
#define TN_SHADOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tenon/device.h"

/* What is to fail: the n-th call of its kind from now on (1 is the next); 0: none, -1: all. */
typedef struct shadow_faults {
  int64_t open, buffer, map, program, queue, record, submit, lost, hang;
} shadow_faults;

typedef struct shadow_settings {
  uint64_t seed;
  uint64_t delay_us;  /* at most, before each submission */
  uint64_t hide;      /* operators of 100 that it has no kernel for, by chance */
  uint64_t memory;    /* bytes that it has; 0: no limit */
  uint64_t alignment; /* of offsets */
  uint64_t devices;
  uint64_t speed;   /* of a hundred times the CPU's */
  bool in_order;    /* commands are not shuffled */
  bool open_memory; /* the host may touch it */
  shadow_faults faults;
} shadow_settings;

/* TENON_SHADOW: "delay=50,hide=30,fault=lost@2". TN_ERR_INVALID: it says something else. */
tn_status shadow_settings_read(const tn_device_call *c, shadow_settings *out);

typedef struct shadow_device {
  shadow_settings settings;
  pthread_mutex_t lock; /* memory that is open, faults, bytes */
  uint64_t bytes;       /* that buffers have */
  atomic_bool lost;
} shadow_device;

/* Counts a call; true: it is the one that fails. Under no lock. */
bool shadow_fails(shadow_device *d, int64_t *fault);

typedef struct shadow_buffer {
  shadow_device *device;
  uint8_t *data;
  uint64_t bytes, mapped;
  uint32_t use;
  uint64_t n_runs;
  bool is_open;    /* the host could touch it now */
  int32_t n_users; /* recordings that run with it: open to the device's thread, and so to all */
} shadow_buffer;
void shadow_buffer_enter(shadow_buffer *b);
void shadow_buffer_leave(shadow_buffer *b);

typedef struct shadow_program {
  const tn_kernel *kernel; /* NULL: a function */
  tn_host_function function;
  const int64_t *constants; /* behind this struct */
} shadow_program;

/* What went wrong with a command. */
typedef struct shadow_trouble {
  tn_status status;
  char text[400];
} shadow_trouble;

typedef struct shadow_recording shadow_recording;
tn_status shadow_record_begin(const tn_device_call *c, void *device, void **out_recording);
tn_status shadow_record_dispatch(const tn_device_call *c, void *recording, void *program,
                                 const tn_device_range *const *ranges, uint32_t n_ranges,
                                 const tn_dispatch *dispatch);
tn_status shadow_record_copy(const tn_device_call *c, void *recording, const tn_device_range *from,
                             const tn_device_range *to);
tn_status shadow_record_fill(const tn_device_call *c, void *recording, const tn_device_range *to,
                             uint32_t word);
tn_status shadow_record_barrier(const tn_device_call *c, void *recording);
tn_status shadow_record_end(const tn_device_call *c, void *recording);
void shadow_record_free(const tn_device_call *c, void *recording);
/* What stands in a queue: part of the recording, which is in one at most once. */
typedef struct shadow_submission {
  struct shadow_submission *next;
  shadow_recording *recording;
  uint64_t mark;
} shadow_submission;
shadow_submission *shadow_recording_submission(shadow_recording *r);
/* Runs it once. state: of the generator of random numbers. */
void shadow_recording_run(shadow_recording *r, uint64_t *state, shadow_trouble *trouble);
uint64_t shadow_random(uint64_t *state);

tn_status shadow_queue_new(const tn_device_call *c, void *device, void **out_queue);
void shadow_queue_free(const tn_device_call *c, void *queue);
tn_status shadow_submit(const tn_device_call *c, void *queue, void *recording, uint64_t mark);
tn_status shadow_wait(const tn_device_call *c, void *queue, uint64_t mark, uint64_t timeout_ns);

#endif
