#!/usr/bin/env python3
"""Makes models/. They are committed; this is only needed to change them. Needs numpy and onnx."""
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20)


def value(name, shape, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, shape)


def floats(*shape):
    return (rng.standard_normal(shape) * 0.5).astype(np.float32)


def model(name, nodes, inputs, outputs, weights, extra=()):
    graph = h.make_graph(nodes, name, inputs, outputs,
                         [onnx.numpy_helper.from_array(a, n) for n, a in weights.items()])
    m = h.make_model(graph, opset_imports=[h.make_opsetid("", 17), *extra], producer_name="tests",
                     producer_version="1", ir_version=8)
    if not extra:
        onnx.checker.check_model(m)
    onnx.save(m, os.path.join(here, "models", name + ".onnx"))


def node(op, inputs, output, **attributes):
    return h.make_node(op, inputs.split(), output.split(), output.split()[0], **attributes)


# Convolutions of all sorts: more than one block of weights (16*25 = 400), groups, dilation, pads
# on one side, 1x1 with a rest of pixels and without, depthwise with a multiplier, one dim.
model("convolutions", [
    node("Conv", "x w0 b0", "c0", pads=[2, 2, 2, 2]),
    node("LeakyRelu", "c0", "r0", alpha=0.1),
    node("Conv", "r0 w1", "c1", pads=[0, 1, 2, 1], strides=[2, 1], group=2, dilations=[1, 2]),
    node("Conv", "c1 w2 b2", "c2"),
    node("Clip", "c2 zero six", "r2"),
    node("Conv", "r2 w3 b3", "c3", group=8, pads=[1, 1, 1, 1], strides=[1, 2]),
    node("Conv", "c3 w4 b4", "c4"),
    node("HardSigmoid", "c4", "r4"),
    node("Mul", "c4 r4", "m4"),
    node("GlobalAveragePool", "m4", "p"),
    node("Conv", "z w5 b5", "c5", pads=[3, 0]),
    node("Sigmoid", "c5", "s5"),
], [value("x", [2, 16, 9, 7]), value("z", [1, 3, 11])],
    [value("p", [2, 6, 1, 1]), value("s5", [1, 5, 10]), value("c4", [2, 6, 4, 3])],
    {"w0": floats(12, 16, 5, 5), "b0": floats(12), "w1": floats(8, 6, 3, 3),
     "w2": floats(8, 8, 1, 1), "b2": floats(8), "zero": np.float32(0), "six": np.float32(6),
     "w3": floats(16, 1, 3, 3), "b3": floats(16), "w4": floats(6, 16, 1, 1), "b4": floats(6),
     "w5": floats(5, 3, 5), "b5": floats(5)})

# Pools, and what moves data: concatenation, transposes, slices, pads.
model("pools", [
    node("MaxPool", "x", "m", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 1]),
    node("AveragePool", "x", "a", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 1]),
    node("AveragePool", "x", "i", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 1],
         count_include_pad=1),
    node("Concat", "m a i", "c", axis=1),
    node("Softmax", "c", "s", axis=1),
    node("Transpose", "s", "t", perm=[0, 2, 3, 1]),
    node("Softmax", "t", "u", axis=-1),
    node("Slice", "u starts ends axes steps", "v"),
    node("Pad", "v pads fill", "y"),
], [value("x", [1, 4, 7, 6])], [value("y", [1, 4, 4, 8]), value("t", [1, 4, 3, 12])],
    {"starts": np.array([1, 11], np.int64), "ends": np.array([3, 0], np.int64),
     "axes": np.array([1, 3], np.int64), "steps": np.array([1, -2], np.int64),
     "pads": np.array([0, 1, 0, 1, 0, 1, 1, 1], np.int64), "fill": np.float32(-1.5)})

# Products of few rows and many, of batches, and with a transposed B; element-wise functions.
model("products", [
    node("Gemm", "x w0 b0", "g0", transB=1, alpha=0.5, beta=2.0),
    node("Elu", "g0", "e0"),
    node("Gemm", "e0 w1 b1", "g1"),
    node("Tanh", "g1", "t1"),
    node("MatMul", "y w2", "m2"),
    node("Softplus", "m2", "q2"),
    node("MatMul", "q2 z", "m3"),
    node("Add", "m3 t1", "a3"),
    node("Div", "a3 d", "f3"),
    node("Sub", "f3 row", "s3"),
    node("Abs", "s3", "k3"),
    node("Sqrt", "k3", "r3"),
    node("Max", "r3 t1", "o"),
], [value("x", [1, 19]), value("y", [2, 6, 400]), value("z", [2, 9, 10])],
    [value("o", [2, 6, 10]), value("e0", [1, 7])],
    {"w0": floats(7, 19), "b0": floats(7), "w1": floats(7, 10), "b1": floats(1, 10),
     "w2": floats(400, 9), "d": np.float32(3), "row": floats(6, 1)})

