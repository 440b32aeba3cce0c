/* Chains of simple operators that spell out a normalisation or attention: they become that node,
 * and answer the same as unfused; chains that differ a little stay as they are. */
#include "fuse_kit.h"

enum { ROWS = 6, HEADS = 2, SIZE = 8, WIDTH = HEADS * SIZE, N = ROWS * WIDTH };

/* Any numbers of this shape. */
static int32_t numbers(maker *m, int32_t rank, const int64_t *dims) {
  float data[N];
  for (int i = 0; i < N; i++) data[i] = (float)(i * 37 % 19 - 9) / 10;
  return constant(m, TN_F32, rank, dims, data);
}
static int32_t row(maker *m) { return numbers(m, 1, (const int64_t[]){WIDTH}); }

/* ---- normalisations; each answers the value that is the output ---- */

static int32_t mean(maker *m, int32_t x, int64_t axis) {
  return op(m, "ReduceMean", x, constant(m, TN_I64, 1, (const int64_t[]){1}, &axis));
}
static int32_t square(maker *m, int32_t x) { return op(m, "Pow", x, number(m, 2)); }
static int32_t deviation(maker *m, int32_t squares) {
  return op(m, "Sqrt", op(m, "Add", mean(m, squares, -1), number(m, 0.01f)), -1);
}
static int32_t centred(maker *m) { return op(m, "Sub", m->x, mean(m, m->x, -1)); }

static int32_t layer_norm(maker *m) {
  const int32_t c = centred(m), n = op(m, "Div", c, deviation(m, square(m, c)));
  return op(m, "Add", op(m, "Mul", n, row(m)), row(m));
}
static int32_t layer_norm_swapped(maker *m) {
  const int32_t c = centred(m), d = deviation(m, op(m, "Mul", c, c)),
                n = op(m, "Mul", op(m, "Reciprocal", d, -1), c);
  return op(m, "Add", row(m), op(m, "Mul", row(m), n));
}
static int32_t layer_norm_plain(maker *m) {
  const int32_t c = centred(m);
  return op(m, "Div", c, deviation(m, square(m, c)));
}
static int32_t layer_norm_by_inverse(maker *m) {
  const int32_t c = centred(m);
  return op(m, "Mul", c, op(m, "Reciprocal", deviation(m, square(m, c)), -1));
}
static int32_t layer_norm_scaled(maker *m) { return op(m, "Mul", layer_norm_plain(m), row(m)); }
static int32_t layer_norm_centred_twice(maker *m) {
  const int32_t n = op(m, "Div", centred(m), deviation(m, square(m, centred(m))));
  return op(m, "Add", op(m, "Mul", n, row(m)), row(m));
}
static int32_t layer_norm_keras(maker *m) {
  const int32_t average = mean(m, m->x, -1), c = op(m, "Sub", m->x, average),
                inverse = op(m, "Reciprocal", deviation(m, op(m, "Mul", c, c)), -1),
                rate = op(m, "Mul", inverse, row(m));
  return op(m, "Add", op(m, "Mul", m->x, rate), op(m, "Sub", row(m), op(m, "Mul", average, rate)));
}
static int32_t mean_of_two(maker *m, int32_t x) {
  const int64_t axes[2] = {-2, -1};
  return op(m, "ReduceMean", x, constant(m, TN_I64, 1, (const int64_t[]){2}, axes));
}
static int32_t layer_norm_of_two(maker *m) {
  const int64_t dims[2] = {ROWS, WIDTH};
  const int32_t c = op(m, "Sub", m->x, mean_of_two(m, m->x)),
                d = op(m, "Sqrt", op(m, "Add", mean_of_two(m, square(m, c)), number(m, 0.1f)), -1);
  return op(m, "Add", op(m, "Mul", op(m, "Div", c, d), numbers(m, 2, dims)), numbers(m, 2, dims));
}
static int32_t layer_norm_then_rows(maker *m) { /* neither factor nor summand is a row */
  const int64_t dims[2] = {ROWS, 1};
  return op(m, "Add", op(m, "Mul", layer_norm_plain(m), numbers(m, 2, dims)), row(m));
}
static int32_t centred_by_another(maker *m) {
  const int32_t y = op(m, "Sub", m->x, mean(m, op(m, "Abs", m->x, -1), -1));
  return op(m, "Div", y, deviation(m, square(m, centred(m))));
}
static int32_t axes_differ(maker *m) {
  const int32_t c = op(m, "Sub", m->x, mean_of_two(m, m->x));
  return op(m, "Mul", op(m, "Div", c, deviation(m, square(m, c))), row(m));
}
static int32_t rms_norm(maker *m) {
  return op(m, "Mul", op(m, "Div", m->x, deviation(m, square(m, m->x))), row(m));
}
static int32_t rms_norm_inverse(maker *m) {
  const int32_t d = op(m, "Div", number(m, 1), deviation(m, square(m, m->x)));
  return op(m, "Mul", row(m), op(m, "Mul", m->x, d));
}

