/* Inside selection: candidates, the assignment problem over them, and the conversions between them.
 *
 * A form is how a value is stored: its dtype and its layout, and on which device. A candidate is a
 * kernel with the forms it wants for every input and gives for every output of one node. Where a
 * producer's form is not the one a consumer wants, a conversion (tenon::Cast, tenon::Reorder,
 * tenon::Transfer) stands between; one conversion per value and form serves all consumers. */
#ifndef TN_PLAN_SELECT_H
#define TN_PLAN_SELECT_H

#include "plan/plan.h"
#include "plan/select/match.h"

typedef struct tn_form {
  uint32_t dtype, device;
  tn_layout layout;
} tn_form;

static inline bool tn_form_equal(tn_form a, tn_form b) {
  return a.dtype == b.dtype && a.layout == b.layout && a.device == b.device;
}

typedef struct tn_candidate {
  const tn_kerneldef *def;
  tn_kernel_plan plan;
  tn_form *in, *out; /* per input and output of the node */
  double cost_ns;
  uint32_t device;     /* as in tn_choice */
  bool agnostic;       /* one of several layouts of a kernel that takes any */
  tn_layout layout;    /* the layout that is not plain, if it has one: what starts prefer */
  const char *refused; /* dominated by another candidate: why */
} tn_candidate;

typedef TN_VEC(tn_candidate) tn_candidates;
typedef TN_VEC(tn_refusal) tn_refusals;

typedef struct tn_node_options {
  tn_candidates candidates; /* once they are gathered, in the selection's arena */
  tn_refusals refusals;
  int32_t chosen; /* index of a candidate; -1: none */
  int32_t like;   /* a node before it, whose options these are; -1: its own */
  double flops;
  /* Only where devices are wanted. Per device, the CPU counted: why the node is not there, in the
   * graph's memory; NULL: it could be. */
  const char **away;
  bool is_host_bound; /* by nature: strings, lists, subgraphs, sizes that only a run can tell */
} tn_node_options;

/* How to get a value from one form to another in one step, and what that costs. */
typedef struct tn_conversion {
  tn_form from, to;
  const tn_kerneldef *def; /* NULL: no kernel does it */
  tn_kernel_plan plan;
  double cost_ns;
  const char *reason;
} tn_conversion;

typedef TN_VEC(tn_conversion) tn_conversions;

typedef struct tn_made { /* a constant in another form */
  int32_t value;
  tn_tensor type;
  tn_const *constant; /* a reference; NULL never */
} tn_made;

enum { TN_SEEN = 128, TN_SEEN_EACH = 2 };

typedef struct tn_selection {
  const tn_planner *p;
  tn_graph *g;
  tn_diag *diag;
  tn_arena arena; /* forms, dies with the pass; reasons live in the graph's arena */
  tn_node_options *nodes;
  tn_candidates candidates; /* room for those of the node that is looked at */
  tn_refusals refusals;
  /* Nodes that others may be like, the last ones of each hash; -1: none; see repeats.c */
  int32_t seen[TN_SEEN][TN_SEEN_EACH];
  tn_map reasons; /* texts -> themselves, in the graph's arena */
  int32_t n_nodes;
  tn_conversions *conversions; /* per value */
  int32_t alike[8]; /* 1 + the values that conversions were last chosen for; 0: none yet */
  size_t n_alike;
  /* Why kernels are refused that lack instruction sets: there are many, of few sets. */
  struct {
    uint64_t missing;
    const char *reason;
  } isa_reasons[8];
  int32_t n_values;
  TN_VEC(tn_layout) layouts; /* plain first, then all that some kernel wants */
  TN_VEC(tn_made) made;
  const tn_opdef *cast, *reorder, *transfer; /* NULL: no plug-in offers them */
  bool is_tuned;                             /* there are measured costs, or they are being taken */
  bool measures; /* they are taken; decided once, since constants are fetched for it */
  bool asked;    /* for one of them */
} tn_selection;

/* gather.c: fills options of a node: every kernel of its operator in every form it could
 * take, the dominated ones dropped, pins obeyed. No candidate is no error; the refusals then say
 * why. */
