/* The machine of pickles: a stack of inert values, marks, and a memo. Names and what they would
 * make: pickle_names.c. */
#include "pickle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/text.h"

enum { MAX_STACK = 1 << 24 };

typedef struct machine {
  torch_pickle *p;
  const uint8_t *data;
  uint64_t size, at, op_at; /* op_at: of the opcode that is being done */
  TN_VEC(torch_pickled *) stack, memo;
  TN_VEC(int64_t) marks;
} machine;

tn_status(torch_pickle_fail)(torch_pickle *p, tn_status code, uint64_t at, const char *format,
                             ...) {
  va_list args;
  const int n = snprintf(p->message, sizeof p->message, "%.100s: ", p->member);
  va_start(args, format);
  tn_error_text(p->message + n, sizeof p->message - (size_t)n, code, format, args);
  va_end(args);
  const size_t used = strlen(p->message);
  snprintf(p->message + used, sizeof p->message - used, ", at byte %llu", (unsigned long long)at);
  return code;
}

tn_status torch_pickle_no_memory(torch_pickle *p) {
  snprintf(p->message, sizeof p->message, "%.100s: no memory for what it holds", p->member);
  return TN_ERR_MEMORY;
}

torch_pickled *torch_pickle_new(torch_pickle *p, torch_pickled_kind kind, uint64_t at) {
  torch_pickled *v = tn_arena_alloc(p->arena, sizeof *v);
  if (!v) return NULL;
  v->kind = kind;
  v->at = at;
  v->text = "";
  return v;
}

#define fails(m, ...) torch_pickle_fail((m)->p, TN_ERR_INVALID, (m)->op_at, __VA_ARGS__)

/* ---- bytes ---- */

static tn_status take(machine *m, uint64_t n, const uint8_t **out) {
  if (n > m->size - m->at) return fails(m, "the pickle is cut off");
  *out = m->data + m->at;
  m->at += n;
  return TN_OK;
}

static tn_status take_number(machine *m, int n, uint64_t *out) {
  const uint8_t *p = NULL;
  const tn_status s = take(m, (uint64_t)n, &p);
  for (*out = 0; !s && n > 0; n--) *out = *out << 8 | p[n - 1];
  return s;
}

/* ---- the stack ---- */

static tn_status push(machine *m, torch_pickled *v) {
  if (!v) return torch_pickle_no_memory(m->p);
  if (m->stack.n == MAX_STACK) return fails(m, "too many values are left open");
  return tn_vec_push(m->p->arena->a, &m->stack, v) ? torch_pickle_no_memory(m->p) : TN_OK;
}

static tn_status push_new(machine *m, torch_pickled_kind kind, int64_t i) {
  torch_pickled *v = torch_pickle_new(m->p, kind, m->op_at);
  if (v) v->i = i;
  return push(m, v);
}

/* How many values there are above the last mark, or, without one, at all. */
static int64_t n_above(const machine *m) {
  return m->stack.n - (m->marks.n ? m->marks.data[m->marks.n - 1] : 0);
}

static tn_status pop(machine *m, torch_pickled **out) {
  if (n_above(m) < 1) return fails(m, "a value is missing");
  *out = m->stack.data[--m->stack.n];
  return TN_OK;
}

static torch_pickled *top(const machine *m) {
  return n_above(m) < 1 ? NULL : m->stack.data[m->stack.n - 1];
}

/* The values above the last mark, which is taken away; they stay until something is pushed. */
static tn_status pop_mark(machine *m, torch_pickled ***out, int64_t *out_n) {
  if (!m->marks.n) return fails(m, "a mark is missing");
  const int64_t from = m->marks.data[--m->marks.n];
  *out_n = m->stack.n - from;
  *out = m->stack.data ? m->stack.data + from : NULL;
  m->stack.n = from;
  return TN_OK;
}

/* ---- containers ---- */

static tn_status add_items(machine *m, torch_pickled *v, torch_pickled *const *items, int64_t n) {
  if (n > v->cap - v->n) {
    const int64_t cap = (v->n + n) * 2;
    torch_pickled **grown = tn_arena_alloc(m->p->arena, (uint64_t)cap * sizeof *grown);
    if (!grown) return torch_pickle_no_memory(m->p);
    if (v->n) memcpy(grown, v->items, (size_t)v->n * sizeof *grown);
    v->items = grown;
    v->cap = cap;
  }
  if (n) memcpy(v->items + v->n, items, (size_t)n * sizeof *items);
  v->n += n;
  return TN_OK;
}

