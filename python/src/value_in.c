/* From Python objects to values of Tenon.
 *
 * Arrays that lie in memory as Tenon has them (C order, aligned, this machine's byte order) are
 * used where they are. What has __dlpack__, a buffer or __array__ becomes such an array first,
 * without a copy if that can be. Numbers and lists of numbers get the dtype that the model
 * declares. */
#include "binding.h"

#include <string.h>

static int take(tp_input *in, tn_runtime *runtime, const tn_tensor *declared, PyObject *object,
                const tp_label *label, int depth);

/* ---- whose array it is ---- */

/* The kind that an exception has in common with what NumPy raises; NULL: it is of another kind. */
static PyObject *kind_of(PyObject *error) {
  PyObject *const kinds[] = {PyExc_OverflowError, PyExc_ValueError, PyExc_TypeError,
                             PyExc_MemoryError};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (PyErr_GivenExceptionMatches(error, kinds[k])) return kinds[k];
  return NULL;
}

/* What NumPy, or the object itself, says of it does not name the input. */
static void name_error(const tp_label *label) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject *kind = type ? kind_of(type) : NULL, *made = NULL, *none = NULL;
  if (!kind || !value) {
    PyErr_Restore(type, value, trace);
    return;
  }
  if (trace) PyException_SetTraceback(value, trace);
  Py_DECREF(type);
  Py_XDECREF(trace);
  PyErr_Format(kind, "%s '%s': %S", label->kind, label->name, value);
  PyErr_Fetch(&type, &made, &none);
  PyErr_NormalizeException(&type, &made, &none);
  PyException_SetCause(made, value);
  PyErr_Restore(type, made, none);
}

/* The array, or NULL with an exception that names the input. */
static PyObject *named(PyObject *array, const tp_label *label) {
  if (!array) name_error(label);
  return array;
}

/* ---- strings ---- */

/* Encoded, as an object of bytes; a new reference. */
static PyObject *string_bytes(PyObject *item, const tp_label *label, int64_t index) {
  if (PyUnicode_Check(item)) return PyUnicode_AsEncodedString(item, "utf-8", "surrogateescape");
  if (PyBytes_Check(item)) {
    Py_INCREF(item);
    return item;
  }
  PyErr_Format(PyExc_TypeError, "%s '%s': element %lld is %R, no str or bytes", label->kind,
               label->name, (long long)index, (PyObject *)Py_TYPE(item));
  return NULL;
}

/* keep: a list of the bytes. */
static int fill_strings(tp_input *in, PyArrayObject *objects, const tp_label *label) {
  const int64_t n = PyArray_SIZE(objects);
  PyObject **items = PyArray_DATA(objects);
  tn_str *strings = PyMem_Calloc(n ? (size_t)n : 1, sizeof *strings);
  in->memory = strings;
  in->keep = PyList_New(0);
  if (!strings) PyErr_NoMemory();
  if (!strings || !in->keep) return -1;
  for (int64_t k = 0; k < n; k++) {
    PyObject *bytes = string_bytes(items[k] ? items[k] : Py_None, label, k);
    char *data;
    Py_ssize_t size;
    const bool ok =
        bytes && !PyList_Append(in->keep, bytes) && !PyBytes_AsStringAndSize(bytes, &data, &size);
    Py_XDECREF(bytes);
    if (!ok) return -1;
    strings[k] = (tn_str){data, size};
  }
  in->tensor.data = strings;
  return 0;
}

static int take_strings(tp_input *in, PyArrayObject *array, const tp_label *label) {
  PyArray_Descr *object = PyArray_DescrFromType(NPY_OBJECT);
  PyArrayObject *objects = (PyArrayObject *)PyArray_FromArray(array, object, NPY_ARRAY_CARRAY_RO);
  const int status = objects ? fill_strings(in, objects, label) : -1;
  Py_XDECREF((PyObject *)objects);
  return status;
}

/* ---- numbers ---- */

static int take_packed(tp_input *in, PyArrayObject *array) {
  const int64_t n = PyArray_SIZE(array);
  in->memory = PyMem_Malloc((size_t)n + 1);
  if (!in->memory) {
    PyErr_NoMemory();
    return -1;
  }
  tp_pack(in->tensor.dtype, PyArray_DATA(array), n, in->memory);
  in->tensor.data = in->memory;
  return 0;
}

