/* Building messages, asking them, and complaining about the file they come from; see
 * proto_tree.h. */
#include "base/proto_tree.h"

#include <stdarg.h>
#include <stdio.h>

static void line_of(const tn_proto_file *f, uint64_t at, int *out_line, int *out_column) {
  *out_line = 1, *out_column = 1;
  for (uint64_t k = 0; k < at && k < f->size; k++) {
    ++*out_column;
    if (f->data[k] == '\n') ++*out_line, *out_column = 1;
  }
}

tn_status(tn_proto_fail)(const tn_proto_file *f, tn_status code, uint64_t at, const char *format,
                         ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  const tn_host *host = f->source->host;
  if (!f->is_text)
    return (host->fail)(f->source->ctx, code, "%s: %s, at byte %llu", f->path, text,
                        (unsigned long long)at);
  int line, column;
  line_of(f, at, &line, &column);
  return (host->fail)(f->source->ctx, code, "%s:%d:%d: %s", f->path, line, column, text);
}

tn_status tn_proto_no_memory(const tn_proto_file *f) {
  return f->source->host->fail(f->source->ctx, TN_ERR_MEMORY, "%s: out of memory", f->path);
}

tn_proto_value *tn_proto_add(const tn_proto_file *f, tn_proto_message *m,
                             const tn_proto_field *field, uint64_t at) {
  tn_proto_value *v = tn_arena_alloc(f->arena, sizeof *v);
  if (!v) return NULL;
  *v = (tn_proto_value){.field = field, .at = at};
  if (m->last)
    m->last->next = v;
  else
    m->first = v;
  m->last = v;
  return v;
}

const tn_proto_field *tn_proto_field_named(const tn_proto_type *type, tn_str name) {
  for (uint32_t k = 0; k < type->n_fields; k++)
    if (tn_str_is(name, type->fields[k].name)) return &type->fields[k];
  return NULL;
}

const tn_proto_value *tn_proto_next(const tn_proto_message *m, const char *name,
                                    const tn_proto_value *before) {
  const tn_proto_value *v = before ? before->next : m ? m->first : NULL;
  while (v && strcmp(v->field->name, name)) v = v->next;
  return v;
}

static const tn_proto_value *last(const tn_proto_message *m, const char *name) {
  const tn_proto_value *found = NULL;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(m, name, v));) found = v;
  return found;
}

int64_t tn_proto_int(const tn_proto_message *m, const char *name, int64_t missing) {
  const tn_proto_value *v = last(m, name);
  return v ? v->i : missing;
}

tn_str tn_proto_str(const tn_proto_message *m, const char *name) {
  const tn_proto_value *v = last(m, name);
  return v ? v->s : (tn_str){"", 0};
}

const tn_proto_message *tn_proto_sub(const tn_proto_message *m, const char *name) {
  const tn_proto_value *v = last(m, name);
  return v ? v->message : NULL;
}

uint64_t tn_proto_count(const tn_proto_message *m, const char *name) {
  uint64_t n = 0;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(m, name, v));) n++;
  return n;
}
