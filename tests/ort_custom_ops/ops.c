/* A library of custom operators for ONNX Runtime, for tests of plugins/ort_custom_ops: operators of
 * each age of the interface, and, where the variable BAD says so, broken ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"

/* The kernel of an operator keeps the table that it was made with. */
static ort_table api;
#define CALL(name, types, ...) (((ort_status * (*)types) api[ORT_##name])(__VA_ARGS__))

static ort_status *say(int code, const char *text) {
  return ((ort_status * (*)(int, const char *)) api[ORT_CreateStatus])(code, text);
}
static bool failed(ort_status *status) {
  if (status) ((void (*)(ort_status *))api[ORT_ReleaseStatus])(status);
  return status != NULL;
}
static void drop(ort_status *status) { (void)failed(status); }

static ort_allocator *own_memory(void) {
  ort_allocator *a = NULL;
  drop(CALL(GetAllocatorWithDefaultOptions, (ort_allocator **), &a));
  return a;
}
static void give_back(void *memory) { own_memory()->free(own_memory(), memory); }

/* ---- what operators do with values ---- */

static const ort_value *input(const ort_context *c, size_t index) {
  const ort_value *v = NULL;
  drop(CALL(KernelContext_GetInput, (const ort_context *, size_t, const ort_value **), c, index,
            &v));
  return v;
}

static size_t n_inputs(const ort_context *c) {
  size_t n = 0;
  drop(CALL(KernelContext_GetInputCount, (const ort_context *, size_t *), c, &n));
  return n;
}

static void *data(const ort_value *v) {
  void *p = NULL;
  drop(CALL(GetTensorMutableData, (const ort_value *, void **), v, &p));
  return p;
}

typedef struct dims {
  size_t rank, n;
  int64_t shape[8];
  int type;
} dims;

static dims dims_of(const ort_value *v) {
  dims d = {0};
  ort_shape_info *info = NULL;
  drop(CALL(GetTensorTypeAndShape, (const ort_value *, ort_shape_info **), v, &info));
  drop(CALL(GetDimensionsCount, (const ort_shape_info *, size_t *), info, &d.rank));
  drop(CALL(GetDimensions, (const ort_shape_info *, int64_t *, size_t), info, d.shape, d.rank));
  drop(CALL(GetTensorShapeElementCount, (const ort_shape_info *, size_t *), info, &d.n));
  drop(CALL(GetTensorElementType, (const ort_shape_info *, int *), info, &d.type));
  ((void (*)(ort_shape_info *))api[ORT_ReleaseTensorTypeAndShapeInfo])(info);
  return d;
}

static ort_value *output(ort_context *c, size_t index, const int64_t *shape, size_t rank) {
  ort_value *v = NULL;
  drop(CALL(KernelContext_GetOutput, (ort_context *, size_t, const int64_t *, size_t, ort_value **),
            c, index, shape, rank, &v));
  return v;
}

/* ---- describing operators ---- */

typedef struct op {
  ort_op table;
  const char *name, *provider;
  int in[3], out[2], in_kind[3], out_kind[2];
  size_t n_in, n_out;
  int since, until;
} op;

static const op *self(const ort_op *o) { return (const op *)(const void *)o; }
static const char *name_of(const ort_op *o) { return self(o)->name; }
static const char *provider_of(const ort_op *o) { return self(o)->provider; }
static int in_type(const ort_op *o, size_t k) { return self(o)->in[k]; }
static int out_type(const ort_op *o, size_t k) { return self(o)->out[k]; }
static size_t n_in(const ort_op *o) { return self(o)->n_in; }
static size_t n_out(const ort_op *o) { return self(o)->n_out; }
static int in_kind(const ort_op *o, size_t k) { return self(o)->in_kind[k]; }
static int out_kind(const ort_op *o, size_t k) { return self(o)->out_kind[k]; }
static int two(const ort_op *o) { return (void)o, 2; }
static int no(const ort_op *o) { return (void)o, 0; }
static int yes(const ort_op *o) { return (void)o, 1; }
static int since(const ort_op *o) { return self(o)->since; }
static int until(const ort_op *o) { return self(o)->until; }

static void *make_nothing(const ort_op *o, ort_table table, const ort_info *info) {
  (void)o, (void)table, (void)info;
  return NULL;
}

#define FIRST(V)                                                                         \
  .version = (V), .name = name_of, .provider = provider_of, .input_type = in_type,       \
  .n_inputs = n_in, .output_type = out_type, .n_outputs = n_out, .create = make_nothing, \
  .destroy = free
