/* Pools, plain and adaptive. */
#include "aten.h"
#include "aten_layers.gen.h"

/* Of `n` dims of space, the last ones of the input. */
typedef struct pool {
  int32_t n;
  int64_t in[3], kernel[3], stride[3], dilation[3], pad[6], out[3];
  int64_t given[3]; /* padding as the file says it, on both sides */
  bool runs_over;   /* a last window reaches beyond the padding */
} pool;

static int32_t space_of(const tn_lowering *l) {
  const char *op = tn_low_node(l)->op;
  const char *d = strstr(op, "1d") ? "1" : strstr(op, "2d") ? "2" : "3";
  return *d - '0';
}

/* How many windows there are; a last one may not begin in the padding behind. */
static int64_t count(const pool *p, int32_t k, bool ceil) {
  const int64_t reach = p->dilation[k] * (p->kernel[k] - 1) + 1,
                room = p->in[k] + 2 * p->given[k] - reach;
  int64_t n = (room + (ceil ? p->stride[k] - 1 : 0)) / p->stride[k] + 1;
  if (room < 0) return room + (ceil ? p->stride[k] - 1 : 0) < 0 ? 0 : 1;
  if (ceil && (n - 1) * p->stride[k] >= p->in[k] + p->given[k]) n--;
  return n;
}

/* Is it a window? Its numbers are the file's. */
static tn_status check_window(const tn_lowering *l, int64_t kernel, int64_t stride,
                              int64_t dilation, int64_t pad) {
  if (kernel < 1 || stride < 1 || dilation < 1 || pad < 0)
    return at_fail(l, TN_ERR_INVALID, "a size of the window is below 1");
  if (kernel > AT_MOST_SIZE || stride > AT_MOST_SIZE || dilation > AT_MOST_SIZE ||
      pad > AT_MOST_SIZE)
    return at_fail(l, TN_ERR_OVERFLOW, "a size of the window is too large");
  return TN_OK;
}

static tn_status read_pool(const tn_lowering *l, pool *p) {
  const tn_tensor *x = tn_low_type(l, 0);
  p->n = space_of(l);
  if (x->rank != p->n + 1 && x->rank != p->n + 2)
    return at_fail(l, TN_ERR_SHAPE, "the input has a wrong number of dims");
  const bool ceil = tn_low_int(l, "ceil_mode", 0) != 0;
  for (int32_t k = 0; k < p->n; k++) {
    p->in[k] = x->shape[x->rank - p->n + k];
    p->kernel[k] = at_item(l, "kernel_size", k, 1);
    p->stride[k] = at_item(l, "stride", k, p->kernel[k]);
    p->dilation[k] = at_item(l, "dilation", k, 1);
    p->given[k] = at_item(l, "padding", k, 0);
    const tn_status s = check_window(l, p->kernel[k], p->stride[k], p->dilation[k], p->given[k]);
    if (s) return s;
    p->out[k] = count(p, k, ceil);
    if (p->out[k] < 1) return at_fail(l, TN_ERR_SHAPE, "the window is larger than the input");
    const int64_t end = (p->out[k] - 1) * p->stride[k] + p->dilation[k] * (p->kernel[k] - 1) + 1;
    const int64_t needed = end - p->in[k] - p->given[k];
    p->pad[k] = p->given[k];
    p->pad[k + p->n] = needed > p->given[k] ? needed : p->given[k];
    p->runs_over |= needed > p->given[k];
  }
  return TN_OK;
}

static int32_t batched(const tn_lowering *l, int32_t n) {
  const int32_t x = tn_low_in(l, 0);
  return tn_low_type(l, 0)->rank == n + 1 ? at_unsqueeze(l, x, 0) : x;
}

static int32_t unbatched(const tn_lowering *l, int32_t n, int32_t y) {
  return tn_low_type(l, 0)->rank == n + 1 ? at_squeeze(l, y, 0) : y;
}

static tn_status windows(const tn_lowering *l, const pool *p, const char *op, int32_t x,
                         int64_t counts_padding, uint32_t n_out, int32_t *out) {
  const bool max = !strcmp(op, "MaxPool");
  const tn_attr attrs[] = {tn_attr_ints("kernel_shape", (tn_ints){p->kernel, p->n}),
                           tn_attr_ints("strides", (tn_ints){p->stride, p->n}),
                           tn_attr_ints("dilations", (tn_ints){p->dilation, p->n}),
                           tn_attr_ints("pads", (tn_ints){p->pad, 2 * p->n}),
                           tn_attr_int("count_include_pad", counts_padding)};
  return tn_low_emit_many(l, op, &x, 1, attrs, max ? 4 : 5, n_out, out);
}

/* Places count within a plane, not within the whole tensor. */
static int32_t places(const tn_lowering *l, const pool *p, int32_t indices) {
  int64_t plane = 1;
  for (int32_t k = 0; k < p->n; k++) plane *= p->in[k];
  return tn_low_2(l, "Mod", indices, at_int_const(l, TN_I64, plane));
}

