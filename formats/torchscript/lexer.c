/* Tokens of the source: words, numbers, texts, signs, and indentation. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/text.h"
#include "source.h"

enum { MAX_INDENTS = 256, MAX_TOKENS = 4 << 20, MAX_LITERAL = 100 };

typedef struct lexer {
  ts_parser *p;
  const char *text, *at, *end, *line_at;
  uint32_t line;
  int32_t depth; /* of brackets */
  int32_t indents[MAX_INDENTS], n_indents;
  TN_VEC(ts_token) tokens;
} lexer;

tn_status(ts_source_fail)(ts_parser *p, uint32_t line, uint32_t column, const char *format, ...) {
  va_list args;
  const int n = snprintf(p->message, sizeof p->message, "%.120s, line %u, column %u: ", p->path,
                         (unsigned)line, (unsigned)column);
  va_start(args, format);
  tn_error_text(p->message + n, sizeof p->message - (size_t)n, TN_ERR_INVALID, format, args);
  va_end(args);
  return TN_ERR_INVALID;
}

tn_status ts_source_no_memory(ts_parser *p) {
  snprintf(p->message, sizeof p->message, "%.120s: no memory for it", p->path);
  return TN_ERR_MEMORY;
}

static uint32_t column_of(const lexer *l, const char *at) {
  return (uint32_t)(at - l->line_at) + 1;
}

#define fails(l, at, ...) ts_source_fail((l)->p, (l)->line, column_of(l, at), __VA_ARGS__)

static tn_status add(lexer *l, ts_token_kind kind, const char *from, int64_t n) {
  if (l->tokens.n == MAX_TOKENS) return fails(l, from, "the file has too many words");
  const ts_token t = {.kind = kind,
                      .text = tn_arena_strn(l->p->arena, from, n),
                      .n_text = n,
                      .line = l->line,
                      .column = column_of(l, from)};
  return !t.text || tn_vec_push(l->p->arena->a, &l->tokens, t) ? ts_source_no_memory(l->p) : TN_OK;
}

static ts_token *last(lexer *l) { return &l->tokens.data[l->tokens.n - 1]; }

/* ---- indentation ---- */

/* At the beginning of a line that is not empty. */
static tn_status indent(lexer *l, int32_t width) {
  if (width > l->indents[l->n_indents - 1]) {
    if (l->n_indents == MAX_INDENTS) return fails(l, l->at, "blocks are too deep");
    l->indents[l->n_indents++] = width;
    return add(l, TS_INDENT, l->at, 0);
  }
  while (width < l->indents[l->n_indents - 1]) {
    l->n_indents--;
    const tn_status s = add(l, TS_DEDENT, l->at, 0);
    if (s) return s;
  }
  return width == l->indents[l->n_indents - 1] ? TN_OK
                                               : fails(l, l->at, "the indentation fits no block");
}

static tn_status begin_line(lexer *l) {
  const char *p = l->at;
  while (p < l->end && *p == ' ') p++;
  l->at = p;
  if (p == l->end || *p == '\n' || *p == '\r' || *p == '#') return TN_OK;
  return indent(l, (int32_t)(p - l->line_at < 4096 ? p - l->line_at : 4096));
}

static tn_status end_line(lexer *l) {
  tn_status s = TN_OK;
  const bool ends = !l->depth && l->tokens.n && last(l)->kind != TS_NEWLINE &&
                    last(l)->kind != TS_INDENT && last(l)->kind != TS_DEDENT;
  if (ends) s = add(l, TS_NEWLINE, l->at, 0);
  l->line++;
  l->line_at = ++l->at;
  return s || l->depth ? s : begin_line(l);
}

/* ---- words ---- */

static tn_status take_word(lexer *l) {
  const char *from = l->at;
  while (l->at < l->end && (isalnum((uint8_t)*l->at) || *l->at == '_')) l->at++;
  return add(l, TS_WORD, from, l->at - from);
}

static bool is_of_number(const char *from, const char *at) {
  return isdigit((uint8_t)*at) || *at == '.' || *at == 'e' || *at == 'E' ||
         ((*at == '-' || *at == '+') && (at[-1] == 'e' || at[-1] == 'E') && at > from);
}

static tn_status take_number(lexer *l) {
  const char *from = l->at;
  bool is_real = false;
  while (l->at < l->end && is_of_number(from, l->at)) {
    is_real = is_real || !isdigit((uint8_t)*l->at);
    l->at++;
  }
  if (l->at < l->end && (isalnum((uint8_t)*l->at) || *l->at == '_'))
    return fails(l, from, "a number is followed by a letter; complex numbers are not supported");
  if (l->at - from > MAX_LITERAL) return fails(l, from, "a number is too long");
  const tn_status s = add(l, is_real ? TS_REAL : TS_NUMBER, from, l->at - from);
  if (s) return s;
  char *end;
  last(l)->f = tn_text_number(last(l)->text, &end);
  if (*end) return fails(l, from, "'%.40s' is no number", last(l)->text);
  for (const char *c = from; !is_real && c < l->at; c++) {
    if (__builtin_mul_overflow(last(l)->i, 10, &last(l)->i) ||
        __builtin_add_overflow(last(l)->i, *c - '0', &last(l)->i))
      return fails(l, from, "an integer has more than 64 bits");
  }
  return TN_OK;
}

