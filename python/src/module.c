/* The module tenon._tenon: its errors, its types, and helpers for text. */
#define TP_IMPORTS_NUMPY
#include "binding.h"
#include "interrupt.h"

#include <string.h>

static PyObject *make_error; /* tenon._errors.make(status, name, text), as it was at first */

/* ---- text ---- */

PyObject *tp_text(const char *text) {
  if (!text) Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

static PyObject *checked_bytes(PyObject *bytes, const char *what, const char **out_text) {
  char *text;
  Py_ssize_t size;
  if (!bytes || PyBytes_AsStringAndSize(bytes, &text, &size)) {
    Py_XDECREF(bytes);
    return NULL;
  }
  if ((size_t)size != strlen(text)) {
    PyErr_Format(PyExc_ValueError, "%s: has a zero byte inside", what);
    Py_DECREF(bytes);
    return NULL;
  }
  *out_text = text;
  return bytes;
}

PyObject *tp_utf8(PyObject *object, const char *what, const char **out_text) {
  if (PyUnicode_Check(object))
    return checked_bytes(PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape"), what,
                         out_text);
  PyErr_Format(PyExc_TypeError, "%s: must be a str, not %R", what, (PyObject *)Py_TYPE(object));
  return NULL;
}

PyObject *tp_path(PyObject *object, const char *what, const char **out_text) {
  PyObject *bytes = NULL;
  if (PyUnicode_FSConverter(object, &bytes)) return checked_bytes(bytes, what, out_text);
  if (PyErr_ExceptionMatches(PyExc_TypeError))
    PyErr_Format(PyExc_TypeError, "%s: must be a path, not %R", what, (PyObject *)Py_TYPE(object));
  return NULL;
}

const char **tp_texts(PyObject *list, const char *what, PyObject *keep, uint32_t *out_n) {
  const Py_ssize_t n = PySequence_Size(list);
  if (n < 0) return NULL;
  const char **out = PyMem_Calloc((size_t)n + 1, sizeof *out);
  if (!out) PyErr_NoMemory();
  for (Py_ssize_t k = 0; out && k < n; k++) {
    PyObject *item = PySequence_GetItem(list, k);
    PyObject *bytes = item ? tp_utf8(item, what, &out[k]) : NULL;
    Py_XDECREF(item);
    if (bytes && !PyList_Append(keep, bytes)) {
      Py_DECREF(bytes);
      continue;
    }
    Py_XDECREF(bytes);
    PyMem_Free((void *)out);
    return NULL;
  }
  *out_n = (uint32_t)n;
  return out;
}

bool tp_whole(PyObject *object, const char *what, long long low, long long high, long long *out) {
  PyObject *index = PyNumber_Index(object);
  int overflow = 0;
  if (!index) {
    PyErr_Format(PyExc_TypeError, "%s: must be an int, not %R", what, object);
    return false;
  }
  *out = PyLong_AsLongLongAndOverflow(index, &overflow);
  Py_DECREF(index);
  if (!overflow && *out >= low && *out <= high) return true;
  PyErr_Format(PyExc_ValueError, "%s: is %R, from %lld to %lld", what, object, low, high);
  return false;
}

/* ---- errors ---- */

/* Errors and the notes that go with them, a line each. */
static PyObject *diagnosis(const tn_diag *diag, const char *what) {
  PyObject *lines = PyList_New(0), *text = NULL, *newline = PyUnicode_FromString("\n");
  const char *message;
  int32_t severity;
  for (int64_t k = 0; lines && (message = tn_diag_message(diag, k, &severity)); k++) {
    PyObject *line = severity == TN_DIAG_WARNING ? NULL : tp_text(message);
    if (line) PyList_Append(lines, line);
    Py_XDECREF(line);
  }
  if (lines && !PyErr_Occurred() && PyList_Size(lines) == 0) {
    PyObject *line = tp_text(what);
    if (line) PyList_Append(lines, line);
    Py_XDECREF(line);
  }
  if (lines && newline && !PyErr_Occurred()) text = PyUnicode_Join(newline, lines);
  Py_XDECREF(lines);
  Py_XDECREF(newline);
  return text;
}

/* make() of the module that is imported now: a program may have imported the package anew. */
static PyObject *error_maker(void) {
  PyObject *name = PyUnicode_FromString("tenon._errors");
  PyObject *module = name ? PyImport_GetModule(name) : NULL;
  PyObject *make = module ? PyObject_GetAttrString(module, "make") : NULL;
  Py_XDECREF(name);
  Py_XDECREF(module);
  if (make) return make;
  PyErr_Clear();
  Py_INCREF(make_error);
  return make_error;
}

/* What a Python function raised is the cause; an interrupt or an exit goes on as it is. */
static void set_error(PyObject *error, PyObject *cause) {
  if (cause && !PyObject_IsInstance(cause, PyExc_Exception)) {
    PyErr_SetObject((PyObject *)Py_TYPE(cause), cause);
    return;
  }
  if (cause) {
    Py_INCREF(cause);
    PyException_SetCause(error, cause);
  }
  PyErr_SetObject((PyObject *)Py_TYPE(error), error);
}

PyObject *tp_raise(tn_status status, tn_diag *diag, const char *what) {
  PyObject *text = diagnosis(diag, what ? what : tn_status_text(status));
  tn_diag_clear(diag);
  if (!text) return NULL;
  PyObject *make = error_maker(), *cause = tp_custom_take_raised(text);
  PyObject *error = PyObject_CallFunction(make, "isO", (int)status, tn_status_text(status), text);
  if (error) set_error(error, cause);
  Py_DECREF(make);
  Py_DECREF(text);
  Py_XDECREF(cause);
  Py_XDECREF(error);
  return NULL;
}

int tp_warn(tn_diag *diag) {
  const char *message;
  int32_t severity;
  for (int64_t k = 0; (message = tn_diag_message(diag, k, &severity)); k++) {
    if (severity != TN_DIAG_WARNING) continue;
    PyObject *text = tp_text(message);
    const int status = text ? PyErr_WarnFormat(PyExc_RuntimeWarning, 2, "tenon: %U", text) : -1;
    Py_XDECREF(text);
    if (status) return -1;
  }
  return 0;
}

/* ---- types ---- */

PyTypeObject *tp_type(PyObject *module, PyType_Spec *spec, const char *name) {
  PyObject *type = PyType_FromSpec(spec);
  if (!type) return NULL;
  Py_INCREF(type);
  if (PyModule_AddObject(module, name, type)) {
    Py_DECREF(type);
    Py_CLEAR(type);
  }
  return (PyTypeObject *)type; /* the module's reference besides ours, which stays */
}

void tp_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

/* ---- the module ---- */

static PyObject *from_dlpack(PyObject *module, PyObject *object) {
  (void)module;
  return tp_from_dlpack(object);
}

/* The types of this module, NumPy's table and operators written in Python know one interpreter. */
static bool is_main_interpreter(void) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_SetString(PyExc_ImportError,
                  "tenon does not run in a subinterpreter, only in the main interpreter of a "
                  "process: use threads or processes (mod_wsgi: WSGIApplicationGroup %{GLOBAL})");
  return false;
}

