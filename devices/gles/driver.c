/* The driver table of OpenGL ES, its device, memory and programs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gles.gen.h"
#include "gles.h"

/* ---- contexts ---- */

bool gles_enter(const gles_device *d, gles_before *before) {
  const gles_api *api = &d->api;
  before->api = api->eglQueryAPI();
  before->display = api->eglGetCurrentDisplay();
  before->context = api->eglGetCurrentContext();
  before->draw = api->eglGetCurrentSurface(EGL_DRAW);
  before->read = api->eglGetCurrentSurface(EGL_READ);
  api->eglBindAPI(EGL_OPENGL_ES_API);
  return api->eglMakeCurrent(d->display, EGL_NO_SURFACE, EGL_NO_SURFACE, d->context);
}

void gles_leave(const gles_device *d, const gles_before *before) {
  const gles_api *api = &d->api;
  api->eglMakeCurrent(d->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  if (before->context != EGL_NO_CONTEXT)
    api->eglMakeCurrent(before->display, before->draw, before->read, before->context);
  if (before->api != EGL_NONE) api->eglBindAPI(before->api);
}

tn_status gles_lost(const tn_device_call *c) {
  return c->host->fail(c->ctx, TN_ERR_IO, "eglMakeCurrent: the context is lost");
}

/* Without a window system, if the driver can do that. */
static EGLDisplay get_display(const gles_api *api) {
  enum { PLATFORM_SURFACELESS_MESA = 0x31DD };
  const char *all = api->eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  if (all && strstr(all, "EGL_MESA_platform_surfaceless"))
    return api->eglGetPlatformDisplay(PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
  return api->eglGetDisplay(EGL_DEFAULT_DISPLAY);
}

static tn_status fail_egl(const tn_device_call *c, const gles_api *api, const char *what) {
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "%s: no driver of OpenGL ES 3.1 (0x%x)", what,
                       (unsigned)api->eglGetError());
}

static tn_status make_context(const tn_device_call *c, gles_device *d) {
  static const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, 0,
                                  EGL_NONE};
  static const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 1,
                                   EGL_NONE};
  const gles_api *api = &d->api;
  EGLConfig config;
  EGLint n = 0, major, minor;
  d->display = get_display(api);
  if (d->display == EGL_NO_DISPLAY) return fail_egl(c, api, "eglGetDisplay");
  if (!api->eglInitialize(d->display, &major, &minor)) return fail_egl(c, api, "eglInitialize");
  const EGLenum before = api->eglQueryAPI();
  api->eglBindAPI(EGL_OPENGL_ES_API);
  if (api->eglChooseConfig(d->display, wanted, &config, 1, &n) && n > 0)
    d->context = api->eglCreateContext(d->display, config, EGL_NO_CONTEXT, version);
  if (before != EGL_NONE) api->eglBindAPI(before);
  return d->context != EGL_NO_CONTEXT ? TN_OK : fail_egl(c, api, "eglCreateContext");
}

/* Displays are shared by all of the process that ask for them: eglTerminate is not ours to call. */
static tn_status start(const tn_device_call *c, gles_device *d) {
  gles_before before;
  memset(d, 0, sizeof *d);
  tn_status status = gles_load(c, &d->api);
  if (!status) status = make_context(c, d);
  if (status) return status;
  if (gles_enter(d, &before)) {
    d->api.glGenBuffers(1, &d->nothing);
    d->api.glBindBuffer(GL_COPY_WRITE_BUFFER, d->nothing);
    d->api.glBufferData(GL_COPY_WRITE_BUFFER, 16, NULL, GL_STATIC_DRAW);
    d->api.glGetIntegerv(GL_UNIFORM_BUFFER_OFFSET_ALIGNMENT, &d->uniform_alignment);
    for (GLuint k = 0; k < 3; k++)
      d->api.glGetIntegeri_v(GL_MAX_COMPUTE_WORK_GROUP_COUNT, k, &d->max_groups[k]);
    status = gles_answer(c, &d->api, "starting");
  } else {
    status = c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "no context without a surface");
  }
  gles_leave(d, &before);
  if (status) d->api.eglDestroyContext(d->display, d->context);
  return status;
}

static tn_status count(const tn_device_call *c, uint32_t *out_n) {
  gles_device d;
  const tn_status status = start(c, &d);
  *out_n = status ? 0 : 1;
  if (!status) d.api.eglDestroyContext(d.display, d.context);
  return status;
}

