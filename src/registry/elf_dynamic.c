/* The dynamic section of a shared library: tables of strings and symbols, and the sizes of all.
 * The dynamic linker follows all of it without a look, and dies where it leads nowhere. */
#include "registry/elf.h"

#if defined(__linux__)
#include "registry/internal.h"

#if !defined(DT_RELR) /* of newer headers */
enum { DT_RELRSZ = 35, DT_RELR = 36, DT_RELRENT = 37 };
#endif

ElfW(Dyn) elf_entry(const elf_dynamic *d, uint64_t index) {
  ElfW(Dyn) entry;
  memcpy(&entry, d->f->data + d->offset + index * sizeof entry, sizeof entry);
  return entry;
}

uint64_t elf_value(const elf_dynamic *d, int64_t tag, uint64_t missing) {
  for (uint64_t k = 0; k < d->n; k++) {
    const ElfW(Dyn) entry = elf_entry(d, k);
    if (entry.d_tag == tag) missing = entry.d_un.d_val;
  }
  return missing;
}

/* ---- names ---- */

/* The sanitizer runtime that a needed library is, if this host was built without it; or NULL. */
static const char *foreign_runtime(const char *needed) {
  static const struct {
    const char *library;
    uint64_t flavour;
  } runtimes[] = {{"libasan", TN_FLAVOUR_ASAN},
                  {"libclang_rt.asan", TN_FLAVOUR_ASAN},
                  {"libtsan", TN_FLAVOUR_TSAN},
                  {"libclang_rt.tsan", TN_FLAVOUR_TSAN}};
  for (size_t k = 0; k < sizeof runtimes / sizeof *runtimes; k++)
    if (!(TN_FLAVOUR & runtimes[k].flavour) &&
        !strncmp(needed, runtimes[k].library, strlen(runtimes[k].library)))
      return runtimes[k].library;
  return NULL;
}

bool elf_is_name(const elf_dynamic *d, uint64_t at) {
  return at < d->n_text && memchr(d->f->data + d->strings + at, 0, d->n_text - at);
}

static bool is_name_tag(int64_t tag) {
  return tag == DT_SONAME || tag == DT_RPATH || tag == DT_RUNPATH || tag == DT_AUXILIARY ||
         tag == DT_FILTER || tag == DT_AUDIT || tag == DT_DEPAUDIT;
}

/* The linker takes the program itself for a library without a name. */
static tn_status check_names(const elf_dynamic *d) {
  for (uint64_t k = 0; k < d->n; k++) {
    const ElfW(Dyn) entry = elf_entry(d, k);
    const bool needed = entry.d_tag == DT_NEEDED;
    if (!needed && !is_name_tag(entry.d_tag)) continue;
    if (!elf_is_name(d, entry.d_un.d_val)) return elf_damaged(d->f, "names outside of the file");
    const char *name = (const char *)d->f->data + d->strings + entry.d_un.d_val;
    if (!*name && (needed || entry.d_tag == DT_FILTER || entry.d_tag == DT_AUXILIARY))
      return elf_damaged(d->f, "the name of a library is empty");
    if (needed && foreign_runtime(name))
      return tn_fail(d->f->diag, TN_ERR_VERSION,
                     "%s: was built with a sanitizer (it needs %s), this host was not", d->f->path,
                     name);
  }
  return TN_OK;
}

/* ---- symbols ---- */

enum { RESOLVED = STT_GNU_IFUNC, ANY_TYPE = 15 };

static tn_status check_version(const elf_dynamic *d, uint64_t index) {
  uint16_t version;
  if (d->versions == ELF_ABSENT) return TN_OK;
  const uint64_t at = elf_offset(d->f, d->versions + index * sizeof version, sizeof version);
  if (at == UINT64_MAX) return elf_damaged(d->f, "a symbol has no version in the file");
  memcpy(&version, d->f->data + at, sizeof version);
  return (version & 0x7fff) < d->n_versions
             ? TN_OK
             : elf_damaged(d->f, "a symbol is of a version that it does not have");
}

