/* Colours of pictures: hue, saturation and value, which are computed from [..., red, green, blue]
 * and back. */
#include "lower.h"
#include "tensorflow.gen.h"

typedef struct colours {
  const tn_lowering *l;
  uint32_t dtype;
} colours;

static int32_t number(const colours *c, double x) { return tn_low_number(c->l, c->dtype, x); }

static int32_t channel(const colours *c, int32_t x, int64_t k) {
  return lo_slice(c->l, x, -1, k, k + 1);
}

static tn_status open_colours(const tn_lowering *l, colours *out) {
  const tn_tensor *x = tn_low_type(l, 0);
  *out = (colours){l, x->dtype};
  if (x->rank < 1 || x->shape[x->rank - 1] != 3)
    return l->call->host->fail(l->call->ctx, TN_ERR_SHAPE, "the last dim must be 3 colours");
  return TN_OK;
}

/* hsv: hue in turns, 0 to 1, saturation, value. */
static void to_hsv(const colours *c, int32_t x, int32_t hsv[3]) {
  const tn_lowering *l = c->l;
  const int64_t last = -1;
  const int32_t r = channel(c, x, 0), g = channel(c, x, 1), b = channel(c, x, 2),
                most = lo_reduce(l, "ReduceMax", x, &last, 1, 1),
                range = tn_low_2(l, "Sub", most, lo_reduce(l, "ReduceMin", x, &last, 1, 1)),
                zero = number(c, 0), is_grey = tn_low_2(l, "Equal", range, zero),
                sixth = tn_low_2(l, "Div", number(c, 1.0 / 6),
                                 tn_low_3(l, "Where", is_grey, number(c, 1), range));
  const int32_t from_r = tn_low_2(l, "Mul", sixth, tn_low_2(l, "Sub", g, b)),
                from_g = tn_low_2(l, "Add", number(c, 2.0 / 6),
                                  tn_low_2(l, "Mul", sixth, tn_low_2(l, "Sub", b, r))),
                from_b = tn_low_2(l, "Add", number(c, 4.0 / 6),
                                  tn_low_2(l, "Mul", sixth, tn_low_2(l, "Sub", r, g)));
  const int32_t other = tn_low_3(l, "Where", tn_low_2(l, "Equal", g, most), from_g, from_b),
                hue = tn_low_3(l, "Where", tn_low_2(l, "Equal", r, most), from_r, other),
                moved = tn_low_3(l, "Where", tn_low_2(l, "Less", hue, zero),
                                 tn_low_2(l, "Add", hue, number(c, 1)), hue);
  const int32_t is_dark = tn_low_2(l, "LessOrEqual", most, zero);
  hsv[0] = tn_low_3(l, "Where", is_grey, zero, moved);
  hsv[1] = tn_low_3(l, "Where", is_dark, zero,
                    tn_low_2(l, "Div", range, tn_low_3(l, "Where", is_dark, number(c, 1), most)));
  hsv[2] = most;
}

/* How much of a colour is in the hue, 0 to 1: |6 hue - at| taken by sign and moved by add. */
static int32_t share(const colours *c, int32_t six, double at, double sign, double add) {
  const tn_lowering *l = c->l;
  const int32_t off = tn_low_1(l, "Abs", tn_low_2(l, "Sub", six, number(c, at)));
  return tn_low_clip(l,
                     tn_low_2(l, "Add", tn_low_2(l, "Mul", off, number(c, sign)), number(c, add)),
                     c->dtype, 0, 1);
}

static int32_t from_hsv(const colours *c, const int32_t hsv[3]) {
  const tn_lowering *l = c->l;
  const int32_t six = tn_low_2(l, "Mul", hsv[0], number(c, 6)), one = number(c, 1);
  const int32_t each[] = {share(c, six, 3, 1, -1), share(c, six, 2, -1, 2),
                          share(c, six, 4, -1, 2)};
  const int32_t pure = lo_concat(l, each, 3, -1);
  const int32_t mixed =
      tn_low_2(l, "Add", tn_low_2(l, "Mul", tn_low_2(l, "Sub", pure, one), hsv[1]), one);
  return tn_low_2(l, "Mul", mixed, hsv[2]);
}

/* Of input 0. */
static tn_status open_hsv(const tn_lowering *l, colours *c, int32_t hsv[3]) {
  const tn_status s = open_colours(l, c);
  if (!s) to_hsv(c, tn_low_in(l, 0), hsv);
  return s;
}

tn_status tf_rgb_to_hsv(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  colours c;
  int32_t hsv[3];
  const tn_status s = open_hsv(&l, &c, hsv);
  if (s) return s;
  return tn_low_done(&l, lo_concat(&l, hsv, 3, -1));
}

tn_status tf_hsv_to_rgb(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  colours c;
  const tn_status s = open_colours(&l, &c);
  if (s) return s;
  const int32_t x = tn_low_in(&l, 0),
                hsv[] = {channel(&c, x, 0), channel(&c, x, 1), channel(&c, x, 2)};
  return tn_low_done(&l, from_hsv(&c, hsv));
}

/* Input 1 is added to hues, which go round: 1 is 0. */
tn_status tf_adjust_hue(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  colours c;
  int32_t hsv[3];
  const tn_status s = open_hsv(&l, &c, hsv);
  if (s) return s;
  const int32_t moved = tn_low_2(&l, "Add", hsv[0], tn_low_cast(&l, tn_low_in(&l, 1), c.dtype));
  hsv[0] = tn_low_2(&l, "Sub", moved, tn_low_1(&l, "Floor", moved));
  return tn_low_done(&l, from_hsv(&c, hsv));
}

tn_status tf_adjust_saturation(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  colours c;
  int32_t hsv[3];
  const tn_status s = open_hsv(&l, &c, hsv);
  if (s) return s;
  const int32_t scaled = tn_low_2(&l, "Mul", hsv[1], tn_low_cast(&l, tn_low_in(&l, 1), c.dtype));
  hsv[1] = tn_low_clip(&l, scaled, c.dtype, 0, 1);
  return tn_low_done(&l, from_hsv(&c, hsv));
}
