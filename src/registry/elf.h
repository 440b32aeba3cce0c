/* What the files that look at shared libraries share: the file, its header and its segments. */
#ifndef TN_REGISTRY_ELF_H
#define TN_REGISTRY_ELF_H

#if defined(__linux__)
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "base/diag.h"

typedef struct elf_file {
  const uint8_t *data;
  uint64_t size;
  const char *path;
  tn_diag *diag;
  bool *has_keys; /* set if the library makes keys of threads */
  ElfW(Ehdr) header;
} elf_file;

static inline bool elf_is_inside(const elf_file *f, uint64_t offset, uint64_t bytes) {
  return offset <= f->size && bytes <= f->size - offset;
}

static inline ElfW(Phdr) elf_segment(const elf_file *f, uint32_t index) {
  ElfW(Phdr) segment;
  memcpy(&segment, f->data + f->header.e_phoff + index * sizeof segment, sizeof segment);
  return segment;
}

/* Place in the file of `bytes` bytes that the library has at an address; UINT64_MAX: not all of
 * them are in one segment, and in the file. */
uint64_t elf_offset(const elf_file *f, uint64_t address, uint64_t bytes);
/* True if they are in one segment with all of these flags (PF_W, PF_X), in the file or not. */
bool elf_is_mapped(const elf_file *f, uint64_t address, uint64_t bytes, uint32_t flags);
tn_status elf_damaged(const elf_file *f, const char *what);

/* elf_dynamic.c: everything that the dynamic linker follows lies where it may be read. */
tn_status elf_check_dynamic(const elf_file *f);

/* ---- what the files that look at a dynamic section share ---- */

typedef struct elf_dynamic {
  const elf_file *f;
  uint64_t offset, n;       /* entries in the file */
  uint64_t strings, n_text; /* the string table: place in the file, and size */
  uint64_t symbols;         /* address of the symbol table */
  uint64_t versions;        /* address of the symbols' versions; ELF_ABSENT: none */
  uint32_t n_versions;      /* these are below it */
} elf_dynamic;

ElfW(Dyn) elf_entry(const elf_dynamic *d, uint64_t index);
/* Value of the last entry of a tag; `missing` if there is none. The linker follows an entry that is
 * there and 0 like any other. */
#define ELF_ABSENT UINT64_MAX
uint64_t elf_value(const elf_dynamic *d, int64_t tag, uint64_t missing);
/* True if a name begins there in the string table, and ends. */
bool elf_is_name(const elf_dynamic *d, uint64_t at);
tn_status elf_check_symbol(const elf_dynamic *d, uint64_t index);
/* elf_versions.c: which versions of which libraries it needs, and offers. Fills in versions. */
tn_status elf_check_versions(elf_dynamic *d);
/* elf_relocations.c: what is written when it is loaded, and the functions that are then called. */
tn_status elf_check_relocations(const elf_dynamic *d);
#endif

#endif
