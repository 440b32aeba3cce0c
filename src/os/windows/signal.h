/* Signals: masks of threads, which have none here. */
#pragma GCC system_header
#include_next <signal.h>
#ifndef TN_OS_SIGNAL_H
#define TN_OS_SIGNAL_H

#include <sys/types.h>

typedef _sigset_t sigset_t;
enum { SIGTRAP = 5, SIGBUS = 7, SIGKILL = 9, SIGPIPE = 13 };
#ifndef SIG_SETMASK
enum { SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK };
#endif
typedef struct siginfo_t {
  int si_pid;
} siginfo_t;
#define sigemptyset(set) (*(set) = 0)
#define sigfillset(set) (*(set) = ~(sigset_t)0)
#define sigaddset(set, signal) ((void)(set), (void)(signal), 0)
#define sigdelset(set, signal) ((void)(set), (void)(signal), 0)
#undef pthread_sigmask
#define pthread_sigmask(how, set, old) ((void)(how), (void)(set), (void)(old), 0)
#define kill(pid, signal) ((void)(pid), (void)(signal), tn_os_absent())
int tn_os_absent(void);

#endif
