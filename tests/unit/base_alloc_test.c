/* Memory: alignment and zeroing, arenas, arrays, checked sizes, and every allocation failing once.
 */
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/kit/checked.h"

/* Counts, checks that sizes match, and fails the allocation number fail_at (from 1). */
typedef struct counting {
  int64_t n_allocs, n_left, fail_at;
  uint64_t bytes_left;
} counting;

static void *counting_alloc(void *self, uint64_t bytes) {
  counting *c = self;
  if (++c->n_allocs == c->fail_at) return NULL;
  void *memory = tn_default_allocator()->alloc(tn_default_allocator()->self, bytes);
  memset(memory, 0xCC, (size_t)bytes); /* so that zeroing shows */
  c->n_left++;
  c->bytes_left += bytes;
  return memory;
}

static void counting_free(void *self, void *memory, uint64_t bytes) {
  counting *c = self;
  c->n_left--;
  c->bytes_left -= bytes;
  tn_default_allocator()->free(tn_default_allocator()->self, memory, bytes);
}

static tn_allocator allocator_of(counting *c) {
  return (tn_allocator){TN_HEAD(tn_allocator), c, counting_alloc, counting_free};
}

static bool is_zero(const void *memory, size_t bytes) {
  const uint8_t *p = memory;
  while (bytes && !*p) p++, bytes--;
  return bytes == 0;
}

static void allocator(void **state) {
  (void)state;
  counting c = {0};
  tn_allocator a = allocator_of(&c);
  for (uint64_t bytes = 0; bytes < 300; bytes += 7) {
    void *memory = tn_alloc(&a, bytes);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % 64, 0);
    assert_true(is_zero(memory, (size_t)bytes));
    tn_free(&a, memory, bytes);
  }
  tn_free(&a, NULL, 5);
  assert_int_equal(c.n_left, 0);
  assert_int_equal(c.bytes_left, 0);
  assert_null(tn_alloc(tn_default_allocator(), UINT64_MAX));
  assert_null(tn_alloc(tn_default_allocator(), (uint64_t)INT64_MAX + 1));
  assert_null(tn_alloc(tn_default_allocator(), INT64_MAX));
}

/* Around the size from which the default allocator maps: zeroed also when memory is used again,
 * writable to the last byte, aligned. */
static void large_blocks(void **state) {
  (void)state;
  const tn_allocator *a = tn_default_allocator();
  for (uint64_t bytes = (1 << 20) - 1; bytes < 10 << 20; bytes = bytes * 3 / 2 + 1) {
    for (int round = 0; round < 3; round++) {
      uint8_t *memory = tn_alloc(a, bytes);
      assert_non_null(memory);
      assert_int_equal((uintptr_t)memory % 64, 0);
      assert_true(is_zero(memory, (size_t)bytes));
      memset(memory, 0xEE, (size_t)bytes);
      tn_free(a, memory, bytes);
    }
  }
}

static void arena_requests(void **state) {
  (void)state;
  counting c = {0};
  tn_allocator a = allocator_of(&c);
  tn_arena arena;
  tn_arena_init(&arena, &a);
  uint8_t *before = NULL;
  for (uint64_t k = 0; k < 2000; k++) {
    uint64_t bytes = k * 7919 % 977 + (k % 100 == 0 ? 5000 : 0);
    uint8_t *memory = tn_arena_alloc(&arena, bytes);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % (bytes >= 4096 ? 64 : bytes < 16 ? 8 : 16), 0);
    assert_true(is_zero(memory, (size_t)bytes));
    assert_ptr_not_equal(memory, before);
    memset(memory, 0xEE, (size_t)bytes);
    before = memory;
  }
  assert_true(c.n_allocs < 60);
  tn_arena_clear(&arena);
  assert_int_equal(c.n_left, 0);
  assert_int_equal(c.bytes_left, 0);
  assert_non_null(tn_arena_alloc(&arena, 1)); /* usable again */
  assert_null(tn_arena_alloc(&arena, UINT64_MAX));
  assert_null(tn_arena_alloc(&arena, INT64_MAX));
  tn_arena_clear(&arena);
  tn_arena_clear(&arena);
}

/* Behind a block of the caller's, however small, each request has room in the next one. */
static void arena_in_room(void **state) {
  (void)state;
  for (uint64_t bytes = 3900; bytes <= 4200; bytes++) {
    _Alignas(64) uint8_t room[512];
    tn_arena arena;
    tn_arena_init_in(&arena, tn_default_allocator(), room, sizeof room);
    assert_non_null(tn_arena_alloc(&arena, bytes));
    tn_arena_clear(&arena);
  }
}

static void arena_strings(void **state) {
  (void)state;
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  assert_string_equal(tn_arena_str(&arena, "abc"), "abc");
  assert_string_equal(tn_arena_str(&arena, NULL), "");
  assert_string_equal(tn_arena_strn(&arena, "abc", 2), "ab");
  assert_string_equal(tn_arena_strn(&arena, NULL, 0), "");
  assert_null(tn_arena_strn(&arena, "abc", -1));
  assert_null(tn_arena_strn(&arena, "abc", INT64_MAX));
  assert_string_equal(tn_arena_format(&arena, "%s-%d", "x", 42), "x-42");
  assert_memory_equal(tn_arena_copy(&arena, "a\0b", 3), "a\0b", 3);
  assert_non_null(tn_arena_copy(&arena, NULL, 0));
  tn_arena_clear(&arena);
}

/* The same script with the 1st, 2nd, ... allocation failing: nothing leaks, what was there stays.
 */
