"""Cases of operators that work element by element."""

import itertools

import torch
from tensors import b8, bf16, edge, f16, f32, f64, fill, i32, i64, i8, INF, NAN, t, u8, unit


def unary(c):
    floats = """acos acosh asin asinh atan atanh cos cosh erf exp log reciprocal sigmoid sin sinh
        sqrt tan tanh         rsqrt erfc exp2 log2 log10 log1p expm1 deg2rad rad2deg sinc
        special_erf special_expit         special_erfc special_exp2 special_log1p
        special_expm1 special_sinc arccos arccosh arcsin arcsinh arctan arctanh""".split()
    for name in floats:
        c.add(name, fill((2, 3), f32))
        c.add(name, fill((2,), i32))
        c.add(name, fill((2,), b8))
        c.add(name, t(1.25, f64))
    for name in ("exp", "log", "tanh", "sqrt", "log1p", "expm1", "sigmoid"):
        c.add(name, edge())
        c.add(name, fill((2, 3), f16))
        c.add(name, t([1e-6, -1e-6, 1e-3, 0.3]))
        c.add(name, torch.zeros(0, 3))
    for name in "abs neg sign relu square positive negative sgn absolute".split():
        for dtype in (f32, i32, u8, f16):
            c.add(name, fill((2, 3), dtype))
        c.add(name, edge())
    for name in ("sign", "sgn", "square"):
        c.add(name, fill((4,), b8))
    for name in "ceil floor round trunc fix frac".split():
        c.add(name, t([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49, -3.7]))
        if name != "frac":
            c.add(name, fill((3,), i32))
    c.add("round.decimals", t([2.675, -1.255, 0.125]), decimals=2)
    c.add("round.decimals", t([267.5, -1255.0]), decimals=-2)
    for name in "isnan isinf isfinite isposinf isneginf".split():
        c.add(name, edge())
        c.add(name, fill((3,), i32))
    for name in ("logical_not",):
        for dtype in (f32, i32, b8):
            c.add(name, fill((4,), dtype))
    for dtype in (i32, b8, u8):
        c.add("bitwise_not", fill((4,), dtype))
    for name in "silu selu mish hardswish hardsigmoid log_sigmoid relu6".split():
        c.add(name, fill((2, 3), f32))
    for dtype in (f32, f16):
        c.add("gelu", fill((2, 3), dtype))
        c.add("gelu", fill((2, 3), dtype), approximate="tanh")
    c.add("leaky_relu", fill((2, 3), f32))
    c.add("leaky_relu", fill((2, 3), f32), 0.2)
    c.add("rrelu", fill((2, 3), f32))
    c.add("elu", fill((2, 3), f32), 0.5)
    c.add("elu", fill((2, 3), f32), 0.5, 2.0, 0.7)
    c.add("celu", fill((2, 3), f32), 0.7)
    c.add("hardtanh", fill((2, 3), f32), -0.5, 1.5)
    c.add("hardshrink", fill((2, 3), f32), 1.0)
    c.add("softshrink", fill((2, 3), f32), 1.0)
    c.add("softplus", fill((2, 3), f32), 2.0, 3.0)
    c.add("softplus", t([19.0, 21.0, -30.0]))
    c.add("threshold", t([0.5, 1.0, 2.0, NAN]), 1.0, 7.0)
    c.add("threshold", fill((5,), i32), 1, 7)
    c.add("prelu", fill((2, 3, 2), f32), t([0.1, 0.2, 0.3]))
    c.add("prelu", fill((2, 3), f32), t([0.25]))
    c.add("glu", fill((2, 4), f32), 1)
    c.add("logit", unit((4,)) / 4)
    c.add("logit", t([-1.0, 0.3, 2.0]), 0.1)
    c.add("nan_to_num", edge())
    c.add("nan_to_num", edge(), 1.0, 2.0, 3.0)
    c.add("nan_to_num", fill((3,), i32))


PAIRS = [
    ((2, 3), f32, (2, 3), i64),
    ((2, 3), i32, (), f32),
    ((3,), u8, (3,), i8),
    ((3,), i32, (), i64),
    ((3,), f16, (), f32),
    ((3,), b8, (3,), i32),
    ((3,), f16, (3,), bf16),
    ((2, 1), f32, (3,), f32),
    ((0, 3), f32, (1, 3), f32),
    ((), i32, (), f64),
    ((2,), i32, (), f64),
    ((3,), u8, (), i64),
    ((3,), i8, (3,), i8),
]


