/* Elements of large constants in rewrites and lowerings.
 *
 * The host keeps weights in memory only while somebody reads them. prepare, run and reference find
 * them there. A rewrite or lowering that ships with Tenon asks for them first, so that the many
 * that look at a type only do not bring all weights of a model into memory. Callbacks of plug-ins
 * find them there at all times, unless init() asks for the extension: theirs then ask, too, also
 * infer, flops, refuse and plan. Constants of less than 64 KB, and those that are no floats, are
 * always there. */
#ifndef TN_KIT_FETCH_H
#define TN_KIT_FETCH_H

#include "tenon/plugin.h"

#define TN_FETCH_EXTENSION "tenon.fetch.v0"

typedef struct tn_fetch_extension {
  tn_head head;
  tn_status (*fetch)(void *ctx, const tn_graph *graph, int32_t value);
} tn_fetch_extension;

/* The elements of the value, if it is a constant, are in memory until the callback returns. */
static inline tn_status tn_fetch_elements(const tn_call *call, const tn_graph *graph,
                                          int32_t value) {
  const tn_fetch_extension *e =
      call->host->get_extension ? call->host->get_extension(call->ctx, TN_FETCH_EXTENSION) : NULL;
  return e ? e->fetch(call->ctx, graph, value) : TN_OK;
}

#endif
