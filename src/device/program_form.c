/* Forms of programs that are packed: what the driver gets is unpacked. */
#include <string.h>

#include "base/inflate.h"
#include "device/device.h"

static const char ending[] = ".deflate";

/* Characters of the language without the ending. */
static size_t language_size(const tn_program_form *f, bool *out_packed) {
  const size_t n = strlen(f->language), end = sizeof ending - 1;
  *out_packed = n > end && !strcmp(f->language + n - end, ending);
  return *out_packed ? n - end : n;
}

bool tn_program_form_is(const tn_program_form *f, const char *language, size_t n) {
  bool packed;
  return language_size(f, &packed) == n && !memcmp(f->language, language, n);
}

/* Deflate makes of one byte no more than 1032. */
static bool read_size(const tn_program_form *f, uint64_t *out_size) {
  if (f->size < sizeof *out_size) return false;
  uint64_t size = 0;
  for (size_t k = 0; k < sizeof size; k++)
    size |= (uint64_t)((const uint8_t *)f->data)[k] << (8 * k);
  *out_size = size;
  return size / 1032 <= f->size;
}

static tn_status unpack(const tn_allocator *a, const tn_program_form *f, size_t language,
                        tn_program_view *out, const char **out_problem) {
  uint64_t size, at;
  *out_problem = "its packed form is damaged: what stands first is no size";
  if (!read_size(f, &size)) return TN_ERR_UNSUPPORTED;
  out->bytes = size + 1 + language + 1;
  char *memory = tn_alloc(a, out->bytes);
  *out_problem = "no memory to unpack it";
  if (!memory) return TN_ERR_MEMORY;
  out->memory = memory;
  *out_problem = tn_inflate((const uint8_t *)f->data + sizeof size, f->size - sizeof size,
                            (uint8_t *)memory, size, &at);
  if (*out_problem) return TN_ERR_UNSUPPORTED;
  char *name = memory + size + 1;
  memory[size] = 0; /* for drivers of texts that want an end */
  memcpy(name, f->language, language);
  name[language] = 0;
  out->unpacked = (tn_program_form){TN_HEAD(tn_program_form), name, memory, size};
  return TN_OK;
}

tn_status tn_program_view_make(const tn_allocator *a, const tn_program *program, uint32_t form,
                               tn_program_view *out, const char **out_problem) {
  const tn_program_form *f = program->forms[form];
  bool packed;
  const size_t language = language_size(f, &packed);
  *out = (tn_program_view){.program = program, .form = form};
  *out_problem = NULL;
  if (!packed) return TN_OK;
  const tn_status status = unpack(a, f, language, out, out_problem);
  if (status) {
    tn_program_view_free(a, out);
    return status;
  }
  out->one = *program;
  out->forms[0] = &out->unpacked;
  out->one.forms = out->forms;
  out->one.n_forms = 1;
  out->program = &out->one;
  out->form = 0;
  return TN_OK;
}

void tn_program_view_free(const tn_allocator *a, tn_program_view *view) {
  tn_free(a, view->memory, view->bytes);
  view->memory = NULL;
}
