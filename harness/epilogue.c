/* Fused element-wise steps: kernels that say they apply epilogues are run with each kind, and
 * with chains of them, against the reference followed by the steps in f64. */
#include <math.h>
#include <string.h>

#include "harness/harness.h"

enum { MAX_STEPS = 3 };

/* operand: 'f' of the output's shape, 'c' one value per index of dim 1, 'l' of the last dim */
typedef struct chain {
  const char *name;
  struct {
    uint32_t kind;
    char operand;
    double a, b;
  } steps[MAX_STEPS];
  uint32_t n;
} chain;

static const chain chains[] = {
    {"relu", {{TN_EPILOGUE_RELU, 0, 0, 0}}, 1},
    {"clip", {{TN_EPILOGUE_CLIP, 0, -0.5, 0.75}}, 1},
    {"leaky_relu", {{TN_EPILOGUE_LEAKY_RELU, 0, 0.1, 0}}, 1},
    {"sigmoid", {{TN_EPILOGUE_SIGMOID, 0, 0, 0}}, 1},
    {"tanh", {{TN_EPILOGUE_TANH, 0, 0, 0}}, 1},
    {"hard_sigmoid", {{TN_EPILOGUE_HARD_SIGMOID, 0, 0.2, 0.5}}, 1},
    {"hard_swish", {{TN_EPILOGUE_HARD_SWISH, 0, 0, 0}}, 1},
    {"silu", {{TN_EPILOGUE_SILU, 0, 0, 0}}, 1},
    {"gelu", {{TN_EPILOGUE_GELU, 0, 0, 0}}, 1},
    {"gelu_tanh", {{TN_EPILOGUE_GELU_TANH, 0, 0, 0}}, 1},
    {"add", {{TN_EPILOGUE_ADD, 'f', 0, 0}}, 1},
    {"add per channel", {{TN_EPILOGUE_ADD, 'c', 0, 0}}, 1},
    {"add along the last dim", {{TN_EPILOGUE_ADD, 'l', 0, 0}}, 1},
    {"mul", {{TN_EPILOGUE_MUL, 'f', 0, 0}}, 1},
    {"mul per channel", {{TN_EPILOGUE_MUL, 'c', 0, 0}}, 1},
    {"add, relu", {{TN_EPILOGUE_ADD, 'f', 0, 0}, {TN_EPILOGUE_RELU, 0, 0, 0}}, 2},
    {"mul per channel, add per channel, clip",
     {{TN_EPILOGUE_MUL, 'c', 0, 0}, {TN_EPILOGUE_ADD, 'c', 0, 0}, {TN_EPILOGUE_CLIP, 0, 0, 1}},
     3}};

static double clamp(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* The formulas of tenon/plugin.h. */
static double apply(const tn_epilogue *e, double y, double t) {
  switch (e->kind) {
    case TN_EPILOGUE_RELU: return y < 0 ? 0 : y;
    case TN_EPILOGUE_CLIP: return clamp(y, e->a, e->b);
    case TN_EPILOGUE_LEAKY_RELU: return y < 0 ? e->a * y : y;
    case TN_EPILOGUE_SIGMOID: return sigmoid(y);
    case TN_EPILOGUE_TANH: return tanh(y);
    case TN_EPILOGUE_HARD_SIGMOID: return clamp(e->a * y + e->b, 0, 1);
    case TN_EPILOGUE_HARD_SWISH: return y * clamp(y / 6 + 0.5, 0, 1);
    case TN_EPILOGUE_SILU: return y * sigmoid(y);
    case TN_EPILOGUE_GELU: return y * (1 + erf(y / sqrt(2))) / 2;
    case TN_EPILOGUE_GELU_TANH:
      return y * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (y + 0.044715 * y * y * y))) / 2;
    case TN_EPILOGUE_ADD: return y + t;
    default: return y * t;
  }
}

/* Index into an operand of one value per index of one dim, for element i of y. */
static int64_t operand_index(const tn_tensor *operand, const tn_tensor *y, int64_t i) {
  int64_t inner = 1;
  for (int32_t d = y->rank - 1, k = operand->rank - 1; k >= 0; inner *= y->shape[d--], k--)
    if (operand->shape[k] != 1) return i / inner % y->shape[d];
  return 0;
}

const char *check_epilogue_name(uint32_t kind) {
  for (size_t k = 0; k < sizeof chains / sizeof *chains; k++)
    if (chains[k].steps[0].kind == kind) return chains[k].name;
  return "a step";
}

/* operand: NULL where the step has none. */
static double apply_at(const tn_epilogue *e, const tn_tensor *operand, const tn_tensor *y,
                       int64_t i, double value) {
  double t = 0;
  if (operand)
    t = tn_load_f64(operand->dtype, operand->data,
                    tn_same_shape(operand, y) ? i : operand_index(operand, y, i));
  return apply(e, value, t);
}

void check_epilogue_apply(const tn_epilogue *e, const tn_tensor *operand, tn_tensor *y) {
  const int64_t n = tn_tensor_elements(y);
  for (int64_t i = 0; i < n; i++)
    tn_store_f64(y->dtype, y->data, i,
                 apply_at(e, operand, y, i, tn_load_f64(y->dtype, y->data, i)));
}

