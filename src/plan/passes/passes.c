/* The order of the passes, and what runs them.
 *
 * A graph goes through them twice: once when the model is loaded, for whatever shapes may come, and
 * for every plan, when shapes are known. Before both stand the stages check, and infer with fold,
 * behind them, in plans, arrange: see dynamic/callable.c. */
#include "plan/passes/passes.h"

enum {
  AT_LOAD = 1,   /* once per model or subgraph */
  AT_PLAN = 2,   /* for each plan */
  OPTIMIZES = 4, /* not with TN_MODEL_NO_OPTIMIZE */
  REWRITES = 8,  /* where it has changed the graph, rewrites look again */
  REPEATS = 16,  /* and it after them, up to MAX_ROUNDS times: each may show the other something */
  ALWAYS = AT_LOAD | AT_PLAN
};
enum { MAX_ROUNDS = 4, NEEDED = -1 };

typedef struct tn_pass {
  tn_stage stage;
  const char *name;
  uint32_t flags;
  int feature; /* tn_feature; NEEDED: it is always there */
  tn_status (*run)(const tn_planner *p, tn_graph *g, tn_diag *diag);
  /* In place of run, of a pass that says whether it changed the graph. */
  tn_status (*change)(const tn_planner *p, tn_graph *g, bool last, bool *out_changed,
                      tn_diag *diag);
} tn_pass;

static tn_status promote(const tn_planner *p, tn_graph *g, bool last, bool *out_changed,
                         tn_diag *diag) {
  (void)last;
  return tn_promote_halves(p, g, out_changed, diag);
}

static tn_status move(const tn_planner *p, tn_graph *g, bool last, bool *out_changed,
                      tn_diag *diag) {
  (void)last;
  const tn_status s = tn_move_transposes(p, g, out_changed, diag);
  if (*out_changed) tn_note_feature(p->features, TN_FEATURE_MERGE_REGIONS); /* which it calls */
  return s;
}

static tn_status merge(const tn_planner *p, tn_graph *g, bool last, bool *out_changed,
                       tn_diag *diag) {
  (void)last;
  return tn_merge_regions(p, g, out_changed, diag);
}

static tn_status share(const tn_planner *p, tn_graph *g, bool last, bool *out_changed,
                       tn_diag *diag) {
  (void)last;
  return tn_share_region_prefixes(p, g, out_changed, diag);
}

static const tn_pass passes[] = {
    {TN_STAGE_LOWER, "claim", AT_PLAN, NEEDED, tn_pass_claim, NULL},
    {TN_STAGE_LOWER, "lower", ALWAYS, NEEDED, tn_pass_lower, NULL},
    {TN_STAGE_LOWER, "merge_regions", ALWAYS | OPTIMIZES, TN_FEATURE_MERGE_REGIONS, NULL, merge},
    {TN_STAGE_LOWER, "share_prefixes", ALWAYS | OPTIMIZES, TN_FEATURE_SHARE_PREFIXES, NULL, share},
    {TN_STAGE_FUSE, "rewrite", ALWAYS | OPTIMIZES, NEEDED, tn_pass_rewrite, NULL},
    {TN_STAGE_FUSE, "fold_late", ALWAYS | OPTIMIZES | REWRITES, NEEDED, NULL, tn_fold_late},
    {TN_STAGE_FUSE, "narrow_weights", ALWAYS | OPTIMIZES, NEEDED, tn_narrow_weights, NULL},
    {TN_STAGE_FUSE, "promote_halves", ALWAYS | OPTIMIZES | REWRITES, TN_FEATURE_PROMOTE_HALVES,
     NULL, promote},
    {TN_STAGE_FUSE, "move_transposes", ALWAYS | OPTIMIZES | REWRITES | REPEATS,
     TN_FEATURE_MOVE_TRANSPOSES, NULL, move},
    {TN_STAGE_FUSE, "epilogues", AT_PLAN | OPTIMIZES, NEEDED, tn_pass_epilogues, NULL},
    {TN_STAGE_FUSE, "halve", AT_PLAN | OPTIMIZES, NEEDED, tn_pass_halve, NULL},
    {TN_STAGE_SELECT, "select", AT_PLAN, NEEDED, tn_pass_select, NULL},
};

tn_status tn_verified(const tn_graph *g, const char *pass, tn_status status, tn_diag *diag) {
#ifdef NDEBUG
  (void)g, (void)pass, (void)diag;
  return status;
#else
  return status ? status : tn_graph_verify(g, pass, diag);
#endif
}

static tn_status run_pass(const tn_pass *pass, const tn_planner *p, tn_graph *g, bool last,
                          tn_diag *diag) {
  if (pass->run) return pass->run(p, g, diag);
  if (pass->feature != NEEDED && !tn_has_feature(p->features, (tn_feature)pass->feature))
    return TN_OK;
  bool changed = false;
  tn_status s = pass->change(p, g, last, &changed, diag);
  if (pass->feature != NEEDED && changed) tn_note_feature(p->features, (tn_feature)pass->feature);
  if (!(pass->flags & REWRITES)) return s;
  for (int k = 0; k < MAX_ROUNDS && changed && !s; k++) {
    s = tn_pass_rewrite(p, g, diag);
    changed = false;
    if (!s && pass->flags & REPEATS) s = pass->change(p, g, last, &changed, diag);
  }
  return s;
}

static tn_status run_passes(const tn_planner *p, tn_graph *g, uint32_t when, tn_stage stop_after,
                            tn_diag *diag) {
  const bool optimizes = !(p->model_flags & TN_MODEL_NO_OPTIMIZE);
  tn_status s = TN_OK;
  for (size_t k = 0; k < sizeof passes / sizeof *passes && !s; k++) {
    const tn_pass *pass = &passes[k];
    if (stop_after && pass->stage > stop_after) break;
    if (!(pass->flags & when) || (pass->flags & OPTIMIZES && !optimizes)) continue;
    s = tn_verified(g, pass->name, run_pass(pass, p, g, when == AT_PLAN, diag), diag);
  }
  return s;
}

/* Compilers see graphs as they were read: what is done here is done for each plan then. */
tn_status tn_passes_at_load(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  if (p->n_accelerators || p->model_flags & TN_MODEL_CHECKED) return TN_OK;
  return run_passes(p, g, AT_LOAD, 0, diag);
}

tn_status tn_passes_at_plan(const tn_planner *p, tn_graph *g, tn_stage stop_after, tn_diag *diag) {
  return run_passes(p, g, AT_PLAN, stop_after, diag);
}
