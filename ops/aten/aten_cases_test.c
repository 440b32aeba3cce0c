/* Replays tests/data/aten/cases.txt: what PyTorch made of each overload (make_cases.py says how
 * lines are written). Types and shapes must be equal, numbers as close as the type is exact. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/base.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"
#include "tenon/tenon.h"

enum { MOST_WORDS = 64, MOST_ELEMENTS = 4096, MOST_SHOWN = 400 };

typedef struct fixture {
  tn_runtime *runtime;
  tn_diag *diag;
  int n, n_failed;
} fixture;

/* ---- tensors as text: f32[2,3]:1,2,... ---- */

static bool parse_tensor(const char *text, tn_tensor *out, void *data) {
  char dtype[16];
  int64_t shape[TN_MAX_RANK];
  int32_t rank = 0;
  const char *p = strchr(text, '[');
  if (!p || p - text >= (ptrdiff_t)sizeof dtype) return false;
  snprintf(dtype, sizeof dtype, "%.*s", (int)(p - text), text);
  for (p++; *p != ']';) {
    char *end;
    shape[rank++] = strtoll(p, &end, 10);
    p = end + (*end == ',');
  }
  *out = tn_tensor_make(tn_dtype_parse(dtype), rank, shape, data);
  const int64_t n = tn_elements(out);
  if (out->dtype == TN_NONE || p[1] != ':' || n > MOST_ELEMENTS) return false;
  p += 2;
  for (int64_t k = 0; k < n; k++) {
    char *end;
    if (tn_dtype_exact_i64(out->dtype))
      tn_store_i64(out->dtype, data, k, strtoll(p, &end, 10));
    else
      tn_store_f64(out->dtype, data, k, strtod(p, &end));
    if (end == p) return false;
    p = end + (*end == ',');
  }
  return *p == '\0';
}

/* ---- comparing ---- */

static double tolerance(uint32_t dtype) {
  return dtype == TN_F64 ? 1e-6 : dtype == TN_F32 ? 2e-5 : dtype == TN_F16 ? 2e-3 : 1.6e-2;
}

static bool close_enough(uint32_t dtype, double got, double wanted) {
  if (isnan(wanted)) return isnan(got);
  if (isinf(wanted) || isinf(got)) return got == wanted;
  return fabs(got - wanted) <= tolerance(dtype) * (1 + fabs(wanted));
}

/* What differs, in words; NULL: nothing. */
static const char *difference(const tn_tensor *got, const tn_tensor *wanted, char *text,
                              size_t size) {
  char a[TN_TENSOR_TEXT], b[TN_TENSOR_TEXT];
  if (!tn_same_shape(got, wanted)) {
    snprintf(text, size, "is %s, expected %s", tn_tensor_text(got, a, sizeof a),
             tn_tensor_text(wanted, b, sizeof b));
    return text;
  }
  for (int64_t k = 0; k < tn_elements(wanted); k++) {
    const bool exact = tn_dtype_exact_i64(wanted->dtype);
    const double x = exact ? (double)tn_load_i64(got->dtype, got->data, k)
                           : tn_load_f64(got->dtype, got->data, k),
                 y = exact ? (double)tn_load_i64(wanted->dtype, wanted->data, k)
                           : tn_load_f64(wanted->dtype, wanted->data, k);
    if (exact ? x == y : close_enough(wanted->dtype, x, y)) continue;
    snprintf(text, size, "element %d is %.9g, expected %.9g", (int)k, x, y);
    return text;
  }
  return NULL;
}

/* ---- cases ---- */

typedef struct words {
  tn_op_arg args[MOST_WORDS];
  tn_tensor tensors[MOST_WORDS], wanted[MOST_WORDS];
  double data[MOST_WORDS][MOST_ELEMENTS], expected[8][MOST_ELEMENTS];
  uint32_t n_args, n_wanted;
} words;

static bool parse_word(char *word, words *w) {
  const uint32_t k = w->n_args;
  if (!strncmp(word, "->=", 3))
    return w->n_wanted < 8 &&
           parse_tensor(word + 3, &w->wanted[w->n_wanted], w->expected[w->n_wanted]) &&
           ++w->n_wanted;
  char *mark = strpbrk(word, "=@");
  if (!mark || k == MOST_WORDS) return false;
  const char kind = *mark;
  *mark = '\0';
  w->args[k] = (tn_op_arg){.name = word, .text = kind == '@' ? mark + 1 : NULL};
  if (kind == '=' && mark[1]) {
    if (!parse_tensor(mark + 1, &w->tensors[k], w->data[k])) return false;
    w->args[k].tensor = &w->tensors[k];
  }
  w->n_args++;
  return true;
}

static void complain(fixture *f, const char *line, const char *what) {
  if (f->n_failed++ < MOST_SHOWN) print_error("%.300s\n    %s\n", line, what);
}

