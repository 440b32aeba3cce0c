/* Devices: drivers asked, devices opened, their memory, programs and recordings.
 *
 * The devices of a runtime are shared by its models: a device is opened when the first of them
 * wants it and closed when the last lets go. Planning asks what a device is and what it can run,
 * puts constants and prepared states there (memory.c), and the executor keeps a queue, buffers
 * and recordings per session (recorder.c, and exec/device_run.c). A device that was lost stays so
 * for all who have it. */
#ifndef TN_DEVICE_DEVICE_H
#define TN_DEVICE_DEVICE_H

#include <pthread.h>

#include "registry/registry.h"

typedef struct tn_devices tn_devices;

/* All copies: the plug-in that it came from may go. */
typedef struct tn_device_program {
  const char *name, *language;
  const void *data;
  uint64_t bytes;
  const int64_t *constants;
  uint32_t n_constants;
  void *handle;
  const char *problem; /* why it does not build: it is not tried again; NULL: it does */
} tn_device_program;

/* Bytes of device memory, or of the host's that a device sees. */
typedef struct tn_buffer {
  struct tn_device *device;
  void *handle; /* NULL: there is none */
  void *map;    /* upload and download only */
  uint64_t bytes;
} tn_buffer;

/* What a device tells of itself when work has ended: witness.c. */
typedef struct tn_witness {
  pthread_mutex_t lock;
  tn_buffer there, here; /* made when they are needed first */
  uint32_t word;         /* of the latest one */
} tn_witness;

typedef struct tn_device {
  const tn_allocator *a;
  tn_devices *all;
  const tn_driverdef *def;
  const char *name; /* "shadow:0" */
  uint32_t index;   /* among the driver's */
  int32_t n_users;  /* under the lock of all */
  void *handle;
  tn_device_info info;    /* nothing that matters to costs or alignment is 0 */
  bool runs_host_kernels; /* TN_LANGUAGE_HOST_KERNEL is one of its languages */
  tn_arena arena;         /* texts */
  pthread_mutex_t lock;   /* queue, programs; and all calls if it is TN_DEVICE_SERIAL */
  void *queue;            /* of its own, for what is copied while planning */
  uint64_t mark;          /* of that queue, the last */
  tn_witness witness;
  TN_VEC(tn_device_program) programs;
  atomic_uint n_built;  /* programs: built here, */
  atomic_uint n_cached; /* and made of binaries of an earlier start */
  atomic_int lost;      /* for good */
  atomic_int refused;   /* what a plan needs, memory most often, since somebody looked */
  atomic_int hangs;     /* and so that what it has may not be freed */
  int64_t process;      /* that has opened it */
} tn_device;

/* ---- the list ---- */

tn_status tn_devices_create(const tn_allocator *a, const tn_registry *r, tn_devices **out_devices);
void tn_devices_destroy(tn_devices *all); /* no device is in use; NULL is legal */

/* All devices that drivers see, and drivers that see none; the entries live until the next call. */
int32_t tn_devices_list(tn_devices *all, const tn_device_entry **out_entries);
/* Adds one that the list does not know of; texts are copied, those that are NULL become "" but for
 * missing. */
tn_status tn_devices_add(tn_devices *all, const tn_device_entry *entry);
/* Those of the last call. */
int32_t tn_devices_listed(const tn_devices *all, const tn_device_entry **out_entries);
/* Is this one of its kinds? "auto" means those of kind "gpu". */
bool tn_driver_is_of_kind(const tn_device_driver *driver, const char *kind);
enum { TN_DEVICE_NAME = 160 }; /* bytes of "driver:index" */

/* Opens what the name says: "shadow:0", or "shadow" for the first. The caller holds the plug-in.
 * Messages begin with "device 'shadow:0': ". */
tn_status tn_device_open(tn_devices *all, const char *name, tn_diag *diag, tn_device **out_device);
/* Whose driver it is. */
static inline const tn_part_owner *tn_device_owner(const tn_device *d) { return d->def->owner; }
void tn_device_close(tn_device *d); /* NULL is legal */
/* Every device counts as lost: in the child of a fork. */
void tn_devices_lose(tn_devices *all);
/* In the child of a fork the device is lost, and nothing of it is touched: its threads, and who is
 * at the other end, stayed with the parent. */
