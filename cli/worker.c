/* tenon worker: runs a vendor's compiler, in a process of its own, for the process that started
 * it. */
#include "exec/worker.h"

#include <fcntl.h>
#include <string.h>

#include "accelerator/child.h"
#include "cli.h"

static int run(int argc, char **argv);

static const cli_option options[] = {{0}};
const cli_command cli_worker = {
    .name = "worker",
    .arguments = "",
    .summary = "runs a vendor's compiler; not to be started by hand",
    .details =
        "Tenon starts it to compile a part of a model: the request comes in descriptor 3, "
        "the\nanswer goes out by descriptor 4.",
    .options = options,
    .run = run,
    .is_hidden = true};

static bool set(void *self, int index, const char *value) {
  (void)self, (void)index, (void)value;
  cli_error("tenon worker takes no arguments");
  return false;
}

static int run(int argc, char **argv) {
  cli_parser p = {&cli_worker, argc, argv, {NULL}, 0, false};
  const int end = cli_parse(&p, set, NULL);
  if (end != CLI_END) return end;
  if (fcntl(TN_WORKER_REQUEST, F_GETFD) < 0 || fcntl(TN_WORKER_ANSWER, F_GETFD) < 0) {
    cli_error("tenon worker is started by Tenon, which hands it a request");
    return CLI_USAGE;
  }
  return tn_worker_run();
}
