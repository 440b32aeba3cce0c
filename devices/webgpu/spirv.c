/* Modules of SPIR-V as wgpu-native takes them: it knows no operations on specialisation constants,
 * and makes all accesses of a buffer atomic if one is. So constants get their values here, branches
 * on them are decided, and blocks and functions that nothing reaches any more are left out. */
#include <inttypes.h>
#include <string.h>

#include "webgpu.h"

/* What we have to know of SPIR-V. */
enum {
  MAGIC = 0x07230203,
  HEADER = 5,
  OP_ENTRY_POINT = 15,
  OP_CAPABILITY = 17,
  OP_TYPE_BOOL = 20,
  OP_CONSTANT_TRUE = 41,
  OP_CONSTANT_FALSE = 42,
  OP_CONSTANT = 43,
  OP_SPEC_CONSTANT_TRUE = 48,
  OP_SPEC_CONSTANT_FALSE = 49,
  OP_SPEC_CONSTANT = 50,
  OP_SPEC_CONSTANT_OP = 52,
  OP_FUNCTION = 54,
  OP_FUNCTION_END = 56,
  OP_FUNCTION_CALL = 57,
  OP_DECORATE = 71,
  OP_I_ADD = 128,
  OP_I_SUB = 130,
  OP_I_MUL = 132,
  OP_S_DIV = 135,
  OP_LOGICAL_EQUAL = 164,
  OP_LOGICAL_NOT_EQUAL = 165,
  OP_LOGICAL_OR = 166,
  OP_LOGICAL_AND = 167,
  OP_LOGICAL_NOT = 168,
  OP_SELECT = 169,
  OP_I_EQUAL = 170,
  OP_I_NOT_EQUAL = 171,
  OP_S_GREATER = 173,
  OP_S_GREATER_EQUAL = 175,
  OP_S_LESS = 177,
  OP_S_LESS_EQUAL = 179,
  OP_F_EQUAL = 180,
  OP_F_UNORDERED_NOT_EQUAL = 183,
  OP_PHI = 245,
  OP_LOOP_MERGE = 246,
  OP_SELECTION_MERGE = 247,
  OP_LABEL = 248,
  OP_BRANCH = 249,
  OP_BRANCH_CONDITIONAL = 250,
  OP_SWITCH = 251,
  OP_UNREACHABLE = 255,
  DECORATION_SPEC_ID = 1,
  DECORATION_BINDING = 33,
  DECORATION_NO_CONTRACTION = 42,
  CAPABILITY_SHADER = 1,
  CAPABILITY_INT64 = 11,
  MAX_IDS = 1 << 20
};

/* How a block gets into the module. */
enum { REACHED = 1, NAMED_MERGE = 2, NAMED_CONTINUE = 4 };

/* What is known of an id. */
typedef struct item {
  uint32_t at;     /* of labels and functions: where they stand */
  uint32_t header; /* NAMED_CONTINUE: the label of its loop */
  int32_t value;   /* of constants */
  int32_t spec;    /* SpecId; -1: none */
  uint8_t flags;
  bool is_known;
} item;

typedef struct module {
  const tn_device_call *c;
  const webgpu_device *device;
  const uint32_t *words;
  uint64_t n, body; /* words; where the first function begins */
  item *items;
  uint32_t n_items, bool_type, entry;
  const int32_t *constants;
  uint32_t n_constants;
  uint32_t *stack; /* labels to be looked at */
  uint32_t n_stack;
  uint32_t *to;
  uint64_t n_to;
  uint32_t n_bindings, n_new; /* new: ids behind those of the module */
} module;

static tn_status reject(const module *m, const char *what) {
  return m->c->host->fail(m->c->ctx, TN_ERR_UNSUPPORTED, "%s", what);
}

static uint32_t op_at(const module *m, uint64_t at) { return m->words[at] & 0xffff; }
static uint32_t size_at(const module *m, uint64_t at) { return m->words[at] >> 16; }
static item *item_of(const module *m, uint32_t id) { return &m->items[id]; }

/* ---- reading ---- */

