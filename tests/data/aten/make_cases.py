#!/usr/bin/env python3
"""Writes tests/data/aten/cases.txt: what PyTorch answers for each overload that Tenon knows.

usage: make_cases.py TENON -o cases.txt   (TENON is the command, for its table)
(needs torch, torchvision)

A line is: the operator of Tenon, its arguments, what it makes, with tabs between. A tensor is
`name=f32[2,3]:1,2,...`, anything else `name@text`. Overloads without a line are listed at the end
of the run, on stderr.
"""

import argparse
import itertools
import subprocess
import sys

import torch
import torchvision  # noqa: F401 (its operators)

DTYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.bool: "bool",
}
f32, f64, f16, bf16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
i8, i32, i64, u8, b8 = torch.int8, torch.int32, torch.int64, torch.uint8, torch.bool
NAN, INF = float("nan"), float("inf")


def t(values, dtype=f32):
    return torch.tensor(values, dtype=dtype)


def fill(shape, dtype, k=0):
    """Small numbers of both signs, with zeros and equal ones."""
    n = 1
    for d in shape:
        n *= d
    values = [((i * 7 + 3 * k) % 11 - 5) * 0.5 for i in range(n)]
    if dtype == b8:
        values = [v > 0 for v in values]
    elif dtype == u8:
        values = [abs(v) * 2 for v in values]
    elif dtype in (i8, i32, i64):
        values = [v * 2 for v in values]
    return (
        torch.tensor(values, dtype=f64 if not values or dtype != b8 else b8)
        .to(dtype)
        .reshape(shape)
    )


def unit(shape, dtype=f32, k=0):
    return (fill(shape, f32, k).abs() / 3 + 0.05).to(dtype)


def edge(dtype=f32):
    return t([0.0, -0.0, INF, -INF, NAN, 1.5], dtype)


def text(x):
    values = x.flatten().tolist()
    if x.dtype == b8:
        values = [int(v) for v in values]
    shape = ",".join(str(d) for d in x.shape)
    return f"{DTYPES[x.dtype]}[{shape}]:" + ",".join(
        "%.9g" % v if x.is_floating_point() and x.dtype != f64 else repr(v) for v in values
    )


def literal(v):
    if isinstance(v, bool):
        return "1" if v else "0"
    if isinstance(v, torch.dtype):
        return DTYPES[v]
    if isinstance(v, (list, tuple)):
        return "[" + ",".join(literal(x) for x in v) + "]"
    return str(v)


def spread(op, argument, value):
    """2 as [2, 2], where conv2d wants a list."""
    is_list = str(argument.type) in ("List[int]", "List[SymInt]")
    return [value] * int(op[-2]) if is_list and isinstance(value, int) and op[-1] == "d" else value


class Cases:
    def __init__(self, tenon):
        rows = subprocess.run(
            [tenon, "ops", "--format", "torchexport"], check=True, text=True, capture_output=True
        ).stdout.splitlines()
        self.names = {}
        for row in rows:
            words = row.split()
            if len(words) >= 3 and words[1] == "lowered":
                self.names[words[0].removeprefix("aten::")] = words[2]
        self.lines, self.seen, self.failed = [], set(), []

    def add(self, name, *args, n_out=None, **kwargs):
        library, _, base = name.rpartition("::")
        base, _, overload = base.partition(".")
        if name not in self.names:
            self.failed.append(f"{name}: Tenon has no such row")
            return
        op = getattr(getattr(getattr(torch.ops, library or "aten"), base), overload or "default")
        args = [spread(base, a, v) for a, v in zip(op._schema.arguments, args)]
        try:
            out = op(*args, **kwargs)
        except Exception as e:  # what PyTorch refuses is no case
            self.failed.append(f"{name}: {str(e).splitlines()[0][:100]}")
            return
        given = dict(zip((a.name for a in op._schema.arguments), args)) | kwargs
        words = [self.names[name]]
        for key, v in given.items():
            if v is None:
                continue
            if isinstance(v, torch.Tensor):
                words.append(f"{key}={text(v)}")
            elif isinstance(v, (list, tuple)) and any(isinstance(x, torch.Tensor) for x in v):
                words += [f"{key}={text(x)}" if x is not None else f"{key}=" for x in v]
            else:
                words.append(f"{key}@{literal(v)}")
        outs = list(out) if isinstance(out, (list, tuple)) else [out]
        outs = outs[:n_out] if n_out else outs
        if not all(isinstance(x, torch.Tensor) and x.dtype in DTYPES for x in outs):
            self.failed.append(f"{name}: its outputs are no plain tensors")
            return
        words += [f"->={text(x)}" for x in outs]
        self.lines.append("\t".join(words))
        self.seen.add(name)


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
            c.add(
                "div.Tensor_mode", fill((6,), da), nonzero(fill((6,), db, 1)), rounding_mode=mode
            )
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


