/* Col2Im: an item is one channel of one image. The reference asks for every element of the image
 * which blocks reach it. */
#include <string.h>

#include "image.gen.h"
#include "tenon/kit/infer.h"

/* Per spatial dim: image, block, number of blocks, stride, dilation, pad before. */
typedef struct columns {
  int32_t rank;
  int64_t image[TN_MAX_RANK], block[TN_MAX_RANK], count[TN_MAX_RANK], stride[TN_MAX_RANK],
      dilation[TN_MAX_RANK], pad[TN_MAX_RANK];
  int64_t n_image, n_block, n_count; /* products */
} columns;

static tn_status size_lists(const tn_call *call, const columns *c) {
  const tn_col2_im_attrs *a = call->attrs;
  int64_t n = c->rank;
  if ((!a->strides.size || a->strides.size == n) &&
      (!a->dilations.size || a->dilations.size == n) && (!a->pads.size || a->pads.size == 2 * n))
    return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "strides and dilations need %lld entries, pads %lld", (long long)n,
                          (long long)(2 * n));
}

static tn_status columns_of(const tn_call *call, columns *c) {
  const tn_col2_im_attrs *a = call->attrs;
  int64_t n = 0, n_block = 0;
  *c = (columns){.n_image = 1, .n_block = 1, .n_count = 1};
  tn_status s = tn_const_ints(call, 1, c->image, TN_MAX_RANK - 2, &n);
  if (!s) s = tn_const_ints(call, 2, c->block, TN_MAX_RANK - 2, &n_block);
  c->rank = (int32_t)n;
  if (!s && n != n_block)
    s = call->host->fail(call->ctx, TN_ERR_SHAPE, "image_shape has %lld dims, block_shape %lld",
                         (long long)n, (long long)n_block);
  if (!s) s = size_lists(call, c);
  for (int32_t k = 0; k < c->rank && !s; k++) {
    c->stride[k] = a->strides.size ? a->strides.data[k] : 1;
    c->dilation[k] = a->dilations.size ? a->dilations.data[k] : 1;
    c->pad[k] = a->pads.size ? a->pads.data[k] : 0;
    int64_t after = a->pads.size ? a->pads.data[c->rank + k] : 0, most = INT32_MAX;
    if (c->image[k] < 0 || c->block[k] < 1 || c->stride[k] < 1 || c->dilation[k] < 1 ||
        c->pad[k] < 0 || after < 0 || c->image[k] > most || c->block[k] > most ||
        c->stride[k] > most || c->dilation[k] > most || c->pad[k] > most || after > most)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "sizes, strides, dilations or pads of dim %d are out of range", k);
    int64_t free_steps = c->image[k] + c->pad[k] + after - c->dilation[k] * (c->block[k] - 1) - 1;
    c->count[k] = free_steps < 0 ? 0 : free_steps / c->stride[k] + 1;
    s = tn_mul_i64(c->n_image, c->image[k], &c->n_image) ||
                tn_mul_i64(c->n_block, c->block[k], &c->n_block) ||
                tn_mul_i64(c->n_count, c->count[k], &c->n_count)
            ? call->host->fail(call->ctx, TN_ERR_OVERFLOW, "the image is too large")
            : TN_OK;
  }
  return s;
}

tn_status col2_im_flops(const tn_call *call, double *out_flops) {
  *out_flops = (double)tn_elements(call->inputs[0]);
  return TN_OK;
}

tn_status col2_im_infer(const tn_call *call) {
  columns c;
  const tn_tensor *x = call->inputs[0];
  tn_status s = columns_of(call, &c);
  if (s) return s;
  if (x->rank != 3 || x->shape[1] % c.n_block || x->shape[2] != c.n_count)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the input must be [N, C * %lld, %lld]",
                            (long long)c.n_block, (long long)c.n_count);
  int64_t dims[TN_MAX_RANK] = {x->shape[0], x->shape[1] / c.n_block};
  for (int32_t k = 0; k < c.rank; k++) dims[2 + k] = c.image[k];
  tn_infer_shape(call, 0, x->dtype, 2 + c.rank, dims);
  return TN_OK;
}

/* Place in the image of element `tap` of block `place`; -1: in the padding. */
static int64_t place_of(const columns *c, int64_t tap, int64_t place) {
  int64_t index = 0, step = 1;
  for (int32_t k = c->rank - 1; k >= 0; k--) {
    int64_t at =
        place % c->count[k] * c->stride[k] + tap % c->block[k] * c->dilation[k] - c->pad[k];
    if (at < 0 || at >= c->image[k]) return -1;
    index += at * step;
    step *= c->image[k];
    tap /= c->block[k];
    place /= c->count[k];
  }
  return index;
}

tn_status col2_im_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *y = call->outputs[0];
  out->items[0] = y->shape[0] * y->shape[1];
  out->cost_ns = (double)tn_elements(call->inputs[0]) * 10 + 200;
  return TN_OK;
}

#define ADD(code, T, W) \
  case code: ((T *)y)[to] = (T)((W)((T *)y)[to] + (W)((const T *)x)[from]); break;

static void add(uint32_t dtype, void *y, int64_t to, const void *x, int64_t from) {
  switch (dtype) {
    ADD(TN_F32, float, float)
    ADD(TN_F64, double, double)
    ADD(TN_I8, int8_t, int)
    ADD(TN_U8, uint8_t, int)
    ADD(TN_I16, int16_t, int)
    ADD(TN_U16, uint16_t, int)
    ADD(TN_I32, int32_t, uint32_t)
    ADD(TN_U32, uint32_t, uint32_t)
    ADD(TN_I64, int64_t, uint64_t)
    ADD(TN_U64, uint64_t, uint64_t)
    default:
      tn_store_f64(dtype, y, to, tn_load_f64(dtype, y, to) + tn_load_f64(dtype, x, from));
      break;
  }
}

tn_status col2_im_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  columns c;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t bytes = tn_dtype(y->dtype)->bits / 8;
  (void)stage, (void)worker;
  tn_status s = columns_of(call, &c);
  if (s) return s;
  for (int64_t item = begin; item < end; item++) {
    char *image = (char *)y->data + item * c.n_image * bytes;
    const char *from = (const char *)x->data + item * c.n_block * c.n_count * bytes;
    memset(image, 0, (size_t)(c.n_image * bytes));
    for (int64_t k = 0; k < c.n_block * c.n_count; k++) {
      int64_t to = place_of(&c, k / c.n_count, k % c.n_count);
      if (to >= 0) add(y->dtype, image, to, from, k);
    }
  }
  return TN_OK;
}

tn_status col2_im_reference(const tn_call *call) {
  columns c;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  bool exact = tn_dtype_exact_i64(y->dtype);
  tn_status s = columns_of(call, &c);
  for (int64_t k = 0; !s && k < tn_elements(y); k++) {
    double sum = 0;
    uint64_t whole = 0;
    for (int64_t tap = 0; tap < c.n_block; tap++)
      for (int64_t place = 0; place < c.n_count; place++) {
        if (place_of(&c, tap, place) != k % c.n_image) continue;
        int64_t from = (k / c.n_image * c.n_block + tap) * c.n_count + place;
        if (exact)
          whole += (uint64_t)tn_load_i64(x->dtype, x->data, from);
        else
          sum += tn_load_f64(x->dtype, x->data, from);
      }
    if (exact)
      tn_store_i64(y->dtype, y->data, k, (int64_t)whole);
    else
      tn_store_f64(y->dtype, y->data, k, sum);
  }
  return s;
}
