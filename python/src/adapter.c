/* Libraries of adapters beside the package: functions of theirs for hosts that take capsules, and
 * the plug-ins that they load. A library stays as long as the process. */
#include <dlfcn.h>

#include "binding.h"

static void *find(const char *library, const char *symbol) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *function = handle ? dlsym(handle, symbol) : NULL;
  if (!function) PyErr_Format(PyExc_ImportError, "%s", dlerror());
  return function;
}

/* adapter_function(library, symbol, name of the capsule) */
PyObject *tp_adapter_function(PyObject *module, PyObject *args) {
  const char *library, *symbol, *name;
  (void)module;
  if (!PyArg_ParseTuple(args, "sss", &library, &symbol, &name)) return NULL;
  void *function = find(library, symbol);
  char *kept = function ? strdup(name) : NULL; /* a capsule does not copy its name */
  if (!function) return NULL;
  if (!kept) return PyErr_NoMemory();
  return PyCapsule_New(function, kept, NULL);
}

/* adapter_load_plugin(library, symbol, path) */
PyObject *tp_adapter_load_plugin(PyObject *module, PyObject *args) {
  const char *library, *symbol, *path;
  char why[1000] = "";
  int (*load)(const char *path, char *why, size_t size) = NULL;
  (void)module;
  if (!PyArg_ParseTuple(args, "sss", &library, &symbol, &path)) return NULL;
  void *function = find(library, symbol);
  if (!function) return NULL;
  memcpy(&load, &function, sizeof load);
  if (!load(path, why, sizeof why)) Py_RETURN_NONE;
  PyErr_SetString(PyExc_ValueError, why);
  return NULL;
}
