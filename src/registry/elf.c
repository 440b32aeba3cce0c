/* A look at a shared library before dlopen sees it. The dynamic linker trusts its input: it dies of
 * SIGBUS on a file that is shorter than its segments, and a sanitizer's runtime that arrives late
 * ends the process. */
#include "registry/internal.h"

#if defined(__linux__)
#include "registry/elf.h"
#include "tenon/kit/checked.h"

#if __SIZEOF_POINTER__ == 8
#define NATIVE_CLASS ELFCLASS64
#else
#define NATIVE_CLASS ELFCLASS32
#endif
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NATIVE_DATA ELFDATA2MSB
#else
#define NATIVE_DATA ELFDATA2LSB
#endif

#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define NATIVE_MACHINE EM_AARCH64
#elif defined(__riscv)
#define NATIVE_MACHINE EM_RISCV
#elif defined(__i386__)
#define NATIVE_MACHINE EM_386
#elif defined(__arm__)
#define NATIVE_MACHINE EM_ARM
#else
#define NATIVE_MACHINE f->header.e_machine /* not known here: the linker tells */
#endif

uint64_t elf_offset(const elf_file *f, uint64_t address, uint64_t bytes) {
  for (uint32_t k = 0; k < f->header.e_phnum; k++) {
    const ElfW(Phdr) s = elf_segment(f, k);
    if (s.p_type != PT_LOAD || address < s.p_vaddr || address - s.p_vaddr >= s.p_filesz) continue;
    const uint64_t at = address - s.p_vaddr;
    const bool reads = s.p_flags & PF_R && bytes <= s.p_filesz - at;
    return reads ? s.p_offset + at : UINT64_MAX;
  }
  return UINT64_MAX;
}

bool elf_is_mapped(const elf_file *f, uint64_t address, uint64_t bytes, uint32_t flags) {
  for (uint32_t k = 0; k < f->header.e_phnum; k++) {
    const ElfW(Phdr) s = elf_segment(f, k);
    if (s.p_type != PT_LOAD || address < s.p_vaddr || address - s.p_vaddr >= s.p_memsz) continue;
    return bytes <= s.p_memsz - (address - s.p_vaddr) && (s.p_flags & flags) == flags;
  }
  return false;
}

tn_status elf_damaged(const elf_file *f, const char *what) {
  return tn_fail(f->diag, TN_ERR_INVALID, "%s: is damaged: %s", f->path, what);
}

static tn_status check_header(elf_file *f) {
  if (f->size < sizeof f->header || memcmp(f->data, ELFMAG, SELFMAG))
    return tn_fail(f->diag, TN_ERR_INVALID, "%s: is not a shared library", f->path);
  memcpy(&f->header, f->data, sizeof f->header);
  if (f->header.e_ident[EI_CLASS] != NATIVE_CLASS || f->header.e_ident[EI_DATA] != NATIVE_DATA)
    return tn_fail(f->diag, TN_ERR_UNSUPPORTED,
                   "%s: was made for a machine of another word size or byte order", f->path);
  if (f->header.e_machine != NATIVE_MACHINE)
    return tn_fail(f->diag, TN_ERR_UNSUPPORTED, "%s: was made for another processor (machine %u)",
                   f->path, f->header.e_machine);
  if (f->header.e_type != ET_DYN)
    return tn_fail(f->diag, TN_ERR_INVALID, "%s: is not a shared library, but %s", f->path,
                   f->header.e_type == ET_EXEC   ? "a program"
                   : f->header.e_type == ET_REL  ? "an object file"
                   : f->header.e_type == ET_CORE ? "a core dump"
                                                 : "something else");
  if (f->header.e_phentsize != sizeof(ElfW(Phdr)) ||
      !elf_is_inside(f, f->header.e_phoff, (uint64_t)f->header.e_phnum * sizeof(ElfW(Phdr))))
    return tn_fail(f->diag, TN_ERR_INVALID, "%s: is damaged: its segment table is not in the file",
                   f->path);
  return TN_OK;
}

enum { MAX_SEGMENTS = 256, MAX_TLS = 1 << 30, MAX_TLS_ALIGN = 1 << 20 };

/* True if another segment that is mapped has some of the same bytes of the file. */
static bool shares_bytes(const elf_file *f, const ElfW(Phdr) * s) {
  for (uint32_t k = 0; k < f->header.e_phnum; k++) {
    const ElfW(Phdr) t = elf_segment(f, k);
    if (t.p_type == PT_LOAD && t.p_vaddr != s->p_vaddr &&
        elf_is_inside(f, t.p_offset, t.p_filesz) && t.p_offset < s->p_offset + s->p_filesz &&
        s->p_offset < t.p_offset + t.p_filesz)
      return true;
  }
  return false;
}

/* Rules for one segment that is mapped; end: where the one before it ends. */
static tn_status check_load(const elf_file *f, const ElfW(Phdr) * s, uint64_t *end) {
  const uint64_t align = s->p_align, limit = UINT64_C(1) << 46;
  if (!elf_is_inside(f, s->p_offset, s->p_filesz))
    return TN_OK; /* told as a file that is cut off */
  if (align & (align - 1) || (align && (s->p_vaddr - s->p_offset) % align))
    return elf_damaged(f, "a segment is not aligned as it says");
  if (s->p_filesz > s->p_memsz || s->p_vaddr > limit || s->p_memsz > limit)
    return elf_damaged(f, "the size or address of a segment cannot be right");
  if (s->p_flags & PF_X && !(s->p_flags & PF_W) && s->p_filesz < s->p_memsz)
    return elf_damaged(f, "some of its code is not in the file");
  if (s->p_vaddr < *end || shares_bytes(f, s)) return elf_damaged(f, "two segments overlap");
  *end = s->p_vaddr + s->p_memsz;
  return TN_OK;
}

