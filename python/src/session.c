/* tenon._tenon.Session: one session with its inputs and outputs bound by name, and what its plan
 * holds. For io binding, explain() and profile(); plain calls go through Model. */
#include "binding.h"
#include "interrupt.h"

#include <stdatomic.h>
#include <string.h>

PyTypeObject *tp_session_type;

/* Sessions that share states have one of these: states are read by nobody while a run is on. */
typedef struct guard {
  atomic_int refs;
  pthread_mutex_t lock; /* held by whoever runs, or works with the states */
} guard;

typedef struct tp_session {
  PyObject object;
  tp_model *model;
  tp_slot *slot;
  guard *states;
  pthread_mutex_t lock; /* held by whoever works with the session */
  bool has_lock;
} tp_session;

static guard *guard_new(void) {
  guard *g = PyMem_Malloc(sizeof *g);
  if (g && !pthread_mutex_init(&g->lock, NULL)) {
    atomic_init(&g->refs, 1);
    return g;
  }
  PyMem_Free(g);
  PyErr_NoMemory();
  return NULL;
}

static void guard_release(guard *g) {
  if (!g || atomic_fetch_sub(&g->refs, 1) > 1) return;
  pthread_mutex_destroy(&g->lock);
  PyMem_Free(g);
}

/* ---- one thread at a time ---- */

/* NULL and an exception if another thread is at it. */
static tp_slot *enter(PyObject *object) {
  tp_session *self = (tp_session *)object;
  if (!self->slot) {
    PyErr_SetString(PyExc_RuntimeError, "this Session was not initialised");
    return NULL;
  }
  if (!pthread_mutex_trylock(&self->lock)) return self->slot;
  PyErr_SetString(PyExc_RuntimeError, "this Session is in use by another thread");
  return NULL;
}

static void leave(PyObject *object) { pthread_mutex_unlock(&((tp_session *)object)->lock); }

static const char in_use[] = "another session is running on the states of this one";

static guard *guard_of(PyObject *object) { return ((tp_session *)object)->states; }

/* Enters, and takes the states for itself. */
static tp_slot *enter_states(PyObject *object) {
  tp_slot *s = enter(object);
  if (!s || !pthread_mutex_trylock(&guard_of(object)->lock)) return s;
  leave(object);
  tp_raise(TN_ERR_STATE, NULL, in_use);
  return NULL;
}

static void leave_states(PyObject *object) {
  pthread_mutex_unlock(&guard_of(object)->lock);
  leave(object);
}

static tp_model *model_of(PyObject *object) { return ((tp_session *)object)->model; }

/* Leaves, too. */
static PyObject *done(PyObject *object, tn_status status) {
  tp_slot *s = ((tp_session *)object)->slot;
  PyObject *result = status ? tp_raise(status, s->diag, NULL) : Py_BuildValue("");
  leave(object);
  return result;
}

/* ---- binding ---- */

static PyObject *bind_input(PyObject *object, tp_slot *s, int32_t k, PyObject *value) {
  tp_model *m = model_of(object);
  tp_input in = {.keep = NULL};
  tn_status status = TN_OK;
  const tp_device_array *there = tp_device_array_of(value);
  if (there && !there->buffer)
    return PyErr_Format(PyExc_RuntimeError, "this DeviceArray was not initialised");
  if (there) {
    Py_INCREF(value);
    in.keep = value;
    status = tn_session_bind_input(s->session, k, &there->type, there->buffer, 0, s->diag);
  } else if (value != Py_None || m->declared[k].kind != TN_KIND_TENSOR) {
    const tp_label label = {"input", tn_model_input_name(m->model, k)};
    if (tp_input_take(&in, m->runtime->runtime, &m->declared[k], value, &label)) return NULL;
    status = tn_session_set_input(s->session, k, &in.tensor, s->diag);
  } else {
    status = tn_session_set_input(s->session, k, NULL, s->diag);
  }
  if (status) {
    tn_session_set_input(s->session, k, NULL, NULL);
    tp_raise(status, s->diag, NULL);
  }
  tp_input_clear(&s->inputs[k]); /* which the session has forgotten by now */
  s->inputs[k] = in;
  s->is_quick = false;
  return status ? NULL : Py_BuildValue("");
}

