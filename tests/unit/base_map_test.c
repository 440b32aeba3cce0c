/* The string map against a plain array, through growth, collisions and removals. */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_KEYS = 400, ABSENT = -1 };

static void check_all(const tn_map *map, const int64_t *model) {
  int64_t n = 0;
  for (int k = 0; k < N_KEYS; k++) {
    char key[16];
    snprintf(key, sizeof key, "key %d", k);
    assert_int_equal(tn_map_get(map, key, ABSENT), model[k]);
    n += model[k] != ABSENT;
  }
  assert_int_equal(map->n, n);
}

static void random_script(void **state) {
  (void)state;
  int64_t model[N_KEYS];
  tn_map map;
  tn_map_init(&map, tn_default_allocator());
  for (int k = 0; k < N_KEYS; k++) model[k] = ABSENT;
  srand(7);
  for (int round = 0; round < 20000; round++) {
    int k = rand() % N_KEYS;
    char key[16];
    snprintf(key, sizeof key, "key %d", k);
    /* Phases of growth and of decline. */
    if (rand() % 10 < (round / 4000 % 2 ? 7 : 3)) {
      tn_map_remove(&map, key);
      model[k] = ABSENT;
    } else {
      assert_int_equal(tn_map_set(&map, key, round), TN_OK);
      model[k] = round;
    }
    if (round % 500 == 0) check_all(&map, model);
  }
  check_all(&map, model);
  tn_map_free(&map);
  assert_int_equal(tn_map_get(&map, "key 1", 5), 5);
  tn_map_remove(&map, "key 1");
  tn_map_free(&map);
}

static void keys_are_copied(void **state) {
  (void)state;
  char key[] = "abc";
  tn_map map;
  tn_map_init(&map, tn_default_allocator());
  assert_int_equal(tn_map_set(&map, key, 1), TN_OK);
  key[0] = 'x';
  assert_int_equal(tn_map_get(&map, "abc", 0), 1);
  assert_int_equal(tn_map_get(&map, key, 0), 0);
  assert_int_equal(tn_map_set(&map, "", 2), TN_OK);
  assert_int_equal(tn_map_get(&map, "", 0), 2);
  tn_map_free(&map);
}

typedef struct failing {
  int64_t n_allocs, fail_at, n_left;
} failing;

static void *failing_alloc(void *self, uint64_t bytes) {
  failing *f = self;
  if (++f->n_allocs == f->fail_at) return NULL;
  f->n_left++;
  return tn_alloc(tn_default_allocator(), bytes);
}

static void failing_free(void *self, void *memory, uint64_t bytes) {
  ((failing *)self)->n_left--;
  tn_free(tn_default_allocator(), memory, bytes);
}

static void failing_allocations(void **state) {
  (void)state;
  for (int64_t fail_at = 1; fail_at < 50; fail_at++) {
    failing f = {0, fail_at, 0};
    tn_allocator a = {TN_HEAD(tn_allocator), &f, failing_alloc, failing_free};
    tn_map map;
    int n_failed = 0;
    tn_map_init(&map, &a);
    for (int k = 0; k < 60; k++) {
      char key[16];
      snprintf(key, sizeof key, "key %d", k);
      tn_status status = tn_map_set(&map, key, k);
      n_failed += status == TN_ERR_MEMORY;
      assert_int_equal(tn_map_get(&map, key, ABSENT), status ? ABSENT : k);
    }
    assert_int_equal(n_failed, 1);
    assert_int_equal(map.n, 59);
    tn_map_free(&map);
    assert_int_equal(f.n_left, 0);
  }
}

/* Every byte and the length count, at every size around the word length. */
static void hashes(void **state) {
  (void)state;
  uint8_t data[40] = {0};
  for (uint64_t n = 0; n < 40; n++) {
    uint64_t h = tn_hash_bytes(data, n, 0);
    assert_true(h == tn_hash_bytes(data, n, 0));
    assert_true(h != tn_hash_bytes(data, n, 1));
    assert_true(n == 0 || h != tn_hash_bytes(data, n - 1, 0));
    for (uint64_t i = 0; i < n; i++) {
      data[i] ^= 0x80;
      assert_true(h != tn_hash_bytes(data, n, 0));
      data[i] ^= 0x80;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_script),
      cmocka_unit_test(keys_are_copied),
      cmocka_unit_test(failing_allocations),
      cmocka_unit_test(hashes),
  };
  return cmocka_run_group_tests_name("base_map", tests, NULL, NULL);
}
