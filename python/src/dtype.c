/* Element types of Tenon and NumPy. NumPy itself lacks bf16 and the narrow types: those are
 * ml_dtypes', which is imported when the first of them is met.
 *
 * ml_dtypes keeps a byte for each element that is narrower than one; Tenon packs them. */
#include "binding.h"

typedef struct dtype_row {
  uint32_t dtype;
  int number;       /* of NumPy's type; -1: not known */
  const char *name; /* in ml_dtypes; NULL: NumPy's own */
} dtype_row;

static dtype_row rows[] = {
    {TN_F32, NPY_FLOAT32, NULL},
    {TN_F64, NPY_FLOAT64, NULL},
    {TN_F16, NPY_FLOAT16, NULL},
    {TN_I8, NPY_INT8, NULL},
    {TN_I16, NPY_INT16, NULL},
    {TN_I32, NPY_INT32, NULL},
    {TN_I64, NPY_INT64, NULL},
    {TN_U8, NPY_UINT8, NULL},
    {TN_U16, NPY_UINT16, NULL},
    {TN_U32, NPY_UINT32, NULL},
    {TN_U64, NPY_UINT64, NULL},
    {TN_BOOL, NPY_BOOL, NULL},
    {TN_STRING, NPY_OBJECT, NULL},
    {TN_C64, NPY_COMPLEX64, NULL},
    {TN_C128, NPY_COMPLEX128, NULL},
    {TN_BF16, -1, "bfloat16"},
    {TN_F8E4M3FN, -1, "float8_e4m3fn"},
    {TN_F8E4M3FNUZ, -1, "float8_e4m3fnuz"},
    {TN_F8E5M2, -1, "float8_e5m2"},
    {TN_F8E5M2FNUZ, -1, "float8_e5m2fnuz"},
    {TN_F8E8M0, -1, "float8_e8m0fnu"},
    {TN_F4E2M1, -1, "float4_e2m1fn"},
    {TN_I4, -1, "int4"},
    {TN_U4, -1, "uint4"},
    {TN_I2, -1, "int2"},
    {TN_U2, -1, "uint2"},
    {TN_F6E2M3, -1, "float6_e2m3fn"},
    {TN_F6E3M2, -1, "float6_e3m2fn"},
};
enum { N_ROWS = sizeof rows / sizeof *rows, N_NUMPY = NPY_VOID + 1 };

static uint32_t dtype_of_numpy[N_NUMPY + 3]; /* NumPy's own types, half and dates behind void */
static int row_of[TN_DTYPE_COUNT];
static bool asked; /* ml_dtypes was */

static bool is_whole_word(int number) { return number == NPY_LONG || number == NPY_LONGLONG; }
static bool is_unsigned_word(int number) { return number == NPY_ULONG || number == NPY_ULONGLONG; }

void tp_dtypes_init(void) {
  for (int k = 0; k < N_ROWS; k++) {
    row_of[rows[k].dtype] = k;
    if (rows[k].number >= 0 && rows[k].dtype != TN_STRING)
      dtype_of_numpy[rows[k].number] = rows[k].dtype;
  }
  /* C has two names for a word of 64 bits, and NumPy a type for each. */
  for (int k = 0; k < N_NUMPY; k++) {
    if (is_whole_word(k) && !dtype_of_numpy[k])
      dtype_of_numpy[k] = k == NPY_LONG && sizeof(long) == 4 ? TN_I32 : TN_I64;
    if (is_unsigned_word(k) && !dtype_of_numpy[k])
      dtype_of_numpy[k] = k == NPY_ULONG && sizeof(long) == 4 ? TN_U32 : TN_U64;
  }
}

static int number_in(PyObject *module, const char *name) {
  PyObject *type = PyObject_GetAttrString(module, name);
  PyArray_Descr *descr = NULL;
  int number = -1;
  if (type && PyArray_DescrConverter(type, &descr)) number = descr->type_num;
  Py_XDECREF((PyObject *)descr);
  Py_XDECREF(type);
  PyErr_Clear(); /* an older ml_dtypes lacks some */
  return number;
}

/* The types of ml_dtypes, if it is installed. */
static void ask(void) {
  if (asked) return;
  PyObject *module = PyImport_ImportModule("ml_dtypes");
  for (int k = 0; module && k < N_ROWS; k++)
    if (rows[k].name) rows[k].number = number_in(module, rows[k].name);
  if (!module) PyErr_Clear();
  Py_XDECREF(module);
  asked = true;
}

bool tp_has_numpy(uint32_t dtype) {
  if (dtype == TN_NONE || dtype >= TN_DTYPE_COUNT) return false;
  const dtype_row *row = &rows[row_of[dtype]];
  if (row->number < 0) ask();
  return row->number >= 0;
}

int tp_numpy_of(uint32_t dtype) {
  if (tp_has_numpy(dtype)) return rows[row_of[dtype]].number;
  PyErr_Format(PyExc_TypeError,
               "NumPy has no type %s: install ml_dtypes, in a version that has it (pip install "
               "ml_dtypes)",
               tn_dtype_name(dtype));
  return -1;
}

uint32_t tp_dtype_of(PyArrayObject *array) {
  const int number = PyArray_TYPE(array);
  if (number >= 0 && number < (int)(sizeof dtype_of_numpy / sizeof *dtype_of_numpy))
    return dtype_of_numpy[number];
  ask();
  for (int k = 0; k < N_ROWS; k++)
    if (rows[k].number == number) return rows[k].dtype;
  return TN_NONE;
}

/* ---- elements narrower than a byte ---- */

static unsigned bits_of(uint32_t dtype) {
  switch (dtype) {
    case TN_I4:
    case TN_U4:
    case TN_F4E2M1: return 4;
    case TN_I2:
    case TN_U2: return 2;
    default: return 8;
  }
}

bool tp_is_packed(uint32_t dtype) { return bits_of(dtype) < 8; }

void tp_pack(uint32_t dtype, const uint8_t *from, int64_t n, uint8_t *to) {
  const unsigned bits = bits_of(dtype), per_byte = 8 / bits, mask = (1U << bits) - 1;
  for (int64_t k = 0; k < n; k++) {
    const unsigned shift = (unsigned)(k % per_byte) * bits;
    uint8_t *byte = &to[k / per_byte];
    *byte = (uint8_t)((shift ? *byte : 0U) | (from[k] & mask) << shift);
  }
}

void tp_unpack(uint32_t dtype, const uint8_t *from, int64_t n, uint8_t *to) {
  const unsigned bits = bits_of(dtype), per_byte = 8 / bits, mask = (1U << bits) - 1;
  for (int64_t k = 0; k < n; k++) {
    to[k] = (uint8_t)(from[k / per_byte] >> ((unsigned)(k % per_byte) * bits) & mask);
  }
}
