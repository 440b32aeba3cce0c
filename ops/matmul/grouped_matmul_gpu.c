/* Products of rows with the matrices of their groups on GPUs: a thread has a column of four rows,
 * which read B together where they are of one group. */
#ifdef TN_GPU
/* The group of a row, `groups` behind the last; ends that are not in order take none out of B. */
#define FIND(row, g) \
  int g = 0;         \
  while (g < groups && LDI(ENDS, g) <= (row)) g++;
#define COLUMN(g) ((g < groups ? g : 0) * k * n + j)
#define STORE(row, g, s) \
  if ((row) < rows) ST1(Y, (row)*n + j, g < groups ? s : 0.0f);

KERNEL(grouped_matmul, (IN(A), IN(B), IN(ENDS), OUT(Y)), (INT(rows), INT(n), INT(k), INT(groups)),
       64, 1, 1) {
  int j = GLOBAL(0), r0 = GROUP(1) * 4, last = rows - 1;
  if (j < n) {
    int r1 = r0 + 1, r2 = r0 + 2, r3 = r0 + 3;
    FIND(r0, g0)
    FIND(r1, g1)
    FIND(r2, g2)
    FIND(r3, g3)
    int a0 = r0 * k, a1 = (r1 < last ? r1 : last) * k, a2 = (r2 < last ? r2 : last) * k,
        a3 = (r3 < last ? r3 : last) * k;
    int b0 = COLUMN(g0), b1 = COLUMN(g1), b2 = COLUMN(g2), b3 = COLUMN(g3);
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    if (b0 == b3) {
      for (int i = 0; i < k; i++) {
        float b = LD1(B, b0 + i * n);
        s0 += LD1(A, a0 + i) * b;
        s1 += LD1(A, a1 + i) * b;
        s2 += LD1(A, a2 + i) * b;
        s3 += LD1(A, a3 + i) * b;
      }
    } else {
      for (int i = 0; i < k; i++) {
        s0 += LD1(A, a0 + i) * LD1(B, b0 + i * n);
        s1 += LD1(A, a1 + i) * LD1(B, b1 + i * n);
        s2 += LD1(A, a2 + i) * LD1(B, b2 + i * n);
        s3 += LD1(A, a3 + i) * LD1(B, b3 + i * n);
      }
    }
    STORE(r0, g0, s0)
    STORE(r1, g1, s1)
    STORE(r2, g2, s2)
    STORE(r3, g3, s3)
  }
}
#else
#include "grouped_matmul.gen.h"
#include "grouped_matmul.h"
#include "tenon/experimental/gpu.h"

enum { ROWS = 4 };

const char *grouped_matmul_gpu_refuse(const tn_call *call) {
  grouped p;
  if (grouped_of(call, &p)) return "its shapes do not fit";
  if (tn_ceil_div(p.rows, ROWS) > UINT16_MAX) return "takes up to 262140 rows";
  for (int64_t g = 0, begin, end; p.ends->data && g < p.groups; g++)
    if (grouped_rows(call, &p, g, &begin, &end)) return "its ends are not in order";
  const int64_t sizes[] = {p.groups, p.groups, p.groups, p.groups, p.k};
  int64_t rounds = 0;
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) rounds += sizes[k] + 1;
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_rounds(call, rounds);
}

tn_status grouped_matmul_gpu_record(const tn_call *call, tn_recorder *recorder) {
  grouped p;
  tn_gpu g;
  const tn_status status = grouped_of(call, &p);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_grouped_matmul);
  for (int32_t k = 0; k < 3; k++) tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  const int64_t words[] = {p.rows, p.n, p.k, p.groups};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(p.n, 64), tn_gpu_groups(p.rows, ROWS), 1);
}
#endif
