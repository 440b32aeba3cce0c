/* One harness for every kernel, operator and plug-in: what its files share.
 *
 *   case.c      a case line -> tn_case            drive.c     a run, and what it broke
 *   fill.c      elements of inputs                run_variants.c     all runs of one kernel
 *   problem.c   case x dtypes, its reference      epilogue.c  fused steps
 *   host.c      services of a call                claims.c    accept rows, coverage
 *   memory.c    buffers at unreadable pages       session.c   through tenon.h
 *   layout.c    to and from other layouts         sweep.c     failing allocation
 *   compare.c   result against reference          regions.c   what no case can express
 *   run.c       a call of a kernel, in ranges     bench.c     timing
 *   suite.c     the loop over it all              isa_levels.c    runtime and ISA levels
 *   units.c     naming and counting               family_file.c    operators of a family file
 *   child_process.c   child processes, limits           records.c      from child to parent
 *   orphan_processes.c   what children leave behind
 * and for plug-ins that somebody else wrote:
 *   vet.c       the loop over a plug-in           inspect.c   what it says of itself
 *   init_shutdown.c      loading, init, shutdown           process_state.c    what is the process's own
 *   infer.c     inference, types                  generated_cases.c   cases for operators without
 *   repeat.c    many calls, two at once           format.c    readers on broken files
 *   format_sample.c    files to be broken
 *   unload.c    unloading while in use            expired_pointers.c     what callbacks may not keep
 *   rewrites.c  what rewrites make of graphs  rewrite_graphs.c    graphs for them
 *   untouched_inputs.c what callbacks may not change     op_claims.c   what an operator says of itself
 *
 * The harness ends the process when it runs out of memory itself. */
#ifndef TN_HARNESS_HARNESS_H
#define TN_HARNESS_HARNESS_H

#include "harness/run.h"

/* One operator with the kernels of the plug-in: suite.c. */
void check_op(check_env *env, const tn_opdef *op);

/* suite.c. plugin: parts to be tested besides those that ship; NULL: none. */
void check_open(check_env *env, tn_plugin_query_fn plugin);
void check_suite(check_env *env);
void check_level_close(check_level *level); /* its runtime and device */
void check_close(check_env *env);
bool check_op_wanted(const check_env *env, const tn_opdef *op);
/* family_file.c: the text of a family file, in memory of the default allocator; *out_bytes is its
 * size. */
char *check_family_read(const char *path, uint64_t *out_bytes);
bool check_family_has(const char *text, const char *op);
const char *check_op_name(const tn_opdef *op, char *buf,
                          size_t size); /* "Softmax", "tenon::Cast" */

#endif
