/* Family files: a list of entries, each of which is an operator, kernels, a rewrite, a format or
 * the plug-in itself. */
#include <stdio.h>
#include <string.h>

#include "gen.h"

static const char *family_of(gen *g, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  return gen_format_text(g, "%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
}

uint64_t gen_parse_dtypes(gen *g, const gen_node *node, const gen_aliases *aliases) {
  uint64_t mask = 0;
  for (int k = 0; k < gen_n_items(node); k++) {
    const gen_node *item = gen_item(node, k);
    const char *name = gen_str(g, item, "a type");
    const gen_alias *alias = gen_alias_find(aliases, name);
    const uint64_t bits = alias ? alias->dtypes : gen_dtype_mask(name);
    if (!bits) gen_problem_add(g, item, "'%s' is no type, set of types or type_alias", name);
    mask |= bits;
  }
  return mask;
}

const gen_alias *gen_alias_find(const gen_aliases *aliases, const char *name) {
  for (int64_t k = 0; k < aliases->n; k++) {
    if (strcmp(aliases->data[k].name, name) == 0) return &aliases->data[k];
  }
  return NULL;
}

void gen_parse_aliases(gen *g, const gen_node *entry, gen_aliases *out) {
  const gen_node *map = gen_get(entry, "type_alias");
  if (!map) return;
  if (map->kind != GEN_MAP) {
    gen_problem_add(g, map, "type_alias must be a map such as {T: [f32, f64]}");
    return;
  }
  for (int k = 0; k < map->n; k++) {
    const gen_node *key = map->pairs[k].key;
    if (gen_dtype_mask(key->text)) {
      gen_problem_add(g, key, "'%s' is the name of a type and cannot be a type_alias", key->text);
    }
    const gen_alias alias = {key->text, gen_parse_dtypes(g, map->pairs[k].value, out)};
    gen_push(g, out, alias);
  }
}

/* `schema` of kernels for an operator that is described elsewhere: its copy here gives the header
 * the attribute struct, and the names in arg_meta are checked. */
static const gen_op *parse_their_schema(gen *g, const gen_node *entry, const gen_kernel *k,
                                        gen_op *op) {
  const gen_node *node = gen_get(entry, "schema");
  if (!node) return NULL;
  *op = (gen_op){.at = node,
                 .family = k->family,
                 .domain = k->domain,
                 .name = k->op,
                 .word = gen_snake_case(g, k->op),
                 .since = k->since ? k->since : 1,
                 .until = k->until,
                 .library = g->library,
                 .header_only = true};
  if (!gen_parse_schema(g, node, gen_str(g, node, "schema"), op)) return NULL;
  gen_push(g, &g->ops, *op);
  return op;
}

static void parse_kernels_for(gen *g, const gen_node *entry, const char *family) {
  static const char *const keys[] = {"kernels_for", "since",           "until",   "type_alias",
                                     "schema",      "dim_order_alias", "kernels", NULL};
  if (!gen_check_keys(g, entry, "a list of kernels", keys)) return;
  const gen_node *names = gen_get(entry, "kernels_for");
  for (int k = 0; k < gen_n_items(names); k++) {
    const gen_node *at = gen_item(names, k);
    gen_kernel prototype = {.at = at, .family = family};
    gen_aliases aliases = {NULL, 0, 0};
    gen_op op;
    gen_split_name(g, gen_str(g, at, "kernels_for"), &prototype.domain, &prototype.op);
    g->op_word = gen_snake_case(g, prototype.op);
    prototype.since = gen_int_at(g, entry, "since", 1, INT32_MAX, 0);
    prototype.until = gen_int_at(g, entry, "until", 1, INT32_MAX, 0);
    gen_parse_aliases(g, entry, &aliases);
    if (!gen_get(entry, "kernels")) gen_problem_add(g, entry, "the key 'kernels' is missing");
    gen_parse_kernels(g, entry, parse_their_schema(g, entry, &prototype, &op), &aliases,
                      &prototype);
    g->op_word = NULL;
    tn_vec_free(g->a, &aliases);
  }
}

static void parse_rewrite(gen *g, const gen_node *entry, const char *family) {
  static const char *const keys[] = {"rewrite", "root", "makes", "apply", "doc", NULL};
  if (!gen_check_keys(g, entry, "a rewrite", keys)) return;
  gen_rewrite r = {.at = entry, .family = family};
  r.name = gen_str_at(g, entry, "rewrite", true);
  r.root = gen_str_at(g, entry, "root", true);
  r.makes = gen_str_at(g, entry, "makes", false);
  r.apply = gen_function_at(g, entry, "apply", GEN_LOWER);
  if (!gen_get(entry, "apply")) gen_problem_add(g, entry, "the key 'apply' is missing");
  if (r.name && r.root && r.apply) gen_push(g, &g->rewrites, r);
}

/* `{name: ABS, code: 101, to: Abs}`: one of to, lower, own and refuse says how it is taken. */
static gen_format_op parse_format_op(gen *g, const gen_node *row) {
  static const char *const keys[] = {"name", "code", "attrs",  "to", "lower",
                                     "own",  "note", "refuse", NULL};
  static const struct {
    const char *key, *how;
  } ways[] = {{"to", "TN_FORMAT_DIRECT"},
              {"lower", "TN_FORMAT_LOWERED"},
              {"own", "TN_FORMAT_OWN"},
              {"refuse", "TN_FORMAT_REFUSED"}};
  gen_format_op op = {.code = -1};
  if (!gen_check_keys(g, row, "an operator of a format", keys)) return op;
  op.name = gen_str_at(g, row, "name", true);
  op.code = gen_int_at(g, row, "code", 0, INT32_MAX, -1);
  op.attrs = gen_str_at(g, row, "attrs", false);
  op.note = gen_str_at(g, row, "note", false);
  int n = 0;
  for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
    const char *text = gen_str_at(g, row, ways[k].key, false);
    if (!text) continue;
    n++;
    op.how = ways[k].how;
    if (k == 3)
      op.note = text;
    else
      op.to = text;
  }
  if (n != 1) gen_problem_add(g, row, "one of the keys to, lower, own and refuse is needed");
  return op;
}

