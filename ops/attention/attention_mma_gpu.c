/* Attention of f16 and bf16 by the matrix units of NVIDIA's GPUs: 64 queries of a head a group, 16
 * a warp, whose scores and sums stay in registers (Dao, "FlashAttention-2", 2023). */
#ifdef TN_GPU
#define IS_BF16 (S_Q == 4)
#include "tenon/experimental/gpu_mma.h"

enum {
  THREADS = 128,
  ROWS = 64,
  KEYS = SIZE > 64 ? 32 : 64, /* in local memory at once */
  STAGES = SIZE > 64 ? 1 : 2,
  ROW = SIZE + 8 /* from one to the next there, so that eight lie in different banks */
};

/* Two floats as halves, the first in the low bits. */
uint two_halves(float low, float high) {
  uint bits;
  if (IS_BF16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

/* n rows from `first` on, of `all`; rows behind those are zeros. */
void copy_rows(ushort *to, const ushort *from, int step, int first, int all, int n) {
  for (int i = threadIdx.x; i < n * (SIZE / 8); i += THREADS) {
    int r = i / (SIZE / 8), c = i % (SIZE / 8) * 8;
    bool is_there = first + r < all;
    copy8(to + r * ROW + c, is_there ? from + (long)(first + r) * step + c : from, is_there);
  }
}

/* Is any of the values no finite number, for any thread of the group? They are in local memory. */
bool has_odd(const ushort *values) {
  uint top = IS_BF16 ? 0x7f80u : 0x7c00u, odd = 0;
  for (int i = threadIdx.x; i < KEYS * (SIZE / 8); i += THREADS) {
    uint w[4];
    take8(w, values + i / (SIZE / 8) * ROW + i % (SIZE / 8) * 8);
    UNROLL for (int j = 0; j < 4; j++) odd |=
        (w[j] & top) == top || (w[j] & top << 16) == top << 16;
  }
  return __syncthreads_or((int)odd);
}

/* What mma does of 16 rows of scores and a block of values; keys without weight add nothing, not
 * even 0 times infinity. Rare, so it is short rather than fast. */
void add_one_by_one(float (&y)[SIZE / 8][4], const float (&scores)[KEYS / 8][4],
                    const ushort *values) {
  float s[KEYS / 8 * 4];
  int lane = threadIdx.x % 32;
  UNROLL for (int i = 0; i < KEYS / 8 * 4; i++) s[i] = scores[i / 4][i % 4];
  _Pragma("unroll 1") for (int key = 0; key < KEYS; key++) UNROLL for (int h = 0; h < 2; h++) {
    float p = __shfl_sync(~0u, s[key / 8 * 4 + 2 * h + key % 2], (lane & ~3) | key % 8 / 2);
    UNROLL for (int c = 0; c < SIZE / 8 * 2; c++) {
      ushort bits = values[key * ROW + c / 2 * 8 + lane % 4 * 2 + c % 2];
      float v = IS_BF16 ? __int_as_float((int)bits << 16) : half_to_f32(bits);
      if (p != 0.0f) y[c / 2][2 * h + c % 2] += p * v;
    }
  }
}

/* Over the four threads that have parts of a row. */
float largest_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

float sum_of_row(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

CUDA_KERNEL(attention_mma, (IN(Q), IN(K), IN(V), IN(MASK), OUT(Y)),
            (CONST(SIZE), CONST(HAS_MASK), CONST(IS_BOOL), CONST(CAUSAL), INT(sharing), INT(n_q),
             INT(past), INT(total), INT(columns), INT(left), INT(right), INTS(sq, 3), INTS(sk, 3),
             INTS(sv, 3), INTS(sy, 3), INTS(sm, 3), FLOAT(scale), FLOAT(softcap)),
            128, 1, 1) {
  __shared__ __align__(16) ushort qs[ROWS * ROW], ks[STAGES][KEYS * ROW], vs[STAGES][KEYS * ROW];
  int first = blockIdx.x * ROWS, head = blockIdx.y, batch = blockIdx.z;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, high = lane / 16 * 8;
  int middle = lane / 8 % 2 * 8, row = first + warp * 16 + lane / 4,
      mask = batch * sm0 + head * sm1;
  const ushort *q = (const ushort *)Q + (long)batch * sq0 + (long)head * sq1;
  const ushort *k = (const ushort *)K + (long)batch * sk0 + (long)(head / sharing) * sk1;
  const ushort *v = (const ushort *)V + (long)batch * sv0 + (long)(head / sharing) * sv1;
  int low = 0, stop = total, last = min(first + ROWS, n_q) - 1 + past; /* of all rows */
  if (CAUSAL) stop = min(stop, last + 1);
  if (right >= 0) stop = min(stop, last + right + 1);
  if (HAS_MASK) stop = min(stop, columns);
  if (left >= 0) low = max(0, first + past - left) / KEYS * KEYS;
  float tops[2] = {-INFINITY, -INFINITY}, sums[2] = {0.0f, 0.0f}, y[SIZE / 8][4];
  uint queries[SIZE / 16][4];
  UNROLL for (int i = 0; i < SIZE / 8 * 4; i++) y[i / 4][i % 4] = 0.0f;
#define FETCH(i)                                                    \
  copy_rows(ks[(i) % STAGES], k, sk2, low + (i)*KEYS, total, KEYS); \
  copy_rows(vs[(i) % STAGES], v, sv2, low + (i)*KEYS, total, KEYS); \
  copies_begin();
  int n_blocks = stop > low ? (stop - low + KEYS - 1) / KEYS : 0;
  copy_rows(qs, q, sq2, first, n_q, ROWS);
  if (n_blocks) {
    FETCH(0)
  }
  for (int i = 0; i < n_blocks; i++) {
    copies_end<0>();
    __syncthreads();
    if (STAGES == 2 && i + 1 < n_blocks) {
      FETCH(i + 1)
    }
    if (i == 0) {
      UNROLL for (int c = 0; c < SIZE / 16; c++)
          load_matrices(queries[c], qs + (warp * 16 + lane % 16) * ROW + c * 16 + high);
    }
    const ushort *kt = ks[i % STAGES], *vt = vs[i % STAGES];
    float s[KEYS / 8][4];
    UNROLL for (int j = 0; j < KEYS / 8 * 4; j++) s[j / 4][j % 4] = 0.0f;
    UNROLL for (int c = 0; c < SIZE / 16; c++) UNROLL for (int j = 0; j < KEYS / 16; j++) {
      uint b[4];
      load_matrices(b, kt + (j * 16 + high + lane % 8) * ROW + c * 16 + middle);
      multiply<IS_BF16>(s[2 * j], queries[c], b);
      multiply<IS_BF16>(s[2 * j + 1], queries[c], b + 2);
    }
    float larger[2] = {tops[0], tops[1]};
    UNROLL for (int j = 0; j < KEYS / 8 * 4; j++) s[j / 4][j % 4] *= scale;
    if (softcap > 0.0f) {
      UNROLL for (int j = 0; j < KEYS / 8; j++) UNROLL for (int e = 0; e < 4; e++) s[j][e] =
          softcap * tanhf(s[j][e] / softcap);
    }
#define SCORE(j, e) \
  int key = low + i * KEYS + (j)*8 + lane % 4 * 2 + (e) % 2, r = row + (e) / 2 * 8;
    if (HAS_MASK) {
      UNROLL for (int j = 0; j < KEYS / 8; j++) UNROLL for (int e = 0; e < 4; e++) {
        SCORE(j, e)
        int at = mask + min(r, n_q - 1) * sm2 + min(key, columns - 1);
        if (IS_BOOL)
          s[j][e] = LDI(MASK, at) != 0 ? s[j][e] : -INFINITY;
        else
          s[j][e] += LD1(MASK, at);
      }
    }
    /* keys that some row of the group does not see */
    int end = low + (i + 1) * KEYS;
    if (end > stop || (CAUSAL && end > first + past + 1) || right >= 0 || left >= 0) {
      UNROLL for (int j = 0; j < KEYS / 8; j++) UNROLL for (int e = 0; e < 4; e++) {
        SCORE(j, e)
        int place = r + past;
        bool is_seen = key < stop && (!CAUSAL || key <= place) &&
                       (right < 0 || key <= place + right) && (left < 0 || key >= place - left);
        if (!is_seen) s[j][e] = -INFINITY;
      }
    }
    UNROLL for (int j = 0; j < KEYS / 8 * 4; j++) larger[j % 4 / 2] =
        fmaxf(larger[j % 4 / 2], s[j / 4][j % 4]);
    UNROLL for (int h = 0; h < 2; h++) {
      larger[h] = largest_of_row(larger[h]);
      float shrink = larger[h] == -INFINITY ? 1.0f : __expf(tops[h] - larger[h]);
      tops[h] = larger[h];
      sums[h] *= shrink;
      UNROLL for (int c = 0; c < SIZE / 8; c++) y[c][2 * h] *= shrink, y[c][2 * h + 1] *= shrink;
    }
    UNROLL for (int j = 0; j < KEYS / 8; j++) UNROLL for (int e = 0; e < 4; e++) {
      float top = tops[e / 2] == -INFINITY ? 0.0f : tops[e / 2];
      s[j][e] = s[j][e] == -INFINITY ? 0.0f : __expf(s[j][e] - top);
      sums[e / 2] += s[j][e];
    }
    bool is_odd = has_odd(vt);
    if (is_odd) add_one_by_one(y, s, vt);
    UNROLL for (int j = 0; j < (is_odd ? 0 : KEYS / 16); j++) {
      uint p[4] = {two_halves(s[2 * j][0], s[2 * j][1]), two_halves(s[2 * j][2], s[2 * j][3]),
                   two_halves(s[2 * j + 1][0], s[2 * j + 1][1]),
                   two_halves(s[2 * j + 1][2], s[2 * j + 1][3])};
      UNROLL for (int c = 0; c < SIZE / 16; c++) {
        uint b[4];
        load_transposed(b, vt + (j * 16 + middle + lane % 8) * ROW + c * 16 + high);
        multiply<IS_BF16>(y[2 * c], p, b);
        multiply<IS_BF16>(y[2 * c + 1], p, b + 2);
      }
    }
    if (STAGES == 1) __syncthreads();
    if (STAGES == 1 && i + 1 < n_blocks) {
      FETCH(i + 1)
    }
  }
  UNROLL for (int h = 0; h < 2; h++) {
    float sum = sum_of_row(sums[h]);
    int r = row + h * 8;
    UNROLL for (int c = 0; c < SIZE / 8 * 2; c++) {
      float value = sum == 0.0f ? 0.0f : y[c / 2][2 * h + c % 2] / sum;
      int at = batch * sy0 + head * sy1 + r * sy2 + c / 2 * 8 + lane % 4 * 2 + c % 2;
      if (r < n_q) ST1(Y, at, value);
    }
  }
}
#else
#include "attention_gpu.h"

static bool is_in_eights(attention_steps s) {
  return s.batch % 8 == 0 && s.head % 8 == 0 && s.row % 8 == 0;
}

const char *attention_mma_gpu_refuse(const tn_call *call) {
  enum { LEAST_ROWS = 16, LARGEST = 128, STEP = 16 };
  attention a;
  const uint32_t type = call->inputs[ATTENTION_Q]->dtype;
  if (call->inputs[ATTENTION_K]->dtype != type || call->inputs[ATTENTION_V]->dtype != type)
    return "takes Q, K and V of one type";
  if (attention_make(call, &a)) return "its shapes do not fit";
  if (a.past && tn_has_output(call, 1) && call->outputs[1]->dtype != type)
    return "takes cached keys of the type of Q";
  if (a.n_q < LEAST_ROWS) return "takes 16 queries or more";
  if (a.size != a.v_size || a.size % STEP || a.size == 0 || a.size > LARGEST)
    return "takes heads of 16, 32 .. 128 elements";
  if (!is_in_eights(a.q) || (!a.past && (!is_in_eights(a.k) || !is_in_eights(a.v))))
    return "takes rows that begin at multiples of eight elements";
  return attention_gpu_refuse(call);
}

tn_status attention_mma_gpu_record(const tn_call *call, tn_recorder *recorder) {
  enum { ROWS = 64 };
  attention a;
  tn_gpu g;
  tn_status status = attention_make(call, &a);
  if (!status) status = attention_gpu_present(call, recorder, &a);
  if (status) return status;
  const int64_t sizes[] = {attention_gpu_sharing(&a), a.n_q, a.past, a.total};
  const attention_gpu d = attention_gpu_begin(&g, call, &a, GPU_attention_mma);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, a.size);
  attention_gpu_mask_consts(&g, call, &a);
  attention_gpu_params(&g, &d, sizes, sizeof sizes / sizeof *sizes);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(a.n_q, ROWS), (uint32_t)a.heads, (uint32_t)a.batch);
}
#endif
