/* Modules: what a guest's compiler makes of parts, byte codes and the names of functions in them.
 * Words of 64 bits, little-endian: the number of codes; offset and size of each; then for each
 * entry its code, and offset and size of its function's name. */
#include <string.h>

#include "litert.h"

enum { WORD = 8, ALIGNMENT = 64 };

static void put(uint8_t *at, uint64_t value) {
  for (int k = 0; k < WORD; k++) at[k] = (uint8_t)(value >> (8 * k));
}

static uint64_t get(const uint8_t *at) {
  uint64_t value = 0;
  for (int k = 0; k < WORD; k++) value |= (uint64_t)at[k] << (8 * k);
  return value;
}

static uint64_t align(uint64_t at) { return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static uint64_t head_size(uint64_t n_codes, uint64_t n_entries) {
  return (1 + 2 * n_codes + 3 * n_entries) * WORD;
}

tn_module *lrt_pack(const tn_accelerator_call *call, const tn_graph *const *parts, uint32_t n_parts,
                    const char *stamp, const lrt_code *codes, uint64_t n_codes,
                    const lrt_entry *entries) {
  uint64_t size = align(head_size(n_codes, n_parts));
  for (uint64_t k = 0; k < n_codes; k++) size = align(size + codes[k].size);
  for (uint32_t k = 0; k < n_parts; k++) size = align(size + entries[k].function_size + 1);
  tn_module *m = tn_module_new(call, parts, n_parts, LRT_FORMAT, stamp, size);
  if (!m) return NULL;
  uint8_t *bytes = tn_module_bytes(m), *word = bytes;
  uint64_t at = align(head_size(n_codes, n_parts));
  memset(bytes, 0, (size_t)size);
  put(word, n_codes);
  for (uint64_t k = 0; k < n_codes; k++) {
    put(word += WORD, at);
    put(word += WORD, codes[k].size);
    if (codes[k].size) memcpy(bytes + at, codes[k].data, (size_t)codes[k].size);
    at = align(at + codes[k].size);
  }
  for (uint32_t k = 0; k < n_parts; k++) {
    put(word += WORD, entries[k].code);
    put(word += WORD, at);
    put(word += WORD, entries[k].function_size);
    if (entries[k].function_size)
      memcpy(bytes + at, entries[k].function, (size_t)entries[k].function_size);
    at = align(at + entries[k].function_size + 1);
  }
  return m;
}

static int lies_inside(const tn_module *m, uint64_t at, uint64_t size) {
  return at <= m->size && size <= m->size - at;
}

const char *lrt_unpack(const tn_module *module, uint32_t entry, lrt_code *out_code,
                       const char **out_function) {
  const uint8_t *data = (const uint8_t *)module->data;
  const uint64_t n_codes = module->size < WORD ? 0 : get(data);
  if (n_codes > module->size / WORD || entry >= module->n_entries ||
      head_size(n_codes, module->n_entries) > module->size)
    return "the module is shorter than its lists";
  const uint8_t *row = data + head_size(n_codes, entry);
  const uint64_t code = get(row), name = get(row + WORD), name_size = get(row + 2 * WORD);
  if (code >= n_codes || !lies_inside(module, name, name_size) ||
      name + name_size >= module->size || data[name + name_size])
    return "an entry of the module lies outside it";
  const uint64_t at = get(data + (1 + 2 * code) * WORD), size = get(data + (2 + 2 * code) * WORD);
  if (!lies_inside(module, at, size)) return "a byte code of the module lies outside it";
  *out_code = (lrt_code){data + at, size};
  *out_function = (const char *)data + name;
  return NULL;
}
