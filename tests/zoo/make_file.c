/* Makes the files that files.h describes, out of the sound plug-in. */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zoo.h"

typedef struct zoo_file {
  const char *path;
  uint8_t *bytes;
  uint64_t size;
} zoo_file;

static void read_file(zoo_file *f, const char *path) {
  FILE *in = fopen(path, "rb");
  if (!in) abort();
  free(f->bytes);
  fseek(in, 0, SEEK_END);
  f->size = (uint64_t)ftell(in);
  rewind(in);
  f->bytes = malloc(f->size + 1);
  if (!f->bytes || fread(f->bytes, 1, f->size, in) != f->size) abort();
  fclose(in);
}

static void write_file(const zoo_file *f) {
  FILE *out = fopen(f->path, "wb");
  if (!out || fwrite(f->bytes, 1, f->size, out) != f->size || fclose(out)) abort();
  chmod(f->path, 0644);
}

/* ---- places in a sound file ---- */

static Elf64_Ehdr *header(zoo_file *f) { return (Elf64_Ehdr *)(void *)f->bytes; }

static Elf64_Phdr *segments(zoo_file *f) {
  return (Elf64_Phdr *)(void *)(f->bytes + header(f)->e_phoff);
}

static Elf64_Phdr *segment(zoo_file *f, uint32_t type) { /* the first; NULL: none */
  for (int k = 0; k < header(f)->e_phnum; k++)
    if (segments(f)[k].p_type == type) return &segments(f)[k];
  return NULL;
}

static Elf64_Phdr *last_load(zoo_file *f) { /* the one that is written */
  Elf64_Phdr *last = NULL;
  for (int k = 0; k < header(f)->e_phnum; k++)
    if (segments(f)[k].p_type == PT_LOAD) last = &segments(f)[k];
  if (!last) abort();
  return last;
}

static uint64_t end_of_segments(zoo_file *f) {
  return last_load(f)->p_offset + last_load(f)->p_filesz;
}

static void *at_address(zoo_file *f, uint64_t address) {
  for (int k = 0; k < header(f)->e_phnum; k++) {
    const Elf64_Phdr *s = &segments(f)[k];
    if (s->p_type == PT_LOAD && address >= s->p_vaddr && address < s->p_vaddr + s->p_filesz)
      return f->bytes + s->p_offset + (address - s->p_vaddr);
  }
  abort();
}

static Elf64_Dyn *entry(zoo_file *f, int64_t tag) {
  Elf64_Dyn *e = (Elf64_Dyn *)(void *)(f->bytes + segment(f, PT_DYNAMIC)->p_offset);
  while (e->d_tag != tag && e->d_tag != DT_NULL) e++;
  if (e->d_tag != tag) abort();
  return e;
}

static uint32_t *hash(zoo_file *f) { return at_address(f, entry(f, DT_GNU_HASH)->d_un.d_ptr); }

static Elf64_Rela *relocation(zoo_file *f) { return at_address(f, entry(f, DT_RELA)->d_un.d_ptr); }

/* The one that writes to an address. */
static Elf64_Rela *relocation_of(zoo_file *f, uint64_t address) {
  Elf64_Rela *r = relocation(f);
  for (uint64_t k = 0; k < entry(f, DT_RELASZ)->d_un.d_val / sizeof *r; k++)
    if (r[k].r_offset == address) return &r[k];
  abort();
}

static Elf64_Verneed *versions(zoo_file *f) {
  return at_address(f, entry(f, DT_VERNEED)->d_un.d_ptr);
}

static Elf64_Sym *query_symbol(zoo_file *f) {
  const char *names = at_address(f, entry(f, DT_STRTAB)->d_un.d_ptr);
  Elf64_Sym *symbol = at_address(f, entry(f, DT_SYMTAB)->d_un.d_ptr);
  while (strcmp(names + symbol->st_name, "tn_plugin_query")) symbol++;
  return symbol;
}

/* In the table of strings. */
static void replace(zoo_file *f, const char *old, const char *now) {
  char *names = at_address(f, entry(f, DT_STRTAB)->d_un.d_ptr);
  const uint64_t n = entry(f, DT_STRSZ)->d_un.d_val;
  for (uint64_t k = 1; k + strlen(old) < n; k++)
    if (!names[k - 1] && !strcmp(names + k, old)) {
      strcpy(names + k, now);
      return;
    }
  abort();
}

/* ---- the files ---- */

#if defined(__aarch64__)
enum { COPY = R_AARCH64_COPY };
#else
enum { COPY = R_X86_64_COPY };
#endif

#define ANIMAL(kind, name, where, wrong, says, ...) \
  static void name(zoo_file *f) {                   \
    __VA_ARGS__;                                    \
    write_file(f);                                  \
  }
#include "files.h"
#undef ANIMAL

void zoo_make_file(const char *name, const char *path) {
  zoo_file f = {.path = path};
  read_file(&f, ZOO_PLUGIN);
#define ANIMAL(kind, animal, where, wrong, says, ...) \
  if (!strcmp(name, #animal)) animal(&f);
#include "files.h"
#undef ANIMAL
  free(f.bytes);
}
