/* Values of a method, and what they stand for while its instructions are read. */
#include <stdio.h>

#include "reader.h"

/* ---- what the file says ---- */

uint32_t pte_dtype(int64_t number) {
  if (number == 23) return TN_F8E5M2;
  if (number == 24) return TN_F8E4M3FN;
  return aten_dtype_numbered(number);
}

static tn_status read_type(pte_reader *r, pte_value *v) {
  enum { STATIC = 0 };
  const tn_flat_table *t = &v->table;
  const tn_flat_vector sizes = tn_flat_vec(t, TENSOR_SIZES, 4);
  const int64_t dtype = tn_flat_int(t, TENSOR_TYPE, 1, 0);
  const bool is_open = tn_flat_int(t, TENSOR_DYNAMISM, 1, STATIC) != STATIC;
  v->type = tn_tensor_make(pte_dtype(dtype), 0, NULL, NULL);
  if (pte_status(r)) return pte_status(r);
  if (v->type.dtype == TN_NONE)
    return pte_fail(r, TN_ERR_UNSUPPORTED, t->at, "not supported: a tensor of scalar type %lld",
                    (long long)dtype);
  if (sizes.n > TN_MAX_RANK)
    return pte_fail(r, TN_ERR_UNSUPPORTED, t->at, "not supported: a tensor of %llu dims",
                    (unsigned long long)sizes.n);
  v->type.rank = (int32_t)sizes.n;
  for (uint64_t k = 0; k < sizes.n; k++) {
    const int64_t size = tn_flat_int_at(&sizes, k);
    v->type.shape[k] = is_open ? TN_DIM_UNKNOWN : size; /* what stands there is the most */
    if (size < 0)
      return pte_fail(r, TN_ERR_INVALID, sizes.at, "dim %llu is %lld", (unsigned long long)k,
                      (long long)size);
  }
  return TN_OK;
}

