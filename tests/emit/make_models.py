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


def model(name, nodes, inputs, outputs, weights, extra=(), opset=17):
    graph = h.make_graph(nodes, name, inputs, outputs,
                         [onnx.numpy_helper.from_array(a, n) for n, a in weights.items()])
    m = h.make_model(graph, opset_imports=[h.make_opsetid("", opset), *extra],
                     producer_name="tests", producer_version="1", ir_version=8)
    if not extra:
        onnx.checker.check_model(m)
    onnx.save(m, os.path.join(here, "models", name + ".onnx"))


def node(op, inputs, output, **attributes):
    """Names "-" are left out."""
    ins, outs = ([n if n != "-" else "" for n in names.split()] for names in (inputs, output))
    return h.make_node(op, ins, outs, [n for n in outs if n][0], **attributes)


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

# An input that nothing reads, one that is an output as it is, no constants; copies of a few bytes.
model("plain", [node("Identity", "x", "y"), node("Relu", "x", "r"), node("Flatten", "x", "f"),
                node("Transpose", "x", "t", perm=[1, 0]), node("Concat", "r x", "c", axis=1)],
      [value("x", [2, 3]), value("unused", [4])],
      [value("y", [2, 3]), value("r", [2, 3]), value("f", [2, 3]), value("t", [3, 2]),
       value("c", [2, 6])], {})

# 8-bit values: convolutions in integers, depthwise, of several groups and of an odd number of
# filters, one with a scale that makes ties; a sum, a pool.
def scales(*shape):
    return (rng.random(shape) * 0.002 + 0.0005).astype(np.float32)


def quant_conv(inputs, output, **attributes):
    n = node("QuantConv", inputs, output, y_type="i8", **attributes)
    n.domain = "tenon"
    return n


def bytes_of(*shape):
    return rng.integers(-127, 128, shape).astype(np.int8)


def biases(n):
    return rng.integers(-3000, 3000, n).astype(np.int32)


# Products of bytes whose sums become f32: with zero points, bias, an own scale for each column, B
# transposed, and a step that is fused.
def quant_matmul(inputs, output, **attributes):
    n = node("QuantMatMul", inputs, output, **attributes)
    n.domain = "tenon"
    return n


def quant_conv_f32(inputs, output, **attributes):
    n = node("QuantConv", inputs, output, **attributes)
    n.domain = "tenon"
    return n


def made_apart(make):
    """With random numbers of its own, so that the models behind it stay what they are."""
    global rng
    kept, rng = rng, np.random.default_rng(21)
    make()
    rng = kept


def quantised_f32():
    model("quantised_f32", [
        quant_matmul("a sa za b sb - bias", "y0"),
        node("Relu", "y0", "r0"),
        quant_matmul("u sa zu c sc zc", "y1", transB=1),
        quant_matmul("a sa - d sb", "y2"),
        quant_conv_f32("x w0 ws0 b0", "c0", x_scale=0.01, x_zero=3, pads=[1, 0, 1, 2],
                       strides=[2, 1], group=2),
        node("Relu", "c0", "s0"),
        quant_conv_f32("v w1 ws1 f1 - wz1", "c1", x_scale=0.02, x_zero=119, dilations=[1, 2]),
        quant_conv_f32("x w2 ws2", "c2", x_scale=0.02, x_zero=0, group=4, pads=[1, 1, 1, 1]),
    ], [value("a", [3, 20], T.INT8), value("u", [2, 2, 9], T.UINT8),
          value("x", [2, 4, 7, 6], T.INT8), value("v", [1, 3, 5, 6], T.UINT8)],
        [value("r0", [3, 7]), value("y1", [2, 2, 5]), value("y2", [3, 7]),
         value("s0", [2, 6, 4, 6]), value("c1", [1, 4, 4, 4]), value("c2", [2, 4, 7, 6])],
        {"sa": np.float32(0.02), "za": np.int8(-5), "b": bytes_of(20, 7), "sb": scales(7),
         "bias": floats(7), "zu": np.uint8(131), "c": bytes_of(5, 9).view(np.uint8),
         "sc": np.float32(0.015), "zc": np.uint8(120), "d": bytes_of(20, 7),
         "w0": bytes_of(6, 2, 3, 3), "ws0": scales(6), "b0": biases(6),
         "w1": bytes_of(4, 3, 2, 2).view(np.uint8), "ws1": scales(4), "f1": floats(4),
         "wz1": np.uint8(131), "w2": bytes_of(4, 1, 3, 3), "ws2": scales(4)},
        extra=[h.make_opsetid("tenon", 1)])


made_apart(quantised_f32)

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

