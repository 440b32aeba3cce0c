/* The driver table of CUDA, its devices and memory. */
#include <stdio.h>
#include <string.h>

#include "cuda.gen.h"
#include "cuda.h"

/* ---- devices ---- */

static tn_status count(const tn_device_call *c, uint32_t *out_n) {
  cuda_api api;
  int n = 0;
  tn_status status = cuda_load(c, &api);
  if (!status) status = cuda_answer(c, &api, api.cuDeviceGetCount(&n), "cuDeviceGetCount");
  *out_n = n > 0 ? (uint32_t)n : 0;
  if (status || n > 0) return status;
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "CUDA has no device");
}

tn_status cuda_enter(const tn_device_call *c, const cuda_device *d) {
  return cuda_answer(c, &d->api, d->api.cuCtxPushCurrent_v2(d->context), "cuCtxPushCurrent");
}

void cuda_leave(const cuda_device *d) {
  cuda_object *context;
  d->api.cuCtxPopCurrent_v2(&context);
}

static int ask(const cuda_device *d, int what) {
  int value = 0;
  return d->api.cuDeviceGetAttribute(&value, what, d->id) ? 0 : value;
}

static tn_status start(const tn_device_call *c, cuda_device *d, uint32_t index) {
  tn_status status = cuda_load(c, &d->api);
  if (!status)
    status = cuda_answer(c, &d->api, d->api.cuDeviceGet(&d->id, (int)index), "cuDeviceGet");
  if (status) return status;
  d->major = ask(d, CU_COMPUTE_CAPABILITY_MAJOR);
  d->minor = ask(d, CU_COMPUTE_CAPABILITY_MINOR);
  return cuda_answer(c, &d->api, d->api.cuDevicePrimaryCtxRetain(&d->context, d->id),
                     "cuDevicePrimaryCtxRetain");
}

static tn_status open_device(const tn_device_call *c, uint32_t index, void **out_device) {
  uint32_t n;
  tn_status status = count(c, &n);
  if (status) return status;
  if (index >= n) return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "there are %u", n);
  cuda_device *d = c->host->alloc(c->ctx, sizeof *d);
  if (!d) return TN_ERR_MEMORY;
  memset(d, 0, sizeof *d);
  status = start(c, d, index);
  if (status)
    c->host->free(c->ctx, d);
  else
    *out_device = d;
  return status;
}

static void close_device(const tn_device_call *c, void *device) {
  cuda_device *d = device;
  d->api.cuDevicePrimaryCtxRelease_v2(d->id);
  c->host->free(c->ctx, d);
}

static tn_status describe(const tn_device_call *c, void *device, tn_device_info *info) {
  cuda_device *d = device;
  int driver = 0, nvrtc_major = 0, nvrtc_minor = 0;
  size_t bytes = 0;
  (void)c;
  d->api.cuDeviceGetName(d->name, sizeof d->name, d->id);
  d->api.cuDriverGetVersion(&driver);
  d->api.nvrtcVersion(&nvrtc_major, &nvrtc_minor);
  d->api.cuDeviceTotalMem_v2(&bytes, d->id);
  snprintf(d->stamp, sizeof d->stamp, "%s, sm_%d%d, CUDA %d, NVRTC %d.%d", d->name, d->major,
           d->minor, driver, nvrtc_major, nvrtc_minor);
  info->name = d->name;
  info->stamp = d->stamp;
  info->flags = TN_DEVICE_SMALL_STORES | (d->major >= 9 ? TN_DEVICE_CLUSTERS : 0);
  info->memory_bytes = bytes;
  info->offset_alignment = 256;
  info->local_bytes = (uint64_t)ask(d, CU_MAX_SHARED_MEMORY_PER_BLOCK);
  info->units = (uint32_t)ask(d, CU_MULTIPROCESSOR_COUNT);
  info->max_params_bytes = 2048;
  info->max_group_items = (uint32_t)ask(d, CU_MAX_THREADS_PER_BLOCK);
  for (int k = 0; k < 3; k++) {
    info->max_group[k] = (uint32_t)ask(d, CU_MAX_BLOCK_DIM_X + k);
    info->max_groups[k] = (uint32_t)ask(d, CU_MAX_GRID_DIM_X + k);
  }
  return TN_OK;
}

/* ---- memory ---- */

static tn_status allocate(const tn_device_call *c, cuda_buffer *b, uint64_t bytes, uint32_t use) {
  const cuda_api *api = &b->device->api;
  const uint64_t size = (bytes + 15) / 16 * 16; /* programs store in fours */
  if (use == TN_BUFFER_DEVICE)
    return cuda_answer(c, api, api->cuMemAlloc_v2(&b->address, size), "cuMemAlloc");
  const tn_status status =
      cuda_answer(c, api, api->cuMemHostAlloc(&b->data, size, 0), "cuMemHostAlloc");
  b->address = (cuda_address)(uintptr_t)b->data; /* addresses are those of all */
  return status;
}

static tn_status buffer_new(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                            void **out_buffer) {
  cuda_buffer *b = c->host->alloc(c->ctx, sizeof *b);
  if (!b) return TN_ERR_MEMORY;
  *b = (cuda_buffer){.device = device};
  tn_status status = cuda_enter(c, device);
  if (!status) {
    status = allocate(c, b, bytes, use);
    cuda_leave(device);
  }
  if (status)
    c->host->free(c->ctx, b);
  else
    *out_buffer = b;
  return status;
}

static tn_status buffer_map(const tn_device_call *c, void *buffer, void **out_data) {
  *out_data = ((cuda_buffer *)buffer)->data;
  if (*out_data) return TN_OK;
  return c->host->fail(c->ctx, TN_ERR_STATE, "memory of the device cannot be mapped");
}

static void buffer_free(const tn_device_call *c, void *buffer) {
  cuda_buffer *b = buffer;
  if (!cuda_enter(c, b->device)) {
    if (b->data)
      b->device->api.cuMemFreeHost(b->data);
    else
      b->device->api.cuMemFree_v2(b->address);
    cuda_leave(b->device);
  }
  c->host->free(c->ctx, b);
}

const tn_device_driver cuda_driver = {
    .head = TN_HEAD(tn_device_driver),
    .name = "cuda",
    .vendor = "NVIDIA",
    .kinds = "gpu",
    .languages = "cuda-c",
    .count = count,
    .open = open_device,
    .close = close_device,
    .describe = describe,
    .buffer_new = buffer_new,
    .buffer_map = buffer_map,
    .buffer_free = buffer_free,
    .program_new = cuda_program_new,
    .program_free = cuda_program_free,
    .program_save = cuda_program_save,
    .record_begin = cuda_record_begin,
    .record_dispatch = cuda_record_dispatch,
    .record_copy = cuda_record_copy,
    .record_fill = cuda_record_fill,
    .record_barrier = cuda_record_barrier,
    .record_end = cuda_record_end,
    .record_free = cuda_record_free,
    .queue_new = cuda_queue_new,
    .queue_free = cuda_queue_free,
    .submit = cuda_submit,
    .wait = cuda_wait,
};
