/* Schemas of a selected build's own table: the generator wrote their texts by
 * tn_schema_print_numbers, and they are read without asking whether they are right. */
#ifndef TN_WITHOUT_SCHEMA_H
#define TN_WITHOUT_SCHEMA_H

#include "graph/schema.h"

/* As tn_schema_parse. TN_ERR_UNSUPPORTED: a default is a name. */
tn_status tn_schema_trust(const char *text, tn_arena *arena, tn_schema *out_schema);

#endif