# Attention over more keys than a tile has, with a window, a mask of f32 and of bool, a cache, heads
# that share keys, blocks of a few rows; normalisations.
model("attention", [
    node("Attention", "q k v", "a0", is_causal=1, q_num_heads=4, kv_num_heads=2),
    node("Attention", "q4 k4 v4 mask", "a1", scale=0.3, softcap=2.0),
    node("Attention", "q4 k4 v4 allowed past_k past_v", "a2 key2 value2", is_causal=1),
    node("LayerNormalization", "a0 scale bias", "n0 mean inverse", axis=-1),
    node("RMSNormalization", "n0 scale", "n1", axis=-1, epsilon=0.01),
    node("InstanceNormalization", "a1 scale3 bias3", "n2"),
    node("GroupNormalization", "a2 scale3 bias3", "n3", num_groups=3),
], [value("q", [2, 9, 20]), value("k", [2, 150, 10]), value("v", [2, 150, 14]),
    value("q4", [1, 3, 34, 6]), value("k4", [1, 3, 5, 6]), value("v4", [1, 3, 5, 8]),
    value("past_k", [1, 3, 2, 6]), value("past_v", [1, 3, 2, 8]), value("mask", [34, 5]),
    value("allowed", [3, 1, 7], T.BOOL)],
    [value("a0", [2, 9, 28]), value("n1", [2, 9, 28]), value("mean", [2, 9, 1]),
     value("inverse", [2, 9, 1]), value("n2", [1, 3, 34, 8]), value("n3", [1, 3, 34, 8]),
     value("key2", [1, 3, 7, 6]), value("value2", [1, 3, 7, 8])],
    {"scale": floats(28), "bias": floats(28), "scale3": floats(3), "bias3": floats(3)}, opset=23)

# Recurrent operators: both directions, lengths, peepholes, a clip; the two kinds of GRU.
model("recurrent", [
    node("LSTM", "x w r b lens h c p", "y0 h0 c0", hidden_size=7, direction="bidirectional"),
    node("LSTM", "x w1 r1", "y1", hidden_size=7, direction="reverse", clip=0.5, input_forget=1),
    node("GRU", "x w2 r2 b2", "y2 h2", hidden_size=9),
    node("GRU", "x w2 r2 b2 - h3", "- y3", hidden_size=9, linear_before_reset=1),
    node("RNN", "x w4 r4", "y4", hidden_size=5, activations=["Relu"]),
], [value("x", [6, 3, 11]), value("lens", [3], T.INT32), value("h", [2, 3, 7]),
    value("c", [2, 3, 7]), value("h3", [1, 3, 9])],
    [value("y0", [6, 2, 3, 7]), value("h0", [2, 3, 7]), value("c0", [2, 3, 7]),
     value("y1", [6, 1, 3, 7]), value("y2", [6, 1, 3, 9]), value("h2", [1, 3, 9]),
     value("y3", [1, 3, 9]), value("y4", [6, 1, 3, 5])],
    {"w": floats(2, 28, 11), "r": floats(2, 28, 7), "b": floats(2, 56), "p": floats(2, 21),
     "w1": floats(1, 28, 11), "r1": floats(1, 28, 7), "w2": floats(1, 27, 11),
     "r2": floats(1, 27, 9), "b2": floats(1, 54), "w4": floats(1, 5, 11), "r4": floats(1, 5, 5)})

# Other sizes: Resize along one dim and two, of channels behind them, of integers, between copies to
# another order and back; transposed convolutions; the spectrum of an even and an odd number of
# values, and back.
model("sizes", [
    node("Resize", "x - up", "r0", mode="nearest"),
    node("Resize", "x - - size", "r1", mode="linear"),
    node("Resize", "x - down", "r2", mode="cubic", antialias=1, exclude_outside=1),
    node("Resize", "last - wide", "r3", mode="linear",
         coordinate_transformation_mode="align_corners"),
    node("Resize", "bytes - row", "r4", mode="nearest", nearest_mode="ceil"),
    node("Transpose", "nhwc", "nchw", perm=[0, 3, 1, 2]),
    node("Resize", "nchw - up", "r5", mode="linear"),
    node("Resize", "r5 - up", "r6", mode="nearest"),
    node("Transpose", "r6", "back", perm=[0, 2, 3, 1]),
    node("ConvTranspose", "x w0 b0", "t0", strides=[2, 1], pads=[1, 0, 0, 1], dilations=[1, 2],
         output_padding=[1, 0]),
    node("ConvTranspose", "x w1", "t1", strides=[3, 2], group=2),
    node("GlobalMaxPool", "t1", "g"),
    node("DFT", "even - axis", "d0", onesided=1),
    node("DFT", "odd - axis", "d1"),
    node("DFT", "d1 - axis", "d2", inverse=1),
    node("DFT", "d0 twelve axis", "d3", inverse=1),
], [value("x", [2, 4, 5, 6]), value("last", [1, 5, 6, 3]), value("bytes", [3, 5], T.INT8),
    value("even", [2, 120, 1]), value("odd", [1, 45, 3, 1]), value("nhwc", [1, 8, 8, 24])],
    [value("r0", [2, 4, 10, 9]), value("r1", [2, 4, 3, 11]), value("r2", [2, 4, 2, 3]),
     value("r3", [1, 8, 6, 3]), value("r4", [3, 9], T.INT8), value("t0", [2, 3, 12, 9]),
     value("g", [2, 6, 1, 1]), value("d0", [2, 61, 2]), value("d2", [1, 45, 3, 2]),
     value("d3", [2, 12, 2]), value("back", [1, 32, 18, 24])],
    {"up": np.float32([1, 1, 2, 1.5]), "size": np.array([2, 4, 3, 11], np.int64),
     "down": np.float32([1, 1, 0.4, 0.5]), "wide": np.float32([1, 1.7, 1, 1]),
     "row": np.float32([1, 1.8]), "w0": floats(4, 3, 3, 3), "b0": floats(3),
     "w1": floats(4, 3, 2, 3), "axis": np.array(1, np.int64), "twelve": np.array(12, np.int64)},
    opset=20)

