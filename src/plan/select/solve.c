/* Selection: the solver. An assignment gives each node one of its candidates; it costs what the
 * kernels cost and what the conversions cost that it needs.
 *
 * Several starts (each node's cheapest, all plain, each layout preferred) are improved until
 * nothing gains, by changing one node at a time, or one with a node before it that is cheaper in a
 * form which both know, or a group of connected nodes that take any layout at once. The best one
 * stays. */
#include <string.h>

#include "plan/select/select.h"

enum { MAX_SWEEPS = 12, MAX_FORMS = 32 };

typedef struct solver {
  tn_selection *s;
  uint32_t *stamps; /* per value: counted in the sum being made */
  uint32_t stamp;
  int32_t
      *groups; /* per node: first node of its group; -1: has no candidate that takes any layout */
  int32_t *members; /* nodes by group */
  int32_t *best, *saved;
  tn_status status;
} solver;

/* ---- cost ---- */

static const tn_candidate *chosen(const tn_selection *s, int32_t node) {
  const tn_node_options *o = &s->nodes[node];
  return o->chosen >= 0 ? &o->candidates.data[o->chosen] : NULL;
}

static tn_form home_form(const tn_selection *s, int32_t value) {
  int32_t producer = tn_graph_val(s->g, value)->producer;
  const tn_candidate *c = producer >= 0 ? chosen(s, producer) : NULL;
  const tn_node *n = producer >= 0 ? &tn_graph_node(s->g, producer)->node : NULL;
  for (uint32_t k = 0; c && k < n->n_outputs; k++)
    if (n->outputs[k] == value) return c->out[k];
  return tn_select_original(s, value);
}

typedef struct forms {
  tn_form data[MAX_FORMS];
  uint32_t n;
  tn_form home;
} forms;

/* Adds a form, and those on the way to it. */
static void add_form(forms *f, tn_form form) {
  while (!tn_form_equal(form, f->home)) {
    for (uint32_t k = 0; k < f->n; k++)
      if (tn_form_equal(f->data[k], form)) return;
    if (f->n < MAX_FORMS) f->data[f->n++] = form;
    form = tn_select_step_before(f->home, form);
  }
}

static void add_wanted(const tn_selection *s, forms *f, int32_t value) {
  const tn_value *v = tn_graph_val(s->g, value);
  for (int64_t u = 0; u < v->users.n; u++) {
    const tn_candidate *c = chosen(s, v->users.data[u]);
    const tn_node *n = &tn_graph_node(s->g, v->users.data[u])->node;
    for (uint32_t k = 0; c && k < n->n_inputs; k++)
      if (n->inputs[k] == value) add_form(f, c->in[k]);
  }
  if (v->flags & TN_VALUE_OUTPUT) add_form(f, tn_select_original(s, value));
}

/* All conversions of one value. Constants are converted while planning, which costs a run
 * nothing. */
static double value_cost(solver *v, int32_t value) {
  if (tn_graph_val(v->s->g, value)->constant) return 0;
  forms f = {.home = home_form(v->s, value)};
  add_wanted(v->s, &f, value);
  double cost = 0;
  for (uint32_t k = 0; k < f.n && !v->status; k++) {
    const tn_conversion *c = NULL;
    v->status =
        tn_select_conversion(v->s, value, tn_select_step_before(f.home, f.data[k]), f.data[k], &c);
    if (!v->status) cost += c->cost_ns;
  }
  return cost;
}

static double values_cost(solver *v, const int32_t *values, uint32_t n) {
  double cost = 0;
  for (uint32_t k = 0; k < n; k++) {
    if (values[k] < 0 || v->stamps[values[k]] == v->stamp) continue;
    v->stamps[values[k]] = v->stamp;
    cost += value_cost(v, values[k]);
  }
  return cost;
}

/* Kernels of these nodes and conversions of all values that they touch. */
static double cost_of(solver *v, const int32_t *nodes, int64_t n) {
  double cost = 0;
  v->stamp++;
  for (int64_t k = 0; k < n; k++) {
    const tn_node *node = &tn_graph_node(v->s->g, nodes[k])->node;
    const tn_candidate *c = chosen(v->s, nodes[k]);
    cost += (c ? c->cost_ns : 0) + values_cost(v, node->inputs, node->n_inputs) +
            values_cost(v, node->outputs, node->n_outputs);
  }
  return cost;
}

