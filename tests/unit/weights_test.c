/* Prepared weights in files: a second start takes them and gives the same bits, and whatever is
 * wrong with a file, the folder or the model's files, outputs are those of the model as it is. */
#include "plan/constants/weight_cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tenon/tenon.h"

enum { ROWS = 8, WIDTH = 160, COLUMNS = 200, CHANNELS = 160, SIDE = 9, ROOM = 4096 };

typedef struct results {
  float y[ROWS * COLUMNS], z[CHANNELS * SIDE * SIDE];
} results;

static char folder[200]; /* of this test */
static results expected;
static bool is_child;

/* The path stays. */
static const char *in_folder(const char *name) {
  static char paths[40][400];
  static size_t n;
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  for (size_t k = 0; k < n; k++)
    if (!strcmp(paths[k], path)) return paths[k];
  assert_true(n < sizeof paths / sizeof *paths);
  return strcpy(paths[n++], path);
}

/* ---- the model: y = x @ w, z = two convolutions of image with the same weights, each with a batch
 * norm of its own behind it, one less the other ---- */

static void constant(tn_graph *g, const char *name, int32_t rank, const int64_t *shape, int seed) {
  const tn_graph_api *api = tn_graph_functions();
  tn_tensor t = tn_tensor_make(TN_F32, rank, shape, NULL);
  const int64_t n = tn_tensor_elements(&t);
  float *data = malloc((size_t)n * sizeof *data);
  assert_non_null(data);
  for (int64_t k = 0; k < n; k++) data[k] = (float)((k * 7 + seed) % 31 + 1) / 64;
  t.data = data;
  assert_int_equal(api->value_set_const(g, api->value(g, name), &t, 1), TN_OK);
  free(data);
}

static void input(tn_graph *g, const char *name, int32_t rank, const int64_t *shape) {
  const tn_graph_api *api = tn_graph_functions();
  const tn_tensor type = tn_tensor_make(TN_F32, rank, shape, NULL);
  assert_int_equal(api->value_set_type(g, api->value(g, name), &type), TN_OK);
  assert_int_equal(api->add_input(g, api->value(g, name)), TN_OK);
}

static void node(tn_graph *g, const char *op, const char *const *in, uint32_t n_in,
                 const char *out) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t inputs[5], output = api->value(g, out);
  for (uint32_t k = 0; k < n_in; k++) inputs[k] = api->value(g, in[k]);
  const tn_node n = {.head = TN_HEAD(tn_node),
                     .domain = "",
                     .op = op,
                     .name = out,
                     .n_inputs = n_in,
                     .n_outputs = 1,
                     .inputs = inputs,
                     .outputs = &output,
                     .offset = -1};
  assert_true(api->add_node(g, &n) >= 0);
}

static tn_graph *make_graph(tn_runtime *rt, int seed) {
  const tn_graph_api *api = tn_graph_functions();
  tn_graph *g = NULL;
  assert_int_equal(tn_graph_create(rt, &g), TN_OK);
  assert_int_equal(api->set_opset(g, "", 17), TN_OK);
  input(g, "x", 2, (int64_t[]){ROWS, WIDTH});
  input(g, "image", 4, (int64_t[]){1, CHANNELS, SIDE, SIDE});
  constant(g, "w", 2, (int64_t[]){WIDTH, COLUMNS}, seed);
  constant(g, "filters", 4, (int64_t[]){CHANNELS, CHANNELS, 1, 1}, seed + 1);
  constant(g, "norm", 1, (int64_t[]){CHANNELS}, seed + 2);
  node(g, "MatMul", (const char *[]){"x", "w"}, 2, "y");
  node(g, "Conv", (const char *[]){"image", "filters"}, 2, "conv");
  static const float no_mean[CHANNELS]; /* so that the two differ in nothing but their weights */
  const tn_tensor mean =
      tn_tensor_make(TN_F32, 1, (int64_t[]){CHANNELS}, (void *)(uintptr_t)no_mean);
  assert_int_equal(api->value_set_const(g, api->value(g, "mean"), &mean, 1), TN_OK);
  node(g, "BatchNormalization", (const char *[]){"conv", "norm", "norm", "mean", "norm"}, 5, "a");
  constant(g, "norm2", 1, (int64_t[]){CHANNELS}, seed + 5);
  node(g, "Conv", (const char *[]){"image", "filters"}, 2, "conv2");
  node(g, "BatchNormalization", (const char *[]){"conv2", "norm2", "norm", "mean", "norm"}, 5, "b");
  node(g, "Sub", (const char *[]){"a", "b"}, 2, "z");
  assert_int_equal(api->add_output(g, api->value(g, "y")), TN_OK);
  assert_int_equal(api->add_output(g, api->value(g, "z")), TN_OK);
  return g;
}

