/* What the subcommands of `tenon` share: option parsing, the runtime that they all need, messages,
 * tables, exit codes. Values in files are in values.h, the inputs of a model in feed.h, JSON in
 * json.h. */
#ifndef TN_CLI_CLI_H
#define TN_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/alloc.h"
#include "tenon/tenon.h"

/* Exit codes of every subcommand. */
enum {
  CLI_OK = 0,
  CLI_FAILED = 1, /* the answer is no: a test failed, outputs differ, the model cannot run here */
  CLI_USAGE = 2,  /* bad arguments */
  CLI_INPUT = 3   /* a file is missing, broken or does not fit */
};

/* ---- options (options.c) ---- */

/* An option that may be repeated is handed on each time. */
typedef struct cli_option {
  const char *name;  /* "threads" for --threads */
  const char *value; /* what its help calls the value, "[N]" if it may be left out (it is then given
                        as --name=N only); NULL: it takes none */
  const char *help;
  char letter; /* 't' for -t; 0: none */
} cli_option;

/* Options that several subcommands take. */
typedef struct cli_group {
  const char *title;         /* above them in the help */
  const cli_option *options; /* ends with an empty one */
  /* Takes one of them; value is NULL if it was left out. False after a message. */
  bool (*set)(void *target, int index, const char *value);
} cli_group;

enum { CLI_MAX_GROUPS = 2 };

typedef struct cli_command {
  const char *name;
  const char *arguments;     /* "MODEL" for the usage line */
  const char *summary;       /* one line */
  const char *details;       /* more lines for --help; may be NULL */
  const char *examples;      /* lines for --help, each a command without "tenon "; may be NULL */
  const cli_option *options; /* its own; ends with an empty one */
  const cli_group *groups[CLI_MAX_GROUPS];
  int (*run)(int argc, char **argv);
  bool is_hidden; /* Tenon itself starts it: help does not list it */
} cli_command;

extern const cli_command *const cli_commands[]; /* ends with NULL */

/* The arguments of a subcommand. targets[k]: what options of command->groups[k] are set in. */
typedef struct cli_parser {
  const cli_command *command;
  int argc;
  char **argv;
  void *targets[CLI_MAX_GROUPS];
  int at;         /* next argument; 0: not begun */
  bool only_args; /* after -- */
} cli_parser;
/* Hands set() each option by its index in command->options, with its value or NULL, and each plain
 * argument as CLI_ARG; it answers false after a message. CLI_END: that were all of them; else the
 * exit code, after a message or what --help prints. */
enum { CLI_ARG = -1, CLI_END = -2 };
int cli_parse(cli_parser *p, bool (*set)(void *self, int index, const char *value), void *self);

/* Values of options; false after a message that names the option. */
bool cli_int(const char *option, const char *text, int64_t least, int64_t most, int64_t *out);
bool cli_double(const char *option, const char *text, double *out); /* not negative */
/* 1 to `most` numbers with ',' between; each may be a fraction, "1/255". */
bool cli_doubles(const char *option, const char *text, int most, double *out, int *out_n);
/* Keeps an argument in list[*n]; false after a message if there are `most` already. */
bool cli_keep(const char *what, const char *text, const char **list, int most, int *n);
/* True if text is "NAME=..." ; *out_n: bytes of NAME, *out_rest: what follows. */
bool cli_assignment(const char *text, int *out_n, const char **out_rest);
/* Keeps a plain argument in its slot; false after a message if that is taken. */
bool cli_one(const cli_command *c, const char *text, const char **slot);
/* False after a message if an argument is missing: "tenon run needs MODEL; ...". */
bool cli_need(const cli_command *c, const char *argument, const char *what);

/* ---- the runtime options that all subcommands take (common.c) ---- */
enum { CLI_MAX_PLUGINS = 32, CLI_MAX_PINS = 64, CLI_MAX_DEVICES = 8 };
typedef struct cli_common {
  int32_t threads;
  uint64_t isa_mask;
  bool no_optimize, random_weights, vet;
  double time_limit_s;      /* of runs; 0: none */
  const char *model_format; /* of models that are read; NULL: recognised */
  const char *entry;        /* of models that hold several; NULL: the main one */
  const char *tuning;       /* file of measured costs; NULL: none */
  const char *weight_cache; /* folder of prepared weights; NULL: none */
  const char *allow;        /* file of what may be loaded; NULL: none */
  const char *plugins[CLI_MAX_PLUGINS], *pins[CLI_MAX_PINS];
  int n_plugins, n_pins;
  const char *devices[CLI_MAX_DEVICES]; /* where models shall run; none: the CPU */
  int n_devices;
  uint32_t fallback;          /* TN_FALLBACK_... */
  uint32_t precision;         /* TN_F16, TN_BF16; 0, TN_F32: as models are */
  bool no_discovery;          /* only plug-ins that are named. No option, nor the next */
  struct tn_part_list *parts; /* what of Tenon's own parts there shall be; NULL: all */
} cli_common;
extern const cli_group cli_common_group; /* target: a cli_common; threads is 1 to begin with */

