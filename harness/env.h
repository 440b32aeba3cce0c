/* What every test of the harness runs in: options, counted units of work that survive a crash, child
 * processes and what they tell, and the state of the process that no plug-in may change. */
#ifndef TN_HARNESS_ENV_H
#define TN_HARNESS_ENV_H

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "exec/exec.h"
#include "plan/plan.h"
#include "plan/select/match.h"

enum {
  CHECK_TEXT = 512,
  CHECK_MAX_ALIASES = 8,
  CHECK_MAX_IO = 64,
  CHECK_MAX_LEVELS = 16,
  CHECK_MAX_SHOWN = 8
};

#define CHECK_MAX_BYTES (INT64_C(1) << 31) /* of one tensor */

/* Under the thread sanitizer, which is slow, kernels and sessions run on two threads at the highest
 * ISA level, and nothing else is tested. */
enum { CHECK_THREADS_ONLY = TN_FLAVOUR_SANITIZER == TN_FLAVOUR_TSAN };

enum {
  CHECK_DOING = 100,
  CHECK_SAID = 120,
  CHECK_PART = 300,
  CHECK_MAX_SEEN = 1024,
  CHECK_MAX_LOST = 256,
  CHECK_MAX_FIELDS = 16,
  CHECK_SANITIZED = TN_FLAVOUR_SANITIZER != 0
};

/* ---- units.c: units of work, counted --------------------------------------------------------- */

typedef struct check_seen { /* how often something was found in a part */
  uint64_t key;
  int32_t n;
} check_seen;

/* Lives in memory that parent and child share, so that it survives a crash. */
typedef struct check_totals {
  int64_t passed, failed, skipped;
  int64_t left_out; /* failures like others of the same part, which are not told */
  int64_t unit;     /* number of the unit that runs or ran last, from 1 */
  int64_t resume;   /* units up to this one are done */
  int32_t inside;   /* a unit is running */
  int32_t unit_failed, said;
  int32_t done, died;      /* the work came to its end; the harness gave up */
  int32_t forked;          /* a copy of the child went on with its work */
  int64_t n_told;          /* records that the child has sent */
  char part[CHECK_PART];   /* what is tested: "kernel 'x'" */
  char text[CHECK_TEXT];   /* the unit that runs */
  char doing[CHECK_DOING]; /* the callback that runs; "" if none is known to */
  char crash[CHECK_TEXT];  /* last words of a child */
  int64_t lost[CHECK_MAX_LOST];
  check_seen seen[CHECK_MAX_SEEN];
  int32_t n_lost, n_seen;
} check_totals;

enum { CHECK_MAX_BEFORE = 8 };

typedef struct check_options {
  const char *op, *kernel, *isa, *line;
  const char *device; /* the cases run there in sessions, and nothing else is tested */
  const char *only;   /* of a plug-in that is vetted: this operator, kernel, rewrite or format */
  const char *plugin; /* file whose parts alone are tested */
  const char *before[CHECK_MAX_BEFORE]; /* files that are loaded before it: what it is for */
  int n_before;
  char *family; /* text of a family file */
  uint64_t family_bytes;
  bool bench, small, verbose, list, in_process; /* small: without the cases marked `bench` */
  uint64_t large, seed; /* large: about one in so many of the cases marked `bench`; 0: all */
  double bench_ms;
} check_options;

typedef struct check_limits { /* of a child process */
  double unit_seconds;        /* for one unit */
  uint64_t memory_bytes, file_bytes, cpu_seconds;
} check_limits;

struct check_pool;

typedef struct check_allocator { /* counts; fails once, at call number fail_at, from 1; 0: never */
  tn_allocator base;
  atomic_llong n_calls, n_live, fail_at;
} check_allocator;

enum { CHECK_PIN = 320 };

typedef struct check_level {
  char name[64];
  uint64_t isa;
  struct tn_runtime *runtime;      /* of sessions at this level; made when first needed */
  char pin[CHECK_PIN];             /* of the runtime: "Softmax=softmax_gpu"; "": none */
  check_allocator allocator;       /* what that takes its memory from */
  struct tn_device *device;        /* of options.device: kept open, and so its programs */
  double peak_gflops, memory_gbps; /* what one core was seen to do */
} check_level;

