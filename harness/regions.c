/* Problems that no case line can express: tenon::Region has no attributes but a list of strided
 * copies. */
#include <string.h>

#include "harness/harness.h"

enum { MAX_REGIONS = 3 };

typedef struct copy { /* one region of a set */
  int32_t input, rank;
  int64_t src_offset, dst_offset, size[4], src_stride[4], dst_stride[4];
} copy;

typedef struct region_set {
  const char *line; /* inputs; the last may be one element that fills */
  const char *name;
  int32_t rank;
  int64_t shape[4]; /* of the output */
  bool fills;       /* the last input fills what no region covers */
  int32_t n;
  copy copies[MAX_REGIONS];
} region_set;

static const region_set sets[] = {
    {"inputs=(T[3,4])", "identity", 2, {3, 4}, false, 1, {{0, 1, 0, 0, {12}, {1}, {1}}}},
    {"inputs=(T[5,7])", "transpose", 2, {7, 5}, false, 1, {{0, 2, 0, 0, {7, 5}, {1, 7}, {5, 1}}}},
    {"inputs=(T[2,3,4])",
     "transpose 3",
     3,
     {4, 2, 3},
     false,
     1,
     {{0, 3, 0, 0, {4, 2, 3}, {1, 12, 4}, {6, 3, 1}}}},
    {"inputs=(T[1,70,33])",
     "transpose of a large matrix",
     3,
     {1, 33, 70},
     false,
     1,
     {{0, 2, 0, 0, {33, 70}, {1, 33}, {70, 1}}}},
    {"inputs=(T[6,8])",
     "slice with steps, backwards",
     2,
     {3, 4},
     false,
     1,
     {{0, 2, 47, 0, {3, 4}, {-16, -2}, {4, 1}}}},
    {"inputs=(T[2,3],T[2,4],T[2,1])",
     "concat",
     2,
     {2, 8},
     false,
     3,
     {{0, 2, 0, 0, {2, 3}, {3, 1}, {8, 1}},
      {1, 2, 0, 3, {2, 4}, {4, 1}, {8, 1}},
      {2, 2, 0, 7, {2, 1}, {1, 1}, {8, 1}}}},
    {"inputs=(T[2,3],T[])",
     "pad with a value",
     2,
     {4, 5},
     true,
     1,
     {{0, 2, 0, 6, {2, 3}, {3, 1}, {5, 1}}}},
    {"inputs=(T[2,3])",
     "pad with zero",
     2,
     {4, 5},
     false,
     1,
     {{0, 2, 0, 6, {2, 3}, {3, 1}, {5, 1}}}},
    {"inputs=(T[3])", "broadcast", 2, {4, 3}, false, 1, {{0, 2, 0, 0, {4, 3}, {0, 1}, {3, 1}}}},
    {"inputs=(T[3])", "repeat each", 2, {3, 4}, false, 1, {{0, 2, 0, 0, {3, 4}, {1, 0}, {4, 1}}}},
    {"inputs=(T[2,0])", "of nothing", 2, {0, 2}, false, 1, {{0, 2, 0, 0, {0, 2}, {1, 1}, {2, 1}}}},
    {"inputs=(T[1])", "nothing but zero", 2, {3, 3}, false, 0, {{0}}},
    {"inputs=(T[2,3,5,7])",
     "depth to space",
     4,
     {3, 5, 7, 2},
     false,
     1,
     {{0, 4, 0, 0, {3, 5, 7, 2}, {35, 7, 1, 105}, {70, 14, 2, 1}}}},
    /* Dims that keep apart: these can be moved in any layout. */
    {"inputs=(T[2,24,3,5],T[2,32,3,5],T[2,5,3,5])",
     "concat of channels",
     4,
     {2, 61, 3, 5},
     false,
     3,
     {{0, 2, 0, 0, {2, 360}, {360, 1}, {915, 1}},
      {1, 2, 0, 360, {2, 480}, {480, 1}, {915, 1}},
      {2, 2, 0, 840, {2, 75}, {75, 1}, {915, 1}}}},
    {"inputs=(T[2,40,3,3])",
     "slice of channels",
     4,
     {2, 24, 3, 3},
     false,
     1,
     {{0, 2, 45, 0, {2, 216}, {360, 1}, {216, 1}}}},
    {"inputs=(T[1,20,3,3])",
     "every other channel",
     4,
     {1, 10, 3, 3},
     false,
     1,
     {{0, 2, 0, 0, {10, 9}, {18, 1}, {9, 1}}}},
    {"inputs=(T[2,20,4,5])",
     "pad of a picture",
     4,
     {2, 20, 6, 8},
     false,
     1,
     {{0, 3, 0, 9, {40, 4, 5}, {20, 5, 1}, {48, 8, 1}}}},
    {"inputs=(T[1,17,4,5])",
     "picture upside down",
     4,
     {1, 17, 4, 5},
     false,
     1,
     {{0, 3, 15, 0, {17, 4, 5}, {20, -5, 1}, {20, 5, 1}}}},
    {"inputs=(T[1,17,1,5])",
     "repeat of rows",
     4,
     {1, 17, 4, 5},
     false,
     1,
     {{0, 3, 0, 0, {17, 4, 5}, {5, 0, 1}, {20, 5, 1}}}},
    {"inputs=(T[1,16,3,3],T[1,16,3,3])",
     "pad of channels on both sides",
     4,
     {1, 50, 3, 3},
     false,
     2,
     {{0, 1, 0, 27, {144}, {1}, {1}}, {1, 1, 0, 261, {144}, {1}, {1}}}},
};

