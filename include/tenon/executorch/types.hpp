/* What kernels of ExecuTorch are given: tensors, scalars, lists, errors, the context of a call,
 * boxed values. Include tenon/executorch.hpp. */
#ifndef TENON_EXECUTORCH_TYPES_HPP
#define TENON_EXECUTORCH_TYPES_HPP

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/kit/narrow.h"
#include "tenon/plugin.h"

/* Plug-ins of one process share nothing of this. */
#define TENON_ET_HIDDEN __attribute__((visibility("hidden")))

namespace executorch TENON_ET_HIDDEN {

/* ---- what is passed around ------------------------------------------------------------------- */

namespace runtime {
enum class Error : uint32_t {
  Ok = 0x00,
  Internal = 0x01,
  InvalidState = 0x2,
  EndOfMethod = 0x03,
  AlreadyLoaded = 0x04,
  NotSupported = 0x10,
  NotImplemented = 0x11,
  InvalidArgument = 0x12,
  InvalidType = 0x13,
  OperatorMissing = 0x14,
  NotFound = 0x20,
  MemoryAllocationFailed = 0x21,
  AccessFailed = 0x22,
  InvalidProgram = 0x23,
  InvalidExternalData = 0x24,
  OutOfResources = 0x25
};

template <class T>
class Result {
 public:
  Result(Error error) : error_(error) {}
  Result(T value) : error_(Error::Ok), value_(std::move(value)) {}
  bool ok() const { return error_ == Error::Ok; }
  Error error() const { return error_; }
  T &get() { return *value_; }
  T &operator*() { return *value_; }
  T *operator->() { return &*value_; }

 private:
  Error error_;
  std::optional<T> value_;
};

/* Values next to each other, of somebody else. */
template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T *;
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T *data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T *begin, const T *end) : ArrayRef(begin, size_t(end - begin)) {}
  constexpr ArrayRef(const T &one) : ArrayRef(&one, 1) {}
  template <size_t N>
  constexpr ArrayRef(const T (&all)[N]) : ArrayRef(all, N) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N> &all) : ArrayRef(all.data(), N) {}
  template <class A>
  ArrayRef(const std::vector<T, A> &all) : ArrayRef(all.data(), all.size()) {}
  constexpr const T *begin() const { return data_; }
  constexpr const T *end() const { return data_ + size_; }
  constexpr const T *data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T &front() const { return data_[0]; }
  constexpr const T &back() const { return data_[size_ - 1]; }
  constexpr const T &operator[](size_t k) const { return data_[k]; }
  constexpr const T &at(size_t k) const { return data_[k]; }
  constexpr ArrayRef slice(size_t from, size_t n) const { return {data_ + from, n}; }
  constexpr bool equals(ArrayRef other) const {
    if (size_ != other.size_) return false;
    for (size_t k = 0; k < size_; k++)
      if (!(data_[k] == other.data_[k])) return false;
    return true;
  }

 private:
  const T *data_ = nullptr;
  size_t size_ = 0;
};

template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T *data, size_t size) : data_(data), size_(size) {}
  constexpr T *begin() const { return data_; }
  constexpr T *end() const { return data_ + size_; }
  constexpr T *data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T &operator[](size_t k) const { return data_[k]; }

 private:
  T *data_ = nullptr;
  size_t size_ = 0;
};
} // namespace runtime

namespace aten {
using runtime::ArrayRef;
using runtime::Error;
using SizesType = int32_t;
using StridesType = int32_t;
using DimOrderType = uint8_t;
using IntArrayRef = ArrayRef<int64_t>;
template <class T>
using optional = std::optional<T>;
using std::nullopt;
using std::nullopt_t;
using std::string_view;

enum class ScalarType : int8_t {
  Byte = 0,
  Char,
  Short,
  Int,
  Long,
  Half,
  Float,
  Double,
  ComplexHalf,
  ComplexFloat,
  ComplexDouble,
  Bool,
  QInt8,
  QUInt8,
  QInt32,
  BFloat16,
  QUInt4x2,
  QUInt2x4,
  Bits1x8,
  Bits2x4,
  Bits4x2,
  Bits8,
  Bits16,
  Float8_e5m2,
  Float8_e4m3fn,
  Float8_e5m2fnuz,
  Float8_e4m3fnuz,
  UInt16,
  UInt32,
  UInt64,
  Undefined,
  NumOptions
};
enum class MemoryFormat : int8_t { Contiguous = 0, Preserve, ChannelsLast };
enum class Layout : int8_t { Strided = 0 };
enum class TensorShapeDynamism : uint8_t { STATIC = 0, DYNAMIC_BOUND = 1, DYNAMIC_UNBOUND = 2 };

template <class T>
using OptionalArrayRef = optional<ArrayRef<T>>;

/* 16-bit floats: they compute as float, and are rounded when they are stored. */
template <class Self>
struct Rounded {
  Self &operator+=(float f) { return self() = Self(float(self()) + f); }
  Self &operator-=(float f) { return self() = Self(float(self()) - f); }
  Self &operator*=(float f) { return self() = Self(float(self()) * f); }
  Self &operator/=(float f) { return self() = Self(float(self()) / f); }

