/* Recordings: commands go to the driver, with a barrier before one that touches what a command
 * since the last barrier writes, or writes what one reads. Nothing else keeps commands in order.
 */
#include <string.h>

#include "device/internal.h"

/* ---- hazards ---- */

static bool meets(const tn_span *a, const tn_span *b) {
  return a->buffer == b->buffer && a->begin < b->end && b->begin < a->end &&
         (a->is_write || b->is_write);
}

static bool is_hazard(const tn_recording *r, const tn_span *spans, uint32_t n) {
  for (int64_t k = 0; k < r->open.n; k++)
    for (uint32_t i = 0; i < n; i++)
      if (meets(&r->open.data[k], &spans[i])) return true;
  return false;
}

static tn_span span_of(const tn_device_range *range, bool is_write) {
  return (tn_span){range->buffer, range->offset, range->offset + range->bytes, is_write};
}

static tn_status put_barrier(tn_recording *r, tn_device_talk *t) {
  r->open.n = 0;
  r->n_barriers++;
  return tn_device_answer(t, r->device->def->driver.record_barrier(&t->call, r->handle));
}

/* Before a command: its barrier, and room to remember it. */
static tn_status order(tn_recording *r, tn_device_talk *t, const tn_span *spans, uint32_t n) {
  tn_status status = is_hazard(r, spans, n) ? put_barrier(r, t) : TN_OK;
  for (uint32_t k = 0; k < n && !status; k++)
    status = tn_vec_push(r->device->a, &r->open, spans[k]);
  r->n_commands++;
  return status;
}

/* ---- commands ---- */

tn_status tn_recording_begin(tn_recording *r, tn_device *d, tn_diag *diag) {
  *r = (tn_recording){.device = d};
  tn_device_talk t;
  tn_device_talk_open(&t, d);
  const tn_status status = tn_device_made(
      &t, d->def->driver.record_begin(&t.call, d->handle, &r->handle), "record_begin", &r->handle);
  tn_device_talk_close(&t);
  return tn_device_report(&t, status, diag, "recording commands");
}

tn_status tn_recording_copy(tn_recording *r, const tn_device_range *from, const tn_device_range *to,
                            tn_diag *diag) {
  const tn_span spans[] = {span_of(from, false), span_of(to, true)};
  tn_device_talk t;
  tn_device_talk_open(&t, r->device);
  tn_status status = order(r, &t, spans, 2);
  if (!status) status = r->device->def->driver.record_copy(&t.call, r->handle, from, to);
  tn_device_talk_close(&t);
  return tn_device_report(&t, status, diag, "recording a copy");
}

tn_status tn_recording_fill(tn_recording *r, const tn_device_range *to, uint32_t word,
                            tn_diag *diag) {
  const tn_span span = span_of(to, true);
  tn_device_talk t;
  tn_device_talk_open(&t, r->device);
  tn_status status = order(r, &t, &span, 1);
  if (!status) status = r->device->def->driver.record_fill(&t.call, r->handle, to, word);
  tn_device_talk_close(&t);
  return tn_device_report(&t, status, diag, "recording a fill");
}

tn_status tn_recording_dispatch(tn_recording *r, void *program,
                                const tn_device_range *const *ranges, const bool *writes,
                                uint32_t n, const tn_dispatch *d, tn_diag *diag) {
  const tn_allocator *a = r->device->a;
  tn_span *spans = tn_alloc(a, (uint64_t)n * sizeof *spans);
  uint32_t n_spans = 0;
  if (!spans) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n; k++)
    if (ranges[k]->buffer) spans[n_spans++] = span_of(ranges[k], writes[k]);
  tn_device_talk t;
  tn_device_talk_open(&t, r->device);
  tn_status status = order(r, &t, spans, n_spans);
  if (!status)
    status = r->device->def->driver.record_dispatch(&t.call, r->handle, program, ranges, n, d);
  tn_device_talk_close(&t);
  tn_free(a, spans, (uint64_t)n * sizeof *spans);
  return tn_device_report(&t, status, diag, "recording a kernel");
}

