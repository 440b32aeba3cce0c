/* Kernels written for ExecuTorch as operators of Tenon, from their source as it is: C++ functions
 * that are registered with EXECUTORCH_LIBRARY, register_kernels or TORCH_LIBRARY. One header, for
 * C++17 with exceptions; nothing of ExecuTorch or PyTorch is needed or read. Names and meanings are
 * those of ExecuTorch's published interface, as far as kernels use it.
 *
 * One file of the plug-in says who it is: TENON_EXECUTORCH_PLUGIN("acme-ops", "1.0", "MIT");
 * tenon_add_executorch_plugin() of CMake writes that file, and lets the include lines of ExecuTorch
 * lead here. docs/executorch.md shows it.
 *
 * "my_ops::mul3.out" becomes the operator my_ops::mul3, "x.Tensor_out" the operator x.Tensor:
 *  - Its schema is that of TORCH_LIBRARY's m.def() or of TENON_SCHEMA; without one it follows from
 *    the function's type, and arguments are called arg0, arg1 ... Outputs are its last arguments:
 *    `Tensor &`, or what the schema marks (a!).
 *  - Its shapes follow from a dry run: the kernel is called with tensors without data, up to where
 *    it first asks for data or memory. What it has resized an output to by then is its shape; an
 *    output that it has left alone is like the first tensor. If the kernel refuses the dtype of an
 *    output, that of bool, i64 and f32 are tried, too. Where shapes depend on data: TENON_DYNAMIC.
 *  - A check that fails is an error of that call, with its text. */
#ifndef TENON_EXECUTORCH_HPP
#define TENON_EXECUTORCH_HPP

#if __cplusplus < 201703L
#error "tenon/executorch.hpp needs C++17"
#endif

#include "tenon/executorch/plugin.hpp"
#include "tenon/executorch/tensor_util.hpp"
#include "tenon/executorch/types.hpp"

namespace executorch TENON_ET_HIDDEN {
namespace runtime {
struct Kernel {
  const char *name_;
  void (*call_)(tenon_et::Run &) = nullptr;
  OpFunction op_ = nullptr;
  std::string schema_;
  Kernel(const char *name, OpFunction op) : name_(name), op_(op) {}
  template <auto F>
  Kernel(const char *name, tenon_et::Function<F>)
      : name_(name), call_(tenon_et::Function<F>::call), schema_(tenon_et::Function<F>::schema()) {}
  template <auto F>
  static Kernel make_boxed_kernel(const char *name, tenon_et::Function<F> f) {
    return Kernel(name, f);
  }
};
inline Error register_kernel(const Kernel &k) {
  return tenon_et::add_kernel(k.name_, k.call_, k.op_, k.schema_) ? Error::Ok
                                                                  : Error::InvalidArgument;
}
inline Error register_kernels(std::initializer_list<Kernel> all) {
  Error error = Error::Ok;
  for (const Kernel &k : all)
    error = register_kernel(k) == Error::Ok ? error : Error::InvalidArgument;
  return error;
}
inline Error register_kernels(Span<const Kernel> all) {
  for (const Kernel &k : all) (void)register_kernel(k);
  return Error::Ok;
}
} // namespace runtime
namespace extension {
template <auto F>
runtime::Kernel make_boxed_kernel(const char *name, tenon_et::Function<F> f) {
  return runtime::Kernel(name, f);
}
} // namespace extension
} // namespace TENON_ET_HIDDEN

namespace torch TENON_ET_HIDDEN {
namespace executor {
using namespace executorch::aten;
using namespace executorch::runtime;
using RuntimeContext = executorch::runtime::KernelRuntimeContext;
using executorch::extension::make_boxed_kernel;
using executorch::extension::parallel_for;
} // namespace executor
} // namespace TENON_ET_HIDDEN
namespace exec_aten = executorch::aten;

#define ET_RUNTIME_NAMESPACE runtime
#define ET_UNUSED [[maybe_unused]]
#define ET_NODISCARD [[nodiscard]]
#define ET_INLINE inline
#define ET_DEPRECATED [[deprecated]]
#define ET_PRI_TENSOR_DIM "zd"
#define ET_PRI_TENSOR_NUMEL "zd"
#define ET_PRIsize_t "zu"
#define ET_LIKELY(condition) (__builtin_expect(!!(condition), 1))
#define ET_UNLIKELY(condition) (__builtin_expect(!!(condition), 0))
#define ET_NOINLINE __attribute__((noinline))

#define TENON_ET_JOIN_(a, b) a##b
#define TENON_ET_JOIN(a, b) TENON_ET_JOIN_(a, b)
#define TENON_ET_ONCE TENON_ET_JOIN(tenon_et_once_, __COUNTER__)

