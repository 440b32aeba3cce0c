/* Gemm and MatMul of matrices on OpenCL devices: a tile of 16 x 16 results per group, whose
 * operands go through local memory. Bias and ReLU, of the operator or as epilogue, are applied to
 * the sum. */
#include <string.h>

#include "product.h"
#include "tenon/experimental/device.h"
#include "tenon/kit/epilogue.h"

enum { TILE = 16 };

static const char text[] =
    "typedef struct {\n"
    "  int m, n, k, a_row, a_col, b_row, b_col, c_row, c_col;\n"
    "  float alpha, beta;\n"
    "} params;\n"
    "__kernel __attribute__((reqd_work_group_size(16, 16, 1)))\n"
    "void gemm_f32(__global const float *a, __global const float *b, __global const float *c,\n"
    "              __global float *y, params p) {\n"
    "  __local float ta[16][17], tb[16][17];\n"
    "  const int x = get_local_id(0), z = get_local_id(1);\n"
    "  const int col = get_group_id(0) * 16 + x, row = get_group_id(1) * 16 + z;\n"
    "  float sum = 0;\n"
    "  for (int at = 0; at < p.k; at += 16) {\n"
    "    ta[z][x] = row < p.m && at + x < p.k ? a[row * p.a_row + (at + x) * p.a_col] : 0;\n"
    "    tb[z][x] = col < p.n && at + z < p.k ? b[(at + z) * p.b_row + col * p.b_col] : 0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int k = 0; k < 16; k++) sum += ta[z][k] * tb[k][x];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  }\n"
    "  if (row >= p.m || col >= p.n) return;\n"
    "  sum *= p.alpha;\n"
    "  if (HAS_C) sum += p.beta * c[row * p.c_row + col * p.c_col];\n"
    "  if (HAS_RELU) sum = sum < 0 ? 0 : sum;\n"
    "  y[row * p.n + col] = sum;\n"
    "}\n";

typedef struct gemm_params {
  int32_t m, n, k, a_row, a_col, b_row, b_col, c_row, c_col;
  float alpha, beta;
} gemm_params;

/* What a call is for the program. */
typedef struct gpu_product {
  gemm_params params;
  int32_t c; /* input that is added; -1: none */
  bool has_relu;
} gpu_product;

/* ---- what is taken ---- */

static const char *take_c(const tn_call *call, int32_t input, gpu_product *p) {
  const tn_tensor *c = call->inputs[input];
  if (p->c >= 0) return "adds two tensors, the program one";
  if (c->rank > 2) return "the bias has more dims than the product";
  const int64_t cols = c->rank > 0 ? c->shape[c->rank - 1] : 1;
  const int64_t rows = c->rank > 1 ? c->shape[0] : 1;
  p->c = input;
  p->params.c_col = cols > 1;
  p->params.c_row = rows > 1 ? (int32_t)cols : 0;
  return NULL;
}

static const char *take_epilogue(const tn_call *call, gpu_product *p) {
  for (uint32_t k = 0; k < call->n_epilogue; k++) {
    const tn_epilogue *e = call->epilogue[k];
    if (p->has_relu) return "applies nothing behind a ReLU";
    if (e->kind == TN_EPILOGUE_RELU) {
      p->has_relu = true;
      continue;
    }
    if (e->kind != TN_EPILOGUE_ADD) return "its epilogue is a bias and a ReLU only";
    const char *reason = take_c(call, e->input, p);
    if (reason) return reason;
  }
  return NULL;
}

static bool is_matrix(const tn_tensor *t) {
  return t->rank == 2 && t->shape[0] > 0 && t->shape[1] > 0 && t->shape[0] <= INT32_MAX / 2 &&
         t->shape[1] <= INT32_MAX / 2 && t->shape[0] <= INT32_MAX / t->shape[1];
}

static const char *take(const tn_call *call, bool trans_a, bool trans_b, gpu_product *p) {
  const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
  if (!is_matrix(a) || !is_matrix(b) || !is_matrix(y))
    return "takes matrices, not empty, of less than 2^31 elements";
  const int32_t a_cols = (int32_t)a->shape[1], b_cols = (int32_t)b->shape[1];
  p->params.m = (int32_t)y->shape[0];
  p->params.n = (int32_t)y->shape[1];
  p->params.k = (int32_t)a->shape[!trans_a];
  p->params.a_row = trans_a ? 1 : a_cols;
  p->params.a_col = trans_a ? a_cols : 1;
  p->params.b_row = trans_b ? 1 : b_cols;
  p->params.b_col = trans_b ? b_cols : 1;
  p->params.alpha = p->params.beta = 1;
  p->c = -1;
  return NULL;
}

