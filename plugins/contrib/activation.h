/* Activations that FusedConv and FusedGemm name, as nodes of ai.onnx. */
#ifndef CONTRIB_ACTIVATION_H
#define CONTRIB_ACTIVATION_H

#include "builder.h"

enum { ACTIVATION_PARAMS = 3 };

typedef struct activation {
  const char *name;
  const char *params[ACTIVATION_PARAMS]; /* attributes; NULL: it has no more. Clip: see .c */
} activation;

/* NULL: there is none of this name. */
const activation *activation_find(tn_str name);
/* f(y). Bit k of `given`: parameter k counts; the others have the operator's defaults. */
int32_t activation_build(builder *b, const activation *f, const double *params, uint32_t given,
                         int32_t y);

#endif
