/* What an operator says of itself, and the optimiser builds on: that a node of it is a fused step
 * of another (epilogue()), that it is element-wise, that it reads types alone. Each is held against
 * what the operator computes: by its reference, or, without one, in a session. */
#include <string.h>

#include "base/abi.h"
#include "harness/harness.h"
#include "harness/vet.h"
#include "plan/passes/passes.h"

enum { MAX_ELEMENTS = 1 << 12 };

/* A problem like another one, on other data. */
typedef struct twin {
  tn_arena arena;
  tn_case line;
  check_problem p;
  check_results own; /* of a session */
  const check_results *results;
} twin;

/* ---- what it computes ------------------------------------------------------------------------ */

static bool keep_outputs(twin *t, const check_model *m) {
  t->own.n = t->p.n_outputs;
  for (uint32_t k = 0; k < t->p.n_outputs; k++) {
    const tn_tensor *got = tn_session_output(m->session, (int32_t)k);
    const int64_t bytes = got && got->kind == TN_KIND_TENSOR ? tn_tensor_bytes(got) : -1;
    if (bytes < 0 || got->dtype == TN_STRING) return false;
    t->own.values[k] = *got;
    t->own.values[k].data = check_need(tn_arena_alloc(&t->arena, (uint64_t)bytes + 1));
    if (bytes) memcpy(t->own.values[k].data, got->data, (size_t)bytes);
  }
  return true;
}

static bool run_session(twin *t) {
  check_model m;
  check_doing(t->p.env, "a session");
  tn_status s = check_model_open(&t->p, t->p.env->runtime, MODEL_NO_OPTIMIZE, NULL, &m);
  if (!s) s = tn_session_run(m.session, NULL);
  const bool ok = !s && keep_outputs(t, &m);
  check_model_close(&m);
  return ok;
}

/* False: it cannot be said. */
static bool compute(twin *t) {
  if (t->p.op->op.reference)
    t->results = check_problem_expected(&t->p);
  else
    t->results = run_session(t) ? &t->own : NULL;
  return t->results != NULL;
}

static bool moves_shape(const tn_tensor *t) { return tn_tensor_elements(t) != 1; }

/* shape: of all inputs with more than one element; NULL: as in the case. False: refused. */
static bool open_twin(twin *t, const check_problem *from, const tn_tensor *shape) {
  memset(t, 0, sizeof *t);
  tn_arena_init(&t->arena, tn_default_allocator());
  tn_case *line = &t->line;
  *line = *from->line;
  line->n_expect = 0;
  line->n_outputs = (int32_t)from->n_outputs;
  line->drawn_by = shape ? "a twin" : line->drawn_by;
  const uint64_t n = (uint64_t)line->n_inputs;
  line->inputs =
      check_need(tn_arena_copy(&t->arena, line->inputs, (n + !n) * sizeof *line->inputs));
  for (uint64_t k = 0; k < n; k++) {
    check_input *in = &line->inputs[k];
    if (!in->items) continue;
    in->items =
        check_need(tn_arena_copy(&t->arena, in->items, (uint64_t)in->n * sizeof *in->items));
    for (int32_t i = 0; i < in->n; i++) {
      check_spec *spec = &in->items[i];
      const tn_tensor type = tn_tensor_make(TN_F32, spec->rank, spec->shape, NULL);
      if (!spec->constant && tn_dtype(check_problem_dtype(from, spec->type))->is_float)
        spec->fill = FILL_DESIGNED; /* integers may have to be in a range */
      if (!shape || !moves_shape(&type)) continue;
      spec->rank = shape->rank;
      memcpy(spec->shape, shape->shape, sizeof spec->shape);
    }
  }
  if (!check_problem_open_quietly(from->env, from->op, line, from->bindings, from->n_bindings,
                                  false, &t->p))
    return false;
  check_problem_fill(&t->p);
  return t->p.n_inputs == from->n_inputs && t->p.n_outputs == from->n_outputs;
}

static void close_twin(twin *t) {
  check_problem_close(&t->p);
  tn_arena_clear(&t->arena);
}

/* ---- epilogue() ------------------------------------------------------------------------------ */

