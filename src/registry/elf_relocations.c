/* The relocations of a shared library: what the dynamic linker writes when it loads one, and the
 * functions that it calls then. */
#include "registry/elf.h"

#if defined(__linux__)
#include "registry/internal.h"

#if __SIZEOF_POINTER__ == 8
#define SYMBOL_OF(info) ELF64_R_SYM(info)
#define TYPE_OF(info) ELF64_R_TYPE(info)
#else
#define SYMBOL_OF(info) ELF32_R_SYM(info)
#define TYPE_OF(info) ELF32_R_TYPE(info)
#endif

/* What to add to a place, what to call for it, and what only a program has. */
#if defined(__x86_64__)
enum { RELATIVE = R_X86_64_RELATIVE, RESOLVED = R_X86_64_IRELATIVE, COPY = R_X86_64_COPY };
#elif defined(__aarch64__)
enum { RELATIVE = R_AARCH64_RELATIVE, RESOLVED = R_AARCH64_IRELATIVE, COPY = R_AARCH64_COPY };
#elif defined(__riscv)
enum { RELATIVE = R_RISCV_RELATIVE, RESOLVED = 58, COPY = R_RISCV_COPY };
#else
enum { RELATIVE = -1, RESOLVED = -2, COPY = -3 }; /* not known here */
#endif
enum { NOTHING = 0 };

/* Relocations with addends or without: the linker ends the program over the wrong kind. */
#if __SIZEOF_POINTER__ == 8 || defined(__riscv)
enum { NATIVE = DT_RELA };
#else
enum { NATIVE = DT_REL };
#endif

#if !defined(DT_RELR) /* of newer headers */
enum { DT_RELRSZ = 35, DT_RELR = 36, DT_RELRENT = 37 };
#endif

typedef struct table {
  int64_t address, size, relative; /* tags; relative: how many of that kind come first */
  uint64_t width;                  /* of an entry */
} table;

static const char *const no_code = "a function that begins or ends it is no code";

/* ---- functions ---- */

typedef struct functions { /* an array of them */
  uint64_t address, bytes;
} functions;

typedef struct places { /* that relocations write to */
  const elf_dynamic *d;
  functions begin, end; /* called when the library is loaded, and unloaded */
  uint64_t n_functions; /* of these that a relocation makes */
  uint64_t symbol;      /* that was checked last: those of no name come in long runs */
  uint32_t flags;       /* of their segments */
} places;

static bool holds(functions array, uint64_t address) {
  return address >= array.address && address - array.address < array.bytes;
}

static bool is_code(const elf_dynamic *d, uint64_t address) {
  return elf_is_mapped(d->f, address, 1, PF_X);
}

static tn_status check_functions(const elf_dynamic *d) {
  static const int64_t tags[] = {DT_INIT, DT_FINI};
  for (size_t k = 0; k < sizeof tags / sizeof *tags; k++) {
    const uint64_t address = elf_value(d, tags[k], ELF_ABSENT);
    if (address != ELF_ABSENT && !is_code(d, address)) return elf_damaged(d->f, no_code);
  }
  return TN_OK;
}

static tn_status check_array(const places *p, functions array) {
  if (!array.bytes || elf_is_mapped(p->d->f, array.address, array.bytes, p->flags)) return TN_OK;
  return elf_damaged(p->d->f, "the functions that begin or end it are not in a segment");
}

/* ---- relocations ---- */

/* Text that is written makes its segments writable for a while. */
static uint32_t flags_of_places(const elf_dynamic *d) {
  const bool text = elf_value(d, DT_TEXTREL, UINT64_MAX) != UINT64_MAX ||
                    (elf_value(d, DT_FLAGS, 0) & DF_TEXTREL) != 0;
  return text ? 0 : PF_W;
}

/* addend: UINT64_MAX: it stands at the place itself. */
static tn_status check_one(places *p, ElfW(Rel) r, uint64_t addend) {
  const elf_dynamic *d = p->d;
  const int64_t type = (int64_t)TYPE_OF(r.r_info);
  const bool is_function = holds(p->begin, r.r_offset) || holds(p->end, r.r_offset);
  if (!elf_is_mapped(d->f, r.r_offset, sizeof(ElfW(Addr)), type == NOTHING ? 0 : p->flags))
    return elf_damaged(d->f, "a relocation writes outside of its segments");
  if (type == COPY) return elf_damaged(d->f, "a relocation is one of programs");
  if (type == RESOLVED && addend != UINT64_MAX && !is_code(d, addend))
    return elf_damaged(d->f, "the function that finds a symbol is no code");
  if (type == RELATIVE && addend != UINT64_MAX && is_function && !is_code(d, addend))
    return elf_damaged(d->f, no_code);
  p->n_functions += is_function && type != NOTHING;
  if (SYMBOL_OF(r.r_info) == p->symbol) return TN_OK;
  p->symbol = SYMBOL_OF(r.r_info);
  return elf_check_symbol(d, p->symbol);
}

