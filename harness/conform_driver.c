/* A driver by itself, with what models ask for seldom: copies of odd bytes at odd offsets, orders
 * that only a barrier keeps, marks of long ago, time that is up, memory that is not there. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "device/device.h"
#include "exec/exec.h"
#include "harness/conform.h"

enum { BYTES = 4096, LONG = (1 << 20) + 64, SENTINEL = 0xEE };
#define NEVER_NS UINT64_C(20000000000)

/* An open device with a queue of its own, and buffers of each use. */
typedef struct rig {
  tn_device *d;
  const tn_device_driver *v;
  tn_device_talk t;
  void *queue, *up, *down, *there, *recording;
  uint8_t *in, *out; /* where the host sees up and down */
  uint64_t mark;
  bool hangs;
  char *why; /* what went wrong; "": nothing */
  size_t size;
} rig;

static __attribute__((format(printf, 2, 3))) bool wrong(rig *r, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (!*r->why) vsnprintf(r->why, r->size, format, args);
  va_end(args);
  return false;
}

/* Did the callback answer TN_OK? */
static bool good(rig *r, tn_status answer, const char *callback) {
  if (!answer) return true;
  (void)tn_device_answer(&r->t, answer);
  return wrong(r, "%s() fails: %.200s", callback, r->t.text);
}

/* ---- the device ---- */

/* Did the callback make something? Else *handle is NULL. */
static bool made(rig *r, tn_status answer, const char *callback, void **handle) {
  const tn_status status = tn_device_made(&r->t, answer, callback, handle);
  return !status || wrong(r, "%s() fails: %.200s", callback, r->t.text);
}

static bool map_buffer(rig *r, void *buffer, uint8_t **out_map) {
  void *map = NULL;
  if (!made(r, r->v->buffer_map(&r->t.call, buffer, &map), "buffer_map", &map)) return false;
  *out_map = map;
  return true;
}

static bool new_buffer(rig *r, uint64_t bytes, uint32_t use, void **out, uint8_t **out_map) {
  if (!made(r, r->v->buffer_new(&r->t.call, r->d->handle, bytes, use, out), "buffer_new", out))
    return false;
  return !out_map || map_buffer(r, *out, out_map);
}

static bool open_rig(rig *r) {
  tn_device_talk_open(&r->t, r->d);
  return made(r, r->v->queue_new(&r->t.call, r->d->handle, &r->queue), "queue_new", &r->queue) &&
         new_buffer(r, BYTES, TN_BUFFER_UPLOAD, &r->up, &r->in) &&
         new_buffer(r, BYTES, TN_BUFFER_DOWNLOAD, &r->down, &r->out) &&
         new_buffer(r, 4 * BYTES, TN_BUFFER_DEVICE, &r->there, NULL);
}

static void free_buffer(rig *r, void *buffer) {
  if (buffer) r->v->buffer_free(&r->t.call, buffer);
}

/* What is running has ended before it is freed, the queue first, since it waits for what wait() may
 * not have waited for; what hangs is left alone. */
static void close_rig(rig *r) {
  if (r->hangs) {
    atomic_store(&r->d->lost, 1);
    atomic_store(&r->d->hangs, 1);
    tn_device_talk_close(&r->t);
    return;
  }
  if (r->queue) r->v->queue_free(&r->t.call, r->queue);
  if (r->recording) r->v->record_free(&r->t.call, r->recording);
  free_buffer(r, r->up);
  free_buffer(r, r->down);
  free_buffer(r, r->there);
  tn_device_talk_close(&r->t);
}

/* ---- commands ---- */

static tn_device_range range(void *buffer, uint64_t offset, uint64_t bytes) {
  return (tn_device_range){TN_HEAD(tn_device_range), buffer, offset, bytes};
}

static bool begin(rig *r) {
  if (r->recording) r->v->record_free(&r->t.call, r->recording);
  r->recording = NULL;
  return made(r, r->v->record_begin(&r->t.call, r->d->handle, &r->recording), "record_begin",
              &r->recording);
}

static bool copy(rig *r, void *from, uint64_t at, void *to, uint64_t to_at, uint64_t bytes) {
  const tn_device_range a = range(from, at, bytes), b = range(to, to_at, bytes);
  return good(r, r->v->record_copy(&r->t.call, r->recording, &a, &b), "record_copy");
}

