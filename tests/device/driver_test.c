/* usage: driver_test DRIVER. A driver of GPUs by itself: copies, fills, programs, marks, errors.
 * Skipped where it has no device: PoCL, lavapipe and llvmpipe make one of any processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "host.h"
#include "unary.gen.h"

const tn_plugin *tn_builtin_query(uint32_t host_major, uint32_t host_minor);

enum { N = 100 };
#define NEVER UINT64_C(20000000000)

static const tn_device_driver *d;
/* A device, its queue, and a buffer of each use. */
typedef struct bench {
  tn_device_info info;
  void *device, *queue, *up, *down, *there;
  uint8_t *in, *out;
  uint64_t mark, bytes;
} bench;

static void ok(tn_status status) {
  if (status) fail_msg("status %d: %s", (int)status, said);
}

static void bench_open(bench *b, uint64_t bytes) {
  void *at;
  *b = (bench){.info = {.head = TN_HEAD(tn_device_info)}, .bytes = bytes};
  *said = 0;
  ok(d->open(&call, 0, &b->device));
  ok(d->describe(&call, b->device, &b->info));
  assert_true(*b->info.name && *b->info.stamp && b->info.offset_alignment <= 1024);
  ok(d->queue_new(&call, b->device, &b->queue));
  ok(d->buffer_new(&call, b->device, bytes, TN_BUFFER_UPLOAD, &b->up));
  ok(d->buffer_new(&call, b->device, bytes, TN_BUFFER_DOWNLOAD, &b->down));
  ok(d->buffer_new(&call, b->device, 2 * bytes + 4096, TN_BUFFER_DEVICE, &b->there));
  ok(d->buffer_map(&call, b->up, &at));
  b->in = at;
  ok(d->buffer_map(&call, b->down, &at));
  b->out = at;
  assert_int_not_equal(d->buffer_map(&call, b->there, &at), TN_OK);
  for (uint64_t k = 0; k < bytes; k++) b->in[k] = (uint8_t)(3 * k + 1);
}

static void bench_close(bench *b) {
  d->queue_free(&call, b->queue);
  d->buffer_free(&call, b->up);
  d->buffer_free(&call, b->down);
  d->buffer_free(&call, b->there);
  d->close(&call, b->device);
}

static tn_device_range range(void *buffer, uint64_t offset, uint64_t bytes) {
  return (tn_device_range){TN_HEAD(tn_device_range), buffer, offset, bytes};
}

static void submit(bench *b, void *recording) {
  if (d->buffer_sync) ok(d->buffer_sync(&call, b->up, 0, b->bytes, 1));
  ok(d->submit(&call, b->queue, recording, ++b->mark));
}

static void wait(bench *b, uint64_t mark) {
  ok(d->wait(&call, b->queue, mark, NEVER));
  if (d->buffer_sync) ok(d->buffer_sync(&call, b->down, 0, b->bytes, 0));
}

/* Twice, since recordings are submitted often. */
static void submit_twice(bench *b, void *recording) {
  ok(d->record_end(&call, recording));
  for (int k = 0; k < 2; k++) {
    memset(b->out, 0xEE, N);
    if (d->buffer_sync) ok(d->buffer_sync(&call, b->down, 0, N, 1));
    submit(b, recording);
    wait(b, b->mark);
    wait(b, b->mark); /* it has ended */
  }
  d->record_free(&call, recording);
}

static void test_copies(void **state) {
  (void)state;
  bench b;
  void *r;
  bench_open(&b, N);
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
  submit_twice(&b, r);
  assert_memory_equal(b.out + 5, b.in + 1, 9);
  assert_memory_equal(b.out + 20, "\1\2\3\4\1\2\3\4", 8);
  assert_int_equal(b.out[4], 0xEE);
  assert_int_equal(b.out[14], 0xEE);
  bench_close(&b);
}

/* ---- programs: those of the operators themselves ---- */

static const tn_program *find_program(const char *kernel, uint32_t index) {
  const tn_plugin *all = tn_builtin_query(TN_ABI_MAJOR, TN_ABI_MINOR);
  for (uint32_t k = 0; k < all->n_device_kernels; k++) {
    const tn_device_kernel *one = all->device_kernels[k];
    if (!strcmp(one->kernel->name, kernel)) return one->programs[index];
  }
  fail_msg("there is no kernel %s", kernel);
  return NULL;
}

