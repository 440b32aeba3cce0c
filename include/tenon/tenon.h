/* The host API of Tenon: load a model, feed it, run it, read the outputs.
 *
 *   tn_runtime_create -> tn_model_load -> tn_session_create -> tn_session_set_input ...
 * tn_session_run -> tn_session_output
 *
 * Handles are opaque. destroy(NULL) does nothing. A runtime stays until the last of its models is
 * destroyed, a model until the last of its sessions is, in whichever order their destroy functions
 * are called. Functions that can fail return tn_status and take an optional tn_diag that collects
 * the reasons in words; NULL is fine. Threads: a runtime and a model may be used by several threads
 * at once; a session by one thread at a time. The library never prints, exits or aborts, and keeps
 * no global state.
 */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include "tenon/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TN_API
#define TN_API TN_EXPORT
#endif

typedef struct tn_runtime tn_runtime;
typedef struct tn_model tn_model;
typedef struct tn_session tn_session;
typedef struct tn_diag tn_diag;

/* "0.1.0" */
TN_API const char *tn_version(void);
/* "TN_ERR_SHAPE: shapes or dtypes do not fit together"; for any number */
TN_API const char *tn_status_text(tn_status status);
/* "f32"; "?" for numbers that are no dtype. And back: TN_NONE if unknown. Accepts f32/float/float32
 * and so on. */
TN_API const char *tn_dtype_name(uint32_t dtype);
TN_API uint32_t tn_dtype_parse(const char *name);

/* ---- Diagnostics: an ordered list of messages. Thread-safe to append; read it when the call has
 * returned. ---- */
enum { TN_DIAG_ERROR = 0, TN_DIAG_WARNING = 1, TN_DIAG_NOTE = 2 };
TN_API tn_diag *tn_diag_create(void); /* NULL: no memory */
TN_API void tn_diag_destroy(tn_diag *diag);
TN_API void tn_diag_clear(tn_diag *diag);
TN_API int64_t tn_diag_count(const tn_diag *diag);
/* Text of message i, severity through out_severity (may be NULL). NULL if there is no such
 * message. */
TN_API const char *tn_diag_message(const tn_diag *diag, int64_t index, int32_t *out_severity);
/* The status that error i stopped its callee with; TN_OK for warnings, notes and messages that are
 * not there. */
TN_API tn_status tn_diag_message_status(const tn_diag *diag, int64_t index);
/* All errors in one string, a line each; "" if none. Lives until the diag changes. */
TN_API const char *tn_diag_text(tn_diag *diag);

/* ---- Runtime ---- */

/* Where all memory of the library comes from. alloc answers 64-byte aligned memory or NULL. Both
 * may be called by any thread. */
typedef struct tn_allocator {
  tn_head head;
  void *self;
  void *(*alloc)(void *self, uint64_t bytes);
  void (*free)(void *self, void *memory, uint64_t bytes);
} tn_allocator;

enum {
  TN_RUNTIME_NO_BUILTINS =
      1, /* start without the operators, kernels and formats that ship with Tenon */
  TN_RUNTIME_NO_DISCOVERY =
      2 /* do not look in TENON_PLUGIN_PATH and the installed plug-in folder */
};

typedef struct tn_runtime_options {
  tn_head head;
  int32_t n_threads;             /* 0: as many as there are cores; 1: none but the caller */
  uint32_t flags;                /* TN_RUNTIME_... */
  const tn_allocator *allocator; /* NULL: malloc */
  uint64_t
      isa_mask; /* instruction sets that may be used, TN_ISA_...; 0: all that the machine has */
  /* "Conv=acme_conv": this kernel, or an error. "Conv!=acme_conv", "Conv!=acme_*": any but it;
   * an error, too, if no kernel has such a name. A pin for nothing in a model is a warning. */
  const char *const *pins;
  uint32_t n_pins, reserved;
  /* A file with lines "SHA-256  path-or-name", as sha256sum prints them: no library is loaded that
   * is not in it. NULL: TENON_PLUGIN_ALLOW, if that is set; where both are, both have to allow. */
  const char *plugin_allow;
  /* The tenon command: a library is loaded only after `tenon plugin vet` has found nothing wrong
   * with it, in a process of its own. NULL: TENON_PLUGIN_VET, if that is set; "": never. */
  const char *plugin_vet;
} tn_runtime_options;

#define TN_RUNTIME_OPTIONS_INIT \
  { TN_HEAD(tn_runtime_options), 0, 0, NULL, 0, NULL, 0, 0, NULL, NULL }

