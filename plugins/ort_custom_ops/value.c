/* Values: inputs, outputs and constants of operators, and tensors that operators make. */
#include <stdlib.h>
#include <string.h>

#include "ort.h"

/* ---- elements ---- */

static bool is_strings(const ort_value *v) { return v->tensor.dtype == TN_STRING; }

static size_t element_bytes(uint32_t dtype) {
  switch (dtype) {
    case TN_STRING:
    case TN_C128: return 16;
    case TN_F64:
    case TN_I64:
    case TN_U64:
    case TN_C64: return 8;
    case TN_F32:
    case TN_I32:
    case TN_U32: return 4;
    case TN_F16:
    case TN_BF16:
    case TN_I16:
    case TN_U16: return 2;
    default: return 1;
  }
}

/* False: too many. */
static bool count(const tn_tensor *t, size_t *out_n, size_t *out_bytes) {
  *out_n = 1;
  for (int32_t d = 0; d < t->rank; d++)
    if (t->shape[d] < 0 || __builtin_mul_overflow(*out_n, (size_t)t->shape[d], out_n)) return false;
  return !__builtin_mul_overflow(*out_n, element_bytes(t->dtype), out_bytes);
}

static size_t n_elements(const ort_value *v) {
  size_t n = 0, bytes;
  return count(&v->tensor, &n, &bytes) ? n : 0;
}

/* The host may move the elements of an output that it makes anew. */
static void *data_of(const ort_value *v) {
  return v->call ? v->call->outputs[v->output]->data : v->tensor.data;
}
static const tn_str *strings_of(const ort_value *v) { return data_of(v); }

static bool set_own(tn_str *s, const char *data, size_t size) {
  char *copy = malloc(size + 1);
  if (!copy) return false;
  if (size) memcpy(copy, data, size);
  union {
    const char *in;
    char *out;
  } old = {s->data};
  free(old.out);
  *s = (tn_str){copy, (int64_t)size};
  return true;
}

/* ---- values of our own ---- */

static void free_elements(ort_value *v) {
  tn_str *strings = v->tensor.data;
  for (size_t k = 0, n = is_strings(v) && strings ? n_elements(v) : 0; k < n; k++) {
    union {
      const char *in;
      char *out;
    } text = {strings[k].data};
    free(text.out);
  }
  free(v->tensor.data);
}

void ort_value_free(ort_value *v) {
  if (!v) return;
  if (v->is_owned) free_elements(v);
  free(v);
}

static ort_value *create(uint32_t dtype, int32_t rank, const int64_t *shape) {
  ort_value *v = calloc(1, sizeof *v);
  size_t n, bytes;
  if (!v) return NULL;
  v->tensor = tn_tensor_make(dtype, rank, shape, NULL);
  v->is_owned = v->is_changed = true;
  if (count(&v->tensor, &n, &bytes)) v->tensor.data = calloc(bytes ? bytes : 1, 1);
  if (v->tensor.data) return v;
  free(v);
  return NULL;
}

ort_value *ort_value_copy(const tn_tensor *t) {
  ort_value *v = create(t->dtype, t->rank, t->shape);
  size_t n, bytes;
  if (!v || !t->data || !count(t, &n, &bytes)) return v;
  v->is_changed = false;
  if (!is_strings(v)) {
    memcpy(v->tensor.data, t->data, bytes);
    return v;
  }
  const tn_str *from = t->data;
  for (size_t k = 0; k < n; k++)
    if (!set_own((tn_str *)v->tensor.data + k, from[k].data, (size_t)from[k].size)) {
      ort_value_free(v);
      return NULL;
    }
  return v;
}

/* ---- what operators ask of values ---- */

static ort_status *is_tensor(const ort_value *v, int *out) {
  *out = v != NULL;
  return NULL;
}

static ort_status *kind_of(const ort_value *v, int *out) {
  *out = v ? ORT_TYPE_TENSOR : 0;
  return NULL;
}

static ort_status *get_data(const ort_value *v, void **out) {
  if (is_strings(v))
    return ort_fail(ORT_NOT_IMPLEMENTED,
                    "the elements of a tensor of strings are no std::string here; read and write "
                    "them by the functions for strings");
  *out = data_of(v);
  return NULL;
}

