/* tenon::Region in channels-last and blocked layouts, portable. Concat, Split, Slice, Pad and crops
 * keep the dims apart: each region is a box of the output read from a box of the input, dim by dim.
 * Such boxes are said again in the strides of the storage; channels are cut where the blocks of
 * either side end. */
#include "cover.h"
#include "region.gen.h"
#include "region.h"
#include "table.h"
#include "tenon/kit/tensor.h"

/* A box per side: output place start_dst + k*step_dst is input place start_src + k*step_src, k <
 * count. */
typedef struct box_pair {
  int64_t start_dst[TN_MAX_RANK], start_src[TN_MAX_RANK], step_dst[TN_MAX_RANK],
      step_src[TN_MAX_RANK], count[TN_MAX_RANK];
} box_pair;

static void coords(const tn_tensor *t, int64_t offset, int64_t *out) {
  for (int32_t k = t->rank - 1; k >= 0; k--) {
    out[k] = offset % t->shape[k];
    offset /= t->shape[k];
  }
}

static bool inside(int64_t start, int64_t step, int64_t count, int64_t size) {
  int64_t last = start + step * (count - 1);
  return start >= 0 && start < size && last >= 0 && last < size;
}

/* Gives one dim of the region to dims of the box, the innermost first: it may span several if it
 * fills the inner ones. */
static bool give_dim(const tn_tensor *in, const tn_tensor *out, int64_t size, int64_t src,
                     int64_t dst, box_pair *box) {
  int64_t to[TN_MAX_RANK], from[TN_MAX_RANK];
  tn_plain_strides(out, to);
  tn_plain_strides(in, from);
  while (size > 1) {
    int32_t k = out->rank - 1; /* the outermost dim whose stride divides the step */
    for (int32_t d = 0; d < out->rank; d++)
      if (out->shape[d] > 1 && dst % to[d] == 0 && (dst < 0 ? -dst : dst) / to[d] < out->shape[d]) {
        k = d;
        break;
      }
    if (dst % to[k] || src % from[k] || box->count[k] != 1) return false;
    int64_t part = size;
    if (!inside(box->start_dst[k], dst / to[k], size,
                out->shape[k])) { /* all of this dim, and on in the next outer one */
      part = out->shape[k];
      if (dst != to[k] || box->start_dst[k] || size % part || part == 1) return false;
    }
    if (!inside(box->start_src[k], src / from[k], part, in->shape[k])) return false;
    box->count[k] = part;
    box->step_dst[k] = dst / to[k];
    box->step_src[k] = src / from[k];
    size /= part;
    src *= part;
    dst *= part;
  }
  return true;
}

static bool find_boxes(const tn_tensor *in, const tn_tensor *out, const tn_region *r,
                       box_pair *box) {
  if (in->rank != out->rank || tn_elements(in) <= 0 || tn_elements(out) <= 0) return false;
  coords(out, r->dst_offset, box->start_dst);
  coords(in, r->src_offset, box->start_src);
  for (int32_t k = 0; k < out->rank; k++) box->count[k] = box->step_dst[k] = box->step_src[k] = 1;
  for (int32_t k = r->rank - 1; k >= 0; k--)
    if (!give_dim(in, out, r->size[k], r->src_stride[k], r->dst_stride[k], box)) return false;
  return true;
}

/* ---- storage ---- */

/* Elements per step of each dim in the storage; of dim 1: per block of channels, or per channel in
 * channels-last. */
static void storage_strides(const tn_tensor *t, int64_t *strides, int64_t *block) {
  bool last = t->layout == TN_CHANNELS_LAST;
  *block = last ? 1 : TN_LAYOUT_BLOCK(t->layout);
  int64_t step = last ? t->shape[1] : *block;
  for (int32_t k = t->rank - 1; k >= 2; k--) {
    strides[k] = step;
    step *= t->shape[k];
  }
  strides[1] = last ? 1 : step;
  strides[0] = last ? step : step * tn_ceil_div(t->shape[1], *block);
}

typedef struct copier {
  loop_builder *b;
  const tn_tensor *out, *in; /* in NULL: the fill, or zero */
  int32_t input;
  const box_pair *box;
  int64_t to[TN_MAX_RANK], from[TN_MAX_RANK], block;
} copier;

/* `groups` blocks of `n` channels from output channel c_dst and input channel c_src on, all of the
 * box's other dims. */
static void add_channels(const copier *c, int64_t c_dst, int64_t c_src, int64_t groups, int64_t n) {
  int64_t size[TN_MAX_RANK], src[TN_MAX_RANK], dst[TN_MAX_RANK];
  int64_t from = c_src / c->block * c->from[1] + c_src % c->block,
          to = c_dst / c->block * c->to[1] + c_dst % c->block;
  int32_t rank = 0;
  tn_loop loop;
  for (int32_t k = 0; k < c->out->rank; k++) {
    size[rank] = k == 1 ? groups : c->box->count[k];
    dst[rank] = k == 1 ? c->to[1] : c->to[k] * c->box->step_dst[k];
    src[rank++] = k == 1 ? c->from[1] : c->from[k] * c->box->step_src[k];
    if (k != 1) to += c->box->start_dst[k] * c->to[k], from += c->box->start_src[k] * c->from[k];
  }
  size[rank] = n;
  dst[rank] = 1;
  src[rank++] = c->in ? 1 : 0;
  tn_loop_init(&loop, tn_dtype(c->out->dtype)->bits / 8, rank, size, src, dst, c->in ? from : 0,
               to);
  loop_add(c->b, &loop, c->input);
}

