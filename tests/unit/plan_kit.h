/* A small plug-in for tests of the planner: operators that compute something easy to check,
 * kernels in several layouts with costs that a test sets, and the tenon:: operators that
 * conversions and regions need. Includes what tests of the planner share: a runtime, graphs from
 * short texts, running. */
#ifndef PLAN_KIT_H
#define PLAN_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/exec.h"
#include "plan/select/match.h"
#include "tenon/kit/lower.h"

/* ---- what tests set ---- */

static double kit_cost_plain = 1000, kit_cost_blocked = 1000, kit_cost_any = 10,
              kit_cost_convert = 100;
static int kit_prepared, kit_finished;

static void kit_defaults(void) {
  kit_cost_plain = kit_cost_blocked = 1000;
  kit_cost_any = 10;
  kit_cost_convert = 100;
  kit_prepared = kit_finished = 0;
}

/* ---- kernels: f32, f64, f16 through doubles ---- */

static double kit_get(const tn_tensor *t, int64_t k) {
  return tn_load_f64(t->dtype, t->data, tn_storage_index(t, k));
}
static void kit_put(const tn_tensor *t, int64_t k, double v) {
  tn_store_f64(t->dtype, t->data, tn_storage_index(t, k), v);
}

static tn_status kit_plan_plain(const tn_call *c, tn_kernel_plan *p) {
  (void)c;
  p->cost_ns = kit_cost_plain;
  return TN_OK;
}
static tn_status kit_plan_blocked(const tn_call *c, tn_kernel_plan *p) {
  (void)c;
  p->cost_ns = kit_cost_blocked;
  return TN_OK;
}
static tn_status kit_plan_any(const tn_call *c, tn_kernel_plan *p) {
  p->cost_ns = kit_cost_any;
  p->in_place[0] = 0;
  p->flags = TN_PLAN_ELEMENTWISE;
  p->items[0] = tn_storage_elements(c->outputs[0]);
  return TN_OK;
}
static tn_status kit_plan_convert(const tn_call *c, tn_kernel_plan *p) {
  (void)c;
  p->cost_ns = kit_cost_convert;
  return TN_OK;
}
static tn_status kit_plan_lead(const tn_call *c, tn_kernel_plan *p) {
  p->cost_ns = 50;
  p->items[0] = tn_storage_elements(c->outputs[0]);
  p->elements_per_item = 1;
  return TN_OK;
}
static tn_status kit_plan_dynamic(const tn_call *c, tn_kernel_plan *p) {
  (void)c;
  p->flags = TN_PLAN_DATA_DEPENDENT;
  p->cost_ns = 50;
  return TN_OK;
}
static tn_status kit_plan_pack(const tn_call *c, tn_kernel_plan *p) {
  (void)c;
  p->state_bytes = sizeof(double);
  p->scratch_bytes = 100;
  p->worker_scratch_bytes = 10;
  p->cost_ns = 50;
  return TN_OK;
}

typedef struct kit_scale_attrs {
  double by;
} kit_scale_attrs;

static tn_status kit_scale(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const kit_scale_attrs *a = c->attrs;
  memset(c->outputs[0]->data, 0, (size_t)tn_storage_bytes(c->outputs[0]));
  for (int64_t k = 0; k < tn_tensor_elements(c->inputs[0]); k++)
    kit_put(c->outputs[0], k, a->by * kit_get(c->inputs[0], k));
  return TN_OK;
}

/* 3x over storage elements. */
static tn_status kit_triple(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *x = c->inputs[0], *y = c->outputs[0];
  for (int64_t k = begin; k < end; k++)
    tn_store_f64(y->dtype, y->data, k, 3 * tn_load_f64(x->dtype, x->data, k));
  return TN_OK;
}

static tn_status kit_add(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *a = c->inputs[0], *b = c->inputs[1], *y = c->outputs[0];
  for (int64_t k = begin; k < end; k++)
    tn_store_f64(y->dtype, y->data, k,
                 tn_load_f64(a->dtype, a->data, k) + tn_load_f64(b->dtype, b->data, k));
  return TN_OK;
}

