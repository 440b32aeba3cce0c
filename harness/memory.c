/* Buffers between unreadable pages: one byte too far is a fault, and what lies between buffer
 * and page is watched.
 *
 * Mappings are kept and used again, since mapping takes longer than most kernels. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/harness.h"

enum { AROUND = 0xC7 }; /* what the bytes around a buffer hold */

typedef struct entry {
  check_buffer buffer; /* first: entries are found from their buffers */
  struct entry *next;
  bool live, read_only, taken;
} entry;

struct check_pool {
  entry *all;
  uint64_t page;
};

/* 0 where the C library does not tell. */
uint64_t check_malloc_bytes(void) {
#if defined(__GLIBC__)
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd; /* large blocks are mapped on their own */
#else
  return 0;
#endif
}

/* The C library counts blocks that it keeps for the next call as handed out: now and then a round
 * grows though nothing is lost. */
uint64_t check_growth(const uint64_t *used, int32_t n) {
  int32_t n_grown = 0;
  for (int32_t k = 1; k < n; k++) n_grown += used[k] > used[k - 1];
  return 2 * n_grown > n && used[n - 1] > used[0] ? (used[n - 1] - used[0]) / (uint64_t)(n - 1) : 0;
}

struct check_pool *check_pool_new(void) {
  struct check_pool *pool = check_need(tn_alloc(tn_default_allocator(), sizeof *pool));
  pool->page = (uint64_t)sysconf(_SC_PAGESIZE);
  return pool;
}

static entry *find_spare(struct check_pool *pool, uint64_t map_bytes) {
  for (entry *e = pool->all; e; e = e->next)
    if (!e->live && e->buffer.map_bytes == map_bytes) return e;
  return NULL;
}

static entry *map(struct check_pool *pool, uint64_t map_bytes) {
  entry *e = check_need(tn_alloc(tn_default_allocator(), sizeof *e));
  uint8_t *whole =
      mmap(NULL, map_bytes + 2 * pool->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED || mprotect(whole + pool->page, map_bytes, PROT_READ | PROT_WRITE))
    check_die("mmap fails");
  e->buffer.map = whole + pool->page;
  e->buffer.map_bytes = map_bytes;
  e->next = pool->all;
  pool->all = e;
  return e;
}

/* Spares of more than so many bytes go back. */
static void drop_spares(struct check_pool *pool, uint64_t kept_bytes) {
  for (entry **at = &pool->all; *at;) {
    entry *e = *at;
    if (e->live || e->buffer.map_bytes <= kept_bytes) {
      at = &e->next;
      continue;
    }
    *at = e->next;
    munmap(e->buffer.map - pool->page, e->buffer.map_bytes + 2 * pool->page);
    tn_free(tn_default_allocator(), e, sizeof *e);
  }
}

void check_pool_free(struct check_pool *pool) {
  drop_spares(pool, 0);
  tn_free(tn_default_allocator(), pool, sizeof *pool);
}

check_buffer *check_buffer_new(check_env *env, uint64_t bytes, uint64_t align, bool at_end,
                               const char *name) {
  struct check_pool *pool = env->pool;
  const uint64_t map_bytes = tn_round_up(bytes + !bytes, pool->page);
  entry *e = find_spare(pool, map_bytes);
  if (!e) {
    drop_spares(pool, 64 * pool->page);
    e = map(pool, map_bytes);
  }
  if (e->read_only || e->taken) check_buffer_protect(&e->buffer, false);
  e->live = true;
  check_buffer *b = &e->buffer;
  b->bytes = bytes;
  b->name = name;
  b->at_end = at_end;
  b->data = at_end ? b->map + (map_bytes - bytes) / align * align : b->map;
  memset(b->map, AROUND, (size_t)(b->data - b->map));
  memset(b->data + bytes, AROUND, (size_t)(b->map + map_bytes - (b->data + bytes)));
  return b;
}

void check_buffer_free(check_env *env, check_buffer *b) {
  (void)env;
  if (b) ((entry *)b)->live = false;
}

void check_buffer_protect(check_buffer *b, bool read_only) {
  ((entry *)b)->read_only = read_only;
  ((entry *)b)->taken = false;
  if (mprotect(b->map, b->map_bytes, PROT_READ | (read_only ? 0 : PROT_WRITE)))
    check_die("mprotect fails");
}

void check_buffer_take(check_buffer *b) {
  ((entry *)b)->taken = true;
  if (mprotect(b->map, b->map_bytes, PROT_NONE)) check_die("mprotect fails");
}

static bool holds(const uint8_t *begin, const uint8_t *end) {
  for (; begin < end; begin++)
    if (*begin != AROUND) return false;
  return true;
}

bool check_buffer_intact(const check_buffer *b) {
  return holds(b->map, b->data) && holds(b->data + b->bytes, b->map + b->map_bytes);
}

const char *check_buffer_describe(const check_env *env, const void *address, char *buf,
                                  size_t size) {
  const uint8_t *at = address;
  for (const entry *e = env->pool ? env->pool->all : NULL; e; e = e->next) {
    const check_buffer *b = &e->buffer;
    if (!e->live || at < b->map - env->pool->page || at >= b->map + b->map_bytes + env->pool->page)
      continue;
    if (at >= b->data + b->bytes)
      snprintf(buf, size, "%lld bytes behind the end of %s",
               (long long)(at - b->data - (int64_t)b->bytes), b->name);
    else if (at < b->data)
      snprintf(buf, size, "%lld bytes before %s", (long long)(b->data - at), b->name);
    else
      snprintf(buf, size, "byte %lld of %s, which %s", (long long)(at - b->data), b->name,
               e->taken ? "is not there any more" : "is read-only");
    return buf;
  }
  snprintf(buf, size, "address %p, in no buffer of the call", address);
  return buf;
}