 private:
  Self &self() { return static_cast<Self &>(*this); }
};
struct Half : Rounded<Half> {
  uint16_t x = 0;
  Half() = default;
  Half(float f) : x(tn_f32_to_f16(f)) {}
  operator float() const { return tn_f16_to_f32(x); }
};
struct BFloat16 : Rounded<BFloat16> {
  uint16_t x = 0;
  BFloat16() = default;
  BFloat16(float f) : x(tn_f32_to_bf16(f)) {}
  operator float() const { return tn_bf16_to_f32(x); }
};
static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2, "as they lie in tensors");
} // namespace aten
} // namespace TENON_ET_HIDDEN

/* ---- one call -------------------------------------------------------------------------------- */

namespace tenon_et TENON_ET_HIDDEN {
using executorch::aten::ScalarType;
using executorch::runtime::Error;

enum { TEXT = 512, MOST = 64 }; /* of a message; tensors of a call */

/* Thrown through a kernel, caught at its end. */
struct Failed {};  /* a check failed; the run has its text */
struct Touched {}; /* a dry run has come to the first data, or memory */

struct Run;
struct TensorImpl {
  void *data = nullptr;
  ScalarType dtype = ScalarType::Undefined;
  int32_t dim = 0, output = -1; /* output: which one; -1: an input */
  int32_t sizes[TN_MAX_RANK] = {}, strides[TN_MAX_RANK] = {};
  uint8_t order[TN_MAX_RANK] = {};
  int64_t numel = 0;
  bool is_placed = false; /* an output whose shape was given to the host */
  Run *run = nullptr;
};

inline thread_local Run *current; /* the call of this thread */

struct Run {
  const tn_call *call;
  bool is_dry, is_dynamic;
  Error error = Error::Ok;
  tn_status status = TN_OK;
  char text[TEXT] = "";
  TensorImpl tensors[MOST];
  uint32_t n_tensors = 0, n_in = 0, n_out = 0; /* n_in, n_out: read so far */
  uint32_t n_singles = 0, n_lists = 0;         /* of the inputs of the schema */
  const char *attr = nullptr;                  /* the next one */
  std::vector<std::shared_ptr<void>> kept;     /* until the call ends */
  Run *outer;

  Run(const tn_call *c, bool dry, bool dynamic)
      : call(c),
        is_dry(dry),
        is_dynamic(dynamic),
        attr(static_cast<const char *>(c->attrs)),
        outer(current) {
    current = this;
  }
  ~Run() { current = outer; }
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  __attribute__((format(printf, 2, 3))) void say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!*text) vsnprintf(text, sizeof text, format, args);
    va_end(args);
  }
  template <class T>
  T *keep(std::vector<T> values) {
    auto all = std::make_shared<std::vector<T>>(std::move(values));
    kept.push_back(all);
    return all->data();
  }
};

[[noreturn]] inline void fail(Error error, tn_status status) {
  if (current) {
    if (current->error == Error::Ok) current->error = error;
    if (!current->status) current->status = status;
  }
  throw Failed{};
}

