/* Products of f16 or bf16 by the matrix units of NVIDIA's GPUs from Ampere on, with sums in f32,
 * for CUDA_KERNELs (docs/add-a-gpu-kernel.md).
 *
 * A group of THREADS makes a tile of 32 * WM rows by THREADS / 2 columns, in slices of 32 along K:
 * its warps stand two by THREADS / 64, each with 16 * WM rows of 32 columns. In local memory lie A
 * as [row][k] and B as [column][k], or, if B_ROWS, as [k][column]; rows are padded by 8, so that
 * those of a matrix lie in different banks. Thread t brings in 16 elements of each: of row or
 * column t / 2 those from t % 2 * 16 on, of B_ROWS those of one k from t % (THREADS / 32) * 16 on.
 * See the PTX manual, "Matrix fragments for mma.m16n8k16". */
#if __CUDA_ARCH__ < 800
#error "needs the matrix units of compute capability 8.0"
#endif

enum { PITCH = 40 };

struct sixteen { /* elements of 16 bits */
  uint w[8];
};

struct __align__(16) quad {
  uint x, y, z, w;
};

void set_zero(uint *w, int n) { UNROLL for (int i = 0; i < n; i++) w[i] = 0; }

/* Eight that lie next to each other, on 16 bytes. */
void take8(uint *w, const ushort *p) {
  quad q = *(const quad *)p;
  w[0] = q.x, w[1] = q.y, w[2] = q.z, w[3] = q.w;
}

void put16(ushort *p, const sixteen &v) {
  UNROLL for (int i = 0; i < 2; i++) {
    quad q;
    q.x = v.w[4 * i], q.y = v.w[4 * i + 1], q.z = v.w[4 * i + 2], q.w = v.w[4 * i + 3];
    ((quad *)p)[i] = q;
  }
}

void set_one(sixteen &v, int i, ushort bits) {
  v.w[i / 2] = i % 2 ? v.w[i / 2] | (uint)bits << 16 : (uint)bits;
}

/* Four matrices of 8 x 8; lane l says where row l % 8 of matrix l / 8 begins. */
void load_matrices(uint *r, const ushort *p) {
  uint at = (uint)__cvta_generic_to_shared(p);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}

void load_transposed(uint *r, const ushort *p) {
  uint at = (uint)__cvta_generic_to_shared(p);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}

template <bool BF16>
void multiply(float *d, const uint *a, const uint *b) {
#define MMA(type)                                            \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type \
      ".f32 {%0, %1, %2, %3}, "                              \
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"        \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])       \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if (BF16)
    MMA("bf16");
  else
    MMA("f16");
}

/* One slice of a warp, whose tile begins at row m and column n. */
template <int ROWS, bool BF16, bool HAS_B_ROWS>
void multiply_slice(float (&sums)[ROWS][4][4], const ushort *as, const ushort *bs, int b_pitch,
                    int m, int n) {
  int l = threadIdx.x % 32, high = l / 16 * 8, middle = l / 8 % 2 * 8;
  UNROLL for (int k = 0; k < 32; k += 16) {
    uint a[ROWS][4], b[2][4];
    UNROLL for (int i = 0; i < ROWS; i++)
        load_matrices(a[i], as + (m + i * 16 + l % 16) * PITCH + k + high);
    UNROLL for (int j = 0; j < 2; j++) {
      if (HAS_B_ROWS)
        load_transposed(b[j], bs + (k + middle + l % 8) * b_pitch + n + j * 16 + high);
      else
        load_matrices(b[j], bs + (n + j * 16 + high + l % 8) * PITCH + k + middle);
    }
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < 4; j++)
        multiply<BF16>(sums[i][j], a[i], &b[j / 2][j % 2 * 2]);
  }
}

/* Where result e of 16 * WM of a thread stands in the tile, and its sum: e / 16 of the rows,
 * e / 4 % 4 of the columns, as the fragment has them. */
#define MMA_WARP                                        \
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32; \
  int warp_m = warp % 2 * 16 * WM, warp_n = warp / 2 * 32;
#define MMA_AT(e)                                                    \
  int r = row + warp_m + (e) / 16 * 16 + lane / 4 + (e) % 4 / 2 * 8; \
  int q = col + warp_n + (e) / 4 % 4 * 8 + lane % 4 * 2 + (e) % 2;
#define MMA_SUM(e) sums[(e) / 16][(e) / 4 % 4][(e) % 4]

/* Copies eight elements, or zeros, into local memory, 16 bytes; it goes on until copies_end. */
void copy8(ushort *to, const ushort *from, bool is_there) {
  uint at = (uint)__cvta_generic_to_shared(to);
  int bytes = is_there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes)
               : "memory");
}

/* What was copied since the last call is one batch; of these all but the latest N have ended. */
void copies_begin() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int N>
void copies_end() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Four floats of the local memory of group `rank` of the cluster, where p is in one's own. */
f32x4 load_of_group(const float *p, int rank) {
  f32x4 v = F32X4(0.0f);
#if __CUDA_ARCH__ >= 900
  uint at = (uint)__cvta_generic_to_shared(p);
  asm volatile(
      "{ .reg .b32 there; mapa.shared::cluster.u32 there, %4, %5;"
      " ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there]; }"
      : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
      : "r"(at), "r"(rank)
      : "memory");
#endif
  return v;
}

void cluster_barrier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
#endif
}

/* What a kernel's body does between: BRING(i) takes what the thread brings in of the slice from i
 * on into a and b. */
#define MMA_LOCALS                                        \
  __shared__ __align__(16) ushort as[2][32 * WM * PITCH]; \
  __shared__ __align__(16) ushort bs[2][B_ROWS ? 32 * (THREADS / 2 + 8) : THREADS / 2 * PITCH];
#define MMA_PUT(buffer)                                                                         \
  put16(as[buffer] + t / 2 * PITCH + t % 2 * 16, a);                                            \
  put16(bs[buffer] + (B_ROWS ? t / (THREADS / 32) * (THREADS / 2 + 8) + t % (THREADS / 32) * 16 \
                             : t / 2 * PITCH + t % 2 * 16),                                     \
        b);
#define MMA_LOOP                                                                                  \
  float sums[WM][4][4];                                                                           \
  sixteen a, b;                                                                                   \
  UNROLL for (int i = 0; i < WM * 16; i++) MMA_SUM(i) = 0.0f;                                     \
  BRING(at)                                                                                       \
  MMA_PUT(0)                                                                                      \
  __syncthreads();                                                                                \
  for (int now = 0; at < end; at += 32, now ^= 1) {                                               \
    if (at + 32 < end) {                                                                          \
      BRING(at + 32)                                                                              \
    }                                                                                             \
    multiply_slice<WM, IS_BF16, B_ROWS>(sums, as[now], bs[now], THREADS / 2 + 8, warp_m, warp_n); \
    if (at + 32 < end) {                                                                          \
      MMA_PUT(now ^ 1)                                                                            \
    }                                                                                             \
    __syncthreads();                                                                              \
  }
