/* Shared by the tests of the ONNX format; see kit.h. */
#include "kit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- The host ---- */

static tn_status host_fail(void *ctx, tn_status code, const char *format, ...) {
  kit *k = ctx;
  char text[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tn_text_add(&k->messages, "%s\n", text);
  return code;
}

static void host_log(void *ctx, uint32_t level, const char *format, ...) {
  kit *k = ctx;
  char text[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (level == TN_LOG_WARNING) tn_text_add(&k->warnings, "%s\n", text);
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  kit *k = ctx;
  k->n_blocks++;
  if (k->n_blocks == k->fail_at) return NULL;
  k->n_live++;
  return tn_alloc_sized(tn_default_allocator(), bytes);
}

static void host_free(void *ctx, void *memory) {
  kit *k = ctx;
  k->n_live -= memory != NULL;
  tn_free_sized(tn_default_allocator(), memory);
}

void kit_init(kit *k) {
  *k = (kit){.format = &onnx_format,
             .host = {.head = TN_HEAD(tn_host),
                      .graph = &tn_graph_api_table,
                      .fail = host_fail,
                      .log = host_log,
                      .alloc = host_alloc,
                      .free = host_free}};
  tn_text_init(&k->messages, tn_default_allocator());
  tn_text_init(&k->warnings, tn_default_allocator());
}

void kit_free(kit *k) {
  tn_text_free(&k->messages);
  tn_text_free(&k->warnings);
  tn_file_unmap(&k->sibling);
}

uint8_t *kit_load(tn_arena *arena, const char *path, uint64_t *out_size) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  fseek(f, 0, SEEK_SET);
  uint8_t *data = size < 0 ? NULL : tn_arena_alloc(arena, (uint64_t)size);
  if (data && fread(data, 1, (size_t)size, f) != (size_t)size) data = NULL;
  fclose(f);
  *out_size = (uint64_t)size;
  return data;
}

static tn_status open_sibling(void *ctx, const char *path, const uint8_t **out_data,
                              uint64_t *out_size) {
  kit *k = ctx;
  char full[2000];
  snprintf(full, sizeof full, "%s/%s", k->dir ? k->dir : "", path);
  if (!k->dir || strstr(path, "..")) return TN_ERR_NOT_FOUND;
  tn_file_unmap(&k->sibling);
  tn_status s = tn_file_map(full, NULL, &k->sibling);
  *out_data = k->sibling.data;
  *out_size = k->sibling.size;
  return s;
}

tn_source kit_source(kit *k, const void *data, uint64_t size) {
  return (tn_source){.head = TN_HEAD(tn_source),
                     .host = &k->host,
                     .ctx = k,
                     .path = "model.onnx",
                     .data = data,
                     .size = size,
                     .open_sibling = open_sibling};
}

tn_graph *kit_read(kit *k, const void *data, uint64_t size, tn_status *out_status) {
  tn_source source = kit_source(k, data, size);
  tn_graph *g = tn_graph_new(tn_default_allocator());
  tn_status s = g ? k->format->read(&source, g) : TN_ERR_MEMORY;
  if (out_status) *out_status = s;
  if (s == TN_OK) return g;
  tn_graph_free(g);
  return NULL;
}

static tn_status sink_write(void *ctx, const void *data, uint64_t size) {
  kit *k = ctx;
  tn_text_add_bytes(k->out_file, data, (int64_t)size);
  return k->out_file->status;
}

tn_sink kit_sink(kit *k, tn_text *out_file) {
  k->out_file = out_file;
  return (tn_sink){.head = TN_HEAD(tn_sink), .host = &k->host, .ctx = k, .write = sink_write};
}

static tn_status sink_write_data(void *ctx, const void *data, uint64_t size) {
  kit *k = ctx;
  k->n_data += (int64_t)size;
  if (k->out_data) tn_text_add_bytes(k->out_data, data, (int64_t)size);
  return k->out_data ? k->out_data->status : TN_OK;
}

tn_sink kit_data_sink(kit *k, tn_text *out_file, uint64_t data_from) {
  tn_sink sink = kit_sink(k, out_file);
  sink.data_file = "weights.bin";
  sink.data_from = data_from;
  sink.write_data = sink_write_data;
  return sink;
}

tn_status kit_write(kit *k, const tn_graph *g, tn_text *out_file) {
  tn_text_init(out_file, tn_default_allocator());
  tn_sink sink = kit_sink(k, out_file);
  return k->format->write(&sink, g);
}

/* ---- Text ---- */

static uint32_t crc32(uint32_t crc, const void *data, int64_t n) {
  const uint8_t *p = data;
  crc = ~crc;
  for (int64_t i = 0; i < n; i++) {
    crc ^= p[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

static void dump_elements(const tn_tensor *t, tn_text *out) {
  uint32_t crc = 0;
  if (t->dtype == TN_STRING) {
    const tn_str *strs = t->data;
    for (int64_t k = 0; k < tn_tensor_elements(t); k++)
      crc = crc32(crc32(crc, strs[k].data, strs[k].size), "", 1);
  } else {
    crc = crc32(0, t->data, tn_tensor_bytes(t));
  }
  tn_text_add(out, " crc=%08x", crc);
}

void kit_dump_tensor(const tn_tensor *t, tn_text *out) {
  char text[TN_TENSOR_TEXT];
  if (t->kind != TN_KIND_TENSOR) tn_text_add(out, "kind=%u elements=%x ", t->kind, t->elements);
  tn_text_add(out, "%s", tn_tensor_text(t, text, sizeof text));
  if (t->data) dump_elements(t, out);
}

static void dump_value(const tn_graph *g, int32_t v, const char *what, int indent, tn_text *out) {
  const tn_graph_api *api = &tn_graph_api_table;
  const tn_tensor *t = api->value_type(g, v);
  tn_text_add(out, "%*s%s '%s' ", indent, "", what, api->value_name(g, v));
  kit_dump_tensor(t, out);
  for (int32_t k = 0; k < t->rank; k++)
    if (api->value_dim_name(g, v, k)) tn_text_add(out, " %d:%s", k, api->value_dim_name(g, v, k));
  tn_text_add(out, "\n");
}

static void dump_graph(tn_graph *g, int indent, tn_text *out);

static void dump_attr(const tn_attr *a, int indent, tn_text *out) {
  tn_text_add(out, "%*s%s kind=%u", indent, "", a->name, a->kind);
  switch (a->kind) {
    case TN_ATTR_INT: tn_text_add(out, " %lld", (long long)a->i); break;
    case TN_ATTR_FLOAT: tn_text_add(out, " %.9g", a->f); break;
    case TN_ATTR_REF: tn_text_add(out, " %lld", (long long)a->i); /* fall through */
    case TN_ATTR_STR:
      tn_text_add(out, " %lld %08x", (long long)a->s.size, crc32(0, a->s.data, a->s.size));
      break;
    default: break;
  }
  for (int64_t k = 0; k < a->ints.size; k++) tn_text_add(out, " %lld", (long long)a->ints.data[k]);
  for (int64_t k = 0; k < a->floats.size; k++) tn_text_add(out, " %.9g", a->floats.data[k]);
  for (int64_t k = 0; k < a->strs.size; k++)
    tn_text_add(out, " %lld %08x", (long long)a->strs.data[k].size,
                crc32(0, a->strs.data[k].data, a->strs.data[k].size));
  for (int64_t k = 0; k < a->tensors.size; k++) {
    tn_text_add(out, " ");
    kit_dump_tensor(a->tensors.data[k], out);
  }
  tn_text_add(out, "\n");
  for (uint32_t k = 0; k < a->n_graphs; k++) dump_graph(a->graphs[k], indent + 2, out);
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(const tn_attr *const *)a)->name, (*(const tn_attr *const *)b)->name);
}

static void dump_node(const tn_graph *g, const tn_node *n, int indent, tn_text *out) {
  const tn_graph_api *api = &tn_graph_api_table;
  tn_text_add(out, "%*snode %s::%s '%s' overload='%s' (", indent, "", n->domain, n->op, n->name,
              n->overload);
  for (uint32_t k = 0; k < n->n_inputs; k++)
    tn_text_add(out, "'%s',", n->inputs[k] < 0 ? "" : api->value_name(g, n->inputs[k]));
  tn_text_add(out, ") -> (");
  for (uint32_t k = 0; k < n->n_outputs; k++)
    tn_text_add(out, "'%s',", n->outputs[k] < 0 ? "" : api->value_name(g, n->outputs[k]));
  tn_text_add(out, ")\n");
  const tn_attr **sorted = calloc(n->n_attrs + 1, sizeof *sorted);
  for (uint32_t k = 0; k < n->n_attrs; k++) sorted[k] = n->attrs[k];
  qsort(sorted, n->n_attrs, sizeof *sorted, by_name);
  for (uint32_t k = 0; k < n->n_attrs; k++) dump_attr(sorted[k], indent + 2, out);
  free(sorted);
}

static int by_value_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Constants, or values whose type is noted though they are neither constants nor inputs nor
 * outputs; by name. */
static void dump_values(tn_graph *g, bool constants, int indent, tn_text *out) {
  const tn_graph_api *api = &tn_graph_api_table;
  const int32_t n = api->n_values(g);
  const char **names = calloc((size_t)n + 1, sizeof *names);
  int32_t found = 0;
  for (int32_t v = 0; v < n; v++) {
    const tn_tensor *t = api->value_type(g, v);
    bool is_const = api->value_flags(g, v) & TN_VALUE_CONST,
         is_typed = t->rank >= 0 || t->dtype != TN_NONE;
    if (constants ? is_const : !api->value_flags(g, v) && is_typed)
      names[found++] = api->value_name(g, v);
  }
  qsort(names, (size_t)found, sizeof *names, by_value_name);
  for (int32_t k = 0; k < found; k++)
    dump_value(g, api->value(g, names[k]), constants ? "const" : "value", indent, out);
  free(names);
}

/* Inputs, constants, nodes in the file's order, values in between, outputs. */
static void dump_graph(tn_graph *g, int indent, tn_text *out) {
  const tn_graph_api *api = &tn_graph_api_table;
  tn_text_add(out, "%*sgraph\n", indent, "");
  for (int32_t k = 0; k < api->n_inputs(g); k++)
    dump_value(g, api->input(g, k), "input", indent, out);
  dump_values(g, true, indent, out);
  for (int32_t n = 0; n < (int32_t)g->nodes.n; n++)
    if (api->node(g, n)) dump_node(g, api->node(g, n), indent, out);
  dump_values(g, false, indent, out);
  for (int32_t k = 0; k < api->n_outputs(g); k++)
    dump_value(g, api->output(g, k), "output", indent, out);
}

static void dump_opsets(const tn_graph *g, tn_text *out) {
  for (int32_t k = 0, version = 0; k < tn_graph_api_table.n_opsets(g); k++) {
    const char *domain = tn_graph_api_table.opset_at(g, k, &version);
    tn_text_add(out, "opset '%s' %d\n", domain, version);
  }
}

void kit_dump(tn_graph *g, tn_text *out) {
  dump_opsets(g, out);
  for (int32_t k = 0; k < tn_graph_api_table.n_meta(g); k++) {
    const char *text, *key = tn_graph_api_table.meta_at(g, k, &text);
    tn_text_add(out, "meta '%s' %lld %08x\n", key, (long long)strlen(text),
                crc32(0, text, (int64_t)strlen(text)));
  }
  for (int32_t k = 0; k < tn_graph_api_table.n_functions(g); k++) {
    tn_function_info f = {.head = TN_HEAD(tn_function_info)};
    if (tn_graph_api_table.function_at(g, k, &f)) continue;
    tn_text_add(out, "function %s::%s '%s'", f.domain, f.name, f.overload);
    for (uint32_t j = 0; j < f.n_attr_names; j++) tn_text_add(out, " %s", f.attr_names[j]);
    tn_text_add(out, "\n");
    for (uint32_t j = 0; j < f.n_defaults; j++) dump_attr(f.defaults[j], 2, out);
    dump_opsets(f.body, out);
    dump_graph(g->functions.data[k].body, 0, out);
  }
  dump_graph(g, 0, out);
}

bool kit_testdata(const char *name, char *out_path, size_t size) {
  const char *root = getenv("TENON_TESTDATA");
  struct stat info;
  snprintf(out_path, size, "%s/%s", root ? root : "../shared/testdata", name);
  return !stat(out_path, &info) && S_ISDIR(info.st_mode);
}
