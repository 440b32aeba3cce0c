/* TensorProto: every element type from raw data and from typed fields, what is borrowed and what is
 * copied, external data, and what is refused. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit.h"
#include "pb.h"

/* The one tensor of a value file; its bytes are copied. */
typedef struct got {
  tn_tensor t;
  char name[40], bytes[4000];
  int count;
  int64_t fail_after;
} got;

static tn_status on_tensor(void *ctx, const char *name, const tn_tensor *t) {
  got *g = ctx;
  g->t = *t;
  g->count++;
  snprintf(g->name, sizeof g->name, "%s", name);
  assert_true((uintptr_t)t->data % 8 == 0 || tn_dtype(t->dtype)->bits < 64);
  assert_true(tn_tensor_bytes(t) >= 0 && tn_tensor_bytes(t) <= (int64_t)sizeof g->bytes);
  if (t->dtype != TN_STRING) {
    memcpy(g->bytes, t->data, (size_t)tn_tensor_bytes(t));
    return TN_OK;
  }
  const tn_str *strs = t->data;
  int64_t at = 0;
  for (int64_t k = 0; k < tn_tensor_elements(t); k++) { /* each with a zero after it */
    memcpy(g->bytes + at, strs[k].data, (size_t)strs[k].size);
    at += strs[k].size + 1;
  }
  return TN_OK;
}

/* Reads the tensor that message m holds, and frees m. */
static tn_status read_tensor(kit *k, pb m, got *g) {
  *g = (got){.count = 0};
  tn_value_sink sink = {.head = TN_HEAD(tn_value_sink), .ctx = g, .tensor = on_tensor};
  tn_source source = kit_source(k, tn_text_get(&m), (uint64_t)m.n);
  tn_status s = onnx_format.read_value(&source, TN_KIND_TENSOR, &sink);
  assert_int_equal(k->n_live, 0);
  tn_text_free(&m);
  return s;
}

static void expect_error(pb m, tn_status status, const char *words) {
  kit k;
  got g;
  kit_init(&k);
  assert_int_equal(read_tensor(&k, m, &g), status);
  assert_int_equal(g.count, 0);
  if (!strstr(tn_text_get(&k.messages), words))
    fail_msg("'%s' is not in: %s", words, k.messages.data);
  kit_free(&k);
}

static void expect_tensor(pb m, uint32_t dtype, int64_t n, const void *bytes, int64_t n_bytes) {
  kit k;
  got g;
  kit_init(&k);
  tn_status s = read_tensor(&k, m, &g);
  if (s) fail_msg("%s: %s", tn_dtype_name(dtype), k.messages.data);
  assert_int_equal(g.count, 1);
  assert_string_equal(g.name, "t");
  assert_int_equal(g.t.dtype, dtype);
  assert_int_equal(g.t.rank, 1);
  assert_int_equal(g.t.shape[0], n);
  if (dtype != TN_STRING) assert_int_equal(tn_tensor_bytes(&g.t), n_bytes);
  assert_memory_equal(g.bytes, bytes, (size_t)n_bytes);
  kit_free(&k);
}

/* ---- Every type ---- */

/* data_type of the file, dtype, the field it stands in. Written from the specification, not from
 * the reader. */
static const struct {
  int data_type;
  uint32_t dtype, field;
} types[] = {
    {1, TN_F32, 4},         {2, TN_U8, 5},      {3, TN_I8, 5},          {4, TN_U16, 5},
    {5, TN_I16, 5},         {6, TN_I32, 5},     {7, TN_I64, 7},         {9, TN_BOOL, 5},
    {10, TN_F16, 5},        {11, TN_F64, 10},   {12, TN_U32, 11},       {13, TN_U64, 11},
    {14, TN_C64, 4},        {15, TN_C128, 10},  {16, TN_BF16, 5},       {17, TN_F8E4M3FN, 5},
    {18, TN_F8E4M3FNUZ, 5}, {19, TN_F8E5M2, 5}, {20, TN_F8E5M2FNUZ, 5}, {21, TN_U4, 5},
    {22, TN_I4, 5},         {23, TN_F4E2M1, 5}, {24, TN_F8E8M0, 5},     {25, TN_U2, 5},
    {26, TN_I2, 5},
};
enum { N_TYPES = sizeof types / sizeof *types, N = 5 };

