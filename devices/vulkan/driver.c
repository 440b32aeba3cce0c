/* The driver table of Vulkan, instances and devices. */
#include <stdio.h>
#include <string.h>

#include "tenon/experimental/gpu.h"
#include "vulkan.gen.h"
#include "vulkan.h"

enum { MAX_DEVICES = 64, MAX_FAMILIES = 32 };

/* ---- instances ---- */

static tn_status make_instance(const tn_device_call *c, vulkan_api *api, VkInstance *out) {
  uint32_t version = 0;
  const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                 .pApplicationName = "Tenon",
                                 .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pApplicationInfo = &app};
  tn_status status = vulkan_load(c, api);
  if (status) return status;
  if (api->vkEnumerateInstanceVersion(&version) || version < VK_API_VERSION_1_1)
    return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "the loader of Vulkan is older than 1.1");
  status = vulkan_answer(c, api->vkCreateInstance(&info, NULL, out), "vkCreateInstance");
  return status ? status : vulkan_load_instance(c, api, *out);
}

/* A queue family that computes, the one that draws least; -1: there is none. */
static int find_family(const vulkan_api *api, VkPhysicalDevice d) {
  VkQueueFamilyProperties families[MAX_FAMILIES];
  uint32_t n = MAX_FAMILIES;
  int found = -1;
  api->vkGetPhysicalDeviceQueueFamilyProperties(d, &n, families);
  for (uint32_t k = 0; k < n; k++) {
    if (!(families[k].queueFlags & VK_QUEUE_COMPUTE_BIT) || !families[k].queueCount) continue;
    if (found < 0 || !(families[k].queueFlags & VK_QUEUE_GRAPHICS_BIT)) found = (int)k;
  }
  return found;
}

/* Devices of Vulkan 1.1 with a queue for compute. */
static tn_status list(const tn_device_call *c, const vulkan_api *api, VkInstance instance,
                      VkPhysicalDevice *devices, uint32_t *out_n) {
  uint32_t n = MAX_DEVICES, kept = 0;
  const VkResult code = api->vkEnumeratePhysicalDevices(instance, &n, devices);
  *out_n = 0;
  if (code != VK_INCOMPLETE && code) return vulkan_answer(c, code, "vkEnumeratePhysicalDevices");
  for (uint32_t k = 0; k < n; k++) {
    VkPhysicalDeviceProperties p;
    api->vkGetPhysicalDeviceProperties(devices[k], &p);
    if (p.apiVersion >= VK_API_VERSION_1_1 && find_family(api, devices[k]) >= 0)
      devices[kept++] = devices[k];
  }
  *out_n = kept;
  if (kept) return TN_OK;
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "no Vulkan driver has a device that computes");
}

static tn_status count(const tn_device_call *c, uint32_t *out_n) {
  VkPhysicalDevice devices[MAX_DEVICES];
  VkInstance instance = NULL;
  vulkan_api api = {0};
  tn_status status = make_instance(c, &api, &instance);
  if (!status) status = list(c, &api, instance, devices, out_n);
  if (instance && api.vkDestroyInstance) api.vkDestroyInstance(instance, NULL);
  return status;
}

/* ---- devices ---- */

static bool has_extension(const vulkan_device *d, const char *name) {
  enum { MOST = 512 };
  VkExtensionProperties list_[MOST];
  uint32_t n = MOST;
  d->api.vkEnumerateDeviceExtensionProperties(d->physical, NULL, &n, list_);
  for (uint32_t k = 0; k < n; k++)
    if (!strcmp(list_[k].extensionName, name)) return true;
  return false;
}

/* d->lanes becomes the size of subgroups, where they are whole, always of one size, and can hand
 * values on. */
static void ask_lanes(vulkan_device *d, const VkPhysicalDeviceSubgroupSizeControlFeaturesEXT *has) {
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
  VkPhysicalDeviceSubgroupProperties lanes = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &sizes};
  VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                     .pNext = &lanes};
  if (!has->computeFullSubgroups) return;
  d->api.vkGetPhysicalDeviceProperties2(d->physical, &all);
  if (lanes.supportedOperations & VK_SUBGROUP_FEATURE_BALLOT_BIT &&
      lanes.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT &&
      sizes.minSubgroupSize == sizes.maxSubgroupSize)
    d->lanes = sizes.maxSubgroupSize;
}

