"""Functions of one value and of two, reductions, norms, other scales."""

import numpy as np

from model import QUANTISED, activation, broadcast, family


@family
def arithmetic(m):
    name = m.pick(
        *"ADD SUB MUL DIV MAXIMUM MINIMUM SQUARED_DIFFERENCE POW FLOOR_DIV FLOOR_MOD".split()
    )
    dtypes = {
        "ADD": ("f4", "i4", "i8", "i1", "u1", "i2"),
        "SUB": ("f4", "i4", "i8", "i1", "u1", "i2"),
        "MUL": ("f4", "i4", "i8", "i1", "u1", "i2"),
        "DIV": ("f4", "i4"),
        "MAXIMUM": ("f4", "i4", "i8", "i1", "u1"),
        "MINIMUM": ("f4", "i4", "i8", "i1", "u1"),
        "SQUARED_DIFFERENCE": ("f4", "i4", "i1"),
        "POW": ("f4",),
        "FLOOR_DIV": ("f4", "i4"),
        "FLOOR_MOD": ("f4", "i4", "i8"),
    }
    dtype = m.pick(*dtypes[name])
    a, b = broadcast(m, m.dims(1, 0, 5)[0] if dtype == "f4" else m.dims(1, 1, 4)[0])
    same = m.quant(dtype) if dtype in QUANTISED else {}
    free = name in ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE")

    def side(shape):
        q = m.quant(dtype) if same and free else same
        v = m.numbers(shape, dtype, *((0.2, 3) if name == "POW" else (-3, 3)))
        if name in ("FLOOR_DIV", "FLOOR_MOD", "DIV"):
            v = np.where(np.abs(v) < 1, 1, v).astype(dtype)
        return m.const(v, **q) if m.pick(0, 0, 1) else m.feed(v, **q)

    ins = [side(a), side(b)]
    if not m.g.inputs:
        return arithmetic_again(m)
    shape = np.broadcast_shapes(a, b)
    q = m.quant(dtype) if same and free else same
    y = m.out(shape, dtype, **q)
    options = {
        "ADD": "AddOptions",
        "SUB": "SubOptions",
        "MUL": "MulOptions",
        "DIV": "DivOptions",
    }.get(name)
    if options:
        m.op(name, ins, [y], options, fusedActivationFunction=activation(m) if dtype != "i8" else 0)
    else:
        m.op(name, ins, [y])


def arithmetic_again(m):
    m.__init__(m.r, m.s)
    return arithmetic(m)


@family
def compare(m):
    name = m.pick("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL")
    dtype = m.pick("f4", "i4", "i8", "i1", "u1")
    a, b = broadcast(m, m.dims(1, 1, 4)[0])
    q = m.quant(dtype) if dtype in QUANTISED else {}
    ins = [m.feed(m.numbers(s, dtype), **q) for s in (a, b)]
    m.op(name, ins, [m.out(np.broadcast_shapes(a, b), "b1")])


@family
def unary(m):
    name = m.pick(
        *(
            "ABS NEG EXP LOG SQRT RSQRT SIN COS FLOOR CEIL ROUND SQUARE ELU GELU RELU RELU6 "
            "RELU_N1_TO_1 RELU_0_TO_1 LOGISTIC TANH HARD_SWISH LEAKY_RELU SIGN"
        ).split()
    )
    some = {
        "ABS": ("f4", "i4", "i1", "i2"),
        "NEG": ("f4", "i4", "i8"),
        "RSQRT": ("f4", "i1", "i2"),
        "SIGN": ("f4", "i4"),
        "LOGISTIC": ("f4", "i1", "u1", "i2"),
        "TANH": ("f4", "i1", "u1", "i2"),
        "LEAKY_RELU": ("f4", "i1", "u1", "i2"),
        "RELU": ("f4", "i1", "u1", "i2"),
        "RELU6": ("f4", "i1", "u1"),
        "RELU_N1_TO_1": ("f4", "i1", "u1"),
        "HARD_SWISH": ("f4", "i1", "u1"),
        "ELU": ("f4", "i1"),
        "GELU": ("f4", "i1", "u1"),
        "EXP": ("f4", "i1", "i2"),
        "LOG": ("f4", "i1"),
    }
    dtype = m.pick(*some.get(name, ("f4",)))
    shape = m.dims(m.dims(1, 0, 5)[0])
    x, q = m.any(
        shape,
        dtype,
        **({"lo": 0.1, "hi": 6} if name in ("LOG", "SQRT", "RSQRT") else {"lo": -7, "hi": 7}),
    )
    if name in ("RSQRT", "LOG") and dtype in QUANTISED:
        m.g.tensors[x].quantization.zeroPoint = [QUANTISED[dtype][0]] if dtype != "i2" else [0]
        m.feeds[0] = np.maximum(m.feeds[0], QUANTISED[dtype][0] + 1 if dtype != "i2" else 1)
    oq = {}
    if dtype in QUANTISED:
        oq = m.quant(dtype)
        if name == "LOGISTIC":
            oq = {
                "i1": {"scale": 1 / 256, "zero": -128},
                "u1": {"scale": 1 / 256, "zero": 0},
                "i2": {"scale": 1 / 32768},
            }[dtype]
        if name == "TANH":
            oq = {
                "i1": {"scale": 1 / 128, "zero": 0},
                "u1": {"scale": 1 / 128, "zero": 128},
                "i2": {"scale": 1 / 32768},
            }[dtype]
    y = m.out(shape, dtype, **oq)
    if name == "LEAKY_RELU":
        m.op(name, [x], [y], "LeakyReluOptions", alpha=m.pick(0.1, 0.3, 1.5, -0.2, 0.0))
    elif name == "GELU":
        m.op(name, [x], [y], "GeluOptions", approximate=bool(m.pick(0, 1)))
    else:
        m.op(name, [x], [y])


