/* For rewrites of operators with a window (Conv, pools): a Pad before the node becomes pads of its
 * own. */
#ifndef TN_KIT_WINDOW_FUSE_H
#define TN_KIT_WINDOW_FUSE_H

#include "tenon/kit/region_dims.h"
#include "tenon/kit/text.h"

typedef struct tn_padded {
  int32_t from;                  /* what is padded */
  bool has_own;                  /* the node pads, too */
  double fill;                   /* what the Pad fills in */
  int32_t n;                     /* spatial dims */
  int64_t pads[2 * TN_MAX_RANK]; /* of both together, in the order of the attribute */
} tn_padded;

/* kernel: size of the window in each spatial dim. False: input 0 is not padded; or channels are; or
 * a window might see nothing but pads. */
TN_KIT_FN bool tn_window_padded_input(const tn_pattern *p, const tn_node *n, const int64_t *kernel,
                                      tn_padded *out);

enum { TN_PADDED_ATTRS = 2 };

/* The attributes that the node gets: pads, and that they count. */
TN_KIT_FN void tn_window_padded_attrs(const tn_padded *d, tn_attr out[TN_PADDED_ATTRS]);

#ifdef TN_KIT_BODIES

TN_KIT_FN bool tn_window_padded_input(const tn_pattern *p, const tn_node *n, const int64_t *kernel,
                                      tn_padded *out) {
  int64_t lo[TN_MAX_RANK], hi[TN_MAX_RANK];
  if (!tn_region_pads(p, n->inputs[0], &out->from, lo, hi, &out->fill)) return false;
  const tn_attr *own = tn_pattern_attr(n, "pads", TN_ATTR_INTS),
                *automatic = tn_pattern_attr(n, "auto_pad", TN_ATTR_STR),
                *dilations = tn_pattern_attr(n, "dilations", TN_ATTR_INTS);
  const bool is_valid = automatic && tn_str_is(automatic->s, "VALID"),
             is_set = automatic && !is_valid && automatic->s.size > 0 &&
                      !tn_str_is(automatic->s, "NOTSET");
  const int32_t rank = tn_pattern_type(p, out->from)->rank;
  out->n = rank - 2;
  out->has_own = false;
  if (is_set || rank < 3 || lo[0] || hi[0] || lo[1] || hi[1]) return false;
  for (int32_t k = 0; k < 2 * out->n; k++) {
    const int32_t dim = k % out->n;
    const int64_t pad = !is_valid && own && own->ints.size == 2 * out->n ? own->ints.data[k] : 0,
                  step =
                      dilations && dilations->ints.size == out->n ? dilations->ints.data[dim] : 1;
    out->has_own |= pad != 0;
    out->pads[k] = pad + (k < out->n ? lo : hi)[dim + 2];
    if (pad < 0 || out->pads[k] > (kernel[dim] - 1) * step) return false;
  }
  return true;
}

TN_KIT_FN void tn_window_padded_attrs(const tn_padded *d, tn_attr out[TN_PADDED_ATTRS]) {
  out[0] = tn_attr_ints("pads", (tn_ints){d->pads, 2 * d->n});
  out[1] = tn_attr_str("auto_pad", "NOTSET");
}

#endif

#endif
