/* StringConcat, StringSplit and StringNormalizer. */
#include "strings.h"

#include "letters.h"

#define KERNEL(name)                                                              \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)begin, (void)end, (void)worker;

tn_status strings_dynamic_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

char *strings_room_for(const tn_call *call, strings_room *room, int64_t n) {
  if (n <= (int64_t)sizeof room->own) return room->own;
  if (n <= room->size) return room->data;
  strings_room_free(call, room);
  room->data = call->host->alloc(call->ctx, (uint64_t)n * 2);
  room->size = room->data ? n * 2 : 0;
  return room->data;
}

void strings_room_free(const tn_call *call, strings_room *room) {
  if (room->data) call->host->free(call->ctx, room->data);
  room->data = NULL;
  room->size = 0;
}

/* ---- StringConcat ---- */

tn_status string_concat_infer(const tn_call *call) { return tn_infer_broadcast(call); }

static tn_status concat_run(const tn_call *call, const tn_runs *r, strings_room *room) {
  const tn_str *x = strings_of(call->inputs[0]) + r->offset[0],
               *y = strings_of(call->inputs[1]) + r->offset[1];
  tn_status s = TN_OK;
  for (int64_t k = 0; k < r->length && !s; k++) {
    tn_str a = x[k * r->stride[0]], b = y[k * r->stride[1]];
    char *text = strings_room_for(call, room, a.size + b.size);
    if (!text) return TN_ERR_MEMORY;
    if (a.size) memcpy(text, a.data, (size_t)a.size);
    if (b.size) memcpy(text + a.size, b.data, (size_t)b.size);
    s = call->host->string_set(call->ctx, 0, r->index + k, text, a.size + b.size);
  }
  return s;
}

KERNEL(string_concat_c)
tn_broadcast b;
strings_room room = {.data = NULL};
tn_status s = tn_broadcast_init(&b, call->outputs[0], 2, call->inputs);
if (s) return s;
tn_runs r = tn_runs_begin(&b, 0, tn_elements(call->outputs[0]));
while (!s && tn_runs_next(&r)) s = concat_run(call, &r, &room);
strings_room_free(call, &room);
return s;
}

/* ---- StringSplit ---- */

tn_status string_split_infer(const tn_call *call) {
  const tn_string_split_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t dims[TN_MAX_RANK + 1];
  if (x->rank >= TN_MAX_RANK)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "the result would have rank %d",
                            x->rank + 1);
  if (a->has_maxsplit && a->maxsplit < 0)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'maxsplit' is %lld",
                            (long long)a->maxsplit);
  for (int32_t k = 0; k < x->rank; k++) dims[k] = x->shape[k];
  dims[x->rank] = TN_DIM_UNKNOWN;
  tn_infer_shape(call, 0, TN_STRING, x->rank + 1, dims);
  tn_infer_shape(call, 1, TN_I64, x->rank, x->shape);
  return TN_OK;
}

/* Takes the next part off the front of *rest; false: there is none. */
typedef struct splitter {
  tn_str delimiter; /* size 0: white space */
  int64_t left;     /* splits that may still be made */
  tn_str rest;
  bool done;
} splitter;

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool at_delimiter(const splitter *s, int64_t k) {
  if (!s->delimiter.size) return is_blank(s->rest.data[k]);
  return s->rest.size - k >= s->delimiter.size &&
         !memcmp(s->rest.data + k, s->delimiter.data, (size_t)s->delimiter.size);
}

static bool next_part(splitter *s, tn_str *out) {
  const bool words = !s->delimiter.size;
  while (words && s->rest.size > 0 && is_blank(*s->rest.data)) s->rest.data++, s->rest.size--;
  if (s->done || (words && !s->rest.size)) return false;
  int64_t k = s->left > 0 ? 0 : s->rest.size;
  while (k < s->rest.size && !at_delimiter(s, k)) k++;
  *out = (tn_str){s->rest.data, k};
  s->done = k == s->rest.size;
  s->left--;
  if (!s->done) {
    k += words ? 1 : s->delimiter.size;
    s->rest.data += k;
    s->rest.size -= k;
  }
  return true;
}

static splitter splitter_of(const tn_call *call, tn_str text) {
  const tn_string_split_attrs *a = call->attrs;
  return (splitter){.delimiter = a->has_delimiter ? a->delimiter : (tn_str){"", 0},
                    .left = a->has_maxsplit ? a->maxsplit : INT64_MAX,
                    .rest = text};
}

/* Puts the parts of string `row` into their places; the rest of the row stays empty. */
static tn_status set_parts(const tn_call *call, int64_t row, int64_t width) {
  splitter parts = splitter_of(call, strings_of(call->inputs[0])[row]);
  tn_str part;
  tn_status s = TN_OK;
  for (int64_t k = 0; k < width && !s; k++) {
    if (!next_part(&parts, &part)) part = (tn_str){"", 0};
    s = call->host->string_set(call->ctx, 0, row * width + k, part.data, part.size);
  }
  return s;
}

KERNEL(string_split_c)
const tn_tensor *x = call->inputs[0];
const int64_t n = tn_elements(x);
int64_t width = 0, dims[TN_MAX_RANK];
tn_status s =
    tn_has_output(call, 1) ? call->host->output_resize(call->ctx, 1, x->rank, x->shape) : TN_OK;
