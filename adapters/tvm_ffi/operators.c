/* Operators of Tenon and its plug-ins as functions of tvm-ffi, which PyTorch, JAX, CuPy and others
 * call with tensors of theirs:
 *
 *   run(operator, attributes, n_inputs, inputs..., outputs...)
 *   load_plugin(path)
 *
 * attributes: "alpha=2.0; axis=1". Outputs are tensors of the right type, which are written to. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../operator/operator.h"
#include "tvm.h"

/* ---- errors ---- */

static int fail(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(const char *kind, const char *format, ...) {
  char text[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  void *library = dlopen("libtvm_ffi.so", RTLD_NOLOAD | RTLD_LAZY);
  void *symbol = dlsym(library ? library : RTLD_DEFAULT, "TVMFFIErrorSetRaisedFromCStr");
  void (*raise)(const char *, const char *) = NULL;
  memcpy(&raise, &symbol, sizeof raise);
  if (raise) raise(kind, text);
  if (library) dlclose(library);
  return -1;
}

/* ---- values ---- */

static bool read_text(const tvm_value *v, char *buf, size_t size) {
  const char *data = v->text;
  size_t n = 0;
  if (v->type == TVM_C_STRING && data) n = strlen(data);
  if (v->type == TVM_SHORT_STRING) data = v->bytes, n = v->length < 8 ? v->length : 8;
  if (v->type == TVM_STRING) {
    const tvm_string *s = v->pointer;
    data = s->data, n = s->size;
  }
  const bool is_text =
      v->type == TVM_C_STRING || v->type == TVM_SHORT_STRING || v->type == TVM_STRING;
  if (!is_text || !data || n >= size || memchr(data, 0, n)) return false;
  memcpy(buf, data, n);
  buf[n] = 0;
  return true;
}

static uint32_t dtype_of(const dl_tensor *t) {
  static const struct {
    uint8_t code, bits;
    uint32_t dtype;
  } types[] = {{0, 8, TN_I8},   {0, 16, TN_I16}, {0, 32, TN_I32},      {0, 64, TN_I64},
               {1, 8, TN_U8},   {1, 16, TN_U16}, {1, 32, TN_U32},      {1, 64, TN_U64},
               {2, 16, TN_F16}, {2, 32, TN_F32}, {2, 64, TN_F64},      {4, 16, TN_BF16},
               {5, 64, TN_C64}, {6, 8, TN_BOOL}, {10, 8, TN_F8E4M3FN}, {12, 8, TN_F8E5M2}};
  for (size_t k = 0; t->lanes == 1 && k < sizeof types / sizeof *types; k++)
    if (types[k].code == t->code && types[k].bits == t->bits) return types[k].dtype;
  return TN_NONE;
}

static bool is_in_order(const dl_tensor *t) {
  int64_t step = 1;
  for (int32_t k = t->rank - 1; k >= 0 && t->strides; k--) {
    if (t->shape[k] != 1 && t->strides[k] != step) return false;
    step *= t->shape[k];
  }
  return true;
}

/* NULL, or why not. */
static const char *read_tensor(const tvm_value *v, tn_tensor *out) {
  if (v->type != TVM_TENSOR && v->type != TVM_TENSOR_POINTER) return "is no tensor";
  const dl_tensor *t =
      v->type == TVM_TENSOR
          ? (const dl_tensor *)(const void *)((char *)v->pointer + sizeof(tvm_object))
          : v->pointer;
  if (t->device_type != DL_CPU && t->device_type != DL_CUDA_HOST) return "is not on the CPU";
  if (t->rank < 0 || t->rank > TN_MAX_RANK) return "has more dims than Tenon takes";
  if (dtype_of(t) == TN_NONE) return "is of a type that Tenon does not take";
  if (!is_in_order(t)) return "is not in C order";
  *out = tn_tensor_make(dtype_of(t), t->rank, t->shape, (char *)t->data + t->offset);
  return NULL;
}

/* ---- what tvm-ffi calls ---- */

TN_EXPORT int __tvm_ffi_run(void *self, const tvm_value *args, int32_t n, tvm_value *result);
TN_EXPORT int __tvm_ffi_load_plugin(void *self, const tvm_value *args, int32_t n,
                                    tvm_value *result);

int __tvm_ffi_run(void *self, const tvm_value *args, int32_t n, tvm_value *result) {
  operator_call c;
  char why[1000];
  (void)self;
  *result = (tvm_value){.type = TVM_NONE};
  if (n < 3 || n - 3 > OPERATOR_TENSORS || !read_text(&args[0], c.op, sizeof c.op) ||
      !read_text(&args[1], c.attributes, sizeof c.attributes) || args[2].type != TVM_INT ||
      args[2].i < 0 || args[2].i > n - 3)
    return fail("TypeError", "tenon: run(operator, attributes, n_inputs, inputs..., outputs...)");
  c.drops_ones = false;
  c.n_inputs = (uint32_t)args[2].i;
  c.n_outputs = (uint32_t)(n - 3) - c.n_inputs;
  for (uint32_t k = 0; k < c.n_inputs + c.n_outputs; k++) {
    const char *wrong = read_tensor(&args[3 + k], &c.tensors[k]);
    const bool is_input = k < c.n_inputs;
    if (wrong)
      return fail("ValueError", "tenon: %s: %s %u %s", c.op, is_input ? "input" : "output",
                  is_input ? k : k - c.n_inputs, wrong);
  }
  return operator_run(&c, why, sizeof why) ? 0 : fail("ValueError", "tenon: %s", why);
}

int __tvm_ffi_load_plugin(void *self, const tvm_value *args, int32_t n, tvm_value *result) {
  char path[4096], why[1000];
  (void)self;
  *result = (tvm_value){.type = TVM_NONE};
  if (n != 1 || !read_text(&args[0], path, sizeof path))
    return fail("TypeError", "tenon: load_plugin(path)");
  return operator_load_plugin(path, why, sizeof why) ? 0 : fail("ValueError", "tenon: %s", why);
}
