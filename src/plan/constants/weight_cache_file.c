/* Reading and writing files of prepared weights. See weights_file.h; what is read are bytes of
 * others until every number in them has been checked. */
#include "plan/constants/weight_cache_file.h"

#include <string.h>
#include <sys/stat.h>

#include "tenon/kit/checked.h"

enum { ALIGNMENT = 64, WORD = 8 };
static const char magic[8] = {'T', 'N', 'w', 'e', 'i', 'g', 'h', '1'};
static const uint64_t byte_order = UINT64_C(0x0102030405060708);

typedef struct head {
  char magic[8];
  uint64_t byte_order;
  tn_digest digest; /* of the rest of the head */
  uint64_t size;    /* of the file */
  tn_weight_cache_maker maker;
  uint64_t n_sources, n_entries;
  uint64_t index_bytes; /* of sources and index, which follow the head */
  tn_digest index_digest;
} head;

typedef struct row { /* of the index; its key follows */
  uint64_t n_key, at, bytes;
  tn_digest digest;
} row;

static tn_digest digest_of_head(const head *h) {
  const size_t from = offsetof(head, size);
  return tn_digest_of((const uint8_t *)h + from, sizeof *h - from);
}

static bool is_same(tn_digest a, tn_digest b) { return a.lo == b.lo && a.hi == b.hi; }

/* ---- reading ---- */

typedef struct reader {
  const uint8_t *data;
  uint64_t size;
  uint64_t at, end;   /* of the index */
  uint64_t states_at; /* where the next state may begin */
} reader;

/* The next bytes of the index; NULL: there are not so many. */
static const void *take(reader *r, uint64_t bytes) {
  if (bytes > r->end - r->at) return NULL;
  const void *p = r->data + r->at;
  r->at += bytes;
  return p;
}

static const char *read_head(const reader *r, head *h, tn_status *out_status) {
  *out_status = TN_ERR_INVALID;
  if (r->size < sizeof *h) return "it is shorter than the head of a file of prepared weights";
  memcpy(h, r->data, sizeof *h);
  if (memcmp(h->magic, magic, sizeof magic - 1)) return "it is no file of prepared weights";
  *out_status = TN_ERR_VERSION;
  if (memcmp(h->magic, magic, sizeof magic)) return "it is of another version";
  if (h->byte_order != byte_order) return "it is from a machine with another byte order";
  *out_status = TN_ERR_INVALID;
  if (!is_same(h->digest, digest_of_head(h))) return "its head is damaged";
  if (h->size != r->size) return "it is not as long as it was written";
  if (h->index_bytes > r->size - sizeof *h || h->index_bytes % WORD) return "its index is damaged";
  if (!is_same(h->index_digest, tn_digest_of(r->data + sizeof *h, h->index_bytes)))
    return "its index is damaged";
  return NULL;
}

static const char *read_sources(reader *r, const head *h, tn_weight_cache_index *out) {
  for (uint64_t k = 0; k < h->n_sources; k++) {
    tn_weight_cache_source source;
    const void *p = take(r, sizeof source);
    if (!p) return "its list of the model's files ends early";
    memcpy(&source, p, sizeof source);
    if (tn_vec_push(out->a, &out->sources, source)) return "there is no memory to read it";
  }
  return NULL;
}

static const char *read_entry(reader *r, tn_weight_cache_index *out) {
  row w;
  const void *p = take(r, sizeof w);
  if (!p) return "its index ends early";
  memcpy(&w, p, sizeof w);
  if (w.n_key > (r->end - r->at) / WORD) return "a key in its index is too long";
  const uint64_t *key = take(r, w.n_key * WORD);
  if (w.at % ALIGNMENT || w.at < r->states_at || w.at > r->size || w.bytes > r->size - w.at)
    return "a state lies outside of it, or where another one is";
  if (!w.bytes) return "a state is empty";
  r->states_at = w.at + w.bytes;
  const tn_weight_cache_entry e = {key, (int64_t)w.n_key, r->data + w.at, w.bytes, w.digest};
  return tn_vec_push(out->a, &out->entries, e) ? "there is no memory to read it" : NULL;
}

static const char *read_all(reader *r, tn_weight_cache_index *out, tn_status *out_status) {
  head h;
  const char *wrong = read_head(r, &h, out_status);
  if (wrong) return wrong;
  out->maker = h.maker;
  r->at = sizeof h;
  r->end = r->states_at = sizeof h + h.index_bytes;
  wrong = read_sources(r, &h, out);
  for (uint64_t k = 0; k < h.n_entries && !wrong; k++) wrong = read_entry(r, out);
  if (!wrong && r->at != r->end) wrong = "its index is longer than it says";
  return wrong;
}

const char *tn_weight_cache_parse(const tn_allocator *a, const uint8_t *data, uint64_t size,
                                  tn_weight_cache_index *out, tn_status *out_status) {
  reader r = {.data = data, .size = size};
  *out = (tn_weight_cache_index){.a = a};
  const char *wrong = read_all(&r, out, out_status);
  if (wrong)
    tn_weight_cache_index_free(out);
  else
    *out_status = TN_OK;
  return wrong;
}

