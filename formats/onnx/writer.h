/* Writing a graph as an ONNX file: what the write_*.c files offer each other. */
#ifndef TN_FORMATS_ONNX_WRITER_H
#define TN_FORMATS_ONNX_WRITER_H

#include "put.h"
#include "reader.h"

/* Imported where lowerings have written nodes of the newest form: the first version that has all of
 * these, not a later one, so that other tools can read the file. */
enum { ONNX_LIFTED_OPSET = 24 };

/* Names that the values of one graph have in the file. */
typedef struct onnx_scope {
  const struct onnx_scope *up; /* of the graph around it; NULL: none */
  const tn_graph *g;
  const char **names; /* per value; NULL: none yet */
  bool *wanted;       /* per value: a constant that something reads */
  tn_map constants;   /* name -> value, of those that are written */
  bool in_function;
} onnx_scope;

typedef struct onnx_writer {
  onnx_put out;
  const tn_graph_api *api;
  tn_arena arena;
  tn_map taken;                 /* all names of the model */
  TN_VEC(const char *) domains; /* that nodes use, */
  tn_map domains_seen;          /* each once */
  int64_t n_made;               /* names made up so far */
  int32_t version;              /* of the default operator set, as imported */
  bool newest;                  /* some node needs the newest operator set */
  uint64_t data_from;           /* bytes of tensors that go to the second file */
  TN_VEC(onnx_chunk) data;      /* of it; begin: where a chunk stands there */
  int64_t data_size;
} onnx_writer;

/* write_names.c. Failures stick in w->out.status. */
void onnx_note_domain(onnx_writer *w, const char *domain);
void onnx_survey(onnx_writer *w,
                 const tn_graph *g); /* notes names, domains, versions; of subgraphs, too */
void onnx_scope_open(onnx_writer *w, onnx_scope *s, const onnx_scope *up, const tn_graph *g);
void onnx_scope_close(onnx_scope *s);
/* Name of a value in the file; "" for -1. */
const char *onnx_name(onnx_writer *w, onnx_scope *s, int32_t value);
const char *onnx_new_name(onnx_writer *w, const char *like);

/* write_tensor.c */
const char *onnx_layout_text(tn_layout layout);
void onnx_put_tensor(onnx_writer *w, uint32_t number, const char *name, const tn_tensor *t);
void onnx_put_type(onnx_writer *w, uint32_t number, const tn_tensor *t,
                   const char *const *dim_names);
void onnx_put_value_info(onnx_writer *w, uint32_t number, onnx_scope *s, int32_t value);
/* The same with a type that is not the value's own. */
void onnx_put_value_as(onnx_writer *w, uint32_t number, onnx_scope *s, int32_t value,
                       const tn_tensor *t);

/* write_data.c */
/* Notes elements for the second file and puts the fields that say so. False: they belong into the
 * tensor itself. */
bool onnx_put_outside(onnx_writer *w, const void *data, int64_t bytes);
tn_status onnx_flush_data(onnx_writer *w);

/* write_node.c, write_region.c, write_epilogue.c */
void onnx_put_node(onnx_writer *w, uint32_t number, onnx_scope *s, int32_t node);
void onnx_put_attr(onnx_writer *w, uint32_t number, onnx_scope *s, const tn_attr *a,
                   const tn_graph *const *graphs);
void onnx_put_str_attr(onnx_writer *w, const char *name, const char *text);
void onnx_put_constant(onnx_writer *w, uint32_t number, const char *name, const tn_tensor *t);
/* Attributes of nodes of the domain "tenon", in words. True if `a` was one of them. */
bool onnx_put_tenon_attr(onnx_writer *w, const tn_attr *a);
void onnx_put_regions(onnx_writer *w, onnx_scope *s, int32_t node);
/* The steps fused onto a node, as the nodes they were. `first` is what the node gives, the last
 * step gives its output 0. */
void onnx_put_epilogue(onnx_writer *w, uint32_t number, onnx_scope *s, int32_t node,
                       const char *first);

/* The first operator set that has a node for the step. */
int32_t onnx_epilogue_since(const tn_epilogue *e);

/* write_graph.c */
void onnx_put_graph(onnx_writer *w, uint32_t number, const onnx_scope *up, const tn_graph *g,
                    const char *name);
/* The nodes of a graph, and its constants as nodes where there can be no initializers. */
void onnx_put_nodes(onnx_writer *w, uint32_t number, onnx_scope *s);

#endif
