/* Ctrl-C during a run. CPython's own handler of SIGINT leaves a note that its interpreter reads when the
 * run is over; while the main thread runs a model, a handler of ours stands before it and stops the run.
 * It stands there only where the answer will be KeyboardInterrupt, and not for runs of microseconds. */
#include "interrupt.h"

#include <stdatomic.h>
#include <time.h>

enum { QUICK_NS = 1000000 };

/* Of the module _signal: those of signal are functions of Python, during which a Ctrl-C that is
 * waiting would raise its exception. */
static PyObject *get_handler, *default_handler;
static unsigned long main_thread;
static _Atomic(tn_session *) running;
static atomic_int pressed;
static void (*python_handler)(int);

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void stop(int number) {
  atomic_store(&pressed, 1);
  tn_session_cancel(atomic_load(&running));
  python_handler(number);
}

/* Ctrl-C raises KeyboardInterrupt: nobody has put another function in its place. */
static bool raises(void) {
  PyObject *handler = PyObject_CallFunction(get_handler, "i", SIGINT);
  const bool same = handler && handler == default_handler;
  Py_XDECREF(handler);
  PyErr_Clear();
  return same;
}

static bool install(struct sigaction *before) {
  if (sigaction(SIGINT, NULL, before) || before->sa_flags & SA_SIGINFO) return false;
  if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN) return false;
  struct sigaction ours = *before;
  ours.sa_handler = stop;
  python_handler = before->sa_handler;
  return !sigaction(SIGINT, &ours, NULL);
}

void tp_watch_begin(tp_watch *w, const tp_slot *s) {
  *w = (tp_watch){.began_ns = now_ns()};
  if (s->is_quick || PyThread_get_thread_ident() != main_thread) return;
  w->outer = atomic_load(&running);
  if (!w->outer) { /* else this is a run within one, from an operator written in Python */
    if (!raises()) return;
    atomic_store(&pressed, 0);
    atomic_store(&running, s->session);
    if (!install(&w->before)) {
      atomic_store(&running, NULL);
      return;
    }
  }
  w->is_on = true;
  atomic_store(&running, s->session);
  if (PyErr_CheckSignals()) atomic_store(&pressed, 1); /* what came before the handler stood */
}

bool tp_watch_pressed(const tp_watch *w) { return w->is_on && atomic_load(&pressed); }

tn_status tp_watch_run(const tp_watch *w, tp_slot *s) {
  return tp_watch_pressed(w) ? TN_ERR_CANCELLED : tn_session_run(s->session, s->diag);
}

bool tp_watch_end(tp_watch *w, tp_slot *s, tn_status status) {
  s->is_quick = !status && now_ns() - w->began_ns < QUICK_NS;
  if (!w->is_on) return false;
  atomic_store(&running, w->outer);
  if (!w->outer) sigaction(SIGINT, &w->before, NULL);
  if (status != TN_ERR_CANCELLED || !atomic_load(&pressed)) return false;
  if (!PyErr_Occurred() && !PyErr_CheckSignals()) return false;
  tn_diag_clear(s->diag);
  return true;
}

int tp_interrupt_ready(void) {
  PyObject *signals = PyImport_ImportModule("_signal"),
           *threads = PyImport_ImportModule("threading");
  PyObject *thread = threads ? PyObject_CallMethod(threads, "main_thread", NULL) : NULL;
  PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
  get_handler = signals ? PyObject_GetAttrString(signals, "getsignal") : NULL;
  default_handler = signals ? PyObject_GetAttrString(signals, "default_int_handler") : NULL;
  if (ident) main_thread = PyLong_AsUnsignedLong(ident);
  Py_XDECREF(ident);
  Py_XDECREF(thread);
  Py_XDECREF(threads);
  Py_XDECREF(signals);
  return PyErr_Occurred() ? -1 : 0;
}