static tn_status build(bench *b, const tn_program *p, const int64_t *constants, void **out) {
  for (uint32_t k = 0; k < p->n_forms; k++) {
    tn_program_view view;
    const char *problem;
    if (!tn_program_form_is(p->forms[k], d->languages, strlen(d->languages))) continue;
    ok(tn_program_view_make(tn_default_allocator(), p, k, &view, &problem));
    const tn_status status =
        d->program_new(&call, b->device, view.program, view.form, constants, NULL, 0, out);
    tn_program_view_free(tn_default_allocator(), &view);
    return status;
  }
  return host_fail(NULL, TN_ERR_NOT_FOUND, "program '%s' has no form in %s", p->name, d->languages);
}

/* y = -x of n numbers, in x at the offset and behind it; `times` times to the same mark. */
static void *record_neg(bench *b, void *program, uint32_t n) {
  const uint64_t at = 1024, bytes = n * sizeof(float);
  const int32_t params[] = {(int32_t)n};
  const tn_dispatch dispatch = {.head = TN_HEAD(tn_dispatch),
                                .n_bindings = 2,
                                .params_bytes = sizeof params,
                                .groups = {(n + 63) / 64, 1, 1},
                                .params = params};
  const tn_device_range up = range(b->up, 0, bytes), x = range(b->there, at, bytes),
                        y = range(b->there, (at + bytes + 1023) / 1024 * 1024, bytes),
                        down = range(b->down, 0, bytes);
  const tn_device_range *const ranges[] = {&x, &y};
  void *r;
  ok(d->record_begin(&call, b->device, &r));
  ok(d->record_copy(&call, r, &up, &x));
  ok(d->record_barrier(&call, r));
  ok(d->record_dispatch(&call, r, program, ranges, 2, &dispatch));
  ok(d->record_barrier(&call, r));
  ok(d->record_copy(&call, r, &y, &down));
  return r;
}

static const int64_t neg_constants[] = {TN_F32, TN_F32, 1}; /* S_X, S_Y, KIND */

static void put_numbers(bench *b, uint32_t n) {
  float *x = (float *)(void *)b->in;
  for (uint32_t k = 0; k < n; k++) x[k] = (float)k + 0.5f;
}

static void check_numbers(const bench *b, uint32_t n) {
  const float *y = (const float *)(const void *)b->out;
  for (uint32_t k = 0; k < n; k++)
    if (!(y[k] == -(float)k - 0.5f)) fail_msg("element %u is %g", k, (double)y[k]);
}

static void test_program(void **state) {
  (void)state;
  bench b;
  void *program;
  bench_open(&b, N);
  put_numbers(&b, 23);
  ok(build(&b, find_program("neg_gpu", GPU_unary), neg_constants, &program));
  submit_twice(&b, record_neg(&b, program, 23));
  check_numbers(&b, 23);
  assert_int_equal(b.out[23 * sizeof(float)], 0xEE);
  d->program_free(&call, program);
  bench_close(&b);
}

/* More groups than many devices take at once, submitted often before anybody waits. */
static void test_many(void **state) {
  (void)state;
  enum { MANY = 64 * 65536 + 7, TIMES = 20 };
  bench b;
  void *program;
  bench_open(&b, MANY * sizeof(float));
  put_numbers(&b, MANY);
  ok(build(&b, find_program("neg_gpu", GPU_unary), neg_constants, &program));
  void *r = record_neg(&b, program, MANY);
  ok(d->record_end(&call, r));
  for (int k = 0; k < TIMES; k++) submit(&b, r);
  const tn_status at_once = d->wait(&call, b.queue, b.mark, 1);
  if (b.info.flags & TN_DEVICE_SERIAL) /* llvmpipe has done it all by now */
    assert_true(at_once == TN_OK || at_once == TN_ERR_STATE);
  else
    assert_int_equal(at_once, TN_ERR_STATE); /* not yet */
  wait(&b, 3);
  wait(&b, b.mark);
  wait(&b, 7);
  d->record_free(&call, r);
  check_numbers(&b, MANY);
  d->program_free(&call, program);
  bench_close(&b);
}

