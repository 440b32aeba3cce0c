/* Claims of a compiler that is asked in a process of its own: the nodes go there as a part, what it
 * says of them comes back as a container whose module is a list of claims, and is kept in the cache
 * as modules are. */
#include <string.h>

#include "accelerator/bytes.h"
#include "accelerator/child.h"
#include "base/abi.h"

static const char format[] = "claims";

/* ---- there ---- */

static void put_claim(tn_text *to, const tn_claim *c) {
  uint64_t cost;
  memcpy(&cost, &c->cost_native_ns, sizeof cost);
  tn_put_u32(to, (uint32_t)c->group);
  tn_put_u32(to, c->mode);
  tn_put_u64(to, cost, 8);
  tn_put_text(to, c->group < 0 ? c->reason : NULL);
}

static tn_status write_claims(const tn_accelerator *x, const tn_compile_request *r,
                              const tn_claim *claims, tn_write_fn write, void *ctx) {
  tn_text text;
  tn_text_init(&text, x->a);
  for (uint32_t k = 0; k < r->n_costs; k++) put_claim(&text, &claims[k]);
  const tn_module_file file = {.key = r->key,
                               .compiler = x->compiler->compiler.name,
                               .plugin = x->compiler->owner->name,
                               .plugin_version = "",
                               .plugin_sha256 = tn_part_build(x->compiler->owner),
                               .format = format,
                               .target = x->name,
                               .data = text.data,
                               .size = (uint64_t)text.n,
                               .alignment = 1};
  const tn_module_file *all = &file;
  const tn_status status =
      text.status ? text.status : tn_container_write(x->a, &all, 1, write, ctx);
  tn_text_free(&text);
  return status;
}

static tn_status ask(const tn_accelerator *x, const tn_compile_request *r, const tn_graph *g,
                     tn_claim *claims, tn_claim **list, tn_diag *diag) {
  tn_accelerator_talk t;
  if (g->nodes.n < r->n_costs)
    return tn_fail(diag, TN_ERR_INTERNAL, "of %u nodes %lld have come", r->n_costs,
                   (long long)g->nodes.n);
  for (uint32_t k = 0; k < r->n_costs; k++) {
    claims[k] = (tn_claim){.head = TN_HEAD(tn_claim), .group = -1, .cost_host_ns = r->costs[k]};
    if (tn_graph_node(g, (int32_t)k)->alive) list[k] = &claims[k];
  }
  tn_accelerator_talk_open(&t, x, x->compiler->owner, diag);
  const tn_status status =
      tn_accelerator_partition(&t, x, g, (tn_claim *const *)list, (int32_t)r->n_costs);
  return status ? tn_fail(diag, status, "%s", t.text) : TN_OK;
}

tn_status tn_claim_here(const tn_accelerator *x, const tn_compile_request *r, const tn_graph *g,
                        void (*stage)(void *ctx, const char *), tn_write_fn write, void *ctx,
                        tn_diag *diag) {
  tn_arena arena;
  tn_arena_init(&arena, x->a);
  tn_claim *claims = tn_arena_alloc(&arena, ((uint64_t)r->n_costs + 1) * sizeof *claims);
  tn_claim **list = tn_arena_alloc(&arena, ((uint64_t)g->nodes.n + 1) * sizeof *list);
  tn_status status = claims && list ? TN_OK : TN_ERR_MEMORY;
  stage(ctx, "partition()");
  if (!status) status = ask(x, r, g, claims, list, diag);
  if (!status) status = write_claims(x, r, claims, write, ctx);
  tn_arena_clear(&arena);
  return status;
}

/* ---- here ---- */

/* The nodes that it is asked about, in order, as one part. */
static tn_status outline(tn_graph *g, tn_claim *const *claims, tn_arena *arena, tn_diag *diag,
                         tn_part *out) {
  int32_t n = 0, *nodes = tn_arena_alloc(arena, ((uint64_t)g->order.n + 1) * sizeof *nodes);
  if (!nodes) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < g->order.n; k++)
    if (claims[g->order.data[k]]) nodes[n++] = g->order.data[k];
  return tn_part_outline(g, nodes, n, arena, diag, out);
}

/* Of node k of the part, as it stands in its bytes. */
static tn_claim *claim_of(const tn_part *part, tn_claim *const *claims, uint32_t k) {
  return claims[part->nodes[part->body->order.data[k]]];
}

static tn_status ask_costs(const tn_part *part, tn_claim *const *claims, tn_arena *arena,
                           tn_compile_request *r) {
  double *costs = tn_arena_alloc(arena, ((uint64_t)part->n_nodes + 1) * sizeof *costs);
  if (!costs) return TN_ERR_MEMORY;
  r->n_costs = (uint32_t)part->n_nodes;
  for (uint32_t k = 0; k < r->n_costs; k++) costs[k] = claim_of(part, claims, k)->cost_host_ns;
  r->costs = costs;
  return TN_OK;
}

static const char *take(const tn_container *c, const tn_part *part, tn_claim *const *claims,
                        const char *key, tn_arena *arena) {
  if (c->n_modules != 1 || strcmp(c->modules[0].format, format) || strcmp(c->modules[0].key, key))
    return "they are no claims on these nodes";
  const uint8_t *data = c->modules[0].data;
  tn_cursor b = {data, data + c->modules[0].size, false};
  for (uint32_t k = 0; k < (uint32_t)part->n_nodes; k++) {
    tn_claim *claim = claim_of(part, claims, k);
    claim->group = (int32_t)tn_get_u32(&b);
    claim->mode = tn_get_u32(&b);
    const uint64_t cost = tn_get_u64(&b, 8);
    memcpy(&claim->cost_native_ns, &cost, sizeof cost);
    const char *reason = tn_arena_str(arena, tn_get_text(&b));
    claim->reason = reason && *reason ? reason : NULL;
  }
  return b.is_short || b.at != b.end ? "they are cut off" : NULL;
}

/* made: is taken over. */
static tn_status read_answer(const tn_accelerator *x, tn_mapping *made, const tn_part *part,
                             tn_claim *const *claims, const char *key, tn_arena *arena,
                             tn_diag *diag) {
  tn_container c;
  const char *wrong = tn_container_read(x->a, made->data, made->size, &c);
  if (!wrong) wrong = take(&c, part, claims, key, arena);
  const tn_status status =
      wrong ? tn_fail(diag, TN_ERR_INVALID, "accelerator '%s': claims: %s", x->name, wrong) : TN_OK;
  tn_container_close(&c);
  tn_file_unmap(made);
  return status;
}

tn_status tn_claim_apart(tn_accelerator *x, tn_graph *g, tn_claim *const *claims, tn_arena *arena,
                         tn_diag *diag) {
  tn_compile_rules rules;
  tn_mapping made = {.size = 0};
  tn_part part;
  tn_compile_request r = {.compiler = x->compiler->compiler.name,
                          .target = x->name,
                          .parts = &part,
                          .n_parts = 1,
                          .asks = true};
  tn_status status = tn_compile_rules_read(arena, &rules);
  if (!status) status = outline(g, claims, arena, diag, &part);
  if (status || !part.n_nodes) return status;
  r.memory_bytes = rules.memory_bytes;
  status = tn_part_to_bytes(x->a, x->registry, &part, diag);
  if (!status) status = ask_costs(&part, claims, arena, &r);
  if (!status) status = tn_compile_make(x, &rules, &r, arena, diag, &made);
  if (!status) status = read_answer(x, &made, &part, claims, r.key, arena, diag);
  tn_part_close(x->a, &part);
  return status;
}
