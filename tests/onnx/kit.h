/* What the tests of the ONNX format share: a host that collects messages, reading from memory and
 * files, and a text that says everything a graph holds, to compare graphs by. */
#ifndef TN_TESTS_ONNX_KIT_H
#define TN_TESTS_ONNX_KIT_H

#include "base/base.h"
#include "base/file.h"
#include "graph/graph.h"

extern const tn_format onnx_format;

typedef struct kit {
  tn_host host;
  const tn_format *format;  /* that reads and writes; onnx_format */
  tn_text messages;         /* what fail() was told, a line each */
  tn_text warnings;         /* the same of log() */
  const char *dir;          /* where files next to the model are; NULL: nowhere */
  tn_mapping sibling;       /* the last one that was opened: one file per model is enough here */
  int64_t n_blocks, n_live; /* allocations through the host: ever, and not freed yet */
  int64_t fail_at;          /* the allocation with this number fails; 0: none */
  tn_text *out_file;        /* what the sink appends to */
  tn_text *out_data;        /* the same of the second file; NULL: only counted */
  int64_t n_data;           /* bytes of the second file */
} kit;

void kit_init(kit *k);
void kit_free(kit *k);

/* Reads a model into a new graph; NULL, and the messages say why, if it cannot be read. data must
 * outlive the graph. */
tn_graph *kit_read(kit *k, const void *data, uint64_t size, tn_status *out_status);
/* Writes the graph; text holds the file's bytes afterwards. */
tn_status kit_write(kit *k, const tn_graph *g, tn_text *out_file);
tn_source kit_source(kit *k, const void *data, uint64_t size);
tn_sink kit_sink(kit *k, tn_text *out_file);
/* One with a second file, weights.bin, that takes tensors of data_from bytes on. */
tn_sink kit_data_sink(kit *k, tn_text *out_file, uint64_t data_from);
/* Everything a graph holds, in text. */
void kit_dump(tn_graph *g, tn_text *out);
/* A tensor or type in text, constants with the CRC-32 of their elements. */
void kit_dump_tensor(const tn_tensor *t, tn_text *out);
/* All bytes of a file in the arena; NULL if it cannot be read. */
uint8_t *kit_load(tn_arena *arena, const char *path, uint64_t *out_size);
/* Folder of test data ("onnx-node" ...); false if it is not there. */
bool kit_testdata(const char *name, char *out_path, size_t size);

#endif
