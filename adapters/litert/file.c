/* Nodes of LiteRT as a TFLite file in memory: tables Model, OperatorCode, SubGraph, Tensor, Buffer,
 * QuantizationParameters and Operator of its schema, with the numbers of their fields. */
#include <stdlib.h>
#include <string.h>

#include "island.h"

enum { FILE_VERSION = 3, ROOM_FOR_NODE = 2048 };
enum { MODEL_VERSION = 0, MODEL_CODES = 1, MODEL_SUBGRAPHS = 2, MODEL_BUFFERS = 4, MODEL_END = 5 };
enum { CODE_OLD = 0, CODE_CUSTOM = 1, CODE_VERSION = 2, CODE_BUILTIN = 3, CODE_END = 4 };
enum { SUBGRAPH_TENSORS, SUBGRAPH_INPUTS, SUBGRAPH_OUTPUTS, SUBGRAPH_OPERATORS, SUBGRAPH_END };
enum {
  TENSOR_SHAPE = 0,
  TENSOR_TYPE = 1,
  TENSOR_BUFFER = 2,
  TENSOR_NAME = 3,
  TENSOR_QUANTIZATION = 4,
  TENSOR_SIGNATURE = 7,
  TENSOR_END = 8
};
enum { BUFFER_DATA = 0, BUFFER_END = 1 };
enum { QUANT_SCALE = 2, QUANT_ZERO = 3, QUANT_DIM = 6, QUANT_END = 7 };
enum {
  OPERATOR_CODE = 0,
  OPERATOR_INPUTS = 1,
  OPERATOR_OUTPUTS = 2,
  OPERATOR_OPTIONS = 4,
  OPERATOR_CUSTOM = 5,
  OPERATOR_END = 6
};
enum { NOT_USED = -1, NOT_NUMBERED = -2 };

/* ---- types ---- */

static const struct {
  int in_file;
  uint32_t dtype;
} types[LRT_MOST_TYPES + 1] = {
    [0] = {-1, TN_NONE},  [1] = {0, TN_F32},    [2] = {2, TN_I32},    [3] = {3, TN_U8},
    [4] = {4, TN_I64},    [5] = {5, TN_NONE},   [6] = {6, TN_BOOL},   [7] = {7, TN_I16},
    [8] = {8, TN_C64},    [9] = {9, TN_I8},     [10] = {1, TN_F16},   [11] = {10, TN_F64},
    [12] = {11, TN_C128}, [13] = {12, TN_U64},  [14] = {13, TN_NONE}, [15] = {14, TN_NONE},
    [16] = {15, TN_U32},  [17] = {16, TN_U16},  [18] = {17, TN_NONE}, [19] = {18, TN_BF16},
    [20] = {-1, TN_NONE}, [21] = {-1, TN_NONE}, [22] = {-1, TN_NONE}, [23] = {-1, TN_NONE}};

uint32_t type_dtype(int type) {
  return type >= 0 && type <= LRT_MOST_TYPES ? types[type].dtype : TN_NONE;
}

int type_in_file(int type) {
  return type >= 0 && type <= LRT_MOST_TYPES ? types[type].in_file : -1;
}

bool file_is_constant(const lrt_tensor *t) { return t->allocation == LRT_CONSTANT && t->data; }

/* ---- which tensors ---- */

typedef struct writer {
  const lrt_context *context;
  flat *f;
  int *places; /* of each tensor of the host: its number in the file, NOT_... */
  int n_tensors, n_constants;
  bool *is_made; /* by one of the nodes */
} writer;

static void use(writer *w, const lrt_ints *list, bool is_made) {
  for (int k = 0; list && k < list->size; k++) {
    const int t = list->data[k];
    if (t < 0 || (size_t)t >= w->context->n_tensors) continue; /* -1: it is not given */
    w->places[t] = NOT_NUMBERED;
    w->is_made[t] = w->is_made[t] || is_made;
  }
}

static bool see_tensors(writer *w, const host_node *nodes, int n, size_t *out_bytes) {
  const size_t all = w->context->n_tensors;
  w->places = calloc(all + 1, sizeof *w->places);
  w->is_made = calloc(all + 1, sizeof *w->is_made);
  if (!w->places || !w->is_made) return false;
  for (size_t t = 0; t < all; t++) w->places[t] = NOT_USED;
  for (int k = 0; k < n; k++) use(w, nodes[k].node->inputs, false);
  for (int k = 0; k < n; k++) use(w, nodes[k].node->outputs, true);
  *out_bytes = (size_t)n * ROOM_FOR_NODE;
  for (size_t t = 0; t < all; t++) {
    if (w->places[t] == NOT_USED) continue;
    w->places[t] = w->n_tensors++;
    if (file_is_constant(&w->context->tensors[t])) *out_bytes += w->context->tensors[t].bytes + 64;
  }
  return true;
}

