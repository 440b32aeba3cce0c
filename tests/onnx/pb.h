/* Protobuf messages by hand, for tests: independent of the writer, and able to say what it never
 * would. A message is a tn_text; pb_msg takes the inner one over. */
#ifndef TN_TESTS_ONNX_PB_H
#define TN_TESTS_ONNX_PB_H

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

typedef tn_text pb;

static inline pb pb_new(void) {
  pb m;
  tn_text_init(&m, tn_default_allocator());
  return m;
}

static inline void pb_varint(pb *m, uint64_t v) {
  for (; v >= 0x80; v >>= 7) tn_text_add_bytes(m, (const char[]){(char)(v | 0x80)}, 1);
  tn_text_add_bytes(m, (const char[]){(char)v}, 1);
}

static inline void pb_tag(pb *m, uint32_t number, uint32_t wire) {
  pb_varint(m, number << 3 | wire);
}

static inline void pb_int(pb *m, uint32_t number, int64_t v) {
  pb_tag(m, number, 0);
  pb_varint(m, (uint64_t)v);
}

static inline void pb_f32(pb *m, uint32_t number, float v) {
  pb_tag(m, number, 5);
  tn_text_add_bytes(m, (const char *)&v, 4);
}

static inline void pb_f64(pb *m, uint32_t number, double v) {
  pb_tag(m, number, 1);
  tn_text_add_bytes(m, (const char *)&v, 8);
}

static inline void pb_bytes(pb *m, uint32_t number, const void *data, int64_t n) {
  pb_tag(m, number, 2);
  pb_varint(m, (uint64_t)n);
  tn_text_add_bytes(m, data, n);
}

static inline void pb_str(pb *m, uint32_t number, const char *text) {
  pb_bytes(m, number, text, (int64_t)strlen(text));
}

static inline void pb_msg(pb *m, uint32_t number, pb inner) {
  pb_bytes(m, number, tn_text_get(&inner), inner.n);
  tn_text_free(&inner);
}

/* Varints as one packed field. */
static inline void pb_packed(pb *m, uint32_t number, const int64_t *v, int64_t n) {
  pb list = pb_new();
  for (int64_t k = 0; k < n; k++) pb_varint(&list, (uint64_t)v[k]);
  pb_msg(m, number, list);
}

/* ---- ONNX messages ---- */

/* TensorProto without elements: name may be NULL. */
static inline pb pb_tensor(const char *name, int64_t data_type, int32_t rank, const int64_t *dims) {
  pb t = pb_new();
  for (int32_t k = 0; k < rank; k++) pb_int(&t, 1, dims[k]);
  pb_int(&t, 2, data_type);
  if (name) pb_str(&t, 8, name);
  return t;
}

/* f32[n] with raw data 1, 2, 3 ... */
static inline pb pb_floats(const char *name, int64_t n) {
  pb t = pb_tensor(name, 1, 1, &n);
  pb raw = pb_new();
  for (int64_t k = 0; k < n; k++) {
    float v = (float)(k + 1);
    tn_text_add_bytes(&raw, (const char *)&v, 4);
  }
  pb_msg(&t, 9, raw);
  return t;
}

/* NodeProto with names in one string, "," between: pb_node("Add", "sum", "a,b", "c"). */
static inline void pb_names(pb *m, uint32_t number, const char *names) {
  while (*names) {
    size_t n = strcspn(names, ",");
    pb_bytes(m, number, names, (int64_t)n);
    names += n + (names[n] == ',');
  }
}

static inline pb pb_node(const char *op, const char *name, const char *inputs,
                         const char *outputs) {
  pb n = pb_new();
  pb_names(&n, 1, inputs);
  pb_names(&n, 2, outputs);
  pb_str(&n, 3, name);
  pb_str(&n, 4, op);
  return n;
}

/* AttributeProto with a name and type; the caller adds the value. */
static inline pb pb_attr(const char *name, int64_t type) {
  pb a = pb_new();
  pb_str(&a, 1, name);
  pb_int(&a, 20, type);
  return a;
}

static inline pb pb_tensor_type(int64_t data_type, int32_t rank, const int64_t *dims) {
  pb type = pb_new(), tensor = pb_new(), shape = pb_new();
  pb_int(&tensor, 1, data_type);
  for (int32_t k = 0; k < rank; k++) {
    pb dim = pb_new();
    if (dims[k] >= 0) pb_int(&dim, 1, dims[k]);
    pb_msg(&shape, 1, dim);
  }
  pb_msg(&tensor, 2, shape);
  pb_msg(&type, 1, tensor);
  return type;
}

/* ValueInfoProto; takes the type over. */
static inline pb pb_value(const char *name, pb type) {
  pb v = pb_new();
  pb_str(&v, 1, name);
  pb_msg(&v, 2, type);
  return v;
}

static inline pb pb_value_f32(const char *name, int64_t n) {
  return pb_value(name, pb_tensor_type(1, 1, &n));
}

static inline pb pb_opset(const char *domain, int64_t version) {
  pb o = pb_new();
  pb_str(&o, 1, domain);
  pb_int(&o, 2, version);
  return o;
}

/* ModelProto around a graph, which it takes over, with the default operator set. */
static inline pb pb_model(pb graph, int64_t version) {
  pb m = pb_new();
  pb_int(&m, 1, 8);
  pb_msg(&m, 7, graph);
  pb_msg(&m, 8, pb_opset("", version));
  return m;
}

static inline void pb_entry(pb *m, uint32_t number, const char *key, const char *text) {
  pb e = pb_new();
  pb_str(&e, 1, key);
  pb_str(&e, 2, text);
  pb_msg(m, number, e);
}

#endif