static int32_t fourth_powers(maker *m) {
  const int32_t d = deviation(m, op(m, "Pow", m->x, number(m, 4)));
  return op(m, "Mul", op(m, "Div", m->x, d), row(m));
}
static int32_t other_axis(maker *m) {
  const int32_t c = op(m, "Sub", m->x, mean(m, m->x, 1));
  const int32_t n = op(m, "Div", c, deviation(m, square(m, c)));
  return op(m, "Add", op(m, "Mul", n, row(m)), row(m));
}
static int32_t scale_of_rows(maker *m) {
  const int32_t d = deviation(m, square(m, m->x));
  const int64_t dims[] = {ROWS, 1};
  return op(m, "Mul", op(m, "Div", m->x, d), numbers(m, 2, dims));
}
/* An epsilon of more dims than x gives the result more dims, too. */
static int32_t wide_deviation(maker *m, int32_t squares) {
  const float epsilon = 0.01f;
  const int32_t wide = constant(m, TN_F32, 5, (const int64_t[]){1, 1, 1, 1, 1}, &epsilon);
  return op(m, "Sqrt", op(m, "Add", mean(m, squares, -1), wide), -1);
}
static int32_t layer_norm_of_more_dims(maker *m) {
  const int32_t c = centred(m);
  return op(m, "Mul", op(m, "Div", c, wide_deviation(m, square(m, c))), row(m));
}
static int32_t rms_norm_of_more_dims(maker *m) {
  return op(m, "Mul", op(m, "Div", m->x, wide_deviation(m, square(m, m->x))), row(m));
}
static int32_t deviation_is_read(maker *m) {
  m->also = deviation(m, square(m, m->x));
  return op(m, "Mul", op(m, "Div", m->x, m->also), row(m));
}

/* ---- attention ---- */

static int32_t integer(maker *m, int64_t x) {
  return constant(m, TN_I64, 1, (const int64_t[]){1}, &x);
}

static int32_t reshape(maker *m, int32_t x, int32_t rank, const int64_t *dims) {
  const int64_t n = rank;
  return op(m, "Reshape", x, constant(m, TN_I64, 1, &n, dims));
}
static int32_t transpose(maker *m, int32_t x, const int64_t perm[4]) {
  const tn_attr attr = tn_attr_ints("perm", (tn_ints){perm, 4});
  return op_with(m, "Transpose", x, -1, &attr);
}
static int32_t split(maker *m, const int64_t perm[4]) {
  const int64_t dims[4] = {1, ROWS, HEADS, SIZE};
  return transpose(m, reshape(m, op(m, "Mul", m->x, row(m)), 4, dims), perm);
}
static int32_t softmax(maker *m, int32_t x, int64_t axis) {
  const tn_attr attr = tn_attr_int("axis", axis);
  return op_with(m, "Softmax", x, -1, &attr);
}
static int32_t join(maker *m, int32_t y) {
  const int64_t perm[4] = {0, 2, 1, 3}, dims[3] = {1, ROWS, WIDTH};
  return reshape(m, transpose(m, y, perm), 3, dims);
}

static const int64_t rows_last[4] = {0, 2, 3, 1}, rows_third[4] = {0, 2, 1, 3};

static int32_t scores(maker *m) {
  return op(m, "Div", op(m, "MatMul", split(m, rows_third), split(m, rows_last)), number(m, 3));
}
static int32_t weigh(maker *m, int32_t weights) {
  return join(m, op(m, "MatMul", weights, split(m, rows_third)));
}
static int32_t masked(maker *m, int32_t rank, const int64_t *dims) {
  return weigh(m, softmax(m, op(m, "Add", scores(m), numbers(m, rank, dims)), -1));
}

