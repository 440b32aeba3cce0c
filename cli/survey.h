/* What a graph consists of: operators with their nodes, weights; subgraphs and called functions of
 * the model included. */
#ifndef TN_CLI_SURVEY_H
#define TN_CLI_SURVEY_H

#include "cli.h"

/* One operator in one version, as nodes use it. */
typedef struct cli_use {
  const char *domain, *name; /* domain "" is ai.onnx */
  int32_t version;           /* of its operator set; 0: the model imports none for the domain */
  int64_t n_nodes;
  const char *first; /* name of the first node, may be "" */
  const tn_op *op;   /* what would run it; NULL: nothing is registered for this version */
  bool is_function;  /* of the model, not of a plug-in */
} cli_use;

typedef struct cli_survey {
  tn_runtime *runtime;
  tn_arena arena;
  TN_VEC(cli_use) uses;            /* most nodes first */
  TN_VEC(const tn_graph *) bodies; /* of functions that were entered */
  int64_t n_nodes, n_subgraphs, n_parameters;
  uint64_t weight_bytes;
  tn_status status; /* TN_ERR_MEMORY: the survey is not complete */
} cli_survey;

/* Answers survey->status. Strings belong to the graph. */
tn_status cli_survey_graph(cli_survey *survey, tn_runtime *runtime, const tn_graph *graph);
void cli_survey_free(cli_survey *survey);

#endif
