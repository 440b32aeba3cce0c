/* Reading plan files: every number is checked before it is used. */
#include <string.h>

#include "base/cpu.h"
#include "base/sha256.h"
#include "planfile/planfile.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/tensor.h"

enum { MAX_COUNT = 1 << 24, MAX_ARGS = 1 << 16 };

typedef struct reader {
  tn_plan_file *p;
  const tn_plugin *parts;
  tn_plan_why *why;
  uint64_t at, end;    /* of the words */
  uint64_t data, size; /* where the data begin, and how many there are */
  uint64_t isa;        /* that calls are told of */
  tn_status status;    /* of the first thing that is wrong */
} reader;

tn_status tn_plan_why_set(tn_plan_why *why, tn_status status, const char *a, const char *b) {
  const char *parts[] = {a, b ? " '" : "", b ? b : "", b ? "'" : ""};
  size_t n = 0;
  for (size_t k = 0; k < sizeof parts / sizeof *parts && why; k++)
    for (const char *s = parts[k]; *s && n + 1 < sizeof why->text; s++) why->text[n++] = *s;
  if (why) why->text[n] = 0;
  return status;
}

static void bad(reader *r, const char *what) {
  if (!r->status) r->status = tn_plan_why_set(r->why, TN_ERR_INVALID, what, NULL);
}

static void *make(reader *r, uint64_t n, size_t size) {
  void *memory = tn_arena_alloc(&r->p->memory, (n + 1) * size);
  if (!memory && !r->status) r->status = tn_plan_why_set(r->why, TN_ERR_MEMORY, "no memory", NULL);
  return memory;
}

/* ---- words ---- */

static uint64_t word(reader *r) {
  uint64_t w = 0;
  if (r->status || r->end - r->at < sizeof w) {
    bad(r, "the file is cut off");
    return 0;
  }
  memcpy(&w, r->p->data + r->at, sizeof w);
  r->at += sizeof w;
  return w;
}

/* A number from least to most. */
static int64_t number(reader *r, int64_t least, int64_t most, const char *what) {
  const int64_t n = (int64_t)word(r);
  if (!r->status && (n < least || n > most)) bad(r, what);
  return r->status ? least > 0 ? least : 0 : n;
}

/* A count of things that take words of their own. */
static int32_t count(reader *r, int64_t most) {
  const int64_t left = (int64_t)((r->end - r->at) / sizeof(uint64_t));
  return (int32_t)number(r, 0, left < most ? left : most, "a count is too large");
}

static const char *text(reader *r) {
  const uint64_t n = (uint64_t)number(r, 0, 4096, "a text is too long");
  if (r->status || r->end - r->at < n + 8 - n % 8 || r->p->data[r->at + n]) {
    bad(r, "a text does not end");
    return "";
  }
  const char *s = (const char *)r->p->data + r->at;
  r->at += n + 8 - n % 8; /* at least one zero */
  return s;
}

/* Bytes at an offset of the data: checked. */
static const uint8_t *blob(reader *r, uint64_t offset, uint64_t bytes) {
  if (!r->status && (offset % 8 || offset > r->size || bytes > r->size - offset))
    bad(r, "data lie outside of the file");
  return r->status ? NULL : r->p->data + r->data + offset;
}

/* ---- values ---- */

static bool is_layout(uint64_t layout, int32_t rank) {
  if (layout == TN_PLAIN) return true;
  if (rank < 3) return false;
  const int64_t b = TN_LAYOUT_BLOCK(layout);
  return layout == TN_CHANNELS_LAST ||
         (layout == TN_BLOCKED(b) && (b == 4 || b == 8 || b == 16 || b == 32));
}

static void read_type(reader *r, tn_tensor *t) {
  *t = (tn_tensor){.head = TN_HEAD(tn_tensor)};
  t->dtype = (uint32_t)number(r, TN_NONE + 1, TN_DTYPE_COUNT - 1, "a dtype is not known");
  if (t->dtype == TN_STRING) bad(r, "a value holds strings");
  t->layout = word(r);
  t->rank = (int32_t)number(r, 0, TN_MAX_RANK, "a rank is too large");
  for (int32_t k = 0; k < t->rank; k++) t->shape[k] = number(r, 0, INT64_MAX, "a dim is negative");
  if (!r->status && !is_layout(t->layout, t->rank)) bad(r, "a layout is not known");
}

