/* tn_diag: messages in an arena, in the order in which they came, under a lock. */
#include "base/diag.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tenon/kit/checked.h"

enum { MESSAGE_MAX = 4000, UNKEPT = 256 };

typedef struct message {
  const char *text;
  int32_t severity;
  tn_status status; /* of errors that came with one, else TN_OK */
} message;

struct tn_diag {
  pthread_mutex_t lock;
  tn_arena arena;
  TN_VEC(message) messages;
  char unkept[UNKEPT]; /* the first error that there was no memory for, cut; or "" */
  char *errors; /* tn_diag_text's answer, in the arena; NULL when a message was added since */
};

tn_diag *tn_diag_create(void) {
  const tn_allocator *a = tn_default_allocator();
  tn_diag *diag = tn_alloc(a, sizeof *diag);
  if (!diag) return NULL;
  if (pthread_mutex_init(&diag->lock, NULL)) {
    tn_free(a, diag, sizeof *diag);
    return NULL;
  }
  tn_arena_init(&diag->arena, a);
  return diag;
}

void tn_diag_destroy(tn_diag *diag) {
  if (!diag) return;
  tn_diag_clear(diag);
  pthread_mutex_destroy(&diag->lock);
  tn_free(tn_default_allocator(), diag, sizeof *diag);
}

void tn_diag_clear(tn_diag *diag) {
  if (!diag) return;
  pthread_mutex_lock(&diag->lock);
  tn_arena_clear(&diag->arena);
  tn_vec_free(diag->arena.a, &diag->messages);
  diag->errors = NULL;
  *diag->unkept = 0;
  pthread_mutex_unlock(&diag->lock);
}

int64_t tn_diag_count(const tn_diag *diag) {
  return diag ? diag->messages.n + (*diag->unkept ? 1 : 0) : 0;
}

const char *tn_diag_message(const tn_diag *diag, int64_t index, int32_t *out_severity) {
  if (diag && index == diag->messages.n && *diag->unkept) {
    if (out_severity) *out_severity = TN_DIAG_ERROR;
    return diag->unkept;
  }
  if (!diag || index < 0 || index >= diag->messages.n) return NULL;
  if (out_severity) *out_severity = diag->messages.data[index].severity;
  return diag->messages.data[index].text;
}

tn_status tn_diag_message_status(const tn_diag *diag, int64_t index) {
  if (diag && index == diag->messages.n && *diag->unkept) return TN_ERR_MEMORY;
  if (!diag || index < 0 || index >= diag->messages.n) return TN_OK;
  return diag->messages.data[index].status;
}

/* All errors, a line each. NULL: no memory. */
static char *errors_join(tn_diag *diag) {
  uint64_t bytes = 1;
  for (int64_t i = 0; i < diag->messages.n; i++) {
    bytes += strlen(diag->messages.data[i].text) + 1;
  }
  char *text = tn_arena_alloc(&diag->arena, bytes), *end = text;
  for (int64_t i = 0; text && i < diag->messages.n; i++) {
    const message *m = &diag->messages.data[i];
    if (m->severity != TN_DIAG_ERROR) continue;
    size_t n = strlen(m->text);
    if (end != text) *end++ = '\n';
    memcpy(end, m->text, n);
    end += n;
  }
  return text;
}

const char *tn_diag_text(tn_diag *diag) {
  if (!diag) return "";
  pthread_mutex_lock(&diag->lock);
  if (!diag->errors) diag->errors = errors_join(diag);
  const char *text = diag->errors && *diag->errors ? diag->errors : diag->unkept;
  pthread_mutex_unlock(&diag->lock);
  return text;
}

/* Length of text without the UTF-8 character that a cut at the end has torn, if any. */
static int64_t whole_characters(const char *text, int64_t n) {
  int64_t start = n;
  while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) start--;
  if (start == 0) return n;
  unsigned char lead = (unsigned char)text[start - 1];
  int64_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  return start - 1 + length > n ? start - 1 : n;
}

static __attribute__((format(printf, 4, 0))) void append(tn_diag *diag, int32_t severity,
                                                         tn_status status, const char *format,
                                                         va_list args) {
  if (!diag) return;
  char text[MESSAGE_MAX + 1];
  int n = vsnprintf(text, sizeof text, format, args);
  if (n <= 0) return; /* 0: of what is no error TENON_MESSAGES=OFF may leave no word */
  int64_t length = n > MESSAGE_MAX ? whole_characters(text, MESSAGE_MAX) : n;
  tn_text_tame_line(text, length);
  pthread_mutex_lock(&diag->lock);
  message m = {tn_arena_strn(&diag->arena, text, length), severity, status};
  if (m.text && tn_vec_push(diag->arena.a, &diag->messages, m) == TN_OK)
    diag->errors = NULL;
  else if (severity == TN_DIAG_ERROR && !*diag->unkept)
    snprintf(diag->unkept, sizeof diag->unkept, "%.*s",
             (int)whole_characters(text, tn_min_i64(length, UNKEPT - 1)), text);
  pthread_mutex_unlock(&diag->lock);
}

void tn_diag_addv(tn_diag *diag, int32_t severity, const char *format, va_list args) {
  append(diag, severity, TN_OK, format, args);
}

void(tn_diag_add)(tn_diag *diag, int32_t severity, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tn_diag_addv(diag, severity, format, args);
  va_end(args);
}

tn_status(tn_fail)(tn_diag *diag, tn_status code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  append(diag, TN_DIAG_ERROR, code, format, args);
  va_end(args);
  return code;
}

tn_status tn_fail_terse(tn_diag *diag, tn_status code, const char *name) {
  return (tn_fail)(diag, code, "%s%s%s", name ? name : "", name ? ": " : "", tn_status_text(code));
}

void tn_error_text(char *text, size_t size, tn_status code, const char *format, va_list args) {
  if (*format)
    vsnprintf(text, size, format, args);
  else
    snprintf(text, size, "%s", tn_status_text(code));
}

void tn_diag_forgive(tn_diag *diag, int64_t first) {
  if (!diag) return;
  pthread_mutex_lock(&diag->lock);
  for (int64_t k = first; k < diag->messages.n; k++) {
    message *m = &diag->messages.data[k];
    if (m->severity != TN_DIAG_ERROR) continue;
    m->severity = TN_DIAG_NOTE;
    m->status = TN_OK;
    diag->errors = NULL;
  }
  *diag->unkept = 0;
  pthread_mutex_unlock(&diag->lock);
}

static __attribute__((format(printf, 4, 5))) void append_text(tn_diag *diag, int32_t severity,
                                                              tn_status status, const char *format,
                                                              ...) {
  va_list args;
  va_start(args, format);
  append(diag, severity, status, format, args);
  va_end(args);
}

void tn_diag_append(tn_diag *diag, const tn_diag *from, const char *prefix) {
  int64_t n = diag == from ? 0 : tn_diag_count(from);
  for (int64_t i = 0; i < n; i++) {
    int32_t severity = TN_DIAG_NOTE;
    const char *text = tn_diag_message(from, i, &severity);
    append_text(diag, severity, tn_diag_message_status(from, i), "%s%s%s", prefix ? prefix : "",
                prefix ? ": " : "", text);
  }
}

tn_status tn_answer_status(tn_status answer, char *text, size_t size) {
  if (answer == TN_OK) {
    if (size) *text = 0;
    return answer;
  }
  if (tn_is_status(answer)) {
    snprintf(text, size, "%s", tn_status_text(answer));
    return answer;
  }
  snprintf(text, size, "it answered %d, which is no status it may answer", answer);
  return TN_ERR_INTERNAL;
}
