/* What files are told to be. The files of tests/fuzz/corpus/identify are named after their kind;
 * each is looked at whole and cut at every byte. */
#include "base/identify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "tenon/tenon.h"

static const char folder[] = "tests/fuzz/corpus/identify";
static int n_files;

/* Memory that ends with the bytes: a sanitizer sees who reads on. */
static const char *kind_of(const uint8_t *data, uint64_t size, char *detail) {
  uint8_t *copy = malloc(size + !size);
  memcpy(copy, data, size);
  const tn_file_kind *kind = tn_file_identify(copy, size, detail);
  free(copy);
  return kind ? kind->name : "unknown";
}

static int visit(void *self, const char *name, bool is_dir) {
  (void)self;
  char path[200], detail[TN_FILE_DETAIL];
  tn_mapping m;
  if (is_dir) return 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(tn_file_map(path, NULL, &m), TN_OK);
  const char *kind = kind_of(m.data, m.size, detail);
  const size_t n = strcspn(name, ".");
  if (strlen(kind) != n || strncmp(kind, name, n)) fail_msg("%s is told to be %s", name, kind);
  for (uint64_t k = 0; k < m.size; k++) (void)kind_of(m.data, k, detail);
  tn_file_unmap(&m);
  n_files++;
  return 0;
}

static void every_kind_is_told(void **state) {
  (void)state;
  assert_int_equal(tn_dir_each(folder, NULL, visit, NULL), TN_OK);
  assert_true(n_files > 50);
}

static void detail_of(const char *name, const char *expected) {
  char path[200], detail[TN_FILE_DETAIL];
  tn_mapping m;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(tn_file_map(path, NULL, &m), TN_OK);
  (void)kind_of(m.data, m.size, detail);
  assert_string_equal(detail, expected);
  tn_file_unmap(&m);
}

static void files_say_more(void **state) {
  (void)state;
  detail_of("safetensors", "2 tensors: wte.weight, ...");
  detail_of("gguf", "architecture llama");
  detail_of("zipped-model", "hand_detector.tflite");
  detail_of("zipped-model.onnx", "net/model.onnx");
}

static void lines_are_for_people(void **state) {
  (void)state;
  char text[200];
  static const char lfs[] = "version https://git-lfs.github.com/spec/v1\n";
  uint64_t n = tn_identify(lfs, sizeof lfs - 1, NULL, text, sizeof text);
  assert_string_equal(text,
                      "a Git LFS pointer, not the file itself: run 'git lfs pull' where it "
                      "came from");
  assert_int_equal(n, strlen(text));
  char few[8];
  assert_int_equal(tn_identify(lfs, sizeof lfs - 1, NULL, few, sizeof few), n);
  assert_string_equal(few, "a Git L");
  assert_int_equal(tn_identify(lfs, sizeof lfs - 1, NULL, NULL, 0), n);
  assert_int_equal(tn_identify("?", 1, NULL, text, sizeof text), 0);
  assert_string_equal(text, "");
  assert_int_equal(tn_identify(NULL, 0, NULL, text, sizeof text), 0);
}

static void folders_are_told_by_what_is_in_them(void **state) {
  (void)state;
  char detail[TN_FILE_DETAIL], name[] = "/tmp/tenon_identify_XXXXXX", file[64], text[200];
  assert_non_null(mkdtemp(name));
  assert_null(tn_folder_identify(name, detail));
  snprintf(file, sizeof file, "%s/saved_model.pb", name);
  FILE *f = fopen(file, "w");
  assert_non_null(f);
  fclose(f);
  assert_string_equal(tn_folder_identify(name, detail)->name, "saved-model");
  assert_true(tn_identify(NULL, 0, name, text, sizeof text) > 0);
  assert_int_equal(strncmp(text, "a TensorFlow SavedModel (saved_model.pb): ", 42), 0);
  remove(file);
  remove(name);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind_is_told),
                                     cmocka_unit_test(files_say_more),
                                     cmocka_unit_test(lines_are_for_people),
                                     cmocka_unit_test(folders_are_told_by_what_is_in_them)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
