/* A look at a shared library before dlopen sees it. The dynamic linker trusts its input: it dies of
 * SIGBUS on a file that is shorter than its segments, and a sanitizer's runtime that arrives late
 * ends the process. */
#include <string.h>

#include "base/file.h"
#include "registry/internal.h"

#if defined(__linux__)
#include <link.h>

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

typedef struct elf_file {
  const uint8_t *data;
  uint64_t size;
  const char *path;
  tn_diag *diag;
  ElfW(Ehdr) header;
} elf_file;

static bool is_inside(const elf_file *f, uint64_t offset, uint64_t bytes) {
  return offset <= f->size && bytes <= f->size - offset;
}

static ElfW(Phdr) segment_at(const elf_file *f, uint32_t index) {
  ElfW(Phdr) segment;
  memcpy(&segment, f->data + f->header.e_phoff + index * sizeof segment, sizeof segment);
  return segment;
}

/* Place in the file of an address of the library; UINT64_MAX: none. */
static uint64_t offset_of(const elf_file *f, uint64_t address) {
  for (uint32_t k = 0; k < f->header.e_phnum; k++) {
    const ElfW(Phdr) s = segment_at(f, k);
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return s.p_offset + (address - s.p_vaddr);
  }
  return UINT64_MAX;
}

static tn_status check_header(elf_file *f) {
  if (f->size < sizeof f->header || memcmp(f->data, ELFMAG, SELFMAG))
    return tn_fail(f->diag, TN_ERR_INVALID, "%s: is not a shared library", f->path);
  memcpy(&f->header, f->data, sizeof f->header);
  if (f->header.e_ident[EI_CLASS] != NATIVE_CLASS || f->header.e_ident[EI_DATA] != NATIVE_DATA)
    return tn_fail(f->diag, TN_ERR_UNSUPPORTED,
                   "%s: was made for a machine of another word size or byte order", f->path);
  if (f->header.e_type != ET_DYN)
    return tn_fail(f->diag, TN_ERR_INVALID, "%s: is not a shared library", f->path);
  if (f->header.e_phentsize != sizeof(ElfW(Phdr)) ||
      !is_inside(f, f->header.e_phoff, (uint64_t)f->header.e_phnum * sizeof(ElfW(Phdr))))
    return tn_fail(f->diag, TN_ERR_INVALID, "%s: is damaged: its segment table is not in the file",
                   f->path);
  return TN_OK;
}

static tn_status check_segments(const elf_file *f) {
  bool dynamic = false;
  for (uint32_t k = 0; k < f->header.e_phnum; k++) {
    const ElfW(Phdr) s = segment_at(f, k);
    dynamic = dynamic || s.p_type == PT_DYNAMIC;
    if ((s.p_type == PT_LOAD || s.p_type == PT_DYNAMIC) && !is_inside(f, s.p_offset, s.p_filesz))
      return tn_fail(f->diag, TN_ERR_INVALID,
                     "%s: is cut off: it has %llu bytes, segment %u ends after them", f->path,
                     (unsigned long long)f->size, k);
  }
  if (dynamic) return TN_OK;
  return tn_fail(f->diag, TN_ERR_INVALID, "%s: is not a shared library", f->path);
}

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

/* Names in the dynamic section; strings: where its string table begins, UINT64_MAX if it has none.
 */
static tn_status check_needed(const elf_file *f, uint64_t dynamic, uint64_t n, uint64_t strings) {
  for (uint64_t k = 0; k < n; k++) {
    ElfW(Dyn) entry;
    memcpy(&entry, f->data + dynamic + k * sizeof entry, sizeof entry);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag != DT_NEEDED || strings == UINT64_MAX) continue;
    uint64_t at = strings + entry.d_un.d_val;
    if (at < strings || at >= f->size || !memchr(f->data + at, 0, f->size - at))
      return tn_fail(f->diag, TN_ERR_INVALID, "%s: is damaged: names outside of the file", f->path);
    if (foreign_runtime((const char *)f->data + at))
      return tn_fail(f->diag, TN_ERR_VERSION,
                     "%s: was built with a sanitizer (it needs %s), this host was not", f->path,
                     (const char *)f->data + at);
  }
  return TN_OK;
}

static tn_status check_dynamic(const elf_file *f) {
  for (uint32_t k = 0; k < f->header.e_phnum; k++) {
    const ElfW(Phdr) s = segment_at(f, k);
    if (s.p_type != PT_DYNAMIC) continue;
    const uint64_t n = s.p_filesz / sizeof(ElfW(Dyn));
    uint64_t strings = UINT64_MAX;
    for (uint64_t i = 0; i < n; i++) {
      ElfW(Dyn) entry;
      memcpy(&entry, f->data + s.p_offset + i * sizeof entry, sizeof entry);
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_STRTAB) strings = offset_of(f, entry.d_un.d_ptr);
    }
    const tn_status status = check_needed(f, s.p_offset, n, strings);
    if (status) return status;
  }
  return TN_OK;
}

tn_status tn_elf_check(const char *path, tn_diag *diag) {
  tn_mapping file;
  tn_status status = tn_file_map(path, diag, &file);
  if (status) return status;
  elf_file f = {.data = file.data, .size = file.size, .path = path, .diag = diag};
  status = check_header(&f);
  if (!status) status = check_segments(&f);
  if (!status) status = check_dynamic(&f);
  tn_file_unmap(&file);
  return status;
}
#else
tn_status tn_elf_check(const char *path, tn_diag *diag) {
  (void)path;
  (void)diag;
  return TN_OK;
}
#endif