constexpr struct {
  ScalarType scalar;
  uint32_t dtype;
} types[] = {{ScalarType::Byte, TN_U8},           {ScalarType::Char, TN_I8},
             {ScalarType::Short, TN_I16},         {ScalarType::Int, TN_I32},
             {ScalarType::Long, TN_I64},          {ScalarType::Half, TN_F16},
             {ScalarType::Float, TN_F32},         {ScalarType::Double, TN_F64},
             {ScalarType::Bool, TN_BOOL},         {ScalarType::BFloat16, TN_BF16},
             {ScalarType::UInt16, TN_U16},        {ScalarType::UInt32, TN_U32},
             {ScalarType::UInt64, TN_U64},        {ScalarType::ComplexFloat, TN_C64},
             {ScalarType::ComplexDouble, TN_C128}};
/* What kernels can be given: types[], as a mask of dtypes. */
constexpr uint64_t all_types() {
  uint64_t mask = 0;
  for (const auto &t : types) mask |= TN_MASK(t.dtype);
  return mask;
}
inline ScalarType scalar_of(uint32_t dtype) {
  for (const auto &t : types)
    if (t.dtype == dtype) return t.scalar;
  return ScalarType::Undefined;
}
inline uint32_t dtype_of(ScalarType scalar) {
  for (const auto &t : types)
    if (t.scalar == scalar) return t.dtype;
  return TN_NONE;
}
inline int64_t bytes_of(ScalarType s) {
  switch (s) {
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Bool: return 1;
    case ScalarType::Short:
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::UInt16: return 2;
    case ScalarType::Int:
    case ScalarType::Float:
    case ScalarType::UInt32: return 4;
    case ScalarType::ComplexDouble: return 16;
    default: return 8;
  }
}

/* Strides and the number of elements; false: that does not fit. */
inline bool measure(TensorImpl *t) {
  int64_t n = 1;
  for (int32_t k = t->dim; k-- > 0;) {
    t->order[k] = uint8_t(k);
    t->strides[k] = n > INT32_MAX ? INT32_MAX : int32_t(n);
    if (t->sizes[k] < 0 || tn_mul_i64(n, t->sizes[k] ? t->sizes[k] : 1, &n)) return false;
  }
  t->numel = n;
  for (int32_t k = 0; k < t->dim; k++)
    if (!t->sizes[k]) t->numel = 0;
  return true;
}
} // namespace TENON_ET_HIDDEN

/* ---- tensors and scalars --------------------------------------------------------------------- */

namespace executorch TENON_ET_HIDDEN {
namespace aten {
class Tensor {
 public:
  using SizesType = aten::SizesType;
  using StridesType = aten::StridesType;
  using DimOrderType = aten::DimOrderType;
  Tensor() = default;
  explicit Tensor(tenon_et::TensorImpl *impl) : impl_(impl) {}
  tenon_et::TensorImpl *unsafeGetTensorImpl() const { return impl_; }
  ScalarType scalar_type() const { return impl_->dtype; }
  ScalarType dtype() const { return impl_->dtype; }
  ssize_t dim() const { return impl_->dim; }
  ssize_t numel() const { return impl_->numel; }
  ssize_t element_size() const { return tenon_et::bytes_of(impl_->dtype); }
  ssize_t itemsize() const { return element_size(); }
  size_t nbytes() const { return size_t(numel() * element_size()); }
  ssize_t size(ssize_t k) const {
    const ssize_t at = k < 0 ? k + dim() : k;
    if (at < 0 || at >= dim()) {
      if (tenon_et::current) tenon_et::current->say("size(%zd) of a tensor of rank %zd", k, dim());
      tenon_et::fail(Error::InvalidArgument, TN_ERR_SHAPE);
    }
    return impl_->sizes[at];
  }
  ArrayRef<SizesType> sizes() const { return {impl_->sizes, size_t(impl_->dim)}; }
  ArrayRef<StridesType> strides() const { return {impl_->strides, size_t(impl_->dim)}; }
  ArrayRef<DimOrderType> dim_order() const { return {impl_->order, size_t(impl_->dim)}; }
  TensorShapeDynamism shape_dynamism() const {
    return impl_->run->is_dynamic ? TensorShapeDynamism::DYNAMIC_UNBOUND
                                  : TensorShapeDynamism::STATIC;
  }
  const void *const_data_ptr() const { return data(); }
  void *mutable_data_ptr() const { return data(); }
  template <class T>
  const T *const_data_ptr() const {
    return static_cast<const T *>(data());
  }
  template <class T>
  T *mutable_data_ptr() const {
    return static_cast<T *>(data());
  }
  template <class T>
  T *data_ptr() const {
    return static_cast<T *>(data());
  }

