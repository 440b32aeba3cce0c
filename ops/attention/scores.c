/* Scales and masks of attention scores: what they are, and the one mask that says the same.
 *
 * Masks are added, or fill scores in where they do not count: with -inf, or with a number so low
 * that its weight is 0 beside any score that counts. Where none does, the row is NaN in the former
 * case, and has equal weights in the latter: that is what the mask made here gives, too. */
#include "scores.h"

#include <float.h>

/* Added to any score it is itself, so that several such masks are what they were. */
static bool is_endless(double x) { return x <= -1e30; }

/* e^x is 0 in f32, and stays so for x less any score that attention computes. */
static bool is_low(double x) { return x <= -1e3; }

/* ---- what they are ---- */

int32_t scores_reshaped(const tn_pattern *p, int32_t value) {
  const tn_tensor *t = tn_pattern_type(p, value);
  const tn_region *r = view_region(p, value);
  if (!r || !t || !tn_pattern_is_read(p, value, 1) || r->src_offset != 0) return value;
  const int32_t from = view_source(p, value, r);
  const tn_tensor *u = tn_pattern_type(p, from);
  int64_t n = 1;
  for (int32_t k = 0; k < r->rank; k++) {
    if (r->size[k] != 1 && r->src_stride[k] != r->dst_stride[k]) return value;
    n *= r->size[k];
  }
  if (!u || t->rank < 2 || u->rank < 2 || n != tn_elements(t) || n != tn_elements(u)) return value;
  for (int k = 1; k <= 2; k++)
    if (t->shape[t->rank - k] != u->shape[u->rank - k]) return value;
  return from;
}

/* It has a value for every key, and broadcasts to the other dims. Where heads and batch are one
 * dim there, it may not vary along that. */
static bool is_mask(const tn_pattern *p, const score_mask *m, const int64_t size[4]) {
  const tn_tensor *t = tn_pattern_type(p, m->value);
  if (m->kind == MASK_FLOOR) return true;
  if (!t || t->dtype != (m->kind == MASK_ADD ? TN_F32 : TN_BOOL) || t->rank < 1 ||
      t->rank > m->rank || t->shape[t->rank - 1] != size[COLUMN])
    return false;
  if (m->rank == 3 && t->rank == 3 && t->shape[0] != 1 && size[BATCH] != 1) return false;
  for (int32_t k = 0; k < t->rank; k++)
    if (t->shape[k] != 1 && t->shape[k] != size[k + 4 - t->rank]) return false;
  return true;
}

static bool sizes_of(const tn_tensor *t, int64_t size[4]) {
  if (!t || t->dtype != TN_F32 || (t->rank != 3 && t->rank != 4)) return false;
  size[BATCH] = 1;
  memcpy(size + 4 - t->rank, t->shape, (size_t)t->rank * sizeof *size);
  return true;
}

enum { MAX_STEPS = 16 };

static bool finds(const tn_pattern *p, int32_t value, scores *s);

/* One more mask; what it masks is found in `rest`. */
static bool finds_masked(const tn_pattern *p, score_mask m, int32_t rest, scores *s) {
  if (s->n_masks == SCORES_MAX_MASKS || s->cap != 0) return false;
  m.scale = s->scale;
  s->masks[s->n_masks++] = m;
  if (finds(p, rest, s)) return true;
  s->n_masks--;
  return false;
}

static bool finds_under_sum(const tn_pattern *p, const tn_node *add, int32_t rank, scores *s) {
  const scores before = *s;
  for (int k = 0; k < 2; k++) {
    const score_mask m = {.kind = MASK_ADD, .value = add->inputs[1 - k], .rank = rank};
    if (finds_masked(p, m, add->inputs[k], s)) return true;
    *s = before;
  }
  return false;
}