#define EIGHTH(V) FIRST(V), .input_kind = in_kind, .output_kind = out_kind

/* ---- Affine, of the first version: x * scale + shift, for floats and for integers ---- */

typedef struct affine {
  float scale;
  int64_t shift;
} affine;

static void *make_affine(const ort_op *o, ort_table table, const ort_info *info) {
  affine *a = malloc(sizeof *a);
  (void)o;
  api = table;
  *a = (affine){1, 0};
  drop(CALL(KernelInfoGetAttribute_float, (const ort_info *, const char *, float *), info, "scale",
            &a->scale));
  drop(CALL(KernelInfoGetAttribute_int64, (const ort_info *, const char *, int64_t *), info,
            "shift", &a->shift));
  return a;
}

static void run_affine(void *kernel, ort_context *c) {
  const affine *a = kernel;
  const dims d = dims_of(input(c, 0));
  const void *x = data(input(c, 0));
  void *y = data(output(c, 0, d.shape, d.rank));
  for (size_t k = 0; k < d.n; k++)
    if (d.type == 1)
      ((float *)y)[k] = ((const float *)x)[k] * a->scale + (float)a->shift;
    else
      ((int64_t *)y)[k] = ((const int64_t *)x)[k] * (int64_t)a->scale + a->shift;
}

/* ---- AddMaybe, of version 8: the second input and output are optional ---- */

static void run_maybe(void *kernel, ort_context *c) {
  (void)kernel;
  const ort_value *b = n_inputs(c) > 1 ? input(c, 1) : NULL;
  const dims d = dims_of(input(c, 0));
  const float *x = data(input(c, 0)), *z = b ? data(b) : NULL;
  float *y = data(output(c, 0, d.shape, d.rank));
  for (size_t k = 0; k < d.n; k++) y[k] = x[k] + (z ? z[k] : 100);
  size_t n = 0;
  drop(CALL(KernelContext_GetOutputCount, (const ort_context *, size_t *), c, &n));
  const int64_t one = 1;
  ort_value *count = n > 1 ? output(c, 1, &one, 1) : NULL;
  if (count) *(int64_t *)data(count) = (int64_t)n_inputs(c);
}

/* ---- Join, of version 14: any number of inputs, of different types; the sizes of all ---- */

static void run_join(void *kernel, ort_context *c) {
  (void)kernel;
  const int64_t n = (int64_t)n_inputs(c);
  int64_t *y = data(output(c, 0, &n, 1));
  for (int64_t k = 0; k < n; k++) y[k] = (int64_t)dims_of(input(c, (size_t)k)).n;
}

/* ---- Positive, of version 16: how many there are, only a run can tell ---- */

static ort_status *make_v2(const ort_op *o, ort_table table, const ort_info *info, void **out) {
  (void)o, (void)info;
  api = table;
  *out = NULL;
  return NULL;
}

static ort_status *run_positive(void *kernel, ort_context *c) {
  (void)kernel;
  const dims d = dims_of(input(c, 0));
  const float *x = data(input(c, 0));
  int64_t n = 0;
  for (size_t k = 0; k < d.n; k++) n += x[k] > 0;
  float *y = data(output(c, 0, &n, 1));
  for (size_t k = 0; k < d.n; k++)
    if (x[k] > 0) *y++ = x[k];
  return NULL;
}

/* ---- Copy: of any type, strings too ---- */

static ort_status *copy_strings(const ort_value *x, ort_value *y, size_t n) {
  ort_status *wrong = NULL;
  for (size_t k = 0; k < n && !wrong; k++) {
    size_t size = 0;
    char *to = NULL;
    wrong = CALL(GetStringTensorElementLength, (const ort_value *, size_t, size_t *), x, k, &size);
    if (!wrong)
      wrong = CALL(GetResizedStringTensorElementBuffer, (ort_value *, size_t, size_t, char **), y,
                   k, size, &to);
    if (!wrong)
      wrong =
          CALL(GetStringTensorElement, (const ort_value *, size_t, size_t, void *), x, size, k, to);
  }
  return wrong;
}

static ort_status *run_copy(void *kernel, ort_context *c) {
  (void)kernel;
  const ort_value *x = input(c, 0);
  const dims d = dims_of(x);
  ort_value *y = output(c, 0, d.shape, d.rank);
  size_t bytes = 0;
  if (d.type == ORT_STRING) return copy_strings(x, y, d.n);
  ort_status *wrong = CALL(GetTensorSizeInBytes, (const ort_value *, size_t *), x, &bytes);
  if (!wrong && bytes) memcpy(data(y), data(x), bytes);
  return wrong;
}

