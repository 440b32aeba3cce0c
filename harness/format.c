/* Model formats: readers and probes on what is no model, and on what was one: a file that the
 * format's own writer made, cut short and changed. The bytes end at an unreadable page, may not be
 * written, and nothing may be left behind. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/abi.h"
#include "exec/model.h"
#include "harness/harness.h"
#include "harness/vet.h"

enum { ALL_PREFIXES = 600, SOME_PREFIXES = 200, CHANGES = 400, MAX_FILE = 1 << 16 };

typedef struct reader { /* of the files of one unit */
  check_env *env;
  const tn_format *format;
  check_allocator allocator;
  tn_runtime *runtime; /* with the plug-in */
  tn_diag *diag;
} reader;

static void open_reader(reader *r, check_env *env, const tn_format *format) {
  memset(r, 0, sizeof *r);
  r->env = env;
  r->format = format;
  r->diag = check_need(tn_diag_create());
  check_allocator_init(&r->allocator);
  r->runtime = check_runtime_new(env, UINT64_MAX, 1, &r->allocator.base, NULL);
}

static void close_reader(reader *r) {
  check_doing(r->env, "shutdown()");
  tn_runtime_destroy(r->runtime);
  tn_diag_destroy(r->diag);
  check_doing(r->env, "%s", "");
}

/* ---- one file -------------------------------------------------------------------------------- */

static int32_t probe(const reader *r, const check_buffer *b, const char *what) {
  if (!r->format->probe) return 100;
  check_doing(r->env, "probe()%s", what);
  const int32_t answer = r->format->probe(b->data, b->bytes);
  if (answer < 0 || answer > 100)
    check_fail(r->env, "probe()%s answers %d, which is not from 0 to 100", what, answer);
  if (r->format->probe(b->data, b->bytes) != answer)
    check_fail(r->env, "probe()%s does not answer the same each time", what);
  return answer;
}

/* Constants that are not copied have to live as long as the model. */
static void look_at_constants(reader *r, const tn_model *model, const char *what) {
  const tn_graph_api *api = tn_graph_functions();
  const tn_graph *graph = tn_model_graph(model);
  volatile uint8_t sum = 0;
  check_doing(r->env, "the host, which looks at constants of read()%s", what);
  for (int32_t k = 0; k < api->n_values(graph); k++) {
    const tn_tensor *t = api->value_type(graph, k);
    if (!(api->value_flags(graph, k) & TN_VALUE_CONST) || !t->data) continue;
    const int64_t bytes = tn_storage_bytes(t);
    for (int64_t at = 0; at < bytes; at++) sum = (uint8_t)(sum + ((const uint8_t *)t->data)[at]);
  }
}

static tn_status read_model(reader *r, const check_buffer *b, const char *what) {
  if (!r->format->read) return TN_OK;
  const tn_model_options options = {
      .head = TN_HEAD(tn_model_options), .format = r->format->name, .flags = TN_MODEL_GRAPH_ONLY};
  tn_model *model = NULL;
  const long long before = atomic_load(&r->allocator.n_live);
  tn_diag_clear(r->diag);
  check_doing(r->env, "read()%s", what);
  const tn_status s =
      tn_model_load_memory(r->runtime, b->data, b->bytes, NULL, &options, r->diag, &model);
  if (!tn_is_status(s)) check_fail(r->env, "read()%s answers %d, which is no status", what, s);
  if (model) look_at_constants(r, model, what);
  tn_model_destroy(model);
  if (atomic_load(&r->allocator.n_live) != before)
    check_fail(r->env, "read()%s: %lld blocks of the host's memory are not given back", what,
               atomic_load(&r->allocator.n_live) - before);
  return s;
}

typedef struct outcome {
  int32_t probe;
  tn_status read;
} outcome;

