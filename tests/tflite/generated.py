#!/usr/bin/env python3
"""Random TFLite models, operator by operator and in small networks, with odd options: what Tenon
answers against LiteRT. Needs ai-edge-litert and numpy; run by hand:
    tests/tflite/generated.py TENON FOLDER [--n N] [--seed S] [--only FAMILY...]
FOLDER gets the models that do not agree; a table goes to standard output."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import warnings

import numpy as np

DTYPES = {
    "f4": "FLOAT32",
    "f2": "FLOAT16",
    "i4": "INT32",
    "u1": "UINT8",
    "i8": "INT64",
    "b1": "BOOL",
    "i2": "INT16",
    "i1": "INT8",
    "f8": "FLOAT64",
    "u4": "UINT32",
}
QUANTISED = {"i1": (-128, 127), "u1": (0, 255), "i2": (-32768, 32767)}


def load_schema():
    from ai_edge_litert import schema_py_generated

    return schema_py_generated


class Model:
    """One subgraph that grows operator by operator; tensors are numbers."""

    def __init__(self, random, schema):
        self.r, self.s = random, schema
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.description = "generated"
        self.model.operatorCodes, self.model.buffers, self.model.subgraphs = (
            [],
            [schema.BufferT()],
            [],
        )
        self.codes = {}
        self.feeds = []
        self.begin()

    def begin(self):
        g = self.s.SubGraphT()
        g.tensors, g.operators, g.inputs, g.outputs = [], [], [], []
        self.g = g
        self.model.subgraphs.append(g)

    def tensor(self, shape, dtype="f4", data=None, scale=None, zero=0, axis=0, signature=None):
        t = self.s.TensorT()
        t.name = f"t{len(self.model.subgraphs)}_{len(self.g.tensors)}".encode()
        t.shape = list(shape)
        t.hasRank = True
        t.type = getattr(self.s.TensorType, dtype if dtype not in DTYPES else DTYPES[dtype])
        t.buffer = 0
        if signature is not None:
            t.shapeSignature = list(signature)
        if data is not None:
            b = self.s.BufferT()
            b.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            t.buffer = len(self.model.buffers)
            self.model.buffers.append(b)
        if scale is not None:
            q = self.s.QuantizationParametersT()
            q.scale = [float(x) for x in np.atleast_1d(scale)]
            q.zeroPoint = [int(x) for x in np.broadcast_to(zero, len(q.scale))]
            q.quantizedDimension = axis
            t.quantization = q
        self.g.tensors.append(t)
        return len(self.g.tensors) - 1

    def const(self, data, dtype=None, **q):
        data = np.asarray(data) if dtype is None else np.asarray(data, dtype)
        return self.tensor(data.shape, data.dtype.str[1:], data, **q)

    def feed(self, data, scale=None, zero=0, signature=None):
        t = self.tensor(data.shape, data.dtype.str[1:], None, scale, zero, signature=signature)
        self.g.inputs.append(t)
        if len(self.model.subgraphs) == 1:
            self.feeds.append(data)
        return t

    def op(self, name, inputs, outputs, options=None, **fields):
        o = self.s.OperatorT()
        if name not in self.codes:
            c = self.s.OperatorCodeT()
            number = getattr(self.s.BuiltinOperator, name)
            c.builtinCode, c.deprecatedBuiltinCode, c.version = number, min(number, 127), 1
            self.codes[name] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(c)
        o.opcodeIndex = self.codes[name]
        o.inputs, o.outputs = list(inputs), list(outputs)
        if options:
            t = getattr(self.s, options + "T")()
            for k, v in fields.items():
                assert hasattr(t, k), (options, k)
                setattr(t, k, v)
            o.builtinOptionsType = getattr(self.s.BuiltinOptions, options)
            o.builtinOptions = t
        self.g.operators.append(o)
        return outputs[0]

    def bytes(self, version):
        import flatbuffers

        for c in self.model.operatorCodes:
            c.version = version if isinstance(version, int) else version.get(c.builtinCode, 1)
        b = flatbuffers.Builder(1024)
        b.Finish(self.model.Pack(b), b"TFL3")
        return bytes(b.Output())

    # ---- random things ----

    def pick(self, *options):
        return options[self.r.randint(len(options))]

    def dims(self, rank, lo=1, hi=7):
        return [int(self.r.randint(lo, hi + 1)) for _ in range(rank)]

    def codes_of(self, shape, dtype):
        lo, hi = QUANTISED[dtype]
        return self.r.randint(lo, hi + 1, shape).astype(dtype)

    def quant(self, dtype):
        """A scale and a zero point."""
        if dtype == "i2":
            return {"scale": float(np.exp(self.r.uniform(-11, -8))), "zero": 0}
        lo, hi = QUANTISED[dtype]
        return {
            "scale": float(np.exp(self.r.uniform(-5, -2))),
            "zero": int(self.r.randint(lo, hi + 1)),
        }

    def numbers(self, shape, dtype="f4", lo=-3, hi=3):
        if dtype in QUANTISED:
            return self.codes_of(shape, dtype)
        if dtype[0] == "b":
            return self.r.randint(0, 2, shape).astype(bool)
        if dtype[0] in "iu":
            return self.r.randint(-9 if dtype[0] == "i" else 0, 10, shape).astype(dtype)
        return np.asarray(self.r.uniform(lo, hi, shape)).astype(dtype)

    def any(self, shape, dtype="f4", **more):
        """An input of codes or numbers, and its quantisation."""
        q = self.quant(dtype) if dtype in QUANTISED else {}
        return self.feed(self.numbers(shape, dtype, **more), **q), q

    def out(self, shape, dtype="f4", **q):
        t = self.tensor(shape, dtype, **q)
        self.g.outputs.append(t)
        return t

    def out_like(self, shape, dtype):
        return self.out(shape, dtype, **(self.quant(dtype) if dtype in QUANTISED else {}))


families = {}


def family(f):
    families[f.__name__] = f
    return f


def shape_of(shape, strides, sizes, dilations, padding):
    out = []
    for n, s, k, d in zip(shape, strides, sizes, dilations):
        k = (k - 1) * d + 1
        out.append(-(-n // s) if padding == 0 else (n - k) // s + 1)
    return out


def window(m, n):
    """Extents, sizes, strides, dilations, padding of n dims that leave something."""
    while True:
        dims, sizes = m.dims(n, 1, 11), m.dims(n, 1, 4)
        strides = [m.pick(1, 1, 2, 3) for _ in range(n)]
        dilations = [m.pick(1, 1, 1, 2, 3) if max(strides) == 1 else 1 for _ in range(n)]
        padding = m.pick(0, 1)
        out = shape_of(dims, strides, sizes, dilations, padding)
        if min(out) > 0:
            return dims, sizes, strides, dilations, padding, out


def activation(m):
    return m.pick(0, 0, 1, 2, 3)


def weights_of(m, x, xq, shape, kind, axis, fan):
    """Weights of a kind, and the bias for n outputs; the scale that sums have."""
    n = shape[axis]
    if kind in ("f4", "f2"):
        w = m.const(m.numbers(shape, "f4", -1, 1) / np.float32(np.sqrt(fan)))
        return w, m.const(m.numbers([n])), None
    if kind == "u1":
        q = m.quant("u1")
        w = m.const(m.codes_of(shape, "u1"), **q)
        scale = np.full(n, q["scale"])
    else:
        per = m.pick(True, True, False) if kind != "hybrid" else m.pick(True, False)
        scale = np.exp(m.r.uniform(-6, -4, n if per else 1))
        w = m.const(np.maximum(m.codes_of(shape, "i1"), -127), scale=scale, zero=0, axis=axis)
        scale = np.broadcast_to(scale, n)
    if kind == "hybrid":
        return w, m.const(m.numbers([n])), None
    scales = scale.astype("f4") * np.float32(xq["scale"])
    per_bias = scales if kind != "u1" else scales[:1]
    bias = m.r.randint(-4000, 4000, n).astype("i8" if kind == "i2" else "i4")
    return w, m.const(bias, scale=per_bias if len(set(scales)) > 1 else scales[:1], zero=0), scales


def sums_out(m, shape, dtype, scales, fan):
    """An output whose codes sums of such scales fill, and some overflow."""
    if dtype not in QUANTISED:
        return m.out(shape)
    width = (
        float(np.max(scales))
        * 74
        * (74 if dtype != "i2" else 19000)
        * np.sqrt(fan)
        / (100 if dtype != "i2" else 20000)
    )
    q = m.quant(dtype)
    q["scale"] = width * float(np.exp(m.r.uniform(-0.5, 1)))
    return m.out(shape, dtype, **q)


KINDS = ("f4", "i1", "i1", "u1", "i2", "hybrid")


@family
def conv(m):
    kind = m.pick(*KINDS)
    dtype = "f4" if kind == "hybrid" else kind
    dims, sizes, strides, dilations, padding, out = window(m, 2)
    b, group = m.pick(1, 1, 2, 3), m.pick(1, 1, 1, 2, 4)
    ci, co = group * m.dims(1)[0], group * m.dims(1, 1, 9)[0]
    x, xq = m.any([b, *dims, ci], dtype)
    fan = ci // group * sizes[0] * sizes[1]
    w, bias, scales = weights_of(m, x, xq, [co, *sizes, ci // group], kind, 0, fan)
    y = sums_out(m, [b, *out, co], dtype, scales, fan)
    ins = [x, w, bias] if m.pick(1, 1, 1, 0) or kind != "f4" else [x, w]
    m.op(
        "CONV_2D",
        ins,
        [y],
        "Conv2DOptions",
        padding=padding,
        strideH=strides[0],
        strideW=strides[1],
        dilationHFactor=dilations[0],
        dilationWFactor=dilations[1],
        fusedActivationFunction=activation(m),
    )


@family
def depthwise(m):
    kind = m.pick(*KINDS)
    dtype = "f4" if kind == "hybrid" else kind
    dims, sizes, strides, dilations, padding, out = window(m, 2)
    strides[1] = strides[0]
    out = shape_of(dims, strides, sizes, dilations, padding)
    if min(out) < 1:
        return depthwise(m)
    b, ci, times = m.pick(1, 1, 2), m.dims(1, 1, 20)[0], m.pick(1, 1, 1, 2, 3)
    x, xq = m.any([b, *dims, ci], dtype)
    fan = sizes[0] * sizes[1]
    w, bias, scales = weights_of(m, x, xq, [1, *sizes, ci * times], kind, 3, fan)
    y = sums_out(m, [b, *out, ci * times], dtype, scales, fan)
    m.op(
        "DEPTHWISE_CONV_2D",
        [x, w, bias],
        [y],
        "DepthwiseConv2DOptions",
        padding=padding,
        strideH=strides[0],
        strideW=strides[1],
        dilationHFactor=dilations[0],
        dilationWFactor=dilations[1],
        depthMultiplier=times,
        fusedActivationFunction=activation(m),
    )


@family
def dense(m):
    kind = m.pick(*KINDS)
    dtype = "f4" if kind == "hybrid" else kind
    rank = m.pick(1, 2, 2, 3, 4)
    n, k = m.dims(2, 1, 40)
    lead = m.dims(rank - 1, 1, 4)
    keep = bool(m.pick(0, 1)) and rank > 1
    x, xq = m.any([*lead, k], dtype)
    w, bias, scales = weights_of(m, x, xq, [n, k], kind, 0, k)
    shape = [*lead, n] if keep else [int(np.prod(lead)), n]
    y = sums_out(m, shape, dtype, scales, k)
    m.op(
        "FULLY_CONNECTED",
        [x, w, bias if m.pick(1, 1, 0) else -1],
        [y],
        "FullyConnectedOptions",
        keepNumDims=keep,
        fusedActivationFunction=activation(m),
        asymmetricQuantizeInputs=kind == "hybrid" and bool(m.pick(0, 1)),
    )


@family
def transposed_conv(m):
    kind = m.pick("f4", "i1", "u1", "i2")
    dims, sizes, strides = m.dims(2, 1, 6), m.dims(2, 1, 4), m.dims(2, 1, 3)
    padding, b, ci, co = m.pick(0, 1), m.pick(1, 2), *m.dims(2)
    out = [
        n * s if padding == 0 else (n - 1) * s + max(k, s) for n, s, k in zip(dims, strides, sizes)
    ]
    if padding == 0:
        sizes = [max(k, s) for k, s in zip(sizes, strides)]
    x, xq = m.any([b, *dims, ci], kind)
    w, bias, scales = weights_of(m, x, xq, [co, *sizes, ci], kind, 0, ci * 2)
    y = sums_out(m, [b, *out, co], kind, scales, ci * 2)
    m.op(
        "TRANSPOSE_CONV",
        [m.const([b, *out, co], "i4"), w, x, bias],
        [y],
        "TransposeConvOptions",
        padding=padding,
        strideH=strides[0],
        strideW=strides[1],
        fusedActivationFunction=m.pick(0, 0, 1, 3) if kind == "f4" else 0,
    )


@family
def conv3(m):
    dims, sizes, strides, dilations, padding, out = window(m, 3)
    dilations = [1, 1, 1]
    out = shape_of(dims, strides, sizes, dilations, padding)
    if min(out) < 1:
        return conv3(m)
    b, ci, co = m.pick(1, 2), *m.dims(2, 1, 4)
    x, _ = m.any([b, *dims, ci])
    w = m.const(m.numbers([*sizes, ci, co]))
    m.op(
        "CONV_3D",
        [x, w, m.const(m.numbers([co]))],
        [m.out([b, *out, co])],
        "Conv3DOptions",
        padding=padding,
        strideD=strides[0],
        strideH=strides[1],
        strideW=strides[2],
        fusedActivationFunction=activation(m),
    )


@family
def pool(m):
    name = m.pick("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
    dtype = "f4" if name[0] == "L" else m.pick("f4", "i1", "u1", "i2")
    dims, sizes, strides, _, padding, _ = window(m, 2)
    out = shape_of(dims, strides, sizes, [1, 1], padding)
    if min(out) < 1:
        return pool(m)
    b, c = m.pick(1, 2), m.dims(1, 1, 20)[0]
    x, q = m.any([b, *dims, c], dtype)
    m.op(
        name,
        [x],
        [m.out([b, *out, c], dtype, **q)],
        "Pool2DOptions",
        padding=padding,
        strideH=strides[0],
        strideW=strides[1],
        filterHeight=sizes[0],
        filterWidth=sizes[1],
        fusedActivationFunction=activation(m),
    )


def broadcast(m, rank):
    shape = m.dims(rank, 1, 4)
    other = [1 if m.pick(0, 0, 1) else n for n in shape][
        m.r.randint(rank + 1) if m.pick(0, 1) else 0 :
    ]
    return (shape, other) if m.pick(0, 1) else (other, shape)


@family
def arithmetic(m):
    name = m.pick(
        "ADD",
        "SUB",
        "MUL",
        "DIV",
        "MAXIMUM",
        "MINIMUM",
        "SQUARED_DIFFERENCE",
        "POW",
        "FLOOR_DIV",
        "FLOOR_MOD",
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
        "ABS",
        "NEG",
        "EXP",
        "LOG",
        "SQRT",
        "RSQRT",
        "SIN",
        "COS",
        "FLOOR",
        "CEIL",
        "ROUND",
        "SQUARE",
        "ELU",
        "GELU",
        "RELU",
        "RELU6",
        "RELU_N1_TO_1",
        "RELU_0_TO_1",
        "LOGISTIC",
        "TANH",
        "HARD_SWISH",
        "LEAKY_RELU",
        "SIGN",
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
    m.op(
        "CONCATENATION",
        ins,
        [y],
        "ConcatenationOptions",
        axis=int(axis - len(shape) if m.pick(0, 1) else axis),
    )


@family
def moves(m):
    name = m.pick(
        "TRANSPOSE",
        "RESHAPE",
        "SLICE",
        "STRIDED_SLICE",
        "PAD",
        "PADV2",
        "MIRROR_PAD",
        "TILE",
        "PACK",
        "UNPACK",
        "SPLIT",
        "SPLIT_V",
        "REVERSE_V2",
        "EXPAND_DIMS",
        "SQUEEZE",
        "GATHER",
        "GATHER_ND",
        "BROADCAST_TO",
        "SELECT_V2",
        "TOPK_V2",
        "ARG_MAX",
        "ARG_MIN",
        "ONE_HOT",
        "SPACE_TO_DEPTH",
        "DEPTH_TO_SPACE",
        "SPACE_TO_BATCH_ND",
        "BATCH_TO_SPACE_ND",
        "CUMSUM",
        "SHAPE",
        "RANK",
        "ZEROS_LIKE",
        "FILL",
        "REVERSE_SEQUENCE",
        "SCATTER_ND",
        "WHERE",
        "CAST",
        "MATRIX_DIAG",
        "DYNAMIC_UPDATE_SLICE",
    )
    dtype = m.pick("f4", "i1", "u1", "i4")
    rank = m.dims(1, 1, 4)[0]
    shape = m.dims(rank)
    globals()["move_" + name.lower()](m, name, dtype, rank, shape)


def move_transpose(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    perm = m.r.permutation(rank)
    m.op(
        name,
        [x, m.const(perm, "i4")],
        [m.out([shape[k] for k in perm], dtype, **q)],
        "TransposeOptions",
    )


def move_reshape(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    new = m.pick([-1], [shape[0], -1], [int(np.prod(shape))], [1, *shape, 1], list(reversed(shape)))
    out = np.zeros(shape).reshape(new).shape
    y = m.out(out, dtype, **q)
    if m.pick(0, 1):
        m.op(name, [x], [y], "ReshapeOptions", newShape=new)
    else:
        m.op(name, [x, m.const(new, "i4")], [y], "ReshapeOptions", newShape=list(out))


def move_slice(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    begin = [int(m.r.randint(0, n)) for n in shape]
    size = [int(m.r.randint(1, n - b + 1)) for n, b in zip(shape, begin)]
    said = [-1 if m.pick(0, 1) and b + s == n else s for b, s, n in zip(begin, size, shape)]
    i = m.pick("i4", "i8")
    m.op(name, [x, m.const(begin, i), m.const(said, i)], [m.out(size, dtype, **q)], "SliceOptions")


def move_strided_slice(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    begin, end, step, index, bm, em, shrink = [], [], [], [], 0, 0, 0
    for k, n in enumerate(shape):
        s = m.pick(1, 1, 2, 3, -1, -2)
        b, e = int(m.r.randint(-n, n)), int(m.r.randint(-n - 2, n + 3))
        if m.pick(0, 0, 0, 1) and rank > 1:
            shrink |= 1 << k
            begin.append(b), end.append(b + 1), step.append(1), index.append(b)
            continue
        bm |= (mb := m.pick(0, 1)) << k
        em |= (me := m.pick(0, 1)) << k
        begin.append(b), end.append(e), step.append(s)
        index.append(slice(None if mb else b, None if me else e, s))
    out = np.zeros(shape)[tuple(index)].shape
    if 0 in out and m.pick(0, 0, 1, 1, 1):
        m.__init__(m.r, m.s)
        return move_strided_slice(m, name, dtype, rank, shape)
    m.op(
        name,
        [x, m.const(begin, "i4"), m.const(end, "i4"), m.const(step, "i4")],
        [m.out(out, dtype, **q)],
        "StridedSliceOptions",
        beginMask=bm,
        endMask=em,
        shrinkAxisMask=shrink,
    )


def pads_of(m, shape, most=None):
    top = [3 if most is None else min(3, n - most) for n in shape]
    return np.asarray([[m.r.randint(0, t + 1), m.r.randint(0, t + 1)] for t in top])


def move_pad(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    p = pads_of(m, shape)
    m.op(
        name,
        [x, m.const(p, m.pick("i4", "i8"))],
        [m.out(np.asarray(shape) + p.sum(1), dtype, **q)],
        "PadOptions",
    )


def move_padv2(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    p = pads_of(m, shape)
    fill = m.const(m.numbers([1] if m.pick(0, 1) else [], dtype), **q)
    m.op(
        name,
        [x, m.const(p, "i4"), fill],
        [m.out(np.asarray(shape) + p.sum(1), dtype, **q)],
        "PadV2Options",
    )


def move_mirror_pad(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    mode = m.pick(0, 1)
    p = pads_of(m, shape, 1 - mode)
    m.op(
        name,
        [x, m.const(p, "i4")],
        [m.out(np.asarray(shape) + p.sum(1), dtype, **q)],
        "MirrorPadOptions",
        mode=mode,
    )


def move_tile(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    n = m.dims(rank, 1, 3)
    m.op(
        name,
        [x, m.const(n, m.pick("i4", "i8"))],
        [m.out(np.asarray(shape) * n, dtype, **q)],
        "TileOptions",
    )


def move_pack(m, name, dtype, rank, shape):
    n, q = m.pick(1, 2, 4), m.quant(dtype) if dtype in QUANTISED else {}
    ins = [m.feed(m.numbers(shape, dtype), **q) for _ in range(n)]
    axis = m.r.randint(rank + 1)
    y = m.out([*shape[:axis], n, *shape[axis:]], dtype, **q)
    m.op(
        name,
        ins,
        [y],
        "PackOptions",
        valuesCount=n,
        axis=int(axis - rank - 1 if m.pick(0, 1) else axis),
    )


def move_unpack(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    axis = m.r.randint(rank)
    ys = [m.out(shape[:axis] + shape[axis + 1 :], dtype, **q) for _ in range(shape[axis])]
    m.op(
        name,
        [x],
        ys,
        "UnpackOptions",
        num=shape[axis],
        axis=int(axis - rank if m.pick(0, 1) else axis),
    )


def move_split(m, name, dtype, rank, shape):
    axis, n = m.r.randint(rank), m.pick(1, 2, 3)
    whole = list(shape)
    whole[axis] *= n
    x, q = m.any(whole, dtype)
    ys = [m.out(shape, dtype, **q) for _ in range(n)]
    m.op(
        name,
        [m.const(axis - rank if m.pick(0, 1) else axis, "i4"), x],
        ys,
        "SplitOptions",
        numSplits=n,
    )


def move_split_v(m, name, dtype, rank, shape):
    axis, sizes = m.r.randint(rank), m.dims(m.pick(1, 2, 3), 1, 4)
    whole = list(shape)
    whole[axis] = sum(sizes)
    x, q = m.any(whole, dtype)
    ys = [m.out([*shape[:axis], s, *shape[axis + 1 :]], dtype, **q) for s in sizes]
    said = list(sizes)
    if m.pick(0, 1):
        said[m.r.randint(len(said))] = -1
    m.op(
        name,
        [x, m.const(said, "i4"), m.const(axis, "i4")],
        ys,
        "SplitVOptions",
        numSplits=len(sizes),
    )


def move_reverse_v2(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    m.op(
        name,
        [x, m.const([m.r.randint(rank)], "i4")],
        [m.out(shape, dtype, **q)],
        "ReverseV2Options",
    )


def move_expand_dims(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    axis = m.r.randint(rank + 1)
    y = m.out([*shape[:axis], 1, *shape[axis:]], dtype, **q)
    m.op(
        name,
        [x, m.const(axis - rank - 1 if m.pick(0, 1) else axis, "i4")],
        [y],
        "ExpandDimsOptions",
    )


def move_squeeze(m, name, dtype, rank, shape):
    shape[m.r.randint(rank)] = 1
    x, q = m.any(shape, dtype)
    ones = [k for k, n in enumerate(shape) if n == 1]
    axes = m.pick([], ones, ones[:1])
    out = [n for k, n in enumerate(shape) if k not in (axes or ones)]
    m.op(
        name,
        [x],
        [m.out(out, dtype, **q)],
        "SqueezeOptions",
        squeezeDims=[a - rank if m.pick(0, 1) else a for a in axes],
    )


def move_gather(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    axis = m.r.randint(rank)
    batch = m.r.randint(0, axis + 1) if m.pick(0, 1) else 0
    index = m.r.randint(0, shape[axis], [*shape[:batch], *m.dims(m.dims(1, 0, 2)[0])]).astype(
        m.pick("i4", "i8")
    )
    out = [*shape[:axis], *index.shape[batch:], *shape[axis + 1 :]]
    i = m.feed(index) if m.pick(0, 1) else m.const(index)
    m.op(
        name,
        [x, i],
        [m.out(out, dtype, **q)],
        "GatherOptions",
        axis=int(axis),
        batchDims=int(batch),
    )


def move_gather_nd(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    depth = m.r.randint(1, rank + 1)
    lead = m.dims(m.pick(1, 2), 1, 3)
    index = np.stack([m.r.randint(0, n, lead) for n in shape[:depth]], -1)
    m.op(
        name,
        [x, m.const(index, "i4")],
        [m.out([*lead, *shape[depth:]], dtype, **q)],
        "GatherNdOptions",
    )


def move_broadcast_to(m, name, dtype, rank, shape):
    small = [m.pick(1, n) for n in shape][m.r.randint(rank) :]
    x, q = m.any(small, dtype)
    m.op(name, [x, m.const(shape, "i4")], [m.out(shape, dtype, **q)], "BroadcastToOptions")


def move_select_v2(m, name, dtype, rank, shape):
    q = m.quant(dtype) if dtype in QUANTISED else {}
    c = m.feed(m.numbers([m.pick(1, n) for n in shape], "b1"))
    ins = [m.feed(m.numbers([m.pick(1, n) for n in shape], dtype), **q) for _ in range(2)]
    shapes = [m.g.tensors[t].shape for t in (c, *ins)]
    m.op(
        name,
        [c, *ins],
        [m.out(np.broadcast_shapes(*map(tuple, shapes)), dtype, **q)],
        "SelectV2Options",
    )


def move_topk_v2(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    k = int(m.r.randint(1, shape[-1] + 1))
    ys = [m.out([*shape[:-1], k], dtype, **q), m.out([*shape[:-1], k], "i4")]
    m.op(name, [x, m.const(k, "i4")], ys, "TopKV2Options")


def move_arg_max(m, name, dtype, rank, shape):
    x, _ = m.any(shape, dtype)
    axis, i = m.r.randint(rank), m.pick("i4", "i8")
    y = m.out(shape[:axis] + shape[axis + 1 :], i)
    kind = "ArgMaxOptions" if name[-1] == "X" else "ArgMinOptions"
    m.op(
        name,
        [x, m.const(axis - rank if m.pick(0, 1) else axis, "i4")],
        [y],
        kind,
        outputType=2 if i == "i4" else 4,
    )


move_arg_min = move_arg_max


def move_one_hot(m, name, dtype, rank, shape):
    depth, axis = m.dims(1)[0], m.r.randint(-1, rank + 1)
    x = m.feed(m.r.randint(-1, depth + 1, shape).astype("i4"))
    dtype = m.pick("f4", "i4", "i8", "b1")
    at = rank if axis < 0 else axis
    y = m.out([*shape[:at], depth, *shape[at:]], dtype)
    ins = [x, m.const(depth, "i4"), m.const(m.numbers([], dtype)), m.const(m.numbers([], dtype))]
    m.op(name, ins, [y], "OneHotOptions", axis=int(axis))


def move_space_to_depth(m, name, dtype, rank, shape):
    b, h, w, c = m.dims(4, 1, 4)
    k = m.pick(1, 2, 3)
    big, small = [b, h * k, w * k, c], [b, h, w, c * k * k]
    kind = "SpaceToDepthOptions" if name[0] == "S" else "DepthToSpaceOptions"
    x, q = m.any(big if name[0] == "S" else small, dtype)
    m.op(name, [x], [m.out(small if name[0] == "S" else big, dtype, **q)], kind, blockSize=k)


move_depth_to_space = move_space_to_depth


def move_space_to_batch_nd(m, name, dtype, rank, shape):
    n = m.pick(1, 2)
    block, out, b, c = m.dims(n, 1, 3), m.dims(n, 1, 4), m.pick(1, 2), m.dims(1)[0]
    p = np.asarray([[m.r.randint(0, 2), m.r.randint(0, 2)] for _ in block])
    inner = [o * k - int(q.sum()) for o, k, q in zip(out, block, p)]
    if min(inner) < 1:
        return move_space_to_batch_nd(m, name, dtype, rank, shape)
    x, q = m.any([b, *inner, c], dtype)
    y = m.out([b * int(np.prod(block)), *out, c], dtype, **q)
    m.op(name, [x, m.const(block, "i4"), m.const(p, "i4")], [y], "SpaceToBatchNDOptions")


def move_batch_to_space_nd(m, name, dtype, rank, shape):
    n = m.pick(1, 2)
    block, inner, b, c = m.dims(n, 1, 3), m.dims(n, 1, 4), m.pick(1, 2), m.dims(1)[0]
    p = np.asarray([[m.r.randint(0, 2), m.r.randint(0, 2)] for _ in block])
    out = [o * k - int(q.sum()) for o, k, q in zip(inner, block, p)]
    if min(out) < 1:
        return move_batch_to_space_nd(m, name, dtype, rank, shape)
    x, q = m.any([b * int(np.prod(block)), *inner, c], dtype)
    m.op(
        name,
        [x, m.const(block, "i4"), m.const(p, "i4")],
        [m.out([b, *out, c], dtype, **q)],
        "BatchToSpaceNDOptions",
    )


def move_cumsum(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4", "i8")
    x, q = m.any(shape, dtype)
    axis = m.r.randint(-rank, rank)
    m.op(
        name,
        [x, m.const(axis, "i4")],
        [m.out(shape, dtype)],
        "CumsumOptions",
        exclusive=bool(m.pick(0, 1)),
        reverse=bool(m.pick(0, 1)),
    )


def move_shape(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    i = m.pick("i4", "i8")
    m.op(name, [x], [m.out([rank], i)], "ShapeOptions", outType=2 if i == "i4" else 4)


def move_rank(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    m.op(name, [x], [m.out([], "i4")], "RankOptions")


def move_zeros_like(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4", "i8")
    x, q = m.any(shape, dtype)
    m.op(name, [x], [m.out(shape, dtype)], "ZerosLikeOptions")


def move_fill(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4", "i8", "b1")
    m.op(
        name,
        [m.const(shape, "i4"), m.feed(m.numbers([], dtype))],
        [m.out(shape, dtype)],
        "FillOptions",
    )


def move_reverse_sequence(m, name, dtype, rank, shape):
    shape = m.dims(m.pick(2, 3, 4))
    seq, batch = m.r.permutation(len(shape))[:2]
    x, q = m.any(shape, dtype)
    n = m.r.randint(1, shape[seq] + 1, shape[batch])
    m.op(
        name,
        [x, m.const(n, "i4")],
        [m.out(shape, dtype, **q)],
        "ReverseSequenceOptions",
        seqDim=int(seq),
        batchDim=int(batch),
    )


def move_scatter_nd(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4")
    depth, n = m.r.randint(1, rank + 1), m.dims(1, 1, 5)[0]
    index = np.stack([m.r.randint(0, k, n) for k in shape[:depth]], -1)
    x = m.feed(m.numbers([n, *shape[depth:]], dtype))
    m.op(
        name,
        [m.const(index, "i4"), x, m.const(shape, "i4")],
        [m.out(shape, dtype)],
        "ScatterNdOptions",
    )


def move_where(m, name, dtype, rank, shape):
    x = m.feed(m.numbers(shape, "b1"))
    m.op(name, [x], [m.out([1, rank], "i8", signature=[-1, rank])], "WhereOptions")


def move_cast(m, name, dtype, rank, shape):
    a, b = m.pick("f4", "i4", "i8", "b1", "u1"), m.pick("f4", "i4", "i8", "b1")
    x = m.feed(m.numbers(shape, a, lo=0, hi=9) if a == "f4" else m.numbers(shape, a))
    m.op(name, [x], [m.out(shape, b)], "CastOptions")


def move_matrix_diag(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4")
    x = m.feed(m.numbers(shape, dtype))
    m.op(name, [x], [m.out([*shape, shape[-1]], dtype)], "MatrixDiagOptions")


def move_dynamic_update_slice(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4")
    x, u = m.feed(m.numbers(shape, dtype)), m.feed(
        m.numbers([int(m.r.randint(1, n + 1)) for n in shape], dtype)
    )
    start = m.feed(m.r.randint(-1, 7, rank).astype("i4"))
    m.op(name, [x, u, start], [m.out(shape, dtype)], "DynamicUpdateSliceOptions")


@family
def searches(m):
    name = m.pick(
        "BUCKETIZE",
        "SPARSE_TO_DENSE",
        "SEGMENT_SUM",
        "UNSORTED_SEGMENT_SUM",
        "UNSORTED_SEGMENT_PROD",
        "UNSORTED_SEGMENT_MAX",
        "UNSORTED_SEGMENT_MIN",
        "BROADCAST_ARGS",
        "NON_MAX_SUPPRESSION_V4",
        "NON_MAX_SUPPRESSION_V5",
    )
    shape = m.dims(m.dims(1, 1, 3)[0])
    dtype = m.pick("f4", "i4")
    if name == "BUCKETIZE":
        bounds = np.sort(m.numbers(m.dims(1, 1, 6))).tolist()
        m.op(
            name,
            [m.feed(m.numbers(shape, dtype))],
            [m.out(shape, "i4")],
            "BucketizeOptions",
            boundaries=bounds,
        )
    elif name == "SPARSE_TO_DENSE":
        n = m.dims(1, 1, 4)[0]
        places = np.unique(np.stack([m.r.randint(0, k, n) for k in shape], -1), axis=0)
        places = places[:, 0] if len(shape) == 1 and m.pick(0, 1) else places
        values = m.feed(m.numbers(m.pick([], [len(places)]), dtype))
        ins = [m.const(places, "i4"), m.const(shape, "i4"), values, m.const(m.numbers([], dtype))]
        m.op(name, ins, [m.out(shape, dtype)], "SparseToDenseOptions")
    elif name == "SEGMENT_SUM":
        ids = np.sort(m.r.randint(0, 4, shape[0]))
        x, i = m.feed(m.numbers(shape, dtype)), m.feed(ids.astype("i4"))
        m.op(name, [x, i], [m.out([int(ids[-1]) + 1, *shape[1:]], dtype)], "SegmentSumOptions")
    elif name[0] == "U":
        x, i = m.feed(m.numbers(shape, dtype)), m.feed(m.r.randint(-1, 4, shape[0]).astype("i4"))
        y = m.out([4, *shape[1:]], dtype)
        m.op(name, [x, i, m.const(4, "i4")], [y], "UnsortedSegment" + name[17:].title() + "Options")
    elif name[0] == "B":
        a, b = broadcast(m, m.dims(1, 1, 4)[0])
        i = m.pick("i4", "i8")
        ins = [m.feed(np.asarray(v, i)) for v in (a, b) if len(v)]
        if len(ins) < 2:
            m.__init__(m.r, m.s)
            return searches(m)
        m.op(name, ins, [m.out([max(len(a), len(b))], i)])
    else:
        n, most = m.dims(2, 1, 20)
        corners = m.numbers([n, 4], lo=0, hi=4)
        ins = [
            m.feed(corners),
            m.feed(m.numbers([n], lo=0, hi=1)),
            m.const(most, "i4"),
            m.const(0.4, "f4"),
            m.const(0.2, "f4"),
        ]
        outs = [m.out([most], "i4"), m.out([], "i4")]
        if name[-1] == "5":
            ins.append(m.const(0, "f4"))
            outs.insert(1, m.out([most]))
            m.g.outputs = outs
        m.op(name, ins, outs, f"NonMaxSuppression{name[-2:]}Options")


def sparse_levels(s, x, order, blocks):
    """The tree of x, walked in that order, and its leaves. blocks: dim -> size, in order."""
    rank = x.ndim
    size = [n // blocks.get(d, 1) for d, n in enumerate(x.shape)] + list(blocks.values())
    parts = []
    for d, n in enumerate(x.shape):
        parts += [n // blocks.get(d, 1), blocks.get(d, 1)]
    cube = x.reshape(parts)
    at = [2 * d for d in range(rank)] + [2 * d + 1 for d in blocks]
    ones = [k for k in range(2 * rank) if k not in at]
    cube = cube.transpose([at[k] for k in order] + ones).reshape([size[k] for k in order])
    branches, dims = [cube], []
    for k in order:
        meta = s.DimensionMetadataT()
        meta.denseSize = size[k]
        meta.format = 0 if k >= rank or k == order[0] else 1
        if meta.format:
            segments, indices, taken = [0], [], []
            for b in branches:
                here = [i for i in range(len(b)) if np.any(b[i])]
                indices += here
                segments.append(len(indices))
                taken += [b[i] for i in here]
            kind = s.Uint8VectorT if len(indices) < 256 else s.Uint16VectorT
            name = kind.__name__[:-1]
            for field, values in (("arraySegments", segments), ("arrayIndices", indices)):
                v = kind()
                v.values = values
                setattr(meta, field, v)
                setattr(meta, field + "Type", getattr(s.SparseIndexVector, name))
        else:
            taken = [b[i] for b in branches for i in range(len(b))]
        dims.append(meta)
        branches = taken
    p = s.SparsityParametersT()
    p.traversalOrder, p.blockMap, p.dimMetadata = order, list(blocks), dims
    return p, np.asarray([b for b in branches], x.dtype)


@family
def sparse(m):
    dtype = m.pick("f4", "f4", "i1")
    rank = m.pick(1, 2, 2, 3)
    blocks = {d: m.pick(2, 4) for d in range(rank) if m.pick(0, 0, 1)}
    shape = [n * blocks.get(d, 1) for d, n in enumerate(m.dims(rank, 1, 5))]
    cells = m.r.uniform(0, 1, [n // blocks.get(d, 1) for d, n in enumerate(shape)]) < 0.4
    for d, n in blocks.items():
        cells = np.repeat(cells, n, d)
    x = (m.numbers(shape, dtype) * cells).astype(dtype)
    inner = [rank + k for k in range(len(blocks))]
    order = m.r.permutation(rank).tolist() if m.pick(0, 1) else list(range(rank))
    p, leaves = sparse_levels(m.s, x, order + inner, blocks)
    if not leaves.size:
        m.__init__(m.r, m.s)
        return sparse(m)
    w = m.tensor(shape, dtype, leaves)
    m.g.tensors[w].sparsity = p
    dense = m.tensor(shape, dtype)
    m.op("DENSIFY", [w], [dense], "DensifyOptions")
    y = m.feed(m.numbers(shape, dtype))
    m.op("MAXIMUM", [dense, y], [m.out(shape, dtype)], "MaximumMinimumOptions")


@family
def svdf(m):
    """One turn; the state is what it is at first."""
    b, n, width, memory, rank = m.pick(1, 2), *m.dims(2, 1, 20), m.dims(1, 1, 9)[0], m.pick(1, 2)
    filters = n * rank
    x, q = m.any([b, width], m.pick("f4", "i1"))
    if not q:
        ins = [m.const(m.numbers([filters, width])), m.const(m.numbers([filters, memory]))]
        ins += [m.const(m.numbers([n])), m.tensor([b, filters * memory])]
        y = m.out([b, n])
    else:
        w, t, s = 0.01, 1 / 32768, q["scale"] * 0.01 * 74 * np.sqrt(width) * 40 / 32768
        ins = [m.const(m.codes_of([filters, width], "i1"), scale=w)]
        ins += [m.const(m.codes_of([filters, memory], "i2"), scale=t)]
        ins += [m.const(m.r.randint(-(10**8), 10**8, n), "i4", scale=np.float32(s * t))]
        ins += [m.tensor([b, filters * memory], "i2", scale=s)]
        y = m.out([b, n], "i1", scale=s * 32768 / 256, zero=-128)
    m.g.tensors[ins[-1]].isVariable = True
    m.op("SVDF", [x, *ins], [y], "SVDFOptions", rank=rank, fusedActivationFunction=1 if q else 0)


@family
def lstm_codes(m):
    """Codes of 8 bits and cells of 16; the states are what they are at first."""
    b, turns, width, n = m.pick(1, 1, 3), *m.dims(1, 1, 9), *m.dims(2, 1, 24)
    major, bits = bool(m.pick(0, 1)), m.pick(11, 11, 12, 13, 15)
    x, q = m.any([turns, b, width] if major else [b, turns, width], "i1")
    h = {"scale": 1 / 128, "zero": m.pick(0, 0, int(m.r.randint(-30, 30)))}
    scales = np.exp(m.r.uniform(-7, -4, 8))
    ws = [m.const(m.codes_of([n, width], "i1"), scale=s) for s in scales[:4]]
    rs = [m.const(m.codes_of([n, n], "i1"), scale=s) for s in scales[4:]]
    biases = [
        m.const(m.r.randint(-20000, 20000, n), "i4", scale=s * q["scale"]) for s in scales[:4]
    ]
    states = [m.tensor([b, n], "i1", **h), m.tensor([b, n], "i2", scale=2.0**-bits)]
    for t in states:
        m.g.tensors[t].isVariable = True
    y = m.out([turns, b, n] if major else [b, turns, n], "i1", **h)
    m.op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [x, *ws, *rs, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1],
        [y],
        "UnidirectionalSequenceLSTMOptions",
        fusedActivationFunction=4,
        cellClip=m.pick(0.0, 0.7, 10.0),
        timeMajor=major,
    )
    m.g.operators[-1].intermediates = [m.tensor([0]) for _ in range(4)]
    m.g.operators[-1].intermediates.append(m.tensor([0], "i1", **h))


@family
def resize(m):
    name, dtype = m.pick("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), m.pick("f4", "i1", "u1")
    b, h, w, c = m.dims(4)
    size = m.dims(2, 1, 13)
    x, q = m.any([b, h, w, c], dtype)
    way = m.pick({}, {"alignCorners": True}, {"halfPixelCenters": True})
    kind = "ResizeBilinearOptions" if name[7] == "B" else "ResizeNearestNeighborOptions"
    m.op(name, [x, m.const(size, "i4")], [m.out([b, *size, c], dtype, **q)], kind, **way)


@family
def matmul(m):
    dtype = m.pick("f4", "f4", "i1", "i2")
    lead = broadcast(m, m.dims(1, 0, 3)[0])
    p, k, n = m.dims(3, 1, 20)
    adj = bool(m.pick(0, 1)), bool(m.pick(0, 1))
    a, aq = m.any([*lead[0], *((k, p) if adj[0] else (p, k))], dtype)
    shape = [*lead[1], *((n, k) if adj[1] else (k, n))]
    if m.pick(0, 0, 1):
        bq = m.quant(dtype) if dtype in QUANTISED else {}
        b = m.const(m.numbers(shape, dtype), **bq)
    else:
        b, bq = m.any(shape, dtype)
    scales = aq["scale"] * bq["scale"] * (300 if dtype == "i2" else 1) if aq else None
    y = sums_out(m, [*np.broadcast_shapes(*map(tuple, lead)), p, n], dtype, scales, k)
    m.op("BATCH_MATMUL", [a, b], [y], "BatchMatMulOptions", adjX=adj[0], adjY=adj[1])


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


@family
def network(m):
    """Convolutions with branches and odd things between, open batch; f32 or 8 bits per channel."""
    kind = m.pick("f4", "f4", "i1", "u1")
    m.b, m.open = m.pick(1, 2, 3), bool(m.pick(0, 1))
    shape = [m.b, *m.dims(2, 5, 14), m.dims(1, 1, 6)[0]]
    q = m.quant(kind) if kind in QUANTISED else {}
    x = m.feed(m.numbers(shape, kind), signature=[-1, *shape[1:]] if m.open else None, **q)
    live = [(x, shape, q)]
    for _ in range(m.dims(1, 3, 12)[0]):
        x, shape, q = live[-1] if m.pick(1, 1, 0) else live[m.r.randint(len(live))]
        live.append(NET[m.r.randint(len(NET))](m, kind, x, shape, q, live))
    used = {t for o in m.g.operators for t in o.inputs}
    for t, _, _ in live:
        if t not in used:
            m.g.outputs.append(t)


def value(m, shape, kind, q):
    return m.tensor(shape, kind, signature=[-1, *shape[1:]] if m.open else None, **q)


def net_conv(m, kind, x, shape, q, live):
    deep = m.pick(0, 0, 1)
    sizes, stride, padding, dilation = (
        m.dims(2, 1, 3),
        m.pick(1, 1, 2),
        m.pick(0, 1),
        m.pick(1, 1, 2),
    )
    if stride > 1:
        dilation = 1
    out = shape_of(shape[1:3], [stride] * 2, sizes, [dilation] * 2, padding)
    if min(out) < 1:
        return live[-1]
    ci = shape[3]
    co = ci * m.pick(1, 2) if deep else m.dims(1, 1, 12)[0]
    fan = sizes[0] * sizes[1] * (1 if deep else ci)
    w, bias, scales = weights_of(
        m, x, q, [1, *sizes, co] if deep else [co, *sizes, ci], kind, 3 if deep else 0, fan
    )
    q = sum_quant(m, kind, scales, fan)
    y = value(m, [m.b, *out, co], kind, q)
    fields = dict(
        padding=padding,
        strideH=stride,
        strideW=stride,
        dilationHFactor=dilation,
        dilationWFactor=dilation,
        fusedActivationFunction=activation(m),
    )
    if deep:
        m.op(
            "DEPTHWISE_CONV_2D",
            [x, w, bias],
            [y],
            "DepthwiseConv2DOptions",
            depthMultiplier=co // ci,
            **fields,
        )
    else:
        m.op("CONV_2D", [x, w, bias], [y], "Conv2DOptions", **fields)
    return y, [m.b, *out, co], q


def sum_quant(m, kind, scales, fan):
    if kind not in QUANTISED:
        return {}
    q = m.quant(kind)
    q["scale"] = float(np.max(scales)) * 54 * np.sqrt(fan) * float(np.exp(m.r.uniform(-0.5, 1)))
    return q


def net_add(m, kind, x, shape, q, live):
    others = [v for v in live if v[1] == shape]
    y, _, p = others[m.r.randint(len(others))]
    name = m.pick("ADD", "ADD", "MUL", "SUB")
    r = m.quant(kind) if kind in QUANTISED else {}
    if r:
        r["scale"] = (q["scale"] + p["scale"]) * (
            0.7 if name != "MUL" else 50 * min(q["scale"], p["scale"])
        )
    z = value(m, shape, kind, r)
    m.op(name, [x, y], [z], name.title() + "Options", fusedActivationFunction=m.pick(0, 1))
    return z, shape, r


def net_concat(m, kind, x, shape, q, live):
    others = [v for v in live if v[1][:3] == shape[:3] and v[2] == q]
    parts = [others[m.r.randint(len(others))] for _ in range(m.pick(1, 2))] + [(x, shape, q)]
    out = [*shape[:3], sum(s[3] for _, s, _ in parts)]
    z = value(m, out, kind, q)
    m.op("CONCATENATION", [t for t, _, _ in parts], [z], "ConcatenationOptions", axis=m.pick(3, -1))
    return z, out, q


def net_pool(m, kind, x, shape, q, live):
    sizes, stride, padding = m.dims(2, 1, 3), m.pick(1, 2), m.pick(0, 1)
    out = shape_of(shape[1:3], [stride] * 2, sizes, [1, 1], padding)
    if min(out) < 1:
        return live[-1]
    z = value(m, [m.b, *out, shape[3]], kind, q)
    m.op(
        m.pick("MAX_POOL_2D", "AVERAGE_POOL_2D"),
        [x],
        [z],
        "Pool2DOptions",
        padding=padding,
        strideH=stride,
        strideW=stride,
        filterHeight=sizes[0],
        filterWidth=sizes[1],
        fusedActivationFunction=0,
    )
    return z, [m.b, *out, shape[3]], q


def net_pad(m, kind, x, shape, q, live):
    p = np.asarray(
        [
            [0, 0],
            [m.r.randint(3), m.r.randint(3)],
            [m.r.randint(3), m.r.randint(3)],
            [0, m.pick(0, 0, 1)],
        ]
    )
    out = [int(n) for n in np.asarray(shape) + p.sum(1)]
    z = value(m, out, kind, q)
    m.op("PAD", [x, m.const(p, "i4")], [z], "PadOptions")
    return z, out, q


def net_resize(m, kind, x, shape, q, live):
    size = [m.pick(n, 2 * n, n + 1) for n in shape[1:3]]
    if max(size) > 20:
        return live[-1]
    out = [m.b, *size, shape[3]]
    z = value(m, out, kind, q)
    name = m.pick("ResizeBilinear", "ResizeNearestNeighbor")
    way = m.pick({}, {"alignCorners": True}, {"halfPixelCenters": True})
    m.op(
        "RESIZE_BILINEAR" if name[6] == "B" else "RESIZE_NEAREST_NEIGHBOR",
        [x, m.const(size, "i4")],
        [z],
        name + "Options",
        **way,
    )
    return z, out, q


def net_split(m, kind, x, shape, q, live):
    c = shape[3]
    if c < 2:
        return live[-1]
    a = int(m.r.randint(1, c))
    outs = [value(m, [*shape[:3], n], kind, q) for n in (a, c - a)]
    m.op(
        "SPLIT_V",
        [x, m.const([a, c - a], "i4"), m.const(3, "i4")],
        outs,
        "SplitVOptions",
        numSplits=2,
    )
    live.append((outs[0], [*shape[:3], a], q))
    return outs[1], [*shape[:3], c - a], q


def net_squeeze_excite(m, kind, x, shape, q, live):
    r = {"i1": {"scale": 1 / 256, "zero": -128}, "u1": {"scale": 1 / 256, "zero": 0}}.get(kind, {})
    mean = value(m, [m.b, 1, 1, shape[3]], kind, q)
    m.op("MEAN", [x, m.const([1, 2], "i4")], [mean], "ReducerOptions", keepDims=True)
    gate = value(m, [m.b, 1, 1, shape[3]], kind, r)
    m.op("LOGISTIC", [mean], [gate])
    z = value(m, shape, kind, q)
    m.op("MUL", [x, gate], [z], "MulOptions", fusedActivationFunction=0)
    return z, shape, q


def net_act(m, kind, x, shape, q, live):
    z = value(m, shape, kind, q)
    name = (
        m.pick("RELU", "LEAKY_RELU", "HARD_SWISH", "RELU6")
        if kind != "f4"
        else m.pick("RELU", "LEAKY_RELU", "HARD_SWISH", "TANH", "ELU", "LOGISTIC")
    )
    if name[1] == "E" and name[0] == "L":
        m.op(name, [x], [z], "LeakyReluOptions", alpha=0.2)
    else:
        m.op(name, [x], [z])
    return z, shape, q


def net_move(m, kind, x, shape, q, live):
    if m.pick(0, 1):
        z, out = value(m, s := [m.b, shape[2], shape[1], shape[3]], kind, q), s
        m.op("TRANSPOSE", [x, m.const([0, 2, 1, 3], "i4")], [z], "TransposeOptions")
        return z, out, q
    b = [int(m.r.randint(n)) for n in shape[1:3]]
    out = [m.b, shape[1] - b[0], shape[2] - b[1], shape[3]]
    z = value(m, out, kind, q)
    m.op(
        "STRIDED_SLICE",
        [x, m.const([0, *b, 0], "i4"), m.const([0, 0, 0, 0], "i4"), m.const([1, 1, 1, 1], "i4")],
        [z],
        "StridedSliceOptions",
        beginMask=9,
        endMask=15,
    )
    return z, out, q


NET = [
    net_conv,
    net_conv,
    net_conv,
    net_add,
    net_concat,
    net_pool,
    net_pad,
    net_resize,
    net_split,
    net_squeeze_excite,
    net_act,
    net_move,
]


# ---- running ----


def answers(data, feeds, signature_dims):
    """What LiteRT makes of it, or None."""
    from ai_edge_litert.interpreter import Interpreter

    run = Interpreter(model_content=data, num_threads=1)
    for d, x in zip(run.get_input_details(), feeds):
        if list(d["shape"]) != list(x.shape):
            run.resize_tensor_input(d["index"], x.shape)
    run.allocate_tensors()
    for d, x in zip(run.get_input_details(), feeds):
        run.set_tensor(d["index"], x)
    run.invoke()
    return [run.get_tensor(d["index"]) for d in run.get_output_details()]


def build(name, seed, folder):
    """Writes a model with what LiteRT makes of it; in a child, as LiteRT may end it."""
    schema = load_schema()
    m = Model(np.random.RandomState(seed), schema)
    families[name](m)
    feeds = m.feeds
    if getattr(m, "open", False) and m.pick(0, 1):
        feeds = [np.concatenate([x, x[:1]]) for x in feeds]
    data = m.bytes(1)
    why = None
    for version in (1, 4, 8):
        try:
            outs = answers(m.bytes(version), feeds, None)
            data = m.bytes(version)
            break
        except (RuntimeError, ValueError) as e:
            why = str(e)
    else:
        return why.splitlines()[0]
    (folder / "ref").mkdir(parents=True)
    (folder / "model.tflite").write_bytes(data)
    for k, x in enumerate(feeds):
        np.save(folder / "ref" / f"set0_in{k}.npy", x)
    for k, y in enumerate(outs):
        np.save(folder / "ref" / f"set0_out{k}.npy", y)
    return None


def in_child(name, seed, folder):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        why = ""
        try:
            why = build(name, seed, folder) or ""
        except Exception as e:  # a fault of this script
            why = f"! {type(e).__name__} {e}"
        os.write(write, why.encode()[:300])
        os._exit(0)
    os.close(write)
    text = os.read(read, 400).decode()
    os.close(read)
    status = os.waitpid(pid, 0)[1]
    return "LiteRT ended by a signal" if status else text


def main():
    warnings.simplefilter("ignore")
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tenon")
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--n", type=int, default=50, help="models of each family")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--only", nargs="*", help="families")
    a = p.parse_args()
    load_schema()
    import ai_edge_litert.interpreter  # noqa: F401  once for all children

    total = 0
    for name in a.only or families:
        root = a.folder / name
        shutil.rmtree(root, ignore_errors=True)
        refused = {}
        for seed in range(a.seed, a.seed + a.n):
            why = in_child(name, seed, root / str(seed))
            if why:
                refused[seed] = why
                shutil.rmtree(root / str(seed), ignore_errors=True)
        out = subprocess.run(
            [a.tenon, "test", str(root), "--json", "-", "--quiet"], capture_output=True, text=True
        )
        rows = json.loads(out.stdout)
        total += report(name, rows, refused, root)
    sys.exit(total > 0)


def report(name, rows, refused, root):
    cases = rows["cases"] if isinstance(rows, dict) else rows
    bad = [
        c
        for c in cases
        if c["outcome"] != "pass" and not c["reason"].endswith("largest difference 1")
    ]
    steps = sum(c["outcome"] != "pass" for c in cases) - len(bad)
    for c in cases:
        if c["outcome"] == "pass":
            shutil.rmtree(root / pathlib.Path(c["case"]).name, ignore_errors=True)
    print(
        f"{name:16} {len(cases) - len(bad)} of {len(cases)} agree, {steps} to a step;",
        f"LiteRT refuses {len(refused)}",
        flush=True,
    )
    for why in sorted({w for w in refused.values()}):
        if why.startswith("!"):
            print("    ", why[:160])
    for c in bad:
        print(
            "    ", c["outcome"], c["case"].split("/")[-1], c.get("reason", "")[-170:], flush=True
        )
    return len(bad)


if __name__ == "__main__":
    main()
