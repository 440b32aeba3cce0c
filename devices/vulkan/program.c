/* Programs of Vulkan: modules of SPIR-V, looked at before a driver sees them, and the pipelines that
 * are made of them. */
#include <inttypes.h>
#include <string.h>

#include "vulkan.h"

/* ---- modules ---- */

/* What we have to know of SPIR-V. */
enum {
  MAGIC = 0x07230203,
  HEADER = 5,
  OP_CAPABILITY = 17,
  OP_EXECUTION_MODE = 16,
  OP_DECORATE = 71,
  OP_FUNCTION = 54,
  MODE_LOCAL_SIZE = 17,
  DECORATION_BINDING = 33,
  CAPABILITY_SHADER = 1,
  CAPABILITY_INT64 = 11,
  CAPABILITY_16_BITS = 4433,
  CAPABILITY_8_BITS = 4448,
  MAX_BINDINGS = 64
};

static tn_status fail(const tn_device_call *c, const char *what) {
  return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "%s", what);
}

static tn_status check_capability(const tn_device_call *c, const vulkan_device *d, uint32_t which) {
  if (which == CAPABILITY_SHADER) return TN_OK;
  if (which == CAPABILITY_INT64)
    return d->has_long ? TN_OK : fail(c, "the device has no integers of 64 bits (shaderInt64)");
  if (which == CAPABILITY_16_BITS)
    return d->has_16_bits
               ? TN_OK
               : fail(c, "the device stores no 16 bits (storageBuffer16BitAccess)");
  if (which == CAPABILITY_8_BITS)
    return d->has_8_bits ? TN_OK : fail(c, "the device stores no 8 bits (storageBuffer8BitAccess)");
  return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "its module needs the capability %" PRIu32,
                       which);
}

static tn_status check_group(const tn_device_call *c, const vulkan_device *d,
                             const uint32_t *size) {
  const VkPhysicalDeviceLimits *l = &d->properties.limits;
  const uint32_t *most = l->maxComputeWorkGroupSize;
  if (size[0] <= most[0] && size[1] <= most[1] && size[2] <= most[2] &&
      (uint64_t)size[0] * size[1] * size[2] <= l->maxComputeWorkGroupInvocations)
    return TN_OK;
  return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "its group of %ux%ux%u threads is too large",
                       size[0], size[1], size[2]);
}

/* Goes through the instructions before the first function. */
static tn_status look(const tn_device_call *c, const vulkan_device *d, const uint32_t *words,
                      uint64_t n, uint32_t *out_n_bindings) {
  *out_n_bindings = 0;
  if (n <= HEADER || words[0] != MAGIC) return fail(c, "its module is no SPIR-V");
  for (uint64_t at = HEADER; at < n;) {
    const uint32_t op = words[at] & 0xffff, size = words[at] >> 16;
    const uint32_t *p = words + at;
    tn_status status = TN_OK;
    if (!size || size > n - at) return fail(c, "its module is cut off");
    if (op == OP_FUNCTION) return TN_OK;
    if (op == OP_CAPABILITY && size == 2) status = check_capability(c, d, p[1]);
    if (op == OP_EXECUTION_MODE && size == 6 && p[2] == MODE_LOCAL_SIZE)
      status = check_group(c, d, p + 3);
    if (op == OP_DECORATE && size == 4 && p[2] == DECORATION_BINDING) {
      if (p[3] >= MAX_BINDINGS) return fail(c, "its module has too many bindings");
      if (p[3] >= *out_n_bindings) *out_n_bindings = p[3] + 1;
    }
    if (status) return status;
    at += size;
  }
  return TN_OK;
}

/* ---- layouts ---- */

static tn_status make_layouts(const tn_device_call *c, vulkan_program *p) {
  const vulkan_device *d = p->device;
  VkDescriptorSetLayoutBinding bindings[MAX_BINDINGS];
  for (uint32_t k = 0; k < p->n_bindings; k++)
    bindings[k] =
        (VkDescriptorSetLayoutBinding){.binding = k,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .descriptorCount = 1,
                                       .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  const VkDescriptorSetLayoutCreateInfo set = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = p->n_bindings,
      .pBindings = bindings};
  const VkPushConstantRange pushed = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                      .size = VULKAN_PUSHED_BYTES};
  const VkPipelineLayoutCreateInfo layout = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = 1,
      .pSetLayouts = &p->set,
      .pushConstantRangeCount = 1,
      .pPushConstantRanges = &pushed};
  const tn_status status =
      vulkan_answer(c, d->api.vkCreateDescriptorSetLayout(d->handle, &set, NULL, &p->set),
                    "vkCreateDescriptorSetLayout");
  if (status) return status;
  return vulkan_answer(c, d->api.vkCreatePipelineLayout(d->handle, &layout, NULL, &p->layout),
                       "vkCreatePipelineLayout");
}