# Casts between all sorts, from integers that give what is beyond the other type, too.
casts = [("x", "u8", T.UINT8), ("x", "i8", T.INT8), ("x", "i32", T.INT32), ("x", "i64", T.INT64),
         ("x", "b", T.BOOL), ("x", "f16", T.FLOAT16), ("x", "bf16", T.BFLOAT16),
         ("x", "d", T.DOUBLE), ("n", "n8", T.INT8), ("n", "nf", T.FLOAT), ("n", "nb", T.BOOL),
         ("b", "bf", T.FLOAT), ("f16", "xf", T.FLOAT), ("bf16", "xb", T.FLOAT),
         ("d", "df", T.FLOAT)]
model("casts", [node("Mul", "x0 large", "x"), node("Mul", "n0 many", "n"),
                *[node("Cast", a, b, to=t) for a, b, t in casts]],
      [value("x0", [64]), value("n0", [64], T.INT64)],
      [value(b, [64], t) for _, b, t in casts],
      {"large": (10.0 ** rng.integers(-42, 39, 64)).astype(np.float32),
       "many": (2 ** rng.integers(0, 62, 64)).astype(np.int64)})


# Quantised as tools write it: convolutions with a residual and biases, products, a pool.
def around(name, dtype, scale, zero):
    return {name + "_s": np.float32(scale), name + "_z": dtype(zero)}


def qdq(source, output, q):
    return [node("QuantizeLinear", f"{source} {q}_s {q}_z", output + "_q"),
            node("DequantizeLinear", f"{output}_q {q}_s {q}_z", output)]


def dequantised(name, scale, *zero):
    return node("DequantizeLinear", " ".join([name + "_q", scale, *zero]), name)


model("qdq", [
    *qdq("x", "a", "act"),
    dequantised("w0", "w0_s"),
    dequantised("b0", "b0_s"),
    node("Conv", "a w0 b0", "c0", pads=[1, 1, 1, 1]),
    *qdq("c0", "c", "act"),
    dequantised("w1", "w1_s"),
    dequantised("b1", "b1_s"),
    node("Conv", "c w1 b1", "c1", pads=[1, 1, 1, 1], group=6),
    *qdq("c1", "d", "act"),
    node("Add", "d c", "e0"),
    *qdq("e0", "e", "sum"),
    node("AveragePool", "e", "p0", kernel_shape=[2, 2], strides=[2, 2]),
    *qdq("p0", "p", "sum"),
    node("Flatten", "p", "f"),
    dequantised("w2", "w2_s"),
    node("MatMul", "f w2", "m0"),
    *qdq("m0", "y", "out"),
    node("QLinearMatMul", "f8 f8_s f8_z w3 w3_s w3_z out_s out_z", "y2"),
], [value("x", [1, 4, 8, 6]), value("f8", [3, 50], T.UINT8)],
    [value("y", [1, 10]), value("y2", [3, 7], T.INT8)],
    {**around("act", np.int8, 0.0413, 5), **around("sum", np.int8, 0.07, -9),
     **around("out", np.int8, 0.05, 3), **around("f8", np.uint8, 0.01, 130),
     **around("w3", np.uint8, 0.01, 120), "w3": unsigned(50, 7),
     "w0_q": bytes_of(6, 4, 3, 3), "w0_s": np.float32(0.00117), "b0_q": biases(6),
     "b0_s": np.float32(0.0413) * np.float32(0.00117), "w1_q": bytes_of(6, 1, 3, 3),
     "w1_s": np.float32(0.00391),
     "b1_q": biases(6), "b1_s": np.float32(0.0413) * np.float32(0.00391), "w2_q": bytes_of(72, 10),
     "w2_s": np.float32(0.002)})

