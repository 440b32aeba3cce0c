/* What the host side of a GPU kernel uses: a dispatch is filled in as its KERNEL line reads.
 *
 *   tn_gpu g;
 *   tn_gpu_begin(&g, call, GPU_add);
 *   tn_gpu_in(&g, 0), tn_gpu_in(&g, 1), tn_gpu_out(&g, 0);  buffers, in their order
 *   tn_gpu_epilogue(&g);                                    if the line says EPILOGUE
 *   tn_gpu_const(&g, 4);                                    each CONST
 *   tn_gpu_int(&g, n);                                      each INT and FLOAT, in their order
 *   return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
 *
 * docs/add-a-gpu-kernel.md shows a whole kernel. */
#ifndef TENON_EXPERIMENTAL_GPU_H
#define TENON_EXPERIMENTAL_GPU_H

#include <stdbool.h>
#include <string.h>

#include "tenon/device.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/tensor.h"

enum {
  TN_GPU_BUFFERS = 16,
  TN_GPU_CONSTANTS = 32,
  TN_GPU_WORDS = 128, /* params */
  TN_GPU_STEPS = 4,   /* of an epilogue */
  TN_GPU_OPERANDS = 2,
  TN_GPU_ROUNDS = 65535, /* of a thread's loops: llvmpipe and lavapipe leave them after so many */
  TN_GPU_LANES = 1 << 16 /* in tn_device_info.flags: programs have LANES, FROM_LANE hands on */
};

typedef struct tn_gpu {
  const tn_call *call;
  uint32_t program, n_buffers, n_constants, n_words;
  bool is_too_long; /* more was said than there is room for */
  bool has_epilogue;
  tn_binding buffers[TN_GPU_BUFFERS];
  int64_t dtypes[TN_GPU_BUFFERS], constants[TN_GPU_CONSTANTS];
  int64_t fused[2 * TN_GPU_STEPS + TN_GPU_OPERANDS];
  union {
    int32_t i;
    float f;
  } words[TN_GPU_WORDS], fused_words[2 * TN_GPU_STEPS + 2 * TN_GPU_OPERANDS];
} tn_gpu;

static inline void tn_gpu_begin(tn_gpu *g, const tn_call *call, int32_t program) {
  memset(g, 0, sizeof *g);
  g->call = call;
  g->program = (uint32_t)program;
}

/* A buffer that is not an argument of the operator: kind TN_BIND_STATE or TN_BIND_SCRATCH. */
static inline void tn_gpu_buffer(tn_gpu *g, uint32_t kind, uint32_t index, uint32_t dtype,
                                 uint64_t offset, uint64_t bytes) {
  if (g->n_buffers == TN_GPU_BUFFERS) {
    g->is_too_long = true;
    return;
  }
  const tn_binding b = {TN_HEAD(tn_binding), kind, index, offset, bytes};
  g->dtypes[g->n_buffers] = dtype;
  g->buffers[g->n_buffers++] = b;
}

static inline void tn_gpu_none(tn_gpu *g) { tn_gpu_buffer(g, TN_BIND_NONE, 0, TN_NONE, 0, 0); }

/* Left out inputs have the dtype 0. */
static inline void tn_gpu_in(tn_gpu *g, int32_t k) {
  const tn_tensor *t = k >= 0 && (uint32_t)k < g->call->n_inputs ? g->call->inputs[k] : NULL;
  if (t && tn_storage_bytes(t) > 0)
    tn_gpu_buffer(g, TN_BIND_INPUT, (uint32_t)k, t->dtype, 0, 0);
  else
    tn_gpu_none(g);
}

static inline void tn_gpu_out(tn_gpu *g, int32_t k) {
  const tn_tensor *t = (uint32_t)k < g->call->n_outputs ? g->call->outputs[k] : NULL;
  if (t)
    tn_gpu_buffer(g, TN_BIND_OUTPUT, (uint32_t)k, t->dtype, 0, 0);
  else
    tn_gpu_none(g);
}

static inline void tn_gpu_const(tn_gpu *g, int64_t value) {
  if (g->n_constants == TN_GPU_CONSTANTS)
    g->is_too_long = true;
  else
    g->constants[g->n_constants++] = value;
}

