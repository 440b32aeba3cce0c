/* Operators of Tenon and its plug-ins for JAX: one handler of XLA's foreign function interface,
 * whose attributes name the operator and say its attributes: op="acme::Foo", attributes="axis=1".
 * The handler is looked up by JAX in this library: see tenon.jax. */
#include <stdio.h>
#include <string.h>

#include "../operator/operator.h"
#include "xla.h"

static xla_error *fail(const xla_frame *frame, const char *why) {
  char text[1100];
  snprintf(text, sizeof text, "tenon: %s", why);
  xla_error_args args = {sizeof args, NULL, text, XLA_INVALID_ARGUMENT};
  return frame->api->error_create(&args);
}

/* Numbers as in XLA's PrimitiveType. */
static uint32_t dtype_of(int type) {
  static const uint32_t dtypes[] = {
      [1] = TN_BOOL,    [2] = TN_I8,       [3] = TN_I16,  [4] = TN_I32,   [5] = TN_I64,
      [6] = TN_U8,      [7] = TN_U16,      [8] = TN_U32,  [9] = TN_U64,   [10] = TN_F16,
      [11] = TN_F32,    [12] = TN_F64,     [15] = TN_C64, [16] = TN_BF16, [18] = TN_C128,
      [19] = TN_F8E5M2, [20] = TN_F8E4M3FN};
  return type > 0 && (size_t)type < sizeof dtypes / sizeof *dtypes ? dtypes[type] : TN_NONE;
}

/* NULL, or what is wrong. */
static const char *read_values(const xla_values *v, operator_call *c, uint32_t *n) {
  for (int64_t k = 0; k < v->n; k++) {
    const xla_buffer *b = v->values[k];
    if (c->n_inputs + c->n_outputs == OPERATOR_TENSORS) return "there are too many tensors";
    if (v->types[k] != XLA_BUFFER) return "takes buffers only";
    if (dtype_of(b->dtype) == TN_NONE) return "a tensor is of a type that Tenon does not take";
    if (b->rank > TN_MAX_RANK) return "a tensor has more dims than Tenon takes";
    c->tensors[c->n_inputs + c->n_outputs] =
        tn_tensor_make(dtype_of(b->dtype), (int32_t)b->rank, b->dims, b->data);
    ++*n;
  }
  return NULL;
}

static bool read_text(const xla_attrs *a, const char *name, char *buf, size_t size) {
  for (int64_t k = 0; k < a->n; k++) {
    const xla_span *key = a->names[k], *text = a->values[k];
    if (key->n != strlen(name) || memcmp(key->data, name, key->n)) continue;
    if (a->types[k] != XLA_STRING || text->n >= size || memchr(text->data, 0, text->n))
      return false;
    memcpy(buf, text->data, text->n);
    buf[text->n] = 0;
    return true;
  }
  return false;
}

/* XLA asks once for the version that the handler was made for. */
static bool tell_version(const xla_frame *frame) {
  if (!frame->extensions || frame->extensions->type != XLA_EXTENSION_METADATA) return false;
  xla_metadata *m = ((xla_metadata_extension *)(void *)frame->extensions)->metadata;
  m->version.major = XLA_MAJOR;
  m->version.minor = XLA_MINOR;
  m->traits = 0;
  return true;
}

TN_EXPORT xla_error *tenon_jax_run(xla_frame *frame);
xla_error *tenon_jax_run(xla_frame *frame) {
  operator_call c;
  char why[1000];
  if (tell_version(frame)) return NULL;
  if (frame->api->version.major != XLA_MAJOR || frame->size < sizeof *frame)
    return fail(frame, "this XLA has another foreign function interface than version 0");
  if (frame->stage != XLA_EXECUTE) return NULL;
  c.drops_ones = false;
  c.n_inputs = c.n_outputs = 0;
  if (!read_text(&frame->attrs, "op", c.op, sizeof c.op) ||
      !read_text(&frame->attrs, "attributes", c.attributes, sizeof c.attributes))
    return fail(frame, "the attributes op and attributes are texts, of up to 200 and 1000 bytes");
  const char *wrong = read_values(&frame->args, &c, &c.n_inputs);
  if (!wrong) wrong = read_values(&frame->results, &c, &c.n_outputs);
  if (wrong) return fail(frame, wrong);
  return operator_run(&c, why, sizeof why) ? NULL : fail(frame, why);
}

/* NULL, or why the plug-in is not loaded, in `why`. */
TN_EXPORT int tenon_jax_load_plugin(const char *path, char *why, size_t size);
int tenon_jax_load_plugin(const char *path, char *why, size_t size) {
  return operator_load_plugin(path, why, size) ? 0 : -1;
}