# Batch normalisation that nothing takes in, of several ranks; Clip of integers, MaxPool of u8.
model("normalised", [
    node("Abs", "x", "a"),
    node("BatchNormalization", "a s t m v", "n4", epsilon=0.01),
    node("ReduceMax", "n4", "r", axes=[2, 3], keepdims=0),
    node("BatchNormalization", "r s t m v", "n2"),
    node("Clip", "b i8_low", "b0"),
    node("Clip", "u - u8_high", "u0"),
    node("Clip", "i i32_low i32_high", "i0"),
    node("MaxPool", "u0", "p", kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 1, 1]),
], [value("x", [2, 3, 5, 4]), value("b", [40], T.INT8), value("u", [1, 2, 6, 5], T.UINT8),
    value("i", [7], T.INT32)],
    [value("n4", [2, 3, 5, 4]), value("n2", [2, 3]), value("b0", [40], T.INT8),
     value("p", [1, 2, 3, 5], T.UINT8), value("i0", [7], T.INT32)],
    {"s": floats(3), "t": floats(3), "m": floats(3), "v": np.float32([0.5, 1, 2]),
     "i8_low": np.int8(-20), "u8_high": np.uint8(200), "i32_low": np.int32(-2147483648),
     "i32_high": np.int32(99)})

# Nothing of this can be written: a shape that depends on data, text, a loop, and what depends on
# the value of an input, when it runs and when it is planned.
model("refused", [
    node("NonZero", "x", "n"),
    node("Cast", "n", "f", to=T.FLOAT),
    node("StringNormalizer", "text", "t", case_change_action="UPPER"),
    node("CumSum", "x axis", "c"),
    node("Clip", "x low", "b"),
    node("Slice", "x axis1 ends", "e"),
], [value("x", [3, 4]), value("text", [2], T.STRING), value("low", []),
    value("ends", [1], T.INT64)],
    [value("f", [2, "n"]), value("t", [2], T.STRING), value("c", [3, 4]), value("b", [3, 4]),
     value("e", ["a", "b"])],
    {"axis": np.array(0, np.int64), "axis1": np.array([0], np.int64)})


# Integers as TensorFlow Lite has them: scales of one and of each channel to all types, SVDF of both
# types of state, ranks 1 and 2, with a bias and without.
def fixed_svdf(k, rank, bias):
    inputs = f"x f{k} t{k} {bias} s{k}"
    return h.make_node("FixedSvdf", [n if n != "-" else "" for n in inputs.split()],
                       [f"y{k}", f"k{k}"], f"svdf{k}", domain="tenon",
                       multipliers=[1500000000, 1800000000], shifts=[-8, 1 if k else -9], rank=rank,
                       x_zero=-3, state_zero=0 if k else 5, y_zero=-7, lo=-128, hi=100)


def ints(lo, hi, dtype, *shape):
    return rng.integers(lo, hi, shape).astype(dtype)


model("fixed", [
    h.make_node("FixedScale", ["z"], ["a"], "one", domain="tenon", multipliers=[1073741824],
                shifts=[-2], before=15, lo=-2000000000, hi=2000000000, y_dtype=7),
    h.make_node("FixedScale", ["z"], ["b"], "each", domain="tenon",
                multipliers=[1500000000, 1073741824, 2000000001],
                shifts=[-3, 2, 0], zero=3, lo=-128, hi=127, y_dtype=5),
    fixed_svdf(0, 1, "bias"), fixed_svdf(1, 2, "-")],
    [value("z", (2, 3, 5), T.INT32), value("x", (3, 67), T.INT8), value("s0", (3, 30), T.INT8),
     value("s1", (3, 80), T.INT16)],
    [value("a", (2, 3, 5), T.INT32), value("b", (2, 3, 5), T.INT8), value("y0", (3, 6), T.INT8),
     value("k0", (3, 30), T.INT8), value("y1", (3, 4), T.INT8), value("k1", (3, 80), T.INT16)],
    {"f0": ints(-128, 128, np.int8, 6, 67), "t0": ints(-128, 128, np.int8, 6, 5),
     "bias": ints(-9000, 9000, np.int32, 6), "f1": ints(-128, 128, np.int8, 8, 67),
     "t1": ints(-32768, 32768, np.int16, 8, 10)}, extra=[h.make_opsetid("tenon", 1)])

