#!/usr/bin/env python3
"""Writes random ONNX models for devices: usage: random_graphs.py DIR FIRST_SEED COUNT.
Those of tests/emit/random_models.py with what GPUs have kernels for besides: gathering, scattering,
sorting, sampling, caches of keys and values, products of integers, weights in blocks, bodies, and
chains that are fused; every fourth has larger values. Of seven one is in halves, one leaves the
dims of its inputs open, one has dims of 0; what `tenon compare` has to be told of a model stands
beside it, in NAME.args. Needs numpy and onnx."""
import os
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "emit"))
import random_models as base  # noqa: E402


def i64(n, a):
    return n.const(np.array(a, np.int64))


def indices(n, size, shape, negative=True):
    low = -size if negative else 0
    return n.const(n.rng.integers(low, size, shape).astype(n.pick(np.int64, np.int32)))


def axis_of(n, x):
    rank = len(n.shape(x))
    return n.number(-rank, rank - 1)


def top_k(n):
    x = n.some()
    axis = axis_of(n, x)
    k = n.number(1, n.shape(x)[axis])
    out = n.op("TopK", [x, i64(n, [k])], 2, axis=axis, largest=n.pick(0, 1))
    return out and out[n.number(0, 1)]


def gather_elements(n):
    x = n.pick(n.some(), n.some(T.INT64))
    axis = axis_of(n, x)
    s = [n.number(1, d) for d in n.shape(x)]
    return n.op("GatherElements", [x, indices(n, n.shape(x)[axis], s)], axis=axis)


def gather_nd(n):
    x = n.some()
    s = n.shape(x)
    depth, batch = n.number(1, len(s)), 0
    if len(s) > 1 and n.rng.random() < 0.3:
        batch, depth = 1, n.number(1, len(s) - 1)
    lead = [*s[:batch], n.number(1, 5)]
    rows = np.stack([n.rng.integers(-d, d, lead) for d in s[batch:batch + depth]], -1)
    return n.op("GatherND", [x, i64(n, rows)], batch_dims=batch)


