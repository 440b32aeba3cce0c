/* The functions of the headers in this folder, by the Windows API. Paths are UTF-8 here, and UTF-16
 * there. */
#include "os/windows/os.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>
#include <windows.h>

char **tn_os_environ;

enum { WIDE = 4096 }; /* units of 16 bits in a path */

int tn_os_absent(void) {
  errno = ENOSYS;
  return -1;
}

static int file_fail(void) {
  const DWORD error = GetLastError();
  const bool lacks = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
  const bool denied = error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION;
  const bool there = error == ERROR_ALREADY_EXISTS || error == ERROR_FILE_EXISTS;
  errno = lacks ? ENOENT : denied ? EACCES : there ? EEXIST : EIO;
  return -1;
}

/* ---- paths ---- */

/* UTF-16 of a path in UTF-8; false: it is no UTF-8, or too long. */
static bool widen(const char *path, wchar_t out[WIDE]) {
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, out, WIDE)) return true;
  errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : EILSEQ;
  return false;
}

/* The way back, into `size` bytes; false: it does not fit. */
static bool narrow(const wchar_t *from, char *out, int size) {
  if (WideCharToMultiByte(CP_UTF8, 0, from, -1, out, size, NULL, NULL)) return true;
  errno = ENAMETOOLONG;
  return false;
}

/* ---- files ---- */

/* Of 100 ns since 1601. */
static struct timespec time_of(FILETIME t) {
  const int64_t ticks =
      ((int64_t)t.dwHighDateTime << 32 | (int64_t)t.dwLowDateTime) - INT64_C(116444736000000000);
  return (struct timespec){ticks / 10000000, (long)(ticks % 10000000 * 100)};
}

