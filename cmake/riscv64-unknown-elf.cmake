# Toolchain: GCC with picolibc for 64-bit RISC-V without an operating system, rv64gc unless TENON_CPU_FLAGS says otherwise
# (gcc-riscv64-unknown-elf, picolibc-riscv64-unknown-elf). What is built is what plan files need: docs/small.md.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
if(NOT TENON_CPU_FLAGS)
  set(TENON_CPU_FLAGS "-march=rv64gc -mabi=lp64d -mcmodel=medany")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TENON_CPU_FLAGS)
set(CMAKE_C_FLAGS_INIT "${TENON_CPU_FLAGS} --specs=picolibc.specs")
