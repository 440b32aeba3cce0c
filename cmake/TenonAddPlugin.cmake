# tenon_add_plugin(NAME SOURCES file.c... [YAML family.yaml...] [VERSION v] [LICENSE l])
#
# Builds the plug-in NAME.so as a module that links nothing of Tenon. With YAML, tenon-gen writes its tables and its
# tn_plugin_query; the sources include "<family>.gen.h". Without, the sources export tn_plugin_query themselves.
# Files named *_avx2.c, *_avx512.c, *_neon.c and so on get the flags of their instruction set, or are left out on other
# machines.

include(${CMAKE_CURRENT_LIST_DIR}/TenonIsa.cmake)

function(tenon_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION;LICENSE" "YAML;SOURCES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_plugin(${name}): what are '${arg_UNPARSED_ARGUMENTS}'? Say SOURCES, YAML, VERSION or LICENSE.")
  elseif(NOT arg_SOURCES)
    message(FATAL_ERROR "tenon_add_plugin(${name}): SOURCES is missing.")
  endif()

  set(generated)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name}.gen)
  if(arg_YAML)
    set(options --plugin ${name})
    if(arg_VERSION)
      list(APPEND options --version ${arg_VERSION})
    endif()
    if(arg_LICENSE)
      list(APPEND options --license ${arg_LICENSE})
    endif()
    set(headers)
    foreach(file ${arg_YAML})
      get_filename_component(family ${file} NAME_WLE)
      list(APPEND headers ${dir}/${family}.gen.h)
    endforeach()
    file(MAKE_DIRECTORY ${dir})
    set(generated ${dir}/plugin.c)
    add_custom_command(OUTPUT ${dir}/stamp
      BYPRODUCTS ${generated} ${headers}
      COMMAND Tenon::tenon-gen ${options} ${arg_YAML} -o ${dir}
      COMMAND ${CMAKE_COMMAND} -E touch ${dir}/stamp
      DEPENDS ${arg_YAML} Tenon::tenon-gen
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
      COMMENT "Generating the tables of the plug-in ${name}"
      VERBATIM)
    set(generated ${generated} ${dir}/stamp)
  endif()

  set(sources ${arg_SOURCES})
  tenon_isa_sources(sources)
  add_library(${name} MODULE ${sources} ${generated})
  set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden)
  target_compile_features(${name} PRIVATE c_std_11)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${dir})
  # The flags that Tenon's own kernels are compiled with: a product and a sum are fused where the source says fma().
  target_compile_options(${name} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math)
  target_link_libraries(${name} PRIVATE Tenon::plugin m)
  if(NOT TENON_SANITIZE AND NOT APPLE)
    target_link_options(${name} PRIVATE -Wl,-z,defs) # a function that is named but not written is an error here
  endif()
endfunction()
