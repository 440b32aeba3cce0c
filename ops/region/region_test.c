/* tenon::Region and tenon::Reorder against their references: random boxes, permutations, flips,
 * repeats and steps of every element size, fills, and all pairs of layouts, split into ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "region.gen.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/tensor.h"
#include "tenon/tenon.h"

enum { MAX_BYTES = 1 << 20, MAX_REGIONS = 8 };

typedef struct bench {
  uint64_t seed;
  uint8_t *in[2], *fill, *got, *want, *scratch;
  tn_str *target; /* where string_set writes */
} bench;

static int64_t draw(bench *b, int64_t below) {
  b->seed ^= b->seed << 13;
  b->seed ^= b->seed >> 7;
  b->seed ^= b->seed << 17;
  return (int64_t)(b->seed >> 11) % below;
}

static tn_status string_set(void *ctx, uint32_t output, int64_t index, const char *data,
                            int64_t size) {
  (void)output;
  tn_str s = {size ? data : NULL, size};
  ((bench *)ctx)->target[index] = s;
  return TN_OK;
}

static int setup(void **state) {
  bench *b = calloc(1, sizeof *b);
  b->seed = 88172645463325252u;
  b->in[0] = malloc(MAX_BYTES), b->in[1] = malloc(MAX_BYTES), b->fill = malloc(64);
  b->got = malloc(MAX_BYTES), b->want = malloc(MAX_BYTES), b->scratch = malloc(MAX_BYTES);
  for (int64_t k = 0; k < MAX_BYTES; k++)
    b->in[0][k] = (uint8_t)draw(b, 256), b->in[1][k] = (uint8_t)draw(b, 256);
  for (int64_t k = 0; k < 64; k++) b->fill[k] = (uint8_t)draw(b, 256);
  *state = b;
  return 0;
}

static int teardown(void **state) {
  bench *b = *state;
  free(b->in[0]), free(b->in[1]), free(b->fill), free(b->got), free(b->want), free(b->scratch),
      free(b);
  return 0;
}

typedef tn_status (*kernel_fn)(const tn_call *, uint32_t, int64_t, int64_t, uint32_t);

/* One of those that this machine can run; each can do all, whatever its rows refuse. */
static kernel_fn any_of(bench *b, kernel_fn portable, kernel_fn avx2, kernel_fn avx512) {
  const uint64_t isa = tn_cpu_isa();
  switch (draw(b, 3)) {
    case 0: return isa & TN_ISA_AVX2 ? avx2 : portable;
    case 1: return isa & TN_ISA_AVX512 ? avx512 : portable;
    default: return portable;
  }
}
#if defined(__x86_64__)
#define ANY_OF(b, name) any_of(b, name##_c, name##_avx2, name##_avx512)
#else
#define ANY_OF(b, name) any_of(b, name##_c, name##_c, name##_c)
#endif

/* Runs all stages of a plan, each in `n_ranges` ranges. */
static void run(tn_call *call, const tn_kernel_plan *plan, int64_t n_ranges, kernel_fn kernel) {
  for (uint32_t s = 0; s < plan->n_stages; s++) {
    int64_t chunk = (plan->items[s] + n_ranges - 1) / n_ranges;
    for (int64_t at = 0; at < plan->items[s]; at += chunk) {
      int64_t end = at + chunk < plan->items[s] ? at + chunk : plan->items[s];
      assert_int_equal(kernel(call, s, at, end, 0), TN_OK);
    }
  }
}

static tn_kernel_plan new_plan(void) {
  tn_kernel_plan p = {.head = TN_HEAD(tn_kernel_plan), .n_stages = 1};
  for (int k = 0; k < TN_MAX_STAGES; k++) p.items[k] = p.grain[k] = 1;
  return p;
}

/* A region whose destination is one of the two halves, or all, of the output, with a random order
 * of dims and random source strides that stay inside of n_src elements. */
static tn_region random_region(bench *b, const tn_tensor *out, int64_t begin0, int64_t count0,
                               int64_t n_src) {
  tn_region r = {.head = TN_HEAD(tn_region), .input = (int32_t)draw(b, 2), .rank = out->rank};
  int64_t stride = 1, order[TN_MAX_RANK], src = 1;
  for (int32_t k = out->rank - 1; k >= 0; k--) {
    int64_t start = k == 0 ? begin0 : 0, count = k == 0 ? count0 : out->shape[k],
            step = draw(b, 4) ? 1 : 2;
    if (draw(b, 3) == 0 && count > 1) start += 1, count -= 1;
    r.size[k] = (count + step - 1) / step;
    r.dst_stride[k] = stride * step;
    r.dst_offset += start * stride;
    stride *= out->shape[k];
    order[k] = k;
  }
  for (int32_t k = out->rank - 1; k > 0; k--) {
    int64_t j = draw(b, 3) ? k : draw(b, k + 1), t = order[k];
    order[k] = order[j], order[j] = t;
  }
  for (int32_t k = out->rank - 1; k >= 0; k--) {
    int64_t d = order[k];
    r.src_stride[d] = draw(b, 8) ? src : 0;
    if (r.src_stride[d]) src *= r.size[d];
    if (draw(b, 6) == 0 && src * 2 < n_src) src *= 2;
    if (draw(b, 5) == 0) {
      r.src_offset += r.src_stride[d] * (r.size[d] - 1);
      r.src_stride[d] = -r.src_stride[d];
    }
    if (draw(b, 7) == 0) {
      r.dst_offset += r.dst_stride[d] * (r.size[d] - 1);
      r.dst_stride[d] = -r.dst_stride[d];
    }
  }
  return r;
}

