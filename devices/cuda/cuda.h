/* The driver of CUDA. Nothing is linked: libcuda.so.1 and NVRTC are opened with dlopen, and what we
 * use of them is declared here.
 *
 *   load.c       both libraries, their functions, their errors
 *   driver.c     the table: devices, memory
 *   program.c    programs, built by NVRTC for the device at hand
 *   recording.c  streams captured into graphs; marks are events
 *
 * A program in "cuda-c" has one kernel, of the program's name, extern "C". Its arguments are the
 * bindings, and behind them, if the dispatch has params, a struct of them by value. The threads of
 * its group stand in it as `__constant__ int group_[3]`. Constants are macros. */
#ifndef TN_CUDA_H
#define TN_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/device.h"

/* ---- what we use of CUDA: version 11.4 and newer ---- */

typedef struct cuda_object cuda_object; /* any of its handles */
typedef uint64_t cuda_address;

enum {
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_NO_DEVICE = 100,
  CUDA_NOT_READY = 600,
  CU_MAX_THREADS_PER_BLOCK = 1,
  CU_MAX_BLOCK_DIM_X = 2,
  CU_MAX_GRID_DIM_X = 5,
  CU_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_MULTIPROCESSOR_COUNT = 16,
  CU_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_COMPUTE_CAPABILITY_MINOR = 76,
  CU_STREAM_NON_BLOCKING = 1,
  CU_CAPTURE_RELAXED = 2,
  CU_SET_CAPTURE_DEPENDENCIES = 1,
  CU_EVENT_DISABLE_TIMING = 2
};

/* name, arguments; all answer an int, 0 if well */
#define CUDA_FUNCTIONS(X)                                                                       \
  X(cuInit, (unsigned))                                                                         \
  X(cuDriverGetVersion, (int *))                                                                \
  X(cuGetErrorString, (int, const char **))                                                     \
  X(cuDeviceGetCount, (int *))                                                                  \
  X(cuDeviceGet, (int *, int))                                                                  \
  X(cuDeviceGetName, (char *, int, int))                                                        \
  X(cuDeviceGetAttribute, (int *, int, int))                                                    \
  X(cuDeviceTotalMem_v2, (size_t *, int))                                                       \
  X(cuDevicePrimaryCtxRetain, (cuda_object **, int))                                            \
  X(cuDevicePrimaryCtxRelease_v2, (int))                                                        \
  X(cuCtxPushCurrent_v2, (cuda_object *))                                                       \
  X(cuCtxPopCurrent_v2, (cuda_object **))                                                       \
  X(cuMemAlloc_v2, (cuda_address *, size_t))                                                    \
  X(cuMemFree_v2, (cuda_address))                                                               \
  X(cuMemHostAlloc, (void **, size_t, unsigned))                                                \
  X(cuMemFreeHost, (void *))                                                                    \
  X(cuModuleLoadData, (cuda_object **, const void *))                                           \
  X(cuModuleUnload, (cuda_object *))                                                            \
  X(cuModuleGetFunction, (cuda_object **, cuda_object *, const char *))                         \
  X(cuModuleGetGlobal_v2, (cuda_address *, size_t *, cuda_object *, const char *))              \
  X(cuMemcpyDtoH_v2, (void *, cuda_address, size_t))                                            \
  X(cuMemcpyAsync, (cuda_address, cuda_address, size_t, cuda_object *))                         \
  X(cuMemsetD32Async, (cuda_address, unsigned, size_t, cuda_object *))                          \
  X(cuLaunchKernel, (cuda_object *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                     unsigned, cuda_object *, void **, void **))                                \
  X(cuStreamCreate, (cuda_object **, unsigned))                                                 \
  X(cuStreamDestroy_v2, (cuda_object *))                                                        \
  X(cuStreamSynchronize, (cuda_object *))                                                       \
  X(cuStreamBeginCapture_v2, (cuda_object *, int))                                              \
  X(cuStreamEndCapture, (cuda_object *, cuda_object **))                                        \
  X(cuGraphInstantiateWithFlags, (cuda_object **, cuda_object *, unsigned long long))           \
  X(cuGraphLaunch, (cuda_object *, cuda_object *))                                              \
  X(cuGraphExecDestroy, (cuda_object *))                                                        \
  X(cuGraphDestroy, (cuda_object *))                                                            \
  X(cuEventCreate, (cuda_object **, unsigned))                                                  \
  X(cuEventRecord, (cuda_object *, cuda_object *))                                              \
  X(cuEventQuery, (cuda_object *))                                                              \
  X(cuEventDestroy_v2, (cuda_object *))
