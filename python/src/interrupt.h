/* Ctrl-C during a run: around it stand tp_watch_begin() and tp_watch_end(), both with the GIL. */
#ifndef TENON_PYTHON_INTERRUPT_H
#define TENON_PYTHON_INTERRUPT_H

#include <signal.h>

#include "binding.h"

typedef struct tp_watch {
  int64_t began_ns;
  bool is_on;
  tn_session *outer;       /* what ran when this run began; NULL: nothing */
  struct sigaction before; /* if outer is NULL */
} tp_watch;

void tp_watch_begin(tp_watch *w, const tp_slot *s);
/* Ctrl-C came. Without the GIL, too. */
bool tp_watch_pressed(const tp_watch *w);
/* tn_session_run(), or TN_ERR_CANCELLED if Ctrl-C came before. Without the GIL, too. */
tn_status tp_watch_run(const tp_watch *w, tp_slot *s);
/* True: the run was stopped by Ctrl-C, and the exception is set. */
bool tp_watch_end(tp_watch *w, tp_slot *s, tn_status status);

int tp_interrupt_ready(void);

#endif