 private:
  void *data() const {
    if (impl_->run->is_dry && !impl_->data && impl_->numel) throw tenon_et::Touched{};
    return impl_->data;
  }
  tenon_et::TensorImpl *impl_ = nullptr;
};
using TensorList = ArrayRef<Tensor>;

/* A number of a schema: Tenon keeps all of them as double. */
class Scalar {
 public:
  Scalar(double v) : value_(v), whole_(false) {}
  Scalar(int64_t v) : value_(double(v)), whole_(true) {}
  Scalar(int v) : Scalar(int64_t(v)) {}
  Scalar(bool v) : value_(v), whole_(false), truth_(true) {}
  template <class T>
  T to() const {
    return T(value_);
  }
  bool isFloatingPoint() const { return !whole_ && !truth_; }
  bool isIntegral(bool with_bool) const { return whole_ || (with_bool && truth_); }
  bool isBoolean() const { return truth_; }

 private:
  double value_;
  bool whole_, truth_ = false;
};
} // namespace aten

namespace runtime {
using aten::BFloat16;
using aten::Half;
using aten::IntArrayRef;
using aten::MemoryFormat;
using aten::nullopt;
using aten::optional;
using aten::Scalar;
using aten::ScalarType;
using aten::string_view;
using aten::Tensor;
using aten::TensorList;

/* What a kernel may ask for, and where it says that it failed. */
class KernelRuntimeContext {
 public:
  void fail(Error error) {
    error_ = error;
    if (tenon_et::current && tenon_et::current->error == Error::Ok)
      tenon_et::current->error = error;
  }
  Error failure_state() const { return error_; }
  /* Memory until the kernel returns. A dry run ends here: there, sizes may be of any size. */
  Result<void *> allocate_temp(size_t bytes, size_t alignment = alignof(std::max_align_t)) {
    if (!tenon_et::current) return Error::InvalidState;
    if (tenon_et::current->is_dry) throw tenon_et::Touched{};
    if (alignment > 64) return Error::InvalidArgument;
    const tn_call *c = tenon_et::current->call;
    void *memory = c->host->alloc(c->ctx, bytes);
    if (!memory) return tenon_et::current->status = TN_ERR_MEMORY, Error::MemoryAllocationFailed;
    tenon_et::current->kept.emplace_back(memory, [c](void *p) { c->host->free(c->ctx, p); });
    return memory;
  }

