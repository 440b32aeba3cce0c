/* The loops that a Region kernel runs: built twice by the same function, in plan() to count them,
 * and before each run into the scratch. Stage 0 builds, stage 1 fills the whole output where the
 * uncovered part is no small number of boxes, stage 2 copies: threads take pieces of all loops,
 * counted through, or steps of the slowest dim that all share. */
#ifndef TN_REGION_TABLE_H
#define TN_REGION_TABLE_H

#include "loop.h"

enum { FROM_FILL = -1, FROM_ZERO = -2 }; /* tn_loop.input: the node's fill, or zero */

/* Where there is a loop for stage 1, it is the first. */
typedef struct loop_count {
  int64_t n;             /* loops */
  int64_t n_fill;        /* of these, for stage 1: 0 or 1 */
  int64_t pieces, bytes; /* of stage 2 */
  /* Stage 2 may go by steps of the slowest dim, in which all loops write near each other: how many,
   * and how far apart; 0: the loops differ there. */
  int64_t rounds, round_dst;
  bool transposes;      /* some loop transposes */
  bool transposes_fast; /* some loop is one for a tn_transpose_fn */
} loop_count;

typedef struct loop_builder {
  loop_count count;
  tn_loop *loops; /* NULL: only count */
} loop_builder;

typedef void (*loop_build_fn)(const tn_call *call, loop_builder *b);

void loop_add(loop_builder *b, tn_loop *loop, int32_t input);
/* The loops so far are for stage 1. */
void loop_end_fill(loop_builder *b);

tn_status loop_table_plan(const tn_call *call, loop_build_fn build, tn_kernel_plan *out);
tn_status loop_table_run(const tn_call *call, loop_build_fn build, tn_transpose_fn transpose,
                         uint32_t stage, int64_t begin, int64_t end);

#endif
