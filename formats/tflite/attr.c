/* Options of an operator as attributes, by the words of its row. */

#include "base/text.h"
#include "reader.h"

static tn_attr attr_of(const char *name, uint32_t kind) {
  return (tn_attr){.head = TN_HEAD(tn_attr), .name = name, .kind = kind};
}

static tn_status no_room(const tflite_reader *r) {
  return tflite_fail(r, TN_ERR_INTERNAL, 0, "has more than %d attributes", TFLITE_MAX_ATTRS);
}

/* ---- lists ---- */

static tn_status read_ints(tflite_reader *r, const tn_flat_vector *v, tn_attr *out) {
  int64_t *data = tn_arena_alloc(&r->arena, (v->n + 1) * sizeof *data);
  if (!data) return tflite_no_memory(r);
  for (uint64_t k = 0; k < v->n; k++) data[k] = tn_flat_int_at(v, k);
  out->ints = (tn_ints){data, (int64_t)v->n};
  return tflite_status(r);
}

static tn_status read_floats(tflite_reader *r, const tn_flat_vector *v, tn_attr *out) {
  double *data = tn_arena_alloc(&r->arena, (v->n + 1) * sizeof *data);
  if (!data) return tflite_no_memory(r);
  for (uint64_t k = 0; k < v->n; k++) data[k] = tn_flat_float_at(v, k);
  out->floats = (tn_floats){data, (int64_t)v->n};
  return tflite_status(r);
}

/* ---- one word: "stride_w i32=1" ---- */

enum { WORD = 64 };

typedef struct word {
  char name[WORD], kind[WORD];
  double missing;
} word;

static const char *take(const char *p, const char *ends, char *out) {
  size_t n = strcspn(p, ends);
  if (n >= WORD) n = WORD - 1;
  memcpy(out, p, n);
  out[n] = 0;
  return p + n;
}

/* Takes the next word off the text; false: there is none. */
static bool next_word(const char **text, word *w) {
  const char *p = *text + strspn(*text, ", ");
  *w = (word){{0}, {0}, 0};
  if (!*p) return false;
  p = take(p, ", ", w->name);
  if (*p == ' ') p = take(p + 1, ",=", w->kind);
  if (*p == '=') {
    char *end;
    w->missing = tn_text_number(p + 1, &end);
    p = end;
  }
  *text = p;
  return true;
}

static uint32_t width_of(const char *kind) {
  return strstr(kind, "8") || !strcmp(kind, "bool") ? 1 : strstr(kind, "64") ? 8 : 4;
}

/* *out is set but for its name; kind 0: there is none. */
static tn_status read_word(tflite_reader *r, const tn_flat_table *t, uint32_t field, const word *w,
                           tn_attr *out) {
  const char *kind = w->kind;
  const uint32_t width = width_of(kind);
  const bool is_list = kind[strlen(kind) - 1] == 's', is_float = *kind == 'f';
  out->kind = is_list    ? is_float ? TN_ATTR_FLOATS : TN_ATTR_INTS
              : is_float ? TN_ATTR_FLOAT
                         : TN_ATTR_INT;
  if (!strcmp(kind, "str")) {
    out->kind = TN_ATTR_STR;
    out->s = tn_flat_text(t, field);
  } else if (is_list) {
    const tn_flat_vector v = tn_flat_vec(t, field, width);
    return is_float ? read_floats(r, &v, out) : read_ints(r, &v, out);
  } else if (is_float) {
    out->f = tn_flat_float(t, field, w->missing);
  } else if (*kind == 'i') {
    out->i = tn_flat_int(t, field, width, (int64_t)w->missing);
  } else {
    out->i = tn_flat_uint(t, field, width, (int64_t)w->missing);
  }
  return tflite_status(r);
}

/* ---- the row ---- */

/* Does the key stand before the colon? */
static bool before(const char *words, const char *colon, const char *key) {
  const char *at = colon ? strstr(words, key) : NULL;
  return at && at < colon;
}

tn_status tflite_attrs_read(tflite_subgraph *s, const tn_flat_table *op, const char *words,
                            tflite_attrs *out) {
  tflite_reader *r = s->r;
  const char *colon = words ? strchr(words, ':') : NULL;
  word w;
  *out = (tflite_attrs){.n = 0};
  if (!words) return TN_OK;
  out->quantised = before(words, colon, "quant");
  out->moves = before(words, colon, "moves");
  out->states = before(words, colon, "states");
  out->typed = before(words, colon, "out");
  const tn_flat_table first = tn_flat_sub(op, OPERATOR_OPTIONS, &tflite_options_type),
                      second = tn_flat_sub(op, OPERATOR_OPTIONS_2, &tflite_options_type);
  tn_status status = tflite_status(r);
  const char *text = colon ? colon + 1 : words;
  for (uint32_t field = 0; !status && next_word(&text, &w); field++) {
    const tn_flat_table *from = first.at ? &first : &second;
    if (!strcmp(w.name, "-")) continue;
    if (!strcmp(w.kind, "flex")) {
      const tn_flat_vector bytes = tn_flat_vec(from, field, 1);
      status = tflite_flex_read(r, &bytes, "composite_attributes", out);
      continue;
    }
    if (out->n == TFLITE_MAX_ATTRS - 5) return no_room(r);
    tn_attr *a = &out->attrs[out->n++];
    char *name = tn_arena_str(&r->arena, w.name);
    if (!name) return tflite_no_memory(r);
    *a = attr_of(name, 0);
    status = read_word(r, from, field, &w, a);
  }
  return status;
}
