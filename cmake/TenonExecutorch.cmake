# tenon_add_executorch_plugin(NAME SOURCES file.cpp... [VERSION 1.0] [LICENSE MIT]): a plug-in of kernels that were
# written for ExecuTorch, from their sources as they are (docs/executorch.md). Their include lines lead to
# tenon/executorch.hpp. The project has to have enabled CXX.
function(tenon_add_executorch_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION;LICENSE" "SOURCES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_executorch_plugin(${name}): what are '${arg_UNPARSED_ARGUMENTS}'? "
      "Say SOURCES, VERSION or LICENSE.")
  elseif(NOT arg_SOURCES)
    message(FATAL_ERROR "tenon_add_executorch_plugin(${name}): SOURCES is missing.")
  elseif(NOT CMAKE_CXX_COMPILER)
    message(FATAL_ERROR "tenon_add_executorch_plugin(${name}): there is no compiler for C++: project(... CXX).")
  endif()
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name}.executorch)
  foreach(header
      c10/util/BFloat16.h
      c10/util/Half.h
      c10/util/irange.h
      c10/util/overflows.h
      executorch/extension/aten_util/make_aten_functor_from_et_functor.h
      executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h
      executorch/extension/parallel/thread_parallel.h
      executorch/runtime/core/error.h
      executorch/runtime/core/evalue.h
      executorch/runtime/core/exec_aten/exec_aten.h
      executorch/runtime/core/exec_aten/util/scalar_type_util.h
      executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h
      executorch/runtime/core/exec_aten/util/tensor_util.h
      executorch/runtime/core/result.h
      executorch/runtime/core/span.h
      executorch/runtime/kernel/kernel_includes.h
      executorch/runtime/kernel/kernel_runtime_context.h
      executorch/runtime/kernel/operator_registry.h
      executorch/runtime/kernel/thread_parallel_interface.h
      executorch/runtime/platform/assert.h
      executorch/runtime/platform/compiler.h
      executorch/runtime/platform/log.h
      torch/library.h)
    file(CONFIGURE OUTPUT ${dir}/${header} CONTENT "#include <tenon/executorch.hpp>\n")
  endforeach()
  file(CONFIGURE OUTPUT ${dir}/plugin.cpp CONTENT
"#include <tenon/executorch.hpp>
TENON_EXECUTORCH_PLUGIN(\"${name}\", \"${arg_VERSION}\", \"${arg_LICENSE}\");
")
  add_library(${name} MODULE ${arg_SOURCES} ${dir}/plugin.cpp)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${dir})
  target_link_libraries(${name} PRIVATE Tenon::plugin m)
  target_compile_features(${name} PRIVATE cxx_std_17)
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # As Tenon's own kernels are compiled: a product and a sum are fused where the source says fma().
  target_compile_options(${name} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math)
  if(NOT TENON_SANITIZE AND NOT APPLE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
