/* Plain tensors to and from other layouts, element by element, for any dtype. */
#include <string.h>

#include "harness/harness.h"

bool check_layout_fits(const tn_tensor *t, tn_layout layout) {
  if (layout == TN_PLAIN) return true;
  tn_tensor moved = *t;
  moved.layout = layout;
  return t->kind == TN_KIND_TENSOR && t->dtype != TN_STRING &&
         t->rank >= (layout == TN_CHANNELS_LAST ? 3 : 2) && tn_storage_bytes(&moved) >= 0;
}

/* Element `from` of a storage to element `to` of another of the same dtype. */
static void move(uint32_t dtype, const void *src, int64_t from, void *dst, int64_t to) {
  const uint32_t bits = tn_dtype(dtype)->bits;
  if (bits >= 8) {
    memcpy((uint8_t *)dst + to * (bits / 8), (const uint8_t *)src + from * (bits / 8), bits / 8);
  } else if (tn_dtype(dtype)->is_int) {
    tn_store_i64(dtype, dst, to, tn_load_i64(dtype, src, from));
  } else {
    tn_store_f64(dtype, dst, to, tn_load_f64(dtype, src, from));
  }
}

void check_layout_pack(const tn_tensor *plain, tn_tensor *to) {
  const int64_t n = tn_tensor_elements(plain);
  if (to->layout == TN_PLAIN) {
    if (n) memcpy(to->data, plain->data, (size_t)tn_storage_bytes(plain));
    return;
  }
  memset(to->data, 0, (size_t)tn_storage_bytes(to));
  for (int64_t k = 0; k < n; k++)
    move(plain->dtype, plain->data, k, to->data, tn_storage_index(to, k));
}

void check_layout_unpack(const tn_tensor *from, tn_tensor *plain) {
  const int64_t n = tn_tensor_elements(plain);
  for (int64_t k = 0; k < n; k++)
    move(plain->dtype, from->data, tn_storage_index(from, k), plain->data, k);
}

int64_t check_layout_bad_pad(const tn_tensor *t) {
  const int64_t block = t->layout & (UINT64_C(1) << 41) ? TN_LAYOUT_BLOCK(t->layout) : 0;
  const int64_t channels = block ? t->shape[1] : 0, bits = tn_dtype(t->dtype)->bits;
  if (!block || channels % block == 0 || bits < 8) return -1;
  const int64_t n = tn_storage_elements(t), blocks = tn_ceil_div(channels, block);
  int64_t pixels = 1;
  for (int32_t d = 2; d < t->rank; d++) pixels *= t->shape[d];
  for (int64_t k = 0; k < n; k++) {
    const int64_t channel = k / (block * pixels) % blocks * block + k % block;
    if (channel < channels) continue;
    for (int64_t byte = 0; byte < bits / 8; byte++)
      if (((const uint8_t *)t->data)[k * (bits / 8) + byte]) return k;
  }
  return -1;
}