/* options may be NULL. On failure *out_runtime is NULL. */
TN_API tn_status tn_runtime_create(const tn_runtime_options *options, tn_diag *diag,
                                   tn_runtime **out_runtime);
/* The handle is not to be used any more. Plug-ins are shut down at once, or, while models are left,
 * when the last of them goes: once each, in reverse order of loading, by the thread that lets go
 * last. Graphs, lists and values made with the runtime must be gone before that. */
TN_API void tn_runtime_destroy(tn_runtime *runtime);
/* Loads a shared library, vets it and registers what it offers. On failure nothing of it stays but
 * an entry in the list of plug-ins, with the reason. A file that everybody can write, or that lies
 * in a folder that everybody can write, is refused. Discovery refuses what anybody but this user or
 * root can write or replace, the folders above and symbolic links on the way included; so does this
 * function where there is a list of what is allowed. It takes the place of a plug-in of its name
 * that discovery brought, unless somebody uses that one: TN_ERR_STATE then. */
TN_API tn_status tn_runtime_load_plugin(tn_runtime *runtime, const char *path,
                                        const tn_option *const *options, uint32_t n_options,
                                        tn_diag *diag);
/* The same for a plug-in that is linked into the program. */
TN_API tn_status tn_runtime_add_plugin(tn_runtime *runtime, tn_plugin_query_fn query,
                                       const tn_option *const *options, uint32_t n_options,
                                       tn_diag *diag);

/* Measured costs of kernels, by which plans are made in place of what kernels estimate. While
 * tuning is on, planning times every kernel that could run a node, on made-up values, which is
 * slow: a session is made and run once, and what that measured is saved. Loaded again, on the same
 * kind of machine, it serves all models whose nodes it knows. Plans that are made already stay.
 * Kernels are timed one at a time, whoever asks; but sessions of the runtime that run meanwhile
 * take cores and threads, and what is timed beside them seems slower than it is: run none. A file
 * with a broken line, or of another version of Tenon's tuning, is refused whole (TN_ERR_INVALID).
 * Any thread. */
TN_API tn_status tn_runtime_tune(tn_runtime *runtime, int32_t on);
TN_API tn_status tn_runtime_load_tuning(tn_runtime *runtime, const char *path, tn_diag *diag);
TN_API tn_status tn_runtime_save_tuning(tn_runtime *runtime, const char *path, tn_diag *diag);
TN_API int64_t tn_runtime_n_tuned(const tn_runtime *runtime); /* how many costs it knows */

/* A folder in which models that are loaded from files from now on keep what the kernels that ship
 * with Tenon made of their weights, so that the next start maps it in place of making it again.
 * NULL or "": none. To begin with it is what TENON_WEIGHT_CACHE says (not in set-uid programs), or
 * none. The folder is made if only its last name is missing; nobody but root and this user may be
 * able to write to it or to replace it, else TN_ERR_INVALID. A file is used only for the same build
 * of Tenon and the same contents of the model's files; it is replaced whole when the first plan of
 * a model is made, or when the model is destroyed. A file that is not used, or cannot be written,
 * is a note or a warning, and the model runs as without. Any thread. */
TN_API tn_status tn_runtime_cache_weights(tn_runtime *runtime, const char *folder, tn_diag *diag);
/* How many bytes of prepared weights plans of this model have taken from there. Any thread. */
TN_API uint64_t tn_model_cached_bytes(const tn_model *model);

/* Tells every plug-in in use that something happened to the process (TN_EVENT_...). Any thread;
 * after a fork, call it in the child, which has none of the runtime's threads and computes on those
 * that call it. TN_ERR_INVALID: there is no such event. */
TN_API tn_status tn_runtime_notify(tn_runtime *runtime, uint32_t event);

/* Takes a plug-in away, by its name. A model uses a plug-in from the first operator, kernel or
 * format of it that it takes until tn_model_destroy; a plug-in uses another one if its kernels are
 * for operators of the other. While anybody does, this call waits, up to wait_ms; then it answers
 * TN_ERR_STATE, says in diag who it is, and nothing has changed. Else the plug-in is shut down and
 * its library unmapped, and all that was answered about it is gone: infos, operators, kernels,
 * names. Calls of other threads that are on their way are waited for, at least a quarter of a
 * second. TN_ERR_NOT_FOUND: no plug-in in use has this name. TN_ERR_INVALID: what ships with Tenon
 * stays. Any thread, but not a callback of a plug-in. */
TN_API tn_status tn_runtime_unload_plugin(tn_runtime *runtime, const char *name, uint32_t wait_ms,
                                          tn_diag *diag);