/* ---- Tell: all that a kernel is told while it is made, as one string ---- */

static size_t put_texts(const ort_info *info, char *out, size_t size) {
  char **texts = NULL;
  size_t n = 0, at = 0;
  drop(CALL(KernelInfoGetAttributeArray_string,
            (const ort_info *, const char *, ort_allocator *, char ***, size_t *), info, "texts",
            own_memory(), &texts, &n));
  for (size_t k = 0; k < n; k++) {
    at += (size_t)snprintf(out + at, size - at, " %s", texts[k]);
    give_back(texts[k]);
  }
  give_back((void *)texts);
  return at;
}

static size_t put_numbers(const ort_info *info, char *out, size_t size) {
  int64_t ints[4] = {0};
  float floats[4] = {0};
  size_t n_ints = 4, n_floats = 4, at = 0;
  if (failed(CALL(KernelInfoGetAttributeArray_int64,
                  (const ort_info *, const char *, int64_t *, size_t *), info, "ints", ints,
                  &n_ints)))
    n_ints = 0;
  if (failed(CALL(KernelInfoGetAttributeArray_float,
                  (const ort_info *, const char *, float *, size_t *), info, "floats", floats,
                  &n_floats)))
    n_floats = 0;
  for (size_t k = 0; k < n_ints && k < 4; k++)
    at += (size_t)snprintf(out + at, size - at, " %lld", (long long)ints[k]);
  for (size_t k = 0; k < n_floats && k < 4; k++)
    at += (size_t)snprintf(out + at, size - at, " %g", (double)floats[k]);
  return at;
}

static size_t put_values(const ort_info *info, char *out, size_t size) {
  const ort_value *constant = NULL;
  ort_value *tensor = NULL;
  int is_constant = 0;
  size_t at = 0;
  drop(CALL(KernelInfoGetConstantInput_tensor,
            (const ort_info *, size_t, int *, const ort_value **), info, 0, &is_constant,
            &constant));
  drop(CALL(KernelInfoGetAttribute_tensor,
            (const ort_info *, const char *, ort_allocator *, ort_value **), info, "tensor",
            own_memory(), &tensor));
  if (is_constant) at += (size_t)snprintf(out, size, " const %g", (double)*(float *)data(constant));
  if (tensor)
    at +=
        (size_t)snprintf(out + at, size - at, " tensor %lld", (long long)*(int64_t *)data(tensor));
  ((void (*)(ort_value *))api[ORT_ReleaseValue])(tensor);
  return at;
}

static ort_status *make_tell(const ort_op *o, ort_table table, const ort_info *info, void **out) {
  enum { ROOM = 500 };
  char *text = *out = malloc(ROOM);
  size_t size = 100, at = 0;
  (void)o;
  api = table;
  ort_status *wrong =
      CALL(KernelInfoGetAttribute_string, (const ort_info *, const char *, char *, size_t *), info,
           "text", text, &size);
  if (wrong) {
    free(text);
    return wrong;
  }
  at = size - 1;
  at += put_numbers(info, text + at, ROOM - at);
  at += put_texts(info, text + at, ROOM - at);
  put_values(info, text + at, ROOM - at);
  return NULL;
}

static ort_status *run_tell(void *kernel, ort_context *c) {
  const char *texts[] = {kernel};
  const int64_t one = 1;
  return CALL(FillStringTensor, (ort_value *, const char *const *, size_t), output(c, 0, &one, 1),
              texts, 1);
}

/* ---- Grow: x as often as it says, and it tells so before; "how" as it should not be ---- */

static int64_t grow_times;

static size_t attr(ort_shape_context *c, const char *name, int type, void *to, size_t room) {
  const void *a = NULL;
  size_t size = 0;
  if (!failed(CALL(ShapeInferContext_GetAttribute,
                   (ort_shape_context *, const char *, const void **), c, name, &a)))
    drop(CALL(ReadOpAttr, (const void *, int, void *, size_t, size_t *), a, type, to, room, &size));
  return size;
}

/* Numbers of all kinds make the factor. */
static int64_t times_of(ort_shape_context *c) {
  int64_t i = 1, ints[2] = {1, 1};
  float f = 1, floats[2] = {1, 1};
  char texts[8] = "";
  attr(c, "i", 1, &i, sizeof i);
  if (attr(c, "ints", 2, ints, 8) != sizeof ints) ints[1] = 1; /* there is no room */
  attr(c, "ints", 2, ints, sizeof ints);
  attr(c, "f", 3, &f, sizeof f);
  attr(c, "floats", 4, floats, sizeof floats);
  const size_t n_bytes = attr(c, "texts", 6, texts, sizeof texts); /* "ab", "c": 5 */
  return i * ints[0] * ints[1] * (int64_t)(f * floats[0] * floats[1]) + (int64_t)n_bytes;
}

