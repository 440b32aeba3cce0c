/* In place of measured costs: tuning.c and cost.c of the planner, and measure.c of sessions.
 * Kernels are chosen by what they estimate. */
#include "plan/tuning/tuning.h"

#include "exec/exec.h"
#include "plan/select/select.h"
#include "without/without.h"

const char tn_without_tuning = 0;

static tn_status refuse(const char *what, tn_diag *diag) {
  return tn_fail(diag, TN_ERR_UNSUPPORTED,
                 "%s: this program was linked without tuning; to have it: tenon select --with "
                 "tuning",
                 what);
}

tn_status tn_tuning_create(const tn_allocator *a, tn_tuning **out_tuning) {
  (void)a;
  *out_tuning = NULL;
  return TN_OK;
}

void tn_tuning_destroy(tn_tuning *t) { (void)t; }

int64_t tn_tuning_n(tn_tuning *t) {
  (void)t;
  return 0;
}

bool tn_tuning_used(const tn_tuning *t) {
  (void)t;
  return false;
}

const char *tn_tuning_key(tn_tuning *t, int64_t index) {
  (void)t, (void)index;
  return "";
}

tn_status tn_tuning_measure(tn_tuning *t, bool on) {
  (void)t;
  return on ? TN_ERR_UNSUPPORTED : TN_OK;
}

bool tn_tuning_measures(const tn_tuning *t) {
  (void)t;
  return false;
}

tn_status tn_tuning_read(tn_tuning *t, const char *path, tn_diag *diag) {
  (void)t;
  return refuse(path, diag);
}

tn_status tn_tuning_write(tn_tuning *t, const char *path, tn_diag *diag) {
  (void)t;
  return refuse(path, diag);
}

tn_status tn_measure_node(const tn_planner *p, const tn_gnode *node, const tn_kerneldef *def,
                          const tn_kernel_plan *plan, const tn_tensor *const *in,
                          tn_tensor *const *out, uint64_t *out_ns) {
  (void)p, (void)node, (void)def, (void)plan, (void)in, (void)out;
  *out_ns = 0;
  return TN_ERR_UNSUPPORTED;
}

tn_status tn_select_cost(const tn_selection *s, const tn_gnode *node, const tn_kerneldef *def,
                         const tn_kernel_plan *plan, const tn_call *call, double estimate,
                         double *out_ns) {
  (void)s, (void)node, (void)def, (void)plan, (void)call;
  *out_ns = estimate;
  return TN_OK;
}
