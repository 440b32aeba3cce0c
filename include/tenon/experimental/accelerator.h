/* Accelerators: compilers and dispatchers. EXPERIMENTAL.
 *
 * A plug-in offers them as extensions (tn_plugin.extensions) of the names below. This header is not
 * under the lock of plugin.h: what is here may change, and a change that is no append raises the
 * number in the name, so that an old plug-in is left alone and never misread. When a host runs
 * models through these tables, and two vendors do, they become members of tn_plugin.
 *
 * What hosts of ABI 1.0 do with them: they find the tables, vet them as they vet all else, and list
 * them (`tenon plugin list`). They do not call them: no node runs on an accelerator yet.
 *
 * The rules at the top of plugin.h hold here too: heads, growth, ownership, errors, threads.
 */
#ifndef TENON_EXPERIMENTAL_ACCELERATOR_H
#define TENON_EXPERIMENTAL_ACCELERATOR_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TN_COMPILER_EXTENSION "compiler.v0"     /* table: tn_compiler */
#define TN_DISPATCHER_EXTENSION "dispatcher.v0" /* table: tn_dispatcher */

/* ---- Both halves ----------------------------------------------------------------------------- */

/* Something that modules are made for. Modules of one target do not run on another unless the
 * compiler says that they do (tn_compiler.compatible). */
typedef struct tn_target {
  tn_head head;
  const char *name;     /* the model: "acme-npu-2"; unique in the table */
  const char *hardware; /* its kind: "npu", "gpu", "dsp" */
  const char *sdk;      /* optional: version of the vendor's kit that makes its modules */
} tn_target;

/* An entry point of a module: one part of the graph. */
typedef struct tn_entry {
  tn_head head;
  const char *name;
  uint32_t n_inputs, n_outputs;
  const tn_tensor *const *inputs, *const *outputs; /* types of all ports, in order; data NULL */
} tn_entry;

/* What a compiler makes, and a dispatcher runs. Self-contained: it can be stored and loaded on
 * another day, on another machine with such a target. */
typedef struct tn_module {
  tn_head head;
  const char *format;      /* which dispatchers can load it: tn_dispatcher.format */
  const tn_target *target; /* what it was made for */
  const void *data;        /* size bytes */
  uint64_t size;
  uint64_t alignment; /* that data needs when loaded, a power of two */
  const tn_entry *const *entries;
  uint32_t n_entries, reserved;
} tn_module;

/* The first argument of all callbacks. */
typedef struct tn_accelerator_call {
  tn_head head;
  const tn_host *host;     /* fail, alloc, free, graph, get_extension */
  void *ctx;               /* of host */
  void *self;              /* what the plug-in's init() answered */
  const tn_target *target; /* one of the table's; dispatchers: NULL until a module is loaded */
  const tn_option *const *options;
  uint32_t n_options, reserved;
} tn_accelerator_call;

/* ---- Compilers: parts of graphs become modules ----------------------------------------------- */

enum {
  TN_CLAIM_NATIVE = 0,  /* the hardware does it */
  TN_CLAIM_EMULATED = 1 /* done in other steps, slower or by a processor next to it */
};

/* What a compiler says about one node. The host makes it, with group -1, and the cost that the node
 * has at home. */
typedef struct tn_claim {
  tn_head head;
  int32_t group;         /* >= 0: claimed; nodes of one group may share an island. -1: declined */
  uint32_t mode;         /* TN_CLAIM_... */
  double cost_native_ns; /* of the node inside an island */
  double cost_host_ns;   /* of the node on the host; the host's to fill in */
  const char *reason;    /* declined: why, as a literal */
} tn_claim;

enum {
  TN_VERDICT_OPTIMAL = 0,   /* runs as well as one made today */
  TN_VERDICT_RUNS = 1,      /* runs; compiled again it would be faster */
  TN_VERDICT_RECOMPILE = 2, /* does not run; compiled again it would */
  TN_VERDICT_NO = 3         /* this target cannot run what it does */
};

typedef struct tn_compiler {
  tn_head head;
  const char *name; /* letters, digits and _ . - */
  const char *vendor;
  const char *format; /* of the modules that it makes */
  uint32_t n_targets, reserved;
  const tn_target *const *targets; /* at least one */
  /* Optional: whether a module, perhaps of an older kit, is right for call->target
   * (TN_VERDICT_...). Without it, target name and kit have to be the same. */
  tn_status (*compatible)(const tn_accelerator_call *call, const tn_module *module,
                          uint32_t *out_verdict);
  /* Claims nodes or declines them: claims[k] is about node id k of the graph, for k < n_claims;
   * NULL: there is no such node. The graph is read only. The host cuts convex islands out of the
   * claims, so that with each island as one node the graph has no cycle, and drops those that cost
   * more than they save. */
  tn_status (*partition)(const tn_accelerator_call *call, const tn_graph *graph,
                         tn_claim *const *claims, int32_t n_claims);
  /* Makes a module: part k becomes entry k, with the inputs and outputs of that graph. The module
   * belongs to the compiler until release(). Any thread; the host may run it in a process of its
   * own. */
  tn_status (*compile)(const tn_accelerator_call *call, const tn_graph *const *parts,
                       uint32_t n_parts, const tn_module **out_module);
  void (*release)(const tn_accelerator_call *call, const tn_module *module);
} tn_compiler;

/* ---- Dispatchers: modules run ---------------------------------------------------------------- */

/* What memory a port wants, so that it can be used without a copy. The host sets it to alignment 64
 * and no padding. */
typedef struct tn_port_memory {
  tn_head head;
  uint64_t alignment; /* power of two */
  uint64_t bytes;     /* at least those of the tensor: what may be read or written behind it */
} tn_port_memory;

/* A device is opened once per runtime, a program is a loaded module. A device may be used by
 * several threads at once, a program by one. */
typedef struct tn_dispatcher {
  tn_head head;
  const char *name; /* letters, digits and _ . - */
  const char *vendor;
  const char *format; /* of the modules that it loads */
  /* TN_ERR_NOT_FOUND: this machine has no such device. */
  tn_status (*open)(const tn_accelerator_call *call, void **out_device);
  void (*close)(const tn_accelerator_call *call, void *device);
  /* The module may be gone when it returns. */
  tn_status (*load)(const tn_accelerator_call *call, void *device, const tn_module *module,
                    void **out_program);
  void (*unload)(const tn_accelerator_call *call, void *program);
  /* Optional: what port `port` of an entry wants; ports are the inputs, then the outputs. */
  tn_status (*port)(const tn_accelerator_call *call, void *program, uint32_t entry, uint32_t port,
                    tn_port_memory *out);
  /* Runs an entry, and returns when its outputs are written. Tensors are in memory of the host that
   * port() is content with. After an error the outputs are undefined and the program can be run
   * again or unloaded. */
  tn_status (*run)(const tn_accelerator_call *call, void *program, uint32_t entry,
                   const tn_tensor *const *inputs, tn_tensor *const *outputs);
} tn_dispatcher;

#ifdef __cplusplus
}
#endif
#endif
