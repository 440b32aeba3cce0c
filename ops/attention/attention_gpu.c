/* Attention on GPUs. `attention_rows`, for devices of many units, takes up to four queries of one
 * head a group, and keys in blocks of 256 with sums that are scaled as the largest score grows
 * (Milakov, Gimelshein 2018); where there is one query and fewer heads than units, a group takes a
 * part of the keys, and `attention_parts` adds them up; `attention` one query, whose scores lie in
 * scratch. */
#ifdef TN_GPU
float newer(float x, float top) { return x > top || IS_NAN(x) ? x : top; }

/* Past and new keys (or values) into one: [batch][head][past + new][size]. */
KERNEL(attention_present, (IN(PAST), IN(NEW), OUT(Y)),
       (INT(n), INT(heads), INT(past), INT(total), INT(size), INTS(step, 3)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int c = i % size, row = i / size % total, head = i / size / total;
    if (row < past) {
      MOVE(Y, i, PAST, (head * past + row) * size + c);
    } else {
      MOVE(Y, i, NEW, head / heads * step0 + head % heads * step1 + (row - past) * step2 + c);
    }
  }
}

KERNEL(attention, (IN(Q), IN(K), IN(V), IN(MASK), OUT(S), OUT(Y)),
       (CONST(HAS_MASK), CONST(IS_BOOL), CONST(CAUSAL), INT(heads), INT(sharing), INT(n_q),
        INT(past), INT(total), INT(size), INT(v_size), INT(columns), INT(left), INT(right),
        INTS(sq, 3), INTS(sk, 3), INTS(sv, 3), INTS(sy, 3), INTS(sm, 3), FLOAT(scale),
        FLOAT(softcap)),
       64, 1, 1) {
  LOCAL(float, part, 64);
  int t = LOCAL_ID(0), row = GROUP(0), head = GROUP(1), batch = GROUP(2);
  int q = batch * sq0 + head * sq1 + row * sq2, k = batch * sk0 + head / sharing * sk1;
  int v = batch * sv0 + head / sharing * sv1, s = ((batch * heads + head) * n_q + row) * total;
  int mask = batch * sm0 + head * sm1 + row * sm2, begin = 0, end = total, place = row + past;
  if (CAUSAL != 0 && end > place + 1) end = place + 1;
  if (right >= 0 && end > place + right + 1) end = place + right + 1;
  if (left >= 0 && place - left > 0) begin = place - left;
  if (HAS_MASK != 0 && end > columns) end = columns;
  float top = -INFINITY, sum = 0.0f;
  for (int j = begin + t; j < end; j += 64) {
    float x = 0.0f;
    for (int c = 0; c < size; c++) x += LD1(Q, q + c) * LD1(K, k + j * sk2 + c);
    x *= scale;
    if (softcap > 0.0f) x = softcap * tanh(x / softcap);
    if (HAS_MASK != 0) {
      if (IS_BOOL != 0)
        x = LDI(MASK, mask + j) != 0 ? x : -INFINITY;
      else
        x += LD1(MASK, mask + j);
    }
    ST1(S, s + j, x);
    top = x > top || IS_NAN(x) ? x : top;
  }
  part[t] = top;
  BARRIER();
  for (int i = 0; i < 64; i++) top = part[i] > top || IS_NAN(part[i]) ? part[i] : top;
  BARRIER();
  for (int j = begin + t; j < end; j += 64) {
    float x = top == -INFINITY ? 0.0f : exp(LD1(S, s + j) - top);
    ST1(S, s + j, x);
    sum += x;
  }
  part[t] = sum;
  BARRIER();
  sum = 0.0f;
  for (int i = 0; i < 64; i++) sum += part[i];
  float weight = sum == 0.0f ? 0.0f : 1.0f / sum;
  for (int c = t; c < v_size; c += 64) {
    float y = 0.0f;
    for (int j = begin; j < end; j++) {
      float p = LD1(S, s + j);
      if (p != 0.0f) y += p * LD1(V, v + j * sv2 + c);
    }
    y *= weight;
    ST1(Y, batch * sy0 + head * sy1 + row * sy2 + c, y);
  }
}
/* lanes: fours of a row of V. PARTED: of ROWS 1, group k has the keys from k * share on; its sums,
 * not divided, go to a row of Y of their own, with the largest score and the sum of the weights
 * behind. */
