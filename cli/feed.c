/* The options that say what a model gets, and the types of its inputs that follow from them. */
#include "feed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/near.h"
#include "base/text.h"
#include "tenon/kit/checked.h"

/* ---- options ---- */

static const cli_option options[] = {
    {"input", "[NAME=]FILE", "an input, or the next one in order; .npz and folders: several", 'i'},
    {"random", "[SEED]", "random values for all inputs that are not given", 0},
    {"shape", "NAME=1x3x224", "dims of an input that the model leaves open", 0},
    {"dim", "NAME=N", "size of a named dim that the model leaves open", 0},
    {"layout", "nchw|nhwc", "order of a picture's dims (default: whichever fits)", 0},
    {"resize", "HOW", "give a picture the size of the input: crop (the middle), stretch or pad", 0},
    {"scale", "X", "pictures: (pixel * scale - mean) / std, pixels 0..255 (default 1)", 0},
    {"mean", "X[,X...]", "for all channels, or for each", 0},
    {"std", "X[,X...]", "for all channels, or for each", 0},
    {"gray", NULL, "read pictures as gray", 0},
    {NULL, NULL, NULL, 0}};

static bool set_layout(cli_feed *f, const char *value) {
  if (!strcmp(value, "nchw"))
    f->image.layout = CLI_LAYOUT_NCHW;
  else if (!strcmp(value, "nhwc"))
    f->image.layout = CLI_LAYOUT_NHWC;
  else
    cli_error("--layout is nchw or nhwc, not '%s'", value);
  return f->image.layout != CLI_LAYOUT_AUTO;
}

static bool set_resize(cli_feed *f, const char *value) {
  static const char *const words[] = {"", "crop", "stretch", "pad"}; /* by cli_resize */
  for (int k = CLI_RESIZE_CROP; k <= CLI_RESIZE_PAD; k++)
    if (!strcmp(value, words[k])) f->image.resize = (cli_resize)k;
  if (!f->image.resize) cli_error("--resize is crop, stretch or pad, not '%s'", value);
  return f->image.resize != CLI_RESIZE_NONE;
}

static bool set_random(cli_feed *f, const char *value) {
  int64_t seed = 1;
  f->random = true;
  if (value && !cli_int("random", value, 0, INT64_MAX, &seed)) return false;
  f->seed = (uint64_t)seed;
  return true;
}

static bool set_std(cli_feed *f, const char *value) {
  if (!cli_doubles("std", value, 4, f->image.std, &f->image.n_std)) return false;
  for (int k = 0; k < f->image.n_std; k++)
    if (f->image.std[k] == 0) {
      cli_error("--std: pixels cannot be divided by zero");
      return false;
    }
  return true;
}

static bool set_feed(void *target, int index, const char *value) {
  cli_feed *f = target;
  int n;
  switch (index) {
    case 0: return cli_keep("--input", value, f->inputs, CLI_MAX_INPUTS, &f->n_inputs);
    case 1: return set_random(f, value);
    case 2: return cli_keep("--shape", value, f->shapes, CLI_MAX_INPUTS, &f->n_shapes);
    case 3: return cli_keep("--dim", value, f->dims, CLI_MAX_INPUTS, &f->n_dims);
    case 4: return set_layout(f, value);
    case 5: return set_resize(f, value);
    case 6: return cli_doubles("scale", value, 1, &f->image.scale, &n);
    case 7: return cli_doubles("mean", value, 4, f->image.mean, &f->image.n_mean);
    case 8: return set_std(f, value);
    default: f->image.gray = true; return true;
  }
}

const cli_group cli_feed_group = {"options of inputs", options, set_feed};

/* ---- finding inputs and dims ---- */

static int32_t input_value(const cli_inputs *in, int32_t k) {
  return tn_graph_functions()->input(tn_model_graph(in->model), k);
}

static const char *dim_name(const cli_inputs *in, int32_t k, int32_t dim) {
  return tn_graph_functions()->value_dim_name(tn_model_graph(in->model), input_value(in, k), dim);
}

static bool name_is(const char *name, const char *text, int n) {
  return name && strlen(name) == (size_t)n && !strncmp(name, text, (size_t)n);
}

static int32_t find_input(const cli_inputs *in, const char *text, int n) {
  for (int32_t k = 0; k < in->n_all; k++)
    if (name_is(tn_model_input_name(in->model, k), text, n)) return k;
  return -1;
}