/* How a plug-in came into the runtime. */
enum {
  TN_ORIGIN_BUILT_IN = 0,
  TN_ORIGIN_EXPLICIT = 1, /* the program or its user named it */
  TN_ORIGIN_PATH = 2,     /* in a folder of TENON_PLUGIN_PATH */
  TN_ORIGIN_INSTALLED = 3 /* in the installed folder */
};

/* What is registered. Strings and parts live as long as the runtime, or until the plug-in that they
 * are of is unloaded; the strings of one that was refused until its file is loaded again. */
typedef struct tn_plugin_info {
  tn_head head;
  const char *name, *version, *license, *build_id;
  const char *path;     /* "" if linked in */
  const char *found_by; /* origin, in words */
  const char *refused;  /* why it is not in use; NULL: in use */
  uint32_t n_ops, n_kernels, n_rewrites, n_formats;
  uint32_t n_drivers, n_device_kernels, n_compilers, n_dispatchers, n_extensions;
  uint32_t origin; /* TN_ORIGIN_... */
  /* Of the file, in hexadecimal; "" if linked in, not read, or if another file is there by now. */
  const char *sha256;
  /* What else was decided when it was loaded, in words: why its file was trusted, which kernels of
   * others its own stand before and with which ranks, which of its parts were left out. */
  const char *const *notes;
  uint32_t n_notes;
  uint32_t flags; /* TN_PLUGIN_... */
  /* Drivers, compilers, dispatchers and extensions, in words: "compiler 'acme-npu', emit_c.v0
   * 'softmax'"; "" if there are none. */
  const char *offers;
} tn_plugin_info;

/* The folders in which plug-ins were looked for, in order. Strings live as long as the runtime. */
typedef struct tn_folder_info {
  tn_head head;
  const char *folder;   /* as TENON_PLUGIN_PATH has it */
  const char *found_by; /* "TENON_PLUGIN_PATH", "installed" */
  const char *refused;  /* why it was not looked into; NULL: it was */
  uint32_t n_files;     /* *.so: each is in the list of plug-ins */
  uint32_t n_others;    /* other names, which are not looked at */
} tn_folder_info;
TN_API int32_t tn_runtime_n_folders(const tn_runtime *runtime);
TN_API tn_status tn_runtime_folder(const tn_runtime *runtime, int32_t index,
                                   tn_folder_info *out_info);
TN_API int32_t tn_runtime_n_plugins(const tn_runtime *runtime);
TN_API tn_status tn_runtime_plugin(const tn_runtime *runtime, int32_t index,
                                   tn_plugin_info *out_info);
TN_API int32_t tn_runtime_n_ops(const tn_runtime *runtime);
TN_API const tn_op *tn_runtime_op(const tn_runtime *runtime,
                                  int32_t index); /* sorted by domain, name, since */
TN_API int32_t tn_runtime_n_kernels(const tn_runtime *runtime);
TN_API const tn_kernel *tn_runtime_kernel(const tn_runtime *runtime,
                                          int32_t index); /* sorted by op, rank */
/* Which plug-in operator or kernel `index` comes from; NULL: no such index. */
TN_API const char *tn_runtime_op_plugin(const tn_runtime *runtime, int32_t index);
TN_API const char *tn_runtime_kernel_plugin(const tn_runtime *runtime, int32_t index);
/* The operator for nodes that were written for this operator-set version (0: the newest) of its
 * domain ("" or "ai.onnx": ONNX); NULL: there is none. */
TN_API const tn_op *tn_runtime_find_op(const tn_runtime *runtime, const char *domain,
                                       const char *name, int32_t version);
TN_API int32_t tn_runtime_n_formats(const tn_runtime *runtime);
TN_API const tn_format *tn_runtime_format(const tn_runtime *runtime, int32_t index);

/* ---- Devices ---- */

/* A device, a driver that sees none, or a target of a vendor's compiler. Strings live until the
 * next tn_runtime_n_devices. */
typedef struct tn_device_entry {
  tn_head head;
  const char *name;     /* "cpu", "shadow:0", "acme-npu-2"; of a driver that sees none, its own */
  const char *driver;   /* or dispatcher; "" for the CPU, and where there is none */
  const char *plugin;   /* that the driver comes from; "" for the CPU */
  const char *hardware; /* what it is, for people */
  const char *stamp;    /* all that programs built for it depend on */
  const char *missing;  /* why there is none; NULL: it is there */
  uint64_t memory_bytes, max_buffer_bytes; /* 0: not known */
  uint32_t flags;                          /* TN_DEVICE_... of tenon/device.h */
  uint32_t reserved;
  const char *compiler; /* that makes modules for it; "": its driver has kernels */
} tn_device_entry;
/* Asks all drivers, and opens each device for a moment; how many entries there are. The first is
 * the CPU. One thread at a time. */
