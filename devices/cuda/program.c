/* Programs of CUDA: NVRTC compiles them for the architecture of the device. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cuda.h"

enum { MAX_OPTIONS = 80, OPTION_TEXT = 64 };

typedef struct options {
  char text[MAX_OPTIONS][OPTION_TEXT];
  const char *list[MAX_OPTIONS];
  int n;
} options;

static bool add_option(options *o, const char *name, int name_size, int64_t value) {
  if (o->n == MAX_OPTIONS) return false;
  char *text = o->text[o->n];
  const int n = snprintf(text, OPTION_TEXT, "-D%.*s=%" PRId64, name_size, name, value);
  o->list[o->n++] = text;
  return n > 0 && n < OPTION_TEXT;
}

/* NVRTC knows no pragma against fusing products with sums, not even in other statements. */
static bool is_exact(const char *text) {
  static const char pragma[] = "#pragma STDC FP_CONTRACT OFF";
  return !strncmp(text, pragma, sizeof pragma - 1);
}

/* "TILE:int WIDE:int" and 8, 1: "-DTILE=8", "-DWIDE=1". */
static bool write_options(options *o, const char *text, const char *constants,
                          const int64_t *values, const char *arch) {
  o->n = 0;
  if (is_exact(text)) o->list[o->n++] = "--fmad=false";
  o->list[o->n++] = "-default-device";
  o->list[o->n++] = "--std=c++14";
  snprintf(o->text[o->n], OPTION_TEXT, "--gpu-architecture=%s", arch);
  o->list[o->n] = o->text[o->n];
  o->n++;
  for (const char *p = constants; p && *(p += strspn(p, " ")); p += strcspn(p, " "))
    if (!add_option(o, p, (int)strcspn(p, ": "), *values++)) return false;
  return true;
}

/* The first lines of the compiler's log. */
static tn_status fail_build(const tn_device_call *c, const cuda_api *api, cuda_object *program,
                            int code) {
  size_t size = 0;
  char *log = NULL;
  if (!api->nvrtcGetProgramLogSize(program, &size) && size > 1) log = c->host->alloc(c->ctx, size);
  if (log && api->nvrtcGetProgramLog(program, log)) *log = 0;
  const tn_status status = log && *log
                               ? c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "%.400s", log)
                               : c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "NVRTC: error %d", code);
  c->host->free(c->ctx, log);
  return status;
}

static tn_status take_cubin(const tn_device_call *c, const cuda_api *api, cuda_object *program,
                            void **out_binary, uint64_t *out_bytes) {
  size_t size = 0;
  const int code = api->nvrtcGetCUBINSize(program, &size);
  if (code || !size) return fail_build(c, api, program, code);
  void *binary = c->host->alloc(c->ctx, size);
  if (!binary) return TN_ERR_MEMORY;
  api->nvrtcGetCUBIN(program, binary);
  *out_binary = binary;
  *out_bytes = size;
  return TN_OK;
}

tn_status cuda_compile(const tn_device_call *c, const cuda_api *api, const tn_program *program,
                       const tn_program_form *form, const int64_t *constants, const char *arch,
                       void **out_binary, uint64_t *out_bytes) {
  options o;
  cuda_object *made = NULL;
  char *text = c->host->alloc(c->ctx, form->size + 1); /* NVRTC wants a zero behind it */
  if (!text) return TN_ERR_MEMORY;
  memcpy(text, form->data, form->size);
  text[form->size] = 0;
  if (!write_options(&o, text, program->constants, constants, arch)) {
    c->host->free(c->ctx, text);
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "its constants are too long");
  }
  int code = api->nvrtcCreateProgram(&made, text, program->name, 0, NULL, NULL);
  c->host->free(c->ctx, text);
  if (code) return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "nvrtcCreateProgram: error %d", code);
  code = api->nvrtcCompileProgram(made, o.n, o.list);
  const tn_status status =
      code ? fail_build(c, api, made, code) : take_cubin(c, api, made, out_binary, out_bytes);
  api->nvrtcDestroyProgram(&made);
  return status;
}

/* ---- modules ---- */

static tn_status load(const tn_device_call *c, cuda_program *p, const char *name) {
  const cuda_api *api = &p->device->api;
  cuda_address group;
  size_t bytes = 0;
  tn_status status =
      cuda_answer(c, api, api->cuModuleLoadData(&p->module, p->binary), "cuModuleLoadData");
  if (!status)
    status = cuda_answer(c, api, api->cuModuleGetFunction(&p->function, p->module, name),
                         "cuModuleGetFunction");
  if (!status)
    status = cuda_answer(c, api, api->cuModuleGetGlobal_v2(&group, &bytes, p->module, "group_"),
                         "its group_");
  if (!status && bytes != sizeof p->group)
    status = c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "its group_ is not int[3]");
  if (!status)
    status =
        cuda_answer(c, api, api->cuMemcpyDtoH_v2(p->group, group, sizeof p->group), "cuMemcpyDtoH");
  return status;
}

static tn_status make(const tn_device_call *c, cuda_program *p, const tn_program *program,
                      uint32_t form, const int64_t *constants, const void *binary, uint64_t bytes) {
  char arch[16];
  snprintf(arch, sizeof arch, "sm_%d%d", p->device->major, p->device->minor);
  if (!binary)
    return cuda_compile(c, &p->device->api, program, program->forms[form], constants, arch,
                        &p->binary, &p->binary_bytes);
  p->binary = c->host->alloc(c->ctx, bytes);
  if (!p->binary) return TN_ERR_MEMORY;
  memcpy(p->binary, binary, bytes);
  p->binary_bytes = bytes;
  return TN_OK;
}

tn_status cuda_program_new(const tn_device_call *c, void *device, const tn_program *program,
                           uint32_t form, const int64_t *constants, const void *binary,
                           uint64_t binary_bytes, void **out_program) {
  cuda_program *p = c->host->alloc(c->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  *p = (cuda_program){.device = device};
  tn_status status = make(c, p, program, form, constants, binary, binary_bytes);
  if (!status) status = cuda_enter(c, device);
  if (!status) {
    status = load(c, p, program->name);
    cuda_leave(device);
  }
  if (status)
    cuda_program_free(c, p);
  else
    *out_program = p;
  return status;
}

tn_status cuda_program_save(const tn_device_call *c, void *program, const tn_sink *to) {
  const cuda_program *p = program;
  (void)c;
  return to->write(to->ctx, p->binary, p->binary_bytes);
}

void cuda_program_free(const tn_device_call *c, void *program) {
  cuda_program *p = program;
  if (p->module && !cuda_enter(c, p->device)) {
    p->device->api.cuModuleUnload(p->module);
    cuda_leave(p->device);
  }
  c->host->free(c->ctx, p->binary);
  c->host->free(c->ctx, p);
}
