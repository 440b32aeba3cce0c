/* The driver and NVRTC: opened, never closed, since they keep threads. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

#define DRIVER "libcuda.so.1"
#define NVRTC "libnvrtc.so"

static bool find(void *library, const char *name, void *member) {
  void *function = dlsym(library, name);
  memcpy(member, &function, sizeof function);
  return function != NULL;
}

static tn_status missing(const tn_device_call *c, const char *library, const char *name) {
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "%s has no %s, which CUDA 11.4 has", library,
                       name);
}

static tn_status fail_load(const tn_device_call *c, const char *library, const char *more) {
  const char *why = dlerror();
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "%s cannot be loaded: %s%s", library,
                       why ? why : "no reason", more);
}

/* The one that TENON_NVRTC names, or the newest. */
static void *open_nvrtc(void) {
  static const char *const names[] = {NVRTC, NVRTC ".13", NVRTC ".12", NVRTC ".11.2"};
  const char *named = secure_getenv("TENON_NVRTC");
  void *library = NULL;
  if (named && *named) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  for (size_t k = 0; k < sizeof names / sizeof *names && !library; k++)
    library = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
  return library;
}

tn_status cuda_load_nvrtc(const tn_device_call *c, cuda_api *api) {
  void *library = open_nvrtc();
  if (!library) return fail_load(c, NVRTC, "; TENON_NVRTC names the library");
#define FIND(name, arguments) \
  if (!find(library, #name, &api->name)) return missing(c, NVRTC, #name);
  NVRTC_FUNCTIONS(FIND)
#undef FIND
  return TN_OK;
}

tn_status cuda_load(const tn_device_call *c, cuda_api *api) {
  void *library = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail_load(c, DRIVER, "");
#define FIND(name, arguments) \
  if (!find(library, #name, &api->name)) return missing(c, DRIVER, #name);
  CUDA_FUNCTIONS(FIND)
#undef FIND
#define FIND(name, arguments) (void)find(library, #name, &api->name);
  CUDA_OPTIONAL_FUNCTIONS(FIND)
#undef FIND
  const tn_status status = cuda_load_nvrtc(c, api);
  return status ? status : cuda_answer(c, api, api->cuInit(0), "cuInit");
}

/* ---- errors ---- */

/* Errors of a kernel that ran stay with the context: it is of no use any more. */
static bool is_lost(int code) {
  static const int codes[] = {4,   46,  101, 201, 214, 219, 220, 221, 700, 702,
                              708, 709, 710, 714, 715, 716, 717, 718, 719, 999};
  for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
    if (codes[k] == code) return true;
  return false;
}

tn_status cuda_answer(const tn_device_call *c, const cuda_api *api, int code, const char *what) {
  const char *text = NULL;
  if (!code) return TN_OK;
  if (api->cuGetErrorString(code, &text) || !text) text = "unexpected error";
  const tn_status status = code == CUDA_OUT_OF_MEMORY ? TN_ERR_MEMORY
                           : code == CUDA_NO_DEVICE   ? TN_ERR_NOT_FOUND
                           : is_lost(code)            ? TN_ERR_IO
                                                      : TN_ERR_UNSUPPORTED;
  return c->host->fail(c->ctx, status, "%s: %s (%d)", what, text, code);
}
