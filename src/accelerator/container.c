/* Containers of compiled modules, little-endian:
 *   "TENONMOD", version, number of modules, size of the file, size of the index, SHA-256 of the
 *   index in hexadecimal digits | index | modules, each at a multiple of its alignment and 4096.
 * The index says of each module what it was made of and for, where it lies, the SHA-256 of its
 * bytes, and what its entries take and give. Nothing of a module is handed on before its hash was
 * compared. */
#include "accelerator/accelerator.h"
#include "accelerator/bytes.h"
#include "base/abi.h"
#include "tenon/kit/checked.h"

enum {
  VERSION = 1,
  HEAD_BYTES = 8 + 4 + 4 + 8 + 8 + TN_SHA256_TEXT - 1,
  PORT_BYTES = 8 /* at least */
};
static const char magic[8] = {'T', 'E', 'N', 'O', 'N', 'M', 'O', 'D'};

/* ---- writing ---- */

static void put_port(tn_text *to, const tn_tensor *port) {
  tn_put_u32(to, port->dtype);
  tn_put_u32(to, (uint32_t)port->rank);
  for (int32_t k = 0; k < port->rank; k++) tn_put_u64(to, (uint64_t)port->shape[k], 8);
}

static void put_entry(tn_text *to, const tn_module_entry *e) {
  tn_put_text(to, e->name);
  tn_put_text(to, e->part);
  tn_put_u32(to, (uint32_t)e->n_nodes);
  for (int32_t k = 0; k < e->n_nodes; k++) tn_put_u32(to, (uint32_t)e->nodes[k]);
  tn_put_u32(to, e->n_inputs);
  tn_put_u32(to, e->n_outputs);
  for (uint32_t k = 0; k < e->n_inputs + e->n_outputs; k++) put_port(to, &e->ports[k]);
}

static void put_module(tn_text *to, const tn_module_file *m, uint64_t offset) {
  char sha256[TN_SHA256_TEXT];
  const char *const texts[] = {m->key,           m->compiler, m->plugin, m->plugin_version,
                               m->plugin_sha256, m->format,   m->target, m->kit,
                               m->stamp};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) tn_put_text(to, texts[k]);
  tn_put_u64(to, offset, 8);
  tn_put_u64(to, m->size, 8);
  tn_put_u64(to, m->alignment, 8);
  tn_sha256_text(m->data, m->size, sha256);
  tn_put_text(to, sha256);
  tn_put_u32(to, m->n_entries);
  for (uint32_t k = 0; k < m->n_entries; k++) put_entry(to, &m->entries[k]);
}

static uint64_t unit_of(const tn_module_file *m) {
  return m->alignment > TN_CONTAINER_ALIGNMENT ? m->alignment : TN_CONTAINER_ALIGNMENT;
}

/* offsets: of the modules; the file's size is what follows the last of them. */
static void put_index(tn_text *index, const tn_module_file *const *modules, uint32_t n,
                      const uint64_t *offsets) {
  for (uint32_t k = 0; k < n; k++) put_module(index, modules[k], offsets[k]);
}

static tn_status pad(tn_write_fn write, void *ctx, uint64_t bytes) {
  static const char zeros[512];
  tn_status status = TN_OK;
  for (; bytes && !status; bytes -= bytes < sizeof zeros ? bytes : sizeof zeros)
    status = write(ctx, zeros, bytes < sizeof zeros ? bytes : sizeof zeros);
  return status;
}

/* Where modules lie does not change how long the index is. */
static tn_status place(const tn_module_file *const *modules, uint32_t n, uint64_t index_bytes,
                       uint64_t *offsets, uint64_t *out_size) {
  uint64_t at = HEAD_BYTES;
  tn_status status = tn_add_u64(at, index_bytes, &at);
  for (uint32_t k = 0; k < n && !status; k++) {
    if (at > INT64_MAX) return TN_ERR_OVERFLOW;
    offsets[k] = tn_round_up(at, unit_of(modules[k]));
    status = tn_add_u64(offsets[k], modules[k]->size, &at);
  }
  *out_size = at;
  return status;
}

static void put_head(tn_text *head, uint32_t n, uint64_t size, const tn_text *index) {
  char sha256[TN_SHA256_TEXT];
  tn_text_add_bytes(head, magic, sizeof magic);
  tn_put_u32(head, VERSION);
  tn_put_u32(head, n);
  tn_put_u64(head, size, 8);
  tn_put_u64(head, (uint64_t)index->n, 8);
  tn_sha256_text(tn_text_get(index), (uint64_t)index->n, sha256);
  tn_text_add_bytes(head, sha256, TN_SHA256_TEXT - 1);
}

