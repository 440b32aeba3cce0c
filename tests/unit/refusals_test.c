/* Foreign shapes and attributes: every line below is a model of one node that must be refused with
 * a clear sentence, or run without harm. A line is "name=dtype[dims] ... attr=value ...", inputs
 * first, in the operator's order; "_" is an input left out. Inputs are zeros. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/exec.h"
#include "tenon/kit/dtype.h"

typedef struct refusal {
  const char *op;
  int32_t version;
  const char *line;
  int n_outputs;
  const char *says; /* part of the message; NULL: it must run */
} refusal;

#define BIG "4611686018427387904" /* 2^62 */

static const refusal refusals[] = {
    {"Relu", 17, "X=f32[0," BIG ",8]", 1, "overflow"},
    {"Conv", 17, "X=f32[1,1,4] W=f32[1,1,3] pads=[1,1]", 1, NULL},
    {"Conv", 17, "X=f32[1,1,4] W=f32[1,1,0]", 1, "no taps"},
    {"Conv", 17, "X=f32[0,1,9223372036854775807] W=f32[1,1,3] pads=[1,1]", 1, "overflows"},
    {"Conv", 17, "X=f32[1,0,4] W=f32[0,0,9223372036854775807] dilations=[2147483647]", 1,
     "overflows"},
    {"Conv", 17, "X=f32[8,0,4] W=f32[0,0,3] group=" BIG, 1, "group"},
    {"ConvTranspose", 17, "X=f32[1,2] W=f32[2,3]", 1, "rank"},
    {"ConvTranspose", 17, "X=f32[1,0,4] W=f32[0,4,3] group=" BIG, 1, "group"},
    {"ConvTranspose", 17, "X=f32[1,1,4,4] W=f32[1,1,3,3] output_shape=[" BIG "," BIG "]", 1,
     "overflow"},
    {"ConvTranspose", 17, "X=f32[1,1,4] W=f32[1,1,3] output_shape=[-3]", 1, "dim 0"},
    {"ConvTranspose", 17, "X=f32[1125899906842624,1,1,0] W=f32[1,1,1,1]", 1, NULL},
    {"ConvTranspose", 17, "X=f32[1,1,3,4] W=f32[1,1,2,2] output_shape=[4,0]", 1, NULL},
    {"MaxPool", 17,
     "X=f32[1,1,1,1,1] kernel_shape=[2147483647,2147483647,2147483647] "
     "pads=[2147483647,2147483647,2147483647,0,0,0]",
     1, "overflow"},
    {"MaxPool", 17, "X=f32[1,1,1] kernel_shape=[2] dilations=[3] pads=[1,2]", 2, NULL},
    {"MaxPool", 17, "X=f32[1,1,1] kernel_shape=[2] dilations=[3] pads=[1,2]", 1, NULL},
    {"MaxUnpool", 17, "X=f32[1,1,1] I=i64[1,1,1] kernel_shape=[2] pads=[1,1]", 1,
     "outside the output"},
    {"MaxUnpool", 17, "X=f32[1,1,1] I=i64[1,1,1] kernel_shape=[2] pads=[2,1]", 1, "larger than"},
    {"MaxUnpool", 17,
     "X=f32[1,0,2305843009213693951] I=i64[1,0,2305843009213693951] "
     "kernel_shape=[2] strides=[2147483647]",
     1, "overflows"},
    {"InstanceNormalization", 17, "X=f32[4] S=f32[4] B=f32[4]", 1, "rank"},
    {"InstanceNormalization", 17, "X=f32[2,300,2] S=f32[1] B=f32[1]", 1, "300"},
    {"InstanceNormalization", 17, "X=f32[1125899906842624,1,0] S=f32[1] B=f32[1]", 1, NULL},
    {"LayerNormalization", 17, "X=f32[1125899906842624,0] S=f32[0]", 1, NULL},
    {"GroupNormalization", 21, "X=f32[1,0,3] S=f32[0] B=f32[0] num_groups=" BIG, 1, "num_groups"},
    {"BatchNormalization", 17, "X=f32[2,3] S=f32[3] B=f32[3] M=f32[3] V=f32[3]", 3,
     "training_mode"},
    {"LpNormalization", 17, "X=f32[2,3] axis=2", 1, "axis 2"},
    {"LpNormalization", 17, "X=f32[1125899906842624,1,0]", 1, NULL},
    {"LRN", 17, "X=f32[1125899906842624,1,0] size=3", 1, NULL},
    {"LRN", 17, "X=f32[1,1125899906842624,0] size=" BIG, 1, NULL},
    {"LpNormalization", 17, "X=f32[2,3] p=3", 1, "'p' is 3"},
    {"LRN", 17, "X=f32[1,2,3] size=0", 1, "size"},
    {"RNN", 17, "X=f32[1,1,2] W=f32[1,8,2] R=f32[1,8,2]", 2, "'W' is"},
    {"GRU", 17, "X=f32[1,1,2] W=f32[1,8,2] R=f32[1,8,2]", 2, "'W' is"},
    {"LSTM", 17, "X=f32[1,1,2] W=f32[1,2,2] R=f32[1,2,2]", 3, "'W' is"},
    {"LSTM", 17, "X=f32[1,1,2] W=f32[1,8,2] R=f32[1,8,2]", 3, NULL},
    {"LSTM", 17, "X=f32[1,1,2] W=f32[1,0,2] R=f32[1,0,0]", 3, "hidden"},
    {"MatMul", 17, "A=f32[3,0] B=f32[0,5]", 1, NULL},
    {"MatMul", 17, "A=f32[4] B=f32[4]", 1, NULL},
    {"MatMul", 17, "A=f32[] B=f32[4]", 1, "inner dims"},
    {"Gemm", 17, "A=f32[3,0] B=f32[0,5] C=f32[5]", 1, NULL},
    {"Softmax", 17, "X=f32[3,0]", 1, NULL},
    {"ReduceMean", 18, "X=f32[0,3]", 1, NULL},
    {"ReduceMax", 18, "X=f32[2,0]", 1, NULL},
    {"Transpose", 17, "X=f32[3,0] perm=[1,0]", 1, NULL},
    {"Attention", 23, "Q=f32[1,2,0] K=f32[1,3,4] V=f32[1,3,8] q_num_heads=" BIG " kv_num_heads=1",
     1, "divide the last dims"},
    {"Attention", 23,
     "Q=f32[1125899906842624,1,1,0] K=f32[1125899906842624,1,1,0] "
     "V=f32[1125899906842624,1,1,0]",
     1, NULL},
    {"Attention", 23, "Q=f32[1,1,1,0] K=f32[1,1,1125899906842624,0] V=f32[1,1,1125899906842624,0]",
     1, NULL},
    {"Attention", 23, "Q=f32[1,1,1,0] K=f32[1,1,1125899906842624,0] V=f32[1,1,1125899906842624,0]",
     3, NULL},
    {"RotaryEmbedding", 23,
     "X=f32[1125899906842624,1,1,0] C=f32[1125899906842624,1,0] "
     "S=f32[1125899906842624,1,0]",
     1, NULL},
    {"RotaryEmbedding", 23, "X=f32[1,1125899906842624,1,0] C=f32[1,1,0] S=f32[1,1,0]", 1, NULL},
    {"RotaryEmbedding", 23,
     "X=f32[1125899906842624,0,1,2] C=f32[1125899906842624,1,1] "
     "S=f32[1125899906842624,1,1]",
     1, NULL},
    {"CumSum", 14, "X=f32[1125899906842624,0] A=i64[]", 1, NULL},
    {"RotaryEmbedding", 23, "X=f32[1,2,0] C=f32[1,2,0] S=f32[1,2,0] num_heads=" BIG, 1,
     "num_heads divides"},
    {"LinearAttention", 27,
     "Q=f32[1,2,0] K=f32[1,2,4] V=f32[1,2,8] q_num_heads=" BIG " kv_num_heads=1", 1,
     "kv_num_heads divides"},
    {"RoiAlign", 16, "X=f32[1,1,2,2] R=f32[1,4] B=i64[1] sampling_ratio=" BIG, 1, "sampling_ratio"},
};

