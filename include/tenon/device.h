/* The plug-in ABI of Tenon, version 1.0: devices, for those who write drivers (tn_plugin.drivers)
 * or kernels of devices (tn_plugin.device_kernels). Those that ship with Tenon join through the
 * same tables.
 *
 * A driver is a table of functions for one API, a device is hardware that it opened: "shadow:0".
 * The host plans: it places nodes and values, copies, keeps commands in order and puts barriers
 * between them. A driver only does what it is told.
 *
 * The rules at the top of plugin.h hold here too: heads, growth, ownership, errors, threads.
 * docs/add-a-device.md shows how to write a driver; devices/null is one to copy.
 */
#ifndef TENON_DEVICE_H
#define TENON_DEVICE_H

/* clang-format off */

#include "tenon/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Devices --------------------------------------------------------------------------------- */

enum {
  TN_DEVICE_SERIAL = 1,       /* one thread at a time: the host locks */
  TN_DEVICE_SMALL_STORES = 2, /* single elements of 8 and 16 bits can be stored */
  TN_DEVICE_F16 = 4,          /* arithmetic on f16 */
  TN_DEVICE_CLUSTERS = 8      /* eight work groups next to each other read each other's memory */
};

/* What a device is and can. The driver fills it in; 0: not known, or no limit. */
struct tn_device_info {
  tn_head head;
  const char *name;            /* of the hardware, for people */
  const char *stamp;           /* all that a program binary depends on: hardware, versions */
  uint64_t flags;              /* TN_DEVICE_... */
  uint64_t memory_bytes;
  uint64_t max_buffer_bytes;   /* of one buffer */
  uint64_t max_binding_bytes;  /* of what a program sees of a buffer */
  uint64_t offset_alignment;   /* of bindings in buffers, a power of two; 0: 1 */
  uint64_t local_bytes;        /* memory of a work group */
  uint32_t max_bindings, max_params_bytes, max_group_items;
  uint32_t max_group[3], max_groups[3];
  uint32_t units;              /* of GPUs: what work groups run on side by side */
  /* Speed. What is 0 the host estimates. */
  double dispatch_ns, submit_ns, wait_ns;
  double bytes_per_ns, flops_per_ns, up_bytes_per_ns, down_bytes_per_ns;
  double host_kernel_speed; /* how many times as fast as on the CPU it runs "host-kernel" */
};

/* ---- Programs -------------------------------------------------------------------------------- */

/* A kernel's device code in one language: "opencl-c", "spirv" ... (tn_device_driver.languages). One
 * whose name ends in ".deflate" is packed: data is the size of what it was, 8 bytes, the lowest
 * first, and then a deflate stream (RFC 1951). Drivers know nothing of that: the host unpacks it
 * for them, and takes the ending off. */
typedef struct tn_program_form {
  tn_head head;
  const char *language;
  const void *data;
  uint64_t size;
} tn_program_form;

/* A driver with the language "host-kernel" runs the kernels of the CPU: the host offers it each of
 * them that touches nothing but its tensors, state and scratch. data is then the tn_kernel, params
 * of its dispatches are tn_host_kernel_params. Its ranges are the inputs, the outputs, the state,
 * the scratch and the worker scratch of that call, in this order, one each; without a buffer where
 * there is none. The driver makes a call of its own of it, with the addresses and a host that it
 * serves itself, and runs all items of all stages. */
#define TN_LANGUAGE_HOST_KERNEL "host-kernel"

/* What it points to lives as long as the recording. It never grows. */
typedef struct tn_host_kernel_params {
  const tn_call *call;
  const tn_kernel_plan *plan;
  uint32_t n_inputs, n_outputs; /* entries of call->inputs and outputs, left out ones counted */
} tn_host_kernel_params;

/* A driver with the language "host-function" calls functions of this processor. data is then a
 * tn_host_function, size its own. The driver calls run() once for each group, in any order. data
 * has an address per binding, NULL for those without a buffer; params and constants are those of
 * the dispatch. */
