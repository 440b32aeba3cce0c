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

static void run_case(fixture *f, const char *line, words *w) {
  char copy[65536], text[300];
  tn_tensor *out[8] = {NULL};
  w->n_args = w->n_wanted = 0;
  snprintf(copy, sizeof copy, "%s", line);
  char *rest = NULL, *op = strtok_r(copy, "\t", &rest);
  for (char *word; (word = strtok_r(NULL, "\t", &rest));)
    if (!parse_word(word, w)) fail_msg("the line is not as it should be, at %s: %s", word, line);
  f->n++;
  tn_diag_clear(f->diag);
  if (tn_op_run(f->runtime, op, 0, w->args, w->n_args, out, w->n_wanted, f->diag)) {
    complain(f, line, tn_diag_text(f->diag));
    return;
  }
  for (uint32_t k = 0; k < w->n_wanted; k++) {
    const char *what = difference(out[k], &w->wanted[k], text, sizeof text);
    if (what) complain(f, line, what);
    tn_value_destroy(out[k]);
  }
}

static void test_cases(void **state) {
  (void)state;
  fixture f = {.n = 0};
  char *line = NULL;
  size_t room = 0;
  words *w = calloc(1, sizeof *w);
  FILE *file = fopen("tests/data/aten/cases.txt", "r");
  assert_non_null(file);
  assert_non_null(w);
  f.diag = tn_diag_create();
  assert_int_equal(tn_runtime_create(NULL, f.diag, &f.runtime), TN_OK);
  for (ssize_t n; (n = getline(&line, &room, file)) > 0;) {
    line[strcspn(line, "\n")] = '\0';
    if (*line && *line != '#') run_case(&f, line, w);
  }
  free(line);
  free(w);
  fclose(file);
  tn_runtime_destroy(f.runtime);
  tn_diag_destroy(f.diag);
  print_message("%d cases, %d differ\n", f.n, f.n_failed);
  assert_true(f.n > 1000);
  assert_int_equal(f.n_failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
