/* The dialect of GPU kernels (docs/add-a-gpu-kernel.md): files named <family>_gpu.c or
 * <family>_..._gpu.c beside a family file. What stands in them under `#ifdef TN_GPU` is read here:
 * kernels with their buffers, constants and params. emit_gpu.c writes them in the languages of
 * devices. */
#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "gen.h"

/* A place in a file. */
typedef struct cursor {
  gen *g;
  const char *path, *begin, *p, *end;
} cursor;

static void problem(const cursor *c, const char *at, const char *text) {
  int line = 1;
  for (const char *p = c->begin; p < at; p++) line += *p == '\n';
  gen_problem_add_at(c->g, c->path, line, 1, text);
}

/* ---- words ---- */

static void skip_spaces(cursor *c) {
  while (c->p < c->end && isspace((unsigned char)*c->p)) c->p++;
}

static bool take(cursor *c, char mark) {
  skip_spaces(c);
  if (c->p == c->end || *c->p != mark) return false;
  c->p++;
  return true;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* "" if there is none. */
static const char *take_word(cursor *c) {
  skip_spaces(c);
  const char *begin = c->p;
  while (c->p < c->end && is_word(*c->p)) c->p++;
  return gen_need(tn_arena_strn(&c->g->arena, begin, c->p - begin));
}

/* ---- the line of a kernel ---- */

static const struct {
  const char *word;
  gen_gpu_kind kind;
} argument_words[] = {{"IN", GEN_GPU_IN},       {"OUT", GEN_GPU_OUT},
                      {"INT", GEN_GPU_INT},     {"FLOAT", GEN_GPU_FLOAT},
                      {"CONST", GEN_GPU_CONST}, {"EPILOGUE", GEN_GPU_EPILOGUE}};

/* INTS(d, 3): d0, d1, d2. */
static bool take_ints(cursor *c, gen_program *program) {
  if (!take(c, '(')) return false;
  const char *name = take_word(c);
  if (!take(c, ',')) return false;
  enum { MOST = 32 };
  const int n = atoi(take_word(c));
  if (n > MOST) return false;
  for (int k = 0; k < n; k++) {
    const gen_gpu_arg arg = {GEN_GPU_INT, gen_format_text(c->g, "%s%d", name, k)};
    gen_push(c->g, &program->args, arg);
  }
  return n > 0 && take(c, ')');
}

static bool take_argument(cursor *c, gen_program *program) {
  const char *word = take_word(c);
  gen_gpu_arg arg = {.name = ""};
  size_t k = 0;
  const size_t n = sizeof argument_words / sizeof *argument_words;
  if (!strcmp(word, "INTS")) return take_ints(c, program);
  while (k < n && strcmp(argument_words[k].word, word) != 0) k++;
  if (k == n) return false;
  arg.kind = argument_words[k].kind;
  if (arg.kind != GEN_GPU_EPILOGUE) {
    if (!take(c, '(')) return false;
    arg.name = take_word(c);
    if (!*arg.name || !take(c, ')')) return false;
  }
  gen_push(c->g, &program->args, arg);
  return true;
}

/* "(IN(A), OUT(C))" */
static bool take_arguments(cursor *c, gen_program *program) {
  if (!take(c, '(')) return false;
  do {
    if (!take_argument(c, program)) return false;
  } while (take(c, ','));
  return take(c, ')') && take(c, ',');
}

static bool take_header(cursor *c, gen_program *program) {
  if (!take(c, '(')) return false;
  program->name = take_word(c);
  if (!*program->name || !take(c, ',') || !take_arguments(c, program) ||
      !take_arguments(c, program))
    return false;
  for (int k = 0; k < 3; k++) {
    program->group[k] = take_word(c);
    if (!*program->group[k] || !take(c, k < 2 ? ',' : ')')) return false;
  }
  return take(c, '{');
}

/* ---- files ---- */

static const char kernel_word[] = "KERNEL(", cuda_word[] = "CUDA_KERNEL(";

static bool begins(const cursor *c, const char *p, const char *word) {
  const ptrdiff_t n = (ptrdiff_t)strlen(word);
  return c->end - p > n && !memcmp(p, word, (size_t)n);
}

/* The next KERNEL or CUDA_KERNEL at the beginning of a line, or the end. */
static const char *next_kernel(const cursor *c) {
  for (const char *p = c->p; p < c->end; p++)
    if ((p == c->begin || p[-1] == '\n') && (begins(c, p, kernel_word) || begins(c, p, cuda_word)))
      return p;
  return c->end;
}

static const char *text_between(gen *g, const char *begin, const char *end) {
  return gen_need(tn_arena_strn(&g->arena, begin, end - begin));
}

/* "tenon/experimental/gpu_tile.h" is one of Tenon's headers, which of its own families stand in
 * ../../include; any other stands beside the file. */
static const char *included_path(cursor *c, const char *name, int n) {
  static const char own[] = "tenon/";
  const char *slash = strrchr(c->path, '/');
  const int folder = slash ? (int)(slash + 1 - c->path) : 0;
  if (strncmp(name, own, strlen(own)) != 0)
    return gen_format_text(c->g, "%.*s%.*s", folder, c->path, n, name);
  if (c->g->headers) return gen_format_text(c->g, "%s/%.*s", c->g->headers, n, name);
  return gen_format_text(c->g, "%.*s../../include/%.*s", folder, c->path, n, name);
}

/* Adds the text of the file that c's says it includes. */
static void add_included(cursor *c, tn_text *out, const char *name, int n) {
  tn_mapping file;
  tn_diag *diag = gen_need(tn_diag_create());
  if (tn_file_map(included_path(c, name, n), diag, &file)) {
    problem(c, name, gen_format_text(c->g, "%s", tn_diag_text(diag)));
  } else {
    tn_text_add_bytes(out, (const char *)file.data, (int64_t)file.size);
    tn_file_unmap(&file);
  }
  tn_diag_destroy(diag);
}

/* What stands before the kernels, with files in place of lines `#include`. */
static const char *take_common(cursor *c, const char *end) {
  static const char include[] = "#include \"";
  const size_t size = strlen(include);
  tn_text out;
  tn_text_init(&out, c->g->a);
  for (const char *p = c->p, *next; p < end; p = next) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    next = newline ? newline + 1 : end;
    if (next - p > (ptrdiff_t)size && !memcmp(p, include, size))
      add_included(c, &out, p + size, (int)strcspn(p + size, "\"\n"));
    else
      tn_text_add_bytes(&out, p, next - p);
  }
  if (out.status) gen_need(NULL);
  const char *common = gen_need(tn_arena_str(&c->g->arena, tn_text_get(&out)));
  tn_text_free(&out);
  return common;
}

