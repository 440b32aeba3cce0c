/* Stage fuse, behind its rewrites: element-wise nodes and copies between transposes are computed
 * in the order of dims before these, or behind them, where fewer elements are transposed then.
 *
 * For one transpose, y = T(x), all nodes that hang together with its readers are looked at, as long
 * as any order of dims will do for them. Each may be computed as it is, or `permuted`: on values v'
 * with v = T(v'). Turned readers of y read x. A value that goes from a permuted node to one that is
 * not (or to what reads it in the order it has) costs a transpose, and so does one the other way; a
 * transpose back costs nothing behind a permuted node. Which nodes are permuted is the minimal cut
 * of that network (tn_min_cut). */
#include "plan/passes/passes.h"
#include "plan/select/select.h"
#include "tenon/kit/region_dims.h"

/* Nodes seen around one transpose, regions and inputs of one node, and looks at all transposes. */
enum { MAX_NODES = 256, MAX_REGIONS = 64, MAX_INPUTS = MAX_REGIONS + 1, MAX_SWEEPS = 16 };

/* What permuter.place says of nodes that are not among `nodes`: the second of transposes around
 * which this sweep has looked already. */
enum { NOWHERE = -1, LOOKED = -2 };

/* Of a value; what was written in another round than this is as good as not there. */
typedef struct note {
  int32_t joined, permuted; /* rounds in which it has got its edges, and its v' */
  int32_t made;             /* v' */
} note;

typedef struct permuter {
  const tn_planner *p;
  tn_graph *g;
  tn_diag *diag;
  tn_pattern pattern;
  int32_t rank, perm[TN_MAX_RANK]; /* of T: dim k of y is dim perm[k] of x */
  int32_t round;                   /* counts the transposes looked at */
  TN_VEC(int32_t) place;           /* of each node of the graph among `nodes`, or < 0 */
  TN_VEC(note) notes;              /* of each value of the graph */
  int32_t nodes[MAX_NODES], n_nodes;
  bool permuted[MAX_NODES];
  /* The network: vertex 0 is what is permuted, 1 what is not, 2 + k is node k, then helpers. */
  TN_VEC(tn_edge) edges;
  int32_t n_vertices;
  tn_status status;
} permuter;

static const tn_value *value_of(const permuter *t, int32_t value) {
  return tn_graph_val(t->g, value);
}

/* ---- what can be permuted ---- */

static bool is_plain_type(const tn_value *v) {
  return v->known && v->type->kind == TN_KIND_TENSOR && tn_tensor_elements(v->type) > 0;
}

/* One element: any order of dims is the same. */
static bool is_one(const tn_value *v) { return tn_tensor_elements(v->type) == 1; }

/* Is the value made by T itself, from *out_from? */
static bool is_permuted_already(const permuter *t, int32_t value, int32_t *out_from) {
  int32_t perm[TN_MAX_RANK];
  const tn_tensor *type = value_of(t, value)->type;
  if (type->rank != t->rank || !tn_region_transposes(&t->pattern, value, out_from, perm))
    return false;
  const tn_tensor *from = value_of(t, *out_from)->type;
  for (int32_t k = 0; k < t->rank; k++)
    if (type->shape[k] != from->shape[t->perm[k]] || (type->shape[k] > 1 && perm[k] != t->perm[k]))
      return false;
  return true;
}

/* Does the node do nothing but to give dims another order? */
static bool is_transpose(const permuter *t, const tn_gnode *n) {
  int32_t from, perm[TN_MAX_RANK];
  return tn_is_region(n) && tn_region_transposes(&t->pattern, n->node.outputs[0], &from, perm);
}

/* Two dims of the region walk along one of the output, as those of a block do. In another order of
 * dims nobody could prove such regions apart. */
static bool has_blocks(const tn_region_dims *d) {
  uint32_t walked = 0, twice = 0;
  for (int32_t k = 0; k < d->n; k++) {
    twice |= walked & UINT32_C(1) << d->walks[k].dst_axis;
    walked |= UINT32_C(1) << d->walks[k].dst_axis;
  }
  return twice != 0;
}

