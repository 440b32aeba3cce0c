/* A matrix product as numpy understands it: sizes, and where the matrices of a batch stand. */
#ifndef CONTRIB_PRODUCT_H
#define CONTRIB_PRODUCT_H

#include "elements.h"

/* An operand with its dims as the product sees them; step: how far apart they are in memory. */
typedef struct operand {
  int32_t rank;
  int64_t dim[TN_MAX_RANK], step[TN_MAX_RANK];
  bool is_vector;
} operand;

typedef struct product {
  operand a, b;
  int32_t rank;               /* of the batch dims */
  int64_t batch[TN_MAX_RANK]; /* these dims */
  int64_t n_batch, m, n, k;
} product;

/* perm: the order of dims that the product sees; NULL: as they are. */
operand operand_of(const tn_tensor *t, const int64_t *perm);
tn_status product_make(const tn_call *call, operand a, operand b, product *out);
/* Output 0: the batch dims, then m and n where the operands are no vectors. */
void product_infer(const tn_call *call, const product *p, uint32_t dtype);
double product_flops(const product *p);
/* Where the matrix of an operand stands in batch number `matrix`. */
int64_t product_offset(const product *p, const operand *o, int64_t matrix);

#endif
