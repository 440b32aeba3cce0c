/* States on the shadow device: random graphs, run and read and set and shared in any order, against
 * the same graph on the CPU; that they do lie there; and what becomes of them when it is lost. With
 * TENON_TEST_DEVICE: a few of these graphs on the device of that name, to a tolerance. */
#include <math.h>
#include <time.h>

#include "device_graph.h"
#include "exec/session.h"
#include "exec/states.h"

enum { MAX_STATES = 3, MAX_INPUTS = 2 };

static const char *tested = "shadow"; /* device */
static bool is_shadow(void) { return !strcmp(tested, "shadow"); }

typedef struct shape {
  int n_inputs, n_states, n_outputs, n_steps;
  uint64_t seed;
} shape;

static int32_t add_value(tn_graph *g, char letter, int number) {
  const tn_tensor type = tn_tensor_make(TN_F32, 2, (int64_t[]){ROWS, COLUMNS}, NULL);
  char name[16];
  snprintf(name, sizeof name, "%c%d", letter, number);
  const int32_t value = api()->value(g, name);
  assert_int_equal(api()->value_set_type(g, value, &type), TN_OK);
  return value;
}

/* Some begin with numbers, the others with zeros. */
static int32_t add_state(tn_graph *g, int number, int32_t value) {
  float first[N];
  char name[16];
  int32_t initial = TN_NO_ID;
  snprintf(name, sizeof name, "s%d", number);
  if (random_below(2)) {
    for (int k = 0; k < N; k++) first[k] = (float)random_below(16) / 4 - 2;
    const tn_tensor t = tn_tensor_make(TN_F32, 2, (int64_t[]){ROWS, COLUMNS}, first);
    initial = api()->value(g, NULL);
    assert_int_equal(api()->value_set_const(g, initial, &t, 1), TN_OK);
  }
  const int32_t state = api()->state_new(g, name, value, initial);
  assert_true(state >= 0);
  return state;
}

/* A state becomes what was computed, an input, itself, another one, or what an output is, too. */
static void make_graph(tn_runtime *runtime, const shape *s, tn_graph **out) {
  enum { MAX_VALUES = 32 };
  int32_t values[MAX_VALUES], states[MAX_STATES];
  int n = 0;
  assert_int_equal(tn_graph_create(runtime, out), TN_OK);
  tn_graph *g = *out;
  assert_int_equal(api()->set_opset(g, "", 17), TN_OK);
  seed = s->seed;
  for (int k = 0; k < s->n_inputs; k++, n++) {
    values[n] = add_value(g, 'x', k);
    assert_int_equal(api()->add_input(g, values[n]), TN_OK);
  }
  for (int k = 0; k < s->n_states; k++, n++) {
    values[n] = add_value(g, 'v', k);
    states[k] = add_state(g, k, values[n]);
  }
  for (int k = 0; k < s->n_steps; k++, n++)
    values[n] = step(g, values[random_below((uint32_t)n)], values[random_below((uint32_t)n)]);
  for (int k = 0; k < s->n_states; k++)
    assert_int_equal(api()->state_set(g, states[k], values[random_below((uint32_t)n)]), TN_OK);
  for (int k = 0; k < s->n_outputs; k++)
    assert_int_equal(api()->add_output(g, values[n - 1 - k]), TN_OK);
}

static tn_model *make_model(tn_runtime *runtime, const shape *s, const char *device,
                            uint32_t fallback, tn_diag *diag) {
  tn_graph *g;
  tn_model *model = NULL;
  const tn_model_options o = {.head = TN_HEAD(tn_model_options),
                              .devices = &device,
                              .n_devices = device != NULL,
                              .fallback = fallback};
  make_graph(runtime, s, &g);
  if (tn_model_from_graph_take(runtime, g, &o, diag, &model)) fail_msg("%s", tn_diag_text(diag));
  return model;
}

typedef struct trial {
  tn_runtime *runtime;
  tn_diag *diag;
  tn_model *here, *there;
  tn_session *plain, *session, *other; /* other: of either model, may share what session has */
  tn_device_buffer *buffer;            /* for an output */
  float x[MAX_INPUTS][N];
} trial;

static void check(const trial *t, tn_status status) {
  if (status) fail_msg("%s", tn_diag_text(t->diag));
}

static void open_trial(trial *t, const shape *s, uint32_t fallback) {
  t->here = make_model(t->runtime, s, NULL, TN_FALLBACK_WARN, t->diag);
  t->there = make_model(t->runtime, s, tested, fallback, t->diag);
  check(t, tn_session_create(t->here, t->diag, &t->plain));
  check(t, tn_session_create(t->there, t->diag, &t->session));
  check(t, tn_session_create(random_below(2) ? t->here : t->there, t->diag, &t->other));
  check(t, tn_device_buffer_create(t->there, NULL, BYTES, t->diag, &t->buffer));
}