static int32_t attention(maker *m) { return weigh(m, softmax(m, scores(m), -1)); }
static int32_t attention_masked(maker *m) {
  return masked(m, 4, (const int64_t[]){1, 1, ROWS, ROWS});
}
static int32_t attention_of_keys(maker *m) { return masked(m, 1, (const int64_t[]){ROWS}); }
static int32_t attention_by_turned_keys(maker *m) { /* as with a cache, and no scale */
  const int32_t k =
      transpose(m, op(m, "Abs", split(m, rows_third), -1), (const int64_t[]){0, 1, 3, 2});
  return weigh(m, softmax(m, op(m, "MatMul", split(m, rows_third), k), 3));
}
static int32_t attention_read_by_heads(maker *m) { /* nobody turns the result back */
  const int64_t dims[3] = {1, ROWS, WIDTH};
  const int32_t y = op(m, "MatMul", softmax(m, scores(m), -1), split(m, rows_third));
  return reshape(m, op(m, "Neg", y, -1), 3, dims);
}

static int32_t capped(maker *m, int32_t s) { /* 5 tanh(s / 5) */
  return op(m, "Mul", op(m, "Tanh", op(m, "Div", s, number(m, 5)), -1), number(m, 5));
}
static int32_t capped_scores(maker *m) {
  const int64_t dims[2] = {ROWS, ROWS};
  return weigh(m, softmax(m, op(m, "Add", capped(m, scores(m)), numbers(m, 2, dims)), -1));
}
static int32_t mask_below_cap(maker *m) {
  const int64_t dims[2] = {ROWS, ROWS};
  return weigh(m, softmax(m, capped(m, op(m, "Add", scores(m), numbers(m, 2, dims))), -1));
}

static int32_t softmax_of_columns(maker *m) { return weigh(m, softmax(m, scores(m), 2)); }
static int32_t short_mask(maker *m) { return masked(m, 2, (const int64_t[]){ROWS, 1}); }
static int32_t weights_are_read(maker *m) { return weigh(m, m->also = softmax(m, scores(m), -1)); }
static int32_t scale_of_keys(maker *m) {
  const int64_t dims[1] = {ROWS};
  const int32_t s = op(m, "MatMul", split(m, rows_third), split(m, rows_last));
  return weigh(m, softmax(m, op(m, "Mul", s, numbers(m, 1, dims)), -1));
}

/* ---- scales and masks of attention ---- */

enum { LOWEST = 0, ENDLESS, LOW, NOT_LOW };
static const float fills[] = {-3.4028235e38f, -INFINITY, -1e4f, -100};

static int32_t number_times(maker *m, int32_t x, float factor) {
  return op(m, "Mul", x, number(m, factor));
}
/* Scores of rows and keys that count: those up to the row's own, and in the third row none. */
static int32_t truth(maker *m, bool is_dynamic) {
  uint8_t data[ROWS * ROWS];
  const int64_t dims[4] = {1, 1, ROWS, ROWS};
  for (int i = 0; i < ROWS * ROWS; i++) data[i] = i % ROWS <= i / ROWS && i / ROWS != 2;
  const int32_t value = constant(m, TN_BOOL, 4, dims, data);
  if (!is_dynamic) return value;
  const int32_t first[3] = {m->x, integer(m, 0), integer(m, 1)}, /* none of it is so large */
      one = node_of(m, "Slice", (const int32_t[]){first[0], first[1], first[2], integer(m, -1)}, 4,
                    NULL, 0);
  const int64_t by_row[4] = {1, 1, ROWS, 1};
  return op(m, "And", value, op(m, "Less", reshape(m, one, 4, by_row), number(m, 1000)));
}
static int32_t chosen(maker *m, int32_t condition, int32_t a, int32_t b) {
  return node_of(m, "Where", (const int32_t[]){condition, a, b}, 3, NULL, 0);
}
static int32_t product_of(maker *m) {
  return op(m, "MatMul", split(m, rows_third), split(m, rows_last));
}
static int32_t guarded(maker *m, int32_t weights) {
  return chosen(m, op(m, "IsNaN", weights, -1), number(m, 0), weights);
}
static int32_t added_mask(maker *m, float fill) {
  return chosen(m, truth(m, true), number(m, 0), number(m, fill));
}

