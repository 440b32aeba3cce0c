/* Measured costs of kernels. A model that is loaded to be tuned fills the table of its runtime,
 * files keep it, and selection believes it more than what kernels estimate.
 *
 * An entry is found by a line of text: the kernel's name, the operator and its version, types,
 * shapes and layouts, the fused steps, a hash of the attributes, threads, the operator's domain and
 * the kind of device. So a file of them outlives other
 * versions of the kernels' sources: what it does not know is estimated as ever. Any thread. */
#ifndef TN_PLAN_TUNING_H
#define TN_PLAN_TUNING_H

#include <stdbool.h>

#include "base/diag.h"

typedef struct tn_tuning tn_tuning;

tn_status tn_tuning_create(const tn_allocator *a, tn_tuning **out_tuning);
void tn_tuning_destroy(tn_tuning *t);

/* Nanoseconds; 0: not known. */
uint64_t tn_tuning_find(tn_tuning *t, const char *key);
tn_status tn_tuning_set(tn_tuning *t, const char *key, uint64_t ns);
int64_t tn_tuning_n(tn_tuning *t);
/* Whether one of them was found yet. */
bool tn_tuning_used(const tn_tuning *t);
/* Of entry 0 .. n-1; it lives as long as the table. */
const char *tn_tuning_key(tn_tuning *t, int64_t index);

/* Whether kernels that are not known yet shall be timed. */
tn_status tn_tuning_measure(tn_tuning *t, bool on);
bool tn_tuning_measures(const tn_tuning *t);
/* Around timing a kernel: one at a time, for two would share the cores, and one of them would not
 * have the threads of the pool. */
void tn_tuning_begin(tn_tuning *t);
void tn_tuning_end(tn_tuning *t);

/* Takes the entries of a file in; those that are known already are replaced. A line that is none
 * fails with file and line, and then nothing is taken; so does a file that was cut off, and one of
 * another version, whose keys would find nothing. */
tn_status tn_tuning_read(tn_tuning *t, const char *path, tn_diag *diag);
/* The same of bytes in memory; name is for messages. */
tn_status tn_tuning_parse(tn_tuning *t, const char *name, const uint8_t *data, uint64_t size,
                          tn_diag *diag);
/* Replaces the file, or leaves it as it was. */
tn_status tn_tuning_write(tn_tuning *t, const char *path, tn_diag *diag);

#endif
