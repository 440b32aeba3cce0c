/* Programs of WebGPU: modules and the pipelines that are made of them. */
#include <string.h>

#include "webgpu.h"

enum { MAX_BINDINGS = 64, MAX_CONSTANTS = 64 };

/* ---- pipelines ---- */

static tn_status make_layouts(const tn_device_call *c, webgpu_program *p) {
  webgpu_layout_entry entries[MAX_BINDINGS + 1];
  webgpu_device *d = p->device;
  for (uint32_t k = 0; k <= p->n_bindings; k++) {
    entries[k] = (webgpu_layout_entry){.binding = k, .stages = WEBGPU_COMPUTE};
    entries[k].buffer.kind = k < p->n_bindings ? WEBGPU_BIND_STORAGE : WEBGPU_BIND_UNIFORM;
    entries[k].buffer.is_dynamic = k == p->n_bindings;
  }
  const webgpu_layout_descriptor groups = {.n_entries = p->n_bindings + 1, .entries = entries};
  p->groups = d->api.wgpuDeviceCreateBindGroupLayout(d->handle, &groups);
  const tn_status status = webgpu_answer(c, d, "wgpuDeviceCreateBindGroupLayout");
  if (status) return status;
  const webgpu_pipeline_layout_descriptor layout = {.n_layouts = 1, .layouts = &p->groups};
  p->layout = d->api.wgpuDeviceCreatePipelineLayout(d->handle, &layout);
  return webgpu_answer(c, d, "wgpuDeviceCreatePipelineLayout");
}

static tn_status make_pipeline(const tn_device_call *c, webgpu_program *p,
                               const webgpu_chain *source) {
  static const char entry[] = "main";
  webgpu_device *d = p->device;
  const webgpu_module_descriptor code = {.next = source};
  webgpu_object *module = d->api.wgpuDeviceCreateShaderModuleTrusted(d->handle, &code, 0);
  tn_status status = webgpu_answer(c, d, "wgpuDeviceCreateShaderModule");
  if (!status) status = make_layouts(c, p);
  if (!status) {
    webgpu_pipeline_descriptor descriptor = {.layout = p->layout};
    descriptor.compute.module = module;
    descriptor.compute.entry = (webgpu_text){entry, sizeof entry - 1};
    p->pipeline = d->api.wgpuDeviceCreateComputePipeline(d->handle, &descriptor);
    status = webgpu_answer(c, d, "wgpuDeviceCreateComputePipeline");
  }
  if (module) d->api.wgpuShaderModuleRelease(module);
  return status;
}

/* ---- programs ---- */

/* "TILE:int WIDE:int" and 8, 1, as 32 bits. */
static tn_status narrow(const tn_device_call *c, const char *constants, const int64_t *values,
                        int32_t *out, uint32_t *out_n) {
  uint32_t n = 0;
  for (const char *p = constants; p && *(p += strspn(p, " ")); p += strcspn(p, " "), n++) {
    if (n == MAX_CONSTANTS || values[n] < INT32_MIN || values[n] > INT32_MAX)
      return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED,
                           "it has more than 64 constants, or one of more than 32 bits");
    out[n] = (int32_t)values[n];
  }
  *out_n = n;
  return TN_OK;
}

static tn_status build(const tn_device_call *c, webgpu_program *p, const tn_program *program,
                       const tn_program_form *form, const int64_t *constants) {
  int32_t values[MAX_CONSTANTS];
  uint32_t n_values = 0;
  webgpu_module module;
  tn_status status = narrow(c, program->constants, constants, values, &n_values);
  if (!status)
    status = webgpu_specialise(c, p->device, form->data, form->size / sizeof(uint32_t), values,
                               n_values, &module);
  if (status) return status;
  const webgpu_spirv_source source = {
      .chain = {.kind = WEBGPU_CHAIN_SPIRV}, .n_words = (uint32_t)module.n, .words = module.words};
  p->n_bindings = module.n_bindings;
  status = make_pipeline(c, p, &source.chain);
  c->host->free(c->ctx, module.words);
  return status;
}

/* wgpu-native gives no binaries. */
tn_status webgpu_program_new(const tn_device_call *c, void *device, const tn_program *program,
                             uint32_t form, const int64_t *constants, const void *binary,
                             uint64_t binary_bytes, void **out_program) {
  (void)binary_bytes;
  if (binary) return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "WebGPU has no binaries");
  webgpu_program *p = c->host->alloc(c->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  *p = (webgpu_program){.device = device};
  const tn_status status = build(c, p, program, program->forms[form], constants);
  if (status)
    webgpu_program_free(c, p);
  else
    *out_program = p;
  return status;
}

void webgpu_program_free(const tn_device_call *c, void *program) {
  const webgpu_program *p = program;
  const webgpu_api *api = &p->device->api;
  if (p->pipeline) api->wgpuComputePipelineRelease(p->pipeline);
  if (p->layout) api->wgpuPipelineLayoutRelease(p->layout);
  if (p->groups) api->wgpuBindGroupLayoutRelease(p->groups);
  c->host->free(c->ctx, program);
}

/* ---- what the API cannot copy ---- */

/* Params: where to read and write, in bytes, how many; or to fill, and the word. A thread writes
 * one word of the second binding. */
static const char copier[] =
    "struct params { base: vec4<u32>, at: u32, to: u32, bytes: u32, fill: u32, word: u32 }\n"
    "@group(0) @binding(0) var<storage, read_write> a: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read_write> b: array<u32>;\n"
    "@group(0) @binding(2) var<uniform> p: params;\n"
    "fn byte_of(k: u32) -> u32 {\n"
    "  if (p.fill != 0u) { return p.word >> (k % 4u * 8u) & 255u; }\n"
    "  return a[(p.at + k) / 4u] >> ((p.at + k) % 4u * 8u) & 255u;\n"
    "}\n"
    "@compute @workgroup_size(64)\n"
    "fn main(@builtin(workgroup_id) group: vec3<u32>,\n"
    "        @builtin(local_invocation_index) local: u32) {\n"
    "  let w = (group.x + p.base.x) * 64u + local;\n"
    "  let shift = p.to % 4u;\n"
    "  if (w * 4u >= shift + p.bytes) { return; }\n"
    "  let is_whole = w * 4u >= shift && w * 4u + 4u <= shift + p.bytes;\n"
    "  let k = w * 4u - shift;\n"
    "  if (is_whole && p.fill == 0u && (p.at + k) % 4u == 0u) {\n"
    "    b[p.to / 4u + w] = a[(p.at + k) / 4u];\n"
    "    return;\n"
    "  }\n"
    "  var value = b[p.to / 4u + w];\n"
    "  for (var j = 0u; j < 4u; j++) {\n"
    "    if (w * 4u + j >= shift && w * 4u + j < shift + p.bytes) {\n"
    "      value = (value & ~(255u << (j * 8u))) | byte_of(k + j) << (j * 8u);\n"
    "    }\n"
    "  }\n"
    "  b[p.to / 4u + w] = value;\n"
    "}\n";

tn_status webgpu_copier_new(const tn_device_call *c, webgpu_device *d) {
  const webgpu_wgsl_source source = {.chain = {.kind = WEBGPU_CHAIN_WGSL},
                                     .text = {copier, sizeof copier - 1}};
  d->copier = c->host->alloc(c->ctx, sizeof *d->copier);
  if (!d->copier) return TN_ERR_MEMORY;
  *d->copier = (webgpu_program){.device = d, .n_bindings = 2};
  return make_pipeline(c, d->copier, &source.chain);
}
