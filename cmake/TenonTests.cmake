# Tests: every <subject>_test.c in tests/unit/, and beside the operator it is about in ops/<family>/, becomes the ctest
# unit.<subject>, by cmocka; other kinds of tests have a folder tests/<kind> with a CMakeLists.txt. Labels:
# `thread` for what is worth running under the thread sanitizer, `slow` for what `make test` leaves to `make test-all`,
# `main` for what no sanitizer runs.

if(CMAKE_CROSSCOMPILING)
  find_path(CMOCKA_INCLUDE_DIR cmocka.h)
  find_library(CMOCKA_LIBRARY cmocka)
  if(NOT CMOCKA_INCLUDE_DIR OR NOT CMOCKA_LIBRARY)
    message(STATUS "no cmocka for ${CMAKE_SYSTEM_PROCESSOR}: of the tests, only the harness is built")
    add_subdirectory(${PROJECT_SOURCE_DIR}/tests/check ${CMAKE_BINARY_DIR}/tests/check)
    return()
  endif()
endif()
find_path(CMOCKA_INCLUDE_DIR cmocka.h REQUIRED)
find_library(CMOCKA_LIBRARY cmocka REQUIRED)
mark_as_advanced(CMOCKA_INCLUDE_DIR CMOCKA_LIBRARY)
set_property(GLOBAL PROPERTY CTEST_TARGETS_ADDED 1) # no dashboard targets
# No test sees what somebody has installed or set.
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${PROJECT_SOURCE_DIR}/cmake/TenonHermetic.cmake)

# What all programs of tests need. What tests do themselves is quick at -Og, too, and compiling them takes half as long.
function(tenon_test_program target)
  target_include_directories(${target} SYSTEM PRIVATE ${CMOCKA_INCLUDE_DIR})
  target_include_directories(${target} PRIVATE ${TENON_GENERATED_DIR})
  target_link_libraries(${target} PRIVATE tenon_static tenon_options ${CMOCKA_LIBRARY})
  target_compile_options(${target} PRIVATE -Og)
endfunction()

# The ctest `name`: a cmocka program and its arguments.
function(tenon_add_cmocka_run name)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # A sanitizer's allocator answers NULL for absurd sizes, as the C library does, instead of ending the program.
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1;TSAN_OPTIONS=allocator_may_return_null=1;UBSAN_OPTIONS=print_stacktrace=1")
endfunction()

# A cmocka program out of one or more sources, registered as the ctest `name`.
function(tenon_add_cmocka_test name target)
  add_executable(${target} ${ARGN})
  tenon_test_program(${target})
  tenon_add_cmocka_run(${name} ${target})
endfunction()

# What formats have in common: <name>.damage, of the folder's damage_test.c (see tests/onnx/damage.h), and <name>.cases,
# of its cases.sh and the models in tests/data/<data>.
function(tenon_add_format_tests name data)
  tenon_add_cmocka_test(${name}.damage ${name}_damage_test damage_test.c
    $<TARGET_OBJECTS:onnx_damage> $<TARGET_OBJECTS:onnx_kit>)
  target_include_directories(${name}_damage_test PRIVATE ${PROJECT_SOURCE_DIR}/tests/onnx)
  if(TARGET tenon)
    add_test(NAME ${name}.cases COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cases.sh $<TARGET_FILE:tenon>
      ${PROJECT_SOURCE_DIR}/tests/data/${data})
  endif()
endfunction()

# Under the thread sanitizer only tests with the label `thread` are run, so no others are built.
set(only_threads FALSE)
if(TENON_SANITIZE MATCHES thread)
  set(only_threads TRUE)
endif()

# Unit tests share the program unit_tests: linking the library to each took longer than compiling them all. Those that put
# functions in place of malloc, or compile a source of the library in a way of their own, have programs of their own.
file(GLOB unit_tests CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/tests/unit/*_test.c ${PROJECT_SOURCE_DIR}/ops/*/*_test.c)
set(unit_sources)
set(unit_list)
foreach(source ${unit_tests})
  file(STRINGS ${source} uses_threads REGEX "pthread\\.h|base/pool\\.h|tn_session_run" LIMIT_COUNT 1)
  if(only_threads AND NOT uses_threads)
    continue()
  endif()
  get_filename_component(target ${source} NAME_WE)
  string(REGEX REPLACE "_test$" "" subject ${target})
  file(STRINGS ${source} stands_alone REGEX "#include \"(count_memory\\.h|.*\\.c)\"" LIMIT_COUNT 1)
  if(TENON_SANITIZE) # whose library calls the system as it likes
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS TN_TEST_SANITIZED)
  endif()
  if(stands_alone)
    tenon_add_cmocka_test(unit.${subject} ${target} ${source})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit) # kits
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  else()
    list(APPEND unit_sources ${source})
    string(APPEND unit_list "UNIT(${subject})\n")
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS UNIT_MAIN=${subject}_main)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
      -include ${PROJECT_SOURCE_DIR}/tests/unit/program.h)
    tenon_add_cmocka_run(unit.${subject} unit_tests ${subject})
  endif()
  if(uses_threads)
    set_property(TEST unit.${subject} APPEND PROPERTY LABELS thread)
  endif()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/tests/unit_tests.h CONTENT "${unit_list}")
add_executable(unit_tests ${PROJECT_SOURCE_DIR}/tests/unit/program.c ${unit_sources})
tenon_test_program(unit_tests)
target_include_directories(unit_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit ${CMAKE_BINARY_DIR}/tests)
set_target_properties(unit_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

file(GLOB test_folders CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*/CMakeLists.txt)
foreach(file ${test_folders})
  file(STRINGS ${file} uses_threads REGEX "LABELS.*thread" LIMIT_COUNT 1)
  if(only_threads AND NOT uses_threads)
    continue()
  endif()
  get_filename_component(folder ${file} DIRECTORY)
  file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${folder})
  add_subdirectory(${folder} ${CMAKE_BINARY_DIR}/${relative})
endforeach()