/* Bytes for N elements; booleans are 0 and 1. */
static int64_t pattern(uint32_t dtype, uint8_t *bytes) {
  int64_t n = tn_dtype_bytes(dtype, N);
  for (int64_t k = 0; k < n; k++) bytes[k] = (uint8_t)(dtype == TN_BOOL ? k & 1 : k * 37 + 129);
  return n;
}

static void raw_data_of_every_type(void **state) {
  (void)state;
  for (size_t k = 0; k < N_TYPES; k++) {
    for (int shift = 0; shift < 4; shift++) { /* moves the data to other alignments */
      uint8_t bytes[128];
      int64_t dim = N, n = pattern(types[k].dtype, bytes);
      pb t = pb_tensor("t", types[k].data_type, 1, &dim);
      pb_str(&t, 12, &"doc"[3 - shift]);
      pb_bytes(&t, 9, bytes, n);
      expect_tensor(t, types[k].dtype, N, bytes, n);
    }
  }
}

/* Four elements in three bytes, as the specification writes it; the rest of a group is left out. */
static void six_bit_floats(void **state) {
  (void)state;
  const uint8_t x[12] = {0x3F, 0x01, 0x20, 0x15, 0x00, 0x2A, 0x3E, 0x07, 0x11, 0x22, 0x33, 0};
  uint8_t raw[9];
  for (int g = 0; g < 3; g++) {
    const uint8_t *e = x + 4 * g;
    raw[3 * g] = (uint8_t)(e[0] | (e[1] & 0x3) << 6);
    raw[3 * g + 1] = (uint8_t)(e[1] >> 2 | (e[2] & 0xF) << 4);
    raw[3 * g + 2] = (uint8_t)(e[2] >> 4 | e[3] << 2);
  }
  for (int64_t n = 0; n <= 11; n++) {
    const int64_t bytes = (6 * n + 7) / 8;
    pb t = pb_tensor("t", 27 + (int)(n & 1), 1, &n), typed = pb_tensor("t", 28, 1, &n);
    uint8_t cut[9] = {0}; /* padded with zeros */
    memcpy(cut, raw, (size_t)bytes);
    if (n % 4) cut[bytes - 1] &= (uint8_t)(0xFF >> (8 * bytes - 6 * n));
    pb_bytes(&t, 9, cut, bytes);
    expect_tensor(t, n & 1 ? TN_F6E3M2 : TN_F6E2M3, n, x, n);
    for (int64_t k = 0; k < n; k++) pb_int(&typed, 5, x[k]);
    expect_tensor(typed, TN_F6E3M2, n, x, n);
  }
  int64_t three = 3;
  pb t = pb_tensor("t", 27, 1, &three);
  pb_bytes(&t, 9, raw, 4);
  expect_error(t, TN_ERR_INVALID, "f6e2m3[3] and needs 3 bytes, but holds 4");
  t = pb_tensor("t", 28, 1, &three);
  pb_packed(&t, 5, (const int64_t[]){1, 64, 2}, 3);
  expect_error(t, TN_ERR_INVALID, "int32_data holds 64, which does not fit into f6e3m2");
  t = pb_tensor("t", 28, 1, &three);
  pb_packed(&t, 5, (const int64_t[]){1, -1, 2}, 3);
  expect_error(t, TN_ERR_INVALID, "-1, which does not fit into f6e3m2");
}

static void add_number(pb *m, uint32_t field, uint32_t dtype, const uint8_t *p, int64_t width,
                       pb *packed) {
  int64_t v = 0;
  float f;
  double d;
  memcpy(&v, p, (size_t)width);
  memcpy(&f, p, 4);
  memcpy(&d, p, width == 8 ? 8 : 4);
  if (dtype == TN_I8 && v > 127) v -= 256; /* as exporters write it */
  if (dtype == TN_I16 && v > 32767) v -= 65536;
  if (dtype == TN_I32) v = (int32_t)v;
  if (packed && (field == 4 || field == 10))
    tn_text_add_bytes(packed, (const char *)p, width);
  else if (packed)
    pb_varint(packed, (uint64_t)v);
  else if (field == 4)
    pb_f32(m, 4, f);
  else if (field == 10)
    pb_f64(m, 10, d);
  else
    pb_int(m, field, v);
}

static int64_t number_width(size_t k) {
  if (types[k].field == 4) return 4;
  if (types[k].field == 10) return 8;
  int64_t bits = tn_dtype(types[k].dtype)->bits;
  return bits < 8 ? 1 : bits / 8;
}

