/* The operators of a model format: what each becomes here, and why the rest is refused. */
#include "json.h"
#include "ops.h"

static const char *how_text(uint32_t how) {
  static const char *const words[] = {"?", "direct", "lowered", "own", "refused"};
  return how < sizeof words / sizeof *words ? words[how] : words[0];
}

static const char *text_or_empty(const char *text) { return text ? text : ""; }

void cli_format_ops_print(const tn_format *format) {
  static const char *const head[] = {"code", "operator of the format", "is", "to", "note"};
  int count[TN_FORMAT_REFUSED + 1] = {0};
  char code[CLI_UNIT_TEXT];
  cli_table t;
  cli_table_init(&t, 5, 1);
  cli_table_row(&t, head);
  for (uint32_t k = 0; k < format->n_ops; k++) {
    const tn_format_op *op = format->ops[k];
    snprintf(code, sizeof code, "%lld", (long long)op->code);
    const char *cells[] = {op->code < 0 ? "" : code, op->name, how_text(op->how),
                           text_or_empty(op->to), text_or_empty(op->note)};
    cli_table_row(&t, cells);
    count[op->how]++;
  }
  cli_table_print(&t, 0);
  printf("%u operators: %d direct, %d lowered, %d own, %d refused\n", format->n_ops,
         count[TN_FORMAT_DIRECT], count[TN_FORMAT_LOWERED], count[TN_FORMAT_OWN],
         count[TN_FORMAT_REFUSED]);
}

void cli_format_ops_json(cli_json *list, const tn_format *format) {
  for (uint32_t k = 0; k < format->n_ops; k++) {
    const tn_format_op *op = format->ops[k];
    cli_json *o = cli_json_object(list, NULL);
    cli_json_text(o, "name", op->name);
    if (op->code >= 0) cli_json_int(o, "code", op->code);
    cli_json_text(o, "how", how_text(op->how));
    if (op->to) cli_json_text(o, "to", op->to);
    if (op->note) cli_json_text(o, "note", op->note);
  }
}
