/* Test cases as they lie in folders; see test_sets.h. */
#include "test_sets.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"

/* {dir}, {stem}: see test_sets.h; {set}, {k}: numbers. */
static const cli_layout layouts[] = {
    {"test_data_set_0/input_0.pb", "{dir}/test_data_set_{set}/input_{k}.pb",
     "{dir}/test_data_set_{set}/output_{k}.pb", false},
    {"ref/set0_in0.npy", "{dir}/ref/set{set}_in{k}.npy", "{dir}/ref/set{set}_out{k}.npy", false},
    {"<model>.inp0", "{stem}.inp{k}", "{stem}.out{k}", true},
    {"<model>_input0_int16.csv", "{stem}_input{k}_int16.csv", "{stem}_golden_int16.csv", true}};

enum { PATH = 4096, SAMPLE = 97 };

/* Fills in the names. False: it is too long. */
static bool make_path(const char *pattern, const char *dir, const char *stem, int set, int k,
                      const char *ending, char *out) {
  char text[16];
  size_t n = 0;
  for (const char *p = pattern; *p; p++) {
    const char *word = text;
    snprintf(text, sizeof text, "%c", *p);
    if (*p == '{') {
      word = !strncmp(p, "{dir}", 5) ? dir : !strncmp(p, "{stem}", 6) ? stem : text;
      if (!strncmp(p, "{set}", 5)) snprintf(text, sizeof text, "%d", set);
      if (!strncmp(p, "{k}", 3)) snprintf(text, sizeof text, "%d", k);
      p = strchr(p, '}');
    }
    const int more = snprintf(out + n, PATH - n, "%s", word);
    if (more < 0 || (size_t)more >= PATH - n) return false;
    n += (size_t)more;
  }
  return snprintf(out + n, PATH - n, "%s", ending) < (int)(PATH - n);
}

/* Is it there with another ending? */
static bool ends_so(char *path, const char *ending, const char *other) {
  const size_t n = strlen(path), m = strlen(ending);
  if (n < m || strcmp(path + n - m, ending) || n - m + strlen(other) >= PATH) return false;
  strcpy(path + n - m, other);
  return !access(path, R_OK);
}

/* The file's path, if it is there. Large outputs may be stored as every 97th of their elements. */
static bool find_file(const cli_set *s, bool output, int k, bool *out_sample, char *path) {
  const char *pattern = output ? s->c->layout->output : s->c->layout->input;
  const bool more = strstr(pattern, "{k}") || !k;
  *out_sample = false;
  if (!more || !make_path(pattern, s->c->dir, s->c->stem, s->number, k, "", path)) return false;
  if (!access(path, R_OK)) return true;
  if (ends_so(path, "_int16.csv", "_int32.csv")) return true;
  *out_sample = output && ends_so(path, ".npy", ".sample.npy");
  return *out_sample;
}

const cli_layout *cli_layout_of(const char *dir, const char *stem) {
  const cli_case c = {.dir = dir, .stem = stem};
  for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
    cli_case with = c;
    with.layout = &layouts[k];
    const cli_set s = {.c = &with};
    if (cli_set_is_there(&s)) return &layouts[k];
  }
  return NULL;
}

bool cli_set_is_there(const cli_set *s) {
  char path[PATH];
  bool sample;
  if (s->c->layout->one_set && s->number) return false;
  if (find_file(s, true, 0, &sample, path) || find_file(s, false, 0, &sample, path)) return true;
  /* a folder without files is a set that a broken test has left */
  if (!make_path(s->c->layout->output, s->c->dir, s->c->stem, s->number, 0, "", path)) return false;
  if (!strstr(path, "/test_data_set_")) return false;
  *strrchr(path, '/') = 0;
  return !access(path, R_OK);
}

/* ---- values ---- */

static tn_status read_npy(cli_set *s, const char *path, tn_tensor *out) {
  tn_mapping file;
  tn_status status = tn_file_map(path, s->diag, &file);
  if (status) return status;
  status = cli_npy_parse(path, file.data, file.size, &s->store.arena, s->diag, out);
  tn_file_unmap(&file);
  return status;
}

static tn_status no_memory(cli_set *s, const char *path) {
  return tn_fail(s->diag, TN_ERR_MEMORY, "%s: out of memory", path);
}