def moves(c):
    x = fill((2, 3, 4), f32)
    for name in ("view", "reshape", "_unsafe_view", "view_copy", "_reshape_copy"):
        c.add(name, x, [4, -1])
        c.add(name, x, [2, 1, 12])
    c.add("view", torch.zeros(0, 3), [0, 3, 1])
    c.add("reshape", t(1.5), [1])
    c.add("view_as", x, torch.zeros(6, 4))
    c.add("reshape_as", x, torch.zeros(6, 4))
    c.add("flatten.using_ints", x, 1, 2)
    c.add("flatten.using_ints", x)
    c.add("flatten.using_ints", t(1.0))
    c.add("ravel", x)
    c.add("unflatten.int", x, 2, [2, -1])
    z = fill((1, 3, 1), f32)
    for name in ("squeeze", "squeeze_copy"):
        c.add(name, z)
        c.add(name + ".dim", z, -1)
        c.add(name + ".dim", z, 1)
        c.add(name + ".dims", z, [0, 1])
    for name in ("unsqueeze", "unsqueeze_copy"):
        c.add(name, x, -1)
        c.add(name, t(1.0), 0)
    c.add("atleast_1d", t(1.0)), c.add("atleast_2d", fill((3,), f32)), c.add("atleast_2d", t(2.0))
    for name in ("expand", "expand_copy"):
        c.add(name, z, [2, -1, 4])
        c.add(name, fill((3,), i32), [2, 3])
    c.add("broadcast_to", z, [2, 3, 4])
    c.add("expand_as", z, x)
    c.add("broadcast_tensors", [fill((2, 1), f32), fill((3,), i32)])
    c.add("repeat", fill((2, 3), f32), [2, 1, 2])
    c.add("tile", fill((2, 3), f32), [2])
    c.add("repeat_interleave.self_int", fill((2, 3), f32), 2)
    c.add("repeat_interleave.self_int", fill((2, 3), f32), 2, 1)
    for name in ("permute", "permute_copy"):
        c.add(name, x, [2, 0, -2])
    for name in ("transpose.int", "swapaxes", "swapdims", "transpose_copy.int"):
        c.add(name, x, 0, -1)
    for name in ("t", "t_copy"):
        c.add(name, fill((2, 3), f32))
        c.add(name, fill((3,), f32))
    c.add("numpy_T", x), c.add("mT", x)
    c.add("movedim.intlist", x, [0, 1], [2, 0]), c.add("movedim.int", x, 0, 2)
    c.add("moveaxis.intlist", x, [0, 1], [2, 0]), c.add("moveaxis.int", x, 0, 2)
    for name in ("select.int", "select_copy.int"):
        c.add(name, x, 1, -1)
    for name in ("slice.Tensor", "slice_copy.Tensor"):
        c.add(name, x, 2, 1, 9)
        c.add(name, x, 2, -3, -1)
        c.add(name, x, 2, 0, 9223372036854775807, 3)
        c.add(name, x, 1, 2, 1)
    c.add("narrow", x, 2, 1, 2), c.add("narrow_copy", x, 2, -3, 2)
    for name in ("split.Tensor", "split_copy.Tensor", "unsafe_split.Tensor"):
        c.add(name, x, 3, 2)
    for name in ("split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes"):
        c.add(name, x, [1, 0, 3], 2)
    c.add("split.sizes", x, [1, 3], 2)
    for name in ("chunk", "unsafe_chunk"):
        c.add(name, x, 3, 2)
    c.add("tensor_split.sections", x, 3, 2)
    for name in ("unbind.int", "unbind_copy.int"):
        c.add(name, x, 1)
    for name in ("cat", "concat", "concatenate"):
        c.add(name, [fill((2, 3), f32), fill((2, 1), i64)], 1)
        c.add(name, [torch.zeros(0), fill((2, 3), f32)], 0)
    c.add("stack", [fill((2,), i32), fill((2,), f32)], -1)
    c.add("flip", x, [0, 2]), c.add("fliplr", x), c.add("flipud", x)
    c.add("roll", x, [1, -1], [0, 2]), c.add("roll", x, [5])
    for name in ("unfold", "unfold_copy"):
        c.add(name, fill((2, 5), f32), 1, 3, 2)
    for name in ("as_strided", "as_strided_copy"):
        c.add(name, fill((12,), f32), [2, 3], [1, 2], 3)
    c.add("diff", x), c.add("diff", x, 2, 1), c.add("diff", fill((4,), b8)), c.add(
        "diff", fill((3,), i32), 1, 0, t([7], i32), t([9], i32)
    )
    c.add("linalg_cross", fill((2, 3), f32), fill((2, 3), f32, 1)), c.add("numel", x), c.add(
        "to.device", fill((2,), f32), "cpu", i32
    )
    p = fill((1, 4, 2, 2), f32)
    c.add("pixel_shuffle", p, 2), c.add("pixel_unshuffle", p, 2), c.add("channel_shuffle", p, 2)
    c.add("native_channel_shuffle", p, 2)
    for name in ("contiguous", "clone", "detach", "alias", "lift_fresh", "lift_fresh_copy"):
        c.add(name, fill((2,), f32))
    c.add("dropout", fill((3,), f32), 0.5, False)


