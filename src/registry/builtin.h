/* The plug-in that ships with Tenon: the generator writes this function from all family files
 * (build/gen/builtin.c). It is linked in and named unlike tn_plugin_query, so that a program may
 * link a plug-in too. */
#ifndef TN_REGISTRY_BUILTIN_H
#define TN_REGISTRY_BUILTIN_H

#include "tenon/plugin.h"

const tn_plugin *tn_builtin_query(uint32_t host_major, uint32_t host_minor);

#endif