static tn_runtime *new_runtime(tn_diag *diag) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *rt = NULL;
  options.n_threads = 2;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  if (tn_runtime_create(&options, diag, &rt)) fail_msg("%s", tn_diag_text(diag));
  return rt;
}

/* data: a file of weights next to it; NULL: all in one. */
static void write_model(const char *path, const char *data, int seed) {
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = new_runtime(diag);
  tn_model *m = NULL;
  const tn_save_options options = {
      .head = TN_HEAD(tn_save_options), .format = "onnx", .data_file = data, .data_from = 1000};
  if (tn_model_from_graph_take(rt, make_graph(rt, seed), NULL, diag, &m) ||
      tn_model_save_as(m, path, data ? &options : NULL, diag))
    fail_msg("%s", tn_diag_text(diag));
  tn_model_destroy(m);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

/* ---- running ---- */

static void run_model(tn_model *m, tn_diag *diag, results *out) {
  static float x[ROWS * WIDTH], image[CHANNELS * SIDE * SIDE];
  for (int k = 0; k < ROWS * WIDTH; k++) x[k] = (float)(k % 13 - 6);
  for (int k = 0; k < CHANNELS * SIDE * SIDE; k++) image[k] = (float)(k % 11 - 5);
  tn_tensor a = tn_tensor_make(TN_F32, 2, (int64_t[]){ROWS, WIDTH}, x),
            b = tn_tensor_make(TN_F32, 4, (int64_t[]){1, CHANNELS, SIDE, SIDE}, image);
  tn_session *s = NULL;
  if (tn_session_create(m, diag, &s) || tn_session_set_input(s, 0, &a, diag) ||
      tn_session_set_input(s, 1, &b, diag) || tn_session_run(s, diag))
    fail_msg("%s", tn_diag_text(diag));
  memcpy(out->y, tn_session_output(s, 0)->data, sizeof out->y);
  memcpy(out->z, tn_session_output(s, 1)->data, sizeof out->z);
  tn_session_destroy(s);
}

/* What one start of a program does. cache: NULL: none. Answers the bytes that were taken from the
 * cache; said gets the last message. */
static uint64_t start(const char *path, const char *cache, results *out, char *said) {
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = new_runtime(diag);
  tn_model *m = NULL;
  if ((cache && tn_runtime_cache_weights(rt, cache, diag)) ||
      tn_model_load(rt, path, NULL, diag, &m)) {
    if (is_child) _exit(2);
    fail_msg("%s", tn_diag_text(diag));
  }
  run_model(m, diag, out);
  const uint64_t bytes = tn_model_cached_bytes(m);
  tn_model_destroy(m);
  const int64_t n = tn_diag_count(diag);
  int32_t severity = TN_DIAG_ERROR;
  snprintf(said, ROOM, "%s", n ? tn_diag_message(diag, 0, &severity) : "");
  if (n) assert_int_not_equal(severity, TN_DIAG_ERROR);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
  return bytes;
}

/* Outputs must be these, and the first message hold this text; NULL: there is none. */
static uint64_t start_as(const char *path, const char *cache, const results *wanted,
                         const char *text) {
  char said[ROOM];
  results got;
  const uint64_t bytes = start(path, cache, &got, said);
  assert_memory_equal(got.y, wanted->y, sizeof got.y);
  assert_memory_equal(got.z, wanted->z, sizeof got.z);
  if (!text && *said) fail_msg("says '%s'", said);
  if (text && !strstr(said, text)) fail_msg("says '%s' instead of '%s'", said, text);
  return bytes;
}

static const char *model_path(void) { return in_folder("model.onnx"); }

/* ---- files ---- */

static char found[400];

static int note_name(void *self, const char *name, bool is_dir) {
  (void)is_dir;
  snprintf(found, sizeof found, "%s/%s", (const char *)self, name);
  return 0;
}

/* The only file in the folder. */
static const char *file_in(const char *cache) {
  char *dir = strdup(cache);
  *found = 0;
  assert_int_equal(tn_dir_each(dir, NULL, note_name, dir), TN_OK);
  free(dir);
  assert_true(*found != 0);
  return found;
}

static uint8_t *read_whole(const char *path, uint64_t *out_size) {
  tn_mapping m;
  assert_int_equal(tn_file_map(path, NULL, &m), TN_OK);
  uint8_t *copy = aligned_alloc(64, (size_t)(m.size + 63) / 64 * 64);
  assert_non_null(copy);
  memcpy(copy, m.data, (size_t)m.size);
  *out_size = m.size;
  tn_file_unmap(&m);
  return copy;
}

static void write_whole(const char *path, const void *data, uint64_t size) {
  tn_file_writer w;
  assert_int_equal(tn_file_writer_open(&w, tn_default_allocator(), path, NULL), TN_OK);
  assert_int_equal(fchmod(w.fd, 0600), 0);
  assert_int_equal(tn_file_writer_write(&w, data, size, NULL), TN_OK);
  assert_int_equal(tn_file_writer_commit(&w, NULL), TN_OK);
}

static uint64_t inode_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return (uint64_t)info.st_ino;
}