/* Small storage, long integers, dot products and whole subgroups, where they are there. */
static tn_status make_device(const tn_device_call *c, vulkan_device *d) {
  const float priority = 1;
  const char *names[3];
  uint32_t n_names = 0;
  VkPhysicalDevice8BitStorageFeatures bytes = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
  VkPhysicalDeviceShaderIntegerDotProductFeaturesKHR dots = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES_KHR};
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT lanes = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
  VkPhysicalDevice16BitStorageFeatures halves = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDeviceFeatures2 there = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = &halves};
  const bool is_new = d->properties.apiVersion >= VK_API_VERSION_1_2;
  if (!is_new && has_extension(d, VK_KHR_8BIT_STORAGE_EXTENSION_NAME))
    names[n_names++] = VK_KHR_8BIT_STORAGE_EXTENSION_NAME;
  if (is_new || n_names) halves.pNext = &bytes;
  if (has_extension(d, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME)) {
    names[n_names++] = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
    dots.pNext = there.pNext;
    there.pNext = &dots;
  }
  if (has_extension(d, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) {
    names[n_names++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
    lanes.pNext = there.pNext;
    there.pNext = &lanes;
  }
  d->api.vkGetPhysicalDeviceFeatures2(d->physical, &there);
  d->has_8_bits = bytes.storageBuffer8BitAccess;
  d->has_16_bits = halves.storageBuffer16BitAccess;
  d->has_long = there.features.shaderInt64;
  d->has_dot4 = dots.shaderIntegerDotProduct;
  ask_lanes(d, &lanes);
  const VkPhysicalDeviceFeatures wanted = {.shaderInt64 = there.features.shaderInt64};
  there.features = wanted;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = d->family,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                   .pNext = &there,
                                   .queueCreateInfoCount = 1,
                                   .pQueueCreateInfos = &queue,
                                   .enabledExtensionCount = n_names,
                                   .ppEnabledExtensionNames = names};
  return vulkan_answer(c, d->api.vkCreateDevice(d->physical, &info, NULL, &d->handle),
                       "vkCreateDevice");
}

/* What stands in properties of extensions. */
static void ask_more(vulkan_device *d) {
  VkPhysicalDeviceFloatControlsProperties floats = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties sizes = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
      .pNext = d->properties.apiVersion >= VK_API_VERSION_1_2 ? &floats : NULL};
  VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                     .pNext = &sizes};
  d->api.vkGetPhysicalDeviceProperties2(d->physical, &all);
  d->max_allocation = sizes.maxMemoryAllocationSize;
  d->keeps_nan = floats.shaderSignedZeroInfNanPreserveFloat32;
}

static tn_status start(const tn_device_call *c, vulkan_device *d, uint32_t index) {
  VkPhysicalDevice devices[MAX_DEVICES];
  uint32_t n;
  void *nothing;
  tn_status status = make_instance(c, &d->api, &d->instance);
  if (!status) status = list(c, &d->api, d->instance, devices, &n);
  if (status) return status;
  if (index >= n) return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "there are %u", n);
  d->physical = devices[index];
  d->family = (uint32_t)find_family(&d->api, d->physical);
  d->api.vkGetPhysicalDeviceProperties(d->physical, &d->properties);
  d->api.vkGetPhysicalDeviceMemoryProperties(d->physical, &d->memory);
  ask_more(d);
  status = make_device(c, d);
  if (!status) status = vulkan_load_device(c, &d->api, d->handle);
  if (status) return status;
  d->api.vkGetDeviceQueue(d->handle, d->family, 0, &d->queue);
  status = vulkan_buffer_new(c, d, 16, TN_BUFFER_DEVICE, &nothing);
  if (!status) d->nothing = nothing;
  return status;
}

/* Also one that did not start. */
static void close_device(const tn_device_call *c, void *device) {
  vulkan_device *d = device;
  if (d->nothing) vulkan_buffer_free(c, d->nothing);
  if (d->handle) vulkan_blocks_free(c, d);
  if (d->handle && d->api.vkDestroyDevice) d->api.vkDestroyDevice(d->handle, NULL);
  if (d->instance && d->api.vkDestroyInstance) d->api.vkDestroyInstance(d->instance, NULL);
  pthread_mutex_destroy(&d->lock);
  c->host->free(c->ctx, d);
}