static bool finds_under_choice(const tn_pattern *p, const tn_node *where, int32_t rank, scores *s) {
  score_mask m = {.value = where->inputs[0], .rank = rank};
  const bool drops = tn_pattern_number(p, where->inputs[1], &m.number);
  if (!drops && !tn_pattern_number(p, where->inputs[2], &m.number)) return false;
  m.kind = drops ? MASK_DROP : MASK_KEEP;
  const tn_node *negation = tn_pattern_node(p, m.value, "Not");
  if (negation) m.value = negation->inputs[0], m.kind = drops ? MASK_KEEP : MASK_DROP;
  return finds_masked(p, m, where->inputs[drops ? 2 : 1], s);
}

static bool finds(const tn_pattern *p, int32_t value, scores *s) {
  const tn_tensor *type = tn_pattern_type(p, value);
  const int32_t node =
      tn_pattern_is_read(p, value, 1) ? p->api->value_producer(p->graph, value) : -1;
  const tn_node *n = tn_pattern_root(p, node);
  double number;
  int32_t rest;
  if (!type || !n || (type->rank != 3 && type->rank != 4) || ++s->n_steps > MAX_STEPS) return false;
  if (tn_pattern_inner(p, value, "MatMul")) {
    s->product = n;
    return s->size[COLUMN] || sizes_of(type, s->size);
  }
  if (tn_pattern_inner(p, value, "Mul") && tn_pattern_with_number(n, p, true, &rest, &number)) {
    s->scale *= number;
    return finds(p, rest, s);
  }
  if (tn_pattern_inner(p, value, "Div") && tn_pattern_with_number(n, p, false, &rest, &number)) {
    s->scale /= number;
    return finds(p, rest, s);
  }
  if (tn_pattern_inner(p, value, "Tanh") && s->cap == 0 && s->scale > 0 && isfinite(s->scale)) {
    s->cap = s->scale; /* what follows multiplies scores behind the cap */
    return finds(p, n->inputs[0], s);
  }
  if (tn_pattern_inner(p, value, "Max") && tn_pattern_with_number(n, p, true, &rest, &number))
    return finds_masked(p, (score_mask){.kind = MASK_FLOOR, .number = number}, rest, s);
  if (tn_pattern_inner(p, value, "Add")) return finds_under_sum(p, n, type->rank, s);
  if (tn_pattern_inner(p, value, "Where")) return finds_under_choice(p, n, type->rank, s);
  rest = scores_reshaped(p, value);
  if (rest == value) return false;
  if (type->rank == 4 && !s->size[COLUMN] && !sizes_of(type, s->size)) return false;
  return finds(p, rest, s);
}

/* What it fills in, as f32 says it behind the scales. */
static double number_of(const score_mask *m) { return (double)(float)(m->number * m->scale); }

static bool fills(const score_mask *m) { return m->kind == MASK_KEEP || m->kind == MASK_DROP; }

/* *out_counts: element k of a constant mask leaves the score as it is; false: neither that, nor
 * does it make the score low. */
static bool tells(const score_mask *m, const tn_tensor *t, int64_t k, bool *out_counts) {
  const double number = tn_load_f64(t->dtype, t->data, k);
  *out_counts = m->kind == MASK_KEEP ? number != 0 : number == 0;
  return m->kind != MASK_ADD || number == 0 || is_low(number * m->scale);
}

/* Of a constant mask under which score i of j counts if j <= i + width, where each row has some
 * that do: that width; else -1. */
static int64_t band_of(const tn_pattern *p, const score_mask *m, const int64_t size[4]) {
  const tn_tensor *t = tn_pattern_type(p, m->value);
  const int64_t columns = size[COLUMN];
  bool does;
  const int64_t rows = t->rank < 2 ? 1 : t->shape[t->rank - 2];
  if (!t->data || rows != size[ROW] || tn_elements(t) != rows * columns) return -1;
  int64_t width = -1;
  while (width + 1 < columns && tells(m, t, width + 1, &does) && does) width++;
  for (int64_t k = 0; k < rows * columns; k++)
    if (!tells(m, t, k, &does) || does != (k % columns <= k / columns + width)) return -1;
  return width;
}

