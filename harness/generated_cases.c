/* Cases that nobody wrote: what the schema and the type rules allow, on small shapes. Inference
 * says which of them make sense. */
#include <string.h>

#include "harness/harness.h"
#include "harness/vet.h"

enum { MAX_RANK = 4, MAX_FREE = 3 };

typedef struct maker {
  const tn_opdef *op;
  const tn_kerneldef *const *kernels;
  int32_t n_kernels;
  bool optional, constant; /* give optional inputs; make those constant that a kernel wants so */
  const char *why;
} maker;

/* ---- a line ---------------------------------------------------------------------------------- */

/* The word for the type of schema entry k: its rule, or one dtype. */
static const char *type_word(const tn_opdef *op, int32_t entry) {
  const int32_t rule = op->arg_rule[entry];
  const uint64_t dtypes = op->arg_dtypes[entry];
  if (rule >= 0) return op->op.types[rule]->name;
  if (!dtypes || (dtypes & TN_MASK(TN_F32))) return "f32";
  return tn_dtype_name((uint32_t)__builtin_ctzll(dtypes));
}

static bool wants_constant(const maker *m, const char *arg) {
  for (int32_t k = 0; k < m->n_kernels; k++) {
    const tn_kernel *kernel = &m->kernels[k]->kernel;
    for (uint32_t row = 0; row < kernel->n_accepts; row++)
      if ((kernel->accepts[row]->flags & TN_ACCEPT_CONST) &&
          !strcmp(kernel->accepts[row]->arg, arg))
        return true;
  }
  return false;
}

static bool any_constant(const maker *m) {
  for (int32_t k = 0; k < m->op->schema.n_inputs; k++)
    if (wants_constant(m, tn_schema_input(&m->op->schema, k)->name)) return true;
  return false;
}

static void add_tensor(const maker *m, tn_text *line, int32_t entry, const char *shape) {
  const tn_arg *arg = tn_schema_input(&m->op->schema, entry);
  const char *constant = m->constant && wants_constant(m, arg->name) ? "!" : "";
  const char *type = type_word(m->op, entry);
  tn_text_add(line, "%s%s=", line->n ? " " : "", arg->name);
  if (arg->list)
    tn_text_add(line, "(%s%s%s,%s%s%s)", type, shape, constant, type, shape, constant);
  else
    tn_text_add(line, "%s%s%s", type, shape, constant);
}

/* A value for an attribute that has to be given. */
static bool add_attr(maker *m, tn_text *line, const tn_arg *arg) {
  const char *value = NULL;
  switch (arg->base) {
    case TN_TYPE_INT:
    case TN_TYPE_BOOL:
    case TN_TYPE_FLOAT:
    case TN_TYPE_SCALAR: value = "1"; break;
    case TN_TYPE_STR: value = "'a'"; break;
    case TN_TYPE_SCALAR_TYPE: value = "f32"; break;
    case TN_TYPE_TENSOR: value = "f32[1]"; break;
    default: break;
  }
  if (!value) m->why = "an attribute that must be given has a type for which none can be made up";
  if (!value) return false;
  tn_text_add(line, "%s%s=", line->n ? " " : "", arg->name);
  if (arg->list && arg->base != TN_TYPE_TENSOR) {
    for (int64_t k = 0; k < (arg->list_size > 0 ? arg->list_size : 1); k++)
      tn_text_add(line, "%s%s", k ? "," : "[", value);
    tn_text_add(line, "]");
  } else {
    tn_text_add(line, arg->list ? "(%s)" : "%s", value);
  }
  return true;
}

static bool add_attrs(maker *m, tn_text *line) {
  for (int32_t k = 0; k < m->op->schema.n_args; k++) {
    const tn_arg *arg = &m->op->schema.args[k];
    if (arg->role != TN_ROLE_ATTR || arg->has_default || arg->optional) continue;
    if (!add_attr(m, line, arg)) return false;
  }
  return true;
}

static bool is_given(const maker *m, int32_t entry) {
  return m->optional || !tn_schema_input(&m->op->schema, entry)->optional;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool run_same(maker *m, const char *shape, bool (*run)(void *arg, const char *text),
                     void *arg) {
  tn_text line;
  tn_text_init(&line, tn_default_allocator());
  for (int32_t k = 0; k < m->op->schema.n_inputs; k++)
    if (is_given(m, k)) add_tensor(m, &line, k, shape);
  bool more = true;
  if (add_attrs(m, &line) && !line.status) more = run(arg, tn_text_get(&line));
  tn_text_free(&line);
  return more;
}

/* Ranks that differ, all dims 4: what multiplies matrices or looks things up wants that. */
static bool run_mixed(maker *m, int32_t number, int32_t n, bool (*run)(void *arg, const char *text),
                      void *arg) {
  static const char *const shapes[MAX_RANK] = {"[4]", "[4,4]", "[4,4,4]", "[4,4,4,4]"};
  bool differ = false, more = true;
  int32_t rest = number;
  tn_text line;
  tn_text_init(&line, tn_default_allocator());
  for (int32_t k = 0, given = 0; k < m->op->schema.n_inputs && given < n; k++) {
    if (!is_given(m, k)) continue;
    add_tensor(m, &line, k, shapes[rest % MAX_RANK]);
    differ = differ || rest % MAX_RANK != number % MAX_RANK;
    rest /= MAX_RANK;
    given++;
  }
  if (differ && add_attrs(m, &line) && !line.status) more = run(arg, tn_text_get(&line));
  tn_text_free(&line);
  return more;
}

static bool run_shapes(maker *m, bool (*run)(void *arg, const char *text), void *arg) {
  static const char *const same[] = {"[2,3]", "[37]", "[2,5,3,4]", "[4,4]", "[0]", "[]", "[2,3,4]"};
  int32_t n = 0, combinations = 1;
  for (size_t k = 0; k < sizeof same / sizeof *same; k++)
    if (!run_same(m, same[k], run, arg)) return false;
  for (int32_t k = 0; k < m->op->schema.n_inputs; k++) n += is_given(m, k);
  for (int32_t k = 0; k < n; k++) combinations *= n > MAX_FREE ? 1 : MAX_RANK;
  for (int32_t k = 0; n > 1 && n <= MAX_FREE && k < combinations; k++)
    if (!run_mixed(m, k, n, run, arg)) return false;
  return true;
}

static bool any_optional(const tn_opdef *op) {
  for (int32_t k = 0; k < op->schema.n_inputs; k++)
    if (tn_schema_input(&op->schema, k)->optional) return true;
  return false;
}

const char *check_generic(const tn_opdef *op, const tn_kerneldef *const *kernels, int32_t n_kernels,
                          bool (*run)(void *arg, const char *text), void *arg) {
  maker m = {.op = op, .kernels = kernels, .n_kernels = n_kernels};
  const bool constants = any_constant(&m), optionals = any_optional(op);
  m.constant = constants;
  if (!run_shapes(&m, run, arg)) return m.why;
  m.optional = true;
  if (optionals && !run_shapes(&m, run, arg)) return m.why;
  m.constant = m.optional = false;
  if (constants) run_shapes(&m, run, arg);
  return m.why;
}
