/* Inference: the same answer twice, nothing written to what it is shown, and shapes and attributes
 * that make no sense. */
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "harness/harness.h"
#include "harness/vet.h"

/* ---- purity ---------------------------------------------------------------------------------- */

static bool same_type(const tn_tensor *a, const tn_tensor *b) {
  return a->dtype == b->dtype && a->kind == b->kind && a->rank == b->rank &&
         (a->rank <= 0 || !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape));
}

static void twice(check_problem *p) {
  char one[TN_TENSOR_TEXT], two[TN_TENSOR_TEXT];
  check_problem again;
  if (check_problem_open_quietly(p->env, p->op, p->line, p->bindings, p->n_bindings, false,
                                 &again)) {
    for (uint32_t k = 0; k < p->n_outputs; k++)
      if (!same_type(&p->outputs[k], &again.outputs[k]))
        check_fail(p->env, "inference is not pure: output %s is %s, then %s", p->output_names[k],
                   tn_tensor_text(&p->outputs[k], one, sizeof one),
                   tn_tensor_text(&again.outputs[k], two, sizeof two));
  } else {
    check_fail(p->env, "inference is not pure: the second time it fails: %s", again.why);
  }
  check_problem_close(&again);
}

/* Memory of malloc that nobody frees. */
static void many_times(check_problem *p) {
  enum { ROUNDS = 16, SETTLED = 8 };
  uint64_t used[ROUNDS];
  for (int k = 0; k < ROUNDS && check_unit_ok(p->env); k++) {
    check_problem again;
    check_problem_open_quietly(p->env, p->op, p->line, p->bindings, p->n_bindings, true, &again);
    check_problem_close(&again);
    used[k] = check_malloc_bytes();
  }
  if (!check_unit_ok(p->env)) return;
  const uint64_t growth = check_growth(used + SETTLED - 1, ROUNDS - SETTLED + 1);
  if (growth)
    check_fail(p->env, "memory of malloc grows by %llu bytes with each inference",
               (unsigned long long)growth);
}

static void ask_flops(check_problem *p, const tn_call *call) {
  double n = 0;
  const tn_status s = p->op->op.flops(call, &n);
  if (!tn_is_status(s)) check_fail(p->env, "flops() answers %d, which is no status", s);
  if (!s && !(n >= 0 && isfinite(n))) check_fail(p->env, "flops() says %g operations", n);
}

static void writes_nothing(check_problem *p, bool flops) {
  tn_call_frame f;
  check_copy copy;
  if (tn_call_open(&f, &p->planner, p->graph, p->node, NULL)) check_die("no call");
  for (uint32_t k = 0; k < f.call.n_outputs && !flops; k++)
    if (f.call.outputs[k])
      *f.call.outputs[k] = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
  check_attrs attrs;
  check_attrs_open(p, &f.call, &attrs);
  check_copy_take(&f.call, (uint64_t)p->op->schema.attrs_size, &copy);
  if (flops)
    ask_flops(p, &f.call);
  else
    p->op->op.infer(&f.call);
  check_copy_compare(p->env, &f.call, flops ? "flops()" : "inference", flops, &copy);
  check_attrs_close(p->env, &attrs);
  tn_call_close(&f);
}

/* ---- what makes no sense --------------------------------------------------------------------- */

/* Sizes that overflow are none of them: the host asks inference only about types that fit, up to
 * TN_MAX_ELEMENTS. Attributes may be anything. */

enum { MOST = -2 }; /* dims: as many elements as there can be */

typedef struct nonsense {
  const char *name;
  int32_t rank; /* -1: as it is */
  int64_t dim;  /* of every dim; -1: as it is */
  bool first_only;
  bool has_attr; /* each integer among the attributes is attr */
  int64_t attr;
} nonsense;

static const nonsense kinds[] = {
    {"scalars", 0, -1, false, false, 0},
    {"inputs of rank 8", 8, 1, false, false, 0},
    {"no elements", -1, 0, false, false, 0},
    {"no elements in 8 dims", 8, 0, false, false, 0},
    {"2^56 elements", -1, MOST, false, false, 0},
    {"2^56 elements in 8 dims", 8, MOST, false, false, 0},
    {"dims of 7", -1, 7, false, false, 0},
    {"a scalar as its first input", 0, -1, true, false, 0},
    {"a first input of rank 8", 8, 3, true, false, 0},
    {"a first input without elements", -1, 0, true, false, 0},
    {"a first input of 2^56 elements", -1, MOST, true, false, 0},
    {"attributes of 2^63-1", -1, -1, false, true, INT64_MAX},
    {"attributes of -2^63", -1, -1, false, true, INT64_MIN},
    {"attributes of 2^62", -1, -1, false, true, INT64_C(1) << 62},
    {"attributes of 2^62 and no elements", -1, 0, false, true, INT64_C(1) << 62},
    {"attributes of 0", -1, -1, false, true, 0},
};

