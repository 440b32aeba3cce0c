/* tenon device: what there is beside the CPU, and why what is not there is missing. */
#include <string.h>

#include "cli.h"
#include "json.h"
#include "tenon/device.h"

typedef struct device_options {
  cli_common common;
  const char *verb, *name, *json;
} device_options;

static const cli_option options[] = {
    {"json", "[FILE]", "as JSON, to stdout if no file is named", 0}, {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_device = {
    .name = "device",
    .arguments = "list | info NAME",
    .summary = "list the devices that models can run on, and say what one is",
    .details =
        "list  every device that a driver sees; of drivers that see none, why.\n"
        "info  limits and identity of a device, like shadow:0. Exit status 1 if it is not "
        "there.",
    .examples = "device list\ndevice info shadow:0",
    .options = options,
    .groups = {&cli_common_group},
    .run = run};

static const char *flags_text(uint32_t flags, char *buf, size_t size) {
  static const char *const names[] = {"serial", "small_stores", "f16", "clusters"};
  *buf = 0;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    const size_t n = strlen(buf);
    if (flags >> k & 1) snprintf(buf + n, size - n, "%s%s", n ? " " : "", names[k]);
  }
  return buf;
}

static void json_entry(cli_json *list, const tn_device_entry *e) {
  char flags[128];
  cli_json *o = cli_json_object(list, NULL);
  cli_json_text(o, "name", e->name);
  cli_json_text(o, "driver", e->driver);
  cli_json_text(o, "plugin", e->plugin);
  cli_json_text(o, "compiler", e->compiler);
  cli_json_text(o, "hardware", e->hardware);
  cli_json_text(o, "stamp", e->stamp);
  cli_json_text(o, "missing", e->missing);
  cli_json_text(o, "flags", flags_text(e->flags, flags, sizeof flags));
  cli_json_int(o, "memory_bytes", (int64_t)e->memory_bytes);
  cli_json_int(o, "max_buffer_bytes", (int64_t)e->max_buffer_bytes);
}

static void print_info(const tn_device_entry *e) {
  char text[128];
  cli_print("%-10s%s\n", "name", e->name);
  cli_print("%-10s%s\n", "hardware", e->hardware);
  if (*e->compiler) cli_print("%-10s%s, from %s\n", "compiler", e->compiler, e->plugin);
  if (*e->driver) cli_print("%-10s%s, from %s\n", "driver", e->driver, e->plugin);
  if (*e->stamp) cli_print("%-10s%s\n", "stamp", e->stamp);
  if (e->memory_bytes) cli_print("%-10s%s\n", "memory", cli_bytes((double)e->memory_bytes, text));
  if (e->max_buffer_bytes)
    cli_print("%-10s%s\n", "buffer", cli_bytes((double)e->max_buffer_bytes, text));
  if (e->flags) cli_print("%-10s%s\n", "can", flags_text(e->flags, text, sizeof text));
  if (e->missing) cli_print("%-10s%s\n", "missing", e->missing);
}

/* What is there as a table, and below it why the rest is not: reasons are long. */
static void print_list(tn_runtime *runtime, int32_t n) {
  static const char *const head[] = {"device", "hardware", "driver from"};
  cli_table t;
  tn_device_entry e;
  bool any = false;
  cli_table_init(&t, 3, 0);
  cli_table_row(&t, head);
  for (int32_t k = 0; k < n; k++) {
    e = (tn_device_entry){.head = TN_HEAD(tn_device_entry)};
    if (tn_runtime_device(runtime, k, &e) || e.missing) continue;
    const char *cells[] = {e.name, e.hardware, e.plugin};
    cli_table_row(&t, cells);
  }
  cli_table_print(&t, 0);
  for (int32_t k = 0; k < n; k++) {
    e = (tn_device_entry){.head = TN_HEAD(tn_device_entry)};
    if (tn_runtime_device(runtime, k, &e) || !e.missing) continue;
    if (!any) cli_print("\nnot there:\n");
    cli_print("  %s: %s\n", e.name, e.missing);
    any = true;
  }
}

/* "shadow" is the first of its driver, or the driver that sees none. */
static bool is_named(const tn_device_entry *e, const char *name) {
  const size_t n = strlen(name);
  return !strcmp(e->name, name) || (!strcmp(e->driver, name) && !strcmp(e->name + n, ":0"));
}

static int show(tn_runtime *runtime, const device_options *o) {
  const int32_t n = tn_runtime_n_devices(runtime);
  cli_json *json = o->json ? cli_json_new() : NULL, *list = cli_json_array(json, "devices");
  int32_t n_shown = 0, n_missing = 0;
  for (int32_t k = 0; k < n; k++) {
    tn_device_entry e = {.head = TN_HEAD(tn_device_entry)};
    if (tn_runtime_device(runtime, k, &e) || (o->name && !is_named(&e, o->name))) continue;
    n_shown++;
    n_missing += e.missing != NULL;
    if (json) json_entry(list, &e);
    if (o->name && !cli_json_to_stdout(o->json)) print_info(&e);
  }
  if (!o->name && !cli_json_to_stdout(o->json)) print_list(runtime, n);
  if (json && !cli_json_write_take(json, o->json)) return CLI_INPUT;
  if (o->name && !n_shown)
    cli_error("there is no device or driver '%s'; `tenon device list` shows what there is",
              o->name);
  return o->name && (!n_shown || n_missing) ? CLI_FAILED : CLI_OK;
}

static int run_verb(const device_options *o) {
  const bool is_list = !strcmp(o->verb, "list");
  if (!is_list && strcmp(o->verb, "info")) {
    cli_error("tenon device has no verb '%s', only list and info", o->verb);
    return CLI_USAGE;
  }
  if (is_list && o->name) {
    cli_error("tenon device list takes no name; `tenon device info %s` does", o->name);
    return CLI_USAGE;
  }
  if (!is_list && !cli_need(&cli_device, o->name, "a name for info")) return CLI_USAGE;
  tn_runtime *runtime = cli_runtime(&o->common);
  const int code = runtime ? show(runtime, o) : CLI_INPUT;
  tn_runtime_destroy(runtime);
  return code;
}

static bool set(void *self, int option, const char *value) {
  device_options *o = self;
  if (option == 0) {
    o->json = value ? value : "-";
    return true;
  }
  if (o->verb) return cli_one(&cli_device, value, &o->name);
  o->verb = value;
  return true;
}

static int run(int argc, char **argv) {
  device_options o = {.common = {.threads = 1}};
  cli_parser p = {&cli_device, argc, argv, {&o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  if (!cli_need(&cli_device, o.verb, "list or info")) return CLI_USAGE;
  return run_verb(&o);
}