/* ---- tensors ---- */

static void write_quantisation(flat *f, size_t tensor, const lrt_tensor *t) {
  const lrt_affine *q = t->quantization.params;
  if (t->quantization.type != LRT_AFFINE || !q || !q->scale || q->scale->size < 1) return;
  const size_t table = flat_table(f, QUANT_END);
  const int n_zeros = q->zero ? q->zero->size : 0;
  flat_link(f, tensor, TENSOR_QUANTIZATION, table);
  flat_link(f, table, QUANT_SCALE,
            flat_vector(f, (size_t)q->scale->size, sizeof(float), q->scale->data));
  const size_t zeros = flat_vector(f, (size_t)n_zeros, sizeof(int64_t), NULL);
  for (int k = 0; k < n_zeros && !f->failed; k++) {
    const int64_t zero = q->zero->data[k];
    memcpy((char *)flat_items(f, zeros) + sizeof zero * (size_t)k, &zero, sizeof zero);
  }
  flat_link(f, table, QUANT_ZERO, zeros);
  flat_set(f, table, QUANT_DIM, q->dim);
}

/* Answers where its dims stand. */
static size_t write_tensor(writer *w, const lrt_tensor *t, size_t table) {
  flat *f = w->f;
  const lrt_ints *open = t->dims_signature;
  const size_t shape = flat_vector(f, (size_t)t->dims->size, sizeof(int), t->dims->data);
  flat_link(f, table, TENSOR_SHAPE, shape);
  flat_set(f, table, TENSOR_TYPE, type_in_file(t->type));
  flat_set(f, table, TENSOR_BUFFER, file_is_constant(t) ? ++w->n_constants : 0);
  flat_link(f, table, TENSOR_NAME, flat_text(f, t->name ? t->name : ""));
  if (open && open->size == t->dims->size && !file_is_constant(t))
    flat_link(f, table, TENSOR_SIGNATURE,
              flat_vector(f, (size_t)open->size, sizeof(int), open->data));
  write_quantisation(f, table, t);
  return shape;
}

/* Tensors of the host that the file has, in its order, with their tables. */
static void write_tensors(writer *w, size_t subgraph, size_t *shapes) {
  flat *f = w->f;
  const size_t list = flat_vector(f, (size_t)w->n_tensors, 4, NULL);
  flat_link(f, subgraph, SUBGRAPH_TENSORS, list);
  for (size_t t = 0; t < w->context->n_tensors; t++) {
    if (w->places[t] < 0) continue;
    const size_t table = flat_table(f, TENSOR_END);
    flat_link_item(f, list, (size_t)w->places[t], table);
    shapes[t] = write_tensor(w, &w->context->tensors[t], table);
  }
}

/* The first buffer is empty, as the schema has it; then those of the constants, in their order. */
static void write_buffers(writer *w, size_t model) {
  flat *f = w->f;
  const size_t list = flat_vector(f, (size_t)w->n_constants + 1, 4, NULL);
  size_t at = 0;
  flat_link(f, model, MODEL_BUFFERS, list);
  flat_link_item(f, list, at++, flat_table(f, BUFFER_END));
  for (size_t t = 0; t < w->context->n_tensors; t++) {
    const lrt_tensor *from = &w->context->tensors[t];
    if (w->places[t] < 0 || !file_is_constant(from)) continue;
    const size_t table = flat_table(f, BUFFER_END);
    flat_link_item(f, list, at++, table);
    flat_link(f, table, BUFFER_DATA, flat_vector(f, from->bytes, 1, from->data));
  }
}

/* ---- nodes ---- */

static void write_code(flat *f, size_t list, int k, const lrt_registration *op) {
  const size_t table = flat_table(f, CODE_END);
  flat_link_item(f, list, (size_t)k, table);
  flat_set(f, table, CODE_OLD, op->builtin_code < 127 ? op->builtin_code : 127);
  flat_set(f, table, CODE_BUILTIN, op->builtin_code);
  flat_set(f, table, CODE_VERSION, op->version > 0 ? op->version : 1);
  if (op->builtin_code == LRT_CUSTOM)
    flat_link(f, table, CODE_CUSTOM, flat_text(f, op->custom_name ? op->custom_name : ""));
}

