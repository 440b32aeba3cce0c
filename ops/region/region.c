/* tenon::Region and tenon::Reorder: inference and references. The host types a Region when it makes
 * it. */
#include <string.h>

#include "region.gen.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/tensor.h"

tn_status region_infer(const tn_call *call) {
  return call->host->fail(call->ctx, TN_ERR_STATE,
                          "a tenon::Region is made by lowering only; a model cannot hold one");
}

tn_status reorder_infer(const tn_call *call) { return tn_infer_like(call, 0, 0); }

/* Storage element `to` of output 0 becomes storage element `from` of in; NULL: zero. */
static tn_status reference_move(const tn_call *call, int64_t to, const tn_tensor *in,
                                int64_t from) {
  const tn_tensor *out = call->outputs[0];
  const tn_dtype_info *info = tn_dtype(out->dtype);
  if (out->dtype == TN_STRING) {
    tn_str text = {"", 0};
    if (in) text = ((const tn_str *)in->data)[from];
    return call->host->string_set(call->ctx, 0, to, text.data, text.size);
  }
  if (info->bits >= 8) {
    uint8_t *dst = (uint8_t *)out->data + to * info->bits / 8;
    if (in)
      memcpy(dst, (const uint8_t *)in->data + from * info->bits / 8, info->bits / 8);
    else
      memset(dst, 0, info->bits / 8);
  } else if (info->is_int) {
    tn_store_i64(out->dtype, out->data, to, in ? tn_load_i64(in->dtype, in->data, from) : 0);
  } else {
    tn_store_f64(out->dtype, out->data, to, in ? tn_load_f64(in->dtype, in->data, from) : 0);
  }
  return TN_OK;
}

tn_status region_reference(const tn_call *call) {
  const tn_tensor *fill = call->region_fill >= 0 ? call->inputs[call->region_fill] : NULL;
  tn_status s = TN_OK;
  for (int64_t k = 0; k < tn_elements(call->outputs[0]) && !s; k++)
    s = reference_move(call, k, fill, 0);
  for (uint32_t k = 0; k < call->n_regions; k++) {
    const tn_region *r = call->regions[k];
    int64_t n = 1;
    for (int32_t d = 0; d < r->rank; d++) n *= r->size[d];
    for (int64_t i = 0; i < n && !s; i++) {
      int64_t rest = i, src = r->src_offset, dst = r->dst_offset;
      for (int32_t d = r->rank - 1; d >= 0; d--) {
        src += rest % r->size[d] * r->src_stride[d];
        dst += rest % r->size[d] * r->dst_stride[d];
        rest /= r->size[d];
      }
      s = reference_move(call, dst, call->inputs[r->input], src);
    }
  }
  return s;
}

tn_status reorder_reference(const tn_call *call) {
  tn_tensor *out = call->outputs[0];
  tn_status s = TN_OK;
  for (int64_t k = 0; k < tn_storage_elements(out) && !s; k++) s = reference_move(call, k, NULL, 0);
  for (int64_t k = 0; k < tn_elements(out) && !s; k++)
    s = reference_move(call, tn_storage_index(out, k), call->inputs[0],
                       tn_storage_index(call->inputs[0], k));
  return s;
}
