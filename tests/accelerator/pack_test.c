/* Modules of the plug-in litert, read back, cut off at each byte, and with each byte of their lists
 * changed: what is answered lies inside of them, or nothing is. They end at a page that nobody may
 * read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../plugins/litert/litert.h"

static int failures;

static void expect(int is_so, const char *what, uint64_t at) {
  if (is_so) return;
  failures++;
  printf("FAILED: %s, at byte %llu\n", what, (unsigned long long)at);
}

/* ---- a host for tn_module_new() ---- */

static void *host_alloc(void *ctx, uint64_t bytes) {
  (void)ctx;
  return calloc(1, bytes);
}
static void host_free(void *ctx, void *memory) {
  (void)ctx;
  free(memory);
}
static int32_t no_ports(const tn_graph *g) {
  (void)g;
  return 0;
}

/* ---- */

/* A copy whose last byte is the last that may be read. */
static uint8_t *at_the_edge(const void *data, uint64_t size) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), room = (size + page) / page * page;
  uint8_t *memory =
      mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + room, page, PROT_NONE)) exit(2);
  return memcpy(memory + room - size, data, size);
}

static void read_all(const tn_module *m, uint64_t at) {
  const uint8_t *data = m->data;
  volatile uint8_t sum = 0;
  for (uint32_t k = 0; k < m->n_entries + 1; k++) {
    lrt_code code = {NULL, 0};
    const char *function = NULL;
    if (lrt_unpack(m, k, &code, &function)) continue;
    const uint8_t *from = code.data;
    expect(from >= data && code.size <= m->size && from + code.size <= data + m->size,
           "a code outside of the module", at);
    for (uint64_t i = 0; i < code.size; i++) sum = (uint8_t)(sum + from[i]);
    sum = (uint8_t)(sum + strlen(function));
  }
}

int main(void) {
  static const char first[] = "code of the first two", second[] = "another";
  const tn_graph_api api = {.n_inputs = no_ports, .n_outputs = no_ports};
  const tn_host host = {.graph = &api, .alloc = host_alloc, .free = host_free};
  const tn_accelerator_call call = {.host = &host};
  const tn_graph *const parts[3] = {NULL};
  const lrt_code codes[] = {{first, sizeof first}, {second, sizeof second}};
  const lrt_entry entries[] = {{0, "one", 3}, {0, "two", 3}, {1, "", 0}};
  tn_module *m = lrt_pack(&call, parts, 3, "stamp", codes, 2, entries);
  lrt_code code;
  const char *function;
  expect(!lrt_unpack(m, 1, &code, &function) && code.size == sizeof first &&
             !memcmp(code.data, first, sizeof first) && !strcmp(function, "two"),
         "entry 1 is not what was packed", 0);
  expect(!lrt_unpack(m, 2, &code, &function) && !strcmp(code.data, second) && !*function,
         "entry 2 is not what was packed", 0);
  expect(lrt_unpack(m, 3, &code, &function) != NULL, "there is an entry 3", 0);
  tn_module cut = m->size ? *m : (tn_module){.size = 0};
  for (uint64_t size = 0; size <= m->size; size++) {
    cut.data = at_the_edge(m->data, size);
    cut.size = size;
    read_all(&cut, size);
  }
  static const uint8_t values[] = {0, 1, 0x7F, 0x80, 0xFF};
  uint8_t *data = at_the_edge(m->data, m->size);
  cut.data = data;
  cut.size = m->size;
  for (uint64_t k = 0; k < m->size; k++) {
    const uint8_t old = data[k];
    for (size_t i = 0; i < sizeof values; i++) {
      data[k] = values[i];
      read_all(&cut, k);
    }
    data[k] = old;
  }
  tn_module_free(&call, m);
  printf("%d failures\n", failures);
  return failures != 0;
}
