/* Included ahead of every file of Tenon where TENON_MESSAGES is OFF (docs/small.md): in place of
 * the text of a message stands that of its status, behind the file or the value that the whole
 * message would name first. Texts and arguments are compiled, and then left out. Hosts put the node
 * before a message, as ever. */
#ifndef TN_BASE_TERSE_H
#define TN_BASE_TERSE_H

#include "base/diag.h"

/* Of `"%s: %s", ...`: is there no text in it? Of `"... %s ...", name, ...`: the name. */
#define TN_TERSE_BARE(format, ...) (sizeof(format) <= sizeof("%s: %s"))
#define TN_TERSE_NAME(format, name, ...) \
  _Generic((name), char * : (name), const char * : (name), default : NULL)

#define tn_fail(diag, code, ...)            \
  (TN_TERSE_BARE(__VA_ARGS__, )             \
       ? (tn_fail)(diag, code, __VA_ARGS__) \
       : tn_fail_terse(diag, code, TN_TERSE_NAME(__VA_ARGS__, NULL, NULL)))

/* Of tn_host; then those that put a place before it. */
#define fail(ctx, code, ...) fail(ctx, code, "")
#define onnx_fail(reader, code, at, ...) (onnx_fail)(reader, code, at, "")
#define tflite_fail(reader, code, at, ...) (tflite_fail)(reader, code, at, "")
#define tn_scan_fail(scan, at, ...) (tn_scan_fail)(scan, at, "")
#define tn_proto_fail(file, code, at, ...) (tn_proto_fail)(file, code, at, "")
#define task_fail(ctx, code, ...) (task_fail)(ctx, code, "")
#define call_fail(ctx, code, ...) (call_fail)(ctx, code, "")
#define tn_scan_expected(scan, what) (tn_scan_fail)(scan, (scan)->at, "")
/* Of rules that an edit breaks, and of kernels that do not take a node. */
#define tn_graph_refuse(graph, status, rule) (tn_graph_refuse)(graph, status, NULL)
#define reason_text(arena, ...) "does not fit"
#define tn_select_reason(selection, ...) (tn_select_reason)(selection, "")

#endif
