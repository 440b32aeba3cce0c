/* Operators and their kernels as `tenon ops` shows them. */
#ifndef TN_CLI_OPS_H
#define TN_CLI_OPS_H

#include "cli.h"
#include "json.h"

/* All versions of one operator: registered at index first .. first + n - 1. */
typedef struct cli_op_group {
  const char *domain, *name;
  int32_t first, n;
} cli_op_group;
/* The group that begins at index; false: there is none. */
bool cli_op_group_at(const tn_runtime *runtime, int32_t index, cli_op_group *out);
/* True if text is the operator's name: "Clip", "ai.onnx::Clip", "com.acme::Foo". */
bool cli_op_group_is(const cli_op_group *group, const char *text);
bool cli_kernel_is_of(const tn_kernel *kernel, const cli_op_group *group);

/* `tenon ops NAME`: prints one operator in full; answers the exit code. json: as of --json. */
int cli_op_info(const tn_runtime *runtime, const char *name, const char *json);

enum { CLI_OPS_TEXT = 400 };
/* All fill buf of CLI_OPS_TEXT bytes and return it. */
const char *cli_versions_text(const tn_runtime *runtime, const cli_op_group *g,
                              char *buf); /* "1-12, 13+" */
const char *cli_dtypes_text(uint64_t dtypes,
                            char *buf); /* "float i32 i64"; the sets of docs/op-yaml.md */
/* Types of the first argument that a rule restricts, in the newest version. */
const char *cli_op_types_text(const tn_op *op, char *buf);
/* "portable", "optimized", "plug-in", or "rank 150". buf: CLI_UNIT_TEXT bytes. */
const char *cli_library_text(const tn_kernel *kernel, char *buf);
/* The folder of a source file, "" if it is not known. */
const char *cli_folder_text(const char *source, char *buf);

/* The table of a format's own operators: as text, as objects of a list. */
void cli_format_ops_print(const tn_format *format);
void cli_format_ops_json(cli_json *list, const tn_format *format);

#endif
