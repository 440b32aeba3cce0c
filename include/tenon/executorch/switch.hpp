/* One body for many dtypes: ET_SWITCH_... of ExecuTorch. Include tenon/executorch.hpp. */
#ifndef TENON_EXECUTORCH_SWITCH_HPP
#define TENON_EXECUTORCH_SWITCH_HPP

#include "tenon/executorch/types.hpp"

namespace tenon_et TENON_ET_HIDDEN {
template <ScalarType S>
struct CType;
#define TENON_ET_CTYPE_IS(scalar, type) \
  template <>                           \
  struct CType<ScalarType::scalar> {    \
    using is = type;                    \
  };
TENON_ET_CTYPE_IS(Byte, uint8_t)
TENON_ET_CTYPE_IS(Char, int8_t)
TENON_ET_CTYPE_IS(Short, int16_t)
TENON_ET_CTYPE_IS(Int, int32_t)
TENON_ET_CTYPE_IS(Long, int64_t)
TENON_ET_CTYPE_IS(Half, executorch::aten::Half)
TENON_ET_CTYPE_IS(Float, float)
TENON_ET_CTYPE_IS(Double, double)
TENON_ET_CTYPE_IS(Bool, bool)
TENON_ET_CTYPE_IS(BFloat16, executorch::aten::BFloat16)
#undef TENON_ET_CTYPE_IS
template <ScalarType S>
using ctype = typename CType<S>::is;
} // namespace TENON_ET_HIDDEN

#define TENON_ET_CASE(scalar, type, alias, ...)  \
  case ::executorch::aten::ScalarType::scalar: { \
    using alias = type;                          \
    return __VA_ARGS__();                        \
  }
#define TENON_ET_INTS(alias, ...)                   \
  TENON_ET_CASE(Byte, uint8_t, alias, __VA_ARGS__)  \
  TENON_ET_CASE(Char, int8_t, alias, __VA_ARGS__)   \
  TENON_ET_CASE(Short, int16_t, alias, __VA_ARGS__) \
  TENON_ET_CASE(Int, int32_t, alias, __VA_ARGS__)   \
  TENON_ET_CASE(Long, int64_t, alias, __VA_ARGS__)
#define TENON_ET_FLOATS(alias, ...)               \
  TENON_ET_CASE(Float, float, alias, __VA_ARGS__) \
  TENON_ET_CASE(Double, double, alias, __VA_ARGS__)
#define TENON_ET_BOOL(alias, ...) TENON_ET_CASE(Bool, bool, alias, __VA_ARGS__)
#define TENON_ET_HALF(alias, ...) TENON_ET_CASE(Half, ::executorch::aten::Half, alias, __VA_ARGS__)
#define TENON_ET_BF16(alias, ...) \
  TENON_ET_CASE(BFloat16, ::executorch::aten::BFloat16, alias, __VA_ARGS__)
#define TENON_ET_SWITCH(type, context, name, cases)                                               \
  [&] {                                                                                           \
    const ::executorch::aten::ScalarType tenon_et_type = (type);                                  \
    switch (tenon_et_type) {                                                                      \
      cases default : ET_CHECK_MSG(false, "%s: dtype %d is not taken", name, int(tenon_et_type)); \
    }                                                                                             \
  }()
#define ET_SWITCH_INT_TYPES(type, context, name, alias, ...) \
  TENON_ET_SWITCH(type, context, name, TENON_ET_INTS(alias, __VA_ARGS__))
#define ET_SWITCH_FLOAT_TYPES(type, context, name, alias, ...) \
  TENON_ET_SWITCH(type, context, name, TENON_ET_FLOATS(alias, __VA_ARGS__))
#define ET_SWITCH_FLOATH_TYPES(type, context, name, alias, ...) \
  TENON_ET_SWITCH(type, context, name,                          \
                  TENON_ET_FLOATS(alias, __VA_ARGS__) TENON_ET_HALF(alias, __VA_ARGS__))
#define ET_SWITCH_FLOATHBF16_TYPES(type, context, name, alias, ...)                     \
  TENON_ET_SWITCH(type, context, name,                                                  \
                  TENON_ET_FLOATS(alias, __VA_ARGS__) TENON_ET_HALF(alias, __VA_ARGS__) \
                      TENON_ET_BF16(alias, __VA_ARGS__))
#define ET_SWITCH_REAL_TYPES(type, context, name, alias, ...) \
  TENON_ET_SWITCH(type, context, name,                        \
                  TENON_ET_INTS(alias, __VA_ARGS__) TENON_ET_FLOATS(alias, __VA_ARGS__))
#define ET_SWITCH_REALB_TYPES(type, context, name, alias, ...)                          \
  TENON_ET_SWITCH(type, context, name,                                                  \
                  TENON_ET_INTS(alias, __VA_ARGS__) TENON_ET_FLOATS(alias, __VA_ARGS__) \
                      TENON_ET_BOOL(alias, __VA_ARGS__))
#define ET_SWITCH_REALH_TYPES(type, context, name, alias, ...)                          \
  TENON_ET_SWITCH(type, context, name,                                                  \
                  TENON_ET_INTS(alias, __VA_ARGS__) TENON_ET_FLOATS(alias, __VA_ARGS__) \
                      TENON_ET_HALF(alias, __VA_ARGS__))
#define ET_SWITCH_REALHB_TYPES(type, context, name, alias, ...)                         \
  TENON_ET_SWITCH(type, context, name,                                                  \
                  TENON_ET_INTS(alias, __VA_ARGS__) TENON_ET_FLOATS(alias, __VA_ARGS__) \
                      TENON_ET_HALF(alias, __VA_ARGS__) TENON_ET_BOOL(alias, __VA_ARGS__))
#define ET_SWITCH_REALHBF16_TYPES(type, context, name, alias, ...)                      \
  TENON_ET_SWITCH(type, context, name,                                                  \
                  TENON_ET_INTS(alias, __VA_ARGS__) TENON_ET_FLOATS(alias, __VA_ARGS__) \
                      TENON_ET_HALF(alias, __VA_ARGS__) TENON_ET_BF16(alias, __VA_ARGS__))
#define ET_SWITCH_REALHBBF16_TYPES(type, context, name, alias, ...)                       \
  TENON_ET_SWITCH(type, context, name,                                                    \
                  TENON_ET_INTS(alias, __VA_ARGS__) TENON_ET_FLOATS(alias, __VA_ARGS__)   \
                      TENON_ET_HALF(alias, __VA_ARGS__) TENON_ET_BOOL(alias, __VA_ARGS__) \
                          TENON_ET_BF16(alias, __VA_ARGS__))

#define ET_SWITCH_ALL_TYPES(...) ET_SWITCH_REALHBBF16_TYPES(__VA_ARGS__)
#define ET_SWITCH_TWO_TYPES(one, other, type, context, name, alias, ...)      \
  TENON_ET_SWITCH(type, context, name,                                        \
                  TENON_ET_CASE(one, TENON_ET_CTYPE(one), alias, __VA_ARGS__) \
                      TENON_ET_CASE(other, TENON_ET_CTYPE(other), alias, __VA_ARGS__))
#define TENON_ET_CTYPE(scalar) ::tenon_et::ctype<::executorch::aten::ScalarType::scalar>

#endif