/* what: " of ...", for messages; "" if the unit says it. */
static outcome try_file(reader *r, const uint8_t *data, uint64_t bytes, const char *what) {
  outcome o = {0, TN_OK};
  check_buffer *b = check_buffer_new(r->env, bytes, 1, true, "the file");
  if (bytes) memcpy(b->data, data, bytes);
  check_buffer_protect(b, true);
  o.probe = probe(r, b, what);
  if (check_unit_ok(r->env)) o.read = read_model(r, b, what);
  check_buffer_protect(b, false);
  check_buffer_free(r->env, b);
  return o;
}

/* ---- what is no model ------------------------------------------------------------------------ */

typedef struct sample {
  const char *name;
  uint64_t bytes;
  int fill; /* a byte; -1: chance; -2: text */
} sample;

static const sample samples[] = {{"no bytes", 0, 0},
                                 {"one byte", 1, 0x0a},
                                 {"4096 zeros", 4096, 0},
                                 {"4096 bytes 0xff", 4096, 0xff},
                                 {"100 random bytes", 100, -1},
                                 {"70000 random bytes", 70000, -1},
                                 {"text", 1000, -2}};

static void fill(const sample *s, uint8_t *to) {
  static const char words[] = "{\"model\": [1, 2, 3]}\n";
  uint64_t seed = s->bytes;
  for (uint64_t k = 0; k < s->bytes; k++) {
    if (s->fill >= 0)
      to[k] = (uint8_t)s->fill;
    else
      to[k] = s->fill == -1 ? (uint8_t)check_random(&seed) : (uint8_t)words[k % (sizeof words - 1)];
  }
}

static void try_junk(check_env *env, const tn_format *format) {
  for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
    if (!check_unit_begin(env, "%s", samples[k].name)) continue;
    reader r;
    uint8_t *bytes = check_need(tn_alloc(tn_default_allocator(), samples[k].bytes + 1));
    open_reader(&r, env, format);
    fill(&samples[k], bytes);
    if (try_file(&r, bytes, samples[k].bytes, "").probe == 100 && format->probe)
      check_fail(env, "probe() is sure of what is no model");
    tn_free(tn_default_allocator(), bytes, samples[k].bytes + 1);
    close_reader(&r);
    check_unit_end(env);
  }
}

/* A file of the format that ships must not go to this one. */
static void try_foreign(check_env *env, const tn_format *format) {
  const tn_format *onnx = tn_registry_format(env->runtime->registry, "onnx");
  check_sample file = {.bytes = 0};
  if (!format->probe || !onnx || onnx == format || !onnx->probe || !onnx->write) return;
  if (!check_unit_begin(env, "a file of format onnx")) return;
  check_sample_write(env, onnx, &file);
  check_doing(env, "probe()");
  const int32_t answer = file.bytes ? format->probe(file.data, file.bytes) : 0;
  if (file.bytes && answer >= onnx->probe(file.data, file.bytes))
    check_fail(env, "probe() answers %d, and would take files of that format", answer);
  check_sample_free(&file);
  check_unit_end(env);
}

/* ---- single values --------------------------------------------------------------------------- */

static tn_status drop_tensor(void *ctx, const char *name, const tn_tensor *tensor) {
  return (void)ctx, (void)name, (void)tensor, TN_OK;
}

static tn_status drop_begin(void *ctx, const char *name, const tn_tensor *type) {
  return (void)ctx, (void)name, (void)type, TN_OK;
}

static tn_status drop_end(void *ctx) { return (void)ctx, TN_OK; }

static tn_status no_sibling(void *ctx, const char *path, const uint8_t **out_data,
                            uint64_t *out_size) {
  return (void)ctx, (void)path, (void)out_data, (void)out_size, TN_ERR_UNSUPPORTED;
}

