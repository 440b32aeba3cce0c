/* tenon._tenon.Model: loading, looking at and calling a model.
 *
 * A call takes an idle session, or makes one. Outputs are written where they will be returned: into
 * new arrays, made as soon as their shapes are known, which for shapes seen before is before the
 * GIL is let go. What only the run can tell is copied out of the session. */
#include "binding.h"
#include "interrupt.h"

#include <string.h>

PyTypeObject *tp_model_type;

/* ---- slots ---- */

static void drop_inputs(const tp_model *m, tp_slot *s) {
  for (int32_t k = 0; s->inputs && k < m->n_all; k++) tp_input_clear(&s->inputs[k]);
}

static void drop_arrays(const tp_model *m, tp_slot *s) {
  for (int32_t k = 0; s->arrays && k < m->n_outputs; k++) Py_CLEAR(s->arrays[k]);
}

void tp_slot_free(tp_model *m, tp_slot *s) {
  if (!s) return;
  tn_session_destroy(s->session);
  tn_diag_destroy(s->diag);
  drop_inputs(m, s);
  drop_arrays(m, s);
  PyMem_Free(s->inputs);
  PyMem_Free(s->types);
  PyMem_Free((void *)s->arrays);
  PyMem_Free(s);
}

tp_slot *tp_slot_new(tp_model *m) {
  if (!m->model) {
    PyErr_SetString(PyExc_RuntimeError, "this Model was not initialised");
    return NULL;
  }
  tp_slot *s = PyMem_Calloc(1, sizeof *s);
  if (!s) {
    PyErr_NoMemory();
    return NULL;
  }
  s->inputs = PyMem_Calloc((size_t)m->n_all + 1, sizeof *s->inputs);
  s->types = PyMem_Calloc((size_t)m->n_outputs + 1, sizeof *s->types);
  s->arrays = PyMem_Calloc((size_t)m->n_outputs + 1, sizeof *s->arrays);
  s->diag = tn_diag_create();
  if (!s->inputs || !s->types || !s->arrays || !s->diag) {
    PyErr_NoMemory();
  } else {
    const tn_status status = tn_session_create(m->model, s->diag, &s->session);
    if (!status) return s;
    tp_raise(status, s->diag, NULL);
  }
  tp_slot_free(m, s);
  return NULL;
}

static tp_slot *take_slot(tp_model *m) {
  pthread_mutex_lock(&m->lock);
  tp_slot *s = m->idle;
  if (s) m->idle = s->next;
  pthread_mutex_unlock(&m->lock);
  return s ? s : tp_slot_new(m);
}

static void give_slot(tp_model *m, tp_slot *s) {
  drop_inputs(m, s);
  drop_arrays(m, s);
  pthread_mutex_lock(&m->lock);
  s->next = m->idle;
  m->idle = s;
  pthread_mutex_unlock(&m->lock);
}

/* ---- a call ---- */

static int fail(tp_slot *s, tn_status status) {
  tp_raise(status, s->diag, NULL);
  return -1;
}

static int set_inputs(tp_model *m, tp_slot *s, PyObject *const *given) {
  for (int32_t k = 0; k < m->n_all; k++) {
    tp_input *in = &s->inputs[k];
    const tp_label label = {"input", tn_model_input_name(m->model, k)};
    if (given[k] && tp_input_take(in, m->runtime->runtime, &m->declared[k], given[k], &label))
      return -1;
    const tn_status status =
        tn_session_set_input(s->session, k, given[k] ? &in->tensor : NULL, s->diag);
    if (status) return fail(s, status);
  }
  return 0;
}

/* Where the outputs go: arrays for types known, else nowhere. */
static int set_outputs(const tp_model *m, tp_slot *s) {
  drop_arrays(m, s);
  for (int32_t k = 0; k < m->n_outputs; k++) {
    tn_tensor where = s->types[k];
    tn_status status;
    if (s->has_types && tp_is_bindable(&where)) {
      if (!(s->arrays[k] = tp_array_new(&where))) return -1;
      where.data = PyArray_DATA((PyArrayObject *)s->arrays[k]);
      status = tn_session_set_output(s->session, k, &where, s->diag);
    } else {
      status = tn_session_set_output(s->session, k, NULL, s->diag);
    }
    if (status) return fail(s, status);
  }
  return 0;
}