/* set_input(name, value): None takes it back */
static PyObject *set_input(PyObject *object, PyObject *args) {
  PyObject *name, *value, *result = NULL;
  if (!PyArg_ParseTuple(args, "OO", &name, &value)) return NULL;
  tp_slot *s = enter(object);
  if (!s) return NULL;
  const int32_t k = tp_input_index(model_of(object), name);
  if (k >= 0) result = bind_input(object, s, k, value);
  leave(object);
  return result;
}

/* Why results cannot be written to an array. */
static const char *refuse_output(PyObject *object) {
  const tp_device_array *there = tp_device_array_of(object);
  if (there) return there->buffer ? NULL : "was not initialised";
  if (!PyArray_Check(object)) return "is no numpy array";
  PyArrayObject *array = (PyArrayObject *)object;
  if (!PyArray_ISWRITEABLE(array)) return "is read-only";
  if (!PyArray_ISCARRAY(array)) return "is not in C order, or not aligned, or of other byte order";
  if (PyArray_NDIM(array) > TN_MAX_RANK) return "has more than 8 dims";
  const uint32_t dtype = tp_dtype_of(array);
  if (dtype == TN_NONE) return "has elements that cannot be written to";
  return tp_is_packed(dtype) ? "has elements that Tenon packs" : NULL;
}

static tn_status bind_output(tp_slot *s, int32_t k, PyObject *object) {
  const tp_device_array *there = tp_device_array_of(object);
  if (there) return tn_session_bind_output(s->session, k, there->buffer, 0, s->diag);
  PyArrayObject *array = (PyArrayObject *)object;
  int64_t shape[TN_MAX_RANK];
  for (int j = 0; j < PyArray_NDIM(array); j++) shape[j] = PyArray_DIM(array, j);
  const tn_tensor where =
      tn_tensor_make(tp_dtype_of(array), PyArray_NDIM(array), shape, PyArray_DATA(array));
  return tn_session_set_output(s->session, k, &where, s->diag);
}

/* set_output(name, array): None takes it back */
static PyObject *set_output(PyObject *object, PyObject *args) {
  PyObject *name, *array;
  if (!PyArg_ParseTuple(args, "OO", &name, &array)) return NULL;
  tp_slot *s = enter(object);
  if (!s) return NULL;
  const int32_t k = tp_output_index(model_of(object), name);
  const char *reason = k < 0 || array == Py_None ? NULL : refuse_output(array);
  if (k < 0 || reason) {
    if (reason) PyErr_Format(PyExc_TypeError, "output %R: the array %s", name, reason);
    leave(object);
    return NULL;
  }
  const tn_status status = array == Py_None ? tn_session_set_output(s->session, k, NULL, s->diag)
                                            : bind_output(s, k, array);
  if (!status) {
    Py_XDECREF(s->arrays[k]);
    s->arrays[k] = array == Py_None ? NULL : array;
    Py_XINCREF(s->arrays[k]);
  }
  return done(object, status);
}

/* ---- running ---- */

static PyObject *run(PyObject *object, PyObject *unused) {
  tp_slot *s = enter_states(object);
  (void)unused;
  if (!s) return NULL;
  tn_status status;
  tp_watch watch;
  tp_watch_begin(&watch, s);
  Py_BEGIN_ALLOW_THREADS status = tp_watch_run(&watch, s);
  Py_END_ALLOW_THREADS pthread_mutex_unlock(&guard_of(object)->lock);
  if (!tp_watch_end(&watch, s, status)) return done(object, status);
  leave(object);
  return NULL;
}

/* Any thread: the one that runs has the lock. */
static PyObject *cancel(PyObject *object, PyObject *unused) {
  const tp_slot *s = ((tp_session *)object)->slot;
  (void)unused;
  if (s) tn_session_cancel(s->session);
  Py_RETURN_NONE;
}

static PyObject *prepare(PyObject *object, PyObject *unused) {
  tp_slot *s = enter(object);
  (void)unused;
  if (!s) return NULL;
  tn_status status;
  Py_BEGIN_ALLOW_THREADS status = tn_session_prepare(s->session, s->diag);
  Py_END_ALLOW_THREADS return done(object, status);
}

