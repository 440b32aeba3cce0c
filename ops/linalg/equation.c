/* Reading Einsum equations. Letters are indices 0 .. 51; the dims of an ellipsis are indices 52 on,
 * the last one of it first, as they are aligned at the end. */
#include "equation.h"

#include <string.h>

enum { LETTERS = 52 };

/* One term: the indices of the dims of an operand. */
typedef struct term {
  int32_t rank;
  uint8_t index[TN_MAX_RANK + LETTERS];
} term;

typedef struct reading {
  const tn_call *call;
  tn_str text;
  int64_t at;
  int32_t ellipsis;               /* dims that the longest ellipsis stands for */
  int64_t size[EQUATION_INDICES]; /* -1: not seen */
  int32_t uses[EQUATION_INDICES];
  term terms[EQUATION_OPERANDS], output;
} reading;

static tn_status bad(const reading *r, const char *why) {
  return r->call->host->fail(r->call->ctx, TN_ERR_INVALID, "equation '%.*s', at %lld: %s",
                             (int)tn_min_i64(r->text.size, 200), r->text.data, (long long)r->at,
                             why);
}

static char peek(reading *r) {
  while (r->at < r->text.size && r->text.data[r->at] == ' ') r->at++;
  return r->at < r->text.size ? r->text.data[r->at] : '\0';
}

static int32_t letter(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

static bool is_arrow(reading *r) {
  return peek(r) == '-' && r->at + 1 < r->text.size && r->text.data[r->at + 1] == '>';
}

/* Letters and at most one "..."; *out_dots: how many letters stand before it, -1: there is none. */
static tn_status read_term(reading *r, term *out, int32_t *out_dots) {
  *out_dots = -1;
  out->rank = 0;
  for (char c; (c = peek(r)) != '\0' && c != ',' && !is_arrow(r);) {
    if (c == '.') {
      if (*out_dots >= 0 || r->text.size - r->at < 3 || memcmp(r->text.data + r->at, "...", 3))
        return bad(r, "an ellipsis is three dots, once in a term");
      *out_dots = out->rank;
      r->at += 3;
      continue;
    }
    if (letter(c) < 0) return bad(r, "only letters, ',', '->', '...' and spaces have a meaning");
    if (out->rank == TN_MAX_RANK) return bad(r, "too many indices in a term");
    out->index[out->rank++] = (uint8_t)letter(c);
    r->at++;
  }
  return TN_OK;
}

/* Puts `dims` indices of the ellipsis behind the first `dots` letters. */
static void open_ellipsis(term *t, int32_t dots, int32_t dims) {
  memmove(t->index + dots + dims, t->index + dots, (size_t)(t->rank - dots));
  for (int32_t k = 0; k < dims; k++) t->index[dots + k] = (uint8_t)(LETTERS + dims - 1 - k);
  t->rank += dims;
}

static tn_status see_size(reading *r, uint8_t index, int64_t size) {
  int64_t *known = &r->size[index];
  r->uses[index]++;
  if (*known < 0 || *known == 1)
    *known = size;
  else if (size != 1 && size != *known)
    return r->call->host->fail(r->call->ctx, TN_ERR_SHAPE,
                               "an index of the equation stands for %lld and for %lld elements",
                               (long long)*known, (long long)size);
  return TN_OK;
}

static tn_status read_operand(reading *r, uint32_t k) {
  const tn_tensor *x = r->call->inputs[k];
  term *t = &r->terms[k];
  int32_t dots;
  tn_status s = read_term(r, t, &dots);
  if (s) return s;
  if (dots >= 0 && x->rank >= t->rank) {
    int32_t dims = x->rank - t->rank;
    open_ellipsis(t, dots, dims);
    if (dims > r->ellipsis) r->ellipsis = dims;
  }
  if (t->rank != x->rank)
    return r->call->host->fail(r->call->ctx, TN_ERR_SHAPE,
                               "input %u has rank %d; its term has %d indices", (unsigned)k,
                               x->rank, t->rank);
  for (int32_t d = 0; d < t->rank && !s; d++) s = see_size(r, t->index[d], x->shape[d]);
  return s;
}

static tn_status read_output(reading *r) {
  int32_t dots;
  r->at += 2;
  tn_status s = read_term(r, &r->output, &dots);
  if (s) return s;
  if (peek(r) != '\0') return bad(r, "there is one output");
  for (int32_t k = 0; k < r->output.rank; k++) {
    if (r->size[r->output.index[k]] < 0) return bad(r, "the output has an index that no input has");
    for (int32_t j = 0; j < k; j++)
      if (r->output.index[j] == r->output.index[k]) return bad(r, "the output has an index twice");
  }
  if (dots >= 0 && r->output.rank + r->ellipsis <= TN_MAX_RANK)
    open_ellipsis(&r->output, dots, r->ellipsis);
  else if (dots >= 0)
    return bad(r, "the output has too many dims");
  return TN_OK;
}

/* Without "->": the ellipsis, then what occurs once. */
static tn_status default_output(reading *r) {
  term *t = &r->output;
  t->rank = 0;
  open_ellipsis(t, 0, r->ellipsis);
  for (uint8_t k = 0; k < LETTERS; k++) {
    if (r->uses[k] != 1) continue;
    if (t->rank == TN_MAX_RANK) return bad(r, "the output has too many dims");
    t->index[t->rank++] = k;
  }
  return TN_OK;
}

static tn_status read_all(reading *r) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < r->call->n_inputs && !s; k++) {
    if (!r->call->inputs[k]) return bad(r, "an input is missing");
    if (k && peek(r) != ',') return bad(r, "there are more inputs than terms");
    if (k) r->at++;
    s = read_operand(r, k);
  }
  if (s) return s;
  if (is_arrow(r)) return read_output(r);
  return peek(r) == '\0' ? default_output(r) : bad(r, "there are more terms than inputs");
}

