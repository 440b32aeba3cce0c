/* A driver that misbehaves as TENON_ROGUE says: the shadow device, with one function of its table
 * replaced. "MEMBER.DAMAGE" is what any callback can do, all else what one by itself can. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shadow.gen.h"
#include "tenon/device.h"

static tn_status make_nothing(void **out) {
  *out = NULL;
  return TN_OK;
}

static tn_status open_nothing(const tn_device_call *c, uint32_t index, void **out) {
  (void)c, (void)index;
  return make_nothing(out);
}

static tn_status queue_nothing(const tn_device_call *c, void *device, void **out) {
  (void)c, (void)device;
  return make_nothing(out);
}

static tn_status program_nothing(const tn_device_call *c, void *device, const tn_program *program,
                                 uint32_t form, const int64_t *constants, const void *binary,
                                 uint64_t binary_bytes, void **out) {
  (void)c, (void)device, (void)program, (void)form, (void)constants, (void)binary,
      (void)binary_bytes;
  return make_nothing(out);
}

static tn_status map_nowhere(const tn_device_call *c, void *buffer, void **out) {
  (void)c, (void)buffer;
  *out = (void *)(uintptr_t)64;
  return TN_OK;
}

static tn_status describe_long(const tn_device_call *c, void *device, tn_device_info *info) {
  static char name[100001];
  const tn_status status = shadow_driver.describe(c, device, info);
  memset(name, 'n', sizeof name - 1);
  info->name = name;
  return status;
}

static tn_status describe_lines(const tn_device_call *c, void *device, tn_device_info *info) {
  const tn_status status = shadow_driver.describe(c, device, info);
  info->name = "two\nlines\033[31m";
  return status;
}

static tn_status describe_wide(const tn_device_call *c, void *device, tn_device_info *info) {
  const tn_status status = shadow_driver.describe(c, device, info);
  info->offset_alignment = UINT64_C(1) << 32;
  return status;
}

static tn_status describe_crash(const tn_device_call *c, void *device, tn_device_info *info) {
  (void)c, (void)device, (void)info;
  abort();
}

static const char *refuse_long(const tn_device_call *c, void *device, const tn_kernel *kernel) {
  static char reason[100001];
  (void)c, (void)device, (void)kernel;
  memset(reason, 'r', sizeof reason - 1);
  return reason;
}

static tn_status copy_nothing(const tn_device_call *c, void *recording, const tn_device_range *from,
                              const tn_device_range *to) {
  (void)c, (void)recording, (void)from, (void)to;
  return TN_OK;
}

/* Whole words only. */
static tn_status copy_words(const tn_device_call *c, void *recording, const tn_device_range *from,
                            const tn_device_range *to) {
  tn_device_range a = *from, b = *to;
  a.bytes = b.bytes = from->bytes / 4 * 4;
  return shadow_driver.record_copy(c, recording, &a, &b);
}

static tn_status fill_bytes(const tn_device_call *c, void *recording, const tn_device_range *to,
                            uint32_t word) {
  return shadow_driver.record_fill(c, recording, to, word % 256 * 0x01010101);
}

static tn_status barrier_nothing(const tn_device_call *c, void *recording) {
  (void)c, (void)recording;
  return TN_OK;
}

static tn_status memory_any(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                            void **out) {
  return shadow_driver.buffer_new(c, device, bytes > UINT64_C(1) << 40 ? 64 : bytes, use, out);
}

static tn_status describe_other(const tn_device_call *c, void *device, tn_device_info *info) {
  static unsigned n;
  const tn_status status = shadow_driver.describe(c, device, info);
  info->stamp = n++ % 2 ? "rogue 1" : "rogue 2";
  return status;
}

/* What has little time is said to have ended. */
static tn_status wait_short(const tn_device_call *c, void *queue, uint64_t mark,
                            uint64_t timeout_ns) {
  return timeout_ns < 1000000 ? TN_OK : shadow_driver.wait(c, queue, mark, timeout_ns);
}

/* The work goes on meanwhile, with all that it was given. */
static tn_status wait_no_status(const tn_device_call *c, void *queue, uint64_t mark,
                                uint64_t timeout_ns) {
  (void)c, (void)queue, (void)mark, (void)timeout_ns;
  return 7;
}

/* The work goes on, and two times out of three its time is not up. */
static tn_status wait_early(const tn_device_call *c, void *queue, uint64_t mark,
                            uint64_t timeout_ns) {
  static unsigned n;
  return n++ % 3 ? TN_ERR_STATE : shadow_driver.wait(c, queue, mark, timeout_ns);
}

