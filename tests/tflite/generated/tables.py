"""Searches in tables, and sparse constants."""

import numpy as np

from model import broadcast, family


@family
def searches(m):
    name = m.pick(
        *(
            "BUCKETIZE SPARSE_TO_DENSE SEGMENT_SUM UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD "
            "UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN BROADCAST_ARGS NON_MAX_SUPPRESSION_V4 "
            "NON_MAX_SUPPRESSION_V5"
        ).split()
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


@family
def embeddings(m):
    """Rows of tables, of f32 and of codes, alone and added up."""
    n, rows, width = m.dims(3, 1, 6)
    if m.pick(0, 1):
        kind = m.pick("f4", "i1", "u1")
        scale = None if kind == "f4" else 0.03
        table = m.tensor([rows, width], kind, m.numbers([rows, width], kind), scale=scale)
        ids = m.feed(m.r.randint(0, rows, n).astype("i4"))
        m.op("EMBEDDING_LOOKUP", [ids, table], [m.out([n, width])])
        return
    rank = m.pick(2, 3)
    shape = m.dims(rank, 1, 4)
    places = sorted(tuple(m.r.randint(0, k) for k in shape) for _ in range(n))
    ins = [
        m.feed(m.r.randint(0, rows, n).astype("i4")),
        m.const(places, "i4"),
        m.const(shape, "i4"),
        m.feed(m.numbers([n], lo=0.1, hi=2)),
        m.const(m.numbers([rows, width]), "f4"),
    ]
    y = m.out([*shape[:-1], width])
    how = m.pick(0, 1, 2)
    m.op("EMBEDDING_LOOKUP_SPARSE", ins, [y], "EmbeddingLookupSparseOptions", combiner=how)


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
    m.op("DENSIFY", [w], [dense])
    y = m.feed(m.numbers(shape, dtype))
    m.op("MAXIMUM", [dense, y], [m.out(shape, dtype)], "MaximumMinimumOptions")