static tn_status write_all(const tn_text *head, const tn_text *index,
                           const tn_module_file *const *modules, uint32_t n,
                           const uint64_t *offsets, tn_write_fn write, void *ctx) {
  uint64_t at = HEAD_BYTES + (uint64_t)index->n;
  tn_status status = head->status ? head->status : index->status;
  if (!status) status = write(ctx, head->data, (uint64_t)head->n);
  if (!status) status = write(ctx, index->data, (uint64_t)index->n);
  for (uint32_t k = 0; k < n && !status; k++) {
    status = pad(write, ctx, offsets[k] - at);
    if (!status) status = write(ctx, modules[k]->data, modules[k]->size);
    at = offsets[k] + modules[k]->size;
  }
  return status;
}

tn_status tn_container_write(const tn_allocator *a, const tn_module_file *const *modules,
                             uint32_t n_modules, tn_write_fn write, void *ctx) {
  tn_arena arena;
  tn_text head, index;
  uint64_t size = 0;
  tn_arena_init(&arena, a);
  tn_text_init(&head, a);
  tn_text_init(&index, a);
  uint64_t *offsets = tn_arena_alloc(&arena, (n_modules + 1) * sizeof *offsets);
  tn_status status = offsets ? TN_OK : TN_ERR_MEMORY;
  if (!status) put_index(&index, modules, n_modules, offsets);
  if (!status) status = place(modules, n_modules, (uint64_t)index.n, offsets, &size);
  if (!status) {
    index.n = 0;
    put_index(&index, modules, n_modules, offsets);
    put_head(&head, n_modules, size, &index);
    status = write_all(&head, &index, modules, n_modules, offsets, write, ctx);
  }
  tn_text_free(&head);
  tn_text_free(&index);
  tn_arena_clear(&arena);
  return status;
}

/* ---- reading ---- */

typedef struct reader {
  tn_cursor b;
  const uint8_t *file;
  uint64_t size, begin; /* of the file; where modules may begin */
  tn_container *to;
} reader;

static const char *read_port(reader *r, tn_tensor *port) {
  int64_t shape[TN_MAX_RANK] = {0};
  const uint32_t dtype = tn_get_u32(&r->b), rank = tn_get_u32(&r->b);
  if (r->b.is_short) return "it is cut off";
  if (dtype == TN_NONE || dtype >= TN_DTYPE_COUNT || rank > TN_MAX_RANK)
    return "an entry has a port of no type";
  for (uint32_t k = 0; k < rank; k++) shape[k] = (int64_t)tn_get_u64(&r->b, 8);
  *port = tn_tensor_make(dtype, (int32_t)rank, shape, NULL);
  return tn_tensor_bytes(port) < 0 ? "an entry has a port of no size" : NULL;
}

static const char *read_entry(reader *r, tn_module_entry *e) {
  tn_arena *arena = &r->to->arena;
  e->name = tn_get_text(&r->b);
  e->part = tn_get_text(&r->b);
  e->n_nodes = (int32_t)tn_get_count(&r->b, 4);
  e->nodes = tn_arena_alloc(arena, ((uint64_t)e->n_nodes + 1) * sizeof *e->nodes);
  if (!e->nodes) return "there is no memory to read it";
  for (int32_t k = 0; k < e->n_nodes; k++) {
    const uint32_t id = tn_get_u32(&r->b);
    if (id > INT32_MAX) return "an entry names a node that cannot be";
    e->nodes[k] = (int32_t)id;
  }
  e->n_inputs = tn_get_count(&r->b, 1);
  e->n_outputs = tn_get_count(&r->b, 1);
  const uint64_t n = (uint64_t)e->n_inputs + e->n_outputs;
  if (r->b.is_short || n > (uint64_t)(r->b.end - r->b.at) / PORT_BYTES) return "it is cut off";
  e->ports = tn_arena_alloc(arena, (n + 1) * sizeof *e->ports);
  const char *wrong = e->ports ? NULL : "there is no memory to read it";
  for (uint64_t k = 0; k < n && !wrong; k++) wrong = read_port(r, &e->ports[k]);
  return wrong;
}