def creation(c):
    c.add("full", [2, 3], 2), c.add("full", [2], 2.5), c.add("full", [], 1.5, dtype=f64)
    c.add("full", [2], 3, dtype=f32), c.add("scalar_tensor", 2), c.add(
        "scalar_tensor", 2.5, dtype=i64
    )
    c.add("zeros", [2, 0]), c.add("ones", [2], dtype=i32), c.add("zeros", [1], dtype=b8)
    x = fill((2, 2), i32)
    for name in ("zeros_like", "ones_like"):
        c.add(name, x), c.add(name, x, dtype=f32)
    c.add("full_like", x, 2.5, dtype=f32), c.add("full_like", x, 3)
    c.add("new_full", x, [3], 2), c.add("new_zeros", x, [3]), c.add("new_ones", x, [3], dtype=f32)
    c.add("fill.Scalar", x, 7), c.add("fill.Tensor", fill((2, 2), f32), t(3, i64))
    c.add("arange", 5), c.add("arange", 2.5), c.add("arange", 3, dtype=f32), c.add(
        "arange.start", 2, 6
    )
    c.add("arange.start_step", 1, 8, 3), c.add("arange.start_step", 5, -2, -2), c.add(
        "arange.start_step", 0, 1, 0.3
    )
    c.add("linspace", 0, 1, 5), c.add("linspace", 3, -2, 4), c.add("linspace", 0, 9, 1), c.add(
        "linspace", 0, 10, 4, dtype=i64
    )
    c.add("eye", 3), c.add("eye.m", 2, 3, dtype=i64)
    for k in (0, 1, -1):
        c.add("tril", fill((3, 4), f32), k), c.add("triu", fill((3, 4), f32), k)
    for a, b in ((f32, i32), (f32, b8), (i32, f16), (b8, f32), (f32, f32), (f32, u8), (i64, i8)):
        c.add("to.dtype", fill((4,), a), b)
        c.add("_to_copy", fill((4,), a), dtype=b)
    c.add("to.other", fill((4,), f32), fill((1,), i32)), c.add(
        "type_as", fill((4,), f32), fill((1,), i32)
    )
    c.add("copy", fill((2, 3), f32), fill((3,), i32))


def reductions(c):
    x = fill((2, 3, 4), f32)
    for name in ("sum", "prod"):
        for dtype in (f32, i32, b8, f16, u8):
            c.add(name, fill((2, 3), dtype))
        c.add(name, fill((2, 3), i32), dtype=f32), c.add(name, torch.zeros(0, 3))
    c.add("sum.dim_IntList", x, [0, -1]), c.add("sum.dim_IntList", x, [1], True), c.add(
        "sum.dim_IntList", x, None
    )
    c.add("sum.dim_IntList", fill((2, 3), b8), [1]), c.add(
        "sum.dim_IntList", torch.zeros(0, 3), [0]
    )
    c.add("sum.dim_IntList", x, []), c.add("prod.dim_int", x, 1), c.add(
        "prod.dim_int", fill((2, 3), i32), 1, True
    )
    c.add("nansum", edge())
    c.add("mean", x), c.add("mean", fill((3,), i32), dtype=f32), c.add(
        "mean.dim", x, [1, 2], True
    ), c.add("mean.dim", x, [1])
    c.add("mean.dim", torch.zeros(0, 3), [0]), c.add("mean", fill((2, 3), f16))
    for name in ("var", "std"):
        c.add(name, x), c.add(name, x, False), c.add(name + ".dim", x, [1], False, True), c.add(
            name + ".dim", x, [0, 2]
        )
        c.add(name + ".correction", x, [2], correction=0), c.add(
            name + ".correction", x, [1], correction=2
        )
        c.add(name + ".correction", t([[1.0], [2.0]]), [1])
        c.add(name + "_mean.correction", x, [1], correction=1, keepdim=True), c.add(
            name + "_mean", x
        ), c.add(name + "_mean.dim", x, [1])
    c.add("logsumexp", x, [1]), c.add("logsumexp", x, [0, 2], True), c.add(
        "logsumexp", t([[-INF, -INF], [1.0, 2.0]]), [1]
    )
    for p in (2, 1, 0, 3, INF, -INF):
        c.add("linalg_vector_norm", x, float(p), [1]), c.add(
            "norm.ScalarOpt_dim", x, float(p), [1], True
        )
    c.add("norm.Scalar", x), c.add("linalg_vector_norm", x), c.add("frobenius_norm.dim", x, [0, 1])
    for name in ("amax", "amin"):
        c.add(name, x, [0, 2]), c.add(name, x), c.add(name, edge()), c.add(
            name, fill((2, 3), b8), [1], True
        ), c.add(name, fill((2, 3), i32), [1])
    for name in ("max", "min"):
        c.add(name, x), c.add(name, edge()), c.add(name + ".dim", x, 1), c.add(
            name + ".dim", x, -1, True
        )
        c.add(name + ".dim", t([[1.0, NAN, 2.0], [3.0, 3.0, 1.0]]), 1), c.add(
            name + ".dim", fill((2, 3), b8), 1
        ), c.add(name, fill((2, 3), i32))
    c.add("aminmax", x), c.add("aminmax", x, dim=1, keepdim=True)
    for name in ("argmax", "argmin"):
        c.add(name, x), c.add(name, x, 1), c.add(name, x, -1, True), c.add(
            name, t([[1.0, NAN, 2.0], [3.0, 3.0, 1.0]]), 1
        )
        c.add(name, fill((2, 3), i32), 0)
    for name in ("any", "all"):
        c.add(name, fill((2, 3), f32)), c.add(name, fill((2, 3), u8)), c.add(
            name + ".dim", fill((2, 3), i32), 1
        ), c.add(name + ".dims", x, [0, 1], True)
        c.add(name, torch.zeros(0)), c.add(name + ".dim", torch.zeros(0, 3, dtype=b8), 0)
    c.add("count_nonzero", x), c.add("count_nonzero.dim_IntList", x, [1])
    for name in ("cumsum", "cumprod"):
        c.add(name, x, 1), c.add(name, fill((2, 3), i32), -1), c.add(
            name, fill((3,), b8), 0
        ), c.add(name, torch.zeros(0, 3), 0), c.add(name, fill((2, 3), i32), 0, dtype=f32)
    for name in ("softmax.int", "log_softmax.int"):
        c.add(name, x, 1), c.add(name, fill((2, 3), f16), -1), c.add(
            name, fill((2, 3), i32), -1, f32
        )
    c.add("_softmax", x, 1, False), c.add("_log_softmax", x, 1, False), c.add(
        "_safe_softmax", t([[-INF, -INF], [0.0, 1.0]]), 1
    )


