/* Processes of our own: commands in a process group that can be ended as a whole. They are started
 * with posix_spawn: the program may have threads, and a forked child of such a program may do next
 * to nothing before exec. */
#ifndef TN_BASE_CHILD_H
#define TN_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/alloc.h"

/* A descriptor that the child has by another number. */
typedef struct tn_child_file {
  int fd, as;
} tn_child_file;

/* The environment without what would make the child load or vet plug-ins. NULL: no memory. */
char **tn_child_environment(tn_arena *arena);
/* argv[0] is the command's path; its input is empty. Answers 0 or an errno. */
int tn_child_spawn(const char *const *argv, char **env, const tn_child_file *files, int n_files,
                   pid_t *out_pid);
/* True if it has ended; it is not reaped, so that its group's number stays taken. */
bool tn_child_has_ended(pid_t pid);
/* Ends the command with all that it has started: it is asked to first, because what it runs may
 * have groups of its own. Answers its status as waitpid does; -1: there is none. */
int tn_child_end(pid_t pid);

#endif
