/* The driver of OpenCL. Nothing is linked: the loader is opened with dlopen, and what we use of its
 * API, version 1.2, is declared here.
 *
 *   load.c       the loader, its functions, its errors
 *   driver.c     the table: devices, memory, programs
 *   recording.c  lists of commands, replayed into an in-order queue; marks are events
 *
 * A program in "opencl-c" has one kernel, of the program's name. Its arguments are the bindings,
 * and behind them, if the dispatch has params, a struct of them by value. Its group size stands in
 * it as reqd_work_group_size. Constants are macros. */
#ifndef TN_OPENCL_H
#define TN_OPENCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/device.h"

/* ---- what we use of OpenCL ---- */

typedef struct opencl_object opencl_object; /* any of its handles */
typedef struct opencl_region {
  size_t origin, size;
} opencl_region;

enum {
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_MAX_PARAMETER_SIZE = 0x1017,
  CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  CL_DEVICE_NAME = 0x102B,
  CL_DRIVER_VERSION = 0x102D,
  CL_DEVICE_VERSION = 0x102F,
  CL_DEVICE_EXTENSIONS = 0x1030,
  CL_DEVICE_TYPE_CPU = 2,
  CL_MEM_READ_WRITE = 1,
  CL_PROGRAM_BINARY_SIZES = 0x1165,
  CL_PROGRAM_BINARIES = 0x1166,
  CL_PROGRAM_BUILD_LOG = 0x1183,
  CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11B1,
  CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
  CL_BUFFER_CREATE_TYPE_REGION = 0x1220
};
#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

/* result, name, arguments */
#define OPENCL_FUNCTIONS(X)                                                                       \
  X(int32_t, clGetPlatformIDs, (uint32_t, opencl_object **, uint32_t *))                          \
  X(int32_t, clGetDeviceIDs, (opencl_object *, uint64_t, uint32_t, opencl_object **, uint32_t *)) \
  X(int32_t, clGetDeviceInfo, (opencl_object *, uint32_t, size_t, void *, size_t *))              \
  X(opencl_object *, clCreateContext,                                                             \
    (const intptr_t *, uint32_t, opencl_object *const *, void *, void *, int32_t *))              \
  X(int32_t, clReleaseContext, (opencl_object *))                                                 \
  X(opencl_object *, clCreateCommandQueue,                                                        \
    (opencl_object *, opencl_object *, uint64_t, int32_t *))                                      \
  X(int32_t, clReleaseCommandQueue, (opencl_object *))                                            \
  X(opencl_object *, clCreateBuffer, (opencl_object *, uint64_t, size_t, void *, int32_t *))      \
  X(opencl_object *, clCreateSubBuffer,                                                           \
    (opencl_object *, uint64_t, uint32_t, const void *, int32_t *))                               \
  X(int32_t, clReleaseMemObject, (opencl_object *))                                               \
  X(opencl_object *, clCreateProgramWithSource,                                                   \
    (opencl_object *, uint32_t, const char **, const size_t *, int32_t *))                        \
  X(opencl_object *, clCreateProgramWithBinary,                                                   \
    (opencl_object *, uint32_t, opencl_object *const *, const size_t *, const unsigned char **,   \
     int32_t *, int32_t *))                                                                       \
  X(int32_t, clGetProgramInfo, (opencl_object *, uint32_t, size_t, void *, size_t *))             \
  X(int32_t, clBuildProgram,                                                                      \
    (opencl_object *, uint32_t, opencl_object *const *, const char *, void *, void *))            \
  X(int32_t, clGetProgramBuildInfo,                                                               \
    (opencl_object *, opencl_object *, uint32_t, size_t, void *, size_t *))                       \
  X(int32_t, clReleaseProgram, (opencl_object *))                                                 \
  X(opencl_object *, clCreateKernel, (opencl_object *, const char *, int32_t *))                  \
  X(int32_t, clReleaseKernel, (opencl_object *))                                                  \
  X(int32_t, clSetKernelArg, (opencl_object *, uint32_t, size_t, const void *))                   \
  X(int32_t, clGetKernelWorkGroupInfo,                                                            \
    (opencl_object *, opencl_object *, uint32_t, size_t, void *, size_t *))                       \
  X(int32_t, clEnqueueNDRangeKernel,                                                              \
    (opencl_object *, opencl_object *, uint32_t, const size_t *, const size_t *, const size_t *,  \
     uint32_t, opencl_object *const *, opencl_object **))                                         \
  X(int32_t, clEnqueueReadBuffer,                                                                 \
    (opencl_object *, opencl_object *, uint32_t, size_t, size_t, void *, uint32_t,                \
     opencl_object *const *, opencl_object **))                                                   \
  X(int32_t, clEnqueueWriteBuffer,                                                                \
    (opencl_object *, opencl_object *, uint32_t, size_t, size_t, const void *, uint32_t,          \
     opencl_object *const *, opencl_object **))                                                   \
  X(int32_t, clEnqueueCopyBuffer,                                                                 \
    (opencl_object *, opencl_object *, opencl_object *, size_t, size_t, size_t, uint32_t,         \
     opencl_object *const *, opencl_object **))                                                   \
  X(int32_t, clEnqueueFillBuffer,                                                                 \
    (opencl_object *, opencl_object *, const void *, size_t, size_t, size_t, uint32_t,            \
     opencl_object *const *, opencl_object **))                                                   \
  X(int32_t, clEnqueueMarkerWithWaitList,                                                         \
    (opencl_object *, uint32_t, opencl_object *const *, opencl_object **))                        \
  X(int32_t, clGetEventInfo, (opencl_object *, uint32_t, size_t, void *, size_t *))               \
  X(int32_t, clReleaseEvent, (opencl_object *))                                                   \
  X(int32_t, clFlush, (opencl_object *))                                                          \
  X(int32_t, clFinish, (opencl_object *))

