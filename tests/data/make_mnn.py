#!/usr/bin/env python3
"""usage: make_mnn.py FOLDER: small networks as MNN's converter writes them, with what MNN makes of
random inputs. It needs the packages MNN==3.6.1, flatbuffers, onnx and numpy."""

import json
import pathlib
import subprocess
import sys
import tempfile

import flatbuffers
import MNN
import MNN.expr
import MNN.nn
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(1)


def weight(name, *shape):
    return numpy_helper.from_array((rng.standard_normal(shape) / 3).astype(np.float32), name)


def numbers(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], name=output, **attributes)


def model(nodes, weights, x, outputs, opset=13):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, None) for y in outputs],
        weights,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(made)


def net():
    """Convolutions, a residual sum, pools."""
    nodes = [
        node("Conv", "x w0 b0", "c0", pads=[1, 1, 1, 1]),
        node("Relu", "c0", "r0"),
        node("Conv", "r0 w1 b1", "c1", group=4, pads=[0, 1, 1, 0], strides=[2, 2]),
        node("Clip", "c1 zero six", "r1"),
        node("Conv", "r1 w2", "c2"),
        node("Add", "c2 r1", "sum"),
        node("MaxPool", "sum", "p0", kernel_shape=[2, 2], strides=[1, 1]),
        node("AveragePool", "p0", "y", kernel_shape=[2, 2], strides=[1, 1], pads=[1, 1, 1, 1]),
    ]
    limits = [numpy_helper.from_array(np.float32(v), n) for v, n in ((0, "zero"), (6, "six"))]
    weights = [weight("w0", 4, 3, 3, 3), weight("b0", 4), weight("w1", 4, 1, 3, 3), weight("b1", 4)]
    weights += [weight("w2", 4, 4, 1, 1)] + limits
    return model(nodes, weights, [1, 3, 8, 8], ["y"])


def shapes():
    """What moves elements, and functions of one and of two values."""
    nodes = [
        node("Transpose", "x", "t", perm=[0, 2, 1]),
        node("MatMul", "t w", "m"),
        node("Sigmoid", "m", "s"),
        node("Mul", "s m", "silu"),
        node("Slice", "silu from to axes", "part"),
        node("Concat", "silu part", "c", axis=1),
        node("ReduceMean", "c", "mean", axes=[2], keepdims=1),
        node("Sub", "c mean", "d"),
        node("Reshape", "d form", "y"),
        node("Unsqueeze", "mean axis0", "u"),
        node("Squeeze", "u axis3", "z"),
    ]
    weights = [weight("w", 3, 6), numbers("from", 1), numbers("to", 3), numbers("axes", 1)]
    weights += [numbers("form", 2, -1), numbers("axis0", 0), numbers("axis3", 3)]
    return model(nodes, weights, [2, 3, 4], ["y", "z"])


