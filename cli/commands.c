/* The table of subcommands. */
#include "cli.h"

extern const cli_command cli_check, cli_explain, cli_info, cli_onnx_test, cli_run;

const cli_command *const cli_commands[] = {&cli_run,     &cli_info,      &cli_check,
                                           &cli_explain, &cli_onnx_test, NULL};
