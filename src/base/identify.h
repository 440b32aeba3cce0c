/* Says what kind of file this is, whether anything here reads it or not: from its content; what its
 * name ends with counts for nothing. For messages, and for readers that hand on what is not theirs.
 */
#ifndef TN_BASE_IDENTIFY_H
#define TN_BASE_IDENTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_file_kind {
  const char *name;   /* one word, unique: "tflite". Formats that are read have the same name */
  const char *what;   /* "a TensorFlow Lite model" */
  const char *advice; /* what to do about it where nothing reads it; "" if there is none */
  uint32_t at;        /* where its magic bytes stand, */
  uint32_t n_magic;   /* how many they are; 0: it is told otherwise */
  const char *magic;
} tn_file_kind;

enum { TN_FILE_DETAIL = 160 };

/* The kind of a file of these bytes; NULL: it is of none that is known. detail gets what else the
 * file says of itself, or "": TN_FILE_DETAIL bytes, printable. */
const tn_file_kind *tn_file_identify(const uint8_t *data, uint64_t size, char *detail);
/* Is it of this kind, or of the other one (NULL: of no other)? */
bool tn_file_is(const uint8_t *data, uint64_t size, const char *kind, const char *or_kind);
/* The same of a folder; NULL if it is no folder, too. */
const tn_file_kind *tn_folder_identify(const char *path, char *detail);
/* Both as a text, as tn_identify of tenon.h has it. */
uint64_t tn_file_describe(const void *data, uint64_t size, const char *path, char *text,
                          uint64_t text_size);

/* ---- the parts of it ---- */

/* By its name; never NULL for names that are in the table. */
const tn_file_kind *tn_file_kind_named(const char *name);
/* Which zip archive, which Protobuf message: a name of the table, or NULL: none. */
const char *tn_identify_zip(const uint8_t *data, uint64_t size, char *detail);
const char *tn_identify_protobuf(const uint8_t *data, uint64_t size);

#endif
