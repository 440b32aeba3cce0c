/* The loader of Vulkan: opened, never closed, since drivers behind it keep threads. */
#include <dlfcn.h>
#include <string.h>

#include "vulkan.h"

#define LIBRARY "libvulkan.so.1"

static tn_status missing(const tn_device_call *c, const char *name) {
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "%s has no %s, which Vulkan 1.1 has", LIBRARY,
                       name);
}

tn_status vulkan_load(const tn_device_call *c, vulkan_api *api) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "%s cannot be loaded: %s", LIBRARY,
                         why ? why : "no reason");
  }
  void *function = dlsym(library, "vkGetInstanceProcAddr");
  if (!function) return missing(c, "vkGetInstanceProcAddr");
  memcpy(&api->vkGetInstanceProcAddr, &function, sizeof function);
#define FIND(name)                                                 \
  api->name = (PFN_##name)api->vkGetInstanceProcAddr(NULL, #name); \
  if (!api->name) return missing(c, #name);
  VULKAN_GLOBAL(FIND)
#undef FIND
  return TN_OK;
}

tn_status vulkan_load_instance(const tn_device_call *c, vulkan_api *api, VkInstance instance) {
#define FIND(name)                                                     \
  api->name = (PFN_##name)api->vkGetInstanceProcAddr(instance, #name); \
  if (!api->name) return missing(c, #name);
  VULKAN_INSTANCE(FIND)
#undef FIND
  return TN_OK;
}

tn_status vulkan_load_device(const tn_device_call *c, vulkan_api *api, VkDevice device) {
#define FIND(name)                                                 \
  api->name = (PFN_##name)api->vkGetDeviceProcAddr(device, #name); \
  if (!api->name) return missing(c, #name);
  VULKAN_DEVICE(FIND)
#undef FIND
  return TN_OK;
}

/* ---- errors ---- */

static const struct {
  VkResult code;
  tn_status status;
  const char *text;
} known[] = {{VK_ERROR_OUT_OF_HOST_MEMORY, TN_ERR_MEMORY, "no memory on the host"},
             {VK_ERROR_OUT_OF_DEVICE_MEMORY, TN_ERR_MEMORY, "no memory on the device"},
             {VK_ERROR_TOO_MANY_OBJECTS, TN_ERR_MEMORY, "too many objects"},
             {VK_ERROR_OUT_OF_POOL_MEMORY, TN_ERR_MEMORY, "a pool is full"},
             {VK_ERROR_FRAGMENTED_POOL, TN_ERR_MEMORY, "a pool is full"},
             {VK_ERROR_MEMORY_MAP_FAILED, TN_ERR_MEMORY, "memory cannot be mapped"},
             {VK_ERROR_DEVICE_LOST, TN_ERR_IO, "the device is lost"},
             {VK_ERROR_INITIALIZATION_FAILED, TN_ERR_NOT_FOUND, "a driver does not start"},
             {VK_ERROR_INCOMPATIBLE_DRIVER, TN_ERR_NOT_FOUND, "no Vulkan driver is installed"},
             {VK_ERROR_LAYER_NOT_PRESENT, TN_ERR_NOT_FOUND, "a layer is not there"},
             {VK_ERROR_EXTENSION_NOT_PRESENT, TN_ERR_UNSUPPORTED, "an extension is not there"},
             {VK_ERROR_FEATURE_NOT_PRESENT, TN_ERR_UNSUPPORTED, "a feature is not there"},
             {VK_ERROR_INVALID_SHADER_NV, TN_ERR_UNSUPPORTED, "the program does not build"}};

tn_status vulkan_answer(const tn_device_call *c, VkResult code, const char *what) {
  if (code == VK_SUCCESS) return TN_OK;
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (known[k].code == code)
      return c->host->fail(c->ctx, known[k].status, "%s: %s (%d)", what, known[k].text, (int)code);
  return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "%s: unexpected error (%d)", what, (int)code);
}
