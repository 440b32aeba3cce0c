/* Accelerators: compilers asked, modules made, kept, checked and run.
 *
 * A model opens the accelerators that its user names (target.c). While it is planned, nodes are
 * claimed (src/plan/passes/claim.c), parts outlined, and modules for them taken from the file
 * beside the model, from the cache, or from a worker, which runs the compiler in a process of its
 * own (child.c, exec/worker.c). All of them come as containers (container.c), whose hashes and
 * ports are looked at before a vendor's code sees a byte. A module that was loaded (module.c)
 * belongs to the plans whose islands it runs. */
#ifndef TN_ACCELERATOR_ACCELERATOR_H
#define TN_ACCELERATOR_ACCELERATOR_H

#include <pthread.h>

#include "base/file.h"
#include "base/sha256.h"
#include "registry/registry.h"

/* ---- containers: container.c ----------------------------------------------------------------- */

/* An entry of a module in a container: what was compiled, and where it was in its graph. */
typedef struct tn_module_entry {
  const char *name;
  const char *part; /* SHA-256 of the part as ONNX */
  int32_t *nodes;   /* of the graph that it was claimed in */
  int32_t n_nodes;
  uint32_t n_inputs, n_outputs;
  tn_tensor *ports; /* types: of the inputs, then the outputs */
} tn_module_entry;

typedef struct tn_module_file {
  const char *key; /* SHA-256 of all that it depends on */
  const char *compiler, *plugin, *plugin_version, *plugin_sha256;
  const char *format, *target, *kit, *stamp;
  const void *data;
  uint64_t size, alignment;
  tn_module_entry *entries;
  uint32_t n_entries;
} tn_module_file;

typedef struct tn_container {
  tn_arena arena; /* texts and lists */
  tn_module_file *modules;
  uint32_t n_modules;
} tn_container;

enum { TN_CONTAINER_ALIGNMENT = 4096, TN_MODULE_MAX_ALIGNMENT = 1 << 20 };

/* Reads a container; its modules point into the bytes. NULL, or what is wrong with them: a literal,
 * or a text in the arena. *out is to be closed in any case. */
const char *tn_container_read(const tn_allocator *a, const uint8_t *data, uint64_t size,
                              tn_container *out);
void tn_container_close(tn_container *c);
/* Writes modules as a container, to be read back by the same. */
typedef tn_status (*tn_write_fn)(void *ctx, const void *data, uint64_t size);
tn_status tn_container_write(const tn_allocator *a, const tn_module_file *const *modules,
                             uint32_t n_modules, tn_write_fn write, void *ctx);

/* ---- accelerators: target.c ------------------------------------------------------------------ */

/* A target that a model may use. */
typedef struct tn_accelerator {
  const tn_allocator *a;
  const tn_registry *registry;
  const char *name;                   /* of the target: "acme-npu-2" */
  const tn_compilerdef *compiler;     /* NULL: none is loaded, modules have to be there */
  const tn_dispatcherdef *dispatcher; /* that loads what is made for it */
  tn_target target;                   /* the compiler's, or the name alone */
  void *device;
  const char *stamp;                 /* of the device; "": it has none */
  pthread_mutex_t lock;              /* of loaded */
  TN_VEC(struct tn_loaded *) loaded; /* in use, for tenon compile; not counted */
  tn_arena arena;
  bool device_is_open;
  bool compiles_only; /* modules are made and not loaded; there may be no dispatcher */
} tn_accelerator;

/* What is known of an accelerator without opening it. */
typedef struct tn_accelerator_entry {
  const char *name, *hardware, *kit, *compiler, *dispatcher, *plugin;
} tn_accelerator_entry;
/* Targets of all compilers, in order; false: there is none of that index. */
bool tn_accelerator_at(const tn_registry *r, int32_t index, tn_accelerator_entry *out);

/* Is it the name of a target or a compiler? */
bool tn_accelerator_is_named(const tn_registry *r, const char *name);
/* Opens the target of that name, or the first of the compiler of that name. file: modules that were
 * made before, which name their target where no compiler is loaded; NULL: none. compiles: it is to
 * compile only. Messages begin with "accelerator 'acme-npu-2': ". */
