/* A file of a format that is vetted, written by its own writer: of the first small graph that it
 * takes. */
#include <string.h>

#include "exec/model.h"
#include "harness/harness.h"
#include "harness/vet.h"

typedef struct writing { /* ctx of the sink */
  tn_io io;
  tn_text text;
} writing;

static tn_status write_bytes(void *ctx, const void *data, uint64_t size) {
  writing *w = ctx;
  if (size > INT64_MAX || (size && !data)) return TN_ERR_INVALID;
  tn_text_add_bytes(&w->text, data, (int64_t)size);
  return w->text.status;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* x -> op -> h -> op -> y in f32[2,3]; without an operator: y is x. */
static void build(tn_graph *g, const char *domain, const char *op) {
  const tn_graph_api *api = tn_graph_functions();
  const tn_tensor type = tn_tensor_make(TN_F32, 2, (int64_t[]){2, 3}, NULL);
  const int32_t ids[] = {api->value(g, "x"), api->value(g, "h"), api->value(g, "y")};
  api->value_set_type(g, ids[0], &type);
  api->add_input(g, ids[0]);
  for (int k = 0; k < 2 && op; k++) {
    const tn_node node = {.head = TN_HEAD(tn_node),
                          .domain = domain,
                          .op = op,
                          .name = k ? "second" : "first",
                          .n_inputs = 1,
                          .n_outputs = 1,
                          .inputs = &ids[k],
                          .outputs = &ids[k + 1],
                          .offset = -1};
    api->add_node(g, &node);
  }
  api->add_output(g, op ? ids[2] : ids[0]);
}

/* Of the plug-in's operators, one with one input and one output. */
static const tn_opdef *own_op(const check_env *env) {
  const tn_registry *r = env->runtime->registry;
  for (int32_t k = 0; k < tn_registry_n_ops(r); k++) {
    const tn_opdef *op = tn_registry_op_at(r, k);
    if (check_op_wanted(env, op) && op->schema.n_inputs == 1 && op->schema.n_outputs == 1)
      return op;
  }
  return NULL;
}

static tn_status make_model(check_env *env, int number, tn_diag *diag, tn_model **out_model) {
  const tn_model_options options = {.head = TN_HEAD(tn_model_options),
                                    .flags = TN_MODEL_GRAPH_ONLY};
  static const char *const known[] = {"Neg", "Relu", "Identity", NULL};
  const tn_opdef *own = number ? NULL : own_op(env);
  tn_graph *g = NULL;
  if (!number && !own) return TN_ERR_NOT_FOUND;
  if (tn_graph_create(env->runtime, &g)) check_die("no graph");
  const char *domain = own ? own->op.domain : "";
  tn_graph_functions()->set_opset(g, domain, own ? own->op.since : env->newest);
  build(g, domain, own ? own->op.name : known[number - 1]);
  return tn_model_from_graph_take(env->runtime, g, &options, diag, out_model);
}

/* ---- writing --------------------------------------------------------------------------------- */

static tn_status write_one(check_env *env, const tn_format *format, int number, writing *w) {
  tn_model *model = NULL;
  tn_status s = make_model(env, number, w->io.diag, &model);
  if (s) return s;
  const tn_sink sink = {.head = TN_HEAD(tn_sink),
                        .host = &tn_io_host,
                        .ctx = w,
                        .self = tn_registry_format_self(format),
                        .write = write_bytes};
  check_doing(env, "write()");
  s = format->write(&sink, tn_model_graph(model));
  if (!tn_is_status(s)) check_fail(env, "write() answers %d, which is no status", s);
  tn_model_destroy(model);
  return s;
}

void check_sample_write(check_env *env, const tn_format *format, check_sample *out) {
  const tn_allocator *a = tn_default_allocator();
  for (int number = 0; number < 5 && !out->bytes; number++) {
    tn_diag *diag = check_need(tn_diag_create());
    writing w = {.io = {.a = a, .diag = diag, .path = "a small graph"}};
    tn_text_init(&w.text, a);
    const tn_status s = write_one(env, format, number, &w);
    if (!s && w.text.n > 0) {
      out->bytes = (uint64_t)w.text.n;
      out->data = check_need(tn_alloc(a, out->bytes));
      memcpy(out->data, tn_text_get(&w.text), out->bytes);
    } else if (s && tn_diag_count(diag)) {
      snprintf(out->why, sizeof out->why, "%s", tn_diag_text(diag));
    }
    tn_text_free(&w.text);
    tn_diag_destroy(diag);
  }
}

void check_sample_free(check_sample *s) { tn_free(tn_default_allocator(), s->data, s->bytes); }
