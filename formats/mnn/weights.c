/* Weights of convolutions: numbers, halves, or codes of 8 bits and fewer with a scale for each
 * channel or group, in the network or in the file beside it. */
#include <math.h>
#include <stdio.h>

#include "nodes.h"
#include "tenon/kit/narrow.h"

/* ---- where they lie ---- */

/* Maps the file beside the network, "net.mnn.weight", or the one that the operator names. */
static bool open_beside(mnn_reader *r) {
  const tn_source *s = r->source;
  const tn_str own = tn_flat_text(&r->op, OP_EXTERNAL);
  const char *base = s->path ? s->path : "";
  for (const char *p = base; *p; p++)
    if (*p == '/' || *p == '\\') base = p + 1;
  const char *name =
      own.size ? tn_flat_name(&r->arena, own) : tn_arena_format(&r->arena, "%s.weight", base);
  if (!name) r->status = mnn_fail(r, TN_ERR_MEMORY, "out of memory");
  if (!name || (r->beside_name && !strcmp(name, r->beside_name))) return name;
  if (!s->open_sibling || !s->path)
    r->status = mnn_fail(r, TN_ERR_NOT_FOUND,
                         "its weights are in '%.80s': the network has no folder", name);
  else if (s->open_sibling(s->ctx, name, &r->beside.data, &r->beside.size))
    r->status =
        mnn_fail(r, TN_ERR_NOT_FOUND, "its weights are in '%.80s', which cannot be read", name);
  if (!r->status) r->beside_name = name;
  return !r->status;
}

bool mnn_beside(mnn_reader *r, const tn_flat_vector *list, uint64_t k, mnn_span *out) {
  uint64_t at = 0;
  *out = (mnn_span){NULL, 0};
  if (r->status || k + 1 >= list->n) return !r->status;
  bool ok = true;
  for (uint64_t j = 0; j <= k && ok; j++) {
    const int64_t size = tn_flat_int_at(list, j);
    ok = size >= 0 && (uint64_t)size <= UINT64_MAX / 2 - at;
    at += ok ? (uint64_t)size : 0;
  }
  const int64_t size = tn_flat_int_at(list, k + 1);
  if (!mnn_status(r) && !open_beside(r)) return false;
  if (r->status) return false;
  if (!ok || size < 0 || at > r->beside.size || (uint64_t)size > r->beside.size - at) {
    r->status = mnn_fail(r, TN_ERR_INVALID, "its weights are not in the %llu bytes of '%.80s'",
                         (unsigned long long)r->beside.size, r->beside_name);
    return false;
  }
  *out = (mnn_span){at ? r->beside.data + at : r->beside.data, (uint64_t)size};
  return true;
}

mnn_span mnn_span_of(const tn_flat_vector *v) {
  return (mnn_span){tn_flat_bytes(v), v->n * v->width};
}

/* ---- codes ---- */

typedef struct stream {
  mnn_reader *r;
  mnn_span rest;
} stream;

/* NULL: there are fewer. */
static const uint8_t *take(stream *s, uint64_t n) {
  if (n > s->rest.size) {
    mnn_invalid(s->r, "its compressed weights end too early");
    return NULL;
  }
  const uint8_t *p = s->rest.data;
  s->rest = (mnn_span){p + n, s->rest.size - n};
  return p;
}

static uint64_t take_number(stream *s, uint32_t width) {
  uint64_t v = 0;
  const uint8_t *p = take(s, width);
  for (uint32_t k = 0; p && k < width; k++) v |= (uint64_t)p[k] << 8 * k;
  return v;
}

static void *room_for(mnn_reader *r, uint64_t bytes) {
  if (bytes > r->room) {
    mnn_invalid(r, "its weights are much larger than the file");
    return NULL;
  }
  r->room -= bytes;
  void *made = tn_arena_alloc(&r->arena, bytes + 1);
  if (!made) r->status = mnn_fail(r, TN_ERR_MEMORY, "out of memory");
  return made;
}

/* Number k of so many bits each, high bits first. */
static uint32_t bits_at(const uint8_t *p, uint64_t k, uint32_t bits) {
  uint32_t v = 0;
  for (uint64_t at = k * bits, j = 0; j < bits; j++)
    v = v << 1 | (p[(at + j) / 8] >> (7 - (at + j) % 8) & 1u);
  return v;
}