static tn_status check_segments(const elf_file *f) {
  bool dynamic = false, load = false;
  uint64_t end = 0;
  if (f->header.e_phnum > MAX_SEGMENTS) return elf_damaged(f, "it has too many segments");
  for (uint32_t k = 0; k < f->header.e_phnum; k++) {
    const ElfW(Phdr) s = elf_segment(f, k);
    dynamic = dynamic || s.p_type == PT_DYNAMIC;
    load = load || s.p_type == PT_LOAD;
    const tn_status status = s.p_type == PT_LOAD ? check_load(f, &s, &end) : TN_OK;
    if (status) return status;
    if ((s.p_type == PT_LOAD || s.p_type == PT_DYNAMIC) &&
        !elf_is_inside(f, s.p_offset, s.p_filesz))
      return tn_fail(f->diag, TN_ERR_INVALID,
                     "%s: is cut off: it has %llu bytes, segment %u ends after them", f->path,
                     (unsigned long long)f->size, k);
  }
  if (dynamic && load) return TN_OK;
  return tn_fail(f->diag, TN_ERR_INVALID, "%s: is not a shared library", f->path);
}

/* Records that the linker walks through, on the look for what the processor has to have. */
static bool are_notes(const elf_file *f, const ElfW(Phdr) * s) {
  const uint64_t align = s->p_align > 4 ? 8 : 4, begin = elf_offset(f, s->p_vaddr, s->p_memsz);
  ElfW(Nhdr) note;
  if (!s->p_memsz) return true;
  if (begin == UINT64_MAX) return false;
  for (uint64_t at = 0; s->p_memsz - at >= sizeof note;) {
    memcpy(&note, f->data + begin + at, sizeof note);
    const uint64_t name = tn_round_up(sizeof note + note.n_namesz, align);
    if (name > s->p_memsz - at || note.n_descsz > s->p_memsz - at - name) return false;
    const uint64_t all = tn_round_up(name + note.n_descsz, align);
    at += all < s->p_memsz - at ? all : s->p_memsz - at;
  }
  return true;
}

/* The rest of what is mapped with the library: the linker changes its protection, or copies it. */
static tn_status check_others(const elf_file *f) {
  for (uint32_t k = 0; k < f->header.e_phnum; k++) {
    const ElfW(Phdr) s = elf_segment(f, k);
    if (s.p_type == PT_GNU_RELRO && !elf_is_mapped(f, s.p_vaddr, s.p_memsz, 0))
      return elf_damaged(f, "what is to be read-only is not in a segment");
    if ((s.p_type == PT_NOTE || s.p_type == PT_GNU_PROPERTY) && !are_notes(f, &s))
      return elf_damaged(f, "a note is not in a segment");
    if (s.p_type == PT_PHDR &&
        elf_offset(f, s.p_vaddr, f->header.e_phnum * sizeof s) != f->header.e_phoff)
      return elf_damaged(f, "its segment table is not where it says");
    if (s.p_type == PT_TLS && (s.p_align & (s.p_align - 1) || s.p_align > MAX_TLS_ALIGN))
      return elf_damaged(f, "its thread-local data are not aligned as they say");
    if (s.p_type == PT_TLS && (s.p_filesz > s.p_memsz || s.p_memsz > MAX_TLS ||
                               (s.p_filesz && elf_offset(f, s.p_vaddr, s.p_filesz) == UINT64_MAX)))
      return elf_damaged(f, "its thread-local data are not in a segment");
  }
  return TN_OK;
}

/* The C library makes the stacks of all threads executable for a library that asks for it, and for
 * one that says nothing. */
static tn_status check_stack(const elf_file *f) {
  const char *wish = "says nothing of its stack, so that of";
  for (uint32_t k = 0; k < f->header.e_phnum; k++) {
    const ElfW(Phdr) s = elf_segment(f, k);
    if (s.p_type == PT_GNU_STACK)
      wish = s.p_flags & PF_X ? "wants an executable stack, so that of" : NULL;
  }
  return wish ? tn_fail(f->diag, TN_ERR_INVALID,
                        "%s: %s every thread of the program would be executable; link it with "
                        "-z noexecstack",
                        f->path, wish)
              : TN_OK;
}

tn_status tn_elf_check_header(const char *path, const uint8_t *data, uint64_t size, tn_diag *diag) {
  elf_file f = {.data = data, .size = size, .path = path, .diag = diag};
  return check_header(&f);
}

tn_status tn_elf_check(const char *path, const uint8_t *data, uint64_t size, tn_diag *diag,
                       bool *out_has_keys) {
  elf_file f = {.data = data, .size = size, .path = path, .diag = diag, .has_keys = out_has_keys};
  *out_has_keys = false;
  tn_status status = check_header(&f);
  if (!status) status = check_segments(&f);
  if (!status) status = check_others(&f);
  if (!status) status = check_stack(&f);
  return status ? status : elf_check_dynamic(&f);
}
#else
tn_status tn_elf_check_header(const char *path, const uint8_t *data, uint64_t size, tn_diag *diag) {
  return (void)path, (void)data, (void)size, (void)diag, TN_OK;
}

tn_status tn_elf_check(const char *path, const uint8_t *data, uint64_t size, tn_diag *diag,
                       bool *out_has_keys) {
  return (void)path, (void)data, (void)size, (void)diag, *out_has_keys = false, TN_OK;
}
#endif
