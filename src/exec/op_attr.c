/* Attributes from text: values as schemas write defaults, with the quotes of strings and the
 * brackets of lists left out where one likes. */
#include <stdlib.h>
#include <string.h>

#include "exec/op.h"
#include "graph/schema_parse.h"
#include "tenon/kit/onnx_dtype.h"

static bool is_text(const tn_arg *arg) {
  return arg->base == TN_TYPE_STR || arg->base == TN_TYPE_DIMNAME || arg->base == TN_TYPE_DEVICE;
}

/* ---- strings without quotes ---- */

/* "a, b" or "[a, b]": what stands between commas, without spaces around it. */
static tn_status split(tn_str text, tn_arena *arena, tn_strs *out) {
  if (text.size > 1 && text.data[0] == '[' && text.data[text.size - 1] == ']')
    text = (tn_str){text.data + 1, text.size - 2};
  int64_t n = 1, at = 0;
  for (int64_t k = 0; k < text.size; k++) n += text.data[k] == ',';
  tn_str *words = tn_arena_alloc(arena, (uint64_t)n * sizeof *words);
  if (!words) return TN_ERR_MEMORY;
  *out = (tn_strs){words, text.size ? n : 0};
  for (int64_t k = 0; k < out->size; k++) {
    int64_t end = at;
    while (end < text.size && text.data[end] != ',') end++;
    const int64_t next = end + 1;
    while (at < end && text.data[at] == ' ') at++;
    while (end > at && text.data[end - 1] == ' ') end--;
    words[k] = (tn_str){text.data + at, end - at};
    at = next;
  }
  return TN_OK;
}

static tn_status take_text(const tn_arg *arg, const char *text, tn_arena *arena, tn_attr *out) {
  out->s = (tn_str){text, (int64_t)strlen(text)};
  out->kind = arg->list ? TN_ATTR_STRS : TN_ATTR_STR;
  return arg->list ? split(out->s, arena, &out->strs) : TN_OK;
}

/* ---- everything else ---- */

/* Operators of ONNX take element types as numbers of TensorProto: `to`, `dtype`. */
static bool take_onnx_dtype(const tn_opdef *def, const tn_arg *arg, const char *text,
                            tn_attr *out) {
  const uint32_t dtype = tn_dtype_parse(text);
  if (*def->op.domain || arg->base != TN_TYPE_INT || arg->list || dtype == TN_NONE) return false;
  out->i = tn_onnx_of_dtype(dtype);
  out->kind = TN_ATTR_INT;
  return out->i != 0;
}

static bool is_whole(const char *text) {
  const char *digits = text + (*text == '-');
  return *digits && digits[strspn(digits, "0123456789")] == '\0';
}

static void take_value(const tn_arg *arg, const tn_arg *value, const char *text, tn_attr *out) {
  const int64_t n = value->n_default;
  const bool real = arg->base == TN_TYPE_FLOAT || arg->base == TN_TYPE_SCALAR;
  out->ints = (tn_ints){value->default_ints, n};
  out->floats = (tn_floats){value->default_floats, n};
  out->strs = (tn_strs){value->default_strs, n};
  out->i = *value->default_ints;
  out->f = *value->default_floats;
  out->s = *value->default_strs;
  if (arg->base == TN_TYPE_SCALAR && !arg->list && is_whole(text)) { /* 2 is no 2.0 */
    out->kind = TN_ATTR_INT;
    out->i = strtoll(text, NULL, 10);
    return;
  }
  out->kind = is_text(arg) ? (arg->list ? TN_ATTR_STRS : TN_ATTR_STR)
              : real       ? (arg->list ? TN_ATTR_FLOATS : TN_ATTR_FLOAT)
                           : (arg->list ? TN_ATTR_INTS : TN_ATTR_INT);
}

/* What the schema's parser of defaults understands: it takes 1 for [1], and for [1, 1] of an
 * int[2]. */
static const char *in_schema_form(const tn_arg *arg, const char *text, tn_arena *arena) {
  if (arg->base == TN_TYPE_BOOL && !arg->list && !strcmp(text, "1")) return "True";
  if (arg->base == TN_TYPE_BOOL && !arg->list && !strcmp(text, "0")) return "False";
  const bool bare = arg->list && *text != '[' && strchr(text, ',');
  return bare ? tn_arena_format(arena, "[%s]", text) : text;
}

tn_status tn_op_attr_parse(const tn_opdef *def, const tn_arg *arg, const char *text,
                           tn_arena *arena, tn_attr *out_attr, bool *out_given) {
  *out_attr = (tn_attr){.head = TN_HEAD(tn_attr), .name = arg->name};
  *out_given = true;
  text = tn_arena_str(arena, text);
  if (text && is_text(arg) && !strpbrk(text, "\"'") && strcmp(text, "None") != 0)
    return take_text(arg, text, arena, out_attr);
  if (text && take_onnx_dtype(def, arg, text, out_attr)) return TN_OK;
  text = text ? in_schema_form(arg, text, arena) : NULL;
  if (!text) return TN_ERR_MEMORY;
  tn_arg value = *arg;
  tn_scan scan = {.text = text, .at = text, .arena = arena};
  tn_status status = tn_schema_parse_default(&scan, &value);
  tn_scan_space(&scan);
  if (!status && *scan.at) status = TN_ERR_INVALID;
  *out_given = !status && value.n_default >= 0;
  if (*out_given) take_value(arg, &value, text, out_attr);
  return status;
}
