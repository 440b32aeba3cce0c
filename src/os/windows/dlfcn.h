/* Libraries that are loaded while a program runs. */
#pragma GCC system_header
#ifndef TN_OS_DLFCN_H
#define TN_OS_DLFCN_H

enum { RTLD_NOW = 1, RTLD_LOCAL = 2, RTLD_NODELETE = 4, RTLD_NOLOAD = 8 };
void *dlopen(const char *path, int flags);
void *dlsym(void *library, const char *name);
int dlclose(void *library);
char *dlerror(void);

#endif
