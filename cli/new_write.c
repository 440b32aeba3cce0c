/* Projects out of templates: filled in next to where they belong, then moved there at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli.h"
#include "new.h"

static const char *text_of(const new_word *words, const char *key, size_t n) {
  for (; words->key; words++)
    if (strlen(words->key) == n && !memcmp(words->key, key, n)) return words->text;
  return NULL;
}

/* The text for the @KEY@ that begins at p, and its length; NULL: there is none. */
static const char *word_at(const new_word *words, const char *p, size_t *out_n) {
  const size_t n = strspn(p + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
  if (!n || p[1 + n] != '@') return NULL;
  *out_n = n + 2;
  return text_of(words, p + 1, n);
}

static void add_line(tn_text *out, const char *line, const new_word *words) {
  size_t n = 0;
  const char *whole = *line == '@' ? word_at(words, line, &n) : NULL;
  if (whole && !*whole && !line[n]) return;
  for (const char *p = line; *p;) {
    const char *text = *p == '@' ? word_at(words, p, &n) : NULL;
    if (text)
      tn_text_add(out, "%s", text);
    else
      tn_text_add_bytes(out, p, 1);
    p += text ? n : 1;
  }
  tn_text_add(out, "\n");
}

/* "WORD_test.c" -> "affine_test.c" in the folder. */
static void add_path(tn_text *out, const char *folder, const char *name, const new_word *words) {
  const size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  const char *text = text_of(words, name, n);
  tn_text_add(out, "%s/%s%s", folder, text ? text : "", text ? name + n : name);
}

static tn_status write_text(const char *path, const tn_text *text, tn_diag *diag) {
  tn_file_writer w;
  tn_status status = tn_file_writer_open(&w, tn_default_allocator(), path, diag);
  if (status) return status;
  status = tn_file_writer_write(&w, text->data, (uint64_t)text->n, diag);
  if (!status) status = tn_file_writer_commit(&w, diag);
  if (status) tn_file_writer_abort(&w);
  return status;
}

static tn_status write_file(const char *folder, const new_file *file, const char *name,
                            const new_word *words, tn_diag *diag) {
  tn_text path, text;
  tn_text_init(&path, tn_default_allocator());
  tn_text_init(&text, tn_default_allocator());
  add_path(&path, folder, name, words);
  for (const char *const *line = file->lines; *line; line++) add_line(&text, *line, words);
  tn_status status = path.status ? path.status : text.status;
  if (!status) status = write_text(tn_text_get(&path), &text, diag);
  tn_text_free(&path);
  tn_text_free(&text);
  return status;
}

/* The name of the next file of this kind; NULL: there is none. */
static const char *next_file(const char *kind, const new_file **file) {
  const size_t n = strlen(kind);
  for (; (*file)->path; (*file)++)
    if (!strncmp((*file)->path, kind, n) && (*file)->path[n] == '/') return (*file)->path + n + 1;
  return NULL;
}

static tn_status write_all(const char *kind, const char *folder, const new_word *words,
                           tn_diag *diag) {
  const new_file *file = new_files;
  tn_status status = TN_OK;
  for (const char *name; !status && (name = next_file(kind, &file)); file++)
    status = write_file(folder, file, name, words, diag);
  return status;
}

static void remove_all(const char *kind, const char *folder, const new_word *words) {
  const new_file *file = new_files;
  for (const char *name; (name = next_file(kind, &file)); file++) {
    tn_text path;
    tn_text_init(&path, tn_default_allocator());
    add_path(&path, folder, name, words);
    unlink(tn_text_get(&path));
    tn_text_free(&path);
  }
  rmdir(folder);
}

/* mkdtemp() makes a folder for its owner only. */
static bool open_to_others(const char *folder) {
  const mode_t mask = umask(0);
  umask(mask);
  return !chmod(folder, 0777 & ~mask);
}

static int fail(const char *folder) {
  cli_error("%s: cannot be made: %s", folder, strerror(errno));
  return CLI_INPUT;
}

/* Fills the folder `work`, and moves it to `folder`. */
static int fill(const char *kind, const char *work, const char *folder, const new_word *words) {
  tn_diag *diag = tn_diag_create();
  int code = CLI_OK;
  if (write_all(kind, work, words, diag)) {
    cli_print_diag(diag);
    code = CLI_INPUT;
  } else if (!open_to_others(work) || rename(work, folder)) {
    code = fail(folder);
  }
  if (code) remove_all(kind, work, words);
  tn_diag_destroy(diag);
  return code;
}

int new_write(const char *kind, const char *folder, const new_word *words) {
  struct stat info;
  if (!lstat(folder, &info)) {
    cli_error("%s: is there already; nothing was changed. --dir names another folder", folder);
    return CLI_INPUT;
  }
  tn_text work;
  tn_text_init(&work, tn_default_allocator());
  tn_text_add(&work, "%s.new-XXXXXX", folder);
  const int code =
      work.status || !mkdtemp(work.data) ? fail(folder) : fill(kind, work.data, folder, words);
  tn_text_free(&work);
  return code;
}
