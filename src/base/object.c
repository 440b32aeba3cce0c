/* Where the object lies that this code was loaded with. */
#include "base/object.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
/* arg: a char[PATH_MAX]. */
static int keep_path(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  if (!tn_object_holds(info, (uintptr_t)&tn_object_folder)) return 0;
  const char *name = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe"; /* the program */
  if (!realpath(name, arg)) *(char *)arg = 0;
  return 1;
}

bool tn_object_folder(char *out, uint64_t size) {
  char path[PATH_MAX] = "";
  dl_iterate_phdr(keep_path, path);
  const char *end = strrchr(path, '/');
  if (!end || (uint64_t)(end - path) >= size) return false;
  memcpy(out, path, (size_t)(end - path));
  out[end - path] = 0;
  return true;
}
#else
bool tn_object_folder(char *out, uint64_t size) {
  (void)out, (void)size;
  return false;
}
#endif