static bool fill(rig *r, void *buffer, uint64_t at, uint64_t bytes, uint32_t word) {
  const tn_device_range to = range(buffer, at, bytes);
  return good(r, r->v->record_fill(&r->t.call, r->recording, &to, word), "record_fill");
}

static bool barrier(rig *r) {
  return good(r, r->v->record_barrier(&r->t.call, r->recording), "record_barrier");
}

static bool end(rig *r) {
  return good(r, r->v->record_end(&r->t.call, r->recording), "record_end");
}

static bool sync(rig *r, void *buffer, uint64_t bytes, uint32_t to_device) {
  return !r->v->buffer_sync ||
         good(r, r->v->buffer_sync(&r->t.call, buffer, 0, bytes, to_device), "buffer_sync");
}

static bool submit(rig *r, void *queue, uint64_t mark) {
  return good(r, r->v->submit(&r->t.call, queue, r->recording, mark), "submit");
}

static bool wait(rig *r, void *queue, uint64_t mark) {
  const tn_status answer = r->v->wait(&r->t.call, queue, mark, NEVER_NS);
  r->hangs = r->hangs || answer == TN_ERR_STATE;
  if (answer == TN_ERR_STATE) return wrong(r, "wait(): it has not ended after 20 s");
  return good(r, answer, "wait");
}

/* After a failure: what it was given may be freed then, if it does not hang. */
static bool let_end(rig *r) {
  if (r->mark && !r->hangs) (void)wait(r, r->queue, r->mark);
  return false;
}

/* New bytes go up, and what comes down is known. */
static bool put(rig *r, uint32_t seed) {
  for (uint32_t k = 0; k < BYTES; k++) r->in[k] = (uint8_t)(k * 7 + k / 256 + seed);
  memset(r->out, SENTINEL, BYTES);
  return sync(r, r->up, BYTES, 1) && sync(r, r->down, BYTES, 1);
}

static bool run(rig *r) {
  return submit(r, r->queue, ++r->mark) && wait(r, r->queue, r->mark) && sync(r, r->down, BYTES, 0);
}

/* Bytes that came down, against those that went up or, if want is NULL, the sentinel. */
static bool is_down(rig *r, uint64_t at, const uint8_t *want, uint64_t bytes, const char *what) {
  for (uint64_t k = 0; k < bytes; k++)
    if (r->out[at + k] != (want ? want[k] : SENTINEL))
      return wrong(r, "%s: byte %llu is %d, not %d", what, (unsigned long long)k, r->out[at + k],
                   want ? want[k] : SENTINEL);
  return true;
}

/* ---- the tests ---- */

static bool test_copies(rig *r) {
  static const uint32_t sizes[] = {1, 2, 3, 5, 8, 13, 64, 255, 1000};
  for (uint32_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const uint32_t n = sizes[k], from = 2 * k + 1, mid = 3 * k + 2, to = 5 * k + 3;
    char what[60];
    snprintf(what, sizeof what, "%u bytes from %u over %u to %u", n, from, mid, to);
    if (!begin(r) || !copy(r, r->up, from, r->there, mid, n) || !barrier(r) ||
        !copy(r, r->there, mid, r->there, BYTES + to, n) || !barrier(r) ||
        !copy(r, r->there, BYTES + to, r->down, to, n) || !end(r) || !put(r, k) || !run(r))
      return false;
    if (!is_down(r, 0, NULL, to, "before a copy") || !is_down(r, to, r->in + from, n, what) ||
        !is_down(r, to + n, NULL, BYTES - to - n, "behind a copy"))
      return false;
  }
  return true;
}

static bool test_fills(rig *r) {
  static const uint8_t bytes[] = {1, 2, 3, 4};
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  if (!begin(r) || !copy(r, r->up, 0, r->there, 0, BYTES) || !barrier(r) ||
      !fill(r, r->there, 260, 20, word) || !barrier(r) ||
      !copy(r, r->there, 0, r->down, 0, BYTES) || !end(r) || !put(r, 9) || !run(r))
    return false;
  for (uint32_t k = 260; k < 280; k += 4)
    if (!is_down(r, k, bytes, 4, "a word that was filled")) return false;
  return is_down(r, 0, r->in, 260, "before a fill") &&
         is_down(r, 280, r->in + 280, BYTES - 280, "behind a fill");
}

