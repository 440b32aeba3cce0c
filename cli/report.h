/* What the files of `tenon report` share: a session that has run, as one JSON document.
 *
 *   report.c         the command: measuring, sizes, the machine
 *   report_walk.c    plans of the session, in the order of tn_session_step
 *   report_graph.c   graphs before and after
 *   report_memory.c  blocks of the arena over time
 *   report_page.c    the page around the JSON; reports that are there already */
#ifndef TN_CLI_REPORT_H
#define TN_CLI_REPORT_H

#include "exec/session.h"
#include "json.h"
#include "open.h"

/* A frame that has run: its plan, and which step of all each of its nodes is. */
typedef struct report_frame {
  const tn_setup *setup;
  int32_t *node_steps;   /* per node of the plan's graph; -1: it does not run */
  int32_t *values;       /* per value: its number among all, once report_graph has been there */
  int32_t parent;        /* the frame around it, -1: it is the first */
  const tn_gnode *owner; /* the node of the parent whose body it is; NULL: the parent's rest */
  int32_t capture_of;    /* which body */
  int32_t first_node;    /* number of its first node among all */
} report_frame;

typedef struct report_task {
  const tn_task *task;
  double ns; /* of a run, without what lies inside */
} report_task;

typedef struct report {
  cli_session session;
  tn_arena arena;
  TN_VEC(report_frame) frames;
  TN_VEC(report_task) tasks; /* as tn_session_step numbers them */
  tn_status status;          /* TN_ERR_MEMORY: something is missing */
} report;

/* Fills frames and tasks of a session that has run. */
tn_status report_walk(report *r);
/* The number of a step; -1: it is none of them. */
int32_t report_step_index(const report *r, const tn_step *step);

void report_graph_before(report *r, cli_json *to, const tn_graph *graph);
void report_graph_after(report *r, cli_json *to);
void report_memory(report *r, cli_json *to);

/* Writes the page of the document, and of that in another page (NULL: none), to a file. Takes the
 * document. Answers an exit code. */
int report_page_write_take(cli_json *json, const char *other, const char *path);

#endif
