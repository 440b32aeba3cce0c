"""Small networks with branches."""

import numpy as np

from model import QUANTISED, activation, family, weights_of
from windows import shape_of


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
        m.op("DEPTHWISE_CONV_2D", [x, w, bias], [y], depthMultiplier=co // ci, **fields)
    else:
        m.op("CONV_2D", [x, w, bias], [y], **fields)
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
    m.op("CONCATENATION", [t for t, _, _ in parts], [z], axis=m.pick(3, -1))
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
    m.op("PAD", [x, m.const(p, "i4")], [z])
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
    m.op("SPLIT_V", [x, m.const([a, c - a], "i4"), m.const(3, "i4")], outs, numSplits=2)
    live.append((outs[0], [*shape[:3], a], q))
    return outs[1], [*shape[:3], c - a], q


def net_squeeze_excite(m, kind, x, shape, q, live):
    r = {"i1": {"scale": 1 / 256, "zero": -128}, "u1": {"scale": 1 / 256, "zero": 0}}.get(kind, {})
    mean = value(m, [m.b, 1, 1, shape[3]], kind, q)
    m.op("MEAN", [x, m.const([1, 2], "i4")], [mean], "ReducerOptions", keepDims=True)
    gate = value(m, [m.b, 1, 1, shape[3]], kind, r)
    m.op("LOGISTIC", [mean], [gate])
    z = value(m, shape, kind, q)
    m.op("MUL", [x, gate], [z], fusedActivationFunction=0)
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
        m.op("TRANSPOSE", [x, m.const([0, 2, 1, 3], "i4")], [z])
        return z, out, q
    b = [int(m.r.randint(n)) for n in shape[1:3]]
    out = [m.b, shape[1] - b[0], shape[2] - b[1], shape[3]]
    z = value(m, out, kind, q)
    m.op(
        "STRIDED_SLICE",
        [x, m.const([0, *b, 0], "i4"), m.const([0, 0, 0, 0], "i4"), m.const([1, 1, 1, 1], "i4")],
        [z],
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
