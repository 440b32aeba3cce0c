/* A plug-in with small operators for the tests of the executor, and helpers to build graphs of
 * them.
 *
 *   test::Add (a, b)     test::Double (x)      element-wise, f32
 *   test::NonZero (x)    indices of elements that are not zero: shape found at run time
 *   test::Iota (n)       0, 1, .. n-1 as f32: the shape depends on the data of n
 *   test::If, test::Repeat                     run subgraphs
 *   test::Upper (x)      strings               test::Pack, test::Unpack   lists
 *   test::Count (x)      a copy of x by a kernel with a state that may not run twice at once
 *   test::Bad (x)        misbehaves as its attribute `how` says */
#ifndef TENON_TESTS_EXEC_PARTS_H
#define TENON_TESTS_EXEC_PARTS_H

#include <stdatomic.h>

#include "exec_kit.h"

/* ---- element-wise ---- */

static tn_status plan_elements(const tn_call *c, tn_kernel_plan *out) {
  out->items[0] = tn_tensor_elements(c->outputs[0]);
  out->grain[0] = 16;
  out->in_place[0] = 0;
  out->flags = TN_PLAN_ELEMENTWISE;
  out->elements_per_item = 1;
  return TN_OK;
}

static tn_status run_add(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  const float *a = c->inputs[0]->data, *b = c->inputs[1]->data;
  float *y = c->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) y[k] = a[k] + b[k];
  return TN_OK;
}

static atomic_int n_doubled_in_place; /* ranges */

static tn_status run_double(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  const float *x = c->inputs[0]->data;
  float *y = c->outputs[0]->data;
  (void)stage, (void)worker;
  if (x == y) atomic_fetch_add(&n_doubled_in_place, 1);
  for (int64_t k = begin; k < end; k++) y[k] = 2 * x[k];
  return TN_OK;
}

/* ---- shapes from data ---- */

static tn_status plan_alone(const tn_call *c, tn_kernel_plan *out) {
  (void)c;
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

static tn_status infer_nonzero(const tn_call *c) {
  c->outputs[0]->dtype = TN_I64;
  c->outputs[0]->rank = 1;
  c->outputs[0]->shape[0] = TN_DIM_UNKNOWN;
  return TN_OK;
}

static tn_status run_nonzero(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  const float *x = c->inputs[0]->data;
  int64_t n = tn_tensor_elements(c->inputs[0]), found = 0;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < n; k++) found += x[k] != 0;
  tn_status status = c->host->output_resize(c->ctx, 0, 1, &found);
  if (status) return status;
  int64_t *y = c->outputs[0]->data;
  for (int64_t k = 0; k < n; k++)
    if (x[k] != 0) *y++ = k;
  return TN_OK;
}

static tn_status infer_iota(const tn_call *c) {
  if (!c->inputs[0]->data) {
    c->host->needs_data(c->ctx, 0);
    return TN_NEEDS_DATA;
  }
  c->outputs[0]->dtype = TN_F32;
  c->outputs[0]->rank = 1;
  c->outputs[0]->shape[0] = *(const int64_t *)c->inputs[0]->data;
  return TN_OK;
}

static tn_status run_iota(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  float *y = c->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < c->outputs[0]->shape[0]; k++) y[k] = (float)k;
  return TN_OK;
}

/* ---- subgraphs ---- */

typedef struct if_attrs {
  int64_t then_branch, else_branch;
} if_attrs;

static tn_status infer_if(const tn_call *c) {
  const if_attrs *attrs = c->attrs;
  return c->host->subgraph_infer(c->ctx, attrs->then_branch, 0, NULL, c->n_outputs, c->outputs);
}

static tn_status run_if(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  const if_attrs *attrs = c->attrs;
  const tn_tensor *out[4] = {NULL};
  (void)stage, (void)begin, (void)end, (void)worker;
  int64_t graph = *(const uint8_t *)c->inputs[0]->data ? attrs->then_branch : attrs->else_branch;
  tn_status status = c->host->subgraph_run(c->ctx, graph, 0, NULL, c->n_outputs, out);
  for (uint32_t k = 0; !status && k < c->n_outputs; k++)
    status = c->host->output_set(c->ctx, k, out[k]);
  return status;
}

static tn_status infer_repeat(const tn_call *c) {
  c->outputs[0]->dtype = c->inputs[1]->dtype;
  c->outputs[0]->rank = TN_RANK_UNKNOWN;
  return TN_OK;
}

static tn_status run_repeat(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  const int64_t *body = c->attrs;
  const tn_tensor *x = c->inputs[1];
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t n = *(const int64_t *)c->inputs[0]->data; n > 0; n--) {
    const tn_tensor *next = NULL;
    tn_status status = c->host->subgraph_run(c->ctx, *body, 1, &x, 1, &next);
    if (status) return status;
    c->host->value_release(c->ctx, x);
    x = next;
  }
  return c->host->output_set(c->ctx, 0, x);
}

