/* The archive: its version, its pickles, and the files of source, which are parsed when something
 * in them is first asked for. */
#include <stdarg.h>
#include <stdio.h>

#include "base/io_memory.h"
#include "reader.h"

enum { MAX_VERSION = 10 };

/* ---- messages ---- */

tn_status(ts_fail)(ts_reader *r, tn_status code, const char *format, ...) {
  char text[500];
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  tn_text_tame_line(text, (int64_t)strlen(text));
  if (r->status) return r->status;
  r->status = code;
  if (r->n_quiet) return code;
  if (r->frame && r->at)
    return (r->host->fail)(r->source->ctx, code, "%s: %s, line %u, column %u: %s", r->source->path,
                           r->frame->source->path, (unsigned)r->at->line, (unsigned)r->at->column,
                           text);
  return (r->host->fail)(r->source->ctx, code, "%s: %s", r->source->path, text);
}

void *(ts_null)(ts_reader *r, const char *format, ...) {
  char text[500];
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, TN_ERR_UNSUPPORTED, format, args);
  va_end(args);
  ts_fail(r, TN_ERR_UNSUPPORTED, "%s", text);
  return NULL;
}

tn_status ts_no_memory(ts_reader *r) {
  return ts_fail(r, TN_ERR_MEMORY, "no memory for what the program does");
}

void *ts_alloc(ts_reader *r, uint64_t bytes) {
  void *p = r->status ? NULL : tn_arena_alloc(&r->arena, bytes);
  if (!p) ts_no_memory(r);
  return p;
}

