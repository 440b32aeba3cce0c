/* Outputs as .npy files, profiles as Chrome traces. */
#include "outputs.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/near.h"
#include "base/text.h"
#include "buffers.h"
#include "json.h"

enum { PATH_ROOM = 4096 };

static tn_status write_tensor(cli_session *s, const char *path, const tn_tensor *t) {
  char type[CLI_TYPE_TEXT];
  tn_status status = cli_npy_write(path, t, s->diag);
  if (!status && !s->quiet) cli_note("wrote %s: %s", path, cli_type_text(t, NULL, -1, type));
  return status;
}

static tn_status write_value(cli_session *s, const char *stem, const tn_tensor *value) {
  char path[PATH_ROOM];
  bool list = value->kind != TN_KIND_TENSOR;
  tn_status status = TN_OK;
  int64_t n = list ? tn_list_size(value) : 0;
  for (int64_t k = 0; k < n && !status; k++) {
    int size = snprintf(path, sizeof path, "%s_%lld", stem, (long long)k);
    status = size < 0 || (size_t)size >= sizeof path ? TN_ERR_OVERFLOW
                                                     : write_value(s, path, tn_list_item(value, k));
  }
  if (list) return status;
  int size = snprintf(path, sizeof path, "%s.npy", stem);
  if (size < 0 || (size_t)size >= sizeof path)
    return tn_fail(s->diag, TN_ERR_OVERFLOW, "%s: the path is too long", stem);
  return write_tensor(s, path, value);
}

/* ---- a folder ---- */

static void clean_name(const tn_model *model, int32_t k, char *buf) {
  const char *name = tn_model_output_name(model, k);
  size_t n = 0;
  for (; name[n] && n < 200; n++)
    buf[n] = isalnum((unsigned char)name[n]) || strchr("._-", name[n]) ? name[n] : '_';
  buf[n] = 0;
  if (*buf == '.') *buf = '_';
}

const char *cli_output_file_name(const tn_model *model, int32_t k, char *buf) {
  char other[CLI_FILE_NAME];
  clean_name(model, k, buf);
  bool alike = !*buf;
  for (int32_t i = 0; i < tn_model_n_outputs(model) && !alike; i++) {
    clean_name(model, i, other);
    alike = i != k && !strcmp(buf, other);
  }
  size_t n = strlen(buf);
  if (alike) snprintf(buf + n, CLI_FILE_NAME - n, "%s%d", n ? "." : "output", k);
  return buf;
}

static tn_status write_all(cli_session *s, const char *dir) {
  char name[CLI_FILE_NAME], stem[PATH_ROOM];
  tn_status status = TN_OK;
  if (mkdir(dir, 0777) && errno != EEXIST)
    return tn_fail(s->diag, TN_ERR_IO, "cannot make folder %s: %s", dir, strerror(errno));
  for (int32_t k = 0; k < tn_model_n_outputs(s->model) && !status; k++) {
    int n = snprintf(stem, sizeof stem, "%s/%s", dir, cli_output_file_name(s->model, k, name));
    if (n < 0 || (size_t)n >= sizeof stem)
      return tn_fail(s->diag, TN_ERR_OVERFLOW, "%s: the path is too long", dir);
    const tn_tensor *value = cli_output(s, k);
    status = value ? write_value(s, stem, value) : TN_ERR_IO;
  }
  return status;
}

/* ---- one file ---- */

static tn_status write_one(cli_session *s, int32_t k, const char *path) {
  const tn_tensor *value = cli_output(s, k);
  if (!value) return TN_ERR_IO;
  if (!tn_has_suffix(path, ".npy"))
    return tn_fail(s->diag, TN_ERR_UNSUPPORTED, "%s: outputs are written as .npy", path);
  if (value->kind == TN_KIND_TENSOR) return write_tensor(s, path, value);
  return tn_fail(s->diag, TN_ERR_UNSUPPORTED,
                 "%s: output '%s' is a list; name a folder instead, each item becomes a file", path,
                 tn_model_output_name(s->model, k));
}

