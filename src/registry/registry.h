/* The registry of a runtime: plug-ins, and the operators, kernels, rewrites and formats they offer.
 *
 * Look-ups take no lock: when a plug-in comes or goes, new sorted tables are built and swapped in.
 * What a look-up answers is valid
 *   - between tn_registry_enter and tn_registry_leave: nothing is freed or unmapped that a reader
 *     may have found; and
 *   - for as long as a tn_holder uses the plug-in that it came from.
 * A plug-in is unloaded when nobody holds it and all who began to read before have left. */
#ifndef TN_REGISTRY_REGISTRY_H
#define TN_REGISTRY_REGISTRY_H

#include <stdatomic.h>

#include "graph/graph.h"

typedef struct tn_registry tn_registry;

tn_status tn_registry_create(const tn_allocator *a, tn_registry **out_registry);
/* Shuts plug-ins down in reverse order of loading, then unmaps them. No reader, no holder is
 * left. */
void tn_registry_destroy(tn_registry *r);

/* Around look-ups, and around the use of what they answer. May be nested; takes no lock. leave gets
 * what enter answered. */
int tn_registry_enter(const tn_registry *r);
void tn_registry_leave(const tn_registry *r, int ticket);

/* Who uses parts of plug-ins for longer than a look-up: a model, with its plans and sessions. It
 * keeps a plug-in from the first part it takes until it is closed. */
typedef struct tn_holder {
  tn_registry *registry;
  const char *name; /* "model 'x.onnx'"; borrowed */
  atomic_int n_sessions;
  TN_VEC(tn_part_owner *) owners; /* that it uses; under the registry's lock, as the links are */
  atomic_int n_late;              /* how often it came too late: the plug-in was being unloaded */
  struct tn_holder *next, *before;
} tn_holder;
void tn_holder_open(tn_holder *h, tn_registry *r, const char *name);
void tn_holder_close(tn_holder *h);
/* To be called by a reader who keeps a part of owner. TN_ERR_STATE: the plug-in is being unloaded;
 * look-ups that are made anew do not find it. h or owner NULL: nothing to do. */
tn_status tn_holder_use(tn_holder *h, const tn_part_owner *owner);

/* ctx: what init of a plug-in gets as the first argument of the host's services. NULL until set;
 * set it before adding. */
void tn_registry_set_ctx(tn_registry *r, void *ctx);
/* Rules for libraries that are loaded from now on: the file with the list of what is allowed, the
 * command that vets. NULL: what TENON_PLUGIN_ALLOW and TENON_PLUGIN_VET say (not in set-uid
 * programs); a list there counts besides the given one. vet "": nothing is vetted. An error if a
 * list cannot be read: nobody knows what it allows. */
tn_status tn_registry_set_rules(tn_registry *r, const char *allow, const char *vet, tn_diag *diag);
/* What host->fail and host->log do for that ctx: the text joins the messages of the plug-in whose
 * init is running; if none is, it is dropped. severity: TN_DIAG_... Any thread. */
void tn_registry_report(tn_registry *r, int32_t severity, const char *text);

/* Vets the descriptor, copies what it has into the host's structs, calls init, merges its parts.
 * All or nothing. A refused plug-in is listed with its reason. load: of a library that somebody
 * names. origin: TN_ORIGIN_BUILT_IN or _EXPLICIT. */
tn_status tn_registry_load(tn_registry *r, const char *path, const tn_host *host,
                           const tn_option *const *options, uint32_t n_options, tn_diag *diag);
/* The parts that are built in: they have no init, and so no host. */
tn_status tn_registry_add_builtin(tn_registry *r, tn_diag *diag);
tn_status tn_registry_add(tn_registry *r, tn_plugin_query_fn query, uint32_t origin,
                          const tn_host *host, const tn_option *const *options, uint32_t n_options,
                          tn_diag *diag);
/* Takes a plug-in away that is in use: waits up to wait_ms for its users to go, then shuts it down
 * and unmaps it. TN_ERR_STATE: still in use, diag says by whom; nothing has changed.
 * TN_ERR_NOT_FOUND: none of that name is in use. TN_ERR_INVALID: it is built in. Any thread; do not
 * call it between enter and leave: it would wait for the caller, and give up. */
tn_status tn_registry_unload(tn_registry *r, const char *name, uint32_t wait_ms, tn_diag *diag);

/* Tells every plug-in in use (tn_plugin.notify). Any thread; takes no lock, so that the child of a
 * fork may call it. */
void tn_registry_notify(const tn_registry *r, uint32_t event);
/* All files *.so in the folders of TENON_PLUGIN_PATH (absolute paths, ":" between; ignored in
 * set-uid programs), then in the installed plug-in folder. Refused ones become warnings. Files may
 * need each other's operators, in any order. Where all of them say what they offer
 * (tenon/kit/offers.h), they are loaded when a look-up first asks for something of theirs. */
tn_status tn_registry_discover(tn_registry *r, const tn_host *host, tn_diag *diag);
/* Hands over, as warnings, what was said of plug-ins that were loaded in a look-up. Any thread. */
void tn_registry_late(const tn_registry *r, tn_diag *diag);

/* A plug-in in a file as vetting sees it: nothing of it is started or registered. The parts are
 * those that break no rule; info.refused says which do. */
