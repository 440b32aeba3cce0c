/* Operators whose kernel is a Python function, for prototypes: each is a plug-in of one operator
 * and one kernel, linked in as those of C programs are (tn_runtime_add_plugin).
 *
 * Nothing is inferred: shapes and dtypes of the outputs are those of what the function answers.
 * Inputs are copied, as the function may keep them. Kernels run on threads of the runtime, which
 * take the GIL for it; whoever waits for them has let go of it. */
#include "binding.h"

#include <string.h>

struct tp_custom {
  struct tp_custom *next;
  tn_plugin plugin;
  tn_op op;
  tn_kernel kernel;
  tn_accept accept;
  const tn_op *ops[1];
  const tn_kernel *kernels[1];
  const tn_accept *accepts[1];
  PyObject *function; /* function(inputs, attributes): lists */
  PyObject *texts;    /* bytes that the tables point to */
  const char *codes;  /* of the attributes, in the order of their struct */
};

/* ---- attributes ---- */

static PyObject *text(tn_str s) {
  return PyUnicode_DecodeUTF8(s.data ? s.data : "", (Py_ssize_t)s.size, "surrogateescape");
}

/* Takes over the item. */
static int push(PyObject *list, PyObject *item) {
  const int failed = !item || PyList_Append(list, item);
  Py_XDECREF(item);
  return failed ? -1 : 0;
}

static PyObject *ints(tn_ints v) {
  PyObject *list = PyList_New(0);
  for (int64_t k = 0; list && k < v.size; k++)
    if (push(list, PyLong_FromLongLong(v.data[k]))) Py_CLEAR(list);
  return list;
}

static PyObject *floats(tn_floats v) {
  PyObject *list = PyList_New(0);
  for (int64_t k = 0; list && k < v.size; k++)
    if (push(list, PyFloat_FromDouble(v.data[k]))) Py_CLEAR(list);
  return list;
}

static PyObject *strings(tn_strs v) {
  PyObject *list = PyList_New(0);
  for (int64_t k = 0; list && k < v.size; k++)
    if (push(list, text(v.data[k]))) Py_CLEAR(list);
  return list;
}

/* The attribute at *at, which moves behind it. Codes: i int, b bool, d float, s str, and I, D, S for
 * lists of them. */
static PyObject *attribute(char code, const char **at) {
  const void *p = *at;
  const bool is_word = code == 'i' || code == 'b' || code == 'd';
  *at += is_word ? 8 : (int)sizeof(tn_str);
  switch (code) {
    case 'i': return PyLong_FromLongLong(*(const int64_t *)p);
    case 'b': return PyBool_FromLong(*(const int64_t *)p != 0);
    case 'd': return PyFloat_FromDouble(*(const double *)p);
    case 's': return text(*(const tn_str *)p);
    case 'I': return ints(*(const tn_ints *)p);
    case 'D': return floats(*(const tn_floats *)p);
    default: return strings(*(const tn_strs *)p);
  }
}

/* A '?' before a code: whether it is given stands before it. */
static PyObject *attributes(const struct tp_custom *self, const tn_call *call) {
  PyObject *list = PyList_New(0);
  const char *at = call->attrs;
  for (const char *code = self->codes; list && *code; code++) {
    bool given = true;
    if (*code == '?') {
      given = *(const int64_t *)at != 0;
      at += 8;
      code++;
    }
    PyObject *value = attribute(*code, &at);
    if (value && !given) {
      Py_DECREF(value);
      value = Py_BuildValue("");
    }
    if (push(list, value)) Py_CLEAR(list);
  }
  return list;
}

/* ---- the kernel ---- */

static PyObject *inputs(const tn_call *call) {
  PyObject *list = PyList_New(0);
  for (uint32_t k = 0; list && k < call->n_inputs; k++)
    if (push(list, call->inputs[k] ? tp_value(call->inputs[k]) : Py_BuildValue(""))) Py_CLEAR(list);
  return list;
}

