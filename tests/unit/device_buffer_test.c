/* Inputs and outputs in buffers on the shadow device: random graphs whose ends lie anywhere in a
 * buffer, on each other, too, against the same graph on the CPU; and what is refused. */
#include <time.h>

#include "device_graph.h"

enum { MAX_INPUTS = 4, MAX_OUTPUTS = 4 };
enum {
  PLACE = BYTES,
  N_PLACES = 16,
  UNIT = 64
}; /* of buffers; UNIT: what offsets there are multiples of */

typedef struct shape {
  int n_inputs, n_outputs, n_steps;
  uint64_t seed;
} shape;

static void make_graph(tn_runtime *runtime, const shape *s, tn_graph **out) {
  enum { MAX_VALUES = 32 };
  int32_t values[MAX_VALUES];
  int n = 0;
  const tn_tensor type = tn_tensor_make(TN_F32, 2, (int64_t[]){ROWS, COLUMNS}, NULL);
  assert_int_equal(tn_graph_create(runtime, out), TN_OK);
  tn_graph *g = *out;
  assert_int_equal(api()->set_opset(g, "", 17), TN_OK);
  seed = s->seed;
  for (; n < s->n_inputs; n++) {
    char name[16];
    snprintf(name, sizeof name, "x%d", n);
    values[n] = api()->value(g, name);
    assert_int_equal(api()->value_set_type(g, values[n], &type), TN_OK);
    assert_int_equal(api()->add_input(g, values[n]), TN_OK);
  }
  for (int k = 0; k < s->n_steps; k++, n++)
    values[n] = step(g, values[random_below((uint32_t)n)], values[random_below((uint32_t)n)]);
  for (int k = 0; k < s->n_outputs; k++) /* the last ones: else nodes are for nothing */
    assert_int_equal(api()->add_output(g, values[n - 1 - k]), TN_OK);
}

static tn_model *make_model(tn_runtime *runtime, const shape *s, const char *device,
                            tn_diag *diag) {
  tn_graph *g;
  tn_model *model = NULL;
  const tn_model_options o = {.head = TN_HEAD(tn_model_options),
                              .devices = &device,
                              .n_devices = device != NULL,
                              .fallback = TN_FALLBACK_WARN};
  make_graph(runtime, s, &g);
  if (tn_model_from_graph_take(runtime, g, &o, diag, &model)) fail_msg("%s", tn_diag_text(diag));
  return model;
}

/* ---- one model, its ends in many places ---- */

typedef struct trial {
  tn_runtime *runtime;
  tn_diag *diag;
  tn_model *here, *there;
  tn_session *plain, *session;
  tn_device_buffer *buffers[2];
  float x[MAX_INPUTS][N];
} trial;

static void check(const trial *t, tn_status status) {
  if (status) fail_msg("%s", tn_diag_text(t->diag));
}

static void open_trial(trial *t, const shape *s) {
  t->here = make_model(t->runtime, s, NULL, t->diag);
  t->there = make_model(t->runtime, s, "shadow", t->diag);
  check(t, tn_session_create(t->here, t->diag, &t->plain));
  check(t, tn_session_create(t->there, t->diag, &t->session));
  for (int k = 0; k < 2; k++)
    check(t, tn_device_buffer_create(t->there, NULL, PLACE * N_PLACES, t->diag, &t->buffers[k]));
}

static void close_trial(trial *t) {
  tn_model_destroy(t->there); /* in any order: bound sessions and buffers keep it */
  tn_device_buffer_destroy(t->buffers[0]);
  tn_session_destroy(t->session);
  tn_device_buffer_destroy(t->buffers[1]);
  tn_session_destroy(t->plain);
  tn_model_destroy(t->here);
}

typedef struct end {
  int buffer; /* -1: in memory */
  uint64_t offset;
} end;

static end random_end(void) {
  const end e = {(int)random_below(3) - 1, UNIT * random_below((PLACE * N_PLACES - BYTES) / UNIT)};
  return e;
}

static bool overlap(const end *a, const end *b) {
  return a->buffer >= 0 && a->buffer == b->buffer && a->offset < b->offset + PLACE &&
         b->offset < a->offset + PLACE;
}