/* NULL if the driver has none */
#define CUDA_OPTIONAL_FUNCTIONS(X)                                                       \
  X(cuStreamGetCaptureInfo_v2,                                                           \
    (cuda_object *, int *, uint64_t *, cuda_object **, cuda_object *const **, size_t *)) \
  X(cuStreamUpdateCaptureDependencies, (cuda_object *, cuda_object *const *, size_t, unsigned))
#define NVRTC_FUNCTIONS(X)                                                                       \
  X(nvrtcVersion, (int *, int *))                                                                \
  X(nvrtcCreateProgram,                                                                          \
    (cuda_object **, const char *, const char *, int, const char *const *, const char *const *)) \
  X(nvrtcDestroyProgram, (cuda_object **))                                                       \
  X(nvrtcCompileProgram, (cuda_object *, int, const char *const *))                              \
  X(nvrtcGetProgramLogSize, (cuda_object *, size_t *))                                           \
  X(nvrtcGetProgramLog, (cuda_object *, char *))                                                 \
  X(nvrtcGetCUBINSize, (cuda_object *, size_t *))                                                \
  X(nvrtcGetCUBIN, (cuda_object *, char *))

typedef struct cuda_api {
#define CUDA_MEMBER(name, arguments) int(*name) arguments;
  CUDA_FUNCTIONS(CUDA_MEMBER)
  CUDA_OPTIONAL_FUNCTIONS(CUDA_MEMBER)
  NVRTC_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
} cuda_api;

/* TN_ERR_NOT_FOUND: a library is not there, or too old. Any thread. */
tn_status cuda_load(const tn_device_call *c, cuda_api *out_api);
tn_status cuda_load_nvrtc(const tn_device_call *c, cuda_api *out_api); /* that one alone */
/* What CUDA answered; 0: TN_OK. what: "cuMemAlloc". */
tn_status cuda_answer(const tn_device_call *c, const cuda_api *api, int code, const char *what);

/* ---- objects ---- */

typedef struct cuda_device {
  cuda_api api;
  cuda_object *context;
  int id, major, minor;
  char name[256], stamp[512];
} cuda_device;

/* The device's context is current between these. */
tn_status cuda_enter(const tn_device_call *c, const cuda_device *d);
void cuda_leave(const cuda_device *d);

typedef struct cuda_buffer {
  const cuda_device *device;
  cuda_address address; /* of the device, or of pinned memory */
  void *data;           /* pinned memory of the host; NULL: of the device */
} cuda_buffer;

typedef struct cuda_program {
  const cuda_device *device;
  cuda_object *module, *function;
  int group[3];
  void *binary; /* a cubin, to be kept */
  uint64_t binary_bytes;
} cuda_program;

/* A cubin of the text for "sm_90", in memory that the caller frees. Needs NVRTC alone. */
tn_status cuda_compile(const tn_device_call *c, const cuda_api *api, const tn_program *program,
                       const tn_program_form *form, const int64_t *constants, const char *arch,
                       void **out_binary, uint64_t *out_bytes);

tn_status cuda_program_new(const tn_device_call *c, void *device, const tn_program *program,
                           uint32_t form, const int64_t *constants, const void *binary,
                           uint64_t binary_bytes, void **out_program);
tn_status cuda_program_save(const tn_device_call *c, void *program, const tn_sink *to);
void cuda_program_free(const tn_device_call *c, void *program);

tn_status cuda_record_begin(const tn_device_call *c, void *device, void **out_recording);
tn_status cuda_record_dispatch(const tn_device_call *c, void *recording, void *program,
                               const tn_device_range *const *ranges, uint32_t n_ranges,
                               const tn_dispatch *dispatch);
tn_status cuda_record_copy(const tn_device_call *c, void *recording, const tn_device_range *from,
                           const tn_device_range *to);
tn_status cuda_record_fill(const tn_device_call *c, void *recording, const tn_device_range *to,
                           uint32_t word);
tn_status cuda_record_barrier(const tn_device_call *c, void *recording);
tn_status cuda_record_end(const tn_device_call *c, void *recording);
void cuda_record_free(const tn_device_call *c, void *recording);
tn_status cuda_queue_new(const tn_device_call *c, void *device, void **out_queue);
void cuda_queue_free(const tn_device_call *c, void *queue);
tn_status cuda_submit(const tn_device_call *c, void *queue, void *recording, uint64_t mark);
tn_status cuda_wait(const tn_device_call *c, void *queue, uint64_t mark, uint64_t timeout_ns);

#endif
