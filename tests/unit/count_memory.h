/* Counts what a test takes from an allocator, and from malloc, which the program that includes
 * this takes over (with glibc, and not under sanitizers, which need it themselves). */
#ifndef TENON_TESTS_COUNT_MEMORY_H
#define TENON_TESTS_COUNT_MEMORY_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/tenon.h"

static atomic_int n_mallocs;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 1
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  atomic_fetch_add(&n_mallocs, 1);
  return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
  atomic_fetch_add(&n_mallocs, 1);
  return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size) {
  atomic_fetch_add(&n_mallocs, 1);
  return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add(&n_mallocs, 1);
  return __libc_memalign(alignment, size);
}
#else
#define COUNTS_MALLOC 0
#endif

typedef struct counter {
  tn_allocator allocator;
  atomic_int n_allocs;
  atomic_llong bytes; /* given out and not given back */
} counter;

static void *count_alloc(void *self, uint64_t bytes) {
  counter *c = self;
  atomic_fetch_add(&c->n_allocs, 1);
  atomic_fetch_add(&c->bytes, (long long)bytes);
  return aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
}

static void count_free(void *self, void *memory, uint64_t bytes) {
  counter *c = self;
  atomic_fetch_sub(&c->bytes, (long long)bytes);
  free(memory);
}

static inline void counter_open(counter *c) {
  memset(c, 0, sizeof *c);
  c->allocator = (tn_allocator){TN_HEAD(tn_allocator), c, count_alloc, count_free};
}

#endif