KERNEL(attention_rows, (IN(Q), IN(K), IN(V), IN(MASK), OUT(Y)),
       (CONST(ROWS), CONST(PARTED), CONST(HAS_MASK), CONST(IS_BOOL), CONST(CAUSAL), INT(sharing),
        INT(n_q), INT(past), INT(total), INT(size), INT(lanes), INT(heads), INT(parts), INT(share),
        INT(columns), INT(left), INT(right), INTS(sq, 3), INTS(sk, 3), INTS(sv, 3), INTS(sy, 3),
        INTS(sm, 3), FLOAT(scale), FLOAT(softcap)),
       256, 1, 1) {
  LOCAL(float, qs, 1024);
  LOCAL(float, ps, 1024);
  LOCAL(float, part, 1024);
  int t = LOCAL_ID(0), head = GROUP(1), batch = GROUP(2);
  int first = PARTED != 0 ? 0 : GROUP(0) * (ROWS), own = 0;
  int q = batch * sq0 + head * sq1, k = batch * sk0 + head / sharing * sk1;
  int v = batch * sv0 + head / sharing * sv1, mask = batch * sm0 + head * sm1;
  int lane = t % lanes, slot = t / lanes, slots = 256 / lanes, low = total, high = 0;
  int begins[4], ends[4];
  float tops[4], sums[4], x[4];
  f32x4 y[4];
  UNROLL for (int r = 0; r < ROWS; r++) {
    int place = first + r + past, begin = 0, end = total;
    if (CAUSAL != 0 && end > place + 1) end = place + 1;
    if (right >= 0 && end > place + right + 1) end = place + right + 1;
    if (left >= 0 && place - left > 0) begin = place - left;
    if (HAS_MASK != 0 && end > columns) end = columns;
    if (first + r >= n_q) end = begin;
    if (begin < end && begin < low) low = begin;
    if (begin < end && end > high) high = end;
    begins[r] = begin;
    ends[r] = end;
    tops[r] = -INFINITY;
    sums[r] = 0.0f;
    y[r] = F32X4(0.0f);
  }
  if (PARTED != 0) {
    if (low < GROUP(0) * share) low = GROUP(0) * share;
    if (high > GROUP(0) * share + share) high = GROUP(0) * share + share;
    own = ((batch * heads + head) * parts + GROUP(0)) * (lanes * 4 + 2);
  }
  for (int i = t; i < ROWS * size; i += 256) {
    int row = first + i / size < n_q ? first + i / size : n_q - 1;
    qs[i] = LD1(Q, q + row * sq2 + i % size);
  }
  BARRIER();
  for (int base = low; base < high; base += 256) {
    int j = base + t;
    UNROLL for (int r = 0; r < ROWS; r++) x[r] = 0.0f;
    if (j < high) {
      for (int c = 0; c < size; c += 4) {
        f32x4 k4 = LD4(K, k + j * sk2 + c);
        UNROLL for (int r = 0; r < ROWS; r++) {
          f32x4 p4 = LOCAL4(qs, r * size + c) * k4;
          x[r] += p4.x + p4.y + (p4.z + p4.w);
        }
      }
    }
    UNROLL for (int r = 0; r < ROWS; r++) {
      float s = x[r] * scale;
      if (softcap > 0.0f) s = softcap * tanh(s / softcap);
      if (HAS_MASK != 0 && j >= begins[r] && j < ends[r]) {
        int at = mask + (first + r) * sm2 + j;
        if (IS_BOOL != 0)
          s = LDI(MASK, at) != 0 ? s : -INFINITY;
        else
          s += LD1(MASK, at);
      }
      x[r] = j >= begins[r] && j < ends[r] ? s : -INFINITY;
      ps[r * 256 + t] = x[r];
    }
    BARRIER();
    /* thread t finds the largest of four scores of row t / 64, and all take the largest of these */
    f32x4 four = LOCAL4(ps, t < ROWS * 64 ? t * 4 : 0);
    part[t] = newer(four.x, newer(four.y, newer(four.z, four.w)));
    BARRIER();
    UNROLL for (int r = 0; r < ROWS; r++) {
      float top = tops[r];
      for (int i = 0; i < 64; i += 4) {
        f32x4 m = LOCAL4(part, r * 64 + i);
        top = newer(m.x, newer(m.y, newer(m.z, newer(m.w, top))));
      }
      float shrink = top == -INFINITY ? 1.0f : exp(tops[r] - top);
      x[r] = top == -INFINITY ? 0.0f : exp(x[r] - top);
      tops[r] = top;
      sums[r] *= shrink;
      y[r] = y[r] * shrink;
      ps[r * 256 + t] = x[r];
    }
    BARRIER();
    four = LOCAL4(ps, t < ROWS * 64 ? t * 4 : 0);
    part[t] = four.x + four.y + (four.z + four.w);
    BARRIER();
    UNROLL for (int r = 0; r < ROWS; r++) for (int i = 0; i < 64; i += 4) {
      f32x4 m = LOCAL4(part, r * 64 + i);
      sums[r] += m.x + m.y + (m.z + m.w);
    }
    int last = high - base < 256 ? high - base : 256;
    for (int i = slot; slot < slots && i < last; i += 4 * slots) { /* four loads at once */
      f32x4 some[4];
      UNROLL for (int j = 0; j < 4; j++) {
        int key = base + (i + j * slots < last ? i + j * slots : i);
        some[j] = LD4(V, v + key * sv2 + lane * 4);
      }
      UNROLL for (int j = 0; j < 4; j++) UNROLL for (int r = 0; r < ROWS; r++) {
        float p = i + j * slots < last ? ps[r * 256 + i + j * slots] : 0.0f;
        if (p != 0.0f) y[r] += p * some[j];
      }
    }
    BARRIER();
  }
  UNROLL for (int r = 0; r < ROWS; r++) {
    part[t * 4] = y[r].x;
    part[t * 4 + 1] = y[r].y;
    part[t * 4 + 2] = y[r].z;
    part[t * 4 + 3] = y[r].w;
    BARRIER();
    for (int c = t; c < lanes * 4; c += 256) {
      float sum = 0.0f;
      for (int i = 0; i < slots; i++) sum += part[i * lanes * 4 + c];
      if (PARTED != 0) {
        ST1(Y, own + c, sum);
        if (c == 0) {
          ST1(Y, own + lanes * 4, tops[r]);
          ST1(Y, own + lanes * 4 + 1, sums[r]);
        }
      } else if (first + r < n_q) {
        sum = sums[r] == 0.0f ? 0.0f : sum / sums[r];
        int to = batch * sy0 + head * sy1 + (first + r) * sy2 + c;
        ST1(Y, to, sum);
      }
    }
    BARRIER();
  }
}

