/* tenon-abi: locks the ABI of a plug-in header. See docs/abi.md.
 *
 *   read.c      header text -> declarations
 *   probe.c     declarations -> a C program that prints the lock
 *   lock.c      lock text -> records, and what is wrong with them alone
 *   compare.c   two locks -> what broke, in words */
#ifndef TN_GEN_ABI_H
#define TN_GEN_ABI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/base.h"

enum { ABI_TOKENS = 4096 }; /* of one declaration */

typedef enum abi_kind {
  ABI_STRUCT,   /* name */
  ABI_MEMBER,   /* name "tn_op.infer", type: its type, or its signature */
  ABI_CONST,    /* an enumerator */
  ABI_VALUE,    /* a macro with a value, or such a macro at an argument: "TN_MASK(8)" */
  ABI_TEXT,     /* a macro that is a text, type: without its quotes */
  ABI_MACRO,    /* any other macro; type: its parameters */
  ABI_TYPE,     /* a typedef */
  ABI_FUNCTION, /* a declared function */
  ABI_KINDS
} abi_kind;

extern const char *const abi_kind_words[ABI_KINDS];

typedef struct abi_decl {
  abi_kind kind;
  const char *name, *type;
} abi_decl;

typedef struct abi_header {
  const char *path;
  tn_arena arena;
  TN_VEC(abi_decl) decls; /* in the order of the file */
  int line;               /* being read */
  bool failed;            /* said why on stderr */
} abi_header;

/* One line of a lock. */
typedef struct abi_record {
  abi_kind kind;
  const char *name, *type;
  int64_t offset, size; /* of members; structs: offset 0; values: the value in size */
  int64_t order;
} abi_record;

typedef struct abi_lock {
  const char *path;
  tn_arena arena;
  TN_VEC(abi_record) records;
  tn_map index; /* "kind name" -> record */
  long major, minor;
} abi_lock;

/* False: the reason is on stderr. */
bool abi_read(abi_header *h, const char *path);
void abi_emit_probe(const abi_header *h, FILE *out);
bool abi_lock_read(abi_lock *l, const char *path);
void abi_lock_free(abi_lock *l);
const abi_record *abi_find(const abi_lock *l, abi_kind kind, const char *name); /* NULL: none */
/* What is wrong with a lock by itself: hidden padding, odd sizes. Prints; answers how many. */
int abi_lint(const abi_lock *l);
/* What of `now` is no append to `old`. Prints a sentence each; answers how many. */
int abi_compare(const abi_lock *old, const abi_lock *now);

#endif
