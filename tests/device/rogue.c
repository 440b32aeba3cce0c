/* A driver that misbehaves as TENON_ROGUE says: the shadow device, with one function of its table
 * replaced. */
#include <stdlib.h>
#include <string.h>
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

static tn_device_driver driver;
static const tn_device_driver *const drivers[] = {&driver};
static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                 .name = "rogue",
                                 .flavour = TN_FLAVOUR,
                                 .flags = TN_PLUGIN_THREADS,
                                 .n_drivers = 1,
                                 .drivers = drivers};

static void misbehave(const char *how) {
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
