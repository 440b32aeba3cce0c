/* The growable text buffer, JSON strings and UTF-8. */
#include "base/text.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tn_text_init(tn_text *text, const tn_allocator *a) { *text = (tn_text){a, NULL, 0, 0, TN_OK}; }

void tn_text_free(tn_text *text) {
  tn_free(text->a, text->data, (uint64_t)text->cap);
  tn_text_init(text, text->a);
}

/* Makes room for n bytes and a zero. False, and the status is set, if there is none. */
static bool text_room(tn_text *text, int64_t n) {
  if (!text->status && (n == INT64_MAX || tn_vec_room(text->a, text, n + 1))) {
    text->status = TN_ERR_MEMORY;
  }
  return !text->status;
}

void tn_text_add(tn_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0 || !text_room(text, n)) return;
  va_start(args, format);
  vsnprintf(text->data + text->n, (size_t)n + 1, format, args);
  va_end(args);
  text->n += n;
}

void tn_text_add_bytes(tn_text *text, const char *data, int64_t n) {
  if (n < 0 || !text_room(text, n)) return;
  if (n) memcpy(text->data + text->n, data, (size_t)n);
  text->n += n;
  text->data[text->n] = 0;
}

/* Length of the valid UTF-8 character at p, of at most n > 0 bytes; 0 if it is none. Overlong
 * forms, surrogates and numbers above U+10FFFF are not valid. */
static int64_t utf8_length(const unsigned char *p, int64_t n) {
  if (p[0] < 0x80) return 1;
  if (p[0] < 0xC2 || p[0] > 0xF4) return 0;
  int64_t length = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
  if (length > n) return 0;
  for (int64_t i = 1; i < length; i++) {
    if ((p[i] & 0xC0) != 0x80) return 0;
  }
  if (p[0] == 0xE0 && p[1] < 0xA0) return 0;
  if (p[0] == 0xED && p[1] > 0x9F) return 0;
  if (p[0] == 0xF0 && p[1] < 0x90) return 0;
  if (p[0] == 0xF4 && p[1] > 0x8F) return 0;
  return length;
}

const char *tn_text_get(const tn_text *text) { return text->data ? text->data : ""; }

bool tn_utf8_valid(const char *data, int64_t n) {
  const unsigned char *p = (const unsigned char *)data;
  for (int64_t i = 0, length; i < n; i += length) {
    length = p[i] < 0x80 ? 1 : utf8_length(p + i, n - i); /* nearly all are letters */
    if (length == 0) return false;
  }
  return true;
}

/* Turns the direction of the text, of what follows, or back: what is read is not what is there. */
static bool turns(const unsigned char *p) {
  return p[0] == 0xE2 && ((p[1] == 0x80 && p[2] >= 0xAA && p[2] <= 0xAE) ||
                          (p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9));
}

/* Bytes of the character that begins the text; 0: there is none, or one that moves a terminal's
 * cursor or turns its text. */
static int64_t tame_length(const char *text, int64_t n) {
  const unsigned char *p = (const unsigned char *)text;
  const int64_t length = utf8_length(p, n);
  if ((*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7F) return 0;
  if (*p == 0xC2 && length && p[1] < 0xA0) return 0;
  return length == 3 && turns(p) ? 0 : length;
}

void tn_text_tame(char *text, int64_t n) {
  for (int64_t k = 0; k < n;) {
    const int64_t length = tame_length(text + k, n - k);
    if (!length) text[k] = '?';
    k += length ? length : 1;
  }
}

void tn_text_tame_line(char *text, int64_t n) {
  tn_text_tame(text, n);
  for (int64_t k = 0; k < n; k++)
    if (text[k] == '\n' || text[k] == '\t') text[k] = ' ';
}

bool tn_has_suffix(const char *text, const char *suffix) {
  size_t n = strlen(text), k = strlen(suffix);
  return k <= n && !memcmp(text + n - k, suffix, k);
}

double tn_text_number(const char *text, char **out_end) {
  const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (c == (locale_t)0) return strtod(text, out_end);
  const double value = strtod_l(text, out_end, c);
  freelocale(c);
  return value;
}