typedef struct bench {
  tn_runtime *runtime;
  tn_diag *diag;
  tn_session *session;
  tn_model *model;
} bench;

static int setup(void **state) {
  bench *b = calloc(1, sizeof *b);
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  o.flags = TN_RUNTIME_NO_DISCOVERY;
  o.n_threads = 2;
  assert_int_equal(tn_runtime_create(&o, NULL, &b->runtime), TN_OK);
  *state = b;
  return 0;
}

static int teardown(void **state) {
  bench *b = *state;
  tn_runtime_destroy(b->runtime);
  free(b);
  return 0;
}

/* Numbers "a,b,c" up to `end`. */
static int32_t numbers(const char *text, char end, int64_t *out) {
  int32_t n = 0;
  while (*text != end) {
    char *after;
    out[n++] = strtoll(text, &after, 10);
    text = *after == ',' ? after + 1 : after;
  }
  return n;
}

typedef struct parsed {
  tn_tensor inputs[8];
  tn_attr attrs[8];
  int64_t ints[8][8];
  char names[16][32];
  uint32_t n_inputs, n_attrs;
} parsed;

static void parse(const char *line, parsed *p) {
  memset(p, 0, sizeof *p);
  for (const char *at = line; *at; at += strspn(at, " ")) {
    const char *value = strchr(at, '=') + 1, *list = strchr(value, '[');
    size_t n = strcspn(at, " ");
    char *name = p->names[p->n_inputs + p->n_attrs];
    snprintf(name, 32, "%.*s", (int)(value - at - 1), at);
    if (*value >= 'a' && *value <= 'z') {
      char dtype[8];
      int64_t dims[8];
      snprintf(dtype, sizeof dtype, "%.*s", (int)(list - value), value);
      int32_t rank = numbers(list + 1, ']', dims);
      p->inputs[p->n_inputs++] = tn_tensor_make(tn_dtype_parse(dtype), rank, dims, NULL);
    } else {
      tn_attr *a = &p->attrs[p->n_attrs];
      int64_t *ints = p->ints[p->n_attrs++];
      *a = (tn_attr){.head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_INT};
      if (*value == '[') {
        a->kind = TN_ATTR_INTS;
        a->ints = (tn_ints){ints, numbers(value + 1, ']', ints)};
      } else {
        a->i = strtoll(value, NULL, 10);
      }
    }
    at += n;
  }
}

