/* The kernel of NonZero: counts, then lists coordinates, in blocks of a row. */
#include "gather.gen.h"
#include "rows.h"
#include "select.h"
#include "tenon/kit/vmath.h"

enum { BLOCK = 256 };

/* set[j] = 1 where element k + j is not zero, j < n. Of floats two bit patterns are zero. */
static void find_set(const tn_tensor *in, int64_t k, int64_t n, uint8_t *set) {
  const tn_dtype_info *type = tn_dtype(in->dtype);
  const bool is_int = tn_dtype_exact_i64(in->dtype);
#define FIND(T, value)                                                \
  do {                                                                \
    const T *x = (const T *)in->data + k;                             \
    TN_IVDEP for (int64_t j = 0; j < n; j++) set[j] = ((value) != 0); \
  } while (0)
  if (in->dtype == TN_F32)
    FIND(float, x[j]);
  else if (in->dtype == TN_F64)
    FIND(double, x[j]);
  else if (in->dtype == TN_F16 || in->dtype == TN_BF16)
    FIND(uint16_t, (uint16_t)(x[j] << 1));
  else if (is_int && type->bits == 8)
    FIND(uint8_t, x[j]);
  else if (is_int && type->bits == 16)
    FIND(uint16_t, x[j]);
  else if (is_int && type->bits == 32)
    FIND(uint32_t, x[j]);
  else if (is_int && type->bits == 64)
    FIND(uint64_t, x[j]);
  else
    for (int64_t j = 0; j < n; j++) set[j] = select_is_set(in, k + j);
#undef FIND
}

static int64_t count_set(const tn_tensor *in, int64_t n) {
  uint8_t set[BLOCK];
  int64_t count = 0;
  for (int64_t k = 0; k < n; k += BLOCK) {
    const int64_t m = tn_min_i64(BLOCK, n - k);
    find_set(in, k, m, set);
    int32_t of_block = 0;
    for (int64_t j = 0; j < m; j++) of_block += set[j];
    count += of_block;
  }
  return count;
}

/* Blocks lie within a row of the last dim, whose other coordinates are the same. Places are
 * gathered without a branch, since what is set is not foreseeable. */
tn_status non_zero_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  const tn_tensor *in = call->inputs[0];
  const int32_t last = in->rank - 1;
  const int64_t n = tn_elements(in), row = in->rank ? in->shape[last] : 1;
  int64_t dims[2] = {in->rank, count_set(in, n)}, coord[TN_MAX_RANK] = {0}, place[BLOCK], at = 0;
  uint8_t set[BLOCK];
  tn_status s = call->host->output_resize(call->ctx, 0, 2, dims);
  int64_t *out = s ? NULL : call->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0, m; k < n && !s && last >= 0; k += m) {
    m = tn_min_i64(BLOCK, row - k % row);
    find_set(in, k, m, set);
    int64_t found = 0;
    for (int64_t j = 0; j < m; j++) {
      place[found] = coord[last] + j;
      found += set[j];
    }
    for (int32_t d = 0; d < last; d++)
      for (int64_t j = 0; j < found; j++) out[d * dims[1] + at + j] = coord[d];
    for (int64_t j = 0; j < found; j++) out[last * dims[1] + at + j] = place[j];
    at += found;
    for (int32_t d = last; d >= 0 && (coord[d] += d == last ? m : 1) == in->shape[d]; d--)
      coord[d] = 0;
  }
  return s;
}
