/* Operators of Tenon and its plug-ins as nodes of ggml's graphs, by ggml_custom_4d:
 *
 *   call = tenon_ggml_create("acme::Foo", "alpha=2.0", ggml_tensor_overhead(), why, sizeof why)
 *   y = ggml_custom_4d(ctx, type, ne..., inputs, n, tenon_ggml_run, 1, call)
 *
 * ggml's functions answer no errors: tenon_ggml_error(call) says what went wrong in a run, after
 * which y holds zeros. The struct of tensors is declared from ggml's published header; tensors of
 * another size than it has are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../operator/operator.h"

enum { GGML_DIMS = 4, GGML_INPUTS = 10, OBJECT_BYTES = 32, WHY_BYTES = 1000 };

typedef struct ggml_tensor {
  int type;
  void *buffer;
  int64_t ne[GGML_DIMS]; /* the last one varies slowest */
  size_t nb[GGML_DIMS];
  int op, op_params[16], flags;
  struct ggml_tensor *src[GGML_INPUTS];
  struct ggml_tensor *view_src;
  size_t view_offset;
  void *data;
  char name[64];
  void *extra;
  char padding[8];
} ggml_tensor;

typedef struct tenon_ggml_call {
  char op[200], attributes[OPERATOR_TEXT], why[WHY_BYTES];
} tenon_ggml_call;

/* NULL, with the reason in why. overhead: what ggml_tensor_overhead() answers. Freed by
 * tenon_ggml_free(). */
TN_EXPORT tenon_ggml_call *tenon_ggml_create(const char *op, const char *attributes,
                                             size_t overhead, char *why, size_t size);
TN_EXPORT void tenon_ggml_free(tenon_ggml_call *call);
/* What went wrong in the last run; "": nothing. */
TN_EXPORT const char *tenon_ggml_error(const tenon_ggml_call *call);
TN_EXPORT bool tenon_ggml_load_plugin(const char *path, char *why, size_t size);
TN_EXPORT void tenon_ggml_run(ggml_tensor *dst, int ith, int nth, void *call);

tenon_ggml_call *tenon_ggml_create(const char *op, const char *attributes, size_t overhead,
                                   char *why, size_t size) {
  tenon_ggml_call *c = calloc(1, sizeof *c);
  snprintf(why, size, "no memory");
  if (!c) return NULL;
  const char *wrong = overhead != sizeof(ggml_tensor) + OBJECT_BYTES
                          ? "tensors of this ggml are not laid out as it is published"
                      : strlen(op) >= sizeof c->op || strlen(attributes) >= sizeof c->attributes
                          ? "the operator's name or attributes are too long"
                          : NULL;
  if (wrong) {
    snprintf(why, size, "%s", wrong);
    free(c);
    return NULL;
  }
  memcpy(c->op, op, strlen(op));
  memcpy(c->attributes, attributes, strlen(attributes));
  return c;
}

void tenon_ggml_free(tenon_ggml_call *call) { free(call); }

const char *tenon_ggml_error(const tenon_ggml_call *call) { return call->why; }

bool tenon_ggml_load_plugin(const char *path, char *why, size_t size) {
  return operator_load_plugin(path, why, size);
}

static uint32_t dtype_of(int type) {
  static const struct {
    int type;
    uint32_t dtype;
  } types[] = {{0, TN_F32},  {1, TN_F16},  {24, TN_I8},  {25, TN_I16},
               {26, TN_I32}, {27, TN_I64}, {28, TN_F64}, {30, TN_BF16}};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    if (types[k].type == type) return types[k].dtype;
  return TN_NONE;
}

/* NULL, or what is wrong. Leading dims of 1 are left out. */
static const char *read_tensor(const ggml_tensor *t, tn_tensor *out) {
  int64_t shape[GGML_DIMS];
  int32_t rank = GGML_DIMS;
  const uint32_t dtype = dtype_of(t->type);
  while (rank > 1 && t->ne[rank - 1] == 1) rank--;
  for (int32_t k = 0; k < rank; k++) shape[k] = t->ne[rank - 1 - k];
  if (dtype == TN_NONE) return "a tensor is of a type that Tenon does not take";
  if (!t->data) return "a tensor has no memory on the CPU";
  for (int k = 1; k < GGML_DIMS; k++)
    if (t->ne[k] != 1 && t->nb[k] != t->nb[k - 1] * (size_t)t->ne[k - 1])
      return "a tensor is not in order; ggml_cont makes it so";
  *out = tn_tensor_make(dtype, rank, shape, t->data);
  return NULL;
}

/* ggml calls it from each of its threads; the first one computes. */
void tenon_ggml_run(ggml_tensor *dst, int ith, int nth, void *data) {
  tenon_ggml_call *call = data;
  operator_call c;
  (void)nth;
  if (ith) return;
  *call->why = 0;
  memcpy(c.op, call->op, sizeof c.op);
  memcpy(c.attributes, call->attributes, sizeof c.attributes);
  c.n_inputs = 0;
  c.n_outputs = 1;
  c.drops_ones = true;
  const char *wrong = NULL;
  while (!wrong && c.n_inputs < GGML_INPUTS && dst->src[c.n_inputs]) {
    wrong = read_tensor(dst->src[c.n_inputs], &c.tensors[c.n_inputs]);
    c.n_inputs++;
  }
  if (!wrong) wrong = read_tensor(dst, &c.tensors[c.n_inputs]);
  if (wrong) snprintf(call->why, sizeof call->why, "%s: %s", c.op, wrong);
  if (!wrong && operator_run(&c, call->why, sizeof call->why)) *call->why = 0;
  if (*call->why && dst->data)
    memset(dst->data, 0, dst->nb[GGML_DIMS - 1] * (size_t)dst->ne[GGML_DIMS - 1]);
}
