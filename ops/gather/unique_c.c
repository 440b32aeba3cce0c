/* Unique, portable: a stable merge sort of item numbers, so that the first of equal items is the
 * one that occurs first. */
#include "order.h"
#include "unique.h"

#include "gather.gen.h"

/* Scratch: item numbers, room to merge, and per item the number of its group. */
tn_status unique_plan(const tn_call *call, tn_kernel_plan *out) {
  out->flags |= TN_PLAN_DATA_DEPENDENT;
  out->scratch_bytes = (uint64_t)unique_around(call).size * 3 * sizeof(int64_t);
  return TN_OK;
}

/* Items a and b, element by element in row-major order. */
static int unique_compare(const tn_tensor *in, const around *u, int64_t a, int64_t b) {
  for (int64_t i = 0; i < u->before; i++)
    for (int64_t j = 0; j < u->after; j++) {
      int order =
          order_compare(in, (i * u->size + a) * u->after + j, (i * u->size + b) * u->after + j);
      if (order) return order;
    }
  return 0;
}

static void merge(const tn_tensor *in, const around *u, const int64_t *a, int64_t n_a,
                  const int64_t *b, int64_t n_b, int64_t *to) {
  while (n_a > 0 && n_b > 0) {
    bool first = unique_compare(in, u, *a, *b) <= 0;
    *to++ = first ? *a++ : *b++;
    n_a -= first;
    n_b -= !first;
  }
  if (n_a + n_b > 0) memcpy(to, n_a > 0 ? a : b, (size_t)(n_a + n_b) * sizeof *to);
}

/* Sorts items[0..n); room has as much space. Answers where the sorted ones are. */
static int64_t *sort_items(const tn_tensor *in, const around *u, int64_t *items, int64_t *room,
                           int64_t n) {
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t k = 0; k < n; k += 2 * width) {
      int64_t middle = tn_min_i64(k + width, n), end = tn_min_i64(k + 2 * width, n);
      merge(in, u, items + k, middle - k, items + middle, end - middle, room + k);
    }
    int64_t *swap = items;
    items = room;
    room = swap;
  }
  return items;
}

/* group[item] = place of its value among the sorted ones; answers how many there are. */
static int64_t number_groups(const tn_tensor *in, const around *u, const int64_t *sorted,
                             int64_t *group) {
  int64_t n = 0;
  for (int64_t k = 0; k < u->size; k++) {
    if (k == 0 || unique_compare(in, u, sorted[k - 1], sorted[k])) n++;
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
  around u = unique_around(call);
  int64_t *items = call->scratch, *room = items + u.size, *group = room + u.size;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < u.size; k++) items[k] = k;
  const int64_t *sorted = sort_items(call->inputs[0], &u, items, room, u.size);
  int64_t n = number_groups(call->inputs[0], &u, sorted, group);
  if (!a->sorted) number_by_occurrence(group, u.size, n, items);
  tn_status s = unique_resize(call, n);
  return s ? s : write_outputs(call, &u, group, n);
}
