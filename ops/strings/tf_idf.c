/* TfIdfVectorizer: the n-grams of the pool are sorted once; those of the input are looked up in
 * them. */
#include "strings.h"

typedef tn_tf_idf_vectorizer_attrs attrs;

/* The n-grams of length n: pool entries from `first` on, of which the first is n-gram number
 * `number`. */
typedef struct segment {
  int64_t first, n, count, number;
} segment;

static int64_t pool_size(const attrs *a) {
  return a->pool_strings.size ? a->pool_strings.size : a->pool_int64s.size;
}

/* The n-grams of length `length`; *at is the segment of length - 1 ({.count = 0} before the
 * first). */
static segment next_segment(const attrs *a, const segment *at, int64_t length) {
  int64_t first = a->ngram_counts.data[length - 1];
  int64_t end = length < a->ngram_counts.size ? a->ngram_counts.data[length] : pool_size(a);
  return (segment){first, length, (end - first) / length, at->number + at->count};
}

static int64_t columns(const attrs *a) {
  int64_t n = 0;
  for (int64_t k = 0; k < a->ngram_indexes.size; k++)
    n = tn_max_i64(n, a->ngram_indexes.data[k] + 1);
  return n;
}

static tn_status check_pool(const tn_call *call, const attrs *a) {
  segment s = {0};
  for (int64_t n = 1; n <= a->ngram_counts.size; n++) {
    int64_t first = a->ngram_counts.data[n - 1],
            end = n < a->ngram_counts.size ? a->ngram_counts.data[n] : pool_size(a);
    if (first < 0 || first > end || end > pool_size(a) || (end - first) % n)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "ngram_counts[%lld] is %lld, which does not fit the pool",
                              (long long)n - 1, (long long)first);
    s = next_segment(a, &s, n);
  }
  if (s.number + s.count != a->ngram_indexes.size)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "ngram_indexes has %lld entries; the pool has %lld n-grams",
                            (long long)a->ngram_indexes.size, (long long)(s.number + s.count));
  for (int64_t k = 0; k < a->ngram_indexes.size; k++)
    if (a->ngram_indexes.data[k] < 0 || a->ngram_indexes.data[k] >= INT32_MAX)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "ngram_indexes[%lld] is out of range",
                              (long long)k);
  return TN_OK;
}

tn_status tf_idf_vectorizer_infer(const tn_call *call) {
  const attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 1 || x->rank > 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X has rank %d; 1 or 2 is needed", x->rank);
  if ((x->dtype == TN_STRING ? a->pool_int64s.size : a->pool_strings.size) ||
      (a->pool_int64s.size && a->pool_strings.size))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the pool must be of the type of X, either strings or integers");
  if (a->min_gram_length < 1 || a->max_gram_length < a->min_gram_length ||
      a->max_gram_length > a->ngram_counts.size || a->max_skip_count < 0)
    return call->host->fail(
        call->ctx, TN_ERR_INVALID,
        "the lengths of n-grams are %lld .. %lld, the pool has 1 .. %lld; skipped are up to %lld",
        (long long)a->min_gram_length, (long long)a->max_gram_length,
        (long long)a->ngram_counts.size, (long long)a->max_skip_count);
  if (!tn_str_is(a->mode, "TF") && !tn_str_is(a->mode, "IDF") && !tn_str_is(a->mode, "TFIDF"))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'mode' is neither TF, IDF nor TFIDF");
  tn_status s = check_pool(call, a);
  if (s) return s;
  int64_t dims[2] = {x->shape[0], columns(a)};
  if (a->weights.size && a->weights.size < dims[1])
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "weights has %lld entries; the output has %lld columns",
                            (long long)a->weights.size, (long long)dims[1]);
  tn_infer_shape(call, 0, TN_F32, x->rank, dims + (x->rank == 1 ? 1 : 0));
  return TN_OK;
}

/* ---- tokens ---- */

