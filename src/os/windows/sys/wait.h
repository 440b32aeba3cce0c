/* There are no child processes. */
#pragma GCC system_header
#ifndef TN_OS_WAIT_H
#define TN_OS_WAIT_H

#include "os/windows/os.h"

typedef int id_t;
enum { WNOHANG = 1, WEXITED = 4, WNOWAIT = 8, P_PID = 1 };
#define WIFEXITED(status) ((void)(status), 0)
#define WEXITSTATUS(status) (status)
#define WIFSIGNALED(status) ((void)(status), 0)
#define WTERMSIG(status) (status)
#define WSTOPSIG(status) (status)
#define waitpid(pid, status, flags) ((void)(pid), (void)(status), tn_os_absent())
#define waitid(kind, pid, info, flags) ((void)(pid), (void)(info), tn_os_absent())

#endif
