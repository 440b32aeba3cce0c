/* The driver of WebGPU, by wgpu-native. Nothing is linked: the library is opened with dlopen, and
 * what we use of it is declared in api.h.
 *
 *   load.c       the library, its functions
 *   driver.c     the table: adapters, devices, their errors and limits
 *   memory.c     buffers, and what the host sees of them
 *   spirv.c      constants into modules of SPIR-V
 *   program.c    modules into pipelines
 *   recording.c  lists of commands
 *   queue.c      encoding and submitting them; marks
 *
 * A program in "spirv-webgpu" is a module of SPIR-V with the entry "main". Bindings of descriptor
 * set 0 are those of the dispatch, in their order, as storage buffers of words, all of which may be
 * written. Behind them is a uniform block: four integers, of which the first three say where the
 * groups of this dispatch begin, and the params. Constant k is the specialisation constant k. */
#ifndef TN_WEBGPU_H
#define TN_WEBGPU_H

#include <stdbool.h>

#include "api.h"
#include "tenon/device.h"

/* TN_ERR_NOT_FOUND: there is no library, or one of another version. Any thread. */
tn_status webgpu_load(const tn_device_call *c, webgpu_api *out_api);

/* ---- objects ---- */

enum { WEBGPU_BASE_BYTES = 16, WEBGPU_ERROR_SIZE = 400 };

typedef struct webgpu_device {
  webgpu_api api;
  webgpu_object *instance, *adapter, *handle, *queue;
  webgpu_limits limits;
  bool has_long, is_lost;
  uint32_t error; /* the first that nobody has seen; 0: none */
  char error_text[WEBGPU_ERROR_SIZE];
  struct webgpu_buffer *nothing; /* what left out arguments are bound to */
  struct webgpu_program *copier; /* of what the API cannot copy and fill */
  char name[256], stamp[512];
} webgpu_device;

/* What went wrong since the last call; TN_OK: nothing. what: "wgpuDeviceCreateBuffer". */
tn_status webgpu_answer(const tn_device_call *c, webgpu_device *d, const char *what);
void webgpu_text_copy(webgpu_text from, char *to, size_t size); /* in one line */

/* Upload and download buffers have a copy in memory of the host. */
typedef struct webgpu_buffer {
  webgpu_device *device;
  webgpu_object *handle, *mapped; /* mapped: of downloads, what the host can read of */
  void *data;
  uint64_t bytes;
} webgpu_buffer;

typedef struct webgpu_program {
  webgpu_device *device;
  webgpu_object *groups, *layout, *pipeline;
  uint32_t n_bindings; /* without the uniform block */
} webgpu_program;

typedef struct webgpu_command {
  struct webgpu_command *next;
  const webgpu_program *program; /* NULL: a copy */
  webgpu_object *group;          /* what it is bound to */
  uint32_t at, groups[3];        /* where its block begins; how many there are */
  webgpu_object *from, *to;
  uint64_t from_offset, to_offset, bytes;
} webgpu_command;

typedef struct webgpu_recording {
  webgpu_device *device;
  webgpu_command *first, **last;
  struct webgpu_params *params; /* newest first */
} webgpu_recording;

/* ---- spirv.c ---- */

typedef struct webgpu_module {
  uint32_t *words; /* the host's memory: to be freed */
  uint64_t n;
  uint32_t n_bindings; /* as webgpu_program */
} webgpu_module;

tn_status webgpu_specialise(const tn_device_call *c, const webgpu_device *d, const uint32_t *words,
                            uint64_t n, const int32_t *constants, uint32_t n_constants,
                            webgpu_module *out);

/* ---- callbacks, by file ---- */

tn_status webgpu_buffer_new(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                            void **out_buffer);
tn_status webgpu_buffer_map(const tn_device_call *c, void *buffer, void **out_data);
tn_status webgpu_buffer_sync(const tn_device_call *c, void *buffer, uint64_t offset, uint64_t bytes,
                             uint32_t to_device);
void webgpu_buffer_free(const tn_device_call *c, void *buffer);

tn_status webgpu_program_new(const tn_device_call *c, void *device, const tn_program *program,
                             uint32_t form, const int64_t *constants, const void *binary,
                             uint64_t binary_bytes, void **out_program);
void webgpu_program_free(const tn_device_call *c, void *program);
/* The program that copies bytes of its first binding to its second, or fills. */
tn_status webgpu_copier_new(const tn_device_call *c, webgpu_device *d);

tn_status webgpu_record_begin(const tn_device_call *c, void *device, void **out_recording);
tn_status webgpu_record_dispatch(const tn_device_call *c, void *recording, void *program,
                                 const tn_device_range *const *ranges, uint32_t n_ranges,
                                 const tn_dispatch *dispatch);
tn_status webgpu_record_copy(const tn_device_call *c, void *recording, const tn_device_range *from,
                             const tn_device_range *to);
tn_status webgpu_record_fill(const tn_device_call *c, void *recording, const tn_device_range *to,
                             uint32_t word);
tn_status webgpu_record_barrier(const tn_device_call *c, void *recording);
tn_status webgpu_record_end(const tn_device_call *c, void *recording);
void webgpu_record_free(const tn_device_call *c, void *recording);

tn_status webgpu_queue_new(const tn_device_call *c, void *device, void **out_queue);
void webgpu_queue_free(const tn_device_call *c, void *queue);
tn_status webgpu_submit(const tn_device_call *c, void *queue, void *recording, uint64_t mark);
tn_status webgpu_wait(const tn_device_call *c, void *queue, uint64_t mark, uint64_t timeout_ns);

#endif