static int32_t mask_before_scale(maker *m) {
  const int32_t s = op(m, "Add", product_of(m), added_mask(m, fills[LOWEST]));
  return weigh(m, softmax(m, op(m, "Div", s, number(m, 3)), -1));
}
static int32_t scales_of_both(maker *m) {
  const int32_t q = number_times(m, split(m, rows_third), 0.6f),
                k = number_times(m, split(m, rows_last), 0.6f);
  return weigh(m, softmax(m, op(m, "MatMul", q, k), -1));
}
static int32_t scale_of_queries(maker *m) {
  const int64_t dims[4] = {1, ROWS, HEADS, SIZE};
  const int32_t x = number_times(m, op(m, "Mul", m->x, row(m)), 0.3f),
                q = transpose(m, reshape(m, x, 4, dims), rows_third);
  return weigh(m, softmax(m, op(m, "MatMul", q, split(m, rows_last)), -1));
}
static int32_t kept(maker *m) {
  return weigh(m, softmax(m, chosen(m, truth(m, true), scores(m), number(m, fills[LOW])), -1));
}
static int32_t kept_by_constant(maker *m) {
  const int32_t s = chosen(m, truth(m, false), scores(m), number(m, fills[LOWEST]));
  return weigh(m, softmax(m, s, -1));
}
static int32_t dropped_by_not(maker *m) {
  const int32_t drops = op(m, "Not", truth(m, true), -1);
  return weigh(m, softmax(m, chosen(m, drops, number(m, fills[LOWEST]), scores(m)), -1));
}
static int32_t kept_and_guarded(maker *m) {
  const int32_t s = chosen(m, truth(m, true), scores(m), number(m, fills[ENDLESS]));
  return weigh(m, guarded(m, softmax(m, s, -1)));
}
static int32_t dropped_and_guarded(maker *m) {
  const int32_t drops = op(m, "Not", truth(m, true), -1),
                s = chosen(m, drops, number(m, fills[ENDLESS]), scores(m));
  return weigh(m, guarded(m, softmax(m, chosen(m, truth(m, true), s, number(m, -INFINITY)), -1)));
}
static int32_t fill_becomes_endless(maker *m) {
  const int32_t s = chosen(m, truth(m, true), product_of(m), number(m, fills[LOWEST]));
  return weigh(m, guarded(m, softmax(m, number_times(m, s, 2), -1)));
}
static int32_t kept_or_nan(maker *m) { /* NaN in the third row, as 7 says in its place */
  const int32_t s = chosen(m, truth(m, true), scores(m), number(m, fills[ENDLESS])),
                y = weigh(m, softmax(m, s, -1));
  return chosen(m, op(m, "IsNaN", y, -1), number(m, 7), y);
}
static int32_t masked_twice(maker *m) {
  const int32_t s = chosen(m, truth(m, true), scores(m), number(m, fills[LOWEST]));
  return weigh(m, softmax(m, op(m, "Add", s, added_mask(m, fills[LOW])), -1));
}
static int32_t floored(maker *m) { /* as OPT has it: two of the lowest are -inf */
  const int32_t s = op(m, "Add", op(m, "Add", scores(m), added_mask(m, fills[LOWEST])),
                       added_mask(m, fills[LOWEST]));
  return weigh(m, softmax(m, op(m, "Max", s, number(m, fills[LOWEST])), -1));
}
static int32_t guard_without_mask(maker *m) {
  return weigh(m, guarded(m, softmax(m, scores(m), -1)));
}

/* Keys up to the row's own, and `width` more. */
static int32_t band(maker *m, int width) {
  float data[ROWS * ROWS];
  const int64_t dims[2] = {ROWS, ROWS};
  for (int i = 0; i < ROWS * ROWS; i++) data[i] = i % ROWS <= i / ROWS + width ? 0 : fills[ENDLESS];
  return op(m, "Add", scores(m), constant(m, TN_F32, 2, dims, data));
}
static int32_t causal(maker *m) { return weigh(m, softmax(m, band(m, 0), -1)); }
static int32_t wide_band(maker *m) { return weigh(m, softmax(m, band(m, 2), -1)); }

static const int64_t heads_first[3] = {1, 0, 2}, keys_last[3] = {1, 2, 0}, of_rows[3] = {1, 0, 2};

