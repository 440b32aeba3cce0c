/* The accelerators of a model: opening those that its user names, and the file of modules beside
 * it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exec/model.h"

/* ---- the file of modules ---- */

static tn_status read_modules(tn_model *m, const char *path, tn_diag *diag) {
  tn_status status = tn_file_map(path, diag, &m->modules_file);
  if (status) return status;
  const char *wrong =
      tn_container_read(m->planner.a, m->modules_file.data, m->modules_file.size, &m->modules);
  if (!wrong) {
    m->planner.modules = &m->modules;
    return TN_OK;
  }
  const char *where = strncmp(wrong, "module ", strlen("module ")) ? ": " : " of ";
  status = *where == ':' ? tn_fail(diag, TN_ERR_INVALID, "%s: %s", path, wrong)
                         : tn_fail(diag, TN_ERR_INVALID, "%.*s of '%s'%s", (int)strcspn(wrong, ":"),
                                   wrong, path, strchr(wrong, ':'));
  tn_container_close(&m->modules);
  tn_file_unmap(&m->modules_file);
  return status;
}

tn_status tn_model_read_modules(tn_model *m, const char *modules, const char *path, tn_diag *diag) {
  tn_arena arena;
  tn_arena_init(&arena, m->planner.a);
  const bool compiles = m->planner.model_flags & TN_MODEL_COMPILE;
  const char *beside =
      path && !modules && !compiles ? tn_arena_format(&arena, "%s.modules", path) : NULL;
  tn_status status = TN_OK;
  if (modules || (beside && !access(beside, F_OK))) {
    tn_diag *said = tn_diag_create();
    status = read_modules(m, modules ? modules : beside, said);
    const bool goes_on = status && m->planner.fallback != TN_FALLBACK_FORBID;
    if (goes_on)
      tn_diag_add(
          diag, TN_DIAG_WARNING, "%s; its modules are not used",
          said && tn_diag_count(said) ? tn_diag_message(said, 0, NULL) : tn_status_text(status));
    else
      tn_diag_append(diag, said, NULL);
    tn_diag_destroy(said);
    if (goes_on) status = TN_OK;
  }
  tn_arena_clear(&arena);
  return status;
}

/* ---- opening ---- */

bool tn_model_is_accelerator(const tn_model *m, const char *name) {
  if (tn_accelerator_is_named(m->planner.registry, name)) return true;
  for (uint32_t k = 0; k < m->modules.n_modules; k++)
    if (!strcmp(m->modules.modules[k].target, name)) return true;
  return false;
}

static tn_status use_plugins(tn_model *m, const tn_accelerator *x, tn_diag *diag) {
  tn_status status = tn_holder_use(&m->holder, x->dispatcher ? x->dispatcher->owner : NULL);
  if (!status && x->compiler) status = tn_holder_use(&m->holder, x->compiler->owner);
  if (!status) return TN_OK;
  return tn_fail(diag, TN_ERR_STATE, "accelerator '%s': its plug-in is being unloaded", x->name);
}

tn_status tn_model_add_accelerator(tn_model *m, const char *name, tn_diag *diag) {
  tn_planner *p = &m->planner;
  tn_accelerator *x = NULL;
  if (!p->accelerators) p->accelerators = tn_alloc(p->a, TN_MAX_DEVICES * sizeof *p->accelerators);
  if (!p->accelerators) return TN_ERR_MEMORY;
  if (p->n_accelerators == TN_MAX_DEVICES)
    return tn_fail(diag, TN_ERR_INVALID, "tn_model_options: more than %d accelerators",
                   TN_MAX_DEVICES);
  const bool compiles = p->model_flags & TN_MODEL_COMPILE;
  tn_status status = tn_accelerator_open(p->a, p->registry, name, p->modules, compiles, diag, &x);
  if (!status) status = use_plugins(m, x, diag);
  for (uint32_t k = 0; k < p->n_accelerators && !status; k++)
    if (!strcmp(p->accelerators[k]->name, x->name))
      status = tn_fail(diag, TN_ERR_INVALID, "accelerator '%s' is named twice", x->name);
  if (status) {
    tn_accelerator_close(x);
    return status;
  }
  p->accelerators[p->n_accelerators++] = x;
  return TN_OK;
}

void tn_model_close_accelerators(tn_model *m) {
  tn_planner *p = &m->planner;
  for (uint32_t k = 0; k < p->n_accelerators; k++) tn_accelerator_close(p->accelerators[k]);
  tn_free(p->a, p->accelerators, TN_MAX_DEVICES * sizeof *p->accelerators);
  p->accelerators = NULL;
  p->n_accelerators = 0;
  tn_container_close(&m->modules);
  tn_file_unmap(&m->modules_file);
}

/* ---- saving ---- */

typedef struct module_list {
  TN_VEC(const tn_module_file *) files;
} module_list;

static tn_status list_modules(const tn_planner *p, module_list *out) {
  tn_status status = TN_OK;
  for (uint32_t k = 0; k < p->n_accelerators; k++) {
    tn_accelerator *x = p->accelerators[k];
    pthread_mutex_lock(&x->lock);
    for (int64_t i = 0; i < x->loaded.n && !status; i++)
      status = tn_vec_push(p->a, &out->files, &x->loaded.data[i]->file);
    pthread_mutex_unlock(&x->lock);
  }
  return status;
}

typedef struct file_sink {
  tn_file_writer file;
  tn_diag *diag;
} file_sink;

static tn_status write_file(void *ctx, const void *data, uint64_t size) {
  file_sink *s = ctx;
  return tn_file_writer_write(&s->file, data, size, s->diag);
}

tn_status tn_model_save_modules(tn_model *model, const char *path, tn_diag *diag) {
  if (!model || !path) return TN_ERR_INVALID;
  const tn_allocator *a = model->planner.a;
  module_list list = {.files = {NULL, 0, 0}};
  file_sink sink = {.diag = diag};
  tn_status status = list_modules(&model->planner, &list);
  if (!status && !list.files.n)
    status = tn_fail(diag, TN_ERR_STATE, "%s: %s has no compiled modules", path, model->name);
  if (!status) status = tn_file_writer_open(&sink.file, a, path, diag);
  if (!status) {
    status = tn_container_write(a, list.files.data, (uint32_t)list.files.n, write_file, &sink);
    if (!status) status = tn_file_writer_commit(&sink.file, diag);
    tn_file_writer_abort(&sink.file);
  }
  tn_vec_free(a, &list.files);
  return status;
}