static ort_status *get_bytes(const ort_value *v, size_t *out) {
  size_t n;
  if (is_strings(v)) return ort_fail(ORT_INVALID_ARGUMENT, "strings have no size in bytes");
  return count(&v->tensor, &n, out) ? NULL : ort_fail(ORT_FAIL, "the size is not known");
}

static ort_status *create_tensor(ort_allocator *a, const int64_t *shape, size_t rank, int type,
                                 ort_value **out) {
  (void)a;
  const uint32_t dtype = ort_dtype(type);
  if (!dtype) return ort_fail(ORT_NOT_IMPLEMENTED, "tensors of element type %d", type);
  if (rank > TN_MAX_RANK) return ort_fail(ORT_NOT_IMPLEMENTED, "%zu dims; the limit is 8", rank);
  *out = create(dtype, (int32_t)rank, shape);
  return *out ? NULL : ort_fail(ORT_FAIL, "out of memory");
}

static ort_status *tensor_over(const ort_memory *memory, void *data, size_t size,
                               const int64_t *shape, size_t rank, int type, ort_value **out) {
  (void)memory;
  const uint32_t dtype = ort_dtype(type);
  size_t n, bytes;
  if (!dtype || dtype == TN_STRING)
    return ort_fail(ORT_NOT_IMPLEMENTED, "tensors of element type %d over memory", type);
  if (rank > TN_MAX_RANK) return ort_fail(ORT_NOT_IMPLEMENTED, "%zu dims; the limit is 8", rank);
  const tn_tensor t = tn_tensor_make(dtype, (int32_t)rank, shape, data);
  if (!count(&t, &n, &bytes) || bytes > size)
    return ort_fail(ORT_INVALID_ARGUMENT, "%zu bytes are too few for the shape", size);
  if (!(*out = calloc(1, sizeof **out))) return ort_fail(ORT_FAIL, "out of memory");
  (*out)->tensor = t;
  (*out)->is_changed = true;
  return NULL;
}

/* ---- strings ---- */

static ort_status *check_strings(const ort_value *v) {
  return is_strings(v) ? NULL : ort_fail(ORT_INVALID_ARGUMENT, "the tensor holds no strings");
}

static ort_status *check_string(const ort_value *v, size_t index) {
  if (is_strings(v) && index >= n_elements(v))
    return ort_fail(ORT_INVALID_ARGUMENT, "string %zu of %zu", index, n_elements(v));
  return check_strings(v);
}

static ort_status *set_string(ort_value *v, size_t index, const char *data, size_t size) {
  ort_status *failed = check_string(v, index);
  if (failed) return failed;
  if (!v->is_changed) return ort_fail(ORT_INVALID_ARGUMENT, "an input is written");
  const bool ok = v->call ? !v->call->host->string_set(v->call->ctx, v->output, (int64_t)index,
                                                       data, (int64_t)size)
                          : set_own((tn_str *)v->tensor.data + index, data, size);
  return ok ? NULL : ort_fail(ORT_FAIL, "string %zu of %zu bytes cannot be set", index, size);
}

static ort_status *fill_one(ort_value *v, const char *text, size_t index) {
  return set_string(v, index, text, strlen(text));
}

static ort_status *fill(ort_value *v, const char *const *texts, size_t n) {
  ort_status *failed = check_strings(v);
  if (!failed && n != n_elements(v))
    failed = ort_fail(ORT_INVALID_ARGUMENT, "%zu strings for %zu elements", n, n_elements(v));
  for (size_t k = 0; k < n && !failed; k++) failed = fill_one(v, texts[k], k);
  return failed;
}

/* The operator writes the bytes of a string itself: those of an output become the host's when it
 * has run. */
struct ort_pending {
  ort_pending *next;
  size_t index, size;
  char data[];
};

static ort_status *pend(ort_value *v, size_t index, size_t size, char **out) {
  ort_pending *p = calloc(1, sizeof *p + size + 1);
  if (!p) return ort_fail(ORT_FAIL, "out of memory");
  p->next = v->pending;
  p->index = index;
  p->size = size;
  v->pending = p;
  *out = p->data;
  return NULL;
}