tn_status tn_accelerator_open(const tn_allocator *a, const tn_registry *r, const char *name,
                              const tn_container *file, bool compiles, tn_diag *diag,
                              tn_accelerator **out_accelerator);
void tn_accelerator_close(tn_accelerator *x); /* NULL is legal; its modules are gone */

/* The first argument of a callback, and what it said. */
typedef struct tn_accelerator_talk {
  tn_accelerator_call call;
  const tn_allocator *a;
  const tn_registry *registry;
  tn_diag *diag;  /* for notes; NULL: nobody listens */
  char text[512]; /* "": it said nothing */
} tn_accelerator_talk;
void tn_accelerator_talk_open(tn_accelerator_talk *t, const tn_accelerator *x,
                              const tn_part_owner *owner, tn_diag *diag);
/* What the callback answered, as one of the statuses there are; text says why it failed. */
tn_status tn_accelerator_answer(tn_accelerator_talk *t, tn_status answer);
/* Asks the compiler of x. The graph is closed meanwhile; whoever edits it has failed. */
tn_status tn_accelerator_partition(tn_accelerator_talk *t, const tn_accelerator *x,
                                   const tn_graph *g, tn_claim *const *claims, int32_t n_claims);
/* Is it something that partition() may leave? */
bool tn_claim_is_sound(const tn_claim *claim);

/* The graph in a format, into memory of tn_alloc_sized. */
tn_status tn_graph_to_bytes(const tn_allocator *a, const tn_registry *r, const tn_graph *g,
                            const char *format, tn_diag *diag, void **out_data, uint64_t *out_size);

/* ---- parts: outline.c ------------------------------------------------------------------------ */

/* A part of a graph, as a graph of its own in it. */
typedef struct tn_part {
  tn_graph *body; /* belongs to the graph around it */
  int32_t *nodes; /* of that graph, in topological order */
  int32_t n_nodes;
  int32_t *inputs, *outputs; /* values of that graph that are those of the body */
  int32_t n_inputs, n_outputs;
  void *bytes; /* as ONNX; of tn_alloc_sized. NULL: not asked for */
  uint64_t size;
  char sha256[TN_SHA256_TEXT]; /* of them */
} tn_part;
/* nodes: sorted ids. Memory of the arena; the body lives as long as the graph. */
tn_status tn_part_outline(tn_graph *g, const int32_t *nodes, int32_t n, tn_arena *arena,
                          tn_diag *diag, tn_part *out);
tn_status tn_part_to_bytes(const tn_allocator *a, const tn_registry *r, tn_part *part,
                           tn_diag *diag);
void tn_part_close(const tn_allocator *a, tn_part *part); /* its bytes */

/* ---- making modules: compile.c, apart.c, child.c, request.c, cache.c ------------------------ */

/* What a worker is asked to do. */
typedef struct tn_compile_request {
  const char *compiler, *target;
  const char *const *plugins; /* files to load, that with the compiler among them */
  uint32_t n_plugins, n_parts;
  const char *key;
  tn_part *parts;        /* with bytes */
  uint64_t memory_bytes; /* it may map; 0: no limit */
  bool asks;             /* for claims on the nodes of part 0, which cost `costs` here */
  uint32_t n_costs;
  const double *costs;
} tn_compile_request;

/* As bytes, from which the worker reads it; texts and parts point into them. */
tn_status tn_request_write(const tn_allocator *a, const tn_compile_request *r, tn_write_fn write,
                           void *ctx);
/* NULL, or what is wrong. */
const char *tn_request_read(tn_arena *arena, const uint8_t *data, uint64_t size,
                            tn_compile_request *out);

/* Where modules come from, and what bounds a compile. */
typedef struct tn_compile_rules {
  const char *worker; /* the command; NULL: it was not found */
  const char *cache;  /* a folder; NULL: none */
  uint32_t time_limit_s;
  bool is_inside, is_off; /* this process compiles itself; nobody does */
  uint64_t memory_bytes;
} tn_compile_rules;
/* From TENON_COMPILE, TENON_MODULE_CACHE, TENON_COMPILE_SECONDS and TENON_COMPILE_MEGABYTES. */
tn_status tn_compile_rules_read(tn_arena *arena, tn_compile_rules *out);

