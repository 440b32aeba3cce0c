/* Recordings of Vulkan are command buffers, each with a pool, descriptors and params of its own. */
#include <string.h>

#include "vulkan.h"

enum { SETS = 64, SET_BINDINGS = SETS * 8, PARAMS_BYTES = 64 << 10 };

typedef struct vulkan_sets {
  struct vulkan_sets *next;
  VkDescriptorPool pool;
} vulkan_sets;

typedef struct vulkan_params {
  struct vulkan_params *next;
  vulkan_buffer *buffer;
  uint64_t used;
} vulkan_params;

/* ---- making one ---- */

static const VkPipelineStageFlags all_stages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;

static void barrier(const vulkan_recording *r, VkPipelineStageFlags to, VkAccessFlags read_by) {
  const VkMemoryBarrier all = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
      .dstAccessMask = read_by};
  r->device->api.vkCmdPipelineBarrier(r->commands, all_stages, to, 0, 1, &all, 0, NULL, 0, NULL);
}

tn_status vulkan_record_barrier(const tn_device_call *c, void *recording) {
  (void)c;
  barrier(recording, all_stages,
          VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
              VK_ACCESS_TRANSFER_WRITE_BIT);
  return TN_OK;
}

static tn_status begin(const tn_device_call *c, vulkan_recording *r) {
  const vulkan_device *d = r->device;
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = d->family};
  tn_status status = vulkan_answer(c, d->api.vkCreateCommandPool(d->handle, &pool, NULL, &r->pool),
                                   "vkCreateCommandPool");
  const VkCommandBufferAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .commandPool = r->pool,
                                           .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                           .commandBufferCount = 1};
  if (!status)
    status = vulkan_answer(c, d->api.vkAllocateCommandBuffers(d->handle, &one, &r->commands),
                           "vkAllocateCommandBuffers");
  /* it may be submitted again before it has ended */
  const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                         .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
  if (!status)
    status =
        vulkan_answer(c, d->api.vkBeginCommandBuffer(r->commands, &info), "vkBeginCommandBuffer");
  if (!status) vulkan_record_barrier(c, r); /* behind the submission before it */
  return status;
}

tn_status vulkan_record_begin(const tn_device_call *c, void *device, void **out_recording) {
  vulkan_recording *r = c->host->alloc(c->ctx, sizeof *r);
  if (!r) return TN_ERR_MEMORY;
  *r = (vulkan_recording){.device = device};
  const tn_status status = begin(c, r);
  if (status)
    vulkan_record_free(c, r);
  else
    *out_recording = r;
  return status;
}

tn_status vulkan_record_end(const tn_device_call *c, void *recording) {
  const vulkan_recording *r = recording;
  barrier(r, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  return vulkan_answer(c, r->device->api.vkEndCommandBuffer(r->commands), "vkEndCommandBuffer");
}

void vulkan_record_free(const tn_device_call *c, void *recording) {
  vulkan_recording *r = recording;
  const vulkan_device *d = r->device;
  d->api.vkDestroyCommandPool(d->handle, r->pool, NULL);
  for (vulkan_sets *s = r->sets, *next; s; s = next) {
    next = s->next;
    d->api.vkDestroyDescriptorPool(d->handle, s->pool, NULL);
    c->host->free(c->ctx, s);
  }
  for (vulkan_params *p = r->params, *next; p; p = next) {
    next = p->next;
    vulkan_buffer_free(c, p->buffer);
    c->host->free(c->ctx, p);
  }
  c->host->free(c->ctx, r);
}

/* ---- what a dispatch is bound to ---- */

static tn_status add_sets(const tn_device_call *c, vulkan_recording *r) {
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, SET_BINDINGS};
  const VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = SETS,
                                           .poolSizeCount = 1,
                                           .pPoolSizes = &size};
  const vulkan_device *d = r->device;
  vulkan_sets *s = c->host->alloc(c->ctx, sizeof *s);
  if (!s) return TN_ERR_MEMORY;
  s->next = r->sets;
  const tn_status status = vulkan_answer(
      c, d->api.vkCreateDescriptorPool(d->handle, &info, NULL, &s->pool), "vkCreateDescriptorPool");
  if (status)
    c->host->free(c->ctx, s);
  else
    r->sets = s;
  return status;
}

static VkResult take_set(const vulkan_recording *r, const vulkan_program *p, VkDescriptorSet *out) {
  const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = r->sets->pool,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &p->set};
  return r->device->api.vkAllocateDescriptorSets(r->device->handle, &info, out);
}

/* Of the newest pool, or of one more. */
static tn_status get_set(const tn_device_call *c, vulkan_recording *r, const vulkan_program *p,
                         VkDescriptorSet *out) {
  if (r->sets && take_set(r, p, out) == VK_SUCCESS) return TN_OK;
  const tn_status status = add_sets(c, r);
  return status ? status : vulkan_answer(c, take_set(r, p, out), "vkAllocateDescriptorSets");
}

static tn_status add_params(const tn_device_call *c, vulkan_recording *r) {
  vulkan_params *p = c->host->alloc(c->ctx, sizeof *p);
  void *buffer;
  if (!p) return TN_ERR_MEMORY;
  const tn_status status = vulkan_buffer_new(c, r->device, PARAMS_BYTES, TN_BUFFER_UPLOAD, &buffer);
  if (status) {
    c->host->free(c->ctx, p);
    return status;
  }
  *p = (vulkan_params){.next = r->params, .buffer = buffer};
  r->params = p;
  return TN_OK;
}

