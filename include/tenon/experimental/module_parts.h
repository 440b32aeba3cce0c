/* Modules of accelerators, the part of them that is alike everywhere: entries with the types of
 * their ports, and modules that hold one piece of bytes for each part of a graph. For compilers and
 * dispatchers of plug-ins; EXPERIMENTAL like accelerator.h. */
#ifndef TENON_EXPERIMENTAL_MODULE_PARTS_H
#define TENON_EXPERIMENTAL_MODULE_PARTS_H

#include "tenon/accelerator.h"
#include "tenon/graph.h"
#include "tenon/kit/linkage.h"

/* What a part became. */
typedef struct tn_piece {
  void *data; /* memory of host->alloc */
  uint64_t size;
} tn_piece;

/* A module for tn_compiler.compile to answer, with target and alignment 64: an entry for each part,
 * whose ports are those of the part, and `size` bytes of data, for the caller to fill in. stamp: is
 * copied; NULL: none. NULL: no memory. */
TN_KIT_FN tn_module *tn_module_new(const tn_accelerator_call *call, const tn_graph *const *parts,
                                   uint32_t n_parts, const char *format, const char *stamp,
                                   uint64_t size);
/* The bytes of a module of tn_module_new. */
static inline uint8_t *tn_module_bytes(tn_module *m) { return (uint8_t *)(uintptr_t)m->data; }
/* For tn_compiler.release. */
TN_KIT_FN void tn_module_free(const tn_accelerator_call *call, const tn_module *module);

/* Makes a piece of a part. What it leaves in out->data is freed, also if it fails. state: what
 * tn_module_of_pieces got. */
typedef tn_status (*tn_piece_maker)(const tn_accelerator_call *call, const void *state,
                                    const tn_graph *part, tn_piece *out);

/* For tn_compiler.compile: a module of tn_module_new that holds what `make` makes of each part. */
TN_KIT_FN tn_status tn_module_of_pieces(const tn_accelerator_call *call,
                                        const tn_graph *const *parts, uint32_t n_parts,
                                        const char *format, const char *stamp, tn_piece_maker make,
                                        const void *state, const tn_module **out_module);
/* A part as ONNX. TN_ERR_UNSUPPORTED: the host does not write it. */
TN_KIT_FN tn_status tn_piece_onnx(const tn_accelerator_call *call, const tn_graph *part,
                                  tn_piece *out);
/* Piece k of a module of tn_module_of_pieces, at a multiple of 64 bytes of it. NULL, or what is
 * wrong with the module: a literal. */
TN_KIT_FN const char *tn_module_piece(const tn_module *module, uint32_t k, const void **out_data,
                                      uint64_t *out_size);

#if defined(TN_KIT_BODIES)

#include <string.h>

/* ---- making ---- */

typedef struct tn_module_memory {
  tn_module module; /* first */
  tn_entry *entries;
  const tn_entry **list;
  const tn_tensor **ports;
  char *stamp;
  void *data;
} tn_module_memory;

TN_KIT_FN void tn_module_free(const tn_accelerator_call *call, const tn_module *module) {
  tn_module_memory *m = (tn_module_memory *)(uintptr_t)module;
  if (!m) return;
  void *const all[] = {m->entries, (void *)m->list, (void *)m->ports, m->stamp, m->data, m};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) call->host->free(call->ctx, all[k]);
}

static void tn_module_fill_entries(tn_module_memory *m, const tn_graph_api *api,
                                   const tn_graph *const *parts, uint32_t n_parts) {
  const tn_tensor **port = m->ports;
  for (uint32_t k = 0; k < n_parts; k++) {
    const tn_graph *g = parts[k];
    tn_entry *e = &m->entries[k];
    const tn_entry none = TN_KIT_ZERO;
    *e = none;
    e->head = (tn_head)TN_HEAD(tn_entry);
    e->name = "part";
    e->n_inputs = (uint32_t)api->n_inputs(g);
    e->n_outputs = (uint32_t)api->n_outputs(g);
    e->inputs = port;
    for (int32_t i = 0; i < api->n_inputs(g); i++) *port++ = api->value_type(g, api->input(g, i));
    e->outputs = port;
    for (int32_t i = 0; i < api->n_outputs(g); i++) *port++ = api->value_type(g, api->output(g, i));
    m->list[k] = e;
  }
}

TN_KIT_FN tn_module *tn_module_new(const tn_accelerator_call *call, const tn_graph *const *parts,
                                   uint32_t n_parts, const char *format, const char *stamp,
                                   uint64_t size) {
  const tn_host *host = call->host;
  tn_module_memory *m = (tn_module_memory *)host->alloc(call->ctx, sizeof *m);
  uint64_t n_ports = 1;
  for (uint32_t k = 0; k < n_parts; k++)
    n_ports +=
        (uint64_t)host->graph->n_inputs(parts[k]) + (uint64_t)host->graph->n_outputs(parts[k]);
  if (!m) return NULL;
  m->entries = (tn_entry *)host->alloc(call->ctx, n_parts * sizeof *m->entries);
  m->list = (const tn_entry **)host->alloc(call->ctx, n_parts * sizeof *m->list);
  m->ports = (const tn_tensor **)host->alloc(call->ctx, n_ports * sizeof *m->ports);
  m->stamp = (char *)host->alloc(call->ctx, strlen(stamp ? stamp : "") + 1);
  m->data = host->alloc(call->ctx, size + 1);
  if (!m->entries || !m->list || !m->ports || !m->stamp || !m->data) {
    tn_module_free(call, &m->module);
    return NULL;
  }
  tn_module_fill_entries(m, host->graph, parts, n_parts);
  if (stamp) memcpy(m->stamp, stamp, strlen(stamp));
  const tn_module none = TN_KIT_ZERO;
  m->module = none;
  m->module.head = (tn_head)TN_HEAD(tn_module);
  m->module.format = format;
  m->module.stamp = stamp ? m->stamp : NULL;
  m->module.target = call->target;
  m->module.data = m->data;
  m->module.size = size;
  m->module.alignment = 64;
  m->module.entries = m->list;
  m->module.n_entries = n_parts;
  return &m->module;
}

