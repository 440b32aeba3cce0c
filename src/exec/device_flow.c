/* Who writes and reads what, in a plan of which steps are on devices: found once per plan, asked
 * before each run. */
#include "exec/device_frame.h"

enum { NOBODY = -1, SEVERAL = -2 };

/* Of a slot that others may lie on. */
typedef struct tn_flow_root {
  int32_t writer;         /* step: of all that lies on it */
  int32_t n_reads;        /* steps and continuations; uploads are among them */
  int32_t n_uploads;      /* steps that copy it, or a part of it, to a device */
  uint32_t upload_device; /* all of them to this one; 0: there is none, or they differ */
  int32_t n_outputs;
  int32_t last_reader; /* while the table is filled */
} tn_flow_root;

struct tn_flow {
  int32_t *writer;         /* per slot: the step that writes just that */
  uint32_t *writer_output; /* per slot: which output of the step it is */
  tn_flow_root *roots;     /* per slot; of use for those that own memory */
};

/* ---- the table ---- */

static void count_read(const tn_setup *s, int32_t step, int32_t slot) {
  if (slot < 0) return;
  tn_flow_root *r = &s->devices->flow->roots[s->root[slot]];
  r->n_reads += r->last_reader != step;
  r->last_reader = step;
}

static void count_writes(const tn_setup *s, int32_t step, const tn_gnode *node) {
  struct tn_flow *flow = s->devices->flow;
  for (uint32_t k = 0; k < node->node.n_outputs; k++) {
    const int32_t slot = node->node.outputs[k];
    if (slot < 0) continue;
    tn_flow_root *r = &flow->roots[s->root[slot]];
    r->writer = r->writer == NOBODY || r->writer == step ? step : SEVERAL;
    flow->writer[slot] = flow->writer[slot] == NOBODY ? step : SEVERAL;
    flow->writer_output[slot] = k;
  }
}

static void count_upload(const tn_setup *s, const tn_step *step) {
  if (!step->device || step->device->direction != TN_UPLOAD) return;
  tn_flow_root *r = &s->devices->flow->roots[s->root[step->node->node.inputs[0]]];
  const bool is_same = !r->n_uploads || r->upload_device == step->device->device;
  r->upload_device = is_same ? step->device->device : 0;
  r->n_uploads++;
}

static void count_step(const tn_setup *s, int32_t k, const tn_step *step) {
  for (uint32_t j = 0; j < step->node->node.n_inputs; j++)
    count_read(s, k, step->node->node.inputs[j]);
  count_writes(s, k, step->node);
  for (uint32_t j = 0; j < step->n_followers; j++) count_step(s, k, &step->followers[j]);
}

static void fill(const tn_setup *s) {
  const tn_plan *plan = s->plan;
  struct tn_flow *flow = s->devices->flow;
  for (int32_t k = 0; k < plan->n_slots; k++) {
    flow->writer[k] = NOBODY;
    flow->roots[k] = (tn_flow_root){.writer = NOBODY, .last_reader = NOBODY};
  }
  for (int32_t k = 0; k < plan->n_steps; k++) {
    count_step(s, k, &plan->steps[k]);
    count_upload(s, &plan->steps[k]);
  }
  for (int32_t k = 0; k < plan->n_continuation_inputs; k++)
    count_read(s, plan->n_steps, plan->continuation_inputs[k]);
  for (int32_t k = 0; k < plan->n_outputs; k++)
    if (plan->outputs[k] >= 0) flow->roots[s->root[plan->outputs[k]]].n_outputs++;
}

tn_status tn_flow_fill(tn_setup *s) {
  const uint64_t n = (uint64_t)s->plan->n_slots + 1;
  struct tn_flow *flow = tn_arena_alloc(&s->memory, sizeof *flow);
  if (!flow) return TN_ERR_MEMORY;
  flow->writer = tn_arena_alloc(&s->memory, n * sizeof *flow->writer);
  flow->writer_output = tn_arena_alloc(&s->memory, n * sizeof *flow->writer_output);
  flow->roots = tn_arena_alloc(&s->memory, n * sizeof *flow->roots);
  if (!flow->writer || !flow->writer_output || !flow->roots) return TN_ERR_MEMORY;
  s->devices->flow = flow;
  fill(s);
  return TN_OK;
}

/* ---- questions ---- */

static const tn_flow_root *root_of(const tn_setup *s, int32_t root) {
  return &s->devices->flow->roots[root];
}

static const tn_step *writer_of(const tn_setup *s, int32_t slot) {
  const int32_t step = s->devices->flow->writer[slot];
  return step >= 0 ? &s->plan->steps[step] : NULL;
}

