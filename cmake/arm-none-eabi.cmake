# Toolchain: GCC with newlib for Arm's chips without an operating system, a Cortex-M4 with its floating-point unit unless
# TENON_CPU_FLAGS says otherwise (gcc-arm-none-eabi, libnewlib-arm-none-eabi). What is built is what plan files need: docs/small.md.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
if(NOT TENON_CPU_FLAGS)
  set(TENON_CPU_FLAGS "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TENON_CPU_FLAGS)
set(CMAKE_C_FLAGS_INIT "${TENON_CPU_FLAGS}")
