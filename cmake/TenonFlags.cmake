# Compiler flags of Tenon's own code, as the interface library tenon_flags, and the defaults of a plain `cmake -B build`.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # one set of objects serves libtenon.a and libtenon.so
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(default Release)
  if(TENON_SANITIZE)
    set(default Debug) # with asserts
  endif()
  set(CMAKE_BUILD_TYPE ${default} CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
# For selected builds (docs/small.md): the linker leaves out what nothing refers to, function by function. What is not a
# kernel is as small as can be, where GCC knows that level; Clang's makes more of it.
set(size_level -Os)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
  set(size_level "-Oz -fno-jump-tables") # switches as comparisons take fewer bytes
endif()
set(CMAKE_C_FLAGS_MINSIZEREL
  "${size_level} -DNDEBUG -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables")
if(TENON_SANITIZE)
  # Lines for the stack traces; quick to build and to run. At -O1, GCC spends half of its time on the sanitizers' checks.
  set(CMAKE_C_FLAGS_DEBUG "-Og -g1")
endif()

find_program(TENON_CCACHE ccache)
mark_as_advanced(TENON_CCACHE)
if(TENON_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${TENON_CCACHE})
endif()

set(TENON_FP_FLAGS
  # A product and a sum become one fused operation only where the source says fma(): results must depend neither on the
  # compiler nor on whether a file is compiled for a machine with FMA (AArch64 always has it), and kernels are compared
  # with their references element by element. GCC would even merge _mm256_mul_ps with _mm256_add_ps.
  -ffp-contract=off
  # No result depends on these two: they say that nobody reads errno or the exception flags after floating-point code.
  -fno-math-errno -fno-trapping-math)

# GCC clears and copies structs of a few hundred bytes by `rep stos` and `rep movs`, whose start takes longer than what
# vectors take for all of it: a quarter of the time of networks that run for a microsecond.
set(TENON_COPY_FLAGS "")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  foreach(which memset memcpy)
    list(APPEND TENON_COPY_FLAGS -m${which}-strategy=vector_loop:1024:noalign,libcall:-1:noalign)
  endforeach()
endif()

add_library(tenon_flags INTERFACE)
if(WIN32) # mingw-w64: printf and sizes of files as the C standard and POSIX have them
  set(CMAKE_C_EXTENSIONS ON)
  target_compile_definitions(tenon_flags INTERFACE __USE_MINGW_ANSI_STDIO=1 _FILE_OFFSET_BITS=64)
endif()
target_compile_definitions(tenon_flags INTERFACE _GNU_SOURCE # mmap, futex, affinity under -std=c11
  $<$<BOOL:${TENON_PORTABLE}>:TN_PORTABLE>) # the table names no kernels of files that are not compiled
target_compile_options(tenon_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes ${TENON_FP_FLAGS}
  "$<$<NOT:$<CONFIG:MinSizeRel>>:${TENON_COPY_FLAGS}>")

if(CMAKE_SYSTEM_NAME STREQUAL "Generic") # newlib's int32_t is a long
  target_compile_options(tenon_flags INTERFACE -Wno-format)
endif()
if(WIN32) # files that are for ELF alone are empty there
  target_compile_options(tenon_flags INTERFACE -Wno-format -Wno-attributes -Wno-pedantic)
endif()
if(TENON_WERROR AND NOT TENON_SANITIZE) # GCC warns of what cannot happen once sanitizers have changed the code
  target_compile_options(tenon_flags INTERFACE -Werror)
endif()

if(TENON_SANITIZE)
  set(flags -fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${flags})
  add_link_options(${flags})
endif()
