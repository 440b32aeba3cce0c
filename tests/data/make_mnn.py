#!/usr/bin/env python3
"""usage: make_mnn.py FOLDER: small networks as MNN's converter writes them, with what MNN makes of
random inputs. It needs the packages MNN==3.6.1, onnx and numpy."""

import pathlib
import subprocess
import sys
import tempfile

import MNN
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


def model(nodes, weights, x, outputs):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, None) for y in outputs],
        weights,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
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


def write(folder, name, network, *options):
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
    run(path, case / "ref")


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
    write(folder, "half", net(), "--fp16")


if __name__ == "__main__":
    main()