/* The least that 0 .. n - 1 fit into. */
static uint32_t bits_for(uint32_t n) {
  uint32_t bits = 1;
  while (bits < 8 && 1u << bits < n) bits++;
  return bits;
}

/* Dims of the weights, of which there must be n elements. */
static bool take_shape(stream *s, bool wide, uint64_t n) {
  uint64_t product = 1;
  const uint64_t rank = take_number(s, 1);
  for (uint64_t k = 0; k < rank && rank <= 4; k++) {
    const uint64_t dim = take_number(s, wide ? 4 : 2);
    product = dim && product > n ? n + 1 : product * dim;
  }
  if (!rank || rank > 4 || product != n)
    mnn_invalid(s->r, "its compressed weights have another shape");
  return !s->r->status;
}

/* The values that codes stand for, in order. */
static uint32_t take_palette(stream *s, int8_t *out) {
  const uint32_t n = (uint32_t)take_number(s, 1), count = n ? n : 256;
  const uint8_t *p = take(s, count);
  for (uint32_t k = 0; p && k < count; k++) {
    uint32_t j = k;
    for (const int8_t v = (int8_t)p[k]; j && out[j - 1] > v; j--) out[j] = out[j - 1];
    out[j] = (int8_t)p[k];
  }
  return count;
}

/* The elements as indices into a palette. */
static const int8_t *read_palette(mnn_reader *r, mnn_span bytes, bool wide, uint64_t n) {
  int8_t palette[256];
  stream s = {r, bytes};
  if (!take_shape(&s, wide, n)) return NULL;
  const uint32_t count = take_palette(&s, palette), bits = bits_for(count);
  const uint8_t *p = r->status ? NULL : take(&s, (n * bits + 7) / 8);
  int8_t *out = p ? room_for(r, n) : NULL;
  for (uint64_t k = 0; out && k < n; k++) {
    const uint32_t index = bits == 8 ? p[k] : bits_at(p, k, bits);
    if (index >= count) return mnn_invalid(r, "a weight is none of its palette"), NULL;
    out[k] = palette[index];
  }
  return out;
}

/* The elements that are not 0: steps from one to the next, and indices into a palette. */
static const int8_t *read_sparse(mnn_reader *r, mnn_span bytes, bool wide, uint64_t n,
                                 const int8_t *zeros, uint64_t n_zeros) {
  int8_t palette[256];
  stream s = {r, bytes};
  if (!take_shape(&s, wide, n)) return NULL;
  const uint64_t some = take_number(&s, 4), step_bits = take_number(&s, 1);
  if (!r->status && (step_bits > 8 || some > n))
    return mnn_invalid(r, "its sparse weights are no list of steps"), NULL;
  const uint8_t *steps = r->status ? NULL : take(&s, (some * step_bits + 7) / 8);
  const uint32_t count = steps ? take_palette(&s, palette) : 0, bits = bits_for(count);
  uint32_t distinct = 0;
  for (uint32_t k = 0; k < count && !r->status; k++)
    if (!k || palette[k] != palette[k - 1]) palette[distinct++] = palette[k];
  const uint8_t *p = r->status ? NULL : take(&s, (some * bits + 7) / 8);
  int8_t *out = p ? room_for(r, n) : NULL;
  for (uint64_t k = 0; out && k < n; k++) out[k] = n_zeros ? zeros[k / (n / n_zeros)] : 0;
  for (uint64_t k = 0, at = 0; out && k < some; k++) {
    const uint32_t index = bits_at(p, k, bits);
    at += bits_at(steps, k, (uint32_t)step_bits);
    if (at >= n || index >= distinct)
      return mnn_invalid(r, "a weight is not in its shape, or none of its palette"), NULL;
    out[at] = palette[index];
  }
  return out;
}

/* ---- scales ---- */

enum { PALETTE = 1, SPARSE, HALF, BYTES };

typedef struct compressed {
  tn_flat_table quant;
  int64_t type;
  mnn_span codes, scales, index;
  uint64_t n_scales;
  bool halves, pairs, old; /* pairs: the least and a step */
} compressed;