static bool can_permute_region(const permuter *t, const tn_gnode *n) {
  const tn_tensor *out = value_of(t, n->node.outputs[0])->type;
  if (n->n_regions < 1 || n->n_regions > MAX_REGIONS || out->rank != t->rank || is_transpose(t, n))
    return false;
  for (uint32_t k = 0; k < n->n_regions; k++) {
    const tn_region *r = n->regions[k];
    const tn_value *in = value_of(t, n->node.inputs[r->input]);
    tn_region_dims d;
    if (!is_plain_type(in) || in->type->rank != t->rank || r->input == n->region_fill ||
        !tn_region_dims_of(r, in->type, out, &d) || d.n > TN_MAX_RANK ||
        (n->n_regions > 1 && has_blocks(&d)))
      return false;
  }
  return true;
}

static bool can_permute(const permuter *t, int32_t id) {
  const tn_gnode *n = id < 0 ? NULL : tn_graph_node(t->g, id);
  if (!n || !n->alive || !n->def || n->n_epilogue || n->n_subgraphs ||
      n->node.n_inputs > MAX_INPUTS || tn_pin_of(t->p, n))
    return false;
  bool has_rank = false;
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    if (n->node.outputs[k] < 0) continue;
    const tn_value *v = value_of(t, n->node.outputs[k]);
    if (!is_plain_type(v) || v->type->rank != t->rank) return false;
    has_rank = true;
  }
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0 && (!is_plain_type(value_of(t, n->node.inputs[k])) ||
                                   value_of(t, n->node.inputs[k])->type->rank > t->rank))
      return false;
  if (!has_rank) return false;
  return tn_is_region(n)
             ? can_permute_region(t, n)
             : (n->def->op.flags & TN_OP_ELEMENTWISE) && !(n->def->op.flags & TN_OP_IMPURE);
}

static void take_node(permuter *t, int32_t id) {
  if (t->n_nodes == MAX_NODES || id < 0 || t->place.data[id] >= 0 || !can_permute(t, id)) return;
  t->place.data[id] = t->n_nodes;
  t->nodes[t->n_nodes++] = id;
}

static void take_readers(permuter *t, int32_t value) {
  for (int64_t k = 0; k < value_of(t, value)->users.n; k++)
    take_node(t, value_of(t, value)->users.data[k]);
}

/* All that hangs together with the readers of y. */
static void take_all(permuter *t, int32_t y) {
  take_readers(t, y);
  for (int32_t at = 0; at < t->n_nodes; at++) {
    const tn_node *n = &tn_graph_node(t->g, t->nodes[at])->node;
    for (uint32_t k = 0; k < n->n_outputs; k++)
      if (n->outputs[k] >= 0) take_readers(t, n->outputs[k]);
    for (uint32_t k = 0; k < n->n_inputs; k++) {
      int32_t from;
      const tn_value *v = n->inputs[k] < 0 ? NULL : value_of(t, n->inputs[k]);
      if (!v || v->constant || is_one(v)) continue;
      take_node(t, v->producer);
      if (is_permuted_already(t, n->inputs[k], &from)) take_readers(t, n->inputs[k]);
    }
  }
}

/* ---- the network ---- */

enum { TURNED, NOT_TURNED, NODES };

static int32_t add_vertex(permuter *t) { return t->n_vertices++; }

/* `from` on the side of what is permuted and `to` on the other costs that much. */
static void add_edge(permuter *t, int32_t from, int32_t to, double cost) {
  const tn_edge e = {from, to, cost};
  if (!t->status && tn_vec_push(t->p->a, &t->edges, e)) t->status = TN_ERR_MEMORY;
}

/* What transposing a value of this shape costs: nothing if only dims of size 1 move. Twice the
 * elements, so that there is something less than one. */
static double cost_of(const permuter *t, const tn_tensor *type) {
  int32_t last = -1;
  bool moves = false;
  for (int32_t k = 0; k < t->rank; k++) { /* dims of lower ranks are missing in front */
    const int32_t dim = k - (t->rank - type->rank);
    if (dim < 0 || type->shape[dim] == 1) continue;
    moves = moves || t->perm[k] < last;
    last = t->perm[k];
  }
  return moves ? 2 * (double)tn_tensor_elements(type) : 0;
}

