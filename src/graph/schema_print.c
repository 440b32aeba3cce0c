/* Schemas as canonical text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/schema_parse.h"

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