/* x - 1, each element by itself. */
static tn_status kit_less(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) kit_put(c->outputs[0], k, kit_get(c->inputs[0], k) - 1);
  return TN_OK;
}

static tn_status kit_copy(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  memset(c->outputs[0]->data, 0, (size_t)tn_storage_bytes(c->outputs[0]));
  for (int64_t k = 0; k < tn_tensor_elements(c->inputs[0]); k++)
    kit_put(c->outputs[0], k, kit_get(c->inputs[0], k));
  return TN_OK;
}

static tn_status kit_region(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const tn_tensor *y = c->outputs[0];
  memset(y->data, 0, (size_t)tn_storage_bytes(y));
  for (uint32_t k = 0; k < c->n_regions; k++) {
    const tn_region *r = c->regions[k];
    const tn_tensor *x = c->inputs[r->input];
    int64_t index[TN_MAX_RANK] = {0}, n = 1;
    for (int32_t d = 0; d < r->rank; d++) n *= r->size[d];
    for (int64_t e = 0; e < n; e++) {
      int64_t from = r->src_offset, to = r->dst_offset;
      for (int32_t d = 0; d < r->rank; d++)
        from += index[d] * r->src_stride[d], to += index[d] * r->dst_stride[d];
      tn_store_f64(y->dtype, y->data, to, tn_load_f64(x->dtype, x->data, from));
      for (int32_t d = r->rank - 1; d >= 0 && ++index[d] == r->size[d]; d--) index[d] = 0;
    }
  }
  return TN_OK;
}

static tn_status kit_pick(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const tn_tensor *x = c->inputs[0];
  int64_t n = tn_tensor_elements(x), count = 0;
  for (int64_t k = 0; k < n; k++) count += kit_get(x, k) > 0;
  tn_status s = c->host->output_resize(c->ctx, 0, 1, &count);
  for (int64_t k = 0, j = 0; k < n && !s; k++)
    if (kit_get(x, k) > 0) kit_put(c->outputs[0], j++, kit_get(x, k));
  return s;
}

static tn_status kit_fill(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < tn_tensor_elements(c->outputs[0]); k++)
    kit_put(c->outputs[0], k, (double)k);
  return TN_OK;
}

/* t::Count: the number of elements, as data. */
static tn_status kit_count_elements(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                                    uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  tn_store_i64(TN_I64, c->outputs[0]->data, 0, tn_tensor_elements(c->inputs[0]));
  return TN_OK;
}

static tn_status kit_prepare(const tn_call *c) {
  double sum = 0;
  for (int64_t k = 0; k < tn_tensor_elements(c->inputs[1]); k++) sum += kit_get(c->inputs[1], k);
  memcpy(c->state, &sum, sizeof sum);
  kit_prepared++;
  return TN_OK;
}
static void kit_finish(const tn_call *c) {
  assert_non_null(c->state);
  kit_finished++;
}
static tn_status kit_pack(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  double sum;
  memcpy(&sum, c->state, sizeof sum);
  memset(c->scratch, 0x5a, c->scratch_bytes);
  memset(c->worker_scratch, 0x5a, c->worker_scratch_bytes * c->n_workers);
  for (int64_t k = 0; k < tn_tensor_elements(c->inputs[0]); k++)
    kit_put(c->outputs[0], k, sum * kit_get(c->inputs[0], k));
  return TN_OK;
}

static const char *kit_refuse(const tn_call *c) {
  return tn_tensor_elements(c->inputs[0]) == 1313 ? "1313 elements bring bad luck" : NULL;
}
static const char *kit_same_shapes(const tn_call *c) {
  return tn_same_shape(c->inputs[0], c->inputs[1]) ? NULL : "A and B have different shapes";
}

/* ---- operators ---- */

