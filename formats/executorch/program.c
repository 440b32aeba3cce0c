/* An ExecuTorch program as a whole: header, segments, methods, and messages. */
#include <stdarg.h>
#include <stdio.h>

#include "base/io_memory.h"
#include "reader.h"
#include "tenon/kit/checked.h"

/* ---- memory and messages ---- */

tn_status(pte_fail)(const pte_reader *r, tn_status code, uint64_t at, const char *format, ...) {
  char text[500], place[40] = "";
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  if (at) snprintf(place, sizeof place, ", at byte %llu", (unsigned long long)at);
  const tn_source *s = r->source;
  return (s->host->fail)(s->ctx, code, "%s: %s%s%s%s", s->path ? s->path : "(memory)", r->where,
                         *r->where ? ": " : "", text, place);
}

tn_status pte_no_memory(const pte_reader *r) {
  return pte_fail(r, TN_ERR_MEMORY, 0, "there is not enough memory");
}

tn_status pte_graph_fail(const pte_reader *r, int32_t status, const char *what) {
  if (status == TN_ERR_MEMORY) return pte_no_memory(r);
  return pte_fail(r, status == TN_ERR_STATE ? TN_ERR_INVALID : status, r->at, "%s", what);
}

tn_status pte_status(const pte_reader *r) {
  const tn_flat *f = &r->flat;
  return f->status ? pte_fail(r, f->status, f->at, "%s", f->text) : TN_OK;
}

const char *pte_text(pte_reader *r, tn_str text) { return tn_flat_name(&r->arena, text); }

/* ---- segments ---- */

uint64_t pte_number(const uint8_t *p, int n) {
  uint64_t v = 0;
  for (int k = n - 1; k >= 0; k--) v = v << 8 | p[k];
  return v;
}

/* The extended header, which says where the segments begin, stands behind the identifier:
 * "eh00", its own length, the program's, that place. */
static void read_header(pte_reader *r) {
  enum { AT = 8, LEAST = 24 };
  const tn_source *s = r->source;
  if (s->size < AT + LEAST || memcmp(s->data + AT, "eh00", 4)) return;
  if (pte_number(s->data + AT + 4, 4) >= LEAST) r->segment_base = pte_number(s->data + AT + 16, 8);
}

tn_status pte_segment(const pte_reader *r, uint64_t index, pte_span *out) {
  *out = (pte_span){NULL, 0};
  if (index >= r->segments.n)
    return pte_fail(r, TN_ERR_INVALID, r->at, "needs segment %llu; there are %llu",
                    (unsigned long long)index, (unsigned long long)r->segments.n);
  const tn_flat_table t = tn_flat_item(&r->segments, index, &pte_segment_type);
  const uint64_t offset = (uint64_t)tn_flat_uint(&t, SEGMENT_OFFSET, 8, 0),
                 size = (uint64_t)tn_flat_uint(&t, SEGMENT_SIZE, 8, 0), all = r->source->size;
  const tn_status s = pte_status(r);
  if (s) return s;
  if (r->segment_base > all || offset > all - r->segment_base ||
      size > all - r->segment_base - offset)
    return pte_fail(r, TN_ERR_INVALID, t.at,
                    "segment %llu, %llu bytes from %llu + %llu on, is not in the file, which has "
                    "%llu",
                    (unsigned long long)index, (unsigned long long)size,
                    (unsigned long long)r->segment_base, (unsigned long long)offset,
                    (unsigned long long)all);
  *out = (pte_span){r->source->data + r->segment_base + offset, size};
  return TN_OK;
}

/* ---- methods ---- */

/* The method that is asked for; "forward", if there is one, else the first. */
static tn_status choose_plan(pte_reader *r) {
  const tn_flat_vector plans = tn_flat_vec(&r->program, PROGRAM_PLANS, 4);
  const char *entry = TN_HAS(r->source, entry) ? r->source->entry : NULL;
  for (uint64_t k = 0; k < plans.n; k++) {
    const tn_flat_table plan = tn_flat_item(&plans, k, &pte_plan_type);
    const char *name = pte_text(r, tn_flat_text(&plan, PLAN_NAME));
    if (!name) return pte_no_memory(r);
    tn_status s = pte_status(r);
    if (!s) s = r->api->entry_add(r->main, name);
    if (s) return r->flat.status ? s : pte_graph_fail(r, s, "two methods have one name");
    const bool is_it = !strcmp(name, entry ? entry : "forward");
    if (is_it || (!entry && !r->plan.at)) r->plan = plan;
  }
  if (r->plan.at) return TN_OK;
  if (entry) return pte_fail(r, TN_ERR_NOT_FOUND, 0, "there is no method '%.80s'", entry);
  return pte_fail(r, TN_ERR_INVALID, r->program.at, "the program has no method");
}

static tn_status open_program(pte_reader *r) {
  tn_flat_open(&r->flat, r->source->data, r->source->size);
  r->program = tn_flat_root(&r->flat, &pte_program_type);
  const int64_t version = tn_flat_uint(&r->program, PROGRAM_VERSION, 4, 0);
  r->segments = tn_flat_vec(&r->program, PROGRAM_SEGMENTS, 4);
  tn_status s = pte_status(r);
  if (s) return s;
  if (version)
    return pte_fail(r, TN_ERR_VERSION, r->program.at,
                    "the file is of version %lld of ExecuTorch's schema; version 0 is read",
                    (long long)version);
  read_header(r);
  s = choose_plan(r);
  if (s) return s;
  const tn_flat_vector chains = tn_flat_vec(&r->plan, PLAN_CHAINS, 4);
  s = pte_status(r);
  if (!s && chains.n != 1)
    s = pte_fail(r, TN_ERR_UNSUPPORTED, r->plan.at,
                 "not supported: a method of %llu chains; those of one are read",
                 (unsigned long long)chains.n);
  if (s) return s;
  const tn_flat_table chain = tn_flat_item(&chains, 0, &pte_chain_type);
  r->instructions = tn_flat_vec(&chain, CHAIN_INSTRUCTIONS, 4);
  r->operators = tn_flat_vec(&r->plan, PLAN_OPERATORS, 4);
  r->delegates = tn_flat_vec(&r->plan, PLAN_DELEGATES, 4);
  return pte_status(r);
}

static tn_status read_model(pte_reader *r) {
  enum { ONNX_OPSET = 21 }; /* of the operators that are written here */
  static const char *const domains[] = {"aten",       "torch", "quantized_decomposed",
                                        "executorch", "llama", "tenon"};
  tn_status s = r->api->set_opset(r->main, "", ONNX_OPSET);
  for (size_t k = 0; k < sizeof domains / sizeof *domains && !s; k++)
    s = r->api->set_opset(r->main, domains[k], 1);
  if (s) return pte_graph_fail(r, s, "the operator sets cannot be noted");
  s = open_program(r);
  if (!s) s = pte_values_read(r);
  return s ? s : pte_method(r);
}

tn_status pte_read(const tn_source *source, tn_graph *g) {
  pte_reader r = {.source = source, .api = source->host->graph, .main = g, .g = g};
  r.allocator = tn_source_allocator(source);
  r.room = 65536 + source->size;
  r.room_bytes = 65536 + 16 * source->size;
  tn_arena_init(&r.arena, &r.allocator);
  tn_map_init(&r.places, &r.allocator);
  const tn_status s = read_model(&r);
  tn_map_free(&r.places);
  tn_vec_free(&r.allocator, &r.undo);
  tn_arena_clear(&r.arena);
  return s;
}