static int32_t transpose3(maker *m, int32_t x, const int64_t perm[3]) {
  const tn_attr attr = tn_attr_ints("perm", (tn_ints){perm, 3});
  return op_with(m, "Transpose", x, -1, &attr);
}
static int32_t split3(maker *m, const int64_t perm[3]) {
  const int64_t dims[3] = {ROWS, HEADS, SIZE};
  return transpose3(m, reshape(m, op(m, "Mul", m->x, row(m)), 3, dims), perm);
}
static int32_t scores3(maker *m) {
  return op(m, "MatMul", split3(m, heads_first), split3(m, keys_last));
}
static int32_t weigh3(maker *m, int32_t weights) {
  const int64_t dims[3] = {1, ROWS, WIDTH};
  return reshape(m, transpose3(m, op(m, "MatMul", weights, split3(m, heads_first)), of_rows), 3,
                 dims);
}
static int32_t of_rank_3(maker *m) {
  const int32_t mask = numbers(m, 3, (const int64_t[]){HEADS, ROWS, 6});
  return weigh3(m, softmax(m, op(m, "Add", number_times(m, scores3(m), 0.4f), mask), -1));
}
static int32_t masked_in_rank_4(maker *m) {
  const int64_t four[4] = {1, HEADS, ROWS, ROWS}, three[3] = {HEADS, ROWS, ROWS};
  const int32_t s = op(m, "Add", reshape(m, scores3(m), 4, four), added_mask(m, fills[LOWEST]));
  return weigh3(m, softmax(m, reshape(m, s, 3, three), -1));
}
static int32_t one_head(maker *m) {
  const int32_t k = transpose3(m, op(m, "Mul", m->x, row(m)), (const int64_t[]){0, 2, 1}),
                s = op(m, "Div", op(m, "MatMul", op(m, "Mul", m->x, row(m)), k), number(m, 3));
  return op(m, "MatMul", softmax(m, s, -1), op(m, "Mul", m->x, row(m)));
}

/* Half of the columns as heads of keys or values, each of which serves two. */
static int32_t shared(maker *m, const int64_t perm[4]) {
  const int64_t dims[4] = {1, ROWS, 1, SIZE}, one = 2, size[5] = {1, 1, HEADS, ROWS, SIZE}, n = 5,
                all[4] = {1, HEADS, ROWS, SIZE};
  const int32_t half = node_of(
                    m, "Slice",
                    (const int32_t[]){m->x, integer(m, 0), integer(m, SIZE), integer(m, -1)}, 4,
                    NULL, 0),
                x = transpose(m, reshape(m, op(m, "Abs", half, -1), 4, dims), rows_third),
                axes = constant(m, TN_I64, 1, (const int64_t[]){1}, &one),
                wide =
                    op(m, "Expand", op(m, "Unsqueeze", x, axes), constant(m, TN_I64, 1, &n, size)),
                y = reshape(m, wide, 4, all);
  return perm ? transpose(m, y, perm) : y;
}
static int32_t heads_share_keys(maker *m) {
  const int32_t k = shared(m, (const int64_t[]){0, 1, 3, 2}),
                s = op(m, "Div", op(m, "MatMul", split(m, rows_third), k), number(m, 3));
  return join(m, op(m, "MatMul", softmax(m, s, -1), shared(m, NULL)));
}

static int32_t filled_with_100(maker *m) {
  return weigh(m, softmax(m, chosen(m, truth(m, true), scores(m), number(m, fills[NOT_LOW])), -1));
}
static int32_t low_beside_others(maker *m) {
  const int32_t s = chosen(m, truth(m, true), scores(m), number(m, fills[LOW]));
  return weigh(m, softmax(m, op(m, "Add", s, added_mask(m, fills[LOWEST])), -1));
}
static int32_t scores_are_read(maker *m) {
  m->also = scores(m);
  return weigh(m, softmax(m, chosen(m, truth(m, true), m->also, number(m, fills[LOW])), -1));
}
static int32_t floor_is_high(maker *m) {
  return weigh(m, softmax(m, op(m, "Max", scores(m), number(m, -1)), -1));
}
static int32_t guard_of_one(maker *m) {
  const int32_t p = softmax(m, scores(m), -1);
  return weigh(m, chosen(m, op(m, "IsNaN", p, -1), number(m, 1), p));
}

/* ---- rotary embeddings ---- */

