/* What a C library newer than 2.28 has under a new version, by the version that 2.28 has: linked into
   what a wheel for manylinux_2_28 holds (CMakeLists.txt beside this file). Each function here is seen by
   its own library alone, and passes its call on. */
#include <dlfcn.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

/* Defines `name` as a call of the C library's `name` of `version`. */
#define OLD(version, result, name, parameters, arguments)     \
  result old_##name parameters;                               \
  __asm__(".symver old_" #name "," #name "@GLIBC_" #version); \
  result name parameters { return old_##name arguments; }

OLD(2.2.5, double, exp, (double x), (x))
OLD(2.2.5, double, exp2, (double x), (x))
OLD(2.2.5, double, log, (double x), (x))
OLD(2.2.5, double, log2, (double x), (x))
OLD(2.2.5, double, pow, (double x, double y), (x, y))
OLD(2.2.5, double, hypot, (double x, double y), (x, y))

OLD(2.2.5, void *, dlopen, (const char *file, int mode), (file, mode))
OLD(2.2.5, void *, dlsym, (void *library, const char *name), (library, name))
OLD(2.2.5, int, dlclose, (void *library), (library))
OLD(2.2.5, char *, dlerror, (void), ())
OLD(2.2.5, int, dladdr, (const void *address, Dl_info *info), (address, info))

OLD(2.2.5, int, pthread_create,
    (pthread_t * thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument),
    (thread, attr, start, argument))
OLD(2.2.5, int, pthread_join, (pthread_t thread, void **result), (thread, result))
OLD(2.2.5, int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
OLD(2.2.5, int, pthread_mutexattr_init, (pthread_mutexattr_t * attr), (attr))
OLD(2.2.5, int, pthread_mutexattr_destroy, (pthread_mutexattr_t * attr), (attr))
OLD(2.2.5, int, pthread_mutexattr_settype, (pthread_mutexattr_t * attr, int type), (attr, type))
OLD(2.3.3, int, pthread_condattr_setclock, (pthread_condattr_t * attr, clockid_t clock),
    (attr, clock))
OLD(2.2.5, int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void *)), (key, destroy))
OLD(2.2.5, int, pthread_key_delete, (pthread_key_t key), (key))
OLD(2.2.5, int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))

/* Until 2.33 these were functions of headers, on top of ones with the struct's version, 1 on x86-64. */
int __xstat(int version, const char *path, struct stat *status);
int __lxstat(int version, const char *path, struct stat *status);
int __fxstat(int version, int file, struct stat *status);
int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags);

int stat(const char *path, struct stat *status) { return __xstat(1, path, status); }
int lstat(const char *path, struct stat *status) { return __lxstat(1, path, status); }
int fstat(int file, struct stat *status) { return __fxstat(1, file, status); }
int fstatat(int folder, const char *path, struct stat *status, int flags) {
  return __fxstatat(1, folder, path, status, flags);
}

/* As mallinfo, whose counts wrap at 4 GiB. */
struct mallinfo2 mallinfo2(void) {
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo old = mallinfo();
  return (struct mallinfo2){
      .arena = (unsigned)old.arena,
      .ordblks = (unsigned)old.ordblks,
      .smblks = (unsigned)old.smblks,
      .hblks = (unsigned)old.hblks,
      .hblkhd = (unsigned)old.hblkhd,
      .usmblks = (unsigned)old.usmblks,
      .fsmblks = (unsigned)old.fsmblks,
      .uordblks = (unsigned)old.uordblks,
      .fordblks = (unsigned)old.fordblks,
      .keepcost = (unsigned)old.keepcost,
  };
}
