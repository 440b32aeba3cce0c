/* Arrays on the memory of other frameworks' tensors, by the DLPack protocol.
 *
 * NumPy's own from_dlpack knows neither bf16 nor the narrow types, so the structs of the published
 * interface (versions 0 and 1) are read here. They are declared as far as they are used. */
#include "binding.h"

#include <string.h>

typedef struct dl_tensor {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides; /* strides in elements; NULL: C order */
  uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
  dl_tensor tensor;
  void *context;
  void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct dl_versioned *self);
  uint64_t flags;
  dl_tensor tensor;
} dl_versioned;

enum { DL_CPU = 1, DL_CUDA_HOST = 3, DL_READ_ONLY = 1 };

static const char name_0[] = "dltensor", used_0[] = "used_dltensor";
static const char name_1[] = "dltensor_versioned", used_1[] = "used_dltensor_versioned";

static uint32_t dtype_of(const dl_tensor *t) {
  static const struct {
    uint8_t code, bits;
    uint32_t dtype;
  } types[] = {
      {0, 8, TN_I8},          {0, 16, TN_I16},    {0, 32, TN_I32},        {0, 64, TN_I64},
      {1, 8, TN_U8},          {1, 16, TN_U16},    {1, 32, TN_U32},        {1, 64, TN_U64},
      {2, 16, TN_F16},        {2, 32, TN_F32},    {2, 64, TN_F64},        {4, 16, TN_BF16},
      {5, 64, TN_C64},        {5, 128, TN_C128},  {6, 8, TN_BOOL},        {10, 8, TN_F8E4M3FN},
      {11, 8, TN_F8E4M3FNUZ}, {12, 8, TN_F8E5M2}, {13, 8, TN_F8E5M2FNUZ}, {14, 8, TN_F8E8M0}};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    if (t->lanes == 1 && t->code == types[k].code && t->bits == types[k].bits)
      return types[k].dtype;
  return TN_NONE;
}

/* ---- owning ---- */

/* The array's base: hands the tensor back when the array goes. */
static void release(PyObject *capsule) {
  const char *name = PyCapsule_GetName(capsule);
  if (name == used_1) {
    dl_versioned *m = PyCapsule_GetPointer(capsule, used_1);
    if (m && m->deleter) m->deleter(m);
  } else if (name == used_0) {
    dl_managed *m = PyCapsule_GetPointer(capsule, used_0);
    if (m && m->deleter) m->deleter(m);
  }
}

/* ---- the array ---- */

/* Strides in bytes; false: not all elements can have an address. */
static bool find_strides(const dl_tensor *t, npy_intp *strides) {
  const npy_intp size = t->bits / 8;
  npy_intp low = 0, high = size, span = 0;
  for (int32_t k = 0; t->strides && k < t->ndim; k++) {
    if (__builtin_mul_overflow((npy_intp)t->strides[k], size, &strides[k])) return false;
    if (t->shape[k] > 1 && __builtin_mul_overflow(strides[k], (npy_intp)t->shape[k] - 1, &span))
      return false;
    npy_intp *end = span < 0 ? &low : &high;
    if (t->shape[k] > 1 && __builtin_add_overflow(*end, span, end)) return false;
  }
  if (t->byte_offset > PTRDIFF_MAX) return false;
  uintptr_t at = (uintptr_t)t->data, past;
  return !__builtin_add_overflow(at, (uintptr_t)t->byte_offset, &at) &&
         at >= (uintptr_t)0 - (uintptr_t)low && !__builtin_add_overflow(at, (uintptr_t)high, &past);
}

