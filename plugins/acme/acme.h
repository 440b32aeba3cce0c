/* acme: what its compiler and its dispatcher share. A module is
 *   magic | number of entries | entries
 *   entry: n_inputs, n_outputs, n_values, n_steps | values | outputs | steps
 *   value: elements (64 bits), kind, for constants its floats
 *   step: operator, a, b, y: values; b may have one element, which counts for all
 * of little-endian 32-bit words but for what is said. */
#ifndef ACME_H
#define ACME_H

#include "tenon/experimental/module_parts.h"

#define ACME_FORMAT "acme-bytecode"
#define ACME_STAMP "acme byte code 1"
#define ACME_MAGIC UINT32_C(0x31454d41) /* "AME1" */

enum { ACME_INPUT = 0, ACME_CONST = 1, ACME_MADE = 2 }; /* kinds of values */
enum { ACME_ADD = 0, ACME_SUB = 1, ACME_MUL = 2, ACME_N_OPS = 3 };

extern const tn_compiler acme_compiler;
extern const tn_dispatcher acme_dispatcher;

#endif
