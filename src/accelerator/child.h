/* Compiling in a process of its own, and the files without a name through which the two talk. */
#ifndef TN_ACCELERATOR_CHILD_H
#define TN_ACCELERATOR_CHILD_H

#include "accelerator/accelerator.h"

typedef struct tn_nameless {
  int fd;
} tn_nameless;
tn_status tn_nameless_open(tn_nameless *f, tn_diag *diag);
tn_status tn_nameless_write(tn_nameless *f, const void *data, uint64_t size); /* appends */
tn_status tn_nameless_map(const tn_nameless *f, tn_diag *diag, tn_mapping *out);
void tn_nameless_close(tn_nameless *f);

/* The worker's descriptors: the request, and what it answers. At first that is what it is doing,
 * for whoever has to say where it crashed; then a container, or an error. */
enum { TN_WORKER_REQUEST = 3, TN_WORKER_ANSWER = 4 };
#define TN_WORKER_STAGE "TENONDOES"
#define TN_WORKER_ERROR "TENONERR"

/* The container that the worker made; or a message that says what became of it. */
tn_status tn_compile_in_child(tn_accelerator *x, const tn_compile_rules *rules,
                              const tn_compile_request *request, tn_diag *diag, tn_mapping *out);

#endif
