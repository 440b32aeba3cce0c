/* Finding arguments of a parsed schema, and printing it. */
#include "graph/schema_parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const tn_arg *nth_role(const tn_schema *s, tn_role role, int32_t k) {
  for (int32_t i = 0; i < s->n_args && k >= 0; i++) {
    if (s->args[i].role == role && k-- == 0) return &s->args[i];
  }
  return NULL;
}

const tn_arg *tn_schema_input(const tn_schema *s, int32_t k) {
  return k < s->n_inputs ? nth_role(s, TN_ROLE_INPUT, k) : NULL;
}

const tn_arg *tn_schema_output(const tn_schema *s, int32_t k) {
  if (k < 0 || k >= s->n_outputs) return NULL;
  const tn_arg *out = nth_role(s, TN_ROLE_OUT, k);
  return out ? out : &s->returns[k];
}

const tn_arg *tn_schema_find(const tn_schema *s, const char *name) {
  for (int32_t k = 0; k < s->n_args; k++) {
    if (strcmp(s->args[k].name, name) == 0) return &s->args[k];
  }
  for (int32_t k = 0; k < s->n_returns; k++) {
    if (strcmp(s->returns[k].name, name) == 0) return &s->returns[k];
  }
  return NULL;
}

typedef const tn_arg *(*nth_fn)(const tn_schema *, int32_t);

/* Several lists share what the other arguments leave in equal parts, as the foreach operators of
 * ATen do. */
static const tn_arg *flattened(const tn_schema *s, nth_fn nth, int32_t index, int32_t n) {
  int32_t n_single = 0, n_lists = 0;
  for (int32_t k = 0; nth(s, k); k++) *(nth(s, k)->list ? &n_lists : &n_single) += 1;
  const int32_t rest = n > n_single ? n - n_single : 0;
  const int32_t share = n_lists ? rest / n_lists : 0;
  if (index < 0 || index >= n || n > n_single + share * n_lists) return NULL;
  int32_t begin = 0;
  for (int32_t k = 0; nth(s, k); k++) {
    begin += nth(s, k)->list ? share : 1;
    if (index < begin) return nth(s, k);
  }
  return NULL;
}

const tn_arg *tn_schema_input_of(const tn_schema *s, int32_t index, int32_t n) {
  if (!s->input_lists) return index < n ? tn_schema_input(s, index) : NULL;
  return flattened(s, tn_schema_input, index, n);
}

const tn_arg *tn_schema_output_of(const tn_schema *s, int32_t index, int32_t n) {
  if (!s->output_lists) return index < n ? tn_schema_output(s, index) : NULL;
  return flattened(s, tn_schema_output, index, n);
}

bool tn_schema_may_end_early(const tn_schema *s) {
  bool behind = false;
  if (!s->input_lists) return true;
  for (int32_t k = 0; k < s->n_inputs; k++) {
    if (behind) return false;
    behind = tn_schema_input(s, k)->list;
  }
  return true;
}

static void print_type(const tn_arg *a, tn_text *out) {
  tn_text_add(out, "%s", tn_base_type_name(a->base));
  if (a->alias) tn_text_add(out, "(%s)", a->alias);
  if (a->list) {
    if (a->optional_element) tn_text_add(out, "?");
    if (a->list_size > 0)
      tn_text_add(out, "[%lld]", (long long)a->list_size);
    else
      tn_text_add(out, "[]");
  }
  if (a->optional) tn_text_add(out, "?");
}

/* The shortest text that reads back as the same number, with a point whatever the program's locale
 * is. */
static void print_float(double value, tn_text *out) {
  char text[40];
  if (!isfinite(value)) {
    tn_text_add(out, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  snprintf(text, sizeof text, "%.17g", value);
  for (int digits = 1; digits < 17; digits++) {
    char shorter[40];
    double back = 0;
    snprintf(shorter, sizeof shorter, "%.*g", digits, value);
    if (sscanf(shorter, "%lf", &back) != 1 || memcmp(&back, &value, sizeof back) != 0) continue;
    memcpy(text, shorter, sizeof text);
    break;
  }
  const size_t n = strspn(text, "-0123456789");
  if (text[n] && text[n] != 'e') text[n] = '.';
  tn_text_add(out, "%s", text);
}

static void print_str(tn_str s, tn_text *out) {
  tn_text_add(out, "\"");
  for (int64_t k = 0; k < s.size; k++) {
    const char c = s.data[k];
    if (c == '\n')
      tn_text_add(out, "\\n");
    else if (c == '\t')
      tn_text_add(out, "\\t");
    else
      tn_text_add(out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
  }
  tn_text_add(out, "\"");
}

static void print_int(const tn_arg *a, int64_t value, bool numbers, tn_text *out) {
  for (const tn_enum_name *e = tn_schema_enum(a->base); !numbers && e && e->name; e++) {
    if (e->value != value) continue;
    tn_text_add(out, "%s", e->name);
    return;
  }
  if (a->base == TN_TYPE_BOOL)
    tn_text_add(out, "%s", value ? "True" : "False");
  else
    tn_text_add(out, "%lld", (long long)value);
}

static void print_default(const tn_arg *a, bool numbers, tn_text *out) {
  tn_text_add(out, a->n_default < 0 ? "=None" : a->list ? "=[" : "=");
  for (int64_t k = 0; k < a->n_default; k++) {
    if (k) tn_text_add(out, ", ");
    switch (a->base) {
      case TN_TYPE_FLOAT:
      case TN_TYPE_SCALAR: print_float(a->default_floats[k], out); break;
      case TN_TYPE_STR:
      case TN_TYPE_DIMNAME:
      case TN_TYPE_DEVICE: print_str(a->default_strs[k], out); break;
      default: print_int(a, a->default_ints[k], numbers, out);
    }
  }
  if (a->list && a->n_default >= 0) tn_text_add(out, "]");
}

static void print_arg(const tn_arg *a, bool numbers, tn_text *out) {
  print_type(a, out);
  tn_text_add(out, " %s", a->name);
  if (a->has_default) print_default(a, numbers, out);
}

static void print(const tn_schema *s, bool numbers, tn_text *out) {
  bool keyword_only = false;
  tn_text_add(out, "%s%s%s(", s->name, *s->overload ? "." : "", s->overload);
  for (int32_t k = 0; k < s->n_args; k++) {
    if (k) tn_text_add(out, ", ");
    if (s->args[k].keyword_only && !keyword_only) tn_text_add(out, "*, ");
    keyword_only = s->args[k].keyword_only;
    print_arg(&s->args[k], numbers, out);
  }
  tn_text_add(out, ") -> %s", s->n_returns == 1 ? "" : "(");
  for (int32_t k = 0; k < s->n_returns; k++) {
    if (k) tn_text_add(out, ", ");
    print_arg(&s->returns[k], numbers, out);
  }
  if (s->n_returns != 1) tn_text_add(out, ")");
}

void tn_schema_print(const tn_schema *s, tn_text *out) { print(s, false, out); }
void tn_schema_print_numbers(const tn_schema *s, tn_text *out) { print(s, true, out); }