def pairs(c, name, only=None, **kwargs):
    for sa, da, sb, db in PAIRS:
        if only and (da not in only or db not in only):
            continue
        c.add(name, fill(sa, da), fill(sb, db, 1), **kwargs)


def nonzero(x):
    return torch.where(x == 0, torch.ones_like(x), x)


def binary(c):
    for name in (
        "add.Tensor",
        "sub.Tensor",
        "mul.Tensor",
        "rsub.Tensor",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "subtract.Tensor",
        "multiply.Tensor",
        "max.other",
        "min.other",
    ):
        pairs(c, name)
    for alpha in (2, -1):
        c.add("add.Tensor", fill((3,), i32), fill((3,), i64), alpha=alpha)
        c.add("sub.Tensor", fill((3,), f32), fill((3,), i64), alpha=alpha)
    c.add("add.Tensor", fill((3,), f32), fill((3,), f32), alpha=0.5)
    c.add("add.Tensor", fill((3,), b8), fill((3,), b8, 1))
    c.add("mul.Tensor", fill((3,), b8), fill((3,), b8, 1))
    for name in ("maximum", "minimum", "fmax", "fmin"):
        c.add(name, edge(), t([1.0, 0.0, NAN, 2.0, 3.0, NAN]))
        c.add(name, fill((3,), b8), fill((3,), b8, 1))
    for name in "eq ne ge gt le lt not_equal greater greater_equal less less_equal".split():
        pairs(c, name + ".Tensor")
        for dtype, s in itertools.product((f32, i32, u8), (1, 0.5, -2)):
            c.add(name + ".Scalar", fill((3,), dtype), s)
        c.add(name + ".Tensor", fill((3,), b8), fill((3,), b8, 1))
        c.add(name + ".Tensor", edge(), edge())
    for name in (
        "add.Scalar",
        "sub.Scalar",
        "mul.Scalar",
        "rsub.Scalar",
        "div.Scalar",
        "remainder.Scalar",
        "fmod.Scalar",
        "floor_divide.Scalar",
        "true_divide.Scalar",
    ):
        for dtype, s in itertools.product((f32, i32, u8, f16), (2, 2.5, -3)):
            if dtype == u8 and s == -3:
                continue
            c.add(name, fill((2, 3), dtype), s)
    for name in ("div.Tensor", "true_divide.Tensor", "divide.Tensor"):
        for sa, da, sb, db in PAIRS:
            c.add(name, fill(sa, da), nonzero(fill(sb, db, 1)))
    for mode in (None, "trunc", "floor"):
        for da, db in ((i32, i32), (f32, f32), (u8, u8), (i32, f32), (i64, i32)):
            c.add("div.Tensor_mode", fill((6,), da), nonzero(fill((6,), db, 1)), rounding_mode=mode)
        c.add("div.Scalar_mode", fill((6,), f32), -0.75, rounding_mode=mode)
        c.add("div.Scalar_mode", fill((6,), i32), -3, rounding_mode=mode)
    for name in ("remainder.Tensor", "fmod.Tensor", "floor_divide"):
        for da, db in ((i32, i32), (f32, f32), (i64, f32), (u8, u8), (f32, i32)):
            c.add(name, fill((6,), da), nonzero(fill((6,), db, 1)))
    c.add(
        "remainder.Tensor",
        t([5.0, -5.0, 5.0, -5.0, INF, 1.0]),
        t([3.0, 3.0, -3.0, -3.0, 2.0, INF]),
    )
    c.add("floor_divide", t([1.0, -1.0, 0.3, 7.0]), t([0.1, 0.1, 0.1, 0.0]))
    for a, b in (
        (unit((4,)), fill((4,), f32)),
        (t([2, -3, 4], i32), t([0, 3, 2], i32)),
        (unit((3,)), t(2, i64)),
        (t([2, 3], i64), t([0.5, -1.0])),
    ):
        c.add("pow.Tensor_Tensor", a, b)
        c.add("float_power.Tensor_Tensor", a, b)
    for x in (unit((4,)), t([2, -3, 4], i32), t([2, 3], u8)):
        for e in (2, 3, 0.5, 0, -1, 2.5):
            c.add("pow.Tensor_Scalar", x, e)
        c.add("float_power.Tensor_Scalar", x, 2)
    c.add("pow.Scalar", 2, fill((4,), f32))
    c.add("pow.Scalar", 2, t([0, 3], i64))
    c.add("pow.Scalar", 2.5, t([0, 3], i64))
    c.add("float_power.Scalar", 2, t([0, 3], i64))
    for name in "logical_and logical_or logical_xor".split():
        for da, db in ((f32, i32), (b8, b8), (f32, f32)):
            c.add(name, fill((4,), da), fill((4,), db, 1))
    for name in "bitwise_and bitwise_or bitwise_xor __and__ __or__ __xor__".split():
        for da, db in ((i32, i64), (b8, b8), (u8, i8), (b8, i32)):
            c.add(name + ".Tensor", fill((4,), da), fill((4,), db, 1))
        c.add(name + ".Scalar", fill((4,), i32), 3)
    for name in "left right".split():
        c.add(f"bitwise_{name}_shift.Tensor", t([5, -5, 3], i32), t([1, 2, 0], i32))
        c.add(f"bitwise_{name}_shift.Tensor_Scalar", t([5, -5, 3], i64), 2)
    for name in ("__lshift__", "__rshift__"):
        c.add(name + ".Scalar", t([5, -5, 3], i64), 2)
        c.add(name + ".Tensor", t([5, -5, 3], i64), t([1, 2, 0], i64))
    y, x = t([0.0, 1.0, -1.0, -1.0, 1.0, 0.0]), t([1.0, 1.0, 1.0, -1.0, -1.0, -2.0])
    c.add("atan2", y, x)
    c.add("arctan2", y, x)
    c.add("atan2", fill((3,), i32), nonzero(fill((3,), i64, 1)))
    c.add("xlogy.Tensor", t([0.0, 0.0, 1.0, 2.0]), t([0.0, NAN, 0.5, 3.0]))
    c.add("addcmul", fill((3,), f32), fill((3,), f32, 1), fill((3,), f32, 2), value=0.5)
    c.add("addcmul", fill((3,), i32), fill((3,), i32, 1), fill((3,), i32, 2), value=2)
    c.add("addcdiv", fill((3,), f32), fill((3,), f32, 1), unit((3,)), value=2)
    for w in (0.3, 0.8):
        c.add("lerp.Scalar", fill((3,), f32), fill((3,), f32, 1), w)
    c.add("lerp.Tensor", fill((3,), f32), fill((3,), f32, 1), t([0.1, 0.5, 0.9]))
    for lo, hi in ((-1, 1), (None, 0.5), (-0.5, None), (2, -2)):
        for dtype in (f32, i32, f16):
            c.add("clamp", fill((5,), dtype), lo, hi)
            c.add("clip", fill((5,), dtype), lo, hi)
    c.add("clamp", edge(), -1.0, 1.0)
    c.add("clamp.Tensor", fill((5,), f32), t(-1.0), t([1.0, 0.0, 2.0, 1.0, 0.5]))
    c.add("clamp.Tensor", fill((5,), f32), None, t([1.0, 0.0, 2.0, 1.0, 0.5]))
    for dtype, s in itertools.product((f32, i32), (1, 0.5)):
        c.add("clamp_min", fill((5,), dtype), s)
        c.add("clamp_max", fill((5,), dtype), s)
    c.add("clamp_min.Tensor", fill((5,), f32), t(0.5))
    c.add("clamp_max.Tensor", fill((5,), f32), t(0.5))
    m = fill((2, 3), b8)
    c.add("where.self", m, fill((2, 3), f32), fill((3,), i64))
    c.add("where.self", m, fill((2, 3), i32), t(2.5))
    c.add("where.self", m, fill((2, 3), f16), t(1.0, f64))
    c.add("where.ScalarSelf", m, 2.5, fill((2, 3), i32))
    c.add("where.ScalarOther", m, fill((2, 3), i32), 2)
    c.add("where.Scalar", m, 1, 2.5)
    c.add("masked_fill.Scalar", fill((2, 3), f32), m, -INF)
    c.add("masked_fill.Scalar", fill((2, 3), i32), fill((3,), b8), 7)
    c.add("masked_fill.Tensor", fill((2, 3), f32), m, t(2.0))
    c.add("isclose", edge(), t([1e-9, 0.0, INF, INF, NAN, 1.500001]))
    c.add("isclose", edge(), edge(), equal_nan=True)
