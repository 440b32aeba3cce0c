# Writes models for the tests of accelerators:
#   add.onnx    y = a + b: a compiler can take it whole
#   adds.onnx   y = tanh(a + b) + c: two islands for whoever takes Add
#   chain.onnx  what acme takes but for its Relu
#   through.onnx  an output that is an input, beside one that is not
#   wide.onnx, wide/wide.npy, wide/y.npy  integers of 64 bits that 32 do not hold, moved only
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(name, nodes, inputs, shape, constants=(), outputs="y", kind=TensorProto.FLOAT):
    def value(v):
        return helper.make_tensor_value_info(v, kind, shape)

    nodes = [helper.make_node(op, args.split(), [y], n) for n, op, args, y in nodes]
    graph = helper.make_graph(nodes, name, [value(i) for i in inputs], [value(o) for o in outputs],
                              [numpy_helper.from_array(a, n) for n, a in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, name + ".onnx")


save("add", [("add", "Add", "a b", "y")], "ab", [6])
save("adds", [("first", "Add", "a b", "s"), ("tanh", "Tanh", "s", "t"),
              ("second", "Add", "t c", "y")], "abc", [6])
save("chain", [("add", "Add", "x c", "a"), ("mul", "Mul", "a x", "b"), ("relu", "Relu", "b", "r"),
               ("sub", "Sub", "r a", "s"), ("scale", "Mul", "s k", "y")], "x", [2, 3],
     [("c", np.arange(6, dtype="f").reshape(2, 3)), ("k", np.array(2, "f"))])
save("through", [("most", "Max", "x", "y"), ("relu", "Relu", "x", "z")], "x", [2, 3],
     outputs="yz")
save("wide", [("turn", "Transpose", "x", "y")], "x", [3], kind=TensorProto.INT64)
np.save("wide.npy", np.array([1, (1 << 32) + 1, -5]))
np.save("y.npy", np.array([1, (1 << 32) + 1, -5]))
