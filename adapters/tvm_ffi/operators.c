/* Operators of Tenon and its plug-ins as functions of tvm-ffi, which PyTorch, JAX, CuPy and others
 * call with tensors of theirs:
 *
 *   run(operator, attributes, n_inputs, inputs..., outputs...)
 *   load_plugin(path)
 *
 * attributes: "alpha=2.0; axis=1". Outputs are tensors of the right type, which are written to. A
 * session is kept for each operator with the same attributes and types, and used again. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/tenon.h"
#include "tvm.h"

enum { MOST_ARGS = 64, MOST_KEPT = 64, KEY_BYTES = 4096, NAME_BYTES = 64 };

/* A session for one operator, attributes and types. */
typedef struct kept {
  struct kept *next;
  char *key;
  tn_model *model;
  tn_session *session;
} kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tn_runtime *runtime; /* as long as the process */
static kept *idle;          /* used last first; under the lock */
static int n_idle;

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

static int fail_take(tn_diag *diag, tn_status status) {
  const char *text = diag ? tn_diag_text(diag) : "";
  const int answer = fail("ValueError", "tenon: %s", *text ? text : tn_status_text(status));
  tn_diag_destroy(diag);
  return answer;
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

/* ---- arguments by the operator's schema ---- */

typedef struct call {
  char op[200], attributes[1000], names[MOST_ARGS][NAME_BYTES], key[KEY_BYTES];
  tn_op_arg args[MOST_ARGS];
  tn_tensor tensors[MOST_ARGS]; /* inputs, then outputs */
  uint32_t n_args;
  int64_t n_inputs, n_outputs;
} call;

static const tn_op *find_op(const char *name) {
  char domain[200] = "";
  const char *colons = strstr(name, "::");
  if (colons) snprintf(domain, sizeof domain, "%.*s", (int)(colons - name), name);
  return tn_runtime_find_op(runtime, domain, colons ? colons + 2 : name, 0);
}

/* The name of tensor argument k of a schema "(Tensor x, Tensor[] y, *, int axis=0) -> ..."; a list
 * stands for itself and all that follow. */
static bool tensor_name(const char *schema, int64_t k, char *name) {
  const char *at = strchr(schema, '(');
  while (at && *at && *at != ')') {
    at += strspn(at, "(, ");
    const size_t n = strcspn(at, ",)");
    if (*at == '*' || !n) return false;
    char text[200];
    snprintf(text, sizeof text, "%.*s", (int)(n < 199 ? n : 199), at);
    text[strcspn(text, "=")] = 0;
    const char *space = strrchr(text, ' ');
    if (!space) return false;
    if (k-- == 0 || strchr(text, '[')) {
      snprintf(name, NAME_BYTES, "%s", space + 1);
      return true;
    }
    at += n;
  }
  return false;
}

static int read_attributes(call *c) {
  char *rest = c->attributes, *one;
  while ((one = strtok_r(rest, ";", &rest))) {
    one += strspn(one, " ");
    char *equals = strchr(one, '=');
    if (!*one) continue;
    if (!equals || c->n_args == MOST_ARGS)
      return fail("ValueError", "tenon: attributes are 'name=value; ...', not '%s'", one);
    *equals = 0;
    c->args[c->n_args++] = (tn_op_arg){.name = one, .text = equals + 1};
  }
  return 0;
}

static int read_call(call *c, const tvm_value *args, int32_t n) {
  if (n < 3 || n - 3 > MOST_ARGS || !read_text(&args[0], c->op, sizeof c->op) ||
      !read_text(&args[1], c->attributes, sizeof c->attributes) || args[2].type != TVM_INT ||
      args[2].i < 0 || args[2].i > n - 3)
    return fail("TypeError", "tenon: run(operator, attributes, n_inputs, inputs..., outputs...)");
  c->n_inputs = args[2].i;
  c->n_outputs = n - 3 - c->n_inputs;
  size_t at = (size_t)snprintf(c->key, KEY_BYTES, "%s|%s|", c->op, c->attributes);
  const tn_op *op = find_op(c->op);
  if (!op) return fail("ValueError", "tenon: there is no operator '%s'", c->op);
  for (int64_t k = 0; k < n - 3; k++) {
    tn_tensor *t = &c->tensors[k];
    const char *why = read_tensor(&args[3 + k], t);
    const bool is_input = k < c->n_inputs;
    if (!why && is_input && !tensor_name(op->schema, k, c->names[k])) why = "is one too many";
    if (why)
      return fail("ValueError", "tenon: %s: %s %lld %s", c->op, is_input ? "input" : "output",
                  (long long)(is_input ? k : k - c->n_inputs), why);
    if (is_input) c->args[c->n_args++] = (tn_op_arg){.name = c->names[k], .tensor = t};
    if (at < KEY_BYTES)
      at += (size_t)snprintf(c->key + at, KEY_BYTES - at, "%s%s", is_input ? "" : ">",
                             tn_dtype_name(t->dtype));
    for (int32_t d = 0; d < t->rank && at < KEY_BYTES; d++)
      at += (size_t)snprintf(c->key + at, KEY_BYTES - at, ",%lld", (long long)t->shape[d]);
    if (at < KEY_BYTES) at += (size_t)snprintf(c->key + at, KEY_BYTES - at, ";");
  }
  if (at >= KEY_BYTES) return fail("ValueError", "tenon: %s: the arguments are too many", c->op);
  return read_attributes(c);
}

/* ---- sessions ---- */

static void drop(kept *k) {
  tn_session_destroy(k->session);
  tn_model_destroy(k->model);
  free(k->key);
  free(k);
}

static kept *take(const char *key) {
  pthread_mutex_lock(&lock);
  kept **at = &idle;
  while (*at && strcmp((*at)->key, key)) at = &(*at)->next;
  kept *k = *at;
  if (k) *at = k->next, n_idle--;
  pthread_mutex_unlock(&lock);
  return k;
}

static void give(kept *k) {
  kept *last = NULL;
  pthread_mutex_lock(&lock);
  k->next = idle;
  idle = k;
  if (++n_idle > MOST_KEPT) {
    kept **at = &idle;
    while ((*at)->next) at = &(*at)->next;
    last = *at;
    *at = NULL;
    n_idle--;
  }
  pthread_mutex_unlock(&lock);
  if (last) drop(last);
}

static kept *make(const call *c, tn_diag *diag, tn_status *out_status) {
  kept *k = calloc(1, sizeof *k);
  if (k) k->key = strdup(c->key);
  *out_status = k && k->key ? TN_OK : TN_ERR_MEMORY;
  if (!*out_status)
    *out_status = tn_model_from_op(runtime, c->op, 0, c->args, c->n_args, (uint32_t)c->n_outputs,
                                   NULL, diag, &k->model);
  if (!*out_status) *out_status = tn_session_create(k->model, diag, &k->session);
  if (!*out_status) return k;
  if (k) drop(k);
  return NULL;
}

/* Outputs are of the types that the operator answers, or it is an error. */
static tn_status run_in(const call *c, tn_session *session, tn_diag *diag) {
  tn_status status = TN_OK;
  for (int32_t k = 0; k < c->n_inputs && !status; k++)
    status = tn_session_set_input(session, k, &c->tensors[k], diag);
  if (!status) status = tn_session_prepare(session, diag);
  for (int32_t k = 0; k < c->n_outputs && !status; k++)
    status = tn_session_set_output(session, k, &c->tensors[c->n_inputs + k], diag);
  return status ? status : tn_session_run(session, diag);
}

static const char *wrong_output(const call *c, const tn_session *session) {
  static _Thread_local char text[200];
  for (int32_t k = 0; k < c->n_outputs; k++) {
    const tn_tensor *given = &c->tensors[c->n_inputs + k], *y = tn_session_output(session, k);
    bool same = y && y->dtype == given->dtype && y->rank == given->rank && y->data == given->data;
    for (int32_t d = 0; same && d < y->rank; d++) same = y->shape[d] == given->shape[d];
    if (same) continue;
    snprintf(text, sizeof text, "output %d is %s of rank %d, or of other dims", k,
             y ? tn_dtype_name(y->dtype) : "?", y ? y->rank : -1);
    return text;
  }
  return NULL;
}

/* ---- what tvm-ffi calls ---- */

static int start(void) {
  tn_diag *diag = tn_diag_create();
  pthread_mutex_lock(&lock);
  const tn_status status = runtime ? TN_OK : tn_runtime_create(NULL, diag, &runtime);
  pthread_mutex_unlock(&lock);
  if (status) return fail_take(diag, status);
  tn_diag_destroy(diag);
  return 0;
}

TN_EXPORT int __tvm_ffi_run(void *self, const tvm_value *args, int32_t n, tvm_value *result);
TN_EXPORT int __tvm_ffi_load_plugin(void *self, const tvm_value *args, int32_t n,
                                    tvm_value *result);

int __tvm_ffi_run(void *self, const tvm_value *args, int32_t n, tvm_value *result) {
  call c = {.n_args = 0};
  tn_status status;
  (void)self;
  *result = (tvm_value){.type = TVM_NONE};
  if (start() || read_call(&c, args, n)) return -1;
  tn_diag *diag = tn_diag_create();
  kept *k = take(c.key);
  if (!k) k = make(&c, diag, &status);
  if (!k) return fail_take(diag, status);
  status = run_in(&c, k->session, diag);
  const char *wrong = status ? NULL : wrong_output(&c, k->session);
  if (status || wrong) drop(k);
  if (status) return fail_take(diag, status);
  tn_diag_destroy(diag);
  if (wrong) return fail("ValueError", "tenon: %s: %s", c.op, wrong);
  give(k);
  return 0;
}

int __tvm_ffi_load_plugin(void *self, const tvm_value *args, int32_t n, tvm_value *result) {
  char path[4096];
  (void)self;
  *result = (tvm_value){.type = TVM_NONE};
  if (n != 1 || !read_text(&args[0], path, sizeof path))
    return fail("TypeError", "tenon: load_plugin(path)");
  if (start()) return -1;
  tn_diag *diag = tn_diag_create();
  const tn_status status = tn_runtime_load_plugin(runtime, path, NULL, 0, diag);
  if (status) return fail_take(diag, status);
  tn_diag_destroy(diag);
  return 0;
}
