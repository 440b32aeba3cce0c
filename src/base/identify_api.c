/* tn_identify of tenon.h. */
#include "base/identify.h"
#include "tenon/tenon.h"

uint64_t tn_identify(const void *data, uint64_t size, const char *path, char *text,
                     uint64_t text_size) {
  return tn_file_describe(data, size, path, text, text_size);
}
