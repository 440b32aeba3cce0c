#!/usr/bin/env python3
"""Writes random small ONNX models for emit-c: usage: random_models.py DIR FIRST_SEED COUNT.
Convolutions and pools with odd windows, sizes, attention, recurrence, broadcasts, reductions, and
what moves data; every third one is quantised. Needs numpy and onnx."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper
from onnx.shape_inference import infer_shapes

NUMPY = {T.FLOAT: np.float32, T.INT64: np.int64, T.INT32: np.int32, T.INT8: np.int8,
         T.UINT8: np.uint8, T.BOOL: np.bool_}
MOST = 6000  # elements of a value


class Net:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.inputs, self.weights, self.types = [], [], {}, {}
        self.used, self.n = set(), 0
        self.has_empty = False  # may values have dims of 0?

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def number(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def name(self, prefix):
        self.n += 1
        return f"{prefix}{self.n}"

    def const(self, a):
        a = np.asarray(a)
        name = self.name("w")
        self.weights[name] = a
        self.types[name] = (h.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        return name

    def floats(self, *shape):
        return self.const((self.rng.standard_normal(shape) * 0.5).astype(np.float32))

    def input(self, dtype=T.FLOAT, shape=None, rank=None):
        rank = rank or self.pick(1, 2, 2, 3, 3, 4, 4, 4)
        if shape is None:
            shape = [self.number(1, 9) for _ in range(rank)]
            if rank == 4:
                shape = [self.pick(1, 1, 1, 2), self.number(1, 9), self.number(1, 13),
                         self.number(1, 13)]
        name = self.name("x")
        self.inputs.append(h.make_tensor_value_info(name, dtype, shape))
        self.types[name] = (dtype, tuple(shape))
        return name

    def model(self, outputs=None):
        if outputs is None:
            outputs = [n for n in self.types if n not in self.used and n not in self.weights]
        infos = [h.make_tensor_value_info(n, *self.types[n]) if n in self.types else
                 onnx.ValueInfoProto(name=n) for n in outputs]
        graph = h.make_graph(self.nodes, "random", self.inputs, infos,
                             [numpy_helper.from_array(a, n) for n, a in self.weights.items()])
        return h.make_model(graph, opset_imports=[h.make_opsetid("", 23)], ir_version=10)

    def op(self, op, inputs, n_outputs=1, **attributes):
        """The outputs' names; None where the shapes are none, or are large, or wrongly empty."""
        outputs = [self.name("v") for _ in range(n_outputs)]
        self.nodes.append(h.make_node(op, [i or "" for i in inputs], outputs, outputs[0],
                                      **attributes))
        try:
            # of this node alone: inputs are those of the node
            ins = [i for i in dict.fromkeys(inputs) if i]
            graph = h.make_graph([self.nodes[-1]], "one", [
                h.make_tensor_value_info(i, *self.types[i]) for i in ins if i not in self.weights],
                [onnx.ValueInfoProto(name=n) for n in outputs],
                [numpy_helper.from_array(self.weights[i], i) for i in ins if i in self.weights])
            m = infer_shapes(h.make_model(graph, opset_imports=[h.make_opsetid("", 23)],
                                          ir_version=10), check_type=True, strict_mode=True,
                             data_prop=True)
            for o in m.graph.output:
                t = o.type.tensor_type
                dims = [d.dim_value for d in t.shape.dim]
                if not t.elem_type or not t.HasField("shape") or \
                        (0 in dims and not self.has_empty) or np.prod(dims) > MOST or len(dims) > 6:
                    raise ValueError("shape")
                self.types[o.name] = (t.elem_type, tuple(dims))
        except Exception:
            self.nodes.pop()
            for o in outputs:
                self.types.pop(o, None)
            return None
        self.used.update(i for i in inputs if i)
        return outputs if n_outputs > 1 else outputs[0]

    def values(self, dtype=T.FLOAT, rank=None):
        return [n for n, (d, s) in self.types.items() if d == dtype and n not in self.weights and
                (rank is None or len(s) == rank or (isinstance(rank, tuple) and len(s) in rank))]

    def some(self, dtype=T.FLOAT, rank=None):
        v = self.values(dtype, rank)
        if not v or self.rng.random() < 0.1:
            return self.input(dtype, rank=rank if not isinstance(rank, tuple) else
                              self.pick(*rank))
        return v[-1] if self.rng.random() < 0.5 else self.pick(*v)

    def shape(self, name):
        return self.types[name][1]


