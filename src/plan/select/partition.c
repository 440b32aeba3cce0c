/* Selection: which node runs on which device.
 *
 * No single node pays for its two transfers, so descent node by node would never leave the CPU.
 * For each device in turn, the first choice first, the nodes still on the CPU are parted in two by
 * a least cut: a node costs what its cheapest kernel on that side costs, and a value that is needed
 * on the other side pays its transfer once, however many read it there. Where the user wants all
 * work on the device, what has a kernel there stays there. */
#include <string.h>

#include "device/device.h"
#include "plan/passes/passes.h"
#include "plan/select/select.h"

typedef struct parter {
  tn_selection *s;
  uint32_t device;                   /* the CPU's rival at the moment */
  uint32_t *place;                   /* per node: where it runs */
  int32_t *vertex;                   /* per node; -1: it is not in question */
  int32_t *home_before, *home_after; /* per value: the vertex of the state that it is; 0: none */
  TN_VEC(tn_edge) edges;
  int32_t n_vertices;
  tn_status status;
} parter;

enum { CPU = 0, RIVAL = 1 }; /* vertices, and sides */

/* Of its kernels on the device; negative: it has none. */
static double cheapest(const tn_node_options *o, uint32_t device) {
  double least = -1;
  for (int64_t k = 0; k < o->candidates.n; k++) {
    const tn_candidate *c = &o->candidates.data[k];
    if (c->device == device && (least < 0 || c->cost_ns < least)) least = c->cost_ns;
  }
  return least;
}

static void add_edge(parter *p, int32_t from, int32_t to, double cost) {
  const tn_edge edge = {from, to, cost};
  if (!p->status) p->status = tn_vec_push(p->s->p->a, &p->edges, edge);
}

/* ---- the graph to cut ---- */

static bool stays_there(const parter *p) { return p->s->p->fallback != TN_FALLBACK_ALLOW; }

static void add_node(parter *p, int32_t node) {
  const tn_node_options *o = &p->s->nodes[node];
  const double here = cheapest(o, 0), there = cheapest(o, p->device);
  p->vertex[node] = -1;
  if (p->place[node] || there < 0) return;
  const int32_t v = p->vertex[node] = p->n_vertices++;
  add_edge(p, CPU, v, there); /* cut if it is there */
  add_edge(p, v, RIVAL, here < 0 || stays_there(p) ? TN_CUT_NEVER : here);
}

/* The vertex of a node: those that are not in question are the CPU's, as are those of devices
 * before, which are reached by way of it. */
static int32_t vertex_of(const parter *p, int32_t node) {
  return node < 0 || p->vertex[node] < 0 ? CPU : p->vertex[node];
}

/* ---- states: they lie on either side, what makes and reads them there transfers nothing ---- */

static bool is_of_another(const parter *p, int32_t node) { return node >= 0 && p->place[node]; }

static void add_home(parter *p, int32_t before, int32_t after) {
  const tn_graph *g = p->s->g;
  const tn_value *b = tn_graph_val(g, before);
  bool is_free = b->type && tn_storage_bytes(b->type) > 0 &&
                 !is_of_another(p, tn_graph_val(g, after)->producer);
  for (int64_t u = 0; u < b->users.n; u++) is_free = is_free && !is_of_another(p, b->users.data[u]);
  const bool is_output_too = before != after && b->flags & TN_VALUE_OUTPUT;
  if (is_free && !is_output_too) p->home_before[before] = p->home_after[after] = p->n_vertices++;
}

static void add_homes(parter *p) {
  const tn_graph *g = p->s->g;
  memset(p->home_before, 0, (size_t)p->s->n_values * sizeof *p->home_before);
  memset(p->home_after, 0, (size_t)p->s->n_values * sizeof *p->home_after);
  for (int32_t k = 1; k <= g->n_settled; k++)
    add_home(p, g->inputs.data[g->inputs.n - k], g->outputs.data[g->outputs.n - k]);
}

/* ---- values ---- */