static void make_regions(const region_set *set, tn_region *regions, const tn_region **pointers) {
  for (int32_t k = 0; k < set->n; k++) {
    const copy *c = &set->copies[k];
    regions[k] = (tn_region){.head = TN_HEAD(tn_region),
                             .input = c->input,
                             .rank = c->rank,
                             .src_offset = c->src_offset,
                             .dst_offset = c->dst_offset};
    memcpy(regions[k].size, c->size, sizeof c->size);
    memcpy(regions[k].src_stride, c->src_stride, sizeof c->src_stride);
    memcpy(regions[k].dst_stride, c->dst_stride, sizeof c->dst_stride);
    pointers[k] = &regions[k];
  }
}

static void run_set(check_env *env, const tn_opdef *op, const region_set *set, uint32_t dtype,
                    void (*run)(void *arg, check_problem *p), void *arg, tn_arena *arena) {
  tn_region regions[MAX_REGIONS];
  const tn_region *pointers[MAX_REGIONS];
  char alias[] = "T";
  const check_binding binding = {alias, dtype};
  const char *why;
  tn_case line;
  check_problem p;
  make_regions(set, regions, pointers);
  if (!check_case_parse(op, set->line, arena, &line, &why)) check_die("%s: %s", set->line, why);
  line.text = check_need(tn_arena_format(arena, "%s: %s", set->name, set->line));
  check_problem_open_raw(env, op, &line, &binding, 1, &p);
  p.outputs[0] = tn_tensor_make(dtype, set->rank, set->shape, NULL);
  p.regions = pointers;
  p.n_regions = (uint32_t)set->n;
  p.no_model = true;
  p.region_fill = set->fills ? (int32_t)p.n_inputs - 1 : -1;
  run(arg, &p);
  check_problem_close(&p);
}

bool check_regions(check_env *env, const tn_opdef *op, void (*run)(void *arg, check_problem *p),
                   void *arg) {
  if (strcmp(op->op.domain, "tenon") || strcmp(op->op.name, "Region")) return false;
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
    for (uint32_t d = 1; d < TN_DTYPE_COUNT; d++)
      if (!env->options.line || strstr(sets[k].line, env->options.line))
        run_set(env, op, &sets[k], d, run, arg, &arena);
  tn_arena_clear(&arena);
  return true;
}
