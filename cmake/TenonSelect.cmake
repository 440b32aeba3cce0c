# tenon_add_selected(NAME PARTS parts.txt [SHARED])
#
# The library NAME: Tenon with the parts of a list (tenon select) and no others. It is the static library that is there,
# with another table of parts: what that does not name is not linked. A program that links NAME links all that it needs.
# SHARED makes one file of it, which exports the functions of tenon.h.
#
# tenon_select(NAME MODELS model... [LISTS file...] [TARGETS isa...] [ADD OP[=DTYPES]...] [OPTIONS option...] [SHARED])
#
# The same, and lists the parts: those that the models need (docs/small.md), whenever one of the models changes. Options
# are those of `tenon select`; the list and the report are in the folder NAME.select of the build.

function(tenon_add_selected name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED" "PARTS" "")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_PARTS)
    message(FATAL_ERROR "tenon_add_selected(${name}): say PARTS, the list that tenon select has written, and SHARED or "
      "not; what are '${arg_UNPARSED_ARGUMENTS}'?")
  elseif(NOT TARGET Tenon::tenon-gen)
    message(FATAL_ERROR "tenon_add_selected(${name}): this Tenon was installed without its generator, tenon-gen.")
  endif()
  set(root ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/families) # of the installed package; else of the tree
  set(symbols ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/tenon.symbols)
  if(NOT EXISTS ${root})
    get_filename_component(root ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.. ABSOLUTE)
    set(symbols ${root}/abi/tenon.symbols)
  endif()
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name}.select)
  file(MAKE_DIRECTORY ${dir})
  file(GLOB families ${root}/ops/*/*.yaml ${root}/formats/*/*.yaml ${root}/devices/*/*.yaml)
  add_custom_command(OUTPUT ${dir}/builtin.c
    COMMAND Tenon::tenon-gen --select ${arg_PARTS} ${families} -o ${dir}
    COMMAND ${CMAKE_COMMAND} -E touch ${dir}/builtin.c
    DEPENDS ${arg_PARTS} ${families} Tenon::tenon-gen
    COMMENT "Generating the table of the parts of ${name}" VERBATIM)
  set(libraries Tenon::tenon_static)
  if(TARGET Tenon::tenon_without) # chips without an operating system have nothing to leave out
    set(libraries Tenon::tenon_without Tenon::tenon_static)
  endif()
  # The table is asked for by name, so that it is there before the one of the whole library would be.
  if(arg_SHARED)
    file(STRINGS ${symbols} symbols REGEX "^tn_[a-z0-9_]+$")
    list(TRANSFORM symbols PREPEND "-Wl,-u," OUTPUT_VARIABLE wanted)
    add_library(${name} SHARED ${dir}/builtin.c)
    target_link_options(${name} PRIVATE ${wanted} -Wl,--gc-sections)
    target_link_libraries(${name} PRIVATE ${libraries})
    target_include_directories(${name} PUBLIC $<TARGET_PROPERTY:Tenon::tenon_static,INTERFACE_INCLUDE_DIRECTORIES>)
  else()
    add_library(${name} STATIC ${dir}/builtin.c)
    target_link_libraries(${name} PUBLIC ${libraries})
    target_link_options(${name} INTERFACE -Wl,-u,tn_selected -Wl,--gc-sections)
  endif()
  target_compile_options(${name} PRIVATE -ffunction-sections -fdata-sections) # of two forms of the table, one is asked for
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Generic")
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()

function(tenon_select name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED" "" "MODELS;LISTS;TARGETS;ADD;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_select(${name}): what are '${arg_UNPARSED_ARGUMENTS}'? "
      "Say MODELS, LISTS, TARGETS, ADD, OPTIONS or SHARED.")
  elseif(NOT TARGET Tenon::command)
    message(FATAL_ERROR "tenon_select(${name}): this Tenon was installed without its command, tenon.")
  endif()
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name}.select)
  set(options)
  set(files)
  foreach(file ${arg_MODELS} ${arg_LISTS})
    get_filename_component(path ${file} ABSOLUTE)
    list(APPEND files ${path})
    if(file IN_LIST arg_LISTS)
      list(APPEND options --list ${path})
    else()
      list(APPEND options ${path})
    endif()
  endforeach()
  foreach(target ${arg_TARGETS})
    list(APPEND options --target ${target})
  endforeach()
  foreach(op ${arg_ADD})
    list(APPEND options --add ${op})
  endforeach()
  file(MAKE_DIRECTORY ${dir})
  add_custom_command(OUTPUT ${dir}/parts.txt
    COMMAND Tenon::command select ${options} ${arg_OPTIONS} -o ${dir}
    DEPENDS ${files} Tenon::command
    COMMENT "Listing what the models of ${name} need" VERBATIM)
  set(shared)
  if(arg_SHARED)
    set(shared SHARED)
  endif()
  tenon_add_selected(${name} PARTS ${dir}/parts.txt ${shared})
endfunction()
