/* onnx_dump: prints what the reader made of models, to be compared with other readers (compare.py).
 * A file per line on stdin; each answer ends with a line "status <code>". `onnx_dump -w` writes the
 * graph back to <path of line>.out. */
#include <stdio.h>
#include <string.h>

#include "kit.h"

static tn_status dump_one(const char *path, const char *out_path) {
  kit k;
  tn_arena arena;
  uint64_t size;
  tn_status s = TN_ERR_IO;
  kit_init(&k);
  tn_arena_init(&arena, tn_default_allocator());
  uint8_t *data = kit_load(&arena, path, &size);
  char *dir = tn_arena_str(&arena, path);
  if (strrchr(dir, '/')) *strrchr(dir, '/') = 0;
  k.dir = dir;
  tn_graph *g = data ? kit_read(&k, data, size, &s) : NULL;
  tn_text text;
  tn_text_init(&text, tn_default_allocator());
  if (g) kit_dump(g, &text);
  fputs(tn_text_get(&text), stdout);
  tn_text_free(&text);
  if (g && out_path) {
    s = kit_write(&k, g, &text);
    FILE *f = fopen(out_path, "wb");
    if (f) fwrite(text.data, 1, (size_t)text.n, f), fclose(f);
    tn_text_free(&text);
  }
  fputs(tn_text_get(&k.messages), stdout);
  tn_graph_free(g);
  tn_arena_clear(&arena);
  kit_free(&k);
  return s;
}

int main(int argc, char **argv) {
  char line[4000];
  const char *out_path = argc == 3 && !strcmp(argv[1], "-w") ? argv[2] : NULL;
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    printf("status %d\n", (int)dump_one(line, out_path));
    fflush(stdout);
  }
  return 0;
}
