/* What inference, kernel and references of DFT and STFT agree on. */
#ifndef TN_OPS_SIGNAL_DFT_H
#define TN_OPS_SIGNAL_DFT_H

#include "fourier.h"
#include "signal.gen.h"
#include "tenon/kit/infer.h"

/* DFT: lines of n_in values of the input, `inner` elements apart, become lines of n_out values. */
typedef struct dft_shape {
  int32_t axis;
  int64_t length, n_in, n_out, outer, inner;
  int32_t in_parts, out_parts; /* 1 or 2 values each */
  bool inverse, half;          /* half: onesided; with inverse, the input is half a spectrum */
} dft_shape;

tn_status dft_shape_of(const tn_call *call, dft_shape *out);

/* STFT: frames of `length` values. */
typedef struct stft_shape {
  int64_t batch, signal, step, length, frames, n_out;
  int32_t parts;
} stft_shape;

tn_status stft_shape_of(const tn_call *call, stft_shape *out);

#endif
