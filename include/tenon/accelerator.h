/* The plug-in ABI of Tenon, version 1.0: accelerators, for those who write compilers
 * (tn_plugin.compilers) and dispatchers (tn_plugin.dispatchers).
 *
 * A compiler claims nodes of a model and turns parts of its graph into modules; a dispatcher loads
 * modules and runs them. The host does the rest: it cuts convex islands out of the claims, compiles
 * in a process of its own, checks the answer, keeps modules in files, plans each island as one
 * step, and lets the CPU take over what cannot be had, by the user's policy.
 *
 * The rules at the top of plugin.h hold here too: heads, growth, ownership, errors, threads.
 * docs/add-an-accelerator.md shows how to write both; plugins/acme is one to copy.
 */
#ifndef TENON_ACCELERATOR_H
#define TENON_ACCELERATOR_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

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
  uint64_t alignment; /* that data needs when loaded, a power of two, 1 MiB at most */
  const tn_entry *const *entries;
  uint32_t n_entries, reserved;
  /* Optional: all that it depends on besides its target: drivers, kits, in the words of
   * tn_dispatcher.stamp. */
  const char *stamp;
} tn_module;

/* The first argument of all callbacks. */
typedef struct tn_accelerator_call {
  tn_head head;
  const tn_host *host;     /* fail, log, alloc, free, graph */
  void *ctx;               /* of host */
  void *self;              /* what the plug-in's init() answered */
  const tn_target *target; /* one of the compiler's; of dispatchers the one that is asked for, with
                              name alone where no compiler is at hand */
  const tn_option *const *options; /* none yet */
  uint32_t n_options, reserved;
  /* partition(), compile(): writes a graph in a model format; most vendors read "onnx". The memory
   * is of host->alloc, to be given back with host->free. ctx: of host. */
  tn_status (*write_graph)(void *ctx, const tn_graph *graph, const char *format, void **out_data,
                           uint64_t *out_size);
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

/* tn_compiler.flags. */
enum {
  /* partition() is called in a process of its own, too: it loads what may crash. The graph there
   * holds the nodes that it is asked about, and what they read from others are inputs. Reasons are
   * texts that live as long as the process. Its answers are kept, as modules are. */
  TN_COMPILER_APART = 1
};

struct tn_compiler {
  tn_head head;
  const char *name; /* letters, digits and _ . - */
  const char *vendor;
  const char *format; /* of the modules that it makes */
  uint32_t n_targets;
  uint32_t flags;                  /* TN_COMPILER_... */
  const tn_target *const *targets; /* at least one */
  /* Optional: whether a module, perhaps of an older kit, is right for call->target and a device
   * with this stamp ("": it has none): TN_VERDICT_... . The module's data is NULL. Without it,
   * target, kit and stamp have to be the same. */
  tn_status (*compatible)(const tn_accelerator_call *call, const tn_module *module,
                          const char *stamp, uint32_t *out_verdict);
  /* Claims nodes or declines them: claims[k] is about node id k of the graph, for k < n_claims;
   * NULL: there is no such node, or the host keeps it (control flow, strings, lists, types that
   * only a run can tell). The graph is checked, inferred and folded for the shapes at hand, and
   * read only; nothing is lowered or fused yet. The host cuts convex islands out of them, so that
   * with each island as one node the graph has no cycle; where costs decide, it drops those that
   * cost more than they save. */
  tn_status (*partition)(const tn_accelerator_call *call, const tn_graph *graph,
                         tn_claim *const *claims, int32_t n_claims);
  /* Makes a module: part k becomes entry k, with the inputs and outputs of that graph, in order.
   * The module belongs to the compiler until release(). It is called in a process of its own, with
   * limits on time and memory, where no dispatcher is open. */
  tn_status (*compile)(const tn_accelerator_call *call, const tn_graph *const *parts,
                       uint32_t n_parts, const tn_module **out_module);
  void (*release)(const tn_accelerator_call *call, const tn_module *module);
};

/* ---- Dispatchers: modules run ---------------------------------------------------------------- */

/* What memory a port wants, so that it can be used without a copy. The host sets it to alignment 64
 * and no padding. */
typedef struct tn_port_memory {
  tn_head head;
  uint64_t alignment; /* power of two */
  uint64_t bytes;     /* at least those of the tensor: what may be read or written behind it */
} tn_port_memory;

/* A device is opened once for each model that uses it, a program is a loaded module. A device may
 * be used by several threads at once, a program by one. */
struct tn_dispatcher {
  tn_head head;
  const char *name; /* letters, digits and _ . - */
  const char *vendor;
  const char *format; /* of the modules that it loads */
  /* TN_ERR_NOT_FOUND: this machine has no such device, or a library is missing: say which. */
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
  /* Optional: says exactly what the device is: hardware, driver, kit. Lives as long as it. */
  const char *(*stamp)(const tn_accelerator_call *call, void *device);
  /* Optional, both or none: run() in two halves, between which the host computes what does not
   * depend on the entry. start() returns at once; tensors and their memory stay where they are, and
   * inputs as they are, until wait(), which answers what run() would. After each start() that
   * answers TN_OK the same thread calls wait(), before anything else is asked of the program. Where
   * the host has nothing to do meanwhile it calls run(). */
  tn_status (*start)(const tn_accelerator_call *call, void *program, uint32_t entry,
                     const tn_tensor *const *inputs, tn_tensor *const *outputs);
  tn_status (*wait)(const tn_accelerator_call *call, void *program, uint32_t entry);
};

#ifdef __cplusplus
}
#endif
#endif
