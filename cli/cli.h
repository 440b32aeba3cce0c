/* What the subcommands of `tenon` share: option parsing, the runtime they all need, messages, exit codes. */
#ifndef TN_CLI_CLI_H
#define TN_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "tenon/tenon.h"

/* Exit codes of every subcommand. */
enum {
  CLI_OK = 0,
  CLI_FAILED = 1,   /* the answer is no: a test failed, outputs differ, the model cannot run here */
  CLI_USAGE = 2,    /* bad arguments */
  CLI_INPUT = 3     /* a file is missing, broken or does not fit */
};

/* One option of a subcommand. Repeatable options call set() each time. */
typedef struct cli_option {
  const char *name;             /* "threads" for --threads */
  const char *value;            /* what its help calls the value; NULL: it takes none */
  const char *help;
  char letter;                  /* 't' for -t; 0: none */
} cli_option;

typedef struct cli_command {
  const char *name;
  const char *arguments;        /* "MODEL" for the usage line */
  const char *summary;          /* one line */
  const char *details;          /* more lines for --help; may be NULL */
  const cli_option *options;    /* ends with an empty one; the common ones come on top */
  int (*run)(int argc, char **argv);
  bool no_common;               /* takes no runtime options */
} cli_command;

extern const cli_command *const cli_commands[];   /* ends with NULL */

/* Steps through the arguments of a subcommand. Answers the option's index in command->options, CLI_ARG for a plain argument
 * (*out_value: the text), CLI_END, or CLI_BAD after a message. --help prints and answers CLI_HELP. Common options are
 * handled inside. */
enum { CLI_ARG = -1, CLI_END = -2, CLI_BAD = -3, CLI_HELP = -4 };
typedef struct cli_parser {
  const cli_command *command;
  int argc, at;
  char **argv;
  bool only_args;               /* after -- */
  struct cli_common *common;
} cli_parser;
int cli_next(cli_parser *p, const char **out_value);
/* A number, or CLI_BAD's message: `option` names it. */
bool cli_int(const char *option, const char *text, int64_t least, int64_t most, int64_t *out);
bool cli_double(const char *option, const char *text, double *out);

/* ---- the runtime options that all subcommands take ---- */
enum { CLI_MAX_PLUGINS = 32, CLI_MAX_PINS = 64 };
typedef struct cli_common {
  int32_t threads;
  uint64_t isa_mask;
  bool no_optimize;
  const char *plugins[CLI_MAX_PLUGINS], *pins[CLI_MAX_PINS];
  uint32_t n_plugins, n_pins;
} cli_common;
extern const cli_option cli_common_options[];      /* ends with an empty one */

/* A runtime as the options say. On failure prints the reasons and answers NULL. */
tn_runtime *cli_runtime(const cli_common *c);
tn_status cli_load(tn_runtime *runtime, const cli_common *c, const char *path, tn_diag *diag, tn_model **out_model);
/* Prints all messages of a diag to stderr, each after "tenon: error: " or what it is. */
void cli_print_diag(tn_diag *diag);
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- comparing values (compare.c) ---- */
typedef struct cli_tolerance { double rtol, atol; bool types_only; } cli_tolerance;
/* True if equal within |got - want| <= atol + rtol*|want|; integers, bools and strings exactly. why: text of size bytes. */
bool cli_compare(const tn_tensor *got, const tn_tensor *want, const cli_tolerance *t, char *why, size_t size);

#endif
