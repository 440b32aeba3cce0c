/* Messages from Protobuf's text form: "name: scalar", "name { ... }", "name: < ... >",
 * lists in brackets, "#" comments, "," and ";" between fields. Unlike in bytes, fields that the
 * schema does not name are errors: a typing mistake is not passed over. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "base/proto_tree.h"
#include "base/text.h"
#include "tenon/kit/text.h"

typedef struct text {
  const tn_proto_file *f;
  uint64_t at;
  int32_t depth;
} text;

/* ---- characters ---- */

static int peek(const text *t) { return t->at < t->f->size ? t->f->data[t->at] : -1; }

static bool is_word(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '+';
}

static void skip_space(text *t) {
  for (int c = peek(t); c == ' ' || (c >= '\t' && c <= '\r') || c == '#'; c = peek(t)) {
    if (c == '#')
      while (peek(t) != '\n' && peek(t) >= 0) t->at++;
    else
      t->at++;
  }
}

static bool take(text *t, int c) {
  skip_space(t);
  if (peek(t) != c) return false;
  t->at++;
  return true;
}

static tn_str take_word(text *t) {
  skip_space(t);
  const uint64_t from = t->at;
  while (is_word(peek(t))) t->at++;
  return (tn_str){(const char *)t->f->data + from, (int64_t)(t->at - from)};
}

static tn_status expected(const text *t, const char *what) {
  return tn_proto_fail(t->f, TN_ERR_INVALID, t->at, "%s should stand here", what);
}

/* ---- strings ---- */

static int digit(int c, int base) {
  int d = c >= '0' && c <= '9'   ? c - '0'
          : c >= 'a' && c <= 'f' ? c - 'a' + 10
          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                 : 99;
  return d < base ? d : -1;
}

static char escaped_number(text *t, int base, int most) {
  int n = 0;
  for (int k = 0; k < most && digit(peek(t), base) >= 0; k++, t->at++)
    n = n * base + digit(peek(t), base);
  return (char)(n & 255);
}

static char take_escape(text *t) {
  static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
  const int c = peek(t);
  if (digit(c, 8) >= 0) return escaped_number(t, 8, 3);
  if (c >= 0) t->at++;
  if (c == 'x' || c == 'X') return escaped_number(t, 16, 2);
  const char *known = c > 0 ? strchr(from, c) : NULL;
  return known ? to[known - from] : (char)c;
}

/* Where the string that begins here ends. */
static tn_status string_end(const text *t, uint64_t *out) {
  const int quote = peek(t);
  for (uint64_t k = t->at + 1; k < t->f->size && t->f->data[k] != '\n'; k++) {
    if (t->f->data[k] == quote) return *out = k, TN_OK;
    k += t->f->data[k] == '\\';
  }
  return tn_proto_fail(t->f, TN_ERR_INVALID, t->at, "the string has no end");
}

/* One string, or several that stand behind each other. */
static tn_status take_string(text *t, tn_str *out) {
  enum { MAX_PARTS = 64 };
  *out = (tn_str){"", 0};
  skip_space(t);
  for (int part = 0; peek(t) == '"' || peek(t) == '\''; skip_space(t), part++) {
    uint64_t end = t->at;
    tn_status s = part < MAX_PARTS ? string_end(t, &end)
                                   : tn_proto_fail(t->f, TN_ERR_INVALID, t->at,
                                                   "more than %d strings in a row", MAX_PARTS);
    if (s) return s;
    char *to = tn_arena_alloc(t->f->arena, (uint64_t)out->size + (end - t->at));
    if (!to) return tn_proto_no_memory(t->f);
    memcpy(to, out->data, (size_t)out->size);
    for (t->at++; t->at < end;) {
      const int c = peek(t);
      t->at++;
      to[out->size++] = c == '\\' ? take_escape(t) : (char)c;
    }
    t->at = end + 1;
    out->data = to;
  }
  return TN_OK;
}

/* ---- scalars ---- */

static bool enum_number(const char *names, tn_str word, int64_t *out) {
  for (const char *p = names; p && *p; p += strcspn(p, " "), p += strspn(p, " ")) {
    const size_t n = strcspn(p, "=");
    if ((int64_t)n != word.size || memcmp(p, word.data, n)) continue;
    *out = atoi(p + n + 1);
    return true;
  }
  return false;
}

static bool int_of(const tn_proto_field *field, tn_str word, const char *copy, int64_t *out) {
  char *end;
  if (enum_number(field->names, word, out)) return true;
  if (!strcasecmp(copy, "true") || !strcmp(copy, "t")) return *out = 1, true;
  if (!strcasecmp(copy, "false") || !strcmp(copy, "f")) return *out = 0, true;
  errno = 0;
  *out = strtoll(copy, &end, 0);
  return *copy && !*end && !errno;
}

static bool float_of(char *copy, double *out) {
  char *end;
  const size_t n = strlen(copy);
  if (n > 1 && copy[n - 1] == 'f' && digit(copy[n - 2], 10) >= 0 && !strchr(copy, 'x'))
    copy[n - 1] = 0;
  *out = tn_text_number(copy, &end);
  return *copy && !*end;
}

