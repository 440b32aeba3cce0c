/* Writing .npy files: version 1.0 of the format, row order, the byte order of this machine. */
#include <string.h>

#include "base/text.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "values.h"

enum { CHUNK = 4096 };

typedef struct writer {
  tn_file_writer file;
  const tn_tensor *t;
  tn_diag *diag;
  int64_t n;       /* elements */
  uint32_t dtype;  /* that is written */
  int64_t n_chars; /* strings: the longest one's characters, at least 1 */
} writer;

/* The type that stands for one that NumPy lacks. */
static uint32_t npy_dtype(uint32_t dtype) {
  const tn_dtype_info *info = tn_dtype(dtype);
  if (info->is_float && (info->bits < 16 || dtype == TN_BF16)) return TN_F32;
  if (info->is_int && info->bits < 8) return info->is_signed ? TN_I8 : TN_U8;
  return dtype;
}

/* ---- strings ---- */

/* The next character of UTF-8 that is known to be valid. */
static uint32_t next_char(const char *text, int64_t *at) {
  const unsigned char *p = (const unsigned char *)text + *at;
  int more = p[0] < 0x80 ? 0 : p[0] < 0xE0 ? 1 : p[0] < 0xF0 ? 2 : 3;
  uint32_t c = more ? p[0] & (0x3Fu >> more) : p[0];
  for (int k = 1; k <= more; k++) c = c << 6 | (p[k] & 0x3F);
  *at += more + 1;
  return c;
}

static tn_status measure_strings(writer *w) {
  const tn_str *s = w->t->data;
  w->n_chars = 1;
  for (int64_t k = 0; k < w->n; k++) {
    if (!tn_utf8_valid(s[k].data, s[k].size))
      return tn_fail(w->diag, TN_ERR_UNSUPPORTED, "%s: element %lld is no text in UTF-8",
                     w->file.path, (long long)k);
    int64_t n = 0;
    for (int64_t at = 0; at < s[k].size; n++) next_char(s[k].data, &at);
    if (n > w->n_chars) w->n_chars = n;
  }
  return TN_OK;
}

static tn_status write_string(writer *w, tn_str s) {
  uint32_t chars[CHUNK];
  int64_t at = 0;
  for (int64_t done = 0; done < w->n_chars;) {
    int64_t n = 0;
    for (; n < CHUNK && done < w->n_chars; n++, done++)
      chars[n] = at < s.size ? next_char(s.data, &at) : 0;
    tn_status status = tn_file_writer_write(&w->file, chars, (uint64_t)n * 4, w->diag);
    if (status) return status;
  }
  return TN_OK;
}

/* ---- elements ---- */

static tn_status write_converted(writer *w) {
  uint8_t room[CHUNK * 4];
  int64_t each = tn_dtype(w->dtype)->bits / 8;
  for (int64_t k = 0; k < w->n;) {
    int64_t n = 0;
    for (; n < CHUNK && k < w->n; n++, k++)
      tn_store_f64(w->dtype, room, n, tn_load_f64(w->t->dtype, w->t->data, k));
    tn_status status = tn_file_writer_write(&w->file, room, (uint64_t)(n * each), w->diag);
    if (status) return status;
  }
  return TN_OK;
}

static tn_status write_elements(writer *w) {
  if (w->dtype == TN_STRING) {
    tn_status status = TN_OK;
    for (int64_t k = 0; !status && k < w->n; k++)
      status = write_string(w, ((const tn_str *)w->t->data)[k]);
    return status;
  }
  if (w->dtype != w->t->dtype) return write_converted(w);
  int64_t bytes = tn_tensor_bytes(w->t);
  return bytes > 0 ? tn_file_writer_write(&w->file, w->t->data, (uint64_t)bytes, w->diag) : TN_OK;
}

/* ---- header ---- */

static void describe(const writer *w, char *buf, size_t size) {
  const tn_dtype_info *info = tn_dtype(w->dtype);
  char order = w->dtype != TN_STRING && info->bits == 8 ? '|' : TN_FLAVOUR_ENDIAN ? '>' : '<';
  char kind = info->is_float ? 'f' : info->is_complex ? 'c' : info->is_signed ? 'i' : 'u';
  if (w->dtype == TN_STRING) kind = 'U';
  if (w->dtype == TN_BOOL) kind = 'b';
  int64_t count = w->dtype == TN_STRING ? w->n_chars : (int64_t)info->bits / 8;
  snprintf(buf, size, "%c%c%lld", order, kind, (long long)count);
}

static tn_status write_header(writer *w) {
  char descr[32], head[512], dims[TN_MAX_RANK * 22] = "";
  describe(w, descr, sizeof descr);
  for (int32_t k = 0, n = 0; k < w->t->rank; k++)
    n += snprintf(dims + n, sizeof dims - (size_t)n, "%s%lld%s", k ? ", " : "",
                  (long long)w->t->shape[k], w->t->rank == 1 ? "," : "");
  int n = snprintf(head + 10, sizeof head - 10,
                   "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, dims);
  int size = (10 + n + 1 + 63) / 64 * 64; /* the elements begin at a multiple of 64 */
  memset(head + 10 + n, ' ', (size_t)(size - 10 - n));
  head[size - 1] = '\n';
  memcpy(head, "\x93NUMPY\x01\x00", 8);
  head[8] = (char)((size - 10) & 0xFF);
  head[9] = (char)((size - 10) >> 8);
  return tn_file_writer_write(&w->file, head, (uint64_t)size, w->diag);
}

tn_status cli_npy_write(const char *path, const tn_tensor *t, tn_diag *diag) {
  writer w = {.t = t, .diag = diag, .dtype = npy_dtype(t->dtype), .n = tn_tensor_elements(t)};
  if (t->kind != TN_KIND_TENSOR || t->layout != TN_PLAIN || w.n < 0)
    return tn_fail(diag, TN_ERR_INVALID, "%s: only plain tensors are written", path);
  tn_status status = tn_file_writer_open(&w.file, tn_default_allocator(), path, diag);
  if (status) return status;
  if (w.dtype == TN_STRING) status = measure_strings(&w);
  if (!status) status = write_header(&w);
  if (!status) status = write_elements(&w);
  if (!status) status = tn_file_writer_commit(&w.file, diag);
  tn_file_writer_abort(&w.file);
  return status;
}
