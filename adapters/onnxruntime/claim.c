/* What the provider takes of a graph: all nodes whose operators there are, in as few parts as may
 * be. A part has no path through a node of somebody else: parts are the taken nodes that as many
 * changes between taken and left nodes lead to, on the path with the most of them. Each part is
 * made a model of before it is claimed; one that Tenon refuses is left, with the reason in the
 * log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"

enum { LEAST_NODES = 2 }; /* of a part that is not the whole graph */

typedef struct entry {
  const ort_node *node;
  size_t id;
  int32_t changes; /* on the way to it */
  bool is_taken;
} entry;

typedef struct survey {
  const provider *p;
  entry *entries; /* in topological order */
  size_t n;
  int32_t *by_id; /* index of the entry; -1 */
  size_t n_ids;
  size_t n_claimed;
  int n_parts;
  char why[600];
} survey;

static bool has_op(const survey *s, const ort_node *node) {
  const char *domain = "", *op = "";
  int version = 0;
  size_t n_graphs = 0;
  const ort_table api = s->p->api;
  char why[100];
  if (provider_failed(
          api, ORT_CALL(api, Node_GetDomain, (const ort_node *, const char **), node, &domain), why,
          sizeof why) ||
      provider_failed(
          api, ORT_CALL(api, Node_GetOperatorType, (const ort_node *, const char **), node, &op),
          why, sizeof why) ||
      provider_failed(
          api, ORT_CALL(api, Node_GetSinceVersion, (const ort_node *, int *), node, &version), why,
          sizeof why) ||
      provider_failed(
          api, ORT_CALL(api, Node_GetNumSubgraphs, (const ort_node *, size_t *), node, &n_graphs),
          why, sizeof why))
    return false;
  return !n_graphs && tn_runtime_find_op(s->p->runtime, domain, op, version);
}

/* The entry that makes a value; NULL: it is an input or a constant. */
static const entry *producer_of(const survey *s, const ort_value_info *value) {
  const ort_table api = s->p->api;
  const ort_node *from = NULL;
  size_t id = 0;
  char why[100];
  if (!value ||
      provider_failed(
          api,
          ORT_CALL(api, ValueInfo_GetValueProducer,
                   (const ort_value_info *, const ort_node **, size_t *), value, &from, NULL),
          why, sizeof why) ||
      !from ||
      provider_failed(api, ORT_CALL(api, Node_GetId, (const ort_node *, size_t *), from, &id), why,
                      sizeof why) ||
      id >= s->n_ids || s->by_id[id] < 0)
    return NULL;
  return &s->entries[s->by_id[id]];
}

/* Adds the changes that the producers of a list of values make necessary. False: it cannot be
 * told. */
static bool see_producers(survey *s, entry *e, int count, int get) {
  const ort_table api = s->p->api;
  size_t n = 0;
  ort_status *status = ((ort_status * (*)(const void *, size_t *)) api[count])(e->node, &n);
  if (provider_failed(api, status, s->why, sizeof s->why)) return false;
  const ort_value_info **list = n ? calloc(n, sizeof *list) : NULL;
  if (!list) return !n;
  status = ((ort_status * (*)(const void *, const ort_value_info **, size_t)) api[get])(e->node,
                                                                                        list, n);
  const bool is_seen = !provider_failed(api, status, s->why, sizeof s->why);
  for (size_t k = 0; is_seen && k < n; k++) {
    const entry *before = producer_of(s, list[k]);
    const int32_t c = before ? before->changes + (before->is_taken != e->is_taken) : 0;
    if (c > e->changes) e->changes = c;
  }
  free((void *)list);
  return is_seen;
}

static bool look(survey *s) {
  for (size_t k = 0; k < s->n; k++) {
    entry *e = &s->entries[k];
    if (provider_failed(
            s->p->api,
            ORT_CALL(s->p->api, Node_GetId, (const ort_node *, size_t *), e->node, &e->id), s->why,
            sizeof s->why))
      return false;
    if (e->id >= s->n_ids) s->n_ids = e->id + 1;
  }
  s->by_id = s->n_ids < SIZE_MAX / 8 ? malloc((s->n_ids + 1) * sizeof *s->by_id) : NULL;
  if (!s->by_id) return false;
  for (size_t k = 0; k < s->n_ids; k++) s->by_id[k] = -1;
  for (size_t k = 0; k < s->n; k++) {
    entry *e = &s->entries[k];
    e->is_taken = has_op(s, e->node);
    e->changes = !e->is_taken;
    if (!see_producers(s, e, ORT_Node_GetNumInputs, ORT_Node_GetInputs) ||
        !see_producers(s, e, ORT_Node_GetNumImplicitInputs, ORT_Node_GetImplicitInputs))
      return false;
    s->by_id[e->id] = (int32_t)k;
  }
  return true;
}

