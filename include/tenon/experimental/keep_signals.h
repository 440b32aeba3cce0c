/* For plug-ins that open libraries which take signals for themselves (LLVM does, through drivers of
 * OpenCL): handlers are the program's. Of POSIX; EXPERIMENTAL like accelerator.h. */
#ifndef TENON_EXPERIMENTAL_KEEP_SIGNALS_H
#define TENON_EXPERIMENTAL_KEEP_SIGNALS_H

#include <signal.h>
#include <stddef.h>

enum { TN_N_SIGNALS = 32 }; /* those that are not of real time */

typedef struct tn_kept_signals {
  struct sigaction of[TN_N_SIGNALS];
} tn_kept_signals;

static inline void tn_signals_keep(tn_kept_signals *k) {
  for (int n = 1; n < TN_N_SIGNALS; n++) (void)sigaction(n, NULL, &k->of[n]);
}

static inline void tn_signals_restore(const tn_kept_signals *k) {
  for (int n = 1; n < TN_N_SIGNALS; n++) {
    struct sigaction now;
    if (!sigaction(n, NULL, &now) && now.sa_handler != k->of[n].sa_handler)
      (void)sigaction(n, &k->of[n], NULL);
  }
}

#endif