/* ---- tests ---- */

static void a_second_start_takes_them(void **state) {
  (void)state;
  const char *cache = in_folder("second");
  struct stat info;
  assert_true(start_as(model_path(), cache, &expected, NULL) == 0);
  const uint64_t inode = inode_of(file_in(cache));
  const uint64_t bytes = start_as(model_path(), cache, &expected, NULL);
  assert_true(bytes >= WIDTH * COLUMNS * sizeof(float));
  assert_true(inode_of(file_in(cache)) == inode); /* it was not written again */
  assert_int_equal(stat(file_in(cache), &info), 0);
  assert_int_equal(info.st_mode & 07777, 0644);
  assert_int_equal(stat(cache, &info), 0);
  assert_int_equal(info.st_mode & 07777, 0700);
}

static void other_eyes_cannot_read_more(void **state) {
  (void)state;
  struct stat info;
  const char *cache = in_folder("eyes");
  assert_int_equal(chmod(model_path(), 0600), 0); /* changed now */
  sleep(2);
  nanosleep(&(struct timespec){0, 50000000}, NULL);
  start_as(model_path(), cache, &expected, NULL);
  assert_int_equal(chmod(model_path(), 0644), 0);
  assert_int_equal(stat(file_in(cache), &info), 0);
  assert_int_equal(info.st_mode & 07777, 0600);
  /* The times of the file are others now, and its bytes the same. */
  assert_true(start_as(model_path(), cache, &expected, "has just been written") > 0);
}

/* A start with this byte changed notices it, and the next one takes all again. */
static void damage(const char *cache, uint8_t *good, uint64_t size, uint64_t at, uint64_t all) {
  good[at] ^= 0x10;
  write_whole(file_in(cache), good, size);
  assert_true(start_as(model_path(), cache, &expected, "weight cache: ") < all);
  assert_true(start_as(model_path(), cache, &expected, NULL) == all);
  good[at] ^= 0x10;
}

/* Head and index count everywhere, and of each state the first, a middle and the last byte. */
static void damaged_files_are_written_anew(void **state) {
  (void)state;
  uint64_t size, n_states = 0;
  tn_status status;
  tn_weight_cache_index index;
  const char *cache = in_folder("damaged");
  start_as(model_path(), cache, &expected, NULL);
  const uint64_t all = start_as(model_path(), cache, &expected, NULL);
  uint8_t *good = read_whole(file_in(cache), &size);
  assert_null(tn_weight_cache_parse(tn_default_allocator(), good, size, &index, &status));
  const tn_weight_cache_entry *last = &index.entries.data[index.entries.n - 1];
  const uint64_t front = (uint64_t)((const uint8_t *)(last->key + last->n_key) - good);
  for (uint64_t at = 0; at < front; at += 37) damage(cache, good, size, at, all);
  damage(cache, good, size, front - 1, all);
  for (int64_t k = 0; k < index.entries.n; k++, n_states++) {
    const tn_weight_cache_entry *e = &index.entries.data[k];
    const uint64_t at = (uint64_t)(e->data - good);
    damage(cache, good, size, at, all);
    damage(cache, good, size, at + e->bytes / 2, all);
    damage(cache, good, size, at + e->bytes - 1, all);
  }
  assert_true(n_states >= 2);
  const uint64_t sizes[] = {0, 1, 100, 300, size / 2, size - 1};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    write_whole(file_in(cache), good, sizes[k]);
    assert_true(start_as(model_path(), cache, &expected, "is not used") == 0);
    assert_true(start_as(model_path(), cache, &expected, NULL) == all);
  }
  tn_weight_cache_index_free(&index);
  free(good);
}

