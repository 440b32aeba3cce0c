/* GraphProto -> a graph: constants first, then inputs, nodes, outputs and what is known of values
 * in between. From IR version 4 on an input of the model that has an initializer is an input with a
 * default. Older files list all weights among the inputs: there they are constants. */
#include "reader.h"

/* Reads every field `number` of a message with `read`. */
typedef tn_status (*part_fn)(onnx_reader *r, onnx_span message, tn_graph *g);

static tn_status each(onnx_reader *r, onnx_span message, uint32_t number, tn_graph *g,
                      part_fn read) {
  onnx_field f;
  int32_t more;
  while ((more = onnx_next(r, &message, &f)) > 0) {
    onnx_span part;
    if (f.number != number) continue;
    tn_status s = onnx_bytes(r, &f, &part);
    if (!s) s = read(r, part, g);
    if (s) return s;
  }
  return more;
}

tn_status onnx_value(const onnx_reader *r, tn_graph *g, tn_arena *arena, onnx_span name,
                     int32_t *out_value) {
  const char *text = onnx_str(arena, name);
  if (!text) return onnx_no_memory(r);
  *out_value = r->api->value(g, text);
  if (*out_value >= 0) return TN_OK;
  return onnx_fail(r, *out_value, name.p, "the graph has no room for another value");
}

/* ---- Initializers ---- */

typedef tn_status (*tensor_fn)(onnx_reader *r, onnx_span message, tn_arena *arena, tn_tensor *out,
                               onnx_span *out_name);

static tn_status add_initializer(onnx_reader *r, onnx_span message, tn_graph *g, tn_arena *arena,
                                 tensor_fn read) {
  tn_tensor tensor;
  onnx_span name = {NULL, NULL};
  int32_t value;
  tn_status s = read(r, message, arena, &tensor, &name);
  if (!s && name.p == name.end)
    s = onnx_fail(r, TN_ERR_INVALID, message.p, "the initializer has no name");
  if (!s) s = onnx_value(r, g, arena, name, &value);
  return s ? s : onnx_set_const(r, g, value, &tensor, name);
}

static tn_status with_arena(onnx_reader *r, onnx_span message, tn_graph *g, tensor_fn read) {
  tn_arena arena;
  tn_arena_init(&arena, &r->allocator);
  tn_status s = add_initializer(r, message, g, &arena, read);
  tn_arena_clear(&arena);
  return s;
}

static tn_status read_initializer(onnx_reader *r, onnx_span message, tn_graph *g) {
  return with_arena(r, message, g, onnx_tensor_read);
}

static tn_status read_sparse_initializer(onnx_reader *r, onnx_span message, tn_graph *g) {
  return with_arena(r, message, g, onnx_sparse_read);
}

/* ---- Inputs, outputs and values in between ---- */

enum { WHAT_INPUT, WHAT_OUTPUT, WHAT_INSIDE, IR_WITH_DEFAULTS = 4 };

static tn_status set_type(const onnx_reader *r, tn_graph *g, int32_t value, const tn_tensor *type,
                          const onnx_dim_names *names, tn_arena *arena) {
  tn_status s = r->api->value_set_type(g, value, type);
  for (int32_t k = 0; k < type->rank && !s; k++) {
    if (onnx_size(names->name[k]) == 0) continue;
    const char *name = onnx_str(arena, names->name[k]);
    s = name ? r->api->value_set_dim_name(g, value, k, name) : TN_ERR_MEMORY;
  }
  return s;
}

static tn_status mark(const onnx_reader *r, tn_graph *g, int32_t value, int what,
                      const uint8_t *at) {
  tn_status s = TN_OK;
  if (what == WHAT_INPUT) s = r->api->add_input(g, value);
  if (what == WHAT_OUTPUT) s = r->api->add_output(g, value);
  if (s == TN_ERR_STATE) return onnx_fail(r, TN_ERR_INVALID, at, "the input is listed twice");
  return s ? onnx_fail(r, s, at, "the input or output cannot be added to the graph") : TN_OK;
}