static void failing_allocations(void **state) {
  (void)state;
  int64_t n_failures = 0;
  for (int64_t fail_at = 1;; fail_at++) {
    counting c = {.fail_at = fail_at};
    tn_allocator a = allocator_of(&c);
    tn_arena arena;
    TN_VEC(int32_t) v = {NULL, 0, 0};
    tn_arena_init(&arena, &a);
    bool failed = false;
    char *first = tn_arena_str(&arena, "first");
    failed |= !first;
    failed |= !tn_arena_alloc(&arena, 10000);
    for (int k = 0; k < 300; k++) failed |= !tn_arena_format(&arena, "number %d", k);
    if (first) assert_string_equal(first, "first");
    for (int32_t k = 0; k < 100; k++) {
      int64_t n = v.n;
      tn_status status = tn_vec_push(&a, &v, k);
      failed |= status != TN_OK;
      assert_int_equal(v.n, status ? n : n + 1);
    }
    for (int64_t k = 1; k < v.n; k++) assert_true(v.data[k - 1] < v.data[k]);
    tn_vec_free(&a, &v);
    tn_arena_clear(&arena);
    assert_int_equal(c.n_left, 0);
    assert_int_equal(c.bytes_left, 0);
    if (!failed) break;
    n_failures++;
  }
  assert_true(n_failures >= 5);
}

typedef struct item {
  int64_t key;
  char name[24];
} item;

static void arrays(void **state) {
  (void)state;
  const tn_allocator *a = tn_default_allocator();
  TN_VEC(item) v = {NULL, 0, 0};
  for (int64_t k = 0; k < 1000; k++) {
    item x = {k, "x"};
    assert_int_equal(tn_vec_push(a, &v, x), TN_OK);
  }
  for (int64_t k = 0; k < 1000; k++) assert_int_equal(v.data[k].key, k);
  assert_int_equal(tn_vec_room(a, &v, 5000), TN_OK);
  assert_true(v.cap >= 6000);
  assert_int_equal(v.n, 1000);
  int64_t cap = v.cap;
  assert_int_equal(tn_vec_room(a, &v, INT64_MAX), TN_ERR_MEMORY);
  assert_int_equal(tn_vec_room(a, &v, INT64_MAX / 64), TN_ERR_MEMORY);
  assert_int_equal(v.cap, cap);
  assert_int_equal(v.data[999].key, 999);
  tn_vec_free(a, &v);
  assert_null(v.data);
  assert_int_equal(v.cap, 0);
}

static void checked_sizes(void **state) {
  (void)state;
  int64_t i = 5;
  uint64_t u = 5;
  assert_int_equal(tn_add_i64(INT64_MAX, 1, &i), TN_ERR_OVERFLOW);
  assert_int_equal(tn_mul_i64(INT64_MAX / 2, 3, &i), TN_ERR_OVERFLOW);
  assert_int_equal(tn_add_u64(UINT64_MAX, 1, &u), TN_ERR_OVERFLOW);
  assert_int_equal(tn_mul_u64(UINT64_MAX / 2, 3, &u), TN_ERR_OVERFLOW);
  assert_int_equal(i, 5);
  assert_int_equal(u, 5);
  assert_int_equal(tn_add_i64(2, 3, &i), TN_OK);
  assert_int_equal(i, 5);
  assert_int_equal(tn_mul_i64(-2, 3, &i), TN_OK);
  assert_int_equal(i, -6);
  assert_int_equal(tn_add_u64(2, 3, &u), TN_OK);
  assert_int_equal(tn_mul_u64(u, 3, &u), TN_OK);
  assert_int_equal(u, 15);

  const int64_t dims[] = {2, 3, 4}, zero[] = {1 << 20, 0, 1 << 30}, minus[] = {2, -1};
  const int64_t huge[] = {INT64_C(1) << 32, INT64_C(1) << 31, 0};
  assert_int_equal(tn_dims_product(dims, 3, &i), TN_OK);
  assert_int_equal(i, 24);
  assert_int_equal(tn_dims_product(NULL, 0, &i), TN_OK);
  assert_int_equal(i, 1);
  assert_int_equal(tn_dims_product(zero, 3, &i), TN_OK);
  assert_int_equal(i, 0);
  assert_int_equal(tn_dims_product(minus, 2, &i), TN_ERR_INVALID);
  assert_int_equal(tn_dims_product(huge, 2, &i), TN_ERR_OVERFLOW);
  assert_int_equal(tn_dims_product(huge, 3, &i), TN_ERR_OVERFLOW);
  assert_int_equal(i, 0);
  assert_int_equal(tn_ceil_div(0, 4), 0);
  assert_int_equal(tn_ceil_div(8, 4), 2);
  assert_int_equal(tn_ceil_div(9, 4), 3);
  assert_true(tn_ceil_div(INT64_MAX, 2) == INT64_MAX / 2 + 1);
  assert_int_equal(tn_round_up(0, 64), 0);
  assert_int_equal(tn_round_up(65, 64), 128);
  assert_int_equal(tn_min_i64(-1, 2), -1);
  assert_int_equal(tn_max_i64(-1, 2), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allocator),      cmocka_unit_test(large_blocks),
      cmocka_unit_test(arena_requests), cmocka_unit_test(arena_in_room),
      cmocka_unit_test(arena_strings),  cmocka_unit_test(failing_allocations),
      cmocka_unit_test(arrays),         cmocka_unit_test(checked_sizes),
  };
  return cmocka_run_group_tests_name("base_alloc", tests, NULL, NULL);
}
