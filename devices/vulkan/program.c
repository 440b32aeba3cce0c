/* Programs of Vulkan: modules of SPIR-V, looked at before a driver sees them, and the pipelines
 * that are made of them. */
#include <inttypes.h>
#include <string.h>

#include "vulkan.h"

/* ---- modules ---- */

/* What we have to know of SPIR-V. */
enum {
  MAGIC = 0x07230203,
  HEADER = 5,
  OP_EXTENSION = 10,
  OP_CAPABILITY = 17,
  OP_EXECUTION_MODE = 16,
  OP_COPY_OBJECT = 83,
  OP_S_DOT = 4450,
  OP_BROADCAST = 337, /* from a thread of the subgroup */
  OP_DECORATE = 71,
  OP_FUNCTION = 54,
  MODE_LOCAL_SIZE = 17,
  MODE_KEEPS_NAN = 4461,
  DECORATION_BINDING = 33,
  CAPABILITY_SHADER = 1,
  CAPABILITY_INT64 = 11,
  CAPABILITY_SUBGROUPS = 61, /* what Vulkan 1.1 has to have */
  CAPABILITY_BALLOT = 64,
  CAPABILITY_16_BITS = 4433,
  CAPABILITY_8_BITS = 4448,
  CAPABILITY_KEEPS_NAN = 4466,
  CAPABILITY_DOT_PACKED = 6018,
  CAPABILITY_DOT = 6019,
  CONSTANT_HAS_DOT4 = 1000,
  CONSTANT_LANES = 1001,
  MAX_BINDINGS = 64
};

static tn_status reject(const tn_device_call *c, const char *what) {
  return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "%s", what);
}