typedef struct tn_examined {
  tn_plugin_info info;
  uint16_t abi_major, abi_minor; /* built against; 0.0 if that could not be read */
  uint64_t flavour;
  const tn_opdef *const *ops;
  const tn_kerneldef *const *kernels;
  const tn_rewritedef *const *rewrites;
  const tn_format *const *formats;
  uint32_t n_ops, n_kernels, n_rewrites, n_formats;
  tn_plugin_query_fn query;
  struct tn_plug *plug;
} tn_examined;
/* Maps the file, which runs its constructors. *out is to be closed in any case. */
tn_status tn_registry_map(tn_registry *r, const char *path, tn_diag *diag, tn_examined *out);
/* Asks tn_plugin_query of a mapped file, and vets the answer against what is registered. All that
 * is wrong is in diag. */
tn_status tn_registry_examine(tn_registry *r, tn_diag *diag, tn_examined *e);
void tn_examined_close(tn_examined *e);

/* The operator for a node written for operator-set `version` of its domain (0: newest): since <=
 * version <= until. NULL: none; tn_registry_has_op then tells whether another version is there. */
const tn_opdef *tn_registry_op(const tn_registry *r, const char *domain, const char *name,
                               int32_t version);
/* The folder of the plug-ins that ship with Tenon, beside this library or program; NULL: none. */
const char *tn_own_plugin_folder(tn_arena *arena);
/* Of a domain whose operators come with a plug-in that ships with Tenon and is not in use: which it
 * is and how to load it. NULL: nothing is known of the domain. */
const char *tn_shipped_hint(const tn_registry *r, const char *domain, tn_arena *arena);
/* "; did you mean 'Relu'?", or "": of the operators of a domain, in memory of the arena. */
const char *tn_registry_near(const tn_registry *r, const char *domain, const char *name,
                             tn_arena *arena);
/* "1 to 6, 9 and later": the versions of an operator; "" if there is none of that name. */
const char *tn_registry_versions(const tn_registry *r, const char *domain, const char *name,
                                 tn_arena *arena);
bool tn_registry_has_op(const tn_registry *r, const char *domain, const char *name,
                        int32_t *out_since, int32_t *out_until);
/* All kernels of an op, best rank first; answers how many. A kernel stands under each op whose
 * versions meet its own since..until and whose arguments are those of the schema it was vetted
 * with; its version limits may still exclude a node of that op. */
int32_t tn_registry_kernels(const tn_registry *r, const tn_opdef *op,
                            const tn_kerneldef *const **out_kernels);
int32_t tn_registry_rewrites(const tn_registry *r, const tn_opdef *root,
                             const tn_rewritedef *const **out_rewrites);
/* The operator that tn_rewrite.makes names, its newest version; NULL: none, or there is none. */
const tn_opdef *tn_registry_made_by(const tn_registry *r, const tn_rewritedef *rewrite);
/* What tells the code of a part from that of all others: the SHA-256 of its plug-in's file; "" for
 * what is part of the library itself. NULL: nothing does. Reads the file when it is first asked
 * for. Any thread. */
const char *tn_part_build(const tn_part_owner *owner);
/* The newest version that an operator of a domain begins with, or any that is not below `enough`;
 * 0: there is none. */
int32_t tn_registry_newest(const tn_registry *r, const char *domain, int32_t enough);
/* Whose format it is; NULL: none of this registry's. */
const tn_part_owner *tn_registry_format_owner(const tn_registry *r, const tn_format *format);
/* By name, or NULL. */
const tn_format *tn_registry_format(const tn_registry *r, const char *name);
/* What init of the plug-in answered that one of this registry's formats comes from. */
void *tn_registry_format_self(const tn_format *format);
/* The format that a file is in: best probe answer, then the path's ending. NULL: none. */
const tn_format *tn_registry_recognise(const tn_registry *r, const char *path, const uint8_t *data,
                                       uint64_t size);

/* Another format whose probe is above 50 and within 10 of this one's: content alone does not tell
 * which of the two a file is in. NULL: none. */
const tn_format *tn_registry_rival(const tn_registry *r, const tn_format *format,
                                   const uint8_t *data, uint64_t size);

/* Drivers of devices, in order of loading. */
int32_t tn_registry_n_drivers(const tn_registry *r);
const tn_driverdef *tn_registry_driver_at(const tn_registry *r, int32_t index);

/* Compilers and dispatchers, likewise. */
int32_t tn_registry_n_compilers(const tn_registry *r);
const tn_compilerdef *tn_registry_compiler_at(const tn_registry *r, int32_t index);
int32_t tn_registry_n_dispatchers(const tn_registry *r);
const tn_dispatcherdef *tn_registry_dispatcher_at(const tn_registry *r, int32_t index);

/* Enumeration, in the order that tenon.h gives. */
int32_t tn_registry_n_ops(const tn_registry *r);
const tn_opdef *tn_registry_op_at(const tn_registry *r, int32_t index);
int32_t tn_registry_n_kernels(const tn_registry *r);
const tn_kerneldef *tn_registry_kernel_at(const tn_registry *r, int32_t index);
int32_t tn_registry_n_formats(const tn_registry *r);
const tn_format *tn_registry_format_at(const tn_registry *r, int32_t index);
int32_t tn_registry_n_folders(const tn_registry *r);
tn_status tn_registry_folder(const tn_registry *r, int32_t index, tn_folder_info *out_info);
int32_t tn_registry_n_plugins(const tn_registry *r);
tn_status tn_registry_plugin(const tn_registry *r, int32_t index, tn_plugin_info *out_info);

#endif