/* One byte, which is no element, then the elements. */
static tn_status read_raw(cli_set *s, const char *path, const tn_tensor *type, tn_tensor *out) {
  tn_mapping file;
  const cli_reading r = {.store = &s->store, .want = type, .diag = s->diag};
  tn_status status = tn_file_map(path, s->diag, &file);
  if (status) return status;
  *out = *type;
  if (tn_tensor_elements(type) < 0)
    status = cli_value_place(&r, path, ((int64_t)file.size - 1) * 8 / tn_dtype(type->dtype)->bits,
                             "elements", out);
  const int64_t bytes = status ? -1 : tn_tensor_bytes(out);
  if (bytes < 0 || file.size != (uint64_t)bytes + 1)
    status = tn_fail(s->diag, TN_ERR_SHAPE, "%s: has %llu bytes, where a byte and %lld are wanted",
                     path, (unsigned long long)file.size, (long long)bytes);
  else if (!(out->data = tn_arena_copy(&s->store.arena, file.data + 1, (uint64_t)bytes)))
    status = no_memory(s, path);
  tn_file_unmap(&file);
  return status;
}

/* Integers with commas between, row by row. */
static tn_status read_csv(cli_set *s, const char *path, const tn_tensor *type, tn_tensor *out) {
  tn_mapping file;
  tn_status status = tn_file_map(path, s->diag, &file);
  if (status) return status;
  const int64_t n = tn_tensor_elements(type), bytes = tn_tensor_bytes(type);
  char *text = tn_arena_strn(&s->store.arena, (const char *)file.data, (int64_t)file.size);
  tn_file_unmap(&file);
  *out = *type;
  out->data = bytes < 0 ? NULL : tn_arena_alloc(&s->store.arena, (uint64_t)bytes + 1);
  if (!text || !out->data) return no_memory(s, path);
  int64_t k = 0;
  for (char *p = text, *end; *(p += strspn(p, ", \r\n\t")); p = end, k++) {
    const long long value = strtoll(p, &end, 10);
    if (end == p || k == n)
      return tn_fail(s->diag, TN_ERR_INVALID, "%s: number %lld is none, or one too many", path,
                     (long long)k);
    tn_store_f64(type->dtype, out->data, k, (double)value);
  }
  return k == n ? TN_OK
                : tn_fail(s->diag, TN_ERR_SHAPE, "%s: has %lld numbers, where %lld are wanted",
                          path, (long long)k, (long long)n);
}

/* Writers of ONNX up to 1.12 stored bf16 data as uint16. */
static void mend_bf16(tn_tensor *value, uint32_t dtype) {
  if (dtype == TN_BF16 && value->dtype == TN_U16 && value->kind == TN_KIND_TENSOR)
    value->dtype = TN_BF16;
}

/* name: what the file calls it, "" if it does not say. */
static tn_status read_value(cli_set *s, const char *path, const tn_tensor *type, char *name,
                            const tn_tensor **out) {
  const char *dot = strrchr(path, '.');
  tn_tensor *made;
  *name = 0;
  if (!strcmp(dot, ".pb")) {
    if (tn_vec_room(tn_default_allocator(), &s->store.loaded, 1)) return no_memory(s, path);
    const tn_status status =
        tn_value_load(s->runtime, path, "onnx", type->kind, s->diag, &made, name, CLI_NAME_MAX);
    if (!status) s->store.loaded.data[s->store.loaded.n++] = made;
    *out = made;
    return status;
  }
  *out = made = tn_arena_alloc(&s->store.arena, sizeof *made);
  if (!made) return no_memory(s, path);
  if (!strcmp(dot, ".npy")) return read_npy(s, path, made);
  if (!strcmp(dot, ".csv")) return read_csv(s, path, type, made);
  return read_raw(s, path, type, made);
}

/* Number k of "scalars": ["16000", ...] in ref/meta.json: inputs of rank 0 have no files there. */
static const char *find_scalar(const char *text, int k) {
  const char *p = strstr(text, "\"scalars\"");
  if (p) p = strchr(p, '[');
  while (p && *p != ']') {
    p += 1 + strspn(p + 1, " ,\"");
    if (*p == ']' || !k--) return *p && *p != ']' ? p : NULL;
    p += strcspn(p, ",]");
  }
  return NULL;
}

