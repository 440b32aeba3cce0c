/* Reading schemas of the table, which tenon-gen has checked. */
#include <string.h>

#include "torch/aten.h"

static const struct type_name {
  const char *name;
  char type;
} type_names[] = {{"Tensor", 'T'}, {"int", 'i'},      {"SymInt", 'i'}, {"float", 'f'},
                  {"Scalar", 'n'}, {"bool", 'b'},     {"str", 's'},    {"ScalarType", 'd'},
                  {"number", 'n'}, {"SymFloat", 'f'}, {"SymBool", 'b'}};

static char type_of(tn_str name) {
  for (size_t k = 0; k < sizeof type_names / sizeof *type_names; k++)
    if (tn_str_is(name, type_names[k].name)) return type_names[k].type;
  return 'x';
}

static tn_str word(const char **p) {
  const char *begin = *p;
  while (**p && !strchr(" ,()[]?=*", **p)) (*p)++;
  return (tn_str){begin, *p - begin};
}

/* The marks behind a type: (a!) of aliases, ? and [2]. */
static void read_marks(const char **p, aten_param *out) {
  for (;; (*p)++) {
    if (**p == '(' || **p == '[') {
      out->list |= **p == '[';
      *p += strcspn(*p, ")]");
      if (!**p) return;
    } else if (**p == '?') {
      out->optional = true;
    } else {
      return;
    }
  }
}

/* What a default is, its place of use knows. */
static void skip_default(const char **p) {
  int depth = 0;
  for (; **p; (*p)++) {
    if (**p == '[') depth++;
    if (**p == ']') depth--;
    if (depth == 0 && (**p == ',' || **p == ')')) return;
  }
}

int32_t aten_schema_read(const char *text, aten_param *out) {
  int32_t n = 0;
  bool by_name = false;
  const char *p = strchr(text, '(');
  if (!p) return -1;
  for (p++; *p && *p != ')';) {
    while (*p == ' ' || *p == ',') p++;
    if (*p == '*') {
      by_name = true;
      p++;
      continue;
    }
    if (*p == ')' || n == ATEN_MAX_PARAMS) break;
    aten_param *a = &out[n++];
    *a = (aten_param){.type = type_of(word(&p)), .by_name = by_name};
    read_marks(&p, a);
    while (*p == ' ') p++;
    a->name = word(&p);
    if (*p == '=') {
      a->has_default = true;
      skip_default(&p);
    }
    if (a->name.size == 0) return -1;
  }
  return *p == ')' ? n : -1;
}