static tn_status ask_epilogue(check_problem *p, tn_epilogue *out) {
  tn_call_frame f;
  check_copy copy;
  *out = (tn_epilogue){.head = TN_HEAD(tn_epilogue), .input = TN_NO_ID};
  check_doing(p->env, "epilogue()");
  if (tn_call_open(&f, &p->planner, p->graph, p->node, NULL)) check_die("no call");
  check_copy_take(&f.call, (uint64_t)p->op->schema.attrs_size, &copy);
  const tn_status s = p->op->op.epilogue(&f.call, out);
  check_copy_compare(p->env, &f.call, "epilogue()", true, &copy);
  tn_call_close(&f);
  if (!tn_is_status(s)) check_fail(p->env, "epilogue() answers %d, which is no status", s);
  return s;
}

static bool is_step_input(const check_problem *p, uint32_t k) {
  const check_value *v = p->inputs[k];
  return v && !v->constant && v->tensor.kind == TN_KIND_TENSOR &&
         tn_same_shape(&v->tensor, &p->outputs[0]) && v->tensor.dtype == p->outputs[0].dtype;
}

/* With input k as y, and input `other` as t (TN_NO_ID: the step has none). */
static void compare_step(twin *t, const tn_epilogue *e, uint32_t k, int32_t other) {
  const check_problem *p = &t->p;
  const tn_tensor *y = &p->inputs[k]->tensor;
  char why[CHECK_TEXT];
  tn_tensor expected = *y;
  expected.data = check_need(tn_arena_copy(&t->arena, y->data, (uint64_t)tn_tensor_bytes(y)));
  check_epilogue_apply(e, other < 0 ? NULL : &p->inputs[other]->tensor, &expected);
  check_tolerance tolerance = check_tolerance_of(p, 0);
  tolerance.more = 8;
  if (!check_compare(&expected, &t->results->values[0], tolerance, p->output_names[0], why,
                     sizeof why))
    check_fail(p->env, "epilogue() says that it is %s with input %u as y, but %s",
               check_epilogue_name(e->kind), k, why);
}

static void try_step(twin *t, const tn_epilogue *e) {
  const check_problem *p = &t->p;
  const bool has_operand = e->kind == TN_EPILOGUE_ADD || e->kind == TN_EPILOGUE_MUL;
  if (p->n_outputs != 1 || !tn_dtype(p->outputs[0].dtype)->is_float) return;
  if (has_operand && p->n_inputs != 2) return; /* so does the host */
  for (uint32_t k = 0; k < p->n_inputs; k++) {
    const int32_t other = has_operand ? (int32_t)!k : TN_NO_ID;
    if (!is_step_input(p, k)) continue;
    if (other < 0 ||
        (p->inputs[other] && tn_epilogue_operand_fits(&p->inputs[other]->tensor, &p->outputs[0])))
      compare_step(t, e, k, other);
  }
}

static void scale_inputs(check_problem *p, double factor) {
  for (uint32_t k = 0; k < p->n_inputs; k++) {
    if (!is_step_input(p, k) || !tn_dtype(p->outputs[0].dtype)->is_float) continue;
    const tn_tensor *t = &p->inputs[k]->tensor;
    for (int64_t i = 0; i < tn_tensor_elements(t); i++)
      tn_store_f64(t->dtype, t->data, i, factor * tn_load_f64(t->dtype, t->data, i));
  }
}

static void check_scaled_step(check_problem *p, double factor) {
  twin t;
  tn_epilogue e;
  if (!open_twin(&t, p, NULL)) {
    close_twin(&t);
    return;
  }
  scale_inputs(&t.p, factor);
  if (!ask_epilogue(&t.p, &e)) {
    if (e.kind == TN_EPILOGUE_NONE || e.kind >= TN_EPILOGUE_COUNT)
      check_fail(p->env, "epilogue() answers TN_OK with kind %u, which is none", e.kind);
    else if (compute(&t))
      try_step(&t, &e);
  }
  close_twin(&t);
}

/* On inputs of up to 2, 16 and 2048: bounds of a clip, say, are beyond small ones. */
static void check_step(check_problem *p) {
  for (double factor = 1; factor <= 1024 && check_unit_ok(p->env); factor *= factor < 8 ? 8 : 128)
    check_scaled_step(p, factor);
}

/* ---- TN_OP_ELEMENTWISE ----------------------------------------------------------------------- */

