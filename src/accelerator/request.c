/* What a worker is asked to compile, as bytes in a file without a name: the names of the compiler
 * and its target, the plug-ins to load, and the parts as ONNX. */
#include "accelerator/accelerator.h"
#include "accelerator/bytes.h"

static const char magic[] = "TENONREQ2";

tn_status tn_request_write(const tn_allocator *a, const tn_compile_request *r, tn_write_fn write,
                           void *ctx) {
  tn_text head;
  tn_text_init(&head, a);
  tn_put_text(&head, magic);
  tn_put_text(&head, r->compiler);
  tn_put_text(&head, r->target);
  tn_put_text(&head, r->key);
  tn_put_u64(&head, r->memory_bytes, 8);
  tn_put_u32(&head, r->n_plugins);
  for (uint32_t k = 0; k < r->n_plugins; k++) tn_put_text(&head, r->plugins[k]);
  tn_put_u32(&head, r->asks);
  tn_put_u32(&head, r->n_costs);
  for (uint32_t k = 0; k < r->n_costs; k++) {
    uint64_t cost;
    memcpy(&cost, &r->costs[k], sizeof cost);
    tn_put_u64(&head, cost, 8);
  }
  tn_put_u32(&head, r->n_parts);
  for (uint32_t k = 0; k < r->n_parts; k++) tn_put_u64(&head, r->parts[k].size, 8);
  tn_status status = head.status ? head.status : write(ctx, head.data, (uint64_t)head.n);
  for (uint32_t k = 0; k < r->n_parts && !status; k++)
    status = write(ctx, r->parts[k].bytes, r->parts[k].size);
  tn_text_free(&head);
  return status;
}

static bool read_parts(tn_arena *arena, tn_cursor *b, tn_compile_request *out) {
  out->n_parts = tn_get_count(b, 8);
  out->parts = tn_arena_alloc(arena, ((uint64_t)out->n_parts + 1) * sizeof *out->parts);
  if (!out->parts) return false;
  for (uint32_t k = 0; k < out->n_parts; k++) out->parts[k].size = tn_get_u64(b, 8);
  for (uint32_t k = 0; k < out->n_parts; k++) {
    tn_part *part = &out->parts[k];
    if (!tn_cursor_has(b, part->size)) return false;
    part->bytes = (void *)(uintptr_t)b->at;
    b->at += part->size;
    tn_sha256_text(part->bytes, part->size, part->sha256);
  }
  return !b->is_short;
}

static bool read_costs(tn_arena *arena, tn_cursor *b, tn_compile_request *out) {
  out->asks = tn_get_u32(b) != 0;
  out->n_costs = tn_get_count(b, 8);
  double *costs = tn_arena_alloc(arena, ((uint64_t)out->n_costs + 1) * sizeof *costs);
  for (uint32_t k = 0; costs && k < out->n_costs; k++) {
    const uint64_t cost = tn_get_u64(b, 8);
    memcpy(&costs[k], &cost, sizeof cost);
  }
  out->costs = costs;
  return costs != NULL;
}

const char *tn_request_read(tn_arena *arena, const uint8_t *data, uint64_t size,
                            tn_compile_request *out) {
  tn_cursor b = {data, data + size, false};
  *out = (tn_compile_request){.n_parts = 0};
  if (strcmp(tn_get_text(&b), magic)) return "it is no request";
  out->compiler = tn_get_text(&b);
  out->target = tn_get_text(&b);
  out->key = tn_get_text(&b);
  out->memory_bytes = tn_get_u64(&b, 8);
  out->n_plugins = tn_get_count(&b, 5);
  const char **plugins = tn_arena_alloc(arena, ((uint64_t)out->n_plugins + 1) * sizeof *plugins);
  if (!plugins) return "there is no memory to read it";
  for (uint32_t k = 0; k < out->n_plugins; k++) plugins[k] = tn_get_text(&b);
  out->plugins = plugins;
  if (!read_costs(arena, &b, out)) return "there is no memory to read it";
  if (!read_parts(arena, &b, out) || (out->asks && out->n_parts != 1)) return "it is cut off";
  return b.at == b.end ? NULL : "something follows it";
}
