/* Compiles shaders to SPIR-V. What is compiled stays beside what it was made of, so that nothing is
 * compiled again in vain. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "gpu_emit.h"

static bool complain(const char *path, const char *what) {
  fprintf(stderr, "tenon-gen: %s: %s\n", path, what);
  return false;
}

/* Waits for the compiler that was started first. */
static bool wait_one(gen_compiles *c) {
  const gen_compile one = c->running[0];
  int status;
  memmove(c->running, c->running + 1, (size_t)--c->n * sizeof *c->running);
  while (waitpid(one.pid, &status, 0) < 0)
    if (errno != EINTR) return complain(one.in, strerror(errno));
  if (!WIFEXITED(status) || WEXITSTATUS(status)) return complain(one.in, "does not compile");
  return !rename(one.made, one.out) || complain(one.out, strerror(errno));
}

bool gen_compiles_end(gen_compiles *c) {
  bool ok = true;
  while (c->n) ok = wait_one(c) && ok;
  return ok;
}

/* As many as there are processors. Its messages name files and lines. */
static bool start(gen *g, gen_compiles *c, gen_compile one) {
  const char *const argv[] = {g->glslang, "-V",   "--quiet", "--target-env", "vulkan1.1", "-g0",
                              "-S",       "comp", "-o",      one.made,       one.in,      NULL};
  const tn_child_file said = {2, 1};
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  char **env = gen_need(tn_child_environment(&g->arena));
  if (c->n && (c->n == GEN_MAX_COMPILES || c->n >= cores) && !wait_one(c)) return false;
  const int error = tn_child_spawn(argv, env, &said, 1, &one.pid);
  if (error) return complain(g->glslang, strerror(error));
  c->running[c->n++] = one;
  return true;
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

static const char *spirv_path(gen *g, const char *id) {
  return gen_format_text(g, "%s/spirv/%s.spv", g->dir, id);
}

bool gen_compile_begin(gen *g, gen_compiles *c, const char *id, tn_text *glsl) {
  const char *dir = gen_format_text(g, "%s/spirv", g->dir), *out = spirv_path(g, id);
  const gen_compile one = {.in = gen_format_text(g, "%s/%s.comp", dir, id),
                           .made = gen_format_text(g, "%s.new", out),
                           .out = out};
  if (mkdir(dir, 0777) && errno != EEXIST) {
    tn_text_free(glsl);
    return complain(dir, strerror(errno));
  }
  if (!gen_write(g, dir, gen_format_text(g, "%s.comp", id), glsl)) return false;
  return is_newer(out, one.in) || start(g, c, one);
}

const uint32_t *gen_compiled(gen *g, const char *id, int64_t *out_n) {
  return read_words(g, spirv_path(g, id), out_n);
}