static tn_status run_line(fixture *f, const char *line, words *w, tn_tensor **out) {
  char copy[65536];
  w->n_args = w->n_wanted = 0;
  snprintf(copy, sizeof copy, "%s", line);
  char *rest = NULL, *op = strtok_r(copy, "\t", &rest);
  for (char *word; (word = strtok_r(NULL, "\t", &rest));)
    if (!parse_word(word, w)) fail_msg("the line is not as it should be, at %s: %s", word, line);
  f->n++;
  tn_diag_clear(f->diag);
  const uint32_t n = w->n_wanted ? w->n_wanted : 1;
  return tn_op_run(f->runtime, op, 0, w->args, w->n_args, out, n, f->diag);
}

static void run_case(fixture *f, const char *line, words *w) {
  char text[300];
  tn_tensor *out[8] = {NULL};
  if (run_line(f, line, w, out)) {
    complain(f, line, tn_diag_text(f->diag));
    return;
  }
  for (uint32_t k = 0; k < w->n_wanted; k++) {
    const char *what = difference(out[k], &w->wanted[k], text, sizeof text);
    if (what) complain(f, line, what);
    tn_value_destroy(out[k]);
  }
}

static words *open_fixture(fixture *f) {
  words *w = calloc(1, sizeof *w);
  assert_non_null(w);
  *f = (fixture){.diag = tn_diag_create()};
  assert_int_equal(tn_runtime_create(NULL, f->diag, &f->runtime), TN_OK);
  return w;
}

static void close_fixture(fixture *f, words *w) {
  free(w);
  tn_runtime_destroy(f->runtime);
  tn_diag_destroy(f->diag);
}

static void test_cases(void **state) {
  (void)state;
  fixture f;
  char *line = NULL;
  size_t room = 0;
  words *w = open_fixture(&f);
  FILE *file = fopen("tests/data/aten/cases.txt", "r");
  assert_non_null(file);
  for (ssize_t n; (n = getline(&line, &room, file)) > 0;) {
    line[strcspn(line, "\n")] = '\0';
    if (*line && *line != '#') run_case(&f, line, w);
  }
  free(line);
  fclose(file);
  close_fixture(&f, w);
  print_message("%d cases, %d differ\n", f.n, f.n_failed);
  assert_true(f.n > 1000);
  assert_int_equal(f.n_failed, 0);
}

/* What PyTorch refuses, and numbers that no tensor has: an error, and no answer. */
static void test_refused(void **state) {
  static const char *const lines[][2] = {
      {"aten::index.Tensor\tself=f32[1,1,1,1,1,1,1,1]:1\tindices=i64[1,1,1,1,1,1,1,1]:0",
       "more than 8 dims"},
      {"aten::split_with_sizes\tself=f32[4]:1,2,3,4\tsplit_sizes@[5,-1]", "the parts do not"},
      {"aten::select_scatter\tself=f32[3]:1,2,3\tsrc=f32[]:9\tdim@0\tindex@3", "outside"},
      {"aten::select_scatter\tself=f32[3]:1,2,3\tsrc=f32[]:9\tdim@0\tindex@-4", "outside"},
      {"aten::cdist\tx1=f32[3]:1,2,3\tx2=f32[3]:1,2,4", "no matrices"},
      {"aten::linalg_cross\tself=f32[3]:1,2,3\tother=f32[4]:1,2,3,4", "not three in both"},
      {"aten::t\tself=f32[1,2,1]:1,2", "more than two dims"},
      {"aten::rms_norm\tinput=f32[1,2]:1,2\tnormalized_shape@[7]", "not that of the input"},
      {"torchvision::nms\tdets=f32[1,3]:0,0,1\tscores=f32[1]:1\tiou_threshold@0.5", "four columns"},
      {"aten::gru.input\tinput=f32[1,1,1]:1\thx=f32[]:1\tparams=f32[3,1]:1,1,1\t"
       "params=f32[3,1]:1,1,1\thas_biases@0\tnum_layers@1\tdropout@0\ttrain@0\t"
       "bidirectional@0\tbatch_first@0",
       "without a batch"},
      {"aten::upsample_nearest1d\tself=f32[1,1,1]:1\toutput_size@[1000000000000]", "so large"},
      {"aten::arange.start_step\tstart@0\tend@1\tstep@1e-300", "so long a range"},
      {"aten::max_pool2d\tself=f32[1,1,1]:1\tkernel_size@[1,1]\tpadding@[0,9000000000000000000]",
       "too large"},
      {"aten::repeat_interleave.self_int\tself=f32[4]:1,2,3,4\trepeats@9000000000000000000",
       "so many repeats"},
      {"aten::constant_pad_nd\tself=f32[1]:1\tpad@[9000000000000000000,9000000000000000000]",
       "so wide"},
  };
  (void)state;
  fixture f;
  words *w = open_fixture(&f);
  for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
    tn_tensor *out[8] = {NULL};
    const tn_status s = run_line(&f, lines[k][0], w, out);
    if (!s || !strstr(tn_diag_text(f.diag), lines[k][1]))
      complain(&f, lines[k][0], tn_diag_text(f.diag));
  }
  close_fixture(&f, w);
  assert_int_equal(f.n_failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
