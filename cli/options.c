/* Option parsing of all subcommands: --name value, --name=value, -n value, --, --help. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "cli.h"

const cli_option cli_common_options[] = {
    {"threads", "N", "threads to use, the caller included; 0: all cores (default 1)", 't'},
    {"plugin", "FILE", "load this plug-in first (may be repeated)", 'p'},
    {"pin", "OP=KERNEL", "run this operator with this kernel, or fail (may be repeated)", 0},
    {"isa", "LIST", "use only these instruction sets: none, or names joined by ','", 0},
    {"no-optimize", NULL, "run every node as it stands in the file", 0},
    {NULL, NULL, NULL, 0}};

void cli_error(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("tenon: error: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
}

bool cli_int(const char *option, const char *text, int64_t least, int64_t most, int64_t *out) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (errno || end == text || *end || v < least || v > most) {
    cli_error("--%s takes a whole number from %lld to %lld, not '%s'", option, (long long)least, (long long)most, text);
    return false;
  }
  *out = v;
  return true;
}

bool cli_double(const char *option, const char *text, double *out) {
  char *end;
  double v = strtod(text, &end);
  if (end == text || *end || !(v >= 0)) {
    cli_error("--%s takes a number that is not negative, not '%s'", option, text);
    return false;
  }
  *out = v;
  return true;
}

static void print_options(const cli_option *o) {
  for (; o->name; o++) {
    char left[64];
    snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : " ", o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
             o->value ? " " : "", o->value ? o->value : "");
    printf("  %-28s %s\n", left, o->help);
  }
}

static void print_help(const cli_command *c) {
  printf("usage: tenon %s [OPTIONS] %s\n\n%s\n", c->name, c->arguments, c->summary);
  if (c->details) printf("\n%s\n", c->details);
  printf("\noptions:\n");
  print_options(c->options);
  if (!c->no_common) print_options(cli_common_options);
  printf("  -h, --help                   this text\n");
}

static bool parse_isa(const char *text, uint64_t *out_mask) {
  *out_mask = 0;
  char name[32];
  for (const char *at = text; *at;) {
    size_t n = strcspn(at, ",");
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
    uint64_t bit = 0;
    char known[32];
    for (int k = 0; k < 32 && !bit; k++)
      if (!strcmp(tn_isa_text(UINT64_C(1) << k, known, sizeof known), name) && *known) bit = UINT64_C(1) << k;
    if (!bit && strcmp(name, "none")) {
      cli_error("--isa: '%s' is no instruction set", name);
      return false;
    }
    *out_mask |= bit;
    at += n + (at[n] == ',');
  }
  if (!*out_mask) *out_mask = UINT64_C(1) << 63; /* a bit that no kernel needs: nothing special is allowed */
  return true;
}

static bool set_common(cli_common *c, int index, const char *value) {
  int64_t n = 0;
  switch (index) {
    case 0:
      if (!cli_int("threads", value, 0, 1024, &n)) return false;
      c->threads = (int32_t)n;
      return true;
    case 1:
      if (c->n_plugins < CLI_MAX_PLUGINS) c->plugins[c->n_plugins++] = value;
      return true;
    case 2:
      if (c->n_pins < CLI_MAX_PINS) c->pins[c->n_pins++] = value;
      return true;
    case 3: return parse_isa(value, &c->isa_mask);
    default: c->no_optimize = true; return true;
  }
}

/* Index of the option that the argument names; -1: none. */
static int find(const cli_option *o, const char *arg, const char **out_inline) {
  *out_inline = NULL;
  for (int k = 0; o && o[k].name; k++) {
    size_t n = strlen(o[k].name);
    if (arg[1] == '-' && !strncmp(arg + 2, o[k].name, n) && (arg[2 + n] == '=' || !arg[2 + n])) {
      *out_inline = arg[2 + n] ? arg + 3 + n : NULL;
      return k;
    }
    if (arg[1] != '-' && o[k].letter && arg[1] == o[k].letter && !arg[2]) return k;
  }
  return -1;
}

static bool take_value(cli_parser *p, const cli_option *o, const char *inlined, const char **out_value) {
  if (!o->value && inlined) {
    cli_error("--%s takes no value", o->name);
    return false;
  }
  *out_value = inlined;
  if (!o->value || inlined) return true;
  if (p->at < p->argc) {
    *out_value = p->argv[p->at++];
    return true;
  }
  cli_error("--%s needs a value (%s)", o->name, o->value);
  return false;
}

int cli_next(cli_parser *p, const char **out_value) {
  if (p->at == 0) p->at = 1; /* argv[0] is the subcommand */
  while (p->at < p->argc) {
    const char *arg = p->argv[p->at++], *inlined;
    if (p->only_args || arg[0] != '-' || !arg[1]) {
      *out_value = arg;
      return CLI_ARG;
    }
    if (!strcmp(arg, "--")) {
      p->only_args = true;
      continue;
    }
    if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
      print_help(p->command);
      return CLI_HELP;
    }
    int own = find(p->command->options, arg, &inlined);
    if (own >= 0) return take_value(p, &p->command->options[own], inlined, out_value) ? own : CLI_BAD;
    int common = p->command->no_common ? -1 : find(cli_common_options, arg, &inlined);
    if (common < 0) {
      cli_error("tenon %s has no option '%s'; `tenon %s --help` lists them", p->command->name, arg, p->command->name);
      return CLI_BAD;
    }
    if (!take_value(p, &cli_common_options[common], inlined, out_value) || !set_common(p->common, common, *out_value)) return CLI_BAD;
  }
  return CLI_END;
}