static tn_status push_with(machine *m, torch_pickled_kind kind, torch_pickled *const *items,
                           int64_t n) {
  torch_pickled *v = torch_pickle_new(m->p, kind, m->op_at);
  if (!v) return torch_pickle_no_memory(m->p);
  if (kind == PICKLED_DICT && n % 2) return fails(m, "a key has no value");
  const tn_status s = add_items(m, v, items, n);
  return s ? s : push(m, v);
}

static tn_status push_marked(machine *m, torch_pickled_kind kind) {
  torch_pickled **items = NULL;
  int64_t n = 0;
  const tn_status s = pop_mark(m, &items, &n);
  return s ? s : push_with(m, kind, items, n);
}

/* A tuple of the uppermost n. */
static tn_status push_tuple(machine *m, int64_t n) {
  if (n_above(m) < n) return fails(m, "a value is missing");
  m->stack.n -= n;
  return push_with(m, PICKLED_TUPLE, m->stack.data + m->stack.n, n);
}

/* Adds to the container below. */
static tn_status extend(machine *m, torch_pickled_kind kind, torch_pickled *const *items,
                        int64_t n) {
  torch_pickled *v = top(m);
  if (!v || v->kind != kind) return fails(m, "values are added to what is no container of them");
  if (kind == PICKLED_DICT && n % 2) return fails(m, "a key has no value");
  return add_items(m, v, items, n);
}

static tn_status extend_marked(machine *m, torch_pickled_kind kind) {
  torch_pickled **items = NULL;
  int64_t n = 0;
  const tn_status s = pop_mark(m, &items, &n);
  return s ? s : extend(m, kind, items, n);
}

static tn_status extend_top(machine *m, torch_pickled_kind kind, int64_t n) {
  if (n_above(m) < n) return fails(m, "a value is missing");
  m->stack.n -= n;
  return extend(m, kind, m->stack.data + m->stack.n, n);
}

/* ---- the memo ---- */

static tn_status memo_put(machine *m, int bytes) {
  uint64_t k = 0;
  const tn_status s = take_number(m, bytes, &k);
  if (s) return s;
  if (!top(m)) return fails(m, "a value is missing");
  if (k >= m->size) return fails(m, "the memo has no place %llu", (unsigned long long)k);
  while ((uint64_t)m->memo.n <= k)
    if (tn_vec_push(m->p->arena->a, &m->memo, NULL)) return torch_pickle_no_memory(m->p);
  m->memo.data[k] = top(m);
  return TN_OK;
}

static tn_status memo_get(machine *m, int bytes) {
  uint64_t k = 0;
  const tn_status s = take_number(m, bytes, &k);
  if (s) return s;
  if (k >= (uint64_t)m->memo.n || !m->memo.data[k])
    return fails(m, "the memo has nothing at %llu", (unsigned long long)k);
  return push(m, m->memo.data[k]);
}

/* ---- values ---- */

static tn_status push_float(machine *m) {
  const uint8_t *p = NULL;
  uint64_t bits = 0;
  const tn_status s = take(m, 8, &p);
  if (s) return s;
  for (int k = 0; k < 8; k++) bits = bits << 8 | p[k];
  torch_pickled *v = torch_pickle_new(m->p, PICKLED_FLOAT, m->op_at);
  if (v) memcpy(&v->f, &bits, sizeof bits);
  return push(m, v);
}

static tn_status push_text(machine *m, int n_bytes) {
  uint64_t n = 0;
  const uint8_t *bytes = NULL;
  tn_status s = take_number(m, n_bytes, &n);
  if (!s) s = take(m, n, &bytes);
  if (s) return s;
  if (!tn_utf8_valid((const char *)bytes, (int64_t)n)) return fails(m, "a text is not UTF-8");
  torch_pickled *v = torch_pickle_new(m->p, PICKLED_STR, m->op_at);
  if (v) v->text = tn_arena_strn(m->p->arena, (const char *)bytes, (int64_t)n);
  if (!v || !v->text) return torch_pickle_no_memory(m->p);
  v->n_text = (int64_t)n;
  return push(m, v);
}