/* Packed, one by one, and half in one way and half in the other. */
static void typed_fields_of_every_type(void **state) {
  (void)state;
  for (size_t k = 0; k < N_TYPES; k++) {
    for (int form = 0; form < 3; form++) {
      uint8_t bytes[128 + 8] = {0};
      int64_t dim = N, n = pattern(types[k].dtype, bytes), width = number_width(k),
              count = n / width;
      pb t = pb_tensor("t", types[k].data_type, 1, &dim), packed = pb_new();
      for (int64_t j = 0; j < count; j++) {
        bool one_by_one = form == 1 || (form == 2 && j >= count / 2);
        add_number(&t, types[k].field, types[k].dtype, bytes + j * width, width,
                   one_by_one ? NULL : &packed);
      }
      if (form == 2) { /* the packed half belongs first */
        pb first = pb_tensor("t", types[k].data_type, 1, &dim);
        pb_msg(&first, types[k].field, packed);
        for (int64_t j = count / 2; j < count; j++)
          add_number(&first, types[k].field, types[k].dtype, bytes + j * width, width, NULL);
        tn_text_free(&t);
        t = first;
      } else if (form == 0) {
        pb_msg(&t, types[k].field, packed);
      } else {
        tn_text_free(&packed);
      }
      expect_tensor(t, types[k].dtype, N, bytes, n);
    }
  }
}

static void strings_are_bytes(void **state) {
  (void)state;
  int64_t dim = 3;
  pb t = pb_tensor("t", 8, 1, &dim);
  pb_str(&t, 6, "one");
  pb_bytes(&t, 6, "", 0);
  pb_bytes(&t, 6, "\xff\x00z", 3);
  expect_tensor(t, TN_STRING, 3, "one\0\0\xff\0z\0", 9);
}

static void empty_tensors_and_scalars(void **state) {
  (void)state;
  int64_t none = 0;
  expect_tensor(pb_tensor("t", 1, 1, &none), TN_F32, 0, "", 0);
  pb raw = pb_tensor("t", 1, 1, &none);
  pb_bytes(&raw, 9, "", 0);
  expect_tensor(raw, TN_F32, 0, "", 0);
  kit k;
  got g;
  kit_init(&k);
  pb scalar = pb_tensor(NULL, 7, 0, NULL);
  pb_int(&scalar, 7, -3);
  assert_int_equal(read_tensor(&k, scalar, &g), TN_OK);
  assert_int_equal(g.t.rank, 0);
  assert_int_equal(tn_load_i64(TN_I64, g.bytes, 0), -3);
  assert_string_equal(g.name, "");
  kit_free(&k);
}

static void booleans_become_0_or_1(void **state) {
  (void)state;
  int64_t dim = 4;
  pb t = pb_tensor("t", 9, 1, &dim);
  pb_bytes(&t, 9, "\x00\x02\xff\x01", 4);
  expect_tensor(t, TN_BOOL, 4, "\0\1\1\1", 4);
  t = pb_tensor("t", 9, 1, &dim);
  pb_packed(&t, 5, (const int64_t[]){0, 7, 1, 0}, 4);
  expect_tensor(t, TN_BOOL, 4, "\0\1\1\0", 4);
}

static void packed_dims(void **state) {
  (void)state;
  pb t = pb_new();
  pb_packed(&t, 1, (const int64_t[]){2, 1, 2}, 3);
  pb_int(&t, 2, 2);
  pb_bytes(&t, 9, "abcd", 4);
  kit k;
  got g;
  kit_init(&k);
  assert_int_equal(read_tensor(&k, t, &g), TN_OK);
  assert_int_equal(g.t.rank, 3);
  assert_int_equal(g.t.shape[2], 2);
  kit_free(&k);
}

/* ---- What is refused ---- */

static void sizes_that_do_not_fit(void **state) {
  (void)state;
  int64_t dim = 3, huge[] = {INT64_MAX, 4}, big[] = {1 << 26, 1 << 30};
  pb t = pb_tensor("t", 1, 1, &dim);
  pb_bytes(&t, 9, "12345678", 8);
  expect_error(t, TN_ERR_INVALID, "f32[3] and needs 12 bytes, but holds 8, at byte 0");
  t = pb_tensor("t", 1, 1, &dim);
  pb_f32(&t, 4, 1);
  expect_error(t, TN_ERR_INVALID,
               "tensor 't': the tensor is f32[3] and needs 3 values in float_data, but holds 1");
  expect_error(pb_tensor("t", 8, 1, &dim), TN_ERR_INVALID,
               "needs 3 values in string_data, but holds 0");
  expect_error(pb_tensor("t", 1, 2, huge), TN_ERR_OVERFLOW, "exceeds 64 bits");
  expect_error(pb_tensor("t", 1, 2, big), TN_ERR_INVALID, "needs 72057594037927936 values");
  int64_t negative = -1, nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  expect_error(pb_tensor("t", 1, 1, &negative), TN_ERR_INVALID, "negative dim");
  expect_error(pb_tensor("t", 1, 9, nine), TN_ERR_UNSUPPORTED, "9 dims; at most 8");
}

