/* The plug-in ort_custom_ops: operators of libraries that were built for ONNX Runtime.
 *
 * Which operators there are, only these libraries know, and tn_plugin_query has to answer read-only
 * tables: whenever it is asked, libraries that TENON_ORT_CUSTOM_OPS names and that are new are
 * opened, and stay for the process. What somebody was answered stays as it is; more operators are
 * another answer, over the same rows. What went wrong is told by init, which can. */
#include <pthread.h>
#include <stdio.h>

#include "ort.h"
#include "tenon/kit/offers.h"

/* A callback is not told which operator it is for, so each has its own. Numbers are octal. */
#define THUNK(n)                                                                                  \
  static tn_status infer_##n(const tn_call *call) { return ort_op_infer(call, &ort_entries[n]); } \
  static tn_status prepare_##n(const tn_call *call) {                                             \
    return ort_op_prepare(call, &ort_entries[n]);                                                 \
  }                                                                                               \
  static tn_status run_##n(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,       \
                           uint32_t worker) {                                                     \
    (void)stage, (void)begin, (void)end, (void)worker;                                            \
    return ort_op_run(call, &ort_entries[n]);                                                     \
  }
/* clang-format off */
#define EIGHT(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7)
#define SIXTY_FOUR(M, n)                                                        \
  EIGHT(M, n##0) EIGHT(M, n##1) EIGHT(M, n##2) EIGHT(M, n##3) EIGHT(M, n##4)    \
  EIGHT(M, n##5) EIGHT(M, n##6) EIGHT(M, n##7)
#define ALL(M)                                                                  \
  SIXTY_FOUR(M, 00) SIXTY_FOUR(M, 01) SIXTY_FOUR(M, 02) SIXTY_FOUR(M, 03)       \
  SIXTY_FOUR(M, 04) SIXTY_FOUR(M, 05) SIXTY_FOUR(M, 06) SIXTY_FOUR(M, 07)
/* clang-format on */
ALL(THUNK)

static const struct {
  tn_status (*infer)(const tn_call *);
  tn_status (*prepare)(const tn_call *);
  tn_status (*run)(const tn_call *, uint32_t, int64_t, int64_t, uint32_t);
} thunks[] = {
#define ROW(n) {infer_##n, prepare_##n, run_##n},
    ALL(ROW)};
_Static_assert(sizeof thunks / sizeof *thunks == ORT_MOST_ENTRIES, "one for each entry");

/* Answers; all but the first have operators of one more library at least. Under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tn_plugin answers[ORT_MOST_LIBRARIES + 1];
static uint32_t n_answers, n_made;

/* Operators that nobody has room for are as if they were not there. */
static void make_tables(void) {
  static bool is_full;
  while (!is_full && n_made < ort_n_entries) {
    const uint32_t k = n_made;
    is_full = !ort_tables_make(k, thunks[k].infer, thunks[k].prepare, thunks[k].run);
    if (!is_full) n_made++;
  }
}

static tn_status tell(const tn_host *host, void *ctx) {
  for (uint32_t k = 0; ort_note(k); k++) host->log(ctx, TN_LOG_WARNING, "%s", ort_note(k));
  if (n_made < ort_n_entries)
    host->log(ctx, TN_LOG_WARNING, "there is room for %u of %u operators", n_made, ort_n_entries);
  return *ort_failure ? host->fail(ctx, TN_ERR_IO, "%s", ort_failure) : TN_OK;
}

static tn_status start(const tn_host *host, void *ctx, const tn_option *const *options,
                       uint32_t n_options, void **out_self) {
  *out_self = NULL;
  if (n_options)
    return host->fail(ctx, TN_ERR_INVALID,
                      "option '%s' is unknown: TENON_ORT_CUSTOM_OPS names the libraries",
                      options[0]->key);
  pthread_mutex_lock(&lock);
  const tn_status status = tell(host, ctx);
  pthread_mutex_unlock(&lock);
  return status;
}

static const tn_plugin *answer(void) {
  ort_libraries_open();
  make_tables();
  tn_plugin *last = n_answers ? &answers[n_answers - 1] : NULL;
  if (last && (last->n_ops == n_made || n_answers > ORT_MOST_LIBRARIES)) return last;
  const uint32_t n = n_made;
  answers[n_answers] = (tn_plugin){.head = TN_HEAD(tn_plugin),
                                   .name = "ort_custom_ops",
                                   .version = "1.0",
                                   .license = "Apache-2.0",
                                   .flavour = TN_FLAVOUR,
                                   .flags = TN_PLUGIN_THREADS,
                                   .n_ops = n,
                                   .n_kernels = n,
                                   .ops = ort_ops,
                                   .kernels = ort_kernels,
                                   .init = start};
  return &answers[n_answers++];
}

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor;
  pthread_mutex_lock(&lock);
  const tn_plugin *plugin = answer();
  pthread_mutex_unlock(&lock);
  return plugin;
}

TN_OFFERS("$TENON_ORT_CUSTOM_OPS");
