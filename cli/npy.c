/* Reading .npy files: NumPy's format for one array. The header is a Python dictionary in text; only
 * what NumPy itself writes is taken: the keys descr, fortran_order and shape, once each.
 *
 * The bytes are foreign: nothing is believed before it is checked against the size of the file. */
#include <string.h>

#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"
#include "values.h"

typedef struct npy {
  const char *path;
  tn_diag *diag;
  const uint8_t *data; /* what is left to read */
  uint64_t size;
  bool seen[3]; /* descr, fortran_order, shape */
  bool swapped; /* elements are in the other byte order */
  bool fortran;
  char kind; /* of the element, as in descr: 'f', 'U' ... */
  int64_t item_bytes;
  tn_tensor t;
} npy;

static tn_status broken(const npy *n, const char *what) {
  return tn_fail(n->diag, TN_ERR_INVALID, "%s: not a .npy file that can be read: %s", n->path,
                 what);
}

static tn_status unsupported(const npy *n, const char *what) {
  return tn_fail(n->diag, TN_ERR_UNSUPPORTED, "%s: %s", n->path, what);
}

/* ---- the header's text ---- */

typedef struct cursor {
  const char *at, *end;
} cursor;

static void skip_blanks(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) c->at++;
}

static bool take(cursor *c, char wanted) {
  skip_blanks(c);
  if (c->at == c->end || *c->at != wanted) return false;
  c->at++;
  return true;
}

/* A string in quotes; no escapes. */
static bool take_string(cursor *c, tn_str *out) {
  skip_blanks(c);
  if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
  char quote = *c->at++;
  out->data = c->at;
  while (c->at < c->end && *c->at != quote && *c->at != '\\') c->at++;
  out->size = c->at - out->data;
  return take(c, quote);
}

static bool take_word(cursor *c, const char *word) {
  size_t n = strlen(word);
  skip_blanks(c);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n)) return false;
  c->at += n;
  return true;
}

static bool take_dim(cursor *c, int64_t *out) {
  skip_blanks(c);
  const char *begin = c->at;
  int64_t v = 0;
  while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
    if (tn_mul_i64(v, 10, &v) || tn_add_i64(v, *c->at - '0', &v)) return false;
    c->at++;
  }
  if (c->at == begin) return false;
  if (c->at < c->end && *c->at == 'L') c->at++; /* as Python 2 wrote it */
  *out = v;
  return true;
}

static tn_status take_shape(npy *n, cursor *c) {
  if (!take(c, '(')) return broken(n, "shape is no tuple");
  n->t.rank = 0;
  while (!take(c, ')')) {
    if (n->t.rank == TN_MAX_RANK) return unsupported(n, "arrays of more than 8 dims are not taken");
    if (!take_dim(c, &n->t.shape[n->t.rank++])) return broken(n, "a dim is no number");
    if (take(c, ',')) continue;
    if (!take(c, ')')) return broken(n, "shape is no tuple");
    return TN_OK;
  }
  return TN_OK;
}

/* ---- descr ---- */

static const struct {
  char kind;
  int64_t bytes;
  uint32_t dtype;
} types[] = {{'f', 2, TN_F16},   {'f', 4, TN_F32},  {'f', 8, TN_F64}, {'c', 8, TN_C64},
             {'c', 16, TN_C128}, {'i', 1, TN_I8},   {'i', 2, TN_I16}, {'i', 4, TN_I32},
             {'i', 8, TN_I64},   {'u', 1, TN_U8},   {'u', 2, TN_U16}, {'u', 4, TN_U32},
             {'u', 8, TN_U64},   {'b', 1, TN_BOOL}, {'V', 2, TN_BF16}};

static tn_status set_type(npy *n, char order, char kind, int64_t size) {
  const char other = TN_FLAVOUR_ENDIAN ? '<' : '>';
  n->kind = kind;
  n->swapped = order == other;
  n->item_bytes = size;
  if (kind == 'U' || kind == 'S') {
    if (size < 1 || size > INT32_MAX) return unsupported(n, "strings of this length are not taken");
    n->t.dtype = TN_STRING;
    n->item_bytes = kind == 'U' ? 4 * size : size;
    return TN_OK;
  }
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    if (types[k].kind == kind && types[k].bytes == size) n->t.dtype = types[k].dtype;
  if (n->t.dtype != TN_NONE) return TN_OK;
  return tn_fail(n->diag, TN_ERR_UNSUPPORTED, "%s: element type '%c%c%lld' is not supported",
                 n->path, order, kind >= ' ' && kind <= '~' ? kind : '?', (long long)size);
}

