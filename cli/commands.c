/* The table of subcommands. */
#include "cli.h"

extern const cli_command cli_bench, cli_check, cli_compare, cli_compile, cli_conform, cli_convert,
    cli_device, cli_emit_c, cli_explain, cli_info, cli_new, cli_test, cli_op, cli_ops, cli_plugin,
    cli_report, cli_run, cli_select, cli_tune, cli_worker;

const cli_command *const cli_commands[] = {
    &cli_run,     &cli_info,    &cli_check,   &cli_explain, &cli_bench,  &cli_report, &cli_tune,
    &cli_compare, &cli_compile, &cli_conform, &cli_convert, &cli_emit_c, &cli_select, &cli_op,
    &cli_ops,     &cli_plugin,  &cli_device,  &cli_new,     &cli_test,   &cli_worker, NULL};