static void types_that_do_not_exist(void **state) {
  (void)state;
  expect_error(pb_tensor("t", 0, 0, NULL), TN_ERR_INVALID, "no element type");
  expect_error(pb_tensor("t", 29, 0, NULL), TN_ERR_UNSUPPORTED, "element type 29");
  expect_error(pb_tensor("t", 99, 0, NULL), TN_ERR_UNSUPPORTED, "element type 99");
  expect_error(pb_tensor("t", -1, 0, NULL), TN_ERR_UNSUPPORTED, "element type -1");
}

static void values_that_do_not_fit(void **state) {
  (void)state;
  int64_t dim = 1;
  pb t = pb_tensor("t", 2, 1, &dim);
  pb_int(&t, 5, 256);
  expect_error(t, TN_ERR_INVALID, "int32_data holds 256, which does not fit into u8");
  t = pb_tensor("t", 10, 1, &dim);
  pb_int(&t, 5, -40000);
  expect_error(t, TN_ERR_INVALID, "-40000");
}

static void forms_that_are_refused(void **state) {
  (void)state;
  int64_t dim = 1;
  pb t = pb_tensor("t", 8, 1, &dim);
  pb_str(&t, 9, "abc");
  expect_error(t, TN_ERR_INVALID, "strings cannot stand in raw data");
  t = pb_tensor("t", 1, 1, &dim);
  pb_str(&t, 3, "");
  expect_error(t, TN_ERR_UNSUPPORTED, "segments");
  t = pb_tensor("t", 1, 1, &dim);
  pb_int(&t, 9, 1);
  expect_error(t, TN_ERR_INVALID, "field 9 has wire type 0, but should be a string or message");
  t = pb_tensor("t", 1, 1, &dim);
  pb_int(&t, 4, 1);
  expect_error(t, TN_ERR_INVALID, "should be a list of numbers");
  t = pb_tensor("t", 1, 1, &dim);
  pb_tag(&t, 17, 3);
  expect_error(t, TN_ERR_INVALID, "wire type 3, which ONNX does not use");
  t = pb_tensor("zero\xff", 1, 1, &dim);
  expect_error(t, TN_ERR_INVALID, "not valid UTF-8");
  t = pb_tensor(NULL, 1, 1, &dim);
  pb_bytes(&t, 8, "a\0b", 3);
  expect_error(t, TN_ERR_INVALID, "zero byte");
}

/* ---- Borrowing ---- */

/* A model with one initializer; the file begins `shift` bytes into `file`. */
static pb model_of(pb tensor) {
  pb graph = pb_new();
  pb_msg(&graph, 5, tensor);
  pb_msg(&graph, 12, pb_value_f32("t", 4));
  return pb_model(graph, 17);
}

static void aligned_data_is_borrowed(void **state) {
  (void)state;
  int borrowed = 0;
  pb m = model_of(pb_floats("t", 4));
  char *file = calloc(1, (size_t)m.n + 8);
  for (int64_t shift = 0; shift < 4; shift++) {
    kit k;
    kit_init(&k);
    memcpy(file + shift, m.data, (size_t)m.n);
    tn_graph *g = kit_read(&k, file + shift, (uint64_t)m.n, NULL);
    assert_non_null(g);
    const tn_tensor *t = tn_graph_api_table.value_type(g, tn_graph_api_table.output(g, 0));
    const char *data = t->data;
    borrowed += data >= file && data < file + m.n + 8;
    assert_true((uintptr_t)data % 4 == 0);
    assert_true(tn_load_f64(TN_F32, data, 3) == 4);
    tn_graph_free(g);
    assert_int_equal(k.n_live, 0);
    kit_free(&k);
  }
  assert_int_equal(borrowed, 1);
  free(file);
  tn_text_free(&m);
}

/* ---- External data ---- */

static char folder[40];

