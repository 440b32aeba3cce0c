/* Fuzzing the parser of TorchScript's source: arbitrary bytes. A file that is not understood has a
 * message with a place; of one that is, every node has a place in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torchscript/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok, const char *rule) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s\n", rule);
  abort();
}

static void look(const ts_node *n) {
  require(n->name != NULL || n->kind == TS_WITH, "names are there");
  require(n->line > 0 && n->column > 0, "nodes have a place");
  for (int32_t k = 0; k < n->n; k++)
    if (n->items[k]) look(n->items[k]);
  if (n->type) look(n->type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  ts_parser p = {.arena = &arena, .path = "code.py"};
  ts_source source = {.path = "code.py", .text = (const char *)data, .size = size};
  const tn_status s = ts_parse(&p, &source);
  require((s == TN_OK) == !*p.message, "a failure has a message");
  if (s) require(strstr(p.message, "line ") != NULL, "which says where");
  if (!s) look(source.module);
  tn_arena_clear(&arena);
  return 0;
}
