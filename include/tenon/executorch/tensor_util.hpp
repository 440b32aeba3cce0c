/* Questions that kernels of ExecuTorch ask about their tensors. Include tenon/executorch.hpp. */
#ifndef TENON_EXECUTORCH_TENSOR_UTIL_HPP
#define TENON_EXECUTORCH_TENSOR_UTIL_HPP

#include <limits>

#include "tenon/executorch/types.hpp"

namespace executorch TENON_ET_HIDDEN {
namespace runtime {
constexpr size_t kTensorDimensionLimit = 16;

inline bool tensors_have_same_shape(const Tensor &a, const Tensor &b) {
  return a.sizes().equals(b.sizes());
}
inline bool tensors_have_same_shape(const Tensor &a, const Tensor &b, const Tensor &c) {
  return tensors_have_same_shape(a, b) && tensors_have_same_shape(b, c);
}
inline bool tensors_have_same_dtype(const Tensor &a, const Tensor &b) {
  return a.scalar_type() == b.scalar_type();
}
inline bool tensors_have_same_dtype(const Tensor &a, const Tensor &b, const Tensor &c) {
  return tensors_have_same_dtype(a, b) && tensors_have_same_dtype(b, c);
}
inline bool tensors_have_same_shape_and_dtype(const Tensor &a, const Tensor &b) {
  return tensors_have_same_shape(a, b) && tensors_have_same_dtype(a, b);
}
/* All tensors lie in the order of their dims here. */
inline bool is_contiguous_dim_order(const uint8_t *, size_t) { return true; }
template <class... More>
bool tensors_have_same_dim_order(const Tensor &, const More &...) {
  return true;
}
inline bool tensor_is_default_dim_order(const Tensor &) { return true; }
inline bool tensor_is_contiguous(const Tensor &) { return true; }
inline bool tensor_is_rank(const Tensor &t, size_t rank) { return size_t(t.dim()) == rank; }
inline bool tensor_has_dim(const Tensor &t, int64_t k) {
  return k >= -t.dim() && k < (t.dim() ? t.dim() : 1);
}
inline bool isFloatingType(ScalarType s) {
  return s == ScalarType::Half || s == ScalarType::BFloat16 || s == ScalarType::Float ||
         s == ScalarType::Double;
}
inline bool isIntegralType(ScalarType s, bool with_bool) {
  return s <= ScalarType::Long || (with_bool && s == ScalarType::Bool);
}
inline bool tensor_is_floating_type(const Tensor &t) { return isFloatingType(t.scalar_type()); }
/* Another rule for each name: tensor_is_realhbbf16_type(t) ... */
#define TENON_ET_TYPE_TEST(name, condition)                                                    \
  inline bool tensor_is_##name##_type(const Tensor &t) {                                       \
    const ScalarType s = t.scalar_type();                                                      \
    const bool is_half = s == ScalarType::Half, is_bf16 = s == ScalarType::BFloat16,           \
               is_bool = s == ScalarType::Bool,                                                \
               is_real =                                                                       \
                   s <= ScalarType::Long || s == ScalarType::Float || s == ScalarType::Double; \
    (void)is_half, (void)is_bf16, (void)is_bool, (void)is_real;                                \
    return condition;                                                                          \
  }
TENON_ET_TYPE_TEST(real, is_real)
TENON_ET_TYPE_TEST(realh, is_real || is_half)
TENON_ET_TYPE_TEST(realb, is_real || is_bool)
TENON_ET_TYPE_TEST(realhb, is_real || is_half || is_bool)
TENON_ET_TYPE_TEST(realhbf16, is_real || is_half || is_bf16)
TENON_ET_TYPE_TEST(realhbbf16, is_real || is_half || is_bool || is_bf16)
TENON_ET_TYPE_TEST(bool, is_bool)
TENON_ET_TYPE_TEST(integral, s <= ScalarType::Long)
#undef TENON_ET_TYPE_TEST
inline bool tensor_is_type(const Tensor &t, ScalarType s) { return t.scalar_type() == s; }
inline bool tensor_is_type(const Tensor &t, ScalarType s, ScalarType other) {
  return tensor_is_type(t, s) || tensor_is_type(t, other);
}
inline bool isComplexType(ScalarType s) {
  return s >= ScalarType::ComplexHalf && s <= ScalarType::ComplexDouble;
}
inline const char *toString(ScalarType s) {
  switch (s) {
    case ScalarType::Byte: return "Byte";
    case ScalarType::Char: return "Char";
    case ScalarType::Short: return "Short";
    case ScalarType::Int: return "Int";
    case ScalarType::Long: return "Long";
    case ScalarType::Half: return "Half";
    case ScalarType::Float: return "Float";
    case ScalarType::Double: return "Double";
    case ScalarType::Bool: return "Bool";
    case ScalarType::BFloat16: return "BFloat16";
    default: return "another type";
  }
}
inline bool tensors_have_same_rank(const Tensor &a, const Tensor &b) { return a.dim() == b.dim(); }
inline bool tensor_has_rank_greater_or_equal_to(const Tensor &t, size_t rank) {
  return size_t(t.dim()) >= rank;
}
inline bool tensor_has_rank_smaller_or_equal_to(const Tensor &t, size_t rank) {
  return size_t(t.dim()) <= rank;
}
inline bool tensors_have_same_size_at_dims(const Tensor &a, size_t i, const Tensor &b, size_t k) {
  return i < size_t(a.dim()) && k < size_t(b.dim()) && a.size(ssize_t(i)) == b.size(ssize_t(k));
}
inline bool tensor_is_scalar(const Tensor &t) { return t.dim() == 0 && t.numel() == 1; }
inline bool dim_is_valid(int64_t dim, int64_t rank) { return dim >= -rank && dim < rank; }
/* A scalar counts as a tensor of one dim. */
inline ssize_t nonzero_dim(const Tensor &t) { return t.dim() ? t.dim() : 1; }
inline ssize_t nonempty_size(const Tensor &t, ssize_t k) { return t.dim() ? t.size(k) : 1; }
inline bool tensor_dim_has_index(const Tensor &t, int64_t dim, int64_t index) {
  const ssize_t n = nonempty_size(t, dim < 0 ? dim + nonzero_dim(t) : dim);
  return index >= -n && index < n;
}
/* Elements before a dim, and behind it. */
inline size_t getLeadingDims(const Tensor &t, int64_t dim) {
  size_t n = 1;
  for (int64_t k = 0; k < dim; k++) n *= size_t(t.size(k));
  return n;
}
inline size_t getTrailingDims(const Tensor &t, int64_t dim) {
  size_t n = 1;
  for (int64_t k = dim + 1; k < t.dim(); k++) n *= size_t(t.size(k));
  return n;
}
inline void indexToCoordinate(const Tensor &t, size_t index, size_t *coordinate) {
  for (ssize_t k = t.dim(); k-- > 0;) {
    const size_t n = size_t(t.size(k));
    coordinate[k] = n ? index % n : 0;
    index = n ? index / n : 0;
  }
}
inline size_t coordinateToIndex(const Tensor &t, const size_t *coordinate) {
  size_t index = 0;
  for (ssize_t k = 0; k < t.dim(); k++) index = index * size_t(t.size(k)) + coordinate[k];
  return index;
}
template <class T>
bool extract_scalar(Scalar scalar, T *out) {
  *out = scalar.to<T>();
  return true;
}
} // namespace runtime
} // namespace TENON_ET_HIDDEN