/* Up, over two places and down again; the last word but one is filled in between. */
static bool test_long_copies(rig *r, void *buffers[3], uint8_t *in, uint8_t *out) {
  enum { ODD = 3 };
  void *const up = buffers[0], *const down = buffers[1], *const there = buffers[2];
  const uint64_t n = LONG - ODD, to = LONG + 4, filled = LONG / 2 / 4 * 4;
  if (!begin(r) || !copy(r, up, 0, there, ODD, n) || !barrier(r) ||
      !copy(r, there, ODD, there, to, n) || !barrier(r) ||
      !fill(r, there, to + filled, n / 4 * 4 - filled, 0) || !barrier(r) ||
      !copy(r, there, to, down, ODD, n) || !end(r))
    return false;
  for (uint64_t k = 0; k < LONG; k++) in[k] = (uint8_t)(k * 7 + k / 251 + 1);
  memset(out, SENTINEL, LONG);
  if (!sync(r, up, LONG, 1) || !sync(r, down, LONG, 1) || !submit(r, r->queue, ++r->mark) ||
      !wait(r, r->queue, r->mark) || !sync(r, down, LONG, 0))
    return false;
  memset(in + filled, 0, n / 4 * 4 - filled);
  for (uint64_t k = 0; k < LONG; k++) {
    const uint8_t want = k < ODD ? SENTINEL : in[k - ODD];
    if (out[k] != want)
      return wrong(r, "%d bytes, the second half filled: byte %llu is %d, not %d", (int)n,
                   (unsigned long long)k, out[k], want);
  }
  return true;
}

static bool test_long(rig *r) {
  void *buffers[3] = {NULL};
  uint8_t *in, *out;
  const bool is_good = new_buffer(r, LONG, TN_BUFFER_UPLOAD, &buffers[0], &in) &&
                       new_buffer(r, LONG, TN_BUFFER_DOWNLOAD, &buffers[1], &out) &&
                       new_buffer(r, 2 * LONG + 4, TN_BUFFER_DEVICE, &buffers[2], NULL) &&
                       (test_long_copies(r, buffers, in, out) || let_end(r));
  for (int k = 0; k < 3 && !r->hangs; k++) free_buffer(r, buffers[k]);
  return is_good;
}

/* Each copy reads what the one before it has written. */
static bool test_barriers(rig *r) {
  enum { N = 60, STEP = 64 };
  if (!begin(r) || !copy(r, r->up, 0, r->there, 0, STEP)) return false;
  for (uint32_t k = 0; k < N; k++)
    if (!barrier(r) || !copy(r, r->there, k * STEP, r->there, (k + 1) * STEP, STEP)) return false;
  if (!barrier(r) || !copy(r, r->there, N * STEP, r->down, 0, STEP) || !end(r)) return false;
  for (uint32_t k = 0; k < 4; k++)
    if (!put(r, k) || !run(r) || !is_down(r, 0, r->in, STEP, "60 copies with a barrier each"))
      return false;
  return true;
}

static bool test_again(rig *r) {
  if (!begin(r) || !copy(r, r->up, 0, r->there, 0, BYTES) || !barrier(r) ||
      !copy(r, r->there, 0, r->down, 0, BYTES) || !end(r))
    return false;
  for (uint32_t k = 0; k < 8; k++)
    if (!put(r, k) || !run(r) || !is_down(r, 0, r->in, BYTES, "what was submitted again"))
      return false;
  return true;
}

enum { N_MARKS = 16, MOVED = 256 };

/* Each moves the bytes to the next place, and the last copies them down. */
static bool record_move(rig *r, uint32_t k) {
  return begin(r) && copy(r, r->there, k * MOVED, r->there, (k + 1) * MOVED, MOVED) && barrier(r) &&
         copy(r, r->there, (k + 1) * MOVED, r->down, 0, MOVED) && end(r);
}

static bool submit_moves(rig *r, void **recordings) {
  const uint64_t first = r->mark + 1;
  for (uint32_t k = 0; k < N_MARKS; k++) {
    if (!record_move(r, k) || !submit(r, r->queue, ++r->mark)) return false;
    recordings[k] = r->recording;
    r->recording = NULL;
  }
  return wait(r, r->queue, r->mark) && wait(r, r->queue, first) && wait(r, r->queue, r->mark) &&
         sync(r, r->down, BYTES, 0);
}

