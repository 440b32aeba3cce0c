/* Items of one stage that walk through turns together, for work in which a turn needs all of the
 * one before, such as the steps of a recurrence. A turn has parts; a member takes its own first and
 * then what others have not begun, so a team works with as many members as have really come: one
 * that runs alone does everything, one that comes late finds it done. Nobody waits but for a part
 * that another thread is at.
 *
 *   for (int64_t turn = 0; turn < turns; turn++)
 *     while ((part = tn_team_claim(&team, turn)) >= 0) {
 *       tn_team_wait(&team, turn);
 *       ... the part of the turn ...
 *       tn_team_finish(&team);
 *     }
 */
#ifndef TN_KIT_TEAM_H
#define TN_KIT_TEAM_H

#include <sched.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

/* Tells the core that this thread waits for another in a loop. */
static inline void tn_cpu_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

typedef struct tn_team_word { /* a cache line of its own */
  alignas(64) int64_t value;  /* by the compilers' atomics, which C and C++ share */
} tn_team_word;

/* words: 1 + parts of them, shared by the members: parts finished in all turns; of each part, the
 * turn in which it comes next. They begin as 0. */
typedef struct tn_team {
  tn_team_word *words;
  int64_t parts, member, members;
} tn_team;

static inline int64_t tn_team_bytes(int64_t parts) {
  return (1 + parts) * (int64_t)sizeof(tn_team_word);
}

static inline void tn_team_begin(tn_team_word *words, int64_t parts) {
  for (int64_t k = 0; k <= parts; k++) words[k].value = 0;
}

/* A part of the turn that is not begun, the member's own first, then those that others would come
 * to last; -1: there is none. Every other turn goes backwards, so that what a member read last in
 * the turn before it reads first. */
static inline int64_t tn_team_claim(const tn_team *t, int64_t turn) {
  const int64_t first = t->member * t->parts / t->members,
                end = (t->member + 1) * t->parts / t->members, own = end - first;
  for (int64_t k = 0; k < t->parts; k++) {
    const int64_t forward = k < own ? first + k : (first - 1 - (k - own) + t->parts) % t->parts,
                  part = turn % 2 ? (first + end - 1 - forward + t->parts) % t->parts : forward;
    int64_t seen = turn, *value = &t->words[1 + part].value;
    if (__atomic_load_n(value, __ATOMIC_RELAXED) == turn &&
        __atomic_compare_exchange_n(value, &seen, turn + 1, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
      return part;
  }
  return -1;
}

/* Until all parts of the turns before are finished. */
static inline void tn_team_wait(const tn_team *t, int64_t turn) {
  enum { PAUSES = 4000 }; /* some 40 us: whoever is at the part may have lost its core */
  for (int64_t k = 1; __atomic_load_n(&t->words[0].value, __ATOMIC_ACQUIRE) < turn * t->parts;
       k++) {
    if (k % PAUSES)
      tn_cpu_pause();
    else
      sched_yield();
  }
}

static inline void tn_team_finish(const tn_team *t) {
  __atomic_fetch_add(&t->words[0].value, 1, __ATOMIC_RELEASE);
}

#endif