static const char *check_place(const reader *r, const tn_module_file *m, uint64_t offset) {
  if (!m->alignment || m->alignment & (m->alignment - 1) || m->alignment > TN_MODULE_MAX_ALIGNMENT)
    return "a module's alignment is no power of two up to 1 MiB";
  if (offset < r->begin || offset > r->size || m->size > r->size - offset)
    return "a module lies outside of it";
  if (offset % unit_of(m)) return "a module is not aligned";
  return NULL;
}

static const char *check_hash(reader *r, const tn_module_file *m, uint32_t index,
                              const char *expected) {
  char sha256[TN_SHA256_TEXT];
  tn_sha256_text(m->data, m->size, sha256);
  if (!strcmp(sha256, expected)) return NULL;
  const char *text = tn_arena_format(&r->to->arena, "module %u: SHA-256 differs", index + 1);
  return text ? text : "SHA-256 of a module differs";
}

static const char *read_module(reader *r, uint32_t index) {
  tn_module_file *m = &r->to->modules[index];
  const char **const texts[] = {&m->key,           &m->compiler, &m->plugin, &m->plugin_version,
                                &m->plugin_sha256, &m->format,   &m->target, &m->kit,
                                &m->stamp};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) *texts[k] = tn_get_text(&r->b);
  const uint64_t offset = tn_get_u64(&r->b, 8);
  m->size = tn_get_u64(&r->b, 8);
  m->alignment = tn_get_u64(&r->b, 8);
  const char *sha256 = tn_get_text(&r->b);
  m->n_entries = tn_get_count(&r->b, 16);
  if (r->b.is_short) return "it is cut off";
  const char *wrong = check_place(r, m, offset);
  if (wrong) return wrong;
  m->data = r->file + offset;
  m->entries = tn_arena_alloc(&r->to->arena, ((uint64_t)m->n_entries + 1) * sizeof *m->entries);
  if (!m->entries) return "there is no memory to read it";
  for (uint32_t k = 0; k < m->n_entries && !wrong; k++) wrong = read_entry(r, &m->entries[k]);
  if (!wrong && r->b.is_short) wrong = "it is cut off";
  return wrong ? wrong : check_hash(r, m, index, sha256);
}

/* The head, after which r->b is the index. */
static const char *read_head(reader *r, uint32_t *out_n) {
  char sha256[TN_SHA256_TEXT];
  if (r->size < HEAD_BYTES || memcmp(r->file, magic, sizeof magic)) return "it is no container";
  r->b = (tn_cursor){r->file + sizeof magic, r->file + HEAD_BYTES, false};
  if (tn_get_u32(&r->b) != VERSION) return "it is of a version that is not known";
  *out_n = tn_get_u32(&r->b);
  const uint64_t size = tn_get_u64(&r->b, 8), index = tn_get_u64(&r->b, 8);
  if (size != r->size) return "it is cut off, or something follows it";
  if (index > r->size - HEAD_BYTES) return "its index is cut off";
  const uint8_t *expected = r->b.at, *begin = r->file + HEAD_BYTES;
  tn_sha256_text(begin, index, sha256);
  if (memcmp(sha256, expected, TN_SHA256_TEXT - 1)) return "SHA-256 of its index differs";
  r->b = (tn_cursor){begin, begin + index, false};
  r->begin = HEAD_BYTES + index;
  return NULL;
}

const char *tn_container_read(const tn_allocator *a, const uint8_t *data, uint64_t size,
                              tn_container *out) {
  reader r = {.file = data, .size = size, .to = out};
  uint32_t n = 0;
  *out = (tn_container){.n_modules = 0};
  tn_arena_init(&out->arena, a);
  const char *wrong = read_head(&r, &n);
  if (wrong) return wrong;
  if (n > (uint64_t)(r.b.end - r.b.at) / 64) return "it is cut off";
  out->modules = tn_arena_alloc(&out->arena, ((uint64_t)n + 1) * sizeof *out->modules);
  if (!out->modules) return "there is no memory to read it";
  for (uint32_t k = 0; k < n && !wrong; k++) wrong = read_module(&r, k);
  if (!wrong && r.b.at != r.b.end) wrong = "something follows its index";
  if (!wrong) out->n_modules = n;
  return wrong;
}

void tn_container_close(tn_container *c) {
  if (c->arena.a) tn_arena_clear(&c->arena);
  *c = (tn_container){.n_modules = 0};
}
