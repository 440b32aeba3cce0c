/* Option parsing of all subcommands: --name value, --name=value, -n value, --, --help. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "cli.h"

/* ---- values ---- */

bool cli_int(const char *option, const char *text, int64_t least, int64_t most, int64_t *out) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (errno || end == text || *end || v < least || v > most) {
    cli_error("--%s takes a whole number from %lld to %lld, not '%s'", option, (long long)least,
              (long long)most, text);
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

/* A number or fraction; answers where it ends, NULL if there is none. */
static const char *scan_number(const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  if (end == text) return NULL;
  if (*end != '/') return end;
  const char *below = end + 1;
  *out /= strtod(below, &end);
  return end == below ? NULL : end;
}

bool cli_doubles(const char *option, const char *text, int most, double *out, int *out_n) {
  const char *at = text;
  int n = 0;
  while (at && n < most) {
    at = scan_number(at, &out[n]);
    if (!at || !(out[n] - out[n] == 0)) break; /* neither infinite nor NaN */
    n++;
    if (!*at) {
      *out_n = n;
      return true;
    }
    at = *at == ',' ? at + 1 : NULL;
  }
  cli_error("--%s takes 1 to %d numbers with ',' between, not '%s'", option, most, text);
  return false;
}

bool cli_keep(const char *what, const char *text, const char **list, int most, int *n) {
  if (*n == most) {
    cli_error("more than %d of %s are not taken", most, what);
    return false;
  }
  list[(*n)++] = text;
  return true;
}

bool cli_assignment(const char *text, int *out_n, const char **out_rest) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || equals - text > 4096) return false;
  *out_n = (int)(equals - text);
  *out_rest = equals + 1;
  return true;
}

bool cli_one(const cli_command *c, const char *text, const char **slot) {
  if (*slot) {
    cli_error("'%s' is one argument too many; usage: tenon %s [OPTIONS] %s", text, c->name,
              c->arguments);
    return false;
  }
  *slot = text;
  return true;
}

bool cli_need(const cli_command *c, const char *argument, const char *what) {
  if (argument) return true;
  cli_error("tenon %s needs %s; `tenon %s --help` says more", c->name, what, c->name);
  return false;
}

/* ---- help ---- */

/* "[SEED]" may be left out, "[NAME=]FILE" may not. */
static bool may_lack_value(const cli_option *o) {
  return o->value && *o->value == '[' && o->value[strlen(o->value) - 1] == ']';
}

static void print_options(const cli_option *o) {
  for (; o->name; o++) {
    char left[64];
    int n = snprintf(left, sizeof left, "%c%c%s--%s", o->letter ? '-' : ' ',
                     o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name);
    if (may_lack_value(o))
      snprintf(left + n, sizeof left - (size_t)n, "[=%.*s]", (int)strlen(o->value) - 2,
               o->value + 1);
    else if (o->value)
      snprintf(left + n, sizeof left - (size_t)n, " %s", o->value);
    printf("  %-28s %s\n", left, o->help);
  }
}

static void print_examples(const char *text) {
  printf("\nexamples:\n");
  while (*text) {
    size_t n = strcspn(text, "\n");
    printf("  tenon %.*s\n", (int)n, text);
    text += n + (text[n] == '\n');
  }
}

static void print_help(const cli_command *c) {
  printf("usage: tenon %s [OPTIONS]%s%s\n\n%s\n", c->name, *c->arguments ? " " : "", c->arguments,
         c->summary);
  if (c->details) printf("\n%s\n", c->details);
  printf("\noptions:\n");
  print_options(c->options);
  printf("  -h, --help                   this text\n");
  for (int k = 0; k < CLI_MAX_GROUPS && c->groups[k]; k++) {
    printf("\n%s:\n", c->groups[k]->title);
    print_options(c->groups[k]->options);
  }
  if (c->examples) print_examples(c->examples);
}

/* ---- parsing ---- */

/* Index of the option that the argument names; -1: none. */
static int find(const cli_option *o, const char *arg, const char **out_inline) {
  *out_inline = NULL;
  for (int k = 0; o[k].name; k++) {
    size_t n = strlen(o[k].name);
    bool named = arg[1] == '-' && !strncmp(arg + 2, o[k].name, n);
    if (named && (arg[2 + n] == '=' || !arg[2 + n])) {
      *out_inline = arg[2 + n] ? arg + 3 + n : NULL;
      return k;
    }
    if (arg[1] != '-' && o[k].letter && arg[1] == o[k].letter && !arg[2]) return k;
  }
  return -1;
}

static bool take_value(cli_parser *p, const cli_option *o, const char *inlined,
                       const char **out_value) {
  if (!o->value && inlined) {
    cli_error("--%s takes no value", o->name);
    return false;
  }
  *out_value = inlined;
  if (!o->value || inlined || may_lack_value(o)) return true;
  if (p->at < p->argc) {
    *out_value = p->argv[p->at++];
    return true;
  }
  cli_error("--%s needs a value (%s)", o->name, o->value);
  return false;
}

static void offer(tn_near *near, const cli_option *o) {
  for (; o->name; o++) tn_near_offer(near, o->name);
}

/* What take_next() answers beside indices and those of cli_parse(). */
enum { CLI_BAD = -3, CLI_HELP = -4 };

/* One option: its index, or CLI_BAD; CLI_END: it was one of a group, go on. */
static int take_option(cli_parser *p, const char *arg, const char **out_value) {
  const cli_command *c = p->command;
  const char *inlined;
  int own = find(c->options, arg, &inlined);
  if (own >= 0) return take_value(p, &c->options[own], inlined, out_value) ? own : CLI_BAD;
  for (int g = 0; g < CLI_MAX_GROUPS && c->groups[g]; g++) {
    int index = find(c->groups[g]->options, arg, &inlined);
    if (index < 0) continue;
    if (!take_value(p, &c->groups[g]->options[index], inlined, out_value)) return CLI_BAD;
    return c->groups[g]->set(p->targets[g], index, *out_value) ? CLI_END : CLI_BAD;
  }
  char word[TN_NEAR_TEXT], meant[TN_NEAR_TEXT];
  tn_near near;
  snprintf(word, sizeof word, "%.*s", (int)strcspn(arg, "="), arg);
  tn_near_begin(&near, word + strspn(word, "-"));
  offer(&near, c->options);
  for (int g = 0; g < CLI_MAX_GROUPS && c->groups[g]; g++) offer(&near, c->groups[g]->options);
  *meant = 0;
  if (near.best) snprintf(meant, sizeof meant, "; did you mean '--%s'?", near.best);
  cli_error("tenon %s has no option '%s'%s; `tenon %s --help` lists them", c->name, arg, meant,
            c->name);
  return CLI_BAD;
}

static int take_next(cli_parser *p, const char **out_value) {
  if (p->at == 0) p->at = 1; /* argv[0] is the subcommand */
  while (p->at < p->argc) {
    const char *arg = p->argv[p->at++];
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
    int taken = take_option(p, arg, out_value);
    if (taken != CLI_END) return taken;
  }
  return CLI_END;
}

int cli_parse(cli_parser *p, bool (*set)(void *self, int index, const char *value), void *self) {
  const char *value;
  int next;
  while ((next = take_next(p, &value)) != CLI_END) {
    if (next == CLI_HELP) return CLI_OK;
    if (next == CLI_BAD || !set(self, next, value)) return CLI_USAGE;
  }
  return CLI_END;
}