static bool is_same(const tn_tensor *a, const tn_tensor *b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
         (a->rank <= 0 || !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape));
}

/* Compares the outputs of the plan with those of the last call, and keeps them. */
static bool update_types(const tp_model *m, tp_slot *s) {
  bool same = s->has_types;
  for (int32_t k = 0; k < m->n_outputs; k++) {
    tn_tensor type;
    if (tn_session_output_type(s->session, k, &type)) type = (tn_tensor){.rank = -1};
    same = same && is_same(&type, &s->types[k]);
    s->types[k] = type;
  }
  s->has_types = true;
  return same;
}

/* Runs if the outputs are as expected; else *out_ran is false and their types are known. */
static tn_status prepare_and_run(const tp_model *m, tp_slot *s, const tp_watch *w, bool *out_ran) {
  tn_status status = tn_session_prepare(s->session, s->diag);
  if (!status && tp_watch_pressed(w)) status = TN_ERR_CANCELLED;
  *out_ran = !status && update_types(m, s);
  return *out_ran ? tp_watch_run(w, s) : status;
}

static int run(tp_model *m, tp_slot *s) {
  tn_status status;
  bool ran;
  if (set_outputs(m, s)) return -1;
  tp_watch watch;
  tp_watch_begin(&watch, s);
  Py_BEGIN_ALLOW_THREADS status = prepare_and_run(m, s, &watch, &ran);
  Py_END_ALLOW_THREADS const bool again = !status && !ran, failed = again && set_outputs(m, s);
  if (again && !failed) {
    s->is_quick = false; /* other shapes */
    if (!watch.is_on) tp_watch_begin(&watch, s);
    Py_BEGIN_ALLOW_THREADS status = tp_watch_run(&watch, s);
    Py_END_ALLOW_THREADS
  }
  if (tp_watch_end(&watch, s, status) || failed) return -1;
  return status ? fail(s, status) : 0;
}

/* Output k of the run that was; a new reference. */
static PyObject *output(tp_slot *s, int32_t k) {
  const tn_tensor *value = tn_session_output(s->session, k);
  PyObject *array = s->arrays[k];
  const bool in_place = array && value && value->data == PyArray_DATA((PyArrayObject *)array) &&
                        is_same(value, &s->types[k]);
  if (!in_place) return tp_value(value);
  Py_INCREF(array);
  return array;
}

/* Names an output or, if `indices` is NULL, all of them. */
typedef struct choice {
  const int32_t *indices;
  Py_ssize_t n;
} choice;

/* Calls know nothing of each other: whichever session one gets, states begin anew. */
static int forget(tp_slot *s) {
  const tn_status status = tn_session_reset(s->session);
  return status ? fail(s, status) : 0;
}

/* given: n_all objects, NULL for those left out. A list of the outputs asked for. */
static PyObject *call(tp_model *m, PyObject *const *given, choice want) {
  tp_slot *s = take_slot(m);
  if (!s) return NULL;
  PyObject *list = NULL;
  if (!forget(s) && !set_inputs(m, s, given) && !run(m, s)) list = PyList_New(want.n);
  for (Py_ssize_t k = 0; list && k < want.n; k++) {
    PyObject *value = output(s, want.indices ? want.indices[k] : (int32_t)k);
    if (!value || PyList_SetItem(list, k, value)) Py_CLEAR(list);
  }
  give_slot(m, s);
  return list;
}

/* ---- arguments ---- */

static int32_t index_in(PyObject *index_of, PyObject *name) {
  PyObject *index = PyDict_GetItemWithError(index_of, name);
  return index ? (int32_t)PyLong_AsLong(index) : -1;
}

static void no_such_input(tp_model *m, PyObject *name) {
  PyObject *names = PyDict_Keys(m->index_of);
  if (names && !PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "the model has no input %R, only %R", name, names);
  Py_XDECREF(names);
}

int32_t tp_input_index(tp_model *m, PyObject *name) {
  const int32_t k = index_in(m->index_of, name);
  if (k < 0) no_such_input(m, name);
  return k;
}