# Frames of a signal and their spectra, with a window and without, of real and complex values, of
# an even and an odd number; powers; quotients of integers, which by 0 are 0; sines.
model("frames", [
    node("STFT", "real step hann", "f0"),
    node("STFT", "real step - nine", "f1", onesided=0),
    node("STFT", "pairs step hann", "f2", onesided=0),
    node("Pow", "f0 two", "p0"),
    node("ReduceSum", "p0 last", "p1", keepdims=0),
    node("Pow", "p1 half", "p2"),
    node("Pow", "f1 three", "p3"),
    node("Pow", "f1 inverse", "p4"),
    node("Div", "n d", "q0"),
    node("Div", "m e", "q1"),
    node("Mul", "real turns", "angle"),
    node("Sin", "angle", "s0"),
    node("Cos", "angle", "s1"),
    node("Tan", "angle", "s2"),
], [value("real", [2, 50, 1]), value("pairs", [1, 40, 2]), value("n", [2, 7], T.INT32),
    value("m", [2, 7], T.INT64)],
    [value("p2", [2, 8, 9]), value("p3", [2, 9, 9, 2]), value("p4", [2, 9, 9, 2]),
     value("s0", [2, 50, 1]), value("s1", [2, 50, 1]),
     value("s2", [2, 50, 1]), value("f2", [1, 6, 16, 2]), value("q0", [2, 7], T.INT32),
     value("q1", [2, 7], T.INT64)],
    {"turns": np.float32(1000), "step": np.int64(5),
     "hann": np.hanning(16).astype(np.float32), "nine": np.int64(9),
     "two": np.float32(2), "half": np.float32(0.5), "three": np.float32(3),
     "inverse": np.float32(-1), "last": np.array([-1], np.int64),
     "d": np.array([0, -1, 1, 2, -3, 7, 100], np.int32),
     "e": np.array([0, -1, 1, 2, -3, 7, 100], np.int64)})

# Products of a transposed A, of many rows and of few; logarithms of a softmax; sums of codes and a
# single one; codes of 16 bits.
model("turned", [
    node("Gemm", "a b c", "g0", transA=1, alpha=0.5),
    node("Gemm", "few b", "g1", transA=1),
    node("Gemm", "few bt c", "g2", transA=1, transB=1, beta=2.0),
    node("LogSoftmax", "g0", "l0"),
    node("LogSoftmax", "g0", "l1", axis=0),
    h.make_node("QuantAdd", ["q", "one"], ["s0"], "s0", domain="tenon", a_scale=0.1, a_zero=3,
                b_scale=0.02, b_zero=-7, y_scale=0.05, y_zero=5, lo=-128, hi=127, y_dtype=5),
    h.make_node("QuantAdd", ["one", "q"], ["s1"], "s1", domain="tenon", a_scale=0.1, a_zero=3,
                b_scale=0.02, b_zero=-7, y_scale=0.05, y_zero=5, lo=0, hi=100, y_dtype=5),
    node("QuantizeLinear", "a fine zero16", "q16"),
    node("QuantizeLinear", "a fine zero_u16", "u16"),
    node("DequantizeLinear", "w16 fine zero16", "f16"),
], [value("a", [450, 9]), value("few", [450, 2]), value("q", [3, 5], T.INT8),
    value("w16", [3, 5], T.INT16)],
    [value("q16", [450, 9], T.INT16), value("u16", [450, 9], T.UINT16), value("f16", [3, 5]),
     value("l0", [9, 7]), value("l1", [9, 7]), value("g1", [2, 7]), value("g2", [2, 7]),
     value("s0", [3, 5], T.INT8), value("s1", [3, 5], T.INT8)],
    {"b": floats(450, 7), "bt": floats(7, 450), "c": floats(7), "one": np.array([93], np.int8),
     "fine": np.float32(0.00003), "zero16": np.int16(-9), "zero_u16": np.uint16(30000)},
    extra=[h.make_opsetid("tenon", 1)], opset=21)

# Elements and slices that indices name, of both types of indices, negative ones among them: read,
# written and added to, twice at one place.
model("places", [
    node("GatherElements", "x along", "g0", axis=1),
    node("GatherElements", "n down", "g1", axis=0),
    node("ScatterElements", "x along u0", "s0", axis=1),
    node("ScatterElements", "x down u1", "s1", axis=0, reduction="add"),
    node("GatherND", "x tuples", "g2"),
    node("ScatterND", "x tuples u2", "s2"),
    node("ScatterND", "x tuples u2", "s3", reduction="add"),
    node("ScatterND", "n places u3", "s4"),
], [value("x", [4, 5]), value("n", [4, 5], T.INT8), value("u0", [4, 3]), value("u1", [2, 5]),
    value("u2", [3, 5]), value("u3", [2, 2], T.INT8)],
    [value("g0", [4, 3]), value("g1", [2, 5], T.INT8), value("s0", [4, 5]), value("s1", [4, 5]),
     value("g2", [3, 5]), value("s2", [4, 5]), value("s3", [4, 5]), value("s4", [4, 5], T.INT8)],
    {"along": rng.permuted(np.tile(np.arange(-2, 3), (4, 1)), axis=1)[:, :3],
     "down": np.array([[0, -1, 2, 3, 1], [0, 2, 1, -4, 3]], np.int32),
     "tuples": np.array([[1], [-1], [1]], np.int64),
     "places": np.array([[[0, 4], [3, -5]], [[-2, 1], [1, 2]]], np.int64)}, opset=18)

