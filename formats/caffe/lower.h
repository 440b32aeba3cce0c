/* Lowering layers of Caffe: reading a node, and writing operators of ai.onnx in its place. Ids of
 * values below TN_NO_ID are statuses; whoever is given one answers it. */
#ifndef TN_FORMATS_CAFFE_LOWER_H
#define TN_FORMATS_CAFFE_LOWER_H

#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/onnx_dtype.h"
#include "tenon/kit/pattern.h"

typedef struct caf {
  const tn_call *call;
  tn_graph *g;
  int32_t node;
} caf;

caf caf_open(const tn_call *call, tn_graph *g, int32_t node);

/* The node; valid until one is added, for nodes move then. */
const tn_node *caf_node(const caf *c);
int64_t caf_int(const caf *c, const char *name, int64_t missing);
double caf_float(const caf *c, const char *name, double missing);
tn_ints caf_ints(const caf *c, const char *name);
tn_floats caf_floats(const caf *c, const char *name);
bool caf_has(const caf *c, const char *name);

/* Inputs: bottoms, then blobs; TN_NO_ID and NULL behind the last. */
uint32_t caf_bottoms(const caf *c);
int32_t caf_in(const caf *c, uint32_t k);
const tn_tensor *caf_type(const caf *c, uint32_t k);
int32_t caf_blob(const caf *c, uint32_t k);
const tn_tensor *caf_blob_type(const caf *c, uint32_t k);
/* The layer's axis, from 0 up to and with `most`. */
tn_status caf_axis(const caf *c, int64_t axis, int32_t most, int32_t *out);

int32_t caf_emit(const caf *c, const char *op, const int32_t *inputs, uint32_t n_inputs,
                 const tn_attr *attrs, uint32_t n_attrs);
int32_t caf_1(const caf *c, const char *op, int32_t x);
int32_t caf_2(const caf *c, const char *op, int32_t a, int32_t b);
int32_t caf_number(const caf *c, double number);
int32_t caf_reshape(const caf *c, int32_t x, int32_t rank, const int64_t *shape);
int32_t caf_1_int(const caf *c, const char *op, int32_t x, const char *name, int64_t value);
/* shift + scale * x */
int32_t caf_linear(const caf *c, int32_t x, double scale, double shift);

tn_status caf_done(const caf *c, int32_t value);
tn_status caf_unsupported(const caf *c, const char *what);
tn_status caf_invalid(const caf *c, const char *what);

#endif