static tn_status take_descr(npy *n, cursor *c) {
  tn_str text;
  if (take(c, '[')) return unsupported(n, "records are not supported");
  if (!take_string(c, &text)) return broken(n, "descr is no string");
  if (text.size < 2 || !memchr("<>|=", *text.data, 4)) return broken(n, "descr is no type");
  if (text.data[1] == 'O') return unsupported(n, "pickled objects are not read");
  cursor digits = {text.data + 2, text.data + text.size};
  int64_t size = 0;
  if (!take_dim(&digits, &size) || digits.at != digits.end) return broken(n, "descr is no type");
  return set_type(n, text.data[0], text.data[1], size);
}

/* ---- the dictionary ---- */

static tn_status take_entry(npy *n, cursor *c) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  tn_str key;
  int which = -1;
  if (!take_string(c, &key) || !take(c, ':')) return broken(n, "its header is no dictionary");
  for (int k = 0; k < 3; k++)
    if ((size_t)key.size == strlen(keys[k]) && !memcmp(key.data, keys[k], (size_t)key.size))
      which = k;
  if (which < 0 || n->seen[which]) return broken(n, "its header has an unknown or repeated key");
  n->seen[which] = true;
  if (which == 0) return take_descr(n, c);
  if (which == 2) return take_shape(n, c);
  n->fortran = take_word(c, "True");
  return n->fortran || take_word(c, "False") ? TN_OK : broken(n, "fortran_order is no bool");
}

static tn_status take_dictionary(npy *n, cursor *c) {
  if (!take(c, '{')) return broken(n, "its header is no dictionary");
  while (!take(c, '}')) {
    tn_status s = take_entry(n, c);
    if (s) return s;
    if (take(c, ',')) continue;
    if (!take(c, '}')) return broken(n, "its header is no dictionary");
    break;
  }
  skip_blanks(c);
  if (c->at != c->end) return broken(n, "something follows its header's dictionary");
  return n->seen[0] && n->seen[1] && n->seen[2] ? TN_OK : broken(n, "its header lacks a key");
}

/* Magic, version, length of the header, the header. */
static tn_status take_header(npy *n) {
  if (n->size < 10 || memcmp(n->data, "\x93NUMPY", 6)) return broken(n, "it begins otherwise");
  const uint8_t *p = n->data;
  uint64_t begin = p[6] == 1 ? 10 : 12, length = p[8] | (uint64_t)p[9] << 8;
  if (p[6] < 1 || p[6] > 3) return unsupported(n, "its version is none of 1, 2 and 3");
  if (n->size < begin) return broken(n, "it ends within its header");
  if (p[6] > 1) length |= (uint64_t)p[10] << 16 | (uint64_t)p[11] << 24;
  if (length > n->size - begin) return broken(n, "it ends within its header");
  cursor c = {(const char *)p + begin, (const char *)p + begin + length};
  n->data += begin + length;
  n->size -= begin + length;
  return take_dictionary(n, &c);
}

/* ---- elements ---- */

static void swap_bytes(uint8_t *data, int64_t n_words, int64_t word) {
  for (int64_t k = 0; k < n_words; k++, data += word)
    for (int64_t i = 0; i < word / 2; i++) {
      uint8_t t = data[i];
      data[i] = data[word - 1 - i];
      data[word - 1 - i] = t;
    }
}

/* From column order: element x of the shape stands at sum x[k] * stride[k]. */
static void reorder(const npy *n, const uint8_t *from, uint8_t *to, int64_t count) {
  int64_t x[TN_MAX_RANK] = {0}, stride[TN_MAX_RANK], step = 1, at = 0;
  for (int32_t k = 0; k < n->t.rank; k++) {
    stride[k] = step;
    step *= n->t.shape[k];
  }
  for (int64_t i = 0; i < count; i++) {
    memcpy(to + i * n->item_bytes, from + at * n->item_bytes, (size_t)n->item_bytes);
    for (int32_t k = n->t.rank - 1; k >= 0; k--) {
      at += stride[k];
      if (++x[k] < n->t.shape[k]) break;
      at -= x[k] * stride[k];
      x[k] = 0;
    }
  }
}

