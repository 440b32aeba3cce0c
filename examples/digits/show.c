/* Text art and tables of the demo. */
#include "show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t argmax(const float *p) {
  int64_t best = 0;
  for (int64_t k = 1; k < CLASSES; k++) best = p[k] > p[best] ? k : best;
  return best;
}

static void show_pixels(const float *row) {
  static const char *const shades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  for (int x = 0; x < SIDE; x++) fputs(shades[(int)(row[x] / 16 * 4 + 0.5f)], stdout);
}

static void show_bar(float p) {
  static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  int eighths = (int)(p * 30 * 8 + 0.5f);
  for (int k = 0; k < eighths / 8; k++) fputs("█", stdout);
  fputs(parts[eighths % 8], stdout);
}

void show_digit(const float *image, const float *p, int64_t label) {
  int64_t answer = argmax(p);
  for (int y = 0; y < CLASSES; y++) {
    const char *edge = y == 0             ? "┌────────────────┐"
                       : y == CLASSES - 1 ? "└────────────────┘"
                                          : NULL;
    fputs(edge ? "   " : "   │", stdout);
    if (edge)
      fputs(edge, stdout);
    else
      show_pixels(image + (y - 1) * SIDE);
    printf("%s   %d %5.1f %% ", edge ? "" : "│", y, 100 * (double)p[y]);
    show_bar(p[y]);
    if (y == answer) printf(" ◀ %s", y == label ? "right" : "wrong");
    putchar('\n');
  }
}

/* Sum of the recorded times of a step, and how many runs these were. */
static double step_us(const tn_session *session, int32_t step, uint32_t *out_runs) {
  double sum = 0;
  *out_runs = 0;
  for (int64_t k = 0; k < tn_session_n_events(session); k++) {
    tn_profile_event e = {.head = TN_HEAD(tn_profile_event)};
    if (tn_session_event(session, k, &e) || e.step != step) continue;
    sum += (double)(e.end_ns - e.begin_ns) * 1e-3;
    ++*out_runs;
  }
  return sum;
}

tn_status show_steps(const tn_session *session) {
  tn_plan_info plan = {.head = TN_HEAD(tn_plan_info)};
  tn_status status = tn_session_plan(session, &plan);
  double total = 0;
  printf("   %-22s %-28s %-26s %8s\n", "node", "kernel", "from", "us");
  for (int32_t k = 0; k < plan.n_steps && !status; k++) {
    tn_step_info step = {.head = TN_HEAD(tn_step_info)};
    uint32_t runs;
    status = tn_session_step(session, k, &step);
    if (status) break;
    double us = step_us(session, k, &runs);
    us = runs ? us / runs : 0;
    total += us;
    printf("   %-22.22s %-28.28s %-26.26s %8.1f", step.node, step.kernel, step.plugin, us);
    for (uint32_t e = 0; e < step.n_epilogue; e++) printf(" + %s", step.epilogue[e]);
    putchar('\n');
  }
  printf("   %-22s %-28s %-26s %8.1f\n", "", "", "", total);
  return status;
}