static PyObject *view(const dl_tensor *t, bool read_only) {
  const uint32_t dtype = dtype_of(t);
  if (dtype == TN_NONE)
    return PyErr_Format(PyExc_TypeError,
                        "a DLPack tensor has elements of code %d, %d bits, %d lanes, for which "
                        "Tenon has no type",
                        t->code, t->bits, t->lanes);
  if (t->ndim < 0 || t->ndim > TN_MAX_RANK)
    return PyErr_Format(PyExc_ValueError, "a DLPack tensor has %d dims, Tenon's have at most %d",
                        (int)t->ndim, (int)TN_MAX_RANK);
  if (t->device_type != DL_CPU && t->device_type != DL_CUDA_HOST)
    return PyErr_Format(PyExc_ValueError,
                        "a DLPack tensor lies on a device of type %d: copy it to the CPU first",
                        (int)t->device_type);
  const int number = tp_numpy_of(dtype);
  if (number < 0) return NULL;
  npy_intp dims[TN_MAX_RANK], strides[TN_MAX_RANK];
  bool empty = false;
  if (t->ndim && !t->shape)
    return PyErr_Format(PyExc_ValueError, "a DLPack tensor of %d dims has no shape", (int)t->ndim);
  for (int32_t k = 0; k < t->ndim; k++) {
    dims[k] = (npy_intp)t->shape[k];
    empty = empty || dims[k] == 0;
  }
  if (t->data && !empty && !find_strides(t, strides))
    return PyErr_Format(PyExc_ValueError,
                        "a DLPack tensor has strides or an offset beyond all addresses");
  void *data = t->data ? (char *)t->data + t->byte_offset : NULL;
  if (!data || empty) /* nothing to look at */
    return data || empty ? PyArray_SimpleNew(t->ndim, dims, number)
                         : PyErr_Format(PyExc_ValueError, "a DLPack tensor has no data");
  return PyArray_New(&PyArray_Type, t->ndim, dims, number, t->strides ? strides : NULL, data, 0,
                     read_only ? 0 : NPY_ARRAY_WRITEABLE, NULL);
}

/* Takes over what the capsule holds; the capsule itself is borrowed. */
static PyObject *consume(PyObject *capsule) {
  const bool versioned = PyCapsule_IsValid(capsule, name_1);
  if (!versioned && !PyCapsule_IsValid(capsule, name_0))
    return PyErr_Format(PyExc_TypeError, "__dlpack__ answered %R, no DLPack capsule",
                        (PyObject *)Py_TYPE(capsule));
  void *managed = PyCapsule_GetPointer(capsule, versioned ? name_1 : name_0);
  const dl_versioned *v = managed;
  if (versioned && v->major > 1)
    return PyErr_Format(PyExc_ValueError, "DLPack version %d is not known, only 1 and before",
                        (int)v->major);
  const dl_tensor *t = versioned ? &v->tensor : &((dl_managed *)managed)->tensor;
  PyObject *array = view(t, versioned && v->flags & DL_READ_ONLY);
  if (!array || PyArray_CHKFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA)) return array;
  PyArray_UpdateFlags((PyArrayObject *)array,
                      NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED);
  PyObject *owner = PyCapsule_New(managed, versioned ? used_1 : used_0, release);
  if (!owner || PyCapsule_SetName(capsule, versioned ? used_1 : used_0)) {
    if (owner) PyCapsule_SetDestructor(owner, NULL);
    Py_XDECREF(owner);
    Py_DECREF(array);
    return NULL;
  }
  if (PyArray_SetBaseObject((PyArrayObject *)array, owner)) Py_CLEAR(array);
  return array;
}

/* Those who know version 1 take max_version; others say that there is no such argument. */
static PyObject *ask(PyObject *object) {
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
  PyObject *none = PyTuple_New(0), *version = Py_BuildValue("{s(ii)}", "max_version", 1, 0);
  PyObject *capsule = NULL;
  if (method && none && version) capsule = PyObject_Call(method, none, version);
  if (!capsule && method && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = PyObject_Call(method, none, NULL);
  }
  Py_XDECREF(method);
  Py_XDECREF(none);
  Py_XDECREF(version);
  return capsule;
}

PyObject *tp_from_dlpack(PyObject *object) {
  PyObject *capsule = ask(object);
  PyObject *array = capsule ? consume(capsule) : NULL;
  Py_XDECREF(capsule);
  return array;
}