def select():
    """What chooses, counts and spreads elements, and what is resized."""
    two = helper.make_node("TopK", ["x", "two"], ["most", "where"], name="top", axis=3)
    nodes = [
        two,
        node("Cast", "where", "places", to=TensorProto.FLOAT),
        node("GatherElements", "x picks", "picked", axis=1),
        node("GatherND", "x corners", "corner"),
        node("ScatterND", "x corners ones", "put"),
        node("CumSum", "put axis3", "sums", reverse=1),
        node("Mul", "sums slope", "scaled"),
        node("Resize", "x roi scales", "wide", mode="linear"),
        node("Resize", "x roi roi shape", "near", mode="nearest", nearest_mode="floor",
             coordinate_transformation_mode="asymmetric"),
        node("Selu", "x", "selu"),
        node("LRN", "selu", "local", size=3, alpha=0.5),
        node("PRelu", "local slope", "leaky"),
        node("OneHot", "which four onoff", "hot", axis=-1),
        node("Trilu", "x", "triangle"),
        node("ConvTranspose", "x w b", "turned", strides=[2, 2], pads=[1, 1, 1, 1],
             output_padding=[1, 1]),
    ]
    weights = [numbers("two", 2), numbers("axis3", 3), numbers("shape", 1, 2, 7, 3)]
    weights += [numpy_helper.from_array(rng.integers(0, 2, (1, 1, 4, 6)), "picks")]
    weights += [numpy_helper.from_array(np.array([[0, 1, 2, 3], [0, 0, 0, 0]]), "corners")]
    weights += [numpy_helper.from_array(np.ones(2, np.float32), "ones"), numbers("which", 1, 3)]
    weights += [numpy_helper.from_array(np.array([], np.float32), "roi"), numbers("four", 4)]
    weights += [numpy_helper.from_array(np.array([1, 1, 2, 1.5], np.float32), "scales")]
    weights += [numpy_helper.from_array(np.array([-1, 2], np.float32), "onoff")]
    weights += [weight("slope", 2, 1, 1), weight("w", 2, 3, 3, 3), weight("b", 3)]
    outputs = "corner hot leaky most near picked places scaled triangle turned wide".split()
    return model(nodes, weights, [1, 2, 4, 6], outputs, 14)


def recurrent():
    """A layer forward, one in both directions with a first state."""
    lstm = helper.make_node(
        "LSTM", ["x", "w", "r", "b"], ["y", "", "z"], name="lstm", hidden_size=5
    )
    both = helper.make_node("RNN", ["x", "w2", "r2", "b2", "", "h2"], ["a", "h"], name="both",
                            hidden_size=2, direction="bidirectional")
    weights = [weight("w", 1, 20, 3), weight("r", 1, 20, 5), weight("b", 1, 40)]
    weights += [weight("w2", 2, 2, 3), weight("r2", 2, 2, 2), weight("b2", 2, 4)]
    weights += [weight("h2", 2, 2, 2)]
    return model([lstm, both], weights, [4, 2, 3], ["a", "h", "y", "z"])


def gru(name, output, last, directions):
    inputs = ["x", f"w_{name}", f"r_{name}", f"b_{name}"]
    direction = "bidirectional" if directions == 2 else "forward"
    layer = helper.make_node("GRU", inputs, [output, last], name=name, hidden_size=4,
                             direction=direction, linear_before_reset=1)
    d = directions
    sizes = [12, 3], [12, 4], [24]
    return layer, [weight(n, d, *size) for n, size in zip(inputs[1:], sizes)]


def gates():
    """GRU as one operator. (Of two directions, MNN's last states are not its outputs.)"""
    forward, weights = gru("forward", "a", "b", 1)
    both, more = gru("both", "c", "", 2)
    return model([forward, both], weights + more, [4, 1, 3], ["a", "b", "c"])


def control():
    """A branch; a loop that stacks what it makes and ends early; GRU, which becomes a While."""

    def part(nodes, inputs, outputs):
        info = [helper.make_tensor_value_info(*each) for each in inputs + outputs]
        return helper.make_graph(nodes, "part", info[: len(inputs)], info[len(inputs) :])

    shape, f32 = [4, 1, 3], TensorProto.FLOAT
    yes = part([node("Add", "x x", "double")], [], [("double", f32, shape)])
    no = part([node("Mul", "x three", "less")], [], [("less", f32, shape)])
    body = part(
        [
            node("Add", "v x", "next"),
            node("Mul", "next three", "part"),
            node("ReduceSum", "next", "s", keepdims=0),
            node("Abs", "s", "size"),
            node("Less", "size limit", "on"),
        ],
        [("i", TensorProto.INT64, []), ("c", TensorProto.BOOL, []), ("v", f32, shape)],
        [("on", TensorProto.BOOL, []), ("next", f32, shape), ("part", f32, shape)],
    )
    layer, weights = gru("layer", "d", "e", 1)
    nodes = [
        node("ReduceSum", "x", "total", keepdims=0),
        node("Greater", "total zero", "positive"),
        helper.make_node("If", ["positive"], ["a"], name="if", then_branch=yes, else_branch=no),
        helper.make_node("Loop", ["most", "true", "a"], ["b", "c"], name="loop", body=body),
        layer,
    ]
    scalars = {"zero": np.float32(0), "three": np.float32(-3), "limit": np.float32(60),
               "most": np.int64(5), "true": np.array(True)}
    weights += [numpy_helper.from_array(np.asarray(v), n) for n, v in scalars.items()]
    return model(nodes, weights, shape, ["a", "b", "c", "d", "e"])


