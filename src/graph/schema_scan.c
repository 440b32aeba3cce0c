/* Tokens of the schema language, and messages that say in which column a problem stands. */
#include "graph/schema_parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

tn_status(tn_scan_fail)(const tn_scan *s, const char *at, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, TN_ERR_INVALID, format, args);
  va_end(args);
  return (tn_fail)(s->diag, TN_ERR_INVALID, "%s%sschema, column %lld: %s", s->what ? s->what : "",
                   s->what ? ": " : "", (long long)(at - s->text) + 1, text);
}

tn_status tn_scan_no_memory(const tn_scan *s) {
  return tn_fail(s->diag, TN_ERR_MEMORY, "%s%sno memory for the schema", s->what ? s->what : "",
                 s->what ? ": " : "");
}

tn_status(tn_scan_expected)(tn_scan *s, const char *expected) {
  tn_scan_space(s);
  int n = 0;
  while (n < 40 && is_word(s->at[n])) n++;
  if (n == 0 && s->at[0]) n = 1;
  while (n > 0 && (s->at[n] & 0xc0) == 0x80) n++; /* the rest of a UTF-8 sequence */
  if (n == 0) return tn_scan_fail(s, s->at, "expected %s, found the end", expected);
  return tn_scan_fail(s, s->at, "expected %s, found '%.*s'", expected, n, s->at);
}

void tn_scan_space(tn_scan *s) {
  while (is_space(*s->at)) s->at++;
}

/* How long the token is that stands here; 0: it does not. Tokens are a byte or two: a call of the
 * C library for each would take longer than looking. */
static size_t token_here(tn_scan *s, const char *token) {
  size_t n = 0;
  tn_scan_space(s);
  while (token[n] && s->at[n] == token[n]) n++;
  return token[n] ? 0 : n;
}

bool tn_scan_peek(tn_scan *s, const char *token) { return token_here(s, token) > 0; }

bool tn_scan_take(tn_scan *s, const char *token) {
  const size_t n = token_here(s, token);
  s->at += n;
  return n > 0;
}

bool tn_scan_word(tn_scan *s, tn_str *out_word) {
  tn_scan_space(s);
  const char *begin = s->at;
  if (!is_word(*begin) || is_digit(*begin)) return false;
  while (is_word(*s->at)) s->at++;
  *out_word = (tn_str){begin, s->at - begin};
  return true;
}

tn_status tn_scan_int(tn_scan *s, int64_t *out_value) {
  tn_scan_space(s);
  const char *digits = s->at + (*s->at == '-' || *s->at == '+');
  if (!is_digit(*digits)) return tn_scan_expected(s, "an integer");
  char *end;
  errno = 0;
  const long long value = strtoll(s->at, &end, 10);
  if (errno == ERANGE) return tn_scan_fail(s, s->at, "the integer does not fit in 64 bits");
  if (is_word(*end) || *end == '.') return tn_scan_expected(s, "an integer");
  s->at = end;
  *out_value = value;
  return TN_OK;
}
