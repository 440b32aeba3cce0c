/* The program of the unit tests: runs the one whose subject is its argument. */
#include <stdio.h>
#include <string.h>

#define UNIT(subject) int subject##_main(void);
#include "unit_tests.h"
#undef UNIT

typedef struct unit {
  const char *subject;
  int (*run)(void);
} unit;

static const unit units[] = {
#define UNIT(subject) {#subject, subject##_main},
#include "unit_tests.h"
};

int main(int argc, char **argv) {
  const size_t n = sizeof units / sizeof *units;
  for (size_t k = 0; k < n && argc == 2; k++)
    if (!strcmp(units[k].subject, argv[1])) return units[k].run();
  fprintf(stderr, "usage: %s SUBJECT, which is one of\n", *argv);
  for (size_t k = 0; k < n; k++) fprintf(stderr, "  %s\n", units[k].subject);
  return 2;
}