static void close_trial(trial *t) {
  tn_model_destroy(t->there);
  tn_session_destroy(t->session);
  tn_device_buffer_destroy(t->buffer);
  tn_session_destroy(t->other); /* what is shared goes with the last one */
  tn_session_destroy(t->plain);
  tn_model_destroy(t->here);
}

static void set_inputs(trial *t, const shape *s) {
  for (int k = 0; k < s->n_inputs; k++) {
    const tn_tensor x = tn_tensor_make(TN_F32, 2, (int64_t[]){ROWS, COLUMNS}, t->x[k]);
    for (int i = 0; i < N; i++) t->x[k][i] = (float)random_below(64) / 32 - 1;
    check(t, tn_session_set_input(t->plain, k, &x, t->diag));
    check(t, tn_session_set_input(t->session, k, &x, t->diag));
    check(t, tn_session_set_input(t->other, k, &x, t->diag));
  }
}

static void compare(const shape *s, const tn_tensor *got, const tn_tensor *want, const char *what,
                    int index, int round) {
  const float *x = got ? got->data : NULL, *y = want->data;
  assert_non_null(x);
  bool same = !memcmp(x, y, BYTES);
  for (int k = 0; k < N && !is_shadow(); k++) {
    same = fabsf(x[k] - y[k]) <= 1e-5f + 1e-4f * fabsf(y[k]) || x[k] == y[k] ||
           (isnan(x[k]) && isnan(y[k]));
    if (!same) break;
  }
  if (!same)
    fail_msg("seed %llu, round %d: %s %d differs", (unsigned long long)s->seed, round, what, index);
}

static void set_state(trial *t, const shape *s) {
  const int32_t k = (int32_t)random_below((uint32_t)s->n_states);
  float x[N];
  const tn_tensor value = tn_tensor_make(TN_F32, 2, (int64_t[]){ROWS, COLUMNS}, x);
  for (int i = 0; i < N; i++) x[i] = (float)random_below(64) / 32 - 1;
  check(t, tn_session_set_state(t->plain, k, &value, t->diag));
  check(t, tn_session_set_state(t->session, k, &value, t->diag));
}

static int n_there(const tn_session *s) {
  int n = 0;
  for (int32_t k = 0; k < s->n_states; k++) n += s->kept[k]->is_there && !s->kept[k]->is_here;
  return n;
}

static void compare_output(const trial *t, const shape *s, tn_session *one, int k, int round) {
  float copy[N];
  tn_tensor got = *tn_session_output(one, k);
  if (!got.data) {
    check(t, tn_device_buffer_read(t->buffer, 0, copy, BYTES, t->diag));
    got.data = copy;
  }
  compare(s, &got, tn_session_output(t->plain, k), "output", k, round);
}

/* Answers how many states lay on the device alone behind a run. */
static int one_round(trial *t, const shape *s, int round, bool shares) {
  tn_session *one = shares && random_below(3) == 0 ? t->other : t->session;
  set_inputs(t, s);
  if (random_below(8) == 0) set_state(t, s);
  if (random_below(10) == 0) {
    check(t, tn_session_reset(t->plain));
    check(t, tn_session_reset(one));
  }
  if (random_below(10) == 0) check(t, tn_session_prepare(one, t->diag));
  if (random_below(4) == 0) {
    tn_device_buffer *where = random_below(2) ? t->buffer : NULL;
    check(t, tn_session_bind_output(t->session, 0, where, 0, t->diag));
  }
  check(t, tn_session_run(t->plain, t->diag));
  check(t, tn_session_run(one, t->diag));
  for (int k = 0; k < s->n_outputs; k++) compare_output(t, s, one, k, round);
  const int n = n_there(one);
  for (int k = 0; k < s->n_states; k++)
    if (random_below(3) == 0)
      compare(s, tn_session_state(one, k), tn_session_state(t->plain, k), "state", k, round);
  return n;
}

static void test_random(void **state) {
  (void)state;
  enum { ROUNDS = 10 };
  const int n_graphs = is_shadow() ? 150 : 12;
  const uint64_t first = (uint64_t)time(NULL) * 1000;
  int n_of_device = 0;
  trial t = {.diag = tn_diag_create()};
  assert_int_equal(tn_runtime_create(NULL, t.diag, &t.runtime), TN_OK);
  for (uint64_t k = 0; k < (uint64_t)n_graphs; k++) {
    seed = first + k;
    const int n_steps = 1 + (int)random_below(8);
    const shape s = {1 + (int)random_below(MAX_INPUTS), 1 + (int)random_below(MAX_STATES),
                     1 + (int)random_below(n_steps < 3 ? (uint32_t)n_steps : 3), n_steps,
                     first + k};
    char shadow[48];
    snprintf(shadow, sizeof shadow, "hide=%d,delay=20,seed=%llu", k % 2 ? 40 : 0,
             (unsigned long long)k);
    setenv("TENON_SHADOW", shadow, 1);
    open_trial(&t, &s, TN_FALLBACK_WARN);
    const bool shares = k % 3 == 0;
    if (shares) check(&t, tn_session_share(t.other, t.session, t.diag));
    for (int round = 0; round < ROUNDS; round++) n_of_device += one_round(&t, &s, round, shares);
    close_trial(&t);
  }
  assert_true(n_of_device > n_graphs * ROUNDS / 4); /* else nothing of this was tested */
  unsetenv("TENON_SHADOW");
  tn_runtime_destroy(t.runtime);
  tn_diag_destroy(t.diag);
}