static tn_status open_device(const tn_device_call *c, uint32_t index, void **out_device) {
  if (index) return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "there is 1");
  gles_device *d = c->host->alloc(c->ctx, sizeof *d);
  if (!d) return TN_ERR_MEMORY;
  const tn_status status = start(c, d);
  if (status)
    c->host->free(c->ctx, d);
  else
    *out_device = d;
  return status;
}

static void close_device(const tn_device_call *c, void *device) {
  gles_device *d = device;
  d->api.eglDestroyContext(d->display, d->context); /* with all that is in it */
  c->host->free(c->ctx, d);
}

/* ---- what the device is ---- */

static uint32_t ask(const gles_device *d, GLenum what) {
  GLint value = 0;
  d->api.glGetIntegerv(what, &value);
  return value > 0 ? (uint32_t)value : 0;
}

static void describe_limits(const gles_device *d, tn_device_info *info) {
  GLint64 bytes = 0;
  d->api.glGetInteger64v(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &bytes);
  info->max_binding_bytes = bytes > 0 ? (uint64_t)bytes : 0;
  info->max_buffer_bytes = INT32_MAX / 2 + 1u;
  info->offset_alignment = ask(d, GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT);
  info->local_bytes = ask(d, GL_MAX_COMPUTE_SHARED_MEMORY_SIZE);
  info->max_bindings = ask(d, GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS);
  info->max_params_bytes = ask(d, GL_MAX_UNIFORM_BLOCK_SIZE);
  info->max_group_items = ask(d, GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS);
  for (GLuint k = 0; k < 3; k++) {
    GLint most = 0;
    d->api.glGetIntegeri_v(GL_MAX_COMPUTE_WORK_GROUP_SIZE, k, &most);
    info->max_group[k] = (uint32_t)most;
  }
}

static tn_status describe(const tn_device_call *c, void *device, tn_device_info *info) {
  gles_device *d = device;
  gles_before before;
  const bool here = gles_enter(d, &before);
  if (here) {
    snprintf(d->name, sizeof d->name, "%s", (const char *)d->api.glGetString(GL_RENDERER));
    snprintf(d->stamp, sizeof d->stamp, "%s, %s", (const char *)d->api.glGetString(GL_VERSION),
             d->name);
    describe_limits(d, info);
  }
  gles_leave(d, &before);
  if (!here) return gles_lost(c);
  info->name = d->name;
  info->stamp = d->stamp;
  info->flags = TN_DEVICE_SERIAL | TN_DEVICE_SMALL_STORES;
  if (strstr(d->name, "llvmpipe") || strstr(d->name, "softpipe")) { /* the processor */
    info->flops_per_ns = 2;
    info->bytes_per_ns = 4;
  }
  return TN_OK;
}

/* ---- memory ---- */

static tn_status buffer_new(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                            void **out_buffer) {
  const gles_device *d = device;
  const uint64_t size = (bytes + 15) / 16 * 16; /* programs store in fours */
  gles_before before;
  if (bytes > INT32_MAX / 2 + 1u)
    return c->host->fail(c->ctx, TN_ERR_MEMORY, "a buffer of OpenGL ES has up to 1 GiB");
  gles_buffer *b = c->host->alloc(c->ctx, sizeof *b);
  if (!b) return TN_ERR_MEMORY;
  *b = (gles_buffer){.device = d};
  if (use != TN_BUFFER_DEVICE) b->data = c->host->alloc(c->ctx, size);
  tn_status status = use == TN_BUFFER_DEVICE || b->data ? TN_OK : TN_ERR_MEMORY;
  const bool here = gles_enter(d, &before);
  if (!here) status = gles_lost(c);
  if (!status) {
    d->api.glGenBuffers(1, &b->handle);
    d->api.glBindBuffer(GL_COPY_WRITE_BUFFER, b->handle);
    d->api.glBufferData(GL_COPY_WRITE_BUFFER, (GLsizeiptr)size, NULL, GL_DYNAMIC_COPY);
    status = gles_answer(c, &d->api, "glBufferData");
    if (status) d->api.glDeleteBuffers(1, &b->handle);
  }
  gles_leave(d, &before);
  *out_buffer = b;
  if (!status) return TN_OK;
  c->host->free(c->ctx, b->data);
  c->host->free(c->ctx, b);
  return status;
}