/* ---- pieces: number, then offset and size of each, in little-endian order; then they ---- */

enum { TN_PIECE_ALIGNMENT = 64, TN_PIECE_WORD = 8 };

static inline void tn_piece_put(uint8_t *at, uint64_t value) {
  for (int k = 0; k < TN_PIECE_WORD; k++) at[k] = (uint8_t)(value >> (8 * k));
}

static inline uint64_t tn_piece_get(const uint8_t *at) {
  uint64_t value = 0;
  for (int k = 0; k < TN_PIECE_WORD; k++) value |= (uint64_t)at[k] << (8 * k);
  return value;
}

static inline uint64_t tn_piece_align(uint64_t offset) {
  return (offset + TN_PIECE_ALIGNMENT - 1) / TN_PIECE_ALIGNMENT * TN_PIECE_ALIGNMENT;
}

static void tn_module_fill_pieces(uint8_t *to, const tn_piece *pieces, uint32_t n) {
  uint64_t at = tn_piece_align((1 + 2 * (uint64_t)n) * TN_PIECE_WORD);
  tn_piece_put(to, n);
  for (uint32_t k = 0; k < n; k++) {
    tn_piece_put(to + (1 + 2 * (uint64_t)k) * TN_PIECE_WORD, at);
    tn_piece_put(to + (2 + 2 * (uint64_t)k) * TN_PIECE_WORD, pieces[k].size);
    if (pieces[k].size) memcpy(to + at, pieces[k].data, (size_t)pieces[k].size);
    at = tn_piece_align(at + pieces[k].size);
  }
}

/* NULL: no memory. */
static tn_module *tn_module_join(const tn_accelerator_call *call, const tn_graph *const *parts,
                                 uint32_t n_parts, const char *format, const char *stamp,
                                 const tn_piece *pieces) {
  uint64_t size = tn_piece_align((1 + 2 * (uint64_t)n_parts) * TN_PIECE_WORD);
  for (uint32_t k = 0; k < n_parts; k++) size = tn_piece_align(size + pieces[k].size);
  tn_module *m = tn_module_new(call, parts, n_parts, format, stamp, size);
  if (m) {
    memset(tn_module_bytes(m), 0, (size_t)size);
    tn_module_fill_pieces(tn_module_bytes(m), pieces, n_parts);
  }
  return m;
}

TN_KIT_FN tn_status tn_module_of_pieces(const tn_accelerator_call *call,
                                        const tn_graph *const *parts, uint32_t n_parts,
                                        const char *format, const char *stamp, tn_piece_maker make,
                                        const void *state, const tn_module **out_module) {
  const tn_host *host = call->host;
  tn_piece *pieces = (tn_piece *)host->alloc(call->ctx, n_parts * sizeof *pieces);
  tn_status s = pieces ? TN_OK : TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_parts && !s; k++) s = make(call, state, parts[k], &pieces[k]);
  *out_module = s ? NULL : tn_module_join(call, parts, n_parts, format, stamp, pieces);
  for (uint32_t k = 0; pieces && k < n_parts; k++) host->free(call->ctx, pieces[k].data);
  host->free(call->ctx, pieces);
  return s || *out_module ? s : TN_ERR_MEMORY;
}

TN_KIT_FN tn_status tn_piece_onnx(const tn_accelerator_call *call, const tn_graph *part,
                                  tn_piece *out) {
  return call->write_graph(call->ctx, part, "onnx", &out->data, &out->size);
}

TN_KIT_FN const char *tn_module_piece(const tn_module *module, uint32_t k, const void **out_data,
                                      uint64_t *out_size) {
  const uint8_t *data = (const uint8_t *)module->data;
  const uint64_t head = (1 + 2 * (uint64_t)module->n_entries) * TN_PIECE_WORD;
  if (module->size < head || tn_piece_get(data) != module->n_entries || k >= module->n_entries)
    return "the module does not hold a piece for each entry";
  const uint64_t at = tn_piece_get(data + (1 + 2 * (uint64_t)k) * TN_PIECE_WORD);
  const uint64_t size = tn_piece_get(data + (2 + 2 * (uint64_t)k) * TN_PIECE_WORD);
  if (at < head || at % TN_PIECE_ALIGNMENT || at > module->size || size > module->size - at)
    return "a piece of the module lies outside it";
  *out_data = data + at;
  *out_size = size;
  return NULL;
}

#endif
#endif
