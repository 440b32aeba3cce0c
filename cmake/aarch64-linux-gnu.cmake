# Toolchain: Debian's cross-compiler for 64-bit ARM (gcc-aarch64-linux-gnu, libc6-dev-arm64-cross). What is built runs
# here by way of qemu-user, if that is installed; docs/building.md has the commands.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
find_program(TENON_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
mark_as_advanced(TENON_QEMU)
if(TENON_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${TENON_QEMU} -L /usr/aarch64-linux-gnu)
endif()
# Libraries and headers of the target only: those of this machine are for another processor.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