typedef struct check_env check_env;
struct check_env {
  check_options options;
  check_totals *totals;
  tn_runtime *runtime;       /* whose parts are tested */
  tn_plugin_query_fn plugin; /* to be added to each runtime; NULL: none */
  check_level levels[CHECK_MAX_LEVELS];
  int32_t n_levels;
  struct check_pool *pool; /* guarded memory */
  tn_pool *threads;        /* two; made when first needed */
  int32_t newest;          /* newest operator-set version of ai.onnx that an operator names */

  /* A plug-in is vetted; all of this is empty otherwise. */
  const check_limits *limits;
  int64_t fail_alloc; /* the host's allocation of this number in a call fails; 0: none */
  struct check_around *around;
  int pipe_out;          /* in a child: where records go; -1: they go to receive */
  int64_t pid;           /* in a child: its own */
  uint64_t n_said;       /* bytes that children have written to standard output and error */
  char said[CHECK_SAID]; /* the first of them */
  bool lost_records;     /* of the last child: not all that it sent has come, or more */
  void (*receive)(check_env *env, const char *const *fields, int n);
  void (*progress)(check_env *env);
  void *job;
};

/* Names the part that the units to come belong to. */
void check_part(check_env *env, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Names what runs from now on. False: it ran already, before a crash, and shall be left out. */
bool check_unit_begin(check_env *env, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void check_unit_end(check_env *env);
/* Ends a unit that tests nothing by itself: it counts only if it failed. */
void check_step_end(check_env *env);
/* The unit that was just left out crashed, or its part is given up: what it makes is not there. */
bool check_unit_lost(check_env *env);
void check_unit_lose(check_env *env, bool hangs);
/* Ends the process if it is a copy of the child that a plug-in has made with fork(). */
void check_no_copy(check_env *env);
/* The callback of the plug-in that runs from now on. */
void check_doing(check_env *env, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says what is wrong with the running unit; the first few messages are told. */
void check_fail(check_env *env, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool check_unit_ok(const check_env *env);
/* Says what is not tested, and why. */
void check_skip(check_env *env, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* kind: "breach", "note" */
void check_found(check_env *env, const char *kind, const char *rule);
check_totals *check_totals_new(void);
/* For a parent whose child has ended, and may have written anything: texts end. False: what is
 * counted cannot be right, all is zero now. */
bool check_totals_mend(check_totals *totals);
void check_totals_free(check_totals *totals);
/* Ends the process with code 2. */
void check_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* In a child of vetting: its parent tells what check_die says. */
void check_die_quietly(void);
static inline void *check_need(void *memory) {
  if (!memory) check_die("out of memory");
  return memory;
}

/* ---- child_process.c ------------------------------------------------------------------------------- */

/* Runs work(arg) in child processes until it has come to its end, past all crashes. */
void check_isolate(check_env *env, void (*work)(check_env *env, const void *arg), const void *arg);
const char *check_signal_name(int number);

/* ---- orphan_processes.c ------------------------------------------------------------------------------- */

/* Before a child is started: orphans of it become children of the caller. */
void check_orphans_adopt(void);
/* From now on, whatever ends this process ends the group of this child first. */
void check_orphans_watch(int64_t pid);
void check_orphans_in_child(void); /* signals do there what they usually do */
/* Ends what the child, which is gone, has started and left. False: there was nothing. */
bool check_orphans_end(void);

/* ---- records.c ---------------------------------------------------------------------------------- */

/* Hands a record to env->receive, in the parent if this is a child. */
void check_tell(check_env *env, const char *const *fields, int n);

typedef struct check_lines { /* what a child has said of its next line */
  char *line;
  size_t n;
  int64_t told; /* bytes */
  int64_t n_lines;
} check_lines;
void check_lines_add(check_env *env, check_lines *lines, const char *data, size_t n);
void check_lines_free(check_lines *lines);

/* ---- process_state.c: what belongs to the process, and no plug-in may change ---- */

struct check_around *check_around_new(void); /* as it is now */
/* Fails the running unit for each change. */
void check_around_end(check_env *env);
void check_around_threads(check_env *env); /* threads alone */
void check_around_keys(check_env *env);    /* of threads; when the plug-in is not there any more */
/* Threads may run from now on, or may not any more. */
void check_around_allow(check_env *env, bool threads);
/* Called before the plug-in opens a library of its vendor, and after: if it stays, what it keeps is
 * no breach. */
void check_around_library(check_env *env);
/* The plug-in that was loaded last says that it makes threads. */
bool check_makes_threads(const tn_runtime *runtime);

#endif
