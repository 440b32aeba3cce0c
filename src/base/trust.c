/* Trust in a path: walks it from / on as the kernel does, one name at a time, through symbolic
 * links too, since whoever can replace a link or a folder on the way decides which file is
 * found. */
#include "base/trust.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINKS = 40 };

typedef struct walk {
  char at[PATH_MAX];   /* the folder reached; "" is / */
  char rest[PATH_MAX]; /* what is left of the path */
  bool shared;         /* at can be written by others, but has the sticky bit */
  int links;
  tn_trusted_folders *folders; /* NULL: none is known */
  char *why;
  size_t size;
} walk;

static bool say(walk *w, const char *what, const char *path, const char *reason) {
  snprintf(w->why, w->size, "%s %s%s", what, *path ? path : "/", reason);
  return false;
}

static bool is_ours(const struct stat *info) {
  return info->st_uid == 0 || info->st_uid == geteuid();
}

/* The first name of rest, which loses it. */
static void next_name(walk *w, char *out) {
  const char *p = w->rest + strspn(w->rest, "/");
  const size_t n = strcspn(p, "/");
  memcpy(out, p, n);
  out[n] = 0;
  memmove(w->rest, p + n, strlen(p + n) + 1);
}

static bool is_last(const walk *w) { return !*w->rest; }

/* Goes into a folder that was found to be safe. False: it is not known. */
static bool enter_known(walk *w, const char *path) {
  const tn_trusted_folders *f = w->folders;
  for (uint32_t k = 0; f && k < f->n; k++) {
    if (strcmp(f->known[k].path, path) != 0) continue;
    w->shared = f->known[k].shared;
    strcpy(w->at, path);
    return true;
  }
  return false;
}

static void remember(walk *w) {
  tn_trusted_folders *f = w->folders;
  if (!f || f->n == sizeof f->known / sizeof *f->known || strlen(w->at) >= sizeof f->known->path)
    return;
  strcpy(f->known[f->n].path, w->at);
  f->known[f->n++].shared = w->shared;
}

static bool enter(walk *w, const char *path, const struct stat *info) {
  if (!is_ours(info)) return say(w, "the folder", path, " belongs to another user");
  const bool open = (info->st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (open && !(info->st_mode & S_ISVTX))
    return say(w, "the folder", path, " can be written by others");
  w->shared = open;
  strcpy(w->at, path);
  remember(w);
  return true;
}

static bool root(walk *w) {
  struct stat info;
  if (enter_known(w, "")) return true;
  if (lstat("/", &info)) return say(w, "the folder", "/", " cannot be examined");
  return enter(w, "", &info);
}

/* Goes on at what the link says. */
static bool follow(walk *w, const char *path, const struct stat *info) {
  char target[PATH_MAX], rest[PATH_MAX];
  if (!is_ours(info)) return say(w, "the link", path, " belongs to another user");
  if (++w->links > MAX_LINKS) return say(w, "the link", path, " is one of too many");
  const ssize_t n = readlink(path, target, sizeof target - 1);
  if (n <= 0) return say(w, "the link", path, " cannot be read");
  target[n] = 0;
  const int length = snprintf(rest, sizeof rest, "%s%s", target, w->rest);
  if (length < 0 || (size_t)length >= sizeof rest)
    return say(w, "the link", path, " leads to a path that is too long");
  strcpy(w->rest, rest);
  return *target == '/' ? root(w) : true;
}

static bool check_file(walk *w, const char *path, const struct stat *info) {
  if (!S_ISREG(info->st_mode)) return say(w, "the file", path, " is no regular file");
  if (!is_last(w)) return say(w, "the file", path, " is no folder");
  if (!is_ours(info)) return say(w, "the file", path, " belongs to another user");
  if (info->st_mode & (S_IWGRP | S_IWOTH))
    return say(w, "the file", path, " can be written by others");
  if (w->shared) return say(w, "the folder", w->at, " can be written by others");
  return true;
}

/* ".." of the folder reached, which was checked on the way here. */
static bool go_up(walk *w) {
  struct stat info;
  char *slash = strrchr(w->at, '/');
  if (slash) *slash = 0;
  char path[PATH_MAX];
  strcpy(path, w->at);
  if (enter_known(w, path)) return true;
  if (lstat(*path ? path : "/", &info)) return say(w, "the folder", path, " cannot be examined");
  return enter(w, path, &info);
}

/* One name further. *out_done: the file is reached. */
static bool step(walk *w, bool *out_done) {
  char name[PATH_MAX], path[PATH_MAX];
  struct stat info;
  next_name(w, name);
  if (!*name || !strcmp(name, ".")) return true;
  if (!strcmp(name, "..")) return go_up(w);
  const size_t n = strlen(w->at), n_name = strlen(name) + 1;
  if (n + 1 + n_name > sizeof path) return say(w, "the path", w->at, "/... is too long");
  memcpy(path, w->at, n);
  path[n] = '/';
  memcpy(path + n + 1, name, n_name);
  if (enter_known(w, path)) return true;
  if (lstat(path, &info)) return say(w, "the file", path, " cannot be examined");
  if (S_ISLNK(info.st_mode)) return follow(w, path, &info);
  if (S_ISDIR(info.st_mode)) return enter(w, path, &info);
  *out_done = true;
  return check_file(w, path, &info);
}

bool tn_path_is_trusted(const char *path, char *why, size_t size) {
  return tn_path_is_trusted_among(path, NULL, why, size);
}

bool tn_path_is_trusted_among(const char *path, tn_trusted_folders *folders, char *why,
                              size_t size) {
  walk w; /* of which as much is written as there is text */
  w.shared = false, w.links = 0, w.folders = folders, w.why = why, w.size = size;
  const size_t n = strlen(path);
  bool done = false;
  *why = 0;
  if (*path != '/') return say(&w, "the path", path, " is not absolute");
  if (n >= sizeof w.rest) return say(&w, "the path", "", " is too long");
  strcpy(w.rest, path);
  if (!root(&w)) return false;
  while (!done && w.rest[strspn(w.rest, "/")])
    if (!step(&w, &done)) return false;
  if (done) return true;
  if (path[n - 1] != '/') return say(&w, "the file", path, " is a folder");
  return w.shared ? say(&w, "the folder", w.at, " can be written by others") : true;
}