static float scale_at(const compressed *c, uint64_t k) {
  float f;
  uint16_t h;
  if (c->halves) {
    memcpy(&h, c->scales.data + 2 * k, sizeof h);
    return tn_f16_to_f32(h);
  }
  memcpy(&f, c->scales.data + 4 * k, sizeof f);
  return f;
}

static bool find_parts(mnn_reader *r, const tn_flat_vector *beside, compressed *c) {
  enum { FP16 = 1 };
  const tn_flat_vector buffer = tn_flat_vec(&c->quant, QUANT_BUFFER, 1),
                       index = tn_flat_vec(&c->quant, QUANT_INDEX, 4);
  c->type = tn_flat_int(&c->quant, QUANT_TYPE, 4, 0);
  c->halves = tn_flat_int(&c->quant, QUANT_SCALE_TYPE, 1, 0) == FP16;
  const tn_flat_vector scales = c->halves ? tn_flat_vec(&c->quant, QUANT_HALF_SCALES, 2)
                                          : tn_flat_vec(&c->quant, QUANT_ALPHA, 4);
  c->codes = mnn_span_of(&buffer);
  c->scales = mnn_span_of(&scales);
  c->index = mnn_span_of(&index);
  if (beside->n && !buffer.n) {
    mnn_beside(r, beside, 0, &c->codes);
    mnn_beside(r, beside, 1, &c->scales);
    mnn_beside(r, beside, 3, &c->index);
  }
  c->n_scales = c->scales.size / (c->halves ? 2 : 4);
  const double factor = tn_flat_float(&c->quant, QUANT_FACTOR, 0);
  c->old = c->type == BYTES && !tn_flat_int(&c->quant, QUANT_LEAST, 4, 0) && fabs(factor) < 1e-6;
  c->pairs = tn_flat_int(&c->quant, QUANT_READ_TYPE, 4, 0) || c->old;
  return !mnn_status(r);
}

/* What a group's codes are multiplied with, and what is added. */
static void read_scales(const compressed *c, float *scales, float *offsets) {
  const int64_t said = tn_flat_int(&c->quant, QUANT_LEAST, 4, 0), least = said ? said : -128;
  const float factor = c->old ? 1 : (float)tn_flat_float(&c->quant, QUANT_FACTOR, 0);
  for (uint64_t k = 0; k < c->n_scales / (c->pairs ? 2 : 1); k++) {
    scales[k] = scale_at(c, c->pairs ? 2 * k + 1 : k);
    offsets[k] = c->pairs ? scale_at(c, 2 * k) : 0;
    if (c->pairs && least < 0) offsets[k] -= (float)least * scales[k];
    scales[k] *= factor;
    offsets[k] *= factor;
  }
}

/* Codes that stand for 0, of each group. */
static const int8_t *zero_codes(mnn_reader *r, const compressed *c, uint64_t groups) {
  if (!c->pairs) return NULL;
  int8_t *out = room_for(r, groups);
  for (uint64_t k = 0; out && k < groups; k++) {
    const float step = scale_at(c, 2 * k + 1);
    const double zero = step > 1e-6f ? round((0.0f - scale_at(c, 2 * k)) / step) - 128 : -128;
    out[k] = (int8_t)(zero < -128 ? -128 : zero > 127 ? 127 : zero);
  }
  return out;
}

static int32_t constant(mnn_reader *r, uint32_t dtype, int32_t rank, const int64_t *shape,
                        mnn_span bytes) {
  const tn_tensor type = tn_tensor_make(dtype, rank, shape, NULL);
  const int32_t id = r->status ? TN_NO_ID : r->api->value(r->g, NULL);
  if (id < 0 && !r->status) r->status = mnn_fail(r, id, "it needs one more value");
  return id < 0 ? TN_NO_ID : mnn_constant(r, id, bytes, &type);
}

int32_t mnn_vector(mnn_reader *r, mnn_span bytes) {
  const int64_t n = (int64_t)(bytes.size / 4);
  return constant(r, TN_F32, 1, &n, bytes);
}

