/* A plug-in that expects a function from somewhere: plug-ins have to bring all they need. */
#include "tenon/plugin.h"

const tn_plugin *from_nowhere(void);

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor;
  return from_nowhere();
}