static tn_status kit_infer_cast(const tn_call *c) {
  const int64_t *to = c->attrs;
  *c->outputs[0] = *c->inputs[0];
  c->outputs[0]->dtype = (uint32_t)*to;
  return TN_OK;
}
static tn_status kit_infer_pick(const tn_call *c) {
  c->outputs[0]->dtype = c->inputs[0]->dtype;
  c->outputs[0]->rank = 1;
  c->outputs[0]->shape[0] = TN_DIM_UNKNOWN;
  return TN_OK;
}
static tn_status kit_infer_count(const tn_call *c) {
  c->outputs[0]->dtype = TN_I64;
  c->outputs[0]->rank = 1;
  c->outputs[0]->shape[0] = 1;
  return TN_OK;
}
static tn_status kit_infer_fill(const tn_call *c) {
  const tn_tensor *shape = c->inputs[0];
  if (!shape->data) return c->host->needs_data(c->ctx, 0);
  c->outputs[0]->dtype = TN_F32;
  c->outputs[0]->rank = (int32_t)shape->shape[0];
  for (int32_t d = 0; d < c->outputs[0]->rank; d++)
    c->outputs[0]->shape[d] = tn_load_i64(TN_I64, shape->data, d);
  return TN_OK;
}
static tn_status kit_infer_cat(const tn_call *c) {
  *c->outputs[0] = *c->inputs[0];
  c->outputs[0]->data = NULL;
  for (uint32_t k = 1; k < c->n_inputs; k++) c->outputs[0]->shape[0] += c->inputs[k]->shape[0];
  return TN_OK;
}
static tn_status kit_infer_flat(const tn_call *c) {
  c->outputs[0]->dtype = c->inputs[0]->dtype;
  c->outputs[0]->rank = 1;
  c->outputs[0]->shape[0] = tn_tensor_elements(c->inputs[0]);
  return TN_OK;
}
static tn_status kit_lower_cat(const tn_call *c, tn_graph *g, int32_t node) {
  tn_moves moves = tn_moves_begin(c, g);
  int64_t at = 0;
  int32_t ids[16];
  for (uint32_t k = 0; k < c->n_inputs; k++) {
    int64_t n = tn_tensor_elements(c->inputs[k]);
    ids[k] = tn_node_input(c, g, node, k);
    tn_moves_add_run(&moves, (int32_t)k, 0, at, n);
    at += n;
  }
  return tn_moves_become(&moves, node, ids, c->n_inputs, -1);
}
static tn_status kit_lower_flat(const tn_call *c, tn_graph *g, int32_t node) {
  return tn_lower_to_alias(c, g, node, 0);
}
/* t::Six is Scale by 2, then Any. */
static tn_status kit_lower_six(const tn_call *c, tn_graph *g, int32_t node) {
  const tn_graph_api *api = c->host->graph;
  int32_t middle = api->value(g, NULL), out = api->value(g, NULL),
          in = api->node(g, node)->inputs[0];
  tn_node scale = {.head = TN_HEAD(tn_node),
                   .domain = "t",
                   .op = "Scale",
                   .name = "six.a",
                   .n_inputs = 1,
                   .n_outputs = 1,
                   .inputs = &in,
                   .outputs = &middle,
                   .offset = -1};
  tn_node any = {.head = TN_HEAD(tn_node),
                 .domain = "t",
                 .op = "Any",
                 .name = "six.b",
                 .n_inputs = 1,
                 .n_outputs = 1,
                 .inputs = &middle,
                 .outputs = &out,
                 .offset = -1};
  if (api->add_node(g, &scale) < 0 || api->add_node(g, &any) < 0) return TN_ERR_MEMORY;
  return api->replace_node(g, node, &out, 1);
}

static const tn_type_rule kit_xy = {TN_HEAD(tn_type_rule), "T", "X,Y", TN_MASK_FLOAT};
static const tn_type_rule kit_abc = {TN_HEAD(tn_type_rule), "T", "A,B,C", TN_MASK_FLOAT};
static const tn_type_rule *const kit_rules_xy[] = {&kit_xy}, *const kit_rules_abc[] = {&kit_abc};

