/* Running a plan file: a model that `tenon select --plan` has planned, with its constants and
 * packed weights, for the instruction sets that it was planned for. Nothing of Tenon is needed to
 * run one but this header's functions and the kernels it names: no reader, planner or operators.
 * For programs that link the static library (docs/small.md).
 *
 * A plan file is part of a program, not a model from anywhere: a file that is damaged, of another
 * version of Tenon or for another machine is refused, and nothing that it says of sizes and places
 * is believed unchecked; but what its kernels make of attributes and packed weights is up to who
 * has written it, as is the program's own code. Versions are told apart by release and by the YAML
 * of all families: who changes how a kernel packs its weights writes plan files anew. */
#ifndef TENON_EXPERIMENTAL_PLAN_FILE_H
#define TENON_EXPERIMENTAL_PLAN_FILE_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_plan_file tn_plan_file;

/* What is wrong, for people; "" if nothing is. */
typedef struct tn_plan_why {
  char text[160];
} tn_plan_why;

/* Takes a plan file that lies in memory, at a multiple of 64; it stays there, unchanged, until
 * close: constants are read where they are. query: the parts that there are, NULL: those linked in.
 * TN_ERR_INVALID: it is no plan file, or damaged. TN_ERR_VERSION: made by another version, or for
 * another kind of machine. TN_ERR_UNSUPPORTED: a kernel is not there, or the processor lacks an
 * instruction set. TN_ERR_MEMORY. why may be NULL. */
tn_status tn_plan_file_open(const void *data, uint64_t size,
                            const tn_plugin *(*query)(uint32_t, uint32_t), tn_plan_why *why,
                            tn_plan_file **out_plan);
/* The same of a file, which is mapped. Also TN_ERR_IO. */
tn_status tn_plan_file_map(const char *path, const tn_plugin *(*query)(uint32_t, uint32_t),
                           tn_plan_why *why, tn_plan_file **out_plan);
void tn_plan_file_close(tn_plan_file *p); /* NULL is legal */

int32_t tn_plan_file_n_inputs(const tn_plan_file *p);
int32_t tn_plan_file_n_outputs(const tn_plan_file *p);
/* NULL: there is no such index. */
const char *tn_plan_file_input_name(const tn_plan_file *p, int32_t index);
const char *tn_plan_file_output_name(const tn_plan_file *p, int32_t index);
/* Types, always known. data: of an input what was set last, of an output its elements after a run,
 * until the next run or close. */
const tn_tensor *tn_plan_file_input(const tn_plan_file *p, int32_t index);
const tn_tensor *tn_plan_file_output(const tn_plan_file *p, int32_t index);
/* Elements of an input, plain and dense, borrowed until another call of it or close. */
tn_status tn_plan_file_set_input(tn_plan_file *p, int32_t index, const void *elements);
/* Computes on this thread. Allocates nothing. TN_ERR_STATE: an input is not set. One thread at a
 * time; several plans of one file at once are fine. */
tn_status tn_plan_file_run(tn_plan_file *p);

#ifdef __cplusplus
}
#endif

#endif