static int32_t index_among(PyObject *names, PyObject *name, const char *what) {
  for (int32_t k = 0; k < PyTuple_Size(names); k++) {
    const int equal = PyObject_RichCompareBool(PyTuple_GetItem(names, k), name, Py_EQ);
    if (equal < 0) return -1;
    if (equal) return k;
  }
  if (PyTuple_Size(names))
    PyErr_Format(PyExc_ValueError, "the model has no %s %R, only %R", what, name, names);
  else
    PyErr_Format(PyExc_ValueError, "the model has no %s %R, nor any other", what, name);
  return -1;
}

int32_t tp_output_index(tp_model *m, PyObject *name) {
  return index_among(m->outputs, name, "output");
}

int32_t tp_state_index(tp_model *m, PyObject *name) {
  return index_among(m->states, name, "state");
}

/* Objects of `feeds`, by name, into given[]. Their references are owned: somebody may change the
 * dict while the call is under way. */
static int give_named(tp_model *m, PyObject *feeds, PyObject **given) {
  PyObject *name, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(feeds, &at, &name, &value)) {
    Py_INCREF(name);
    Py_INCREF(value);
    const int32_t k = tp_input_index(m, name);
    const bool twice = k >= 0 && given[k];
    if (twice) PyErr_Format(PyExc_TypeError, "input %R is given twice", name);
    Py_DECREF(name);
    if (k < 0 || twice) {
      Py_DECREF(value);
      return -1;
    }
    given[k] = value;
  }
  return 0;
}

static int give_in_order(tp_model *m, PyObject *args, PyObject **given) {
  const Py_ssize_t n = PyTuple_Size(args);
  if (n > m->n_all) {
    PyErr_Format(PyExc_TypeError, "the model takes %d inputs, %zd were given", (int)m->n_all, n);
    return -1;
  }
  for (Py_ssize_t k = 0; k < n; k++) {
    given[k] = PyTuple_GetItem(args, k);
    Py_INCREF(given[k]);
  }
  return 0;
}

enum { FEW = 16 };

/* Room for the inputs of a call: here[] if it suffices. */
static PyObject **room(const tp_model *m, PyObject **here) {
  if (!m->model) {
    PyErr_SetString(PyExc_RuntimeError, "this Model was not initialised");
    return NULL;
  }
  if (m->n_all > FEW) here = PyMem_Malloc((size_t)m->n_all * sizeof *here);
  if (!here) PyErr_NoMemory();
  for (int32_t k = 0; here && k < m->n_all; k++) here[k] = NULL;
  return here;
}

static void leave(const tp_model *m, PyObject **given, PyObject **here) {
  for (int32_t k = 0; k < m->n_all; k++) Py_XDECREF(given[k]);
  if (given != here) PyMem_Free((void *)given);
}

/* model(x), model(a, b), model(a, mask=b): the output, or a tuple of them. */
static PyObject *model_call(PyObject *object, PyObject *args, PyObject *kwargs) {
  tp_model *m = (tp_model *)object;
  PyObject *here[FEW], **given = room(m, here), *list = NULL;
  if (!given) return NULL;
  if (!give_in_order(m, args, given) && (!kwargs || !give_named(m, kwargs, given)))
    list = call(m, given, (choice){NULL, m->n_outputs});
  leave(m, given, here);
  if (!list) return NULL;
  PyObject *result = m->n_outputs == 1 ? PyList_GetItem(list, 0) : PyList_AsTuple(list);
  if (m->n_outputs == 1) Py_XINCREF(result);
  Py_DECREF(list);
  return result;
}

/* ---- run ---- */

