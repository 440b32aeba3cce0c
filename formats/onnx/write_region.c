/* Nodes of the domain "tenon": what they do, in words that a viewer shows. */
#include "writer.h"

/* Reorder's target layout and Cast's target type are numbers of Tenon's own. */
bool onnx_put_tenon_attr(onnx_writer *w, const tn_attr *a) {
  if (a->kind != TN_ATTR_INT) return false;
  if (!strcmp(a->name, "layout"))
    onnx_put_str_attr(w, a->name, onnx_layout_text((tn_layout)a->i));
  else if (!strcmp(a->name, "to"))
    onnx_put_str_attr(w, a->name, tn_dtype((uint32_t)a->i)->name);
  else
    return false;
  return true;
}

static void add_list(tn_text *text, const char *name, const int64_t *list, int32_t n) {
  tn_text_add(text, " %s=[", name);
  for (int32_t k = 0; k < n; k++) tn_text_add(text, "%s%lld", k ? "," : "", (long long)list[k]);
  tn_text_add(text, "]");
}

/* "input=0 size=[2,3] src_offset=0 src_stride=[3,1] dst_offset=6 dst_stride=[3,1]", offsets and
 * strides in elements */
static void add_region(tn_text *text, const tn_region *r) {
  tn_text_add(text, "input=%d", (int)r->input);
  add_list(text, "size", r->size, r->rank);
  tn_text_add(text, " src_offset=%lld", (long long)r->src_offset);
  add_list(text, "src_stride", r->src_stride, r->rank);
  tn_text_add(text, " dst_offset=%lld", (long long)r->dst_offset);
  add_list(text, "dst_stride", r->dst_stride, r->rank);
}

void onnx_put_regions(onnx_writer *w, onnx_scope *s, int32_t node) {
  uint32_t n;
  const tn_region *const *regions = w->api->node_regions(s->g, node, &n);
  const int32_t fill = w->api->node_region_fill(s->g, node);
  tn_arena arena;
  tn_arena_init(&arena, &w->out.allocator);
  tn_str *strs = tn_arena_alloc(&arena, n * sizeof *strs);
  for (uint32_t k = 0; strs && k < n; k++) {
    tn_text text;
    tn_text_init(&text, &w->out.allocator);
    add_region(&text, regions[k]);
    strs[k] = (tn_str){tn_arena_str(&arena, tn_text_get(&text)), text.n};
    if (text.status || !strs[k].data) strs = NULL;
    tn_text_free(&text);
  }
  const tn_attr attr = {
      .head = TN_HEAD(tn_attr), .name = "regions", .kind = TN_ATTR_STRS, .strs = {strs, n}};
  const tn_attr fill_attr = {
      .head = TN_HEAD(tn_attr), .name = "fill", .kind = TN_ATTR_INT, .i = fill};
  if (strs)
    onnx_put_attr(w, 5, s, &attr, NULL);
  else
    (void)onnx_put_fail(&w->out, TN_ERR_MEMORY, "out of memory");
  if (fill >= 0) onnx_put_attr(w, 5, s, &fill_attr, NULL);
  tn_arena_clear(&arena);
}
