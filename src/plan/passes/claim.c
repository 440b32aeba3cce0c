/* Islands for accelerators. Compilers see the graph as it was read, with types and constants known,
 * and claim nodes; convex islands are cut out of the claims, outlined, and compiled; only when a
 * module is loaded and fits does the graph change: an island becomes a node tenon::Island, whose
 * body are the nodes that it was. What cannot be had stays as it is, or is an error, by the user's
 * policy. */
#include <stdio.h>

#include "accelerator/accelerator.h"
#include "plan/passes/islands.h"
#include "plan/passes/passes.h"

typedef struct claimer {
  const tn_planner *p;
  tn_graph *g;
  tn_accelerator *x;
  uint32_t index;            /* of x */
  tn_claim **claims;         /* per node; NULL: the host keeps it */
  const char **reasons;      /* per node and accelerator */
  uint8_t *is_taken;         /* per node */
  int32_t n_nodes, n_before; /* of the graph now; when the pass began */
  tn_arena arena;
  tn_diag *diag;
  tn_diag *said;  /* why islands were not had */
  int32_t n_made; /* islands, for their names */
} claimer;

static bool forbids(const claimer *c) { return c->p->fallback == TN_FALLBACK_FORBID; }

/* ---- who may be claimed ---- */

static bool is_plain(const tn_graph *g, int32_t value) {
  if (value < 0) return true;
  const tn_value *v = tn_graph_val(g, value);
  return v->known && v->type->kind == TN_KIND_TENSOR && v->type->dtype != TN_STRING &&
         v->type->dtype != TN_NONE && v->type->layout == TN_PLAIN && tn_storage_bytes(v->type) >= 0;
}

/* What lives on the host by nature. */
static bool is_host_bound(const tn_graph *g, const tn_gnode *n) {
  bool plain = !n->n_subgraphs && !n->n_epilogue && !n->n_regions;
  for (uint32_t k = 0; k < n->node.n_inputs && plain; k++) plain = is_plain(g, n->node.inputs[k]);
  for (uint32_t k = 0; k < n->node.n_outputs && plain; k++) plain = is_plain(g, n->node.outputs[k]);
  return !plain;
}

/* What it costs at home, roughly: a core's arithmetic and memory, and the call. */
static double home_cost_ns(const claimer *c, const tn_gnode *n, int32_t id) {
  static const double flops_per_ns = 10, bytes_per_ns = 10, call_ns = 500;
  double bytes = 0;
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0)
      bytes += (double)tn_storage_bytes(tn_graph_val(c->g, n->node.inputs[k])->type);
  for (uint32_t k = 0; k < n->node.n_outputs; k++)
    if (n->node.outputs[k] >= 0)
      bytes += (double)tn_storage_bytes(tn_graph_val(c->g, n->node.outputs[k])->type);
  return call_ns + tn_node_flops(c->p, c->g, id) / flops_per_ns + bytes / bytes_per_ns;
}

/* Claims are asked for nodes that are still free. */
static tn_status make_claims(claimer *c) {
  const uint64_t n = (uint64_t)c->n_nodes + 1;
  c->claims = tn_arena_alloc(&c->arena, n * sizeof *c->claims);
  tn_claim *all = tn_arena_alloc(&c->arena, n * sizeof *all);
  if (!c->claims || !all) return TN_ERR_MEMORY;
  for (int32_t id = 0; id < c->n_before; id++) {
    const tn_gnode *node = tn_graph_node(c->g, id);
    if (!node->alive || c->is_taken[id] || is_host_bound(c->g, node)) continue;
    all[id] = (tn_claim){
        .head = TN_HEAD(tn_claim), .group = -1, .cost_host_ns = home_cost_ns(c, node, id)};
    c->claims[id] = &all[id];
  }
  return TN_OK;
}

static const char **reason_of(const claimer *c, int32_t node) {
  return &c->reasons[(uint64_t)node * c->p->n_accelerators + c->index];
}

