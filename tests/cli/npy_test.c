/* .npy: the fuzzer's seeds as they should be read or refused, and that what is written is read
 * back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tenon/kit/element.h"
#include "tenon/kit/text.h"
#include "values.h"

typedef struct bench {
  tn_arena arena;
  tn_diag *diag;
} bench;

static int setup(void **state) {
  static bench b;
  tn_arena_init(&b.arena, tn_default_allocator());
  b.diag = tn_diag_create();
  *state = &b;
  return b.diag ? 0 : 1;
}

static int teardown(void **state) {
  bench *b = *state;
  tn_arena_clear(&b->arena);
  tn_diag_destroy(b->diag);
  return 0;
}

static tn_status read_file(bench *b, const char *path, tn_tensor *out) {
  tn_mapping file;
  tn_diag_clear(b->diag);
  if (tn_file_map(path, b->diag, &file)) fail_msg("%s", tn_diag_text(b->diag));
  tn_status s = cli_npy_parse(path, file.data, file.size, &b->arena, b->diag, out);
  tn_file_unmap(&file);
  return s;
}

static tn_status read_seed(bench *b, const char *name, tn_tensor *out) {
  char path[200];
  snprintf(path, sizeof path, "tests/fuzz/corpus/npy/%s.npy", name);
  return read_file(b, path, out);
}

static void test_types(void **state) {
  static const struct {
    const char *name, *type;
    double last;
  } seeds[] = {
      {"f2", "f16[2,3]", 42.3}, {"f4", "f32[2,3]", -1},        {"f8", "f64[2,3]", -1},
      {"i1", "i8[2,3]", -1},    {"i2", "i16[2,3]", -1},        {"i4", "i32[2,3]", -1},
      {"i8", "i64[2,3]", -1},   {"u1", "u8[2,3]", -1},         {"u2", "u16[2,3]", -1},
      {"u4", "u32[2,3]", -1},   {"u8", "u64[2,3]", -1},        {"c8", "c64[2,3]", -1},
      {"c16", "c128[2,3]", -1}, {"bool", "bool[2]", 0},        {"bf16", "bf16[2]", 2},
      {"scalar", "f32[]", 3.5}, {"empty", "f32[0,4]", -1},     {"python2", "i32[2]", 2},
      {"v2", "i16[3]", 2},      {"big_endian", "i32[2,3]", 5}, {"fortran", "f32[2,3,4]", 23}};
  for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
    tn_tensor t;
    char text[TN_TENSOR_TEXT];
    if (read_seed(*state, seeds[k].name, &t)) fail_msg("%s", tn_diag_text(((bench *)*state)->diag));
    assert_string_equal(tn_tensor_text(&t, text, sizeof text), seeds[k].type);
    int64_t n = tn_tensor_elements(&t);
    if (seeds[k].last >= 0 && n && strcmp(seeds[k].name, "f2"))
      assert_true(tn_load_f64(t.dtype, t.data, n - 1) == seeds[k].last);
  }
}

static void test_orders(void **state) {
  tn_tensor t;
  assert_int_equal(read_seed(*state, "fortran", &t), TN_OK);
  for (int64_t k = 0; k < 24; k++) assert_true(((float *)t.data)[k] == (float)k);
  assert_int_equal(read_seed(*state, "big_endian", &t), TN_OK);
  for (int64_t k = 0; k < 6; k++) assert_int_equal(((int32_t *)t.data)[k], k);
}

static void check_strings(void **state, const char *seed, int64_t n, const char *const *want) {
  tn_tensor t;
  assert_int_equal(read_seed(*state, seed, &t), TN_OK);
  assert_int_equal(t.dtype, TN_STRING);
  assert_int_equal(t.shape[0], n);
  const tn_str *s = t.data;
  for (int64_t k = 0; k < n; k++) {
    assert_int_equal(s[k].size, strlen(want[k]));
    assert_memory_equal(s[k].data, want[k], strlen(want[k]));
  }
}

static void test_strings(void **state) {
  check_strings(state, "text", 4,
                (const char *[]){"a", "h\xc3\xa9\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac", ""});
  check_strings(state, "text_be", 2, (const char *[]){"a", "h\xc3\xa9"});
  check_strings(state, "bytes", 2, (const char *[]){"ab", "c"});
}

static void test_refusals(void **state) {
  static const struct {
    const char *name;
    tn_status status;
    const char *reason;
  } seeds[] = {{"record", TN_ERR_UNSUPPORTED, "records are not supported"},
               {"object", TN_ERR_UNSUPPORTED, "pickled objects are not read"},
               {"date", TN_ERR_INVALID, "descr is no type"},
               {"rank9", TN_ERR_UNSUPPORTED, "more than 8 dims"},
               {"huge_shape", TN_ERR_INVALID, "its size overflows"},
               {"huge_zero", TN_ERR_INVALID, "its size overflows"},
               {"zero_size", TN_ERR_UNSUPPORTED, "strings of this length"},
               {"twice", TN_ERR_INVALID, "unknown or repeated key"},
               {"no_shape", TN_ERR_INVALID, "lacks a key"},
               {"long", TN_ERR_INVALID, "its shape needs 4 bytes, it has 8"},
               {"short", TN_ERR_INVALID, "its shape needs 12 bytes, it has 8"},
               {"surrogate", TN_ERR_INVALID, "a string holds what is no character"},
               {"header_cut", TN_ERR_INVALID, "it ends within its header"}};
  for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
    tn_tensor t;
    tn_status s = read_seed(*state, seeds[k].name, &t);
    const char *text = tn_diag_text(((bench *)*state)->diag);
    if (s != seeds[k].status || !strstr(text, seeds[k].reason))
      fail_msg("%s: status %d, said: %s", seeds[k].name, (int)s, text);
    if (s && !strstr(text, seeds[k].name)) fail_msg("the message does not name the file: %s", text);
  }
}

/* Every cut of a good file is refused, and nothing beyond its end is read. */
static void test_every_cut(void **state) {
  bench *b = *state;
  tn_mapping file;
  assert_int_equal(tn_file_map("tests/fuzz/corpus/npy/i4.npy", b->diag, &file), TN_OK);
  for (uint64_t size = 0; size < file.size; size++) {
    uint8_t *cut = malloc(size ? size : 1); /* of its own, so that sanitizers see the end */
    tn_tensor t;
    assert_non_null(cut);
    memcpy(cut, file.data, size);
    assert_int_not_equal(cli_npy_parse("cut", cut, size, &b->arena, b->diag, &t), TN_OK);
    free(cut);
  }
  tn_file_unmap(&file);
}