/* ---- strings and lists ---- */

static tn_status plan_strings(const tn_call *c, tn_kernel_plan *out) {
  out->items[0] = tn_tensor_elements(c->outputs[0]);
  return TN_OK;
}

static tn_status run_upper(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  const tn_str *x = c->inputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) {
    char text[64];
    int64_t n = x[k].size < 64 ? x[k].size : 64;
    for (int64_t j = 0; j < n; j++)
      text[j] =
          (char)(x[k].data[j] >= 'a' && x[k].data[j] <= 'z' ? x[k].data[j] - 32 : x[k].data[j]);
    tn_status status = c->host->string_set(c->ctx, 0, k, text, n);
    if (status) return status;
  }
  return TN_OK;
}

static tn_status infer_pack(const tn_call *c) {
  c->outputs[0]->dtype = TN_F32;
  c->outputs[0]->kind = TN_KIND_SEQUENCE;
  return TN_OK;
}

static tn_status run_pack(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  tn_status status = c->host->list_append(c->ctx, 0, c->inputs[0]);
  return status ? status : c->host->list_append(c->ctx, 0, c->inputs[1]);
}

static tn_status infer_unpack(const tn_call *c) {
  c->outputs[0]->dtype = TN_F32;
  c->outputs[0]->rank = TN_RANK_UNKNOWN;
  return TN_OK;
}

static tn_status run_unpack(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  int64_t last = c->host->list_size(c->ctx, c->inputs[0]) - 1;
  const tn_tensor *item = c->host->list_item(c->ctx, c->inputs[0], last);
  return c->host->output_set(c->ctx, 0, item);
}

/* ---- states and serial kernels ---- */

static tn_status plan_count(const tn_call *c, tn_kernel_plan *out) {
  (void)c;
  out->state_bytes = sizeof(int64_t);
  out->scratch_bytes = 100;
  out->worker_scratch_bytes = 100;
  return TN_OK;
}

static tn_status prepare_count(const tn_call *c) {
  *(int64_t *)c->state = 7;
  return TN_OK;
}

static tn_status run_count(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  (void)stage, (void)begin, (void)end;
  if (!c->state || *(const int64_t *)c->state != 7)
    return (c->host->fail)(c->ctx, TN_ERR_STATE, "no state");
  if ((uintptr_t)c->scratch % 64 || (uintptr_t)c->worker_scratch % 64 ||
      c->worker_scratch_bytes != 128)
    return (c->host->fail)(c->ctx, TN_ERR_STATE, "scratch is not as plugin.h says");
  memset(c->scratch, 1, 100);
  memset((char *)c->worker_scratch + worker * c->worker_scratch_bytes, 2, 100);
  memcpy(c->outputs[0]->data, c->inputs[0]->data, (size_t)tn_tensor_bytes(c->inputs[0]));
  return TN_OK;
}

/* ---- misbehaviour ---- */

enum {
  BAD_TEXT = 1,
  BAD_SILENT,
  BAD_CODE,
  BAD_DIM,
  BAD_OUTPUT,
  BAD_SHAPE,
  BAD_STRING,
  BAD_LIST,
  BAD_GRAPH,
  BAD_NO_SHAPE,
  BAD_HUGE,
  BAD_RANK,
  BAD_SET_NULL,
  BAD_PARALLEL,
  BAD_WORKERS
};