/* How many words of an instruction, from its second, are ids that we follow. */
static uint32_t n_ids(uint32_t op, uint32_t size) {
  switch (op) {
    case OP_SPEC_CONSTANT_OP:
    case OP_FUNCTION_CALL: return 3;
    case OP_LOOP_MERGE: return 2;
    case OP_BRANCH_CONDITIONAL: return 3;
    case OP_PHI: return size < 3 ? 2 : size - 1;
    case OP_CONSTANT:
    case OP_CONSTANT_TRUE:
    case OP_CONSTANT_FALSE:
    case OP_SPEC_CONSTANT:
    case OP_SPEC_CONSTANT_TRUE:
    case OP_SPEC_CONSTANT_FALSE:
    case OP_FUNCTION: return 2;
    case OP_ENTRY_POINT: return 2;
    case OP_TYPE_BOOL:
    case OP_DECORATE:
    case OP_SELECTION_MERGE:
    case OP_LABEL:
    case OP_BRANCH:
    case OP_SWITCH: return 1;
    default: return 0;
  }
}

/* Whole instructions, ids within bounds. */
static tn_status check_words(module *m) {
  if (m->n <= HEADER || m->n > UINT32_MAX || m->words[0] != MAGIC)
    return reject(m, "its module is no SPIR-V");
  m->n_items = m->words[3];
  if (!m->n_items || m->n_items > MAX_IDS) return reject(m, "its module has too many ids");
  for (uint64_t at = HEADER; at < m->n; at += size_at(m, at)) {
    const uint32_t size = size_at(m, at), ids = n_ids(op_at(m, at), size);
    if (!size || size > m->n - at || size <= ids) return reject(m, "its module is cut off");
    for (uint32_t k = 1; k <= ids; k++)
      if (m->words[at + k] >= m->n_items && !(k == 1 && op_at(m, at) == OP_ENTRY_POINT) &&
          !(k == 3 && op_at(m, at) == OP_SPEC_CONSTANT_OP))
        return reject(m, "its module has an id out of bounds");
  }
  return TN_OK;
}

static tn_status check_capability(const module *m, uint32_t which) {
  if (which == CAPABILITY_SHADER) return TN_OK;
  if (which == CAPABILITY_INT64)
    return m->device->has_long ? TN_OK
                               : reject(m, "the device has no integers of 64 bits (shader-int64)");
  return m->c->host->fail(m->c->ctx, TN_ERR_UNSUPPORTED, "its module needs the capability %" PRIu32,
                          which);
}

static void know(const module *m, uint32_t id, int32_t value) {
  item_of(m, id)->is_known = true;
  item_of(m, id)->value = value;
}

/* ---- constants ---- */

static bool is_logical(uint32_t op) {
  return (op >= OP_LOGICAL_EQUAL && op <= OP_LOGICAL_NOT) ||
         (op >= OP_I_EQUAL && op <= OP_S_LESS_EQUAL);
}

/* Of whole numbers of 32 bits and truth values. */
static bool compute(uint32_t op, const int32_t *v, uint32_t n, int32_t *out) {
  const uint32_t a = (uint32_t)v[0], b = (uint32_t)v[1];
  if (op == OP_LOGICAL_NOT) return *out = !v[0], n == 1;
  if (op == OP_SELECT) return *out = v[0] ? v[1] : v[2], n == 3;
  switch (op) {
    case OP_I_ADD: *out = (int32_t)(a + b); break;
    case OP_I_SUB: *out = (int32_t)(a - b); break;
    case OP_I_MUL: *out = (int32_t)(a * b); break;
    case OP_S_DIV:
      if (!b || (b == UINT32_MAX && v[0] == INT32_MIN)) return false;
      *out = v[0] / v[1];
      break;
    case OP_LOGICAL_EQUAL:
    case OP_I_EQUAL: *out = v[0] == v[1]; break;
    case OP_LOGICAL_NOT_EQUAL:
    case OP_I_NOT_EQUAL: *out = v[0] != v[1]; break;
    case OP_LOGICAL_OR: *out = v[0] || v[1]; break;
    case OP_LOGICAL_AND: *out = v[0] && v[1]; break;
    case OP_S_GREATER: *out = v[0] > v[1]; break;
    case OP_S_GREATER_EQUAL: *out = v[0] >= v[1]; break;
    case OP_S_LESS: *out = v[0] < v[1]; break;
    case OP_S_LESS_EQUAL: *out = v[0] <= v[1]; break;
    default: return false;
  }
  return n == 2;
}

static void put_constant(module *m, uint32_t type, uint32_t id, int32_t value) {
  uint32_t *to = m->to + m->n_to;
  if (type == m->bool_type) {
    to[0] = 3u << 16 | (value ? OP_CONSTANT_TRUE : OP_CONSTANT_FALSE);
  } else {
    to[0] = 4u << 16 | OP_CONSTANT;
    to[3] = (uint32_t)value;
  }
  to[1] = type;
  to[2] = id;
  m->n_to += to[0] >> 16;
  know(m, id, value);
}