static tn_status no_such_input(const cli_inputs *in, const char *option, const char *text, int n) {
  tn_text names;
  char word[CLI_NAME_MAX], meant[TN_NEAR_TEXT];
  tn_near near;
  snprintf(word, sizeof word, "%.*s", n, text);
  tn_near_begin(&near, word);
  tn_text_init(&names, tn_default_allocator());
  for (int32_t k = 0; k < in->n_all; k++) {
    const char *name = tn_model_input_name(in->model, k);
    tn_near_offer(&near, name);
    tn_text_add(&names, "%s'%s'", k ? ", " : "", name);
  }
  tn_fail(in->diag, TN_ERR_NOT_FOUND, "%s %.*s: the model has no such input; it has %s%s", option,
          n, text, in->n_all ? tn_text_get(&names) : "none", tn_near_text(&near, meant));
  tn_text_free(&names);
  return TN_ERR_NOT_FOUND;
}

/* Open dims of this name are known now, in all inputs. */
static int name_dim(cli_inputs *in, const char *name, int n, int64_t size) {
  int found = 0;
  for (int32_t k = 0; k < in->n_all; k++)
    for (int32_t d = 0; d < in->values[k].rank; d++) {
      if (!name_is(dim_name(in, k, d), name, n)) continue;
      found++;
      if (in->values[k].shape[d] < 0) in->values[k].shape[d] = size;
    }
  return found;
}

static void learn_dims(cli_inputs *in, int32_t k) {
  for (int32_t d = 0; d < in->values[k].rank; d++) {
    const char *name = dim_name(in, k, d);
    if (name && *name) name_dim(in, name, (int)strlen(name), in->values[k].shape[d]);
  }
}

/* ---- --shape, --dim ---- */

/* "1x3x224" or "1,3,224"; "" is a scalar. Answers the rank, -1 if it is none. */
static int parse_shape(const char *text, int64_t *shape) {
  int rank = 0;
  while (*text) {
    char *end;
    long long n = strtoll(text, &end, 10);
    if (end == text || n < 0 || rank == TN_MAX_RANK) return -1;
    shape[rank++] = n;
    if (*end && ((*end != 'x' && *end != ',') || !end[1])) return -1;
    text = end + (*end != 0);
  }
  return rank;
}

static tn_status apply_shape(cli_inputs *in, const char *text) {
  const char *rest = text;
  char type[CLI_TYPE_TEXT];
  int n = 0, rank;
  int32_t k = cli_assignment(text, &n, &rest) ? find_input(in, text, n) : in->n == 1 ? 0 : -1;
  if (k < 0) return no_such_input(in, "--shape", text, n ? n : (int)strlen(text));
  if (k >= in->n)
    return tn_fail(in->diag, TN_ERR_INVALID,
                   "--shape %s: the input has a default, whose shape it has; --input replaces it",
                   text);
  int64_t shape[TN_MAX_RANK];
  tn_tensor *t = &in->values[k];
  if ((rank = parse_shape(rest, shape)) < 0)
    return tn_fail(in->diag, TN_ERR_INVALID, "--shape %s: dims are written like 1x3x224x224", text);
  bool fits = t->kind == TN_KIND_TENSOR && (t->rank < 0 || t->rank == rank);
  for (int d = 0; fits && t->rank >= 0 && d < rank; d++)
    fits = t->shape[d] < 0 || t->shape[d] == shape[d];
  if (!fits)
    return tn_fail(in->diag, TN_ERR_SHAPE, "--shape %s: does not fit input '%s', which is %s", text,
                   tn_model_input_name(in->model, k),
                   cli_type_text(t, tn_model_graph(in->model), input_value(in, k), type));
  t->rank = rank;
  for (int d = 0; d < rank; d++) t->shape[d] = shape[d];
  learn_dims(in, k);
  return TN_OK;
}

static tn_status apply_dim(cli_inputs *in, const char *text) {
  const char *rest;
  char *end;
  int n;
  if (!cli_assignment(text, &n, &rest))
    return tn_fail(in->diag, TN_ERR_INVALID, "--dim %s: is written like batch=4", text);
  long long size = strtoll(rest, &end, 10);
  if (end == rest || *end || size < 0)
    return tn_fail(in->diag, TN_ERR_INVALID, "--dim %s: is written like batch=4", text);
  if (name_dim(in, text, n, size)) return TN_OK;
  char word[CLI_NAME_MAX], meant[TN_NEAR_TEXT];
  tn_near near;
  snprintf(word, sizeof word, "%.*s", n, text);
  tn_near_begin(&near, word);
  for (int32_t k = 0; k < in->n_all; k++)
    for (int32_t d = 0; d < in->values[k].rank; d++)
      if (dim_name(in, k, d)) tn_near_offer(&near, dim_name(in, k, d));
  return tn_fail(in->diag, TN_ERR_NOT_FOUND, "--dim %s: no input has a dim of this name%s", word,
                 tn_near_text(&near, meant));
}