static bool is_key_maker(const char *name) {
  return !strcmp(name, "pthread_key_create") || !strcmp(name, "__pthread_key_create") ||
         !strcmp(name, "tss_create");
}

tn_status elf_check_symbol(const elf_dynamic *d, uint64_t index) {
  ElfW(Sym) symbol;
  const uint64_t at = elf_offset(d->f, d->symbols + index * sizeof symbol, sizeof symbol);
  if (at == UINT64_MAX) return elf_damaged(d->f, "a symbol is not in the file");
  memcpy(&symbol, d->f->data + at, sizeof symbol);
  if (!elf_is_name(d, symbol.st_name)) return elf_damaged(d->f, "a symbol has no name in the file");
  if (is_key_maker((const char *)d->f->data + d->strings + symbol.st_name)) *d->f->has_keys = true;
  if ((symbol.st_info & ANY_TYPE) == RESOLVED && symbol.st_shndx != SHN_UNDEF &&
      !elf_is_mapped(d->f, symbol.st_value, 1, PF_X))
    return elf_damaged(d->f, "the function that finds a symbol is no code");
  return check_version(d, index);
}

static uint32_t word_at(const elf_dynamic *d, uint64_t at) {
  uint32_t word;
  memcpy(&word, d->f->data + at, sizeof word);
  return word;
}

/* The chains that begin in the buckets end, and each of their symbols is there. */
static tn_status check_chains(const elf_dynamic *d, uint64_t buckets, uint64_t n_buckets,
                              uint64_t chains, uint64_t first) {
  uint64_t last = 0;
  for (uint64_t k = 0; k < n_buckets; k++) {
    const uint32_t at = word_at(d, elf_offset(d->f, buckets, n_buckets * 4) + k * 4);
    if (at && at < first) return elf_damaged(d->f, "its hash table names symbols it does not have");
    if (at > last) last = at;
  }
  for (uint64_t k = first; last && k <= UINT32_MAX; k++) {
    const uint64_t at = elf_offset(d->f, chains + (k - first) * 4, 4);
    const tn_status status =
        at == UINT64_MAX ? elf_damaged(d->f, "its hash table has no end") : elf_check_symbol(d, k);
    if (status) return status;
    if (k >= last && word_at(d, at) & 1) break;
  }
  return TN_OK;
}

static tn_status check_gnu_hash(const elf_dynamic *d, uint64_t address) {
  const uint64_t at = elf_offset(d->f, address, 16);
  if (at == UINT64_MAX) return elf_damaged(d->f, "its hash table is not in the file");
  const uint64_t n_buckets = word_at(d, at), first = word_at(d, at + 4),
                 n_bloom = word_at(d, at + 8);
  const uint64_t bloom = address + 16, buckets = bloom + n_bloom * sizeof(ElfW(Addr));
  if (!n_buckets || !n_bloom || n_bloom & (n_bloom - 1) ||
      elf_offset(d->f, bloom, n_bloom * sizeof(ElfW(Addr))) == UINT64_MAX ||
      elf_offset(d->f, buckets, n_buckets * 4) == UINT64_MAX)
    return elf_damaged(d->f, "its hash table is not in the file");
  return check_chains(d, buckets, n_buckets, buckets + n_buckets * 4, first);
}

static tn_status check_old_hash(const elf_dynamic *d, uint64_t address) {
  const uint64_t at = elf_offset(d->f, address, 8);
  const uint64_t n_buckets = at == UINT64_MAX ? 0 : word_at(d, at);
  const uint64_t n_chain = n_buckets ? word_at(d, at + 4) : 0;
  if (!n_buckets || elf_offset(d->f, address, 8 + (n_buckets + n_chain) * 4) == UINT64_MAX)
    return elf_damaged(d->f, "its hash table is not in the file");
  for (uint64_t k = 0; k < n_buckets + n_chain; k++)
    if (word_at(d, at + 8 + k * 4) >= n_chain)
      return elf_damaged(d->f, "its hash table names symbols it does not have");
  for (uint64_t k = 0; k < n_chain; k++) {
    const tn_status status = elf_check_symbol(d, k);
    if (status) return status;
  }
  return TN_OK;
}

