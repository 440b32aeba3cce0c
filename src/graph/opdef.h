/* An operator as the registry holds it: descriptor, parsed schema, and who it came from. */
#ifndef TN_GRAPH_OPDEF_H
#define TN_GRAPH_OPDEF_H

#include <stdatomic.h>

#include "graph/schema.h"
#include "tenon/accelerator.h"
#include "tenon/device.h"
#include "tenon/graph.h"

typedef struct tn_part_owner { /* a loaded plug-in, as its parts see it */
  const char *name;
  void *self;      /* what init() answered */
  int32_t index;   /* in the list of plug-ins, when it was loaded */
  bool is_builtin; /* part of the library: never unloaded */
  bool is_lazy;    /* TN_PLUGIN_LAZY_CONSTANTS */
  bool is_running; /* a device of it hangs, in code of it perhaps: it is never unmapped */
  /* Its kernels as C: tenon/experimental/emit_c.h. */
  const struct tn_emitter *const *emitters;
  uint32_t n_emitters;
} tn_part_owner;

/* Need its callbacks not find the elements of all constants in memory? */
static inline bool tn_is_lazy(const tn_part_owner *owner) { return !owner || owner->is_lazy; }

/* What a part was good for so far: `tenon select` lists parts by it. */
enum {
  TN_USE_TAKEN = 1,   /* an operator of a node, a kernel that was chosen, a rewrite that changed
                        something */
  TN_USE_LOWERED = 2, /* an operator whose lowering took the place of a node */
  TN_USE_ASKED = 4    /* a kernel of which it was enough that it would take a node: something was
                         fused onto it, or left in f16 */
};
typedef atomic_uint tn_uses;
/* Any thread; tables are read-only but for this. */
static inline void tn_note_use(const tn_uses *uses, unsigned use) {
  tn_uses *u = (tn_uses *)(uintptr_t)uses;
  if (!(atomic_load_explicit(u, memory_order_relaxed) & use))
    atomic_fetch_or_explicit(u, use, memory_order_relaxed);
}

typedef struct tn_opdef {
  tn_op op; /* the host's copy, zero where the plug-in's was shorter */
  tn_schema schema;
  tn_part_owner *owner;
  uint64_t *arg_dtypes; /* mask per schema entry: inputs first, then outputs (n_inputs + n_outputs);
                           every dtype where no rule names the entry */
  int32_t *arg_rule;    /* type rule per entry as above, -1: none */
  tn_uses uses;
  atomic_int at;     /* where it was last found in the registry's tables; to be looked at there */
  bool is_unsettled; /* there is no memory for an operator that was asked for: nothing is in it */
} tn_opdef;

/* Does it say itself of what types its outputs are? Where it does not, its lowering takes the place
 * of inference: no node of it is left when kernels are chosen. */
static inline bool tn_op_infers(const tn_op *op) {
  return !(op->flags & TN_OP_LOWER_EARLY) &&
         (op->infer || op->flags & (TN_OP_SAME_AS_INPUT | TN_OP_BROADCAST));
}

typedef struct tn_kerneldef {
  tn_kernel kernel; /* the host's copy */
  tn_part_owner *owner;
  const char *domain, *op; /* split of kernel.op */
  /* Of a kernel whose work programs do, the host's copy: kernel.run is NULL. NULL: the CPU's. */
  const tn_device_kernel *device;
  tn_uses uses;
} tn_kerneldef;

typedef struct tn_driverdef {
  tn_device_driver driver; /* the host's copy */
  tn_part_owner *owner;
} tn_driverdef;

typedef struct tn_compilerdef {
  tn_compiler compiler; /* the host's copy */
  tn_part_owner *owner;
} tn_compilerdef;

typedef struct tn_dispatcherdef {
  tn_dispatcher dispatcher; /* the host's copy */
  tn_part_owner *owner;
} tn_dispatcherdef;

typedef struct tn_rewritedef {
  tn_rewrite rewrite;
  tn_part_owner *owner;
  const char *domain, *op; /* split of rewrite.root */
  tn_uses uses;
} tn_rewritedef;

typedef struct tn_formatdef {
  tn_format format; /* first: the registry hands out pointers to it */
  tn_part_owner *owner;
} tn_formatdef;

#endif
