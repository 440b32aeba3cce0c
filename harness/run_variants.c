/* All the variants by which one kernel is run on one problem, and the promises of its plan. */
#include <math.h>
#include <string.h>

#include "harness/harness.h"

/* One item alone must leave every other element of output 0 as it was: the host runs element-
 * wise followers on the range that an item has just written. */
static void check_one_item(const check_subject *s, int64_t per_item) {
  static const check_variant variant = {"one item alone", .at_end = true,  .n_ranges = 1,
                                        .n_workers = 1,   .pattern = 0x5B, .in_place = -1};
  check_run r;
  if (!check_run_open(&r, s, &variant)) {
    check_run_close(&r);
    return;
  }
  const tn_tensor *out = &r.results.values[0];
  const int64_t items = r.plan.items[0], item = items / 2, size = tn_dtype(out->dtype)->bits / 8;
  const int64_t first = item * per_item * size,
                last = tn_min_i64(first + per_item * size, (int64_t)r.results.buffers[0]->bytes);
  check_run_range(&r, 0, item, item + 1, 0);
  for (int64_t k = 0; k < (int64_t)r.results.buffers[0]->bytes; k++) {
    if ((k >= first && k < last) || r.results.buffers[0]->data[k] == variant.pattern) continue;
    check_fail(
        s->problem->env,
        "item %lld writes element %lld of output 0, outside of the elements it says it writes",
        (long long)item, (long long)(k / size));
    break;
  }
  check_run_close(&r);
}

/* Elements of inputs that have the output's shape; NULL: of none. */
static check_buffer *like_output(const check_run *r, uint32_t k) {
  const check_value *v = check_subject_input(r->s, k);
  const tn_tensor *out = &r->s->problem->outputs[0];
  const bool alike = v && r->inputs[k] && v->tensor.kind == TN_KIND_TENSOR &&
                     tn_same_shape(&v->tensor, out) && r->s->form.in[k] == r->s->form.out[0] &&
                     tn_dtype(v->tensor.dtype)->bits >= 8;
  return alike && !v->constant ? r->inputs[k] : NULL;
}

/* All elements but one become those that stand as far from the other end; floats then become
 * infinite, and no number. */
enum { OTHERS_REVERSED, OTHERS_INFINITE, OTHERS_NO_NUMBER, N_OTHERS };

static void change_others(check_run *r, int64_t item, int others) {
  const int64_t n = r->plan.items[0];
  for (uint32_t k = 0; k < check_subject_n_inputs(r->s); k++) {
    const check_buffer *b = like_output(r, k);
    if (!b) continue;
    const uint32_t dtype = check_subject_input(r->s, k)->tensor.dtype;
    if (others != OTHERS_REVERSED && !tn_dtype(dtype)->is_float) continue;
    check_buffer_protect(r->inputs[k], false);
    const uint8_t *from = r->originals[k].data;
    const size_t size = b->bytes / (size_t)n;
    for (int64_t i = 0; i < n; i++) {
      if (i == item) continue;
      if (others == OTHERS_REVERSED)
        memcpy(b->data + (size_t)i * size, from + (size_t)(n - 1 - i) * size, size);
      else
        tn_store_f64(dtype, b->data, i, others == OTHERS_INFINITE ? (double)INFINITY : (double)NAN);
    }
  }
}

/* An element-wise run follows another kernel, range by range: the elements behind its range are not
 * there yet. So one element must come out the same, whatever the others are. */
static void check_neighbours(const check_subject *s, int64_t item) {
  static const check_variant variant = {"one element alone", .at_end = true,  .n_ranges = 1,
                                        .n_workers = 1,      .pattern = 0x5B, .in_place = -1};
  uint8_t first[16];
  check_run r;
  if (check_run_open(&r, s, &variant)) {
    const size_t size = tn_dtype(s->problem->outputs[0].dtype)->bits / 8;
    const uint8_t *at = r.results.buffers[0]->data + (size_t)item * size;
    check_doing(s->problem->env, "run(), one element alone");
    check_run_range(&r, 0, item, item + 1, 0);
    memcpy(first, at, size);
    bool same = true;
    for (int others = 0; others < N_OTHERS && same; others++) {
      change_others(&r, item, others);
      check_run_range(&r, 0, item, item + 1, 0);
      same = !memcmp(first, at, size);
    }
    if (!same)
      check_fail(s->problem->env,
                 "plan() says TN_PLAN_ELEMENTWISE, but element %lld of output 0 depends on other "
                 "elements of the inputs",
                 (long long)item);
  }
  check_run_close(&r);
}

