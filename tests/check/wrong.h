/* The plug-in that tests the harness. */
#ifndef TN_CHECK_WRONG_H
#define TN_CHECK_WRONG_H

#include "tenon/plugin.h"

const tn_plugin *check_wrong_query(uint32_t host_major, uint32_t host_minor);

#endif