tn_status aten_max_pool(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  pool p = {.n = 0};
  int32_t out[2];
  tn_status s = read_pool(&l, &p);
  const uint32_t n = tn_low_node(&l)->n_outputs;
  if (!s) s = windows(&l, &p, "MaxPool", batched(&l, p.n), 0, n > 1 ? 2 : 1, out);
  if (s) return s;
  out[0] = unbatched(&l, p.n, out[0]);
  if (n > 1) out[1] = unbatched(&l, p.n, places(&l, &p, out[1]));
  return tn_low_done_many(&l, out, n);
}

/* How many elements each window is divided by: those within the padding that the file names. */
static int32_t divisors(const tn_lowering *l, const pool *p, uint32_t dtype) {
  int32_t all = TN_NO_ID;
  for (int32_t k = 0; k < p->n; k++) {
    int64_t shape[TN_MAX_RANK];
    for (int32_t i = 0; i < p->n; i++) shape[i] = i == k ? p->out[k] : 1;
    const int32_t from =
        tn_low_2(l, "Mul", at_iota(l, p->out[k]), at_int_const(l, TN_I64, p->stride[k]));
    const int32_t end = tn_low_2(l, "Add", from, at_int_const(l, TN_I64, p->kernel[k])),
                  most = at_int_const(l, TN_I64, p->in[k] + 2 * p->given[k]);
    const int32_t n = tn_low_2(l, "Sub", tn_low_2(l, "Min", end, most), from);
    const int32_t part = tn_low_reshape(l, at_cast(l, n, TN_I64, dtype), p->n, shape);
    all = k ? tn_low_2(l, "Mul", all, part) : part;
  }
  return all;
}

tn_status aten_avg_pool(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  pool p = {.n = 0};
  int32_t y = TN_NO_ID;
  tn_status s = read_pool(&l, &p);
  if (s) return s;
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  if (at_category(dtype) < AT_FLOAT) return tn_low_unsupported(&l, "means of integers");
  const bool counts = tn_low_int(&l, "count_include_pad", 1) != 0,
             own = at_has(&l, "divisor_override");
  const bool sums = own || (counts && p.runs_over);
  s = windows(&l, &p, "AveragePool", batched(&l, p.n), counts || own, 1, &y);
  if (s) return s;
  if (sums) {
    double all = 1;
    for (int32_t k = 0; k < p.n; k++) all *= (double)p.kernel[k];
    y = tn_low_2(&l, "Mul", y, tn_low_number(&l, dtype, all));
    y = tn_low_2(&l, "Div", y,
                 own ? tn_low_number(&l, dtype, (double)tn_low_int(&l, "divisor_override", 1))
                     : divisors(&l, &p, dtype));
  }
  return tn_low_done(&l, unbatched(&l, p.n, y));
}

/* ---- adaptive ---- */

static tn_status read_adaptive(const tn_lowering *l, pool *p, bool *divides) {
  const tn_tensor *x = tn_low_type(l, 0);
  const tn_ints size = tn_low_ints(l, "output_size");
  p->n = space_of(l);
  *divides = true;
  if (x->rank != p->n + 1 && x->rank != p->n + 2)
    return at_fail(l, TN_ERR_SHAPE, "the input has a wrong number of dims");
  for (int32_t k = 0; k < p->n; k++) {
    p->in[k] = x->shape[x->rank - p->n + k];
    p->out[k] =
        size.size == 0 ? tn_low_int(l, "output_size", p->in[k]) : size.data[size.size == 1 ? 0 : k];
    if (p->out[k] < 1 || p->in[k] < 1) return tn_low_unsupported(l, "pools of or to nothing");
    *divides &= p->in[k] % p->out[k] == 0;
    p->stride[k] = p->kernel[k] = p->in[k] / p->out[k];
    p->dilation[k] = 1;
  }
  return TN_OK;
}

/* Output i of a dim is made of floor(i in / out) .. ceil((i + 1) in / out). */
static void part_of(const pool *p, int32_t k, int64_t i, int64_t *from, int64_t *to) {
  *from = i * p->in[k] / p->out[k];
  *to = tn_ceil_div((i + 1) * p->in[k], p->out[k]);
}

static int32_t in_parts(const tn_lowering *l, const pool *p, int32_t k, int32_t x, const char *op) {
  enum { MOST = 256 };
  int32_t parts[MOST];
  const int64_t dim = k - p->n;
  if (p->out[k] > MOST) return tn_low_unsupported(l, "so large an output that does not divide");
  for (int64_t i = 0; i < p->out[k]; i++) {
    int64_t from, to;
    part_of(p, k, i, &from, &to);
    parts[i] = at_reduce(l, op, at_slice(l, x, dim, from, to, 1), &dim, 1, true);
  }
  return at_concat(l, parts, (uint32_t)p->out[k], dim);
}

/* Means of parts of parts are the means, for all of a dim have one size where they meet: the parts
 * of each dim are made one after the other. */