void tn_device_check_process(tn_device *d);
static inline bool tn_device_is_lost(const tn_device *d) {
  return atomic_load_explicit(&((tn_device *)(uintptr_t)d)->lost, memory_order_relaxed) != 0;
}

/* ---- calls ---- */

/* The first argument of a driver's callback, and what it said. Calls of a serial device are made
 * between open and close only, under its lock. */
typedef struct tn_device_talk {
  tn_device_call call;
  const tn_device *device; /* NULL: none is open yet */
  const tn_allocator *a;
  char text[512]; /* "": it said nothing */
} tn_device_talk;
void tn_device_talk_open(tn_device_talk *t, const tn_device *d);
void tn_device_talk_close(tn_device_talk *t);
/* What the callback answered, as one of the statuses there are. TN_ERR_IO: the device is lost from
 * now on. */
tn_status tn_device_answer(tn_device_talk *t, tn_status answer);
/* The same of submit(): if it fails for want of anything but memory, the device is lost. */
tn_status tn_device_answer_submit(tn_device_talk *t, tn_status answer);
/* The same of a callback that makes something: nothing is an error; *handle is NULL after one. */
tn_status tn_device_made(tn_device_talk *t, tn_status answer, const char *callback, void **handle);
/* Waits until the submission `mark` of a queue has ended, at most limit_ns. One that has not by
 * then, or of which the driver answers what is no status, hangs: TN_ERR_IO, and nothing that it may
 * use is touched again. Under the lock of the queue. */
tn_status tn_device_wait(tn_device_talk *t, void *queue, uint64_t mark, double limit_ns);
/* The same, told to diag: "device 'shadow:0': WHAT: text". */
tn_status tn_device_report(tn_device_talk *t, tn_status answer, tn_diag *diag, const char *what);

/* Does it run this kernel, leaving the call aside? NULL: yes; else why not. */
const char *tn_device_refuses(const tn_device *d, const tn_kerneldef *def);

/* ---- memory ---- */

/* what: for the message, "the arena". bytes 0: nothing is made. */
tn_status tn_buffer_open(tn_device *d, uint64_t bytes, uint32_t use, const char *what,
                         tn_diag *diag, tn_buffer *out);
void tn_buffer_close(tn_buffer *b);
/* The host has written these bytes, or is about to read them. */
tn_status tn_buffer_sync(const tn_buffer *b, uint64_t offset, uint64_t bytes, bool to_device);
/* Copies host memory into a device buffer from `offset` on, or back, and waits for it. The caller
 * sees to it that the bytes are inside. what: for the message, "copying constants". Not for a
 * buffer that a submission uses. */
tn_status tn_buffer_write(const tn_buffer *to, uint64_t offset, const void *data, uint64_t bytes,
                          const char *what, tn_diag *diag);
tn_status tn_buffer_read(const tn_buffer *from, uint64_t offset, void *data, uint64_t bytes,
                         const char *what, tn_diag *diag);
tn_status tn_buffer_clear(const tn_buffer *b, const char *what, tn_diag *diag); /* to zeros */

/* ---- constants and prepared states on devices ---- */

typedef struct tn_residents tn_residents; /* of a model */
typedef struct tn_resident {
  tn_buffer buffer;
  const void *key;
  int64_t refs;
  struct tn_resident *next;
} tn_resident;
tn_status tn_residents_create(const tn_allocator *a, tn_residents **out_residents);
void tn_residents_destroy(tn_residents *all); /* nobody has one; NULL is legal */
/* What lies at key on the host, there, copied by the first who asks: `bytes` from data. The caller
 * lets go of it before what key points to. */
tn_status tn_resident_get(tn_residents *all, tn_device *d, const void *key, const void *data,
                          uint64_t bytes, tn_diag *diag, tn_resident **out_resident);
