/* Queues of WebGPU: those of all sessions are one queue of the device. It tells by a callback how
 * far it is. */
#include <string.h>
#include <time.h>

#include "webgpu.h"

typedef struct queue {
  webgpu_device *device;
  uint64_t submitted, done; /* marks */
  uint64_t marks[64];       /* of callbacks that did not come yet, by turns */
  bool has_failed;
} queue;

tn_status webgpu_queue_new(const tn_device_call *c, void *device, void **out_queue) {
  queue *q = c->host->alloc(c->ctx, sizeof *q);
  if (!q) return TN_ERR_MEMORY;
  *q = (queue){.device = device};
  *out_queue = q;
  return TN_OK;
}

/* All that it waits for has ended: no callback comes later. */
void webgpu_queue_free(const tn_device_call *c, void *queue_) {
  queue *q = queue_;
  if (q->done < q->submitted) q->device->api.wgpuDevicePoll(q->device->handle, 1, NULL);
  c->host->free(c->ctx, q);
}

/* ---- submitting ---- */

/* Commands in one pass as long as they are dispatches. */
static webgpu_object *encode(const webgpu_device *d, const webgpu_recording *r) {
  const webgpu_api *api = &d->api;
  webgpu_object *encoder = api->wgpuDeviceCreateCommandEncoder(d->handle, NULL), *pass = NULL;
  for (const webgpu_command *m = r->first; m; m = m->next) {
    if (m->program) {
      if (!pass) pass = api->wgpuCommandEncoderBeginComputePass(encoder, NULL);
      api->wgpuComputePassEncoderSetPipeline(pass, m->program->pipeline);
      api->wgpuComputePassEncoderSetBindGroup(pass, 0, m->group, 1, &m->at);
      api->wgpuComputePassEncoderDispatchWorkgroups(pass, m->groups[0], m->groups[1], m->groups[2]);
    } else {
      api->wgpuCommandEncoderCopyBufferToBuffer(encoder, m->from, m->from_offset, m->to,
                                                m->to_offset, m->bytes);
    }
    if (pass && (!m->next || !m->next->program)) {
      api->wgpuComputePassEncoderEnd(pass);
      api->wgpuComputePassEncoderRelease(pass);
      pass = NULL;
    }
  }
  webgpu_object *commands = api->wgpuCommandEncoderFinish(encoder, NULL);
  api->wgpuCommandEncoderRelease(encoder);
  return commands;
}

static void on_done(uint32_t status, webgpu_text text, void *a, void *b) {
  queue *q = a;
  const uint64_t mark = *(const uint64_t *)b;
  (void)text;
  if (mark > q->done) q->done = mark;
  if (status != WEBGPU_SUCCESS) q->has_failed = true;
}

tn_status webgpu_submit(const tn_device_call *c, void *queue_, void *recording, uint64_t mark) {
  enum { MAX_OPEN = sizeof(((queue *)0)->marks) / sizeof(uint64_t) };
  queue *q = queue_;
  webgpu_device *d = q->device;
  uint64_t *place = &q->marks[mark % MAX_OPEN];
  if (*place > q->done) d->api.wgpuDevicePoll(d->handle, 1, NULL); /* it is still in use */
  *place = mark;
  webgpu_object *commands = encode(d, recording);
  tn_status status = webgpu_answer(c, d, "wgpuCommandEncoderFinish");
  if (!status) {
    d->api.wgpuQueueSubmit(d->queue, 1, &commands);
    status = webgpu_answer(c, d, "wgpuQueueSubmit");
  }
  if (commands) d->api.wgpuCommandBufferRelease(commands);
  if (status) return status;
  const webgpu_callback done = {.mode = WEBGPU_SPONTANEOUS,
                                .call = (void (*)(void))(webgpu_done *)on_done,
                                .data = {q, place}};
  q->submitted = mark;
  d->api.wgpuQueueOnSubmittedWorkDone(d->queue, done);
  return webgpu_answer(c, d, "wgpuQueueOnSubmittedWorkDone");
}

/* ---- waiting ---- */

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* wgpu-native waits without an end, or not at all: the longer it takes, the longer are the pauses
 * between two looks, up to 1 ms. */
static tn_status poll_until(queue *q, uint64_t mark, uint64_t timeout_ns) {
  const uint64_t begin = now_ns();
  for (;;) {
    q->device->api.wgpuDevicePoll(q->device->handle, 0, NULL);
    if (q->done >= mark || q->device->is_lost || q->device->error) return TN_OK;
    const uint64_t past = now_ns() - begin, pause = past / 16 + 5000;
    if (past >= timeout_ns) return TN_ERR_STATE;
    const struct timespec t = {0, pause < 1000000 ? (long)pause : 1000000};
    nanosleep(&t, NULL);
  }
}

tn_status webgpu_wait(const tn_device_call *c, void *queue_, uint64_t mark, uint64_t timeout_ns) {
  queue *q = queue_;
  if (q->done < mark && poll_until(q, mark, timeout_ns)) return TN_ERR_STATE;
  const tn_status status = webgpu_answer(c, q->device, "wgpuDevicePoll");
  if (status || !q->has_failed) return status;
  return c->host->fail(c->ctx, TN_ERR_IO, "wgpuQueueOnSubmittedWorkDone: it did not end");
}
