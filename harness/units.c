/* Units of work: named and counted, and what is found wrong in them.
 *
 * Counts and names live in memory that parent and child share, so that they survive a crash. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/harness.h"

enum { MAX_SAID = 3, MAX_ALIKE = 2, MAX_CRASHES_OF_PART = 3, MAX_SECONDS = 600 };

static check_totals *of_process; /* where check_die leaves its words; NULL before there is any */
static bool quiet;

check_totals *check_totals_new(void) {
  void *memory =
      mmap(NULL, sizeof(check_totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) check_die("mmap fails");
  of_process = memory;
  return memory;
}

static bool is_count(int64_t n) { return n >= 0 && n < UINT32_MAX; }

bool check_totals_mend(check_totals *t) {
  char *const texts[] = {t->part + sizeof t->part, t->text + sizeof t->text,
                         t->doing + sizeof t->doing, t->crash + sizeof t->crash};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) texts[k][-1] = 0;
  const bool sane = is_count(t->passed) && is_count(t->failed) && is_count(t->skipped) &&
                    is_count(t->left_out) && is_count(t->unit) && is_count(t->resume) &&
                    is_count(t->n_told) && t->n_lost >= 0 && t->n_lost <= CHECK_MAX_LOST &&
                    t->n_seen >= 0 && t->n_seen <= CHECK_MAX_SEEN;
  if (!sane) memset(t, 0, sizeof *t);
  return sane;
}

void check_totals_free(check_totals *t) {
  if (t) munmap(t, sizeof *t);
  if (of_process == t) of_process = NULL;
}

void check_die_quietly(void) { quiet = true; }

void check_die(const char *format, ...) {
  va_list args;
  char text[CHECK_TEXT];
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fflush(stdout);
  if (!quiet) fprintf(stderr, "check: %s\n", text);
  if (of_process) {
    snprintf(of_process->crash, sizeof of_process->crash, "%s", text);
    of_process->died = 1;
  }
  exit(2);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static check_seen *seen(check_totals *t, uint64_t key) {
  for (int32_t k = 0; k < t->n_seen; k++)
    if (t->seen[k].key == key) return &t->seen[k];
  if (t->n_seen == CHECK_MAX_SEEN) return &t->seen[CHECK_MAX_SEEN - 1];
  t->seen[t->n_seen] = (check_seen){key, 0};
  return &t->seen[t->n_seen++];
}

static uint64_t key_of(const check_totals *t, const char *what) {
  return tn_hash_bytes(what, strlen(what), tn_hash_bytes(t->part, strlen(t->part), 0));
}

static int32_t *crashes_of_part(check_totals *t) { return &seen(t, key_of(t, "crashes"))->n; }

static bool is_given_up(check_totals *t) { return *crashes_of_part(t) >= MAX_CRASHES_OF_PART; }

void check_part(check_env *env, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(env->totals->part, sizeof env->totals->part, format, args);
  va_end(args);
}

void check_doing(check_env *env, const char *format, ...) {
  va_list args;
  check_no_copy(env);
  va_start(args, format);
  vsnprintf(env->totals->doing, sizeof env->totals->doing, format, args);
  va_end(args);
}

/* ---- units ----------------------------------------------------------------------------------- */

void check_no_copy(check_env *env) {
  if (!env->pid || env->pid == getpid()) return;
  env->totals->forked = 1;
  _exit(0);
}

bool check_unit_begin(check_env *env, const char *format, ...) {
  check_totals *t = env->totals;
  check_no_copy(env);
  if (++t->unit <= t->resume || is_given_up(t)) return false;
  va_list args;
  va_start(args, format);
  vsnprintf(t->text, sizeof t->text, format, args);
  va_end(args);
  t->doing[0] = 0;
  t->inside = 1;
  t->unit_failed = t->said = 0;
  if (!env->limits) alarm(MAX_SECONDS);
  return true;
}

static void end(check_env *env, bool counts) {
  check_totals *t = env->totals;
  check_no_copy(env);
  if (env->around) check_around_end(env);
  t->inside = 0;
  t->resume = t->unit;
  t->failed += t->unit_failed != 0;
  t->passed += counts && t->unit_failed == 0;
}

void check_unit_end(check_env *env) {
  end(env, true);
  if (env->options.verbose && !env->totals->unit_failed)
    printf("ok   %s: %s\n", env->totals->part, env->totals->text);
}

void check_step_end(check_env *env) { end(env, false); }

bool check_unit_ok(const check_env *env) { return !env->totals->unit_failed; }

bool check_unit_lost(check_env *env) {
  check_totals *t = env->totals;
  for (int32_t k = 0; k < t->n_lost; k++)
    if (t->lost[k] == t->unit) return true;
  return is_given_up(t);
}

void check_unit_lose(check_env *env, bool hangs) {
  check_totals *t = env->totals;
  t->failed++;
  t->resume = t->unit;
  t->inside = 0;
  *crashes_of_part(t) += hangs ? MAX_CRASHES_OF_PART : 1; /* hangs cost more time than they tell */
  if (t->n_lost < CHECK_MAX_LOST) t->lost[t->n_lost++] = t->unit;
}

/* ---- findings -------------------------------------------------------------------------------- */

void check_found(check_env *env, const char *kind, const char *rule) {
  const check_totals *t = env->totals;
  const char *fields[] = {kind, t->part, t->text, rule};
  if (env->receive) {
    check_tell(env, fields, 4);
    return;
  }
  printf("FAIL %s: %s\n     %s\n", t->part, t->text, rule);
  fflush(stdout);
}

void check_fail(check_env *env, const char *format, ...) {
  check_totals *t = env->totals;
  char rule[2 * CHECK_TEXT];
  t->unit_failed = 1;
  if (t->said++ >= MAX_SAID) return;
  if (env->limits && ++seen(t, key_of(t, format))->n > MAX_ALIKE) {
    t->left_out++;
    return;
  }
  va_list args;
  va_start(args, format);
  vsnprintf(rule, sizeof rule, format, args);
  va_end(args);
  check_found(env, "breach", rule);
}

void check_skip(check_env *env, const char *format, ...) {
  check_totals *t = env->totals;
  if (++t->unit <= t->resume) return;
  t->resume = t->unit;
  t->skipped++;
  if (!env->options.verbose && !env->receive) return;
  char rule[2 * CHECK_TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(rule, sizeof rule, format, args);
  va_end(args);
  t->text[0] = 0;
  if (env->receive)
    check_found(env, "note", rule);
  else
    printf("skip %s: %s\n", t->part, rule);
}