static tn_status check_table(places *p, table t) {
  const elf_dynamic *d = p->d;
  const uint64_t bytes = elf_value(d, t.size, 0), address = elf_value(d, t.address, 0);
  const uint64_t at = bytes ? elf_offset(d->f, address, bytes) : 0, n = bytes / t.width;
  const uint64_t n_relative = t.relative ? elf_value(d, t.relative, 0) : 0;
  if (at == UINT64_MAX || bytes % t.width)
    return elf_damaged(d->f, "a table of relocations is not in the file");
  for (uint64_t k = 0; k < n; k++) {
    ElfW(Rela) r = {.r_addend = -1};
    memcpy(&r, d->f->data + at + k * t.width, t.width);
    const ElfW(Rel) head = {.r_offset = r.r_offset, .r_info = r.r_info};
    if (k < n_relative && RELATIVE > 0 && TYPE_OF(r.r_info) != (uint64_t)RELATIVE)
      return elf_damaged(d->f, "fewer relocations are relative than it says");
    const tn_status status = check_one(p, head, (uint64_t)r.r_addend);
    if (status) return status;
  }
  return n_relative <= n ? TN_OK : elf_damaged(d->f, "fewer relocations are relative than it says");
}

/* Packed: an even word is the address of a place, an odd one a bit for each that follows. */
static tn_status check_packed(const places *p) {
  const elf_dynamic *d = p->d;
  const uint64_t bytes = elf_value(d, DT_RELRSZ, 0), address = elf_value(d, DT_RELR, 0);
  const uint64_t at = bytes ? elf_offset(d->f, address, bytes) : 0, width = sizeof(ElfW(Addr));
  uint64_t place = 0;
  if (at == UINT64_MAX || bytes % width)
    return elf_damaged(d->f, "a table of relocations is not in the file");
  for (uint64_t k = 0; k < bytes / width; k++) {
    ElfW(Addr) word;
    memcpy(&word, d->f->data + at + k * width, width);
    const uint64_t first = word & 1 ? place : word, bits = word & 1 ? word >> 1 : 1;
    for (uint64_t bit = 0; bits >> bit; bit++)
      if (bits >> bit & 1 && !elf_is_mapped(d->f, first + bit * width, width, p->flags))
        return elf_damaged(d->f, "a relocation writes outside of its segments");
    place = word & 1 ? place + (8 * width - 1) * width : word + width;
  }
  return TN_OK;
}

tn_status elf_check_relocations(const elf_dynamic *d) {
  const uint64_t plt = elf_value(d, DT_PLTREL, NATIVE);
  const bool addends = plt == DT_RELA;
  const table tables[] = {
      {DT_RELA, DT_RELASZ, DT_RELACOUNT, sizeof(ElfW(Rela))},
      {DT_REL, DT_RELSZ, DT_RELCOUNT, sizeof(ElfW(Rel))},
      {DT_JMPREL, DT_PLTRELSZ, 0, addends ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel))}};
  places p = {.d = d,
              .begin = {elf_value(d, DT_INIT_ARRAY, 0), elf_value(d, DT_INIT_ARRAYSZ, 0)},
              .end = {elf_value(d, DT_FINI_ARRAY, 0), elf_value(d, DT_FINI_ARRAYSZ, 0)},
              .symbol = UINT64_MAX,
              .flags = flags_of_places(d)};
  tn_status s = check_functions(d);
  if (!s) s = check_array(&p, p.begin);
  if (!s) s = check_array(&p, p.end);
  if (!s && plt != NATIVE)
    return elf_damaged(d->f, "its relocations are not of this machine's kind");
  for (size_t k = 0; !s && k < sizeof tables / sizeof *tables; k++) s = check_table(&p, tables[k]);
  if (!s) s = check_packed(&p);
  if (!s && !elf_value(d, DT_RELR, 0) &&
      p.n_functions < (p.begin.bytes + p.end.bytes) / sizeof(ElfW(Addr)))
    return elf_damaged(d->f, no_code);
  if (s) return s;
  if (elf_value(d, DT_RELAENT, sizeof(ElfW(Rela))) != sizeof(ElfW(Rela)) ||
      elf_value(d, DT_RELENT, sizeof(ElfW(Rel))) != sizeof(ElfW(Rel)) ||
      elf_value(d, DT_RELRENT, sizeof(ElfW(Addr))) != sizeof(ElfW(Addr)) ||
      elf_value(d, DT_SYMENT, sizeof(ElfW(Sym))) != sizeof(ElfW(Sym)))
    return elf_damaged(d->f, "the entries of a table have another size than this machine's");
  return TN_OK;
}
#endif