static tn_status wait_never(const tn_device_call *c, void *queue, uint64_t mark,
                            uint64_t timeout_ns) {
  (void)c, (void)queue, (void)mark, (void)timeout_ns;
  while (pause()) continue;
  return TN_OK;
}

static void *shadow; /* the device that was opened last */

static tn_status open_kept(const tn_device_call *c, uint32_t index, void **out) {
  const tn_status status = shadow_driver.open(c, index, out);
  shadow = *out;
  return status;
}

/* Of two submissions the second is done first. */
static void *held, *held_queue;

static tn_status submit_late(const tn_device_call *c, void *queue, void *recording, uint64_t mark) {
  if (!held) {
    held = recording;
    held_queue = queue;
    return TN_OK;
  }
  void *first = held;
  held = NULL;
  const tn_status status = shadow_driver.submit(c, queue, recording, mark - 1);
  return status ? status : shadow_driver.submit(c, queue, first, mark);
}

static tn_status wait_late(const tn_device_call *c, void *queue, uint64_t mark,
                           uint64_t timeout_ns) {
  void *first = held;
  held = NULL;
  const tn_status status = first ? shadow_driver.submit(c, held_queue, first, mark) : TN_OK;
  return status ? status : shadow_driver.wait(c, queue, mark, timeout_ns);
}

/* A recording is good for one time. */
static tn_status submit_once(const tn_device_call *c, void *queue, void *recording, uint64_t mark) {
  static void *last, *nothing;
  if (!nothing) {
    tn_status status = shadow_driver.record_begin(c, shadow, &nothing);
    if (!status) status = shadow_driver.record_end(c, nothing);
    if (status) return status;
  }
  void *now = recording == last ? nothing : recording;
  last = recording;
  return shadow_driver.submit(c, queue, now, mark);
}

/* All has ended at once. */
static tn_status wait_not(const tn_device_call *c, void *queue, uint64_t mark,
                          uint64_t timeout_ns) {
  (void)c, (void)queue, (void)mark, (void)timeout_ns;
  return TN_OK;
}

/* The first run is slow: later ones are given time for it, too. */
static tn_status wait_slow(const tn_device_call *c, void *queue, uint64_t mark,
                           uint64_t timeout_ns) {
  static const struct timespec slow = {0, 600000000};
  enum { COPIES = 6 };
  static unsigned n;
  if (n++ == COPIES) nanosleep(&slow, NULL);
  if (n > COPIES + 2 && timeout_ns < 12000000000) return TN_ERR_STATE;
  return shadow_driver.wait(c, queue, mark, timeout_ns);
}

/* The last of five runs of a model with six constants: copies of these, a run, whether all of
 * that was true, four runs. What it lies about is not submitted again. */
static tn_status wait_last(const tn_device_call *c, void *queue, uint64_t mark,
                           uint64_t timeout_ns) {
  enum { HONEST = 6 + 1 + 1 + 3 };
  static unsigned n;
  return n++ < HONEST ? shadow_driver.wait(c, queue, mark, timeout_ns) : TN_OK;
}

/* A buffer is somewhere else each time that it is asked for. */
static tn_status map_moves(const tn_device_call *c, void *buffer, void **out) {
  enum { BYTES = 4 << 20 };
  static void *known[1 << 13]; /* the address sanitizer gives no address twice */
  const tn_status status = shadow_driver.buffer_map(c, buffer, out);
  for (size_t k = 0; k < sizeof known / sizeof *known && !status; k++) {
    if (known[k] == buffer) return (*out = calloc(1, BYTES)) ? TN_OK : TN_ERR_MEMORY;
    if (known[k]) continue;
    known[k] = buffer;
    break;
  }
  return status;
}

/* Limits become narrower with each question. */
static tn_status describe_narrow(const tn_device_call *c, void *device, tn_device_info *info) {
  static uint64_t n;
  const tn_status status = shadow_driver.describe(c, device, info);
  info->max_buffer_bytes = (UINT64_C(1) << 30) - 4096 * n++;
  return status;
}

static tn_status describe_infinite(const tn_device_call *c, void *device, tn_device_info *info) {
  const tn_status status = shadow_driver.describe(c, device, info);
  info->dispatch_ns = info->submit_ns = info->wait_ns = -INFINITY;
  info->bytes_per_ns = info->flops_per_ns = info->up_bytes_per_ns = INFINITY;
  info->down_bytes_per_ns = info->host_kernel_speed = NAN;
  return status;
}

