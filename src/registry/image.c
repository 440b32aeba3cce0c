/* Which memory the dynamic linker has mapped: pointers of a loaded plug-in are looked up here
 * before they are followed, so that a wild one is a message and not a crash. */
#include "registry/internal.h"

#if defined(__linux__)
#include <link.h>

static int add_object(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  tn_image *image = arg;
  for (int k = 0; k < info->dlpi_phnum; k++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[k];
    if (segment->p_type != PT_LOAD) continue;
    const uintptr_t begin = (uintptr_t)(info->dlpi_addr + segment->p_vaddr);
    const tn_range range = {begin, begin + (uintptr_t)segment->p_memsz,
                            (segment->p_flags & PF_R) != 0, (segment->p_flags & PF_X) != 0};
    if (tn_vec_push(image->a, &image->ranges, range)) image->failed = true;
  }
  return image->failed;
}

static void read_objects(tn_image *image) { dl_iterate_phdr(add_object, image); }
#else
static void read_objects(tn_image *image) {
  const tn_range everything = {1, UINTPTR_MAX, true, true};
  image->failed = tn_vec_push(image->a, &image->ranges, everything) != TN_OK;
}
#endif

tn_status tn_image_read(const tn_allocator *a, tn_image *out) {
  *out = (tn_image){.a = a};
  read_objects(out);
  if (!out->failed) return TN_OK;
  tn_image_free(out);
  return TN_ERR_MEMORY;
}

void tn_image_free(tn_image *image) { tn_vec_free(image->a, &image->ranges); }

static const tn_range *range_of(const tn_image *image, uintptr_t p) {
  for (int64_t k = 0; k < image->ranges.n; k++) {
    const tn_range *range = &image->ranges.data[k];
    if (p >= range->begin && p < range->end) return range;
  }
  return NULL;
}

uint64_t tn_image_readable(const tn_image *image, const void *p) {
  if (!image) return UINT64_MAX;
  const tn_range *range = range_of(image, (uintptr_t)p);
  return range && range->read ? range->end - (uintptr_t)p : 0;
}

bool tn_image_executable(const tn_image *image, uintptr_t p) {
  if (!image) return true;
  const tn_range *range = range_of(image, p);
  return range && range->execute;
}
