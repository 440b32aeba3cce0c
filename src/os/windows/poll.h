/* Waiting: for a time, but for no descriptor. */
#pragma GCC system_header
#ifndef TN_OS_POLL_H
#define TN_OS_POLL_H

#include "os/windows/os.h"

struct pollfd {
  int fd;
  short events, revents;
};
enum { POLLIN = 1, POLLHUP = 16 };
static inline int poll(struct pollfd *fds, unsigned n, int ms) {
  if (fds || n) return tn_os_absent();
  tn_os_sleep_ms(ms);
  return 0;
}

#endif
