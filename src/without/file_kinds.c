/* In place of telling apart what files are that nothing here reads: identify.c,
 * identify_protobuf.c and identify_zip.c of base. Messages then say that a file is of no format
 * that is listed. */
#include "base/identify.h"

#include "without/without.h"

const char tn_without_file_kinds = 0;

const tn_file_kind *tn_file_identify(const uint8_t *data, uint64_t size, char *detail) {
  (void)data, (void)size;
  *detail = 0;
  return NULL;
}

uint64_t tn_file_describe(const void *data, uint64_t size, const char *path, char *text,
                          uint64_t text_size) {
  (void)data, (void)size, (void)path;
  if (text && text_size) *text = 0;
  return 0;
}

const char *tn_identify_protobuf(const uint8_t *data, uint64_t size) {
  (void)data, (void)size;
  return NULL;
}
