/* The versions of symbols in a shared library: which ones of which libraries it needs, and which it
 * offers. Both are chains of records, each of which says how far away the next one is. */
#include "registry/elf.h"

#if defined(__linux__)
#include "registry/internal.h"

enum { MAX_RECORDS = 1 << 16 };

typedef struct chains {
  elf_dynamic *d;
  int64_t n_left;   /* records that may follow */
  uint32_t highest; /* number of a version */
} chains;

static tn_status wild(const chains *c) {
  return elf_damaged(c->d->f, "its table of versions is not in the file");
}

/* Copies the record at an address. */
static bool fetch(chains *c, uint64_t address, void *to, size_t size) {
  const uint64_t at = c->n_left-- > 0 ? elf_offset(c->d->f, address, size) : UINT64_MAX;
  if (at == UINT64_MAX) return false;
  memcpy(to, c->d->f->data + at, size);
  return true;
}

static void take(chains *c, uint32_t number) {
  number &= 0x7fff; /* the highest bit says: hidden */
  if (number > c->highest) c->highest = number;
}

/* The linker ends the program if nobody has loaded the library. */
static bool is_needed(const elf_dynamic *d, uint64_t name) {
  const char *names = (const char *)d->f->data + d->strings;
  for (uint64_t k = 0; k < d->n; k++) {
    const ElfW(Dyn) entry = elf_entry(d, k);
    if (entry.d_tag == DT_NEEDED && !strcmp(names + entry.d_un.d_val, names + name)) return true;
  }
  return false;
}

static tn_status check_needed(chains *c, uint64_t at) {
  ElfW(Verneed) library;
  ElfW(Vernaux) version;
  do {
    if (!fetch(c, at, &library, sizeof library) || !elf_is_name(c->d, library.vn_file))
      return wild(c);
    if (!is_needed(c->d, library.vn_file))
      return elf_damaged(c->d->f, "it needs versions of a library that it does not need");
    uint64_t of = at + library.vn_aux;
    do {
      if (!fetch(c, of, &version, sizeof version) || !elf_is_name(c->d, version.vna_name))
        return wild(c);
      take(c, version.vna_other);
      of += version.vna_next;
    } while (version.vna_next);
    at += library.vn_next;
  } while (library.vn_next);
  return TN_OK;
}

static tn_status check_offered(chains *c, uint64_t at) {
  ElfW(Verdef) version;
  ElfW(Verdaux) name;
  do {
    if (!fetch(c, at, &version, sizeof version) ||
        !fetch(c, at + version.vd_aux, &name, sizeof name) || !elf_is_name(c->d, name.vda_name))
      return wild(c);
    take(c, version.vd_ndx);
    at += version.vd_next;
  } while (version.vd_next);
  return TN_OK;
}

tn_status elf_check_versions(elf_dynamic *d) {
  chains c = {.d = d, .n_left = MAX_RECORDS};
  const uint64_t needed = elf_value(d, DT_VERNEED, ELF_ABSENT);
  const uint64_t offered = elf_value(d, DT_VERDEF, ELF_ABSENT);
  const bool any = needed != ELF_ABSENT || offered != ELF_ABSENT;
  d->versions = elf_value(d, DT_VERSYM, ELF_ABSENT);
  tn_status status = needed != ELF_ABSENT ? check_needed(&c, needed) : TN_OK;
  if (!status && offered != ELF_ABSENT) status = check_offered(&c, offered);
  d->n_versions = c.highest + 1;
  if (!status && any && d->versions == ELF_ABSENT)
    return elf_damaged(d->f, "it has versions, and does not say of which symbols");
  if (!status && d->versions != ELF_ABSENT && !any)
    return elf_damaged(d->f, "its symbols are of versions that it does not have");
  return status;
}
#endif
