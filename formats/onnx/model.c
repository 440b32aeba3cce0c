/* ModelProto -> the outermost graph, its operator sets, functions and meta data. */
#include "reader.h"

#include <stdio.h>

/* The graph looks these up one by one. */
enum { MAX_OPSETS = 1024, MAX_META = 4096, MAX_FUNCTIONS = 65536 };

static tn_status set_opset(const onnx_reader *r, tn_graph *g, const char *domain, int32_t version) {
  tn_status s = domain ? r->api->set_opset(g, domain, version) : TN_ERR_MEMORY;
  return s ? onnx_fail(r, s, NULL, "the operator set cannot be noted") : TN_OK;
}

tn_status onnx_opset_read(const onnx_reader *r, onnx_span message, tn_graph *g) {
  onnx_span rest = message, domain = {NULL, NULL};
  int64_t version = 0;
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(r, &rest, &f)) != 0) {
    if (more < 0)
      s = more;
    else if (f.number == 1)
      s = onnx_text(r, &f, &domain); /* domain */
    else if (f.number == 2)
      s = onnx_int(r, &f, &version); /* version */
  }
  if (s) return s;
  if (version < 1 || version >= INT32_MAX)
    return onnx_fail(r, TN_ERR_INVALID, message.p, "operator set '%.*s' has version %lld",
                     (int)tn_min_i64(onnx_size(domain), 80), domain.p ? (const char *)domain.p : "",
                     (long long)version);
  if (r->api->n_opsets(g) >= MAX_OPSETS)
    return onnx_fail(r, TN_ERR_OVERFLOW, message.p, "more than %d operator sets are imported",
                     MAX_OPSETS);
  tn_arena arena;
  tn_arena_init(&arena, &r->allocator);
  const char *name = onnx_str(&arena, domain);
  s = set_opset(r, g, name, (int32_t)version);
  tn_arena_clear(&arena);
  return s;
}

typedef struct model {
  int64_t ir_version;
  onnx_span producer, producer_version, domain, doc, graph, name;
  int64_t model_version, n_meta, n_functions;
} model;

static tn_status open_model(const onnx_reader *r, onnx_span message, model *m) {
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(r, &message, &f)) != 0) {
    if (more < 0) return more;
    switch (f.number) {
      case 1: s = onnx_int(r, &f, &m->ir_version); break;         /* ir_version */
      case 2: s = onnx_bytes(r, &f, &m->producer); break;         /* producer_name */
      case 3: s = onnx_bytes(r, &f, &m->producer_version); break; /* producer_version */
      case 4: s = onnx_bytes(r, &f, &m->domain); break;           /* domain */
      case 5: s = onnx_int(r, &f, &m->model_version); break;      /* model_version */
      case 6: s = onnx_bytes(r, &f, &m->doc); break;              /* doc_string */
      case 7:                                                     /* graph */
        if (m->graph.p) return onnx_fail(r, TN_ERR_INVALID, f.at, "the file holds two graphs");
        s = onnx_bytes(r, &f, &m->graph);
        break;
      case 14: m->n_meta++; break;      /* metadata_props */
      case 25: m->n_functions++; break; /* functions */
      default: break;
    }
  }
  if (s || m->graph.p) return s;
  return onnx_fail(r, TN_ERR_INVALID, NULL, "the file holds no graph; it is no ONNX model");
}

static tn_status check_model(const onnx_reader *r, const model *m) {
  if (m->n_meta > MAX_META || m->n_functions > MAX_FUNCTIONS)
    return onnx_fail(
        r, TN_ERR_OVERFLOW, NULL,
        "the model has %lld meta data entries and %lld functions; at most %d and %d are supported",
        (long long)m->n_meta, (long long)m->n_functions, MAX_META, MAX_FUNCTIONS);
  return TN_OK;
}

/* ---- Meta data ---- */

static tn_status note(const onnx_reader *r, tn_graph *g, const char *key, const char *text) {
  tn_status s = text ? r->api->set_meta(g, key, text) : TN_ERR_MEMORY;
  return s ? onnx_fail(r, s, NULL, "the meta data cannot be noted") : TN_OK;
}

