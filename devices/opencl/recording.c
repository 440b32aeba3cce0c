/* Recordings of OpenCL are lists of commands, replayed by each submission into an in-order queue.
 * Every dispatch has a kernel object of its own, whose arguments are set once. A mark is the event
 * of a marker behind the commands. */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "opencl.h"

/* ---- making a recording ---- */

typedef enum command_kind { DISPATCH, UP, DOWN, COPY, FILL } command_kind;

typedef struct command {
  struct command *next;
  command_kind kind;
  opencl_object *kernel; /* DISPATCH */
  size_t items[3], group[3];
  opencl_object *from, *to; /* copies and fills */
  void *host;
  size_t from_offset, to_offset, bytes;
  uint32_t word;
  uint32_t n_views;
  opencl_object *views[]; /* sub-buffers, as arguments */
} command;

typedef struct recording {
  opencl_device *device;
  command *first, **last;
} recording;

tn_status opencl_record_begin(const tn_device_call *c, void *device, void **out_recording) {
  recording *r = c->host->alloc(c->ctx, sizeof *r);
  if (!r) return TN_ERR_MEMORY;
  *r = (recording){.device = device};
  r->last = &r->first;
  *out_recording = r;
  return TN_OK;
}

static command *add(const tn_device_call *c, recording *r, command_kind kind, uint32_t n_views) {
  command *m = c->host->alloc(c->ctx, sizeof *m + n_views * sizeof m->views[0]);
  if (!m) return NULL;
  *m = (command){.kind = kind};
  *r->last = m;
  r->last = &m->next;
  return m;
}

/* A program sees a buffer from the beginning: what lies inside of one is a sub-buffer. */
static tn_status set_buffer(const tn_device_call *c, const opencl_api *api, command *m,
                            uint32_t index, const tn_device_range *range) {
  const opencl_buffer *b = range->buffer;
  const opencl_region region = {range->offset, range->bytes};
  int32_t code = 0;
  opencl_object *view = b ? b->memory : NULL;
  if (b && (range->offset || range->bytes != b->bytes)) {
    view = api->clCreateSubBuffer(b->memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                  &region, &code);
    if (code) return opencl_answer(c, code, "clCreateSubBuffer");
    m->views[m->n_views++] = view;
  }
  return opencl_answer(c, api->clSetKernelArg(m->kernel, index, sizeof view, &view),
                       "clSetKernelArg");
}

static tn_status set_groups(const tn_device_call *c, const opencl_device *d, command *m,
                            const tn_dispatch *dispatch) {
  const int32_t code = d->api.clGetKernelWorkGroupInfo(
      m->kernel, d->id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof m->group, m->group, NULL);
  if (code) return opencl_answer(c, code, "clGetKernelWorkGroupInfo");
  for (int k = 0; k < 3; k++) {
    if (!m->group[k])
      return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "its kernel has no reqd_work_group_size");
    m->items[k] = m->group[k] * dispatch->groups[k];
  }
  return TN_OK;
}

tn_status opencl_record_dispatch(const tn_device_call *c, void *recording_, void *program,
                                 const tn_device_range *const *ranges, uint32_t n_ranges,
                                 const tn_dispatch *d) {
  recording *r = recording_;
  const opencl_program *p = program;
  int32_t code;
  command *m = add(c, r, DISPATCH, n_ranges);
  if (!m) return TN_ERR_MEMORY;
  m->kernel = r->device->api.clCreateKernel(p->handle, p->name, &code);
  tn_status status = opencl_answer(c, code, "clCreateKernel");
  for (uint32_t k = 0; k < n_ranges && !status; k++)
    status = set_buffer(c, &r->device->api, m, k, ranges[k]);
  if (!status && d->params_bytes)
    status = opencl_answer(
        c, r->device->api.clSetKernelArg(m->kernel, n_ranges, d->params_bytes, d->params),
        "its params");
  return status ? status : set_groups(c, r->device, m, d);
}

tn_status opencl_record_copy(const tn_device_call *c, void *recording_, const tn_device_range *from,
                             const tn_device_range *to) {
  const opencl_buffer *source = from->buffer, *target = to->buffer;
  if (source->data && target->data)
    return c->host->fail(c->ctx, TN_ERR_INTERNAL, "a copy from the host to the host");
  command *m = add(c, recording_, source->data ? UP : target->data ? DOWN : COPY, 0);
  if (!m) return TN_ERR_MEMORY;
  m->from = source->memory;
  m->to = target->memory;
  m->from_offset = from->offset;
  m->to_offset = to->offset;
  m->bytes = to->bytes;
  if (source->data) m->host = (uint8_t *)source->data + from->offset;
  if (target->data) m->host = (uint8_t *)target->data + to->offset;
  return TN_OK;
}

/* OpenCL fills whole words only. */
tn_status opencl_record_fill(const tn_device_call *c, void *recording_, const tn_device_range *to,
                             uint32_t word) {
  const opencl_buffer *b = to->buffer;
  if (!b->memory || to->offset % 4 || to->bytes % 4)
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "a fill of parts of words");
  command *m = add(c, recording_, FILL, 0);
  if (!m) return TN_ERR_MEMORY;
  m->to = b->memory;
  m->to_offset = to->offset;
  m->bytes = to->bytes;
  m->word = word;
  return TN_OK;
}

/* The queue is in order. */
tn_status opencl_record_barrier(const tn_device_call *c, void *recording_) {
  (void)c, (void)recording_;
  return TN_OK;
}

tn_status opencl_record_end(const tn_device_call *c, void *recording_) {
  (void)c, (void)recording_;
  return TN_OK;
}