/* Names inputs by their declared types alone, open dims as 1: enough to plan. */
static PyObject *assume_inputs(PyObject *object, PyObject *unused) {
  tp_slot *s = enter(object);
  tp_model *m = model_of(object);
  tn_status status = TN_OK;
  (void)unused;
  if (!s) return NULL;
  for (int32_t k = 0; !status && k < m->n_inputs; k++) {
    tn_tensor type = m->declared[k];
    if (type.rank < 0) type.rank = 0;
    for (int32_t j = 0; j < type.rank; j++)
      if (type.shape[j] < 0) type.shape[j] = 1;
    status = tn_session_set_input(s->session, k, &type, s->diag);
  }
  return done(object, status);
}

/* The array is the output: its memory, and as many dims of the same sizes. */
static bool is_in(const tn_tensor *value, PyArrayObject *array) {
  bool same = value->data == PyArray_DATA(array) && value->dtype == tp_dtype_of(array) &&
              value->rank == PyArray_NDIM(array);
  for (int32_t k = 0; same && k < value->rank; k++) same = value->shape[k] == PyArray_DIM(array, k);
  return same;
}

static PyObject *one_output(tp_slot *s, int32_t k) {
  const tn_tensor *value = tn_session_output(s->session, k);
  PyObject *array = s->arrays[k];
  if (!value) return PyErr_Format(PyExc_RuntimeError, "there is no output: nothing has been run");
  const tp_device_array *there = array ? tp_device_array_of(array) : NULL;
  if (there && !tp_same_type(&there->type, value))
    return PyErr_Format(PyExc_RuntimeError,
                        "the output is not of the dtype and shape of its DeviceArray");
  if (there) {
    Py_INCREF(array);
    return array;
  }
  if (!array || !is_in(value, (PyArrayObject *)array)) return tp_value(value);
  Py_INCREF(array);
  return array;
}

static PyObject *output(PyObject *object, PyObject *name) {
  tp_slot *s = enter(object);
  if (!s) return NULL;
  const int32_t k = tp_output_index(model_of(object), name);
  PyObject *result = k < 0 ? NULL : one_output(s, k);
  leave(object);
  return result;
}

/* ---- states ---- */

static PyObject *state(PyObject *object, PyObject *name) {
  tp_slot *s = enter_states(object);
  if (!s) return NULL;
  const int32_t k = tp_state_index(model_of(object), name);
  PyObject *result = k < 0 ? NULL : tp_value(tn_session_state(s->session, k));
  leave_states(object);
  return result;
}

static PyObject *change_state(tp_model *m, tp_slot *s, int32_t k, PyObject *value) {
  const tp_label label = {"state", tn_model_state_name(m->model, k)};
  tn_tensor declared;
  tp_input in;
  tn_status status = tn_model_state_type(m->model, k, &declared);
  if (!status && tp_input_take(&in, m->runtime->runtime, &declared, value, &label)) return NULL;
  if (!status) {
    status = tn_session_set_state(s->session, k, &in.tensor, s->diag);
    tp_input_clear(&in);
  }
  return status ? tp_raise(status, s->diag, NULL) : Py_BuildValue("");
}

/* set_state(name, value): copied */
static PyObject *set_state(PyObject *object, PyObject *args) {
  PyObject *name, *value, *result = NULL;
  if (!PyArg_ParseTuple(args, "OO", &name, &value)) return NULL;
  tp_slot *s = enter_states(object);
  if (!s) return NULL;
  const int32_t k = tp_state_index(model_of(object), name);
  if (k >= 0) result = change_state(model_of(object), s, k, value);
  leave_states(object);
  return result;
}

static PyObject *reset(PyObject *object, PyObject *unused) {
  tp_slot *s = enter_states(object);
  (void)unused;
  if (!s) return NULL;
  const tn_status status = tn_session_reset(s->session);
  pthread_mutex_unlock(&guard_of(object)->lock);
  return done(object, status);
}

/* From here on, the guard of the other session is that of this one, too. */
static void change_guard(tp_session *self, guard *to) {
  guard *before = self->states;
  atomic_fetch_add(&to->refs, 1);
  self->states = to;
  pthread_mutex_unlock(&before->lock);
  guard_release(before);
}

