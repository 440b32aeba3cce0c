/* The tests of the pool once more, with the condition variable that stands in for the futex on
 * other systems: the pool is compiled into this program. */
#define TN_PARK_PORTABLE
#include "../../src/base/pool.c"
#include "base_pool_test.c"
