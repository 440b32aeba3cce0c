/* RegexFullMatch. State: the compiled pattern. Scratch of a worker: room for the machine. */
#include "letters.h"
#include "regex.h"
#include "strings.h"

static tn_str pattern_of(const tn_call *call) {
  const tn_regex_full_match_attrs *a = call->attrs;
  return a->has_pattern ? a->pattern : (tn_str){"", 0};
}

tn_status strings_compile(const tn_call *call, tn_str pattern, regex *r) {
  if (regex_compile(pattern, r)) return TN_OK;
  return call->host->fail(call->ctx, r->unsupported ? TN_ERR_UNSUPPORTED : TN_ERR_INVALID,
                          "%sthe pattern, at byte %lld: %s",
                          r->unsupported ? "not supported: " : "", (long long)r->where, r->problem);
}

uint64_t strings_regex_bytes(const regex *r) {
  return sizeof *r + (uint64_t)r->n_steps * sizeof *r->steps +
         (uint64_t)r->n_ranges * sizeof *r->ranges;
}

tn_status regex_full_match_infer(const tn_call *call) {
  regex r = {.steps = NULL};
  tn_infer_shape(call, 0, TN_BOOL, call->inputs[0]->rank, call->inputs[0]->shape);
  return strings_compile(call, pattern_of(call), &r);
}

tn_status regex_full_match_plan(const tn_call *call, tn_kernel_plan *out) {
  regex r = {.steps = NULL};
  tn_status s = strings_compile(call, pattern_of(call), &r);
  out->items[0] = tn_elements(call->inputs[0]);
  out->elements_per_item = 1;
  out->grain[0] = 4;
  out->state_bytes = strings_regex_bytes(&r);
  out->worker_scratch_bytes = (uint64_t)r.n_steps * 4 * sizeof(int32_t);
  return s;
}

tn_status strings_compile_into(const tn_call *call, tn_str pattern, void *memory) {
  regex *r = memory;
  *r = (regex){.steps = NULL};
  tn_status s = strings_compile(call, pattern, r);
  r->steps = (regex_step *)(void *)(r + 1);
  r->ranges = (regex_range *)(void *)(r->steps + r->n_steps);
  return s ? s : strings_compile(call, pattern, r);
}

tn_status regex_full_match_prepare(const tn_call *call) {
  return strings_compile_into(call, pattern_of(call), call->state);
}

tn_status regex_full_match_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  int32_t *room =
      (int32_t *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  (void)stage;
  for (int64_t k = begin; k < end; k++)
    ((uint8_t *)call->outputs[0]->data)[k] =
        regex_match(call->state, strings_of(call->inputs[0])[k], room);
  return TN_OK;
}

/* ---- reference: one way after the other; tried[step][byte] keeps it from trying one twice ---- */

static bool ways(const regex *r, tn_str text, int32_t step, int64_t at, uint32_t before,
                 uint8_t *tried) {
  uint8_t *mark = &tried[(int64_t)step * (text.size + 1) + at];
  const regex_step *s = &r->steps[step];
  int64_t n = 0;
  uint32_t c = at < text.size ? letter_read(text.data + at, text.size - at, &n) : REGEX_EDGE;
  if (*mark) return false;
  *mark = 1;
  switch (s->op) {
    case REGEX_MATCH: return at == text.size;
    case REGEX_SET:
      return at < text.size && regex_in_set(r, s, c) && ways(r, text, step + 1, at + n, c, tried);
    case REGEX_JUMP: return ways(r, text, step + s->a, at, before, tried);
    case REGEX_SPLIT:
      return ways(r, text, step + s->a, at, before, tried) ||
             ways(r, text, step + s->b, at, before, tried);
    default: return regex_passes(s, before, c) && ways(r, text, step + 1, at, before, tried);
  }
}

tn_status regex_full_match_reference(const tn_call *call) {
  tn_kernel_plan plan = {.n_stages = 1};
  tn_status s = regex_full_match_plan(call, &plan);
  regex *r = s ? NULL : call->host->alloc(call->ctx, plan.state_bytes);
  if (!r) return s ? s : TN_ERR_MEMORY;
  s = strings_compile_into(call, pattern_of(call), r);
  for (int64_t k = 0; k < tn_elements(call->inputs[0]) && !s; k++) {
    tn_str text = strings_of(call->inputs[0])[k];
    uint8_t *tried = call->host->alloc(call->ctx, (uint64_t)r->n_steps * (uint64_t)(text.size + 1));
    if (!tried)
      s = TN_ERR_MEMORY;
    else
      tn_store_i64(TN_BOOL, call->outputs[0]->data, k, ways(r, text, 0, 0, REGEX_EDGE, tried));
    call->host->free(call->ctx, tried);
  }
  call->host->free(call->ctx, r);
  return s;
}