TN_API int32_t tn_runtime_n_devices(tn_runtime *runtime);
/* Entry `index` as tn_runtime_n_devices found it. TN_ERR_NOT_FOUND: there is none. */
TN_API tn_status tn_runtime_device(tn_runtime *runtime, int32_t index, tn_device_entry *out_entry);

/* ---- Tensors ---- */

/* Number of elements and of bytes of a plain tensor; -1 if a dim is unknown or the size
 * overflows. */
TN_API int64_t tn_tensor_elements(const tn_tensor *tensor);
TN_API int64_t tn_tensor_bytes(const tn_tensor *tensor);
/* Items of a sequence, optional or map that a session answered. */
TN_API int64_t tn_list_size(const tn_tensor *list);
TN_API const tn_tensor *tn_list_item(const tn_tensor *list, int64_t index);
/* An owned list (kind: TN_KIND_SEQUENCE, TN_KIND_OPTIONAL), to feed to a session. append copies the
 * item. */
TN_API tn_status tn_list_create(tn_runtime *runtime, uint32_t kind, uint32_t dtype,
                                tn_tensor **out_list);
TN_API tn_status tn_list_append(tn_tensor *list, const tn_tensor *item);
TN_API void tn_list_destroy(tn_tensor *list);
/* Reads one value from a file in the tensor form of a format (ONNX: a .pb with a TensorProto,
 * SequenceProto or OptionalProto). kind: TN_KIND_..., what the file holds: it does not say so
 * itself. out_name (may be NULL): room of name_size bytes for a name inside the file, "" if it
 * gives none. The value is the caller's: tn_value_destroy. */
TN_API tn_status tn_value_load(tn_runtime *runtime, const char *path, const char *format,
                               uint32_t kind, tn_diag *diag, tn_tensor **out_value, char *out_name,
                               uint64_t name_size);
TN_API void tn_value_destroy(tn_tensor *value);

/* ---- Models ---- */

/* What a file is, in a line for people: "a TensorFlow Lite model: convert it: ...". Told from its
 * bytes; many more kinds are known than can be read. Of a folder (data NULL, size 0, path its name)
 * the names of what is in it are looked at; else path may be NULL. Writes at most text_size bytes,
 * the zero at the end included, and answers how long the text is; 0: nothing is known of it. */
TN_API uint64_t tn_identify(const void *data, uint64_t size, const char *path, char *text,
                            uint64_t text_size);

typedef struct tn_model_options {
  tn_head head;
  const char *format; /* NULL: recognised from content, then from the file's ending */
  int32_t max_plans;  /* plans kept for different input shapes; 0: 8 */
  uint32_t flags;     /* TN_MODEL_... */
  /* Where the model shall run: "opencl:0"; "opencl", its first one; "auto", whatever GPU there is,
   * if that is quicker; "acme-npu-2", a target of a vendor's compiler. Several: the first one
   * first, compilers before devices with kernels. What lives on the host by nature (strings,
   * lists, control flow, data that shapes depend on) stays on the CPU. None: the CPU. */
  const char *const *devices;
  uint32_t n_devices;
  uint32_t fallback; /* TN_FALLBACK_...: may work run elsewhere? */
  /* Which of several things in the file that can be run by themselves (signatures, methods), by
   * its name; NULL: the one that its format takes for the main one. To have several, load the file
   * as often: weights are the mapped file's; tn_session_share makes them share states. */
  const char *entry;
  /* TN_F16 or TN_BF16: weights of f32 are kept in that type where kernels read it; sums stay f32,
   * and so do inputs, outputs and all other values. Weights that the type cannot hold stay as they
   * are, with a note. 0, TN_F32: as they stand in the file. On GPUs all values between nodes are of
   * that type, too. Not on other devices and accelerators, nor with TN_MODEL_NO_OPTIMIZE. */
  uint32_t precision;
  uint32_t reserved;
  /* A file of compiled modules (tenon compile), for targets of accelerators among the devices.
   * NULL: that of the model's path with ".modules" behind it, if it is there. */
  const char *modules;
} tn_model_options;
enum {
  TN_FALLBACK_DEFAULT = 0, /* allow where all devices are "auto", else forbid */
  TN_FALLBACK_FORBID = 1,  /* what no named device can run is an error that names all of it */
  TN_FALLBACK_WARN = 2,    /* it runs on the CPU, with a warning; all else runs on the device */
  TN_FALLBACK_ALLOW = 3    /* costs decide what runs where */
};
enum {
  TN_MODEL_NO_OPTIMIZE =
      1, /* skip fold, fuse and layouts: every node runs as it stands in the file */
  TN_MODEL_GRAPH_ONLY =
      2, /* read the file, no more: nodes may name operators that are not there. The graph can be
           looked at, and saved as it was read; a session cannot be made (TN_ERR_STATE). */
  TN_MODEL_CHECKED =
      4, /* the graph is left as it is when operators are found, types inferred, constants folded:
           as compilers see it. All else is done when a session plans. */
  TN_MODEL_COMPILE =
      8, /* accelerators compile only: their devices need not be here, modules that are there are
           not used, and the nodes of islands run on the CPU. For tn_model_save_modules. */
  TN_MODEL_RANDOM_WEIGHTS =
      16 /* weights that a network needs and no file holds are made up, the same ones each time: to
             try and to time networks. Of formats that keep them apart from the network: Caffe */
};

