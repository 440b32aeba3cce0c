/* What the adapter uses of tvm-ffi's C interface, declared from its published description: values
 * of 16 bytes with a number for their type, objects with a head of 24 bytes, and tensors as DLPack
 * has them. */
#ifndef TVM_H
#define TVM_H

#include <stddef.h>
#include <stdint.h>

/* Numbers of types. */
enum {
  TVM_NONE = 0,
  TVM_INT = 1,
  TVM_TENSOR_POINTER = 7,
  TVM_C_STRING = 8,
  TVM_SHORT_STRING = 11, /* its bytes stand in the value */
  TVM_STRING = 65,
  TVM_TENSOR = 70
};

typedef struct tvm_value {
  int32_t type;
  uint32_t length; /* of a short string */
  union {
    int64_t i;
    void *pointer;
    const char *text;
    char bytes[8];
  };
} tvm_value;

typedef struct tvm_object {
  uint64_t references;
  int32_t type;
  uint32_t padding;
  void *deleter;
} tvm_object;

typedef struct tvm_string {
  tvm_object head;
  const char *data;
  size_t size;
} tvm_string;

enum { DL_CPU = 1, DL_CUDA_HOST = 3 };

typedef struct dl_tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides; /* strides NULL: in C order */
  uint64_t offset;
} dl_tensor;

#endif