static int32_t columns(maker *m, int32_t x, int64_t begin, int64_t end) {
  const int32_t inputs[4] = {x, integer(m, begin), integer(m, end), integer(m, -1)};
  return node_of(m, "Slice", inputs, 4, NULL, 0);
}
static int32_t beside(maker *m, int32_t a, int32_t b) {
  const tn_attr axis = tn_attr_int("axis", -1);
  return op_with(m, "Concat", a, b, &axis);
}
static int32_t rotated(maker *m, int32_t x) {
  return beside(m, op(m, "Neg", columns(m, x, SIZE / 2, INT64_MAX), -1),
                columns(m, x, 0, SIZE / 2));
}
static int32_t cosines(maker *m) { return numbers(m, 4, (const int64_t[]){1, 1, ROWS, SIZE}); }
static int32_t sines(maker *m) { return numbers(m, 2, (const int64_t[]){ROWS, SIZE}); }
static int32_t turned(maker *m, int32_t x, int32_t rotation) {
  return op(m, "Add", op(m, "Mul", x, cosines(m)), op(m, "Mul", rotation, sines(m)));
}

static int32_t rotary_of_heads(maker *m) { /* slices read what is transposed */
  const int32_t x = split(m, rows_third);
  return join(m, turned(m, x, rotated(m, x)));
}
static int32_t rotary_of_dense(maker *m) {
  const int32_t x = op(m, "Abs", split(m, rows_third), -1);
  return join(m, turned(m, x, rotated(m, x)));
}
static int32_t rotary_swapped(maker *m) {
  const int32_t x = split(m, rows_third);
  const int32_t turn = op(m, "Mul", sines(m), rotated(m, x));
  return join(m, op(m, "Add", turn, op(m, "Mul", cosines(m), x)));
}
static int32_t rotary_in_attention(maker *m) {
  const int32_t q = split(m, rows_third), k = split(m, rows_third);
  const int32_t keys = transpose(m, turned(m, k, rotated(m, k)), (const int64_t[]){0, 1, 3, 2});
  const int32_t s = op(m, "MatMul", turned(m, q, rotated(m, q)), keys);
  return weigh(m, softmax(m, op(m, "Div", s, number(m, 3)), -1));
}

static int32_t rotary_the_other_way(maker *m) { /* (x2, -x1) */
  const int32_t x = split(m, rows_third);
  return join(m, turned(m, x,
                        beside(m, columns(m, x, SIZE / 2, INT64_MAX),
                               op(m, "Neg", columns(m, x, 0, SIZE / 2), -1))));
}
static int32_t rotary_of_thirds(maker *m) { /* halves of other sizes */
  const int32_t x = split(m, rows_third);
  return join(m, turned(m, x,
                        beside(m, op(m, "Neg", columns(m, x, SIZE / 2 - 1, INT64_MAX), -1),
                               columns(m, x, 0, SIZE / 2 - 1))));
}
static int32_t rotary_of_two(maker *m) {
  const int32_t x = split(m, rows_third), y = op(m, "Abs", x, -1);
  return join(m, turned(m, x, rotated(m, y)));
}
static int32_t rotary_same_halves(maker *m) {
  const int32_t x = split(m, rows_third), half = columns(m, x, 0, SIZE / 2);
  return join(m, turned(m, x, beside(m, op(m, "Neg", half, -1), half)));
}
static int32_t rotation_is_read(maker *m) {
  const int32_t x = split(m, rows_third);
  m->also = rotated(m, x);
  return join(m, turned(m, x, m->also));
}

/* ---- running ---- */

static void check(make_fn make, const char *op_name, bool fuses, char ops[KIT_MAX_TEXT]) {
  const int64_t dims[] = {1, ROWS, WIDTH};
  float x[N];
  for (int i = 0; i < N; i++) x[i] = (float)(i * 29 % 31 - 15) / 8;
  const tn_tensor in = tn_tensor_make(TN_F32, 3, dims, x);
  kit_check(make, &in, op_name, fuses, ops);
}

static void becomes(make_fn make, const char *expected) {
  char ops[KIT_MAX_TEXT];
  check(make, expected, true, ops);
}
static void stays(make_fn make, const char *op_name) {
  char ops[KIT_MAX_TEXT];
  check(make, op_name, false, ops);
}

static void is_norm(make_fn make, const char *expected) {
  char ops[KIT_MAX_TEXT];
  check(make, expected, true, ops);
  assert_string_equal(ops, expected);
}