static tn_graph *build(bench *b, const refusal *r, const parsed *p) {
  const tn_graph_api *api = tn_graph_functions();
  tn_graph *g;
  int32_t in[8], out[4];
  const tn_attr *attrs[8];
  assert_int_equal(tn_graph_create(b->runtime, &g), TN_OK);
  assert_int_equal(api->set_opset(g, "", r->version), TN_OK);
  for (uint32_t k = 0; k < p->n_inputs; k++) {
    in[k] = api->value(g, p->names[k]);
    assert_int_equal(api->value_set_type(g, in[k], &p->inputs[k]), TN_OK);
    assert_int_equal(api->add_input(g, in[k]), TN_OK);
  }
  for (int k = 0; k < r->n_outputs; k++) {
    out[k] = api->value(g, NULL);
    assert_int_equal(api->add_output(g, out[k]), TN_OK);
  }
  for (uint32_t k = 0; k < p->n_attrs; k++) attrs[k] = &p->attrs[k];
  tn_node node = {.head = TN_HEAD(tn_node),
                  .domain = "",
                  .op = r->op,
                  .name = r->op,
                  .n_inputs = p->n_inputs,
                  .n_outputs = (uint32_t)r->n_outputs,
                  .n_attrs = p->n_attrs,
                  .inputs = in,
                  .outputs = out,
                  .attrs = attrs,
                  .offset = -1};
  assert_true(api->add_node(g, &node) >= 0);
  return g;
}

static tn_status try_all(bench *b, const refusal *r) {
  parsed p;
  parse(r->line, &p);
  tn_graph *g = build(b, r, &p);
  tn_status s = tn_model_from_graph_take(b->runtime, g, NULL, b->diag, &b->model);
  if (!s) s = tn_session_create(b->model, b->diag, &b->session);
  void *memory[8] = {NULL};
  for (uint32_t k = 0; k < p.n_inputs && !s; k++) {
    int64_t bytes = tn_tensor_bytes(&p.inputs[k]);
    memory[k] = p.inputs[k].data = calloc(1, bytes > 0 && bytes < 1 << 20 ? (size_t)bytes : 1);
    s = tn_session_set_input(b->session, (int32_t)k, &p.inputs[k], b->diag);
  }
  if (!s) s = tn_session_run(b->session, b->diag);
  tn_session_destroy(b->session);
  tn_model_destroy(b->model);
  b->session = NULL;
  b->model = NULL;
  for (uint32_t k = 0; k < p.n_inputs; k++) free(memory[k]);
  return s;
}

static void each_is_refused_or_runs(void **state) {
  bench *b = *state;
  int wrong = 0;
  for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
    const refusal *r = &refusals[k];
    b->diag = tn_diag_create();
    tn_status s = try_all(b, r);
    const char *text = tn_diag_text(b->diag);
    if (r->says ? !s || !strstr(text, r->says) : s != TN_OK) {
      print_error("%s %s: status %d, expected '%s', got: %s\n", r->op, r->line, (int)s,
                  r->says ? r->says : "success", text);
      wrong++;
    }
    tn_diag_destroy(b->diag);
  }
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(each_is_refused_or_runs, setup, teardown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
