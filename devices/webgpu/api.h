/* What we use of webgpu.h and of wgpu-native 29, declared by ourselves: structs lie in memory as
 * theirs do, members have names of ours. Counts stand before pointers. */
#ifndef TN_WEBGPU_API_H
#define TN_WEBGPU_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct webgpu_object webgpu_object; /* any of its handles */

/* Not ended by 0, if it has a length. */
typedef struct webgpu_text {
  const char *data;
  size_t length; /* SIZE_MAX: up to the 0 */
} webgpu_text;

enum {
  WEBGPU_VERSION = 29,    /* the major number of wgpuGetVersion */
  WEBGPU_VULKAN = 1 << 0, /* bits of backends; Metal, Direct3D 12 */
  WEBGPU_METAL = 1 << 2,
  WEBGPU_D3D12 = 1 << 3,
  WEBGPU_HAS_INT64 = 0x00030026,
  WEBGPU_SUCCESS = 1,
  WEBGPU_IS_CPU = 3,
  WEBGPU_SPONTANEOUS = 3, /* callbacks: whenever */
  WEBGPU_VALIDATION = 2,
  WEBGPU_OUT_OF_MEMORY = 3,
  WEBGPU_DESTROYED = 2,
  WEBGPU_CHAIN_SPIRV = 1,
  WEBGPU_CHAIN_WGSL = 2,
  WEBGPU_CHAIN_INSTANCE = 0x00030004,
  WEBGPU_MAP_READ = 0x01, /* use of buffers */
  WEBGPU_COPY_SRC = 0x04,
  WEBGPU_COPY_DST = 0x08,
  WEBGPU_UNIFORM = 0x40,
  WEBGPU_STORAGE = 0x80,
  WEBGPU_COMPUTE = 4,
  WEBGPU_BIND_UNIFORM = 2,
  WEBGPU_BIND_STORAGE = 3
};

typedef struct webgpu_chain {
  const struct webgpu_chain *next;
  uint32_t kind;
} webgpu_chain;

typedef struct webgpu_instance_extras {
  webgpu_chain chain;
  uint64_t backends, flags;
  uint32_t compiler, gles_version, gles_fences;
  webgpu_text compiler_path;
  uint32_t shader_model, swap_chain;
  const uint8_t *budget, *budget_of_loss;
  uint32_t display_kind;
  void *display;
  int screen;
} webgpu_instance_extras;

typedef struct webgpu_instance_descriptor {
  const webgpu_chain *next;
  size_t n_features;
  const uint32_t *features;
  const void *limits;
} webgpu_instance_descriptor;

typedef struct webgpu_adapter_options {
  const webgpu_chain *next;
  uint64_t backends;
} webgpu_adapter_options;

typedef struct webgpu_adapter_info {
  webgpu_chain *next;
  webgpu_text vendor, architecture, device, description;
  uint32_t backend, kind, vendor_id, device_id, subgroup_min, subgroup_max;
} webgpu_adapter_info;

typedef struct webgpu_limits {
  webgpu_chain *next;
  uint32_t textures[4], bind_groups, bind_groups_and_vertices, bindings_per_group;
  uint32_t dynamic_uniforms, dynamic_storages, sampled_textures, samplers;
  uint32_t storage_buffers, storage_textures, uniform_buffers;
  uint64_t uniform_bytes, storage_bytes;
  uint32_t uniform_alignment, storage_alignment, vertex_buffers;
  uint64_t buffer_bytes;
  uint32_t vertices[2], between_stages, colors[2];
  uint32_t local_bytes, group_items, group[3], groups, immediate_bytes;
} webgpu_limits;

typedef struct webgpu_callback {
  const webgpu_chain *next;
  uint32_t mode;
  void (*call)(void); /* of the type that the callback has */
  void *data[2];
} webgpu_callback;

/* The same without a mode: called whenever an error has no scope. */
typedef struct webgpu_error_callback {
  const webgpu_chain *next;
  void (*call)(webgpu_object *const *device, uint32_t kind, webgpu_text text, void *a, void *b);
  void *data[2];
} webgpu_error_callback;

typedef void webgpu_lost(webgpu_object *const *device, uint32_t reason, webgpu_text text, void *a,
                         void *b);
typedef void webgpu_got_device(uint32_t status, webgpu_object *device, webgpu_text text, void *a,
                               void *b);