bool scores_match(const tn_pattern *p, int32_t value, scores *out) {
  out->scale = 1;
  out->cap = 0;
  out->n_masks = out->n_steps = 0;
  out->band = -1;
  memset(out->size, 0, sizeof out->size);
  if (!finds(p, value, out) || !isfinite(out->scale)) return false;
  int32_t n = 0;
  for (int32_t k = 0; k < out->n_masks; k++) n += out->masks[k].kind != MASK_FLOOR;
  for (int32_t k = 0; k < out->n_masks; k++) {
    const score_mask *m = &out->masks[k];
    const double number = number_of(m);
    if (!is_mask(p, m, out->size)) return false;
    if (m->kind == MASK_FLOOR && !(isfinite(number) && m->scale > 0 && is_endless(number)))
      return false;
    if (fills(m) && !(n > 1 ? is_endless(number) : is_low(number))) return false;
  }
  return true;
}

tn_status scores_find_band(const tn_call *call, const tn_pattern *p, scores *s) {
  if (s->n_masks != 1 || s->masks[0].kind == MASK_FLOOR) return TN_OK;
  const tn_status status = call->host->fetch(call->ctx, p->graph, s->masks[0].value);
  if (status) return status;
  s->band = band_of(p, &s->masks[0], s->size);
  if (s->band >= 0) s->n_masks = 0;
  return TN_OK;
}

/* ---- the one mask ---- */

typedef struct maker {
  const tn_call *call;
  tn_graph *graph;
  const char *name; /* of all nodes */
} maker;

static int32_t emit(const maker *m, const char *op, int32_t a, int32_t b) {
  return tn_emit_node(m->call, m->graph, m->name, op, (const int32_t[]){a, b}, 2, NULL, 0);
}

static int32_t emit_number(const maker *m, double number) {
  return tn_emit_number(m->call, m->graph, TN_F32, number);
}

/* value ? kept : number, or the other way round */
static int32_t emit_choice(const maker *m, const score_mask *s, int32_t kept, double number) {
  const int32_t fill = emit_number(m, number);
  const int32_t inputs[3] = {s->value, s->kind == MASK_KEEP ? kept : fill,
                             s->kind == MASK_KEEP ? fill : kept};
  return fill < 0 ? fill : tn_emit_node(m->call, m->graph, m->name, "Where", inputs, 3, NULL, 0);
}

/* Puts the mask on those so far; -1: there are none. */
static int32_t emit_mask(const maker *m, const score_mask *s, int32_t so_far) {
  const double number = number_of(s);
  if (s->kind == MASK_FLOOR)
    return so_far == -1 ? -1 : emit(m, "Max", so_far, emit_number(m, number));
  if (s->kind == MASK_ADD) {
    const int32_t mask =
        s->scale == 1 ? s->value : emit(m, "Mul", s->value, emit_number(m, s->scale));
    return so_far == -1 ? mask : emit(m, "Add", so_far, mask);
  }
  const int32_t kept = so_far == -1 ? emit_number(m, 0) : so_far;
  return emit_choice(m, s, kept, is_endless(number) ? number : -FLT_MAX);
}

/* NaN where the row is -inf throughout: plus its largest value less the same. */
static int32_t emit_nan(const maker *m, int32_t mask) {
  const int64_t last = -1;
  const int32_t axes = tn_emit_ints(m->call, m->graph, &last, 1),
                most = axes < 0 ? axes : emit(m, "ReduceMax", mask, axes);
  return emit(m, "Add", mask, emit(m, "Sub", most, most));
}

int32_t scores_mask(const tn_call *call, const tn_pattern *p, const scores *s, const char *name) {
  const maker m = {call, p->graph, name};
  const score_mask *first = &s->masks[0];
  if (s->n_masks == 1 && first->kind == MASK_KEEP && s->guarded && isinf(number_of(first)))
    return first->value; /* of bool: true where the score counts */
  int32_t mask = -1;
  bool ends = false; /* some scores are filled in with -inf */
  for (int32_t k = s->n_masks - 1; k >= 0 && mask >= -1; k--) {
    mask = emit_mask(&m, &s->masks[k], mask);
    ends |= fills(&s->masks[k]) && isinf(number_of(&s->masks[k]));
  }
  return ends && !s->guarded ? emit_nan(&m, mask) : mask;
}
