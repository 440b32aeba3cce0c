# Runs the generator over all family files: builtin.c, a header per family and the op tables.
# Sets generated_sources; the target tenon_generated stands for all that is generated.

set(TENON_GENERATED_DIR ${CMAKE_BINARY_DIR}/gen)
set(generated_sources)
add_custom_target(tenon_generated)
