/* Every program of GPU kernels in CUDA C, compiled by NVRTC for two architectures, in floats and
 * halves, or in integers; no GPU is needed. Skipped without NVRTC. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../devices/cuda/cuda.h"
#include "device/device.h"
#include "host.h"

const tn_plugin *tn_builtin_query(uint32_t host_major, uint32_t host_minor);

static cuda_api api;
static int n_compiled, n_failed;

/* Of constants that cannot be 0; of CUDA_KERNELs, which have no other test here, also once more. */
static int64_t constant(const char *name, size_t size, bool again) {
  static const struct {
    const char *name;
    int64_t value, other;
  } values[] = {{"THREADS", 128, 128}, {"ROWS", 4, 4},   {"WM", 2, 2},      {"SHARES", 8, 8},
                {"KH", 3, 1},          {"KW", 3, 1},     {"CLUSTER", 1, 4}, {"KEPT", 3, 3},
                {"MODE_A", 0, 1},      {"MODE_B", 0, 2}, {"MODE_W", 0, 1},  {"MODE_X", 0, 2},
                {"SIZE", 64, 128}};
  for (size_t k = 0; k < sizeof values / sizeof *values; k++)
    if (strlen(values[k].name) == size && !memcmp(values[k].name, name, size))
      return again ? values[k].other : values[k].value;
  return 0;
}

/* "S_A:dtype K:int" */
static void set_constants(const char *list, int64_t dtype, bool again, int64_t *out) {
  for (const char *p = list; *(p += strspn(p, " ")); p += strcspn(p, " ")) {
    const size_t name = strcspn(p, ":");
    *out++ = !strncmp(p + name, ":dtype", 6) ? dtype : constant(p, name, again);
  }
}

static void compile(const tn_program *p, const tn_program_form *form, int64_t dtype, bool again,
                    const char *arch) {
  int64_t constants[64];
  void *binary;
  uint64_t bytes;
  set_constants(p->constants, dtype, again, constants);
  n_compiled++;
  if (!cuda_compile(&call, &api, p, form, constants, arch, &binary, &bytes)) {
    n_failed += bytes < 100;
    free(binary);
    return;
  }
  n_failed++;
  printf("FAILED: %s, dtype %d, %s: %s\n", p->name, (int)dtype, arch, said);
}

static void compile_all(const tn_program *p) {
  const char *const archs[] = {p->n_forms == 1 ? "sm_80" : "sm_75", "sm_90"}; /* CUDA_KERNEL */
  for (uint32_t k = 0; k < p->n_forms; k++) {
    if (!tn_program_form_is(p->forms[k], "cuda-c", 6)) continue;
    tn_program_view view;
    const char *problem;
    if (tn_program_view_make(tn_default_allocator(), p, k, &view, &problem)) break;
    const tn_program_form *form = view.program->forms[view.form];
    const char *kernel = strstr(form->data, "__global__");
    const bool is_long = kernel && strstr(kernel, "LDL(");
    for (int a = 0; a < 2; a++) {
      compile(p, form, is_long ? TN_I64 : TN_F32, false, archs[a]);
      compile(p, form, is_long ? TN_U8 : TN_F16, false, archs[a]);
      if (p->n_forms == 1 && a == 1) compile(p, form, TN_F16, true, archs[a]);
    }
    tn_program_view_free(tn_default_allocator(), &view);
    return;
  }
  printf("FAILED: %s has no form in cuda-c\n", p->name);
  n_failed++;
}

/* Kernels of a family share their programs. */
static bool is_done(const tn_plugin *all, uint32_t k) {
  for (uint32_t i = 0; i < k; i++)
    if (all->device_kernels[i]->programs == all->device_kernels[k]->programs) return true;
  return false;
}

int main(void) {
  const tn_plugin *all = tn_builtin_query(TN_ABI_MAJOR, TN_ABI_MINOR);
  if (cuda_load_nvrtc(&call, &api)) {
    printf("skipped: %s (PyPI has it as nvidia-cuda-nvrtc-cu12)\n", said);
    return 77;
  }
  for (uint32_t k = 0; k < all->n_device_kernels; k++) {
    const tn_device_kernel *kernel = all->device_kernels[k];
    if (is_done(all, k)) continue;
    for (uint32_t i = 0; i < kernel->n_programs; i++) compile_all(kernel->programs[i]);
  }
  printf("%d compiled, %d failed\n", n_compiled, n_failed);
  return n_failed || n_compiled < 100;
}
