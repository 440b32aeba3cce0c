/* Vetting: the tests of plug-ins that somebody else wrote. */
#ifndef TN_HARNESS_VET_H
#define TN_HARNESS_VET_H

#include "harness/run.h"

/* ---- plug-ins that somebody else wrote --------------------------------------------------------
 * */

/* Outputs of one run become what others are compared with. NULL: they cannot. */
const check_results *check_self_expected(const check_subject *s); /* repeat.c */
/* Many calls, two at once, memory that cannot be had. */
void check_repeat(const check_subject *s);
void check_infer(check_problem *p);     /* infer.c */
void check_op_claims(check_problem *p); /* op_claims.c */
/* The plug-in is unloaded in one of two runtimes that run the problem. is_needed: the operator is
 * the plug-in's own. unload.c */
void check_unload(check_problem *p, bool is_needed);
/* Case lines from the schema and the type rules, until run answers false. What stands in the way,
 * or NULL. generated_cases.c */
const char *check_generic(const tn_opdef *op, const tn_kerneldef *const *kernels, int32_t n_kernels,
                          bool (*run)(void *arg, const char *text), void *arg);
void check_format(check_env *env, const tn_format *format); /* format.c */
void check_compiler(check_env *env, const tn_compiler *c);  /* partition.c */
uint64_t check_constants_sum(const tn_graph *g);            /* of their bytes. partition.c */
/* Compiles what is claimed of a small graph of f32, loads the module and runs it; false: it could
 * not be run, and it has been told why. modules.c */
bool check_module(check_env *env, const struct tn_accelerator *compiler, tn_graph *g,
                  tn_claim *const *claims);
void check_dispatcher(check_env *env, const tn_dispatcher *d);     /* partition.c */
void check_driver(check_env *env, const tn_device_driver *driver); /* drivers.c */
/* root: the newest operator that it starts from. rewrites.c */
void check_rewrite(check_env *env, const tn_opdef *root, const tn_rewritedef *rewrite);

typedef struct check_sample { /* a file of a format */
  uint8_t *data;
  uint64_t bytes;
  char why[CHECK_TEXT]; /* bytes 0: what its writer said, "" if nothing */
} check_sample;
void check_sample_write(check_env *env, const tn_format *format,
                        check_sample *out); /* format_sample.c */
void check_sample_free(check_sample *s);

/* What the caller wants of a file. Records are lists of texts, the first of which says what it is:
 *   "breach" or "note", part, test, rule
 *   "plugin", name, version, licence, build id, ABI, flavour, path
 *   "op", name, since, until, schema, callbacks, cases, doc
 *   "kernel", name, op, since, until, isa, rank, device, callbacks
 *   "accept", argument, dtypes, layout, lowest rank, highest rank, flags: of the kernel before it
 *   "rewrite", name, root;  "format", name, endings, domains, callbacks */
typedef struct check_job {
  const char *path, *only;
  double seconds; /* for one test; 0: 20 */
  void *self;
  void (*receive)(void *self, const char *const *fields, int n);
  void (*progress)(void *self, const char *part, const char *test); /* NULL is fine */
} check_job;

typedef struct check_verdict {
  int64_t passed, breaches, notes, left_out;
  bool loadable; /* the descriptor breaks no rule */
} check_verdict;

/* Both run the plug-in in child processes alone. */
check_verdict check_plugin_info(const check_job *job); /* inspect.c, vet.c */
check_verdict check_plugin_vet(const check_job *job);
void check_examine(check_env *env, const char *path, bool deep);
void check_life(check_env *env, const char *path); /* init_shutdown.c */

#endif
