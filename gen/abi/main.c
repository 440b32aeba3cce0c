/* The command tenon-abi. */
#include <string.h>

#include "abi.h"

static const char usage[] =
    "usage: tenon-abi probe HEADER         a C program that prints the lock of the header\n"
    "       tenon-abi lint LOCK            what is wrong with it alone: hidden padding\n"
    "       tenon-abi compare OLD NEW      what of NEW is no append to OLD\n"
    "Exit status 1: something is wrong, and was said.\n";

static int probe(const char *path) {
  abi_header h;
  const bool ok = abi_read(&h, path);
  if (ok) abi_emit_probe(&h, stdout);
  tn_vec_free(tn_default_allocator(), &h.decls);
  tn_arena_clear(&h.arena);
  return ok ? 0 : 1;
}

/* second NULL: looks at the first alone. */
static int with_locks(const char *first, const char *second) {
  abi_lock a, b = {0};
  int wrong = !abi_lock_read(&a, first);
  if (second) wrong += !abi_lock_read(&b, second);
  if (!wrong) wrong = second ? abi_compare(&a, &b) : abi_lint(&a);
  abi_lock_free(&a);
  if (second) abi_lock_free(&b);
  return wrong ? 1 : 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "probe")) return probe(argv[2]);
  if (argc == 3 && !strcmp(argv[1], "lint")) return with_locks(argv[2], NULL);
  if (argc == 4 && !strcmp(argv[1], "compare")) return with_locks(argv[2], argv[3]);
  fputs(usage, argc == 2 && !strcmp(argv[1], "--help") ? stdout : stderr);
  return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
}