/* CPython may take this module from the main interpreter's without calling its PyInit. */
static PyObject *check_interpreter(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  if (!is_main_interpreter()) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"check_interpreter", check_interpreter, METH_NOARGS, "ImportError in a subinterpreter."},
    {"from_dlpack", from_dlpack, METH_O,
     "An array on the memory of an object that has __dlpack__; bf16 and narrow types, too."},
    {"adapter_function", tp_adapter_function, METH_VARARGS,
     "A function of an adapter, in a capsule."},
    {"adapter_load_plugin", tp_adapter_load_plugin, METH_VARARGS, "Loads a plug-in in an adapter."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "tenon._tenon",
                                        .m_size = -1,
                                        .m_methods = functions};

static int fill(PyObject *module) {
  PyObject *errors = PyImport_ImportModule("tenon._errors");
  if (!errors) return -1;
  make_error = PyObject_GetAttrString(errors, "make");
  Py_DECREF(errors);
  if (!make_error) return -1;
  tp_dtypes_init();
  if (tp_interrupt_ready() || tp_runtime_ready(module) || tp_model_ready(module) ||
      tp_session_ready(module) || tp_device_ready(module))
    return -1;
  return PyModule_AddStringConstant(module, "__version__", tn_version());
}

PyMODINIT_FUNC PyInit__tenon(void);
PyMODINIT_FUNC PyInit__tenon(void) {
  if (!is_main_interpreter()) return NULL;
  PyObject *numpy = PyImport_ImportModule("numpy"); /* says what is wrong with it */
  if (!numpy) return NULL;
  Py_DECREF(numpy);
  import_array();
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
#ifdef Py_GIL_DISABLED
  PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
  if (fill(module)) Py_CLEAR(module);
  return module;
}
