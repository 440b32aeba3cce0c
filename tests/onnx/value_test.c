/* Files of one value: lists, optionals and maps as events, nested ones, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "sample.h"

/* Writes events as text: "seq f32 'name'( f32[2] f32[3] )". stop: the event of this number answers
 * an error. */
typedef struct events {
  tn_text text;
  int64_t n, stop;
} events;

static tn_status event(events *e) { return ++e->n == e->stop ? TN_ERR_CANCELLED : TN_OK; }

static tn_status on_tensor(void *ctx, const char *name, const tn_tensor *t) {
  events *e = ctx;
  char text[TN_TENSOR_TEXT];
  tn_text_add(&e->text, "%s%s", tn_tensor_text(t, text, sizeof text), name);
  for (int64_t k = 0; k < tn_tensor_elements(t); k++) {
    const tn_str *s = t->data;
    if (t->dtype == TN_STRING)
      tn_text_add(&e->text, "%s%.*s", k ? "," : "=", (int)s[k].size, s[k].data);
    else
      tn_text_add(&e->text, "%s%g", k ? "," : "=", tn_load_f64(t->dtype, t->data, k));
  }
  tn_text_add(&e->text, " ");
  return event(e);
}

static tn_status on_begin(void *ctx, const char *name, const tn_tensor *type) {
  static const char *const kinds[] = {"?", "seq", "opt", "map"};
  events *e = ctx;
  tn_text_add(&e->text, "%s %s %x%s( ", kinds[type->kind & 3], tn_dtype_name(type->dtype),
              type->elements, name);
  return event(e);
}

static tn_status on_end(void *ctx) {
  events *e = ctx;
  tn_text_add(&e->text, ") ");
  return event(e);
}

static tn_status read_value(kit *k, const pb *m, uint32_t kind, events *e) {
  tn_value_sink sink = {TN_HEAD(tn_value_sink), e, on_tensor, on_begin, on_end};
  tn_source source = kit_source(k, tn_text_get(m), (uint64_t)m->n);
  tn_status s = onnx_format.read_value(&source, kind, &sink);
  assert_int_equal(k->n_live, 0);
  return s;
}

static void expect(pb m, uint32_t kind, const char *text) {
  kit k;
  events e = {.stop = -1};
  kit_init(&k);
  tn_text_init(&e.text, tn_default_allocator());
  tn_status s = read_value(&k, &m, kind, &e);
  if (s) fail_msg("%s", tn_text_get(&k.messages));
  assert_string_equal(tn_text_get(&e.text), text);
  for (int64_t stop = 1; stop <= e.n; stop++) { /* the sink's refusal is handed on */
    events half = {.stop = stop};
    tn_text_init(&half.text, tn_default_allocator());
    assert_int_equal(read_value(&k, &m, kind, &half), TN_ERR_CANCELLED);
    assert_int_equal(half.n, stop);
    tn_text_free(&half.text);
  }
  for (int64_t at = 1; at < 100; at++) { /* so is a lack of memory */
    kit_free(&k);
    kit_init(&k);
    k.fail_at = at;
    e.n = 0;
    s = read_value(&k, &m, kind, &e);
    assert_true(s == TN_OK || s == TN_ERR_MEMORY);
  }
  tn_text_free(&e.text);
  tn_text_free(&m);
  kit_free(&k);
}

static void expect_failure(pb m, uint32_t kind, tn_status status, const char *words) {
  kit k;
  events e = {.stop = -1};
  kit_init(&k);
  tn_text_init(&e.text, tn_default_allocator());
  assert_int_equal(read_value(&k, &m, kind, &e), status);
  if (!strstr(tn_text_get(&k.messages), words))
    fail_msg("'%s' is not in: %s", words, tn_text_get(&k.messages));
  tn_text_free(&e.text);
  tn_text_free(&m);
  kit_free(&k);
}

/* SequenceProto or OptionalProto of these items. */
static pb list(const char *name, int64_t elem_type) {
  pb m = pb_new();
  if (name) pb_str(&m, 1, name);
  pb_int(&m, 2, elem_type);
  return m;
}

static pb scalar(float value) {
  pb t = pb_tensor(NULL, 1, 0, NULL);
  pb_f32(&t, 4, value);
  return t;
}

static void tensors(void **state) {
  (void)state;
  expect(pb_floats("/t", 2), TN_KIND_TENSOR, "f32[2]/t=1,2 ");
}

static void sequences(void **state) {
  (void)state;
  pb m = list("/s", 1);
  pb_msg(&m, 3, pb_floats("/a", 2));
  pb_msg(&m, 3, pb_floats(NULL, 1));
  expect(m, TN_KIND_SEQUENCE, "seq f32 0/s( f32[2]/a=1,2 f32[1]=1 ) ");
  expect(list(NULL, 1), TN_KIND_SEQUENCE, "seq ? 0( ) ");
  expect(list(NULL, 3), TN_KIND_SEQUENCE, "seq ? 1( ) ");
  expect(pb_new(), TN_KIND_SEQUENCE, "seq ? 0( ) ");
  m = list(NULL, 2);
  pb_msg(&m, 4, sparse(NULL, false));
  expect(m, TN_KIND_SEQUENCE, "seq f32 0( f32[4,3]=0,0,0,0,0,1,0,0,0,2,0,0 ) ");
}