/* What the compiler has said, as something that may be used. */
static tn_status take_claims(claimer *c) {
  char name[TN_NODE_TEXT];
  for (int32_t id = 0; id < c->n_before; id++) {
    tn_claim *claim = c->claims[id];
    if (!claim) continue;
    if (!tn_claim_is_sound(claim))
      return tn_fail(
          c->said, TN_ERR_INVALID,
          "accelerator '%s': compiler '%s': its claim of %s has group %d and costs %g ns",
          c->x->name, c->x->compiler->compiler.name,
          tn_node_text(c->g, tn_graph_node(c->g, id), name, sizeof name), (int)claim->group,
          claim->cost_native_ns);
    if (claim->group >= 0) continue;
    const char *why = claim->reason ? claim->reason : "it gives no reason";
    *reason_of(c, id) = tn_arena_format(&c->g->arena, "declined: %.200s", why);
    if (!*reason_of(c, id)) return TN_ERR_MEMORY;
  }
  return TN_OK;
}

static tn_status ask(claimer *c) {
  tn_accelerator_talk t;
  tn_status status = make_claims(c);
  if (status) return status;
  if (c->x->compiler->compiler.flags & TN_COMPILER_APART) {
    status = tn_claim_apart(c->x, c->g, (tn_claim *const *)c->claims, &c->arena, c->said);
    return status ? status : take_claims(c);
  }
  tn_accelerator_talk_open(&t, c->x, c->x->compiler->owner, c->diag);
  const tn_compiler *compiler = &c->x->compiler->compiler;
  status = tn_accelerator_partition(&t, c->x, c->g, (tn_claim *const *)c->claims, c->n_before);
  if (status)
    return tn_fail(c->said, status, "accelerator '%s': compiler '%s' does not partition: %s",
                   c->x->name, compiler->name, t.text);
  return take_claims(c);
}

/* ---- islands become nodes ---- */

static void let_go(void *object) { tn_loaded_destroy(object); }

static tn_status keep_module(claimer *c, tn_loaded *loaded) {
  const tn_attachment kept = {loaded, let_go};
  const tn_status status = tn_vec_push(c->g->a, &c->g->attachments, kept);
  if (status) tn_loaded_destroy(loaded);
  return status;
}

/* Its body goes on as the fallback. */
static tn_status add_island(claimer *c, const tn_part *part) {
  tn_graph *body = part->body;
  tn_graph *const graphs[] = {body};
  const tn_attr attr = {.head = TN_HEAD(tn_attr),
                        .name = "body",
                        .kind = TN_ATTR_GRAPH,
                        .n_graphs = 1,
                        .graphs = graphs};
  const tn_attr *const attrs[] = {&attr};
  char name[160];
  snprintf(name, sizeof name, "island %d of %.100s, %d nodes", c->n_made++, c->x->name,
           part->n_nodes);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = TN_CORE_DOMAIN,
                        .op = TN_CORE_ISLAND,
                        .name = name,
                        .version = 1,
                        .n_inputs = (uint32_t)part->n_inputs,
                        .n_outputs = (uint32_t)part->n_outputs,
                        .n_attrs = 1,
                        .inputs = part->inputs,
                        .outputs = part->outputs,
                        .attrs = attrs,
                        .offset = -1};
  const int32_t id = tn_graph_add_node(c->g, &node);
  return id < 0 ? id : tn_check_from(c->p, c->g, id, c->diag);
}

static tn_status commit(claimer *c, const tn_part *part, tn_loaded *loaded, uint32_t entry) {
  tn_island_step *island = tn_arena_alloc(&c->g->arena, sizeof *island);
  tn_status status = island ? TN_OK : TN_ERR_MEMORY;
  if (island) *island = (tn_island_step){loaded, entry, part->n_nodes, 0};
  for (int32_t k = 0; k < part->n_nodes && !status; k++) {
    c->is_taken[part->nodes[k]] = 1;
    island->flops += tn_node_flops(c->p, c->g, part->nodes[k]);
  }
  for (int32_t k = 0; k < part->n_nodes && !status; k++)
    tn_graph_detach_outputs(c->g, part->nodes[k]);
  for (int32_t k = part->n_nodes; k-- > 0 && !status;)
    status = tn_graph_remove_node(c->g, part->nodes[k]);
  if (!status) status = add_island(c, part);
  if (status) return status;
  tn_graph_node(c->g, (int32_t)c->g->nodes.n - 1)->island = island;
  return TN_OK;
}

