/* Plan files: the plan of a session as words, with constants, packed weights and attributes behind
 * them (src/planfile/format.h). */
#include "plan_write.h"

#include <string.h>

#include "base/cpu.h"
#include "base/diag.h"
#include "base/sha256.h"
#include "exec/session.h"
#include "plan/constants/packed_key.h"
#include "planfile/format.h"
#include "registry/builtin.h"

typedef struct blob {
  const void *from;
  uint64_t bytes, offset;
} blob;

typedef struct writer {
  const tn_setup *setup;
  const tn_plan *plan;
  const tn_registry *registry;
  tn_diag *diag;
  tn_part_list *parts;
  tn_text words, data;
  TN_VEC(blob) blobs; /* that are in the data */
  tn_status status;
  uint64_t isa;
  bool has_tensors; /* among attributes: their structs hold a pointer by itself */
} writer;

/* ---- words and data ---- */

static void word(writer *w, uint64_t value) {
  tn_text_add_bytes(&w->words, (const char *)&value, sizeof value);
}

static void number(writer *w, int64_t value) { word(w, (uint64_t)value); }

static void text(writer *w, const char *s) {
  static const char zeros[8];
  const int64_t n = (int64_t)strlen(s);
  number(w, n);
  tn_text_add_bytes(&w->words, s, n);
  tn_text_add_bytes(&w->words, zeros, 8 - n % 8);
}

static void align(tn_text *t, int64_t to) {
  static const char zeros[TN_PLANFILE_ALIGN];
  if (t->n % to) tn_text_add_bytes(t, zeros, to - t->n % to);
}

/* Where the bytes are in the data; each once. */
static uint64_t put(writer *w, const void *from, uint64_t bytes) {
  for (int64_t k = 0; k < w->blobs.n; k++)
    if (w->blobs.data[k].from == from && w->blobs.data[k].bytes == bytes)
      return w->blobs.data[k].offset;
  align(&w->data, TN_PLANFILE_ALIGN);
  const blob b = {from, bytes, (uint64_t)w->data.n};
  tn_text_add_bytes(&w->data, from, (int64_t)bytes);
  if (tn_vec_push(tn_default_allocator(), &w->blobs, b)) w->status = TN_ERR_MEMORY;
  return b.offset;
}

/* ---- values ---- */

static uint64_t bytes_of(const tn_tensor *t) {
  const int64_t bytes = tn_storage_bytes(t);
  return bytes > 0 ? (uint64_t)bytes : 0;
}

static bool reads(const tn_step *step, int32_t slot) {
  bool found = false;
  for (uint32_t k = 0; k < step->node->node.n_inputs; k++)
    found = found || (step->node->node.inputs[k] == slot && !(k < 64 && step->packed >> k & 1));
  for (uint32_t k = 0; k < step->n_followers; k++)
    found = found || reads(&step->followers[k], slot);
  return found;
}

/* Does anybody read the elements of a constant when the plan runs? */
static bool is_read(const tn_plan *p, int32_t slot) {
  bool found = false;
  for (int32_t k = 0; k < p->n_outputs; k++) found = found || p->outputs[k] == slot;
  for (int32_t k = 0; k < p->n_steps && !found; k++) found = reads(&p->steps[k], slot);
  return found;
}

static void write_place(writer *w, int32_t k) {
  const tn_slot *slot = &w->plan->slots[k];
  const tn_tensor *value = &w->setup->values[k];
  tn_place_kind place = TN_IN_NONE;
  uint64_t offset = slot->offset;
  if (slot->place == TN_PLACE_ARENA) place = TN_IN_ARENA;
  if (slot->place == TN_PLACE_INPUT) place = TN_IN_INPUT;
  if (slot->place == TN_PLACE_CONST && value->data && is_read(w->plan, k)) {
    place = TN_IN_DATA;
    offset = put(w, value->data, bytes_of(value));
  }
  word(w, place);
  word(w, place == TN_IN_NONE ? 0 : offset);
  number(w, place == TN_IN_INPUT ? slot->index : -1);
}

static void write_type(writer *w, const tn_tensor *t) {
  word(w, t->dtype);
  word(w, t->layout);
  number(w, t->rank);
  for (int32_t k = 0; k < t->rank; k++) number(w, t->shape[k]);
}

/* A value that no step reads or writes any more may be of no type: a bool without elements. */
static void write_values(writer *w) {
  static const tn_tensor nothing = {.dtype = TN_BOOL, .rank = 1};
  number(w, w->plan->n_slots);
  for (int32_t k = 0; k < w->plan->n_slots; k++) {
    const tn_slot *slot = &w->plan->slots[k];
    write_place(w, k);
    write_type(w, slot->place == TN_PLACE_NONE ? &nothing : slot->type);
  }
}