static void parse_format_ops(gen *g, const gen_node *entry, gen_format *f) {
  const gen_node *list = gen_get(entry, "operators");
  f->n_ops = gen_n_items(list);
  f->ops = gen_need(tn_arena_alloc(&g->arena, ((uint64_t)f->n_ops + 1) * sizeof *f->ops));
  for (int k = 0; k < f->n_ops; k++) f->ops[k] = parse_format_op(g, gen_item(list, k));
}

static void parse_format(gen *g, const gen_node *entry, const char *family) {
  static const char *const keys[] = {"format",       "descriptor", "doc", "operators",
                                     "operators_of", "file_kinds", NULL};
  if (!gen_check_keys(g, entry, "a format", keys)) return;
  gen_format f = {.at = entry, .family = family};
  f.name = gen_str_at(g, entry, "format", true);
  f.descriptor = gen_function_at(g, entry, "descriptor", GEN_FORMAT);
  if (!gen_get(entry, "descriptor")) gen_problem_add(g, entry, "the key 'descriptor' is missing");
  parse_format_ops(g, entry, &f);
  f.domain = gen_str_at(g, entry, "operators_of", false);
  f.file_kinds = gen_bool_at(g, entry, "file_kinds");
  if (f.name && f.descriptor) gen_push(g, &g->formats, f);
}

static void parse_driver(gen *g, const gen_node *entry, const char *family) {
  static const char *const keys[] = {"driver", "descriptor", "doc", NULL};
  if (!gen_check_keys(g, entry, "a driver", keys)) return;
  gen_device_table e = {.at = entry, .family = family};
  e.name = gen_str_at(g, entry, "driver", true);
  e.descriptor = gen_function_at(g, entry, "descriptor", GEN_DRIVER);
  if (!gen_get(entry, "descriptor")) gen_problem_add(g, entry, "the key 'descriptor' is missing");
  if (e.name && e.descriptor) gen_push(g, &g->drivers, e);
}

