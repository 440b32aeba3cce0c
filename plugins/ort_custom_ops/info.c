/* What an operator is told of its node while its kernel is made: attributes, types, constants. */
#include <stdlib.h>
#include <string.h>

#include "ort.h"

/* ---- attributes ---- */

static const tn_attr *find(const ort_info *info, const char *name) {
  const tn_attrs *all = info->call->attrs;
  for (int64_t k = 0; name && k < all->size; k++)
    if (!strcmp(all->data[k]->name, name)) return all->data[k];
  return NULL;
}

/* NULL, and why in out_failed. */
static const tn_attr *get(const ort_info *info, const char *name, uint32_t kind,
                          ort_status **out_failed) {
  const tn_attr *a = find(info, name);
  *out_failed = NULL;
  if (a && a->kind == kind) return a;
  *out_failed = ort_fail(
      ORT_FAIL, a ? "attribute '%.200s' is of another kind" : "there is no attribute '%.200s'",
      name ? name : "");
  return NULL;
}

static ort_status *get_int(const ort_info *info, const char *name, int64_t *out) {
  ort_status *failed;
  const tn_attr *a = get(info, name, TN_ATTR_INT, &failed);
  if (a) *out = a->i;
  return failed;
}

static ort_status *get_float(const ort_info *info, const char *name, float *out) {
  ort_status *failed;
  const tn_attr *a = get(info, name, TN_ATTR_FLOAT, &failed);
  if (a) *out = (float)a->f;
  return failed;
}

static ort_status *get_text(const ort_info *info, const char *name, char *out, size_t *size) {
  ort_status *failed;
  const tn_attr *a = get(info, name, TN_ATTR_STR, &failed);
  return a ? ort_put_text(a->s.data, (size_t)a->s.size, out, size) : failed;
}

/* What the API asks of arrays: their size, and with room for it their elements. */
static ort_status *check_room(const void *out, size_t n, size_t *size) {
  const size_t room = *size;
  *size = n;
  if (!out || room >= n) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "room for %zu elements of an attribute that has %zu", room,
                  n);
}

static ort_status *get_ints(const ort_info *info, const char *name, int64_t *out, size_t *size) {
  ort_status *failed;
  const tn_attr *a = get(info, name, TN_ATTR_INTS, &failed);
  if (a) failed = check_room(out, (size_t)a->ints.size, size);
  if (failed || !out) return failed;
  for (int64_t k = 0; k < a->ints.size; k++) out[k] = a->ints.data[k];
  return NULL;
}

static ort_status *get_floats(const ort_info *info, const char *name, float *out, size_t *size) {
  ort_status *failed;
  const tn_attr *a = get(info, name, TN_ATTR_FLOATS, &failed);
  if (a) failed = check_room(out, (size_t)a->floats.size, size);
  if (failed || !out) return failed;
  for (int64_t k = 0; k < a->floats.size; k++) out[k] = (float)a->floats.data[k];
  return NULL;
}

static char *text_from(ort_allocator *a, tn_str s) {
  char *text = a->alloc(a, (size_t)s.size + 1);
  if (!text) return NULL;
  if (s.size) memcpy(text, s.data, (size_t)s.size);
  text[s.size] = 0;
  return text;
}

static void free_texts(ort_allocator *a, char **texts, size_t n) {
  for (size_t k = 0; k < n; k++) a->free(a, texts[k]);
  a->free(a, (void *)texts);
}

static ort_status *get_texts(const ort_info *info, const char *name, ort_allocator *a, char ***out,
                             size_t *size) {
  ort_status *failed;
  const tn_attr *attr = get(info, name, TN_ATTR_STRS, &failed);
  if (!attr) return failed;
  *out = NULL;
  *size = (size_t)attr->strs.size;
  if (!*size) return NULL;
  char **texts = a->alloc(a, *size * sizeof *texts);
  size_t n = 0;
  while (texts && n < *size && (texts[n] = text_from(a, attr->strs.data[n]))) n++;
  if (n == *size) *out = texts;
  if (n < *size && texts) free_texts(a, texts, n);
  return *out ? NULL : ort_fail(ORT_FAIL, "out of memory");
}

static ort_status *get_tensor(const ort_info *info, const char *name, ort_allocator *a,
                              ort_value **out) {
  (void)a;
  ort_status *failed;
  const tn_attr *attr = get(info, name, TN_ATTR_TENSOR, &failed);
  if (!attr) return failed;
  if (!ort_type(attr->tensors.data[0]->dtype))
    return ort_fail(ORT_NOT_IMPLEMENTED, "the element type of attribute '%.200s'", name);
  *out = ort_value_copy(attr->tensors.data[0]);
  return *out ? NULL : ort_fail(ORT_FAIL, "out of memory");
}

/* ---- inputs and outputs ---- */

static ort_status *count_inputs(const ort_info *info, size_t *out) {
  *out = info->call->n_inputs;
  return NULL;
}

static ort_status *count_outputs(const ort_info *info, size_t *out) {
  *out = info->call->n_outputs;
  return NULL;
}

