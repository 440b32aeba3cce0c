/* The driver table of WebGPU, adapters and devices. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "webgpu.gen.h"
#include "webgpu.h"

enum { MAX_DEVICES = 64 };

/* ---- errors ---- */

void webgpu_text_copy(webgpu_text from, char *to, size_t size) {
  const size_t length = !from.data ? 0 : from.length == SIZE_MAX ? strlen(from.data) : from.length;
  size_t n = 0;
  for (size_t k = 0; k < length && n + 1 < size; k++) {
    const bool is_space = isspace((unsigned char)from.data[k]);
    if (!is_space)
      to[n++] = from.data[k];
    else if (n && to[n - 1] != ' ')
      to[n++] = ' ';
  }
  while (n && to[n - 1] == ' ') n--;
  to[n] = 0;
}

/* Errors come while the call that they are of is under way. Later ones follow from the first. */
static void on_error(webgpu_object *const *device, uint32_t kind, webgpu_text text, void *a,
                     void *b) {
  webgpu_device *d = a;
  (void)device;
  (void)b;
  if (d->error) return;
  d->error = kind;
  webgpu_text_copy(text, d->error_text, sizeof d->error_text);
}

static void on_lost(webgpu_object *const *device, uint32_t reason, webgpu_text text, void *a,
                    void *b) {
  webgpu_device *d = a;
  (void)device;
  (void)b;
  if (reason == WEBGPU_DESTROYED) return; /* by us */
  d->is_lost = true;
  webgpu_text_copy(text, d->error_text, sizeof d->error_text);
}

tn_status webgpu_answer(const tn_device_call *c, webgpu_device *d, const char *what) {
  const uint32_t kind = d->error;
  d->error = 0;
  if (d->is_lost)
    return c->host->fail(c->ctx, TN_ERR_IO, "%s: the device is lost: %s", what, d->error_text);
  if (!kind) return TN_OK;
  const tn_status status = kind == WEBGPU_OUT_OF_MEMORY ? TN_ERR_MEMORY
                           : kind == WEBGPU_VALIDATION  ? TN_ERR_UNSUPPORTED
                                                        : TN_ERR_IO;
  return c->host->fail(c->ctx, status, "%s: %s", what, d->error_text);
}

/* ---- adapters ---- */

static const uint64_t backends = WEBGPU_VULKAN | WEBGPU_METAL | WEBGPU_D3D12;

static tn_status make_instance(const tn_device_call *c, webgpu_api *api, webgpu_object **out) {
  const webgpu_instance_extras extras = {.chain = {.kind = WEBGPU_CHAIN_INSTANCE},
                                         .backends = backends};
  const webgpu_instance_descriptor descriptor = {.next = &extras.chain};
  const tn_status status = webgpu_load(c, api);
  if (status) return status;
  *out = api->wgpuCreateInstance(&descriptor);
  return *out ? TN_OK
              : c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "wgpuCreateInstance: there is none");
}

/* `keep`: the one that is not released; out_kept is NULL if it is not there. */
static uint32_t list(const webgpu_api *api, webgpu_object *instance, uint32_t keep,
                     webgpu_object **out_kept) {
  const webgpu_adapter_options options = {.backends = backends};
  webgpu_object *all[MAX_DEVICES];
  size_t n = api->wgpuInstanceEnumerateAdapters(instance, &options, NULL);
  *out_kept = NULL;
  if (n > MAX_DEVICES) return 0;
  n = api->wgpuInstanceEnumerateAdapters(instance, &options, all);
  for (uint32_t k = 0; k < n; k++)
    if (k == keep)
      *out_kept = all[k];
    else
      api->wgpuAdapterRelease(all[k]);
  return (uint32_t)n;
}

static tn_status fail_none(const tn_device_call *c) {
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND,
                       "wgpu-native has no device: no driver of Vulkan, Metal or Direct3D 12");
}

static tn_status count(const tn_device_call *c, uint32_t *out_n) {
  webgpu_object *instance, *none;
  webgpu_api api;
  *out_n = 0;
  const tn_status status = make_instance(c, &api, &instance);
  if (status) return status;
  *out_n = list(&api, instance, UINT32_MAX, &none);
  api.wgpuInstanceRelease(instance);
  return *out_n ? TN_OK : fail_none(c);
}

/* ---- devices ---- */

static void on_device(uint32_t status, webgpu_object *device, webgpu_text text, void *a, void *b) {
  webgpu_device *d = a;
  (void)b;
  if (status == WEBGPU_SUCCESS)
    d->handle = device;
  else
    webgpu_text_copy(text, d->error_text, sizeof d->error_text);
}

/* With all that the adapter can. It answers at once. */
static tn_status make_device(const tn_device_call *c, webgpu_device *d) {
  static const uint32_t features[] = {WEBGPU_HAS_INT64};
  const webgpu_api *api = &d->api;
  d->has_long = api->wgpuAdapterHasFeature(d->adapter, WEBGPU_HAS_INT64);
  if (api->wgpuAdapterGetLimits(d->adapter, &d->limits) != WEBGPU_SUCCESS)
    return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "wgpuAdapterGetLimits: no answer");
  const webgpu_device_descriptor descriptor = {
      .n_features = d->has_long,
      .features = features,
      .limits = &d->limits,
      .lost = {.mode = WEBGPU_SPONTANEOUS,
               .call = (void (*)(void))(webgpu_lost *)on_lost,
               .data = {d}},
      .error = {.call = on_error, .data = {d}}};
  const webgpu_callback got = {.mode = WEBGPU_SPONTANEOUS,
                               .call = (void (*)(void))(webgpu_got_device *)on_device,
                               .data = {d}};
  api->wgpuAdapterRequestDevice(d->adapter, &descriptor, got);
  if (!d->handle)
    return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "wgpuAdapterRequestDevice: %s",
                         *d->error_text ? d->error_text : "no answer");
  d->queue = api->wgpuDeviceGetQueue(d->handle);
  return webgpu_answer(c, d, "wgpuDeviceGetQueue");
}