static void files_of_others_are_not_used(void **state) {
  (void)state;
  uint64_t size;
  const char *cache = in_folder("others");
  start_as(model_path(), cache, &expected, NULL);
  uint8_t *good = read_whole(file_in(cache), &size);
  good[7]++;
  write_whole(file_in(cache), good, size);
  assert_true(start_as(model_path(), cache, &expected, "of another version") == 0);
  good[7]--, good[8] ^= 1;
  write_whole(file_in(cache), good, size);
  assert_true(start_as(model_path(), cache, &expected, "another byte order") == 0);
  good[8] ^= 1, good[40] ^= 1; /* the first byte of the build id */
  assert_true(tn_weight_cache_seal(good, size));
  write_whole(file_in(cache), good, size);
  assert_true(start_as(model_path(), cache, &expected, "another build") == 0);
  assert_true(start_as(model_path(), cache, &expected, NULL) > 0);
  assert_int_equal(chmod(file_in(cache), 0620), 0);
  assert_true(start_as(model_path(), cache, &expected, "written by others") == 0);
  assert_true(start_as(model_path(), cache, &expected, NULL) > 0); /* it was replaced */
  char path[400];
  snprintf(path, sizeof path, "%s", file_in(cache));
  assert_int_equal(rename(path, in_folder("elsewhere")), 0);
  assert_int_equal(symlink(in_folder("elsewhere"), path), 0);
  assert_true(start_as(model_path(), cache, &expected, "cannot be opened") == 0);
  assert_true(start_as(model_path(), cache, &expected, NULL) > 0);
  free(good);
}

/* The name of the file says which instruction sets there are: it is not what protects. */
static void instruction_sets_are_kept_apart(void **state) {
  (void)state;
  const char *cache = in_folder("sets");
  char path[400];
  start_as(model_path(), cache, &expected, NULL);
  snprintf(path, sizeof path, "%s", file_in(cache));
  assert_int_equal(rename(path, in_folder("kept")), 0);
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = NULL;
  tn_model *m = NULL;
  results got;
  options.isa_mask = UINT64_C(1) << 63;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  assert_int_equal(tn_runtime_create(&options, diag, &rt), TN_OK);
  assert_int_equal(tn_runtime_cache_weights(rt, cache, diag), TN_OK);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(tn_model_load(rt, model_path(), NULL, diag, &m), TN_OK);
    run_model(m, diag, &got);
    assert_true(tn_model_cached_bytes(m) == 0 || k);
    tn_model_destroy(m);
    if (k) continue;
    assert_string_not_equal(file_in(cache), path);
    assert_int_equal(rename(in_folder("kept"), file_in(cache)), 0);
  }
  assert_non_null(strstr(tn_diag_message(diag, 0, NULL), "another build"));
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

/* Gives the file other contents, and its old size and time. */
static void change(const char *path, const char *data, int seed) {
  struct stat info;
  const char *file = data ? in_folder(data) : path;
  char spare[400];
  assert_int_equal(stat(file, &info), 0);
  snprintf(spare, sizeof spare, "%s", path);
  write_model(spare, data, seed);
  const struct timespec times[] = {info.st_atim, info.st_mtim};
  assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
  const off_t size = info.st_size;
  assert_int_equal(stat(file, &info), 0);
  assert_true(info.st_size == size);
}

/* The same inode, so that nothing but time and bytes differ. */
static void copy_into(const char *from, const char *to) {
  uint64_t size;
  uint8_t *data = read_whole(from, &size);
  const int fd = open(to, O_WRONLY | O_TRUNC);
  assert_true(fd >= 0);
  assert_true(write(fd, data, (size_t)size) == (ssize_t)size);
  close(fd);
  free(data);
}

