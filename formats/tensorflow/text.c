/* Operators on strings. */
#include "lower.h"
#include "tensorflow.gen.h"

static int32_t text_const(const tn_lowering *l, const char *text) {
  const tn_str s = {text, (int64_t)strlen(text)};
  const tn_tensor t = tn_tensor_make(TN_STRING, 0, NULL, (void *)(uintptr_t)&s);
  return tn_emit_const(l->call, l->graph, &t);
}

/* Input k, which has to be one string that is known. */
static tn_status const_text(const tn_lowering *l, uint32_t k, tn_str *out) {
  const tn_tensor *t = tn_low_type(l, k);
  if (!t || t->dtype != TN_STRING || tn_elements(t) != 1)
    return tn_low_unsupported(l, "other than one string");
  if (!t->data) return TN_NEEDS_DATA;
  *out = *(const tn_str *)t->data;
  return TN_OK;
}

static tn_attr attr_text(const char *name, tn_str text) {
  tn_attr a = tn_attr_str(name, "");
  a.s = text;
  return a;
}

/* ---- letters ---- */

static tn_status in_case(const tn_call *call, tn_graph *graph, int32_t node, const char *to) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr attrs[] = {tn_attr_str("to", to),
                           tn_attr_int("ascii", !lo_says(&l, "encoding", "utf-8"))};
  const int32_t x = tn_low_in(&l, 0);
  return tn_low_done(&l, tn_low_emit(&l, "tenon::StringCase", &x, 1, attrs, 2));
}

tn_status tf_string_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return in_case(call, graph, node, "LOWER");
}

tn_status tf_string_upper(const tn_call *call, tn_graph *graph, int32_t node) {
  return in_case(call, graph, node, "UPPER");
}

tn_status tf_string_strip(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr a = tn_attr_str("pattern", "^[\\s\\x0b]+|[\\s\\x0b]+$");
  const int32_t x = tn_low_in(&l, 0);
  return tn_low_done(&l, tn_low_emit(&l, "tenon::RegexReplace", &x, 1, &a, 1));
}

tn_status tf_regex_replace(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  tn_str pattern, rewrite;
  tn_status s = const_text(&l, 1, &pattern);
  if (!s) s = const_text(&l, 2, &rewrite);
  if (s) return s;
  const tn_attr attrs[] = {attr_text("pattern", pattern), attr_text("rewrite", rewrite),
                           tn_attr_int("replace_global", tn_low_int(&l, "replace_global", 1))};
  const int32_t x = tn_low_in(&l, 0);
  return tn_low_done(&l, tn_low_emit(&l, "tenon::RegexReplace", &x, 1, attrs, 3));
}

tn_status tf_string_join(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr *a = tn_pattern_attr(tn_low_node(&l), "separator", TN_ATTR_STR);
  const tn_str separator = a ? a->s : (tn_str){"", 0};
  const tn_tensor t = tn_tensor_make(TN_STRING, 0, NULL, (void *)(uintptr_t)&separator);
  const int32_t between = separator.size ? tn_emit_const(call, graph, &t) : TN_NO_ID;
  int32_t y = tn_low_in(&l, 0);
  for (uint32_t k = 1; k < call->n_inputs; k++) {
    if (separator.size) y = tn_low_2(&l, "StringConcat", y, between);
    y = tn_low_2(&l, "StringConcat", y, tn_low_in(&l, k));
  }
  return tn_low_done(&l, y);
}

/* ---- numbers ---- */

tn_status tf_as_string(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const int32_t x = tn_low_in(&l, 0);
  if (tn_low_int(&l, "width", -1) > 0) return tn_low_unsupported(&l, "texts of a width");
  if (dtype == TN_BOOL)
    return tn_low_done(&l,
                       tn_low_3(&l, "Where", x, text_const(&l, "true"), text_const(&l, "false")));
  if (!tn_dtype_exact_i64(dtype)) return tn_low_unsupported(&l, "other than integers and booleans");
  return tn_low_done(&l, tn_low_cast(&l, x, TN_STRING));
}

tn_status tf_string_to_number(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t type = tn_low_int(&l, "out_type", tn_onnx_of_dtype(TN_F32));
  return tn_low_done(&l, tn_low_cast(&l, tn_low_in(&l, 0), tn_dtype_of_onnx(type)));
}

/* ---- splitting ---- */

/* Parts [n, most] as a sparse tensor: those that `counts` say are there, without empty ones if
 * told. */
static tn_status as_sparse(const tn_lowering *l, int32_t parts, int32_t counts, bool skips_empty) {
  const int64_t last = 1, first = 0, none = 0, n = tn_low_type(l, 0)->shape[0];
  const int32_t one = tn_low_number(l, TN_I64, 1), swap[] = {1, 0},
                shape_of[] = {counts, tn_low_ints_const(l, &none, 1)};
  const int32_t most = lo_reduce(l, "ReduceMax", lo_concat(l, shape_of, 2, 0), &first, 1, 0);
  int32_t is_there =
      tn_low_2(l, "Less", tn_low_3(l, "Range", tn_low_number(l, TN_I64, 0), most, one),
               lo_unsqueeze(l, counts, 1));
  if (skips_empty)
    is_there = tn_low_2(l, "And", is_there,
                        tn_low_1(l, "Not", tn_low_2(l, "Equal", parts, text_const(l, ""))));
  const int32_t number = tn_low_cast(l, is_there, TN_I64),
                places = tn_low_2(l, "Sub", tn_low_2(l, "CumSum", number, one), one);
  const int32_t at = tn_low_transpose(l, tn_low_1(l, "NonZero", is_there), 2, swap);
  const int32_t index[] = {lo_slice(l, at, 1, 0, 1),
                           lo_unsqueeze(l, tn_low_2(l, "GatherND", places, at), 1)};
  const int32_t lengths[] = {lo_reduce(l, "ReduceSum", number, &last, 1, 0),
                             tn_low_ints_const(l, &none, 1)};
  const int32_t shape[] = {tn_low_ints_const(l, &n, 1),
                           lo_reduce(l, "ReduceMax", lo_concat(l, lengths, 2, 0), &first, 1, 1)};
  const int32_t out[] = {lo_concat(l, index, 2, 1), tn_low_2(l, "GatherND", parts, at),
                         lo_concat(l, shape, 2, 0)};
  return tn_low_done_many(l, out, l->call->n_outputs);
}

static tn_status split(const tn_lowering *l, tn_str by, int64_t most_splits, bool skips_empty) {
  const tn_status s = lo_rank(l, 0, 1);
  if (s) return s;
  const int32_t x = tn_low_in(l, 0);
  tn_attr attrs[2] = {attr_text("delimiter", by)};
  uint32_t n = by.size ? 1 : 0;
  if (most_splits >= 0) attrs[n++] = tn_attr_int("maxsplit", most_splits);
  int32_t out[2];
  const tn_status t = tn_low_emit_many(l, "StringSplit", &x, 1, attrs, n, 2, out);
  return t ? t : as_sparse(l, out[0], out[1], skips_empty);
}

/* A separator of no letters: between words. */
tn_status tf_string_split_v2(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  tn_str by;
  const tn_status s = const_text(&l, 1, &by);
  return s ? s : split(&l, by, tn_low_int(&l, "maxsplit", -1), false);
}

tn_status tf_string_split(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  tn_str by;
  const tn_status s = const_text(&l, 1, &by);
  if (s) return s;
  if (by.size != 1) return tn_low_unsupported(&l, "a delimiter that is not one letter");
  return split(&l, by, -1, tn_low_int(&l, "skip_empty", 1));
}
