/* Sizes of an attention, and how far batches, heads and rows lie apart. Keys and values are those
 * of the cache, then the new ones. mask_columns: keys beyond them are masked, 0 without a mask. */
struct attention {
  int32_t batch, heads, group, n_q, n_new, past, size, v_size;
  int32_t q[3], k[3], v[3], y[3], mask[3], mask_columns;
  int32_t causal, left, right; /* a window of keys, -1: open */
  int32_t dot_from;            /* rows of the heads that share keys from which on dots have lanes */
  float scale, softcap;
};

struct attention_rows { /* of keys or values: of the cache, of the new ones, and their distance */
  const float *past, *fresh;
  int32_t n_past, size, step;
};

/* Row j of keys or values. */
static const float *attention_row(const struct attention_rows *r, int32_t j) {
  return j < r->n_past ? r->past + j * r->size : r->fresh + (j - r->n_past) * r->step;
}

/* The sum of the products of a and b: in four sums that are added at the end, or in one. */
static float attention_dot(const float *a, const float *b, int32_t n, int32_t in_lanes) {
  const int32_t even = in_lanes != 0 ? n / 4 * 4 : 0;
  float lane[4] = {0.0f, 0.0f, 0.0f, 0.0f}, sum = 0.0f;
  for (int32_t k = 0; k < even; k++) {
    lane[k % 4] += a[k] * b[k];
  }
  for (int32_t k = even; k < n; k++) {
    sum += a[k] * b[k];
  }
  return in_lanes != 0 ? sum + (((lane[0] + lane[1]) + lane[2]) + lane[3]) : sum;
}

/* The largest of top and n scores; NaN, if there is nothing else but -inf. */
static float attention_top(const float *s, int32_t n, float top) {
  for (int32_t k = 0; k < n; k++) {
    top = s[k] > top ? s[k] : top;
  }
  for (int32_t k = 0; top == -INFINITY && k < n; k++) {
    top = s[k] != s[k] ? s[k] : top;
  }
  return top;
}

/* s = e^(s - top), the sum of which is answered. What is below e^-87, about the smallest normal
 * number, counts as 0. */
static float attention_exp(float *s, int32_t n, float top) {
  const float least = -87.0f;
  float lane[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int32_t k = 0; k < n; k++) {
    const float x = s[k] - top;
    const tn_exp_parts e = tn_exp_split(x < least ? least : x);
    s[k] = x < least ? 0.0f : (e.p * e.s + e.s) * e.t;
    lane[k % 4] += s[k];
  }
  return ((lane[0] + lane[1]) + lane[2]) + lane[3];
}

/* The scores of a query and the keys [first, first + n), of which it may see [begin, end). */
static void attention_scores(const struct attention *a, const float *q,
                             const struct attention_rows *keys, int32_t first, int32_t n,
                             int32_t begin, int32_t end, int32_t in_lanes, float *s) {
  for (int32_t j = 0; j < n; j++) {
    const int32_t key = first + j;
    if (key < begin || key >= end) {
      s[j] = -INFINITY;
      continue;
    }
    s[j] = attention_dot(q, attention_row(keys, key), a->size, in_lanes);
    if (a->softcap > 0.0f) {
      s[j] = a->softcap * tn_tanh_f32(s[j] / a->softcap);
    }
  }
}

/* Keys whose scores are computed together. */
enum { ATTENTION_TILE = 128 };

/* y = softmax(scores) * values, tile by tile of keys: what was summed is brought to the largest
 * score so far. mask_add says what a mask does to the scores of a tile. */
