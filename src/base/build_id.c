/* Finds the note NT_GNU_BUILD_ID among the segments of the object in which this function lies. */
#include "base/build_id.h"

#include <string.h>

#include "base/object.h"

#if defined(__linux__)
typedef struct search {
  uintptr_t code; /* an address in the object */
  uint8_t *out;
  uint32_t n;
} search;

/* Name and contents of a note follow its head, each filled up to 4 bytes. */
static void read_notes(search *s, const uint8_t *at, uint64_t left) {
  ElfW(Nhdr) head;
  while (left >= sizeof head) {
    memcpy(&head, at, sizeof head);
    const uint64_t name = ((uint64_t)head.n_namesz + 3) / 4 * 4,
                   bytes = ((uint64_t)head.n_descsz + 3) / 4 * 4;
    at += sizeof head, left -= sizeof head;
    if (name > left || bytes > left - name) return;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && !memcmp(at, "GNU", 4)) {
      s->n = head.n_descsz < TN_BUILD_ID_BYTES ? head.n_descsz : TN_BUILD_ID_BYTES;
      memcpy(s->out, at + name, s->n);
      return;
    }
    at += name + bytes, left -= name + bytes;
  }
}

static int look(struct dl_phdr_info *info, size_t size, void *arg) {
  search *s = arg;
  (void)size;
  if (!tn_object_holds(info, s->code)) return 0;
  for (int k = 0; k < info->dlpi_phnum && !s->n; k++)
    if (info->dlpi_phdr[k].p_type == PT_NOTE)
      read_notes(s, (const uint8_t *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[k].p_vaddr),
                 info->dlpi_phdr[k].p_memsz);
  return 1;
}

uint32_t tn_build_id(uint8_t out[TN_BUILD_ID_BYTES]) {
  search s = {(uintptr_t)&tn_build_id, out, 0};
  memset(out, 0, TN_BUILD_ID_BYTES);
  dl_iterate_phdr(look, &s);
  return s.n;
}
#else
uint32_t tn_build_id(uint8_t out[TN_BUILD_ID_BYTES]) {
  memset(out, 0, TN_BUILD_ID_BYTES);
  return 0;
}
#endif