static ort_status *type_of(const tn_tensor *t, ort_shape_info **out) {
  ort_shape_info *info = calloc(1, sizeof *info);
  if (!info) return ort_fail(ORT_FAIL, "out of memory");
  if (t) {
    info->type = ort_type(t->dtype);
    info->rank = t->rank;
    memcpy(info->shape, t->shape, sizeof info->shape);
  }
  *out = info;
  return NULL;
}

static ort_status *input_type(const ort_info *info, size_t index, ort_shape_info **out) {
  if (index >= info->call->n_inputs) return ort_fail(ORT_INVALID_ARGUMENT, "input %zu", index);
  return type_of(info->call->inputs[index], out);
}

static ort_status *output_type(const ort_info *info, size_t index, ort_shape_info **out) {
  if (index >= info->call->n_outputs) return ort_fail(ORT_INVALID_ARGUMENT, "output %zu", index);
  return type_of(info->call->outputs[index], out);
}

static ort_status *constant(const ort_info *info, size_t index, int *is_constant,
                            const ort_value **out) {
  ort_kernel *kernel = info->kernel;
  *is_constant = 0;
  *out = NULL;
  if (index >= info->call->n_inputs) return ort_fail(ORT_INVALID_ARGUMENT, "input %zu", index);
  const tn_tensor *t = info->call->inputs[index];
  if (!t || !t->data) return NULL;
  if (!kernel->constants[index]) kernel->constants[index] = ort_value_copy(t);
  *out = kernel->constants[index];
  *is_constant = *out != NULL;
  return *out ? NULL : ort_fail(ORT_FAIL, "out of memory");
}

/* ---- names ---- */

/* Tenon tells kernels no names of values and nodes. */
static ort_status *value_name(const ort_info *info, size_t index, char *out, size_t *size) {
  (void)info, (void)index;
  return ort_put_text("", 0, out, size);
}

static ort_status *node_name(const ort_info *info, char *out, size_t *size) {
  return value_name(info, 0, out, size);
}

static ort_status *op_domain(const ort_info *info, char *out, size_t *size) {
  return ort_put_text(info->entry->domain, strlen(info->entry->domain), out, size);
}

static ort_status *op_name(const ort_info *info, char *out, size_t *size) {
  return ort_put_text(info->entry->name, strlen(info->entry->name), out, size);
}

static ort_status *op_since(const ort_info *info, int *out) {
  *out = info->entry->since;
  return NULL;
}

/* ---- the log: what operators say is not kept ---- */

enum { ORT_FATAL = 4 };
struct ort_logger {
  int level;
};
static const ort_logger silent = {ORT_FATAL};

static ort_status *get_logger(const void *of, const ort_logger **out) {
  (void)of;
  *out = &silent;
  return NULL;
}

static ort_status *log_level(const ort_logger *logger, int *out) {
  *out = logger->level;
  return NULL;
}

static ort_status *log_nothing(const ort_logger *logger, int level, const char *text,
                               const char *file, int line, const char *function) {
  (void)logger, (void)level, (void)text, (void)file, (void)line, (void)function;
  return NULL;
}

static void attribute_functions(ort_function *table) {
  ORT_SET(table, KernelInfoGetAttribute_float, get_float);
  ORT_SET(table, KernelInfoGetAttribute_int64, get_int);
  ORT_SET(table, KernelInfoGetAttribute_string, get_text);
  ORT_SET(table, KernelInfoGetAttribute_tensor, get_tensor);
  ORT_SET(table, KernelInfoGetAttributeArray_float, get_floats);
  ORT_SET(table, KernelInfoGetAttributeArray_int64, get_ints);
  ORT_SET(table, KernelInfoGetAttributeArray_string, get_texts);
}

void ort_info_functions(ort_function *table) {
  attribute_functions(table);
  ORT_SET(table, KernelInfo_GetInputCount, count_inputs);
  ORT_SET(table, KernelInfo_GetOutputCount, count_outputs);
  ORT_SET(table, KernelInfo_GetInputName, value_name);
  ORT_SET(table, KernelInfo_GetOutputName, value_name);
  ORT_SET(table, KernelInfo_GetInputTypeInfo, input_type);
  ORT_SET(table, KernelInfo_GetOutputTypeInfo, output_type);
  ORT_SET(table, KernelInfoGetConstantInput_tensor, constant);
  ORT_SET(table, KernelInfo_GetNodeName, node_name);
  ORT_SET(table, KernelInfo_GetOperatorDomain, op_domain);
  ORT_SET(table, KernelInfo_GetOperatorType, op_name);
  ORT_SET(table, KernelInfo_GetOperatorSinceVersion, op_since);
  ORT_SET(table, KernelInfo_GetLogger, get_logger);
  ORT_SET(table, KernelContext_GetLogger, get_logger);
  ORT_SET(table, Logger_GetLoggingSeverityLevel, log_level);
  ORT_SET(table, Logger_LogMessage, log_nothing);
}
