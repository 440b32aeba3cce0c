/* Functions of a model in its graph: adding and reading them. */
#include <string.h>

#include "base/abi.h"
#include "graph/copy.h"
#include "graph/graph.h"

static bool is_called(const tn_function *f, const char *domain, const char *name,
                      const char *overload) {
  return !strcmp(f->name, name) && !strcmp(f->domain, domain) && !strcmp(f->overload, overload);
}

tn_status tn_graph_add_function(tn_graph *g, const char *domain, const char *name,
                                const char *overload, tn_graph *body, const char *const *attr_names,
                                uint32_t n_attr_names, const tn_attr *const *defaults,
                                uint32_t n_defaults) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!g || !name || !body || body->parent != g || (n_attr_names && !attr_names) ||
      (n_defaults && !defaults))
    return tn_graph_refuse(g, TN_ERR_INVALID,
                           "add_function: no name, or a body that subgraph_new() of this graph "
                           "did not make");
  tn_arena *arena = &g->arena;
  for (int64_t k = 0; k < g->functions.n; k++)
    if (is_called(&g->functions.data[k], tn_plain_domain(domain), name, overload ? overload : ""))
      return tn_graph_refuse(g, TN_ERR_INVALID, "add_function: there is one of this name");
  tn_function f = {.domain = tn_arena_str(arena, tn_plain_domain(domain)),
                   .name = tn_arena_str(arena, name),
                   .overload = tn_arena_str(arena, overload),
                   .body = body,
                   .n_attr_names = n_attr_names,
                   .n_defaults = n_defaults};
  f.attr_names = tn_arena_alloc(arena, n_attr_names * sizeof *f.attr_names);
  f.defaults = tn_arena_alloc(arena, n_defaults * sizeof *f.defaults);
  if (!f.domain || !f.name || !f.overload || !f.attr_names || !f.defaults) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_attr_names; k++)
    if (!(f.attr_names[k] = tn_arena_str(arena, attr_names[k]))) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_defaults; k++)
    if (!defaults[k] || !defaults[k]->name) return TN_ERR_INVALID;
  for (uint32_t k = 0; k < n_defaults; k++)
    if (!(f.defaults[k] = tn_copy_attr(arena, defaults[k]))) return TN_ERR_MEMORY;
  body->is_function = true;
  return tn_vec_push(g->a, &g->functions, f);
}

tn_status tn_graph_function_at(const tn_graph *g, int32_t k, tn_function_info *out) {
  if (k < 0 || k >= g->functions.n) return TN_ERR_NOT_FOUND;
  const tn_function *f = &g->functions.data[k];
  tn_function_info info = {TN_HEAD(tn_function_info),
                           f->domain,
                           f->name,
                           f->overload,
                           f->body,
                           f->attr_names,
                           f->defaults,
                           f->n_attr_names,
                           f->n_defaults};
  return tn_struct_out(out, &info, sizeof info);
}
