/* Operators that see how a tensor lies in memory. Values lie in C order here, and the program says
 * the strides that a tensor has in PyTorch: such an operator takes the dims in their order. */
#include <string.h>

#include "reader.h"
#include "tenon/kit/checked.h"

/* The dims as they lie, the outermost first. */
typedef struct layout {
  int32_t rank, order[TN_MAX_RANK];
  int64_t size[TN_MAX_RANK], stride[TN_MAX_RANK]; /* of the example, if they change; -1: unknown */
  bool size_is_open[TN_MAX_RANK], stride_is_open[TN_MAX_RANK];
} layout;

static int64_t example(const json_value *v, bool *is_open) {
  const json_value *expr = json_object(v, "as_expr");
  *is_open = !json_get(v, "as_int");
  return *is_open ? json_int(json_object(expr, "hint"), "as_int", -1) : json_int(v, "as_int", -1);
}

static bool lies_outside(const layout *l, int32_t a, int32_t b) {
  const bool a_is_1 = l->size[a] == 1, b_is_1 = l->size[b] == 1; /* their strides mean nothing */
  return a_is_1 || b_is_1 ? a_is_1 && !b_is_1 : l->stride[a] > l->stride[b];
}

static bool read_layout(const json_value *meta, layout *l) {
  const json_value *sizes = json_list(meta, "sizes"), *strides = json_list(meta, "strides");
  if (!sizes || !strides || sizes->n != strides->n || sizes->n > TN_MAX_RANK) return false;
  l->rank = 0;
  for (const json_value *v = sizes->first, *t = strides->first; v; v = v->next, t = t->next) {
    const int32_t k = l->rank++;
    l->size[k] = example(v, &l->size_is_open[k]);
    l->stride[k] = example(t, &l->stride_is_open[k]);
    int32_t at = k;
    for (; at > 0 && lies_outside(l, k, l->order[at - 1]); at--) l->order[at] = l->order[at - 1];
    l->order[at] = k;
  }
  return true;
}

/* Do the dims lie one inside of the other, without gaps? */
static bool is_dense(const layout *l) {
  int64_t wanted = 1;
  bool is_open = false;
  for (int32_t k = l->rank - 1; k >= 0; k--) {
    const int32_t dim = l->order[k];
    if (l->size[dim] == 1 && !l->size_is_open[dim]) continue;
    if (wanted < 0 || l->stride[dim] != wanted || l->stride_is_open[dim] != is_open) return false;
    is_open |= l->size_is_open[dim];
    if (l->size[dim] < 0 || tn_mul_i64(wanted, l->size[dim], &wanted)) wanted = -1;
  }
  return true;
}

static bool is_c_order(const layout *l) {
  int32_t last = -1;
  for (int32_t k = 0; k < l->rank; k++) {
    const int32_t dim = l->order[k];
    if (l->size[dim] == 1 && !l->size_is_open[dim]) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

static aten_arg *arg_at(aten_arg *args, uint32_t n, uint32_t place, const char *name) {
  for (uint32_t k = 0; k < n; k++)
    if (args[k].name ? !strcmp(args[k].name, name) : k == place) return &args[k];
  return NULL;
}

/* The program counts from where the memory begins, of which the tensor may be a part. */
static tn_status move_offset(pt2_scope *s, const json_value *meta, aten_arg *args, uint32_t n) {
  const int64_t begins = json_int(json_object(meta, "storage_offset"), "as_int", -1);
  aten_arg *offset = arg_at(args, n, 3, "storage_offset");
  if (!offset || offset->kind == ATEN_NONE || !begins) return TN_OK;
  if (begins > 0 && offset->kind == ATEN_INT && offset->i >= begins) {
    offset->i -= begins;
    return TN_OK;
  }
  return pt2_fail(s->r, TN_ERR_UNSUPPORTED,
                  "not supported: a storage_offset that is not known to be within the tensor");
}

static tn_status permute(pt2_scope *s, const layout *l, aten_arg *tensor) {
  aten_arg dims[TN_MAX_RANK];
  int32_t made = TN_NO_ID;
  for (int32_t k = 0; k < l->rank; k++) dims[k] = aten_int(NULL, l->order[k]);
  const aten_arg args[] = {
      aten_value("self", tensor->value),
      {.name = "dims", .kind = ATEN_LIST, .items = dims, .n_items = (uint32_t)l->rank}};
  const aten_emitter e = pt2_emitter(s);
  const tn_status status = aten_emit(&e, "aten::permute", NULL, args, 2, &made, 1);
  tensor->value = made;
  return status;
}

/* stride() of a dim is that of its place in memory. */
static tn_status find_place(pt2_scope *s, const layout *l, aten_arg *args, uint32_t n) {
  aten_arg *dim = arg_at(args, n, 1, "dim");
  const int64_t wanted = dim && dim->kind == ATEN_INT && dim->i < 0 ? dim->i + l->rank
                         : dim && dim->kind == ATEN_INT             ? dim->i
                                                                    : -1;
  for (int32_t k = 0; k < l->rank; k++)
    if (l->order[k] == wanted) {
      dim->i = k;
      return TN_OK;
    }
  return pt2_fail(s->r, TN_ERR_INVALID, "a dim is outside");
}

tn_status pt2_as_it_lies(pt2_scope *s, const char *op, const json_value *meta, aten_arg *args,
                         uint32_t n) {
  const bool asks = !strcmp(op, "aten::stride") || !strcmp(op, "aten::sym_stride");
  const bool reads = !strcmp(op, "aten::as_strided") || !strcmp(op, "aten::as_strided_copy");
  layout l;
  if ((!asks && !reads) || !n || args[0].kind != ATEN_TENSOR) return TN_OK;
  if (!read_layout(meta, &l) || !is_dense(&l))
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED,
                    "not supported: %s of a tensor whose strides are no order of its dims", op);
  tn_status status = reads ? move_offset(s, meta, args, n) : TN_OK;
  if (status || is_c_order(&l)) return status;
  if (asks) status = find_place(s, &l, args, n);
  return status ? status : permute(s, &l, &args[0]);
}
