/* Memory: the allocator of a runtime, arenas that free everything at once, and growable arrays.
 * malloc and free stand in alloc.c and nowhere else. */
#ifndef TN_BASE_ALLOC_H
#define TN_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "tenon/tenon.h"

/* The allocator used when the user names none: aligned_alloc, and mmap from 1 MB on. Never NULL. */
const tn_allocator *tn_default_allocator(void);

/* Zeroed, 64-byte aligned. NULL if there is none or bytes > INT64_MAX. bytes 0 answers a valid
 * pointer. */
void *tn_alloc(const tn_allocator *a, uint64_t bytes);
/* The same, not zeroed, for who writes all of it. */
void *tn_alloc_raw(const tn_allocator *a, uint64_t bytes);
/* bytes as given to tn_alloc; memory may be NULL. */
void tn_free(const tn_allocator *a, void *memory, uint64_t bytes);

/* The same, for callers who do not keep the size: it stands before the memory. For services of the
 * host. */
void *tn_alloc_sized(const tn_allocator *a, uint64_t bytes);
void tn_free_sized(const tn_allocator *a, void *memory);
uint64_t tn_sized_bytes(const void *memory); /* as given to tn_alloc_sized */

/* Bump allocator: blocks from `a`, freed together. Not thread-safe. Zeroed structs are empty arenas
 * once `a` is set. */
typedef struct tn_arena {
  const tn_allocator *a;
  struct tn_arena_block *head;
} tn_arena;
void tn_arena_init(tn_arena *arena, const tn_allocator *a);
/* The same, with a first block in memory of the caller's: 16-byte aligned, 64 bytes or more, and
 * there until the arena is cleared. For arenas that seldom need more. */
void tn_arena_init_in(tn_arena *arena, const tn_allocator *a, void *room, uint64_t bytes);
/* Zeroed, 16-byte aligned (8 if bytes < 16, 64 if bytes >= 4096). Like all below: NULL if there is
 * no memory. Texts are NULL for no arena, too. */
void *tn_arena_alloc(tn_arena *arena, uint64_t bytes);
void *tn_arena_copy(tn_arena *arena, const void *data, uint64_t bytes);
char *tn_arena_str(tn_arena *arena, const char *text); /* copy; text NULL reads as "" */
char *tn_arena_strn(tn_arena *arena, const char *text, int64_t n);
char *tn_arena_format(tn_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tn_arena_clear(tn_arena *arena); /* keeps nothing; the arena may be used again */

/* Growable array of any element type: { T *data; int64_t n, cap; } managed by tn_vec_grow. */
#define TN_VEC(T)   \
  struct {          \
    T *data;        \
    int64_t n, cap; \
  }
/* Makes room for `more` elements. Answers 0 or TN_ERR_MEMORY; the array is then unchanged. */
tn_status tn_vec_reserve(const tn_allocator *a, void **data, int64_t *cap, int64_t n, int64_t more,
                         size_t element);
#define tn_vec_room(a, v, more) \
  tn_vec_reserve((a), (void **)(void *)&(v)->data, &(v)->cap, (v)->n, (more), sizeof *(v)->data)
/* Appends; an expression of type tn_status. */
#define tn_vec_push(a, v, x) \
  (tn_vec_room((a), (v), 1) ? TN_ERR_MEMORY : ((v)->data[(v)->n++] = (x), TN_OK))
#define tn_vec_free(a, v)                                                             \
  (tn_free((a), (v)->data, (uint64_t)(v)->cap * sizeof *(v)->data), (v)->data = NULL, \
   (v)->n = (v)->cap = 0)

#endif
