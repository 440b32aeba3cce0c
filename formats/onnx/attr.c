/* AttributeProto -> tn_attr. Sparse tensors become dense ones; graphs are read into graphs of the
 * model. */
#include "reader.h"

/* What stands in which field of an AttributeProto. The same numbers serve to guess the type where
 * it is not said. */
typedef struct attr_kind {
  uint32_t kind; /* TN_ATTR_... */
  uint32_t field;
} attr_kind;

static const attr_kind kinds[ONNX_ATTR_COUNT] = {
    [ONNX_ATTR_FLOAT] = {TN_ATTR_FLOAT, 2},           /* f */
    [ONNX_ATTR_INT] = {TN_ATTR_INT, 3},               /* i */
    [ONNX_ATTR_STRING] = {TN_ATTR_STR, 4},            /* s */
    [ONNX_ATTR_TENSOR] = {TN_ATTR_TENSOR, 5},         /* t */
    [ONNX_ATTR_GRAPH] = {TN_ATTR_GRAPH, 6},           /* g */
    [ONNX_ATTR_FLOATS] = {TN_ATTR_FLOATS, 7},         /* floats */
    [ONNX_ATTR_INTS] = {TN_ATTR_INTS, 8},             /* ints */
    [ONNX_ATTR_STRINGS] = {TN_ATTR_STRS, 9},          /* strings */
    [ONNX_ATTR_TENSORS] = {TN_ATTR_TENSORS, 10},      /* tensors */
    [ONNX_ATTR_GRAPHS] = {TN_ATTR_GRAPHS, 11},        /* graphs */
    [ONNX_ATTR_SPARSE_TENSOR] = {TN_ATTR_TENSOR, 22}, /* sparse_tensor */
    [ONNX_ATTR_SPARSE_TENSORS] = {TN_ATTR_TENSORS, 23},
    [ONNX_ATTR_TYPE] = {TN_ATTR_TYPE, 14}, /* tp */
};

typedef struct attr_reader {
  onnx_reader *r;
  onnx_span message;
  const uint8_t *at;
  onnx_span name, ref;
  int64_t type; /* ONNX_ATTR_... */
  tn_graph *g;
  tn_arena *arena;
  tn_attr *out;
} attr_reader;

static int64_t type_of_field(uint32_t field) {
  for (int64_t k = 1; k < ONNX_ATTR_COUNT; k++)
    if (kinds[k].field == field) return k;
  return 0;
}

/* The name, the type, and what else says what to look for. */
static tn_status open_attr(attr_reader *a) {
  onnx_span rest = a->message;
  onnx_field f;
  int32_t more;
  int64_t guess = 0;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(a->r, &rest, &f)) != 0) {
    if (more < 0)
      s = more;
    else if (f.number == 1)
      s = onnx_text(a->r, &f, &a->name); /* name */
    else if (f.number == 20)
      s = onnx_int(a->r, &f, &a->type); /* type */
    else if (f.number == 21)
      s = onnx_text(a->r, &f, &a->ref); /* ref_attr_name */
    else if (!guess)
      guess = type_of_field(f.number);
  }
  if (a->type == 0) a->type = guess; /* files of IR version 1 say no type */
  if (s) return s;
  if (a->name.p == a->name.end)
    return onnx_fail(a->r, TN_ERR_INVALID, a->at, "the attribute has no name");
  if (a->type > 0 && a->type < ONNX_ATTR_COUNT && kinds[a->type].kind) return TN_OK;
  return onnx_fail(
      a->r, TN_ERR_UNSUPPORTED, a->at, "attribute '%.*s' is of type %lld, which is not supported",
      (int)tn_min_i64(onnx_size(a->name), 80), (const char *)a->name.p, (long long)a->type);
}

/* ---- One value ---- */

/* The last occurrence of the attribute's field; false: there is none, and numbers and strings are
 * zero. */
static bool find_field(const attr_reader *a, onnx_field *out) {
  onnx_span rest = a->message;
  onnx_field f;
  bool found = false;
  while (onnx_next(a->r, &rest, &f) > 0) { /* cannot fail: open_attr has been through */
    if (f.number != kinds[a->type].field) continue;
    *out = f;
    found = true;
  }
  return found;
}

static tn_status read_scalar(attr_reader *a) {
  onnx_field f;
  if (!find_field(a, &f)) return TN_OK;
  if (a->type == ONNX_ATTR_INT) return onnx_int(a->r, &f, &a->out->i);
  if (a->type == ONNX_ATTR_FLOAT) return onnx_float(a->r, &f, &a->out->f);
  onnx_span bytes = {NULL, NULL};
  tn_status s = onnx_bytes(a->r, &f, &bytes);
  a->out->s = onnx_as_str(bytes);
  return s;
}

static tn_status read_floats(attr_reader *a) {
  int64_t n;
  tn_status s = onnx_count(a->r, a->message, 7, ONNX_FIXED32, &n);
  if (s) return s;
  double *to = tn_arena_alloc(a->arena, (uint64_t)n * sizeof *to);
  float *from = tn_arena_alloc(a->arena, (uint64_t)n * sizeof *from);
  if (!to || !from) return onnx_no_memory(a->r);
  s = onnx_gather(a->r, a->message, 7, ONNX_FIXED32, sizeof *from, from);
  for (int64_t k = 0; k < n; k++) to[k] = (double)from[k];
  a->out->floats = (tn_floats){to, n};
  return s;
}

