/* Drivers of devices that are vetted: what they say of each device, and whether it computes what it
 * takes. */
#include <string.h>

#include "device/device.h"
#include "harness/conform.h"
#include "harness/harness.h"
#include "harness/vet.h"

static void note(check_env *env, const char *format, const char *why) {
  char rule[CHECK_TEXT];
  snprintf(rule, sizeof rule, format, why);
  check_found(env, "note", rule);
}

static tn_status open_and_close(check_env *env, const char *name, tn_diag *diag) {
  tn_device *d = NULL;
  check_around_library(env);
  check_doing(env, "count(), open(), describe() or queue_new()");
  const tn_status status = tn_device_open(env->runtime->devices, name, diag, &d);
  check_doing(env, "queue_free() or close()");
  tn_device_close(d);
  check_doing(env, "%s", "");
  check_around_library(env);
  return status;
}

/* False: there is none, or it cannot be used, and that has been told. */
static bool try_device(check_env *env, const char *name) {
  if (!check_unit_begin(env, "opening %s", name)) return !check_unit_lost(env);
  tn_diag *diag = tn_diag_create();
  const tn_status status = open_and_close(env, name, diag);
  if (status == TN_ERR_NOT_FOUND)
    note(env, "nothing was run: %.300s", tn_diag_message(diag, 0, NULL));
  else if (status)
    check_fail(env, "%s", tn_diag_message(diag, 0, NULL));
  tn_diag_destroy(diag);
  check_unit_end(env);
  return status == TN_OK;
}

typedef struct outcome {
  bool any;          /* something was computed */
  char refused[400]; /* the first reason why something was not */
} outcome;

/* One operator or model, planned, run, and compared with the CPU; or what the driver does alone. */
static void try_case(check_env *env, const char *device, int index, outcome *all) {
  check_conformed c;
  if (!check_unit_begin(env, "%s, case %d on %s", check_conform_name(index), index + 1, device))
    return;
  check_around_library(env);
  check_doing(env, "a callback");
  check_conform(env->runtime, device, index, &c);
  check_doing(env, "%s", "");
  check_around_library(env);
  all->any = all->any || (c.taken && !c.of_driver) || *c.why;
  if (!*all->refused) snprintf(all->refused, sizeof all->refused, "%s", c.refused);
  if (*c.why) check_fail(env, "%s", c.why);
  check_unit_end(env);
}

/* The first device of it. */
void check_driver(check_env *env, const tn_device_driver *driver) {
  char name[TN_DEVICE_NAME];
  outcome all = {.refused = ""};
  check_part(env, "driver '%s'", driver->name);
  snprintf(name, sizeof name, "%s:0", driver->name);
  if (!try_device(env, name)) return;
  const int n = CHECK_CONFORM_OPS + CHECK_CONFORM_MODELS;
  for (int k = 0; k < n + CHECK_CONFORM_DRIVER; k++) try_case(env, name, k, &all);
  if (!all.any && !env->totals->failed)
    check_skip(env, "nothing was computed on '%s': it takes none of %d operators: %.300s", name,
               CHECK_CONFORM_OPS, all.refused);
}