#define KIT_OP(id, dom, nm, sch, ...) \
  static const tn_op kit_op_##id = {  \
      .head = TN_HEAD(tn_op), .domain = dom, .name = nm, .since = 1, .schema = sch, __VA_ARGS__}
KIT_OP(region, "tenon", "Region", "(Tensor[] inputs) -> Tensor output",
       .flags = TN_OP_SAME_AS_INPUT);
KIT_OP(cast, "tenon", "Cast", "(Tensor X, *, int to) -> Tensor Y", .infer = kit_infer_cast);
KIT_OP(reorder, "tenon", "Reorder", "(Tensor X, *, int layout) -> Tensor Y",
       .flags = TN_OP_SAME_AS_INPUT);
KIT_OP(scale, "t", "Scale", "(Tensor X, *, float by=2.0) -> Tensor Y", .flags = TN_OP_SAME_AS_INPUT,
       .types = kit_rules_xy, .n_types = 1);
KIT_OP(any, "t", "Any", "(Tensor X) -> Tensor Y", .flags = TN_OP_SAME_AS_INPUT,
       .types = kit_rules_xy, .n_types = 1);
KIT_OP(add, "t", "Add", "(Tensor A, Tensor B) -> Tensor C", .flags = TN_OP_BROADCAST,
       .types = kit_rules_abc, .n_types = 1);
KIT_OP(lead, "t", "Lead", "(Tensor X) -> Tensor Y", .flags = TN_OP_SAME_AS_INPUT,
       .types = kit_rules_xy, .n_types = 1);
KIT_OP(cat, "t", "Cat", "(Tensor[] xs) -> Tensor Y", .flags = TN_OP_LOWER_ALWAYS,
       .infer = kit_infer_cat, .lower = kit_lower_cat);
KIT_OP(flat, "t", "Flat", "(Tensor X) -> Tensor Y", .flags = TN_OP_LOWER_ALWAYS,
       .infer = kit_infer_flat, .lower = kit_lower_flat);
KIT_OP(pick, "t", "Pick", "(Tensor X) -> Tensor Y", .infer = kit_infer_pick);
KIT_OP(fill, "t", "Fill", "(Tensor shape) -> Tensor Y", .infer = kit_infer_fill);
KIT_OP(count, "t", "Count", "(Tensor X) -> Tensor Y", .infer = kit_infer_count);
KIT_OP(pack, "t", "Pack", "(Tensor X, Tensor W) -> Tensor Y", .flags = TN_OP_SAME_AS_INPUT,
       .types = kit_rules_xy, .n_types = 1);
KIT_OP(six, "t", "Six", "(Tensor X) -> Tensor Y", .flags = TN_OP_SAME_AS_INPUT,
       .lower = kit_lower_six);
KIT_OP(wide, "t", "Wide", "(Tensor X) -> Tensor Y", .flags = TN_OP_SAME_AS_INPUT,
       .types = kit_rules_xy, .n_types = 1);
static const tn_op *const kit_ops[] = {&kit_op_region, &kit_op_cast, &kit_op_reorder, &kit_op_scale,
                                       &kit_op_any,    &kit_op_add,  &kit_op_lead,    &kit_op_cat,
                                       &kit_op_flat,   &kit_op_pick, &kit_op_fill,    &kit_op_count,
                                       &kit_op_pack,   &kit_op_six,  &kit_op_wide};

#define KIT_ACCEPT(id, name, types, lay)     \
  static const tn_accept kit_accept_##id = { \
      .head = TN_HEAD(tn_accept), .arg = name, .dtypes = types, .layout = lay}
