/* Blobs of layers for which no file has weights: of the shapes that the layer's fields and bottom
 * ask for, and of the numbers that its fillers ask for, the same each time. Without a filler they
 * keep the size of what goes through them (like "xavier"); scales and variances are 1, biases and
 * means 0. */
#include <math.h>
#include <stdio.h>

#include "filler.h"

enum { MAX_BLOBS = 3, MAX_INPUTS = 4, MAX_LAYER_ATTRS = 32 };

typedef struct blob {
  int32_t rank;
  int64_t shape[TN_MAX_RANK];
  int64_t fan_in; /* 0: its numbers are not random, each is `value` */
  float value;
} blob;

bool caf_is_random(const tn_lowering *c) {
  return tn_low_int(c, "random_weights", 0) > 0 && caf_blob(c, 0) < 0;
}

/* Without a filler. */
static void fill(const blob *b, uint64_t seed, int64_t n, float *out) {
  const double width = b->fan_in ? sqrt(3.0 / (double)b->fan_in) : 0;
  for (int64_t k = 0; k < n; k++)
    out[k] = b->fan_in ? (float)((2 * caf_random(&seed) - 1) * width) : b->value;
}

static int32_t constant(const tn_lowering *c, const blob *b, tn_floats filler, uint64_t seed) {
  int64_t n, bytes;
  if (tn_dims_product(b->shape, b->rank, &n) || n < 1 || tn_mul_i64(n, sizeof(float), &bytes))
    return caf_invalid(c, "its fields ask for weights of an impossible size");
  float *data = c->call->host->alloc(c->call->ctx, (uint64_t)bytes);
  if (!data) return TN_ERR_MEMORY;
  const tn_tensor t = tn_tensor_make(TN_F32, b->rank, b->shape, data);
  int32_t value = TN_OK;
  if (filler.size == CAF_FILLER_FIELDS)
    value = caf_fill(c, filler.data, seed, &t, data);
  else
    fill(b, seed, n, data);
  if (!value) value = tn_emit_const(c->call, c->graph, &t);
  c->call->host->free(c->call->ctx, data);
  return value;
}

/* ---- what layers need: how many blobs, or a negative status ---- */

static blob one_dim(int64_t n, float value) {
  return (blob){.rank = 1, .shape = {n}, .value = value};
}

static int32_t with_bias(const tn_lowering *c, int64_t n, blob *out) {
  if (!tn_low_int(c, "bias_term", 1)) return 1;
  out[1] = one_dim(n, 0);
  return 2;
}

static int32_t of_convolution(const tn_lowering *c, bool is_transposed, blob *out) {
  const tn_tensor *x = tn_low_type(c, 0);
  const int64_t group = caf_group(c), filters = tn_low_int(c, "num_output", 0);
  if (x->rank < 3) return caf_invalid(c, "a convolution of a bottom of less than 3 dims");
  const int64_t channels = x->shape[1];
  if (group < 1 || filters < 1 || channels % group || filters % group)
    return caf_invalid(c, "group does not divide its channels and num_output");
  *out = (blob){.rank = x->rank, .fan_in = 1};
  out->shape[0] = is_transposed ? channels : filters;
  out->shape[1] = (is_transposed ? filters : channels) / group;
  const tn_status s = caf_kernel(c, x->rank - 2, out->shape + 2);
  if (s) return s;
  if (tn_dims_product(out->shape + 1, x->rank - 1, &out->fan_in) || out->fan_in < 1)
    return caf_invalid(c, "its fields ask for weights of an impossible size");
  return with_bias(c, filters, out);
}

static int32_t of_product(const tn_lowering *c, blob *out) {
  const tn_tensor *x = tn_low_type(c, 0);
  const int64_t units = tn_low_int(c, "num_output", 0);
  const bool transposed = tn_low_int(c, "transpose", 0);
  int64_t depth;
  int32_t axis = 0;
  const tn_status s = caf_axis(c, tn_low_int(c, "axis", 1), x->rank, &axis);
  if (s) return s;
  if (tn_dims_product(x->shape + axis, x->rank - axis, &depth) || depth < 1 || units < 1)
    return caf_invalid(c, "its fields ask for weights of an impossible size");
  *out = (blob){.rank = 2, .shape = {units, depth}, .fan_in = depth};
  if (transposed) out->shape[0] = depth, out->shape[1] = units;
  return with_bias(c, units, out);
}