static void transform(const check_subject *s, tn_tensor *y) {
  const int64_t n = tn_tensor_elements(y);
  for (int64_t i = 0; i < n; i++) {
    double value = tn_load_f64(y->dtype, y->data, i);
    for (uint32_t k = 0; k < s->n_epilogue; k++) {
      const tn_epilogue *e = s->epilogue[k];
      value = apply_at(
          e, e->input < 0 ? NULL : &s->operands[(uint32_t)e->input - s->first_operand]->tensor, y,
          i, value);
    }
    tn_store_f64(y->dtype, y->data, i, value);
  }
}

static check_value *make_operand(const tn_tensor *y, char operand, tn_arena *arena) {
  static const check_spec designed = {.fill = FILL_DESIGNED};
  check_value *v = check_need(tn_arena_alloc(arena, sizeof *v));
  v->name = "of the epilogue";
  v->tensor = tn_tensor_make(y->dtype, y->rank, y->shape, NULL);
  const int32_t varying = operand == 'c' ? 1 : y->rank - 1;
  for (int32_t d = 0; d < y->rank && operand != 'f'; d++)
    v->tensor.shape[d] = d == varying ? y->shape[d] : 1;
  v->tensor.data = check_need(tn_arena_alloc(arena, (uint64_t)tn_storage_bytes(&v->tensor)));
  check_fill(&designed, &v->tensor, (uint64_t)operand);
  return v;
}

static void make_chain(check_subject *s, const chain *c, tn_epilogue *steps,
                       const tn_epilogue **pointers, tn_arena *arena) {
  const check_problem *p = s->problem;
  s->epilogue = pointers;
  s->n_epilogue = c->n;
  s->n_operands = 0;
  s->first_operand =
      (uint32_t)p->op->schema.n_inputs; /* inputs that are not given count as left out */
  for (uint32_t k = 0; k < c->n; k++) {
    steps[k] =
        (tn_epilogue){TN_HEAD(tn_epilogue), c->steps[k].kind, -1, c->steps[k].a, c->steps[k].b};
    pointers[k] = &steps[k];
    if (!c->steps[k].operand) continue;
    steps[k].input = (int32_t)(s->first_operand + s->n_operands);
    s->form.in[steps[k].input] = c->steps[k].operand == 'f' ? s->form.out[0] : TN_PLAIN;
    s->operands[s->n_operands++] = make_operand(&p->outputs[0], c->steps[k].operand, arena);
  }
}

static void run_chain(check_subject *s, const chain *c, tn_arena *arena) {
  static const check_variant variants[] = {
      {"one range", .at_end = true, .n_ranges = 1, .n_workers = 1, .pattern = 0xFF, .in_place = -1},
      {"7 ranges in reverse", .reverse = true, .n_ranges = 7, .n_workers = 3, .pattern = 0x5B,
       .in_place = -1}};
  const check_problem *p = s->problem;
  if (!check_unit_begin(p->env, "isa=%s layout=%s epilogue \"%s\" (%s) \"%s\"", s->level->name,
                        tn_layout_text(s->form.out[0]), c->name, p->op->op.name, p->line->text))
    return;
  const check_results *plain =
      check_no_oracle(p) ? s->expected : check_problem_expected(s->problem);
  if (plain) {
    check_results *expected = check_need(tn_arena_copy(arena, plain, sizeof *plain));
    tn_tensor *y = &expected->values[0];
    y->data = check_need(tn_arena_copy(arena, y->data, (uint64_t)tn_storage_bytes(y)));
    transform(s, y);
    s->expected = expected;
    for (size_t k = 0; k < sizeof variants / sizeof *variants && check_unit_ok(p->env); k++)
      check_drive(s, &variants[k], NULL);
  }
  check_unit_end(p->env);
}

bool check_epilogues(const check_subject *given, bool all) {
  const check_problem *p = given->problem;
  const tn_tensor *y = &p->outputs[0];
  bool any = false;
  const int32_t n_inputs = p->op->schema.n_inputs;
  if (n_inputs && tn_schema_input(&p->op->schema, n_inputs - 1)->list)
    return false; /* no end to put operands behind */
  if (!(given->kernel->kernel.flags & TN_KERNEL_EPILOGUE) || !p->n_outputs ||
      !tn_dtype(y->dtype)->is_float)
    return false;
  if (tn_storage_bytes(y) <= 0) return false;
  for (size_t k = 0; k < sizeof chains / sizeof *chains; k++) {
    check_subject s = *given;
    tn_epilogue steps[MAX_STEPS];
    const tn_epilogue *pointers[MAX_STEPS];
    tn_arena arena;
    tn_arena_init(&arena, tn_default_allocator());
    const bool fits = (y->rank >= 2 || !strstr(chains[k].name, "channel")) &&
                      (all || (chains[k].n == 1 && chains[k].steps[0].kind == TN_EPILOGUE_ADD));
    if (fits) make_chain(&s, &chains[k], steps, pointers, &arena);
    if (fits && !check_subject_match(&s, &arena, NULL)) {
      any = true;
      run_chain(&s, &chains[k], &arena);
    }
    tn_arena_clear(&arena);
  }
  return any;
}
