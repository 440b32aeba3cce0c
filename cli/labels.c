/* Names of the classes of an output, from a file of labels that is packed into the model. */
#include "labels.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/zip.h"

enum { MOST_BYTES = 4 << 20 };

/* The member whole, with a 0 behind it; NULL: there is none that is as it should be. */
static char *read_member(const tn_allocator *a, const char *path, const char *member,
                         uint64_t *out_n) {
  char *text = NULL;
  const uint8_t *bytes;
  tn_mapping file;
  tn_arena arena;
  tn_zip zip;
  if (tn_file_map(path, NULL, &file)) return NULL;
  tn_arena_init(&arena, a);
  tn_zip_member *m =
      tn_zip_open(&zip, &arena, file.data, file.size) ? NULL : tn_zip_find(&zip, member);
  if (m && m->size <= MOST_BYTES && !tn_zip_bytes(&zip, m, true, &bytes))
    text = tn_alloc(a, m->size + 1);
  if (text) memcpy(text, bytes, m->size);
  if (text) text[m->size] = 0, *out_n = m->size;
  tn_zip_close(&zip);
  tn_arena_clear(&arena);
  tn_file_unmap(&file);
  return text;
}

void cli_labels_open(cli_labels *l, const tn_model *model, const char *path, int32_t output) {
  char key[40];
  memset(l, 0, sizeof *l);
  snprintf(key, sizeof key, "output_%d_labels", output);
  const char *member = tn_model_meta(model, key);
  if (member && *member) l->text = read_member(tn_default_allocator(), path, member, &l->bytes);
}

void cli_labels_close(cli_labels *l) {
  if (l->text) tn_free(tn_default_allocator(), l->text, l->bytes + 1);
  l->text = NULL;
}

const char *cli_label(const cli_labels *l, int64_t index, char *buf, size_t size) {
  const char *line = l ? l->text : NULL;
  *buf = 0;
  for (int64_t k = 0; line && k < index; k++) {
    line = strchr(line, '\n');
    line = line ? line + 1 : NULL;
  }
  if (!line) return buf;
  const size_t n = strcspn(line, "\r\n");
  if (tn_utf8_valid(line, (int64_t)n)) snprintf(buf, size, "%.*s", (int)n, line);
  return buf;
}
