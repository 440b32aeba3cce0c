/* Zip archives and deflate: streams that zlib made, and archives that are built here, and damaged
 * ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/inflate.h"
#include "base/zip.h"

/* ---- deflate ---- */

static uint64_t from_hex(const char *hex, uint8_t *out) {
  uint64_t n = 0;
  unsigned byte;
  for (; hex[2 * n] && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++) out[n] = (uint8_t)byte;
  return n;
}

/* "0,1,4,9,...,39601," packed by zlib: a block with codes of its own. */
static const char squares[] =
    "25934902042108033fe4411641feffb1aed8976946594212f7b2956b96d5f2b3a256ceaa5cd796edbdccf96672"
    "4bc690428e1fbe775678924f3579997c6faee3b34ed72af28a6ff3bf39bfdc0f7953ea4ba16d3a98d1cad4d39c"
    "e6169a921a7734b704a084a4416437850184be85c284d8f72c8f9dcb731bc8a8f052d43abbba1df24215417f81"
    "0679d02f92cea119d14c8bcbdc1810e4064b0a5506f832419a05e66c6dab35ce669f635a38b43137eb68e7d38a"
    "86b3dadc5265b049451d6aabe952977ebd8fc8a1a299b9fa30b71b043d60b9a2fe3af86e4a8b02f3bda01fed41"
    "06112861932de7eea795c8dafee2dc22b8c8806692cd5467e6a138c5a39528b52b76fd573ac4b91fd1ef2d257c"
    "9e284f9fc8f304926a311230ad9e37540b4ac5f74a3aeaf80d88b0c7899dabb8de798572eae597a8b47e7d3ad5"
    "b35fff1ecdba6f2ea22b7e78660bdb3c9cf3cc31c2cfceece25b7bf96e19c47e87842c62e2c1558c5dc48fff36"
    "71f1e6613a8f7c3e6ae5e7abcd509f14f33846fd8ff4c0fbaa3d52c95197f392760e70f29fa2de472fa4a5b3b3"
    "858c28f57933aa1d79c2e7c00304c309e66c59545cc51ec52657819e9c70790ddbcaa82e0746985e5ec89711b4"
    "c6ca9a8b44a3581e8e13b2f379ce2ee98be59fdfafacdfef1574e941dcf73678a08af5629077bfa7003f1f";

static void inflates(const char *hex, const char *expected) {
  uint8_t packed[1024], out[2048];
  uint64_t at;
  const uint64_t n = from_hex(hex, packed), size = strlen(expected);
  assert_null(tn_inflate(packed, n, out, size, &at));
  assert_int_equal(at, n);
  assert_memory_equal(out, expected, size);
  assert_non_null(tn_inflate(packed, n, out, size + 1, &at));
  assert_non_null(tn_inflate(packed, n, out, size - 1, &at));
  for (uint64_t k = 0; k < n; k++) assert_non_null(tn_inflate(packed, k, out, size, &at));
}

