# Toolchain: clang 19 with Debian's C library for 64-bit RISC-V (clang-19, gcc-riscv64-linux-gnu, libc6-dev-riscv64-cross).
# What is built runs here by way of qemu-user, if that is installed; docs/building.md has the commands.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_C_COMPILER_TARGET riscv64-linux-gnu)
find_program(TENON_QEMU NAMES qemu-riscv64 qemu-riscv64-static)
mark_as_advanced(TENON_QEMU)
if(TENON_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${TENON_QEMU} -cpu rv64,v=true,vext_spec=v1.0 -L /usr/riscv64-linux-gnu)
endif()
# Libraries and headers of the target only: those of this machine are for another processor.
set(CMAKE_FIND_ROOT_PATH /usr/riscv64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