#define KIT_F TN_MASK(TN_F32)
KIT_ACCEPT(x_any, "X", KIT_F, TN_ANY_LAYOUT);
KIT_ACCEPT(y_any, "Y", KIT_F, TN_ANY_LAYOUT);
KIT_ACCEPT(a_any, "A", KIT_F, TN_ANY_LAYOUT);
KIT_ACCEPT(b_any, "B", KIT_F, TN_ANY_LAYOUT);
KIT_ACCEPT(c_any, "C", KIT_F, TN_ANY_LAYOUT);
KIT_ACCEPT(x_plain, "X", KIT_F, TN_PLAIN);
KIT_ACCEPT(x_b8, "X", KIT_F, TN_BLOCKED(8));
KIT_ACCEPT(y_b8, "Y", KIT_F, TN_BLOCKED(8));
static const tn_accept kit_accept_w_const = {
    .head = TN_HEAD(tn_accept), .arg = "W", .dtypes = TN_ANY_DTYPE, .flags = TN_ACCEPT_CONST};
static const tn_accept kit_accept_rest = {
    .head = TN_HEAD(tn_accept), .arg = "*", .dtypes = TN_ANY_DTYPE};
static const tn_accept *const kit_rows_any[] = {&kit_accept_x_any, &kit_accept_y_any};
static const tn_accept *const kit_rows_add[] = {&kit_accept_a_any, &kit_accept_b_any,
                                                &kit_accept_c_any};
static const tn_accept *const kit_rows_plain[] = {&kit_accept_x_plain};
static const tn_accept *const kit_rows_b8[] = {&kit_accept_x_b8, &kit_accept_y_b8};
static const tn_accept *const kit_rows_pack[] = {&kit_accept_w_const, &kit_accept_rest};
/* Reorder takes and gives what it is asked for: one kernel per direction. */
KIT_ACCEPT(rx_plain, "X", TN_ANY_DTYPE, TN_PLAIN);
KIT_ACCEPT(ry_b8, "Y", TN_ANY_DTYPE, TN_BLOCKED(8));
KIT_ACCEPT(rx_b8, "X", TN_ANY_DTYPE, TN_BLOCKED(8));
static const tn_accept *const kit_rows_to_b8[] = {&kit_accept_rx_plain, &kit_accept_ry_b8};
static const tn_accept *const kit_rows_from_b8[] = {&kit_accept_rx_b8, &kit_accept_rest};

#define KIT_KERNEL(id, o, rk, rows, pl, rn, ...)                                     \
  static const tn_kernel kit_kernel_##id = {.head = TN_HEAD(tn_kernel),              \
                                            .name = #id,                             \
                                            .op = o,                                 \
                                            .device = "cpu",                         \
                                            .rank = rk,                              \
                                            .accepts = rows,                         \
                                            .n_accepts = sizeof rows / sizeof *rows, \
                                            .plan = pl,                              \
                                            .run = rn,                               \
                                            __VA_ARGS__}
static const tn_accept *const kit_rows_others[] = {&kit_accept_rest};
#define KIT_KERNEL0(id, o, rk, pl, rn, ...) \
  KIT_KERNEL(id, o, rk, kit_rows_others, pl, rn, __VA_ARGS__)
KIT_KERNEL0(region_kit, "tenon::Region", 100, kit_plan_convert, kit_region, .flags = 0);
KIT_KERNEL0(cast_kit, "tenon::Cast", 100, kit_plan_convert, kit_copy, .flags = 0);
KIT_KERNEL(reorder_to_b8, "tenon::Reorder", 100, kit_rows_to_b8, kit_plan_convert, kit_copy,
           .flags = 0);
KIT_KERNEL(reorder_from_b8, "tenon::Reorder", 100, kit_rows_from_b8, kit_plan_convert, kit_copy,
           .flags = 0);
KIT_KERNEL(scale_plain, "t::Scale", 100, kit_rows_plain, kit_plan_plain, kit_scale,
           .refuse = kit_refuse);
KIT_KERNEL(scale_plain_better, "t::Scale", 200, kit_rows_plain, kit_plan_plain, kit_scale,
           .refuse = kit_refuse);
KIT_KERNEL(scale_b8, "t::Scale", 200, kit_rows_b8, kit_plan_blocked, kit_scale,
           .refuse = kit_refuse);