void tn_weight_cache_index_free(tn_weight_cache_index *index) {
  tn_vec_free(index->a, &index->sources);
  tn_vec_free(index->a, &index->entries);
  *index = (tn_weight_cache_index){.a = index->a};
}

bool tn_weight_cache_seal(uint8_t *data, uint64_t size) {
  head h;
  if (size < sizeof h) return false;
  memcpy(&h, data, sizeof h);
  memcpy(h.magic, magic, sizeof magic);
  h.byte_order = byte_order;
  h.size = size;
  if (h.index_bytes > size - sizeof h) h.index_bytes = (size - sizeof h) / WORD * WORD;
  h.index_digest = tn_digest_of(data + sizeof h, h.index_bytes);
  h.digest = digest_of_head(&h);
  memcpy(data, &h, sizeof h);
  return true;
}

/* ---- writing ---- */

/* Where the states are to be; h gets all but digests. */
static tn_status lay_out(const tn_weight_cache_index *index, head *h, uint64_t *out_at) {
  *h = (head){.byte_order = byte_order,
              .maker = index->maker,
              .n_sources = (uint64_t)index->sources.n,
              .n_entries = (uint64_t)index->entries.n};
  memcpy(h->magic, magic, sizeof magic);
  h->index_bytes = h->n_sources * sizeof(tn_weight_cache_source) + h->n_entries * sizeof(row);
  for (int64_t k = 0; k < index->entries.n; k++)
    h->index_bytes += (uint64_t)index->entries.data[k].n_key * WORD;
  h->size = sizeof *h + h->index_bytes;
  for (int64_t k = 0; k < index->entries.n; k++) {
    out_at[k] = tn_round_up(h->size, ALIGNMENT);
    if (tn_add_u64(out_at[k], index->entries.data[k].bytes, &h->size)) return TN_ERR_OVERFLOW;
  }
  return h->size > (uint64_t)INT64_MAX ? TN_ERR_OVERFLOW : TN_OK;
}

static uint8_t *put(uint8_t *to, const void *from, uint64_t bytes) {
  if (bytes) memcpy(to, from, (size_t)bytes);
  return to + bytes;
}

/* Head and index, as they are to be in the file. */
static void fill_front(const tn_weight_cache_index *index, head *h, const uint64_t *at,
                       uint8_t *front) {
  uint8_t *to = put(front + sizeof *h, index->sources.data,
                    (uint64_t)index->sources.n * sizeof *index->sources.data);
  for (int64_t k = 0; k < index->entries.n; k++) {
    const tn_weight_cache_entry *e = &index->entries.data[k];
    const row w = {(uint64_t)e->n_key, at[k], e->bytes, e->digest};
    to = put(to, &w, sizeof w);
    to = put(to, e->key, (uint64_t)e->n_key * WORD);
  }
  h->index_digest = tn_digest_of(front + sizeof *h, h->index_bytes);
  h->digest = digest_of_head(h);
  memcpy(front, h, sizeof *h);
}

static tn_status write_states(const tn_weight_cache_index *index, const uint64_t *at,
                              tn_file_writer *w, tn_diag *diag) {
  static const uint8_t zeros[ALIGNMENT];
  tn_status status = TN_OK;
  for (int64_t k = 0; k < index->entries.n && !status; k++) {
    status = tn_file_writer_write(w, zeros, at[k] - w->written, diag);
    if (!status)
      status =
          tn_file_writer_write(w, index->entries.data[k].data, index->entries.data[k].bytes, diag);
  }
  return status;
}

tn_status tn_weight_cache_write(const tn_weight_cache_index *index, const char *path, uint32_t mode,
                                tn_diag *diag) {
  tn_arena arena;
  tn_file_writer w = {.fd = -1};
  head h;
  tn_arena_init(&arena, index->a);
  uint64_t *at = tn_arena_alloc(&arena, ((uint64_t)index->entries.n + 1) * sizeof *at);
  tn_status status = at ? lay_out(index, &h, at) : TN_ERR_MEMORY;
  uint8_t *front = status ? NULL : tn_arena_alloc(&arena, sizeof h + h.index_bytes);
  if (!status && !front) status = TN_ERR_MEMORY;
  if (status) {
    tn_arena_clear(&arena);
    return tn_fail(diag, status, "no memory to write %s", path);
  }
  fill_front(index, &h, at, front);
  status = tn_file_writer_open_name(&w, index->a, path, diag);
  if (!status && fchmod(w.fd, (mode_t)mode))
    status = tn_fail(diag, TN_ERR_IO, "cannot set the permissions of %s", path);
  if (!status) status = tn_file_writer_write(&w, front, sizeof h + h.index_bytes, diag);
  if (!status) status = write_states(index, at, &w, diag);
  if (!status) status = tn_file_writer_commit(&w, diag);
  tn_file_writer_abort(&w);
  tn_arena_clear(&arena);
  return status;
}
