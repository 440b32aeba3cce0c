/* The services that a plug-in's init gets: memory and messages. Its ctx is the runtime, and may be
 * kept until shutdown returns. Services that belong to a node are NULL here. */
#ifndef TN_EXEC_HOST_H
#define TN_EXEC_HOST_H

#include "tenon/plugin.h"

extern const tn_host tn_runtime_host;

#endif