static ort_status *infer_grow(const ort_op *o, ort_shape_context *c) {
  char how[20] = "";
  const char *name = "n";
  size_t n = 0, rank = 0;
  int64_t dim = 0;
  ort_shape_info *x = NULL, *y = NULL;
  (void)o;
  attr(c, "how", 5, how, sizeof how);
  if (!strcmp(how, "refuse")) return say(2, "it has no shape");
  drop(CALL(ShapeInferContext_GetInputCount, (ort_shape_context *, size_t *), c, &n));
  if (n != 1) return say(2, "one input");
  drop(CALL(ShapeInferContext_GetInputTypeShape, (ort_shape_context *, size_t, ort_shape_info **),
            c, 0, &x));
  drop(CALL(GetDimensionsCount, (const ort_shape_info *, size_t *), x, &rank));
  drop(CALL(GetDimensions, (const ort_shape_info *, int64_t *, size_t), x, &dim, 1));
  grow_times = times_of(c);
  dim *= strcmp(how, "lie") ? grow_times : 1;
  drop(CALL(CreateTensorTypeAndShapeInfo, (ort_shape_info **), &y));
  drop(CALL(SetTensorElementType, (ort_shape_info *, int), y, 1));
  drop(CALL(SetDimensions, (ort_shape_info *, const int64_t *, size_t), y, &dim, rank));
  if (!strcmp(how, "open"))
    drop(CALL(SetSymbolicDimensions, (ort_shape_info *, const char **, size_t), y, &name, 1));
  ort_status *wrong = CALL(ShapeInferContext_SetOutputTypeShape,
                           (ort_shape_context *, size_t, const ort_shape_info *), c,
                           strcmp(how, "index") ? 0 : 3, y);
  ((void (*)(ort_shape_info *))api[ORT_ReleaseTensorTypeAndShapeInfo])(y);
  return wrong;
}

static ort_status *run_grow(void *kernel, ort_context *c) {
  (void)kernel;
  const dims d = dims_of(input(c, 0));
  const float *x = data(input(c, 0));
  const int64_t n = (int64_t)d.n * grow_times;
  ort_value *v = NULL;
  ort_status *wrong =
      CALL(KernelContext_GetOutput, (ort_context *, size_t, const int64_t *, size_t, ort_value **),
           c, 0, &n, 1, &v);
  for (int64_t k = 0; k < n && !wrong; k++) ((float *)data(v))[k] = x[k % (int64_t)d.n];
  return wrong;
}

/* ---- Fail: in the way that its attribute says ---- */

static ort_status *make_fail(const ort_op *o, ort_table table, const ort_info *info, void **out) {
  char how[20] = "";
  size_t size = sizeof how;
  (void)o;
  api = table;
  *out = NULL;
  drop(CALL(KernelInfoGetAttribute_string, (const ort_info *, const char *, char *, size_t *), info,
            "how", how, &size));
  if (!strcmp(how, "make")) return say(2, "it does not want to be made");
  if (!strcmp(how, "missing")) return CALL(CreateEnv, (int, const char *, void **), 0, "", NULL);
  *out = strdup(how);
  return NULL;
}

static ort_status *write_input(const ort_context *c) {
  union {
    const ort_value *in;
    ort_value *out;
  } x = {input(c, 0)};
  return CALL(FillStringTensorElement, (ort_value *, const char *, size_t), x.out, "no", 0);
}

static ort_status *run_fail(void *kernel, ort_context *c) {
  const char *how = kernel;
  const int64_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, negative = -1;
  ort_value *v = NULL;
  if (!strcmp(how, "run")) return say(9, "it does not want to run");
  if (!strcmp(how, "unmade")) return NULL;
  if (!strcmp(how, "write")) return write_input(c);
  if (!strcmp(how, "negative") || !strcmp(how, "rank"))
    return CALL(KernelContext_GetOutput,
                (ort_context *, size_t, const int64_t *, size_t, ort_value **), c, 0,
                *how == 'n' ? &negative : shape, *how == 'n' ? 1 : 9, &v);
  if (!strcmp(how, "index"))
    return CALL(KernelContext_GetOutput,
                (ort_context *, size_t, const int64_t *, size_t, ort_value **), c, 7, shape, 1, &v);
  v = output(c, 0, shape, 1);
  return CALL(GetTensorMutableData, (ort_value *, void **), v, (void **)&how); /* of strings */
}

