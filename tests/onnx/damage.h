/* Tests that every binary format has: all truncations, all flipped bits, wild numbers everywhere,
 * every failing allocation, messages. What is read goes on to be planned, so that lowerings see
 * it, too. */
#ifndef TN_TESTS_DAMAGE_H
#define TN_TESTS_DAMAGE_H

#include "kit.h"

/* Bytes that are refused with that status, and a message that holds the text. */
typedef struct damage_message {
  const char *data;
  uint64_t size;
  tn_status status;
  const char *text;
} damage_message;
#define DAMAGE_BYTES(literal) literal, sizeof literal - 1

/* Defined by the test: the format, paths of sound files of it, and what is said of others. */
typedef struct damage_of {
  const tn_format *format;
  const char *files[8];       /* NULL behind the last */
  damage_message messages[8]; /* without data behind the last */
  bool wild_numbers;          /* as well */
  void (*more)(void **state); /* a test of cmocka, or NULL */
} damage_of;
extern const damage_of damage_subject;

/* A file's bytes, in the arena. */
uint8_t *damage_load(tn_arena *arena, int file, uint64_t *out_size);
/* These bytes are refused with a message that holds the text. */
bool damage_says(const uint8_t *data, uint64_t size, const char *text);

#endif
