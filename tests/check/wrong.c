/* A plug-in with one operator, y = 2x, one right kernel, and kernels that each break one rule; and
 * one that takes a graph, y = body(x), with right and wrong kernels and cases.
 * selftest.c says how the harness must find each of them. */
#include <string.h>

#include "../parts.h"
#include "wrong.h"

#define RUN(name)                                                                        \
  static tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                        uint32_t worker)
#define UNUSED (void)stage, (void)worker, (void)begin, (void)end

static const float *x_of(const tn_call *call) { return call->inputs[0]->data; }
static float *y_of(const tn_call *call) { return call->outputs[0]->data; }

static void twice(const tn_call *call, int64_t begin, int64_t end) {
  for (int64_t k = begin; k < end; k++) y_of(call)[k] = 2 * x_of(call)[k];
}

static tn_status reference(const tn_call *call) {
  const int64_t n = part_elements(call->inputs[0]);
  for (int64_t k = 0; k < n; k++) {
    if (call->inputs[0]->dtype == TN_F32)
      y_of(call)[k] = 2 * x_of(call)[k];
    else
      ((double *)call->outputs[0]->data)[k] = 2 * ((const double *)call->inputs[0]->data)[k];
  }
  return TN_OK;
}

/* ---- the right one --------------------------------------------------------------------------- */

RUN(right) {
  UNUSED;
  twice(call, begin, end);
  return TN_OK;
}

/* ---- wrong ones ------------------------------------------------------------------------------ */

RUN(past_end) {
  UNUSED;
  twice(call, begin, end);
  if (end == part_elements(call->inputs[0])) y_of(call)[end] = 0;
  return TN_OK;
}

RUN(before_begin) {
  UNUSED;
  twice(call, begin, end);
  if (begin == 0) y_of(call)[-1] = 0;
  return TN_OK;
}

RUN(reads_before_begin) { /* what it reads does not matter, but it may not be there */
  UNUSED;
  twice(call, begin, end);
  const volatile float *x = x_of(call);
  if (begin == 0) y_of(call)[0] += x[-1] > 1e30f;
  return TN_OK;
}

RUN(wrong_result) {
  UNUSED;
  twice(call, begin, end);
  if (end == part_elements(call->inputs[0])) y_of(call)[end - 1] += 0.001f;
  return TN_OK;
}

RUN(wrong_beside_large) { /* too little to be seen in proportion to the largest input */
  UNUSED;
  twice(call, begin, end);
  for (int64_t k = begin; k < end; k++)
    if (x_of(call)[k] == 1) y_of(call)[k] += 0.001f;
  return TN_OK;
}

RUN(unwritten) {
  UNUSED;
  twice(call, begin, end - (end == part_elements(call->inputs[0])));
  return TN_OK;
}

RUN(changes_input) {
  UNUSED;
  union {
    const void *in;
    float *out;
  } x = {call->inputs[0]->data};
  twice(call, begin, end);
  x.out[begin] = 0;
  return TN_OK;
}

static tn_status plan_scratch(const tn_call *call, tn_kernel_plan *out) {
  out->scratch_bytes = 64;
  return part_plan_elements(call, out);
}

RUN(uses_old_scratch) { /* takes it to be zero */
  UNUSED;
  twice(call, begin, end);
  y_of(call)[begin] += *(const float *)call->scratch;
  return TN_OK;
}

static tn_status plan_worker_scratch(const tn_call *call, tn_kernel_plan *out) {
  out->worker_scratch_bytes = 64;
  return part_plan_elements(call, out);
}

RUN(leaves_worker_scratch) { /* takes the scratch of the worker behind it */
  UNUSED;
  memset((char *)call->worker_scratch + 64 * (worker + 1), 0, 64);
  twice(call, begin, end);
  return TN_OK;
}

RUN(ignores_range) { /* runs to the end, on what others are writing */
  UNUSED;
  for (int64_t k = begin; k < part_elements(call->inputs[0]); k++)
    y_of(call)[k] = k < end ? 2 * x_of(call)[k] : 0;
  return TN_OK;
}

static tn_status plan_in_place(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->in_place[0] = 0;
  return TN_OK;
}

