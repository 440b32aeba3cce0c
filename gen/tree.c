/* YAML files as trees of nodes that know where they stand. libyaml resolves anchors; merge keys are
 * resolved here. */
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "gen.h"

enum { MAX_DEPTH = 32 };

typedef struct tree {
  gen *g;
  const char *path;
  yaml_document_t *document;
  gen_node *
      *made;  /* by index in the document: an anchored node is one node, however often it is used */
  bool *open; /* nodes that are being made: an alias to one of them would be a loop */
} tree;

static gen_node *make(tree *t, int index, int depth);

static void *room(tree *t, size_t n, size_t element) {
  return gen_need(tn_arena_alloc(&t->g->arena, (n ? n : 1) * element));
}

static void make_scalar(tree *t, const yaml_node_t *y, gen_node *node) {
  const char *text = (const char *)y->data.scalar.value;
  node->kind = GEN_SCALAR;
  node->text = gen_need(tn_arena_strn(&t->g->arena, text, (int64_t)y->data.scalar.length));
  if (memchr(text, 0, y->data.scalar.length))
    gen_problem_add(t->g, node, "a text with a zero byte");
}

static void make_list(tree *t, const yaml_node_t *y, gen_node *node, int depth) {
  const yaml_node_item_t *begin = y->data.sequence.items.start;
  const size_t n = (size_t)(y->data.sequence.items.top - begin);
  node->kind = GEN_LIST;
  node->items = room(t, n, sizeof *node->items);
  for (size_t k = 0; k < n; k++) {
    gen_node *item = make(t, begin[k], depth + 1);
    if (item) node->items[node->n++] = item;
  }
}

static gen_pair *find(gen_node *map, const char *key) {
  for (int k = 0; k < map->n; k++) {
    if (strcmp(map->pairs[k].key->text, key) == 0) return &map->pairs[k];
  }
  return NULL;
}

/* Adds the pairs of `from` that `map` has not got. */
static void merge_map(tree *t, gen_node *map, const gen_node *from) {
  gen_pair *pairs = room(t, (size_t)(map->n + from->n), sizeof *pairs);
  memcpy(pairs, map->pairs, (size_t)map->n * sizeof *pairs);
  map->pairs = pairs;
  for (int k = 0; k < from->n; k++) {
    if (!find(map, from->pairs[k].key->text)) map->pairs[map->n++] = from->pairs[k];
  }
}

static void merge(tree *t, gen_node *map, const gen_node *value) {
  const int n = value->kind == GEN_LIST ? value->n : 1;
  for (int k = 0; k < n; k++) {
    const gen_node *from = value->kind == GEN_LIST ? value->items[k] : value;
    if (from->kind == GEN_MAP)
      merge_map(t, map, from);
    else
      gen_problem_add(t->g, from, "the merge key << takes a map or a list of maps");
  }
}

static void add_pair(tree *t, gen_node *map, gen_node *key, gen_node *value) {
  if (key->kind != GEN_SCALAR) {
    gen_problem_add(t->g, key, "a key must be a word");
  } else if (find(map, key->text)) {
    gen_problem_add(t->g, key, "the key '%s' stands twice in one map", key->text);
  } else {
    map->pairs[map->n++] = (gen_pair){key, value};
  }
}

static void make_map(tree *t, const yaml_node_t *y, gen_node *node, int depth) {
  const yaml_node_pair_t *begin = y->data.mapping.pairs.start;
  const size_t n = (size_t)(y->data.mapping.pairs.top - begin);
  gen_node **merged = room(t, n, sizeof *merged);
  int n_merged = 0;
  node->kind = GEN_MAP;
  node->pairs = room(t, n, sizeof *node->pairs);
  for (size_t k = 0; k < n; k++) {
    gen_node *key = make(t, begin[k].key, depth + 1);
    gen_node *value = make(t, begin[k].value, depth + 1);
    if (!key || !value) continue;
    if (key->kind == GEN_SCALAR && strcmp(key->text, "<<") == 0)
      merged[n_merged++] = value;
    else
      add_pair(t, node, key, value);
  }
  for (int k = 0; k < n_merged; k++) merge(t, node, merged[k]);
}