static tn_status check_capability(const tn_device_call *c, const vulkan_device *d, uint32_t which) {
  if (which == CAPABILITY_SHADER || which == CAPABILITY_KEEPS_NAN || which == CAPABILITY_DOT ||
      which == CAPABILITY_DOT_PACKED || which == CAPABILITY_SUBGROUPS || which == CAPABILITY_BALLOT)
    return TN_OK;
  if (which == CAPABILITY_INT64)
    return d->has_long ? TN_OK : reject(c, "the device has no integers of 64 bits (shaderInt64)");
  if (which == CAPABILITY_16_BITS)
    return d->has_16_bits ? TN_OK
                          : reject(c, "the device stores no 16 bits (storageBuffer16BitAccess)");
  if (which == CAPABILITY_8_BITS)
    return d->has_8_bits ? TN_OK
                         : reject(c, "the device stores no 8 bits (storageBuffer8BitAccess)");
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

static bool is_extension(const uint32_t *p, uint32_t op, uint32_t size, const char *name) {
  const size_t bytes = strlen(name) + 1;
  return op == OP_EXTENSION && (size - 1) * sizeof *p >= bytes && !memcmp(p + 1, name, bytes);
}

/* What a device that may lose NaN, infinities and the sign of 0 does not know. */
static bool is_about_nan(const uint32_t *p, uint32_t op, uint32_t size) {
  if (op == OP_CAPABILITY) return size == 2 && p[1] == CAPABILITY_KEEPS_NAN;
  if (op == OP_EXECUTION_MODE) return size == 4 && p[2] == MODE_KEEPS_NAN;
  return is_extension(p, op, size, "SPV_KHR_float_controls");
}

/* What one without dot products does not know. */
static bool is_about_dots(const uint32_t *p, uint32_t op, uint32_t size) {
  if (op == OP_CAPABILITY)
    return size == 2 && (p[1] == CAPABILITY_DOT || p[1] == CAPABILITY_DOT_PACKED);
  return is_extension(p, op, size, "SPV_KHR_integer_dot_product");
}

/* What one whose threads do not read each other's values does not know. */
static bool is_about_lanes(const uint32_t *p, uint32_t op, uint32_t size) {
  return op == OP_CAPABILITY && size == 2 && p[1] == CAPABILITY_BALLOT;
}

/* Constants 1000 and 1001 say that nothing comes here where there are no dot products, or no lanes:
 * any value does. */
static uint32_t copy_instruction(const vulkan_device *d, const uint32_t *p, uint32_t op,
                                 uint32_t size, uint32_t *to) {
  enum { SHORT = 4, BROADCAST = 6 };
  const bool is_dot = op == OP_S_DOT && size >= SHORT && !d->has_dot4;
  const bool is_broadcast = op == OP_BROADCAST && size == BROADCAST && !d->lanes;
  if (!is_dot && !is_broadcast) {
    memcpy(to, p, size * sizeof *p);
    return size;
  }
  const uint32_t copy[SHORT] = {SHORT << 16 | OP_COPY_OBJECT, p[1], p[2], p[is_dot ? 3 : 4]};
  memcpy(to, copy, sizeof copy);
  return SHORT;
}

/* What its module says of itself. */
typedef struct module_facts {
  uint32_t n_bindings, wide; /* wide: a group, in its first dim */
  bool asks_lanes;
} module_facts;

static tn_status check_instruction(const tn_device_call *c, const vulkan_device *d,
                                   const uint32_t *p, uint32_t op, uint32_t size,
                                   module_facts *facts) {
  if (op == OP_CAPABILITY && size == 2) {
    facts->asks_lanes = facts->asks_lanes || p[1] == CAPABILITY_BALLOT;
    return check_capability(c, d, p[1]);
  }
  if (op == OP_EXECUTION_MODE && size == 6 && p[2] == MODE_LOCAL_SIZE) {
    facts->wide = p[3];
    return check_group(c, d, p + 3);
  }
  if (op == OP_DECORATE && size == 4 && p[2] == DECORATION_BINDING) {
    if (p[3] >= MAX_BINDINGS) return reject(c, "its module has too many bindings");
    if (p[3] >= facts->n_bindings) facts->n_bindings = p[3] + 1;
  }
  return TN_OK;
}

/* Copies the instructions that the device knows to `to`, and looks at those before the first
 * function. */
static tn_status copy_module(const tn_device_call *c, const vulkan_device *d, const uint32_t *words,
                             uint64_t n, uint32_t *to, uint64_t *out_n, module_facts *out) {
  uint64_t kept = HEADER;
  bool is_head = true;
  *out = (module_facts){0};
  if (n <= HEADER || words[0] != MAGIC) return reject(c, "its module is no SPIR-V");
  memcpy(to, words, HEADER * sizeof *words);
  for (uint64_t at = HEADER; at < n;) {
    const uint32_t op = words[at] & 0xffff, size = words[at] >> 16;
    const uint32_t *p = words + at;
    if (!size || size > n - at) return reject(c, "its module is cut off");
    at += size;
    is_head = is_head && op != OP_FUNCTION;
    if (is_head && !d->keeps_nan && is_about_nan(p, op, size)) continue;
    if (is_head && !d->has_dot4 && is_about_dots(p, op, size)) continue;
    if (is_head && !d->lanes && is_about_lanes(p, op, size)) continue;
    kept += copy_instruction(d, p, op, size, to + kept);
    const tn_status status = is_head ? check_instruction(c, d, p, op, size, out) : TN_OK;
    if (status) return status;
  }
  *out_n = kept;
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
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
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

typedef struct special { /* and constants 1000 and 1001 */
  VkSpecializationMapEntry entries[MAX_CONSTANTS + 2];
  int32_t values[MAX_CONSTANTS + 2];
  VkSpecializationInfo info;
} special;

/* "TILE:int WIDE:int": how many there are. */
static uint32_t n_words(const char *text) {
  uint32_t n = 0;
  for (const char *p = text; p && *(p += strspn(p, " ")); p += strcspn(p, " ")) n++;
  return n;
}

static void set_constant(special *s, uint32_t at, uint32_t id, int32_t value) {
  s->values[at] = value;
  s->entries[at] = (VkSpecializationMapEntry){id, at * (uint32_t)sizeof(int32_t), sizeof(int32_t)};
}

/* lanes: of subgroups that read each other's values; 0: they do not. */
static tn_status specialise(const tn_device_call *c, const vulkan_device *d, const char *constants,
                            const int64_t *values, uint32_t lanes, special *s) {
  const uint32_t n = n_words(constants);
  if (n > MAX_CONSTANTS) return reject(c, "it has more than 64 constants");
  for (uint32_t k = 0; k < n; k++) {
    if (values[k] < INT32_MIN || values[k] > INT32_MAX)
      return reject(c, "a constant has more than 32 bits");
    set_constant(s, k, k, (int32_t)values[k]);
  }
  set_constant(s, n, CONSTANT_HAS_DOT4, d->has_dot4);
  set_constant(s, n + 1, CONSTANT_LANES, (int32_t)lanes);
  s->info = (VkSpecializationInfo){n + 2, s->entries, (n + 2) * sizeof(int32_t), s->values};
  return TN_OK;
}

/* What the driver made of an earlier build, or nothing. */
static tn_status make_cache(const tn_device_call *c, vulkan_program *p, const void *binary,
                            uint64_t bytes) {
  const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                          .initialDataSize = binary ? (size_t)bytes : 0,
                                          .pInitialData = binary};
  const vulkan_device *d = p->device;
  return vulkan_answer(c, d->api.vkCreatePipelineCache(d->handle, &info, NULL, &p->cache),
                       "vkCreatePipelineCache");
}

/* is_full: all subgroups are whole. */
static tn_status make_pipeline(const tn_device_call *c, vulkan_program *p, const uint32_t *words,
                               uint64_t n, const special *s, bool is_full) {
  const vulkan_device *d = p->device;
  VkShaderModule module;
  const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                         .codeSize = (size_t)n * sizeof *words,
                                         .pCode = words};
  tn_status status = vulkan_answer(c, d->api.vkCreateShaderModule(d->handle, &code, NULL, &module),
                                   "vkCreateShaderModule");
  if (status) return status;
  const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .flags =
                    is_full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT : 0,
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
                       const tn_program_form *form, const int64_t *constants, const void *binary,
                       uint64_t bytes) {
  special s;
  module_facts facts;
  const vulkan_device *d = p->device;
  uint64_t n = form->size / sizeof(uint32_t);
  uint32_t *words = c->host->alloc(c->ctx, form->size);
  if (!words) return TN_ERR_MEMORY;
  tn_status status = copy_module(c, d, form->data, n, words, &n, &facts);
  p->n_bindings = facts.n_bindings;
  const bool is_full = facts.asks_lanes && d->lanes && facts.wide % d->lanes == 0;
  if (!status) status = specialise(c, d, program->constants, constants, is_full ? d->lanes : 0, &s);
  if (!status) status = make_layouts(c, p);
  if (!status) status = make_cache(c, p, binary, bytes);
  if (!status) status = make_pipeline(c, p, words, n, &s, is_full);
  c->host->free(c->ctx, words);
  return status;
}