static void parse_kernels(cursor *c, const char *family) {
  const char *first = next_kernel(c);
  const char *common = take_common(c, first);
  for (c->p = first; c->p < c->end;) {
    gen_program program = {.family = family, .path = c->path, .common = common};
    const char *line = c->p;
    program.is_cuda_only = begins(c, line, cuda_word);
    c->p += strcspn(line, "(");
    if (!take_header(c, &program)) {
      problem(c, line,
              "a kernel begins with KERNEL(name, (IN(A), OUT(B), ...), (INT(n), ...), x, y, z) {");
      tn_vec_free(c->g->a, &program.args);
      return;
    }
    program.line = 1;
    for (const char *p = c->begin; p < c->p; p++) program.line += *p == '\n';
    const char *end = next_kernel(c);
    program.body = text_between(c->g, c->p, end);
    c->p = end;
    gen_push(c->g, &c->g->programs, program);
  }
}

/* The text between `#ifdef TN_GPU` and its #else or #endif. */
static bool find_part(cursor *c) {
  static const char open[] = "#ifdef TN_GPU";
  int depth = 0;
  const char *end = c->end, *begin = NULL;
  for (const char *p = c->begin, *next; p < end; p = next) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    next = newline ? newline + 1 : end;
    if (!begin) {
      if (next - p >= (ptrdiff_t)strlen(open) && !memcmp(p, open, strlen(open))) begin = next;
      continue;
    }
    if (next - p > 5 && !depth && (!memcmp(p, "#else", 5) || !memcmp(p, "#endif", 6))) {
      c->p = begin;
      c->end = p;
      return true;
    }
    if (next - p > 3 && !memcmp(p, "#if", 3)) depth++;
    if (next - p > 6 && !memcmp(p, "#endif", 6)) depth--;
  }
  return false;
}

static void parse_file(gen *g, const char *path, const char *family) {
  tn_mapping file;
  tn_diag *diag = gen_need(tn_diag_create());
  if (tn_file_map(path, diag, &file)) {
    gen_problem_add_at(g, path, 0, 0, gen_format_text(g, "%s", tn_diag_text(diag)));
  } else {
    const char *text =
        text_between(g, (const char *)file.data, (const char *)file.data + file.size);
    cursor c = {g, gen_need(tn_arena_str(&g->arena, path)), text, text, text + file.size};
    if (find_part(&c))
      parse_kernels(&c, family);
    else
      problem(&c, text, "a file of GPU kernels has a part #ifdef TN_GPU ... #else ... #endif");
    tn_file_unmap(&file);
  }
  tn_diag_destroy(diag);
}

void gen_parse_gpu(gen *g, const char *yaml, const char *family) {
  const char *slash = strrchr(yaml, '/'), *base = slash ? slash + 1 : yaml;
  const int folder = (int)(base - yaml), name = (int)strcspn(base, ".");
  static const char *const between[] = {"", "_*"};
  for (size_t k = 0; k < sizeof between / sizeof *between; k++) {
    glob_t found;
    const char *pattern =
        gen_format_text(g, "%.*s%.*s%s_gpu.c", folder, yaml, name, base, between[k]);
    if (!glob(pattern, 0, NULL, &found)) {
      for (size_t i = 0; i < found.gl_pathc; i++) parse_file(g, found.gl_pathv[i], family);
      globfree(&found);
    }
  }
}

int64_t gen_n_programs(const gen *g, const char *family) {
  int64_t n = 0;
  for (int64_t k = 0; k < g->programs.n; k++) n += !strcmp(g->programs.data[k].family, family);
  return n;
}