static void spoil(check_spec *spec, const nonsense *kind) {
  if (spec->constant) return;
  const int32_t old = spec->rank;
  if (kind->rank >= 0) spec->rank = kind->rank;
  const int64_t most = INT64_C(1) << 56 / tn_max_i64(spec->rank, 1);
  const int64_t dim = kind->dim == MOST ? most : kind->dim;
  for (int32_t d = 0; d < spec->rank; d++)
    if (dim >= 0 || d >= old) spec->shape[d] = dim >= 0 ? dim : 1;
}

static void spoil_attr(tn_attr *a, int64_t value, tn_arena *arena) {
  if (a->kind == TN_ATTR_INT) a->i = value;
  if (a->kind != TN_ATTR_INTS || !a->ints.size) return;
  int64_t *ints = check_need(tn_arena_alloc(arena, (uint64_t)a->ints.size * sizeof *ints));
  for (int64_t k = 0; k < a->ints.size; k++) ints[k] = value;
  a->ints.data = ints;
}

static void make_line(const check_problem *p, const nonsense *kind, tn_arena *arena, tn_case *out) {
  *out = *p->line;
  const uint64_t n = (uint64_t)out->n_inputs;
  out->inputs = check_need(tn_arena_copy(arena, p->line->inputs, n * sizeof *out->inputs));
  for (uint64_t k = 0; k < n && (!kind->first_only || k < 1); k++) {
    check_input *in = &out->inputs[k];
    if (!in->items || in->sequence) continue;
    in->items = check_need(tn_arena_copy(arena, in->items, (uint64_t)in->n * sizeof *in->items));
    for (int32_t i = 0; i < in->n; i++) spoil(&in->items[i], kind);
  }
  if (!kind->has_attr || !out->n_attrs) return;
  out->attrs =
      check_need(tn_arena_copy(arena, out->attrs, (uint64_t)out->n_attrs * sizeof *out->attrs));
  for (int32_t k = 0; k < out->n_attrs; k++) spoil_attr(&out->attrs[k].value, kind->attr, arena);
}

static bool is_status(tn_status s) { return tn_is_status(s) || s == TN_NEEDS_DATA; }

static void try_kind(check_problem *p, const nonsense *kind) {
  tn_arena arena;
  tn_case line;
  check_problem odd;
  tn_arena_init(&arena, tn_default_allocator());
  make_line(p, kind, &arena, &line);
  check_problem_open_quietly(p->env, p->op, &line, p->bindings, p->n_bindings, true, &odd);
  if (!is_status(odd.status))
    check_fail(p->env, "for %s, inference answers %d, which is no status", kind->name, odd.status);
  else if (odd.status == TN_ERR_INTERNAL)
    check_fail(p->env, "for %s: %s", kind->name, odd.why);
  check_problem_close(&odd);
  tn_arena_clear(&arena);
}

void check_infer(check_problem *p) {
  const char *line = p->line->text, *space = *p->label ? " " : "";
  if (!tn_op_infers(&p->op->op)) return;
  if (check_unit_begin(p->env, "inference of \"%s\"%s%s", line, space, p->label)) {
    check_doing(p->env, "infer()");
    twice(p);
    check_doing(p->env, "infer()");
    if (p->op->op.infer) writes_nothing(p, false);
    check_doing(p->env, "flops()");
    if (p->op->op.flops) writes_nothing(p, true);
    check_doing(p->env, "infer()");
    if (!CHECK_THREADS_ONLY && check_unit_ok(p->env)) many_times(p);
    check_unit_end(p->env);
  }
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (kinds[k].has_attr && !p->line->n_attrs) continue;
    if (!check_unit_begin(p->env, "inference of \"%s\"%s%s with %s", line, space, p->label,
                          kinds[k].name))
      continue;
    try_kind(p, &kinds[k]);
    check_unit_end(p->env);
  }
}