static int32_t place_of(const permuter *t, int32_t node) {
  return node >= 0 && node < t->place.n ? t->place.data[node] : NOWHERE;
}

/* A helper vertex on the way to (forward) or from all readers of the value that are in the network:
 * it is on the side of one of them, if that is the dear side. */
static void join_readers(permuter *t, int32_t value, int32_t helper, bool forward) {
  for (int64_t k = 0; k < value_of(t, value)->users.n; k++) {
    const int32_t at = place_of(t, value_of(t, value)->users.data[k]);
    if (at < 0) continue;
    if (forward)
      add_edge(t, helper, NODES + at, TN_CUT_NEVER);
    else
      add_edge(t, NODES + at, helper, TN_CUT_NEVER);
  }
}

/* The user is T back: with the value permuted, what it makes is there already. */
static bool permutes_back(const permuter *t, int32_t value, int32_t user) {
  const tn_gnode *n = tn_graph_node(t->g, user);
  int32_t from, perm[TN_MAX_RANK];
  if (!tn_is_region(n) || !tn_region_transposes(&t->pattern, n->node.outputs[0], &from, perm) ||
      from != value)
    return false;
  const tn_tensor *in = value_of(t, value)->type, *out = value_of(t, n->node.outputs[0])->type;
  for (int32_t k = 0; k < t->rank; k++) /* dim k of the value is dim perm[k] of v' */
    if (out->shape[t->perm[k]] != in->shape[k] || (in->shape[k] > 1 && perm[t->perm[k]] != k))
      return false;
  return true;
}

/* The user gives the dims some other order: it can take them in any. */
static bool takes_any(const permuter *t, int32_t user) {
  return is_transpose(t, tn_graph_node(t->g, user));
}

static bool has_other_readers(const permuter *t, int32_t value) {
  const tn_value *v = value_of(t, value);
  bool has = (v->flags & TN_VALUE_OUTPUT) != 0;
  for (int64_t k = 0; k < v->users.n; k++)
    has = has || (place_of(t, v->users.data[k]) < 0 && !takes_any(t, v->users.data[k]));
  return has;
}

/* The network around the transpose that makes the value is this one, if this one has all nodes
 * that hang together. */
static void look_past(permuter *t, int32_t value) {
  int32_t from, perm[TN_MAX_RANK];
  if (t->n_nodes < MAX_NODES && tn_region_transposes(&t->pattern, value, &from, perm) &&
      !memcmp(perm, t->perm, (size_t)t->rank * sizeof *perm))
    t->place.data[value_of(t, value)->producer] = LOOKED;
}

/* A value that comes from outside. */
static void join_input(permuter *t, int32_t value) {
  int32_t from;
  const tn_value *v = value_of(t, value);
  const double cost = cost_of(t, v->type);
  if (is_permuted_already(t, value, &from) && place_of(t, value_of(t, from)->producer) < 0) {
    look_past(t, value);
    if (has_other_readers(t, value)) return; /* T stays in any case */
    const int32_t helper = add_vertex(t), leader = value_of(t, from)->producer;
    const bool leads = leader >= 0 && tn_has_epilogue_kernel(t->p, tn_graph_node(t->g, leader));
    add_edge(t, TURNED, helper, cost + (cost > 0 && leads));
    join_readers(t, value, helper, true);
  } else if (v->producer < 0 || !takes_any(t, v->producer) || has_other_readers(t, value)) {
    const int32_t helper = add_vertex(t);
    join_readers(t, value, helper, false);
    add_edge(t, helper, NOT_TURNED, cost);
  }
}

/* A value that a node of the network makes. */
static void join_output(permuter *t, int32_t value) {
  const double cost = cost_of(t, value_of(t, value)->type);
  const int32_t maker = NODES + place_of(t, value_of(t, value)->producer);
  for (int64_t k = 0; k < value_of(t, value)->users.n; k++) {
    const int32_t user = value_of(t, value)->users.data[k];
    if (place_of(t, user) < 0 && permutes_back(t, value, user)) add_edge(t, TURNED, maker, cost);
  }
  if (has_other_readers(t, value)) {
    add_edge(t, maker, NOT_TURNED, cost);
  } else {
    const int32_t helper = add_vertex(t);
    add_edge(t, maker, helper, cost);
    join_readers(t, value, helper, true);
  }
  const int32_t helper = add_vertex(t);
  join_readers(t, value, helper, false);
  add_edge(t, helper, maker, cost);
}