/* It is in the list, and gone when it is to be opened. */
static tn_status open_gone(const tn_device_call *c, uint32_t index, void **out) {
  (void)index, (void)out;
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "it was unplugged");
}

static tn_status count_many(const tn_device_call *c, uint32_t *out) {
  (void)c;
  *out = UINT32_MAX;
  return TN_OK;
}

/* There is one when it is asked for first, and none later. */
static tn_status count_less(const tn_device_call *c, uint32_t *out) {
  static uint32_t n = 1;
  (void)c;
  *out = n ? n-- : 0;
  return TN_OK;
}

/* Each program builds when it is asked for again. */
static tn_status program_again(const tn_device_call *c, void *device, const tn_program *program,
                               uint32_t form, const int64_t *constants, const void *binary,
                               uint64_t binary_bytes, void **out) {
  static const void *last;
  if (last == program->forms[form]->data)
    return shadow_driver.program_new(c, device, program, form, constants, binary, binary_bytes,
                                     out);
  last = program->forms[form]->data;
  return c->host->fail(c->ctx, TN_ERR_INVALID, "its compiler was not ready");
}

/* What is long arrives in part. */
static tn_status copy_part(const tn_device_call *c, void *recording, const tn_device_range *from,
                           const tn_device_range *to) {
  enum { MOST = 1 << 16 };
  tn_device_range a = *from, b = *to;
  if (a.bytes > MOST) a.bytes = b.bytes = MOST;
  return shadow_driver.record_copy(c, recording, &a, &b);
}

static tn_status fill_part(const tn_device_call *c, void *recording, const tn_device_range *to,
                           uint32_t word) {
  enum { MOST = 1 << 12 };
  tn_device_range a = *to;
  if (a.bytes > MOST) a.bytes = MOST;
  return shadow_driver.record_fill(c, recording, &a, word);
}

/* ---- what any callback can do ---- */

static const char *damaged, *damage; /* the member's name, and what happens to it */

/* Is this call damaged? Then with which answer? */
static bool is_damaged(const char *member, tn_status *out) {
  static unsigned n;
  if (!damaged || strcmp(member, damaged)) return false;
  n++;
  *out = !strcmp(damage, "nothing")  ? TN_OK
         : !strcmp(damage, "fails")  ? TN_ERR_INVALID
         : !strcmp(damage, "lost")   ? TN_ERR_IO
         : !strcmp(damage, "memory") ? TN_ERR_MEMORY
                                     : 7777;
  if (!strcmp(damage, "first")) return *out = TN_ERR_INVALID, n == 1;
  if (!strcmp(damage, "third")) return *out = TN_ERR_INTERNAL, n == 3;
  return true;
}

#define CALL const tn_device_call *c
#define MEMBERS(X)                                                                                \
  X(count, (CALL, uint32_t * n), (c, n))                                                          \
  X(open, (CALL, uint32_t i, void **out), (c, i, out))                                            \
  X(describe, (CALL, void *d, tn_device_info *i), (c, d, i))                                      \
  X(buffer_new, (CALL, void *d, uint64_t n, uint32_t use, void **out), (c, d, n, use, out))       \
  X(buffer_map, (CALL, void *b, void **out), (c, b, out))                                         \
  X(program_new,                                                                                  \
    (CALL, void *d, const tn_program *p, uint32_t f, const int64_t *k, const void *b, uint64_t n, \
     void **out),                                                                                 \
    (c, d, p, f, k, b, n, out))                                                                   \
  X(record_begin, (CALL, void *d, void **out), (c, d, out))                                       \
  X(record_dispatch,                                                                              \
    (CALL, void *r, void *p, const tn_device_range *const *list, uint32_t n,                      \
     const tn_dispatch *d),                                                                       \
    (c, r, p, list, n, d))                                                                        \
  X(record_copy, (CALL, void *r, const tn_device_range *a, const tn_device_range *b),             \
    (c, r, a, b))                                                                                 \
  X(record_fill, (CALL, void *r, const tn_device_range *to, uint32_t word), (c, r, to, word))     \
  X(record_barrier, (CALL, void *r), (c, r))                                                      \
  X(record_end, (CALL, void *r), (c, r))                                                          \
  X(queue_new, (CALL, void *d, void **out), (c, d, out))                                          \
  X(submit, (CALL, void *q, void *r, uint64_t mark), (c, q, r, mark))                             \
  X(wait, (CALL, void *q, uint64_t mark, uint64_t ns), (c, q, mark, ns))
