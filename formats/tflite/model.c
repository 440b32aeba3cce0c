/* A TFLite file as a whole: its operator codes, what it says about itself, and messages. */
#include <stdarg.h>
#include <stdio.h>

#include "base/io_memory.h"
#include "reader.h"

/* ---- memory and messages ---- */

tn_status(tflite_fail)(const tflite_reader *r, tn_status code, uint64_t at, const char *format,
                       ...) {
  char text[400], place[40] = "";
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  if (at) snprintf(place, sizeof place, ", at byte %llu", (unsigned long long)at);
  const tn_source *s = r->source;
  return (r->host->fail)(s->ctx, code, "%s: %s%s%s%s", s->path ? s->path : "(memory)",
                         r->where ? r->where : "", r->where ? ": " : "", text, place);
}

tn_status tflite_no_memory(const tflite_reader *r) {
  return tflite_fail(r, TN_ERR_MEMORY, 0, "out of memory");
}

tn_status tflite_status(const tflite_reader *r) {
  const tn_flat *f = &r->flat;
  return f->status ? tflite_fail(r, f->status, f->at, "%s", f->text) : TN_OK;
}

const char *tflite_name(tflite_reader *r, tn_str text) { return tn_flat_name(&r->arena, text); }

/* ---- operator codes ---- */

static tn_status read_code(tflite_reader *r, uint64_t index, const tn_flat_table *t,
                           tflite_code *out) {
  const int64_t old = tn_flat_int(t, CODE_OLD, 1, 0), now = tn_flat_int(t, CODE_BUILTIN, 4, 0),
                code = old > now ? old : now;
  const char *custom = tflite_name(r, tn_flat_text(t, CODE_CUSTOM));
  tn_status s = tflite_status(r);
  if (s) return s;
  if (!custom) return tflite_no_memory(r);
  out->row = tflite_row(code);
  if (!out->row)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, t->at,
                       "operator code %llu is builtin operator %lld, which this reader does not "
                       "know",
                       (unsigned long long)index, (long long)code);
  out->name = out->row->name;
  if (strcmp(out->name, "CUSTOM")) return TN_OK;
  out->row = NULL;
  out->name = custom;
  out->version = tn_flat_int(t, CODE_VERSION, 4, 1);
  return *custom ? TN_OK
                 : tflite_fail(r, TN_ERR_INVALID, t->at,
                               "operator code %llu is a custom operator without a name",
                               (unsigned long long)index);
}

static tn_status read_codes(tflite_reader *r) {
  const tn_flat_vector list = tn_flat_vec(&r->model, MODEL_CODES, 4);
  r->n_codes = list.n;
  r->codes = tn_arena_alloc(&r->arena, (list.n + 1) * sizeof *r->codes);
  if (!r->codes) return tflite_no_memory(r);
  tn_status s = tflite_status(r);
  for (uint64_t k = 0; k < list.n && !s; k++) {
    const tn_flat_table t = tn_flat_item(&list, k, &tflite_code_type);
    s = read_code(r, k, &t, &r->codes[k]);
  }
  return s;
}

/* ---- what the file says about itself ---- */

static tn_status note(tflite_reader *r, tn_graph *g, const char *key, const char *text) {
  tn_status s = text ? r->api->set_meta(g, key, text) : TN_ERR_MEMORY;
  return s ? tflite_fail(r, s, 0, "the meta data cannot be noted") : TN_OK;
}