/* The same elements as Tenon wants them in memory; a new reference. */
static PyArrayObject *in_c_order(PyArrayObject *array) {
  if (PyArray_ISCARRAY_RO(array)) {
    Py_INCREF((PyObject *)array);
    return array;
  }
  PyArray_Descr *native = PyArray_DescrFromType(PyArray_TYPE(array));
  return native ? (PyArrayObject *)PyArray_FromArray(array, native, NPY_ARRAY_CARRAY_RO) : NULL;
}

static int take_numbers(tp_input *in, PyArrayObject *array, const tp_label *label) {
  if (in->tensor.dtype == TN_NONE) {
    PyErr_Format(PyExc_TypeError, "%s '%s': Tenon has no type for elements of %R", label->kind,
                 label->name, (PyObject *)PyArray_DESCR(array));
    return -1;
  }
  PyArrayObject *ready = in_c_order(array);
  if (!ready) {
    name_error(label);
    return -1;
  }
  if (tp_is_packed(in->tensor.dtype)) {
    const int status = take_packed(in, ready);
    Py_DECREF((PyObject *)ready);
    return status;
  }
  in->keep = (PyObject *)ready;
  in->tensor.data = PyArray_DATA(ready);
  return 0;
}

static bool is_text(PyArrayObject *array) {
  const int number = PyArray_TYPE(array);
  return number == NPY_OBJECT || number == NPY_UNICODE || number == NPY_STRING ||
         PyArray_DESCR(array)->kind == 'T'; /* NumPy 2's strings of any length */
}

/* Whether elements of an array of numpy.ma are masked; -1 with an exception. */
static int is_masked(PyArrayObject *array) {
  if (PyArray_CheckExact(array)) return 0;
  PyObject *module = PyImport_ImportModule("numpy.ma");
  PyObject *answer =
      module ? PyObject_CallMethod(module, "is_masked", "O", (PyObject *)array) : NULL;
  const int masked = answer ? PyObject_IsTrue(answer) : -1;
  Py_XDECREF(module);
  Py_XDECREF(answer);
  return masked;
}

static int refuse_mask(PyArrayObject *array, const tp_label *label) {
  const int masked = is_masked(array);
  if (masked > 0)
    PyErr_Format(PyExc_ValueError,
                 "%s '%s': elements of it are masked, which tensors cannot say; filled() gives "
                 "them values",
                 label->kind, label->name);
  return masked ? -1 : 0;
}

static int take_array(tp_input *in, PyArrayObject *array, const tp_label *label) {
  if (refuse_mask(array, label)) return -1;
  const int rank = PyArray_NDIM(array);
  if (rank > TN_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "%s '%s': has %d dims, Tenon's tensors have at most %d",
                 label->kind, label->name, rank, (int)TN_MAX_RANK);
    return -1;
  }
  int64_t shape[TN_MAX_RANK];
  for (int k = 0; k < rank; k++) shape[k] = PyArray_DIM(array, k);
  const bool text = is_text(array);
  in->tensor = tn_tensor_make(text ? TN_STRING : tp_dtype_of(array), rank, shape, NULL);
  return text ? take_strings(in, array, label) : take_numbers(in, array, label);
}

/* ---- what is no array ---- */

static bool is_plain(PyObject *object) {
  return PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object) ||
         PyList_Check(object) || PyTuple_Check(object) || PyUnicode_Check(object) ||
         PyBytes_Check(object);
}

/* NumPy before 2.0 lets whole numbers wrap around. False, without an exception, if they have. */
static bool is_equal(PyObject *numbers, PyObject *result) {
  PyObject *same = PyObject_RichCompare(numbers, result, Py_EQ);
  PyObject *all = same ? PyObject_CallMethod(same, "all", NULL) : NULL;
  const bool equal = all && PyObject_IsTrue(all) == 1;
  Py_XDECREF(same);
  Py_XDECREF(all);
  return equal;
}

