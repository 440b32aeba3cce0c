/* What a kernel says it takes: calls just outside of its rows must be refused, with a reason;
 * and the cases of its operator must show that it takes each dtype that it names. */
#include <string.h>

#include "base/abi.h"
#include "harness/harness.h"

/* ---- coverage -------------------------------------------------------------------------------- */

static const tn_arg *arg_of(const check_problem *p, uint32_t k, bool output) {
  return output ? tn_schema_output_of(&p->op->schema, (int32_t)k, (int32_t)p->n_outputs)
                : tn_schema_input_of(&p->op->schema, (int32_t)k, (int32_t)p->n_formal);
}

static void note(check_coverage *c, const check_subject *s, uint32_t k, bool output) {
  const check_problem *p = s->problem;
  const tn_arg *arg = arg_of(p, k, output);
  const uint32_t dtype = output ? p->outputs[k].dtype : p->inputs[k]->tensor.dtype;
  const tn_kernel *kernel = &s->kernel->kernel;
  for (uint32_t row = 0; arg && row < kernel->n_accepts && row < CHECK_MAX_IO; row++)
    if (kernel->accepts[row] == tn_kernel_row(kernel, arg)) c->dtypes[row] |= TN_MASK(dtype);
}

static bool has_pads(const tn_tensor *t, tn_layout layout) {
  const int64_t block = TN_LAYOUT_BLOCK(layout);
  return block && t->rank >= 2 && t->shape[1] % block && tn_tensor_elements(t) > 0;
}

void check_coverage_note(check_coverage *c, const check_subject *s) {
  c->n_accepted++;
  for (uint32_t k = 0; k < s->problem->n_inputs; k++)
    if (s->problem->inputs[k]) note(c, s, k, false);
  for (uint32_t k = 0; k < s->problem->n_outputs; k++)
    if (s->problem->output_names[k]) note(c, s, k, true);
  for (uint32_t k = 0; k < s->problem->n_outputs; k++)
    c->pads_seen = c->pads_seen || has_pads(&s->problem->outputs[k], s->form.out[k]);
}

/* Dtypes that the operator allows for the arguments of a row. */
static uint64_t allowed(const tn_opdef *op, const tn_kernel *kernel, const tn_accept *row) {
  uint64_t dtypes = 0;
  for (int32_t k = 0; k < op->schema.n_inputs + op->schema.n_outputs; k++) {
    const tn_arg *arg = k < op->schema.n_inputs
                            ? tn_schema_input(&op->schema, k)
                            : tn_schema_output(&op->schema, k - op->schema.n_inputs);
    if (tn_kernel_row(kernel, arg) == row)
      dtypes |= op->arg_dtypes[k] ? op->arg_dtypes[k] : UINT64_MAX;
  }
  return dtypes;
}

static uint64_t missing_dtypes(const check_coverage *c, const tn_opdef *op, const tn_kernel *kernel,
                               uint32_t row) {
  const tn_accept *a = kernel->accepts[row];
  if (a->flags & TN_ACCEPT_ABSENT || a->dtypes & TN_ANY_DTYPE) return 0;
  return a->dtypes & allowed(op, kernel, a) & ~c->dtypes[row];
}

/* What the cases of somebody else do not show is no breach. */
static void note_coverage(check_env *env, const check_coverage *c, const tn_opdef *op,
                          const tn_kernel *kernel) {
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  if (!c->n_accepted)
    check_skip(env, "not checked: it takes no case of its operator%s%s",
               c->reason ? "; the last because " : "", c->reason ? c->reason : "");
  for (uint32_t row = 0; c->n_accepted && row < kernel->n_accepts && row < CHECK_MAX_IO; row++) {
    const uint64_t missing = missing_dtypes(c, op, kernel, row);
    if (missing)
      check_skip(env, "not checked: no case has %s for %s", tn_dtypes_text(missing, &arena),
                 kernel->accepts[row]->arg);
  }
  tn_arena_clear(&arena);
}

void check_coverage_report(check_env *env, const check_coverage *c, const tn_opdef *op,
                           const tn_kerneldef *def) {
  const tn_kernel *kernel = &def->kernel;
  char name[CHECK_TEXT / 2];
  if (env->limits) {
    note_coverage(env, c, op, kernel);
    return;
  }
  if (!check_unit_begin(env, "(%s): coverage", check_op_name(op, name, sizeof name))) return;
  if (!c->n_accepted) {
    check_fail(env, "untested: it takes none of the operator's %u cases%s%s", op->op.n_cases,
               c->reason ? "; the last because " : "", c->reason ? c->reason : "");
    check_unit_end(env);
    return;
  }
  if ((kernel->flags & TN_KERNEL_EPILOGUE) && !c->epilogue_done && !CHECK_THREADS_ONLY)
    check_fail(env, "it says it applies epilogues, but takes none with any case");
  if (c->takes_any && !c->pads_seen)
    check_fail(env,
               "it says it takes any layout, but no case that it takes has a blocked layout "
               "with pad lanes; add one like [2,5,3,4]");
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  for (uint32_t row = 0; row < kernel->n_accepts && row < CHECK_MAX_IO; row++) {
    const tn_accept *a = kernel->accepts[row];
    const uint64_t missing = missing_dtypes(c, op, kernel, row);
    if (missing)
      check_fail(env, "it says it takes %s for %s, but no case that it takes has that",
                 tn_dtypes_text(missing, &arena), a->arg);
  }
  tn_arena_clear(&arena);
  check_unit_end(env);
}

/* ---- outside --------------------------------------------------------------------------------- */

typedef struct outside {
  const check_subject *s;
  const tn_accept *row;
  tn_tensor in[CHECK_MAX_IO], out[CHECK_MAX_IO];
  const tn_tensor *in_pointers[CHECK_MAX_IO];
  tn_tensor *out_pointers[CHECK_MAX_IO];
  tn_call call;
  tn_arena arena;
} outside;

