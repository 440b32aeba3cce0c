/* Fourier transforms of PyTorch: fft_*, _fft_*, stft and istft by DFT, STFT and Col2Im. */
#include "aten.h"
#include "aten_complex.gen.h"
#include "complex.h"

/* How a transform is scaled. */
enum { BY_NOTHING, BY_ROOT, BY_LENGTH };

/* DFT of a dim of pairs (or of single numbers, in a last dim of 1), not scaled. `half`: the first
 * half of what is real on the other side. */
static int32_t dft(const tn_lowering *l, int32_t x, int64_t dim, int64_t n, bool inverse,
                   bool half) {
  const int32_t in[] = {x, at_int_const(l, TN_I64, n), at_int_const(l, TN_I64, dim)};
  const tn_attr attrs[] = {tn_attr_int("inverse", inverse), tn_attr_int("onesided", half)};
  return tn_low_emit(l, "DFT", in, 3, attrs, 2);
}

static int32_t times(const tn_lowering *l, int32_t x, uint32_t dtype, double by) {
  return by == 1 ? x : tn_low_2(l, "Mul", x, tn_low_number(l, dtype, by));
}

/* ai.onnx divides inverse transforms by their length. */
static double scale_of(int how, bool inverse, double n) {
  return (how == BY_ROOT ? 1 / sqrt(n) : how == BY_LENGTH ? 1 / n : 1) * (inverse ? n : 1);
}

/* ---- what is transformed ---- */

typedef struct transform {
  int32_t rank, n_dims;
  int64_t dims[TN_MAX_RANK], sizes[TN_MAX_RANK]; /* the last is that which is half */
  bool inverse;
  bool from_real, to_real, half;
  int how;
} transform;

/* norm: "backward", "ortho", "forward". */
static int how_of(const tn_lowering *l, bool inverse) {
  if (at_says(l, "norm", "ortho")) return BY_ROOT;
  return at_says(l, "norm", "forward") != inverse ? BY_LENGTH : BY_NOTHING;
}

/* Input 0 in pairs, or in single numbers where it is real. */
static int32_t open_pairs(const tn_lowering *l, uint32_t *real) {
  const uint32_t dtype = tn_low_type(l, 0)->dtype;
  *real = at_real_of(at_float_of(dtype));
  if (tn_dtype(dtype)->is_complex) return tn_low_1(l, "tenon::ComplexParts", tn_low_in(l, 0));
  return at_unsqueeze(l, at_in(l, 0, *real), -1);
}

/* The one pair of real numbers' transform is a pair: missing parts are 0. */
static int32_t with_zeros(const tn_lowering *l, int32_t x) {
  const int32_t zero = tn_low_2(l, "Sub", x, x), pair[] = {x, zero};
  return at_concat(l, pair, 2, -1);
}

static tn_status run(const tn_lowering *l, const transform *t) {
  uint32_t real;
  double scale = 1;
  const bool is_complex = tn_dtype(tn_low_type(l, 0)->dtype)->is_complex;
  int32_t x = open_pairs(l, &real);
  if (t->rank == TN_MAX_RANK) return tn_low_unsupported(l, "so many dims");
  if (t->from_real && is_complex)
    return at_fail(l, TN_ERR_INVALID, "it transforms real numbers, and these are complex");
  if (t->to_real && !is_complex) x = with_zeros(l, x);
  for (int32_t k = t->n_dims - 1; k >= 0; k--) {
    const bool last = k == t->n_dims - 1;
    if (t->sizes[k] < 1) return at_fail(l, TN_ERR_INVALID, "a transform has no elements");
    scale *= scale_of(t->how, t->inverse, (double)t->sizes[k]);
    if (t->to_real && last) continue; /* that one comes after all others */
    x = dft(l, x, t->dims[k], t->sizes[k], t->inverse, t->from_real && t->half && last);
  }
  if (t->to_real) x = dft(l, x, t->dims[t->n_dims - 1], t->sizes[t->n_dims - 1], true, true);
  x = times(l, x, real, scale);
  return tn_low_done(l, t->to_real ? at_squeeze(l, x, -1) : tn_low_1(l, "tenon::Complex", x));
}

