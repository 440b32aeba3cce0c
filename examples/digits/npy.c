/* The format of numpy.lib.format: a magic, a version, the length of a header, the header as the
 * text of a Python dict, then the elements. */
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *parse_header(const char *header, tn_tensor *out) {
  const char *descr = strstr(header, "'descr': '"), *at = strstr(header, "'shape': (");
  int64_t shape[4];
  int32_t rank = 0;
  if (!descr || !at || !strstr(header, "'fortran_order': False"))
    return "has a header of another kind";
  uint32_t dtype = !strncmp(descr + 10, "<f4", 3)   ? TN_F32
                   : !strncmp(descr + 10, "<i8", 3) ? TN_I64
                                                    : TN_NONE;
  if (!dtype) return "has elements other than f32 and i64";
  for (at += 10; *at && *at != ')'; at += strspn(at, ", ")) {
    char *end;
    long long dim = strtoll(at, &end, 10);
    if (end == at || rank == 4 || dim < 0) return "has a shape of another kind";
    shape[rank++] = dim;
    at = end;
  }
  *out = tn_tensor_make(dtype, rank, shape, NULL);
  return NULL;
}

static const char *read_from(FILE *file, tn_tensor *out) {
  unsigned char start[10];
  char header[512] = "";
  if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY\x01", 7))
    return "is no .npy file of version 1";
  size_t length = start[8] | (size_t)start[9] << 8;
  if (length >= sizeof header || fread(header, 1, length, file) != length)
    return "has a header of another kind";
  const char *wrong = parse_header(header, out);
  if (wrong) return wrong;
  int64_t bytes = tn_tensor_bytes(out);
  if (bytes < 0 || bytes > 100000000) return "is larger than 100 MB";
  out->data = malloc((size_t)bytes + 1);
  if (!out->data) return "does not fit in memory";
  if (fread(out->data, 1, (size_t)bytes, file) == (size_t)bytes) return NULL;
  free(out->data);
  out->data = NULL;
  return "ends too early";
}

const char *npy_read(const char *path, tn_tensor *out) {
  FILE *file = fopen(path, "rb");
  if (!file) return "cannot be opened";
  const char *wrong = read_from(file, out);
  fclose(file);
  return wrong;
}