/* ---- pipelines ---- */

enum { MAX_CONSTANTS = 64 };

typedef struct special {
  VkSpecializationMapEntry entries[MAX_CONSTANTS];
  int32_t values[MAX_CONSTANTS];
  VkSpecializationInfo info;
} special;

/* "TILE:int WIDE:int": how many there are. */
static uint32_t n_words(const char *text) {
  uint32_t n = 0;
  for (const char *p = text; p && *(p += strspn(p, " ")); p += strcspn(p, " ")) n++;
  return n;
}

static tn_status specialise(const tn_device_call *c, const char *constants, const int64_t *values,
                            special *s) {
  const uint32_t n = n_words(constants);
  if (n > MAX_CONSTANTS) return fail(c, "it has more than 64 constants");
  for (uint32_t k = 0; k < n; k++) {
    if (values[k] < INT32_MIN || values[k] > INT32_MAX)
      return fail(c, "a constant has more than 32 bits");
    s->values[k] = (int32_t)values[k];
    s->entries[k] = (VkSpecializationMapEntry){k, k * (uint32_t)sizeof(int32_t), sizeof(int32_t)};
  }
  s->info = (VkSpecializationInfo){n, s->entries, n * sizeof(int32_t), s->values};
  return TN_OK;
}

static tn_status make_pipeline(const tn_device_call *c, vulkan_program *p,
                               const tn_program_form *form, const special *s) {
  const vulkan_device *d = p->device;
  VkShaderModule module;
  const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                         .codeSize = form->size,
                                         .pCode = form->data};
  tn_status status = vulkan_answer(
      c, d->api.vkCreateShaderModule(d->handle, &code, NULL, &module), "vkCreateShaderModule");
  if (status) return status;
  const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main",
                .pSpecializationInfo = &s->info},
      .layout = p->layout};
  status = vulkan_answer(
      c, d->api.vkCreateComputePipelines(d->handle, p->cache, 1, &info, NULL, &p->pipeline),
      "vkCreateComputePipelines");
  d->api.vkDestroyShaderModule(d->handle, module, NULL);
  return status;
}

static tn_status build(const tn_device_call *c, vulkan_program *p, const tn_program *program,
                       const tn_program_form *form, const int64_t *constants) {
  special s;
  tn_status status =
      look(c, p->device, form->data, form->size / sizeof(uint32_t), &p->n_bindings);
  if (!status) status = specialise(c, program->constants, constants, &s);
  if (!status) status = make_layouts(c, p);
  return status ? status : make_pipeline(c, p, form, &s);
}

tn_status vulkan_program_new(const tn_device_call *c, void *device, const tn_program *program,
                             uint32_t form, const int64_t *constants, const void *binary,
                             uint64_t binary_bytes, void **out_program) {
  vulkan_program *p = c->host->alloc(c->ctx, sizeof *p);
  (void)binary, (void)binary_bytes;
  if (!p) return TN_ERR_MEMORY;
  *p = (vulkan_program){.device = device};
  const tn_status status = build(c, p, program, program->forms[form], constants);
  if (status)
    vulkan_program_free(c, p);
  else
    *out_program = p;
  return status;
}

void vulkan_program_free(const tn_device_call *c, void *program) {
  vulkan_program *p = program;
  const vulkan_device *d = p->device;
  d->api.vkDestroyPipeline(d->handle, p->pipeline, NULL);
  d->api.vkDestroyPipelineCache(d->handle, p->cache, NULL);
  d->api.vkDestroyPipelineLayout(d->handle, p->layout, NULL);
  d->api.vkDestroyDescriptorSetLayout(d->handle, p->set, NULL);
  c->host->free(c->ctx, p);
}
