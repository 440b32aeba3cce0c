/* One operator, without a model: the arguments of Runtime._run_op become those of tn_op_run;
 * and what it would answer, for types alone. */
#include "binding.h"

typedef struct op_args {
  uint32_t n;
  tn_op_arg *args;
  tp_input *inputs; /* n, of the tensors among them */
  PyObject *keep;   /* bytes of names and texts */
} op_args;

static void drop(op_args *a) {
  for (uint32_t k = 0; a->inputs && k < a->n; k++) tp_input_clear(&a->inputs[k]);
  PyMem_Free(a->args);
  PyMem_Free(a->inputs);
  Py_XDECREF(a->keep);
}

static int keep_text(op_args *a, PyObject *object, const char *what, const char **out) {
  PyObject *bytes = tp_utf8(object, what, out);
  const int failed = !bytes || PyList_Append(a->keep, bytes);
  Py_XDECREF(bytes);
  return failed ? -1 : 0;
}

/* (name, value, is text); a value of None is an item that is left out. */
static int read_one(op_args *a, uint32_t k, PyObject *item, tn_runtime *runtime) {
  PyObject *name, *value;
  int text;
  if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "OOp", &name, &value, &text)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "an argument is no tuple");
    return -1;
  }
  if (keep_text(a, name, "name of an argument", &a->args[k].name)) return -1;
  if (text) return keep_text(a, value, a->args[k].name, &a->args[k].text);
  if (value == Py_None) return 0;
  const tn_tensor any = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
  const tp_label label = {"input", a->args[k].name};
  if (tp_input_take(&a->inputs[k], runtime, &any, value, &label)) return -1;
  a->args[k].tensor = &a->inputs[k].tensor;
  return 0;
}

static int read_all(op_args *a, PyObject *list, tn_runtime *runtime) {
  const Py_ssize_t n = PyTuple_Size(list);
  if (n < 0) return -1;
  a->keep = PyList_New(0);
  a->args = PyMem_Calloc((size_t)n + 1, sizeof *a->args);
  a->inputs = PyMem_Calloc((size_t)n + 1, sizeof *a->inputs);
  if (!a->args || !a->inputs) PyErr_NoMemory();
  if (!a->keep || !a->args || !a->inputs) return -1;
  a->n = (uint32_t)n;
  for (Py_ssize_t k = 0; k < n; k++)
    if (read_one(a, (uint32_t)k, PyTuple_GetItem(list, k), runtime)) return -1;
  return 0;
}

static PyObject *run(tn_runtime *runtime, const char *op, int version, const op_args *a,
                     uint32_t n_outputs) {
  tn_tensor **values = PyMem_Calloc((size_t)n_outputs + 1, sizeof *values);
  if (!values) return PyErr_NoMemory();
  tn_diag *diag = tn_diag_create();
  tn_status status;
  Py_BEGIN_ALLOW_THREADS status =
      tn_op_run(runtime, op, version, a->args, a->n, values, n_outputs, diag);
  Py_END_ALLOW_THREADS PyObject *list = status ? tp_raise(status, diag, NULL) : PyList_New(0);
  for (uint32_t k = 0; k < n_outputs; k++) {
    PyObject *value = list ? tp_value(values[k]) : NULL;
    if (list && (!value || PyList_Append(list, value))) Py_CLEAR(list);
    Py_XDECREF(value);
    tn_value_destroy(values[k]);
  }
  tn_diag_destroy(diag);
  PyMem_Free(values);
  return list;
}

/* Types of the outputs of a model of one node, for inputs of the types that it was made with. */
static tn_status plan_types(const tn_model *model, tn_session *session, tn_diag *diag) {
  tn_status status = TN_OK;
  for (int32_t k = 0; k < tn_model_n_inputs(model) && !status; k++) {
    tn_tensor type;
    status = tn_model_input_type(model, k, &type);
    if (!status) status = tn_session_set_input(session, k, &type, diag);
  }
  return status ? status : tn_session_prepare(session, diag);
}

static PyObject *infer(tn_runtime *runtime, const char *op, int version, const op_args *a,
                       uint32_t n_outputs) {
  tn_diag *diag = tn_diag_create();
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_status status =
      tn_model_from_op(runtime, op, version, a->args, a->n, n_outputs, NULL, diag, &model);
  if (!status) status = tn_session_create(model, diag, &session);
  if (!status) status = plan_types(model, session, diag);
  PyObject *list = status ? tp_raise(status, diag, NULL) : PyList_New(0);
  for (uint32_t k = 0; list && k < n_outputs; k++) {
    tn_tensor type;
    if (tn_session_output_type(session, (int32_t)k, &type))
      type = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
    PyObject *item = tp_describe(&type);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  tn_session_destroy(session);
  tn_model_destroy(model);
  tn_diag_destroy(diag);
  return list;
}

typedef PyObject *(*op_use)(tn_runtime *, const char *op, int version, const op_args *, uint32_t);

enum { MOST_OUTPUTS = 4096 };

/* (op, version, args, n_outputs) */
static PyObject *use_op(PyObject *self, PyObject *args, PyObject *kwargs, op_use use) {
  static char *names[] = {"op", "version", "args", "n_outputs", NULL};
  tn_runtime *runtime = ((tp_runtime *)self)->runtime;
  const char *op;
  long long version, n_outputs;
  PyObject *given, *version_, *n_outputs_, *result = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOO!O", names, &op, &version_, &PyTuple_Type,
                                   &given, &n_outputs_) ||
      !tp_whole(version_, "version", 0, INT32_MAX, &version) ||
      !tp_whole(n_outputs_, "n_outputs", 0, MOST_OUTPUTS, &n_outputs))
    return NULL;
  if (!runtime) return PyErr_Format(PyExc_ValueError, "this Runtime was not initialised");
  op_args a = {.n = 0};
  if (!read_all(&a, given, runtime))
    result = use(runtime, op, (int)version, &a, (uint32_t)n_outputs);
  drop(&a);
  return result;
}

PyObject *tp_runtime_run_op(PyObject *self, PyObject *args, PyObject *kwargs) {
  return use_op(self, args, kwargs, run);
}

PyObject *tp_runtime_infer_op(PyObject *self, PyObject *args, PyObject *kwargs) {
  return use_op(self, args, kwargs, infer);
}
