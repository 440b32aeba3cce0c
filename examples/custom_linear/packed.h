/* The packed kernel, compiled once per instruction set: PACKED names the function. The compiler
 * makes vectors of the inner loops, whose lengths are constants. */
#include "linear.h"

/* A block of this many rows and one panel is summed up in registers. */
enum { ROWS = 6 };

static inline void block(const linear *l, const float *panel, int64_t row, int64_t rows,
                         float sum[ROWS][PANEL]) {
  const float *x[ROWS];
  for (int r = 0; r < ROWS; r++) x[r] = l->x + (row + (r < rows ? r : 0)) * l->in;
  for (int64_t i = 0; i < l->in; i++)
    for (int r = 0; r < ROWS; r++)
      for (int j = 0; j < PANEL; j++) sum[r][j] += x[r][i] * panel[i * PANEL + j];
}

tn_status PACKED(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  const linear l = linear_of(call);
  (void)stage, (void)worker;
  for (int64_t p = begin; p < end; p++) {
    const float *panel = (const float *)call->state + p * l.in * PANEL;
    const int64_t first = p * PANEL, n = l.out - first < PANEL ? l.out - first : PANEL;
    for (int64_t row = 0; row < l.rows; row += ROWS) {
      const int64_t rows = l.rows - row < ROWS ? l.rows - row : ROWS;
      float sum[ROWS][PANEL] = {{0}};
      block(&l, panel, row, rows, sum);
      for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j++)
          l.y[(row + r) * l.out + first + j] = sum[r][j] + (l.bias ? l.bias[first + j] : 0);
    }
  }
  return TN_OK;
}