#define EXECUTORCH_FN(...) (::tenon_et::Function<&__VA_ARGS__>{})
#define TORCH_FN(...) EXECUTORCH_FN(__VA_ARGS__)
#define WRAP_TO_ATEN(function, n_out) EXECUTORCH_FN(function)
#define EXECUTORCH_LIBRARY(ns, op_name, function)    \
  [[maybe_unused]] static const bool TENON_ET_ONCE = \
      ::tenon_et::add(#ns "::" op_name, EXECUTORCH_FN(function))
#define TENON_ET_LIBRARY(id, ns, m)                                \
  static void TENON_ET_JOIN(id, _define)(::tenon_et::Library & m); \
  [[maybe_unused]] static const bool id = [] {                     \
    ::tenon_et::Library library{#ns};                              \
    TENON_ET_JOIN(id, _define)(library);                           \
    return true;                                                   \
  }();                                                             \
  static void TENON_ET_JOIN(id, _define)([[maybe_unused]] ::tenon_et::Library & m)
#define TORCH_LIBRARY(ns, m) TENON_ET_LIBRARY(TENON_ET_ONCE, ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TENON_ET_LIBRARY(TENON_ET_ONCE, ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) TENON_ET_LIBRARY(TENON_ET_ONCE, ns, m)

/* The names and defaults of a kernel's arguments. */
#define TENON_SCHEMA(ns, schema) \
  [[maybe_unused]] static const bool TENON_ET_ONCE = ::tenon_et::add_schema(#ns, schema)
/* The shape of its output depends on data: it is planned when a run has found it. */
#define TENON_DYNAMIC(ns, op_name) \
  [[maybe_unused]] static const bool TENON_ET_ONCE = ::tenon_et::set_dynamic(#ns "::" op_name)
#define TENON_EXECUTORCH_PLUGIN(name, version, license)                                      \
  [[maybe_unused]] static const bool tenon_et_named =                                        \
      ::tenon_et::name_plugin(name, version, license);                                       \
  const tn_plugin *tn_plugin_query(uint32_t, uint32_t) { return &::tenon_et::plugin.table; } \
  struct tn_plugin

/* ---- checks, messages ---- */

#define ET_CHECK_MSG(condition, ...)                                                   \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      if (::tenon_et::current) ::tenon_et::current->say(__VA_ARGS__);                  \
      ::tenon_et::fail(::executorch::runtime::Error::InvalidArgument, TN_ERR_INVALID); \
    }                                                                                  \
  } while (0)
#define ET_CHECK(condition) ET_CHECK_MSG(condition, "%s", "check failed: " #condition)
#define ET_DCHECK(condition) ET_CHECK(condition)
#define ET_DCHECK_MSG(condition, ...) ET_CHECK_MSG(condition, __VA_ARGS__)
#define ET_ASSERT_UNREACHABLE() ET_CHECK_MSG(false, "%s", "unreachable code was reached")
#define ET_ASSERT_UNREACHABLE_MSG(...) ET_CHECK_MSG(false, __VA_ARGS__)
#define ET_KERNEL_CHECK(context, condition, error, retval) \
  ET_KERNEL_CHECK_MSG(context, condition, error, retval, "%s", "check failed: " #condition)
#define ET_KERNEL_CHECK_MSG(context, condition, error, retval, ...)   \
  do {                                                                \
    if (!(condition)) {                                               \
      if (::tenon_et::current) ::tenon_et::current->say(__VA_ARGS__); \
      (context).fail(::executorch::runtime::Error::error);            \
      return retval;                                                  \
    }                                                                 \
  } while (0)
#define ET_LOG_AND_RETURN_IF_FALSE(condition) \
  ET_LOG_MSG_AND_RETURN_IF_FALSE(condition, "%s", "check failed: " #condition)
#define ET_CHECK_OR_RETURN_FALSE(condition, ...) \
  ET_LOG_MSG_AND_RETURN_IF_FALSE(condition, __VA_ARGS__)
#define ET_LOG_MSG_AND_RETURN_IF_FALSE(condition, ...)                \
  do {                                                                \
    if (!(condition)) {                                               \
      if (::tenon_et::current) ::tenon_et::current->say(__VA_ARGS__); \
      return false;                                                   \
    }                                                                 \
  } while (0)
#define ET_CHECK_VALID_DIM(dim, rank)                                                      \
  ET_CHECK_MSG(::executorch::runtime::dim_is_valid(dim, rank), "dim %zd of a rank of %zd", \
               ssize_t(dim), ssize_t(rank))
#define ET_CHECK_OK_OR_RETURN_ERROR(error, ...)                                    \
  do {                                                                             \
    const auto tenon_et_error = (error);                                           \
    if (tenon_et_error != ::executorch::runtime::Error::Ok) return tenon_et_error; \
  } while (0)
/* Error, Fatal: why what follows fails; others are notes to the user. */
#define ET_LOG(level, ...) ::tenon_et::log(#level, __VA_ARGS__)

namespace tenon_et TENON_ET_HIDDEN {
__attribute__((format(printf, 2, 3))) inline void log(const char *level, const char *format, ...) {
  char text[TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!current) return;
  if (!strcmp(level, "Error") || !strcmp(level, "Fatal"))
    current->say("%s", text);
  else if (!current->is_dry && current->call->host->log)
    (current->call->host->log)(current->call->ctx, TN_LOG_NOTE, "%s", text);
}
} // namespace TENON_ET_HIDDEN

#include "tenon/executorch/switch.hpp"

#endif