static tn_status commit_all(claimer *c, const tn_part *parts, uint32_t n, tn_loaded *loaded) {
  tn_status status = keep_module(c, loaded);
  for (uint32_t k = 0; k < n && !status; k++) status = commit(c, &parts[k], loaded, k);
  return status ? status : tn_graph_sort(c->g, c->diag);
}

/* ---- from the file beside the model ---- */

/* Its nodes are there, each once, and in order. */
static bool names_nodes(const claimer *c, const tn_module_entry *e, uint8_t *seen) {
  for (int32_t k = 0; k < e->n_nodes; k++) {
    const int32_t id = e->nodes[k];
    if (id >= c->n_before || seen[id]++ || !tn_graph_node(c->g, id)->alive || c->is_taken[id] ||
        is_host_bound(c->g, tn_graph_node(c->g, id)))
      return false;
  }
  return e->n_nodes > 0;
}

/* Memory of our own, and not that of a device, of which something was said. */
static bool is_ours(const claimer *c, tn_status status, int64_t n_said) {
  return status == TN_ERR_MEMORY && tn_diag_count(c->said) == n_said;
}

/* Outlines the parts that a module was made of; false: they are not those of this graph. */
static tn_status match(claimer *c, const tn_module_file *m, tn_part *parts, bool *out_fits) {
  uint8_t *seen = tn_arena_alloc(&c->arena, (uint64_t)c->n_nodes + 1);
  tn_status status = seen ? TN_OK : TN_ERR_MEMORY;
  *out_fits = !status;
  for (uint32_t k = 0; k < m->n_entries && *out_fits && !status; k++) {
    const tn_module_entry *e = &m->entries[k];
    if (!(*out_fits = names_nodes(c, e, seen))) break;
    status = tn_part_outline(c->g, e->nodes, e->n_nodes, &c->arena, c->said, &parts[k]);
    if (!status) status = tn_part_to_bytes(c->p->a, c->p->registry, &parts[k], c->said);
    *out_fits = !status && !strcmp(parts[k].sha256, e->part);
  }
  return status;
}

static void close_parts(claimer *c, tn_part *parts, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) tn_part_close(c->p->a, &parts[k]);
}

static tn_status try_module(claimer *c, const tn_module_file *m, bool *out_done) {
  tn_part *parts = tn_arena_alloc(&c->arena, ((uint64_t)m->n_entries + 1) * sizeof *parts);
  tn_loaded *loaded = NULL;
  bool fits = false;
  if (!parts) return TN_ERR_MEMORY;
  tn_status status = match(c, m, parts, &fits);
  if (!status && fits) {
    const int64_t n_said = tn_diag_count(c->said);
    status = tn_loaded_borrow(c->x, m, parts, m->n_entries, c->said, &loaded);
    if (!status) {
      *out_done = true;
      status = commit_all(c, parts, m->n_entries, loaded);
    } else if (!is_ours(c, status, n_said)) {
      status = TN_OK; /* c->said knows why; it may be compiled again */
    }
  }
  close_parts(c, parts, m->n_entries);
  return status;
}

/* Modules that were made before. *out_done: islands stand. */
static tn_status take_made(claimer *c, bool *out_done) {
  const tn_container *file = c->p->modules;
  tn_status status = TN_OK;
  uint32_t n_for_it = 0;
  const int64_t n_said = tn_diag_count(c->said);
  for (uint32_t k = 0; file && k < file->n_modules && !*out_done && !status; k++) {
    if (strcmp(file->modules[k].target, c->x->name)) continue;
    n_for_it++;
    status = try_module(c, &file->modules[k], out_done);
  }
  if (status || *out_done || !n_for_it || tn_diag_count(c->said) > n_said) return status;
  tn_diag_add(c->said, TN_DIAG_NOTE,
              "accelerator '%s': the modules beside the model were made of other nodes or shapes",
              c->x->name);
  return TN_OK;
}

