/* The command tenon-abi. */
#include <string.h>

#include "abi.h"

static const char usage[] =
    "usage: tenon-abi probe HEADER         a C program that prints the lock of the header\n"
    "       tenon-abi lint LOCK            what is wrong with it alone: hidden padding\n"
    "       tenon-abi compare OLD NEW      what of NEW is no append to OLD\n"
    "       tenon-abi asserts LOCK         static asserts that pin it\n"
    "       tenon-abi names BASE LOCK      what LOCK has and BASE has not\n"
    "Exit status 1: something is wrong, and was said.\n";

static int probe(const char *path) {
  abi_header h;
  const bool ok = abi_read(&h, path);
  if (ok) abi_emit_probe(&h, stdout);
  tn_vec_free(tn_default_allocator(), &h.decls);
  tn_arena_clear(&h.arena);
  return ok ? 0 : 1;
}

static int with_locks(const char *verb, const char *first, const char *second) {
  abi_lock a, b = {0};
  int wrong = !abi_lock_read(&a, first);
  if (second) wrong += !abi_lock_read(&b, second);
  if (!wrong && !strcmp(verb, "lint")) wrong = abi_lint(&a);
  if (!wrong && !strcmp(verb, "compare")) wrong = abi_compare(&a, &b);
  if (!wrong && !strcmp(verb, "asserts")) abi_emit_asserts(&a, stdout);
  if (!wrong && !strcmp(verb, "names")) abi_emit_names(&a, &b, stdout);
  abi_lock_free(&a);
  if (second) abi_lock_free(&b);
  return wrong ? 1 : 0;
}

int main(int argc, char **argv) {
  static const char *const one[] = {"lint", "asserts"}, *const two[] = {"compare", "names"};
  if (argc == 3 && !strcmp(argv[1], "probe")) return probe(argv[2]);
  for (int k = 0; k < 2; k++) {
    if (argc == 3 && !strcmp(argv[1], one[k])) return with_locks(one[k], argv[2], NULL);
    if (argc == 4 && !strcmp(argv[1], two[k])) return with_locks(two[k], argv[2], argv[3]);
  }
  fputs(usage, argc == 2 && !strcmp(argv[1], "--help") ? stdout : stderr);
  return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
}
