/* DeformConv on GPUs: the moved taps of all channels go to scratch, [image][channel][tap][place],
 * what remains is a product with the weights, in tiles (conv_tile of conv_gpu.c). */
#ifdef TN_GPU
/* weight * the pixel; 0 outside */
#define PIXEL(weight, row, column)                              \
  ((row) >= 0 && (row) < in0 && (column) >= 0 && (column) < in1 \
       ? (weight)*LD1(X, plane + (row)*in1 + (column))          \
       : 0.0f)

/* The pixel before `from`, moved, and the part behind it. What f64 would lose beside a number that
 * is not 0, is lost; what is far outside is outside, as is NaN. */
#define MOVED(from, row, whole, part)                            \
  {                                                              \
    float by_ = LD1(OFFSET, (row)*size + o), far_ = -1e9f;       \
    if (from != 0 && fabs(by_) < 1e-16f) by_ = 0.0f;             \
    whole = from + TO_INT(fabs(by_) < 1e9f ? floor(by_) : far_); \
    part = fabs(by_) < 1e9f ? by_ - floor(by_) : 0.0f;           \
  }

/* A tap of all channels that share its offset, for one place. */
KERNEL(deform_columns, (IN(X), IN(OFFSET), IN(MASK), OUT(S)),
       (CONST(HAS_MASK), INT(n), INT(channels), INT(offsets), INTS(in, 2), INTS(out, 2),
        INTS(kernel, 2), INTS(stride, 2), INTS(dilation, 2), INTS(pad, 2)),
       64, 1, 1) {
  int i = GLOBAL(0), size = out0 * out1, taps = kernel0 * kernel1, each = channels / offsets;
  if (i < n) {
    int o = i % size, slot = i / size, tap = slot % taps, share = slot / taps;
    int y = o / out1 * stride0 - pad0 + tap / kernel1 * dilation0, top;
    int x = o % out1 * stride1 - pad1 + tap % kernel1 * dilation1, left;
    float dy, dx;
    MOVED(y, 2 * slot, top, dy)
    MOVED(x, 2 * slot + 1, left, dx)
    float weight = 1.0f;
    if (HAS_MASK != 0) weight = LD1(MASK, slot * size + o);
    for (int c = 0; c < each; c++) {
      int channel = share * each + c, plane = channel * in0 * in1;
      float v = PIXEL((1.0f - dy) * (1.0f - dx), top, left);
      v += PIXEL((1.0f - dy) * dx, top, left + 1);
      v += PIXEL(dy * (1.0f - dx), top + 1, left);
      v += PIXEL(dy * dx, top + 1, left + 1);
      ST1(S, (channel * taps + tap) * size + o, v * weight);
    }
  }
}
#else
#include "conv_gpu.h"
#include "deform.h"

enum { FURTHEST = 1 << 29 }; /* of an image: where taps lie is counted in ints */

static int64_t columns_of(const deform *d) {
  return d->c.batch * d->c.channels * d->c.taps * d->c.out_size;
}

const char *deform_conv_gpu_refuse(const tn_call *call) {
  deform d;
  if (deform_make(call, &d)) return "its shapes do not fit";
  if (d.c.w.in[0] > FURTHEST || d.c.w.in[1] > FURTHEST) return "takes images up to 2^29 long";
  if ((double)d.c.batch * (double)d.c.channels * (double)d.c.taps * (double)d.c.out_size >
      INT32_MAX)
    return "takes up to 2^31 taps";
  if (d.c.batch * d.c.groups > UINT16_MAX) return "takes batches times groups to 65535";
  const char *reason = tn_gpu_refuse_size(call);
  if (!reason) reason = tn_gpu_refuse_rounds(call, d.c.channels / d.n_offsets);
  return reason ? reason : tn_gpu_refuse_tiles(call, d.c.channels / d.c.groups * d.c.taps);
}

tn_status deform_conv_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  deform d;
  const tn_status status = deform_make(call, &d);
  if (!status) out->scratch_bytes = (uint64_t)(columns_of(&d) + 1) * sizeof(float);
  return status;
}

static tn_status columns(const tn_call *call, tn_recorder *r, const deform *d) {
  const tn_window *w = &d->c.w;
  const int64_t *const lists[] = {w->in, w->out, w->kernel, w->stride, w->dilation, w->pad_lo};
  const int64_t n = d->c.batch * d->n_offsets * d->c.taps * d->c.out_size;
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_deform_columns);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 2);
  tn_gpu_in(&g, 4);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  tn_gpu_const(&g, d->mask != NULL);
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, d->c.channels);
  tn_gpu_int(&g, d->n_offsets);
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
    for (int32_t i = 0; i < 2; i++) tn_gpu_int(&g, lists[k][i]);
  return tn_gpu_run(&g, r, tn_gpu_groups(n, 64), 1, 1);
}

/* The columns as an image of channels * taps channels, under a filter of one tap. */
static tn_status product(const tn_call *call, tn_recorder *r, const deform *d) {
  enum { TILE = 64 };
  const int64_t depth = d->c.channels / d->c.groups * d->c.taps;
  const int64_t filters = d->c.filters / d->c.groups;
  const int64_t words[] = {
      depth, filters, d->c.groups, 1, d->c.out_size, 1, d->c.out_size, 1, 1, 1, 1,
      1,     1,       0,           0, depth};
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_conv_tile);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  tn_gpu_in(&g, 1);
  tn_gpu_in(&g, 3);
  tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  tn_gpu_const(&g, d->bias != NULL);
  tn_gpu_const(&g, true);           /* POINT */
  tn_gpu_const(&g, depth % 4 == 0); /* FOURS */
  tn_gpu_const(&g, false);          /* PARTED */
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  return tn_gpu_run(&g, r, tn_gpu_groups(d->c.out_size, TILE), tn_gpu_groups(filters, TILE),
                    (uint32_t)(d->c.batch * d->c.groups));
}

tn_status deform_conv_gpu_record(const tn_call *call, tn_recorder *recorder) {
  deform d;
  tn_status status = deform_make(call, &d);
  if (status || !tn_elements(call->outputs[0])) return status;
  if (columns_of(&d)) status = columns(call, recorder, &d);
  return status ? status : product(call, recorder, &d);
}
#endif