static tn_status read_meta(tflite_reader *r, tn_graph *g) {
  const char *text = tflite_name(r, tn_flat_text(&r->model, MODEL_DESCRIPTION));
  tn_status s = text && !*text ? TN_OK : note(r, g, "producer", text);
  const tn_flat_vector list = tn_flat_vec(&r->model, MODEL_METADATA, 4);
  bool is_described = false;
  for (uint64_t k = 0; k < list.n && !s; k++) {
    const tn_flat_table t = tn_flat_item(&list, k, &tflite_metadata_type);
    const char *name = tflite_name(r, tn_flat_text(&t, METADATA_NAME));
    const uint64_t index = (uint64_t)tn_flat_uint(&t, METADATA_BUFFER, 4, 0);
    if (!name) return tflite_no_memory(r);
    const bool is_version = !strcmp(name, "min_runtime_version");
    if ((!is_version && strcmp(name, "TFLITE_METADATA")) || index >= r->buffers.n) continue;
    const tn_flat_table buffer = tn_flat_item(&r->buffers, index, &tflite_buffer_type);
    if (!is_version && is_described) continue; /* one is enough to be read */
    is_described = is_described || !is_version;
    if (!is_version && (s = tflite_metadata_read(r, g, tn_flat_text(&buffer, BUFFER_DATA))))
      return tflite_fail(r, s, 0, "the meta data cannot be noted");
    if (!is_version) continue;
    tn_str version = tn_flat_text(&buffer, BUFFER_DATA); /* ends with zero bytes */
    while (version.size && !version.data[version.size - 1]) version.size--;
    text = tflite_name(r, version);
    s = text && !*text ? TN_OK : note(r, g, "min_runtime_version", text);
  }
  return s ? s : tflite_status(r);
}

static tn_status set_opsets(tflite_reader *r, tn_graph *g) {
  enum { ONNX_OPSET = 21 }; /* of the operators that rows name */
  tn_status s = r->api->set_opset(g, "", ONNX_OPSET);
  if (!s) s = r->api->set_opset(g, "tflite", 1);
  return s ? tflite_fail(r, s, 0, "the operator sets cannot be noted") : TN_OK;
}

static tn_status open_model(tflite_reader *r) {
  const tn_source *f = r->source;
  if (tn_flat_is(f->data, f->size, "TFL1") || tn_flat_is(f->data, f->size, "TFL2"))
    return tflite_fail(r, TN_ERR_VERSION, 4,
                       "the file is of the TFLite schema %c; version 3 is read, and the TensorFlow "
                       "of that time converts it",
                       f->data[7]);
  tn_flat_open(&r->flat, f->data, f->size);
  r->model = tn_flat_root(&r->flat, &tflite_model_type);
  const int64_t version = tn_flat_uint(&r->model, MODEL_VERSION, 4, 0);
  r->buffers = tn_flat_vec(&r->model, MODEL_BUFFERS, 4);
  r->subgraphs = tn_flat_vec(&r->model, MODEL_SUBGRAPHS, 4);
  tn_status s = tflite_status(r);
  if (s) return s;
  if (version != 3)
    return tflite_fail(r, TN_ERR_VERSION, r->model.at,
                       "the file is of version %lld of the TFLite schema; version 3 is read",
                       (long long)version);
  if (!r->subgraphs.n)
    return tflite_fail(r, TN_ERR_INVALID, r->model.at, "the file holds no subgraph");
  return TN_OK;
}

tn_status tflite_read(const tn_source *source, tn_graph *g) {
  tflite_reader r = {.source = source, .host = source->host, .api = source->host->graph};
  r.allocator = tn_source_allocator(source);
  r.main = g;
  tn_arena_init(&r.arena, &r.allocator);
  tn_map_init(&r.functions, &r.allocator);
  tn_status s = open_model(&r);
  if (!s) s = read_codes(&r);
  if (!s) s = set_opsets(&r, g);
  if (!s) s = read_meta(&r, g);
  uint64_t subgraph = 0;
  if (!s) s = tflite_signatures_read(&r, &subgraph);
  if (!s) s = tflite_states_read(&r);
  if (!s) s = tflite_subgraph_read(&r, subgraph, g);
  tn_vec_free(&r.allocator, &r.variables);
  tn_vec_free(&r.allocator, &r.aliases);
  tn_map_free(&r.functions);
  tn_arena_clear(&r.arena);
  return s;
}
