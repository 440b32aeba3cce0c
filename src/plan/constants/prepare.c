/* Packed weights of steps. Packing weights is most of the work of a first plan, so
 * kernels that ship with Tenon prepare on all threads, the largest states first. Plug-ins are not
 * asked to be ready for that: they prepare one after the other. */
#include <stdlib.h>

#include "plan/constants/packed.h"
#include "plan/memory/arrange.h"

enum { WORTH_THREADS = 1 << 20 }; /* bytes of states */

tn_status tn_arrange_want_packed(tn_arrangement *r, int32_t node, tn_step *step) {
  const tn_want want = {node, step, TN_OK};
  if (!step->choice->plan.state_bytes) return TN_OK;
  tn_note_feature(r->p->features, TN_FEATURE_PACKED_WEIGHTS);
  if (!tn_has_feature(r->p->features, TN_FEATURE_PACKED_WEIGHTS))
    return tn_fail(r->diag, TN_ERR_UNSUPPORTED, TN_WITHOUT_PACKED_WEIGHTS,
                   step->choice->def->kernel.name);
  if (!r->p->states)
    return tn_fail(r->diag, TN_ERR_INTERNAL, "no cache for the packed weights of kernel '%s'",
                   step->choice->def->kernel.name);
  r->plan->state_bytes += step->choice->plan.state_bytes;
  return tn_vec_push(r->p->a, &r->wants, want);
}

static bool is_for_threads(const tn_want *w) {
  return !(w->step->choice->def->kernel.flags & TN_KERNEL_SERIAL);
}

static tn_status get_state(const tn_arrangement *r, const tn_want *w) {
  const tn_gnode *n = tn_graph_node(r->g, w->node);
  tn_call_frame f;
  tn_status status = tn_call_open(&f, r->p, r->g, w->node, r->diag);
  if (status) return status;
  tn_const **consts = tn_arena_alloc(&f.arena, ((uint64_t)n->node.n_inputs + 1) * sizeof *consts);
  if (!consts) status = TN_ERR_MEMORY;
  for (uint32_t k = 0; !status && k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0) consts[k] = tn_graph_val(r->g, n->node.inputs[k])->constant;
  pthread_mutex_t *serial = is_for_threads(w) ? NULL : r->p->serial;
  if (serial) pthread_mutex_lock(serial);
  if (!status)
    status = tn_packed_get(r->p->states, w->step->choice->def, n->def, &f.call, consts,
                           &w->step->choice->plan, r->diag, &w->step->state);
  if (serial) pthread_mutex_unlock(serial);
  tn_call_close(&f);
  return status;
}

/* ---- threads ---- */

typedef struct crew {
  tn_arrangement *r;
  int64_t n; /* the first n wants are for threads */
  _Atomic int64_t next;
} crew;

static void get_states(void *arg, int64_t begin, int64_t end, uint32_t worker) {
  crew *c = arg;
  (void)begin, (void)end, (void)worker;
  for (int64_t k; (k = atomic_fetch_add(&c->next, 1)) < c->n;) {
    tn_want *w = &c->r->wants.data[k];
    w->status = get_state(c->r, w);
  }
}

/* Those for threads first, among them the largest; else as they run. */
static int by_size(const void *a, const void *b) {
  const tn_want *x = a, *y = b;
  const bool x_threads = is_for_threads(x), y_threads = is_for_threads(y);
  const uint64_t x_bytes = x->step->choice->plan.state_bytes,
                 y_bytes = y->step->choice->plan.state_bytes;
  if (x_threads != y_threads) return x_threads ? -1 : 1;
  if (x_threads && x_bytes != y_bytes) return x_bytes > y_bytes ? -1 : 1;
  return (x->node > y->node) - (x->node < y->node);
}

tn_status tn_arrange_prepare(tn_arrangement *r) {
  crew c = {.r = r};
  tn_status status = TN_OK;
  if (!r->wants.n) return TN_OK;
  tn_packed_begin(r->p->states, r->plan->state_bytes, r->wants.n);
  if (r->plan->state_bytes >= WORTH_THREADS) {
    qsort(r->wants.data, (size_t)r->wants.n, sizeof *r->wants.data, by_size);
    while (c.n < r->wants.n && is_for_threads(&r->wants.data[c.n])) c.n++;
    atomic_init(&c.next, 0);
    tn_pool_run(r->p->pool, tn_pool_n_threads(r->p->pool), 1, 1, get_states, &c);
  }
  for (int64_t k = 0; k < r->wants.n && !status; k++) {
    tn_want *w = &r->wants.data[k];
    status = k < c.n ? w->status : get_state(r, w);
  }
  tn_packed_end(r->p->states);
  if (!status) tn_packed_cache_save(r->p->states, false, r->diag);
  return status;
}