RUN(not_in_place) { /* reads what it has overwritten */
  UNUSED;
  for (int64_t k = 0; k < part_elements(call->inputs[0]); k++) y_of(call)[k] = 0;
  for (int64_t k = 0; k < part_elements(call->inputs[0]); k++) y_of(call)[k] += 2 * x_of(call)[k];
  return TN_OK;
}

static tn_status plan_per_item(const tn_call *call, tn_kernel_plan *out) {
  const int64_t n = part_elements(call->inputs[0]);
  out->items[0] = (n + 3) / 4;
  out->elements_per_item = 4;
  return TN_OK;
}

RUN(more_than_its_item) {
  UNUSED;
  const int64_t n = part_elements(call->inputs[0]), last = 4 * end + 1;
  twice(call, 4 * begin, last < n ? last : n);
  return TN_OK;
}

static tn_status plan_pads(const tn_call *call, tn_kernel_plan *out) {
  (void)call, (void)out;
  return TN_OK;
}

RUN(dirty_pads) {
  UNUSED;
  const tn_tensor *t = call->inputs[0];
  int64_t n = t->shape[0] * ((t->shape[1] + 7) / 8) * 8;
  for (int32_t d = 2; d < t->rank; d++) n *= t->shape[d];
  for (int64_t k = 0; k < n; k++) y_of(call)[k] = 2 * x_of(call)[k];
  for (int64_t k = 0; t->shape[1] % 8 && k < n; k++)
    if (k % 8 == 7) y_of(call)[k] = 1;
  return TN_OK;
}

static tn_status plan_state(const tn_call *call, tn_kernel_plan *out) {
  out->state_bytes = 64;
  return part_plan_elements(call, out);
}

static tn_status prepare_leaky(const tn_call *call) {
  return call->host->alloc(call->ctx, 10) ? TN_OK : TN_ERR_MEMORY;
}

RUN(writes_state) {
  UNUSED;
  *(float *)call->state += 1;
  twice(call, begin, end);
  return TN_OK;
}

RUN(random_result) { /* depends on what the run before left in scratch */
  UNUSED;
  twice(call, begin, end);
  uint8_t *old = call->scratch;
  y_of(call)[begin] *= *old == 1 ? 1.0000001f : 1;
  *old = 1;
  return TN_OK;
}

/* ---- the descriptor -------------------------------------------------------------------------- */

#define ACCEPT(name, arg, dtypes, layout) \
  static const tn_accept name = {TN_HEAD(tn_accept), arg, dtypes, layout, 0, 0, 0}
ACCEPT(x_f32, "x", TN_MASK(TN_F32), TN_PLAIN);
ACCEPT(x_both, "x", TN_MASK(TN_F32) | TN_MASK(TN_F64), TN_PLAIN);
ACCEPT(x_more, "x", TN_MASK(TN_F32) | TN_MASK(TN_F16), TN_PLAIN);
ACCEPT(all_f32, "*", TN_MASK(TN_F32), TN_PLAIN);
ACCEPT(x_blocked, "x", TN_MASK(TN_F32), TN_BLOCKED(8));
ACCEPT(y_blocked, "y", TN_MASK(TN_F32), TN_BLOCKED(8));
static const tn_accept *const f32_rows[] = {&x_f32}, *const both_rows[] = {&x_both},
                              *const more_rows[] = {&x_more}, *const all_rows[] = {&all_f32};
static const tn_accept *const blocked_rows[] = {&x_blocked, &y_blocked};

static const char *never(const tn_call *call) { return (void)call, "it never takes anything"; }

#define KERNEL(id, ...)                                             \
  static const tn_kernel kernel_##id = {.head = TN_HEAD(tn_kernel), \
                                        .name = #id,                \
                                        .op = "check::Twice",       \
                                        .device = "cpu",            \
                                        .rank = TN_RANK_PORTABLE,   \
                                        __VA_ARGS__}