static void read_value(reader *r, tn_file_value *v) {
  v->place = (tn_place_kind)number(r, TN_IN_NONE, TN_IN_INPUT, "a place is not known");
  v->offset = word(r);
  v->index = (int32_t)number(r, -1, MAX_COUNT, "an index is too large");
  read_type(r, &v->tensor);
  const int64_t bytes = r->status ? 0 : tn_storage_bytes(&v->tensor);
  if (bytes < 0) bad(r, "a value is too large");
  if (r->status) return;
  if (v->place == TN_IN_DATA)
    v->tensor.data = (void *)(uintptr_t)blob(r, v->offset, (uint64_t)bytes);
  if (v->place != TN_IN_ARENA) return;
  if (v->offset > r->p->arena_bytes || (uint64_t)bytes > r->p->arena_bytes - v->offset)
    bad(r, "a value lies outside of the arena");
}

static void read_values(reader *r) {
  tn_plan_file *p = r->p;
  p->n_values = count(r, MAX_COUNT);
  p->values = make(r, (uint64_t)p->n_values, sizeof *p->values);
  for (int32_t k = 0; k < p->n_values && !r->status; k++) read_value(r, &p->values[k]);
}

static tn_file_port *read_ports(reader *r, int32_t *out_n) {
  *out_n = count(r, MAX_ARGS);
  tn_file_port *ports = make(r, (uint64_t)*out_n, sizeof *ports);
  for (int32_t k = 0; k < *out_n && !r->status; k++) {
    ports[k].slot = (int32_t)number(r, 0, (int64_t)r->p->n_values - 1, "there is no such value");
    ports[k].name = text(r);
  }
  return ports;
}

/* Views of inputs lie inside of these. */
static void check_inputs(reader *r) {
  const tn_plan_file *p = r->p;
  for (int32_t k = 0; k < p->n_inputs && !r->status; k++) {
    const tn_file_value *v = &p->values[p->inputs[k].slot];
    if (v->place != TN_IN_INPUT || v->index != k || v->offset) bad(r, "an input is none");
  }
  for (int32_t k = 0; k < p->n_values && !r->status; k++) {
    const tn_file_value *v = &p->values[k];
    if (v->place != TN_IN_INPUT) continue;
    if (v->index < 0 || v->index >= p->n_inputs) {
      bad(r, "there is no such input");
      return;
    }
    const uint64_t bytes = (uint64_t)tn_storage_bytes(&v->tensor),
                   all = (uint64_t)tn_storage_bytes(&p->values[p->inputs[v->index].slot].tensor);
    if (v->offset > all || bytes > all - v->offset) bad(r, "a view lies outside of its input");
  }
}

/* ---- steps ---- */

static void lacks(reader *r, const char *what, const char *name) {
  char text[64] = "this program lacks a kernel; add to its parts: ";
  if (r->status) return;
  strcat(text, what);
  r->status = tn_plan_why_set(r->why, TN_ERR_UNSUPPORTED, text, name);
}

static const tn_kernel *find_kernel(reader *r, const char *name) {
  for (uint32_t k = 0; k < r->parts->n_kernels; k++)
    if (!strcmp(r->parts->kernels[k]->name, name) && r->parts->kernels[k]->run)
      return r->parts->kernels[k];
  lacks(r, "runs", name);
  return NULL;
}

/* A part of the arena for scratch; NULL if there are no bytes. */
static void *place(reader *r, uint64_t *out_bytes) {
  const uint64_t bytes = word(r), offset = word(r);
  *out_bytes = bytes;
  if (!r->status && (offset % TN_PLANFILE_ALIGN || offset > r->p->arena_bytes ||
                     bytes > r->p->arena_bytes - offset))
    bad(r, "scratch lies outside of the arena");
  return r->status || !bytes ? NULL : (uint8_t *)r->p->arena + offset;
}

