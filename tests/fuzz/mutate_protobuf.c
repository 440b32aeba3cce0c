/* A mutator for libFuzzer that knows protobuf messages: it changes one field and corrects the
 * lengths around it, so that inputs reach the code behind the wire format. A quarter of the time,
 * and for bytes that are no message, it leaves the work to libFuzzer, which breaks lengths well
 * enough. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

enum { MAX_FIELDS = 4096, MAX_DEPTH = 40 };

typedef struct field {
  size_t begin, head, end; /* tag; what comes after tag and length; end */
  int parent;              /* field it stands in; -1: the outermost message */
  unsigned wire;
} field;

typedef struct tree {
  const uint8_t *data;
  field fields[MAX_FIELDS];
  int n;
} tree;

static bool varint(const uint8_t *data, size_t *at, size_t end, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64 && *at < end; shift += 7) {
    uint8_t byte = data[(*at)++];
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return true;
  }
  return false;
}

/* The end of the field that begins at `begin`, or 0 if there is none. */
static size_t scan(const tree *t, size_t begin, size_t end, field *f) {
  uint64_t tag, n = 0;
  size_t at = begin;
  if (!varint(t->data, &at, end, &tag) || tag >> 3 == 0 || tag >> 3 > 64) return 0;
  f->begin = begin;
  f->wire = (unsigned)tag & 7;
  f->head = at;
  if (f->wire == 0 && !varint(t->data, &at, end, &n)) return 0;
  if (f->wire == 1) n = 8;
  if (f->wire == 5) n = 4;
  if (f->wire == 2 && !varint(t->data, &at, end, &n)) return 0;
  if (f->wire == 2) f->head = at;
  if (f->wire == 3 || f->wire == 4 || f->wire > 5) return 0;
  if (f->wire != 0 && n > end - at) return 0;
  return f->end = f->wire == 0 ? at : at + (size_t)n;
}

static bool is_message(const tree *t, size_t begin, size_t end) {
  field f;
  if (begin == end) return false;
  while (begin < end)
    if (!(begin = scan(t, begin, end, &f))) return false;
  return true;
}

static void collect(tree *t, size_t begin, size_t end, int parent, int depth) {
  while (begin < end && t->n < MAX_FIELDS) {
    field f = {.parent = parent};
    if (!(begin = scan(t, begin, end, &f))) return;
    t->fields[t->n++] = f;
    if (f.wire == 2 && depth < MAX_DEPTH && is_message(t, f.head, f.end))
      collect(t, f.head, f.end, t->n - 1, depth + 1);
  }
}

/* ---- Building the changed input ---- */

typedef struct change { /* bytes [begin, end) become these */
  size_t begin, end, n;
  const uint8_t *bytes;
  int parent;
} change;

static size_t put_varint(uint8_t *to, uint64_t v) {
  size_t n = 0;
  for (; v >= 0x80; v >>= 7) to[n++] = (uint8_t)(v | 0x80);
  to[n++] = (uint8_t)v;
  return n;
}

/* Applies the change; the lengths of all messages around it grow or shrink. Answers the new size, 0
 * if there is no room. */
static size_t apply(const tree *t, const change *c, size_t size, uint8_t *out, size_t room) {
  int chain[MAX_DEPTH + 2], n = 0;
  for (int p = c->parent; p >= 0 && n < MAX_DEPTH + 2; p = t->fields[p].parent) chain[n++] = p;
  /* From the inside out: how long each message will be. A length may itself take more or fewer
   * bytes. */
  uint8_t lengths[MAX_DEPTH + 2][10];
  size_t widths[MAX_DEPTH + 2];
  int64_t delta = (int64_t)c->n - (int64_t)(c->end - c->begin);
  for (int k = 0; k < n; k++) {
    const field *f = &t->fields[chain[k]];
    size_t old = 0;
    uint8_t scratch[10];
    old = put_varint(scratch, f->end - f->head);
    widths[k] = put_varint(lengths[k], (uint64_t)((int64_t)(f->end - f->head) + delta));
    delta += (int64_t)widths[k] - (int64_t)old;
  }
  if ((int64_t)size + delta <= 0 || (size_t)((int64_t)size + delta) > room) return 0;
  size_t at = 0, from = 0;
  for (int k = n - 1; k >= 0; k--) {
    const field *f = &t->fields[chain[k]];
    uint8_t scratch[10];
    size_t length_begin = f->head - put_varint(scratch, f->end - f->head);
    memcpy(out + at, t->data + from, length_begin - from);
    at += length_begin - from;
    memcpy(out + at, lengths[k], widths[k]);
    at += widths[k];
    from = f->head;
  }
  memcpy(out + at, t->data + from, c->begin - from);
  at += c->begin - from;
  if (c->n) memcpy(out + at, c->bytes, c->n);
  at += c->n;
  memcpy(out + at, t->data + c->end, size - c->end);
  return at + size - c->end;
}

