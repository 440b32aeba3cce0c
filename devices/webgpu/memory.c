/* Buffers of WebGPU. The host never sees what programs use: it has a copy of its own, which sync
 * writes there, or reads by a buffer that can be mapped. */
#include <inttypes.h>
#include <string.h>

#include "webgpu.h"

static tn_status make(const tn_device_call *c, webgpu_device *d, uint64_t bytes, uint64_t use,
                      webgpu_object **out) {
  const webgpu_buffer_descriptor descriptor = {.use = use, .bytes = bytes};
  *out = d->api.wgpuDeviceCreateBuffer(d->handle, &descriptor);
  return webgpu_answer(c, d, "wgpuDeviceCreateBuffer");
}

static tn_status make_all(const tn_device_call *c, webgpu_buffer *b, uint32_t use) {
  webgpu_device *d = b->device;
  tn_status status =
      make(c, d, b->bytes, WEBGPU_STORAGE | WEBGPU_COPY_SRC | WEBGPU_COPY_DST, &b->handle);
  if (status || use == TN_BUFFER_DEVICE) return status;
  b->data = c->host->alloc(c->ctx, b->bytes);
  if (!b->data) return TN_ERR_MEMORY;
  memset(b->data, 0, b->bytes);
  if (use == TN_BUFFER_DOWNLOAD)
    status = make(c, d, b->bytes, WEBGPU_MAP_READ | WEBGPU_COPY_DST, &b->mapped);
  return status;
}

tn_status webgpu_buffer_new(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                            void **out_buffer) {
  webgpu_device *d = device;
  if (bytes > d->limits.buffer_bytes - 16)
    return c->host->fail(c->ctx, TN_ERR_MEMORY, "a buffer there has up to %" PRIu64 " bytes",
                         d->limits.buffer_bytes);
  webgpu_buffer *b = c->host->alloc(c->ctx, sizeof *b);
  if (!b) return TN_ERR_MEMORY;
  *b = (webgpu_buffer){.device = d, .bytes = (bytes + 15) / 16 * 16}; /* programs store in fours */
  const tn_status status = make_all(c, b, use);
  if (status)
    webgpu_buffer_free(c, b);
  else
    *out_buffer = b;
  return status;
}

tn_status webgpu_buffer_map(const tn_device_call *c, void *buffer, void **out_data) {
  *out_data = ((webgpu_buffer *)buffer)->data;
  if (*out_data) return TN_OK;
  return c->host->fail(c->ctx, TN_ERR_STATE, "memory of the device cannot be mapped");
}

static void on_mapped(uint32_t status, webgpu_text text, void *a, void *b) {
  (void)text;
  (void)b;
  *(uint32_t *)a = status;
}

/* These bytes of b->mapped, once all that was submitted has ended. */
static tn_status read_mapped(const tn_device_call *c, const webgpu_buffer *b, uint64_t offset,
                             uint64_t bytes) {
  webgpu_device *d = b->device;
  uint32_t answer = 0;
  const webgpu_callback done = {.mode = WEBGPU_SPONTANEOUS,
                                .call = (void (*)(void))(webgpu_done *)on_mapped,
                                .data = {&answer}};
  d->api.wgpuBufferMapAsync(b->mapped, WEBGPU_MAP_READ, offset, bytes, done);
  d->api.wgpuDevicePoll(d->handle, 1, NULL);
  const tn_status status = webgpu_answer(c, d, "wgpuBufferMapAsync");
  if (status) return status;
  const void *from = answer == WEBGPU_SUCCESS
                         ? d->api.wgpuBufferGetConstMappedRange(b->mapped, offset, bytes)
                         : NULL;
  if (!from) return c->host->fail(c->ctx, TN_ERR_IO, "wgpuBufferMapAsync: no answer");
  memcpy((uint8_t *)b->data + offset, from, bytes);
  d->api.wgpuBufferUnmap(b->mapped);
  return webgpu_answer(c, d, "wgpuBufferUnmap");
}

static tn_status read_back(const tn_device_call *c, const webgpu_buffer *b, uint64_t offset,
                           uint64_t bytes) {
  webgpu_device *d = b->device;
  const webgpu_api *api = &d->api;
  webgpu_object *encoder = api->wgpuDeviceCreateCommandEncoder(d->handle, NULL);
  api->wgpuCommandEncoderCopyBufferToBuffer(encoder, b->handle, offset, b->mapped, offset, bytes);
  webgpu_object *commands = api->wgpuCommandEncoderFinish(encoder, NULL);
  api->wgpuCommandEncoderRelease(encoder);
  if (commands) api->wgpuQueueSubmit(d->queue, 1, &commands);
  if (commands) api->wgpuCommandBufferRelease(commands);
  const tn_status status = webgpu_answer(c, d, "reading a buffer");
  return status ? status : read_mapped(c, b, offset, bytes);
}

/* Whole eights: maps begin at such. */
tn_status webgpu_buffer_sync(const tn_device_call *c, void *buffer, uint64_t offset, uint64_t bytes,
                             uint32_t to_device) {
  const webgpu_buffer *b = buffer;
  const uint64_t begin = offset / 8 * 8, end = (offset + bytes + 7) / 8 * 8;
  if (!bytes) return TN_OK;
  if (!to_device) return read_back(c, b, begin, end - begin);
  b->device->api.wgpuQueueWriteBuffer(b->device->queue, b->handle, begin,
                                      (const uint8_t *)b->data + begin, end - begin);
  return webgpu_answer(c, b->device, "wgpuQueueWriteBuffer");
}

void webgpu_buffer_free(const tn_device_call *c, void *buffer) {
  webgpu_buffer *b = buffer;
  const webgpu_api *api = &b->device->api;
  webgpu_object *const handles[] = {b->handle, b->mapped};
  for (int k = 0; k < 2; k++)
    if (handles[k]) {
      api->wgpuBufferDestroy(handles[k]);
      api->wgpuBufferRelease(handles[k]);
    }
  c->host->free(c->ctx, b->data);
  c->host->free(c->ctx, b);
}