static void read_stages(reader *r, tn_file_step *s) {
  s->n_stages = (uint32_t)number(r, 1, TN_MAX_STAGES, "a step has no stages");
  for (uint32_t k = 0; k < s->n_stages; k++) {
    s->items[k] = number(r, 0, INT64_MAX, "items are negative");
    s->chunk[k] = number(r, 1, INT64_MAX, "a chunk is empty");
  }
}

static void read_state(reader *r, tn_file_step *s) {
  tn_call *call = &s->call;
  call->state_bytes = (uint64_t)number(r, 0, INT64_MAX - TN_PLANFILE_ALIGN, "a state is too large");
  const int64_t kind = number(r, TN_STATE_NONE, TN_STATE_MADE, "a kind of state is not known");
  const uint64_t offset = word(r);
  if (kind == TN_STATE_IN_DATA) call->state = (void *)(uintptr_t)blob(r, offset, call->state_bytes);
  if (kind != TN_STATE_MADE || r->status) return;
  s->makes_state = true;
  if (!s->kernel->prepare) {
    lacks(r, "prepares", s->kernel->name);
    return;
  }
  uint8_t *memory = make(r, call->state_bytes + TN_PLANFILE_ALIGN, 1);
  if (memory) call->state = memory + (-(uintptr_t)memory & (TN_PLANFILE_ALIGN - 1));
}

/* The struct of the attributes, with pointers. */
static void read_attrs(reader *r, tn_file_step *s) {
  const uint64_t bytes = word(r), offset = word(r);
  const uint8_t *image = blob(r, offset, bytes);
  const int32_t n = count(r, MAX_COUNT);
  uint8_t *copy = bytes && !r->status ? make(r, bytes, 1) : NULL;
  if (copy) memcpy(copy, image, (size_t)bytes);
  for (int32_t k = 0; k < n; k++) {
    const uint64_t at = word(r), to = word(r);
    if (!r->status && (!copy || at % 8 || bytes < 8 || at > bytes - 8 || to > bytes))
      bad(r, "an attribute lies outside of its step");
    if (r->status) return;
    const void *pointer = copy + to;
    memcpy(copy + at, &pointer, sizeof pointer);
  }
  s->call.attrs = copy;
}

/* Pointers to values. */
static tn_tensor **read_args(reader *r, uint32_t *out_n) {
  const int32_t n = count(r, MAX_ARGS);
  const int64_t entries = number(r, n, MAX_ARGS, "a step has too few entries");
  tn_tensor **args = make(r, (uint64_t)entries, sizeof *args);
  for (int32_t k = 0; k < n && !r->status; k++) {
    const int64_t slot = number(r, -1, (int64_t)r->p->n_values - 1, "there is no such value");
    if (slot >= 0 && !r->status) args[k] = &r->p->values[slot].tensor;
  }
  *out_n = (uint32_t)n;
  return args;
}

static void read_epilogue(reader *r, tn_call *call) {
  const int32_t n = count(r, MAX_ARGS);
  const tn_epilogue **list = make(r, (uint64_t)n, sizeof *list);
  tn_epilogue *e = make(r, (uint64_t)n, sizeof *e);
  for (int32_t k = 0; k < n && !r->status; k++) {
    uint64_t a, b;
    e[k].head = (tn_head)TN_HEAD(tn_epilogue);
    e[k].kind = (uint32_t)number(r, 1, TN_EPILOGUE_COUNT - 1, "a fused step is not known");
    e[k].input = (int32_t)number(r, -1, (int64_t)call->n_inputs - 1, "a fused step has no input");
    a = word(r);
    b = word(r);
    memcpy(&e[k].a, &a, sizeof a);
    memcpy(&e[k].b, &b, sizeof b);
    const bool reads = e[k].kind == TN_EPILOGUE_ADD || e[k].kind == TN_EPILOGUE_MUL;
    if (!r->status && reads != (e[k].input >= 0 && call->inputs[e[k].input]))
      bad(r, "a fused step has no input");
    if (!r->status) list[k] = &e[k];
  }
  call->epilogue = list;
  call->n_epilogue = (uint32_t)n;
}

