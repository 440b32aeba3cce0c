/* The driver of OpenCL by itself: copies, fills, a program, errors. Skipped where no OpenCL device
 * is: PoCL makes one of any processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/experimental/device.h"

extern const tn_device_driver opencl_driver; /* devices/opencl */

enum { N = 100 };
#define NEVER UINT64_C(20000000000)

static char said[512];

static tn_status host_fail(void *ctx, tn_status code, const char *format, ...) {
  va_list args;
  (void)ctx;
  va_start(args, format);
  vsnprintf(said, sizeof said, format, args);
  va_end(args);
  return code;
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  (void)ctx;
  return calloc(1, bytes);
}

static void host_free(void *ctx, void *memory) {
  (void)ctx;
  free(memory);
}

static const tn_host host = {
    .head = TN_HEAD(tn_host), .fail = host_fail, .alloc = host_alloc, .free = host_free};
static const tn_device_call call = {.head = TN_HEAD(tn_device_call), .host = &host};

/* A device, its queue, and a buffer of each use. */
typedef struct bench {
  void *device, *queue, *up, *down, *there;
  uint8_t *in, *out;
} bench;

static void ok(tn_status status) {
  if (status) fail_msg("status %d: %s", (int)status, said);
}

static void bench_open(bench *b) {
  const tn_device_driver *d = &opencl_driver;
  void *at;
  *said = 0;
  ok(d->open(&call, 0, &b->device));
  ok(d->queue_new(&call, b->device, &b->queue));
  ok(d->buffer_new(&call, b->device, N, TN_BUFFER_UPLOAD, &b->up));
  ok(d->buffer_new(&call, b->device, N, TN_BUFFER_DOWNLOAD, &b->down));
  ok(d->buffer_new(&call, b->device, 4096, TN_BUFFER_DEVICE, &b->there));
  ok(d->buffer_map(&call, b->up, &at));
  b->in = at;
  ok(d->buffer_map(&call, b->down, &at));
  b->out = at;
  assert_int_not_equal(d->buffer_map(&call, b->there, &at), TN_OK);
  for (int k = 0; k < N; k++) b->in[k] = (uint8_t)(3 * k + 1);
}

static void bench_close(bench *b) {
  const tn_device_driver *d = &opencl_driver;
  d->queue_free(&call, b->queue);
  d->buffer_free(&call, b->up);
  d->buffer_free(&call, b->down);
  d->buffer_free(&call, b->there);
  d->close(&call, b->device);
}

static tn_device_range range(void *buffer, uint64_t offset, uint64_t bytes) {
  return (tn_device_range){TN_HEAD(tn_device_range), buffer, offset, bytes};
}

/* Twice, since recordings are submitted often. */
static void submit(bench *b, void *recording) {
  const tn_device_driver *d = &opencl_driver;
  ok(d->record_end(&call, recording));
  for (uint64_t mark = 1; mark <= 2; mark++) {
    memset(b->out, 0xEE, N);
    ok(d->submit(&call, b->queue, recording, mark));
    ok(d->wait(&call, b->queue, mark, NEVER));
    ok(d->wait(&call, b->queue, mark, NEVER)); /* it has ended */
  }
  d->record_free(&call, recording);
}

static void test_copies(void **state) {
  (void)state;
  const tn_device_driver *d = &opencl_driver;
  bench b;
  void *r;
  bench_open(&b);
  ok(d->record_begin(&call, b.device, &r));
  const tn_device_range up = range(b.up, 1, 9), first = range(b.there, 3, 9),
                        second = range(b.there, 1001, 9), filled = range(b.there, 2048, 8),
                        low = range(b.down, 5, 9), high = range(b.down, 20, 8);
  ok(d->record_copy(&call, r, &up, &first));
  ok(d->record_fill(&call, r, &filled, 0x04030201));
  ok(d->record_barrier(&call, r));
  ok(d->record_copy(&call, r, &first, &second));
  ok(d->record_barrier(&call, r));
  ok(d->record_copy(&call, r, &second, &low));
  ok(d->record_copy(&call, r, &filled, &high));
  submit(&b, r);
  assert_memory_equal(b.out + 5, b.in + 1, 9);
  assert_memory_equal(b.out + 20, "\1\2\3\4\1\2\3\4", 8);
  assert_int_equal(b.out[4], 0xEE);
  assert_int_equal(b.out[14], 0xEE);
  bench_close(&b);
}