/* Channels with a step other than 1, in channels-last layout: the steps are the storage's. */
static void add_stepped(copier *c) {
  const box_pair *box = c->box;
  c->to[1] *= box->step_dst[1];
  c->from[1] *= box->step_src[1];
  int64_t dst = box->start_dst[1], src = box->start_src[1];
  int64_t size[TN_MAX_RANK], from[TN_MAX_RANK], to[TN_MAX_RANK];
  tn_loop loop;
  for (int32_t k = 0; k < c->out->rank; k++) {
    size[k] = box->count[k];
    to[k] = k == 1 ? c->to[1] : c->to[k] * box->step_dst[k];
    from[k] = k == 1 ? c->from[1] : c->from[k] * box->step_src[k];
    if (k != 1) dst += box->start_dst[k] * c->to[k], src += box->start_src[k] * c->from[k];
  }
  tn_loop_init(&loop, tn_dtype(c->out->dtype)->bits / 8, c->out->rank, size, from, to, src, dst);
  loop_add(c->b, &loop, c->input);
}

/* Channels in stretches that end where a block of either side ends. A stretch of the first block
 * comes again in every later one, so that all of them are one loop; the last one may be cut short.
 */
static void add_blocked(const copier *c) {
  int64_t dst = c->box->start_dst[1], src = c->box->start_src[1], count = c->box->count[1],
          b = c->block;
  for (int64_t at = 0, n; at < tn_min_i64(b, count); at += n) {
    n = tn_min_i64(b - (dst + at) % b, c->in ? b - (src + at) % b : b);
    n = tn_min_i64(n, b - at);
    int64_t groups = (count - at) / b + ((count - at) % b >= n), rest = count - at - groups * b;
    if (groups > 0) add_channels(c, dst + at, src + at, groups, n);
    if (rest > 0 && rest < n)
      add_channels(c, dst + at + groups * b, src + at + groups * b, 1, rest);
  }
}

static void add_box(const tn_call *call, loop_builder *b, const tn_tensor *in, int32_t input,
                    const box_pair *box) {
  copier c = {.b = b, .out = call->outputs[0], .in = in, .input = input, .box = box};
  int64_t same;
  storage_strides(c.out, c.to, &c.block);
  if (in) storage_strides(in, c.from, &same);
  if (c.out->layout == TN_CHANNELS_LAST)
    add_stepped(&c);
  else
    add_blocked(&c);
}

static void add_cover(const tn_call *call, loop_builder *b, const tn_box *hole) {
  box_pair box = {.count = {0}};
  for (int32_t k = 0; k < call->outputs[0]->rank; k++) {
    box.start_dst[k] = hole->start[k];
    box.count[k] = hole->count[k];
    box.step_dst[k] = 1;
  }
  add_box(call, b, NULL, FROM_FILL, &box);
}

static void add_pads(const tn_call *call, loop_builder *b) {
  const tn_tensor *out = call->outputs[0];
  int64_t block = out->layout == TN_CHANNELS_LAST ? 1 : TN_LAYOUT_BLOCK(out->layout),
          used = out->shape[1] % block;
  box_pair box = {.count = {0}};
  if (used == 0) return;
  for (int32_t k = 0; k < out->rank; k++) {
    box.count[k] = out->shape[k];
    box.step_dst[k] = 1;
  }
  copier c = {.b = b, .out = out, .input = FROM_ZERO, .box = &box};
  storage_strides(out, c.to, &c.block);
  add_channels(&c, out->shape[1], 0, 1, block - used);
}

static void build(const tn_call *call, loop_builder *b) {
  tn_cover cover;
  tn_cover_find(call->outputs[0], call->regions, call->n_regions, &cover);
  for (int32_t k = 0; k < cover.n; k++) add_cover(call, b, &cover.boxes[k]);
  for (uint32_t k = 0; k < call->n_regions; k++) {
    const tn_region *r = call->regions[k];
    box_pair box;
    if (find_boxes(call->inputs[r->input], call->outputs[0], r, &box))
      add_box(call, b, call->inputs[r->input], r->input, &box);
  }
  add_pads(call, b);
}

static bool is_empty(const tn_region *r) {
  for (int32_t k = 0; k < r->rank; k++)
    if (r->size[k] == 0) return true;
  return false;
}

const char *region_layout_refuse(const tn_call *call) {
  const tn_tensor *out = call->outputs[0];
  tn_cover cover;
  if (out->layout == TN_PLAIN) return "plain layout is for region_c";
  if (region_is_odd(out->dtype)) return "strings and types below a byte have plain layout only";
  if (out->rank < 3 || out->rank >= TN_MAX_RANK) return "takes ranks 3 to 7";
  for (uint32_t k = 0; k < call->n_regions; k++) {
    const tn_region *r = call->regions[k];
    box_pair box;
    if (is_empty(r)) continue;
    if (!find_boxes(call->inputs[r->input], out, r, &box))
      return "a region mixes dims, which takes plain layout";
    if (out->layout != TN_CHANNELS_LAST && box.count[1] > 1 &&
        (box.step_dst[1] != 1 || box.step_src[1] != 1))
      return "a region steps over channels, which takes plain or channels-last layout";
  }
  tn_cover_find(out, call->regions, call->n_regions, &cover);
  return cover.everything ? "what no region covers is no small number of boxes" : NULL;
}

tn_status region_layout_plan(const tn_call *call, tn_kernel_plan *out) {
  return loop_table_plan(call, build, out);
}

tn_status region_layout_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)worker;
  return loop_table_run(call, build, NULL, stage, begin, end);
}
