/* tenon::RegexReplace. Of all matches the one that begins first counts, and of those the one that
 * the pattern tries first (RE2's, and Perl's, order): the machine keeps its steps in that order
 * (Pike 1987). State: the compiled pattern. Scratch: room for the machine. */
#include "letters.h"
#include "regex.h"
#include "strings.h"

typedef struct thread {
  int64_t step, start;
} thread;

typedef struct finder {
  const regex *r;
  tn_str text;
  thread *now, *next;
  int64_t *stack, *seen; /* 2 * n_steps + 1 of the first */
  int64_t n_now, n_next, round;
} finder;

static uint64_t room_bytes(const regex *r) {
  return (uint64_t)r->n_steps * (2 * sizeof(thread) + 3 * sizeof(int64_t)) + sizeof(int64_t);
}

static finder finder_in(void *room, const regex *r, tn_str text) {
  const size_t n = (size_t)r->n_steps;
  thread *threads = room;
  int64_t *numbers = (int64_t *)(void *)(threads + 2 * n);
  memset(numbers, 0, n * sizeof *numbers);
  return (finder){.r = r,
                  .text = text,
                  .now = threads,
                  .next = threads + n,
                  .seen = numbers,
                  .stack = numbers + n};
}

static uint32_t letter_at(tn_str text, int64_t at, int64_t *bytes) {
  *bytes = 0;
  return at < text.size ? letter_read(text.data + at, text.size - at, bytes) : REGEX_EDGE;
}

/* Adds, in the order of the pattern, the steps that read or end and can be reached from one. */
static void follow(finder *f, int64_t step, int64_t start, uint32_t before, uint32_t after) {
  int64_t n = 0;
  f->stack[n++] = step;
  while (n > 0) {
    const int64_t at = f->stack[--n];
    const regex_step *s = &f->r->steps[at];
    if (f->seen[at] == f->round) continue;
    f->seen[at] = f->round;
    if (s->op == REGEX_SET || s->op == REGEX_MATCH)
      f->next[f->n_next++] = (thread){at, start};
    else if (s->op == REGEX_JUMP)
      f->stack[n++] = at + s->a;
    else if (s->op == REGEX_SPLIT)
      f->stack[n++] = at + s->b, f->stack[n++] = at + s->a;
    else if (regex_passes(s, before, after))
      f->stack[n++] = at + 1;
  }
}

static void turn(finder *f) {
  thread *swap = f->now;
  f->now = f->next;
  f->next = swap;
  f->n_now = f->n_next;
  f->n_next = 0;
  f->round++;
}

/* The first match at or behind `from`, whose letter before is given. */
static bool find(finder *f, int64_t from, uint32_t before, int64_t *out_start, int64_t *out_end) {
  bool found = false;
  int64_t n, n_after;
  uint32_t c = letter_at(f->text, from, &n);
  f->n_next = 0;
  f->round++;
  for (int64_t at = from;; at += n, n = n_after) {
    if (!found) follow(f, 0, at, before, c);
    turn(f);
    const uint32_t after = letter_at(f->text, at + n, &n_after);
    for (int64_t k = 0; k < f->n_now; k++) {
      const thread t = f->now[k];
      const regex_step *s = &f->r->steps[t.step];
      if (s->op == REGEX_MATCH) {
        found = true, *out_start = t.start, *out_end = at;
        break; /* what comes later counts less */
      }
      if (n && regex_in_set(f->r, s, c)) follow(f, t.step + 1, t.start, c, after);
    }
    if (!n || (found && !f->n_next)) return found;
    before = c;
    c = after;
  }
}

/* ---- replacing ---- */

/* What is written: out NULL, it is only counted. */
typedef struct text_sink {
  char *out;
  int64_t size;
} text_sink;

static void append(text_sink *t, const char *data, int64_t size) {
  if (t->out && size) memcpy(t->out + t->size, data, (size_t)size);
  t->size += size;
}

/* "\0" is the match, "\\" a backslash. */
static void append_rewrite(text_sink *t, tn_str rewrite, const char *match, int64_t size) {
  for (int64_t k = 0; k < rewrite.size; k++) {
    if (rewrite.data[k] != '\\') {
      append(t, rewrite.data + k, 1);
      continue;
    }
    k++;
    if (rewrite.data[k] == '0')
      append(t, match, size);
    else
      append(t, "\\", 1);
  }
}

/* An empty match where the last one ended counts as none, and a letter is passed. */
static void replace(finder *f, const tn_regex_replace_attrs *a, text_sink *t) {
  const tn_str text = f->text;
  int64_t at = 0, start = 0, end = 0, last_end = -1, n;
  uint32_t before = REGEX_EDGE;
  while (at <= text.size && find(f, at, before, &start, &end)) {
    append(t, text.data + at, start - at);
    if (start == end && start == last_end) {
      if (start == text.size) return;
      before = letter_at(text, start, &n);
      append(t, text.data + start, n);
      at = start + n;
      continue;
    }
    append_rewrite(t, a->rewrite, text.data + start, end - start);
    for (int64_t k = start; k < end; k += n) before = letter_at(text, k, &n);
    at = last_end = end;
    if (!a->replace_global) break;
  }
  if (at < text.size) append(t, text.data + at, text.size - at);
}

static tn_status replace_one(const tn_call *call, const regex *r, void *machine, int64_t index,
                             strings_room *room) {
  const tn_regex_replace_attrs *a = call->attrs;
  text_sink t = {.out = NULL};
  finder f = finder_in(machine, r, strings_of(call->inputs[0])[index]);
  replace(&f, a, &t);
  t.out = strings_room_for(call, room, t.size);
  if (!t.out) return TN_ERR_MEMORY;
  const int64_t size = t.size;
  t.size = 0;
  f = finder_in(machine, r, f.text);
  replace(&f, a, &t);
  return call->host->string_set(call->ctx, 0, index, t.out, size);
}