static inline void tn_gpu_int(tn_gpu *g, int64_t value) {
  if (g->n_words == TN_GPU_WORDS || value < INT32_MIN || value > INT32_MAX)
    g->is_too_long = true;
  else
    g->words[g->n_words++].i = (int32_t)value;
}

static inline void tn_gpu_float(tn_gpu *g, double value) {
  if (g->n_words == TN_GPU_WORDS)
    g->is_too_long = true;
  else
    g->words[g->n_words++].f = (float)value;
}

/* ceil(n / per), at least 1. */
static inline uint32_t tn_gpu_groups(int64_t n, int64_t per) {
  const int64_t count = n > 0 ? (n - 1) / per + 1 : 1;
  return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* Has it many more units than processors have cores? */
static inline bool tn_gpu_is_wide(const tn_call *call) {
  const tn_device_info *info = call->device;
  return info && info->units >= 16;
}

/* Do threads of a subgroup read each other's values? */
static inline bool tn_gpu_has_lanes(const tn_call *call) {
  const tn_device_info *info = call->device;
  return info && info->flags & TN_GPU_LANES;
}

/* Into how many parts, a power of two up to `most`, the work of each of n groups is to be cut, so
 * that a device has enough of them. */
static inline int32_t tn_gpu_shares(const tn_call *call, int64_t n, int64_t most) {
  const tn_device_info *info = call->device;
  const int64_t wanted = info ? 4 * (int64_t)info->units : 0;
  int32_t shares = 1;
  while (2 * shares <= most && shares * n < wanted) shares *= 2;
  return shares;
}

/* A product of m x k by k x n, `batch` times, in tiles of high x wide results, each made in parts
 * of `share` steps along k, a multiple of `slice`, where there are too few tiles for the device.
 * The groups are columns, rows and batch * parts. */
typedef struct tn_gpu_tiles {
  int64_t columns, rows, share;
  int32_t high, wide, parts;
} tn_gpu_tiles;

static inline tn_gpu_tiles tn_gpu_tiles_of(const tn_call *call, const int64_t m_n_k[3],
                                           int64_t batch, int32_t high, int32_t wide,
                                           int64_t slice) {
  enum { LEAST = 4, MOST = 32 }; /* slices of a part, parts */
  const int64_t m = m_n_k[0], n = m_n_k[1], k = m_n_k[2];
  tn_gpu_tiles t = {tn_ceil_div(n, wide), tn_ceil_div(m, high), slice, high, wide, 1};
  if (batch <= 0 || k <= 0) return t;
  const int64_t most = tn_min_i64(tn_min_i64(MOST, k / (LEAST * slice)), UINT16_MAX / batch);
  t.parts = tn_gpu_shares(call, t.columns * t.rows * batch, most);
  t.share = tn_ceil_div(tn_ceil_div(k, t.parts), slice) * slice;
  t.parts = (int32_t)tn_ceil_div(k, t.share);
  return t;
}

/* Tiles of gpu_mma.h: large ones if they are enough to fill the device. */
static inline tn_gpu_tiles tn_gpu_tiles_mma(const tn_call *call, const int64_t m_n_k[3],
                                            int64_t batch) {
  enum { SMALL = 64, LARGE = 128, SLICE = 32 };
  const tn_device_info *info = call->device;
  const int64_t n = tn_ceil_div(m_n_k[0], LARGE) * tn_ceil_div(m_n_k[1], LARGE) * batch;
  const int32_t size = info && n >= info->units ? LARGE : SMALL;
  return tn_gpu_tiles_of(call, m_n_k, batch, size, size, SLICE);
}

/* Its constants WM, THREADS and PARTED. */
static inline void tn_gpu_mma_consts(tn_gpu *g, const tn_gpu_tiles *t) {
  tn_gpu_const(g, t->high / 32);
  tn_gpu_const(g, t->wide * 2);
  tn_gpu_const(g, t->parts > 1);
}

/* What parts need: a sum in f32 of each element of output 0. */
static inline tn_status tn_gpu_tiles_scratch(const tn_call *call, const tn_gpu_tiles *t,
                                             tn_kernel_plan *out) {
  uint64_t n = 0;
  if (t->parts == 1) return TN_OK;
  if (tn_mul_u64((uint64_t)tn_elements(call->outputs[0]), (uint64_t)t->parts, &n) || n > INT32_MAX)
    return TN_ERR_OVERFLOW;
  out->scratch_bytes = n * sizeof(float);
  return TN_OK;
}

/* ---- what refuse() asks ---- */

/* Programs count in ints. NULL: every tensor has less than 2^31 elements. */
static inline const char *tn_gpu_refuse_size(const tn_call *call) {
  for (uint32_t k = 0; k < call->n_inputs + call->n_outputs; k++) {
    const tn_tensor *t = k < call->n_inputs ? call->inputs[k] : call->outputs[k - call->n_inputs];
    if (t && tn_storage_elements(t) > INT32_MAX) return "a tensor has 2^31 elements or more";
  }
  return NULL;
}

/* Rounds in all of n loops of a thread, one in the other, the outermost first. That a loop ends is
 * a round, too. */
static inline int64_t tn_gpu_rounds(const int64_t *sizes, int32_t n) {
  int64_t rounds = 0;
  for (int32_t k = n - 1; k >= 0; k--)
    if (tn_mul_i64(sizes[k], rounds + 1, &rounds) || ++rounds > INT32_MAX) return INT32_MAX;
  return rounds;
}

/* NULL: the loops of a thread, of so many rounds in all, do not end early, see TN_GPU_ROUNDS. */
static inline const char *tn_gpu_refuse_rounds(const tn_call *call, int64_t rounds) {
  if ((call->device && call->device->units) || rounds <= TN_GPU_ROUNDS) return NULL;
  return "has loops of more than 65535 rounds, which drivers on processors may end early";
}

/* The same of the tiles of gpu_tile.h, whose results are sums of k products. */
static inline const char *tn_gpu_refuse_tiles(const tn_call *call, int64_t k) {
  const int64_t slices[] = {tn_ceil_div(k, 16), 16};
  enum { RESULTS = 256 };
  return tn_gpu_refuse_rounds(call, tn_gpu_rounds(slices, 2) + RESULTS);
}

/* The dim of the output that t has a value per index of, and how many elements lie behind it: t[i /
 * inner % extent]. False: t is of the output's shape. */
static inline bool tn_gpu_operand(const tn_tensor *t, const tn_tensor *y, int64_t *out_inner,
                                  int64_t *out_extent) {
  *out_inner = *out_extent = 1;
  bool is_full = t->rank == y->rank;
  for (int32_t k = 0; k < y->rank; k++) {
    const int32_t d = k - (y->rank - t->rank);
    const int64_t dim = d >= 0 ? t->shape[d] : 1;
    is_full = is_full && dim == y->shape[k];
  }
  if (is_full) return false;
  for (int32_t k = 0; k < y->rank; k++) {
    const int32_t d = k - (y->rank - t->rank);
    if (d >= 0 && t->shape[d] != 1) {
      *out_extent = t->shape[d];
      *out_inner = 1;
      for (int32_t i = k + 1; i < y->rank; i++) *out_inner *= y->shape[i];
    }
  }
  return true;
}

/* NULL: EPILOGUE1 and EPILOGUE4 apply all of call->epilogue. The output is plain. */
static inline const char *tn_gpu_refuse_epilogue(const tn_call *call) {
  uint32_t n = 0;
  if (call->n_epilogue > TN_GPU_STEPS) return "applies up to four steps behind it";
  for (uint32_t k = 0; k < call->n_epilogue; k++) {
    const tn_epilogue *e = call->epilogue[k];
    if (e->kind >= TN_EPILOGUE_COUNT) return "does not know a step of the epilogue";
    if (e->input >= 0 && ++n > TN_GPU_OPERANDS) return "applies up to two operands behind it";
    if (e->input >= 0 && call->inputs[e->input]->layout != TN_PLAIN)
      return "takes operands in plain layout";
  }
  return NULL;
}

/* ---- the rest of a dispatch ---- */

/* The steps in call->epilogue, which tn_gpu_refuse_epilogue has taken. */
static inline void tn_gpu_epilogue(tn_gpu *g) {
  const tn_call *call = g->call;
  int64_t *kinds = g->fused, *modes = g->fused + 2 * TN_GPU_STEPS;
  int32_t inputs[TN_GPU_OPERANDS] = {TN_NO_ID, TN_NO_ID}, n = 0;
  g->has_epilogue = true;
  for (uint32_t k = 0; k < TN_GPU_STEPS; k++) kinds[2 * k + 1] = -1;
  for (uint32_t k = 0; k < TN_GPU_OPERANDS; k++)
    g->fused_words[2 * TN_GPU_STEPS + k].i = g->fused_words[2 * TN_GPU_STEPS + 2 + k].i = 1;
  for (uint32_t k = 0; k < call->n_epilogue && k < TN_GPU_STEPS; k++) {
    const tn_epilogue *e = call->epilogue[k];
    int64_t inner, extent;
    kinds[2 * k] = e->kind;
    g->fused_words[k].f = (float)e->a;
    g->fused_words[TN_GPU_STEPS + k].f = (float)e->b;
    if (e->input < 0 || n == TN_GPU_OPERANDS) continue;
    modes[n] = tn_gpu_operand(call->inputs[e->input], call->outputs[0], &inner, &extent);
    g->is_too_long = g->is_too_long || inner > INT32_MAX || extent > INT32_MAX;
    g->fused_words[2 * TN_GPU_STEPS + n].i = (int32_t)inner;
    g->fused_words[2 * TN_GPU_STEPS + TN_GPU_OPERANDS + n].i = (int32_t)extent;
    inputs[n] = e->input;
    kinds[2 * k + 1] = n++;
  }
  for (int32_t k = 0; k < TN_GPU_OPERANDS; k++) tn_gpu_in(g, inputs[k]);
}

static inline tn_status tn_gpu_run(tn_gpu *g, tn_recorder *r, uint32_t x, uint32_t y, uint32_t z) {
  const tn_binding *bindings[TN_GPU_BUFFERS];
  int64_t constants[TN_GPU_BUFFERS + 2 * TN_GPU_STEPS + TN_GPU_OPERANDS + TN_GPU_CONSTANTS];
  const uint32_t n_fused = g->has_epilogue ? 2 * TN_GPU_STEPS + TN_GPU_OPERANDS : 0;
  const uint32_t n_fused_words = g->has_epilogue ? 2 * TN_GPU_STEPS + 2 * TN_GPU_OPERANDS : 0;
  uint32_t n = 0;
  for (uint32_t k = 0; k < g->n_buffers; k++) {
    const tn_binding *b = &g->buffers[k];
    if (b->kind == TN_BIND_OUTPUT && tn_storage_bytes(g->call->outputs[b->index]) == 0)
      return TN_OK; /* nothing to compute */
  }
  if (g->is_too_long || g->n_words + n_fused_words > TN_GPU_WORDS)
    return g->call->host->fail(g->call->ctx, TN_ERR_UNSUPPORTED,
                               "the arguments of the program do not fit");
  for (uint32_t k = 0; k < g->n_buffers; k++) bindings[k] = &g->buffers[k];
  for (uint32_t k = 0; k < g->n_buffers; k++) constants[n++] = g->dtypes[k];
  for (uint32_t k = 0; k < n_fused; k++) constants[n++] = g->fused[k];
  for (uint32_t k = 0; k < g->n_constants; k++) constants[n++] = g->constants[k];
  memcpy(g->words + g->n_words, g->fused_words, n_fused_words * sizeof *g->words);
  const tn_dispatch d = {TN_HEAD(tn_dispatch),
                         g->program,
                         g->n_buffers,
                         n,
                         (uint32_t)((g->n_words + n_fused_words) * sizeof *g->words),
                         {x, y, z},
                         0,
                         bindings,
                         constants,
                         g->words};
  return r->dispatch(r->ctx, &d);
}

#endif
