/* SHA-256: the examples of FIPS 180-4 (and of its predecessor's appendix B), and all lengths around
 * the ends of blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sha256.h"

static void assert_hash(const void *data, uint64_t n, const char *expected) {
  char text[TN_SHA256_TEXT];
  tn_sha256_text(data, n, text);
  assert_string_equal(text, expected);
  tn_sha256_plain_text(data, n, text);
  assert_string_equal(text, expected);
}

static void test_published(void **state) {
  (void)state;
  const char *const b2 = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  const char *const long112 =
      "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmno"
      "p"
      "qrsmnopqrstnopqrstu";
  assert_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_hash(b2, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  assert_hash(long112, 112, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  char *million = malloc(1000000);
  assert_non_null(million);
  memset(million, 'a', 1000000);
  assert_hash(million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  free(million);
}

/* The hash of the hashes of n bytes k*7 for n = 0..259: padding at every place of a block. The
 * expected value is that of Python's hashlib. */
static void test_all_lengths(void **state) {
  (void)state;
  uint8_t data[260];
  char all[260 * 64 + 1] = "";
  for (size_t k = 0; k < sizeof data; k++) data[k] = (uint8_t)(k * 7);
  for (size_t n = 0; n < sizeof data; n++) tn_sha256_text(data, n, all + 64 * n);
  assert_hash(all, 260 * 64, "6d15b4e8e8013a11f23082bb4957d258c977ee2c342cc816309796eb2ecf1061");
}

/* Long texts may be hashed by instructions of the processor. */
static void test_instructions(void **state) {
  (void)state;
  uint8_t data[4200];
  char text[TN_SHA256_TEXT], plain[TN_SHA256_TEXT];
  for (size_t k = 0; k < sizeof data; k++) data[k] = (uint8_t)(k * k >> 3);
  for (size_t n = 1900; n < sizeof data; n += 1 + n % 3) {
    tn_sha256_text(data, n, text);
    tn_sha256_plain_text(data, n, plain);
    assert_string_equal(text, plain);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_published),
                                     cmocka_unit_test(test_all_lengths),
                                     cmocka_unit_test(test_instructions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