/* Indices of the outputs that are named; NULL in *out_indices: all. */
static int choose(tp_model *m, PyObject *names, int32_t **out_indices, choice *out) {
  *out_indices = NULL;
  *out = (choice){NULL, m->n_outputs};
  if (names == Py_None) return 0;
  if (PyUnicode_Check(names)) {
    PyErr_SetString(PyExc_TypeError, "outputs: must be a list of names, not one str");
    return -1;
  }
  PyObject *list = PySequence_Tuple(names);
  if (!list && PyErr_ExceptionMatches(PyExc_TypeError))
    PyErr_Format(PyExc_TypeError, "outputs: must be a list of names, not %R",
                 (PyObject *)Py_TYPE(names));
  if (!list) return -1;
  const Py_ssize_t n = PyTuple_Size(list);
  int32_t *indices = PyMem_Malloc(((size_t)n + 1) * sizeof *indices);
  if (!indices) PyErr_NoMemory();
  for (Py_ssize_t k = 0; indices && k < n; k++) {
    indices[k] = tp_output_index(m, PyTuple_GetItem(list, k));
    if (indices[k] >= 0) continue;
    PyMem_Free(indices);
    indices = NULL;
  }
  Py_DECREF(list);
  *out_indices = indices;
  *out = (choice){indices, n};
  return indices ? 0 : -1;
}

static PyObject *run_list(tp_model *m, PyObject *feeds, choice want) {
  PyObject *here[FEW], **given = room(m, here), *list = NULL;
  if (!given) return NULL;
  if (!give_named(m, feeds, given)) list = call(m, given, want);
  leave(m, given, here);
  return list;
}

static PyObject *by_name(const tp_model *m, PyObject *list, choice want) {
  PyObject *dict = list ? PyDict_New() : NULL;
  for (Py_ssize_t k = 0; dict && k < want.n; k++) {
    const Py_ssize_t from = want.indices ? want.indices[k] : k;
    if (PyDict_SetItem(dict, PyTuple_GetItem(m->outputs, from), PyList_GetItem(list, k)))
      Py_CLEAR(dict);
  }
  Py_XDECREF(list);
  return dict;
}

static PyObject *run_any(PyObject *object, PyObject *feeds, PyObject *names, bool as_dict) {
  tp_model *m = (tp_model *)object;
  int32_t *indices;
  choice want;
  if (!m->model) return PyErr_Format(PyExc_RuntimeError, "this Model was not initialised");
  if (!PyDict_Check(feeds))
    return PyErr_Format(PyExc_TypeError, "inputs: must be a dict of name and value, not %R",
                        (PyObject *)Py_TYPE(feeds));
  if (choose(m, names, &indices, &want)) return NULL;
  PyObject *result = run_list(m, feeds, want);
  if (as_dict) result = by_name(m, result, want);
  PyMem_Free(indices);
  return result;
}

/* run(inputs, outputs=None): a dict of outputs */
static PyObject *model_run(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"inputs", "outputs", NULL};
  PyObject *feeds, *outputs = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", names, &feeds, &outputs)) return NULL;
  return run_any(self, feeds, outputs, true);
}

/* _run_list(outputs, inputs): a list, as ONNX Runtime's run() */
static PyObject *model_run_list(PyObject *self, PyObject *args) {
  PyObject *feeds, *outputs;
  if (!PyArg_ParseTuple(args, "OO", &outputs, &feeds)) return NULL;
  return run_any(self, feeds, outputs, false);
}

/* ---- life ---- */

/* A tuple. */
static PyObject *names_of(const tn_model *model, int32_t n,
                          const char *(*name_of)(const tn_model *, int32_t)) {
  PyObject *names = PyTuple_New(n);
  for (int32_t k = 0; names && k < n; k++) {
    PyObject *name = tp_text(name_of(model, k));
    if (!name || PyTuple_SetItem(names, k, name)) Py_CLEAR(names);
  }
  return names;
}

static int read_names(tp_model *m) {
  m->n_inputs = tn_model_n_inputs(m->model);
  m->n_all = m->n_inputs + tn_model_n_defaults(m->model);
  m->n_outputs = tn_model_n_outputs(m->model);
  m->declared = PyMem_Calloc((size_t)m->n_all + 1, sizeof *m->declared);
  m->index_of = PyDict_New();
  m->outputs = names_of(m->model, m->n_outputs, tn_model_output_name);
  m->states = names_of(m->model, tn_model_n_states(m->model), tn_model_state_name);
  if (!m->declared) PyErr_NoMemory();
  if (!m->declared || !m->index_of || !m->outputs || !m->states) return -1;
  for (int32_t k = 0; k < m->n_all; k++) {
    PyObject *name = tp_text(tn_model_input_name(m->model, k)), *index = PyLong_FromLong(k);
    const int failed = !name || !index || PyDict_SetItem(m->index_of, name, index);
    Py_XDECREF(name);
    Py_XDECREF(index);
    if (failed || tn_model_input_type(m->model, k, &m->declared[k])) return -1;
  }
  return 0;
}

