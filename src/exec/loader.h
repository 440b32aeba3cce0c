/* Loading a model: what its reader is served from. load.c; siblings.c opens files next to it,
 * read_as.c hands parts of it to other readers. */
#ifndef TN_EXEC_LOADER_H
#define TN_EXEC_LOADER_H

#include "exec/model.h"

#define TN_WITHOUT_EXTERNAL_DATA                                                               \
  "external data: weights in files next to the model, which this program was linked without; " \
  "to have them: tenon select MODEL"

typedef struct tn_sibling {
  const char *path;
  tn_mapping file;
} tn_sibling;

/* The ctx of a reader's tn_source. */
typedef struct tn_loader {
  tn_io io;
  tn_model *model;
  const char *dir; /* where siblings are; NULL: nowhere */
  tn_graph *graph;
  bool is_lazy;      /* the reader reads no elements that it has handed over */
  const char *entry; /* that is wanted; NULL: the main one */
  uint32_t source_flags;
  int32_t depth; /* of parts in other formats */
  tn_arena arena;
  TN_VEC(tn_sibling) siblings; /* mapped once each; the mappings belong to the model */
} tn_loader;

/* Maps a file and gives the mapping to the model. */
tn_status tn_loader_map(tn_model *m, const char *path, bool is_sibling, tn_diag *diag,
                        tn_mapping *out);
/* Constants may be fetched from there when they are needed, unless the reader might look at them
 * again: what that reads stays in memory. */
tn_status tn_loader_note(tn_loader *l, const tn_mapping *file, bool is_mapped);
/* The host of readers, whose ctx is a loader: tn_io_host with extensions. */
extern const tn_host tn_reader_host;
const void *tn_reader_extension(void *ctx, const char *name);
/* open_sibling of tn_source. */
tn_status tn_open_sibling(void *ctx, const char *path, const uint8_t **out_data,
                          uint64_t *out_size);

#endif