/* ---- compiling ---- */

/* Where all that can go there shall go there, claims count and costs do not. */
static tn_status cut(claimer *c, tn_island **out_islands, int32_t *out_n) {
  tn_partition_options options = {.transfer_fixed_ns = 1000, .transfer_ns_per_byte = 0.1};
  if (c->p->fallback != TN_FALLBACK_ALLOW) {
    options = (tn_partition_options){.transfer_fixed_ns = 0};
    for (int32_t id = 0; id < c->n_before; id++) {
      if (!c->claims[id] || c->claims[id]->group < 0) continue;
      c->claims[id]->cost_host_ns = 1;
      c->claims[id]->cost_native_ns = 0;
    }
  }
  return tn_partition_cut(c->g, (const tn_claim *const *)c->claims, &options, &c->arena,
                          out_islands, out_n);
}

static tn_status say_not_worth(claimer *c) {
  for (int32_t id = 0; id < c->n_before; id++) {
    const tn_claim *claim = c->claims[id];
    if (!claim || claim->group < 0 || c->is_taken[id] || *reason_of(c, id)) continue;
    *reason_of(c, id) =
        tn_arena_format(&c->g->arena, "would cost %.2f us and transfers, here it costs %.2f us",
                        claim->cost_native_ns / 1e3, claim->cost_host_ns / 1e3);
    if (!*reason_of(c, id)) return TN_ERR_MEMORY;
  }
  return TN_OK;
}

/* The nodes of a part stay at home for the last reason that was told. */
static tn_status send_home(claimer *c, const tn_part *part) {
  const int64_t n = tn_diag_count(c->said);
  const char *why = n ? tn_diag_message(c->said, n - 1, NULL) : "its module cannot be had";
  const char *copy = tn_arena_str(&c->g->arena, why);
  for (int32_t k = 0; k < part->n_nodes && copy; k++) *reason_of(c, part->nodes[k]) = copy;
  return copy ? TN_OK : TN_ERR_MEMORY;
}

/* All parts in one module; if that fails, each by itself. */
static tn_status compile_parts(claimer *c, tn_part *parts, uint32_t n) {
  tn_loaded *loaded = NULL;
  const int64_t n_said = tn_diag_count(c->said);
  tn_status status = tn_compile(c->x, parts, n, c->said, &loaded);
  if (!status) return commit_all(c, parts, n, loaded);
  if (is_ours(c, status, n_said)) return status;
  if (n == 1) return send_home(c, parts);
  for (uint32_t k = 0; k < n; k++) {
    status = compile_parts(c, &parts[k], 1);
    if (status) return status;
  }
  return TN_OK;
}

static tn_status compile(claimer *c) {
  tn_island *islands = NULL;
  int32_t n = 0;
  tn_status status = cut(c, &islands, &n);
  tn_part *parts = tn_arena_alloc(&c->arena, ((uint64_t)n + 1) * sizeof *parts);
  if (!status && !parts) status = TN_ERR_MEMORY;
  for (int32_t k = 0; k < n && !status; k++)
    status =
        tn_part_outline(c->g, islands[k].nodes, islands[k].n_nodes, &c->arena, c->diag, &parts[k]);
  if (!status && n) status = compile_parts(c, parts, (uint32_t)n);
  if (parts) close_parts(c, parts, (uint32_t)n);
  return status ? status : say_not_worth(c);
}

