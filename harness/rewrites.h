/* Graphs in which a rewrite may find its pattern. */
#ifndef TN_HARNESS_REWRITES_H
#define TN_HARNESS_REWRITES_H

#include "harness/problem.h"

enum {
  TREE_NODES = 5,
  TREE_SLOTS = 6,
  TREE_SHARED = 3, /* slots of which other slots may read what is put into them */
  TREE_FORMS = 4,
  TREE_LEAVES = 24,
  TREE_FILLS = 4 /* the last with infinities and what is no number */
};

typedef struct tree_form { /* one way to call an operator, from a case or made up */
  uint32_t n_in, n_out, n_attrs;
  bool there[TREE_SLOTS], constant[TREE_SLOTS];
  tn_tensor in[TREE_SLOTS]; /* with data where constant */
  check_spec spec[TREE_SLOTS];
  const tn_attr *const *attrs;
} tree_form;

typedef struct tree_op {
  const tn_opdef *op;
  tree_form *forms;
  int32_t n_forms;
} tree_op;

typedef struct tree_ops { /* those that the plug-in's file names come first: n_named */
  check_env *env;
  tn_arena arena;
  tree_op *ops;
  int32_t n, n_named;
} tree_ops;

/* SLOT_FORM: a fresh input, or what the form says; SLOT_SAME: what input `slot` of `node` is */
typedef enum tree_slot_kind { SLOT_FORM, SLOT_CONST, SLOT_NODE, SLOT_SAME } tree_slot_kind;

typedef struct tree_slot {
  tree_slot_kind kind;
  int32_t node, slot;
} tree_slot;

typedef struct tree_node {
  int32_t op, form; /* indices into tree_ops and its forms */
  tree_slot slots[TREE_SLOTS];
} tree_node;

/* Nodes whose inputs are one another's first outputs. */
typedef struct tree {
  tree_node nodes[TREE_NODES];
  int32_t n, root, top; /* root: of the rewrite; top: what nobody reads */
} tree;

typedef struct tree_leaf {
  tn_tensor type;
  bool constant;
  void *data[TREE_FILLS]; /* of a constant, the first */
} tree_leaf;

/* A tree with the types of all that it reads. */
typedef struct tree_built {
  tn_arena arena;
  tn_planner planner;
  tn_graph *graph; /* bound and inferred */
  int32_t root;    /* node in it */
  tree_leaf leaves[TREE_LEAVES];
  int32_t n_leaves;
} tree_built;

/* rewrite_graphs.c */

void tree_ops_open(tree_ops *o, check_env *env);
void tree_ops_close(tree_ops *o);
/* False: the nodes do not fit together. To be closed in any case. */
bool tree_build(const tree_ops *o, const tree *t, tree_built *out);
void tree_close(tree_built *b);
/* The same graph as it would stand in a file; NULL: it cannot be made. */
tn_graph *tree_plain(const tree_ops *o, const tree *t, const tree_built *b);
/* "Relu(Add(x, c))" */
void tree_text(const tree_ops *o, const tree *t, char *buf, size_t size);
/* A tree of one node that is also the root. */
tree tree_of(int32_t op, int32_t form);
/* Changes of a tree, numbered from 0; ops: how many of the operators may be used. False: there is no change of
 * that number. */
bool tree_change(const tree_ops *o, const tree *from, int64_t number, int32_t ops, tree *out);
int64_t tree_n_changes(const tree_ops *o, const tree *from, int32_t ops);

#endif