/* Two values of one kind have no bytes in common; outputs may have some with inputs, or all. */
static void choose(const shape *s, end *in, end *out) {
  for (int k = 0; k < s->n_inputs; k++) {
    in[k] = random_end();
    for (int i = 0; i < k; i++)
      if (overlap(&in[i], &in[k])) in[k].buffer = -1;
  }
  for (int k = 0; k < s->n_outputs; k++) {
    out[k] = random_end();
    const end *under = &in[random_below((uint32_t)s->n_inputs)];
    if (random_below(2) && under->buffer >= 0) out[k] = *under;
    for (int i = 0; i < k; i++)
      if (overlap(&out[i], &out[k])) out[k].buffer = -1;
  }
}

static void bind(trial *t, const shape *s, const end *in, const end *out) {
  for (int k = 0; k < s->n_inputs; k++) {
    const tn_tensor x = tn_tensor_make(TN_F32, 2, (int64_t[]){ROWS, COLUMNS}, t->x[k]);
    for (int i = 0; i < N; i++) t->x[k][i] = (float)random_below(64) / 8 - 4;
    check(t, tn_session_set_input(t->plain, k, &x, t->diag));
    if (in[k].buffer < 0) {
      check(t, tn_session_set_input(t->session, k, &x, t->diag));
      continue;
    }
    tn_device_buffer *b = t->buffers[in[k].buffer];
    check(t, tn_device_buffer_write(b, in[k].offset, t->x[k], BYTES, t->diag));
    check(t, tn_session_bind_input(t->session, k, &x, b, in[k].offset, t->diag));
  }
  for (int k = 0; k < s->n_outputs; k++)
    check(t, tn_session_bind_output(t->session, k,
                                    out[k].buffer < 0 ? NULL : t->buffers[out[k].buffer],
                                    out[k].offset, t->diag));
}

static void run_and_compare(trial *t, const shape *s, const end *in, const end *out, int round) {
  check(t, tn_session_run(t->plain, t->diag));
  check(t, tn_session_run(t->session, t->diag));
  for (int k = 0; k < s->n_outputs; k++) {
    float got[N];
    const tn_tensor *value = tn_session_output(t->session, k);
    if (out[k].buffer < 0) {
      memcpy(got, value->data, sizeof got);
    } else {
      assert_null(value->data);
      assert_int_equal(value->rank, 2);
      check(t,
            tn_device_buffer_read(t->buffers[out[k].buffer], out[k].offset, got, BYTES, t->diag));
    }
    if (memcmp(got, tn_session_output(t->plain, k)->data, sizeof got))
      fail_msg("seed %llu, round %d: output %d differs", (unsigned long long)s->seed, round, k);
  }
  for (int k = 0; k < s->n_inputs; k++) { /* nothing has written over the others */
    float now[N];
    bool is_over = in[k].buffer < 0;
    for (int i = 0; i < s->n_outputs; i++) is_over = is_over || overlap(&in[k], &out[i]);
    if (is_over) continue;
    check(t, tn_device_buffer_read(t->buffers[in[k].buffer], in[k].offset, now, BYTES, t->diag));
    if (memcmp(now, t->x[k], sizeof now))
      fail_msg("seed %llu, round %d: input %d was changed", (unsigned long long)s->seed, round, k);
  }
}

static void test_random(void **state) {
  (void)state;
  enum { GRAPHS = 150, ROUNDS = 7 };
  const uint64_t first = (uint64_t)time(NULL) * 1000;
  trial t = {.diag = tn_diag_create()};
  assert_int_equal(tn_runtime_create(NULL, t.diag, &t.runtime), TN_OK);
  for (uint64_t k = 0; k < GRAPHS; k++) {
    seed = first + k;
    const int n_steps = 1 + (int)random_below(9);
    const shape s = {
        1 + (int)random_below(MAX_INPUTS),
        1 + (int)random_below((uint32_t)(n_steps < MAX_OUTPUTS ? n_steps : MAX_OUTPUTS)), n_steps,
        first + k};
    end in[MAX_INPUTS], out[MAX_OUTPUTS];
    char shadow[48];
    snprintf(shadow, sizeof shadow, "hide=%d,delay=20,seed=%llu", k % 2 ? 40 : 0,
             (unsigned long long)k);
    setenv("TENON_SHADOW", shadow, 1);
    open_trial(&t, &s);
    for (int round = 0; round < ROUNDS; round++) {
      if (round % 3 == 0) choose(&s, in, out); /* the others use the recording again */
      bind(&t, &s, in, out);
      run_and_compare(&t, &s, in, out, round);
    }
    close_trial(&t);
  }
  unsetenv("TENON_SHADOW");
  tn_runtime_destroy(t.runtime);
  tn_diag_destroy(t.diag);
}

