/* Deep copies into an arena; see copy.h. */
#include "graph/copy.h"

#include <string.h>

void tn_copy_head(void *to, const void *from, size_t size) {
  tn_head head;
  memcpy(&head, from, sizeof head);
  memset(to, 0, size);
  memcpy(to, from, head.size < size ? head.size : size);
  head.size = (uint32_t)size;
  memcpy(to, &head, sizeof head);
}

static tn_status copy_strs(tn_arena *arena, const tn_str *from, int64_t n, const tn_str **out) {
  tn_str *to = tn_arena_alloc(arena, (uint64_t)n * sizeof *to);
  if (!to) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++) {
    to[k] = (tn_str){tn_arena_strn(arena, from[k].data, from[k].size), from[k].size};
    if (!to[k].data) return TN_ERR_MEMORY;
  }
  *out = to;
  return TN_OK;
}

const tn_tensor *tn_copy_tensor(tn_arena *arena, const tn_tensor *from) {
  tn_tensor *t = tn_arena_alloc(arena, sizeof *t);
  if (!t) return NULL;
  tn_copy_head(t, from, sizeof *t);
  int64_t bytes = tn_storage_bytes(t);
  if (bytes < 0 || !from->data) {
    t->data = NULL;
    return t;
  }
  if (t->dtype == TN_STRING) {
    const tn_str *strs;
    if (copy_strs(arena, from->data, tn_storage_elements(t), &strs)) return NULL;
    union {
      const tn_str *in;
      void *out;
    } cast = {strs};
    t->data = cast.out;
    return t;
  }
  t->data = tn_arena_copy(arena, from->data, (uint64_t)bytes);
  return t->data ? t : NULL;
}

static tn_status copy_tensors(tn_arena *arena, tn_tensors *list) {
  const tn_tensor **to = tn_arena_alloc(arena, (uint64_t)list->size * sizeof *to);
  if (!to) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < list->size; k++)
    if (!(to[k] = tn_copy_tensor(arena, list->data[k]))) return TN_ERR_MEMORY;
  list->data = to;
  return TN_OK;
}

const tn_attr *tn_copy_attr(tn_arena *arena, const tn_attr *from) {
  tn_attr *a = tn_arena_alloc(arena, sizeof *a);
  if (!a) return NULL;
  tn_copy_head(a, from, sizeof *a);
  a->name = tn_arena_str(arena, from->name);
  a->s.data = tn_arena_strn(arena, a->s.data ? a->s.data : "", a->s.size);
  a->ints.data = tn_arena_copy(arena, a->ints.data, (uint64_t)a->ints.size * sizeof(int64_t));
  a->floats.data = tn_arena_copy(arena, a->floats.data, (uint64_t)a->floats.size * sizeof(double));
  if (a->n_graphs) a->graphs = tn_arena_copy(arena, a->graphs, a->n_graphs * sizeof *a->graphs);
  if (!a->name || !a->s.data || !a->ints.data || !a->floats.data || (a->n_graphs && !a->graphs))
    return NULL;
  if (a->strs.size && copy_strs(arena, a->strs.data, a->strs.size, &a->strs.data)) return NULL;
  if (a->tensors.size && copy_tensors(arena, &a->tensors)) return NULL;
  return a;
}

/* Many nodes have the same. */
static const char *copy_common(tn_graph *g, const char *text) {
  if (!text || !*text) return "";
  const char **kept = &g->texts[tn_hash_bytes(text, strlen(text), 0) % TN_GRAPH_KEPT];
  if (!*kept || strcmp(*kept, text)) *kept = tn_arena_str(&g->arena, text);
  return *kept;
}

tn_status tn_copy_node(tn_graph *g, const tn_node *from, tn_node *to) {
  tn_arena *arena = &g->arena;
  tn_copy_head(to, from, sizeof *to);
  const bool is_onnx = !to->domain || !strcmp(to->domain, "ai.onnx");
  to->domain = is_onnx ? "" : copy_common(g, to->domain);
  to->op = copy_common(g, to->op);
  to->name = to->name && *to->name ? tn_arena_str(arena, to->name) : "";
  to->overload = copy_common(g, to->overload);
  to->inputs = tn_arena_copy(arena, to->inputs, to->n_inputs * sizeof *to->inputs);
  to->outputs = tn_arena_copy(arena, to->outputs, to->n_outputs * sizeof *to->outputs);
  const tn_attr **attrs = tn_arena_alloc(arena, to->n_attrs * sizeof *attrs);
  if (!to->domain || !to->op || !to->name || !to->overload || !to->inputs || !to->outputs || !attrs)
    return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < to->n_attrs; k++)
    if (!(attrs[k] = tn_copy_attr(arena, from->attrs[k]))) return TN_ERR_MEMORY;
  to->attrs = attrs;
  return TN_OK;
}
