/* In place of values that grow at run time: dynamic_values.c and cell_parts.c of sessions,
 * dynamic.c of the planner, list_type.c of the reader of ONNX. No plan has such a value. */
#include "exec/frame.h"
#include "onnx/reader.h"
#include "plan/memory/arrange.h"
#include "without/without.h"

const char tn_without_dynamic_values = 0;

/* ---- reading and planning ---- */

tn_status onnx_list_type_read(const onnx_type_reader *t, onnx_span message, uint32_t kind,
                              int32_t depth, tn_tensor *out) {
  (void)message, (void)kind, (void)depth, (void)out;
  const tn_source *source = t->r->source;
  return source->host->fail(source->ctx, TN_ERR_UNSUPPORTED, TN_READER_WITHOUT(ONNX_LISTS));
}

tn_status tn_arrange_want_dynamic(tn_arrangement *r) {
  const char *name = tn_plan_dynamic_value(r->plan);
  return name ? tn_fail(r->diag, TN_ERR_UNSUPPORTED, TN_WITHOUT_DYNAMIC_VALUES, name) : TN_OK;
}

/* ---- runs ---- */

tn_status tn_frame_open_cells(tn_frame *f, const tn_plan *plan) {
  (void)f;
  return plan->n_dynamic ? TN_ERR_UNSUPPORTED : TN_OK; /* a node that was to be folded */
}

bool tn_task_is_dynamic(const tn_task *t, uint32_t output) {
  (void)t, (void)output;
  return false;
}

tn_status tn_task_resize(tn_task *t, uint32_t output, const tn_tensor *type) {
  (void)t, (void)output, (void)type;
  return TN_ERR_UNSUPPORTED;
}

tn_status tn_task_set(tn_task *t, uint32_t output, const tn_tensor *value) {
  return tn_task_resize(t, output, value);
}

tn_status tn_task_open_outputs(tn_task *t) { return tn_task_resize(t, 0, NULL); }
tn_status tn_task_close_outputs(tn_task *t) { return tn_task_resize(t, 0, NULL); }

static tn_status refuse(tn_task *t) {
  return tn_exec_host.fail(t, TN_ERR_UNSUPPORTED, TN_READER_WITHOUT("strings and lists"));
}

tn_status tn_task_string_set(void *ctx, uint32_t output, int64_t index, const char *data,
                             int64_t size) {
  (void)output, (void)index, (void)data, (void)size;
  return refuse(ctx);
}

tn_status tn_task_list_append(void *ctx, uint32_t output, const tn_tensor *item) {
  (void)output, (void)item;
  return refuse(ctx);
}

tn_status tn_task_list_append_map(void *ctx, uint32_t output, const tn_tensor *keys,
                                  const tn_tensor *values) {
  (void)output, (void)keys, (void)values;
  return refuse(ctx);
}

/* ---- cells ---- */

tn_status tn_cell_list(tn_cell *c, const tn_tensor *type) {
  (void)c, (void)type;
  return TN_ERR_UNSUPPORTED;
}

tn_status tn_cell_set_list(tn_cell *c, const tn_tensor *value) { return tn_cell_list(c, value); }

tn_status tn_cell_string(tn_cell *c, int64_t index, const char *data, int64_t size) {
  (void)index, (void)data, (void)size;
  return tn_cell_list(c, NULL);
}

void tn_cell_reset_strings(tn_cell *c) { (void)c; }
void tn_cell_clear_parts(tn_cell *c) { (void)c; }

tn_status tn_list_add(tn_list *list, const tn_tensor *item) {
  (void)list, (void)item;
  return TN_ERR_UNSUPPORTED;
}

tn_status tn_list_add_map(tn_list *list, const tn_tensor *keys, const tn_tensor *values) {
  (void)values;
  return tn_list_add(list, keys);
}

const char *tn_list_refuses(const tn_list *list, const tn_tensor *item) {
  (void)list, (void)item;
  return "this program was linked without lists";
}
