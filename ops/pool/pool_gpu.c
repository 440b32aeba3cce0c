/* Pools on GPUs, a result a thread; global ones a plane a group. */
#ifdef TN_GPU
/* |x| to the power of p, and the root of it; p is whole. */
float power_of(float x, int p) {
  return p == 1 ? fabs(x) : p == 2 ? x * x : pow(fabs(x), TO_FLOAT(p));
}
float root_of(float x, int p) { return p == 1 ? x : p == 2 ? sqrt(x) : pow(x, 1.0f / TO_FLOAT(p)); }

/* KIND 0: largest, 1: mean of what lies inside, 2: mean of all taps but those behind the pads.
 * Columns are summed first, in the order of the CPU's kernels. */
KERNEL(pool, (IN(X), OUT(Y)),
       (CONST(KIND), INTS(in, 3), INTS(out, 3), INTS(kernel, 3), INTS(stride, 3), INTS(dilation, 3),
        INTS(pad, 3), INTS(end, 3)),
       64, 1, 1) {
  int size = out0 * out1 * out2, o = GLOBAL(0),
      from = (GROUP(1) + GROUP(2) * 32768) * in0 * in1 * in2;
  if (o < size) {
    int o2 = o % out2, o1 = o / out2 % out1, o0 = o / out2 / out1, n = 0;
    float y = KIND == 0 ? -INFINITY : 0.0f;
    for (int tx = 0; tx < kernel2; tx++) {
      int ix = o2 * stride2 - pad2 + tx * dilation2;
      float column = 0.0f;
      for (int tz = 0; tz < kernel0; tz++)
        for (int ty = 0; ty < kernel1; ty++) {
          int iz = o0 * stride0 - pad0 + tz * dilation0, iy = o1 * stride1 - pad1 + ty * dilation1;
          if (KIND == 2 && iz < end0 && iy < end1 && ix < end2) n++;
          if (iz >= 0 && iz < in0 && iy >= 0 && iy < in1 && ix >= 0 && ix < in2) {
            float v = LD1(X, from + (iz * in1 + iy) * in2 + ix);
            if (KIND == 0)
              y = v > y ? v : y; /* not NaN */
            else
              column += v;
            if (KIND == 1) n++;
          }
        }
      if (KIND != 0) y += column;
    }
    if (KIND != 0) y /= TO_FLOAT(n); /* of nothing: NaN */
    ST1(Y, (GROUP(1) + GROUP(2) * 32768) * size + o, y);
  }
}

/* The largest and where it lies, the first of equal ones; -1 where the window lies in the pads.
 * BY_COLUMN: the first of the dims is counted fastest. Two dims are the last two of three. */
KERNEL(max_pool_indices, (IN(X), OUT(Y), OUT(I)),
       (CONST(BY_COLUMN), INTS(in, 3), INTS(out, 3), INTS(kernel, 3), INTS(stride, 3),
        INTS(dilation, 3), INTS(pad, 3), FLOAT(lowest)),
       64, 1, 1) {
  int size = out0 * out1 * out2, o = GLOBAL(0), plane = GROUP(1) + GROUP(2) * 32768;
  int from = plane * in0 * in1 * in2, at = -1;
  if (o < size) {
    int o2 = o % out2, o1 = o / out2 % out1, o0 = o / out2 / out1;
    float y = lowest;
    for (int tz = 0; tz < kernel0; tz++)
      for (int ty = 0; ty < kernel1; ty++)
        for (int tx = 0; tx < kernel2; tx++) {
          int iz = o0 * stride0 - pad0 + tz * dilation0, iy = o1 * stride1 - pad1 + ty * dilation1;
          int ix = o2 * stride2 - pad2 + tx * dilation2;
          if (iz >= 0 && iz < in0 && iy >= 0 && iy < in1 && ix >= 0 && ix < in2) {
            float v = LD1(X, from + (iz * in1 + iy) * in2 + ix);
            if (v > y || at < 0)
              at =
                  from + (BY_COLUMN != 0 ? (ix * in1 + iy) * in0 + iz : (iz * in1 + iy) * in2 + ix);
            y = v > y ? v : y;
          }
        }
    ST1(Y, plane * size + o, y);
    STI(I, plane * size + o, at);
  }
}

KERNEL(lp_pool, (IN(X), OUT(Y)),
       (INTS(in, 3), INTS(out, 3), INTS(kernel, 3), INTS(stride, 3), INTS(dilation, 3),
        INTS(pad, 3), INT(p)),
       64, 1, 1) {
  int size = out0 * out1 * out2, o = GLOBAL(0), plane = GROUP(1) + GROUP(2) * 32768;
  if (o < size) {
    int o2 = o % out2, o1 = o / out2 % out1, o0 = o / out2 / out1;
    float sum = 0.0f;
    for (int tz = 0; tz < kernel0; tz++)
      for (int ty = 0; ty < kernel1; ty++)
        for (int tx = 0; tx < kernel2; tx++) {
          int iz = o0 * stride0 - pad0 + tz * dilation0, iy = o1 * stride1 - pad1 + ty * dilation1;
          int ix = o2 * stride2 - pad2 + tx * dilation2;
          if (iz >= 0 && iz < in0 && iy >= 0 && iy < in1 && ix >= 0 && ix < in2)
            sum += power_of(LD1(X, ((plane * in0 + iz) * in1 + iy) * in2 + ix), p);
        }
    ST1(Y, plane * size + o, root_of(sum, p));
  }
}