static tn_status adaptive(const tn_lowering *l, const char *op, const char *reduce) {
  pool p = {.n = 0};
  bool divides;
  int32_t out[2];
  const tn_status s = read_adaptive(l, &p, &divides);
  const uint32_t n = tn_low_node(l)->n_outputs;
  if (s) return s;
  if (divides) {
    const tn_status made = windows(l, &p, op, batched(l, p.n), 0, n > 1 ? 2 : 1, out);
    if (made) return made;
    out[0] = unbatched(l, p.n, out[0]);
    if (n > 1) out[1] = unbatched(l, p.n, places(l, &p, out[1]));
    return tn_low_done_many(l, out, n);
  }
  if (n > 1 && at_is_read(l, 1))
    return tn_low_unsupported(l, "places of an adaptive pool whose sizes do not divide");
  const int64_t nothing = 0;
  out[0] = tn_low_in(l, 0);
  for (int32_t k = 0; k < p.n; k++) out[0] = in_parts(l, &p, k, out[0], reduce);
  if (n > 1) out[1] = at_full(l, at_int_const(l, TN_I64, 0), 1, &nothing);
  return tn_low_done_many(l, out, n);
}

tn_status aten_adaptive_avg_pool(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return adaptive(&l, "AveragePool", "ReduceMean");
}

tn_status aten_adaptive_max_pool(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return adaptive(&l, "MaxPool", "ReduceMax");
}

/* ---- windows as columns ---- */

tn_status aten_im2col(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  if (x->rank != 4 && x->rank != 3) return at_fail(&l, TN_ERR_SHAPE, "it has not 3 or 4 dims");
  const int64_t *d = x->shape + (x->rank - 3), n = x->rank == 4 ? x->shape[0] : 1;
  int64_t grid[2][2], out[2], pads[8] = {0};
  int32_t index[2], value = x->rank == 4 ? tn_low_in(&l, 0) : at_unsqueeze(&l, tn_low_in(&l, 0), 0);
  for (int32_t k = 0; k < 2; k++) {
    const int64_t kernel = at_item(&l, "kernel_size", k, 1), stride = at_item(&l, "stride", k, 1),
                  dilation = at_item(&l, "dilation", k, 1), pad = at_item(&l, "padding", k, 0);
    const tn_status s = check_window(&l, kernel, stride, dilation, pad);
    if (s) return s;
    out[k] = (d[k + 1] + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
    if (out[k] < 1) return at_fail(&l, TN_ERR_SHAPE, "the window is larger than the input");
    grid[k][0] = kernel;
    grid[k][1] = out[k];
    pads[2 + k] = pads[6 + k] = pad;
    const int64_t column[] = {kernel, 1};
    const int32_t inner =
                      tn_low_2(&l, "Mul", at_iota(&l, kernel), at_int_const(&l, TN_I64, dilation)),
                  outer =
                      tn_low_2(&l, "Mul", at_iota(&l, out[k]), at_int_const(&l, TN_I64, stride));
    index[k] = tn_low_2(&l, "Add", tn_low_reshape(&l, inner, 2, column), outer);
  }
  value = tn_low_2(&l, "Pad", value, tn_low_ints_const(&l, pads, 8));
  for (int32_t k = 1; k >= 0; k--) /* [n, c, h, w] to [n, c, kh, oh, kw, ow] */
    value = at_gather(&l, value, index[k], 2 + k);
  const int32_t perm[] = {0, 1, 2, 4, 3, 5};
  const int64_t shape[] = {n, d[0] * grid[0][0] * grid[1][0], out[0] * out[1]};
  value = tn_low_reshape(&l, tn_low_transpose(&l, value, 6, perm), x->rank == 4 ? 3 : 2,
                         x->rank == 4 ? shape : shape + 1);
  return tn_low_done(&l, value);
}

tn_status aten_col2im(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  int64_t image[2], block[2], stride[2], dilation[2], pads[4];
  for (int32_t k = 0; k < 2; k++) {
    image[k] = at_item(&l, "output_size", k, 1);
    block[k] = at_item(&l, "kernel_size", k, 1);
    stride[k] = at_item(&l, "stride", k, 1);
    dilation[k] = at_item(&l, "dilation", k, 1);
    pads[k] = pads[k + 2] = at_item(&l, "padding", k, 0);
  }
  const int32_t in[] = {x->rank == 2 ? at_unsqueeze(&l, tn_low_in(&l, 0), 0) : tn_low_in(&l, 0),
                        tn_low_ints_const(&l, image, 2), tn_low_ints_const(&l, block, 2)};
  const tn_attr attrs[] = {tn_attr_ints("strides", (tn_ints){stride, 2}),
                           tn_attr_ints("dilations", (tn_ints){dilation, 2}),
                           tn_attr_ints("pads", (tn_ints){pads, 4})};
  const int32_t y = tn_low_emit(&l, "Col2Im", in, 3, attrs, 3);
  return tn_low_done(&l, x->rank == 2 ? at_squeeze(&l, y, 0) : y);
}