static int32_t find_output(cli_session *s, const char *text, int n) {
  for (int32_t k = 0; k < tn_model_n_outputs(s->model); k++) {
    const char *name = tn_model_output_name(s->model, k);
    if (strlen(name) == (size_t)n && !strncmp(name, text, (size_t)n)) return k;
  }
  return -1;
}

static tn_status write_where(cli_session *s, const char *where) {
  const char *path;
  int n;
  if (cli_assignment(where, &n, &path)) {
    int32_t k = find_output(s, where, n);
    if (k >= 0) return write_one(s, k, path);
    char word[CLI_NAME_MAX], meant[TN_NEAR_TEXT];
    tn_near near;
    snprintf(word, sizeof word, "%.*s", n, where);
    tn_near_begin(&near, word);
    for (int32_t i = 0; i < tn_model_n_outputs(s->model); i++)
      tn_near_offer(&near, tn_model_output_name(s->model, i));
    return tn_fail(s->diag, TN_ERR_NOT_FOUND, "--output %s: the model has no output '%s'%s", where,
                   word, tn_near_text(&near, meant));
  }
  if (!tn_has_suffix(where, ".npy")) return write_all(s, where);
  if (tn_model_n_outputs(s->model) == 1) return write_one(s, 0, where);
  return tn_fail(s->diag, TN_ERR_INVALID,
                 "--output %s: the model has %d outputs; write NAME=%s, or name a folder", where,
                 tn_model_n_outputs(s->model), where);
}

tn_status cli_outputs_write(cli_session *s, const char *where) {
  return cli_of_file(write_where(s, where));
}

/* ---- traces ---- */

static void add_event(cli_json *events, const tn_profile_event *e, uint64_t begin_ns) {
  char name[300];
  cli_json *o = cli_json_object(events, NULL);
  size_t n = (size_t)snprintf(name, sizeof name, "%s", *e->node ? e->node : e->op);
  for (uint32_t k = 0; k < e->n_followers && n < sizeof name; k++)
    n += (size_t)snprintf(name + n, sizeof name - n, " + %s", e->followers[k]);
  cli_json_text(o, "name", name);
  cli_json_text(o, "cat", e->op);
  cli_json_text(o, "ph", "X");
  cli_json_number(o, "ts", (double)(e->begin_ns - begin_ns) / 1000);
  cli_json_number(o, "dur", (double)(e->end_ns - e->begin_ns) / 1000);
  cli_json_int(o, "pid", 1);
  cli_json_int(o, "tid", 1);
  cli_json *args = cli_json_object(o, "args");
  cli_json_text(args, "op", e->op);
  cli_json_text(args, "kernel", e->kernel);
  cli_json_int(args, "step", e->step);
  cli_json_int(args, "run", e->run);
  if (!e->n_followers) return;
  cli_json *list = cli_json_array(args, "includes"); /* run on its ranges, in its time */
  for (uint32_t k = 0; k < e->n_followers; k++) cli_json_text(list, NULL, e->followers[k]);
}

bool cli_trace_write(cli_session *s, const char *path) {
  cli_json *json = cli_json_new();
  cli_json_text(json, "displayTimeUnit", "ms");
  cli_json *events = cli_json_array(json, "traceEvents");
  uint64_t begin_ns = 0;
  for (int64_t k = 0; json && k < tn_session_n_events(s->session); k++) {
    tn_profile_event e = {.head = TN_HEAD(tn_profile_event)};
    if (tn_session_event(s->session, k, &e)) break;
    if (!k || e.begin_ns < begin_ns) begin_ns = k ? begin_ns : e.begin_ns;
    add_event(events, &e, begin_ns);
  }
  bool ok = cli_json_write_take(json, path);
  if (ok && !s->quiet) cli_note("wrote %s", path);
  return ok;
}
