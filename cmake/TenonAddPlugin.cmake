# tenon_add_plugin(NAME SOURCES file.c... [YAML family.yaml...] [FALLBACK library.yaml...] [SCHEMAS file.yaml...]
#                  [STATIC] [VERSION v] [LICENSE l])
#
# Builds the plug-in NAME.so as a module that links nothing of Tenon. With YAML, tenon-gen writes its tables and its
# tn_plugin_query; the sources include "<family>.gen.h". Without, the sources export tn_plugin_query themselves.
# Each file of FALLBACK is a library behind those before it: its kernels are taken where theirs are not. SCHEMAS are
# looked at before the schemas that come with Tenon, for entries such as `op: add.out`.
# STATIC makes a static library instead, whose query function is called tn_plugin_query_NAME and declared in
# "NAME_plugin.h": tn_runtime_add_plugin(runtime, tn_plugin_query_NAME, NULL, 0, diag).
# Sources may be C++17 (file.cpp), in a project that has the language.
# Files named *_avx2.c, *_avx512.c, *_neon.c and so on get the flags of their instruction set, or are left out on other
# machines; those named *_simd.c are compiled once for each instruction set (TenonIsa.cmake).
#
# tenon_add_kernels(NAME SOURCES file.c... YAML library.yaml... [...])
#
# The same for kernels of operators that there are already: YAML is required, everything else as above.
#
# tenon_add_plugin_tests(NAME [DEVICE d] [BEFORE plugin...])
#
# Adds the ctest NAME.check, which holds every kernel of the plug-in to the reference of its operator in all test cases, and
# the target NAME_bench, which times the cases marked `bench`. A kernel that refuses everything because it is "not written
# yet" is shown as skipped. With DEVICE, such as opencl:0, the test NAME.check runs the cases on that device, and is skipped
# where there is none. BEFORE names targets of plug-ins that bring the operators which the kernels are for.
#
# tenon_add_accelerator_tests(NAME TARGET)
#
# Adds the ctests NAME.vet, which runs `tenon plugin vet` on the plug-in, and NAME.conform, which runs operators on TARGET
# against the CPU.

include(${CMAKE_CURRENT_LIST_DIR}/TenonIsa.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/TenonGpu.cmake)
set(TENON_ATEN_SCHEMAS ${CMAKE_CURRENT_LIST_DIR}/aten.yaml) # of the installed package
if(NOT EXISTS ${TENON_ATEN_SCHEMAS})
  set(TENON_ATEN_SCHEMAS ${CMAKE_CURRENT_LIST_DIR}/../gen/aten.yaml)
endif()

# The rule that runs tenon-gen. Sets `out_sources` to what it writes. Headers are named after the files; that of a
# library with the name of one before it gets a number, as tenon-gen says.
function(tenon_generate_plugin name dir out_sources)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "VERSION;LICENSE" "YAML;FALLBACK;SCHEMAS;GPU")
  set(options --plugin ${name} ${tenon_gpu_options})
  if(arg_VERSION)
    list(APPEND options --version ${arg_VERSION})
  endif()
  if(arg_LICENSE)
    list(APPEND options --license ${arg_LICENSE})
  endif()
  foreach(file ${arg_FALLBACK})
    list(APPEND options --fallback ${file})
  endforeach()
  foreach(file ${arg_SCHEMAS} ${TENON_ATEN_SCHEMAS})
    list(APPEND options --schemas ${file})
  endforeach()
  set(families)
  set(library 1)
  foreach(file ${arg_YAML} / ${arg_FALLBACK})
    if(file STREQUAL "/")
      set(behind TRUE)
      continue()
    endif()
    get_filename_component(family ${file} NAME_WLE)
    if(behind)
      math(EXPR library "${library} + 1")
      if(family IN_LIST families)
        string(APPEND family _${library})
      endif()
    endif()
    list(APPEND families ${family})
  endforeach()
  list(TRANSFORM families PREPEND ${dir}/ OUTPUT_VARIABLE headers)
  list(TRANSFORM headers APPEND .gen.h)
  file(MAKE_DIRECTORY ${dir})
  add_custom_command(OUTPUT ${dir}/stamp
    BYPRODUCTS ${dir}/plugin.c ${headers}
    COMMAND Tenon::tenon-gen ${options} ${arg_YAML} -o ${dir}
    COMMAND ${CMAKE_COMMAND} -E touch ${dir}/stamp
    DEPENDS ${arg_YAML} ${arg_FALLBACK} ${arg_SCHEMAS} ${TENON_ATEN_SCHEMAS} ${arg_GPU} Tenon::tenon-gen
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "Generating the tables of the plug-in ${name}"
    VERBATIM)
  set(${out_sources} ${dir}/plugin.c ${dir}/stamp PARENT_SCOPE)
endfunction()