static tn_status put_special(module *m, const uint32_t *p, int32_t otherwise) {
  const int32_t spec = item_of(m, p[2])->spec;
  if (spec >= 0 && (uint32_t)spec >= m->n_constants)
    return reject(m, "its module has more constants than the program");
  put_constant(m, p[1], p[2], spec >= 0 ? m->constants[spec] : otherwise);
  return TN_OK;
}

static tn_status put_operation(module *m, const uint32_t *p, uint32_t size) {
  int32_t values[3] = {0}, value;
  const uint32_t n = size - 4;
  bool is_known = n >= 1 && n <= 3;
  for (uint32_t k = 0; k < n && is_known; k++) {
    is_known = p[4 + k] < m->n_items && item_of(m, p[4 + k])->is_known;
    if (is_known) values[k] = item_of(m, p[4 + k])->value;
  }
  if (!is_known || !compute(p[3], values, n, &value) ||
      (is_logical(p[3]) != (p[1] == m->bool_type) && p[3] != OP_SELECT))
    return m->c->host->fail(m->c->ctx, TN_ERR_UNSUPPORTED,
                            "its module computes constants by operation %" PRIu32, p[3]);
  put_constant(m, p[1], p[2], value);
  return TN_OK;
}

static void put(module *m, const uint32_t *p, uint32_t size) {
  memcpy(m->to + m->n_to, p, size * sizeof *p);
  m->n_to += size;
}

static tn_status put_decoration(module *m, const uint32_t *p, uint32_t size) {
  enum { MAX_BINDINGS = 64 };
  if (size == 4 && p[2] == DECORATION_SPEC_ID) {
    if (p[3] <= INT32_MAX) item_of(m, p[1])->spec = (int32_t)p[3];
    return TN_OK;
  }
  if (size == 3 && p[2] == DECORATION_NO_CONTRACTION) return TN_OK; /* it is not known there */
  if (size == 4 && p[2] == DECORATION_BINDING) {
    if (p[3] >= MAX_BINDINGS) return reject(m, "its module has too many bindings");
    if (p[3] > m->n_bindings) m->n_bindings = p[3];
  }
  put(m, p, size);
  return TN_OK;
}

static tn_status put_head_instruction(module *m, const uint32_t *p, uint32_t op, uint32_t size) {
  switch (op) {
    case OP_DECORATE: return put_decoration(m, p, size);
    case OP_SPEC_CONSTANT: return put_special(m, p, size == 4 ? (int32_t)p[3] : 0);
    case OP_SPEC_CONSTANT_TRUE: return put_special(m, p, 1);
    case OP_SPEC_CONSTANT_FALSE: return put_special(m, p, 0);
    case OP_SPEC_CONSTANT_OP: return put_operation(m, p, size);
    case OP_TYPE_BOOL: m->bool_type = p[1]; break;
    case OP_ENTRY_POINT: m->entry = p[2]; break;
    case OP_CONSTANT_TRUE: know(m, p[2], 1); break;
    case OP_CONSTANT_FALSE: know(m, p[2], 0); break;
    case OP_CONSTANT:
      if (size == 4) know(m, p[2], (int32_t)p[3]);
      break;
    default: break;
  }
  put(m, p, size);
  return op == OP_CAPABILITY && size == 2 ? check_capability(m, p[1]) : TN_OK;
}

/* All up to the first function. */
static tn_status put_head(module *m) {
  uint64_t at = HEADER;
  put(m, m->words, HEADER);
  for (; at < m->n && op_at(m, at) != OP_FUNCTION; at += size_at(m, at)) {
    const tn_status status = put_head_instruction(m, m->words + at, op_at(m, at), size_at(m, at));
    if (status) return status;
  }
  m->body = at;
  for (; at < m->n; at += size_at(m, at)) {
    if (op_at(m, at) == OP_LABEL) item_of(m, m->words[at + 1])->at = (uint32_t)at;
    if (op_at(m, at) == OP_FUNCTION) item_of(m, m->words[at + 2])->at = (uint32_t)at;
  }
  return TN_OK;
}

/* ---- what is reached ---- */

