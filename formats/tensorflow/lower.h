/* Lowering operators of TensorFlow: reading a node, and writing operators of ai.onnx and tflite in
 * its place. Ids of values below TN_NO_ID are statuses; whoever is given one answers it. */
#ifndef TN_FORMATS_TENSORFLOW_LOWER_H
#define TN_FORMATS_TENSORFLOW_LOWER_H

#include "tenon/kit/axis.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/onnx_dtype.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/text.h"

typedef struct low {
  const tn_call *call;
  tn_graph *g;
  int32_t node;
} low;

static inline low lo_open(const tn_call *call, tn_graph *g, int32_t node) {
  return (low){call, g, node};
}

int64_t lo_int(const low *l, const char *name, int64_t missing);
double lo_float(const low *l, const char *name, double missing);
tn_ints lo_ints(const low *l, const char *name);
bool lo_says(const low *l, const char *name, const char *text); /* is the attribute this text? */

int32_t lo_in(const low *l, uint32_t k);
const tn_tensor *lo_type(const low *l, uint32_t k);
int32_t lo_in_i64(const low *l, uint32_t k);
tn_status lo_rank(const low *l, uint32_t k, int32_t rank);
tn_status lo_const_ints(const low *l, uint32_t k, int64_t *out, int64_t most, int64_t *out_n);

/* op: of ai.onnx, or "tflite::X", or "tenon::X". */
tn_status lo_emit_many(const low *l, const char *op, const int32_t *in, uint32_t n_in,
                       const tn_attr *attrs, uint32_t n_attrs, uint32_t n_out, int32_t *out);
int32_t lo_emit(const low *l, const char *op, const int32_t *in, uint32_t n_in,
                const tn_attr *attrs, uint32_t n_attrs);
int32_t lo_1(const low *l, const char *op, int32_t x);
int32_t lo_2(const low *l, const char *op, int32_t a, int32_t b);
int32_t lo_3(const low *l, const char *op, int32_t a, int32_t b, int32_t c);
int32_t lo_1_int(const low *l, const char *op, int32_t x, const char *name, int64_t value);
int32_t lo_number(const low *l, uint32_t dtype, double number);
int32_t lo_int_list(const low *l, const int64_t *data, int64_t n); /* i64 */
int32_t lo_cast(const low *l, int32_t x, uint32_t dtype);
int32_t lo_reshape(const low *l, int32_t x, int32_t rank, const int64_t *shape);
int32_t lo_transpose(const low *l, int32_t x, int32_t rank, const int32_t *perm);
int32_t lo_concat(const low *l, const int32_t *parts, uint32_t n, int64_t axis);
/* Elements from .. to of one dim. */
int32_t lo_slice(const low *l, int32_t x, int64_t dim, int64_t from, int64_t to);
int32_t lo_reduce(const low *l, const char *op, int32_t x, const int64_t *axes, int64_t n,
                  int64_t keeps);
int32_t lo_zeros(const low *l, uint32_t dtype, int32_t rank, const int64_t *shape);
int32_t lo_unsqueeze(const low *l, int32_t x, int64_t axis);
int32_t lo_squeeze(const low *l, int32_t x, int64_t axis);

/* data_format: are channels behind space (NHWC, NDHWC)? */
bool lo_channels_are_last(const low *l);
/* Between [N, C, space] and the node's own order. */
int32_t lo_channels_first(const low *l, int32_t x, int32_t rank);
int32_t lo_channels_back(const low *l, int32_t x, int32_t rank);

tn_status lo_done(const low *l, int32_t value);
tn_status lo_done_many(const low *l, const int32_t *values, uint32_t n);
tn_status lo_unsupported(const low *l, const char *what);

#endif