/* What PARTED has made, into one row of a head. */
KERNEL(attention_parts, (IN(S), OUT(Y)), (INT(heads), INT(parts), INT(size), INTS(sy, 2)), 64, 1,
       1) {
  int head = GROUP(0), batch = GROUP(1), row = size + 2;
  int from = (batch * heads + head) * parts * row;
  float top = -INFINITY;
  for (int i = 0; i < parts; i++) top = newer(LD1(S, from + i * row + size), top);
  for (int c = LOCAL_ID(0); c < size; c += 64) {
    float sum = 0.0f, y = 0.0f;
    for (int i = 0; i < parts; i++) {
      float p = top == -INFINITY ? 0.0f : exp(LD1(S, from + i * row + size) - top);
      sum += p * LD1(S, from + i * row + size + 1);
      y += p * LD1(S, from + i * row + c);
    }
    y = sum == 0.0f ? 0.0f : y / sum;
    ST1(Y, batch * sy0 + head * sy1 + c, y);
  }
}
#else
#include "attention_gpu.h"

/* At most, of the loops of a thread of `attention`. */
static int64_t rounds_of(const attention *a) {
  enum { OTHERS = 2 * 64 }; /* tops and sums of the threads */
  return tn_ceil_div(a->total, 64) * (a->size + 2) + tn_ceil_div(a->v_size, 64) * (a->total + 1) +
         OTHERS;
}

