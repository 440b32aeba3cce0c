"""Products of matrices."""

import numpy as np

from model import KINDS, QUANTISED, activation, broadcast, family, sums_out, weights_of


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
        keepNumDims=keep,
        fusedActivationFunction=activation(m),
        asymmetricQuantizeInputs=kind == "hybrid" and bool(m.pick(0, 1)),
    )


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
    m.op("BATCH_MATMUL", [a, b], [y], adjX=adj[0], adjY=adj[1])
