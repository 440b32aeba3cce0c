/* Fetching constants: those that stand in a file are in memory while somebody reads them. A lazy
 * constant, which does not lie there as its type has to be aligned, is copied then; one that is
 * used where it lies is there by itself, and its pages are forgotten when the last reader is
 * done. */
#include "base/pages.h"
#include "graph/graph.h"

static tn_status convert(tn_const *c) {
  if (!tn_pages_open(c->data, c->bytes)) return TN_ERR_MEMORY;
  const tn_status status = tn_const_fetch(c->origin);
  if (status) {
    tn_pages_empty(c->data, c->bytes);
    return status;
  }
  const uint64_t each = c->dtype == TN_F32 ? sizeof(float) : sizeof(uint16_t);
  tn_const_convert(c->origin, c->origin_dtype, c->dtype, c->data, (int64_t)(c->bytes / each));
  tn_const_drop(c->origin);
  return TN_OK;
}

static tn_status fill(tn_const *c) {
  if (c->origin) return convert(c);
  if (c->scaling) {
    if (!tn_pages_open(c->data, c->bytes)) return TN_ERR_MEMORY;
    tn_const_read(c, c->data);
    return TN_OK;
  }
  return tn_pages_fill(c->data, c->source, c->bytes, c->is_mapped) ? TN_OK : TN_ERR_MEMORY;
}

/* Under the lock. */
static tn_status add_reader(tn_const *c) {
  if (!c->n_readers && c->is_lazy) {
    const tn_status status = fill(c);
    if (status) return status;
  }
  c->n_readers++;
  return TN_OK;
}

tn_status tn_const_fetch(tn_const *c) {
  if (!c || !c->source) return TN_OK;
  pthread_mutex_lock(&c->lock);
  const tn_status status = add_reader(c);
  pthread_mutex_unlock(&c->lock);
  return status;
}

void tn_const_drop(tn_const *c) {
  if (!c || !c->source) return;
  pthread_mutex_lock(&c->lock);
  if (--c->n_readers == 0) {
    if (c->is_lazy)
      tn_pages_empty(c->data, c->bytes);
    else if (c->is_mapped)
      tn_pages_forget(c->data, c->bytes);
  }
  pthread_mutex_unlock(&c->lock);
}

tn_status tn_const_show(tn_const *c) {
  if (!c || !c->source) return TN_OK;
  pthread_mutex_lock(&c->lock);
  const tn_status status = c->is_kept ? TN_OK : add_reader(c);
  c->is_kept = c->is_kept || !status;
  pthread_mutex_unlock(&c->lock);
  return status;
}

/* ---- all constants of a graph ---- */

typedef struct walk {
  int64_t n, limit; /* constants seen; how many there are to be */
  bool drops;
} walk;

static tn_status walk_graph(const tn_graph *g, walk *w) {
  tn_status status = TN_OK;
  for (int64_t k = 0; k < g->values.n && !status && w->n < w->limit; k++) {
    tn_const *c = g->values.data[k].constant;
    if (!c) continue;
    if (w->drops)
      tn_const_drop(c);
    else
      status = tn_const_fetch(c);
    if (!status) w->n++;
  }
  for (int64_t k = 0; k < g->subgraphs.n && !status; k++)
    status = walk_graph(g->subgraphs.data[k], w);
  for (int64_t k = 0; k < g->functions.n && !status; k++)
    status = walk_graph(g->functions.data[k].body, w);
  return status;
}

tn_status tn_graph_fetch(const tn_graph *g) {
  walk w = {.limit = INT64_MAX};
  const tn_status status = walk_graph(g, &w);
  if (!status) return TN_OK;
  walk back = {.limit = w.n, .drops = true};
  (void)walk_graph(g, &back);
  return status;
}

void tn_graph_drop(const tn_graph *g) {
  walk w = {.limit = INT64_MAX, .drops = true};
  (void)walk_graph(g, &w);
}