static double double_of(int64_t bits) {
  double f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static tn_status read_value(pte_reader *r, const tn_flat_table *t, pte_value *v) {
  v->kind = tn_flat_int(t, UNION_KIND, 1, 0);
  const bool is_tensor = v->kind == PTE_TENSOR;
  const tn_flat_table table =
      tn_flat_sub(t, UNION_TABLE, is_tensor ? &pte_tensor_type : &pte_item_type);
  aten_arg *a = &v->literal;
  if (pte_status(r)) return pte_status(r);
  if (v->kind != PTE_NONE && !table.at) return pte_fail(r, TN_ERR_INVALID, t->at, "has no content");
  v->table = table;
  switch (v->kind) {
    case PTE_NONE: *a = (aten_arg){.kind = ATEN_NONE}; break;
    case PTE_INT: *a = aten_int(NULL, tn_flat_int(&table, ITEM, 8, 0)); break;
    case PTE_BOOL:
      *a = (aten_arg){.kind = ATEN_BOOL, .i = tn_flat_int(&table, ITEM, 1, 0) != 0};
      break;
    case PTE_DOUBLE:
      *a = (aten_arg){.kind = ATEN_FLOAT, .f = double_of(tn_flat_int(&table, ITEM, 8, 0))};
      break;
    case PTE_TENSOR: return read_type(r, v);
    case PTE_STRING: *a = (aten_arg){.kind = ATEN_STRING, .s = tn_flat_text(&table, ITEM)}; break;
    case PTE_INTS:
    case PTE_DOUBLES: v->list = tn_flat_vec(&table, ITEM, 8); break;
    case PTE_BOOLS: v->list = tn_flat_vec(&table, ITEM, 1); break;
    case PTE_TENSORS:
    case PTE_OPTIONAL_TENSORS: v->list = tn_flat_vec(&table, ITEM, 4); break;
    default:
      return pte_fail(r, TN_ERR_UNSUPPORTED, t->at, "not supported: a value of kind %lld",
                      (long long)v->kind);
  }
  return pte_status(r);
}

tn_status pte_values_read(pte_reader *r) {
  const tn_flat_vector list = tn_flat_vec(&r->plan, PLAN_VALUES, 4);
  tn_status s = pte_status(r);
  if (s) return s;
  r->values = tn_arena_alloc(&r->arena, (list.n + 1) * sizeof *r->values);
  if (!r->values) return pte_no_memory(r);
  r->n_values = list.n;
  for (uint64_t k = 0; k < list.n && !s; k++) {
    const tn_flat_table t = tn_flat_item(&list, k, &pte_value_type);
    pte_value *v = &r->values[k];
    *v = (pte_value){.id = TN_NO_ID, .state = -1};
    snprintf(r->where, sizeof r->where, "value %llu", (unsigned long long)k);
    v->name = tn_arena_format(&r->arena, "value_%llu", (unsigned long long)k);
    if (!v->name) return pte_no_memory(r);
    s = read_value(r, &t, v);
  }
  if (!s) *r->where = '\0';
  return s;
}

/* ---- what they stand for ---- */

pte_value *pte_peek(const pte_reader *r, int64_t index) {
  return index >= 0 && (uint64_t)index < r->n_values ? &r->values[index] : NULL;
}

pte_value *pte_get(const pte_reader *r, int64_t index) {
  if (!pte_peek(r, index))
    pte_fail(r, TN_ERR_INVALID, r->at, "there is no value %lld; there are %llu", (long long)index,
             (unsigned long long)r->n_values);
  return pte_peek(r, index);
}

tn_status pte_new(pte_reader *r, const pte_value *v, int32_t *out) {
  const bool is_first = !v->n_writes && v->id == TN_NO_ID && r->g == r->main;
  const char *name = v->name;
  if (!is_first) name = tn_arena_format(&r->arena, "%s#%u", v->name, ++r->n_names);
  *out = name ? r->api->value(r->g, name) : TN_ERR_MEMORY;
  return *out < 0 ? pte_graph_fail(r, *out, "it cannot be a value") : TN_OK;
}

tn_status pte_write(pte_reader *r, pte_value *v, int32_t id) {
  const pte_undo undo = {v, *v};
  if (r->branch != v->branch && tn_vec_push(&r->allocator, &r->undo, undo)) return pte_no_memory(r);
  v->branch = r->branch;
  v->id = id;
  v->in = r->g;
  v->n_writes++;
  return pte_note_place(r, v);
}

/* "1:4096:256": memory, offset, bytes. "": it has no place. */
static const char *place_of(pte_reader *r, const pte_value *v) {
  const tn_flat_table t = tn_flat_sub(&v->table, TENSOR_ALLOCATION, &pte_place_type);
  if (v->kind != PTE_TENSOR || !t.at) return "";
  return tn_arena_format(
      &r->arena, "%lld:%lld.%lld:%lld", (long long)tn_flat_uint(&t, PLACE_MEMORY, 4, 0),
      (long long)tn_flat_uint(&t, PLACE_HIGH, 4, 0), (long long)tn_flat_uint(&t, PLACE_LOW, 4, 0),
      (long long)tn_tensor_bytes(&v->type));
}

tn_status pte_note_place(pte_reader *r, const pte_value *v) {
  const char *place = place_of(r, v);
  if (!place || (*place && tn_map_set(&r->places, place, v - r->values))) return pte_no_memory(r);
  return pte_status(r);
}

/* Views whose shape the program knows are no instructions: they lie where their base lies. */
static tn_status make_view(pte_reader *r, pte_value *v, bool *out_is) {
  const char *place = place_of(r, v);
  const int64_t base = place && *place ? tn_map_get(&r->places, place, -1) : -1;
  const pte_value *from = pte_peek(r, base);
  int32_t in[2];
  *out_is = from && from != v && from->id != TN_NO_ID && from->type.dtype == v->type.dtype &&
            tn_tensor_elements(&v->type) >= 0;
  if (!place) return pte_no_memory(r);
  if (!*out_is) return pte_status(r);
  const tn_tensor shape = tn_tensor_make(TN_I64, 1, (int64_t[]){v->type.rank}, v->type.shape);
  tn_status s = pte_id(r, base, &in[0]);
  in[1] = s ? TN_NO_ID : r->api->value(r->g, NULL);
  if (!s) s = in[1] < 0 ? in[1] : r->api->value_set_const(r->g, in[1], &shape, 1);
  if (s) return pte_graph_fail(r, s, "a shape cannot be a constant");
  int32_t id;
  const char *node = r->node;
  r->node = NULL; /* the instruction that reads it has that name */
  s = pte_new(r, v, &id);
  const tn_attr zero = {.head = TN_HEAD(tn_attr), .name = "allowzero", .kind = TN_ATTR_INT, .i = 1};
  const tn_attr *const attrs[] = {&zero}; /* dims of 0 are what they say */
  if (!s) s = pte_add_node(r, "Reshape", in, 2, &id, 1, attrs, 1);
  r->node = node;
  return s ? s : pte_write(r, v, id);
}

/* A buffer that the program changes: what the last run left, at first what the file says, or 0. */
static tn_status make_state(pte_reader *r, pte_value *v) {
  const tn_graph_api *api = r->api;
  pte_span bytes;
  int32_t initial = TN_NO_ID;
  const int32_t before = api->value(r->main, v->name);
  const char *name = tn_arena_format(&r->arena, "%s.initial", v->name);
  if (!name) return pte_no_memory(r);
  tn_status s = pte_initial(r, v, &bytes);
  if (!s && bytes.size) s = pte_constant(r, v, name, &initial);
  if (s) return s;
  s = before < 0 ? before : api->value_set_type(r->main, before, &v->type);
  v->state = s ? s : api->state_new(r->main, v->name, before, initial);
  if (v->state < 0) return pte_graph_fail(r, v->state, "a buffer cannot be a state");
  v->id = before;
  v->in = r->main;
  return TN_OK;
}

/* A tensor that no instruction has written: a constant, or a buffer. */
static tn_status make_stored(pte_reader *r, pte_value *v, int64_t index) {
  if (v->kind != PTE_TENSOR)
    return pte_fail(
        r, TN_ERR_UNSUPPORTED, r->at,
        "not supported: value %lld, which is neither a tensor nor a number, as a tensor",
        (long long)index);
  bool is_view = false;
  const tn_status s = make_view(r, v, &is_view);
  if (s || is_view) return s;
  if (tn_flat_has(&v->table, TENSOR_ALLOCATION)) return make_state(r, v);
  if (tn_flat_uint(&v->table, TENSOR_BUFFER, 4, 0) <= 0 && !pte_is_beside(v))
    return pte_fail(r, TN_ERR_INVALID, r->at, "value %lld is read, and nothing has made it",
                    (long long)index);
  v->in = r->main;
  return pte_constant(r, v, v->name, &v->id);
}

/* Numbers and bools of rank 0. */
static tn_status number(pte_reader *r, const aten_arg *a, int32_t *out) {
  int64_t i = a->i;
  double f = a->f;
  uint8_t b = a->i != 0;
  const tn_tensor t = a->kind == ATEN_INT     ? tn_tensor_make(TN_I64, 0, NULL, &i)
                      : a->kind == ATEN_FLOAT ? tn_tensor_make(TN_F64, 0, NULL, &f)
                                              : tn_tensor_make(TN_BOOL, 0, NULL, &b);
  *out = r->api->value(r->g, NULL);
  const tn_status s = *out < 0 ? *out : r->api->value_set_const(r->g, *out, &t, 1);
  return s ? pte_graph_fail(r, s, "a number cannot be a constant") : TN_OK;
}

tn_status pte_id(pte_reader *r, int64_t index, int32_t *out) {
  pte_value *v = pte_get(r, index);
  if (!v) return TN_ERR_INVALID;
  if (v->id == TN_NO_ID && v->kind >= PTE_INT && v->kind <= PTE_DOUBLE)
    return number(r, &v->literal, out);
  const tn_status s = v->id == TN_NO_ID ? make_stored(r, v, index) : TN_OK;
  if (s) return s;
  *out = v->id;
  if (v->in == r->g) return TN_OK;
  /* a branch finds what lies around it by name */
  *out = r->api->value(r->g, r->api->value_name(v->in, v->id));
  return *out < 0 ? pte_graph_fail(r, *out, "a value cannot be read in a branch") : TN_OK;
}

static tn_status list_arg(pte_reader *r, const pte_value *v, aten_arg *out) {
  const tn_flat_vector *list = &v->list;
  if (list->n > r->room)
    return pte_fail(r, TN_ERR_OVERFLOW, r->at, "the lists of all calls are too long");
  r->room -= list->n;
  aten_arg *items = tn_arena_alloc(&r->arena, (list->n + 1) * sizeof *items);
  if (!items) return pte_no_memory(r);
  tn_status s = TN_OK;
  for (uint64_t k = 0; k < list->n && !s; k++) {
    items[k] = (aten_arg){.kind = ATEN_NONE};
    if (v->kind == PTE_DOUBLES)
      items[k] = (aten_arg){.kind = ATEN_FLOAT, .f = double_of(tn_flat_int_at(list, k))};
    else if (v->kind == PTE_BOOLS)
      items[k] = (aten_arg){.kind = ATEN_BOOL, .i = tn_flat_int_at(list, k) != 0};
    else if (v->kind != PTE_OPTIONAL_TENSORS || tn_flat_int_at(list, k) != -1)
      s = pte_arg(r, tn_flat_int_at(list, k), &items[k]);
  }
  *out = (aten_arg){.kind = ATEN_LIST, .items = items, .n_items = (uint32_t)list->n};
  return s ? s : pte_status(r);
}

tn_status pte_arg(pte_reader *r, int64_t index, aten_arg *out) {
  pte_value *v = pte_get(r, index);
  if (!v) return TN_ERR_INVALID;
  if (v->kind == PTE_TENSOR || v->id != TN_NO_ID) {
    *out = aten_value(NULL, TN_NO_ID);
    return pte_id(r, index, &out->value);
  }
  *out = v->literal;
  if (v->kind < PTE_INTS) return TN_OK;
  if (r->in_list) return pte_fail(r, TN_ERR_INVALID, r->at, "a list holds a list");
  r->in_list = true;
  const tn_status s = list_arg(r, v, out);
  r->in_list = false;
  return s;
}
