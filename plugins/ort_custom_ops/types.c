/* Element types, shapes of tensors, and memory that operators ask for. */
#include <stdlib.h>
#include <string.h>

#include "ort.h"

/* ---- element types ---- */

/* Those of eight bits and more. */
static const uint8_t types[TN_DTYPE_COUNT] = {
    [TN_F32] = 1,       [TN_U8] = 2,          [TN_I8] = 3,      [TN_U16] = 4,
    [TN_I16] = 5,       [TN_I32] = 6,         [TN_I64] = 7,     [TN_STRING] = ORT_STRING,
    [TN_BOOL] = 9,      [TN_F16] = 10,        [TN_F64] = 11,    [TN_U32] = 12,
    [TN_U64] = 13,      [TN_C64] = 14,        [TN_C128] = 15,   [TN_BF16] = 16,
    [TN_F8E4M3FN] = 17, [TN_F8E4M3FNUZ] = 18, [TN_F8E5M2] = 19, [TN_F8E5M2FNUZ] = 20};

int ort_type(uint32_t dtype) { return dtype < TN_DTYPE_COUNT ? types[dtype] : ORT_UNDEFINED; }

uint32_t ort_dtype(int type) {
  for (uint32_t d = TN_NONE + 1; d < TN_DTYPE_COUNT; d++)
    if (types[d] && types[d] == type) return d;
  return TN_NONE;
}

uint64_t ort_dtypes(void) {
  uint64_t mask = 0;
  for (uint32_t d = TN_NONE + 1; d < TN_DTYPE_COUNT; d++)
    if (types[d]) mask |= TN_MASK(d);
  return mask;
}

/* ---- types with shapes ---- */

static ort_status *create_info(ort_shape_info **out) {
  *out = calloc(1, sizeof **out);
  return *out ? NULL : ort_fail(ORT_FAIL, "out of memory");
}

static ort_status *info_of(const ort_value *value, ort_shape_info **out) {
  ort_status *failed = create_info(out);
  if (failed) return failed;
  (*out)->type = ort_type(value->tensor.dtype);
  (*out)->rank = value->tensor.rank;
  memcpy((*out)->shape, value->tensor.shape, sizeof(*out)->shape);
  return NULL;
}

static ort_status *set_type(ort_shape_info *info, int type) {
  info->type = type;
  return NULL;
}

static ort_status *set_dims(ort_shape_info *info, const int64_t *dims, size_t n) {
  if (n > TN_MAX_RANK) return ort_fail(ORT_NOT_IMPLEMENTED, "%zu dims; the limit is 8", n);
  info->rank = (int32_t)n;
  if (n) memcpy(info->shape, dims, n * sizeof *dims);
  return NULL;
}

static ort_status *get_type(const ort_shape_info *info, int *out) {
  *out = info->type;
  return NULL;
}

static size_t rank_of(const ort_shape_info *info) {
  return info->rank > 0 ? (size_t)info->rank : 0;
}

static ort_status *count_dims(const ort_shape_info *info, size_t *out) {
  *out = rank_of(info);
  return NULL;
}

static ort_status *get_dims(const ort_shape_info *info, int64_t *out, size_t n) {
  const size_t rank = rank_of(info);
  memcpy(out, info->shape, (n < rank ? n : rank) * sizeof *out);
  return NULL;
}

/* No dim has a name here. */
static ort_status *get_dim_names(const ort_shape_info *info, const char **out, size_t n) {
  (void)info;
  for (size_t k = 0; k < n; k++) out[k] = "";
  return NULL;
}

static ort_status *count_elements(const ort_shape_info *info, size_t *out) {
  size_t n = 1;
  for (int32_t d = 0; d < info->rank; d++)
    if (info->shape[d] < 0 || __builtin_mul_overflow(n, (size_t)info->shape[d], &n))
      return ort_fail(ORT_FAIL, "the number of elements is not known");
  *out = n;
  return NULL;
}

static ort_status *has_shape(const ort_shape_info *info, int *out) {
  *out = info->rank >= 0;
  return NULL;
}

static ort_status *tensor_info(const ort_shape_info *info, const ort_shape_info **out) {
  *out = info;
  return NULL;
}

static ort_status *kind_of(const ort_shape_info *info, int *out) {
  (void)info;
  *out = ORT_TYPE_TENSOR;
  return NULL;
}

/* ---- memory ---- */

struct ort_memory {
  const char *name;
};
static ort_memory of_process = {"Cpu"};

