/* One run of one kernel and all that a kernel may not do: wrong results, writing outside of its
 * outputs and scratch, changing inputs, another result the second time. */
#include <string.h>

#include "harness/harness.h"

/* ---- what came of it ------------------------------------------------------------------------- */

static void check_inputs(check_run *r) {
  check_run_hide_packed(r, false);
  const int32_t shared = r->variant->in_place >= 0 ? r->plan.in_place[r->variant->in_place] : -1;
  for (uint32_t k = 0; k < check_subject_n_inputs(r->s); k++) {
    if (!r->inputs[k]) continue;
    const char *name = check_subject_input(r->s, k)->name;
    if (!check_buffer_intact(r->inputs[k]))
      check_fail(r->context.env, "%s: writes outside of input %s", r->variant->name, name);
    if ((int32_t)k == shared) continue;
    if (memcmp(r->inputs[k]->data, r->originals[k].data, r->inputs[k]->bytes))
      check_fail(r->context.env, "%s: changes its input %s", r->variant->name, name);
  }
}

static void check_outputs(check_run *r) {
  const check_problem *p = r->s->problem;
  check_env *env = r->context.env;
  char why[CHECK_TEXT];
  for (uint32_t k = 0; k < r->results.n; k++) {
    if (!r->out[k]) continue;
    tn_tensor *got = &r->results.values[k];
    if (p->outputs[k].kind == TN_KIND_TENSOR && !r->results.buffers[k]) {
      check_fail(env, "%s: gives output %s no shape", r->variant->name, p->output_names[k]);
      continue;
    }
    if (r->results.buffers[k] && !check_buffer_intact(r->results.buffers[k]))
      check_fail(env, "%s: writes outside of output %s", r->variant->name, p->output_names[k]);
    if ((p->op->op.flags & TN_OP_IMPURE) || !r->s->expected) continue;
    check_tolerance tolerance = check_tolerance_of(p, k);
    if (r->s->n_epilogue) tolerance.more = 8;
    if (!check_compare(&r->s->expected->values[k], got, tolerance, p->output_names[k], why,
                       sizeof why))
      check_fail(env, "%s: %s", r->variant->name, why);
  }
}

static void check_buffers(check_run *r) {
  if (r->scratch && !check_buffer_intact(r->scratch))
    check_fail(r->context.env, "%s: writes outside of scratch", r->variant->name);
  if (r->worker_scratch && !check_buffer_intact(r->worker_scratch))
    check_fail(r->context.env, "%s: writes outside of the workers' scratch", r->variant->name);
}

/* The same state and the same ranges once more must give the same bits. */
static void check_again(check_run *r) {
  if (r->s->problem->op->op.flags & TN_OP_IMPURE) return;
  check_results first = r->results;
  memset(&r->results, 0, sizeof r->results);
  r->context.pattern ^= 0x55;
  check_run_again(r);
  if (check_run_stages(r)) {
    for (uint32_t k = 0; k < first.n; k++)
      if (r->out[k] && !check_same_bits(&first.values[k], &r->results.values[k]))
        check_fail(r->context.env, "%s: output %s of a second run is not the same",
                   r->variant->name, r->s->problem->output_names[k]);
  }
  check_results_close(r->context.env, &first);
}

void check_drive(const check_subject *s, const check_variant *variant, tn_kernel_plan *out_plan) {
  check_run r;
  if (check_run_open(&r, s, variant) && check_run_stages(&r)) {
    check_outputs(&r);
    check_buffers(&r);
    if (variant->twice && check_unit_ok(s->problem->env)) check_again(&r);
    check_inputs(&r);
  }
  if (out_plan) *out_plan = r.plan;
  check_run_close(&r);
}
