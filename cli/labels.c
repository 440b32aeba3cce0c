/* Names of the classes of an output, from a file of labels that is packed into the model. */
#include "labels.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#if TENON_LIBZIP
#include <zip.h>

enum { MOST_BYTES = 4 << 20 };

/* The member whole, with a 0 behind it; NULL: there is none that is as it should be. */
static char *read_member(const tn_allocator *a, const char *path, const char *member,
                         uint64_t *out_n) {
  char *text = NULL;
  zip_stat_t st;
  zip_t *zip = zip_open(path, ZIP_RDONLY, NULL);
  zip_file_t *f = zip ? zip_fopen(zip, member, 0) : NULL;
  if (f && !zip_stat(zip, member, 0, &st) && st.valid & ZIP_STAT_SIZE && st.size <= MOST_BYTES)
    text = tn_alloc(a, st.size + 1);
  if (text && zip_fread(f, text, st.size) != (zip_int64_t)st.size) {
    tn_free(a, text, st.size + 1);
    text = NULL;
  }
  if (text) text[st.size] = 0;
  if (text) *out_n = st.size;
  if (f) zip_fclose(f);
  if (zip) zip_discard(zip);
  return text;
}
#else
static char *read_member(const tn_allocator *a, const char *path, const char *member,
                         uint64_t *out_n) {
  (void)a, (void)path, (void)member, (void)out_n;
  return NULL;
}
#endif

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
