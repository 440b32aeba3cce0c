/* Kernels that are registered by other ways: PyTorch's library macros, and boxed ones. */
#include <executorch/extension/aten_util/make_aten_functor_from_et_functor.h>
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace torch {
namespace executor {
namespace native {

Tensor &scaled_out(RuntimeContext &ctx, const Tensor &in, double by, Tensor &out) {
  ET_KERNEL_CHECK(ctx, tensors_have_same_shape_and_dtype(in, out), InvalidArgument, out);
  for (ssize_t k = 0; k < in.numel(); k++)
    out.mutable_data_ptr<float>()[k] = in.const_data_ptr<float>()[k] * float(by);
  return out;
}

Tensor &scaled_out_no_context(const Tensor &in, double by, Tensor &out) {
  KernelRuntimeContext ctx;
  return scaled_out(ctx, in, by, out);
}

void boxed_offset(KernelRuntimeContext &ctx, EValue **stack) {
  (void)ctx;
  const Tensor &in = stack[0]->toTensor();
  const int64_t by = stack[1]->to<int64_t>();
  const optional<double> factor = stack[2]->toOptional<double>();
  Tensor &out = stack[3]->toTensor();
  for (ssize_t k = 0; k < in.numel(); k++)
    out.mutable_data_ptr<float>()[k] =
        in.const_data_ptr<float>()[k] * float(factor ? *factor : 1.0) + float(by);
}

static auto registered = register_kernels({Kernel("my_ops::offset.out", boxed_offset)});
static auto also = register_kernels(
    {Kernel::make_boxed_kernel("my_ops::scaled_too.out", EXECUTORCH_FN(scaled_out))});

} // namespace native
} // namespace executor
} // namespace torch

TORCH_LIBRARY_FRAGMENT(my_ops, m) {
  m.def("scaled(Tensor input, float by=2.0) -> Tensor");
  m.def("scaled.out(Tensor input, float by=2.0, *, Tensor(a!) output) -> Tensor(a!)");
  m.def("offset.out(Tensor x, int by, float? factor=None, *, Tensor(a!) out) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(my_ops, CompositeExplicitAutograd, m) {
  m.impl("scaled.out", WRAP_TO_ATEN(torch::executor::native::scaled_out_no_context, 2));
}