# Which elements are the largest, and where: of each type of a loop, first and last of equal ones,
# NaN among them, along each dim, values or places alone; pools that say so; integers that are
# added, multiplied and compared.
ordered, results = [], []


def takes(op, inputs, output, shape, dtype=T.INT64, **attributes):
    ordered.append(node(op, inputs, output, **attributes))
    results.append(value([n for n in output.split() if n != "-"][-1], shape, dtype))


ordered += [node("Round", "x", "r"), node("Abs", "r", "b"), node("Mul", "r some", "n")]
takes("ArgMax", "n", "a0", [3, 1, 8], axis=1)
takes("ArgMin", "n", "a1", [3, 6], axis=-1, keepdims=0, select_last_index=1)
takes("ArgMax", "r", "a2", [1, 6, 8], axis=0, select_last_index=1)
takes("TopK", "n k5", "- p0", [3, 6, 5])
takes("TopK", "n k5", "- p1", [3, 5, 8], axis=1, largest=0)
takes("TopK", "r k5", "v2 p2", [3, 5, 8], axis=1)
results.append(value("v2", [3, 5, 8]))
takes("TopK", "r k1", "v3 -", [1, 6, 8], T.FLOAT, axis=0)
for name, kind in {"i8": T.INT8, "u8": T.UINT8, "i32": T.INT32, "i64": T.INT64}.items():
    ordered.append(node("Cast", "b" if name == "u8" else "r", "x_" + name, to=kind))
    takes("ReduceMax", "x_" + name, name + "_max", [3, 1, 1], kind, axes=[1, 2])
    takes("ReduceMin", "x_" + name, name + "_min", [6], kind, axes=[0, 2], keepdims=0)
    takes("ArgMin", "x_" + name, name + "_arg", [3, 6, 1], axis=2)
    takes("TopK", f"x_{name} k5", f"- {name}_top", [3, 6, 5], largest=0)
    if name in ("i32", "i64"):
        takes("ReduceSum", f"x_{name} last", name + "_sum", [3, 6, 1], kind)
        takes("ReduceProd", "x_" + name, name + "_prod", [3, 6], kind, axes=[2], keepdims=0)
        takes("ReduceSumSquare", "x_" + name, name + "_squares", [1, 1, 1], kind)
ordered += [node("Round", "q", "q_r"), node("Abs", "q_r", "q_b"),
            node("Cast", "q_r", "q_i8", to=T.INT8), node("Cast", "q_b", "q_u8", to=T.UINT8)]
for source, order, kind in (("q", 0, T.FLOAT), ("q", 1, T.FLOAT), ("q_i8", 0, T.INT8),
                            ("q_u8", 1, T.UINT8)):
    name = f"{source}_{order}"
    takes("MaxPool", source, f"{name}_most {name}_where", [2, 3, 3, 3], storage_order=order,
          kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 1])
    results.append(value(f"{name}_most", [2, 3, 3, 3], kind))
takes("MaxPool", "line", "line_most line_where", [1, 2, 4], kernel_shape=[3], strides=[2])
results.append(value("line_most", [1, 2, 4]))
model("ordered", ordered,
      [value("x", [3, 6, 8]), value("q", [2, 3, 6, 6]), value("line", [1, 2, 9])], results,
      {"some": np.where(rng.random((3, 6, 8)) > 0.1, 1, np.nan).astype(np.float32),
       "k5": np.array([5], np.int64), "k1": np.array([1], np.int64),
       "last": np.array([2], np.int64)}, extra=[h.make_opsetid("tenon", 1)])

