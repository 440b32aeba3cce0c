/* Graphs in case lines:
 *
 *   graph := "{" [names] "->" names [":" node {";" node}] "}"
 *   node  := names "=" operator "(" [argument {"," argument}] ")" | name "=" tensor
 *   argument := name | "_" | name "=" (value | graph)
 *
 * Names that a graph does not give are those of the graph around it: the arguments of the node and
 * the values written with "@". */
#include <ctype.h>
#include <string.h>

#include "harness/harness.h"

static bool names(check_parser *s, const char ***out, int32_t *out_n) {
  const char **list = check_parse_room(s, (strlen(s->p) + 1) * sizeof *list);
  *out = list;
  do {
    check_parse_spaces(s);
    list[*out_n] = check_parse_word(s);
    if (!*list[(*out_n)++]) return check_parse_bad(s, "expected a name");
    check_parse_spaces(s);
  } while (check_parse_take(s, ','));
  return true;
}

/* "Add", "com.acme::Foo" */
static bool operator_name(check_parser *s, check_node *n) {
  const char *begin = s->p, *colons = NULL;
  for (; isalnum((unsigned char)*s->p) || (*s->p && strchr("_.:", *s->p)); s->p++)
    if (!strncmp(s->p, "::", 2)) colons = s->p;
  n->domain = colons ? tn_arena_strn(s->arena, begin, colons - begin) : "";
  if (colons) begin = colons + 2;
  n->op = tn_arena_strn(s->arena, begin, s->p - begin);
  check_need(n->domain && n->op ? s : NULL);
  return *n->op || check_parse_bad(s, "expected an operator");
}

static bool attribute(check_parser *s, check_node *n, const char *name) {
  check_attr *a = &n->attrs[n->n_attrs++];
  a->value = (tn_attr){.head = TN_HEAD(tn_attr), .name = name};
  if (*s->p != '{') return check_parse_value(s, &a->value);
  a->value.kind = TN_ATTR_GRAPH;
  return check_parse_graph(s, &a->graph);
}

static bool argument(check_parser *s, check_node *n) {
  check_parse_spaces(s);
  const char *name = check_parse_word(s);
  if (!*name) return check_parse_bad(s, "expected an input or an attribute");
  if (!check_parse_take(s, '='))
    n->inputs[n->n_inputs++] = name;
  else if (!attribute(s, n, name))
    return false;
  check_parse_spaces(s);
  return true;
}

static bool operation(check_parser *s, check_node *n) {
  n->inputs = check_parse_room(s, (strlen(s->p) + 1) * sizeof *n->inputs);
  n->attrs = check_parse_room(s, (strlen(s->p) / 2 + 1) * sizeof *n->attrs);
  if (!operator_name(s, n) || !check_parse_expect(s, '(')) return false;
  check_parse_spaces(s);
  if (check_parse_take(s, ')')) return true;
  do
    if (!argument(s, n)) return false;
  while (check_parse_take(s, ','));
  return check_parse_expect(s, ')');
}

static bool node(check_parser *s, check_node *n) {
  if (!names(s, &n->outputs, &n->n_outputs) || !check_parse_expect(s, '=')) return false;
  check_parse_spaces(s);
  const char *at = s->p;
  (void)check_parse_word(s);
  const bool is_tensor = *s->p == '[';
  s->p = at;
  if (!is_tensor) return operation(s, n);
  n->constant = check_parse_room(s, sizeof *n->constant);
  return check_parse_tensor(s, n->constant);
}

static bool nodes(check_parser *s, check_graph *g) {
  g->nodes = check_parse_room(s, (strlen(s->p) / 4 + 1) * sizeof *g->nodes);
  do {
    if (!node(s, &g->nodes[g->n_nodes++])) return false;
    check_parse_spaces(s);
  } while (check_parse_take(s, ';'));
  return true;
}

bool check_parse_graph(check_parser *s, check_graph **out) {
  check_graph *g = *out = check_parse_room(s, sizeof *g);
  if (!check_parse_expect(s, '{')) return false;
  check_parse_spaces(s);
  if (*s->p != '-' && !names(s, &g->inputs, &g->n_inputs)) return false;
  if (!check_parse_expect(s, '-') || !check_parse_expect(s, '>')) return false;
  if (!names(s, &g->outputs, &g->n_outputs)) return false;
  if (check_parse_take(s, ':') && !nodes(s, g)) return false;
  return check_parse_expect(s, '}');
}
