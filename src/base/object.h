/* The object, library or program, that this code was loaded with. */
#ifndef TN_BASE_OBJECT_H
#define TN_BASE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__linux__)
#include <link.h>

/* Does the object lie at this address? */
static inline bool tn_object_holds(const struct dl_phdr_info *info, uintptr_t address) {
  for (int k = 0; k < info->dlpi_phnum; k++) {
    const ElfW(Phdr) *s = &info->dlpi_phdr[k];
    const uintptr_t begin = (uintptr_t)(info->dlpi_addr + s->p_vaddr);
    if (s->p_type == PT_LOAD && address >= begin && address - begin < s->p_memsz) return true;
  }
  return false;
}
#endif

/* The folder in which the file of the object lies, without symbolic links, into out (size bytes).
 * False: it cannot be told. */
bool tn_object_folder(char *out, uint64_t size);

#endif
