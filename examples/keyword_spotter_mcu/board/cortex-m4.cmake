# A Cortex-M4 with its FPU, without an operating system.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -ffunction-sections")
set(CMAKE_C_FLAGS_RELEASE_INIT "-O2")
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-nostartfiles --specs=nano.specs -Wl,--gc-sections -Wl,--no-warn-rwx-segments")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