static void normalisations(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  check(layer_norm, "LayerNormalization", true, ops);
  assert_string_equal(ops, "LayerNormalization");
  becomes(layer_norm_swapped, "LayerNormalization");
  is_norm(layer_norm_plain, "LayerNormalization");
  is_norm(layer_norm_by_inverse, "LayerNormalization");
  is_norm(layer_norm_scaled, "LayerNormalization");
  is_norm(layer_norm_centred_twice, "LayerNormalization");
  is_norm(layer_norm_keras, "LayerNormalization");
  is_norm(layer_norm_of_two, "LayerNormalization");
  check(layer_norm_then_rows, "LayerNormalization", true, ops);
  assert_null(strstr(ops, "Sqrt"));
  stays(centred_by_another, "Normalization");
  stays(axes_differ, "LayerNormalization");
  becomes(rms_norm, "RMSNormalization");
  becomes(rms_norm_inverse, "RMSNormalization");
  stays(fourth_powers, "Normalization");
  stays(other_axis, "LayerNormalization");
  stays(scale_of_rows, "Normalization");
  stays(deviation_is_read, "Normalization");
  stays(layer_norm_of_more_dims, "Normalization");
  stays(rms_norm_of_more_dims, "Normalization");
}

static void attentions(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  check(attention, "Attention", true, ops);
  assert_string_equal(ops, "Mul Mul Mul Attention"); /* no copies */
  check(attention_masked, "Attention", true, ops);
  assert_null(strstr(ops, "Add"));
  becomes(attention_of_keys, "Attention");
  becomes(attention_by_turned_keys, "Attention");
  becomes(attention_read_by_heads, "Attention");
  stays(softmax_of_columns, "Attention");
  becomes(capped_scores, "Attention");
  stays(mask_below_cap, "Attention");
  stays(short_mask, "Attention");
  stays(weights_are_read, "Attention");
  stays(scale_of_keys, "Attention");
}

/* No copies, and steps of the mask alone. */
static void is_attention(make_fn make, const char *expected) {
  char ops[KIT_MAX_TEXT];
  check(make, "Attention", true, ops);
  assert_string_equal(ops, expected);
}

static void scales_and_masks(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  is_attention(scales_of_both, "Mul Mul Mul Attention");
  is_attention(scale_of_queries, "Mul Mul Mul Attention");
  is_attention(kept_by_constant, "Mul Mul Mul Attention");
  is_attention(guard_without_mask, "Mul Mul Mul Attention");
  is_attention(causal, "Mul Mul Mul Attention");
  is_attention(wide_band, "Mul Mul Mul Attention");
  is_attention(of_rank_3, "Mul Mul Mul Attention");
  is_attention(one_head, "Mul Mul Mul Attention");
  becomes(mask_before_scale, "Attention");
  becomes(kept, "Attention");
  check(dropped_by_not, "Attention", true, ops);
  assert_null(strstr(ops, "Not"));
  becomes(kept_and_guarded, "Attention");
  becomes(dropped_and_guarded, "Attention");
  becomes(fill_becomes_endless, "Attention");
  becomes(kept_or_nan, "Attention");
  becomes(masked_twice, "Attention");
  becomes(floored, "Attention");
  becomes(masked_in_rank_4, "Attention");
  becomes(heads_share_keys, "Attention");
  stays(filled_with_100, "Attention");
  stays(low_beside_others, "Attention");
  stays(scores_are_read, "Attention");
  stays(floor_is_high, "Attention");
  stays(guard_of_one, "Attention");
}

static void rotaries(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  check(rotary_of_heads, "Rotary", true, ops);
  assert_null(strstr(ops, "Neg"));
  check(rotary_of_dense, "Rotary", true, ops);
  assert_null(strstr(ops, "Neg"));
  becomes(rotary_swapped, "Rotary");
  becomes(rotary_in_attention, "Rotary");
  becomes(rotary_in_attention, "Attention");
  stays(rotary_the_other_way, "Rotary");
  stays(rotary_of_thirds, "Rotary");
  stays(rotary_of_two, "Rotary");
  stays(rotary_same_halves, "Rotary");
  stays(rotation_is_read, "Rotary");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(normalisations), cmocka_unit_test(attentions),
                                     cmocka_unit_test(scales_and_masks),
                                     cmocka_unit_test(rotaries)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