static tn_status claim_for(claimer *c) {
  bool done = false;
  c->n_nodes = (int32_t)c->g->nodes.n;
  tn_status status = take_made(c, &done);
  if (status || done || !c->x->compiler) return status;
  status = ask(c);
  if (!status) return compile(c);
  if (status == TN_ERR_MEMORY) return status;
  for (int32_t id = 0; id < c->n_before; id++) { /* nobody claims anything */
    const int64_t n = tn_diag_count(c->said);
    if (c->claims && c->claims[id] && !*reason_of(c, id))
      *reason_of(c, id) = tn_arena_str(&c->g->arena, tn_diag_message(c->said, n - 1, NULL));
  }
  return TN_OK;
}

/* ---- the policy ---- */

static void add_reasons(const claimer *c, int32_t node, tn_text *text) {
  for (uint32_t k = 0; k < c->p->n_accelerators; k++) {
    const char *why = c->reasons[(uint64_t)node * c->p->n_accelerators + k];
    if (why) tn_text_add(text, "; %s: %s", c->p->accelerators[k]->name, why);
  }
}

static void report(const claimer *c, int32_t node, int32_t severity, const char *what) {
  char name[TN_NODE_TEXT];
  tn_text text;
  tn_text_init(&text, c->p->a);
  tn_text_add(&text, "%s%s", tn_node_text(c->g, tn_graph_node(c->g, node), name, sizeof name),
              what);
  add_reasons(c, node, &text);
  tn_diag_add(c->diag, severity, "%s", tn_text_get(&text));
  tn_text_free(&text);
}

/* Is it left, though some compiler might have taken it? */
static bool is_stray(const claimer *c, int32_t id) {
  const tn_gnode *n = tn_graph_node(c->g, id);
  return n->alive && !c->is_taken[id] && !is_host_bound(c->g, n);
}

/* What is no failure of a compiler, which nodes have as their reason. */
static void pass_on(const claimer *c) {
  int32_t severity = TN_DIAG_NOTE;
  for (int64_t k = 0; k < tn_diag_count(c->said); k++) {
    const char *text = tn_diag_message(c->said, k, &severity);
    if (severity != TN_DIAG_ERROR) tn_diag_add(c->diag, severity, "%s", text);
  }
}

/* Reasons stay with the nodes, for those that they become. With devices besides select decides what
 * is forbidden. */
static tn_status settle(claimer *c) {
  int64_t n_strays = 0;
  for (int32_t id = 0; id < c->n_before; id++) {
    tn_gnode *n = tn_graph_node(c->g, id);
    if (!n->alive) continue;
    n->declined = &c->reasons[(uint64_t)id * c->p->n_accelerators];
    if (!is_stray(c, id) || c->p->n_devices) continue;
    if (forbids(c))
      report(c, id, TN_DIAG_ERROR, ": cannot run on the accelerator, and fallback is forbidden");
    else if (!n_strays && c->p->fallback == TN_FALLBACK_WARN)
      report(c, id, TN_DIAG_WARNING, ": runs on the cpu, as do others that were not taken");
    n_strays++;
  }
  if (!n_strays || !forbids(c)) {
    pass_on(c);
    return TN_OK;
  }
  tn_diag_append(c->diag, c->said, NULL);
  return TN_ERR_UNSUPPORTED;
}

tn_status tn_pass_claim(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  claimer c = {.p = p, .g = g, .diag = diag, .n_before = (int32_t)g->nodes.n};
  if (!p->n_accelerators) return TN_OK;
  tn_arena_init(&c.arena, p->a);
  c.said = tn_diag_create();
  const uint64_t n = (uint64_t)c.n_before + 1;
  c.reasons = tn_arena_alloc(&g->arena, n * p->n_accelerators * sizeof *c.reasons);
  c.is_taken = tn_arena_alloc(&c.arena, n);
  tn_status status = c.said && c.reasons && c.is_taken ? TN_OK : TN_ERR_MEMORY;
  for (c.index = 0; c.index < p->n_accelerators && !status; c.index++) {
    c.x = p->accelerators[c.index];
    status = claim_for(&c);
  }
  if (!status) status = settle(&c);
  tn_diag_destroy(c.said);
  tn_arena_clear(&c.arena);
  return status;
}
