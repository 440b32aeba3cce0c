/* Cast between strings and numbers.
 *
 * Floats are written with the fewest digits that read back as the same number, as numpy does:
 * "0.1", "1e-05", "100.0"; NaN, INF, -INF. Read are decimal numbers, and these words in any
 * case; integers, too, may be written as floats. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cast.gen.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

enum { TEXT_MAX = 64, DIGITS_MAX = 20 };

/* ---- Numbers to text ---- */

/* x, rounded to the type: what a text must read back as. */
static double round_to(uint32_t dtype, double x) {
  uint64_t storage = 0;
  if (tn_dtype(dtype)->bits < 16)
    return x; /* each of these few values is exact in 3 digits or so */
  tn_store_f64(dtype, &storage, 0, x);
  return tn_load_f64(dtype, &storage, 0);
}

/* The shortest digits d1 d2 d3 ... with x = d1.d2d3... * 10^exponent when read in the type.
 * Answers how many. */
static int shortest_digits(uint32_t dtype, double x, char digits[DIGITS_MAX], int *out_exponent) {
  char text[TEXT_MAX];
  int n = 0;
  for (int precision = 0; precision < 17; precision++) {
    snprintf(text, sizeof text, "%.*e", precision, x);
    if (round_to(dtype, strtod(text, NULL)) == x) break;
  }
  const char *e = strchr(text, 'e');
  *out_exponent = atoi(e + 1);
  for (const char *p = text; p < e && n < DIGITS_MAX - 1; p++) {
    if (*p >= '0' && *p <= '9')
      digits[n++] = *p; /* leaves out sign and decimal point, whatever the locale's looks like */
  }
  digits[n] = 0;
  return n;
}

static void write_float(uint32_t dtype, double x, char text[TEXT_MAX]) {
  char digits[DIGITS_MAX];
  int exponent;
  if (isnan(x) || isinf(x)) {
    strcpy(text, isnan(x) ? "NaN" : x > 0 ? "INF" : "-INF");
    return;
  }
  if (signbit(x)) *text++ = '-';
  const int n = shortest_digits(dtype, fabs(x), digits, &exponent);
  if (exponent < -4 || exponent > 15) {
    snprintf(text, TEXT_MAX - 1, "%c%s%se%c%02u", digits[0], n > 1 ? "." : "", digits + 1,
             exponent < 0 ? '-' : '+', (unsigned)abs(exponent));
    return;
  }
  for (int place = exponent > 0 ? exponent : 0; place >= 0 || place >= exponent - n + 1; place--) {
    const int k = exponent - place; /* digit at 10^place */
    *text++ = k >= 0 && k < n ? digits[k] : '0';
    if (place == 0) *text++ = '.';
  }
  if (text[-1] == '.') *text++ = '0';
  *text = 0;
}

static void write_number(const tn_tensor *x, int64_t i, char text[TEXT_MAX]) {
  if (x->dtype == TN_BOOL)
    strcpy(text, tn_load_i64(x->dtype, x->data, i) ? "True" : "False");
  else if (x->dtype == TN_U64)
    snprintf(text, TEXT_MAX, "%llu", (unsigned long long)tn_load_i64(x->dtype, x->data, i));
  else if (tn_dtype(x->dtype)->is_int)
    snprintf(text, TEXT_MAX, "%lld", (long long)tn_load_i64(x->dtype, x->data, i));
  else
    write_float(x->dtype, tn_load_f64(x->dtype, x->data, i), text);
}

/* ---- Text to numbers ---- */

static bool same_word(const char *text, const char *word) {
  for (; *text && *word; text++, word++) {
    if ((*text | 0x20) != *word) return false;
  }
  return !*text && !*word;
}

/* The text with the locale's decimal point, which is what strtod reads. */
static bool localize(const char *text, char out[2 * TEXT_MAX]) {
  const char *point = localeconv()->decimal_point;
  size_t n = 0, wide = strlen(point);
  for (; *text; text++) {
    if (n + wide + 1 > 2 * TEXT_MAX) return false;
    if (*text == '.')
      memcpy(out + n, point, wide), n += wide;
    else
      out[n++] = *text;
  }
  out[n] = 0;
  return true;
}

static bool read_float(const char *text, double *out) {
  char local[2 * TEXT_MAX], *end;
  const char *word = *text == '+' || *text == '-' ? text + 1 : text;
  if (same_word(word, "nan")) return *out = (double)NAN, true;
  if (same_word(word, "inf") || same_word(word, "infinity"))
    return *out = *text == '-' ? -(double)INFINITY : (double)INFINITY, true;
  if (!*text || strspn(text, "+-.0123456789eE") != strlen(text) || !localize(text, local))
    return false;
  *out = strtod(local, &end);
  return end != local && !*end;
}

static bool read_number(const char *text, const tn_tensor *y, int64_t i) {
  char *end;
  double value;
  if (y->dtype == TN_BOOL && (same_word(text, "true") || same_word(text, "false"))) {
    tn_store_i64(y->dtype, y->data, i, same_word(text, "true"));
    return true;
  }
  if (tn_dtype_exact_i64(y->dtype) && *text && strspn(text, "+-0123456789") == strlen(text)) {
    const int64_t whole =
        *text == '-' ? strtoll(text, &end, 10) : (int64_t)strtoull(text, &end, 10);
    if (end == text || *end) return false;
    tn_store_i64(y->dtype, y->data, i, whole);
    return true;
  }
  if (!read_float(text, &value)) return false;
  tn_store_f64(y->dtype, y->data, i, value);
  return true;
}

/* The string without blanks around it, in a buffer with a zero at the end. False: too long for a
 * number. */
static bool trim(tn_str s, char text[TEXT_MAX]) {
  while (s.size > 0 && (*s.data == ' ' || *s.data == '\t')) s.data++, s.size--;
  while (s.size > 0 && (s.data[s.size - 1] == ' ' || s.data[s.size - 1] == '\t')) s.size--;
  if (s.size >= TEXT_MAX) return false;
  if (s.size > 0) memcpy(text, s.data, (size_t)s.size);
  text[s.size] = 0;
  return strlen(text) == (size_t)s.size;
}

/* ---- Kernels: one item, as the host makes the strings ---- */

tn_status cast_to_string_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const tn_tensor *x = call->inputs[0];
  const int64_t n = tn_elements(x);
  for (int64_t i = 0; i < n; i++) {
    char text[TEXT_MAX];
    tn_str s = {text, 0};
    if (x->dtype == TN_STRING) {
      s = ((const tn_str *)x->data)[i];
    } else {
      write_number(x, i, text);
      s.size = (int64_t)strlen(text);
    }
    const tn_status status = call->host->string_set(call->ctx, 0, i, s.data, s.size);
    if (status) return status;
  }
  return TN_OK;
}

tn_status cast_from_string_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t n = tn_elements(x);
  for (int64_t i = 0; i < n; i++) {
    const tn_str s = ((const tn_str *)x->data)[i];
    char text[TEXT_MAX];
    if (!trim(s, text) || !read_number(text, y, i)) {
      return call->host->fail(call->ctx, TN_ERR_INVALID, "element %lld, '%.*s', is no %s",
                              (long long)i, (int)(s.size < 60 ? s.size : 60), s.size ? s.data : "",
                              tn_dtype(y->dtype)->name);
    }
  }
  return TN_OK;
}
