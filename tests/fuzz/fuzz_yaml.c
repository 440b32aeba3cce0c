/* Fuzzing the generator: any file is a family file, or has problems. One without problems is
 * turned into tables, headers and documents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A folder of this process for what goes in and comes out. */
static const char *folder(void) {
  static char path[] = "/tmp/tenon_fuzz_yaml_XXXXXX";
  static bool made;
  if (!made && !mkdtemp(path)) abort();
  made = true;
  return path;
}

static void put(const char *path, const uint8_t *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file)) abort();
}

static void generate(gen *g, const char *path, bool known) {
  if (known)
    gen_parse_known(g, path);
  else
    gen_parse_file(g, path);
  gen_check_all(g);
  if (g->problems.n) return;
  if (!gen_emit_headers(g, folder()) || !gen_emit_table(g, folder()) || !gen_emit_docs(g, folder()))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "%s/family.yaml", folder());
  put(path, data, size);
  for (int known = 0; known < 2; known++) {
    gen g = {.a = tn_default_allocator(), .n_libraries = 1};
    tn_arena_init(&g.arena, g.a);
    g.plugin = (gen_plugin){.name = "fuzz", .version = "1", .license = ""};
    generate(&g, path, known);
    gen_clear(&g);
  }
  return 0;
}
