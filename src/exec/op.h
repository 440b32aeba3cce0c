/* One operator as a model: what its two files share. */
#ifndef TN_EXEC_OP_H
#define TN_EXEC_OP_H

#include "exec/model.h"

/* The attribute that `text` says, by the type of the schema's argument. Its memory is the arena's.
 * *out_given: false if the text is None. TN_ERR_INVALID: the text is no value of this type; nothing
 * is reported. */
tn_status tn_op_attr_parse(const tn_opdef *def, const tn_arg *arg, const char *text,
                           tn_arena *arena, tn_attr *out_attr, bool *out_given);

#endif