static void write_and_read(bench *b, const tn_tensor *t, const char *expected, tn_tensor *out) {
  char path[] = "/tmp/tenon_npy_XXXXXX", text[TN_TENSOR_TEXT];
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  if (cli_npy_write(path, t, b->diag)) fail_msg("%s", tn_diag_text(b->diag));
  tn_status s = read_file(b, path, out);
  unlink(path);
  if (s) fail_msg("%s", tn_diag_text(b->diag));
  assert_string_equal(tn_tensor_text(out, text, sizeof text), expected);
}

static void test_written_is_read(void **state) {
  static const struct {
    uint32_t dtype;
    const char *expected;
  } types[] = {{TN_F32, "f32[5000]"},  {TN_F64, "f64[5000]"},    {TN_F16, "f16[5000]"},
               {TN_BF16, "f32[5000]"}, {TN_I8, "i8[5000]"},      {TN_I64, "i64[5000]"},
               {TN_U16, "u16[5000]"},  {TN_BOOL, "bool[5000]"},  {TN_I4, "i8[5000]"},
               {TN_U2, "u8[5000]"},    {TN_F8E5M2, "f32[5000]"}, {TN_C64, "c64[5000]"}};
  int64_t n = 5000; /* more than one chunk of converted elements */
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    tn_tensor t = tn_tensor_make(types[k].dtype, 1, &n, NULL), again;
    t.data = tn_arena_alloc(&((bench *)*state)->arena, (uint64_t)tn_tensor_bytes(&t));
    assert_non_null(t.data);
    for (int64_t i = 0; i < n && types[k].dtype != TN_C64; i++)
      tn_store_f64(t.dtype, t.data, i, (double)(i % 2));
    write_and_read(*state, &t, types[k].expected, &again);
    for (int64_t i = 0; i < n && types[k].dtype != TN_C64; i++)
      assert_true(tn_load_f64(again.dtype, again.data, i) == (double)(i % 2));
  }
}

static void test_written_strings(void **state) {
  tn_str words[] = {{"h\xc3\xa9llo", 6}, {"", 0}, {"\xf0\x9f\x99\x82", 4}};
  int64_t n = 3;
  tn_tensor t = tn_tensor_make(TN_STRING, 1, &n, words), again;
  write_and_read(*state, &t, "string[3]", &again);
  const tn_str *s = again.data;
  for (int64_t k = 0; k < n; k++) {
    assert_int_equal(s[k].size, words[k].size);
    assert_memory_equal(s[k].data, words[k].data, (size_t)words[k].size);
  }
  words[1] = (tn_str){"\xff", 1};
  bench *b = *state;
  char folder[] = "/tmp/tenon_npy_XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/never.npy", folder);
  assert_int_equal(cli_npy_write(path, &t, b->diag), TN_ERR_UNSUPPORTED);
  assert_int_equal(rmdir(folder), 0); /* nothing is in it */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_types),          TEST(test_orders),
                                     TEST(test_strings),        TEST(test_refusals),
                                     TEST(test_every_cut),      TEST(test_written_is_read),
                                     TEST(test_written_strings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
