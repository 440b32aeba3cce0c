/* Lists of parts (base/part_list.h): which of them a model needs, and a runtime that has only
 * these. */
#ifndef TN_CLI_PARTS_H
#define TN_CLI_PARTS_H

#include "base/part_list.h"
#include "base/text.h"
#include "open.h"

/* Registers those of the parts that ship with Tenon that the list has. A line for which there is no
 * part is an error. One list a process. */
tn_status cli_parts_add(tn_runtime *runtime, tn_part_list *list, tn_diag *diag);

/* Adds the parts that ship with Tenon and that the runtime has used so far, and the format of the
 * model. */
tn_status cli_parts_used(const tn_runtime *runtime, const tn_model *model, tn_part_list *to);
/* Adds the kernels that were good for decisions alone (TN_USE_ASKED). */
tn_status cli_parts_asked(const tn_runtime *runtime, tn_part_list *to);
/* Plans what a run has not: the branches that it did not take. Adds a line to notes for each
 * subgraph for which there is no plan, and to steps the kernels of all plans. */
void cli_parts_plan_branches(cli_session *s, tn_text *notes, tn_text *steps);

/* A built-in kernel of tenon::Region or tenon::Reorder? */
bool cli_parts_moves_data(const char *kernel);

/* Adds "Conv=f32": an operator in all versions, with the kernels for these instruction sets of
 * which a row says one of the dtypes; "Conv": all dtypes. */
tn_status cli_parts_by_hand(const tn_runtime *runtime, const char *text, tn_part_list *to,
                            tn_diag *diag);

/* The line for people: with a comment what a kernel takes. */
void cli_parts_print(const tn_runtime *runtime, const char *line, tn_text *to);

#endif