static void changed_models_are_not_served_old_states(void **state) {
  (void)state;
  results other;
  char said[ROOM];
  const char *cache = in_folder("changed");
  struct stat info;
  assert_true(start_as(in_folder("first.onnx"), cache, &expected, NULL) == 0);
  assert_true(start_as(in_folder("first.onnx"), cache, &expected, NULL) > 0);
  write_model(in_folder("second.onnx"), NULL, 5);
  start(in_folder("second.onnx"), NULL, &other, said);
  assert_memory_not_equal(other.y, expected.y, sizeof other.y);
  assert_int_equal(stat(in_folder("first.onnx"), &info), 0);
  const uint64_t inode = (uint64_t)info.st_ino;
  copy_into(in_folder("second.onnx"), in_folder("first.onnx"));
  const struct timespec times[] = {info.st_atim, info.st_mtim};
  assert_int_equal(utimensat(AT_FDCWD, in_folder("first.onnx"), times, 0), 0);
  assert_true(inode_of(in_folder("first.onnx")) == inode);
  assert_true(start_as(in_folder("first.onnx"), cache, &other, "have changed since") == 0);
  /* And back: the times differ, the bytes are those of the file that is there still. */
  copy_into(model_path(), in_folder("first.onnx"));
  assert_true(start_as(in_folder("first.onnx"), cache, &expected, "just been written") > 0);
}

static void weights_in_a_second_file_count(void **state) {
  (void)state;
  results other;
  char said[ROOM];
  const char *cache = in_folder("external"), *path = in_folder("split.onnx");
  assert_true(start_as(path, cache, &expected, NULL) == 0);
  assert_true(start_as(path, cache, &expected, NULL) > 0);
  change(path, "split.data", 9);
  start(path, NULL, &other, said);
  assert_memory_not_equal(other.y, expected.y, sizeof other.y);
  assert_true(start_as(path, cache, &other, "have changed since") == 0);
}

static void fresh_models_wait(void **state) {
  (void)state;
  const char *cache = in_folder("fresh");
  results got;
  char said[ROOM];
  write_model(in_folder("fresh.onnx"), NULL, 0);
  assert_true(start_as(in_folder("fresh.onnx"), cache, &expected, "has just been written") == 0);
  assert_true(start(in_folder("fresh.onnx"), cache, &got, said) == 0);
}

static void disks_may_be_full(void **state) {
  (void)state;
  const char *cache = in_folder("full");
  struct rlimit old, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 10000;
  void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  char said[ROOM];
  results got;
  start(model_path(), cache, &got, said);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, before);
  assert_memory_equal(got.y, expected.y, sizeof got.y);
  assert_non_null(strstr(said, "is not written: cannot write"));
  int n = 0;
  *found = 0;
  assert_int_equal(tn_dir_each(cache, NULL, note_name, (void *)(uintptr_t)cache), TN_OK);
  n += *found != 0;
  assert_int_equal(n, 0); /* nothing half-written stays */
}

/* What is there is used; what is not cannot be written, and that is all. */
static void folders_may_be_read_only(void **state) {
  (void)state;
  const char *cache = in_folder("read_only");
  start_as(model_path(), cache, &expected, NULL);
  char path[400], away[400];
  snprintf(path, sizeof path, "%s", file_in(cache));
  snprintf(away, sizeof away, "%s", in_folder("away"));
  assert_int_equal(chmod(cache, 0555), 0);
  assert_int_equal(chmod(folder, 0755), 0);
  const bool is_root = geteuid() == 0;
  if (is_root) assert_int_equal(seteuid(65534), 0);
  assert_true(start_as(model_path(), cache, &expected, NULL) > 0);
  if (is_root) assert_int_equal(seteuid(0), 0);
  assert_int_equal(chmod(cache, 0755), 0);
  assert_int_equal(rename(path, away), 0);
  assert_int_equal(chmod(cache, 0555), 0);
  if (is_root) assert_int_equal(seteuid(65534), 0);
  assert_true(start_as(model_path(), cache, &expected, "is not written: cannot create") == 0);
  if (is_root) assert_int_equal(seteuid(0), 0);
  assert_int_equal(chmod(cache, 0755), 0);
}

