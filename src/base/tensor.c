/* Sizes of plain tensors, for programs; see tenon.h. */
#include "tenon/kit/tensor.h"

#include "tenon/tenon.h"

int64_t tn_tensor_elements(const tn_tensor *tensor) { return tn_elements(tensor); }
int64_t tn_tensor_bytes(const tn_tensor *tensor) { return tn_bytes(tensor); }
