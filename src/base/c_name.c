/* Names of operators as words of C. */
#include "base/c_name.h"

#include <string.h>

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

void tn_c_name_add(tn_text *out, const char *name) {
  for (const char *p = name; *p; p++) {
    const char before = p > name ? p[-1] : '_';
    const bool nan = strncmp(p, "NaN", 3) == 0;
    if (is_upper(*p) && before != '_' && (!is_upper(before) || is_lower(p[1])))
      tn_text_add(out, "_");
    if (nan) {
      tn_text_add(out, "nan");
      p += 2;
    } else if (is_upper(*p)) {
      tn_text_add(out, "%c", *p - 'A' + 'a');
    } else {
      tn_text_add(out, "%c", is_lower(*p) || is_digit(*p) ? *p : '_');
    }
  }
}
