/* Strided copies as C. What no region covers is filled first, all of the output with it. */
#include "region.h"
#include "tenon/experimental/emit_c.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/tensor.h"

static const char *refuse(const tn_call *call) {
  const uint32_t bits = tn_dtype(call->outputs[0]->dtype)->bits;
  return bits == 0 || bits % 8 ? "takes elements of whole bytes" : NULL;
}

typedef struct axis {
  int64_t size, from, to;
} axis;

/* The region in bytes; dims of one element are dropped, and those whose elements follow each other
 * on both sides become part of the run. */
static int32_t simplify(const tn_region *r, int64_t element, axis *dims, int64_t *out_run) {
  int32_t n = 0;
  for (int32_t k = 0; k < r->rank; k++)
    if (r->size[k] != 1)
      dims[n++] = (axis){r->size[k], r->src_stride[k] * element, r->dst_stride[k] * element};
  *out_run = element;
  while (n > 0 && dims[n - 1].from == *out_run && dims[n - 1].to == *out_run)
    *out_run *= dims[--n].size;
  return n;
}

static void emit_copy(const tn_emit *e, const tn_region *r, uint32_t index, int64_t element,
                      const char *from) {
  axis dims[TN_MAX_RANK];
  int64_t run;
  const int32_t n = simplify(r, element, dims, &run);
  e->table(e,
           "static const struct region region_%u_%u = {\n"
           "    .run = %d, .from = %d, .to = %d, .rank = %d, .dim = {",
           e->step, index, (int)run, (int)(r->src_offset * element), (int)(r->dst_offset * element),
           n);
  for (int32_t k = 0; k < n; k++)
    e->table(e, "%s{%d, %d, %d}", k ? ", " : "", (int)dims[k].size, (int)dims[k].from,
             (int)dims[k].to);
  e->table(e, "%s}};\n", n ? "" : "{0, 0, 0}");
  e->line(e, "region_copy(&region_%u_%u, %s, %s);", e->step, index, from, e->output(e, 0));
}

static int64_t size_of(const tn_region *r) { return tn_dims_size(r->size, r->rank); }

static void emit_fill(const tn_emit *e, int64_t element) {
  const tn_call *call = e->call;
  const int64_t n = tn_elements(call->outputs[0]);
  if (call->region_fill < 0) {
    e->line(e, "memset(%s, 0, %lld);", e->output(e, 0), (long long)(n * element));
    return;
  }
  const tn_region all = {.head = TN_HEAD(tn_region), .rank = 1, .size = {n}, .dst_stride = {1}};
  emit_copy(e, &all, call->n_regions, element, e->input(e, (uint32_t)call->region_fill));
}

static void region_emit(const tn_emit *e) {
  const tn_call *call = e->call;
  const int64_t element = tn_dtype(call->outputs[0]->dtype)->bits / 8;
  int64_t covered = 0;
  for (uint32_t k = 0; k < call->n_regions; k++) covered += size_of(call->regions[k]);
  const bool fills = covered < tn_elements(call->outputs[0]);
  if (covered > 0 || (fills && call->region_fill >= 0)) e->code(e, "emit/region.c");
  if (fills) emit_fill(e, element);
  for (uint32_t k = 0; k < call->n_regions; k++)
    if (size_of(call->regions[k]) > 0)
      emit_copy(e, call->regions[k], k, element, e->input(e, (uint32_t)call->regions[k]->input));
}

static const tn_emitter region_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "region_c", .refuse = refuse, .emit = region_emit};
static const tn_emitter few_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "region_few_c", .refuse = refuse, .emit = region_emit};
const tn_emitter *const region_emitters[] = {&region_emitter, &few_emitter, NULL};