@family
def softmax(m):
    name = m.pick("SOFTMAX", "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")
    dtype = m.pick("f4", "i1", "u1", "i2") if name == "SOFTMAX" else m.pick("f4", "i1")
    shape = m.dims(m.dims(1, 1, 4)[0], 1, 20 if name == "SOFTMAX" else 9)
    if name[1] == "2":
        shape = m.dims(4)
    x, _ = m.any(shape, dtype)
    q = {}
    if dtype in QUANTISED:
        q = {
            "i1": {"scale": 1 / 256, "zero": -128},
            "u1": {"scale": 1 / 256, "zero": 0},
            "i2": {"scale": 1 / 32768},
        }[dtype]
        if name[0] == "L":
            q = (
                {"scale": 16 / 256, "zero": 127}
                if name[1] == "O"
                else {"scale": 1 / 128, "zero": 0}
            )
    y = m.out(shape, dtype, **q)
    if name == "SOFTMAX":
        m.op(name, [x], [y], "SoftmaxOptions", beta=m.pick(1.0, 1.0, 0.5, 2.0))
    elif name[1] == "O":
        m.op(name, [x], [y], "LogSoftmaxOptions")
    else:
        m.op(name, [x], [y], "L2NormOptions", fusedActivationFunction=0)


@family
def prelu(m):
    dtype = m.pick("f4", "i1", "u1")
    shape = m.dims(m.pick(2, 3, 4))
    x, _ = m.any(shape, dtype)
    q = m.quant(dtype) if dtype in QUANTISED else {}
    slopes = [m.pick(1, n) for n in shape[1:-1]] + [shape[-1]]
    m.op("PRELU", [x, m.const(m.numbers(slopes, dtype), **q)], [m.out_like(shape, dtype)])


@family
def reduce(m):
    name = m.pick(
        "MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL"
    )
    dtype = {"REDUCE_ANY": "b1", "REDUCE_ALL": "b1"}.get(name) or m.pick(
        "f4", "f4", "i4", "i8", "i1", "u1", "i2"
    )
    if name == "REDUCE_PROD" and dtype != "f4":
        dtype = m.pick("i4", "i8")
    shape = m.dims(m.dims(1, 1, 4)[0])
    axes = sorted(set(m.r.randint(0, len(shape), m.r.randint(1, len(shape) + 1)).tolist()))
    keep = bool(m.pick(0, 1))
    x, q = m.any(shape, dtype)
    out = [1 if k in axes else n for k, n in enumerate(shape) if keep or k not in axes]
    said = [a - len(shape) if m.pick(0, 1) else a for a in axes]
    if m.pick(0, 0, 1):
        said.append(axes[0])
    other = name in ("MEAN", "SUM") and dtype in QUANTISED and m.pick(0, 1)
    y = m.out(out, dtype, **(m.quant(dtype) if other else q))
    axes_t = m.const(said[0], "i4") if len(said) == 1 and m.pick(0, 1) else m.const(said, "i4")
    m.op(name, [x, axes_t], [y], "ReducerOptions", keepDims=keep)


@family
def concat(m):
    dtype = m.pick("f4", "i1", "u1", "i4", "i2", "i8", "b1")
    shape = m.dims(m.dims(1, 1, 5)[0])
    axis = m.r.randint(len(shape))
    sizes = m.dims(m.pick(1, 2, 3, 5))
    q = m.quant(dtype) if dtype in QUANTISED else {}
    ins = []
    for n in sizes:
        own = m.quant(dtype) if dtype in ("i1", "u1") and m.pick(0, 1) else q
        v = m.numbers([*shape[:axis], n, *shape[axis + 1 :]], dtype)
        ins.append(m.const(v, **own) if m.pick(0, 0, 1) and m.g.inputs else m.feed(v, **own))
    y = m.out([*shape[:axis], sum(sizes), *shape[axis + 1 :]], dtype, **q)
    m.op("CONCATENATION", ins, [y], axis=int(axis - len(shape) if m.pick(0, 1) else axis))


@family
def requantise(m):
    name = m.pick("QUANTIZE", "DEQUANTIZE")
    shape = m.dims(m.dims(1, 1, 4)[0])
    if name == "DEQUANTIZE":
        dtype = m.pick("i1", "u1", "i2")
        x, q = m.any(shape, dtype)
        return m.op(name, [x], [m.out(shape)], "DequantizeOptions")
    a, b = m.pick(
        ("f4", "i1"),
        ("f4", "u1"),
        ("f4", "i2"),
        ("i1", "u1"),
        ("u1", "i1"),
        ("i1", "i1"),
        ("u1", "u1"),
        ("i2", "i1"),
        ("i1", "i2"),
        ("i2", "i2"),
    )
    x, q = m.any(shape, a)
    m.op(name, [x], [m.out_like(shape, b)], "QuantizeOptions")
