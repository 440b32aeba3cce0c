/* FunctionProto -> a function of the model: a graph of its own with named attributes, some of which
 * have defaults. */
#include "reader.h"

typedef struct function_reader {
  onnx_reader *r;
  onnx_span message, name, domain, overload;
  const uint8_t *at;
  tn_graph *g, *body;
  tn_arena arena;
  const char **attr_names;
  const tn_attr **defaults;
  uint32_t n_attr_names, n_defaults;
} function_reader;

static tn_status open_function(function_reader *fn) {
  onnx_span rest = fn->message;
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(fn->r, &rest, &f)) != 0) {
    if (more < 0) return more;
    switch (f.number) {
      case 1: s = onnx_text(fn->r, &f, &fn->name); break;      /* name */
      case 6: fn->n_attr_names++; break;                       /* attribute */
      case 10: s = onnx_text(fn->r, &f, &fn->domain); break;   /* domain */
      case 11: fn->n_defaults++; break;                        /* attribute_proto */
      case 13: s = onnx_text(fn->r, &f, &fn->overload); break; /* overload */
      default: break;
    }
  }
  if (!s && fn->name.p == fn->name.end)
    s = onnx_fail(fn->r, TN_ERR_INVALID, fn->at, "the function has no name");
  return s;
}

static tn_status read_port(function_reader *fn, const onnx_field *f) {
  onnx_span name;
  int32_t value;
  tn_status s = onnx_text(fn->r, f, &name);
  if (!s && name.p == name.end)
    s = onnx_fail(fn->r, TN_ERR_INVALID, f->at, "an input or output has no name");
  if (!s) s = onnx_value(fn->r, fn->body, &fn->arena, name, &value);
  if (s) return s;
  s = f->number == 4 ? fn->r->api->add_input(fn->body, value)
                     : fn->r->api->add_output(fn->body, value);
  return s ? onnx_fail(fn->r, TN_ERR_INVALID, f->at, "the input or output is listed twice") : TN_OK;
}

static tn_status read_default(function_reader *fn, onnx_span message, uint32_t k) {
  tn_attr *attr = tn_arena_alloc(&fn->arena, sizeof *attr);
  if (!attr) return onnx_no_memory(fn->r);
  fn->defaults[k] = attr;
  return onnx_attr_read(fn->r, message, fn->body, &fn->arena, attr);
}

static tn_status read_attr_name(function_reader *fn, const onnx_field *f, uint32_t k) {
  onnx_span name;
  tn_status s = onnx_text(fn->r, f, &name);
  if (s) return s;
  fn->attr_names[k] = onnx_str(&fn->arena, name);
  return fn->attr_names[k] ? TN_OK : onnx_no_memory(fn->r);
}

/* Inputs, attributes and operator sets: what the nodes refer to. */
static tn_status read_head(function_reader *fn) {
  onnx_span rest = fn->message, part;
  onnx_field f;
  uint32_t name = 0, dflt = 0;
  tn_status s = TN_OK;
  fn->attr_names = tn_arena_alloc(&fn->arena, fn->n_attr_names * sizeof *fn->attr_names);
  fn->defaults = tn_arena_alloc(&fn->arena, fn->n_defaults * sizeof *fn->defaults);
  if (!fn->attr_names || !fn->defaults) return onnx_no_memory(fn->r);
  while (!s && onnx_next(fn->r, &rest, &f) > 0) { /* cannot fail: open_function has been through */
    if (f.number == 4)
      s = read_port(fn, &f); /* input */
    else if (f.number == 6)
      s = read_attr_name(fn, &f, name++);
    else if (f.number == 9 && !(s = onnx_bytes(fn->r, &f, &part)))
      s = onnx_opset_read(fn->r, part, fn->body);
    else if (f.number == 11 && !(s = onnx_bytes(fn->r, &f, &part)))
      s = read_default(fn, part, dflt++);
  }
  return s;
}

static tn_status read_body(function_reader *fn) {
  onnx_span rest = fn->message, part;
  onnx_field f;
  tn_status s = TN_OK;
  fn->r->n_nodes = 0;
  while (!s && onnx_next(fn->r, &rest, &f) > 0) {
    if (f.number == 5)
      s = read_port(fn, &f); /* output */
    else if (f.number == 7 && !(s = onnx_bytes(fn->r, &f, &part)))
      s = onnx_node_read(fn->r, part, fn->body);
  }
  return s;
}

static tn_status add_function(function_reader *fn) {
  const char *name = onnx_str(&fn->arena, fn->name), *domain = onnx_str(&fn->arena, fn->domain);
  const char *overload = onnx_str(&fn->arena, fn->overload);
  if (!name || !domain || !overload) return onnx_no_memory(fn->r);
  tn_status s = fn->r->api->add_function(fn->g, domain, name, overload, fn->body, fn->attr_names,
                                         fn->n_attr_names, fn->defaults, fn->n_defaults);
  return s ? onnx_fail(fn->r, s, fn->at,
                       s == TN_ERR_INVALID ? "the function cannot be added to the model: it is "
                                             "there twice"
                                           : "the function cannot be added to the model")
           : TN_OK;
}

tn_status onnx_function_read(onnx_reader *r, onnx_span message, tn_graph *g) {
  function_reader fn = {.r = r, .message = message, .at = message.p, .g = g};
  tn_status s = open_function(&fn);
  if (s) return s;
  if (!(fn.body = r->api->subgraph_new(g))) return onnx_no_memory(r);
  const onnx_where where = {.up = r->where, .what = "function", .name = fn.name};
  r->where = &where;
  tn_arena_init(&fn.arena, &r->allocator);
  s = read_head(&fn);
  if (!s) s = read_body(&fn);
  if (!s) s = add_function(&fn);
  tn_arena_clear(&fn.arena);
  r->where = where.up;
  return s;
}