static bool is_terminator(uint32_t op) { return op >= OP_BRANCH && op <= OP_UNREACHABLE; }

/* Of a conditional branch whose condition is known: where it goes; 0: it is not known. */
static uint32_t decided(const module *m, const uint32_t *p) {
  const item *condition = item_of(m, p[1]);
  if ((*p & 0xffff) != OP_BRANCH_CONDITIONAL || !condition->is_known) return 0;
  return p[condition->value ? 2 : 3];
}

static tn_status reach(module *m, uint32_t label) {
  item *i = item_of(m, label);
  if (!i->at || op_at(m, i->at) != OP_LABEL) return reject(m, "its module branches to no block");
  if (!(i->flags & REACHED)) m->stack[m->n_stack++] = label;
  i->flags |= REACHED;
  return TN_OK;
}

static tn_status reach_function(module *m, uint32_t id) {
  item *i = item_of(m, id);
  if (!i->at || op_at(m, i->at) != OP_FUNCTION) return reject(m, "its module calls no function");
  if (i->flags & REACHED) return TN_OK;
  i->flags |= REACHED;
  uint64_t at = i->at;
  while (at < m->n && op_at(m, at) != OP_LABEL && op_at(m, at) != OP_FUNCTION_END)
    at += size_at(m, at);
  if (at >= m->n || op_at(m, at) != OP_LABEL) return reject(m, "its module has an empty function");
  return reach(m, m->words[at + 1]);
}

/* The instruction that ends the block that begins at `at`; n: there is none. */
static uint64_t end_of_block(const module *m, uint64_t at) {
  while (at < m->n && !is_terminator(op_at(m, at))) at += size_at(m, at);
  return at;
}

static tn_status reach_targets(module *m, const uint32_t *p, uint32_t size) {
  const uint32_t op = *p & 0xffff, one = decided(m, p);
  tn_status status = TN_OK;
  if (one) return reach(m, one);
  if (op == OP_BRANCH) return reach(m, p[1]);
  if (op == OP_BRANCH_CONDITIONAL) {
    status = reach(m, p[2]);
    return status ? status : reach(m, p[3]);
  }
  for (uint32_t k = 2; op == OP_SWITCH && k < size && !status; k += 2) /* selectors of 32 bits */
    status = p[k] < m->n_items ? reach(m, p[k]) : reject(m, "its module has an id out of bounds");
  return status;
}

static tn_status look_at_block(module *m, uint32_t label) {
  uint64_t at = item_of(m, label)->at;
  const uint64_t end = end_of_block(m, at);
  tn_status status = TN_OK;
  if (end >= m->n) return reject(m, "its module is cut off");
  for (; at < end && !status; at += size_at(m, at)) {
    const uint32_t *p = m->words + at;
    const uint32_t op = op_at(m, at);
    if (op == OP_FUNCTION_CALL) status = reach_function(m, p[3]);
    if (op == OP_LOOP_MERGE || (op == OP_SELECTION_MERGE && !decided(m, m->words + end)))
      item_of(m, p[1])->flags |= NAMED_MERGE;
    if (op == OP_LOOP_MERGE) {
      item_of(m, p[2])->flags |= NAMED_CONTINUE;
      item_of(m, p[2])->header = label;
    }
  }
  return status ? status : reach_targets(m, m->words + end, size_at(m, end));
}

static tn_status reach_all(module *m) {
  tn_status status = reach_function(m, m->entry);
  while (!status && m->n_stack) status = look_at_block(m, m->stack[--m->n_stack]);
  return status;
}

/* ---- writing ---- */

static bool goes_to(const module *m, uint32_t from, uint32_t to) {
  const item *i = item_of(m, from);
  if (!i->at || op_at(m, i->at) != OP_LABEL || !(i->flags & REACHED))
    return i->flags & NAMED_CONTINUE && i->header == to;
  const uint64_t end = end_of_block(m, i->at);
  const uint32_t *p = m->words + end;
  const uint32_t op = op_at(m, end), one = decided(m, p);
  if (one) return one == to;
  if (op == OP_BRANCH) return p[1] == to;
  if (op == OP_BRANCH_CONDITIONAL) return p[2] == to || p[3] == to;
  for (uint32_t k = 2; op == OP_SWITCH && k < size_at(m, end); k += 2)
    if (p[k] == to) return true;
  return false;
}