/* ---- torch.fft ---- */

/* "fft_irfft2" is inverse and ends in real numbers. */
static void name_transform(const tn_lowering *l, transform *t) {
  static const char *const names[] = {"fft_ifft",  "fft_ifft2",  "fft_ifftn",
                                      "fft_irfft", "fft_irfft2", "fft_irfftn"};
  static const char *const reals[] = {"fft_rfft",  "fft_rfft2",  "fft_rfftn",
                                      "fft_irfft", "fft_irfft2", "fft_irfftn"};
  for (size_t k = 0; k < 6; k++) {
    t->inverse |= at_is(l, names[k]);
    if (!at_is(l, reals[k])) continue;
    t->from_real = t->half = k < 3;
    t->to_real = k >= 3;
  }
  t->how = how_of(l, t->inverse);
}

/* Dims and sizes: of one dim `n` and `dim`; of several `s` and `dim`, which are the last ones, or
 * all, where they are left out. */
static tn_status read_dims(const tn_lowering *l, transform *t, bool one) {
  const tn_tensor *x = tn_low_type(l, 0);
  const tn_ints given = tn_low_ints(l, "dim"), sizes = tn_low_ints(l, "s");
  const bool two = at_is(l, "fft_fft2") || at_is(l, "fft_ifft2") || at_is(l, "fft_rfft2") ||
                   at_is(l, "fft_irfft2");
  t->rank = x->rank;
  const int64_t all = given.data ? given.size : two ? 2 : sizes.data ? sizes.size : x->rank;
  t->n_dims = one ? 1 : (int32_t)all;
  if (!x->rank || t->n_dims < 1 || all > x->rank)
    return at_fail(l, TN_ERR_INVALID, "there are no such dims");
  for (int32_t k = 0; k < t->n_dims; k++) {
    const int64_t dim = one          ? tn_low_int(l, "dim", -1)
                        : given.data ? given.data[k]
                                     : x->rank - t->n_dims + k;
    const int32_t at = at_dim(l, dim, x->rank);
    if (at < 0) return at;
    const bool opens = t->to_real && k == t->n_dims - 1;
    const int64_t missing = opens ? 2 * (x->shape[at] - 1) : x->shape[at];
    const int64_t size = one ? tn_low_int(l, "n", -1) : k < sizes.size ? sizes.data[k] : -1;
    t->dims[k] = at, t->sizes[k] = size == -1 ? missing : size;
  }
  return TN_OK;
}

tn_status aten_fft(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  transform t = {.n_dims = 0};
  name_transform(&l, &t);
  const bool one = at_is(&l, "fft_fft") || at_is(&l, "fft_ifft") || at_is(&l, "fft_rfft") ||
                   at_is(&l, "fft_irfft");
  const tn_status s = read_dims(&l, &t, one);
  return s ? s : run(&l, &t);
}

/* _fft_r2c, _fft_c2c, _fft_c2r: dims, and a number for the scale. */
tn_status aten_fft_of(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const tn_ints dims = tn_low_ints(&l, "dim");
  transform t = {.rank = x->rank, .n_dims = (int32_t)dims.size};
  t.from_real = at_is(&l, "_fft_r2c"), t.to_real = at_is(&l, "_fft_c2r");
  t.half = tn_low_int(&l, "onesided", 0);
  t.inverse = t.to_real || !tn_low_int(&l, "forward", 1);
  t.how = (int)tn_low_int(&l, "normalization", 0);
  if (dims.size < 1 || dims.size > x->rank)
    return at_fail(&l, TN_ERR_INVALID, "there are no such dims");
  for (int32_t k = 0; k < t.n_dims; k++) {
    const int32_t at = at_dim(&l, dims.data[k], x->rank);
    if (at < 0) return at;
    t.dims[k] = at, t.sizes[k] = x->shape[at];
  }
  if (t.to_real) t.sizes[t.n_dims - 1] = tn_low_int(&l, "last_dim_size", t.sizes[t.n_dims - 1]);
  return run(&l, &t);
}