tn_status vulkan_program_new(const tn_device_call *c, void *device, const tn_program *program,
                             uint32_t form, const int64_t *constants, const void *binary,
                             uint64_t binary_bytes, void **out_program) {
  vulkan_program *p = c->host->alloc(c->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  *p = (vulkan_program){.device = device};
  const tn_status status =
      build(c, p, program, program->forms[form], constants, binary, binary_bytes);
  if (status)
    vulkan_program_free(c, p);
  else
    *out_program = p;
  return status;
}

/* Not every driver has anything to keep (lavapipe has caches of its own): then there is a header
 * alone. */
tn_status vulkan_program_save(const tn_device_call *c, void *program, const tn_sink *to) {
  enum { HEADER_BYTES = sizeof(VkPipelineCacheHeaderVersionOne) };
  const vulkan_program *p = program;
  const vulkan_device *d = p->device;
  size_t bytes = 0;
  if (d->api.vkGetPipelineCacheData(d->handle, p->cache, &bytes, NULL) || bytes <= HEADER_BYTES)
    return TN_ERR_UNSUPPORTED;
  void *data = c->host->alloc(c->ctx, bytes);
  if (!data) return TN_ERR_MEMORY;
  const VkResult code = d->api.vkGetPipelineCacheData(d->handle, p->cache, &bytes, data);
  const tn_status status = code ? TN_ERR_UNSUPPORTED : to->write(to->ctx, data, bytes);
  c->host->free(c->ctx, data);
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
