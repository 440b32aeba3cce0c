/* What a worker does: limits itself, loads the plug-ins, reads the parts, calls the compiler,
 * writes a container. What it is about to do stands in the answer until then, for the case that it
 * does not come back. */
#include "exec/worker.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "accelerator/child.h"
#include "exec/model.h"

typedef struct worker {
  tn_compile_request request;
  tn_mapping file;
  tn_arena arena;
  tn_runtime *runtime;
  tn_model **models; /* of the parts */
  tn_diag *diag;
  tn_nameless answer;
} worker;

/* ---- answering ---- */

static void answer(tn_nameless *to, const char *word, const char *text) {
  if (ftruncate(to->fd, 0) || lseek(to->fd, 0, SEEK_SET) < 0) return;
  (void)!tn_nameless_write(to, word, strlen(word));
  (void)!tn_nameless_write(to, text, strlen(text) + 1);
}

static void stage(void *ctx, const char *text) {
  worker *w = ctx;
  char magic[8] = "";
  if (pread(w->answer.fd, magic, sizeof magic, 0) == sizeof magic && !memcmp(magic, "TENONMOD", 8))
    return; /* it is done; what is left to do harms nobody */
  answer(&w->answer, TN_WORKER_STAGE, text);
}

/* The first piece takes the place of what was said before. */
static tn_status write_answer(void *ctx, const void *data, uint64_t size) {
  worker *w = ctx;
  char magic[8] = "";
  if (pread(w->answer.fd, magic, sizeof magic, 0) != sizeof magic || memcmp(magic, "TENONMOD", 8)) {
    if (ftruncate(w->answer.fd, 0) || lseek(w->answer.fd, 0, SEEK_SET) < 0) return TN_ERR_IO;
  }
  return tn_nameless_write(&w->answer, data, size);
}

/* ---- what the compiler is given ---- */

static tn_status read_request(worker *w) {
  const tn_status status = tn_file_map_open(TN_WORKER_REQUEST, "the request", w->diag, &w->file);
  if (status) return status;
  const char *wrong = tn_request_read(&w->arena, w->file.data, w->file.size, &w->request);
  return wrong ? tn_fail(w->diag, TN_ERR_INVALID, "the request: %s", wrong) : TN_OK;
}

/* A sanitizer reserves terabytes of address space for itself. */
static void limit_memory(const worker *w) {
  const struct rlimit limit = {(rlim_t)w->request.memory_bytes, (rlim_t)w->request.memory_bytes};
  const struct rlimit none = {0, 0};
  if (w->request.memory_bytes && !TN_FLAVOUR_SANITIZER) (void)setrlimit(RLIMIT_AS, &limit);
  (void)setrlimit(RLIMIT_CORE, &none);
}

static tn_status load_plugins(worker *w) {
  const tn_runtime_options options = {.head = TN_HEAD(tn_runtime_options),
                                      .flags = TN_RUNTIME_NO_DISCOVERY};
  tn_status status = tn_runtime_create(&options, w->diag, &w->runtime);
  for (uint32_t k = 0; k < w->request.n_plugins && !status; k++) {
    stage(w, "loading its plug-in");
    status = tn_runtime_load_plugin(w->runtime, w->request.plugins[k], NULL, 0, w->diag);
  }
  return status;
}

/* Types are known as where the part was outlined. */
static tn_status read_parts(worker *w, const tn_graph ***out_graphs) {
  const tn_model_options options = {
      .head = TN_HEAD(tn_model_options), .format = "onnx", .flags = TN_MODEL_CHECKED};
  const uint64_t n = (uint64_t)w->request.n_parts + 1;
  const tn_graph **graphs = tn_arena_alloc(&w->arena, n * sizeof *graphs);
  w->models = tn_arena_alloc(&w->arena, n * sizeof *w->models);
  tn_status status = graphs && w->models ? TN_OK : TN_ERR_MEMORY;
  for (uint32_t k = 0; k < w->request.n_parts && !status; k++) {
    stage(w, "reading a part");
    const tn_part *part = &w->request.parts[k];
    status = tn_model_load_memory(w->runtime, part->bytes, part->size, NULL, &options, w->diag,
                                  &w->models[k]);
    if (!status) graphs[k] = tn_model_graph(w->models[k]);
  }
  *out_graphs = graphs;
  return status;
}

/* The compiler and its target. */
static tn_status find(worker *w, tn_accelerator *x) {
  *x = (tn_accelerator){.a = &w->runtime->allocator,
                        .registry = w->runtime->registry,
                        .name = w->request.target,
                        .stamp = ""};
  for (int32_t k = 0; k < tn_registry_n_compilers(x->registry); k++) {
    const tn_compilerdef *c = tn_registry_compiler_at(x->registry, k);
    if (strcmp(c->compiler.name, w->request.compiler)) continue;
    x->compiler = c;
    for (uint32_t i = 0; i < c->compiler.n_targets; i++)
      if (!strcmp(c->compiler.targets[i]->name, x->name)) {
        x->target = *c->compiler.targets[i];
        return TN_OK;
      }
  }
  return tn_fail(w->diag, TN_ERR_NOT_FOUND, "the plug-ins offer no compiler '%s' for '%s'",
                 w->request.compiler, w->request.target);
}

static tn_status work(worker *w) {
  const tn_graph **graphs = NULL;
  tn_accelerator x;
  tn_status status = read_request(w);
  if (!status) limit_memory(w);
  if (!status) status = load_plugins(w);
  if (!status) status = read_parts(w, &graphs);
  if (status) return status;
  const int ticket = tn_registry_enter(w->runtime->registry);
  status = find(w, &x);
  if (!status && w->request.asks)
    status = tn_claim_here(&x, &w->request, graphs[0], stage, write_answer, w, w->diag);
  else if (!status)
    status = tn_compile_here(&x, &w->request, graphs, stage, write_answer, w, w->diag);
  tn_registry_leave(w->runtime->registry, ticket);
  return status;
}

int tn_worker_run(void) {
  worker w = {.answer = {TN_WORKER_ANSWER}};
  tn_arena_init(&w.arena, tn_default_allocator());
  w.diag = tn_diag_create();
  const tn_status status = work(&w);
  if (status)
    answer(&w.answer, TN_WORKER_ERROR,
           tn_diag_count(w.diag) ? tn_diag_message(w.diag, 0, NULL) : tn_status_text(status));
  for (uint32_t k = 0; w.models && k < w.request.n_parts; k++) tn_model_destroy(w.models[k]);
  tn_runtime_destroy(w.runtime);
  tn_diag_destroy(w.diag);
  tn_file_unmap(&w.file);
  tn_arena_clear(&w.arena);
  return status ? 1 : 0;
}
