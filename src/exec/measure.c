/* Times a kernel that takes a node, by itself, on made-up inputs: for tuning. */
#include <string.h>

#include "base/cpu.h"
#include "exec/eval.h"

enum { MIN_RUNS = 3, MAX_RUNS = 100, ENOUGH_NS = 20000000 };

/* Numbers of the size of usual activations; integers, which may be indices, are 0. */
static void make_up(const tn_tensor *t, uint8_t *data, uint64_t bytes) {
  uint32_t state = 1;
  if (t->dtype == TN_F32)
    for (uint64_t k = 0; k + 4 <= bytes; k += 4) {
      state = state * 1664525u + 1013904223u;
      const float x = (float)(int32_t)state * 0x1p-31f;
      memcpy(data + k, &x, sizeof x);
    }
  else if (t->dtype == TN_F64 || t->dtype == TN_F16 || t->dtype == TN_BF16)
    memset(data, 0x3c, bytes);
}

/* A list, strings or an open shape cannot be made up. */
static bool is_plain_data(const tn_tensor *t) {
  return t->kind == TN_KIND_TENSOR && t->dtype != TN_STRING && tn_storage_bytes(t) >= 0;
}

static tn_status fill_input(const tn_planner *p, const tn_tensor *in, tn_tensor *t, tn_const **c) {
  const int64_t bytes = tn_storage_bytes(in);
  *t = *in;
  if (in->data) return TN_OK;
  if (!is_plain_data(in)) return TN_ERR_UNSUPPORTED;
  *c = tn_const_new(p->a, (uint64_t)bytes);
  if (!*c) return TN_ERR_MEMORY;
  make_up(in, (*c)->data, (uint64_t)bytes);
  t->data = (*c)->data;
  return TN_OK;
}

static tn_status run_often(tn_frame *f, void *self) {
  uint64_t *best = self;
  const uint64_t begin = tn_now_ns();
  tn_status status = tn_frame_steps(f); /* warms up */
  for (int k = 0; !status && k < MAX_RUNS; k++) {
    const uint64_t start = tn_now_ns();
    if (k >= MIN_RUNS && start - begin > ENOUGH_NS) break;
    status = tn_frame_steps(f);
    const uint64_t ns = tn_now_ns() - start;
    if (!k || ns < *best) *best = ns;
  }
  return status;
}

static tn_status measure(tn_eval *e, const tn_tensor *const *in, tn_tensor *const *out,
                         tn_const **consts, uint64_t *out_ns) {
  const uint32_t n_in = e->node.node.n_inputs, n_out = e->node.node.n_outputs;
  tn_tensor *types = tn_arena_alloc(&e->arena, ((uint64_t)n_in + 1) * sizeof *types);
  const tn_tensor **given = tn_arena_alloc(&e->arena, ((uint64_t)n_in + 1) * sizeof *given);
  tn_status status = types && given ? TN_OK : TN_ERR_MEMORY;
  for (uint32_t k = 0; !status && k < n_in; k++) {
    given[k] = in[k] ? &types[k] : NULL;
    if (in[k]) status = fill_input(e->planner, in[k], &types[k], &consts[k]);
  }
  for (uint32_t k = 0; !status && k < n_out; k++)
    if (out[k] && !is_plain_data(out[k])) status = TN_ERR_UNSUPPORTED;
  if (!status) status = tn_eval_add_step(e, given, out, consts + n_in);
  if (!status)
    status = tn_frame_create_in(NULL, e->planner->a, e->planner->pool, e->planner, NULL, &e->frame);
  if (!status) status = tn_eval_book(e);
  return status ? status : tn_eval_with_state(e, run_often, out_ns);
}

tn_status tn_measure_node(const tn_planner *p, const tn_gnode *node, const tn_kerneldef *def,
                          const tn_kernel_plan *plan, const tn_tensor *const *in,
                          tn_tensor *const *out, uint64_t *out_ns) {
  const uint32_t n = node->node.n_inputs + node->node.n_outputs;
  tn_eval e = {.planner = p, .node = *node};
  tn_arena_init(&e.arena, p->a);
  tn_const **consts = tn_arena_alloc(&e.arena, ((uint64_t)n + 1) * sizeof *consts);
  tn_status status = consts ? TN_OK : TN_ERR_MEMORY;
  *out_ns = 0;
  if (!status) {
    e.choice.def = def;
    e.choice.plan = *plan;
    status = measure(&e, in, out, consts, out_ns);
  }
  if (status) *out_ns = 0;
  for (uint32_t k = 0; consts && k < n; k++) tn_const_release(consts[k]);
  tn_eval_close(&e);
  return status;
}