def scatter(n):
    x = n.some()
    s = n.shape(x)
    how = n.pick("none", "add", "mul", "max", "min")
    if n.rng.random() < 0.5:
        axis = axis_of(n, x) % len(s)
        t = [n.number(1, d) for d in s]
        where = np.stack([n.rng.permutation(s[axis])[:t[axis]] for _ in
                          range(int(np.prod(t) // t[axis]))])
        where = np.moveaxis(where.reshape([*t[:axis], *t[axis + 1:], t[axis]]), -1, axis)
        return n.op("ScatterElements", [x, i64(n, where), n.floats(*t)], axis=axis, reduction=how)
    count = n.number(1, s[0])
    rows = n.rng.permutation(s[0])[:count].reshape(count, 1)
    return n.op("ScatterND", [x, i64(n, rows), n.floats(count, *s[1:])], reduction=how)


def cum_sum(n):
    x = n.some()
    return n.op("CumSum", [x, n.const(np.int64(axis_of(n, x)))], exclusive=n.pick(0, 1),
                reverse=n.pick(0, 1))


def arg(n):
    x = n.some()
    y = n.op(n.pick("ArgMax", "ArgMin"), [x], axis=axis_of(n, x), keepdims=n.pick(0, 1),
             select_last_index=n.pick(0, 1))
    return y and (n.op("Cast", [y], to=T.FLOAT) if n.pick(0, 1) else y)


def one_hot(n):
    x = indices(n, 7, [n.number(1, 5) for _ in range(n.number(1, 3))])
    x = n.op("Add", [n.input(T.INT64, shape=list(n.shape(x))), i64(n, [1])])
    return n.op("OneHot", [x, i64(n, [n.number(2, 9)]), n.floats(2)], axis=n.pick(-1, 0))


def trilu(n):
    x = n.some(rank=(2, 3, 4))
    return n.op("Trilu", [x, n.const(np.int64(n.number(-3, 3)))], upper=n.pick(0, 1))


def more_norms(n):
    kind = n.number(0, 3)
    if kind == 0:
        x = n.some()
        return n.op("LpNormalization", [n.op("Add", [x, n.floats(1)])], p=n.pick(1, 2),
                    axis=axis_of(n, x))
    if kind == 1:
        return n.op("LRN", [n.some(rank=4)], size=n.pick(1, 3, 5), alpha=0.01, bias=1.5)
    if kind == 2:
        x = n.some(rank=4)
        return n.op("MeanVarianceNormalization", [x], axes=n.pick([0, 2, 3], [1, 2, 3], [2, 3]))
    return n.op("LogSoftmax", [n.some()], axis=-1)


def grid_sample(n):
    x = n.some(rank=4)
    grid = n.floats(n.shape(x)[0], n.number(1, 7), n.number(1, 7), 2)
    return n.op("GridSample", [x, grid], mode=n.pick("linear", "nearest", "cubic"),
                padding_mode=n.pick("zeros", "border", "reflection"), align_corners=n.pick(0, 1))


def rotary(n):
    batch, heads, length, size = n.pick(1, 2), n.number(1, 4), n.number(1, 9), 2 * n.number(1, 9)
    part = 2 * n.number(1, size // 2) if n.rng.random() < 0.4 else 0
    half = (part or size) // 2
    x = n.input(shape=[batch, heads, length, size])
    place = n.const(n.rng.integers(0, 16, (batch, length)).astype(np.int64))
    return n.op("RotaryEmbedding", [x, n.floats(16, half), n.floats(16, half), place],
                interleaved=n.pick(0, 1), rotary_embedding_dim=part)


def einsum(n):
    rule = n.pick("bij,bjk->bik", "bhid,bhjd->bhij", "ij,jk->ki", "bij,bij->bi", "bij->bji",
                  "ij,kj->ik", "bhij,bjhd->bihd", "ii->i", "abc,cde->abde")
    size = {c: n.number(1, 6) for c in "abcdefhijk"}
    terms = rule.split("->")[0].split(",")
    return n.op("Einsum", [n.input(shape=[size[c] for c in t]) for t in terms], equation=rule)


def cache(n):
    heads, group, size, v_size = n.pick(2, 4), n.pick(1, 2), n.number(1, 20), n.number(1, 20)
    batch, n_q, past, new = n.pick(1, 2), n.number(1, 5), n.number(1, 40), n.number(1, 5)
    kv = heads // group
    if n.rng.random() < 0.5:
        q, k, v = (n.input(shape=s) for s in ([batch, n_q, heads * size], [batch, new, kv * size],
                                              [batch, new, kv * v_size]))
        more = dict(q_num_heads=heads, kv_num_heads=kv)
    else:
        q, k, v = (n.input(shape=s) for s in ([batch, heads, n_q, size], [batch, kv, new, size],
                                              [batch, kv, new, v_size]))
        more = {}
    pk = n.input(shape=[batch, kv, past, size])
    pv = n.input(shape=[batch, kv, past, v_size])
    mask = n.pick("", n.floats(n_q, past + new),
                  n.const(np.concatenate([np.ones((n_q, 1), bool),
                                          n.rng.random((n_q, past + new - 1)) < 0.7], 1)))
    out = n.op("Attention", [q, k, v, mask, pk, pv], 3, is_causal=n.pick(0, 1), **more)
    return out and out[0]


def byte_values(n, dtype, shape):
    low, high = (0, 256) if dtype == T.UINT8 else (-128, 128)
    return n.const(n.rng.integers(low, high, shape).astype(base.NUMPY[dtype]))


def integer_product(n):
    x = n.some(rank=(2, 3))
    q = n.op("DynamicQuantizeLinear", [x], 3)
    if not q:
        return None
    w = byte_values(n, n.pick(T.INT8, T.UINT8), (n.shape(x)[-1], n.number(1, 40)))
    y = n.op("MatMulInteger", [q[0], w, q[2]])
    y = y and n.op("Cast", [y], to=T.FLOAT)
    return y and n.op("Mul", [n.op("Mul", [y, q[1]]), n.const(np.float32(0.01))])


def integer_conv(n):
    x = n.op("DynamicQuantizeLinear", [n.some(rank=4)], 3)
    if not x:
        return None
    channels = n.shape(x[0])[1]
    w = byte_values(n, n.pick(T.INT8, T.UINT8), (n.number(1, 9), channels, 1, n.pick(1, 3)))
    y = n.op("ConvInteger", [x[0], w, x[2]], pads=[0, 1, 0, 1])
    return y and n.op("Mul", [n.op("Cast", [y], to=T.FLOAT), x[1]])


def q_linear(n):
    dtype = n.pick(T.INT8, T.UINT8)
    x = n.some(rank=n.pick(4, (2, 3)))
    a, w, y = base.around(n, dtype), base.around(n, n.pick(T.INT8, dtype)), base.around(n, dtype)
    q = n.op("QuantizeLinear", [x, *a])
    if not q:
        return None
    w_type = n.types[w[1]][0]
    if len(n.shape(x)) == 4:
        f = byte_values(n, w_type, (n.number(1, 12), n.shape(x)[1], n.pick(1, 3), n.pick(1, 3)))
        bias = [n.const(n.rng.integers(-900, 900, n.shape(f)[0]).astype(np.int32))]
        q = n.op("QLinearConv", [q, *a, f, *w, *y, *(bias if n.pick(0, 1) else [])],
                 pads=[1, 1, 1, 1], strides=n.pick([1, 1], [2, 1]))
    else:
        b = byte_values(n, w_type, (n.shape(x)[-1], n.number(1, 30)))
        q = n.op("QLinearMatMul", [q, *a, b, *w, *y])
    return q and n.op("DequantizeLinear", [q, *y])


def block_weights(n):
    block, blocks = n.pick(8, 16, 32), n.number(1, 3)
    x = n.input(shape=[n.pick(1, 1, 3, 9), block * blocks])
    columns = n.number(1, 24)
    w = n.const(n.rng.integers(-8, 8, (block * blocks, columns)).astype(np.int8))
    s = n.const((n.rng.random((blocks, columns)) * 0.02 + 0.001).astype(np.float32))
    return n.op("MatMul", [x, n.op("DequantizeLinear", [w, s], axis=0, block_size=block)])


def pairs(n):
    x = n.some()
    kind = n.number(0, 6)
    if kind == 0:
        return n.op("Pow", [n.op("Abs", [x]), n.const(np.float32(n.pick(0.5, 1.0, 2.0, 3.0)))])
    if kind == 1:
        return n.op("Mod", [x, n.const(np.float32(0.7))], fmod=1)
    if kind == 2:
        i = n.some(n.pick(T.INT32, T.INT64))
        seven = n.const(base.NUMPY[n.types[i][0]](7))
        return n.op(n.pick("Mod", "Div", "Max", "Min"), [i, seven])
    if kind == 3:
        return n.op("Where", [n.op("IsNaN", [n.op("Sqrt", [x])]), x, n.floats(1)])
    if kind == 4:
        return n.op("Cast", [n.op("Not", [n.op("Less", [x, n.const(np.float32(0))])])], to=T.FLOAT)
    if kind == 5:
        return n.op("Mean", [x, base.compatible(n, x), base.compatible(n, x)])
    return n.op(n.pick("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
                [n.some(T.INT32), n.const(np.int32(13))])


def windows(n):
    kind = n.number(0, 3)
    x = n.some(rank=4)
    if kind == 0:
        out = n.op("MaxPool", [x], 2, kernel_shape=[2, n.pick(1, 2)], strides=[n.pick(1, 2), 1])
        return out and out[n.number(0, 1)]
    if kind == 1:
        return n.op("LpPool", [x], kernel_shape=[2, 2], p=n.pick(1, 2, 3), pads=[0, 1, 1, 0])
    if kind == 2:
        return n.op("Hardmax", [x], axis=axis_of(n, x))
    boxes = n.const((n.rng.random((3, 4)) * 4).cumsum(1).astype(np.float32))
    return n.op("RoiAlign", [x, boxes, i64(n, [0, 0, n.shape(x)[0] - 1])], output_height=2,
                output_width=3, mode=n.pick("avg", "max"), spatial_scale=0.5)


def deform(n):
    x = n.some(rank=4)
    batch, channels, height, width = n.shape(x)
    if height < 3 or width < 3:
        return None
    offset = n.floats(batch, 2 * 4, height - 1, width - 1)
    mask = [n.floats(n.number(1, 4)), n.floats(batch, 4, height - 1, width - 1)]
    w = n.floats(n.shape(mask[0])[0], channels, 2, 2)
    return n.op("DeformConv", [x, w, offset, *(mask if n.pick(0, 1) else [])],
                kernel_shape=[2, 2])


def chain(n):
    """What is fused: a product or convolution, what is done with each element, a residual."""
    if n.pick(0, 1):
        x = n.some(rank=(2, 3))
        y = n.op("MatMul", [x, n.floats(n.shape(x)[-1], n.number(1, 40))])
        y = y and n.op("Add", [y, n.floats(n.shape(y)[-1])])
    else:
        x = n.some(rank=4)
        f = n.number(1, 20)
        y = n.op("Conv", [x, n.floats(f, n.shape(x)[1], 3, 3)], pads=[1, 1, 1, 1])
        y = y and n.op("BatchNormalization", [y, n.floats(f), n.floats(f), n.floats(f),
                                              n.const((n.rng.random(f) + 0.5).astype(np.float32))])
    for _ in range(n.number(0, 3)):
        if not y:
            return None
        kind = n.number(0, 5)
        if kind == 0:
            y = n.op("Mul", [y, n.op("Sigmoid", [y])])
        elif kind == 1:
            y = n.op("Relu", [y])
        elif kind == 2:
            y = n.op("Add", [y, n.input(shape=list(n.shape(y)))])
        elif kind == 3:
            y = n.op("LayerNormalization", [y, n.floats(n.shape(y)[-1])], axis=-1)
        elif kind == 4:
            e = n.op("Erf", [n.op("Div", [y, n.const(np.float32(1.4142135))])])
            y = n.op("Mul", [n.op("Mul", [y, n.op("Add", [e, n.const(np.float32(1))])]),
                             n.const(np.float32(0.5))])
        else:
            y = n.op("Mul", [y, n.floats(*[d if n.pick(0, 1) else 1 for d in n.shape(y)])])
    return y


def scores(n):
    """Attention in single nodes."""
    heads, length, size = n.number(1, 4), n.number(1, 33), n.pick(1, 4, 7, 16, 32)
    q, k, v = (n.input(shape=[1, heads, length, size]) for _ in range(3))
    s = n.op("MatMul", [q, n.op("Transpose", [k], perm=[0, 1, 3, 2])])
    s = n.op(n.pick("Div", "Mul"), [s, n.const(np.float32(n.pick(2.0, 0.5)))])
    if n.pick(0, 1):
        s = n.op("Add", [s, n.floats(1, 1, n.pick(1, length), length)])
    y = n.op("MatMul", [n.op("Softmax", [s], axis=-1), v])
    y = n.op("Transpose", [y], perm=[0, 2, 1, 3])
    return n.op("Reshape", [y, i64(n, [1, length, heads * size])])


def body(n, nodes, outputs):
    return h.make_graph(nodes, "body", [], [onnx.ValueInfoProto(name=o) for o in outputs])


def branch(n):
    x = n.some()
    cond = n.op("ReduceMax", [n.op("Greater", [x, n.const(np.float32(0.9))])], keepdims=0)
    if not cond:
        cond = n.const(np.array(bool(n.pick(0, 1))))
    c = n.floats(1)
    out = n.name("v")
    then, other = (body(n, [h.make_node(op, [x, c], [out + op]),
                            h.make_node("Tanh", [out + op], [out + op + "t"])], [out + op + "t"])
                   for op in ("Add", "Mul"))
    n.nodes.append(h.make_node("If", [cond], [out], out, then_branch=then, else_branch=other))
    n.types[out] = (T.FLOAT, n.shape(x))
    n.used.update((x, cond))
    return out


def loop(n):
    x = n.some()
    out, c = n.name("v"), n.floats(1)
    s = n.shape(x)
    g = h.make_graph(
        [h.make_node("Add", [out + "a", c], [out + "s"]),
         h.make_node("Tanh", [out + "s"], [out + "t"]),
         h.make_node("Identity", [out + "c"], [out + "k"])], "body",
        [h.make_tensor_value_info(out + "i", T.INT64, []),
         h.make_tensor_value_info(out + "c", T.BOOL, []),
         h.make_tensor_value_info(out + "a", T.FLOAT, s)],
        [h.make_tensor_value_info(out + "k", T.BOOL, []),
         h.make_tensor_value_info(out + "t", T.FLOAT, s)])
    n.nodes.append(h.make_node("Loop", [n.const(np.int64(n.number(0, 4))),
                                        n.const(np.array(True)), x], [out], out, body=g))
    n.types[out] = (T.FLOAT, s)
    n.used.add(x)
    return out


def turns(n):
    """A Loop whose turns have products, take what is outside, and give a row each; or an If."""
    x = n.some(rank=2)
    rows, size = n.shape(x)
    out, w = n.name("v"), n.floats(size, size)
    scale = n.op("ReduceMean", [n.op("Abs", [n.input(shape=[rows, size])])], keepdims=0)
    if not scale:
        return None
    nodes = [h.make_node("MatMul", [out + "a", w], [out + "m"]),
             h.make_node("Mul", [out + "m", scale], [out + "n"]),
             h.make_node("Softmax", [out + "n"], [out + "s"], axis=-1)]
    if n.pick(0, 1):
        then, other = (body(n, [h.make_node(op, [out + "s"], [out + op])], [out + op])
                       for op in ("Tanh", "Neg"))
        nodes += [h.make_node("ReduceSum", [out + "n"], [out + "r"], keepdims=0),
                  h.make_node("Greater", [out + "r", n.const(np.float32(0))], [out + "g"]),
                  h.make_node("If", [out + "g"], [out + "f"], then_branch=then, else_branch=other),
                  h.make_node("Add", [out + "f", out + "a"], [out + "t"])]
    else:
        nodes += [h.make_node("Add", [out + "s", out + "a"], [out + "t"])]
    nodes += [h.make_node("ReduceMax", [out + "t", i64(n, [1])], [out + "y"], keepdims=0),
              h.make_node("Identity", [out + "c"], [out + "k"])]
    g = h.make_graph(
        nodes, "body",
        [h.make_tensor_value_info(out + "i", T.INT64, []),
         h.make_tensor_value_info(out + "c", T.BOOL, []),
         h.make_tensor_value_info(out + "a", T.FLOAT, [rows, size])],
        [h.make_tensor_value_info(out + "k", T.BOOL, []),
         h.make_tensor_value_info(out + "t", T.FLOAT, [rows, size]),
         h.make_tensor_value_info(out + "y", T.FLOAT, [rows])])
    count = n.number(1, 5)
    n.nodes.append(h.make_node("Loop", [n.const(np.int64(count)), "", x], [out, out + "rows"], out,
                               body=g))
    n.types[out], n.types[out + "rows"] = (T.FLOAT, (rows, size)), (T.FLOAT, (count, rows))
    n.used.update((x, scale))
    return out


def scan(n):
    x = n.some(rank=3)
    steps, rows, size = n.shape(x)
    out, w = n.name("v"), n.floats(size, size)
    g = h.make_graph(
        [h.make_node("MatMul", [out + "h", w], [out + "m"]),
         h.make_node("Add", [out + "m", out + "x"], [out + "s"]),
         h.make_node("Tanh", [out + "s"], [out + "t"]),
         h.make_node("Sigmoid", [out + "t"], [out + "y"])], "body",
        [h.make_tensor_value_info(out + "h", T.FLOAT, [rows, size]),
         h.make_tensor_value_info(out + "x", T.FLOAT, [rows, size])],
        [h.make_tensor_value_info(out + "t", T.FLOAT, [rows, size]),
         h.make_tensor_value_info(out + "y", T.FLOAT, [rows, size])])
    n.nodes.append(h.make_node("Scan", [n.floats(rows, size), x], [out, out + "all"], out, body=g,
                               num_scan_inputs=1, scan_input_directions=[n.pick(0, 1)],
                               scan_output_directions=[n.pick(0, 1)]))
    n.types[out], n.types[out + "all"] = (T.FLOAT, (rows, size)), (T.FLOAT, (steps, rows, size))
    n.used.add(x)
    return out + "all"


def chosen(n):
    """Sizes that only the run can tell."""
    x = n.some(rank=(1, 2))
    at = n.op("NonZero", [n.op("Greater", [x, n.const(np.float32(0.3))])])
    out = n.op("GatherND", [x, n.op("Transpose", [at], perm=[1, 0])]) if at else None
    return out


MORE = [turns, turns, scan, chosen, top_k, gather_elements, gather_nd, scatter, scatter, cum_sum,
        arg, one_hot, trilu, more_norms, more_norms, grid_sample, rotary, einsum, cache,
        integer_product, integer_conv, q_linear, q_linear, block_weights, pairs, pairs, windows,
        windows, deform, chain, chain, chain, scores, branch, loop]


def in_halves(m):
    """The same model with f16 in place of f32; None where an operator knows no halves."""
    def convert(graph):
        for t in graph.initializer:
            if t.data_type == T.FLOAT:
                a = onnx.numpy_helper.to_array(t).astype(np.float16)
                t.CopyFrom(onnx.numpy_helper.from_array(a, t.name))
        for v in [*graph.input, *graph.output, *graph.value_info]:
            if v.type.tensor_type.elem_type == T.FLOAT:
                v.type.tensor_type.elem_type = T.FLOAT16
        for node in graph.node:
            if node.op_type in ("DynamicQuantizeLinear", "MatMulInteger", "ConvInteger"):
                raise ValueError(node.op_type)
            for a in node.attribute:
                if a.name == "to" and a.i == T.FLOAT:
                    a.i = T.FLOAT16
                if a.type == onnx.AttributeProto.GRAPH:
                    convert(a.g)
    try:
        convert(m.graph)
        onnx.checker.check_model(m, full_check=True)
    except (ValueError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return None
    return m


def with_open_dims(m):
    """The same model, whose inputs' dims have names; and what sizes they have in this one."""
    sizes = []
    for v in m.graph.input:
        for k, d in enumerate(v.type.tensor_type.shape.dim):
            sizes.append(f"--dim {v.name}_{k}={d.dim_value}")
            d.dim_param = f"{v.name}_{k}"
    for v in m.graph.output:
        v.type.tensor_type.ClearField("shape")
    return m, " ".join(sizes)


def kind_of(seed):
    return {4: "halves", 5: "open", 6: "empty"}.get(seed % 7, "")


def model_of(seed):
    """The model and what compare is told; None: there is none."""
    n = make(seed)
    m, args = n.model(), ""
    if not n.nodes or not m.graph.output:
        return None, ""
    onnx.checker.check_model(m)
    if kind_of(seed) == "halves":
        return in_halves(m), "--rtol 0.02 --atol 0.02"
    return with_open_dims(m) if kind_of(seed) == "open" else (m, args)


def make(seed):
    n = base.Net(seed + 10 ** 6)
    base.MOST = 6000
    if kind_of(seed) == "empty":
        n.has_empty = True
        shape = [n.number(1, 6) for _ in range(n.number(1, 4))]
        shape[n.number(0, len(shape) - 1)] = 0
        n.input(shape=shape)
    if seed % 4 == 3:
        base.MOST = 60000
        n.input(shape=[1, n.number(3, 40), n.number(8, 34), n.number(8, 34)])
        n.input(shape=[n.number(1, 130), n.number(16, 200)])
    if seed % 5 == 4:
        dtype = n.pick(T.INT8, T.UINT8)
        for _ in range(n.number(1, 7)):
            base.attempt(n, base.QUANT, dtype)
    for _ in range(n.number(2, 9)):
        base.attempt(n, base.FLOATS + MORE)
    return n


def main():
    folder, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    seed = first
    while count:
        m, args = model_of(seed)
        if m:
            onnx.save(m, os.path.join(folder, f"g{seed}.onnx"))
            pathlib.Path(folder, f"g{seed}.args").write_text(args)
            count -= 1
        seed += 1


if __name__ == "__main__":
    main()