enum { INFO = 1, WARNING = 2 };

static void say(const survey *s, int severity, const char *text) {
  char why[100];
  ort_status *status =
      ORT_CALL(s->p->api, Logger_LogMessage,
               (const ort_logger *, int, const char *, const char *, int, const char *),
               s->p->logger, severity, text, "tenon", 0, "claim");
  (void)provider_failed(s->p->api, status, why, sizeof why);
}

static void say_refusal(const survey *s, size_t n) {
  char text[800];
  snprintf(text, sizeof text, "Tenon leaves %zu nodes to others: %s", n, s->why);
  say(s, WARNING, text);
}

static void say_claims(const survey *s) {
  char text[200];
  snprintf(text, sizeof text, "Tenon takes %zu of %zu nodes, in %d part%s", s->n_claimed, s->n,
           s->n_parts, s->n_parts == 1 ? "" : "s");
  say(s, INFO, text);
}

/* Can Tenon run these nodes? */
static bool is_runnable(survey *s, const ort_graph *graph, const ort_node **nodes, size_t n) {
  const ort_table api = s->p->api;
  ort_graph *part = NULL;
  if (provider_failed(api,
                      ORT_CALL(api, Graph_GetGraphView,
                               (const ort_graph *, const ort_node **, size_t, ort_graph **), graph,
                               nodes, n, &part),
                      s->why, sizeof s->why))
    return false;
  tn_model *model = provider_model(s->p, part, s->why, sizeof s->why);
  ((void (*)(ort_graph *))api[ORT_ReleaseGraph])(part);
  tn_model_destroy(model);
  return model;
}

static ort_status *claim_part(survey *s, const ort_graph *graph, ort_support *support,
                              const ort_node **nodes, int32_t changes) {
  const ort_fusion how = {ORT_VERSION, true};
  size_t n = 0;
  for (size_t k = 0; k < s->n; k++)
    if (s->entries[k].is_taken && s->entries[k].changes == changes) nodes[n++] = s->entries[k].node;
  if (n == 0 || (n < LEAST_NODES && n < s->n)) return NULL;
  if (!is_runnable(s, graph, nodes, n)) {
    say_refusal(s, n);
    return NULL;
  }
  s->n_claimed += n;
  s->n_parts++;
  return ((ort_status * (*)(ort_support *, const ort_node *const *, size_t, const ort_fusion *))
              s->p->ep_api[ORT_EP_EpGraphSupportInfo_AddNodesToFuse])(support, nodes, n, &how);
}

static ort_status *claim_all(survey *s, const ort_graph *graph, ort_support *support,
                             const ort_node **nodes) {
  const ort_table api = s->p->api;
  ort_status *status = ORT_CALL(api, Graph_GetNodes, (const ort_graph *, const ort_node **, size_t),
                                graph, nodes, s->n);
  int32_t most = 0;
  for (size_t k = 0; k < s->n && !status; k++) s->entries[k].node = nodes[k];
  if (!status && !look(s)) status = provider_fail(api, "Tenon: %s", *s->why ? s->why : "no memory");
  for (size_t k = 0; k < s->n && !status; k++)
    if (s->entries[k].changes > most) most = s->entries[k].changes;
  for (int32_t k = 0; k <= most && !status; k += 2) /* taken nodes have even numbers */
    status = claim_part(s, graph, support, nodes, k);
  if (!status) say_claims(s);
  free(s->by_id);
  return status;
}

ort_status *provider_claim(const provider *p, const ort_graph *graph, ort_support *support) {
  survey s = {.p = p};
  const ort_node *parent = NULL;
  ort_status *status =
      ORT_CALL(p->api, Graph_GetParentNode, (const ort_graph *, const ort_node **), graph, &parent);
  if (status || parent) return status; /* bodies of control flow are the host's */
  status = ORT_CALL(p->api, Graph_GetNumNodes, (const ort_graph *, size_t *), graph, &s.n);
  if (status || !s.n) return status;
  s.entries = calloc(s.n, sizeof *s.entries);
  const ort_node **nodes = calloc(s.n, sizeof *nodes);
  status = s.entries && nodes ? claim_all(&s, graph, support, nodes)
                              : provider_fail(p->api, "Tenon: no memory");
  free((void *)nodes);
  free(s.entries);
  return status;
}
