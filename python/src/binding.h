/* What the files of the Python module share: its objects, and how values cross the border.
 *
 * The module keeps to CPython's limited API of 3.9, so that one build serves every later version;
 * arrays go in and out through NumPy's own C API. Functions return what CPython's do: NULL or -1
 * with a Python exception set on failure. */
#ifndef TENON_PYTHON_BINDING_H
#define TENON_PYTHON_BINDING_H

#include <Python.h>
#include <pthread.h>
#include <stdbool.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tenon_numpy_api
#ifndef TP_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "tenon/tenon.h"

/* CPython keeps functions in members of type void *. */
#pragma GCC diagnostic ignored "-Wpedantic"

/* ---- objects ---- */

typedef struct tp_runtime {
  PyObject object;
  tn_runtime *runtime;      /* NULL: its __init__ has not run, or failed */
  struct tp_custom *custom; /* operators written in Python; their tables outlive the runtime */
} tp_runtime;

/* An input of a call, and what has to live as long as the call reads it. */
typedef struct tp_input {
  tn_tensor tensor;
  PyObject *keep;  /* owns tensor.data; NULL: nothing does */
  void *memory;    /* strings or packed elements made for the call */
  tn_tensor *list; /* a sequence, optional or map made for the call */
} tp_input;

/* One session with all that a call needs. A model keeps those that are idle, so concurrent calls
 * have one each. */
typedef struct tp_slot {
  struct tp_slot *next;
  tn_session *session;
  tn_diag *diag;
  tp_input *inputs;  /* n_all */
  tn_tensor *types;  /* n_outputs: of the last call */
  PyObject **arrays; /* n_outputs: where outputs are written; NULL: where the session likes */
  bool has_types;
  bool is_quick; /* the last run took less than a millisecond */
} tp_slot;

typedef struct tp_model {
  PyObject object;
  tp_runtime *runtime;
  tn_model *model;
  int32_t n_inputs, n_all, n_outputs;
  tn_tensor *declared; /* n_all */
  PyObject *index_of;  /* dict: name of an input -> index */
  PyObject *outputs;   /* tuple of names */
  PyObject *states;    /* tuple of names */
  PyObject *source;    /* bytes that the model was loaded from, which it reads; or NULL */
  pthread_mutex_t lock;
  bool has_lock;
  tp_slot *idle;
} tp_model;

/* An array on a device. */
typedef struct tp_device_array {
  PyObject object;
  tp_model *model;
  tn_device_buffer *buffer; /* NULL: its __init__ has not run, or failed */
  tn_tensor type;
} tp_device_array;

extern PyTypeObject *tp_runtime_type, *tp_model_type, *tp_session_type, *tp_device_array_type;
/* Each makes its type and adds it to the module. */
int tp_runtime_ready(PyObject *module);
int tp_model_ready(PyObject *module);
int tp_session_ready(PyObject *module);
int tp_device_ready(PyObject *module);

/* ---- module.c: errors and small helpers ---- */

/* Raises tenon.Error with what diag says; answers NULL. */
PyObject *tp_raise(tn_status status, tn_diag *diag, const char *what);
/* Warnings of diag become Python warnings; -1 if one of them was made an exception. */
int tp_warn(tn_diag *diag);
PyObject *tp_text(const char *text); /* never fails for bytes that are no UTF-8; None for NULL */
/* UTF-8 of a str, as bytes that the caller releases; *out_text ends with a zero byte and has none
 * inside. what: "path", for the message. */
PyObject *tp_utf8(PyObject *object, const char *what, const char **out_text);
/* A path: str, bytes or os.PathLike. */
PyObject *tp_path(PyObject *object, const char *what, const char **out_text);
/* The texts of a sequence, which `keep`, a list, keeps alive; the caller frees the array
 * (PyMem_Free). NULL: an exception. */
const char **tp_texts(PyObject *list, const char *what, PyObject *keep, uint32_t *out_n);
/* A whole number in a range; false after an exception that names the argument. */
bool tp_whole(PyObject *object, const char *what, long long low, long long high, long long *out);
PyTypeObject *tp_type(PyObject *module, PyType_Spec *spec, const char *name);
void tp_free(PyObject *self); /* the end of every tp_dealloc */

/* ---- dtype.c ---- */

int tp_numpy_of(uint32_t dtype);            /* type number; -1 and an exception: NumPy has none */
bool tp_has_numpy(uint32_t dtype);          /* the same as a question */
uint32_t tp_dtype_of(PyArrayObject *array); /* TN_NONE, without an exception: Tenon has none */
bool tp_is_packed(uint32_t dtype);          /* several elements in a byte */
void tp_pack(uint32_t dtype, const uint8_t *from, int64_t n, uint8_t *to);
void tp_unpack(uint32_t dtype, const uint8_t *from, int64_t n, uint8_t *to);
void tp_dtypes_init(void);

/* ---- value_in.c, value_out.c, dlpack.c ---- */

/* What a value is for, in messages: {"input", "x"}. */
typedef struct tp_label {
  const char *kind, *name;
} tp_label;

/* Fills in *in from any object that can stand for a value of the declared type. What does not match
 * in dtype or shape is left to the session to refuse. */
int tp_input_take(tp_input *in, tn_runtime *runtime, const tn_tensor *declared, PyObject *object,
                  const tp_label *label);
void tp_input_clear(tp_input *in);
/* A copy of a value: an array, a list, a dict or None. */
PyObject *tp_value(const tn_tensor *value);
/* An array for a type whose dims are known, its elements undefined. */
PyObject *tp_array_new(const tn_tensor *type);
/* True: an array can be made before the run, for the run to write to. */
bool tp_is_bindable(const tn_tensor *type);
/* ("tensor", "f32", (1, None)); the dims None if the rank is open. */
PyObject *tp_describe(const tn_tensor *type);
/* What stands around the elements, from the outside in: [("sequence", None), ("map", "i64")]; of
 * maps, the dtype of the keys as well, if it is known. */
PyObject *tp_kinds(const tn_tensor *type);
/* An array on the memory of an object that has __dlpack__. */
PyObject *tp_from_dlpack(PyObject *object);

/* ---- model.c ---- */

tp_slot *tp_slot_new(tp_model *m);
void tp_slot_free(tp_model *m, tp_slot *slot);
/* Index of an input named by a str or int. */
int32_t tp_input_index(tp_model *m, PyObject *name);
int32_t tp_output_index(tp_model *m, PyObject *name);
int32_t tp_state_index(tp_model *m, PyObject *name);

/* ---- device.c ---- */

tp_device_array *tp_device_array_of(PyObject *object); /* NULL, without an exception: it is none */
bool tp_same_type(const tn_tensor *a, const tn_tensor *b); /* of tensors whose shapes are known */

/* ---- op.c, custom.c ---- */

PyObject *tp_runtime_run_op(PyObject *self, PyObject *args, PyObject *kwargs);
/* Runtime._infer_op: the types of the outputs that it would have. */
PyObject *tp_runtime_infer_op(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *tp_runtime_add_op(PyObject *self, PyObject *args);
void tp_custom_free(struct tp_custom *custom);
int tp_custom_visit(const struct tp_custom *custom, visitproc visit, void *arg);
/* What a Python function raised, if this text of an error tells of it: a new reference; or NULL. */
PyObject *tp_custom_take_raised(PyObject *text);

/* ---- adapter.c ---- */

PyObject *tp_adapter_function(PyObject *module, PyObject *args);
PyObject *tp_adapter_load_plugin(PyObject *module, PyObject *args);

#endif