static bool is_fresh(permuter *t, int32_t value) {
  const bool fresh = t->notes.data[value].joined != t->round;
  t->notes.data[value].joined = t->round;
  return fresh;
}

static void build_network(permuter *t) {
  t->edges.n = 0;
  t->n_vertices = NODES + t->n_nodes;
  for (int32_t at = 0; at < t->n_nodes && !t->status; at++) {
    const tn_gnode *n = tn_graph_node(t->g, t->nodes[at]);
    for (uint32_t k = 0; k < n->node.n_outputs; k++)
      if (n->node.outputs[k] >= 0) join_output(t, n->node.outputs[k]);
    for (uint32_t k = 0; k < n->node.n_inputs; k++) {
      const int32_t value = n->node.inputs[k];
      if (value < 0 || value_of(t, value)->constant || is_one(value_of(t, value)) ||
          place_of(t, value_of(t, value)->producer) >= 0 || !is_fresh(t, value))
        continue;
      join_input(t, value);
    }
  }
}

/* What the cut leaves with vertex TURNED is permuted: the fewest nodes that make it minimal.
 * Answers how many they are. */
static int32_t cut(permuter *t) {
  int32_t n = 0;
  TN_VEC(uint8_t) side = {0};
  if (!t->status && tn_vec_room(t->p->a, &side, t->n_vertices)) t->status = TN_ERR_MEMORY;
  if (!t->status)
    t->status = tn_min_cut(t->p->a, t->edges.data, t->edges.n, t->n_vertices, side.data);
  for (int32_t k = 0; k < t->n_nodes && !t->status; k++) {
    t->permuted[k] = side.data[NODES + k] == 0;
    n += t->permuted[k];
  }
  tn_vec_free(t->p->a, &side);
  return n;
}

/* ---- the edit ---- */

static void permuted_shape(const permuter *t, const tn_tensor *type, tn_tensor *out) {
  *out = tn_tensor_make(type->dtype, t->rank, type->shape, NULL);
  for (int32_t k = 0; k < t->rank; k++) {
    const int32_t dim = k - (t->rank - type->rank);
    out->shape[t->perm[k]] = dim < 0 ? 1 : type->shape[dim];
  }
}

/* Appends a dim, as part of the one outside of it where both sides step through them alike. */
static void push_dim(tn_region *r, int64_t size, int64_t src, int64_t dst) {
  if (size == 1) return;
  const bool joins = r->rank > 0 && r->src_stride[r->rank - 1] == src * size &&
                     r->dst_stride[r->rank - 1] == dst * size;
  if (!joins) r->size[r->rank++] = 1;
  r->size[r->rank - 1] *= size;
  r->src_stride[r->rank - 1] = src;
  r->dst_stride[r->rank - 1] = dst;
}

/* Makes a Region of these inputs; *out is its output, of this type. */
static tn_status add_region_node(permuter *t, const tn_gnode *like, const int32_t *inputs,
                                 uint32_t n_inputs, const tn_region *const *regions,
                                 uint32_t n_regions, int32_t fill, const tn_tensor *type,
                                 int32_t *out) {
  *out = tn_graph_value_of(t->g, type, false);
  if (*out < 0) return *out;
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "tenon",
                        .op = TN_CORE_REGION,
                        .name = like ? like->node.name : "",
                        .version = 1,
                        .n_inputs = n_inputs,
                        .n_outputs = 1,
                        .inputs = inputs,
                        .outputs = out,
                        .offset = like ? like->node.offset : -1};
  const int32_t id = tn_graph_add_node(t->g, &node);
  return id < 0 ? id : tn_graph_set_regions(t->g, id, inputs, n_inputs, regions, n_regions, fill);
}

/* *out is T of the permuted value (forward), or v' of the value, whose type is the permuted one's.
 */
