/* The `tenon` command: finds the subcommand and runs it. */
#include <string.h>

#include "base/near.h"
#include "cli.h"

static void print_help(FILE *out) {
  fprintf(out,
          "usage: tenon COMMAND [OPTIONS] [ARGUMENTS]\n\nTenon %s, an inference "
          "runtime.\n\ncommands:\n",
          tn_version());
  for (int k = 0; cli_commands[k]; k++)
    if (!cli_commands[k]->is_hidden)
      fprintf(out, "  %-12s %s\n", cli_commands[k]->name, cli_commands[k]->summary);
  fprintf(out,
          "\n`tenon COMMAND --help` says more.\n\n"
          "exit codes: 0 success; 1 the answer is no (a test failed, outputs differ, the model "
          "cannot run here);\n"
          "            2 bad arguments; 3 a file is missing, broken or does not fit\n");
}

static int run(int argc, char **argv) {
  const char *word = argv[1];
  if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
    print_help(stdout);
    return CLI_OK;
  }
  if (!strcmp(word, "--version")) {
    printf("tenon %s (plug-in ABI %d.%d)\n", tn_version(), TN_ABI_MAJOR, TN_ABI_MINOR);
    return CLI_OK;
  }
  char meant[TN_NEAR_TEXT];
  tn_near near;
  tn_near_begin(&near, word);
  for (int k = 0; cli_commands[k]; k++) {
    if (!strcmp(word, cli_commands[k]->name)) return cli_commands[k]->run(argc - 1, argv + 1);
    if (!cli_commands[k]->is_hidden) tn_near_offer(&near, cli_commands[k]->name);
  }
  cli_error("there is no command '%s'%s; `tenon --help` lists them", word,
            tn_near_text(&near, meant));
  return CLI_USAGE;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return CLI_USAGE;
  }
  int code = run(argc, argv);
  if (!fflush(stdout) && !ferror(stdout)) return code;
  cli_error("standard output cannot be written");
  return CLI_INPUT;
}