static void write_ports(writer *w, const tn_model *model) {
  number(w, w->plan->n_inputs);
  for (int32_t k = 0; k < w->plan->n_inputs; k++) {
    number(w, w->plan->inputs[k]);
    text(w, tn_model_input_name(model, k));
  }
  number(w, w->plan->n_outputs);
  for (int32_t k = 0; k < w->plan->n_outputs; k++) {
    number(w, w->plan->outputs[k]);
    text(w, tn_model_output_name(model, k));
  }
}

/* ---- attributes ---- */

/* A copy of a struct, and of what it points to. */
typedef struct image {
  tn_text bytes;
  TN_VEC(uint64_t) pointers; /* at, to, at, to ... */
} image;

static uint64_t append(image *i, const void *from, uint64_t bytes) {
  align(&i->bytes, 16);
  const uint64_t at = (uint64_t)i->bytes.n;
  tn_text_add_bytes(&i->bytes, from, (int64_t)bytes);
  return at;
}

/* The pointer at `at` of the image leads to `to` of it; the one that was there is taken away. */
static void point(writer *w, image *i, uint64_t at, uint64_t to) {
  const void *none = NULL;
  if (!i->bytes.status) memcpy(i->bytes.data + at, &none, sizeof none);
  if (tn_vec_push(tn_default_allocator(), &i->pointers, at) ||
      tn_vec_push(tn_default_allocator(), &i->pointers, to))
    w->status = TN_ERR_MEMORY;
}

static void add_str(writer *w, image *i, uint64_t at, const tn_str *s) {
  if (s->data) point(w, i, at, append(i, s->data, (uint64_t)s->size));
}

static void add_tensor(writer *w, image *i, uint64_t at, const tn_tensor *t) {
  if (!t) return;
  const uint64_t place = append(i, t, sizeof *t);
  point(w, i, at, place);
  if (t->data) point(w, i, place + offsetof(tn_tensor, data), append(i, t->data, bytes_of(t)));
}

/* A list: a pointer and a size. */
static void add_list(writer *w, image *i, const tn_arg *arg, uint64_t at, const void *from) {
  tn_ints list;
  memcpy(&list, from, sizeof list);
  if (!list.data || list.size <= 0) return;
  const bool strings = arg->base == TN_TYPE_STR || arg->base == TN_TYPE_DIMNAME;
  const uint64_t size = strings ? sizeof(tn_str) : 8;
  const uint64_t place = append(i, list.data, (uint64_t)list.size * size);
  point(w, i, at, place);
  for (int64_t k = 0; k < list.size; k++) {
    const uint64_t element = place + (uint64_t)k * size;
    if (strings) add_str(w, i, element, (const tn_str *)(const void *)list.data + k);
    if (arg->base == TN_TYPE_TENSOR)
      add_tensor(w, i, element, ((const tn_tensor *const *)(const void *)list.data)[k]);
  }
}

static void add_attr(writer *w, image *i, const tn_arg *arg, const uint8_t *attrs) {
  w->has_tensors = w->has_tensors || arg->base == TN_TYPE_TENSOR;
  const uint64_t at = (uint64_t)arg->offset;
  const void *from = attrs + at;
  if (arg->list) {
    add_list(w, i, arg, at, from);
  } else if (arg->base == TN_TYPE_STR || arg->base == TN_TYPE_DIMNAME) {
    tn_str s;
    memcpy(&s, from, sizeof s);
    add_str(w, i, at, &s);
  } else if (arg->base == TN_TYPE_TENSOR) {
    const tn_tensor *t;
    memcpy(&t, from, sizeof t);
    add_tensor(w, i, at, t);
  }
}

static void write_attrs(writer *w, const tn_step *step) {
  const tn_opdef *op = tn_registry_op(w->registry, step->choice->def->domain, step->choice->def->op,
                                      step->node->node.version);
  const tn_schema *schema = op ? &op->schema : NULL;
  image i = {.bytes = {.a = tn_default_allocator()}};
  if (schema && step->node->attrs && schema->attrs_size) {
    append(&i, step->node->attrs, (uint64_t)schema->attrs_size);
    for (int32_t k = 0; k < schema->n_args; k++)
      if (schema->args[k].role == TN_ROLE_ATTR)
        add_attr(w, &i, &schema->args[k], step->node->attrs);
    align(&i.bytes, 8);
  }
  if (i.bytes.status) w->status = i.bytes.status;
  number(w, i.bytes.n);
  align(&w->data, TN_PLANFILE_ALIGN);
  word(w, i.bytes.n ? (uint64_t)w->data.n : 0);
  if (i.bytes.n) tn_text_add_bytes(&w->data, i.bytes.data, i.bytes.n);
  number(w, i.pointers.n / 2);
  for (int64_t k = 0; k < i.pointers.n; k++) word(w, i.pointers.data[k]);
  tn_vec_free(tn_default_allocator(), &i.pointers);
  tn_text_free(&i.bytes);
}

