/* The driver of Vulkan 1.1 and newer. The loader is opened with dlopen, nothing is linked; its
 * headers are needed to build it.
 *
 *   load.c       the loader, its functions, its errors
 *   driver.c     the table: instances, devices, their limits
 *   memory.c     buffers; small ones share blocks
 *   program.c    SPIR-V into pipelines
 *   recording.c  command buffers
 *   queue.c      submitting, and fences as marks
 *
 * A program in "spirv" is a module with the entry "main". Bindings of descriptor set 0 are those of
 * the dispatch, in their order, as storage buffers. Params of up to 128 bytes are push constants,
 * longer ones a storage buffer behind the others. Constant k is the specialisation constant k, of
 * 32 bits; constant 1000 is 1 on devices with products of four 8-bit integers (OpSDot), which
 * programs that declare it may use only then. */
#ifndef TN_VULKAN_H
#define TN_VULKAN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "tenon/device.h"

/* ---- what we use of Vulkan ---- */

#define VULKAN_GLOBAL(X) X(vkCreateInstance) X(vkEnumerateInstanceVersion)
#define VULKAN_INSTANCE(X)                    \
  X(vkDestroyInstance)                        \
  X(vkEnumeratePhysicalDevices)               \
  X(vkGetPhysicalDeviceProperties)            \
  X(vkGetPhysicalDeviceProperties2)           \
  X(vkGetPhysicalDeviceFeatures2)             \
  X(vkGetPhysicalDeviceMemoryProperties)      \
  X(vkGetPhysicalDeviceQueueFamilyProperties) \
  X(vkEnumerateDeviceExtensionProperties)     \
  X(vkCreateDevice)                           \
  X(vkGetDeviceProcAddr)
#define VULKAN_DEVICE(X)           \
  X(vkDestroyDevice)               \
  X(vkGetDeviceQueue)              \
  X(vkCreateBuffer)                \
  X(vkDestroyBuffer)               \
  X(vkGetBufferMemoryRequirements) \
  X(vkAllocateMemory)              \
  X(vkFreeMemory)                  \
  X(vkBindBufferMemory)            \
  X(vkMapMemory)                   \
  X(vkCreateShaderModule)          \
  X(vkDestroyShaderModule)         \
  X(vkCreatePipelineCache)         \
  X(vkDestroyPipelineCache)        \
  X(vkGetPipelineCacheData)        \
  X(vkCreateDescriptorSetLayout)   \
  X(vkDestroyDescriptorSetLayout)  \
  X(vkCreatePipelineLayout)        \
  X(vkDestroyPipelineLayout)       \
  X(vkCreateComputePipelines)      \
  X(vkDestroyPipeline)             \
  X(vkCreateDescriptorPool)        \
  X(vkDestroyDescriptorPool)       \
  X(vkAllocateDescriptorSets)      \
  X(vkUpdateDescriptorSets)        \
  X(vkCreateCommandPool)           \
  X(vkDestroyCommandPool)          \
  X(vkAllocateCommandBuffers)      \
  X(vkBeginCommandBuffer)          \
  X(vkEndCommandBuffer)            \
  X(vkCmdBindPipeline)             \
  X(vkCmdBindDescriptorSets)       \
  X(vkCmdPushConstants)            \
  X(vkCmdDispatchBase)             \
  X(vkCmdCopyBuffer)               \
  X(vkCmdFillBuffer)               \
  X(vkCmdPipelineBarrier)          \
  X(vkQueueSubmit)                 \
  X(vkCreateFence)                 \
  X(vkDestroyFence)                \
  X(vkResetFences)                 \
  X(vkWaitForFences)

typedef struct vulkan_api {
#define VULKAN_MEMBER(name) PFN_##name name;
  VULKAN_GLOBAL(VULKAN_MEMBER)
  VULKAN_INSTANCE(VULKAN_MEMBER)
  VULKAN_DEVICE(VULKAN_MEMBER)
#undef VULKAN_MEMBER
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr;
} vulkan_api;

