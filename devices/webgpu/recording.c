/* Recordings of WebGPU are lists of commands, encoded anew by each submission: a command buffer of
 * WebGPU is submitted once. What commands are bound to is made here. */
#include <string.h>

#include "webgpu.h"

enum { PARAMS_BYTES = 64 << 10, MAX_RANGES = 64 };

typedef struct webgpu_params {
  struct webgpu_params *next;
  webgpu_object *buffer;
  uint64_t used;
  uint8_t data[PARAMS_BYTES];
} webgpu_params;

tn_status webgpu_record_begin(const tn_device_call *c, void *device, void **out_recording) {
  webgpu_recording *r = c->host->alloc(c->ctx, sizeof *r);
  if (!r) return TN_ERR_MEMORY;
  *r = (webgpu_recording){.device = device};
  r->last = &r->first;
  *out_recording = r;
  return TN_OK;
}

static webgpu_command *add(const tn_device_call *c, webgpu_recording *r) {
  webgpu_command *m = c->host->alloc(c->ctx, sizeof *m);
  if (!m) return NULL;
  *m = (webgpu_command){0};
  *r->last = m;
  r->last = &m->next;
  return m;
}

/* ---- params: blocks in buffers that are written when the recording ends ---- */

static tn_status add_params(const tn_device_call *c, webgpu_recording *r) {
  const webgpu_buffer_descriptor descriptor = {.use = WEBGPU_UNIFORM | WEBGPU_COPY_DST,
                                               .bytes = PARAMS_BYTES};
  webgpu_device *d = r->device;
  webgpu_params *p = c->host->alloc(c->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  memset(p, 0, sizeof *p);
  p->next = r->params;
  r->params = p; /* so that it is freed */
  p->buffer = d->api.wgpuDeviceCreateBuffer(d->handle, &descriptor);
  return webgpu_answer(c, d, "wgpuDeviceCreateBuffer");
}

static uint64_t block_bytes(const tn_dispatch *d) {
  return WEBGPU_BASE_BYTES + ((uint64_t)d->params_bytes + 15) / 16 * 16;
}

static tn_status put_block(const tn_device_call *c, webgpu_recording *r, const tn_dispatch *d,
                           const uint32_t *base, uint32_t *out_at) {
  const uint64_t step = r->device->limits.uniform_alignment, bytes = block_bytes(d);
  if (bytes > PARAMS_BYTES)
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "%u bytes of params", d->params_bytes);
  if (!r->params || r->params->used + bytes > PARAMS_BYTES) {
    const tn_status status = add_params(c, r);
    if (status) return status;
  }
  webgpu_params *p = r->params;
  memcpy(p->data + p->used, base, 3 * sizeof *base);
  if (d->params_bytes) memcpy(p->data + p->used + WEBGPU_BASE_BYTES, d->params, d->params_bytes);
  *out_at = (uint32_t)p->used;
  p->used = (p->used + bytes + step - 1) / step * step;
  return TN_OK;
}

/* ---- commands ---- */

