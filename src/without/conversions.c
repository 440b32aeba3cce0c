/* In place of conversions between types and layouts: convert.c and place.c of selection. They are
 * left out where no kernel could do one: a list of parts without kernels of tenon::Reorder,
 * tenon::Cast and tenon::Transfer. */
#include "base/diag.h"
#include "plan/select/select.h"
#include "without/without.h"

const char tn_without_conversions = 0;

tn_form tn_select_step_before(tn_form home, tn_form to) {
  (void)to;
  return home;
}

/* So dear that any way around it is taken. */
tn_status tn_select_conversion(tn_selection *s, int32_t value, tn_form from, tn_form to,
                               const tn_conversion **out_conversion) {
  static const tn_conversion none = {.cost_ns = 1e15};
  (void)s, (void)value, (void)from, (void)to;
  *out_conversion = &none;
  return TN_OK;
}

tn_status tn_select_constant(tn_selection *s, int32_t value, tn_form form, tn_tensor *out_type,
                             const tn_const **out_const) {
  (void)s, (void)value, (void)form, (void)out_type;
  *out_const = NULL;
  return TN_OK;
}

int32_t tn_select_place(tn_applier *a, int32_t value, tn_form form) {
  const tn_form home = a->home[value];
  if (tn_form_equal(home, form)) return value;
  return tn_fail(a->s->diag, TN_ERR_UNSUPPORTED,
                 "value '%s' is needed as %s %s instead of %s %s, and there are no kernels that "
                 "convert; to have them: tenon select MODEL",
                 tn_graph_val(a->s->g, value)->name, tn_dtype_name(form.dtype),
                 tn_layout_text(form.layout), tn_dtype_name(home.dtype),
                 tn_layout_text(home.layout));
}
