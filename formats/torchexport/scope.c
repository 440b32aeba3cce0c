/* Variables of a scope; see reader.h. */
#include <string.h>

#include "reader.h"

/* Every "name" and "as_name" below: what somebody reads. */
static tn_status note_names(pt2_scope *s, const json_value *v) {
  tn_status status = TN_OK;
  for (; v && !status; v = v->next) {
    const bool names = json_is(v, "name") || json_is(v, "as_name");
    if (names && v->kind == JSON_STRING) status = tn_map_set(&s->used, v->s.data, 1);
    if (v->first && !status) status = note_names(s, v->first);
  }
  return status;
}

static tn_status note_reads(pt2_scope *s, const json_value *graph) {
  const json_value *nodes = json_list(graph, "nodes"), *outputs = json_list(graph, "outputs");
  tn_status status = outputs ? note_names(s, outputs->first) : TN_OK;
  for (const json_value *n = nodes ? nodes->first : NULL; n && !status; n = n->next) {
    const json_value *inputs = json_list(n, "inputs");
    for (const json_value *in = inputs ? inputs->first : NULL; in && !status; in = in->next)
      status = note_names(s, json_get(in, "arg") ? json_get(in, "arg")->first : NULL);
  }
  return status ? pt2_no_memory(s->r) : TN_OK;
}

tn_status pt2_scope_open(pt2_scope *s, pt2_reader *r, tn_graph *g, pt2_scope *outer,
                         const char *prefix, const json_value *graph) {
  *s = (pt2_scope){.r = r, .g = g, .outer = outer, .graph = graph, .prefix = prefix};
  tn_map_init(&s->names, &r->allocator);
  tn_map_init(&s->used, &r->allocator);
  return note_reads(s, graph);
}

void pt2_scope_close(pt2_scope *s) {
  tn_map_free(&s->names);
  tn_map_free(&s->used);
  tn_vec_free(&s->r->allocator, &s->vars);
}

const char *pt2_fresh(pt2_scope *s, const char *name) {
  pt2_reader *r = s->r;
  if (!s->outer && r->checked && !strcmp(name, r->checked))
    name = tn_arena_format(&r->arena, "%s#unchecked", name);
  if (!name) return NULL;
  const bool is_taken = s->outer || tn_map_get(&r->taken, name, 0);
  if (is_taken) name = tn_arena_format(&r->arena, "%s%s~%d", s->prefix, name, r->n_names++);
  return name && !tn_map_set(&r->taken, name, 1) ? name : NULL;
}

static tn_status push(pt2_scope *s, pt2_var var, int32_t *out_var) {
  const int64_t k = s->vars.n;
  if (tn_vec_push(&s->r->allocator, &s->vars, var) || tn_map_set(&s->names, var.name, k))
    return pt2_no_memory(s->r);
  if (out_var) *out_var = (int32_t)k;
  return TN_OK;
}

tn_status pt2_define(pt2_scope *s, const char *name, int32_t id, int32_t *out_var) {
  return push(s, (pt2_var){.name = name, .id = id, .base = -1}, out_var);
}

tn_status pt2_literal(pt2_scope *s, const char *name, aten_arg literal) {
  return push(s, (pt2_var){.name = name, .id = TN_NO_ID, .base = -1, .literal = literal}, NULL);
}

int32_t pt2_find(pt2_scope *s, const char *name) {
  const int64_t k = tn_map_get(&s->names, name, -1);
  if (k >= 0) return (int32_t)k;
  return pt2_fail(s->r, TN_ERR_INVALID, "'%.80s' is read, and nothing has made it", name);
}

tn_status pt2_is_view(pt2_scope *s, int32_t var, int32_t base, const json_value *node,
                      uint32_t output) {
  enum { MOST_DEPTH = 64 };
  pt2_var *v = &s->vars.data[var];
  v->depth = s->vars.data[base].depth + 1;
  if (v->depth > MOST_DEPTH)
    return pt2_fail(s->r, TN_ERR_OVERFLOW, "more than 64 views are on top of each other");
  v->base = base;
  v->seen = s->vars.data[base].version;
  v->view = node;
  v->output = output;
  return TN_OK;
}

