/* Running the subgraphs of If, Loop and Scan: a frame per subgraph, captured values from the node's
 * inputs, and cells of the pool for the results.
 *
 * Results are written straight into a free cell where their type is planned, so a loop moves
 * each value once, and its memory does not grow as long as the kernel releases what it is done
 * with. */
#include <string.h>

#include "base/abi.h"
#include "exec/frame.h"

/* ---- inputs ---- */

static tn_status body_fail(tn_task *t, tn_status code, const char *what, int64_t graph) {
  return t->call.host->fail(t, code, "subgraph %lld: %s", (long long)graph, what);
}

static tn_status check_graph(tn_task *t, int64_t graph) {
  if (graph >= 0 && graph < t->step->n_bodies) return TN_OK;
  return t->call.host->fail(t, TN_ERR_INVALID, "there is no subgraph %lld, the node has %u",
                            (long long)graph, t->step->n_bodies);
}

tn_status tn_subgraph_shape(tn_task *t, int64_t graph, uint32_t *out_n_inputs,
                            uint32_t *out_n_outputs) {
  tn_status status = check_graph(t, graph);
  if (status) return status;
  const tn_graph *g = t->step->bodies[graph].callable->graph;
  *out_n_inputs = (uint32_t)g->inputs.n - t->step->bodies[graph].n_captures;
  *out_n_outputs = (uint32_t)g->outputs.n;
  return TN_OK;
}

static tn_status check_counts(tn_task *t, int64_t graph, uint32_t n_in, const tn_tensor *const *in,
                              uint32_t n_out) {
  uint32_t takes = 0, gives = 0;
  tn_status status = tn_subgraph_shape(t, graph, &takes, &gives);
  if (status) return status;
  if (n_in != takes || n_out != gives)
    return t->call.host->fail(t, TN_ERR_INVALID,
                              "subgraph %lld is run with %u inputs and %u outputs, has %u and %u",
                              (long long)graph, n_in, n_out, takes, gives);
  for (uint32_t k = 0; k < n_in; k++)
    if (!in[k]) return body_fail(t, TN_ERR_INVALID, "an input is missing", graph);
  return TN_OK;
}

/* Captured values go to their places, formal inputs fill the rest in order. */
static tn_status fill_inputs(tn_task *t, int64_t graph, const tn_tensor *const *in) {
  const tn_graph *g = t->step->bodies[graph].callable->graph;
  const tn_tensor **inputs = t->children[graph].inputs;
  memset(inputs, 0, (size_t)g->inputs.n * sizeof *inputs);
  for (uint32_t k = 0; k < t->step->bodies[graph].n_captures; k++) {
    const tn_capture *capture = &t->step->bodies[graph].captures[k];
    inputs[capture->inner] = t->call.inputs[capture->input];
    if (!inputs[capture->inner])
      return body_fail(t, TN_ERR_INTERNAL, "a captured value is missing", graph);
  }
  for (int64_t k = 0; k < g->inputs.n; k++)
    if (!inputs[k]) inputs[k] = *in++;
  return TN_OK;
}

static tn_status prepare(tn_task *t, int64_t graph, const tn_tensor *const *in) {
  tn_frame *f = t->frame;
  tn_child *child = &t->children[graph];
  tn_status status = fill_inputs(t, graph, in);
  if (!status && !child->frame)
    status = tn_frame_create_in(f, f->a, f->pool, f->planner, t->step->bodies[graph].callable,
                                &child->frame);
  if (!status) status = tn_frame_prepare(child->frame, child->inputs, NULL, f->diag);
  return status;
}

void tn_child_clear(tn_child *c) {
  tn_frame_destroy(c->frame);
  c->frame = NULL;
}

/* ---- types ---- */

static tn_tensor planned_type(const tn_plan *plan, int64_t k) {
  tn_tensor type = {.head = TN_HEAD(tn_tensor), .rank = TN_RANK_UNKNOWN};
  if (plan->continuation && plan->continuation_outputs[k] >= 0) {
    const tn_graph *g = plan->continuation->graph;
    type = *tn_graph_val(g, g->outputs.data[plan->continuation_outputs[k]])->type;
  } else {
    type = *plan->slots[plan->outputs[k]].type;
  }
  type.data = NULL;
  return type;
}