/* Text with whatever bytes stand in the file; what is no UTF-8 is left out. */
static tn_status set_meta(const onnx_reader *r, tn_graph *g, tn_arena *arena, const char *key,
                          onnx_span text) {
  int64_t n = onnx_size(text);
  bool usable = n && tn_utf8_valid((const char *)text.p, n) && !memchr(text.p, 0, (size_t)n);
  return usable ? note(r, g, key, onnx_str(arena, text)) : TN_OK;
}

static tn_status set_meta_int(const onnx_reader *r, tn_graph *g, const char *key, int64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return value ? note(r, g, key, text) : TN_OK;
}

static tn_status read_meta_entry(const onnx_reader *r, tn_graph *g, tn_arena *arena,
                                 const onnx_field *f) {
  onnx_span entry, key, text;
  tn_status s = onnx_bytes(r, f, &entry);
  if (!s) s = onnx_entry_read(r, entry, &key, &text);
  if (s) return s;
  const char *name = onnx_str(arena, key);
  if (!name) return onnx_no_memory(r);
  return r->api->meta(g, name)
             ? TN_OK
             : set_meta(r, g, arena, name, text); /* the model's own fields come first */
}

static tn_status read_meta(const onnx_reader *r, onnx_span message, const model *m, tn_graph *g,
                           tn_arena *arena) {
  tn_status s = set_meta(r, g, arena, "name", m->name);
  if (!s) s = set_meta(r, g, arena, "producer", m->producer);
  if (!s) s = set_meta(r, g, arena, "producer_version", m->producer_version);
  if (!s) s = set_meta(r, g, arena, "domain", m->domain);
  if (!s) s = set_meta(r, g, arena, "doc", m->doc);
  if (!s) s = set_meta_int(r, g, "model_version", m->model_version);
  if (!s) s = set_meta_int(r, g, "ir_version", m->ir_version);
  onnx_field f;
  while (!s && onnx_next(r, &message, &f) > 0)
    if (f.number == 14) s = read_meta_entry(r, g, arena, &f);
  return s;
}

/* GraphProto's own name. */
static tn_status read_graph_name(const onnx_reader *r, model *m) {
  onnx_span rest = m->graph;
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(r, &rest, &f)) > 0)
    if (f.number == 2) s = onnx_bytes(r, &f, &m->name); /* name */
  return s ? s : more;
}

/* ---- The model ---- */

/* Fields that have to be read before the graph. */
static tn_status read_imports(onnx_reader *r, onnx_span message, tn_graph *g, uint32_t number) {
  onnx_field f;
  tn_status s = TN_OK;
  while (!s && onnx_next(r, &message, &f) > 0) { /* cannot fail: open_model has been through */
    onnx_span part;
    if (f.number != number || (s = onnx_bytes(r, &f, &part))) continue;
    s = number == 8 ? onnx_opset_read(r, part, g) : onnx_function_read(r, part, g);
  }
  return s;
}

static tn_status read_model(onnx_reader *r, onnx_span message, tn_graph *g, tn_arena *arena) {
  model m = {0};
  tn_status s = open_model(r, message, &m);
  r->ir_version = m.ir_version;
  if (!s) s = check_model(r, &m);
  if (!s) s = read_graph_name(r, &m);
  if (!s) s = read_meta(r, message, &m, g, arena);
  if (!s && (m.ir_version == 1 || m.ir_version == 2))
    s = set_opset(r, g, "", 1);               /* these have no imports */
  if (!s) s = read_imports(r, message, g, 8); /* opset_import */
  if (!s && r->api->n_opsets(g) == 0)
    s = onnx_fail(r, TN_ERR_INVALID, NULL, "the model imports no operator set");
  if (!s) s = read_imports(r, message, g, 25); /* functions */
  return s ? s : onnx_graph_read(r, m.graph, g);
}

tn_status onnx_read(const tn_source *source, tn_graph *g) {
  onnx_reader r;
  onnx_reader_init(&r, source);
  const onnx_span message = {source->data, source->data + source->size};
  tn_arena arena;
  tn_arena_init(&arena, &r.allocator);
  tn_status s = read_model(&r, message, g, &arena);
  tn_arena_clear(&arena);
  return s;
}