static tn_status read_ints(attr_reader *a) {
  int64_t n;
  tn_status s = onnx_count(a->r, a->message, 8, ONNX_VARINT, &n);
  if (s) return s;
  int64_t *to = tn_arena_alloc(a->arena, (uint64_t)n * sizeof *to);
  if (!to) return onnx_no_memory(a->r);
  a->out->ints = (tn_ints){to, n};
  return onnx_gather(a->r, a->message, 8, ONNX_VARINT, sizeof *to, to);
}

/* ---- Strings, tensors, graphs, types: one or many ---- */

typedef struct parts {
  tn_str *strs;
  tn_tensor *tensors;
  const tn_tensor **tensor_ptrs;
  tn_graph **graphs;
} parts;

static tn_status read_graph(attr_reader *a, onnx_span message, tn_graph **out) {
  *out = a->r->api->subgraph_new(a->g);
  if (!*out) return onnx_no_memory(a->r);
  return onnx_graph_read(a->r, message, *out);
}

static tn_status read_part(attr_reader *a, onnx_span bytes, parts *p, int64_t k) {
  switch (a->type) {
    case ONNX_ATTR_STRINGS: p->strs[k] = onnx_as_str(bytes); return TN_OK;
    case ONNX_ATTR_GRAPH:
    case ONNX_ATTR_GRAPHS: return read_graph(a, bytes, &p->graphs[k]);
    case ONNX_ATTR_TYPE: return onnx_type_read(a->r, bytes, true, &p->tensors[k], NULL);
    case ONNX_ATTR_TENSOR:
    case ONNX_ATTR_TENSORS: return onnx_tensor_read(a->r, bytes, a->arena, &p->tensors[k], NULL);
    default: return onnx_sparse_read(a->r, bytes, a->arena, &p->tensors[k], NULL);
  }
}

static tn_status alloc_parts(attr_reader *a, int64_t n, parts *p) {
  const uint64_t count = (uint64_t)n;
  p->strs = tn_arena_alloc(a->arena, a->type == ONNX_ATTR_STRINGS ? count * sizeof *p->strs : 0);
  p->graphs = tn_arena_alloc(a->arena, count * sizeof *p->graphs);
  p->tensor_ptrs = tn_arena_alloc(a->arena, count * sizeof *p->tensor_ptrs);
  bool tensors = a->type != ONNX_ATTR_STRINGS && a->type != ONNX_ATTR_GRAPHS;
  p->tensors = tn_arena_alloc(a->arena, tensors ? count * sizeof *p->tensors : 0);
  if (!p->strs || !p->graphs || !p->tensor_ptrs || !p->tensors) return onnx_no_memory(a->r);
  for (int64_t k = 0; k < n && tensors; k++) p->tensor_ptrs[k] = &p->tensors[k];
  return TN_OK;
}

static tn_status read_parts(attr_reader *a) {
  const uint32_t number = kinds[a->type].field, kind = kinds[a->type].kind;
  onnx_span rest = a->message, bytes;
  onnx_field f;
  int64_t n = 0;
  while (onnx_next(a->r, &rest, &f) > 0) n += f.number == number;
  bool single = kind == TN_ATTR_TENSOR || kind == TN_ATTR_GRAPH || kind == TN_ATTR_TYPE;
  if (n > UINT32_MAX || (single && n != 1))
    return onnx_fail(a->r, TN_ERR_INVALID, a->at,
                     "the attribute holds %lld values where one is needed", (long long)n);
  parts p;
  tn_status s = alloc_parts(a, n, &p);
  rest = a->message;
  for (int64_t k = 0; !s && onnx_next(a->r, &rest, &f) > 0;) {
    if (f.number != number) continue;
    s = onnx_bytes(a->r, &f, &bytes);
    if (!s) s = read_part(a, bytes, &p, k++);
  }
  if (kind == TN_ATTR_STRS)
    a->out->strs = (tn_strs){p.strs, n};
  else if (kind == TN_ATTR_GRAPH || kind == TN_ATTR_GRAPHS)
    a->out->graphs = p.graphs, a->out->n_graphs = (uint32_t)n;
  else
    a->out->tensors = (tn_tensors){p.tensor_ptrs, n};
  return s;
}

static tn_status read_contents(attr_reader *a) {
  if (onnx_size(a->ref)) {
    a->out->i = a->out->kind;
    a->out->kind = TN_ATTR_REF;
    a->out->s = onnx_as_str(a->ref);
    return TN_OK;
  }
  switch (a->type) {
    case ONNX_ATTR_INT:
    case ONNX_ATTR_FLOAT:
    case ONNX_ATTR_STRING: return read_scalar(a);
    case ONNX_ATTR_FLOATS: return read_floats(a);
    case ONNX_ATTR_INTS: return read_ints(a);
    default: return read_parts(a);
  }
}

tn_status onnx_attr_read(onnx_reader *r, onnx_span message, tn_graph *g, tn_arena *arena,
                         tn_attr *out) {
  attr_reader a = {.r = r, .message = message, .at = message.p, .g = g, .arena = arena, .out = out};
  *out = (tn_attr){.head = TN_HEAD(tn_attr)};
  tn_status s = open_attr(&a);
  if (s) return s;
  out->kind = kinds[a.type].kind;
  out->name = onnx_str(arena, a.name);
  if (!out->name) return onnx_no_memory(r);
  const onnx_where where = {.up = r->where, .what = "attribute", .name = a.name};
  r->where = &where;
  s = read_contents(&a);
  r->where = where.up;
  return s;
}
