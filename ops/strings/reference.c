/* References of the operators on strings: straight from what they say, with no regard to time. */
#include "strings.h"

#include "letters.h"

static tn_status set(const tn_call *call, int64_t index, const char *data, int64_t size) {
  return call->host->string_set(call->ctx, 0, index, data, size);
}

/* Element of a broadcast operand for element `index` of the output. */
static tn_str broadcast_at(const tn_tensor *t, const tn_tensor *out, int64_t index) {
  int64_t at = 0, step = 1;
  for (int32_t k = out->rank - 1; k >= 0; index /= out->shape[k--]) {
    int32_t own = k - (out->rank - t->rank);
    if (own < 0) continue;
    if (t->shape[own] != 1) at += index % out->shape[k] * step;
    step *= t->shape[own];
  }
  return strings_of(t)[at];
}

tn_status string_concat_reference(const tn_call *call) {
  tn_status s = TN_OK;
  for (int64_t k = 0; k < tn_elements(call->outputs[0]) && !s; k++) {
    tn_str a = broadcast_at(call->inputs[0], call->outputs[0], k),
           b = broadcast_at(call->inputs[1], call->outputs[0], k);
    char *text = call->host->alloc(call->ctx, (uint64_t)(a.size + b.size) + 1);
    if (!text) return TN_ERR_MEMORY;
    for (int64_t i = 0; i < a.size; i++) text[i] = a.data[i];
    for (int64_t i = 0; i < b.size; i++) text[a.size + i] = b.data[i];
    s = set(call, k, text, a.size + b.size);
    call->host->free(call->ctx, text);
  }
  return s;
}

/* ---- StringSplit: part number `number` of a string; false: it has fewer ---- */

static bool blank(char c) { return memchr(" \t\n\v\f\r", c, 6) != NULL; }

static bool word(tn_str t, int64_t limit, int64_t number, tn_str *out) {
  int64_t k = 0;
  for (int64_t i = 0;; i++) {
    while (k < t.size && blank(t.data[k])) k++;
    if (k == t.size) return false;
    int64_t first = k;
    while (k < t.size && (i == limit || !blank(t.data[k]))) k++;
    *out = (tn_str){t.data + first, k - first};
    if (i == number) return true;
  }
}

static bool field(tn_str t, tn_str d, int64_t limit, int64_t number, tn_str *out) {
  int64_t first = 0, splits = 0;
  for (int64_t k = 0; k + d.size <= t.size && splits < limit; k++) {
    if (memcmp(t.data + k, d.data, (size_t)d.size)) continue;
    *out = (tn_str){t.data + first, k - first};
    if (splits++ == number) return true;
    first = k + d.size;
    k = first - 1;
  }
  *out = (tn_str){t.data + first, t.size - first};
  return splits == number;
}

static bool part(const tn_call *call, int64_t index, int64_t number, tn_str *out) {
  const tn_string_split_attrs *a = call->attrs;
  int64_t limit = a->has_maxsplit ? a->maxsplit : INT64_MAX;
  tn_str text = strings_of(call->inputs[0])[index];
  return a->has_delimiter && a->delimiter.size ? field(text, a->delimiter, limit, number, out)
                                               : word(text, limit, number, out);
}

tn_status string_split_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  int64_t n = tn_elements(x), width = 0, dims[TN_MAX_RANK] = {0};
  tn_str p;
  tn_status s = call->host->output_resize(call->ctx, 1, x->rank, x->shape);
  for (int64_t k = 0; k < n && !s; k++) {
    int64_t count = 0;
    while (part(call, k, count, &p)) count++;
    tn_store_i64(TN_I64, call->outputs[1]->data, k, count);
    width = tn_max_i64(width, count);
  }
  for (int32_t k = 0; k < x->rank; k++) dims[k] = x->shape[k];
  dims[x->rank] = width;
  if (!s) s = call->host->output_resize(call->ctx, 0, x->rank + 1, dims);
  for (int64_t k = 0; k < n * width && !s; k++) {
    bool there = part(call, k / width, k % width, &p);
    s = set(call, k, there ? p.data : "", there ? p.size : 0);
  }
  return s;
}

/* ---- StringNormalizer ---- */

/* The string in another case, in memory of the host's. */
static char *in_case(const tn_call *call, tn_str t, letter_case to) {
  char *out = call->host->alloc(call->ctx, (uint64_t)t.size + 1);
  for (int64_t k = 0; out && k < t.size;) k += letter_copy(t.data + k, t.size - k, to, out + k);
  return out;
}

static tn_status stopped(const tn_call *call, tn_str text, bool *out) {
  const tn_string_normalizer_attrs *a = call->attrs;
  letter_case to = a->is_case_sensitive ? CASE_NONE : CASE_LOWER;
  *out = false;
  for (int64_t k = 0; k < a->stopwords.size; k++) {
    tn_str stop = a->stopwords.data[k];
    char *x = in_case(call, text, to), *y = in_case(call, stop, to);
    bool memory = x && y;
    if (memory && text.size == stop.size && !memcmp(x, y, (size_t)stop.size)) *out = true;
    call->host->free(call->ctx, x);
    call->host->free(call->ctx, y);
    if (!memory) return TN_ERR_MEMORY;
  }
  return TN_OK;
}

