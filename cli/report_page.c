/* One page of everything: report/page.html, with the other files of that folder and the JSON in
 * place of lines that name them ("@style.css@", "@data@"). */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "new.h"
#include "report.h"

static const char data_begin[] = "<script type=\"application/json\" id=\"data\">";

typedef struct page {
  tn_file_writer file;
  tn_diag *diag;
  const char *data;
  tn_status status;
} page;

static void put(page *p, const char *text) {
  if (!p->status) p->status = tn_file_writer_write(&p->file, text, strlen(text), p->diag);
}

static const new_file *find(const char *name, size_t n) {
  static const char folder[] = "report/";
  for (const new_file *f = new_files; f->path; f++) {
    const char *base = f->path + sizeof folder - 1;
    if (!strncmp(f->path, folder, sizeof folder - 1) && strlen(base) == n && !memcmp(base, name, n))
      return f;
  }
  return NULL;
}

static void put_file(page *p, const char *name, size_t n) {
  const new_file *file = find(name, n);
  if (!file && !p->status) p->status = tn_fail(p->diag, TN_ERR_INTERNAL, "a part lacks");
  for (const char *const *line = file ? file->lines : NULL; line && *line; line++) {
    const size_t length = strlen(*line);
    const bool is_place = length > 2 && **line == '@' && (*line)[length - 1] == '@';
    if (is_place && !strcmp(*line, "@data@"))
      put(p, p->data);
    else if (is_place)
      put_file(p, *line + 1, length - 2);
    else
      put(p, *line);
    put(p, "\n");
  }
}

/* ---- a report that is there already ---- */

static const char *find_text(const char *from, const char *end, const char *text) {
  const size_t n = strlen(text);
  for (; (size_t)(end - from) >= n; from++) {
    from = memchr(from, *text, (size_t)(end - from) - n + 1);
    if (!from) return NULL;
    if (!memcmp(from, text, n)) return from;
  }
  return NULL;
}

/* Its first report, behind those of the list. */
static bool take_other(const tn_mapping *file, cli_json *list) {
  const char *at = (const char *)file->data, *end = at + file->size;
  const char *begin = find_text(at, end, data_begin);
  const char *stop = begin ? find_text(begin, end, "</script>") : NULL;
  if (!stop) return false;
  begin += sizeof data_begin - 1;
  cli_json *other = cli_json_parse(begin, (size_t)(stop - begin));
  const bool is_there = other && cli_json_move(other, "report", list);
  cli_json_free(other);
  return is_there;
}

static bool add_other(const char *path, cli_json *json, tn_diag *diag) {
  tn_mapping file;
  if (tn_file_map(path, diag, &file)) return false;
  const bool is_there = take_other(&file, cli_json_array(json, "compared"));
  tn_file_unmap(&file);
  if (!is_there) tn_fail(diag, TN_ERR_INVALID, "%s: holds no page of tenon report", path);
  return is_there;
}

static tn_status write(page *p, const char *path) {
  p->status = tn_file_writer_open(&p->file, tn_default_allocator(), path, p->diag);
  if (p->status) return p->status;
  put_file(p, "page.html", strlen("page.html"));
  if (!p->status) p->status = tn_file_writer_commit(&p->file, p->diag);
  tn_file_writer_abort(&p->file);
  return p->status;
}

int report_page_write_take(cli_json *json, const char *other, const char *path) {
  page p = {.diag = tn_diag_create()};
  int code = CLI_INPUT;
  if (json && other && !add_other(other, json, p.diag)) {
    cli_json_free(json);
    json = NULL;
  }
  char *text = cli_json_line_take(json);
  p.data = text;
  if (text && !write(&p, path)) code = CLI_OK;
  cli_json_line_free(text);
  cli_print_diag(p.diag);
  tn_diag_destroy(p.diag);
  return code;
}