KIT_KERNEL(any_any, "t::Any", 100, kit_rows_any, kit_plan_any, kit_triple, .flags = 0);
KIT_KERNEL(add_any, "t::Add", 100, kit_rows_add, kit_plan_any, kit_add, .refuse = kit_same_shapes);
KIT_KERNEL(lead_plain, "t::Lead", 100, kit_rows_plain, kit_plan_lead, kit_less, .flags = 0);
KIT_KERNEL0(pick_plain, "t::Pick", 100, kit_plan_dynamic, kit_pick, .flags = 0);
KIT_KERNEL0(count_plain, "t::Count", 100, kit_plan_plain, kit_count_elements, .flags = 0);
KIT_KERNEL0(fill_plain, "t::Fill", 100, kit_plan_plain, kit_fill, .flags = 0);
KIT_KERNEL(pack_plain, "t::Pack", 100, kit_rows_pack, kit_plan_pack, kit_pack,
           .prepare = kit_prepare, .finish = kit_finish);
KIT_KERNEL(wide_plain, "t::Wide", 100, kit_rows_plain, kit_plan_plain, kit_copy, .flags = 0);
static const tn_kernel *const kit_kernels[] = {
    &kit_kernel_region_kit,      &kit_kernel_cast_kit,    &kit_kernel_reorder_to_b8,
    &kit_kernel_reorder_from_b8, &kit_kernel_scale_plain, &kit_kernel_scale_plain_better,
    &kit_kernel_scale_b8,        &kit_kernel_any_any,     &kit_kernel_add_any,
    &kit_kernel_lead_plain,      &kit_kernel_pick_plain,  &kit_kernel_fill_plain,
    &kit_kernel_count_plain,     &kit_kernel_pack_plain,  &kit_kernel_wide_plain};

static const tn_plugin kit_plugin = {.head = TN_HEAD(tn_plugin),
                                     .name = "plan_kit",
                                     .version = "1",
                                     .license = "Apache-2.0",
                                     .build_id = "test",
                                     .flavour = TN_FLAVOUR,
                                     .n_ops = sizeof kit_ops / sizeof *kit_ops,
                                     .n_kernels = sizeof kit_kernels / sizeof *kit_kernels,
                                     .ops = kit_ops,
                                     .kernels = kit_kernels};
static const tn_plugin *kit_query(uint32_t major, uint32_t minor) {
  (void)major, (void)minor;
  return &kit_plugin;
}

/* ---- the runtime ---- */

typedef struct kit {
  tn_runtime *runtime;
  tn_diag *diag;
  tn_planner planner; /* for tests that call passes themselves */
} kit;

static inline kit kit_open(const char *const *pins, uint32_t n_pins) {
  kit k = {.diag = tn_diag_create()};
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  o.n_threads = 1;
  o.flags = TN_RUNTIME_NO_BUILTINS | TN_RUNTIME_NO_DISCOVERY;
  o.pins = pins;
  o.n_pins = n_pins;
  kit_defaults();
  tn_status s = tn_runtime_create(&o, k.diag, &k.runtime);
  if (!s) s = tn_runtime_add_plugin(k.runtime, kit_query, NULL, 0, k.diag);
  if (s) print_message("%s\n", tn_diag_text(k.diag));
  assert_int_equal(s, TN_OK);
  k.planner = (tn_planner){.a = &k.runtime->allocator,
                           .registry = k.runtime->registry,
                           .pool = k.runtime->pool,
                           .isa = k.runtime->isa,
                           .pins = pins,
                           .n_pins = n_pins,
                           .max_plans = 3,
                           .eval = tn_eval_node,
                           .serial = &k.runtime->serial};
  assert_int_equal(tn_packed_cache_create(k.planner.a, &k.planner.states), TN_OK);
  return k;
}

static inline void kit_close(kit *k) {
  tn_packed_cache_destroy(k->planner.states);
  tn_runtime_destroy(k->runtime);
  tn_diag_destroy(k->diag);
}

static inline void kit_ok(const kit *k, tn_status s) {
  if (s) print_message("%s: %s\n", tn_status_text(s), tn_diag_text(k->diag));
  assert_int_equal(s, TN_OK);
}

