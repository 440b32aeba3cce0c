"""A model that grows operator by operator, and what families of them share."""

import numpy as np

DTYPES = {
    "f4": "FLOAT32",
    "f2": "FLOAT16",
    "i4": "INT32",
    "u1": "UINT8",
    "i8": "INT64",
    "b1": "BOOL",
    "i2": "INT16",
    "i1": "INT8",
    "f8": "FLOAT64",
    "u4": "UINT32",
}


QUANTISED = {"i1": (-128, 127), "u1": (0, 255), "i2": (-32768, 32767)}


def load_schema():
    from ai_edge_litert import schema_py_generated

    return schema_py_generated


class Model:
    """One subgraph that grows operator by operator; tensors are numbers."""

    def __init__(self, random, schema):
        self.r, self.s = random, schema
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.description = "generated"
        self.model.operatorCodes, self.model.buffers, self.model.subgraphs = (
            [],
            [schema.BufferT()],
            [],
        )
        self.codes = {}
        self.feeds = []
        self.begin()

    def begin(self):
        g = self.s.SubGraphT()
        g.tensors, g.operators, g.inputs, g.outputs = [], [], [], []
        self.g = g
        self.model.subgraphs.append(g)

    def tensor(self, shape, dtype="f4", data=None, scale=None, zero=0, axis=0, signature=None):
        t = self.s.TensorT()
        t.name = f"t{len(self.model.subgraphs)}_{len(self.g.tensors)}".encode()
        t.shape = list(shape)
        t.hasRank = True
        t.type = getattr(self.s.TensorType, dtype if dtype not in DTYPES else DTYPES[dtype])
        t.buffer = 0
        if signature is not None:
            t.shapeSignature = list(signature)
        if data is not None:
            b = self.s.BufferT()
            b.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            t.buffer = len(self.model.buffers)
            self.model.buffers.append(b)
        if scale is not None:
            q = self.s.QuantizationParametersT()
            q.scale = [float(x) for x in np.atleast_1d(scale)]
            q.zeroPoint = [int(x) for x in np.broadcast_to(zero, len(q.scale))]
            q.quantizedDimension = axis
            t.quantization = q
        self.g.tensors.append(t)
        return len(self.g.tensors) - 1

    def const(self, data, dtype=None, **q):
        data = np.asarray(data) if dtype is None else np.asarray(data, dtype)
        return self.tensor(data.shape, data.dtype.str[1:], data, **q)

    def feed(self, data, scale=None, zero=0, signature=None):
        t = self.tensor(data.shape, data.dtype.str[1:], None, scale, zero, signature=signature)
        self.g.inputs.append(t)
        if self.g is self.model.subgraphs[0]:
            self.feeds.append(data)
        return t

    def op(self, name, inputs, outputs, options=None, **fields):
        o = self.s.OperatorT()
        if name not in self.codes:
            c = self.s.OperatorCodeT()
            number = getattr(self.s.BuiltinOperator, name)
            c.builtinCode, c.deprecatedBuiltinCode, c.version = number, min(number, 127), 1
            self.codes[name] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(c)
        options = options or self.options_of(name)
        o.opcodeIndex = self.codes[name]
        o.inputs, o.outputs = list(inputs), list(outputs)
        if options:
            t = getattr(self.s, options + "T")()
            for k, v in fields.items():
                assert hasattr(t, k), (options, k)
                setattr(t, k, v)
            if hasattr(self.s.BuiltinOptions2, options):
                o.builtinOptions2Type = getattr(self.s.BuiltinOptions2, options)
                o.builtinOptions2 = t
            else:
                o.builtinOptionsType = getattr(self.s.BuiltinOptions, options)
                o.builtinOptions = t
        self.g.operators.append(o)
        return outputs[0]

    def options_of(self, name):
        """What an operator's options are called, where they have its name; else None."""
        wanted = name.replace("_", "").lower() + "options"
        known = {**vars(self.s.BuiltinOptions), **vars(self.s.BuiltinOptions2)}
        return next((k for k in known if k.lower() == wanted), None)

    def bytes(self, version):
        import flatbuffers

        for c in self.model.operatorCodes:
            c.version = version if isinstance(version, int) else version.get(c.builtinCode, 1)
        b = flatbuffers.Builder(1024)
        b.Finish(self.model.Pack(b), b"TFL3")
        return bytes(b.Output())

    # ---- random things ----

    def pick(self, *options):
        return options[self.r.randint(len(options))]

    def dims(self, rank, lo=1, hi=7):
        return [int(self.r.randint(lo, hi + 1)) for _ in range(rank)]

    def codes_of(self, shape, dtype):
        lo, hi = QUANTISED[dtype]
        return self.r.randint(lo, hi + 1, shape).astype(dtype)

    def quant(self, dtype):
        """A scale and a zero point."""
        if dtype == "i2":
            return {"scale": float(np.exp(self.r.uniform(-11, -8))), "zero": 0}
        lo, hi = QUANTISED[dtype]
        return {
            "scale": float(np.exp(self.r.uniform(-5, -2))),
            "zero": int(self.r.randint(lo, hi + 1)),
        }

    def numbers(self, shape, dtype="f4", lo=-3, hi=3):
        if dtype in QUANTISED:
            return self.codes_of(shape, dtype)
        if dtype[0] == "b":
            return self.r.randint(0, 2, shape).astype(bool)
        if dtype[0] in "iu":
            return self.r.randint(-9 if dtype[0] == "i" else 0, 10, shape).astype(dtype)
        return np.asarray(self.r.uniform(lo, hi, shape)).astype(dtype)

    def any(self, shape, dtype="f4", **more):
        """An input of codes or numbers, and its quantisation."""
        q = self.quant(dtype) if dtype in QUANTISED else {}
        return self.feed(self.numbers(shape, dtype, **more), **q), q

    def out(self, shape, dtype="f4", **q):
        t = self.tensor(shape, dtype, **q)
        self.g.outputs.append(t)
        return t

    def out_like(self, shape, dtype):
        return self.out(shape, dtype, **(self.quant(dtype) if dtype in QUANTISED else {}))