typedef void webgpu_done(uint32_t status, webgpu_text text, void *a, void *b);

typedef struct webgpu_device_descriptor {
  const webgpu_chain *next;
  webgpu_text label;
  size_t n_features;
  const uint32_t *features;
  const webgpu_limits *limits;
  struct {
    const webgpu_chain *next;
    webgpu_text label;
  } queue;
  webgpu_callback lost;
  webgpu_error_callback error;
} webgpu_device_descriptor;

typedef struct webgpu_buffer_descriptor {
  const webgpu_chain *next;
  webgpu_text label;
  uint64_t use, bytes;
  uint32_t is_mapped;
} webgpu_buffer_descriptor;

typedef struct webgpu_module_descriptor {
  const webgpu_chain *next;
  webgpu_text label;
} webgpu_module_descriptor;

typedef struct webgpu_spirv_source {
  webgpu_chain chain;
  uint32_t n_words;
  const uint32_t *words;
} webgpu_spirv_source;

typedef struct webgpu_wgsl_source {
  webgpu_chain chain;
  webgpu_text text;
} webgpu_wgsl_source;

typedef struct webgpu_layout_entry {
  const webgpu_chain *next;
  uint32_t binding;
  uint64_t stages;
  uint32_t array_size;
  struct {
    const webgpu_chain *next;
    uint32_t kind, is_dynamic;
    uint64_t min_bytes;
  } buffer;
  struct {
    const webgpu_chain *next;
    uint32_t kind;
  } sampler;
  struct {
    const webgpu_chain *next;
    uint32_t kind, dimension, is_multisampled;
  } texture;
  struct {
    const webgpu_chain *next;
    uint32_t access, format, dimension;
  } storage_texture;
} webgpu_layout_entry;

typedef struct webgpu_layout_descriptor {
  const webgpu_chain *next;
  webgpu_text label;
  size_t n_entries;
  const webgpu_layout_entry *entries;
} webgpu_layout_descriptor;

typedef struct webgpu_pipeline_layout_descriptor {
  const webgpu_chain *next;
  webgpu_text label;
  size_t n_layouts;
  webgpu_object *const *layouts;
  uint32_t immediate_bytes;
} webgpu_pipeline_layout_descriptor;

typedef struct webgpu_pipeline_descriptor {
  const webgpu_chain *next;
  webgpu_text label;
  webgpu_object *layout;
  struct {
    const webgpu_chain *next;
    webgpu_object *module;
    webgpu_text entry;
    size_t n_constants;
    const void *constants;
  } compute;
} webgpu_pipeline_descriptor;

typedef struct webgpu_group_entry {
  const webgpu_chain *next;
  uint32_t binding;
  webgpu_object *buffer;
  uint64_t offset, bytes;
  webgpu_object *sampler, *texture;
} webgpu_group_entry;

typedef struct webgpu_group_descriptor {
  const webgpu_chain *next;
  webgpu_text label;
  webgpu_object *layout;
  size_t n_entries;
  const webgpu_group_entry *entries;
} webgpu_group_descriptor;

typedef struct webgpu_future {
  uint64_t id;
} webgpu_future;

