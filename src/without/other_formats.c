/* In place of parts in another format than the file's: read_as.c of loading. */
#include "exec/loader.h"
#include "without/without.h"

const char tn_without_other_formats = 0;

const void *tn_reader_extension(void *ctx, const char *name) {
  (void)ctx, (void)name;
  return NULL;
}
