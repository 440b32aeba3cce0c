#!/bin/bash
# A program with the objects of TENON_MANYLINUX asks for nothing newer than the C library 2.28, and
# runs: constructors, threads, files, mathematics. usage: manylinux.sh SOURCES FOLDER CC
set -euo pipefail
sources=$1 folder=$2 cc=$3
mkdir -p "$folder" && cd "$folder"
cat >main.c <<'END'
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
static int constructed;
__attribute__((constructor)) static void construct(void) { constructed++; }
static void *cube(void *x) { *(double *)x = pow(*(double *)x, 3); return NULL; }
int main(int argc, char **argv) {
  double x = argc + 1;
  pthread_t thread;
  struct stat status;
  if (pthread_create(&thread, NULL, cube, &x) || pthread_join(thread, NULL)) return 1;
  if (stat(argv[0], &status) || !dlsym(dlopen(NULL, RTLD_LAZY), "printf")) return 2;
  printf("%d %g %d\n", constructed, x, status.st_size > 0);
}
END
newer() { objdump -T "$1" | grep -E "GLIBC_2\.(29|[3-9][0-9])" || true; }
"$cc" -O1 main.c -o plain -lm -pthread -ldl
[ -n "$(newer plain)" ] || { echo "skipped: this C library has no newer versions"; exit 77; }
"$cc" -O1 -D_GNU_SOURCE -fno-builtin -fvisibility=hidden main.c "$sources"/*.c -o old \
  -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -lm
[ -z "$(newer old)" ] || { echo "asks for a newer C library:"; newer old; exit 1; }
said=$(./old)
[ "$said" = "1 8 1" ] || { echo "wanted 1 8 1, got $said"; exit 1; }
