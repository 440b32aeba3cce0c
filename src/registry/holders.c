/* Who keeps which plug-in: models with their plans and sessions, and plug-ins whose kernels were
 * checked against the operators of others. One lock guards it all; it is taken when a part of a
 * plug-in comes into use for the first time, never by a run. */
#include <errno.h>
#include <time.h>

#include "base/cpu.h"
#include "base/text.h"
#include "registry/internal.h"

tn_status tn_holders_open(tn_registry *r) {
  pthread_condattr_t monotonic;
  if (pthread_condattr_init(&monotonic)) return TN_ERR_MEMORY;
  int failed = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  if (!failed) failed = pthread_cond_init(&r->let_go, &monotonic);
  if (!failed && (failed = pthread_mutex_init(&r->uses, NULL))) pthread_cond_destroy(&r->let_go);
  pthread_condattr_destroy(&monotonic);
  return failed ? TN_ERR_MEMORY : TN_OK;
}

void tn_holders_close(tn_registry *r) {
  pthread_mutex_destroy(&r->uses);
  pthread_cond_destroy(&r->let_go);
}

/* ---- holding ---- */

void tn_holder_open(tn_holder *h, tn_registry *r, const char *name) {
  *h = (tn_holder){.registry = r, .name = name};
  pthread_mutex_lock(&r->uses);
  h->next = r->holders;
  if (h->next) h->next->before = h;
  r->holders = h;
  pthread_mutex_unlock(&r->uses);
}

/* Under the lock. */
static void note_let_go(tn_registry *r) {
  r->n_let_go++;
  pthread_cond_broadcast(&r->let_go);
}

void tn_holder_close(tn_holder *h) {
  tn_registry *r = h->registry;
  if (!r) return;
  pthread_mutex_lock(&r->uses);
  for (int64_t k = 0; k < h->owners.n; k++) tn_plug_of(h->owners.data[k])->n_users--;
  if (h->before)
    h->before->next = h->next;
  else
    r->holders = h->next;
  if (h->next) h->next->before = h->before;
  note_let_go(r);
  pthread_mutex_unlock(&r->uses);
  tn_vec_free(r->a, &h->owners);
  h->registry = NULL;
}

static bool holds(const tn_holder *h, const tn_part_owner *owner) {
  for (int64_t k = 0; k < h->owners.n; k++)
    if (h->owners.data[k] == owner) return true;
  return false;
}

tn_status tn_holder_use(tn_holder *h, const tn_part_owner *owner) {
  if (!h || !owner || owner->is_builtin) return TN_OK;
  tn_plug *plug = tn_plug_of(owner);
  tn_status status = TN_OK;
  pthread_mutex_lock(&h->registry->uses);
  if (!holds(h, owner)) {
    status = plug->closing ? TN_ERR_STATE : tn_vec_push(h->registry->a, &h->owners, &plug->owner);
    if (!status) plug->n_users++;
    if (status == TN_ERR_STATE) atomic_fetch_add(&h->n_late, 1);
  }
  pthread_mutex_unlock(&h->registry->uses);
  return status;
}

void tn_plug_hold_needs(tn_registry *r, tn_plug *plug) {
  pthread_mutex_lock(&r->uses);
  for (int64_t k = 0; k < plug->needs.n; k++) plug->needs.data[k]->n_users++;
  pthread_mutex_unlock(&r->uses);
}

void tn_plug_drop_needs(tn_registry *r, tn_plug *plug) {
  pthread_mutex_lock(&r->uses);
  for (int64_t k = 0; k < plug->needs.n; k++) plug->needs.data[k]->n_users--;
  note_let_go(r);
  pthread_mutex_unlock(&r->uses);
  plug->needs.n = 0;
}

/* ---- closing ---- */

static bool needs(const tn_plug *plug, const tn_plug *other) {
  for (int64_t k = 0; k < plug->needs.n; k++)
    if (plug->needs.data[k] == other) return true;
  return false;
}

static void add_holder(tn_text *text, const tn_holder *h, const char *between) {
  const int n = atomic_load(&((tn_holder *)(uintptr_t)h)->n_sessions);
  tn_text_add(text, "%s%s", between, h->name);
  if (n) tn_text_add(text, " and %d session%s", n, n == 1 ? "" : "s");
}

/* "model 'x.onnx' and 2 sessions; plug-in 'b', which needs its operators" */
static void name_users(const tn_registry *r, const tn_plug *plug, tn_text *text) {
  const char *between = "";
  for (const tn_holder *h = r->holders; h; h = h->next) {
    if (!holds(h, &plug->owner)) continue;
    add_holder(text, h, between);
    between = "; ";
  }
  for (int64_t k = 0; k < r->plugs.n; k++) {
    const tn_plug *other = r->plugs.data[k];
    if (other->info.refused || !needs(other, plug)) continue;
    tn_text_add(text, "%splug-in '%s', which needs its operators", between, other->info.name);
    between = "; ";
  }
}

bool tn_plug_close(tn_registry *r, tn_plug *plug, uint64_t *out_seen, tn_diag *diag) {
  tn_text users;
  tn_text_init(&users, r->a);
  pthread_mutex_lock(&r->uses);
  const bool free = plug->n_users == 0;
  plug->closing = free;
  *out_seen = r->n_let_go;
  if (!free) name_users(r, plug, &users);
  pthread_mutex_unlock(&r->uses);
  if (!free)
    tn_fail(diag, TN_ERR_STATE, "plug-in '%s' is in use by %s", plug->info.name,
            users.status ? "others" : tn_text_get(&users));
  tn_text_free(&users);
  return free;
}

void tn_plug_reopen(tn_registry *r, tn_plug *plug) {
  pthread_mutex_lock(&r->uses);
  plug->closing = false;
  pthread_mutex_unlock(&r->uses);
}

bool tn_holders_wait(tn_registry *r, uint64_t seen, uint64_t until_ns) {
  const struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
  int failed = 0;
  pthread_mutex_lock(&r->uses);
  while (r->n_let_go == seen && !failed)
    failed = pthread_cond_timedwait(&r->let_go, &r->uses, &until);
  const bool changed = r->n_let_go != seen;
  pthread_mutex_unlock(&r->uses);
  return changed;
}