static tn_status add_loop(const reading *r, equation *out, uint8_t index, int64_t *total) {
  int32_t at = out->n_indices++;
  out->size[at] = r->size[index];
  for (uint32_t k = 0; k < out->n; k++) {
    const tn_tensor *x = r->call->inputs[k];
    int64_t step = 1;
    for (int32_t d = x->rank - 1; d >= 0; step *= x->shape[d--]) {
      if (r->terms[k].index[d] != index) continue;
      out->dims[k][d] = (uint8_t)at;
      if (x->shape[d] != 1) out->stride[k][at] += step; /* twice: along the diagonal */
    }
  }
  return tn_mul_i64(*total, out->size[at], total)
             ? r->call->host->fail(r->call->ctx, TN_ERR_OVERFLOW,
                                   "the equation has more than 2^63 terms")
             : TN_OK;
}

tn_status equation_parse(const tn_call *call, equation *out) {
  reading r = {.call = call, .text = ((const tn_einsum_attrs *)call->attrs)->equation};
  bool in_output[EQUATION_INDICES] = {false};
  memset(out, 0, sizeof *out);
  out->n = call->n_inputs;
  out->kept = out->summed = 1;
  for (int32_t k = 0; k < EQUATION_INDICES; k++) r.size[k] = -1;
  if (out->n < 1 || out->n > EQUATION_OPERANDS)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: %u inputs; 1 .. %d are",
                            (unsigned)out->n, EQUATION_OPERANDS);
  tn_status s = read_all(&r);
  for (int32_t k = 0; k < r.output.rank && !s; k++) {
    in_output[r.output.index[k]] = true;
    s = add_loop(&r, out, r.output.index[k], &out->kept);
  }
  out->n_kept = out->n_indices;
  for (uint8_t k = 0; k < EQUATION_INDICES && !s; k++)
    if (r.size[k] >= 0 && !in_output[k]) s = add_loop(&r, out, k, &out->summed);
  return s;
}
