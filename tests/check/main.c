/* The command line: check [options]. Exit code 0: all passed; 1: something failed; 2: wrong
 * usage, or the harness failed. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "device/device.h"
#include "harness/harness.h"

enum { NO_DEVICE = 77 };

static const char usage[] =
    "usage: check [options]\n"
    "  Tests every kernel of every registered operator against the operator's reference.\n"
    "  --list          names operators, their cases and kernels, and ends\n"
    "  --plugin FILE   loads this plug-in, and tests only operators that it is part of\n"
    "  --before FILE   loads this plug-in before, whose operators the kernels are for; up to 8 "
    "times\n"
    "  --family FILE   operators of this family file only (ops/softmax/softmax.yaml)\n"
    "  --op NAME       this operator only (Softmax, tenon::Cast)\n"
    "  --kernel NAME   this kernel only\n"
    "  --device NAME   runs the cases in sessions on this device (opencl:0), and nothing else\n"
    "  --isa LEVEL     this level only (none, avx2, avx512 ...)\n"
    "  --case TEXT     cases that hold this text only\n"
    "  --small         leaves out the cases marked `bench`, which are the large ones\n"
    "  --large N       about one in N of those, other ones in every run; says the seed\n"
    "  --seed N        for --large: the same ones again\n"
    "  --bench         times the cases marked `bench` instead\n"
    "  --time MS       about how long for each kernel and case (default 200)\n"
    "  --in-process    no child processes: for debuggers\n"
    "  -v              says what passed and what was left out\n";

static void list(const check_env *env) {
  const tn_registry *r = env->runtime->registry;
  for (int32_t k = 0; k < tn_registry_n_ops(r); k++) {
    const tn_opdef *op = tn_registry_op_at(r, k);
    char name[200];
    if (!check_op_wanted(env, op)) continue;
    printf("%s-%d%s\n", check_op_name(op, name, sizeof name), op->op.since,
           op->op.reference ? "" : " (no reference)");
    for (uint32_t i = 0; i < op->op.n_cases; i++) printf("  case   %s\n", op->op.cases[i]);
    const tn_kerneldef *const *kernels;
    const int32_t n = tn_registry_kernels(r, op, &kernels);
    for (int32_t i = 0; i < n; i++) printf("  kernel %s\n", kernels[i]->kernel.name);
  }
}

static const char *value_of(int argc, char **argv, int *at) {
  if (*at + 1 >= argc) check_die("%s needs a value\n%s", argv[*at], usage);
  return argv[++*at];
}

static bool flag(check_options *o, const char *name) {
  if (!strcmp(name, "--list"))
    o->list = true;
  else if (!strcmp(name, "--bench"))
    o->bench = true;
  else if (!strcmp(name, "--small"))
    o->small = true;
  else if (!strcmp(name, "--in-process"))
    o->in_process = true;
  else if (!strcmp(name, "-v"))
    o->verbose = true;
  else
    return false;
  return true;
}

static void parse(check_options *o, int argc, char **argv) {
  for (int k = 1; k < argc; k++) {
    const char *name = argv[k];
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
      fputs(usage, stdout);
      exit(0);
    }
    if (flag(o, name)) continue;
    if (!strcmp(name, "--plugin"))
      o->plugin = value_of(argc, argv, &k);
    else if (!strcmp(name, "--before") && o->n_before < CHECK_MAX_BEFORE)
      o->before[o->n_before++] = value_of(argc, argv, &k);
    else if (!strcmp(name, "--family"))
      o->family = check_family_read(value_of(argc, argv, &k), &o->family_bytes);
    else if (!strcmp(name, "--op"))
      o->op = value_of(argc, argv, &k);
    else if (!strcmp(name, "--kernel"))
      o->kernel = value_of(argc, argv, &k);
    else if (!strcmp(name, "--device"))
      o->device = value_of(argc, argv, &k);
    else if (!strcmp(name, "--isa"))
      o->isa = value_of(argc, argv, &k);
    else if (!strcmp(name, "--case"))
      o->line = value_of(argc, argv, &k);
    else if (!strcmp(name, "--large"))
      o->large = strtoull(value_of(argc, argv, &k), NULL, 10);
    else if (!strcmp(name, "--seed"))
      o->seed = strtoull(value_of(argc, argv, &k), NULL, 10);
    else if (!strcmp(name, "--time"))
      o->bench_ms = strtod(value_of(argc, argv, &k), NULL);
    else
      check_die("unknown option %s\n%s", name, usage);
  }
}

static int open_device(const check_env *env) {
  tn_device *device = NULL;
  tn_diag *diag = tn_diag_create();
  const tn_status s = tn_device_open(env->runtime->devices, env->options.device, diag, &device);
  if (s) printf("skipped: %s\n", tn_diag_text(diag));
  fflush(stdout);
  return s ? NO_DEVICE : 0;
}

/* Without the device there is nothing to be tested, which is no failure of a kernel. Asked in a
 * process of its own: threads of a driver that is opened here would be missing in those that test.
 */
static bool has_device(const check_env *env) {
  int how = 0;
  if (!env->options.device) return true;
  fflush(stdout);
  const pid_t pid = fork();
  if (!pid) _exit(open_device(env));
  return pid < 0 || waitpid(pid, &how, 0) != pid || !WIFEXITED(how) ||
         WEXITSTATUS(how) != NO_DEVICE;
}

int main(int argc, char **argv) {
  check_env env = {.options = {.bench_ms = 200}, .pipe_out = -1};
  env.options.seed = (uint64_t)tn_now_ns() % 1000000;
  parse(&env.options, argc, argv);
  check_open(&env, NULL);
  if (!has_device(&env)) {
    check_close(&env);
    return NO_DEVICE;
  }
  if (env.options.large > 1)
    printf("one in %llu of the large cases: --seed %llu\n", (unsigned long long)env.options.large,
           (unsigned long long)env.options.seed);
  if (env.options.list) {
    list(&env);
  } else {
    check_suite(&env);
    if (!env.options.bench)
      printf("%lld passed, %lld failed, %lld skipped\n", (long long)env.totals->passed,
             (long long)env.totals->failed, (long long)env.totals->skipped);
  }
  const check_totals *t = env.totals;
  const int code = t->failed                                                              ? 1
                   : !env.options.list && !env.options.bench && !t->passed && !t->skipped ? 2
                                                                                          : 0;
  if (code == 2) fputs("check: nothing was tested\n", stderr);
  check_close(&env);
  return code;
}