static void check_promises(const check_subject *s, const tn_kernel_plan *plan) {
  check_env *env = s->problem->env;
  const tn_tensor *out = &s->problem->outputs[0];
  const bool elementwise = plan->flags & TN_PLAN_ELEMENTWISE;
  const int64_t per_item = elementwise ? 1 : plan->elements_per_item;
  if (per_item <= 0 || !s->problem->n_outputs) return;
  tn_tensor stored = *out;
  stored.layout = s->form.out[0];
  const int64_t elements = tn_storage_elements(&stored);
  if (tn_dtype(out->dtype)->bits < 8 || out->dtype == TN_STRING || elements < 0) {
    check_fail(
        env, "plan() says which elements an item writes, for an output where that cannot be said");
    return;
  }
  if (plan->n_stages == 1 && (plan->items[0] - 1) * per_item >= elements && plan->items[0] > 0 &&
      elements > 0)
    check_fail(env, "plan() has %lld items of %lld elements each for %lld elements",
               (long long)plan->items[0], (long long)per_item, (long long)elements);
  else if (plan->n_stages == 1 && plan->items[0] * per_item < elements)
    check_fail(env, "plan() has %lld items of %lld elements each, too few for %lld elements",
               (long long)plan->items[0], (long long)per_item, (long long)elements);
  else if (plan->items[0] > 1)
    check_one_item(s, per_item);
  for (int64_t k = 0; elementwise && k < 3 && elements > 1 && check_unit_ok(env); k++)
    check_neighbours(s, k * (elements - 1) / 2);
}

static void check_in_place(const check_subject *s, const tn_kernel_plan *plan) {
  for (int32_t k = 0; k < TN_MAX_IN_PLACE && check_unit_ok(s->problem->env); k++) {
    const int32_t from = plan->in_place[k];
    if (from < 0 || (uint32_t)from >= s->problem->n_inputs || s->problem->inputs[from]->constant)
      continue;
    const check_variant variant = {"in place",     .at_end = true,  .n_ranges = 2, .reverse = true,
                                   .n_workers = 1, .pattern = 0xFF, .in_place = k};
    check_drive(s, &variant, NULL);
  }
}

void check_trial(const check_subject *s, bool full) {
  static const check_variant variants[] = {
      {"2 threads", .at_end = true, .n_ranges = 1, .n_workers = 2, .pattern = 0x5B, .in_place = -1,
       .threads = true},
      {"one range", .at_end = true, .n_ranges = 1, .n_workers = 1, .pattern = 0xFF, .in_place = -1},
      {"7 ranges in reverse", .reverse = true, .null_empty = true, .n_ranges = 7, .n_workers = 3,
       .pattern = 0x5B, .in_place = -1},
      {"2 ranges, twice", .at_end = true, .twice = true, .n_ranges = 2, .n_workers = 3,
       .pattern = 0xFF, .in_place = -1}};
  check_env *env = s->problem->env;
  tn_kernel_plan plan = {.head = TN_HEAD(tn_kernel_plan)};
  const size_t n = CHECK_THREADS_ONLY ? 1 : full ? sizeof variants / sizeof *variants : 2;
  for (size_t k = 0; k < n && check_unit_ok(env); k++)
    check_drive(s, &variants[k], k ? NULL : &plan);
  if (CHECK_THREADS_ONLY || !full || !check_unit_ok(env)) return;
  check_in_place(s, &plan);
  if (check_unit_ok(env)) check_promises(s, &plan);
}