/* ---- registering ---- */

#define SIXTEENTH(V, MAKE, RUN) EIGHTH(V), .create_v2 = (MAKE), .compute_v2 = (RUN)

static op ops[] = {
    {{FIRST(1), .create = make_affine, .compute = run_affine},
     "Affine",
     NULL,
     {1},
     {1},
     {0},
     {0},
     1,
     1,
     0,
     0},
    {{FIRST(1), .create = make_affine, .compute = run_affine},
     "Affine",
     NULL,
     {7},
     {7},
     {0},
     {0},
     1,
     1,
     0,
     0},
    {{EIGHTH(8), .compute = run_maybe},
     "AddMaybe",
     NULL,
     {1, 1},
     {1, 7},
     {0, 1},
     {0, 1},
     2,
     2,
     0,
     0},
    {{EIGHTH(14), .compute = run_join, .min_inputs = two, .same_inputs = no, .same_outputs = yes},
     "Join",
     NULL,
     {0},
     {7},
     {2},
     {0},
     1,
     1,
     0,
     0},
    {{SIXTEENTH(16, make_v2, run_positive)},
     "Positive",
     "CPUExecutionProvider",
     {1},
     {1},
     {0},
     {0},
     1,
     1,
     0,
     0},
    {{SIXTEENTH(22, make_v2, run_copy), .since = since, .until = until},
     "Copy",
     NULL,
     {0},
     {0},
     {0},
     {0},
     1,
     1,
     1,
     INT32_MAX},
    {{SIXTEENTH(17, make_v2, run_grow), .infer = infer_grow},
     "Grow",
     NULL,
     {1},
     {0},
     {0},
     {0},
     1,
     1,
     0,
     0},
    {{SIXTEENTH(22, make_tell, run_tell)}, "Tell", NULL, {1}, {8}, {0}, {0}, 1, 1, 0, 0},
    {{SIXTEENTH(22, make_fail, run_fail)}, "Fail", NULL, {8}, {8}, {0}, {0}, 1, 1, 0, 0},
};
enum { N_OPS = sizeof ops / sizeof *ops };

static void spoil(const char *bad) {
  op *o = &ops[N_OPS - 1];
  if (!strcmp(bad, "version")) o->table.version = 99;
  if (!strcmp(bad, "zero")) o->table.version = 0;
  if (!strcmp(bad, "name")) o->name = "has a space";
  if (!strcmp(bad, "no_name")) o->table.name = NULL;
  if (!strcmp(bad, "destroy")) o->table.destroy = NULL;
  if (!strcmp(bad, "create")) o->table.create = NULL, o->table.create_v2 = NULL;
  if (!strcmp(bad, "compute")) o->table.version = 15; /* compute_v2 is of the next */
  if (!strcmp(bad, "provider")) o->provider = "CUDAExecutionProvider";
  if (!strcmp(bad, "type")) o->in[0] = 77;
  if (!strcmp(bad, "free")) o->out[0] = ORT_UNDEFINED;
  if (!strcmp(bad, "many")) o->n_in = 1000;
  if (!strcmp(bad, "twice")) o->name = "Join", o->n_out = 2, o->out[1] = 7;
}

__attribute__((visibility("default"))) ort_status *RegisterCustomOps(ort_options *options,
                                                                     const ort_api_base *base);
ort_status *RegisterCustomOps(ort_options *options, const ort_api_base *base) {
  const char *bad = getenv("BAD");
  ort_domain *domain = NULL;
  api = base->get_api(bad && !strcmp(bad, "new") ? 1000 : 1);
  if (!api) {
    api = base->get_api(16);
    return say(1, "no table is new enough");
  }
  if (bad && !strcmp(bad, "status")) return say(1, "it does not want to");
  if (bad) spoil(bad);
  ort_status *wrong = CALL(CreateCustomOpDomain, (const char *, ort_domain **),
                           bad && !strcmp(bad, "domain") ? "a b" : "com.acme", &domain);
  if (!wrong) wrong = CALL(AddCustomOpDomain, (ort_options *, ort_domain *), options, domain);
  for (size_t k = 0; k < N_OPS && !wrong; k++)
    wrong = CALL(CustomOpDomain_Add, (ort_domain *, const ort_op *), domain, &ops[k].table);
  return wrong;
}
