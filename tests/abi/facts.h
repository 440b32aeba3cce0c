/* What a compiler makes of tenon/plugin.h; unused entries are zero. */
#include <stdint.h>

typedef struct abi_facts {
  int64_t sizes[32];
  uint64_t values[32];
} abi_facts;
