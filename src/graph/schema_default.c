/* Default values of schema arguments: numbers, strings, lists and the names of enumerations.
 *
 * The numbers of MemoryFormat and Layout are those of PyTorch, so that files written there mean the
 * same here; ScalarType becomes a Tenon dtype. */
#include "graph/schema_parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const tn_enum_name memory_formats[] = {{"contiguous_format", 0},
                                              {"preserve_format", 1},
                                              {"channels_last", 2},
                                              {"channels_last_3d", 3},
                                              {NULL, 0}};
static const tn_enum_name layouts[] = {{"strided", 0},    {"sparse", 1},     {"sparse_csr", 2},
                                       {"mkldnn", 3},     {"sparse_csc", 4}, {"sparse_bsr", 5},
                                       {"sparse_bsc", 6}, {"jagged", 7},     {NULL, 0}};
static const tn_enum_name scalar_types[] = {{"f32", TN_F32},
                                            {"f64", TN_F64},
                                            {"f16", TN_F16},
                                            {"bf16", TN_BF16},
                                            {"i8", TN_I8},
                                            {"i16", TN_I16},
                                            {"i32", TN_I32},
                                            {"i64", TN_I64},
                                            {"u8", TN_U8},
                                            {"u16", TN_U16},
                                            {"u32", TN_U32},
                                            {"u64", TN_U64},
                                            {"bool", TN_BOOL},
                                            {"c64", TN_C64},
                                            {"c128", TN_C128},
                                            {"string", TN_STRING},
                                            {"float", TN_F32},
                                            {"double", TN_F64},
                                            {"half", TN_F16},
                                            {"bfloat16", TN_BF16},
                                            {"char", TN_I8},
                                            {"short", TN_I16},
                                            {"int", TN_I32},
                                            {"long", TN_I64},
                                            {"byte", TN_U8},
                                            {"float32", TN_F32},
                                            {"int8", TN_I8},
                                            {"float64", TN_F64},
                                            {"float16", TN_F16},
                                            {"int16", TN_I16},
                                            {"int32", TN_I32},
                                            {"int64", TN_I64},
                                            {"uint8", TN_U8},
                                            {"uint16", TN_U16},
                                            {"uint32", TN_U32},
                                            {"uint64", TN_U64},
                                            {"complex64", TN_C64},
                                            {"complex128", TN_C128},
                                            {"cfloat", TN_C64},
                                            {"cdouble", TN_C128},
                                            {"float8_e4m3fn", TN_F8E4M3FN},
                                            {"float8_e4m3fnuz", TN_F8E4M3FNUZ},
                                            {"float8_e5m2", TN_F8E5M2},
                                            {"float8_e5m2fnuz", TN_F8E5M2FNUZ},
                                            {NULL, 0}};
/* at::Reduction, which ATen schemas give by name to arguments of type int. */
static const tn_enum_name reductions[] = {{"Mean", 1}, {"Sum", 2}, {NULL, 0}};

static bool find_name(const tn_enum_name *names, tn_str word, int64_t *out_value) {
  for (; names->name; names++) {
    if (!tn_str_is(word, names->name)) continue;
    *out_value = names->value;
    return true;
  }
  return false;
}

static tn_status parse_int(tn_scan *s, int64_t *out_value) {
  const char *begin = s->at;
  tn_str word;
  if (tn_scan_word(s, &word) && find_name(reductions, word, out_value)) return TN_OK;
  s->at = begin;
  return tn_scan_int(s, out_value);
}

static tn_status parse_bool(tn_scan *s, int64_t *out_value) {
  const char *begin = s->at;
  tn_str word = {"", 0};
  tn_scan_word(s, &word);
  const bool yes = tn_str_is(word, "True") || tn_str_is(word, "true");
  if (!yes && !tn_str_is(word, "False") && !tn_str_is(word, "false")) {
    s->at = begin;
    return tn_scan_expected(s, "True or False");
  }
  *out_value = yes;
  return TN_OK;
}

static tn_status parse_enum(tn_scan *s, const tn_enum_name *names, const char *what,
                            int64_t *out_value) {
  tn_scan_space(s);
  const char *begin = s->at;
  tn_str word = {"", 0};
  tn_scan_word(s, &word);
  if (find_name(names, word, out_value)) return TN_OK;
  s->at = begin;
  return tn_scan_expected(s, what);
}

static tn_status parse_float(tn_scan *s, bool may_be_bool, double *out_value) {
  tn_scan_space(s);
  int64_t truth;
  if (may_be_bool && (tn_scan_peek(s, "True") || tn_scan_peek(s, "False"))) {
    const tn_status status = parse_bool(s, &truth);
    *out_value = (double)truth;
    return status;
  }
  /* The characters of a decimal number or of inf and nan: strtod alone takes hexadecimal too. */
  const char *sign = s->at + (*s->at == '-' || *s->at == '+');
  if (!strchr("0123456789.in", *sign) || !*sign || strncmp(sign, "0x", 2) == 0) {
    return tn_scan_expected(s, "a number");
  }
  char *end;
  const double value = tn_text_number(s->at, &end);
  if (end == s->at) return tn_scan_expected(s, "a number");
  if (isinf(value) && *sign != 'i') return tn_scan_fail(s, s->at, "the number is too large");
  s->at = end;
  *out_value = value;
  return TN_OK;
}

static tn_status unescape(const tn_scan *s, const char **at, char *out_c) {
  char c = *(*at)++;
  if (c != '\\') {
    *out_c = c;
    return TN_OK;
  }
  c = *(*at)++;
  static const char from[] = "\\'\"nt";
  static const char to[] = "\\'\"\n\t";
  const char *p = c ? strchr(from, c) : NULL;
  if (!p) return tn_scan_fail(s, *at - 2, "unknown escape in a string");
  *out_c = to[p - from];
  return TN_OK;
}

