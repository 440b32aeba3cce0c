/* The plug-in of use.c in C99, C11, C17 and C++17: all compilers must see the same structs and
 * numbers, and the host must take each of the four. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "facts.h"
#include "tenon/tenon.h"

const tn_plugin *abi_c99(abi_facts *facts);
const tn_plugin *abi_c11(abi_facts *facts);
const tn_plugin *abi_c17(abi_facts *facts);
const tn_plugin *abi_cpp17(abi_facts *facts);

static const struct {
  const char *language;
  const tn_plugin *(*get)(abi_facts *facts);
} uses[] = {{"C99", abi_c99},
            {"C11", abi_c11},
            {"C17", abi_c17},
#ifdef TEST_CPP
            {"C++17", abi_cpp17}
#endif
};

static void test_languages_agree(void **state) {
  abi_facts facts[4];
  (void)state;
  memset(facts, 0, sizeof facts);
  for (size_t k = 0; k < sizeof uses / sizeof *uses; k++) {
    assert_non_null(uses[k].get(&facts[k]));
    if (memcmp(&facts[k], &facts[0], sizeof facts[0]))
      fail_msg("%s sees another ABI than %s", uses[k].language, uses[0].language);
  }
  assert_int_equal(facts[0].sizes[0], 8); /* the frozen ones */
  assert_int_equal(facts[0].sizes[1], 16);
  assert_int_equal(facts[0].values[3], 8);
  assert_int_equal(facts[0].values[6], 14u << 24 | 3 << 4 | 1);
  assert_int_equal(facts[0].values[8], 0);
  assert_int_equal(facts[0].values[15], 1);
}

static size_t current;
static const tn_plugin *query(uint32_t major, uint32_t minor) {
  abi_facts facts;
  (void)major, (void)minor;
  return uses[current].get(&facts);
}

/* Its kernel is for an operator that does not exist: everything up to there was read right. */
static void test_host_reads_each(void **state) {
  (void)state;
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.flags = TN_RUNTIME_NO_BUILTINS | TN_RUNTIME_NO_DISCOVERY;
  options.n_threads = 1;
  for (current = 0; current < sizeof uses / sizeof *uses; current++) {
    tn_diag *diag = tn_diag_create();
    tn_runtime *rt;
    assert_int_equal(tn_runtime_create(&options, diag, &rt), TN_OK);
    assert_int_equal(tn_runtime_add_plugin(rt, query, NULL, 0, diag), TN_ERR_NOT_FOUND);
    assert_int_equal(tn_diag_count(diag), 1);
    assert_non_null(
        strstr(tn_diag_text(diag), "plug-in 'abi', kernel 'foo_c', member op: is 'com.acme::Foo'"));
    tn_runtime_destroy(rt);
    tn_diag_destroy(diag);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_languages_agree),
      cmocka_unit_test(test_host_reads_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
