/* Larger and smaller images; padding. */
#include "aten.h"
#include "aten_layers.gen.h"

typedef struct sizes {
  int32_t n; /* dims of space, the last ones */
  int64_t in[3], out[3];
  double scale[3]; /* as the file names it; 0: it follows from the sizes */
} sizes;

static tn_status read_scales(const tn_lowering *l, sizes *z) {
  static const char *const names[3][3] = {
      {"scales"}, {"scales_h", "scales_w"}, {"scales_d", "scales_h", "scales_w"}};
  const tn_floats list = tn_low_floats(l, "scale_factors");
  for (int32_t k = 0; k < z->n; k++) {
    if (list.size == z->n)
      z->scale[k] = list.data[k];
    else
      z->scale[k] = tn_low_float(l, names[z->n - 1][k], 0);
    if (!(z->scale[k] >= 0)) return at_fail(l, TN_ERR_INVALID, "a scale is below 0");
  }
  return TN_OK;
}

static tn_status read_sizes(const tn_lowering *l, sizes *z) {
  const tn_tensor *x = tn_low_type(l, 0);
  const tn_ints size = tn_low_ints(l, "output_size");
  z->n = x->rank - 2;
  if (z->n < 1 || z->n > 3) return at_fail(l, TN_ERR_SHAPE, "it has not 1 to 3 dims of space");
  const tn_status s = read_scales(l, z);
  if (s) return s;
  for (int32_t k = 0; k < z->n; k++) {
    z->in[k] = x->shape[k + 2];
    const double wide = (double)z->in[k] * z->scale[k];
    if (size.size == 0)
      z->out[k] = wide <= AT_MOST_SIZE ? (int64_t)wide : INT64_MAX;
    else
      z->out[k] = size.data[size.size == z->n ? k : 0];
    if (z->out[k] < 1 || z->in[k] < 1) return at_fail(l, TN_ERR_SHAPE, "an image of no pixels");
    if (z->out[k] > AT_MOST_SIZE) return tn_low_unsupported(l, "so large an image");
  }
  return TN_OK;
}

/* ---- nearest: PyTorch finds the places in f32 ---- */

static int64_t source(const sizes *z, int32_t k, int64_t i, bool exact) {
  const float scale =
      z->scale[k] > 0 ? (float)(1.0 / z->scale[k]) : (float)z->in[k] / (float)z->out[k];
  const float at = exact ? ((float)i + 0.5F) * scale : (float)i * scale;
  const int64_t place = at < (float)z->in[k] ? (int64_t)floorf(at) : z->in[k];
  return place < z->in[k] ? place : z->in[k] - 1;
}

/* Whole multiples in the order of the pixels are what a kernel for resizing does best. */
static bool is_multiple(const sizes *z, bool exact) {
  enum { EXACT = 1 << 24 }; /* whole numbers that f32 has */
  for (int32_t k = 0; k < z->n; k++) {
    if (z->out[k] % z->in[k] || z->out[k] > EXACT) return false;
    for (int64_t i = 0; i < z->out[k]; i++)
      if (source(z, k, i, exact) != i / (z->out[k] / z->in[k])) return false;
  }
  return true;
}

static int32_t to_sizes(const tn_lowering *l, const sizes *z, const tn_attr *attrs, uint32_t n) {
  const tn_tensor *x = tn_low_type(l, 0);
  int64_t all[TN_MAX_RANK] = {x->shape[0], x->shape[1]};
  for (int32_t k = 0; k < z->n; k++) all[k + 2] = z->out[k];
  const int32_t in[] = {tn_low_in(l, 0), TN_NO_ID, TN_NO_ID, tn_low_ints_const(l, all, x->rank)};
  return tn_low_emit(l, "Resize", in, 4, attrs, n);
}

static int32_t gathered(const tn_lowering *l, const sizes *z, bool exact) {
  enum { MOST = 65536 };
  int32_t x = tn_low_in(l, 0);
  for (int32_t k = 0; k < z->n; k++) {
    if (z->out[k] > MOST) return tn_low_unsupported(l, "so large an image");
    int64_t *places = l->call->host->alloc(l->call->ctx, (uint64_t)z->out[k] * sizeof *places);
    if (!places) return TN_ERR_MEMORY;
    for (int64_t i = 0; i < z->out[k]; i++) places[i] = source(z, k, i, exact);
    x = at_gather(l, x, tn_low_ints_const(l, places, z->out[k]), k + 2);
    l->call->host->free(l->call->ctx, places);
  }
  return x;
}

