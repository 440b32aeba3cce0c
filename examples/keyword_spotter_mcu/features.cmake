# Writes the elements of FROM, a .npy file of i8, as a C array to TO.
file(READ ${FROM} bytes HEX OFFSET 128)
string(REGEX REPLACE "(..)" "(int8_t)0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((\\(int8_t\\)0x..,)(\\(int8_t\\)0x..,)(\\(int8_t\\)0x..,)(\\(int8_t\\)0x..,))" "  \\1\n"
  bytes "${bytes}")
file(WRITE ${TO} "#include <stdint.h>\nstatic const int8_t features[] = {\n${bytes}};\n")