for (int64_t k = 0; k < n && !s; k++) {
  splitter parts = splitter_of(call, strings_of(x)[k]);
  tn_str part;
  int64_t count = 0;
  while (next_part(&parts, &part)) count++;
  if (tn_has_output(call, 1)) ((int64_t *)call->outputs[1]->data)[k] = count;
  width = tn_max_i64(width, count);
}
for (int32_t k = 0; k < x->rank; k++) dims[k] = x->shape[k];
dims[x->rank] = width;
if (!s) s = call->host->output_resize(call->ctx, 0, x->rank + 1, dims);
for (int64_t k = 0; k < n && !s; k++) s = set_parts(call, k, width);
return s;
}

/* ---- StringNormalizer ---- */

tn_status string_normalizer_infer(const tn_call *call) {
  const tn_string_normalizer_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t dims[2] = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN};
  if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->shape[0] != 1))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X must have shape [C] or [1, C]");
  if (!tn_str_is(a->case_change_action, "NONE") && !tn_str_is(a->case_change_action, "LOWER") &&
      !tn_str_is(a->case_change_action, "UPPER"))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'case_change_action' is neither LOWER, UPPER nor NONE");
  if (x->rank == 2) dims[0] = 1;
  if (!a->stopwords.size) dims[x->rank - 1] = tn_max_i64(x->shape[x->rank - 1], 1);
  tn_infer_shape(call, 0, TN_STRING, x->rank, dims);
  return TN_OK;
}

static bool equal_in_lower_case(tn_str a, tn_str b) {
  if (a.size != b.size) return false; /* both cases of a letter have the same number of bytes */
  for (int64_t k = 0, n = 1; k < a.size; k += n) {
    int64_t n_b;
    if (letter_to(letter_read(a.data + k, a.size - k, &n), CASE_LOWER) !=
        letter_to(letter_read(b.data + k, b.size - k, &n_b), CASE_LOWER))
      return false;
  }
  return true;
}

static bool is_stopword(const tn_string_normalizer_attrs *a, tn_str text) {
  for (int64_t k = 0; k < a->stopwords.size; k++)
    if (a->is_case_sensitive ? strings_equal(text, a->stopwords.data[k])
                             : equal_in_lower_case(text, a->stopwords.data[k]))
      return true;
  return false;
}

static tn_status set_in_case(const tn_call *call, int64_t index, tn_str text, letter_case to,
                             strings_room *room) {
  if (to == CASE_NONE) return call->host->string_set(call->ctx, 0, index, text.data, text.size);
  char *out = strings_room_for(call, room, text.size);
  if (!out) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < text.size;) k += letter_copy(text.data + k, text.size - k, to, out + k);
  return call->host->string_set(call->ctx, 0, index, out, text.size);
}

KERNEL(string_normalizer_c)
const tn_string_normalizer_attrs *a = call->attrs;
const tn_tensor *x = call->inputs[0];
const letter_case to = tn_str_is(a->case_change_action, "LOWER")   ? CASE_LOWER
                       : tn_str_is(a->case_change_action, "UPPER") ? CASE_UPPER
                                                                   : CASE_NONE;
strings_room room = {.data = NULL};
int64_t kept = 0, n = tn_elements(x);
for (int64_t k = 0; k < n; k++) kept += !is_stopword(a, strings_of(x)[k]);
int64_t dims[2] = {1, 1};
dims[x->rank - 1] = tn_max_i64(kept, 1); /* nothing left: the one string of a new tensor is empty */
tn_status s = call->host->output_resize(call->ctx, 0, x->rank, dims);
if (!s && !kept) s = call->host->string_set(call->ctx, 0, 0, "", 0);
for (int64_t k = 0, place = 0; k < n && !s; k++)
  if (!is_stopword(a, strings_of(x)[k]))
    s = set_in_case(call, place++, strings_of(x)[k], to, &room);
strings_room_free(call, &room);
return s;
}

/* ---- tenon::StringCase ---- */

tn_status string_case_infer(const tn_call *call) {
  const tn_string_case_attrs *a = call->attrs;
  tn_infer_shape(call, 0, TN_STRING, call->inputs[0]->rank, call->inputs[0]->shape);
  if (tn_str_is(a->to, "LOWER") || tn_str_is(a->to, "UPPER")) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'to' is neither LOWER nor UPPER");
}

static tn_status set_in_ascii_case(const tn_call *call, int64_t index, tn_str text, bool lower,
                                   strings_room *room) {
  char *out = strings_room_for(call, room, text.size);
  if (!out) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < text.size; k++) {
    const char c = text.data[k];
    const bool turns = lower ? c >= 'A' && c <= 'Z' : c >= 'a' && c <= 'z';
    out[k] = (char)(turns ? c ^ 0x20 : c);
  }
  return call->host->string_set(call->ctx, 0, index, out, text.size);
}

KERNEL(string_case_c)
const tn_string_case_attrs *a = call->attrs;
const bool lower = tn_str_is(a->to, "LOWER");
strings_room room = {.data = NULL};
tn_status s = TN_OK;
for (int64_t k = 0; k < tn_elements(call->inputs[0]) && !s; k++) {
  const tn_str text = strings_of(call->inputs[0])[k];
  s = a->ascii ? set_in_ascii_case(call, k, text, lower, &room)
               : set_in_case(call, k, text, lower ? CASE_LOWER : CASE_UPPER, &room);
}
strings_room_free(call, &room);
return s;
}
