# Builds the generator and runs it over all family files: builtin.c, a header per family and the op tables.
# Sets generated_sources; the target tenon_generated stands for all that is generated.

set(TENON_GENERATED_DIR ${CMAKE_BINARY_DIR}/gen)
set(docs_dir ${CMAKE_BINARY_DIR}/docs/ops)
file(MAKE_DIRECTORY ${TENON_GENERATED_DIR} ${docs_dir})

if(TENON_HOST_GEN)
  add_executable(tenon-gen IMPORTED GLOBAL)
  set_target_properties(tenon-gen PROPERTIES IMPORTED_LOCATION ${TENON_HOST_GEN})
else()
  find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)
  find_library(YAML_LIBRARY yaml REQUIRED)
  mark_as_advanced(YAML_INCLUDE_DIR YAML_LIBRARY)
  find_package(ZLIB QUIET)
  if(NOT ZLIB_FOUND)
    message(STATUS "No zlib: programs of GPU kernels take three times as much room (Debian: zlib1g-dev)")
  endif()
  add_executable(tenon-gen ${gen_sources} $<TARGET_OBJECTS:tenon_base>)
  target_include_directories(tenon-gen SYSTEM PRIVATE ${YAML_INCLUDE_DIR})
  target_link_libraries(tenon-gen PRIVATE tenon_options ${YAML_LIBRARY} $<$<BOOL:${ZLIB_FOUND}>:ZLIB::ZLIB>)
  target_compile_definitions(tenon-gen PRIVATE TENON_ZLIB=$<BOOL:${ZLIB_FOUND}>)
  target_compile_options(tenon-gen PRIVATE ${quick_to_compile})
  # It finds the schemas that come with Tenon from where it lies, here and where it is installed.
  configure_file(gen/aten.yaml ${CMAKE_BINARY_DIR}/aten.yaml COPYONLY)
  file(RELATIVE_PATH schemas ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/cmake/Tenon/aten.yaml)
  target_compile_definitions(tenon-gen PRIVATE TN_SCHEMAS_FROM_BIN="${schemas}")
endif()

# GPU kernels become SPIR-V here, for Vulkan. Without a compiler they have no such programs.
include(TenonGpu)

set(generated_sources ${TENON_GENERATED_DIR}/builtin.c)
set(generated_headers)
foreach(file ${family_files})
  get_filename_component(family ${file} NAME_WE)
  list(APPEND generated_headers ${TENON_GENERATED_DIR}/${family}.gen.h)
endforeach()

# The stamp says when the generator ran; what it writes keeps its date if nothing changed, so little is built again.
set(stamp ${TENON_GENERATED_DIR}/stamp)
add_custom_command(
  OUTPUT ${stamp}
  BYPRODUCTS ${generated_sources} ${generated_headers} ${docs_dir}/README.md
  COMMAND tenon-gen ${family_files} ${tenon_gpu_options} -o ${TENON_GENERATED_DIR} --docs ${docs_dir}
  COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
  DEPENDS ${family_files} ${gpu_files} tenon-gen
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
  COMMENT "Generating the tables of operators, kernels and formats"
  VERBATIM)
add_custom_target(tenon_generated DEPENDS ${stamp})
