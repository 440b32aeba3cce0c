# Read by ctest before it runs a test: plug-ins that are installed on this machine, and settings of its user, are of no
# account.
set(ENV{TENON_PLUGIN_DIR} /nonexistent/plugins)
foreach(name TENON_PLUGIN_PATH TENON_PLUGIN_ALLOW TENON_PLUGIN_VET TENON_WEIGHT_CACHE)
  unset(ENV{${name}})
endforeach()
