/* Paths that no code page of Windows has, all as UTF-8: a model is loaded and saved, a plug-in is
 * loaded, a folder is listed, and a path comes from the environment. Prints what fails; ends with 0
 * if nothing does.
 * usage: paths MODEL PLUGIN      (copied to names that are made here, in the working folder) */
#include <stdio.h>
#include <string.h>
#include <windows.h>

#include "base/file.h"
#include "tenon/tenon.h"

/* "ключ ☃ 模型" */
#define FOLDER "\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87 \xe2\x98\x83 \xe6\xa8\xa1\xe5\x9e\x8b"
#define WIDE_FOLDER L"\x043a\x043b\x044e\x0447 \x2603 \x6a21\x578b"

static int failures;

static void expect(int good, const char *what, tn_diag *diag) {
  if (!good) printf("%s: %s\n", what, tn_diag_text(diag)), failures++;
  tn_diag_clear(diag);
}

static int is_there(const wchar_t *path) {
  return GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
}

static int holds_files(const wchar_t *pattern) {
  WIN32_FIND_DATAW found;
  const HANDLE h = FindFirstFileW(pattern, &found);
  if (h != INVALID_HANDLE_VALUE) FindClose(h);
  return h != INVALID_HANDLE_VALUE;
}

static int count_models(void *self, const char *name, bool is_folder) {
  const char *dot = strrchr(name, '.');
  if (!is_folder && dot && !strcmp(dot, ".onnx") &&
      (!strcmp(name, "\xe6\xa8\xa1.onnx") || !strcmp(name, "\xe2\x98\x83.onnx")))
    (*(int *)self)++;
  return 0;
}

/* A list of plug-ins that are allowed, in a file that is not there: its path is told. */
static void try_environment(tn_diag *diag) {
  tn_runtime *runtime = NULL;
  _wputenv(L"TENON_PLUGIN_ALLOW=Z:/" WIDE_FOLDER);
  const tn_status status = tn_runtime_create(NULL, diag, &runtime);
  expect(status && strstr(tn_diag_text(diag), FOLDER), "the environment", diag);
  _wputenv(L"TENON_PLUGIN_ALLOW=");
  tn_runtime_destroy(runtime);
}

int main(int argc, char **argv) {
  wchar_t model_path[MAX_PATH], plugin_path[MAX_PATH];
  tn_diag *diag = tn_diag_create();
  tn_runtime *runtime = NULL;
  tn_model *model = NULL;
  int n_models = 0;
  if (argc != 3) return 2;
  MultiByteToWideChar(CP_ACP, 0, argv[1], -1, model_path, MAX_PATH);
  MultiByteToWideChar(CP_ACP, 0, argv[2], -1, plugin_path, MAX_PATH);
  CreateDirectoryW(WIDE_FOLDER, NULL);
  expect(CopyFileW(model_path, WIDE_FOLDER L"\\\x6a21.onnx", FALSE) &&
             CopyFileW(plugin_path, WIDE_FOLDER L"\\\x6a21.dll", FALSE),
         "copies", diag);
  expect(!tn_runtime_create(NULL, diag, &runtime), "a runtime", diag);
  expect(!tn_model_load(runtime, FOLDER "/\xe6\xa8\xa1.onnx", NULL, diag, &model), "a model", diag);
  expect(!tn_model_save(model, FOLDER "/\xe2\x98\x83.onnx", "onnx", NULL, NULL, diag), "saving",
         diag);
  expect(is_there(WIDE_FOLDER L"\\\x2603.onnx"), "the saved model is not where it should be", diag);
  expect(!tn_dir_each(FOLDER, diag, count_models, &n_models) && n_models == 2, "listing", diag);
  try_environment(diag);
  expect(!holds_files(L"\x00d0*"), "a name is taken for one of a code page", diag);
  tn_model_destroy(model);
  model = NULL;
  expect(!tn_model_load(runtime, FOLDER "/\xe2\x98\x83.onnx", NULL, diag, &model), "what was saved",
         diag);
  tn_model_destroy(model);
  expect(!tn_runtime_load_plugin(runtime, FOLDER "/\xe6\xa8\xa1.dll", NULL, 0, diag), "a plug-in",
         diag);
  model = NULL;
  expect(tn_model_load(runtime, FOLDER "/\xff\xfe.onnx", NULL, diag, &model) != TN_OK &&
             strstr(tn_diag_text(diag), ".onnx") != NULL,
         "a path that is no UTF-8 is not refused", diag);
  expect(tn_model_load(runtime, FOLDER "/nothing.onnx", NULL, diag, &model) == TN_ERR_NOT_FOUND,
         "a file that is not there", diag);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  printf("%d failures\n", failures);
  return failures != 0;
}
