"""Operators with a window: convolutions, pools; and resizing."""

from model import KINDS, activation, family, sums_out, weights_of


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
        padding=padding,
        strideH=strides[0],
        strideW=strides[1],
        dilationHFactor=dilations[0],
        dilationWFactor=dilations[1],
        depthMultiplier=times,
        fusedActivationFunction=activation(m),
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


@family
def resize(m):
    name, dtype = m.pick("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), m.pick("f4", "i1", "u1")
    b, h, w, c = m.dims(4)
    size = m.dims(2, 1, 13)
    x, q = m.any([b, h, w, c], dtype)
    way = m.pick({}, {"alignCorners": True}, {"halfPixelCenters": True})
    kind = "ResizeBilinearOptions" if name[7] == "B" else "ResizeNearestNeighborOptions"
    m.op(name, [x, m.const(size, "i4")], [m.out([b, *size, c], dtype, **q)], kind, **way)