/* ---- small models by hand ---- */

static tn_runtime *new_runtime(const char *shadow, tn_diag *diag) {
  tn_runtime *runtime;
  setenv("TENON_SHADOW", shadow, 1);
  assert_int_equal(tn_runtime_create(NULL, diag, &runtime), TN_OK);
  return runtime;
}

static tn_graph *new_graph(tn_runtime *runtime) {
  tn_graph *g;
  assert_int_equal(tn_graph_create(runtime, &g), TN_OK);
  assert_int_equal(api()->set_opset(g, "", 17), TN_OK);
  return g;
}

static tn_session *open_session(tn_runtime *runtime, tn_graph *g, const char *device,
                                uint32_t fallback, tn_diag *diag) {
  tn_model *model;
  tn_session *session;
  const tn_model_options o = {.head = TN_HEAD(tn_model_options),
                              .devices = &device,
                              .n_devices = device != NULL,
                              .fallback = fallback};
  if (tn_model_from_graph_take(runtime, g, &o, diag, &model) ||
      tn_session_create(model, diag, &session))
    fail_msg("%s", tn_diag_text(diag));
  tn_model_destroy(model); /* the session keeps it */
  return session;
}

/* y = max(sum, 0), where sum += x. */
static tn_session *open_sum(tn_runtime *runtime, uint32_t fallback, tn_diag *diag) {
  tn_graph *g = new_graph(runtime);
  seed = 0;
  const int32_t x = add_value(g, 'x', 0), before = add_value(g, 'v', 0);
  assert_int_equal(api()->add_input(g, x), TN_OK);
  const int32_t state = add_state(g, 0, before);
  const int32_t after = node(g, "Add", (int32_t[]){before, x}, 2, NULL);
  assert_int_equal(api()->state_set(g, state, after), TN_OK);
  assert_int_equal(api()->add_output(g, node(g, "Relu", &after, 1, NULL)), TN_OK);
  return open_session(runtime, g, "shadow", fallback, diag);
}

static void set_ones(tn_session *s) {
  static float ones[N];
  for (int k = 0; k < N; k++) ones[k] = 1;
  const tn_tensor x = tn_tensor_make(TN_F32, 2, (int64_t[]){ROWS, COLUMNS}, ones);
  assert_int_equal(tn_session_set_input(s, 0, &x, NULL), TN_OK);
}

static float sum_of(const tn_session *s) {
  const tn_tensor *y = tn_session_output(s, 0);
  assert_non_null(y);
  return ((const float *)y->data)[0];
}

/* The device is lost at submission n, whatever that is for. Answers whether the state was. */
static bool lose(int n, uint32_t fallback) {
  char shadow[48];
  snprintf(shadow, sizeof shadow, "delay=0,fault=lost@%d", n);
  tn_diag *diag = tn_diag_create();
  tn_runtime *runtime = new_runtime(shadow, diag);
  tn_session *s = open_sum(runtime, fallback, diag);
  bool is_lost = false;
  float first = 0, want = 0;
  for (int round = 0; round < 6; round++) {
    set_ones(s);
    const tn_status status = tn_session_run(s, diag);
    if (status) {
      assert_true(status == TN_ERR_IO || status == TN_ERR_STATE);
      assert_int_equal(tn_session_run(s, diag),
                       fallback == TN_FALLBACK_FORBID ? TN_ERR_IO : TN_ERR_STATE);
      if (fallback == TN_FALLBACK_FORBID) break;
      if (!strstr(tn_diag_text(diag), "state 's0' was on device 'shadow:0'"))
        fail_msg("%s", tn_diag_text(diag));
      assert_null(tn_session_state(s, 0));
      assert_false(is_lost);
      is_lost = true;
      assert_int_equal(tn_session_reset(s), TN_OK);
      want = first;
      continue;
    }
    if (!round) first = want = sum_of(s) - 1;
    want++;
    assert_true(sum_of(s) == want);
  }
  tn_session_destroy(s);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  return is_lost;
}