static PyObject *cast(PyArrayObject *array, uint32_t dtype, PyObject *object,
                      const tp_label *label) {
  const int number = tp_numpy_of(dtype);
  if (number < 0) return NULL;
  const bool has_fraction = PyArray_ISFLOAT(array) || PyArray_ISCOMPLEX(array);
  const bool loses = has_fraction && PyArray_SIZE(array) &&
                     (PyTypeNum_ISINTEGER(number) || PyTypeNum_ISBOOL(number) ||
                      (PyArray_ISCOMPLEX(array) && !PyTypeNum_ISCOMPLEX(number)));
  /* From the numbers themselves, so that those out of range are seen. */
  PyObject *result = loses ? NULL
                           : named(PyArray_FromAny(object, PyArray_DescrFromType(number), 0, 0,
                                                   NPY_ARRAY_CARRAY_RO, NULL),
                                   label);
  const bool whole = PyArray_ISINTEGER(array) && PyTypeNum_ISINTEGER(number);
  if (!loses && (!result || !whole || is_equal((PyObject *)array, result))) return result;
  Py_XDECREF(result);
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_TypeError, "%s '%s': is %s, which cannot hold these numbers", label->kind,
                 label->name, tn_dtype_name(dtype));
  return NULL;
}

/* Numbers, strings and lists of them, which have no dtype of their own. */
static PyObject *plain_array(PyObject *object, uint32_t dtype, const tp_label *label) {
  if (dtype == TN_STRING)
    return named(
        PyArray_FromAny(object, PyArray_DescrFromType(NPY_OBJECT), 0, 0, NPY_ARRAY_CARRAY_RO, NULL),
        label);
  PyObject *array = named(PyArray_FromAny(object, NULL, 0, 0, NPY_ARRAY_CARRAY_RO, NULL), label);
  if (!array || dtype == TN_NONE) return array;
  if (PyArray_TYPE((PyArrayObject *)array) == NPY_OBJECT) {
    Py_DECREF(array);
    return PyErr_Format(PyExc_TypeError, "%s '%s': holds what is no number of type %s", label->kind,
                        label->name, tn_dtype_name(dtype));
  }
  if (is_text((PyArrayObject *)array)) return array;
  PyObject *result = cast((PyArrayObject *)array, dtype, object, label);
  Py_DECREF(array);
  return result;
}

static PyObject *to_array(PyObject *object, const tn_tensor *declared, const tp_label *label) {
  if (object == Py_None) {
    PyErr_Format(PyExc_TypeError, "%s '%s': is None", label->kind, label->name);
    return NULL;
  }
  if (is_plain(object)) return plain_array(object, declared->dtype, label);
  if (!PyArray_CheckScalar(object) && PyObject_HasAttrString(object, "__dlpack__"))
    return named(tp_from_dlpack(object), label);
  return named(PyArray_FromAny(object, NULL, 0, 0, 0, NULL), label);
}

/* ---- lists ---- */

/* The type of the items of a list of this type. */
static tn_tensor item_type(const tn_tensor *list) {
  tn_tensor item = tn_tensor_make(list->dtype, TN_RANK_UNKNOWN, NULL, NULL);
  item.kind = list->elements & 15;
  item.elements = (list->elements & 0xffffffU) >> 4 | (list->elements & 0xff000000U);
  return item;
}

/* Takes over the item. */
static int append(tp_input *in, tn_runtime *runtime, const tn_tensor *declared, tp_input *item) {
  tn_status status = TN_OK;
  const uint32_t dtype = declared->dtype ? declared->dtype : item->tensor.dtype;
  if (!in->list) status = tn_list_create(runtime, declared->kind, dtype, &in->list);
  if (!status) status = tn_list_append(in->list, &item->tensor);
  tp_input_clear(item);
  if (!status) return 0;
  tp_raise(status, NULL,
           status == TN_ERR_INVALID ? "the items of a list are not of one dtype" : NULL);
  return -1;
}

static int take_item(tp_input *in, tn_runtime *runtime, const tn_tensor *declared,
                     const tn_tensor *type, PyObject *object, const tp_label *label, int depth) {
  tp_input item = {.keep = NULL};
  if (take(&item, runtime, type, object, label, depth + 1)) return -1;
  return append(in, runtime, declared, &item);
}