/* ---- groups of nodes that take any layout ---- */

static bool takes_any(const tn_node_options *o) {
  for (int64_t k = 0; k < o->candidates.n; k++)
    if (o->candidates.data[k].agnostic) return true;
  return false;
}

static int32_t root(int32_t *groups, int32_t node) {
  while (groups[node] != node) node = groups[node] = groups[groups[node]];
  return node;
}

static void find_groups(solver *v) {
  const tn_graph *g = v->s->g;
  for (int32_t k = 0; k < v->s->n_nodes; k++) v->groups[k] = takes_any(&v->s->nodes[k]) ? k : -1;
  for (int64_t k = 0; k < g->order.n; k++) {
    int32_t node = g->order.data[k];
    const tn_node *n = &tn_graph_node(g, node)->node;
    for (uint32_t j = 0; v->groups[node] >= 0 && j < n->n_inputs; j++) {
      int32_t producer = n->inputs[j] >= 0 ? tn_graph_val(g, n->inputs[j])->producer : -1;
      if (producer < 0 || v->groups[producer] < 0) continue;
      int32_t a = root(v->groups, node), b = root(v->groups, producer);
      v->groups[a > b ? a : b] = a > b ? b : a;
    }
  }
  for (int32_t k = 0; k < v->s->n_nodes; k++)
    if (v->groups[k] >= 0) v->groups[k] = root(v->groups, k);
}

/* The cheapest candidate in this layout, or -1. */
static int32_t cheapest_in(const tn_node_options *o, tn_layout layout) {
  int32_t best = -1;
  for (int32_t k = 0; k < (int32_t)o->candidates.n; k++)
    if (o->candidates.data[k].layout == layout &&
        (best < 0 || o->candidates.data[k].cost_ns < o->candidates.data[best].cost_ns))
      best = k;
  return best;
}

static int64_t collect(solver *v, int32_t group) {
  int64_t n = 0;
  for (int32_t k = group; k < v->s->n_nodes; k++)
    if (v->groups[k] == group) v->members[n++] = k;
  return n;
}

static bool improve_group(solver *v, int32_t group) {
  int64_t n = collect(v, group);
  bool better = false;
  if (n < 2) return false;
  double now = cost_of(v, v->members, n);
  for (int64_t j = 0; j < v->s->layouts.n; j++) {
    for (int64_t k = 0; k < n; k++) {
      tn_node_options *o = &v->s->nodes[v->members[k]];
      int32_t other = cheapest_in(o, v->s->layouts.data[j]);
      v->saved[k] = o->chosen;
      if (other >= 0) o->chosen = other;
    }
    double then = cost_of(v, v->members, n);
    if (then < now * (1 - 1e-9)) {
      now = then;
      better = true;
      continue;
    }
    for (int64_t k = 0; k < n; k++) v->s->nodes[v->members[k]].chosen = v->saved[k];
  }
  return better;
}

/* ---- descent ---- */

static bool improve_node(solver *v, int32_t node) {
  tn_node_options *o = &v->s->nodes[node];
  if (o->candidates.n < 2) return false;
  int32_t best = o->chosen, before = o->chosen;
  double least = cost_of(v, &node, 1);
  for (int32_t k = 0; k < (int32_t)o->candidates.n; k++) {
    if (k == before) continue;
    o->chosen = k;
    double cost = cost_of(v, &node, 1);
    if (cost < least * (1 - 1e-9)) least = cost, best = k;
  }
  o->chosen = best;
  return best != before;
}

static int32_t output_of(const tn_gnode *n, int32_t value) {
  int32_t k = 0;
  while (n->node.outputs[k] != value) k++;
  return k;
}

/* Changes a node with the producer of its input k, where that is cheaper in a form that the node
 * takes: as a view of its input, for example. Alone neither gains, for the other's conversion. */
