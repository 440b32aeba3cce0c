/* Which model LiteRT is running. Its delegates see tensors and nodes, and the options of
 * operators as structs of one version of it; but constants and names lie where the file was
 * mapped or read, and the file says all. So it is looked for around one of them, and read as any
 * .tflite file is. */
#include <stdio.h>
#include <string.h>

#include "litert.h"

/* ---- FlatBuffers, as far as the main graph's inputs and outputs ---- */

typedef struct view {
  const uint8_t *data;
  uint64_t size;
} view;

static bool word(view v, uint64_t at, uint32_t *out) {
  if (v.size < 4 || at > v.size - 4) return false;
  memcpy(out, v.data + at, 4);
  return true;
}

/* What the offset at `at` leads to. */
static bool follow(view v, uint64_t at, uint64_t *out) {
  uint32_t by;
  if (!word(v, at, &by)) return false;
  *out = at + by;
  return *out < v.size;
}

/* Where member `index` of a table stands; 0: it has none. */
static uint64_t member(view v, uint64_t table, uint32_t index) {
  uint32_t back;
  uint16_t bytes, at;
  if (!word(v, table, &back)) return 0;
  const uint64_t list = table - (uint64_t)(int64_t)(int32_t)back, entry = list + 4 + 2ull * index;
  if (list > v.size - 4) return 0;
  memcpy(&bytes, v.data + list, sizeof bytes);
  if (entry + 2 > list + bytes || entry + 2 > v.size) return 0;
  memcpy(&at, v.data + entry, sizeof at);
  return at ? table + at : 0;
}

/* A vector of 4 byte entries: where the first stands. */
static bool vector(view v, uint64_t table, uint32_t index, uint32_t *out_n, uint64_t *out_first) {
  const uint64_t at = member(v, table, index);
  uint64_t start;
  *out_n = 0;
  *out_first = 0;
  if (!at) return true;
  if (!follow(v, at, &start) || !word(v, start, out_n)) return false;
  *out_first = start + 4;
  return *out_n <= (v.size - *out_first) / 4;
}

bool litert_read(const uint8_t *data, uint64_t size, litert_graph *out) {
  const view v = {data, size};
  uint64_t model, at, first, in, outs, graph;
  *out = (litert_graph){.data = data, .size = size};
  if (size < 8 || memcmp(data + 4, "TFL3", 4) || !follow(v, 0, &model)) return false;
  if (!vector(v, model, 2, &out->n_graphs, &first) || !out->n_graphs || !follow(v, first, &graph))
    return false;
  if (!vector(v, graph, 3, &out->n_nodes, &at) ||
      !vector(v, graph, 0, &out->n_tensors, &out->tensors) ||
      !vector(v, graph, 1, &out->n_inputs, &in) || !vector(v, graph, 2, &out->n_outputs, &outs))
    return false;
  out->inputs = data + in;
  out->outputs = data + outs;
  return out->n_tensors > 0 && out->n_outputs > 0;
}

const char *litert_name(const litert_graph *g, uint32_t tensor) {
  const view v = {g->data, g->size};
  uint64_t table, text;
  uint32_t n;
  if (tensor >= g->n_tensors || !follow(v, g->tensors + 4ull * tensor, &table)) return NULL;
  const uint64_t at = member(v, table, 3);
  if (!at || !follow(v, at, &text) || !word(v, text, &n)) return NULL;
  const bool ends = n < v.size - text - 4 && !v.data[text + 4 + n];
  return ends ? (const char *)v.data + text + 4 : NULL;
}

/* ---- memory ---- */

/* The readable memory that p lies in: mappings without a gap between are one, as the system parts
 * a heap where somebody gives advice on pages of it. */
static bool find_mapping(uintptr_t p, uintptr_t *out_begin, uintptr_t *out_end) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[4400];
  bool found = false;
  *out_begin = *out_end = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    char rights[8];
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3) continue;
    const bool follows = begin == *out_end && rights[0] == 'r';
    if (found && !follows) break;
    if (!follows) *out_begin = begin;
    *out_end = rights[0] == 'r' ? end : 0;
    found = found || (rights[0] == 'r' && p >= begin && p < end);
  }
  if (maps) fclose(maps);
  return found;
}

bool litert_find(const void *inside, litert_graph *out) {
  uintptr_t begin, end;
  const uintptr_t p = (uintptr_t)inside;
  if (!find_mapping(p, &begin, &end)) return false;
  for (uintptr_t at = p & ~(uintptr_t)3; at >= begin + 4; at -= 4) {
    const uint8_t *name = (const uint8_t *)at;
    if (memcmp(name, "TFL3", 4)) continue;
    const uint8_t *data = name - 4;
    if (litert_read(data, end - (uintptr_t)data, out)) return true;
  }
  return false;
}
