/* EGL: opened, never closed, since drivers behind it keep threads. */
#include <dlfcn.h>
#include <string.h>

#include "gles.h"

#define LIBRARY "libEGL.so.1"

static bool find(void *library, const char *name, void *member) {
  void *function = dlsym(library, name);
  memcpy(member, &function, sizeof function);
  return function != NULL;
}

static tn_status missing(const tn_device_call *c, const char *name) {
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND,
                       "%s has no %s, which EGL 1.5 with OpenGL ES 3.1 has", LIBRARY, name);
}

tn_status gles_load(const tn_device_call *c, gles_api *api) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "%s cannot be loaded: %s", LIBRARY,
                         why ? why : "no reason");
  }
#define FIND(type, name) \
  if (!find(library, #name, &api->name)) return missing(c, #name);
  GLES_EGL(FIND)
#undef FIND
#define FIND(type, name)                                      \
  api->name = (PFN##type##PROC)api->eglGetProcAddress(#name); \
  if (!api->name) return missing(c, #name);
  GLES_GL(FIND)
#undef FIND
  return TN_OK;
}

tn_status gles_answer(const tn_device_call *c, const gles_api *api, const char *what) {
  const GLenum code = api->glGetError();
  if (code == GL_NO_ERROR) return TN_OK;
  for (int k = 0; k < 8 && api->glGetError() != GL_NO_ERROR; k++) continue;
  if (code == GL_OUT_OF_MEMORY)
    return c->host->fail(c->ctx, TN_ERR_MEMORY, "%s: no memory on the device", what);
  enum { CONTEXT_LOST = 0x0507 };
  if (code == CONTEXT_LOST)
    return c->host->fail(c->ctx, TN_ERR_IO, "%s: the context is lost", what);
  return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "%s: error 0x%x", what, code);
}