def products(c):
    a, b, v = fill((2, 3), f32), fill((3, 4), f32, 1), fill((3,), f32, 2)
    batch = fill((2, 2, 3), f32)
    for x, y in (
        (a, b),
        (a, v),
        (v, b),
        (v, v),
        (batch, b),
        (batch, v),
        (v, fill((2, 3, 2), f32)),
        (fill((2, 3), i32), fill((3, 2), i64).to(i32)),
    ):
        c.add("matmul", x, y)
    c.add("mm", a, b), c.add("bmm", batch, fill((2, 3, 1), f32)), c.add("mv", a, v), c.add(
        "dot", v, v
    )
    c.add("linear", a, fill((4, 3), f32), fill((4,), f32)), c.add(
        "linear", batch, fill((4, 3), f32)
    ), c.add("linear", v, fill((4, 3), f32), fill((4,), f32))
    c.add("addmm", fill((4,), f32), a, b), c.add(
        "addmm", fill((2, 4), f32), a, b, beta=0.5, alpha=2
    ), c.add("addmm", t([[NAN]]), a, b, beta=0)
    c.add("addmv", fill((2,), f32), a, v, beta=2, alpha=0.5), c.add(
        "baddbmm", fill((2, 2, 1), f32), batch, fill((2, 3, 1), f32), beta=2, alpha=0.5
    )
    c.add("vdot", v, v)
    c.add("bilinear", a, fill((2, 2), f32), fill((4, 3, 2), f32), fill((4,), f32))
    c.add("linalg_norm", a)
    c.add("linalg_norm", a, 1, [1])
    c.add("outer", v, fill((2,), f32)), c.add("ger", v, fill((2,), f32)), c.add(
        "einsum", "bij,jk->bik", [batch, b]
    )
    q, k, w = fill((1, 2, 3, 4), f32), fill((1, 2, 5, 4), f32, 1), fill((1, 2, 5, 4), f32, 2)
    c.add("scaled_dot_product_attention", q, k, w), c.add(
        "scaled_dot_product_attention", q, k, w, None, 0.0, True
    )
    c.add("scaled_dot_product_attention", q, k, w, fill((3, 5), b8)), c.add(
        "scaled_dot_product_attention", q, k, w, fill((3, 5), f32), scale=0.3
    )
    c.add("scaled_dot_product_attention", fill((1, 4, 3, 4), f32), k, w, enable_gqa=True)
    for p in (2.0, 1.0, INF, 3.0, 0.0):
        c.add("cdist", a, fill((4, 3), f32, 1), p), c.add(
            "_cdist_forward", a, fill((4, 3), f32, 1), p, None
        )
    c.add("pairwise_distance", a, fill((2, 3), f32, 1)), c.add(
        "cosine_similarity", a, fill((2, 3), f32, 1)
    ), c.add("cosine_similarity", torch.zeros(1, 3), fill((1, 3), f32))