static const char *take_matmul(const tn_call *call, gpu_product *p) {
  const char *reason = take(call, false, false, p);
  return reason ? reason : take_epilogue(call, p);
}

static const char *take_gemm(const tn_call *call, gpu_product *p) {
  const tn_gemm_attrs *attrs = call->attrs;
  const char *reason = take(call, attrs->transA != 0, attrs->transB != 0, p);
  if (reason) return reason;
  p->params.alpha = (float)attrs->alpha;
  if (call->inputs[2]) {
    reason = take_c(call, 2, p);
    p->params.beta = (float)attrs->beta;
  }
  return reason ? reason : take_epilogue(call, p);
}

static const char *refuse_matmul(const tn_call *call) {
  gpu_product p = {0};
  return take_matmul(call, &p);
}

static const char *refuse_gemm(const tn_call *call) {
  gpu_product p = {0};
  return take_gemm(call, &p);
}

/* ---- recording ---- */

static tn_status record(const gpu_product *p, tn_recorder *r) {
  const tn_binding a = {TN_HEAD(tn_binding), TN_BIND_INPUT, 0, 0, 0};
  const tn_binding b = {TN_HEAD(tn_binding), TN_BIND_INPUT, 1, 0, 0};
  const tn_binding c = {TN_HEAD(tn_binding), p->c < 0 ? TN_BIND_NONE : TN_BIND_INPUT,
                        p->c < 0 ? 0 : (uint32_t)p->c, 0, 0};
  const tn_binding y = {TN_HEAD(tn_binding), TN_BIND_OUTPUT, 0, 0, 0};
  const tn_binding *const bindings[] = {&a, &b, &c, &y};
  const int64_t constants[] = {p->c >= 0, p->has_relu};
  const tn_dispatch d = {.head = TN_HEAD(tn_dispatch),
                         .n_bindings = 4,
                         .n_constants = 2,
                         .params_bytes = sizeof p->params,
                         .groups = {((uint32_t)p->params.n + TILE - 1) / TILE,
                                    ((uint32_t)p->params.m + TILE - 1) / TILE, 1},
                         .bindings = bindings,
                         .constants = constants,
                         .params = &p->params};
  return r->dispatch(r->ctx, &d);
}

static tn_status record_matmul(const tn_call *call, tn_recorder *r) {
  gpu_product p = {0};
  return take_matmul(call, &p) ? TN_ERR_UNSUPPORTED : record(&p, r);
}

static tn_status record_gemm(const tn_call *call, tn_recorder *r) {
  gpu_product p = {0};
  return take_gemm(call, &p) ? TN_ERR_UNSUPPORTED : record(&p, r);
}

/* ---- tables ---- */

static const tn_program_form form = {TN_HEAD(tn_program_form), "opencl-c", text, sizeof text - 1};
static const tn_program_form *const forms[] = {&form};
static const tn_program program = {.head = TN_HEAD(tn_program),
                                   .name = "gemm_f32",
                                   .constants = "HAS_C:int HAS_RELU:int",
                                   .forms = forms,
                                   .n_forms = 1};
static const tn_program *const programs[] = {&program};

TN_ACCEPT(f32, .arg = "*", .dtypes = TN_MASK(TN_F32));
TN_LIST(const tn_accept *, rows, &f32);

static const tn_kernel matmul_row = {.head = TN_HEAD(tn_kernel),
                                     .name = "matmul_f32_opencl",
                                     .op = "MatMul",
                                     .device = "opencl",
                                     .flags = TN_KERNEL_EPILOGUE,
                                     .rank = TN_RANK_OPTIMIZED,
                                     .accepts = rows,
                                     .n_accepts = 1,
                                     .refuse = refuse_matmul};
static const tn_kernel gemm_row = {.head = TN_HEAD(tn_kernel),
                                   .name = "gemm_f32_opencl",
                                   .op = "Gemm",
                                   .device = "opencl",
                                   .since = 7,
                                   .flags = TN_KERNEL_EPILOGUE,
                                   .rank = TN_RANK_OPTIMIZED,
                                   .accepts = rows,
                                   .n_accepts = 1,
                                   .refuse = refuse_gemm};

const tn_device_kernel matmul_f32_opencl = {.head = TN_HEAD(tn_device_kernel),
                                            .kernel = &matmul_row,
                                            .programs = programs,
                                            .n_programs = 1,
                                            .record = record_matmul};
const tn_device_kernel gemm_f32_opencl = {.head = TN_HEAD(tn_device_kernel),
                                          .kernel = &gemm_row,
                                          .programs = programs,
                                          .n_programs = 1,
                                          .record = record_gemm};