static int open_path(tp_model *m, PyObject *path, const tn_model_options *options, tn_diag *diag) {
  const char *text;
  PyObject *bytes = tp_path(path, "path", &text);
  if (!bytes) return -1;
  tn_status status;
  Py_BEGIN_ALLOW_THREADS status =
      tn_model_load(m->runtime->runtime, text, options, diag, &m->model);
  Py_END_ALLOW_THREADS Py_DECREF(bytes);
  if (status) tp_raise(status, diag, NULL);
  return status ? -1 : 0;
}

static int open_bytes(tp_model *m, PyObject *bytes, const char *folder,
                      const tn_model_options *options, tn_diag *diag) {
  char *data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(bytes, &data, &size)) return -1;
  Py_INCREF(bytes);
  m->source = bytes;
  tn_status status;
  Py_BEGIN_ALLOW_THREADS status = tn_model_load_memory(m->runtime->runtime, data, (uint64_t)size,
                                                       folder, options, diag, &m->model);
  Py_END_ALLOW_THREADS if (status) tp_raise(status, diag, NULL);
  return status ? -1 : 0;
}

/* "f32", "f16", "bf16" or NULL; false after an exception. */
static bool read_precision(const char *text, uint32_t *out_dtype) {
  static const uint32_t types[] = {TN_F32, TN_F16, TN_BF16};
  for (size_t k = 0; text && k < sizeof types / sizeof *types; k++)
    if (!strcmp(text, tn_dtype_name(types[k]))) {
      *out_dtype = types[k];
      return true;
    }
  if (text) PyErr_Format(PyExc_ValueError, "precision is 'f32', 'f16' or 'bf16', not '%s'", text);
  return !text;
}

/* "forbid", "warn", "allow" or NULL; false after an exception. */
static bool read_fallback(const char *text, uint32_t *out_policy) {
  static const struct {
    const char *name;
    uint32_t policy;
  } policies[] = {
      {"forbid", TN_FALLBACK_FORBID}, {"warn", TN_FALLBACK_WARN}, {"allow", TN_FALLBACK_ALLOW}};
  for (size_t k = 0; text && k < sizeof policies / sizeof *policies; k++)
    if (!strcmp(text, policies[k].name)) {
      *out_policy = policies[k].policy;
      return true;
    }
  if (text)
    PyErr_Format(PyExc_ValueError, "fallback: is 'forbid', 'warn' or 'allow', not '%s'", text);
  return !text;
}

/* Model(runtime, path or None, data or None, folder=None, format=None, flags=0, max_plans=0,
 * precision=None, devices=(), fallback=None, entry=None) */
static int model_init(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"runtime",   "path",      "data",    "folder",   "format", "flags",
                          "max_plans", "precision", "devices", "fallback", "entry",  NULL};
  tp_model *m = (tp_model *)object;
  tn_model_options options = {.head = TN_HEAD(tn_model_options)};
  PyObject *runtime, *path = Py_None, *data = Py_None, *devices = NULL;
  const char *folder = NULL, *precision = NULL, *fallback = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|OOzzIizOzz", names, tp_runtime_type, &runtime,
                                   &path, &data, &folder, &options.format, &options.flags,
                                   &options.max_plans, &precision, &devices, &fallback,
                                   &options.entry) ||
      !read_precision(precision, &options.precision) || !read_fallback(fallback, &options.fallback))
    return -1;
  if (m->has_lock || !((tp_runtime *)runtime)->runtime) {
    PyErr_SetString(PyExc_RuntimeError, m->has_lock ? "a Model cannot be initialised twice"
                                                    : "the Runtime was not initialised");
    return -1;
  }
  if ((m->has_lock = !pthread_mutex_init(&m->lock, NULL)) == false) {
    PyErr_NoMemory();
    return -1;
  }
  Py_INCREF(runtime);
  m->runtime = (tp_runtime *)runtime;
  PyObject *keep = PyList_New(0);
  const char **texts =
      keep && devices ? tp_texts(devices, "device", keep, &options.n_devices) : NULL;
  options.devices = texts;
  tn_diag *diag = tn_diag_create();
  int failed = !keep || (devices && !texts) ? -1
               : data == Py_None            ? open_path(m, path, &options, diag)
                                            : open_bytes(m, data, folder, &options, diag);
  PyMem_Free((void *)texts);
  Py_XDECREF(keep);
  if (!failed) failed = tp_warn(diag) || read_names(m) ? -1 : 0;
  tn_diag_destroy(diag);
  if (failed) {
    tn_model_destroy(m->model);
    m->model = NULL;
  }
  return failed;
}

