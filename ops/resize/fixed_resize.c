/* tenon::FixedResize: inference and the reference. */
#include "fixed_resize.h"

#include "tenon/kit/infer.h"

tn_status fixed_resize_make(const tn_call *call, fixed_resize *out) {
  enum { MOST = 1 << 24 }; /* places are f32 */
  const tn_tensor *x = call->inputs[0];
  fixed_resize p = {.a = call->attrs};
  if (x->rank != 4) return call->host->fail(call->ctx, TN_ERR_SHAPE, "X is not of rank 4");
  p.batch = x->shape[0], p.h = x->shape[1], p.w = x->shape[2], p.channels = x->shape[3];
  const int64_t sizes[] = {p.h, p.w, p.a->height, p.a->width};
  for (int k = 0; k < 4; k++)
    if (sizes[k] < 1 || sizes[k] > MOST)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "heights and widths are not in 1 .. 16777216");
  *out = p;
  return TN_OK;
}

tn_status fixed_resize_infer(const tn_call *call) {
  fixed_resize p;
  const tn_status s = fixed_resize_make(call, &p);
  if (s) return s;
  const int64_t y[] = {p.batch, p.a->height, p.a->width, p.channels};
  tn_infer_shape(call, 0, call->inputs[0]->dtype, 4, y);
  return TN_OK;
}

tn_status fixed_resize_reference(const tn_call *call) {
  fixed_resize p;
  const tn_status s = fixed_resize_make(call, &p);
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  for (int64_t k = 0; !s && k < tn_elements(y); k++) {
    int64_t at[4], sum = 0;
    tn_unravel(k, y->shape, 4, at);
    const fixed_place v = fixed_resize_place(p.a, p.h, p.a->height, at[1]),
                      u = fixed_resize_place(p.a, p.w, p.a->width, at[2]);
    for (int corner = 0; corner < 4; corner++) {
      const int64_t row = corner / 2 ? v.second : v.first, col = corner % 2 ? u.second : u.first,
                    one = 1 << FIXED_RESIZE_BITS,
                    weight = (corner / 2 ? v.weight : one - v.weight) *
                             (corner % 2 ? u.weight : one - u.weight);
      sum += weight *
             tn_load_i64(x->dtype, x->data, ((at[0] * p.h + row) * p.w + col) * p.channels + at[3]);
    }
    const double half = ldexp(1, 2 * FIXED_RESIZE_BITS - 1);
    tn_store_f64(y->dtype, y->data, k, floor(((double)sum + half) / (2 * half)));
  }
  return s;
}
