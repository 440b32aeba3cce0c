/* The table of subcommands. */
#include "cli.h"

extern const cli_command cli_onnx_test, cli_run;

const cli_command *const cli_commands[] = {&cli_run, &cli_onnx_test, NULL};
