/* Damages files of a format, and sees that reading and planning survive it; see damage.h. */
#include "damage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tenon/tenon.h"

uint8_t *damage_load(tn_arena *arena, int file, uint64_t *out_size) {
  uint8_t *data = kit_load(arena, damage_subject.files[file], out_size);
  assert_non_null(data);
  return data;
}

/* Reads a copy that ends where its block ends, so that the address sanitizer sees every step too
 * far. A failure has a message, and only a failure. */
static tn_status read_copy(const uint8_t *data, uint64_t n, tn_text *message) {
  kit k;
  tn_status s;
  uint8_t *copy = malloc(n ? (size_t)n : 1);
  if (n) memcpy(copy, data, (size_t)n);
  kit_init(&k);
  k.format = damage_subject.format;
  tn_graph *g = kit_read(&k, copy, n, &s);
  assert_int_equal(k.n_live, 0);
  assert_true(g ? k.messages.n == 0 : k.messages.n > 0);
  if (message) tn_text_add(message, "%s", tn_text_get(&k.messages));
  tn_graph_free(g);
  kit_free(&k);
  free(copy);
  return s;
}

/* The whole way: read, checked, lowered, planned. */
static void plan_copy(tn_runtime *runtime, const uint8_t *data, uint64_t n) {
  tn_diag *diag = tn_diag_create();
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_status s = tn_model_load_memory(runtime, data, n, NULL, NULL, diag, &model);
  if (!s) s = tn_session_create(model, diag, &session);
  if (!s) s = tn_session_prepare(session, diag);
  assert_true(!s || tn_diag_count(diag) > 0);
  tn_session_destroy(session);
  tn_model_destroy(model);
  tn_diag_destroy(diag);
}

static void every_truncation(void **state) {
  (void)state;
  for (int f = 0; damage_subject.files[f]; f++) {
    tn_arena arena;
    uint64_t size;
    tn_arena_init(&arena, tn_default_allocator());
    const uint8_t *data = damage_load(&arena, f, &size);
    for (uint64_t n = 0; n < size; n++) (void)read_copy(data, n, NULL);
    assert_int_equal(read_copy(data, size, NULL), TN_OK);
    assert_int_not_equal(read_copy(data, size / 2, NULL), TN_OK);
    tn_arena_clear(&arena);
  }
}

/* Every byte, or, where a sanitizer makes each step slow, some thousand of a file: others in each
 * run, which is said. */
static uint64_t first_of(uint64_t size, uint64_t *out_step) {
  *out_step = TN_FLAVOUR_SANITIZER ? 1 + size / 1000 : 1;
  const uint64_t first = (uint64_t)time(NULL) % *out_step;
  if (*out_step > 1)
    print_message("bytes %llu, %llu ...\n", (unsigned long long)first,
                  (unsigned long long)(first + *out_step));
  return first;
}

static void every_flipped_bit(void **state) {
  (void)state;
  tn_runtime *runtime = NULL;
  assert_int_equal(tn_runtime_create(NULL, NULL, &runtime), TN_OK);
  for (int f = 0; damage_subject.files[f]; f++) {
    tn_arena arena;
    uint64_t size;
    tn_arena_init(&arena, tn_default_allocator());
    uint8_t *data = damage_load(&arena, f, &size);
    uint64_t step;
    for (uint64_t at = first_of(size, &step); at < size; at += step)
      for (int bit = 0; bit < 8; bit++) {
        data[at] ^= (uint8_t)(1 << bit);
        if (!read_copy(data, size, NULL) && (at + (uint64_t)bit) % 3 == 0)
          plan_copy(runtime, data, size);
        data[at] ^= (uint8_t)(1 << bit);
      }
    tn_arena_clear(&arena);
  }
  tn_runtime_destroy(runtime);
}

/* Four bytes at every place become the numbers that hurt most. */
static void every_wild_number(void **state) {
  (void)state;
  static const uint32_t wild[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 65536};
  for (int f = 0; damage_subject.files[f]; f++) {
    tn_arena arena;
    uint64_t size;
    tn_arena_init(&arena, tn_default_allocator());
    uint8_t *data = damage_load(&arena, f, &size);
    uint64_t step;
    for (uint64_t at = first_of(size, &step); at + 4 <= size; at += step) {
      uint8_t kept[4];
      memcpy(kept, data + at, 4);
      for (size_t k = 0; k < sizeof wild / sizeof *wild; k++) {
        memcpy(data + at, &wild[k], 4);
        (void)read_copy(data, size, NULL);
      }
      memcpy(data + at, kept, 4);
    }
    tn_arena_clear(&arena);
  }
}

static void every_failing_allocation(void **state) {
  (void)state;
  tn_arena arena;
  uint64_t size;
  tn_arena_init(&arena, tn_default_allocator());
  const uint8_t *data = damage_load(&arena, 0, &size);
  tn_status s = TN_ERR_MEMORY;
  int64_t at = 0;
  for (; s == TN_ERR_MEMORY; at++) {
    kit k;
    kit_init(&k);
    k.format = damage_subject.format;
    k.fail_at = at + 1;
    tn_graph *g = kit_read(&k, data, size, &s);
    assert_int_equal(k.n_live, 0);
    assert_true(g || strstr(tn_text_get(&k.messages), "memory"));
    tn_graph_free(g);
    kit_free(&k);
  }
  assert_int_equal(s, TN_OK);
  assert_true(at > 1);
  tn_arena_clear(&arena);
}

bool damage_says(const uint8_t *data, uint64_t size, const char *text) {
  tn_text message;
  tn_text_init(&message, tn_default_allocator());
  const tn_status status = read_copy(data, size, &message);
  const bool says = status && strstr(tn_text_get(&message), text);
  tn_text_free(&message);
  return says;
}

static void messages(void **state) {
  (void)state;
  for (const damage_message *m = damage_subject.messages; m->data; m++) {
    tn_text message;
    tn_text_init(&message, tn_default_allocator());
    assert_int_equal(read_copy((const uint8_t *)m->data, m->size, &message), m->status);
    if (!strstr(tn_text_get(&message), m->text)) fail_msg("%s", tn_text_get(&message));
    tn_text_free(&message);
  }
}

/* What only some formats have tested is skipped by the others. */
static void wild_numbers(void **state) {
  if (!damage_subject.wild_numbers) skip();
  every_wild_number(state);
}
static void more(void **state) {
  if (!damage_subject.more) skip();
  damage_subject.more(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_truncation), cmocka_unit_test(every_flipped_bit),
      cmocka_unit_test(wild_numbers),     cmocka_unit_test(every_failing_allocation),
      cmocka_unit_test(messages),         cmocka_unit_test(more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