static void random_output(bench *b, uint32_t dtype, tn_tensor *out) {
  int64_t dims[TN_MAX_RANK], left = 20000;
  int32_t rank = (int32_t)draw(b, 6);
  for (int32_t k = 0; k < rank; k++) {
    int64_t most = left < 4 ? left : draw(b, 4) ? 1 + left / 8 : left;
    dims[k] = 1 + draw(b, draw(b, 2) ? (most < 9 ? most : 9) : most);
    left /= dims[k];
  }
  *out = tn_tensor_make(dtype, rank, dims, NULL);
}

static void check_region(bench *b, uint32_t dtype) {
  tn_tensor out, in[2], fill = tn_tensor_make(dtype, 0, NULL, b->fill), *outs[1] = {&out};
  const tn_tensor *ins[3] = {&in[0], &in[1], &fill};
  random_output(b, dtype, &out);
  int64_t n_src = MAX_BYTES / 16, first = out.rank ? 1 + draw(b, out.shape[0]) : 1;
  for (int k = 0; k < 2; k++) in[k] = tn_tensor_make(dtype, 1, &n_src, b->in[k]);
  tn_region regions[2];
  const tn_region *list[2] = {&regions[0], &regions[1]};
  regions[0] = random_region(b, &out, 0, first, n_src);
  if (out.rank) regions[1] = random_region(b, &out, first, out.shape[0] - first, n_src);
  tn_host host = {.head = TN_HEAD(tn_host), .string_set = string_set};
  tn_call call = {.head = TN_HEAD(tn_call),
                  .host = &host,
                  .ctx = b,
                  .n_inputs = 3,
                  .inputs = ins,
                  .n_outputs = 1,
                  .outputs = outs,
                  .regions = list,
                  .n_regions = draw(b, 4) && out.rank ? 2 : 1,
                  .region_fill = draw(b, 2) ? 2 : -1,
                  .n_workers = 1};
  int64_t bytes = tn_storage_bytes(&out);
  memset(b->got, 0xA5, (size_t)bytes + 64), memset(b->want, 0xA5, (size_t)bytes + 64);
  out.data = b->want, b->target = out.data;
  assert_int_equal(region_reference(&call), TN_OK);
  tn_kernel_plan plan = new_plan();
  assert_int_equal(region_plan(&call, &plan), TN_OK);
  assert_true(plan.scratch_bytes <= MAX_BYTES);
  out.data = b->got, b->target = out.data, call.scratch = b->scratch,
  call.scratch_bytes = plan.scratch_bytes;
  run(&call, &plan, 1 + draw(b, 5), ANY_OF(b, region));
  if (tn_dtype(dtype)->bits < 8 &&
      tn_tensor_elements(&out) * tn_dtype(dtype)->bits % 8) { /* unused bits of the last byte */
    b->want[bytes - 1] &=
        (uint8_t)((1u << tn_tensor_elements(&out) * tn_dtype(dtype)->bits % 8) - 1);
  }
  assert_memory_equal(b->got, b->want, (size_t)bytes + 64);
}

static void regions_match_their_reference(void **state) {
  static const uint32_t dtypes[] = {TN_F32, TN_F32, TN_U8, TN_F16, TN_I64, TN_C128, TN_I4, TN_U2};
  for (int k = 0; k < 4000; k++) check_region(*state, dtypes[k % 8]);
}

static void strings_are_moved_by_the_host(void **state) {
  bench *b = *state;
  tn_str *in = (tn_str *)(void *)b->in[0], *in1 = (tn_str *)(void *)b->in[1],
         *fill = (tn_str *)(void *)b->fill;
  for (int64_t k = 0; k < MAX_BYTES / 16; k++)
    in[k] = (tn_str){(const char *)b->fill, k}, in1[k] = (tn_str){"in1", k};
  *fill = (tn_str){"fill", 4};
  for (int k = 0; k < 100; k++) check_region(b, TN_STRING);
}

static void layouts_match_their_reference(void **state) {
  static const tn_layout layouts[] = {TN_PLAIN,      TN_CHANNELS_LAST, TN_BLOCKED(4),
                                      TN_BLOCKED(8), TN_BLOCKED(16),   TN_BLOCKED(32)};
  static const uint32_t dtypes[] = {TN_F32, TN_U8, TN_F16, TN_F64};
  bench *b = *state;
  for (int k = 0; k < 2000; k++) {
    int64_t dims[5] = {1 + draw(b, 3), 1 + draw(b, 70), 1 + draw(b, 9), 1 + draw(b, 9),
                       1 + draw(b, 2)};
    uint32_t dtype = dtypes[k % 4];
    tn_tensor in = tn_tensor_make(dtype, (int32_t)(3 + draw(b, 3)), dims, b->in[0]), out = in,
              *outs[1] = {&out};
    const tn_tensor *ins[1] = {&in};
    in.layout = layouts[draw(b, 6)], out.layout = layouts[draw(b, 6)];
    tn_call call = {.head = TN_HEAD(tn_call),
                    .ctx = b,
                    .n_inputs = 1,
                    .inputs = ins,
                    .n_outputs = 1,
                    .outputs = outs,
                    .n_workers = 1};
    int64_t bytes = tn_storage_bytes(&out);
    memset(b->got, 0xA5, (size_t)bytes + 64), memset(b->want, 0xA5, (size_t)bytes + 64);
    out.data = b->want;
    assert_int_equal(reorder_reference(&call), TN_OK);
    tn_kernel_plan plan = new_plan();
    assert_int_equal(reorder_plan(&call, &plan), TN_OK);
    out.data = b->got;
    run(&call, &plan, 1 + draw(b, 5), ANY_OF(b, reorder));
    assert_memory_equal(b->got, b->want, (size_t)bytes + 64);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(regions_match_their_reference),
                                     cmocka_unit_test(strings_are_moved_by_the_host),
                                     cmocka_unit_test(layouts_match_their_reference)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
