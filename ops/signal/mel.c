/* MelWeightMatrix. */
#include <math.h>
#include <string.h>

#include "signal.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/onnx_dtype.h"

typedef struct mel {
  int64_t bands, length, rate, bins; /* bins of the spectrum: length / 2 + 1 */
  double low, high;                  /* edges, mel */
} mel;

static double mel_of(double hertz) { return 2595 * log10(1 + hertz / 700); }

static tn_status mel_make(const tn_call *call, mel *out) {
  int64_t whole[3] = {0}, n = 0;
  double edge[2] = {0};
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < 5 && !s; k++) {
    s = k < 3 ? tn_const_ints(call, k, &whole[k], 1, &n)
              : tn_const_floats(call, k, &edge[k - 3], 1, &n);
    if (!s && n != 1)
      s = call->host->fail(call->ctx, TN_ERR_SHAPE, "input %u must be one value", (unsigned)k);
  }
  if (s) return s;
  *out = (mel){whole[0], whole[1], whole[2], whole[1] / 2 + 1, mel_of(edge[0]), mel_of(edge[1])};
  if (whole[0] < 1 || whole[1] < 1 || whole[2] < 1 || whole[0] > INT32_MAX ||
      whole[1] > INT32_MAX || !(edge[0] >= 0) || !(edge[1] >= edge[0]))
    return call->host->fail(
        call->ctx, TN_ERR_INVALID,
        "num_mel_bins %lld, dft_length %lld, sample_rate %lld, edges %g .. %g: out of range",
        (long long)whole[0], (long long)whole[1], (long long)whole[2], edge[0], edge[1]);
  return TN_OK;
}

/* The bin at which triangle k - 1 has its top, k from 0; inside of the spectrum or -1. */
static int64_t corner(const mel *m, int64_t k) {
  double step = (m->high - m->low) / (double)(m->bands + 2);
  double hertz = 700 * (pow(10, ((double)k * step + m->low) / 2595) - 1);
  double bin = floor((double)(m->length + 1) * hertz / (double)m->rate);
  return bin >= 0 && bin < (double)m->bins ? (int64_t)bin : -1;
}

tn_status mel_weight_matrix_infer(const tn_call *call) {
  int64_t to = ((const tn_mel_weight_matrix_attrs *)call->attrs)->output_datatype;
  mel m;
  tn_status s = mel_make(call, &m);
  if (s) return s;
  if (tn_dtype_of_onnx(to) == TN_NONE)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'output_datatype' is %lld, which is no type", (long long)to);
  if (corner(&m, m.bands + 1) < 0)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "upper_edge_hertz is above the bins of the spectrum");
  int64_t dims[2] = {m.bins, m.bands};
  tn_infer_shape(call, 0, tn_dtype_of_onnx(to), 2, dims);
  return TN_OK;
}

tn_status mel_weight_matrix_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                              uint32_t worker) {
  const tn_tensor *y = call->outputs[0];
  mel m;
  tn_status s = mel_make(call, &m);
  (void)stage, (void)begin, (void)end, (void)worker;
  if (s) return s;
  memset(y->data, 0, (size_t)tn_bytes(y));
  for (int64_t band = 0; band < m.bands; band++) {
    int64_t left = corner(&m, band), top = corner(&m, band + 1), right = corner(&m, band + 2);
    if (left == top) tn_store_f64(y->dtype, y->data, top * m.bands + band, 1);
    for (int64_t k = left; left < top && k <= top; k++)
      tn_store_f64(y->dtype, y->data, k * m.bands + band,
                   (double)(k - left) / (double)(top - left));
    for (int64_t k = top; k < right; k++)
      tn_store_f64(y->dtype, y->data, k * m.bands + band,
                   (double)(right - k) / (double)(right - top));
  }
  return TN_OK;
}

tn_status mel_weight_matrix_reference(const tn_call *call) {
  const tn_tensor *y = call->outputs[0];
  mel m;
  tn_status s = mel_make(call, &m);
  for (int64_t k = 0; !s && k < m.bins * m.bands; k++) {
    int64_t bin = k / m.bands, left = corner(&m, k % m.bands), top = corner(&m, k % m.bands + 1),
            right = corner(&m, k % m.bands + 2);
    double up = left < top ? (double)(bin - left) / (double)(top - left) : bin == top;
    double down = top < right ? (double)(right - bin) / (double)(right - top) : 1;
    bool inside = bin >= left && (bin < right || bin == top);
    tn_store_f64(y->dtype, y->data, k, inside ? bin < top ? up : bin == top ? 1 : down : 0);
  }
  return s;
}
