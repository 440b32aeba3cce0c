"""Operators of StableHLO that LiteRT runs: windows of a tensor by indices, and windows that are
reduced."""

import numpy as np

from model import family

COMPUTATIONS = {
    "STABLEHLO_ADD": None,
    "STABLEHLO_MULTIPLY": None,
    "STABLEHLO_MAXIMUM": None,
    "STABLEHLO_MINIMUM": None,
}


def body(m, op, dtype):
    """A subgraph (a, b) -> a op b, or b; its number."""
    main = m.g
    m.begin()
    a, b = m.tensor([], dtype), m.tensor([], dtype)
    m.g.inputs, m.g.outputs = [a, b], [b]
    if op:
        y = m.tensor([], dtype)
        m.op(op, [a, b], [y])
        m.g.outputs = [y]
    m.g = main
    return len(m.model.subgraphs) - 1


def some(m, rank, most):
    """At most so many dims, ascending."""
    return sorted(m.r.permutation(rank)[: m.r.randint(0, most + 1)].tolist())


def windows(m):
    """A tensor's shape, dims that are dropped, mapped dims, sizes of windows; indices' dims."""
    shape = m.dims(m.r.randint(1, 5), 1, 5)
    rank = len(shape)
    mapped = m.r.permutation(rank)[: m.r.randint(1, rank + 1)].tolist()
    dropped = some(m, rank, rank)
    sizes = [1 if k in dropped else m.pick(n, m.r.randint(1, n + 1)) for k, n in enumerate(shape)]
    batch = m.dims(m.r.randint(0, 3), 1, 4)
    vector = int(m.r.randint(0, len(batch) + 1))
    starts = m.r.randint(-2, 6, batch[:vector] + [len(mapped)] + batch[vector:])
    return shape, dropped, mapped, [int(n) for n in sizes], batch, vector, starts


@family
def stablehlo_gather(m):
    shape, dropped, mapped, sizes, batch, vector, starts = windows(m)
    dtype = m.pick("f4", "i4", "f4")
    kept = [n for k, n in enumerate(sizes) if k not in dropped]
    rank = len(batch) + len(kept)
    offsets = sorted(m.r.permutation(rank)[: len(kept)].tolist())
    rest, inside = iter(batch), iter(kept)
    y = [next(inside) if k in offsets else next(rest) for k in range(rank)]
    i = m.feed(starts.astype(m.pick("i4", "i8")))
    m.op(
        "STABLEHLO_GATHER",
        [m.feed(m.numbers(shape, dtype)), i],
        [m.out(y, dtype)],
        offsetDims=offsets,
        collapsedSliceDims=dropped,
        startIndexMap=mapped,
        indexVectorDim=vector,
        sliceSizes=sizes,
    )


@family
def stablehlo_scatter(m):
    shape, dropped, mapped, sizes, batch, vector, starts = windows(m)
    dtype = m.pick("f4", "i4", "f4")
    kept = [n for k, n in enumerate(sizes) if k not in dropped]
    rank = len(batch) + len(kept)
    inside = sorted(m.r.permutation(rank)[: len(kept)].tolist())
    rest, window = iter(batch), iter(kept)
    updates = [next(window) if k in inside else next(rest) for k in range(rank)]
    op = m.pick(None, *COMPUTATIONS)
    m.op(
        "STABLEHLO_SCATTER",
        [
            m.feed(m.numbers(shape, dtype)),
            m.feed(starts.astype(m.pick("i4", "i8"))),
            m.feed(m.numbers(updates, dtype)),
        ],
        [m.out(shape, dtype)],
        updateWindowDims=inside,
        insertedWindowDims=dropped,
        scatterDimsToOperandDims=mapped,
        indexVectorDim=vector,
        updateComputationSubgraphIndex=body(m, op, dtype),
    )


def reduced(n, width, step, apart):
    span = (width - 1) * apart + 1
    return max(0, (n - span) // step + 1)


@family
def stablehlo_windows(m):
    name = m.pick("STABLEHLO_REDUCE_WINDOW", "REDUCE_WINDOW", "DILATE", "STABLEHLO_PAD")
    dtype = m.pick("f4", "i4", "f4", "i1", "i2", "u1")
    rank = m.r.randint(1, 5)
    shape = m.dims(rank, 1, 6)
    x, first = m.feed(m.numbers(shape, dtype)), m.const(m.numbers([], dtype))
    base = [int(m.pick(1, 1, 2, 3)) for _ in shape]
    low = [int(m.r.randint(-1 if name == "STABLEHLO_PAD" else 0, 3)) for _ in shape]
    high = [int(m.r.randint(-1 if name == "STABLEHLO_PAD" else 0, 3)) for _ in shape]
    spread = [(n - 1) * b + 1 for n, b in zip(shape, base)]
    if name == "DILATE":
        m.op(name, [x, m.const(base, "i4"), first], [m.out(spread, dtype)])
        return
    padded = [max(1, n + a + b) for n, a, b in zip(spread, low, high)]
    low = [p - n - b for p, n, b in zip(padded, spread, high)]
    if name == "STABLEHLO_PAD":
        more = {"edgePaddingLow": low, "edgePaddingHigh": high}
        between = [b - 1 for b in base]
        y = m.out(padded, dtype)
        m.op(name, [x, first], [y], interiorPadding=between, **more)
        return
    from_ = padded if name[0] == "S" else shape
    width = [int(m.r.randint(1, min(4, n) + 1)) for n in from_]
    apart = [int(m.pick(1, 1, 2)) if (w - 1) * 2 < n else 1 for w, n in zip(width, from_)]
    step = [int(m.r.randint(1, 4)) for _ in shape]
    y = m.out([reduced(*a) for a in zip(from_, width, step, apart)], dtype)
    if name[0] == "S":
        m.op(
            name,
            [x, first],
            [y],
            windowDimensions=width,
            windowStrides=step,
            baseDilations=base,
            windowDilations=apart,
            padding=[n for pair in zip(low, high) for n in pair],
            bodySubgraphIndex=body(m, m.pick(*COMPUTATIONS), dtype),
        )
    else:
        lists = [m.const(v, "i8") for v in (width, step, apart)]
        m.op(name, [x, first, *lists], [y], reduceFunction=int(m.pick(1, 2, 3, 4)))


@family
def branches(m):
    """STABLEHLO_CASE of 1 to 4 branches; numbers without a branch, too."""
    shape, n = m.dims(2), m.r.randint(1, 5)
    main, subgraphs = m.g, []
    for _ in range(n):
        m.begin()
        x = m.tensor(shape)
        y = m.tensor(shape)
        m.g.inputs, m.g.outputs = [x], [y]
        m.op("STABLEHLO_MULTIPLY", [x, m.const(m.numbers(shape))], [y])
        subgraphs.append(len(m.model.subgraphs) - 1)
    m.g = main
    at = m.feed(np.asarray(m.r.randint(-1, n + 1), "i4"))
    x = m.feed(m.numbers(shape))
    m.op("STABLEHLO_CASE", [at, x], [m.out(shape)], branchSubgraphIndices=subgraphs)


@family
def lookups(m):
    n, rows = m.dims(2)
    shape = [rows, *m.dims(m.r.randint(0, 3))]
    keys = np.sort(m.r.permutation(12)[:rows]).astype("i4")
    ins = [m.feed(m.r.randint(0, 12, n).astype("i4")), m.feed(keys)]
    ins.append(m.feed(m.numbers(shape)))
    m.op("HASHTABLE_LOOKUP", ins, [m.out([n, *shape[1:]]), m.out([n], "u1")])