static tn_status check_sure(pt2_scope *s, const pt2_var *v) {
  if (!v->is_unsure) return TN_OK;
  return pt2_fail(s->r, TN_ERR_UNSUPPORTED,
                  "not supported: '%.80s' may be a view or a copy of what is written", v->name);
}

tn_status pt2_get_id(pt2_scope *s, int32_t var, int32_t *out) {
  int32_t base;
  if (s->vars.data[var].base >= 0) {
    const tn_status status = pt2_get_id(s, s->vars.data[var].base, &base);
    if (status) return status;
    pt2_var *v = &s->vars.data[var];
    const uint32_t version = s->vars.data[v->base].version;
    if (v->seen != version) {
      int32_t id = TN_NO_ID;
      const tn_status sure = check_sure(s, v);
      if (sure) return sure;
      const tn_status made = pt2_view_again(s, v->view, v->output, base, &id);
      if (made) return made;
      v = &s->vars.data[var];
      v->id = id;
      v->seen = version;
      v->version++;
    }
  }
  *out = s->vars.data[var].id;
  if (*out != TN_NO_ID) return TN_OK;
  return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: '%.80s' is no tensor",
                  s->vars.data[var].name);
}

tn_status pt2_get(pt2_scope *s, int32_t var, aten_arg *out) {
  if (s->vars.data[var].id == TN_NO_ID && s->vars.data[var].base < 0) {
    *out = s->vars.data[var].literal;
    return TN_OK;
  }
  *out = aten_value(NULL, TN_NO_ID);
  return pt2_get_id(s, var, &out->value);
}

tn_status pt2_write(pt2_scope *s, int32_t var, int32_t id) {
  if (s->vars.data[var].is_given && s->outer)
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED,
                    "not supported: '%.80s' of the graph around is written here",
                    s->vars.data[var].name);
  const tn_status sure = check_sure(s, &s->vars.data[var]);
  if (sure) return sure;
  s->vars.data[var].id = id;
  s->vars.data[var].version++;
  const int32_t base = s->vars.data[var].base;
  if (base < 0) return TN_OK;
  int32_t old, whole = TN_NO_ID;
  tn_status status = pt2_get_id(s, base, &old);
  if (!status)
    status = pt2_view_back(s, s->vars.data[var].view, s->vars.data[var].output, old, id, &whole);
  if (!status) status = pt2_write(s, base, whole);
  s->vars.data[var].seen = s->vars.data[base].version;
  return status;
}

tn_status pt2_number(pt2_scope *s, tn_graph *g, const char *name, const aten_arg *a, int32_t *out) {
  const tn_graph_api *api = s->r->api;
  int64_t i = a->i;
  double f = a->f;
  uint8_t b = a->i != 0;
  if (a->kind != ATEN_INT && a->kind != ATEN_FLOAT && a->kind != ATEN_BOOL)
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED,
                    "not supported: a value that is neither a tensor nor a number");
  const tn_tensor t = a->kind == ATEN_INT     ? tn_tensor_make(TN_I64, 0, NULL, &i)
                      : a->kind == ATEN_FLOAT ? tn_tensor_make(TN_F64, 0, NULL, &f)
                                              : tn_tensor_make(TN_BOOL, 0, NULL, &b);
  *out = api->value(g, name);
  const tn_status status = *out < 0 ? *out : api->value_set_const(g, *out, &t, 1);
  return status ? pt2_graph_fail(s->r, status, "a number cannot be a constant") : TN_OK;
}

tn_status pt2_capture(pt2_scope *s, tn_graph *inside, int32_t id, int32_t *out) {
  const tn_graph_api *api = s->r->api;
  const char *name = api->value_name(s->g, id);
  *out = id;
  if (inside == s->g) return TN_OK;
  *out = name && *name ? api->value(inside, name) : TN_ERR_INTERNAL;
  return *out < 0 ? pt2_graph_fail(s->r, *out, "a value cannot be read in a branch or loop")
                  : TN_OK;
}
