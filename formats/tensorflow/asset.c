/* Text files among the assets of a SavedModel, as columns of tables: a line is an entry, and a
 * column of it the line itself, its number, or a part between delimiters. */
#include <stdlib.h>

#include "base/text.h"
#include "reader.h"
#include "tenon/kit/text.h"

enum { WHOLE_LINE = -2, LINE_NUMBER = -1, DT_DEFAULT = 0 };

/* What the file is called, from that in the model's folder on; NULL: the model has none. */
static const char *file_of(tf_reader *r, const tf_node *name) {
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(r->meta, "asset_file_def", v));) {
    tn_str tensor = tn_proto_str(tn_proto_sub(v->message, "tensor_info"), "name");
    const char *colon = tensor.size ? memchr(tensor.data, ':', (size_t)tensor.size) : NULL;
    if (colon) tensor.size = colon - tensor.data;
    if (!tn_str_is(tensor, name->name)) continue;
    const tn_str file = tn_proto_str(v->message, "filename");
    return tn_arena_format(&r->arena, "assets/%.*s", (int)tn_min_i64(file.size, 4096), file.data);
  }
  return NULL;
}

typedef struct lines {
  tf_reader *r;
  const tf_node *reads;
  const char *path;
  const char *text;
  int64_t size, n; /* bytes, lines */
  char delimiter;
} lines;

static tn_status open_lines(lines *f, const tf_variable *table) {
  tf_reader *r = f->r;
  const uint8_t *bytes;
  uint64_t size;
  const tn_str delimiter = tf_attr_str(table->lines, "delimiter");
  f->path = r->meta ? file_of(r, table->file) : NULL;
  if (!f->path)
    return tf_node_fail(r, f->reads, TN_ERR_UNSUPPORTED,
                        "not supported: a table of a file that is not among the model's assets");
  if (!r->source->open_sibling || r->source->open_sibling(r->source->ctx, f->path, &bytes, &size) ||
      size > INT64_MAX)
    return tf_node_fail(r, f->reads, TN_ERR_NOT_FOUND, "'%.200s' cannot be opened", f->path);
  if (delimiter.size > 1 || tf_attr_int(table->lines, "offset", 0) < 0)
    return tf_node_fail(r, f->reads, TN_ERR_INVALID, "its delimiter or offset is none");
  f->text = (const char *)bytes, f->size = (int64_t)size;
  f->delimiter = delimiter.size ? *delimiter.data : '\t';
  for (int64_t k = 0; k < f->size; k++) f->n += f->text[k] == '\n' || k == f->size - 1;
  return TN_OK;
}

/* The line that begins at *at, which goes behind it. */
static tn_str take_line(const lines *f, int64_t *at) {
  const char *from = f->text + *at, *end = memchr(from, '\n', (size_t)(f->size - *at));
  const int64_t size = end ? end - from : f->size - *at;
  *at += size + 1;
  return (tn_str){from, size};
}

/* Column k of a line; false: there is none. */
static bool column_of(const lines *f, tn_str line, int64_t k, tn_str *out) {
  while (true) {
    const char *end = line.size ? memchr(line.data, f->delimiter, (size_t)line.size) : NULL;
    *out = (tn_str){line.data, end ? end - line.data : line.size};
    if (!k--) return true;
    if (!end) return false;
    line.size -= out->size + 1, line.data = end + 1;
  }
}

/* One element, of the tensor's type; false: the text is no such number. */
static bool put(const tn_tensor *t, int64_t at, tn_str text) {
  char word[64], *end = word;
  if (t->dtype == TN_STRING) return ((tn_str *)t->data)[at] = text, true;
  if (text.size < 1 || text.size >= (int64_t)sizeof word) return false;
  memcpy(word, text.data, (size_t)text.size);
  word[text.size] = 0;
  if (t->dtype == TN_I64) ((int64_t *)t->data)[at] = strtoll(word, &end, 10);
  if (t->dtype == TN_I32) ((int32_t *)t->data)[at] = (int32_t)strtol(word, &end, 10);
  if (t->dtype == TN_F32) ((float *)t->data)[at] = (float)tn_text_number(word, &end);
  return end != word && !*end;
}

/* Of an attribute's column, all lines behind the first `skipped`. */
static tn_status read_column(const lines *f, const tf_variable *table, const char *index,
                             const char *type, int64_t skipped, tn_tensor *out) {
  tf_reader *r = f->r;
  const int64_t column = tf_attr_int(table->lines, index, WHOLE_LINE), n = f->n - skipped;
  const uint32_t dtype = tf_dtype(tf_attr_int(table->table, type, DT_DEFAULT));
  tn_str *room = tn_arena_alloc(&r->arena, ((uint64_t)n + 1) * sizeof *room); /* the widest */
  if (!room) return tf_no_memory(r);
  *out = tn_tensor_make(dtype, 1, &n, room);
  if (dtype != TN_STRING && dtype != TN_I64 && dtype != TN_I32 && dtype != TN_F32)
    return tf_node_fail(r, f->reads, TN_ERR_UNSUPPORTED, "not supported: a table of such a type");
  for (int64_t k = 0, at = 0; k < f->n; k++) {
    tn_str line = take_line(f, &at), text = line;
    const int64_t to = k - skipped;
    if (to < 0) continue;
    if (column == LINE_NUMBER) {
      if (dtype != TN_I64)
        return tf_node_fail(r, f->reads, TN_ERR_INVALID, "numbers of lines are 64 bits wide");
      ((int64_t *)out->data)[to] = to;
    } else if ((column != WHOLE_LINE && !column_of(f, line, column, &text)) ||
               !put(out, to, text)) {
      return tf_node_fail(r, f->reads, TN_ERR_INVALID,
                          "line %lld of '%.200s' has no column %lld of the table's type",
                          (long long)k + 1, f->path, (long long)column);
    }
  }
  return TN_OK;
}

tn_status tf_asset_columns(tf_reader *r, const tf_node *reads, const tf_variable *table,
                           tn_tensor *keys, tn_tensor *values) {
  lines f = {.r = r, .reads = reads};
  tn_status s = open_lines(&f, table);
  if (s) return s;
  const int64_t given = tf_attr_int(table->lines, "offset", 0),
                wanted = tf_attr_int(table->lines, "vocab_size", -1),
                skipped = given < f.n ? given : f.n;
  if (wanted >= 0 && wanted < f.n - skipped) f.n = skipped + wanted;
  if ((r->room_left -= 2 * (f.n - skipped)) < 0)
    return tf_node_fail(r, reads, TN_ERR_OVERFLOW, "its table has too many lines");
  s = read_column(&f, table, "key_index", "key_dtype", skipped, keys);
  return s ? s : read_column(&f, table, "value_index", "value_dtype", skipped, values);
}
