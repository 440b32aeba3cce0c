/* A graph, at any stage, as an ONNX model: meta data, operator sets, functions and the graph
 * itself. */
#include "writer.h"

#include <stdlib.h>

enum { IR_VERSION = 10 }; /* the first with meta data of nodes and values */

/* ---- Operator sets ---- */

static void put_opset(onnx_writer *w, uint32_t number, const char *domain, int32_t version) {
  const onnx_mark opset = onnx_put_begin(&w->out, number);
  onnx_put_str(&w->out, 1, domain);  /* domain */
  onnx_put_int(&w->out, 2, version); /* version */
  onnx_put_end(&w->out, opset);
}

static void put_opsets(onnx_writer *w, uint32_t number, const tn_graph *g, bool newest) {
  int32_t version = 0;
  const char *domain;
  for (int32_t k = 0; (domain = w->api->opset_at(g, k, &version)); k++) {
    bool lift = newest && !*domain && version < ONNX_LIFTED_OPSET;
    put_opset(w, number, domain, lift ? ONNX_LIFTED_OPSET : version);
  }
}

/* Domains that nodes use though nobody imports them: "tenon". */
static void put_missing_opsets(onnx_writer *w, const tn_graph *g) {
  for (int64_t k = 0; k < w->domains.n; k++) {
    const char *domain = w->domains.data[k];
    if (w->api->opset(g, domain) == 0) put_opset(w, 8, domain, *domain ? 1 : ONNX_LIFTED_OPSET);
  }
}

/* ---- Functions ---- */

static void put_ports(onnx_writer *w, onnx_scope *s) {
  for (int32_t k = 0; k < w->api->n_inputs(s->g); k++)
    onnx_put_str(&w->out, 4, onnx_name(w, s, w->api->input(s->g, k))); /* input */
  for (int32_t k = 0; k < w->api->n_outputs(s->g); k++)
    onnx_put_str(&w->out, 5, onnx_name(w, s, w->api->output(s->g, k))); /* output */
}

static void put_function(onnx_writer *w, const tn_function_info *f) {
  onnx_scope s;
  onnx_scope_open(w, &s, NULL, f->body);
  s.in_function = true;
  const onnx_mark function = onnx_put_begin(&w->out, 25);
  if (!w->out.status) {
    onnx_put_str(&w->out, 1, f->name);
    put_ports(w, &s);
    for (uint32_t k = 0; k < f->n_attr_names; k++) onnx_put_str(&w->out, 6, f->attr_names[k]);
    onnx_put_nodes(w, 7, &s);
    put_opsets(w, 9, f->body, false);
    onnx_put_str(&w->out, 10, f->domain);
    for (uint32_t k = 0; k < f->n_defaults; k++)
      onnx_put_attr(w, 11, &s, f->defaults[k], NULL); /* attribute_proto */
    if (*f->overload) onnx_put_str(&w->out, 13, f->overload);
  }
  onnx_put_end(&w->out, function);
  onnx_scope_close(&s);
}

typedef void (*function_fn)(onnx_writer *w, const tn_function_info *f);

static void each_function(onnx_writer *w, const tn_graph *g, function_fn fn) {
  for (int32_t k = 0; k < w->api->n_functions(g) && !w->out.status; k++) {
    tn_function_info f = {.head = TN_HEAD(tn_function_info)};
    if (w->api->function_at(g, k, &f) == TN_OK) fn(w, &f);
  }
}

static void survey_function(onnx_writer *w, const tn_function_info *f) {
  onnx_note_domain(w, f->domain);
  onnx_survey(w, f->body);
}

/* ---- Meta data ---- */

typedef struct meta_field {
  const char *key;
  uint32_t number; /* 0: written elsewhere */
} meta_field;

/* Keys that are fields of their own in the file; NULL: it is none of them. */
static const meta_field *find_field(const char *key) {
  static const meta_field fields[] = {
      {"producer", 2}, {"producer_version", 3}, {"domain", 4}, {"model_version", 5},
      {"doc", 6},      {"ir_version", 0},       {"name", 0}};
  for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
    if (!strcmp(key, fields[k].key)) return &fields[k];
  return NULL;
}

static void put_fields(onnx_writer *w, const tn_graph *g) {
  enum { MODEL_VERSION = 5 };
  const char *ir = w->api->meta(g, "ir_version"), *key, *text = NULL;
  const int64_t ir_version = ir ? strtoll(ir, NULL, 10) : 0;
  onnx_put_int(&w->out, 1, ir_version > IR_VERSION ? ir_version : IR_VERSION); /* ir_version */
  for (int32_t k = 0; (key = w->api->meta_at(g, k, &text)); k++) {
    const meta_field *field = find_field(key);
    if (field && field->number == MODEL_VERSION)
      onnx_put_int(&w->out, field->number, strtoll(text, NULL, 10));
    else if (field && field->number)
      onnx_put_str(&w->out, field->number, text);
  }
}

static void put_props(onnx_writer *w, const tn_graph *g) {
  const char *key, *text = NULL;
  for (int32_t k = 0; (key = w->api->meta_at(g, k, &text)); k++)
    if (!find_field(key)) onnx_put_entry(&w->out, 14, key, text); /* metadata_props */
}

/* ---- The model ---- */

/* Fields stand in ascending order: OpenVINO takes a file for none of ONNX where a repeated one
 * comes before the graph. */
static void put_model(onnx_writer *w, const tn_graph *g) {
  onnx_survey(w, g);
  each_function(w, g, survey_function);
  const char *name = w->api->meta(g, "name");
  put_fields(w, g);
  onnx_put_graph(w, 7, NULL, g, name ? name : "model");
  put_opsets(w, 8, g, w->newest); /* opset_import */
  put_missing_opsets(w, g);
  put_props(w, g);
  each_function(w, g, put_function);
}

static void open_writer(onnx_writer *w, const tn_sink *sink, const tn_graph *g,
                        uint64_t data_from) {
  *w = (onnx_writer){.api = sink->host->graph, .data_from = data_from};
  onnx_put_init(&w->out, sink);
  tn_arena_init(&w->arena, &w->out.allocator);
  tn_map_init(&w->taken, &w->out.allocator);
  tn_map_init(&w->domains_seen, &w->out.allocator);
  w->version = w->api->opset(g, "");
  put_model(w, g);
}

static void close_writer(onnx_writer *w) {
  tn_vec_free(&w->out.allocator, &w->domains);
  tn_vec_free(&w->out.allocator, &w->data);
  tn_map_free(&w->domains_seen);
  tn_map_free(&w->taken);
  tn_arena_clear(&w->arena);
  onnx_put_free(&w->out);
}

/* From what size on tensors go to the second file if the model does not fit into one, as tools of
 * ONNX do it. */
enum { DATA_FROM = 1024 };

tn_status onnx_write(const tn_sink *sink, const tn_graph *g) {
  const bool two = TN_HAS(sink, write_data) && sink->write_data && sink->data_file;
  const uint64_t data_from = two ? sink->data_from : UINT64_MAX;
  onnx_writer w;
  open_writer(&w, sink, g, data_from);
  if (two && data_from > DATA_FROM && onnx_put_too_large(&w.out)) {
    close_writer(&w);
    open_writer(&w, sink, g, DATA_FROM);
  }
  tn_status s = onnx_put_check(&w.out);
  if (!s) s = onnx_flush_data(&w);
  if (!s) s = onnx_put_flush(&w.out);
  close_writer(&w);
  return s;
}
