/* Kernels that fail when they run. */
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/kernel/kernel_includes.h>

#include <algorithm>

namespace {
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;

/* Its shape depends on data, which nobody says. */
Tensor &surprise_out(KernelRuntimeContext &ctx, const Tensor &in, Tensor &out) {
  const bool first = in.const_data_ptr<float>()[0] > 0;
  ET_KERNEL_CHECK(ctx, executorch::runtime::resize_tensor(out, {first ? 1 : 2}) == Error::Ok,
                  InvalidArgument, out);
  return out;
}

Tensor &picky_out(KernelRuntimeContext &ctx, const Tensor &in, Tensor &out) {
  const float *x = in.const_data_ptr<float>();
  for (ssize_t k = 0; k < in.numel(); k++)
    if (x[k] < 0) {
      ET_LOG(Error, "element %zd is below 0", k);
      ctx.fail(Error::InvalidArgument);
      return out;
    }
  std::copy(x, x + in.numel(), out.mutable_data_ptr<float>());
  return out;
}

} // namespace

EXECUTORCH_LIBRARY(my_ops, "surprise.out", surprise_out);
EXECUTORCH_LIBRARY(my_ops, "picky.out", picky_out);