static void folders_must_be_safe(void **state) {
  (void)state;
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = new_runtime(diag);
  const char *cache = in_folder("open");
  assert_int_equal(mkdir(cache, 0700), 0);
  assert_int_equal(tn_runtime_cache_weights(rt, cache, diag), TN_OK);
  assert_int_equal(chmod(cache, 0777), 0);
  assert_int_equal(tn_runtime_cache_weights(rt, cache, diag), TN_ERR_INVALID);
  assert_non_null(strstr(tn_diag_text(diag), "can be written by others"));
  assert_int_equal(tn_runtime_cache_weights(rt, in_folder("no/such"), diag), TN_ERR_NOT_FOUND);
  assert_int_equal(tn_runtime_cache_weights(rt, model_path(), diag), TN_ERR_INVALID);
  assert_int_equal(tn_runtime_cache_weights(NULL, cache, diag), TN_ERR_INVALID);
  tn_runtime_destroy(rt);
  tn_diag_clear(diag);
  setenv("TENON_WEIGHT_CACHE", cache, 1); /* a warning, and no more */
  rt = new_runtime(diag);
  unsetenv("TENON_WEIGHT_CACHE");
  assert_int_equal(tn_diag_count(diag), 1);
  assert_non_null(strstr(tn_diag_message(diag, 0, NULL), "TENON_WEIGHT_CACHE: "));
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

static void the_environment_names_one(void **state) {
  (void)state;
  const char *cache = in_folder("environment");
  setenv("TENON_WEIGHT_CACHE", cache, 1);
  assert_true(start_as(model_path(), NULL, &expected, NULL) == 0);
  assert_true(start_as(model_path(), NULL, &expected, NULL) > 0);
  assert_true(start_as(model_path(), "", &expected, NULL) == 0); /* the program says: none */
  unsetenv("TENON_WEIGHT_CACHE");
}

static void two_processes_at_once(void **state) {
  enum { N = 6 };
  (void)state;
  const char *cache = in_folder("at_once");
  pid_t children[N];
  for (int k = 0; k < N; k++) {
    children[k] = fork();
    assert_true(children[k] >= 0);
    if (children[k]) continue;
    results got;
    char said[ROOM];
    is_child = true;
    for (int i = 0; i < 3; i++) {
      start(model_path(), cache, &got, said);
      if (memcmp(got.y, expected.y, sizeof got.y) || *said) _exit(1);
    }
    _exit(0);
  }
  for (int k = 0; k < N; k++) {
    int status;
    assert_true(waitpid(children[k], &status, 0) == children[k]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  assert_true(start_as(model_path(), cache, &expected, NULL) > 0);
  (void)file_in(cache);
}

static int begin(void **state) {
  (void)state;
  char said[ROOM];
  const char *base = getenv("TMPDIR");
  unsetenv("TENON_WEIGHT_CACHE");
  snprintf(folder, sizeof folder, "%s/tenon-weights-XXXXXX", base && *base ? base : "/tmp");
  umask(022);
  if (!mkdtemp(folder)) return -1;
  write_model(model_path(), NULL, 0);
  write_model(in_folder("first.onnx"), NULL, 0);
  write_model(in_folder("split.onnx"), "split.data", 0);
  sleep(2); /* models that have just been written are not cached */
  nanosleep(&(struct timespec){0, 100000000}, NULL);
  start(model_path(), NULL, &expected, said);
  return *said ? -1 : 0;
}

static int end(void **state) {
  char command[300];
  (void)state;
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_second_start_takes_them),
                                     cmocka_unit_test(damaged_files_are_written_anew),
                                     cmocka_unit_test(files_of_others_are_not_used),
                                     cmocka_unit_test(instruction_sets_are_kept_apart),
                                     cmocka_unit_test(changed_models_are_not_served_old_states),
                                     cmocka_unit_test(weights_in_a_second_file_count),
                                     cmocka_unit_test(fresh_models_wait),
                                     cmocka_unit_test(disks_may_be_full),
                                     cmocka_unit_test(folders_may_be_read_only),
                                     cmocka_unit_test(folders_must_be_safe),
                                     cmocka_unit_test(the_environment_names_one),
                                     cmocka_unit_test(two_processes_at_once),
                                     cmocka_unit_test(other_eyes_cannot_read_more)};
  return cmocka_run_group_tests_name("weights", tests, begin, end);
}