def eye():
    """Diagonals of ones."""
    nodes = [
        node("EyeLike", "x", "main", dtype=1),
        node("EyeLike", "x", "above", dtype=1, k=1),
        node("EyeLike", "x", "below", dtype=1, k=-2),
        node("Add", "main above", "two"),
        node("Sub", "two below", "three"),
        node("Mul", "three x", "y"),
    ]
    return model(nodes, [], [3, 5], ["y"])


def boxes(most):
    """Boxes that do not overlap, by scores."""
    nodes = [
        helper.make_node("Split", ["x", "parts"], ["b", "c"], name="split", axis=2),
        node("Transpose", "c", "s", perm=[0, 2, 1]),
        node("NonMaxSuppression", "b s most overlap least", "kept"),
        node("Cast", "kept", "y", to=TensorProto.FLOAT),
    ]
    limits = [numpy_helper.from_array(np.array([v], np.float32), n)
              for v, n in ((0.2, "overlap"), (-0.5, "least"))]
    return model(nodes, [numbers("parts", 4, 1), numbers("most", most)] + limits, [1, 12, 5], ["y"])


def lines():
    """Windows over one dim, a normalisation that has no scales, groups cut apart by points."""
    nodes = [
        node("InstanceNormalization", "x scale shift", "n"),
        node("AveragePool", "n", "p", kernel_shape=[2], strides=[2]),
        node("MaxPool", "p", "y", kernel_shape=[3], strides=[1]),
        node("Unsqueeze", "n axis3", "u"),
        node("ConvTranspose", "u w", "z", group=3, auto_pad="VALID", strides=[2, 1]),
    ]
    weights = [weight("scale", 6), weight("shift", 6), weight("w", 6, 2, 3, 1), numbers("axis3", 3)]
    return model(nodes, weights, [2, 6, 9], ["y", "z"])


def halves():
    """Constants that are no weights, in half the bytes."""
    nodes = [
        node("Resize", "x none scales", "r", mode="nearest", nearest_mode="floor",
             coordinate_transformation_mode="asymmetric"),
        node("Mul", "r c", "m"),
        node("Sigmoid", "m", "y"),
    ]
    nodes[0].input[1] = ""
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    return model(nodes, [scales, weight("c", 1, 2, 6, 4)], [1, 2, 3, 2], ["y"])


def quantisable():
    """What MNN's quantiser computes in codes; no window of the pools has codes of both signs, which
    MNN 3.6.1 mistakes on x86-64."""
    nodes = [
        node("Conv", "x w0 b0", "c0", pads=[1, 1, 1, 1]),
        node("Relu", "c0", "r0"),
        node("Conv", "r0 w1 b1", "c1", group=8, pads=[1, 1, 1, 1]),
        node("Clip", "c1 zero six", "r1"),
        node("Conv", "r1 w2 b0", "c2"),
        node("Add", "c2 r0", "sum"),
        node("HardSwish", "sum", "h"),
        node("Concat", "h r0", "both", axis=1),
        node("Conv", "both w3 b3", "c3", strides=[2, 2], pads=[0, 0, 1, 1]),
        node("Relu", "c3", "r3"),
        node("MaxPool", "r3", "p0", kernel_shape=[2, 2], strides=[1, 1]),
        node("AveragePool", "p0", "y", kernel_shape=[2, 2], strides=[1, 1]),
    ]
    limits = [numpy_helper.from_array(np.float32(v), n) for v, n in ((0, "zero"), (6, "six"))]
    weights = [weight("w0", 8, 3, 3, 3), weight("b0", 8), weight("w1", 8, 1, 3, 3), weight("b1", 8)]
    weights += [weight("w2", 8, 8, 1, 1), weight("w3", 6, 16, 3, 3), weight("b3", 6)] + limits
    return model(nodes, weights, [1, 3, 8, 8], ["y"], 14)


