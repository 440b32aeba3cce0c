/* A runtime, a model, its inputs and a session, as the options say. */
#include "open.h"

#include "base/diag.h"
#include "buffers.h"

int cli_session_fail(cli_session *s, tn_status status) {
  if (!tn_diag_count(s->diag)) cli_error("%s", tn_status_text(status));
  if (status == TN_ERR_CANCELLED) cli_note("the time of --time-limit is over");
  cli_print_diag(s->diag);
  tn_diag_clear(s->diag);
  return cli_exit_code(status);
}

bool cli_session_open(cli_session *s, const cli_common *common, const cli_feed *feed,
                      const char *path, int *out_code) {
  return cli_session_open_as(s, common, feed, path, 0, out_code);
}

bool cli_session_open_as(cli_session *s, const cli_common *common, const cli_feed *feed,
                         const char *path, uint32_t flags, int *out_code) {
  *s = (cli_session){.diag = tn_diag_create(), .common = common};
  *out_code = CLI_INPUT;
  if (!s->diag) cli_error("no memory to begin with");
  s->runtime = s->diag ? cli_runtime(common) : NULL;
  if (!s->runtime) return false;
  tn_status status = cli_load(s->runtime, common, path, flags, s->diag, &s->model);
  if (!status) status = tn_session_create(s->model, s->diag, &s->session);
  if (!status) status = cli_inputs_open(&s->inputs, s->runtime, s->model, feed, s->diag);
  if (!status && common->time_limit_s > 0 &&
      !(s->limit = cli_time_limit_start(s->session, common->time_limit_s)))
    status = tn_fail(s->diag, TN_ERR_MEMORY, "--time-limit: no thread can be had");
  if (status) *out_code = cli_session_fail(s, status);
  return status == TN_OK;
}

void cli_session_close(cli_session *s) {
  if (s->diag) cli_print_diag(s->diag); /* warnings and notes of what went well */
  cli_time_limit_end(s->limit);
  cli_buffers_close(s);
  tn_session_destroy(s->session);
  cli_inputs_free(&s->inputs);
  tn_model_destroy(s->model);
  tn_runtime_destroy(s->runtime);
  tn_diag_destroy(s->diag);
}