tn_status aten_upsample_nearest(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const bool exact = tn_low_node(&l)->op[0] == '_';
  sizes z = {.n = 0};
  const tn_status s = read_sizes(&l, &z);
  if (s) return s;
  if (!is_multiple(&z, exact)) return tn_low_done(&l, gathered(&l, &z, exact));
  const tn_attr attrs[] = {tn_attr_str("mode", "nearest"),
                           tn_attr_str("coordinate_transformation_mode", "asymmetric"),
                           tn_attr_str("nearest_mode", "floor")};
  return tn_low_done(&l, to_sizes(&l, &z, attrs, 3));
}

/* ---- linear and cubic ---- */

/* A scale of the file counts, where it is no quotient of the sizes. */
static bool has_own_scale(const sizes *z) {
  for (int32_t k = 0; k < z->n; k++) {
    const double out = (double)z->out[k], wide = (double)z->in[k] * z->scale[k];
    if (floor(wide) == out && wide != out) return true;
  }
  return false;
}

static int32_t by_scales(const tn_lowering *l, const sizes *z, const tn_attr *attrs, uint32_t n) {
  double all[TN_MAX_RANK] = {1, 1};
  for (int32_t k = 0; k < z->n; k++)
    all[k + 2] = z->scale[k] > 0 ? z->scale[k] : (double)z->out[k] / (double)z->in[k];
  const int32_t in[] = {tn_low_in(l, 0), TN_NO_ID,
                        tn_emit_floats(l->call, l->graph, all, z->n + 2)};
  return tn_low_emit(l, "Resize", in, 3, attrs, n);
}

tn_status aten_upsample(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const char *op = tn_low_node(&l)->op;
  const bool cubic = strstr(op, "bicubic") != NULL, aa = strstr(op, "_aa") != NULL,
             align = tn_low_int(&l, "align_corners", 0) != 0;
  sizes z = {.n = 0};
  const tn_status s = read_sizes(&l, &z);
  if (s) return s;
  const tn_attr attrs[] = {
      tn_attr_str("mode", cubic ? "cubic" : "linear"),
      tn_attr_str("coordinate_transformation_mode", align ? "align_corners" : "half_pixel"),
      tn_attr_float("cubic_coeff_a", aa ? -0.5 : -0.75), tn_attr_int("antialias", aa),
      tn_attr_int("exclude_outside", aa)};
  const uint32_t n = aa ? 5 : 3;
  if (!align && has_own_scale(&z)) return tn_low_done(&l, by_scales(&l, &z, attrs, n));
  return tn_low_done(&l, to_sizes(&l, &z, attrs, n));
}

/* PyTorch's cubic at the border takes the nearest pixel for each one outside, ONNX's moves the
 * place itself inside. On an image with a rim of such pixels both are the same. */
static void add_rim(const tn_lowering *l, bool align, int32_t *image, int32_t *grid) {
  enum { RIM = 4 };
  const tn_tensor *x = tn_low_type(l, 0);
  const int64_t pads[] = {0, 0, RIM, RIM, 0, 0, RIM, RIM};
  const uint32_t dtype = tn_low_type(l, 1)->dtype;
  const tn_attr edge = tn_attr_str("mode", "edge");
  const int32_t in[] = {*image, tn_low_ints_const(l, pads, 8)};
  int32_t scale[2], offset[2];
  for (int32_t k = 0; k < 2; k++) { /* x, then y */
    const double n = (double)x->shape[3 - k] - align, wide = n + 2 * RIM, by = n / wide;
    scale[k] = at_unsqueeze(l, tn_low_number(l, dtype, by), 0);
    offset[k] = at_unsqueeze(l, tn_low_number(l, dtype, by + 2 * RIM / wide - 1), 0);
  }
  *image = tn_low_emit(l, "Pad", in, 2, &edge, 1);
  *grid = tn_low_2(l, "Mul", *grid, at_concat(l, scale, 2, 0));
  *grid = tn_low_2(l, "Add", *grid, at_concat(l, offset, 2, 0));
}