/* ---- the operator ---- */

static tn_str pattern_of(const tn_call *call) {
  return ((const tn_regex_replace_attrs *)call->attrs)->pattern;
}

tn_status regex_replace_infer(const tn_call *call) {
  const tn_str rewrite = ((const tn_regex_replace_attrs *)call->attrs)->rewrite;
  regex r = {.steps = NULL};
  tn_infer_shape(call, 0, TN_STRING, call->inputs[0]->rank, call->inputs[0]->shape);
  for (int64_t k = 0; k < rewrite.size; k++) {
    if (rewrite.data[k] != '\\') continue;
    const char next = ++k < rewrite.size ? rewrite.data[k] : 'x';
    if (next >= '1' && next <= '9')
      return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                              "not supported: \\%c in 'rewrite', what a group has matched", next);
    if (next != '0' && next != '\\')
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "attribute 'rewrite' has a backslash without a number");
  }
  return strings_compile(call, pattern_of(call), &r);
}

tn_status regex_replace_plan(const tn_call *call, tn_kernel_plan *out) {
  regex r = {.steps = NULL};
  const tn_status s = strings_compile(call, pattern_of(call), &r);
  out->state_bytes = strings_regex_bytes(&r);
  out->worker_scratch_bytes = room_bytes(&r);
  return s;
}

tn_status regex_replace_prepare(const tn_call *call) {
  return strings_compile_into(call, pattern_of(call), call->state);
}

tn_status regex_replace_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  void *machine = (char *)call->worker_scratch + worker * call->worker_scratch_bytes;
  strings_room room = {.data = NULL};
  tn_status s = TN_OK;
  (void)stage, (void)begin, (void)end;
  for (int64_t k = 0; k < tn_elements(call->inputs[0]) && !s; k++)
    s = replace_one(call, call->state, machine, k, &room);
  strings_room_free(call, &room);
  return s;
}

/* ---- reference: backtracking, in the order of the pattern; tried[step][byte] keeps it from trying
 * one twice ---- */

static bool ends_at(const regex *r, tn_str text, int64_t step, int64_t at, uint32_t before,
                    uint8_t *tried, int64_t *out_end) {
  const regex_step *s = &r->steps[step];
  uint8_t *mark = &tried[step * (text.size + 1) + at];
  int64_t n;
  const uint32_t c = letter_at(text, at, &n);
  if (*mark) return false;
  *mark = 1;
  switch (s->op) {
    case REGEX_MATCH: return *out_end = at, true;
    case REGEX_SET:
      return n && regex_in_set(r, s, c) && ends_at(r, text, step + 1, at + n, c, tried, out_end);
    case REGEX_JUMP: return ends_at(r, text, step + s->a, at, before, tried, out_end);
    case REGEX_SPLIT:
      return ends_at(r, text, step + s->a, at, before, tried, out_end) ||
             ends_at(r, text, step + s->b, at, before, tried, out_end);
    default:
      return regex_passes(s, before, c) && ends_at(r, text, step + 1, at, before, tried, out_end);
  }
}

/* All matches of one text, with a new attempt at each letter. */
static void replace_slowly(const regex *r, const tn_regex_replace_attrs *a, tn_str text,
                           uint8_t *tried, text_sink *t) {
  int64_t last_end = -1, end, n;
  uint32_t before = REGEX_EDGE;
  for (int64_t at = 0; at <= text.size;) {
    const uint32_t c = letter_at(text, at, &n);
    memset(tried, 0, (size_t)r->n_steps * (size_t)(text.size + 1));
    const bool once = !a->replace_global && last_end >= 0;
    if (!once && ends_at(r, text, 0, at, before, tried, &end) && (end > at || at != last_end)) {
      append_rewrite(t, a->rewrite, text.data + at, end - at);
      for (; at < end; at += n) before = letter_at(text, at, &n);
      last_end = end;
      continue;
    }
    append(t, text.data + at, n);
    before = c;
    at += n ? n : 1;
  }
}

tn_status regex_replace_reference(const tn_call *call) {
  const tn_regex_replace_attrs *a = call->attrs;
  regex counted = {.steps = NULL};
  tn_status s = strings_compile(call, pattern_of(call), &counted);
  regex *r = s ? NULL : call->host->alloc(call->ctx, strings_regex_bytes(&counted));
  if (!r) return s ? s : TN_ERR_MEMORY;
  s = strings_compile_into(call, pattern_of(call), r);
  for (int64_t k = 0; k < tn_elements(call->inputs[0]) && !s; k++) {
    const tn_str text = strings_of(call->inputs[0])[k];
    const int64_t most = text.size + (text.size + 1) * (text.size + 1) * (a->rewrite.size + 1);
    uint8_t *tried = call->host->alloc(call->ctx, (uint64_t)r->n_steps * (uint64_t)(text.size + 1));
    char *out = call->host->alloc(call->ctx, (uint64_t)most);
    text_sink t = {.out = out};
    if (out && tried) replace_slowly(r, a, text, tried, &t);
    s = out && tried ? call->host->string_set(call->ctx, 0, k, t.out, t.size) : TN_ERR_MEMORY;
    call->host->free(call->ctx, out);
    call->host->free(call->ctx, tried);
  }
  call->host->free(call->ctx, r);
  return s;
}