static size_t write_places(writer *w, const int *tensors, int n) {
  const size_t list = flat_vector(w->f, (size_t)n, sizeof(int), NULL);
  for (int k = 0; k < n && !w->f->failed; k++) {
    const int t = tensors[k], place = t < 0 ? -1 : w->places[t];
    memcpy((char *)flat_items(w->f, list) + sizeof place * (size_t)k, &place, sizeof place);
  }
  return list;
}

static void write_nodes(writer *w, size_t model, size_t subgraph, const host_node *nodes, int n) {
  flat *f = w->f;
  const size_t codes = flat_vector(f, (size_t)n, 4, NULL),
               list = flat_vector(f, (size_t)n, 4, NULL);
  flat_link(f, model, MODEL_CODES, codes);
  flat_link(f, subgraph, SUBGRAPH_OPERATORS, list);
  for (int k = 0; k < n; k++) {
    const lrt_node *node = nodes[k].node;
    const size_t table = flat_table(f, OPERATOR_END);
    flat_link_item(f, list, (size_t)k, table);
    flat_set(f, table, OPERATOR_CODE, k);
    write_code(f, codes, k, nodes[k].op);
    flat_link(f, table, OPERATOR_INPUTS, write_places(w, node->inputs->data, node->inputs->size));
    flat_link(f, table, OPERATOR_OUTPUTS,
              write_places(w, node->outputs->data, node->outputs->size));
    if (nodes[k].op->builtin_code != LRT_CUSTOM)
      options_write(f, table, OPERATOR_OPTIONS, nodes[k].op->builtin_code, node->builtin_data);
    else if (node->custom_data && node->custom_size > 0)
      flat_link(f, table, OPERATOR_CUSTOM,
                flat_vector(f, (size_t)node->custom_size, 1, node->custom_data));
  }
}

/* ---- the file ---- */

/* Its inputs and outputs, as tensors of the host. */
static bool list_ends(writer *w, const lrt_ints *outputs, const size_t *shapes, island_file *out) {
  out->inputs = calloc((size_t)w->n_tensors + 1, sizeof *out->inputs);
  out->shapes = calloc((size_t)w->n_tensors + 1, sizeof *out->shapes);
  out->outputs = calloc((size_t)outputs->size + 1, sizeof *out->outputs);
  if (!out->inputs || !out->shapes || !out->outputs) return false;
  for (size_t t = 0; t < w->context->n_tensors; t++) {
    if (w->places[t] < 0 || w->is_made[t] || file_is_constant(&w->context->tensors[t])) continue;
    out->shapes[out->n_inputs] = shapes[t];
    out->inputs[out->n_inputs++] = (int)t;
  }
  for (int k = 0; k < outputs->size; k++) {
    const int t = outputs->data[k];
    if (t >= 0 && (size_t)t < w->context->n_tensors && w->places[t] >= 0)
      out->outputs[out->n_outputs++] = t;
  }
  return true;
}

static bool write_model(writer *w, const host_node *nodes, int n, const lrt_ints *outputs,
                        size_t *shapes, island_file *out) {
  flat *f = w->f;
  const size_t model = flat_table(f, MODEL_END), graphs = flat_vector(f, 1, 4, NULL),
               graph = flat_table(f, SUBGRAPH_END);
  flat_root(f, model);
  flat_set(f, model, MODEL_VERSION, FILE_VERSION);
  flat_link(f, model, MODEL_SUBGRAPHS, graphs);
  flat_link_item(f, graphs, 0, graph);
  write_tensors(w, graph, shapes);
  write_nodes(w, model, graph, nodes, n);
  write_buffers(w, model);
  if (!list_ends(w, outputs, shapes, out)) return false;
  flat_link(f, graph, SUBGRAPH_INPUTS, write_places(w, out->inputs, out->n_inputs));
  flat_link(f, graph, SUBGRAPH_OUTPUTS, write_places(w, out->outputs, out->n_outputs));
  return !f->failed;
}

bool file_write(const lrt_context *context, const host_node *nodes, int n, const lrt_ints *outputs,
                island_file *out) {
  *out = (island_file){.file = {.failed = true}};
  writer w = {.context = context, .f = &out->file};
  size_t bytes, *shapes = calloc(context->n_tensors + 1, sizeof *shapes);
  bool done = shapes && see_tensors(&w, nodes, n, &bytes);
  if (done) flat_open(w.f, "TFL3", bytes);
  done = done && write_model(&w, nodes, n, outputs, shapes, out);
  free(shapes);
  free(w.places);
  free(w.is_made);
  if (!done) file_free(out);
  return done;
}

void file_free(island_file *file) {
  flat_free(&file->file);
  free(file->inputs);
  free(file->outputs);
  free(file->shapes);
  *file = (island_file){.file = {.failed = true}};
}
