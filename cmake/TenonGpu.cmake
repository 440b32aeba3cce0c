# GPU kernels: the headers that they include, and the compiler to SPIR-V. Sets tenon_gpu_options, for tenon-gen. Builds for the thread sanitizer, which test
# no driver of GPUs, leave it out.

find_program(TENON_GLSLANG NAMES glslangValidator glslang DOC "Compiles GPU kernels to SPIR-V, for Vulkan")
mark_as_advanced(TENON_GLSLANG)
foreach(folder ../include ../../../include) # of the sources, installed
  if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/${folder}/tenon/experimental/gpu.h)
    set(tenon_gpu_options --headers ${CMAKE_CURRENT_LIST_DIR}/${folder})
    break()
  endif()
endforeach()
if(NOT TENON_GLSLANG)
  message(STATUS "No glslangValidator: kernels have no programs for Vulkan (Debian: glslang-tools)")
endif()
if(TENON_GLSLANG AND NOT TENON_SANITIZE MATCHES thread)
  list(APPEND tenon_gpu_options --glslang ${TENON_GLSLANG})
endif()