/* ---- steps ---- */

static void write_slots(writer *w, const int32_t *slots, uint32_t n, uint32_t entries) {
  word(w, n);
  word(w, entries > n ? entries : n);
  for (uint32_t k = 0; k < n; k++) number(w, slots[k]);
}

static void write_epilogue(writer *w, const tn_step *step) {
  word(w, step->node->n_epilogue);
  for (uint32_t k = 0; k < step->node->n_epilogue; k++) {
    const tn_epilogue *e = step->node->epilogue[k];
    uint64_t a, b;
    memcpy(&a, &e->a, sizeof a);
    memcpy(&b, &e->b, sizeof b);
    word(w, e->kind);
    number(w, e->input);
    word(w, a);
    word(w, b);
  }
}

static void write_regions(writer *w, const tn_step *step) {
  word(w, step->node->n_regions);
  number(w, step->node->n_regions ? step->node->region_fill : -1);
  for (uint32_t k = 0; k < step->node->n_regions; k++) {
    const tn_region *g = step->node->regions[k];
    number(w, g->input);
    number(w, g->rank);
    number(w, g->src_offset);
    number(w, g->dst_offset);
    for (int32_t d = 0; d < g->rank; d++) {
      number(w, g->size[d]);
      number(w, g->src_stride[d]);
      number(w, g->dst_stride[d]);
    }
  }
}

static void write_room(writer *w, uint64_t bytes, uint64_t offset) {
  word(w, bytes);
  word(w, bytes ? offset : 0);
}

static void note(writer *w, const char *what, const char *kernel) {
  char line[300];
  snprintf(line, sizeof line, "%s %s", what, kernel);
  if (tn_part_list_add(w->parts, line)) w->status = TN_ERR_MEMORY;
}

static void write_state(writer *w, const tn_step *step) {
  const uint64_t bytes = step->state ? step->choice->plan.state_bytes : 0;
  const bool lasts = tn_packed_state_lasts(step->choice->def);
  word(w, bytes);
  word(w, !bytes ? TN_STATE_NONE : lasts ? TN_STATE_IN_DATA : TN_STATE_MADE);
  word(w, bytes && lasts ? put(w, step->state, bytes) : 0);
  if (bytes && !lasts) note(w, "prepares", step->choice->def->kernel.name);
}

static void write_step(writer *w, const tn_step *step) {
  const tn_kernel_plan *plan = &step->choice->plan;
  note(w, "runs", step->choice->def->kernel.name);
  w->isa |= step->choice->def->kernel.isa;
  text(w, step->choice->def->kernel.name);
  number(w, step->node->node.version);
  number(w, plan->elements_per_item);
  word(w, plan->n_stages);
  for (uint32_t k = 0; k < plan->n_stages; k++) {
    number(w, tn_max_i64(plan->items[k], 0));
    number(w, tn_max_i64(step->choice->chunk[k], 1));
  }
  write_room(w, plan->scratch_bytes, step->scratch_offset);
  write_room(w, tn_round_up(plan->worker_scratch_bytes, 64), step->worker_scratch_offset);
  write_state(w, step);
  write_attrs(w, step);
  write_slots(w, step->node->node.inputs, step->node->node.n_inputs,
              tn_node_entries(step->node, false));
  write_slots(w, step->node->node.outputs, step->node->node.n_outputs,
              tn_node_entries(step->node, true));
  write_epilogue(w, step);
  write_regions(w, step);
  word(w, step->n_followers);
  for (uint32_t k = 0; k < step->n_followers; k++) write_step(w, &step->followers[k]);
}

static void write_steps(writer *w) {
  uint64_t n = 0;
  for (int32_t k = 0; k < w->plan->n_steps; k++) n += 1 + w->plan->steps[k].n_followers;
  word(w, n);
  for (int32_t k = 0; k < w->plan->n_steps; k++) write_step(w, &w->plan->steps[k]);
}

/* ---- what cannot be written ---- */

static const char *refusal_of(const writer *w, const tn_step *step) {
  if (!step->choice->def->owner || !step->choice->def->owner->is_builtin)
    return "its kernel is a plug-in's";
  if (step->device) return "it runs on a device";
  if (step->n_bodies) return "it runs subgraphs, which are planned when it runs";
  if (step->choice->plan.flags & TN_PLAN_DATA_DEPENDENT)
    return "its outputs' shapes depend on data";
  for (uint32_t k = 0; k < step->node->node.n_inputs + step->node->node.n_outputs; k++) {
    const int32_t slot = k < step->node->node.n_inputs
                             ? step->node->node.inputs[k]
                             : step->node->node.outputs[k - step->node->node.n_inputs];
    const tn_tensor *t = slot < 0 ? NULL : w->plan->slots[slot].type;
    if (t && (t->kind != TN_KIND_TENSOR || t->dtype == TN_STRING || tn_storage_bytes(t) < 0))
      return "it handles lists, strings or values of unknown size";
  }
  return NULL;
}