static int model_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(((tp_model *)object)->runtime);
  return 0;
}

static void model_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  tp_model *m = (tp_model *)object;
  while (m->idle) {
    tp_slot *s = m->idle;
    m->idle = s->next;
    tp_slot_free(m, s);
  }
  tn_model_destroy(m->model);
  PyMem_Free(m->declared);
  Py_XDECREF(m->index_of);
  Py_XDECREF(m->outputs);
  Py_XDECREF(m->states);
  Py_XDECREF(m->source);
  Py_XDECREF((PyObject *)m->runtime);
  if (m->has_lock) pthread_mutex_destroy(&m->lock);
  tp_free(object);
}

/* ---- looking ---- */

enum { NO_VALUE = -1 }; /* whose dims have no names */

/* Names of the open dims, None for the others; NULL for those that have none. */
static PyObject *dim_names(const tp_model *m, int32_t value, int32_t rank) {
  const tn_graph_api *api = tn_graph_functions();
  PyObject *names = PyTuple_New(rank < 0 ? 0 : rank);
  for (int32_t k = 0; names && k < rank; k++) {
    PyObject *name = tp_text(api->value_dim_name(tn_model_graph(m->model), value, k));
    if (!name || PyTuple_SetItem(names, k, name)) Py_CLEAR(names);
  }
  return names;
}

/* (name, (kind, dtype, shape), dim names, default, kinds) */
static PyObject *describe(const tp_model *m, const char *name, const tn_tensor *type, int32_t value,
                          const tn_tensor *or_else) {
  const int32_t rank = type->kind == TN_KIND_TENSOR ? type->rank : 0;
  return Py_BuildValue("(NNNNN)", tp_text(name), tp_describe(type), dim_names(m, value, rank),
                       PyBool_FromLong(or_else != NULL), tp_kinds(type));
}