static int examine(HANDLE h, struct tn_os_stat *out) {
  BY_HANDLE_FILE_INFORMATION info;
  memset(out, 0, sizeof *out);
  if (GetFileType(h) != FILE_TYPE_DISK) { /* a pipe, a console */
    out->st_mode = _S_IFCHR | 0600;
    return 0;
  }
  if (!GetFileInformationByHandle(h, &info)) return file_fail();
  const bool is_folder = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
  const bool is_fixed = info.dwFileAttributes & FILE_ATTRIBUTE_READONLY;
  out->st_dev = info.dwVolumeSerialNumber;
  out->st_ino = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
  out->st_mode = is_folder ? _S_IFDIR | 0755 : _S_IFREG | (is_fixed ? 0444 : 0644);
  out->st_nlink = info.nNumberOfLinks;
  out->st_size = (int64_t)((uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow);
  out->st_mtim = time_of(info.ftLastWriteTime);
  out->st_ctim = time_of(info.ftCreationTime);
  return 0;
}

int tn_os_stat(const char *path, struct tn_os_stat *out) {
  wchar_t wide[WIDE];
  if (!widen(path, wide)) return -1;
  const HANDLE h = CreateFileW(wide, FILE_READ_ATTRIBUTES,
                               FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                               OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
  if (h == INVALID_HANDLE_VALUE) return file_fail();
  const int code = examine(h, out);
  CloseHandle(h);
  return code;
}

/* ---- folders ---- */

struct tn_os_dir {
  _WDIR *wide;
  struct tn_os_dirent item;
  char path[];
};

struct tn_os_dir *tn_os_opendir(const char *path) {
  wchar_t wide[WIDE];
  const size_t n = strlen(path) + 1;
  if (!widen(path, wide)) return NULL;
  struct tn_os_dir *dir = malloc(sizeof *dir + n);
  if (!dir) return NULL;
  memcpy(dir->path, path, n);
  dir->wide = _wopendir(wide);
  if (dir->wide) return dir;
  free(dir);
  return NULL;
}

struct tn_os_dirent *tn_os_readdir(struct tn_os_dir *dir) {
  const struct _wdirent *item = _wreaddir(dir->wide);
  return item && narrow(item->d_name, dir->item.d_name, sizeof dir->item.d_name) ? &dir->item
                                                                                 : NULL;
}

int tn_os_closedir(struct tn_os_dir *dir) {
  const int code = _wclosedir(dir->wide);
  free(dir);
  return code;
}

int tn_os_stat_in(const struct tn_os_dir *dir, const char *name, struct tn_os_stat *out,
                  int flags) {
  char path[3 * WIDE];
  (void)flags;
  const int n = snprintf(path, sizeof path, "%s/%s", dir->path, name);
  if (n >= 0 && n < (int)sizeof path) return tn_os_stat(path, out);
  errno = ENAMETOOLONG;
  return -1;
}

/* ---- files that are open ---- */

static HANDLE handle_of(int fd) { return (HANDLE)_get_osfhandle(fd); }

int tn_os_fstat(int fd, struct tn_os_stat *out) {
  const HANDLE h = handle_of(fd);
  return h == INVALID_HANDLE_VALUE ? -1 : examine(h, out);
}

/* Bytes are bytes: nothing of a file is taken for ends of lines. */
int tn_os_open(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const int mode = flags & _O_CREAT ? va_arg(args, int) : 0;
  va_end(args);
  wchar_t wide[WIDE];
  if (!widen(path, wide)) return -1;
  return _wopen(wide, flags | _O_BINARY, mode & 0222 ? _S_IREAD | _S_IWRITE : _S_IREAD);
}

int tn_os_mkdir(const char *path, uint32_t mode) {
  wchar_t wide[WIDE];
  (void)mode;
  if (!widen(path, wide)) return -1;
  return CreateDirectoryW(wide, NULL) ? 0 : file_fail();
}

int tn_os_access(const char *path, int mode) {
  wchar_t wide[WIDE];
  return widen(path, wide) ? _waccess(wide, mode & ~1) : -1; /* nothing is known of X_OK */
}

int tn_os_unlink(const char *path) {
  wchar_t wide[WIDE];
  return widen(path, wide) ? _wunlink(wide) : -1;
}

int tn_os_rename(const char *from, const char *to) {
  wchar_t wide_from[WIDE], wide_to[WIDE];
  if (!widen(from, wide_from) || !widen(to, wide_to)) return -1;
  return MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING) ? 0 : file_fail();
}

int tn_os_link(const char *from, const char *to) {
  wchar_t wide_from[WIDE], wide_to[WIDE];
  if (!widen(from, wide_from) || !widen(to, wide_to)) return -1;
  return CreateHardLinkW(wide_to, wide_from, NULL) ? 0 : file_fail();
}

int tn_os_fsync(int fd) { return _commit(fd); }

int64_t tn_os_write(int fd, const void *from, uint64_t n) {
  return _write(fd, from, n > INT32_MAX ? INT32_MAX : (unsigned)n);
}

int64_t tn_os_pread(int fd, void *to, uint64_t n, int64_t at) {
  OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
  DWORD done = 0;
  const DWORD part = n > INT32_MAX ? INT32_MAX : (DWORD)n;
  if (ReadFile(handle_of(fd), to, part, &done, &place) || GetLastError() == ERROR_HANDLE_EOF)
    return (int64_t)done;
  return file_fail();
}

char *tn_os_realpath(const char *path, char *out) {
  struct tn_os_stat info;
  wchar_t wide[WIDE], full[WIDE];
  if (tn_os_stat(path, &info) || !widen(path, wide) || !_wfullpath(full, wide, WIDE) ||
      !narrow(full, out, PATH_MAX))
    return NULL;
  for (char *p = out; *p; p++)
    if (*p == '\\') *p = '/';
  return out;
}

/* ---- text ---- */

void *tn_os_memmem(const void *in, size_t n_in, const void *what, size_t n) {
  const char *p = in;
  for (; n_in >= n; p++, n_in--)
    if (!memcmp(p, what, n)) return (void *)(uintptr_t)p;
  return NULL;
}

void *tn_os_memrchr(const void *in, int byte, size_t n) {
  const unsigned char *p = in;
  while (n > 0)
    if (p[--n] == (unsigned char)byte) return (void *)(uintptr_t)(p + n);
  return NULL;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Numbers count as such: "v9" is before "v10". */
int tn_os_strverscmp(const char *a, const char *b) {
  while (*a && *b) {
    if (is_digit(*a) && is_digit(*b)) {
      char *end_a, *end_b;
      const unsigned long long x = strtoull(a, &end_a, 10), y = strtoull(b, &end_b, 10);
      if (x != y) return x < y ? -1 : 1;
      a = end_a, b = end_b;
    } else if (*a != *b) {
      break;
    } else {
      a++, b++;
    }
  }
  return (unsigned char)*a - (unsigned char)*b;
}

/* ---- the machine ---- */

char *tn_os_getenv(const char *name) {
  enum { KEPT = 4 };
  static _Thread_local char values[KEPT][WIDE];
  static _Thread_local int next;
  wchar_t wide[WIDE];
  const wchar_t *value = widen(name, wide) ? _wgetenv(wide) : NULL;
  char *out = values[next++ % KEPT];
  return value && narrow(value, out, WIDE) ? out : NULL;
}

long tn_os_sysconf(int what) {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return what == _SC_PAGESIZE ? (long)info.dwPageSize : (long)info.dwNumberOfProcessors;
}

void tn_os_sleep_ms(int ms) { Sleep((DWORD)ms); }

/* ---- memory ---- */

static void *map_file(int fd, size_t bytes, int64_t at) {
  const HANDLE whole = CreateFileMappingW(handle_of(fd), NULL, PAGE_READONLY, 0, 0, NULL);
  if (!whole) return NULL;
  void *data = MapViewOfFile(whole, FILE_MAP_READ, (DWORD)(at >> 32), (DWORD)at, bytes);
  CloseHandle(whole); /* the view keeps it */
  return data;
}

void *tn_os_mmap(void *hint, size_t bytes, int protection, int flags, int fd, int64_t at) {
  (void)hint;
  void *data = flags & MAP_ANONYMOUS
                   ? VirtualAlloc(NULL, bytes, MEM_RESERVE | (protection ? MEM_COMMIT : 0),
                                  protection ? PAGE_READWRITE : PAGE_NOACCESS)
                   : map_file(fd, bytes, at);
  if (data) return data;
  errno = ENOMEM;
  return MAP_FAILED;
}

int tn_os_munmap(void *data, size_t bytes) {
  MEMORY_BASIC_INFORMATION info;
  (void)bytes;
  if (!VirtualQuery(data, &info, sizeof info)) return file_fail();
  const BOOL done =
      info.Type == MEM_MAPPED ? UnmapViewOfFile(data) : VirtualFree(data, 0, MEM_RELEASE);
  return done ? 0 : file_fail();
}

/* Of anonymous memory only: pages of no access are given back. */
int tn_os_mprotect(void *data, size_t bytes, int protection) {
  if (!protection) return VirtualFree(data, bytes, MEM_DECOMMIT) ? 0 : file_fail();
  DWORD old;
  if (!VirtualAlloc(data, bytes, MEM_COMMIT, PAGE_READWRITE)) return file_fail();
  if (protection & PROT_WRITE) return 0;
  return VirtualProtect(data, bytes, PAGE_READONLY, &old) ? 0 : file_fail();
}

int tn_os_madvise(void *data, size_t bytes, int advice) {
  (void)data, (void)bytes, (void)advice; /* advice need not be taken */
  return 0;
}

/* ---- libraries ---- */

static _Thread_local char load_error[256];

void *dlopen(const char *path, int flags) {
  wchar_t wide[WIDE];
  (void)flags;
  void *library = widen(path, wide) ? (void *)LoadLibraryW(wide) : NULL;
  if (!library)
    snprintf(load_error, sizeof load_error, "%s: Windows error %lu", path, GetLastError());
  return library;
}

void *dlsym(void *library, const char *name) {
  void *symbol = NULL;
  const FARPROC function = GetProcAddress((HMODULE)library, name);
  memcpy(&symbol, &function, sizeof symbol);
  if (!symbol) snprintf(load_error, sizeof load_error, "there is no symbol '%s'", name);
  return symbol;
}

int dlclose(void *library) { return FreeLibrary((HMODULE)library) ? 0 : -1; }

char *dlerror(void) { return *load_error ? load_error : NULL; }