/* Mean of the codes inside, halves away from zero. */
KERNEL(quant_average, (IN(X), OUT(Y)),
       (INTS(in, 3), INTS(out, 3), INTS(kernel, 3), INTS(stride, 3), INTS(dilation, 3),
        INTS(pad, 3), INT(lo), INT(hi)),
       64, 1, 1) {
  int size = out0 * out1 * out2, o = GLOBAL(0), plane = GROUP(1) + GROUP(2) * 32768;
  int o2 = o % out2, o1 = o / out2 % out1, o0 = o / out2 / out1, n = 0, sum = 0;
  if (o < size) {
    for (int tz = 0; tz < kernel0; tz++)
      for (int ty = 0; ty < kernel1; ty++)
        for (int tx = 0; tx < kernel2; tx++) {
          int iz = o0 * stride0 - pad0 + tz * dilation0, iy = o1 * stride1 - pad1 + ty * dilation1;
          int ix = o2 * stride2 - pad2 + tx * dilation2;
          if (iz >= 0 && iz < in0 && iy >= 0 && iy < in1 && ix >= 0 && ix < in2) {
            sum += LDI(X, ((plane * in0 + iz) * in1 + iy) * in2 + ix);
            n++;
          }
        }
    int mean = n > 0 ? (2 * (sum < 0 ? -sum : sum) + n) / (2 * n) : 0;
    if (sum < 0) mean = -mean;
    STI(Y, plane * size + o, mean < lo ? lo : mean > hi ? hi : mean);
  }
}

/* KIND 3: the norm of p. */
KERNEL(global_pool, (IN(X), OUT(Y)), (CONST(KIND), INT(n), INT(p)), 64, 1, 1) {
  LOCAL(float, part, 64);
  int t = LOCAL_ID(0), plane = GROUP(0);
  float y = KIND == 0 ? -INFINITY : 0.0f;
  for (int i = t; i < n; i += 64) {
    float v = LD1(X, plane * n + i);
    if (KIND == 0)
      y = v > y ? v : y; /* NaN is never the largest */
    else
      y += KIND == 3 ? power_of(v, p) : v;
  }
  part[t] = y;
  BARRIER();
  if (t == 0) {
    for (int i = 1; i < 64; i++)
      if (KIND == 0)
        y = part[i] > y ? part[i] : y;
      else
        y += part[i];
    if (KIND == 1) y = y / TO_FLOAT(n);
    if (KIND == 3) y = root_of(y, p);
    ST1(Y, plane, y);
  }
}
#else
#include "pool_shape.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/infer.h"

enum { ROW_OF_GROUPS = 32768 };

static const char *refuse(const tn_call *call, tn_status status, const pool_shape *p) {
  if (status) return "its shapes do not fit";
  if (p->w.n > 3) return "takes up to three spatial dims";
  /* the largest of the orders in which the programs walk */
  const tn_window w = tn_window_padded(&p->w, 3);
  const int64_t outside[] = {w.kernel[0], w.kernel[1], w.kernel[2]},
                inside[] = {w.kernel[2], w.kernel[0], w.kernel[1]};
  const char *reason = tn_gpu_refuse_size(call);
  if (!reason) reason = tn_gpu_refuse_rounds(call, tn_gpu_rounds(outside, 3));
  return reason ? reason : tn_gpu_refuse_rounds(call, tn_gpu_rounds(inside, 3));
}

const char *max_pool_gpu_refuse(const tn_call *call) {
  pool_shape p;
  const tn_status status = max_pool_shape(call, &p);
  return refuse(call, status, &p);
}

const char *average_pool_gpu_refuse(const tn_call *call) {
  pool_shape p;
  const tn_status status = average_pool_shape(call, &p);
  return refuse(call, status, &p);
}

static tn_status run(tn_gpu *g, tn_recorder *r, const pool_shape *p) {
  const int64_t rows = (p->channels - 1) / ROW_OF_GROUPS + 1;
  if (rows > 1 && p->channels % ROW_OF_GROUPS)
    return g->call->host->fail(g->call->ctx, TN_ERR_UNSUPPORTED, "takes up to %d planes",
                               ROW_OF_GROUPS);
  return tn_gpu_run(g, r, tn_gpu_groups(p->out_size, 64),
                    (uint32_t)tn_min_i64(p->channels, ROW_OF_GROUPS), (uint32_t)rows);
}

static void add_window(tn_gpu *g, const tn_window *w) {
  const int64_t *const lists[] = {w->in, w->out, w->kernel, w->stride, w->dilation, w->pad_lo};
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
    for (int32_t d = 0; d < 3; d++) tn_gpu_int(g, lists[k][d]);
}