const char *ts_format(ts_reader *r, const char *format, ...) {
  char text[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char *copy = tn_arena_str(&r->arena, text);
  if (!copy) ts_no_memory(r);
  return copy;
}

bool ts_deeper(ts_reader *r) {
  if (r->status) return false;
  if (--r->steps_left < 0)
    return ts_null(r, "the program takes more than 2000000 steps to read"), false;
  if (r->depth == TS_MAX_DEPTH)
    return ts_null(r, "calls, expressions and values are more than %d deep", TS_MAX_DEPTH), false;
  r->depth++;
  return true;
}

/* ---- members ---- */

static tn_status zip_fails(ts_reader *r, tn_status s) {
  return ts_fail(r, s, "%s", r->zip.message);
}

static tn_status member(ts_reader *r, const char *name, const uint8_t **out, uint64_t *out_size) {
  tn_zip_member *m = tn_zip_find(&r->zip, name);
  if (!m) return ts_fail(r, TN_ERR_INVALID, "the archive has no '%.200s'", name);
  *out_size = m->size;
  const tn_status s = tn_zip_bytes_to_parse(&r->zip, m, true, out);
  return s ? zip_fails(r, s) : TN_OK;
}

/* The folder of data.pkl, which everything else lies in. */
static tn_status find_top(ts_reader *r) {
  for (uint64_t k = 0; k < r->zip.n_members; k++) {
    const char *name = r->zip.members[k].name, *slash = strchr(name, '/');
    if (!slash || strcmp(slash, "/data.pkl")) continue;
    r->top = tn_arena_strn(&r->arena, name, slash - name + 1);
    return r->top ? TN_OK : ts_no_memory(r);
  }
  return ts_fail(r, TN_ERR_INVALID, "the archive has no data.pkl");
}

static tn_status read_version(ts_reader *r) {
  const uint8_t *text;
  uint64_t n;
  const char *name = ts_format(r, "%sversion", r->top);
  if (!name) return r->status;
  if (!tn_zip_find(&r->zip, name)) name = ts_format(r, "%s.data/version", r->top);
  const tn_status s = name ? member(r, name, &text, &n) : r->status;
  if (s) return s;
  for (uint64_t k = 0; k < n && k < 9 && text[k] >= '0' && text[k] <= '9'; k++)
    r->version = 10 * r->version + (text[k] - '0');
  if (r->version < 1 || r->version > MAX_VERSION)
    return ts_fail(r, TN_ERR_UNSUPPORTED, "archive version %lld; 1 to %d are read",
                   (long long)r->version, MAX_VERSION);
  return TN_OK;
}

static tn_status check_code(ts_reader *r) {
  const char *folder = ts_format(r, "%scode/", r->top);
  if (!folder) return r->status;
  for (uint64_t k = 0; k < r->zip.n_members; k++)
    if (!strncmp(r->zip.members[k].name, folder, strlen(folder))) return TN_OK;
  return ts_fail(r, TN_ERR_UNSUPPORTED,
                 "holds values (a state_dict), and no program: save the model with "
                 "torch.jit.save(torch.jit.trace(model, example), path), or export it");
}

static tn_status open_pickle(ts_reader *r, torch_pickle *p, const char *stem, torch_pickled **out) {
  p->zip = &r->zip;
  p->arena = &r->arena;
  p->member = ts_format(r, "%s%s.pkl", r->top, stem);
  p->folder = ts_format(r, "%s%s/", r->top, stem);
  const uint8_t *data;
  uint64_t size;
  tn_status s = r->status;
  if (!s) s = member(r, p->member, &data, &size);
  if (s) return s;
  s = torch_pickle_read(p, data, size, out);
  return s ? ts_fail(r, s, "%s", p->message) : TN_OK;
}

static tn_status open_archive(ts_reader *r) {
  tn_status s = tn_zip_open(&r->zip, &r->arena, r->source->data, r->source->size);
  if (s) return zip_fails(r, s);
  s = find_top(r);
  if (!s) s = check_code(r);
  if (!s) s = read_version(r);
  const char *name = s ? NULL : ts_format(r, "%sconstants.pkl", r->top);
  if (!s && name && tn_zip_find(&r->zip, name))
    s = open_pickle(r, &r->constants, "constants", &r->constant_values);
  return s;
}

/* ---- source ---- */

static int64_t count(const ts_node *n) {
  int64_t sum = 1;
  for (int32_t k = 0; n && k < n->n; k++) sum += n->items[k] ? count(n->items[k]) : 0;
  return sum;
}

static ts_source *parse(ts_reader *r, const char *path, const char *text, uint64_t size) {
  ts_source *s = ts_alloc(r, sizeof *s);
  ts_parser *p = ts_alloc(r, sizeof *p);
  if (!s || !p) return NULL;
  *p = (ts_parser){&r->arena, path, ""};
  *s = (ts_source){.path = path, .text = text, .size = size};
  const tn_status status = ts_parse(p, s);
  if (status) {
    r->at = NULL;
    ts_fail(r, status, "%s", p->message);
    return NULL;
  }
  r->n_source_nodes += count(s->module);
  if (tn_map_set(&r->files, path, (int64_t)(intptr_t)s)) {
    ts_no_memory(r);
    return NULL;
  }
  return s;
}

/* "__torch__.a.b" stands in code/__torch__/a.py. NULL without an error: there is no such file. */
static ts_source *source_of(ts_reader *r, const char *name) {
  char text[600];
  const char *dot = strrchr(name, '.');
  if (!dot) return NULL;
  snprintf(text, sizeof text, "code/%.*s.py", (int)(dot - name > 500 ? 500 : dot - name), name);
  for (char *c = text; c < text + strlen(text) - 3; c++)
    if (*c == '.') *c = '/';
  ts_source *s = (ts_source *)(intptr_t)tn_map_get(&r->files, text, 0);
  if (s) return s;
  const char *member_name = ts_format(r, "%s%s", r->top, text), *path = ts_format(r, "%s", text);
  const uint8_t *source;
  uint64_t size;
  if (!member_name || !path || !tn_zip_find(&r->zip, member_name)) return NULL;
  return member(r, member_name, &source, &size) ? NULL : parse(r, path, (const char *)source, size);
}

const ts_source *ts_source_of_text(ts_reader *r, const char *path, const char *text) {
  const ts_source *s = (const ts_source *)(intptr_t)tn_map_get(&r->files, path, 0);
  return s ? s : parse(r, path, text, strlen(text));
}

const ts_node *ts_find_global(ts_reader *r, ts_kind kind, const char *name,
                              const ts_source **out_source) {
  const ts_source *s = source_of(r, name);
  const char *dot = strrchr(name, '.');
  if (!s || !dot) return NULL;
  *out_source = s;
  return ts_find(s->module, kind, dot + 1);
}

/* ---- reading ---- */

static void open_reader(ts_reader *r, const tn_source *source, tn_graph *g) {
  r->source = source;
  r->host = source->host;
  r->api = source->host->graph;
  r->allocator = tn_source_allocator(source);
  tn_arena_init(&r->arena, &r->allocator);
  r->main = (ts_scope){g, NULL};
  r->scope = r->main_like = &r->main;
  r->steps_left = 2000000;
  r->room = (UINT64_C(64) << 20) + 256 * source->size;
  tn_map_init_borrowing(&r->files, &r->allocator);
  tn_map_init(&r->loaded, &r->allocator);
  tn_map_init(&r->tensors, &r->allocator);
  tn_map_init(&r->keys, &r->allocator);
}

static void close_reader(ts_reader *r) {
  torch_pickle_close(&r->data);
  torch_pickle_close(&r->constants);
  tn_map_free(&r->files);
  tn_map_free(&r->loaded);
  tn_map_free(&r->tensors);
  tn_map_free(&r->keys);
  tn_vec_free(&r->allocator, &r->journal);
  tn_vec_free(&r->allocator, &r->asserts);
  tn_vec_free(&r->allocator, &r->written);
  if (r->zip.arena) tn_zip_close(&r->zip);
  tn_arena_clear(&r->arena);
}

static tn_status run(ts_reader *r) {
  tn_status s = open_archive(r);
  torch_pickled *data = NULL;
  if (!s) s = open_pickle(r, &r->data, "data", &data);
  if (!s && data->kind != PICKLED_OBJECT)
    s = ts_fail(r, TN_ERR_INVALID, "%s: what it holds is no module", r->data.member);
  ts_value *module = s ? NULL : ts_load(r, data, "");
  return module ? ts_entries_read(r, module) : r->status;
}

tn_status ts_read(const tn_source *source, tn_graph *g) {
  ts_reader *r = source->host->alloc(source->ctx, sizeof *r);
  if (!r)
    return source->host->fail(source->ctx, TN_ERR_MEMORY, "%s: no memory for it", source->path);
  memset(r, 0, sizeof *r);
  open_reader(r, source, g);
  const tn_status s = run(r);
  close_reader(r);
  source->host->free(source->ctx, r);
  return s;
}