static tn_status plan_bad(const tn_call *c, tn_kernel_plan *out) {
  const int64_t how = *(const int64_t *)c->attrs;
  out->items[0] = how == BAD_PARALLEL ? 4 : how == BAD_WORKERS ? 1000 : 1;
  if (out->items[0] == 1) out->flags = TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

static tn_status infer_bad(const tn_call *c) {
  const int64_t how = *(const int64_t *)c->attrs;
  *c->outputs[0] = *c->inputs[0];
  c->outputs[0]->data = NULL;
  if (how == BAD_NO_SHAPE || how == BAD_HUGE) c->outputs[0]->shape[0] = TN_DIM_UNKNOWN;
  return TN_OK;
}

static tn_status run_bad(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  const tn_host *h = c->host;
  const int64_t how = *(const int64_t *)c->attrs;
  int64_t minus[] = {-1}, nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, huge[] = {INT64_MAX / 2};
  const tn_tensor *none = NULL;
  (void)stage, (void)end, (void)worker;
  if (how == BAD_TEXT) return (h->fail)(c->ctx, TN_ERR_UNSUPPORTED, "I will not do %d", 5);
  if (how == BAD_SILENT) return TN_ERR_UNSUPPORTED;
  if (how == BAD_CODE) return 42;
  if (how == BAD_DIM) return h->output_resize(c->ctx, 0, 1, minus);
  if (how == BAD_OUTPUT) return h->output_resize(c->ctx, 7, 1, nine);
  if (how == BAD_SHAPE || how == BAD_PARALLEL) return h->output_resize(c->ctx, 0, 1, nine);
  if (how == BAD_STRING) return h->string_set(c->ctx, 0, 0, "x", 1);
  if (how == BAD_LIST) return h->list_append(c->ctx, 0, c->inputs[0]);
  if (how == BAD_GRAPH) return h->subgraph_run(c->ctx, 0, 0, NULL, 1, &none);
  if (how == BAD_HUGE) return h->output_resize(c->ctx, 0, 1, huge);
  if (how == BAD_RANK) return h->output_resize(c->ctx, 0, 9, nine);
  if (how == BAD_SET_NULL) return h->output_set(c->ctx, 0, NULL);
  if (how == BAD_WORKERS && begin >= 0)
    return (h->fail)(c->ctx, TN_ERR_CANCELLED, "worker says %lld", (long long)how);
  return TN_OK;
}

/* ---- the plug-in ---- */

PART_OP(op_add, "Add", "(Tensor a, Tensor b) -> Tensor y", TN_OP_ELEMENTWISE | TN_OP_SAME_AS_INPUT,
        NULL);
PART_OP(op_double, "Double", "(Tensor x) -> Tensor y", TN_OP_ELEMENTWISE | TN_OP_SAME_AS_INPUT,
        NULL);
PART_OP(op_nonzero, "NonZero", "(Tensor x) -> Tensor y", 0, infer_nonzero);
PART_OP(op_iota, "Iota", "(Tensor n) -> Tensor y", 0, infer_iota);
PART_OP(op_if, "If", "(Tensor cond, *, Graph then_branch, Graph else_branch) -> Tensor[] y", 0,
        infer_if);
PART_OP(op_repeat, "Repeat", "(Tensor n, Tensor x, *, Graph body) -> Tensor y", 0, infer_repeat);
PART_OP(op_upper, "Upper", "(Tensor x) -> Tensor y", TN_OP_SAME_AS_INPUT, NULL);
PART_OP(op_pack, "Pack", "(Tensor a, Tensor b) -> Tensor y", 0, infer_pack);
PART_OP(op_unpack, "Unpack", "(Tensor x) -> Tensor y", 0, infer_unpack);
PART_OP(op_count, "Count", "(Tensor x) -> Tensor y", TN_OP_SAME_AS_INPUT, NULL);
PART_OP(op_bad, "Bad", "(Tensor x, *, int how) -> Tensor y", 0, infer_bad);
PART_KERNEL(add_c, "Add", plan_elements, run_add);
PART_KERNEL(double_c, "Double", plan_elements, run_double);
PART_KERNEL(nonzero_c, "NonZero", plan_alone, run_nonzero);
PART_KERNEL(iota_c, "Iota", NULL, run_iota);
PART_KERNEL(if_c, "If", NULL, run_if);
PART_KERNEL(repeat_c, "Repeat", plan_alone, run_repeat);
PART_KERNEL(upper_c, "Upper", plan_strings, run_upper);
PART_KERNEL(pack_c, "Pack", NULL, run_pack);
PART_KERNEL(unpack_c, "Unpack", plan_alone, run_unpack);
PART_KERNEL(bad_c, "Bad", plan_bad, run_bad);
PART_KERNEL_WITH(count_c, "Count", PART_ANY, .flags = TN_KERNEL_SERIAL, .plan = plan_count,
                 .prepare = prepare_count, .run = run_count);

static const tn_op *const part_ops[] = {&op_add,    &op_double, &op_nonzero, &op_iota,
                                        &op_if,     &op_repeat, &op_upper,   &op_pack,
                                        &op_unpack, &op_count,  &op_bad};
static const tn_kernel *const part_kernels[] = {&add_c,    &double_c, &nonzero_c, &iota_c,
                                                &if_c,     &repeat_c, &upper_c,   &pack_c,
                                                &unpack_c, &count_c,  &bad_c};
PART_PLUGIN(exec_parts, part_ops, part_kernels);

/* A runtime with the parts above and an empty graph. */
static inline void bench_open(bench *b, const tn_allocator *allocator, int32_t n_threads) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = n_threads;
  options.flags = TN_RUNTIME_NO_DISCOVERY | TN_RUNTIME_NO_BUILTINS;
  options.allocator = allocator;
  bench_open_with(b, &options, exec_parts_query);
}

#endif
