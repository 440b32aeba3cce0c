/* Recordings of OpenGL ES are lists of commands, replayed by each submission. */
#include <string.h>

#include "gles.h"

/* ---- making a recording ---- */

typedef enum command_kind { DISPATCH, COPY, BARRIER } command_kind;

typedef struct binding {
  GLuint buffer;
  uint64_t offset, bytes;
} binding;

typedef struct command {
  struct command *next;
  command_kind kind;
  const gles_program *program;    /* DISPATCH */
  uint32_t groups[3], n_bindings; /* the last binding is that of the params, if it has some */
  uint32_t params_bytes;
  GLuint from, to, pattern; /* COPY; pattern: a buffer of its own, of a fill */
  uint64_t from_offset, to_offset, bytes;
  binding bindings[];
} command;

typedef struct recording {
  const gles_device *device;
  command *first, **last;
} recording;

tn_status gles_record_begin(const tn_device_call *c, void *device, void **out_recording) {
  recording *r = c->host->alloc(c->ctx, sizeof *r);
  if (!r) return TN_ERR_MEMORY;
  *r = (recording){.device = device};
  r->last = &r->first;
  *out_recording = r;
  return TN_OK;
}

static command *add(const tn_device_call *c, recording *r, command_kind kind, uint32_t n_bindings) {
  command *m = c->host->alloc(c->ctx, sizeof *m + n_bindings * sizeof m->bindings[0]);
  if (!m) return NULL;
  *m = (command){.kind = kind, .n_bindings = n_bindings};
  *r->last = m;
  r->last = &m->next;
  return m;
}

/* A buffer with these bytes. */
static tn_status make_buffer(const tn_device_call *c, const gles_device *d, const void *data,
                             uint64_t bytes, GLuint *out) {
  gles_before before;
  tn_status status;
  if (gles_enter(d, &before)) {
    d->api.glGenBuffers(1, out);
    d->api.glBindBuffer(GL_COPY_WRITE_BUFFER, *out);
    d->api.glBufferData(GL_COPY_WRITE_BUFFER, (GLsizeiptr)bytes, data, GL_STATIC_DRAW);
    status = gles_answer(c, &d->api, "glBufferData");
  } else {
    status = gles_lost(c);
  }
  gles_leave(d, &before);
  return status;
}

/* Params are a small buffer of their own: a uniform block of whole fours. */
static tn_status set_params(const tn_device_call *c, const recording *r, command *m,
                            const tn_dispatch *d) {
  const uint64_t bytes = ((uint64_t)d->params_bytes + 15) / 16 * 16;
  uint8_t *data = c->host->alloc(c->ctx, bytes);
  if (!data) return TN_ERR_MEMORY;
  memset(data, 0, bytes);
  memcpy(data, d->params, d->params_bytes);
  m->params_bytes = d->params_bytes;
  const tn_status status = make_buffer(c, r->device, data, bytes, &m->pattern);
  m->bindings[m->n_bindings - 1] = (binding){m->pattern, 0, bytes};
  c->host->free(c->ctx, data);
  return status;
}

tn_status gles_record_dispatch(const tn_device_call *c, void *recording_, void *program,
                               const tn_device_range *const *ranges, uint32_t n_ranges,
                               const tn_dispatch *d) {
  recording *r = recording_;
  command *m = add(c, r, DISPATCH, n_ranges + (d->params_bytes ? 1 : 0));
  if (!m) return TN_ERR_MEMORY;
  m->program = program;
  memcpy(m->groups, d->groups, sizeof m->groups);
  for (uint32_t k = 0; k < n_ranges; k++) {
    const gles_buffer *b = ranges[k]->buffer;
    m->bindings[k] = b ? (binding){b->handle, ranges[k]->offset, (ranges[k]->bytes + 3) / 4 * 4}
                       : (binding){r->device->nothing, 0, 16};
  }
  return d->params_bytes ? set_params(c, r, m, d) : TN_OK;
}

tn_status gles_record_copy(const tn_device_call *c, void *recording_, const tn_device_range *from,
                           const tn_device_range *to) {
  command *m = add(c, recording_, COPY, 0);
  if (!m) return TN_ERR_MEMORY;
  m->from = ((const gles_buffer *)from->buffer)->handle;
  m->to = ((const gles_buffer *)to->buffer)->handle;
  m->from_offset = from->offset;
  m->to_offset = to->offset;
  m->bytes = to->bytes;
  return TN_OK;
}

/* OpenGL ES has no fill: a copy of a buffer that holds the word so many times. */
tn_status gles_record_fill(const tn_device_call *c, void *recording_, const tn_device_range *to,
                           uint32_t word) {
  recording *r = recording_;
  if (to->offset % 4 || to->bytes % 4)
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "a fill of parts of words");
  uint32_t *words = c->host->alloc(c->ctx, to->bytes);
  command *m = words ? add(c, r, COPY, 0) : NULL;
  tn_status status = m ? TN_OK : TN_ERR_MEMORY;
  if (!status) {
    for (uint64_t k = 0; k < to->bytes / 4; k++) words[k] = word;
    status = make_buffer(c, r->device, words, to->bytes, &m->pattern);
    m->from = m->pattern;
    m->to = ((const gles_buffer *)to->buffer)->handle;
    m->to_offset = to->offset;
    m->bytes = to->bytes;
  }
  c->host->free(c->ctx, words);
  return status;
}

tn_status gles_record_barrier(const tn_device_call *c, void *recording_) {
  return add(c, recording_, BARRIER, 0) ? TN_OK : TN_ERR_MEMORY;
}

tn_status gles_record_end(const tn_device_call *c, void *recording_) {
  return gles_record_barrier(c, recording_);
}

