/* tenon._tenon.DeviceArray: an array in memory of a device, which inputs and outputs of sessions
 * can be bound to. */
#include "binding.h"

#include <string.h>

PyTypeObject *tp_device_array_type;

/* ---- making one ---- */

/* Why an array cannot be there. */
static const char *refuse(PyObject *object) {
  if (!PyArray_Check(object)) return "is no numpy array";
  if (PyArray_NDIM((PyArrayObject *)object) > TN_MAX_RANK) return "has more than 8 dims";
  const uint32_t dtype = tp_dtype_of((PyArrayObject *)object);
  if (dtype == TN_NONE || dtype == TN_STRING) return "has elements that no device holds";
  return tp_is_packed(dtype) ? "has elements that Tenon packs" : NULL;
}

/* The same array in C order, aligned; NULL: an exception. */
static PyArrayObject *in_order(PyObject *object) {
  const char *reason = refuse(object);
  if (reason) {
    PyErr_Format(PyExc_TypeError, "to a device: the array %s", reason);
    return NULL;
  }
  return (PyArrayObject *)PyArray_FROM_OF(object, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED);
}

static tn_tensor type_of(PyArrayObject *array) {
  int64_t shape[TN_MAX_RANK];
  for (int k = 0; k < PyArray_NDIM(array); k++) shape[k] = PyArray_DIM(array, k);
  return tn_tensor_make(tp_dtype_of(array), PyArray_NDIM(array), shape, NULL);
}

/* Raises what the diag says, if that failed, and frees it. */
static int finish(tn_status status, tn_diag *diag) {
  if (status) tp_raise(status, diag, NULL);
  tn_diag_destroy(diag);
  return status ? -1 : 0;
}

static int write_array(tp_device_array *self, PyArrayObject *array) {
  const uint64_t bytes = (uint64_t)PyArray_NBYTES(array);
  tn_diag *diag = tn_diag_create();
  tn_status status;
  Py_BEGIN_ALLOW_THREADS status =
      tn_device_buffer_write(self->buffer, 0, PyArray_DATA(array), bytes, diag);
  Py_END_ALLOW_THREADS return finish(status, diag);
}

static int open_array(tp_device_array *self, tp_model *model, const char *device,
                      PyArrayObject *array) {
  tn_diag *diag = tn_diag_create();
  Py_INCREF((PyObject *)model);
  self->model = model;
  self->type = type_of(array);
  const int status =
      finish(tn_device_buffer_create(model->model, device, (uint64_t)PyArray_NBYTES(array), diag,
                                     &self->buffer),
             diag);
  return status ? status : write_array(self, array);
}

static int array_init(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"model", "array", "device", NULL};
  tp_device_array *self = (tp_device_array *)object;
  PyObject *model, *from;
  const char *device = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O|z", names, tp_model_type, &model, &from,
                                   &device))
    return -1;
  if (self->model || !((tp_model *)model)->model) {
    PyErr_SetString(PyExc_RuntimeError, self->model ? "a DeviceArray cannot be initialised twice"
                                                    : "this Model was not initialised");
    return -1;
  }
  PyArrayObject *array = in_order(from);
  const int status = array ? open_array(self, (tp_model *)model, device, array) : -1;
  Py_XDECREF((PyObject *)array);
  return status;
}

static void array_dealloc(PyObject *object) {
  tp_device_array *self = (tp_device_array *)object;
  tn_device_buffer_destroy(self->buffer);
  Py_XDECREF((PyObject *)self->model);
  tp_free(object);
}

/* ---- using it ---- */

tp_device_array *tp_device_array_of(PyObject *object) {
  if (!PyObject_TypeCheck(object, tp_device_array_type)) return NULL;
  return (tp_device_array *)object;
}

/* NULL and an exception if its __init__ has not run, or failed. */
static tp_device_array *ready(PyObject *object) {
  tp_device_array *self = (tp_device_array *)object;
  if (self->buffer) return self;
  PyErr_SetString(PyExc_RuntimeError, "this DeviceArray was not initialised");
  return NULL;
}

static PyObject *numpy(PyObject *object, PyObject *unused) {
  tp_device_array *self = ready(object);
  PyArrayObject *array = self ? (PyArrayObject *)tp_array_new(&self->type) : NULL;
  (void)unused;
  if (!array) return NULL;
  const uint64_t bytes = (uint64_t)PyArray_NBYTES(array);
  void *data = PyArray_DATA(array);
  tn_diag *diag = tn_diag_create();
  tn_status status;
  Py_BEGIN_ALLOW_THREADS status = tn_device_buffer_read(self->buffer, 0, data, bytes, diag);
  Py_END_ALLOW_THREADS if (finish(status, diag)) Py_CLEAR(array);
  return (PyObject *)array;
}

static PyObject *write_from(PyObject *object, PyObject *from) {
  tp_device_array *self = ready(object);
  PyArrayObject *array = self ? in_order(from) : NULL;
  if (!array) return NULL;
  const tn_tensor type = type_of(array);
  const bool same = tp_same_type(&type, &self->type);
  if (!same) PyErr_SetString(PyExc_ValueError, "write: the array is of another dtype or shape");
  const int status = same ? write_array(self, array) : -1;
  Py_DECREF((PyObject *)array);
  return status ? NULL : Py_BuildValue("");
}

bool tp_same_type(const tn_tensor *a, const tn_tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

static PyObject *describe(PyObject *object, PyObject *unused) {
  const tp_device_array *self = ready(object);
  (void)unused;
  return self ? tp_describe(&self->type) : NULL;
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"numpy", numpy, METH_NOARGS, "A copy in memory."},
    {"write", write_from, METH_O, "write(array): its elements become these; same dtype and shape."},
    {"_describe", describe, METH_NOARGS, "(kind, dtype, shape)"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_init, array_init},
                              {Py_tp_dealloc, array_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "DeviceArray(model, array, device=None)"},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._tenon.DeviceArray", (int)sizeof(tp_device_array), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

int tp_device_ready(PyObject *module) {
  tp_device_array_type = tp_type(module, &spec, "DeviceArray");
  return tp_device_array_type ? 0 : -1;
}