tn_status tn_select_gather(tn_selection *s, int32_t node);
/* Why a kernel is not taken, in memory of the graph: the plan keeps no plug-in that it does not
 * use. */
tn_status tn_select_refusal(tn_selection *s, const tn_kerneldef *def, const char *reason,
                            tn_refusal *out);
/* A reason in memory of the graph; the same for many nodes, it is there once. NULL: no memory. */
const char *(tn_select_reason)(tn_selection *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds the layouts that kernels of this node want to s->layouts. */
tn_status tn_select_layouts(tn_selection *s, int32_t node);

/* repeats.c: the node before it whose options are those of this one, too; -1: none. */
int32_t tn_select_repeated(tn_selection *s, int32_t node);

/* cost.c: what a kernel costs in this call: as measured, or `estimate`. When the model is
 * being tuned, it is timed if that is not known yet. */
tn_status tn_select_cost(const tn_selection *s, const tn_gnode *node, const tn_kerneldef *def,
                         const tn_kernel_plan *plan, const tn_call *call, double estimate,
                         double *out_ns);

/* The form a value has in the graph as it came from the passes before. */
static inline tn_form tn_select_original(const tn_selection *s, int32_t value) {
  const tn_tensor *type = tn_graph_val(s->g, value)->type;
  return (tn_form){.dtype = type->dtype, .layout = type->layout};
}

/* convert.c */
/* One step from a form to another (dtype or layout, not both). def is NULL if no kernel does it.
 * The answer lives until the next call for the same value. */
tn_status tn_select_conversion(tn_selection *s, int32_t value, tn_form from, tn_form to,
                               const tn_conversion **out_conversion);
/* The attribute of a conversion that says what it gives, and its value. */
const char *tn_select_attribute(const tn_selection *s, const tn_opdef *op, tn_form to,
                                int64_t *out_value);
double tn_select_transfer_cost(const tn_selection *s, int32_t value, uint32_t from, uint32_t to);
/* The form from which `to` is reached in one step when the value stands in `home`. */
tn_form tn_select_step_before(tn_form home, tn_form to);
/* A constant in another form. *out_const is NULL if it cannot be made; the selection keeps it
 * until the pass ends. */
tn_status tn_select_constant(tn_selection *s, int32_t value, tn_form form, tn_tensor *out_type,
                             const tn_const **out_const);

/* partition.c: of nodes that could run on several devices, one device each; candidates on others
 * go. Nodes that are not on a device where the user wants all to be are reported. */
tn_status tn_select_partition(tn_selection *s);
/* min_cut.c: each vertex on one of two sides, so that what the edges cost that lead from side 0 to
 * side 1 is least. Vertex 0 is on side 0, vertex 1 on side 1. Costs are not negative. */
typedef struct tn_edge {
  int32_t from, to;
  double cost; /* TN_CUT_NEVER and above: is not cut */
} tn_edge;
#define TN_CUT_NEVER 1e15
tn_status tn_min_cut(const tn_allocator *a, const tn_edge *edges, int64_t n_edges,
                     int32_t n_vertices, uint8_t *out_side);

/* solve.c: sets `chosen` of every node so that kernels and conversions cost least
 * together, as far as found. A conversion that no kernel does counts as very dear, so it is only
 * chosen where there is no other way. */
tn_status tn_select_solve(tn_selection *s);

typedef struct tn_formed { /* value `value` in form `form` is value `is` */
  int32_t value, is;
  tn_form form;
} tn_formed;

typedef struct tn_applier {
  tn_selection *s;
  TN_VEC(tn_formed) placed;
  tn_form *home; /* per value of the graph as it was */
} tn_applier;

/* place.c: the value that holds `value` in this form; made where it is not there yet. Negative: a
 * status. */
int32_t tn_select_place(tn_applier *a, int32_t value, tn_form form);

/* apply.c: puts the conversions in and sets the choice of every node. */
tn_status tn_select_apply(tn_selection *s);
/* To take a chunk of another thread's brings its data from core to core, too. */
void tn_choice_set_chunks(tn_choice *choice);

#endif
