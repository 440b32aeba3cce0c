/* Selection: measured costs of kernels in place of their estimates (see tuning.h). */
#include "base/map.h"
#include "plan/constants/packed.h"
#include "plan/select/select.h"
#include "plan/tuning/tuning.h"

enum { MAX_KEY = 1000 }; /* far less than what a file of tuning takes in one line */

/* ---- keys ---- */

static void add_tensor(tn_text *key, const tn_tensor *t) {
  if (!t) {
    tn_text_add(key, " -");
    return;
  }
  tn_text_add(key, " %s[", tn_dtype_name(t->dtype));
  for (int32_t d = 0; d < t->rank; d++)
    tn_text_add(key, "%s%lld", d ? "," : "", (long long)t->shape[d]);
  tn_text_add(key, t->data ? "]!" : "]");
  if (t->layout != TN_PLAIN) tn_text_add(key, "%s", tn_layout_text(t->layout));
}

/* Nodes may have thousands of inputs: what is behind the limit becomes a hash. */
static void shorten(tn_text *key) {
  if (key->status || key->n <= MAX_KEY) return;
  const uint64_t rest = tn_hash_bytes(key->data + MAX_KEY, (uint64_t)(key->n - MAX_KEY), 0);
  key->n = MAX_KEY;
  tn_text_add(key, "... rest=%016llx", (unsigned long long)rest);
}

static void add_key(tn_text *key, const tn_kerneldef *def, const tn_opdef *op,
                    const tn_call *call) {
  tn_text_add(key, "%s %s-%d", def->kernel.name, op->op.name, call->version);
  for (uint32_t k = 0; k < call->n_inputs; k++) add_tensor(key, call->inputs[k]);
  tn_text_add(key, " ->");
  for (uint32_t k = 0; k < call->n_outputs; k++) add_tensor(key, call->outputs[k]);
  for (uint32_t k = 0; k < call->n_epilogue; k++)
    tn_text_add(key, " +%u", (unsigned)call->epilogue[k]->kind);
  const uint64_t attrs = tn_attrs_hash(&op->schema, call->attrs, 0);
  tn_text_add(key, " attributes=%016llx threads=%u domain=%s device=%s", (unsigned long long)attrs,
              call->n_workers, *op->op.domain ? op->op.domain : "ai.onnx",
              def->kernel.device ? def->kernel.device : "cpu");
  shorten(key);
}

/* ---- costs ---- */

/* Times the kernel, unless another session has done so meanwhile. */
static tn_status measure(const tn_planner *p, const char *key, const tn_gnode *node,
                         const tn_kerneldef *def, const tn_kernel_plan *plan, const tn_call *call,
                         uint64_t *out_ns) {
  tn_tuning_begin(p->tuning);
  tn_status status = TN_OK;
  *out_ns = tn_tuning_find(p->tuning, key);
  if (!*out_ns) {
    status = p->measure(p, node, def, plan, call->inputs, call->outputs, out_ns);
    if (!status) status = tn_tuning_set(p->tuning, key, *out_ns);
  }
  tn_tuning_end(p->tuning);
  return status;
}

tn_status tn_select_cost(const tn_selection *s, const tn_gnode *node, const tn_kerneldef *def,
                         const tn_kernel_plan *plan, const tn_call *call, double estimate,
                         double *out_ns) {
  const tn_planner *p = s->p;
  tn_text key;
  *out_ns = estimate;
  if (!s->is_tuned || call->n_regions || node->n_subgraphs) return TN_OK;
  tn_text_init(&key, p->a);
  add_key(&key, def, node->def, call);
  tn_status status = key.status;
  uint64_t ns = status ? 0 : tn_tuning_find(p->tuning, key.data);
  if (!status && !ns && s->measures) {
    status = measure(p, key.data, node, def, plan, call, &ns);
    if (status != TN_ERR_MEMORY) status = TN_OK; /* it may still run on what the user has */
  }
  tn_text_free(&key);
  if (ns) *out_ns = (double)ns;
  return status;
}