namespace executorch TENON_ET_HIDDEN {
namespace extension {
namespace internal {
constexpr int64_t GRAIN_SIZE = 32768;
}
/* All of it at once: a plug-in makes no threads. */
template <class F>
bool parallel_for(int64_t begin, int64_t end, int64_t grain, const F &f) {
  (void)grain;
  if (begin < end) f(begin, end);
  return begin <= end;
}
} // namespace extension
} // namespace TENON_ET_HIDDEN

/* for (auto k : c10::irange(n)); is f outside of what To can hold? */
namespace c10 TENON_ET_HIDDEN {
template <class To, class From>
bool overflows(From f, bool = false) {
  if constexpr (!std::is_arithmetic_v<To> || std::is_floating_point_v<To>) {
    return false;
  } else {
    const long double wide = static_cast<long double>(f);
    return wide < static_cast<long double>(std::numeric_limits<To>::lowest()) ||
           wide > static_cast<long double>(std::numeric_limits<To>::max());
  }
}
using executorch::aten::BFloat16;
using executorch::aten::Half;
template <class T>
struct IntegerRange {
  struct iterator {
    T at;
    T operator*() const { return at; }
    iterator &operator++() { return ++at, *this; }
    bool operator!=(iterator other) const { return at != other.at; }
  };
  T first, last;
  iterator begin() const { return {first}; }
  iterator end() const { return {last}; }
};
template <class T>
IntegerRange<T> irange(T n) {
  return {T(0), n > T(0) ? n : T(0)};
}
template <class A, class T>
IntegerRange<T> irange(A first, T last) {
  return {T(first), T(first) < last ? last : T(first)};
}
} // namespace TENON_ET_HIDDEN

#endif