typedef struct opencl_api {
#define OPENCL_MEMBER(result, name, arguments) result(*name) arguments;
  OPENCL_FUNCTIONS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
} opencl_api;

/* TN_ERR_NOT_FOUND: there is no loader, or one that is too old. Any thread. */
tn_status opencl_load(const tn_device_call *c, opencl_api *out_api);
/* What OpenCL answered; code 0: TN_OK. what: "clCreateBuffer". */
tn_status opencl_answer(const tn_device_call *c, int32_t code, const char *what);

/* ---- objects ---- */

typedef struct opencl_device {
  opencl_api api;
  opencl_object *id, *context;
  char name[256], stamp[1024];
} opencl_device;

/* Upload and download buffers are memory of the host. */
typedef struct opencl_buffer {
  const opencl_device *device;
  opencl_object *memory; /* NULL: data */
  void *data;
  uint64_t bytes;
} opencl_buffer;

typedef struct opencl_program {
  const opencl_device *device;
  opencl_object *handle;
  char name[256];
} opencl_program;

tn_status opencl_record_begin(const tn_device_call *c, void *device, void **out_recording);
tn_status opencl_record_dispatch(const tn_device_call *c, void *recording, void *program,
                                 const tn_device_range *const *ranges, uint32_t n_ranges,
                                 const tn_dispatch *dispatch);
tn_status opencl_record_copy(const tn_device_call *c, void *recording, const tn_device_range *from,
                             const tn_device_range *to);
tn_status opencl_record_fill(const tn_device_call *c, void *recording, const tn_device_range *to,
                             uint32_t word);
tn_status opencl_record_barrier(const tn_device_call *c, void *recording);
tn_status opencl_record_end(const tn_device_call *c, void *recording);
void opencl_record_free(const tn_device_call *c, void *recording);
tn_status opencl_queue_new(const tn_device_call *c, void *device, void **out_queue);
void opencl_queue_free(const tn_device_call *c, void *queue);
tn_status opencl_submit(const tn_device_call *c, void *queue, void *recording, uint64_t mark);
tn_status opencl_wait(const tn_device_call *c, void *queue, uint64_t mark, uint64_t timeout_ns);

#endif