# Trees of all sorts: classes with votes for several, two classes of which the leaves know one, on
# either side, means, sums and extremes of targets, one rule for all nodes and all rules, NaN with a
# way of its own, features of three types, and the form of version 5. Linear models, scales.
RULES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def grown(trees, depth, features, targets, rules=1, missing=False, prefix="target", whole=False):
    """Attributes of complete trees that vote for some of these targets at each leaf."""
    a = {"nodes_" + k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes",
                                     "truenodeids", "falsenodeids")}
    votes = {prefix + k: [] for k in ("_treeids", "_nodeids", "_ids", "_weights")}
    tracks = []
    for tree in range(trees):
        for at in range(2 ** (depth + 1) - 1):
            leaf = at >= 2 ** depth - 1
            split = 0 if leaf else float(np.float32(rng.standard_normal()))
            row = (tree, at, 0 if leaf else int(rng.integers(features)),
                   round(split) if whole else split,
                   "LEAF" if leaf else RULES[int(rng.integers(rules))],
                   0 if leaf else 2 * at + 1, 0 if leaf else 2 * at + 2)
            for name, v in zip(list(a), row):
                a[name].append(v)
            tracks.append(int(rng.integers(2)) if missing else 0)
            for target in rng.permutation(targets)[:1 + at % 2] if leaf else []:
                for name, v in zip(list(votes), (tree, at, int(target),
                                                 float(np.float32(rng.standard_normal())))):
                    votes[name].append(v)
    if missing:
        a["nodes_missing_value_tracks_true"] = tracks
    return {**a, **votes}


def learned(op, inputs, output, **attributes):
    n = node(op, inputs, output, **attributes)
    n.domain = "ai.onnx.ml"
    return n


three = grown(5, 3, 6, 3, prefix="class")
sides = [grown(3, 2, 6, 1, prefix="class") for _ in range(3)]
sides[1]["class_ids"] = [1] * len(sides[1]["class_ids"])
sides[2]["class_weights"] = [abs(w) for w in sides[2]["class_weights"]]
dense = dict(
    nodes_featureids=[0, 4, 2], nodes_trueleafs=[0, 1, 1], nodes_truenodeids=[1, 0, 1],
    nodes_falseleafs=[0, 1, 1], nodes_falsenodeids=[2, 2, 3], tree_roots=[0, 2],
    leaf_targetids=[0, 1, 0, 1], n_targets=2, aggregate_function=1, post_transform=0,
    nodes_modes=h.make_tensor("modes", T.UINT8, [3], [0, 1, 3]),
    nodes_splits=h.make_tensor("splits", T.FLOAT, [3], [0.25, -0.5, 0.125]),
    leaf_weights=h.make_tensor("weights", T.FLOAT, [4], [5.25, 12.5, -12.25, 7.5]))
model("trees", [
    learned("Scaler", "x", "scaled", offset=[0.5], scale=[1.5, 0.5, 2.0, 1.0, -1.0, 3.0]),
    node("Mul", "x holes", "torn"),
    learned("Imputer", "torn", "mended", imputed_value_floats=[0.5, 1, 2, 3, 4, 5],
            replaced_value_float=float("nan")),
    learned("Imputer", "w", "whole", imputed_value_int64s=[7], replaced_value_int64=1),
    learned("Normalizer", "x", "length", norm="L2"),
    learned("Normalizer", "d", "sums", norm="L1"),
    learned("Normalizer", "w", "most"),
    learned("Binarizer", "x", "bits", threshold=0.25),
    learned("TreeEnsembleClassifier", "scaled", "c3 s3", classlabels_int64s=[5, 6, 7],
            post_transform="SOFTMAX", **three),
    learned("TreeEnsembleClassifier", "x", "c0 s0", classlabels_int64s=[0, 1],
            post_transform="LOGISTIC", **sides[0]),
    learned("TreeEnsembleClassifier", "x", "c1 s1", classlabels_int64s=[0, 1], base_values=[0.5],
            **sides[1]),
    learned("TreeEnsembleClassifier", "x", "c2 s2", classlabels_int64s=[-3, 9], **sides[2]),
    learned("TreeEnsembleRegressor", "torn", "r0", n_targets=2, aggregate_function="AVERAGE",
            base_values=[0.5, -0.25], **grown(4, 3, 6, 2, rules=6, missing=True)),
    learned("TreeEnsembleRegressor", "d", "r1", n_targets=3, aggregate_function="MIN",
            **grown(4, 3, 6, 3)),
    learned("TreeEnsembleRegressor", "w", "r2", n_targets=1, aggregate_function="MAX",
            post_transform="LOGISTIC", **grown(4, 3, 6, 1, rules=6, whole=True)),
    learned("TreeEnsemble", "x", "r3", **dense),
    learned("LinearRegressor", "x", "l0", coefficients=[float(v) for v in floats(12)],
            intercepts=[0.25, -1.0], targets=2),
    learned("LinearRegressor", "w", "l1", coefficients=[float(v) for v in floats(6)],
            post_transform="SOFTMAX_ZERO"),
    learned("LinearClassifier", "x", "k0 l2", coefficients=[float(v) for v in floats(18)],
            intercepts=[0.25, 0.0, -1.0], classlabels_ints=[3, 4, 5], post_transform="SOFTMAX"),
    learned("LinearClassifier", "d", "k1 l3", coefficients=[float(v) for v in floats(6)],
            classlabels_ints=[0, 1], post_transform="LOGISTIC"),
], [value("x", [9, 6]), value("d", [9, 6], T.DOUBLE), value("w", [9, 6], T.INT64)],
    [*(value(n, [9, 6]) for n in ("mended", "length", "sums", "most", "bits")),
     value("whole", [9, 6], T.INT64), *(value(n, [9], T.INT64) for n in ("c3", "c0", "c1", "c2",
                                                                        "k0", "k1")),
     value("s3", [9, 3]), *(value(n, [9, 2]) for n in ("s0", "s1", "s2", "r0", "r3", "l0", "l3")),
     value("r1", [9, 3]), value("r2", [9, 1]), value("l1", [9, 1]), value("l2", [9, 3])],
    {"holes": np.where(rng.random((9, 6)) > 0.2, 1, np.nan).astype(np.float32)},
    extra=[h.make_opsetid("ai.onnx.ml", 5)])

