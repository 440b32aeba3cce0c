/* What the environment says: for tests, and for whoever wants to see a fault. */
#include <stdlib.h>
#include <string.h>

#include "shadow.h"

static bool take_fault(shadow_faults *f, const char *text, size_t n) {
  const struct {
    const char *name;
    int64_t *count;
  } kinds[] = {{"open", &f->open},       {"buffer", &f->buffer}, {"map", &f->map},
               {"program", &f->program}, {"submit", &f->submit}, {"lost", &f->lost},
               {"hang", &f->hang},       {"queue", &f->queue},   {"record", &f->record}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    const size_t length = strlen(kinds[k].name);
    if (n < length || memcmp(text, kinds[k].name, length)) continue;
    *kinds[k].count = n > length && text[length] == '@' ? strtoll(text + length + 1, NULL, 10) : -1;
    return n == length || text[length] == '@';
  }
  return false;
}

static bool take_word(shadow_settings *s, const char *word, size_t n) {
  const struct {
    const char *name;
    uint64_t *value;
  } numbers[] = {{"seed=", &s->seed},      {"delay=", &s->delay_us}, {"hide=", &s->hide},
                 {"speed=", &s->speed},    {"memory=", &s->memory},  {"align=", &s->alignment},
                 {"devices=", &s->devices}};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    const size_t length = strlen(numbers[k].name);
    if (n <= length || memcmp(word, numbers[k].name, length)) continue;
    *numbers[k].value = strtoull(word + length, NULL, 10);
    return true;
  }
  if (n == 5 && !memcmp(word, "order", n)) return s->in_order = true;
  if (n == 4 && !memcmp(word, "open", n)) return s->open_memory = true;
  return n > 6 && !memcmp(word, "fault=", 6) && take_fault(&s->faults, word + 6, n - 6);
}

tn_status shadow_settings_read(const tn_device_call *c, shadow_settings *out) {
  *out = (shadow_settings){.seed = 1, .delay_us = 20, .speed = 100, .alignment = 64, .devices = 1};
  const char *text = secure_getenv("TENON_SHADOW");
  for (const char *p = text; p && *p;) {
    const size_t n = strcspn(p, ",");
    if (!take_word(out, p, n))
      return c->host->fail(c->ctx, TN_ERR_INVALID,
                           "TENON_SHADOW: '%.*s' is none of seed=N, delay=US, hide=PERCENT, "
                           "speed=PERCENT, memory=BYTES, align=N, devices=N, order, open, "
                           "fault=open|buffer|map|program|queue|record|submit|lost|hang[@N]",
                           (int)n, p);
    p += n + (p[n] == ',');
  }
  return TN_OK;
}