/* Vertex `up` is there if any reader is, vertex `down` here if any is. */
static void add_value(parter *p, int32_t value) {
  const tn_value *v = tn_graph_val(p->s->g, value);
  const int32_t before = p->home_before[value], after = p->home_after[value];
  const int32_t producer = before ? before : vertex_of(p, v->producer);
  bool may_leave = producer != CPU || after;
  for (int64_t u = 0; u < v->users.n; u++)
    may_leave = may_leave || vertex_of(p, v->users.data[u]) != CPU;
  if (v->constant || !may_leave) return;
  const int32_t up = p->n_vertices++, down = p->n_vertices++;
  add_edge(p, producer, up, tn_select_transfer_cost(p->s, value, 0, p->device));
  add_edge(p, down, producer, tn_select_transfer_cost(p->s, value, p->device, 0));
  if (v->flags & TN_VALUE_OUTPUT) add_edge(p, after, down, TN_CUT_NEVER); /* after 0: the CPU */
  if (after) add_edge(p, up, after, TN_CUT_NEVER);
  for (int64_t u = 0; u < v->users.n; u++) {
    const int32_t reader = vertex_of(p, v->users.data[u]);
    if (reader != CPU) add_edge(p, up, reader, TN_CUT_NEVER);
    add_edge(p, reader, down, TN_CUT_NEVER);
  }
}

static void build(parter *p) {
  const tn_graph *g = p->s->g;
  p->edges.n = 0;
  p->n_vertices = 2;
  for (int32_t k = 0; k < p->s->n_nodes; k++) p->vertex[k] = -1;
  for (int64_t k = 0; k < g->order.n; k++) add_node(p, g->order.data[k]);
  add_homes(p);
  for (int32_t k = 0; k < p->s->n_values; k++) add_value(p, k);
}

/* ---- the answer ---- */

static double cost_of_cut(const parter *p, const uint8_t *side) {
  double cost = 0;
  for (int64_t k = 0; k < p->edges.n; k++)
    if (side[p->edges.data[k].from] == CPU && side[p->edges.data[k].to] == RIVAL)
      cost += p->edges.data[k].cost;
  return cost;
}

/* With "auto" the plan of the CPU alone stays unless the other one is a tenth cheaper. */
static bool is_worth_it(const parter *p, const uint8_t *side) {
  double alone = 0;
  if (!p->s->p->auto_devices) return true;
  for (int64_t k = 0; k < p->edges.n; k++)
    if (p->edges.data[k].to == RIVAL) alone += p->edges.data[k].cost;
  return cost_of_cut(p, side) < 0.9 * alone;
}

static void part(parter *p) {
  build(p);
  uint8_t *side = tn_arena_alloc(&p->s->arena, (uint64_t)p->n_vertices);
  if (!side) p->status = TN_ERR_MEMORY;
  if (!p->status)
    p->status = tn_min_cut(p->s->p->a, p->edges.data, p->edges.n, p->n_vertices, side);
  if (p->status || !is_worth_it(p, side)) return;
  for (int32_t k = 0; k < p->s->n_nodes; k++)
    if (p->vertex[k] >= 0 && side[p->vertex[k]] == RIVAL) p->place[k] = p->device;
}

/* What was weighed and found too dear, in words. */
static tn_status say_why(parter *p, int32_t node, uint32_t device) {
  tn_node_options *o = &p->s->nodes[node];
  const double there = cheapest(o, device);
  if (there < 0) return TN_OK;
  const double here = cheapest(o, p->place[node]);
  o->away[device] =
      tn_arena_format(&p->s->g->arena, "would cost %.2f us and transfers, here it costs %.2f us",
                      there / 1e3, here / 1e3);
  return o->away[device] ? TN_OK : TN_ERR_MEMORY;
}