static tn_status add_transpose(permuter *t, int32_t value, const tn_tensor *plain, bool forward,
                               int32_t *out) {
  tn_tensor permuted;
  const tn_tensor type = *plain; /* may be that of a value, and values move */
  int64_t strides[TN_MAX_RANK], permuted_strides[TN_MAX_RANK];
  tn_region r = {.head = TN_HEAD(tn_region)};
  const tn_region *regions = &r;
  int32_t dim_of[TN_MAX_RANK]; /* of the plain tensor, for each dim of the result */
  permuted_shape(t, &type, &permuted);
  tn_dense_strides(&type, strides);
  tn_dense_strides(&permuted, permuted_strides);
  for (int32_t k = 0; k < t->rank; k++) dim_of[forward ? k : t->perm[k]] = k;
  for (int32_t at = 0; at < t->rank; at++) {
    const int32_t k = dim_of[at], dim = k - (t->rank - type.rank);
    if (dim < 0) continue;
    const int64_t a = strides[dim], b = permuted_strides[t->perm[k]];
    push_dim(&r, type.shape[dim], forward ? b : a, forward ? a : b);
  }
  return add_region_node(t, NULL, &value, 1, &regions, 1, -1, forward ? &type : &permuted, out);
}

/* The region between permuted tensors that the region r between in and out stands for. */
static void permute_region(const permuter *t, const tn_region *r, const tn_tensor *in,
                           const tn_tensor *out, tn_region *made) {
  tn_tensor in2, out2;
  int64_t src[TN_MAX_RANK], dst[TN_MAX_RANK];
  tn_region_dims d = {.n = 0};
  *made = (tn_region){.head = TN_HEAD(tn_region), .input = r->input};
  tn_region_dims_of(r, in, out, &d); /* it can be said so: can_permute_region() has seen it */
  permuted_shape(t, in, &in2);
  permuted_shape(t, out, &out2);
  tn_dense_strides(&in2, src);
  tn_dense_strides(&out2, dst);
  for (int32_t k = 0; k < t->rank; k++) {
    made->src_offset += d.src_at[k] * src[t->perm[k]];
    made->dst_offset += d.dst_at[k] * dst[t->perm[k]];
  }
  for (int32_t dim = 0; dim < t->rank; dim++)
    for (int32_t k = 0; k < d.n; k++) {
      const tn_region_walk *w = &d.walks[k];
      if (t->perm[w->dst_axis] == dim)
        push_dim(made, w->size, w->src_axis < 0 ? 0 : w->src_step * src[t->perm[w->src_axis]],
                 w->dst_step * dst[dim]);
    }
}

static void set_made(permuter *t, int32_t value, int32_t made) {
  t->notes.data[value].permuted = t->round;
  t->notes.data[value].made = made;
}

/* What a permuted node reads in the place of the value; negative: a status. */
static int32_t permuted_input(permuter *t, int32_t value) {
  int32_t made;
  if (t->notes.data[value].permuted == t->round) return t->notes.data[value].made;
  if (is_one(value_of(t, value))) return value;
  if (!is_permuted_already(t, value, &made)) {
    const tn_status s = add_transpose(t, value, value_of(t, value)->type, false, &made);
    if (s) return s;
  }
  set_made(t, value, made);
  return made;
}

static tn_status permute_regions(permuter *t, const tn_gnode *n, const int32_t *inputs) {
  tn_arena *arena = &t->g->arena;
  tn_region *made = tn_arena_alloc(arena, n->n_regions * sizeof *made);
  const tn_region **list = tn_arena_alloc(arena, n->n_regions * sizeof *list);
  tn_tensor type;
  int32_t permuted;
  if (!made || !list) return TN_ERR_MEMORY;
  const tn_tensor *out = value_of(t, n->node.outputs[0])->type;
  for (uint32_t k = 0; k < n->n_regions; k++) {
    permute_region(t, n->regions[k], value_of(t, n->node.inputs[n->regions[k]->input])->type, out,
                   &made[k]);
    list[k] = &made[k];
  }
  permuted_shape(t, out, &type);
  const tn_status s = add_region_node(t, n, inputs, n->node.n_inputs, list, n->n_regions,
                                      n->region_fill, &type, &permuted);
  set_made(t, n->node.outputs[0], permuted);
  return s;
}