static tn_status bind(const tn_device_call *c, webgpu_recording *r, webgpu_command *m,
                      const tn_device_range *const *ranges, uint64_t bytes_of_block) {
  webgpu_device *d = r->device;
  const webgpu_program *p = m->program;
  webgpu_group_entry entries[MAX_RANGES + 1];
  for (uint32_t k = 0; k < p->n_bindings; k++) {
    const webgpu_buffer *b = ranges[k]->buffer ? ranges[k]->buffer : d->nothing;
    entries[k] = (webgpu_group_entry){.binding = k, .buffer = b->handle, .bytes = b->bytes};
    if (b == d->nothing) continue;
    entries[k].offset = ranges[k]->offset;
    entries[k].bytes = (ranges[k]->bytes + 3) / 4 * 4;
  }
  entries[p->n_bindings] = (webgpu_group_entry){
      .binding = p->n_bindings, .buffer = r->params->buffer, .bytes = bytes_of_block};
  const webgpu_group_descriptor group = {
      .layout = p->groups, .n_entries = p->n_bindings + 1, .entries = entries};
  m->group = d->api.wgpuDeviceCreateBindGroup(d->handle, &group);
  return webgpu_answer(c, d, "wgpuDeviceCreateBindGroup");
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static tn_status add_part(const tn_device_call *c, webgpu_recording *r, const webgpu_program *p,
                          const tn_device_range *const *ranges, const tn_dispatch *d,
                          const uint32_t *base) {
  const uint32_t most = r->device->limits.groups;
  webgpu_command *m = add(c, r);
  if (!m) return TN_ERR_MEMORY;
  m->program = p;
  for (int k = 0; k < 3; k++) m->groups[k] = least(most, d->groups[k] - base[k]);
  const tn_status status = put_block(c, r, d, base, &m->at);
  return status ? status : bind(c, r, m, ranges, block_bytes(d));
}

/* In parts, where there are more groups than the device takes at once. */
tn_status webgpu_record_dispatch(const tn_device_call *c, void *recording, void *program,
                                 const tn_device_range *const *ranges, uint32_t n_ranges,
                                 const tn_dispatch *d) {
  webgpu_recording *r = recording;
  const webgpu_program *p = program;
  const uint32_t *n = d->groups, most = r->device->limits.groups;
  tn_status status = TN_OK;
  if (p->n_bindings > n_ranges || n_ranges > MAX_RANGES)
    return c->host->fail(c->ctx, TN_ERR_INVALID, "%u bindings, its module has %u", n_ranges,
                         p->n_bindings);
  for (uint32_t z = 0; z < n[2]; z += least(most, n[2] - z))
    for (uint32_t y = 0; y < n[1]; y += least(most, n[1] - y))
      for (uint32_t x = 0; x < n[0] && !status; x += least(most, n[0] - x)) {
        const uint32_t base[] = {x, y, z};
        status = add_part(c, r, p, ranges, d, base);
      }
  return status;
}

/* By a program, with its words around it. */
static tn_status copy_bytes(const tn_device_call *c, webgpu_recording *r,
                            const tn_device_range *from, const tn_device_range *to, bool is_fill,
                            uint32_t word) {
  enum { A_GROUP = 64 * sizeof(uint32_t) };
  const uint64_t step = r->device->limits.storage_alignment;
  uint64_t at[2] = {from->offset % step, to->offset % step};
  tn_device_range parts[] = {*from, *to};
  for (int k = 0; k < 2; k++) {
    parts[k].offset -= at[k];
    parts[k].bytes = at[k] + to->bytes;
  }
  if (to->bytes > UINT32_MAX - 2 * A_GROUP)
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "a copy of more than 4 GiB");
  const uint32_t params[] = {(uint32_t)at[0], (uint32_t)at[1], (uint32_t)to->bytes, is_fill, word};
  const tn_dispatch dispatch = {
      .head = TN_HEAD(tn_dispatch),
      .n_bindings = 2,
      .groups = {(uint32_t)((to->offset % 4 + to->bytes + A_GROUP - 1) / A_GROUP), 1, 1},
      .params = params,
      .params_bytes = sizeof params};
  const tn_device_range *const ranges[] = {&parts[0], &parts[1]};
  return webgpu_record_dispatch(c, r, r->device->copier, ranges, 2, &dispatch);
}

/* WebGPU copies whole words, from one buffer to another. */
tn_status webgpu_record_copy(const tn_device_call *c, void *recording, const tn_device_range *from,
                             const tn_device_range *to) {
  webgpu_recording *r = recording;
  const webgpu_buffer *a = from->buffer, *b = to->buffer;
  if (a == b || from->offset % 4 || to->offset % 4 || to->bytes % 4)
    return copy_bytes(c, r, from, to, false, 0);
  webgpu_command *m = add(c, r);
  if (!m) return TN_ERR_MEMORY;
  m->from = a->handle;
  m->to = b->handle;
  m->from_offset = from->offset;
  m->to_offset = to->offset;
  m->bytes = to->bytes;
  return TN_OK;
}

tn_status webgpu_record_fill(const tn_device_call *c, void *recording, const tn_device_range *to,
                             uint32_t word) {
  if (to->offset % 4 || to->bytes % 4)
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "a fill of parts of words");
  return copy_bytes(c, recording, to, to, true, word);
}

/* WebGPU itself lets a command that uses what another writes wait for it. */
tn_status webgpu_record_barrier(const tn_device_call *c, void *recording) {
  (void)c;
  (void)recording;
  return TN_OK;
}

tn_status webgpu_record_end(const tn_device_call *c, void *recording) {
  const webgpu_recording *r = recording;
  webgpu_device *d = r->device;
  for (const webgpu_params *p = r->params; p; p = p->next)
    d->api.wgpuQueueWriteBuffer(d->queue, p->buffer, 0, p->data, PARAMS_BYTES);
  return webgpu_answer(c, d, "wgpuQueueWriteBuffer");
}

void webgpu_record_free(const tn_device_call *c, void *recording) {
  webgpu_recording *r = recording;
  const webgpu_api *api = &r->device->api;
  for (webgpu_command *m = r->first, *next; m; m = next) {
    next = m->next;
    if (m->group) api->wgpuBindGroupRelease(m->group);
    c->host->free(c->ctx, m);
  }
  for (webgpu_params *p = r->params, *next; p; p = next) {
    next = p->next;
    if (p->buffer) api->wgpuBufferRelease(p->buffer);
    c->host->free(c->ctx, p);
  }
  c->host->free(c->ctx, r);
}
