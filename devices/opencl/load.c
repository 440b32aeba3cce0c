/* The loader of OpenCL: opened, never closed, since drivers behind it keep threads. */
#include <dlfcn.h>
#include <string.h>

#include "opencl.h"

#define LIBRARY "libOpenCL.so.1"

static bool find(void *library, const char *name, void *member) {
  void *function = dlsym(library, name);
  memcpy(member, &function, sizeof function);
  return function != NULL;
}

static const char *find_all(void *library, opencl_api *api) {
#define OPENCL_FIND(result, name, arguments) \
  if (!find(library, #name, &api->name)) return #name;
  OPENCL_FUNCTIONS(OPENCL_FIND)
#undef OPENCL_FIND
  return NULL;
}

tn_status opencl_load(const tn_device_call *c, opencl_api *out_api) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "%s cannot be loaded: %s", LIBRARY,
                         why ? why : "no reason");
  }
  const char *missing = find_all(library, out_api);
  if (!missing) return TN_OK;
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "%s has no %s, which OpenCL 1.2 has", LIBRARY,
                       missing);
}

/* ---- errors ---- */

static const char *error_text(int32_t code) {
  static const struct {
    int32_t code;
    const char *text;
  } known[] = {{-1, "no device found"},
               {-2, "the device is not available"},
               {-3, "it has no compiler"},
               {-4, "no memory for a buffer"},
               {-5, "out of resources"},
               {-6, "no memory on the host"},
               {-11, "the program does not build"},
               {-13, "a sub-buffer is not aligned"},
               {-46, "no kernel of that name"},
               {-51, "an argument has another size"},
               {-52, "an argument is missing"},
               {-54, "the group is too large"},
               {-61, "a buffer of that size cannot be had"},
               {-1001, "no OpenCL driver is installed"}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (known[k].code == code) return known[k].text;
  return "unexpected error";
}

static tn_status status_of(int32_t code) {
  if (code == -4 || code == -6 || code == -61) return TN_ERR_MEMORY;
  if (code == -1 || code == -1001) return TN_ERR_NOT_FOUND;
  if (code == -2 || code == -5 || code == -14 || code == -36) return TN_ERR_IO;
  return TN_ERR_UNSUPPORTED;
}

tn_status opencl_answer(const tn_device_call *c, int32_t code, const char *what) {
  if (!code) return TN_OK;
  return c->host->fail(c->ctx, status_of(code), "%s: %s (%d)", what, error_text(code), (int)code);
}
