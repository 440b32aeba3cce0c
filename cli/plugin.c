/* tenon plugin: lists plug-ins, says what one offers, and vets it. */
#include "plugin.h"

#include <string.h>

static const cli_option options[] = {
    {"why", NULL, "list: say where plug-ins were looked for and what was decided", 'w'},
    {"only", "PART",
     "vet: only the part (operator, kernel, format, compiler ...) of this name; or init", 0},
    {"timeout", "S", "vet: end a test that takes more than S seconds (default 20)", 0},
    {"quiet", NULL, "vet: breaches and the verdict only", 'q'},
    {"json", "[FILE]", "as JSON, to stdout if no file is named", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_plugin = {
    .name = "plugin",
    .arguments = "list | info FILE | vet FILE",
    .summary = "list plug-ins, say what one offers, test one that somebody else wrote",
    .details =
        "list  plug-ins are looked for in the folders of TENON_PLUGIN_PATH (':' between), then in "
        "the\n      installed plug-in folder; --plugin adds a file. Exit status 1 if one is "
        "refused.\n"
        "info  name, version, licence, build id, ABI, and every operator, kernel, rewrite and "
        "format of a\n      file, and each rule that its tables break. Exit status 1 if it would "
        "be "
        "refused.\n"
        "vet   the same, then contract tests of every part, all in child processes with limits: "
        "a crash or\n      a hang is a line of the report. Exit status 1 if a rule is broken.\n"
        "Exit status 3: there is no such file, or nothing in it has the name that --only gives.",
    .examples =
        "plugin list\nplugin list --why --plugin ./acme.so\nplugin info ./acme.so\n"
        "plugin vet ./acme.so\nplugin vet ./acme.so --only com.acme::Foo --timeout 5",
    .options = options,
    .groups = {&cli_common_group},
    .run = run};

static bool set(void *self, int option, const char *value) {
  cli_plugin_options *o = self;
  switch (option) {
    case CLI_ARG:
      if (o->verb) return cli_one(&cli_plugin, value, &o->file);
      o->verb = value;
      return true;
    case 0: o->why = true; return true;
    case 1: o->only = value; return true;
    case 2:
      if (!cli_double("timeout", value, &o->timeout)) return false;
      if (o->timeout > 0 && o->timeout <= 86400) return true;
      cli_error("--timeout takes seconds, more than 0 and at most 86400, not '%s'", value);
      return false;
    case 3: o->quiet = true; return true;
    default: o->json = value ? value : "-"; return true;
  }
}

static int run_verb(cli_plugin_options *o) {
  const bool is_list = !strcmp(o->verb, "list"), is_info = !strcmp(o->verb, "info");
  if (!is_list && !is_info && strcmp(o->verb, "vet")) {
    cli_error("tenon plugin has no verb '%s', only list, info and vet", o->verb);
    return CLI_USAGE;
  }
  if (is_list && o->file) {
    cli_error("tenon plugin list takes no file; --plugin adds one");
    return CLI_USAGE;
  }
  if (is_list) return cli_plugin_list(o);
  if (!cli_need(&cli_plugin, o->file, "a file for info and vet")) return CLI_USAGE;
  return is_info ? cli_plugin_info(o) : cli_plugin_vet(o);
}

static int run(int argc, char **argv) {
  cli_plugin_options o = {.common = {.threads = 1}};
  cli_parser p = {&cli_plugin, argc, argv, {&o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (!cli_need(&cli_plugin, o.verb, "list, info or vet")) return CLI_USAGE;
  return run_verb(&o);
}