/* Params that are too long to be pushed. */
static tn_status put_params(const tn_device_call *c, vulkan_recording *r, const tn_dispatch *d,
                            VkDescriptorBufferInfo *out) {
  const uint64_t step = r->device->properties.limits.minStorageBufferOffsetAlignment;
  if (d->params_bytes > PARAMS_BYTES)
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "%u bytes of params", d->params_bytes);
  if (!r->params || r->params->used + d->params_bytes > PARAMS_BYTES) {
    const tn_status status = add_params(c, r);
    if (status) return status;
  }
  vulkan_params *p = r->params;
  memcpy((uint8_t *)p->buffer->data + p->used, d->params, d->params_bytes);
  *out = (VkDescriptorBufferInfo){p->buffer->handle, p->used, d->params_bytes};
  p->used = (p->used + d->params_bytes + step - 1) / step * step;
  return TN_OK;
}

enum { MAX_RANGES = 64 };

static tn_status bind_set(const tn_device_call *c, vulkan_recording *r, const vulkan_program *p,
                          const VkDescriptorBufferInfo *buffers) {
  const vulkan_device *d = r->device;
  VkWriteDescriptorSet writes[MAX_RANGES];
  VkDescriptorSet set;
  const tn_status status = get_set(c, r, p, &set);
  if (status) return status;
  for (uint32_t k = 0; k < p->n_bindings; k++)
    writes[k] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = set,
                                       .dstBinding = k,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &buffers[k]};
  d->api.vkUpdateDescriptorSets(d->handle, p->n_bindings, writes, 0, NULL);
  d->api.vkCmdBindDescriptorSets(r->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &set,
                                 0, NULL);
  return TN_OK;
}

/* ---- commands ---- */

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* In parts, where there are more groups than the device takes at once. */
static void dispatch(const vulkan_recording *r, const uint32_t *groups) {
  const uint32_t *most = r->device->properties.limits.maxComputeWorkGroupCount;
  for (uint32_t z = 0; z < groups[2]; z += least(most[2], groups[2] - z))
    for (uint32_t y = 0; y < groups[1]; y += least(most[1], groups[1] - y))
      for (uint32_t x = 0; x < groups[0]; x += least(most[0], groups[0] - x))
        r->device->api.vkCmdDispatchBase(r->commands, x, y, z, least(most[0], groups[0] - x),
                                         least(most[1], groups[1] - y),
                                         least(most[2], groups[2] - z));
}

static tn_status bind_all(const tn_device_call *c, vulkan_recording *r, const vulkan_program *p,
                          const tn_device_range *const *ranges, uint32_t n, const tn_dispatch *d) {
  VkDescriptorBufferInfo buffers[MAX_RANGES];
  const bool is_pushed = d->params_bytes <= VULKAN_PUSHED_BYTES;
  if (p->n_bindings > n + !is_pushed || n >= MAX_RANGES)
    return c->host->fail(c->ctx, TN_ERR_INVALID, "%u bindings, its module has %u", n,
                         p->n_bindings);
  for (uint32_t k = 0; k < n; k++) {
    const vulkan_buffer *b = ranges[k]->buffer;
    const uint64_t words = (ranges[k]->bytes + 3) / 4 * 4; /* programs read whole ones */
    buffers[k] = b ? (VkDescriptorBufferInfo){b->handle, ranges[k]->offset, words}
                   : (VkDescriptorBufferInfo){r->device->nothing->handle, 0, VK_WHOLE_SIZE};
  }
  const tn_status status = is_pushed ? TN_OK : put_params(c, r, d, &buffers[n]);
  if (status) return status;
  if (is_pushed && d->params_bytes)
    r->device->api.vkCmdPushConstants(r->commands, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                      d->params_bytes, d->params);
  return bind_set(c, r, p, buffers);
}

tn_status vulkan_record_dispatch(const tn_device_call *c, void *recording, void *program,
                                 const tn_device_range *const *ranges, uint32_t n_ranges,
                                 const tn_dispatch *d) {
  vulkan_recording *r = recording;
  const vulkan_program *p = program;
  r->device->api.vkCmdBindPipeline(r->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
  const tn_status status = bind_all(c, r, p, ranges, n_ranges, d);
  if (!status) dispatch(r, d->groups);
  return status;
}

tn_status vulkan_record_copy(const tn_device_call *c, void *recording, const tn_device_range *from,
                             const tn_device_range *to) {
  const vulkan_recording *r = recording;
  const VkBufferCopy part = {from->offset, to->offset, to->bytes};
  (void)c;
  r->device->api.vkCmdCopyBuffer(r->commands, ((vulkan_buffer *)from->buffer)->handle,
                                 ((vulkan_buffer *)to->buffer)->handle, 1, &part);
  return TN_OK;
}

/* Vulkan fills whole words only. */
tn_status vulkan_record_fill(const tn_device_call *c, void *recording, const tn_device_range *to,
                             uint32_t word) {
  const vulkan_recording *r = recording;
  if (to->offset % 4 || to->bytes % 4)
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "a fill of parts of words");
  r->device->api.vkCmdFillBuffer(r->commands, ((vulkan_buffer *)to->buffer)->handle, to->offset,
                                 to->bytes, word);
  return TN_OK;
}
