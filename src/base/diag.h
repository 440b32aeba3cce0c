/* Collecting messages for the user. The struct behind tn_diag; see tenon.h for reading it. */
#ifndef TN_BASE_DIAG_H
#define TN_BASE_DIAG_H

#include <stdarg.h>

#include "tenon/tenon.h"

/* TN_WHY(text): a reason that only people read; "?" where TENON_MESSAGES is OFF (base/terse.h). */
#ifndef TN_BASE_TERSE_H
#define TN_HAS_MESSAGES 1
#define TN_WHY(text) text
#endif

/* Appends a message; diag NULL: does nothing. Any thread. A message is one line: names
 * from files may not look like others. Text over 4000 bytes is cut; lack of memory loses it. */
void tn_diag_add(tn_diag *diag, int32_t severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tn_diag_addv(tn_diag *diag, int32_t severity, const char *format, va_list args);
/* Appends an error and returns code: `return tn_fail(diag, TN_ERR_SHAPE, "...")`. */
tn_status tn_fail(tn_diag *diag, tn_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same where TENON_MESSAGES is OFF: "name: ", unless it is NULL, and the text of the status. */
tn_status tn_fail_terse(tn_diag *diag, tn_status code, const char *name);
/* The text of an error: vsnprintf(), or that of its status where format is "". */
void tn_error_text(char *text, size_t size, tn_status code, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));
/* What a callback of a plug-in answered, as one of the statuses there are: TN_ERR_INTERNAL if it is
 * none. text (TN_ANSWER_TEXT bytes) says what went wrong; empty if nothing did. */
tn_status tn_answer_status(tn_status answer, char *text, size_t size);
/* Is it TN_OK or an error of the closed list? */
static inline int tn_is_status(tn_status s) {
  return s == TN_OK || (s <= TN_ERR_INVALID && s >= TN_ERR_CANCELLED);
}
enum { TN_ANSWER_TEXT = 96 };
/* TN_DIAG_... of a level of host->log(). */
static inline int32_t tn_log_severity(uint32_t level) {
  return level == TN_LOG_WARNING ? TN_DIAG_WARNING : TN_DIAG_NOTE;
}
/* Errors from message `first` on become notes: whoever told them has found a way around. */
void tn_diag_forgive(tn_diag *diag, int64_t first);
/* Appends all messages of from to diag, each with "prefix: " before it (prefix NULL: none). */
void tn_diag_append(tn_diag *diag, const tn_diag *from, const char *prefix);

#endif
