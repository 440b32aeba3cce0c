#!/usr/bin/env python3
"""Makes the cases of the folder tflite, with what LiteRT answers, and the seeds of the fuzzer's
corpus. They are committed; this is only needed to change them. Needs numpy, flatbuffers and
ai-edge-litert."""
import os

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as s
from ai_edge_litert.interpreter import Interpreter

here = os.path.dirname(os.path.abspath(__file__))
TYPES = {np.float32: s.TensorType.FLOAT32, np.int32: s.TensorType.INT32,
         np.int8: s.TensorType.INT8, np.uint8: s.TensorType.UINT8, np.int64: s.TensorType.INT64,
         np.int16: s.TensorType.INT16, np.float16: s.TensorType.FLOAT16,
         np.bool_: s.TensorType.BOOL, np.complex64: s.TensorType.COMPLEX64,
         np.void: s.TensorType.RESOURCE, np.str_: s.TensorType.STRING}


class Model:
    def __init__(self, description):
        self.m = s.ModelT()
        self.m.version = 3
        self.m.description = description
        self.m.buffers = [s.BufferT()]
        self.m.operatorCodes = []
        self.m.subgraphs = []
        self.graph("main")

    def graph(self, name):
        """Begins another subgraph."""
        self.g = s.SubGraphT()
        self.g.name = name
        self.g.tensors, self.g.operators = [], []
        self.m.subgraphs.append(self.g)

    def tensor(self, name, shape, dtype=np.float32, data=None, scale=None, zero=None, dim=0,
               signature=None):
        t = s.TensorT()
        t.name, t.shape, t.type = name, list(shape), TYPES[dtype]
        if signature:
            t.shapeSignature = signature
        if data is not None:
            b = s.BufferT()
            b.data = np.frombuffer(np.ascontiguousarray(data, dtype).tobytes(), np.uint8)
            self.m.buffers.append(b)
            t.buffer = len(self.m.buffers) - 1
        if scale is not None:
            q = s.QuantizationParametersT()
            q.scale = np.atleast_1d(np.float32(scale))
            q.zeroPoint = np.atleast_1d(np.int64(zero if zero is not None else 0))
            if len(q.zeroPoint) != len(q.scale):
                q.zeroPoint = np.zeros(len(q.scale), np.int64)
            q.quantizedDimension = dim
            t.quantization = q
        self.g.tensors.append(t)
        return len(self.g.tensors) - 1

    def const(self, name, data, **more):
        data = np.asarray(data)
        return self.tensor(name, data.shape, data.dtype.type, data, **more)

    def op(self, name, inputs, outputs, options=None, custom=None):
        code = s.OperatorCodeT()
        number = getattr(s.BuiltinOperator, name)
        code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
        code.customCode, code.version = custom, 1
        self.m.operatorCodes.append(code)
        o = s.OperatorT()
        o.opcodeIndex = len(self.m.operatorCodes) - 1
        o.inputs, o.outputs = inputs, outputs
        if options is not None:
            kind = type(options).__name__[:-1]
            second = hasattr(s.BuiltinOptions2, kind)
            kinds = s.BuiltinOptions2 if second else s.BuiltinOptions
            if second:
                o.builtinOptions2, o.builtinOptions2Type = options, getattr(kinds, kind)
            else:
                o.builtinOptions, o.builtinOptionsType = options, getattr(kinds, kind)
        self.g.operators.append(o)

    def borders(self, inputs, outputs):
        self.g.inputs, self.g.outputs = inputs, outputs

    def save(self, name, inputs, outputs, folder=here):
        self.borders(inputs, outputs)
        b = flatbuffers.Builder(1024)
        b.Finish(self.m.Pack(b), b"TFL3")
        with open(os.path.join(folder, name), "wb") as f:
            f.write(bytes(b.Output()))


def options(kind, **values):
    o = getattr(s, kind + "T")()
    for k, v in values.items():
        setattr(o, k, v)
    return o


rng = np.random.default_rng(5)


