/* Signals of real numbers and their spectra, one type of numbers at a time: this file is included
 * once for each. Before it: FFT_NAME(name), FFT_REAL (the type), FFT_WIDE (one that holds a product
 * of two), FFT_BITS (behind the point; 0: floats).
 *
 * n = length / 2 complex numbers, whose real parts are the even elements, are transformed by mixed
 * radix in time (4, 2, 3, 5); a last step takes the two interleaved spectra apart. In fixed point
 * every stage first divides by its radix, products are rounded and sums wrap around, in the order
 * of the reference, so that results agree to the last bit. */

typedef struct FFT_NAME(complex) {
  FFT_REAL r, i;
} FFT_NAME(complex);

#define COMPLEX FFT_NAME(complex)

#if FFT_BITS
static inline FFT_REAL FFT_NAME(narrow)(FFT_WIDE v) { return (FFT_REAL)v; }
static inline FFT_REAL FFT_NAME(rounded)(FFT_WIDE v) {
  return (FFT_REAL)((v + ((FFT_WIDE)1 << (FFT_BITS - 1))) >> FFT_BITS);
}
static inline FFT_WIDE FFT_NAME(half)(FFT_WIDE v) { return v >> 1; }
static inline FFT_REAL FFT_NAME(divided)(FFT_REAL v, int32_t by) {
  return FFT_NAME(rounded)((FFT_WIDE)v * (FFT_WIDE)(FFT_MOST / by));
}
static FFT_REAL FFT_NAME(coefficient)(double v) { return (FFT_REAL)floor(.5 + FFT_MOST * v); }
#else
static inline FFT_REAL FFT_NAME(narrow)(FFT_WIDE v) { return v; }
static inline FFT_REAL FFT_NAME(rounded)(FFT_WIDE v) { return v; }
static inline FFT_WIDE FFT_NAME(half)(FFT_WIDE v) { return v * .5f; }
static inline FFT_REAL FFT_NAME(divided)(FFT_REAL v, int32_t by) {
  (void)by;
  return v;
}
static FFT_REAL FFT_NAME(coefficient)(double v) { return (FFT_REAL)v; }
#endif

static inline COMPLEX FFT_NAME(load)(const FFT_REAL *x, int64_t k) {
  return (COMPLEX){x[2 * k], x[2 * k + 1]};
}
static inline void FFT_NAME(store)(FFT_REAL *x, int64_t k, COMPLEX v) {
  x[2 * k] = v.r;
  x[2 * k + 1] = v.i;
}
static inline COMPLEX FFT_NAME(divide)(COMPLEX a, int32_t by) {
  return (COMPLEX){FFT_NAME(divided)(a.r, by), FFT_NAME(divided)(a.i, by)};
}
static inline COMPLEX FFT_NAME(plus)(COMPLEX a, COMPLEX b) {
  return (COMPLEX){FFT_NAME(narrow)((FFT_WIDE)a.r + b.r), FFT_NAME(narrow)((FFT_WIDE)a.i + b.i)};
}
static inline COMPLEX FFT_NAME(minus)(COMPLEX a, COMPLEX b) {
  return (COMPLEX){FFT_NAME(narrow)((FFT_WIDE)a.r - b.r), FFT_NAME(narrow)((FFT_WIDE)a.i - b.i)};
}
static inline COMPLEX FFT_NAME(times)(COMPLEX a, COMPLEX b) {
  return (COMPLEX){FFT_NAME(rounded)((FFT_WIDE)a.r * b.r - (FFT_WIDE)a.i * b.i),
                   FFT_NAME(rounded)((FFT_WIDE)a.r * b.i + (FFT_WIDE)a.i * b.r)};
}
static inline COMPLEX FFT_NAME(scale)(COMPLEX a, FFT_REAL by) {
  return (COMPLEX){FFT_NAME(rounded)((FFT_WIDE)a.r * by), FFT_NAME(rounded)((FFT_WIDE)a.i * by)};
}
/* a times the imaginary unit. */
static inline COMPLEX FFT_NAME(turn)(COMPLEX a) {
  return (COMPLEX){FFT_NAME(narrow)(-(FFT_WIDE)a.i), a.r};
}

#define LOAD FFT_NAME(load)
#define STORE FFT_NAME(store)
#define PLUS FFT_NAME(plus)
#define MINUS FFT_NAME(minus)
#define TIMES FFT_NAME(times)
#define SCALE FFT_NAME(scale)
#define TURN FFT_NAME(turn)

/* ---- tables, made once ---- */