/* A type that the initializer is not of does not bind: the initializer's own does. */
static tn_status add_default(const onnx_reader *r, tn_graph *g, onnx_span name, int32_t value,
                             const tn_tensor *type, const onnx_dim_names *names, tn_arena *arena) {
  if (r->ir_version < IR_WITH_DEFAULTS || r->depth > 1) return TN_OK;
  tn_status s = mark(r, g, value, WHAT_INPUT, name.p);
  if (s) return s;
  s = set_type(r, g, value, type, names, arena);
  return s == TN_ERR_MEMORY ? onnx_no_memory(r) : TN_OK;
}

static tn_status add_value(const onnx_reader *r, tn_graph *g, onnx_span name, int what,
                           const tn_tensor *type, const onnx_dim_names *names, tn_arena *arena) {
  int32_t value;
  tn_status s = onnx_value(r, g, arena, name, &value);
  if (s) return s;
  uint32_t flags = r->api->value_flags(g, value);
  bool is_const = flags & TN_VALUE_CONST;
  if (what == WHAT_INPUT && is_const) return add_default(r, g, name, value, type, names, arena);
  if ((s = mark(r, g, value, what, name.p)) || is_const) return s;
  bool is_known = (what == WHAT_OUTPUT && flags & TN_VALUE_INPUT) || (what == WHAT_INSIDE && flags);
  if (is_known) return TN_OK; /* the input's own type counts */
  s = set_type(r, g, value, type, names, arena);
  return s ? onnx_fail(r, s, name.p, "the value's type cannot be noted") : TN_OK;
}

static tn_status read_value(onnx_reader *r, onnx_span message, tn_graph *g, int what) {
  onnx_span name;
  tn_tensor type;
  onnx_dim_names names;
  tn_status s = onnx_value_info_read(r, message, what != WHAT_INSIDE, &name, &type, &names);
  if (s || (name.p == name.end && what == WHAT_INSIDE)) return s;
  if (name.p == name.end)
    return onnx_fail(r, TN_ERR_INVALID, message.p, "an input or output has no name");
  const onnx_where where = {.up = r->where, .what = "value", .name = name};
  r->where = &where;
  tn_arena arena;
  tn_arena_init(&arena, &r->allocator);
  s = add_value(r, g, name, what, &type, &names, &arena);
  tn_arena_clear(&arena);
  r->where = where.up;
  return s;
}

static tn_status read_input(onnx_reader *r, onnx_span m, tn_graph *g) {
  return read_value(r, m, g, WHAT_INPUT);
}
static tn_status read_output(onnx_reader *r, onnx_span m, tn_graph *g) {
  return read_value(r, m, g, WHAT_OUTPUT);
}
static tn_status read_inside(onnx_reader *r, onnx_span m, tn_graph *g) {
  return read_value(r, m, g, WHAT_INSIDE);
}

/* ---- The graph ---- */

static tn_status read_parts(onnx_reader *r, onnx_span message, tn_graph *g) {
  static const struct {
    uint32_t number;
    part_fn read;
  } parts[] = {
      {5, read_initializer}, {15, read_sparse_initializer},
      {11, read_input},      {1, onnx_node_read},
      {12, read_output},     {13, read_inside},
  };
  tn_status s = TN_OK;
  for (size_t k = 0; k < sizeof parts / sizeof *parts && !s; k++)
    s = each(r, message, parts[k].number, g, parts[k].read);
  return s;
}

tn_status onnx_graph_read(onnx_reader *r, onnx_span message, tn_graph *g) {
  if (r->depth == ONNX_MAX_GRAPH_DEPTH)
    return onnx_fail(r, TN_ERR_OVERFLOW, message.p, "graphs are nested more than %d deep",
                     ONNX_MAX_GRAPH_DEPTH);
  const int32_t n_outer = r->n_nodes;
  r->n_nodes = 0;
  r->depth++;
  tn_status s = read_parts(r, message, g);
  r->depth--;
  r->n_nodes = n_outer;
  return s;
}
