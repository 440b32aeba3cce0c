/* Regular expressions in the syntax of RE2, compiled to a program for a machine that follows all
 * ways at once (Thompson 1968), so that no pattern takes more than length of text times length of
 * program. */
#ifndef TN_OPS_STRINGS_REGEX_H
#define TN_OPS_STRINGS_REGEX_H

#include <stdbool.h>

#include "tenon/plugin.h"

typedef enum regex_op {
  REGEX_SET,   /* a code point in ranges first .. first+n */
  REGEX_SPLIT, /* goes on at both a and b, from here; a is tried first */
  REGEX_JUMP,  /* goes on at a, from here */
  REGEX_BEGIN,
  REGEX_END,
  REGEX_WORD_EDGE,
  REGEX_NO_WORD_EDGE,
  REGEX_MATCH
} regex_op;

typedef struct regex_step {
  int32_t op, a, b;
} regex_step;

typedef struct regex_range {
  uint32_t first, last;
} regex_range;

typedef struct regex {
  regex_step *steps; /* NULL: they are only counted */
  regex_range *ranges;
  int32_t n_steps, n_ranges;
  const char *problem; /* why the pattern is none, or not supported */
  int64_t where;       /* byte of the pattern */
  bool unsupported;
} regex;

/* Compiles: first with steps and ranges NULL, then again with room for as many as were counted.
 * False: see problem. */
bool regex_compile(tn_str pattern, regex *r);
/* Whether a step that reads nothing may be passed between two code points (REGEX_EDGE: there is
 * none). */
#define REGEX_EDGE UINT32_MAX
bool regex_passes(const regex_step *step, uint32_t before, uint32_t after);
bool regex_in_set(const regex *r, const regex_step *step, uint32_t c);
/* room: 4 * n_steps numbers. */
bool regex_match(const regex *r, tn_str text, int32_t *room);

/* For operators: compiles, or says why not. Then with the steps behind it, into memory of as many
 * bytes as it needs, which the first of both has counted. */
tn_status strings_compile(const tn_call *call, tn_str pattern, regex *r);
uint64_t strings_regex_bytes(const regex *r);
tn_status strings_compile_into(const tn_call *call, tn_str pattern, void *memory);

#endif