static void test_lost_with_its_device(void **state) {
  (void)state;
  int n_lost = 0;
  for (int n = 1; n <= 12; n++) {
    n_lost += lose(n, TN_FALLBACK_WARN);
    (void)lose(n, TN_FALLBACK_FORBID);
  }
  assert_true(n_lost > 0 && n_lost < 12); /* before the first run has ended, memory has it, too */
  unsetenv("TENON_SHADOW");
}

/* The arena and staging fit in so many bytes, or not; the state's buffer does, or not. */
static void test_no_memory_there(void **state) {
  (void)state;
  tn_diag *diag = tn_diag_create();
  for (int bytes = 64; bytes < 2048; bytes += 64) {
    char shadow[32];
    snprintf(shadow, sizeof shadow, "delay=0,memory=%d", bytes);
    tn_runtime *runtime = new_runtime(shadow, diag);
    tn_session *s = open_sum(runtime, TN_FALLBACK_WARN, diag);
    float first = 0;
    for (int round = 0; round < 4; round++) {
      set_ones(s);
      if (tn_session_run(s, diag)) fail_msg("%d bytes: %s", bytes, tn_diag_text(diag));
      if (!round) first = sum_of(s);
      assert_true(sum_of(s) == first + (float)round);
    }
    tn_session_destroy(s);
    tn_runtime_destroy(runtime);
  }
  unsetenv("TENON_SHADOW");
  tn_diag_destroy(diag);
}

static int32_t add_count(tn_graph *g, int32_t *out_state) {
  const tn_tensor type = tn_tensor_make(TN_I64, 1, (int64_t[]){1}, NULL);
  const int32_t before = api()->value(g, "before");
  assert_int_equal(api()->value_set_type(g, before, &type), TN_OK);
  *out_state = api()->state_new(g, "n", before, TN_NO_ID);
  assert_true(*out_state >= 0);
  return before;
}

static int32_t add_one(tn_graph *g, int32_t n) {
  const tn_tensor one = tn_tensor_make(TN_I64, 1, (int64_t[]){1}, (int64_t[]){1});
  const int32_t both[] = {n, api()->value(g, NULL)};
  assert_int_equal(api()->value_set_const(g, both[1], &one, 1), TN_OK);
  return node(g, "Add", both, 2, NULL);
}

/* One session counts on the device, the other one makes as many zeros: its shapes are the state's
 * data, so that comes to memory. */
static void test_shapes_from_a_state(void **state) {
  (void)state;
  tn_diag *diag = tn_diag_create();
  tn_runtime *runtime = new_runtime("delay=0", diag);
  int32_t n;
  tn_graph *g = new_graph(runtime);
  const int32_t next = add_one(g, add_count(g, &n));
  assert_int_equal(api()->state_set(g, n, next), TN_OK);
  tn_session *counter = open_session(runtime, g, "shadow", TN_FALLBACK_WARN, diag);
  g = new_graph(runtime);
  const int32_t count = add_count(g, &n);
  assert_int_equal(api()->add_output(g, node(g, "ConstantOfShape", &count, 1, NULL)), TN_OK);
  tn_session *maker = open_session(runtime, g, "shadow", TN_FALLBACK_WARN, diag);
  assert_int_equal(tn_session_share(maker, counter, diag), TN_OK);
  for (int64_t k = 1; k <= 4; k++) {
    assert_int_equal(tn_session_run(counter, diag), TN_OK);
    assert_int_equal(n_there(counter), 1);
    if (k % 2) assert_int_equal(tn_session_prepare(maker, diag), TN_OK);
    if (tn_session_run(maker, diag)) fail_msg("%s", tn_diag_text(diag));
    assert_int_equal(tn_session_output(maker, 0)->shape[0], k);
  }
  tn_session_destroy(counter);
  tn_session_destroy(maker);
  tn_runtime_destroy(runtime);
  unsetenv("TENON_SHADOW");
  tn_diag_destroy(diag);
}

static bool is_there(void) {
  tn_runtime *runtime;
  tn_device_entry e = {.head = TN_HEAD(tn_device_entry)};
  bool found = false;
  if (tn_runtime_create(NULL, NULL, &runtime)) return false;
  const int32_t n = tn_runtime_n_devices(runtime);
  for (int32_t k = 0; !found && k < n; k++)
    found = !tn_runtime_device(runtime, k, &e) && !e.missing && !strcmp(e.name, tested);
  tn_runtime_destroy(runtime);
  return found;
}

int main(void) {
  const struct CMUnitTest there[] = {cmocka_unit_test(test_random)};
  const char *name = getenv("TENON_TEST_DEVICE");
  if (name) {
    tested = name;
    if (is_there()) return cmocka_run_group_tests(there, NULL, NULL);
    printf("skipped: there is no %s\n", tested);
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_lost_with_its_device),
      cmocka_unit_test(test_no_memory_there),
      cmocka_unit_test(test_shapes_from_a_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