/* The mask of a list of instruction sets, "avx2,avx512" or "none"; false after a message. */
bool cli_isa_parse(const char *text, uint64_t *out_mask);
/* A runtime as the options say. On failure prints the reasons and answers NULL. */
tn_runtime *cli_runtime(const cli_common *c);
/* Where, and in what precision, the options want a model to run. */
void cli_place_options(const cli_common *c, tn_model_options *o);
/* flags: TN_MODEL_..., besides what the options say. */
tn_status cli_load(tn_runtime *runtime, const cli_common *c, const char *path, uint32_t flags,
                   tn_diag *diag, tn_model **out_model);

/* ---- messages ---- */

void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Like printf; what is no text, or moves the cursor of a terminal, is printed as '?'. */
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints all messages of a diag to stderr, each after "tenon: error: " or what it is. */
void cli_print_diag(tn_diag *diag);
/* One line on a terminal's stderr that the next one replaces; "" removes it. Nothing if stderr is
 * no terminal. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The exit code for a status that stopped a subcommand: TN_ERR_UNSUPPORTED says that the model
 * cannot run here, so functions that read and write values pass theirs through cli_of_file. */
int cli_exit_code(tn_status status);
static inline tn_status cli_of_file(tn_status status) {
  return status == TN_ERR_UNSUPPORTED ? TN_ERR_INVALID : status;
}

/* ---- text (text.c) ---- */

enum { CLI_UNIT_TEXT = 32 };
/* "1.23 MB", "4.56 G", "7.89 ms", into buf of CLI_UNIT_TEXT bytes. */
const char *cli_bytes(double bytes, char *buf);
const char *cli_count(double n, char *buf);
const char *cli_time(double ns, char *buf);
/* "sequence of f32", "f32[1,?,224]"; names of dims where they have one. buf of CLI_TYPE_TEXT
 * bytes. */
enum { CLI_TYPE_TEXT = 512 };
const char *cli_type_text(const tn_tensor *type, const tn_graph *graph, int32_t value, char *buf);
/* "NHWC", "blocked by 16"; "" for plain. */
const char *cli_layout_text(tn_layout layout, char *buf);
/* "com.acme::Foo", "Conv". */
const char *cli_op_text(const char *domain, const char *name, char *buf, size_t size);

/* "; did you mean 'Relu'?", or "", for an operator that is not there; with its domain if it has
 * one. buf of 160 bytes (TN_NEAR_TEXT). */
const char *cli_near_op(const tn_runtime *runtime, const char *text, char *buf);

/* ---- tables (table.c) ---- */

enum { CLI_MAX_COLUMNS = 12 };
/* Rows of cells that are printed in columns as wide as their widest cell. */
typedef struct cli_table {
  tn_arena arena;
  TN_VEC(const char *const *) rows;
  int n_columns;
  uint32_t right; /* bit k: column k is aligned to the right */
} cli_table;
void cli_table_init(cli_table *t, int n_columns, uint32_t right);
void cli_table_row(cli_table *t, const char *const *cells); /* copies n_columns texts */
/* Prints all rows after `indent` blanks, and frees them. */
void cli_table_print(cli_table *t, int indent);

/* ---- comparing values (same.c) ---- */
typedef struct cli_tolerance {
  double rtol, atol;
  bool types_only;
} cli_tolerance;
/* True if equal within |got - want| <= atol + rtol*|want|; integers, bools and strings exactly.
 * why: text of size bytes. */
bool cli_same(const tn_tensor *got, const tn_tensor *want, const cli_tolerance *t, char *why,
              size_t size);
/* True if an operator of the graph depends on chance: outputs can then be compared by type only. */
bool cli_is_random(tn_runtime *runtime, const tn_graph *graph);

#endif
