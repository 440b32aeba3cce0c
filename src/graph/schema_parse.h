/* Inside of the schema parser: reading tokens off a text, and the steps that have a file of their
 * own. */
#ifndef TN_GRAPH_SCHEMA_PARSE_H
#define TN_GRAPH_SCHEMA_PARSE_H

#include "graph/schema.h"

typedef struct tn_scan {
  const char *text, *at; /* the whole schema, and the place that is read next */
  const char *what;      /* whose schema it is, for messages */
  tn_arena *arena;
  tn_diag *diag;
} tn_scan;

/* Reports a problem at the place `at` of the text; answers TN_ERR_INVALID. */
tn_status(tn_scan_fail)(const tn_scan *s, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
tn_status tn_scan_no_memory(const tn_scan *s);
/* "expected X, found 'word'" at the current place. */
tn_status(tn_scan_expected)(tn_scan *s, const char *expected) __attribute__((format(printf, 2, 0)));
void tn_scan_space(tn_scan *s);
/* Takes the token if the text goes on with it (spaces before it are skipped). */
bool tn_scan_take(tn_scan *s, const char *token);
bool tn_scan_peek(tn_scan *s, const char *token);
/* Takes an identifier; false if there is none. */
bool tn_scan_word(tn_scan *s, tn_str *out_word);
tn_status tn_scan_int(tn_scan *s, int64_t *out_value);

/* Reads the value after "=" into arg's default. */
tn_status tn_schema_parse_default(tn_scan *s, tn_arg *arg);
/* Sets roles, counts and the layout of the attribute struct. */
void tn_schema_lay_out(tn_schema *schema);
/* The same, and refuses what no operator can be called with. `at`: the place to blame. */
tn_status tn_schema_settle(const tn_scan *s, tn_schema *schema);

/* Values of enumerations by name. */
typedef struct tn_enum_name {
  const char *name;
  int64_t value;
} tn_enum_name;
/* The names of an enumeration, ending with a NULL name; NULL: base is none. The first name of a
 * value is printed. */
const tn_enum_name *tn_schema_enum(tn_base_type base);

/* The name of a base type as it is printed. */
const char *tn_base_type_name(tn_base_type base);

#endif