families = {}


def family(f):
    families[f.__name__] = f
    return f


def activation(m):
    return m.pick(0, 0, 1, 2, 3)


def weights_of(m, x, xq, shape, kind, axis, fan):
    """Weights of a kind, and the bias for n outputs; the scale that sums have."""
    n = shape[axis]
    if kind in ("f4", "f2"):
        w = m.const(m.numbers(shape, "f4", -1, 1) / np.float32(np.sqrt(fan)))
        return w, m.const(m.numbers([n])), None
    if kind == "u1":
        q = m.quant("u1")
        w = m.const(m.codes_of(shape, "u1"), **q)
        scale = np.full(n, q["scale"])
    else:
        per = m.pick(True, True, False) if kind != "hybrid" else m.pick(True, False)
        scale = np.exp(m.r.uniform(-6, -4, n if per else 1))
        w = m.const(np.maximum(m.codes_of(shape, "i1"), -127), scale=scale, zero=0, axis=axis)
        scale = np.broadcast_to(scale, n)
    if kind == "hybrid":
        return w, m.const(m.numbers([n])), None
    scales = scale.astype("f4") * np.float32(xq["scale"])
    per_bias = scales if kind != "u1" else scales[:1]
    bias = m.r.randint(-4000, 4000, n).astype("i8" if kind == "i2" else "i4")
    return w, m.const(bias, scale=per_bias if len(set(scales)) > 1 else scales[:1], zero=0), scales


def sums_out(m, shape, dtype, scales, fan):
    """An output whose codes sums of such scales fill, and some overflow."""
    if dtype not in QUANTISED:
        return m.out(shape)
    width = (
        float(np.max(scales))
        * 74
        * (74 if dtype != "i2" else 19000)
        * np.sqrt(fan)
        / (100 if dtype != "i2" else 20000)
    )
    q = m.quant(dtype)
    q["scale"] = width * float(np.exp(m.r.uniform(-0.5, 1)))
    return m.out(shape, dtype, **q)


KINDS = ("f4", "i1", "i1", "u1", "i2", "hybrid")


def broadcast(m, rank):
    shape = m.dims(rank, 1, 4)
    other = [1 if m.pick(0, 0, 1) else n for n in shape][
        m.r.randint(rank + 1) if m.pick(0, 1) else 0 :
    ]
    return (shape, other) if m.pick(0, 1) else (other, shape)