static tn_status check_symbols(const elf_dynamic *d) {
  const uint64_t gnu = elf_value(d, DT_GNU_HASH, ELF_ABSENT);
  const uint64_t old = elf_value(d, DT_HASH, ELF_ABSENT);
  if (!d->symbols || (gnu == ELF_ABSENT && old == ELF_ABSENT))
    return elf_damaged(d->f, "it has no table of symbols");
  const tn_status status = gnu != ELF_ABSENT ? check_gnu_hash(d, gnu) : TN_OK;
  return status || old == ELF_ABSENT ? status : check_old_hash(d, old);
}

/* ---- the section ---- */

/* The linker takes for granted that a table has a size. */
static tn_status check_sizes(const elf_dynamic *d) {
  static const int64_t pairs[][2] = {{DT_RELA, DT_RELASZ},
                                     {DT_RELA, DT_RELAENT},
                                     {DT_REL, DT_RELSZ},
                                     {DT_REL, DT_RELENT},
                                     {DT_RELR, DT_RELRSZ},
                                     {DT_RELR, DT_RELRENT},
                                     {DT_JMPREL, DT_PLTRELSZ},
                                     {DT_JMPREL, DT_PLTREL},
                                     {DT_PLTREL, DT_JMPREL},
                                     {DT_PLTREL, DT_PLTRELSZ},
                                     {DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
                                     {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
    if (elf_value(d, pairs[k][0], ELF_ABSENT) != ELF_ABSENT &&
        elf_value(d, pairs[k][1], ELF_ABSENT) == ELF_ABSENT)
      return elf_damaged(d->f, "it does not say what size a table has");
  if (elf_value(d, DT_PLTRELSZ, ELF_ABSENT) == 0) /* what it calls would never be filled in */
    return elf_damaged(d->f, "it does not say what size a table has");
  return TN_OK;
}

static tn_status check_section(const elf_file *f, const ElfW(Phdr) * s) {
  elf_dynamic d = {.f = f, .offset = elf_offset(f, s->p_vaddr, s->p_memsz)};
  if (d.offset == UINT64_MAX || s->p_vaddr % sizeof(ElfW(Addr)))
    return elf_damaged(f, "its dynamic section is not in a segment");
  if (s->p_flags & PF_W && !elf_is_mapped(f, s->p_vaddr, s->p_memsz, PF_W))
    return elf_damaged(f, "its dynamic section is to be written, and its segment is not");
  const uint64_t room = s->p_memsz / sizeof(ElfW(Dyn));
  for (ElfW(Dyn) entry; d.n < room && (entry = elf_entry(&d, d.n)).d_tag != DT_NULL; d.n++)
    if (entry.d_un.d_val == ELF_ABSENT)
      return elf_damaged(f, "a value in its dynamic section cannot be right");
  if (d.n == room) return elf_damaged(f, "its dynamic section has no end");
  d.n_text = elf_value(&d, DT_STRSZ, 0);
  d.strings = elf_offset(f, elf_value(&d, DT_STRTAB, UINT64_MAX), d.n_text);
  d.symbols = elf_value(&d, DT_SYMTAB, 0);
  if (!d.n_text || d.strings == UINT64_MAX) return elf_damaged(f, "names outside of the file");
  if (elf_value(&d, DT_FLAGS_1, 0) & DF_1_PIE)
    return tn_fail(f->diag, TN_ERR_INVALID, "%s: is not a shared library, but a program", f->path);
  tn_status status = check_names(&d);
  if (!status) status = check_sizes(&d);
  if (!status) status = elf_check_versions(&d);
  if (!status) status = check_symbols(&d);
  return status ? status : elf_check_relocations(&d);
}

tn_status elf_check_dynamic(const elf_file *f) {
  for (uint32_t k = 0; k < f->header.e_phnum; k++) {
    const ElfW(Phdr) s = elf_segment(f, k);
    const tn_status status = s.p_type == PT_DYNAMIC ? check_section(f, &s) : TN_OK;
    if (status) return status;
  }
  return TN_OK;
}
#endif