#define TN_LANGUAGE_HOST_FUNCTION "host-function"

typedef struct tn_host_function {
  tn_head head;
  void (*run)(void *const *data, const void *params, const int64_t *constants,
              const uint32_t *group); /* group: three numbers */
} tn_host_function;

typedef struct tn_program {
  tn_head head;
  const char *name;
  const char *constants; /* optional: "S_A:dtype TILE:int", fixed when it is built */
  const tn_program_form *const *forms;
  uint32_t n_forms, reserved;
} tn_program;

/* ---- Recording ------------------------------------------------------------------------------- */

enum {
  TN_BIND_NONE = 0, /* nothing: an argument that was left out, is empty, or is in the state */
  TN_BIND_INPUT = 1, TN_BIND_OUTPUT = 2, TN_BIND_STATE = 3, TN_BIND_SCRATCH = 4,
  TN_BIND_WORKER_SCRATCH = 5
};

/* A buffer argument by what it is in the call; the host knows where that lies. */
typedef struct tn_binding {
  tn_head head;
  uint32_t kind, index;   /* TN_BIND_...; of inputs and outputs which one */
  uint64_t offset, bytes; /* inside it; bytes 0: all of it */
} tn_binding;

typedef struct tn_dispatch {
  tn_head head;
  uint32_t program;       /* index in the kernel's table */
  uint32_t n_bindings, n_constants, params_bytes;
  uint32_t groups[3], reserved;
  const tn_binding *const *bindings;
  const int64_t *constants; /* in the order of tn_program.constants */
  const void *params;       /* what changes with shapes; copied */
} tn_dispatch;

/* What a kernel's record() gives its commands to. The host's; it follows which command reads what
 * another writes, and puts barriers in. */
typedef struct tn_recorder {
  tn_head head;
  void *ctx; /* first argument of all its functions */
  tn_status (*dispatch)(void *ctx, const tn_dispatch *dispatch);
  tn_status (*copy)(void *ctx, const tn_binding *from, const tn_binding *to);
  tn_status (*fill)(void *ctx, const tn_binding *to, uint32_t word);
} tn_recorder;

/* A kernel whose work is done by programs. */
struct tn_device_kernel {
  tn_head head;
  /* The row: as for the CPU, but run is NULL, and device is a driver's name or one of its kinds. Of
   * plan(): scratch, state, in place, cost. prepare() packs on the host. */
  const tn_kernel *kernel;
  const tn_program *const *programs;
  uint32_t n_programs, reserved;
  /* Types, and data of constants, are valid. Once per plan and session. */
  tn_status (*record)(const tn_call *call, tn_recorder *recorder);
};

/* ---- Drivers --------------------------------------------------------------------------------- */

/* The first argument of all callbacks. host->fail(ctx, ...) says why one fails. */
typedef struct tn_device_call {
  tn_head head;
  const tn_host *host; /* fail, log, alloc, free */
  void *ctx;           /* of host; valid until the callback returns */
  void *self;          /* what the plug-in's init() answered */
} tn_device_call;

/* Bytes of a buffer. */
typedef struct tn_device_range {
  tn_head head;
  void *buffer;
  uint64_t offset, bytes;
} tn_device_range;

enum {
  TN_BUFFER_DEVICE = 1,  /* for programs; the host never maps it */
  TN_BUFFER_UPLOAD = 2,  /* written by the host, copied from by recordings */
  TN_BUFFER_DOWNLOAD = 3 /* copied to by recordings, read by the host */
};

/* Statuses: TN_ERR_MEMORY: of the device; TN_ERR_IO: the device is lost, for good;
 * TN_ERR_NOT_FOUND: there is none. Threads: a device may be used by several at once, unless it is
 * TN_DEVICE_SERIAL; a recording or queue by one. */