/* Characters up to the quote that ends the string, escapes counted as they stand; all that there
 * are if none does. */
static size_t length_in_quotes(const char *text, char quote) {
  size_t n = 0;
  while (text[n] && text[n] != quote) n += text[n] == '\\' && text[n + 1] ? 2 : 1;
  return n;
}

static tn_status parse_str(tn_scan *s, tn_str *out_value) {
  tn_scan_space(s);
  const char quote = *s->at;
  if (quote != '"' && quote != '\'') return tn_scan_expected(s, "a string in quotes");
  const char *begin = s->at;
  char *text = tn_arena_alloc(s->arena, length_in_quotes(begin + 1, quote) + 1);
  if (!text) return tn_scan_no_memory(s);
  const char *at = begin + 1;
  int64_t n = 0;
  while (*at && *at != quote) {
    const tn_status status = unescape(s, &at, &text[n++]);
    if (status) return status;
  }
  if (!*at) return tn_scan_fail(s, begin, "the string does not end");
  s->at = at + 1;
  *out_value = (tn_str){text, n};
  return TN_OK;
}

/* One element of the default. */
static tn_status parse_element(tn_scan *s, tn_arg *arg, int64_t k) {
  switch (arg->base) {
    case TN_TYPE_INT: return parse_int(s, &arg->default_ints[k]);
    case TN_TYPE_BOOL: return parse_bool(s, &arg->default_ints[k]);
    case TN_TYPE_FLOAT: return parse_float(s, false, &arg->default_floats[k]);
    case TN_TYPE_SCALAR: return parse_float(s, true, &arg->default_floats[k]);
    case TN_TYPE_STR:
    case TN_TYPE_DIMNAME:
    case TN_TYPE_DEVICE: return parse_str(s, &arg->default_strs[k]);
    case TN_TYPE_SCALAR_TYPE:
      return parse_enum(s, scalar_types, "a ScalarType such as float or i64",
                        &arg->default_ints[k]);
    case TN_TYPE_MEMORY_FORMAT:
      return parse_enum(s, memory_formats, "a MemoryFormat such as contiguous_format",
                        &arg->default_ints[k]);
    case TN_TYPE_LAYOUT:
      return parse_enum(s, layouts, "a Layout such as strided", &arg->default_ints[k]);
    default:
      return tn_scan_fail(s, s->at, "the default of a %s can only be None",
                          tn_base_type_name(arg->base));
  }
}

static bool make_room(tn_scan *s, tn_arg *arg, int64_t n) {
  const uint64_t count = n > 0 ? (uint64_t)n : 1;
  arg->default_ints = tn_arena_alloc(s->arena, count * sizeof *arg->default_ints);
  arg->default_floats = tn_arena_alloc(s->arena, count * sizeof *arg->default_floats);
  arg->default_strs = tn_arena_alloc(s->arena, count * sizeof *arg->default_strs);
  return arg->default_ints && arg->default_floats && arg->default_strs;
}

static tn_status parse_list(tn_scan *s, tn_arg *arg) {
  const char *begin = s->at;
  int64_t commas = 0; /* those inside strings are counted too: room to spare */
  for (const char *p = s->at; *p; p++) commas += *p == ',';
  if (!make_room(s, arg, commas + 1)) return tn_scan_no_memory(s);
  if (tn_scan_take(s, "]"))
    return TN_OK; /* `int[1] dim=[]` is fine: the operator gives it a meaning */
  do {
    const tn_status status = parse_element(s, arg, arg->n_default);
    if (status) return status;
    arg->n_default++;
  } while (tn_scan_take(s, ","));
  if (!tn_scan_take(s, "]")) return tn_scan_expected(s, "',' or ']'");
  if (arg->list_size > 0 && arg->n_default != arg->list_size) {
    return tn_scan_fail(s, begin, "the default has %lld elements, the type %lld",
                        (long long)arg->n_default, (long long)arg->list_size);
  }
  return TN_OK;
}

/* `int[2] stride=1` means [1, 1]. */
static tn_status parse_repeated(tn_scan *s, tn_arg *arg) {
  const int64_t n = arg->list && arg->list_size > 0 ? arg->list_size : 1;
  if (!make_room(s, arg, n)) return tn_scan_no_memory(s);
  const tn_status status = parse_element(s, arg, 0);
  if (status) return status;
  for (int64_t k = 1; k < n; k++) {
    arg->default_ints[k] = arg->default_ints[0];
    arg->default_floats[k] = arg->default_floats[0];
    arg->default_strs[k] = arg->default_strs[0];
  }
  arg->n_default = n;
  return TN_OK;
}

tn_status tn_schema_parse_default(tn_scan *s, tn_arg *arg) {
  tn_scan_space(s);
  const char *begin = s->at;
  tn_str word;
  arg->has_default = true;
  arg->n_default = 0;
  if (tn_scan_word(s, &word) && tn_str_is(word, "None")) {
    if (!arg->optional) {
      return tn_scan_fail(s, begin, "None is a default of optional arguments (%s?) only",
                          tn_base_type_name(arg->base));
    }
    arg->n_default = -1;
    return make_room(s, arg, 1) ? TN_OK : tn_scan_no_memory(s);
  }
  s->at = begin;
  if (arg->list && tn_scan_take(s, "[")) return parse_list(s, arg);
  return parse_repeated(s, arg);
}

const tn_enum_name *tn_schema_enum(tn_base_type base) {
  switch (base) {
    case TN_TYPE_SCALAR_TYPE: return scalar_types;
    case TN_TYPE_MEMORY_FORMAT: return memory_formats;
    case TN_TYPE_LAYOUT: return layouts;
    default: return NULL;
  }
}
