/* A cell: memory that grows to fit one value of any kind and is used over and over.
 *
 * Everything that is sized at run time lives in cells: outputs whose shapes depend on data,
 * strings, lists and their items, results of subgraphs. A cell that has once held a value holds
 * others of that size without allocating. */
#ifndef TN_EXEC_CELL_H
#define TN_EXEC_CELL_H

#include "exec/exec.h"

/* The bytes of string elements: they never move while the value lives. */
typedef struct tn_strings {
  struct tn_string_chunk *first, *now; /* now: the one being filled, behind full ones */
  uint64_t total;                      /* bytes that all chunks can hold */
} tn_strings;

typedef struct tn_cell {
  tn_tensor value; /* first member: the cell of a value is found from the value's address */
  const tn_allocator *a;
  void *data;
  uint64_t cap; /* bytes */
  tn_strings strings;
  tn_list list;    /* what value.object points to, if the value is no tensor */
  bool taken;      /* in use; these two are for pools of cells */
  uint64_t number; /* place in the pool, from 1 */
} tn_cell;

void tn_cell_init(tn_cell *c, const tn_allocator *a);
tn_cell *tn_cell_new(const tn_allocator *a); /* NULL: no memory */
void tn_cell_clear(tn_cell *c);              /* gives all memory back */
void tn_cell_free(tn_cell *c);               /* of tn_cell_new; NULL is legal */

/* Becomes a tensor of this type, strings empty, other elements undefined. TN_ERR_OVERFLOW,
 * TN_ERR_SHAPE: a type that no tensor can have. The cell keeps its old value on failure. */
tn_status tn_cell_shape(tn_cell *c, const tn_tensor *type);
/* Becomes equal to a value of any kind: a deep copy. TN_ERR_INVALID: that is no value. */
tn_status tn_cell_set(tn_cell *c, const tn_tensor *value);

/* ---- cell_parts.c ---- */

/* Becomes an empty sequence, optional or map of this type; one with copies of a list's items. */
tn_status tn_cell_list(tn_cell *c, const tn_tensor *type);
tn_status tn_cell_set_list(tn_cell *c, const tn_tensor *value);
/* String element `index` becomes a copy of the bytes. */
tn_status tn_cell_string(tn_cell *c, int64_t index, const char *data, int64_t size);
void tn_cell_reset_strings(tn_cell *c); /* forgets all, and keeps their memory */
void tn_cell_clear_parts(tn_cell *c);   /* gives back the memory of strings and items */

tn_status tn_list_add(tn_list *list, const tn_tensor *item);
/* Why the list does not take the item; NULL: it does, as far as there is memory. */
const char *tn_list_refuses(const tn_list *list, const tn_tensor *item);
/* Adds a map of keys to values, each a tensor of rank 1. */
tn_status tn_list_add_map(tn_list *list, const tn_tensor *keys, const tn_tensor *values);

/* ---- list.c ---- */

/* The list behind a value of a kind that is no tensor; NULL: there is none. */
tn_list *tn_list_of(const tn_tensor *value);

#endif