static void parse_device_kernel(gen *g, const gen_node *entry, const char *family) {
  static const char *const keys[] = {"device_kernel", "descriptor", "doc", NULL};
  if (!gen_check_keys(g, entry, "a kernel of devices", keys)) return;
  gen_device_table e = {.at = entry, .family = family};
  e.name = gen_str_at(g, entry, "device_kernel", true);
  e.descriptor = gen_function_at(g, entry, "descriptor", GEN_DEVICE_KERNEL);
  if (!gen_get(entry, "descriptor")) gen_problem_add(g, entry, "the key 'descriptor' is missing");
  if (e.name && e.descriptor) gen_push(g, &g->device_kernels, e);
}

static void parse_plugin(gen *g, const gen_node *entry) {
  static const char *const keys[] = {"plugin", "license", "flags", "init", "shutdown", NULL};
  if (!gen_check_keys(g, entry, "a plug-in", keys)) return;
  const char *name = gen_str_at(g, entry, "plugin", true);
  if (!g->plugin.name) {
    gen_problem_add(
        g, entry, "what ships with Tenon is no plug-in of its own (tenon-gen --plugin makes one)");
    return;
  }
  if (strcmp(name, g->plugin.name) != 0) {
    gen_problem_add(g, entry, "the plug-in is called '%s' here and '%s' by --plugin", name,
                    g->plugin.name);
  }
  if (gen_get(entry, "license")) g->plugin.license = gen_str_at(g, entry, "license", false);
  g->plugin.flags = gen_words_at(g, entry, "flags", gen_plugin_flag_words);
  g->plugin.init = gen_function_at(g, entry, "init", GEN_INIT);
  g->plugin.shutdown = gen_function_at(g, entry, "shutdown", GEN_SHUTDOWN);
}

static void parse_entry(gen *g, const gen_node *entry, const char *family) {
  if (entry->kind != GEN_MAP) {
    gen_problem_add(
        g, entry,
        "an entry must be a map that begins with op, func, kernels_for, rewrite, format, "
        "driver, device_kernel or plugin");
  } else if (gen_is_torch(entry)) {
    gen_parse_torch(g, entry, family);
  } else if (gen_get(entry, "op")) {
    gen_parse_op(g, entry, family);
  } else if (gen_get(entry, "kernels_for")) {
    parse_kernels_for(g, entry, family);
  } else if (gen_get(entry, "rewrite")) {
    parse_rewrite(g, entry, family);
  } else if (gen_get(entry, "format")) {
    parse_format(g, entry, family);
  } else if (gen_get(entry, "driver")) {
    parse_driver(g, entry, family);
  } else if (gen_get(entry, "device_kernel")) {
    parse_device_kernel(g, entry, family);
  } else if (gen_get(entry, "plugin")) {
    parse_plugin(g, entry);
  } else {
    gen_problem_add(g, entry,
                    "an entry has one of the keys op, func, kernels_for, rewrite, format, driver, "
                    "device_kernel, plugin");
  }
}

/* Headers are named after families, so a library whose file has the name of one before it gets a
 * number. */
static const char *new_family(gen *g, const char *path) {
  const char *base = family_of(g, path), *family = base;
  for (int64_t k = 0; k < g->families.n; k++) {
    if (strcmp(g->families.data[k], family) != 0) continue;
    if (!g->library) {
      gen_problem_add_at(g, path, 0, 0,
                         gen_format_text(g, "there are two family files named %s.yaml", family));
      return NULL;
    }
    family = gen_format_text(g, "%s_%d", base, g->library + 1);
  }
  gen_push(g, &g->families, family);
  return family;
}

void gen_parse_file(gen *g, const char *path) {
  const char *family = new_family(g, path);
  if (!family) return;
  g->family = family;
  const gen_node *root = gen_tree_load(g, path);
  if (!root) return;
  if (root->kind != GEN_LIST)
    gen_problem_add(g, root, "a family file is a list of entries");
  else
    for (int k = 0; k < root->n; k++) parse_entry(g, root->items[k], family);
  gen_parse_gpu(g, path, family);
}
