/* GroupQueryAttention with vectors. */
#include "group_query_kernel.h"

GROUP_QUERY_KERNEL(group_query_attention)
