/* Reads schemas of the form that tn_schema_print_numbers gives them; see schema.h. */
#include "without/schema.h"

#include <stdlib.h>
#include <string.h>

#include "graph/schema_parse.h"

/* The first status that is none stays; what is read after it has no meaning. */
typedef struct reader {
  const char *at;
  tn_arena *arena;
  tn_status status;
} reader;

static bool take(reader *r, const char *token) {
  const size_t n = strlen(token);
  if (strncmp(r->at, token, n) != 0) return false;
  r->at += n;
  return true;
}

static void stop(reader *r, tn_status status) {
  if (!r->status) r->status = status;
}

static void *room(reader *r, uint64_t bytes) {
  void *p = r->status ? NULL : tn_arena_alloc(r->arena, bytes);
  if (!p) stop(r, TN_ERR_MEMORY);
  return p;
}

/* The text up to one of `ends`. */
static const char *text_until(reader *r, const char *ends) {
  const size_t n = strcspn(r->at, ends);
  char *text = room(r, n + 1);
  if (text) memcpy(text, r->at, n);
  r->at += n;
  return text;
}

/* In the order of tn_base_type. */
static const char base_names[] =
    "Tensor int bool float str Scalar ScalarType MemoryFormat Device Layout Dimname Generator "
    "Graph Storage Stream QScheme ";

static tn_base_type read_base(reader *r) {
  const size_t n = strcspn(r->at, "( []?,)");
  int base = 0;
  for (const char *p = base_names; *p; p = strchr(p, ' ') + 1, base++) {
    if (strncmp(p, r->at, n) != 0 || p[n] != ' ') continue;
    r->at += n;
    return (tn_base_type)base;
  }
  stop(r, TN_ERR_INVALID);
  return TN_TYPE_TENSOR;
}

static void read_type(reader *r, tn_arg *arg) {
  arg->list_size = arg->present_offset = -1;
  arg->base = read_base(r);
  if (take(r, "(")) {
    arg->alias = text_until(r, ")");
    arg->written = arg->alias && strchr(arg->alias, '!');
    r->at++;
  }
  arg->optional = take(r, "?");
  if (take(r, "[")) {
    char *end;
    arg->list = true;
    arg->optional_element = arg->optional;
    if (*r->at != ']') arg->list_size = strtoll(r->at, &end, 10);
    r->at = strchr(r->at, ']') + 1;
    arg->optional = take(r, "?");
  }
}

static tn_str read_string(reader *r) {
  const char *from = ++r->at; /* behind the quote */
  while (*r->at != '"') r->at += *r->at == '\\' ? 2 : 1;
  char *text = room(r, (uint64_t)(r->at++ - from) + 1);
  int64_t n = 0;
  for (; text && *from != '"'; from++) {
    const bool is_escape = *from == '\\';
    from += is_escape;
    text[n++] = !is_escape ? *from : *from == 'n' ? '\n' : *from == 't' ? '\t' : *from;
  }
  return (tn_str){text, n};
}

/* One element of a default, as tn_schema_print_numbers writes it. */
static void read_element(reader *r, tn_arg *arg, int64_t k) {
  char *end = NULL;
  if (*r->at == '"')
    arg->default_strs[k] = read_string(r);
  else if (arg->base == TN_TYPE_BOOL)
    arg->default_ints[k] = take(r, "True") || !take(r, "False"); /* one of the two is there */
  else if (arg->base == TN_TYPE_FLOAT || arg->base == TN_TYPE_SCALAR)
    arg->default_floats[k] = tn_text_number(r->at, &end);
  else
    arg->default_ints[k] = strtoll(r->at, &end, 10);
  if (end == r->at) stop(r, TN_ERR_UNSUPPORTED); /* a name */
  if (end) r->at = end;
}

static void read_default(reader *r, tn_arg *arg) {
  uint64_t n = 1;
  arg->has_default = true;
  for (const char *p = r->at; *p; p++) n += *p == ','; /* more than there are: room to spare */
  arg->default_ints = room(r, n * sizeof *arg->default_ints);
  arg->default_floats = room(r, n * sizeof *arg->default_floats);
  arg->default_strs = room(r, n * sizeof *arg->default_strs);
  if (take(r, "None")) {
    arg->n_default = -1;
    return;
  }
  const bool is_list = take(r, "[");
  for (bool more = !is_list || !take(r, "]"); more && !r->status;) {
    read_element(r, arg, arg->n_default++);
    more = is_list && take(r, ", ");
    if (is_list && !more && !take(r, "]")) stop(r, TN_ERR_INVALID);
  }
}

/* Those up to ")" or the end. */
static tn_arg *read_args(reader *r, bool are_returns, int32_t *out_n) {
  uint64_t n = 1;
  for (const char *p = r->at; *p; p++) n += *p == ',';
  tn_arg *args = room(r, n * sizeof *args);
  bool keyword_only = false;
  for (*out_n = 0; !r->status && *r->at && !take(r, ")"); take(r, ", ")) {
    keyword_only |= take(r, "*, ");
    tn_arg *arg = &args[(*out_n)++];
    arg->keyword_only = keyword_only;
    read_type(r, arg);
    if (are_returns) arg->role = TN_ROLE_OUT;
    if (*r->at++ != ' ') stop(r, TN_ERR_INVALID);
    arg->name = text_until(r, ",)=");
    if (take(r, "=")) read_default(r, arg);
  }
  return args;
}

tn_status tn_schema_trust(const char *text, tn_arena *arena, tn_schema *out_schema) {
  reader r = {.at = text, .arena = arena};
  tn_schema s = {.overload = ""};
  s.name = text_until(&r, ".(");
  if (take(&r, ".")) s.overload = text_until(&r, "(");
  if (!take(&r, "(")) stop(&r, TN_ERR_INVALID);
  s.args = read_args(&r, false, &s.n_args);
  if (!take(&r, " -> ")) stop(&r, TN_ERR_INVALID);
  take(&r, "("); /* one return stands without */
  s.returns = read_args(&r, true, &s.n_returns);
  if (r.status) return r.status;
  tn_schema_lay_out(&s);
  *out_schema = s;
  return TN_OK;
}