#define WRAP(member, params, args)                                      \
  static tn_status any_##member params {                                \
    tn_status bad;                                                      \
    return is_damaged(#member, &bad) ? bad : shadow_driver.member args; \
  }
MEMBERS(WRAP)
#undef WRAP

static tn_device_driver driver;
static const tn_device_driver *const drivers[] = {&driver};
static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                 .name = "rogue",
                                 .flavour = TN_FLAVOUR,
                                 .flags = TN_PLUGIN_THREADS,
                                 .n_drivers = 1,
                                 .drivers = drivers};

static void damage_any(const char *how) {
  static char text[64];
  char *dot;
  snprintf(text, sizeof text, "%s", how);
  if (!(dot = strchr(text, '.'))) return;
  *dot = 0;
  damaged = text;
  damage = dot + 1;
#define USE(member, params, args) \
  if (!strcmp(text, #member)) driver.member = any_##member;
  MEMBERS(USE)
#undef USE
}

static void misbehave(const char *how) {
  damage_any(how);
  if (!strcmp(how, "submit_late")) driver.submit = submit_late, driver.wait = wait_late;
  if (!strcmp(how, "submit_once")) driver.submit = submit_once, driver.open = open_kept;
  if (!strcmp(how, "wait_not")) driver.wait = wait_not;
  if (!strcmp(how, "wait_slow")) driver.wait = wait_slow;
  if (!strcmp(how, "wait_last")) driver.wait = wait_last;
  if (!strcmp(how, "map_moves")) driver.buffer_map = map_moves;
  if (!strcmp(how, "describe_narrow")) driver.describe = describe_narrow;
  if (!strcmp(how, "describe_infinite")) driver.describe = describe_infinite;
  if (!strcmp(how, "open_gone")) driver.open = open_gone;
  if (!strcmp(how, "count_many")) driver.count = count_many;
  if (!strcmp(how, "count_less")) driver.count = count_less;
  if (!strcmp(how, "program_again")) driver.program_new = program_again;
  if (!strcmp(how, "copy_part")) driver.record_copy = copy_part;
  if (!strcmp(how, "fill_part")) driver.record_fill = fill_part;
  if (!strcmp(how, "open_nothing")) driver.open = open_nothing;
  if (!strcmp(how, "queue_nothing")) driver.queue_new = queue_nothing;
  if (!strcmp(how, "recording_nothing")) driver.record_begin = queue_nothing;
  if (!strcmp(how, "program_nothing")) driver.program_new = program_nothing;
  if (!strcmp(how, "map_nowhere")) driver.buffer_map = map_nowhere;
  if (!strcmp(how, "describe_long")) driver.describe = describe_long;
  if (!strcmp(how, "describe_lines")) driver.describe = describe_lines;
  if (!strcmp(how, "describe_wide")) driver.describe = describe_wide;
  if (!strcmp(how, "describe_crash")) driver.describe = describe_crash;
  if (!strcmp(how, "refuse_long")) driver.refuse = refuse_long;
  if (!strcmp(how, "copy_nothing")) driver.record_copy = copy_nothing;
  if (!strcmp(how, "copy_words")) driver.record_copy = copy_words;
  if (!strcmp(how, "fill_bytes")) driver.record_fill = fill_bytes;
  if (!strcmp(how, "barrier_nothing")) driver.record_barrier = barrier_nothing;
  if (!strcmp(how, "memory_any")) driver.buffer_new = memory_any;
  if (!strcmp(how, "describe_other")) driver.describe = describe_other;
  if (!strcmp(how, "wait_short")) driver.wait = wait_short;
  if (!strcmp(how, "wait_no_status")) driver.wait = wait_no_status;
  if (!strcmp(how, "wait_early")) driver.wait = wait_early;
  if (!strcmp(how, "wait_never")) driver.wait = wait_never;
}

TN_EXPORT const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  const char *how = getenv("TENON_ROGUE");
  (void)host_major, (void)host_minor;
  if (driver.name) return &plugin;
  driver = shadow_driver;
  driver.name = "rogue";
  driver.kinds = "rogue";
  misbehave(how ? how : "");
  return &plugin;
}