def window(n, rank, size):
    kernel = [n.pick(1, 1, 2, 3, 3, 4, 5) for _ in range(rank)]
    a = dict(kernel_shape=kernel, strides=[n.pick(1, 1, 2, 3) for _ in range(rank)],
             dilations=[n.pick(1, 1, 1, 2, 3) for _ in range(rank)])
    kind = n.number(0, 3)
    if kind == 0:
        a["pads"] = [n.number(0, max(0, kernel[k % rank] - 1)) for k in range(2 * rank)]
    elif kind == 1:
        a["auto_pad"] = n.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    same = kind == 1 and a["auto_pad"] != "VALID"
    pads = a.get("pads", [0] * (2 * rank))
    for k in range(rank if size else 0):
        e = k + rank
        while (not same and kernel[k] > 1 and
               (kernel[k] - 1) * a["dilations"][k] >= size[k] + pads[k] + pads[e]):
            kernel[k], a["dilations"][k] = kernel[k] - 1, 1
            pads[k], pads[e] = min(pads[k], kernel[k] - 1), min(pads[e], kernel[k] - 1)
    return a


def conv(n):
    x = n.some(rank=n.pick(3, 4, 4))
    channels, spatial = n.shape(x)[1], n.shape(x)[2:]
    a = window(n, len(spatial), spatial)
    groups = n.pick(1, *[g for g in range(1, channels + 1) if channels % g == 0], channels)
    filters = groups * n.pick(1, 1, 2, 3, 4, 5)
    bias = [n.floats(filters)] if n.rng.random() < 0.6 else []
    return n.op("Conv", [x, n.floats(filters, channels // groups, *a["kernel_shape"]), *bias],
                group=groups, **a)


def conv_transpose(n):
    x = n.some(rank=n.pick(3, 4))
    channels, spatial = n.shape(x)[1], n.shape(x)[2:]
    a = window(n, len(spatial), spatial)
    a["kernel_shape"] = a["kernel_shape"] if "auto_pad" not in a else [
        max(k, s) for k, s in zip(a["kernel_shape"], a["strides"])]
    groups = n.pick(1, 1, *[g for g in range(1, channels + 1) if channels % g == 0])
    filters = n.number(1, 4)
    return n.op("ConvTranspose",
                [x, n.floats(channels, filters, *a["kernel_shape"])] +
                ([n.floats(filters * groups)] if n.rng.random() < 0.5 else []), group=groups, **a)


def pool(n):
    x = n.some(rank=n.pick(3, 4, 4))
    a = window(n, len(n.shape(x)) - 2, n.shape(x)[2:])
    if n.rng.random() < 0.4:
        a["ceil_mode"] = 1
    if n.rng.random() < 0.5:
        return n.op("MaxPool", [x], **a)
    return n.op("AveragePool", [x], count_include_pad=n.pick(0, 1), **a)


def global_pool(n):
    return n.op(n.pick("GlobalAveragePool", "GlobalMaxPool"), [n.some(rank=(3, 4))])


def unary(n):
    ops = ["Relu", "LeakyRelu", "Elu", "Selu", "Celu", "Sigmoid", "HardSigmoid", "HardSwish",
           "Softplus", "Softsign", "Mish", "ThresholdedRelu", "Gelu", "Abs", "Neg", "Ceil",
           "Floor", "Round", "Sqrt", "Reciprocal", "Exp", "Log", "Erf", "Sign", "Tanh", "Atan",
           "Sinh", "Cosh", "Asinh", "Identity"]
    op = n.pick(*ops)
    x = n.some()
    if op in ("Sqrt", "Log"):
        x = n.op("Abs", [x])
    if op in ("Exp", "Sinh", "Cosh"):
        x = n.op("Tanh", [x])
    return n.op(op, [x])


def clip(n):
    return n.op("Clip", [n.some(), n.const(np.float32(-0.7)), n.const(np.float32(0.9))])


def compatible(n, x, dtype=T.FLOAT):
    """Another operand: of a shape that broadcasts with that of x."""
    s = n.shape(x)
    kind = n.number(0, 4)
    if kind == 0:
        others = [v for v in n.values(dtype) if n.shape(v) == s]
        return n.pick(*others)
    shape = [d if n.rng.random() < 0.6 else 1 for d in s]
    shape = shape[n.number(0, len(shape)):] if kind > 2 else shape
    if dtype != T.FLOAT:
        return n.const(n.rng.integers(-9, 10, shape).astype(NUMPY[dtype]))
    return n.floats(*shape) if kind != 1 else n.input(dtype, shape=shape or [1])


def binary(n):
    x = n.some()
    op = n.pick("Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu", "Sum")
    y = compatible(n, x)
    if op == "Div":
        y = n.op("Add", [n.op("Abs", [y]), n.const(np.float32(0.5))])
    pair = [x, y] if op == "PRelu" or n.rng.random() < 0.6 else [y, x]
    return n.op(op, pair)


def integers(n):
    dtype = n.pick(T.INT64, T.INT32)
    x = n.some(dtype)
    return n.op(n.pick("Add", "Sub", "Mul"), [x, compatible(n, x, dtype)])


def compare(n):
    x = n.some()
    c = n.op(n.pick("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"),
             [x, compatible(n, x)])
    if c is None:
        return None
    if n.rng.random() < 0.3:
        c = n.op(n.pick("And", "Or", "Xor"), [c, n.op("Greater", [x, n.const(np.float32(0.1))])])
    return n.op("Where", [c, x, compatible(n, x)]) if c else None


def softmax(n):
    x = n.some()
    return n.op("Softmax", [x], axis=n.number(-len(n.shape(x)), len(n.shape(x)) - 1))


def reduce(n):
    x = n.some()
    rank = len(n.shape(x))
    axes = sorted(n.rng.choice(rank, n.number(1, rank), replace=False).tolist())
    op = n.pick("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
                "ReduceSumSquare", "ReduceL1", "ReduceL2")
    return n.op(op, [x, n.const(np.array(axes, np.int64))], keepdims=n.pick(0, 1))


def matmul(n):
    x = n.some(rank=(2, 3, 4))
    s = n.shape(x)
    kind = n.number(0, 4)
    if kind == 0:
        return n.op("MatMul", [x, n.floats(s[-1], n.number(1, 20))])
    if kind == 1:
        return n.op("MatMul", [x, n.op("Transpose", [x], perm=[*range(len(s) - 2), len(s) - 1,
                                                                len(s) - 2])])
    if kind == 2:
        return n.op("MatMul", [x, n.input(shape=[*s[:-2], s[-1], n.number(1, 9)])])
    if kind == 3:
        return n.op("MatMul", [n.floats(*([n.number(1, 9), s[-2]])), x])
    y = n.op("Flatten", [x], axis=1)
    if not y:
        return None
    k, o = n.shape(y)[1], n.number(1, 12)
    trans = n.pick(0, 1)
    bias = n.pick([o], [1, o], [1], None)
    return n.op("Gemm", [y, n.floats(*([o, k] if trans else [k, o]))] +
                ([n.floats(*bias)] if bias else []), transB=trans, alpha=n.pick(1.0, 0.5),
                beta=n.pick(1.0, 2.0))


def move(n):
    x = n.pick(n.some(), n.some(), n.some(), n.some(n.pick(T.INT64, T.INT8, T.BOOL)))
    s = n.shape(x)
    rank = len(s)
    i64 = lambda a: n.const(np.array(a, np.int64))  # noqa: E731
    kind = n.number(0, 10)
    if kind == 0:
        return n.op("Transpose", [x], perm=n.rng.permutation(rank).tolist())
    if kind == 1:
        axis = n.number(0, rank - 1)
        others = [v for v in n.values(n.types[x][0]) if len(n.shape(v)) == rank and
                  all(a == b for k, (a, b) in enumerate(zip(n.shape(v), s)) if k != axis)]
        return n.op("Concat", [n.pick(*others) if k else x for k in range(n.number(1, 4))],
                    axis=axis)
    if kind == 2:
        axes = n.rng.choice(rank, n.number(1, rank), replace=False).tolist()
        starts, ends, steps = [], [], []
        for a in axes:
            step = n.pick(1, 1, 2, 3, -1, -2)
            lo = n.number(0, s[a] - 1)
            hi = n.number(lo + 1, s[a])
            starts.append(lo if step > 0 else hi - 1)
            ends.append(hi if step > 0 else (lo - 1 if lo else -s[a] - 1))
            steps.append(step)
        return n.op("Slice", [x, i64(starts), i64(ends), i64(axes), i64(steps)])
    if kind == 3:
        pads = [n.number(0, 2) for _ in range(2 * rank)]
        return n.op("Pad", [x, i64(pads)], mode=n.pick("constant", "edge", "reflect", "wrap"))
    if kind == 4:
        sizes = list(s)
        n.rng.shuffle(sizes)
        return n.op("Reshape", [x, i64(n.pick(sizes, [-1], [int(np.prod(s)), 1]))])
    if kind == 5:
        return n.op("Expand", [x, i64([n.number(1, 3), *[d if d > 1 else n.number(1, 4)
                                                         for d in s]])])
    if kind == 6:
        return n.op("Tile", [x, i64([n.number(1, 3) for _ in s])])
    if kind == 7:
        axis = n.number(0, rank - 1)
        where = n.rng.integers(-s[axis], s[axis], n.pick((2,), (3,), (2, 2), ()))
        return n.op("Gather", [x, n.const(where.astype(n.pick(np.int64, np.int32)))], axis=axis)
    if kind == 8:
        axis = n.number(0, rank - 1)
        if s[axis] < 2:
            return None
        cut = n.number(1, s[axis] - 1)
        out = n.op("Split", [x, i64([cut, s[axis] - cut])], 2, axis=axis)
        return out and out[0]
    if kind == 9 and rank == 4 and s[1] % 4 == 0:
        return n.op("DepthToSpace", [x], blocksize=2)
    if kind == 9 and rank == 4 and s[2] % 2 == s[3] % 2 == 0:
        return n.op("SpaceToDepth", [x], blocksize=2)
    return n.op("Unsqueeze", [x, i64([n.number(0, rank)])]) if rank < 5 else None


def resize(n):
    x = n.some(rank=n.pick(3, 4, 4))
    s = n.shape(x)
    scales = [1.0, 1.0] + [float(n.pick(0.5, 0.7, 1.0, 1.5, 2.0, 2.3)) for _ in s[2:]]
    mode = n.pick("nearest", "linear", "cubic")
    more = dict(nearest_mode=n.pick("floor", "ceil", "round_prefer_floor",
                                    "round_prefer_ceil")) if mode == "nearest" else {}
    if mode != "nearest" and n.rng.random() < 0.3:
        more["antialias"] = 1
    return n.op("Resize", [x, "", n.const(np.float32(scales))], mode=mode,
                coordinate_transformation_mode=n.pick("half_pixel", "asymmetric", "align_corners",
                                                      "pytorch_half_pixel"), **more)


def norm(n):
    kind = n.number(0, 3)
    x = n.some(rank=(3, 4) if kind > 1 else (2, 3, 4))
    s = n.shape(x)
    if kind == 0:
        return n.op("LayerNormalization", [x, n.floats(s[-1]), n.floats(s[-1])], axis=-1)
    if kind == 1:
        return n.op("RMSNormalization", [x, n.floats(s[-1])], axis=-1, epsilon=0.01)
    if kind == 2:
        return n.op("InstanceNormalization", [x, n.floats(s[1]), n.floats(s[1])])
    groups = n.pick(*[g for g in range(1, s[1] + 1) if s[1] % g == 0])
    return n.op("GroupNormalization", [x, n.floats(s[1]), n.floats(s[1])], num_groups=groups)


def batch_norm(n):
    x = n.some(rank=(2, 3, 4))
    c = n.shape(x)[1]
    var = n.const((n.rng.random(c) + 0.5).astype(np.float32))
    return n.op("BatchNormalization", [x, n.floats(c), n.floats(c), n.floats(c), var])


def recurrence(n):
    x = n.some(rank=3)
    steps, batch, size = n.shape(x)
    hidden, op = n.number(1, 7), n.pick("LSTM", "GRU", "RNN")
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    direction = n.pick("forward", "reverse", "bidirectional")
    d = 2 if direction == "bidirectional" else 1
    ins = [x, n.floats(d, gates * hidden, size), n.floats(d, gates * hidden, hidden),
           n.floats(d, 2 * gates * hidden) if n.pick(0, 1) else "",
           n.const(n.rng.integers(1, steps + 1, batch).astype(np.int32))
           if n.rng.random() < 0.3 else ""]
    a = dict(hidden_size=hidden, direction=direction)
    if op == "GRU":
        a["linear_before_reset"] = n.pick(0, 1)
    if n.rng.random() < 0.2:
        a["clip"] = 0.6
    if n.rng.random() < 0.3:
        ins.append(n.input(shape=[d, batch, hidden]))
        if op == "LSTM":
            ins.append(n.input(shape=[d, batch, hidden]))
            if n.pick(0, 1):
                ins.append(n.floats(d, 3 * hidden))
    out = n.op(op, ins, 3 if op == "LSTM" else 2, **a)
    return out and out[n.number(0, 1)]


def attention(n):
    heads = n.pick(2, 4)
    group = n.pick(1, 2)
    size, v_size, batch = n.number(1, 9), n.number(1, 9), n.number(1, 2)
    n_q, n_k = n.number(1, 9), n.number(1, 12)
    q = n.input(shape=[batch, heads, n_q, size])
    k = n.input(shape=[batch, heads // group, n_k, size])
    v = n.input(shape=[batch, heads // group, n_k, v_size])
    mask = n.pick("", n.pick(n.floats(n_q, n_k), n.floats(1, 1, n_q, n_k)))
    return n.op("Attention", [q, k, v, mask], is_causal=n.pick(0, 1),
                softcap=n.pick(0.0, 3.0), scale=n.pick(0.3, 1.0))


def cast(n):
    x = n.some(n.pick(T.FLOAT, T.INT64, T.INT32, T.BOOL))
    return n.op("Cast", [x], to=n.pick(T.FLOAT, T.INT64, T.INT32, T.INT8, T.UINT8, T.BOOL))


# ---- quantised ----

def scale(n, most=0.05):
    return np.float32(n.rng.random() * most + 0.003)


def around(n, dtype):
    return [n.const(scale(n)), n.const(NUMPY[dtype](n.number(-9, 9) + (128 if dtype == T.UINT8
                                                                        else 0)))]


def qdq(n, x, dtype):
    if not x:
        return None
    pair = around(n, dtype)
    q = n.op("QuantizeLinear", [x, *pair])
    return q and n.op("DequantizeLinear", [q, *pair])


def dq_weight(n, shape, per_filter, axis=0):
    w = n.const(n.rng.integers(-127, 128, shape).astype(np.int8))
    many = shape[axis]
    if per_filter:
        s = (n.rng.random(many) * 0.01 + 0.001).astype(np.float32)
        return n.op("DequantizeLinear", [w, n.const(s), n.const(np.zeros(many, np.int8))],
                    axis=axis), s
    s = scale(n, 0.01)
    return n.op("DequantizeLinear", [w, n.const(s)]), s


def q_start(n, dtype):
    """A value that has just been dequantised."""
    v = [o for node in n.nodes if node.op_type == "DequantizeLinear"
         for o in node.output if node.input[0] not in n.weights and len(n.shape(o)) == 4]
    return n.pick(*v) if v and n.rng.random() < 0.8 else qdq(n, n.input(rank=4), dtype)


def q_scale_of(n, x):
    for node in n.nodes:
        if x in node.output:
            return n.weights[node.input[1]]


def q_conv(n, dtype):
    x = q_start(n, dtype)
    channels, spatial = n.shape(x)[1], n.shape(x)[2:]
    a = window(n, len(spatial), spatial)
    groups = n.pick(1, 1, *[g for g in range(1, channels + 1) if channels % g == 0], channels)
    filters = groups * n.pick(1, 1, 2, 3, 5)
    w, s = dq_weight(n, (filters, channels // groups, *a["kernel_shape"]), n.pick(True, False))
    ins = [x, w]
    if n.rng.random() < 0.7:
        b = n.const(n.rng.integers(-2000, 2000, filters).astype(np.int32))
        bs = np.float32(q_scale_of(n, x) * s)
        zero = [n.const(np.zeros(filters, np.int32))] if bs.ndim else []
        ins.append(n.op("DequantizeLinear", [b, n.const(bs), *zero],
                        **(dict(axis=0) if bs.ndim else {})))
    y = n.op("Conv", ins, group=groups, **a)
    if y and n.rng.random() < 0.4:
        y = n.op("Relu", [y])
    return qdq(n, y, dtype)


def q_add(n, dtype):
    x = q_start(n, dtype)
    same = [v for v in n.values() if n.shape(v) == n.shape(x) and
            any(v in node.output and node.op_type == "DequantizeLinear" for node in n.nodes)]
    return qdq(n, n.op(n.pick("Add", "Add", "Mul"), [x, n.pick(*same)]), dtype)


def q_pool(n, dtype):
    x = q_start(n, dtype)
    y = n.op(n.pick("MaxPool", "AveragePool"), [x], **window(n, 2, n.shape(x)[2:]))
    return qdq(n, y, dtype)


def q_matmul(n, dtype):
    x = n.op("Flatten", [q_start(n, dtype)], axis=1)
    w, _ = dq_weight(n, (n.shape(x)[1], n.number(1, 12)), n.pick(True, False), 1)
    return w and qdq(n, n.op("MatMul", [x, w]), dtype)


def q_unary(n, dtype):
    return qdq(n, n.op(n.pick("Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Elu"),
                       [q_start(n, dtype)]), dtype)


def q_concat(n, dtype):
    x = q_start(n, dtype)
    others = [v for v in n.values(rank=4) if n.shape(v)[0] == n.shape(x)[0] and
              n.shape(v)[2:] == n.shape(x)[2:]]
    return qdq(n, n.op("Concat", [x, n.pick(*others)], axis=1), dtype)


FLOATS = [conv, conv, conv, conv_transpose, pool, pool, global_pool, unary, unary, clip, binary,
          binary, integers, compare, softmax, reduce, matmul, matmul, move, move, move, resize,
          norm, batch_norm, recurrence, attention, cast]
QUANT = [q_conv, q_conv, q_conv, q_add, q_pool, q_matmul, q_unary, q_concat]


def attempt(n, ops, *more):
    try:
        n.pick(*ops)(n, *more)
    except (TypeError, KeyError, IndexError, ValueError):
        pass  # an operand that could not be made


def make(seed):
    n = Net(seed)
    if seed % 3 == 2:
        dtype = n.pick(T.INT8, T.INT8, T.UINT8)
        for _ in range(n.number(1, 7)):
            attempt(n, QUANT, dtype)
    else:
        for _ in range(n.number(1, 8)):
            attempt(n, FLOATS)
    return n


def main():
    folder, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    seed = first
    while count:
        n = make(seed)
        m = n.model()
        if n.nodes and m.graph.output:
            onnx.checker.check_model(m)
            onnx.save(m, os.path.join(folder, f"r{seed}.onnx"))
            count -= 1
        seed += 1


if __name__ == "__main__":
    main()
