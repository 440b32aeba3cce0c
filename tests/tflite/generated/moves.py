"""Operators that move, pick or scatter elements."""

import numpy as np

from model import QUANTISED, family

MOVES = {}


def move(*names):
    """Registers what makes a node of these operators."""
    return lambda f: MOVES.update(dict.fromkeys(names, f)) or f


@family
def moves(m):
    name = m.pick(*MOVES)
    dtype, rank = m.pick("f4", "i1", "u1", "i4"), m.dims(1, 1, 4)[0]
    MOVES[name](m, name, dtype, rank, m.dims(rank))


@move("TRANSPOSE")
def move_transpose(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    perm = m.r.permutation(rank)
    m.op(name, [x, m.const(perm, "i4")], [m.out([shape[k] for k in perm], dtype, **q)])


@move("RESHAPE")
def move_reshape(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    new = m.pick([-1], [shape[0], -1], [int(np.prod(shape))], [1, *shape, 1], list(reversed(shape)))
    out = np.zeros(shape).reshape(new).shape
    y = m.out(out, dtype, **q)
    if m.pick(0, 1):
        m.op(name, [x], [y], newShape=new)
    else:
        m.op(name, [x, m.const(new, "i4")], [y], newShape=list(out))


@move("SLICE")
def move_slice(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    begin = [int(m.r.randint(0, n)) for n in shape]
    size = [int(m.r.randint(1, n - b + 1)) for n, b in zip(shape, begin)]
    said = [-1 if m.pick(0, 1) and b + s == n else s for b, s, n in zip(begin, size, shape)]
    i = m.pick("i4", "i8")
    m.op(name, [x, m.const(begin, i), m.const(said, i)], [m.out(size, dtype, **q)])


@move("STRIDED_SLICE")
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
        beginMask=bm,
        endMask=em,
        shrinkAxisMask=shrink,
    )


def pads_of(m, shape, most=None):
    top = [3 if most is None else min(3, n - most) for n in shape]
    return np.asarray([[m.r.randint(0, t + 1), m.r.randint(0, t + 1)] for t in top])


@move("PAD")
def move_pad(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    p = pads_of(m, shape)
    m.op(
        name, [x, m.const(p, m.pick("i4", "i8"))], [m.out(np.asarray(shape) + p.sum(1), dtype, **q)]
    )


@move("PADV2")
def move_padv2(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    p = pads_of(m, shape)
    fill = m.const(m.numbers([1] if m.pick(0, 1) else [], dtype), **q)
    m.op(name, [x, m.const(p, "i4"), fill], [m.out(np.asarray(shape) + p.sum(1), dtype, **q)])


@move("MIRROR_PAD")
def move_mirror_pad(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    mode = m.pick(0, 1)
    p = pads_of(m, shape, 1 - mode)
    m.op(name, [x, m.const(p, "i4")], [m.out(np.asarray(shape) + p.sum(1), dtype, **q)], mode=mode)


@move("TILE")
def move_tile(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    n = m.dims(rank, 1, 3)
    m.op(name, [x, m.const(n, m.pick("i4", "i8"))], [m.out(np.asarray(shape) * n, dtype, **q)])


@move("PACK")
def move_pack(m, name, dtype, rank, shape):
    n, q = m.pick(1, 2, 4), m.quant(dtype) if dtype in QUANTISED else {}
    ins = [m.feed(m.numbers(shape, dtype), **q) for _ in range(n)]
    axis = m.r.randint(rank + 1)
    y = m.out([*shape[:axis], n, *shape[axis:]], dtype, **q)
    m.op(name, ins, [y], valuesCount=n, axis=int(axis - rank - 1 if m.pick(0, 1) else axis))


@move("UNPACK")
def move_unpack(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    axis = m.r.randint(rank)
    ys = [m.out(shape[:axis] + shape[axis + 1 :], dtype, **q) for _ in range(shape[axis])]
    m.op(name, [x], ys, num=shape[axis], axis=int(axis - rank if m.pick(0, 1) else axis))


@move("SPLIT")
def move_split(m, name, dtype, rank, shape):
    axis, n = m.r.randint(rank), m.pick(1, 2, 3)
    whole = list(shape)
    whole[axis] *= n
    x, q = m.any(whole, dtype)
    ys = [m.out(shape, dtype, **q) for _ in range(n)]
    m.op(name, [m.const(axis - rank if m.pick(0, 1) else axis, "i4"), x], ys, numSplits=n)


@move("SPLIT_V")
def move_split_v(m, name, dtype, rank, shape):
    axis, sizes = m.r.randint(rank), m.dims(m.pick(1, 2, 3), 1, 4)
    whole = list(shape)
    whole[axis] = sum(sizes)
    x, q = m.any(whole, dtype)
    ys = [m.out([*shape[:axis], s, *shape[axis + 1 :]], dtype, **q) for s in sizes]
    said = list(sizes)
    if m.pick(0, 1):
        said[m.r.randint(len(said))] = -1
    m.op(name, [x, m.const(said, "i4"), m.const(axis, "i4")], ys, numSplits=len(sizes))


@move("REVERSE_V2")
def move_reverse_v2(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    m.op(name, [x, m.const([m.r.randint(rank)], "i4")], [m.out(shape, dtype, **q)])


@move("EXPAND_DIMS")
def move_expand_dims(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    axis = m.r.randint(rank + 1)
    y = m.out([*shape[:axis], 1, *shape[axis:]], dtype, **q)
    m.op(name, [x, m.const(axis - rank - 1 if m.pick(0, 1) else axis, "i4")], [y])


@move("SQUEEZE")
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
        squeezeDims=[a - rank if m.pick(0, 1) else a for a in axes],
    )


@move("GATHER")
def move_gather(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    axis = m.r.randint(rank)
    batch = m.r.randint(0, axis + 1) if m.pick(0, 1) else 0
    index = m.r.randint(0, shape[axis], [*shape[:batch], *m.dims(m.dims(1, 0, 2)[0])]).astype(
        m.pick("i4", "i8")
    )
    out = [*shape[:axis], *index.shape[batch:], *shape[axis + 1 :]]
    i = m.feed(index) if m.pick(0, 1) else m.const(index)
    m.op(name, [x, i], [m.out(out, dtype, **q)], axis=int(axis), batchDims=int(batch))


@move("GATHER_ND")
def move_gather_nd(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    depth = m.r.randint(1, rank + 1)
    lead = m.dims(m.pick(1, 2), 1, 3)
    index = np.stack([m.r.randint(0, n, lead) for n in shape[:depth]], -1)
    m.op(name, [x, m.const(index, "i4")], [m.out([*lead, *shape[depth:]], dtype, **q)])


@move("BROADCAST_TO")
def move_broadcast_to(m, name, dtype, rank, shape):
    small = [m.pick(1, n) for n in shape][m.r.randint(rank) :]
    x, q = m.any(small, dtype)
    m.op(name, [x, m.const(shape, "i4")], [m.out(shape, dtype, **q)])


@move("SELECT_V2")
def move_select_v2(m, name, dtype, rank, shape):
    q = m.quant(dtype) if dtype in QUANTISED else {}
    c = m.feed(m.numbers([m.pick(1, n) for n in shape], "b1"))
    ins = [m.feed(m.numbers([m.pick(1, n) for n in shape], dtype), **q) for _ in range(2)]
    shapes = [m.g.tensors[t].shape for t in (c, *ins)]
    m.op(name, [c, *ins], [m.out(np.broadcast_shapes(*map(tuple, shapes)), dtype, **q)])


@move("TOPK_V2")
def move_topk_v2(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    k = int(m.r.randint(1, shape[-1] + 1))
    ys = [m.out([*shape[:-1], k], dtype, **q), m.out([*shape[:-1], k], "i4")]
    m.op(name, [x, m.const(k, "i4")], ys)


@move("ARG_MAX", "ARG_MIN")
def move_arg_max(m, name, dtype, rank, shape):
    x, _ = m.any(shape, dtype)
    axis, i = m.r.randint(rank), m.pick("i4", "i8")
    y = m.out(shape[:axis] + shape[axis + 1 :], i)
    m.op(
        name,
        [x, m.const(axis - rank if m.pick(0, 1) else axis, "i4")],
        [y],
        outputType=2 if i == "i4" else 4,
    )


@move("ONE_HOT")
def move_one_hot(m, name, dtype, rank, shape):
    depth, axis = m.dims(1)[0], m.r.randint(-1, rank + 1)
    x = m.feed(m.r.randint(-1, depth + 1, shape).astype("i4"))
    dtype = m.pick("f4", "i4", "i8", "b1")
    at = rank if axis < 0 else axis
    y = m.out([*shape[:at], depth, *shape[at:]], dtype)
    ins = [x, m.const(depth, "i4"), m.const(m.numbers([], dtype)), m.const(m.numbers([], dtype))]
    m.op(name, ins, [y], axis=int(axis))


@move("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def move_space_to_depth(m, name, dtype, rank, shape):
    b, h, w, c = m.dims(4, 1, 4)
    k = m.pick(1, 2, 3)
    big, small = [b, h * k, w * k, c], [b, h, w, c * k * k]
    x, q = m.any(big if name[0] == "S" else small, dtype)
    m.op(name, [x], [m.out(small if name[0] == "S" else big, dtype, **q)], blockSize=k)


@move("SPACE_TO_BATCH_ND")
def move_space_to_batch_nd(m, name, dtype, rank, shape):
    n = m.pick(1, 2)
    block, out, b, c = m.dims(n, 1, 3), m.dims(n, 1, 4), m.pick(1, 2), m.dims(1)[0]
    p = np.asarray([[m.r.randint(0, 2), m.r.randint(0, 2)] for _ in block])
    inner = [o * k - int(q.sum()) for o, k, q in zip(out, block, p)]
    if min(inner) < 1:
        return move_space_to_batch_nd(m, name, dtype, rank, shape)
    x, q = m.any([b, *inner, c], dtype)
    y = m.out([b * int(np.prod(block)), *out, c], dtype, **q)
    m.op(name, [x, m.const(block, "i4"), m.const(p, "i4")], [y])


@move("BATCH_TO_SPACE_ND")
def move_batch_to_space_nd(m, name, dtype, rank, shape):
    n = m.pick(1, 2)
    block, inner, b, c = m.dims(n, 1, 3), m.dims(n, 1, 4), m.pick(1, 2), m.dims(1)[0]
    p = np.asarray([[m.r.randint(0, 2), m.r.randint(0, 2)] for _ in block])
    out = [o * k - int(q.sum()) for o, k, q in zip(inner, block, p)]
    if min(out) < 1:
        return move_batch_to_space_nd(m, name, dtype, rank, shape)
    x, q = m.any([b * int(np.prod(block)), *inner, c], dtype)
    m.op(name, [x, m.const(block, "i4"), m.const(p, "i4")], [m.out([b, *out, c], dtype, **q)])


@move("CUMSUM")
def move_cumsum(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4", "i8")
    x, q = m.any(shape, dtype)
    axis = m.r.randint(-rank, rank)
    m.op(
        name,
        [x, m.const(axis, "i4")],
        [m.out(shape, dtype)],
        exclusive=bool(m.pick(0, 1)),
        reverse=bool(m.pick(0, 1)),
    )


@move("SHAPE")
def move_shape(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    i = m.pick("i4", "i8")
    m.op(name, [x], [m.out([rank], i)], outType=2 if i == "i4" else 4)


@move("RANK")
def move_rank(m, name, dtype, rank, shape):
    x, q = m.any(shape, dtype)
    m.op(name, [x], [m.out([], "i4")])


@move("ZEROS_LIKE")
def move_zeros_like(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4", "i8")
    x, q = m.any(shape, dtype)
    m.op(name, [x], [m.out(shape, dtype)])


@move("FILL")
def move_fill(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4", "i8", "b1")
    m.op(name, [m.const(shape, "i4"), m.feed(m.numbers([], dtype))], [m.out(shape, dtype)])


@move("REVERSE_SEQUENCE")
def move_reverse_sequence(m, name, dtype, rank, shape):
    shape = m.dims(m.pick(2, 3, 4))
    seq, batch = m.r.permutation(len(shape))[:2]
    x, q = m.any(shape, dtype)
    n = m.r.randint(1, shape[seq] + 1, shape[batch])
    m.op(
        name,
        [x, m.const(n, "i4")],
        [m.out(shape, dtype, **q)],
        seqDim=int(seq),
        batchDim=int(batch),
    )


@move("SCATTER_ND")
def move_scatter_nd(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4")
    depth, n = m.r.randint(1, rank + 1), m.dims(1, 1, 5)[0]
    index = np.stack([m.r.randint(0, k, n) for k in shape[:depth]], -1)
    x = m.feed(m.numbers([n, *shape[depth:]], dtype))
    m.op(name, [m.const(index, "i4"), x, m.const(shape, "i4")], [m.out(shape, dtype)])


@move("WHERE")
def move_where(m, name, dtype, rank, shape):
    x = m.feed(m.numbers(shape, "b1"))
    m.op(name, [x], [m.out([1, rank], "i8", signature=[-1, rank])])


@move("CAST")
def move_cast(m, name, dtype, rank, shape):
    a, b = m.pick("f4", "i4", "i8", "b1", "u1"), m.pick("f4", "i4", "i8", "b1")
    x = m.feed(m.numbers(shape, a, lo=0, hi=9) if a == "f4" else m.numbers(shape, a))
    m.op(name, [x], [m.out(shape, b)])


@move("MATRIX_DIAG")
def move_matrix_diag(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4")
    x = m.feed(m.numbers(shape, dtype))
    m.op(name, [x], [m.out([*shape, shape[-1]], dtype)])


@move("DYNAMIC_UPDATE_SLICE")
def move_dynamic_update_slice(m, name, dtype, rank, shape):
    dtype = m.pick("f4", "i4")
    x, u = m.feed(m.numbers(shape, dtype)), m.feed(
        m.numbers([int(m.r.randint(1, n + 1)) for n in shape], dtype)
    )
    start = m.feed(m.r.randint(-1, 7, rank).astype("i4"))
    m.op(name, [x, u, start], [m.out(shape, dtype)])


@family
def bits(m):
    name = m.pick("RIGHT_SHIFT", "BITCAST", "STABLEHLO_SHIFT_LEFT", "STABLEHLO_PAD")
    shape = m.dims(m.dims(1, 1, 4)[0])
    if name == "STABLEHLO_PAD":
        low = [m.pick(-1, 0, 2) if n > 2 else m.pick(0, 1) for n in shape]
        high = [m.pick(-1, 0, 3) if n > 2 else m.pick(0, 1) for n in shape]
        dtype = m.pick("f4", "i4")
        x, fill = m.feed(m.numbers(shape, dtype)), m.feed(m.numbers([], dtype))
        y = m.out(np.asarray(shape) + low + high, dtype)
        return m.op(
            name,
            [x, fill],
            [y],
            edgePaddingLow=low,
            edgePaddingHigh=high,
            interiorPadding=[0] * len(shape),
        )
    if name == "BITCAST":
        a, b = m.pick(("f4", "i4"), ("i4", "f4"), ("f4", "u4"), ("i2", "i2"))
        return m.op(name, [m.feed(m.numbers(shape, a))], [m.out(shape, b)])
    dtype = m.pick("i1", "i2", "i4") if name[0] == "R" else "i4"
    ends = np.iinfo(dtype)
    x = m.feed(m.r.randint(ends.min, int(ends.max) + 1, shape).astype(dtype))
    y = m.feed(m.r.randint(0, ends.bits, shape).astype(dtype))
    m.op(name, [x, y], [m.out(shape, dtype)])