static gen_node *make(tree *t, int index, int depth) {
  if (t->made[index] && !t->open[index]) return t->made[index];
  const yaml_node_t *y = yaml_document_get_node(t->document, index);
  gen_node *node = room(t, 1, sizeof *node);
  node->path = t->path;
  node->line = (int)y->start_mark.line + 1;
  node->column = (int)y->start_mark.column + 1;
  if (t->open[index] || depth > MAX_DEPTH) {
    gen_problem_add(t->g, node, "nested too deeply, or an alias to the node it stands in");
    return NULL;
  }
  t->made[index] = node;
  t->open[index] = true;
  if (y->type == YAML_SCALAR_NODE)
    make_scalar(t, y, node);
  else if (y->type == YAML_SEQUENCE_NODE)
    make_list(t, y, node, depth);
  else
    make_map(t, y, node, depth);
  t->open[index] = false;
  return node;
}

static gen_node *make_root(gen *g, const char *path, yaml_document_t *document) {
  const size_t n = (size_t)(document->nodes.top - document->nodes.start) + 1;
  tree t = {.g = g, .path = path, .document = document};
  t.made = room(&t, n, sizeof *t.made);
  t.open = room(&t, n, sizeof *t.open);
  if (yaml_document_get_root_node(document)) return make(&t, 1, 0);
  gen_node *empty = room(&t, 1, sizeof *empty);
  *empty = (gen_node){.kind = GEN_LIST, .path = path, .line = 1, .column = 1};
  return empty;
}

static void add_yaml_problem(gen *g, const char *path, const yaml_parser_t *parser) {
  const yaml_mark_t *at = &parser->problem_mark;
  gen_problem_add_at(
      g, path, (int)at->line + 1, (int)at->column + 1,
      gen_format_text(g, "%s%s%s", parser->problem ? parser->problem : "no YAML",
                      parser->context ? " " : "", parser->context ? parser->context : ""));
}

/* A second document would be silently ignored otherwise. */
static void check_end(gen *g, const char *path, yaml_parser_t *parser) {
  yaml_document_t next;
  if (!yaml_parser_load(parser, &next)) {
    add_yaml_problem(g, path, parser);
    return;
  }
  const yaml_node_t *root = yaml_document_get_root_node(&next);
  if (root) {
    gen_problem_add_at(g, path, (int)root->start_mark.line + 1, (int)root->start_mark.column + 1,
                       "a family file holds one YAML document");
  }
  yaml_document_delete(&next);
}

static gen_node *parse(gen *g, const char *path, yaml_parser_t *parser) {
  yaml_document_t document;
  if (!yaml_parser_load(parser, &document)) {
    add_yaml_problem(g, path, parser);
    return NULL;
  }
  gen_node *root = make_root(g, path, &document);
  yaml_document_delete(&document);
  check_end(g, path, parser);
  return root;
}

gen_node *gen_tree_load(gen *g, const char *path) {
  yaml_parser_t parser;
  tn_mapping file;
  tn_diag *diag = gen_need(tn_diag_create());
  gen_node *root = NULL;
  if (tn_file_map(path, diag, &file)) {
    gen_problem_add_at(g, path, 0, 0, gen_format_text(g, "%s", tn_diag_message(diag, 0, NULL)));
  } else {
    if (!yaml_parser_initialize(&parser)) gen_need(NULL);
    yaml_parser_set_input_string(&parser, file.data, file.size);
    root = parse(g, path, &parser);
    yaml_parser_delete(&parser);
    g->content_hash = tn_hash_bytes(file.data, file.size, g->content_hash);
    tn_file_unmap(&file);
  }
  tn_diag_destroy(diag);
  return root;
}