/* On bytes that end at an unreadable page, and may not be written. */
static void try_bytes(reader *r, const uint8_t *data, uint64_t bytes, uint32_t kind) {
  check_buffer *b = check_buffer_new(r->env, bytes, 1, true, "the file");
  tn_io io = {.a = tn_default_allocator(), .diag = r->diag, .path = "a value"};
  const tn_source source = {.head = TN_HEAD(tn_source),
                            .host = &tn_io_host,
                            .ctx = &io,
                            .self = tn_registry_format_self(r->format),
                            .path = io.path,
                            .data = bytes ? b->data : NULL,
                            .size = bytes,
                            .open_sibling = no_sibling};
  const tn_value_sink sink = {
      .head = TN_HEAD(tn_value_sink), .tensor = drop_tensor, .begin = drop_begin, .end = drop_end};
  if (bytes) memcpy(b->data, data, bytes);
  check_buffer_protect(b, true);
  check_doing(r->env, "read_value() of kind %u", kind);
  const tn_status s = r->format->read_value(&source, kind, &sink);
  if (!tn_is_status(s)) check_fail(r->env, "read_value() answers %d, which is no status", s);
  check_buffer_protect(b, false);
  check_buffer_free(r->env, b);
}

/* In a file of no folder. */
static void try_value(reader *r, const uint8_t *data, uint64_t bytes, uint32_t kind) {
  const int fd = memfd_create("value", MFD_CLOEXEC);
  char path[64];
  tn_tensor *value = NULL;
  if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes) check_die("no file");
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const long long before = atomic_load(&r->allocator.n_live);
  tn_diag_clear(r->diag);
  check_doing(r->env, "read_value() of kind %u", kind);
  const tn_status s =
      tn_value_load(r->runtime, path, r->format->name, kind, r->diag, &value, NULL, 0);
  if (!tn_is_status(s)) check_fail(r->env, "read_value() answers %d, which is no status", s);
  if (s == TN_ERR_INTERNAL) check_fail(r->env, "read_value(): %s", tn_diag_text(r->diag));
  tn_value_destroy(value);
  if (atomic_load(&r->allocator.n_live) != before)
    check_fail(r->env, "read_value(): blocks of the host's memory are not given back");
  close(fd);
}

static void try_values(check_env *env, const tn_format *format) {
  enum { PAGE = 4096 };
  if (!format->read_value || !check_unit_begin(env, "single values")) return;
  reader r;
  uint8_t *bytes = check_need(tn_alloc(tn_default_allocator(), PAGE));
  open_reader(&r, env, format);
  for (size_t k = 0; k < sizeof samples / sizeof *samples; k++)
    for (uint32_t kind = TN_KIND_TENSOR; kind <= TN_KIND_MAP && check_unit_ok(env); kind++) {
      if (samples[k].bytes > PAGE) continue;
      fill(&samples[k], bytes);
      try_bytes(&r, bytes, samples[k].bytes, kind);
      if (check_unit_ok(env)) try_value(&r, bytes, samples[k].bytes, kind);
    }
  tn_free(tn_default_allocator(), bytes, PAGE);
  close_reader(&r);
  check_unit_end(env);
}

/* ---- what was a model ------------------------------------------------------------------------ */

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Lengths that a file is cut to: all at first, then some, the last ones again. */
static uint64_t next_length(uint64_t n, uint64_t size) {
  if (n < ALL_PREFIXES || size - n <= 16) return n + 1;
  const uint64_t step = (size - ALL_PREFIXES) / SOME_PREFIXES + 1;
  return least(n + step, size - 16);
}

static void cut_short(reader *r, const check_sample *file) {
  for (uint64_t n = 0; n < file->bytes && check_unit_ok(r->env); n = next_length(n, file->bytes)) {
    char what[64];
    snprintf(what, sizeof what, " of the first %llu of its %llu bytes", (unsigned long long)n,
             (unsigned long long)file->bytes);
    try_file(r, file->data, n, what);
  }
}

/* One change of a copy of the file: bytes, numbers at the limits, pieces that are gone or there
 * twice. Answers the new length; room for twice as much is there. */
