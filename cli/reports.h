/* The reports of `tenon bench` and `tenon explain` on a session that is open. */
#ifndef TN_CLI_REPORTS_H
#define TN_CLI_REPORTS_H

#include "buffers.h"
#include "json.h"

typedef struct cli_bench_view {
  const char *name; /* of the model or operator */
  bool is_op;
  const char *json; /* "-": stdout; NULL: none */
  int32_t threads;
  int64_t repeat, warm_up, nodes;
  double seconds;
  bool brief;
  const char *on_device[CLI_MAX_ON_DEVICE]; /* patterns of names; see buffers.h */
  int n_on_device;
} cli_bench_view;
#define CLI_BENCH_INIT \
  { .warm_up = 3, .seconds = 2 }

/* Times runs and prints where the time goes; answers the exit code. Inputs that are not given are
 * random. begin_ns: when loading began. */
int cli_bench_session(cli_session *s, const cli_bench_view *view, uint64_t begin_ns);

typedef struct cli_explain_view {
  const char *name;
  bool is_op;
  const char *json, *node; /* node: only steps of this node or operator; NULL: all */
  bool brief;
} cli_explain_view;

/* Prints the plan of a session that is planned or has run; answers the exit code. */
int cli_explain_session(cli_session *s, const cli_explain_view *view);

/* What `tenon explain --json` says of a step, without the kernels that were not taken; those, into
 * a list; of the plan's memory. */
cli_json *cli_step_json(cli_json *list, int32_t k, const tn_step_info *step);
void cli_refusals_json(cli_json *list, const tn_step_info *step);
void cli_memory_json(cli_json *to, const tn_plan_info *plan);

/* How long event `index` of a profile took without those that lie within it (nodes with subgraphs),
 * so that times add up. */
double cli_event_own_ns(const cli_session *s, int64_t index, const tn_profile_event *event);

#endif