static tn_status open_device(const tn_device_call *c, uint32_t index, void **out_device) {
  vulkan_device *d = c->host->alloc(c->ctx, sizeof *d);
  if (!d) return TN_ERR_MEMORY;
  memset(d, 0, sizeof *d);
  if (pthread_mutex_init(&d->lock, NULL)) {
    c->host->free(c->ctx, d);
    return TN_ERR_MEMORY;
  }
  const tn_status status = start(c, d, index);
  if (status)
    close_device(c, d);
  else
    *out_device = d;
  return status;
}

/* ---- what a device is ---- */

static void describe_limits(const vulkan_device *d, tn_device_info *info) {
  const VkPhysicalDeviceLimits *l = &d->properties.limits;
  for (uint32_t k = 0; k < d->memory.memoryHeapCount; k++)
    if (d->memory.memoryHeaps[k].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT &&
        d->memory.memoryHeaps[k].size > info->memory_bytes)
      info->memory_bytes = d->memory.memoryHeaps[k].size;
  info->max_buffer_bytes = d->max_allocation;
  info->max_binding_bytes = l->maxStorageBufferRange;
  info->offset_alignment = l->minStorageBufferOffsetAlignment;
  info->local_bytes = l->maxComputeSharedMemorySize;
  info->max_bindings = l->maxPerStageDescriptorStorageBuffers;
  info->max_group_items = l->maxComputeWorkGroupInvocations;
  for (int k = 0; k < 3; k++) info->max_group[k] = l->maxComputeWorkGroupSize[k];
}

static tn_status describe(const tn_device_call *c, void *device, tn_device_info *info) {
  vulkan_device *d = device;
  const VkPhysicalDeviceProperties *p = &d->properties;
  (void)c;
  snprintf(d->name, sizeof d->name, "%s", p->deviceName);
  int n = snprintf(d->stamp, sizeof d->stamp, "Vulkan %u.%u, vendor %x, device %x, driver %x, %s, ",
                   VK_API_VERSION_MAJOR(p->apiVersion), VK_API_VERSION_MINOR(p->apiVersion),
                   p->vendorID, p->deviceID, p->driverVersion, p->deviceName);
  for (uint32_t k = 0; k < VK_UUID_SIZE && n > 0 && (size_t)n < sizeof d->stamp; k++)
    n += snprintf(d->stamp + n, sizeof d->stamp - (size_t)n, "%02x", p->pipelineCacheUUID[k]);
  info->name = d->name;
  info->stamp = d->stamp;
  if (d->has_8_bits && d->has_16_bits) info->flags |= TN_DEVICE_SMALL_STORES;
  if (d->lanes) info->flags |= TN_GPU_LANES;
  describe_limits(d, info);
  if (p->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) { /* slower than the host's own kernels */
    info->flops_per_ns = 2;
    info->bytes_per_ns = 4;
  } else { /* Vulkan does not tell: as many as small ones have */
    info->units = 16;
  }
  return TN_OK;
}

const tn_device_driver vulkan_driver = {
    .head = TN_HEAD(tn_device_driver),
    .name = "vulkan",
    .vendor = "Khronos",
    .kinds = "gpu",
    .languages = "spirv",
    .count = count,
    .open = open_device,
    .close = close_device,
    .describe = describe,
    .buffer_new = vulkan_buffer_new,
    .buffer_map = vulkan_buffer_map,
    .buffer_free = vulkan_buffer_free,
    .program_new = vulkan_program_new,
    .program_free = vulkan_program_free,
    .record_begin = vulkan_record_begin,
    .record_dispatch = vulkan_record_dispatch,
    .record_copy = vulkan_record_copy,
    .record_fill = vulkan_record_fill,
    .record_barrier = vulkan_record_barrier,
    .record_end = vulkan_record_end,
    .record_free = vulkan_record_free,
    .queue_new = vulkan_queue_new,
    .queue_free = vulkan_queue_free,
    .submit = vulkan_submit,
    .wait = vulkan_wait,
    .program_save = vulkan_program_save,
};
