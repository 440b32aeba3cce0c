/* Complex numbers as the two real ones that they are made of; see complex.c. */
#ifndef TN_OPS_ATEN_COMPLEX_H
#define TN_OPS_ATEN_COMPLEX_H

#include "aten.h"

typedef struct at_parts {
  int32_t re, im;
  uint32_t dtype; /* of each */
} at_parts;

/* f32 of c64, f64 of c128; real types are what they are. */
uint32_t at_real_of(uint32_t dtype);
at_parts at_parts_of(const tn_lowering *l, int32_t x, uint32_t dtype);
/* Of parts of one shape. */
int32_t at_complex(const tn_lowering *l, at_parts p);

/* The node's work where its inputs are complex, dtype what they have in common. */
tn_status at_complex_binary(const tn_lowering *l, uint32_t dtype, const char *op);
tn_status at_complex_matmul(const tn_lowering *l, uint32_t dtype);
tn_status at_complex_einsum(const tn_lowering *l, uint32_t dtype, const tn_attr *equation);
tn_status at_complex_unary(const tn_lowering *l, const char *op);
tn_status at_complex_reduce(const tn_lowering *l, const char *op, const int64_t *dims, int32_t n,
                            bool keeps);

#endif
