/* Numbers with units, types, layouts and operators as text. */
#include <string.h>

#include "base/near.h"
#include "cli.h"
#include "tenon/kit/text.h"

static const char *scaled(double x, double step, const char *const *units, char *buf) {
  while (units[1] && (x >= step || x <= -step)) {
    x /= step;
    units++;
  }
  int digits = x >= 100 ? 0 : x >= 10 ? 1 : 2;
  snprintf(buf, CLI_UNIT_TEXT, "%.*f%s%s", digits, x, **units ? " " : "", *units);
  return buf;
}

const char *cli_bytes(double bytes, char *buf) {
  static const char *const units[] = {"kB", "MB", "GB", "TB", NULL};
  if (bytes < 1000) {
    snprintf(buf, CLI_UNIT_TEXT, "%.0f B", bytes);
    return buf;
  }
  return scaled(bytes / 1000, 1000, units, buf);
}

const char *cli_count(double n, char *buf) {
  static const char *const units[] = {"k", "M", "G", "T", NULL};
  if (n < 1000) {
    snprintf(buf, CLI_UNIT_TEXT, "%.0f", n);
    return buf;
  }
  return scaled(n / 1000, 1000, units, buf);
}

const char *cli_time(double ns, char *buf) {
  static const char *const units[] = {"ns", "us", "ms", "s", NULL};
  return scaled(ns, 1000, units, buf);
}

static void add(char *buf, size_t size, const char *text) {
  size_t n = strlen(buf);
  if (n < size) snprintf(buf + n, size - n, "%s", text);
}

static void add_dim(const tn_tensor *type, const tn_graph *graph, int32_t value, int32_t k,
                    char *buf) {
  const char *name = graph ? tn_graph_functions()->value_dim_name(graph, value, k) : NULL;
  char text[32] = "?";
  if (type->shape[k] >= 0) snprintf(text, sizeof text, "%lld", (long long)type->shape[k]);
  add(buf, CLI_TYPE_TEXT, type->shape[k] < 0 && name && *name ? name : text);
}

const char *cli_type_text(const tn_tensor *type, const tn_graph *graph, int32_t value, char *buf) {
  tn_kinds_text(type, buf, CLI_TYPE_TEXT);
  add(buf, CLI_TYPE_TEXT, tn_dtype_name(type->dtype));
  if (type->kind != TN_KIND_TENSOR) return buf;
  if (type->rank < 0) {
    add(buf, CLI_TYPE_TEXT, "[...]");
    return buf;
  }
  add(buf, CLI_TYPE_TEXT, "[");
  for (int32_t k = 0; k < type->rank && k < TN_MAX_RANK; k++) {
    if (k) add(buf, CLI_TYPE_TEXT, ",");
    add_dim(type, graph, value, k, buf);
  }
  add(buf, CLI_TYPE_TEXT, "]");
  return buf;
}

const char *cli_layout_text(tn_layout layout, char *buf) {
  if (layout == TN_PLAIN)
    *buf = 0;
  else if (layout == TN_CHANNELS_LAST)
    snprintf(buf, CLI_UNIT_TEXT, "channels last");
  else
    snprintf(buf, CLI_UNIT_TEXT, "blocked by %lld", (long long)TN_LAYOUT_BLOCK(layout));
  return buf;
}

const char *cli_op_text(const char *domain, const char *name, char *buf, size_t size) {
  snprintf(buf, size, "%s%s%s", domain, *domain ? "::" : "", name);
  return buf;
}

const char *cli_near_op(const tn_runtime *runtime, const char *text, char *buf) {
  const char *colons = strstr(text, "::"), *word = colons ? colons + 2 : text;
  const size_t n = colons ? (size_t)(colons - text) : 0;
  tn_near near;
  tn_near_begin(&near, word);
  for (int32_t k = 0; k < tn_runtime_n_ops(runtime); k++) {
    const tn_op *op = tn_runtime_op(runtime, k);
    if (strlen(op->domain) == n && !memcmp(op->domain, text, n)) tn_near_offer(&near, op->name);
  }
  return tn_near_text(&near, buf);
}
