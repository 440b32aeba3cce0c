/* What the files of islands offer each other. An island is a part of LiteRT's graph that Tenon
 * runs: it is written as a TFLite file in memory (file.c), which Tenon reads as any other. */
#ifndef ISLAND_H
#define ISLAND_H

#include "flat.h"
#include "litert.h"

enum { WHY_BYTES = 1000 };

/* A node as LiteRT shows it while a delegate is applied; the pointers are the host's. */
typedef struct host_node {
  int index;
  const lrt_node *node;
  const lrt_registration *op;
} host_node;

/* options.c: can the options of this builtin operator be written? The custom ones can. */
bool options_known(int32_t code, const void *options);
/* Writes them as a table in `field` of the table `operator`, if it has any. */
void options_write(flat *f, size_t operator, uint32_t field, int32_t code, const void *options);

/* file.c: types of elements, LiteRT's numbers. TN_NONE: Tenon does not take them as values. */
uint32_t type_dtype(int type);
int type_in_file(int type); /* the number in files; -1: there is none */

/* Nodes as a file: its inputs are the values that they use and that are neither constants nor made
 * by them. Lists of places of tensors are allocated, and the caller's; shapes: where the dims of
 * each input stand in the file. False: there is no memory, or it is larger than 2 GB. */
typedef struct island_file {
  flat file;
  int *inputs, *outputs; /* tensors of the host */
  size_t *shapes;
  int n_inputs, n_outputs;
} island_file;
bool file_write(const lrt_context *context, const host_node *nodes, int n, const lrt_ints *outputs,
                island_file *out);
void file_free(island_file *file);
bool file_is_constant(const lrt_tensor *t);

/* island.c. Functions write to why what is wrong; an island is used by one thread at a time. */
typedef struct island island;
/* NULL: Tenon does not run these nodes. outputs: the tensors that others need. */
island *island_make(tn_runtime *runtime, const lrt_context *context, const host_node *nodes, int n,
                    const lrt_ints *outputs, char *why);
void island_free(island *i);
/* Is it made of these nodes? */
bool island_is_of(const island *i, const lrt_ints *nodes);
/* Brings outputs' dims to LiteRT, before it plans its memory; then runs, as often as wanted. */
bool island_prepare(island *i, lrt_context *context, char *why);
bool island_run(island *i, lrt_context *context, char *why);
/* A tensor of LiteRT as one of Tenon, of at most TN_MAX_RANK dims. */
tn_tensor island_view(const lrt_tensor *t);

#endif