/* Both sessions are this thread's. */
static tn_status join(tp_session *self, tp_session *with) {
  guard *mine = self->states, *other = with->states;
  if (mine == other) return TN_OK;
  if (pthread_mutex_trylock(&mine->lock)) return TN_ERR_STATE;
  if (pthread_mutex_trylock(&other->lock)) {
    pthread_mutex_unlock(&mine->lock);
    return TN_ERR_STATE;
  }
  const tn_status status =
      tn_session_share(self->slot->session, with->slot->session, self->slot->diag);
  if (status)
    pthread_mutex_unlock(&mine->lock);
  else
    change_guard(self, other);
  pthread_mutex_unlock(&other->lock);
  return status;
}

/* share(session): from now on this one's states are those of the other one. */
static PyObject *share(PyObject *object, PyObject *with) {
  if (!PyObject_TypeCheck(with, tp_session_type))
    return PyErr_Format(PyExc_TypeError, "share: takes a Session, not %R",
                        (PyObject *)Py_TYPE(with));
  tp_slot *s = enter(object);
  if (!s) return NULL;
  if (with != object && !enter(with)) {
    leave(object);
    return NULL;
  }
  const tn_status status = join((tp_session *)object, (tp_session *)with);
  PyObject *result = status ? tp_raise(status, s->diag, in_use) : Py_BuildValue("");
  if (with != object) leave(with);
  leave(object);
  return result;
}

/* ---- what the plan holds ---- */

static PyObject *type_or_none(const tn_tensor *type) {
  return type ? tp_describe(type) : Py_BuildValue("");
}

static PyObject *types(const tn_tensor *const *all, uint32_t n) {
  PyObject *list = PyList_New(0);
  for (uint32_t k = 0; list && k < n; k++) {
    PyObject *type = type_or_none(all[k]);
    if (!type || PyList_Append(list, type)) Py_CLEAR(list);
    Py_XDECREF(type);
  }
  return list;
}

static PyObject *texts(const char *const *all, uint32_t n) {
  PyObject *list = PyList_New(0);
  for (uint32_t k = 0; list && k < n; k++) {
    PyObject *text = tp_text(all[k]);
    if (!text || PyList_Append(list, text)) Py_CLEAR(list);
    Py_XDECREF(text);
  }
  return list;
}

static PyObject *step(const tn_step_info *i) {
  return Py_BuildValue("{sNsNsNsssssNsNsNsNsNsdsdsKsKsIsIsi}", "node", tp_text(i->node), "op",
                       tp_text(i->op), "kernel", tp_text(i->kernel), "device", i->device, "plugin",
                       i->plugin, "inputs", types(i->inputs, i->n_inputs), "outputs",
                       types(i->outputs, i->n_outputs), "fused", texts(i->epilogue, i->n_epilogue),
                       "refused", texts(i->refused_kernels, i->n_refusals), "reasons",
                       texts(i->refusals, i->n_refusals), "cost_ns", i->cost_ns, "flops", i->flops,
                       "scratch_bytes", (unsigned long long)i->scratch_bytes, "state_bytes",
                       (unsigned long long)i->state_bytes, "stages", i->n_stages, "depth", i->depth,
                       "leader", (int)i->leader);
}