static pb external(const char *name, const char *offset, const char *length) {
  int64_t dim = 3;
  pb t = pb_tensor("t", 1, 1, &dim);
  pb_int(&t, 14, 1);
  if (name) pb_entry(&t, 13, "location", name);
  if (offset) pb_entry(&t, 13, "offset", offset);
  if (length) pb_entry(&t, 13, "length", length);
  pb_entry(&t, 13, "checksum", "is ignored");
  return t;
}

static int make_folder(void **state) {
  (void)state;
  char path[100];
  snprintf(folder, sizeof folder, "/tmp/tenon_onnx_XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/weights", folder);
  FILE *f = fopen(path, "wb");
  const float values[] = {0, 1, 2, 3, 4};
  bool ok = f && fwrite(values, sizeof values, 1, f) == 1;
  return f && fclose(f) == 0 && ok ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char path[100];
  snprintf(path, sizeof path, "%s/weights", folder);
  return unlink(path) || rmdir(folder);
}

static void read_external(pb m, tn_status status, const char *words, float first) {
  kit k;
  got g;
  float value;
  kit_init(&k);
  k.dir = folder;
  assert_int_equal(read_tensor(&k, m, &g), status);
  memcpy(&value, g.bytes, 4);
  if (!status)
    assert_true(value == first);
  else if (!strstr(tn_text_get(&k.messages), words))
    fail_msg("'%s' is not in: %s", words, k.messages.data);
  kit_free(&k);
}

static void external_data(void **state) {
  (void)state;
  read_external(external("weights", NULL, NULL), TN_OK, "", 0); /* as many bytes as are needed */
  read_external(external("weights", NULL, "12"), TN_OK, "", 0);
  read_external(external("weights", "4", "12"), TN_OK, "", 1);
  read_external(external("weights", "8", NULL), TN_OK, "", 2);
  read_external(external("weights", "12", NULL), TN_ERR_INVALID, "do not fit into the file's 20",
                0);
  read_external(external("weights", "21", "0"), TN_ERR_INVALID, "do not fit", 0);
  read_external(external("weights", "0", "8"), TN_ERR_INVALID, "needs 12 bytes, but holds 8", 0);
  read_external(external("weights", "-4", NULL), TN_ERR_INVALID, "'offset' is not a number", 0);
  read_external(external("weights", "", NULL), TN_ERR_INVALID, "'offset' is not a number", 0);
  read_external(external("weights", "99999999999999999999", NULL), TN_ERR_INVALID, "'offset'", 0);
  read_external(external("weights", "4", "9223372036854775807"), TN_ERR_INVALID, "do not fit", 0);
  read_external(external("nothing", NULL, NULL), TN_ERR_NOT_FOUND, "file 'nothing'", 0);
  read_external(external("../weights", NULL, NULL), TN_ERR_NOT_FOUND, "file '../weights'", 0);
  read_external(external(NULL, NULL, NULL), TN_ERR_INVALID, "name is missing", 0);
}

/* Offsets beyond 4 GB; the file is a hole but for its end. */
static void external_data_of_large_files(void **state) {
  (void)state;
  char path[100], offset[40];
  const int64_t at = (INT64_C(1) << 32) + 4;
  const float values[] = {7, 8, 9};
  snprintf(path, sizeof path, "%s/weights", folder);
  snprintf(offset, sizeof offset, "%lld", (long long)at);
  int fd = open(path, O_WRONLY);
  assert_true(fd >= 0);
  ssize_t n = pwrite(fd, values, sizeof values, (off_t)at);
  close(fd);
  if (n != (ssize_t)sizeof values) skip(); /* the file system has no holes */
  read_external(external("weights", offset, "12"), TN_OK, "", 7);
  snprintf(offset, sizeof offset, "%lld", (long long)at + 4);
  read_external(external("weights", offset, NULL), TN_ERR_INVALID, "do not fit", 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(raw_data_of_every_type),
      cmocka_unit_test(six_bit_floats),
      cmocka_unit_test(typed_fields_of_every_type),
      cmocka_unit_test(strings_are_bytes),
      cmocka_unit_test(empty_tensors_and_scalars),
      cmocka_unit_test(booleans_become_0_or_1),
      cmocka_unit_test(packed_dims),
      cmocka_unit_test(sizes_that_do_not_fit),
      cmocka_unit_test(types_that_do_not_exist),
      cmocka_unit_test(values_that_do_not_fit),
      cmocka_unit_test(forms_that_are_refused),
      cmocka_unit_test(aligned_data_is_borrowed),
      cmocka_unit_test_setup_teardown(external_data, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(external_data_of_large_files, make_folder, remove_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
