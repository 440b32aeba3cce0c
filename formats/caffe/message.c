/* Building messages, asking them, and complaining about the file they come from; see message.h. */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>

static void line_of(const caffe_file *f, uint64_t at, int *out_line, int *out_column) {
  *out_line = 1, *out_column = 1;
  for (uint64_t k = 0; k < at && k < f->size; k++) {
    ++*out_column;
    if (f->data[k] == '\n') ++*out_line, *out_column = 1;
  }
}

tn_status caffe_fail(const caffe_file *f, tn_status code, uint64_t at, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const tn_host *host = f->source->host;
  if (!f->is_text)
    return host->fail(f->source->ctx, code, "%s: %s, at byte %llu", f->path, text,
                      (unsigned long long)at);
  int line, column;
  line_of(f, at, &line, &column);
  return host->fail(f->source->ctx, code, "%s:%d:%d: %s", f->path, line, column, text);
}

tn_status caffe_no_memory(const caffe_file *f) {
  return f->source->host->fail(f->source->ctx, TN_ERR_MEMORY, "%s: out of memory", f->path);
}

caffe_value *caffe_add(const caffe_file *f, caffe_message *m, const caffe_field *field,
                       uint64_t at) {
  caffe_value *v = tn_arena_alloc(f->arena, sizeof *v);
  if (!v) return NULL;
  *v = (caffe_value){.field = field, .at = at};
  if (m->last)
    m->last->next = v;
  else
    m->first = v;
  m->last = v;
  return v;
}

const caffe_field *caffe_field_named(const caffe_type *type, tn_str name) {
  for (uint32_t k = 0; k < type->n_fields; k++)
    if (tn_str_is(name, type->fields[k].name)) return &type->fields[k];
  return NULL;
}

const caffe_value *caffe_next(const caffe_message *m, const char *name, const caffe_value *before) {
  const caffe_value *v = before ? before->next : m ? m->first : NULL;
  while (v && strcmp(v->field->name, name)) v = v->next;
  return v;
}

static const caffe_value *last(const caffe_message *m, const char *name) {
  const caffe_value *found = NULL;
  for (const caffe_value *v = NULL; (v = caffe_next(m, name, v));) found = v;
  return found;
}

int64_t caffe_int(const caffe_message *m, const char *name, int64_t missing) {
  const caffe_value *v = last(m, name);
  return v ? v->i : missing;
}

tn_str caffe_text(const caffe_message *m, const char *name) {
  const caffe_value *v = last(m, name);
  return v ? v->s : (tn_str){"", 0};
}

const caffe_message *caffe_sub(const caffe_message *m, const char *name) {
  const caffe_value *v = last(m, name);
  return v ? v->message : NULL;
}

uint64_t caffe_count(const caffe_message *m, const char *name) {
  uint64_t n = 0;
  for (const caffe_value *v = NULL; (v = caffe_next(m, name, v));) n++;
  return n;
}
