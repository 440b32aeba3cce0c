# Files by instruction set. The ending of its name gives a file the flags of one: the code of <name>_avx2.c may use AVX2
# wherever the compiler likes, so it is entered only after the host has seen that the machine has it. Files of other
# architectures are left out. Some files are compiled for each instruction set of a list:
#
#   <name>_simd.c         those that have the vectors of tenon/kit/simd.h
#   <name>_simd_dot.c     those that have the integer dot products of tenon/kit/dot_simd.h
#   <name>_simd_loops.c   those with wider vectors than any machine has, for loops that the compiler vectorises
#
# They find the name of the instruction set in TN_SIMD_ISA, see tenon/kit/isa.h.

set(x86_suffixes sse41 avx avx2 avx512 avx512_vnni avx512_bf16 avx_vnni)
set(arm_suffixes neon neon_dot neon_f16 neon_i8mm)
set(riscv_suffixes rvv)
set(tenon_isa_suffixes ${x86_suffixes} ${arm_suffixes} ${riscv_suffixes})

# Whose copies of the kit's functions files of other instruction sets share (src/kit).
set(kit_sse41 c)
set(kit_avx c)
set(kit_avx_vnni avx2)
set(kit_avx512_vnni avx512)
set(kit_avx512_bf16 avx512)
set(kit_neon_dot neon)
set(kit_neon_f16 neon)
set(kit_neon_i8mm neon)

set(isas_simd avx2 avx512 neon rvv)
set(isas_simd_dot avx2 avx_vnni avx512_vnni neon neon_dot rvv)
set(isas_simd_loops avx2 avx512 rvv)

set(flags_sse41 -msse4.1)
set(flags_avx -mavx)
set(flags_avx2 -mavx2 -mfma -mf16c)
set(flags_avx_vnni ${flags_avx2} -mavxvnni)
set(flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mfma -mf16c)
set(flags_avx512_vnni ${flags_avx512} -mavx512vnni)
set(flags_avx512_bf16 ${flags_avx512} -mavx512bf16)
# GCC's first scheduler moves all loads of a tile's step to its front, and then spills accumulators.
set(flags_neon_gcc -fno-schedule-insns)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(flags_neon ${flags_neon_gcc})
endif()
set(march_neon_dot -march=armv8.2-a+dotprod)
set(flags_neon_dot ${flags_neon} ${march_neon_dot})
set(flags_neon_f16 ${flags_neon} -march=armv8.2-a+fp16)
set(flags_neon_i8mm ${flags_neon} -march=armv8.2-a+i8mm)
set(flags_rvv -march=rv64gcv)

# Sets `out` to the files <name>_<isa>.c, one line each, that stand for the file <name>_<list>.c.
function(tenon_isa_expand file list ours out)
  get_filename_component(path ${file} ABSOLUTE)
  string(REGEX REPLACE "_${list}\\.c$" "" stem ${file})
  string(REPLACE "${CMAKE_CURRENT_SOURCE_DIR}/" "" stem ${stem})
  set(files)
  foreach(isa ${isas_${list}})
    if(isa IN_LIST ours)
      set(made ${CMAKE_CURRENT_BINARY_DIR}/isa/${stem}_${isa}.c)
      get_filename_component(folder ${made} DIRECTORY)
      file(RELATIVE_PATH relative ${folder} ${path}) # the same in each checkout, for compiler caches
      file(CONFIGURE OUTPUT ${made} CONTENT "#include \"${relative}\"\n")
      list(APPEND files ${made})
    endif()
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# Expands the files for lists of instruction sets in the list of sources named by `list_name`, sets the flags of all ISA
# files, and removes those that are not for this machine.
function(tenon_isa_sources list_name)
  if(TENON_PORTABLE)
    set(ours)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(ours ${x86_suffixes})
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(ours ${arm_suffixes})
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^riscv64$" AND CMAKE_C_COMPILER_ID MATCHES "Clang") # see simd_rvv.h
    set(ours ${riscv_suffixes})
  endif()
  set(all)
  foreach(file ${${list_name}})
    if(file MATCHES "_(simd|simd_dot|simd_loops)\\.c$")
      tenon_isa_expand(${file} ${CMAKE_MATCH_1} "${ours}" files)
      list(APPEND all ${files})
    else()
      list(APPEND all ${file})
    endif()
  endforeach()
  foreach(suffix ${tenon_isa_suffixes})
    set(files ${all})
    list(FILTER files INCLUDE REGEX "_${suffix}\\.c$")
    if(NOT files)
      continue()
    elseif(suffix IN_LIST ours)
      set_property(SOURCE ${files} APPEND PROPERTY COMPILE_OPTIONS ${flags_${suffix}})
      set_property(SOURCE ${files} APPEND PROPERTY COMPILE_DEFINITIONS TN_SIMD_ISA=${suffix})
      if(kit_${suffix})
        set_property(SOURCE ${files} APPEND PROPERTY COMPILE_DEFINITIONS TN_KIT_ISA=${kit_${suffix}})
      endif()
    else()
      list(REMOVE_ITEM all ${files})
    endif()
  endforeach()
  set(${list_name} ${all} PARENT_SCOPE)
endfunction()