def layers(c):
    x, w, bias = fill((1, 2, 5, 5), f32), fill((4, 2, 3, 3), f32, 1), fill((4,), f32)
    c.add("conv2d", x, w, bias), c.add("conv2d", x, w, None, [2], [1]), c.add(
        "conv2d", x[0], w, bias, [1, 2], [1, 0], [2, 1]
    )
    c.add("conv2d", x, fill((4, 1, 3, 3), f32), bias, 1, 1, 1, 2), c.add(
        "conv2d.padding", x, fill((4, 2, 2, 4), f32), bias, 1, "same"
    ), c.add("conv2d.padding", x, w, bias, 2, "valid")
    c.add("conv1d", fill((1, 2, 6), f32), fill((3, 2, 3), f32), None, 2, 1), c.add(
        "conv1d.padding", fill((1, 2, 6), f32), fill((3, 2, 4), f32), None, 1, "same"
    )
    c.add(
        "conv3d", fill((1, 1, 3, 3, 3), f32), fill((2, 1, 2, 2, 2), f32), fill((2,), f32)
    ), c.add(
        "conv3d.padding", fill((1, 1, 3, 3, 3), f32), fill((2, 1, 2, 2, 2), f32), None, 1, "same"
    )
    wt = fill((2, 3, 3, 3), f32)
    c.add("conv_transpose2d.input", x, wt, fill((3,), f32), 2, 1, 1), c.add(
        "conv_transpose2d.input", x, fill((2, 2, 3, 3), f32), None, 1, 0, 0, 2, 2
    )
    c.add("conv_transpose1d", fill((1, 2, 4), f32), fill((2, 3, 3), f32), None, 2), c.add(
        "conv_transpose3d.input", fill((1, 1, 2, 2, 2), f32), fill((1, 2, 2, 2, 2), f32)
    )
    c.add("convolution", x, w, bias, [1, 1], [1, 1], [1, 1], False, [0, 0], 1), c.add(
        "convolution", x, wt, None, [2, 2], [0, 0], [1, 1], True, [1, 1], 1
    )
    p = fill((1, 2, 5, 6), f32)
    c.add("max_pool2d", p, [2, 2]), c.add("max_pool2d", p, [3], [2], [1], [1], True), c.add(
        "max_pool2d", p, [2, 3], [1, 2], [1, 1], [2, 1]
    )
    c.add("max_pool2d_with_indices", p, [3], [2], [1], [1], True), c.add(
        "max_pool2d_with_indices", p, [2, 2]
    ), c.add("max_pool2d", p, [2], [3], [0], [1], True)
    c.add("max_pool1d", fill((1, 2, 7), f32), [3], [2], [1], [1], True), c.add(
        "max_pool1d_with_indices", fill((1, 2, 7), f32), [3], [2], [1]
    ), c.add("max_pool3d", fill((1, 1, 3, 4, 4), f32), [2]), c.add(
        "max_pool3d_with_indices", fill((1, 1, 3, 4, 4), f32), [2]
    )
    for ceil, counts in itertools.product((False, True), (False, True)):
        c.add("avg_pool2d", p, [3], [2], [1], ceil, counts), c.add(
            "avg_pool1d", fill((1, 2, 7), f32), [3], [2], [1], ceil, counts
        )
        c.add("avg_pool2d", p, [2, 3], [3, 2], [0, 1], ceil, counts)
    c.add("avg_pool2d", p, [3], [2], [1], False, True, 5), c.add(
        "avg_pool3d", fill((1, 1, 3, 4, 4), f32), [2]
    ), c.add("avg_pool2d", p[0], [2])
    for size in ([1, 1], [2, 3], [3, 4], [5, 6], [7, 7]):
        c.add("adaptive_avg_pool2d", p, size), c.add("_adaptive_avg_pool2d", p, size)
    c.add("adaptive_avg_pool1d", fill((1, 2, 7), f32), [3]), c.add(
        "adaptive_avg_pool3d", fill((1, 1, 3, 4, 4), f32), [2, 2, 2]
    ), c.add("_adaptive_avg_pool3d", fill((1, 1, 3, 4, 4), f32), [2, 2, 2])
    c.add("adaptive_max_pool2d", p, [3, 4], n_out=1), c.add(
        "adaptive_max_pool2d", p, [5, 3]
    ), c.add("adaptive_max_pool1d", fill((1, 2, 7), f32), [3], n_out=1), c.add(
        "adaptive_max_pool3d", fill((1, 1, 2, 4, 4), f32), [2, 2, 2]
    )
    c.add("im2col", p, [2, 3], [1, 1], [1, 0], [2, 1]), c.add(
        "col2im", fill((1, 8, 12), f32), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1]
    )
    n, m, s = fill((2, 4, 3), f32), fill((4,), f32), unit((4,))
    c.add("batch_norm", n, m, fill((4,), f32, 1), m, s, False, 0.1, 1e-3, False), c.add(
        "batch_norm", n, None, None, m, s, False, 0.1, 1e-5, False
    )
    c.add("_native_batch_norm_legit_no_training", n, m, None, m, s, 0.1, 1e-5, n_out=1), c.add(
        "native_batch_norm", n, m, None, m, s, False, 0.1, 1e-5, n_out=1
    )
    c.add("instance_norm", n, None, None, None, None, True, 0.1, 1e-5, False), c.add(
        "instance_norm", n, m, m, None, None, True, 0.1, 1e-5, False
    )
    c.add("layer_norm", n, [3], fill((3,), f32), fill((3,), f32, 1)), c.add(
        "layer_norm", n, [4, 3]
    ), c.add("native_layer_norm", n, [3], fill((3,), f32), None, 1e-3)
    c.add("rms_norm", n, [3], fill((3,), f32)), c.add("rms_norm", n, [4, 3], None, 1e-3), c.add(
        "group_norm", n, 2, m, m
    ), c.add("group_norm", n, 4), c.add("native_group_norm", n, m, None, 2, 4, 3, 2, 1e-5, n_out=1)
    c.add("_weight_norm", fill((2, 3), f32), t([[1.0], [2.0]]))
    img = fill((1, 2, 3, 4), f32)
    for size in ([6, 8], [5, 7], [2, 2]):
        c.add("upsample_nearest2d", img, size), c.add("_upsample_nearest_exact2d", img, size)
        for align in (False, True):
            c.add("upsample_bilinear2d", img, size, align), c.add(
                "upsample_bicubic2d", img, size, align
            )
        c.add("_upsample_bilinear2d_aa", img, size, False), c.add(
            "_upsample_bicubic2d_aa", img, size, False
        )
    c.add("upsample_nearest2d.vec", img, None, [2.0, 1.5]), c.add(
        "upsample_bilinear2d.vec", img, None, False, [1.7, 2.0]
    ), c.add("upsample_bicubic2d.vec", img, [5, 5], False, None)
    c.add("upsample_nearest1d", img[0], [7]), c.add(
        "upsample_linear1d", img[0], [7], False
    ), c.add("upsample_linear1d.vec", img[0], None, True, [2.0]), c.add(
        "upsample_nearest1d.vec", img[0], [8], None
    )
    vol = fill((1, 1, 2, 3, 2), f32)
    c.add("upsample_nearest3d", vol, [4, 3, 3]), c.add(
        "upsample_trilinear3d", vol, [3, 4, 2], False
    ), c.add("upsample_nearest3d.vec", vol, None, [2.0, 1.0, 2.0]), c.add(
        "upsample_trilinear3d.vec", vol, [3, 3, 3], True, None
    )
    grid = fill((1, 2, 3, 2), f32) * 0.58
    for mode, padding, align in itertools.product((0, 1, 2), (0, 1, 2), (False, True)):
        c.add("grid_sampler", img, grid, mode, padding, align)
    for exact in ("upsample_nearest", "_upsample_nearest_exact"):
        c.add(f"{exact}1d", img[0], [7])
        c.add(f"{exact}1d.vec", img[0], None, [1.5])
        c.add(f"{exact}2d.vec", img, None, [1.5, 0.7])
        c.add(f"{exact}3d", fill((1, 1, 2, 3, 2), f32), [3, 4, 5])
        c.add(f"{exact}3d.vec", fill((1, 1, 2, 3, 2), f32), [3, 4, 5], None)
    c.add("_upsample_bilinear2d_aa.vec", img, [2, 3], False, None)
    c.add("_upsample_bicubic2d_aa.vec", img, [2, 3], False, None)
    cube = fill((1, 1, 2, 3, 2), f32)
    c.add("grid_sampler_3d", cube, fill((1, 1, 2, 2, 3), f32) * 0.37, 0, 0, False)
    c.add("grid_sampler", cube, fill((1, 1, 2, 2, 3), f32) * 0.37, 0, 1, True)
    for name in ("alias_copy", "detach_copy", "resolve_conj", "resolve_neg", "real", "conj"):
        c.add(name, img)
    for name in ("alpha_dropout", "feature_dropout"):
        c.add(name, img, 0.5, False)
    c.add("clip.Tensor", img, t(-1.0), t(1.0))
    c.add("_prelu_kernel", img, fill((1, 2, 1, 1), f32))
    c.add("norm.ScalarOpt_dim_dtype", img, 2, [1], True, dtype=f64)
    c.add("special_softmax", img, 1)
    c.add("special_log_softmax", img, 1, dtype=f64)
    c.add("to.dtype_layout", img, dtype=f64)
    c.add("_reshape_alias", img, [2, 12], [12, 1])
    c.add("grid_sampler_2d", img, grid, 0, 0, False)
    c.add(
        "affine_grid_generator", t([[[1.0, 0.5, 0.1], [0.0, 1.0, -0.2]]]), [1, 1, 2, 3], False
    )
    for pad in ([1, 2], [1, 0, 2, 1], [-1, 1], [-1, -1, 1, 0]):
        c.add("constant_pad_nd", img, pad, 1.5), c.add("pad", img, pad, "constant", 2.0)
    c.add("pad", img, [1, 2], "constant"), c.add("reflection_pad2d", img, [1, 2, 1, 0]), c.add(
        "replication_pad2d", img, [1, 2, 1, 0]
    ), c.add("reflection_pad1d", img[0], [2, 1]), c.add("replication_pad1d", img[0], [2, 1])
    c.add("pad", img, [1, 2, 1, 0], "reflect"), c.add(
        "pad", img, [1, 2, 1, 0], "replicate"
    ), c.add("pad", img, [1, 2, 1, 0], "circular"), c.add(
        "_pad_circular", img, [1, 2, 1, 0]
    ), c.add(
        "replication_pad3d", vol, [1, 0, 1, 1, 0, 1]
    ), c.add(
        "reflection_pad3d", vol, [1, 0, 1, 1, 0, 1]
    )
    seq, h = fill((4, 2, 3), f32), fill((1, 2, 3), f32, 1) * 0.3

    def weights(gates, size, n):
        return [
            fill(s, f32, k) * 0.2
            for k in range(n)
            for s in ((gates * 3, size), (gates * 3, 3), (gates * 3,), (gates * 3,))
        ]

    c.add("gru.input", seq, h, weights(3, 3, 1), True, 1, 0.0, False, False, False), c.add(
        "gru.input",
        seq,
        fill((2, 2, 3), f32) * 0.3,
        weights(3, 3, 2),
        True,
        1,
        0.0,
        False,
        True,
        False,
    )
    for name in ("rnn_tanh.input", "rnn_relu.input"):
        c.add(name, seq, h, weights(1, 3, 1), True, 1, 0.0, False, False, False), c.add(
            name, fill((2, 4, 3), f32), h, weights(1, 3, 1), True, 1, 0.0, False, False, True
        )