/* ---- stft, istft ---- */

typedef struct frames {
  int64_t n, hop, width; /* of a frame, between frames, of the window */
  uint32_t dtype;        /* of the signal */
  bool center, half, normalized;
} frames;

/* `centers`: frames lie around their places where the node does not say. */
static tn_status read_frames(const tn_lowering *l, uint32_t dtype, bool centers, frames *f) {
  f->dtype = dtype;
  f->n = tn_low_int(l, "n_fft", 0);
  f->hop = tn_low_int(l, "hop_length", f->n / 4);
  f->width = tn_low_int(l, "win_length", f->n);
  f->center = tn_low_int(l, "center", centers);
  f->normalized = tn_low_int(l, "normalized", 0);
  f->half = tn_low_int(l, "onesided", 1);
  if (f->n < 1 || f->hop < 1 || f->width < 1 || f->width > f->n || f->n > AT_MOST_SIZE)
    return at_fail(l, TN_ERR_INVALID, "n_fft, hop_length or win_length is out of range");
  const tn_tensor *w = tn_low_type(l, 1);
  if (w && (w->rank != 1 || w->shape[0] != f->width))
    return at_fail(l, TN_ERR_INVALID, "the window is not as long as win_length says");
  if (w && tn_dtype(w->dtype)->is_complex) return tn_low_unsupported(l, "complex windows");
  return TN_OK;
}

static int32_t padded(const tn_lowering *l, int32_t x, const char *mode, const int64_t *pads,
                      int32_t rank) {
  const tn_attr a = tn_attr_str("mode", mode);
  const int32_t in[] = {x, tn_low_ints_const(l, pads, 2 * rank)};
  return tn_low_emit(l, "Pad", in, 2, &a, 1);
}

/* The window, in the middle of a frame. */
static int32_t window_of(const tn_lowering *l, const frames *f) {
  const int64_t before = (f->n - f->width) / 2, pads[] = {before, f->n - f->width - before};
  const int32_t w = tn_low_type(l, 1) ? at_in(l, 1, f->dtype)
                                      : at_full(l, at_int_const(l, f->dtype, 1), 1, &f->width);
  return f->width == f->n ? w : padded(l, w, "constant", pads, 1);
}

static const char *pad_mode(const tn_lowering *l) {
  return at_says(l, "pad_mode", "constant")    ? "constant"
         : at_says(l, "pad_mode", "replicate") ? "edge"
         : at_says(l, "pad_mode", "circular")  ? "wrap"
                                               : "reflect";
}

tn_status aten_stft(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  frames f;
  if (tn_dtype(x->dtype)->is_complex) return tn_low_unsupported(&l, "complex signals");
  if (x->rank != 1 && x->rank != 2) return tn_low_unsupported(&l, "a signal of this rank");
  const tn_status s =
      read_frames(&l, at_float_of(x->dtype), strstr(tn_low_node(&l)->op, ".center"), &f);
  if (s) return s;
  const int64_t pads[] = {0, f.n / 2, 0, f.n / 2};
  int32_t y = at_in(&l, 0, f.dtype);
  if (x->rank == 1) y = at_unsqueeze(&l, y, 0);
  if (f.center) y = padded(&l, y, pad_mode(&l), pads, 2);
  const int32_t in[] = {at_unsqueeze(&l, y, -1), at_int_const(&l, TN_I64, f.hop), window_of(&l, &f),
                        at_int_const(&l, TN_I64, f.n)},
                order[] = {0, 2, 1, 3};
  const tn_attr half = tn_attr_int("onesided", f.half);
  y = tn_low_transpose(&l, tn_low_emit(&l, "STFT", in, 4, &half, 1), 4, order);
  if (x->rank == 1) y = at_squeeze(&l, y, 0);
  y = times(&l, y, f.dtype, f.normalized ? 1 / sqrt((double)f.n) : 1);
  const bool pairs = at_has(&l, "return_complex") && !tn_low_int(&l, "return_complex", 1);
  return tn_low_done(&l, pairs ? y : tn_low_1(&l, "tenon::Complex", y));
}