static bool test_marks(rig *r) {
  void *recordings[N_MARKS] = {NULL};
  if (!begin(r) || !copy(r, r->up, 0, r->there, 0, MOVED) || !end(r) || !put(r, 3) || !run(r))
    return false;
  const bool is_good = submit_moves(r, recordings) || let_end(r);
  for (uint32_t k = 0; k < N_MARKS && !r->hangs; k++)
    if (recordings[k]) r->v->record_free(&r->t.call, recordings[k]);
  return is_good && is_down(r, 0, r->in, MOVED, "16 submissions that nobody waited for");
}

/* However little time there is, what wait() calls ended has ended. */
static bool test_time(rig *r, void *large, uint64_t bytes) {
  enum { N = 8 };
  tn_status answer = TN_ERR_STATE;
  if (!begin(r) || !copy(r, r->up, 0, large, 0, BYTES)) return false;
  for (uint32_t k = 0; k < N; k++)
    if (!barrier(r) || !copy(r, large, 0, large, bytes / 2, bytes / 2) || !barrier(r) ||
        !copy(r, large, bytes / 2, large, 0, bytes / 2))
      return false;
  if (!barrier(r) || !copy(r, large, 0, r->down, 0, BYTES) || !end(r) || !put(r, 5)) return false;
  if (!submit(r, r->queue, ++r->mark)) return false;
  const uint64_t begun = tn_now_ns();
  while (answer == TN_ERR_STATE && tn_now_ns() - begun < NEVER_NS)
    answer = r->v->wait(&r->t.call, r->queue, r->mark, 1000);
  if (answer == TN_ERR_STATE) return wait(r, r->queue, r->mark);
  return good(r, answer, "wait") && sync(r, r->down, BYTES, 0) &&
         is_down(r, 0, r->in, BYTES, "wait() for 1 us answers TN_OK");
}

static bool test_time_with_buffer(rig *r) {
  uint64_t bytes = UINT64_C(16) << 20;
  void *large = NULL;
  if (r->d->info.max_buffer_bytes && bytes > r->d->info.max_buffer_bytes)
    bytes = r->d->info.max_buffer_bytes / 512 * 512;
  const bool is_good = new_buffer(r, bytes, TN_BUFFER_DEVICE, &large, NULL) &&
                       (test_time(r, large, bytes) || let_end(r));
  if (!r->hangs) free_buffer(r, large);
  return is_good;
}

static bool test_two_queues(rig *r) {
  void *other = NULL;
  if (!begin(r) || !copy(r, r->up, 0, r->there, 0, BYTES) || !barrier(r) ||
      !copy(r, r->there, 0, r->down, 0, BYTES) || !end(r) || !put(r, 8))
    return false;
  if (!made(r, r->v->queue_new(&r->t.call, r->d->handle, &other), "queue_new", &other))
    return false;
  const bool is_good = submit(r, other, 1) && wait(r, other, 1) && sync(r, r->down, BYTES, 0) &&
                       is_down(r, 0, r->in, BYTES, "the second queue") && put(r, 10) && run(r) &&
                       is_down(r, 0, r->in, BYTES, "the first queue");
  r->v->queue_free(&r->t.call, other);
  return is_good;
}

static bool test_no_memory(rig *r) {
  static const uint32_t uses[] = {TN_BUFFER_DEVICE, TN_BUFFER_UPLOAD, TN_BUFFER_DOWNLOAD};
  for (uint32_t k = 0; k < sizeof uses / sizeof *uses; k++) {
    void *none = NULL;
    *r->t.text = 0;
    const tn_status answer =
        r->v->buffer_new(&r->t.call, r->d->handle, UINT64_C(1) << 60, uses[k], &none);
    if (!answer) r->v->buffer_free(&r->t.call, none);
    if (answer != TN_ERR_MEMORY)
      return wrong(r, "buffer_new() of 2^60 bytes answers %d (%s), not TN_ERR_MEMORY", (int)answer,
                   tn_is_status(answer) ? tn_status_text(answer) : "no status");
  }
  return test_again(r); /* nothing was lost */
}