static tn_status start(const tn_device_call *c, webgpu_device *d, uint32_t index) {
  void *nothing;
  tn_status status = make_instance(c, &d->api, &d->instance);
  if (status) return status;
  const uint32_t n = list(&d->api, d->instance, index, &d->adapter);
  if (!n) return fail_none(c);
  if (!d->adapter) return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "there are %u", n);
  status = make_device(c, d);
  if (!status) status = webgpu_buffer_new(c, d, 16, TN_BUFFER_DEVICE, &nothing);
  if (status) return status;
  d->nothing = nothing;
  return webgpu_copier_new(c, d);
}

/* Also one that did not start. */
static void close_device(const tn_device_call *c, void *device) {
  webgpu_device *d = device;
  if (d->copier) webgpu_program_free(c, d->copier);
  if (d->nothing) webgpu_buffer_free(c, d->nothing);
  if (d->queue) d->api.wgpuQueueRelease(d->queue);
  if (d->handle) d->api.wgpuDeviceRelease(d->handle);
  if (d->adapter) d->api.wgpuAdapterRelease(d->adapter);
  if (d->instance) d->api.wgpuInstanceRelease(d->instance);
  c->host->free(c->ctx, d);
}

static tn_status open_device(const tn_device_call *c, uint32_t index, void **out_device) {
  webgpu_device *d = c->host->alloc(c->ctx, sizeof *d);
  if (!d) return TN_ERR_MEMORY;
  memset(d, 0, sizeof *d);
  const tn_status status = start(c, d, index);
  if (status)
    close_device(c, d);
  else
    *out_device = d;
  return status;
}

/* ---- what a device is ---- */

static void describe_limits(const webgpu_device *d, tn_device_info *info) {
  const webgpu_limits *l = &d->limits;
  info->max_buffer_bytes = l->buffer_bytes;
  info->max_binding_bytes = l->storage_bytes;
  info->offset_alignment = l->storage_alignment;
  info->local_bytes = l->local_bytes;
  info->max_bindings = l->storage_buffers;
  info->max_params_bytes =
      (uint32_t)(l->uniform_bytes < UINT16_MAX ? l->uniform_bytes : UINT16_MAX) - WEBGPU_BASE_BYTES;
  info->max_group_items = l->group_items;
  memcpy(info->max_group, l->group, sizeof info->max_group);
}

static const char *backend_name(uint32_t backend) {
  static const char *const names[] = {"unknown",     "null",  "WebGPU", "Direct3D 11",
                                      "Direct3D 12", "Metal", "Vulkan"};
  return names[backend < sizeof names / sizeof *names ? backend : 0];
}

static tn_status describe(const tn_device_call *c, void *device, tn_device_info *info) {
  webgpu_device *d = device;
  webgpu_adapter_info about = {0};
  char text[192], version[192];
  if (d->api.wgpuAdapterGetInfo(d->adapter, &about) != WEBGPU_SUCCESS)
    return c->host->fail(c->ctx, TN_ERR_IO, "wgpuAdapterGetInfo: no answer");
  webgpu_text_copy(about.device, text, sizeof text);
  webgpu_text_copy(about.description, version, sizeof version);
  snprintf(d->name, sizeof d->name, "%s by %s", text, backend_name(about.backend));
  snprintf(d->stamp, sizeof d->stamp, "wgpu-native %x, %s, vendor %x, device %x, %s, %s",
           d->api.wgpuGetVersion(), backend_name(about.backend), about.vendor_id, about.device_id,
           text, version);
  d->api.wgpuAdapterInfoFreeMembers(about);
  info->name = d->name;
  info->stamp = d->stamp;
  info->flags = TN_DEVICE_SERIAL | TN_DEVICE_SMALL_STORES;
  describe_limits(d, info);
  if (about.kind == WEBGPU_IS_CPU) { /* slower than the host's own kernels */
    info->flops_per_ns = 2;
    info->bytes_per_ns = 4;
  } else { /* WebGPU does not tell: as many as small ones have */
    info->units = 16;
  }
  return TN_OK;
}

const tn_device_driver webgpu_driver = {
    .head = TN_HEAD(tn_device_driver),
    .name = "webgpu",
    .vendor = "W3C",
    .kinds = "gpu",
    .languages = "spirv-webgpu",
    .count = count,
    .open = open_device,
    .close = close_device,
    .describe = describe,
    .buffer_new = webgpu_buffer_new,
    .buffer_map = webgpu_buffer_map,
    .buffer_free = webgpu_buffer_free,
    .buffer_sync = webgpu_buffer_sync,
    .program_new = webgpu_program_new,
    .program_free = webgpu_program_free,
    .record_begin = webgpu_record_begin,
    .record_dispatch = webgpu_record_dispatch,
    .record_copy = webgpu_record_copy,
    .record_fill = webgpu_record_fill,
    .record_barrier = webgpu_record_barrier,
    .record_end = webgpu_record_end,
    .record_free = webgpu_record_free,
    .queue_new = webgpu_queue_new,
    .queue_free = webgpu_queue_free,
    .submit = webgpu_submit,
    .wait = webgpu_wait,
};