/* TN_ERR_NOT_FOUND: there is no loader, or one that is too old. The functions that need no
 * instance. Any thread. */
tn_status vulkan_load(const tn_device_call *c, vulkan_api *out_api);
tn_status vulkan_load_instance(const tn_device_call *c, vulkan_api *api, VkInstance instance);
tn_status vulkan_load_device(const tn_device_call *c, vulkan_api *api, VkDevice device);
/* What Vulkan answered; VK_SUCCESS: TN_OK. what: "vkCreateBuffer". */
tn_status vulkan_answer(const tn_device_call *c, VkResult code, const char *what);

/* ---- objects ---- */

enum { VULKAN_PUSHED_BYTES = 128 };

typedef struct vulkan_block vulkan_block;

typedef struct vulkan_device {
  vulkan_api api;
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice handle;
  uint32_t family;
  VkQueue queue;        /* under the lock */
  pthread_mutex_t lock; /* queue, blocks */
  vulkan_block *blocks;
  VkPhysicalDeviceMemoryProperties memory;
  VkPhysicalDeviceProperties properties;
  uint64_t max_allocation;
  bool has_8_bits, has_16_bits, has_long, keeps_nan, has_dot4;
  uint32_t lanes; /* threads of each subgroup, which read each other's values; 0: they cannot */
  struct vulkan_buffer *nothing; /* what left out arguments are bound to */
  char name[256], stamp[512];
} vulkan_device;

typedef struct vulkan_buffer {
  vulkan_device *device;
  VkBuffer handle;
  VkDeviceMemory memory; /* of its own; none: that of the block */
  vulkan_block *block;
  void *data; /* NULL: not mapped */
} vulkan_buffer;

typedef struct vulkan_program {
  vulkan_device *device;
  VkDescriptorSetLayout set;
  VkPipelineLayout layout;
  VkPipelineCache cache;
  VkPipeline pipeline;
  uint32_t n_bindings;
} vulkan_program;

typedef struct vulkan_recording {
  vulkan_device *device;
  VkCommandPool pool;
  VkCommandBuffer commands;
  struct vulkan_sets *sets;     /* descriptors, newest first */
  struct vulkan_params *params; /* newest first */
} vulkan_recording;

/* ---- callbacks, by file ---- */

tn_status vulkan_buffer_new(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                            void **out_buffer);
tn_status vulkan_buffer_map(const tn_device_call *c, void *buffer, void **out_data);
void vulkan_buffer_free(const tn_device_call *c, void *buffer);
void vulkan_blocks_free(const tn_device_call *c, vulkan_device *d);

tn_status vulkan_program_new(const tn_device_call *c, void *device, const tn_program *program,
                             uint32_t form, const int64_t *constants, const void *binary,
                             uint64_t binary_bytes, void **out_program);
tn_status vulkan_program_save(const tn_device_call *c, void *program, const tn_sink *to);
void vulkan_program_free(const tn_device_call *c, void *program);

tn_status vulkan_record_begin(const tn_device_call *c, void *device, void **out_recording);
tn_status vulkan_record_dispatch(const tn_device_call *c, void *recording, void *program,
                                 const tn_device_range *const *ranges, uint32_t n_ranges,
                                 const tn_dispatch *dispatch);
tn_status vulkan_record_copy(const tn_device_call *c, void *recording, const tn_device_range *from,
                             const tn_device_range *to);
tn_status vulkan_record_fill(const tn_device_call *c, void *recording, const tn_device_range *to,
                             uint32_t word);
tn_status vulkan_record_barrier(const tn_device_call *c, void *recording);
tn_status vulkan_record_end(const tn_device_call *c, void *recording);
void vulkan_record_free(const tn_device_call *c, void *recording);

tn_status vulkan_queue_new(const tn_device_call *c, void *device, void **out_queue);
void vulkan_queue_free(const tn_device_call *c, void *queue);
tn_status vulkan_submit(const tn_device_call *c, void *queue, void *recording, uint64_t mark);
tn_status vulkan_wait(const tn_device_call *c, void *queue, uint64_t mark, uint64_t timeout_ns);

#endif