static tn_status permute_elementwise(permuter *t, const tn_gnode *n, const int32_t *inputs) {
  int32_t *outputs = tn_arena_alloc(&t->g->arena, n->node.n_outputs * sizeof *outputs);
  if (!outputs) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    tn_tensor type;
    outputs[k] = -1;
    if (n->node.outputs[k] < 0) continue;
    permuted_shape(t, value_of(t, n->node.outputs[k])->type, &type);
    outputs[k] = tn_graph_value_of(t->g, &type, false);
    if (outputs[k] < 0) return outputs[k];
    set_made(t, n->node.outputs[k], outputs[k]);
  }
  tn_node node = n->node;
  node.version = n->def->op.since;
  node.inputs = inputs;
  node.outputs = outputs;
  const int32_t id = tn_graph_add_node(t->g, &node);
  return id < 0 ? id : TN_OK;
}

static tn_status permute_node(permuter *t, int32_t id) {
  const tn_gnode n = *tn_graph_node(t->g, id); /* nodes move when others are added */
  int32_t *inputs = tn_arena_alloc(&t->g->arena, (n.node.n_inputs + 1) * sizeof *inputs);
  if (!inputs) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n.node.n_inputs; k++) {
    inputs[k] = n.node.inputs[k] < 0 ? -1 : permuted_input(t, n.node.inputs[k]);
    if (inputs[k] < -1) return inputs[k];
  }
  return tn_is_region(&n) ? permute_regions(t, &n, inputs) : permute_elementwise(t, &n, inputs);
}

/* A node that permutes the value back, and whose output v' can take the place of; -1: none. */
static int32_t find_back(const permuter *t, int32_t value) {
  const tn_value *v = value_of(t, value), *made = value_of(t, t->notes.data[value].made);
  for (int64_t k = 0; k < v->users.n; k++) {
    const int32_t user = v->users.data[k];
    const tn_gnode *n = tn_graph_node(t->g, user);
    if (place_of(t, user) < 0 && permutes_back(t, value, user) &&
        !(made->flags & value_of(t, n->node.outputs[0])->flags & TN_VALUE_OUTPUT))
      return user;
  }
  return -1;
}

/* What reads the output of a permuted node in the order that it had gets it so. */
static tn_status hand_on(permuter *t, int32_t value) {
  const int32_t made = t->notes.data[value].made;
  tn_status s = TN_OK;
  int32_t plain, back;
  while (!s && (back = find_back(t, value)) >= 0) {
    s = tn_graph_move_value(t->g, tn_graph_node(t->g, back)->node.outputs[0], made);
    if (!s) s = tn_graph_remove_node(t->g, back);
  }
  if (s || (!value_of(t, value)->users.n && !(value_of(t, value)->flags & TN_VALUE_OUTPUT)))
    return s;
  s = add_transpose(t, made, value_of(t, value)->type, true, &plain);
  return s ? s : tn_graph_move_value(t->g, value, plain);
}

/* Transposes that nobody reads any more would look like some that are saved. */
static tn_status drop_unread(permuter *t, const tn_node *reader) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < reader->n_inputs && !s; k++) {
    const tn_value *v = reader->inputs[k] < 0 ? NULL : value_of(t, reader->inputs[k]);
    if (v && v->producer >= 0 && place_of(t, v->producer) < 0 && !v->users.n &&
        !(v->flags & TN_VALUE_OUTPUT) && tn_is_region(tn_graph_node(t->g, v->producer)))
      s = tn_graph_remove_node(t->g, v->producer);
  }
  return s;
}

/* Appends node `at` of the network behind those that it reads from, unless it stays or is there. */
static void put_in_order(permuter *t, int32_t at, int32_t *order, int32_t *n_order) {
  if (!t->permuted[at]) return;
  t->permuted[at] = false;
  const tn_node *n = &tn_graph_node(t->g, t->nodes[at])->node;
  for (uint32_t k = 0; k < n->n_inputs; k++) {
    const int32_t from = n->inputs[k] < 0 ? -1 : place_of(t, value_of(t, n->inputs[k])->producer);
    if (from >= 0) put_in_order(t, from, order, n_order);
  }
  order[(*n_order)++] = t->nodes[at];
}

