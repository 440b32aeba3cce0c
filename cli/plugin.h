/* tenon plugin: what its verbs share. */
#ifndef TN_CLI_PLUGIN_H
#define TN_CLI_PLUGIN_H

#include "cli.h"
#include "json.h"

typedef struct cli_plugin_options {
  cli_common common;
  const char *json, *verb, *file, *only;
  double timeout; /* seconds for one test */
  bool why, quiet;
} cli_plugin_options;

int cli_plugin_list(cli_plugin_options *o);
/* A file that nobody knows: mapped in child processes only. */
int cli_plugin_info(const cli_plugin_options *o);
int cli_plugin_vet(const cli_plugin_options *o);

#endif