def indices(c):
    x, i, j = fill((3, 4, 2), f32), t([0, -1, 2], i64), t([[1], [0]], i64)
    for name in ("index.Tensor", "_unsafe_index.Tensor"):
        c.add(name, x, [i]), c.add(name, x, [None, t([3, 0], i64)]), c.add(
            name, x, [i, t([1, 2, 3], i64)]
        ), c.add(name, x, [i[:2], None, t([1, 0], i64)]), c.add(
            name, x, [None, i, t([1, 0, 1], i64)]
        )
        c.add(name, x, [j, i])
    c.add("index.Tensor", x, [fill((3,), b8)]), c.add(
        "index.Tensor", x, [fill((3, 4), b8)]
    ), c.add("index.Tensor", x, [None, fill((4,), b8)]), c.add("index.Tensor", x, [t(1, i64)])
    for name in ("index_put", "_unsafe_index_put"):
        c.add(name, x, [i], t(7.0)), c.add(
            name, x, [t([0, 0], i64)], fill((2, 4, 2), f32), True
        ), c.add(name, x, [None, t([1, 3], i64)], fill((3, 2, 2), f32)), c.add(
            name, x, [i, t([1, 2, 3], i64)], fill((2,), f32)
        )
    c.add("index_put", x, [fill((3,), b8)], t(5.0)), c.add(
        "index_put", x, [fill((3, 4, 2), b8)], t([5.0])
    ), c.add("index_put", x, [i[:2], None, t([1, 0], i64)], fill((2, 4), f32))
    c.add("index_select", x, 1, t([3, 3, 0], i32)), c.add("index_select", x, -1, t(1, i64)), c.add(
        "embedding", fill((5, 3), f32), t([[0, 4], [2, 2]], i64)
    ), c.add("take", x, t([[0, -1], [23, 5]], i64))
    g = t([[[0, 1], [2, 0]], [[1, 1], [0, 2]]], i64)
    c.add("gather", x, 0, g), c.add("gather", x, 1, g), c.add(
        "gather", fill((3,), f32), 0, t([2, -0, 1], i64)
    )
    s = fill((2, 2, 2), f32, 1)
    c.add("scatter.src", x, 1, g, s), c.add("scatter.value", x, 0, g, 9), c.add(
        "scatter_add", x, 1, g, s
    ), c.add("scatter.src", x, 1, g, fill((2, 3, 2), f32))
    c.add("scatter.reduce", x, 1, g, s, reduce="add"), c.add(
        "scatter.value_reduce", x, 1, g, 2, reduce="multiply"
    )
    for reduce, keeps in itertools.product(("sum", "prod", "amax", "amin", "mean"), (True, False)):
        c.add("scatter_reduce.two", x, 1, g, s, reduce, include_self=keeps)
    c.add("index_add", x, 1, t([0, 0], i64), fill((3, 2, 2), f32), alpha=2), c.add(
        "index_copy", x, 0, t([2, 0], i64), fill((2, 4, 2), f32)
    ), c.add("index_fill.int_Scalar", x, 1, t([1, 3], i64), 2), c.add(
        "index_fill.int_Tensor", x, 1, t([1, 3], i64), t(2.5)
    )
    c.add("slice_scatter", x, fill((3, 2, 2), f32), 1, 1, 3), c.add(
        "slice_scatter", x, fill((3, 2, 2), f32), 1, 0, 4, 2
    ), c.add("slice_scatter", x, fill((1, 4, 2), f32), 0, -1), c.add(
        "select_scatter", x, fill((3, 2), f32), 1, -2
    )
    c.add("nonzero", fill((2, 3), f32)), c.add(
        "masked_select", fill((2, 3), f32), fill((3,), b8)
    ), c.add(
        "masked_scatter", fill((2, 3), f32), fill((2, 3), b8), t([9.0, 8.0, 7.0, 6.0, 5.0, 4.0])
    )
    m = fill((3, 4), f32)
    for k in (0, 1, -1, 3, 5):
        c.add("diagonal", m, k)
    c.add("diagonal", x, 0, 2, 0), c.add("diagonal_copy", m)
    y = t([[3.0, 1.0, 2.0, 1.0], [0.0, -1.0, 5.0, 4.0]])
    c.add("topk", y, 2), c.add("topk", y, 2, 1, False), c.add("topk", y, 1, 0), c.add(
        "sort", y, 1, True
    ), c.add("sort", y), c.add("sort.stable", t([1, 0, 1, 0], i32), stable=True), c.add(
        "argsort", t([3.0, 1.0, 2.0])
    ), c.add(
        "argsort.stable", t([1.0, 0.0, 1.0]), stable=True, descending=True
    )
    c.add("kthvalue", y, 2), c.add("median", t([3.0, 1.0, 2.0, 5.0])), c.add(
        "median.dim", t([[3.0, 1.0, 2.0, 5.0]]), 1, True
    )
    bounds = t([1.0, 2.0, 3.0])
    for right in (False, True):
        c.add("searchsorted.Tensor", bounds, t([[0.5, 2.0], [3.0, 4.0]]), right=right), c.add(
            "bucketize.Tensor", t([[0.5, 2.0], [3.0, 4.0]]), bounds, right=right, out_int32=right
        )
    c.add("searchsorted.Scalar", bounds, 2.5), c.add("bucketize.Scalar", 2.0, bounds)
    for k in (0, 1, -2):
        c.add("diag_embed", fill((2, 3), f32), k)
        c.add("diag", fill((3,), f32), k)
        c.add("diag", fill((3, 4), f32), k)
    c.add("where", fill((2, 3), b8))
    state, gates = fill((2, 3), f32) * 0.3, fill((12, 3), f32) * 0.2
    c.add("lstm_cell", fill((2, 3), f32), [state, state], gates, gates, fill((12,), f32), None)
    c.add("gru_cell", fill((2, 3), f32), state, gates[:9], gates[:9], None, fill((9,), f32))
    for name in ("rnn_tanh_cell", "rnn_relu_cell"):
        c.add(name, fill((2, 3), f32), state, gates[:3], gates[:3])
    offsets, rows = t([0, 2, 2], i64), t([1, 4, 0, 0, 3], i64)
    for mode in (0, 1, 2):
        c.add("embedding_bag", fill((5, 3), f32), rows, offsets, False, mode, n_out=1)
    c.add("hann_window", 6)
    c.add("hann_window.periodic", 6, False)
    c.add("blackman_window", 5)
    c.add("one_hot", t([0, 2, 1], i64), 4), c.add(
        "isin.Tensor_Tensor", t([1, 2, 3], i64), t([[2], [5]], i64)
    ), c.add("isin.Tensor_Scalar", t([1, 2, 3], i64), 2, invert=True)
    c.add("_unique2", t([3, 1, 3, 2], i64), True, True, True), c.add(
        "meshgrid", [t([1.0, 2.0]), t([3.0, 4.0, 5.0])]
    ), c.add("meshgrid.indexing", [t([1.0, 2.0]), t([3.0, 4.0, 5.0])], indexing="xy")