/* Candidates on other devices go. */
static void settle(parter *p, int32_t node) {
  tn_candidates *all = &p->s->nodes[node].candidates;
  int64_t kept = 0;
  for (uint32_t d = 1; d <= p->s->p->n_devices && !p->status; d++)
    if (d != p->place[node]) p->status = say_why(p, node, d);
  for (int64_t k = 0; k < all->n; k++)
    if (all->data[k].device == p->place[node]) all->data[kept++] = all->data[k];
  all->n = kept;
}

/* ---- the policy ---- */

static bool is_stray(const parter *p, int32_t node) {
  return !p->place[node] && !p->s->nodes[node].is_host_bound;
}

static void add_reasons(const parter *p, int32_t node, tn_text *text) {
  const tn_planner *planner = p->s->p;
  for (uint32_t d = 1; d <= planner->n_devices; d++)
    tn_text_add(text, "; %s: %s", planner->devices[d - 1]->name, p->s->nodes[node].away[d]);
}

static void report_stray(const parter *p, int32_t node) {
  char name[TN_NODE_TEXT];
  tn_text text;
  tn_text_init(&text, p->s->p->a);
  tn_text_add(&text, "%s: cannot run on the device, and fallback is forbidden",
              tn_node_text(p->s->g, tn_graph_node(p->s->g, node), name, sizeof name));
  add_reasons(p, node, &text);
  tn_diag_add(p->s->diag, TN_DIAG_ERROR, "%s", tn_text_get(&text));
  tn_text_free(&text);
}

static void warn(const parter *p, int64_t n_strays, int32_t first) {
  char name[TN_NODE_TEXT];
  tn_text text;
  tn_text_init(&text, p->s->p->a);
  tn_text_add(&text, "%lld of %lld nodes run on the cpu, first %s", (long long)n_strays,
              (long long)p->s->g->order.n,
              tn_node_text(p->s->g, tn_graph_node(p->s->g, first), name, sizeof name));
  add_reasons(p, first, &text);
  tn_diag_add(p->s->diag, TN_DIAG_WARNING, "%s", tn_text_get(&text));
  tn_text_free(&text);
}

static tn_status obey_policy(const parter *p) {
  const tn_graph *g = p->s->g;
  const bool forbids = p->s->p->fallback == TN_FALLBACK_FORBID;
  int64_t n = 0;
  int32_t first = -1;
  for (int64_t k = 0; k < g->order.n; k++) {
    const int32_t node = g->order.data[k];
    if (!is_stray(p, node)) continue;
    if (!n++) first = node;
    if (forbids) report_stray(p, node);
  }
  if (n && forbids) return TN_ERR_UNSUPPORTED;
  if (n && p->s->p->fallback == TN_FALLBACK_WARN) warn(p, n, first);
  return TN_OK;
}

tn_status tn_select_partition(tn_selection *s) {
  parter p = {.s = s};
  const uint64_t n = (uint64_t)s->n_nodes + 1;
  for (uint32_t d = 0; d < s->p->n_devices && s->p->fallback == TN_FALLBACK_FORBID; d++)
    if (tn_device_is_lost(s->p->devices[d]))
      return tn_fail(s->diag, TN_ERR_IO, "device '%s' is lost", s->p->devices[d]->name);
  p.place = tn_arena_alloc(&s->arena, n * sizeof *p.place);
  p.vertex = tn_arena_alloc(&s->arena, n * sizeof *p.vertex);
  p.home_before = tn_arena_alloc(&s->arena, ((uint64_t)s->n_values + 1) * sizeof *p.home_before);
  p.home_after = tn_arena_alloc(&s->arena, ((uint64_t)s->n_values + 1) * sizeof *p.home_after);
  if (!p.place || !p.vertex || !p.home_before || !p.home_after) return TN_ERR_MEMORY;
  for (p.device = 1; p.device <= s->p->n_devices && !p.status; p.device++) part(&p);
  for (int64_t k = 0; k < s->g->order.n && !p.status; k++) settle(&p, s->g->order.data[k]);
  if (!p.status) p.status = obey_policy(&p);
  tn_vec_free(s->p->a, &p.edges);
  return p.status;
}
