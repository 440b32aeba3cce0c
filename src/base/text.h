/* Strings: a growable text buffer and small checks. */
#ifndef TN_BASE_TEXT_H
#define TN_BASE_TEXT_H

#include <stdbool.h>

#include "base/alloc.h"
#include "tenon/kit/text.h"

typedef struct tn_text {
  const tn_allocator *a;
  char *data; /* always zero-terminated once something was added; NULL before */
  int64_t n, cap;
  tn_status status; /* TN_ERR_MEMORY once an addition failed; later additions do nothing */
} tn_text;

void tn_text_init(tn_text *text, const tn_allocator *a);
void tn_text_free(tn_text *text);
void tn_text_add(tn_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tn_text_add_bytes(tn_text *text, const char *data, int64_t n);
const char *tn_text_get(const tn_text *text); /* "" if empty */

/* What plug-ins and files say goes to terminals and into documents: bytes that are no text, or
 * would move a terminal's cursor or turn its text, become '?'. Blanks, tabs and newlines stay. */
void tn_text_tame(char *text, int64_t n);
/* The same of what stands on one line: newlines and tabs become blanks. */
void tn_text_tame_line(char *text, int64_t n);

bool tn_utf8_valid(const char *data, int64_t n);
bool tn_has_suffix(const char *text, const char *suffix);
/* strtod in the "C" locale, whatever the program's is: files and schemas have a point. */
double tn_text_number(const char *text, char **out_end);

#endif