static ort_status *string_buffer(ort_value *v, size_t index, size_t size, char **out) {
  ort_status *failed = check_string(v, index);
  if (failed || v->call) return failed ? failed : pend(v, index, size, out);
  char *zeros = calloc(size + 1, 1);
  failed = zeros ? set_string(v, index, zeros, size) : ort_fail(ORT_FAIL, "out of memory");
  free(zeros);
  union {
    const char *in;
    char *out;
  } text = {failed ? NULL : strings_of(v)[index].data};
  *out = text.out;
  return failed;
}

/* The first asked for is the last of the list: of two for one element the later one counts. */
static ort_pending *turned(ort_pending *list) {
  ort_pending *first = NULL;
  for (ort_pending *next; list; list = next) {
    next = list->next;
    list->next = first;
    first = list;
  }
  return first;
}

ort_status *ort_value_settle(ort_value *v) {
  ort_status *failed = NULL;
  v->pending = turned(v->pending);
  while (v->pending) {
    ort_pending *p = v->pending;
    v->pending = p->next;
    if (!failed) failed = set_string(v, p->index, p->data, p->size);
    free(p);
  }
  return failed;
}

static ort_status *all_bytes(const ort_value *v, size_t *out) {
  *out = 0;
  for (size_t k = 0, n = is_strings(v) ? n_elements(v) : 0; k < n; k++)
    *out += (size_t)strings_of(v)[k].size;
  return check_strings(v);
}

static ort_status *all_content(const ort_value *v, void *out, size_t size, size_t *offsets,
                               size_t n) {
  size_t bytes, at = 0;
  ort_status *failed = all_bytes(v, &bytes);
  if (!failed && (bytes > size || n < n_elements(v)))
    failed = ort_fail(ORT_INVALID_ARGUMENT, "%zu strings of %zu bytes do not fit into %zu and %zu",
                      n_elements(v), bytes, n, size);
  for (size_t k = 0; !failed && k < n_elements(v); k++) {
    const tn_str s = strings_of(v)[k];
    offsets[k] = at;
    if (s.size) memcpy((char *)out + at, s.data, (size_t)s.size);
    at += (size_t)s.size;
  }
  return failed;
}

static ort_status *string_bytes(const ort_value *v, size_t index, size_t *out) {
  ort_status *failed = check_string(v, index);
  if (!failed) *out = (size_t)strings_of(v)[index].size;
  return failed;
}

static ort_status *string_content(const ort_value *v, size_t size, size_t index, void *out) {
  ort_status *failed = check_string(v, index);
  if (failed) return failed;
  const tn_str s = strings_of(v)[index];
  if ((size_t)s.size > size)
    return ort_fail(ORT_INVALID_ARGUMENT, "%zu bytes are no room for a string of %lld", size,
                    (long long)s.size);
  if (s.size) memcpy(out, s.data, (size_t)s.size);
  return NULL;
}

void ort_value_functions(ort_function *table) {
  ORT_SET(table, IsTensor, is_tensor);
  ORT_SET(table, HasValue, is_tensor);
  ORT_SET(table, GetValueType, kind_of);
  ORT_SET(table, GetTensorMutableData, get_data);
  ORT_SET(table, GetTensorData, get_data);
  ORT_SET(table, GetTensorSizeInBytes, get_bytes);
  ORT_SET(table, CreateTensorAsOrtValue, create_tensor);
  ORT_SET(table, CreateTensorWithDataAsOrtValue, tensor_over);
  ORT_SET(table, ReleaseValue, ort_value_free);
  ORT_SET(table, FillStringTensor, fill);
  ORT_SET(table, FillStringTensorElement, fill_one);
  ORT_SET(table, GetResizedStringTensorElementBuffer, string_buffer);
  ORT_SET(table, GetStringTensorDataLength, all_bytes);
  ORT_SET(table, GetStringTensorContent, all_content);
  ORT_SET(table, GetStringTensorElementLength, string_bytes);
  ORT_SET(table, GetStringTensorElement, string_content);
}