/* Frames [B, n, count] added up, hop apart: [B, total]. */
static int32_t overlapped(const tn_lowering *l, const frames *f, int32_t x, int64_t batch,
                          int64_t total) {
  const int64_t image[] = {1, total}, block[] = {1, f->n}, strides[] = {1, f->hop},
                shape[] = {batch, total};
  const int32_t in[] = {x, tn_low_ints_const(l, image, 2), tn_low_ints_const(l, block, 2)};
  const tn_attr a = tn_attr_ints("strides", (tn_ints){strides, 2});
  return tn_low_reshape(l, tn_low_emit(l, "Col2Im", in, 3, &a, 1), 2, shape);
}

/* The signal's elements from .. from + n, with zeros behind its end. */
static int32_t cut(const tn_lowering *l, int32_t x, int64_t total, int64_t from, int64_t n) {
  const int64_t there = n < total - from ? n : total - from, pads[] = {0, 0, 0, n - there};
  const int32_t part = at_slice(l, x, 1, from, from + there, 1);
  return there < n ? padded(l, part, "constant", pads, 2) : part;
}

/* Spectra [batch, frequencies, frames], batch 1 where there is none. */
tn_status aten_istft(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  frames f;
  if (!tn_dtype(x->dtype)->is_complex || (x->rank != 2 && x->rank != 3))
    return tn_low_unsupported(&l, "spectra that are not complex, of 2 or 3 dims");
  if (tn_low_int(&l, "return_complex", 0)) return tn_low_unsupported(&l, "complex signals");
  const tn_status s = read_frames(&l, at_real_of(x->dtype), true, &f);
  if (s) return s;
  const int64_t count = x->shape[x->rank - 1], batch = x->rank == 3 ? x->shape[0] : 1,
                total = f.n + f.hop * (count - 1), each[] = {1, f.n, count};
  if (!tn_low_int(&l, "onesided", x->shape[x->rank - 2] != f.n))
    return tn_low_unsupported(&l, "whole spectra");
  if (count < 1 || total > AT_MOST_SIZE)
    return at_fail(&l, TN_ERR_INVALID, "there are no frames, or too many");
  int32_t y = tn_low_1(&l, "tenon::ComplexParts", tn_low_in(&l, 0));
  if (x->rank == 2) y = at_unsqueeze(&l, y, 0);
  const int64_t column[] = {f.n, 1}, from = f.center ? f.n / 2 : 0,
                length = tn_low_int(&l, "length", f.center ? total - 2 * from : total);
  const int32_t w = tn_low_reshape(&l, window_of(&l, &f), 2, column),
                square = at_expand(&l, tn_low_2(&l, "Mul", w, w), 3, each);
  if (length < 0 || from > total) return at_fail(&l, TN_ERR_INVALID, "its length is out of range");
  y = at_squeeze(&l, dft(&l, y, 1, f.n, true, true), -1); /* [batch, n, count] */
  y = times(&l, y, f.dtype, f.normalized ? sqrt((double)f.n) : 1);
  y = overlapped(&l, &f, tn_low_2(&l, "Mul", y, w), batch, total);
  const int32_t weight = overlapped(&l, &f, square, 1, total);
  y = tn_low_2(&l, "Div", cut(&l, y, total, from, length < total - from ? length : total - from),
               cut(&l, weight, total, from, length < total - from ? length : total - from));
  y = length > total - from ? cut(&l, y, total - from, 0, length) : y;
  return tn_low_done(&l, x->rank == 2 ? at_squeeze(&l, y, 0) : y);
}