/* The last exception of a function and how its text begins, for the error that the run ends with. */
static pthread_mutex_t raised_lock = PTHREAD_MUTEX_INITIALIZER;
static PyObject *raised, *raised_text;

/* Takes over both. */
static void keep_raised(PyObject *exception, PyObject *text) {
  pthread_mutex_lock(&raised_lock);
  PyObject *old = raised, *old_text = raised_text;
  raised = exception;
  raised_text = text;
  pthread_mutex_unlock(&raised_lock);
  Py_XDECREF(old);
  Py_XDECREF(old_text);
}

PyObject *tp_custom_take_raised(PyObject *text) {
  pthread_mutex_lock(&raised_lock);
  PyObject *exception = raised, *said = raised_text;
  raised = raised_text = NULL;
  pthread_mutex_unlock(&raised_lock);
  const int is_of_it = exception && said ? PySequence_Contains(text, said) : 0;
  if (is_of_it < 0) PyErr_Clear();
  if (is_of_it <= 0 && exception) {
    keep_raised(exception, said); /* another thread's */
    return NULL;
  }
  Py_XDECREF(said);
  return exception;
}

/* "ValueError: its text", or NULL. */
static PyObject *line_of(PyObject *type, PyObject *value) {
  PyObject *name = type ? PyObject_GetAttrString(type, "__name__") : NULL;
  PyObject *said = value ? PyObject_Str(value) : NULL, *line = NULL;
  const bool says = said && PyUnicode_GetLength(said) > 0;
  PyErr_Clear();
  if (name) line = says ? PyUnicode_FromFormat("%U: %U", name, said) : PyUnicode_FromObject(name);
  Py_XDECREF(name);
  Py_XDECREF(said);
  return line;
}

/* The exception's type and text go to the diagnosis. */
static tn_status tell(const tn_call *call) {
  PyObject *type, *value, *trace, *bytes = NULL;
  const char *words = NULL;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && trace) PyException_SetTraceback(value, trace);
  PyObject *line = line_of(type, value);
  if (line) bytes = tp_utf8(line, "message", &words);
  if (bytes && value) {
    Py_INCREF(value);
    keep_raised(value, PyUnicode_Substring(line, 0, 100));
  }
  PyErr_Clear();
  const tn_status status = call->host->fail(call->ctx, TN_ERR_INVALID, "%s",
                                            bytes ? words : "the Python function failed");
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  Py_XDECREF(line);
  Py_XDECREF(bytes);
  return status;
}

static tn_status give_output(const tn_call *call, uint32_t k, PyObject *value) {
  const tn_tensor any = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
  tp_input in;
  if (!call->outputs[k]) return TN_OK;
  char name[16];
  snprintf(name, sizeof name, "%u", k);
  const tp_label label = {"the function's output", name};
  if (tp_input_take(&in, NULL, &any, value, &label)) return tell(call);
  if (call->outputs[k]->dtype == TN_NONE) call->outputs[k]->dtype = in.tensor.dtype;
  const tn_status status = call->host->output_set(call->ctx, k, &in.tensor);
  tp_input_clear(&in);
  return status;
}

static tn_status run_python(const struct tp_custom *self, const tn_call *call) {
  PyObject *tensors = inputs(call), *named = tensors ? attributes(self, call) : NULL;
  PyObject *results =
      named ? PyObject_CallFunctionObjArgs(self->function, tensors, named, NULL) : NULL;
  tn_status status = TN_OK;
  if (!results || !PyList_Check(results) || PyList_Size(results) < (Py_ssize_t)call->n_outputs)
    status = tell(call);
  for (uint32_t k = 0; !status && k < call->n_outputs; k++)
    status = give_output(call, k, PyList_GetItem(results, (Py_ssize_t)k));
  Py_XDECREF(tensors);
  Py_XDECREF(named);
  Py_XDECREF(results);
  return status;
}

static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const PyGILState_STATE gil = PyGILState_Ensure();
  const tn_status status = run_python(call->self, call);
  PyGILState_Release(gil);
  return status;
}

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

