/* Regions of strings, whose bytes belong to the host, and of types below a byte, where neighbours
 * share a byte. */
#include "region.h"

#include "tenon/kit/dtype.h"
#include "tenon/kit/tensor.h"

bool region_is_odd(uint32_t dtype) { return dtype == TN_STRING || tn_dtype(dtype)->bits < 8; }

static uint8_t get_bits(const uint8_t *data, int64_t index, int64_t bits) {
  return (uint8_t)(data[index * bits / 8] >> (index * bits % 8) & ((1 << bits) - 1));
}

static void set_bits(uint8_t *data, int64_t index, int64_t bits, uint8_t value) {
  uint8_t *byte = &data[index * bits / 8];
  int shift = (int)(index * bits % 8), mask = ((1 << bits) - 1) << shift;
  *byte = (uint8_t)((*byte & ~mask) | value << shift);
}

/* Output element `to` becomes element `from` of the tensor; NULL: zero, or the empty string. */
static tn_status move(const tn_call *call, int64_t to, const tn_tensor *in, int64_t from) {
  const tn_tensor *out = call->outputs[0];
  if (out->dtype == TN_STRING) {
    const tn_str empty = {"", 0}, s = in ? ((const tn_str *)in->data)[from] : empty;
    return call->host->string_set(call->ctx, 0, to, s.data, s.size);
  }
  int64_t bits = tn_dtype(out->dtype)->bits;
  set_bits(out->data, to, bits, in ? get_bits(in->data, from, bits) : 0);
  return TN_OK;
}

static tn_status move_region(const tn_call *call, const tn_region *r) {
  int64_t at[TN_MAX_RANK] = {0}, src = r->src_offset, dst = r->dst_offset;
  for (int32_t k = 0; k < r->rank; k++)
    if (r->size[k] == 0) return TN_OK;
  for (;;) {
    tn_status s = move(call, dst, call->inputs[r->input], src);
    if (s) return s;
    int32_t k = r->rank - 1;
    for (; k >= 0; k--) {
      src += r->src_stride[k];
      dst += r->dst_stride[k];
      if (++at[k] < r->size[k]) break;
      src -= r->src_stride[k] * at[k];
      dst -= r->dst_stride[k] * at[k];
      at[k] = 0;
    }
    if (k < 0) return TN_OK;
  }
}

/* Regions may cover all, but a packed type's last byte may have unused bits: they are zero, too. */
tn_status region_odd(const tn_call *call) {
  const tn_tensor *out = call->outputs[0],
                  *fill = call->region_fill >= 0 ? call->inputs[call->region_fill] : NULL;
  int64_t n = tn_elements(out),
          packed = out->dtype == TN_STRING ? 1 : 8 / (int64_t)tn_dtype(out->dtype)->bits;
  for (int64_t k = 0; k < n; k++) {
    tn_status s = move(call, k, fill, 0);
    if (s) return s;
  }
  for (int64_t k = n; k % packed; k++) set_bits(out->data, k, 8 / packed, 0);
  for (uint32_t k = 0; k < call->n_regions; k++) {
    tn_status s = move_region(call, call->regions[k]);
    if (s) return s;
  }
  return TN_OK;
}