tn_status tn_subgraph_infer(tn_task *t, int64_t graph, uint32_t n_in, const tn_tensor *const *in,
                            uint32_t n_out, tn_tensor *const *out) {
  tn_status status = check_counts(t, graph, n_in, in, n_out);
  if (!status) status = prepare(t, graph, in);
  for (uint32_t k = 0; !status && k < n_out; k++) {
    if (!out[k]) continue;
    const tn_tensor type = planned_type(t->children[graph].frame->now->plan, k);
    status = tn_struct_out(out[k], &type, sizeof type);
  }
  return status;
}

/* ---- running ---- */

static tn_status no_room(tn_task *t, tn_status status, int64_t graph, const tn_tensor *type) {
  char text[TN_TENSOR_TEXT];
  return t->call.host->fail(t, status, "%s: a result, %s of %lld bytes: %s",
                            t->step->bodies[graph].callable->name,
                            tn_tensor_text(type, text, sizeof text),
                            (long long)tn_storage_bytes(type), tn_status_text(status));
}

/* Cells for all results; those of known type are bound, the frame writes into them. */
static tn_status take_results(tn_task *t, int64_t graph, uint32_t n_out) {
  tn_frame *f = t->frame;
  tn_child *child = &t->children[graph];
  memset(child->results, 0, n_out * sizeof *child->results);
  memset(child->bound, 0, n_out * sizeof *child->bound);
  for (uint32_t k = 0; k < n_out; k++) {
    tn_tensor type = planned_type(child->frame->now->plan, k);
    bool known = type.kind == TN_KIND_TENSOR && type.dtype != TN_STRING &&
                 type.layout == TN_PLAIN && tn_storage_bytes(&type) >= 0;
    tn_cell *cell = child->results[k] = tn_value_pool_take(f);
    if (!cell) return TN_ERR_MEMORY;
    if (!known) continue;
    tn_status status = tn_cell_shape(cell, &type);
    if (status) return no_room(t, status, graph, &type);
    child->bound[k] = &cell->value;
  }
  return TN_OK;
}

static tn_status keep_results(const tn_child *child, uint32_t n_out, const tn_tensor **out) {
  for (uint32_t k = 0; k < n_out; k++) {
    tn_status status = TN_OK;
    if (!child->bound[k])
      status = tn_cell_set(child->results[k], tn_frame_output(child->frame, (int32_t)k));
    if (status) return status;
    tn_cell *cell = child->results[k];
    if (cell->value.kind == TN_KIND_TENSOR) cell->value.object = cell->number;
    out[k] = &cell->value;
  }
  return TN_OK;
}

static tn_status run_child(tn_task *t, int64_t graph, uint32_t n_out, const tn_tensor **out) {
  tn_child *child = &t->children[graph];
  tn_frame *f = t->frame;
  tn_status status = take_results(t, graph, n_out);
  if (!status) status = tn_frame_go(child->frame, child->inputs, child->bound, f->profile, f->diag);
  if (!status) status = keep_results(child, n_out, out);
  for (uint32_t k = 0; status && k < n_out; k++)
    tn_value_pool_release(f, child->results[k] ? &child->results[k]->value : NULL);
  return status;
}

/* The reason, unless a node of the subgraph has told it. */
static tn_status say_failed(tn_task *t, tn_status status, int64_t graph, int64_t n_said) {
  const char *name = t->step->bodies[graph].callable->name;
  const bool said = tn_diag_count(t->frame->diag) > n_said;
  if (said) return t->call.host->fail(t, status, "%s failed", name);
  return t->call.host->fail(t, status, "%s: %s", name, tn_status_text(status));
}

tn_status tn_subgraph_run(tn_task *t, int64_t graph, uint32_t n_in, const tn_tensor *const *in,
                          uint32_t n_out, const tn_tensor **out) {
  tn_status status = check_counts(t, graph, n_in, in, n_out);
  if (status) return status;
  for (uint32_t k = 0; k < n_out; k++) out[k] = NULL;
  const int64_t n_said = tn_diag_count(t->frame->diag);
  status = tn_frame_is_stopped(t->frame) ? TN_ERR_CANCELLED : prepare(t, graph, in);
  if (!status) status = run_child(t, graph, n_out, out);
  return status ? say_failed(t, status, graph, n_said) : TN_OK;
}
