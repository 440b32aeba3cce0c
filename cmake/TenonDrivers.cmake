# Drivers of devices that need headers of others to be built (nothing is linked: libraries are opened when a device is
# asked for). Where these are missing the driver is left out: its sources leave part_sources, its file family_files.

function(tenon_driver_needs name header package)
  string(TOUPPER TENON_${name}_INCLUDE_DIR variable)
  find_path(${variable} ${header})
  mark_as_advanced(${variable})
  if(${variable})
    return()
  endif()
  message(STATUS "The driver '${name}' is left out: there is no <${header}> (Debian: ${package})")
  foreach(list part_sources family_files)
    list(FILTER ${list} EXCLUDE REGEX "^devices/${name}/")
    set(${list} ${${list}} PARENT_SCOPE)
  endforeach()
endfunction()

tenon_driver_needs(vulkan vulkan/vulkan_core.h libvulkan-dev)
tenon_driver_needs(gles GLES3/gl31.h libgles-dev)