/* ---- what is refused ---- */

static void expect(trial *t, tn_status got, tn_status want, const char *said) {
  assert_int_equal(got, want);
  if (!strstr(tn_diag_text(t->diag), said))
    fail_msg("nobody says '%s', but: %s", said, tn_diag_text(t->diag));
  tn_diag_clear(t->diag);
}

static void test_refused(void **state) {
  (void)state;
  const shape s = {2, 1, 3, 7};
  trial t = {.diag = tn_diag_create()};
  tn_device_buffer *b = NULL;
  float data[N] = {0};
  const tn_tensor x = tn_tensor_make(TN_F32, 2, (int64_t[]){ROWS, COLUMNS}, NULL);
  assert_int_equal(tn_runtime_create(NULL, t.diag, &t.runtime), TN_OK);
  open_trial(&t, &s);
  expect(&t, tn_device_buffer_create(t.here, NULL, 64, t.diag, &b), TN_ERR_NOT_FOUND,
         "loaded without a device");
  expect(&t, tn_device_buffer_create(t.there, "cuda:7", 64, t.diag, &b), TN_ERR_NOT_FOUND,
         "'cuda:7' is no device that the model was loaded for");
  expect(&t, tn_device_buffer_create(NULL, NULL, 64, t.diag, &b), TN_ERR_INVALID, "no model");
  expect(&t, tn_device_buffer_create(t.there, NULL, UINT64_MAX, t.diag, &b), TN_ERR_OVERFLOW,
         "18446744073709551615 bytes");
  assert_null(b);
  assert_int_equal(tn_device_buffer_create(t.there, "shadow", 40, t.diag, &b), TN_OK);
  expect(&t, tn_device_buffer_write(b, 8, data, 33, t.diag), TN_ERR_INVALID,
         "33 bytes from 8 on; the buffer has 40");
  expect(&t, tn_device_buffer_read(b, UINT64_MAX, data, 8, t.diag), TN_ERR_INVALID, "has 40");
  expect(&t, tn_device_buffer_read(b, 0, NULL, 8, t.diag), TN_ERR_INVALID, "no memory is given");
  expect(&t, tn_session_bind_input(t.session, 0, &x, b, 0, t.diag), TN_ERR_SHAPE,
         "input 'x0' needs 96 bytes, the buffer has 40 from offset 0 on");
  expect(&t, tn_session_bind_input(t.session, 0, &x, t.buffers[0], 8, t.diag), TN_ERR_INVALID,
         "offset 8");
  expect(&t, tn_session_bind_input(t.session, 9, &x, t.buffers[0], 0, t.diag), TN_ERR_NOT_FOUND,
         "there is no input 9");
  expect(&t, tn_session_bind_input(t.session, 0, NULL, t.buffers[0], 0, t.diag), TN_ERR_INVALID,
         "input 'x0'");
  expect(&t, tn_session_bind_input(t.plain, 0, &x, b, 0, t.diag), TN_ERR_INVALID,
         "the buffer is of another model");
  expect(&t, tn_session_bind_output(t.session, 0, t.buffers[0], PLACE * N_PLACES + 64, t.diag),
         TN_ERR_INVALID, "and inside");
  for (int k = 0; k < 2; k++)
    assert_int_equal(tn_session_bind_input(t.session, k, &x, t.buffers[0], 0, t.diag), TN_OK);
  assert_int_equal(tn_session_bind_output(t.session, 0, b, 0, t.diag), TN_OK);
  expect(&t, tn_session_run(t.session, t.diag), TN_ERR_SHAPE,
         "output 0 has 96 bytes, its buffer has 40 from 0 on");
  assert_null(tn_session_output(t.session, 0));
  assert_int_equal(tn_session_bind_output(t.session, 0, NULL, 0, t.diag), TN_OK);
  assert_int_equal(tn_session_run(t.session, t.diag), TN_OK);
  assert_non_null(tn_session_output(t.session, 0)->data);
  assert_int_equal(tn_session_bind_input(t.session, 1, NULL, NULL, 0, t.diag), TN_OK);
  expect(&t, tn_session_run(t.session, t.diag), TN_ERR_STATE, "input 'x1' is not set");
  tn_device_buffer_destroy(b);
  tn_device_buffer_destroy(NULL);
  close_trial(&t);
  tn_runtime_destroy(t.runtime);
  tn_diag_destroy(t.diag);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
