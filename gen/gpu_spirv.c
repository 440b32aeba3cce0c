/* Compiles shaders to SPIR-V. What is compiled stays beside what it was made of, so that nothing is
 * compiled again in vain. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/file.h"
#include "gpu_emit.h"

static bool complain(const char *path, const char *what) {
  fprintf(stderr, "tenon-gen: %s: %s\n", path, what);
  return false;
}

/* Its messages name files and lines. */
static bool run(gen *g, const char *in, const char *out) {
  const char *const argv[] = {g->glslang,  "-V",  "--quiet", "--target-env",
                              "vulkan1.1", "-g0", "-S",      "comp",
                              "-o",        out,   in,        NULL};
  const tn_child_file said = {2, 1};
  char **env = gen_need(tn_child_environment(&g->arena));
  pid_t pid;
  int status;
  const int error = tn_child_spawn(argv, env, &said, 1, &pid);
  if (error) return complain(g->glslang, strerror(error));
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return complain(g->glslang, strerror(errno));
  return (WIFEXITED(status) && !WEXITSTATUS(status)) || complain(in, "does not compile");
}

static const uint32_t *read_words(gen *g, const char *path, int64_t *out_n) {
  tn_mapping file;
  const uint32_t *words = NULL;
  tn_diag *diag = gen_need(tn_diag_create());
  if (tn_file_map(path, diag, &file)) {
    complain(path, tn_diag_text(diag));
  } else {
    words = gen_need(tn_arena_copy(&g->arena, file.data, file.size));
    *out_n = (int64_t)(file.size / sizeof *words);
    tn_file_unmap(&file);
  }
  tn_diag_destroy(diag);
  return words;
}

static bool is_newer(const char *path, const char *than) {
  struct stat a, b;
  if (stat(path, &a) || stat(than, &b) || !a.st_size) return false;
  return a.st_mtim.tv_sec > b.st_mtim.tv_sec ||
         (a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec > b.st_mtim.tv_nsec);
}

const uint32_t *gen_gpu_compile(gen *g, const char *id, tn_text *glsl, int64_t *out_n) {
  const char *dir = gen_format_text(g, "%s/spirv", g->dir);
  const char *in = gen_format_text(g, "%s/%s.comp", dir, id);
  const char *out = gen_format_text(g, "%s/%s.spv", dir, id);
  const char *made = gen_format_text(g, "%s.new", out);
  if (mkdir(dir, 0777) && errno != EEXIST) {
    complain(dir, strerror(errno));
    tn_text_free(glsl);
    return NULL;
  }
  if (!gen_write(g, dir, gen_format_text(g, "%s.comp", id), glsl)) return NULL;
  if (!is_newer(out, in) && (!run(g, in, made) || rename(made, out))) return NULL;
  return read_words(g, out, out_n);
}
