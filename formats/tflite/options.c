/* Options of custom operators and of composites as attributes. Most files hold a FlexBuffers map
 * there, whose numbers, texts and lists get the names that it says; what is no such map is one
 * attribute of bytes.
 *
 * A FlexBuffer is read from its end: a value of `width` bytes, its type, the width. Larger things
 * lie before what points to them. */
#include "base/text.h"
#include "reader.h"

enum { MOST_OPTIONS = 24, MOST_LIST = 65536 };

enum {
  FLEX_INT = 1,
  FLEX_UINT,
  FLEX_FLOAT,
  FLEX_STRING = 5,
  FLEX_INDIRECT_INT,
  FLEX_INDIRECT_UINT,
  FLEX_INDIRECT_FLOAT,
  FLEX_MAP,
  FLEX_VECTOR,
  FLEX_INTS,
  FLEX_UINTS,
  FLEX_FLOATS,
  FLEX_BOOL = 26
};

/* A value: its bytes from `at` on; type: of FLEX_...; of what it points to: wide bytes each. */
typedef struct flex {
  const uint8_t *data;
  uint64_t size, at;
  uint32_t width, type, wide;
} flex;

static bool load(const flex *f, uint64_t at, uint32_t width, uint64_t *out) {
  *out = 0;
  if (at > f->size || width > f->size - at) return false;
  memcpy(out, f->data + at, width);
  return true;
}

static bool load_int(const flex *f, uint64_t at, uint32_t width, bool is_signed, int64_t *out) {
  uint64_t v;
  const uint32_t unused = is_signed ? 64 - 8 * width : 0;
  if (!load(f, at, width, &v)) return false;
  *out = (int64_t)(v << unused) >> unused;
  return true;
}

static bool load_float(const flex *f, uint64_t at, uint32_t width, double *out) {
  uint64_t v;
  float single;
  if (width < 4 || !load(f, at, width, &v)) return false;
  memcpy(&single, &v, sizeof single);
  if (width == 8)
    memcpy(out, &v, sizeof v);
  else
    *out = (double)single;
  return true;
}

/* Where what stands at `at` points to. */
static bool follow(const flex *f, uint64_t at, uint32_t width, uint64_t *out) {
  uint64_t back;
  if (!load(f, at, width, &back) || back > at) return false;
  *out = at - back;
  return true;
}

/* Elements of what begins at `at`, whose number stands before. */
static bool count(const flex *f, uint64_t at, uint32_t width, uint64_t each, uint64_t *out) {
  return at >= width && load(f, at - width, width, out) && *out <= MOST_LIST &&
         *out * each <= f->size - at;
}

/* The type of element k of a list, of FLEX_INT, FLEX_UINT and FLEX_FLOAT; lists of any types say it
 * behind their elements. 0: it is none of these. */
static uint32_t type_of(const flex *f, uint64_t at, uint64_t n, uint64_t k) {
  uint64_t type;
  if (f->type != FLEX_VECTOR) return f->type - FLEX_INTS + FLEX_INT;
  if (!load(f, at + n * f->wide + k, 1, &type)) return 0;
  type >>= 2;
  return type == FLEX_BOOL ? FLEX_UINT : type <= FLEX_FLOAT ? (uint32_t)type : 0;
}

static bool read_list(tflite_reader *r, const flex *f, tn_attr *a) {
  uint64_t at, n;
  const uint64_t each = f->type == FLEX_VECTOR ? f->wide + 1 : f->wide;
  if (!follow(f, f->at, f->width, &at) || !count(f, at, f->wide, each, &n)) return false;
  const bool is_float = n && type_of(f, at, n, 0) == FLEX_FLOAT;
  void *data = tn_arena_alloc(&r->arena, (n + 1) * sizeof(int64_t));
  if (!data) return false;
  a->kind = is_float ? TN_ATTR_FLOATS : TN_ATTR_INTS;
  if (is_float)
    a->floats = (tn_floats){data, (int64_t)n};
  else
    a->ints = (tn_ints){data, (int64_t)n};
  for (uint64_t k = 0; k < n; k++) {
    const uint32_t type = type_of(f, at, n, k);
    const uint64_t from = at + k * f->wide;
    if (!type || is_float != (type == FLEX_FLOAT) ||
        !(is_float ? load_float(f, from, f->wide, (double *)data + k)
                   : load_int(f, from, f->wide, type == FLEX_INT, (int64_t *)data + k)))
      return false;
  }
  return true;
}

static bool read_text(const flex *f, tn_attr *a) {
  uint64_t at, n;
  a->kind = TN_ATTR_STR;
  if (!follow(f, f->at, f->width, &at) || !count(f, at, f->wide, 1, &n)) return false;
  a->s = (tn_str){(const char *)f->data + at, (int64_t)n};
  return true;
}

static bool read_number(const flex *f, uint64_t at, uint32_t width, uint32_t type, tn_attr *a) {
  a->kind = type == FLEX_FLOAT ? TN_ATTR_FLOAT : TN_ATTR_INT;
  return type == FLEX_FLOAT ? load_float(f, at, width, &a->f)
                            : load_int(f, at, width, type == FLEX_INT, &a->i);
}

