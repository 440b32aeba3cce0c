/* @NAME@: what its compiler and its dispatcher share. */
#ifndef @NAME@_H
#define @NAME@_H

#include <tenon/experimental/module_parts.h>
#include <tenon/kit/tensor.h>

/* A part, as it stands in a module: one addition. What your hardware runs goes here, with a version
 * that changes whenever it does: modules are stored and loaded on another day. */
typedef struct @NAME@_code {
  uint32_t version;
  uint32_t reserved;
  uint64_t elements;
} @NAME@_code;

enum { @NAME@_VERSION = 1 };

#define @NAME@_FORMAT "@NAME@-code"      /* dispatchers of this format load it */
#define @NAME@_STAMP "@NAME@ emulator 1" /* hardware, driver, kit: all that a module depends on */

extern const tn_compiler @NAME@_compiler;
extern const tn_dispatcher @NAME@_dispatcher;

#endif