function(tenon_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC" "VERSION;LICENSE" "YAML;FALLBACK;SCHEMAS;SOURCES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_plugin(${name}): what are '${arg_UNPARSED_ARGUMENTS}'? "
      "Say SOURCES, YAML, FALLBACK, SCHEMAS, STATIC, VERSION or LICENSE.")
  elseif(NOT arg_SOURCES)
    message(FATAL_ERROR "tenon_add_plugin(${name}): SOURCES is missing.")
  elseif(arg_FALLBACK AND NOT arg_YAML)
    message(FATAL_ERROR "tenon_add_plugin(${name}): FALLBACK needs YAML, the library in front.")
  elseif(arg_YAML AND NOT TARGET Tenon::tenon-gen)
    message(FATAL_ERROR "tenon_add_plugin(${name}): this Tenon was installed without its generator, tenon-gen.")
  endif()

  set(generated)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name}.gen)
  file(MAKE_DIRECTORY ${dir})
  if(arg_YAML)
    set(gpu_files ${arg_SOURCES}) # what tenon-gen reads besides
    list(FILTER gpu_files INCLUDE REGEX "_gpu\\.c$")
    tenon_generate_plugin(${name} ${dir} generated VERSION ${arg_VERSION} LICENSE ${arg_LICENSE} GPU ${gpu_files}
      YAML ${arg_YAML} FALLBACK ${arg_FALLBACK} SCHEMAS ${arg_SCHEMAS})
  endif()
  set(sources ${arg_SOURCES})
  tenon_isa_sources(sources)
  if(arg_STATIC)
    string(MAKE_C_IDENTIFIER ${name} id)
    file(CONFIGURE OUTPUT ${dir}/${name}_plugin.h CONTENT
"/* The plug-in ${name}, linked into a program: for tn_runtime_add_plugin(). */
#include \"tenon/plugin.h\"
const tn_plugin *tn_plugin_query_${id}(uint32_t host_major, uint32_t host_minor);
")
    add_library(${name} STATIC ${sources} ${generated})
    target_compile_definitions(${name} PRIVATE tn_plugin_query=tn_plugin_query_${id})
    target_include_directories(${name} INTERFACE ${dir})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${name} PUBLIC Tenon::plugin m)
  else()
    add_library(${name} MODULE ${sources} ${generated})
    set_target_properties(${name} PROPERTIES PREFIX "")
    target_link_libraries(${name} PRIVATE Tenon::plugin m)
    if(NOT TENON_SANITIZE AND NOT APPLE)
      target_link_options(${name} PRIVATE -Wl,-z,defs) # a function that is named but not written is an error here
    endif()
  endif()
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden)
  target_compile_features(${name} PRIVATE c_std_11)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${dir})
  # The flags that Tenon's own kernels are compiled with: a product and a sum are fused where the source says fma().
  target_compile_options(${name} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math)
endfunction()

function(tenon_add_kernels name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC" "VERSION;LICENSE" "YAML;FALLBACK;SCHEMAS;SOURCES")
  if(NOT arg_YAML)
    message(FATAL_ERROR "tenon_add_kernels(${name}): YAML is missing: the file that says what the kernels accept.")
  endif()
  tenon_add_plugin(${name} ${ARGN})
endfunction()

function(tenon_add_plugin_tests name)
  if(NOT TARGET Tenon::tenon-check)
    message(FATAL_ERROR "tenon_add_plugin_tests(${name}): this Tenon was installed without its harness, tenon-check.")
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DEVICE" "BEFORE")
  set(options --plugin $<TARGET_FILE:${name}>)
  foreach(plugin ${arg_BEFORE})
    list(APPEND options --before $<TARGET_FILE:${plugin}>)
  endforeach()
  if(arg_DEVICE)
    add_test(NAME ${name}.check COMMAND Tenon::tenon-check ${options} --device ${arg_DEVICE} -v)
    set_tests_properties(${name}.check PROPERTIES SKIP_REGULAR_EXPRESSION "not written yet" SKIP_RETURN_CODE 77)
    return()
  endif()
  add_test(NAME ${name}.check COMMAND Tenon::tenon-check ${options})
  set_tests_properties(${name}.check PROPERTIES SKIP_REGULAR_EXPRESSION "not written yet")
  add_custom_target(${name}_bench COMMAND Tenon::tenon-check ${options} --bench
    DEPENDS ${name} USES_TERMINAL VERBATIM)
endfunction()

function(tenon_add_accelerator_tests name target)
  if(NOT TARGET Tenon::command)
    message(FATAL_ERROR "tenon_add_accelerator_tests(${name}): this Tenon was installed without its command, tenon.")
  endif()
  add_test(NAME ${name}.vet COMMAND Tenon::command plugin vet $<TARGET_FILE:${name}>)
  add_test(NAME ${name}.conform COMMAND Tenon::command conform ${target} --plugin $<TARGET_FILE:${name}>)
endfunction()
