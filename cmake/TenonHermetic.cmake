# Read by ctest before it runs a test: plug-ins and devices of this machine, and settings of its user, are of no
# account.
set(ENV{TENON_PLUGIN_DIR} /nonexistent/plugins)
set(ENV{OCL_ICD_VENDORS} /nonexistent/opencl)
set(ENV{__EGL_VENDOR_LIBRARY_DIRS} /nonexistent/egl)
foreach(name VK_DRIVER_FILES VK_ICD_FILENAMES)
  set(ENV{${name}} /nonexistent/vulkan)
endforeach()
set(ENV{TENON_PROGRAM_CACHE} "") # none
foreach(name TENON_PLUGIN_PATH TENON_PLUGIN_ALLOW TENON_PLUGIN_VET TENON_WEIGHT_CACHE
    TENON_ORT_CUSTOM_OPS)
  unset(ENV{${name}})
endforeach()