static tn_status normalize_one(const tn_call *call, int64_t place, tn_str text) {
  tn_str action = ((const tn_string_normalizer_attrs *)call->attrs)->case_change_action;
  char *out = in_case(call, text,
                      tn_str_is(action, "UPPER")   ? CASE_UPPER
                      : tn_str_is(action, "LOWER") ? CASE_LOWER
                                                   : CASE_NONE);
  tn_status s = out ? set(call, place, out, text.size) : TN_ERR_MEMORY;
  call->host->free(call->ctx, out);
  return s;
}

tn_status string_normalizer_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  int64_t n = tn_elements(x), kept = 0, dims[2] = {1, 1};
  tn_status s = TN_OK;
  bool stop;
  for (int64_t k = 0; k < n && !s; k++) {
    s = stopped(call, strings_of(x)[k], &stop);
    kept += !stop;
  }
  dims[x->rank - 1] = kept ? kept : 1;
  if (!s) s = call->host->output_resize(call->ctx, 0, x->rank, dims);
  if (!s && !kept) s = set(call, 0, "", 0);
  for (int64_t k = 0, place = 0; k < n && !s; k++) {
    s = stopped(call, strings_of(x)[k], &stop);
    if (!s && !stop) s = normalize_one(call, place++, strings_of(x)[k]);
  }
  return s;
}

/* ---- tenon::StringCase ---- */

tn_status string_case_reference(const tn_call *call) {
  const tn_string_case_attrs *a = call->attrs;
  const letter_case to = tn_str_is(a->to, "UPPER") ? CASE_UPPER : CASE_LOWER;
  tn_status s = TN_OK;
  for (int64_t k = 0; k < tn_elements(call->inputs[0]) && !s; k++) {
    const tn_str text = strings_of(call->inputs[0])[k];
    char *out = in_case(call, text, to);
    if (!out) return TN_ERR_MEMORY;
    for (int64_t i = 0; a->ascii && i < text.size; i++)
      if ((uint8_t)text.data[i] > 127) out[i] = text.data[i];
    s = set(call, k, out, text.size);
    call->host->free(call->ctx, out);
  }
  return s;
}

/* ---- TfIdfVectorizer: every n-gram of the pool is looked for everywhere ---- */

static bool token_is(const tn_tf_idf_vectorizer_attrs *a, int64_t pool, const tn_tensor *x,
                     int64_t k) {
  if (x->dtype == TN_STRING) return strings_equal(a->pool_strings.data[pool], strings_of(x)[k]);
  return a->pool_int64s.data[pool] == tn_load_i64(x->dtype, x->data, k);
}

static double occurrences(const tn_call *call, int64_t row, int64_t pool, int64_t length) {
  const tn_tf_idf_vectorizer_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t width = x->shape[x->rank - 1], found = 0;
  for (int64_t skip = 0; skip <= (length > 1 ? a->max_skip_count : 0); skip++)
    for (int64_t at = 0; at + (length - 1) * (skip + 1) < width; at++) {
      int64_t k = 0;
      while (k < length && token_is(a, pool + k, x, row * width + at + k * (skip + 1))) k++;
      found += k == length;
    }
  return (double)found;
}

tn_status tf_idf_vectorizer_reference(const tn_call *call) {
  const tn_tf_idf_vectorizer_attrs *a = call->attrs;
  const tn_tensor *y = call->outputs[0];
  int64_t n = y->shape[y->rank - 1], rows = y->rank == 1 ? 1 : y->shape[0],
          end = a->pool_strings.size ? a->pool_strings.size : a->pool_int64s.size;
  for (int64_t k = 0; k < rows * n; k++) tn_store_f64(TN_F32, y->data, k, 0);
  for (int64_t r = 0; r < rows; r++) {
    int64_t number = 0, length = 1;
    for (int64_t pool = 0; pool < end; pool += length, number++) {
      while (length < a->ngram_counts.size && pool >= a->ngram_counts.data[length]) length++;
      if (length < a->min_gram_length || length > a->max_gram_length) continue;
      int64_t at = r * n + a->ngram_indexes.data[number];
      tn_store_f64(TN_F32, y->data, at,
                   tn_load_f64(TN_F32, y->data, at) + occurrences(call, r, pool, length));
    }
    for (int64_t c = 0; c < n; c++) {
      double f = tn_load_f64(TN_F32, y->data, r * n + c),
             w = a->weights.size ? a->weights.data[c] : 1;
      tn_store_f64(TN_F32, y->data, r * n + c,
                   tn_str_is(a->mode, "TF")    ? f
                   : tn_str_is(a->mode, "IDF") ? (f > 0 ? w : 0)
                                               : f * w);
    }
  }
  return TN_OK;
}
