/* Buffers of Vulkan. A device may refuse more than 4096 allocations of memory, and models have
 * thousands of constants: small buffers of the device share blocks. A block is given back when
 * nothing in it is in use. */
#include <string.h>

#include "vulkan.h"

enum { BLOCK_BYTES = 8 << 20, SMALL_BYTES = 1 << 20 };

struct vulkan_block {
  vulkan_block *next;
  VkDeviceMemory memory;
  uint32_t type;
  uint64_t used;
  int64_t n_buffers;
};

/* The first type among those allowed that has what is wanted, at best what is liked as well; -1:
 * there is none. */
static int find_type(const vulkan_device *d, uint32_t allowed, VkMemoryPropertyFlags wanted,
                     VkMemoryPropertyFlags liked) {
  for (int round = 0; round < 2; round++, liked = 0)
    for (uint32_t k = 0; k < d->memory.memoryTypeCount; k++) {
      const VkMemoryPropertyFlags all = wanted | liked;
      if (allowed >> k & 1 && (d->memory.memoryTypes[k].propertyFlags & all) == all) return (int)k;
    }
  return -1;
}

static tn_status allocate(const tn_device_call *c, const vulkan_device *d, uint64_t bytes,
                          uint32_t type, VkDeviceMemory *out) {
  const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .allocationSize = bytes,
                                     .memoryTypeIndex = type};
  return vulkan_answer(c, d->api.vkAllocateMemory(d->handle, &info, NULL, out), "vkAllocateMemory");
}

/* ---- blocks; under the device's lock ---- */

static uint64_t align_up(uint64_t at, uint64_t to) { return (at + to - 1) / to * to; }

static vulkan_block *block_with(vulkan_device *d, const VkMemoryRequirements *r, uint32_t type) {
  for (vulkan_block *b = d->blocks; b; b = b->next)
    if (b->type == type && align_up(b->used, r->alignment) + r->size <= BLOCK_BYTES) return b;
  return NULL;
}

static tn_status block_new(const tn_device_call *c, vulkan_device *d, uint32_t type,
                           vulkan_block **out) {
  vulkan_block *b = c->host->alloc(c->ctx, sizeof *b);
  if (!b) return TN_ERR_MEMORY;
  *b = (vulkan_block){.next = d->blocks, .type = type};
  const tn_status status = allocate(c, d, BLOCK_BYTES, type, &b->memory);
  if (status)
    c->host->free(c->ctx, b);
  else
    *out = d->blocks = b;
  return status;
}

static tn_status bind_in_block(const tn_device_call *c, vulkan_buffer *b,
                               const VkMemoryRequirements *r, uint32_t type) {
  vulkan_device *d = b->device;
  tn_status status = TN_OK;
  pthread_mutex_lock(&d->lock);
  vulkan_block *block = block_with(d, r, type);
  if (!block) status = block_new(c, d, type, &block);
  if (!status) {
    const uint64_t at = align_up(block->used, r->alignment);
    status = vulkan_answer(c, d->api.vkBindBufferMemory(d->handle, b->handle, block->memory, at),
                           "vkBindBufferMemory");
    if (!status) {
      block->used = at + r->size;
      block->n_buffers++;
      b->block = block;
    }
  }
  pthread_mutex_unlock(&d->lock);
  return status;
}

static void leave_block(const tn_device_call *c, vulkan_device *d, vulkan_block *block) {
  pthread_mutex_lock(&d->lock);
  if (!--block->n_buffers) {
    vulkan_block **at = &d->blocks;
    while (*at != block) at = &(*at)->next;
    *at = block->next;
    d->api.vkFreeMemory(d->handle, block->memory, NULL);
    c->host->free(c->ctx, block);
  }
  pthread_mutex_unlock(&d->lock);
}

void vulkan_blocks_free(const tn_device_call *c, vulkan_device *d) {
  for (vulkan_block *b = d->blocks, *next; b; b = next) {
    next = b->next;
    d->api.vkFreeMemory(d->handle, b->memory, NULL);
    c->host->free(c->ctx, b);
  }
  d->blocks = NULL;
}

/* ---- buffers ---- */

static tn_status make(const tn_device_call *c, vulkan_buffer *b, uint64_t bytes) {
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                   .size = (bytes + 15) / 16 * 16, /* programs store in fours */
                                   .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                            VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                            VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                   .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
  const vulkan_device *d = b->device;
  return vulkan_answer(c, d->api.vkCreateBuffer(d->handle, &info, NULL, &b->handle),
                       "vkCreateBuffer");
}

static tn_status bind_memory(const tn_device_call *c, vulkan_buffer *b, uint32_t use) {
  const VkMemoryPropertyFlags visible =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const bool is_device = use == TN_BUFFER_DEVICE;
  const VkMemoryPropertyFlags liked = is_device ? VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
                                      : use == TN_BUFFER_DOWNLOAD
                                          ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT
                                          : 0;
  const vulkan_device *d = b->device;
  VkMemoryRequirements r;
  d->api.vkGetBufferMemoryRequirements(d->handle, b->handle, &r);
  const int type = find_type(d, r.memoryTypeBits, is_device ? 0 : visible, liked);
  if (type < 0) return c->host->fail(c->ctx, TN_ERR_MEMORY, "no type of memory is fit");
  if (is_device && r.size <= SMALL_BYTES) return bind_in_block(c, b, &r, (uint32_t)type);
  tn_status status = allocate(c, d, r.size, (uint32_t)type, &b->memory);
  if (!status)
    status = vulkan_answer(c, d->api.vkBindBufferMemory(d->handle, b->handle, b->memory, 0),
                           "vkBindBufferMemory");
  if (!status && !is_device)
    status = vulkan_answer(
        c, d->api.vkMapMemory(d->handle, b->memory, 0, VK_WHOLE_SIZE, 0, &b->data), "vkMapMemory");
  return status;
}

tn_status vulkan_buffer_new(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                            void **out_buffer) {
  vulkan_buffer *b = c->host->alloc(c->ctx, sizeof *b);
  if (!b) return TN_ERR_MEMORY;
  *b = (vulkan_buffer){.device = device};
  tn_status status = make(c, b, bytes);
  if (!status) status = bind_memory(c, b, use);
  if (status)
    vulkan_buffer_free(c, b);
  else
    *out_buffer = b;
  return status;
}

tn_status vulkan_buffer_map(const tn_device_call *c, void *buffer, void **out_data) {
  *out_data = ((vulkan_buffer *)buffer)->data;
  if (*out_data) return TN_OK;
  return c->host->fail(c->ctx, TN_ERR_STATE, "memory of the device cannot be mapped");
}

void vulkan_buffer_free(const tn_device_call *c, void *buffer) {
  vulkan_buffer *b = buffer;
  vulkan_device *d = b->device;
  d->api.vkDestroyBuffer(d->handle, b->handle, NULL); /* none is legal */
  d->api.vkFreeMemory(d->handle, b->memory, NULL);    /* unmaps */
  if (b->block) leave_block(c, d, b->block);
  c->host->free(c->ctx, b);
}