def net(name, folder=here):
    """A small network: convolutions, a residual, a pool, a product, softmax."""
    m = Model("a small network")
    x = m.tensor("x", [1, 6, 6, 2], signature=[-1, 6, 6, 2])
    w = m.const("w", rng.integers(-2, 3, (3, 3, 3, 2)).astype(np.float32))
    b = m.const("b", np.array([0, 1, -1], np.float32))
    d = m.const("d", rng.integers(-1, 2, (1, 3, 3, 3)).astype(np.float32))
    f = m.const("f", rng.integers(-1, 2, (4, 3)).astype(np.float32))
    axes = m.const("axes", np.array([1, 2], np.int32))
    c1, c2, r = (m.tensor(n, [1, 6, 6, 3]) for n in ("conv", "depthwise", "add"))
    p = m.tensor("pool", [1, 3])
    z, y = m.tensor("product", [1, 4]), m.tensor("y", [1, 4])
    m.op("CONV_2D", [x, w, b], [c1], options("Conv2DOptions", padding=0, strideW=1, strideH=1,
                                             fusedActivationFunction=3, dilationWFactor=1,
                                             dilationHFactor=1))
    m.op("DEPTHWISE_CONV_2D", [c1, d, b], [c2],
         options("DepthwiseConv2DOptions", padding=0, strideW=1, strideH=1, depthMultiplier=1,
                 dilationWFactor=1, dilationHFactor=1))
    m.op("ADD", [c1, c2], [r], options("AddOptions", fusedActivationFunction=1))
    m.op("MEAN", [r, axes], [p], options("ReducerOptions", keepDims=False))
    m.op("FULLY_CONNECTED", [p, f, -1], [z], options("FullyConnectedOptions"))
    m.op("SOFTMAX", [z], [y], options("SoftmaxOptions", beta=1.0))
    m.save(name, [x], [y], folder)


def net_int8(name, folder=here):
    m = Model("a small quantised network")
    x = m.tensor("x", [1, 5, 5, 2], np.int8, scale=0.05, zero=-3)
    w = m.const("w", rng.integers(-127, 128, (4, 3, 3, 2)).astype(np.int8),
                scale=[0.01, 0.02, 0.015, 0.03], dim=0)
    b = m.const("b", rng.integers(-300, 300, 4).astype(np.int32), scale=[1, 1, 1, 1])
    c = m.tensor("c", [1, 3, 3, 4], np.int8, scale=0.1, zero=4)
    a = m.tensor("a", [1, 3, 3, 4], np.int8, scale=0.15, zero=1)
    y = m.tensor("y", [1, 1, 1, 4], np.int8, scale=0.15, zero=1)
    m.op("CONV_2D", [x, w, b], [c], options("Conv2DOptions", padding=1, strideW=1, strideH=1,
                                            dilationWFactor=1, dilationHFactor=1))
    m.op("ADD", [c, c], [a], options("AddOptions"))
    m.op("AVERAGE_POOL_2D", [a], [y], options("Pool2DOptions", padding=1, strideW=1, strideH=1,
                                              filterWidth=3, filterHeight=3))
    m.save(name, [x], [y], folder)


def moves(name, folder=here):
    """Elements that move: every kind of list, several outputs, a constant of strings, a custom
    operator."""
    m = Model("moves")
    x = m.tensor("x", [2, 4])
    begin, end, step = (m.const(n, np.array(v, np.int32))
                        for n, v in (("begin", [0, 1]), ("end", [2, 4]), ("step", [1, 2])))
    shape = m.const("shape", np.array([4], np.int32))
    sl, fl = m.tensor("slice", [2, 2]), m.tensor("flat", [4])
    a, b, c, y = (m.tensor(n, sh) for n, sh in (("a", []), ("b", []), ("c", []), ("y", [3])))
    d = m.tensor("d", [])
    m.op("STRIDED_SLICE", [x, begin, end, step], [sl],
         options("StridedSliceOptions", beginMask=1, endMask=2))
    m.op("RESHAPE", [sl, shape], [fl], options("ReshapeOptions", newShape=[4]))
    m.op("UNPACK", [fl], [a, b, c, d], options("UnpackOptions", num=4, axis=0))
    m.op("PACK", [a, c, d], [y], options("PackOptions", valuesCount=3, axis=0))
    m.save(name, [x], [y], folder)


def custom(name, folder=here):
    m = Model("custom")
    x, y = m.tensor("x", [2]), m.tensor("y", [2])
    m.op("CUSTOM", [x], [y], custom="Nobody_Knows")
    m.save(name, [x], [y], folder)


