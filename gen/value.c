/* Reading values out of nodes, and collecting the problems found on the way. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

void *gen_need(void *memory) {
  if (memory) return memory;
  fputs("tenon-gen: no memory\n", stderr);
  exit(2);
}

const char *gen_format_text(gen *g, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  const size_t bytes = n < 0 ? 1 : (size_t)n + 1;
  char *text = gen_need(tn_arena_alloc(&g->arena, bytes));
  va_start(args, format);
  vsnprintf(text, bytes, format, args);
  va_end(args);
  return text;
}

void gen_problem_add_at(gen *g, const char *path, int line, int column, const char *text) {
  for (int64_t k = 0; k < g->problems.n;
       k++) { /* entries for several operators are read several times */
    const gen_problem *p = &g->problems.data[k];
    if (p->line == line && p->column == column && !strcmp(p->path, path) &&
        !strcmp(p->text, text)) {
      return;
    }
  }
  gen_push(g, &g->problems, ((gen_problem){path, line, column, text}));
}

void gen_problem_add(gen *g, const gen_node *at, const char *format, ...) {
  char text[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  gen_problem_add_at(g, at->path, at->line, at->column, gen_format_text(g, "%s", text));
}

static int by_place(const void *x, const void *y) {
  const gen_problem *a = x, *b = y;
  const int order = strcmp(a->path, b->path);
  if (order) return order;
  if (a->line != b->line) return a->line < b->line ? -1 : 1;
  if (a->column != b->column) return a->column < b->column ? -1 : 1;
  return strcmp(a->text, b->text);
}

int64_t gen_problems_print(gen *g) {
  if (g->problems.n) {
    qsort(g->problems.data, (size_t)g->problems.n, sizeof *g->problems.data, by_place);
  }
  for (int64_t k = 0; k < g->problems.n; k++) {
    const gen_problem *p = &g->problems.data[k];
    if (p->line)
      fprintf(stderr, "%s:%d:%d: %s\n", p->path, p->line, p->column, p->text);
    else
      fprintf(stderr, "%s: %s\n", p->path, p->text);
  }
  return g->problems.n;
}

const gen_node *gen_get(const gen_node *map, const char *key) {
  for (int k = 0; k < map->n; k++) {
    if (strcmp(map->pairs[k].key->text, key) == 0) return map->pairs[k].value;
  }
  return NULL;
}

static bool is_in(const char *word, const char *const *words) {
  while (*words && strcmp(*words, word) != 0) words++;
  return *words != NULL;
}

bool gen_check_keys(gen *g, const gen_node *node, const char *what, const char *const *keys) {
  if (node->kind != GEN_MAP) {
    gen_problem_add(g, node, "%s must be a map of keys and values", what);
    return false;
  }
  for (int k = 0; k < node->n; k++) {
    if (is_in(node->pairs[k].key->text, keys)) continue;
    const char *known = "";
    for (const char *const *key = keys; *key; key++) {
      known = gen_format_text(g, "%s%s%s", known, *known ? ", " : "", *key);
    }
    gen_problem_add(g, node->pairs[k].key, "unknown key '%s' in %s; known are: %s",
                    node->pairs[k].key->text, what, known);
  }
  return true;
}

/* text with every `mark` replaced; word NULL: as it is. */
static const char *replace(gen *g, const char *text, const char *mark, const char *word) {
  const char *at = word ? strstr(text, mark) : NULL;
  if (!at) return text;
  return gen_format_text(g, "%.*s%s%s", (int)(at - text), text, word,
                         replace(g, at + strlen(mark), mark, word));
}

const char *gen_str(gen *g, const gen_node *node, const char *what) {
  if (node->kind == GEN_SCALAR)
    return replace(g, replace(g, node->text, "{op}", g->op_word), "{isa}", g->isa_word);
  gen_problem_add(g, node, "%s must be one word or text (in quotes if it begins with '{' or '[')",
                  what);
  return "";
}

const char *gen_str_at(gen *g, const gen_node *map, const char *key, bool required) {
  const gen_node *node = gen_get(map, key);
  if (node) return gen_str(g, node, key);
  if (required) gen_problem_add(g, map, "the key '%s' is missing", key);
  return NULL;
}

bool gen_int(gen *g, const gen_node *node, const char *what, int lo, int hi, int *out) {
  const char *text = gen_str(g, node, what);
  char *end = NULL;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (!*text || *end || errno || value < lo || value > hi) {
    gen_problem_add(g, node, "%s must be an integer from %d to %d", what, lo, hi);
    return false;
  }
  *out = (int)value;
  return true;
}

int gen_int_at(gen *g, const gen_node *map, const char *key, int lo, int hi, int missing) {
  const gen_node *node = gen_get(map, key);
  int value = missing;
  if (node) gen_int(g, node, key, lo, hi, &value);
  return value;
}

bool gen_bool_at(gen *g, const gen_node *map, const char *key) {
  const gen_node *node = gen_get(map, key);
  if (!node) return false;
  const char *text = gen_str(g, node, key);
  const bool yes = strcmp(text, "true") == 0;
  if (!yes && strcmp(text, "false") != 0) {
    gen_problem_add(g, node, "%s must be true or false", key);
  }
  return yes;
}

bool gen_is_null(const gen_node *node) {
  static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
  return node && node->kind == GEN_SCALAR && is_in(node->text, words);
}

int gen_n_items(const gen_node *node) { return !node ? 0 : node->kind == GEN_LIST ? node->n : 1; }

const gen_node *gen_item(const gen_node *node, int k) {
  return node->kind == GEN_LIST ? node->items[k] : node;
}

const char *gen_function_note(gen *g, const gen_node *at, const char *name,
                              gen_signature signature) {
  if (!name || !*name) return NULL;
  if (!gen_is_identifier(name)) {
    gen_problem_add(g, at, "'%s' is no name of a C function", name);
    return NULL;
  }
  for (int64_t k = 0; k < g->functions.n; k++) {
    const gen_function *f = &g->functions.data[k];
    if (f->signature == signature || strcmp(f->name, name) != 0) continue;
    gen_problem_add(g, at, "'%s' is named as a function of another type at %s:%d:%d", name,
                    f->at->path, f->at->line, f->at->column);
    return NULL;
  }
  gen_push(g, &g->functions, ((gen_function){name, g->family, signature, at}));
  return name;
}

const char *gen_function_at(gen *g, const gen_node *map, const char *key, gen_signature signature) {
  const gen_node *node = gen_get(map, key);
  return node ? gen_function_note(g, node, gen_str(g, node, key), signature) : NULL;
}

void gen_clear(gen *g) {
  for (int64_t k = 0; k < g->ops.n; k++) {
    gen_op *op = &g->ops.data[k];
    tn_vec_free(g->a, &op->aliases);
    tn_vec_free(g->a, &op->rules);
    tn_vec_free(g->a, &op->cases);
  }
  for (int64_t k = 0; k < g->kernels.n; k++) tn_vec_free(g->a, &g->kernels.data[k].accepts);
  for (int64_t k = 0; k < g->programs.n; k++) tn_vec_free(g->a, &g->programs.data[k].args);
  tn_vec_free(g->a, &g->programs);
  tn_vec_free(g->a, &g->problems);
  tn_vec_free(g->a, &g->known);
  tn_vec_free(g->a, &g->families);
  tn_vec_free(g->a, &g->ops);
  tn_vec_free(g->a, &g->kernels);
  tn_vec_free(g->a, &g->rewrites);
  tn_vec_free(g->a, &g->formats);
  tn_vec_free(g->a, &g->drivers);
  tn_vec_free(g->a, &g->device_kernels);
  tn_vec_free(g->a, &g->functions);
  tn_arena_clear(&g->arena);
}