static PyObject *steps(PyObject *object, PyObject *unused) {
  tp_slot *s = enter(object);
  (void)unused;
  if (!s) return NULL;
  PyObject *list = PyList_New(0);
  for (int32_t k = 0; list; k++) {
    tn_step_info info = {.head = TN_HEAD(tn_step_info)};
    if (tn_session_step(s->session, k, &info)) break;
    PyObject *item = step(&info);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  leave(object);
  return list;
}

static PyObject *plan(PyObject *object, PyObject *unused) {
  tp_slot *s = enter(object);
  (void)unused;
  if (!s) return NULL;
  tn_plan_info i = {.head = TN_HEAD(tn_plan_info)};
  const tn_status status = tn_session_plan(s->session, &i);
  if (status) return done(object, status);
  PyObject *result = Py_BuildValue(
      "{sisKsKsKsKsKsdsd}", "n_steps", (int)i.n_steps, "arena_bytes",
      (unsigned long long)i.arena_bytes, "arena_bound_bytes",
      (unsigned long long)i.arena_bound_bytes, "scratch_bytes", (unsigned long long)i.scratch_bytes,
      "state_bytes", (unsigned long long)i.state_bytes, "const_bytes",
      (unsigned long long)i.const_bytes, "cost_ns", i.cost_ns, "flops", i.flops);
  leave(object);
  return result;
}

/* ---- profiling ---- */

static PyObject *profile(PyObject *object, PyObject *on) {
  tp_slot *s = enter(object);
  if (!s) return NULL;
  const int is_on = PyObject_IsTrue(on);
  return done(object, is_on < 0 ? TN_ERR_INVALID : tn_session_profile(s->session, is_on));
}

static PyObject *events(PyObject *object, PyObject *unused) {
  tp_slot *s = enter(object);
  (void)unused;
  if (!s) return NULL;
  PyObject *list = PyList_New(0);
  for (int64_t k = 0; list && k < tn_session_n_events(s->session); k++) {
    tn_profile_event e = {.head = TN_HEAD(tn_profile_event)};
    if (tn_session_event(s->session, k, &e)) break;
    PyObject *item =
        Py_BuildValue("{sisIsKsKsNsNsNsN}", "step", (int)e.step, "run", e.run, "begin_ns",
                      (unsigned long long)e.begin_ns, "end_ns", (unsigned long long)e.end_ns,
                      "node", tp_text(e.node), "op", tp_text(e.op), "kernel", tp_text(e.kernel),
                      "followers", texts(e.followers, e.n_followers));
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  leave(object);
  return list;
}

/* ---- the type ---- */

static int session_init(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"model", NULL};
  tp_session *self = (tp_session *)object;
  PyObject *model;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!", names, tp_model_type, &model)) return -1;
  if (self->has_lock) {
    PyErr_SetString(PyExc_RuntimeError, "a Session cannot be initialised twice");
    return -1;
  }
  if (pthread_mutex_init(&self->lock, NULL)) {
    PyErr_NoMemory();
    return -1;
  }
  self->has_lock = true;
  Py_INCREF(model);
  self->model = (tp_model *)model;
  self->states = guard_new();
  self->slot = self->states ? tp_slot_new(self->model) : NULL;
  return self->slot ? 0 : -1;
}

static int session_traverse(PyObject *object, visitproc visit, void *arg) {
  const tp_model *m = model_of(object);
  const tp_slot *s = ((tp_session *)object)->slot;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(m);
  for (int32_t k = 0; s && k < m->n_all; k++) Py_VISIT(s->inputs[k].keep);
  for (int32_t k = 0; s && k < m->n_outputs; k++) Py_VISIT(s->arrays[k]);
  return 0;
}

static void session_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  tp_session *self = (tp_session *)object;
  if (self->model) tp_slot_free(self->model, self->slot);
  guard_release(self->states);
  if (self->has_lock) pthread_mutex_destroy(&self->lock);
  Py_XDECREF((PyObject *)self->model);
  tp_free(object);
}

static PyMethodDef methods[] = {
    {"set_input", set_input, METH_VARARGS, "set_input(name, value); None takes it back."},
    {"set_output", set_output, METH_VARARGS,
     "set_output(name, array): where the output is written, in memory or on a device; None takes "
     "it back."},
    {"run", run, METH_NOARGS, "Runs with the inputs that are set."},
    {"cancel", cancel, METH_NOARGS, "Asks the run that another thread has under way to stop."},
    {"prepare", prepare, METH_NOARGS, "Plans for the inputs that are set, without running."},
    {"assume_inputs", assume_inputs, METH_NOARGS,
     "Sets inputs to their declared types, open dims 1, without data: enough to prepare."},
    {"output", output, METH_O, "output(name): of the last run."},
    {"state", state, METH_O, "state(name): a copy, as the last run left it."},
    {"set_state", set_state, METH_VARARGS,
     "set_state(name, value): what the next run begins with."},
    {"reset", reset, METH_NOARGS, "All states become what they are before the first run."},
    {"share", share, METH_O,
     "share(session): from now on this one has its states, found by name, in common with it."},
    {"steps", steps, METH_NOARGS, "The steps of the plan."},
    {"plan", plan, METH_NOARGS, "Figures of the plan."},
    {"profile", profile, METH_O, "profile(on): records every step of the runs to come."},
    {"events", events, METH_NOARGS, "What was recorded."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_init, session_init},
                              {Py_tp_dealloc, session_dealloc},
                              {Py_tp_traverse, session_traverse},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "A session whose inputs and outputs are bound by name."},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._tenon.Session", (int)sizeof(tp_session), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

int tp_session_ready(PyObject *module) {
  tp_session_type = tp_type(module, &spec, "Session");
  return tp_session_type ? 0 : -1;
}