/* The shape that all inputs broadcast to. False: to none. */
static bool broadcast(const check_problem *p, tn_tensor *out) {
  *out = tn_tensor_make(TN_F32, 0, NULL, NULL);
  for (uint32_t k = 0; k < p->n_inputs; k++) {
    const tn_tensor *t = p->inputs[k] ? &p->inputs[k]->tensor : NULL;
    if (!t) continue;
    if (t->kind != TN_KIND_TENSOR || tn_dtype(t->dtype)->bits < 8) return false;
    for (; out->rank < t->rank; out->rank++) {
      memmove(out->shape + 1, out->shape, (size_t)out->rank * sizeof *out->shape);
      out->shape[0] = 1;
    }
    for (int32_t d = 0; d < t->rank; d++) {
      int64_t *to = &out->shape[out->rank - t->rank + d];
      if (t->shape[d] != 1 && *to != 1 && *to != t->shape[d]) return false;
      if (t->shape[d] != 1) *to = t->shape[d];
    }
  }
  return true;
}

static int64_t index_in(const tn_tensor *of, const tn_tensor *all, int64_t at) {
  int64_t index = 0, step = 1;
  for (int32_t d = all->rank - 1; d >= 0; d--) {
    const int64_t here = at % all->shape[d];
    const int32_t dim = d - (all->rank - of->rank);
    at /= all->shape[d];
    if (dim < 0) continue;
    if (of->shape[dim] != 1) index += here * step;
    step *= of->shape[dim];
  }
  return index;
}

/* Element i of a twin's input is the element that place[i] has among the broadcast ones. */
static void permute_inputs(twin *to, const check_problem *from, const tn_tensor *all,
                           const int64_t *place) {
  const int64_t n = tn_tensor_elements(all);
  for (uint32_t k = 0; k < from->n_inputs; k++) {
    if (!from->inputs[k]) continue;
    const tn_tensor *old = &from->inputs[k]->tensor, *new = &to->p.inputs[k]->tensor;
    const size_t size = tn_dtype(old->dtype)->bits / 8;
    if (!moves_shape(old))
      memcpy(new->data, old->data, size);
    else
      for (int64_t i = 0; i < n; i++)
        memcpy((char *)new->data + (size_t)i *size,
               (const char *)old->data + (size_t)index_in(old, all, place[i]) * size, size);
    to->p.inputs[k]->scale = from->inputs[k]->scale;
  }
}

static void compare_permuted(const twin *a, const twin *b, const int64_t *place) {
  const check_problem *p = &a->p;
  char why[CHECK_TEXT];
  for (uint32_t k = 0; k < p->n_outputs; k++) {
    const tn_tensor *was = &a->results->values[k], *is = &b->results->values[k];
    const size_t size = tn_dtype(was->dtype)->bits / 8;
    const int64_t n = tn_tensor_elements(was);
    if (!size || was->dtype == TN_STRING) continue;
    tn_tensor expected = *was;
    expected.data = check_need(tn_alloc(tn_default_allocator(), (uint64_t)n * size + 1));
    for (int64_t i = 0; i < n; i++)
      memcpy((char *)expected.data + (size_t)i * size,
             (const char *)was->data + (size_t)place[i] * size, size);
    if (!check_compare(&expected, is, check_tolerance_of(p, k), p->output_names[k], why,
                       sizeof why))
      check_fail(p->env,
                 "has TN_OP_ELEMENTWISE, but its elements depend on where they stand: with the "
                 "elements of the inputs in another order %s",
                 why);
    tn_free(tn_default_allocator(), expected.data, (uint64_t)n * size + 1);
  }
}

static void compare_item(const twin *a, const twin *b, int64_t item) {
  const check_problem *p = &a->p;
  char why[CHECK_TEXT];
  for (uint32_t k = 0; k < p->n_outputs; k++) {
    tn_tensor one = a->results->values[k], other = b->results->values[k];
    const size_t size = tn_dtype(one.dtype)->bits / 8;
    if (!size || one.dtype == TN_STRING) continue;
    one.rank = other.rank = 0;
    one.data = (char *)one.data + (size_t)item * size;
    other.data = (char *)other.data + (size_t)item * size;
    if (!check_compare(&one, &other, check_tolerance_of(p, k), p->output_names[k], why, sizeof why))
      check_fail(p->env,
                 "has TN_OP_ELEMENTWISE, but element %lld depends on other elements of the inputs: "
                 "%s",
                 (long long)item, why);
  }
}

