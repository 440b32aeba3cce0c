/* The machine: instruction sets, cores, clock. */
#ifndef TN_BASE_CPU_H
#define TN_BASE_CPU_H

#include <stdint.h>

#include "tenon/plugin.h"

uint64_t tn_cpu_isa(void);  /* TN_ISA_... that CPU and operating system offer */
int32_t tn_cpu_cores(void); /* that this process may run on, >= 1 */
uint64_t tn_now_ns(void);   /* monotonic */
/* "avx2 avx512" of a mask into buf. */
const char *tn_isa_text(uint64_t isa, char *buf, uint64_t size);

#endif