static tn_status find_types(cli_inputs *in) {
  tn_status s = TN_OK;
  for (int32_t k = 0; k < in->n_all && !s; k++)
    s = tn_model_input_type(in->model, k, &in->values[k]);
  for (int k = 0; k < in->feed->n_dims && !s; k++) s = apply_dim(in, in->feed->dims[k]);
  for (int k = 0; k < in->feed->n_shapes && !s; k++) s = apply_shape(in, in->feed->shapes[k]);
  return s;
}

/* ---- --input ---- */

static tn_status give(cli_inputs *in, int32_t k, const tn_tensor *value, const char *from) {
  const char *name = tn_model_input_name(in->model, k);
  if (in->from[k])
    return tn_fail(in->diag, TN_ERR_INVALID, "%s: input '%s' is given by %s already", from, name,
                   in->from[k]);
  in->from[k] = tn_arena_str(&in->store.arena, from);
  if (!in->from[k]) return TN_ERR_MEMORY;
  in->values[k] = *value;
  if (value->kind == TN_KIND_TENSOR) learn_dims(in, k);
  return TN_OK;
}

static int32_t next_input(const cli_inputs *in) {
  for (int32_t k = 0; k < in->n; k++)
    if (!in->from[k]) return k;
  return -1;
}

/* A single value; k: the input it is for, -1: the one that its name or the order says. */
static tn_status read_one(cli_inputs *in, int32_t k, const char *path) {
  int32_t next = k < 0 ? next_input(in) : k;
  if (next < 0)
    return tn_fail(in->diag, TN_ERR_INVALID, "%s: the model has no more than %d inputs", path,
                   in->n);
  const cli_reading r = {in->runtime, &in->store, &in->values[next], &in->feed->image, in->diag};
  char name[CLI_NAME_MAX];
  tn_tensor value;
  tn_status s = cli_value_read(&r, path, &value, name);
  if (s) return s;
  int32_t named = k < 0 && *name ? tn_model_find_input(in->model, name) : -1;
  return give(in, named >= 0 ? named : next, &value, path);
}

typedef struct member_visit {
  cli_inputs *in;
  const char *path;
} member_visit;

/* Before it is unpacked. */
static tn_status look_at_member(void *self, const char *name, const tn_tensor *t,
                                bool *out_wanted) {
  const member_visit *v = self;
  const cli_inputs *in = v->in;
  const int32_t k = tn_model_find_input(in->model, name);
  if (k < 0) return no_such_input(in, v->path, name, (int)strlen(name));
  char got[CLI_TYPE_TEXT], takes[CLI_TYPE_TEXT];
  *out_wanted = cli_value_may_fit(t, &in->values[k]);
  if (*out_wanted) return TN_OK;
  return tn_fail(
      in->diag, TN_ERR_SHAPE, "%s: input '%s': got %s, the model takes %s", v->path, name,
      cli_type_text(t, NULL, -1, got),
      cli_type_text(&in->values[k], tn_model_graph(in->model), input_value(in, k), takes));
}

static tn_status visit_member(void *self, const char *name, const tn_tensor *t) {
  member_visit *v = self;
  cli_inputs *in = v->in;
  const int32_t k = tn_model_find_input(in->model, name);
  const cli_reading r = {in->runtime, &in->store, &in->values[k], &in->feed->image, in->diag};
  tn_tensor value = *t;
  tn_status s = cli_value_adapt(&r, v->path, &value);
  return s ? s : give(in, k, &value, v->path);
}

/* A folder as ONNX test data has it: input_0.pb, input_1.pb ... */
static tn_status read_folder(cli_inputs *in, const char *path) {
  char file[4096];
  struct stat st;
  tn_status s = TN_OK;
  int k = 0;
  for (; !s && k < in->n; k++) {
    int n = snprintf(file, sizeof file, "%s/input_%d.pb", path, k);
    if (n < 0 || (size_t)n >= sizeof file || stat(file, &st)) break;
    s = read_one(in, -1, file);
  }
  if (k || s) return s;
  return tn_fail(in->diag, TN_ERR_NOT_FOUND, "%s: this folder holds no input_0.pb", path);
}

static tn_status read_input(cli_inputs *in, const char *text) {
  const char *rest;
  int n;
  struct stat st;
  if (cli_assignment(text, &n, &rest) && stat(text, &st)) {
    int32_t k = find_input(in, text, n);
    return k < 0 ? no_such_input(in, "--input", text, n) : read_one(in, k, rest);
  }
  if (!stat(text, &st) && S_ISDIR(st.st_mode)) return read_folder(in, text);
  member_visit v = {in, text};
  if (tn_has_suffix(text, ".npz"))
    return cli_npz_each(text, &in->store.arena, in->diag,
                        &(cli_npz_visitor){&v, look_at_member, visit_member});
  return read_one(in, -1, text);
}

