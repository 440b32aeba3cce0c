/* Reading an MNN network into a graph: what the files of this folder offer each other.
 *
 * Integers of MNN have 32 bits, its truth values, too. Values have the order of dims that their
 * shape says: N, C, H, W where the runtime may choose blocks of channels (NC4HW4). */
#ifndef TN_FORMATS_MNN_READER_H
#define TN_FORMATS_MNN_READER_H

#include <string.h>

#include "base/base.h"
#include "schema.h"
#include "tenon/graph.h"

/* A code stands for (code - zero) * step, and saturates at `least` and `most`. */
typedef struct mnn_steps {
  float step, zero, least, most; /* step 0: there are none */
} mnn_steps;

/* Orders of dims that MNN knows; MNN_BLOCKS: channels in fours. */
enum { MNN_NCHW, MNN_NHWC, MNN_BLOCKS };

/* How an operator is computed: in numbers as they are, between values rounded to their steps, the
 * same but with codes cut down to whole ones, as what makes no new codes, as a mean of codes. */
typedef enum mnn_how { MNN_IN_NUMBERS, MNN_ROUNDED, MNN_CUT, MNN_MOVED, MNN_MEAN } mnn_how;

typedef struct mnn_value {
  int32_t id;      /* of the graph; TN_NO_ID: nothing has made it */
  int32_t rounded; /* the same, rounded to its steps; is_rounded: it is there */
  bool is_rounded;
  bool is_joined; /* out of several values */
  mnn_steps steps;
  int64_t layout;
  tn_flat_table blob; /* of a constant */
  bool is_read;       /* by an operator; known where outputs are looked for */
} mnn_value;

/* Bytes of a file. */
typedef struct mnn_span {
  const uint8_t *data;
  uint64_t size;
} mnn_span;

typedef struct mnn_reader {
  const tn_source *source;
  const tn_graph_api *api;
  tn_allocator allocator;
  tn_arena arena;
  tn_flat flat;
  tn_flat_table net;
  tn_graph *g;
  tn_flat_vector names;
  mnn_value *values;       /* as many as there are names */
  mnn_span beside;         /* the file of weights */
  const char *beside_name; /* NULL: it was not opened */
  uint64_t room;           /* bytes of weights that may still be kept otherwise than in the file */
  /* the operator that is read */
  tn_flat_table op;
  const tn_format_op *row;
  const char *name; /* "": it has none */
  uint64_t at;
  tn_flat_table param;
  tn_flat_vector in, out;
  mnn_how how;
  uint32_t depth, n_seen; /* of parts; values that parts see by a name made for that */
  uint64_t n_ops;         /* that were read: parts may be used more than once */
  tn_status status;       /* the first thing that went wrong while nodes were added */
} mnn_reader;

/* format.c: the row of an operator's number; NULL: there is none. */
const tn_format_op *mnn_row(int64_t code);

/* ---- net.c ---- */

tn_status mnn_read(const tn_source *source, tn_graph *g);
/* "<path>: operator 'conv1' (Convolution): <message>, at byte <at>" */
tn_status(mnn_fail)(const mnn_reader *r, tn_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* TN_OK, or what is wrong with the FlatBuffer so far. */
tn_status mnn_status(const mnn_reader *r);
/* These operators in order, as nodes of r->g. */
tn_status mnn_read_ops(mnn_reader *r, const tn_flat_vector *ops);
/* The value of input k; TN_NO_ID: there is none, which is kept in r->status. */
int32_t mnn_in(mnn_reader *r, uint64_t k);
/* The value of the graph with the name of output k. */
int32_t mnn_out(mnn_reader *r, uint64_t k);
/* Output k is this value of the graph. */
void mnn_set(mnn_reader *r, uint64_t k, int32_t id);
/* Elements of input k, a constant of integers; false: it is none. */
bool mnn_ints(mnn_reader *r, uint64_t k, tn_flat_vector *out);
/* The order of dims that MNN has input k in. */
int64_t mnn_layout(const mnn_reader *r, uint64_t k);

/* ---- node.c ---- */

/* The operator that is read, as nodes of ai.onnx. */
tn_status mnn_node(mnn_reader *r);

/* ---- constant.c ---- */

/* An element type of MNN as values have it; TN_NONE: none. */
uint32_t mnn_dtype(int64_t type);
/* A constant of these elements, which lie in a file, or in the arena. */
int32_t mnn_constant(mnn_reader *r, int32_t id, mnn_span bytes, const tn_tensor *type);
int32_t mnn_number(mnn_reader *r, uint32_t dtype, double number);
/* n -1: one number without dims. */
int32_t mnn_i64s(mnn_reader *r, const int64_t *data, int64_t n);
tn_status mnn_const(mnn_reader *r);

/* ---- codes.c ---- */

/* The steps of tensors, of which `described` tells. */
tn_status mnn_read_steps(mnn_reader *r, const tn_flat_vector *described);
/* Values around what moves codes have its steps where the file says none. */
void mnn_spread_steps(const mnn_reader *r, const tn_flat_vector *ops);
mnn_how mnn_how_computed(const mnn_reader *r);
/* The value rounded to its steps. */
int32_t mnn_rounded(mnn_reader *r, mnn_value *v);

/* ---- weights.c ---- */

mnn_span mnn_span_of(const tn_flat_vector *v);
/* Part k of what lies in the file beside the network: `list` says where it begins, and how long the
 * parts are that follow each other. No bytes: there is no such part. */
bool mnn_beside(mnn_reader *r, const tn_flat_vector *list, uint64_t k, mnn_span *out);

#endif
