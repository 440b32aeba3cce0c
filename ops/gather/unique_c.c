/* Unique, portable: a stable merge sort of item numbers, so that the first of equal items is the
 * one that occurs first. */
#include "order.h"
#include "unique.h"

#include "gather.gen.h"

/* What is compared. Single numbers have keys, made once; slices, strings and complex numbers are
 * compared element by element. */
typedef struct items {
  const tn_tensor *in;
  around u;
  uint64_t *keys; /* NULL: none */
} items;

static bool has_keys(const tn_tensor *in, const around *u) {
  return u->before * u->after == 1 && in->dtype != TN_STRING && !tn_dtype(in->dtype)->is_complex;
}

/* Scratch: item numbers, room to merge, per item the number of its group, keys. */
tn_status unique_plan(const tn_call *call, tn_kernel_plan *out) {
  out->flags |= TN_PLAN_DATA_DEPENDENT;
  out->scratch_bytes = (uint64_t)unique_around(call).size * 4 * sizeof(int64_t);
  return TN_OK;
}

static int compare(const items *it, int64_t a, int64_t b) {
  const around *u = &it->u;
  if (it->keys) return (it->keys[a] > it->keys[b]) - (it->keys[a] < it->keys[b]);
  for (int64_t i = 0; i < u->before; i++)
    for (int64_t j = 0; j < u->after; j++) {
      int64_t x = (i * u->size + a) * u->after + j, y = (i * u->size + b) * u->after + j;
      int order = order_compare(it->in, x, y);
      if (order) return order;
    }
  return 0;
}

static void merge(const items *it, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b,
                  int64_t *to) {
  while (n_a > 0 && n_b > 0) {
    bool first = compare(it, *a, *b) <= 0;
    *to++ = first ? *a++ : *b++;
    n_a -= first;
    n_b -= !first;
  }
  if (n_a + n_b > 0) memcpy(to, n_a > 0 ? a : b, (size_t)(n_a + n_b) * sizeof *to);
}

/* Sorts numbers[0..n); room has as much space. Answers where the sorted ones are. */
static int64_t *sort_items(const items *it, int64_t *numbers, int64_t *room, int64_t n) {
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t k = 0; k < n; k += 2 * width) {
      int64_t middle = tn_min_i64(k + width, n), end = tn_min_i64(k + 2 * width, n);
      merge(it, numbers + k, middle - k, numbers + middle, end - middle, room + k);
    }
    int64_t *swap = numbers;
    numbers = room;
    room = swap;
  }
  return numbers;
}

/* group[item] = place of its value among the sorted ones; answers how many there are. */
static int64_t number_groups(const items *it, const int64_t *sorted, int64_t *group) {
  int64_t n = 0;
  for (int64_t k = 0; k < it->u.size; k++) {
    if (k == 0 || compare(it, sorted[k - 1], sorted[k])) n++;
    group[sorted[k]] = n - 1;
  }
  return n;
}

/* Renumbers groups in the order in which they occur. place: n numbers of room. */
static void number_by_occurrence(int64_t *group, int64_t n_items, int64_t n, int64_t *place) {
  int64_t next = 0;
  for (int64_t k = 0; k < n; k++) place[k] = -1;
  for (int64_t k = 0; k < n_items; k++) {
    if (place[group[k]] < 0) place[group[k]] = next++;
    group[k] = place[group[k]];
  }
}

static tn_status write_outputs(const tn_call *call, const around *u, const int64_t *group,
                               int64_t n) {
  int64_t *first = tn_has_output(call, 1) ? call->outputs[1]->data : NULL;
  int64_t *inverse = tn_has_output(call, 2) ? call->outputs[2]->data : NULL;
  int64_t *count = tn_has_output(call, 3) ? call->outputs[3]->data : NULL;
  rows r = rows_of(call, 0);
  int64_t none = 0;
  tn_status s = TN_OK;
  rows_range(&r, 0, &none, &none);
  if (inverse && u->size) memcpy(inverse, group, (size_t)u->size * sizeof *inverse);
  for (int64_t k = 0; count && k < n; k++) count[k] = 0;
  for (int64_t k = u->size - 1; k >= 0 && !s;
       k--) { /* backwards: the first of a group is written last */
    if (first) first[group[k]] = k;
    if (count) count[group[k]]++;
    for (int64_t i = 0; i < u->before && !s; i++)
      s = rows_copy(&r, (i * n + group[k]) * u->after, call->inputs[0],
                    (i * u->size + k) * u->after, u->after);
  }
  return s;
}

tn_status unique_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker) {
  const tn_unique_attrs *a = call->attrs;
  items it = {.in = call->inputs[0], .u = unique_around(call)};
  int64_t size = it.u.size, *numbers = call->scratch, *room = numbers + size, *group = room + size;
  (void)stage, (void)begin, (void)end, (void)worker;
  if (has_keys(it.in, &it.u)) {
    it.keys = (uint64_t *)(group + size);
    for (int64_t k = 0; k < size; k++) it.keys[k] = order_key(it.in->dtype, it.in->data, k);
  }
  for (int64_t k = 0; k < size; k++) numbers[k] = k;
  const int64_t *sorted = sort_items(&it, numbers, room, size);
  int64_t n = number_groups(&it, sorted, group);
  if (!a->sorted) number_by_occurrence(group, size, n, numbers);
  tn_status s = unique_resize(call, n);
  return s ? s : write_outputs(call, &it.u, group, n);
}
