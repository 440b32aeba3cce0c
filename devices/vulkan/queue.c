/* Queues of Vulkan: those of all sessions are one queue of the device. A mark is a fence. */
#include <string.h>

#include "vulkan.h"

enum { MAX_OPEN = 64 }; /* submissions that nobody has waited for */

typedef struct queue {
  vulkan_device *device;
  uint64_t marks[MAX_OPEN]; /* oldest first */
  VkFence fences[MAX_OPEN]; /* of the marks, then those that are free */
  uint32_t n_open, n_fences;
} queue;

tn_status vulkan_queue_new(const tn_device_call *c, void *device, void **out_queue) {
  queue *q = c->host->alloc(c->ctx, sizeof *q);
  if (!q) return TN_ERR_MEMORY;
  memset(q, 0, sizeof *q);
  q->device = device;
  *out_queue = q;
  return TN_OK;
}

/* The first n have ended: their fences are used again. */
static tn_status forget(const tn_device_call *c, queue *q, uint32_t n) {
  const vulkan_device *d = q->device;
  VkFence done[MAX_OPEN];
  memcpy(done, q->fences, n * sizeof *done);
  memmove(q->fences, q->fences + n, (q->n_fences - n) * sizeof *done);
  memcpy(q->fences + q->n_fences - n, done, n * sizeof *done);
  memmove(q->marks, q->marks + n, (q->n_open - n) * sizeof *q->marks);
  q->n_open -= n;
  return vulkan_answer(c, d->api.vkResetFences(d->handle, n, done), "vkResetFences");
}

static tn_status wait_for(const tn_device_call *c, queue *q, uint32_t n, uint64_t timeout_ns) {
  const vulkan_device *d = q->device;
  const VkResult code = d->api.vkWaitForFences(d->handle, n, q->fences, VK_TRUE, timeout_ns);
  if (code == VK_TIMEOUT) return TN_ERR_STATE;
  const tn_status status = vulkan_answer(c, code, "vkWaitForFences");
  return status ? status : forget(c, q, n);
}

void vulkan_queue_free(const tn_device_call *c, void *queue_) {
  queue *q = queue_;
  const vulkan_device *d = q->device;
  if (q->n_open) (void)wait_for(c, q, q->n_open, UINT64_MAX);
  for (uint32_t k = 0; k < q->n_fences; k++) d->api.vkDestroyFence(d->handle, q->fences[k], NULL);
  c->host->free(c->ctx, q);
}

static tn_status need_fence(const tn_device_call *c, queue *q) {
  const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  const vulkan_device *d = q->device;
  if (q->n_open < q->n_fences) return TN_OK;
  if (q->n_open == MAX_OPEN) return wait_for(c, q, 1, UINT64_MAX);
  const tn_status status = vulkan_answer(
      c, d->api.vkCreateFence(d->handle, &info, NULL, &q->fences[q->n_fences]), "vkCreateFence");
  q->n_fences += !status;
  return status;
}

tn_status vulkan_submit(const tn_device_call *c, void *queue_, void *recording, uint64_t mark) {
  queue *q = queue_;
  vulkan_device *d = q->device;
  const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .commandBufferCount = 1,
                             .pCommandBuffers = &((vulkan_recording *)recording)->commands};
  tn_status status = need_fence(c, q);
  if (status) return status;
  pthread_mutex_lock(&d->lock);
  const VkResult code = d->api.vkQueueSubmit(d->queue, 1, &info, q->fences[q->n_open]);
  pthread_mutex_unlock(&d->lock);
  status = vulkan_answer(c, code, "vkQueueSubmit");
  if (!status) q->marks[q->n_open++] = mark;
  return status;
}

tn_status vulkan_wait(const tn_device_call *c, void *queue_, uint64_t mark, uint64_t timeout_ns) {
  queue *q = queue_;
  uint32_t k = 0;
  while (k < q->n_open && q->marks[k] < mark) k++;
  if (k == q->n_open) return TN_OK; /* it was waited for before */
  return wait_for(c, q, k + 1, timeout_ns);
}
