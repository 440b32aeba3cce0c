/* There are no child processes. */
#pragma GCC system_header
#ifndef TN_OS_SPAWN_H
#define TN_OS_SPAWN_H

#include <errno.h>
#include <signal.h>

typedef char posix_spawn_file_actions_t, posix_spawnattr_t;
enum { POSIX_SPAWN_SETSIGMASK = 1, POSIX_SPAWN_SETPGROUP = 2, POSIX_SPAWN_SETSIGDEF = 4 };
#define posix_spawn_file_actions_init(actions) (*(actions) = 0)
#define posix_spawn_file_actions_destroy(actions) ((void)(actions))
#define posix_spawn_file_actions_addopen(actions, fd, path, flags, mode) ((void)(actions), ENOSYS)
#define posix_spawn_file_actions_adddup2(actions, fd, as) ((void)(actions), (void)(fd), ENOSYS)
#define posix_spawnattr_init(attributes) (*(attributes) = 0)
#define posix_spawnattr_destroy(attributes) ((void)(attributes))
#define posix_spawnattr_setsigmask(attributes, set) ((void)(attributes), (void)(set), 0)
#define posix_spawnattr_setpgroup(attributes, group) ((void)(attributes), 0)
#define posix_spawnattr_setsigdefault(attributes, set) ((void)(attributes), (void)(set), 0)
#define posix_spawnattr_setflags(attributes, flags) ((void)(attributes), 0)
#define posix_spawn(pid, path, actions, attributes, argv, env) \
  ((void)(pid), (void)(argv), (void)(env), ENOSYS)

#endif