/* Sets input `index`, if it is the first of rank 0 behind those that have files. */
static tn_status feed_scalar(cli_set *s, int32_t index, int scalar) {
  char path[PATH];
  tn_mapping file;
  tn_tensor type;
  if (!make_path("{dir}/ref/meta.json", s->c->dir, s->c->stem, 0, 0, "", path)) return TN_OK;
  if (access(path, R_OK) || tn_model_input_type(s->model, index, &type) || type.rank) return TN_OK;
  tn_status status = tn_file_map(path, s->diag, &file);
  if (status) return status;
  const char *text = tn_arena_strn(&s->store.arena, (const char *)file.data, (int64_t)file.size),
             *number = text ? find_scalar(text, scalar) : NULL;
  tn_file_unmap(&file);
  if (!number) return TN_OK;
  type.data = tn_arena_alloc(&s->store.arena, sizeof(double));
  if (!type.data) return no_memory(s, path);
  tn_store_f64(type.dtype, type.data, 0, strtod(number, NULL));
  return tn_session_set_input(s->session, index, &type, s->diag);
}

tn_status cli_set_feed(cli_set *s) {
  char path[PATH], name[CLI_NAME_MAX];
  bool sample;
  int32_t n_files = 0;
  const int32_t n = tn_model_n_inputs(s->model) + tn_model_n_defaults(s->model);
  for (int32_t k = 0; k < n && find_file(s, false, k, &sample, path); k++, n_files++) {
    tn_tensor type;
    const tn_tensor *value;
    tn_status status = tn_model_input_type(s->model, k, &type);
    if (!status) status = read_value(s, path, &type, name, &value);
    if (status) return status;
    const int32_t named = *name ? tn_model_find_input(s->model, name) : k,
                  index = named < 0 ? k : named;
    tn_tensor given = *value;
    if (!tn_model_input_type(s->model, index, &type)) mend_bf16(&given, type.dtype);
    status = tn_session_set_input(s->session, index, &given, s->diag);
    if (status) return status;
  }
  for (int32_t k = n_files; k < tn_model_n_inputs(s->model); k++) {
    const tn_status status = feed_scalar(s, k, k - n_files);
    if (status) return status;
  }
  return TN_OK;
}

/* Every 97th element. */
static tn_status sample_of(cli_set *s, const tn_tensor *t, tn_tensor *out) {
  const int64_t n = (tn_tensor_elements(t) + SAMPLE - 1) / SAMPLE;
  const uint32_t bytes = tn_dtype(t->dtype)->bits / 8;
  *out = tn_tensor_make(t->dtype, 1, &n, tn_arena_alloc(&s->store.arena, (uint64_t)n * bytes + 1));
  if (!out->data) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++)
    memcpy((char *)out->data + k * bytes, (const char *)t->data + k * SAMPLE * bytes, bytes);
  return TN_OK;
}

static bool compare_one(cli_set *s, int32_t k, const char *path, bool sample,
                        const cli_tolerance *t, char *why, size_t size) {
  char name[CLI_NAME_MAX], text[512];
  const tn_tensor *got = tn_session_output(s->session, k), *want;
  tn_tensor part;
  if (!got) {
    snprintf(why, size, "the session gives no output %d", k);
    return false;
  }
  if (read_value(s, path, got, name, &want) || (sample && sample_of(s, got, &part))) {
    snprintf(why, size, "%s", tn_diag_text(s->diag));
    return false;
  }
  tn_tensor expected = *want;
  mend_bf16(&expected, got->dtype);
  if (cli_same(sample ? &part : got, &expected, t, text, sizeof text)) return true;
  snprintf(why, size, "output '%.60s' %s", tn_model_output_name(s->model, k), text);
  return false;
}

int32_t cli_set_compare(cli_set *s, const cli_tolerance *t, char *why, size_t size) {
  char path[PATH];
  bool sample;
  int32_t k = 0;
  *why = 0;
  for (; k < tn_model_n_outputs(s->model) && find_file(s, true, k, &sample, path); k++)
    if (!compare_one(s, k, path, sample, t, why, size)) return -1;
  return k;
}