/* Reads, checks and prepares a model. All problems found are in diag, not the first only. The file
 * may be changed or deleted only after tn_model_destroy: weights are used from the mapping. */
TN_API tn_status tn_model_load(tn_runtime *runtime, const char *path,
                               const tn_model_options *options, tn_diag *diag,
                               tn_model **out_model);
/* The same from memory, which must outlive the model. dir: where external data is looked for; NULL:
 * nowhere. */
TN_API tn_status tn_model_load_memory(tn_runtime *runtime, const void *data, uint64_t size,
                                      const char *dir, const tn_model_options *options,
                                      tn_diag *diag, tn_model **out_model);
/* A graph built by hand through tn_graph_api (see tn_graph_create), which the model takes over. */
TN_API tn_status tn_model_from_graph_take(tn_runtime *runtime, tn_graph *graph,
                                          const tn_model_options *options, tn_diag *diag,
                                          tn_model **out_model);
TN_API tn_status tn_graph_create(tn_runtime *runtime, tn_graph **out_graph);
TN_API void tn_graph_destroy(tn_graph *graph);
TN_API const tn_graph_api *tn_graph_functions(void);
TN_API void tn_model_destroy(tn_model *model);

/* Inputs that must be set have the indices 0 .. n_inputs-1. Those that have a default (ONNX: inputs
 * with an initializer, from IR version 4 on) may be set or left out; they follow: n_inputs ..
 * n_inputs+n_defaults-1. */
TN_API int32_t tn_model_n_inputs(const tn_model *model);
TN_API int32_t tn_model_n_defaults(const tn_model *model);
TN_API int32_t tn_model_n_outputs(const tn_model *model);
TN_API const char *tn_model_input_name(const tn_model *model,
                                       int32_t index); /* NULL: no such input */
TN_API const char *tn_model_output_name(const tn_model *model, int32_t index);
TN_API int32_t tn_model_find_input(const tn_model *model, const char *name); /* -1: none */
TN_API int32_t tn_model_find_output(const tn_model *model, const char *name);
/* The value that an input has unless it is set; NULL: it must be set, or there is no such
 * input. */
TN_API const tn_tensor *tn_model_input_default(const tn_model *model, int32_t index);
/* Declared types; unknown dims are TN_DIM_UNKNOWN. */
TN_API tn_status tn_model_input_type(const tn_model *model, int32_t index, tn_tensor *out_type);
TN_API tn_status tn_model_output_type(const tn_model *model, int32_t index, tn_tensor *out_type);
/* What the file holds to choose from by tn_model_options.entry, in its order; 0, NULL: nothing. */
TN_API int32_t tn_model_n_entries(const tn_model *model);
TN_API const char *tn_model_entry_name(const tn_model *model, int32_t index);
/* States: what a run leaves to the next one of its session, such as the variables of a recurrent
 * network. They are no inputs and outputs. Unknown dims may change from run to run. */
