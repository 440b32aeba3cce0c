/* Fuzzing files of prepared weights: any bytes are a file, or refused with a reason and nothing
 * taken. What is taken lies within the bytes, and written and read again it is the same. Bytes are
 * tried as they are, and with the digests of head and index set right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/constants/weight_cache_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *rule) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s\n", rule);
  abort();
}

static void check_inside(const tn_weight_cache_index *index, const uint8_t *data, size_t size) {
  const uint8_t *end = data;
  for (int64_t k = 0; k < index->entries.n; k++) {
    const tn_weight_cache_entry *e = &index->entries.data[k];
    require(e->data >= end && e->data <= data + size, "states are inside, in order, apart");
    require(e->bytes && e->bytes <= (size_t)(data + size - e->data), "states are inside");
    require(((size_t)(e->data - data) & 63) == 0, "states are aligned");
    const uint8_t *key = (const uint8_t *)e->key;
    require(key >= data && key <= data + size, "keys are inside");
    require((uint64_t)e->n_key <= (size_t)(data + size - key) / sizeof *e->key, "keys are inside");
    end = e->data + e->bytes;
  }
}

static void write_and_read(const tn_weight_cache_index *index) {
  char path[] = "/tmp/fuzz_weights_XXXXXX";
  const tn_allocator *a = tn_default_allocator();
  tn_weight_cache_index again;
  tn_mapping file;
  tn_status status;
  const int fd = mkstemp(path);
  require(fd >= 0, "there is room");
  close(fd);
  require(!tn_weight_cache_write(index, path, 0600, NULL), "what was read can be written");
  require(!tn_file_map(path, NULL, &file), "and is there");
  require(!tn_weight_cache_parse(a, file.data, file.size, &again, &status), "and can be read");
  require(!memcmp(&again.maker, &index->maker, sizeof again.maker), "of the same maker");
  require(again.sources.n == index->sources.n, "no file is lost");
  require(again.entries.n == index->entries.n, "no state is lost");
  for (int64_t k = 0; k < again.entries.n; k++) {
    const tn_weight_cache_entry *x = &again.entries.data[k], *y = &index->entries.data[k];
    require(x->n_key == y->n_key && x->bytes == y->bytes, "sizes are the same");
    require(!memcmp(x->key, y->key, (size_t)x->n_key * sizeof *x->key), "keys are the same");
    require(!memcmp(x->data, y->data, (size_t)x->bytes), "states are the same");
  }
  unlink(path);
  tn_weight_cache_index_free(&again);
  tn_file_unmap(&file);
}

static void parse(const uint8_t *data, size_t size) {
  tn_weight_cache_index index;
  tn_status status = TN_OK;
  const char *wrong = tn_weight_cache_parse(tn_default_allocator(), data, size, &index, &status);
  require(!wrong == !status, "what is refused is refused with a reason");
  require(!wrong || (!index.sources.n && !index.entries.n), "nothing is taken of it");
  check_inside(&index, data, size);
  if (!wrong) write_and_read(&index);
  tn_weight_cache_index_free(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *copy = aligned_alloc(64, (size + 64) / 64 * 64);
  require(copy != NULL, "there is memory");
  if (size) memcpy(copy, data, size);
  parse(copy, size);
  if (tn_weight_cache_seal(copy, size)) parse(copy, size);
  free(copy);
  return 0;
}
