/* What the files of a model share: making one from a graph, and talking with readers and writers
 * of formats. */
#ifndef TN_EXEC_MODEL_H
#define TN_EXEC_MODEL_H

#include "base/file.h"
#include "exec/exec.h"

typedef struct tn_model_file {
  tn_mapping file;
  bool is_sibling; /* a file of weights that the model's file names */
} tn_model_file;

/* A model without a graph. name: how users of plug-ins are told of it, "model 'x.onnx'". path: of
 * its file; NULL: it has none. options: NULL, or as the user gave them. */
tn_status tn_model_new(tn_runtime *runtime, const char *name, const char *path,
                       const tn_model_options *options, tn_diag *diag, tn_model **out_model);
/* Takes over the graph in any case: resolves, checks and prepares it. */
tn_status tn_model_finish_take(tn_model *m, tn_graph *graph, tn_diag *diag);

/* Fills in *out_type, whose head need not be set, without data; NULL: there is no such type. */
tn_status tn_type_give(const tn_tensor *type, tn_tensor *out_type);

/* devices.c: opens what the options name; closing takes them back, plans are gone by then. */
tn_status tn_model_open_devices(tn_model *m, const tn_model_options *o, const char *path,
                                tn_diag *diag);
void tn_model_close_devices(tn_model *m);

/* accelerators.c. modules: as the options say; path: of the model; both may be NULL. A file that is
 * broken is an error where the policy forbids that others do its work. */
tn_status tn_model_read_modules(tn_model *m, const char *modules, const char *path, tn_diag *diag);
/* Is it the name of a target, of a compiler, or what modules were made for? */
bool tn_model_is_accelerator(const tn_model *m, const char *name);
tn_status tn_model_add_accelerator(tn_model *m, const char *name, tn_diag *diag);
void tn_model_close_accelerators(tn_model *m);

/* The ctx of tn_io_host: whom a reader or writer talks to. First member of longer structs. */
typedef struct tn_io {
  const tn_allocator *a;
  tn_diag *diag;
  const char *path;      /* goes before every message */
  bool said;             /* a message was given */
  int64_t first;         /* how many messages there were before */
  const char *complaint; /* of the graph that is being read; NULL: none */
  uint64_t refused;      /* bytes of the last block of memory that could not be had */
} tn_io;
extern const tn_host tn_io_host; /* fail, alloc, free, graph: all that formats need */

/* Turns what a format's callback answered into a status of the closed list; says something if it
 * did not. Errors that it told and recovered from become notes. */
tn_status tn_io_status(tn_io *io, const tn_format *format, tn_status status);

#endif