static tn_status read_scalar(text *t, const tn_proto_field *field, tn_proto_value *v) {
  char copy[64];
  skip_space(t);
  const uint64_t at = t->at;
  if (field->kind == TN_FIELD_TEXT || field->kind == TN_FIELD_BYTES) {
    if (peek(t) != '"' && peek(t) != '\'') return expected(t, "a string in quotes");
    tn_status s = take_string(t, &v->s);
    if (s || field->kind == TN_FIELD_BYTES) return s;
    if (tn_utf8_valid(v->s.data, v->s.size) && !memchr(v->s.data, 0, (size_t)v->s.size))
      return TN_OK;
    return tn_proto_fail(t->f, TN_ERR_INVALID, at, "'%s' is no text", field->name);
  }
  const tn_str word = take_word(t);
  if (!word.size || word.size >= (int64_t)sizeof copy) return expected(t, "a value");
  memcpy(copy, word.data, (size_t)word.size);
  copy[word.size] = 0;
  const bool whole = field->kind == TN_FIELD_INT || field->kind == TN_FIELD_INTS,
             is_double = field->kind == TN_FIELD_DOUBLE || field->kind == TN_FIELD_DOUBLES;
  if (whole && int_of(field, word, copy, &v->i)) return TN_OK;
  if (!whole && float_of(copy, &v->f)) {
    if (!is_double) v->f = (double)(float)v->f;
    return TN_OK;
  }
  return tn_proto_fail(t->f, TN_ERR_INVALID, at, "'%s' is no value of '%s'%s%s", copy, field->name,
                       field->names ? ", which takes " : "", field->names ? field->names : "");
}

/* ---- messages ---- */

static tn_status read_fields(text *t, tn_proto_message *m, int close);

static tn_status deeper(text *t) {
  if (++t->depth <= TN_PROTO_MAX_DEPTH) return TN_OK;
  return tn_proto_fail(t->f, TN_ERR_INVALID, t->at, "messages stand more than %d deep",
                       TN_PROTO_MAX_DEPTH);
}

static tn_status skip_value(text *t);

static tn_status skip_fields(text *t, int close) {
  tn_status s = deeper(t);
  while (!s && !take(t, close)) {
    if (!take_word(t).size) return expected(t, "a field's name");
    (void)take(t, ':');
    s = skip_value(t);
    if (!take(t, ',')) (void)take(t, ';');
  }
  t->depth--;
  return s;
}

static tn_status skip_list(text *t) {
  tn_status s = deeper(t);
  while (!s && !take(t, ']')) {
    s = skip_value(t);
    (void)take(t, ',');
  }
  t->depth--;
  return s;
}

static tn_status skip_value(text *t) {
  tn_str ignored;
  if (take(t, '{')) return skip_fields(t, '}');
  if (take(t, '<')) return skip_fields(t, '>');
  if (take(t, '[')) return skip_list(t);
  if (peek(t) == '"' || peek(t) == '\'') return take_string(t, &ignored);
  return take_word(t).size ? TN_OK : expected(t, "a value");
}

static tn_status read_one(text *t, tn_proto_message *m, const tn_proto_field *field, uint64_t at) {
  tn_proto_value *v = tn_proto_add(t->f, m, field, at);
  if (!v) return tn_proto_no_memory(t->f);
  if (field->kind != TN_FIELD_MESSAGE) return read_scalar(t, field, v);
  const int close = take(t, '{') ? '}' : take(t, '<') ? '>' : 0;
  if (!close) return expected(t, "'{'");
  tn_proto_message *sub = tn_arena_alloc(t->f->arena, sizeof *sub);
  if (!sub) return tn_proto_no_memory(t->f);
  *sub = (tn_proto_message){.type = field->type, .at = at};
  v->message = sub;
  tn_status s = deeper(t);
  if (!s) s = read_fields(t, sub, close);
  t->depth--;
  return s;
}

static tn_status read_field(text *t, tn_proto_message *m) {
  const tn_str name = take_word(t);
  const uint64_t at = t->at - (uint64_t)name.size;
  if (!name.size) return expected(t, "a field's name");
  const tn_proto_field *field = tn_proto_field_named(m->type, name);
  if (!field)
    return tn_proto_fail(t->f, TN_ERR_UNSUPPORTED, at,
                         "'%.*s' is no field of %s that is known here",
                         (int)tn_min_i64(name.size, 80), name.data, m->type->name);
  const bool colon = take(t, ':');
  if (field->kind == TN_FIELD_SKIP) return skip_value(t);
  if (!colon && field->kind != TN_FIELD_MESSAGE) return expected(t, "':'");
  if (!take(t, '[')) return read_one(t, m, field, at);
  tn_status s = TN_OK;
  while (!s && !take(t, ']')) {
    s = read_one(t, m, field, at);
    if (!s && !take(t, ',') && peek(t) != ']') s = expected(t, "',' or ']'");
  }
  return s;
}

/* close -1: the end of the file. */
static tn_status read_fields(text *t, tn_proto_message *m, int close) {
  for (;;) {
    skip_space(t);
    if (peek(t) < 0 && close >= 0)
      return tn_proto_fail(t->f, TN_ERR_INVALID, m->at, "this %s has no end", m->type->name);
    if (peek(t) == close) break;
    const tn_status s = read_field(t, m);
    if (s) return s;
    if (!take(t, ',')) (void)take(t, ';');
  }
  if (close >= 0) t->at++;
  return TN_OK;
}

tn_status tn_proto_read_text(const tn_proto_file *f, const tn_proto_type *type,
                             tn_proto_message *out) {
  text t = {.f = f};
  *out = (tn_proto_message){.type = type};
  if (f->size > 2 && !memcmp(f->data, "\xef\xbb\xbf", 3)) t.at = 3;
  return read_fields(&t, out, -1);
}