/* True if all that a region touches lies in n elements. */
static bool is_inside(int64_t offset, int32_t rank, const int64_t *size, const int64_t *stride,
                      int64_t n) {
  int64_t low = offset, high = offset, span;
  for (int32_t k = 0; k < rank; k++) {
    if (!size[k]) return true;
    if (__builtin_mul_overflow(size[k] - 1, stride[k], &span)) return false;
    if (__builtin_add_overflow(span < 0 ? low : high, span, span < 0 ? &low : &high)) return false;
  }
  return low >= 0 && high < n;
}

static void read_region(reader *r, const tn_call *call, tn_region *g) {
  g->head = (tn_head)TN_HEAD(tn_region);
  g->input = (int32_t)number(r, 0, (int64_t)call->n_inputs - 1, "a region has no input");
  g->rank = (int32_t)number(r, 0, TN_MAX_RANK, "a rank is too large");
  g->src_offset = number(r, 0, INT64_MAX, "a region lies outside");
  g->dst_offset = number(r, 0, INT64_MAX, "a region lies outside");
  for (int32_t k = 0; k < g->rank; k++) {
    g->size[k] = number(r, 0, INT64_MAX, "a dim is negative");
    g->src_stride[k] = number(r, INT64_MIN, INT64_MAX, "");
    g->dst_stride[k] = number(r, INT64_MIN, INT64_MAX, "");
  }
  if (r->status) return;
  const tn_tensor *from = call->inputs[g->input], *to = call->n_outputs ? call->outputs[0] : NULL;
  if (!from || !to || from->dtype != to->dtype ||
      !is_inside(g->src_offset, g->rank, g->size, g->src_stride, tn_storage_elements(from)) ||
      !is_inside(g->dst_offset, g->rank, g->size, g->dst_stride, tn_storage_elements(to)))
    bad(r, "a region lies outside");
}

static void read_regions(reader *r, tn_call *call) {
  const int32_t n = count(r, MAX_COUNT);
  call->region_fill = (int32_t)number(r, -1, (int64_t)call->n_inputs - 1, "nothing fills a region");
  const tn_region **list = make(r, (uint64_t)n, sizeof *list);
  tn_region *regions = make(r, (uint64_t)n, sizeof *regions);
  for (int32_t k = 0; k < n && !r->status; k++) {
    read_region(r, call, &regions[k]);
    list[k] = &regions[k];
  }
  call->regions = list;
  call->n_regions = (uint32_t)n;
}

static void read_step(reader *r, tn_file_step *s) {
  tn_call *call = &s->call;
  s->kernel = find_kernel(r, text(r));
  if (r->status) return;
  *call = (tn_call){.head = TN_HEAD(tn_call),
                    .host = &tn_plan_file_host,
                    .n_workers = 1,
                    .isa = r->isa,
                    .region_fill = -1};
  call->version = (int32_t)number(r, 0, INT32_MAX, "a version is negative");
  s->elements_per_item = number(r, 0, INT64_MAX, "items are negative");
  read_stages(r, s);
  call->scratch = place(r, &call->scratch_bytes);
  call->worker_scratch = place(r, &call->worker_scratch_bytes);
  read_state(r, s);
  read_attrs(r, s);
  call->inputs = (const tn_tensor *const *)read_args(r, &call->n_inputs);
  call->outputs = read_args(r, &call->n_outputs);
  if (r->status) return;
  read_epilogue(r, call);
  read_regions(r, call);
  s->n_followers = (uint32_t)number(r, 0, MAX_ARGS, "too many followers");
}

/* Followers are there, have none of their own, and are told which elements a step has written. */
static void check_followers(reader *r) {
  const tn_plan_file *p = r->p;
  for (int32_t k = 0; k < p->n_steps && !r->status;) {
    const tn_file_step *s = &p->steps[k++];
    if (!s->n_followers) continue;
    if (s->n_followers > (uint32_t)(p->n_steps - k) || s->elements_per_item <= 0 ||
        !s->call.n_outputs || !s->call.outputs[0])
      bad(r, "a step has followers that are not there");
    for (uint32_t f = 0; f < s->n_followers && !r->status; f++, k++)
      if (p->steps[k].n_followers || p->steps[k].n_stages != 1 || !p->steps[k].call.n_outputs)
        bad(r, "a follower cannot follow");
  }
}