/* An integer of up to 8 bytes. */
static tn_status push_long(machine *m) {
  uint64_t n = 0, value = 0;
  tn_status s = take_number(m, 1, &n);
  if (!s && n > 8) return fails(m, "an integer has more than 64 bits");
  const uint8_t *p = NULL;
  if (!s) s = take(m, n, &p);
  if (s) return s;
  for (uint64_t k = n; k > 0; k--) value = value << 8 | p[k - 1];
  if (n && n < 8 && p[n - 1] & 0x80) value |= ~UINT64_C(0) << (8 * n);
  return push_new(m, PICKLED_INT, (int64_t)value);
}

static tn_status push_int(machine *m, int bytes) {
  uint64_t value = 0;
  const tn_status s = take_number(m, bytes, &value);
  return s ? s : push_new(m, PICKLED_INT, bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value);
}

static tn_status take_line(machine *m, const uint8_t **out, uint64_t *out_n) {
  const uint8_t *p = m->data + m->at, *end = memchr(p, '\n', m->size - m->at);
  if (!end) return fails(m, "the pickle is cut off");
  *out = p;
  *out_n = (uint64_t)(end - p);
  m->at += *out_n + 1;
  return TN_OK;
}

static tn_status push_global(machine *m) {
  const uint8_t *module = NULL, *name = NULL;
  uint64_t n_module = 0, n_name = 0;
  tn_status s = take_line(m, &module, &n_module);
  if (!s) s = take_line(m, &name, &n_name);
  if (s) return s;
  if (n_module > 1000 || n_name > 1000 || !tn_utf8_valid((const char *)module, (int64_t)n_module) ||
      !tn_utf8_valid((const char *)name, (int64_t)n_name))
    return fails(m, "a name is no text, or too long");
  torch_pickled *v = torch_pickle_new(m->p, PICKLED_GLOBAL, m->op_at);
  char *text = tn_arena_format(m->p->arena, "%.*s %.*s", (int)n_module, (const char *)module,
                               (int)n_name, (const char *)name);
  if (!v || !text) return torch_pickle_no_memory(m->p);
  v->text = text;
  tn_text_tame_line(text, (int64_t)strlen(text));
  if (!torch_pickle_knows(text))
    return torch_pickle_fail(m->p, TN_ERR_UNSUPPORTED, m->op_at,
                             "names '%.200s', which is not among the names that are read", text);
  return push(m, v);
}

/* "__torch__.a b" is the class "__torch__.a.b". */
static const char *class_name(machine *m, const torch_pickled *name) {
  char *text = tn_arena_str(m->p->arena, name->text);
  char *space = text ? strchr(text, ' ') : NULL;
  if (space) *space = '.';
  return text;
}

static bool is_class(const torch_pickled *v) {
  return v->kind == PICKLED_GLOBAL && !strncmp(v->text, "__torch__", 9);
}

static tn_status new_object(machine *m) {
  torch_pickled *args = NULL, *name = NULL;
  tn_status s = pop(m, &args);
  if (!s) s = pop(m, &name);
  if (s) return s;
  if (!is_class(name) || args->kind != PICKLED_TUPLE || args->n)
    return fails(m, "an object is made of what is no class of the program");
  torch_pickled *v = torch_pickle_new(m->p, PICKLED_OBJECT, m->op_at);
  if (v) v->text = class_name(m, name);
  return v && v->text ? push(m, v) : torch_pickle_no_memory(m->p);
}

/* Gives the object below its state. */
static tn_status set_state(machine *m) {
  torch_pickled *state = NULL;
  const tn_status s = pop(m, &state);
  if (s) return s;
  torch_pickled *v = top(m);
  if (!v || v->kind != PICKLED_OBJECT || v->n)
    return fails(m, "a state is given to what is no new object");
  return add_items(m, v, &state, 1);
}

static tn_status reduce(machine *m) {
  torch_pickled *args = NULL, *name = NULL, *made = NULL;
  tn_status s = pop(m, &args);
  if (!s) s = pop(m, &name);
  if (s) return s;
  if (name->kind != PICKLED_GLOBAL || args->kind != PICKLED_TUPLE)
    return fails(m, "a call is not one of a name with arguments");
  if (is_class(name)) { /* an enum, or a named tuple */
    made = torch_pickle_new(m->p, PICKLED_OBJECT, m->op_at);
    if (made) made->text = class_name(m, name);
    if (!made || !made->text) return torch_pickle_no_memory(m->p);
    s = add_items(m, made, &args, 1);
  } else {
    s = torch_pickle_reduce(m->p, name, args, &made);
  }
  return s ? s : push(m, made);
}