static bool test_nonsense(rig *r) {
  static const uint32_t text[] = {0x6e6f6e73, 0x656e7365, 0, 0, 0, 0};
  static const char host[] = "host-";
  char language[64];
  snprintf(language, sizeof language, "%.*s", (int)strcspn(r->v->languages, ","), r->v->languages);
  if (!strncmp(language, host, sizeof host - 1)) return true; /* its data are addresses */
  const tn_program_form form = {TN_HEAD(tn_program_form), language, text, 8};
  const tn_program_form *const forms[] = {&form};
  const tn_program program = {
      .head = TN_HEAD(tn_program), .name = "nonsense", .forms = forms, .n_forms = 1};
  void *built = NULL;
  *r->t.text = 0;
  const tn_status answer =
      r->v->program_new(&r->t.call, r->d->handle, &program, 0, NULL, NULL, 0, &built);
  if (!answer) r->v->program_free(&r->t.call, built);
  if (!answer) return wrong(r, "program_new() takes nonsense in '%s' for a program", language);
  return *r->t.text || wrong(r, "program_new() refuses a program without a word");
}

/* Plans are made for them once. */
static bool has_same_limits(const tn_device_info *a, const tn_device_info *b) {
  return a->flags == b->flags && a->max_buffer_bytes == b->max_buffer_bytes &&
         a->max_binding_bytes == b->max_binding_bytes &&
         a->offset_alignment == (b->offset_alignment ? b->offset_alignment : 1) &&
         a->local_bytes == b->local_bytes && a->max_bindings == b->max_bindings &&
         a->max_params_bytes == b->max_params_bytes && a->max_group_items == b->max_group_items &&
         !memcmp(a->max_group, b->max_group, sizeof a->max_group) &&
         !memcmp(a->max_groups, b->max_groups, sizeof a->max_groups);
}

static bool test_describes(rig *r) {
  tn_device_info again = {.head = TN_HEAD(tn_device_info)};
  if (!*r->d->info.name) return wrong(r, "describe() gives no name");
  if (!*r->d->info.stamp) return wrong(r, "describe() gives no stamp");
  if (!good(r, r->v->describe(&r->t.call, r->d->handle, &again), "describe")) return false;
  if (!again.stamp || strcmp(again.stamp, r->d->info.stamp))
    return wrong(r, "describe() gives another stamp the second time");
  return has_same_limits(&r->d->info, &again) ||
         wrong(r, "describe() gives other limits or flags the second time");
}

static bool test_stays(rig *r) {
  uint8_t *in, *out;
  if (!map_buffer(r, r->up, &in) || !map_buffer(r, r->down, &out)) return false;
  if (in != r->in || out != r->out)
    return wrong(r, "buffer_map() of a buffer that is mapped gives another address");
  return test_again(r);
}

static const struct {
  const char *name;
  bool (*run)(rig *r);
} tests[] = {
    {"driver: name and stamp", test_describes},
    {"driver: copies of odd bytes at odd offsets", test_copies},
    {"driver: fills", test_fills},
    {"driver: long copies and fills", test_long},
    {"driver: buffers stay where they are", test_stays},
    {"driver: barriers keep order", test_barriers},
    {"driver: recordings are submitted again", test_again},
    {"driver: many submissions before a wait", test_marks},
    {"driver: time that is up", test_time_with_buffer},
    {"driver: two queues", test_two_queues},
    {"driver: memory that is not there", test_no_memory},
    {"driver: a program that is none", test_nonsense},
};
_Static_assert(sizeof tests / sizeof *tests == CHECK_CONFORM_DRIVER, "as many as conform.h says");

const char *check_conform_driver_name(int index) { return tests[index].name; }

void check_conform_driver(tn_runtime *rt, const char *target, int index, check_conformed *out) {
  tn_diag *diag = tn_diag_create();
  rig r = {.why = out->why, .size = sizeof out->why};
  *out = (check_conformed){.taken = true, .of_driver = true};
  snprintf(out->name, sizeof out->name, "%s", tests[index].name);
  if (tn_device_open(rt->devices, target, diag, &r.d)) {
    wrong(&r, "%.300s", tn_diag_count(diag) ? tn_diag_message(diag, 0, NULL) : "no memory");
  } else {
    r.v = &r.d->def->driver;
    if (open_rig(&r) && !tests[index].run(&r)) let_end(&r);
    close_rig(&r);
    tn_device_close(r.d);
  }
  tn_diag_destroy(diag);
}