static void reset(outside *o) {
  const check_problem *p = o->s->problem;
  for (uint32_t k = 0; k < p->n_inputs; k++) {
    o->in_pointers[k] = p->inputs[k] ? &o->in[k] : NULL;
    if (!p->inputs[k]) continue;
    o->in[k] = p->inputs[k]->tensor;
    o->in[k].layout = o->s->form.in[k];
    if (!p->inputs[k]->constant) o->in[k].data = NULL;
  }
  for (uint32_t k = 0; k < p->n_outputs; k++) {
    o->out_pointers[k] = p->output_names[k] ? &o->out[k] : NULL;
    o->out[k] = p->outputs[k];
    o->out[k].layout = o->s->form.out[k];
  }
  o->call = (tn_call){.head = TN_HEAD(tn_call),
                      .host = &tn_plan_host,
                      .attrs = tn_graph_node(p->graph, p->node)->attrs,
                      .version = p->version,
                      .n_inputs = p->n_inputs,
                      .n_outputs = p->n_outputs,
                      .n_workers = 1,
                      .inputs = o->in_pointers,
                      .outputs = o->out_pointers,
                      .regions = p->regions,
                      .n_regions = p->n_regions,
                      .region_fill = p->region_fill,
                      .isa = o->s->level->isa};
}

static void only_looks(outside *o) {
  check_copy copy;
  check_copy_take(&o->call, (uint64_t)o->s->problem->op->schema.attrs_size, &copy);
  o->s->kernel->kernel.refuse(&o->call);
  check_copy_compare(o->s->problem->env, &o->call, "refuse()", true, &copy);
  reset(o);
}

static void expect_refusal(outside *o, const char *what) {
  const char *reason = tn_kernel_match(o->s->kernel, o->s->problem->op, &o->call,
                                       o->s->problem->n_formal, &o->arena);
  if (!reason)
    check_fail(o->s->problem->env, "takes a call with %s%s%s", what, o->row ? " for " : "",
               o->row ? o->row->arg : "");
  if (reason && !*reason)
    check_fail(o->s->problem->env, "refuses a call with %s without a reason", what);
  reset(o);
}

/* One tensor that belongs to the row, in each way just outside of it. */
static void try_tensor(outside *o, tn_tensor *t, bool output) {
  const tn_accept *row = o->row;
  for (uint32_t d = 1; d < TN_DTYPE_COUNT; d++) {
    if (tn_accepts_dtype(row, d)) continue;
    t->dtype = d;
    expect_refusal(o, "a dtype that it does not name");
    break;
  }
  if (row->rank_max && row->rank_max < TN_MAX_RANK) {
    t->rank = row->rank_max + 1;
    t->shape[row->rank_max] = 1;
    expect_refusal(o, "too high a rank");
  }
  if (row->rank_max && row->rank_min > 0) {
    t->rank = row->rank_min - 1;
    expect_refusal(o, "too low a rank");
  }
  if (row->layout != TN_ANY_LAYOUT && t->kind == TN_KIND_TENSOR) {
    t->layout = row->layout == TN_CHANNELS_LAST ? TN_BLOCKED(4) : TN_CHANNELS_LAST;
    expect_refusal(o, "another layout");
  }
  if (!output && (row->flags & TN_ACCEPT_CONST)) {
    t->data = NULL;
    expect_refusal(o, "data that is no constant");
  }
}

static void try_row(outside *o) {
  const check_problem *p = o->s->problem;
  for (uint32_t k = 0; k < p->n_inputs + p->n_outputs; k++) {
    const bool output = k >= p->n_inputs;
    const uint32_t index = output ? k - p->n_inputs : k;
    const tn_arg *arg = arg_of(p, index, output);
    if (!arg || tn_kernel_row(&o->s->kernel->kernel, arg) != o->row ||
        !(output ? o->out_pointers[index] != NULL : o->in_pointers[index] != NULL))
      continue;
    try_tensor(o, output ? &o->out[index] : &o->in[index], output);
    return;
  }
}

void check_claims(const check_subject *s) {
  const tn_kernel *kernel = &s->kernel->kernel;
  if (!check_unit_begin(s->problem->env, "calls outside of its rows")) return;
  check_doing(s->problem->env, "refuse()");
  outside *o = check_need(tn_alloc(tn_default_allocator(), sizeof *o));
  o->s = s;
  tn_arena_init(&o->arena, tn_default_allocator());
  reset(o);
  if (kernel->refuse) only_looks(o);
  for (uint32_t k = 0; k < kernel->n_accepts; k++) {
    o->row = kernel->accepts[k];
    try_row(o);
  }
  o->row = NULL;
  if (kernel->isa) {
    o->call.isa = kernel->isa & (kernel->isa - 1);
    expect_refusal(o, "an instruction set missing");
  }
  if (kernel->since > 1) {
    o->call.version = kernel->since - 1;
    expect_refusal(o, "too old a version");
  }
  if (kernel->until > 0) {
    o->call.version = kernel->until + 1;
    expect_refusal(o, "too new a version");
  }
  if (!(kernel->flags & TN_KERNEL_EPILOGUE)) {
    static const tn_epilogue relu = {
        .head = TN_HEAD(tn_epilogue), .kind = TN_EPILOGUE_RELU, .input = -1};
    static const tn_epilogue *const steps[] = {&relu};
    o->call.epilogue = steps;
    o->call.n_epilogue = 1;
    expect_refusal(o, "an epilogue");
  }
  tn_arena_clear(&o->arena);
  tn_free(tn_default_allocator(), o, sizeof *o);
  check_unit_end(s->problem->env);
}