typedef struct add_params {
  uint32_t n, what;
} add_params;

static tn_status build(bench *b, const char *text, void **out) {
  static const int64_t times = 5;
  const tn_program_form form = {TN_HEAD(tn_program_form), "opencl-c", text, strlen(text)};
  const tn_program_form *const forms[] = {&form};
  const tn_program program = {.head = TN_HEAD(tn_program),
                              .name = "scale",
                              .constants = "TIMES:int",
                              .forms = forms,
                              .n_forms = 1};
  return opencl_driver.program_new(&call, b->device, &program, 0, &times, NULL, 0, out);
}

static void test_program(void **state) {
  (void)state;
  const tn_device_driver *d = &opencl_driver;
  static const char text[] =
      "typedef struct { uint n, what; } params;\n"
      "__kernel __attribute__((reqd_work_group_size(8, 1, 1)))\n"
      "void scale(__global const uchar *x, __global uchar *y, __global uchar *none, params p) {\n"
      "  const uint k = get_global_id(0);\n"
      "  if (k < p.n && !none) y[k] = (uchar)(x[k] * TIMES + p.what);\n"
      "}\n";
  bench b;
  void *r, *program;
  bench_open(&b);
  tn_device_info info = {.head = TN_HEAD(tn_device_info)};
  ok(d->describe(&call, b.device, &info));
  const uint64_t at = info.offset_alignment;
  assert_true(at && 2 * at <= 4096 && *info.name && *info.stamp);
  const add_params params = {30, 7};
  const tn_dispatch dispatch = {.head = TN_HEAD(tn_dispatch),
                                .n_bindings = 3,
                                .params_bytes = sizeof params,
                                .groups = {4, 1, 1},
                                .params = &params};
  const tn_device_range up = range(b.up, 0, 30), x = range(b.there, at, 30),
                        y = range(b.there, 0, 30), none = range(NULL, 0, 0),
                        down = range(b.down, 0, 30);
  const tn_device_range *const ranges[] = {&x, &y, &none};
  ok(build(&b, text, &program));
  ok(d->record_begin(&call, b.device, &r));
  ok(d->record_copy(&call, r, &up, &x));
  ok(d->record_dispatch(&call, r, program, ranges, 3, &dispatch));
  ok(d->record_copy(&call, r, &y, &down));
  submit(&b, r);
  for (int k = 0; k < 30; k++) assert_int_equal(b.out[k], (uint8_t)(b.in[k] * 5 + 7));
  d->program_free(&call, program);
  bench_close(&b);
}

static void test_errors(void **state) {
  (void)state;
  const tn_device_driver *d = &opencl_driver;
  bench b;
  void *object, *r;
  bench_open(&b);
  assert_int_equal(build(&b, "__kernel void scale(", &object), TN_ERR_UNSUPPORTED);
  assert_true(*said);
  assert_int_equal(d->open(&call, 63, &object), TN_ERR_NOT_FOUND);
  assert_int_equal(d->buffer_new(&call, b.device, UINT64_C(1) << 60, TN_BUFFER_DEVICE, &object),
                   TN_ERR_MEMORY);
  assert_non_null(strstr(said, "clCreateBuffer: "));
  ok(build(&b, "__kernel void scale(__global int *x) { *x = TIMES; }", &object));
  const tn_device_range there = range(b.there, 0, 64);
  const tn_device_range *const ranges[] = {&there};
  const tn_dispatch dispatch = {.head = TN_HEAD(tn_dispatch), .n_bindings = 1, .groups = {1, 1, 1}};
  ok(d->record_begin(&call, b.device, &r));
  assert_int_equal(d->record_dispatch(&call, r, object, ranges, 1, &dispatch), TN_ERR_UNSUPPORTED);
  assert_non_null(strstr(said, "reqd_work_group_size"));
  d->record_free(&call, r);
  d->program_free(&call, object);
  bench_close(&b);
}

int main(void) {
  uint32_t n;
  if (opencl_driver.count(&call, &n)) {
    printf("skipped: no OpenCL device: %s (PoCL is one: pocl-opencl-icd)\n", said);
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_program),
                                     cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
