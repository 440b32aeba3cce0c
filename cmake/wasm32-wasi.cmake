# Toolchain: clang with the C library of WASI for WebAssembly (clang, lld, wasi-libc, libclang-rt-14-dev-wasm32). What is
# built is what plan files need: docs/small.md. -msimd128 in TENON_CPU_FLAGS uses vectors.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
find_program(CMAKE_AR NAMES llvm-ar llvm-ar-14)
find_program(CMAKE_RANLIB NAMES llvm-ranlib llvm-ranlib-14)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TENON_CPU_FLAGS)
set(CMAKE_C_FLAGS_INIT "${TENON_CPU_FLAGS}")
