/* The driver table of OpenCL, its devices, memory and programs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "opencl.gen.h"
#include "opencl.h"

/* ---- devices ---- */

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

/* All devices of all platforms, one after the other. */
static tn_status list(const tn_device_call *c, opencl_api *api, opencl_object **devices,
                      uint32_t *out_n) {
  opencl_object *platforms[MAX_PLATFORMS];
  uint32_t n_platforms = 0;
  *out_n = 0;
  tn_status status = opencl_load(c, api);
  if (!status)
    status = opencl_answer(c, api->clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms),
                           "clGetPlatformIDs");
  if (n_platforms > MAX_PLATFORMS) n_platforms = MAX_PLATFORMS;
  for (uint32_t k = 0; k < n_platforms && !status; k++) {
    uint32_t n = 0;
    const uint32_t room = MAX_DEVICES - *out_n;
    /* a platform without devices answers with an error */
    if (!room || api->clGetDeviceIDs(platforms[k], CL_DEVICE_TYPE_ALL, room, devices + *out_n, &n))
      continue;
    *out_n += n < room ? n : room;
  }
  if (status || *out_n) return status;
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "no OpenCL driver has a device");
}

static tn_status count(const tn_device_call *c, uint32_t *out_n) {
  opencl_object *devices[MAX_DEVICES];
  opencl_api api;
  return list(c, &api, devices, out_n);
}

static tn_status open_device(const tn_device_call *c, uint32_t index, void **out_device) {
  opencl_object *devices[MAX_DEVICES];
  uint32_t n;
  int32_t code;
  opencl_api api;
  const tn_status status = list(c, &api, devices, &n);
  if (status) return status;
  if (index >= n) return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "there are %u", n);
  opencl_device *d = c->host->alloc(c->ctx, sizeof *d);
  if (!d) return TN_ERR_MEMORY;
  d->api = api;
  d->id = devices[index];
  d->context = d->api.clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
  if (!code) {
    *out_device = d;
    return TN_OK;
  }
  c->host->free(c->ctx, d);
  return opencl_answer(c, code, "clCreateContext");
}

static void close_device(const tn_device_call *c, void *device) {
  opencl_device *d = device;
  d->api.clReleaseContext(d->context);
  c->host->free(c->ctx, d);
}

/* What cannot be asked is empty, or 0. */
static void ask_text(const opencl_device *d, uint32_t what, char *text, size_t size) {
  *text = 0;
  if (d->api.clGetDeviceInfo(d->id, what, size - 1, text, NULL)) *text = 0;
  text[size - 1] = 0;
}

static uint64_t ask(const opencl_device *d, uint32_t what, size_t bytes) {
  uint64_t value = 0; /* of little-endian machines the low bytes */
  return d->api.clGetDeviceInfo(d->id, what, bytes, &value, NULL) ? 0 : value;
}

static bool has_word(const char *list_, const char *word) {
  const size_t n = strlen(word);
  for (const char *p = list_; *(p += strspn(p, " ")); p += strcspn(p, " "))
    if (strcspn(p, " ") == n && !memcmp(p, word, n)) return true;
  return false;
}

static uint32_t small(uint64_t n) { return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX; }

static void describe_limits(const opencl_device *d, tn_device_info *info) {
  size_t sizes[16] = {0};
  info->memory_bytes = ask(d, CL_DEVICE_GLOBAL_MEM_SIZE, 8);
  info->max_buffer_bytes = info->max_binding_bytes = ask(d, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8);
  info->offset_alignment = ask(d, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4) / 8;
  info->local_bytes = ask(d, CL_DEVICE_LOCAL_MEM_SIZE, 8);
  info->max_params_bytes = small(ask(d, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof(size_t)));
  info->max_group_items = small(ask(d, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)));
  if (!d->api.clGetDeviceInfo(d->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL))
    for (int k = 0; k < 3; k++) info->max_group[k] = small(sizes[k]);
}