static void check_step(writer *w, const tn_step *step) {
  const char *why = refusal_of(w, step);
  if (why)
    w->status = tn_fail(
        w->diag, TN_ERR_UNSUPPORTED, "node '%s' (%s), kernel '%s': no part of a plan file: %s",
        step->node->node.name, step->node->node.op, step->choice->def->kernel.name, why);
  for (uint32_t k = 0; k < step->n_followers; k++) check_step(w, &step->followers[k]);
}

static void check_plan(writer *w, const tn_model *model) {
  for (int32_t k = 0; k < w->plan->n_steps; k++) check_step(w, &w->plan->steps[k]);
  if (w->plan->continuation)
    w->status =
        tn_fail(w->diag, TN_ERR_UNSUPPORTED, "plan file: shapes of %s depend on the data of a run",
                w->plan->continuation->name);
  if (w->plan->n_inputs != tn_model_n_inputs(model))
    w->status = tn_fail(w->diag, TN_ERR_UNSUPPORTED,
                        "plan file: the model has states, or inputs with defaults");
}

/* ---- the whole ---- */

/* Words that are known when all steps are written. */
typedef struct late_words {
  uint64_t pointer, isa, data;
} late_words;

static void write_head(writer *w, const tn_planner *planner, const char *build, late_words *at) {
  word(w, TN_PLANFILE_VERSION);
  at->pointer = (uint64_t)w->words.n;
  word(w, 0);
  text(w, build);
  at->isa = (uint64_t)w->words.n;
  word(w, 0);
  word(w, planner->isa);
  word(w, w->setup->arena_need);
}

/* Joins words and data behind what says how long they are and what they hash to. */
static void join(writer *w, const late_words *at, tn_text *out) {
  char sum[TN_SHA256_TEXT];
  const uint64_t magic = TN_PLANFILE_MAGIC, pointer = w->has_tensors ? sizeof(void *) : 0;
  tn_text_add_bytes(out, (const char *)&magic, sizeof magic);
  tn_text_add_bytes(out, (const char *)&magic, sizeof magic); /* for the length */
  for (int k = 0; k < TN_SHA256_TEXT - 1; k++) tn_text_add_bytes(out, "", 1);
  tn_text_add_bytes(out, w->words.data, w->words.n);
  align(out, TN_PLANFILE_ALIGN);
  const uint64_t begin = (uint64_t)out->n;
  if (w->data.n) tn_text_add_bytes(out, w->data.data, w->data.n);
  align(out, TN_PLANFILE_ALIGN);
  const uint64_t total = (uint64_t)out->n;
  if (out->status) return;
  memcpy(out->data + sizeof magic, &total, sizeof total);
  memcpy(out->data + TN_PLANFILE_HASHED_FROM + at->pointer, &pointer, sizeof pointer);
  memcpy(out->data + TN_PLANFILE_HASHED_FROM + at->isa, &w->isa, sizeof w->isa);
  memcpy(out->data + TN_PLANFILE_HASHED_FROM + at->data, &begin, sizeof begin);
  tn_sha256_text(out->data + TN_PLANFILE_HASHED_FROM, total - TN_PLANFILE_HASHED_FROM, sum);
  memcpy(out->data + 2 * sizeof magic, sum, TN_SHA256_TEXT - 1);
}

tn_status cli_plan_write(const cli_session *s, tn_part_list *parts, tn_text *out) {
  const tn_allocator *a = tn_default_allocator();
  const tn_setup *setup = s->session->frame->now;
  writer w = {.setup = setup,
              .plan = setup->plan,
              .registry = s->runtime->registry,
              .diag = s->diag,
              .parts = parts,
              .words = {.a = a},
              .data = {.a = a}};
  late_words at;
  check_plan(&w, s->model);
  if (!w.status) {
    write_head(&w, &s->model->planner, tn_builtin_query(TN_ABI_MAJOR, TN_ABI_MINOR)->build_id, &at);
    at.data = (uint64_t)w.words.n;
    word(&w, 0);
    write_values(&w);
    write_ports(&w, s->model);
    write_steps(&w);
    join(&w, &at, out);
  }
  if (!w.status) w.status = w.words.status ? w.words.status : w.data.status;
  if (!w.status) w.status = out->status;
  tn_vec_free(a, &w.blobs);
  tn_text_free(&w.words);
  tn_text_free(&w.data);
  return w.status;
}