#define F32 .accepts = f32_rows, .n_accepts = 1
KERNEL(right, F32, .plan = part_plan_elements, .run = right);
KERNEL(past_end, F32, .plan = part_plan_elements, .run = past_end);
KERNEL(before_begin, F32, .plan = part_plan_elements, .run = before_begin);
KERNEL(reads_before_begin, F32, .plan = part_plan_elements, .run = reads_before_begin);
KERNEL(wrong_result, F32, .plan = part_plan_elements, .run = wrong_result);
KERNEL(wrong_beside_large, F32, .plan = part_plan_elements, .run = wrong_beside_large);
KERNEL(unwritten, F32, .plan = part_plan_elements, .run = unwritten);
KERNEL(changes_input, F32, .plan = part_plan_elements, .run = changes_input);
KERNEL(uses_old_scratch, F32, .plan = plan_scratch, .run = uses_old_scratch);
KERNEL(leaves_worker_scratch, F32, .plan = plan_worker_scratch, .run = leaves_worker_scratch);
KERNEL(ignores_range, F32, .plan = part_plan_elements, .run = ignores_range);
KERNEL(not_in_place, F32, .plan = plan_in_place, .run = not_in_place);
KERNEL(more_than_its_item, F32, .plan = plan_per_item, .run = more_than_its_item);
KERNEL(dirty_pads, .accepts = blocked_rows, .n_accepts = 2, .plan = plan_pads, .run = dirty_pads);
KERNEL(leaks, F32, .plan = plan_state, .prepare = prepare_leaky, .run = right);
KERNEL(writes_state, F32, .plan = plan_state, .run = writes_state);
KERNEL(random_result, F32, .plan = plan_scratch, .run = random_result);
KERNEL(wrong_for_f64, .accepts = both_rows, .n_accepts = 1, .plan = part_plan_elements,
       .run = right);
KERNEL(claims_too_much, .accepts = more_rows, .n_accepts = 1, .plan = part_plan_elements,
       .run = right);
KERNEL(untested, F32, .refuse = never, .run = right);
KERNEL(no_epilogue, F32, .flags = TN_KERNEL_EPILOGUE, .plan = part_plan_elements, .run = right);

static const tn_kernel kernel_in_session = {.head = TN_HEAD(tn_kernel),
                                            .name = "in_session",
                                            .op = "check::TwiceWrong",
                                            .device = "cpu",
                                            .rank = TN_RANK_PORTABLE,
                                            .accepts = f32_rows,
                                            .n_accepts = 1,
                                            .plan = part_plan_elements,
                                            .run = wrong_result};

/* Apply, y = body(x): a right kernel, and one that forgets the body. */
RUN(apply) {
  UNUSED;
  const tn_tensor *y = NULL;
  tn_status s =
      call->host->subgraph_run(call->ctx, *(const int64_t *)call->attrs, 1, call->inputs, 1, &y);
  return s ? s : call->host->output_set(call->ctx, 0, y);
}

RUN(apply_nothing) {
  UNUSED;
  return call->host->output_set(call->ctx, 0, call->inputs[0]);
}

#define APPLY(id, op_name, function, ...)                                          \
  static const tn_kernel kernel_##id = {.head = TN_HEAD(tn_kernel),                \
                                        .name = #id,                               \
                                        .op = "check::" op_name,                   \
                                        .device = "cpu",                           \
                                        .rank = TN_RANK_PORTABLE,                  \
                                        .accepts = all_rows,                       \
                                        .n_accepts = 1,                            \
                                        .run = function};                          \
  static const char *const cases_##id[] = {__VA_ARGS__};                           \
  static const tn_op op_##id = {.head = TN_HEAD(tn_op),                            \
                                .domain = "check",                                 \
                                .name = op_name,                                   \
                                .since = 1,                                        \
                                .schema = "(Tensor x, *, Graph body) -> Tensor y", \
                                .flags = TN_OP_SAME_AS_INPUT,                      \
                                .cases = cases_##id,                               \
                                .n_cases = sizeof cases_##id / sizeof *cases_##id}

APPLY(apply_right, "Apply", apply, "x=f32[2]{1,-2} body={v -> w: w = Neg(v)} expect=(f32[2]{-1,2})",
      "x=f32[2]{1,2} @k=f32[]{3} body={v -> w: t = Mul(v, k); one = f32[]{1}; w = Add(t, one)} "
      "expect=(f32[2]{4,7})",
      "x=f32[2]{1,2} @c=bool[]{1}! body={v -> w: w = If(c, then_branch={-> t: t = Neg(v)}, "
      "else_branch={-> t: t = Abs(v)})} n_outputs=1 expect=(f32[2]{-1,-2})");