tn_status aten_grid_sampler(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const modes[] = {"linear", "nearest", "cubic"}, *const paddings[] = {
                                                                         "zeros", "border",
                                                                         "reflection"};
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t mode = tn_low_int(&l, "interpolation_mode", 0),
                padding = tn_low_int(&l, "padding_mode", 0);
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2)
    return tn_low_unsupported(&l, "this mode");
  const tn_attr attrs[] = {tn_attr_str("mode", modes[mode]),
                           tn_attr_str("padding_mode", paddings[padding]),
                           tn_attr_int("align_corners", tn_low_int(&l, "align_corners", 0))};
  int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 1)};
  if (mode == 2 && padding == 1) {
    if (tn_low_type(&l, 0)->rank != 4) return tn_low_unsupported(&l, "other than four dims");
    add_rim(&l, tn_low_int(&l, "align_corners", 0) != 0, &in[0], &in[1]);
  }
  return tn_low_done(&l, tn_low_emit(&l, "GridSample", in, 2, attrs, 3));
}

tn_status aten_affine_grid(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_ints size = tn_low_ints(&l, "size");
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_ints_const(&l, size.data, size.size)};
  const tn_attr align = tn_attr_int("align_corners", tn_low_int(&l, "align_corners", 0));
  return tn_low_done(&l, tn_low_emit(&l, "AffineGrid", in, 2, &align, 1));
}

/* ---- padding: pairs, from the last dim on; what is negative is cut off ---- */

static const char *pad_mode(const tn_lowering *l) {
  const char *op = tn_low_node(l)->op;
  if (!strncmp(op, "reflection", 10) || at_says(l, "mode", "reflect")) return "reflect";
  if (!strncmp(op, "replication", 11) || at_says(l, "mode", "replicate")) return "edge";
  if (!strncmp(op, "_pad_circular", 13) || at_says(l, "mode", "circular")) return "wrap";
  return "constant";
}

static tn_status read_pads(const tn_lowering *l, int64_t *pads, int32_t *value) {
  const tn_tensor *x = tn_low_type(l, 0);
  const bool plain = at_has(l, "padding");
  const tn_ints pad = tn_low_ints(l, plain ? "padding" : "pad");
  if (pad.size % 2 || pad.size / 2 > x->rank)
    return at_fail(l, TN_ERR_INVALID, "the paddings are no pairs, or more than there are dims");
  for (int64_t k = 0; k < pad.size / 2; k++) {
    const int32_t dim = x->rank - 1 - (int32_t)k;
    const int64_t before = pad.data[2 * k], after = pad.data[2 * k + 1], n = x->shape[dim];
    if (before > AT_MOST_SIZE || after > AT_MOST_SIZE)
      return at_fail(l, TN_ERR_OVERFLOW, "so wide a rim");
    if (before < -n || after < -n || n + before + after < 0)
      return at_fail(l, TN_ERR_SHAPE, "more is cut off than there is");
    if (before < 0 || after < 0)
      *value = at_slice(l, *value, dim, before < 0 ? -before : 0, after < 0 ? n + after : n, 1);
    pads[dim] = before > 0 ? before : 0;
    pads[dim + x->rank] = after > 0 ? after : 0;
  }
  return TN_OK;
}

tn_status aten_pad(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  int64_t pads[2 * TN_MAX_RANK] = {0};
  int32_t value = tn_low_in(&l, 0);
  const tn_status s = read_pads(&l, pads, &value);
  if (s) return s;
  const tn_attr mode = tn_attr_str("mode", pad_mode(&l));
  at_scalar fill = at_number(&l, "value");
  if (!fill.is_there) fill.is_int = true;
  if (!x->rank) return at_done_input(&l);
  const int32_t in[] = {value, tn_low_ints_const(&l, pads, 2 * x->rank),
                        at_const(&l, x->dtype, fill)};
  const uint32_t n = !strcmp(pad_mode(&l), "constant") ? 3 : 2;
  return tn_low_done(&l, tn_low_emit(&l, "Pad", in, n, &mode, 1));
}