/* Values of blocks that do not come here any more go. */
static void put_phi(module *m, const uint32_t *p, uint32_t size, uint32_t label) {
  uint32_t *to = m->to + m->n_to, n = 3;
  memcpy(to, p, 3 * sizeof *p);
  for (uint32_t k = 3; k + 1 < size; k += 2)
    if (goes_to(m, p[k + 1], label)) {
      to[n++] = p[k];
      to[n++] = p[k + 1];
    }
  to[0] = n << 16 | OP_PHI;
  m->n_to += n;
}

static void put_branch(module *m, uint32_t to) {
  const uint32_t words[] = {2u << 16 | OP_BRANCH, to};
  put(m, words, 2);
}

/* A block that is only named: by a loop or a choice whose end it is. */
static void put_named(module *m, uint64_t at) {
  static const uint32_t unreachable[] = {1u << 16 | OP_UNREACHABLE};
  const item *i = item_of(m, m->words[at + 1]);
  if (!(i->flags & (NAMED_MERGE | NAMED_CONTINUE))) return;
  put(m, m->words + at, 2);
  if (i->flags & NAMED_CONTINUE)
    put_branch(m, i->header);
  else
    put(m, unreachable, 1);
}

/* a != b is true of what is no number, which is lost there; !(a == b) is the same, and kept. */
static void put_not_equal(module *m, const uint32_t *p) {
  const uint32_t id = m->n_items + m->n_new++;
  const uint32_t words[] = {5u << 16 | OP_F_EQUAL,     p[1], id,   p[3], p[4],
                            4u << 16 | OP_LOGICAL_NOT, p[1], p[2], id};
  put(m, words, 9);
}

static void put_block(module *m, uint64_t at) {
  const uint64_t end = end_of_block(m, at);
  const uint32_t label = m->words[at + 1], one = decided(m, m->words + end);
  for (; at < end; at += size_at(m, at)) {
    const uint32_t op = op_at(m, at);
    if (op == OP_PHI)
      put_phi(m, m->words + at, size_at(m, at), label);
    else if (op == OP_F_UNORDERED_NOT_EQUAL && size_at(m, at) == 5)
      put_not_equal(m, m->words + at);
    else if (op != OP_SELECTION_MERGE || !one)
      put(m, m->words + at, size_at(m, at));
  }
  if (one)
    put_branch(m, one);
  else
    put(m, m->words + end, size_at(m, end));
}

static void put_functions(module *m) {
  bool is_reached = false;
  for (uint64_t at = m->body; at < m->n; at += size_at(m, at)) {
    if (op_at(m, at) == OP_FUNCTION) is_reached = item_of(m, m->words[at + 2])->flags & REACHED;
    if (!is_reached) continue;
    if (op_at(m, at) != OP_LABEL) {
      put(m, m->words + at, size_at(m, at)); /* of the function's head, and its end */
      continue;
    }
    if (item_of(m, m->words[at + 1])->flags & REACHED)
      put_block(m, at);
    else
      put_named(m, at);
    at = end_of_block(m, at);
    if (at >= m->n) return;
  }
}

static tn_status specialise(module *m) {
  tn_status status = put_head(m);
  if (!status) status = reach_all(m);
  if (!status) put_functions(m);
  if (!status) m->to[3] = m->n_items + m->n_new;
  return status;
}

tn_status webgpu_specialise(const tn_device_call *c, const webgpu_device *d, const uint32_t *words,
                            uint64_t n, const int32_t *constants, uint32_t n_constants,
                            webgpu_module *out) {
  module m = {.c = c,
              .device = d,
              .words = words,
              .n = n,
              .constants = constants,
              .n_constants = n_constants};
  tn_status status = check_words(&m);
  if (status) return status;
  m.items = c->host->alloc(c->ctx, m.n_items * sizeof *m.items);
  m.stack = c->host->alloc(c->ctx, m.n_items * sizeof *m.stack);
  /* a block that is named only may grow by two words */
  m.to = c->host->alloc(c->ctx, 2 * n * sizeof *m.to);
  status = m.items && m.stack && m.to ? TN_OK : TN_ERR_MEMORY;
  for (uint32_t k = 0; k < m.n_items && !status; k++) m.items[k] = (item){.spec = -1};
  if (!status) status = specialise(&m);
  c->host->free(c->ctx, m.items);
  c->host->free(c->ctx, m.stack);
  if (status)
    c->host->free(c->ctx, m.to);
  else
    *out = (webgpu_module){m.to, m.n_to, m.n_bindings};
  return status;
}
