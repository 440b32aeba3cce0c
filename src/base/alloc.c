/* The default allocator, arenas and growable arrays.
 *
 * The only file that calls malloc's family. Large blocks are mappings of their own: the system
 * gives them zeroed, in huge pages where it has them, and gets them back at once. An arena is a
 * list of blocks; the head block serves small requests, large ones get a block of their own behind
 * it, so that the room left in the head is not lost. */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "tenon/kit/checked.h"

enum { ALIGNMENT = 64, BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20, LARGE = 4096 };

struct tn_arena_block {
  struct tn_arena_block *next;
  uint64_t size, used; /* bytes from the start of this header, which counts as used */
  bool borrowed;       /* the caller's: not freed */
  bool is_zero;        /* behind what is used */
};

/* A sanitizer watches what malloc gives, from its first byte on, and not what mmap does. */
#if defined(__SANITIZE_ADDRESS__)
#define TN_IS_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define TN_IS_WATCHED 1
#endif
#endif
#ifndef TN_IS_WATCHED
#define TN_IS_WATCHED 0
#endif

enum { MAPPED = 1 << 20 };

/* Whether the default allocator maps a block of this size: then it is zero. */
static bool is_mapped(uint64_t bytes) { return !TN_IS_WATCHED && bytes >= MAPPED; }

