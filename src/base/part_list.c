/* Lists of parts; see part_list.h. */
#include "base/part_list.h"

#include <stdio.h>
#include <string.h>

#include "base/features.h"
#include "base/file.h"
#include "base/text.h"

enum { MAX_LINE = 512, MAX_BYTES = 1 << 24 };

const char *const tn_part_services[] = {"devices", "plugins",    "weight_cache",
                                        "writers", "file_kinds", "values",
                                        "pins",    "tuning",     NULL};

const char *const tn_feature_names[TN_FEATURE_COUNT + 1] = {
    [TN_FEATURE_MERGE_REGIONS] = "merge_regions",
    [TN_FEATURE_SHARE_PREFIXES] = "share_prefixes",
    [TN_FEATURE_NARROW_WEIGHTS] = "narrow_weights",
    [TN_FEATURE_PROMOTE_HALVES] = "promote_halves",
    [TN_FEATURE_MOVE_TRANSPOSES] = "move_transposes",
    [TN_FEATURE_FOLDING] = "folding",
    [TN_FEATURE_FUNCTIONS] = "functions",
    [TN_FEATURE_SUBGRAPHS] = "subgraphs",
    [TN_FEATURE_CONTINUATIONS] = "continuations",
    [TN_FEATURE_STATES] = "states",
    [TN_FEATURE_EXTERNAL_DATA] = "external_data",
    [TN_FEATURE_DYNAMIC_VALUES] = "dynamic_values",
    [TN_FEATURE_SPARSE_WEIGHTS] = "sparse_weights",
    [TN_FEATURE_TYPED_DATA] = "typed_data",
    [TN_FEATURE_OTHER_FORMATS] = "other_formats",
    [TN_FEATURE_PACKED_WEIGHTS] = "packed_weights"};

void tn_part_list_init(tn_part_list *list, const tn_allocator *a) {
  *list = (tn_part_list){.lines = {0}};
  tn_arena_init(&list->arena, a);
  tn_map_init_borrowing(&list->index, a);
}

void tn_part_list_free(tn_part_list *list) {
  tn_vec_free(list->arena.a, &list->lines);
  tn_map_free(&list->index);
  tn_arena_clear(&list->arena);
}

static tn_status add(tn_part_list *list, const char *text, const char *path, int number) {
  if (tn_map_get(&list->index, text, -1) >= 0) return TN_OK;
  const tn_part_line line = {tn_arena_str(&list->arena, text), path, number, false};
  tn_status s = line.text ? tn_vec_push(list->arena.a, &list->lines, line) : TN_ERR_MEMORY;
  return s ? s : tn_map_set(&list->index, line.text, list->lines.n - 1);
}

tn_status tn_part_list_add(tn_part_list *list, const char *text) { return add(list, text, "", 0); }

/* Words with one blank between, without the comment. -1: it is too long. */
static int normalise(const char *from, size_t n, char to[MAX_LINE]) {
  int k = 0;
  for (size_t i = 0; i < n && from[i] != '#'; i++) {
    const bool blank = strchr(" \t\r", from[i]) != NULL;
    if (blank && (!k || to[k - 1] == ' ')) continue;
    if (k == MAX_LINE - 1) return -1;
    to[k++] = blank ? ' ' : from[i];
  }
  if (k && to[k - 1] == ' ') k--;
  to[k] = 0;
  return k;
}

/* A known word, a name, and of operators the version. */
static bool is_line(const char *text) {
  static const struct {
    const char *word;
    int n_words;
  } words[] = {{"op", 3},      {"lower", 3},  {"kernel", 2}, {"runs", 2},    {"prepares", 2},
               {"rewrite", 2}, {"format", 2}, {"driver", 2}, {"feature", 2}, {"service", 2}};
  const size_t n = strcspn(text, " ");
  int n_words = 1;
  for (const char *p = text; *p; p++) n_words += *p == ' ';
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (strlen(words[k].word) == n && !strncmp(words[k].word, text, n))
      return words[k].n_words == n_words;
  return false;
}

static tn_status read_line(tn_part_list *list, const char *path, int number, const char *from,
                           size_t n, tn_diag *diag) {
  char text[MAX_LINE];
  const int length = normalise(from, n, text);
  if (!length) return TN_OK;
  if (length > 0 && tn_utf8_valid(text, length) && strlen(text) == (size_t)length && is_line(text))
    return add(list, text, path, number);
  return tn_fail(
      diag, TN_ERR_INVALID,
      "%s:%d: a line reads like 'op Conv 11', 'lower HardSwish 14', 'kernel NAME', 'runs NAME', "
      "'rewrite NAME', 'format NAME', 'driver NAME', 'feature NAME' or 'service NAME'",
      path, number);
}

tn_status tn_part_list_read(tn_part_list *list, const char *path, tn_diag *diag) {
  tn_mapping file;
  tn_status s = tn_file_map(path, diag, &file);
  if (s) return s;
  const char *at = (const char *)file.data, *end = at + file.size;
  const char *name = tn_arena_str(&list->arena, path);
  if (!name) s = TN_ERR_MEMORY;
  if (file.size > MAX_BYTES)
    s = tn_fail(diag, TN_ERR_OVERFLOW, "%s: a list of parts has at most 16 MB", path);
  for (int number = 1; at < end && !s; number++) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const size_t n = (size_t)((newline ? newline : end) - at);
    s = read_line(list, name, number, at, n, diag);
    at += n + 1;
  }
  tn_file_unmap(&file);
  return s;
}

bool tn_part_list_has(tn_part_list *list, const char *what, const char *name, int32_t since) {
  char text[MAX_LINE];
  if (since > 0)
    snprintf(text, sizeof text, "%s %s %d", what, name, since);
  else
    snprintf(text, sizeof text, "%s %s", what, name);
  const int64_t k = tn_map_get(&list->index, text, -1);
  if (k >= 0) list->lines.data[k].found = true;
  return k >= 0;
}

bool tn_part_list_has_feature(tn_part_list *list, int feature) {
  const bool is_listed = tn_part_list_has(list, "feature", tn_feature_names[feature], 0);
  const bool is_of_values = feature == TN_FEATURE_DYNAMIC_VALUES ||
                            feature == TN_FEATURE_SPARSE_WEIGHTS ||
                            feature == TN_FEATURE_TYPED_DATA;
  return is_listed || (is_of_values && tn_part_list_has(list, "service", "values", 0));
}

tn_status tn_part_list_check(const tn_part_list *list, tn_diag *diag) {
  tn_status s = TN_OK;
  for (int64_t k = 0; k < list->lines.n; k++) {
    const tn_part_line *line = &list->lines.data[k];
    if (!line->found)
      s = tn_fail(diag, TN_ERR_NOT_FOUND, "%s:%d: there is no such part: '%s'", line->path,
                  line->number, line->text);
  }
  return s;
}
