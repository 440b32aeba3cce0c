/* The dynamic section of a shared library: tables of strings, symbols, relocations and functions.
 * The dynamic linker follows all of it without a look, and dies where it leads nowhere. */
#include "registry/elf.h"

#if defined(__linux__)
#include "registry/internal.h"

#if __SIZEOF_POINTER__ == 8
#define SYMBOL_OF(info) ELF64_R_SYM(info)
#else
#define SYMBOL_OF(info) ELF32_R_SYM(info)
#endif

typedef struct dynamic {
  const elf_file *f;
  uint64_t offset, n;       /* entries in the file */
  uint64_t strings, n_text; /* the string table: place in the file, and size */
  uint64_t symbols;         /* address of the symbol table */
} dynamic;

static ElfW(Dyn) entry_at(const dynamic *d, uint64_t index) {
  ElfW(Dyn) entry;
  memcpy(&entry, d->f->data + d->offset + index * sizeof entry, sizeof entry);
  return entry;
}

/* Value of the last entry of a tag; `missing` if there is none. */
static uint64_t value_of(const dynamic *d, int64_t tag, uint64_t missing) {
  for (uint64_t k = 0; k < d->n; k++) {
    const ElfW(Dyn) entry = entry_at(d, k);
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

static bool is_name(const dynamic *d, uint64_t at) {
  return at < d->n_text && memchr(d->f->data + d->strings + at, 0, d->n_text - at);
}

static tn_status check_names(const dynamic *d) {
  for (uint64_t k = 0; k < d->n; k++) {
    const ElfW(Dyn) entry = entry_at(d, k);
    const bool needed = entry.d_tag == DT_NEEDED;
    if (!needed && entry.d_tag != DT_SONAME && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH)
      continue;
    if (!is_name(d, entry.d_un.d_val)) return elf_damaged(d->f, "names outside of the file");
    const char *name = (const char *)d->f->data + d->strings + entry.d_un.d_val;
    if (needed && foreign_runtime(name))
      return tn_fail(d->f->diag, TN_ERR_VERSION,
                     "%s: was built with a sanitizer (it needs %s), this host was not", d->f->path,
                     name);
  }
  return TN_OK;
}

/* ---- symbols ---- */

static tn_status check_symbol(const dynamic *d, uint64_t index) {
  ElfW(Sym) symbol;
  const uint64_t at = elf_offset(d->f, d->symbols + index * sizeof symbol, sizeof symbol);
  if (at == UINT64_MAX) return elf_damaged(d->f, "a symbol is not in the file");
  memcpy(&symbol, d->f->data + at, sizeof symbol);
  return is_name(d, symbol.st_name) ? TN_OK : elf_damaged(d->f, "a symbol has no name in the file");
}

static uint32_t word_at(const dynamic *d, uint64_t at) {
  uint32_t word;
  memcpy(&word, d->f->data + at, sizeof word);
  return word;
}

/* The chains that begin in the buckets end, and each of their symbols is there. */
static tn_status check_chains(const dynamic *d, uint64_t buckets, uint64_t n_buckets,
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
        at == UINT64_MAX ? elf_damaged(d->f, "its hash table has no end") : check_symbol(d, k);
    if (status) return status;
    if (k >= last && word_at(d, at) & 1) break;
  }
  return TN_OK;
}

static tn_status check_gnu_hash(const dynamic *d, uint64_t address) {
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

static tn_status check_old_hash(const dynamic *d, uint64_t address) {
  const uint64_t at = elf_offset(d->f, address, 8);
  const uint64_t n_buckets = at == UINT64_MAX ? 0 : word_at(d, at);
  const uint64_t n_chain = n_buckets ? word_at(d, at + 4) : 0;
  if (!n_buckets || elf_offset(d->f, address, 8 + (n_buckets + n_chain) * 4) == UINT64_MAX)
    return elf_damaged(d->f, "its hash table is not in the file");
  for (uint64_t k = 0; k < n_buckets + n_chain; k++)
    if (word_at(d, at + 8 + k * 4) >= n_chain)
      return elf_damaged(d->f, "its hash table names symbols it does not have");
  for (uint64_t k = 0; k < n_chain; k++) {
    const tn_status status = check_symbol(d, k);
    if (status) return status;
  }
  return TN_OK;
}

static tn_status check_symbols(const dynamic *d) {
  const uint64_t gnu = value_of(d, DT_GNU_HASH, 0), old = value_of(d, DT_HASH, 0);
  if (!d->symbols || (!gnu && !old)) return elf_damaged(d->f, "it has no table of symbols");
  const tn_status status = gnu ? check_gnu_hash(d, gnu) : TN_OK;
  return status || !old ? status : check_old_hash(d, old);
}

/* ---- relocations ---- */

/* What a relocation writes is in a segment that is mapped; one of a symbol is of one that is
 * there. */
static tn_status check_relocations(const dynamic *d, int64_t table, int64_t size, bool addends) {
  const uint64_t width = addends ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
  const uint64_t bytes = value_of(d, size, 0), address = value_of(d, table, 0);
  const uint64_t at = bytes ? elf_offset(d->f, address, bytes) : 0;
  if (at == UINT64_MAX || bytes % width)
    return elf_damaged(d->f, "a table of relocations is not in the file");
  for (uint64_t k = 0; k < bytes / width; k++) {
    ElfW(Rel) r; /* a Rela begins like it */
    memcpy(&r, d->f->data + at + k * width, sizeof r);
    if (!elf_is_mapped(d->f, r.r_offset, sizeof(ElfW(Addr)), 0))
      return elf_damaged(d->f, "a relocation writes outside of its segments");
    const tn_status status = check_symbol(d, SYMBOL_OF(r.r_info));
    if (status) return status;
  }
  return TN_OK;
}

static tn_status check_all_relocations(const dynamic *d) {
  tn_status s = check_relocations(d, DT_RELA, DT_RELASZ, true);
  if (!s) s = check_relocations(d, DT_REL, DT_RELSZ, false);
  if (!s) s = check_relocations(d, DT_JMPREL, DT_PLTRELSZ, value_of(d, DT_PLTREL, 0) == DT_RELA);
  if (s) return s;
  if (value_of(d, DT_RELAENT, sizeof(ElfW(Rela))) != sizeof(ElfW(Rela)) ||
      value_of(d, DT_RELENT, sizeof(ElfW(Rel))) != sizeof(ElfW(Rel)) ||
      value_of(d, DT_SYMENT, sizeof(ElfW(Sym))) != sizeof(ElfW(Sym)))
    return elf_damaged(d->f, "the entries of a table have another size than this machine's");
  return TN_OK;
}

/* ---- functions ---- */

static tn_status check_array(const dynamic *d, int64_t table, int64_t size) {
  const uint64_t bytes = value_of(d, size, 0), address = value_of(d, table, 0);
  if (!bytes || elf_is_mapped(d->f, address, bytes, 0)) return TN_OK;
  return elf_damaged(d->f, "the functions that begin or end it are not in a segment");
}

static tn_status check_functions(const dynamic *d) {
  static const int64_t tags[] = {DT_INIT, DT_FINI};
  for (size_t k = 0; k < sizeof tags / sizeof *tags; k++) {
    const uint64_t address = value_of(d, tags[k], 0);
    if (address && !elf_is_mapped(d->f, address, 1, PF_X))
      return elf_damaged(d->f, "a function that begins or ends it is no code");
  }
  const tn_status status = check_array(d, DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
  return status ? status : check_array(d, DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
}

/* ---- the section ---- */

static tn_status check_section(const elf_file *f, const ElfW(Phdr) * s) {
  dynamic d = {.f = f, .offset = elf_offset(f, s->p_vaddr, s->p_memsz)};
  if (d.offset == UINT64_MAX || s->p_vaddr % sizeof(ElfW(Addr)))
    return elf_damaged(f, "its dynamic section is not in a segment");
  const uint64_t room = s->p_memsz / sizeof(ElfW(Dyn));
  while (d.n < room && entry_at(&d, d.n).d_tag != DT_NULL) d.n++;
  if (d.n == room) return elf_damaged(f, "its dynamic section has no end");
  d.n_text = value_of(&d, DT_STRSZ, 0);
  d.strings = elf_offset(f, value_of(&d, DT_STRTAB, 0), d.n_text);
  d.symbols = value_of(&d, DT_SYMTAB, 0);
  if (!d.n_text || d.strings == UINT64_MAX) return elf_damaged(f, "names outside of the file");
  tn_status status = check_names(&d);
  if (!status) status = check_symbols(&d);
  if (!status) status = check_all_relocations(&d);
  return status ? status : check_functions(&d);
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
