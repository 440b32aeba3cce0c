/* The table of measured costs, and its files of text: a line for each kernel on each kind of node,
 * "nanoseconds<tab>key", between a first line with the version of the keys and a last one that
 * shows that nothing was cut off. See tuning.h. */
#include "plan/tuning/tuning.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/text.h"

enum { MAX_FILE = 256 << 20, MAX_KEY = 16 << 10 };
enum { VERSION = 3 }; /* 1: keys had neither domain nor device; 2: files had no last line */
static const char mark[] = "# Tenon tuning ", last[] = "# end\n";

typedef struct entry {
  const char *key; /* in the map */
  uint64_t ns;
} entry;

struct tn_tuning {
  const tn_allocator *a;
  pthread_mutex_t lock, timing;
  atomic_bool measures, used;
  tn_arena keys;
  tn_map at; /* key -> index */
  TN_VEC(entry) entries;
};

tn_status tn_tuning_create(const tn_allocator *a, tn_tuning **out_tuning) {
  tn_tuning *t = tn_alloc(a, sizeof *t);
  *out_tuning = NULL;
  if (!t) return TN_ERR_MEMORY;
  t->a = a;
  atomic_init(&t->measures, false);
  atomic_init(&t->used, false);
  if (pthread_mutex_init(&t->lock, NULL)) {
    tn_free(a, t, sizeof *t);
    return TN_ERR_MEMORY;
  }
  if (pthread_mutex_init(&t->timing, NULL)) {
    pthread_mutex_destroy(&t->lock);
    tn_free(a, t, sizeof *t);
    return TN_ERR_MEMORY;
  }
  tn_arena_init(&t->keys, a);
  tn_map_init(&t->at, a);
  *out_tuning = t;
  return TN_OK;
}

void tn_tuning_destroy(tn_tuning *t) {
  if (!t) return;
  tn_map_free(&t->at);
  tn_vec_free(t->a, &t->entries);
  tn_arena_clear(&t->keys);
  pthread_mutex_destroy(&t->timing);
  pthread_mutex_destroy(&t->lock);
  tn_free(t->a, t, sizeof *t);
}

tn_status tn_tuning_measure(tn_tuning *t, bool on) {
  atomic_store(&t->measures, on);
  return TN_OK;
}

bool tn_tuning_measures(const tn_tuning *t) { return atomic_load(&t->measures); }

void tn_tuning_begin(tn_tuning *t) { pthread_mutex_lock(&t->timing); }

void tn_tuning_end(tn_tuning *t) { pthread_mutex_unlock(&t->timing); }

/* ---- entries ---- */

uint64_t tn_tuning_find(tn_tuning *t, const char *key) {
  pthread_mutex_lock(&t->lock);
  const int64_t at = tn_map_get(&t->at, key, -1);
  const uint64_t ns = at < 0 ? 0 : t->entries.data[at].ns;
  pthread_mutex_unlock(&t->lock);
  if (ns) atomic_store(&t->used, true);
  return ns;
}

bool tn_tuning_used(const tn_tuning *t) { return atomic_load(&t->used); }

int64_t tn_tuning_n(tn_tuning *t) {
  pthread_mutex_lock(&t->lock);
  const int64_t n = t->entries.n;
  pthread_mutex_unlock(&t->lock);
  return n;
}

const char *tn_tuning_key(tn_tuning *t, int64_t index) {
  pthread_mutex_lock(&t->lock);
  const char *key = t->entries.data[index].key;
  pthread_mutex_unlock(&t->lock);
  return key;
}

/* The lock is held. */
static tn_status set(tn_tuning *t, const char *key, uint64_t ns) {
  const int64_t at = tn_map_get(&t->at, key, -1);
  if (at >= 0) {
    t->entries.data[at].ns = ns;
    return TN_OK;
  }
  const entry e = {tn_arena_str(&t->keys, key), ns};
  if (!e.key || tn_vec_push(t->a, &t->entries, e)) return TN_ERR_MEMORY;
  const tn_status status = tn_map_set(&t->at, key, t->entries.n - 1);
  if (status) t->entries.n--;
  return status;
}

tn_status tn_tuning_set(tn_tuning *t, const char *key, uint64_t ns) {
  pthread_mutex_lock(&t->lock);
  const tn_status status = set(t, key, ns ? ns : 1);
  pthread_mutex_unlock(&t->lock);
  return status;
}

/* ---- files ---- */

typedef struct line {
  const char *data;
  uint64_t size;
  uint64_t ns;
  uint64_t key; /* where it begins */
} line;