/* what it answers, name, arguments */
#define WEBGPU_FUNCTIONS(X)                                                                       \
  X(uint32_t, wgpuGetVersion, (void))                                                             \
  X(webgpu_object *, wgpuCreateInstance, (const webgpu_instance_descriptor *))                    \
  X(void, wgpuInstanceRelease, (webgpu_object *))                                                 \
  X(size_t, wgpuInstanceEnumerateAdapters,                                                        \
    (webgpu_object *, const webgpu_adapter_options *, webgpu_object **))                          \
  X(uint32_t, wgpuAdapterGetInfo, (webgpu_object *, webgpu_adapter_info *))                       \
  X(void, wgpuAdapterInfoFreeMembers, (webgpu_adapter_info))                                      \
  X(uint32_t, wgpuAdapterGetLimits, (webgpu_object *, webgpu_limits *))                           \
  X(uint32_t, wgpuAdapterHasFeature, (webgpu_object *, uint32_t))                                 \
  X(webgpu_future, wgpuAdapterRequestDevice,                                                      \
    (webgpu_object *, const webgpu_device_descriptor *, webgpu_callback))                         \
  X(void, wgpuAdapterRelease, (webgpu_object *))                                                  \
  X(webgpu_object *, wgpuDeviceGetQueue, (webgpu_object *))                                       \
  X(void, wgpuDeviceRelease, (webgpu_object *))                                                   \
  X(uint32_t, wgpuDevicePoll, (webgpu_object *, uint32_t, const uint64_t *))                      \
  X(webgpu_object *, wgpuDeviceCreateBuffer, (webgpu_object *, const webgpu_buffer_descriptor *)) \
  X(webgpu_object *, wgpuDeviceCreateShaderModuleTrusted,                                         \
    (webgpu_object *, const webgpu_module_descriptor *, uint64_t))                                \
  X(void, wgpuShaderModuleRelease, (webgpu_object *))                                             \
  X(webgpu_object *, wgpuDeviceCreateBindGroupLayout,                                             \
    (webgpu_object *, const webgpu_layout_descriptor *))                                          \
  X(void, wgpuBindGroupLayoutRelease, (webgpu_object *))                                          \
  X(webgpu_object *, wgpuDeviceCreatePipelineLayout,                                              \
    (webgpu_object *, const webgpu_pipeline_layout_descriptor *))                                 \
  X(void, wgpuPipelineLayoutRelease, (webgpu_object *))                                           \
  X(webgpu_object *, wgpuDeviceCreateComputePipeline,                                             \
    (webgpu_object *, const webgpu_pipeline_descriptor *))                                        \
  X(void, wgpuComputePipelineRelease, (webgpu_object *))                                          \
  X(webgpu_object *, wgpuDeviceCreateBindGroup,                                                   \
    (webgpu_object *, const webgpu_group_descriptor *))                                           \
  X(void, wgpuBindGroupRelease, (webgpu_object *))                                                \
  X(webgpu_object *, wgpuDeviceCreateCommandEncoder, (webgpu_object *, const void *))             \
  X(void, wgpuCommandEncoderRelease, (webgpu_object *))                                           \
  X(webgpu_object *, wgpuCommandEncoderBeginComputePass, (webgpu_object *, const void *))         \
  X(void, wgpuCommandEncoderCopyBufferToBuffer,                                                   \
    (webgpu_object *, webgpu_object *, uint64_t, webgpu_object *, uint64_t, uint64_t))            \
  X(webgpu_object *, wgpuCommandEncoderFinish, (webgpu_object *, const void *))                   \
  X(void, wgpuCommandBufferRelease, (webgpu_object *))                                            \
  X(void, wgpuComputePassEncoderSetPipeline, (webgpu_object *, webgpu_object *))                  \
  X(void, wgpuComputePassEncoderSetBindGroup,                                                     \
    (webgpu_object *, uint32_t, webgpu_object *, size_t, const uint32_t *))                       \
  X(void, wgpuComputePassEncoderDispatchWorkgroups,                                               \
    (webgpu_object *, uint32_t, uint32_t, uint32_t))                                              \
  X(void, wgpuComputePassEncoderEnd, (webgpu_object *))                                           \
  X(void, wgpuComputePassEncoderRelease, (webgpu_object *))                                       \
  X(webgpu_future, wgpuBufferMapAsync,                                                            \
    (webgpu_object *, uint64_t, size_t, size_t, webgpu_callback))                                 \
  X(const void *, wgpuBufferGetConstMappedRange, (webgpu_object *, size_t, size_t))               \
  X(void, wgpuBufferUnmap, (webgpu_object *))                                                     \
  X(void, wgpuBufferDestroy, (webgpu_object *))                                                   \
  X(void, wgpuBufferRelease, (webgpu_object *))                                                   \
  X(void, wgpuQueueWriteBuffer,                                                                   \
    (webgpu_object *, webgpu_object *, uint64_t, const void *, size_t))                           \
  X(void, wgpuQueueSubmit, (webgpu_object *, size_t, webgpu_object *const *))                     \
  X(webgpu_future, wgpuQueueOnSubmittedWorkDone, (webgpu_object *, webgpu_callback))              \
  X(void, wgpuQueueRelease, (webgpu_object *))

typedef struct webgpu_api {
#define WEBGPU_MEMBER(answer, name, arguments) answer(*name) arguments;
  WEBGPU_FUNCTIONS(WEBGPU_MEMBER)
#undef WEBGPU_MEMBER
} webgpu_api;

#endif
