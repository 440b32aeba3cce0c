/* A boxed kernel of which nobody says what its arguments are. */
#include <executorch/runtime/kernel/operator_registry.h>

static void nothing(executorch::runtime::KernelRuntimeContext &, executorch::runtime::EValue **) {}
static auto registered = executorch::runtime::register_kernels(
    {executorch::runtime::Kernel("my_ops::unknown.out", nothing)});