static tn_status record(const tn_call *call, tn_recorder *r, const pool_shape *p, int32_t kind) {
  const tn_window w = tn_window_padded(&p->w, 3);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_pool);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, kind);
  add_window(&g, &w);
  for (int32_t d = 0; d < 3; d++) tn_gpu_int(&g, w.in[d] + w.pad_hi[d]);
  return run(&g, r, p);
}

const char *quant_average_gpu_refuse(const tn_call *call) {
  pool_shape p;
  const tn_status status = quant_average_shape(call, &p);
  return refuse(call, status, &p);
}

tn_status quant_average_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_quant_average_pool_attrs *a = call->attrs;
  pool_shape p;
  tn_gpu g;
  const tn_status status = quant_average_shape(call, &p);
  if (status) return status;
  const tn_window w = tn_window_padded(&p.w, 3);
  tn_gpu_begin(&g, call, GPU_quant_average);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  add_window(&g, &w);
  tn_gpu_int(&g, a->lo);
  tn_gpu_int(&g, a->hi);
  return run(&g, recorder, &p);
}

tn_status max_pool_gpu_record(const tn_call *call, tn_recorder *recorder) {
  pool_shape p;
  const tn_status status = max_pool_shape(call, &p);
  return status ? status : record(call, recorder, &p, 0);
}

tn_status average_pool_gpu_record(const tn_call *call, tn_recorder *recorder) {
  pool_shape p;
  const tn_status status = average_pool_shape(call, &p);
  const tn_average_pool_attrs *attrs = call->attrs;
  return status ? status : record(call, recorder, &p, attrs->count_include_pad ? 2 : 1);
}

tn_status max_pool_indices_gpu_record(const tn_call *call, tn_recorder *recorder) {
  pool_shape p;
  tn_gpu g;
  const tn_status status = max_pool_shape(call, &p);
  if (status) return status;
  const tn_window w = tn_window_padded(&p.w, 3);
  tn_gpu_begin(&g, call, GPU_max_pool_indices);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_out(&g, 1);
  tn_gpu_const(&g, ((const tn_max_pool_attrs *)call->attrs)->storage_order != 0);
  add_window(&g, &w);
  tn_gpu_float(&g, pool_lowest(call->inputs[0]->dtype));
  return run(&g, recorder, &p);
}

/* Norms of a power that is whole and not large: pow() of some drivers is right to 2^-13 of it. */
static const char *refuse_power(int64_t p) {
  return p < 1 || p > 16 ? "takes p from 1 to 16" : NULL;
}

const char *lp_pool_gpu_refuse(const tn_call *call) {
  const char *reason = refuse_power(((const tn_lp_pool_attrs *)call->attrs)->p);
  pool_shape p;
  const tn_status status = lp_pool_shape(call, &p);
  return reason ? reason : refuse(call, status, &p);
}

tn_status lp_pool_gpu_record(const tn_call *call, tn_recorder *recorder) {
  pool_shape p;
  tn_gpu g;
  const tn_status status = lp_pool_shape(call, &p);
  if (status) return status;
  const tn_window w = tn_window_padded(&p.w, 3);
  tn_gpu_begin(&g, call, GPU_lp_pool);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  add_window(&g, &w);
  tn_gpu_int(&g, ((const tn_lp_pool_attrs *)call->attrs)->p);
  return run(&g, recorder, &p);
}

enum { GLOBAL_MAX = 0, GLOBAL_AVERAGE = 1, GLOBAL_LP = 3 };

static tn_status record_global(const tn_call *call, tn_recorder *r, int32_t kind, int64_t power) {
  const int64_t planes = tn_elements(call->outputs[0]);
  tn_gpu g;
  if (!planes) return TN_OK;
  tn_gpu_begin(&g, call, GPU_global_pool);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, kind);
  tn_gpu_int(&g, tn_elements(call->inputs[0]) / planes);
  tn_gpu_int(&g, power);
  return tn_gpu_run(&g, r, (uint32_t)planes, 1, 1);
}

const char *global_pool_gpu_refuse(const tn_call *call) {
  const int64_t planes = tn_elements(call->outputs[0]);
  const char *reason = tn_gpu_refuse_size(call);
  if (reason || !planes) return reason;
  return tn_gpu_refuse_rounds(call, tn_ceil_div(tn_elements(call->inputs[0]) / planes, 64) + 64);
}

tn_status global_max_pool_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_global(call, recorder, GLOBAL_MAX, 1);
}
tn_status global_average_pool_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_global(call, recorder, GLOBAL_AVERAGE, 1);
}

const char *global_lp_pool_gpu_refuse(const tn_call *call) {
  const char *reason = refuse_power(((const tn_global_lp_pool_attrs *)call->attrs)->p);
  return reason ? reason : global_pool_gpu_refuse(call);
}
tn_status global_lp_pool_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_global(call, recorder, GLOBAL_LP,
                       ((const tn_global_lp_pool_attrs *)call->attrs)->p);
}
#endif