static void *take(ort_allocator *a, size_t bytes) {
  (void)a;
  return malloc(bytes ? bytes : 1);
}
static void give_back(ort_allocator *a, void *memory) {
  (void)a;
  free(memory);
}
static const ort_memory *about(const ort_allocator *a) {
  (void)a;
  return &of_process;
}

/* Its version: the three functions of the first one, and reserve. */
ort_allocator ort_memory_of_process = {16, take, give_back, about, take, {NULL, NULL, NULL}};

static ort_status *allocate(ort_allocator *a, size_t bytes, void **out) {
  *out = a->alloc(a, bytes);
  return *out ? NULL : ort_fail(ORT_FAIL, "out of memory: %zu bytes", bytes);
}

static ort_status *deallocate(ort_allocator *a, void *memory) {
  a->free(a, memory);
  return NULL;
}

static ort_status *default_allocator(ort_allocator **out) {
  *out = &ort_memory_of_process;
  return NULL;
}

static ort_status *allocator_of(const void *of, const void *memory, ort_allocator **out) {
  (void)of, (void)memory;
  return default_allocator(out);
}

static ort_status *kernel_allocator(const ort_info *info, int memory, ort_allocator **out) {
  (void)info, (void)memory;
  return default_allocator(out);
}

static ort_status *allocator_memory(const ort_allocator *a, const ort_memory **out) {
  *out = a->info(a);
  return NULL;
}

static ort_status *cpu_memory(int allocator, int memory, ort_memory **out) {
  (void)allocator, (void)memory;
  *out = &of_process;
  return NULL;
}

static ort_status *named_memory(const char *name, int allocator, int id, int memory,
                                ort_memory **out) {
  (void)id;
  if (strcmp(name, of_process.name))
    return ort_fail(ORT_NOT_IMPLEMENTED, "memory '%.80s'; there is that of the CPU", name);
  return cpu_memory(allocator, memory, out);
}

static ort_status *memory_name(const ort_memory *memory, const char **out) {
  *out = memory->name;
  return NULL;
}
static ort_status *memory_number(const ort_memory *memory, int *out) {
  (void)memory;
  *out = 0;
  return NULL;
}
static ort_status *tensor_memory(const ort_value *value, const ort_memory **out) {
  (void)value;
  *out = &of_process;
  return NULL;
}

static void nothing(void *object) { (void)object; }

static void shape_functions(ort_function *table) {
  ORT_SET(table, CreateTensorTypeAndShapeInfo, create_info);
  ORT_SET(table, GetTensorTypeAndShape, info_of);
  ORT_SET(table, SetTensorElementType, set_type);
  ORT_SET(table, SetDimensions, set_dims);
  ORT_SET(table, GetTensorElementType, get_type);
  ORT_SET(table, GetDimensionsCount, count_dims);
  ORT_SET(table, GetDimensions, get_dims);
  ORT_SET(table, GetSymbolicDimensions, get_dim_names);
  ORT_SET(table, GetTensorShapeElementCount, count_elements);
  ORT_SET(table, TensorTypeAndShape_HasShape, has_shape);
  ORT_SET(table, CastTypeInfoToTensorInfo, tensor_info);
  ORT_SET(table, GetOnnxTypeFromTypeInfo, kind_of);
  ORT_SET(table, ReleaseTensorTypeAndShapeInfo, free);
  ORT_SET(table, ReleaseTypeInfo, free);
}

void ort_type_functions(ort_function *table) {
  shape_functions(table);
  ORT_SET(table, AllocatorAlloc, allocate);
  ORT_SET(table, AllocatorFree, deallocate);
  ORT_SET(table, AllocatorGetInfo, allocator_memory);
  ORT_SET(table, GetAllocatorWithDefaultOptions, default_allocator);
  ORT_SET(table, KernelInfoGetAllocator, kernel_allocator);
  ORT_SET(table, KernelContext_GetAllocator, allocator_of);
  ORT_SET(table, ReleaseAllocator, nothing);
  ORT_SET(table, CreateCpuMemoryInfo, cpu_memory);
  ORT_SET(table, CreateMemoryInfo, named_memory);
  ORT_SET(table, ReleaseMemoryInfo, nothing);
  ORT_SET(table, MemoryInfoGetName, memory_name);
  ORT_SET(table, MemoryInfoGetId, memory_number);
  ORT_SET(table, MemoryInfoGetMemType, memory_number);
  ORT_SET(table, MemoryInfoGetType, memory_number);
  ORT_SET(table, GetTensorMemoryInfo, tensor_memory);
}