TN_API int32_t tn_model_n_states(const tn_model *model);
TN_API const char *tn_model_state_name(const tn_model *model, int32_t index); /* NULL: none */
TN_API int32_t tn_model_find_state(const tn_model *model, const char *name);  /* -1: none */
TN_API tn_status tn_model_state_type(const tn_model *model, int32_t index, tn_tensor *out_type);
/* Name of the format it was read from; "" if it was made by hand. Lives as long as the runtime. */
TN_API const char *tn_model_format(const tn_model *model);
TN_API const char *tn_model_meta(const tn_model *model, const char *key);
/* The graph as it is after loading (read-only, lives as long as the model). */
TN_API const tn_graph *tn_model_graph(const tn_model *model);
/* Writes the graph in a format. stage: "load" (as read); "standard", in operators of ai.onnx alone;
 * or a pass: "check" ... "arrange"; the latter two for the given input types (NULL: the declared
 * ones). NULL: "load" if the model was of that format, else "standard". The file is replaced whole
 * or not at all. */
TN_API tn_status tn_model_save(tn_model *model, const char *path, const char *format,
                               const char *stage, const tn_tensor *const *input_types,
                               tn_diag *diag);
/* What else a writer may be told. */
typedef struct tn_save_options {
  tn_head head;
  const char *format, *stage; /* as of tn_model_save; NULL: by the ending of path; as there */
  const tn_tensor *const *input_types;
  /* A second file in the folder of path, for elements of tensors of at least data_from bytes (ONNX:
   * external data). Its name, without a folder; NULL: that of path, with ".data" behind it. It is
   * written if a tensor is large enough; data_from 0: if the first file would grow beyond what its
   * format allows. No file is replaced that this model still reads weights from. */
  const char *data_file;
  uint64_t data_from;
} tn_save_options;
/* As tn_model_save; either both files are replaced whole, or none. options may be NULL. */
TN_API tn_status tn_model_save_as(tn_model *model, const char *path, const tn_save_options *options,
                                  tn_diag *diag);

/* Writes the compiled modules of all plans that the model has at the moment into a file, which
 * tn_model_options.modules names. The file is replaced whole or not at all. TN_ERR_STATE: there are
 * none. */
TN_API tn_status tn_model_save_modules(tn_model *model, const char *path, tn_diag *diag);

/* ---- Memory of devices ---- */

typedef struct tn_device_buffer tn_device_buffer;
/* `bytes` of zeros on a device that the model was loaded for ("cuda:0"; NULL: its first), for
 * tn_session_bind_input and _output. It keeps the model until it is destroyed and no session is
 * bound to it; destroy in any order. TN_ERR_NOT_FOUND: the model has no such device. TN_ERR_MEMORY:
 * the device has no room. */
TN_API tn_status tn_device_buffer_create(tn_model *model, const char *device, uint64_t bytes,
                                         tn_diag *diag, tn_device_buffer **out_buffer);
TN_API void tn_device_buffer_destroy(tn_device_buffer *buffer);
/* Copies to or from bytes [offset, offset + bytes) of it, and waits. Any thread, but not while a
 * session runs that is bound to it. */
TN_API tn_status tn_device_buffer_write(tn_device_buffer *buffer, uint64_t offset, const void *data,
                                        uint64_t bytes, tn_diag *diag);
TN_API tn_status tn_device_buffer_read(tn_device_buffer *buffer, uint64_t offset, void *data,
                                       uint64_t bytes, tn_diag *diag);

/* ---- Sessions ---- */

TN_API tn_status tn_session_create(tn_model *model, tn_diag *diag, tn_session **out_session);
TN_API void tn_session_destroy(tn_session *session);
/* Names the memory of an input for the runs to come: borrowed, plain, until it is set again or the
 * session dies. NULL: not set; an input that has a default has that again. A session plans for each
 * set of defaults that it replaces, and keeps what it prepared for the last few sets. */
TN_API tn_status tn_session_set_input(tn_session *session, int32_t index, const tn_tensor *tensor,
                                      tn_diag *diag);
/* Optional: where output `index` shall be written. Borrowed; its bytes must suffice. NULL takes it
 * back. It may be the memory of an input, which holds the output after the run: where one step
 * alone reads the input and its kernel can work in place (on a cache of keys and values, say),
 * nothing is copied. After a run that failed, such memory may hold anything. */
TN_API tn_status tn_session_set_output(tn_session *session, int32_t index, const tn_tensor *tensor,
                                       tn_diag *diag);
/* An input or an output in a buffer on a device, for the runs to come, until it is bound or set
 * again: nothing is copied between the host and there, and what one run leaves in a buffer another
 * one may take as its input. type: of the input; its data is not read. offset: of the first
 * element; a multiple of 16 and of the device's alignment. Bytes up to the next multiple of 16
 * behind an output may change. An output may lie on an input, in whole or in part; it holds the
 * output then after the run. After a run tn_session_output() answers its type, with data NULL. What
 * the CPU or another device needs of an input is copied before each run, and an output that is made
 * elsewhere behind it. buffer NULL: not bound, as by tn_session_set_input. The session keeps the
 * buffer until then. TN_ERR_INVALID: the buffer is of another model, or the offset is none;
 * TN_ERR_SHAPE: it does not hold the value, which for outputs the run says. */