APPLY(apply_wrong, "ApplyWrong", apply_nothing,
      "x=f32[2]{1,-2} body={v -> w: w = Neg(v)} expect=(f32[2]{-1,2})");
APPLY(apply_unread, "ApplyUnread", apply, "x=f32[2]{1,-2} body={v > w} expect=(f32[2]{-1,2})");
APPLY(apply_open, "ApplyOpen", apply,
      "x=f32[2]{1,-2} body={v -> w: w = Add(v, nowhere)} "
      "expect=(f32[2]{-1,2})");
APPLY(apply_mute, "ApplyMute", apply, "x=f32[2]{1,-2} body={v -> w: w = Neg(v)}");

static const tn_kernel *const kernels[] = {&kernel_right,
                                           &kernel_past_end,
                                           &kernel_before_begin,
                                           &kernel_reads_before_begin,
                                           &kernel_wrong_result,
                                           &kernel_wrong_beside_large,
                                           &kernel_unwritten,
                                           &kernel_changes_input,
                                           &kernel_uses_old_scratch,
                                           &kernel_leaves_worker_scratch,
                                           &kernel_ignores_range,
                                           &kernel_not_in_place,
                                           &kernel_more_than_its_item,
                                           &kernel_dirty_pads,
                                           &kernel_leaks,
                                           &kernel_writes_state,
                                           &kernel_random_result,
                                           &kernel_wrong_for_f64,
                                           &kernel_claims_too_much,
                                           &kernel_untested,
                                           &kernel_no_epilogue,
                                           &kernel_in_session,
                                           &kernel_apply_right,
                                           &kernel_apply_wrong,
                                           &kernel_apply_unread,
                                           &kernel_apply_open,
                                           &kernel_apply_mute};

static const tn_type_rule rule = {TN_HEAD(tn_type_rule), "T", "x,y",
                                  TN_MASK(TN_F32) | TN_MASK(TN_F64) | TN_MASK(TN_F16)};
static const tn_type_rule *const rules[] = {&rule};
static const char *const cases[] = {"x=f32[37]", "x=f64[37]", "x=f32[2,5,3,3]{uniform 0.5 1}",
                                    "x=f32[3]{-1000000,1} cond=abs"};
static const tn_op op = {.head = TN_HEAD(tn_op),
                         .domain = "check",
                         .name = "Twice",
                         .since = 1,
                         .schema = "(Tensor x) -> Tensor y",
                         .types = rules,
                         .n_types = 1,
                         .flags = TN_OP_SAME_AS_INPUT,
                         .reference = reference,
                         .cases = cases,
                         .n_cases = sizeof cases / sizeof *cases};
/* The same operator with a wrong kernel alone, so that sessions take it. */
static const tn_op wrong_op = {.head = TN_HEAD(tn_op),
                               .domain = "check",
                               .name = "TwiceWrong",
                               .since = 1,
                               .schema = "(Tensor x) -> Tensor y",
                               .types = rules,
                               .n_types = 1,
                               .flags = TN_OP_SAME_AS_INPUT,
                               .reference = reference,
                               .cases = cases,
                               .n_cases = 1};
static const tn_op *const ops[] = {&op_apply_right,  &op_apply_mute,  &op_apply_open,
                                   &op_apply_unread, &op_apply_wrong, &op,
                                   &wrong_op};

const tn_plugin *check_wrong_query(uint32_t host_major, uint32_t host_minor) {
  static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                   .name = "wrong",
                                   .version = "1",
                                   .license = "none",
                                   .build_id = "1",
                                   .flavour = TN_FLAVOUR,
                                   .n_ops = sizeof ops / sizeof *ops,
                                   .n_kernels = sizeof kernels / sizeof *kernels,
                                   .ops = ops,
                                   .kernels = kernels};
  return (void)host_major, (void)host_minor, &plugin;
}
