/* In place of pins: pins.c of selection. A model of a runtime that has any is refused. */
#include "plan/passes/passes.h"

#include "base/diag.h"
#include "without/without.h"

const char tn_without_pins = 0;

tn_status tn_pins_check(const tn_planner *p, const tn_graph *g, tn_diag *diag) {
  (void)g;
  if (!p->n_pins) return TN_OK;
  return tn_fail(diag, TN_ERR_UNSUPPORTED,
                 "pin '%s': this program was linked without pins; to have them: tenon select "
                 "--with pins",
                 p->pins[0]);
}

const char *tn_pin_of(const tn_planner *p, const tn_gnode *node) {
  (void)p, (void)node;
  return NULL;
}

bool tn_pin_excludes(const tn_planner *p, const tn_gnode *node, const char *kernel) {
  (void)p, (void)node, (void)kernel;
  return false;
}

bool tn_pin_allows(const tn_planner *p, const tn_gnode *node, const char *kernel) {
  (void)p, (void)node, (void)kernel;
  return true;
}

bool tn_pin_forbids_lowering(const tn_planner *p, const tn_gnode *node) {
  (void)p, (void)node;
  return false;
}