def suppressions(c):
    """Ties, NaN, corners that are swapped, boxes without area, thresholds that f32 rounds up."""
    scores = t([0.5, 0.9, 0.5, NAN, -INF, INF, 0.9, 0.0])
    boxes = t([[k % 3, k % 2, k % 3 + 2, k % 2 + 1 + k % 4] for k in range(8)])
    swapped = t([[0, 0, 4, 4], [4, 0, 0, 4], [4, 4, 0, 0], [0, 4, 4, 0], [1, 1, 1, 3]] * 2)
    third = t([[0, 0, 2, 1], [1, 0, 3, 1], [0, 0, 2, 1]])
    for threshold in (0.0, 0.3, 1 / 3, 0.5, 1.0):
        c.add("torchvision::nms", boxes, scores, threshold)
        c.add("torchvision::nms", boxes, t([1.0] * 8), threshold)
        c.add("torchvision::nms", swapped, torch.arange(10.0) % 4, threshold)
        c.add("torchvision::nms", third, t([1.0, 1.0, 2.0]), threshold)
    c.add("torchvision::nms", torch.zeros(0, 4), torch.zeros(0), 0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tenon")
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    c = Cases(args.tenon)
    parts = (unary, binary, moves, creation, reductions, products, layers, indices, suppressions)
    for part in parts:
        part(c)
    with open(args.output, "w", encoding="ascii") as f:
        f.write(f"# Made by make_cases.py with PyTorch {torch.__version__.split('+')[0]}.\n")
        f.write("\n".join(dict.fromkeys(c.lines)) + "\n")
    print(f"{len(c.lines)} cases of {len(c.seen)} overloads", file=sys.stderr)
    print("refused by PyTorch:", *c.failed, sep="\n  ", file=sys.stderr)
    print("without a case:", *sorted(set(c.names) - c.seen), file=sys.stderr)


main()