tn_status tn_recording_barrier(tn_recording *r, tn_diag *diag) {
  tn_device_talk t;
  tn_device_talk_open(&t, r->device);
  const tn_status status = r->open.n ? put_barrier(r, &t) : TN_OK;
  tn_device_talk_close(&t);
  return tn_device_report(&t, status, diag, "recording a barrier");
}

tn_status tn_recording_end(tn_recording *r, tn_diag *diag) {
  tn_device_talk t;
  tn_device_talk_open(&t, r->device);
  const tn_status status = r->device->def->driver.record_end(&t.call, r->handle);
  tn_device_talk_close(&t);
  tn_vec_free(r->device->a, &r->open);
  return tn_device_report(&t, status, diag, "ending a recording");
}

void tn_recording_close(tn_recording *r) {
  if (!r->device) return;
  tn_vec_free(r->device->a, &r->open);
  if (!r->handle || atomic_load(&r->device->hangs)) return;
  tn_device_talk t;
  tn_device_talk_open(&t, r->device);
  r->device->def->driver.record_free(&t.call, r->handle);
  tn_device_talk_close(&t);
  r->handle = NULL;
}

/* ---- programs ---- */

static bool is_same(const tn_device_program *p, const tn_device_program *wanted) {
  return p->bytes == wanted->bytes && p->n_constants == wanted->n_constants &&
         !strcmp(p->name, wanted->name) && !strcmp(p->language, wanted->language) &&
         !memcmp(p->data, wanted->data, p->bytes) &&
         (!p->n_constants ||
          !memcmp(p->constants, wanted->constants, p->n_constants * sizeof *p->constants));
}

static bool takes(const tn_device *d, const tn_program_form *form) {
  for (const char *p = d->def->driver.languages; *p;) {
    const size_t word = strcspn(p, ",");
    if (tn_program_form_is(form, p, word)) return true;
    p += word + (p[word] == ',');
  }
  return false;
}

static tn_status keep(tn_device *d, const tn_device_program *p) {
  tn_device_program *kept = &d->programs.data[d->programs.n];
  *kept = *p;
  kept->name = tn_arena_str(&d->arena, p->name);
  kept->language = tn_arena_str(&d->arena, p->language);
  kept->data = tn_arena_copy(&d->arena, p->data, p->bytes);
  kept->constants = tn_arena_copy(&d->arena, p->constants, p->n_constants * sizeof *p->constants);
  return kept->name && kept->language && kept->data && kept->constants ? TN_OK : TN_ERR_MEMORY;
}

/* What the driver cannot build stays so; a lack of memory may pass. */
static tn_status fail_build(tn_device *d, tn_device_talk *t, tn_status answer) {
  const tn_status status = tn_device_answer(t, answer);
  if (status != TN_ERR_UNSUPPORTED) return status;
  const char *problem = tn_arena_str(&d->arena, t->text);
  if (!problem) return TN_ERR_MEMORY;
  d->programs.data[d->programs.n++].problem = problem;
  return status;
}

static tn_status load_or_build(tn_device *d, tn_device_talk *t, const tn_program_view *view,
                               tn_device_program *p) {
  if (tn_program_cache_load(d, view->program, view->form, p)) {
    atomic_fetch_add(&d->n_cached, 1);
    return TN_OK;
  }
  const tn_status status =
      tn_device_made(t,
                     d->def->driver.program_new(&t->call, d->handle, view->program, view->form,
                                                p->constants, NULL, 0, &p->handle),
                     "program_new", &p->handle);
  if (status) return status;
  atomic_fetch_add(&d->n_built, 1);
  tn_program_cache_keep(d, p);
  return TN_OK;
}

