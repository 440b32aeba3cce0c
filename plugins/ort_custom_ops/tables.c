/* Operators of libraries as tables of Tenon: schema, type rules, kernel. All of it lies in memory
 * of the plug-in. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ort.h"

const tn_op *ort_ops[ORT_MOST_ENTRIES];
const tn_kernel *ort_kernels[ORT_MOST_ENTRIES];

enum { MOST_RULES = 4096, TEXT_BYTES = 1 << 18 };
static tn_op ops[ORT_MOST_ENTRIES];
static tn_kernel kernels[ORT_MOST_ENTRIES];
static tn_type_rule rules[MOST_RULES];
static const tn_type_rule *rule_list[MOST_RULES];
static uint32_t n_rules;
static char texts[TEXT_BYTES];
static size_t n_text;

TN_ACCEPT(anything, .arg = "*", .dtypes = TN_ANY_DTYPE);
static const tn_accept *const accepts[] = {&anything};

/* ---- texts ---- */

/* Appends; what does not fit makes the text full. */
static __attribute__((format(printf, 1, 2))) void say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(texts + n_text, TEXT_BYTES - n_text, format, args);
  va_end(args);
  n_text = n < 0 || (size_t)n >= TEXT_BYTES - n_text ? TEXT_BYTES - 1 : n_text + (size_t)n;
}

static const char *begin_text(void) { return texts + n_text; }

/* False: there was no more room. */
static bool end_text(void) {
  const bool ok = n_text < TEXT_BYTES - 1;
  if (ok) texts[n_text++] = 0;
  return ok;
}

const char *ort_keep(const char *text) {
  const char *kept = begin_text();
  say("%s", text);
  return end_text() ? kept : NULL;
}

/* ---- schema ---- */

static void say_args(const ort_op *op, bool is_input) {
  const size_t n = is_input ? op->n_inputs(op) : op->n_outputs(op);
  for (size_t k = 0; k < n; k++) {
    const int kind = ort_kind(op, is_input, k);
    say("%sTensor%s %s%zu%s", k ? ", " : "",
        kind == ORT_VARIADIC   ? "[]"
        : kind == ORT_OPTIONAL ? "?"
                               : "",
        is_input ? "in" : "out", k, is_input && kind == ORT_OPTIONAL ? "=None" : "");
  }
}

static const char *make_schema(const ort_op *op) {
  const char *text = begin_text();
  say("(");
  say_args(op, true);
  say(") -> (");
  say_args(op, false);
  say(")");
  return end_text() ? text : NULL;
}

/* ---- type rules ---- */

static uint64_t dtypes_of(const ort_entry *e, bool is_input, size_t k) {
  uint64_t mask = 0;
  for (uint32_t i = 0; i < e->n_overloads; i++) {
    const ort_op *op = e->overloads[i];
    const int type = is_input ? op->input_type(op, k) : op->output_type(op, k);
    mask |= type == ORT_UNDEFINED ? ort_dtypes() : TN_MASK(ort_dtype(type));
  }
  return mask;
}

/* Values of a rule have one type: a variadic argument of several types has no rule. */
static bool is_mixed(const ort_op *op, bool is_input, size_t k) {
  if (ort_kind(op, is_input, k) != ORT_VARIADIC) return false;
  return is_input ? ORT_HAS(op, same_inputs, 14) && !op->same_inputs(op)
                  : ORT_HAS(op, same_outputs, 14) && !op->same_outputs(op);
}

static bool add_rule(const ort_entry *e, bool is_input, size_t k) {
  if (is_mixed(e->overloads[0], is_input, k)) return true;
  if (n_rules == MOST_RULES) return false;
  const char *name = begin_text();
  say("%s%zu", is_input ? "in" : "out", k);
  if (!end_text()) return false;
  rules[n_rules] = (tn_type_rule){TN_HEAD(tn_type_rule), name, name, dtypes_of(e, is_input, k)};
  rule_list[n_rules] = &rules[n_rules];
  n_rules++;
  return true;
}

static bool add_rules(const ort_entry *e, tn_op *op) {
  const ort_op *first = e->overloads[0];
  const uint32_t begin = n_rules;
  bool ok = true;
  for (size_t k = 0; k < first->n_inputs(first) && ok; k++) ok = add_rule(e, true, k);
  for (size_t k = 0; k < first->n_outputs(first) && ok; k++) ok = add_rule(e, false, k);
  op->types = rule_list + begin;
  op->n_types = n_rules - begin;
  return ok;
}

/* ---- operator and kernel ---- */

static const char *make_kernel_name(uint32_t index) {
  const char *text = begin_text();
  say("ort_%u_%.100s", index, ort_entries[index].name);
  return end_text() ? text : NULL;
}

static const char *make_op_name(const ort_entry *e) {
  const char *text = begin_text();
  say("%s%s%s", e->domain, *e->domain ? "::" : "", e->name);
  return end_text() ? text : NULL;
}

bool ort_tables_make(uint32_t index, tn_status (*infer)(const tn_call *),
                     tn_status (*prepare)(const tn_call *),
                     tn_status (*run)(const tn_call *, uint32_t, int64_t, int64_t, uint32_t)) {
  const ort_entry *e = &ort_entries[index];
  const tn_op op = {.head = TN_HEAD(tn_op),
                    .domain = e->domain,
                    .name = e->name,
                    .schema = make_schema(e->overloads[0]),
                    .since = e->since,
                    .until = e->until,
                    .flags = TN_OP_OPEN_ATTRS | TN_OP_IMPURE,
                    .infer = infer};
  const tn_kernel kernel = {.head = TN_HEAD(tn_kernel),
                            .name = make_kernel_name(index),
                            .op = make_op_name(e),
                            .since = e->since,
                            .until = e->until,
                            .n_accepts = 1,
                            .accepts = accepts,
                            .plan = ort_op_plan,
                            .prepare = prepare,
                            .run = run,
                            .finish = ort_op_finish};
  ops[index] = op;
  kernels[index] = kernel;
  ort_ops[index] = &ops[index];
  ort_kernels[index] = &kernels[index];
  return op.schema && kernel.name && kernel.op && add_rules(e, &ops[index]);
}
