/* Telling zip archives apart by the names of their members, as the central directory has them. No
 * member is opened. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/identify.h"
#include "base/text.h"

enum {
  END_BYTES = 22,       /* end of central directory, without its comment */
  END64_BYTES = 56,     /* the same of zip64 */
  LOCATOR_BYTES = 20,   /* which stands before the end and says where the end of zip64 is */
  HEADER_BYTES = 46,    /* of a member in the directory, without its name */
  MAX_COMMENT = 0xffff, /* so far before the end of the file the directory's end may stand */
  MAX_MEMBERS = 100000
};

typedef struct members {
  int64_t n, n_npy;
  bool code, pickle, archive_format, exported_program, keras_config, keras_weights, manifest;
  char model[TN_FILE_DETAIL]; /* the first member that is a model by its name */
} members;

static uint64_t number(const uint8_t *p, int n) {
  uint64_t v = 0;
  while (n-- > 0) v = v << 8 | p[n];
  return v;
}

static bool find_end(const uint8_t *data, uint64_t size, uint64_t *out) {
  for (uint64_t k = END_BYTES; k <= size && k <= END_BYTES + MAX_COMMENT; k++)
    if (!memcmp(data + size - k, "PK\5\6", 4)) {
      *out = size - k;
      return true;
    }
  return false;
}

/* Where the directory is; of archives above 4 GB another record says so. */
static bool find_directory(const uint8_t *data, uint64_t size, uint64_t *out_at, uint64_t *out_n) {
  uint64_t end;
  if (!find_end(data, size, &end)) return false;
  *out_n = number(data + end + 12, 4);
  *out_at = number(data + end + 16, 4);
  if (*out_at == UINT32_MAX && end >= LOCATOR_BYTES &&
      !memcmp(data + end - LOCATOR_BYTES, "PK\6\7", 4)) {
    const uint64_t at = number(data + end - LOCATOR_BYTES + 8, 8);
    if (size < END64_BYTES || at > size - END64_BYTES) return false;
    *out_n = number(data + at + 40, 8);
    *out_at = number(data + at + 48, 8);
  }
  return *out_at <= size && *out_n <= size - *out_at;
}

static bool ends(const char *name, const char *with) {
  const size_t n = strlen(name), k = strlen(with);
  return n > k ? name[n - k - 1] == '/' && !strcmp(name + n - k, with) : !strcmp(name, with);
}

static void note(members *m, const char *name) {
  if (tn_has_suffix(name, "/")) return;
  m->n++;
  m->n_npy += tn_has_suffix(name, ".npy");
  m->code |= strstr(name, "/code/") != NULL;
  m->pickle |= ends(name, "data.pkl");
  m->archive_format |= ends(name, "archive_format");
  m->exported_program |= ends(name, "serialized_exported_program.json");
  m->keras_config |= !strcmp(name, "config.json");
  m->keras_weights |= !strcmp(name, "model.weights.h5");
  m->manifest |= ends(name, "Manifest.json");
  if (!*m->model && (tn_has_suffix(name, ".onnx") || tn_has_suffix(name, ".tflite")))
    snprintf(m->model, sizeof m->model, "%.*s", (int)sizeof m->model - 1, name);
}

static void list(members *m, const uint8_t *p, uint64_t left) {
  char name[256];
  for (int k = 0; k < MAX_MEMBERS && left >= HEADER_BYTES && !memcmp(p, "PK\1\2", 4); k++) {
    const uint64_t n = number(p + 28, 2), rest = number(p + 30, 2) + number(p + 32, 2),
                   whole = HEADER_BYTES + n + rest;
    if (whole > left) break;
    snprintf(name, sizeof name, "%.*s", (int)n, (const char *)p + HEADER_BYTES);
    note(m, name);
    p += whole;
    left -= whole;
  }
}

const char *tn_identify_zip(const uint8_t *data, uint64_t size, char *detail) {
  members m = {0};
  uint64_t at, n;
  if (!find_directory(data, size, &at, &n)) return "zip-damaged";
  list(&m, data + at, n);
  if (m.archive_format) return "pt2";
  if (m.exported_program) return "pt2-old";
  if (m.pickle) return m.code ? "torchscript" : "state-dict";
  if (m.keras_config && m.keras_weights) return "keras";
  if (m.manifest) return "mlpackage-zip";
  if (m.n && m.n_npy == m.n) return "npz";
  if (*m.model) {
    memcpy(detail, m.model, sizeof m.model);
    return "zipped-model";
  }
  return "zip";
}
