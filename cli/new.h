/* What `tenon new` writes: the files of cli/templates, embedded by `tenon-gen --embed`, with words
 * such as @NAME@ replaced. */
#ifndef TN_CLI_NEW_H
#define TN_CLI_NEW_H

#include <stdbool.h>

#include "base/alloc.h"
#include "tenon/tenon.h"

typedef struct new_file {
  const char *path;         /* "op/WORD.yaml": the kind of project and the file's name */
  const char *const *lines; /* ends with NULL */
} new_file;
extern const new_file new_files[]; /* ends with an empty one */

/* @KEY@ in a line, and KEY at the beginning of a file's name, become the text. A line that is
 * nothing but a key whose text is empty is left out. */
typedef struct new_word {
  const char *key, *text;
} new_word;

/* Writes the files of a kind into a new folder: all of them or nothing. Answers an exit code, after
 * a message if it is not CLI_OK. `words` ends with an empty one. */
int new_write(const char *kind, const char *folder, const new_word *words);

enum { NEW_MAX_WORDS = 16 };
/* new_kernel.c: the words for a kernel of an operator. Texts live in memory of `arena`. False after
 * a message. */
bool new_kernel_words(tn_arena *arena, const tn_op *op, const char *name, new_word *words);

#endif
