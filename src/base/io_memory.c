/* The host's memory, for readers and writers of models; see io_memory.h. */
#include "base/io_memory.h"

/* tn_allocator has a self that may be written; these only read theirs. */
static void *as_self(const void *p) {
  union {
    const void *in;
    void *out;
  } self = {p};
  return self.out;
}

static void *source_alloc(void *self, uint64_t bytes) {
  const tn_source *source = self;
  return source->host->alloc(source->ctx, bytes);
}

static void source_free(void *self, void *memory, uint64_t bytes) {
  const tn_source *source = self;
  (void)bytes;
  source->host->free(source->ctx, memory);
}

static void *sink_alloc(void *self, uint64_t bytes) {
  const tn_sink *sink = self;
  return sink->host->alloc(sink->ctx, bytes);
}

static void sink_free(void *self, void *memory, uint64_t bytes) {
  const tn_sink *sink = self;
  (void)bytes;
  sink->host->free(sink->ctx, memory);
}

tn_allocator tn_source_allocator(const tn_source *source) {
  return (tn_allocator){TN_HEAD(tn_allocator), as_self(source), source_alloc, source_free};
}

tn_allocator tn_sink_allocator(const tn_sink *sink) {
  return (tn_allocator){TN_HEAD(tn_allocator), as_self(sink), sink_alloc, sink_free};
}