# Activations that become 8-bit codes as they come: convolutions and a product in integers, of
# groups, with pads and dilation, of one dim, with zero points of their own.
def integers(x, w, zero, output, **attributes):
    return [node("DynamicQuantizeLinear", x, f"{output}_q {output}_scale {output}_zero"),
            node("ConvInteger", f"{output}_q {w} {output}_zero {zero}", output, **attributes)]


model("dynamic", [
    *integers("x", "w0", "z0", "c0", pads=[1, 2, 1, 0], strides=[2, 1]),
    node("Cast", "c0", "f0", to=T.FLOAT),
    node("Mul", "f0 c0_scale", "m0"),
    node("Mul", "m0 small", "r0"),
    *integers("r0", "w1", "-", "c1", group=2, dilations=[1, 2]),
    *integers("line", "w2", "z2", "c2", pads=[2, 0]),
    node("DynamicQuantizeLinear", "rows", "rows_q rows_scale rows_zero"),
    node("MatMulInteger", "rows_q w3 rows_zero z3", "i3"),
    node("Cast", "i3", "f3", to=T.FLOAT),
    node("Mul", "rows_scale small", "s3"),
    node("Mul", "f3 s3", "y3"),
    # of two factors that come with the run; zero points of each row and column
    node("DynamicQuantizeLinear", "left", "left_q left_scale left_zero"),
    node("DynamicQuantizeLinear", "right", "right_q right_scale right_zero"),
    node("MatMulInteger", "left_q right_q left_zero right_zero", "y4"),
    node("MatMulInteger", "codes w5 a5 b5", "y5"),
], [value("x", [2, 3, 9, 8]), value("line", [1, 4, 13]), value("rows", [5, 40]),
    value("left", [2, 3, 5, 9]), value("right", [3, 9, 4]), value("codes", [4, 6], T.UINT8)],
    [value("r0", [2, 8, 5, 8]), value("c1", [2, 6, 4, 4], T.INT32),
     value("c2", [1, 5, 13], T.INT32), value("y3", [5, 7]),
     value("y4", [2, 3, 5, 4], T.INT32), value("y5", [4, 5], T.INT32)],
    {"w0": bytes_of(8, 3, 3, 3), "z0": np.int8(3), "small": np.float32(0.003),
     "w1": rng.integers(0, 256, (6, 4, 2, 3)).astype(np.uint8), "w2": bytes_of(5, 4, 3),
     "z2": bytes_of(5), "w3": bytes_of(40, 7), "z3": np.int8(-2),
     "w5": np.arange(-60, 60, 4, np.int8).reshape(6, 5), "a5": np.array([0, 255, 7, 128], np.uint8),
     "b5": np.array([-128, 0, 127, 3, -9], np.int8)},
    extra=[h.make_opsetid("tenon", 1)])

# Rows of f32 that become codes as they come (dynamic range), times weights that lie by columns and
# by rows; depths that are no multiple of four, odd columns, a row of zeros.
model("dynamic_rows", [
    node("DynamicMatMul", "x w0 s0 b0", "y0", transB=1, domain="tenon"),
    node("DynamicMatMul", "x w1 s1 b1", "y1", domain="tenon"),
    node("DynamicMatMul", "y1 w2 s1", "y2", domain="tenon"),
    node("Mul", "x zero", "zeros"),
    node("DynamicMatMul", "zeros w0 s0 b0", "y3", transB=1, domain="tenon"),
], [value("x", [2, 3, 11])],
    [value("y0", [2, 3, 7]), value("y1", [2, 3, 4]), value("y2", [2, 3, 1]),
     value("y3", [2, 3, 7])],
    {"w0": bytes_of(7, 11), "s0": np.abs(floats(7)), "b0": floats(7), "w1": bytes_of(11, 4),
     "s1": np.float32(0.01), "b1": floats(4), "w2": bytes_of(4, 1),
     "zero": np.float32(0)},
    extra=[h.make_opsetid("tenon", 1)])