void tn_resident_release(tn_residents *all, tn_resident *resident);

/* ---- recorder.c ---- */

/* Bytes of a buffer that a command reads or writes. */
typedef struct tn_span {
  void *buffer;
  uint64_t begin, end;
  bool is_write;
} tn_span;

/* Makes one recording. Commands that touch what another one before them writes, or write what it
 * reads, stand behind a barrier. */
typedef struct tn_recording {
  tn_device *device;
  void *handle;
  TN_VEC(tn_span) open; /* since the last barrier */
  int32_t n_commands, n_barriers;
  bool has_ended; /* it has run, so that its programs are compiled in every sense */
} tn_recording;
tn_status tn_recording_begin(tn_recording *r, tn_device *d, tn_diag *diag);
tn_status tn_recording_copy(tn_recording *r, const tn_device_range *from, const tn_device_range *to,
                            tn_diag *diag);
tn_status tn_recording_fill(tn_recording *r, const tn_device_range *to, uint32_t word,
                            tn_diag *diag);
/* writes: per range. A range without a buffer is no argument. */
tn_status tn_recording_dispatch(tn_recording *r, void *program,
                                const tn_device_range *const *ranges, const bool *writes,
                                uint32_t n, const tn_dispatch *d, tn_diag *diag);
/* All before it ends before anything behind it begins. */
tn_status tn_recording_barrier(tn_recording *r, tn_diag *diag);
tn_status tn_recording_end(tn_recording *r, tn_diag *diag);
void tn_recording_close(tn_recording *r); /* also one that was not ended */

/* A program that runs a kernel of the CPU there. */
tn_status tn_device_host_program_new(tn_device *d, const tn_kernel *kernel, tn_diag *diag,
                                     void **out_program);
/* ---- program_form.c ---- */

/* One form of a program as a driver gets it: unpacked. */
typedef struct tn_program_view {
  const tn_program *program; /* which form of it */
  uint32_t form;
  tn_program one; /* of a packed form */
  tn_program_form unpacked;
  const tn_program_form *forms[1];
  void *memory;
  uint64_t bytes;
} tn_program_view;

/* Is the form in this language of n characters, packed or not? */
bool tn_program_form_is(const tn_program_form *f, const char *language, size_t n);
/* The view must stay where it is, and the program must outlive it. out_problem: why not, a literal.
 * TN_ERR_UNSUPPORTED if what is packed is damaged. */
tn_status tn_program_view_make(const tn_allocator *a, const tn_program *program, uint32_t form,
                               tn_program_view *out, const char **out_problem);
void tn_program_view_free(const tn_allocator *a, tn_program_view *view);

/* ---- recorder.c, programs ---- */

void tn_device_program_free(tn_device *d, void *program); /* NULL is legal */
/* The program in the first form that the device takes, built once per device: programs are the same
 * if name, form and constants are. */
tn_status tn_device_program_get(tn_device *d, const tn_program *program, const int64_t *constants,
                                uint32_t n_constants, tn_diag *diag, void **out_program);

/* ---- kernel_recorder.c ---- */

/* The commands of a kernel of devices. places: of the inputs, the outputs, the state and the
 * scratch of the call, in this order; without a buffer where there is none. */
tn_status tn_device_kernel_record(tn_recording *r, const tn_kerneldef *def, const tn_call *call,
                                  const tn_device_range *places, tn_diag *diag);
/* The same without a recording: are the commands in order, and do the programs build? */
tn_status tn_device_kernel_try(tn_device *d, const tn_kerneldef *def, const tn_call *call,
                               const tn_kernel_plan *plan, tn_diag *diag);

/* ---- witness.c ---- */

/* Until all that the queue was given has ended, by more than the driver's word; *mark is the last
 * of the queue. TN_ERR_IO: it has not, though wait() says so, and the device is lost; then the text
 * is in t, other errors are in diag. By one who may use the queue. */
tn_status tn_device_settle(tn_device *d, void *queue, uint64_t *mark, double limit_ns,
                           tn_diag *diag, tn_device_talk *t);

#endif
