/* What every floor of the house may use: memory, diagnostics, checked sizes, strings, dtypes,
 * files, CPU, threads.
 *
 * One header per subject; this one is for convenience. Nothing here knows graphs or operators. */
#ifndef TN_BASE_BASE_H
#define TN_BASE_BASE_H
#include "base/alloc.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/text.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"
#include "tenon/kit/text.h"
#endif
