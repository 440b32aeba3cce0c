/* Values that grow at run time: outputs whose size kernels say, strings and lists. Each such value
 * of a plan has a cell in the frame (cell.h). */
#include <stdio.h>
#include <string.h>

#include "exec/frame.h"

tn_status tn_frame_open_cells(tn_frame *f, const tn_plan *plan) {
  while (f->cells.n < plan->n_dynamic) {
    tn_cell *cell = tn_cell_new(f->a);
    if (!cell) return TN_ERR_MEMORY;
    if (tn_vec_push(f->a, &f->cells, cell)) {
      tn_cell_free(cell);
      return TN_ERR_MEMORY;
    }
  }
  return TN_OK;
}

static const tn_slot *slot_of(const tn_task *t, uint32_t output) {
  return &t->frame->now->plan->slots[t->step->node->node.outputs[output]];
}

/* NULL: the output has planned memory. */
static tn_cell *cell_of(const tn_task *t, uint32_t output) {
  const tn_setup *s = t->frame->now;
  const tn_slot *root = &s->plan->slots[s->root[t->step->node->node.outputs[output]]];
  return root->place == TN_PLACE_DYNAMIC ? t->frame->cells.data[root->index] : NULL;
}

bool tn_task_is_dynamic(const tn_task *t, uint32_t output) { return cell_of(t, output) != NULL; }

/* ---- failing, showing ---- */

static tn_status fail_code(tn_task *t, tn_status status, const char *what, uint32_t output) {
  return tn_exec_host.fail(t, status, "%s of output %u: %s", what, output, tn_status_text(status));
}

/* The same where memory of this type was wanted. */
static tn_status fail_type(tn_task *t, tn_status status, const char *what, uint32_t output,
                           const tn_tensor *type) {
  char text[TN_TENSOR_TEXT], bytes[40] = "";
  if (tn_storage_bytes(type) >= 0)
    snprintf(bytes, sizeof bytes, ", %lld bytes", (long long)tn_storage_bytes(type));
  return tn_exec_host.fail(t, status, "%s of output %u to %s%s: %s", what, output,
                           tn_tensor_text(type, text, sizeof text), bytes, tn_status_text(status));
}

/* The value and those that share its memory see what the cell holds now. */
static void show(tn_task *t, uint32_t output, const tn_cell *cell) {
  const tn_setup *s = t->frame->now;
  int32_t root = s->root[t->step->node->node.outputs[output]];
  s->values[root] = cell->value;
  for (int32_t k = s->first_alias[root]; k >= 0; k = s->next_alias[k]) {
    tn_tensor *alias = &s->values[k];
    alias->kind = cell->value.kind;
    alias->elements = cell->value.elements;
    alias->object = cell->value.object;
    if (tn_storage_bytes(s->plan->slots[k].type) >= 0) continue;
    alias->rank = cell->value.rank;
    memcpy(alias->shape, cell->value.shape, sizeof alias->shape);
  }
  tn_frame_point(t->frame, root, cell->value.data);
  if (t->seen) t->seen[output] = *t->call.outputs[output];
}

/* ---- outputs ---- */

tn_status tn_task_resize(tn_task *t, uint32_t output, const tn_tensor *type) {
  tn_cell *cell = cell_of(t, output);
  const tn_status status = tn_cell_shape(cell, type);
  if (status) return fail_type(t, status, "output_resize", output, type);
  show(t, output, cell);
  return TN_OK;
}

tn_status tn_task_set(tn_task *t, uint32_t output, const tn_tensor *value) {
  tn_cell *cell = cell_of(t, output);
  const tn_status status = tn_cell_set(cell, value);
  if (status) return fail_type(t, status, "output_set", output, value);
  show(t, output, cell);
  return TN_OK;
}

tn_status tn_task_string_set(void *ctx, uint32_t output, int64_t index, const char *data,
                             int64_t size) {
  tn_task *t = ctx;
  tn_status status = tn_task_check_output(t, output, "string_set");
  if (status) return status;
  tn_cell *cell = cell_of(t, output);
  if (!cell)
    return tn_exec_host.fail(t, TN_ERR_INVALID, "string_set of output %u, which holds no strings",
                             output);
  pthread_mutex_lock(&t->frame->lock);
  status = tn_cell_string(cell, index, data, size);
  pthread_mutex_unlock(&t->frame->lock);
  if (!status) return TN_OK;
  return tn_exec_host.fail(t, status, "string_set of output %u, element %lld, %lld bytes: %s",
                           output, (long long)index, (long long)size, tn_status_text(status));
}

/* ---- lists ---- */

tn_status tn_task_list_append(void *ctx, uint32_t output, const tn_tensor *item) {
  tn_task *t = ctx;
  tn_status status = tn_task_check_output(t, output, "list_append");
  if (!status) status = tn_task_check_alone(t, "list_append");
  if (status) return status;
  tn_cell *cell = cell_of(t, output);
  if (!cell || cell->value.kind == TN_KIND_TENSOR || !item)
    return tn_exec_host.fail(t, TN_ERR_INVALID, "list_append to output %u: %s", output,
                             item ? "it is no list" : "no item");
  const char *refuses = tn_list_refuses(&cell->list, item);
  if (refuses) {
    char text[TN_TENSOR_TEXT];
    return tn_exec_host.fail(t, TN_ERR_INVALID, "list_append of %s to output %u: %s",
                             tn_tensor_text(item, text, sizeof text), output, refuses);
  }
  status = tn_list_add(&cell->list, item);
  return status ? fail_code(t, status, "list_append", output) : TN_OK;
}

tn_status tn_task_list_append_map(void *ctx, uint32_t output, const tn_tensor *keys,
                                  const tn_tensor *values) {
  tn_task *t = ctx;
  tn_status status = tn_task_check_output(t, output, "list_append_map");
  if (!status) status = tn_task_check_alone(t, "list_append_map");
  if (status) return status;
  tn_cell *cell = cell_of(t, output);
  if (!cell || cell->value.kind != TN_KIND_SEQUENCE || !keys || !values || keys->rank != 1 ||
      values->rank != 1 || keys->shape[0] != values->shape[0])
    return tn_exec_host.fail(
        t, TN_ERR_INVALID, "list_append_map to output %u: it needs keys and values for a sequence",
        output);
  status = tn_list_add_map(&cell->list, keys, values);
  return status ? fail_code(t, status, "list_append_map", output) : TN_OK;
}

/* ---- around a run ---- */

tn_status tn_task_open_outputs(tn_task *t) {
  for (uint32_t k = 0; k < t->step->node->node.n_outputs; k++) {
    tn_cell *cell = t->step->node->node.outputs[k] < 0 ? NULL : cell_of(t, k);
    if (!cell) continue;
    const tn_tensor *type = slot_of(t, k)->type;
    tn_status status = TN_OK;
    if (type->kind != TN_KIND_TENSOR)
      status = tn_cell_list(cell, type);
    else if (tn_storage_bytes(type) >= 0)
      status = tn_cell_shape(cell, type);
    else
      cell->value = *type; /* to be resized */
    if (status) return fail_type(t, status, "output_resize", k, type);
    show(t, k, cell);
  }
  return TN_OK;
}

tn_status tn_task_close_outputs(tn_task *t) {
  for (uint32_t k = 0; k < t->step->node->node.n_outputs; k++) {
    const tn_tensor *value = t->call.outputs[k];
    if (!value || value->kind != TN_KIND_TENSOR || tn_storage_bytes(value) >= 0) continue;
    return tn_exec_host.fail(t, TN_ERR_INTERNAL, "gave output %u no shape", k);
  }
  return TN_OK;
}