const char *attention_gpu_refuse(const tn_call *call) {
  attention a;
  if (attention_make(call, &a)) return "its shapes do not fit";
  if (tn_has_input(call, ATTENTION_LENGTHS)) return "takes no lengths of keys";
  if (tn_has_output(call, 3)) return "gives no scores";
  if (a.past && (!tn_has_output(call, 1) || !tn_has_output(call, 2)))
    return "takes cached keys and values where it gives the new ones";
  if (a.heads > UINT16_MAX || a.batch > UINT16_MAX) return "takes heads and batches to 65535";
  if ((double)(a.batch * a.heads) * (double)a.n_q * (double)a.total > INT32_MAX)
    return "takes up to 2^31 scores";
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_rounds(call, rounds_of(&a));
}

static bool is_in_fours(attention_steps s) {
  return s.batch % 4 == 0 && s.head % 4 == 0 && s.row % 4 == 0;
}

/* Keys and values are read in fours, queries of a head lie in local memory. */
static bool is_for_rows(const tn_call *call, const attention *a) {
  enum { LARGEST = 256, LARGEST_V = 1024 };
  return tn_gpu_is_wide(call) && a->size > 0 && a->v_size > 0 && a->size % 4 == 0 &&
         a->v_size % 4 == 0 && a->size <= LARGEST && a->v_size <= LARGEST_V &&
         (a->past || (is_in_fours(a->k) && is_in_fours(a->v)));
}

/* Keys of a part of one query's, whole blocks; all of them: there are no parts. */
static int64_t share_of(const tn_call *call, const attention *a) {
  enum { MOST = 32, BLOCK = 256 };
  if (a->n_q != 1) return a->total;
  const int64_t most = tn_min_i64(MOST, a->total / (2 * BLOCK));
  const int32_t parts = tn_gpu_shares(call, a->batch * a->heads, most);
  return parts == 1 ? a->total : tn_ceil_div(tn_ceil_div(a->total, parts), BLOCK) * BLOCK;
}

static int64_t parts_of(const tn_call *call, const attention *a) {
  return a->total ? tn_ceil_div(a->total, share_of(call, a)) : 1;
}

tn_status attention_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  attention a;
  const tn_status status = attention_make(call, &a);
  if (!status && is_for_rows(call, &a) && parts_of(call, &a) > 1)
    out->scratch_bytes =
        (uint64_t)(a.batch * a.heads * parts_of(call, &a) * (a.v_size + 2)) * sizeof(float);
  if (status || is_for_rows(call, &a)) return status;
  out->scratch_bytes = (uint64_t)(a.batch * a.heads * a.n_q * a.total + 1) * sizeof(float);
  return TN_OK;
}

static void add_steps(tn_gpu *g, attention_steps s) {
  tn_gpu_int(g, s.batch);
  tn_gpu_int(g, s.head);
  tn_gpu_int(g, s.row);
}

static tn_status present(const tn_call *call, tn_recorder *r, const attention *a, bool keys) {
  const int32_t output = keys ? 1 : 2;
  const int64_t size = keys ? a->size : a->v_size, n = a->batch * a->kv_heads * a->total * size;
  tn_gpu g;
  if (!tn_has_output(call, (uint32_t)output) || !n) return TN_OK;
  tn_gpu_begin(&g, call, GPU_attention_present);
  tn_gpu_in(&g, keys ? ATTENTION_PAST_KEY : ATTENTION_PAST_VALUE);
  tn_gpu_in(&g, keys ? ATTENTION_K : ATTENTION_V);
  tn_gpu_out(&g, output);
  /* what is left out, or empty, is never read */
  for (int k = 0; k < 2; k++)
    if (!g.dtypes[k]) g.dtypes[k] = call->outputs[output]->dtype;
  const int64_t words[] = {n, a->kv_heads, a->past, a->total, size};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  add_steps(&g, keys ? a->k : a->v);
  return tn_gpu_run(&g, r, tn_gpu_groups(n, 64), 1, 1);
}

tn_status attention_gpu_present(const tn_call *call, tn_recorder *r, const attention *a) {
  const tn_status status = present(call, r, a, true);
  return status ? status : present(call, r, a, false);
}

