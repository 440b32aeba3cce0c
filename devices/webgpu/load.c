/* wgpu-native: opened, never closed, since drivers behind it keep threads. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "webgpu.h"

#define LIBRARY "libwgpu_native.so"

static const char *library_name(void) {
  const char *named = secure_getenv("TENON_WGPU");
  return named && *named ? named : LIBRARY;
}

static bool find(void *library, const char *name, void *member) {
  void *function = dlsym(library, name);
  memcpy(member, &function, sizeof function);
  return function != NULL;
}

/* Structs change with major versions, and there is no header that would notice. */
static tn_status check_version(const tn_device_call *c, const char *name, const webgpu_api *api) {
  const uint32_t v = api->wgpuGetVersion(), major = v >> 24;
  if (major == WEBGPU_VERSION) return TN_OK;
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND,
                       "%s is version %u.%u.%u.%u of wgpu-native, which is too %s: %d is needed",
                       name, major, v >> 16 & 255, v >> 8 & 255, v & 255,
                       major < WEBGPU_VERSION ? "old" : "new", WEBGPU_VERSION);
}

tn_status webgpu_load(const tn_device_call *c, webgpu_api *api) {
  const char *name = library_name();
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return c->host->fail(c->ctx, TN_ERR_NOT_FOUND,
                         "%s cannot be loaded: %s; TENON_WGPU names the library", name,
                         why ? why : "no reason");
  }
  if (!find(library, "wgpuGetVersion", &api->wgpuGetVersion))
    return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "%s has no wgpuGetVersion: it is no wgpu-native",
                         name);
  const tn_status status = check_version(c, name, api);
  if (status) return status;
#define FIND(answer, function, arguments)                                                          \
  if (!find(library, #function, &api->function))                                                   \
    return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "%s has no %s, which wgpu-native %d has", name, \
                         #function, WEBGPU_VERSION);
  WEBGPU_FUNCTIONS(FIND)
#undef FIND
  return TN_OK;
}