static tn_status buffer_map(const tn_device_call *c, void *buffer, void **out_data) {
  *out_data = ((gles_buffer *)buffer)->data;
  if (*out_data) return TN_OK;
  return c->host->fail(c->ctx, TN_ERR_STATE, "memory of the device cannot be mapped");
}

static tn_status copy_back(const tn_device_call *c, const gles_buffer *b, uint64_t offset,
                           uint64_t bytes) {
  const gles_api *api = &b->device->api;
  const void *from = api->glMapBufferRange(GL_COPY_READ_BUFFER, (GLintptr)offset, (GLsizeiptr)bytes,
                                           GL_MAP_READ_BIT);
  if (from) memcpy((uint8_t *)b->data + offset, from, bytes);
  if (from) api->glUnmapBuffer(GL_COPY_READ_BUFFER);
  return gles_answer(c, api, "glMapBufferRange");
}

static tn_status buffer_sync(const tn_device_call *c, void *buffer, uint64_t offset, uint64_t bytes,
                             uint32_t to_device) {
  const gles_buffer *b = buffer;
  const gles_api *api = &b->device->api;
  gles_before before;
  tn_status status = TN_OK;
  if (!gles_enter(b->device, &before)) {
    status = gles_lost(c);
  } else if (to_device) {
    api->glBindBuffer(GL_COPY_WRITE_BUFFER, b->handle);
    api->glBufferSubData(GL_COPY_WRITE_BUFFER, (GLintptr)offset, (GLsizeiptr)bytes,
                         (const uint8_t *)b->data + offset);
    status = gles_answer(c, api, "glBufferSubData");
  } else {
    api->glBindBuffer(GL_COPY_READ_BUFFER, b->handle);
    status = copy_back(c, b, offset, bytes);
  }
  gles_leave(b->device, &before);
  return status;
}

static void buffer_free(const tn_device_call *c, void *buffer) {
  gles_buffer *b = buffer;
  gles_before before;
  if (gles_enter(b->device, &before)) b->device->api.glDeleteBuffers(1, &b->handle);
  gles_leave(b->device, &before);
  c->host->free(c->ctx, b->data);
  c->host->free(c->ctx, b);
}

/* ---- programs ---- */

/* "TILE:int WIDE:int" and 8, 1: lines "#define TILE 8". */
static bool write_constants(const char *constants, const int64_t *values, char *out, size_t size) {
  int n = snprintf(out, size, "#version 310 es\n");
  for (const char *p = constants; p && *(p += strspn(p, " ")); p += strcspn(p, " ")) {
    if (n < 0 || (size_t)n >= size) return false;
    n += snprintf(out + n, size - (size_t)n, "#define %.*s %" PRId64 "\n", (int)strcspn(p, ": "), p,
                  *values++);
  }
  return n >= 0 && (size_t)n < size;
}

static tn_status fail_log(const tn_device_call *c, const char *log, const char *otherwise) {
  return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "%.400s", *log ? log : otherwise);
}

static tn_status compile(const tn_device_call *c, const gles_api *api, const tn_program_form *form,
                         const char *head, GLuint *out_shader) {
  const char *const texts[] = {head, form->data};
  const GLint sizes[] = {(GLint)strlen(head), (GLint)form->size};
  char log[4096] = "";
  GLint done = 0;
  *out_shader = api->glCreateShader(GL_COMPUTE_SHADER);
  api->glShaderSource(*out_shader, 2, texts, sizes);
  api->glCompileShader(*out_shader);
  api->glGetShaderiv(*out_shader, GL_COMPILE_STATUS, &done);
  if (done) return TN_OK;
  api->glGetShaderInfoLog(*out_shader, sizeof log, NULL, log);
  api->glDeleteShader(*out_shader);
  return fail_log(c, log, "glCompileShader");
}

static tn_status link_program(const tn_device_call *c, gles_program *p) {
  const gles_api *api = &p->device->api;
  char log[4096] = "";
  GLint done = 0;
  api->glGetProgramiv(p->handle, GL_LINK_STATUS, &done);
  if (!done) {
    api->glGetProgramInfoLog(p->handle, sizeof log, NULL, log);
    return fail_log(c, log, "glLinkProgram");
  }
  p->base = api->glGetUniformLocation(p->handle, "base_");
  return gles_answer(c, api, "glLinkProgram");
}

