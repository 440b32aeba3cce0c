/* What is done with the bytes of a fuzz run, for any format: they are probed, read as a model and
 * as a value of each kind. A model that is read must be one that can be written and read again. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "graph/graph.h"
#include "tenon/experimental/read_as.h"

int tn_fuzz_format(const tn_format *format, const uint8_t *data, size_t size);
/* Parts of the file may be in the format `inner`, whatever they call it. */
int tn_fuzz_formats(const tn_format *format, const tn_format *inner, const uint8_t *data,
                    size_t size);

typedef struct fuzz {
  char message[1000]; /* the last one */
  int n_messages;
  tn_text out, out_data;  /* what was written: the model, and a second file */
  const tn_format *inner; /* of parts; NULL: nobody reads them */
} fuzz;

/* ---- The host ---- */

static tn_status host_fail(void *ctx, tn_status code, const char *text, ...) {
  fuzz *f = ctx;
  va_list args;
  va_start(args, text);
  vsnprintf(f->message, sizeof f->message, text, args);
  va_end(args);
  f->n_messages++;
  return code;
}

static void host_log(void *ctx, uint32_t level, const char *text, ...) {
  char line[1000];
  va_list args;
  (void)ctx, (void)level;
  va_start(args, text);
  vsnprintf(line, sizeof line, text, args);
  va_end(args);
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  (void)ctx;
  return tn_alloc_sized(tn_default_allocator(), bytes);
}

static void host_free(void *ctx, void *memory) {
  (void)ctx;
  tn_free_sized(tn_default_allocator(), memory);
}

static const void *get_extension(void *ctx, const char *name);

static const tn_host host = {.head = TN_HEAD(tn_host),
                             .graph = &tn_graph_api_table,
                             .fail = host_fail,
                             .log = host_log,
                             .alloc = host_alloc,
                             .free = host_free,
                             .get_extension = get_extension};

/* Any file is there, with the same few bytes; after writing, those that were written. */
static tn_status open_sibling(void *ctx, const char *path, const uint8_t **out_data,
                              uint64_t *out_size) {
  static const uint8_t bytes[64] = {1, 2, 3};
  fuzz *f = ctx;
  if (f->out_data.n) {
    *out_data = (const uint8_t *)tn_text_get(&f->out_data);
    *out_size = (uint64_t)f->out_data.n;
    return TN_OK;
  }
  *out_data = bytes;
  *out_size = sizeof bytes;
  return *path ? TN_OK : TN_ERR_NOT_FOUND;
}

static tn_status read_as(void *ctx, const char *format, const char *what, const uint8_t *data,
                         uint64_t size, tn_graph *graph) {
  fuzz *f = ctx;
  const tn_source source = {.head = TN_HEAD(tn_source),
                            .host = &host,
                            .ctx = f,
                            .path = what,
                            .data = data,
                            .size = size,
                            .open_sibling = open_sibling};
  return *format && f->inner ? f->inner->read(&source, graph) : TN_ERR_NOT_FOUND;
}

static const void *get_extension(void *ctx, const char *name) {
  static const tn_read_as extension = {.head = TN_HEAD(tn_read_as), .read = read_as};
  (void)ctx;
  return strcmp(name, TN_READ_AS) ? NULL : &extension;
}

static tn_status sink_write(void *ctx, const void *data, uint64_t size) {
  fuzz *f = ctx;
  tn_text_add_bytes(&f->out, data, (int64_t)size);
  return f->out.status;
}

static tn_status sink_write_data(void *ctx, const void *data, uint64_t size) {
  fuzz *f = ctx;
  tn_text_add_bytes(&f->out_data, data, (int64_t)size);
  return f->out_data.status;
}

static void require(bool ok, const char *rule, const fuzz *f) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s; last message: %s\n", rule, f->message);
  abort();
}

/* ---- Models ---- */