static int32_t dequantised(mnn_reader *r, const compressed *c, const int8_t *codes, int64_t n,
                           const int64_t *shape) {
  const int64_t groups = (int64_t)(c->n_scales / (c->pairs ? 2 : 1));
  if (groups < 1 || n % groups)
    return mnn_invalid(r, "its weights are no whole groups of its scales");
  float *scales = room_for(r, (uint64_t)groups * 2 * sizeof *scales);
  if (!scales) return TN_NO_ID;
  float *offsets = scales + groups;
  read_scales(c, scales, offsets);
  const bool direct = !c->pairs && groups == shape[0];
  const int64_t flat[] = {groups, n / groups}, column[] = {groups, 1};
  const mnn_span bytes = {(const uint8_t *)codes, (uint64_t)n},
                 steps = {(const uint8_t *)scales, (uint64_t)groups * 4},
                 least = {(const uint8_t *)offsets, (uint64_t)groups * 4};
  const int32_t in[] = {constant(r, TN_I8, direct ? 4 : 2, direct ? shape : flat, bytes),
                        constant(r, TN_F32, 1, flat, steps)};
  const tn_attr axis = tn_attr_int("axis", 0);
  int32_t y = mnn_emit(r, "DequantizeLinear", in, 2, &axis, 1);
  if (c->pairs) y = mnn_emit_2(r, "Add", y, constant(r, TN_F32, 2, column, least));
  return direct ? y : mnn_emit_2(r, "Reshape", y, mnn_i64s(r, shape, 4));
}

/* Numbers at places; all others are 0. */
static int32_t scattered(mnn_reader *r, const compressed *c, int64_t n, const int64_t *shape) {
  const uint64_t some = c->index.size / 4;
  if (c->halves || some != c->n_scales) return mnn_refuse(r, "sparse weights of this form");
  float *out = room_for(r, (uint64_t)n * sizeof *out);
  for (int64_t k = 0; out && k < n; k++) out[k] = 0;
  for (uint64_t k = 0; out && k < some; k++) {
    uint32_t at;
    memcpy(&at, c->index.data + 4 * k, sizeof at);
    if (at >= n) return mnn_invalid(r, "a sparse weight is not in its shape");
    out[at] = scale_at(c, k);
  }
  const mnn_span bytes = {(const uint8_t *)out, (uint64_t)n * sizeof *out};
  return out ? constant(r, TN_F32, 4, shape, bytes) : TN_NO_ID;
}

static int32_t decompressed(mnn_reader *r, compressed *c, const tn_flat_vector *beside, int64_t n,
                            const int64_t *shape) {
  if (!find_parts(r, beside, c)) return TN_NO_ID;
  const bool wide = tn_flat_int(&c->quant, QUANT_WIDE_SHAPE, 1, 0);
  const int8_t *codes = (const int8_t *)c->codes.data;
  if (c->index.size) return scattered(r, c, n, shape);
  if (c->type == HALF) return mnn_cast(r, constant(r, TN_F16, 4, shape, c->codes), TN_F32);
  if (tn_flat_int(&c->quant, QUANT_HAS_INT, 1, 0))
    return mnn_refuse(r, "weights of a network whose activations are quantised");
  if (c->type < PALETTE || c->type > BYTES) return mnn_refuse(r, "weights compressed in this way");
  if (c->type == PALETTE) codes = read_palette(r, c->codes, wide, (uint64_t)n);
  if (c->type == SPARSE) {
    const uint64_t groups = c->pairs ? c->n_scales / 2 : 0;
    if (groups && (uint64_t)n % groups)
      return mnn_invalid(r, "its weights are no whole groups of its scales");
    codes = read_sparse(r, c->codes, wide, (uint64_t)n, zero_codes(r, c, groups), groups);
  }
  if (c->type == BYTES && c->codes.size != (uint64_t)n)
    return mnn_invalid(r, "its compressed weights have another shape");
  return r->status || !codes ? TN_NO_ID : dequantised(r, c, codes, n, shape);
}

/* Codes by codes become codes again: sums are multiplied with `scales`, one for each channel. */
static int32_t own_weights(mnn_reader *r, const tn_flat_table *own, const int64_t *shape) {
  const tn_flat_vector codes = tn_flat_vec(own, OWN_WEIGHT, 1),
                       scales = tn_flat_vec(own, OWN_SCALE, 4);
  const int32_t in[] = {constant(r, TN_I8, 4, shape, mnn_span_of(&codes)),
                        constant(r, TN_F32, 1, shape, mnn_span_of(&scales))};
  const tn_attr axis = tn_attr_int("axis", 0);
  return mnn_emit(r, "DequantizeLinear", in, 2, &axis, 1);
}

