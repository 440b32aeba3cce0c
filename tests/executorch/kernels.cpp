/* Kernels as people write them for ExecuTorch: its include lines, its names. */
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/kernel/kernel_includes.h>

#include <algorithm>

namespace custom {
namespace native {

using executorch::aten::ArrayRef;
using executorch::aten::optional;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::resize_tensor;

/* One type, one shape, checks that end the process in ExecuTorch. */
Tensor &triple_out(ET_UNUSED KernelRuntimeContext &ctx, const Tensor &in, Tensor &out) {
  ET_CHECK_MSG(in.scalar_type() == ScalarType::Float, "Expected in to be Float, but got %d",
               static_cast<int>(in.scalar_type()));
  ET_CHECK_MSG(out.numel() == in.numel(), "out has %zd elements, in %zd", ssize_t(out.numel()),
               ssize_t(in.numel()));
  float *to = out.mutable_data_ptr<float>();
  const float *from = in.const_data_ptr<float>();
  for (ssize_t k = 0; k < out.numel(); ++k) to[k] = from[k] * 3;
  return out;
}

/* All types, a shape of its own, memory of its own. */
Tensor &row_sums_out(KernelRuntimeContext &ctx, const Tensor &in, Tensor &out) {
  ET_KERNEL_CHECK_MSG(ctx, in.dim() >= 1, InvalidArgument, out, "rank %zd has no rows", in.dim());
  std::array<SizesType, 16> sizes;
  for (ssize_t k = 0; k + 1 < in.dim(); k++) sizes[k] = SizesType(in.size(k));
  ET_KERNEL_CHECK(ctx, resize_tensor(out, {sizes.data(), size_t(in.dim() - 1)}) == Error::Ok,
                  InvalidArgument, out);
  const ssize_t n = in.size(-1);
  auto room = ctx.allocate_temp(size_t(out.numel()) * sizeof(double));
  ET_KERNEL_CHECK(ctx, room.ok(), MemoryAllocationFailed, out);
  double *sums = static_cast<double *>(*room);
  ET_SWITCH_REALHBBF16_TYPES(in.scalar_type(), ctx, "row_sums.out", CTYPE, [&]() {
    const CTYPE *x = in.const_data_ptr<CTYPE>();
    CTYPE *y = out.mutable_data_ptr<CTYPE>();
    for (ssize_t r = 0; r < out.numel(); r++) {
      sums[r] = 0;
      for (ssize_t k = 0; k < n; k++) sums[r] += static_cast<double>(x[r * n + k]);
      y[r] = static_cast<CTYPE>(static_cast<float>(sums[r]));
    }
  });
  return out;
}

/* An output of another type than its input. */
Tensor &above_out(KernelRuntimeContext &ctx, const Tensor &in, const Scalar &limit, Tensor &out) {
  ET_KERNEL_CHECK(ctx, out.scalar_type() == ScalarType::Bool, InvalidArgument, out);
  ET_SWITCH_FLOAT_TYPES(in.scalar_type(), ctx, "above.out", CTYPE, [&] {
    const CTYPE *x = in.const_data_ptr<CTYPE>();
    bool *y = out.mutable_data_ptr<bool>();
    for (ssize_t k = 0; k < in.numel(); k++) y[k] = x[k] > limit.to<CTYPE>();
  });
  return out;
}

/* Arguments of all kinds, without a context. */
Tensor &mix_out(const Tensor &in, const optional<Tensor> &bias, double scale,
                optional<int64_t> shift, ArrayRef<int64_t> repeats, bool negate,
                executorch::aten::string_view mode, Tensor &out) {
  ET_CHECK_MSG(mode == "plain" || mode == "twice", "mode '%.*s' is neither plain nor twice",
               int(mode.size()), mode.data());
  const float *x = in.const_data_ptr<float>();
  float *y = out.mutable_data_ptr<float>();
  for (ssize_t k = 0; k < in.numel(); k++) {
    float v = x[k] * float(scale) + (shift ? float(*shift) : 0);
    if (bias) v += bias->const_data_ptr<float>()[k % bias->numel()];
    for (int64_t r : repeats) v *= float(r);
    y[k] = (negate ? -v : v) * (mode == "twice" ? 2 : 1);
  }
  return out;
}

/* Lists, and two outputs. */
std::tuple<Tensor &, Tensor &> extremes_out(ET_UNUSED KernelRuntimeContext &ctx,
                                            ArrayRef<Tensor> all, Tensor &least, Tensor &most) {
  ET_CHECK_MSG(!all.empty(), "%s", "extremes of nothing");
  float *low = least.mutable_data_ptr<float>(), *high = most.mutable_data_ptr<float>();
  for (ssize_t k = 0; k < least.numel(); k++) low[k] = high[k] = all[0].const_data_ptr<float>()[k];
  for (const Tensor &t : all)
    for (ssize_t k = 0; k < least.numel(); k++) {
      low[k] = std::min(low[k], t.const_data_ptr<float>()[k]);
      high[k] = std::max(high[k], t.const_data_ptr<float>()[k]);
    }
  return {least, most};
}

/* A shape that depends on data. */
Tensor &positive_out(KernelRuntimeContext &ctx, const Tensor &in, Tensor &out) {
  const float *x = in.const_data_ptr<float>();
  SizesType n = 0;
  for (ssize_t k = 0; k < in.numel(); k++) n += x[k] > 0;
  ET_KERNEL_CHECK(ctx, resize_tensor(out, {n}) == Error::Ok, InvalidArgument, out);
  float *y = out.mutable_data_ptr<float>();
  for (ssize_t k = 0; k < in.numel(); k++)
    if (x[k] > 0) *y++ = x[k];
  return out;
}

} // namespace native
} // namespace custom

EXECUTORCH_LIBRARY(my_ops, "triple.out", custom::native::triple_out);
EXECUTORCH_LIBRARY(my_ops, "row_sums.out", custom::native::row_sums_out);
EXECUTORCH_LIBRARY(my_ops, "above.Scalar_out", custom::native::above_out);
EXECUTORCH_LIBRARY(my_ops, "mix.out", custom::native::mix_out);
EXECUTORCH_LIBRARY(my_ops, "extremes.out", custom::native::extremes_out);
EXECUTORCH_LIBRARY(my_ops, "positive.out", custom::native::positive_out);
TENON_DYNAMIC(my_ops, "positive.out");
TENON_SCHEMA(my_ops,
             "mix.out(Tensor x, Tensor? bias=None, *, float scale=1.0, int? shift=None, "
             "int[] repeats=[], bool negate=False, str mode='plain', Tensor(a!) out) -> "
             "Tensor(a!)");
