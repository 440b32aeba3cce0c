/* Plan files, as the command writes them (cli/plan_write.c) and read.c reads them.
 *
 * Words of 64 bits, in the order of the machine. A text is a word with its length, its bytes, and
 * zeros up to the next word. `place` is a number of tn_place_kind.
 *
 *   magic, total bytes, 8 words of SHA-256 in hexadecimal digits of all that follows
 *   version, bytes of a pointer (0: any, see below), build (text), instruction sets needed, those
 *   planned for, bytes of the arena, where the data begin (a multiple of 64)
 *   slots:   n, then each: place, offset, index, dtype, layout, rank, dims
 *   inputs:  n, then each: slot, name         outputs: the same
 *   steps:   n, then each:
 *     kernel (text), version, elements per item, stages: n, then each: items, chunk
 *     scratch: bytes, offset    worker scratch: bytes, offset
 *     state: bytes, tn_state_kind, offset in data
 *     attributes: bytes (0: none), offset in data, n pointers, then each: at, to (in them)
 *     inputs: n, entries, then n slots (-1: none)        outputs: the same
 *     epilogue: n, then each: kind, input, a, b (bits of doubles)
 *     regions: n, fill, then each: input, rank, src offset, dst offset, rank * (size, src, dst)
 *     followers: n; that many of the next steps belong to this one
 *   data: constants, states, images of attribute structs, each at a multiple of 64
 *
 * Structs are those of a machine that puts numbers of 64 bits at multiples of 8. Lists and texts, a
 * pointer and such a number, then have the same places whatever a pointer is long; only attributes
 * that are tensors, or lists of these, tie a file to one length. States that stand in the data have
 * no pointers. */
#ifndef TN_PLANFILE_FORMAT_H
#define TN_PLANFILE_FORMAT_H

#include <stdint.h>

/* Bytes of "TNPLAN" and the order of bytes: one of the other order is none. */
#define TN_PLANFILE_MAGIC UINT64_C(0x544e504c414e0102)
enum {
  TN_PLANFILE_VERSION = 1,
  TN_PLANFILE_ALIGN = 64,
  TN_PLANFILE_HASHED_FROM = 80 /* bytes: what the hash is of begins here */
};

/* What plan() asked for to keep prepared constants in. */
typedef enum tn_state_kind {
  TN_STATE_NONE,
  TN_STATE_IN_DATA, /* packed weights, as prepare() has left them */
  TN_STATE_MADE     /* it has pointers, or a finish(): prepare() makes it when the file is opened */
} tn_state_kind;

typedef enum tn_place_kind {
  TN_IN_NONE,
  TN_IN_ARENA, /* at offset */
  TN_IN_DATA,  /* at offset of the data */
  TN_IN_INPUT  /* at offset of input `index` */
} tn_place_kind;

#endif