/* The format stands before the bytes. */
static tn_status load_binary(const tn_device_call *c, gles_program *p, const void *binary,
                             uint64_t bytes) {
  const gles_api *api = &p->device->api;
  GLenum format;
  if (bytes <= sizeof format || bytes > INT32_MAX) return TN_ERR_UNSUPPORTED;
  memcpy(&format, binary, sizeof format);
  p->handle = api->glCreateProgram();
  api->glProgramBinary(p->handle, format, (const uint8_t *)binary + sizeof format,
                       (GLsizei)(bytes - sizeof format));
  return link_program(c, p);
}

static tn_status build(const tn_device_call *c, gles_program *p, const tn_program *program,
                       uint32_t form, const int64_t *constants) {
  const gles_api *api = &p->device->api;
  char head[4096];
  GLuint shader;
  if (!write_constants(program->constants, constants, head, sizeof head))
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "its constants are too long");
  const tn_status status = compile(c, api, program->forms[form], head, &shader);
  if (status) return status;
  p->handle = api->glCreateProgram();
  api->glProgramParameteri(p->handle, GL_PROGRAM_BINARY_RETRIEVABLE_HINT, GL_TRUE);
  api->glAttachShader(p->handle, shader);
  api->glLinkProgram(p->handle);
  api->glDeleteShader(shader); /* with the program */
  return link_program(c, p);
}

static tn_status program_new(const tn_device_call *c, void *device, const tn_program *program,
                             uint32_t form, const int64_t *constants, const void *binary,
                             uint64_t binary_bytes, void **out_program) {
  gles_device *d = device;
  gles_before before;
  gles_program *p = c->host->alloc(c->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  *p = (gles_program){.device = d};
  tn_status status = TN_OK;
  if (!gles_enter(d, &before))
    status = gles_lost(c);
  else if (binary)
    status = load_binary(c, p, binary, binary_bytes);
  else
    status = build(c, p, program, form, constants);
  if (status) d->api.glDeleteProgram(p->handle); /* 0 is legal */
  gles_leave(d, &before);
  if (status)
    c->host->free(c->ctx, p);
  else
    *out_program = p;
  return status;
}

static void program_free(const tn_device_call *c, void *program) {
  const gles_program *p = program;
  gles_before before;
  if (gles_enter(p->device, &before)) p->device->api.glDeleteProgram(p->handle);
  gles_leave(p->device, &before);
  c->host->free(c->ctx, program);
}

static tn_status get_binary(const tn_device_call *c, const gles_program *p, const tn_sink *to) {
  const gles_api *api = &p->device->api;
  GLint bytes = 0;
  GLenum format;
  api->glGetProgramiv(p->handle, GL_PROGRAM_BINARY_LENGTH, &bytes);
  if (api->glGetError() || bytes <= 0) return TN_ERR_UNSUPPORTED;
  void *data = c->host->alloc(c->ctx, (uint64_t)bytes);
  if (!data) return TN_ERR_MEMORY;
  api->glGetProgramBinary(p->handle, bytes, &bytes, &format, data);
  tn_status status = api->glGetError() ? TN_ERR_UNSUPPORTED : TN_OK;
  if (!status) status = to->write(to->ctx, &format, sizeof format);
  if (!status) status = to->write(to->ctx, data, (uint64_t)bytes);
  c->host->free(c->ctx, data);
  return status;
}

static tn_status program_save(const tn_device_call *c, void *program, const tn_sink *to) {
  const gles_program *p = program;
  gles_before before;
  const tn_status status =
      gles_enter(p->device, &before) ? get_binary(c, p, to) : TN_ERR_UNSUPPORTED;
  gles_leave(p->device, &before);
  return status;
}

const tn_device_driver gles_driver = {
    .head = TN_HEAD(tn_device_driver),
    .name = "gles",
    .vendor = "Khronos",
    .kinds = "gpu",
    .languages = "glsl-es",
    .count = count,
    .open = open_device,
    .close = close_device,
    .describe = describe,
    .buffer_new = buffer_new,
    .buffer_map = buffer_map,
    .buffer_free = buffer_free,
    .buffer_sync = buffer_sync,
    .program_new = program_new,
    .program_free = program_free,
    .program_save = program_save,
    .record_begin = gles_record_begin,
    .record_dispatch = gles_record_dispatch,
    .record_copy = gles_record_copy,
    .record_fill = gles_record_fill,
    .record_barrier = gles_record_barrier,
    .record_end = gles_record_end,
    .record_free = gles_record_free,
    .queue_new = gles_queue_new,
    .queue_free = gles_queue_free,
    .submit = gles_submit,
    .wait = gles_wait,
};