static bool improve_pair(solver *v, int32_t node, int32_t value, uint32_t k) {
  const int32_t producer = value >= 0 ? tn_graph_val(v->s->g, value)->producer : -1;
  tn_node_options *o = &v->s->nodes[node], *p = producer >= 0 ? &v->s->nodes[producer] : o;
  if (p == o || o->candidates.n < 2 || p->candidates.n < 2) return false;
  const int32_t at = output_of(tn_graph_node(v->s->g, producer), value), pair[2] = {producer, node};
  const int32_t was = o->chosen, p_was = p->chosen;
  int32_t best = was, p_best = p_was;
  double least = -1;
  for (int32_t q = 0; q < (int32_t)p->candidates.n; q++) {
    const tn_candidate *from = &p->candidates.data[q];
    if (from->cost_ns >= p->candidates.data[p_was].cost_ns) continue;
    for (int32_t j = 0; j < (int32_t)o->candidates.n; j++) {
      if (j == was || !tn_form_equal(o->candidates.data[j].in[k], from->out[at])) continue;
      if (least < 0) least = cost_of(v, pair, 2);
      p->chosen = q, o->chosen = j;
      const double cost = cost_of(v, pair, 2);
      if (cost < least * (1 - 1e-9)) least = cost, best = j, p_best = q;
    }
  }
  p->chosen = p_best, o->chosen = best;
  return best != was;
}

static bool improve_pairs(solver *v, int32_t node) {
  const tn_node *n = &tn_graph_node(v->s->g, node)->node;
  bool better = false;
  for (uint32_t k = 0; k < n->n_inputs && !v->status; k++)
    better |= improve_pair(v, node, n->inputs[k], k);
  return better;
}

static void descend(solver *v) {
  const tn_graph *g = v->s->g;
  bool better = true;
  for (int sweep = 0; sweep < MAX_SWEEPS && better && !v->status; sweep++) {
    better = false;
    for (int64_t k = 0; k < g->order.n && !v->status; k++) {
      const int32_t node = g->order.data[sweep % 2 ? g->order.n - 1 - k : k];
      better |= improve_node(v, node);
      better |= improve_pairs(v, node);
    }
    for (int32_t k = 0; k < v->s->n_nodes && v->s->layouts.n > 1 && !v->status; k++)
      if (v->groups[k] == k) better |= improve_group(v, k);
  }
}

/* ---- starts ---- */

static void start_cheapest(tn_selection *s) {
  for (int32_t n = 0; n < s->n_nodes; n++) {
    tn_node_options *o = &s->nodes[n];
    o->chosen = o->candidates.n ? 0 : -1;
    for (int32_t k = 1; k < (int32_t)o->candidates.n; k++)
      if (o->candidates.data[k].cost_ns < o->candidates.data[o->chosen].cost_ns) o->chosen = k;
  }
}

static void start_layout(tn_selection *s, tn_layout layout) {
  start_cheapest(s);
  for (int32_t n = 0; n < s->n_nodes; n++) {
    int32_t k = cheapest_in(&s->nodes[n], layout);
    if (k < 0) k = cheapest_in(&s->nodes[n], TN_PLAIN);
    if (k >= 0) s->nodes[n].chosen = k;
  }
}

static void try_starts(solver *v) {
  tn_selection *s = v->s;
  double least = 0;
  for (int64_t start = -1; start < s->layouts.n && !v->status; start++) {
    if (start < 0)
      start_cheapest(s);
    else
      start_layout(s, s->layouts.data[start]);
    descend(v);
    double cost = cost_of(v, s->g->order.data, s->g->order.n);
    if (start >= 0 && !(cost < least * (1 - 1e-9))) continue;
    least = cost;
    for (int32_t k = 0; k < s->n_nodes; k++) v->best[k] = s->nodes[k].chosen;
  }
  for (int32_t k = 0; k < s->n_nodes; k++) s->nodes[k].chosen = v->best[k];
}

tn_status tn_select_solve(tn_selection *s) {
  solver v = {.s = s};
  uint64_t n = (uint64_t)s->n_nodes + 1;
  v.stamps = tn_arena_alloc(&s->arena, ((uint64_t)s->n_values + 1) * sizeof *v.stamps);
  v.groups = tn_arena_alloc(&s->arena, n * sizeof *v.groups);
  v.members = tn_arena_alloc(&s->arena, n * sizeof *v.members);
  v.best = tn_arena_alloc(&s->arena, n * sizeof *v.best);
  v.saved = tn_arena_alloc(&s->arena, n * sizeof *v.saved);
  if (!v.stamps || !v.groups || !v.members || !v.best || !v.saved) return TN_ERR_MEMORY;
  find_groups(&v);
  try_starts(&v);
  return v.status;
}