/* What a permuted node reads is made before it, and those that read what it made are gone before it
 * is. */
static tn_status permute_all(permuter *t) {
  const int32_t first = (int32_t)t->g->nodes.n;
  int32_t order[MAX_NODES], n = 0;
  tn_status s = TN_OK;
  for (int32_t k = 0; k < t->n_nodes; k++) put_in_order(t, k, order, &n);
  for (int32_t k = 0; k < n && !s; k++) s = permute_node(t, order[k]);
  for (int32_t k = n - 1; k >= 0 && !s; k--) {
    const tn_node node = tn_graph_node(t->g, order[k])->node;
    for (uint32_t o = 0; o < node.n_outputs && !s; o++)
      if (node.outputs[o] >= 0) s = hand_on(t, node.outputs[o]);
    if (!s) s = tn_graph_remove_node(t->g, order[k]);
    if (!s) s = drop_unread(t, &node);
  }
  return s ? s : tn_settle_from(t->p, t->g, first, t->diag);
}

/* ---- the pass ---- */

/* Places and notes for what earlier rounds have added. */
static tn_status begin_round(permuter *t) {
  const int64_t nodes = t->g->nodes.n - t->place.n, values = t->g->values.n - t->notes.n;
  if (tn_vec_room(t->p->a, &t->place, nodes) || tn_vec_room(t->p->a, &t->notes, values))
    return TN_ERR_MEMORY;
  while (t->place.n < t->g->nodes.n) t->place.data[t->place.n++] = NOWHERE;
  while (t->notes.n < t->g->values.n) t->notes.data[t->notes.n++] = (note){0};
  t->n_nodes = 0;
  t->round++;
  return TN_OK;
}

/* Looks around one transpose; *out_changed: something was permuted. */
static tn_status turn_around(permuter *t, int32_t id, bool *out_changed) {
  const tn_gnode *n = tn_graph_node(t->g, id);
  int32_t from;
  if (!n->alive || t->place.data[id] == LOOKED || !tn_is_region(n) || n->n_epilogue ||
      tn_pin_of(t->p, n) || !tn_region_transposes(&t->pattern, n->node.outputs[0], &from, t->perm))
    return TN_OK;
  t->rank = value_of(t, from)->type->rank;
  t->status = begin_round(t);
  if (!t->status && cost_of(t, value_of(t, n->node.outputs[0])->type))
    take_all(t, n->node.outputs[0]);
  if (t->n_nodes) build_network(t);
  if (t->n_nodes && !t->status && cut(t)) {
    *out_changed = true;
    t->status = permute_all(t);
  }
  for (int32_t k = 0; k < t->n_nodes; k++) t->place.data[t->nodes[k]] = NOWHERE;
  return t->status;
}

/* Around each of the transposes that there are now. */
static tn_status sweep(permuter *t, bool *out_changed) {
  const int64_t n = t->g->nodes.n;
  t->place.n = 0;
  tn_status s = begin_round(t);
  *out_changed = false;
  for (int64_t k = 0; k < n && !s; k++) s = turn_around(t, (int32_t)k, out_changed);
  return s || !*out_changed ? s : tn_graph_remove_dead(t->g);
}

tn_status tn_move_transposes(const tn_planner *p, tn_graph *g, bool *out_changed, tn_diag *diag) {
  permuter t = {.p = p, .g = g, .diag = diag, .pattern = {tn_graph_functions(), g}};
  bool changed = true;
  tn_status s = TN_OK;
  *out_changed = false;
  for (int k = 0; k < MAX_SWEEPS && changed && !s; k++) {
    s = sweep(&t, &changed);
    *out_changed = *out_changed || changed;
  }
  tn_vec_free(p->a, &t.place);
  tn_vec_free(p->a, &t.notes);
  tn_vec_free(p->a, &t.edges);
  if (!s && *out_changed) s = tn_merge_regions(p, g, &changed, diag);
  return s || !*out_changed ? s : tn_graph_remove_dead(g);
}
