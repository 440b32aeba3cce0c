/* Tables: cells are collected, then printed in columns as wide as their widest cell. */
#include <string.h>

#include "base/text.h"
#include "cli.h"

void cli_table_init(cli_table *t, int n_columns, uint32_t right) {
  *t = (cli_table){.n_columns = n_columns, .right = right};
  tn_arena_init(&t->arena, tn_default_allocator());
}

/* Names are anybody's: none leaves its cell. */
static const char *one_line(tn_arena *arena, const char *text) {
  char *copy = tn_arena_str(arena, text);
  if (copy) tn_text_tame_line(copy, (int64_t)strlen(copy));
  return copy;
}

void cli_table_row(cli_table *t, const char *const *cells) {
  const char **row = tn_arena_alloc(&t->arena, (uint64_t)t->n_columns * sizeof *row);
  if (!row) return; /* for lack of memory a row is not printed */
  for (int k = 0; k < t->n_columns; k++)
    if (!(row[k] = one_line(&t->arena, cells[k]))) return;
  (void)tn_vec_push(t->arena.a, &t->rows, row);
}

/* Characters, as far as each byte of UTF-8 that begins one counts. */
static int width(const char *text) {
  int n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
  return n;
}

static void print_row(const cli_table *t, const char *const *row, const int *widths, int indent) {
  int blanks = indent;
  for (int k = 0; k < t->n_columns; k++) {
    int pad = widths[k] - width(row[k]);
    bool right = t->right >> k & 1;
    if (*row[k]) printf("%*s%s", blanks + (right ? pad : 0), "", row[k]);
    blanks = (*row[k] ? (right ? 0 : pad) : blanks + widths[k]) + 2;
  }
  putchar('\n');
}

void cli_table_print(cli_table *t, int indent) {
  int widths[CLI_MAX_COLUMNS] = {0};
  for (int64_t r = 0; r < t->rows.n; r++)
    for (int k = 0; k < t->n_columns; k++) {
      int n = width(t->rows.data[r][k]);
      if (n > widths[k]) widths[k] = n;
    }
  for (int64_t r = 0; r < t->rows.n; r++) print_row(t, t->rows.data[r], widths, indent);
  tn_vec_free(t->arena.a, &t->rows);
  tn_arena_clear(&t->arena);
}