/* "1234<tab>key": NULL, or what is wrong. */
static const char *read_line(line *l) {
  if (l->size > MAX_KEY) return "is too long";
  if (!tn_utf8_valid(l->data, (int64_t)l->size)) return "is not UTF-8";
  for (l->key = 0; l->key < l->size && l->data[l->key] >= '0' && l->data[l->key] <= '9'; l->key++) {
    if (l->ns > UINT64_MAX / 100) return "begins with a number that is too large";
    l->ns = l->ns * 10 + (uint64_t)(l->data[l->key] - '0');
  }
  if (!l->ns) return "does not begin with nanoseconds";
  if (l->key == l->size || l->data[l->key] != '\t') return "has no tab behind its nanoseconds";
  if (++l->key == l->size) return "names no kernel";
  for (uint64_t k = l->key; k < l->size; k++)
    if ((unsigned char)l->data[k] < ' ') return "has control characters";
  return NULL;
}

static tn_status keep(tn_tuning *t, const line *l) {
  char key[MAX_KEY + 1];
  memcpy(key, l->data + l->key, l->size - l->key);
  key[l->size - l->key] = 0;
  return set(t, key, l->ns);
}

/* Goes through all lines; first to see whether they are good, then to keep them. */
static tn_status each_line(tn_tuning *t, const char *name, const char *data, uint64_t size,
                           bool keeps, tn_diag *diag) {
  int64_t number = 0;
  for (const char *end = data + size; data < end; number++) {
    const char *stop = memchr(data, '\n', (uint64_t)(end - data));
    line l = {.data = data, .size = (uint64_t)((stop ? stop : end) - data)};
    data = stop ? stop + 1 : end;
    if (!number || !l.size || *l.data == '#') continue;
    const char *wrong = read_line(&l);
    if (wrong)
      return tn_fail(diag, TN_ERR_INVALID, "%s: line %lld %s", name, (long long)number + 1, wrong);
    if (keeps && keep(t, &l)) return tn_fail(diag, TN_ERR_MEMORY, "no memory to read %s", name);
  }
  return TN_OK;
}

/* The version in the first line; 0: there is none. Of a version beyond 9999 the beginning. */
static int32_t read_version(const char *text, uint64_t size) {
  const size_t n = sizeof mark - 1;
  int32_t version = 0;
  if (size < n || memcmp(text, mark, n)) return 0;
  for (uint64_t k = n; k < size && k < n + 4 && text[k] >= '0' && text[k] <= '9'; k++)
    version = version * 10 + (text[k] - '0');
  return version;
}

tn_status tn_tuning_parse(tn_tuning *t, const char *name, const uint8_t *data, uint64_t size,
                          tn_diag *diag) {
  const char *text = (const char *)data;
  const int32_t version = read_version(text, size);
  if (!version)
    return tn_fail(diag, TN_ERR_INVALID,
                   "%s: is no file of Tenon's tuning: its first line is not '%s%d'", name, mark,
                   VERSION);
  if (version != VERSION)
    return tn_fail(diag, TN_ERR_INVALID,
                   "%s: is a file of version %d of Tenon's tuning; this Tenon reads version %d, so "
                   "kernels have to be timed anew",
                   name, version, VERSION);
  const size_t n = sizeof last - 1;
  if (size < n || memcmp(text + size - n, last, n))
    return tn_fail(diag, TN_ERR_INVALID, "%s: is cut off: its last line is not '%.*s'", name,
                   (int)n - 1, last);
  tn_status status = each_line(t, name, text, size, false, diag);
  if (status) return status;
  pthread_mutex_lock(&t->lock);
  status = each_line(t, name, text, size, true, diag);
  pthread_mutex_unlock(&t->lock);
  return status;
}

tn_status tn_tuning_read(tn_tuning *t, const char *path, tn_diag *diag) {
  tn_mapping file;
  tn_status status = tn_file_map(path, diag, &file);
  if (status) return status;
  if (file.size > MAX_FILE)
    status = tn_fail(diag, TN_ERR_INVALID, "%s: is larger than any file of tuning", path);
  else
    status = tn_tuning_parse(t, path, file.data, file.size, diag);
  tn_file_unmap(&file);
  return status;
}

static void add_entries(tn_tuning *t, tn_text *text) {
  pthread_mutex_lock(&t->lock);
  for (int64_t k = 0; k < t->entries.n; k++)
    tn_text_add(text, "%llu\t%s\n", (unsigned long long)t->entries.data[k].ns,
                t->entries.data[k].key);
  pthread_mutex_unlock(&t->lock);
}

tn_status tn_tuning_write(tn_tuning *t, const char *path, tn_diag *diag) {
  tn_text text;
  tn_file_writer w;
  tn_text_init(&text, t->a);
  tn_text_add(&text, "%s%d: nanoseconds, kernel, what it was timed on\n", mark, VERSION);
  add_entries(t, &text);
  tn_text_add(&text, "%s", last);
  tn_status status = text.status;
  if (status) {
    tn_fail(diag, status, "no memory to write %s", path);
  } else if (!(status = tn_file_writer_open(&w, t->a, path, diag))) {
    status = tn_file_writer_write(&w, text.data, (uint64_t)text.n, diag);
    if (!status) status = tn_file_writer_commit(&w, diag);
    tn_file_writer_abort(&w);
  }
  tn_text_free(&text);
  return status;
}