# An input that nothing reads, one that is an output as it is, no constants.
model("plain", [node("Identity", "x", "y"), node("Relu", "x", "r"), node("Flatten", "x", "f")],
      [value("x", [2, 3]), value("unused", [4])],
      [value("y", [2, 3]), value("r", [2, 3]), value("f", [2, 3])], {})

# 8-bit values: convolutions in integers, depthwise, of several groups and of an odd number of
# filters, one with a scale that makes ties; a sum, a pool.
def scales(*shape):
    return (rng.random(shape) * 0.002 + 0.0005).astype(np.float32)


def quant_conv(inputs, output, **attributes):
    n = node("QuantConv", inputs, output, y_type="i8", **attributes)
    n.domain = "tenon"
    n.input[:] = ["" if name == "-" else name for name in n.input]
    return n


def bytes_of(*shape):
    return rng.integers(-127, 128, shape).astype(np.int8)


def biases(n):
    return rng.integers(-3000, 3000, n).astype(np.int32)


model("quantised", [
    node("QuantizeLinear", "x s1 z1", "q"),
    quant_conv("q w0 ws0 b0", "c0", x_scale=0.01, x_zero=3, y_scale=0.02, y_zero=-128, lo=-128,
               hi=127, pads=[1, 1, 1, 1]),
    quant_conv("c0 w1 ws1 b1", "c1", x_scale=0.02, x_zero=-128, y_scale=0.03, y_zero=5, lo=-100,
               hi=90, pads=[1, 0, 1, 2], strides=[2, 1], group=6),
    quant_conv("c0 w2 ws2", "c2", x_scale=1.0, x_zero=-128, y_scale=1.0, y_zero=0, lo=-128,
               hi=127, group=2, dilations=[1, 2]),
    node("MaxPool", "c1", "m", kernel_shape=[2, 2]),
    node("DequantizeLinear", "m s1 z1", "d"),
    node("DequantizeLinear", "c0 s1 z1", "e0"),
    node("DequantizeLinear", "q0 s2 z2", "f0"),
    node("Add", "e0 f0", "a0"),
    node("QuantizeLinear", "a0 s3 z3", "sum"),
    node("Cast", "c2", "h", to=T.FLOAT),
], [value("x", [1, 4, 7, 6]), value("q0", [1, 6, 7, 6], T.INT8)],
    [value("d", [1, 12, 3, 5]), value("sum", [1, 6, 7, 6], T.INT8), value("h", [1, 4, 5, 2]),
     value("c1", [1, 12, 4, 6], T.INT8)],
    {"s1": np.float32(0.01), "z1": np.int8(3), "s2": np.float32(0.02), "z2": np.int8(-7),
     "s3": np.float32(0.025), "z3": np.int8(11), "w0": bytes_of(6, 4, 3, 3), "ws0": scales(6),
     "b0": biases(6), "w1": bytes_of(12, 1, 3, 3), "ws1": scales(12), "b1": biases(12),
     "w2": bytes_of(4, 3, 3, 3), "ws2": np.float32([87 / 32768] * 4)},
    extra=[h.make_opsetid("tenon", 1)])

# The same in u8: zero points of weights, i8 and u8 together.
def quant_conv_u8(inputs, output, **attributes):
    n = quant_conv(inputs, output, **attributes)
    for a in n.attribute:
        if a.name == "y_type":
            a.s = b"u8"
    return n


def unsigned(*shape):
    return rng.integers(0, 256, shape).astype(np.uint8)


