/* Finding arguments of a parsed schema. */
#include <string.h>

#include "graph/schema_parse.h"

static const tn_arg *nth_role(const tn_schema *s, tn_role role, int32_t k) {
  for (int32_t i = 0; i < s->n_args && k >= 0; i++) {
    if (s->args[i].role == role && k-- == 0) return &s->args[i];
  }
  return NULL;
}

const tn_arg *tn_schema_input(const tn_schema *s, int32_t k) {
  return k < s->n_inputs ? nth_role(s, TN_ROLE_INPUT, k) : NULL;
}

const tn_arg *tn_schema_output(const tn_schema *s, int32_t k) {
  if (k < 0 || k >= s->n_outputs) return NULL;
  const tn_arg *out = nth_role(s, TN_ROLE_OUT, k);
  return out ? out : &s->returns[k];
}

const tn_arg *tn_schema_find(const tn_schema *s, const char *name) {
  for (int32_t k = 0; k < s->n_args; k++) {
    if (strcmp(s->args[k].name, name) == 0) return &s->args[k];
  }
  for (int32_t k = 0; k < s->n_returns; k++) {
    if (strcmp(s->returns[k].name, name) == 0) return &s->returns[k];
  }
  return NULL;
}

typedef const tn_arg *(*nth_fn)(const tn_schema *, int32_t);

/* Several lists share what the other arguments leave in equal parts, as the foreach operators of
 * ATen do. */
static const tn_arg *flattened(const tn_schema *s, nth_fn nth, int32_t index, int32_t n) {
  int32_t n_single = 0, n_lists = 0;
  for (int32_t k = 0; nth(s, k); k++) *(nth(s, k)->list ? &n_lists : &n_single) += 1;
  const int32_t rest = n > n_single ? n - n_single : 0;
  const int32_t share = n_lists ? rest / n_lists : 0;
  if (index < 0 || index >= n || n > n_single + share * n_lists) return NULL;
  int32_t begin = 0;
  for (int32_t k = 0; nth(s, k); k++) {
    begin += nth(s, k)->list ? share : 1;
    if (index < begin) return nth(s, k);
  }
  return NULL;
}

const tn_arg *tn_schema_input_of(const tn_schema *s, int32_t index, int32_t n) {
  if (!s->input_lists) return index < n ? tn_schema_input(s, index) : NULL;
  return flattened(s, tn_schema_input, index, n);
}

const tn_arg *tn_schema_output_of(const tn_schema *s, int32_t index, int32_t n) {
  if (!s->output_lists) return index < n ? tn_schema_output(s, index) : NULL;
  return flattened(s, tn_schema_output, index, n);
}

bool tn_schema_may_end_early(const tn_schema *s) {
  bool behind = false;
  if (!s->input_lists) return true;
  for (int32_t k = 0; k < s->n_inputs; k++) {
    if (behind) return false;
    behind = tn_schema_input(s, k)->list;
  }
  return true;
}
