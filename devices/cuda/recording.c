/* Recordings of CUDA are graphs, captured from a stream. A mark is an event behind a launch. */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "cuda.h"

/* ---- making a recording ---- */

enum { MAX_NODES = 64 };

/* Nodes of the graph. */
typedef struct nodes {
  cuda_object *all[MAX_NODES];
  size_t n;
} nodes;

/* Commands between two barriers depend on those before the first of these, and not on each other;
 * behind MAX_NODES of them the host's order is kept, as if there were a barrier. */
typedef struct recording {
  const cuda_device *device;
  cuda_object *stream; /* what is launched there is captured; NULL: it has ended */
  cuda_object *graph;  /* that can be launched */
  nodes before, since; /* the last barrier */
} recording;

static bool can_fork(const cuda_api *api) {
  return api->cuStreamGetCaptureInfo_v2 && api->cuStreamUpdateCaptureDependencies;
}

static void put_barrier(recording *r) {
  if (!r->since.n) return;
  r->before = r->since;
  r->since.n = 0;
}

/* Into the context; what is captured next depends on what the last barrier says. */
static tn_status command_begin(const tn_device_call *c, recording *r) {
  const cuda_api *api = &r->device->api;
  const tn_status status = cuda_enter(c, r->device);
  if (status || !can_fork(api)) return status;
  if (r->since.n == MAX_NODES) put_barrier(r);
  const int code = api->cuStreamUpdateCaptureDependencies(r->stream, r->before.all, r->before.n,
                                                          CU_SET_CAPTURE_DEPENDENCIES);
  if (code) cuda_leave(r->device);
  return cuda_answer(c, api, code, "cuStreamUpdateCaptureDependencies");
}

/* The node that was captured. */
static int note(recording *r) {
  cuda_object *const *last = NULL;
  size_t n = 0;
  int state = 0;
  const int code =
      r->device->api.cuStreamGetCaptureInfo_v2(r->stream, &state, NULL, NULL, &last, &n);
  for (size_t k = 0; k < n && !code && r->since.n < MAX_NODES; k++)
    r->since.all[r->since.n++] = last[k];
  return code;
}

/* code: of the command `what`. */
static tn_status command_end(const tn_device_call *c, recording *r, int code, const char *what) {
  if (!code && can_fork(&r->device->api)) code = note(r);
  cuda_leave(r->device);
  return cuda_answer(c, &r->device->api, code, what);
}

/* Its commands come one by one, and between them the host may build programs or make buffers: a
 * relaxed capture is that of the stream, and forbids the thread nothing else. */
tn_status cuda_record_begin(const tn_device_call *c, void *device, void **out_recording) {
  const cuda_device *d = device;
  recording *r = c->host->alloc(c->ctx, sizeof *r);
  if (!r) return TN_ERR_MEMORY;
  *r = (recording){.device = d};
  tn_status status = cuda_enter(c, d);
  if (!status) {
    status = cuda_answer(c, &d->api, d->api.cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING),
                         "cuStreamCreate");
    if (!status)
      status =
          cuda_answer(c, &d->api, d->api.cuStreamBeginCapture_v2(r->stream, CU_CAPTURE_RELAXED),
                      "cuStreamBeginCapture");
    cuda_leave(d);
  }
  if (status)
    cuda_record_free(c, r);
  else
    *out_recording = r;
  return status;
}

enum { MAX_ARGUMENTS = 64 };