 private:
  Error error_ = Error::Ok;
};

namespace internal {
template <class T>
Error resize(Tensor tensor, ArrayRef<T> sizes) {
  tenon_et::TensorImpl *t = tensor.unsafeGetTensorImpl();
  tenon_et::Run *run = t->run;
  int64_t shape[TN_MAX_RANK] = {};
  bool same = sizes.size() == size_t(t->dim);
  if (t->output < 0 || sizes.size() > TN_MAX_RANK) return Error::InvalidArgument;
  for (size_t k = 0; k < sizes.size(); k++) {
    shape[k] = int64_t(sizes[k]);
    if (shape[k] < 0 || shape[k] > INT32_MAX) return Error::InvalidArgument;
    same = same && t->sizes[k] == shape[k];
  }
  if (same && (t->is_placed || run->is_dry || !run->is_dynamic)) return Error::Ok;
  if (!run->is_dry && !run->is_dynamic) {
    run->say(
        "output %d is resized to another shape than in the dry run; where shapes depend on "
        "data, say TENON_DYNAMIC",
        t->output);
    run->status = TN_ERR_SHAPE;
    return Error::NotSupported;
  }
  t->dim = int32_t(sizes.size());
  for (int32_t k = 0; k < t->dim; k++) t->sizes[k] = int32_t(shape[k]);
  if (!tenon_et::measure(t)) return Error::InvalidArgument;
  if (run->is_dry) return Error::Ok;
  const tn_call *c = run->call;
  run->status = c->host->output_resize(c->ctx, uint32_t(t->output), t->dim, shape);
  if (run->status) return Error::MemoryAllocationFailed;
  t->data = c->outputs[t->output]->data;
  t->is_placed = true;
  return Error::Ok;
}
} // namespace internal

inline Error resize_tensor(Tensor t, ArrayRef<int32_t> sizes) { return internal::resize(t, sizes); }
inline Error resize_tensor(Tensor t, ArrayRef<int64_t> sizes) { return internal::resize(t, sizes); }
inline Error resize_tensor(Tensor t, std::initializer_list<int32_t> sizes) {
  return internal::resize(t, ArrayRef<int32_t>(sizes.begin(), sizes.size()));
}

/* ---- boxed values ---- */

class EValue {
 public:
  EValue() = default;
  explicit EValue(Tensor t) : tensor_(t), tag_('T') {}
  explicit EValue(int64_t v) : int_(v), tag_('i') {}
  explicit EValue(bool v) : int_(v), tag_('b') {}
  explicit EValue(double v) : double_(v), tag_('d') {}
  explicit EValue(string_view v) : text_(v), tag_('s') {}
  explicit EValue(IntArrayRef v) : ints_(v), tag_('I') {}
  explicit EValue(ArrayRef<double> v) : doubles_(v), tag_('D') {}
  explicit EValue(TensorList v) : list_(v), tag_('L') {}
  bool isNone() const { return tag_ == 0; }
  bool isTensor() const { return tag_ == 'T'; }
  bool isInt() const { return tag_ == 'i'; }
  bool isBool() const { return tag_ == 'b'; }
  bool isDouble() const { return tag_ == 'd'; }
  bool isString() const { return tag_ == 's'; }
  bool isIntList() const { return tag_ == 'I'; }
  bool isDoubleList() const { return tag_ == 'D'; }
  bool isTensorList() const { return tag_ == 'L'; }
  bool isScalar() const { return isInt() || isBool() || isDouble(); }
  Tensor &toTensor() { return want('T'), tensor_; }
  const Tensor &toTensor() const { return want('T'), tensor_; }
  int64_t toInt() const { return want('i'), int_; }
  bool toBool() const { return want('b'), int_ != 0; }
  double toDouble() const { return want('d'), double_; }
  string_view toString() const { return want('s'), text_; }
  IntArrayRef toIntList() const { return want('I'), ints_; }
  ArrayRef<double> toDoubleList() const { return want('D'), doubles_; }
  TensorList toTensorList() const { return want('L'), list_; }
  Scalar toScalar() const {
    return isDouble() ? Scalar(double_) : isBool() ? Scalar(int_ != 0) : Scalar(toInt());
  }
  template <class T>
  T to() const {
    using V = std::decay_t<T>;
    if constexpr (std::is_same_v<V, Tensor>)
      return toTensor();
    else if constexpr (std::is_same_v<V, bool>)
      return toBool();
    else if constexpr (std::is_same_v<V, int64_t>)
      return toInt();
    else if constexpr (std::is_same_v<V, double>)
      return toDouble();
    else if constexpr (std::is_same_v<V, string_view>)
      return toString();
    else if constexpr (std::is_same_v<V, IntArrayRef>)
      return toIntList();
    else if constexpr (std::is_same_v<V, ArrayRef<double>>)
      return toDoubleList();
    else if constexpr (std::is_same_v<V, TensorList>)
      return toTensorList();
    else if constexpr (std::is_same_v<V, Scalar>)
      return toScalar();
    else if constexpr (std::is_same_v<V, ScalarType>)
      return ScalarType(toInt());
    else
      static_assert(!sizeof(T), "EValue::to() of this type is not in tenon/executorch.hpp");
  }
  template <class T>
  optional<T> toOptional() const {
    return isNone() ? optional<T>() : optional<T>(to<T>());
  }

 private:
  void want(char tag) const {
    if (tag_ == tag) return;
    if (tenon_et::current)
      tenon_et::current->say("a value is asked for as '%c' but is '%c' by the schema", tag,
                             tag_ ? tag_ : '-');
    tenon_et::fail(Error::InvalidType, TN_ERR_INVALID);
  }
  Tensor tensor_;
  int64_t int_ = 0;
  double double_ = 0;
  string_view text_;
  IntArrayRef ints_;
  ArrayRef<double> doubles_;
  TensorList list_;
  char tag_ = 0;
};
using OpFunction = void (*)(KernelRuntimeContext &, EValue **);
} // namespace runtime
} // namespace TENON_ET_HIDDEN

#endif