static void FFT_NAME(tables)(const fft_shape *f, void *state) {
  const fft_state s = fft_state_of(f, state, sizeof(FFT_REAL));
  FFT_REAL *turns = s.turns, *last = s.last;
  const double way = f->inverse ? 1 : -1;
  fft_order(f, s.order);
  for (int64_t k = 0; k < f->n; k++) {
    const double phase = way * 2 * FFT_PI * (double)k / (double)f->n;
    turns[2 * k] = FFT_NAME(coefficient)(cos(phase));
    turns[2 * k + 1] = FFT_NAME(coefficient)(sin(phase));
  }
  for (int64_t k = 0; k < f->n / 2; k++) {
    const double phase = way * FFT_PI * ((double)(k + 1) / (double)f->n + .5);
    last[2 * k] = FFT_NAME(coefficient)(cos(phase));
    last[2 * k + 1] = FFT_NAME(coefficient)(sin(phase));
  }
}

/* ---- butterflies: a[0 .. radix-1] in place; unit: of the third or fifth root of 1 ---- */

static inline void FFT_NAME(by_2)(COMPLEX *a) {
  const COMPLEX t = a[1];
  a[1] = MINUS(a[0], t);
  a[0] = PLUS(a[0], t);
}

static inline void FFT_NAME(by_3)(COMPLEX *a, COMPLEX unit) {
  const COMPLEX sum = PLUS(a[1], a[2]), turned = TURN(SCALE(MINUS(a[1], a[2]), unit.i)),
                halved = {FFT_NAME(narrow)(FFT_NAME(half)(sum.r)),
                          FFT_NAME(narrow)(FFT_NAME(half)(sum.i))},
                middle = MINUS(a[0], halved);
  a[0] = PLUS(a[0], sum);
  a[1] = PLUS(middle, turned);
  a[2] = MINUS(middle, turned);
}

static inline void FFT_NAME(by_4)(COMPLEX *a, bool inverse) {
  const COMPLEX even = PLUS(a[0], a[2]), odd = MINUS(a[0], a[2]), sum = PLUS(a[1], a[3]),
                turned = TURN(MINUS(a[1], a[3]));
  a[0] = PLUS(even, sum);
  a[2] = MINUS(even, sum);
  a[1] = inverse ? PLUS(odd, turned) : MINUS(odd, turned);
  a[3] = inverse ? MINUS(odd, turned) : PLUS(odd, turned);
}

static inline void FFT_NAME(by_5)(COMPLEX *a, COMPLEX one, COMPLEX two) {
  const COMPLEX outer = PLUS(a[1], a[4]), inner = PLUS(a[2], a[3]), outer_gap = MINUS(a[1], a[4]),
                inner_gap = MINUS(a[2], a[3]);
  const COMPLEX near = PLUS(PLUS(a[0], SCALE(outer, one.r)), SCALE(inner, two.r)),
                far = PLUS(PLUS(a[0], SCALE(outer, two.r)), SCALE(inner, one.r)),
                near_gap = TURN(PLUS(SCALE(outer_gap, one.i), SCALE(inner_gap, two.i))),
                far_gap = TURN(MINUS(SCALE(outer_gap, two.i), SCALE(inner_gap, one.i)));
  a[0] = PLUS(a[0], PLUS(outer, inner));
  a[1] = PLUS(near, near_gap);
  a[4] = MINUS(near, near_gap);
  a[2] = PLUS(far, far_gap);
  a[3] = MINUS(far, far_gap);
}

/* ---- stages ---- */

/* `blocks` blocks of radix * m numbers: number u of each part is joined with its likes. */
static inline void FFT_NAME(stage)(const fft_shape *f, const FFT_REAL *turns, FFT_REAL *x,
                                   const int32_t radix, int64_t blocks, int64_t m) {
  const COMPLEX one = LOAD(turns, radix > 2 ? blocks * m : 0),
                two = LOAD(turns, radix > 2 ? 2 * blocks * m : 0);
  for (int64_t block = 0; block < blocks; block++)
    for (int64_t u = 0; u < m; u++) {
      const int64_t at = block * radix * m + u;
      COMPLEX a[5];
      for (int32_t q = 0; q < radix; q++) a[q] = FFT_NAME(divide)(LOAD(x, at + q * m), radix);
      for (int32_t q = 1; q < radix; q++) a[q] = TIMES(a[q], LOAD(turns, u * q * blocks));
      if (radix == 2)
        FFT_NAME(by_2)(a);
      else if (radix == 3)
        FFT_NAME(by_3)(a, one);
      else if (radix == 4)
        FFT_NAME(by_4)(a, f->inverse);
      else
        FFT_NAME(by_5)(a, one, two);
      for (int32_t q = 0; q < radix; q++) STORE(x, at + q * m, a[q]);
    }
}

/* x: n complex numbers in the order of the tables; becomes their transform. */
static void FFT_NAME(transform)(const fft_shape *f, const FFT_REAL *turns, FFT_REAL *x) {
  int64_t m = 1;
  for (int32_t k = f->n_radixes - 1; k >= 0; k--) {
    const int32_t radix = f->radixes[k];
    const int64_t blocks = f->n / (m * radix);
    switch (radix) {
      case 2: FFT_NAME(stage)(f, turns, x, 2, blocks, m); break;
      case 3: FFT_NAME(stage)(f, turns, x, 3, blocks, m); break;
      case 4: FFT_NAME(stage)(f, turns, x, 4, blocks, m); break;
      default: FFT_NAME(stage)(f, turns, x, 5, blocks, m); break;
    }
    m *= radix;
  }
}