static void nested_lists(void **state) {
  (void)state;
  pb inner = list("/i", 1), m = list(NULL, 3);
  pb_msg(&inner, 3, pb_floats(NULL, 1));
  pb_msg(&m, 5, list(NULL, 1));
  pb_msg(&m, 5, inner);
  expect(m, TN_KIND_SEQUENCE, "seq ? 1( seq ? 0( ) seq f32 0/i( f32[1]=1 ) ) ");
  pb opt = list("/o", 3);
  inner = list(NULL, 1);
  pb_msg(&inner, 3, pb_floats(NULL, 1));
  pb_msg(&opt, 5, inner);
  expect(opt, TN_KIND_OPTIONAL, "opt f32 1/o( seq f32 0( f32[1]=1 ) ) ");
}

static void optionals(void **state) {
  (void)state;
  pb m = list(NULL, 1);
  pb_msg(&m, 3, pb_floats(NULL, 2));
  expect(m, TN_KIND_OPTIONAL, "opt f32 0( f32[2]=1,2 ) ");
  expect(list("/none", 0), TN_KIND_OPTIONAL, "opt ? 0/none( ) ");
  expect(pb_new(), TN_KIND_OPTIONAL, "opt ? 0( ) ");
}

/* MapProto from int64 keys to the values of a SequenceProto, which it takes over. */
static pb map(int64_t key_type, const int64_t *keys, int64_t n, pb values) {
  pb m = pb_new();
  pb_int(&m, 2, key_type);
  pb_packed(&m, 3, keys, n);
  pb_msg(&m, 5, values);
  return m;
}

static void maps(void **state) {
  (void)state;
  const int64_t keys[] = {-1, 7};
  pb values = list(NULL, 1);
  pb_msg(&values, 3, scalar(0.5));
  pb_msg(&values, 3, scalar(2));
  expect(map(7, keys, 2, values), TN_KIND_MAP, "map f32 8000000( i64[2]=-1,7 f32[2]=0.5,2 ) ");
  values = list(NULL, 1);
  pb_msg(&values, 3, scalar(0.5));
  pb_msg(&values, 3, pb_floats(NULL, 2));
  expect(map(5, keys, 2, values), TN_KIND_MAP,
         "map f32 6000000( i16[2]=-1,7 seq f32 0( f32[]=0.5 f32[2]=1,2 ) ) ");
  pb m = pb_new();
  pb_int(&m, 2, 8);
  pb_str(&m, 4, "cat");
  values = list(NULL, 1);
  pb_msg(&values, 3, scalar(3));
  pb_msg(&m, 5, values);
  pb seq = list("/s", 4);
  pb_msg(&seq, 6, m);
  expect(seq, TN_KIND_SEQUENCE, "seq f32 e000003/s( map f32 e000000( string[1]=cat f32[1]=3 ) ) ");
}

static void refused(void **state) {
  (void)state;
  pb m = list(NULL, 1);
  pb_msg(&m, 5, list(NULL, 1));
  expect_failure(m, TN_KIND_SEQUENCE, TN_ERR_INVALID, "one is of kind 3");
  expect_failure(list(NULL, 1), TN_KIND_OPTIONAL, TN_ERR_INVALID, "the optional holds 0 values");
  m = list(NULL, 1);
  pb_msg(&m, 3, pb_floats(NULL, 2));
  pb_msg(&m, 3, pb_floats(NULL, 2));
  expect_failure(m, TN_KIND_OPTIONAL, TN_ERR_INVALID, "the optional holds 2 values");
  m = list(NULL, 3);
  for (int k = 0; k < 20; k++) {
    pb outer = list(NULL, 3);
    pb_msg(&outer, 5, m);
    m = outer;
  }
  expect_failure(m, TN_KIND_SEQUENCE, TN_ERR_OVERFLOW, "nested more than 16 deep");
  expect_failure(map(1, NULL, 0, list(NULL, 1)), TN_KIND_MAP, TN_ERR_INVALID,
                 "keys of a map cannot be f32");
  expect_failure(pb_new(), TN_KIND_MAP, TN_ERR_INVALID, "no element type");
  expect_failure(pb_new(), TN_KIND_TENSOR, TN_ERR_INVALID, "no element type");
  expect_failure(pb_new(), 4, TN_ERR_INVALID, "no kind of value with number 4");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors),   cmocka_unit_test(sequences), cmocka_unit_test(nested_lists),
      cmocka_unit_test(optionals), cmocka_unit_test(maps),      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