/* ---- all of it ---- */

tn_status cli_inputs_open(cli_inputs *in, tn_runtime *runtime, const tn_model *model,
                          const cli_feed *feed, tn_diag *diag) {
  *in = (cli_inputs){.runtime = runtime,
                     .model = model,
                     .feed = feed,
                     .diag = diag,
                     .n = tn_model_n_inputs(model)};
  in->n_all = in->n + tn_model_n_defaults(model);
  cli_store_init(&in->store);
  uint64_t n = (uint64_t)in->n_all;
  in->values = tn_arena_alloc(&in->store.arena, n * sizeof *in->values);
  in->from = tn_arena_alloc(&in->store.arena, n * sizeof *in->from);
  in->assumed = tn_arena_alloc(&in->store.arena, n * sizeof *in->assumed);
  if (!in->values || !in->from || !in->assumed) return tn_fail(diag, TN_ERR_MEMORY, "no memory");
  tn_status s = find_types(in);
  for (int k = 0; k < feed->n_inputs && !s; k++) s = read_input(in, feed->inputs[k]);
  return cli_of_file(s);
}

void cli_inputs_free(cli_inputs *in) {
  if (in->store.arena.a) cli_store_free(&in->store);
}

/* Dims of input k that no condition has given a size become 1; `was` is its type before. */
static void close_dims(cli_inputs *in, int32_t k, const tn_tensor *was, bool quiet) {
  char before[CLI_TYPE_TEXT], after[CLI_TYPE_TEXT];
  tn_tensor *t = &in->values[k];
  bool is_any = false, is_least = false;
  for (int32_t d = 0; d < was->rank; d++) {
    if (was->shape[d] >= 0) continue;
    is_least |= t->shape[d] > 1;
    if (t->shape[d] < 0) t->shape[d] = 1;
    is_any = in->assumed[k] = true;
  }
  if (!is_any || quiet) return;
  cli_note("input '%s' is %s, taken as %s%s; --shape or --dim says otherwise",
           tn_model_input_name(in->model, k),
           cli_type_text(was, tn_model_graph(in->model), input_value(in, k), before),
           cli_type_text(t, NULL, -1, after),
           is_least ? ", the smallest that the model allows" : "");
}

tn_status cli_inputs_close_dims(cli_inputs *in, bool quiet) {
  const uint64_t bytes = (uint64_t)in->n * sizeof *in->values;
  tn_tensor *was = tn_arena_alloc(&in->store.arena, bytes);
  if (!was) return tn_fail(in->diag, TN_ERR_MEMORY, "no memory");
  if (bytes) memcpy(was, in->values, bytes);
  for (int32_t k = 0; k < in->n; k++)
    if (was[k].kind == TN_KIND_TENSOR && !in->from[k] && was[k].rank < 0)
      return tn_fail(in->diag, TN_ERR_SHAPE,
                     "input '%s': its shape is not known; say it with --shape %s=...",
                     tn_model_input_name(in->model, k), tn_model_input_name(in->model, k));
  cli_inputs_least_dims(in);
  for (int32_t k = 0; k < in->n; k++)
    if (was[k].kind == TN_KIND_TENSOR && !in->from[k]) close_dims(in, k, &was[k], quiet);
  return TN_OK;
}

bool cli_inputs_all_given(const cli_inputs *in) {
  char type[CLI_TYPE_TEXT];
  bool ok = true;
  for (int32_t k = 0; k < in->n; k++) {
    if (in->from[k]) continue;
    const char *name = tn_model_input_name(in->model, k);
    cli_error("input '%s' (%s) is not given; say --input %s=FILE, or --random", name,
              cli_type_text(&in->values[k], tn_model_graph(in->model), input_value(in, k), type),
              name);
    ok = false;
  }
  return ok;
}

tn_status cli_inputs_set(cli_inputs *in, tn_session *session, bool types_too) {
  tn_status s = in->feed->random ? cli_inputs_randomize(in) : TN_OK;
  if (!s && types_too) s = cli_inputs_close_dims(in, false);
  for (int32_t k = 0; k < in->n_all && !s; k++) {
    bool type_only = types_too && k < in->n && in->values[k].kind == TN_KIND_TENSOR;
    if (!in->from[k] && !type_only) continue;
    tn_diag *diag = tn_diag_create();
    s = tn_session_set_input(session, k, &in->values[k], diag);
    tn_diag_append(in->diag, diag, in->from[k]);
    tn_diag_destroy(diag);
  }
  return cli_of_file(s);
}