static tn_status push_persistent(machine *m) {
  torch_pickled *id = NULL, *made = NULL;
  tn_status s = pop(m, &id);
  if (!s) s = torch_pickle_persistent(m->p, id, &made);
  return s ? s : push(m, made);
}

static tn_status protocol(machine *m) {
  uint64_t version = 0;
  const tn_status s = take_number(m, 1, &version);
  if (s || version == 2) return s;
  return torch_pickle_fail(m->p, TN_ERR_UNSUPPORTED, m->op_at,
                           "not supported: pickles of protocol %llu", (unsigned long long)version);
}

static tn_status unknown(machine *m, uint8_t op) {
  return torch_pickle_fail(m->p, TN_ERR_UNSUPPORTED, m->op_at,
                           "opcode 0x%02x is none that PyTorch writes", (unsigned)op);
}

static tn_status step(machine *m, uint8_t op) {
  switch (op) {
    case 0x80: return protocol(m);
    case '(':
      return tn_vec_push(m->p->arena->a, &m->marks, m->stack.n) ? torch_pickle_no_memory(m->p)
                                                                : TN_OK;
    case ')': return push_new(m, PICKLED_TUPLE, 0);
    case 't': return push_marked(m, PICKLED_TUPLE);
    case 0x85: return push_tuple(m, 1);
    case 0x86: return push_tuple(m, 2);
    case 0x87: return push_tuple(m, 3);
    case ']': return push_new(m, PICKLED_LIST, 0);
    case 'l': return push_marked(m, PICKLED_LIST);
    case 'a': return extend_top(m, PICKLED_LIST, 1);
    case 'e': return extend_marked(m, PICKLED_LIST);
    case '}': return push_new(m, PICKLED_DICT, 0);
    case 'd': return push_marked(m, PICKLED_DICT);
    case 's': return extend_top(m, PICKLED_DICT, 2);
    case 'u': return extend_marked(m, PICKLED_DICT);
    case 'N': return push_new(m, PICKLED_NONE, 0);
    case 0x88: return push_new(m, PICKLED_BOOL, 1);
    case 0x89: return push_new(m, PICKLED_BOOL, 0);
    case 'J': return push_int(m, 4);
    case 'K': return push_int(m, 1);
    case 'M': return push_int(m, 2);
    case 0x8a: return push_long(m);
    case 'G': return push_float(m);
    case 'X': return push_text(m, 4);
    case 'U': return push_text(m, 1);
    case 'q': return memo_put(m, 1);
    case 'r': return memo_put(m, 4);
    case 'h': return memo_get(m, 1);
    case 'j': return memo_get(m, 4);
    case 'c': return push_global(m);
    case 0x81: return new_object(m);
    case 'R': return reduce(m);
    case 'b': return set_state(m);
    case 'Q': return push_persistent(m);
    default: return unknown(m, op);
  }
}

static tn_status run(machine *m, torch_pickled **out) {
  while (m->at < m->size) {
    m->op_at = m->at;
    const uint8_t op = m->data[m->at++];
    if (op == '.') {
      if (m->marks.n || m->stack.n != 1) return fails(m, "the pickle does not end with one value");
      *out = m->stack.data[0];
      return TN_OK;
    }
    const tn_status s = step(m, op);
    if (s) return s;
  }
  m->op_at = m->size;
  return fails(m, "the pickle is cut off");
}

tn_status torch_pickle_read(torch_pickle *p, const uint8_t *data, uint64_t size,
                            torch_pickled **out) {
  machine m = {.p = p, .data = data, .size = size};
  const tn_allocator *a = p->arena->a;
  *p->message = 0;
  if (!p->storages.a) tn_map_init_borrowing(&p->storages, a);
  const tn_status s = run(&m, out);
  tn_vec_free(a, &m.stack);
  tn_vec_free(a, &m.memo);
  tn_vec_free(a, &m.marks);
  return s;
}

void torch_pickle_close(torch_pickle *p) {
  if (p->storages.a) tn_map_free(&p->storages);
}