static void *map_block(uint64_t bytes) {
  void *memory =
      mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
  if (bytes >= TN_HUGE_PAGE) (void)madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

/* Makes a mapping longer, somewhere else if need be: nothing is copied, and what is new is zero.
 * NULL if that cannot be done; the old one is unchanged then. */
static void *remap_block(void *memory, uint64_t bytes, uint64_t fresh_bytes) {
#ifdef MREMAP_MAYMOVE
  void *fresh = mremap(memory, (size_t)bytes, (size_t)fresh_bytes, MREMAP_MAYMOVE);
  if (fresh == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
  if (fresh_bytes >= TN_HUGE_PAGE) (void)madvise(fresh, (size_t)fresh_bytes, MADV_HUGEPAGE);
#endif
  return fresh;
#else
  (void)memory, (void)bytes, (void)fresh_bytes;
  return NULL;
#endif
}

static void *default_alloc(void *self, uint64_t bytes) {
  (void)self;
  if (bytes > (uint64_t)INT64_MAX - ALIGNMENT || bytes > SIZE_MAX - ALIGNMENT) return NULL;
  if (is_mapped(bytes)) return map_block(bytes);
  bytes = tn_round_up(bytes, ALIGNMENT);
  if (TN_IS_WATCHED) return aligned_alloc(ALIGNMENT, (size_t)bytes);
  /* Planning makes many small blocks, for which aligned_alloc is several times as slow as malloc:
   * what malloc answered stands before the block. */
  char *memory = malloc((size_t)bytes + ALIGNMENT);
  if (!memory) return NULL;
  char *block = memory + ALIGNMENT - (uintptr_t)memory % ALIGNMENT;
  memcpy(block - sizeof memory, &memory, sizeof memory);
  return block;
}

static void default_free(void *self, void *memory, uint64_t bytes) {
  (void)self;
  if (is_mapped(bytes)) {
    (void)munmap(memory, (size_t)bytes);
    return;
  }
  void *whole = memory;
  if (!TN_IS_WATCHED) memcpy(&whole, (char *)memory - sizeof whole, sizeof whole);
  free(whole);
}

const tn_allocator *tn_default_allocator(void) {
  static const tn_allocator allocator = {TN_HEAD(tn_allocator), NULL, default_alloc, default_free};
  return &allocator;
}

/* Memory as the allocator answers it; a request for nothing becomes one byte, to have a pointer. */
void *tn_alloc_raw(const tn_allocator *a, uint64_t bytes) {
  if (bytes > (uint64_t)INT64_MAX || bytes > SIZE_MAX) return NULL;
  return a->alloc(a->self, bytes ? bytes : 1);
}

static bool is_zeroed(const tn_allocator *a, uint64_t bytes) {
  return a->alloc == default_alloc && is_mapped(bytes);
}

void *tn_alloc(const tn_allocator *a, uint64_t bytes) {
  void *memory = tn_alloc_raw(a, bytes);
  if (memory && bytes && !is_zeroed(a, bytes)) memset(memory, 0, (size_t)bytes);
  return memory;
}

void tn_free(const tn_allocator *a, void *memory, uint64_t bytes) {
  if (memory) a->free(a->self, memory, bytes ? bytes : 1);
}

/* ---- Arenas ---- */

enum { SIZE_ROOM = 64 }; /* keeps the alignment */

void *tn_alloc_sized(const tn_allocator *a, uint64_t bytes) {
  if (bytes > INT64_MAX - SIZE_ROOM) return NULL;
  char *block = tn_alloc(a, bytes + SIZE_ROOM);
  if (!block) return NULL;
  memcpy(block, &bytes, sizeof bytes);
  return block + SIZE_ROOM;
}

uint64_t tn_sized_bytes(const void *memory) {
  uint64_t bytes;
  memcpy(&bytes, (const char *)memory - SIZE_ROOM, sizeof bytes);
  return bytes;
}

void tn_free_sized(const tn_allocator *a, void *memory) {
  if (memory) tn_free(a, (char *)memory - SIZE_ROOM, tn_sized_bytes(memory) + SIZE_ROOM);
}

void tn_arena_init(tn_arena *arena, const tn_allocator *a) {
  arena->a = a;
  arena->head = NULL;
}

static struct tn_arena_block *block_new(const tn_allocator *a, uint64_t size) {
  struct tn_arena_block *block = tn_alloc_raw(a, size);
  if (block)
    *block =
        (struct tn_arena_block){.size = size, .used = sizeof *block, .is_zero = is_zeroed(a, size)};
  return block;
}

void tn_arena_init_in(tn_arena *arena, const tn_allocator *a, void *room, uint64_t bytes) {
  struct tn_arena_block *block = room;
  *block = (struct tn_arena_block){.size = bytes, .used = sizeof *block, .borrowed = true};
  arena->a = a;
  arena->head = block;
}

/* Room for `bytes` in the block, zeroed, or NULL. alignment is a power of two: no division. */
static void *block_take(struct tn_arena_block *block, uint64_t bytes, uint64_t alignment) {
  uint64_t begin = (block->used + alignment - 1) & ~(alignment - 1);
  if (begin > block->size || block->size - begin < bytes) return NULL;
  block->used = begin + bytes;
  void *memory = (uint8_t *)block + begin;
  return block->is_zero ? memory : memset(memory, 0, (size_t)bytes);
}

/* A block that holds this one request, put behind the head. */
static void *arena_alloc_large(tn_arena *arena, uint64_t bytes) {
  if (bytes > (uint64_t)INT64_MAX - ALIGNMENT) return NULL;
  struct tn_arena_block *block = block_new(arena->a, ALIGNMENT + bytes);
  if (!block) return NULL;
  struct tn_arena_block **link = arena->head ? &arena->head->next : &arena->head;
  block->next = *link;
  *link = block;
  return block_take(block, bytes, ALIGNMENT);
}

void *tn_arena_alloc(tn_arena *arena, uint64_t bytes) {
  if (bytes >= LARGE) return arena_alloc_large(arena, bytes);
  if (!bytes) bytes = 1; /* so that every request has an address of its own */
  const uint64_t alignment = bytes < 16 ? 8 : 16; /* lists of a few ids and short texts are many */
  struct tn_arena_block *head = arena->head;
  void *memory = head ? block_take(head, bytes, alignment) : NULL;
  if (memory) return memory;

  uint64_t size = 2 * BLOCK_MIN;
  if (head) size = head->size >= BLOCK_MAX / 2 ? BLOCK_MAX : tn_round_up(2 * head->size, BLOCK_MIN);
  const uint64_t least = tn_round_up(sizeof *head, ALIGNMENT) + bytes; /* the first may be small */
  struct tn_arena_block *block = block_new(arena->a, size < least ? least : size);
  if (!block) return NULL;
  block->next = head;
  arena->head = block;
  return block_take(block, bytes, alignment);
}

void *tn_arena_copy(tn_arena *arena, const void *data, uint64_t bytes) {
  void *copy = tn_arena_alloc(arena, bytes);
  if (copy && bytes) memcpy(copy, data, (size_t)bytes);
  return copy;
}

char *tn_arena_str(tn_arena *arena, const char *text) {
  return tn_arena_strn(arena, text, text ? (int64_t)strlen(text) : 0);
}

char *tn_arena_strn(tn_arena *arena, const char *text, int64_t n) {
  if (!arena || n < 0 || n == INT64_MAX) return NULL;
  char *copy = tn_arena_alloc(arena, (uint64_t)n + 1);
  if (copy && n) memcpy(copy, text, (size_t)n);
  return copy;
}

char *tn_arena_format(tn_arena *arena, const char *format, ...) {
  char most[256];
  if (!arena) return NULL;
  va_list args;
  va_start(args, format);
  int n = vsnprintf(most, sizeof most, format, args);
  va_end(args);
  if (n < 0) return NULL;
  if (n < (int)sizeof most) return tn_arena_strn(arena, most, n);
  char *text = tn_arena_alloc(arena, (uint64_t)n + 1);
  if (!text) return NULL;
  va_start(args, format);
  vsnprintf(text, (size_t)n + 1, format, args);
  va_end(args);
  return text;
}

void tn_arena_clear(tn_arena *arena) {
  struct tn_arena_block *block = arena->head;
  arena->head = NULL;
  while (block) {
    struct tn_arena_block *next = block->next;
    if (!block->borrowed) tn_free(arena->a, block, block->size);
    block = next;
  }
}

/* ---- Growable arrays ---- */

/* `fresh_bytes` that begin with the `used` bytes of the old ones, which are given back. */
static void *vec_grow(const tn_allocator *a, void *old, uint64_t bytes, uint64_t used,
                      uint64_t fresh_bytes) {
  void *fresh = is_zeroed(a, bytes) ? remap_block(old, bytes, fresh_bytes) : NULL;
  if (fresh) return fresh;
  fresh = tn_alloc(a, fresh_bytes);
  if (!fresh) return NULL;
  if (used) memcpy(fresh, old, (size_t)used);
  tn_free(a, old, bytes);
  return fresh;
}

tn_status tn_vec_reserve(const tn_allocator *a, void **data, int64_t *cap, int64_t n, int64_t more,
                         size_t element) {
  int64_t need, bytes;
  if (tn_add_i64(n, more, &need)) return TN_ERR_MEMORY;
  if (need <= *cap) return TN_OK;
  int64_t fresh_cap = *cap > INT64_MAX / 2 ? need : tn_max_i64(need, tn_max_i64(8, 2 * *cap));
  if (tn_mul_i64(fresh_cap, (int64_t)element, &bytes)) return TN_ERR_MEMORY;
  /* The caller's pointer has another type than void *: it is read and written as bytes. */
  void *old;
  memcpy(&old, (const void *)data, sizeof old);
  void *fresh = vec_grow(a, old, (uint64_t)*cap * element, (uint64_t)n * element, (uint64_t)bytes);
  if (!fresh) return TN_ERR_MEMORY;
  memcpy((void *)data, &fresh, sizeof fresh);
  *cap = fresh_cap;
  return TN_OK;
}