static PyObject *list_of(PyObject *object, bool of_inputs) {
  tp_model *m = (tp_model *)object;
  const tn_graph_api *api = tn_graph_functions();
  if (!m->model) return PyErr_Format(PyExc_RuntimeError, "this Model was not initialised");
  const tn_graph *graph = tn_model_graph(m->model);
  PyObject *list = PyList_New(0);
  for (int32_t k = 0; list && k < (of_inputs ? m->n_all : m->n_outputs); k++) {
    tn_tensor type;
    const tn_status status = of_inputs ? tn_model_input_type(m->model, k, &type)
                                       : tn_model_output_type(m->model, k, &type);
    PyObject *item =
        status ? tp_raise(status, NULL, NULL)
        : of_inputs
            ? describe(m, tn_model_input_name(m->model, k), &type, api->input(graph, k),
                       tn_model_input_default(m->model, k))
            : describe(m, tn_model_output_name(m->model, k), &type, api->output(graph, k), NULL);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *list_inputs(PyObject *self, PyObject *unused) {
  (void)unused;
  return list_of(self, true);
}

static PyObject *list_outputs(PyObject *self, PyObject *unused) {
  (void)unused;
  return list_of(self, false);
}

static PyObject *list_states(PyObject *object, PyObject *unused) {
  tp_model *m = (tp_model *)object;
  (void)unused;
  if (!m->model) return PyErr_Format(PyExc_RuntimeError, "this Model was not initialised");
  PyObject *list = PyList_New(0);
  for (int32_t k = 0; list && k < tn_model_n_states(m->model); k++) {
    tn_tensor type;
    const tn_status status = tn_model_state_type(m->model, k, &type);
    PyObject *item = status ? tp_raise(status, NULL, NULL)
                            : describe(m, tn_model_state_name(m->model, k), &type, NO_VALUE, NULL);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *list_entries(PyObject *object, PyObject *unused) {
  const tp_model *m = (tp_model *)object;
  (void)unused;
  if (!m->model) return PyErr_Format(PyExc_RuntimeError, "this Model was not initialised");
  return names_of(m->model, tn_model_n_entries(m->model), tn_model_entry_name);
}

static PyObject *metadata(PyObject *object, PyObject *unused) {
  tp_model *m = (tp_model *)object;
  const tn_graph_api *api = tn_graph_functions();
  (void)unused;
  if (!m->model) return PyErr_Format(PyExc_RuntimeError, "this Model was not initialised");
  const tn_graph *graph = tn_model_graph(m->model);
  PyObject *dict = PyDict_New();
  for (int32_t k = 0; dict && k < api->n_meta(graph); k++) {
    const char *text = NULL;
    const char *key = api->meta_at(graph, k, &text);
    PyObject *name = tp_text(key), *value = tp_text(text);
    if (!name || !value || PyDict_SetItem(dict, name, value)) Py_CLEAR(dict);
    Py_XDECREF(name);
    Py_XDECREF(value);
  }
  return dict;
}

static PyObject *format_name(PyObject *object, PyObject *unused) {
  (void)unused;
  return tp_text(tn_model_format(((tp_model *)object)->model));
}

/* save(path, format=None, stage=None) */
static PyObject *save(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"path", "format", "stage", NULL};
  tp_model *m = (tp_model *)object;
  const char *format = NULL, *stage = NULL, *text;
  PyObject *path;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|zz", names, &path, &format, &stage))
    return NULL;
  if (!m->model) return PyErr_Format(PyExc_RuntimeError, "this Model was not initialised");
  PyObject *bytes = tp_path(path, "path", &text);
  if (!bytes) return NULL;
  tn_save_options options = {.head = TN_HEAD(tn_save_options), .format = format, .stage = stage};
  tn_diag *diag = tn_diag_create();
  tn_status status;
  Py_BEGIN_ALLOW_THREADS status = tn_model_save_as(m->model, text, &options, diag);
  Py_END_ALLOW_THREADS PyObject *result = status ? tp_raise(status, diag, NULL) : Py_BuildValue("");
  Py_DECREF(bytes);
  tn_diag_destroy(diag);
  return result;
}

/* ---- the type ---- */

#define WITH_KEYWORDS(f) (PyCFunction)(void (*)(void))(f), METH_VARARGS | METH_KEYWORDS

static PyMethodDef methods[] = {
    {"run", WITH_KEYWORDS(model_run),
     "run(inputs, outputs=None): the outputs by name, for a dict of inputs by name."},
    {"save", WITH_KEYWORDS(save),
     "save(path, format=None, stage=None): writes the model, as read or after a stage."},
    {"_run_list", model_run_list, METH_VARARGS, "_run_list(outputs, inputs): a list of outputs."},
    {"_inputs", list_inputs, METH_NOARGS, "What is known of the inputs."},
    {"_outputs", list_outputs, METH_NOARGS, "What is known of the outputs."},
    {"_states", list_states, METH_NOARGS, "What is known of the states."},
    {"_entries", list_entries, METH_NOARGS, "What the file holds to choose from, by name."},
    {"_metadata", metadata, METH_NOARGS, "The metadata of the model's file."},
    {"_format", format_name, METH_NOARGS, "The format of the model's file."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_init, model_init},
                              {Py_tp_dealloc, model_dealloc},
                              {Py_tp_traverse, model_traverse},
                              {Py_tp_call, model_call},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "A model; call it with its inputs."},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._tenon.Model", (int)sizeof(tp_model), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

int tp_model_ready(PyObject *module) {
  tp_model_type = tp_type(module, &spec, "Model");
  return tp_model_type ? 0 : -1;
}