model("quantised_u8", [
    node("QuantizeLinear", "x s1 z1", "q"),
    quant_conv_u8("q w0 ws0 b0 - wz0", "c0", x_scale=0.01, x_zero=131, y_scale=0.05, y_zero=119,
                  lo=3, hi=255, pads=[1, 1, 1, 1]),
    quant_conv_u8("c0 w1 ws1 b1 - wz1", "c1", x_scale=0.02, x_zero=119, y_scale=0.04, y_zero=128,
                  lo=0, hi=250, pads=[1, 0, 1, 2], strides=[2, 1], group=6),
    quant_conv_u8("c0 w2 ws2", "c2", x_scale=0.02, x_zero=119, y_scale=0.07, y_zero=100, lo=0,
                  hi=255, group=2, dilations=[1, 2]),
    quant_conv("c0 w3 ws3 b3 - wz3", "c3", x_scale=0.02, x_zero=119,
               y_scale=0.05, y_zero=-3, lo=-128, hi=127, group=6),
    quant_conv("q8 w4 ws4", "c4", x_scale=0.02, x_zero=-5, y_scale=0.05, y_zero=9, lo=-128, hi=127,
               group=6),
    node("DequantizeLinear", "c0 s1 z1", "d0"),
    node("DequantizeLinear", "q1 s2 z2", "d1"),
    node("Add", "d0 d1", "a0"),
    node("QuantizeLinear", "a0 s3 z3", "sum"),
], [value("x", [1, 4, 7, 6]), value("q1", [1, 6, 7, 6], T.UINT8),
    value("q8", [1, 6, 5, 5], T.INT8)],
    [value("c1", [1, 12, 4, 6], T.UINT8), value("c2", [1, 4, 5, 2], T.UINT8),
     value("c3", [1, 6, 6, 5], T.INT8), value("c4", [1, 6, 3, 3], T.INT8),
     value("sum", [1, 6, 7, 6], T.UINT8)],
    {"s1": np.float32(0.01), "z1": np.uint8(131), "s2": np.float32(0.02), "z2": np.uint8(7),
     "s3": np.float32(0.03), "z3": np.uint8(111), "w0": unsigned(6, 4, 3, 3), "ws0": scales(6),
     "b0": biases(6), "wz0": np.uint8(117), "w1": unsigned(12, 1, 3, 3), "ws1": scales(12),
     "b1": biases(12), "wz1": np.uint8(139), "w2": bytes_of(4, 3, 3, 3), "ws2": scales(4),
     "w3": bytes_of(6, 1, 2, 2), "ws3": scales(6), "b3": biases(6), "wz3": np.int8(11),
     "w4": unsigned(6, 1, 3, 3), "ws4": scales(1)},
    extra=[h.make_opsetid("tenon", 1)])

# Reductions of short runs, of long ones in parts, of rows, of all dims; comparisons, Where, Gather
# with negative indices, integers.
model("reductions", [
    node("ReduceSum", "x last", "s", keepdims=0),
    node("ReduceMean", "x", "m", axes=[1], keepdims=0),
    node("ReduceMax", "x", "all"),
    node("ReduceMin", "y", "least", axes=[0, 2]),
    node("ReduceProd", "y", "p", axes=[2]),
    node("ReduceSumSquare", "x", "q", axes=[0, 2]),
    node("ReduceL1", "y", "l1", axes=[1]),
    node("ReduceL2", "x", "l2", axes=[-1]),
    node("Exp", "y", "e"),
    node("Greater", "e one", "above"),
    node("LessOrEqual", "y least", "low"),
    node("Or", "above low", "either"),
    node("Where", "either y p", "w"),
    node("Gather", "w places", "g", axis=1),
    node("Mul", "index two", "twice"),
    node("Add", "twice index", "thrice"),
    node("Equal", "thrice six", "is6"),
    node("Where", "is6 index two", "chosen"),
    node("Gather", "table chosen", "rows", axis=0),
], [value("x", [3, 5, 75]), value("y", [4, 3, 6]), value("index", [2, 2], T.INT64)],
    [value("s", [3, 5]), value("m", [3, 75]), value("all", [1, 1, 1]), value("q", [1, 5, 1]),
     value("l1", [4, 1, 6]), value("l2", [3, 5, 1]), value("g", [4, 5, 6]),
     value("rows", [2, 2, 3]), value("is6", [2, 2], T.BOOL)],
    {"last": np.array([-1], np.int64), "one": np.float32(1),
     "places": np.array([2, 0, -1, -3, 1], np.int32), "two": np.array([2], np.int64),
     "six": np.array([[6, 3]], np.int64), "table": floats(4, 3)})

# Nothing of this can be written: a shape that depends on data, text, and a loop.
model("refused", [
    node("NonZero", "x", "n"),
    node("Cast", "n", "f", to=T.FLOAT),
    node("StringNormalizer", "text", "t", case_change_action="UPPER"),
    node("CumSum", "x axis", "c"),
], [value("x", [3, 4]), value("text", [2], T.STRING)],
    [value("f", [2, "n"]), value("t", [2], T.STRING), value("c", [3, 4])],
    {"axis": np.array(0, np.int64)})