static tn_status describe(const tn_device_call *c, void *device, tn_device_info *info) {
  opencl_device *d = device;
  char version[256], driver[256], extensions[8192];
  (void)c;
  ask_text(d, CL_DEVICE_NAME, d->name, sizeof d->name);
  ask_text(d, CL_DEVICE_VERSION, version, sizeof version);
  ask_text(d, CL_DRIVER_VERSION, driver, sizeof driver);
  ask_text(d, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
  snprintf(d->stamp, sizeof d->stamp, "%s, driver %s, %s", version, driver, d->name);
  info->name = d->name;
  info->stamp = d->stamp;
  info->flags = TN_DEVICE_SMALL_STORES;
  if (has_word(extensions, "cl_khr_fp16")) info->flags |= TN_DEVICE_F16;
  describe_limits(d, info);
  if (!(ask(d, CL_DEVICE_TYPE, 8) & CL_DEVICE_TYPE_CPU)) {
    info->units = small(ask(d, CL_DEVICE_MAX_COMPUTE_UNITS, 4));
  } else { /* slower than the host's own kernels */
    info->flops_per_ns = 10;
    info->bytes_per_ns = 4;
  }
  return TN_OK;
}

/* ---- memory ---- */

static tn_status buffer_new(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                            void **out_buffer) {
  const opencl_device *d = device;
  int32_t code = 0;
  opencl_buffer *b = c->host->alloc(c->ctx, sizeof *b);
  if (!b) return TN_ERR_MEMORY;
  *b = (opencl_buffer){.device = d, .bytes = bytes};
  if (use == TN_BUFFER_DEVICE)
    b->memory = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  else
    b->data = c->host->alloc(c->ctx, bytes);
  if (b->memory || b->data) {
    *out_buffer = b;
    return TN_OK;
  }
  c->host->free(c->ctx, b);
  return code ? opencl_answer(c, code, "clCreateBuffer") : TN_ERR_MEMORY;
}

static tn_status buffer_map(const tn_device_call *c, void *buffer, void **out_data) {
  *out_data = ((opencl_buffer *)buffer)->data;
  if (*out_data) return TN_OK;
  return c->host->fail(c->ctx, TN_ERR_STATE, "memory of the device cannot be mapped");
}

static void buffer_free(const tn_device_call *c, void *buffer) {
  opencl_buffer *b = buffer;
  if (b->memory) b->device->api.clReleaseMemObject(b->memory);
  c->host->free(c->ctx, b->data);
  c->host->free(c->ctx, b);
}

/* ---- programs ---- */

/* "TILE:int WIDE:int" and 8, 1: "-DTILE=8 -DWIDE=1". */
static bool write_options(const char *constants, const int64_t *values, char *out, size_t size) {
  int n = snprintf(out, size, "-cl-std=CL1.2");
  for (const char *p = constants; p && *(p += strspn(p, " ")); p += strcspn(p, " ")) {
    if (n < 0 || (size_t)n >= size) return false;
    n += snprintf(out + n, size - (size_t)n, " -D%.*s=%" PRId64, (int)strcspn(p, ": "), p,
                  *values++);
  }
  return n >= 0 && (size_t)n < size;
}

/* The first lines of the compiler's log. */
static tn_status fail_build(const tn_device_call *c, const opencl_device *d, opencl_object *program,
                            int32_t code) {
  char log[4096] = "";
  if (d->api.clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL))
    *log = 0;
  if (!*log) return opencl_answer(c, code, "clBuildProgram");
  return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "%.400s", log);
}

/* Of source, or of what opencl_program_save gave. */
static opencl_object *create(const opencl_device *d, const tn_program_form *form,
                             const unsigned char *binary, size_t bytes, int32_t *out_code) {
  const char *text = form->data;
  const size_t size = form->size;
  if (!binary) return d->api.clCreateProgramWithSource(d->context, 1, &text, &size, out_code);
  return d->api.clCreateProgramWithBinary(d->context, 1, &d->id, &bytes, &binary, NULL, out_code);
}

static tn_status build(const tn_device_call *c, const opencl_device *d, const tn_program_form *form,
                       const char *options, const void *binary, size_t bytes, opencl_object **out) {
  int32_t code;
  *out = create(d, form, binary, bytes, &code);
  if (code) return opencl_answer(c, code, "making a program");
  code = d->api.clBuildProgram(*out, 1, &d->id, options, NULL, NULL);
  if (!code) return TN_OK;
  const tn_status status = fail_build(c, d, *out, code);
  d->api.clReleaseProgram(*out);
  return status;
}

static tn_status program_new(const tn_device_call *c, void *device, const tn_program *program,
                             uint32_t form, const int64_t *constants, const void *binary,
                             uint64_t binary_bytes, void **out_program) {
  char options[1024];
  if (!write_options(program->constants, constants, options, sizeof options))
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "its constants are too long");
  opencl_program *p = c->host->alloc(c->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  p->device = device;
  snprintf(p->name, sizeof p->name, "%s", program->name);
  const tn_status status =
      build(c, device, program->forms[form], options, binary, (size_t)binary_bytes, &p->handle);
  if (!status) {
    *out_program = p;
    return TN_OK;
  }
  c->host->free(c->ctx, p);
  return status;
}

static void program_free(const tn_device_call *c, void *program) {
  const opencl_program *p = program;
  p->device->api.clReleaseProgram(p->handle);
  c->host->free(c->ctx, program);
}

static tn_status program_save(const tn_device_call *c, void *program, const tn_sink *to) {
  const opencl_program *p = program;
  const opencl_api *api = &p->device->api;
  size_t bytes = 0; /* a context has one device */
  int32_t code =
      api->clGetProgramInfo(p->handle, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL);
  if (code || !bytes) return TN_ERR_UNSUPPORTED;
  unsigned char *binary = c->host->alloc(c->ctx, bytes);
  if (!binary) return TN_ERR_MEMORY;
  code = api->clGetProgramInfo(p->handle, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
  const tn_status status = code ? TN_ERR_UNSUPPORTED : to->write(to->ctx, binary, bytes);
  c->host->free(c->ctx, binary);
  return status;
}

const tn_device_driver opencl_driver = {
    .head = TN_HEAD(tn_device_driver),
    .name = "opencl",
    .vendor = "Khronos",
    .kinds = "gpu",
    .languages = "opencl-c",
    .count = count,
    .open = open_device,
    .close = close_device,
    .describe = describe,
    .buffer_new = buffer_new,
    .buffer_map = buffer_map,
    .buffer_free = buffer_free,
    .program_new = program_new,
    .program_free = program_free,
    .record_begin = opencl_record_begin,
    .record_dispatch = opencl_record_dispatch,
    .record_copy = opencl_record_copy,
    .record_fill = opencl_record_fill,
    .record_barrier = opencl_record_barrier,
    .record_end = opencl_record_end,
    .record_free = opencl_record_free,
    .queue_new = opencl_queue_new,
    .queue_free = opencl_queue_free,
    .submit = opencl_submit,
    .wait = opencl_wait,
    .program_save = program_save,
};
