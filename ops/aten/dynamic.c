/* torch::Dynamic: an operator of PyTorch some of whose numbers are known only when the inputs are.
 *
 * `op` names it ("aten::view"), its first n_tensors inputs are the operator's own, and `attrs` says
 * the attributes, one a line: "size I 1 $ -1", "alpha f 0.5", "dim i $", "mode s bilinear". Each $
 * stands for the next input behind the operator's own, a number of rank 0. It is lowered to the
 * operator when those are known. */
#include "aten.gen.h"
#include "aten.h"

#include <stdlib.h>

enum { MOST_ATTRS = 24, MOST_NUMBERS = 256, MOST_TEXT = 64 };

typedef struct reading {
  const tn_lowering *l;
  const char *at, *end;
  uint32_t next; /* input of the next $ */
  tn_status status;
  tn_attr attrs[MOST_ATTRS];
  char names[MOST_ATTRS][MOST_TEXT];
  int64_t ints[MOST_NUMBERS];
  double floats[MOST_NUMBERS];
  uint32_t n_attrs, n_numbers;
} reading;

static void reject(reading *r, const char *what) {
  if (!r->status) r->status = at_fail(r->l, TN_ERR_INVALID, what);
}

/* The next word of the line; its length is 0 at the end of the line. */
static tn_str word(reading *r) {
  while (r->at < r->end && *r->at == ' ') r->at++;
  const char *begin = r->at;
  while (r->at < r->end && *r->at != ' ' && *r->at != '\n') r->at++;
  return (tn_str){begin, r->at - begin};
}

static bool is_value(tn_str w) { return w.size == 1 && *w.data == '$'; }

static double number_of(reading *r, tn_str w, int64_t *out_int) {
  char text[MOST_TEXT];
  int64_t n;
  double f = 0;
  if (is_value(w)) {
    const uint32_t k = r->next++;
    const tn_tensor *t = tn_low_type(r->l, k);
    if (!t) {
      reject(r, "it has fewer numbers than its attributes name");
      return 0;
    }
    const tn_status s = tn_const_elements(r->l->call, k, &n);
    if (s || n != 1) {
      if (!r->status) r->status = s;
      if (!s) reject(r, "a number has not one element");
      return 0;
    }
    f = tn_load_f64(t->dtype, t->data, 0);
    *out_int = tn_dtype_exact_i64(t->dtype) ? tn_load_i64(t->dtype, t->data, 0)
               : fabs(f) < 9e18             ? (int64_t)f
                                            : INT64_MIN;
    return f;
  }
  if (w.size == 0 || w.size >= MOST_TEXT) {
    reject(r, "an attribute is no number");
    return 0;
  }
  snprintf(text, sizeof text, "%.*s", (int)w.size, w.data);
  *out_int = strtoll(text, NULL, 10);
  return strtod(text, NULL);
}

static void read_list(reading *r, tn_attr *a, bool ints) {
  const uint32_t first = r->n_numbers;
  for (tn_str w = word(r); w.size && !r->status; w = word(r)) {
    if (r->n_numbers == MOST_NUMBERS) {
      reject(r, "it has more than 256 numbers");
      return;
    }
    r->floats[r->n_numbers] = number_of(r, w, &r->ints[r->n_numbers]);
    r->n_numbers++;
  }
  const int64_t n = r->n_numbers - first;
  a->kind = ints ? TN_ATTR_INTS : TN_ATTR_FLOATS;
  if (ints)
    a->ints = (tn_ints){r->ints + first, n};
  else
    a->floats = (tn_floats){r->floats + first, n};
}

/* A Scalar, kind n, is what its number is. */
static void read_number(reading *r, tn_attr *a, char kind) {
  const tn_str w = word(r);
  bool is_int = kind == 'i';
  if (kind == 'n' && is_value(w) && tn_low_type(r->l, r->next))
    is_int = tn_dtype_exact_i64(tn_low_type(r->l, r->next)->dtype);
  a->f = number_of(r, w, &a->i);
  a->kind = is_int ? TN_ATTR_INT : TN_ATTR_FLOAT;
  if (is_int)
    a->f = 0;
  else
    a->i = 0;
}

static void read_attr(reading *r) {
  const tn_str name = word(r), kind = word(r);
  if (r->n_attrs == MOST_ATTRS || name.size == 0 || name.size >= MOST_TEXT || kind.size != 1) {
    reject(r, "its attributes are not spelt as they should be");
    return;
  }
  char *text = r->names[r->n_attrs];
  snprintf(text, MOST_TEXT, "%.*s", (int)name.size, name.data);
  tn_attr *a = &r->attrs[r->n_attrs++];
  *a = (tn_attr){.head = TN_HEAD(tn_attr), .name = text};
  switch (*kind.data) {
    case 'I': read_list(r, a, true); break;
    case 'F': read_list(r, a, false); break;
    case 's':
      a->kind = TN_ATTR_STR;
      a->s = word(r);
      break;
    default: read_number(r, a, *kind.data);
  }
  while (r->at < r->end && *r->at != '\n') r->at++;
  if (r->at < r->end) r->at++;
}

tn_status torch_dynamic(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST_INPUTS = 256, MOST_OUTPUTS = 256 };
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr *op = tn_pattern_attr(tn_low_node(&l), "op", TN_ATTR_STR),
                *text = tn_pattern_attr(tn_low_node(&l), "attrs", TN_ATTR_STR);
  const int64_t n = tn_low_int(&l, "n_tensors", 0);
  const uint32_t n_out = tn_low_node(&l)->n_outputs;
  int32_t in[MOST_INPUTS], out[MOST_OUTPUTS];
  char name[2 * MOST_TEXT];
  if (!op || !text || n < 0 || n > call->n_inputs || n > MOST_INPUTS || n_out > MOST_OUTPUTS ||
      op->s.size >= (int64_t)sizeof name)
    return at_fail(&l, TN_ERR_INVALID, "it does not say what it stands for");
  reading *r = call->host->alloc(call->ctx, sizeof *r);
  if (!r) return TN_ERR_MEMORY;
  r->l = &l;
  r->at = text->s.data;
  r->end = text->s.data + text->s.size;
  r->next = (uint32_t)n;
  while (r->at < r->end && !r->status) read_attr(r);
  for (uint32_t k = 0; k < n; k++) in[k] = tn_low_in(&l, k);
  snprintf(name, sizeof name, "%.*s", (int)op->s.size, op->s.data);
  tn_status s = r->status;
  if (!s) s = tn_low_emit_many(&l, name, in, (uint32_t)n, r->attrs, r->n_attrs, n_out, out);
  call->host->free(call->ctx, r);
  return s ? s : tn_low_done_many(&l, out, n_out);
}
