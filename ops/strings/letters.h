/* Upper and lower case of letters, and UTF-8 one code point at a time. Nothing here depends on a
 * locale. */
#ifndef TN_OPS_STRINGS_LETTERS_H
#define TN_OPS_STRINGS_LETTERS_H

#include "tenon/plugin.h"

typedef enum letter_case { CASE_NONE, CASE_LOWER, CASE_UPPER } letter_case;

/* Code point of the letter in the other case; c itself if it has none there. It has as many bytes
 * as c. */
uint32_t letter_to(uint32_t c, letter_case to);

/* The code point at text[0 .. n), n > 0, and how many bytes it takes. Bytes that are no UTF-8 stand
 * for themselves: 1 byte, and a number above all code points. */
uint32_t letter_read(const char *text, int64_t n, int64_t *out_bytes);
/* Writes the first letter of text[0 .. n), n > 0, in a case; answers how many bytes it takes. */
int64_t letter_copy(const char *text, int64_t n, letter_case to, char *out);

#endif