static int take_sequence(tp_input *in, tn_runtime *runtime, const tn_tensor *declared,
                         PyObject *object, const tp_label *label, int depth) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) {
    PyErr_Format(PyExc_TypeError, "%s '%s': is a sequence, which takes a list or tuple, not %R",
                 label->kind, label->name, (PyObject *)Py_TYPE(object));
    return -1;
  }
  const tn_tensor type = item_type(declared);
  PyObject *items = PySequence_Tuple(object); /* nobody changes it meanwhile */
  int failed = items ? 0 : -1;
  for (Py_ssize_t k = 0; !failed && k < PyTuple_Size(items); k++)
    failed = take_item(in, runtime, declared, &type, PyTuple_GetItem(items, k), label, depth);
  Py_XDECREF(items);
  return failed;
}

static int take_map(tp_input *in, tn_runtime *runtime, const tn_tensor *declared, PyObject *object,
                    const tp_label *label, int depth) {
  if (!PyDict_Check(object)) {
    PyErr_Format(PyExc_TypeError, "%s '%s': is a map, which takes a dict, not %R", label->kind,
                 label->name, (PyObject *)Py_TYPE(object));
    return -1;
  }
  const tn_tensor key_type = tn_tensor_make(declared->elements >> 24, TN_RANK_UNKNOWN, NULL, NULL);
  const tn_tensor value_type = tn_tensor_make(declared->dtype, TN_RANK_UNKNOWN, NULL, NULL);
  PyObject *keys = PyDict_Keys(object), *values = PyDict_Values(object);
  int failed = keys && values ? 0 : -1;
  if (!failed) failed = take_item(in, runtime, declared, &key_type, keys, label, depth);
  if (!failed) failed = take_item(in, runtime, declared, &value_type, values, label, depth);
  Py_XDECREF(keys);
  Py_XDECREF(values);
  return failed;
}

static int take_list(tp_input *in, tn_runtime *runtime, const tn_tensor *declared, PyObject *object,
                     const tp_label *label, int depth) {
  int failed = 0;
  const tn_tensor type = item_type(declared);
  if (depth >= TN_ELEMENTS_DEPTH) {
    PyErr_Format(PyExc_ValueError, "%s '%s': lists are nested too deep", label->kind, label->name);
    return -1;
  }
  if (declared->kind == TN_KIND_SEQUENCE)
    failed = take_sequence(in, runtime, declared, object, label, depth);
  else if (declared->kind == TN_KIND_MAP)
    failed = take_map(in, runtime, declared, object, label, depth);
  else if (object != Py_None)
    failed = take_item(in, runtime, declared, &type, object, label, depth);
  if (failed) return -1;
  tn_status status = TN_OK;
  if (!in->list) status = tn_list_create(runtime, declared->kind, declared->dtype, &in->list);
  if (status) {
    tp_raise(status, NULL, NULL);
    return -1;
  }
  in->tensor = *in->list;
  return 0;
}

/* ---- all ---- */

static int take(tp_input *in, tn_runtime *runtime, const tn_tensor *declared, PyObject *object,
                const tp_label *label, int depth) {
  int status;
  if (declared->kind != TN_KIND_TENSOR) {
    status = take_list(in, runtime, declared, object, label, depth);
  } else if (PyArray_Check(object)) {
    status = take_array(in, (PyArrayObject *)object, label);
  } else {
    PyObject *array = to_array(object, declared, label);
    status = array ? take_array(in, (PyArrayObject *)array, label) : -1;
    Py_XDECREF(array);
  }
  if (status) tp_input_clear(in);
  return status;
}

int tp_input_take(tp_input *in, tn_runtime *runtime, const tn_tensor *declared, PyObject *object,
                  const tp_label *label) {
  *in = (tp_input){.keep = NULL};
  return take(in, runtime, declared, object, label, 0);
}

void tp_input_clear(tp_input *in) {
  Py_CLEAR(in->keep);
  PyMem_Free(in->memory);
  tn_list_destroy(in->list);
  in->memory = NULL;
  in->list = NULL;
}
