/* Six-bit floats as raw data: four elements in three bytes, low bits first. In Tenon, and in
 * int32_data, each has a byte of its own. */
#include "reader.h"

bool onnx_is_six_bits(uint32_t dtype) { return dtype == TN_F6E2M3 || dtype == TN_F6E3M2; }

int64_t onnx_raw_bytes(const tn_tensor *t) {
  const int64_t bytes = tn_bytes(t);
  if (!onnx_is_six_bits(t->dtype) || bytes < 0) return bytes;
  return bytes / 4 * 3 + (bytes % 4 * 6 + 7) / 8;
}

void onnx_six_bits_unpack(const uint8_t *from, int64_t n, uint8_t *to) {
  uint32_t held = 0, n_pooled = 0; /* bits that were read but not used yet */
  for (int64_t k = 0; k < n; k++) {
    if (n_pooled < 6) {
      held |= (uint32_t)*from++ << n_pooled;
      n_pooled += 8;
    }
    to[k] = held & 0x3F;
    held >>= 6;
    n_pooled -= 6;
  }
}

void onnx_six_bits_pack(const uint8_t *from, int64_t n, uint8_t *to) {
  uint32_t held = 0, n_pooled = 0; /* bits that are not written yet */
  for (int64_t k = 0; k < n; k++) {
    held |= (uint32_t)(from[k] & 0x3F) << n_pooled;
    n_pooled += 6;
    if (n_pooled < 8) continue;
    *to++ = (uint8_t)held;
    held >>= 8;
    n_pooled -= 8;
  }
  if (n_pooled) *to = (uint8_t)held;
}
