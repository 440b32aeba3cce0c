"""Operators that keep a state."""

import numpy as np

from model import family


@family
def svdf(m):
    """One turn; the state is what it is at first."""
    b, n, width, memory, rank = m.pick(1, 2), *m.dims(2, 1, 20), m.dims(1, 1, 9)[0], m.pick(1, 2)
    filters = n * rank
    kind = m.pick("f4", "i1", "hybrid")
    x, q = m.any([b, width], "i1" if kind == "i1" else "f4")
    if kind == "hybrid":
        sizes = [filters, width], [filters, memory]
        codes = [np.maximum(m.codes_of(size, "i1"), -127) for size in sizes]
        ins = [m.const(each, scale=0.01, zero=0) for each in codes]
        ins += [m.const(m.numbers([n])), m.tensor([b, filters * memory])]
        y = m.out([b, n])
    elif not q:
        ins = [m.const(m.numbers([filters, width])), m.const(m.numbers([filters, memory]))]
        ins += [m.const(m.numbers([n])), m.tensor([b, filters * memory])]
        y = m.out([b, n])
    else:
        w, t, s = 0.01, 1 / 32768, q["scale"] * 0.01 * 74 * np.sqrt(width) * 40 / 32768
        ins = [m.const(m.codes_of([filters, width], "i1"), scale=w)]
        ins += [m.const(m.codes_of([filters, memory], "i2"), scale=t)]
        ins += [m.const(m.r.randint(-(10**8), 10**8, n), "i4", scale=np.float32(s * t))]
        ins += [m.tensor([b, filters * memory], "i2", scale=s)]
        y = m.out([b, n], "i1", scale=s * 32768 / 256, zero=-128)
    m.g.tensors[ins[-1]].isVariable = True
    m.op(
        "SVDF",
        [x, *ins],
        [y],
        rank=rank,
        fusedActivationFunction=1 if q else 0,
        asymmetricQuantizeInputs=kind == "hybrid" and bool(m.pick(0, 1)),
    )


@family
def lstm_codes(m):
    """Codes of 8 bits and cells of 16; the states are what they are at first."""
    b, turns, width, n = m.pick(1, 1, 3), *m.dims(1, 1, 9), *m.dims(2, 1, 24)
    major, bits = bool(m.pick(0, 1)), m.pick(11, 11, 12, 13, 15)
    x, q = m.any([turns, b, width] if major else [b, turns, width], "i1")
    h = {"scale": 1 / 128, "zero": m.pick(0, 0, int(m.r.randint(-30, 30)))}
    scales = np.exp(m.r.uniform(-7, -4, 8))
    ws = [m.const(m.codes_of([n, width], "i1"), scale=s) for s in scales[:4]]
    rs = [m.const(m.codes_of([n, n], "i1"), scale=s) for s in scales[4:]]
    biases = [
        m.const(m.r.randint(-20000, 20000, n), "i4", scale=s * q["scale"]) for s in scales[:4]
    ]
    states = [m.tensor([b, n], "i1", **h), m.tensor([b, n], "i2", scale=2.0**-bits)]
    for t in states:
        m.g.tensors[t].isVariable = True
    y = m.out([turns, b, n] if major else [b, turns, n], "i1", **h)
    m.op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [x, *ws, *rs, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1],
        [y],
        fusedActivationFunction=4,
        cellClip=m.pick(0.0, 0.7, 10.0),
        timeMajor=major,
    )
    m.g.operators[-1].intermediates = [m.tensor([0]) for _ in range(4)]
    m.g.operators[-1].intermediates.append(m.tensor([0], "i1", **h))


@family
def cells_hybrid(m):
    """LSTM and RNN of f32 by weights of 8 bits."""
    b, turns, width, n = m.pick(1, 2, 3), *m.dims(1, 1, 6), *m.dims(2, 1, 24)
    codes = lambda shape: np.maximum(m.codes_of(shape, "i1"), -127)  # -128 is no weight to LiteRT
    coded = lambda shape: m.const(codes(shape), scale=0.01 * m.r.uniform(0.3, 1.5))
    x = m.feed(m.numbers([b, turns, width]))
    state = m.tensor([b, n])
    how = {"asymmetricQuantizeInputs": bool(m.pick(0, 1)), "timeMajor": False}
    if m.pick(0, 1):
        ins = [x, coded([n, width]), coded([n, n]), m.const(m.numbers([n])), state]
        m.g.tensors[state].isVariable = True
        options, name = "SequenceRNNOptions", "UNIDIRECTIONAL_SEQUENCE_RNN"
        m.op(name, ins, [m.out([b, turns, n])], options, fusedActivationFunction=4, **how)
        return
    cell = m.tensor([b, n])
    for t in (state, cell):
        m.g.tensors[t].isVariable = True
    ws, rs = ([coded([n, k]) for _ in range(4)] for k in (width, n))
    biases = [m.const(m.numbers([n])) for _ in range(4)]
    ins = [x, *ws, *rs, -1, -1, -1, *biases, -1, -1, state, cell, -1, -1, -1, -1]
    y = m.out([b, turns, n])
    how["cellClip"] = m.pick(0.0, 0.7)
    m.op("UNIDIRECTIONAL_SEQUENCE_LSTM", ins, [y], fusedActivationFunction=4, **how)