TN_API tn_status tn_session_bind_input(tn_session *session, int32_t index, const tn_tensor *type,
                                       tn_device_buffer *buffer, uint64_t offset, tn_diag *diag);
TN_API tn_status tn_session_bind_output(tn_session *session, int32_t index,
                                        tn_device_buffer *buffer, uint64_t offset, tn_diag *diag);
/* Runs. The first run of a set of input shapes plans (and allocates); later ones allocate
 * nothing. */
TN_API tn_status tn_session_run(tn_session *session, tn_diag *diag);
/* Asks the run that is on its way to stop: from any thread, or a signal handler. It answers
 * TN_ERR_CANCELLED as soon as the kernels that are running have returned; loops stop between two
 * iterations. Outputs may hold anything then, and the session can run again. If none is on its way,
 * the next one is not stopped. Do not call it beside tn_session_destroy. */
TN_API void tn_session_cancel(tn_session *session);
/* What output `index` will be for the inputs that the session was prepared for (tn_session_prepare
 * or a run), so that memory for it can be made before it runs. What only a run can tell is
 * TN_DIM_UNKNOWN, TN_RANK_UNKNOWN or TN_NONE. TN_ERR_STATE: it is not prepared. */
TN_API tn_status tn_session_output_type(const tn_session *session, int32_t index,
                                        tn_tensor *out_type);
/* Output of the last run (its type if it is bound to a buffer on a device); lives until the next
 * run or destroy. NULL if the last run failed or there is no such output. */
TN_API const tn_tensor *tn_session_output(const tn_session *session, int32_t index);

/* State `index` as the last run has left it, or as it is before the first one; lives until the next
 * run, set, reset or destroy. After a run that failed or was cancelled, states hold anything:
 * tn_session_reset. NULL: there is no such state; or the device that it was on is lost; or a
 * session that shares it is running. */
TN_API const tn_tensor *tn_session_state(const tn_session *session, int32_t index);
/* Copies the tensor into the state. */
TN_API tn_status tn_session_set_state(tn_session *session, int32_t index, const tn_tensor *tensor,
                                      tn_diag *diag);
/* All states become what they are before the first run. */
TN_API tn_status tn_session_reset(tn_session *session);
/* From now on the session has its states in common with another one, by their names: that of
 * another entry of the same file, say. What it had in them is lost. States that the other one does
 * not have join those in common. One run at a time: TN_ERR_STATE from a run beside another one.
 * TN_ERR_SHAPE: two states of one name are of different types. */
TN_API tn_status tn_session_share(tn_session *session, tn_session *with, tn_diag *diag);

/* ---- One operator, without a model file ---- */

enum {
  TN_ARG_CONST = 1 /* the tensor is a constant, like weights in a file: kernels may prepare it */
};

/* One argument of an operator, by its name in the schema. Either `tensor` is set, for an input or
 * an attribute of type Tensor, or `text`, for any other attribute: a value as schemas write
 * defaults (2, 0.5, True, [1, 1], "text", f32); quotes of strings and brackets of lists may be left
 * out. Several of one name are the items of a list in order; an input with neither is left out.
 * Everything is borrowed for the call only. This struct never grows. */
typedef struct tn_op_arg {
  const char *name;
  const tn_tensor *tensor;
  const char *text;
  uint32_t flags; /* TN_ARG_... */
  uint32_t reserved;
} tn_op_arg;

/* Computes one operator once: out_values[k] = output k of op(args), for k < n_outputs.
 *   tn_tensor x = tn_tensor_make(TN_F32, 2, (int64_t[]){1, 3}, data), *y;
 *   tn_op_arg args[] = {{.name = "input", .tensor = &x}, {.name = "axis", .text = "1"}};
 *   if (!tn_op_run(runtime, "Softmax", 0, args, 2, &y, 1, diag)) use(y->data);
 *   tn_value_destroy(y);
 * op: "Softmax" (ONNX) or "com.acme::Foo". version: of its domain's operator set; 0: the newest.
 * The values are the caller's: tn_value_destroy; on failure all are NULL. Any thread. It plans anew
 * with every call: to compute many times, keep a session of tn_model_from_op.
 * Errors: TN_ERR_UNSUPPORTED: no such operator or version, or no kernel takes it; TN_ERR_INVALID:
 * arguments do not fit the schema, which a note in diag shows, or the operator refuses an
 * attribute; TN_ERR_SHAPE: it refuses the shapes. */
