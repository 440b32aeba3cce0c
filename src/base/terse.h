/* Included ahead of every file of Tenon where TENON_MESSAGES is OFF (docs/small.md): in place of
 * the text of a message stands that of its status, behind the file or the value that the whole
 * message would name first. Texts and arguments are compiled, and then left out. Hosts put the node
 * before a message, as ever. Which functions these are CMake finds (TenonTerse.cmake); here stand
 * those that are no function of ours and those that name something. */
#ifndef TN_BASE_TERSE_H
#define TN_BASE_TERSE_H

#include "base/diag.h"

/* Of `"%s: %s", ...`: is there no text in it? Of `"... %s ...", name, ...`: the name. */
#define TN_TERSE_BARE(format, ...) (sizeof(format) <= sizeof("%s: %s"))
#define TN_TERSE_NAME(format, name, ...) \
  _Generic((name), char * : (name), const char * : (name), default : NULL)

static inline const char *tn_terse_text(const char *name) { return name ? name : ""; }

#define tn_fail(diag, code, ...)            \
  (TN_TERSE_BARE(__VA_ARGS__, )             \
       ? (tn_fail)(diag, code, __VA_ARGS__) \
       : tn_fail_terse(diag, code, TN_TERSE_NAME(__VA_ARGS__, NULL, NULL)))
#define tn_diag_add(diag, severity, ...)            \
  (TN_TERSE_BARE(__VA_ARGS__, )                     \
       ? (tn_diag_add)(diag, severity, __VA_ARGS__) \
       : (tn_diag_add)(diag, severity, "%s",        \
                       tn_terse_text(TN_TERSE_NAME(__VA_ARGS__, NULL, NULL))))

/* Of tn_host; of rules that an edit breaks. */
#define fail(ctx, code, ...) fail(ctx, code, "")
#define tn_graph_refuse(graph, status, rule) (tn_graph_refuse)(graph, status, NULL)

/* diag.h says what these are. */
#define TN_HAS_MESSAGES 0
#define TN_WHY(text) "?"

#include "terse.gen.h"

#endif