static void test_blocks(void **state) {
  (void)state;
  char text[2048] = "";
  for (int k = 0, n = 0; k < 200; k++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%d,", k * k);
  inflates("010300fcff616263", "abc");
  inflates("cb48cdc9c957c8402701", "hello hello hello hello");
  inflates(squares, text);
  assert_int_equal(tn_crc32(text, strlen(text)), 0x320b0912);
}

static void test_damaged_streams(void **state) {
  (void)state;
  static const struct {
    const char *hex, *message;
  } cases[] = {{"07", "has a block of unknown kind"},
               {"010300fdff616263", "has a stored block of contradicting sizes"},
               {"030200", "copies from before its beginning"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    uint8_t packed[64], out[64];
    uint64_t at;
    const uint64_t n = from_hex(cases[k].hex, packed);
    assert_string_equal(tn_inflate(packed, n, out, 60, &at), cases[k].message);
  }
}

/* ---- archives ---- */

typedef struct builder {
  uint8_t bytes[4096];
  size_t n, n_directory;
  uint8_t directory[2048];
  int n_members;
} builder;

static void put(uint8_t *to, size_t *n, uint64_t value, int bytes) {
  for (int k = 0; k < bytes; k++) to[(*n)++] = k < 8 ? (uint8_t)(value >> 8 * k) : 0;
}

static void record(builder *b, const char *name, uint32_t crc, uint64_t size, uint64_t at) {
  uint8_t *d = b->directory;
  size_t *n = &b->n_directory;
  put(d, n, 0x02014b50, 4);
  put(d, n, 0, 12); /* versions, flags, method, time */
  put(d, n, crc, 4);
  put(d, n, size, 4);
  put(d, n, size, 4);
  put(d, n, strlen(name), 2);
  put(d, n, 0, 12);
  put(d, n, at, 4);
  for (; *name; name++) put(d, n, (uint8_t)*name, 1);
  b->n_members++;
}

static void member(builder *b, const char *name, const char *text) {
  const size_t at = b->n, size = strlen(text);
  const uint32_t crc = tn_crc32(text, size);
  put(b->bytes, &b->n, 0x04034b50, 4);
  put(b->bytes, &b->n, 0, 10);
  put(b->bytes, &b->n, crc, 4);
  put(b->bytes, &b->n, size, 4);
  put(b->bytes, &b->n, size, 4);
  put(b->bytes, &b->n, strlen(name), 4);
  for (const char *c = name; *c; c++) put(b->bytes, &b->n, (uint8_t)*c, 1);
  memcpy(b->bytes + b->n, text, size);
  b->n += size;
  record(b, name, crc, size, at);
}

static void finish(builder *b) {
  const size_t at = b->n;
  memcpy(b->bytes + b->n, b->directory, b->n_directory);
  b->n += b->n_directory;
  put(b->bytes, &b->n, 0x06054b50, 4);
  put(b->bytes, &b->n, 0, 4);
  put(b->bytes, &b->n, (uint64_t)b->n_members, 2);
  put(b->bytes, &b->n, (uint64_t)b->n_members, 2);
  put(b->bytes, &b->n, b->n_directory, 4);
  put(b->bytes, &b->n, at, 4);
  put(b->bytes, &b->n, 0, 2);
}

static void refused(builder *b, const char *message) {
  tn_arena arena;
  tn_zip zip;
  finish(b);
  tn_arena_init(&arena, tn_default_allocator());
  assert_true(tn_zip_open(&zip, &arena, b->bytes, b->n) < 0);
  if (!strstr(zip.message, message)) fail_msg("'%s' is not in '%s'", message, zip.message);
  tn_zip_close(&zip);
  tn_arena_clear(&arena);
}

static void test_members(void **state) {
  (void)state;
  builder b = {.n = 0};
  tn_arena arena;
  tn_zip zip;
  const uint8_t *bytes;
  member(&b, "m/version", "3\n");
  member(&b, "m/data", "tensor");
  finish(&b);
  tn_arena_init(&arena, tn_default_allocator());
  assert_int_equal(tn_zip_open(&zip, &arena, b.bytes, b.n), TN_OK);
  tn_zip_member *m = tn_zip_find(&zip, "m/data");
  assert_non_null(m);
  assert_null(tn_zip_find(&zip, "m/dat"));
  assert_int_equal(tn_zip_bytes(&zip, m, true, &bytes), TN_OK);
  assert_ptr_equal(bytes, b.bytes + m->at); /* where it lies */
  assert_memory_equal(bytes, "tensor", 6);
  b.bytes[m->at] = 'T';
  m = tn_zip_find(&zip, "m/version");
  b.bytes[m->at] = '4';
  assert_int_equal(tn_zip_bytes(&zip, m, false, &bytes), TN_OK);
  assert_int_equal(tn_zip_bytes(&zip, m, true, &bytes), TN_ERR_INVALID);
  assert_non_null(strstr(zip.message, "check sum"));
  tn_zip_close(&zip);
  tn_arena_clear(&arena);
}

static void test_refusals(void **state) {
  (void)state;
  static const char *const names[] = {"../x", "a/../x", "/x", "c:x", "a\\x", "a\nx", "\xff"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    builder b = {.n = 0};
    member(&b, names[k], "1");
    refused(&b, "a name that is none");
  }
  builder twice = {.n = 0};
  member(&twice, "x", "1");
  member(&twice, "x", "2");
  refused(&twice, "two members 'x'");
  builder other = {.n = 0};
  member(&other, "x", "1");
  record(&other, "y", 0, 1, 0);
  refused(&other, "contradicts the directory");
  builder overlap = {.n = 0};
  member(&overlap, "x", "PK\3\4______________________\1___y1");
  memcpy(overlap.bytes + 31 + 4, (const uint8_t[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 10);
  memcpy(overlap.bytes + 31 + 14, (const uint8_t[]){0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0},
         16);
  record(&overlap, "y", 0, 1, 31);
  refused(&overlap, "members 'x' and 'y' overlap");
  builder large = {.n = 0};
  record(&large, "x", 0, 100, 0);
  refused(&large, "has no header");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks), cmocka_unit_test(test_damaged_streams),
      cmocka_unit_test(test_members), cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
