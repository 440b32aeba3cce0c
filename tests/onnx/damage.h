/* Tests that every binary format has: all truncations, all flipped bits, wild numbers everywhere,
 * every failing allocation. What is read goes on to be planned, so that lowerings see it, too. */
#ifndef TN_TESTS_DAMAGE_H
#define TN_TESTS_DAMAGE_H

#include "kit.h"

/* Defined by the test: the format, and paths of sound files of it, NULL behind the last. */
typedef struct damage_of {
  const tn_format *format;
  const char *const *files;
} damage_of;
extern const damage_of damage_subject;

/* Tests of cmocka. */
void damage_every_truncation(void **state);
void damage_every_flipped_bit(void **state);
void damage_every_wild_number(void **state);
void damage_every_failing_allocation(void **state);

/* A file's bytes, in the arena. */
uint8_t *damage_load(tn_arena *arena, int file, uint64_t *out_size);
/* These bytes are refused with that status and a message that holds the text. */
void damage_expect(const uint8_t *data, uint64_t size, tn_status status, const char *text);
/* They are refused with a message that holds the text. */
bool damage_says(const uint8_t *data, uint64_t size, const char *text);

#endif
