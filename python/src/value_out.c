/* From values of Tenon to Python objects: arrays, lists (sequences), dicts (maps), None (an
 * optional without a value), arrays of str. */
#include "binding.h"

#include <string.h>

bool tp_is_bindable(const tn_tensor *type) {
  if (type->kind != TN_KIND_TENSOR || type->rank < 0 || type->dtype == TN_STRING) return false;
  for (int32_t k = 0; k < type->rank; k++)
    if (type->shape[k] < 0) return false;
  return !tp_is_packed(type->dtype) && tp_has_numpy(type->dtype);
}

PyObject *tp_array_new(const tn_tensor *type) {
  const int number = tp_numpy_of(type->dtype);
  npy_intp dims[TN_MAX_RANK];
  for (int32_t k = 0; k < type->rank; k++) dims[k] = (npy_intp)type->shape[k];
  return number < 0 ? NULL : PyArray_SimpleNew(type->rank, dims, number);
}

static int fill_strings(PyArrayObject *array, const tn_str *strings) {
  const int64_t n = PyArray_SIZE(array);
  PyObject **items = PyArray_DATA(array); /* NULL each, or None */
  for (int64_t k = 0; k < n; k++) {
    const tn_str s = strings[k];
    PyObject *text =
        PyUnicode_DecodeUTF8(s.data ? s.data : "", (Py_ssize_t)s.size, "surrogateescape");
    if (!text) return -1;
    Py_XDECREF(items[k]);
    items[k] = text;
  }
  return 0;
}

static int fill(PyArrayObject *array, const tn_tensor *value) {
  if (value->dtype == TN_STRING) return fill_strings(array, value->data);
  const int64_t n = PyArray_SIZE(array), bytes = PyArray_NBYTES(array);
  if (tp_is_packed(value->dtype))
    tp_unpack(value->dtype, value->data, n, PyArray_DATA(array));
  else if (bytes)
    memcpy(PyArray_DATA(array), value->data, (size_t)bytes);
  return 0;
}

static PyObject *tensor(const tn_tensor *value) {
  PyObject *array = tp_array_new(value);
  if (array && PyArray_SIZE((PyArrayObject *)array) && fill((PyArrayObject *)array, value))
    Py_CLEAR(array);
  return array;
}

static PyObject *sequence(const tn_tensor *value) {
  const int64_t n = tn_list_size(value);
  PyObject *list = PyList_New(0);
  for (int64_t k = 0; list && k < n; k++) {
    PyObject *item = tp_value(tn_list_item(value, k));
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/* Keys, and values that are arrays of numbers, become Python's own. */
static PyObject *as_list(const tn_tensor *value) {
  PyObject *object = tp_value(value);
  if (!object || !PyArray_Check(object)) return object;
  PyObject *list = PyArray_ToList((PyArrayObject *)object);
  Py_DECREF(object);
  return list;
}

static PyObject *map(const tn_tensor *value) {
  const tn_tensor *keys = tn_list_item(value, 0), *values = tn_list_item(value, 1);
  PyObject *dict = PyDict_New(), *k = keys ? as_list(keys) : PyList_New(0),
           *v = values ? as_list(values) : PyList_New(0);
  const bool lists = dict && k && v && PyList_Check(k) && PyList_Check(v);
  const Py_ssize_t n = lists ? PyList_Size(k) : 0;
  if (lists && PyList_Size(v) == n) {
    for (Py_ssize_t i = 0; dict && i < n; i++)
      if (PyDict_SetItem(dict, PyList_GetItem(k, i), PyList_GetItem(v, i))) Py_CLEAR(dict);
  } else {
    if (lists) PyErr_SetString(PyExc_ValueError, "a map has not as many values as keys");
    Py_CLEAR(dict);
  }
  Py_XDECREF(k);
  Py_XDECREF(v);
  return dict;
}

PyObject *tp_value(const tn_tensor *value) {
  if (!value) Py_RETURN_NONE;
  switch (value->kind) {
    case TN_KIND_TENSOR: return tensor(value);
    case TN_KIND_SEQUENCE: return sequence(value);
    case TN_KIND_MAP: return map(value);
    default: return tp_value(tn_list_item(value, 0)); /* an optional */
  }
}

static const char *kind_name(uint32_t kind) {
  static const char *const kinds[] = {"tensor", "sequence", "optional", "map"};
  return kind < sizeof kinds / sizeof *kinds ? kinds[kind] : "?";
}

static const char *dtype_or_null(uint32_t dtype) {
  return dtype == TN_NONE ? NULL : tn_dtype_name(dtype);
}

PyObject *tp_kinds(const tn_tensor *type) {
  uint32_t key = type->elements >> 24, rest = type->elements & 0xffffff;
  PyObject *list = PyList_New(0);
  for (uint32_t kind = type->kind; list && kind != TN_KIND_TENSOR; kind = rest & 15, rest >>= 4) {
    const bool is_map = kind == TN_KIND_MAP;
    PyObject *item = Py_BuildValue("sz", kind_name(kind), is_map ? dtype_or_null(key) : NULL);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
    if (is_map) key = TN_NONE; /* of a map within this one it is not known */
  }
  return list;
}

PyObject *tp_describe(const tn_tensor *type) {
  const char *kind = kind_name(type->kind), *dtype = dtype_or_null(type->dtype);
  if (type->kind != TN_KIND_TENSOR || type->rank < 0)
    return Py_BuildValue("szO", kind, dtype, Py_None);
  PyObject *dims = PyTuple_New(type->rank);
  for (int32_t k = 0; dims && k < type->rank; k++) {
    PyObject *dim = type->shape[k] < 0 ? Py_BuildValue("") : PyLong_FromLongLong(type->shape[k]);
    if (!dim || PyTuple_SetItem(dims, k, dim)) Py_CLEAR(dims);
  }
  return dims ? Py_BuildValue("szN", kind, dtype, dims) : NULL;
}