void opencl_record_free(const tn_device_call *c, void *recording_) {
  recording *r = recording_;
  for (command *m = r->first, *next; m; m = next) {
    next = m->next;
    if (m->kernel) r->device->api.clReleaseKernel(m->kernel);
    for (uint32_t k = 0; k < m->n_views; k++) r->device->api.clReleaseMemObject(m->views[k]);
    c->host->free(c->ctx, m);
  }
  c->host->free(c->ctx, r);
}

/* ---- queues ---- */

enum { MAX_OPEN = 64 }; /* submissions that nobody has waited for */

typedef struct open_mark {
  uint64_t mark;
  opencl_object *event;
} open_mark;

typedef struct queue {
  const opencl_api *api;
  opencl_object *handle;
  open_mark open[MAX_OPEN]; /* oldest first */
  uint32_t n_open;
} queue;

tn_status opencl_queue_new(const tn_device_call *c, void *device, void **out_queue) {
  const opencl_device *d = device;
  int32_t code;
  queue *q = c->host->alloc(c->ctx, sizeof *q);
  if (!q) return TN_ERR_MEMORY;
  *q = (queue){.api = &d->api};
  q->handle = d->api.clCreateCommandQueue(d->context, d->id, 0, &code);
  if (!code) {
    *out_queue = q;
    return TN_OK;
  }
  c->host->free(c->ctx, q);
  return opencl_answer(c, code, "clCreateCommandQueue");
}

void opencl_queue_free(const tn_device_call *c, void *queue_) {
  queue *q = queue_;
  q->api->clFinish(q->handle);
  for (uint32_t k = 0; k < q->n_open; k++) q->api->clReleaseEvent(q->open[k].event);
  q->api->clReleaseCommandQueue(q->handle);
  c->host->free(c->ctx, q);
}

static int32_t enqueue(const opencl_api *api, opencl_object *q, const command *m) {
  switch (m->kind) {
    case DISPATCH:
      return api->clEnqueueNDRangeKernel(q, m->kernel, 3, NULL, m->items, m->group, 0, NULL, NULL);
    case UP:
      return api->clEnqueueWriteBuffer(q, m->to, 0, m->to_offset, m->bytes, m->host, 0, NULL, NULL);
    case DOWN:
      return api->clEnqueueReadBuffer(q, m->from, 0, m->from_offset, m->bytes, m->host, 0, NULL,
                                      NULL);
    case COPY:
      return api->clEnqueueCopyBuffer(q, m->from, m->to, m->from_offset, m->to_offset, m->bytes, 0,
                                      NULL, NULL);
    case FILL: break;
  }
  return api->clEnqueueFillBuffer(q, m->to, &m->word, sizeof m->word, m->to_offset, m->bytes, 0,
                                  NULL, NULL);
}

/* The oldest are forgotten: the queue is in order, so their marks end with younger ones. */
static void forget(queue *q, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) q->api->clReleaseEvent(q->open[k].event);
  q->n_open -= n;
  memmove(q->open, q->open + n, q->n_open * sizeof *q->open);
}

tn_status opencl_submit(const tn_device_call *c, void *queue_, void *recording_, uint64_t mark) {
  queue *q = queue_;
  int32_t code = 0;
  if (q->n_open == MAX_OPEN) forget(q, 1);
  for (const command *m = ((recording *)recording_)->first; m && !code; m = m->next)
    code = enqueue(q->api, q->handle, m);
  if (code) {
    q->api->clFinish(q->handle); /* what was begun still touches its buffers */
    return opencl_answer(c, code, "submitting");
  }
  open_mark *open = &q->open[q->n_open];
  code = q->api->clEnqueueMarkerWithWaitList(q->handle, 0, NULL, &open->event);
  if (code) {
    q->api->clFinish(q->handle);
    return opencl_answer(c, code, "clEnqueueMarkerWithWaitList");
  }
  open->mark = mark;
  q->n_open++;
  return opencl_answer(c, q->api->clFlush(q->handle), "clFlush");
}

/* ---- waiting ---- */

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* OpenCL has no wait that ends in time, so the event is asked: at first without a break, later
 * every 50 us. */
static tn_status wait_event(const tn_device_call *c, const opencl_api *api, opencl_object *event,
                            uint64_t timeout_ns) {
  enum { AWAKE_NS = 200000, NAP_NS = 50000 };
  const struct timespec nap = {0, NAP_NS};
  const uint64_t begin = now_ns();
  for (;;) {
    int32_t state = 0; /* above 0: not yet; below: what it failed with */
    const int32_t code =
        api->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (code) return opencl_answer(c, code, "clGetEventInfo");
    if (state < 0)
      return c->host->fail(c->ctx, TN_ERR_IO, "a command ended with error %d", (int)state);
    if (!state) return TN_OK;
    const uint64_t passed = now_ns() - begin;
    if (passed >= timeout_ns) return TN_ERR_STATE;
    if (passed < AWAKE_NS)
      sched_yield();
    else
      nanosleep(&nap, NULL);
  }
}

tn_status opencl_wait(const tn_device_call *c, void *queue_, uint64_t mark, uint64_t timeout_ns) {
  queue *q = queue_;
  uint32_t k = 0;
  while (k < q->n_open && q->open[k].mark < mark) k++;
  if (k == q->n_open) return TN_OK; /* it was waited for before */
  const tn_status status = wait_event(c, q->api, q->open[k].event, timeout_ns);
  if (status != TN_ERR_STATE) forget(q, k + 1);
  return status;
}