static int32_t of_embedding(const tn_lowering *c, blob *out) {
  const int64_t rows = tn_low_int(c, "input_dim", 0), units = tn_low_int(c, "num_output", 0);
  *out = (blob){.rank = 2, .shape = {rows, units}, .fan_in = 3};
  return with_bias(c, units, out);
}

static int32_t of_scale(const tn_lowering *c, float value, blob *out) {
  const tn_tensor *x = tn_low_type(c, 0);
  const int64_t said = tn_low_int(c, "num_axes", 1);
  int32_t axis = 0;
  const tn_status s = caf_axis(c, tn_low_int(c, "axis", 1), x->rank, &axis);
  if (s) return s;
  const int64_t n = said < 0 ? x->rank - axis : said;
  if (n > x->rank - axis) return caf_invalid(c, "num_axes of more dims than its bottom has");
  out[0] = (blob){.rank = (int32_t)n, .value = value};
  for (int64_t k = 0; k < n; k++) out[0].shape[k] = x->shape[axis + k];
  out[1] = out[0], out[1].value = 0;
  return tn_low_int(c, "bias_term", 0) ? 2 : 1;
}

static int32_t of_channels(const tn_lowering *c, float value, blob *out) {
  const tn_tensor *x = tn_low_type(c, 0);
  if (x->rank < 2) return caf_invalid(c, "a bottom of less than 2 dims");
  *out = one_dim(tn_low_int(c, "channel_shared", 0) ? 1 : x->shape[1], value);
  return 1;
}

static int32_t of_batch_norm(const tn_lowering *c, blob *out) {
  const int32_t n = of_channels(c, 0, out);
  out[1] = out[0], out[1].value = 1;
  out[2] = one_dim(1, 1);
  return n < 0 ? n : 3;
}

static int32_t blobs_of(const tn_lowering *c, blob *out) {
  const char *op = tn_low_node(c)->op;
  if (strstr(op, "Convolution")) return of_convolution(c, false, out);
  if (!strcmp(op, "Deconvolution")) return of_convolution(c, true, out);
  if (!strcmp(op, "InnerProduct")) return of_product(c, out);
  if (!strcmp(op, "Embed")) return of_embedding(c, out);
  if (!strcmp(op, "BatchNorm")) return of_batch_norm(c, out);
  if (!strcmp(op, "Scale")) return of_scale(c, 1, out);
  if (!strcmp(op, "Bias")) return of_scale(c, 0, out);
  return of_channels(c, strcmp(op, "PReLU") ? 1 : 0.25F, out);
}

tn_status caf_with_blobs(const tn_lowering *c) {
  const tn_node *node = tn_low_node(c);
  const uint64_t seed = (uint64_t)tn_low_int(c, "random_weights", 0) << 32;
  blob blobs[MAX_BLOBS] = {0};
  int32_t inputs[MAX_INPUTS] = {tn_low_in(c, 0)};
  tn_attr attrs[MAX_LAYER_ATTRS];
  char op[64];
  const int32_t n = blobs_of(c, blobs);
  if (n < 0) return n;
  if (node->n_attrs > MAX_LAYER_ATTRS) return tn_low_unsupported(c, "so many fields");
  const uint32_t n_attrs = node->n_attrs;
  for (uint32_t k = 0; k < n_attrs; k++) attrs[k] = *node->attrs[k];
  snprintf(op, sizeof op, "caffe::%s", node->op);
  const tn_floats fillers[MAX_BLOBS] = {tn_low_floats(c, "weight_filler"),
                                        tn_low_floats(c, "bias_filler")};
  for (int32_t k = 0; k < n; k++) {
    inputs[1 + k] = constant(c, &blobs[k], fillers[k], seed + (uint64_t)k);
    if (inputs[1 + k] < 0) return inputs[1 + k];
  }
  return caf_done(c, tn_low_emit(c, op, inputs, (uint32_t)n + 1, attrs, n_attrs));
}