/* ---- rows ---- */

/* n_x elements, zeros behind them, to n + 1 complex numbers; z: room for n. */
static void FFT_NAME(forward)(const fft_shape *f, const fft_state *s, const FFT_REAL *x,
                              int64_t n_x, FFT_REAL *z, FFT_REAL *y) {
  const int64_t n = f->n;
  for (int64_t k = 0; k < n; k++) {
    const int64_t from = 2 * (int64_t)s->order[k];
    z[2 * k] = from < n_x ? x[from] : 0;
    z[2 * k + 1] = from + 1 < n_x ? x[from + 1] : 0;
  }
  FFT_NAME(transform)(f, s->turns, z);
  const COMPLEX mean = FFT_NAME(divide)(LOAD(z, 0), 2);
  const COMPLEX low = {FFT_NAME(narrow)((FFT_WIDE)mean.r + mean.i), 0},
                high = {FFT_NAME(narrow)((FFT_WIDE)mean.r - mean.i), 0};
  STORE(y, 0, low);
  STORE(y, n, high);
  for (int64_t k = 1; k <= n / 2; k++) {
    const COMPLEX mirror = LOAD(z, n - k),
                  other = {mirror.r, FFT_NAME(narrow)(-(FFT_WIDE)mirror.i)},
                  a = FFT_NAME(divide)(LOAD(z, k), 2), b = FFT_NAME(divide)(other, 2),
                  even = PLUS(a, b), odd = TIMES(MINUS(a, b), LOAD(s->last, k - 1));
    const COMPLEX front = {FFT_HALF_SUM((FFT_WIDE)even.r + odd.r),
                           FFT_HALF_SUM((FFT_WIDE)even.i + odd.i)},
                  back = {FFT_HALF_SUM((FFT_WIDE)even.r - odd.r),
                          FFT_HALF_SUM((FFT_WIDE)odd.i - even.i)};
    STORE(y, k, front);
    STORE(y, n - k, back);
  }
}

/* n + 1 complex numbers to 2 * n elements; z: room for n complex numbers. */
static void FFT_NAME(backward)(const fft_shape *f, const fft_state *s, const FFT_REAL *x,
                               FFT_REAL *z, FFT_REAL *y) {
  const int64_t n = f->n;
  const COMPLEX ends = {FFT_NAME(narrow)((FFT_WIDE)x[0] + x[2 * n]),
                        FFT_NAME(narrow)((FFT_WIDE)x[0] - x[2 * n])};
  STORE(z, 0, FFT_NAME(divide)(ends, 2));
  for (int64_t k = 1; k <= n / 2; k++) {
    const COMPLEX mirror = LOAD(x, n - k),
                  other = {mirror.r, FFT_NAME(narrow)(-(FFT_WIDE)mirror.i)},
                  a = FFT_NAME(divide)(LOAD(x, k), 2), b = FFT_NAME(divide)(other, 2),
                  even = PLUS(a, b), odd = TIMES(MINUS(a, b), LOAD(s->last, k - 1)),
                  back = MINUS(even, odd);
    STORE(z, k, PLUS(even, odd));
    STORE(z, n - k, (COMPLEX){back.r, FFT_NAME(narrow)(-(FFT_WIDE)back.i)});
  }
  for (int64_t k = 0; k < n; k++) STORE(y, k, LOAD(z, s->order[k]));
  FFT_NAME(transform)(f, s->turns, y);
}

/* Rows begin .. end-1 of the call. */
static void FFT_NAME(rows)(const tn_call *call, const fft_shape *f, int64_t begin, int64_t end,
                           void *room) {
  const fft_state s = fft_state_of(f, call->state, sizeof(FFT_REAL));
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  const int64_t n_x = in->shape[in->rank - 1], n_y = out->shape[out->rank - 1];
  for (int64_t row = begin; row < end; row++) {
    const FFT_REAL *x = (const FFT_REAL *)in->data + row * n_x;
    FFT_REAL *y = (FFT_REAL *)out->data + row * n_y;
    if (f->inverse)
      FFT_NAME(backward)(f, &s, x, room, y);
    else
      FFT_NAME(forward)(f, &s, x, n_x, room, y);
    for (int64_t k = 0; FFT_BITS == 0 && f->inverse && k < n_y; k++)
      y[k] = (FFT_REAL)(y[k] / (FFT_REAL)n_y);
  }
}

#undef COMPLEX
#undef LOAD
#undef STORE
#undef PLUS
#undef MINUS
#undef TIMES
#undef SCALE
#undef TURN