TN_API tn_status tn_op_run(tn_runtime *runtime, const char *op, int32_t version,
                           const tn_op_arg *args, uint32_t n_args, tn_tensor **out_values,
                           uint32_t n_outputs, tn_diag *diag);
/* A model of one node. Its inputs are the tensors given for inputs of the operator that are no
 * constants, in the order of the schema and of these types (data is not read); item k of a list is
 * named "<name>.<k>". Its outputs are the first n_outputs of the node (0: all that are not
 * optional), named as in the schema. Sessions feed and run it like any other model. The rest is as
 * for tn_op_run; constants are copied. On failure *out_model is NULL. */
TN_API tn_status tn_model_from_op(tn_runtime *runtime, const char *op, int32_t version,
                                  const tn_op_arg *args, uint32_t n_args, uint32_t n_outputs,
                                  const tn_model_options *options, tn_diag *diag,
                                  tn_model **out_model);

/* ---- What a plan holds: for explain, bench and profile ---- */

typedef struct tn_step_info {
  tn_head head;
  const char *node, *op, *kernel; /* strings live as long as the session's plan */
  const char *device;
  const char *plugin; /* which plug-in the kernel comes from */
  uint32_t n_inputs, n_outputs;
  const tn_tensor *const *inputs, *const *outputs; /* dtype, shape, layout; data not to be used */
  double cost_ns, flops;
  uint64_t scratch_bytes, state_bytes;
  uint32_t n_stages, n_refusals;
  const char *const *refused_kernels,
      *const *refusals;        /* candidates that were not taken, and why, in words */
  const char *const *epilogue; /* fused operators, in order */
  uint32_t n_epilogue,
      depth;      /* depth > 0: inside a subgraph or later part of a plan that is cut at run time */
  int32_t leader; /* step on whose ranges this one runs, each right after it is written; -1: none.
                     Its time is part of the leader's. */
  int32_t segment;       /* of the plan, that it is submitted with; -1: it runs on the CPU */
  uint32_t island_nodes; /* of the model that a compiled module computes in this step; 0: none is,
                            `device` is no accelerator */
  uint32_t reserved;
  /* Of a transfer: what a run copies to the device, or from there. 0: it lies there already, in a
   * buffer of the caller's or as a state. */
  uint64_t up_bytes, down_bytes;
} tn_step_info;

typedef struct tn_plan_info {
  tn_head head;
  int32_t n_steps;
  uint32_t n_devices;         /* with kernels that the model may use, the CPU not counted */
  uint64_t arena_bytes;       /* activations */
  uint64_t arena_bound_bytes; /* largest sum of values alive at once */
  uint64_t scratch_bytes, state_bytes, const_bytes;
  double cost_ns, flops;
  /* Of devices: recordings that a run submits, places where it waits for them, bytes that it copies
   * there and back, memory for values, for constants and prepared states. */
  uint32_t n_segments, n_waits;
  uint64_t up_bytes, down_bytes, device_bytes, device_const_bytes;
  /* Programs of these devices since they were opened: built, and taken from the cache. */
  uint32_t n_programs_built, n_programs_cached;
} tn_plan_info;

/* Plans for the inputs that are set, without running. */
TN_API tn_status tn_session_prepare(tn_session *session, tn_diag *diag);
/* Valid after tn_session_prepare or tn_session_run, until the next of either. */
TN_API tn_status tn_session_plan(const tn_session *session, tn_plan_info *out_info);
TN_API tn_status tn_session_step(const tn_session *session, int32_t index, tn_step_info *out_info);

/* Profiling: on(1) records every step of the runs to come; events are read or written as a Chrome
 * trace (JSON). */
typedef struct tn_profile_event {
  tn_head head;
  int32_t step; /* -1: of a plan that is gone */
  uint32_t run;
  uint64_t begin_ns, end_ns;
  const char *node, *op, *kernel;
  const char *const *followers; /* operators of steps that ran on its ranges, in its time */
  uint32_t n_followers, reserved;
} tn_profile_event;
TN_API tn_status tn_session_profile(tn_session *session, int32_t on);
TN_API int64_t tn_session_n_events(const tn_session *session);
TN_API tn_status tn_session_event(const tn_session *session, int64_t index,
                                  tn_profile_event *out_event);

#ifdef __cplusplus
}
#endif
#endif