static int32_t own_bias(mnn_reader *r, const tn_flat_table *own, int64_t n) {
  const tn_flat_vector bias = tn_flat_vec(own, OWN_BIAS, 4),
                       scales = tn_flat_vec(own, OWN_SCALE, 4);
  if (!bias.n) return TN_NO_ID;
  if (bias.n != (uint64_t)n || scales.n != (uint64_t)n)
    return mnn_invalid(r, "it has not one bias and scale for each channel");
  float *out = room_for(r, (uint64_t)n * sizeof *out);
  for (uint64_t k = 0; out && k < (uint64_t)n; k++)
    out[k] = (float)tn_flat_int_at(&bias, k) * (float)tn_flat_float_at(&scales, k);
  const mnn_span bytes = {(const uint8_t *)out, (uint64_t)n * sizeof *out};
  return out ? constant(r, TN_F32, 1, &n, bytes) : TN_NO_ID;
}

int32_t mnn_weights(mnn_reader *r, const int64_t *shape) {
  mnn_steps from, to;
  const tn_flat_table own = tn_flat_sub(&r->param, CONV_SYMMETRIC, &mnn_param_type);
  if (mnn_own_codes(r, &from, &to)) return own_weights(r, &own, shape);
  const tn_flat_vector w = tn_flat_vec(&r->param, CONV_WEIGHT, 4),
                       beside = tn_flat_vec(&r->param, CONV_EXTERNAL, 8);
  compressed c = {.quant = tn_flat_sub(&r->param, CONV_QUANT, &mnn_param_type)};
  mnn_span bytes = mnn_span_of(&w);
  const tn_tensor type = tn_tensor_make(TN_I8, 4, shape, NULL);
  const int64_t n = tn_tensor_elements(&type);
  if (n < 1) return mnn_invalid(r, "its weights have no elements");
  if (tn_flat_has(&r->param, CONV_SPARSE) && !c.quant.at) return mnn_refuse(r, "sparse weights");
  if (c.quant.at) return decompressed(r, &c, &beside, n, shape);
  if (beside.n && !w.n) mnn_beside(r, &beside, 0, &bytes);
  return constant(r, TN_F32, 4, shape, bytes);
}

/* Of a depthwise convolution that is computed in codes. */
static int32_t cut_bias(mnn_reader *r, const tn_flat_vector *beside, mnn_span bytes, int64_t n) {
  compressed c = {.quant = tn_flat_sub(&r->param, CONV_QUANT, &mnn_param_type)};
  if (!find_parts(r, beside, &c)) return TN_NO_ID;
  const uint64_t groups = c.n_scales / (c.pairs ? 2 : 1);
  float *room = room_for(r, ((uint64_t)n + 2 * groups) * sizeof *room);
  if (!room) return TN_NO_ID;
  if (groups != (uint64_t)n || bytes.size != (uint64_t)n * sizeof *room)
    return mnn_invalid(r, "it has not one bias and scale for each channel");
  memcpy(room, bytes.data, bytes.size);
  read_scales(&c, room + n, room + 2 * n);
  mnn_cut_bias(r, room + n, room, (uint64_t)n);
  return constant(r, TN_F32, 1, &n, (mnn_span){(const uint8_t *)room, bytes.size});
}

int32_t mnn_bias(mnn_reader *r, int64_t n) {
  mnn_steps from, to;
  const tn_flat_table own = tn_flat_sub(&r->param, CONV_SYMMETRIC, &mnn_param_type);
  if (mnn_own_codes(r, &from, &to)) return own_bias(r, &own, n);
  const tn_flat_vector b = tn_flat_vec(&r->param, CONV_BIAS, 4),
                       beside = tn_flat_vec(&r->param, CONV_EXTERNAL, 8);
  const bool has_codes = tn_flat_has(&r->param, CONV_QUANT);
  mnn_span bytes = mnn_span_of(&b);
  if (!b.n && beside.n) mnn_beside(r, &beside, has_codes ? 2 : 1, &bytes);
  if (r->status || !bytes.size) return TN_NO_ID;
  if (r->how == MNN_ROUNDED && !strcmp(r->row->name, "ConvolutionDepthwise"))
    return cut_bias(r, &beside, bytes, n);
  return constant(r, TN_F32, 1, &n, bytes);
}