static uint64_t odd_number(unsigned r) {
  static const uint64_t numbers[] = {0,         1,          2,
                                     7,         8,          9,
                                     127,       128,        255,
                                     256,       65535,      1u << 30,
                                     INT32_MAX, UINT32_MAX, UINT64_C(1) << 62,
                                     INT64_MAX, UINT64_MAX, UINT64_MAX - 1};
  return numbers[r % (sizeof numbers / sizeof *numbers)];
}

static unsigned next_random(unsigned *state) {
  return (*state = *state * 1664525u + 1013904223u) >> 8;
}

/* The same field with another value, in scratch; answers its size. */
static size_t other_value(const tree *t, const field *f, unsigned *random, uint8_t *scratch,
                          size_t room) {
  size_t n = f->end - f->head, tag = 1;
  while (t->data[f->begin + tag - 1] & 0x80) tag++;
  memcpy(scratch, t->data + f->begin, tag);
  if (f->wire == 0) {
    uint64_t value =
        next_random(random) % 2 ? odd_number(next_random(random)) : next_random(random) % 32;
    return tag + put_varint(scratch + tag, value);
  }
  size_t most = n + 32 < room / 4 ? n + 32 : n;
  if (f->wire != 2 || most == 0 || most > room / 4) {
    memcpy(scratch, t->data + f->begin, f->end - f->begin);
    return f->end - f->begin;
  }
  uint8_t *body = malloc(most);
  memcpy(body, t->data + f->head, n);
  n = LLVMFuzzerMutate(body, n, most);
  tag += put_varint(scratch + tag, n);
  memcpy(scratch + tag, body, n);
  free(body);
  return tag + n;
}

/* One change of field f: taken out, given twice, put elsewhere, with another number or another
 * value. */
static void choose(const tree *t, const field *f, unsigned *random, uint8_t *scratch, size_t room,
                   change *c) {
  const field *other = &t->fields[next_random(random) % (unsigned)t->n];
  *c = (change){f->begin, f->end, 0, scratch, f->parent};
  switch (next_random(random) % 8) {
    case 0: break; /* out */
    case 1:        /* twice */
      c->end = c->begin;
      c->n = f->end - f->begin;
      c->bytes = t->data + f->begin;
      break;
    case 2: c->end = c->begin; /* fall through: another field before it, or in its place */
    case 3:
      c->n = other->end - other->begin;
      c->bytes = t->data + other->begin;
      break;
    case 4: /* another number */
      while (t->data[c->begin] & 0x80) c->begin++;
      c->end = c->begin + 1;
      c->begin = f->begin;
      c->n = put_varint(scratch, (uint64_t)(next_random(random) % 27 + 1) << 3 | f->wire);
      break;
    default: c->n = other_value(t, f, random, scratch, room);
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  unsigned random = seed * 2654435761u + 1;
  tree *t = calloc(1, sizeof *t);
  uint8_t *scratch = malloc(max_size + 64), *out = malloc(max_size + 64);
  size_t n = 0;
  t->data = data;
  if (next_random(&random) % 4 && is_message(t, 0, size)) collect(t, 0, size, -1, 0);
  if (t->n) {
    change c;
    const field *f = &t->fields[next_random(&random) % (unsigned)t->n];
    choose(t, f, &random, scratch, max_size, &c);
    n = apply(t, &c, size, out, max_size);
    if (n) memcpy(data, out, n);
  }
  free(t);
  free(scratch);
  free(out);
  return n ? n : LLVMFuzzerMutate(data, size, max_size);
}