tn_status cuda_record_dispatch(const tn_device_call *c, void *recording_, void *program,
                               const tn_device_range *const *ranges, uint32_t n_ranges,
                               const tn_dispatch *dispatch) {
  recording *r = recording_;
  const cuda_program *p = program;
  const cuda_api *api = &r->device->api;
  cuda_address addresses[MAX_ARGUMENTS];
  void *arguments[MAX_ARGUMENTS + 1];
  if (n_ranges > MAX_ARGUMENTS)
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "%u bindings", n_ranges);
  for (uint32_t k = 0; k < n_ranges; k++) {
    const cuda_buffer *b = ranges[k]->buffer;
    addresses[k] = b ? b->address + ranges[k]->offset : 0;
    arguments[k] = &addresses[k];
  }
  arguments[n_ranges] = dispatch->params_bytes ? (void *)(uintptr_t)dispatch->params : addresses;
  const uint32_t *n = dispatch->groups;
  const tn_status status = command_begin(c, r);
  if (status) return status;
  const int code = api->cuLaunchKernel(p->function, n[0], n[1], n[2], (unsigned)p->group[0],
                                       (unsigned)p->group[1], (unsigned)p->group[2], 0, r->stream,
                                       arguments, NULL);
  return command_end(c, r, code, "cuLaunchKernel");
}

tn_status cuda_record_copy(const tn_device_call *c, void *recording_, const tn_device_range *from,
                           const tn_device_range *to) {
  recording *r = recording_;
  const tn_status status = command_begin(c, r);
  if (status) return status;
  const int code = r->device->api.cuMemcpyAsync(
      ((cuda_buffer *)to->buffer)->address + to->offset,
      ((cuda_buffer *)from->buffer)->address + from->offset, to->bytes, r->stream);
  return command_end(c, r, code, "cuMemcpyAsync");
}

tn_status cuda_record_fill(const tn_device_call *c, void *recording_, const tn_device_range *to,
                           uint32_t word) {
  recording *r = recording_;
  if (to->offset % 4 || to->bytes % 4)
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "a fill of parts of words");
  const tn_status status = command_begin(c, r);
  if (status) return status;
  const int code = r->device->api.cuMemsetD32Async(
      ((cuda_buffer *)to->buffer)->address + to->offset, word, to->bytes / 4, r->stream);
  return command_end(c, r, code, "cuMemsetD32Async");
}

tn_status cuda_record_barrier(const tn_device_call *c, void *recording_) {
  (void)c;
  put_barrier(recording_);
  return TN_OK;
}

/* In the context. */
static tn_status instantiate(const tn_device_call *c, recording *r) {
  const cuda_api *api = &r->device->api;
  cuda_object *captured = NULL;
  tn_status status =
      cuda_answer(c, api, api->cuStreamEndCapture(r->stream, &captured), "cuStreamEndCapture");
  if (!status)
    status = cuda_answer(c, api, api->cuGraphInstantiateWithFlags(&r->graph, captured, 0),
                         "cuGraphInstantiate");
  if (captured) api->cuGraphDestroy(captured);
  api->cuStreamDestroy_v2(r->stream);
  r->stream = NULL;
  return status;
}

tn_status cuda_record_end(const tn_device_call *c, void *recording_) {
  recording *r = recording_;
  tn_status status = cuda_enter(c, r->device);
  if (status) return status;
  status = instantiate(c, r);
  cuda_leave(r->device);
  return status;
}

void cuda_record_free(const tn_device_call *c, void *recording_) {
  recording *r = recording_;
  if (!cuda_enter(c, r->device)) {
    if (r->graph) r->device->api.cuGraphExecDestroy(r->graph);
    if (r->stream) r->device->api.cuStreamDestroy_v2(r->stream); /* ends its capture */
    cuda_leave(r->device);
  }
  c->host->free(c->ctx, r);
}

/* ---- queues ---- */

enum { MAX_OPEN = 64 }; /* submissions that nobody has waited for */

typedef struct queue {
  const cuda_device *device;
  cuda_object *stream;
  uint64_t marks[MAX_OPEN]; /* oldest first */
  cuda_object *events[MAX_OPEN];
  uint32_t n_open;
} queue;