static tn_status unpack_and_build(tn_device *d, tn_device_talk *t, const tn_program *program,
                                  uint32_t form, tn_device_program *p) {
  tn_program_view view;
  const char *problem;
  tn_status status = tn_program_view_make(d->a, program, form, &view, &problem);
  if (status) return t->call.host->fail(t->call.ctx, status, "%s", problem);
  status = load_or_build(d, t, &view, p);
  tn_program_view_free(d->a, &view);
  return status;
}

/* Under the lock. */
static tn_status find_or_build(tn_device *d, tn_device_talk *t, const tn_program *program,
                               tn_device_program *p) {
  uint32_t form = 0;
  while (form < program->n_forms && !takes(d, program->forms[form])) form++;
  if (form == program->n_forms)
    return t->call.host->fail(t->call.ctx, TN_ERR_UNSUPPORTED, "it has no form in %s",
                              d->def->driver.languages);
  p->language = program->forms[form]->language;
  p->data = program->forms[form]->data;
  p->bytes = program->forms[form]->size;
  for (int64_t k = 0; k < d->programs.n; k++) {
    const tn_device_program *found = &d->programs.data[k];
    if (!is_same(found, p)) continue;
    if (found->problem)
      return t->call.host->fail(t->call.ctx, TN_ERR_UNSUPPORTED, "%s", found->problem);
    p->handle = found->handle;
    return TN_OK;
  }
  tn_status status = tn_vec_room(d->a, &d->programs, 1);
  if (!status) status = keep(d, p);
  if (!status) status = unpack_and_build(d, t, program, form, p);
  if (status) return fail_build(d, t, status);
  d->programs.data[d->programs.n++].handle = p->handle;
  return TN_OK;
}

tn_status tn_device_program_get(tn_device *d, const tn_program *program, const int64_t *constants,
                                uint32_t n_constants, tn_diag *diag, void **out_program) {
  tn_device_talk t;
  tn_device_program p = {.name = program->name, .constants = constants, .n_constants = n_constants};
  const bool is_serial = d->info.flags & TN_DEVICE_SERIAL;
  tn_device_talk_open(&t, d);
  if (!is_serial) pthread_mutex_lock(&d->lock);
  tn_status status = find_or_build(d, &t, program, &p);
  if (!is_serial) pthread_mutex_unlock(&d->lock);
  tn_device_talk_close(&t);
  *out_program = status ? NULL : p.handle;
  if (!status) return TN_OK;
  status = tn_device_answer(&t, status);
  return tn_fail(diag, status, "device '%s': program '%s' does not build: %s", d->name,
                 program->name, t.text);
}

/* Not kept: the kernel's plug-in may go, and another one come where it was. */
tn_status tn_device_host_program_new(tn_device *d, const tn_kernel *kernel, tn_diag *diag,
                                     void **out_program) {
  const tn_program_form form = {.head = TN_HEAD(tn_program_form),
                                .language = TN_LANGUAGE_HOST_KERNEL,
                                .data = kernel,
                                .size = sizeof *kernel};
  const tn_program_form *const forms[] = {&form};
  const tn_program program = {
      .head = TN_HEAD(tn_program), .name = kernel->name, .forms = forms, .n_forms = 1};
  tn_device_talk t;
  *out_program = NULL;
  tn_device_talk_open(&t, d);
  const tn_status status = tn_device_made(
      &t, d->def->driver.program_new(&t.call, d->handle, &program, 0, NULL, NULL, 0, out_program),
      "program_new", out_program);
  tn_device_talk_close(&t);
  if (!status) return TN_OK;
  return tn_fail(diag, status, "device '%s': program '%s' does not build: %s", d->name,
                 kernel->name, t.text);
}

void tn_device_program_free(tn_device *d, void *program) {
  if (!program) return;
  tn_device_talk t;
  tn_device_talk_open(&t, d);
  d->def->driver.program_free(&t.call, program);
  tn_device_talk_close(&t);
}