/* ---- graphs ---- */

static inline tn_graph *kit_graph(const kit *k) {
  tn_graph *g = NULL;
  assert_int_equal(tn_graph_create(k->runtime, &g), TN_OK);
  assert_int_equal(tn_graph_functions()->set_opset(g, "t", 1), TN_OK);
  return g;
}

static inline tn_tensor kit_type(uint32_t dtype, int32_t rank, const int64_t *shape) {
  return tn_tensor_make(dtype, rank, shape, NULL);
}

static inline void kit_input(tn_graph *g, const char *name, const tn_tensor *type) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t v = api->value(g, name);
  assert_int_equal(api->value_set_type(g, v, type), TN_OK);
  assert_int_equal(api->add_input(g, v), TN_OK);
}

static inline void kit_const(tn_graph *g, const char *name, const tn_tensor *data) {
  const tn_graph_api *api = tn_graph_functions();
  assert_int_equal(api->value_set_const(g, api->value(g, name), data, 1), TN_OK);
}

static inline void kit_output(tn_graph *g, const char *name) {
  const tn_graph_api *api = tn_graph_functions();
  assert_int_equal(api->add_output(g, api->value(g, name)), TN_OK);
}

/* ins: names with a space between. The node is called like its output. */
static inline void kit_node(tn_graph *g, const char *op, const char *ins, const char *out) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t in[16], o = api->value(g, out);
  uint32_t n = 0;
  char text[512];
  snprintf(text, sizeof text, "%s", ins);
  for (char *save = NULL, *name = strtok_r(text, " ", &save); name;
       name = strtok_r(NULL, " ", &save))
    in[n++] = api->value(g, name);
  tn_node node = {.head = TN_HEAD(tn_node),
                  .domain = "t",
                  .op = op,
                  .name = out,
                  .n_inputs = n,
                  .n_outputs = 1,
                  .inputs = in,
                  .outputs = &o,
                  .offset = -1};
  assert_true(api->add_node(g, &node) >= 0);
}

/* ---- callables and plans ---- */

static inline tn_callable *kit_callable(kit *k, tn_graph *g) {
  tn_callable *c = NULL;
  kit_ok(k, tn_callable_create_take(&k->planner, g, "model", k->diag, &c));
  return c;
}

static inline tn_plan *kit_plan(kit *k, tn_callable *c, const tn_tensor *input) {
  tn_plan *plan = NULL;
  kit_ok(k, tn_callable_plan(c, &input, 0, k->diag, &plan));
  return plan;
}

/* Steps whose operator or kernel has this name, followers included. */
static inline int kit_count(const tn_plan *plan, const char *name) {
  int n = 0;
  for (int32_t k = 0; k < plan->n_steps; k++) {
    const tn_step *s = &plan->steps[k];
    n += !strcmp(s->node->node.op, name) || !strcmp(s->choice->def->kernel.name, name);
    for (uint32_t f = 0; f < s->n_followers; f++)
      n += !strcmp(s->followers[f].node->node.op, name) ||
           !strcmp(s->followers[f].choice->def->kernel.name, name);
  }
  return n;
}

static inline const tn_step *kit_step(const tn_plan *plan, const char *node) {
  for (int32_t k = 0; k < plan->n_steps; k++) {
    const tn_step *s = &plan->steps[k];
    if (!strcmp(s->node->node.name, node)) return s;
    for (uint32_t f = 0; f < s->n_followers; f++)
      if (!strcmp(s->followers[f].node->node.name, node)) return &s->followers[f];
  }
  return NULL;
}

/* Runs a callable on one f32 input; answers a frame whose outputs can be read. */
static inline tn_frame *kit_run(kit *k, tn_callable *c, const tn_tensor *input) {
  tn_frame *f = NULL;
  kit_ok(k, tn_frame_create(k->planner.a, k->planner.pool, c, NULL, &f));
  kit_ok(k, tn_frame_run(f, &input, NULL, NULL, k->diag));
  return f;
}

#endif