def control(name, folder=here):
    """Doubles x until it is 100 or more, counting; then one of two branches."""
    m = Model("control")
    x, n = m.tensor("x", []), m.const("n", np.array(0, np.int32))
    d, k, big, y = (m.tensor("d", []), m.tensor("k", [], np.int32), m.tensor("big", [], np.bool_),
                    m.tensor("y", []))
    limit = m.const("limit", np.array(150, np.float32))
    m.op("WHILE", [x, n], [d, k], options("WhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2))
    m.op("LESS", [d, limit], [big], options("LessOptions"))
    m.op("IF", [big, d], [y], options("IfOptions", thenSubgraphIndex=3, elseSubgraphIndex=4))
    m.borders([x], [y, k])
    m.graph("cond")
    x, n, c = m.tensor("x", []), m.tensor("n", [], np.int32), m.tensor("c", [], np.bool_)
    m.op("LESS", [x, m.const("hundred", np.array(100, np.float32))], [c], options("LessOptions"))
    m.borders([x, n], [c])
    m.graph("body")
    x, n, z, i = (m.tensor("x", []), m.tensor("n", [], np.int32), m.tensor("z", []),
                  m.tensor("i", [], np.int32))
    m.op("ADD", [x, x], [z], options("AddOptions"))
    m.op("ADD", [n, m.const("one", np.array(1, np.int32))], [i], options("AddOptions"))
    m.borders([x, n], [z, i])
    for branch in "NEG", "SQRT":
        m.graph(branch)
        x, z = m.tensor("x", []), m.tensor("z", [])
        m.op(branch, [x], [z])
        m.borders([x], [z])
    m.save(name, [x], [z], folder)


def spectrum(name, folder=here):
    """A signal cut in one dim and filled up in the other; complex numbers and what they are of."""
    m = Model("spectrum")
    x = m.tensor("x", [2, 5, 6])
    length, shape = (m.const(n, np.array(v, np.int32))
                     for n, v in (("length", [4, 8]), ("shape", [8, 5])))
    z, flat = m.tensor("z", [2, 4, 5], np.complex64), m.tensor("flat", [8, 5], np.complex64)
    outputs = [m.tensor(n, [8, 5]) for n in ("abs", "real", "imag", "cast")]
    m.op("RFFT2D", [x, length], [z], options("Rfft2dOptions"))
    m.op("RESHAPE", [z, shape], [flat], options("ReshapeOptions", newShape=[8, 5]))
    for name_of, y in zip(("COMPLEX_ABS", "REAL", "IMAG"), outputs):
        m.op(name_of, [flat], [y])
    m.op("CAST", [flat], [outputs[3]], options("CastOptions"))
    m.save(name, [x], outputs, folder)


def codes(name, folder=here):
    """Sums of half a step, a difference, and a root, which built-in kernels compute in integers."""
    m = Model("codes")
    x, z = (m.tensor(n, [400], np.int8, scale=0.25, zero=v) for n, v in (("x", -128), ("z", 3)))
    total, less = (m.tensor(n, [400], np.int8, scale=0.5, zero=-10) for n in ("sum", "less"))
    root = m.tensor("root", [400], np.int8, scale=0.01, zero=-128)
    m.op("ADD", [x, z], [total], options("AddOptions"))
    m.op("SUB", [z, x], [less], options("SubOptions", fusedActivationFunction=1))
    m.op("RSQRT", [x], [root])
    m.save(name, [x, z], [total, less, root], folder)


def wide(name, folder=here):
    """Functions of 16-bit codes, which built-in kernels have in tables or in fixed point."""
    m = Model("wide")
    x, z, v = (m.tensor(n, [1000], np.int16, scale=q, zero=0)
               for n, q in (("x", 2**-12), ("z", 0.0003), ("v", 2**-11)))
    unit = {"scale": 2**-15, "zero": 0}
    outputs = []
    ops = (x, "LOGISTIC"), (x, "TANH"), (z, "LOGISTIC"), (z, "TANH"), (v, "TANH")
    for k, (of, op) in enumerate(ops):
        outputs.append(m.tensor("y%d" % k, [1000], np.int16, **unit))
        m.op(op, [of], outputs[k:])
    outputs.append(m.tensor("exp", [1000], np.int16, scale=0.5, zero=0))
    m.op("EXP", [z], outputs[5:], options("ExpOptions"))
    m.save(name, [x, z, v], outputs, folder)


def wide_sums(name, folder=here):
    """FULLY_CONNECTED of 16-bit codes, which rounds by the type of its bias, and Log and Gelu."""
    m = Model("wide_sums")
    x = m.tensor("x", [40, 9], np.int16, scale=1.7e-4, zero=0)
    w = rng.integers(-127, 128, (30, 9)).astype(np.int8)
    outputs = []
    for k, (bias, n) in enumerate(((None, 1), (np.int64, 1), (np.int32, 30), (np.int64, 30))):
        scales = rng.uniform(0.005, 0.015, n)
        ins = [x, m.const("w%d" % k, w, scale=scales)]
        if bias:
            b = rng.integers(-10**6, 10**6, 30).astype(bias)
            ins.append(m.const("b%d" % k, b, scale=scales * 1.7e-4))
        outputs.append(m.tensor("y%d" % k, [40, 30], np.int16, scale=0.0013, zero=0))
        m.op("FULLY_CONNECTED", ins, outputs[k:], options("FullyConnectedOptions"))
    functions = ("LOG", None), ("GELU", False), ("GELU", True)
    for op, by_tanh in functions:
        outputs.append(m.tensor("y%d" % len(outputs), [40, 9], np.int16, scale=2e-4, zero=0))
        more = [] if by_tanh is None else [options("GeluOptions", approximate=by_tanh)]
        m.op(op, [x], outputs[-1:], *more)
    m.save(name, [x], outputs, folder)


def hybrid(name, folder=here):
    """Cells of f32 by weights of 8 bits: activations become codes in 256 or 255 steps."""
    m = Model("hybrid")
    x = m.tensor("x", [2, 3, 5])

    def coded(*shape):
        data = rng.integers(-127, 128, shape).astype(np.int8)
        return m.const("w%d" % len(m.g.tensors), data, scale=0.008)

    def plain(n):
        return m.const("b%d" % len(m.g.tensors), rng.normal(size=n).astype(np.float32))

    def state():
        t = m.tensor("s%d" % len(m.g.tensors), [2, 6])
        m.g.tensors[t].isVariable = True
        return t

    outputs = [m.tensor("y%d" % k, [2, 3, 6]) for k in range(3)]
    for k in range(2):
        ws = [coded(6, 5) for _ in range(4)] + [coded(6, 6) for _ in range(4)]
        ins = [x, *ws, -1, -1, -1, *(plain(6) for _ in range(4)), -1, -1, state(), state()]
        m.op("UNIDIRECTIONAL_SEQUENCE_LSTM", ins + [-1] * 4, outputs[k:k + 1],
             options("UnidirectionalSequenceLSTMOptions", fusedActivationFunction=4,
                     asymmetricQuantizeInputs=bool(k)))
    m.op("UNIDIRECTIONAL_SEQUENCE_RNN", [x, coded(6, 5), coded(6, 6), plain(6), state()],
         outputs[2:], options("SequenceRNNOptions", fusedActivationFunction=4))
    m.save(name, [x], outputs, folder)


def table(b, *fields):
    """A table whose fields are offsets, or numbers of a byte; None: left out."""
    b.StartObject(len(fields))
    for k, f in enumerate(fields):
        if isinstance(f, bytes):
            b.PrependUint8Slot(k, f[0], 0)
        elif f is not None:
            b.PrependUOffsetTRelativeSlot(k, f, 0)
    return b.EndObject()


def vector(b, offsets):
    b.StartVector(4, len(offsets), 4)
    for o in reversed(offsets):
        b.PrependUOffsetTRelative(o)
    return b.EndVector()


def described(name, folder=here):
    """What people say about a model: its name, licence, normalisation, a file of labels."""
    m = Model("described")
    x, y = m.tensor("x", [2]), m.tensor("y", [2])
    m.op("NEG", [x], [y])
    b = flatbuffers.Builder(256)
    named, licence, label = (b.CreateString(t) for t in ("Twice", "free", "labels.txt"))
    mean, std = (b.CreateNumpyVector(np.array(v, np.float32)) for v in ([127.5], [0.5, 2, 4]))
    norm = table(b, mean, std)
    units = vector(b, [table(b, b"\1", norm)])
    files = vector(b, [table(b, label)])
    inputs = vector(b, [table(b, None, None, None, None, units)])
    outputs = vector(b, [table(b, None, None, None, None, None, None, files)])
    parts = vector(b, [table(b, None, None, inputs, outputs)])
    b.Finish(table(b, named, None, None, parts, None, licence), b"M001")
    buffer, entry = s.BufferT(), s.MetadataT()
    buffer.data = np.frombuffer(bytes(b.Output()), np.uint8)
    m.m.buffers.append(buffer)
    entry.name, entry.buffer = "TFLITE_METADATA", len(m.m.buffers) - 1
    m.m.metadata = [entry]
    m.save(name, [x], [y], folder)


def call_once(m, subgraph):
    m.op("CALL_ONCE", [], [], options("CallOnceOptions", initSubgraphIndex=subgraph))


def variable(m, name):
    handle = m.tensor("handle", [], np.void)
    m.op("VAR_HANDLE", [], [handle], options("VarHandleOptions", container="", sharedName=name))
    return handle


def signature(m, key, subgraph, inputs, outputs):
    def maps(names):
        return [options("TensorMap", name=n, tensorIndex=t) for n, t in names]
    m.m.signatureDefs = (m.m.signatureDefs or []) + [options(
        "SignatureDef", signatureKey=key, subgraphIndex=subgraph, inputs=maps(inputs),
        outputs=maps(outputs))]


def states(name, folder=here):
    """Signatures that share a variable: one adds to it, one reads it."""
    m = Model("states")
    x, read, y = m.tensor("x", [2]), m.tensor("read", [2]), m.tensor("y", [2])
    call_once(m, 2)
    total = variable(m, "total")
    m.op("READ_VARIABLE", [total], [read])
    m.op("ADD", [read, x], [y], options("AddOptions"))
    m.op("ASSIGN_VARIABLE", [total, y], [])
    m.borders([x], [y])
    signature(m, "add", 0, [("amount", x)], [("total", y)])
    m.graph("get")
    value, total = m.tensor("value", [2]), variable(m, "total")
    m.op("READ_VARIABLE", [total], [value])
    m.borders([], [value])
    signature(m, "get", 1, [], [("total", value)])
    m.graph("init")
    first, total = m.const("first", np.array([10, 20], np.float32)), variable(m, "total")
    m.op("ASSIGN_VARIABLE", [total, first], [])
    m.save(name, [], [], folder)


def words(m, name, *texts):
    """A constant of strings: their number, where each begins and the last ends, and the bytes."""
    t = m.tensor(name, [len(texts)], np.str_)
    at = np.cumsum([4 * (len(texts) + 2)] + [len(w) for w in texts])
    b = s.BufferT()
    b.data = np.frombuffer(np.array([len(texts), *at], np.int32).tobytes()
                           + "".join(texts).encode(), np.uint8)
    m.m.buffers.append(b)
    m.g.tensors[t].buffer = len(m.m.buffers) - 1
    return t


def lookup(name, folder=here):
    """A hash table that is filled once."""
    def handle():
        h = m.tensor("table", [1], np.void)
        m.op("HASHTABLE", [], [h], options("HashtableOptions", tableId=7,
                                           keyDtype=s.TensorType.INT64,
                                           valueDtype=s.TensorType.STRING))
        return h
    m = Model("lookup")
    query, y = m.tensor("query", [4], np.int64), m.tensor("words", [4], np.str_)
    size = m.tensor("size", [1], np.int64)
    call_once(m, 1)
    h = handle()
    m.op("HASHTABLE_FIND", [h, query, words(m, "none", "none")], [y])
    m.op("HASHTABLE_SIZE", [h], [size])
    m.borders([query], [y, size])
    m.graph("init")
    keys = m.const("keys", np.array([3, -1, 1 << 40], np.int64))
    m.op("HASHTABLE_IMPORT", [handle(), keys, words(m, "values", "three", "minus one", "many")],
         [])
    m.save(name, [], [], folder)


def recurrent(name, folder=here):
    """Cells whose states are variable tensors: a pair of LSTMs with peepholes in one, one with
    projection, clips and normalised gates, an SVDF, an RNN."""
    def const(*shape):
        return m.const("w", (rng.normal(size=shape) / 2).astype(np.float32))

    def state(*shape):
        t = m.tensor("state", shape)
        m.g.tensors[t].isVariable = True
        return t

    def lstm(inputs, units, outputs, peeps, gates=4):
        none = [-1] * (4 - gates)
        return (none + [const(units, inputs) for _ in range(gates)]
                + none + [const(units, outputs) for _ in range(gates)]
                + ([-1] if none else [const(units)] * (peeps > 0) or [-1])
                + ([const(units), const(units)] if peeps else [-1, -1])
                + none + [const(units) for _ in range(gates)])
    m = Model("recurrent")
    x = m.tensor("x", [4, 2, 3])
    both, y = m.tensor("both", [4, 2, 4]), m.tensor("y", [4, 2, 2])
    m.op("BIDIRECTIONAL_SEQUENCE_LSTM",
         [x, *lstm(3, 2, 2, 1), -1, -1, *lstm(3, 2, 2, 0), -1, -1]
         + [state(2, 2) for _ in range(4)] + [-1] * 9, [both],
         options("BidirectionalSequenceLSTMOptions", fusedActivationFunction=4, mergeOutputs=True,
                 timeMajor=True))
    m.op("UNIDIRECTIONAL_SEQUENCE_LSTM",
         [both, *lstm(4, 4, 2, 1, gates=3), const(2, 4), const(2), state(2, 2), state(2, 4), -1]
         + [const(4) for _ in range(3)], [y],
         options("UnidirectionalSequenceLSTMOptions", fusedActivationFunction=4, cellClip=0.8,
                 projClip=0.9, timeMajor=True))
    first, rows = m.const("first", np.array(0, np.int32)), m.tensor("rows", [2, 2])
    m.op("GATHER", [y, first], [rows], options("GatherOptions"))
    made, z = m.tensor("made", [2, 2]), m.tensor("z", [2, 2])
    m.op("SVDF", [rows, const(4, 2), const(4, 5), const(2), state(2, 20)], [made],
         options("SVDFOptions", rank=2))
    m.op("RNN", [made, const(2, 2), const(2, 2), const(2), state(2, 2)], [z],
         options("RNNOptions", fusedActivationFunction=4))
    m.save(name, [x], [y, z], folder)


def products(name, folder=here):
    """Products of codes, a transposed convolution of them, rows of f32 by codes."""
    def codes(*shape):
        return rng.integers(-127, 128, shape).astype(np.int8)
    m = Model("products")
    x = m.tensor("x", [1, 6, 5, 8], np.int8, scale=0.05, zero=-3)
    a = m.tensor("a", [2, 5, 9], np.int8, scale=0.05, zero=-3)
    b = m.tensor("b", [2, 7, 9], np.int8, scale=0.02, zero=4)
    rows = m.tensor("rows", [1, 5, 9])
    scales = rng.uniform(0.01, 0.02, 3).astype(np.float32)
    w = m.const("w", codes(3, 3, 3, 8), scale=scales)
    bias = m.const("bias", rng.integers(-500, 500, 3).astype(np.int32),
                   scale=np.float32(0.05) * scales)
    shape = m.const("shape", np.array([1, 12, 10, 3], np.int32))
    y = m.tensor("y", [1, 12, 10, 3], np.int8, scale=0.3, zero=7)
    m.op("TRANSPOSE_CONV", [shape, w, x, bias], [y],
         options("TransposeConvOptions", strideW=2, strideH=2))
    ab = m.tensor("ab", [2, 5, 7], np.int8, scale=0.08, zero=2)
    m.op("BATCH_MATMUL", [a, b], [ab], options("BatchMatMulOptions", adjY=True))
    c, z = m.const("c", codes(1, 9, 7), scale=0.02, zero=0), m.tensor("z", [1, 5, 7])
    m.op("BATCH_MATMUL", [rows, c], [z], options("BatchMatMulOptions"))
    m.save(name, [x, a, b, rows], [y, ab, z], folder)


def cells(name, folder=here):
    """An LSTM of codes, whose cell has 16 bits."""
    def codes(*shape):
        return rng.integers(-127, 128, shape).astype(np.int8)
    m = Model("cells")
    n, width, h = 5, 9, {"scale": 1 / 128, "zero": -4}
    x = m.tensor("x", [1, 3, width], np.int8, scale=0.04, zero=11)
    scales = np.float32([0.004, 0.003, 0.006, 0.005, 0.003, 0.002, 0.004, 0.005])
    w = [m.const("w", codes(n, width), scale=k) for k in scales[:4]]
    r = [m.const("r", codes(n, n), scale=k) for k in scales[4:]]
    b = [m.const("b", rng.integers(-5000, 5000, n).astype(np.int32), scale=np.float32(0.04) * k)
         for k in scales[:4]]
    states = [m.tensor("h", [1, n], np.int8, **h), m.tensor("c", [1, n], np.int16, scale=2**-11)]
    for t in states:
        m.g.tensors[t].isVariable = True
    y = m.tensor("y", [1, 3, n], np.int8, **h)
    m.op("UNIDIRECTIONAL_SEQUENCE_LSTM",
         [x, *w, *r, -1, -1, -1, *b, -1, -1, *states, -1, -1, -1, -1], [y],
         options("UnidirectionalSequenceLSTMOptions", fusedActivationFunction=4, cellClip=3.0))
    m.g.operators[-1].intermediates = [m.tensor("gate", [0]) for _ in range(4)]
    m.g.operators[-1].intermediates.append(m.tensor("hidden", [0], np.int8, **h))
    m.save(name, [x], [y], folder)


def resized(name, folder=here):
    """Codes between pixels, of each way to count these, and of both types."""
    m = Model("resized")
    x = m.tensor("x", [1, 4, 5, 3], np.int8, scale=0.04, zero=11)
    a = m.tensor("a", [1, 9, 7, 3], np.int8, scale=0.04, zero=11)
    b = m.tensor("b", [1, 6, 13, 3], np.uint8, scale=0.04, zero=139)
    y = m.tensor("y", [1, 3, 20, 3], np.uint8, scale=0.04, zero=139)
    other = m.tensor("other", [1, 9, 7, 3], np.uint8, scale=0.04, zero=139)
    m.op("RESIZE_BILINEAR", [x, m.const("size", np.array([9, 7], np.int32))], [a],
         options("ResizeBilinearOptions", halfPixelCenters=True))
    m.op("QUANTIZE", [a], [other], options("QuantizeOptions"))
    m.op("RESIZE_BILINEAR", [other, m.const("size", np.array([6, 13], np.int32))], [b],
         options("ResizeBilinearOptions", alignCorners=True))
    m.op("RESIZE_BILINEAR", [b, m.const("size", np.array([3, 20], np.int32))], [y],
         options("ResizeBilinearOptions"))
    m.save(name, [x], [a, y], folder)


def stablehlo(name, folder=here):
    """Operators that LiteRT has no kernels for: what they answer is what numpy makes of it."""
    m = Model("stablehlo")
    outputs = []

    def op(kind, inputs, y, data, **fields):
        t = m.tensor(y, data.shape, data.dtype.type)
        camel = "Stablehlo" + kind.title().replace("_", "") + "Options"
        m.op("STABLEHLO_" + kind, inputs, [t], options(camel, **fields) if fields else None)
        outputs.append((t, data))
        return t
    x, y = (np.random.default_rng(k).normal(size=(2, 3)).astype(np.float32) for k in (1, 2))
    a, b = m.tensor("x", x.shape), m.tensor("y", y.shape)
    least, most = (m.const("c", np.float32(k)) for k in (-0.5, 0.7))
    op("CLAMP", [least, a, most], "clamped", np.clip(x, -0.5, 0.7))
    op("CONCATENATE", [a, b], "both", np.concatenate([x, y], 1), dimension=1)
    op("SLICE", [a], "part", x[0:2:1, 0:3:2], startIndices=[0, 0], limitIndices=[2, 3],
       strides=[1, 2])
    op("TRANSPOSE", [b], "turned", np.ascontiguousarray(y.T), permutation=[1, 0])
    op("REMAINDER", [a, b], "rest", np.fmod(x, y))
    square = m.tensor("square", x.shape)
    m.op("STABLEHLO_MULTIPLY", [a, a], [square])
    op("RSQRT", [square], "root", (1 / np.sqrt(x * x)).astype(np.float32))
    compared = [f(x, y) for f in (np.equal, np.not_equal, np.greater_equal, np.greater,
                                  np.less_equal, np.less)]
    said = [op("COMPARE", [a, b], f"compared{k}", c, comparisonDirection=k)
            for k, c in enumerate(compared)]
    op("AND", [said[1], said[3]], "and", compared[1] & compared[3])
    op("OR", [said[4], said[3]], "or", compared[4] | compared[3])
    op("CONVERT", [said[2]], "numbers", compared[2].astype(np.int32))
    m.save(name, [a, b], [t for t, _ in outputs], folder)
    if os.path.isdir(os.path.join(folder, "ref")):
        for k, data in enumerate((x, y)):
            np.save(os.path.join(folder, "ref", f"set0_in{k}.npy"), data)
        for k, (_, data) in enumerate(outputs):
            np.save(os.path.join(folder, "ref", f"set0_out{k}.npy"), data)


def drawn(name, folder=here):
    """Numbers that are drawn, by seeds."""
    m = Model("drawn")
    shape = m.const("shape", np.array([40, 50], np.int32))
    u, n = m.tensor("uniform", [40, 50]), m.tensor("normal", [40, 50])
    classes = m.tensor("classes", [2, 100], np.int64)
    m.op("RANDOM_UNIFORM", [shape], [u], options("RandomOptions", seed=3, seed2=7))
    m.op("RANDOM_STANDARD_NORMAL", [shape], [n], options("RandomOptions", seed=3, seed2=8))
    m.op("MULTINOMIAL", [m.const("odds", np.float32([[0, -99, 0], [-99, 0, -99]])),
                         m.const("count", np.int32(100))], [classes],
         options("RandomOptions", seed=1, seed2=2))
    m.save(name, [], [u, n, classes], folder)


def softmax_16(name, folder=here):
    """Softmax of 16-bit codes, over rows of one and several."""
    m = Model("softmax of 16 bits")
    x = m.tensor("x", [2, 3, 11], np.int16, scale=1 / 4096, zero=0)
    one = m.tensor("one", [4, 1], np.int16, scale=1 / 512, zero=0)
    y = m.tensor("y", [2, 3, 11], np.int16, scale=1 / 32768, zero=0)
    z = m.tensor("z", [4, 1], np.int16, scale=1 / 32768, zero=0)
    m.op("SOFTMAX", [x], [y], options("SoftmaxOptions", beta=1.0))
    m.op("SOFTMAX", [one], [z], options("SoftmaxOptions", beta=0.5))
    m.save(name, [x, one], [y, z], folder)


def blocks(name, folder=here):
    """Weights of 4 bits with a scale for each 32 of a row; the scales are a tensor of halves."""
    m = Model("blocks")
    x, y = m.tensor("x", [3, 64]), m.tensor("y", [3, 8])
    scales = m.const("scales", (2.0 ** rng.integers(-6, -2, (8, 2))).astype(np.float16))
    w = m.const("w", rng.integers(0, 256, (8, 32)).astype(np.uint8))
    t = m.g.tensors[w]
    t.shape, t.type = [8, 64], s.TensorType.INT4
    t.quantization = s.QuantizationParametersT()
    t.quantization.detailsType = s.QuantizationDetails.BlockwiseQuantization
    t.quantization.details = s.BlockwiseQuantizationT()
    t.quantization.details.scales, t.quantization.details.zeroPoints = scales, -1
    t.quantization.details.blockSize = 32
    bias = m.const("bias", rng.normal(size=8).astype(np.float32))
    m.op("FULLY_CONNECTED", [x, w, bias], [y], options("FullyConnectedOptions"))
    m.save(name, [x], [y], folder)


def reference(folder, sets):
    """What LiteRT makes of it, run as people run it."""
    os.makedirs(os.path.join(folder, "ref"), exist_ok=True)
    it = Interpreter(os.path.join(folder, "model.tflite"))
    it.allocate_tensors()
    for k in range(sets):
        for i, d in enumerate(it.get_input_details()):
            size = int(np.prod(d["shape"]))
            integers = np.dtype(d["dtype"]).kind == "i"
            most = 32768 if d["dtype"] == np.int16 else 128
            x = rng.integers(-most, most, size) if integers else rng.normal(size=size)
            x = (x if len(d["shape"]) else abs(x) + 1 + k).astype(d["dtype"]).reshape(d["shape"])
            np.save(os.path.join(folder, "ref", "set%d_in%d.npy" % (k, i)), x)
            it.set_tensor(d["index"], x)
        it.invoke()
        for i, d in enumerate(it.get_output_details()):
            np.save(os.path.join(folder, "ref", "set%d_out%d.npy" % (k, i)),
                    it.get_tensor(d["index"]))


if __name__ == "__main__":
    corpus = os.path.join(here, "..", "fuzz", "corpus", "tflite")
    os.makedirs(corpus, exist_ok=True)
    for make in net, net_int8, moves, custom, control, spectrum, codes, described, states, \
            lookup, recurrent, products, wide, wide_sums, hybrid, cells, \
            resized, stablehlo, drawn, softmax_16, blocks:
        folder = os.path.join(here, "tflite", make.__name__)
        os.makedirs(os.path.join(folder, "ref"), exist_ok=True)
        make("model.tflite", folder)
        make(make.__name__, corpus)
        if make not in (custom, lookup, stablehlo, drawn):  # strings: see tests/tflite/cases.sh
            reference(folder, 4 if make in (states, recurrent, cells, hybrid) else 2)