static uint32_t index_of(const tn_frame *f, const tn_device *d) {
  for (uint32_t k = 0; k < f->planner->n_devices; k++)
    if (f->planner->devices[k] == d) return k + 1;
  return 0;
}

bool tn_flow_is_only_writer(const tn_setup *s, const tn_step *step, int32_t root) {
  return root_of(s, root)->writer == step - s->plan->steps;
}

bool tn_flow_is_read_here(const tn_frame *f, const tn_setup *s, int32_t root, const tn_device *d) {
  const tn_flow_root *r = root_of(s, root);
  const bool is_there = d && r->upload_device && r->upload_device == index_of(f, d);
  return r->n_reads > (is_there ? r->n_uploads : 0);
}

bool tn_flow_is_unread(const tn_setup *s, int32_t root) { return !root_of(s, root)->n_reads; }

int32_t tn_flow_n_outputs(const tn_setup *s, int32_t root) { return root_of(s, root)->n_outputs; }

const tn_step *tn_flow_download(const tn_setup *s, int32_t k) {
  const tn_plan *plan = s->plan;
  const int32_t slot = plan->outputs[k];
  if (plan->continuation && plan->continuation_outputs[k] >= 0) return NULL;
  if (slot < 0 || s->root[slot] != slot || s->first_alias[slot] >= 0 ||
      plan->slots[slot].type->layout != TN_PLAIN)
    return NULL;
  const tn_step *step = writer_of(s, slot);
  const tn_flow_root *r = root_of(s, slot);
  const bool is_down = step && step->device && step->device->direction == TN_DOWNLOAD;
  return is_down && r->n_outputs == 1 && !r->n_reads ? step : NULL;
}

static int64_t bytes_of(const tn_setup *s, int32_t slot) {
  return tn_storage_bytes(s->plan->slots[slot].type);
}

bool tn_flow_is_in_place(const tn_setup *s, const tn_step *download, int32_t input) {
  const tn_plan *plan = s->plan;
  const int32_t to = download->node->node.inputs[0], from = plan->inputs[input];
  const tn_step *step = s->root[to] == to ? writer_of(s, to) : NULL;
  const uint32_t j = s->devices->flow->writer_output[to];
  if (!step || j >= TN_MAX_IN_PLACE || step->choice->plan.in_place[j] < 0) return false;
  const int32_t copy = step->node->node.inputs[step->choice->plan.in_place[j]];
  if (copy < 0 || s->root[copy] != copy || plan->slots[copy].device != plan->slots[to].device ||
      plan->slots[copy].offset != plan->slots[to].offset || bytes_of(s, copy) != bytes_of(s, to))
    return false;
  const tn_step *upload = writer_of(s, copy);
  return upload && upload->device && upload->device->direction == TN_UPLOAD &&
         upload->node->node.inputs[0] == from && root_of(s, from)->n_uploads == 1 &&
         tn_flow_is_only_writer(s, upload, copy);
}

/* ---- where a value that is kept from run to run lies best ---- */

static const tn_device *device_at(const tn_frame *f, uint32_t device) {
  return device ? f->planner->devices[device - 1] : NULL;
}

/* What comes in goes out as it is. */
static tn_home home_of_kept(const tn_frame *f, const tn_setup *s, int32_t slot) {
  const tn_flow_root *r = root_of(s, slot);
  if (!r->n_reads) return (tn_home){.is_the_same = true, .is_anywhere = true};
  const tn_device *d = device_at(f, r->upload_device);
  const bool is_there = d && !tn_flow_is_read_here(f, s, slot, d);
  return (tn_home){.device = is_there ? d : NULL, .is_the_same = true};
}

tn_home tn_frame_home(const tn_frame *f, int32_t input, int32_t output) {
  const tn_setup *s = f->now;
  const tn_home here = {.device = NULL};
  const tn_plan *plan = s->plan;
  const int32_t slot = plan->inputs[input];
  if (!s->devices || plan->key[input].data ||
      (plan->continuation && plan->continuation_outputs[output] >= 0))
    return here;
  if (plan->outputs[output] == slot)
    return tn_flow_n_outputs(s, slot) == 1 ? home_of_kept(f, s, slot) : here;
  const tn_step *down = tn_flow_download(s, output);
  const tn_flow_root *r = root_of(s, slot);
  if (!down || r->n_outputs) return here;
  const tn_device *d = device_at(f, down->device->device);
  if (tn_flow_is_read_here(f, s, slot, d)) return here;
  return (tn_home){.device = d, .is_twice = r->n_reads && !tn_flow_is_in_place(s, down, input)};
}