static tn_graph *read_model(fuzz *f, const tn_format *format, const void *data, size_t size) {
  const tn_source source = {.head = TN_HEAD(tn_source),
                            .host = &host,
                            .ctx = f,
                            .path = "fuzz",
                            .data = data,
                            .size = size,
                            .open_sibling = open_sibling};
  tn_graph *g = tn_graph_new(tn_default_allocator());
  require(g != NULL, "there must be memory for a graph", f);
  f->n_messages = 0;
  tn_status s = format->read(&source, g);
  require(s <= TN_OK && (s == TN_OK) == (f->n_messages == 0),
          "a failure comes with a message, and only a failure", f);
  if (s == TN_OK) return g;
  tn_graph_free(g);
  return NULL;
}

static void write_and_read(fuzz *f, const tn_format *format, const tn_graph *g,
                           uint64_t data_from) {
  const tn_sink sink = {.head = TN_HEAD(tn_sink),
                        .host = &host,
                        .ctx = f,
                        .write = sink_write,
                        .data_file = "data",
                        .data_from = data_from,
                        .write_data = sink_write_data};
  tn_text_init(&f->out, tn_default_allocator());
  tn_text_init(&f->out_data, tn_default_allocator());
  require(format->write(&sink, g) == TN_OK, "what was read can be written", f);
  tn_graph *again = read_model(f, format, tn_text_get(&f->out), (size_t)f->out.n);
  require(again != NULL, "what was written can be read", f);
  tn_graph_free(again);
  tn_text_free(&f->out);
  tn_text_free(&f->out_data);
}

static void fuzz_model(fuzz *f, const tn_format *format, const uint8_t *data, size_t size) {
  tn_graph *g = read_model(f, format, data, size);
  if (!g) return;
  bool sorted =
      tn_graph_sort(g, NULL) == TN_OK; /* a graph with a cycle has no order to be written in */
  if (format->write && sorted) write_and_read(f, format, g, UINT64_MAX);
  if (sorted && tn_graph_resolve(g, NULL) == TN_OK && format->write &&
      tn_graph_sort(g, NULL) == TN_OK)
    write_and_read(f, format, g, 1);
  tn_graph_free(g);
}

/* ---- Values ---- */

static tn_status take_tensor(void *ctx, const char *name, const tn_tensor *t) {
  uint32_t width = tn_dtype(t->dtype)->bits / 8;
  require(t->data && tn_tensor_bytes(t) >= 0 && name, "tensors of values are whole", ctx);
  require((uintptr_t)t->data % (width > 8 ? 8
                                : width   ? width
                                          : 1) ==
              0,
          "tensors of values are aligned", ctx);
  volatile uint8_t sum = 0; /* all bytes can be read */
  for (int64_t k = 0; k < tn_tensor_bytes(t); k++)
    sum = (uint8_t)(sum + ((const uint8_t *)t->data)[k]);
  return TN_OK;
}

static tn_status take_begin(void *ctx, const char *name, const tn_tensor *type) {
  require(name && type->kind >= TN_KIND_SEQUENCE && type->kind <= TN_KIND_MAP, "lists have a kind",
          ctx);
  return TN_OK;
}

static tn_status take_end(void *ctx) {
  (void)ctx;
  return TN_OK;
}

static void fuzz_value(fuzz *f, const tn_format *format, uint32_t kind, const uint8_t *data,
                       size_t size) {
  const tn_source source = {.head = TN_HEAD(tn_source),
                            .host = &host,
                            .ctx = f,
                            .path = "fuzz",
                            .data = data,
                            .size = size,
                            .open_sibling = open_sibling};
  const tn_value_sink sink = {TN_HEAD(tn_value_sink), f, take_tensor, take_begin, take_end};
  f->n_messages = 0;
  tn_status s = format->read_value(&source, kind, &sink);
  require((s == TN_OK) == (f->n_messages == 0),
          "a failure comes with a message, and only a failure", f);
}

int tn_fuzz_formats(const tn_format *format, const tn_format *inner, const uint8_t *data,
                    size_t size) {
  fuzz f = {.inner = inner};
  if (format->probe) (void)format->probe(data, size);
  fuzz_model(&f, format, data, size);
  for (uint32_t kind = TN_KIND_TENSOR; format->read_value && kind <= TN_KIND_MAP; kind++)
    fuzz_value(&f, format, kind, data, size);
  return 0;
}

int tn_fuzz_format(const tn_format *format, const uint8_t *data, size_t size) {
  return tn_fuzz_formats(format, NULL, data, size);
}