/* False: it is of no type that attributes have, or leaves the bytes. */
static bool read_value(tflite_reader *r, const flex *f, tn_attr *a) {
  uint64_t at;
  switch (f->type) {
    case FLEX_INT:
    case FLEX_UINT:
    case FLEX_FLOAT:
    case FLEX_BOOL: return read_number(f, f->at, f->width, f->type, a);
    case FLEX_INDIRECT_INT:
    case FLEX_INDIRECT_UINT:
    case FLEX_INDIRECT_FLOAT:
      return follow(f, f->at, f->width, &at) &&
             read_number(f, at, f->wide, f->type - FLEX_INDIRECT_INT + FLEX_INT, a);
    case FLEX_STRING: return read_text(f, a);
    case FLEX_VECTOR:
    case FLEX_INTS:
    case FLEX_UINTS:
    case FLEX_FLOATS: return read_list(r, f, a);
    default: return false;
  }
}

/* Key k of a list of them: text that ends with a zero byte. */
static bool read_key(tflite_reader *r, const flex *f, uint64_t at, uint32_t width,
                     const char **out) {
  uint64_t text;
  if (!follow(f, at, width, &text)) return false;
  const uint8_t *end = memchr(f->data + text, 0, f->size - text);
  if (!end) return false;
  *out = tflite_name(
      r, (tn_str){(const char *)f->data + text, (int64_t)(end - f->data) - (int64_t)text});
  return *out && **out;
}

/* Before the values of a map: where its keys are, their width, the number of both. */
static bool read_map(tflite_reader *r, const flex *f, tflite_attrs *out) {
  uint64_t at, n, keys, key_width;
  const uint32_t w = f->wide;
  if (f->type != FLEX_MAP || !follow(f, f->at, f->width, &at) || !count(f, at, w, w + 1, &n))
    return false;
  if (n > MOST_OPTIONS || at < 3 * w || !follow(f, at - 3 * w, w, &keys) ||
      !load(f, at - 2 * w, w, &key_width) || key_width < 1 || key_width > 8)
    return false;
  for (uint64_t k = 0; k < n; k++) {
    tn_attr *a = &out->attrs[out->n];
    uint64_t type;
    flex value = *f;
    *a = (tn_attr){.head = TN_HEAD(tn_attr)};
    if (!read_key(r, f, keys + k * key_width, (uint32_t)key_width, &a->name) ||
        !load(f, at + n * w + k, 1, &type))
      return false;
    value.at = at + k * w;
    value.width = w;
    value.type = (uint32_t)type >> 2;
    value.wide = UINT32_C(1) << (type & 3);
    if (read_value(r, &value, a)) out->n++; /* others, as maps in maps, are passed over */
  }
  return true;
}

/* The last value, if the bytes can be a FlexBuffer. */
static bool open_root(const tn_flat_vector *bytes, flex *out) {
  *out = (flex){.data = tn_flat_bytes(bytes), .size = bytes->n};
  if (bytes->n < 3) return false;
  const uint8_t width = out->data[bytes->n - 1], type = out->data[bytes->n - 2];
  if ((width != 1 && width != 2 && width != 4 && width != 8) || bytes->n < 2U + width) return false;
  out->width = width;
  out->at = bytes->n - 2 - width;
  out->type = type >> 2;
  out->wide = UINT32_C(1) << (type & 3);
  return true;
}

bool tflite_flex_pair(tflite_reader *r, const tn_flat_vector *bytes, tn_str out[2]) {
  uint64_t at, n, type;
  flex root;
  if (tflite_status(r) || !open_root(bytes, &root) || root.type != FLEX_VECTOR ||
      !follow(&root, root.at, root.width, &at) || !count(&root, at, root.wide, root.wide + 1, &n) ||
      n != 2)
    return false;
  for (uint64_t k = 0; k < n; k++) {
    tn_attr a;
    flex text = root;
    if (!load(&root, at + n * root.wide + k, 1, &type) || type >> 2 != FLEX_STRING) return false;
    text.at = at + k * root.wide;
    text.width = root.wide;
    text.wide = UINT32_C(1) << (type & 3);
    if (!read_text(&text, &a)) return false;
    out[k] = a.s;
  }
  return true;
}

tn_status tflite_flex_read(tflite_reader *r, const tn_flat_vector *bytes, const char *name,
                           tflite_attrs *out) {
  const uint32_t n = out->n;
  flex root;
  const tn_status status = tflite_status(r);
  out->flex_at = n;
  out->n_flex = 0;
  if (status || !bytes->n) return status;
  if (!open_root(bytes, &root) || !read_map(r, &root, out)) {
    out->n = n;
    tn_attr *a = &out->attrs[out->n++];
    *a = (tn_attr){.head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_STR};
    a->s = (tn_str){(const char *)tn_flat_bytes(bytes), (int64_t)bytes->n};
  }
  out->n_flex = out->n - n;
  return TN_OK;
}