static void read_steps(reader *r) {
  tn_plan_file *p = r->p;
  p->n_steps = count(r, MAX_COUNT);
  p->steps = make(r, (uint64_t)p->n_steps, sizeof *p->steps);
  for (int32_t k = 0; k < p->n_steps && !r->status; k++) read_step(r, &p->steps[k]);
  if (!r->status) check_followers(r);
}

/* ---- the whole ---- */

static bool is_whole(reader *r) {
  char sum[TN_SHA256_TEXT];
  const tn_plan_file *p = r->p;
  if (p->size < TN_PLANFILE_HASHED_FROM || word(r) != TN_PLANFILE_MAGIC) {
    bad(r, "this is no plan file");
    return false;
  }
  if (word(r) != p->size) bad(r, "the file is not as long as it says");
  tn_sha256_text(p->data + TN_PLANFILE_HASHED_FROM, p->size - TN_PLANFILE_HASHED_FROM, sum);
  if (!r->status && memcmp(sum, p->data + r->at, TN_SHA256_TEXT - 1)) bad(r, "the file is damaged");
  r->at = TN_PLANFILE_HASHED_FROM;
  return !r->status;
}

/* Structs as those of the file. */
static bool is_laid_out(uint64_t pointer_bytes) {
  struct pair {
    char first;
    int64_t second;
  };
  return (!pointer_bytes || pointer_bytes == sizeof(void *)) && offsetof(struct pair, second) == 8;
}

static bool is_for_us(reader *r) {
  const bool is_version = word(r) == TN_PLANFILE_VERSION;
  const bool is_ours = is_laid_out(word(r)) && is_version;
  const char *build = text(r);
  const uint64_t needs = word(r);
  r->isa = word(r);
  if (r->status) return false;
  if (!is_ours || strcmp(build, r->parts->build_id ? r->parts->build_id : ""))
    r->status = tn_plan_why_set(r->why, TN_ERR_VERSION,
                                "the file was made by another version of Tenon, or for another "
                                "kind of machine",
                                NULL);
  else if (needs & ~tn_cpu_isa())
    r->status = tn_plan_why_set(r->why, TN_ERR_UNSUPPORTED,
                                "this processor lacks an instruction set that the plan uses", NULL);
  return !r->status;
}

/* While only constants have elements. */
static void prepare(reader *r, tn_file_step *s) {
  if (!s->makes_state) return;
  r->status = s->kernel->prepare(&s->call);
  s->has_state = !r->status;
  if (r->status)
    tn_plan_why_set(r->why, r->status, "weights cannot be prepared by", s->kernel->name);
}

static void place_values(tn_plan_file *p) {
  for (int32_t k = 0; k < p->n_values; k++)
    if (p->values[k].place == TN_IN_ARENA)
      p->values[k].tensor.data = (uint8_t *)p->arena + p->values[k].offset;
}

static void read_all(reader *r) {
  tn_plan_file *p = r->p;
  if (!is_whole(r) || !is_for_us(r)) return;
  p->arena_bytes = (uint64_t)number(r, 0, INT64_MAX, "the arena is too large");
  r->data = (uint64_t)number(r, 0, (int64_t)p->size, "the data lie outside of the file");
  if (!r->status && (r->data % TN_PLANFILE_ALIGN || r->data < r->at)) bad(r, "there are no data");
  if (r->status) return;
  r->size = p->size - r->data;
  r->end = r->data;
  p->arena = tn_alloc(p->memory.a, p->arena_bytes);
  if (!p->arena) r->status = tn_plan_why_set(r->why, TN_ERR_MEMORY, "no memory", NULL);
  read_values(r);
  if (r->status) return;
  p->inputs = read_ports(r, &p->n_inputs);
  p->outputs = read_ports(r, &p->n_outputs);
  if (!r->status) check_inputs(r);
  if (!r->status) read_steps(r);
  for (int32_t k = 0; k < p->n_steps && !r->status; k++) prepare(r, &p->steps[k]);
  if (!r->status) place_values(p);
}

tn_status tn_plan_file_read(tn_plan_file *p, const tn_plugin *parts, tn_plan_why *why) {
  reader r = {.p = p, .parts = parts, .why = why, .end = p->size};
  read_all(&r);
  return r.status;
}