void gles_record_free(const tn_device_call *c, void *recording_) {
  recording *r = recording_;
  gles_before before;
  const bool here = gles_enter(r->device, &before);
  for (command *m = r->first, *next; m; m = next) {
    next = m->next;
    if (here && m->pattern) r->device->api.glDeleteBuffers(1, &m->pattern);
    c->host->free(c->ctx, m);
  }
  gles_leave(r->device, &before);
  c->host->free(c->ctx, r);
}

/* ---- queues ---- */

enum { MAX_OPEN = 64 }; /* submissions that nobody has waited for */

typedef struct queue {
  const gles_device *device;
  uint64_t marks[MAX_OPEN]; /* oldest first */
  GLsync fences[MAX_OPEN];
  uint32_t n_open;
} queue;

tn_status gles_queue_new(const tn_device_call *c, void *device, void **out_queue) {
  queue *q = c->host->alloc(c->ctx, sizeof *q);
  if (!q) return TN_ERR_MEMORY;
  memset(q, 0, sizeof *q);
  q->device = device;
  *out_queue = q;
  return TN_OK;
}

/* The oldest are forgotten: the queue is in order, so their marks end with younger ones. */
static void forget(queue *q, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) q->device->api.glDeleteSync(q->fences[k]);
  q->n_open -= n;
  memmove(q->marks, q->marks + n, q->n_open * sizeof *q->marks);
  memmove(q->fences, q->fences + n, q->n_open * sizeof *q->fences);
}

void gles_queue_free(const tn_device_call *c, void *queue_) {
  queue *q = queue_;
  gles_before before;
  if (gles_enter(q->device, &before)) {
    q->device->api.glFinish();
    forget(q, q->n_open);
  }
  gles_leave(q->device, &before);
  c->host->free(c->ctx, q);
}

static uint32_t least(GLint a, uint32_t b) { return a > 0 && (uint32_t)a < b ? (uint32_t)a : b; }

/* In parts, where there are more groups than the device takes at once. */
static void dispatch(const gles_device *d, const command *m) {
  const gles_api *api = &d->api;
  const uint32_t *n = m->groups;
  const GLint *most = d->max_groups;
  const uint32_t n_buffers = m->n_bindings - (m->params_bytes ? 1 : 0);
  api->glUseProgram(m->program->handle);
  for (uint32_t k = 0; k < m->n_bindings; k++)
    api->glBindBufferRange(k < n_buffers ? GL_SHADER_STORAGE_BUFFER : GL_UNIFORM_BUFFER,
                           k < n_buffers ? k : 0, m->bindings[k].buffer,
                           (GLintptr)m->bindings[k].offset, (GLsizeiptr)m->bindings[k].bytes);
  for (uint32_t z = 0; z < n[2]; z += least(most[2], n[2] - z))
    for (uint32_t y = 0; y < n[1]; y += least(most[1], n[1] - y))
      for (uint32_t x = 0; x < n[0]; x += least(most[0], n[0] - x)) {
        if (m->program->base >= 0) api->glUniform3i(m->program->base, (GLint)x, (GLint)y, (GLint)z);
        api->glDispatchCompute(least(most[0], n[0] - x), least(most[1], n[1] - y),
                               least(most[2], n[2] - z));
      }
}

static void copy(const gles_api *api, const command *m) {
  api->glBindBuffer(GL_COPY_READ_BUFFER, m->from);
  api->glBindBuffer(GL_COPY_WRITE_BUFFER, m->to);
  api->glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, (GLintptr)m->from_offset,
                           (GLintptr)m->to_offset, (GLsizeiptr)m->bytes);
}

static void replay(const gles_device *d, const recording *r) {
  d->api.glMemoryBarrier(GL_ALL_BARRIER_BITS); /* behind the submission before it */
  for (const command *m = r->first; m; m = m->next) {
    if (m->kind == DISPATCH)
      dispatch(d, m);
    else if (m->kind == COPY)
      copy(&d->api, m);
    else
      d->api.glMemoryBarrier(GL_ALL_BARRIER_BITS);
  }
}

tn_status gles_submit(const tn_device_call *c, void *queue_, void *recording_, uint64_t mark) {
  queue *q = queue_;
  const gles_device *d = q->device;
  gles_before before;
  tn_status status;
  if (gles_enter(d, &before)) {
    if (q->n_open == MAX_OPEN) forget(q, 1);
    replay(d, recording_);
    q->fences[q->n_open] = d->api.glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    d->api.glFlush();
    status = gles_answer(c, &d->api, "submitting");
    if (q->fences[q->n_open]) q->marks[q->n_open++] = mark;
  } else {
    status = gles_lost(c);
  }
  gles_leave(d, &before);
  return status;
}

tn_status gles_wait(const tn_device_call *c, void *queue_, uint64_t mark, uint64_t timeout_ns) {
  queue *q = queue_;
  const gles_device *d = q->device;
  gles_before before;
  uint32_t k = 0;
  tn_status status = TN_OK;
  while (k < q->n_open && q->marks[k] < mark) k++;
  if (k == q->n_open) return TN_OK; /* it was waited for before */
  if (gles_enter(d, &before)) {
    const GLenum code =
        d->api.glClientWaitSync(q->fences[k], GL_SYNC_FLUSH_COMMANDS_BIT, timeout_ns);
    if (code == GL_TIMEOUT_EXPIRED)
      status = TN_ERR_STATE;
    else if (code == GL_WAIT_FAILED)
      status = c->host->fail(c->ctx, TN_ERR_IO, "glClientWaitSync: the context is lost");
    else
      forget(q, k + 1);
  } else {
    status = gles_lost(c);
  }
  gles_leave(d, &before);
  return status;
}
