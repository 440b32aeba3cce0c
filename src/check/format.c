/* Model formats: readers and probes on what is no model. The bytes end at an unreadable page, may
 * not be written, and nothing may be left behind. */
#include <string.h>

#include "check/check.h"

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

static void probe(check_env *env, const tn_format *format, const check_buffer *b) {
  if (!format->probe) return;
  check_doing(env, "probe()");
  const int32_t answer = format->probe(b->data, b->bytes);
  if (answer < 0 || answer > 100)
    check_fail(env, "probe() answers %d, which is not from 0 to 100", answer);
  if (format->probe(b->data, b->bytes) != answer)
    check_fail(env, "probe() does not answer the same each time");
}

static void read(check_env *env, const tn_format *format, const check_buffer *b) {
  check_allocator a;
  check_allocator_init(&a);
  if (!format->read) return;
  tn_runtime *runtime = check_runtime_new(env, UINT64_MAX, 1, &a.base);
  const tn_model_options options = {
      .head = TN_HEAD(tn_model_options), .format = format->name, .flags = TN_MODEL_GRAPH_ONLY};
  tn_model *model = NULL;
  tn_diag *diag = check_need(tn_diag_create());
  const long long before = atomic_load(&a.n_live);
  check_doing(env, "read()");
  const tn_status s =
      tn_model_load_memory(runtime, b->data, b->bytes, NULL, &options, diag, &model);
  if (s > 0 || s < TN_ERR_CANCELLED) check_fail(env, "read() answers %d, which is no status", s);
  tn_model_destroy(model);
  if (atomic_load(&a.n_live) != before)
    check_fail(env, "read(): %lld blocks of the host's memory are not given back",
               atomic_load(&a.n_live) - before);
  tn_diag_destroy(diag);
  tn_runtime_destroy(runtime);
}

void check_format(check_env *env, const tn_format *format) {
  check_part(env, "format '%s'", format->name);
  for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
    if (!check_unit_begin(env, "%s", samples[k].name)) continue;
    check_buffer *b = check_buffer_new(env, samples[k].bytes, 1, true, "the file");
    fill(&samples[k], b->data);
    check_buffer_protect(b, true);
    probe(env, format, b);
    if (check_unit_ok(env)) read(env, format, b);
    check_buffer_protect(b, false);
    check_buffer_free(env, b);
    check_unit_end(env);
  }
  check_skip(env, "not checked: reading of real models%s", format->write ? ", writing" : "");
}