static void attention_query(const struct attention *a, const float *q,
                            const struct attention_rows *keys, const struct attention_rows *values,
                            int32_t begin, int32_t end, int32_t in_lanes, const void *mask,
                            int32_t mask_at,
                            void (*mask_add)(const void *, int32_t, int32_t, float *), float *y,
                            float *s) {
  float top = -INFINITY, total = 0.0f;
  memset(y, 0, sizeof *y * (size_t)a->v_size);
  for (int32_t first = begin / ATTENTION_TILE * ATTENTION_TILE; first < end;
       first += ATTENTION_TILE) {
    const int32_t left = a->past + a->n_new - first,
                  n = left < ATTENTION_TILE ? left : ATTENTION_TILE;
    attention_scores(a, q, keys, first, n, begin, end, in_lanes, s);
    if (mask != NULL) {
      const int32_t from = begin > first ? begin - first : 0;
      const int32_t to = end - first < n ? end - first : n;
      mask_add(mask, mask_at + first + from, to - from, s + from);
    }
    const float most = attention_top(s, n, top);
    if (most == -INFINITY) {
      continue;
    }
    const float sum = attention_exp(s, n, most);
    const float back = top == -INFINITY ? 0.0f : tn_exp_f32(top - most);
    total = top == -INFINITY ? sum : total * back + sum;
    for (int32_t c = 0; c < a->v_size && top != -INFINITY && back != 1.0f; c++) {
      y[c] *= back;
    }
    for (int32_t j = 0; j < n; j++) {
      const float *v = attention_row(values, first + j);
      for (int32_t c = 0; c < a->v_size && s[j] != 0.0f; c++) {
        y[c] += s[j] * v[c];
      }
    }
    top = most;
  }
  const float inverse = total == 0.0f ? 0.0f : 1.0f / total;
  for (int32_t c = 0; c < a->v_size; c++) {
    y[c] *= inverse;
  }
}

/* All queries of a batch and head; room: a query, the scores of a tile. */
static void attention_head(const struct attention *a, int32_t batch, int32_t head, const float *q,
                           const struct attention_rows *keys, const struct attention_rows *values,
                           const void *mask,
                           void (*mask_add)(const void *, int32_t, int32_t, float *), float *y,
                           float *room) {
  for (int32_t i = 0; i < a->n_q; i++) {
    const int32_t place = i + a->past;
    int32_t begin = 0, end = a->past + a->n_new;
    end = a->causal != 0 && place + 1 < end ? place + 1 : end;
    end = a->right >= 0 && place + a->right + 1 < end ? place + a->right + 1 : end;
    begin = a->left >= 0 && place > a->left ? place - a->left : 0;
    end = mask != NULL && a->mask_columns < end ? a->mask_columns : end;
    for (int32_t c = 0; c < a->size; c++) {
      room[c] = q[i * a->q[2] + c] * a->scale;
    }
    attention_query(a, room, keys, values, begin, end,
                    i * a->group + head % a->group >= a->dot_from, mask,
                    batch * a->mask[0] + head * a->mask[1] + i * a->mask[2], mask_add,
                    y + i * a->y[2], room + a->size);
  }
}

/* All of it; see struct attention. */
static void attention(const struct attention *a, const float *q, const float *k, const float *v,
                      const float *past_k, const float *past_v, const void *mask,
                      void (*mask_add)(const void *, int32_t, int32_t, float *), float *y,
                      float *room) {
  const int32_t kv_heads = a->heads / a->group;
  for (int32_t batch = 0; batch < a->batch; batch++) {
    for (int32_t head = 0; head < a->heads; head++) {
      const int32_t kv = head / a->group, at = (batch * kv_heads + kv) * a->past;
      const struct attention_rows keys = {past_k != NULL ? past_k + at * a->size : NULL,
                                          k + batch * a->k[0] + kv * a->k[1], a->past, a->size,
                                          a->k[2]};
      const struct attention_rows values = {past_v != NULL ? past_v + at * a->v_size : NULL,
                                            v + batch * a->v[0] + kv * a->v[1], a->past, a->v_size,
                                            a->v[2]};
      attention_head(a, batch, head, q + batch * a->q[0] + head * a->q[1], &keys, &values, mask,
                     mask_add, y + batch * a->y[0] + head * a->y[1], room);
    }
  }
}
