/* What the kernels of products on GPUs share. */
#include "product_gpu.h"

product_steps product_steps_of(const product *p) {
  return (product_steps){p->trans_a ? 1 : p->k, p->trans_a ? p->m : 1, p->trans_b ? 1 : p->n,
                         p->trans_b ? p->k : 1};
}

enum { DIMS = 3 };

/* The leading dims, innermost first, as at most three: neighbours that A and B step through alike
 * are one. */
typedef struct batches {
  int32_t rank;
  int64_t size[TN_MAX_RANK], a[TN_MAX_RANK], b[TN_MAX_RANK];
} batches;

static batches batches_of(const product *p) {
  batches s = {.rank = 0};
  for (int32_t k = p->rank - 1; k >= 0; k--) {
    const int64_t size = p->dims[k], a = p->a_stride[k], b = p->b_stride[k];
    const int32_t last = s.rank - 1;
    if (size == 1) continue;
    if (last >= 0 && s.a[last] * s.size[last] == a && s.b[last] * s.size[last] == b) {
      s.size[last] *= size;
      continue;
    }
    s.size[s.rank] = size, s.a[s.rank] = a, s.b[s.rank++] = b;
  }
  return s;
}

const char *product_gpu_refuse(const tn_call *call, product_kind kind) {
  product p;
  if (product_of(call, kind, &p)) return "its shapes do not fit";
  if (batches_of(&p).rank > DIMS) return "has more than three leading dims that broadcast";
  if (p.batch > UINT16_MAX) return "takes up to 65535 matrices";
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_epilogue(call);
}

static bool has_c(const product *p) { return p->c && tn_elements(p->c) > 0; }

void product_gpu_buffers(tn_gpu *g, const product *p, int32_t parts) {
  tn_gpu_in(g, 0);
  tn_gpu_in(g, 1);
  tn_gpu_in(g, p->c ? 2 : -1);
  if (parts > 1)
    tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  else
    tn_gpu_out(g, 0);
  tn_gpu_epilogue(g);
  tn_gpu_const(g, has_c(p));
}

void product_gpu_params(tn_gpu *g, const product *p, const product_steps *s) {
  const batches b = batches_of(p);
  const int64_t plain[] = {p->m,     p->n,     p->k,     s->a_row, s->a_col,
                           s->b_row, s->b_col, p->c_row, p->c_col};
  for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) tn_gpu_int(g, plain[k]);
  for (int32_t k = 0; k < DIMS - 1; k++) tn_gpu_int(g, k < b.rank ? b.size[k] : 1);
  for (int32_t k = 0; k < DIMS; k++) tn_gpu_int(g, k < b.rank ? b.a[k] * p->m * p->k : 0);
  for (int32_t k = 0; k < DIMS; k++) tn_gpu_int(g, k < b.rank ? b.b[k] * p->k * p->n : 0);
  tn_gpu_float(g, p->alpha);
  tn_gpu_float(g, p->beta);
}

tn_status product_gpu_sum(const tn_call *call, tn_recorder *r, const product *p, int32_t parts) {
  const int64_t size = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_gemm_sum);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  tn_gpu_in(&g, p->c ? 2 : -1);
  tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  tn_gpu_const(&g, has_c(p));
  const int64_t words[] = {parts, size, p->m * p->n, p->n, p->c_row, p->c_col};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  tn_gpu_float(&g, p->alpha);
  tn_gpu_float(&g, p->beta);
  return tn_gpu_run(&g, r, tn_gpu_groups(size, 64), 1, 1);
}