/* UTF-8 of a character into out; answers how many bytes, 0 if it is no character. */
static int64_t put_utf8(uint32_t c, uint8_t *out) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
  if (c < 0x80) {
    out[0] = (uint8_t)c;
    return 1;
  }
  int64_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (int64_t k = n - 1; k > 0; k--, c >>= 6) out[k] = (uint8_t)(0x80 | (c & 0x3F));
  out[0] = (uint8_t)((0xF00 >> n & 0xFF) | c);
  return n;
}

/* UTF-8 of UCS-4 characters, in place: it never needs more room. Answers bytes, -1: bad. */
static int64_t to_utf8(uint8_t *text, int64_t n_chars) {
  int64_t n = 0;
  for (int64_t k = 0; k < n_chars; k++) {
    uint32_t c;
    memcpy(&c, text + 4 * k, 4);
    int64_t more = put_utf8(c, text + n);
    if (!more) return -1;
    n += more;
  }
  return n;
}

static tn_status make_strings(npy *n, uint8_t *bytes, int64_t count, tn_arena *arena) {
  tn_str *s = tn_arena_alloc(arena, (uint64_t)count * sizeof *s);
  if (!s) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < count; k++) {
    uint8_t *text = bytes + k * n->item_bytes;
    int64_t size = n->item_bytes;
    if (n->kind == 'U') {
      for (; size && !(text[size - 1] | text[size - 2] | text[size - 3] | text[size - 4]);)
        size -= 4;
      size = to_utf8(text, size / 4);
    } else {
      while (size && !text[size - 1]) size--;
    }
    if (size < 0) return broken(n, "a string holds what is no character");
    s[k] = (tn_str){(const char *)text, size};
  }
  n->t.data = s;
  return TN_OK;
}

/* bytes: behind the header. */
static tn_status check_size(const npy *n, uint64_t bytes, int64_t *out_count) {
  int64_t needs = 0;
  if (tn_dims_product(n->t.shape, n->t.rank, out_count) ||
      tn_mul_i64(*out_count, n->item_bytes, &needs))
    return broken(n, "its size overflows");
  if ((uint64_t)needs == bytes) return TN_OK;
  return tn_fail(n->diag, TN_ERR_INVALID,
                 "%s: not a .npy file that can be read: its shape needs %lld bytes, it has %llu",
                 n->path, (long long)needs, (unsigned long long)bytes);
}

static tn_status take_elements(npy *n, tn_arena *arena) {
  int64_t count = 0;
  tn_status s = check_size(n, n->size, &count);
  if (s) return s;
  const int64_t bytes = count * n->item_bytes;
  uint8_t *to = tn_arena_alloc(arena, (uint64_t)bytes);
  if (!to) return TN_ERR_MEMORY;
  n->t.data = to;
  if (!count) return TN_OK;
  if (n->fortran && n->t.rank > 1)
    reorder(n, n->data, to, count);
  else
    memcpy(to, n->data, (size_t)bytes);
  int64_t word = n->kind == 'U'   ? 4
                 : n->kind == 'S' ? 1
                 : n->kind == 'c' ? n->item_bytes / 2
                                  : n->item_bytes;
  if (n->swapped) swap_bytes(to, bytes / word, word);
  for (int64_t k = 0; n->t.dtype == TN_BOOL && k < count; k++) to[k] = to[k] != 0;
  return n->t.dtype == TN_STRING ? make_strings(n, to, count, arena) : TN_OK;
}

tn_status cli_npy_type(const char *path, const uint8_t *data, uint64_t size, uint64_t whole,
                       tn_diag *diag, tn_tensor *out) {
  npy n = {.path = path, .diag = diag, .data = data, .size = size};
  n.t = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  int64_t count;
  tn_status s = take_header(&n);
  if (!s) s = check_size(&n, whole - (size - n.size), &count);
  if (!s) *out = n.t;
  return s;
}

tn_status cli_npy_parse(const char *path, const uint8_t *data, uint64_t size, tn_arena *arena,
                        tn_diag *diag, tn_tensor *out) {
  npy n = {.path = path, .diag = diag, .data = data, .size = size};
  n.t = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  tn_status s = take_header(&n);
  if (!s) s = take_elements(&n, arena);
  if (s == TN_ERR_MEMORY) cli_no_memory(diag, path, (int64_t)n.size);
  if (!s) *out = n.t;
  return s;
}
