/* Resize on GPUs, a result a thread: a sum over the taps of up to four axes, whose places and
 * weights prepare() has put into tables. */
#ifdef TN_GPU
/* Tables of the axes lie one after the other: I has places, F weights, taps of an output together.
 * d: sizes of the output, s: strides of the input, taps and first entries of the tables. */
KERNEL(resize, (IN(X), IN(I), IN(F), OUT(Y)),
       (CONST(NEAREST), INT(n), INTS(d, 4), INTS(s, 4), INTS(taps, 4), INTS(first, 4)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int x3 = i % d3, x2 = i / d3 % d2, x1 = i / (d3 * d2) % d1, x0 = i / (d3 * d2 * d1);
    x0 = first0 + x0 * taps0;
    x1 = first1 + x1 * taps1;
    x2 = first2 + x2 * taps2;
    x3 = first3 + x3 * taps3;
    if (NEAREST != 0) {
      MOVE(Y, i, X, LDI(I, x0) * s0 + LDI(I, x1) * s1 + LDI(I, x2) * s2 + LDI(I, x3) * s3);
    } else {
      float sum = 0.0f;
      for (int t0 = 0; t0 < taps0; t0++)
        for (int t1 = 0; t1 < taps1; t1++)
          for (int t2 = 0; t2 < taps2; t2++) {
            float w = LD1(F, x0 + t0) * LD1(F, x1 + t1) * LD1(F, x2 + t2);
            int at = LDI(I, x0 + t0) * s0 + LDI(I, x1 + t1) * s1 + LDI(I, x2 + t2) * s2;
            for (int t3 = 0; t3 < taps3; t3++) {
              float v = w * LD1(F, x3 + t3);
              if (v != 0.0f) sum += v * LD1(X, at + LDI(I, x3 + t3) * s3);
            }
          }
      ST1(Y, i, sum);
    }
  }
}
#else
#include <string.h>

#include "resize.gen.h"
#include "resize.h"
#include "tenon/experimental/gpu.h"

enum { AXES = 4, ALIGNMENT = 4096 };

/* The last four axes; those before them are not there. */
typedef struct tables {
  resize_spec spec;
  resize_axis axes[AXES];
  int64_t taps[AXES], first[AXES], n; /* entries */
  uint64_t room;                      /* bytes in which one table is made */
} tables;

static const char *make(const tn_call *call, tables *t) {
  memset(t, 0, sizeof *t);
  if (resize_parse(call, &t->spec)) return "its sizes are not constant";
  if (t->spec.rank > AXES) return "takes up to four dims";
  if (t->spec.coords == COORDS_TF_CROP_AND_RESIZE) return "does not extrapolate";
  for (int32_t k = 0; k < AXES; k++) {
    const int32_t from = k - (AXES - t->spec.rank);
    uint64_t bytes;
    t->axes[k] =
        from < 0 ? (resize_axis){.in = 1, .out = 1, .scale = 1, .width = 1} : t->spec.axes[from];
    if (resize_table_bytes(&t->spec, &t->axes[k], &bytes)) return "its tables are too large";
    t->taps[k] = resize_taps(&t->spec, &t->axes[k]);
    t->first[k] = t->n;
    t->n += t->axes[k].out * t->taps[k];
    if (bytes > t->room) t->room = bytes;
  }
  return t->n < INT32_MAX / 8 ? NULL : "its tables are too large";
}

const char *resize_gpu_refuse(const tn_call *call) {
  tables t;
  const char *reason = make(call, &t);
  if (!reason && t.spec.mode != RESIZE_NEAREST && call->inputs[0]->dtype > TN_BF16)
    reason = "mixes floats only";
  if (!reason) reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_rounds(call, tn_gpu_rounds(t.taps, AXES));
}

/* Places, then weights, each from a multiple of what devices ask of offsets, then room. */
static uint64_t part(const tables *t) { return ((uint64_t)t->n * 4 / ALIGNMENT + 1) * ALIGNMENT; }

static uint64_t hash(const tables *t) {
  uint64_t h = 14695981039346656037u;
  for (int32_t k = 0; k < AXES; k++) {
    const uint64_t dims[] = {(uint64_t)t->axes[k].in, (uint64_t)t->axes[k].out};
    for (int i = 0; i < 2; i++) h = (h ^ dims[i]) * 1099511628211u;
  }
  return h;
}

tn_status resize_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  tables t;
  if (make(call, &t)) return TN_ERR_UNSUPPORTED;
  out->state_bytes = 2 * part(&t) + t.room;
  out->state_key = hash(&t);
  return TN_OK;
}

tn_status resize_gpu_prepare(const tn_call *call) {
  tables t;
  if (make(call, &t)) return TN_ERR_UNSUPPORTED;
  int32_t *index = call->state;
  float *weight = (float *)(void *)((char *)call->state + part(&t));
  for (int32_t k = 0; k < AXES; k++) {
    resize_table made;
    resize_table_fill(&t.spec, &t.axes[k], (char *)call->state + 2 * part(&t), &made);
    for (int64_t i = 0; i < t.axes[k].out * t.taps[k]; i++) {
      *index++ = (int32_t)made.index[i];
      *weight++ = made.weight_f32[i];
    }
  }
  memset((char *)call->state + 2 * part(&t), 0, (size_t)t.room);
  return TN_OK;
}

tn_status resize_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const int64_t n = tn_elements(call->outputs[0]);
  int64_t stride[AXES], step = 1;
  tables t;
  tn_gpu g;
  if (make(call, &t)) return TN_ERR_UNSUPPORTED;
  for (int32_t k = AXES - 1; k >= 0; step *= t.axes[k--].in) stride[k] = step;
  tn_gpu_begin(&g, call, GPU_resize);
  tn_gpu_in(&g, 0);
  tn_gpu_buffer(&g, TN_BIND_STATE, 0, TN_I32, 0, part(&t));
  tn_gpu_buffer(&g, TN_BIND_STATE, 0, TN_F32, part(&t), part(&t));
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, t.spec.mode == RESIZE_NEAREST);
  tn_gpu_int(&g, n);
  for (int32_t k = 0; k < AXES; k++) tn_gpu_int(&g, t.axes[k].out);
  for (int32_t k = 0; k < AXES; k++) tn_gpu_int(&g, stride[k]);
  for (int32_t k = 0; k < AXES; k++) tn_gpu_int(&g, t.taps[k]);
  for (int32_t k = 0; k < AXES; k++) tn_gpu_int(&g, t.first[k]);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