/* Keys or values: as they came, or with the cache before them, what present() has made. */
static attention_steps add_rows(tn_gpu *g, const attention *a, bool keys) {
  const int64_t size = keys ? a->size : a->v_size;
  if (!a->past) {
    tn_gpu_in(g, keys ? ATTENTION_K : ATTENTION_V);
    return keys ? a->k : a->v;
  }
  tn_gpu_out(g, keys ? 1 : 2);
  return (attention_steps){a->kv_heads * a->total * size, a->total * size, size};
}

void attention_gpu_mask_consts(tn_gpu *g, const tn_call *call, const attention *a) {
  const bool has_mask = a->mask_columns > 0;
  tn_gpu_const(g, has_mask);
  tn_gpu_const(g, has_mask && call->inputs[ATTENTION_MASK]->dtype == TN_BOOL);
  tn_gpu_const(g, a->causal);
}

void attention_gpu_params(tn_gpu *g, const attention_gpu *d, const int64_t *sizes, int32_t n) {
  const attention_steps steps[] = {d->a->q, d->k, d->v, d->a->y, d->a->mask};
  for (int32_t i = 0; i < n; i++) tn_gpu_int(g, sizes[i]);
  tn_gpu_int(g, d->a->mask_columns);
  tn_gpu_int(g, d->a->left);
  tn_gpu_int(g, d->a->right);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) add_steps(g, steps[i]);
  tn_gpu_float(g, d->a->scale);
  tn_gpu_float(g, d->a->softcap);
}

attention_gpu attention_gpu_begin(tn_gpu *g, const tn_call *call, const attention *a,
                                  int32_t program) {
  attention_gpu d = {.a = a};
  tn_gpu_begin(g, call, program);
  tn_gpu_in(g, ATTENTION_Q);
  d.k = add_rows(g, a, true);
  d.v = add_rows(g, a, false);
  tn_gpu_in(g, a->mask_columns > 0 ? ATTENTION_MASK : -1);
  return d;
}

static tn_status record_parts(const tn_call *call, tn_recorder *r, const attention *a,
                              int64_t parts) {
  const int64_t words[] = {a->heads, parts, a->v_size, a->y.batch, a->y.head};
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_attention_parts);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  tn_gpu_out(&g, 0);
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  return tn_gpu_run(&g, r, (uint32_t)a->heads, (uint32_t)a->batch, 1);
}

static tn_status record_rows(const tn_call *call, tn_recorder *r, const attention *a) {
  enum { ROWS = 4 };
  const int64_t rows = a->n_q == 1 ? 1 : ROWS, parts = parts_of(call, a);
  const int64_t sizes[] = {
      attention_gpu_sharing(a), a->n_q, a->past, a->total, a->size, a->v_size / 4, a->heads, parts,
      share_of(call, a)};
  tn_gpu g;
  const attention_gpu d = attention_gpu_begin(&g, call, a, GPU_attention_rows);
  if (parts > 1)
    tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  else
    tn_gpu_out(&g, 0);
  tn_gpu_const(&g, rows);
  tn_gpu_const(&g, parts > 1);
  attention_gpu_mask_consts(&g, call, a);
  attention_gpu_params(&g, &d, sizes, sizeof sizes / sizeof *sizes);
  const tn_status status =
      tn_gpu_run(&g, r, parts > 1 ? (uint32_t)parts : tn_gpu_groups(a->n_q, rows),
                 (uint32_t)a->heads, (uint32_t)a->batch);
  return status || parts == 1 ? status : record_parts(call, r, a, parts);
}

tn_status attention_gpu_record(const tn_call *call, tn_recorder *recorder) {
  attention a;
  tn_gpu g;
  tn_status status = attention_make(call, &a);
  if (!status) status = attention_gpu_present(call, recorder, &a);
  if (status || is_for_rows(call, &a)) return status ? status : record_rows(call, recorder, &a);
  const int64_t sizes[] = {a.heads, attention_gpu_sharing(&a), a.n_q, a.past, a.total, a.size,
                           a.v_size};
  const attention_gpu d = attention_gpu_begin(&g, call, &a, GPU_attention);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  tn_gpu_out(&g, 0);
  attention_gpu_mask_consts(&g, call, &a);
  attention_gpu_params(&g, &d, sizes, sizeof sizes / sizeof *sizes);
  return tn_gpu_run(&g, recorder, (uint32_t)a.n_q, (uint32_t)a.heads, (uint32_t)a.batch);
}
#endif