tn_status cuda_queue_new(const tn_device_call *c, void *device, void **out_queue) {
  const cuda_device *d = device;
  queue *q = c->host->alloc(c->ctx, sizeof *q);
  if (!q) return TN_ERR_MEMORY;
  memset(q, 0, sizeof *q);
  q->device = d;
  tn_status status = cuda_enter(c, d);
  if (!status) {
    status = cuda_answer(c, &d->api, d->api.cuStreamCreate(&q->stream, CU_STREAM_NON_BLOCKING),
                         "cuStreamCreate");
    cuda_leave(d);
  }
  if (status)
    c->host->free(c->ctx, q);
  else
    *out_queue = q;
  return status;
}

/* The oldest are forgotten: the stream is in order, so their marks end with younger ones. */
static void forget(queue *q, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) q->device->api.cuEventDestroy_v2(q->events[k]);
  q->n_open -= n;
  memmove(q->marks, q->marks + n, q->n_open * sizeof *q->marks);
  memmove(q->events, q->events + n, q->n_open * sizeof *q->events);
}

void cuda_queue_free(const tn_device_call *c, void *queue_) {
  queue *q = queue_;
  if (!cuda_enter(c, q->device)) {
    q->device->api.cuStreamSynchronize(q->stream);
    forget(q, q->n_open);
    q->device->api.cuStreamDestroy_v2(q->stream);
    cuda_leave(q->device);
  }
  c->host->free(c->ctx, q);
}

/* In the context. */
static tn_status launch(const tn_device_call *c, queue *q, const recording *r, uint64_t mark) {
  const cuda_api *api = &q->device->api;
  cuda_object *event = NULL;
  if (q->n_open == MAX_OPEN) forget(q, 1);
  tn_status status = cuda_answer(c, api, api->cuGraphLaunch(r->graph, q->stream), "cuGraphLaunch");
  if (!status)
    status =
        cuda_answer(c, api, api->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  if (!status) status = cuda_answer(c, api, api->cuEventRecord(event, q->stream), "cuEventRecord");
  if (status) {
    if (event) api->cuEventDestroy_v2(event);
    api->cuStreamSynchronize(q->stream); /* what was begun still touches its buffers */
    return status;
  }
  q->marks[q->n_open] = mark;
  q->events[q->n_open++] = event;
  return TN_OK;
}

tn_status cuda_submit(const tn_device_call *c, void *queue_, void *recording_, uint64_t mark) {
  queue *q = queue_;
  tn_status status = cuda_enter(c, q->device);
  if (status) return status;
  status = launch(c, q, recording_, mark);
  cuda_leave(q->device);
  return status;
}

/* ---- waiting ---- */

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* CUDA has no wait that ends in time, so the event is asked: at first without a break, later every
 * 50 us. In the context. */
static tn_status wait_event(const tn_device_call *c, const cuda_api *api, cuda_object *event,
                            uint64_t timeout_ns) {
  enum { AWAKE_NS = 2000000, NAP_NS = 50000 };
  const struct timespec nap = {0, NAP_NS};
  const uint64_t begin = now_ns();
  for (;;) {
    const int code = api->cuEventQuery(event);
    if (code != CUDA_NOT_READY) return cuda_answer(c, api, code, "waiting");
    const uint64_t passed = now_ns() - begin;
    if (passed >= timeout_ns) return TN_ERR_STATE;
    if (passed < AWAKE_NS)
      sched_yield();
    else
      nanosleep(&nap, NULL);
  }
}

tn_status cuda_wait(const tn_device_call *c, void *queue_, uint64_t mark, uint64_t timeout_ns) {
  queue *q = queue_;
  uint32_t k = 0;
  while (k < q->n_open && q->marks[k] < mark) k++;
  if (k == q->n_open) return TN_OK; /* it was waited for before */
  tn_status status = cuda_enter(c, q->device);
  if (status) return status;
  status = wait_event(c, &q->device->api, q->events[k], timeout_ns);
  if (status != TN_ERR_STATE) forget(q, k + 1);
  cuda_leave(q->device);
  return status;
}