/* ---- texts ---- */

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

/* So many digits at most, to a base. */
static int take_code(lexer *l, int base, int most) {
  int value = 0;
  for (; most > 0 && l->at < l->end && digit_of(*l->at) < base; most--)
    value = value * base + digit_of(*l->at++);
  return value & 255;
}

/* The character behind a backslash. */
static char take_escape(lexer *l) {
  static const char from[] = "ntrabfv\\\"'", to[] = "\n\t\r\a\b\f\v\\\"'";
  const char c = *l->at;
  if (digit_of(c) < 8) return (char)take_code(l, 8, 3);
  l->at++;
  if (c == 'x') return (char)take_code(l, 16, 2);
  const char *found = strchr(from, c);
  return found && c ? to[found - from] : c;
}

static tn_status take_text(lexer *l) {
  const char quote = *l->at, *from = l->at++;
  tn_text text;
  tn_text_init(&text, l->p->arena->a);
  while (l->at < l->end && *l->at != quote && *l->at != '\n') {
    char c = *l->at++;
    if (c == '\\' && l->at < l->end) c = take_escape(l);
    tn_text_add_bytes(&text, &c, 1);
  }
  tn_status s = text.status ? ts_source_no_memory(l->p) : TN_OK;
  if (!s && (l->at == l->end || *l->at != quote)) s = fails(l, from, "a text has no end");
  if (!s) s = add(l, TS_TEXT, from, 0);
  if (!s) {
    last(l)->text = tn_arena_strn(l->p->arena, tn_text_get(&text), text.n);
    last(l)->n_text = text.n;
    if (!last(l)->text) s = ts_source_no_memory(l->p);
    l->at++;
  }
  tn_text_free(&text);
  return s;
}

static tn_status take_sign(lexer *l) {
  static const char *const longer[] = {
      "->", "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "/="};
  int64_t n = 1;
  if (!strchr("()[]{}.,:=+-*/%<>!&|^~@", *l->at) || !*l->at)
    return fails(l, l->at, "a character that has no meaning");
  for (size_t k = 0; k < sizeof longer / sizeof *longer; k++)
    if (l->end - l->at >= 2 && !memcmp(l->at, longer[k], 2)) n = 2;
  if (n == 1 && strchr("([{", *l->at)) l->depth++;
  if (n == 1 && strchr(")]}", *l->at) && l->depth-- == 0)
    return fails(l, l->at, "a bracket closes that was not opened");
  l->at += n;
  return add(l, TS_SIGN, l->at - n, n);
}

static tn_status take(lexer *l) {
  const char c = *l->at;
  if (c == '\n') return end_line(l);
  if (c == ' ' || c == '\t' || c == '\r') return l->at++, TN_OK;
  if (c == '#') {
    while (l->at < l->end && *l->at != '\n') l->at++;
    return TN_OK;
  }
  if (isalpha((uint8_t)c) || c == '_') return take_word(l);
  if (isdigit((uint8_t)c) || (c == '.' && l->end - l->at > 1 && isdigit((uint8_t)l->at[1])))
    return take_number(l);
  return c == '"' || c == '\'' ? take_text(l) : take_sign(l);
}

static tn_status finish(lexer *l) {
  tn_status s = TN_OK;
  if (l->depth) return fails(l, l->at, "a bracket is not closed");
  if (l->tokens.n && last(l)->kind != TS_NEWLINE) s = add(l, TS_NEWLINE, l->at, 0);
  while (!s && l->n_indents > 1) {
    l->n_indents--;
    s = add(l, TS_DEDENT, l->at, 0);
  }
  return s ? s : add(l, TS_END, l->at, 0);
}

tn_status ts_lex(ts_parser *p, const char *text, uint64_t size, ts_token **out, int64_t *out_n) {
  lexer l = {.p = p, .text = text, .at = text, .end = text + size, .line_at = text, .line = 1};
  l.n_indents = 1;
  tn_status s = begin_line(&l);
  while (!s && l.at < l.end) s = take(&l);
  if (!s) s = finish(&l);
  if (!s) *out = tn_arena_copy(p->arena, l.tokens.data, (uint64_t)l.tokens.n * sizeof **out);
  if (!s && !*out) s = ts_source_no_memory(p);
  *out_n = l.tokens.n;
  tn_vec_free(p->arena->a, &l.tokens);
  return s;
}
