/* The pool of a frame's results of subgraphs.
 *
 * The free cell with the lowest number comes first, whatever its size: a run that asks in the order
 * of the one before finds every cell as large as it was then, and allocates nothing. So does a loop
 * that takes more rounds, as long as the kernel releases what it is done with. */
#include "exec/frame.h"

/* ---- the heap of free cells: no entry is below its parent, entry (k - 1) / 2 ---- */

static void heap_push(tn_frame *f, int32_t cell) {
  int32_t *heap = f->pool_free.data;
  int64_t k = f->pool_free.n++;
  for (; k > 0 && heap[(k - 1) / 2] > cell; k = (k - 1) / 2) heap[k] = heap[(k - 1) / 2];
  heap[k] = cell;
}

static int32_t heap_pop(tn_frame *f) {
  int32_t *heap = f->pool_free.data, lowest = heap[0];
  int64_t n = --f->pool_free.n, k = 0;
  for (int64_t next = 1; next < n; next = 2 * k + 1) {
    if (next + 1 < n && heap[next + 1] < heap[next]) next++;
    if (heap[next] >= heap[n]) break;
    heap[k] = heap[next];
    k = next;
  }
  heap[k] = heap[n];
  return lowest;
}

/* ---- cells ---- */

tn_cell *tn_value_pool_take(tn_frame *f) {
  tn_cell *cell = NULL;
  if (f->pool_free.n) {
    cell = f->value_pool.data[heap_pop(f)];
  } else {
    /* room in the heap for all cells, so that releasing never fails */
    if (tn_vec_room(f->a, &f->pool_free, f->value_pool.n + 1) ||
        tn_vec_room(f->a, &f->value_pool, 1))
      return NULL;
    if (!(cell = tn_cell_new(f->a))) return NULL;
    f->value_pool.data[f->value_pool.n++] = cell;
    cell->number = (uint64_t)f->value_pool.n;
  }
  cell->taken = true;
  return cell;
}

static void release_at(tn_frame *f, int64_t k) {
  tn_cell *cell = f->value_pool.data[k];
  if (!cell->taken) return;
  cell->taken = false;
  heap_push(f, (int32_t)k);
}

/* Tensors carry their number, for kernels that hold thousands of results; lists need their
 * object for themselves. Values that are not of the pool are left alone. */
void tn_value_pool_release(tn_frame *f, const tn_tensor *value) {
  if (!value) return;
  uint64_t number = value->kind == TN_KIND_TENSOR ? value->object : 0;
  int64_t end = number && number <= (uint64_t)f->value_pool.n ? (int64_t)number : f->value_pool.n;
  for (int64_t k = end; k-- > 0;)
    if (&f->value_pool.data[k]->value == value) {
      release_at(f, k);
      return;
    }
}

void tn_value_pool_release_all(tn_frame *f) {
  if (f->pool_free.n == f->value_pool.n) return;
  for (int64_t k = 0; k < f->value_pool.n; k++) release_at(f, k);
}