struct tn_device_driver {
  tn_head head;
  const char *name;      /* "vulkan": devices are vulkan:0, vulkan:1 ... */
  const char *vendor;
  const char *kinds;     /* what else tn_kernel.device may say to mean it, "," between: "gpu" */
  const char *languages; /* of program forms that it takes, best first, "," between */
  /* How many devices there are. TN_ERR_NOT_FOUND, with the reason: no loader, no driver, none. */
  tn_status (*count)(const tn_device_call *c, uint32_t *out_n);
  tn_status (*open)(const tn_device_call *c, uint32_t index, void **out_device);
  void (*close)(const tn_device_call *c, void *device); /* all that was made of it is gone */
  tn_status (*describe)(const tn_device_call *c, void *device, tn_device_info *out_info);
  /* Optional: why a kernel shall not run on this device, as a literal; NULL: it may. */
  const char *(*refuse)(const tn_device_call *c, void *device, const tn_kernel *kernel);
  tn_status (*buffer_new)(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                          void **out_buffer);
  /* Where the host sees an upload or download buffer, for as long as it lives. */
  tn_status (*buffer_map)(const tn_device_call *c, void *buffer, void **out_data);
  void (*buffer_free)(const tn_device_call *c, void *buffer);
  /* Optional: the host has written (to_device 1), or is about to read these bytes. */
  tn_status (*buffer_sync)(const tn_device_call *c, void *buffer, uint64_t offset, uint64_t bytes,
                           uint32_t to_device);
  /* Builds a form of the program. binary: what program_save gave, of the same stamp; NULL: none.
   * One that cannot be used is an error: the host builds without it then. */
  tn_status (*program_new)(const tn_device_call *c, void *device, const tn_program *program,
                           uint32_t form, const int64_t *constants, const void *binary,
                           uint64_t binary_bytes, void **out_program);
  void (*program_free)(const tn_device_call *c, void *program);
  /* A recording: commands that are prepared once and submitted often. Commands between two barriers
   * may run in any order, or at once. */
  tn_status (*record_begin)(const tn_device_call *c, void *device, void **out_recording);
  tn_status (*record_dispatch)(const tn_device_call *c, void *recording, void *program,
                               const tn_device_range *const *ranges, uint32_t n_ranges,
                               const tn_dispatch *dispatch);
  tn_status (*record_copy)(const tn_device_call *c, void *recording, const tn_device_range *from,
                           const tn_device_range *to);
  tn_status (*record_fill)(const tn_device_call *c, void *recording, const tn_device_range *to,
                           uint32_t word);
  tn_status (*record_barrier)(const tn_device_call *c, void *recording);
  tn_status (*record_end)(const tn_device_call *c, void *recording);
  void (*record_free)(const tn_device_call *c, void *recording); /* it is not running */
  /* A queue does what was submitted to it in order; one submission ends before the next begins. */
  tn_status (*queue_new)(const tn_device_call *c, void *device, void **out_queue);
  void (*queue_free)(const tn_device_call *c, void *queue); /* it may still be running */
  /* Returns at once. recording: no submission of it is running. mark: of this queue, one higher
   * with each submission. */
  tn_status (*submit)(const tn_device_call *c, void *queue, void *recording, uint64_t mark);
  /* Until the submission `mark` has ended. TN_ERR_STATE: not within that time. Other errors: what
   * the work up to this mark failed with. */
  tn_status (*wait)(const tn_device_call *c, void *queue, uint64_t mark, uint64_t timeout_ns);
  /* Optional: what program_new can make the program of without building it, in a later process, as
   * long as the device has this stamp: given to write() of the sink, in order. What it gives comes
   * back whole; nothing: TN_ERR_UNSUPPORTED. */
  tn_status (*program_save)(const tn_device_call *c, void *program, const tn_sink *to);
};

#ifdef __cplusplus
}
#endif
#endif