static uint64_t change(uint8_t *data, uint64_t n, uint64_t *seed) {
  static const uint32_t numbers[] = {0,      1,      0x7f,       0x80,      0xff,
                                     0x7fff, 0xffff, 0x7fffffff, 0xffffffff};
  const uint64_t at = check_random(seed) % n, more = 1 + check_random(seed) % 8;
  const uint64_t piece = least(more, n - at);
  uint32_t number = numbers[check_random(seed) % (sizeof numbers / sizeof *numbers)];
  switch (check_random(seed) % 5) {
    case 0: data[at] = (uint8_t)(data[at] ^ 1u << check_random(seed) % 8); return n;
    case 1: data[at] = (uint8_t)check_random(seed); return n;
    case 2: memcpy(data + at, &number, (size_t)least(sizeof number, n - at)); return n;
    case 3: memmove(data + at, data + at + piece, (size_t)(n - at - piece)); return n - piece;
    default: memmove(data + at + piece, data + at, (size_t)(n - at)); return n + piece;
  }
}

static void changed(reader *r, const check_sample *file) {
  uint8_t *copy = check_need(tn_alloc(tn_default_allocator(), 2 * file->bytes + 64));
  for (uint64_t k = 1; k <= CHANGES && check_unit_ok(r->env); k++) {
    char what[64];
    uint64_t seed = k, n = file->bytes;
    memcpy(copy, file->data, file->bytes);
    for (uint64_t times = 1 + k % 3; times && n; times--) n = change(copy, n, &seed);
    snprintf(what, sizeof what, " of its file with change %llu", (unsigned long long)k);
    try_file(r, copy, n, what);
  }
  tn_free(tn_default_allocator(), copy, 2 * file->bytes + 64);
}

static void whole(reader *r, const check_sample *file) {
  const outcome o = try_file(r, file->data, file->bytes, " of what write() made");
  if (o.read) check_fail(r->env, "read() of what write() made fails: %s", tn_diag_text(r->diag));
  if (!o.probe) check_fail(r->env, "probe() does not know what write() made");
}

static void try_own(check_env *env, const tn_format *format, const check_sample *file) {
  static const struct {
    const char *name;
    void (*test)(reader *r, const check_sample *file);
  } tests[] = {{"its own file", whole},
               {"its own file, cut short", cut_short},
               {"its own file, changed", changed}};
  for (size_t k = 0; k < sizeof tests / sizeof *tests; k++) {
    reader r;
    if (!check_unit_begin(env, "%s", tests[k].name)) continue;
    open_reader(&r, env, format);
    tests[k].test(&r, file);
    close_reader(&r);
    check_unit_end(env);
  }
}

/* Also when it was made before a crash: what follows needs it. */
static void make_file(check_env *env, const tn_format *format, check_sample *file) {
  const bool fresh = check_unit_begin(env, "write()");
  if (!fresh && check_unit_lost(env)) return;
  check_sample_write(env, format, file);
  if (fresh) check_unit_end(env);
}

void check_format(check_env *env, const tn_format *format) {
  check_sample file = {.bytes = 0};
  check_part(env, "format '%s'", format->name);
  try_junk(env, format);
  try_foreign(env, format);
  try_values(env, format);
  if (format->write) make_file(env, format, &file);
  if (file.bytes > 0 && file.bytes <= MAX_FILE) try_own(env, format, &file);
  if (!format->write)
    check_skip(env, "not checked: reading of real models; it has no writer that could make one");
  else if (!file.bytes)
    check_skip(env,
               "not checked: reading of real models; write() makes no file of a small graph%s%s",
               *file.why ? ": " : "", file.why);
  else if (file.bytes > MAX_FILE)
    check_skip(env, "not checked: changed files; write() makes %llu bytes of a small graph",
               (unsigned long long)file.bytes);
  check_sample_free(&file);
}
