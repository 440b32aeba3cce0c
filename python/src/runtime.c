/* tenon._tenon.Runtime: operators, kernels, plug-ins and threads, which models share. */
#include "binding.h"

#include <string.h>

PyTypeObject *tp_runtime_type;

/* ---- life ---- */

static int create(tp_runtime *self, const tn_runtime_options *options) {
  tn_diag *diag = tn_diag_create();
  tn_status status;
  Py_BEGIN_ALLOW_THREADS status = tn_runtime_create(options, diag, &self->runtime);
  Py_END_ALLOW_THREADS if (status) tp_raise(status, diag, NULL);
  const int failed = status || tp_warn(diag) ? -1 : 0;
  tn_diag_destroy(diag);
  return failed;
}

/* Runtime(threads=0, pins=(), flags=0, isa=0, plugin_allow=None, plugin_vet=None) */
static int runtime_init(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"threads", "pins", "flags", "isa", "plugin_allow", "plugin_vet", NULL};
  tp_runtime *self = (tp_runtime *)object;
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  unsigned long long isa = 0;
  PyObject *pins = NULL, *threads = NULL;
  long long n_threads = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOIKzz", names, &threads, &pins, &options.flags,
                                   &isa, &options.plugin_allow, &options.plugin_vet) ||
      (threads && !tp_whole(threads, "threads", INT32_MIN, INT32_MAX, &n_threads)))
    return -1;
  options.n_threads = (int32_t)n_threads;
  if (self->runtime) {
    PyErr_SetString(PyExc_RuntimeError, "a Runtime cannot be initialised twice");
    return -1;
  }
  options.isa_mask = isa;
  PyObject *keep = PyList_New(0);
  if (!keep) return -1;
  const char **pin_texts = pins ? tp_texts(pins, "pin", keep, &options.n_pins) : NULL;
  options.pins = pin_texts;
  const int failed = pins && !pin_texts ? -1 : create(self, &options);
  PyMem_Free((void *)pin_texts);
  Py_DECREF(keep);
  return failed;
}

static int runtime_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return tp_custom_visit(((tp_runtime *)self)->custom, visit, arg);
}

static void runtime_dealloc(PyObject *self) {
  PyObject_GC_UnTrack(self);
  tn_runtime_destroy(((tp_runtime *)self)->runtime);
  tp_custom_free(((tp_runtime *)self)->custom);
  tp_free(self);
}

static tn_runtime *get(PyObject *self) {
  tn_runtime *runtime = ((tp_runtime *)self)->runtime;
  if (!runtime) PyErr_SetString(PyExc_RuntimeError, "this Runtime was not initialised");
  return runtime;
}

/* None, or an exception with what diag says; destroys diag. */
static PyObject *done(tn_status status, tn_diag *diag) {
  PyObject *result = NULL;
  if (status)
    tp_raise(status, diag, NULL);
  else if (!tp_warn(diag))
    result = Py_BuildValue("");
  tn_diag_destroy(diag);
  return result;
}

/* ---- plug-ins ---- */

static PyObject *load_plugin(PyObject *self, PyObject *path) {
  tn_runtime *runtime = get(self);
  const char *text;
  PyObject *bytes = runtime ? tp_path(path, "plugin", &text) : NULL;
  if (!bytes) return NULL;
  tn_diag *diag = tn_diag_create();
  tn_status status;
  Py_BEGIN_ALLOW_THREADS status = tn_runtime_load_plugin(runtime, text, NULL, 0, diag);
  Py_END_ALLOW_THREADS Py_DECREF(bytes);
  return done(status, diag);
}

static PyObject *plugins(PyObject *self, PyObject *unused) {
  tn_runtime *runtime = get(self);
  PyObject *list = runtime ? PyList_New(0) : NULL;
  (void)unused;
  for (int32_t k = 0; list && k < tn_runtime_n_plugins(runtime); k++) {
    tn_plugin_info info = {.head = TN_HEAD(tn_plugin_info)};
    if (tn_runtime_plugin(runtime, k, &info)) break; /* unloaded meanwhile */
    PyObject *item = Py_BuildValue(
        "{szszszszszszsIsIsI}", "name", info.name, "version", info.version, "license", info.license,
        "path", info.path, "found_by", info.found_by, "refused", info.refused, "ops", info.n_ops,
        "kernels", info.n_kernels, "formats", info.n_formats);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/* ---- what is registered ---- */

static PyObject *ops(PyObject *self, PyObject *unused) {
  tn_runtime *runtime = get(self);
  PyObject *list = runtime ? PyList_New(0) : NULL;
  (void)unused;
  for (int32_t k = 0; list && k < tn_runtime_n_ops(runtime); k++) {
    const tn_op *op = tn_runtime_op(runtime, k);
    if (!op) break;
    PyObject *item = Py_BuildValue("(ssiss)", op->domain ? op->domain : "", op->name, op->since,
                                   op->schema, tn_runtime_op_plugin(runtime, k));
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *cache_weights(PyObject *self, PyObject *folder) {
  tn_runtime *runtime = get(self);
  const char *text = NULL;
  PyObject *bytes = runtime && folder != Py_None ? tp_path(folder, "folder", &text) : NULL;
  if (!runtime || (!bytes && folder != Py_None)) return NULL;
  tn_diag *diag = tn_diag_create();
  const tn_status status = tn_runtime_cache_weights(runtime, text, diag);
  Py_XDECREF(bytes);
  return done(status, diag);
}

/* After a fork, in the child. */
static PyObject *forked(PyObject *self, PyObject *unused) {
  tn_runtime *runtime = ((tp_runtime *)self)->runtime;
  (void)unused;
  if (runtime) tn_runtime_notify(runtime, TN_EVENT_FORK);
  Py_RETURN_NONE;
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"load_plugin", load_plugin, METH_O, "Loads a plug-in from its file."},
    {"plugins", plugins, METH_NOARGS, "What is known of each plug-in, also of those refused."},
    {"_ops", ops, METH_NOARGS, "(domain, name, since, schema, plug-in) of each operator."},
    {"_run_op", (PyCFunction)(void (*)(void))tp_runtime_run_op, METH_VARARGS | METH_KEYWORDS,
     "_run_op(name, version, args, n_outputs): args are (name, value, is text)."},
    {"_infer_op", (PyCFunction)(void (*)(void))tp_runtime_infer_op, METH_VARARGS | METH_KEYWORDS,
     "As _run_op: (kind, dtype, shape) of each output; values of tensors do not matter."},
    {"_add_op", tp_runtime_add_op, METH_VARARGS, "Adds an operator that is a Python function."},
    {"cache_weights", cache_weights, METH_O,
     "A folder in which models keep what kernels made of their weights; None: none."},
    {"_forked", forked, METH_NOARGS, "Tells plug-ins that this process is a child."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_init, runtime_init},
                              {Py_tp_dealloc, runtime_dealloc},
                              {Py_tp_traverse, runtime_traverse},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "Operators, kernels, plug-ins and threads."},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._tenon.Runtime", (int)sizeof(tp_runtime), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

int tp_runtime_ready(PyObject *module) {
  tp_runtime_type = tp_type(module, &spec, "Runtime");
  return tp_runtime_type ? 0 : -1;
}
