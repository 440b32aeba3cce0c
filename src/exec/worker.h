/* The worker: the process in which compilers run. */
#ifndef TN_EXEC_WORKER_H
#define TN_EXEC_WORKER_H

/* Reads a request from the descriptor TN_WORKER_REQUEST, and writes what the compiler makes of it
 * to TN_WORKER_ANSWER. Answers the exit status of the process. */
int tn_worker_run(void);

#endif