static int compare_ints(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

static int compare_strings(tn_str a, tn_str b) {
  int64_t n = tn_min_i64(a.size, b.size);
  int order = n ? memcmp(a.data, b.data, (size_t)n) : 0;
  return order ? order : compare_ints(a.size, b.size);
}

/* n-gram g of the segment against another one of it. */
static int compare_pool(const attrs *a, const segment *s, int64_t g, int64_t h) {
  int order = 0;
  for (int64_t k = 0; k < s->n && !order; k++) {
    int64_t i = s->first + g * s->n + k, j = s->first + h * s->n + k;
    order = a->pool_strings.size ? compare_strings(a->pool_strings.data[i], a->pool_strings.data[j])
                                 : compare_ints(a->pool_int64s.data[i], a->pool_int64s.data[j]);
  }
  return order ? order : compare_ints(g, h);
}

/* n-gram g of the segment against tokens at, at + step ... of x. */
static int compare_input(const attrs *a, const segment *s, int64_t g, const tn_tensor *x,
                         int64_t at, int64_t step) {
  int order = 0;
  for (int64_t k = 0; k < s->n && !order; k++) {
    int64_t i = s->first + g * s->n + k, j = at + k * step;
    order = x->dtype == TN_STRING
                ? compare_strings(a->pool_strings.data[i], strings_of(x)[j])
                : compare_ints(a->pool_int64s.data[i], tn_load_i64(x->dtype, x->data, j));
  }
  return order;
}

/* ---- kernel: the state is the numbers of the n-grams of each segment, sorted ---- */

tn_status tf_idf_vectorizer_plan(const tn_call *call, tn_kernel_plan *out) {
  const attrs *a = call->attrs;
  out->items[0] = call->inputs[0]->rank == 1 ? 1 : call->inputs[0]->shape[0];
  out->state_bytes = (uint64_t)(a->ngram_indexes.size + 1) * sizeof(int64_t);
  return TN_OK;
}

static void sift(const attrs *a, const segment *s, int64_t *order, int64_t root, int64_t n) {
  for (int64_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && compare_pool(a, s, order[child], order[child + 1]) < 0) child++;
    if (compare_pool(a, s, order[root], order[child]) >= 0) return;
    int64_t swap = order[root];
    order[root] = order[child];
    order[child] = swap;
  }
}

tn_status tf_idf_vectorizer_prepare(const tn_call *call) {
  const attrs *a = call->attrs;
  segment s = {0};
  for (int64_t length = 1; length <= a->ngram_counts.size; length++) {
    s = next_segment(a, &s, length);
    int64_t *order = (int64_t *)call->state + s.number;
    for (int64_t k = 0; k < s.count; k++) order[k] = k;
    for (int64_t k = s.count / 2; k-- > 0;) sift(a, &s, order, k, s.count);
    for (int64_t k = s.count; k-- > 1;) {
      int64_t swap = order[0];
      order[0] = order[k];
      order[k] = swap;
      sift(a, &s, order, 0, k);
    }
  }
  return TN_OK;
}

/* Counts the n-gram at `at` if the pool has it. */
static void count(const tn_call *call, const segment *s, int64_t at, int64_t step, float *row) {
  const attrs *a = call->attrs;
  const int64_t *order = (const int64_t *)call->state + s->number;
  int64_t low = 0, high = s->count;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (compare_input(a, s, order[middle], call->inputs[0], at, step) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < s->count && !compare_input(a, s, order[low], call->inputs[0], at, step); low++)
    row[a->ngram_indexes.data[s->number + order[low]]] += 1;
}

static void weigh(const attrs *a, float *row, int64_t n) {
  bool idf = tn_str_is(a->mode, "IDF"), tf = tn_str_is(a->mode, "TF");
  for (int64_t k = 0; k < n; k++) {
    if (idf && row[k] > 0) row[k] = 1;
    if (!tf && a->weights.size) row[k] *= (float)a->weights.data[k];
  }
}

tn_status tf_idf_vectorizer_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                              uint32_t worker) {
  const attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const int64_t width = x->shape[x->rank - 1], n = columns(a);
  (void)stage, (void)worker;
  for (int64_t r = begin; r < end; r++) {
    float *row = (float *)call->outputs[0]->data + r * n;
    segment s = {0};
    memset(row, 0, (size_t)n * sizeof *row);
    for (int64_t length = 1; length <= a->max_gram_length; length++) {
      s = next_segment(a, &s, length);
      for (int64_t step = 1; length >= a->min_gram_length &&
                             step <= (length == 1 ? 1 : tn_min_i64(a->max_skip_count + 1, width));
           step++)
        for (int64_t at = 0; at + (length - 1) * step < width; at++)
          count(call, &s, r * width + at, step, row);
    }
    weigh(a, row, n);
  }
  return TN_OK;
}