static tn_status infer(const tn_call *call) {
  for (uint32_t k = 0; k < call->n_outputs; k++)
    if (call->outputs[k]) call->outputs[k]->rank = TN_RANK_UNKNOWN;
  return TN_OK;
}

/* ---- adding it ---- */

/* The operator that is being added: a query function has no other way to know. */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static struct tp_custom *added;

static const tn_plugin *query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor;
  return &added->plugin;
}

static tn_status init(const tn_host *host, void *ctx, const tn_option *const *options,
                      uint32_t n_options, void **out_self) {
  (void)host, (void)ctx, (void)options, (void)n_options;
  *out_self = added;
  return TN_OK;
}

static void fill(struct tp_custom *c, const char *names[5]) {
  c->accept = (tn_accept){.head = TN_HEAD(tn_accept), .arg = "*", .dtypes = TN_ANY_DTYPE};
  c->accepts[0] = &c->accept;
  c->op = (tn_op){.head = TN_HEAD(tn_op),
                  .domain = names[1],
                  .name = names[2],
                  .schema = names[3],
                  .infer = infer};
  c->ops[0] = &c->op;
  c->kernel = (tn_kernel){.head = TN_HEAD(tn_kernel),
                          .name = "python",
                          .op = names[4],
                          .n_accepts = 1,
                          .accepts = c->accepts,
                          .plan = plan,
                          .run = run};
  c->kernels[0] = &c->kernel;
  c->plugin = (tn_plugin){.head = TN_HEAD(tn_plugin),
                          .name = names[0],
                          .flavour = TN_FLAVOUR,
                          .n_ops = 1,
                          .n_kernels = 1,
                          .ops = c->ops,
                          .kernels = c->kernels,
                          .init = init};
}

void tp_custom_free(struct tp_custom *c) {
  while (c) {
    struct tp_custom *next = c->next;
    Py_XDECREF(c->function);
    Py_XDECREF(c->texts);
    PyMem_Free(c);
    c = next;
  }
}

int tp_custom_visit(const struct tp_custom *c, visitproc visit, void *arg) {
  for (; c; c = c->next) Py_VISIT(c->function);
  return 0;
}

static int add(tp_runtime *self, struct tp_custom *c) {
  tn_diag *diag = tn_diag_create();
  tn_status status;
  Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&adding);
  added = c;
  status = tn_runtime_add_plugin(self->runtime, query, NULL, 0, diag);
  added = NULL;
  pthread_mutex_unlock(&adding);
  Py_END_ALLOW_THREADS c->next =
      self->custom; /* also where it was refused: its name stays in the list of plug-ins */
  self->custom = c;
  if (status) tp_raise(status, diag, NULL);
  const int failed = status || tp_warn(diag) ? -1 : 0;
  tn_diag_destroy(diag);
  return failed;
}

/* _add_op(plug-in, domain, name, schema, domain::name, codes of the attributes, function) */
PyObject *tp_runtime_add_op(PyObject *self, PyObject *args) {
  PyObject *given[6], *function;
  const char *names[6];
  if (!PyArg_ParseTuple(args, "UUUUUUO", &given[0], &given[1], &given[2], &given[3], &given[4],
                        &given[5], &function))
    return NULL;
  if (!((tp_runtime *)self)->runtime)
    return PyErr_Format(PyExc_RuntimeError, "this Runtime was not initialised");
  struct tp_custom *c = PyMem_Calloc(1, sizeof *c);
  if (!c) return PyErr_NoMemory();
  c->texts = PyList_New(0);
  for (int k = 0; c->texts && k < 6; k++)
    if (push(c->texts, tp_utf8(given[k], "name", &names[k]))) Py_CLEAR(c->texts);
  if (!c->texts) {
    tp_custom_free(c);
    return NULL;
  }
  Py_INCREF(function);
  c->function = function;
  c->codes = names[5];
  fill(c, names);
  return add((tp_runtime *)self, c) ? NULL : Py_BuildValue("");
}