/* Compiles the parts, all into one module: found in the cache, or made by a worker and kept in the
 * cache; then loads it. */
tn_status tn_compile(tn_accelerator *x, tn_part *parts, uint32_t n_parts, tn_diag *diag,
                     struct tn_loaded **out_loaded);

/* What is asked for, found in the cache, or made by a worker and kept; sets key and plugins. */
tn_status tn_compile_make(tn_accelerator *x, const tn_compile_rules *rules, tn_compile_request *r,
                          tn_arena *arena, tn_diag *diag, tn_mapping *out);

/* Claims of a compiler with TN_COMPILER_APART; texts in the arena. Errors are said with the name of
 * the accelerator before them. */
tn_status tn_claim_apart(tn_accelerator *x, tn_graph *g, tn_claim *const *claims, tn_arena *arena,
                         tn_diag *diag);
/* The same in this process: what the worker does. */
tn_status tn_claim_here(const tn_accelerator *x, const tn_compile_request *r, const tn_graph *g,
                        void (*stage)(void *ctx, const char *), tn_write_fn write, void *ctx,
                        tn_diag *diag);

/* Compiles in this process: what the worker does. Writes a container. stage: called with what comes
 * next, for whoever has to say where it crashed. graphs: checked and inferred, one a part. */
tn_status tn_compile_here(const tn_accelerator *x, const tn_compile_request *request,
                          const tn_graph *const *graphs, void (*stage)(void *ctx, const char *),
                          tn_write_fn write, void *ctx, tn_diag *diag);

/* Folder of the cache: a container by its key. A damaged one is removed, with a note. */
tn_status tn_module_cache_get(tn_accelerator *x, const char *folder, const char *key, tn_diag *diag,
                              tn_mapping *out);
/* Fails silently: it is compiled again next time. */
void tn_module_cache_put(const tn_allocator *a, const char *folder, const char *key,
                         const tn_mapping *container);

/* ---- modules in use: module.c ---------------------------------------------------------------- */

typedef struct tn_loaded {
  tn_accelerator *accelerator;
  tn_container container; /* of the mapping; empty if the module is borrowed */
  tn_mapping mapping;
  tn_module_file file; /* its entries name the nodes of the parts at hand */
  tn_arena arena;
  void *program;
  bool is_loaded;
  struct tn_port_copy *ports; /* of all entries, one after the other; NULL: none is copied */
  pthread_mutex_t lock;       /* of program */
  atomic_int failed;          /* it failed while running: the CPU takes over, where it may */
} tn_loaded;

/* An island in a plan: an entry of a module. */
typedef struct tn_island_step {
  tn_loaded *loaded;
  uint32_t entry;
  int32_t n_nodes;
  double flops; /* of its nodes */
} tn_island_step;

/* Checks a module against the parts that it was made of, and loads it. The mapping of a container
 * of one module, which is taken in any case; or a module of a container that outlives it. */
tn_status tn_loaded_take(tn_accelerator *x, tn_mapping *mapping, const tn_part *parts,
                         uint32_t n_parts, tn_diag *diag, tn_loaded **out_loaded);
tn_status tn_loaded_borrow(tn_accelerator *x, const tn_module_file *file, const tn_part *parts,
                           uint32_t n_parts, tn_diag *diag, tn_loaded **out_loaded);
void tn_loaded_destroy(tn_loaded *m); /* NULL is legal */
/* Runs an entry. On failure text (of size bytes) says why. */
tn_status tn_island_run(const tn_island_step *island, const tn_tensor *const *inputs,
                        tn_tensor *const *outputs, char *text, size_t size);
/* May an entry be started, and waited for later? */
bool tn_island_has_halves(const tn_island_step *island);
/* What was started has its program until the same thread has waited for it. TN_ERR_STATE, and
 * nothing is said: others have the program; whoever has none himself may wait for it. */
tn_status tn_island_start(const tn_island_step *island, const tn_tensor *const *inputs,
                          tn_tensor *const *outputs, bool may_wait, char *text, size_t size);
tn_status tn_island_wait(const tn_island_step *island, char *text, size_t size);

#endif
