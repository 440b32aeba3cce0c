/* Operators and kernels in words. */
#include <string.h>

#include "ops.h"
#include "tenon/kit/dtype.h"

bool cli_op_group_at(const tn_runtime *runtime, int32_t index, cli_op_group *out) {
  const tn_op *op = tn_runtime_op(runtime, index);
  if (!op) return false;
  *out = (cli_op_group){op->domain, op->name, index, 1};
  while ((op = tn_runtime_op(runtime, index + out->n)) && !strcmp(op->name, out->name) &&
         !strcmp(op->domain, out->domain))
    out->n++;
  return true;
}

bool cli_op_group_is(const cli_op_group *group, const char *text) {
  const char *colons = strstr(text, "::");
  const char *name = colons ? colons + 2 : text;
  size_t n = colons ? (size_t)(colons - text) : 0;
  if (strcmp(group->name, name)) return false;
  if (n == strlen("ai.onnx") && !strncmp(text, "ai.onnx", n)) return !*group->domain;
  return strlen(group->domain) == n && !strncmp(group->domain, text, n);
}

bool cli_kernel_is_of(const tn_kernel *kernel, const cli_op_group *group) {
  return cli_op_group_is(group, kernel->op);
}

static void add(char *buf, const char *text) {
  size_t n = strlen(buf);
  if (n < CLI_OPS_TEXT) snprintf(buf + n, CLI_OPS_TEXT - n, "%s", text);
}

const char *cli_versions_text(const tn_runtime *runtime, const cli_op_group *g, char *buf) {
  char text[64];
  *buf = 0;
  for (int32_t k = 0; k < g->n; k++) {
    const tn_op *op = tn_runtime_op(runtime, g->first + k);
    if (!op->until)
      snprintf(text, sizeof text, "%d+", op->since);
    else if (op->until == op->since)
      snprintf(text, sizeof text, "%d", op->since);
    else
      snprintf(text, sizeof text, "%d-%d", op->since, op->until);
    if (k) add(buf, ", ");
    add(buf, text);
  }
  return buf;
}

const char *cli_dtypes_text(uint64_t dtypes, char *buf) {
  const uint64_t any = TN_MASK(TN_DTYPE_COUNT) - 2;
  const uint64_t all = TN_MASK_FLOAT | TN_MASK_INT | TN_MASK(TN_BOOL) | TN_MASK(TN_STRING) |
                       TN_MASK(TN_C64) | TN_MASK(TN_C128);
  const struct {
    uint64_t mask;
    const char *name;
  } sets[] = {{any, "any"}, {all, "all"}, {TN_MASK_FLOAT, "float"}, {TN_MASK_INT, "int"}};
  *buf = 0;
  for (int k = 0; k < 4; k++) {
    if ((dtypes & sets[k].mask) != sets[k].mask) continue;
    if (*buf) add(buf, " ");
    add(buf, sets[k].name);
    dtypes &= ~sets[k].mask;
  }
  for (uint32_t k = 1; k < TN_DTYPE_COUNT; k++) {
    if (!(dtypes & TN_MASK(k))) continue;
    if (*buf) add(buf, " ");
    add(buf, tn_dtype_name(k));
  }
  return buf;
}

const char *cli_op_types_text(const tn_op *op, char *buf) {
  *buf = 0;
  return op->n_types ? cli_dtypes_text(op->types[0]->dtypes, buf) : buf;
}

const char *cli_library_text(const tn_kernel *kernel, char *buf) {
  int32_t rank = kernel->rank;
  if (rank < TN_RANK_PORTABLE)
    snprintf(buf, CLI_UNIT_TEXT, "rank %d", rank);
  else
    strcpy(buf, rank < TN_RANK_OPTIMIZED ? "portable"
                : rank < TN_RANK_PLUGIN  ? "optimized"
                                         : "plug-in");
  return buf;
}

const char *cli_folder_text(const char *source, char *buf) {
  const char *slash = source ? strrchr(source, '/') : NULL;
  int n = slash ? (int)(slash - source) : 0;
  snprintf(buf, CLI_OPS_TEXT, "%.*s", n, source ? source : "");
  return buf;
}