static void test_errors(void **state) {
  (void)state;
  static const uint32_t nonsense[] = {0x6e6f6e73, 0x656e7365, 0, 0, 0, 0};
  const tn_program_form form = {TN_HEAD(tn_program_form), d->languages, nonsense, 8};
  const tn_program_form *const forms[] = {&form};
  const tn_program program = {
      .head = TN_HEAD(tn_program), .name = "scale", .forms = forms, .n_forms = 1};
  bench b;
  void *object;
  bench_open(&b, N);
  assert_int_equal(build(&b, &program, NULL, &object), TN_ERR_UNSUPPORTED);
  assert_true(*said);
  assert_int_equal(d->open(&call, 63, &object), TN_ERR_NOT_FOUND);
  *said = 0;
  assert_int_equal(d->buffer_new(&call, b.device, UINT64_C(1) << 60, TN_BUFFER_DEVICE, &object),
                   TN_ERR_MEMORY);
  assert_true(*said);
  bench_close(&b);
}

/* Modules that end early are no programs; those with a wrong word may be, and nothing crashes. */
static void test_damaged(void **state) {
  (void)state;
  enum { MOST = 1 << 16 };
  static uint32_t words[MOST];
  const tn_program *whole = find_program("neg_gpu", GPU_unary);
  tn_program_form form = {TN_HEAD(tn_program_form), d->languages, words, 0};
  const tn_program_form *const forms[] = {&form};
  tn_program program = *whole;
  uint64_t size = 0;
  bench b;
  void *object;
  bench_open(&b, N);
  for (uint32_t k = 0; k < whole->n_forms; k++)
    if (tn_program_form_is(whole->forms[k], d->languages, strlen(d->languages))) {
      tn_program_view view;
      const char *problem;
      ok(tn_program_view_make(tn_default_allocator(), whole, k, &view, &problem));
      size = view.program->forms[view.form]->size;
      assert_true(size < sizeof words);
      memcpy(words, view.program->forms[view.form]->data, size);
      tn_program_view_free(tn_default_allocator(), &view);
    }
  program.forms = forms;
  program.n_forms = 1;
  for (form.size = 0; form.size < size; form.size += size / 97 / 4 * 4) {
    assert_int_equal(build(&b, &program, neg_constants, &object), TN_ERR_UNSUPPORTED);
    assert_true(*said);
  }
  form.size = size; /* whole, with one wrong word at a time */
  for (uint64_t k = 5; k < size / 4; k += 1 + size / 4 / 97) {
    const uint32_t word = words[k];
    words[k] = UINT32_MAX;
    if (!build(&b, &program, neg_constants, &object)) d->program_free(&call, object);
    words[k] = word;
  }
  bench_close(&b);
}

/* One without reqd_work_group_size. */
static void test_no_group(void **state) {
  (void)state;
  static const char text[] = "__kernel void scale(__global int *x) { *x = 1; }";
  const tn_program_form form = {TN_HEAD(tn_program_form), d->languages, text, sizeof text - 1};
  const tn_program_form *const forms[] = {&form};
  const tn_program program = {
      .head = TN_HEAD(tn_program), .name = "scale", .forms = forms, .n_forms = 1};
  bench b;
  void *object, *r;
  bench_open(&b, N);
  ok(build(&b, &program, NULL, &object));
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

static const tn_device_driver *find_driver(const char *name) {
  const tn_plugin *all = tn_builtin_query(TN_ABI_MAJOR, TN_ABI_MINOR);
  for (uint32_t k = 0; k < all->n_drivers; k++)
    if (!strcmp(all->drivers[k]->name, name)) return all->drivers[k];
  return NULL;
}

int main(int argc, char **argv) {
  uint32_t n;
  const char *name = argc > 1 ? argv[1] : "";
  d = find_driver(name);
  if (!d) {
    printf("skipped: the driver '%s' was left out\n", name);
    return 77;
  }
  if (d->count(&call, &n)) {
    printf("skipped: no device of %s: %s\n", name, said);
    return 77;
  }
  const struct CMUnitTest damaged[] = {cmocka_unit_test(test_damaged)};
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_program),
                                     cmocka_unit_test(test_many), cmocka_unit_test(test_errors),
                                     cmocka_unit_test(test_no_group)};
  const int n_tests = sizeof tests / sizeof *tests - (strcmp(name, "opencl") ? 1 : 0);
  const int failed = _cmocka_run_group_tests(name, tests, (size_t)n_tests, NULL, NULL);
  if (strcmp(name, "webgpu") != 0) return failed; /* others hand them to compilers as they are */
  return failed + cmocka_run_group_tests(damaged, NULL, NULL);
}
