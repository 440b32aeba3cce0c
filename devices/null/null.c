/* A driver to copy. It has every function that a driver needs, says what belongs in each, and sees
 * no device: nothing below count() is ever called. docs/add-a-device.md goes through it. */
#include "null.gen.h"
#include "tenon/device.h"

/* What each of them has to know of: replace by your API's objects. */
typedef struct null_device {
  uint32_t index;
} null_device;
typedef struct null_buffer {
  uint64_t bytes;
} null_buffer;
typedef struct null_program {
  const tn_program *program;
} null_program;
typedef struct null_recording {
  uint32_t n_commands;
} null_recording;
typedef struct null_queue {
  uint64_t done;
} null_queue;

/* Every object the same way: made of the host's memory, which it takes back. */
static tn_status make(const tn_device_call *c, uint64_t bytes, void **out) {
  *out = c->host->alloc(c->ctx, bytes);
  return *out ? TN_OK : TN_ERR_MEMORY;
}

static void drop(const tn_device_call *c, void *object) { c->host->free(c->ctx, object); }

/* Open the API's library here (dlopen), and say by its name what is missing. */
static tn_status count(const tn_device_call *c, uint32_t *out_n) {
  *out_n = 0;
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "the null driver has no hardware: it is to copy");
}

static tn_status open_device(const tn_device_call *c, uint32_t index, void **out_device) {
  const tn_status status = make(c, sizeof(null_device), out_device);
  if (!status) ((null_device *)*out_device)->index = index;
  return status;
}

/* Limits are what the host plans with; what is left 0 has none. */
static tn_status describe(const tn_device_call *c, void *device, tn_device_info *out_info) {
  (void)c, (void)device;
  out_info->name = "no hardware";
  out_info->stamp = "null 1";
  return TN_OK;
}

static tn_status buffer_new(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                            void **out_buffer) {
  (void)device, (void)use;
  const tn_status status = make(c, sizeof(null_buffer), out_buffer);
  if (!status) ((null_buffer *)*out_buffer)->bytes = bytes;
  return status;
}

static tn_status buffer_map(const tn_device_call *c, void *buffer, void **out_data) {
  (void)buffer;
  *out_data = NULL;
  return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "null: there is no memory to map");
}

/* A compiler's log goes to host->fail: the user sees its first lines with the kernel's name. */
static tn_status program_new(const tn_device_call *c, void *device, const tn_program *program,
                             uint32_t form, const int64_t *constants, const void *binary,
                             uint64_t binary_bytes, void **out_program) {
  (void)device, (void)form, (void)constants, (void)binary, (void)binary_bytes;
  const tn_status status = make(c, sizeof(null_program), out_program);
  if (!status) ((null_program *)*out_program)->program = program;
  return status;
}

/* An API without recordings keeps a list of commands here, and replays it in submit(). */
static tn_status record_begin(const tn_device_call *c, void *device, void **out_recording) {
  (void)device;
  return make(c, sizeof(null_recording), out_recording);
}

static tn_status record_dispatch(const tn_device_call *c, void *recording, void *program,
                                 const tn_device_range *const *ranges, uint32_t n_ranges,
                                 const tn_dispatch *dispatch) {
  (void)c, (void)program, (void)ranges, (void)n_ranges, (void)dispatch;
  ((null_recording *)recording)->n_commands++;
  return TN_OK;
}

static tn_status record_copy(const tn_device_call *c, void *recording, const tn_device_range *from,
                             const tn_device_range *to) {
  (void)c, (void)from, (void)to;
  ((null_recording *)recording)->n_commands++;
  return TN_OK;
}

static tn_status record_fill(const tn_device_call *c, void *recording, const tn_device_range *to,
                             uint32_t word) {
  (void)c, (void)to, (void)word;
  ((null_recording *)recording)->n_commands++;
  return TN_OK;
}

/* What comes behind sees what was written before. */
static tn_status record_barrier(const tn_device_call *c, void *recording) {
  (void)c, (void)recording;
  return TN_OK;
}

static tn_status record_end(const tn_device_call *c, void *recording) {
  (void)c, (void)recording;
  return TN_OK;
}

static tn_status queue_new(const tn_device_call *c, void *device, void **out_queue) {
  (void)device;
  return make(c, sizeof(null_queue), out_queue);
}

/* Hand the commands over and return; do not wait. */
static tn_status submit(const tn_device_call *c, void *queue, void *recording, uint64_t mark) {
  (void)c, (void)recording;
  ((null_queue *)queue)->done = mark;
  return TN_OK;
}

/* TN_ERR_STATE if time is up, TN_ERR_IO if the device is gone. */
static tn_status wait(const tn_device_call *c, void *queue, uint64_t mark, uint64_t timeout_ns) {
  (void)c, (void)timeout_ns;
  return ((null_queue *)queue)->done >= mark ? TN_OK : TN_ERR_STATE;
}

const tn_device_driver null_driver = {
    .head = TN_HEAD(tn_device_driver),
    .name = "null",
    .vendor = "Tenon",
    .kinds = "gpu",
    .languages = "null",
    .count = count,
    .open = open_device,
    .close = drop,
    .describe = describe,
    .buffer_new = buffer_new,
    .buffer_map = buffer_map,
    .buffer_free = drop,
    .program_new = program_new,
    .program_free = drop,
    .record_begin = record_begin,
    .record_dispatch = record_dispatch,
    .record_copy = record_copy,
    .record_fill = record_fill,
    .record_barrier = record_barrier,
    .record_end = record_end,
    .record_free = drop,
    .queue_new = queue_new,
    .queue_free = drop,
    .submit = submit,
    .wait = wait,
};
