/* Reading JSON; see json.h. */
#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MAX_DEPTH = 128 };

static tn_status reject(json_reader *r, tn_status code, const char *what) {
  if (!*r->message)
    snprintf(r->message, sizeof r->message, "%s, at byte %llu", what, (unsigned long long)r->at);
  return code;
}

static int peek(const json_reader *r) { return r->at < r->size ? r->data[r->at] : -1; }

static void skip_space(json_reader *r) {
  while (r->at < r->size && strchr(" \t\r\n", r->data[r->at]) && r->data[r->at]) r->at++;
}

static tn_status new_value(json_reader *r, json_kind kind, json_value **out) {
  if (!r->room--) return reject(r, TN_ERR_OVERFLOW, "there are too many values");
  *out = tn_arena_alloc(r->arena, sizeof **out);
  if (!*out) return reject(r, TN_ERR_MEMORY, "there is not enough memory");
  (*out)->kind = kind;
  (*out)->at = r->at;
  return TN_OK;
}

/* ---- strings ---- */

static int hex(int c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

static int32_t read_hex(json_reader *r) {
  int32_t code = 0;
  for (int k = 0; k < 4; k++) {
    const int digit = hex(peek(r));
    if (digit < 0) return -1;
    code = code * 16 + digit;
    r->at++;
  }
  return code;
}

/* \u1234, or two of them that are one character. */
static int32_t read_code(json_reader *r) {
  const int32_t high = read_hex(r);
  if (high < 0xd800 || high > 0xdfff) return high;
  if (high > 0xdbff || peek(r) != '\\') return -1;
  r->at++;
  if (peek(r) != 'u') return -1;
  r->at++;
  const int32_t low = read_hex(r);
  return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

static char *put_code(char *out, int32_t c) {
  if (c < 0x80) {
    *out++ = (char)c;
  } else if (c < 0x800) {
    *out++ = (char)(0xc0 | c >> 6);
    *out++ = (char)(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    *out++ = (char)(0xe0 | c >> 12);
    *out++ = (char)(0x80 | (c >> 6 & 0x3f));
    *out++ = (char)(0x80 | (c & 0x3f));
  } else {
    *out++ = (char)(0xf0 | c >> 18);
    *out++ = (char)(0x80 | (c >> 12 & 0x3f));
    *out++ = (char)(0x80 | (c >> 6 & 0x3f));
    *out++ = (char)(0x80 | (c & 0x3f));
  }
  return out;
}

static tn_status read_escape(json_reader *r, char **out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const int c = peek(r);
  const char *found = c > 0 ? strchr(from, c) : NULL;
  r->at++;
  if (found) {
    *(*out)++ = to[found - from];
    return TN_OK;
  }
  const int32_t code = c == 'u' ? read_code(r) : -1;
  if (code < 0) return reject(r, TN_ERR_INVALID, "a string has an escape that is none");
  *out = put_code(*out, code);
  return TN_OK;
}

/* Where the string's closing quote is. */
static uint64_t end_of_string(const json_reader *r) {
  uint64_t end = r->at;
  while (end < r->size && r->data[end] != '"') end += r->data[end] == '\\' ? 2 : 1;
  return end;
}

static tn_status read_string(json_reader *r, tn_str *out) {
  r->at++;
  const uint64_t end = end_of_string(r);
  if (end >= r->size) return reject(r, TN_ERR_INVALID, "a string does not end");
  char *text = tn_arena_alloc(r->arena, end - r->at + 1), *p = text;
  if (!text) return reject(r, TN_ERR_MEMORY, "there is not enough memory");
  while (r->at < end) {
    const uint8_t c = r->data[r->at++];
    if (c < 0x20) return reject(r, TN_ERR_INVALID, "a string has a control character");
    if (c != '\\') {
      *p++ = (char)c;
      continue;
    }
    const tn_status s = read_escape(r, &p);
    if (s) return s;
  }
  r->at = end + 1;
  *out = (tn_str){text, p - text};
  return TN_OK;
}

/* ---- numbers and words ---- */

static uint64_t digits(json_reader *r) {
  const uint64_t from = r->at;
  while (peek(r) >= '0' && peek(r) <= '9') r->at++;
  return r->at - from;
}

static tn_status read_number(json_reader *r, json_value *out) {
  enum { MOST = 64 };
  char text[MOST];
  const uint64_t from = r->at;
  bool whole = true;
  if (peek(r) == '-') r->at++;
  const int first = peek(r);
  const uint64_t n = digits(r);
  if (!n || (n > 1 && first == '0')) return reject(r, TN_ERR_INVALID, "a number is none");
  if (peek(r) == '.') {
    whole = false;
    r->at++;
    if (!digits(r)) return reject(r, TN_ERR_INVALID, "a number is none");
  }
  if (peek(r) == 'e' || peek(r) == 'E') {
    whole = false;
    r->at++;
    if (peek(r) == '-' || peek(r) == '+') r->at++;
    if (!digits(r)) return reject(r, TN_ERR_INVALID, "a number is none");
  }
  if (r->at - from >= MOST) return reject(r, TN_ERR_OVERFLOW, "a number is too long");
  memcpy(text, r->data + from, (size_t)(r->at - from));
  text[r->at - from] = '\0';
  out->f = tn_text_number(text, NULL);
  errno = 0;
  out->i = whole ? strtoll(text, NULL, 10) : 0;
  out->kind = whole && errno == 0 ? JSON_INT : JSON_FLOAT;
  return TN_OK;
}

static tn_status read_word(json_reader *r, json_value *out) {
  static const struct word {
    const char *text;
    json_kind kind;
    int64_t i;
  } words[] = {{"null", JSON_NULL, 0}, {"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
    const size_t n = strlen(words[k].text);
    if (r->size - r->at < n || memcmp(r->data + r->at, words[k].text, n) != 0) continue;
    out->kind = words[k].kind;
    out->i = words[k].i;
    r->at += n;
    return TN_OK;
  }
  return reject(r, TN_ERR_INVALID, "there is no value");
}

/* ---- lists and objects ---- */

static tn_status read_value(json_reader *r, json_value **out);

static tn_status read_key(json_reader *r, tn_str *out) {
  skip_space(r);
  if (peek(r) != '"') return reject(r, TN_ERR_INVALID, "a key is missing");
  const tn_status s = read_string(r, out);
  skip_space(r);
  if (!s && peek(r) != ':') return reject(r, TN_ERR_INVALID, "there is no ':' behind a key");
  r->at++;
  return s;
}

/* What stands between brackets. */
static tn_status read_members(json_reader *r, json_value *v, char close) {
  json_value **end = &v->first;
  r->at++;
  skip_space(r);
  if (peek(r) == close) {
    r->at++;
    return TN_OK;
  }
  for (;;) {
    tn_str key = {NULL, 0};
    tn_status s = v->kind == JSON_OBJECT ? read_key(r, &key) : TN_OK;
    if (!s) s = read_value(r, end);
    if (s) return s;
    (*end)->key = key;
    end = &(*end)->next;
    v->n++;
    skip_space(r);
    const int c = peek(r);
    if (c != ',' && c != close) return reject(r, TN_ERR_INVALID, "a list or object does not end");
    r->at++;
    if (c == close) return TN_OK;
  }
}

static tn_status read_value(json_reader *r, json_value **out) {
  skip_space(r);
  tn_status s = new_value(r, JSON_NULL, out);
  if (s) return s;
  json_value *v = *out;
  const int c = peek(r);
  if (c == '"') {
    v->kind = JSON_STRING;
    return read_string(r, &v->s);
  }
  if (c == '-' || (c >= '0' && c <= '9')) return read_number(r, v);
  if (c != '{' && c != '[') return read_word(r, v);
  if (r->depth == MAX_DEPTH) return reject(r, TN_ERR_OVERFLOW, "it is more than 128 levels deep");
  v->kind = c == '{' ? JSON_OBJECT : JSON_LIST;
  r->depth++;
  s = read_members(r, v, c == '{' ? '}' : ']');
  r->depth--;
  return s;
}

tn_status json_read(json_reader *r, tn_arena *arena, const uint8_t *data, uint64_t size,
                    json_value **out) {
  *r = (json_reader){.arena = arena, .data = data, .size = size, .room = size};
  tn_status s = read_value(r, out);
  skip_space(r);
  if (!s && r->at < size) s = reject(r, TN_ERR_INVALID, "something stands behind the value");
  return s;
}

/* ---- looking at a tree ---- */

bool json_is(const json_value *member, const char *key) {
  return member && member->key.data && tn_str_is(member->key, key);
}

const json_value *json_get(const json_value *object, const char *key) {
  if (!object || object->kind != JSON_OBJECT) return NULL;
  const json_value *v = object->first;
  while (v && !json_is(v, key)) v = v->next;
  return v;
}

static const json_value *get_kind(const json_value *object, const char *key, json_kind kind) {
  const json_value *v = json_get(object, key);
  return v && v->kind == kind ? v : NULL;
}

const json_value *json_object(const json_value *object, const char *key) {
  return get_kind(object, key, JSON_OBJECT);
}

const json_value *json_list(const json_value *object, const char *key) {
  return get_kind(object, key, JSON_LIST);
}

int64_t json_int(const json_value *object, const char *key, int64_t missing) {
  const json_value *v = json_get(object, key);
  return v && (v->kind == JSON_INT || v->kind == JSON_BOOL) ? v->i : missing;
}

const char *json_text(const json_value *object, const char *key) {
  const json_value *v = get_kind(object, key, JSON_STRING);
  return v ? v->s.data : NULL;
}

const json_value *json_union(const json_value *object) {
  const bool one = object && object->kind == JSON_OBJECT && object->n == 1;
  return one ? object->first : NULL;
}