/* The elements of the broadcast inputs in another order give the outputs in that order. */
static void check_order(twin *a, const tn_tensor *all) {
  const int64_t n = tn_tensor_elements(all);
  uint64_t seed = 1;
  twin b;
  int64_t *place = check_need(tn_arena_alloc(&a->arena, (uint64_t)n * sizeof *place));
  for (int64_t k = 0; k < n; k++) {
    const int64_t at = (int64_t)(check_random(&seed) % (uint64_t)(k + 1));
    place[k] = place[at];
    place[at] = k;
  }
  if (open_twin(&b, &a->p, all)) {
    permute_inputs(&b, &a->p, all, place);
    if (compute(&b)) compare_permuted(a, &b, place);
  }
  close_twin(&b);
}

/* One element is the same whatever the others are. */
static void check_alone(twin *a, const tn_tensor *all) {
  const int64_t item = tn_tensor_elements(all) / 2;
  twin b;
  if (open_twin(&b, &a->p, all)) {
    for (uint32_t k = 0; k < a->p.n_inputs; k++) {
      const tn_tensor *from = a->p.inputs[k] ? &a->p.inputs[k]->tensor : NULL;
      const size_t size = from ? tn_dtype(from->dtype)->bits / 8 : 0;
      const bool moves = from && moves_shape(from);
      if (from)
        memcpy((char *)b.p.inputs[k]->tensor.data + (moves ? (size_t)item * size : 0),
               (const char *)from->data + (size_t)index_in(from, all, item) * size, size);
    }
    if (compute(&b)) compare_item(a, &b, item);
  }
  close_twin(&b);
}

static void check_elementwise(check_problem *p) {
  twin a;
  tn_tensor all;
  char text[TN_TENSOR_TEXT], shape[TN_TENSOR_TEXT];
  const bool fits = open_twin(&a, p, NULL) && broadcast(&a.p, &all);
  bool same = fits;
  for (uint32_t k = 0; fits && k < a.p.n_outputs && same; k++) {
    all.dtype = a.p.outputs[k].dtype;
    same = tn_same_shape(&all, &a.p.outputs[k]);
    if (!same)
      check_fail(p->env,
                 "has TN_OP_ELEMENTWISE, but output %s is %s, and its inputs broadcast to %s",
                 p->output_names[k], tn_tensor_text(&a.p.outputs[k], text, sizeof text),
                 tn_tensor_text(&all, shape, sizeof shape));
  }
  const int64_t n = same ? tn_tensor_elements(&all) : 0;
  if (n > 1 && n <= MAX_ELEMENTS && compute(&a)) {
    check_order(&a, &all);
    if (check_unit_ok(p->env)) check_alone(&a, &all);
  }
  close_twin(&a);
}

/* ---- TN_OP_TYPES_ONLY ------------------------------------------------------------------------ */

static void check_types_only(check_problem *p) {
  twin a;
  char why[CHECK_TEXT];
  const bool ok = open_twin(&a, p, NULL) && compute(&a);
  check_problem *q = &a.p;
  twin b;
  const bool twice = open_twin(&b, p, NULL);
  for (uint32_t k = 0; twice && k < b.p.n_inputs; k++) {
    const tn_tensor *t = b.p.inputs[k] ? &b.p.inputs[k]->tensor : NULL;
    if (t && t->kind == TN_KIND_TENSOR && t->dtype != TN_STRING && tn_tensor_bytes(t) > 0)
      memset(t->data, 0, (size_t)tn_tensor_bytes(t));
  }
  if (ok && twice && compute(&b))
    for (uint32_t k = 0; k < q->n_outputs; k++)
      if (!check_compare(&a.results->values[k], &b.results->values[k], (check_tolerance){.k = 0},
                         q->output_names[k], why, sizeof why))
        check_fail(p->env, "has TN_OP_TYPES_ONLY, but reads the data of its inputs: on zeros %s",
                   why);
  close_twin(&b);
  close_twin(&a);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void try(check_problem *p, const char *what, void (*test)(check_problem *p)) {
  if (!check_unit_begin(p->env, "%s of \"%s\"%s%s", what, p->line->text, *p->label ? " " : "",
                        p->label))
    return;
  test(p);
  check_unit_end(p->env);
}

void check_op_claims(check_problem *p) {
  const tn_op *op = &p->op->op;
  if (op->flags & (TN_OP_LOWER_EARLY | TN_OP_IMPURE) || p->line->has_graphs || p->no_model) return;
  if (op->epilogue) try(p, "epilogue()", check_step);
  if (op->flags & TN_OP_ELEMENTWISE) try(p, "element-wise", check_elementwise);
  if (op->flags & TN_OP_TYPES_ONLY) try(p, "types only", check_types_only);
}