def spread():
    """What MNN's quantiser gives steps and MNN computes otherwise than other networks: sums and
    products that spread a constant, a bias by depth, functions cut down, values without steps."""
    nodes = [
        node("Mul", "x scales", "scaled"),
        node("Add", "scaled shifts", "shifted"),
        node("Relu", "shifted", "r"),
        node("Conv", "r w0 b0", "c", pads=[1, 1, 1, 1]),
        node("Concat", "r c", "both", axis=1),
        node("Conv", "both w1 b1", "deep", group=6, pads=[1, 1, 1, 1]),
        node("Abs", "deep", "size"),
        node("Neg", "size", "less"),
        node("Conv", "less w2", "y"),
    ]
    weights = [weight("scales", 1, 3, 1, 1), weight("shifts", 1, 3, 1, 1)]
    weights += [weight("w0", 3, 3, 3, 3)]
    weights += [weight("b0", 3), weight("w1", 6, 1, 3, 3), weight("b1", 6)]
    weights += [weight("w2", 4, 6, 1, 1)]
    return model(nodes, weights, [1, 3, 8, 8], ["y"], 14)


def quantise(path, method="KL"):
    """By what four random inputs give; weights of 7 bits, whose products MNN does not cut off."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for k in range(4):
            (work / f"set/{k}").mkdir(parents=True)
            (work / f"set/{k}/input.json").write_text(
                json.dumps({"inputs": [{"name": "x", "shape": [1, 3, 8, 8]}], "outputs": ["y"]})
            )
            np.savetxt(work / f"set/{k}/x.txt", rng.standard_normal(192))
        config = {"path": f"{work}/set/", "used_sample_num": 4, "input_type": "sequence"}
        config |= {"feature_quantize_method": method, "weight_quantize_method": "MAX_ABS"}
        (work / "quant.json").write_text(json.dumps(config | {"weight_clamp_value": 63}))
        arguments = ["mnnquant", str(path), f"{work}/out.mnn", f"{work}/quant.json"]
        command = [sys.executable, "-c", f"import _tools; _tools.mnnquant({arguments})"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        path.write_bytes((work / "out.mnn").read_bytes())


class Tables:
    """A network of operators that older quantisers wrote: codes from numbers, convolutions of
    codes, sums, numbers from codes."""

    INPUT, CONVOLUTION, QUANTIZED, SUM = 21, 9, 74, 76

    def __init__(self):
        self.b = flatbuffers.Builder(0)
        self.b.ForceDefaults(True)
        self.names, self.ops = [], []
        shape = self.vector([1, 3, 6, 6], np.int32)
        x = self.table({0: ("ref", shape), 1: ("Int32", 1), 2: ("Int8", 0)})
        self.op("x", 34, self.INPUT, x, [])

    def vector(self, values, kind):
        return self.b.CreateNumpyVector(np.array(values, kind))

    def table(self, fields):
        self.b.StartObject(max(fields) + 1)
        for slot, (kind, value) in fields.items():
            if kind == "ref":
                self.b.PrependUOffsetTRelativeSlot(slot, value, 0)
            else:
                getattr(self.b, f"Prepend{kind}Slot")(slot, value, 0)
        return self.b.EndObject()

    def tables(self, items):
        self.b.StartVector(4, len(items), 4)
        for item in reversed(items):
            self.b.PrependUOffsetTRelative(item)
        return self.b.EndVector()

    def op(self, name, kind, param_kind, param, inputs):
        fields = {0: ("ref", self.vector(inputs, np.int32)), 1: ("Uint8", param_kind)}
        fields |= {2: ("ref", param), 3: ("ref", self.b.CreateString(name))}
        fields |= {4: ("ref", self.vector([len(self.ops)], np.int32)), 5: ("Int32", kind)}
        self.ops.append(self.table(fields))
        self.names.append(name)

    def steps(self, scales):
        return self.table({3: ("ref", self.vector(scales, np.float32))})

    def convolution(self, name, kind, size, group, inputs, outputs, relu, tensor):
        numbers = rng.integers(-60, 60, outputs * inputs // group * size * size)
        common = {0: ("Int32", size // 2), 1: ("Int32", size // 2), 2: ("Int32", size)}
        common |= {3: ("Int32", size), 9: ("Int32", group), 10: ("Int32", outputs)}
        common |= {11: ("Int32", inputs), 12: ("Bool", relu)}
        quant = {0: ("ref", self.vector(numbers, np.int8))}
        quant |= {1: ("ref", self.vector(rng.integers(-3000, 3000, outputs), np.int32))}
        quant |= {2: ("ref", self.vector(rng.uniform(0.001, 0.004, outputs), np.float32))}
        param = self.table({0: ("ref", self.table(common)), 4: ("ref", self.table(quant))})
        self.op(name, kind, self.CONVOLUTION, param, [tensor])

    def finish(self):
        names = self.tables([self.b.CreateString(n) for n in self.names])
        outputs = self.tables([self.b.CreateString(self.names[-1])])
        net = {3: ("ref", self.tables(self.ops)), 4: ("ref", outputs), 6: ("Int8", 3)}
        self.b.Finish(self.table(net | {7: ("ref", names)}))
        return bytes(self.b.Output())


def own_codes():
    """What MNN still runs: a convolution, one by channels, one of single pixels."""
    t = Tables()
    t.op("codes", 517, t.QUANTIZED, t.steps([40.0] * 3), [0])
    t.convolution("c0", 513, 3, 1, 3, 8, True, 1)
    t.convolution("c1", 515, 3, 8, 8, 8, False, 2)
    t.convolution("c2", 513, 1, 1, 8, 8, False, 3)
    t.op("y", 514, t.QUANTIZED, t.steps(rng.uniform(0.01, 0.1, 8)), [4])
    return t.finish()


SUM_SCALES = [np.float32(v) for v in ([20, 30, 40], [50], [0.05, 0.03, 0.02], [0.02], [15], [0.07])]


def own_sum():
    """A sum of codes, which MNN has no more: `run_sum` says what it was."""
    t = Tables()
    t.op("a", 517, t.QUANTIZED, t.steps(SUM_SCALES[0]), [0])
    t.op("b", 517, t.QUANTIZED, t.steps(SUM_SCALES[1]), [0])
    parts = {k + 1: ("ref", t.steps(SUM_SCALES[k + 2])) for k in range(3)}
    t.op("sum", 518, t.SUM, t.table(parts), [1, 2])
    t.op("y", 514, t.QUANTIZED, t.steps(SUM_SCALES[5]), [3])
    return t.finish()


def run_sum(path, ref):
    def codes(x):
        return np.clip(np.sign(x) * np.floor(np.abs(x) + 0.5), -127, 127)

    x = rng.standard_normal((1, 3, 6, 6)).astype(np.float32)
    a, b, from_a, from_b, to_sum, y = (v.reshape(-1, 1, 1) for v in SUM_SCALES)
    total = codes((codes(x * a) * from_a + codes(x * b) * from_b) * to_sum)
    np.save(ref / "set0_in0.npy", x)
    np.save(ref / "set0_out0.npy", (total * y).astype(np.float32))


def write(folder, name, network, *options, then=None, run_by=None):
    case = folder / name
    (case / "ref").mkdir(parents=True, exist_ok=True)
    path = (case / "model.mnn").absolute()
    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work) / "net.onnx"
        onnx.save(network, source)
        arguments = ["-f", "ONNX", "--bizCode", "test", "--modelFile", source, "--MNNModel", path]
        arguments = ["mnnconvert", *map(str, arguments), *options]
        command = [sys.executable, "-c", f"import _tools; _tools.mnnconvert({arguments})"]
        subprocess.run(command, check=True, cwd=work, stdout=subprocess.DEVNULL)
    if then:
        then(path)
    (run_by or run)(path, case / "ref")


def write_own(folder, name, network, run_by=None):
    case = folder / name
    (case / "ref").mkdir(parents=True, exist_ok=True)
    (case / "model.mnn").write_bytes(network)
    (run_by or run)(case / "model.mnn", case / "ref")


def run_module(path, ref):
    """Networks with If and While, which sessions do not take: two inputs."""
    inputs, outputs = ["x"], ["a", "b", "c", "d", "e"]
    module = MNN.nn.load_module_from_file(str(path), inputs, outputs)
    for k, sign in enumerate((1, -1)):
        x = (sign * rng.random((4, 1, 3)) * 4).astype(np.float32)
        made = module.forward([MNN.expr.const(x, x.shape, MNN.expr.NCHW, MNN.expr.float)])
        np.save(ref / f"set{k}_in0.npy", x)
        for i, y in enumerate(made):
            np.save(ref / f"set{k}_out{i}.npy", np.array(MNN.expr.convert(y, MNN.expr.NCHW).read()))


def run(path, ref):
    interpreter = MNN.Interpreter(str(path))
    session = interpreter.createSession({"precision": "high"})
    for k, (_, tensor) in enumerate(sorted(interpreter.getSessionInputAll(session).items())):
        x = rng.standard_normal(tensor.getShape()).astype(np.float32)
        tensor.copyFrom(host(tensor.getShape(), x))
        np.save(ref / f"set0_in{k}.npy", x)
    interpreter.runSession(session)
    for k, (_, tensor) in enumerate(sorted(interpreter.getSessionOutputAll(session).items())):
        y = host(tensor.getShape(), np.zeros(tensor.getShape(), np.float32))
        tensor.copyToHostTensor(y)
        np.save(ref / f"set0_out{k}.npy", np.array(y.getNumpyData(), np.float32))


def host(shape, data):
    return MNN.Tensor(shape, MNN.Halide_Type_Float, data, MNN.Tensor_DimensionType_Caffe)


def main():
    folder = pathlib.Path(sys.argv[1])
    write(folder, "net", net())
    write(folder, "shapes", shapes())
    write(folder, "select", select())
    write(folder, "recurrent", recurrent(), "--useOriginRNNImpl")
    write(folder, "half", net(), "--fp16")
    write(folder, "codes8", net(), "--weightQuantBits", "8")
    write(folder, "codes3", net(), "--weightQuantBits", "3")
    write(folder, "groups4", net(), "--weightQuantBits", "4", "--weightQuantBlock", "32")
    write(folder, "beside", net(), "--saveExternalData", "--weightQuantBits", "8")
    write(folder, "eye", eye())
    write(folder, "boxes", boxes(20))
    write(folder, "gates", gates(), "--useOriginRNNImpl")
    write(folder, "lines", lines())
    write(folder, "half_constants", halves(), "--fp16")
    write(folder, "control", control(), run_by=run_module)
    write(folder, "steps", quantisable(), then=quantise)
    write(folder, "zeros", net(), then=lambda path: quantise(path, "EMA"))
    write(folder, "spread", spread(), then=quantise)
    write_own(folder, "codes", own_codes())
    write_own(folder, "codes_sum", own_sum(), run_sum)


if __name__ == "__main__":
    main()
